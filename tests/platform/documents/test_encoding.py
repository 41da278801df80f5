"""Bytes to text: marks, UTF-8, detection, errors with their place."""

from __future__ import annotations

import codecs
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import EncodingError, InputError
from nlpkit.platform.documents import encoding as module
from nlpkit.platform.documents.encoding import check_codec, decode, detect
from tests.peer_data import PEER_DATA
from tests.refusals import refuses

UDHR = "formats/udhr"
TRUE_ENCODINGS = {  # by the end of the name; the Polish file is called Latin2 but has the bytes of cp1250
    "Latin1": "latin-1",
    "Latin2": "cp1250",
    "Cyrillic": "cp1251",
    "SJIS": "shift-jis",
    "EUC": "euc-jp",
    "GB2312": "gb2312",
    "UTF8": "utf-8-sig",
}
ARTICLES = {  # the first article of the Declaration of Human Rights or words from it
    "cs": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Příliš žluťoučký kůň",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. „Größe“ – schöne Grüße",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "en": "All human beings are born free — it’s “naïve” to think so at the café",
    "fr": "Le cœur a ses raisons : tous les êtres humains naissent libres et égaux en dignité, c’est déjà l’été",
    "he": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון",
    "hu": "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Árvíztűrő tükörfúrógép",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "sv": "Alla människor är födda fria och lika i värde och rättigheter.",
    "th": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах.",
    "zh": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "zh-tw": "人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心,並應以兄弟關係的精神相對待。",
}
WRITTEN_IN = [
    ("cs", "cp1250"), ("cs", "iso8859-2"), ("de", "cp1252"), ("de", "mac-roman"), ("el", "cp1253"), ("el", "iso8859-7"),
    ("en", "cp1252"), ("en", "mac-roman"), ("fr", "cp1252"), ("he", "cp1255"), ("hu", "cp1250"), ("hu", "iso8859-2"),
    ("ja", "shift-jis"), ("ja", "euc-jp"), ("ko", "euc-kr"), ("pl", "cp1250"), ("pl", "iso8859-2"), ("pl", "cp852"),
    ("ru", "cp1251"), ("ru", "koi8-r"), ("ru", "cp866"), ("ru", "iso8859-5"), ("ru", "mac-cyrillic"), ("sv", "latin-1"),
    ("sv", "cp850"), ("th", "tis-620"), ("tr", "cp1254"), ("uk", "cp1251"), ("zh", "gb2312"), ("zh-tw", "big5"),
]  # fmt: skip


def text_of(content: bytes, **how: object) -> str:
    return "".join(decode([content], "x.txt", **how).text)  # type: ignore[arg-type]


@pytest.mark.peer_data(UDHR)
def test_declaration_of_human_rights_in_twelve_encodings() -> None:
    files = sorted((PEER_DATA / UDHR).glob("*.txt"))
    assert len(files) == 12
    for path in files:
        content = path.read_bytes()
        true = TRUE_ENCODINGS[path.stem.rsplit("-", 1)[1]]
        assert text_of(content) == content.decode(true, "replace"), path.name


@pytest.mark.parametrize(("language", "encoding"), WRITTEN_IN)
def test_detects_what_a_language_is_written_in(language: str, encoding: str) -> None:
    for text in (ARTICLES[language], ARTICLES[language] * 40):
        content = text.encode(encoding)
        assert content.decode(detect(content)) == text


@pytest.mark.parametrize("width", ["utf-16", "utf-32"])
@pytest.mark.parametrize("language", ["en", "ru", "ja", "he"])
def test_utf16_and_utf32_with_and_without_a_mark(width: str, language: str) -> None:
    text = f"{ARTICLES[language]}\n"
    assert text_of(text.encode(width)) == text  # with a mark
    for order in ("le", "be"):
        decoded = decode([text.encode(f"{width}-{order}")], "x.txt")
        assert (decoded.encoding, decoded.detected) == (f"{width}-{order}", False)
        assert "".join(decoded.text) == text


def test_marks_are_honoured_and_not_part_of_the_text() -> None:
    assert text_of(codecs.BOM_UTF8 + "é".encode()) == "é"
    assert text_of(codecs.BOM_UTF8 + b"a", encoding="utf-8") == "a"
    assert text_of("\ufeffa".encode("utf-16-be")) == "a"
    assert text_of("a\ufeffb".encode()) == "a\ufeffb"


def test_plain_utf8_is_certain_and_a_guess_is_marked() -> None:
    assert not decode(["ünïcödé".encode()], "x").detected
    guess = decode(["schöne Grüße".encode("cp1252")], "x")
    assert (guess.encoding, guess.detected) == ("cp1252", True)
    assert not decode(["schöne Grüße".encode("cp1252")], "x", encoding="latin-1").detected


def test_one_accent_in_a_long_text_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"only ascii here\n" * 20_000 + "the café\n".encode("cp1252")
    assert "café" in text_of(content)


def test_the_sample_may_end_inside_a_character(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_BYTES", 3)
    decoded = decode([b"a\xc3", b"\xa4\xe4", b"\xb8\x96"], "x")
    assert decoded.encoding == "utf-8"
    assert "".join(decoded.text) == "aä世"


def test_bytes_that_do_not_decode_later_are_named_with_their_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_BYTES", 4)
    chunks = [b"abcd", b"ef\xc3", b"\xa4g\xff"]
    with pytest.raises(EncodingError):
        list(decode(chunks, "x.txt").text)
    assert "".join(decode(chunks, "x.txt", errors="replace").text) == "abcdefäg\ufffd"


def test_mostly_utf8_with_a_broken_byte_stays_utf8() -> None:
    content = "größer, schöner, süßer, über, Öl".encode() + b" \xe4 end"
    with pytest.raises(EncodingError):
        text_of(content)
    assert text_of(content, errors="replace").endswith(" \ufffd end")
    assert text_of(content, encoding="latin-1").endswith(" ä end")


def test_a_character_cut_off_at_the_end_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "nlpkit.io"):
        assert text_of("Größe und Maß, schön".encode() + b"\xe4\xb8") == "Größe und Maß, schön\ufffd"
    assert "ends in the middle of a character" in caplog.text


def test_binary_bytes_are_refused() -> None:
    for content in (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 4,
        b"text with a \x00 in it",
        b"\0" * 64,
    ):
        with pytest.raises(InputError):
            text_of(content)
    assert text_of(b"a\x00b", encoding="utf-8") == "a\x00b"


def test_unknown_codecs_are_usage_errors() -> None:
    for name in ("utf-9", "base64", "hex"):
        with refuses("encoding"):
            check_codec(name)
    assert check_codec("Latin-1") == "iso8859-1"


def test_xml_declarations_count_only_where_asked() -> None:
    content = '<?xml version="1.0" encoding="iso-8859-5"?><a>Все люди</a>'.encode("iso-8859-5")
    decoded = decode([content], "x.xml", declared=True)
    assert (decoded.encoding, decoded.detected) == ("iso8859-5", False)
    assert "Все люди" in "".join(decoded.text)
    assert decode([b'<?xml version="1.0" encoding="utf-16"?><a/>'], "x.xml", declared=True).encoding == "utf-8"
    assert decode([b'<?xml version="1.0" encoding="klingon"?><a/>'], "x.xml", declared=True).encoding == "utf-8"


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\ufeff")), st.data())
def test_utf8_survives_any_cut_into_chunks(text: str, data: st.DataObject) -> None:
    content = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=5)))
    chunks = [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True) if b > a]
    assert "".join(decode(chunks, "x").text) == text
    for name in ("utf-16", "utf-32", "utf-8-sig"):
        assert "".join(decode([text.encode(name)], "x").text) == text


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\ufeff")), st.data())
def test_whole_lines_are_the_text_however_it_is_cut_and_encoded(text: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
    content = text.encode(name)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=5)))
    chunks = [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True) if b > a]
    lines = decode(chunks, "x").utf8()
    groups = [(group, lines.decode(group)) for group in lines.groups(data.draw(st.integers(1, 20)))]
    assert b"".join(group for group, _ in groups) == text.encode()
    assert "".join(decoded for _, decoded in groups) == text
    assert all(group.endswith(b"\n") for group, _ in groups[:-1])


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_broken_byte_in_a_later_group_is_named_with_its_offset_in_the_file(mark: bytes) -> None:
    good = '{"text": "grüße"}\n'.encode()
    content = mark + good * 3 + b'{"text": "gr\xfc\xdfe"}\n'
    pieces = [content[:30], content[30:70], content[70:]]
    lines = decode(pieces, "x.jsonl").utf8()
    with pytest.raises(EncodingError, match=f"byte {len(mark) + 3 * len(good) + 12} "):
        [lines.decode(group) for group in lines.groups(1)]
    lines = decode(pieces, "x.jsonl", errors="replace").utf8()
    assert "".join(lines.decode(group) for group in lines.groups(1)).endswith('"gr\ufffd\ufffde"}\n')


def test_lines_of_utf_8_beside_one_of_another_encoding() -> None:
    """Two lines, one of Latin-1, were read as Korean (gr철횩e); the error names the byte, as for files of many lines."""
    good, bad = '{"text": "grüße"}\n'.encode(), '{"text": "größe"}\n'.encode("latin-1")
    for sample, at in ((good + bad, len(good) + 12), (bad + good, 12), (good * 3 + bad, 3 * len(good) + 12)):
        with pytest.raises(EncodingError, match=f"byte {at} "):
            "".join(decode([sample], "x.jsonl").text)
    assert decode([bad * 3 + good], "x.jsonl").detected


def test_a_currency_before_a_number_is_not_a_letter() -> None:
    """å£ before a number (mojibake of £) made cp852 (ňú) look like Czech."""
    content = "\n".join(f"You have won å£{n} call now" for n in range(100, 140)).encode("cp1252")
    assert "£100" in text_of(content)
