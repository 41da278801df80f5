"""Dates however they are written, read as days and times of day, and cut into years, quarters, weeks.

Parts, in this order:
- Names of months and weekdays in 42 languages, full and short, as the Unicode CLDR has them (tests compare with Babel).
- Dates read, in any of these languages, and the parts of dates.
"""

from __future__ import annotations

import calendar
import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache

from nlpkit.errors import ColumnError, UsageError
from nlpkit.platform import wording
from nlpkit.platform.wording import truncated

LANGUAGES = (  # codes of the CLDR
    "en de fr es it pt nl sv da nb nn fi pl cs sk sl ro hu tr ru uk bg el ca gl eu et lv lt id ms is cy "
    "af sq mk az kk hy ka ar fa "
)
_MONTHS = (  # from January on
    (
        "ene enero gen gener gennaio ian ianuarie ion ionawr jaan jaanuar jan janar janeiro januar januari "
        "januarie january január januára janv janvier janvāris janúar led leden ledna oca ocak saus sausio "
        "sausis sty styczeń stycznia tammi tammikuu tammikuuta urt urtarrila xan xaneiro yan yanvar ιαν "
        "ιανουάριος ιανουαρίου січ січень січня янв январь января яну януари јан јануари қаң қаңтар հնվ "
        "հունվար հունվարի يناير ژانویه იან იანვარი"
    ),
    (
        "chw chwef chwefror feb febbraio febr febreiro febrer febrero februar februari februarie february "
        "február februára februāris febrúar fev fevereiro fevral févr février helmi helmikuu helmikuuta lut "
        "lutego luty ots otsaila shk shkurt vas vasario vasaris veebr veebruar úno únor února şub şubat φεβ "
        "φεβρουάριος φεβρουαρίου ақп ақпан лют лютий лютого фев февр февраль февраля февруари փետրվար "
        "փետրվարի փտվ فبراير فوریه თებ თებერვალი"
    ),
    (
        "bře březen března kov kovas kovo maalis maaliskuu maaliskuuta maart mac mar marca march marec maret "
        "mars mart martie marts martxoa marzec marzo març março maw mawrth mrt márc március mär märts märz "
        "μάρ μάρτιος μαρ μαρτίου бер березень березня мар март марта нау наурыз մարտ մարտի մրտ مارس მარ მარტი"
    ),
    (
        "abr abril api apirila apr aprel april aprile aprilie aprill apríl apríla aprīlis avr avril bal "
        "balandis balandžio dub duben dubna ebr ebrill huhti huhtikuu huhtikuuta kwi kwiecień kwietnia nis "
        "nisan pri prill ápr április απρ απρίλιος απριλίου апр апрель апреля април квіт квітень квітня сәу "
        "сәуір ապր ապրիլ ապրիլի آوریل أبريل აპრ აპრილი"
    ),
    (
        "geg gegužė gegužės kvě květen května mag maggio mai maiatza maig maijs maio maj maja may mayo mayıs "
        "maí mei máj mája május touko toukokuu toukokuuta μάι μάιος μαΐ μαΐου май мам мамыр мая мај трав "
        "травень травня մայիս մայիսի մյս مايو მაი მაისი"
    ),
    (
        "birž birželio birželis cze czerwca czerwiec eka ekaina giu giugno haz haziran iun iunie iyn iyun "
        "juin jun june junho juni junie junij junio juny juuni jún júna június júní jūn jūnijs kesä kesäkuu "
        "kesäkuuta meh mehefin qer qershor xuño červen června čvn ιουν ιουνίου ιούν ιούνιος июн июнь июня мау "
        "маусым черв червень червня юни јун јуни հնս հունիս հունիսի يونيو ژوئن ივნ ივნისი"
    ),
    (
        "gor gorff gorffennaf heinä heinäkuu heinäkuuta iul iulie iyl iyul juil juillet jul julai julho juli "
        "julie julij julio juliol july juuli júl júla július júlí jūl jūlijs korr korrik liep liepa liepos "
        "lip lipca lipiec lug luglio tem temmuz uzt uztaila xul xullo července červenec čvc ιουλ ιουλίου ιούλ "
        "ιούλιος июл июль июля лип липень липня шіл шілде юли јул јули հլս հուլիս հուլիսի يوليو ژوئیه ივლ "
        "ივლისი"
    ),
    (
        "abu abuztua ago agost agosto agu agustus août aug august augusta augusti augusts augustus augusztus "
        "avg avgust avq avqust awst ağu ağustos elo elokuu elokuuta gush gusht ogo ogos rugp rugpjūtis "
        "rugpjūčio sie sierpień sierpnia srp srpen srpna ágú ágúst αυγ αυγούστου αύγ αύγουστος авг август "
        "августа серп серпень серпня там тамыз օգոստոս օգոստոսի օգս أغسطس اوت აგვ აგვისტო"
    ),
    (
        "eyl eylül ira iraila medi rugs rugsėjis rugsėjo sen sentyabr sep sept september septembra septembre "
        "septembrie septembris septiembre set setembre setembro settembre sht shtator syys syyskuu syyskuuta "
        "szept szeptember wrz wrzesień września zář září σεπ σεπτέμβριος σεπτεμβρίου вер вересень вересня "
        "сент сентябрь сентября сеп септември қыр қыркүйек սեպ սեպտեմբեր սեպտեմբերի سبتمبر سپتامبر სექ "
        "სექტემბერი"
    ),
    (
        "eki ekim hyd hydref loka lokakuu lokakuuta oct october octobre octombrie octubre okt oktober "
        "oktobris oktoober oktyabr október októbra ott ottobre out outubro paź październik października spal "
        "spalio spalis tet tetor urr urria říj říjen října οκτ οκτωβρίου οκτώβριος жовт жовтень жовтня окт "
        "октомври октябрь октября қаз қазан հոկ հոկտեմբեր հոկտեմբերի أكتوبر اکتبر ოქტ ოქტომბერი"
    ),
    (
        "aza azaroa kas kasım lapkr lapkritis lapkričio lis listopad listopada listopadu marras marraskuu "
        "marraskuuta noiembrie nov november novembra novembre novembris novembro noviembre noy noyabr nën "
        "nëntor nóv nóvember tach tachwedd νοέ νοέμβριος νοε νοεμβρίου лист листопад листопада ное ноември "
        "нояб ноябрь ноября қар қараша նոյ նոյեմբեր նոյեմբերի نوامبر نوفمبر ნოე ნოემბერი"
    ),
    (
        "abe abendua ara aralık dec december decembra decembrie decembris decembro dek dekabr des desember "
        "desembre dets detsember dez dezember dezembro dhj dhjetor dic dicembre diciembre dis disember déc "
        "décembre gru grudnia grudzień gruod gruodis gruodžio joulu joulukuu joulukuuta pro prosince prosinec "
        "rhag rhagfyr δεκ δεκέμβριος δεκεμβρίου груд грудень грудня дек декабрь декабря декември жел "
        "желтоқсан դեկ դեկտեմբեր դեկտեմբերի دسامبر ديسمبر დეკ დეკემბერი"
    ),
)
_WEEKDAYS = (
    "a ahad ahd al an antradienis ar asteartea asteazkena astelehena axşamı az b bazar c ceturtd "
    "ceturtdiena cmt cs csütörtök cum cuma cumartesi czw czwartek cümə dc dg di die diel dienstag dijous "
    "dilluns dim dimanche dimarts dimecres dinsdag dissabte diumenge divendres dj dl do dom domenica "
    "domingo donderdag donnerstag ds dt dum duminică dv dydd e enj enjte ertəsi esmaspäev feira fim "
    "fimmtudagur fr fre fredag freitag fri friday fös föstudagur gio giovedì gwe gwen gwener h hétfő hën "
    "hënë iau ig igandea isn isnin jeu jeudi joi jue jueves jum jumaat jumat k kam kamis ke kedd "
    "keskiviikko keskiviikkona ketvirtadienis kha khamis kolmapäev kt l la larunbata lau lauantai "
    "lauantaina laugardagur laupäev laurdag llun lr lun lundi lunedì lunes luni luns lör lördag lør "
    "lørdag ma maanantai maanantaina maandag man mandag mar mardi martedì martes martë marți maw mawrth "
    "mer mercher mercoledì mercredi mi mie miercuri min minggu mittwoch mié miércoles mið miðvikudagur mo "
    "mon monday montag mán mánudagur må mån måndag mér mércores mër mërkurë n ne ned nedelja nedeľa "
    "neděle neljapäev niedz niedziela og on ons onsdag or osteguna ostirala otrd otrdiena p paz pazar "
    "pazartesi pe penktadienis per perjantai perjantaina perşembe pet petek pi piatok piektd piektdiena "
    "pirmadienis pirmd pirmdiena piątek pn po pon pondelok pondělí ponedeljek poniedziałek pr pre premte "
    "pt pzt pá pátek péntek pühapäev qua quarta qui quinta r rab rabu reede sa sab sabato sabtu sad "
    "sadwrn sal salı sam samedi samstag sat saterdag saturday seg segunda sekmadienis sel selasa sen "
    "senin sestd sestdiena sex sexta sht shtunë sk so sob sobota sondag sonntag sre sreda st streda "
    "středa su sul sun sunday sunnudagur sunnuntai svētd svētdiena sze szerda szo szombat sáb sábado sâm "
    "sâmbătă sön söndag sø søn søndag t teisipäev ter terça thu thursday ti tiistai tiistaina tir tirs "
    "tirsdag tis tisdag to tor torek tors torsdag torstai torstaina tr trečiadienis trešd trešdiena tue "
    "tuesday ty tys tysdag ut utorok v vasárnap ven vendredi venerdì venres vie viernes vin vineri vr "
    "vrijdag vrydag wed wednesday wo woensdag wt wtorek xov xoves za zaterdag zo zondag ç çar çarşamba "
    "çərşənbə út úterý þri þriðjudagur čet četrtek čt čtvrtek śr środa ş şənbə šeštadienis št štvrtok δευ "
    "δευτέρα κυρ κυριακή πέμ πέμπτη παρ παρασκευή σάβ σάββατο τετ τετάρτη τρί τρίτη бейсенбі бс "
    "воскресенье вс вт вто вторник вівторок дс дүйсенбі жексенбі жм жс жұма нд нед недела неделя неділя "
    "пʼятниця пет петок петък пн пон понеделник понедельник понеділок пт пятница саб сабота сб сейсенбі "
    "сенбі середа ср сре среда сряда сс суббота субота събота сәрсенбі чет четвер четверг четврток "
    "четвъртък чт երեքշաբթի երկ երկուշաբթի երք կիր կիրակի հինգշաբթի հնգ շաբաթ շբթ ուր ուրբաթ չորեքշաբթի "
    "չրք الأحد الأربعاء الاثنين الثلاثاء الجمعة الخميس السبت جمعه دوشنبه سه شنبه پنجشنبه چهارشنبه یکشنبه "
    "კვი კვირა ოთხ ოთხშაბათი ორშ ორშაბათი პარ პარასკევი სამ სამშაბათი შაბ შაბათი ხუთ ხუთშაბათი "
)


@cache
def months() -> dict[str, int]:
    """Return the numbers of months by their names, in lower case and without a full stop."""
    return {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}


@cache
def weekdays() -> frozenset[str]:
    """Return the words of the names of weekdays, in lower case."""
    return frozenset(_WEEKDAYS.split())


# ------------------------------------------------------------------------------------------------------------------------
# Dates however they are written, as days and times of day, and the parts of dates: years, quarters, weeks …

log = logging.getLogger("nlpkit.text")

FORMAT_KEY = b"nlpkit.date_format"  # of a column that carries the format its dates are written in
COPY_KEY = b"nlpkit.copy_of"  # of a column id, label or date that is a copy of the one named for it
UNIX = "%s"  # the format of seconds, or milliseconds, since 1970
EXCEL = "excel"  # the format of days since the end of 1899, as Excel counts them
MOST_UNREAD = 0.2  # of the values of a column; above it the column is taken for something else than dates
SHOWN = 5  # forms of unread dates in a message

_DATES_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_PERIOD = re.compile(r"(\d{4})(?:[-/](\d\d?))?()", re.ASCII)
_DAY = re.compile(r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?:[T\s](.*))?", re.ASCII)
_DAY_OR_MONTH = re.compile(r"(\d\d?)([-/.])(\d\d?)\2(\d{4})(?:[T\s](.*))?", re.ASCII)  # 03.07.2008, 07/03/2008
_ISO = re.compile(r"(?:\d{8}|\d{4}-?W\d\d(?:-?\d)?)(?:[T ].*)?", re.ASCII)  # of numbers those of eight digits alone
_ZONE = r"(?: (?:[+-]\d{4}|[A-Z]{1,4}))?"
_MAIL = re.compile(  # RFC 2822: Thu, 3 Jul 2008 10:00:00 +0100
    rf"(?:[A-Z][a-z]{{2}}, )?(?P<day>\d\d?) (?P<month>[A-Z][a-z]{{2}}) (?P<year>\d{{4}}) (?P<time>\d\d:\d\d(?::\d\d)?){_ZONE}",
    re.ASCII,
)
_STAMP = re.compile(  # of Twitter, and of the command date: Thu Jul 03 10:00:00 +0000 2008
    rf"[A-Z][a-z]{{2}} (?P<month>[A-Z][a-z]{{2}}) +(?P<day>\d\d?) (?P<time>\d\d:\d\d(?::\d\d)?){_ZONE} (?P<year>\d{{4}})",
    re.ASCII,
)
_QUARTER = re.compile(r"(\d{4})[-/ ]?[Qq]([1-4])|[Qq]([1-4])[-/ ]?(\d{4})", re.ASCII)
_CJK = re.compile(r"(\d{4})[年년] ?(?:(\d\d?)[月월])? ?(?:(\d\d?)[日일])?(?:[T\s](.*))?", re.ASCII)
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # after which the calendar repeats itself
_BEFORE_ISO = re.compile(r"-(\d{4,5})(?=$|[-T ])", re.ASCII)  # ISO 8601: -0043 is 44 BC
_ERAS = r"B\.? ?C\.?(?: ?E\.?)?|v\. ?Chr\.?|v\. ?u\. ?Z\.?|av\. ?J\.?-? ?C\.?|a\. ?C\.?|до н\. ?э\.?"
_BEFORE = re.compile(rf"(?:公元前|紀元前) ?(?P<after>\d.*)|(?P<before>.*\d)\.? ?(?:{_ERAS})")
_LAST_NUMBER = re.compile(r"(?<!\d)\d{1,5}(?=\D*$)", re.ASCII)
_FIRST_NUMBER = re.compile(r"^\d{1,5}(?!\d)", re.ASCII)
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_CLOCK = re.compile(r"\b\d\d?:\d\d.*")
_SHORT_WORD = 3  # letters of words beside the month: of, the, de, den, st, th
_TIME = re.compile(r"\s*(\d\d?)[:.](\d\d)(?:[:.](\d\d)(?:[.,](\d{1,9}))?)?\s*([AaPp])?", re.ASCII)

# What a part of a date is called, and how much of the date must be known.
PARTS: dict[str, tuple[str, Callable[[date], str]]] = {
    "decade": ("year", lambda day: f"{day.year // 10 * 10:04}s"),
    "year": ("year", lambda day: f"{day.year:04}"),
    "quarter": ("quarter", lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}"),
    "month": ("month", lambda day: f"{day.year:04}-{day.month:02}"),
    "week": ("day", lambda day: f"{day.isocalendar().year:04}-W{day.isocalendar().week:02}"),
    "day": ("day", lambda day: day.isoformat()),
}
_EXACT = ("year", "quarter", "month", "day")

# Numbers that are dates where a column holds no others: from 1990 to 2100, about, so that they are no years, ids or 20080703.
_COUNTS = (
    (re.compile(r"(?:[6-9]\d{8}|[1-3]\d{9})(?:\.\d+)?"), "Unix time in seconds", UNIX),
    (re.compile(r"(?:[6-9]\d{11}|[1-3]\d{12})"), "Unix time in milliseconds", UNIX),
    (re.compile(r"[2-6]\d{4}(?:\.\d+)?"), "serial numbers of Excel", EXCEL),
)
_FEWEST_COUNTS = 3  # different ones
# What a text that is no date may be, and what to do about it.
_HINTS = tuple(
    (re.compile(form), hint)
    for form, hint in (
        (r"\d{9,10}(?:\.\d+)?", "it looks like Unix time in seconds: give `date_format=%s`"),
        (r"\d{12,13}", "it looks like Unix time in milliseconds: give `date_format=%s`"),
        (r"(?:19|20)\d\d(?:0[1-9]|1[0-2])", "it looks like a year and a month: give `date_format=%Y%m`"),
        (r"(?:19|20)\d{12}", "it looks like a date with a time: give `date_format=%Y%m%d%H%M%S`"),
        (r"[2-6]\d{4}(?:\.\d+)?", "it looks like a serial number of Excel: give `date_format=excel`"),
        (r"-\d{1,3}(?:-\d+)*", "give years before 1 four digits: -0043 is 44 BC"),
        (r"0000.+", "there is no year 0; 1 BC is the year before 1"),
        (r"\d\d?([-/.])\d\d?\1\d\d", "its year has two digits: give a format such as `date_format=%d/%m/%y`"),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, how exactly it is known (year, quarter, month or day), and the time since its begin, as it is written.

    cycles: of a day before the year 1, how many times 400 years it lies before `day`, which Python can hold.
    """

    day: date
    exact: str
    time: timedelta = timedelta(0)
    cycles: int = 0

    @property
    def number(self) -> int:
        """Days since 1970, in the Gregorian calendar as it would have been before 1582."""
        return (self.day - date(1970, 1, 1)).days - self.cycles * _CYCLE_DAYS

    def part(self, name: str) -> str | None:
        """Return a part of the date by its name in PARTS, None where it is not known as exactly as that.

        Raises:
            ColumnError: the date lies before the year 1.
        """
        if self.cycles:
            raise ColumnError(
                f"dates before the year 1 cannot be grouped by {name}; give the periods a column of their own"
            )
        needed, write = PARTS[name]
        return write(self.day) if _EXACT.index(self.exact) >= _EXACT.index(needed) else None


class DateReader:
    """Reads the texts of one column, in parts that come one after the other.

    ISO 8601 (2008, 2008-07, 2008-07-03), with / or . for the hyphens of a day too, and a time behind it; numbers are years, or
    20080703. 2008-Q3 is a quarter. The month may have a name in any of 42 languages: 3 July 2008, 3. Juli 2008. 03.07.2008 begins
    with the day. 03/07/2008 and 03-07-2008 begin with the day or the month, as the other dates of the column show: 25/12/2011 in it
    means that the day is first. -0043 and 44 BC lie before the year 1.
    Dates of mails (RFC 2822) and of Twitter are read, too. A column of nothing but Unix time or Excel's
    serial numbers is read as these. The day is the one in the time zone in which a date is written.

    Args:
        name: of the column, for messages.
        format: as of `datetime.strptime`, %s for seconds or milliseconds since 1970, or excel for Excel's serial numbers; all dates
            are then written like that.

    Raises:
        UsageError: the format has no year, or is none.
    """

    def __init__(self, name: str = "date", format: str | None = None) -> None:
        self.name, self._format = name, format
        self._counted: str | None = None  # UNIX or EXCEL where all dates are such numbers, "" where they are not
        self._first: dict[str, str] = {}  # "day" and "month": the first text that begins with one
        if format is not None:
            check_format(format)

    def read(self, texts: Sequence[str]) -> list[Moment | None]:
        """Return what each text means, None where that is no date, or may be two.

        Raises:
            ColumnError: it is not known of most dates whether day or month comes first, or both do.
        """
        if self._format is not None:
            return [_of_format(text.strip(), self._format) for text in texts]
        stripped = [text.strip() for text in texts]
        if self._counted is None and any(stripped):  # a condition is checked without rows first
            self._counted = self._count_of(stripped)
        if self._counted:
            return [_of_format(text, self._counted) for text in stripped]
        for text in stripped:
            match = _DAY_OR_MONTH.fullmatch(text)
            if match and match[2] != ".":
                first, second = int(match[1]), int(match[3])
                if first > 12 >= second:
                    self._first.setdefault("day", text)
                elif second > 12 >= first:
                    self._first.setdefault("month", text)
        if len(self._first) > 1:
            raise ColumnError(
                f"column '{self.name}' has dates that begin with the day ('{self._first['day']}') and others that "
                f"begin with the month ('{self._first['month']}'); use one format, such as 2008-07-03"
            )
        moments = [self._moment(text) for text in stripped]
        unclear = [
            text for text, moment in zip(stripped, moments, strict=True) if moment is None and self.is_unclear(text)
        ]
        if len(unclear) > sum(moment is not None for moment in moments):
            raise unclear_dates(self.name, unclear[0])
        return moments

    def is_unclear(self, text: str) -> bool:
        """Return whether a text is a date of which it is unknown whether day or month comes first."""
        match = _DAY_OR_MONTH.fullmatch(text.strip())
        if self._format is not None or not match or match[2] == "." or self._first:
            return False
        return match[1] != match[3] and 1 <= int(match[1]) <= 12 and 1 <= int(match[3]) <= 12

    def reason(self, text: str) -> str:
        """Return why a text is not a date."""
        text = text.strip()
        shown = truncated(text, 40)
        if not text:
            return "date is missing"
        if self.is_unclear(text):
            return f"date '{shown}' may begin with the day or with the month; write it as 2008-07-03, or give `date_format`"
        return f"date '{shown}' cannot be read; {self.advice(text)}"

    def advice(self, text: str) -> str:
        """Return what to do about a text that cannot be read."""
        return self.hint(text) or "write it as 2008-07-03, or give `date_format`"

    def hint(self, text: str) -> str | None:
        """Return what a text that cannot be read may be, and what to do about it; None where it looks like no date that is known."""
        text = text.strip()
        if self._format is None:
            return next((hint for form, hint in _HINTS if form.fullmatch(text)), None)
        english = ""
        if re.search(r"%[aAbB]", self._format) and re.search(r"[^\W\d_]", text):
            english = ", in which names of months and days are English"
        return f"it is not like `date_format={self._format}`{english}"

    def check(self, n_read: int, unread: Mapping[str, int]) -> None:
        """Raise ColumnError where over a fifth of the values of a column cannot be read, or may be two dates.

        Args:
            n_read: number of values that were read. unread: how often each other text is there.
        """
        lost = sum(unread.values())
        if lost <= MOST_UNREAD * (n_read + lost):
            return
        forms: dict[str, Counter[str]] = {}
        for text, n in unread.items():
            forms.setdefault(_form(text), Counter())[text] += n
        ranked = sorted(forms.values(), key=lambda texts: -texts.total())
        parts = [f"'{truncated(next(iter(texts)), 40)}' ({wording.count(texts.total())} of this form; {self._why(next(iter(texts)))})"
                 for texts in ranked[:SHOWN]]  # fmt: skip
        further = f"; and {wording.counted(len(ranked) - SHOWN, 'form')} more" if len(ranked) > SHOWN else ""
        raise ColumnError(
            f"column '{self.name}': {wording.count(lost)} of {wording.counted(n_read + lost, 'value')} cannot be read as dates: "
            f"{'; '.join(parts)}{further}"
        )

    def _why(self, text: str) -> str:
        return "day or month first?" if self.is_unclear(text) else self.advice(text)

    def _count_of(self, texts: Sequence[str]) -> str:
        """Return the format of a column that holds nothing but counts of seconds, milliseconds or days; "" for another column."""
        filled = {text for text in texts if text}
        if len(filled) < _FEWEST_COUNTS:
            return ""
        for form, what, format in _COUNTS:
            if all(form.fullmatch(text) for text in filled):
                log.warning("column '%s' is read as %s (`date_format=%s`)", self.name, what, format)
                return format
        return ""

    def _moment(self, text: str) -> Moment | None:
        try:
            shifted, cycles = _after_christ(text)
            if cycles:
                moment = self._moment(shifted)
                return None if moment is None else replace(moment, cycles=cycles)
            match = _DAY_OR_MONTH.fullmatch(text)
            if match:
                first, second, year = int(match[1]), int(match[3]), int(match[4])
                if self.is_unclear(text):
                    return None
                if "month" in self._first and match[2] != ".":
                    first, second = second, first
                return Moment(date(year, second, first), "day", _time(match[5]))
            match = _DAY.fullmatch(text)
            if match:
                return Moment(date(int(match[1]), int(match[2]), int(match[3])), "day", _time(match[4]))
            match = _PERIOD.fullmatch(text)
            if match:
                return Moment(date(int(match[1]), int(match[2] or 1), 1), "month" if match[2] else "year")
            match = _MAIL.fullmatch(text) or _STAMP.fullmatch(text)
            if match:
                day = date(int(match["year"]), _DATES_MONTHS.get(match["month"], 0), int(match["day"]))
                return Moment(day, "day", _time(match["time"]))
            if _ISO.fullmatch(text):
                return _moment_of(datetime.fromisoformat(text), "day")
            return _quarter(text) or _of_characters(text) or _with_name_of_month(text)
        except ValueError:
            return None


def _after_christ(text: str) -> tuple[str, int]:
    """Return a date before the year 1 in a year of four digits with the same calendar, and how many times 400 years it is later."""
    iso = _BEFORE_ISO.match(text)
    written = None if iso else _BEFORE.fullmatch(text)
    if iso:
        year, begin, end, rest = -int(iso[1]), 0, iso.end(), text
    elif written:
        rest = written["after"] or written["before"]
        number = (_FIRST_NUMBER if written["after"] else _LAST_NUMBER).search(rest)
        if number is None or not int(number[0]):
            return text, 0
        year, begin, end = 1 - int(number[0]), number.start(), number.end()
    else:
        return text, 0
    cycles = -(year // _CYCLE_YEARS) + 5  # years from 2000 on
    return f"{rest[:begin]}{year + cycles * _CYCLE_YEARS}{rest[end:]}", cycles


def _of_format(text: str, format: str) -> Moment | None:
    try:
        moment = _COUNTED[format](text) if format in _COUNTED else datetime.strptime(text, format)
        return _moment_of(moment, _exactness(format))
    except (ValueError, OverflowError):
        return None


def _quarter(text: str) -> Moment | None:
    """Return what 2024-Q1 or Q1 2024 means."""
    match = _QUARTER.fullmatch(text)
    if match is None:
        return None
    year, quarter = int(match[1] or match[4]), int(match[2] or match[3])
    return Moment(date(year, 3 * quarter - 2, 1), "quarter")


def _of_characters(text: str) -> Moment | None:
    """Return what 2024年3月1日 or 2024년 3월 1일 means."""
    match = _CJK.fullmatch(text)
    if match is None:
        return None
    exact = "day" if match[3] else "month" if match[2] else "year"
    return Moment(date(int(match[1]), int(match[2] or 1), int(match[3] or 1)), exact, _time(match[4]))


def _with_name_of_month(text: str) -> Moment | None:
    """Return what a date with the name of a month means: 1. März 2024, Friday, March 1st, 2024, 10:30, mars 2024.

    There is one month, one year of four digits and at most one day; other words are weekdays, or short.
    """
    clock = _CLOCK.search(text)
    pieces = _PIECES.findall(text[: clock.start()] if clock else text)
    words = [piece.lower() for piece in pieces if not piece.isdecimal()]
    numbers = [piece for piece in pieces if piece.isdecimal()]
    years = [int(number) for number in numbers if len(number) == 4]
    days = [int(number) for number in numbers if len(number) <= 2]
    if not words or len(years) != 1 or len(years) + len(days) != len(numbers) or len(days) > 1:
        return None
    named = [word for word in words if word in months()]
    if len(named) > 1:  # mar is March, and Tuesday in Spanish
        named = [word for word in named if word not in weekdays()]
    others = [word for word in words if word not in named]
    if len(named) != 1 or any(len(word) > _SHORT_WORD and word not in weekdays() for word in others):
        return None
    day = date(years[0], months()[named[0]], days[0] if days else 1)
    return Moment(day, "day" if days else "month", _time(clock[0] if clock else None))


def unclear_dates(name: str, text: str) -> ColumnError:
    """Return the error that it is not known whether day or month comes first."""
    return ColumnError(
        f"column '{name}' has dates such as '{text}', and no value shows whether the day or the month comes first; "
        "use `date_format=%d/%m/%Y` or `date_format=%m/%d/%Y`"
    )


def check_format(format: str) -> None:
    """Raise UsageError for a format of dates that `datetime.strptime` does not take, or that has no year; %s is Unix time."""
    if format in _COUNTED:
        return
    try:
        datetime.strptime(datetime(2011, 12, 25, tzinfo=UTC).strftime(format), format)
    except ValueError as error:
        raise UsageError(f"`date_format={format}`: {error}") from None
    if not re.search(r"%[-]?[YyGcx]", format):
        raise UsageError(
            f"`date_format={format}`: it has no year. %d/%m/%Y is 25/12/2011, %y a two-digit year, %B the name "
            "of a month"
        )


def _moment_of(moment: datetime, exact: str) -> Moment:
    return Moment(
        moment.date(),
        exact,
        timedelta(hours=moment.hour, minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond),
    )


def _of_unix(text: str) -> datetime:
    """Return the moment in UTC of seconds since 1970; numbers too large for seconds are milliseconds, microseconds or nanoseconds."""
    value = float(text)
    while abs(value) >= 1e11:  # seconds until the year 5138
        value /= 1000.0
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)


def _of_excel(text: str) -> datetime:
    """Return the moment of a serial number of Excel: days since 30 December 1899, right from 1 March 1900 on."""
    return datetime(1899, 12, 30, tzinfo=UTC) + timedelta(days=float(text))


_COUNTED: dict[str, Callable[[str], datetime]] = {UNIX: _of_unix, EXCEL: _of_excel}


def _time(text: str | None) -> timedelta:
    """Return the time of the day that stands behind a date, its begin where none is there."""
    match = _TIME.match(text or "")
    if match is None:
        return timedelta(0)
    hours = int(match[1])
    if match[5]:
        hours = hours % 12 + (12 if match[5] in "Pp" else 0)
    seconds = int(match[3] or 0) + float(f"0.{match[4] or 0}")
    return timedelta(hours=hours, minutes=int(match[2]), seconds=seconds)


def _exactness(format: str) -> str:
    if format in _COUNTED:
        return "day"
    codes = set(re.findall(r"%[-]?([A-Za-z])", format))
    if codes & set("djcxUWVD"):
        return "day"
    return "month" if codes & set("mbB") else "year"


def _form(text: str) -> str:
    """Return the form of a text: digits as 9, one or two as one, and words as a."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"(?<!\d)\d\d?(?!\d)", "9", re.sub(r"\d", "9", text.strip())))
