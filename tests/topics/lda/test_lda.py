"""LDA from Python: fitted, saved, loaded, predicted with, updated and converted, as the commands do it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.errors import InputError, UsageError
from nlpkit.predict.run import load
from nlpkit.topics.export.convert import convert
from nlpkit.topics.export.mallet import read_mallet_state
from nlpkit.topics.lda.model import FittedLda
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.lda.run import fit_lda
from nlpkit.topics.rolling.model import FittedRollingLda
from nlpkit.topics.rolling.options import RollingOptions
from nlpkit.topics.rolling.run import fit_rolling_lda, update_rolling_lda
from tests.refusals import refuses

COURTS = ["judge", "jury", "court", "trial", "lawyer", "verdict"]
RIVERS = ["river", "bridge", "water", "boat", "flood", "ferry"]


def texts(n: int = 40) -> list[str]:
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice(COURTS if i % 2 else RIVERS, 20)) for i in range(n)]


def dated(n: int = 90) -> pa.Table:
    days = [f"2020-{1 + i * 6 // n:02d}-{1 + i % 28:02d}" for i in range(n)]
    return pa.table({"id": [f"d{i}" for i in range(n)], "text": texts(n), "date": days})


@pytest.fixture(scope="module")
def model() -> FittedLda:
    return fit_lda(texts(), k=2, sweeps=30, seed=3)


@pytest.fixture(scope="module")
def rolling() -> FittedRollingLda:
    return fit_rolling_lda(dated().slice(0, 60), k=2, init="2 months", sweeps=10)


def topics_of(table: pa.Table) -> list[int]:
    found: list[int] = table.column("topic").to_pylist()
    return found


def test_a_model_has_topics_and_the_probabilities_of_words_and_documents(model: FittedLda) -> None:
    assert {word for words in model.topics.column("top_terms").to_pylist() for word in words} <= {*COURTS, *RIVERS}
    assert model.phi.shape == (2, 12)
    assert model.phi.sum(axis=1) == pytest.approx([1, 1])
    assert model.theta.shape == (40, 2)
    assert model.theta.argmax(axis=1).tolist() == topics_of(model.documents)
    assert len(set(topics_of(model.documents)[::2])) == 1
    assert "<table>" in model._repr_html_()
    assert model.summary["n_topics"] == 2


def test_a_saved_model_is_the_same_one(model: FittedLda, tmp_path: Path) -> None:
    again = load(model.save(tmp_path / "run"))
    assert isinstance(again, FittedLda)
    for name, table in model.tables().items():
        assert again.tables()[name].equals(table), name
    assert np.array_equal(again.phi, model.phi)
    assert again.theta == pytest.approx(model.theta, abs=0.05 + 1e-6)
    new = ["judge and jury", "a river", "", texts()[0]]
    assert again.predict(new, seed=5).equals(model.predict(new, seed=5))
    assert topics_of(again.predict(new))[3] == topics_of(model.documents)[0]
    assert topics_of(again.predict(new))[2] == -1
    copy = again.save(tmp_path / "copy")
    assert load(copy).tables()["topics"].equals(model.topics)


def test_single_options_are_sorted_into_their_records() -> None:
    assert fit_lda(texts(), options=LdaOptions(k=3), sweeps=5, min_df=1).model.n_topics == 3
    with pytest.raises(TypeError, match="sweeps"):
        fit_lda(texts(), k=2, sweps=5)
    with pytest.raises(UsageError) as wrong:
        fit_lda(texts(), k=2, alpha=-1.0)
    assert wrong.value.parameter == "alpha"
    with pytest.raises(UsageError) as together:
        fit_lda(texts(), k=2, prototype=3, early_stop=0.1)
    assert together.value.parameter == "early_stop"


def test_a_fit_that_is_ended_goes_on_to_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nlpkit.topics.lda import fit as module

    sweep = module._sweep

    def ended(sampler: Any, *words: Any) -> Any:
        if sampler.sweep == 12:
            raise KeyboardInterrupt
        return sweep(sampler, *words)

    run = tmp_path / "run"
    words: dict[str, Any] = {"k": 2, "sweeps": 30, "checkpoint": run, "checkpoint_every": 5}
    monkeypatch.setattr(module, "_sweep", ended)
    with pytest.raises(KeyboardInterrupt):
        fit_lda(texts(), **words)
    assert (tmp_path / "run.checkpoint.npz").exists()
    monkeypatch.setattr(module, "_sweep", sweep)
    with pytest.raises(UsageError, match="not finished"):
        fit_lda(texts(), **words)
    resumed, whole = fit_lda(texts(), **words, resume=True), fit_lda(texts(), k=2, sweeps=30)
    assert resumed.topics.equals(whole.topics)
    resumed.save(run)
    assert not (tmp_path / "run.checkpoint.npz").exists()


def test_an_update_gives_what_one_fit_gives(rolling: FittedRollingLda, tmp_path: Path) -> None:
    longer = update_rolling_lda(rolling, dated().slice(60))
    whole = fit_rolling_lda(dated(), k=2, init="2 months", sweeps=10)
    for name in ("topics", "chunks", "changes", "documents"):
        assert longer.tables()[name].equals(whole.tables()[name]), name
    assert rolling.path is None  # an update leaves it as it is
    saved = load(rolling.save(tmp_path / "run"))
    assert isinstance(saved, FittedRollingLda)
    assert update_rolling_lda(tmp_path / "run", dated().slice(60)).topics.equals(whole.topics)
    with pytest.raises(UsageError) as other:
        update_rolling_lda(saved, dated().slice(60), k=3)
    assert other.value.parameter == "k"


def test_a_rolling_model_needs_a_number_of_topics() -> None:
    with pytest.raises(UsageError) as none:
        fit_rolling_lda(dated())
    assert none.value.parameter == "k"
    with pytest.raises(UsageError) as chosen:
        fit_rolling_lda(dated(), options=RollingOptions(k="auto"))
    assert chosen.value.parameter == "k"


def test_a_model_is_written_for_other_programs(model: FittedLda, tmp_path: Path) -> None:
    convert(model, tmp_path / "state.gz")
    state = read_mallet_state(tmp_path / "state.gz")
    assert state.tokens.n_docs == 40
    assert state.alpha.tolist() == model.model.alpha.tolist()
    convert(model, tmp_path / "vis.json")
    assert len(json.loads((tmp_path / "vis.json").read_text())["mdsDat"]["topics"]) == 2
    convert(model, tmp_path / "octis.json", to="octis")
    assert json.loads((tmp_path / "octis.json").read_text())["topics"][0][0] in {*COURTS, *RIVERS}
    imported = convert(tmp_path / "state.gz", tmp_path / "imported").model
    assert imported is not None
    assert imported.topics.column("top_terms").equals(model.topics.column("top_terms"))
    with refuses("output"):
        convert(tmp_path / "imported", tmp_path / "again")


def test_a_run_needs_assignments_for_a_state(model: FittedLda, tmp_path: Path) -> None:
    plain = fit_lda(texts(), k=2, sweeps=5).save(tmp_path / "plain")
    with pytest.raises(InputError) as lacks:
        convert(plain, tmp_path / "state.gz")
    assert lacks.value.parameter == "save_assignments"
    for estimate in ("mean", "best"):
        fitted = fit_lda(texts(), k=2, sweeps=20, estimate=estimate, save_assignments=True)
        run = fitted.save(tmp_path / estimate)
        convert(fitted, tmp_path / "one.json", force=True)
        if estimate == "mean":
            with pytest.raises(InputError, match="averaged or weighted counts"):
                convert(run, tmp_path / "two.json")
            continue
        convert(run, tmp_path / "two.json")
        assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize("name", ["topics.csv", "topics.parquet", "topics.json", "topics.txt"])
def test_lists_of_topics_come_back(name: str, tmp_path: Path) -> None:
    lines = "river boat bridge\njudge jury\n"
    (tmp_path / "in.txt").write_text(lines)
    done = convert(tmp_path / "in.txt", tmp_path / name)
    assert done.n_topics == 2
    convert(tmp_path / name, tmp_path / "back.txt")
    assert (tmp_path / "back.txt").read_text() == lines
