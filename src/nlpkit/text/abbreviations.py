"""Words that distinguish a full stop at the end of a sentence from one inside it, by language.

Forms are written as they stand in running text without their last full stop; `sentences` adds the spelling with a capital
and the one in capitals. A form with a capital (Sat, Mar) is not one in lower case. Forms of several words (z. B.) are
written without the spaces.
"""

from __future__ import annotations


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
