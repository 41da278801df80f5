"""Mails and mailboxes: what is text in a mail, and where one mail of a mailbox ends. Compared with Python's own email and mailbox."""

from __future__ import annotations

import mailbox
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.platform.documents.readers.guess import UnreadableFileError
from nlpkit.platform.documents.readers.messages import read_mail, split_mbox

HEAD = b"From: a@example.org\nSubject: s\n"
POSTMARK = b"From a@example.org Mon Jan  1 10:00:00 2024\n"


def part(kind: str, content: str, **disposition: Any) -> EmailMessage:
    """Return one part: kind is plain, html, png, or calendar."""
    message = EmailMessage()
    if kind == "png":
        message.set_content(b"\x89PNG", maintype="image", subtype="png", **disposition)
    else:
        message.set_content(content, subtype=kind, **disposition)
    return message


def together(subtype: str, *parts: EmailMessage, head: bool = False) -> EmailMessage:
    message = EmailMessage()
    if head:
        message["Subject"] = "s"
    message["Content-Type"] = f"multipart/{subtype}"
    message.set_payload(list(parts))
    return message


def text_of(message: EmailMessage) -> str:
    if "Subject" not in message:
        message["Subject"] = "s"
    return str(read_mail(message.as_bytes())["text"])


def mails(content: bytes) -> list[bytes]:
    return list(split_mbox([content]))


# ---------------------------------------------------------------- the text of a mail

WORDS = st.lists(st.sampled_from(["sun", "Köln", "From", "e-mail", "Ж"]), min_size=1, max_size=6).map(" ".join)
LEAVES = st.one_of(
    st.builds(part, st.sampled_from(["plain", "html", "calendar", "png"]), WORDS),
    st.builds(lambda kind, words: part(kind, words, disposition="attachment"), st.sampled_from(["plain", "png"]), WORDS),
)  # fmt: skip
MIXED = st.recursive(
    LEAVES, lambda below: st.lists(below, min_size=1, max_size=4).map(lambda parts: together("mixed", *parts))
)


@given(st.lists(MIXED, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_of_mixed_parts_all_texts_are_there_in_their_order(parts: list[EmailMessage]) -> None:
    content = together("mixed", *parts, head=True).as_bytes()
    texts = [
        one.get_content().strip()
        for one in message_from_bytes(content, policy=policy.default).walk()
        if one.get_content_type() in ("text/plain", "text/html") and not one.is_attachment()
    ]
    if texts:
        assert read_mail(content)["text"] == "\n\n".join(texts)
    else:
        with pytest.raises(UnreadableFileError, match="only attachments"):
            read_mail(content)


def test_alternatives_count_once_wherever_they_stand() -> None:
    plain, page, picture = part("plain", "plain"), part("html", "<p>page</p>"), part("png", "")
    both = together("alternative", plain, page)
    assert text_of(both) == "plain"
    assert text_of(together("alternative", page, plain)) == "plain"
    assert text_of(together("mixed", both, picture, part("plain", "footer"))) == "plain\n\nfooter"
    # a plain text that is empty stands for none
    assert text_of(together("alternative", part("plain", "\n"), page)) == "page"
    # Apple Mail: HTML around a picture as the second alternative; and a page with its pictures
    around = together("mixed", part("html", "before"), picture, part("html", "after"))
    assert text_of(together("alternative", plain, around)) == "plain"
    assert text_of(together("alternative", picture, around)) == "before\n\nafter"
    assert text_of(together("related", page, picture, part("html", "frame"))) == "page"


def test_the_root_of_related_parts_is_the_one_that_is_named() -> None:
    root = part("html", "root")
    root["Content-ID"] = "<r@x>"
    message = together("related", part("html", "frame"), root)
    message.set_param("start", "<r@x>")
    assert text_of(message) == "root"


def test_what_is_attached_is_no_text() -> None:
    body = part("plain", "body")
    inner = EmailMessage()
    inner.set_content(part("plain", "forwarded"))
    assert text_of(together("mixed", body, inner, part("plain", "file", filename="a.txt"))) == "body"
    assert (
        text_of(together("mixed", body, part("plain", "shown file", disposition="inline", filename="a.txt"))) == "body"
    )
    # where a text with the name of a file is all there is, it is the text
    assert (
        text_of(together("mixed", part("plain", "shown file", disposition="inline", filename="a.txt"))) == "shown file"
    )


@pytest.mark.parametrize(
    ("charset", "raw", "text"),
    [
        ("iso-8859-1", b"don\x92t \x93so\x94 \x80", "don’t “so” €"),
        ("latin1", b"\xfc\x81", "ü\x81"),
        ("gb2312", "镕基".encode("gbk"), "镕基"),
        ("euc-kr", "똠".encode("cp949"), "똠"),
        ("utf-8", "’".encode(), "’"),
    ],
)
def test_character_sets_that_mails_name_by_mistake(charset: str, raw: bytes, text: str) -> None:
    head = f"Subject: s\nContent-Type: text/plain; charset={charset}\n\n".encode()
    assert read_mail(head + raw)["text"] == text


def test_a_subject_of_windows() -> None:
    assert read_mail(b"Subject: =?iso-8859-1?Q?don=92t?=\n\nx")["subject"] == "don’t"


def test_flowed_lines_are_joined() -> None:
    head = b"Subject: s\nContent-Type: text/plain; format=flowed\n\n"
    body = b"A paragraph \nthat goes \non.\n\n>> quoted \n>> too\n> less\n From is stuffed\n-- \nBo "
    assert read_mail(head + body)["text"] == (
        "A paragraph that goes on.\n\n>> quoted too\n> less\nFrom is stuffed\n-- \nBo "
    )
    joined = read_mail(head.replace(b"flowed", b"flowed; delsp=yes") + "東 \n京".encode())["text"]
    assert joined == "東京"


# ---------------------------------------------------------------- the mails of a mailbox


BODIES = st.lists(st.sampled_from(["", "text", "From here on", ">From a", "From: x"]), max_size=6)


@given(st.lists(BODIES, min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_a_mailbox_that_python_writes(tmp_path_factory: pytest.TempPathFactory, bodies: list[list[str]]) -> None:
    path = tmp_path_factory.mktemp("box") / "box.mbox"
    box = mailbox.mbox(str(path))
    for lines in bodies:
        message = EmailMessage()
        message["Subject"] = "s"
        message.set_content("\n".join(lines) + "\n", cte="7bit")
        box.add(message)
    box.close()
    assert len(mails(path.read_bytes())) == len(bodies)


@pytest.mark.parametrize(
    "line",
    [
        b"From what I saw, this body line begins with From.", b"From Monday to Friday",
        b"From a@example.org I heard nothing", b"From - to", b"From Mon Jan 1 on", b"From me: Subject: none",
    ],
)  # fmt: skip
@pytest.mark.parametrize("after", [b"end", b"Note: this", b""])
def test_a_sentence_does_not_end_a_mail(line: bytes, after: bytes) -> None:
    content = POSTMARK + HEAD + b"\none\n\n" + line + b"\n" + after + b"\n\n" + POSTMARK + HEAD + b"\ntwo\n"
    first, second = mails(content)
    assert line in first
    assert read_mail(second)["text"] == "two"


@pytest.mark.parametrize(
    "line",
    [
        b"From a@example.org Mon Jan  1 10:00:00 2024", b"From a@example.org  Mon Jan  1 10:00:00 +0100 2024\r",
        b"From a@example.org Mon Jan 01 10:00 CET 2024", b"From a at example.org  Mon Jan  1 10:00:00 2024",
        b'From "a b"@example.org Mon Jan  1 10:00:00 2024 +0100', b"From - Mon Jan  1 10:00:00 2024",
        b"From root Mon Jan  1 10:00:00 2024 remote from host", b"From Mon Jan  1 10:00:00 2024",
        b"From a@example.org Mon, 1 Jan 2024 10:00:00 +0100", b"From MAILER-DAEMON Thu, 01 Jan 1970", b"From -",
        b"From ",
    ],
)  # fmt: skip
def test_lines_that_begin_a_mail(line: bytes) -> None:
    assert len(mails(POSTMARK + HEAD + b"\none\n\n" + line + b"\n" + HEAD + b"\ntwo\n")) == 2


def test_a_mailbox_without_blank_lines_between_its_mails() -> None:
    assert len(mails((POSTMARK + HEAD + b"\nbody\n") * 3)) == 3
    # a quoted mail in a body has no header on the line after
    assert len(mails(POSTMARK + HEAD + b"\nbody\n" + POSTMARK + b"is how a mail begins\n")) == 1
    assert len(mails(POSTMARK + HEAD + b"\nbody\n\n" + POSTMARK + b"is how a mail begins\n")) == 1


def test_a_mailbox_in_pieces(tmp_path: Path) -> None:
    content = (POSTMARK + HEAD + b"\nbody\n\n") * 3
    pieces = [content[start : start + 7] for start in range(0, len(content), 7)]
    assert list(split_mbox(pieces)) == mails(content)
