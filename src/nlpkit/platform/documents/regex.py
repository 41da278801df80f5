"""Regular expressions on texts: search at the speed of RE2, and character classes of scripts without spaces.

The scripts are blocks in everyday use of Unicode 15; a run is a stretch of text without any other character in it.

Parts, in this order:
- Scripts that write words without spaces, as ranges for the character classes of regular expressions.
- Search of texts by regular expression: Python's semantics, at the speed of RE2 where the two agree.
"""

from __future__ import annotations

import re
import signal
import threading
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit.errors import InputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ffff々〆"
KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HIRAGANA = "\u3040-\u309f"
SOUTH_EAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer

UNSPACED = re.compile(f"[{HAN}{KATAKANA}{HIRAGANA}{SOUTH_EAST}]")
# Chinese and Japanese | South East Asian | anything else: Kana and Han stay together, they make Japanese words together
RUNS = re.compile(f"([{HAN}{KATAKANA}{HIRAGANA}]+)|([{SOUTH_EAST}]+)|([^{HAN}{KATAKANA}{HIRAGANA}{SOUTH_EAST}]+)")
# Han | Katakana | Hiragana | South East Asian, within a run
SCRIPTS = re.compile(f"([{HAN}]+)|([{KATAKANA}]+)|([{HIRAGANA}]+)|([{SOUTH_EAST}]+)")
KANA = re.compile(f"[{KATAKANA}{HIRAGANA}]")
THAI = re.compile("[\u0e00-\u0e7f]")


# ------------------------------------------------------------------------------------------------------------------------
# Search of texts by regular expression: Python's semantics, at the speed of RE2 where the two agree.

SECONDS = 10.0  # for a text, and more for a long one
SECONDS_PER_CHARACTER = 5e-6

# Patterns that mean the same to Python and to RE2 on ASCII text: no look-around, back reference, $ (Python's also stops
# before a last line break), \s (Python's has more), doubled repeats.
_SHARED = re.compile(
    r"(?:\(\?i\))?(?:[A-Za-z0-9 _,;:'\"%&/<>=!@#~.|^-]|\\[bdw.]|\((?:\?:)?|\)|\[[A-Za-z0-9 _,.-]+\]"
    r"|(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})(?![*+?{]))*"
)


class PatternTooSlowError(InputError):
    """A regular expression takes too long in one text."""


@contextmanager
def limited(pattern: str, n_chars: int, where: str = "a text") -> Iterator[None]:
    """Stop a search that backtracks for too long, such as (x+x+)+y in a line of x.

    Python's engine goes back and tries again, up to exponentially often. 10 s for a text, and 5 s more for a million characters; kept in
    the main thread of systems that have SIGALRM.

    Raises:
        PatternTooSlowError: the time is over.
    """
    set_timer, alarm, timer = (getattr(signal, name, None) for name in ("setitimer", "SIGALRM", "ITIMER_REAL"))
    if set_timer is None or alarm is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    seconds = SECONDS + SECONDS_PER_CHARACTER * n_chars

    def stop(*_: object) -> None:
        raise PatternTooSlowError(
            f"the pattern {pattern} takes more than {seconds:.0f} s in {where} of {n_chars:,} characters; nested "
            "repeats such as (x+)+ try every way to divide a text; write the pattern without them"
        )

    before = signal.signal(alarm, stop)
    set_timer(timer, seconds)
    try:
        yield
    finally:
        set_timer(timer, 0)
        signal.signal(alarm, before)


@lru_cache(maxsize=64)
def compile_regex(pattern: str, option: str = "`where`") -> re.Pattern[str]:
    """Return a compiled regular expression of Python.

    Raises:
        UsageError: it is not one; the message names the position.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of brackets that may mean something else one day
            return re.compile(unicodedata.normalize("NFC", pattern))  # as `regex_mask` has the texts
    except (re.error, OverflowError, RecursionError) as error:
        place = getattr(error, "pos", None)
        at = "" if place is None else f" at position {place + 1}"
        reason = getattr(error, "msg", str(error))
        raise UsageError(
            f"{option} '{pattern}' is not a regular expression: {reason}{at}; a \\ before a character makes it literal"
        ) from None


def regex_mask(texts: pa.Array, pattern: str) -> pa.BooleanArray:
    r"""Return in which texts (D,) a regular expression matches anywhere, as Python's re.search does; a null has none.

    Letters written as letter and accent (Unicode NFD, as file systems and PDF files give them) match like composed ones. ASCII texts go
    to RE2, five to fifteen times as fast, if the pattern has only what means the same there.

    Raises:
        UsageError: the pattern is not a regular expression.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    search = compile_regex(pattern).search
    matches = np.zeros(len(texts), bool)
    rest: Any = range(len(texts))
    if _SHARED.fullmatch(pattern):
        ascii_ = pc.fill_null(pc.string_is_ascii(texts), False)
        try:
            quick = pc.match_substring_regex(texts.filter(ascii_), pattern)
        except pa.ArrowInvalid:  # too large for RE2
            pass
        else:
            mask = ascii_.to_numpy(zero_copy_only=False)
            matches[mask] = quick.to_numpy(zero_copy_only=False)
            rest = np.flatnonzero(~mask).tolist()
    for row in rest:
        text = texts[row].as_py()
        matches[row] = text is not None and search(unicodedata.normalize("NFC", text)) is not None
    return pa.array(matches)
