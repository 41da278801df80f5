"""Names of the topics of the other layers by a language model: of a whole from its parts, of a part from its whole and its siblings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from nlpkit.errors import InputError
from nlpkit.platform.models import MODELS
from nlpkit.platform.runs.runs import Run
from nlpkit.topics.name.llm import NameAnswer, TopicSource

DOCUMENTS = 8  # that are shown of a topic at most
SIBLINGS, SIBLING_WORDS = 8, 3

Ask = Callable[[TopicSource, Sequence[str]], NameAnswer]  # what is shown, and the names that are taken


@dataclass(frozen=True, slots=True)
class LayerName:
    """The name of a topic of a layer, what it was called before, and the passage that speaks for it; problem: why it has no new name."""

    layer: int
    topic: int
    before: str
    name: str
    evidence: str = ""
    problem: str = ""


class Layers:
    """The layers of a run, the coarsest first, and texts of their topics: typical documents that the run holds."""

    def __init__(self, run: Run) -> None:
        """Read them. Raises InputError where a run has no layers, or names the topics of all of them anyway."""
        if "layers.parquet" not in run.manifest["outputs"]:
            raise InputError(
                f"{run.path} has no layers of topics; runs of `fit_bertopic()` have them", parameter="layers"
            )
        if MODELS[run.manifest["kind"]].is_tree:
            raise InputError(f"the topics of all layers of {run.path} have names without `layers`", parameter="layers")
        rows = run.table("layers", ["layer", "topic", "parent", "label", "top_terms", "chosen"]).to_pylist()
        self.rows: dict[tuple[int, int], dict[str, Any]] = {(row["layer"], row["topic"]): row for row in rows}
        self.n = 1 + max(layer for layer, _ in self.rows)
        self.chosen = next(layer for (layer, _), row in self.rows.items() if row["chosen"])
        self._texts = self._texts_by_topic(run)

    def _texts_by_topic(self, run: Run) -> dict[tuple[int, int], list[str]]:
        shown = run.table("topics", ["representative_ids", "representative_texts"]).to_pylist()
        ranked = zip_longest(
            *(zip(row["representative_ids"], row["representative_texts"], strict=True) for row in shown)
        )
        by_rank = [pair for of_rank in ranked for pair in of_rank if pair is not None]
        documents = run.table("documents", ["id", *(f"layer_{layer}" for layer in range(self.n))]).to_pydict()
        places = {name: row for row, name in enumerate(documents["id"])}
        texts: dict[tuple[int, int], list[str]] = {}
        for name, text in by_rank:
            for layer in range(self.n) if text.strip() and name in places else ():
                of_topic = texts.setdefault((layer, documents[f"layer_{layer}"][places[name]]), [])
                if len(of_topic) < DOCUMENTS:
                    of_topic.append(text)
        return texts

    def order(self) -> list[int]:
        """Return the layers in the order in which they are named: coarser ones upwards, then finer ones downwards."""
        return [*range(self.chosen - 1, -1, -1), *range(self.chosen + 1, self.n)]

    def parts(self, layer: int, topic: int) -> list[int]:
        """Return the topics of the next layer that are parts of a topic."""
        return [k for (at, k), row in self.rows.items() if at == layer + 1 and row["parent"] == topic]

    def siblings(self, layer: int, topic: int) -> list[int]:
        """Return the other topics of a layer that are parts of the same topic."""
        parent = self.rows[layer, topic]["parent"]
        return [k for k in self.parts(layer - 1, parent) if k != topic] if parent is not None else []

    def asked(self) -> int:
        """Return how many topics of the other layers need a name of their own."""
        return sum(not self._has_name_of(layer, topic) for layer, topic in self.rows if layer != self.chosen)

    def _has_name_of(self, layer: int, topic: int) -> list[tuple[int, int]]:
        """Return the topic that is the same one layer nearer to the chosen one, in a list; none where a topic is another."""
        if layer < self.chosen:
            parts = self.parts(layer, topic)
            return [(layer + 1, parts[0])] if len(parts) == 1 else []
        parent = self.rows[layer, topic]["parent"]
        return [(layer - 1, parent)] if parent is not None and not self.siblings(layer, topic) else []

    def names(self, chosen: Mapping[int, str], n_words: int, ask: Ask) -> list[LayerName]:
        """Return the names of the topics of the other layers, each new in its layer.

        Args:
            chosen: names of the topics of the run. n_words: words that are shown. ask: what asks for a name.
        """
        named = {(self.chosen, topic): name for topic, name in chosen.items()}
        result = []
        for layer in self.order():
            for topic in sorted(k for at, k in self.rows if at == layer):
                row = self.rows[layer, topic]
                same = self._has_name_of(layer, topic)
                if same:
                    answer = NameAnswer(named[same[0]])
                else:
                    source = TopicSource(
                        topic, row["top_terms"][:n_words], self._texts.get((layer, topic), []), self._around(layer, topic, named)
                    )  # fmt: skip
                    answer = ask(source, [name for (at, _), name in named.items() if at == layer])
                name = row["label"] if answer.problem else answer.name
                named[layer, topic] = name
                result.append(LayerName(layer, topic, row["label"], name, answer.evidence, answer.problem))
        return sorted(result, key=lambda one: (one.layer, one.topic))

    def _around(self, layer: int, topic: int, named: Mapping[tuple[int, int], str]) -> list[str]:
        """Return what is said of the parts of a topic, or of its whole and its siblings."""
        if layer < self.chosen:
            parts = [named[layer + 1, k] for k in self.parts(layer, topic)]
            return [f"It is made of these topics, which the name has to cover: {'; '.join(parts)}"] if parts else []
        parent = self.rows[layer, topic]["parent"]
        others = [
            ", ".join(self.rows[layer, k]["top_terms"][:SIBLING_WORDS]) for k in self.siblings(layer, topic)[:SIBLINGS]
        ]
        if parent is None:
            return []
        return [
            f"It is a part of the topic '{named[layer - 1, parent]}'. The name has to tell it from the other parts, whose words are: "
            f"{'; '.join(others)}"
        ]
