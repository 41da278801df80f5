"""What compare shows: a row for each model and number of topics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nlpkit.plain import shell_line
from nlpkit.views.blocks import Block, Note
from nlpkit.workflows.comparison_views import summary_block

if TYPE_CHECKING:
    from nlpkit.workflows.compare import ModelComparison


def comparison_blocks(result: ModelComparison) -> Iterator[Block]:
    """Yield the means over seeds, and how it goes on."""
    yield summary_block(result)
    yield Note(
        "stable words: share of a topic's ten first words that its match in another fit has; stable docs: AMI of the topics in two "
        "fits. Each fit has another seed and leaves out other documents. Seconds are without reading."
    )
    line = shell_line("nlpkit", "report", result.path, "-o", f"{result.path}.html")
    yield Note(f"wrote {result.path}/: runs/, fits.parquet and summary.parquet; next: {line}")
