"""Labels of documents by a language model that is asked about one text after the other.

Parts, in this order:
- Which labelled examples a language model is shown before a text: some at random, as many of each label, or the
  nearest.
- Labels of texts by a language model: what it is asked, and how its answer is read.
- The run of the questions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.prediction_values import Predicted
from nlpkit.embed.encoders import open_encoder
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError
from nlpkit.lm.ask import language_model, planned_questions, say_cached, usable_answer
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import Corpus
from nlpkit.platform.llm_options import Messages, conversation, fitted_documents, short_answer
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.plain_tables import read_columns
from nlpkit.platform.runs.runs import sha256_of
from nlpkit.platform.types import Float32Array, LongArray
from nlpkit.platform.values import as_label
from nlpkit.zero_shot.options import BALANCED, NEAREST, RANDOM, ZeroShotOptions


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts with their labels; codes (n,): places of these among the labels that are asked for."""

    texts: Sequence[str]
    codes: LongArray

    def __len__(self) -> int:
        return len(self.texts)


def labelled_examples(texts: Sequence[str | None], labels: Sequence[str | None], names: Sequence[str]) -> Examples:
    """Return the examples that have a text and a label, each text once.

    Raises:
        InputError: there are none, a label that is none of the names, or one text with two labels.
    """
    codes: dict[str, int] = {}
    place = {name: j for j, name in enumerate(names)}
    for text, label in zip(texts, labels, strict=True):
        if text is None or not text.strip() or label is None:
            continue
        if label not in place:
            raise InputError(
                f"the label '{label}' of an example is not one of {', '.join(names)}; add it to `labels`, or leave "
                "the example out",
                parameter="examples",
            )
        if codes.setdefault(text, place[label]) != place[label]:
            raise InputError(
                f"the example '{text[:40]}' has two labels, {names[codes[text]]} and {label}", parameter="examples"
            )
    if not codes:
        raise InputError("no example has both text and label", parameter="examples")
    return Examples(list(codes), np.array(list(codes.values()), np.int64))


def random_examples(n_examples: int, shots: int, rng: np.random.Generator) -> LongArray:
    """Return `shots` of the examples at random, in the order in which they are drawn; all where there are fewer."""
    return rng.permutation(n_examples)[:shots].astype(np.int64)


def balanced_examples(codes: LongArray, shots: int, rng: np.random.Generator) -> LongArray:
    """Return `shots` of the examples at random, of each label in turn: as many of each, as far as they last, and mixed.

    Which labels have one more is drawn, too.
    """
    drawn = rng.permutation(len(codes))
    labels = rng.permutation(np.unique(codes))
    left = [drawn[codes[drawn] == j].tolist() for j in labels]
    chosen: list[int] = []
    while len(chosen) < shots and any(left):
        chosen += [of_label.pop(0) for of_label in left if of_label]
    return rng.permutation(np.array(chosen[:shots], np.int64)).astype(np.int64)


def nearest_examples(texts: Float32Array, examples: Float32Array, shots: int) -> LongArray:
    """Return for each text the `shots` nearest examples by cosine (D, shots), the nearest last (Liu et al. 2022, §3.1).

    Args:
        texts: (D, E) of length 1; examples: (n, E). Equal ones: the first example is nearer.
    """
    cosine = texts.astype(np.float64) @ examples.astype(np.float64).T
    order: LongArray = np.argsort(-cosine, axis=1, kind="stable")[:, :shots]
    return order[:, ::-1].astype(np.int64)


# ------------------------------------------------------------------------------------------------------------------------
# Labels of texts by a language model: what it is asked, and how its answer is read.


@dataclass(frozen=True, slots=True)
class LabelAnswer:
    """The label of a text by its place; -1 and the problem where the answer cannot be used."""

    code: int = -1
    problem: str = ""


def question_of(
    labels: Mapping[str, Sequence[str]],
    text: str,
    *,
    budget: int,
    complaint: str = "",
    examples: Sequence[tuple[str, str]] = (),
) -> Messages:
    """Return the messages that ask for the label of a text.

    Args:
        labels: with their descriptions. budget: tokens of the text, and of each example. complaint: what was wrong with the answer
            before. examples: texts with their labels.
    """
    lines = [f"- {name}" + (f": {'; '.join(described)}" if described else "") for name, described in labels.items()]
    system = (
        "You classify texts. The labels are:\n" + "\n".join(lines) + "\nAnswer with one JSON object and nothing else: "
        '{"label": "..."}. The label is the one of these that fits the text best, written exactly as it is here.'
    )

    def shown(document: str) -> str:
        return f"Text: {''.join(fitted_documents([document], budget))}"

    answered = [(shown(document), json.dumps({"label": label}, ensure_ascii=False)) for document, label in examples]
    return conversation(system, [shown(text)], complaint, answered)


def read_label(text: str, names: Sequence[str]) -> LabelAnswer:
    """Return the label that an answer names, in whatever case; its `problem` says why it cannot be used."""
    value = short_answer(text, "label")
    if value is None:
        return LabelAnswer(problem="it is not the JSON object that was asked for")
    for codes in (
        [j for j, name in enumerate(names) if name == str(value)],
        [j for j, name in enumerate(names) if name.casefold() == str(value).casefold()],
    ):
        if len(codes) == 1:
            return LabelAnswer(codes[0])
    return LabelAnswer(problem=f"'{str(value)[:40]}' is none of the labels {', '.join(names)}")


# ------------------------------------------------------------------------------------------------------------------------
# Labels of documents by a language model that is asked about one text after the other.


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

    def labelled(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, Predicted]]:
        """Yield documents and their labels, without probabilities. Raises MissingError, InputError: see `usable_answer`."""
        yield from ((batch, self._predict(batch)) for batch in batches)

    def _predict(self, batch: pa.RecordBatch) -> Predicted:
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
