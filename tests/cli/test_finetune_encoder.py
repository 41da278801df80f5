"""nlpkit finetune --objective: encoders trained on, scored before and after, and taken into use by other commands."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import files, read, run_cli, write_jsonl
from tests.cli.finetune_data import SPORT, base_model, pair_rows, refused, rows, tune

PAIRS = ["--pair-col", "other"]
OBJECTIVES: dict[str, list[str]] = {
    "mlm(head_steps=20)": [],
    "sbert-softmax": PAIRS,
    "triplet(margin=2)": [*PAIRS, "--negative-col", "negative"],
    "mnrl": PAIRS,
    "cosine": [*PAIRS, "--label-col", "score"],
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base_model(tmp_path_factory.mktemp("encoder") / "tiny")


def train(*words: Any, base: Path, steps: int = 4, code: int = 0) -> Any:
    return tune(*words, base=base, steps=steps, method=None, code=code)


def denied(*words: Any, base: Path, code: int) -> str:
    return refused(*words, base=base, method=None, code=code)


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
        "--lr",
        "0.01",
        "--epochs",
        "4",
        "-o",
        "run",
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
            "--precision",
            "fp32",
            "--offline",
            "-q",
            "-o",
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


def test_masked_words_are_guessed_better_and_the_model_goes_on(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "docs.jsonl", rows(3))
    write_jsonl(tmp_path / "test.jsonl", [{**row, "id": "t" + row["id"]} for row in rows(1)])
    more = ["--objective", "mlm", "--test", "test.jsonl", "--lr", "0.005"]
    done = train("docs.jsonl", *more, "-o", "run", base=base, steps=80)
    assert "no head that guesses words" in done.err
    first = report()
    assert first["after"]["perplexity"] < 0.8 * first["before"]["perplexity"]
    # its transformers folder has the head now
    again = train("docs.jsonl", *more, "-o", "more", base=Path("run/model/transformers"), steps=5)
    assert "no head" not in again.err
    assert report("more")["before"]["perplexity"] == pytest.approx(first["after"]["perplexity"], rel=1e-4)
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
    assert "finetune-encoder" in run_cli("finetune", "docs.jsonl", "--model", "run", "-o", "p.parquet", code=3).error()


def test_the_same_bytes_twice_and_on_two_threads(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    for name, threads in (("a", "1"), ("b", "2")):
        run_cli(
            "finetune", "pairs.jsonl", "--objective", "mnrl", *PAIRS, "--base", base, "--max-steps", "3", "--threads", threads, "-q",
            "-o", name,
        )  # fmt: skip
    found = [{n: b for n, b in files(Path(name)).items() if n.startswith("model/")} for name in "ab"]
    assert found[0] == found[1]
    assert any(n.endswith(".safetensors") for n in found[0])


def test_parts_by_split_and_stopping_on_dev(base: Path, tmp_path: Path) -> None:
    own = [{**row, "part": ["train", "train", "dev", "test"][i % 4]} for i, row in enumerate(pair_rows())]
    write_jsonl(tmp_path / "pairs.jsonl", own)
    more = ["--objective", "cosine", *PAIRS, "--split", "part", "--epochs", "12", "--patience", "1", "--lr", "0.05"]
    done = tune("pairs.jsonl", *more, "--label-col", "score", "--json", "-o", "run", base=base, steps=None, method=None)
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
        (["foo"], 2, "sbert-softmax"),
        (["mlm", "--method", "full"], 2, "--method"),
        (["mlm", "--cv", "2"], 2, "--cv"),
        (["mlm", "--shots", "2"], 2, "--shots"),
        (["mlm", "--seeds", "2"], 2, "--seeds"),
        (["mlm", "--fail-under", "accuracy=0.5"], 2, "gates"),
        (["mnrl", "--pair-col", "othre"], 3, "did you mean 'other'"),
        (["triplet", *PAIRS, "--negative-col", "nix"], 3, "--negative-col"),
        (["cosine", *PAIRS], 3, "p0 has the score 'different'"),
        (["sbert-softmax", *PAIRS, "--label-col", "nix"], 3, "--label-col"),
        (["mlm", "--dev", "nix.jsonl"], 3, "--dev nix.jsonl: no such file"),
        (["mlm", "--text-col", "nix"], 3, "--text-col"),
        (["mlm", "--split", "label"], 2, "no row is train"),
    ],
)
def test_what_is_refused(words: list[str], code: int, said: str, base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "pairs.jsonl", pair_rows())
    assert said in denied("pairs.jsonl", "--objective", *words, "-o", "run", base=base, code=code)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pairs.jsonl"]


def test_rows_that_cannot_be_used(base: Path, tmp_path: Path) -> None:
    own = [*pair_rows(), {**pair_rows()[0], "id": "e", "other": " "}]
    write_jsonl(tmp_path / "pairs.jsonl", own)
    done = train("pairs.jsonl", "--objective", "mnrl", *PAIRS, "-o", "run", base=base)
    assert "1 row with an empty text: left out" in done.err
    write_jsonl(tmp_path / "one.jsonl", [{"id": "a", "text": SPORT[0]}])
    assert "no row to learn from" in denied("one.jsonl", "--objective", "mlm", "-o", "no", base=base, code=3)
    (tmp_path / "none.jsonl").write_text("")
    assert "none.jsonl has no rows" in denied("none.jsonl", "--objective", "mlm", "-o", "no", base=base, code=3)
    write_jsonl(tmp_path / "alike.jsonl", [{**row, "label": 1.5} for row in pair_rows()])
    assert "score 1.5" in denied("alike.jsonl", "--objective", "cosine", *PAIRS, "-o", "no", base=base, code=3)
    assert not Path("no").exists()
