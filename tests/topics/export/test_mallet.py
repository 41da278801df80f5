"""States of MALLET: read as MALLET writes them, written so that it reads them, and refused with the line that is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import EncodingError, InputError, OutputExistsError, UsageError
from nlpkit.platform.types import TokenTable
from nlpkit.topics.export import mallet
from nlpkit.topics.export.mallet import MalletState, read_mallet_state, write_mallet_state
from tests.strategies import repeatable

# as ParallelTopicModel.printState writes it: a blank after each alpha
STATE = """#doc source pos typeindex type topic
#alpha : 0.5 0.25 1.0E-4 
#beta : 0.01
0 a.txt 0 0 house 1
0 a.txt 1 2 naïve 0
0 a.txt 2 0 house 2
2 c.txt 0 1 "don't" 1
"""  # noqa: W291
HEAD = STATE[: STATE.index("0 a.txt")]


def stored(folder: Path, text: str | bytes, name: str = "state.gz") -> Path:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def test_a_state_as_mallet_writes_it(tmp_path: Path) -> None:
    found = read_mallet_state(stored(tmp_path, STATE))
    assert found.tokens.terms == ("house", '"don\'t"', "naïve")
    assert found.tokens.offsets.tolist() == [0, 3, 3, 4]  # document 1 has no line: it is empty
    assert found.tokens.term_ids.tolist() == [0, 2, 0, 1]
    assert found.assignments.tolist() == [1, 0, 2, 1]
    assert (found.tokens.offsets.dtype, found.tokens.term_ids.dtype, found.assignments.dtype) == ("i8", "i4", "i4")
    assert (found.ids, found.alpha.tolist()) == (("a.txt", "state:1", "c.txt"), [0.5, 0.25, 0.0001])
    assert found.beta == 0.01


def test_unpacked_and_with_line_ends_of_windows(tmp_path: Path) -> None:
    found = read_mallet_state(stored(tmp_path, STATE.replace("\n", "\r\n"), "state.txt"))
    assert found.ids == ("a.txt", "state:1", "c.txt")
    assert (found.tokens.terms, found.beta) == (("house", '"don\'t"', "naïve"), 0.01)


@pytest.mark.parametrize("sources", [("NA", "NA"), ("x", "x"), ("x", "NA"), ("x", "")])
def test_documents_without_a_source_of_their_own_are_numbered(tmp_path: Path, sources: tuple[str, str]) -> None:
    text = f"{HEAD}0 {sources[0]} 0 0 house 1\n1 {sources[1]} 0 0 house 1\n"
    assert read_mallet_state(stored(tmp_path, text)).ids == ("state:0", "state:1")


def test_types_that_do_not_occur_are_left_out(tmp_path: Path) -> None:
    found = read_mallet_state(stored(tmp_path, f"{HEAD}0 a 0 7 late 0\n0 a 1 3 early 0\n"))
    assert (found.tokens.terms, found.tokens.term_ids.tolist()) == (("early", "late"), [1, 0])


def test_blanks_in_a_source_or_a_type(tmp_path: Path) -> None:
    text = f"{HEAD}0 My Documents/a 1.txt 0 0 house 1\n1 b.txt 0 1 new york 2\n2 c.txt 0 0 house 0\n"
    found = read_mallet_state(stored(tmp_path, text))
    assert found.ids == ("My Documents/a 1.txt", "b.txt", "c.txt")
    assert (found.tokens.terms, found.assignments.tolist()) == (("house", "new york"), [1, 2, 0])


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["0 a 0 0 house 3"], 4, "topic 3, but #alpha has the topics 0 to 2"),
        (["0 a 0 0 house 1", "0 a 1 0 house -1"], 5, "-1"),
        (["0 a 0 0 house 1", "0 a 1 0 house"], 5, "has 5 fields"),
        (["0 a 0 0 house 1", "", "0 a 1 0 house 1"], 5, "has 1 fields"),
        (["0 a 0 0 house x"], 4, "has 6 fields"),
        (["0 a 0 0 house 1", "1 a 0 0 home 1"], 5, "type 0 is 'home', but was 'house' before"),
        (["0 a 0 0 house 1", "1 a 0 1 house 1"], 5, "another index here, 1"),
        (["0 a 0 0 house 1", "1 a 0 -1 home 1"], 5, "-1"),
        (["1 a 0 0 house 1", "0 b 0 0 house 1"], 5, "document 0 comes after a later one"),
        (["0 a 0 0  1"], 4, "the type is empty"),
        (["0 a 0 5 6 7 8 1"], 4, "can be read in two ways"),
        (["0 a 0 0 house 1", "99999999999 a 0 0 house 1"], 5, "above 2147483647"),
    ],
)
def test_a_line_that_does_not_fit_is_named(tmp_path: Path, lines: list[str], line: int, message: str) -> None:
    path = stored(tmp_path, HEAD + "\n".join(lines) + "\n")
    with pytest.raises(InputError, match=message) as raised:
        read_mallet_state(path)
    assert f"{path}: line {line}" in str(raised.value)


def test_lines_are_counted_over_all_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mallet, "_BLOCK", 1 << 18)
    lines = [f"{n // 10} source{n // 10} {n % 10} {n % 1000} term{n % 1000} {n % 3}\n" for n in range(30_000)]
    found = read_mallet_state(stored(tmp_path, HEAD + "".join(lines)))
    assert found.tokens.offsets.tolist() == list(range(0, 30_001, 10))
    assert found.tokens.terms == tuple(f"term{v}" for v in range(1000))
    assert found.tokens.term_ids.tolist() == [n % 1000 for n in range(30_000)]
    assert found.assignments.tolist() == [n % 3 for n in range(30_000)]
    assert found.ids[-1] == "source2999"
    lines[20_000] = lines[20_000].replace(" term0 ", " term1 ")
    with pytest.raises(InputError, match="line 20004: a type has another index here, 0"):
        read_mallet_state(stored(tmp_path, HEAD + "".join(lines)))


@pytest.mark.parametrize("size", [1, 5, 100])
def test_blocks_are_whole_lines(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mallet, "_BLOCK", size)
    text = "one\ntwo\n\nfour\nlast"
    blocks = list(mallet._line_blocks(text[i : i + 3] for i in range(0, len(text), 3)))
    assert "".join(block for _, block in blocks) == text
    for number, block in blocks:
        assert text.split("\n")[number - 1].startswith(block.split("\n")[0])
        assert block.endswith(("\n", "last"))
    assert (len(blocks) > 1) == (size < 100)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STATE.replace("#alpha", "#a"), "no line '#alpha : …'"),
        (STATE.replace("#beta : 0.01\n", ""), "no line '#beta : …'"),
        (STATE.replace("0.25", "0,25"), "line 2: could not convert"),
        (STATE.replace("0.25", "0.0"), "line 2: priors must be above 0"),
        (HEAD, "no line of a token"),
        ("id,text\n1,hello\n", "no line '#alpha : …'"),
        ("", "no line '#alpha : …'"),
    ],
)
def test_what_is_no_state(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_mallet_state(stored(tmp_path, text))


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    path = stored(tmp_path, STATE)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError):
        read_mallet_state(path)
    with pytest.raises(InputError, match=r"line 7 has 5 fields"):
        read_mallet_state(stored(tmp_path, STATE.rstrip()[:-2]))


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_mallet_state(tmp_path / "none.gz")


def test_latin_1_is_read_and_what_is_no_text_is_not(tmp_path: Path) -> None:
    text = HEAD + "".join(f"{d} d{d} 0 0 naïveté 1\n" for d in range(50))
    assert read_mallet_state(stored(tmp_path, text.encode("latin-1"))).tokens.terms == ("naïveté",)
    with pytest.raises((EncodingError, InputError)):
        read_mallet_state(stored(tmp_path, STATE.encode() + b"\x00\x01\x02" * 50))


# ---------------------------------------------------------------- written


def example() -> MalletState:
    tokens = TokenTable(np.array([0, 2, 2, 3]), np.array([1, 0, 1], np.int32), ("a", "b"))
    return MalletState(tokens, ("x", "y", "z"), np.array([0, 1, 1], np.int32), np.array([0.1, 2.0]), 0.05)


def write(path: Path, state: MalletState, **changed: Any) -> None:
    given_state = {"ids": state.ids, "tokens": state.tokens, "assignments": state.assignments, **changed}
    write_mallet_state(path, **given_state, alpha=state.alpha, eta=state.beta)


def test_written_by_hand(tmp_path: Path) -> None:
    write(tmp_path / "state.gz", example())
    expected = (
        "#doc source pos typeindex type topic\n#alpha : 0.1 2.0 \n#beta : 0.05\n0 x 0 1 b 0\n0 x 1 0 a 1\n2 z 0 1 b 1\n"
    )
    assert gzip.decompress((tmp_path / "state.gz").read_bytes()).decode() == expected


def test_the_same_state_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "one.gz", example())
    monkeypatch.setattr("time.time", lambda: 0.0)
    write(tmp_path / "another-name.gz", example())
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "another-name.gz").read_bytes()


@pytest.mark.parametrize("rows", [1, 4, 1000])
@repeatable
@given(data=st.data())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: int, data: st.DataObject) -> None:
    word = st.text(
        st.characters(codec="utf-8", exclude_characters=" \r\n", exclude_categories=["Cs", "Cc"]),
        min_size=1,
        max_size=4,
    )
    terms = data.draw(st.lists(word, min_size=1, max_size=5, unique=True))
    K = data.draw(st.integers(1, 3))
    documents = data.draw(st.lists(st.lists(st.integers(0, len(terms) - 1), max_size=5), min_size=1, max_size=5))
    documents.append(list(range(len(terms))))  # every term occurs, and the last document has tokens
    ids = data.draw(st.lists(word.filter("NA".__ne__), min_size=len(documents), max_size=len(documents), unique=True))
    term_ids = np.array([v for d in documents for v in d], np.int32)
    z = np.array(data.draw(st.lists(st.integers(0, K - 1), min_size=len(term_ids), max_size=len(term_ids))), np.int32)
    alpha = np.array(data.draw(st.lists(st.floats(1e-9, 1e9), min_size=K, max_size=K)))
    eta = data.draw(st.floats(1e-9, 1e9))
    tokens = TokenTable(np.cumsum([0, *map(len, documents)]), term_ids, tuple(terms))
    path = tmp_path_factory.mktemp("state") / "state.gz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mallet, "_ROWS", rows)
        write_mallet_state(path, ids, tokens, z, alpha=alpha, eta=eta)
    found = read_mallet_state(path)
    np.testing.assert_array_equal(found.tokens.offsets, tokens.offsets)
    np.testing.assert_array_equal(found.tokens.term_ids, tokens.term_ids)
    assert found.tokens.terms == tokens.terms
    np.testing.assert_array_equal(found.assignments, z)
    np.testing.assert_array_equal(found.alpha, alpha)
    assert found.beta == eta
    assert [i for i, d in zip(found.ids, documents, strict=True) if d] == [
        i for i, d in zip(ids, documents, strict=True) if d
    ]


def test_what_mallet_could_not_read_is_not_written(tmp_path: Path) -> None:
    state, path = example(), tmp_path / "state.gz"
    with pytest.raises(InputError):
        write(path, state, ids=("x", "y y", "z"))
    with pytest.raises(InputError):
        write(path, state, tokens=TokenTable(state.tokens.offsets, state.tokens.term_ids, ("a", "new york")))
    with pytest.raises(UsageError, match="topics must be 0 to 1, got 0 to 2"):
        write(path, state, assignments=np.array([0, 2, 1], np.int32))
    with pytest.raises(UsageError, match="needs as many ids"):
        write(path, state, ids=("x", "y"))
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_stays(tmp_path: Path) -> None:
    (tmp_path / "state.gz").write_bytes(b"mine")
    with pytest.raises(OutputExistsError):
        write(tmp_path / "state.gz", example())
    assert (tmp_path / "state.gz").read_bytes() == b"mine"
