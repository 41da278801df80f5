"""Topics of other programs: every format as its program writes it, told by content, and what is said of the rest."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import InputError
from nlpkit.platform.runs.runs import TOPIC_TERMS
from nlpkit.topics.export import topic_files
from nlpkit.topics.export.topic_files import FORMATS, TopicFile, read_topic_file
from tests.refusals import refuses
from tests.strategies import repeatable


def read(folder: Path, content: str | bytes | Any, name: str = "topics.txt", **options: Any) -> TopicFile:
    path = folder / name
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_topic_file(path, **options)


def words(found: TopicFile) -> list[str]:
    return [" ".join(topic) for topic in found.topics]


def weights(found: TopicFile) -> list[list[float]] | None:
    return None if found.weights is None else [w.tolist() for w in found.weights]


# ---------------------------------------------------------------- lines


@pytest.mark.parametrize(
    ("text", "topics", "names"),
    [
        ("cat dog pet\nbank money", ["cat dog pet", "bank money"], ["0", "1"]),
        ("cat,dog\nbank, money", ["cat dog", "bank money"], ["0", "1"]),
        ("cat\tdog\tpet\nbank\tmoney", ["cat dog pet", "bank money"], ["0", "1"]),
        ("Topic 3: cat dog\nTopic #4: bank", ["cat dog", "bank"], ["3", "4"]),
        ("3\tcat dog\n7\tbank money", ["cat dog", "bank money"], ["3", "7"]),
        ("Topic 3\tcat dog\nTopic 4\tbank money", ["cat dog", "bank money"], ["3", "4"]),
        ("3\tcat\tdog\n7\tbank\tmoney", ["cat dog", "bank money"], ["3", "7"]),
        ("pets\tcat dog\nfinance\tbank money", ["cat dog", "bank money"], ["pets", "finance"]),
        ("pets: cat dog\nfinance: bank money", ["cat dog", "bank money"], ["pets", "finance"]),
        ("3. cat dog\n4) bank money", ["cat dog", "bank money"], ["3", "4"]),
        ("0 cat dog\n1 bank money", ["cat dog", "bank money"], ["0", "1"]),
        ("1 cat dog\n2 bank money", ["cat dog", "bank money"], ["1", "2"]),
        ("1984 orwell\n2001 space", ["1984 orwell", "2001 space"], ["0", "1"]),  # numbers that are words
        ("b2b: sales\ncat dog", ["b2b: sales", "cat dog"], ["0", "1"]),  # one line alone has a colon
        ("1,000 cat\ndog pet", ["1,000 cat", "dog pet"], ["0", "1"]),
        ("cat | dog\nbank | money", ["cat dog", "bank money"], ["0", "1"]),
        ("'cat', \"dog\"", ["cat dog"], ["0"]),
        ("one", ["one"], ["0"]),
    ],
)
def test_a_line_a_topic(text: str, topics: list[str], names: list[str], tmp_path: Path) -> None:
    found = read(tmp_path, text)
    assert (found.format, words(found), list(found.names), found.weights) == ("lines", topics, names, None)


def test_blanks_within_words_where_commas_part_them(tmp_path: Path) -> None:
    assert read(tmp_path, "new york, cat,  los  angeles").topics == (("new york", "cat", "los angeles"),)


def test_empty_lines_and_repeated_words_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path, "cat dog cat dog\n\n \nbank\n\n\n")
    assert (words(found), found.names) == (["cat dog", "bank"], ("0", "3"))  # numbers stay those of the model
    assert (found.n_empty, found.n_repeated) == (2, 2)
    assert found.notes == ("2 topics without words left out", "2 repeated words of topics left out")


@pytest.mark.parametrize(
    ("data", "topics"),
    [
        ("\ufeffcat dög\nbank".encode(), ["cat dög", "bank"]),
        ("cat dög\nbank".encode("utf-16"), ["cat dög", "bank"]),
        ("Größe Fuß\nÜber ähnlich Straße Müller".encode("latin-1"), ["Größe Fuß", "Über ähnlich Straße Müller"]),
        (gzip.compress(b"cat dog\r\nbank\r\n", mtime=0), ["cat dog", "bank"]),
    ],
)
def test_encodings_and_packed_files(data: bytes, topics: list[str], tmp_path: Path) -> None:
    assert words(read(tmp_path, data)) == topics


def test_the_encoding_can_be_said(tmp_path: Path) -> None:
    assert words(read(tmp_path, "жук".encode("koi8-r"), encoding="koi8-r")) == ["жук"]


@repeatable
@given(st.lists(st.lists(st.text("abcdeüß", min_size=1, max_size=6), min_size=1, max_size=5), min_size=1, max_size=5))
def test_topics_come_back_from_every_format(tmp_path_factory: pytest.TempPathFactory, topics: list[list[str]]) -> None:
    folder = tmp_path_factory.mktemp("t")
    topics = [list(dict.fromkeys(topic)) for topic in topics]
    expected = tuple(map(tuple, topics))
    ranked = [(k, r, w) for k, topic in enumerate(topics) for r, w in enumerate(topic, 1)]
    table = io.StringIO()
    csv.writer(table).writerows([("topic", "rank", "term"), *random.Random(0).sample(ranked, len(ranked))])
    width = max(map(len, topics))
    wide = io.StringIO()
    header = ["topic", *(f"word_{i}" for i in range(1, width + 1))]
    csv.writer(wide).writerows([header, *([k, *t, *[""] * (width - len(t))] for k, t in enumerate(topics))])
    assert read(folder, "\n".join(map(" ".join, topics)), format="lines").topics == expected
    assert read(folder, {"topics": topics}).topics == expected
    assert read(folder, [[[w, 0.5] for w in topic] for topic in topics] + [[["last", 0.5]]]).topics[:-1] == expected
    assert read(folder, "".join(f"{k}\t0.5\t{' '.join(t)}\n" for k, t in enumerate(topics))).topics == expected
    by_topic = dict(zip(*(lambda f: (f.names, f.topics))(read(folder, table.getvalue(), "t.csv")), strict=True))
    assert tuple(by_topic[str(k)] for k in range(len(topics))) == expected
    assert read(folder, wide.getvalue(), "t.csv").topics == expected


# ---------------------------------------------------------------- MALLET


def test_topic_keys_of_mallet(tmp_path: Path) -> None:
    found = read(tmp_path, "0\t0.05\tcat dog \n1\t1.0E-4\t1984 orwell \n2\t0,5\t\n")
    assert (found.format, found.layout) == ("mallet", "topic keys")
    assert (words(found), found.names, found.n_empty, found.weights) == (
        ["cat dog", "1984 orwell"],
        ("0", "1"),
        1,
        None,
    )


def test_topic_word_weights_of_mallet(tmp_path: Path) -> None:
    # counts 0, 5, 7 of topic 0 and 2, 0, 0 of topic 1, each with beta 0.01; topic 2 has no token
    rows = [(0, "cat", 0.01), (0, "dog", 5.01), (0, '"q', 7.01), (1, "cat", 2.01), (1, "dog", 0.01), (1, '"q', 0.01)]
    rows += [(2, word, 0.01) for word in ("cat", "dog", '"q')]
    found = read(tmp_path, "".join(f"{k}\t{w}\t{x}\n" for k, w, x in rows))
    assert (found.format, found.layout, found.n_empty) == ("mallet", "topic-word weights", 1)
    assert found.topics == (('"q', "dog"), ("cat",))
    assert weights(found) == [[7.01, 5.01], [2.01]]


def test_probabilities_are_no_smoothed_counts(tmp_path: Path) -> None:
    assert words(read(tmp_path, "0\ta\t0.3\n0\tb\t0.5\n1\ta\t0.1\n1\tc\t0.9\n")) == ["b a", "c a"]


def test_of_a_whole_vocabulary_the_strongest_are_kept(tmp_path: Path) -> None:
    found = read(tmp_path, "".join(f"0\tw{i}\t{(i * 7) % 1500 + 0.01}\n" for i in range(1500)))
    order = sorted(range(1500), key=lambda i: -((i * 7) % 1500))[:1000]
    assert found.topics == (tuple(f"w{i}" for i in order),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0\ta\t0.3\n0\tb\n", r"topics.txt:2: not number, tab, word, tab, weight"),
        ("0\ta\t0.3\n0\tb\tmuch\n", r"topics.txt:2: not number, tab, word, tab, weight"),
        ("0\t0.5\ta b\n\nx\t0.5\tc d\n", r"topics.txt:3: not a line of MALLET's topic keys .* another format"),
    ],
)
def test_a_bad_line_of_mallet_is_named(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        read(tmp_path, text, format="mallet")


# ---------------------------------------------------------------- what programs print for people

FORMULA = '0.214*"cat" + 0.100*"dog"'


@pytest.mark.parametrize(
    "text",
    [
        f"(0, {FORMULA!r})\n(7, {FORMULA!r})",
        f"Topic: 0 \nWords: {FORMULA}\n",
        f"topic #0 (0.050): {FORMULA}\n",
        "Top 10 words of topic #0\n[('cat', 0.25), ('dog', 0.2)]\n",
        "<Topics>\n| #0 (209) : cat dog\n",
        "Topic 1 Top Words:\n \t Highest Prob: cat, dog, pet \n \t FREX: x, y \n",
    ],
)
def test_printed_topics_are_refused_with_what_to_write(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"json\.dump"):
        read(tmp_path, text)


@pytest.mark.parametrize("text", ["[(3, [('cat', np.float32(0.25))])]", "[['a', 'b'], ['c']]", f"[(0, {FORMULA!r})]"])
def test_python_lists_are_no_json(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read(tmp_path, text)


def test_gensim_and_tomotopy_as_json(tmp_path: Path) -> None:
    found = read(tmp_path, [[4, [["a", 0.5], ["b", -0.6]]], [7, [["c", 0.5]]]])
    assert (words(found), found.names, weights(found)) == (["a b", "c"], ("4", "7"), [[0.5, -0.6], [0.5]])


# ---------------------------------------------------------------- JSON


@pytest.mark.parametrize(
    ("value", "format", "topics", "names", "given"),
    [
        ({"topics": [["a", "b"], ["c"]]}, "json", ["a b", "c"], ["0", "1"], None),
        ({"topics": [["a", "b"]], "topic-word-matrix": [[0.1, 0.2, 0.7]]}, "json", ["a b"], ["0"], [[0.7, 0.2]]),
        ({"topics": [["a", "b"]], "topic-word-matrix": [[0.1]]}, "json", ["a b"], ["0"], None),
        ([["a", "b"], ["c", "d"]], "json", ["a b", "c d"], ["0", "1"], None),
        (["cat dog", "bank money"], "json", ["cat dog", "bank money"], ["0", "1"], None),
        ([[["a", 0.2], ["b", 0.1]]], "json", ["a b"], ["0"], [[0.2, 0.1]]),
        ([[4, [["a", 0.5], ["b", -0.6]]]], "json", ["a b"], ["4"], [[0.5, -0.6]]),
        ({"pets": ["cat", "dog"], "money": ["bank"]}, "json", ["cat dog", "bank"], ["pets", "money"], None),
        ({"pets": {"cat": 2, "dog": 1}}, "json", ["cat dog"], ["pets"], [[2.0, 1.0]]),
        ({"by": "x", "terms": {"A": {"2020": ["a"]}, "B": {"2021": ["b"]}}}, "json", ["a", "b"], ["A / 2020", "B / 2021"], None),
        ([{"topic": 3, "words": ["a", "b"], "weights": [0.3, 0.2]}], "json", ["a b"], ["3"], [[0.3, 0.2]]),
        ([{"topic": 1, "term": "a", "weight": 0.1}, {"topic": 1, "term": "b", "weight": 0.2}], "json", ["b a"], ["1"], [[0.2, 0.1]]),
    ],
)  # fmt: skip
def test_shapes_of_json(
    value: Any, format: str, topics: list[str], names: list[str], given: list[list[float]] | None, tmp_path: Path
) -> None:
    found = read(tmp_path, value, "model.json")
    assert (found.format, words(found), list(found.names), weights(found)) == (format, topics, names, given)


def test_topics_of_bertopic_without_its_outliers(tmp_path: Path) -> None:
    saved = {"topic_representations": {"-1": [["the", 0.1]], "0": [["cat", 0.2], ["", 1e-5]]}, "topics": [0, -1, 0]}
    found = read(tmp_path, saved)
    assert (words(found), found.names, found.n_outlier, weights(found)) == (["cat"], ("0",), 1, [[0.2]])


def test_json_lines(tmp_path: Path) -> None:
    assert words(read(tmp_path, '["a", "b"]\n["c", "d"]\n')) == ["a b", "c d"]
    assert words(read(tmp_path, '{"topic": 0, "words": ["a"]}\n{"topic": 1, "words": ["b"]}\n')) == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([], "holds an empty list"),
        ([[], []], r"holds no topics \(2 without words, 0 of outliers\)"),
        ({"-1": ["the"]}, r"holds no topics \(0 without words, 1 of outliers\)"),
        ({}, r"JSON without topics \(keys: none\)"),
        ({"loss": 0.5}, r"JSON without topics \(keys: loss\); write"),
        ([["a", 0.2], ["b", 0.1]], r"a single list of words; if it is one topic, write"),
        (["a", "b"], r"a single list of words; if it is one topic, write"),
        ([[1, 2], [3]], r"where a word was needed: word ids cannot be scored; write"),
        ([[[1, 0.5]]], r"where a word was needed: word ids cannot be scored; write"),
        ([["a", ["b", 0.1]], ["c"]], r"where a word"),
        ([["a", "b", ["c", 0.1]]], r"topics\[0\]: 1 of 3 words have a weight; all need one, or none"),
        ([[["a", float("nan")]], [["b", 1.0]]], r"topics\[0\]: the weight of 'a' is not a number"),
        ([{"id": 1, "text": "hello there"}], "found no topics. The columns are"),
    ],
)
def test_json_that_holds_no_topics(value: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        read(tmp_path, value, "model.json")


def test_broken_json_is_named_by_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"topics.txt:2: not JSON: .*; write \{"):
        read(tmp_path, '{"topics":\n [["a" "b"]]]}')
    with pytest.raises(InputError):
        read(tmp_path, "[" * 100_000)


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("text", "layout", "topics", "names", "given"),
    [
        ("topic,term,weight\n1,a,.5\n1,b,.7\n0,c,.2", "long", ["b a", "c"], ["1", "0"], [[0.7, 0.5], [0.2]]),
        ("Topic\tRank\tTerm\n0\t2\ta\n0\t1\tb", "long", ["b a"], ["0"], None),
        ("class,over,rank,term,weight\nA,x,1,a,.5\nA,y,1,b,.4", "long", ["a", "b"], ["A / x", "A / y"], [[0.5], [0.4]]),
        ("topic,term,beta\n1,a,-0.5\n1,b,0.4\n1,c,-0.3", "long", ["a b c"], ["1"], [[-0.5, 0.4, -0.3]]),  # LSI
        ("topic_id,words\n0,cat\n0,dog\n1,bank", "long", ["cat dog", "bank"], ["0", "1"], None),
        (
            "topic_num;words\n4;cat, new york\n5;bank loan",
            "word lists",
            ["cat new york", "bank loan"],
            ["4", "5"],
            None,
        ),
        (
            "dataset,topic_idx,topic\nnyt,7,cat dog\nnyt,8,bank loan",
            "word lists",
            ["cat dog", "bank loan"],
            ["7", "8"],
            None,
        ),
        ("topic,words\n0,\"[('a', 0.5), ('b', 0.25)]\"", "word lists", ["a b"], ["0"], [[0.5, 0.25]]),
        (
            "topic,word_2,word_1,prob_1,prob_2\n7,b,a,.5,.2\n8,,c,.1,",
            "rows",
            ["a b", "c"],
            ["7", "8"],
            [[0.5, 0.2], [0.1]],
        ),
        ("Word 0,Word 1\na,b\nc,d", "rows", ["a b", "c d"], ["0", "1"], None),
        ('"","Topic 1","Topic 2"\n"1","a","b"\n"2","c",""', "columns", ["a c", "b"], ["1", "2"], None),
        ("topic_0,topic_1\na,b\nc,a", "columns", ["a c", "b a"], ["0", "1"], None),
        ("term,topic_0,topic_1\na,.5,0\nb,.2,.3", "matrix", ["a b", "b"], ["0", "1"], [[0.5, 0.2], [0.3]]),
        (",topic_0,topic_1\na,.5,.1\nb,.2,.3", "matrix", ["a b", "b a"], ["0", "1"], [[0.5, 0.2], [0.3, 0.1]]),
    ],
)
def test_tables(
    text: str, layout: str, topics: list[str], names: list[str], given: list[list[float]] | None, tmp_path: Path
) -> None:
    for name in ("table.csv", "table.txt") if "Rank" not in text else ("table.csv",):
        found = read(tmp_path, text, name)
        assert (found.layout, words(found), list(found.names), weights(found)) == (layout, topics, names, given)
        assert found.format in ("csv", "tsv")


def test_topic_info_of_bertopic(tmp_path: Path) -> None:
    info = io.StringIO()
    rows = [
        ("", "Topic", "Count", "Name", "Representation", "Representative_Docs"),
        (0, -1, 9, "-1_the", "['the', 'a']", "['x']"),
    ]
    csv.writer(info).writerows(
        [*rows, (1, 0, 5, "0_cat", "['cat', \"dog's\"]", "['y, z']"), (2, 1, 2, "1_b", "['b', 'c', '']", "")]
    )
    found = read(tmp_path, info.getvalue(), "info.csv")
    assert (found.topics, found.names) == ((("cat", "dog's"), ("b", "c")), ("0", "1"))
    assert found.notes == ("1 outlier topic (-1) left out",)


def test_parquet_of_nlpkit(tmp_path: Path) -> None:
    terms = pa.Table.from_arrays(
        [
            pa.array([0, 0, 1], pa.int32()),
            pa.array([2, 1, 1], pa.int32()),
            pa.array(["b", "a", "c"]),
            pa.array([0.9, 0.1, 0.5]),
        ],
        schema=pa.schema(
            [f if f.name != "weight" else pa.field("weight", pa.float64()) for f in TOPIC_TERMS.schema][:4]
        ),
    )
    pq.write_table(terms, tmp_path / "topic_terms.parquet")
    found = read_topic_file(tmp_path / "topic_terms.parquet")
    assert (found.format, found.layout, words(found)) == ("parquet", "long", ["a b", "c"])  # by rank, not by weight
    assert weights(found) == [[0.1, 0.9], [0.5]]
    pq.write_table(
        pa.table({"topic": [0, 1], "size": [5, 2], "top_terms": [["a", "b"], None]}), tmp_path / "topics.parquet"
    )
    lists = read_topic_file(tmp_path / "topics.parquet")
    assert (lists.layout, words(lists), lists.n_empty) == ("word lists", ["a b"], 1)


def test_a_table_whose_header_says_nothing(tmp_path: Path) -> None:
    text = "cat,dog\na,b\nc,d\n"
    with pytest.raises(InputError):
        read(tmp_path, text, "table.csv")
    assert words(read(tmp_path, text, "table.csv", format="lines")) == ["cat dog", "a b", "c d"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("topic,term,weight\n0,a,0.5\n0,b,much\n", r"table.csv:3: column 'weight' needs a number, found 'much'"),
        ("topic,rank,term\n0,,a\n", r"table.csv:2: column 'rank' needs a number, found 'nothing'"),
        ("topic,term\n0,a,b\n", r"table.csv:2: 3 fields, but the header has 2"),
        ("topic,term,weight\n", r"has a header and no rows"),
        ("doc,topic_0,topic_1\n0,.5,.5\n1,.2,.8\n", r"numbers and no column holds words.* topics of documents"),
        ("topic,words\n0,\"['a', 3]\"\n", r"table.csv:2: a list of words was needed"),
        ("topic,words\n0,\"['a', f()]\"\n", r"table.csv:2: a list of words was needed"),
    ],
)
def test_tables_that_cannot_be_read(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        read(tmp_path, text, "table.csv")


def test_several_models_in_one_table_are_noted(tmp_path: Path) -> None:
    found = read(tmp_path, "model,topic_idx,topic\nlda,0,a b\nstm,0,c d\n", "table.csv")
    assert found.notes == ("1 name of a topic occurs twice: are there several models?",)


def test_a_topic_about_topics_is_no_header(tmp_path: Path) -> None:
    assert read(tmp_path, "topic,word,model\nbank,money,loan\n").format == "lines"


# ---------------------------------------------------------------- what is no file of topics


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\x00\x01\x02\x03" * 50, "looks binary"),
        (b"<?xml version='1.0'?><model/>", "is XML or HTML"),
        (b"the cat sat " * 400, r"words; if these are documents, pass them as"),
        (b"PAR1 and no more", "cannot be read as Parquet"),
    ],
)
def test_other_files(data: bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        read(tmp_path, data)


def test_paths_and_formats_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_topic_file(tmp_path / "nowhere.txt")
    with pytest.raises(InputError):
        read_topic_file(tmp_path)
    with refuses("format"):
        read(tmp_path, "a b", format="xml")
    assert FORMATS[0] == "auto"


def test_a_corpus_by_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_files, "MOST_BYTES", 1 << 20)
    with pytest.raises(InputError):
        read(tmp_path, b"a b\n" * 300_000)


def test_odd_words(tmp_path: Path) -> None:
    assert read(tmp_path, '[["a\\ud800", "b"]]').topics == (("a?", "b"),)  # half a character
    assert read(tmp_path, "x" * 200_000).topics == (("x" * 200_000,),)


def test_weights_are_float64_arrays_beside_their_words(tmp_path: Path) -> None:
    found = read(tmp_path, [[["b", 1], ["a", 2], ["b", 3]], [["c", 1]]])
    assert found.weights is not None
    assert [w.dtype for w in found.weights] == [np.float64, np.float64]
    assert (found.topics, weights(found), found.n_repeated) == ((("b", "a"), ("c",)), [[1.0, 2.0], [1.0]], 1)
