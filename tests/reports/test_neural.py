"""Public bug reports about fine-tuning, adapters, spans, answers, zero-shot, preferences, active learning and attention.

Each test names the threads that it was made of; the inputs are made afresh and small. ST is sentence-transformers.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.annotate.active.model import select
from nlpkit.embed.tokenizers import load_tokenizer
from nlpkit.errors import UsageError
from nlpkit.finetune.data.answers import MISSING, NONE, span_of
from nlpkit.finetune.data.inputs import encode_answers, encode_words, frame_of
from nlpkit.finetune.training.architectures import describe
from nlpkit.lab.attention import attention_maps, load_attending
from nlpkit.metrics.labels.spans import span_counts, statistic
from tests.command_line import read, run_cli, write_jsonl
from tests.finetune.finetune_data import base_model, chances, refused, rows, tune
from tests.finetune.tiny import tiny_bert, tiny_gpt2

WORDS = ["the", "cat", "dog", "sat", "ran", "one", "two", "three", "blue", "green", "colour", "of", "is"]
DPO = ["--objective", "dpo", "--text-col", "prompt", "--chosen-col", "chosen", "--rejected-col", "rejected"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base_model(tmp_path_factory.mktemp("reports") / "model")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("reports") / "plain", words=WORDS)


def train_file(own: list[dict[str, Any]], name: str = "train.jsonl") -> str:
    write_jsonl(Path(name), own)
    return name


# peft#2289, #1381, #322, #2502, ST#3980: a merged model was another one than the adapter, or its head was new after loading
def test_a_merged_adapter_is_the_adapter(base: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tune(
        train_file(rows()),
        "--merge",
        "--probabilities",
        "--pooling",
        "transformers",
        "-q",
        "-o",
        "run",
        base=base,
        method="lora",
    )
    folder = "run/model/merged"
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    texts = {row["id"]: row["text"] for row in rows()}
    asked = [texts[i] for i in read("run/documents.parquet").column("id").to_pylist()]
    with torch.no_grad():
        p = model(**tokenizer(asked, padding=True, return_tensors="pt")).logits.softmax(1).numpy()
    np.testing.assert_allclose(chances("run/documents.parquet"), p, atol=1e-5)


# peft#1678: an adapter on another base of the same shape
def test_an_adapter_on_another_base_is_refused(base: Path, tmp_path: Path) -> None:
    tune(train_file(rows()), "-q", "-o", "run", base=base, method="lora", steps=1)
    other = base_model(tmp_path / "other")
    weights = (other / "model.safetensors").read_bytes()
    (other / "model.safetensors").write_bytes(weights[:-4] + b"\x00\x00\x00\x40")
    error = run_cli("predict", "run", "train.jsonl", "--base", other, "-o", "p.parquet", code=None).error()
    assert "the model was trained on" in error
    said = run_cli("predict", "run", "train.jsonl", "--labels", "a,b", "-o", "p.parquet", code=2).error()
    assert "leave --labels out" in said


# peft#1206, #40, #378, #758: target modules of other kinds of models
def test_kinds_of_models_that_adapters_do_not_go_into_are_listed() -> None:
    from transformers import AlbertConfig, AlbertModel

    sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "embedding_size": 4, "vocab_size": 9}
    with pytest.raises(UsageError, match=r"bert, roberta.*the base is of type 'albert'.*full"):
        describe(AlbertModel(AlbertConfig(**sizes)))


# the folder of sentence-t5, a T5EncoderModel
def test_an_encoder_of_t5_alone_is_refused_by_name(base: Path) -> None:
    from transformers import T5Config, T5EncoderModel

    sizes = {"d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2, "vocab_size": 99}
    T5EncoderModel(T5Config(**sizes)).save_pretrained("t5")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        Path("t5", name).write_bytes((base / name).read_bytes())
    error = refused(train_file(rows()), "-o", "run", base=Path("t5"), code=2)
    assert "is only the encoder of a" in error


# transformers#7501, #3167, #21080, gmihaila/ml_things#24: classifiers of GPT-2 and padding
def test_a_causal_classifier_does_not_read_padding(tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    causal = tiny_gpt2(tmp_path / "gpt2", words=WORDS)
    own = [{"id": str(i), "text": " ".join(WORDS[: 2 + i % 9]), "label": "ab"[i % 2]} for i in range(24)]
    tune(train_file(own), "--probabilities", "-q", "-o", "run", base=causal)
    folder = "run/model/transformers"
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    texts = {row["id"]: row["text"] for row in own}
    with torch.no_grad():  # each alone, without padding
        p = [
            model(**tokenizer(texts[i], return_tensors="pt")).logits[0].softmax(0).numpy()
            for i in read("run/documents.parquet").column("id").to_pylist()
        ]
    np.testing.assert_allclose(chances("run/documents.parquet"), p, atol=1e-5)


# setfit#462, #587, #599, #476, mljar#245: classes 10, 2 and 1 as numbers here and as text there
def test_labels_that_are_numbers_or_text_are_the_same_classes(base: Path) -> None:
    codes = {"sport": 10, "space": 2, "politics": 1}
    own = [{**row, "label": codes[row["label"]]} for row in rows(2)]
    train_file(own)
    train_file([{**row, "id": f"t{row['id']}", "label": str(row["label"])} for row in own[:12]], "test.jsonl")
    tune("train.jsonl", "--test", "test.jsonl", "--twins", "0", "-q", "-o", "run", base=base, method="head", steps=1)
    assert sorted(json.loads(Path("run/manifest.json").read_text())["parameters"]["classes"]) == ["1", "10", "2"]
    assert set(read("run/documents.parquet").column("prediction").to_pylist()) <= {"1", "10", "2"}


# setfit#368, #101, #145, #340, #85: one class; haifengl/smile#374, DataVec#105: a class that the training does not have
def test_classes_that_cannot_be_learned_are_told(base: Path) -> None:
    one = [{**row, "label": "a"} for row in rows(1)]
    assert "label" in refused(train_file(one), "-o", "run", base=base, code=3, method="setfit")
    train_file(rows(1))
    train_file(
        [{"id": "new", "text": "the cat", "label": "animals"}, *[{**r, "id": f"t{r['id']}"} for r in rows(1)[:2]]],
        "test.jsonl",
    )
    done = tune("train.jsonl", "--test", "test.jsonl", "--twins", "0", "-o", "run", base=base, method="head", steps=1)
    assert "always counted as wrong" in done.err


# ST and transformers on empty input: empty, blank, U+200B, NUL, and 3,000 words
def test_odd_texts_get_a_prediction_each(base: Path) -> None:
    tune(train_file(rows()), "-q", "-o", "run", base=base, method="head", steps=1)
    odd = ["", "   ", "\u200b", "\x00", "the " * 3000, "the match"]
    write_jsonl(Path("odd.jsonl"), [{"id": str(i), "text": text} for i, text in enumerate(odd)])
    run_cli("predict", "run", "odd.jsonl", "--probabilities", "--offline", "-q", "-o", "p.parquet")
    p = chances("p.parquet")
    assert p.shape == (6, 3)
    assert np.isfinite(p).all()
    assert p[0].tobytes() == p[1].tobytes()  # the same tokens, so the same digits


# own: a loss that is no number; transformers#18070, #29255, #8878, ST#2695: going on with other settings
def test_a_training_that_fails_or_goes_on_otherwise_is_refused(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import load_file, save_file

    from tests.finetune.finetune_data import stop_at

    damaged = base_model(tmp_path / "damaged")
    weights = load_file(damaged / "model.safetensors")
    weights["encoder.layer.1.output.dense.weight"][0, 0] = float("nan")
    save_file(weights, damaged / "model.safetensors", metadata={"format": "pt"})
    error = refused(train_file(rows()), "-o", "run", base=damaged, steps=30, code=None)
    assert "no longer a number" in error
    assert "--lr must be below 10" in refused("train.jsonl", "--lr", "1e6", "-o", "run", base=base, code=2)
    with monkeypatch.context() as patch:
        stop_at(3, patch)
        tune("train.jsonl", "-f", "-o", "run", base=base, steps=6, code=130)
    error = refused("train.jsonl", "--lr", "0.001", "--resume", "-f", "-o", "run", base=base, steps=6, code=3)
    assert "is of another training" in error


# simpletransformers#979, #1129, transformers#4767, #12665, flair#1860, adaptor#25: words without a token; masakhane-ner#16, tner#16,
# transformers#2882, #18050: words behind the window
def test_every_word_keeps_its_own_label(plain: Path) -> None:
    tokenizer = load_tokenizer(plain, words=True)
    odd = [["the", "\u200b", "cat", "", " ", "sat"], [], ["the", "cat", "sat", "ran"] * 118]
    inputs = encode_words(tokenizer, frame_of(tokenizer, typed=True), odd, max_tokens=32, overlap=8)
    assert inputs.words is not None
    assert inputs.documents is not None
    assert inputs.n_words is not None
    assert np.bincount(inputs.documents, weights=inputs.n_words).tolist() == [6, 0, 472]
    assert sorted(set(inputs.words[0].tolist())) == [-1, 0, 2, 5]  # the others have no token
    assert inputs.cut.sum() == 0


def test_words_behind_the_window_are_predicted(base: Path) -> None:
    own = [{"id": str(i), "words": ["the", "goal", "team"] * 3, "label": ["O", "B-X", "I-X"] * 3} for i in range(12)]
    train_file(own)
    train_file([{"id": "long", "words": ["the", "goal", "team"] * 60, "label": ["O", "B-X", "I-X"] * 60}], "test.jsonl")
    done = tune(
        "train.jsonl",
        "--test",
        "test.jsonl",
        "--task",
        "words",
        "--lr",
        "0.005",
        "-o",
        "run",
        base=base,
        steps=40,
        method="full",
    )
    assert "without a prediction" not in done.err
    (found,) = read("run/documents.parquet").column("prediction").to_pylist()
    assert None not in found
    assert (
        sum(a == b for a, b in zip(found, ["O", "B-X", "I-X"] * 60, strict=True)) > 120
    )  # places that no training text has
    short = [{**own[0], "label": ["O"]}]
    assert "label" in refused(train_file(short), "--task", "words", "-o", "x", base=base, code=3)


# seqeval#23, #46, #25, #67, NCRFpp#87: I- at the start of a span; the numbers are those of seqeval 1.2.2, default mode
@pytest.mark.parametrize(
    ("true", "found", "f1"),
    [
        (["O", "I-X", "I-X", "O"], ["O", "B-X", "I-X", "O"], 1.0),
        (["B-X", "I-Y", "O"], ["B-X", "B-Y", "O"], 1.0),
        (["B-X", "I-X", "I-X"], ["B-X", "B-X", "I-X"], 0.0),
        (["B-X", "O", "B-X"], ["B-X", "O", "O"], 2 / 3),
    ],
)
def test_spans_are_counted_as_seqeval_does(true: list[str], found: list[str], f1: float) -> None:
    assert statistic(span_counts([true], [found]), "span_f1")(np.ones((1, 1)))[0] == pytest.approx(f1)


# transformers#2548, tokenizers#944, FARM#602, #536, transformers#17241: where an answer is in its text
def test_answers_and_their_places(plain: Path) -> None:
    text = "😀 the cat sat, the cat ran"
    assert span_of(text, "cat", None) == (6, 9)
    assert span_of(text, "cat", 19) == (19, 22)
    assert span_of(text, "bird", None) == span_of(text, "cat", 5) == MISSING
    assert span_of(text, "  ", None) == NONE
    tokenizer = load_tokenizer(plain, words=False)
    long = "the cat sat " * 40 + "one two three"
    inputs = encode_answers(
        tokenizer, frame_of(tokenizer, typed=True), ["the cat " * 40, "is"], [long, ""], max_tokens=24, overlap=4
    )
    assert inputs.offsets is not None
    assert inputs.documents is not None
    last = max(int(own[:, 1].max()) for own, d in zip(inputs.offsets, inputs.documents, strict=True) if d == 0)
    assert long[last - 5 : last] == "three"
    assert inputs.documents[-1] == 1


# transformers#8059, #9075, cardiffnlp/xlm-t#3: the place of entailment among the classes, and templates
def test_zero_shot_needs_a_class_for_entailment(tmp_path: Path) -> None:
    import nlpkit as nk

    shared: dict[str, Any] = {"labels": "cat,dog", "device": "cpu", "offline": True, "probabilities": True}
    values = []
    for classes in (("contradiction", "neutral", "entailment"), ("entailment", "neutral", "contradiction")):
        model = tiny_bert(
            tmp_path / classes[0], words=WORDS, architecture="BertForSequenceClassification", labels=classes
        )
        found = nk.zero_shot(["the cat sat"], by="nli", model=str(model), **shared)
        values.append(found.documents.column("probabilities").to_pylist()[0])
    assert values[0] != values[1]  # the class is found by its name
    odd = tiny_bert(tmp_path / "odd", words=WORDS, architecture="BertForSequenceClassification", labels=("good", "bad"))
    with pytest.raises(UsageError, match="no class 'entailment'"):
        nk.zero_shot(["the cat sat"], by="nli", model=str(odd), **shared)
    with pytest.raises(UsageError, match="label"):
        nk.zero_shot(["the cat sat"], by="nli", model=str(model), template="about it", **shared)


# ST#1095, #393, #1493, #665, setfit#254: scores from 0 to 5 as the targets of a cosine
def test_scores_of_pairs_are_scaled(base: Path) -> None:
    pairs = [{"id": str(i), "text": "the team", "other": "a planet", "score": i % 6} for i in range(12)]
    words = ["--objective", "cosine", "--pair-col", "other", "--label-col", "score", "--base", base, "--max-steps", "1"]
    done = run_cli("train-encoder", train_file(pairs), *words, "--threads", "1", "-o", "run")
    assert "cosines from 0 to 1" in done.err
    same = train_file([{**pair, "score": 3} for pair in pairs], "same.jsonl")
    assert "score" in run_cli("train-encoder", same, *words, "-o", "x", code=3).error()


# trl#5826, #3382, #2435, #1073: answers that are empty, equal or null
def test_preferences_that_are_none_are_left_out(tmp_path: Path) -> None:
    causal = tiny_gpt2(tmp_path / "gpt2", words=WORDS)
    good = [{"id": str(i), "prompt": "colour of the cat is ", "chosen": "blue", "rejected": "green"} for i in range(10)]
    odd = [("", "green"), ("blue", "blue"), (None, "green")]
    own = good + [{"id": f"x{i}", "prompt": "the ", "chosen": a, "rejected": b} for i, (a, b) in enumerate(odd)]
    done = run_cli(
        "train-encoder", train_file(own), *DPO, "--base", causal, "--max-steps", "1", "--threads", "1", "-o", "run"
    )
    assert "2 rows with an empty text: left out" in done.err
    assert "1 row with the same chosen and rejected answer" in done.err
    found = json.loads(Path("run/metrics.json").read_text())
    assert found["before"]["loss"] == pytest.approx(math.log(2), abs=1e-6)
    assert math.isfinite(found["after"]["loss"])


# scikit-activeml#586, modAL#11, small-text#6: a batch with the same text several times
def test_a_batch_of_badge_has_no_text_twice() -> None:
    points = np.repeat(np.eye(4), [11, 1, 1, 1], axis=0)
    p = np.full((14, 2), 0.5)
    for seed in range(5):
        chosen = select("badge", 4, 14, rng=np.random.default_rng(seed), probabilities=p, points=points)
        assert len({tuple(points[i]) for i in np.asarray(chosen.rows).tolist()}) == 4


# own: attention of nothing, and of more than the window
def test_attention_of_odd_texts(plain: Path) -> None:
    model, tokenizer = load_attending(plain)
    with pytest.raises(UsageError, match="no token"):
        attention_maps(model, tokenizer, "", max_tokens=16, name="m")
    maps = attention_maps(model, tokenizer, "the cat " * 150, max_tokens=16, name="m")
    assert len(maps.tokens) == 16
    assert maps.cut == 300 - 14
