"""One raw token to its terms."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.normalize import MAX_TERM_LENGTH, Normalizer, lemmatizer
from nlpkit.text.stopwords import clitics
from nlpkit.text.tokenize import KINDS, WORD_PATTERN, cut_tokens, keep_patterns, kind_of
from tests.strategies import repeatable, texts

normalize = Normalizer()


def terms_of(text: str) -> list[str]:
    return [term for raw in cut_tokens(pa.array([text])).types for term in normalize(raw)]


@pytest.mark.parametrize(
    ("raw", "terms"),
    [
        ("Don’t", ["don't"]),
        ("Don\x92t", ["don't"]),
        ("DON'T", ["don't"]),
        ("AT&T", ["at&t"]),
        ("U.S.A.", ["u.s.a."]),
        ("State-of-the-Art", ["state-of-the-art"]),
        ("e‑mail", ["e-mail"]),
        ("__init__", ["init"]),
        ("Müller", ["müller"]),
        ("straße", ["straße"]),
        ("ΟΔΟΣ", ["οδος"]),
        ("covid-19", ["covid-19"]),
        ("2nd", ["2nd"]),
        ("हिन्दी", ["हिन्दी"]),
        ("한국어", ["한국어"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
    ],
)
def test_words(raw: str, terms: list[str]) -> None:
    assert list(normalize(raw)) == terms


@pytest.mark.parametrize(
    "raw",
    [
        *["<b>", "</p>", '<a style="x;y">', "&amp;", "&#39;", "&nbsp;"],
        *["http://a.b/c", "http://a.b/c?d&amp;e", "HTTPS://A.B", "www.x.de", "WWW.x.de", "me@x.org"],
        *["2024", "1", "000", "a", "Z", "_", "٣٤"],
    ],
)
def test_junk_falls_away(raw: str) -> None:
    assert normalize(raw) == ()


@pytest.mark.parametrize(
    ("raw", "terms"),
    [
        ("Hi&nbsp;you", ["hi", "you"]),
        ("S&amp;P", ["s&p"]),
        ("don&#39;t", ["don't"]),
        ("don&#x2019;t", ["don't"]),
        ("caf&eacute;s", ["cafés"]),
        ("&Uuml;ber", ["über"]),
        ("one&lt;br&gt;two", ["one", "br", "two"]),
        ("first&mdash;second", ["first", "second"]),
        ("&amp;foo", ["foo"]),
        ("x&unknown;", ["x&unknown"]),
    ],
)
def test_entities_become_what_they_name(raw: str, terms: list[str]) -> None:
    assert list(normalize(raw)) == terms


def test_decomposed_letters_are_composed() -> None:
    decomposed = unicodedata.normalize("NFD", "Überraschungsgäste")
    assert decomposed != "Überraschungsgäste"
    assert normalize(decomposed) == normalize("Überraschungsgäste") == ("überraschungsgäste",)


def test_invisible_hyphens_are_removed() -> None:
    assert normalize("Donau\u00addampf\u00adschiff") == ("donaudampfschiff",)


@pytest.mark.parametrize(
    ("raw", "term"), [("İçin", "için"), ("İSTANBUL", "istanbul"), ("ışık", "ışık"), ("ŞEKER", "şeker")]
)
def test_turkish(raw: str, term: str) -> None:
    assert normalize(raw) == (term,)


@pytest.mark.parametrize(
    ("raw", "terms"),
    [
        ("自然语言", ["自然", "然语", "语言"]),
        ("语言", ["语言"]),
        ("我", ["我"]),
        ("𠀀𠀁𠀂", ["𠀀𠀁", "𠀁𠀂"]),
        ("2024年", ["年"]),
        ("iPhone手机", ["iphone", "手机"]),
        ("コンピューター", ["コンピューター"]),
        ("カ", []),
        ("ひらがな", []),
        ("コーヒーを飲む", ["コーヒー", "飲"]),
        ("東京タワー", ["東京", "タワー"]),
        ("ภาษาไทย", ["ภาษ", "าษา", "ษาไ", "าไท", "ไทย"]),
        ("กา", ["กา"]),
    ],
)
def test_scripts_without_spaces(raw: str, terms: list[str]) -> None:
    assert list(normalize(raw)) == terms


def test_case_is_kept_on_request() -> None:
    assert Normalizer(lower=False)("İzmir") == ("İzmir",)
    assert Normalizer(lower=False)("AT&T") == ("AT&T",)


def test_length_bounds() -> None:
    assert normalize("x" * MAX_TERM_LENGTH) == ("x" * MAX_TERM_LENGTH,)
    assert normalize("x" * (MAX_TERM_LENGTH + 1)) == ()
    assert normalize("ab") == ("ab",)


@repeatable
@given(texts())
def test_terms_are_composed_words_of_bounded_length(text: str) -> None:
    for term in terms_of(text):
        assert unicodedata.is_normalized("NFC", term), term
        assert any(c.isalpha() for c in term), term
        assert not set(term) & set("\u00ad\u200b\ufeff <>"), term
        assert len(term) <= MAX_TERM_LENGTH


@repeatable
@given(
    st.lists(
        st.sampled_from(["Don’t", "U.S.A.", "State-of-the-Art", "AT&T", "über", "İlk", "covid-19", "L'été"]), max_size=6
    )
)
def test_terms_pass_a_second_time_unchanged(words: list[str]) -> None:
    once = terms_of(" ".join(words))
    assert terms_of(" ".join(once)) == once


KEEP_ALL = Normalizer(keep=frozenset(KINDS))


def kept(text: str, normalizer: Normalizer) -> list[str]:
    pattern = "|".join([*keep_patterns(normalizer.keep), WORD_PATTERN])
    return [term for raw in cut_tokens(pa.array([text]), pattern).types for term in normalizer(raw)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("See https://a.b/C?d=1&amp;e=(2)).", ["see", "https://a.b/C?d=1&e=(2)"]),
        ("Mail Me.You@X.org!", ["mail", "me.you@x.org"]),
        ("#NLP ＃東京 @Anna: C#", ["#nlp", "#東京", "@anna"]),
        ("82% of $3.5BN in 1990, 1990s", ["82%", "of", "$3.5bn", "in", "1990", "1990s"]),
        ("5 😀 👩‍👩‍👧 🇩🇪 ❤️", ["5", "😀", "👩‍👩‍👧", "🇩🇪", "❤️"]),
        ("<b>2024年</b>", ["2024", "年"]),
    ],
)
def test_kinds_are_kept_on_request(text: str, terms: list[str]) -> None:
    assert kept(text, KEEP_ALL) == terms


def test_the_sentence_of_the_lecture_with_numbers() -> None:  # L926
    normalizer = Normalizer(lower=False, keep=frozenset({"number"}))
    text = "That U.S.A. poster-print costs $12.40... #tag me@x.org"
    assert kept(text, normalizer) == ["That", "U.S.A.", "poster-print", "costs", "$12.40", "tag"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_falls_away_without_being_asked_for(kind: str) -> None:
    examples = {
        "url": "https://a.b",
        "email": "a@b.org",
        "hashtag": "#x1y",
        "mention": "@ab",
        "number": "$1.50",
        "emoji": "😀",
    }
    assert kept(examples[kind], Normalizer(keep=frozenset({kind}))) == [examples[kind]]
    left = kept(examples[kind], Normalizer(keep=frozenset(KINDS) - {kind}))
    assert left == {"hashtag": ["x1y"], "mention": ["ab"], "number": []}.get(kind, [])


def test_lemma_and_stem_see_words_only() -> None:
    normalizer = Normalizer(keep=frozenset(KINDS), lemma=lambda w: f"{w}+L", stem=lambda w: f"{w}+s")
    assert kept("Cars don’t #Cars 5 a@b.org 中国 Ärger", normalizer) == [
        "cars+l+s", "don't+l+s", "#cars", "5", "a@b.org", "中国", "ärger+l+s",
    ]  # fmt: skip


def test_a_stop_word_is_not_lemmatised() -> None:
    normalizer = Normalizer(
        lemma={"Better": "good", "better": "good", "Cars": "car"}.__getitem__, stop={"better"}.__contains__
    )
    assert normalizer("Better") == ("better",)  # where the list of stop words finds it
    assert normalizer("Cars") == ("car",)


def test_a_lemma_sees_the_word_as_it_is_written() -> None:
    seen: list[str] = []
    Normalizer(lemma=lambda w: seen.append(w) or w)("Häuser")  # type: ignore[func-returns-value]
    Normalizer(lemma=lambda w: seen.append(w) or w, lower=False)("USA")  # type: ignore[func-returns-value]
    assert seen == ["Häuser", "USA"]
    assert Normalizer(lower=False, lemma=lemmatizer(["de"], cased=True))("Häuser") == ("Haus",)
    assert Normalizer(lemma=lemmatizer(["de"], cased=True))("Häuser") == ("haus",)


def test_the_possessive_is_cut_off() -> None:
    normalizer = Normalizer(clitics=clitics(["en"]))
    words = [
        "China's", "CHINA’S", "mother-in-law's", "workers'", "don't", "it's", "'s", "x's", "l'été", "o'clock",
        "rock'n's", "men&rsquo;s",
    ]  # fmt: skip
    found = [term for word in words for term in normalizer(word)]
    assert found == ["china", "china", "mother-in-law", "workers", "don't", "it", "l'été", "o'clock", "rock'n", "men"]
    assert [term for word in words[:1] for term in Normalizer()(word)] == ["china's"]
    assert normalizer("70's") == ("70's",)
    knows = Normalizer(clitics=clitics(["en"]), whole={"let's"}.__contains__)
    assert (knows("Let's"), knows("China's")) == (("let's",), ("china",))


def test_suffixes_of_turkish_names_and_numbers_are_cut_off() -> None:
    normalizer = Normalizer(clitics=clitics(["tr"]))
    words = ["Ankara'nın", "Türkiye’den", "TBMM'ye", "Kur'an'ın", "Kur'an", "O'Neill", "2020'de", "10'uncu", "Ali'yle"]
    found = [term for word in words for term in normalizer(word)]
    assert found == ["ankara", "türkiye", "tbmm", "kur'an", "kur'an", "o'neill", "10'uncu", "ali"]
    both = Normalizer(clitics=clitics(["en", "tr"]))
    kept = ["don't", "we're", "i'll", "i've", "i'm", "he'd"]  # no English contraction is a suffix
    assert [term for word in kept for term in both(word)] == kept


def test_elided_articles_are_cut_off() -> None:
    normalizer = Normalizer(clitics=clitics(["fr", "it"]))
    words = ["L’été", "d'aujourd'hui", "aujourd'hui", "QU'IL", "dell'anno", "l'", "rock'n'roll", "l'a", "'l'été'"]
    found = [term for word in words for term in normalizer(word)]
    assert found == ["été", "aujourd'hui", "aujourd'hui", "il", "anno", "rock'n'roll", "été"]
    assert Normalizer()("L'été") == ("l'été",)


def test_another_segmenter() -> None:
    assert Normalizer(segment=list)("iPhone手机2024年") == ("iphone", "手", "机", "年")
    assert Normalizer(segment=lambda run: ["", run, "。"])("手机") == ("手机",)


def test_least_length() -> None:
    assert Normalizer(min_length=1)("a") == ("a",)
    assert Normalizer(min_length=4)("für") == Normalizer(min_length=4)("the") == ()
    assert Normalizer(min_length=4)("über") == ("über",)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Fußgängerübergänge ÜBER Straßen", ["fußgängerübergänge", "über", "straßen"]),
        ("İSTANBUL’da ıslak", ["istanbul'da", "ıslak"]),
        (unicodedata.normalize("NFD", "Größenänderung"), ["größenänderung"]),
        ("كتاب جديد", ["كتاب", "جديد"]),
        ("ספר חדש", ["ספר", "חדש"]),
        ("हिन्दी में किताब", ["हिन्दी", "में", "किताब"]),
        ("Țară și Łódź", ["țară", "și", "łódź"]),
    ],
)
def test_letters_survive_all_default_steps(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms
    assert kept(text, KEEP_ALL) == terms


@repeatable
@given(texts(), st.sets(st.sampled_from(KINDS)))
def test_what_is_kept_adds_to_the_words(text: str, keep: set[str]) -> None:
    normalizer = Normalizer(keep=frozenset(keep))
    for raw in cut_tokens(pa.array([text]), "|".join([*keep_patterns(keep), WORD_PATTERN])).types:
        for term in normalizer(raw):
            assert kind_of(raw) in keep or any(c.isalpha() for c in term) or "number" in keep
            assert term == term.strip()


# ---------------------------------------------------------------- other forms of letters


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("oﬃce ﬁelds diﬀerent ﬂow eﬄuent ﬅ ﬆadt", "office fields different flow effluent st stadt"),
        ("ＡＢＣ１２３ ｄｏｎ＇ｔ ｅ－ｍａｉｌ ＡＴ＆Ｔ", "abc123 don't e-mail at&t"),
        ("𝐛𝐨𝐥𝐝 𝒾𝓉𝒶𝓁𝒾𝒸 𝔉𝔯𝔞𝔨𝔱𝔲𝔯 ℋ𝒾", "bold italic fraktur hi"),
        ("Waſſer ĳs ǆep coŀlegi col·legi", "wasser ijs džep col·legi col·legi"),
        ("ﻛﺘﺎﺏ ﷲ", "كتاب الله"),
        ("ﬖﬓ", "վնմն"),
        ("isn´t isn`t isn′t isnʼt isn‛t isn‘t isn’t geht´s", "isn't isn't isn't isn't isn't isn't isn't geht's"),
        ("ﾃｽﾄ ｶﾞｽ", "テスト ガス"),
        ("\x1b[31mred\x1b[0m \x1b[1;4mbold\x1b[m", "red bold"),
        ("ftp://a.b/c see https://t.co/abc…more", "see more"),
        # these are no other forms of letters
        ("m² 1½ Ⅻx ®x", "m² ⅻx"),
        ("`code`block “a” ´´quoted´´", "code`block quoted".replace("`", "'")),
    ],
)
def test_plain_forms(text: str, words: str) -> None:
    assert list(dict.fromkeys(terms_of(text))) == list(dict.fromkeys(words.split()))


def test_kept_kinds_have_plain_forms_and_signs() -> None:
    keep = Normalizer(keep=frozenset(("number", "hashtag", "url")))
    pattern = "|".join([*keep_patterns(["number", "hashtag", "url"]), WORD_PATTERN])

    def kept(text: str) -> list[str]:
        return [term for raw in cut_tokens(pa.array([text]), pattern).types for term in keep(raw)]

    assert kept("#ｔａｇ ＃ﬁne １２ https://ａ.b") == ["#tag", "#fine", "12", "https://ａ.b"]
    assert kept("-5 +49-30-1 −3% 2-3 a-5 -5th x -.5") == ["-5", "+49-30-1", "-3%", "2-3", "a-5", "5th", "5"]


# ---------------------------------------------------------------- Hebrew


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('צה"ל ארה״ב דו”ח ח"כ רמטכ"ל', ['צה"ל', 'ארה"ב', 'דו"ח', 'ח"כ', 'רמטכ"ל']),
        ("צה&quot;ל צה''ל", ['צה"ל']),
        ("ג'ירפה ג׳ורג׳ ג'ורג' עמ'", ["ג'ירפה", "ג'ורג'", "עמ'"]),
        ('"שלום" אמר "דני"', ["שלום", "אמר", "דני"]),
        ('שלום "abc"def 5"7', ["שלום", "abc", "def"]),
        ('abc"שלום שלום"abc', ["abc", "שלום"]),
    ],
)
def test_hebrew_acronyms_and_names(text: str, words: list[str]) -> None:
    assert list(dict.fromkeys(terms_of(text))) == words


def uax29(text: str) -> list[str]:
    """The words of UAX #29 by its rules WB4–WB7c one after another, for Hebrew letters, Latin letters, marks and quotation marks."""

    def kind(sign: str) -> str:
        if "\u05d0" <= sign <= "\u05f2":
            return "H"
        if unicodedata.category(sign)[0] == "M":
            return "M"
        return {'"': "D", "'": "S", "\u05f4": "L"}.get(sign, "A" if sign.isalpha() else "O")

    signs = [(sign, kind(sign)) for sign in text]
    base: list[tuple[str, str]] = []  # WB4: marks belong to what is before them
    for sign, of in signs:
        if of == "M" and base:
            base[-1] = (base[-1][0] + sign, base[-1][1])
        else:
            base.append((sign, of))
    words, word = [], ""
    for i, (sign, of) in enumerate(base):
        before = base[i - 1][1] if i else ""
        further = base[i - 2][1] if i > 1 else ""
        after = base[i + 1][1] if i + 1 < len(base) else ""
        joined = (
            (before in ("A", "H") and of in ("A", "H"))  # WB5
            or (before in ("A", "H") and of in ("L", "S") and after in ("A", "H"))  # WB6
            or (further in ("A", "H") and before in ("L", "S") and of in ("A", "H"))  # WB7
            or (before == "H" and of == "S")  # WB7a
            or (before == "H" and of == "D" and after == "H")  # WB7b
            or (further == "H" and before == "D" and of == "H")  # WB7c
        )
        if not joined:
            words.append(word)
            word = ""
        word += sign
    return [w for w in [*words, word] if any(kind(sign) in "AH" for sign in w)]


@repeatable
@given(
    st.lists(st.sampled_from(["א", "ב", "ג\u05b0", "ש", '"', "'", "\u05f4", "a", "b", " "]), max_size=12).map("".join)
)
def test_cuts_of_hebrew_against_the_rules_of_unicode(text: str) -> None:
    text = text.replace("''", "'")  # typed for gershayim, and taken as that here
    found = cut_tokens(pa.array([text]), WORD_PATTERN).types
    assert found == list(dict.fromkeys(uax29(text)))
