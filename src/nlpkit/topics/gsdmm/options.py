"""Options of GSDMM, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.options import Param, options


@options
class GsdmmOptions:
    """Options of GSDMM."""

    PANEL: ClassVar[str] = "Model"

    k: Annotated[
        int | str,
        Param(
            "Maximum number of topics: N (topics without documents are dropped). auto or a range compares several "
            "numbers.",
            ("k", "num_topics"),
            log=False,
        ),
    ] = 100
    alpha: Annotated[
        float, Param("Prior of each topic, in documents: the larger, the more topics remain.", above=0)
    ] = 0.1
    eta: Annotated[
        float,
        Param(
            "Prior of each word in a topic: the smaller, the more alike the documents of a topic.",
            ("eta", "beta"),
            above=0,
        ),
    ] = 0.1
    iterations: Annotated[int, Param("Passes over the documents.", ("iterations", "sweeps"), min=1)] = 50
