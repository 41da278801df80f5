"""Which files an input names, and the bytes that come out of them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import os
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.sources import Source, StoredBytes, resolve, sniff, split_suffix

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
    ".bz2": bz2.compress,
}
BODY = b"one line of text that is long enough to be packed\n" * 400


def touch(path: Path, content: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def unpacked(path: Path) -> bytes:
    with StoredBytes(Source(str(path), "s", None)) as stored:
        return b"".join(stored)


# ---------------------------------------------------------------- names


def test_directory_is_read_recursively_sorted_without_hidden_and_unknown_files(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/z.csv", "a/y.TXT.GZ", "notes.md", ".hidden.jsonl", ".git/x.txt", "c.dropped.parquet"):
        touch(tmp_path / name)
    found = resolve([str(tmp_path)])
    assert [os.path.relpath(source.path, tmp_path) for source in found] == ["a/y.TXT.GZ", "a/z.csv", "b.jsonl"]
    assert [source.format for source in found] == ["txt", "csv", "jsonl"]
    assert all(source.listed for source in found)


def test_format_takes_all_files_of_a_directory(tmp_path: Path) -> None:
    touch(tmp_path / "51121")
    touch(tmp_path / "51122.msg")
    found = resolve([str(tmp_path)], "txt")
    assert [(source.stem, source.format) for source in found] == [("51121", "txt"), ("51122", "txt")]


def test_glob_is_sorted_and_a_literal_name_wins(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "[1].jsonl", "1.jsonl"):
        touch(tmp_path / name)
    names = [Path(source.path).name for source in resolve([str(tmp_path / "*.jsonl")])]
    assert names == sorted(["1.jsonl", "[1].jsonl", "a.jsonl", "b.jsonl"])
    assert [source.stem for source in resolve([str(tmp_path / "[1].jsonl")])] == ["[1]"]


def test_glob_over_directories_and_with_two_stars(tmp_path: Path) -> None:
    touch(tmp_path / "x/1.txt")
    touch(tmp_path / "y/deep/2.txt")
    assert [source.stem for source in resolve([str(tmp_path / "*")])] == ["1", "2"]
    assert [source.stem for source in resolve([str(tmp_path / "**/*.txt")])] == ["1", "2"]


def test_a_shared_stem_becomes_the_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pos/1.txt", "neg/1.txt", "neg/2.txt"):
        touch(tmp_path / name)
    assert [source.stem for source in resolve([str(tmp_path)])] == ["neg/1", "2", "pos/1"]
    monkeypatch.chdir(tmp_path)
    assert [source.stem for source in resolve(["pos/1.txt", "neg/1.txt"])] == ["pos/1", "neg/1"]
    assert [source.stem for source in resolve(["pos", "neg"])] == ["pos/1", "neg/1", "2"]
    touch(tmp_path / "a.csv")
    touch(tmp_path / "a.jsonl")
    assert [source.stem for source in resolve(["a.csv", "a.jsonl"])] == ["a.csv", "a.jsonl"]


def test_a_file_named_twice_is_read_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = touch(tmp_path / "a.txt")
    assert len(resolve([str(path), str(tmp_path)])) == 1
    assert "given twice" in caplog.text


@pytest.mark.parametrize(
    ("name", "stem", "format", "packed"),
    [
        ("news.jsonl.gz", "news", "jsonl", True),
        ("a.b.txt", "a.b", "txt", False),
        ("DATA.CSV.BZ2", "DATA", "csv", True),
        ("plain", "plain", None, False),
        ("x.gz", "x", None, True),
        ("reut.sgm", "reut", "sgml", False),
    ],
)
def test_split_suffix(name: str, stem: str, format: str | None, packed: bool) -> None:
    assert split_suffix(name) == (stem, format, packed)


def test_messages_name_what_was_looked_for(tmp_path: Path) -> None:
    touch(tmp_path / "corpus.jsonl")
    with pytest.raises(InputError, match=r"no such file or directory; did you mean '.*corpus\.jsonl'"):
        resolve([str(tmp_path / "corpus.json")])
    with pytest.raises(InputError):
        resolve([str(tmp_path / "nowhere/x.csv")])
    with pytest.raises(InputError, match=r"no file matches '.*\*\.csv'"):
        resolve([str(tmp_path / "*.csv")])
    with pytest.raises(InputError):
        resolve([])
    touch(tmp_path / "docs/a.toml")
    with pytest.raises(InputError, match=r"no corpus file .* 1 with \.toml"):
        resolve([str(tmp_path / "docs")])


def test_archives_documents_and_run_directories_are_refused(tmp_path: Path) -> None:
    for name in ("x.zip", "x.tar.gz"):
        with pytest.raises(InputError):
            resolve([str(touch(tmp_path / name))])
    with pytest.raises(InputError, match=r"save it as \.docx"):
        resolve([str(touch(tmp_path / "x.odt"))])
    touch(tmp_path / "run/manifest.json")
    touch(tmp_path / "run/topics.parquet")
    with pytest.raises(InputError):
        resolve([str(tmp_path / "run")])


def test_stdin_is_named_once(tmp_path: Path) -> None:
    assert resolve(["-"])[0].stem == "stdin"
    with pytest.raises(UsageError, match="is named twice, but it can only be read once"):
        resolve(["-", "-"])


@pytest.mark.parametrize(
    ("head", "format"),
    [(b"PAR1..", "parquet"), (b' \n{"a"', "jsonl"), (b"\xef\xbb\xbf[", "json"), (b"", "jsonl")],
)
def test_sniff(head: bytes, format: str) -> None:
    assert sniff(head, "stdin") == format


def test_arrow_is_no_format_of_documents() -> None:
    with pytest.raises(InputError, match=r"write \.parquet instead"):
        sniff(b"ARROW1\0\0", "x.arrow")


def test_sniff_asks_for_the_format() -> None:
    for unknown in (b"id,text\n", b"id,text\r\na,one text\n", b"two\nlines of text", b"a \0 text"):
        with pytest.raises(InputError):
            sniff(unknown, "stdin")
    assert sniff(b"\xef\xbb\xbf a text, and no more\n", "stdin") == "txt"


# ---------------------------------------------------------------- bytes


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_of_one_and_of_several_members(tmp_path: Path, suffix: str) -> None:
    pack = PACKERS[suffix]
    one = touch(tmp_path / f"a.jsonl{suffix}", pack(BODY))
    several = touch(tmp_path / f"b.jsonl{suffix}", pack(BODY) + pack(b"") + pack(b"end\n"))
    assert unpacked(one) == BODY
    assert unpacked(several) == BODY + b"end\n"


@pytest.mark.parametrize("suffix", PACKERS)
def test_truncated_and_corrupt_archives_are_errors(tmp_path: Path, suffix: str) -> None:
    packed = PACKERS[suffix](random.Random(0).randbytes(5000))  # of some bytes a broken bzip2 file looks truncated
    for cut in (len(packed) - 5, len(packed) // 2):
        with pytest.raises(InputError, match=r"a\.txt.*(truncated|corrupt)"):
            unpacked(touch(tmp_path / f"a.txt{suffix}", packed[:cut]))
    with pytest.raises(InputError):
        unpacked(touch(tmp_path / f"a.txt{suffix}", b""))
    with pytest.raises(InputError):
        unpacked(touch(tmp_path / f"a.txt{suffix}", b"plain text, not packed"))
    if suffix != ".zst":  # the frames of this packer carry no checksum
        broken = bytearray(packed)
        broken[len(packed) // 2] ^= 0xFF
        with pytest.raises(InputError, match=r"a\.txt.*corrupt"):
            unpacked(touch(tmp_path / f"a.txt{suffix}", bytes(broken)))


def test_zeros_may_pad_a_gzip_file_but_nothing_else(tmp_path: Path) -> None:
    assert unpacked(touch(tmp_path / "a.gz", gzip.compress(BODY) + bytes(700))) == BODY
    for garbage in (b"garbage", b"more than ten bytes of garbage"):
        with pytest.raises(InputError, match=r"follows|corrupt"):
            unpacked(touch(tmp_path / "b.gz", gzip.compress(BODY) + garbage))


def test_zstd_skippable_frames_and_long_windows(tmp_path: Path) -> None:
    skippable = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"
    assert unpacked(touch(tmp_path / "a.zst", skippable + PACKERS[".zst"](BODY))) == BODY
    parameters = zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    assert unpacked(touch(tmp_path / "b.zst", packer.compress(BODY) + packer.flush())) == BODY


def test_packed_bytes_are_known_without_the_suffix(tmp_path: Path) -> None:
    assert unpacked(touch(tmp_path / "a.jsonl", gzip.compress(BODY))) == BODY


def test_sha256_is_that_of_the_stored_file_however_much_was_read(tmp_path: Path) -> None:
    content = gzip.compress(random.Random(0).randbytes(900_000))
    path = touch(tmp_path / "a.gz", content)
    for count in (0, 1, 1000):
        with StoredBytes(Source(str(path), "a", None)) as stored:
            for _ in zip(range(count), stored, strict=False):
                pass
            assert stored.sha256() == hashlib.sha256(content).hexdigest()


def test_stdin_is_hashed_as_far_as_it_was_read_and_stays_open() -> None:
    pipe = io.BytesIO(BODY)
    with StoredBytes(Source("-", "stdin", None), pipe) as stored:
        assert stored.head() == BODY
        assert b"".join(stored) == BODY
        assert stored.sha256() == hashlib.sha256(BODY).hexdigest()
    assert not pipe.closed


def test_short_reads_of_a_pipe_do_not_hide_the_compression() -> None:
    class Trickle(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(1)

    with StoredBytes(Source("-", "stdin", None), Trickle(gzip.compress(b"text"))) as stored:
        assert b"".join(stored) == b"text"


def test_a_file_that_cannot_be_opened_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        StoredBytes(Source(str(tmp_path / "gone"), "gone", None))


# ---------------------------------------------------------------- partitions, private names, links, bombs


def test_folders_name_columns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Spark, Hive, Polars and DuckDB write columns as folders; they were lost."""
    touch(tmp_path / "label=a%2Fb/year=2024/x.csv", b"id,text,year\n1,one,1999\n")
    touch(tmp_path / "label=__HIVE_DEFAULT_PARTITION__/y.jsonl", b'{"id": 2, "text": "two"}\n')
    touch(tmp_path / "_temporary/0/z.csv", b"broken")
    touch(tmp_path / "_SUCCESS", b"")
    table = open_documents([str(tmp_path)]).read_all()
    assert sorted(table.to_pylist(), key=lambda row: row["id"]) == [
        {"id": "1", "text": "one", "year": "1999", "label": "a/b"},  # the file has a year of its own
        {"id": "2", "text": "two", "year": None, "label": None},
    ]
    assert [m for m in caplog.messages if "begin with _" in m] == [
        f"{tmp_path}: names that begin with _ are left out, as other programs do (1 file, such as {tmp_path}/_temporary/0/z.csv); name "
        "the files to read them"
    ]
    for pattern in ("*/**/*.csv", "**"):
        assert "_temporary" not in str(resolve([str(tmp_path / pattern)]))
    assert [source.stem for source in resolve([str(tmp_path / "_temporary/*/*.csv")])] == ["z"]


def test_a_partitioned_folder_of_parquet(tmp_path: Path) -> None:
    for year in (2023, 2024):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        pq.write_table(pa.table({"text": [f"of {year}", "x"]}), folder / "part.parquet")
    table = open_documents([str(tmp_path)], ReadOptions(types=(("year", "int"),), keep_if="year == 2024")).read_all()
    assert table.select(["text", "year"]).to_pylist() == [
        {"text": "of 2024", "year": 2024},
        {"text": "x", "year": 2024},
    ]


def test_links_that_lead_nowhere_are_named(tmp_path: Path) -> None:
    """The message proposed the link itself."""
    (tmp_path / "circle.jsonl").symlink_to(tmp_path / "circle.jsonl")
    (tmp_path / "gone.csv").symlink_to("elsewhere.csv")
    for name, target in (("circle.jsonl", tmp_path / "circle.jsonl"), ("gone.csv", "elsewhere.csv")):
        with pytest.raises(InputError, match=rf"{name}: the link leads nowhere, or in a circle \(to {target}\)"):
            resolve([str(tmp_path / name)])


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_bomb_is_unpacked_in_pieces(tmp_path: Path, suffix: str) -> None:
    """Of 2 KB of bzip2 came gigabytes in one piece."""
    packed = touch(tmp_path / f"a.txt{suffix}", PACKERS[suffix](b"x" * (160 << 20)))
    with StoredBytes(Source(str(packed), "s", None)) as stored:
        sizes = [len(piece) for piece in stored]
    assert sum(sizes) == 160 << 20
    assert max(sizes) <= (65 << 20 if suffix == ".zst" else 1 << 20)
