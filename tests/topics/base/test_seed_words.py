"""Seed words: files that can be read, and what is said of those that cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlpkit.errors import InputError
from nlpkit.topics.base.guide import Seeds, read_seed_words


def write(folder: Path, text: str) -> Path:
    path = folder / "seeds.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_topics_come_in_their_order(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        # of the newspaper
        [topics]
        sports = { words = ["team", "match"], weight = 2.5 }
        "grüne Wirtschaft" = ["bank", "tax*"]
        a = { words = ["x"], weight = 3 }
        """,
    )
    assert read_seed_words(path) == (
        Seeds("sports", ("team", "match"), 2.5),
        Seeds("grüne Wirtschaft", ("bank", "tax*")),
        Seeds("a", ("x",), 3.0),
    )


def test_a_table_of_its_own_for_each_topic(tmp_path: Path) -> None:
    assert read_seed_words(write(tmp_path, "[topics.law]\nwords = ['judge']")) == (Seeds("law", ("judge",), 1.0),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("topics = [", "is not TOML: "),
        ("law: judge", "is not TOML: "),
        ("", "needs one table [topics], found: nothing"),
        ("[topics]", "needs one table [topics], found: topics"),
        ("topics = 3", "needs one table [topics], found: topics"),
        ("law = ['judge']", "needs one table [topics], found: law"),
        ("weight = 2\n[topics]\nlaw = ['judge']", "needs one table [topics], found: weight, topics"),
        ("[topics]\nlaw = 'judge'", "topic 'law' needs a list of words"),
        ("[topics]\nlaw = []", "topic 'law' needs a list of words"),
        ("[topics]\nlaw = ['judge', 3]", "topic 'law' needs a list of words"),
        ("[topics]\nlaw = ['judge', '']", "topic 'law' needs a list of words"),
        ("[topics]\nlaw = {weight = 2}", "topic 'law' needs a list of words"),
        ("[topics]\nlaw = {words = ['judge'], wieght = 2}", "topic 'law' has 'wieght'; known are words and weight"),
        ("[topics]\nlaw = {words = ['a'], weight = 0}", "the weight of topic 'law' must be above 0 and at most 1000, got 0"),
        ("[topics]\nlaw = {words = ['a'], weight = -1.5}", "must be above 0 and at most 1000, got -1.5"),
        ("[topics]\nlaw = {words = ['a'], weight = nan}", "must be above 0 and at most 1000, got nan"),
        ("[topics]\nlaw = {words = ['a'], weight = inf}", "must be above 0 and at most 1000, got inf"),
        ("[topics]\nlaw = {words = ['a'], weight = true}", "must be above 0 and at most 1000, got True"),
        ("[topics]\nlaw = {words = ['a'], weight = '2'}", "must be above 0 and at most 1000, got '2'"),
        ("[topics]\nlaw = ['a']\nlaw = ['b']", "is not TOML: "),
    ],
)  # fmt: skip
def test_what_cannot_be_read(text: str, says: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as error:
        read_seed_words(path)
    assert str(error.value).startswith(f"seed words {path}")
    assert says in str(error.value)


def test_a_file_of_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "seeds.toml"
    path.write_bytes("[topics]\nlaw = ['Büro']".encode("latin-1"))
    with pytest.raises(InputError):
        read_seed_words(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_seed_words(tmp_path / "nowhere.toml")
    with pytest.raises(InputError):
        read_seed_words(tmp_path)


def test_a_byte_order_mark_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "seeds.toml"
    path.write_bytes(b"\xef\xbb\xbf[topics]\r\nlaw = ['judge']\r\n")
    assert read_seed_words(path) == (Seeds("law", ("judge",)),)
