"""Attention of a transformer: weights of transformers itself, rollout by hand, other architectures, models without attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import InputError, MissingError, UsageError
from nlpkit.lab.attention import rollout

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.finetune.tiny import tiny_bert  # noqa: E402

WORDS = ["the", "court", "fined", "bank"]
TEXT = "The court fined the bank"


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("models") / "bert", words=WORDS, max_positions=12)


def other(folder: Path, bert: Path, name: str, **settings: Any) -> Path:
    """A tiny random model of another architecture with the tokenizer of the first."""
    config = transformers.AutoConfig.for_model(name, **settings)
    torch.manual_seed(0)
    transformers.AutoModel.from_config(config).save_pretrained(str(folder))
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (folder / file).write_bytes((bert / file).read_bytes())
    return folder


def test_weights_are_those_of_transformers(bert: Path) -> None:
    seen = nk.attention(bert, TEXT)
    model = transformers.AutoModel.from_pretrained(str(bert), attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(bert))
    with torch.no_grad():
        theirs = model(**tokenizer(TEXT, return_tensors="pt"), output_attentions=True).attentions
    assert seen.maps.weights == pytest.approx(np.stack([a[0].numpy() for a in theirs]), abs=1e-6)
    assert seen.maps.weights.sum(axis=-1) == pytest.approx(np.ones((2, 4, 7)), abs=1e-5)
    assert seen.maps.tokens == ("[CLS]", "The", "court", "fined", "the", "bank", "[SEP]")
    assert (seen.maps.causal, seen.reader) == (False, 0)


def test_rollout_by_hand() -> None:
    first, second = np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    weights = np.stack([np.stack([first, first]), np.stack([second, second])])
    # half of each layer is the identity: [[.5, .5], [.25, .75]], then [[1, 0], [.5, .5]] times this
    assert rollout(weights)[0] == pytest.approx(np.array([[0.5, 0.5], [0.25, 0.75]]))
    assert rollout(weights)[1] == pytest.approx(np.array([[0.5, 0.5], [0.375, 0.625]]))


def test_the_table_has_every_weight_once(bert: Path) -> None:
    seen = nk.attention(bert, TEXT)
    table = seen.table()
    assert table.num_rows == 2 * (4 + 1) * 7 * 7
    rows = table.to_pylist()
    one = next(r for r in rows if (r["layer"], r["head"], r["from_position"], r["to_position"]) == (2, 3, 4, 6))
    assert (one["from"], one["to"]) == ("fined", "bank")
    assert one["weight"] == seen.maps.weights[1, 2, 3, 5]
    rolled = [r["weight"] for r in rows if r["head"] == 0 and r["layer"] == 2 and r["from_position"] == 1]
    assert rolled == pytest.approx(seen.received().tolist(), abs=1e-6)


def test_a_causal_model_is_read_by_its_last_token(bert: Path, tmp_path: Path) -> None:
    folder = other(tmp_path / "gpt", bert, "gpt2", vocab_size=200, n_embd=16, n_layer=1, n_head=2, n_positions=16)
    seen = nk.attention(folder, TEXT)
    assert seen.maps.causal
    assert seen.reader == 6
    assert not np.triu(seen.maps.rollout, 1).any()


def test_the_encoder_of_a_model_with_two_halves(bert: Path, tmp_path: Path) -> None:
    sizes = {"vocab_size": 200, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
    seen = nk.attention(other(tmp_path / "t5", bert, "t5", **sizes), TEXT)
    assert seen.maps.weights.shape == (2, 2, 7, 7)
    assert not seen.maps.causal


def test_long_texts_are_cut_at_the_window(bert: Path) -> None:
    assert len(nk.attention(bert, f"{TEXT} {TEXT} {TEXT}").maps.tokens) == 12
    cut = nk.attention(bert, TEXT, max_tokens=4)
    assert cut.maps.tokens == ("[CLS]", "The", "court", "[SEP]")
    assert cut.maps.cut == 3


def test_what_cannot_be_looked_into(bert: Path, tmp_path: Path) -> None:
    mamba = other(tmp_path / "mamba", bert, "mamba", vocab_size=200, hidden_size=16, state_size=4, num_hidden_layers=1)
    with pytest.raises(InputError, match="attention"):
        nk.attention(mamba, TEXT)
    with pytest.raises(UsageError, match="no token"):
        nk.attention(bert, "  ")
    with pytest.raises(MissingError, match="not found"):
        nk.attention("none/none", TEXT, offline=True)
    with pytest.raises(InputError, match="is not a model"):
        nk.attention(tmp_path, TEXT)
    with pytest.raises(UsageError, match="is a complete model and needs no"):
        nk.attention(bert, TEXT, base="minilm")
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="holds only adapters; merge them, or name their run of `finetune"):
        nk.attention(tmp_path / "adapter", TEXT)
