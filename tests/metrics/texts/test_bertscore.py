"""BERTScore: by hand, beside bert-score on a tiny model, and through the command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import MissingError, UsageError
from nlpkit.metrics.texts.generation import greedy_scores, inverse_frequencies
from tests.command_line import run_cli

WORDS = "the cat sat on a mat dog ran fast in park it was cold today weather is freezing".split()  # noqa: SIM905
REFERENCES = ["the cat sat on a mat", "it was cold today", "the dog ran", "a dog ran fast in a park " * 12]
TEXTS = ["a dog sat on the mat", "the weather is freezing today", "the dog ran", "fast"]


def test_by_hand() -> None:
    e1, e2, half = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]
    reference, text = np.array([e1, e2], np.float32), np.array([half], np.float32)
    p, r, f = greedy_scores(reference, text, np.ones(2), np.ones(1))
    assert (p, r) == (pytest.approx(0.8), pytest.approx(0.7))
    assert f == pytest.approx(2 * 0.8 * 0.7 / 1.5)
    weighted = greedy_scores(reference, text, np.array([3.0, 1.0]), np.ones(1))
    assert weighted[1] == pytest.approx(0.75 * 0.6 + 0.25 * 0.8)
    special = greedy_scores(reference, text, np.array([1.0, 0.0]), np.ones(1))  # is compared with, and does not count
    assert special[:2] == (pytest.approx(0.8), pytest.approx(0.6))
    assert greedy_scores(reference, text, np.zeros(2), np.ones(1)) == (0.0, 0.0, 0.0)
    against = greedy_scores(reference, -text, np.ones(2), np.ones(1))
    assert against == (pytest.approx(-0.6), pytest.approx(-0.7), 0.0)


def test_weights_of_tokens_by_hand() -> None:
    weights = inverse_frequencies([np.array([0, 1, 1]), np.array([0, 2])], 4)
    np.testing.assert_allclose(weights, [0.0, np.log(3 / 2), np.log(3 / 2), np.log(3)])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("torch")
    from tests.finetune.tiny import tiny_bert

    return str(tiny_bert(tmp_path_factory.mktemp("tiny") / "model", words=WORDS))


def scored(references: Sequence[Any], texts: Sequence[Any], model: str, **settings: Any) -> Any:
    import pyarrow as pa

    table = pa.table({"id": [str(d) for d in range(len(texts))], "label": references, "prediction": texts})
    given = {"metrics": "bertscore", "encoder": model, "offline": True, "device": "cpu", "ci": 0, **settings}
    return nk.evaluate(table, **given).targets[0].scores


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("layer", [1, 2])
def test_beside_bert_score(model: str, idf: bool, layer: int) -> None:
    package = pytest.importorskip("bert_score")
    # one by one, as padding takes part in that program
    scorer = package.BERTScorer(
        model_type=model, num_layers=layer, idf=idf, idf_sents=REFERENCES if idf else None, device="cpu", batch_size=1,
        use_fast_tokenizer=True, nthreads=0,
    )  # fmt: skip
    theirs = [[float(x) for x in scorer.score([text], [ref])] for text, ref in zip(TEXTS, REFERENCES, strict=True)]
    scores = scored(REFERENCES, TEXTS, model, layer=layer, token_idf=idf)
    for column, name in enumerate(("precision", "recall", "f1")):
        score = scores[f"bertscore_{name}"]
        assert score.value == pytest.approx(np.mean([row[column] for row in theirs]), abs=1e-5)
        assert (score.parameters["layer"], score.parameters["idf"]) == (layer, idf)
    assert np.ptp(theirs) > 0.01


def test_equal_and_empty_texts(model: str) -> None:
    assert scored(TEXTS, TEXTS, model)["bertscore_f1"].value == pytest.approx(1.0)
    assert scored(["the cat", "a dog"], ["the cat", None], model)["bertscore_f1"].value == pytest.approx(0.5)
    several = scored(REFERENCES, TEXTS, model, metrics="bertscore_f1,chrf")
    assert set(several) == {"bertscore_f1", "chrf"}
    one, three = (scored(REFERENCES * 9, TEXTS * 9, model, threads=n)["bertscore_f1"].value for n in (1, 3))
    assert one == three


def test_what_cannot_be(model: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the layers 0 to 2"):
        scored(TEXTS, TEXTS, model, layer=3)
    with pytest.raises(UsageError, match="up to 64 tokens"):
        scored(TEXTS, TEXTS, model, max_tokens=65)
    with pytest.raises(UsageError, match="`prompt`: bertscore"):
        scored(TEXTS, TEXTS, model, prompt="query: ")
    with pytest.raises(UsageError, match="`layer` is for `metrics=bertscore`"):
        scored(TEXTS, TEXTS, model, metrics="chrf", encoder=None, offline=False, device=None, layer=1)
    with pytest.raises(MissingError, match="does not exist"):
        scored(TEXTS, TEXTS, str(tmp_path / "nowhere"))


def test_the_command(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": str(n), "label": reference, "prediction": text}
        for n, (reference, text) in enumerate(zip(REFERENCES, TEXTS, strict=True))
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("evaluate", "pairs.jsonl", "--encoder", model, "--device", "cpu", "--metrics", "bertscore,rouge")
    done = run_cli(*words, "--json").json()["targets"][0]["metrics"]
    assert {"bertscore_f1", "bertscore_recall", "rouge_l"} <= set(done)
    low, high = done["bertscore_f1"]["low"], done["bertscore_f1"]["high"]
    assert low < done["bertscore_f1"]["value"] < high
    run_cli(*words, "--fail-under", "bertscore_f1=1.0", code=1)
