"""Any bytes as any other file a user may name: what its reader returns, or an error that nlpkit means, on one line."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings

from nlpkit.annotate.task_files import read_key
from nlpkit.errors import NlpkitError
from nlpkit.platform.runs.plain_tables import read_rows
from nlpkit.text.files import read_phrases, read_rules, read_vocabulary, read_word_list
from nlpkit.text.lexicon.files import read_lexicon, read_negations
from nlpkit.topics.base.guide import read_seed_words
from nlpkit.topics.base.resume import read_steps
from nlpkit.topics.export.mallet import read_mallet_state
from nlpkit.topics.export.topic_files import read_topic_file
from nlpkit.words.files import read_word_vectors
from tests.fuzz.drawn import PIECES, changed

EXAMPLES = 2 * settings.default.max_examples  # of each

TABLE = pa.table({"term": ["a", "b"], "word": ["a", "b"], "topic": [0, 1], "embedding": [[1.0, 2.0], [3.0, 4.0]]})
STATE = b"""#doc source pos typeindex type topic
#alpha : 0.5 0.5
#beta : 0.01
0 d0 0 0 river 0
0 d0 1 1 judge 1
1 d1 0 0 river 1
"""


def _parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(TABLE, out)
    return out.getvalue()


def _npz() -> bytes:
    out = io.BytesIO()
    facts = np.frombuffer(
        json.dumps({"identity": {"k": 2}, "step": 3, "rng": None, "steps": [{"sweep": 2}]}).encode(), np.uint8
    )
    np.savez(out, z=np.zeros(5, np.uint16), facts=facts, alpha=np.ones(2))
    return out.getvalue()


# reader: the name of its file, a whole one, how it is called
READERS: dict[str, tuple[str, bytes, Callable[[Path], Any]]] = {
    "words": ("x.txt", b"the\nand\n# a comment\n\xc3\xa9t\xc3\xa9\n", read_word_list),
    "vocabulary": ("x.txt", b"river\nbank\n", read_vocabulary),
    "vocabulary.parquet": ("x.parquet", _parquet(), read_vocabulary),
    "phrases": ("x.txt", b"new york\nbank of america\n", read_phrases),
    "phrases.parquet": ("x.parquet", _parquet(), read_phrases),
    "seeds": ("x.txt", b"rivers: river, bank*3\ncourts: judge\n", read_seed_words),
    "seeds.json": ("x.json", b'{"rivers": ["river", "bank"], "1": ["judge"]}', read_seed_words),
    "rules": ("x.tsv", b"colou?r\tcolor\n(a)b\t\\1\n", read_rules),
    "lexicon": ("x.tsv", b"word\tweight\nexcellent\t3\nbad\t-2.5\n", lambda path: read_lexicon([path])),
    "lexicon.csv": ("x.csv", b"word,positive,negative\ngood,1,0\nbad,0,1\n", lambda path: read_lexicon([path])),
    "negations": ("x.txt", b"not\nno longer\n", read_negations),
    "state": ("x.gz", gzip.compress(STATE, mtime=0), read_mallet_state),
    "state.txt": ("x.txt", STATE, read_mallet_state),
    "table": ("x.csv", b"id,label,score\na,x,1\nb,y,\n", read_rows),
    "table.xlsx": ("x.xlsx", b"PK\x03\x04 no workbook", read_rows),
    "table.jsonl": ("x.jsonl", b'{"id": "a", "label": "x"}\n{"id": "b", "n": [1]}\n', read_rows),
    "table.parquet": ("x.parquet", _parquet(), read_rows),
    "topics": ("x.txt", b"river bank water\ncourt judge\n", read_topic_file),
    "topics.csv": ("x.csv", b"topic,word,weight\n0,river,0.5\n0,bank,0.4\n1,judge,1\n", read_topic_file),
    "topics.json": ("x.json", b'{"topics": [["river", "bank"], ["judge"]], "topic-word-matrix": [[1, 2]]}', read_topic_file),
    "topics.mallet": ("x.txt", b"0\t0.5\triver bank water\n1\t0.5\tcourt judge\n", read_topic_file),
    "topics.parquet": ("x.parquet", _parquet(), read_topic_file),
    "vectors": ("x.vec", b"2 3\nriver 1 2 3\nbank 0.5 -1 1e3\n", lambda path: read_word_vectors(path, ["river"])),
    "vectors.parquet": ("x.parquet", _parquet(), lambda path: read_word_vectors(path, ["a"])),
    "key": ("x.json", b'{"format": "nlpkit-task", "version": 1, "items": [{"id": 1}], "skipped": {}, "topics": []}', read_key),
    "checkpoint": ("x.npz", _npz(), lambda path: read_steps(path, {"k": 2})),
}  # fmt: skip


def file_of(reader: str, number: int) -> bytes:
    """Return the bytes of one example."""
    rng = np.random.default_rng([number, *reader.encode()])
    data = READERS[reader][1]
    if number % 6 == 0:
        return rng.integers(0, 256, int(rng.integers(0, 300)), np.uint8).tobytes()
    if number % 6 == 1:
        return b"".join(PIECES[i] for i in rng.integers(0, len(PIECES), int(rng.integers(0, 30))))
    if number % 6 == 2 and not data.startswith((b"PAR1", b"PK", b"\x1f", b"\x80")):
        name = ["utf-16", "utf-32", "latin-1", "utf-8-sig", "shift_jis"][int(rng.integers(5))]
        return data.decode().encode(name, "replace")
    return changed(data, rng, number // 6 % 5)


@pytest.mark.parametrize("reader", READERS)
def test_any_bytes(reader: str, tmp_path: Path) -> None:
    name, _, read = READERS[reader]
    for number in range(EXAMPLES):
        (tmp_path / name).write_bytes(file_of(reader, number))
        try:
            read(tmp_path / name)
        except NlpkitError as meant:
            if len(str(meant).splitlines()) != 1:
                raise AssertionError(f"file_of({reader!r}, {number}): {str(meant)!r} is no line") from meant
        except Exception as error:
            raise AssertionError(f"file_of({reader!r}, {number}): {error!r}") from error
