"""CoNLL-U: by hand, and what must hold of every text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.spacy_tokens import Word, conllu_documents
from tests.strategies import repeatable


def test_by_hand() -> None:
    text = "Dr. Ng\nleft. Go!"
    words = [
        Word(0, 3, "Dr.", "NOUN", "NNP", "Number=Sing"), Word(4, 6, "Ng", "PROPN", "", ""), Word(7, 11, "leave", "VERB", "", ""),
        Word(11, 12, ".", "PUNCT", "", ""), Word(13, 15, "go", "VERB", "", ""), Word(15, 16, "!", "PUNCT", "", ""),
    ]  # fmt: skip
    (lines,) = conllu_documents(["d 1"], [text], [words], "en")
    assert lines.split("\n") == [
        "# newdoc id = d 1",
        "# sent_id = d 1-1",
        "# text = Dr. Ng left.",
        "1\tDr.\tDr.\tNOUN\tNNP\tNumber=Sing\t_\t_\t_\tstart_char=0|end_char=3",
        "2\tNg\tNg\tPROPN\t_\t_\t_\t_\t_\tstart_char=4|end_char=6",
        "3\tleft\tleave\tVERB\t_\t_\t_\t_\t_\tstart_char=7|end_char=11|SpaceAfter=No",
        "4\t.\t.\tPUNCT\t_\t_\t_\t_\t_\tstart_char=11|end_char=12",
        "",
        "# sent_id = d 1-2",
        "# text = Go!",
        "1\tGo\tgo\tVERB\t_\t_\t_\t_\t_\tstart_char=13|end_char=15|SpaceAfter=No",
        "2\t!\t!\tPUNCT\t_\t_\t_\t_\t_\tstart_char=15|end_char=16",
        "",
        "",
    ]


@repeatable
@given(st.lists(st.text("ab.! \n\t", max_size=30), max_size=4))
def test_every_word_is_there_with_its_place(texts: list[str]) -> None:
    words = [[Word(m.start(), m.end(), "", "", "", "") for m in re.finditer(r"[ab]+|[.!]", text)] for text in texts]
    for text, of_text, lines in zip(texts, words, conllu_documents([""] * len(texts), texts, words, None), strict=True):
        rows = [line.split("\t") for line in lines.splitlines() if line and not line.startswith("#")]
        assert all(len(row) == 10 for row in rows)
        places = [tuple(map(int, re.findall(r"\d+", row[9]))) for row in rows]
        assert places == [(word.start, word.end) for word in of_text]
        assert [row[1] for row in rows] == [text[a:b] for a, b in places]
        assert lines.count("# newdoc") == bool(rows)
