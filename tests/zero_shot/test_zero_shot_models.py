"""Labels by inference, by prompts and by embeddings: equal to transformers, to values by hand, and what cannot be used is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.errors import MissingError, UsageError
from nlpkit.zero_shot.model import (
    calibrated,
    entailed_labels,
    fitted_threshold,
    label_shares,
    label_tree,
    nearest_labels,
    parse_labels,
    refined,
    with_parents,
)
from nlpkit.zero_shot.options import ZeroShotOptions
from tests.command_line import run_cli
from tests.llm_server import embedded, serving

pytest.importorskip("torch")

WORDS = [
    *("this", "text", "is", "about", "sports", "politics", "music", "film", "goal", "vote", "the", "a"),
    *("team", "won", "song", "matches", "it", "was", "great"),
]
TEXTS = ["the team won the matches", "a vote", "the song", "it was a great goal " * 20, ""]
LABELS = ["sports", "politics", "music"]
NLI = ("contradiction", "neutral", "entailment")


def nli_model(folder: Path, classes: tuple[str, ...] = NLI) -> str:
    from tests.finetune.tiny import tiny_bert

    return str(tiny_bert(folder, words=WORDS, architecture="BertForSequenceClassification", labels=classes))


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> str:
    return nli_model(tmp_path_factory.mktemp("nli") / "model")


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> str:
    from tests.finetune.tiny import tiny_bert

    folder = tmp_path_factory.mktemp("masked") / "model"
    return str(tiny_bert(folder, words=WORDS, architecture="BertForMaskedLM"))


def given(texts: Any = TEXTS, **settings: Any) -> Any:
    return nk.zero_shot(
        texts, **{"labels": LABELS, "device": "cpu", "offline": True, "probabilities": True, **settings}
    )


def probabilities(result: Any) -> Any:
    return np.array([[row[name] for name in LABELS] for row in result.documents.column("probabilities").to_pylist()])


@pytest.mark.parametrize("multi_label", [False, True])
def test_inference_is_that_of_the_pipeline_of_transformers(nli: str, multi_label: bool) -> None:
    from transformers import pipeline

    judge = pipeline("zero-shot-classification", model=nli, device="cpu")
    result = given(TEXTS[:4], by="nli", model=nli, multi_label=multi_label)
    wanted = judge(TEXTS[:4], LABELS, hypothesis_template="This text is about {}.", multi_label=multi_label)
    expected = [[dict(zip(w["labels"], w["scores"], strict=True))[name] for name in LABELS] for w in wanted]
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(probabilities(result), expected, atol=1e-5)
    predictions = result.documents.column("prediction").to_pylist()
    if multi_label:
        assert predictions == [[n for n, p in zip(LABELS, row, strict=True) if p > 0.5] for row in expected]
    else:
        assert predictions == [LABELS[int(np.argmax(row))] for row in expected]
    assert result.summary["documents_cut"] == 1


def test_entailment_by_hand() -> None:
    e, c = np.array([[2.0, 0.0, 1.0]]), np.array([[0.0, 0.0, 3.0]])
    single = entailed_labels(e, c, [0, 1, 1], 2, multi_label=False)
    assert single.probabilities is not None
    np.testing.assert_allclose(single.probabilities, [[np.exp(2) / (np.exp(2) + np.exp(1)), 1 / (1 + np.e)]])
    several = entailed_labels(e, c, [0, 1, 1], 2, multi_label=True)
    assert several.sets is not None
    assert several.probabilities is not None
    np.testing.assert_allclose(several.probabilities, [[1 / (1 + np.exp(-2)), 0.5]])
    assert several.sets.tolist() == [[True, False]]
    with np.errstate(all="raise"):
        entailed_labels(np.array([[9e3, -9e3]]), np.zeros((1, 2)), [0, 1], 2, multi_label=True)


def test_calibration_by_hand() -> None:
    log_p = np.log([[0.02, 0.04, 0.01], [0.5, 0.1, 0.2]])
    shares = label_shares(log_p, [0, 0, 1], 2)
    np.testing.assert_allclose(shares, [[0.75, 0.25], [0.6, 0.4]])
    predicted = calibrated(shares, np.array([0.9, 0.1]))
    assert predicted.codes is not None
    assert predicted.codes.tolist() == [1, 1]  # 0.75 / 0.9 < 0.25 / 0.1
    np.testing.assert_allclose(predicted.probabilities, [[1 / 4, 3 / 4], [1 / 7, 6 / 7]])
    plain = calibrated(shares, np.ones(2))
    np.testing.assert_allclose(plain.probabilities, shares)
    rare = calibrated(np.array([[1.0, 0.0]]), np.array([1.0, 0.0]))
    assert np.isfinite(rare.decision).all()


def test_a_prompt_is_what_transformers_puts_at_the_mask(masked: str) -> None:
    from transformers import pipeline

    fill = pipeline("fill-mask", model=masked, device="cpu")
    sentence = "[text] it was about [MASK] ."
    result = given(TEXTS[:3], by="prompt", model=masked, template=sentence, calibrate=False)
    raw = []
    for text in [*TEXTS[:3], "N/A", "[MASK]", ""]:
        filled = fill(sentence.replace("[text]", text), targets=LABELS)
        filled = filled[-1] if isinstance(filled[0], list) else filled
        by_word = {row["token_str"]: row["score"] for row in filled}
        raw.append([by_word[name] for name in LABELS])
    shares = np.array(raw) / np.sum(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(probabilities(result), shares[:3], atol=1e-5)
    wanted = shares[:3] / shares[3:].mean(axis=0)
    wanted /= wanted.sum(axis=1, keepdims=True)
    result = given(TEXTS[:3], by="prompt", model=masked, template=sentence)
    np.testing.assert_allclose(probabilities(result), wanted, atol=1e-5)
    cut = given(by="prompt", model=masked)
    assert cut.summary["documents_cut"] == 1
    before = given(TEXTS[:3], by="prompt", model=masked, template="a [MASK] text: [text]", calibrate=False)
    assert np.abs(probabilities(before) - shares[:3]).max() > 1e-3


def test_several_words_of_a_label_and_their_descriptions(masked: str, nli: str) -> None:
    result = given(by="prompt", model=masked, labels="sports: goal|team; music: song", probabilities=False)
    assert set(result.documents.column("prediction").to_pylist()) <= {"sports", "music"}
    named = given(by="nli", model=nli, labels={"a": ["sports"], "b": ["vote", "film"], "c": ["music"]})
    more = np.array([list(row.values()) for row in named.documents.column("probabilities").to_pylist()])
    assert np.abs(more - probabilities(given(by="nli", model=nli))).max() > 1e-6
    english = given(by="nli", model=nli, template="it was {label}")
    assert np.abs(probabilities(english) - probabilities(given(by="nli", model=nli))).max() > 1e-6


def test_threads_and_the_template_of_cosine(nli: str, tmp_path: Path) -> None:
    from tests.encoder_models import write_model

    tables = [given(TEXTS * 8, by="nli", model=nli, threads=threads).documents for threads in (1, 3)]
    assert tables[0].equals(tables[1])
    encoder = str(write_model(tmp_path / "tiny"))
    plain, other = (
        nk.zero_shot(["cat dog"], labels="cat,dog", encoder=encoder, probabilities=True, **settings).documents
        for settings in ({}, {"template": "{label}"})
    )
    assert not plain.equals(other)


def test_models_that_cannot_judge(tmp_path: Path, nli: str, masked: str) -> None:
    plain = nli_model(tmp_path / "plain", ("negative", "positive"))
    with pytest.raises(UsageError, match=r"no class 'entailment' \(its classes: negative, positive\)"):
        given(by="nli", model=plain)
    odd = nli_model(tmp_path / "odd", ("entailment", "x", "y"))
    with pytest.raises(UsageError, match="no class 'contradiction'"):
        given(by="nli", model=odd)
    two = nli_model(tmp_path / "two", ("ENTAILMENT", "not_entailment"))
    assert given(by="nli", model=two, multi_label=True).summary["documents"] == len(TEXTS)
    with pytest.raises(MissingError, match="no head that predicts masked words"):
        given(by="prompt", model=nli)
    with pytest.raises(MissingError, match="does not exist"):
        given(by="nli", model=str(tmp_path / "nowhere"))
    from tests.finetune.tiny import tiny_bert

    bare = tiny_bert(tmp_path / "bare", words=WORDS, architecture="BertForMaskedLM")
    settings = json.loads((bare / "tokenizer_config.json").read_text())
    settings.pop("mask_token")
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    (bare / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(UsageError, match="no mask token"):
        given(by="prompt", model=str(bare))
    long = "[text] " + "the " * 70 + "[MASK]"
    with pytest.raises(UsageError, match="leaves 0 of the 64 tokens"):
        given(by="prompt", model=masked, template=long)


def test_words_that_a_prompt_cannot_have(masked: str) -> None:
    with pytest.raises(UsageError, match=r"'world politics' is \d tokens"):
        given(by="prompt", model=masked, labels=["world politics", "music"])
    with pytest.raises(UsageError, match="has no token for the word"):
        given(by="prompt", model=masked, labels=["好", "music"])
    with pytest.raises(UsageError, match="'music' and 'Music' are one token"):
        given(by="prompt", model=masked, labels=["music", "Music"])
    for labels in ("", "music", ["music"], "sports, world: politics war"):
        with pytest.raises(UsageError, match=r"needs two labels or more, such as 'sports,politics'. Labels"):
            given(by="prompt", model=masked, labels=labels)


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"by": "nli"}, "model"),
        ({"by": "prompt"}, "model"),
        ({"by": "magic"}, "by"),
        ({"model": "m"}, "model"),
        ({"multi_label": True}, "multi_label"),
        ({"calibrate": False}, "calibrate"),
        ({"template": "no slot"}, "template"),
        ({"by": "nli", "model": "m", "template": "{label} or {label}"}, "template"),
        ({"by": "prompt", "model": "m", "template": "[text] {label}"}, "template"),
        ({"by": "prompt", "model": "m", "template": "[MASK] [MASK] [text]"}, "template"),
        ({"llm": "http://h", "llm_model": "m", "by": "nli", "model": "m"}, "by"),
        ({"llm": "http://h", "llm_model": "m", "template": "{label}"}, "template"),
    ],
)
def test_options_that_do_not_go_together(settings: dict[str, Any], parameter: str) -> None:
    with pytest.raises(UsageError) as error:
        ZeroShotOptions(labels="a,b", **settings)
    assert error.value.parameter == parameter


def test_the_command(nli: str, masked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{n}", "text": text, "label": LABELS[n % 3]} for n, text in enumerate(TEXTS[:3])]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("zero-shot", "docs.jsonl", "--labels", ",".join(LABELS), "--device", "cpu")
    done = run_cli(*words, "--by", "nli", "--model", nli, "-o", "out.parquet", "--json").json()
    assert done["targets"][0]["metrics"]["accuracy"]["value"] in (0.0, 1 / 3, 2 / 3, 1.0)
    block = json.loads(pq.read_schema(tmp_path / "out.parquet").metadata[b"nlpkit"])
    assert (block["parameters"]["by"], block["parameters"]["template"]) == ("nli", "This text is about {label}.")
    several = run_cli(*words, "--by", "nli", "--model", nli, "--multi-label", "-o", "m.parquet", "--json").json()
    assert "subset_accuracy" in several["targets"][0]["metrics"]
    run_cli(*words, "--by", "prompt", "--model", masked, "-o", "p.parquet")
    block = json.loads(pq.read_schema(tmp_path / "p.parquet").metadata[b"nlpkit"])
    assert sum(block["parameters"]["without_content"].values()) == pytest.approx(1.0, abs=1e-5)
    assert "--model" in run_cli(*words, "--by", "nli", "-o", "x.csv", code=2).error()
    assert (
        "--encoder" in run_cli(*words, "--by", "nli", "--model", nli, "--encoder", "x", "-o", "x.csv", code=2).error()
    )
    assert "'entailment'" in run_cli(*words, "--by", "nli", "--model", masked, "-o", "x.csv", code=3).error()
    assert run_cli(*words, "--by", "nli", "--model", nli, "-n", "-o", "x.csv", "--json").json()["rows"] == 3


def test_sets_of_labels_are_scored(nli: str) -> None:
    import pyarrow as pa

    table = pa.table({"id": ["a", "b"], "text": TEXTS[:2], "label": [["sports", "music"], []]})
    scores = given(table, by="nli", model=nli, multi_label=True).evaluation.targets[0].scores
    assert scores["hamming_loss"].parameters["documents"] == 2


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def planted_labels(n: int = 400) -> tuple[Any, Any, Any]:
    """Three classes of directions in ten dimensions, and labels that are some way off their classes."""
    rng = np.random.default_rng(3)
    centres = unit(rng.normal(size=(3, 10)))
    classes = rng.integers(3, size=n)
    documents = unit(centres[classes] + rng.normal(scale=0.22, size=(n, 10))).astype(np.float32)
    return documents, classes, unit(centres + rng.normal(scale=0.33, size=(3, 10)))


def test_refined_labels_are_nearer_to_their_classes_and_do_not_depend_on_the_order() -> None:
    documents, classes, labels = planted_labels()
    moved = refined(documents, labels)
    before, after = ((nearest_labels(documents, by).codes == classes).mean() for by in (labels, moved))
    assert after > before + 0.03
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1)
    np.testing.assert_allclose(refined(documents[::-1], labels), moved, atol=1e-12)
    np.testing.assert_array_equal(
        refined(np.zeros((2, 10), np.float32), labels), unit(labels)
    )  # empty texts say nothing


def test_labels_of_two_levels() -> None:
    tree = label_tree(parse_labels("x: above; x > a: one|two; x  >  b; c; y>z"))
    assert tree.labels == {"a": ["one", "two"], "b": [], "c": [], "y>z": []}
    assert tree.parents == {"a": "x", "b": "x", "c": "c", "y>z": "y>z"}
    assert (tree.described, tree.paths["x > b"]) == ({"x": ["above"]}, "b")
    flat = label_tree({"a": ["one"], "b": []})
    assert (flat.labels, flat.parents) == ({"a": ["one"], "b": []}, {})
    assert list(label_tree(parse_labels("x > a; y > a; y > b")).labels) == ["x > a", "y > a", "y > b"]
    for wrong, says in (
        ("x > a > b; c", "3 levels"),
        ("x > a; x  > a", "occurs twice"),
        ("x > a; x", "two labels or more"),
    ):
        with pytest.raises(UsageError, match=says):
            label_tree(parse_labels(wrong))
    leaves, parents = unit(np.array([[1.0, 2, 3], [3, 1, 1]])), unit(np.array([[1.0, 0, 1], [0, 1, 0]]))
    x = unit(np.array([[0.2, 0.5, -0.4]]))
    mean = (x @ leaves.T + 0.25 * x @ parents.T) / 1.25
    np.testing.assert_allclose(
        nearest_labels(x.astype(np.float32), with_parents(leaves, parents)).decision, mean, atol=1e-6
    )


def test_parents_are_predicted_and_scored(tmp_path: Path) -> None:
    texts = ["river water fish", "fish boat", "piano concert", "violin opera", "money loan"] * 4
    labels = ["nature > water", "water", "music", "art > music", "bank"] * 4
    documents = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in documents))
    with serving(lambda body: (200, embedded(body["input"], dim=64))) as server:
        line = ["zero-shot", file, "--encoder", f"{server.url}#m", "--labels"]
        two = "art: piano; art > music: piano concert violin opera; nature > water: river water fish boat; bank: money loan"
        done = run_cli(*line, two, "-o", tmp_path / "two.parquet", "--json").json()
        table = pq.read_table(tmp_path / "two.parquet")
        assert table["prediction"].to_pylist() == ["water", "water", "music", "music", "bank"] * 4
        assert table["prediction_parent"].to_pylist() == ["nature", "nature", "art", "art", "bank"] * 4
        (target,) = done["targets"]
        assert target["metrics"]["accuracy"]["value"] == target["parents"]["accuracy"]["value"] == 1.0
        assert "piano" in str(server.asked)
        shown = run_cli(*line, two, "-o", tmp_path / "two.parquet", "--force", "--threshold", "0.99999")
        assert "Parents" in shown.out
        assert "accuracy of the parents: 0.2000" in shown.err
        assert set(pq.read_table(tmp_path / "two.parquet")["prediction_parent"].to_pylist()) == {None, "bank"}
        says = run_cli(*line, two, "-o", "x.parquet", "--by", "nli", "--model", "m", "--multi-label", code=2).error()
        assert "--multi-label does not go with labels that have parents" in says


def test_a_threshold_is_where_most_decisions_are_right() -> None:
    rng = np.random.default_rng(0)
    best = rng.uniform(size=300)
    other = best < 0.4 + rng.normal(scale=0.1, size=300)
    right = ~other & (rng.uniform(size=300) < 0.9)
    found = fitted_threshold(best, right, other)

    def correct(t: float) -> int:
        return int((right & (best >= t)).sum() + (other & (best < t)).sum())

    assert correct(found) == max(correct(t) for t in [-1.0, *best + 1e-9, 1.0])
    with pytest.raises(UsageError, match="10 or more whose label is another; found 3"):
        fitted_threshold(best, right, np.arange(300) < 3)
    assert fitted_threshold(np.full(20, 0.5), np.arange(20) < 5, np.arange(20) >= 5) == 0.75  # nothing is told apart
    decided = nearest_labels(np.eye(2, dtype=np.float32), np.array([[1.0, 0.0], [0.6, 0.8]]), 0.9)
    assert decided.codes is not None
    assert decided.codes.tolist() == [0, -1]


def test_thresholds_and_refined_labels_from_texts_to_scores(tmp_path: Path) -> None:
    texts = [
        "river water fish",
        "fish boat water",
        "money loan debt",
        "debt credit money",
        "piano concert violin",
        "violin opera",
    ] * 8
    labels = ["water", "water", "bank", "bank", "music", "music"] * 8
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": t, "label": n}) + "\n" for t, n in zip(texts, labels, strict=True)))
    with serving(lambda body: (200, embedded(body["input"], dim=64))) as server:
        line = [
            "zero-shot",
            file,
            "--labels",
            "water: river fish; bank: money debt",
            "--encoder",
            f"{server.url}#m",
            "-o",
        ]
        every = run_cli(*line, tmp_path / "every.parquet", "--json").json()
        assert "unanswered" not in every
        done = run_cli(*line, tmp_path / "some.parquet", "--threshold", "auto", "--refine")
        assert "16 documents have no label, because the cosine to the nearest one is below" in done.err
        assert "accuracy" in done.out
        assert "(no label)" in done.out
        rows = pq.read_table(tmp_path / "some.parquet").to_pylist()
        assert [row["prediction"] for row in rows] == [name if name != "music" else None for name in labels]
        fixed = run_cli(*line, tmp_path / "none.parquet", "--threshold", "0.999", "--json").json()
        assert fixed["unanswered"] == 48
        for given_, says in (
            (["--threshold", "2"], "is not a cosine from -1 to 1, nor auto"),
            (["--threshold", "nan"], "is not a cosine from -1 to 1, nor auto"),
            (["--threshold", "much"], "is not a cosine from -1 to 1, nor auto"),
            (["--threshold", "auto", "--shard", "1/2"], "--threshold auto needs all documents at once"),
            (["--refine", "--shard", "1/2"], "--refine needs all documents at once"),
            (["--refine", "--by", "nli", "--model", "m"], "--refine needs --by cosine"),
        ):
            assert says in run_cli(*line, tmp_path / "x.parquet", *given_, code=2).error()
        assert not (tmp_path / "x.parquet").exists()
        file.write_text('{"text": "river"}\n' * 3)
        assert "found 0 of these" in run_cli(*line, tmp_path / "x.parquet", "--threshold", "auto", code=2).error()
        run_cli(*line, tmp_path / "x.parquet", "--refine")  # a few equal texts
