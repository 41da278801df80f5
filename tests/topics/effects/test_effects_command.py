"""nlpkit effects: what covariates do to topics, and what they cannot be."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import UsageError
from tests.command_line import footer, planted_rows, read, run_cli, write_jsonl


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of planted topics, each of which is a label, with a document without words."""
    folder = tmp_path_factory.mktemp("effects")
    rows = [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows()]
    rows.insert(5, {**rows[0], "id": "empty", "text": ""})
    run_cli(
        "stm",
        write_jsonl(folder / "rows.jsonl", rows),
        "--k",
        "4",
        "--prevalence",
        "label + date",
        "-q",
        "-o",
        folder / "run",
    )
    return folder / "run"


def test_each_label_has_its_topic(run: Path) -> None:
    table = nk.estimate_effects(run, column="label").table.to_pylist()
    theta = nk.load(run).theta
    labels = read(run / "documents.parquet").column("label").to_pylist()
    for row in table:
        of_label = theta[
            [i for i, label in enumerate(labels) if label == row["value"] and theta[i].any()], row["topic"]
        ]
        assert row["share"] == pytest.approx(of_label.mean(), abs=0.1)
        assert row["low"] < row["share"] < row["high"]
    levels = sorted(set(labels))
    best = {level: max((r for r in table if r["value"] == level), key=lambda r: r["share"]) for level in levels}
    assert len({row["topic"] for row in best.values()}) == 4
    for level in levels[1:]:
        assert best[level]["p"] < 1e-3
        assert best[level]["difference_low"] > 0.4
    assert all(row["p"] is None and row["difference"] == 0 for row in table if row["value"] == levels[0])


def test_the_reference_is_named_and_shares_below_0_explained(run: Path) -> None:
    """The value that others are compared with stood there as 0.0% 0.0% 0.0%, and shares under 0 without a word."""
    done = run_cli("effects", run, "--of", "label")
    assert done.out.count("(reference)") == 4  # one a topic
    table = nk.estimate_effects(run, column="label").table.to_pylist()
    passes = any(row["low"] < 0 or row["high"] > 1 for row in table)
    assert ("shares come from a linear regression" in done.err) == passes


def test_coefficients_are_the_differences(run: Path) -> None:
    coefficients = nk.estimate_effects(run).table.to_pylist()
    names = list(dict.fromkeys(row["covariate"] for row in coefficients))
    assert (len(names), names[0]) == (5, "(intercept)")
    shares = nk.estimate_effects(run, column="label").table.to_pylist()
    for row in shares:
        name = f"label[{row['value']}]"
        if name in names:
            same = next(r for r in coefficients if (r["topic"], r["covariate"]) == (row["topic"], name))
            assert row["difference"] == pytest.approx(same["estimate"])
            assert (row["difference_low"], row["p"]) == pytest.approx((same["low"], same["p"]))
    sums = {name: sum(r["estimate"] for r in coefficients if r["covariate"] == name) for name in names}
    assert sums.pop("(intercept)") == pytest.approx(1)
    assert list(sums.values()) == pytest.approx([0] * 4, abs=1e-9)


def test_tables_and_other_formulas(run: Path) -> None:
    done = run_cli("effects", run, "--of", "date", "-o", "dates.csv")
    rows = list(csv.reader(Path("dates.csv").read_text(encoding="utf-8").splitlines()))
    assert (rows[0][:4], rows[1][2]) == (["topic", "topic_label", "value", "share"], "2020-01-01")
    assert "wrote dates.csv: 400 rows" in done.err
    assert "drawn 25 times from their posteriors. Intervals hold for the topics of this fit" in done.err
    run_cli("effects", run, "--prevalence", "s(n, 3)", "-q", "-o", "n.parquet")
    assert footer("n.parquet")["command"] == "effects"
    assert footer("n.parquet")["parameters"]["prevalence"] == "s(n, 3)"
    assert read("n.parquet").num_rows == 16
    value = run_cli("effects", run, "--of", "n", "--prevalence", "n*label", "--json").json()
    assert (value["documents"], len(value["effects"])) == (120, 400)


@pytest.mark.parametrize("column", ["label", "date"])
def test_a_picture(run: Path, tmp_path: Path, column: str) -> None:
    pytest.importorskip("matplotlib")
    done = run_cli("effects", run, "--of", column, "--plot", "a.svg")
    assert "wrote a.svg" in done.err
    run_cli("effects", run, "--of", column, "--plot", tmp_path / "b.svg", "-q", "--threads", "1")
    assert Path("a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    effects = nk.estimate_effects(run, column=column)
    fewer = nk.plot_effects(effects, topics=1, width=8).draws("svg")
    assert len(fewer) < len(Path("a.svg").read_bytes())


def test_pictures_that_cannot_be(run: Path) -> None:
    says = run_cli("effects", run, "--plot", "x.svg", code=2).error()
    assert "--plot draws the effects of one column; name it with --of" in says
    assert "is written as .svg" in run_cli("effects", run, "--of", "label", "--plot", "x.html", code=2).error()
    Path("there.svg").touch()
    assert "there.svg" in run_cli("effects", run, "--of", "label", "--plot", "there.svg", code=2).error()
    with pytest.raises(UsageError, match="name it with `of`"):
        nk.plot_effects(nk.estimate_effects(run))


def test_numbers_are_shown_at_five_values(run: Path) -> None:
    lines = run_cli("effects", run, "--of", "date").out.splitlines()
    first, second = (next(i for i, line in enumerate(lines) if line.startswith(f"{k} ")) for k in "01")
    assert second - first == 1 + 5
    assert "2020-01-01" in lines[first + 1]
    assert any("2020-01-01" in line for line in lines)


def test_the_seed_decides(run: Path) -> None:
    a, b, c = (np.array(nk.estimate_effects(run, seed=s).table.column("estimate")) for s in (1, 1, 2))
    assert (a == b).all()
    assert (a != c).any()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--of", "source"], 3, "the formula has no column 'source' (found: label, date)"),
        (["--prevalence", "label +"], 2, "--prevalence cannot be read at its end"),
        (["--prevalence", "nothing"], 3, "has no column 'nothing'"),
        (["--ci", "1.5"], 2, "--ci"),
        (["--of", "label", "--difference", "river"], 2, "compares two values of 'label', and 1 are named"),
        (["--of", "label", "--difference", "x,y"], 2, "--difference"),
        (["--of", "date", "--difference", "2020-01-01,never"], 2, "'never' is not a date"),
        (["--of", "s", "--prevalence", "label", "--difference", "a,b"], 3, "the formula has no column 's'"),
        (["--of", "n", "--prevalence", "s(n, 3)", "--difference", "1,999"], 2, "'999' is outside 0 to"),
        (["--of", "label", "--moderator", "label"], 2, "is the column of the effect"),
        (["--of", "label", "--moderator", "nothing"], 3, "the formula has no column 'nothing'"),
        (["--difference", "a,b"], 2, "--difference needs --of"),
        (["--topics", "99"], 3, "--topics 99"),
    ],
)
def test_bad_input(run: Path, words: list[str], code: int, message: str) -> None:
    assert message in run_cli("effects", run, *words, code=code).error()


def test_a_difference_at_each_value_of_a_moderator_is_a_sum_of_coefficients(binary: Path) -> None:
    """With `party * coin`, r less d is β of r for x, the reference, and β of r + β of r:y for y."""
    formula = "party * coin"
    coefficients = {
        (row["topic"], row["covariate"]): row
        for row in nk.estimate_effects(binary, prevalence=formula).table.to_pylist()
    }
    asked = {"prevalence": formula, "column": "party", "difference": "r,d", "moderator": "coin"}
    rows = nk.estimate_effects(binary, **asked).table.to_pylist()
    assert [(row["topic"], row["moderator"]) for row in rows] == [(k, level) for k in range(3) for level in "xy"]
    for row in rows:
        alone = coefficients[row["topic"], "party[r]"]
        if row["moderator"] == "x":
            assert (row["difference"], row["low"], row["p"]) == pytest.approx(
                (alone["estimate"], alone["low"], alone["p"])
            )
        else:
            together = alone["estimate"] + coefficients[row["topic"], "party[r]:coin[y]"]["estimate"]
            assert row["difference"] == pytest.approx(together)
    of_x = [row for row in rows if row["moderator"] == "x"]
    largest, least = max(row["p"] for row in of_x), min(row["p"] for row in of_x)
    assert max(row["q"] for row in of_x) == pytest.approx(largest)
    assert min(row["q"] for row in of_x) >= least
    swapped = nk.estimate_effects(binary, **{**asked, "difference": ("d", "r")}).table.to_pylist()
    assert [row["difference"] for row in swapped] == pytest.approx([-row["difference"] for row in rows])
    lines = nk.estimate_effects(binary, prevalence=formula, column="party", moderator="coin=y").table.to_pylist()
    of_y = [row["difference"] for row in rows if row["moderator"] == "y"]
    assert [row["difference"] for row in lines if row["value"] == "r"] == pytest.approx(of_y)


def test_topics_stand_in_the_order_in_which_they_are_named(binary: Path) -> None:
    words = ["--of", "party", "--difference", "r,d", "--topics", "2,0", "--json"]
    value = run_cli("effects", binary, *words).json()
    assert [row["topic"] for row in value["effects"]] == value["topics"] == [2, 0]
    assert value["difference"] == ["r", "d"]
    done = run_cli("effects", binary, *words[:-1])
    assert "party: share of topics at r less at d, in 119 documents" in done.out
    assert "percentage points; q: false discovery rate" in done.err


def test_pictures_of_differences_and_of_lines(binary: Path, run: Path) -> None:
    pytest.importorskip("matplotlib")
    asked = ["--prevalence", "party*coin", "--of", "party", "--moderator", "coin"]
    run_cli("effects", binary, *asked, "--difference", "r,d", "-q", "--plot", "a.svg")
    run_cli("effects", binary, *asked, "-q", "--plot", "b.svg")
    run_cli(
        "effects", run, "--prevalence", "s(n, 3)*label", "--by", "n", "--moderator", "label", "-q", "--plot", "c.png"
    )
    done = run_cli("effects", binary, "--of", "party", "--moderator", "coin", "--plot", "d.pdf")
    assert "the formula has no interaction of 'party' and 'coin'" in done.err
    assert all(Path(name).stat().st_size > 5000 for name in ("a.svg", "b.svg", "c.png", "d.pdf"))


def test_dates_are_compared_by_their_names(run: Path) -> None:
    same = nk.estimate_effects(run, column="date").table.to_pylist()
    first, last = same[0]["value"], same[99]["value"]
    rows = nk.estimate_effects(run, column="date", difference=f"{last},{first}").table.to_pylist()
    assert rows[0]["difference"] == pytest.approx(same[99]["difference"])


def test_other_runs(planted_lda: Path, planted: Path) -> None:
    assert "was fitted without covariates" in run_cli("effects", planted_lda, code=2).error()
    run_cli("effects", planted_lda, "--prevalence", "label")
    says = run_cli("effects", planted_lda, "--prevalence", "label", "--of", "label", "--permutations", "3", code=2)
    assert "--prevalence and --permutations" in says.error()
    assert "lda-gibbs" in run_cli("effects", planted_lda, "--of", "label", "--permutations", "3", code=3).error()
    run_cli("stm", planted, "--k", "4", "--iterations", "3", "-q", "-o", "ctm")
    assert "was fitted without covariates" in run_cli("effects", "ctm", code=2).error()
    run_cli("effects", "ctm", "--prevalence", "label")


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of three planted topics that depend on a party, and not on another column; one document has no words."""
    folder, rng = tmp_path_factory.mktemp("binary"), np.random.default_rng(0)
    words = [f"{topic}{letter}" for topic in ("tax", "school", "river") for letter in "abcdefgh"]
    rows = []
    for i in range(120):
        party = int(rng.random() < 0.5)
        theta = rng.dirichlet([[6.0, 2, 1], [2.0, 6, 1]][party])
        text = " ".join(rng.choice(words, 25, p=np.repeat(theta / 8, 8)))
        rows.append(
            {"id": f"d{i}", "text": text, "party": "dr"[party], "code": party + 3, "coin": "xy"[rng.integers(2)]}
        )
    rows[7]["text"] = ""
    write_jsonl(folder / "rows.jsonl", [{**row, "three": "abc"[i % 3]} for i, row in enumerate(rows)])
    run_cli(
        "stm", folder / "rows.jsonl", "--k", "3", "--prevalence", "party + coin + three", "-q", "-o", folder / "run"
    )
    return folder / "run"


def test_permutations_tell_an_effect_from_chance(binary: Path) -> None:
    done = run_cli("effects", binary, "--of", "party", "--permutations", "19", "--threads", "1", "-o", "party.parquet")
    assert "Effect of party on shares of topics, r less d, beside 19 permutations" in done.out
    assert "of 3 topics has p < 0.05 (the smallest possible p is 0.050). Each topic is tested alone" in done.err
    table = read("party.parquet").to_pylist()
    estimated = nk.estimate_effects(binary, column="party").table.to_pylist()
    for row in table:
        assert row["difference"] == pytest.approx(estimated[2 * row["topic"] + 1]["difference"])
        assert len(row["permuted"]) == 19
        larger = sum(abs(effect) >= abs(row["difference"]) for effect in row["permuted"])
        assert row["p"] == pytest.approx((1 + larger) / 20)
        assert row["match"] > 0.99
    assert [row["p"] for row in sorted(table, key=lambda row: -abs(row["difference"]))[:2]] == [0.05, 0.05]
    assert footer("party.parquet")["parameters"]["permutations"] == 19
    run_cli("effects", binary, "--of", "party", "--permutations", "19", "--threads", "2", "-q", "-o", "two.parquet")
    assert Path("two.parquet").read_bytes() == Path("party.parquet").read_bytes()
    chance = nk.permutation_effects(binary, column="coin", permutations=5, seed=1).table.to_pylist()
    assert np.mean([row["p"] for row in chance]) > 1 / 6


@pytest.mark.slow
def test_permutations_of_numbers_and_of_content(binary: Path, tmp_path: Path) -> None:
    rows = binary.parent / "rows.jsonl"
    run_cli(
        "stm", rows, "--k", "3", "--prevalence", "code", "--content", "party", "--iterations", "9", "-q", "-o", "run"
    )
    value = run_cli("effects", "run", "--of", "code", "--permutations", "2", "-q", "--json").json()
    assert value["values"] == ["3", "4"]
    assert all(abs(row["difference"]) > max(map(abs, row["permuted"])) for row in value["tests"][:2])
    plan = run_cli("effects", "run", "--of", "code", "--permutations", "100", "--dry-run", "--json").json()
    assert (plan["documents"], plan["topics"], plan["fits"]) == (119, 3, 100)
    copy = tmp_path / "elsewhere.jsonl"
    copy.write_bytes(rows.read_bytes())
    again = nk.permutation_effects("run", column="code", permutations=2, documents=copy).table.to_pylist()
    assert again == value["tests"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--of", "three"], 3, "compares two values, and 'three' has 3: a, b, c"),
        (["--of", "code"], 3, "the formula has no column 'code'"),
        ([], 2, "--permutations tests the effect of one column; name it with --of"),
        (["--of", "party", "--prevalence", "party"], 2, "--prevalence and --permutations do not go together"),
        (["--of", "party", "--plot", "x.svg"], 2, "draws shares by value, and"),
        (["--of", "party", "--documents", "other.jsonl"], 3, "the documents differ from the documents of"),
    ],
)
def test_permutations_that_cannot_be(binary: Path, words: list[str], code: int, message: str) -> None:
    write_jsonl(Path("other.jsonl"), [{"id": f"e{i}", "text": "taxa taxb schoola"} for i in range(120)])
    assert message in run_cli("effects", binary, "--permutations", "3", *words, code=code).error()
    if words == ["--of", "three"]:
        done = run_cli("effects", binary, "--of", "party", "--documents", "other.jsonl", code=2)
        assert "--documents needs --permutations" in done.error()
