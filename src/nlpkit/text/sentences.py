"""Texts split into sentences by rules, and documents into paragraphs, sentences or chunks.

Words that distinguish full stops are written as they stand in running text without their last full stop; `sentences` adds the
spelling with a capital and the one in capitals. A form with a capital (Sat, Mar) is not one in lower case. Forms of several
words (z. B.) are written without the spaces.

Parts, in this order:
- Words that distinguish a full stop at the end of a sentence from one inside it, by language.
- Texts to sentences by rules: one pass finds where a sentence may end, a few rules decide each place.
- Documents to units: paragraphs, sentences, chunks of N words, each a slice of its document and a separate row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from nlpkit.errors import UsageError
from nlpkit.platform.types import IntArray, LongArray


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What a full stop after the form says: never an end; no end before a number; an end before a word that starts sentences;
# an end before any capital.
NEVER, BEFORE_NUMBER, MAY_END, ENDS_BEFORE_CAPITAL = 1, 2, 3, 4

_NEVER = {
    "en": "Mr Mrs Ms Dr Drs Prof Rev Hon Gov Govs Sen Sens Rep Reps Gen Col Lt Capt Cmdr Sgt Cpl Pfc Spc Maj Adm Pres Supt Messrs Mx Fr "
    "Amb Atty Brig Insp Det Msgr Mme Mlle Pvt Treas Assoc e.g i.e eg ie viz cf vs approx ca incl",
    "de": "Dr Prof Hr Hrn Fr Dipl Ing Kfm Univ Stud Frl Bgm Hptm Gen Abg Präs Stv stellv bzw vgl ca evtl ggf inkl exkl sog bez "
    "bes insb insbes einschl zzgl abzgl ehem entspr bspw dt engl frz ital lat griech röm kath evang österr schweiz Kard Hl hl "
    "phil rer nat med jur h.c z.B d.h i.A i.V z.T z.Zt z.Hd o.ä i.d.R i.S.d i.S.v m.E m.W s.o s.u a.a.O v.Chr n.Chr",
    "fr": "Mme Mmes Mlle Mlles Mgr Dr Pr Ste env cf éd av c.-à-d p.ex",
    "es": "Sr Sra Srta Sres Sras Dña Dr Dra Prof Profa Ing Lic Arq Gral Cnel Mons Sto Sta Ud Uds Vd Vds aprox depto pte Excmo "
    "Ilmo EE p.ej",
    "it": "Sig Sigg Dott Dr Prof Avv Ing Arch Geom Rag Mons Gen Egr Spett cfr es Ten On dott.ssa prof.ssa sig.ra",
    "nl": "dhr mevr mw dr drs ir ing prof bijv resp ca mej jhr zgn vgl incl excl ds mr m.b.t d.w.z o.a m.n t.o.v",
    "pt": "Sr Sra Srta Dr Dra Prof Profa Eng Exmo Exma Ilmo Rev Gen Cel Pe aprox p.ex",
    "sv": "t.ex bl.a d.v.s dvs ca dr prof resp fr hr st kl f.d", "da": "f.eks bl.a dvs ca dr prof hr fr evt inkl ekskl",
    "no": "f.eks bl.a dvs ca dr prof hr fr evt inkl ekskl", "fi": "esim ks vrt prof toht maist",
    "pl": "np tzn tzw prof dr hab mgr inż św ul woj płk gen mjr kpt por red ks m.in",
    "cs": "např tzv prof dr ing mgr doc sv tzn popř resp gen plk t.j",
    "ru": "г-н г-жа им ул проф акад доц тов св гр см напр т.е т.к т.н", "tr": "Dr Prof Doç Av Yrd Sn Hz Alb bkz örn Öğr Gör",
}  # fmt: skip
_BEFORE_NUMBER = {
    "en": "No Nos pp Vol Vols Fig Figs Sec Secs Ch Art Arts par para paras Eq Eqs Ex Bk App Rte Apt Tab Ref refs "
    "no nos vol vols fig figs sec secs ch art arts eq eqs",
    "de": "Nr Nrn Art Abs Abb Tab Kap Bd Bde Ziff Rn Rz Anm Aufl Jg Bl Fn Lit Str Tel",
    "fr": "no art pp vol fig chap tél", "es": "núm nº art arts pp pág págs vol fig tel", "it": "nn art artt pp pag pagg vol fig tel",
    "nl": "nr nrs art pp blz vol hfst afb tel", "pt": "nº art arts pp pág págs vol fig tel", "pl": "nr art ust pkt poz str tel rozdz",
    "cs": "čl odst str tel kap", "ru": "стр рис табл гл пп ст тел", "tr": "No md tel", "sv": "nr kap sid fig tel",
    "da": "nr kap fig tlf stk", "no": "nr kap fig tlf", "fi": "nro puh",
}  # fmt: skip
_MAY_END = {
    "en": "Inc Corp Co Cos Ltd LLC Plc Jr Sr Esq Bros Mfg Intl Assn Dept Univ Inst St Mt Ft Ave Blvd Rd Hwy Sq al Jan Feb Mar Apr "
    "Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun pm ft lb lbs oz hr hrs mph min mins sec yr "
    "yrs Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb Nev Okla Ore Pa Penn "
    "Tenn Tex Va Vt Wash Wis Wyo Ont Que",
    "de": "Jan Feb Mrz Apr Jun Jul Aug Sept Sep Okt Nov Dez Mo Di Mi Do Sa Mio Mrd Tsd Std Min Sek Co Ges Verl Hrsg Hg Jr St "
    "Jh Jhd Jhdt geb gest verh bzgl gem lt allg resp max mind Sen",
    "fr": "St janv févr avr juil sept oct nov déc Cie boul Me ex",
    "es": "UU EE.UU Cía Ltda Avda Ctra ene feb abr jun jul ago sept oct nov dic",
    "it": "S.p.A Soc gen feb mar apr mag giu lug ago sett ott nov dic", "nl": "jan feb mrt apr jun jul aug sept okt nov dec mln mld",
    "pt": "Ltda Cia Av jan fev abr jun jul ago nov dez", "pl": "r w tys mln mld zł ok godz", "cs": "r tis mil mld hod",
    "ru": "г гг в вв тыс млн млрд руб коп ок",
}  # fmt: skip
_ENDS_BEFORE_CAPITAL = {
    "en": "etc", "de": "etc usw usf ff", "fr": "etc", "es": "etc", "it": "ecc", "nl": "etc enz", "pt": "etc", "sv": "osv m.m",
    "da": "osv m.m", "no": "osv m.m", "fi": "jne ym yms", "pl": "itd itp", "cs": "atd apod", "ru": "т.д т.п др", "tr": "vb",
}  # fmt: skip
# Words of one language that are common in another: they count only when the language is named.
_NOT_IN_GENERAL = _words_of(
    "es On Ten mr ds st fr red por ks sv im gr min sec max mind gem lt ex Me mar set out ago ok mil doc Alb"
)

# Words that often start a sentence and seldom a name.
STARTERS = {
    "en": "The A An This That These Those There Here He She It We They You I His Her Its Our Their My Your In On At By For From "
    "With As But And Or So Yet Nor If When While After Before Because Since Although Though However Thus Therefore Hence What "
    "Who Why How Where Which Whether Not Yes Now Then Also Even Only Just Some Many Most All Both Each Every Other Others Another "
    "One Two Three Several Such Meanwhile Moreover Nevertheless Once Under Over Until Unless Despite During Among According "
    "Last Later Next It's He's She's That's There's I'm I've We're They're You're Don't Let's Let Is Are Was Were Do Does Did "
    "Has Have Had Can Could Should Would Still Again Today Yesterday Tomorrow To Of Are",
    "de": "Der Die Das Den Dem Des Ein Eine Einer Einem Einen Es Er Sie Wir Ihr Ich Du Man Und Oder Aber Doch Denn In Im Am An Auf "
    "Aus Bei Beim Mit Nach Von Vom Vor Zu Zum Zur Für Gegen Ohne Um Unter Über Durch Seit Bis Während Wegen Trotz Als Wenn Weil "
    "Da Dass Ob Obwohl Wie Was Wer Wo Warum Wann Welche So Nun Dann Dort Hier Dies Diese Dieser Dieses Diesen Diesem Auch Nur "
    "Noch Schon Nicht Kein Keine Sein Seine Ihre Unser Unsere Mein Meine Alle Viele Einige Mehr Jetzt Heute Gestern Morgen "
    "Außerdem Allerdings Jedoch Dabei Damit Davon Dazu Danach Dagegen Daher Deshalb Zudem Insgesamt Laut Bereits Zuvor Seitdem "
    "Ja Nein Hat Ist Sind War Waren Wird Wurde Wurden",
    "fr": "Le La Les L' C' J' D' N' S' Qu' Un Une Des Du Il Elle Ils Elles On Nous Vous Je Tu Ce Cet Cette Ces Son Sa Ses Leur "
    "Leurs Mais Et Ou Donc Car Or En Dans Sur Sous Par Pour Avec Sans Après Avant Depuis Pendant Selon Si Quand Lorsque Comme Alors Ainsi "
    "Aussi Cependant Toutefois Enfin Puis Ensuite Qui Que Quoi Où Pourquoi Comment",
    "es": "El La Los Las Un Una Unos Unas Lo Su Sus Este Esta Estos Estas Ese Esa Esto Eso En Con Por Para Sin Sobre Según Desde "
    "Hasta Tras Pero Y O Si Cuando Como Aunque Porque Que Quien No Sí Ya Hay Es Era Fue También Además Sin Entonces Así Él "
    "Ella Ellos Nosotros Yo Se",
    "it": "Il Lo La I Gli Le Un Una Uno È Era Sono Si Non Ma E O In Con Per Da Su Tra Fra Di A Al Alla Nel Nella Dopo Prima Quando "
    "Se Come Anche Questo Questa Questi Queste Quello Che Chi Così Poi Ora Suo Sua Egli Lui Lei Noi Voi Loro",
    "nl": "De Het Een Hij Zij Ze Wij We Ik Jij Je U Dit Dat Deze Die In Op Van Voor Met Bij Na Naar Om Uit Over Door Maar En Of "
    "Want Als Toen Omdat Hoewel Er Zo Ook Niet Geen Wat Wie Waar Hoe Waarom Volgens Zijn Haar Hun Nu Dan",
    "pt": "O A Os As Um Uma Ele Ela Eles Elas Eu Nós Você Em No Na Nos Nas Com Por Para Sem Sobre Segundo Desde Mas E Ou Se Quando "
    "Como Embora Porque Que Quem Não Sim Já Há É Era Foi Também Este Esta Esse Essa Isso Isto Seu Sua",
    "sv": "Den Det De En Ett Han Hon Vi Jag Du Ni Men Och Eller I På Av För Med Från Till Efter När Om Som Så Här Där Detta Dessa",
    "da": "Den Det De En Et Han Hun Vi Jeg Du Men Og Eller I På Af For Med Fra Til Efter Når Hvis Som Så Her Der Dette Disse",
    "no": "Den Det De En Et Han Hun Vi Jeg Du Men Og Eller I På Av For Med Fra Til Etter Når Hvis Som Så Her Der Dette Disse",
    "fi": "Se Ne Hän He Me Te Minä Sinä Tämä Nämä Mutta Ja Tai Kun Jos Niin Myös Siellä Täällä On Oli Ei",
    "pl": "To Ten Ta Te On Ona Oni My Wy Ja W We Z Ze Na Do Od Po Przed Przy Dla Ale I A Lub Jeśli Gdy Kiedy Jak Nie Tak Jest Był",
    "cs": "To Ten Ta Ty On Ona Oni My Vy Já V Ve Z Ze Na Do Od Po Před Při Pro Ale A I Nebo Když Pokud Jak Ne Ano Je Byl",
    "ru": "Он Она Оно Они Мы Вы Я Ты Это Этот Эта Эти В Во На С Со К По За Из От До У О Об При Для Но И А Или Если Когда Как Так Не "
    "Да Нет Что Кто Где Почему Также После Перед",
    "tr": "Bu Şu O Biz Siz Ben Sen Onlar Ve Ama Fakat Ancak Bir Ne Kim Nasıl Neden Çünkü Eğer Daha Sonra",
}  # fmt: skip

# Languages that write ordinals with a full stop (am 3. Oktober, 1. máj), and small words that tell the two kinds apart.
ORDINAL_LANGUAGES = _words_of("de da no nb nn fi is et lv pl cs sk sl hr sr bs hu tr lb")
ORDINAL_WORDS = _words_of(
    "der die und ist nicht von mit den dem auf og det er på ikke ja on ei nie się je že és hogy ve bir için"
)
OTHER_WORDS = _words_of(
    "the of and to is le la les du est que el los las il che di per een het van não uma dos у что как"
)

# Only those with a capital: a small letter ends no sentence anyway.
MONTHS = _words_of(
    "Januar Jänner Februar Feber März April Mai Juni Juli August September Oktober November Dezember January February March May "
    "June July October December Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık"
)

# Names that are written with an exclamation mark.
NAMES_BEFORE_SIGN = _words_of("Yahoo Jeopardy Yum")


def kinds_of(language: str | None) -> dict[str, int]:
    """Return the kind of each form of a language (ISO 639-1), of all languages for None or one without a list."""
    table: dict[str, int] = {}  # a form of two kinds keeps the one that ends less
    general = language not in STARTERS
    for kind, forms in (
        (NEVER, _NEVER),
        (BEFORE_NUMBER, _BEFORE_NUMBER),
        (MAY_END, _MAY_END),
        (ENDS_BEFORE_CAPITAL, _ENDS_BEFORE_CAPITAL),
    ):
        for form in _words(forms, language):
            if general and form in _NOT_IN_GENERAL:
                continue
            table.setdefault(form, kind)
            table.setdefault(form[:1].upper() + form[1:], kind)
            if kind == NEVER or len(form) > 2 or form in ("Co", "Jr", "Sr", "No"):  # LA and ME are also other words
                table.setdefault(form.upper(), kind)
    return table


def starters_of(language: str | None) -> frozenset[str]:
    """Return the words that often start a sentence in a language, in all languages for None or one without a list."""
    return frozenset(_words(STARTERS, language))


def _words(lists: dict[str, str], language: str | None) -> list[str]:
    if language is not None and language in STARTERS:
        return lists.get(language, "").split()
    return [word for words in lists.values() for word in words.split()]


# ------------------------------------------------------------------------------------------------------------------------
# Texts to sentences by rules: one pass finds where a sentence may end, a few rules decide each place.
#
# The rules are those a reader would name: a blank line ends a sentence; so do the full stops of scripts without spaces; a full
# stop before white space does unless a small letter follows, or it belongs to an abbreviation, an initial, an ordinal or the
# number of a list item. After an abbreviation that may stand at the end (U.S., Inc., etc.) the next word decides (Grefenstette
# & Tapanainen 1994; Mikheev 2002 for the words that start sentences).

# Full stops that need no space after them: Chinese and Japanese, danda, Urdu, Arabic, Armenian, Ethiopic, Burmese, Khmer.
_ALWAYS = "。！？｡।॥۔؟։።။។"
_STOPS = ".!?…‽"
_TAG = r"</?[A-Za-z][^<>]{0,300}>"
_TAIL_TAG = r"\s*<(?:/[A-Za-z][^<>]{0,300}|[bB][rR]\s*/?)>"
_CLOSERS = rf"(?:[\"'”’“»«›‹)\]}}」』）】〉》]|[ \u00a0\u202f]»(?![^\s.,;:])|\[\d{{1,3}}\]|{_TAIL_TAG})*"
# What parts paragraphs, as the rest of a pattern after its first character: a blank line, a new page; in HTML two line breaks,
# </p>, or <p>, which belongs to what follows.
BREAK_STARTS = r"\n\f\u2029<"
BREAK_REST = (
    r"(?<=\n)[^\S\n]*\n\s*|(?<=[\f\u2029])\s*"
    r"|(?<=<)(?:[bB][rR]\s*/?>\s*(?:<[bB][rR]\s*/?>\s*)+|/[pP]>\s*|(?P<paragraph>[pP](?:\s[^<>]{0,300})?>))"
)
# The first character is one set, so that the search runs at the speed of the scan for it; then what it must be followed by:
# stop, closers and space; a stop that needs none; the end of a paragraph.
_CANDIDATE = re.compile(
    rf"[{_STOPS}{_ALWAYS}{BREAK_STARTS}](?:"
    rf"(?<=[{_STOPS}])(?<![{_STOPS}]{{2}})(?P<more>[{_STOPS}]*)(?P<close>{_CLOSERS})(?P<space>\s+|(?<=>))"
    rf"|(?<=[{_ALWAYS}])[{_ALWAYS}{_STOPS}]*(?P<shut>{_CLOSERS})\s*|{BREAK_REST})"
)
_ONLY_TAGS = re.compile(rf"\s*(?:{_TAG}\s*)*")
_MANY_TAGS = 1000  # characters of tags at the beginning of a sentence that are looked through
# After a closing bracket: a small kana, a particle or a comma goes on with the sentence around the quotation.
_GOES_ON = frozenset("とっってはがをにもでのなだやか、，,")
_OPENERS = "\"'„“”‚‘’«»‹›([{¿¡「『（【-–—•*·>|"
_OPENING = re.compile(rf"[\s{re.escape(_OPENERS)}]*(?:{_TAG}\s*)*")
_WORD = re.compile(r"\w+(?:['’]\w+)?")
# Initials and what is written like them: B, U.S, Ph.D
_INITIALS = re.compile(r"[^\W\d_]|(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
# One-letter words with full stops before the last: z. B, U.S, и т. д
_SPACED = re.compile(r"(?<!\w)(?:\w\.\s?)+\w$")
_ROMAN = re.compile(r"[IVXLC]{1,6}$")
_LOOK_BACK = 32  # characters: no abbreviation is longer
_AROUND = 1000


@dataclass(frozen=True, slots=True)
class _SentenceRules:
    """Sentence rules of a language; ordinals None: to be guessed from the text around."""

    kinds: dict[str, int]
    starters: frozenset[str]
    ordinals: bool | None


@lru_cache(maxsize=64)
def _rules(language: str | None) -> _SentenceRules:
    known = language in STARTERS or language in ORDINAL_LANGUAGES
    return _SentenceRules(kinds_of(language), starters_of(language), language in ORDINAL_LANGUAGES if known else None)


def sentence_spans(text: str, language: str | None = None) -> list[tuple[int, int]]:
    """Return the sentences of a text as character spans [start, end), in order, without white space around them.

    Together the spans hold every character that is not white space; tags and footnote marks after a full stop belong to the
    sentence before. A single line break never ends a sentence.

    Args:
        text: any text.
        language: ISO 639-1 code, for its abbreviations and ordinals; None or an unknown one: the lists of all languages.
    """
    rules = _rules(language)
    small = text.islower()  # a text without capitals: a small letter says nothing
    spans: list[tuple[int, int]] = []
    start = 0
    for candidate in _CANDIDATE.finditer(text):
        if candidate["space"] is not None:
            end = candidate.start("space")
            ends = _ends(text, start, candidate, rules, small)
        elif candidate["shut"] is not None:
            end = candidate.end("shut")
            ends = not (candidate["shut"] and text[end : end + 1] in _GOES_ON)
        else:
            end = candidate.end() if candidate["paragraph"] is None else candidate.start()
            ends = end - start > _MANY_TAGS or not _ONLY_TAGS.fullmatch(text, start, end)
        if ends:
            _add(spans, text, start, end)
            start = end
    _add(spans, text, start, len(text))
    return spans


def _add(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    """Append the span without the white space around it, if anything is left."""
    piece = text[start:end]
    left, right = len(piece.lstrip()), len(piece.rstrip())
    if left:
        spans.append((end - left, start + right))


def _ends(text: str, start: int, candidate: re.Match[str], rules: _SentenceRules, small: bool) -> bool:
    """Decide whether a stop with white space after it ends the sentence that began at `start`."""
    space = candidate["space"]
    if space.count("\n") > 1 or "\f" in space or "\u2029" in space:
        return True
    at = candidate.end()
    first = text[at : at + 1]
    if not first.isalnum():
        at = _OPENING.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
        first = text[at : at + 1]
        if first in ",;:)]}/%":  # includes the end of the text
            return not first
    stop = text[candidate.start()]
    named = (
        stop == "!"
        and _last_token(text[max(start, candidate.start() - _LOOK_BACK) : candidate.start()]) in NAMES_BEFORE_SIGN
    )
    if first.islower() and not small and not text[at + 1 : at + 2].isupper():  # eBay and iPhone start sentences
        return stop in "!?" and not candidate["close"] and not named
    if named:
        return _starts_sentences(text, at, rules)
    return stop != "." or bool(candidate["more"]) or _full_stop_ends(text, start, candidate.start(), at, rules)


def _full_stop_ends(text: str, start: int, stop: int, at: int, rules: _SentenceRules) -> bool:
    """Decide whether the single full stop at `stop` ends its sentence; the next one would begin with the letter at `at`."""
    window = text[max(start, stop - _LOOK_BACK) : stop]
    token = _last_token(window)
    kind = rules.kinds.get(token)
    if kind is None:
        if len(token) > 3 and token.isalpha():  # most words
            return True
        if token.isdecimal():
            return _number_ends(text, start, stop, at, token, rules)
        kind = _kind_of_letters(token, window, rules)
    if kind == NEVER or (kind == BEFORE_NUMBER and text[at].isdecimal()):
        return False
    if len(token) == 1 and _is_alone(text, start, stop, token):  # a. First item
        return False
    if kind == MAY_END or (kind == BEFORE_NUMBER and len(token) == 1):
        return _starts_sentences(text, at, rules)
    return True


def _last_token(window: str) -> str:
    """Return what stands between the last white space and the end, without quotes and brackets before it."""
    if not window or window[-1].isspace():
        return ""
    return window.split()[-1].lstrip(_OPENERS)


def _kind_of_letters(token: str, window: str, rules: _SentenceRules) -> int | None:
    """Return the kind of a token that is not in the list: initials, U.S, z. B, Lt.-Gen, VIII before a noun."""
    if "-" in token:
        token = token.rsplit("-", 1)[1]
        return rules.kinds.get(token) or (MAY_END if _INITIALS.fullmatch(token) else None)
    if _INITIALS.fullmatch(token):
        spaced = _SPACED.search(window)
        known = rules.kinds.get("".join(spaced[0].split())) if spaced else None
        return known or MAY_END
    if rules.ordinals and _ROMAN.fullmatch(token):
        return MAY_END
    return None


def _number_ends(text: str, start: int, stop: int, at: int, number: str, rules: _SentenceRules) -> bool:
    """Decide whether a full stop after a number ends a sentence: not in a date, an ordinal (3. Liga) or a list number."""
    if len(number) > 2:
        return True
    if _is_alone(text, start, stop, number):
        return False
    word = _WORD.match(text, at)
    if word and word[0] in MONTHS:
        return False
    ordinals = rules.ordinals
    if ordinals is None:
        block = stop - stop % _AROUND  # the same window for many places, so that it is counted once
        ordinals = _writes_ordinals(text[max(0, block - _AROUND) : block + 2 * _AROUND])
    return not ordinals or _starts_sentences(text, at, rules)


@lru_cache(maxsize=64)
def _writes_ordinals(window: str) -> bool:
    """Guess from the small words of a text whether its language writes ordinals with a full stop."""
    around = [word.lower() for word in _WORD.findall(window)]
    return sum(w in ORDINAL_WORDS for w in around) >= sum(w in OTHER_WORDS for w in around)


def _is_alone(text: str, start: int, stop: int, token: str) -> bool:
    """Return whether the token is all there is of its sentence, as the number of a list item is."""
    return stop - start < _LOOK_BACK and text[start:stop].strip().lstrip(_OPENERS) == token


def _starts_sentences(text: str, at: int, rules: _SentenceRules) -> bool:
    """Return whether the word there often starts a sentence; L' of L'homme counts as a word."""
    word = _WORD.match(text, at)
    if not word or (len(word[0]) == 1 and text[word.end() : word.end() + 1] == "."):  # B. A. Miller
        return False
    head, apostrophe, _ = word[0].replace("’", "'").partition("'")
    head = head[0].upper() + head[1:]  # in a text without capitals
    return head in rules.starters or (bool(apostrophe) and f"{head}'" in rules.starters)


# ------------------------------------------------------------------------------------------------------------------------
# Documents to units: paragraphs, sentences, chunks of N words, each a slice of its document and a separate row.

Span = tuple[int, int]

KINDS = ("document", "paragraph", "sentence", "chunk")
ID, TEXT, PARENT, NUMBER = "id", "text", "parent_id", "unit_number"
OF_THE_WHOLE = ("tokens", "embedding")  # columns that say something of the document and nothing of a part of it

_BREAK = re.compile(rf"[{BREAK_STARTS}](?:{BREAK_REST})")
_INDENTS = ("  ", "\t", "\u3000")
_UNWRAPPED = re.compile(r"[^\n]{121}")  # longer than any line broken by hand or by a mail program
# Scripts written without spaces: a character is a word (Han, Hiragana, Katakana, Thai, Lao, Burmese, Khmer).
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_UNITS_OPENING = re.escape("「『（【《〈“‘([")


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a row: kind is document, paragraph, sentence or chunk; size is the words of a chunk, else 0."""

    kind: str
    size: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.size}" if self.size else self.kind


@dataclass(frozen=True, slots=True)
class UnitSplit:
    """The units of a batch, in order.

    parents (U,) int64: row of the document; numbers (U,) int32: place in its document, from 0; starts, ends (U,) int64:
    characters of the document's text; texts (U,) large_string.
    """

    parents: LongArray
    numbers: IntArray
    starts: LongArray
    ends: LongArray
    texts: pa.Array


def parse_unit(text: str) -> Unit:
    """Read document, paragraph, sentence or chunk:N.

    Raises:
        UsageError: it is none of them, or N is not a number of words above 0.
    """
    kind, colon, size = text.strip().lower().partition(":")
    if kind == "chunk":
        if not (size.isascii() and size.isdecimal() and len(size) < 7 and int(size) > 0):
            raise UsageError(f"`unit={text}`: a chunk needs its number of words, 1 to 999999, such as chunk:200")
        return Unit(kind, int(size))
    if kind not in KINDS or colon:
        raise UsageError(f"`unit={text}`: give document, paragraph, sentence or chunk:N (N words, such as chunk:200)")
    return Unit(kind)


def split_texts(texts: pa.Array, unit: Unit, language: str | None = None) -> UnitSplit:
    """Cut texts (D,) into units, slices of them without white space around; a text without any keeps one empty unit.

    - paragraph: what blank lines part. Without one, every line is a paragraph if a line has more than 120 characters (such
      lines are not broken to fit a page); else an indented line after one that is not starts a paragraph.
    - sentence: `sentence_spans`, with the language (ISO 639-1) if it is known.
    - chunk: N words from the start on; a rest of less than N/2 words joins the chunk before it, so that the last chunk has
      N/2 to 3N/2 words. A character of a script without spaces is a word, its punctuation included.
    - document: the whole text, white space and all.

    Args:
        texts: (D,) Arrow string or large_string; null counts as empty.
    """
    spans_of = _cutter(unit, language)
    parents: list[int] = []
    numbers: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    slices: list[str] = []
    for row, value in enumerate(texts):
        text = value.as_py() or ""
        for number, (start, end) in enumerate(spans_of(text) or [(0, 0)]):
            parents.append(row)
            numbers.append(number)
            starts.append(start)
            ends.append(end)
            slices.append(text[start:end])
    return UnitSplit(
        np.array(parents, np.int64),
        np.array(numbers, np.int32),
        np.array(starts, np.int64),
        np.array(ends, np.int64),
        pa.array(slices, pa.large_string()),
    )


def unit_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of units: id, parent_id, unit_number, text, then the others but those of the whole document.

    A parent_id or unit_number that is there already (units of units) is replaced.
    """
    ours = [pa.field(ID, pa.string()), pa.field(PARENT, pa.string()), pa.field(NUMBER, pa.int32())]
    known = (ID, PARENT, NUMBER, TEXT, *OF_THE_WHOLE)
    others = [field for field in schema if field.name not in known]
    return pa.schema([*ours, pa.field(TEXT, pa.large_string()), *others], metadata=schema.metadata)


def unit_batch(batch: pa.RecordBatch, unit: Unit, language: str | None = None) -> pa.RecordBatch:
    """Return a row per unit of a batch with id and text: id <parent>#<number from 0>, every other column repeated.

    Ids stay unique where those of the batch were. See `unit_schema` for the columns, `split_texts` for the units.
    """
    split = split_texts(batch.column(TEXT), unit, language)
    rows = pa.array(split.parents)
    parents = batch.column(ID).take(rows).cast(pa.string())
    ids = [f"{parent}#{number}" for parent, number in zip(parents.to_pylist(), split.numbers.tolist(), strict=True)]
    schema = unit_schema(batch.schema)
    ours = {ID: pa.array(ids, pa.string()), PARENT: parents, NUMBER: pa.array(split.numbers), TEXT: split.texts}
    columns = [ours[name] if name in ours else batch.column(name).take(rows) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cutter(unit: Unit, language: str | None) -> Callable[[str], list[Span]]:
    if unit.kind == "paragraph":
        return paragraph_spans
    if unit.kind == "sentence":
        return lambda text: sentence_spans(text, language)
    if unit.kind == "chunk":
        return lambda text: chunk_spans(text, unit.size)
    return lambda text: [(0, len(text))]


def paragraph_spans(text: str) -> list[Span]:
    """Return the paragraphs of a text as spans [start, end) without white space around; see `split_texts`."""
    breaks = [match.start() if match["paragraph"] else match.end() for match in _BREAK.finditer(text)]
    spans = _between(text, breaks)
    if len(spans) != 1 or "\n" not in text[slice(*spans[0])]:
        return spans
    lines = [0, *(at + 1 for at, c in enumerate(text) if c == "\n")]
    if _UNWRAPPED.search(text):
        return _between(text, lines)
    indented = [text.startswith(_INDENTS, at) for at in lines]
    return _between(
        text, [at for at, now, before in zip(lines[1:], indented[1:], indented, strict=False) if now > before]
    )


def _between(text: str, breaks: list[int]) -> list[Span]:
    """Return what lies between the places, without white space around."""
    spans, start = [], 0
    for end in [*breaks, len(text)]:
        piece = text[start:end]
        left = len(piece.lstrip())
        if left:
            spans.append((end - left, start + len(piece.rstrip())))
        start = end
    return spans


def chunk_spans(text: str, size: int) -> list[Span]:
    """Return chunks of `size` words as spans [start, end) without white space around; see `split_texts`."""
    chunk, word = _patterns(size)
    spans = [(match.start(), match.start() + len(match[0].rstrip())) for match in chunk.finditer(text)]
    if len(spans) > 1 and 2 * sum(1 for _ in word.finditer(text, spans[-1][0])) < size:
        spans[-2:] = [(spans[-2][0], spans[-1][1])]
    return spans


@lru_cache(maxsize=8)
def _patterns(size: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    word = rf"(?:[{_UNITS_OPENING}]*+[{_UNSPACED}][^\w\s{_UNITS_OPENING}]*+|[^\s{_UNSPACED}]++)"
    return re.compile(rf"(?:{word}\s*+){{1,{size}}}+"), re.compile(word)
