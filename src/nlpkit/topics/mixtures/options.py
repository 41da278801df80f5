"""Options that mixture models of every kind share, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.parameters import Param, options


@options
class TermOptions:
    """Options of the terms that a run stores of its topics."""

    PANEL: ClassVar[str] = "Output"

    top_terms: Annotated[int, Param("Number of terms stored per topic.", min=1)] = 30
    relevance_lambda: Annotated[
        float,
        Param("Weight λ of the probability in the relevance of a term (Sievert and Shirley 2014).", min=0.0, max=1.0),
    ] = 0.6


@options
class CheckpointOptions:
    """Options of saving an unfinished fit."""

    PANEL: ClassVar[str] = "Run"

    checkpoint_every: Annotated[
        int | None,
        Param(
            "Save the fit next to the run every N sweeps (steps, passes); 0 = only if interrupted. Default: every "
            "minute.",
            min=0,
        ),
    ] = None
    resume: Annotated[
        bool, Param("Continue from the checkpoint if there is one. lda-gibbs can also continue with more sweeps.")
    ] = False
