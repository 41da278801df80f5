"""Web pages, PDFs, Word files, mails and workbooks as documents.

data/samples/documents/report.* and data/samples/letters.xlsx were written by LibreOffice 7.4 from tests/data/documents/report.fodt and
letters.fods, with `soffice --headless --convert-to`; protected.docx by msoffcrypto-tool, with the password "secret".
"""

from __future__ import annotations

import bz2
import gzip
import io
import sys
import zipfile
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pypdf
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from nlpkit.errors import InputError, MissingError
from nlpkit.platform.documents.corpora import DocumentStream, open_documents
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers import files
from nlpkit.platform.documents.readers import guess as unreadable

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "data" / "samples" / "documents"
PROTECTED = ROOT / "tests" / "data" / "documents"
BOOK = ROOT / "data" / "samples" / "letters.xlsx"
PAGE = "<html><head><title>{0}</title></head><body><article><p>{1}</p></article></body></html>"


def opened(*paths: Path, stdin: bytes | None = None, **options: Any) -> DocumentStream:
    names = ["-"] if stdin is not None else [str(path) for path in paths]
    return open_documents(names, ReadOptions(**options), stdin=None if stdin is None else io.BytesIO(stdin))


def rows(*paths: Path, **options: Any) -> list[dict[str, Any]]:
    table = opened(*paths, **options).read_all()
    table.validate(full=True)
    return list(table.to_pylist())


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def page(title: str, text: str) -> str:
    return PAGE.format(title, text)


def mail(text: str | None, html: str | None = None, **headers: str) -> bytes:
    message = EmailMessage()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    if text is not None:
        message.set_content(text)
    if html is not None and text is not None:
        message.add_alternative(html, subtype="html")
    elif html is not None:
        message.set_content(html, subtype="html")
    return message.as_bytes()


def word(*paragraphs: str) -> bytes:
    document = docx.Document()
    for text in paragraphs:
        document.add_paragraph(text)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def with_member(content: bytes, name: str, data: bytes) -> bytes:
    """Return an archive with one member replaced or added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename != name:
                new.writestr(entry, old.read(entry))
        new.writestr(name, data)
    return out.getvalue()


def workbook(*cells: list[Any]) -> bytes:
    book = openpyxl.Workbook()
    for row in cells:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


# ---------------------------------------------------------------- what LibreOffice wrote


def test_a_word_file() -> None:
    (row,) = rows(SAMPLES / "report.docx")
    assert row == {
        "id": "report:1",
        "text": "Rivers in autumn\nThe river rises in October. Its water is cold, and the efficient office of the flood-warning service "
        "in Köln counts the boats that are still on it every single morning of the month.\nSecond paragraph, with a tab\tand a "
        "line\nbreak.\nMonth\tBoats\nOctober\t12\nThe end.",
        "title": "Rivers in autumn",
        "author": "Ada Müller",
        "date": "2026-10-03T09:30:00+00:00",
    }


def test_a_pdf() -> None:
    (row,) = rows(SAMPLES / "report.pdf")
    words = rows(SAMPLES / "report.docx")[0]["text"].replace("paragraph,", "paragraph1,").split()
    assert row["text"].split() == [*words, "1", "A", "footnote", "about", "boats."]
    assert (row["title"], row["author"], row["date"]) == ("Rivers in autumn", "Ada Müller", "2026-11-23")


def test_a_web_page() -> None:
    (row,) = rows(SAMPLES / "report.html")
    assert row["text"].startswith("The river rises in October. Its water is cold")
    assert "Köln" in row["text"]
    assert "October | 12" in row["text"]
    assert (row["title"], row["author"], row["date"]) == ("Rivers in autumn", "Ada Müller", "2026-10-03")


def test_a_workbook_has_a_document_a_row(caplog: pytest.LogCaptureFixture) -> None:
    stream = opened(BOOK)
    assert stream.read_all().to_pylist() == [
        {"id": "letters:1", "text": "The river rises.\nBoats stay in Köln.",
         "title": "The river", "date": "2026-10-03", "stars": 4, "twice": 8},
        {"id": "letters:2", "text": "The moon is full.", "title": "The moon", "date": "2026-10-04", "stars": None, "twice": None},
    ]  # fmt: skip
    assert caplog.messages == [f"{BOOK}: the first sheet, 'Letters', is read; not 'Notes' (`sheet` names another)"]
    assert stream.inputs[0].rows == 2


def test_a_pdf_that_only_must_not_be_printed_is_read_and_one_with_a_password_is_not() -> None:
    assert rows(PROTECTED / "restricted.pdf")[0]["text"] == rows(SAMPLES / "report.pdf")[0]["text"]
    for name in ("protected.pdf", "protected.docx"):
        with pytest.raises(InputError, match=f"{name}: it is protected by a password"):
            rows(PROTECTED / name)


def test_a_folder_of_all_kinds_with_some_that_cannot_be_read(tmp_path: Path) -> None:
    for name in ("report.docx", "report.pdf", "report.html", "protected.pdf", "protected.docx"):
        written(tmp_path / name, (PROTECTED if "protected" in name else SAMPLES).joinpath(name).read_bytes())
    written(tmp_path / "cut.docx", (SAMPLES / "report.docx").read_bytes()[:3000])
    written(tmp_path / "cut.pdf", (SAMPLES / "report.pdf").read_bytes()[:400])
    written(tmp_path / "empty.html", "")
    written(tmp_path / "letter.eml", mail("Dear Ada.", subject="Boats", **{"from": "bo@example.org"}))
    written(tmp_path / "notes.md", "# Notes\n\nof the river")
    written(tmp_path / "README.md", "not a document")
    stream = opened(tmp_path)
    table = stream.read_all()
    assert table.column("id").to_pylist() == ["letter:1", "notes:1", "report.docx:1", "report.html:1", "report.pdf:1"]
    assert table.column_names == ["id", "text", "title", "author", "date", "subject", "from"]
    reasons = {row.id: row.reason for row in stream.dropped}
    assert set(reasons) == {"cut.docx:1", "cut.pdf:1", "empty:1", "protected.docx:1", "protected.pdf:1"}
    assert reasons["protected.pdf:1"] == reasons["protected.docx:1"] == "it is protected by a password"
    assert reasons["empty:1"] == "the file is empty"
    assert "cut off or broken" in reasons["cut.docx:1"]
    assert "it is broken" in reasons["cut.pdf:1"]
    assert len(stream.inputs) == 10
    assert all(len(one.sha256) == 64 for one in stream.inputs)


def test_documents_beside_a_table_are_left_out_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written(tmp_path / "corpus.csv", "text\nthe river\n")
    written(tmp_path / "codebook.pdf", (SAMPLES / "report.pdf").read_bytes())
    assert [row["id"] for row in rows(tmp_path)] == ["corpus:1"]
    assert caplog.messages == [
        f"{tmp_path}: documents beside tables of documents are left out (1 file); name what is to be read"
    ]
    assert len(rows(tmp_path / "corpus.csv", tmp_path / "codebook.pdf")) == 2


# ---------------------------------------------------------------- web pages


def test_a_page_without_its_menu_in_the_encoding_it_declares(tmp_path: Path) -> None:
    content = (
        "<!doctype html><html lang=de><head><meta charset=iso-8859-1><title>Grüße</title></head><body><nav><a href=/>Home</a></nav>"
        "<main><article><h1>Grüße</h1><p>"
        + "Die Flüsse steigen im Herbst, und die Boote bleiben im Hafen von Köln. "
        * 6
        + "</p></article></main>"
        "<footer>Impressum</footer><script>var x = 'no text';</script></body></html>"
    )
    (row,) = rows(written(tmp_path / "a.htm", content.encode("latin-1")))
    assert "Die Flüsse steigen im Herbst" in row["text"]
    assert row["title"] == "Grüße"
    assert not any(word in row["text"] for word in ("Home", "Impressum", "no text"))
    (forced,) = rows(written(tmp_path / "b.html", content.encode("utf-8")), encoding="utf-8")
    assert forced["text"] == row["text"]


def test_pages_packed_and_from_a_pipe(tmp_path: Path) -> None:
    content = page("Tide", "The tide is high, and the boats are out at sea.").encode()
    assert rows(written(tmp_path / "a.html.gz", gzip.compress(content)))[0]["title"] == "Tide"
    assert rows(written(tmp_path / "b.html.bz2", bz2.compress(content)))[0]["title"] == "Tide"
    for options in ({}, {"format": "html"}):
        assert rows(stdin=content, **options)[0] == {
            "id": "stdin:1", "text": "The tide is high, and the boats are out at sea.", "title": "Tide", "author": None, "date": None,
        }  # fmt: skip
    assert rows(stdin=(SAMPLES / "report.pdf").read_bytes())[0]["author"] == "Ada Müller"
    assert len(rows(stdin=(BOOK).read_bytes(), format="xlsx")) == 2


def test_a_page_without_text_is_no_document(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no main text; its whole text: `format=sgml`"):
        rows(written(tmp_path / "a.html", "<html><body><nav><a href=x></a></nav><script>x = 1</script></body></html>"))


# ---------------------------------------------------------------- PDFs


def test_scanned_pages_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scan, mixed = pypdf.PdfWriter(), pypdf.PdfWriter(clone_from=SAMPLES / "report.pdf")
    for writer in (scan, mixed):
        for _ in range(3):
            writer.add_blank_page(100, 100)
    scan.write(tmp_path / "scan.pdf")
    mixed.write(tmp_path / "mixed.pdf")
    with pytest.raises(InputError, match=r"scan.pdf: no text on any of its 3 pages\. If they are scanned"):
        rows(tmp_path / "scan.pdf")
    assert len(rows(tmp_path / "mixed.pdf")) == 1
    assert caplog.messages == [f"{tmp_path / 'mixed.pdf'}: 3 of 4 pages hold no text (pictures, or scanned)"]
    caplog.clear()
    for n in range(7):
        mixed.write(tmp_path / "many" / f"{n}.pdf") if n else (tmp_path / "many").mkdir()
    rows(tmp_path / "many")
    assert len(caplog.messages) == 6
    assert caplog.messages[-1] == "6 files have 18 pages without text (pictures, or scanned)"


# ---------------------------------------------------------------- Word files


def test_tracked_changes_links_controls_and_text_boxes(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("kept ")
    run = "<w:r><w:t>{}</w:t></w:r>"
    for xml in (
        f"<w:ins {nsdecls('w')}>{run.format('inserted ')}</w:ins>",
        f"<w:del {nsdecls('w')}><w:r><w:delText>deleted</w:delText></w:r></w:del>",
        f"<w:moveFrom {nsdecls('w')}>{run.format('away')}</w:moveFrom>",
        f"<w:hyperlink {nsdecls('w')}>{run.format('link ')}</w:hyperlink>",
        f"<w:sdt {nsdecls('w')}><w:sdtContent>{run.format('control')}</w:sdtContent></w:sdt>",
    ):
        paragraph._p.append(parse_xml(xml))
    box = "<w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent>"
    paragraph._p.append(
        parse_xml(
            f'<w:r {nsdecls("w")} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:AlternateContent>'
            f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>"
        )
    )
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "two\nlines", "right"
    document.save(str(tmp_path / "a.docx"))
    (row,) = rows(tmp_path / "a.docx")
    assert row["text"] == "kept inserted link controlbox\n\ntwo\nlines\tright"


def test_letters_that_a_font_does_not_name_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """py-pdf/pypdf#2046: such a glyph is U+0000 in the text."""
    monkeypatch.setattr(pypdf.PageObject, "extract_text", lambda page: "di\0erent o\0ce")
    path = written(tmp_path / "a.pdf", (SAMPLES / "report.pdf").read_bytes())
    assert "di\0erent" in rows(path)[0]["text"]
    assert any("letters are not known (U+0000 in the text)" in message for message in caplog.messages)


# ---------------------------------------------------------------- mails


def test_a_mail_has_subject_sender_and_date(tmp_path: Path) -> None:
    content = mail(
        "Grüße vom Fluss.\n\n> quoted\n", "<p>HTML</p>", subject="Über die Boote", date="Sat, 03 Oct 2026 09:30:00 +0200",
        **{"from": "Ada Müller <ada@example.org>"},
    )  # fmt: skip
    assert rows(written(tmp_path / "a.eml", content)) == [
        {
            "id": "a:1",
            "text": "Grüße vom Fluss.\n\n> quoted",
            "subject": "Über die Boote",
            "from": "Ada Müller <ada@example.org>",
            "date": "2026-10-03T09:30:00+02:00",
        }
    ]


def test_mails_in_html_and_in_another_encoding_than_they_say(tmp_path: Path) -> None:
    page = "<html><head><style>p {color: red}</style></head><body><p>The tide is <b>hi</b>gh.</p><p>Bye<br>Bo</p></body></html>"
    (row,) = rows(written(tmp_path / "a.eml", mail(None, page, subject="s")))
    assert row["text"] == "The tide is high.\n\nBye Bo"
    raw = (
        b'Subject: x\nContent-Type: text/plain; charset="us-ascii"\n\nGr\xfc\xdfe aus K\xf6ln und sch\xf6ne Fl\xfcsse\n'
    )
    assert rows(written(tmp_path / "b.eml", raw))[0]["text"] == "Grüße aus Köln und schöne Flüsse"
    unknown = raw.replace(b"us-ascii", b"klingon")
    assert rows(written(tmp_path / "c.eml", unknown))[0]["text"] == "Grüße aus Köln und schöne Flüsse"


def test_a_mailbox_has_a_document_a_mail(tmp_path: Path) -> None:
    one = mail("From here on it is quoted.\n\nFrom the river\n", subject="1", date="Sat, 3 Oct 2026 09:30:00 -0000")
    assert b"\nFrom the" in one
    attachment = b"Subject: 2\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\nAAAA\n"
    three = mail("last", subject="3")
    parts = [
        b"From a@b Sat Oct  3 09:30:00 2026\n" + m.replace(b"\nFrom ", b"\n>From ") + b"\n"
        for m in (one, attachment, three)
    ]
    box = written(tmp_path / "box.mbox", b"".join(parts))
    stream = opened(box)
    table = stream.read_all().to_pylist()
    assert [(row["id"], row["subject"]) for row in table] == [("box:1", "1"), ("box:3", "3")]
    assert table[0]["text"] == "From here on it is quoted.\n\nFrom the river"
    assert [(row.id, row.reason) for row in stream.dropped] == [("box:2", "it has no text, only attachments")]
    assert stream.inputs[0].rows == 3
    assert [row["id"] for row in rows(box, limit=1)] == ["box:1"]
    with pytest.raises(InputError, match="does not begin with a line 'From …'"):
        rows(written(tmp_path / "no.mbox", "text\n"))
    with pytest.raises(InputError, match="neither sender nor subject"):
        rows(written(tmp_path / "no.eml", "\x00\x01binary\n\n"))


def test_the_sample_mailbox() -> None:
    table = rows(SAMPLES / "letters.mbox")
    assert [(row["from"], row["date"]) for row in table] == [
        ("Ada Müller <ada@example.org>", "2026-10-03T09:30:00+02:00"),
        ("Bo Jensen <bo@example.org>", "2026-10-03T11:05:00+02:00"),
    ]
    assert len(rows(SAMPLES)) == 5  # a mailbox is no table beside documents


# ---------------------------------------------------------------- workbooks


def test_columns_of_a_workbook_are_those_of_its_header(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.xlsx",
        workbook([], ["body", None, "label"], ["one word", 1, True], [None, 2.5, False], ["three words"]),
    )
    stream = opened(path, text_col="body")
    assert stream.read_all().to_pylist() == [
        {"id": "a:1", "text": "one word", "column_2": 1.0, "label": True},
        {"id": "a:3", "text": "three words", "column_2": None, "label": None},
    ]
    assert [(row.id, row.reason) for row in stream.dropped] == [("a:2", "text is null")]
    assert [row["text"] for row in rows(path)] == ["one word", "three words"]  # the only column of texts
    with pytest.raises(
        InputError, match=rf"^{tmp_path}/a.xlsx:2: a value is to the right of the last named column, 'text'"
    ):
        rows(written(tmp_path / "a.xlsx", workbook(["text"], ["one", "two"])))
    with pytest.raises(InputError, match=r"the header has the column 'text' twice"):
        rows(written(tmp_path / "a.xlsx", workbook(["text", "text"], ["one", "two"])))
    with pytest.raises(InputError, match="broken"):
        rows(written(tmp_path / "a.xlsx", with_member(workbook(["text"], ["a"]), "xl/workbook.xml", b"<broken")))


# ---------------------------------------------------------------- hostile and mistaken files


def test_an_archive_that_would_unpack_to_too_much_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    zeros = b"\0" * (unreadable.MOST_UNPACKED)
    bomb = written(tmp_path / "a.docx", with_member(word("x"), "word/media/image1.png", zeros))
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(InputError, match=r"would unpack to 26[89] MB; at most 268 MB") as caught:
        rows(bomb)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("suffix", ["docx", "xlsx"])
def test_an_archive_that_says_it_is_smaller_gives_no_more_than_that(tmp_path: Path, suffix: str) -> None:
    name = {"docx": "word/document.xml", "xlsx": "xl/worksheets/sheet1.xml"}[suffix]
    content = word("x") if suffix == "docx" else workbook(["text"], ["x"])
    liar = bytearray(with_member(content, name, b"<a>" + b" " * 50_000_000 + b"</a>"))
    sizes = (50_000_007).to_bytes(4, "little")
    assert liar.count(sizes) == 2
    for _ in range(2):
        at = liar.index(sizes)
        liar[at : at + 4] = (100).to_bytes(4, "little")
    with pytest.raises(InputError, match="broken"):
        rows(written(tmp_path / f"a.{suffix}", bytes(liar)))


@pytest.mark.parametrize("suffix", ["docx", "xlsx"])
def test_entities_within_entities_are_not_written_out(tmp_path: Path, suffix: str) -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "boom">{levels}]>'
    if suffix == "docx":
        body = f"{bomb}<w:document {nsdecls('w')}><w:body><w:p><w:r><w:t>&e9;</w:t></w:r></w:p></w:body></w:document>"
        content = with_member(word("x"), "word/document.xml", body.encode())
    else:
        sheet = (
            f'{bomb}<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" '
            't="inlineStr"><is><t>&e9;</t></is></c></row></sheetData></worksheet>'
        )
        content = with_member(workbook(["text"]), "xl/worksheets/sheet1.xml", sheet.encode())
    with pytest.raises(InputError):
        rows(written(tmp_path / f"a.{suffix}", content))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.pdf", b"", "the file is empty"),
        ("a.pdf", b"<!DOCTYPE html><html></html>", "it is a web page, not .pdf; read it with `format=html`"),
        ("a.pdf", b"\x00\x01\x02", "it does not begin like a PDF"),
        ("a.html", b"%PDF-1.7", "it is a PDF, not .html; read it with `format=pdf`"),
        ("a.html", b"PK\x03\x04....", "it is a zip archive"),
        ("a.html", b"\x00\x01\x02\x03" * 100, "looks binary"),
        ("a.docx", b"{\\rtf1 x}", "it is Rich Text, not .docx"),
        ("a.docx", b"plain", "it does not begin like a .docx file"),
        (
            "a.docx",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600,
            "an old Office file under the name .docx; save it as .docx",
        ),
        ("a.xlsx", b"PK\x03\x04" + b"\0" * 100, "cut off or broken"),
        ("a.eml", b"\x89PNG\r\n\x1a\n", "it is a picture, not .eml"),
    ],
)
def test_other_bytes_than_the_name_says(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = written(tmp_path / name, content)
    with pytest.raises(InputError) as caught:
        rows(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)
    other = written(tmp_path / "other.html", page("Tide", "The tide is high, and the boats are out at sea."))
    stream = opened(path, other)
    assert stream.read_all().num_rows == 1
    assert [row.reason for row in stream.dropped] == [str(caught.value).removeprefix(f"{path}: ")]


def test_other_archives_and_office_files_are_no_documents(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("a.txt", "x")
    for suffix, kind in (("docx", "no Word file"), ("xlsx", "no Excel workbook")):
        with pytest.raises(InputError, match=f"it is a zip archive, but {kind}"):
            rows(written(tmp_path / f"a.{suffix}", archive.getvalue()))
    with pytest.raises(InputError):
        rows(written(tmp_path / "b.docx", workbook(["text"], ["x"])))
    with pytest.raises(InputError):
        rows(written(tmp_path / "b.xlsx", word("x")))
    with pytest.raises(InputError, match=r"is in a format that nlpkit does not read; save it as"):
        rows(written(tmp_path / "a.ods", b"x"))


def test_files_that_are_too_large_are_not_read_to_their_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_STORED", 10_000_000)
    bomb = written(tmp_path / "a.html.gz", gzip.compress(b" " * 50_000_000))
    with pytest.raises(InputError, match="it has more than 10 MB"):
        rows(bomb)


def test_without_the_extra_the_command_that_installs_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {
        "trafilatura": written(tmp_path / "a.html", page("a", "b")),
        "pypdf": SAMPLES / "report.pdf",
        "docx": SAMPLES / "report.docx",
        "openpyxl": BOOK,
    }
    for module, path in paths.items():
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(MissingError, match="needs the extra 'documents'"):
                rows(path)
