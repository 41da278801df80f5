"""Texts to term ids, in two passes: cut and count every batch, then choose the terms that stay.

    Preprocessor.encode_all(batches) ─▶ batches of term ids, all words in them ─▶ finish(again) ─▶ FittedVocabulary.apply(batch)

The caller keeps the encoded batches between the passes (in memory, or spooled to disk), so nothing here opens a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.platform import reporting, wording
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import BoolArray, LongArray
from nlpkit.text.cutting import character_ngrams, cutter, needs_language, normalizer, plain_tokens, text_parts
from nlpkit.text.fitted import (
    CAPPED,
    FOREIGN,
    FREQUENT,
    KEPT,
    NO_CATEGORY,
    RARE,
    REASONS,
    STOP,
    FittedVocabulary,
    NgramVocabulary,
    Removed,
    no_match,
    prune,
)
from nlpkit.text.language import (
    SAMPLE_CHARS,
    SAMPLE_DOCS,
    LanguageShare,
    SpreadSample,
    detect_languages,
    language_code,
    prepare_detection,
)
from nlpkit.text.normalize import TURKIC, lower_dotted
from nlpkit.text.options import PreprocessOptions, PreprocessReport
from nlpkit.text.segment import is_piece
from nlpkit.text.stopwords import auto_stop, clitics, has_stop_words, stop_matcher, stop_words
from nlpkit.text.tokenize import RawTokens
from nlpkit.text.vocab import CountedTerms, EncodedBatch, Frequencies, Stage, Vocabulary, join_batches, prune_batch

if TYPE_CHECKING:
    from nlpkit.text.phrases import PhraseTable
    from nlpkit.text.spacy_tokens import SpacyTokens

__all__ = ["ANNOTATIONS", "FittedVocabulary", "PreprocessOptions", "PreprocessReport", "Preprocessor", "TextBatches"]

ANNOTATIONS = ("tags", "lemmas")  # columns of lists beside the tokens
Replay = Callable[[], Iterable[EncodedBatch]]
TextBatches = Iterable[pa.RecordBatch]


class Preprocessor:
    """The conversion of one corpus from texts to term ids."""

    def __init__(self, options: PreprocessOptions) -> None:
        self.options = options
        self.languages: tuple[LanguageShare, ...] = ()
        self._vocab: Vocabulary | CountedTerms | None = None
        self._stop_codes: tuple[str, ...] = ()
        self._spacy: SpacyTokens | None = None
        self._pipeline: str | None = None
        self._dotted = False  # letters of Turkish or Azerbaijani were seen
        self._spread: SpreadSample | None = None
        self._replaced = False  # by a rule of the cleaner, in any text

    def encode_all(
        self, batches: TextBatches, *, threads: int = 1, column: str = "text", sample: Sequence[str] | None = None
    ) -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
        """Yield each batch with its texts as ids of the growing vocabulary, stop words included.

        The language is that of the first texts of the corpus, however it is cut into batches, or of the sample where there is one. A
        language that only comes later adds its stop words at the end. `threads` cut texts at a time, and the ids do not depend on how
        many.

        Raises:
            MissingError: a package or model that the options need is not installed.
        """
        detects = self.options.language == "auto" and needs_language(self.options)
        if detects:
            prepare_detection()
        running = iter(batches)
        first: list[pa.RecordBatch] = []
        looked_at = [] if sample is None else list(sample)
        for batch in running if sample is None else ():
            first.append(batch)
            looked_at.extend(first_texts(batch.column(column), SAMPLE_DOCS - len(looked_at)))
            if len(looked_at) >= SAMPLE_DOCS or not detects:
                break
        everything: TextBatches = chain(first, running)
        if detects and sample is None:
            everything = self._spreading(everything, column)
        if self.options.spacy is not None:
            self._start(looked_at)
            yield from self._with_spacy(everything, column)
            self._look_again()
            return
        cleaner = self.options.cleaner
        with ThreadPoolExecutor(1, thread_name_prefix="nlpkit-language") as pool:
            # the language is looked for while texts are cut, which does not depend on it
            started = pool.submit(self._start, looked_at)
            if (cleaner is not None and cleaner.emoji == "words") or self._may_be_turkic(looked_at):
                started.result()  # but the names of emoji and the lower case of I do
            cut = self._cutter()
            cut_parts = map_ahead(
                lambda part: cut(part.texts), text_parts(everything, column), threads=threads, depth=4
            )
            encoded: list[EncodedBatch] = []
            for part, raw in cut_parts:
                started.result()
                encoded.append(self._vocabulary.encode(raw))
                if part.batch is not None:
                    yield part.batch, join_batches(encoded)
                    encoded = []
            started.result()
        self._look_again()

    def _spreading(self, batches: TextBatches, column: str) -> Iterator[pa.RecordBatch]:
        self._spread = SpreadSample()
        for batch in batches:
            self._spread.take(batch.column(column))
            yield batch

    def _look_again(self) -> None:
        """Take the stop words of a language, too, that the first texts of the corpus did not show."""
        known = self.languages
        languages = (
            () if self._spread is None or not known else self._spread.languages_beside([one.code for one in known])
        )
        if not languages:
            return
        first = [one.code for one in known]
        self.languages = languages
        new = [code for code in self._take_stop_words() if code not in first]
        stopped = "stop words of all are left out; " if self.options.stop_words == "auto" else ""
        reporting.warn(
            f"the first {SAMPLE_DOCS} documents are in {wording.listed(first, 5)}, later ones also in {wording.listed(new, 5)}; "
            f"{stopped}words are cut by the rules of {first[0]}; consider a run for each language"
        )

    def _with_spacy(self, batches: TextBatches, column: str) -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
        """Yield the batches that a spaCy pipeline tokenised, in this thread; entities are a column."""
        assert self._spacy is not None
        for batch in batches:
            texts = batch.column(column)
            cleaner = self.options.cleaner
            spacy_cut = self._spacy.cut(
                texts if cleaner is None else cleaner.clean(texts, replaced=self._note_replaced)
            )
            encoded = self._vocabulary.encode(spacy_cut.tokens)
            columns = {"entities": spacy_cut.entities}
            if spacy_cut.tags is not None:
                source = pa.array(self._vocabulary.sources(spacy_cut.tokens))
                for name, flat in zip(ANNOTATIONS, (spacy_cut.tags, spacy_cut.lemmas), strict=True):
                    columns[name] = pa.ListArray.from_arrays(pa.array(encoded.offsets, pa.int32()), flat.take(source))
            for name, values in columns.items():
                at = batch.schema.get_field_index(name)
                add = batch.append_column if at < 0 else partial(batch.set_column, at)
                batch = batch if values is None else add(pa.field(name, values.type), values)
            yield batch, encoded

    @property
    def terms(self) -> list[str]:
        """(V,) the terms so far, which the ids of encoded batches stand for."""
        return self._vocabulary.terms

    @property
    def _vocabulary(self) -> Vocabulary:
        assert isinstance(self._vocab, Vocabulary)
        return self._vocab

    def _start(self, sample: list[str]) -> None:
        """Decide the languages, and with them everything that depends on one."""
        options = self.options
        if options.language == "auto":
            self.languages = detect_languages(sample) if needs_language(options) else ()
        elif options.language != "none":
            self.languages = (LanguageShare(language_code(options.language), 1.0),)
        codes = self._take_stop_words()
        normalize = normalizer(options, codes, self._is_stop)
        self._vocab = Vocabulary(normalize, plain=plain_tokens(options), apostrophes=not clitics(codes))
        if options.spacy is not None:
            from nlpkit.text.spacy_tokens import SpacyTokens

            pipeline, language = options.spacy, codes[0] if codes else None
            self._spacy = SpacyTokens(
                pipeline.model, pos=pipeline.pos, entities=pipeline.entities, lemma=pipeline.lemma, tags=pipeline.tags,
                language=language,
            )  # fmt: skip
            self._pipeline = self._spacy.name

    def _take_stop_words(self) -> tuple[str, ...]:
        """Set the stop words of the languages; return the codes of these."""
        options = self.options
        codes = tuple(share.code for share in self.languages)
        if options.stop_words == "auto":
            self._stop_codes = codes
        elif options.stop_words != "none":
            self._stop_codes = tuple(language_code(name) for name in options.stop_words.split(","))
        self._stop = stop_words(self._stop_codes) | options.extra_stop_words
        self._is_stop = stop_matcher(self._stop, options.stop_patterns)
        return codes

    def take_counts(
        self, counts: CountedTerms, languages: Sequence[LanguageShare], *, replaced: bool, pipeline: str | None
    ) -> None:
        """Take the counts of texts that were cut elsewhere with these options, so that `finish` can follow.

        Args:
            languages: as they were detected there. replaced: whether a rule of the cleaner found anything. pipeline: the name of the
                spaCy pipeline that cut them.
        """
        self.languages, self._vocab, self._replaced, self._pipeline = tuple(languages), counts, replaced, pipeline
        self._take_stop_words()

    @property
    def replaced(self) -> bool:
        """Whether a rule of the cleaner found anything."""
        return self._replaced

    @property
    def pipeline(self) -> str | None:
        """The name of the spaCy pipeline that cuts the texts, None without one."""
        return self._pipeline

    @property
    def counts(self) -> CountedTerms:
        """The terms so far, with their counts."""
        vocab = self._vocabulary
        return CountedTerms(vocab.terms, vocab.cf, vocab.df, vocab.n_docs)

    def _cutter(self) -> Callable[[pa.Array], RawTokens]:
        """Return the function that cleans and tokenises texts; names of emoji are in the detected language."""
        options, cut = self.options, cutter(self.options)
        cleaner = options.cleaner
        clean: Callable[[pa.Array], pa.Array] | None = None
        if cleaner is not None:
            if self.languages and options.language == "auto":
                cleaner = replace(cleaner, emoji_language=self.languages[0].code)
            clean = partial(cleaner.clean, replaced=self._note_replaced)
        if self._may_be_turkic() and self.languages and self.languages[0].code in TURKIC:
            lower, plain = lower_dotted, clean
            clean = lower if plain is None else lambda texts: lower(plain(texts))
        return cut if clean is None else lambda texts: cut(clean(texts))

    def _may_be_turkic(self, sample: Sequence[str] = ()) -> bool:
        """Return whether the small letter of I depends on the language, which must be known before texts are cut."""
        if not self.options.lower:
            return False
        if self.options.language == "auto":
            self._dotted = self._dotted or any(letter in text for text in sample for letter in "ıİğşəŞĞƏ")
            return self._dotted
        return self.options.language in TURKIC

    def _note_replaced(self) -> None:
        self._replaced = True

    def finish(self, again: Replay | None = None, *, options: PreprocessOptions | None = None) -> FittedVocabulary:
        """Choose the terms that stay.

        Args:
            again: yields the encoded batches once more, in order; needed for phrases and n-grams, asked for several times.
            options: what to do from here on (phrases, n-grams, bounds), where it is not what the texts were cut with.

        Raises:
            InputError: no batch was encoded, or no term is left although there were some.
        """
        if self._vocab is None or not self._vocab.n_docs:
            raise InputError("no documents to preprocess; the input has no rows")
        options, vocab = options or self.options, self._vocab
        terms, cf, df, n_docs = vocab.terms, vocab.cf, vocab.df, vocab.n_docs
        stopped, lexicon = self._stopped(options, vocab), options.lexicon
        n_stop_tokens, n_terms_seen = int(cf[stopped].sum()), len(terms)
        stages: list[Stage] = []
        strings: Callable[[LongArray], list[str]] = partial(_terms_at, terms)
        phrases, n_phrases = options.phrase_table, 0
        if options.phrases is not None or options.phrase_table is not None:
            assert again is not None
            if phrases is None:
                phrases = self._find_phrases(again, terms, cf, stopped)
            joined = phrases.bind(terms)
            stages.append(joined.apply)
            n_words, terms = len(terms), list(joined.terms)
            occurs = np.zeros(len(terms), bool)
            for batch in again():
                occurs[joined.apply(batch).term_ids] = True
            n_phrases = int(occurs[n_words:].sum())
            must_match = options.lists_must_match and options.phrase_table is not None and lexicon is None
            if must_match and not n_phrases and terms:
                raise no_match("`phrase_file`", "its phrases are such as", phrases.phrases, terms)
            stopped = np.concatenate([stopped, np.zeros(len(terms) - n_words, bool)])
        reasons = np.where(stopped, STOP, KEPT)
        if lexicon is not None:
            known = lexicon.known(terms)
            if options.lists_must_match and terms and not known.any():
                raise no_match("`lexicon`", "its words are such as", lexicon.examples(), terms)
            reasons[~stopped & ~known] = NO_CATEGORY
            stopped = ~known
        gone = np.flatnonzero(stopped[: len(cf)])
        stop_terms = Removed([terms[i] for i in gone.tolist()], cf[gone], df[gone], [REASONS[r] for r in reasons[gone]])
        sizes = character_ngrams(options.tokenizer) or options.ngrams
        if sizes != (1, 1):
            assert again is not None
            stages.append(_without(stopped))
            grams = NgramVocabulary(*sizes)
            for batch in again():
                grams.encode(_through(stages, batch))
            cf, df = grams.freeze()
            stages.append(grams.encode)
            strings = partial(grams.terms, terms, sep="" if options.tokenizer.startswith("chars") else " ")
            stopped = np.zeros(len(cf), bool)
        elif lexicon is not None and lexicon.replace:
            assert again is not None
            stages.append(lexicon.replacement(terms))
            cf, df = _counted(again(), stages, len(lexicon.names))
            strings = partial(_terms_at, lexicon.names)
            stopped = np.zeros(len(cf), bool)
        elif stages:
            assert again is not None
            stages.append(_without(stopped))
            before = cf[gone], df[gone]
            cf, df = _counted(again(), stages, len(terms))
            cf[gone], df[gone] = before
            strings = partial(_terms_at, terms)
        pruned = prune(cf, df, stopped, options, n_docs=n_docs, strings=strings)
        kept = pruned.kept[pruned.kept >= 0]
        report = PreprocessReport(
            languages=self.languages,
            stop_word_languages=tuple(code for code in self._stop_codes if has_stop_words(code)),
            n_stop_words=len(self._stop),
            min_df=pruned.min_df,
            max_df=options.max_df,
            n_docs=n_docs,
            n_tokens=int(cf[kept].sum()),
            n_terms=len(kept),
            n_terms_seen=n_terms_seen,
            n_stop_tokens=n_stop_tokens,
            n_phrases=n_phrases,
            n_rare_terms=pruned.count(RARE),
            n_frequent_terms=pruned.count(FREQUENT),
            n_capped_terms=pruned.count(CAPPED),
            n_foreign_terms=pruned.count(FOREIGN),
            n_uncategorised_terms=int((reasons == NO_CATEGORY).sum()),
            spacy_pipeline=self._pipeline,
        )
        return FittedVocabulary(stages, strings, cf, df, pruned, report, options, phrases, stop_terms)

    def _stopped(self, options: PreprocessOptions, vocab: Vocabulary | CountedTerms) -> BoolArray:
        """Return which terms (V,) are stop words: not those of a vocabulary or lexicon that the user gave."""
        terms = vocab.terms
        stops = self._is_stop if self.options.lower else self._stops
        stopped = np.fromiter(map(stops, terms), bool, len(terms))
        if options.auto_stop is not None:
            stopped |= auto_stop(vocab.df, vocab.n_docs, share=options.auto_stop)
        if options.vocab is not None:
            vocab_terms = frozenset(options.vocab)
            stopped &= np.fromiter((term not in vocab_terms for term in terms), bool, len(terms))
        if options.lists_must_match:
            self._check_lists(options, terms)
        if options.lexicon is not None:
            stopped &= ~options.lexicon.known(terms)
        return stopped

    def phrases_in(self, again: Replay) -> PhraseTable:
        """Return the phrases of some of the documents that were encoded: those that a model may learn from."""
        counts = Frequencies()
        for batch in again():
            counts.count(batch, len(self.terms))
        stopped = np.fromiter(map(self._stops, self.terms), bool, len(self.terms))
        return self._find_phrases(again, self.terms, counts.cf(len(self.terms)), stopped)

    def _check_lists(self, options: PreprocessOptions, terms: Sequence[str]) -> None:
        """Raise InputError when nothing of the user's stop words or replacements is in the documents."""
        if not terms:
            return
        rules = None if options.cleaner is None else options.cleaner.replacements
        if rules is not None and not self._replaced and (rules.phrases or rules.patterns):
            listed = [phrase for phrase, _ in rules.phrases] + [f"/{pattern}/" for pattern, _ in rules.patterns]
            raise no_match("`replace`", "it replaces such as", listed, terms)
        # shorter words went before stop words are looked for
        words = frozenset(word for word in options.extra_stop_words if len(word) >= options.min_length)
        if not words and not options.stop_patterns:
            return
        is_listed = stop_matcher(words, options.stop_patterns)
        if not any(is_listed(term if options.lower else term.lower()) for term in terms):
            listed = [*sorted(words), *(f"/{pattern}/" for pattern in options.stop_patterns)]
            raise no_match("the list of `stop_words`", "its words are such as", listed, terms)

    def _stops(self, term: str) -> bool:
        return self._is_stop(term) or (not self.options.lower and self._is_stop(term.lower()))

    def _find_phrases(self, again: Replay, terms: list[str], cf: LongArray, stopped: BoolArray) -> PhraseTable:
        """Return the phrases of the corpus; neither stop words nor pieces of a text without spaces begin or end one."""
        from nlpkit.text.phrases import find_phrases

        assert self.options.phrases is not None
        connectors = frozenset(terms[i] for i in np.flatnonzero(stopped).tolist())
        if self.options.cuts_pieces:
            connectors |= frozenset(filter(is_piece, terms))
        return find_phrases(again, terms, self.options.phrases, cf=cf, connectors=connectors)


def first_texts(texts: pa.Array, n: int) -> list[str]:
    """Return the beginnings of the first n texts that are not empty, for language identification."""
    return list(islice((t[:SAMPLE_CHARS] for text in texts if (t := text.as_py())), n))


def _terms_at(terms: Sequence[str], ids: LongArray) -> list[str]:
    return [terms[i] for i in ids.tolist()]


def _through(stages: list[Stage], batch: EncodedBatch) -> EncodedBatch:
    for stage in stages:
        batch = stage(batch)
    return batch


def _counted(batches: Iterable[EncodedBatch], stages: list[Stage], n_terms: int) -> tuple[LongArray, LongArray]:
    """Return cf and df (n_terms,) of batches that have gone through the stages."""
    counts = Frequencies()
    for batch in batches:
        counts.count(_through(stages, batch), n_terms)
    return counts.cf(n_terms).copy(), counts.df(n_terms).copy()


def _without(stopped: BoolArray) -> Stage:
    """Stop words go."""
    new_ids = np.where(stopped, -1, np.arange(len(stopped))).astype(np.int32)
    return partial(prune_batch, new_ids=new_ids)
