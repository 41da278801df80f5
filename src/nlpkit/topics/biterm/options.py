"""Options of the biterm topic model, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.options import Param, options
from nlpkit.topics.base.options import TopicCount


@options
class BitermOptions:
    """Options of the biterm topic model."""

    PANEL: ClassVar[str] = "Model"

    k: TopicCount = "auto"
    window: Annotated[
        int, Param("Two words form a biterm if they occur within this many consecutive words of a text.", min=2)
    ] = 15
    alpha: Annotated[float | None, Param("Prior of each topic, in biterms. Default: 50 / k.", above=0)] = None
    eta: Annotated[float, Param("Prior of each word in a topic.", ("eta", "beta"), above=0)] = 0.01
    iterations: Annotated[int, Param("Passes over the biterms.", ("iterations", "sweeps"), min=1)] = 200

    def alpha_of(self, n_topics: int) -> float:
        """Return the prior of each of K topics."""
        return 50.0 / n_topics if self.alpha is None else self.alpha
