"""XML and SGML: records, paths, lenient reading, messages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import ColumnError, InputError
from nlpkit.platform.documents.corpora import DocumentStream, open_documents
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers.markup import read_markup
from tests.peer_data import PEER_DATA

FORMATS = PEER_DATA / "formats"

WIKI = """<?xml version="1.0"?>
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">
  <siteinfo><title>not a page</title></siteinfo>
  <page><title>One</title><id>1</id><revision><id>11</id><text bytes="5">First &amp; best</text></revision></page>
  <page><title>Two</title><id>2</id><revision><id>12</id><text><![CDATA[<b>second</b>]]></text></revision></page>
</mediawiki>
"""


def rows(markup: str, *, record: str, lenient: bool = False, **fields: str) -> list[dict[str, str | None]]:
    """The rows of a text, given to the reader one character at a time."""
    text = iter(markup)
    blocks = read_markup(text, "x.xml", record=record, fields={"text": ".", **fields}, texts=["text"], lenient=lenient)
    return [
        dict(zip(block.columns, values, strict=True))
        for block in blocks
        for values in zip(*block.columns.values(), strict=True)
    ]


def opened(path: Path, content: str, **options: object) -> DocumentStream:
    path.write_text(content, encoding="utf-8")
    return open_documents([str(path)], ReadOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("lenient", [False, True])
def test_paths_below_the_record_without_namespaces(lenient: bool) -> None:
    found = rows(WIKI, record="page", lenient=lenient, text="revision/text", id="id", size="revision/text/@bytes")
    assert found == [
        {"text": "First & best", "id": "1", "size": "5"},
        {"text": "<b>second</b>", "id": "2", "size": None},
    ]


@pytest.mark.parametrize("lenient", [False, True])
def test_default_is_all_text_and_the_id_attribute(tmp_path: Path, lenient: bool) -> None:
    markup = "<c>\n<doc id='a'><t>Head</t><p>One <i>two</i>.</p></doc><doc>\n tail </doc></c>"
    stream = opened(tmp_path / "x.xml", markup, xml_record="doc", format="sgml" if lenient else None)
    assert stream.read_all().to_pylist() == [
        {"id": "a", "text": "Head\nOne two."},  # a line break only where element follows element
        {"id": "x:2", "text": "tail"},
    ]


@pytest.mark.parametrize("lenient", [False, True])
def test_words_do_not_run_together_and_are_not_torn_apart(lenient: bool) -> None:
    markup = "<c><d>a<br/>b <p>c</p>d<p> e</p>\n<p>f<sub>2</sub>g</p><x>h</x><x>i</x></d></c>"
    assert rows(markup, record="d", lenient=lenient) == [{"text": "a\nb c\nd e\nf2g\nh\ni"}]


def test_several_matches_are_joined() -> None:
    markup = "<c><d><p>one</p><p>two</p><k>x</k><k>y</k></d></c>"
    assert rows(markup, record="d", text="p", keys="k") == [{"text": "one\ntwo", "keys": "x; y"}]


def test_the_first_step_is_looked_for_below_when_it_is_no_child() -> None:
    markup = "<c><d><id>1</id><sub><id>2</id><body>deep</body></sub></d></c>"
    assert rows(markup, record="d", text="body", id="id") == [{"text": "deep", "id": "1"}]


def test_a_missing_element_is_null_and_an_empty_one_is_empty(tmp_path: Path) -> None:
    markup = "<c><d><body>x</body></d><d><body/></d><d><other/></d></c>"
    stream = opened(tmp_path / "x.xml", markup, xml_record="d", xml_fields=(("text", "body"),))
    assert stream.read_all()["text"].to_pylist() == ["x", ""]
    assert [(row.id, row.stage, row.reason) for row in stream.dropped] == [("x:3", "read", "text is null")]


def test_columns_named_for_a_role_are_paths(tmp_path: Path) -> None:
    markup = "<c><d n='7'><head><when>2020</when></head><body>x</body><topic>t</topic></d></c>"
    how = {"text_col": "body", "id_col": "@n", "date_col": "head/when", "label_col": "topic"}
    table = opened(tmp_path / "x.xml", markup, xml_record="d", **how).read_all()
    assert table.to_pylist() == [{"id": "7", "text": "x", "date": "2020", "label": "t"}]


def test_nested_records_belong_to_the_outermost() -> None:
    assert rows("<c><d>a<d>b</d>c</d><d>e</d></c>", record="d") == [{"text": "abc"}, {"text": "e"}]


@pytest.mark.parametrize(
    ("name", "markup", "options", "kind"),
    [
        ("x.xml", WIKI, {}, InputError),
        ("x.sgml", WIKI, {}, InputError),
        ("x.xml", "<c><d/></c>", {}, InputError),
        ("x.xml", WIKI, {"xml_record": "pages"}, InputError),
        ("x.xml", WIKI, {"xml_record": "page", "xml_fields": (("text", "revision/txt"),)}, ColumnError),
    ],
)
def test_records_and_paths_that_are_not_there(
    name: str, markup: str, options: dict[str, Any], kind: type[InputError], tmp_path: Path
) -> None:
    with pytest.raises(kind):
        opened(tmp_path / name, markup, **options)


def test_one_of_several_files_may_lack_the_record(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.xml").write_text("<c><note>nothing</note></c>", encoding="utf-8")
    (tmp_path / "b.xml").write_text("<c><d>text</d></c>", encoding="utf-8")
    stream = open_documents([str(tmp_path)], ReadOptions(xml_record="d"))
    assert stream.read_all().to_pylist() == [{"id": "b:1", "text": "text"}]
    assert [info.rows for info in stream.inputs] == [0, 1]
    assert "a.xml has no element 'd'" in caplog.text


def test_one_of_several_files_may_lack_the_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.xml").write_text("<c><d><note>nothing</note></d></c>", encoding="utf-8")
    (tmp_path / "b.xml").write_text("<c><d><p>text</p></d></c>", encoding="utf-8")
    options = ReadOptions(xml_record="d", xml_fields=("text=p",))
    assert open_documents([str(tmp_path)], options).read_all().to_pylist() == [{"id": "b:1", "text": "text"}]
    assert "a.xml: no <d> has 'p' (inside: note)" in caplog.text
    with pytest.raises(ColumnError, match="no <d> has 'p'"):
        open_documents([str(tmp_path / "a.xml")], options)


@pytest.mark.parametrize(
    ("markup", "place"),
    [("<c>\n<d>a</e></c>", "2:7"), ("<c><d>a</d>", "1:12"), ("<c><d>&nbsp;</d></c>", "1:7"), ("<c>\x03</c>", "1:4")],
)
def test_xml_that_is_not_well_formed_says_where_and_what_to_try(tmp_path: Path, markup: str, place: str) -> None:
    with pytest.raises(InputError, match=rf"x\.xml:{place}: not well-formed XML: .*; try `format=sgml"):
        opened(tmp_path / "x.xml", markup, xml_record="d").read_all()


def test_sgml_takes_what_xml_refuses() -> None:
    markup = (
        "<!DOCTYPE c>&#xFEFF;<?xml version='1.0'?><C>\x03<DOC ID=7 flag>caf&eacute; &lt;x&gt; A&T &#3;&#22;"
        "a<br>b</wrong><p>open<title>t</TITLE></Doc><doc>next"
    )
    assert rows(markup, record="Doc", lenient=True, id="@id", title="TITLE") == [
        {"text": "café <x> A&T a\nb\nopen\nt", "id": "7", "title": "t"},
        {"text": "next", "id": None, "title": None},
    ]


def test_script_and_title_are_elements_as_any_other() -> None:
    markup = "<c><d><title>a <b>b</b></title><script>c <i>d</i></script></d></c>"
    assert rows(markup, record="d", lenient=True, t="title/b", s="script/i") == [
        {"text": "a b\nc d", "t": "b", "s": "d"}
    ]


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    for name in ("x.xml", "x.sgml"):
        stream = opened(tmp_path / name, "", xml_record="d")
        assert (stream.schema.names, list(stream)) == (["id", "text"], [])


@given(st.lists(st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc"))), max_size=8), st.booleans())
def test_escaped_texts_come_back(texts: list[str], lenient: bool) -> None:
    from xml.sax.saxutils import escape

    safe = [text for text in texts if all(char not in "\ufffe\uffff" for char in text)]
    markup = "<c>" + "".join(f"<d>{escape(text)}</d>" for text in safe) + "</c>"
    if safe:
        assert [row["text"] for row in rows(markup, record="d", lenient=lenient)] == [text.strip() for text in safe]


# ---------------------------------------------------------------- real files


@pytest.mark.peer_data("formats/reut2-021.sgm")
def test_reuters_sgml() -> None:
    fields = (("text", "text"), ("title", "title"), ("body", "body"), ("id", "@newid"), ("label", "topics/d"))
    stream = open_documents([str(FORMATS / "reut2-021.sgm")], ReadOptions(xml_record="reuters", xml_fields=fields))
    table = stream.read_all()
    assert (table.num_rows, table["id"][0].as_py()) == (578, "21001")
    assert table["title"][1].as_py() == "HUGE OIL PLATFORMS DOT GULF LIKE BEACONS"
    assert table["label"][1].as_py() == "crude; ship"
    assert table["body"].null_count == 118  # the brief items
    assert not any(ord(char) < 32 and char not in "\n\t" for text in table["text"].to_pylist() for char in text)


@pytest.mark.peer_data("formats/wikinews1.xml", "formats/wikinews2.xml")
def test_wikinews_xml() -> None:
    options = ReadOptions(xml_record="page", xml_fields=(("text", "revision/text"), ("id", "id"), ("title", "title")))
    table = open_documents([str(FORMATS / "wikinews*.xml")], options).read_all()
    assert (table.num_rows, table["id"][0].as_py()) == (4, "2838764")
    assert table["text"][0].as_py().startswith("{{date|March 30, 2018}}")


@pytest.mark.peer_data("formats/bundestag_19019.xml", "formats/bundestag_19109_bad_bom_entity.xml")
def test_bundestag_xml_and_the_broken_one_as_sgml() -> None:
    options = ReadOptions(xml_record="rede", xml_fields=(("text", "p"),))
    table = open_documents([str(FORMATS / "bundestag_19019.xml")], options).read_all()
    assert (table.num_rows, table["id"][0].as_py()) == (21, "ID191900100")
    broken = str(FORMATS / "bundestag_19109_bad_bom_entity.xml")
    with pytest.raises(InputError, match=r"entity\.xml:1:1: not well-formed XML: .* try `format=sgml"):
        open_documents([broken], options)
    table = open_documents([broken], ReadOptions(xml_record="rede", format="sgml")).read_all()
    assert (table.num_rows, table["id"][0].as_py()) == (12, "ID1910900100")
    assert "Kramp-Karrenbauer" in table["text"][0].as_py()


# ---------------------------------------------------------------- TEI


def tei(markup: str, lenient: bool = False) -> str | None:
    return rows(f"<c><d>{markup}</d></c>", record="d", lenient=lenient)[0]["text"]


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("name", ["lb", "pb", "cb", "gb", "milestone"])
def test_milestones_of_tei_are_borders_unless_they_say_no(name: str, lenient: bool) -> None:
    assert tei(f"one<{name}/>two", lenient) == "one\ntwo"
    assert tei(f"one<{name} break='maybe'/>two <{name}/>three", lenient) == "one\ntwo three"
    # within a word whatever white space there is: TEI, att.breaking
    assert tei(f"o<{name} break='no'/>ne <hi>t \n</hi> <{name} break='no'/>\n wo <i>x</i>", lenient) == "one two x"
    # a page within a word that is divided: one of the marks says so
    assert tei(f"o<pb/><{name} break='no'/>ne o<{name} break='no'/><pb/>ne", lenient) == "one one"
    assert tei(f"one<{name} break='no'/><pb break='yes'/>two", lenient) == "one\ntwo"


@pytest.mark.parametrize(
    "name", ["note", "l", "lg", "sp", "speaker", "stage", "s", "ab", "item", "cell", "fw", "opener", "h2"]
)
def test_elements_that_stand_for_lines_and_blocks(name: str) -> None:
    assert tei(f"one<{name}>two</{name}>three") == "one\ntwo\nthree"


def test_marks_of_editors_do_not_tear_words() -> None:
    assert tei("Au<unclear>g</unclear><supplied>ust</supplied>o d<ex>omi</ex><ex>ni</ex> gro<g>ß</g>e") == (
        "Augusto domini große"
    )
    assert tei("<w>Ein</w><w>Haus</w>") == "Ein\nHaus"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a <choice><orig>vnd</orig><reg>und</reg></choice> b", "a und b"),
        ("a <choice>\n <sic>b </sic>\n <corr>c</corr>\n</choice>d", "a cd"),
        ("<choice><expan>et cetera</expan> <abbr>etc.</abbr></choice>x", "et ceterax"),
        ("<p>a</p><choice>\n<orig>vnd</orig>\n<reg>und</reg></choice><p>b</p>", "a\nund\nb"),
        ("x<choice><orig>vn<lb/>d</orig><reg>und</reg></choice>y", "xundy"),
        ("<choice><choice><sic>a</sic><corr>b</corr></choice><reg>c</reg></choice>", "c"),
        ("a <app><lem wit='#A'>b</lem><rdg>c</rdg><note>d</note></app> e", "a b e"),
        ("a <app><rdg>b</rdg><rdg>c</rdg></app> e", "a b e"),
        ("a <subst><del>b</del><add>c</add></subst> e", "a c e"),
        # other elements of these names are what they seem
        ("<choice>yes</choice><choice>no <b>way</b></choice>", "yes\nno way"),
        ("<app><name>a</name><rating>5</rating></app>", "a\n5"),
    ],
)
def test_of_several_forms_of_a_place_one_counts(markup: str, text: str) -> None:
    assert tei(markup) == text


def test_a_path_may_name_several_elements() -> None:
    play = "<c><sp><speaker>A</speaker><p>one</p><lg><l>two</l><l>three</l></lg><stage>x</stage><p>four</p></sp></c>"
    assert rows(play, record="sp", text="p|l") == [{"text": "one\ntwo\nthree\nfour"}]
    assert rows(play, record="sp", text="lg/l|stage", who="speaker|none") == [{"text": "two\nthree", "who": "A"}]


WORDS_AND_MARKS = st.lists(
    st.one_of(
        st.text("ab", min_size=1, max_size=3),
        st.sampled_from(["<lb/>", "<pb/>", "<lb break='no'/>", " ", "\n", "<p>", "<hi>x</hi>"]),
    ),
    max_size=12,
)


@given(WORDS_AND_MARKS)
def test_words_of_tei_against_a_second_rule(pieces: list[str]) -> None:
    """The words are those of the markup with a blank for each border, and nothing for white space around break="no"."""
    pieces = ["<p>x</p>" if piece == "<p>" else piece for piece in pieces]
    plain = re.sub(r"</hi><hi>", "</hi> <hi>", "".join(pieces))  # element follows element
    plain = re.sub(r"(?:\s|<[lp]b/>)*<lb break='no'/>(?:\s|<[lp]b/>|<lb break='no'/>)*", "", plain)
    plain = re.sub(r"<[lp]b/>|</?p>", " ", plain)
    wanted = re.sub(r"</?hi>", "", plain).split()
    assert (tei("".join(pieces)) or "").split() == wanted
