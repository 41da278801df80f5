"""The languages of ISO 639-1: their codes of two and three letters, and their English names."""

from __future__ import annotations

from difflib import get_close_matches

from nlpkit.errors import UsageError

# Two letters, three letters (terminological/bibliographic where there are two), names.
_ISO_639 = """
aa aar Afar; ab abk Abkhazian; ae ave Avestan; af afr Afrikaans; ak aka Akan; am amh Amharic; an arg Aragonese; ar
ara Arabic; as asm Assamese; av ava Avaric; ay aym Aymara; az aze Azerbaijani; ba bak Bashkir; be bel Belarusian; bg
bul Bulgarian; bi bis Bislama; bm bam Bambara; bn ben Bengali/Bangla; bo bod/tib Tibetan; br bre Breton; bs bos
Bosnian; ca cat Catalan/Valencian; ce che Chechen; ch cha Chamorro; co cos Corsican; cr cre Cree; cs ces/cze Czech;
cu chu Church Slavic; cv chv Chuvash; cy cym/wel Welsh; da dan Danish; de deu/ger German; dv div Divehi/Maldivian;
dz dzo Dzongkha; ee ewe Ewe; el ell/gre Greek; en eng English; eo epo Esperanto; es spa Spanish/Castilian; et est
Estonian; eu eus/baq Basque; fa fas/per Persian/Farsi; ff ful Fulah; fi fin Finnish; fj fij Fijian; fo fao Faroese;
fr fra/fre French; fy fry Western Frisian; ga gle Irish; gd gla Scottish Gaelic; gl glg Galician; gn grn Guarani; gu
guj Gujarati; gv glv Manx; ha hau Hausa; he heb Hebrew; hi hin Hindi; ho hmo Hiri Motu; hr hrv Croatian; ht hat
Haitian; hu hun Hungarian; hy hye/arm Armenian; hz her Herero; ia ina Interlingua; id ind Indonesian; ie ile
Interlingue; ig ibo Igbo; ii iii Sichuan Yi; ik ipk Inupiaq; io ido Ido; is isl/ice Icelandic; it ita Italian; iu
iku Inuktitut; ja jpn Japanese; jv jav Javanese; ka kat/geo Georgian; kg kon Kongo; ki kik Kikuyu; kj kua Kuanyama;
kk kaz Kazakh; kl kal Kalaallisut/Greenlandic; km khm Khmer; kn kan Kannada; ko kor Korean; kr kau Kanuri; ks kas
Kashmiri; ku kur Kurdish; kv kom Komi; kw cor Cornish; ky kir Kirghiz/Kyrgyz; la lat Latin; lb ltz Luxembourgish; lg
lug Ganda; li lim Limburgish; ln lin Lingala; lo lao Lao; lt lit Lithuanian; lu lub Luba-Katanga; lv lav Latvian; mg
mlg Malagasy; mh mah Marshallese; mi mri/mao Maori; mk mkd/mac Macedonian; ml mal Malayalam; mn mon Mongolian; mr
mar Marathi; ms msa/may Malay; mt mlt Maltese; my mya/bur Burmese; na nau Nauru; nb nob Norwegian Bokmål; nd nde
North Ndebele; ne nep Nepali; ng ndo Ndonga; nl nld/dut Dutch/Flemish; nn nno Norwegian Nynorsk; no nor Norwegian;
nr nbl South Ndebele; nv nav Navajo; ny nya Chichewa/Nyanja; oc oci Occitan; oj oji Ojibwa; om orm Oromo; or ori
Oriya/Odia; os oss Ossetian; pa pan Punjabi/Panjabi; pi pli Pali; pl pol Polish; ps pus Pashto; pt por Portuguese;
qu que Quechua; rm roh Romansh; rn run Rundi; ro ron/rum Romanian/Moldavian; ru rus Russian; rw kin Kinyarwanda; sa
san Sanskrit; sc srd Sardinian; sd snd Sindhi; se sme Northern Sami; sg sag Sango; sh hbs Serbo-Croatian; si sin
Sinhala; sk slk/slo Slovak; sl slv Slovenian/Slovene; sm smo Samoan; sn sna Shona; so som Somali; sq sqi/alb
Albanian; sr srp Serbian; ss ssw Swati; st sot Southern Sotho; su sun Sundanese; sv swe Swedish; sw swa Swahili; ta
tam Tamil; te tel Telugu; tg tgk Tajik; th tha Thai; ti tir Tigrinya; tk tuk Turkmen; tl tgl Tagalog/Filipino; tn
tsn Tswana; to ton Tonga; tr tur Turkish; ts tso Tsonga; tt tat Tatar; tw twi Twi; ty tah Tahitian; ug uig Uighur;
uk ukr Ukrainian; ur urd Urdu; uz uzb Uzbek; ve ven Venda; vi vie Vietnamese; vo vol Volapük; wa wln Walloon; wo wol
Wolof; xh xho Xhosa; yi yid Yiddish; yo yor Yoruba; za zha Zhuang; zh zho/chi Chinese; zu zul Zulu
"""


def _table() -> tuple[dict[str, str], dict[str, str]]:
    """Return the code of everything that names a language, and the first name of each code."""
    codes: dict[str, str] = {}
    names: dict[str, str] = {}
    for entry in " ".join(_ISO_639.split()).split("; "):
        two, three, name = entry.split(" ", 2)
        names[two] = name.partition("/")[0]
        codes |= dict.fromkeys((two, *three.split("/"), *name.lower().split("/")), two)
    return codes, names


_CODES, _NAMES = _table()


def language_code(name: str) -> str:
    """Return the ISO 639-1 code of a language: de for de, deu, ger and German, in any case.

    Raises:
        UsageError: nothing is called that; names what is written alike.
    """
    code = _CODES.get(name.strip().lower())
    if code is None:
        raise UsageError(
            f"unknown language '{name}'{near_languages(name)}; give an ISO 639 code or an English name, such as de, deu or "
            "German, or 'auto' or 'none'",
            parameter="language",
        )
    return code


def has_code(code: str) -> bool:
    """Return whether a code is one of ISO 639-1; the detector knows languages, such as Kabyle (kab), that have none."""
    return code in _NAMES


def language_name(code: str) -> str:
    """Return the English name of an ISO 639-1 code, the code itself where it is none."""
    return _NAMES.get(code, code)


def near_languages(name: str) -> str:
    """Return the languages whose names are written like this in brackets, for a message; nothing where there are none."""
    near = get_close_matches(name.strip().lower(), _CODES, n=8, cutoff=0.5)
    codes = list(dict.fromkeys(_CODES[key] for key in near))[:3]
    return f" (near: {', '.join(f'{code} {_NAMES[code]}' for code in codes)})" if codes else ""
