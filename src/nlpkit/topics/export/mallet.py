"""MALLET's states of a topic model (`--output-state`, `--input-state`): every token with its topic, one a line, gzipped.

    #doc source pos typeindex type topic
    #alpha : 0.1 0.1
    #beta : 0.01
    0 a.txt 0 0 house 1

A document without tokens has no line. One between others is known by the gap in the numbers, those after the last token
are not: a state that is written and read again has lost them.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.documents.encoding import decode
from nlpkit.platform.documents.sources import Source, StoredBytes, split_suffix
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.runs.nlpkit_files import MALLET_HEADER
from nlpkit.platform.types import FloatArray, IntArray, LongArray, TokenTable

NO_SOURCE = "NA"

_BLOCK = 16 << 20  # characters parsed at once
_ROWS = 1 << 19  # tokens formatted at once
_COLUMNS = ("doc", "source", "pos", "typeindex", "type", "topic")
_STRINGS = pa.dictionary(pa.int32(), pa.string())
_TYPES = {"doc": pa.int32(), "source": _STRINGS, "typeindex": pa.int32(), "type": _STRINGS, "topic": pa.int32()}


@dataclass(frozen=True, slots=True)
class MalletState:
    """A state: tokens of D documents, ids (D,), the topic of each token (N,) int32, alpha (K,) and beta, each."""

    tokens: TokenTable
    ids: tuple[str, ...]
    assignments: IntArray
    alpha: FloatArray
    beta: float


def is_mallet_state(path: Path) -> bool:
    """Return whether a file begins as a state of MALLET does."""
    if not path.is_file():
        return False
    try:
        with StoredBytes(Source(str(path), path.name, "txt")) as stored:
            return next(iter(stored), b"").startswith(MALLET_HEADER.encode())
    except InputError:
        return False


def read_mallet_state(path: Path) -> MalletState:
    """Read a state of MALLET's ParallelTopicModel, packed or not.

    Documents keep MALLET's numbers, so those without tokens are there as far as they are known. Ids are the sources, or
    `<file stem>:<MALLET's number>` where documents have none (NA), or share one. Terms are in the order of their type
    indices; those that occur nowhere in the file have no name, and are left out of V. MALLET parts the six fields by
    single blanks; a blank within the source or the type, which MALLET writes but cannot read, is understood where only
    one reading is possible.

    Raises:
        InputError: it is no state, has no alpha or beta, or a line that does not fit; the message names the line.
    """
    stem = split_suffix(path.name)[0]
    with StoredBytes(Source(str(path), stem, "txt")) as stored:
        blocks = _line_blocks(decode(stored, str(path)).text)
        number, text = next(blocks, (1, ""))
        alpha, beta, number, text = _header(path, number, text)
        collected = _Tokens(path, len(alpha))
        collected.add(number, text)
        for number, text in blocks:
            collected.add(number, text)
    tokens, sources = collected.finish()
    return MalletState(tokens, _ids(sources, stem), np.concatenate(collected.topics), alpha, beta)


def write_mallet_state(
    path: Path,
    ids: Sequence[str],
    tokens: TokenTable,
    assignments: IntArray,
    *,
    alpha: FloatArray,
    eta: float,
    force: bool = False,
) -> None:
    """Write a state that MALLET (`--input-state`) and the R packages around it read; the same state gives the same bytes.

    Args:
        path: where, such as state.gz.
        ids: (D,) written as sources.
        tokens: the documents; empty ones get no line, as in MALLET.
        assignments: (N,) topic of each token.
        alpha: (K,) prior of each topic.
        eta: prior of each term, MALLET's beta.
        force: replace an existing file.

    Raises:
        InputError: an id or a term is empty or holds a blank or a line break, which MALLET would take for the end of it.
        UsageError: lengths that do not belong together, a topic that alpha does not have.
        OutputExistsError, UsageError, InputError: see `check_target`.
    """
    if len(ids) != tokens.n_docs or len(assignments) != len(tokens.term_ids):
        raise UsageError(
            f"a state of {tokens.n_docs} documents and {len(tokens.term_ids)} tokens needs as many ids and topics, "
            f"got {len(ids)} and {len(assignments)}"
        )
    if len(assignments) and not 0 <= assignments.min() <= assignments.max() < len(alpha):
        raise UsageError(f"topics must be 0 to {len(alpha) - 1}, got {assignments.min()} to {assignments.max()}")
    check_names(ids, tokens.terms)
    head = f"{MALLET_HEADER}\n#alpha : {' '.join(map(repr, map(float, alpha)))} \n#beta : {float(eta)!r}\n"
    with (
        atomic_file(path, force=force) as part,
        part.open("wb") as file,
        # no name and no time in the header: the bytes are those of the state
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as out,
    ):
        out.write(head.encode("utf-8"))
        for lines in _lines(ids, tokens, assignments):
            out.write(lines)


# ---------------------------------------------------------------- reading


def _line_blocks(pieces: Iterator[str]) -> Iterator[tuple[int, str]]:
    """Yield whole lines of about 16 MB with the number of the first, from 1."""
    number, parts, size = 1, [], 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= _BLOCK and "\n" in piece:
            whole, _, rest = "".join(parts).rpartition("\n")
            yield number, whole + "\n"
            number += whole.count("\n") + 1
            parts, size = [rest], len(rest)
    if size:
        yield number, "".join(parts)


def _header(path: Path, number: int, text: str) -> tuple[FloatArray, float, int, str]:
    """Return alpha, beta, and the lines that follow them with the number of the first."""
    priors: dict[str, FloatArray] = {}
    while text.startswith("#"):
        line, _, text = text.partition("\n")
        name, colon, numbers = line.partition(":")
        if colon and name.strip() in ("#alpha", "#beta"):
            priors[name.strip()] = _priors(f"{path}: line {number}", numbers)
        number += 1
    for name in ("#alpha", "#beta"):
        if not len(priors.get(name, ())):
            raise InputError(
                f"{path} has no line '{name} : …' before its tokens, as a MALLET state has; "
                "write one with: mallet train-topics --output-state state.gz"
            )
    return priors["#alpha"], float(priors["#beta"][0]), number, text


def _priors(where: str, numbers: str) -> FloatArray:
    try:
        values = np.array([float(x) for x in numbers.split()])
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    if not ((values > 0) & np.isfinite(values)).all():
        raise InputError(f"{where}: priors must be above 0, got {numbers.strip()[:80]}")
    return values


class _Tokens:
    """The lines of a state, block by block: 8 bytes a token, the names of terms, the sources of documents."""

    def __init__(self, path: Path, n_topics: int) -> None:
        self.path = path
        self.n_topics = n_topics
        self.topics: list[IntArray] = [np.zeros(0, np.int32)]
        self._type_ids: list[IntArray] = [np.zeros(0, np.int32)]
        self._docs: list[
            IntArray
        ] = []  # of each block the numbers of its documents, and how many tokens they have there
        self._lengths: list[LongArray] = []
        self._sources: dict[int, str] = {}
        self._type_of: dict[int, str] = {}
        self._index_of: dict[str, int] = {}
        self._last = 0

    def add(self, number: int, text: str) -> None:
        """Add lines; `number` is the line number of the first."""
        text = text.rstrip("\r\n")
        if not text:
            return
        table = _parse(self.path, number, text)
        doc, type_id, topic = (table.column(c).to_numpy() for c in ("doc", "typeindex", "topic"))
        self._refuse(number, doc < np.concatenate(([self._last], doc[:-1])), "document {} comes after a later one", doc)
        self._refuse(number, type_id < 0, "the type index {} is below 0", type_id)
        outside = (topic < 0) | (topic >= self.n_topics)
        self._refuse(number, outside, f"topic {{}}, but #alpha has the topics 0 to {self.n_topics - 1}", topic)
        self._name_types(number, type_id, table.column("type").combine_chunks())
        docs, first, lengths = np.unique(doc, return_index=True, return_counts=True)
        sources = table.column("source").take(pa.array(first)).to_pylist()
        for d, source in zip(docs.tolist(), sources, strict=True):
            self._sources.setdefault(d, source)
        self._docs.append(docs)
        self._lengths.append(lengths)
        self._type_ids.append(type_id)
        self.topics.append(topic)
        self._last = int(doc[-1])

    def finish(self) -> tuple[TokenTable, list[str | None]]:
        """Return the tokens and the source of each document, None where it is not known."""
        if not self._docs:
            raise InputError(f"{self.path} has no line of a token; is it the state of a trained model?")
        D = self._last + 1
        lengths = np.bincount(np.concatenate(self._docs), np.concatenate(self._lengths), D).astype(np.int64)
        used = np.array(sorted(self._type_of), np.int32)
        term_ids = np.searchsorted(used, np.concatenate(self._type_ids)).astype(np.int32)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        tokens = TokenTable(offsets, term_ids, tuple(self._type_of[i] for i in used.tolist()))
        return tokens, [self._sources.get(d) for d in range(D)]

    def _name_types(self, number: int, type_id: IntArray, types: pa.DictionaryArray) -> None:
        codes, names = types.indices.to_numpy(), types.dictionary.to_pylist()
        index = np.full(len(names), -1, np.int32)
        index[codes[::-1]] = type_id[::-1]  # that of the first line of each
        for code, name in enumerate(names):
            i = int(index[code])
            if not name or self._index_of.setdefault(name, i) != i or self._type_of.setdefault(i, name) != name:
                known = f"'{self._type_of[i]}'" if i in self._type_of else f"index {self._index_of.get(name)}"
                what = f"type {i} is '{name}', but was {known} before" if name else "the type is empty"
                self._refuse(number, codes == code, what, codes)
        self._refuse(number, index[codes] != type_id, "a type has another index here, {}, than before", type_id)

    def _refuse(self, number: int, wrong: np.ndarray, what: str, values: np.ndarray) -> None:
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(f"{self.path}: line {number + row}: {what.format(values[row])}")


def _parse(path: Path, number: int, text: str) -> pa.Table:
    """Return the columns of some lines, by Arrow where all have six fields, else line by line."""
    try:
        return pacsv.read_csv(
            pa.BufferReader(text.encode("utf-8")),
            read_options=pacsv.ReadOptions(column_names=_COLUMNS, block_size=(1 << 31) - 1),
            parse_options=pacsv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            convert_options=pacsv.ConvertOptions(
                column_types=_TYPES, null_values=[], strings_can_be_null=False, include_columns=list(_TYPES)
            ),
        )
    except pa.ArrowInvalid:
        rows = [_six(f"{path}: line {number + i}", line) for i, line in enumerate(text.split("\n"))]
    doc, source, type_id, term, topic = zip(*rows, strict=True)
    strings = (pa.array(x, pa.string()).dictionary_encode() for x in (source, term))
    source, term = strings
    return pa.table([pa.array(doc), source, pa.array(type_id), term, pa.array(topic)], names=list(_TYPES))


def _six(where: str, line: str) -> tuple[np.int32, str, np.int32, str, np.int32]:
    """Return doc, source, typeindex, type and topic of a line."""
    fields = line.removesuffix("\r").split(" ")
    in_source = (fields[0], " ".join(fields[1:-4]), *fields[-4:])
    in_type = (*fields[:4], " ".join(fields[4:-1]), fields[-1])
    readings = {r for r in (in_source, in_type) if len(fields) >= 6 and all(r[i].isdecimal() for i in (0, 2, 3, 5))}
    if len(readings) != 1:
        problem = "can be read in two ways" if readings else f"has {len(fields)} fields"
        raise InputError(
            f"{where} {problem}, a MALLET state has doc, source, pos, typeindex, type, topic separated by spaces: "
            f"'{line[:80]}'"
        )
    (doc, source, _, type_id, term, topic) = readings.pop()
    try:
        return np.int32(int(doc)), source, np.int32(int(type_id)), term, np.int32(int(topic))
    except OverflowError:
        raise InputError(f"{where} holds a number above {np.iinfo(np.int32).max}: '{line[:80]}'") from None


def _ids(sources: list[str | None], stem: str) -> tuple[str, ...]:
    numbered = [f"{stem}:{d}" for d in range(len(sources))]
    ids = tuple(name if source is None else source for source, name in zip(sources, numbered, strict=True))
    usable = len(set(ids)) == len(ids) and not {"", NO_SOURCE} & set(ids)
    return ids if usable else tuple(numbered)


# ---------------------------------------------------------------- writing


def check_names(ids: Sequence[str], terms: Sequence[str]) -> None:
    """Raise InputError for an id or a term that a state cannot hold."""
    _check_words("document id", ids, "give the documents other ids with `id_col`")
    _check_words("term", terms, "join its words by another sign, such as _")


def _check_words(what: str, words: Sequence[str], remedy: str) -> None:
    for word in words:
        if not word or any(sign in word for sign in " \r\n"):
            raise InputError(
                f"the {what} '{word}' is empty or contains a space or line break, which a MALLET state does not "
                f"allow; {remedy}"
            )


def _lines(ids: Sequence[str], tokens: TokenTable, assignments: IntArray) -> Iterator[memoryview]:
    """Yield the lines of the tokens, about half a million at once."""
    names, terms = (pa.array(x, pa.large_string()) for x in (ids, tokens.terms))
    for first in range(0, len(tokens.term_ids), _ROWS):
        span = np.arange(first, min(first + _ROWS, len(tokens.term_ids)))
        docs = np.searchsorted(tokens.offsets, span, side="right") - 1
        type_ids = pa.array(tokens.term_ids[span])
        numbers = (docs, span - tokens.offsets[docs], tokens.term_ids[span], assignments[span])
        doc, position, type_id, topic = (pc.cast(pa.array(x), pa.large_string()) for x in numbers)
        blank, end, nothing = (pa.scalar(sign, pa.large_string()) for sign in (" ", "\n", ""))
        fields = (doc, names.take(pa.array(docs)), position, type_id, terms.take(type_ids), topic)
        lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*fields, blank), nothing, end)
        _, offsets, data = lines.buffers()
        yield memoryview(data)[: int(np.frombuffer(offsets, np.int64)[len(lines)])]
