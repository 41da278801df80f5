"""What is said while topics are fitted: how far a fit on a sample agrees with one on more documents."""

from __future__ import annotations

import numpy as np

from nlpkit import reporting, wording
from nlpkit.topics.description import FitSample


def note_sample(sample: FitSample) -> None:
    """Say how many documents were fitted, and how far a fit with more of them agrees."""
    share = "could not be made"
    if np.isfinite(sample.agreement):
        share = (
            f"gives {wording.count(sample.n_compared)} of these the same topics at AMI {sample.agreement:.2f} "
            "(1: the same, 0: by chance)"
        )
    reporting.note(
        f"fitted to {wording.count(sample.n_fitted)} of "
        f"{wording.counted(sample.n_fitted + sample.n_assigned, 'different document')}; the other documents get the "
        f"topics of their neighbours; a second fit with more of them {share}; `fit_sample=N` changes the number"
    )
