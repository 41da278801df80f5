"""Names of weightings: SMART letters, presets, formulas, and what is none."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from nlpkit.errors import UsageError
from nlpkit.weights.options import IDF, NORM, PRESETS, TF, Scheme, parse_scheme, with_parts
from tests.refusals import refuses


def test_the_default_is_the_classic_one() -> None:
    assert (
        Scheme() == PRESETS["classic"] == parse_scheme("lecture") == parse_scheme("ntn") == Scheme("raw", "idf", "none")
    )
    assert (Scheme().formula, Scheme().smart) == ("tf · ln(M / df)", "ntn")


@pytest.mark.parametrize(
    ("letters", "tf", "idf", "norm"),
    [
        ("ltc", "log", "idf", "l2"),
        ("nfn", "raw", "idf", "none"),  # gensim's f is the t of Manning et al.
        ("bnn", "binary", "none", "none"),
        ("apc", "augmented", "prob", "l2"),
        ("Lnu", "logave", "none", "pivoted-unique"),
        ("dxb", "loglog", "none", "pivoted-bytes"),
        ("nxx", "raw", "none", "none"),
    ],
)
def test_smart_letters(letters: str, tf: str, idf: str, norm: str) -> None:
    scheme = parse_scheme(letters)
    assert (scheme.tf, scheme.idf, scheme.norm) == (tf, idf, norm)
    assert parse_scheme(str(scheme.smart)) == scheme


def test_what_has_no_letters() -> None:
    assert Scheme("sqrt").smart is None
    assert PRESETS["sklearn"].smart is None
    assert PRESETS["bm25"].smart is None


def test_presets() -> None:
    assert parse_scheme("sklearn") == Scheme("raw", "smooth", "l2")
    assert parse_scheme("bm25") == parse_scheme("bm25-lucene") == Scheme("bm25", "lucene", k1=1.2, b=0.75)
    assert parse_scheme("bm25-okapi").tf == "bm25-scaled"


def test_formulas_have_their_parameters() -> None:
    assert Scheme("augmented", "none", augment=0.4).formula == "(0.4 + 0.6·tf / max tf of the document)"
    assert Scheme("bm25-scaled", "rsj", k1=1.5, b=0.25).formula == (
        "2.5·tf / (tf + 1.5·(0.75 + 0.25·dl / mean dl)) · ln((M - df + 0.5) / (df + 0.5))"
    )
    assert Scheme("log", "prob", "pivoted-unique", slope=0.25).formula == (
        "(1 + ln tf) · max{0, ln((M - df) / df)}, each document divided by 0.75·mean u + 0.25·u"
    )
    for tf in TF:
        for idf in IDF:
            for norm in NORM:
                text = Scheme(tf, idf, norm).formula
                assert text
                assert "{" not in text.replace("max{0", "")


def test_parts_replace_parts() -> None:
    assert with_parts(parse_scheme("ltc"), norm="l1", tf=None, k1=None) == Scheme("log", "idf", "l1")
    assert with_parts(Scheme(), norm="cosine", tf="sublinear") == Scheme("log", "idf", "l2")
    assert Scheme(norm="pivoted").norm == "pivoted-unique"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lnc.ltc", "give only the three letters of the documents, lnc"),
        ("stc", "'s' is not a SMART letter for tf (n raw, b binary"),
        ("lzc", "'z' is not a SMART letter for idf"),
        ("ltz", "'z' is not a SMART letter for norm"),
        ("sklern", "did you mean 'sklearn'?"),
        ("lt", "give three SMART letters such as ltc, or one of classic"),
        ("", "`scheme=`"),
    ],
)
def test_what_is_no_scheme(text: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_scheme(text)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("parts", "parameter"),
    [
        ({"tf": "logs"}, "tf"),
        ({"idf": "smoth"}, "idf"),
        ({"norm": "l3"}, "norm"),
        ({"slope": 1.5}, "slope"),
        ({"k1": -1.0}, "k1"),
        ({"b": float("nan")}, "b"),
        ({"k1": float("inf")}, "k1"),
    ],
)
def test_parts_that_are_none(parts: dict[str, str], parameter: str) -> None:
    with refuses(parameter):
        Scheme(**parts)  # type: ignore[arg-type]


def test_a_scheme_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Scheme().tf = "log"  # type: ignore[misc]


@pytest.mark.parametrize("letters", ["ntn", "bnc", "lpu", "axb", "Lfx", "dtn", "ltc"])
def test_each_part_takes_its_smart_letter(letters: str) -> None:
    tf, idf, norm = tuple(letters)
    assert Scheme(tf, idf, norm) == parse_scheme(letters) == with_parts(Scheme(), tf=tf, idf=idf, norm=norm)
