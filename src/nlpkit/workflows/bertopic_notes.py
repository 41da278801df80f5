"""What is said while topics are fitted: how far a fit on a sample agrees with one on more documents, and of the language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nlpkit import reporting, wording
from nlpkit.text.token_settings import NO_LANGUAGE
from nlpkit.topics.description import FitSample

if TYPE_CHECKING:
    import pyarrow as pa

    from nlpkit.embed.options import EncoderOptions
    from nlpkit.text.preprocess import PreprocessReport


def note_sample(sample: FitSample) -> None:
    """Say how many documents were fitted, and how far a fit with more of them agrees."""
    share = "could not be made"
    if np.isfinite(sample.agreement):
        share = (
            f"gives {wording.count(sample.n_compared)} of these the same topics at AMI {sample.agreement:.2f} "
            "(1: the same, 0: by chance)"
        )
    reporting.note(
        f"fitted to {wording.count(sample.n_fitted)} of {wording.counted(sample.n_fitted + sample.n_assigned, 'different document')}; "
        f"the others have the topic of their neighbours among these; a second fit that includes more of them {share}; `fit_sample=N` "
        "takes other numbers"
    )


def warn_of_language(report: PreprocessReport, encoder: EncoderOptions, table: pa.Table) -> None:
    """Warn when an English encoder is about to encode a corpus that is mostly in another language."""
    english = "all-minilm" in encoder.name.lower()
    if (
        english
        and "embedding" not in table.column_names
        and report.languages
        and report.languages[0].code not in ("en", NO_LANGUAGE)
    ):
        reporting.warn(
            f"the corpus is mostly '{report.languages[0].code}' and {encoder.name} knows English best: topics may follow "
            "style more than matter; a multilingual model serves better, such as `encoder=multilingual`, which comes as a package"
        )
