"""Options of hierarchical LDA, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.options import Param, options


@options
class HldaOptions:
    """Options of hierarchical LDA."""

    PANEL: ClassVar[str] = "Model"

    depth: Annotated[int, Param("Levels of the tree, including the root.", min=2, max=16)] = 3
    alpha: Annotated[float, Param("Dirichlet prior of each level in a document.", above=0)] = 1.0
    gamma: Annotated[
        float, Param("Concentration of the branches: the larger, the more branches per topic.", above=0)
    ] = 1.0
    eta: Annotated[
        float, Param("Prior of each word in a topic: the smaller, the more topics.", ("eta", "beta"), above=0)
    ] = 0.5
    iterations: Annotated[int, Param("Passes over the documents.", ("iterations", "sweeps"), min=1)] = 200

    def priors(self) -> str:
        """Return the priors for people."""
        return f"depth {self.depth}, alpha {self.alpha:g}, gamma {self.gamma:g}, eta {self.eta:g}"
