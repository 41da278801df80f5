"""Stop words: lists for each language, lists and patterns of the user, and terms in nearly every document.

Both collections hold words that carry meaning: stopwords-iso gathers the lists of many programs ('Jahr', 'Mensch',
'monde', 'год', 'world'), stop-words holds lists of newspaper words. Every list below was read through: `KEPT` are the
words of it that stay in a text (a * ends a stem), `ADDED` are function words it lacks. `both` takes what the two agree on.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.platform.types import BoolArray, LongArray

# fmt: off
SOURCES: dict[str, str] = {
    "ar": "iso", "bg": "both", "bn": "iso", "ca": "iso", "cs": "both", "da": "iso", "de": "iso", "el": "iso",
    "en": "sklearn", "eo": "iso", "es": "both", "et": "iso", "eu": "iso", "fa": "both", "fi": "both", "fr": "iso",
    "ga": "iso", "gl": "iso", "gu": "both", "he": "iso", "hi": "both", "hr": "iso", "hu": "both", "hy": "iso",
    "id": "both", "it": "iso", "ja": "iso", "ko": "iso", "la": "iso", "lt": "iso", "lv": "iso", "mr": "iso",
    "ms": "both", "nl": "iso", "no": "stop-words", "pl": "both", "pt": "iso", "ro": "iso", "ru": "both", "sk": "iso",
    "sl": "iso", "sv": "both", "sw": "iso", "th": "iso", "tl": "iso", "tr": "iso", "uk": "stop-words", "vi": "both",
    "zh": "iso", "af": "iso",
}
ALIASES = {"nb": "no", "nn": "no", "sr": "hr", "bs": "hr"}  # one list for two names of nearly one language

KEPT: dict[str, str] = {
    "af": "gesê sien",
    "ar": """اثر اجل اطار اعادة اعلنت اكد الاخيرة الذاتي السابق الماضي المقبل الوقت اليوم ايار ايام باسم برس
        زيارة سنة سنوات شخصا صباح صفر عام عاما عامة عدد قوة لقاء للامم لوكالة مايو مساء مليار مليون نهاية
        واضاف واضافت واكد واوضح وقال وقالت قال وقف يوم أخ أب حم و6 شرع عين كرب نفس معاذ جلل""",
    "bg": """автентичен бивш* време глас главен главн* година години годишен ден дни добр* добър живот забавям
        евтин екип еднакв* еднакъв лес* лош месец мокър нов* равен равна смях харесва хиляди юмрук син пъти""",
    "bn": """উত্তর কাজ কাজে কোটি চেষ্টা জন জনকে জনের নতুন প্রাথমিক বক্তব্য বন বিশেষ বিষয়টি ব্যবহার লক্ষ সাধারণ
        হাজার""",
    "ca": "consegu* llarg saben sabem saber sabeu sap saps baix",
    "cs": """ahoj clanek clanku clanky design email děkovat děkujeme děkuji dobrý napište nov* strana tema tipy
        tisíc* čau článek článku články den""",
    "da": "far god godt hej lad lav lille mand ny nyt okay se ser ses sige stor store tag tage nær",
    "de": """ag allgemeinen bekannt beispiel besser* best* dank dasein ehrlich ende endlich ernst gehen geht ging
        gott gleich groß* gross* gut gute guter gutes gern heisst hoch jahr* kam klein* kommen kommt kurz
        lang lange leicht leide lieber los mahn mann mensch* mittel morgen möglich nahm neue neuen offen
        ordnung recht* richtig rund sa sache sagt sagte gesagt sah satt schlecht schluss startseite steht
        suche tag tage tagen tat teil tel tritt uhr vergangenen wahr wissen zeit gekannt willst früher""",
    "el": "αληθεια αληθινα αριστερα κακα καλα χαμηλα ψηλα ωραια",
    "en": """amount bill bottom call cry describe detail empty fill fire front full interest mill move name
        serious show side sincere system thick thin top""",
    "eo": "adiaŭ bonan doktor* doktoro feliĉan fraŭlino sinjor*",
    "es": """afirmó agregó añadió aseguró comentó conocer consegu* consig* considera consideró cosas cuenta creo
        dejó decir dice dicen dicho dieron dijeron dijo ejemplo emple* ampleamos estado estados existe
        existen explicó expresó fin gran grandes gueno indicó informó intent* largo llegó lleva llevar lugar
        manera manifestó mejor mencionó modo* momento nuev* parte partir pasada pasado podrian poner
        posible* principal* próxim* quedó realizad* realizar realizó respecto sabe* saber sabemos señaló
        sigue siguiente tiempo total trabaj* trata usa usai* usamos usan usar usas uso valor veces ver
        verdad* vez buen* ultimo última* último*""",
    "fa": """آباد استفاد استفاده اعلام امور بخش بخشی برخوردار برداري بزرگ بهتر بهترين بندي جديد جدید جريان جریان
        جلوگيري جناح حق خدمات خوب راحت راه روز روزانه روزهاي زمان زمانی زمینه ساخته سازي سالانه سالیانه سعي
        شناسي صورت عمل فكر گروهي مجانی مردم ميليارد ميليون نام نزديك نگاه نوع نوعي نوعی وضع هزار رسید کامل
        ريزي واقعی امسال پارسال ! , . : ، ؛ ؟ ٪""",
    "fi": """aika aikaa aikaan aikajen aikoina aikoo aikovat aiomme aion aiotte aloit* annett* annettu antaa
        antamatta antoi apu asia* asioi* asiat avuksi avun halua* halunnut halus* halutessa haluton helposti
        hyvi* hyvä* hetkellä joukkoon joukossa joukosta kiitos menee meneet menemme menen menet menette
        menevät meni men* nopea* nopei* paremmin parempi parhai* pien* suure* suuri* suuria suuntaan
        tapauksessa tavalla tavoitteena toisaal* tuhannen tuhat uude* uusi* uuteen uutta vaikea* vaikean
        vuoden vuosi* vuotta vaiheessa kannattaa""",
    "fr": """bas basee cent cher chers chiche chère chères clac clic couic crac début directe directement dire
        dit dite dits dring droite debout essai exterieur* extenso façon flac floc force gens haut importe
        juste laisser maximale merci mille mince minimale moindres mot multiple multiples naturel*
        necessair* neuf nommés nombreuses nombreux nouveau nouveaux nul ouvert* paf pan parle parlent parler
        parole parseme partant particuli* passé pense personne personnes pff* pièce pif plein plouf
        possessif* possible possibles pouah probable probante procedant proche prealable psitt pur pure rare
        rarement rares relative* remarquable rend rendre restant reste restent restrictif revoici revoilà
        sacrebleu sapristi sein semblable* semblaient semble semblent sent sait specifique* speculatif stop
        strictement subtiles suffi* sujet suivre superpose tac tardive tenir tente tic toc touchant tsoin
        tsouin unique* uniformement valeur vif vifs vivat vive vives vlan""",
    "he": "עז נגר",
    "hi": "घर वर्ग ऱ्वासा संग",
    "hu": "cikk cikkek cikkeket jobban jó jól keressünk nagy nagyobb teljes új újabb",
    "id": "dini hal kecil mampu lama lamanya macam bermacam percuma",
    "it": """accidenti anni anno ansa attesa basta benissimo brava bravo caso cima citta città comprare
        conclusione consecutiv* consiglio cortesia dice dire detto diventa* diventat* esempio favore fine
        forza futuro generale gente giorni giorno grande grazie gruppo haha improvviso inc lasciato lato
        lontano luogo mezzo mila miliardi milioni minimi modo momento mondo nome nuov* ore paese parte
        partendo peccato peggio persone piedi piglia possedere posteriore posto presa press promesso recente
        registrazione relativo riecco scola scopo scorso seguente seguito tempo titolo triplo trovato uguali
        ulteriore uomo vale vicino visto vita volta volte subito meglio maggior""",
    "ko": "구토하다 년 놀라다 도달하다 도착하다 시각 시간 월 이용하여 토하다",
    "la": "re rebus rem res",
    "mr": "काम कोटी टा निर्ण्य परयतन पाटील माहिती मुबी लाख व्यकत सागित्ले हजार",
    "ms": "mendapat mendapatkan mengadakan orang perkara pertama",
    "nl": "duizend honderd klaar vol vrij recent mw nv",
    "pl": "dobrze godz hab inż kierunku lat mgr pan pana pani prof roku vol www zł dr",
    "pt": """ano anos apoio apontar baixo boa boas bom bons breve caminho cento certeza coisa comprido conhecido
        conselho corrente custa desligado dia direita dispoe* dizem dizer diz dúvida estado exemplo falta
        favor final forma geral grande grandes grupo hora horas iniciar inicio ligado local longe lugar
        maioria maiorias mal meses mês mil momento máximo nome noite nova novas novo novos nível número obra
        obrigad* parte partir pegar pessoas ponto pontos posição possível povo promeiro questão quieto
        relação saber sabe sabem sistema tarde tempo tentar* tente tentei tipo trabalh* usa usar valor veja
        ver verdade verdadeiro viagem vindo zero área cedo""",
    "ro": """acord bucur bună capat caut drept frumos graţie halbă mulţumesc noroc rog timp vreme zi zice pic
        spate departe mare""",
    "ru": """важн* времени время год года году говорил говорит день дел жизнь занят* лет люди лучше миллионов
        мира начала пор пора прекрасно процентов сказал сказала сказать спасибо пожалуйста тысяч уметь
        хорошо хотеть человек мор можхо мож меля нх сеаой бывь рано долго далеко недалеко низко многочисл*
        друго""",
    "sl": """april avgust cel* december dober dobr* dolg dolga dolgi februar g gor gospa gospod halo januar
        julij junij kratek kratk* lahk* lep* leto maj majhen majhn* marec mesec nedelja november odprt*
        oktober petek poln* ponedeljek pozdravljen* prazen prazn* primer pripravljen* september slab sobota
        sreda srednj* stran stvar težak težk* torek velik* visok* zaprt* četrtek""",
    "sv": """adjö beslut* bra bäst bättre dag dagar dagarna dagen delen enkel enkel* fin förlåt god* gott hög* kr
        lilla lite liten litet lätt* lång* långsam* möjlig möjligt nummer nödvändig* olika olikt rakt rätt
        sade sagt stor* större störst säga säger tack tidig* ursäkt varsågod viktig* vänst* långt""",
    "sw": "akasema alisema kubwa mdogo mkubwa muda nonkungu sauti tafadhali watu karibu kwenda",
    "th": "จัด ด้าน ผล พบ ร่วม ราย ส่ง วัน เปิด เปิดเผย",
    "tl": """bababa kumuha likod mahusay panahon pumunta pumupunta sabi sabihin nakita paggawa ilagay gumawa
        gusto""",
    "tr": "kaynak",
    "uk": """важлив* відсотків говорив день дякую життя зайнят* ім'я какая люди людина мати миру мільйонів
        початку прекрасно рок* рік сказав сказала сказати спасибі справ тисяч чудово час часу вміти хотіти""",
    "vi": """biết bà bài bác bản bộ cha chuyện chú cây cô cơ cậu hỏi lớn muốn nhà nhận nói năm ngày người ngọt
        ngôi ngọn tháng thanh việc răng căn cao bông cuốn""",
    "zh": "人 人们 年 月 日 秒 区 结果 当地 归 宁 打 看 望 朝 冒 儿 管 赶 请 称 说 叫 开始 中 上 下 分 大 小",
}

ADDED: dict[str, str] = {
    "bn": """আপনাকে আপনারা আপনাদের তোমাকে তোমরা তোমাদের তুই তোর একটা কখনো এখনো আরো কারো কোথায় কেমন কীভাবে
        কিভাবে সাথে এগুলো সেগুলো ছিলাম আছি আছো আছেন""",
    "ca": "l'un",
    "da": "ens",
    "de": """unserem unseren unseres würdest wurdest wärst wären würdet gibt's geht's hab's ist's wär's war's ums
        ans aufs fürs durchs übers unters vors sowohl bzw usw sobald falls obwohl trotz anstatt samt könnten
        müsste müssten solltest dürfte dürften wolle könne
        müsse solle dürfe möge werde""",
    "el": """μέχρι χωρίς εάν όταν όπως όπου ότι είναι είμαι είσαι είμαστε είστε ήταν ήμουν έχω έχεις έχει έχουμε
        έχετε έχουν είχα είχε είχαν εγώ εσύ αυτός αυτή αυτό αυτοί αυτές αυτά αυτού αυτής αυτών αυτόν αυτήν
        αυτούς εμείς εσείς εκείνος εκείνη εκείνο εκείνοι εκείνες εκείνα τώρα εδώ εκεί έτσι γιατί διότι
        επειδή καθώς ενώ αλλά όμως ωστόσο ή είτε ούτε όχι πολύ λίγο κάθε κάποιος κάποια κάποιο κάποιοι
        κάποιες όλα όλοι όλες όλων όλο όλη άλλος άλλη άλλο άλλοι άλλες άλλα τέτοια τέτοιο μόνο ακόμα ακόμη
        ήδη πάντα ποτέ μπορεί μπορούν πρέπει έξω πάνω κάτω μεταξύ όσο όσοι όσα λοιπόν δηλαδή επίσης ίδιο
        ίδια ίδιος οποίος οποία οποίο οποίοι οποίες οποίων οποίου οποίας αφού κάτι τίποτα κανείς κανένας
        κάποτε""",
    "en": "did does doing having just theirs that'd who've y'all o'clock gonna gotta wanna",
    "es": "cuyo cuya cuyos cuyas dónde ustedes tambien debajo delante quizá quizás cuál cuáles",
    "fa": "می‌کند نمی‌کند می‌توان می‌تواند شده‌است است‌",
    "fi": "ovatko eikö",
    "fr": """c'est c'était n'est n'a n'ont n'était s'est s'il s'ils qu'il qu'ils qu'elle qu'elles qu'on qu'un
        qu'une d'un d'une d'autres d'être d'avoir l'on l'un l'une l'autre j'ai j'avais j'étais m'a t'as t'es
        y'a jusqu'à jusqu'au jusqu'aux lorsqu'il lorsqu'on puisqu'il là-bas là-dessus""",
    "he": """הזה הזו הזאת האלה האם לך הכל הכול עוד כבר מאוד יותר פחות אפילו כדי לפי בו בה בהם בהן ממנו ממנה מהם
        מהן היו הייתי היית הייתה אלא לאחר""",
    "hi": """हूँ हूं रही गई गए थीं उन्होंने इन्होंने मैं हम तुम मुझे हमें वो क्या क्यों कैसे कहाँ कहां जिसके
        जिसमें आपको आपका आपके आपकी आपसे आपने तू तेरा तेरे तेरी तुम्हें तुम्हारा तुम्हारे तुम्हारी तुमको
        तुमसे तुमने मेरा मेरे मेरी मैंने हमारा हमारे हमारी हमने मुझसे उनसे इनसे उससे इससे उसका उसकी इतना
        इतने इतनी उतना कितने कितनी कब कभी कहीं क्योंकि ताकि अगर किंतु परंतु किन्तु परन्तु बल्कि ज्यादा
        ज़्यादा जिससे जिनके जिनका जिनकी जिसका जिसकी जिसने जिन्होंने सका सके सकती होगा होगी होंगे जाता जाती
        जाते ऐसा ऐसी वैसा वैसे यहां वहां अब""",
    "hu": "ahogyan ha hogyha őt lévő rajta ettől attól",
    "id": "untuk secara menjadi jadi",
    "it": "c'è c'era com'è cos'è dell'altro l'altro l'altra l'uno un'altra d'altra dov'è quell'altro s'è v'è",
    "ja": """まし ませ でし だろ だろう なけれ たい くれ しまっ じゃ そう どう さん
        ね よ って だけ けど けれど たら くらい ぐらい しか さえ こそ ばかり まだ もう なんか てる わ ぞ""",
    "nl": "'n 't 's zo'n m'n z'n",
    "no": "mens få gjennom hos kanskje mer mest må måtte nei dersom",
    "pl": "będę będziesz będziemy byłam byłem byliśmy jesteś jesteśmy jesteście którą swój swoją swoim",
    "pt": "dum duma àquele àquela",
    "ro": "și își ești toți puțin aceștia acești",
    "ru": "ко ибо либо своим своими твоих твоим моего моей моих моим нашего нашей наших нашим вашего вашей",
    "sl": """še lahko tem temu teh tej tema zato ampak zaradi kljub razen ima imam imaš imamo imate
        imajo imel imela imeli imelo ja niti pač sploh torej svoj svoja svoje svojega svojem svojemu svoji
        svojih svojo koliko toliko najbolj treba glede nisem nisi niso nismo niste nista vseh vsem vsemu
        vsej kateri katera katero katere katerega katerih katerem kakšen kakšna kakšno kakšne takšen
        takšna takšno takšne takrat tistega tistih tistem tale tole nihče ničesar nikogar njimi nami vami
        mano tabo jima ju morda bosta onega""",
    "sv": "emot ens mej nån nåt väl ta tar va dom",
    "tr": """mi mıyım miyim muyum müyüm mısın misin musun müsün mıyız miyiz muyuz müyüz mısınız misiniz musunuz
        müsünüz mıydı miydi muydu müydü mıdır midir mudur değilim değilsin değiliz değilsiniz değildir
        nedir""",
    "uk": """авжеж тощо отже отож тобто поза замість серед окрім щодо бо й із дещо можу можеш можемо можете маю
        маєш має маємо маєте мають яке яку яким якими би всі усі усе усіх їхній їхня їхнє їхні коли-небудь
        що-небудь хто-небудь якби аби щось хтось якийсь завдяки протягом""",
    "zh": "一直 没有 没 不会 可能 真的 已经",
}
# fmt: on

# Elided words before an apostrophe: an article, a pronoun, a preposition.
ELISIONS: dict[str, str] = {
    "fr": "l d j m t s n c qu jusqu lorsqu puisqu quoiqu",
    "it": "l d c m t s v n un all dall dell nell sull coll dagl degl quell quest sant anch com dov cos",
    "ca": "l d m t s n",
    "ga": "d b m",
}

# Behind the apostrophe of nouns: the possessive; the suffixes of Turkish names and numbers, in all harmonies.
ENCLITICS: dict[str, str] = {
    "en": "s",
    "tr": """a ca ce da daki dan de deki den di dir du dur dü dür dı dır e i in inde inden ine ini inin iyle ken ki
        la lar lara larda lardan larla ları ların le ler lerde lerden lere leri lerin lerle li lik lu luk lü
        lük lı lık miş muş müş mış na nda ndaki ndan nde ndeki nden ne ni nin nu nun nü nün nı nın si sinde
        sinden sine sini sinin siyle siz su suna sunda sundan sunu sunun suyla suz sü sünde sünden süne sünü
        sünün süyle süz sı sına sında sından sını sının sıyla sız ta taki tan te teki ten ti tir tu tur tü tür
        tı tır u un una unda undan unu unun uyla ya ydi ydu ydü ydı ye yi yken yla yle ymiş ymuş ymüş ymış yu
        yü yı ça çe ü ün ünde ünden üne ünü ünün üyle ı ın ına ında ından ını ının ıyla""",
}


# ------------------------------------------------------------------------------------------------------------------------
# Stop words: lists of languages, lists and patterns of the user, and terms that are in nearly every document.

_HARAKAT = re.compile("[\u064b-\u0652\u0640]")
_CEDILLAS = str.maketrans("şţ", "șț")  # Romanian before Unicode 3.0


def stop_words(codes: Iterable[str]) -> frozenset[str]:
    """Return the stop words of languages by ISO 639-1 code, lower-cased; a language without a list adds nothing.

    The lists are conservative (lecture: be conservative in stop word removal): articles, pronouns, prepositions,
    conjunctions, auxiliaries, particles, numerals and adverbs of degree. English is scikit-learn's list of 318 words less
    24 that carry meaning, with contractions; the others come from the packages stopwords-iso and stop-words, read through
    language by language (stopword_choices).
    """
    words: set[str] = set()
    for code in codes:
        words |= _stop_words_of(ALIASES.get(code, code))
    return frozenset(words)


def has_stop_words(code: str) -> bool:
    """Return whether there is a stop word list for a language code."""
    return code in SOURCES or code in ALIASES


def stop_word_languages() -> tuple[str, ...]:
    """Return the codes of all languages with a list."""
    return tuple(sorted({*SOURCES, *ALIASES}))


def clitics(codes: Iterable[str]) -> frozenset[str]:
    """Return what is cut off at an apostrophe in these languages, with it: l'été is été, dell'anno is anno, the city's is the city."""
    languages = list(codes)
    before = {f"{word}'" for code in languages for word in ELISIONS.get(code, "").split()}
    return frozenset(before | {f"'{word}" for code in languages for word in ENCLITICS.get(code, "").split()})


def stop_matcher(words: frozenset[str], patterns: Sequence[str] = ()) -> Callable[[str], bool]:
    """Return the test whether a lower-cased term is a stop word: it is one of `words` or a pattern matches all of it.

    Raises:
        UsageError: a pattern is no regular expression.
    """
    if not patterns:
        return words.__contains__
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(
                f"stop word pattern /{pattern}/ is not a regular expression: {error}", parameter="stop_words"
            ) from None
    matches = re.compile("|".join(f"(?:{pattern})" for pattern in patterns)).fullmatch

    def is_stop(term: str) -> bool:
        return term in words or matches(term) is not None

    return is_stop


def auto_stop(df: LongArray, n_docs: int, *, share: float) -> BoolArray:
    """Return the mask (V,) of terms that are in more than `share` of the documents, by document frequency df (V,).

    Raises:
        UsageError: the share is not in 0.0 … 1.0.
    """
    if not 0.0 <= share <= 1.0:
        raise UsageError(f"`auto_stop={share:g}`: a share of the documents from 0 to 1 is needed")
    return np.asarray(df > round(share * n_docs, 6))  # 0.07 of 100 documents is 7, not 7.000000000000001


@lru_cache(maxsize=64)
def _stop_words_of(code: str) -> frozenset[str]:
    source = SOURCES.get(code)
    if source is None:
        return frozenset()
    package_words = {_repaired(word, code) for word in _package_words(code, source)}
    kept = KEPT.get(code, "").split()
    stems = tuple(word[:-1] for word in kept if word.endswith("*"))
    words = {
        w
        for w in package_words - set(kept)
        if any(map(str.isalpha, w)) and " " not in w and not (stems and w.startswith(stems))
    }
    words |= {_repaired(word, code) for word in ADDED.get(code, "").split()}
    if code == "ro":
        words |= {word.translate(_CEDILLAS) for word in words}
    if code == "ar":
        words |= {_HARAKAT.sub("", word) for word in words}
    return frozenset(words - {""})


def _package_words(code: str, source: str) -> Iterable[str]:
    import stopwordsiso

    if source == "sklearn":
        contractions = {w for w in map(str.lower, stopwordsiso.stopwords(code)) if "'" in w}
        without = {w.replace("'", "") for w in contractions if w.endswith("n't")}
        return {*sklearn_words(), *contractions, *without}
    if source == "iso":
        return map(str.lower, stopwordsiso.stopwords(code))
    import stop_words as package  # type: ignore[import-untyped,unused-ignore]

    other = {word.lower() for word in package.get_stop_words({"no": "nb"}.get(code, code))}
    if source == "stop-words":
        return other
    return other & {word.lower() for word in stopwordsiso.stopwords(code)}


def sklearn_words() -> frozenset[str]:
    """Return scikit-learn's list; its module is loaded alone, which takes a thousandth of the time of loading scikit-learn."""
    package = find_spec("sklearn")
    assert package is not None
    assert package.submodule_search_locations is not None
    path = f"{package.submodule_search_locations[0]}/feature_extraction/_stop_words.py"
    spec = spec_from_file_location("nlpkit_sklearn_stop_words", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    words: frozenset[str] = module.ENGLISH_STOP_WORDS
    return words


def _repaired(word: str, code: str) -> str:
    """Return a word as the tokens are; repairs lists that were read in the wrong encoding."""
    if code == "lt":  # ISO 8859-13 read as 8859-1
        word = word.encode("latin-1", "ignore").decode("iso8859-13")
    elif code == "hu":
        word = word.translate(str.maketrans("õû", "őű"))
    elif code == "el":
        word = word.replace("∆", "δ")  # INCREMENT for the letter
    elif code == "tr" and any(c in word for c in "ýþðţđ"):
        return ""
    return unicodedata.normalize("NFC", word).replace("’", "'").strip("',")
