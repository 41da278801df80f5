"""nlpkit finetune and other programs: folders of transformers, peft and setfit predict here, and ours predict there alike."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.command_line import read, run_cli, write_jsonl
from tests.few import few
from tests.finetune.finetune_data import FIRST, SPACE, SPORT, VOCABULARY, chances, pair_rows, refused, rows, tune
from tests.finetune.tiny import tiny_bert

NAMES = ["politics", "space", "sport"]


@contextmanager
def theirs() -> Iterator[None]:
    """Run another library, which warns of its own matters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def encoded(tokenizer: Any, texts: list[str], seconds: list[str] | None = None) -> Any:
    return tokenizer(texts, seconds, padding=True, truncation=True, max_length=64, return_tensors="pt")


def probabilities(model: Any, tokenizer: Any, texts: list[str], seconds: list[str] | None = None) -> np.ndarray:
    with torch.no_grad():
        logits = model.eval()(**encoded(tokenizer, texts, seconds)).logits
    return np.asarray(logits.softmax(-1).double())


def loaded(folder: Path, kind: str = "AutoModelForSequenceClassification", **more: Any) -> tuple[Any, Any]:
    import transformers

    with theirs():
        return getattr(transformers, kind).from_pretrained(
            str(folder), **more
        ), transformers.AutoTokenizer.from_pretrained(str(folder))


def documents(times: int = 1) -> list[str]:
    return [str(row["text"]) for row in rows(times)]


def predict(model: Path | str, *words: Any, code: int = 0, table: str = "new.jsonl") -> Any:
    done = run_cli("predict", model, table, *words, "--threads", "1", "-f", "-o", "p.parquet", code=code)
    return read("p.parquet") if not code else done.error()


# ---------------------------------------------------------------- theirs here


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    """A folder of transformers' save_pretrained with names of its classes."""
    import transformers

    tiny_bert(tmp_path / "raw", words=VOCABULARY, architecture="BertForSequenceClassification", seed=3)
    with theirs():
        config = transformers.AutoConfig.from_pretrained(
            tmp_path / "raw", id2label={0: "zebra", 1: "ape", 2: "cow"}, label2id={"zebra": 0, "ape": 1, "cow": 2}
        )
        with torch.random.fork_rng():
            torch.manual_seed(1)
            model = transformers.BertForSequenceClassification(config)
        model.save_pretrained(tmp_path / "theirs")
        transformers.AutoTokenizer.from_pretrained(tmp_path / "raw").save_pretrained(tmp_path / "theirs")
    write_jsonl(tmp_path / "new.jsonl", rows(1))
    return tmp_path / "theirs"


def test_a_folder_of_transformers_predicts(classifier: Path) -> None:
    table = predict(classifier, "--probabilities")
    model, tokenizer = loaded(classifier)
    expected = probabilities(model, tokenizer, documents())
    found = table.column("probabilities").to_pylist()
    assert list(found[0]) == ["zebra", "ape", "cow"]
    np.testing.assert_allclose([list(own.values()) for own in found], expected, atol=1e-5)
    names = ["zebra", "ape", "cow"]
    assert table.column("prediction").to_pylist() == [names[j] for j in expected.argmax(axis=1)]
    assert table.column("id").to_pylist() == [row["id"] for row in rows(1)]


@pytest.mark.parametrize(("problem", "task"), [("regression", "number"), ("multi_label_classification", "labels")])
def test_problem_types_of_transformers(classifier: Path, problem: str, task: str) -> None:
    config = json.loads((classifier / "config.json").read_text())
    config["problem_type"] = problem
    if task == "number":
        shutil.rmtree(classifier)
        tiny_bert(classifier, words=VOCABULARY, architecture="BertForSequenceClassification", seed=3)
        config |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
        from safetensors.torch import load_file, save_file

        state = load_file(classifier / "model.safetensors")
        state = {n: t[:1].clone() if n.startswith("classifier") else t for n, t in state.items()}
        save_file(state, classifier / "model.safetensors", metadata={"format": "pt"})
    (classifier / "config.json").write_text(json.dumps(config))
    table = predict(classifier)
    model, tokenizer = loaded(classifier)
    with torch.no_grad():
        logits = model.eval()(**encoded(tokenizer, documents())).logits.numpy()
    if task == "number":
        np.testing.assert_allclose(table.column("prediction").to_numpy(), logits[:, 0], atol=1e-5)
    else:
        names = ["zebra", "ape", "cow"]
        own = [[n for n, v in zip(names, row, strict=True) if v > 0] for row in logits]
        assert [sorted(v) for v in table.column("prediction").to_pylist()] == [sorted(v) for v in own]


def test_a_token_classifier_of_transformers(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "tags", words=VOCABULARY, architecture="BertForTokenClassification", seed=5)
    config = json.loads((folder / "config.json").read_text())
    config |= {"id2label": {"0": "O", "1": "X"}, "label2id": {"O": 0, "X": 1}}
    (folder / "config.json").write_text(json.dumps(config))
    write_jsonl(tmp_path / "new.jsonl", [{"id": "a", "text": "the team won"}, {"id": "b", "text": ""}])
    tags = predict(folder).column("prediction").to_pylist()
    model, tokenizer = loaded(folder, "AutoModelForTokenClassification")
    with torch.no_grad():  # each of the words is a token
        best = model.eval()(**encoded(tokenizer, ["the team won"])).logits[0].argmax(-1).tolist()[1:-1]
    assert tags == [[["O", "X"][j] for j in best], []]


def test_a_folder_of_peft(base: Path, tmp_path: Path) -> None:
    import peft
    import transformers

    write_jsonl(tmp_path / "new.jsonl", rows(1))
    with theirs(), torch.random.fork_rng():
        torch.manual_seed(0)
        plain = transformers.AutoModelForSequenceClassification.from_pretrained(str(base), num_labels=3)
        config = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query"], init_lora_weights=False)
        model = peft.get_peft_model(plain, config)
        model.save_pretrained(tmp_path / "theirs")
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(base))
    expected = probabilities(model, tokenizer, documents())
    table = predict(tmp_path / "theirs", "--probabilities", "--offline")
    np.testing.assert_allclose(chances("p.parquet"), expected, atol=1e-5)
    assert table.column("prediction")[0].as_py() == f"LABEL_{expected[0].argmax()}"
    again = run_cli("predict", tmp_path / "theirs", "new.jsonl", "--offline", "-f", "-o", "p.parquet")
    assert "its classes have no names; name them in order with --labels " in again.err
    # its base is gone: the message says how to name another
    own = json.loads((tmp_path / "theirs" / "adapter_config.json").read_text())
    (tmp_path / "theirs" / "adapter_config.json").write_text(
        json.dumps({**own, "base_model_name_or_path": "gone/away"})
    )
    error = predict(tmp_path / "theirs", "--offline", code=4)
    assert "gone/away" in error
    assert "--base" in error
    assert predict(tmp_path / "theirs", "--base", base, "--offline").num_rows == 12


def test_a_peft_folder_of_several_labels(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", [{**row, "label": [row["label"], "all"]} for row in rows(2)])
    tune("new.jsonl", *FIRST, "-q", "-o", "run", base=base, method="lora(r=2)")
    ours = predict("run").column("prediction").to_pylist()
    shutil.copytree("run/model/peft", "theirs")
    Path("theirs/nlpkit.json").unlink()
    done = run_cli("predict", "theirs/", "new.jsonl", "-o", "one.parquet")
    assert "task: classes (theirs/ of peft; --task labels if a document can have several)" in done.err
    assert all(isinstance(v, str) for v in read("one.parquet").column("prediction").to_pylist())
    words = ["--task", "labels", "--labels", "all,politics,space,sport"]
    done = run_cli("predict", "theirs", "new.jsonl", *words, "-o", "several.parquet")
    assert "task: labels (theirs/ of peft)" in done.err
    assert read("several.parquet").column("prediction").to_pylist() == ours
    assert any(len(v) for v in ours)


class Evil:
    """Runs a command when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.target}",)


def test_pickles_are_never_run(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", rows(1))
    evil = Path(shutil.copytree(base, tmp_path / "evil"))
    (evil / "model_head.pkl").write_bytes(pickle.dumps(Evil(tmp_path / "ran")))
    assert "--method setfit" in predict(evil, code=3)
    weights = Path(shutil.copytree(base, tmp_path / "weights"))
    (weights / "model.safetensors").unlink()
    (weights / "pytorch_model.bin").write_bytes(pickle.dumps(Evil(tmp_path / "ran")))
    assert "pickle" in refused("new.jsonl", "-o", "run", base=weights, code=4)
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(
        json.dumps({"task_type": "SEQ_CLS", "base_model_name_or_path": str(base)})
    )
    (adapter / "adapter_model.bin").write_bytes(pickle.dumps(Evil(tmp_path / "ran")))
    assert "pickle" in predict(adapter, code=3)
    assert not (tmp_path / "ran").exists()


def test_an_encoder_is_a_base_and_no_model(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", rows(2))
    assert "--base" in predict(base, code=3)
    assert "is not a model: neither a run of nlpkit (no manifest.json), nor" in predict(tmp_path, code=3)
    tune("new.jsonl", "-q", "-o", "run", base=base)
    assert predict("run").num_rows == 24


# ---------------------------------------------------------------- ours there


def test_full_in_transformers(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", rows(2))
    tune("new.jsonl", *FIRST, "-q", "-o", "run", base=base)
    predict("run", "--probabilities")
    model, tokenizer = loaded(Path("run/model/transformers"))
    assert [model.config.id2label[j] for j in range(3)] == NAMES
    np.testing.assert_allclose(chances("p.parquet"), probabilities(model, tokenizer, documents(2)), atol=1e-5)


def test_pairs_in_transformers(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", pair_rows())
    tune("new.jsonl", "--pair-col", "other", *FIRST, "-q", "-o", "run", base=base)
    predict("run", "--probabilities")
    model, tokenizer = loaded(Path("run/model/transformers"))
    own = pair_rows()
    expected = probabilities(model, tokenizer, [r["text"] for r in own], [r["other"] for r in own])
    np.testing.assert_allclose(chances("p.parquet"), expected, atol=1e-5)


def test_the_lines_of_a_peft_card_give_names_of_classes(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", rows(2))
    tune("new.jsonl", *FIRST, "-q", "-o", "run", base=base, method="lora(r=2)")
    card = Path("run/model/peft/README.md").read_text(encoding="utf-8")
    lines = card.split("```python\n")[1].split("```")[0].replace("RUN/", "run/")
    found: dict[str, Any] = {}
    with theirs():
        exec(lines, found)
        found["model"](**found["tokenizer"](["the team won"], return_tensors="pt"))
    assert [found["base"].config.id2label[j] for j in range(3)] == NAMES


@pytest.mark.parametrize("method", few(["lora(r=2)", "dora(r=2)", "ia3", "prefix(length=4)", "prompt(length=4)"], 2))
def test_peft_in_peft_and_merged_in_transformers(method: str, base: Path, tmp_path: Path) -> None:
    import peft

    write_jsonl(tmp_path / "new.jsonl", rows(2))
    merges = method.startswith(("lora", "dora"))
    words = ["--lr", "0.05", *(["--merge"] if merges else [])]
    tune("new.jsonl", *words, *FIRST, "-q", "-o", "run", base=base, method=method)
    predict("run", "--probabilities")
    ours = chances("p.parquet")
    plain, tokenizer = loaded(base, num_labels=3)
    with theirs():
        model = peft.PeftModel.from_pretrained(plain, "run/model/peft")
    np.testing.assert_allclose(ours, probabilities(model, tokenizer, documents(2)), atol=1e-5)
    assert np.ptp(ours, axis=0).max() > 0.01
    if merges:
        model, tokenizer = loaded(Path("run/model/merged"))
        np.testing.assert_allclose(ours, probabilities(model, tokenizer, documents(2)), atol=1e-5)
        predict("run/model/merged", "--probabilities")
        np.testing.assert_allclose(ours, chances("p.parquet"), atol=1e-5)


def logits_of(folder: Path, texts: list[Any]) -> Any:
    """Return what the lines of the card of a model, which use no nlpkit, give for texts."""
    card = (folder / "README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"texts": texts}
    with theirs(), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft leaves out token types
        exec(card.split("```python")[1].split("```")[0].replace("RUN/", "run/"), names)
    return torch.as_tensor(names["logits"]).double()


@pytest.mark.parametrize(
    "method", few(["full", "lora(r=2)", "dora(r=2)", "ia3", "prompt(length=4)", "prefix(length=4)"], 2)
)
def test_the_mean_in_other_programs(method: str, base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", rows(2))
    merges = method.startswith(("lora", "dora"))
    words = ["--lr", "0.002" if method == "full" else "0.05", *(["--merge"] if merges else [])]
    tune("new.jsonl", *words, "-q", "-o", "run", base=base, method=method)
    predict("run", "--probabilities")
    ours = chances("p.parquet")
    assert np.ptp(ours, axis=0).max() > 0.01
    folders = sorted(folder for folder in Path("run/model").iterdir() if folder.is_dir())
    assert [f.name for f in folders] == (
        ["classifier"] if method == "full" else [*(["merged"] if merges else []), "peft"]
    )
    for folder in folders:
        np.testing.assert_allclose(ours, logits_of(folder, documents(2)).softmax(-1), atol=1e-5)
        assert f"# of {', '.join(NAMES)}" in (folder / "README.md").read_text()
        predict(folder, "--probabilities")
        np.testing.assert_allclose(ours, chances("p.parquet"), atol=1e-5)


def test_pairs_and_numbers_by_the_mean(base: Path, tmp_path: Path) -> None:
    own = pair_rows()
    write_jsonl(tmp_path / "new.jsonl", own)
    tune("new.jsonl", "--pair-col", "other", "--pooling", "mean", "-q", "-o", "run", base=base)
    predict("run", "--probabilities")
    found = logits_of(Path("run/model/classifier"), [(r["text"], r["other"]) for r in own])
    np.testing.assert_allclose(chances("p.parquet"), found.softmax(-1), atol=1e-5)
    write_jsonl(tmp_path / "new.jsonl", [{**row, "label": 10 + len(row["text"]) / 4} for row in rows(2)])
    for method, name in (("full", "classifier"), ("lora(r=2)", "peft")):
        tune("new.jsonl", "-q", "-f", "-o", "run", base=base, method=method)
        ours = predict("run").column("prediction").to_numpy()
        np.testing.assert_allclose(ours, logits_of(Path("run/model") / name, documents(2))[:, 0], atol=1e-4)


def test_a_mean_is_no_classifier_of_transformers(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", rows(2))
    for method, said in (("full", "without a head"), ("lora(r=2)", "FEATURE_EXTRACTION")):
        tune("new.jsonl", "-q", "-f", "-o", "run", base=base, method=method)
        (folder,) = (path for path in Path("run/model").iterdir() if path.is_dir())
        shutil.rmtree("theirs", ignore_errors=True)
        shutil.copytree(folder, "theirs")
        if method == "full":
            words = ("--labels", "space,sport", "--by", "nli", "--model", "theirs", "-o", "labels.parquet")
            assert "--pooling transformers" in run_cli("zero-shot", "new.jsonl", *words, code=3).error()
        Path("theirs/nlpkit.json").unlink()
        assert said in predict("theirs", code=3)


def test_what_reads_no_mean_is_told(base: Path, tmp_path: Path) -> None:
    tags = [["A", *["O"] * str(row["text"]).count(" ")] for row in rows(2)]
    words = [{**row, "words": str(row["text"]).split(), "label": own} for row, own in zip(rows(2), tags, strict=True)]
    write_jsonl(tmp_path / "new.jsonl", words)
    mean = ("--pooling", "mean", "-o", "run")
    assert "the head reads each word" in refused("new.jsonl", *mean, base=base, code=2)
    write_jsonl(tmp_path / "new.jsonl", rows(2))
    assert "needs a method with a new head, and" in refused("new.jsonl", *mean, base=base, method="setfit", code=2)
    assert "first" in refused("new.jsonl", "--pooling", "first", "-o", "run", base=base, code=2)


@pytest.mark.parametrize("several", [False, True])
def test_setfit_in_setfit_and_sentence_transformers(several: bool, base: Path, tmp_path: Path) -> None:
    own = [{**row, "label": [row["label"], *(["all"] if i % 3 == 0 else [])]} for i, row in enumerate(rows(2))]
    write_jsonl(tmp_path / "new.jsonl", own if several else rows(2))
    tune("new.jsonl", "--export", "theirs", "-q", "-o", "run", base=base, method="setfit(R=1)")
    table = predict("run", "--probabilities")
    ours = chances("p.parquet")
    with theirs():
        setfit = pytest.importorskip("setfit")
        from sentence_transformers import SentenceTransformer

        model = setfit.SetFitModel.from_pretrained("theirs")
        found = np.asarray(model.predict_proba(documents(2)))
        labels = model.predict(documents(2))
        encoder = SentenceTransformer("run/model/setfit", device="cpu")
        vectors = encoder.encode(documents(2), show_progress_bar=False)
    np.testing.assert_allclose(ours, found, atol=1e-5)
    if not several:
        assert list(labels) == table.column("prediction").to_pylist()
    np.testing.assert_allclose(vectors, model.model_body.encode(documents(2), show_progress_bar=False), atol=1e-6)
    assert "--method setfit" in predict("theirs", code=3)
    assert not list(Path("run").rglob("*.pkl"))
    error = tune("new.jsonl", "--export", "theirs", "-f", "-o", "run", base=base, method="setfit(R=1)", code=2).error()
    assert "--export theirs exists" in error


def test_words_in_transformers(base: Path, tmp_path: Path) -> None:
    texts = [text.split() for text in SPORT + SPACE]
    tags = [["X" if word == "the" else "O" for word in own] for own in texts]
    table = [
        {"id": f"w{i}", "text": " ".join(w), "words": w, "label": t}
        for i, (w, t) in enumerate(zip(texts, tags, strict=True))
    ]
    write_jsonl(tmp_path / "new.jsonl", table)
    tune("new.jsonl", "-q", "-o", "run", base=base)
    ours = predict("run").column("prediction").to_pylist()
    model, tokenizer = loaded(Path("run/model/transformers"), "AutoModelForTokenClassification")
    for row, found in zip(table, ours, strict=True):  # each of the words is a token
        with torch.no_grad():
            best = model.eval()(**encoded(tokenizer, [str(row["text"])])).logits[0].argmax(-1).tolist()[1:-1]
        assert found == [model.config.id2label[j] for j in best]


def test_a_number_in_transformers(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", [{**row, "label": 10 + len(row["text"]) / 4} for row in rows(2)])
    tune("new.jsonl", *FIRST, "-q", "-o", "run", base=base)
    ours = predict("run").column("prediction").to_numpy()
    model, tokenizer = loaded(Path("run/model/transformers"))
    with torch.no_grad():
        values = model.eval()(**encoded(tokenizer, documents(2))).logits[:, 0].double().numpy()
    np.testing.assert_allclose(ours, values, atol=1e-4)
    assert model.config.problem_type == "regression"


def test_the_card_says_how_to_load(base: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", rows(2))
    tune("new.jsonl", "--merge", *FIRST, "-q", "-o", "run", base=base, method="lora(r=2)")
    names: dict[str, Any] = {}
    for name in ("merged", "peft"):
        card = Path(f"run/model/{name}/README.md").read_text()
        assert "lora(r=2)" in card
        code = card.split("```python")[1].split("```")[0].replace("RUN", "run")
        with theirs():
            exec(code, names)
        assert names["model"].config.num_labels == 3
