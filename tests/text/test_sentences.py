"""Where sentences end: examples by hand in many languages, and what holds for any text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.sentences import sentence_spans
from tests.strategies import repeatable, texts

# Each | is where one sentence ends and the next begins; the text itself has a space, or nothing where the script needs none.
BY_HAND = [
    # English
    ("en", "B. Obama was president.| He left in 2017."),
    ("en", "Mr. Smith met Dr. Jones and Prof. B. A. Miller.| They talked."),
    ("en", "The U.S. President spoke.| He left."),
    ("en", "He lives in the U.S.| The house is small."),
    ("en", "She came at 5 p.m. on Monday.| He came at 6 p.m.| They ate."),
    ("en", "It costs $12.40 or 3.5 percent.| Really?| Yes!"),
    ("en", "Apples, pears, etc. are fruit.| We sell plums etc.| Other shops do not."),
    ("en", "Apple Inc. said so.| Shares of Apple Inc. fell."),
    ("en", "See Fig. 3 and No. 5, pp. 12 to 14.| No.| I will not."),
    ("en", "Smith et al. (2010) found it.| Others, e.g. Jones, did not, i.e. they failed."),
    ("en", 'He said "Stop."| Then he left.'),
    ("en", '"Really?" he asked.| "No!"| She ran.'),
    ("en", "(See above.)| Then (in May) it fell."),
    ("en", "“It is over.”| They left."),
    ("en", "What?!| No way...| Well, maybe..."),
    ("en", "He waited... and waited.| Then… nothing."),
    ("en", "Yahoo! said it would buy.| Oh no!| She ran."),
    ("en", "See www.example.com.| There is more at http://a.b/c.d?e=f."),
    ("en", "Version 2.0 is out.| Write to a.b@c.org.| Done."),
    ("en", "A headline\n\n|A line\nbreak is no end.| Here it is."),
    ("en", "1. First item.| 2. Second item."),
    ("en", "a. Wash hands.|\n\nb. Cook."),
    ("en", "He was born on Jan. 5 in St. Louis, Mo. on a Friday."),
    ("en", "Gen. Lee, Lt.-Gen. Grant and Sgt. Pepper."),
    ("en", "J. R. R. Tolkien wrote.| C. S. Lewis, too."),
    ("en", "It was 1999.| We partied.| He is 25.| Smith said so."),
    ("en", "He liked it.| iPhones are nice.| eBay is not."),
    ("en", "We agree with us.| Everyone does.| So let it go on.| Fine."),
    ("en", "wow!| that is great.| isn't it?| yes."),
    ("en", "As shown.[12]| Next came this.[3][4]| Good."),
    ("en", "The case Roe v. Wade and Art vs. Commerce."),
    ("en", "Turn left on Main St.| The shop is there."),
    # German
    ("de", "Der 1. FC Köln gewann.| Dr. Müller jubelt."),
    ("de", "Am 3. Oktober war frei.| Im 19. Jahrhundert nicht."),
    ("de", "Er ist 25.| Die Frau ist 30.| Das war 1999.| Damals halt."),
    ("de", "Das gilt z. B. für Hunde, d. h. Tiere.| Auch z.B. Katzen."),
    ("de", "Er las z. B. Der Spiegel."),
    ("de", "Kauf Brot, Milch usw.| Danach geh heim."),
    ("de", "„Nein!“, sagte er.| „Gut.“| Sie ging."),
    ("de", "Nach Art. 5 Abs. 1 GG und § 7 Nr. 3 BGB ist das so."),
    ("de", "Das kostet 10.000 Euro bzw. 3,5 Mio. Euro.| Viel Geld."),
    ("de", "Am 3. 10. 1990 war es so weit.| Vom 1.5. bis 3.6. ist zu."),
    ("de", "Heinrich VIII. und Papst Johannes XXIII.| Er starb."),
    ("de", "Die SPD u. a. Parteien stimmten zu.| Die CDU nicht."),
    ("de", "Frau Dr. med. A. Schmidt kam um 12.40 Uhr.| Sie war spät."),
    ("de", "In St. Pölten fiel das Tor in der 57. Minute.| Danach war Schluss."),
    ("de", "Sehr geehrter Herr Präsident!| Sehr geehrte Damen und Herren!| Wir reden."),
    # French, Spanish, Italian, Dutch, Portuguese
    ("fr", "M. Dupont et Mme. Durand sont là.| Ils parlent."),
    ("fr", "« Vraiment ? »| Oui, dit-il.| L'homme rit."),
    ("fr", "J.-P. Sartre, av. J.-C., etc.| La suite vient."),
    ("es", "El Sr. García y la Dra. López llegaron.| ¿Qué pasa?| ¡Nada!| Bien."),
    ("es", "Vive en EE. UU. con Ud. y otros.| Es feliz."),
    ("it", "Il Sig. Rossi e il Dott. Bianchi.| Poi la Prof. Verdi."),
    ("nl", "Dhr. de Vries, bijv. Jan, enz.| De rest volgt."),
    ("pt", "O Sr. Silva e a Dra. Souza.| Eles vieram."),
    # other alphabets
    ("ru", "А. С. Пушкин родился в Москве.| Он писал стихи и т. д.| Это так."),
    ("pl", "To jest np. Warszawa.| On urodził się 3. Maja."),
    ("cs", "Je to např. Praha.| V 19. století ne."),
    ("tr", "Bu Dr. Yılmaz.| O gitti."),
    ("el", "Καλημέρα.| Τι κάνεις;"),
    ("ar", "كيف حالك؟| أنا بخير.| شكرا."),
    ("ur", "یہ کتاب ہے۔| وہ گیا۔"),
    ("hi", "नमस्ते।| आप कैसे हैं?| ठीक है॥"),
    ("hy", "Բարև։| Լավ եմ։"),
    # scripts without spaces
    ("zh", "今天很好。|你呢？|很好！|他说：“好。”|然后走了。"),
    ("ja", "今日は晴れ。|「行くよ。」と言った。|本当？！|はい。"),
    ("ja", "彼は「行く！」と叫んだ。|（終わり。）|次へ。"),
    # HTML
    ("en", "Great movie.<br /><br />|The end.<br />| <b>Really</b>.</p>|<p>Next</p>|<p class='x'>One.| Two."),
    ("en", "<p>Hello there.| <i>You</i> too.</p>"),
]  # fmt: skip


def cut(text: str, language: str | None = None) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, language)]


@pytest.mark.parametrize(("language", "marked"), BY_HAND)
@pytest.mark.parametrize("told", [True, False], ids=["told", "guessed"])
def test_by_hand(language: str, marked: str, told: bool) -> None:
    expected = [part.strip() for part in marked.split("|")]
    assert cut(marked.replace("|", ""), language if told else None) == expected


def test_there_are_many() -> None:
    assert sum(marked.count("|") + 1 for _, marked in BY_HAND) > 150


def test_ordinals_are_guessed_from_the_words_around() -> None:
    assert cut("The score of the match was 3. Liverpool won the match.") == [
        "The score of the match was 3.",
        "Liverpool won the match.",
    ]
    assert cut("Wir sind in der 3. Liga.") == ["Wir sind in der 3. Liga."]


def test_a_word_of_one_language_is_an_abbreviation_only_in_another() -> None:
    assert cut("Poi, ad es. Verdi.", "it") == ["Poi, ad es. Verdi."]
    assert cut("Ich weiß es. Verdi auch.") == ["Ich weiß es.", "Verdi auch."]
    assert cut("Never mind. Peter red. Max ran. Back to LA. Peter.", "en")[:2] == ["Never mind.", "Peter red."]


def test_a_language_without_lists_has_those_of_all() -> None:
    text = "Dr. Who. Der Rest."
    assert cut(text, "xx") == cut(text) == ["Dr. Who.", "Der Rest."]


@pytest.mark.parametrize("text", ["", " \n\t ", "\u3000\n\n", "\f"])
def test_nothing(text: str) -> None:
    assert cut(text) == []


@pytest.mark.parametrize("text", [".", "?!", "no end", "...", "<br><br>", "。", '"', "1."])
def test_one_piece(text: str) -> None:
    assert cut(f" {text}\n") == [text]


@pytest.mark.parametrize("line", ["\r\n", "\n"])
def test_breaks(line: str) -> None:
    assert cut(f"One line{line}goes on{line}{line}New part{line} {line}{line}Last") == [
        f"One line{line}goes on",
        "New part",
        "Last",
    ]
    assert cut("One\u2029Two\fThree.\fFour") == ["One", "Two", "Three.", "Four"]


pieces = st.sampled_from(
    [". ", ".", "! ", "? ", "… ", "。", "」", '"', "(", ") ", "\n", "\n\n", "<br>", "<p>", "</p>", "[1]", "Dr", "The", "a", "3", " "]
)  # fmt: skip


@repeatable
@given(st.lists(st.one_of(pieces, texts()), max_size=20).map("".join), st.sampled_from([None, "en", "de", "ja"]))
def test_spans_hold_all_but_white_space_in_order(text: str, language: str | None) -> None:
    spans = sentence_spans(text, language)
    at = 0
    for start, end in spans:
        assert text[at:start].strip() == ""
        assert at <= start < end
        assert text[start:end] == text[start:end].strip()
        at = end
    assert text[at:].strip() == ""


@pytest.mark.parametrize(
    "unit", [".", "<br>", "<p>", "</p>", ")", ". ", "\n", "\n \n", "a.", "...x", "<", "- ", '."', ".<", "Dr. ", "1. ", "A. "]
)  # fmt: skip
def test_long_texts_take_no_longer_for_each_character(unit: str) -> None:
    began = time.process_time()
    cut("A" + unit * 30_000)
    assert time.process_time() - began < 3  # of a square of the length: minutes
