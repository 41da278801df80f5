"""`--explain ID`: the words that pushed the decision of a classifier on a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.classify.classifier import Classifier, Predicted
from nlpkit.classify.explain import Push, explain_by_omission, explain_words, has_weights
from nlpkit.cli import console
from nlpkit.types import FloatArray

if TYPE_CHECKING:
    from nlpkit.workflows.embeddings import RunEmbeddings

SHOWN = 15
MOST_WORDS = 400  # of a text that are left out in turn
_WORD = re.compile(r"\w[\w'’-]*")


class Explainer:
    """Waits for the documents that are to be explained, and tells why they were put where they are.

    Of models that weigh words, a contribution is weight times value (`nlpkit.classify.explain.pushes`); of those that see
    embeddings, what the score of the class loses when the word is left out of the text.
    """

    def __init__(self, classifier: Classifier, ids: Sequence[str], source: RunEmbeddings | None) -> None:
        self._classifier, self._source = classifier, source
        self._wanted = list(dict.fromkeys(ids))
        self._found: dict[str, list[dict[str, Any]]] = {}

    def look(self, batch: pa.RecordBatch, X: Any, found: Predicted) -> None:
        """Explain the documents of a batch that were asked for."""
        if not self._wanted or len(self._found) == len(self._wanted):
            return
        ids = batch.column("id").to_pylist()
        for row in [i for i, name in enumerate(ids) if name in self._wanted]:
            text = batch.column("text")[row].as_py() or ""
            self._found[ids[row]] = [
                self._explain(code, X[row : row + 1] if not isinstance(X, np.ndarray) else None, text, found, row)
                for code in self._codes(found, row)
            ]

    def _codes(self, found: Predicted, row: int) -> list[int]:
        if found.sets is not None:
            chosen = np.flatnonzero(found.sets[row]).tolist()
            return chosen or [int(found.decision[row].argmax())]
        assert found.codes is not None
        return [int(found.codes[row])]

    def _explain(self, code: int, x: Any, text: str, found: Predicted, row: int) -> dict[str, Any]:
        place = int(np.flatnonzero(self._classifier.present == code)[0])
        if x is not None and has_weights(self._classifier):
            push = explain_words(self._classifier, x, place)
        else:
            push = self._by_omission(text, code)
        p = found.probabilities
        return {
            "class": self._classifier.names[code],
            "prob": None if p is None else round(float(p[row, code]), 6),
            "words": [{"term": n, "contribution": round(v, 6)} for n, v in zip(push.names, push.values, strict=True)],
        }

    def _by_omission(self, text: str, code: int) -> Push:
        assert self._source is not None
        source = self._source
        words = list(dict.fromkeys(m.group().lower() for m in _WORD.finditer(text)))[:MOST_WORDS]
        without = [re.sub(rf"\b{re.escape(word)}\b", " ", text, flags=re.IGNORECASE) for word in words]

        def decide(texts: list[str]) -> FloatArray:
            decision = self._classifier.predict(source.encode(texts)).decision
            others = np.delete(decision, code, axis=1)
            score: FloatArray = decision[:, code] - (others.mean(axis=1) if others.shape[1] else 0.0)
            return score

        return explain_by_omission(words, without, text, decide)

    def missing(self) -> list[str]:
        """Return the ids that no document had."""
        return [name for name in self._wanted if name not in self._found]

    def plain(self) -> dict[str, Any]:
        """Return the explanations as values that go into JSON."""
        return {"explained": self._found} if self._found else {}

    def show(self, *, to_stderr: bool = False) -> None:
        """Print the strongest words of each document."""
        for name in self._wanted:
            for told in self._found[name]:
                prob = "" if told["prob"] is None else f", probability {told['prob']:.3f}"
                title = f"{name}: {told['class']}{prob}"
                words = told["words"][:SHOWN]
                if to_stderr:
                    reporting.note(title + "; " + ", ".join(f"{w['term']} {w['contribution']:+.3f}" for w in words))
                    continue
                rows = [[w["term"], f"{w['contribution']:+.4f}"] for w in words] or [
                    ["(no word that the model knows)", ""]
                ]
                console.table(["word", "contribution"], rows, right=["contribution"], title=title)
