"""Spelling errors of documents by a language model: a table of them, or the documents corrected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.lm.generate_run import load_any
from nlpkit.lm.run import LanguageModel
from nlpkit.lm.spelling import Speller, SpellOptions, Suggestions
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, as_corpus
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.passes import ColumnMaker, Pass, WithColumns
from nlpkit.text.cutting import normalizer
from nlpkit.text.normalize import lower_case
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.sentences import Unit, split_texts
from nlpkit.text.tokenize import WORD_PATTERN, cut_tokens, keep_patterns
from nlpkit.text.vocab import Vocabulary

HANDLES = ("@", "#")  # a name behind one of them, as of an account, is no word to correct
SCHEMA = pa.schema(
    [
        ("id", pa.string()), ("start", pa.int32()), ("end", pa.int32()), ("word", pa.string()), ("suggestion", pa.string()),
        ("log10_gain", pa.float64()),
    ]
)  # fmt: skip
CORRECTED = "corrected"
MOST_COMMON = 20


class SpellingMaker(ColumnMaker):
    """Words that a language model would write otherwise, or documents with a column 'corrected', made while these are read, once."""

    command, gives, progress = "spell", "corrections", "spelling"

    def __init__(self, fitted: LanguageModel, stream: DocumentStream, options: SpellOptions) -> None:
        super().__init__(fitted.name, stream, None)
        self.kind, self.replaces = ("", [CORRECTED]) if options.apply else ("spelling", ())
        self._options, self._unit = options, fitted.model.options.unit
        self._speller = Speller(fitted.model, options)
        settings = _word_settings(fitted)
        self._lower = settings is not None and settings.lower
        self._language = None if settings is None or settings.language == "none" else settings.language
        self._pattern = r"\S+"
        normalize: Callable[[str], tuple[str, ...]] = _unchanged
        if settings is not None:
            self._pattern = "|".join([*keep_patterns(settings.keep), WORD_PATTERN])
            languages = [] if self._language is None else [self._language]
            normalize = normalizer(settings, languages, lambda _: False)
        self._vocabulary = Vocabulary(normalize)
        self._words = 0
        self._pairs: Counter[tuple[str, str]] = Counter()

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents with what they should be."""
        for batch in self.stream:
            self._batch_errors = self._errors(batch)
            yield batch, {CORRECTED: self._corrected(batch)} if self._options.apply else {}

    def completed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the documents with what they should be, or their errors."""
        return batch if self._options.apply else pa.RecordBatch.from_pylist(self._batch_errors, SCHEMA)

    def _errors(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """Return the rows of SCHEMA, in the order of the documents, and with the row of each."""
        units = split_texts(batch.column("text"), Unit(self._unit), self._language)
        texts = units.texts.to_pylist()
        raw = cut_tokens(units.texts, self._pattern)
        encoded = self._vocabulary.encode(raw)
        source = self._vocabulary.sources(raw)
        terms = self._vocabulary.terms
        words = [terms[i] for i in encoded.term_ids.tolist()]
        self._words += len(words)
        suggested = self._speller.suggest(encoded.offsets, words)
        spelled = [self._as_written(raw.types[raw.codes[source[place]]], words[place]) for place in suggested.place]
        starts = _starts(texts, raw.offsets, raw.codes, raw.types, source[suggested.place])
        return self._rows(batch, texts, units.parents, units.starts, encoded.offsets, suggested, spelled, starts)

    def _as_written(self, raw: str, term: str) -> str:
        """Return a token that is its term, "" for others: parts of a token, or one that was changed."""
        return raw if (lower_case(raw) if self._lower else raw) == term else ""

    def _rows(
        self, batch: pa.RecordBatch, texts: Sequence[str], parents: Any, begins: Any, offsets: Any, suggested: Suggestions,
        spelled: Sequence[str], starts: Sequence[int],
    ) -> list[dict[str, Any]]:  # fmt: skip
        unit = np.searchsorted(offsets, suggested.place, side="right") - 1
        ids = batch.column("id").to_pylist()
        rows = []
        for u, start, word, target, gain in zip(
            unit.tolist(), starts, spelled, suggested.word.tolist(), suggested.gain.tolist(), strict=True
        ):
            if not word or texts[u][max(start - 1, 0) : start] in HANDLES:
                continue
            at, row = int(begins[u]) + start, int(parents[u])
            suggestion = (
                _in_case(self._speller.model.words[target], word) if self._lower else self._speller.model.words[target]
            )
            self._pairs[word, suggestion] += 1
            rows.append(
                {"id": ids[row], "start": at, "end": at + len(word), "word": word, "suggestion": suggestion, "log10_gain": gain}
            )  # fmt: skip
        return rows

    def _corrected(self, batch: pa.RecordBatch) -> pa.Array:
        of_id: dict[str, list[Mapping[str, Any]]] = {}
        for row in self._batch_errors:
            of_id.setdefault(row["id"], []).append(row)
        texts = []
        for id_, text in zip(batch.column("id").to_pylist(), batch.column("text").to_pylist(), strict=True):
            for row in reversed(of_id.get(id_, ())):
                text = text[: row["start"]] + row["suggestion"] + text[row["end"] :]
            texts.append(text)
        return pa.array(texts, pa.large_string())

    def parameters(self) -> dict[str, Any]:
        """Return the model and the options."""
        return {"model": self.name, **asdict(self._options)}

    def summary(self) -> dict[str, Any]:
        """Return the numbers of documents, words and errors, and the commonest errors."""
        common = sorted(self._pairs.items(), key=lambda one: (-one[1], one[0]))[:MOST_COMMON]
        return {
            "documents": self.documents, "words": self._words, "errors": self._pairs.total(),
            "commonest": [{"word": word, "suggestion": other, "n": n} for (word, other), n in common],
        }  # fmt: skip

    def report(self) -> None:
        """Say how many words would be written otherwise."""
        n = self._pairs.total()
        share = f" ({1000 * n / self._words:.1f} in a thousand)" if self._words else ""
        reporting.note(
            f"{wording.counted(self.documents, 'document')}, {wording.counted(self._words, 'word')}: "
            f"{wording.counted(n, 'word')} would be corrected{share}"
        )


@contextmanager
def corrections(
    model: LanguageModel | str | Path, corpus: Corpus, *, options: SpellOptions, execution: Execution
) -> Iterator[Pass]:
    """Return a context with the errors of documents, found batch by batch."""
    fitted = model if isinstance(model, LanguageModel) else load_any(model, execution)
    with corpus.open() as stream:
        yield Pass(SpellingMaker(fitted, stream, options))


def correct_spelling(
    model: LanguageModel | str | Path,
    data: Any,
    *,
    options: SpellOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> pa.Table:
    """Return the words of documents that a language model would write otherwise: id, start, end, word, suggestion, log10_gain.

    `nlpkit.lm.spelling.Speller` has the formula. Places are characters of the text; log10_gain tells how much likelier the suggestion is.

    Args:
        model: a fitted model, a run directory of ngram-lm, or an ARPA file. data: a Corpus, texts, or a data frame.
        settings: single fields of the options, such as real_words=True; apply=True gives the documents with a column 'corrected'.

    Raises:
        UsageError: a model that gives unknown words no probability; InputError: a model of stems or other changed words.

    Example:
        >>> model = nk.fit_language_model(["I like green eggs", "I like ham"] * 5, order=2)
        >>> nk.correct_spelling(model, ["I lik ham"]).column_names[:5]
        ['id', 'start', 'end', 'word', 'suggestion']
    """
    options, execution = with_settings((options, execution), settings, (SpellOptions, Execution))
    with corrections(model, as_corpus(data), options=options, execution=execution) as rows:
        return rows.table()


def _word_settings(fitted: LanguageModel) -> PreprocessOptions | None:
    """Return how the words of a model were cut, None for words between blanks (ARPA).

    Raises:
        InputError: its words are not those of texts.
    """
    if fitted.token_settings is None:
        return None
    from nlpkit.text.settings import options_from

    options = options_from(fitted.token_settings, fitted.name)
    stops = options.stop_words != "none" or options.extra_stop_words or options.stop_patterns
    changed = {
        "tokenizer": options.tokenizer != "words", "lemma": options.lemma, "stem": options.stem != "none",
        "ngrams": options.ngrams != (1, 1), "stop_words": stops, "html": options.cleaner is not None,
    }  # fmt: skip
    asked = [f"`{name}`" for name, yes in changed.items() if yes]
    if asked:
        raise InputError(
            f"the words of {fitted.name} were changed ({', '.join(asked)} of `preprocess()`), so written words "
            "cannot be compared; fit a model to the texts: `fit_language_model()`"
        )
    return options


def _unchanged(raw: str) -> tuple[str, ...]:
    return (raw,)


def _starts(texts: Sequence[str], offsets: Any, codes: Any, types: Sequence[str], wanted: Any) -> list[int]:
    """Return where some tokens (ascending) begin in their texts. Between tokens stands nothing that could be one."""
    starts: list[int] = []
    last = at = cursor = start = 0
    unit = np.searchsorted(offsets, wanted, side="right") - 1
    for u, token in zip(unit.tolist(), np.asarray(wanted).tolist(), strict=True):
        if u != last or not starts:
            last, at, cursor = u, int(offsets[u]), 0
        for i in range(at, token + 1):
            start = texts[u].index(types[codes[i]], cursor)
            cursor = start + len(types[codes[i]])
        at = token + 1
        starts.append(start)
    return starts


def _in_case(suggestion: str, word: str) -> str:
    """Return a suggestion in small letters with the capitals of the word that it replaces."""
    if len(word) > 1 and word.isupper():
        return suggestion.upper()
    return suggestion[:1].upper() + suggestion[1:] if word[:1].isupper() else suggestion
