"""Effects in runs of every kind of topic model: draws, clusters, bad input, tables of units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.errors import InputError, UsageError
from nlpkit.platform.models import BUILT_IN, MODELS
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import open_run
from nlpkit.report import covariates
from nlpkit.report.options import ReportOptions
from nlpkit.topics.base.tables import read_theta
from nlpkit.topics.effects.posteriors import dirichlet, one_topic
from tests.command_line import read, run_cli, write_embedded

FITS = {
    "lda-gibbs": ["--k", "3", "--sweeps", "60"],
    "lda-online": ["--k", "3", "--iterations", "3"],
    "nmf": ["--k", "3"],
    "plsa": ["--k", "3"],
    "gsdmm": ["--k", "3"],
    "biterm": ["--k", "3", "--iterations", "30"],
    "hdp": ["--iterations", "30"],
    "hlda": ["--iterations", "10"],
    "slda": ["--k", "3", "--iterations", "20", "--label-col", "party"],
    "dtm": ["--k", "3", "--iterations", "3"],
    "bertopic": ["--k", "3"],
}
WORDS = [f"{topic}{letter}" for topic in ("tax", "school", "river") for letter in "abcdefgh"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of three topics that depend on a party, by 20 speakers with a liking of their own; one has no words."""
    rng, rows = np.random.default_rng(0), []
    likes = rng.dirichlet([2.0, 2, 2], 20)
    for i in range(160):
        speaker = i % 20
        party = speaker % 2
        theta = rng.dirichlet(np.array([[6.0, 2, 1], [2.0, 6, 1]])[party] + 3 * likes[speaker])
        rows.append(
            {
                "id": f"d{i}", "text": " ".join(rng.choice(WORDS, 25, p=np.repeat(theta / 8, 8))), "party": "dr"[party],
                "speaker": f"s{speaker:02}", "date": f"20{10 + i % 5}-03-01", "age": None if i == 3 else 30 + i % 11, "one": "same",
                "alone": "x" if speaker == 4 else "y", "embedding": [*theta.tolist(), 0.1],
            }
        )  # fmt: skip
    rows[7]["text"] = ""
    return write_embedded(tmp_path_factory.mktemp("parties") / "rows.parquet", rows)


@pytest.fixture(scope="module")
def runs(corpus: Path) -> dict[str, Path]:
    """Runs that were made, by kind."""
    return {}


def fitted(kind: str, corpus: Path, runs: dict[str, Path]) -> Path:
    if kind not in runs:
        runs[kind] = corpus.parent / kind
        run_cli(kind, corpus, *FITS[kind], "-q", "-o", runs[kind])
    return runs[kind]


@pytest.mark.parametrize("kind", FITS)
def test_every_model_has_effects(kind: str, corpus: Path, runs: dict[str, Path]) -> None:
    run = fitted(kind, corpus, runs)
    done = run_cli("effects", run, "--prevalence", "party + s(date, 3)", "--of", "party", "--json").json()
    assert (done["draws"] > 0) == bool(MODELS[kind].posterior)
    theta, documents = nk.load(run).theta if kind != "bertopic" else None, nk.load(run).documents
    main = documents.column("topic").to_numpy()
    party = np.array(documents.column("party").to_pylist())
    K = 1 + max(row["topic"] for row in done["effects"])
    shares = (main[:, None] == np.arange(K)) * 1.0 if theta is None else theta
    for row in done["effects"]:
        mean = shares[(party == row["value"]) & (main >= 0), row["topic"]].mean()
        assert row["share"] == pytest.approx(mean, abs=0.15)
    assert done["documents"] == (main >= 0).sum()
    clustered = nk.estimate_effects(run, prevalence="party", column="party", difference="r,d", cluster="speaker")
    alone = nk.estimate_effects(run, prevalence="party", column="party", difference="r,d")
    np.testing.assert_allclose(clustered.table["difference"], alone.table["difference"], atol=1e-12)
    assert clustered.facts["clusters"] == 20


def test_the_speakers_make_errors_larger(corpus: Path, runs: dict[str, Path]) -> None:
    run = fitted("lda-gibbs", corpus, runs)
    of: dict[str, Any] = {"prevalence": "party", "column": "party", "difference": "r,d"}
    errors = {
        name: np.array(nk.estimate_effects(run, **of, **how).table["se"])
        for name, how in {
            "alone": {}, "cluster": {"cluster": "speaker"}, "random": {"random": "speaker"}, "bootstrap": {"bootstrap": 200},
            "both": {"bootstrap": 200, "cluster": "speaker"},
        }.items()
    }  # fmt: skip
    assert (errors["cluster"] > 1.1 * errors["alone"]).any()
    np.testing.assert_allclose(errors["bootstrap"], errors["alone"], rtol=0.25)
    np.testing.assert_allclose(errors["both"], errors["cluster"], rtol=0.3)
    np.testing.assert_allclose(errors["random"], errors["cluster"], rtol=0.3)


def test_draws_of_the_posteriors(corpus: Path, runs: dict[str, Path]) -> None:
    rng = np.random.default_rng(0)
    for kind, posterior, atol in (("lda-gibbs", dirichlet, 0.05), ("gsdmm", one_topic, 0.15)):
        run = open_run(fitted(kind, corpus, runs))
        filled = run.table("documents").column("topic").to_numpy() >= 0
        draws = list(posterior(run, filled)(rng, 200))
        assert len(draws) == 200
        np.testing.assert_allclose(draws[0].sum(axis=1), 1)
        np.testing.assert_allclose(np.mean(draws, axis=0), read_theta(run)(np.flatnonzero(filled)), atol=atol)
    assert set(np.unique(draws[0])) == {0.0, 1.0}


def test_a_posterior_is_declared_where_there_is_one() -> None:
    assert {kind for kind in BUILT_IN if MODELS[kind].posterior} == {
        "lda-gibbs", "lda-online", "hdp", "dtm", "slda", "gsdmm", "stm"
    }  # fmt: skip


def test_shares_by_main_topic_and_by_logit(corpus: Path, runs: dict[str, Path]) -> None:
    run = fitted("lda-gibbs", corpus, runs)
    main = nk.estimate_effects(run, prevalence="party", column="party", count="main")
    assert main.facts["draws"] == 0
    topic = nk.load(run).documents.filter(pa.compute.field("topic") >= 0)
    of_d = np.array(topic["topic"])[np.array(topic["party"].to_pylist()) == "d"]
    row = main.table.to_pylist()[0]
    assert (row["value"], row["share"]) == ("d", pytest.approx((of_d == 0).mean()))
    logit = nk.estimate_effects(run, prevalence="party", column="party", link="logit", count="main").table
    np.testing.assert_allclose(logit["share"], main.table["share"], atol=1e-8)  # of categories alone both are the means
    done = run_cli("effects", run, "--prevalence", "s(age, 3)", "--of", "age", "--link", "logit")
    assert "pass 0%" not in done.err
    assert "left out: 1 document without a value in 'age'" in done.err
    assert "estimates are of the logit" in run_cli("effects", run, "--prevalence", "party", "--link", "logit").err


def test_a_picture_of_any_model(corpus: Path, runs: dict[str, Path]) -> None:
    pytest.importorskip("matplotlib")
    run = fitted("nmf", corpus, runs)
    asked = ["--prevalence", "party * s(date, 3)", "--cluster", "speaker"]
    run_cli("effects", run, *asked, "--of", "date", "--moderator", "party", "-q", "--plot", "lines.svg")
    run_cli("effects", run, *asked, "--of", "party", "--difference", "r,d", "-q", "--plot", "pairs.svg")
    run_cli("plot", run, "effects", *asked, "--by", "party", "--difference", "r,d", "-q", "-o", "same.svg")
    assert Path("lines.svg").stat().st_size > 5000
    assert Path("same.svg").stat().st_size > 5000
    assert "name them with --prevalence" in run_cli("plot", run, "effects", "-o", "none.svg", code=3).error()


def test_a_report_of_any_model(corpus: Path, runs: dict[str, Path]) -> None:
    run = fitted("bertopic", corpus, runs)
    run_cli("report", run, "--prevalence", "party", "--cluster", "speaker", "-q", "-o", "with.html")
    shown = covariates.effects(open_run(run), ReportOptions(prevalence="party", cluster="speaker"), Execution())
    assert shown is not None
    assert (shown["formula"], shown["cluster"], len(shown["columns"])) == ("party", "speaker", 1)
    table = nk.estimate_effects(run, prevalence="party", cluster="speaker", column="party").table.to_pylist()
    np.testing.assert_allclose(shown["columns"][0]["mean"][0][0], [row["share"] for row in table[:2]], atol=1e-5)
    assert covariates.effects(open_run(run), ReportOptions(), Execution()) is None
    assert "no column 'nix'" in run_cli("report", run, "--prevalence", "nix", "-o", "no.html", code=3).error()
    assert (
        "--cluster belongs to effects"
        in run_cli("report", run, "--cluster", "speaker", "-o", "no.html", code=2).error()
    )


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["--prevalence", "one"],
            3,
            "'one' has 1 category, and 2 to 200 are needed; it does not distinguish the documents",
        ),
        (["--prevalence", "parti"], 3, "did you mean 'party'"),
        (["--prevalence", "party + ("], 2, "--prevalence cannot be read at its end, after 'party + ('"),
        (["--prevalence", "1"], 2, "--prevalence 1 names no column"),
        ([], 2, "was fitted without covariates; name those of the regression with --prevalence"),
        (["--prevalence", "party", "--cluster", "party"], 3, "errors by cluster need more clusters than columns"),
        (["--prevalence", "alone", "--cluster", "speaker"], 3, "is decided by the documents of 's04' alone"),
        (["--prevalence", "party", "--cluster", "age"], 3, "'age' has no value in 1 of 159 documents"),
        (
            ["--prevalence", "party", "--random", "id"],
            3,
            "random intercepts need values of 'id' with several documents",
        ),
        (
            ["--prevalence", "party", "--random", "speaker", "--link", "logit"],
            2,
            "--random needs the linear regression",
        ),
        (["--prevalence", "party", "--random", "speaker", "--cluster", "id"], 2, "do not go together"),
        (["--prevalence", "party", "--of", "speaker"], 3, "the formula has no column 'speaker'"),
        (["--of", "party", "--permutations", "3"], 3, "nmf"),
        (["--prevalence", "party", "--topics", "9"], 3, "no topic of this number or name"),
    ],
)
def test_what_cannot_be(corpus: Path, runs: dict[str, Path], words: list[str], code: int, message: str) -> None:
    assert message in run_cli("effects", fitted("nmf", corpus, runs), *words, code=code).error()


def test_the_fits_of_robust_topics_combine_by_rubins_rules(corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "robust"
    run_cli("robust", corpus, "--models", "nmf,lda", "--k", "3", "--seeds", "2", "-q", "-o", run)
    asked: dict[str, Any] = {"prevalence": "party", "draws": 4}
    together, known = (nk.estimate_effects(run, refits=each, **asked) for each in (True, False))
    rows = [row for row in together.table.to_pylist() if row["covariate"] == "party[r]" and row["topic"] < 3]
    members = read(run / "robust_members.parquet").to_pylist()
    for row in rows:
        of_fits = [
            next(
                found
                for found in nk.estimate_effects(fit["path"], count="mixed", **asked).table.to_pylist()
                if (found["topic"], found["covariate"]) == (member["run_topic"], "party[r]")
            )
            for fit in read(run / "robust_runs.parquet").to_pylist()
            for member in members
            if (member["run"], member["topic"]) == (fit["run"], row["topic"])
        ]
        estimates, errors = (np.array([found[name] for found in of_fits]) for name in ("estimate", "se"))
        assert len(estimates) == 4
        assert row["estimate"] == pytest.approx(estimates.mean(), abs=0.01)  # draws of lda differ
        expected = np.sqrt((errors**2).mean() + 1.25 * estimates.var(ddof=1))
        assert row["se"] == pytest.approx(expected, rel=0.1)
        assert row["high"] - row["low"] > 2 * 1.97 * row["se"]  # fewer degrees of freedom than documents
    assert len(rows) == 3
    assert (together.facts["refits"], together.facts["draws"], known.facts["refits"]) == (4, 4, None)
    first = read(run / "robust_runs.parquet").column("path")[0].as_py()
    with pytest.raises(UsageError, match="`refits` needs a run of robust topics"):
        nk.estimate_effects(first, refits=True, **asked)
    Path(first).rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is not there; `refits` needs all fits"):
        nk.estimate_effects(run, refits=True, **asked)


def test_a_table_of_units_has_effects(corpus: Path, runs: dict[str, Path]) -> None:
    run = fitted("nmf", corpus, runs)
    for name in ("units.parquet", "units.csv"):
        run_cli("topics", run, "--up", "speaker", "-q", "-o", name)
        rows = run_cli(
            "effects", name, "--prevalence", "party", "--of", "party", "--difference", "r,d", "--json"
        ).json()
        assert rows["documents"] == 20
        units = nk.topic_units(run, "speaker").table.to_pylist()
        means = {party: np.mean([u["topic_0"] for u in units if u["party"] == party]) for party in "rd"}
        assert rows["effects"][0]["difference"] == pytest.approx(means["r"] - means["d"])
    labels = [row["topic_label"] for row in rows["effects"]]
    assert labels == ["topic_0", "topic_1", "topic_2"]  # a CSV file has no footer with their names
    frame = nk.topic_units(run, "speaker").table
    assert nk.estimate_effects(frame, prevalence="party").table.num_rows == 6
    run_cli("effects", "units.parquet", "--prevalence", "party", "-q", "-o", "effects.parquet")
    bad = frame.set_column(frame.schema.get_field_index("topic_1"), "topic_1", pa.array([2.0] * 20))
    with pytest.raises(nk.errors.InputError, match="column 'topic_1' of the table holds other values than shares"):
        nk.estimate_effects(bad, prevalence="party")
    assert (
        "is neither a run nor a table of units" in run_cli("effects", write_csv(), "--prevalence", "a", code=3).error()
    )
    assert (
        "--permutations needs a run of stm"
        in run_cli("effects", "units.csv", "--of", "party", "--permutations", "3", code=2).error()
    )


def write_csv() -> Path:
    Path("other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    return Path("other.csv")
