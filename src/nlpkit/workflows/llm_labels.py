"""Labels of documents by a language model that is asked about one text after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.classify.llm_labels import LabelAnswer, question_of, read_label
from nlpkit.classify.predicted import Predicted
from nlpkit.classify.zero_shot_options import ZeroShotOptions
from nlpkit.errors import InputError
from nlpkit.parameters import Execution
from nlpkit.workflows.corpus import Corpus
from nlpkit.workflows.language_models import language_model, planned_questions, usable_answer


class AnsweredLabels:
    """Labels by a language model. A text without words is not asked about, and one without a usable answer has no label."""

    reservation = ""

    def __init__(self, labels: Mapping[str, Sequence[str]], options: ZeroShotOptions, execution: Execution) -> None:
        """Raises what `language_model` does."""
        self._labels, self._names, self._options = labels, tuple(labels), options
        self._model = language_model(options, execution.seed)
        self._unusable, self._problem, self._empty = 0, "", 0

    def __call__(self, batch: pa.RecordBatch) -> Predicted:
        """Return the labels of documents, without probabilities. Raises MissingError, InputError: see `usable_answer`."""
        texts = texts_of(batch)
        codes = np.full(len(texts), -1, np.int32)
        with reporting.progress("labels", len(texts)) as update:
            for d, text in enumerate(texts):
                if text.strip():
                    codes[d] = self._ask(text).code
                else:
                    self._empty += 1
                update(1)
        decision = (codes[:, None] == np.arange(len(self._names))).astype(np.float64)
        return Predicted(decision, None, codes)

    def _ask(self, text: str) -> LabelAnswer:
        answer = usable_answer(
            self._model,
            lambda complaint: question_of(self._labels, text, budget=self._options.budget, complaint=complaint),
            lambda answered: read_label(answered, self._names),
            attempts=self._options.attempts,
        )
        if answer.problem:
            self._unusable, self._problem = self._unusable + 1, answer.problem
        return answer

    def parameters(self) -> dict[str, Any]:
        """Return which model was asked."""
        return {"llm": self._options.llm, "llm_model": self._options.llm_model, "budget": self._options.budget}

    def summary(self) -> dict[str, int]:
        """Return the numbers of questions and of answers that cannot be used."""
        return {"calls": self._model.calls, "cached": self._model.cached, "unanswered": self._unusable}

    def report(self) -> None:
        """Say what was asked, and warn of documents without a label."""
        asked = wording.counted(self._model.calls, "question")
        reporting.note(f"{asked} asked, {wording.count(self._model.cached)} answered before")
        if self._unusable:
            reporting.warn(
                f"{wording.counted(self._unusable, 'document has', 'documents have')} no label, because no answer could be used; "
                f"the last one: {self._problem}"
            )
        if self._empty:
            reporting.warn(f"{wording.counted(self._empty, 'document')} without text, not asked about")


def plan_labels(
    corpus: Corpus, labels: Mapping[str, Sequence[str]], options: ZeroShotOptions, execution: Execution
) -> dict[str, int]:
    """Return how many questions would be asked at least, and their tokens; nothing is asked."""
    model, documents = language_model(options, execution.seed), 0

    def questions() -> Iterator[Any]:
        nonlocal documents
        with corpus.open() as stream:
            for batch in stream:
                texts = texts_of(batch)
                documents += len(texts)
                yield from (question_of(labels, text, budget=options.budget) for text in texts if text.strip())

    plan = planned_questions(model, questions())
    return {"documents": documents, **plan}


def texts_of(batch: pa.RecordBatch) -> list[str]:
    """Return the texts of documents. Raises InputError where they have none."""
    if "text" not in batch.schema.names:
        raise InputError("a language model reads texts, and these documents have no column 'text'")
    return [text or "" for text in batch.column("text").to_pylist()]
