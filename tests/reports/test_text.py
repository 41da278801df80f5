"""Public bug reports on mails, markup, tokens, words in context, collocations, n-grams, lexica, agreement and word vectors.

The ids name threads as repository#number; inputs were made anew.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import InputError
from nlpkit.explore.kwic.model import compile_pattern, find_hits, find_spans
from nlpkit.platform.documents.readers.messages import read_mail, split_mbox
from nlpkit.words.files import load_word_vectors


def tokens_of(text: str, **settings: Any) -> list[str]:
    how = {"stop_words": "none", "min_df": 1, "language": "none", **settings}
    (row,) = nk.preprocess([text], **how).table().to_pylist()
    return list(row["tokens"])


# ---------------------------------------------------------------- mails

POST = b"From a@example.org Mon Jan  1 10:00:00 2024\n"


def mail(body: bytes, kind: str = "text/plain; charset=utf-8", **headers: str) -> dict[str, Any]:
    head = {"From": "A <a@example.org>", "Subject": "s", "Date": "Mon, 01 Jan 2024 10:00:00 +0100", **headers}
    lines = [*(f"{name}: {value}" for name, value in head.items()), f"Content-Type: {kind}", "", ""]
    return read_mail("\n".join(lines).encode() + body)


@pytest.mark.parametrize("line", ["From what I saw, it rains.", "From here:", "From 2024 on", "From my iPhone - Jan"])
def test_from_in_a_body(line: str) -> None:
    """python/cpython#93376, ietf-tools/mailarchive#4117, robertklep/node-mbox#12, jooyoungseo/mboxr#2, imapbackup#37."""
    body = b"Subject: 1\n\none\n\n" + line.encode() + b"\n>From quoted\nend\n\n"
    first, second = split_mbox([POST + body + POST + b"Subject: 2\n\ntwo\n"])
    assert read_mail(first)["text"] == f"one\n\n{line}\nFrom quoted\nend"
    assert read_mail(second)["text"] == "two"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (["text/plain|one", "text/plain|two"], "one\n\ntwo"),
        (["text/plain|one", "image/png|x", "text/html|<p>two</p>"], "one\n\ntwo"),
        (["text/html|<p>one</p>", "text/plain|footer"], "one\n\nfooter"),
        (["text/plain|one", "text/plain; name=a.txt|file"], "one"),
        (["text/plain|one", "message/rfc822|Subject: x"], "one"),
    ],
    ids=["imap_tools#247", "php-mime-mail-parser#160", "php-mime-mail-parser#164", "nextcloud/mail#3726", "forwarded"],
)
def test_text_parts_of_a_mail(parts: list[str], text: str) -> None:
    body = "".join(f"--b\nContent-Type: {kind}\n\n{content}\n" for kind, content in (part.split("|") for part in parts))
    assert mail(body.encode() + b"--b--\n", "multipart/mixed; boundary=b")["text"] == text


@pytest.mark.parametrize(
    ("charset", "raw", "text"),
    [
        ("iso-8859-1", "grüße".encode("latin-1"), "grüße"),
        ("x-unknown-8bit", "grüße".encode(), "grüße"),
        ("gb2312", "你好".encode("gb2312"), "你好"),
        ("iso-2022-jp", "こんにちは".encode("iso-2022-jp"), "こんにちは"),
        ("iso-8859-1", b"smart \x93quotes\x94 don\x92t", "smart “quotes” don’t"),
    ],
    ids=["django-mailbox#20", "django-mailbox#34", "django-mailbox#104", "modoboa#127", "neomutt#462, encoding#345"],
)
def test_character_sets(charset: str, raw: bytes, text: str) -> None:
    assert mail(raw, f"text/plain; charset={charset}")["text"] == text


def test_heads_that_are_encoded_or_broken() -> None:
    """django-mailbox#104: encoded words side by side; a date that is none; HTML without a plain text, line ends of Windows."""
    row = mail(b"x", Subject="=?utf-8?Q?Gr=C3=BC=C3=9Fe?= =?utf-8?B?IGF1cyBLw7Zsbg==?=", Date="not a date")
    assert (row["subject"], row["date"]) == ("Grüße aus Köln", None)
    page = b"<style>p {}</style><script>x</script><p>one</p>\r\ntwo&nbsp;&auml;"
    assert mail(page, "text/html")["text"].split() == ["one", "two", "ä"]
    assert mail(b"a\r\nb\r\n")["text"] == "a\nb"


# ---------------------------------------------------------------- TEI


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("Tenet<lb/>Jaso pla<lb break='no'/>no", ["tenet", "jaso", "plano"]),
        ("eins<pb n='1'/>zwei<cb/>drei<milestone unit='x'/>vier", ["eins", "zwei", "drei", "vier"]),
        ("Wort.<note place='foot'>Fußnote</note>teil", ["wort", "fußnote", "teil"]),
        ("<l>Vers eins</l><l>Vers zwei</l>", ["vers", "eins", "vers", "zwei"]),
        ("<choice><orig>vnd</orig><reg>und</reg></choice> so", ["und", "so"]),
    ],
    ids=["svsal#95", "frus#275", "dtabf#66", "TEI-in-Libraries#49", "dtabf: choice"],
)
def test_borders_of_tei(tmp_path: Path, markup: str, words: list[str]) -> None:
    path = tmp_path / "x.xml"
    path.write_text(f"<TEI xmlns='http://www.tei-c.org/ns/1.0'><p>{markup}</p></TEI>", encoding="utf-8")
    corpus = nk.read_corpus(path, xml_record="p")
    (row,) = nk.preprocess(corpus, stop_words="none", min_df=1, language="none").table().to_pylist()
    assert row["tokens"] == words


# ---------------------------------------------------------------- tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't we’ve y'all she'd've", ["don't", "we've", "y'all", "she'd've"]),
        ("isn´t isn`t isn‘t isn′t geht´s c´est", ["isn't", "isn't", "isn't", "isn't", "geht's", "c'est"]),
        ("বাংলা हिन्दी தமிழ் ไทย ລາວ", ["বাংলা", "हिन्दी", "தமிழ்", "ไทย", "ລາວ"]),
        ("ΟΔΟΣ café caf\u0065\u0301 co\u00adop", ["οδος", "café", "café", "coop"]),
        ("Tiếng Việt Հայերեն ქართული STRASSE Straße", ["tiếng", "việt", "հայերեն", "ქართული", "strasse", "straße"]),
        ('צה"ל ארה״ב דו"ח ג\'ירפה', ['צה"ל', 'ארה"ב', 'דו"ח', "ג'ירפה"]),
        ("oﬃce ﬁelds ＡＢＣ１２３ 𝐛𝐨𝐥𝐝 ſtadt", ["office", "fields", "abc123", "bold", "stadt"]),
        ("\x1b[31mred\x1b[0m https://t.co/abc…more", ["red", "more"]),
    ],
    ids=[
        "scikit-learn#6892, #7008, #8687, #9057, nltk_data#22", "pragmatic_tokenizer#23, nlp.js#420, wink-tokenizer#22",
        "scikit-learn#30935, #20211, #7379, tiktoken#292, minbpe#73", "sigma, NFD, soft hyphen", "scripts",
        "typst#6596, link-grammar#42, renikud#10", "pypdf#598, #1351, #2046, #3975, docling#3057", "colours, addresses",
    ],
)  # fmt: skip
def test_words(text: str, words: list[str]) -> None:
    assert tokens_of(text) == words


def test_what_a_text_is_stays() -> None:
    """Other forms of letters are folded in the tokens alone: places in the text hold."""
    text = "an oﬃce, isn´t it"
    (row,) = nk.preprocess([text], stop_words="none", language="none", min_df=1).table().to_pylist()
    assert (row["text"], row["tokens"]) == (text, ["an", "office", "isn't", "it"])
    hit = nk.kwic([text], "oﬃce").to_pylist()[0]
    assert text[hit["start"] : hit["end"]] == "oﬃce"


def test_emoji_are_whole() -> None:
    """nltk#2842, tokenizers#68, polyglot#183, quanteda#2157: tones, joiners, flags, keycaps, beside words and hashtags."""
    text = "good👍🏽job 👨‍👩‍👧 🇩🇪🇫🇷 1️⃣ #fun😀"
    assert tokens_of(text, keep="emoji,hashtag") == ["good", "👍🏽", "job", "👨‍👩‍👧", "🇩🇪", "🇫🇷", "1️⃣", "#fun", "😀"]


def test_turkish_letters() -> None:
    """phoenix#3255, argo#46."""
    assert tokens_of("IĞDIR İstanbul'da ılık", language="tr") == ["ığdır", "istanbul", "ılık"]
    assert tokens_of("ISTANBUL", language="none") == ["istanbul"]


def test_stop_lists_fit_the_tokens(tmp_path: Path) -> None:
    """scikit-learn#10735, #17292: entries are written as the tokens are, and a phrase is refused."""
    path = tmp_path / "stop.txt"
    path.write_text("isn’t\nWasn't\nu\u0308ber\n", encoding="utf-8")
    assert tokens_of("isn't wasn’t über art", stop_words=f"none,{path}") == ["art"]
    path.write_text("state of the art\n", encoding="utf-8")
    with pytest.raises(InputError, match="one word was needed, found 'state of the art'"):
        tokens_of("modern art", stop_words=f"none,{path}")


def test_the_language_of_a_few_words() -> None:
    """Each alone was Sesotho, Kabyle, Oromo or Romanian with 100 %."""
    for texts in (["banana", "apple", "pear", "lemon", "clock"], ["test"], ["foo bar baz"], ["plain ascii text"] * 100):
        assert nk.preprocess(texts, min_df=1).report.languages == ()


# ---------------------------------------------------------------- words in context, n-grams, collocations, keyness


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("(cl)imat(e|ic)", ["climate", "climatic"]),
        ("(?<=the )climate", ["climate"]),
        ("the climate", ["the climate"]),
        ("^the", ["the"]),
        ("ana", ["ana"]),
        (r"\bwar\b", ["war"]),
    ],
    ids=["quanteda#888", "quanteda#307", "quanteda#122", "quanteda#57", "quanteda#44", "quanteda#2438"],
)
def test_words_in_context(pattern: str, matches: list[str]) -> None:
    text = "the climate and banana: a climatic war, warm"
    hits = list(find_hits(text, find_spans(text, compile_pattern(pattern)), words=1))
    assert [hit.match for hit in hits] == matches
    assert all(text[hit.start : hit.end] == hit.match for hit in hits)


def test_ngrams_over_removed_stop_words() -> None:
    """quanteda#1018, #50, #882: as scikit-learn, neighbours are those that are left."""
    assert tokens_of("bank of England", ngrams="2", stop_words="en") == ["bank england"]


def test_collocations_by_hand() -> None:
    """nltk#1033, #403, #2200, #907: no pair spans documents, repeated words count, log of 0 is none."""
    found = nk.collocations(["a b a b c", "b a"], min_count=1, language="none").table().to_pylist()
    pairs = {(row["x"], row["y"]): row for row in found}
    assert {pair: row["n_xy"] for pair, row in pairs.items()} == {("a", "b"): 2, ("b", "a"): 2, ("b", "c"): 1}
    cells, n = [[2, 0], [0, 3]], 5  # a b of five pairs: two with a first, both with b second
    rows, columns = [sum(row) for row in cells], [sum(column) for column in zip(*cells, strict=True)]
    g2 = 2 * sum(
        o * math.log(o * n / (rows[i] * columns[j])) for i, row in enumerate(cells) for j, o in enumerate(row) if o
    )
    assert pairs["a", "b"]["g2"] == pytest.approx(g2)
    assert all(math.isfinite(row["g2"]) for row in found)


def test_collocations_of_chinese() -> None:
    """quanteda/tutorials.quanteda.io#64."""
    found = nk.collocations(["打电话 打电话 太慢了"] * 3, min_count=2, language="zh").table()
    assert ("打电", "电话") not in zip(found["x"].to_pylist(), found["y"].to_pylist(), strict=True)


# ---------------------------------------------------------------- features of texts, sentiment, agreement, lemmas


def features(text: str, *names: str) -> dict[str, Any]:
    row = nk.text_features([text], include="readability,diversity", language="en").table().to_pylist()[0]
    return {name: row[name] for name in names}


def test_readability() -> None:
    """Textatistic#4, textacy#88, spacy_readability#111, textstat#28, #220, TextStatistics.js#4."""
    assert features("The cat sat on the mat.", "flesch")["flesch"] == pytest.approx(206.835 - 1.015 * 6 - 84.6)
    for text in ("", "#", "…"):
        assert features(text, "flesch", "lix") == {"flesch": None, "lix": None}


def test_diversity_of_short_texts() -> None:
    """quanteda.textstats#60, #19, koRpus#30, lexical_diversity#6: no value where there are too few words, never NaN."""
    assert features("one two", "mattr", "hdd") == {"mattr": None, "hdd": None}
    different = " ".join(chr(97 + i) * 3 for i in range(26)) * 1
    assert features(different, "mtld")["mtld"] in (None, pytest.approx(26))


def test_vader_equals_the_package() -> None:
    """vaderSentiment#28, #36, #46, #55, #70–72, #123, nltk#2637."""
    package = pytest.importorskip("vaderSentiment.vaderSentiment")
    texts = [
        "GREAT!!!!",
        "not good",
        "good :) 😀",
        "#happy day",
        "The plot was good, but NOT the end.",
        "isn't bad",
        "",
    ]
    ours = nk.sentiment(texts[:-1], lexicon="vader", language="en").documents.to_pylist()
    analyzer = package.SentimentIntensityAnalyzer()
    for row, text in zip(ours, texts, strict=False):
        assert row["sentiment"] == pytest.approx(analyzer.polarity_scores(text)["compound"], abs=1e-4)


@pytest.mark.parametrize(
    ("answers", "alpha"),
    [
        ([("a", "a"), ("b", "b"), ("a", None)], 1.0),
        ([("a", "b"), ("b", "a"), ("a", "a"), ("b", "b")], 1 - (4 / 8) / (8 * 4 / (8 * 7))),
        ([("a", "b")], 0.0),
    ],
    ids=[
        "nltk#2865, fast-krippendorff#9, #11",
        "grrrr/krippendorff-alpha#1, mReliability#6",
        "nltk#2732, dkpro-statistics#6",
    ],
)
def test_alpha(tmp_path: Path, answers: list[tuple[str, str | None]], alpha: float) -> None:
    path = tmp_path / "coders.csv"
    path.write_text("anna,ben\n" + "".join(f"{x},{y or ''}\n" for x, y in answers), encoding="utf-8")
    (target,) = nk.agreement(path, ("anna", "ben")).to_dict()["targets"]
    assert target["metrics"]["alpha"]["value"] == pytest.approx(alpha)


def test_lemmas() -> None:
    """simplemma#94, spaCy#2486, #4611: unknown words stay."""
    assert tokens_of("Die Häuser der Qwertz", lemma="dict", language="de")[1:] == ["haus", "der", "qwertz"]


def test_unseen_terms_and_empty_rows() -> None:
    """scikit-learn#3637, #23500, sadedegel#193: M and df are of all rows, and an empty row is one of zeros."""
    weights = nk.tfidf(["cat dog", "cat", ""], min_df=1, stop_words="none", language="none")
    expected = np.array([[math.log(3 / 2), math.log(3)], [math.log(3 / 2), 0], [0, 0]])
    np.testing.assert_allclose(weights.matrix.toarray(), expected)


# ---------------------------------------------------------------- n-gram models and word vectors


@pytest.mark.parametrize("smoothing", ["kneser-ney", "witten-bell", "mle"])
def test_perplexity_of_tiny_corpora(smoothing: str) -> None:
    """nltk#3211, #3065, #2599, kenlm#67, berkeleylm#24, theanolm#13: finite where smoothed, infinite and counted where not."""
    model = nk.fit_language_model(["the cat sat", "the dog sat"], order=2, smoothing=smoothing)
    seen, unseen = model.perplexity(["the cat sat"]), model.perplexity(["sat xyz"])
    assert math.isfinite(seen.perplexity)
    assert math.isfinite(unseen.perplexity) == (smoothing != "mle")
    assert unseen.n_unknown == 1


def test_arpa_files_of_other_programs(tmp_path: Path) -> None:
    """kenlm#345, #67, #149, kaldi#643, sphinxbase#14, pocolm#77: comments, blanks for tabs, no weights, Windows, <UNK>."""
    text = "made by x\n\\data\\\nngram 1=    4\n\n\\1-grams:\n-9 <s>\n-1 </s>\n-2 <UNK>\n-0.5 hi -0.1\n\\end\\\n"
    path = tmp_path / "m.arpa"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    table = nk.load(path).predict(["hi you"])
    assert table["log10_prob"].to_pylist() == [pytest.approx(-0.5 - 2 - 1)]
    path.write_text(text.replace("    4", "5"), encoding="utf-8")
    with pytest.raises(InputError, match="announces 5 1-grams but has 4"):
        nk.load(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("the 1 0\r\ncat 0 1\r\n", ("the", "cat")),
        ("2 2\nthe 1 0 \ncat 0 1 \n", ("the", "cat")),
        ("\u00a0 1 0\n\u2028 0 1\n", ("\u00a0", "\u2028")),
        ("the 1 0\nthe 0 1\n", ("the",)),
        (
            ". . . 1 0\nat name@domain.com 0 1\nthe 1 1\nof 0 0\ncat 1 2\n",
            (". . .", "at name@domain.com", "the", "of", "cat"),
        ),
        ("the\t1 0\ncat 0 1\n", ("the", "cat")),
    ],
    ids=["word2vec#54", "Word2Vec.jl#3", "gensim#567", "double", "spaCy#737, GloVe#150", "tab"],
)
def test_word_vectors(tmp_path: Path, content: str, words: tuple[str, ...]) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(content.encode())
    assert load_word_vectors(path).words == words


def test_damaged_word_vectors(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """danielfrg/word2vec#58, #40, #51, gensim#2569: cut in a number, NaN, cut at a line end."""
    path = tmp_path / "v.bin"
    path.write_bytes(b"2 2\nthe " + np.array([1, 2], "<f4").tobytes() + b"cat \x00\x00")
    with pytest.raises(InputError, match="ends too early"):
        load_word_vectors(path)
    path = tmp_path / "v.vec"
    path.write_text("the 1 0\ncat nan 1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"v\.vec:2"):
        load_word_vectors(path)
    path.write_text("5 2\nthe 1 0\n", encoding="utf-8")
    load_word_vectors(path)
    assert "words but has" in caplog.text


def test_analogies_with_unknown_words(tmp_path: Path) -> None:
    """gensim: questions with a word that has no vector are left out of the accuracy, and counted."""
    vectors = tmp_path / "v.txt"
    vectors.write_text("king 1 1\nman 1 0\nwoman 0 1\nqueen 0 2\nx 3 -1\n", encoding="utf-8")
    questions = tmp_path / "q.txt"
    questions.write_text(": family\nman king woman queen\nman king woman EMPRESS\n", encoding="utf-8")
    row = nk.analogies(vectors, questions).table.to_pylist()[0]
    assert (row["questions"], row["answered"]) == (2, 1)
