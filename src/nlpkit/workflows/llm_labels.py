"""Labels of documents by a language model that is asked about one text after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cells import as_label
from nlpkit.classify.in_context import (
    Examples,
    balanced_examples,
    labelled_examples,
    nearest_examples,
    random_examples,
)
from nlpkit.classify.llm_labels import LabelAnswer, question_of, read_label
from nlpkit.classify.predicted import Predicted
from nlpkit.classify.zero_shot_options import BALANCED, NEAREST, RANDOM, ZeroShotOptions
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError
from nlpkit.io.plain_tables import read_columns
from nlpkit.io.runs import sha256_of
from nlpkit.parameters import Execution
from nlpkit.types import LongArray
from nlpkit.workflows.corpus import Corpus
from nlpkit.workflows.encoders import open_encoder
from nlpkit.workflows.language_models import language_model, planned_questions, say_cached, usable_answer


class AnsweredLabels:
    """Labels by a language model. A text without words is not asked about, and one without a usable answer has no label."""

    reservation = ""

    def __init__(
        self,
        labels: Mapping[str, Sequence[str]],
        options: ZeroShotOptions,
        encoder: EncoderOptions,
        execution: Execution,
    ) -> None:
        """Raises what `language_model` and `ShownExamples` do."""
        self._labels, self._names, self._options = labels, tuple(labels), options
        self._examples = ShownExamples(self._names, options, encoder, execution)
        self._model = language_model(options, execution.seed)
        self._unusable, self._problem, self._empty = 0, "", 0

    def __call__(self, batch: pa.RecordBatch) -> Predicted:
        """Return the labels of documents, without probabilities. Raises MissingError, InputError: see `usable_answer`."""
        texts = texts_of(batch)
        codes = np.full(len(texts), -1, np.int32)
        examples = self._examples.before(texts)
        with reporting.progress("labels", len(texts)) as update:
            for d, text in enumerate(texts):
                if text.strip():
                    codes[d] = self._ask(text, examples[d]).code
                else:
                    self._empty += 1
                update(1)
        decision = (codes[:, None] == np.arange(len(self._names))).astype(np.float64)
        return Predicted(decision, None, codes)

    def _ask(self, text: str, examples: Sequence[tuple[str, str]]) -> LabelAnswer:
        answer = usable_answer(
            self._model,
            lambda complaint: question_of(
                self._labels, text, budget=self._options.budget, complaint=complaint, examples=examples
            ),
            lambda answered: read_label(answered.text, self._names),
            attempts=self._options.attempts,
        )
        if answer.problem:
            self._unusable, self._problem = self._unusable + 1, answer.problem
        return answer

    def parameters(self) -> dict[str, Any]:
        """Return which model was asked."""
        asked = {"llm": self._options.llm, "llm_model": self._options.llm_model, "budget": self._options.budget}
        return {**asked, **self._examples.parameters()}

    def summary(self) -> dict[str, int]:
        """Return the numbers of questions and of answers that cannot be used."""
        return {"calls": self._model.calls, "cached": self._model.cached, "unanswered": self._unusable}

    def report(self) -> None:
        """Say what was asked, and warn of documents without a label."""
        asked = wording.counted(self._model.calls, "question")
        reporting.note(f"{asked} asked, {wording.count(self._model.cached)} answered before")
        say_cached(self._model)
        if self._unusable:
            reporting.warn(
                f"{wording.counted(self._unusable, 'document has', 'documents have')} no label, because no answer could be used; "
                f"the last one: {self._problem}"
            )
        if self._empty:
            reporting.warn(f"{wording.counted(self._empty, 'document')} without text: not asked")


class ShownExamples:
    """The examples that a language model is shown before each text, in a fixed order; none where none are given.

    An example whose text is that of the document is not shown, as it would be the answer.
    """

    def __init__(
        self, names: Sequence[str], options: ZeroShotOptions, encoder: EncoderOptions, execution: Execution
    ) -> None:
        """Read the examples and choose those that all texts share.

        Raises:
            InputError, ColumnError: the table cannot be used; UsageError: options of embeddings without a use.
        """
        self._names, self._options, self._encoder, self._threads = names, options, encoder, execution.n_threads()
        self._embedder: Any = None
        if options.choose != NEAREST:
            encoder.refuse("labels by `llm` need no encoder but for `choose=nearest`; leave it out")
        self._examples = Examples([], np.zeros(0, np.int64))
        self._fixed = np.zeros(0, np.int64)
        if options.examples is None:
            return
        columns = read_columns(options.examples, ["text", "label"], option="`examples`")
        texts = [None if text is None else str(text) for text in columns["text"]]
        self._examples = labelled_examples(texts, [as_label(value) for value in columns["label"]], names)
        if len(self._examples) < options.shots:
            reporting.note(f"{wording.counted(len(self._examples), 'example')} in {options.examples}: all are used")
        rng = np.random.default_rng(execution.seed)
        if options.choose == RANDOM:
            self._fixed = random_examples(len(self._examples), options.shots, rng)
        elif options.choose == BALANCED:
            self._fixed = balanced_examples(self._examples.codes, options.shots, rng)

    def before(self, texts: Sequence[str]) -> list[list[tuple[str, str]]]:
        """Return the examples of each text with their labels. Raises MissingError: the encoder of the nearest is not there."""
        examples, shots = self._examples, self._options.shots
        if not len(examples) or self._options.choose != NEAREST:
            return [self._shown(self._fixed, text, shots) for text in texts]
        from nlpkit.embed.encoder import unit_length

        if self._embedder is None:
            self._embedder = open_encoder(self._encoder, self._threads)
            self._vectors = unit_length(self._embedder.encode(examples.texts)[0])
        nearest = nearest_examples(unit_length(self._embedder.encode(texts)[0]), self._vectors, shots + 1)
        return [self._shown(rows, text, shots) for rows, text in zip(nearest, texts, strict=True)]

    def _shown(self, rows: LongArray, text: str, shots: int) -> list[tuple[str, str]]:
        texts, codes = self._examples.texts, self._examples.codes
        return [(texts[n], self._names[codes[n]]) for n in rows.tolist() if texts[n] != text][-shots:]

    def parameters(self) -> dict[str, Any]:
        """Return the table, how examples are chosen and in which order they are shown; of the shared ones their rows among the
        different texts of the table.
        """
        options = self._options
        if options.examples is None:
            return {}
        nearest = options.choose == NEAREST
        order: Any = "nearest last" if nearest else self._fixed.tolist()
        facts = {
            "examples": str(options.examples), "examples_sha256": sha256_of(options.examples), "shots": options.shots,
            "choose": options.choose, "order": order,
        }  # fmt: skip
        return {**facts, "encoder": self._encoder.name} if nearest else facts


def plan_labels(
    corpus: Corpus,
    labels: Mapping[str, Sequence[str]],
    options: ZeroShotOptions,
    encoder: EncoderOptions,
    execution: Execution,
) -> dict[str, int]:
    """Return how many questions would be asked at least, and their tokens, those of examples among them; nothing is asked."""
    model, documents = language_model(options, execution.seed), 0
    shown = ShownExamples(tuple(labels), options, encoder, execution)

    def questions() -> Iterator[Any]:
        nonlocal documents
        with corpus.open() as stream:
            for batch in stream:
                texts = texts_of(batch)
                documents += len(texts)
                for text, examples in zip(texts, shown.before(texts), strict=True):
                    if text.strip():
                        yield question_of(labels, text, budget=options.budget, examples=examples)

    plan = planned_questions(model, questions())
    return {"documents": documents, **plan}


def texts_of(batch: pa.RecordBatch) -> list[str]:
    """Return the texts of documents. Raises InputError where they have none."""
    if "text" not in batch.schema.names:
        raise InputError("a language model reads texts, and these documents have no column 'text'")
    return [text or "" for text in batch.column("text").to_pylist()]
