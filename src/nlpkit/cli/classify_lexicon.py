"""`nlpkit classify TEXTS --lexicon …`: sentiment without labels, and how it agrees with them where there are some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cells import as_label
from nlpkit.classify.lexicon import (
    DEFAULT_CLASSES,
    LexiconScorer,
    SentimentClasses,
    predict_classes,
    recognise_classes,
    text_languages,
)
from nlpkit.classify.negation import negation_languages, negation_words
from nlpkit.classify.packages import PackageScorer, is_package
from nlpkit.cli import console
from nlpkit.cli.classify_lexicon_flags import LexiconFlags
from nlpkit.cli.classify_lexicon_show import numbers_of, scored_classes, scored_numbers
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import OutputFlags, RunFlags
from nlpkit.errors import UsageError, missing_column
from nlpkit.evaluation.results import Evaluation
from nlpkit.io.artifacts import footer_block
from nlpkit.io.corpora import open_documents
from nlpkit.io.documents import add_column
from nlpkit.io.lexica import read_negations
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.spool import Spool, spool_beside
from nlpkit.io.tables import table_sink, write_dropped
from nlpkit.metrics.score import Uncertainty
from nlpkit.types import FloatArray, IntArray
from nlpkit.workflows.corpus import no_documents, steps, warn_dropped
from nlpkit.workflows.token_options import preprocess_options

if TYPE_CHECKING:
    from nlpkit.io.corpora import DocumentStream
    from nlpkit.text.options import PreprocessOptions, TextOptions

COLUMNS = {"sentiment": pa.float32(), "prediction": pa.string()}
_MATCHED = ("language", "lower", "lemma", "stem", "html", "replace", "emoji", "keep", "segment")
_VADER_NEUTRAL = 0.05
_DETECTED = ("vader", "afinn", "afinn:en", "afinn:emoticons")  # lists that are for English


@dataclass(slots=True)
class _Found:
    """What scoring came to, document by document."""

    scores: list[FloatArray] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    without: int = 0  # documents without a sentiment word
    languages: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def classify_by_lexicon(
    inputs: list[str],
    flags: LexiconFlags,
    tokens: TextOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
    *,
    level: float | None = 0.95,
) -> Evaluation | None:
    """Score documents by a lexicon, write them with columns sentiment and prediction, and hold them against their labels.

    Returns:
        The scores against the column of labels: of classes, or of a correlation where labels are numbers; None where there are
        no labels, or none that are sentiment. With --json and None the one object is printed here.

    Raises:
        UsageError, InputError, ColumnError, MissingError: see LexiconFlags, read_lexicon and open_documents.
    """
    flags.check()
    classes, options = flags.sentiment_classes(), preprocess_options(tokens)
    if run.dry_run:
        dry_run(inputs, read)
        return None
    target = out.given_table_target("sentiment.parquet")
    _say_unused(flags, tokens)
    with open_documents(inputs, read) as stream:
        labelled = "label" in stream.schema.names and not pa.types.is_nested(stream.schema.field("label").type)
        if target is None and not labelled:
            if "label" in stream.schema.names:
                raise UsageError(
                    "labels are lists here, which sentiment is not held against; say where to write: -o FILE"
                )
            raise UsageError(
                "there is no column of labels to hold the sentiment against; say where to write it: -o sentiment.parquet, or "
                "-o - for JSON lines; or name the column: --label-col"
            )
        if target is None and read.label_col != "label" and "label" not in stream.schema.names:
            raise missing_column(inputs[0], read.label_col, stream.schema.names, "label_col")
        for name in COLUMNS:
            if target is not None and name in stream.schema.names:
                reporting.warn(f"the column '{name}' of the input is replaced")
        with spool_beside(target or "-") as spool:
            found = _score(stream, inputs, flags, options, run, spool, labelled=labelled, keeps=target is not None)
            scores = np.concatenate(found.scores)
            if classes is None:
                classes = _classes(flags, found.labels)
            predictions = _predict(flags, classes, scores, found)
            found.facts = {
                "output": target, "documents": len(scores), "without_sentiment": found.without, "classes": list(classes.names),
                "predicted": dict(zip(classes.names, np.bincount(predictions, minlength=len(classes.names)).tolist(), strict=True)),
                "languages": list(found.languages), **found.facts,
            }  # fmt: skip
            if target is not None:
                _write(stream, spool, target, scores, predictions, classes, flags, tokens, run, found, force=out.force)
            else:
                warn_dropped(stream, None)
    evaluation = _evaluate(flags, read, found, scores, predictions, classes, Uncertainty(level, run.seed))
    for note in found.notes:
        reporting.note(note)
    if target is not None and target != "-":
        reporting.note(f"wrote {target}")
    if evaluation is not None:
        evaluation.facts |= found.facts
    elif run.json:
        console.emit_json(found.facts)
    elif target is None:
        raise UsageError(
            "there are no labels of sentiment to hold this against; say where to write it: -o sentiment.parquet"
        )
    return evaluation


# ---------------------------------------------------------------- scoring


def _score(
    stream: DocumentStream,
    inputs: Sequence[str],
    flags: LexiconFlags,
    options: PreprocessOptions,
    run: RunFlags,
    spool: Spool,
    *,
    labelled: bool,
    keeps: bool,
) -> _Found:
    """Score all documents, and keep them in the spool when they are written."""
    assert flags.lexicon is not None
    packaged = is_package(flags.lexicon) and not Path(flags.lexicon).is_file() and not flags.lex2sent
    lexicon = None if packaged else flags.load()
    running = iter(stream)
    first = next(running, None)
    if first is None:
        raise no_documents(stream)
    found = _Found()
    batches = chain([first], running)

    def kept() -> Iterator[pa.RecordBatch]:
        rows = 0
        with reporting.progress("sentiment", None) as update:
            for batch in batches:
                if labelled:
                    found.labels += [as_label(v) for v in batch.column("label").to_pylist()]
                yield batch
                if keeps:
                    spool.write(batch)
                rows += batch.num_rows
                update(rows)

    english = flags.lexicon in _DETECTED
    if lexicon is not None or english:
        found.languages = text_languages(options, [first])
    if english and found.languages and "en" not in found.languages:
        reporting.warn(f"{flags.lexicon} is a lexicon of English, and the texts are {', '.join(found.languages)}")
    with ExitStack() as stack:
        if lexicon is None:
            package = stack.enter_context(PackageScorer(flags.lexicon, workers=run.n_threads()))
            for batch in kept():
                found.scores.append(package.score(batch.column("text")))
            found.without = sum(int((part == 0).sum()) for part in found.scores)
            found.facts["lexicon"] = flags.lexicon
            return found
        negations = None if flags.negations is None else read_negations(flags.negations)
        scorer = LexiconScorer(
            lexicon, options, found.languages, negation=flags.negation, negations=negations, reach=flags.negation_reach
        )
        _say_lexicon(scorer, flags, found, given=negations is not None or bool(lexicon.negations))
        if flags.lex2sent:
            _lex2sent(scorer, kept, flags, options, run, found)
            return found
        for _, matched in scorer.match(kept(), threads=run.n_threads()):
            part = scorer.score(matched, flags.lexicon_score)
            found.scores.append(part.score)
            found.without += int((part.hits == 0).sum())
    return found


def _lex2sent(
    scorer: LexiconScorer,
    kept: Callable[[], Iterator[pa.RecordBatch]],
    flags: LexiconFlags,
    options: PreprocessOptions,
    run: RunFlags,
    found: _Found,
) -> None:
    from nlpkit.classify.lex2sent import halve, lex2sent
    from nlpkit.text.stopwords import stop_matcher, stop_words

    ends, ids, at = [np.zeros(1, np.int64)], [], 0
    for _, matched in scorer.match(kept(), threads=run.n_threads()):
        ends.append(at + matched.encoded.offsets[1:])
        ids.append(matched.encoded.term_ids)
        at += len(matched.encoded.term_ids)
    terms, weights, negates, marks = scorer.over_vocabulary()
    codes = found.languages if options.stop_words in ("auto", "none") else tuple(options.stop_words.split(","))
    is_stop = stop_matcher(stop_words(codes) | options.extra_stop_words, options.stop_patterns)
    stops = np.fromiter((len(t) < options.min_length or is_stop(t) for t in terms), bool, len(terms))
    corpus = halve(np.concatenate(ends), np.concatenate(ids), terms, weights, negates=negates, marks=marks, stops=stops)
    how = flags.lex2sent_options()
    with reporting.progress("Lex2Sent", how.B) as update:
        diff = lex2sent(corpus, how, seed=run.seed, workers=run.n_threads(), update=update)
    found.scores.append(-diff)
    found.without = int((np.diff(corpus.offsets) == 0).sum())
    found.facts["lex2sent"] = {
        "resamples": how.B, "epochs": list(how.epochs), "windows": list(how.windows), "sizes": list(how.sizes),
        "resampling": how.resampling, "min_count": how.min_count,
    }  # fmt: skip


def _say_unused(flags: LexiconFlags, tokens: TextOptions) -> None:
    """Say which options about tokens nothing comes of."""
    assert flags.lexicon is not None
    changed = [f.name for f in fields(tokens) if getattr(tokens, f.name) != f.default]
    used = ("language",) if is_package(flags.lexicon) and not flags.lex2sent else _MATCHED
    if flags.lex2sent:
        used = (*used, "stop_words", "min_length")
    unused = [
        f"--{name.replace('_', '-')}" for name in changed if name not in (*used, "tokenizer", "token_pattern", "spacy")
    ]
    if unused:
        why = "scores texts as they are" if used == ("language",) else "looks at every word"
        reporting.warn(f"{', '.join(unused)}: a lexicon {why}; not used")


def _say_lexicon(scorer: LexiconScorer, flags: LexiconFlags, found: _Found, *, given: bool) -> None:
    report = scorer.report
    found.facts |= {
        "lexicon": flags.lexicon, "positive_terms": report.n_positive, "negative_terms": report.n_negative,
        "negations": report.n_negations, "entries": report.n_words, "entries_unmatchable": report.n_unmatchable,
        "terms_of_several_weights": report.n_several,
    }  # fmt: skip
    parts = [f"{report.n_positive:,} positive and {wording.counted(report.n_negative, 'negative term')}"]
    if flags.negation:
        parts.append(f"{wording.counted(report.n_negations, 'negation')}")
    if report.n_several:
        parts.append(f"{wording.counted(report.n_several, 'term')} of several weights, which have their mean")
    if report.n_unmatchable:
        parts.append(f"{report.n_unmatchable:,} entries are no words, such as emoticons, and match nothing")
    reporting.note(f"{flags.shown()}: {'; '.join(parts)}")
    for n, name in ((report.n_positive, "positive"), (report.n_negative, "negative")):
        if not n and not flags.lex2sent:
            reporting.warn(f"{flags.shown()} has no {name} words")
    if flags.negation and not given and not negation_words(found.languages):
        language = ", ".join(found.languages) or "no language"
        reporting.warn(
            f"there is no list of negations for {language} (there are {', '.join(negation_languages())}): no weight is turned; "
            "give one with --negations FILE, name the --language, or say --no-negation"
        )


# ---------------------------------------------------------------- classes


def _classes(flags: LexiconFlags, labels: Sequence[str | None]) -> SentimentClasses:
    known = recognise_classes({label for label in labels if label is not None})
    if known is not None:
        return known
    return SentimentClasses("negative", None, "positive") if flags.lex2sent else DEFAULT_CLASSES


def _predict(flags: LexiconFlags, classes: SentimentClasses, scores: FloatArray, found: _Found) -> IntArray:
    vader = flags.lexicon == "vader" and not flags.lex2sent
    neutral = flags.neutral if flags.neutral is not None else _VADER_NEUTRAL if vader else 0.0
    if flags.neutral and classes.neutral is None:
        reporting.warn(
            f"--neutral {flags.neutral:g}: there is no neutral class among {', '.join(classes.names)}; not used"
        )
    predictions = predict_classes(
        scores, classes, neutral=neutral, zero=flags.zero, closed=vader and flags.neutral is None
    )
    zeros = int((scores == 0).sum())
    if found.without or zeros:
        named = classes.neutral or (classes.positive if flags.zero == "positive" else classes.negative)
        which = f", {found.without:,} of them without a sentiment word" if found.without != zeros else ""
        how = "" if classes.neutral is not None else " (--zero)"
        found.notes.append(
            f"{wording.counted(zeros, 'document')} of {len(scores):,} with a score of 0{which}: predicted {named}{how}"
        )
    found.facts["neutral"] = neutral if classes.neutral is not None else None
    return predictions


def _evaluate(
    flags: LexiconFlags,
    read: ReadOptions,
    found: _Found,
    scores: FloatArray,
    predictions: IntArray,
    classes: SentimentClasses,
    how: Uncertainty,
) -> Evaluation | None:
    given = {label for label in found.labels if label is not None}
    if not given:
        return None
    name = f"{'Lex2Sent, ' if flags.lex2sent else ''}{flags.shown()}"
    if flags.classes is not None or recognise_classes(given) is not None:
        return scored_classes(name, read.label_col, found.labels, predictions, classes, how)
    numbers = numbers_of(found.labels)
    if numbers is not None:
        return scored_numbers(name, read.label_col, numbers, scores, how)
    some = ", ".join(sorted(given)[:5]) + (" …" if len(given) > 5 else "")
    found.notes.append(
        f"the labels ({some}) are not known as sentiment, so nothing is held against them; name them: --classes NEGATIVE,POSITIVE"
    )
    return None


# ---------------------------------------------------------------- writing


def _write(
    stream: DocumentStream,
    spool: Spool,
    target: str,
    scores: FloatArray,
    predictions: IntArray,
    classes: SentimentClasses,
    flags: LexiconFlags,
    tokens: TextOptions,
    run: RunFlags,
    found: _Found,
    *,
    force: bool,
) -> None:
    schema = stream.schema
    for name, kind in COLUMNS.items():
        at = schema.get_field_index(name)
        schema = schema.append(pa.field(name, kind)) if at < 0 else schema.set(at, pa.field(name, kind))
    names = pa.array(classes.names, pa.string())
    parameters = {
        **{f.name: _plain(getattr(flags, f.name)) for f in fields(flags)},
        **{name: _plain(getattr(tokens, name)) for name in _MATCHED},
        "found": {k: v for k, v in found.facts.items() if k != "output"},
    }
    block = footer_block(
        "documents", command="classify", parameters=parameters, seed=run.seed, inputs=stream.inputs, steps=steps(stream)
    )
    with table_sink(target, schema, block, force=force) as sink:
        at = 0
        for batch in spool:
            n = batch.num_rows
            batch = add_column(batch, "sentiment", pa.array(scores[at : at + n].astype(np.float32)))
            batch = add_column(batch, "prediction", names.take(pa.array(predictions[at : at + n])))
            sink.write(batch)
            at += n
    warn_dropped(stream, write_dropped(target, stream.dropped, block))


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
