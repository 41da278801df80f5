"""Names of months and weekdays in 42 languages, full and short, as the Unicode CLDR has them (tests compare with Babel)."""

from __future__ import annotations

from functools import cache

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
