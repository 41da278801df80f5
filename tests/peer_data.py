"""Public corpora that some tests compare with. They are not part of the project, and a clean clone has none of them.

The folder is `shared/data` beside the checkout, or the one that the variable PEER_DATA_FOLDER names. A test says which
files it needs, `@pytest.mark.peer_data("imdb/imdb_5k.jsonl.gz")`, and is skipped where one is missing; the end of a run counts these.
"""

from __future__ import annotations

import os
from pathlib import Path

PEER_DATA = Path(os.environ.get("PEER_DATA_FOLDER") or Path(__file__).parents[2] / "shared" / "data")
SKIPPED = "peer data is missing: "


def reason_to_skip(names: tuple[str, ...]) -> str | None:
    """Return which of the files a test needs are missing, or None."""
    missing = [name for name in names if not (PEER_DATA / name).exists()]
    return f"{SKIPPED}{', '.join(missing)} (PEER_DATA_FOLDER names its folder)" if missing else None
