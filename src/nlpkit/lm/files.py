"""The files of n-gram models: run directories and ARPA.

Parts, in this order:
- ARPA files of n-gram models, the form that KenLM, SRILM and others read and write: log10 of probabilities and backoff
  weights.
- Both forms, written and read.
"""

from __future__ import annotations

import gzip
import io
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.lm.model import NgramModel
from nlpkit.lm.options import COUNTED, NgramModelOptions
from nlpkit.lm.smoothing import Smoothed
from nlpkit.lm.trie import END, SPECIAL, START, START_ID, UNKNOWN, Trie
from nlpkit.platform.runs.artifacts import BatchedTable
from nlpkit.platform.runs.atomic import atomic_file, naming
from nlpkit.platform.runs.runs import Run, RunTables
from nlpkit.platform.runs.scratch import release
from nlpkit.platform.runs.table_spec import strings

ZERO = -99.0  # log10 of probability 0, by convention


@dataclass(frozen=True, slots=True)
class ArpaLevel:
    """The n-grams of one length: words, log10 of the probability, and of the weight (0 where the file has none)."""

    ngrams: list[tuple[str, ...]]
    log_prob: list[float]
    log_backoff: list[float]


def write_arpa(
    path: Path,
    sizes: Sequence[int],
    levels: Iterable[Iterable[tuple[Sequence[str], float, float | None]]],
    *,
    force: bool,
) -> None:
    """Write a file, compressed where the name ends with .gz.

    Args:
        sizes: n-grams of each length. levels: of each length (words, log10 probability, log10 weight or None for none).

    Raises:
        OutputExistsError: it is there.
    """
    with atomic_file(path, force=force) as part, naming(path), _opened(part, path, "wb") as file:
        file.write("\\data\\\n" + "".join(f"ngram {m}={size}\n" for m, size in enumerate(sizes, 1)))
        for m, level in enumerate(levels, 1):
            file.write(f"\n\\{m}-grams:\n")
            file.writelines(_line(*entry) for entry in level)
        file.write("\n\\end\\\n")


def _line(words: Sequence[str], log_prob: float, log_backoff: float | None) -> str:
    weight = "" if log_backoff is None else f"\t{_number(log_backoff)}"
    return f"{_number(log_prob)}\t{' '.join(words)}{weight}\n"


def _number(value: float) -> str:
    return f"{max(value, ZERO):.8g}"


def read_arpa(path: Path) -> list[ArpaLevel]:
    """Return the n-grams of a file by their length.

    Raises:
        InputError: it cannot be read, or is no ARPA file; the line is named.
    """
    try:
        with _opened(path, path, "rb") as file:
            return _levels(path, enumerate(file, 1))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not an ARPA file: it is not UTF-8 text") from None
    except (OSError, EOFError) as error:
        raise InputError(f"cannot read {path}: {error}") from None


def _opened(part: Path, path: Path, mode: Literal["rb", "wb"]) -> IO[str]:
    """Return a file of text; a compressed one has neither time nor name in its head, so that equal models give equal bytes."""
    stored = part.open(mode)
    file: Any = stored
    if path.name.lower().endswith(".gz"):
        file = gzip.GzipFile("", mode, fileobj=stored, mtime=0)
        file.myfileobj = stored  # closed with it
    return io.TextIOWrapper(file, encoding="utf-8", newline="\n")


def _levels(path: Path, lines: Iterator[tuple[int, str]]) -> list[ArpaLevel]:
    for _, line in lines:
        if line.strip() == "\\data\\":
            break
    else:
        raise InputError(f"{path} is not an ARPA file: it has no line \\data\\")
    sizes: list[int] = []
    levels: list[ArpaLevel] = []
    for number, line in lines:
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        if text.startswith("ngram "):
            name, _, size = text[6:].partition("=")
            if name.strip() != str(len(sizes) + 1) or not size.strip().isdecimal():
                raise InputError(f"{path}, line {number}: 'ngram {len(sizes) + 1}=…' was needed, not '{text[:60]}'")
            sizes.append(int(size))
        elif text.strip() == "\\end\\":
            break
        elif text.startswith("\\"):
            if text.strip() != f"\\{len(levels) + 1}-grams:" or len(levels) == len(sizes):
                raise InputError(f"{path}, line {number}: '\\{len(levels) + 1}-grams:' was needed, not '{text[:60]}'")
            levels.append(ArpaLevel([], [], []))
        elif not levels:
            raise InputError(f"{path}, line {number}: an n-gram before '\\1-grams:'")
        else:
            _read_ngram(path, number, text, len(levels), levels[-1])
    else:
        raise InputError(f"{path} has no line \\end\\: the file is incomplete")
    for m, (announced, level) in enumerate(zip(sizes, levels, strict=False), 1):
        if announced != len(level.ngrams):
            raise InputError(f"{path} announces {announced:,} {m}-grams but has {len(level.ngrams):,}")
    if not sizes or len(levels) != len(sizes):
        raise InputError(f"{path} has n-grams of {len(levels)} lengths but announces {len(sizes)}")
    return levels


def _read_ngram(path: Path, number: int, text: str, m: int, level: ArpaLevel) -> None:
    parts = text.split("\t") if "\t" in text else text.split(" ")
    if "\t" in text:
        first, words, weight = parts[0], tuple(parts[1].split(" ")), parts[2:3]
    else:
        first, words, weight = parts[0], tuple(parts[1 : m + 1]), parts[m + 1 : m + 2]
    try:
        log_prob, log_backoff = float(first), float(weight[0]) if weight else 0.0
    except ValueError:
        log_prob = log_backoff = math.nan
    if len(words) != m or not all(words) or math.isnan(log_prob) or math.isnan(log_backoff) or log_prob > 0:
        needed = f"log10 of a probability, {m} word{'s' if m > 1 else ''} and perhaps a weight were needed"
        raise InputError(f"{path}, line {number}: {needed}, not '{text[:60]}'")
    level.ngrams.append(words)
    level.log_prob.append(log_prob)
    level.log_backoff.append(log_backoff)


# ------------------------------------------------------------------------------------------------------------------------
# N-gram models as files: the tables of a run directory, and ARPA.

KIND = "ngram-lm"
LN10 = math.log(10)
_PROB = ("log10_prob", pa.float64())
_NGRAMS = (
    ("words", pa.int8()), ("word", pa.int32()), ("context", pa.int32()), ("count", pa.int32()), _PROB, ("log10_backoff", pa.float64()),
)  # fmt: skip
_NEW_EACH = ("context", "log10_prob", "log10_backoff")
_BATCH_ROWS = 1 << 18  # of a Parquet row group, whose dictionaries are held until it is written


def model_files(model: NgramModel, token_info: dict[str, Any] | None, vocabulary: pa.Table) -> RunTables:
    """Return the files of a model that was counted.

    vocab: words with cf and df. model/words: word and count, <unk>, <s>, </s> first. model/ngrams, a row for each node of the trie: words
    (how many), word (id of the last one), context (row of the n-gram without it, null for single words), count, log10_prob and
    log10_backoff (null where smoothing gives none).
    """
    assert model.counts is not None
    V, fields = len(model.words), list(_NGRAMS)
    if model.smoothed is None:
        fields = fields[: fields.index(_PROB)]
    words = pa.table({"word": pa.array(model.words, pa.string()), "count": pa.array(model.counts[:V])})
    config = {"kind": KIND, "options": asdict(model.options), "tokens": token_info}
    ngrams = BatchedTable(pa.schema(fields), partial(_ngram_batches, model), plain=_NEW_EACH)
    return RunTables({"vocab": vocabulary}, {"words": words, "ngrams": ngrams}, config)


def _ngram_batches(model: NgramModel) -> Iterator[pa.RecordBatch]:
    """Yield the rows of model/ngrams."""
    trie, smoothed = model.trie, model.smoothed
    assert model.counts is not None
    V, C, T = len(model.words), len(trie.starts) - 1, len(trie.words)
    for start in range(0, T, _BATCH_ROWS):
        rows = np.arange(start, min(start + _BATCH_ROWS, T), dtype=np.int32)
        columns = {
            "words": pa.array(np.searchsorted(trie.levels, rows, side="right").astype(np.int8)),
            "word": pa.array(trie.words[rows]),
            "context": pa.array(trie.contexts(rows), mask=rows < V),
            "count": pa.array(model.counts[rows]),
        }
        if smoothed is not None:
            weight = np.zeros(len(rows))
            weight[rows < C] = smoothed.log_backoff[rows[rows < C]] / LN10
            columns["log10_prob"] = pa.array(smoothed.log_prob[rows] / LN10)
            columns["log10_backoff"] = pa.array(weight, mask=rows >= C)
            release(smoothed.log_prob, smoothed.log_backoff)
        release(trie.words, trie.starts, model.counts)
        yield pa.RecordBatch.from_pydict(columns)


def read_model(run: Run) -> NgramModel:
    """Return the model of a run; memory: its numbers and one column of the file. Raises InputError: its files do not fit together."""
    config = run.model_config("options")
    words = run.table("model/words")
    with run.intact():
        options = NgramModelOptions(**config["options"])
        of_length = np.bincount(_column(run, "words", np.int8), minlength=options.order + 1)[1:]
        levels = np.concatenate([[0], np.cumsum(of_length)])
        V, C, T = int(levels[1]), int(levels[-2]), int(levels[-1])
        last, contexts = _column(run, "word", np.int32), _column(run, "context", np.int32)[V:]
        if words.num_rows != V or len(last) != T or (len(contexts) and not (0 <= contexts.min() <= contexts.max() < C)):
            raise InputError("n-grams without a context")
        if (contexts[1:] < contexts[:-1]).any() or (len(last) and not (0 <= last.min() <= last.max() < V)):
            raise InputError("n-grams out of order")
        starts = np.concatenate([[0], np.cumsum(np.bincount(contexts, minlength=C))]) + V
        del contexts
        trie = Trie(last, starts.astype(np.int32), levels.astype(np.int64))
        smoothed = None
        if options.smoothing not in COUNTED:
            log_prob, log_backoff = _column(run, "log10_prob", np.float64), _column(run, "log10_backoff", np.float64, C)
            smoothed = Smoothed(
                np.multiply(log_prob, LN10, out=log_prob), np.multiply(log_backoff, LN10, out=log_backoff)
            )
        return NgramModel(options, strings(words, "word"), trie, _column(run, "count", np.int32), smoothed)


def _column(run: Run, name: str, dtype: Any, n: int | None = None) -> Any:
    """Return a column of model/ngrams, or its first n numbers, 0 where there is none."""
    column = run.table("model/ngrams", [name]).column(name).slice(0, n)
    numbers, start = np.empty(len(column), dtype), 0
    for chunk in column.iterchunks():
        numbers[start : start + len(chunk)] = chunk.fill_null(0).to_numpy(zero_copy_only=False)
        start += len(chunk)
    return numbers


def check_arpa(options: NgramModelOptions) -> None:
    """Raise UsageError for smoothing that has no ARPA form."""
    if options.smoothing in COUNTED:
        raise UsageError(
            f"`smoothing={options.smoothing}` cannot be written as ARPA: the probability of an unseen word is not a "
            "multiple of a shorter n-gram's; use kneser-ney, witten-bell or backoff"
        )


def save_arpa(model: NgramModel, path: Path, *, force: bool = False) -> None:
    """Write a model as an ARPA file.

    Raises:
        UsageError: a model of counts (add-k, mle), whose probabilities are not of that form, or words with blanks.
    """
    check_arpa(model.options)
    smoothed, trie = model.smoothed, model.trie
    assert smoothed is not None
    blank = next((word for word in model.words if len(word.split()) != 1), None)
    if blank is not None:
        raise UsageError(
            f"'{blank}' contains a space, and an ARPA file separates words by spaces; tokenise without phrases"
        )
    sizes = [trie.level(m).stop - trie.level(m).start for m in range(1, trie.order + 1)]

    def level(m: int) -> Iterator[tuple[Sequence[str], float, float | None]]:
        for start in range(trie.level(m).start, trie.level(m).stop, _BATCH_ROWS):
            nodes = np.arange(start, min(start + _BATCH_ROWS, trie.level(m).stop), dtype=np.int32)
            log_prob = (smoothed.log_prob[nodes] / LN10).tolist()
            weights: list[float | None] = [None] * len(nodes)
            if m < trie.order:
                weights = (smoothed.log_backoff[nodes] / LN10).tolist()
            for ids, p, b in zip(trie.spelled(nodes), log_prob, weights, strict=True):
                yield [model.words[i] for i in ids], p, b
            release(trie.words, trie.starts, smoothed.log_prob, smoothed.log_backoff)

    write_arpa(path, sizes, (level(m) for m in range(1, trie.order + 1)), force=force)


def load_arpa(path: Path) -> NgramModel:
    """Return the model of an ARPA file; a word <unk> that it lacks has probability 0, and <UNK> is taken for it, as by KenLM.

    Raises:
        InputError: it is no ARPA file, or an n-gram's context is missing.
    """
    levels = read_arpa(path)
    words_in_file = {ngram[0] for ngram in levels[0].ngrams}
    if UNKNOWN not in words_in_file and UNKNOWN.upper() in words_in_file:
        for level in levels:
            level.ngrams[:] = [tuple(UNKNOWN if word == UNKNOWN.upper() else word for word in g) for g in level.ngrams]
    others = [g[0] for g in levels[0].ngrams if g[0] not in SPECIAL]
    words = [*SPECIAL, *others]
    ids = {word: i for i, word in enumerate(words)}
    known = dict(
        zip((g[0] for g in levels[0].ngrams), zip(levels[0].log_prob, levels[0].log_backoff, strict=True), strict=True)
    )
    if START not in known or END not in known:
        raise InputError(f"{path} has no {START} or no {END} among its words")
    if len(known) != len(levels[0].ngrams):
        raise InputError(f"{path} has a word twice")
    values = np.array([known.get(word, (-np.inf, 0.0)) for word in words])
    values[START_ID, 0] = -np.inf
    nodes: dict[tuple[int, ...], int] = {(i,): i for i in range(len(words))}
    last, prob, weight = [np.arange(len(words), dtype=np.int32)], [values[:, 0]], [values[:, 1]]
    sizes, contexts = [len(words)], [np.zeros(0, np.int64)]
    for level in levels[1:]:
        nodes, arrays = _level(path, level, ids, nodes, sum(sizes))
        contexts.append(arrays[0])
        last.append(arrays[1])
        prob.append(arrays[2])
        weight.append(arrays[3])
        sizes.append(len(level.ngrams))
    C = sum(sizes[:-1])
    starts = np.concatenate([[0], np.cumsum(np.bincount(np.concatenate(contexts), minlength=C))]) + len(words)
    trie = Trie(np.concatenate(last), starts.astype(np.int32), np.cumsum([0, *sizes]).astype(np.int64))
    log_prob = np.concatenate(prob)
    log_prob[log_prob <= ZERO] = -np.inf
    options = NgramModelOptions(order=len(sizes), closed=UNKNOWN not in known)
    return NgramModel(options, words, trie, None, Smoothed(log_prob * LN10, np.concatenate(weight)[:C] * LN10))


def _level(
    path: Path, level: ArpaLevel, ids: dict[str, int], shorter: dict[tuple[int, ...], int], first: int
) -> tuple[dict[tuple[int, ...], int], tuple[Any, ...]]:
    """Return the nodes of n-grams of one length, and their contexts, last words, log10 probabilities and weights, in order."""
    rows = []
    for ngram, p, b in zip(level.ngrams, level.log_prob, level.log_backoff, strict=True):
        spelled = tuple(ids.get(word, -1) for word in ngram)
        context = shorter.get(spelled[:-1], -1)
        if context < 0 or spelled[-1] < 0:
            raise InputError(
                f"{path} has '{' '.join(ngram)}' without '{' '.join(ngram[:-1] if context < 0 else ngram[-1:])}'"
            )
        rows.append((context, spelled[-1], p, b, spelled))
    rows.sort(key=lambda row: row[:2])
    if any(a[:2] == b[:2] for a, b in itertools.pairwise(rows)):
        raise InputError(f"{path} has an n-gram of {len(rows[0][4])} words twice")
    nodes = {row[4]: first + i for i, row in enumerate(rows)}
    columns = [np.array([row[i] for row in rows]) for i in range(4)]
    types = (np.int64, np.int32, np.float64, np.float64)
    return nodes, tuple(column.astype(kind) for column, kind in zip(columns, types, strict=True))
