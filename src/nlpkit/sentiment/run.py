"""Sentiment without training: scores by a lexicon or by Lex2Sent, and their agreement with labels.

Parts, in this order:
- Scores of sentiment against the labels of documents: classes, or the correlation with numbers.
- The lexicon, the classes and the parameters of Lex2Sent that options of sentiment name.
- The run: a score for each document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import UsageError, missing_column
from nlpkit.metrics.files import check_gates, read_gates
from nlpkit.metrics.labels.classification import encode_labels
from nlpkit.metrics.labels.labels import LabelledPredictions
from nlpkit.metrics.labels.numbers import add_numbers
from nlpkit.metrics.labels.predictions import DEFAULT_CLASSIFICATION, add_classification
from nlpkit.metrics.options import GateOptions
from nlpkit.metrics.results import Evaluation, TargetResult
from nlpkit.metrics.score import Uncertainty
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import add_column
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, as_corpus
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.passes import ColumnMaker, Pass, ScoredDocuments, WithColumns
from nlpkit.platform.runs.tables import spool_in
from nlpkit.platform.types import FloatArray, IntArray
from nlpkit.platform.values import as_label
from nlpkit.sentiment.lex2sent import Lex2SentOptions
from nlpkit.sentiment.packages import PackageScorer
from nlpkit.text.lexicon.files import ROLES, opinion_lexicon, package_list, read_lexicon, read_negations
from nlpkit.text.lexicon.model import (
    DEFAULT_CLASSES,
    Lexicon,
    LexiconScorer,
    SentimentClasses,
    negation_languages,
    negation_words,
    parse_classes,
    predict_classes,
    recognise_classes,
    text_languages,
)
from nlpkit.text.lexicon.options import SentimentOptions, SentimentTextOptions, is_package
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.text.vocab import EncodedBatch


def numeric_labels(labels: Sequence[str | None]) -> FloatArray | None:
    """Return labels as numbers (D,), NaN where missing; None if one is no number, or there are none."""
    try:
        values = np.array([np.nan if v is None else float(v) for v in labels], np.float64)
    except ValueError:
        return None
    return values if np.isfinite(values).any() else None


def scored_classes(
    name: str,
    label_col: str,
    labels: Sequence[str | None],
    predictions: IntArray,
    classes: SentimentClasses,
    uncertainty: Uncertainty,
) -> Evaluation:
    """Return the scores of predictions (D,), places in classes.names, against labels."""
    assigned = [classes.names[i] for i in predictions.tolist()]
    names, true, codes = encode_labels(labels, assigned)
    data = LabelledPredictions(None, true, codes, names, names, None, sum(v is None for v in labels))
    result = TargetResult(name, f"sentiment against '{label_col}'")
    add_classification(result, data, DEFAULT_CLASSIFICATION, uncertainty, beta=1.0)
    return Evaluation([result])


def scored_numbers(
    name: str, label_col: str, labels: FloatArray, scores: FloatArray, uncertainty: Uncertainty
) -> Evaluation:
    """Return how scores (D,) correlate with labels (D,) that are numbers, NaN where missing."""
    result = TargetResult(name, f"sentiment against the numbers of '{label_col}'")
    add_numbers(result, labels, scores, uncertainty, ("pearson", "spearman"))
    return Evaluation([result])


# ------------------------------------------------------------------------------------------------------------------------
# The lexicon, the classes and the parameters of Lex2Sent that options of sentiment name.


def load_lexicon(options: SentimentOptions) -> Lexicon:
    """Return the list of words. Raises InputError, ColumnError, MissingError and UsageError."""
    name, columns = options.names, _columns(options.lexicon_cols)
    if Path(name).is_file():
        return read_lexicon([Path(name)], columns)
    if is_package(name):
        return read_lexicon([package_list(name)], check=False)
    if name == "liu":
        return opinion_lexicon()
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 1 and not Path(parts[0]).suffix and "/" not in parts[0]:
        raise UsageError(f"`lexicon={name}`: neither a file nor one of vader, afinn, liu", parameter="lexicon")
    return read_lexicon([Path(part) for part in parts], columns)


def _columns(text: str | None) -> dict[str, str]:
    columns: dict[str, str] = {}
    for part in (text or "").split(","):
        role, equals, name = (piece.strip() for piece in part.partition("="))
        if part.strip() and (not equals or not name or role not in ROLES):
            raise UsageError(f"`lexicon_cols` takes {'=…, '.join(ROLES)}=…, got '{part}'", parameter="lexicon_cols")
        if part.strip():
            columns[role] = name
    return columns


def named_classes(options: SentimentOptions) -> SentimentClasses | None:
    """Return the classes that are named, None where none are. Raises UsageError."""
    if options.classes is None:
        return None
    return parse_classes(options.classes if isinstance(options.classes, str) else ",".join(options.classes))


def lex2sent_options(options: SentimentOptions) -> Lex2SentOptions:
    """Return the parameters of Lex2Sent. Raises UsageError for what is no number."""
    return Lex2SentOptions(
        _numbers(options.l2s_epochs, "l2s_epochs"),
        _numbers(options.l2s_windows, "l2s_windows"),
        _numbers(options.l2s_sizes, "l2s_sizes"),
        options.l2s_resamples,
        options.l2s_resampling,
        options.l2s_min_count,
    )


def _numbers(value: str | tuple[int, ...], name: str) -> tuple[int, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    try:
        numbers = tuple(int(part) for part in parts)
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise UsageError(
            f"`{name}` takes whole numbers from 1 on, with commas between them, got '{value}'", parameter=name
        )
    return numbers


# ------------------------------------------------------------------------------------------------------------------------
# Sentiment without training: scores by a lexicon or by Lex2Sent, and how they agree with labels where there are some.

COLUMNS = {"sentiment": pa.float32(), "prediction": pa.string()}
MATCHED = ("language", "lower", "lemma", "stem", "html", "replace", "emoji", "keep", "segment")
VADER_NEUTRAL = 0.05
ENGLISH = ("vader", "afinn", "afinn:en", "afinn:emoticons")


def sentiment(
    data: Any,
    *,
    lexicon: str | None = None,
    options: SentimentOptions | None = None,
    tokens: SentimentTextOptions | None = None,
    gates: GateOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> ScoredDocuments:
    """Score documents by a lexicon, and compare the scores with labels where there are some.

    Args:
        data: a Corpus, texts or a data frame; the column label may hold classes of sentiment or numbers.
        lexicon: vader, afinn, liu, a file of words and weights, or two files, positive,negative.
        options: how a text is scored, and which classes the scores become.
        tokens: how texts become words.
        gates: bounds that the scores must keep; their outcomes are in `evaluation.gates`.
        execution: seed and threads.
        settings: single fields of these records, such as lex2sent=True.

    Raises:
        UsageError, InputError, ColumnError, MissingError: the lexicon or the documents cannot be used.

    Example:
        >>> scored = nk.sentiment(["What a wonderful day!", "This is terrible."], lexicon="vader")
        >>> scored.documents["prediction"].to_pylist()
        ['positive', 'negative']
    """
    named = settings if lexicon is None else {**settings, "lexicon": lexicon}
    records = (options, tokens, gates, execution)
    options, tokens, gates, execution = with_settings(
        records, named, (SentimentOptions, SentimentTextOptions, GateOptions, Execution)
    )
    with sentiment_batches(
        as_corpus(data), options=options, tokens=tokens, execution=execution, gates=gates
    ) as predictions:
        return predictions.score()


@contextmanager
def sentiment_batches(
    corpus: Corpus,
    *,
    options: SentimentOptions,
    tokens: SentimentTextOptions,
    execution: Execution,
    gates: GateOptions | None = None,
    scores_only: bool = False,
) -> Iterator[Pass]:
    """Return a context with documents and their sentiment.

    Args:
        scores_only: the documents are read for what their labels tell of the scores, which they must have.
    """
    settings = preprocess_options(tokens.text_options())
    _check_package(options)
    _warn_of_unused(options, tokens)
    with corpus.open() as stream, spool_in(stream.spool_directory) as spool:
        maker = SentimentMaker(stream, corpus, options, tokens, settings, gates or GateOptions(), execution)
        if scores_only:
            maker.require_labels()
            maker.replaces = ()
        yield Pass(maker, spool)


def _check_package(options: SentimentOptions) -> None:
    """Raise UsageError for options on words where a package scores the texts by its rules."""
    changed = {
        "lexicon_score": options.lexicon_score != "sum", "negation": not options.negation, "negations": options.negations,
        "negation_reach": options.negation_reach, "lexicon_cols": options.lexicon_cols,
    }  # fmt: skip
    named = ["`negation=False`" if name == "negation" else f"`{name}`" for name, value in changed.items() if value]
    if named and is_package(options.names) and not options.lex2sent:
        raise UsageError(
            f"{', '.join(named)}: {options.names} uses its own package and rules, so this does not apply; to use "
            "it, give a list of words as a file"
        )


def _warn_of_unused(options: SentimentOptions, tokens: SentimentTextOptions) -> None:
    """Say which options about words have no effect."""
    packaged = is_package(options.names) and not options.lex2sent
    used = ("language",) if packaged else (*MATCHED, *(("stop_words", "min_length") if options.lex2sent else ()))
    unused = [f"`{f.name}`" for f in fields(tokens) if getattr(tokens, f.name) != f.default and f.name not in used]
    if unused:
        why = "scores texts as they are" if packaged else "looks at every word"
        reporting.warn(f"{', '.join(unused)}: a lexicon {why}; not used")


class SentimentMaker(ColumnMaker):
    """Documents with the columns sentiment and prediction; all are scored before the first is given."""

    command = progress = "sentiment"
    gives, replaces = "classes", tuple(COLUMNS)
    summed = ("found.documents", "found.without_sentiment", "found.predicted")

    def __init__(
        self,
        stream: DocumentStream,
        corpus: Corpus,
        options: SentimentOptions,
        tokens: SentimentTextOptions,
        settings: PreprocessOptions,
        gates: GateOptions,
        execution: Execution,
    ) -> None:
        super().__init__(options.names, stream, execution.seed)
        self._gates, self._rules = gates, read_gates(gates)
        self._label_col, self._at = corpus.options.label_col, 0
        self._options, self._tokens, self._settings, self._execution = options, tokens, settings, execution
        names = stream.schema.names
        self.labelled = "label" in names and not pa.types.is_nested(stream.schema.field("label").type)
        self._parts: list[FloatArray] = []
        self._encoded: list[EncodedBatch] = []
        self._labels: list[str | None] = []
        self._without = 0  # documents without a sentiment word
        self._languages: tuple[str, ...] = ()
        self._facts: dict[str, Any] = {}
        self._notes: list[str] = []

    def require_labels(self) -> None:
        """Raise UsageError or ColumnError where there are no labels: nothing would come of scores that are not written."""
        names = self.stream.schema.names
        if self.labelled:
            return
        if "label" in names:
            raise UsageError("labels are lists, which cannot be compared with sentiment; name an output: `output=FILE`")
        if self._label_col != "label":
            raise missing_column(self.stream.where, self._label_col, names, "`label_col`")
        raise UsageError(
            "there is no label column to compare the sentiment with; name an output: `output=sentiment.parquet`, "
            "or `output=-` for JSON lines, or name the label column with `label_col`"
        )

    def finish(self) -> None:
        """Turn the scores of all documents into classes, and score these where there are labels."""
        if self._options.lex2sent:
            self._lex2sent()
        scores = np.concatenate(self._parts)
        classes = named_classes(self._options) or self._classes()
        predictions = self._predict(classes, scores)
        self._scores = scores.astype(np.float32)
        self._predicted = pa.array(classes.names, pa.string()).take(pa.array(predictions))
        sizes = np.bincount(predictions, minlength=len(classes.names)).tolist()
        self._facts = {
            "documents": len(scores), "without_sentiment": self._without, "classes": list(classes.names),
            "predicted": dict(zip(classes.names, sizes, strict=True)), "languages": list(self._languages), **self._facts,
        }  # fmt: skip
        self.evaluation = self._evaluate(scores, predictions, classes)
        if self.evaluation is not None:
            self.evaluation.facts |= self._facts
        check_gates(self.evaluation, self._gates, self._rules)

    def completed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the next documents with sentiment and prediction."""
        at, n = self._at, batch.num_rows
        self._at += n
        batch = add_column(batch, "sentiment", pa.array(self._scores[at : at + n]))
        return add_column(batch, "prediction", self._predicted.slice(at, n))

    def parameters(self) -> dict[str, Any]:
        """Return the options, and what was found."""
        options = {f.name: _plain(getattr(self._options, f.name)) for f in fields(self._options) if f.name != "ci"}
        return {**options, **{n: _plain(getattr(self._tokens, n)) for n in MATCHED}, "found": self._facts}

    def summary(self) -> dict[str, Any]:
        """Return the numbers of documents, of each class, and of the words of the lexicon."""
        return dict(self._facts)

    def report(self) -> None:
        """Say what became of documents without sentiment, and why there are no scores."""
        for note in self._notes:
            reporting.note(note)

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents as they are, when they have been scored: the class of each depends on all."""
        options, execution = self._options, self._execution
        name = options.names
        packaged = is_package(name) and not Path(name).is_file() and not options.lex2sent
        lexicon = None if packaged else load_lexicon(options)
        running = iter(self.stream)
        first = next(running, None)
        if first is None:
            return
        if lexicon is not None or name in ENGLISH:
            self._languages = text_languages(self._settings, [*self.stream.opening, first][:1])
        if name in ENGLISH and self._languages and "en" not in self._languages:
            reporting.warn(f"{name} is a lexicon of English, and the texts are {', '.join(self._languages)}")
        batches = self._with_labels(chain([first], running))
        with ExitStack() as stack:
            if lexicon is None:
                package = stack.enter_context(PackageScorer(name, workers=execution.n_threads()))
                for batch in batches:
                    self._parts.append(package.score(batch.column("text")))
                    yield batch, {}
                self._without = sum(int((part == 0).sum()) for part in self._parts)
                self._facts["lexicon"] = name
                return
            negations = None if options.negations is None else read_negations(options.negations)
            scorer = LexiconScorer(
                lexicon, self._settings, self._languages, negation=options.negation, negations=negations,
                reach=options.negation_reach,
            )  # fmt: skip
            self._note_lexicon(scorer, has_negations=negations is not None or bool(lexicon.negations))
            self._scorer = scorer
            for batch, matched in scorer.match(batches, threads=execution.n_threads()):
                if options.lex2sent:
                    self._encoded.append(matched.encoded)
                else:
                    part = scorer.score(matched, options.lexicon_score)
                    self._parts.append(part.score)
                    self._without += int((part.hits == 0).sum())
                yield batch, {}

    def _with_labels(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches, and keep their labels."""
        for batch in batches:
            if self.labelled:
                self._labels += [as_label(v) for v in batch.column("label").to_pylist()]
            yield batch

    def _lex2sent(self) -> None:
        from nlpkit.sentiment.lex2sent import halve, lex2sent
        from nlpkit.text.stopwords import stop_matcher, stop_words

        settings, threads = self._settings, self._execution.n_threads()
        ends, ids, at = [np.zeros(1, np.int64)], [], 0
        for encoded in self._encoded:
            ends.append(at + encoded.offsets[1:])
            ids.append(encoded.term_ids)
            at += len(encoded.term_ids)
        terms, weights, negates, marks = self._scorer.over_vocabulary()
        codes = self._languages if settings.stop_words in ("auto", "none") else tuple(settings.stop_words.split(","))
        is_stop = stop_matcher(stop_words(codes) | settings.extra_stop_words, settings.stop_patterns)
        stops = np.fromiter((len(t) < settings.min_length or is_stop(t) for t in terms), bool, len(terms))
        corpus = halve(
            np.concatenate(ends), np.concatenate(ids), terms, weights, negates=negates, marks=marks, stops=stops
        )
        options = lex2sent_options(self._options)
        with reporting.progress("Lex2Sent", options.B) as update:
            diff = lex2sent(corpus, options, seed=self._execution.seed, workers=threads, update=update)
        self._parts.append(-diff)
        self._without = int((np.diff(corpus.offsets) == 0).sum())
        self._facts["lex2sent"] = {
            "resamples": options.B, "epochs": list(options.epochs), "windows": list(options.windows), "sizes": list(options.sizes),
            "resampling": options.resampling, "min_count": options.min_count,
        }  # fmt: skip

    def _note_lexicon(self, scorer: LexiconScorer, *, has_negations: bool) -> None:
        report, options = scorer.report, self._options
        self._facts |= {
            "lexicon": options.names, "positive_terms": report.n_positive, "negative_terms": report.n_negative,
            "negations": report.n_negations, "entries": report.n_words, "entries_unmatchable": report.n_unmatchable,
            "terms_of_several_weights": report.n_several,
        }  # fmt: skip
        parts = [f"{report.n_positive:,} positive and {wording.counted(report.n_negative, 'negative term')}"]
        if options.negation:
            parts.append(f"{wording.counted(report.n_negations, 'negation')}")
        if report.n_several:
            parts.append(f"{wording.counted(report.n_several, 'term')} of several weights, which have their mean")
        if report.n_unmatchable:
            parts.append(f"{report.n_unmatchable:,} entries are not words, such as emoticons, and match nothing")
        reporting.note(f"{options.shown}: {'; '.join(parts)}")
        for n, name in ((report.n_positive, "positive"), (report.n_negative, "negative")):
            if not n and not options.lex2sent:
                reporting.warn(f"{options.shown} has no {name} words")
        if options.negation and not has_negations and not negation_words(self._languages):
            language = ", ".join(self._languages) or "no language"
            reporting.warn(
                f"no list of negations exists for {language} (only {', '.join(negation_languages())}), so no "
                "weights are reversed; give one with `negations=FILE`, set `language`, or use `negation=False`"
            )

    def _classes(self) -> SentimentClasses:
        known = recognise_classes({label for label in self._labels if label is not None})
        if known is not None:
            return known
        return SentimentClasses("negative", None, "positive") if self._options.lex2sent else DEFAULT_CLASSES

    def _predict(self, classes: SentimentClasses, scores: FloatArray) -> IntArray:
        options = self._options
        vader = options.names == "vader" and not options.lex2sent
        neutral = options.neutral if options.neutral is not None else VADER_NEUTRAL if vader else 0.0
        if options.neutral and classes.neutral is None:
            reporting.warn(
                f"`neutral={options.neutral:g}`is not used, because {', '.join(classes.names)} has no neutral class"
            )
        closed = vader and options.neutral is None
        predictions = predict_classes(scores, classes, neutral=neutral, zero=options.zero, closed=closed)
        zeros = int((scores == 0).sum())
        if self._without or zeros:
            default = classes.neutral or (classes.positive if options.zero == "positive" else classes.negative)
            some = f", {self._without:,} of them without a sentiment word" if self._without != zeros else ""
            rule = "" if classes.neutral is not None else " (`zero`)"
            self._notes.append(
                f"{wording.counted(zeros, 'document')} of {len(scores):,} with a score of 0{some}: predicted {default}{rule}"
            )
        self._facts["neutral"] = neutral if classes.neutral is not None else None
        return predictions

    def _evaluate(self, scores: FloatArray, predictions: IntArray, classes: SentimentClasses) -> Evaluation | None:
        options = self._options
        labels = {label for label in self._labels if label is not None}
        if not labels:
            return None
        name = f"{'Lex2Sent, ' if options.lex2sent else ''}{options.shown}"
        uncertainty = Uncertainty(options.ci or None, self._execution.seed)
        if options.classes is not None or recognise_classes(labels) is not None:
            return scored_classes(name, self._label_col, self._labels, predictions, classes, uncertainty)
        numbers = numeric_labels(self._labels)
        if numbers is not None:
            return scored_numbers(name, self._label_col, numbers, scores, uncertainty)
        some = wording.listed(sorted(labels), 5)
        self._notes.append(
            f"labels ({some}) are not sentiment classes, so no scores were computed; name them: `classes=NEGATIVE,POSITIVE`"
        )
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value
