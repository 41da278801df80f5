"""Conditions on columns and regular expressions on texts: which rows they keep, what they say when they cannot."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import ColumnError, UsageError
from nlpkit.platform.documents.conditions import parse_filter
from nlpkit.platform.documents.regex import regex_mask
from tests.refusals import refuses
from tests.strategies import corpora, repeatable

ROWS = pa.record_batch(
    {
        "id": pa.array(["a", "b", "c", "d"], pa.string()),
        "text": pa.array(["Good film", "bad\nfilm", "Ein Käse", None], pa.large_string()),
        "label": pa.array(["pos", "neg", "it's", None]).dictionary_encode(),
        "rating": pa.array([9, 3, 7, None], pa.int64()),
        "small": pa.array([9, 3, 7, None], pa.uint8()),
        "score": pa.array([0.5, float("nan"), -2.0, None], pa.float64()),
        "prob": pa.array([0.1, 0.9, 0.5, None], pa.float32()),
        "half": pa.array([0.5, 1.0, 2.0, None]).cast(pa.float16()),
        "price": pa.array([Decimal("1.10"), Decimal("2.50"), Decimal("0"), None], pa.decimal128(9, 2)),
        "seen": pa.array([True, False, True, None]),
        "date": pa.array(["2019-12-31", "2020-01-01", "2020-06-15", None]),
        "day": pa.array([date(2019, 12, 31), date(2020, 1, 1), date(2020, 6, 15), None]),
        "at": pa.array([datetime(2019, 12, 31, 23), datetime(2020, 1, 1), datetime(2020, 6, 15, 12), None], pa.timestamp("s")),
        "zoned": pa.array(
            [datetime(2019, 12, 31, 23, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 6, 15, tzinfo=UTC), None],
            pa.timestamp("ns", "Europe/Berlin"),
        ),
        "tags": pa.array([["x", "y"], [], ["y", None], None], pa.list_(pa.string())),
        "numbers": pa.array([[1, 2], [3], [], None], pa.large_list(pa.int32())),
        "tokens": pa.array([["x"], ["y"], [], None], pa.list_(pa.string())).cast(pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        "nothing": pa.nulls(4),
        "clock": pa.array([time(1), None, None, None]),
        "my col": pa.array([1, 2, 3, 4]),
        "in": pa.array([1, 2, 3, 4]),
        "meta.year": pa.array([1, 2, 3, 4]),
        "größe": pa.array([1, 2, 3, 4]),
    }
)  # fmt: skip


def kept(condition: str, rows: pa.RecordBatch = ROWS) -> str:
    """Return the ids of the rows that a condition keeps."""
    mask = parse_filter(condition).mask(rows)
    assert mask.null_count == 0
    return "".join(rows.column("id").filter(mask).to_pylist())


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        # texts
        ("label == 'pos'", "a"),
        ("label = 'pos'", "a"),
        ('label == "pos"', "a"),
        ("label != 'pos'", "bc"),
        ("label <> 'pos'", "bc"),
        ("label == 'it''s'", "c"),
        ('label == "it\'s"', "c"),
        ("label < 'o'", "bc"),
        ("'o' > label", "bc"),
        ("label in ['pos', 'neg']", "ab"),
        ("label in ('pos')", "a"),
        ("label not in ['pos', 'neg']", "c"),
        ("text contains 'film'", "ab"),
        ("text contains 'good'", ""),
        ("text not contains 'film'", "c"),
        ("text contains '.'", ""),
        ("text startswith 'Good'", "a"),
        ("text endswith 'film'", "ab"),
        ("text matches '(?i)^good|käse$'", "ac"),
        ("text matches 'bad.film'", ""),
        ("text not matches '^[GE]'", "b"),
        # numbers
        ("rating >= 7", "ac"),
        ("rating > 7", "a"),
        ("7 <= rating", "ac"),
        ("3 < rating <= 7", "c"),
        ("rating == 7.0", "c"),
        ("rating > 6.5", "ac"),
        ("rating > -1", "abc"),
        ("small > -1", "abc"),
        ("small < 300", "abc"),
        ("small == 300", ""),
        ("small != 300", "abc"),
        ("small >= 1e3", ""),
        ("rating < 100000000000000000000", "abc"),
        ("rating in [3, 9.0]", "ab"),
        ("score <= .5", "ac"),
        ("score != 5", "ac"),
        ("score > -1e999", "ac"),
        ("prob == 0.1", "a"),
        ("prob >= 0.9", "b"),
        ("half >= 1", "bc"),
        ("price >= 1.1", "ab"),
        ("price == 2.5", "b"),
        ("rating == small", "abc"),
        ("score < rating", "ac"),
        # truth
        ("seen", "ac"),
        ("not seen", "b"),
        ("seen == true", "ac"),
        ("seen != TRUE", "b"),
        ("False == seen", "b"),
        # dates
        ("date >= '2020'", "bc"),
        ("date >= '2020-01-02'", "c"),
        ("day >= '2020'", "bc"),
        ("day == '2020-01-01'", "b"),
        ("day <= '2020-06'", "ab"),
        ("'2020-01' <= day < '2020-06-15'", "b"),
        ("day > '2019-12-31T12:00'", "bc"),
        ("at > '2019-12-31'", "abc"),
        ("at >= '2020-06-15T12:00:00'", "c"),
        ("at >= '20200101'", "bc"),
        ("zoned >= '2020'", "abc"),  # 23 o'clock in London is midnight in Berlin
        ("zoned >= '2020-01-01T00:00Z'", "bc"),
        ("zoned == '2020-01-01T02:00:00+02:00'", "b"),
        ("day in ['2020-01-01', '2020-06-15']", "bc"),
        ("at > day", "ac"),
        # missing values
        ("label is null", "d"),
        ("label is not null", "abc"),
        ("score is null", "bd"),
        ("not score is null", "ac"),
        ("tags is null", "d"),
        ("clock is null", "bcd"),
        ("nothing is null", "abcd"),
        ("nothing == 'x' or nothing", ""),
        ("not nothing == 3", ""),
        ("nothing contains 'x' or nothing matches 'x' or nothing < rating", ""),
        ("not (label == 'pos')", "bc"),
        ("label == 'pos' or label != 'pos'", "abc"),
        ("label == 'pos' or seen is null", "ad"),
        # lists
        ("tags contains 'y'", "ac"),
        ("tags not contains 'y'", "b"),
        ("tokens contains 'x'", "a"),
        ("numbers contains 2", "a"),
        ("not numbers contains 2", "bc"),
        # and, or, not, brackets
        ("label == 'pos' and rating >= 7", "a"),
        ("label == 'pos' AND rating >= 7 Or rating == 3", "ab"),
        ("rating == 3 or label == 'pos' and rating < 7", "b"),
        ("(rating == 3 or label == 'pos') and rating < 7", "b"),
        ("not rating == 3 and not label == 'pos'", "c"),
        ("not not rating == 3", "b"),
        ("((rating==3))", "b"),
        # names
        ("`my col` == 2", "b"),
        ("`in` == 2", "b"),
        ("meta.year == 2", "b"),
        ("größe<3", "ab"),
        ("id in ['a', 'zz', 'd']", "ad"),
    ],
)
def test_kept(condition: str, ids: str) -> None:
    assert kept(condition) == ids


@pytest.mark.parametrize(
    "condition", ["label == 'pos' and rating >= 7", "tags contains 'y'", "text matches 'x' or zoned > '2020'", "seen"]
)
def test_no_rows_one_row_and_slices(condition: str) -> None:
    assert kept(condition, ROWS.slice(0, 0)) == ""
    assert "".join(kept(condition, ROWS.slice(row, 1)) for row in range(4)) == kept(condition)
    assert kept(condition, ROWS.slice(1, 2)) == kept(condition).replace("a", "").replace("d", "")


def test_lists_of_one_length_in_slices() -> None:
    rows = pa.record_batch({"id": ["a", "b", "c"], "v": pa.array([[1, 2], [3, 4], None], pa.list_(pa.int8(), 2))})
    assert kept("v contains 3", rows) == "b"
    assert kept("v contains 3", rows.slice(1)) == "b"


def test_texts_of_every_arrow_type() -> None:
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.large_string())):
        rows = pa.record_batch({"id": ["a", "b"], "x": pa.array(["one", None], pa.string()).cast(kind)})
        assert [kept(f"x {rest}", rows) for rest in ("== 'one'", "matches 'n'", "contains 'ne'", "is null")] == list(
            "aaab"
        )


def test_columns() -> None:
    assert parse_filter("a == 1 and (b is null or not c) or `d e` in [1] and f > g and h matches 'x'").columns == set(
        "abcfgh"
    ) | {"d e"}


@pytest.mark.parametrize(
    "condition",
    [
        "", "   ", "label ==", "label == 'pos' rating > 3", "label == 'pos", "label is 3", "label not 'x'",
        "label in 'x'", "label in []", "label in ['a' 'b']", "label in ['a')", "label in [pos]", "(rating > 3",
        "rating > 3)", "3 > 2", "'x'", "text contains pos", "text matches 3", "rating == null", "rating && seen",
        "rating === 3", "__import__('os')", "rating > 3_000", "text matches '(a'",
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_condition(condition: str) -> None:
    with refuses("keep_if") as error:
        parse_filter(condition)
    assert str(error.value).startswith("`keep_if`")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("condition", "advice"),
    [
        ("date >= 2023-11-15", "a date stands in quotes: '2023-11-15'"),
        ("2 > 3", "in backticks where its name is a number: `2`"),
    ],
)
def test_what_stands_in_quotes(condition: str, advice: str) -> None:
    with pytest.raises(UsageError, match=advice):
        parse_filter(condition)


@pytest.mark.parametrize("condition", ["(" * 20_000, "not " * 20_000 + "seen", "(" * 3000 + "seen" + ")" * 3000])
def test_depth(condition: str) -> None:
    with refuses("keep_if"):
        parse_filter(condition)


def test_length() -> None:
    assert kept(" or ".join(["id == 'a'"] * 2000)) == "a"


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            "label == 3",
            r"'label' holds text \(.*string.*\) and is compared \(==\) with the number 3; .* label == 'word', .*`types=label=float",
        ),
        ("label == true", "column 'label' holds text .* with true"),
        (
            "rating == '7'",
            r"column 'rating' holds numbers \(int64\) and is compared \(==\) with the text '7'; .* rating >= 7",
        ),
        ("rating == false", "with false"),
        ("seen == 1", "column 'seen' holds true and false .* with the number 1; .* seen == true"),
        ("seen < true", r"compared \(<\) with true"),
        ("day > 2020", "column 'day' holds dates .* with the number 2020; .* day >= '2020-05-31'"),
        ("day > 'May'", "column 'day' holds dates .*'May' is none: give 2020, 2020-05"),
        ("day > '2020-13'", "is none"),
        ("at > '2020-01-01T00:00Z'", "without a time zone; leave the offset"),
        ("tags == 'x'", "column 'tags' holds lists .* tags contains 'word'"),
        ("tags contains 3", "column 'tags' holds text"),
        ("rating contains 'x'", "column 'rating' holds numbers .*; 'contains' needs text"),
        ("rating matches 'x'", "'matches' needs text"),
        ("tags startswith 'x'", "'startswith' needs text"),
        ("text contains 3", "'contains' needs a text in quotes, found the number 3"),
        ("clock == '1'", r"column 'clock' holds values \(time64\[us\]\)"),
        ("rating", r"and is not compared with anything; write for example"),
        ("`my col` == 'x'", "`my col` >= 7"),
        ("label == rating", "column 'label' holds text .*column 'rating' holds numbers .*cannot be compared"),
        ("seen < seen", "cannot be compared"),
        ("tags == tags", "cannot be compared"),
        ("at < zoned", "cannot be compared"),
    ],
)
def test_what_is_wrong_with_the_type_of_a_column(condition: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_filter(condition).mask(ROWS)
    with pytest.raises(UsageError, match=message):
        parse_filter(condition).check(ROWS.schema)


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(ColumnError) as error:
        parse_filter("rating > 3 or lable == 'x'").check(ROWS.schema)
    assert error.value.exit_code == 3


NUMBERS = st.one_of(st.none(), st.integers(-3, 3))


@repeatable
@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12), st.data())
def test_conditions_equal_the_logic_of_sql(rows: list[tuple[Any, Any]], data: st.DataObject) -> None:
    import sqlite3

    def test() -> str:
        sign = data.draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
        return data.draw(
            st.sampled_from(
                [
                    f"a {sign} 1",
                    f"b {sign} a",
                    f"0 {sign} b",
                    "a is null",
                    "b is not null",
                    "a in (1, 2)",
                    "b not in (0)",
                ]
            )
        )

    condition = test()
    for _ in range(data.draw(st.integers(0, 3))):
        condition = f"{data.draw(st.sampled_from(['', 'not ']))}({condition}) {data.draw(st.sampled_from(['and', 'or']))} {test()}"
    batch = pa.record_batch(
        {"a": pa.array([a for a, _ in rows], pa.int8()), "b": pa.array([b for _, b in rows], pa.int64())}
    )
    with sqlite3.connect(":memory:") as base:
        base.execute("create table t (a, b)")
        base.executemany("insert into t values (?, ?)", rows)
        expected = [row for (row,) in base.execute(f"select rowid - 1 from t where {condition} order by rowid")]
    base.close()
    found = parse_filter(condition).mask(batch).to_pylist()
    assert [row for row, keep in enumerate(found) if keep] == expected


PATTERNS = [
    "the", "[tT]he", r"\bthe\b", "(?i)THE", r"\d+", r"\w+-\w+", "a|b", "^the", "the$", "^", "", "a.b", "a{1,2}", "x*", "(?:the )+",
    "ß", "[^a]", r"\s", "é|日", "a+?", r"\.", "(a)(b)?", "a++",
]  # fmt: skip


@repeatable
@given(corpora(), st.sampled_from(PATTERNS))
def test_regex_means_what_it_means_to_python(documents: list[str | None], pattern: str) -> None:
    found = regex_mask(pa.array(documents, pa.string()), pattern).to_pylist()
    composed = [None if text is None else unicodedata.normalize("NFC", text) for text in documents]
    pattern = unicodedata.normalize("NFC", pattern)
    assert found == [text is not None and re.search(pattern, text) is not None for text in composed]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_and_accents_match_composed_letters(form: str) -> None:
    texts = [unicodedata.normalize(other, "Die Bürger und Ärzte") for other in ("NFC", "NFD")] + ["Die Burger"]
    batch = pa.record_batch({"text": pa.array(texts, pa.large_string()), "label": pa.array(texts).dictionary_encode()})
    word, whole = (unicodedata.normalize(form, text) for text in ("Bürger", texts[0]))
    assert regex_mask(batch.column("text"), f"{word}|ärzte").to_pylist() == [True, True, False]
    for condition in (
        f"text contains '{word}'",
        f"label = '{whole}'",
        f"label in ['{whole}']",
        f"text matches '{word}'",
    ):
        assert parse_filter(condition).mask(batch).to_pylist() == [True, True, False], condition


def test_an_empty_text_is_null_as_the_empty_cell_of_a_csv_file() -> None:
    batch = pa.record_batch({"label": ["a", "", None], "n": pa.array([1, None, 2])})
    assert parse_filter("label is null").mask(batch).to_pylist() == [False, True, True]
    assert parse_filter("label is not null").mask(batch).to_pylist() == [True, False, False]
    assert parse_filter("n is null").mask(batch).to_pylist() == [False, True, False]


@repeatable
@given(
    st.lists(st.text(alphabet="abAB1_ -.\n", max_size=8), max_size=6),
    st.lists(
        st.sampled_from(["a", "B", ".", "\\b", "\\w", "\\d", "(", ")", "|", "*", "+", "?", "^", "[ab]", "{2}", "{0,1}", "(?:", "-", " "]),
        max_size=7,
    ).map("".join),
)  # fmt: skip
def test_any_regex_of_ascii_means_what_it_means_to_python(texts: list[str], pattern: str) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error:
        with pytest.raises(UsageError):
            regex_mask(pa.array(texts, pa.string()), pattern)
        return
    assert regex_mask(pa.array(texts, pa.string()), pattern).to_pylist() == [bool(compiled.search(t)) for t in texts]


def test_regex_of_the_lecture_and_slices() -> None:
    texts = pa.array(["other", "The end", "in the end", "theology", None, ""], pa.large_string())
    assert regex_mask(texts, r"\b[tT]he\b").to_pylist() == [False, True, True, False, False, False]
    assert regex_mask(texts.slice(1, 2), "[tT]he").to_pylist() == [True, True]
    assert regex_mask(texts.slice(0, 0), "x").to_pylist() == []


@pytest.mark.parametrize(
    "pattern",
    [
        "a(b", "*a", "[a", "a{99999999999}", "a\\",
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_regex(pattern: str) -> None:
    with refuses("where"):
        regex_mask(pa.array(["x"]), pattern)


def test_a_pattern_too_large_for_re2_is_still_right() -> None:
    assert regex_mask(pa.array(["ab" * 2000, "x"]), "(?:(?:ab){40}){40}").to_pylist() == [True, False]


# ---------------------------------------------------------------- texts that are dates

DAYS = ["01/03/2015", "24/01/2015", "15/06/2016", "31/12/2014", None, ""]


def kept_days(condition: str, texts: list[str | None] = DAYS, **metadata: bytes) -> list[str | None]:
    """Return the texts of a column that a condition keeps, the column of the date where it is named so."""
    name = condition.split()[0]
    fields = {f"nlpkit.{key}".encode(): value for key, value in metadata.items()}
    schema = pa.schema([pa.field(name, pa.string(), metadata=fields or None)])
    mask = parse_filter(condition).mask(pa.RecordBatch.from_arrays([pa.array(texts)], schema=schema))
    return [text for text, keep in zip(texts, mask.to_pylist(), strict=True) if keep]


@pytest.mark.parametrize(
    ("condition", "days"),
    [
        ("date >= '2015-02-01'", ["01/03/2015", "15/06/2016"]),
        ("date < '2015'", ["31/12/2014"]),
        ("posted >= '2015-02-01'", ["01/03/2015", "15/06/2016"]),
        ("posted > '2015-01-24'", ["01/03/2015", "15/06/2016"]),
        ("date == '2015-01-24'", ["24/01/2015"]),
        ("date != '2015-01-24'", ["01/03/2015", "15/06/2016", "31/12/2014"]),
        ("date in ['2015-01-24', '2014-12-31']", ["24/01/2015", "31/12/2014"]),
        ("date not in ['2015-01-24', '2014-12-31']", ["01/03/2015", "15/06/2016"]),
        ("date == '24/01/2015'", ["24/01/2015"]),
        ("posted == '2015-01-24'", []),
        ("date startswith '24'", ["24/01/2015"]),
    ],
)
def test_texts_are_compared_with_dates_as_dates(condition: str, days: list[str]) -> None:
    """They were compared as texts: date >= '2015-02-01' kept 24/01/2015 and 31/12/2014, exactly the two that should go."""
    assert kept_days(condition) == days


def test_a_format_and_times_of_day() -> None:
    assert kept_days("date >= '2015-02-01'", ["01/03/15", "03/01/15"], date_format=b"%d/%m/%y") == ["01/03/15"]
    times = ["2015-02-20 09:00", "2015-02-20T11:30:00Z", "20-02-2015 10.15", "2015-02-20"]
    assert kept_days("date > '2015-02-20T10:00'", times) == times[1:3]
    assert kept_days("date <= '2015-02-20'", times) == times[3:]  # its first moment, as of a column of timestamps


def test_one_column_of_dates_against_another() -> None:
    rows = pa.record_batch({
        "start": ["01/03/2015", "24/01/2015", "02/02/2016"], "end": ["2015-02-01", "2015-02-01", None], "name": ["a", "b", "c"],
    })  # fmt: skip
    assert parse_filter("start < end").mask(rows).to_pylist() == [False, True, False]
    assert parse_filter("name < end").mask(rows).to_pylist() == [False, False, False]  # as texts


@pytest.mark.parametrize(
    ("condition", "texts", "message"),
    [
        ("date >= '2015-02-01'", ["01/02/2015", "03/04/2015"], "date_format=%d/%m/%Y"),  # day or month first?
        ("date >= '2015-02-01'", ["01/02/2015", "2015-01-01", "2015-01-02"], "date_format=%d/%m/%Y"),
        ("date >= '2015-02-01'", ["1700000000000", "1703010412345"], "milliseconds: give `date_format=%s`"),
        ("name >= '2015-02-01'", ["a", "b"], "2 of 2 values cannot be read as dates.*date_col=name"),
        ("name >= '2015'", ["150", "9"], "cannot be read as dates"),
    ],
)
def test_texts_that_are_no_dates_are_not_compared_with_one(condition: str, texts: list[str], message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        kept_days(condition, texts)


@pytest.mark.parametrize("condition", ["date >= '01/02/2015'", "posted < '1.2.2015'", "date > 'May 2015'"])
def test_by_order_dates_are_compared_with_iso_dates_alone(condition: str) -> None:
    with pytest.raises(UsageError, match="give 2020, 2020-05, 2020-05-31"):
        kept_days(condition)


def test_what_is_known_of_a_column_holds_for_its_next_batches(caplog: pytest.LogCaptureFixture) -> None:
    condition = parse_filter("date >= '2015-02-01'")
    first = pa.record_batch({"date": DAYS * 5})
    assert condition.mask(first).to_pylist() == [True, False, True, False, False, False] * 5
    assert condition.mask(pa.record_batch({"date": ["02/01/2015", "01/02/2015"]})).to_pylist() == [False, True]
    assert condition.mask(pa.record_batch({"date": ["unknown", "01/02/2015"]})).to_pylist() == [False, True]
    assert "date 'unknown' cannot be read" in caplog.text
    with pytest.raises(ColumnError, match="begin with the day"):
        condition.mask(pa.record_batch({"date": ["12/25/2015"]}))
