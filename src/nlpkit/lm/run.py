"""N-gram language models of a corpus: fitted, saved, loaded, and the probabilities they give to documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.lm.counting import NgramCounter
from nlpkit.lm.files import KIND, load_arpa, model_files, read_model, save_arpa
from nlpkit.lm.model import (
    GeneratedText,
    GenerateOptions,
    NgramModel,
    Perplexity,
    PerplexitySums,
    ScoredWords,
    fit,
    generate,
)
from nlpkit.lm.options import NgramModelOptions
from nlpkit.lm.trie import SPECIAL, UNKNOWN_ID
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, as_corpus, warn_dropped
from nlpkit.platform.documents.inputs import DroppedRow
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.runs.passes import ColumnMaker, Pass, WithColumns
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.runs import NewRun, Run, new_run, open_run
from nlpkit.platform.runs.scratch import Scratch
from nlpkit.platform.types import IntArray, LongArray
from nlpkit.predict.model import RunModel
from nlpkit.predict.options import PredictOptions
from nlpkit.text.files import vocabulary_table
from nlpkit.text.options import CountOptions, PreprocessOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.text.tokens import (
    EncodedDocuments,
    Sentences,
    cut_as_model,
    encode,
    refuse_token_options,
    sequences,
    token_info,
    tokens_of,
)

COLUMNS = ("log10_prob", "n_words", "n_unknown", "perplexity")
LN10 = np.log(10)
_HELD = 32 << 20  # bytes of the ids of words that are held before a temporary file is begun
_MARKS = frozenset(".,;:!?\"'’”»)]}…。，！？")
_MANY_MARKED = 0.1  # of the unknown words: a warning
UNSPACED = frozenset({"zh", "ja", "th"})


class LanguageModel(RunModel):
    """An n-gram model that was fitted or loaded.

    model: the n-grams and their probabilities. run: that was read, or that can be written; None for an ARPA file, path: where that is.
    token_settings: how texts are cut. held_out: its perplexity on the documents that were kept out of it.
    """

    kind = KIND

    def __init__(
        self,
        model: NgramModel,
        run: Run | NewRun | None,
        path: Path | None,
        token_settings: Mapping[str, Any] | None,
        held_out: Perplexity | None = None,
    ) -> None:
        self.model, self.path, self.token_settings, self.held_out = model, path, token_settings, held_out
        if run is not None:
            self.run = run

    @property
    def name(self) -> str:
        """What the model is called in messages."""
        return "the model" if self.path is None else str(self.path)

    def summary(self) -> dict[str, Any]:
        """Return sizes, discounts and perplexity in plain values."""
        return _results(self.model, self.held_out)

    def tables(self) -> Mapping[str, pa.Table]:
        """Return the tables of the run directory by name; an ARPA file has none."""
        return super().tables() if hasattr(self, "run") else {}

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the run directory.

        Raises:
            UsageError: the model was read from an ARPA file; OutputExistsError: it is there.
        """
        if not hasattr(self, "run"):
            raise UsageError(
                f"{self.name} is an ARPA file without counts; use the file itself, because it cannot become a run"
            )
        return super().save(path, force=force)

    def save_arpa(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model as an ARPA file, which KenLM and others read.

        Raises:
            UsageError: smoothing that has no such form; OutputExistsError: it is there.
        """
        save_arpa(self.model, Path(path), force=force)

    @contextmanager
    def predict_batches(
        self, corpus: Corpus, *, options: PredictOptions | None = None, execution: Execution | None = None
    ) -> Iterator[Pass]:
        """Return a context with the probabilities of documents.

        Raises:
            UsageError: an option that a language model has no use for.
        """
        (options or PredictOptions()).refuse_others((), f"a run of {KIND}")
        with corpus.open() as stream:
            yield Pass(PerplexityMaker(self, stream, execution or Execution()))

    def perplexity(self, data: Any, *, execution: Execution | None = None) -> Perplexity:
        """Return the perplexity of documents (a Corpus, texts or a data frame)."""
        with as_corpus(data).open() as stream:
            maker = PerplexityMaker(self, stream, execution or Execution())
            for _ in Pass(maker).batches():
                pass
        return maker.perplexity

    def generate(
        self,
        prompt: str = "",
        *,
        options: GenerateOptions | None = None,
        execution: Execution | None = None,
        **settings: Any,
    ) -> list[tuple[str, GeneratedText]]:
        """Return texts that begin with a prompt, words joined by blanks.

        settings: fields of GenerateOptions and Execution.

        Raises:
            UsageError: the prompt has a word that the model does not have.
        """
        options, execution = with_settings((options, execution), settings, (GenerateOptions, Execution))
        words = self.prompt_words(prompt or options.prompt)
        texts = generate(self.model, [self.model.ids[w] for w in words], options, seed=execution.seed)
        written = [(" ".join([*words, *(self.model.words[i] for i in one.words)]), one) for one in texts]
        stuck = [text for text, one in written if not one.ended and len(one.words) < options.max_words]
        if stuck or not written:
            behind = (stuck[0] if stuck else " ".join(words)).split(" ")[1 - self.model.trie.order or None :]
            reporting.warn(
                f"{wording.counted(max(len(stuck), 1), 'text')} cannot continue: no word follows "
                f"'{' '.join(behind)}' in the corpus, and this model gives unseen words no probability; a smoothed "
                "model does (`smoothing=kneser-ney`)"
            )
        return written

    def prompt_words(self, prompt: str) -> list[str]:
        """Return the words of a prompt. Raises UsageError: the model does not have one."""
        words = self._cut(prompt)
        unknown = [word for word in words if self.model.ids.get(word, 0) < len(SPECIAL)]
        if unknown:
            raise UsageError(
                f"{self.name} has no word {', '.join(map(repr, unknown[:5]))}; start with words of its vocabulary",
                parameter="prompt",
            )
        return words

    def _cut(self, text: str) -> list[str]:
        if not text.strip() or self.token_settings is None:
            return text.split()
        from nlpkit.text.settings import options_from

        tokens, _ = tokens_of(pa.table({"text": [text]}), options_from(self.token_settings, self.name))
        return [tokens.terms[i] for i in tokens.term_ids.tolist()]


def fit_language_model(
    data: Any,
    *,
    options: NgramModelOptions | None = None,
    words: CountOptions | None = None,
    held_out: float | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> LanguageModel:
    """Fit an n-gram language model to documents.

    Texts are cut into sentences and words, and all words count; tokens that are there are one sequence a document.

    Args:
        data: a Corpus, texts, or a data frame. options: order and smoothing. words: how texts are cut. held_out: share of the
            documents that are kept out of the model, on which its perplexity is measured.
        settings: single fields of the records, such as order=5, smoothing="witten-bell".

    Raises:
        UsageError: options that contradict each other; InputError: no documents, or none with a word.

    Example:
        >>> model = nk.fit_language_model(["I am Sam", "Sam I am", "I do not like ham"], order=2)
        >>> round(model.perplexity(["I am Sam"]).perplexity, 1)
        2.9
    """
    records = (options, words, execution)
    options, words, execution = with_settings(records, settings, (NgramModelOptions, CountOptions, Execution))
    if held_out is not None and not 0 < held_out < 1:
        raise UsageError(
            f"`held_out={held_out:g}`: a share of the documents between 0 and 1 is needed", parameter="held_out"
        )
    seconds: dict[str, float] = {}
    token_options = preprocess_options(words.tokens())
    with as_corpus(data).open() as stream:
        if "tokens" in stream.schema.names:
            refuse_token_options(token_options, stream.where, preprocess_options(CountOptions().tokens()))
        kept = _KeptOut(stream, held_out, execution.seed)
        with stopwatch(seconds, "words"):
            sentences = (
                kept if "tokens" in stream.schema.names else Sentences(kept, options.unit, token_options.language)
            )
            encoded = encode(sentences, token_options, keep=_ids, threads=execution.n_threads(), memory=_HELD)
        fitted = encoded.fitted
        try:
            with stopwatch(seconds, "counts"):
                names, cf, df, place = _vocabulary(encoded, options.min_count)
                scratch = Scratch(stream.spool_directory)
                counter = NgramCounter(options.order, len(names), threads=execution.n_threads(), scratch=scratch)
                for _, batch in encoded:
                    counter.add(batch.offsets, place[batch.term_ids])
                trie, counts = counter.finish()
        finally:
            encoded.close()
        pa.default_memory_pool().release_unused()  # the copy of the texts makes room for the model
        warn_dropped(stream, None)
        report = None if fitted is None else fitted.report
        reporting.note(
            f"{wording.counted(kept.n_docs, 'document')}: {wording.counted(encoded.n_docs, options.unit if report else 'sequence')}"
        )
        if report is not None and {one.code for one in report.languages} & UNSPACED:
            reporting.warn(
                "texts without spaces are split into overlapping pairs of characters, which predict each other; "
                "split them first: `preprocess(unit=sentence, segment=characters)` (or words) "
                "`stop_words=none`"
            )
        with stopwatch(seconds, "smoothing"):
            model = fit(options, names, trie, counts, scratch)
        info = token_info(token_options, report, stream.steps)
        scored = None
        if held_out is not None:
            if not sum(batch.num_rows for batch in kept.held_out):
                raise InputError(
                    f"no document of {stream.where} is held out by `held_out={held_out:g}`; give a larger share"
                )
            other = Corpus(memory=pa.Table.from_batches(kept.held_out))
            unsaved = LanguageModel(model, None, None, info)
            with stopwatch(seconds, "perplexity"):
                scored = unsaved.perplexity(other, execution=execution)
        files = model_files(model, info, vocabulary_table(names[len(SPECIAL) :], cf, df))
        parameters = {**asdict(options), "held_out": held_out, "language": words.language, "lower": words.lower}
        run = new_run(
            KIND,
            files,
            stream,
            parameters=parameters,
            results=_results(model, scored),
            execution=execution,
            seconds=seconds,
        )
    if model.smoothed is not None and not all(model.smoothed.estimated):
        lengths = [str(i) for i, known in enumerate(model.smoothed.estimated, 1) if not known]
        reporting.warn(
            f"too few n-grams of length {', '.join(lengths)} occur once, twice and three times to estimate "
            "discounts; default discounts are used"
        )
    return LanguageModel(model, run, None, info, scored)


def load_language_model(path: Path, execution: Execution) -> LanguageModel:
    """Return the model of a run directory. Raises what `open_run` does."""
    run = open_run(path, [KIND], verify=execution.verify)
    return LanguageModel(read_model(run), run, path, run.model_config("options").get("tokens"))


def load_arpa_file(path: Path, execution: Execution) -> LanguageModel:
    """Return the model of an ARPA file, whose words are those between blanks. Raises InputError: it is none."""
    return LanguageModel(load_arpa(path), None, path, None)


class PerplexityMaker(ColumnMaker):
    """Documents with log10 of their probability, their words and sentence ends, those that are unknown, and their perplexity."""

    gives, replaces = "probabilities", COLUMNS

    def __init__(self, fitted: LanguageModel, stream: DocumentStream, execution: Execution) -> None:
        super().__init__(fitted.name, stream, None)
        self.fitted, self.execution = fitted, execution
        self._sums = PerplexitySums(closed=fitted.model.options.closed)
        self._marked: Counter[str] = Counter()  # unknown words of texts cut at blanks that end with a mark

    @property
    def perplexity(self) -> Perplexity:
        """Of all documents together."""
        return self._sums.result()

    def parameters(self) -> dict[str, Any]:
        """Return what the footer says of the prediction."""
        return {"model": self.name}

    def summary(self) -> dict[str, Any]:
        """Return the number of documents and their perplexity together."""
        return {"documents": self.documents, **_plain(self.perplexity)}

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents with COLUMNS. Raises InputError where there are none."""
        model, settings = self.fitted.model, self.fitted.token_settings
        options: PreprocessOptions | None
        if self.fitted.token_settings is None and "tokens" not in self.stream.schema.names:
            options = PreprocessOptions(
                tokenizer="whitespace", stop_words="none", min_length=1, min_df=1, lower=False, language="none"
            )
        else:
            options = cut_as_model(self.stream, settings, self.fitted.name)
        names = [name for name in self.stream.schema.names if name not in COLUMNS]
        place = {word: i for i, word in enumerate(model.words) if i >= len(SPECIAL)}
        for batch, of_document, terms, offsets, ids in sequences(self.stream, options, model.options.unit):
            known = np.array([place.get(term, UNKNOWN_ID) for term in terms], np.int32)
            scored = model.score(offsets, known[ids] if len(ids) else np.zeros(0, np.int32))
            columns = self._columns(scored, of_document, batch.num_rows)
            if options is not None and options.tokenizer == "whitespace":
                occurrences = np.bincount(ids, minlength=len(terms)).tolist()
                for term, n, id in zip(terms, occurrences, known.tolist(), strict=True):
                    if n and id == UNKNOWN_ID and term[-1] in _MARKS:
                        self._marked[term] += n
            yield pa.RecordBatch.from_arrays([batch.column(name) for name in names], names=names), columns

    def _columns(self, scored: ScoredWords, of_document: LongArray, D: int) -> dict[str, pa.Array]:
        closed = self.fitted.model.options.closed
        row = np.repeat(of_document, np.diff(scored.offsets))
        counted = ~scored.unknown if closed else np.ones(len(row), np.bool_)
        log_prob = np.bincount(row[counted], weights=scored.log_prob[counted], minlength=D)
        words = np.bincount(row, minlength=D)
        unknown = np.bincount(row[scored.unknown], minlength=D)
        n = np.bincount(row[counted], minlength=D)
        with np.errstate(over="ignore"):
            each = np.exp(-np.divide(log_prob, n, out=np.full(D, np.nan), where=n > 0))
        self._sums.add(scored)
        return {
            "log10_prob": pa.array(log_prob / LN10),
            "n_words": pa.array(words.astype(np.int32)),
            "n_unknown": pa.array(unknown.astype(np.int32)),
            "perplexity": pa.array(each, from_pandas=True),
        }

    def report(self) -> None:
        """Say how well the model predicts the documents."""
        closed = self.fitted.model.options.closed
        reporting.note(f"{wording.counted(self.documents, 'document')}: {described(self.perplexity, closed=closed)}")
        marked, n_unknown = self._marked.total(), self.perplexity.n_unknown
        if marked and marked >= _MANY_MARKED * n_unknown:
            reporting.warn(
                f"{marked:,} of {wording.counted(n_unknown, 'unknown word')} end with a mark, such as "
                f"'{next(iter(self._marked))}': for an ARPA file, texts are split at spaces; tokenise them as its "
                "training texts, with `preprocess()`"
            )


def described(measured: Perplexity, *, closed: bool) -> str:
    """Return a perplexity and its definition in words. closed: unknown words have no part in it."""
    p = measured
    value, without = ("infinite" if np.isinf(x) else f"{x:,.2f}" for x in (p.perplexity, p.without_unknown))
    counted = p.n_words - p.n_unknown if closed else p.n_words
    N = f"{wording.counted(counted, 'word')} with the ends of {wording.counted(p.n_sentences, 'sentence')}"
    parts = [f"perplexity {value} = exp(−Σ log p / N), N = {N}"]
    if p.n_unknown and closed:
        share = p.n_unknown / p.n_words
        unknown = wording.counted(p.n_unknown, "unknown word")
        parts.append(f"{unknown} ({share:.1%} of all) left out, as the model has no {SPECIAL[UNKNOWN_ID]}")
    elif p.n_unknown:
        parts.append(f"{p.n_unknown / p.n_words:.1%} of them unknown, {without} without these")
    if p.n_impossible:
        parts.append(f"{wording.counted(p.n_impossible, 'word')} of probability 0")
    return "; ".join(parts)


def _plain(p: Perplexity) -> dict[str, Any]:
    return {
        **asdict(p),
        "perplexity": finite_or_none(p.perplexity),
        "without_unknown": finite_or_none(p.without_unknown),
    }


def _results(model: NgramModel, held_out: Perplexity | None) -> dict[str, Any]:
    sizes = np.diff(model.trie.levels).tolist()
    discounts = [] if model.smoothed is None else [list(d) for d in model.smoothed.discounts]
    words = 0 if model.counts is None else int(model.counts[: len(model.words)].sum(dtype=np.int64) - model.counts[1])
    return {
        "words": words, "vocabulary": len(model.words) - len(SPECIAL), "ngrams": sizes, "discounts": discounts,
        "held_out": None if held_out is None else _plain(held_out),
    }  # fmt: skip


def _vocabulary(encoded: EncodedDocuments, min_count: int) -> tuple[tuple[str, ...], LongArray, LongArray, IntArray]:
    """Return the words of a model, the cf and df of those that are none of SPECIAL, and the id of each term (V,)."""
    kept = np.flatnonzero((encoded.cf >= min_count) & ~np.isin(np.array(encoded.terms, object), SPECIAL))
    if not len(kept):
        if not len(encoded.terms):
            raise InputError("the documents have no words to count")
        raise InputError(f"no word of the documents occurs {wording.counted(min_count, 'time')}; lower `min_count`")
    place = np.full(len(encoded.terms), UNKNOWN_ID, np.int32)
    place[kept] = np.arange(len(SPECIAL), len(SPECIAL) + len(kept), dtype=np.int32)
    names = (*SPECIAL, *(encoded.terms[i] for i in kept.tolist()))
    return names, encoded.cf[kept], encoded.df[kept], place


def _ids(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(["id"])


class _KeptOut:
    """A stream without documents that are drawn by chance and kept in memory: `held_out`."""

    def __init__(self, stream: DocumentStream, share: float | None, seed: int) -> None:
        self.held_out: list[pa.RecordBatch] = []
        self.n_docs = 0
        self.schema, self.where, self.spool_directory = stream.schema, stream.where, stream.spool_directory
        self.stream, self.share, self.seed = stream, share, seed

    @property
    def dropped(self) -> Sequence[DroppedRow]:
        """Rows that could not be read."""
        return self.stream.dropped

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        rng = np.random.default_rng(self.seed)
        names = [name for name in ("id", "text", "tokens") if name in self.stream.schema.names]
        for batch in self.stream:
            kept = batch
            if self.share is not None:
                drawn = rng.random(batch.num_rows) < self.share
                self.held_out.append(batch.select(names).filter(pa.array(drawn)))
                kept = batch.filter(pa.array(~drawn))
            self.n_docs += kept.num_rows
            if kept.num_rows:
                yield kept
