"""ARPA files of n-gram models, the form that KenLM, SRILM and others read and write: log10 of probabilities and backoff weights."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from nlpkit.errors import InputError
from nlpkit.io.atomic import atomic_file, naming

ZERO = -99.0  # log10 of probability 0, by convention


@dataclass(frozen=True, slots=True)
class ArpaLevel:
    """The n-grams of one length: words, log10 of the probability, and of the weight (0 where the file has none)."""

    ngrams: list[tuple[str, ...]]
    log_prob: list[float]
    log_backoff: list[float]


def is_arpa(path: Path) -> bool:
    """Return whether a name is that of an ARPA file: .arpa or .arpa.gz."""
    return path.name.lower().endswith((".arpa", ".arpa.gz"))


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
