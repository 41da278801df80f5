"""Options of the hierarchical Dirichlet process, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.options import Param, options


@options
class HdpOptions:
    """Options of the hierarchical Dirichlet process."""

    PANEL: ClassVar[str] = "Model"

    alpha: Annotated[
        float | None,
        Param(
            "Concentration of the topics of a document: the larger, the more topics per document. Default: sampled "
            "with the topics.",
            above=0,
        ),
    ] = None
    gamma: Annotated[
        float | None,
        Param(
            "Concentration of the topics of the corpus: the larger, the more topics. Default: sampled with the topics.",
            above=0,
        ),
    ] = None
    eta: Annotated[
        float, Param("Prior of each word in a topic: the smaller, the more topics.", ("eta", "beta"), above=0)
    ] = 0.1
    iterations: Annotated[int, Param("Passes over the tokens.", ("iterations", "sweeps"), min=1)] = 200
    initial_topics: Annotated[
        int, Param("Number of topics at the start. Topics are added and removed during sampling.", min=1)
    ] = 100
    min_share: Annotated[
        float,
        Param(
            "Minimum share of all tokens for a topic to be listed. Tokens of smaller topics are reassigned at the "
            "end. 0 lists all topics.",
            min=0.0,
            max=1.0,
        ),
    ] = 0.001

    def priors(self) -> str:
        """Return the priors for people."""
        alpha, gamma = (
            f"{name} {'drawn' if value is None else f'{value:g}'}"
            for name, value in (("alpha", self.alpha), ("gamma", self.gamma))
        )
        return f"eta {self.eta:g}, {alpha}, {gamma}"
