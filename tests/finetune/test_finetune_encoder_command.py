"""nlpkit train-encoder: encoders trained on, scored before and after, and taken into use by other commands."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from nlpkit.classify.dataset import TEST
from nlpkit.finetune.encoders.data import PairDataset, hold_out
from nlpkit.finetune.patterns.mlm import MlmNetwork
from nlpkit.finetune.setfit.embedder import Embedder
from nlpkit.platform.runs import runs
from tests.command_line import files, read, run_cli, write_jsonl
from tests.finetune.finetune_data import FIRST, SPORT, pair_rows, refused, rows, tune

PAIRS = ["--pair-col", "other"]
OBJECTIVES: dict[str, list[str]] = {
    "mlm(head_steps=20)": [],
    "sbert-softmax": PAIRS,
    "triplet(margin=2)": [*PAIRS, "--negative-col", "negative"],
    "mnrl": PAIRS,
    "cosine": [*PAIRS, "--label-col", "score"],
}


def train(*words: Any, base: Path, steps: int | None = 4, code: int = 0) -> Any:
    return tune(*words, base=base, steps=steps, method=None, code=code, command="train-encoder")


def denied(*words: Any, base: Path, code: int) -> str:
    return refused(*words, base=base, method=None, code=code, command="train-encoder")


def report(run: str = "run") -> Any:
    return json.loads((Path(run) / "metrics.json").read_text())


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_leaves_an_encoder_that_is_another(objective: str, base: Path, tmp_path: Path) -> None:
    plain = [{k: v for k, v in row.items() if k != "score" or objective == "cosine"} for row in pair_rows()]
    if objective == "cosine":
        plain = [{k: v for k, v in row.items() if k != "label"} for row in plain]
    write_jsonl(tmp_path / "pairs.jsonl", plain)
    done = train(
        "pairs.jsonl",
        "--objective",
        objective,
        *OBJECTIVES[objective],
        *shlex.split("--lr 0.01 --epochs 4 -o run"),
        base=base,
    )
    assert "wrote run/" in done.err
    assert f"{objective.partition('(')[0]}, on 5 test rows" in done.out
    found = report()
    assert (found["objective"], found["test_rows"]) == (objective.partition("(")[0], 5)
    assert found["training"]["steps"] == 4
    assert set(found["after"]) >= {
        {"m": "perplexity", "s": "accuracy", "t": "accuracy", "c": "spearman"}[objective[0]]
    } or (objective == "mnrl")
    assert (found["before"] is None) == (objective == "sbert-softmax")
    curve = [json.loads(line) for line in Path("run/curve.jsonl").read_text().splitlines()]
    assert [p["step"] for p in curve] == sorted({p["step"] for p in curve})
    write_jsonl(tmp_path / "new.jsonl", rows(1))
    vectors = {}
    for name, model in (("before", base), ("after", "run")):
        run_cli(
            "sbert-embed",
            "new.jsonl",
            "--model",
            model,
            *shlex.split("--precision fp32 --offline -q -o"),
            f"{name}.parquet",
        )
        vectors[name] = np.stack(read(f"{name}.parquet").column("embedding").to_pylist())
    assert np.abs(vectors["after"] - vectors["before"]).max() > 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        theirs = SentenceTransformer("run/model/sentence-transformers", device="cpu")
        own = theirs.encode([r["text"] for r in rows(1)], normalize_embeddings=True, show_progress_bar=False)
    np.testing.assert_allclose(vectors["after"], own, atol=1e-5)
    assert not Path("run.checkpoint").exists()
    assert not list(Path("run").rglob("*.pkl"))


@pytest.mark.slow  # test_encoders and test_pretrain learn in less
def test_masked_words_are_guessed_better_and_the_model_goes_on(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "docs.jsonl", rows(3))
    write_jsonl(tmp_path / "test.jsonl", [{**row, "id": "t" + row["id"]} for row in rows(1)])
    more = ["--objective", "mlm", "--test", "test.jsonl", "--lr", "0.001"]
    done = train("docs.jsonl", *more, "--epochs", "40", "-o", "run", base=base, steps=None)
    assert "has no head for masked words: one is made from its word" in done.err
    first = report()
    assert first["after"]["perplexity"] < 0.8 * first["before"]["perplexity"]
    # its transformers folder has the head now
    for number, place in enumerate(("run/model/transformers", "run")):
        again = train("docs.jsonl", *more, "-o", f"more{number}", base=Path(place), steps=5)
        assert "no head" not in again.err
    assert files(Path("more0/model/transformers")) == files(Path("more1/model/transformers"))
    assert report("more0")["before"]["perplexity"] == pytest.approx(first["after"]["perplexity"], rel=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers

        _, facts = transformers.AutoModelForMaskedLM.from_pretrained("run/model/transformers", output_loading_info=True)
    assert not facts["missing_keys"]
    assert "fill-mask" in Path("run/model/transformers/README.md").read_text()
    # and is a base for classes
    tune("docs.jsonl", "-q", "-o", "classes", base=Path("run/model/transformers"))


def test_a_run_goes_into_bertopic_and_back_into_finetune(base: Path, tmp_path: Path) -> None:
    pytest.importorskip("hdbscan")
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    train("pairs.jsonl", "--objective", "mnrl", *PAIRS, "-q", "-o", "run", base=base)
    write_jsonl(tmp_path / "docs.jsonl", rows(4))
    run_cli("bertopic", "docs.jsonl", "--encoder", "run", "--k", "2", "--offline", "-q", "-o", "topics")
    assert read("topics/documents.parquet").num_rows == 48
    tune("docs.jsonl", "-q", "-o", "classes", base=Path("run/model/sentence-transformers"))
    assert "sentence encoder" in run_cli("predict", "run", "docs.jsonl", "-o", "p.parquet", code=3).error()


def test_the_same_bytes_twice_and_on_two_threads(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    for name, threads in (("a", "1"), ("b", "2")):
        run_cli(
            "train-encoder", "pairs.jsonl", "--objective", "mnrl", *PAIRS, "--base", base, "--max-steps", "3", "--threads", threads, "-q",
            "-o", name,
        )  # fmt: skip
    found = [{n: b for n, b in files(Path(name)).items() if n.startswith("model/")} for name in "ab"]
    assert found[0] == found[1]
    assert any(n.endswith(".safetensors") for n in found[0])


def test_parts_by_split_and_stopping_on_dev(base: Path, tmp_path: Path) -> None:
    own = [{**row, "part": ["train", "train", "dev", "test"][i % 4]} for i, row in enumerate(pair_rows())]
    write_jsonl(tmp_path / "pairs.jsonl", own)
    more = ["--objective", "cosine", *PAIRS, "--split", "part", "--epochs", "12", "--patience", "1", "--lr", "0.05"]
    done = train("pairs.jsonl", *more, "--label-col", "score", "--json", "-o", "run", base=base, steps=None)
    assert "12 training rows, 6 dev, 6 test" in done.err
    one = done.json()
    assert one["run"] == "run"
    assert one["training"]["stopped_early"]
    assert one["training"]["scores"] == {"low": 0.5, "high": 4.2}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["mnrl"], 2, "--pair-col"),
        (["triplet", *PAIRS], 2, "--negative-col"),
        (["cosine", *PAIRS, "--negative-col", "negative"], 2, "--negative-col"),
        (["mlm", *PAIRS], 2, "--pair-col"),
        (["mlm(share=2)"], 2, "share"),
        (["mlm(x=1)"], 2, "head_steps"),
        (["mlm(head_rate=0)"], 2, "head_rate is 0.0, a number above 0 was needed"),
        (["mnrl(scale=0)", *PAIRS], 2, "scale is 0.0, a number above 0 was needed"),
        (
            ["triplet(margin=-1)", *PAIRS, "--negative-col", "negative"],
            2,
            "margin is -1, a number of 0 or more was needed",
        ),
        (["mlm", "--seed", "-1"], 2, "'--seed'"),
        (["foo"], 2, "sbert-softmax"),
        (["mlm", "--method", "setfit"], 2, "can be merged into weights that other commands read; use one"),
        (["mnrl", *PAIRS, "--method", "pfeiffer"], 2, "can be merged into weights that other commands read; use one"),
        (["static", "--method", "lora"], 2, "is solved directly, without training; leave"),
        (["mlm", "--markdown", "--json"], 2, "--markdown and --json"),
        (["mnrl", "--pair-col", "othre"], 3, "did you mean 'other'"),
        (["triplet", *PAIRS, "--negative-col", "nix"], 3, "--negative-col"),
        (["cosine", *PAIRS], 3, "p0 has the score 'different'"),
        (["sbert-softmax", *PAIRS, "--label-col", "nix"], 3, "--label-col"),
        (["mlm", "--dev", "nix.jsonl"], 3, "--dev nix.jsonl: no such file"),
        (["mlm", "--text-col", "nix"], 3, "--text-col"),
        (["mlm", "--patience", "2"], 2, "--dev"),
        (["sbert-softmax", *PAIRS, "--label-col", "kinds"], 3, "has a list as its label"),
        (["mlm", "--split", "label"], 2, "no row is train"),
    ],
)
def test_what_is_refused(words: list[str], code: int, said: str, base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    assert said in denied("pairs.jsonl", "--objective", *words, "-o", "run", base=base, code=code)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pairs.jsonl"]


@pytest.mark.parametrize(("objective", "steps"), [("mlm(head_steps=7)", [2, 7]), ("mnrl", [2])])
def test_a_dry_run(objective: str, steps: list[int], base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    words = [] if objective.startswith("mlm") else PAIRS
    plan = train(
        "pairs.jsonl",
        "--objective",
        objective,
        *words,
        *shlex.split("--epochs 1 --batch-size 16 --dry-run --json"),
        base=base,
    ).json()
    assert [row["steps"] for row in plan["plan"]] == steps
    assert plan["plan"][0]["test_documents"] == 5
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pairs.jsonl"]


def test_rows_that_cannot_be_used(base: Path, tmp_path: Path) -> None:
    own = [*pair_rows(), {**pair_rows()[0], "id": "e", "other": " "}]
    write_jsonl(tmp_path / "pairs.jsonl", own)
    done = train("pairs.jsonl", "--objective", "mnrl", *PAIRS, "-o", "run", base=base)
    assert "1 row with an empty text: left out" in done.err
    write_jsonl(
        tmp_path / "test.jsonl",
        [{**pair_rows()[0], "id": f"x{other}", "other": other} for other in (pair_rows()[0]["other"], "new")],
    )
    done = train("pairs.jsonl", "--objective", "mnrl", *PAIRS, "--test", "test.jsonl", "-o", "known", base=base)
    assert "1 of 2 test rows is a training row, too" in done.err
    write_jsonl(tmp_path / "one.jsonl", [{"id": "a", "text": SPORT[0]}])
    assert "one row is too few" in denied("one.jsonl", "--objective", "mlm", "-o", "no", base=base, code=3)
    (tmp_path / "none.jsonl").write_text("")
    assert "none.jsonl has no rows" in denied("none.jsonl", "--objective", "mlm", "-o", "no", base=base, code=3)
    write_jsonl(tmp_path / "alike.jsonl", [{**row, "label": 1.5} for row in pair_rows()])
    assert "score 1.5" in denied("alike.jsonl", "--objective", "cosine", *PAIRS, "-o", "no", base=base, code=3)
    assert not Path("no").exists()


def by_classes(n: dict[str, int], prefix: str = "c") -> list[dict[str, Any]]:
    """Pairs, n of each class."""
    own = pair_rows(sum(n.values()))
    names = [name for name, k in n.items() for _ in range(k)]
    return [{**row, "id": prefix + row["id"], "label": name} for row, name in zip(own, names, strict=True)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("sizes", "share", "held"),
    [
        ({"a": 20, "b": 10, "c": 1}, 0.2, {"a": 4, "b": 2}),
        ({"a": 2, "b": 2, "c": 2}, 0.5, {"a": 1, "b": 1, "c": 1}),
        ({"a": 3, "b": 3}, 0.9, {"a": 2, "b": 2}),
        ({"a": 2, "b": 1}, 0.01, {"a": 1}),
    ],
)
def test_of_every_class_a_share_is_held_out_and_a_row_is_learned_from(
    seed: int, sizes: dict[str, int], share: float, held: dict[str, int]
) -> None:
    table = pa.Table.from_pylist(by_classes(sizes))
    material = PairDataset(table, np.zeros(table.num_rows, np.int32), "sbert-softmax")
    hold_out(material, share, seed=seed)
    found = Counter(table.column("label").take(pa.array(material.rows(TEST))).to_pylist())
    assert found == held
    again = PairDataset(table, np.zeros(table.num_rows, np.int32), "sbert-softmax")
    hold_out(again, share, seed=seed + 1)
    assert table.num_rows < 10 or (again.split != material.split).any()


def test_classes_that_training_does_not_have(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "rare.jsonl", by_classes({"a": 12, "b": 11, "c": 1}))
    more = ["--objective", "sbert-softmax", *PAIRS]
    done = train("rare.jsonl", *more, "--holdout", "0.9", "-o", "run", base=base)
    assert report()["test_rows"] == 21
    assert "labels" not in done.err
    write_jsonl(tmp_path / "test.jsonl", by_classes({"d": 3, "a": 1}, "t"))
    done = train("rare.jsonl", *more, "--test", "test.jsonl", "-o", "tested", base=base)
    assert (
        "warning: labels of test rows that no training row has: 'd' (3); these are always counted as wrong" in done.err
    )
    assert report("tested")["after"]["accuracy"] in (0.0, 0.25)
    said = denied("rare.jsonl", *more, "--dev", "test.jsonl", "-o", "no", base=base, code=3)
    assert "--dev test.jsonl: labels that no training row has: 'd' (3)" in said
    write_jsonl(tmp_path / "none.jsonl", [{**row, "label": None} for row in by_classes({"a": 2}, "t")])
    assert "tp0 has no label" in denied("rare.jsonl", *more, "--test", "none.jsonl", "-o", "no", base=base, code=3)
    write_jsonl(tmp_path / "one.jsonl", by_classes({"a": 1, "b": 1, "c": 1}))
    assert "each of 3 labels has one row" in denied("one.jsonl", *more, "-o", "no", base=base, code=3)
    assert not Path("no").exists()
    assert not Path("no.checkpoint").exists()


def test_files_that_differ_in_what_is_not_learned_from(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    plain = [{"id": f"t{i}", "text": row["text"], "other": i} for i, row in enumerate(pair_rows(6))]
    write_jsonl(tmp_path / "test.jsonl", plain)  # without labels, and with numbers where training has texts
    train("pairs.jsonl", "--objective", "mnrl", *PAIRS, "--test", "test.jsonl", "-q", "-o", "run", base=base)
    assert report()["test_rows"] == 6
    write_jsonl(tmp_path / "empty.jsonl", [{**row, "other": ""} for row in plain])
    more = ["--objective", "mnrl", *PAIRS, "--test", "empty.jsonl", "-o", "no"]
    said = train("pairs.jsonl", *more, base=base, code=3).err
    assert "error: --test empty.jsonl: no row has a text in text and other" in said


@pytest.mark.parametrize(
    ("objective", "usual"), [("mlm(head_steps=2)", (3, 32, 0.06)), ("mnrl", (1, 32, 0.1)), ("triplet", (1, 16, 0.1))]
)
def test_what_is_said_is_taken_also_where_it_is_the_default_of_another(
    objective: str, usual: tuple[int, int, float], base: Path, tmp_path: Path
) -> None:
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    columns = [] if objective[:3] == "mlm" else [*PAIRS, "--negative-col", "negative"]
    more = ["pairs.jsonl", "--objective", objective, *columns, "-q", "-o"]
    train(*more, "plain", base=base, steps=1)
    said = ["said", "--batch-size", "16", "--warmup", "0.1", "--epochs", "3"]
    train(*more, *said, base=base, steps=1)
    found = [json.loads(Path(f"{run}/manifest.json").read_text())["parameters"]["plan"] for run in ("plain", "said")]
    assert [(p["epochs"], p["batch"], p["warmup"]) for p in found] == [usual, (3, 16, 0.1)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--text-col", "negative"], "text col was text, now negative"),
        (["--limit", "12"], "limit was not given, now 12"),
        (["--encoding", "utf-8"], "encoding was"),
        (["--test", "same.jsonl"], "test was"),
    ],
)
def test_a_checkpoint_of_other_texts_is_not_gone_on_with(
    words: list[str], said: str, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    write_jsonl(tmp_path / "same.jsonl", pair_rows(6))
    more = ["pairs.jsonl", "--objective", "mlm(head_steps=2)", "-o", "run"]
    own = ["--dev", "same.jsonl"] if "--test" in words else []
    with monkeypatch.context() as patch:
        patch.setattr("nlpkit.platform.runs.runs.write_run", full)
        train(*more, *own, base=base, code=3)
    error = denied(*more, *words, "--resume", base=base, code=3)
    assert said in error
    assert "which deletes it" in error


def full(*args: Any, **more: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("objective", ["mlm(head_steps=2)", "mnrl"])
def test_what_fails_after_the_training_leaves_it_in_the_checkpoint(
    objective: str, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    more = ["pairs.jsonl", "--objective", objective, *(PAIRS if objective == "mnrl" else [])]
    train(*more, "-q", "-o", "whole", base=base)
    for number, (place, what) in enumerate(((runs, "write_run"), (Embedder, "save"))):
        with monkeypatch.context() as patch:
            patch.setattr(place, what, full)
            patch.setattr(MlmNetwork, "save", full) if number else None
            assert "No space left" in train(*more, "-f", "-o", "run", base=base, code=3).err
        assert not list(tmp_path.glob(".nlpkit-*"))
        done = train(*more, "--resume", "-f", "-o", "run", base=base)
        assert ("taken from the checkpoint" in done.err) == (number == 0)
        assert files(Path("run/model")).keys() == files(Path("whole/model")).keys()
        weights = [{n: b for n, b in files(Path(r)).items() if n.endswith("safetensors")} for r in ("run", "whole")]
        assert weights[0] == weights[1]
        clocks = [{k: v for k, v in report(r).items() if k != "training"} for r in ("run", "whole")]
        assert clocks[0] == clocks[1]
        assert not Path("run.checkpoint").exists()


@pytest.mark.parametrize("span", [(0.0, 1.0), (0.4, 0.6), (0.0, 5.0)])
def test_scores_before_do_not_depend_on_those_of_training(
    span: tuple[float, float], base: Path, tmp_path: Path
) -> None:
    texts = [row["text"] for row in rows(1)]
    train_rows = [{"id": f"p{i}", "text": texts[i], "other": texts[-i], "score": span[i % 2]} for i in range(12)]
    write_jsonl(tmp_path / "train.jsonl", train_rows)
    test = [
        {"id": f"t{i}", "text": texts[i], "other": texts[(i * 5 + 1) % 12], "score": (i * 7 % 12) / 4 - 1}
        for i in range(12)
    ]
    write_jsonl(tmp_path / "test.jsonl", test)
    more = shlex.split("--objective cosine --pair-col other --label-col score --test test.jsonl --dev test.jsonl")
    done = train("train.jsonl", *more, "-o", "run", base=base)
    own = SentenceTransformer(str(base), device="cpu")
    a, b = (own.encode([row[name] for row in test], normalize_embeddings=True) for name in ("text", "other"))
    expected = spearmanr((a * b).sum(axis=1), [row["score"] for row in test]).statistic
    assert report()["before"]["spearman"] == pytest.approx(expected, abs=1e-6)
    assert ("scores from 0 to 5: trained towards cosines from 0 to 1" in done.err) == (span[1] == 5)
    assert report()["training"]["scores"] == ({"low": 0.0, "high": 1.0} if span[1] < 5 else {"low": 0.0, "high": 5.0})


def test_texts_beyond_the_window_and_pairs_without_a_score_are_told(base: Path, tmp_path: Path) -> None:
    own = pair_rows()
    own[3]["text"] = "team " * 300
    write_jsonl(tmp_path / "pairs.jsonl", own)
    done = train("pairs.jsonl", "--objective", "mnrl", *PAIRS, "-o", "run", base=base)
    assert "1 text longer than the window of the model: " in done.err
    own[2]["score"] = None
    write_jsonl(tmp_path / "pairs.jsonl", own)
    error = denied(
        "pairs.jsonl", "--objective", "cosine", *PAIRS, "--label-col", "score", "-o", "no", base=base, code=3
    )
    assert "row p2 has no score; --objective cosine needs a number of each pair" in error


def test_a_rate_that_is_too_high_is_told(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "docs.jsonl", rows(3))
    done = tune("docs.jsonl", *FIRST, "--lr", "9", "-o", "run", base=base, steps=8)
    assert re.search(r"the loss grew from \d\S* to \d\S* in training; lower --lr", done.err)
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    line = ("pairs.jsonl", "--objective", "mnrl", *PAIRS, "--test", "pairs.jsonl")
    train(*line, "--lr", "1", "-o", "good", base=base)
    done = train(*line, "--lr", "9", "-o", "encoder", base=Path("good"))
    found = report("encoder")
    assert found["after"]["recall@1"] < found["before"]["recall@1"]
    assert "recall@1 is worse than before" in done.err
