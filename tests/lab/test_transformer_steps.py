"""The transformer by hand: the lecture's matrices to the printed digit, torch's own layers, masks, and examples that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import InputError, UsageError
from nlpkit.lab.transformer_steps import layer_norm, look_ahead_mask, padding_mask, positional_encoding, softmax


def symbols() -> list[str]:
    return ["PE", "X", "Q", "K", "V", "S", "T", "A", "Z", "O", "R1", "N1", "XW", "XWb", "F", "MASK", "MASKC"]


@pytest.mark.parametrize("symbol", symbols())
def test_the_lecture_is_met_to_its_printed_digits(symbol: str) -> None:
    worked = nk.explain_transformer()
    printed, step = worked.example.printed[symbol], worked[symbol]
    assert step.printed
    assert step.misprints == ()
    shown = ~np.isnan(printed) & np.isfinite(printed)
    rounded = symbol not in ("PE", "S", "T")  # these are printed rounded, and read unrounded by the next step
    half = {"XW": 1.01e-4, "XWb": 1.01e-4, "F": 1.01e-4}  # one cell lies at a half, 0.13925, and is printed as 0.1392
    tolerance = {"PE": 5e-5, "S": 5e-3, "T": 7.5e-3, **half}.get(symbol, 1e-9)
    assert np.abs(step.matrix[shown] - printed[shown]).max() <= tolerance
    assert (np.abs(step.matrix[shown] - printed[shown]) > 1e-9).sum() <= 1 or not rounded
    assert rounded == (symbol in worked.example.digits or symbol.startswith("MASK"))


def test_without_rounding_the_lecture_is_met_roughly() -> None:
    exact = nk.explain_transformer(exact=True)
    printed = exact.example.printed
    assert np.abs(exact["Z"].matrix - printed["Z"]).max() < 0.01
    assert 0.001 < np.abs(exact["F"].matrix - printed["F"]).max() < 0.01


def test_the_slide_s_look_ahead_mask_lacks_a_word() -> None:
    worked = nk.explain_transformer()
    assert {step.symbol: len(step.misprints) for step in worked.steps if step.misprints} == {"MASKD": 7}
    assert {m.row for m in worked["MASKD"].misprints} == {"<end>"}
    assert any("7 cells differ by more than a unit of the last digit, in MASKD" in note for note in worked.notes)


def test_a_misprint_in_k_is_listed() -> None:
    K = [[0.5, 0.25], [0.12, -0.3]]
    example: dict[str, Any] = {
        "tokens": ["a", "b"],
        "embedding": {"a": [1, 0], "b": [0, 1]},
        "weights": {"W_K": [[0.5, -0.75], [0.12, -1.3]], "W_Q": [[1, 0], [0, 1]], "W_V": [[1, 0], [0, 1]]},
        "printed": {"K": K},
    }
    # positions: sin 0, cos 0 and sin 1, cos 1; K = (E + PE) W_K
    X = np.array([[1.0, 1.0], [np.sin(1), 1 + np.cos(1)]])
    worked = nk.explain_transformer(example)
    expected = X @ np.array(example["weights"]["W_K"])
    assert worked["K"].matrix == pytest.approx(expected)
    assert [(m.row, m.column, m.printed) for m in worked["K"].misprints] == [
        (row, str(j + 1), K[i][j]) for i, row in enumerate("ab") for j in (0, 1) if abs(expected[i, j] - K[i][j]) > 0.01
    ]


def test_positions_masks_and_softmax() -> None:
    assert positional_encoding(5, 6)[4] == pytest.approx([-0.7568, -0.6536, 0.1846, 0.9828, 0.0086, 1.0], abs=5e-5)
    assert positional_encoding(3, 5).shape == (3, 5)
    assert look_ahead_mask(2, 3).tolist() == [[0, -np.inf, -np.inf], [0, 0, -np.inf], [-np.inf] * 3]
    assert padding_mask(1, 2, 3).tolist() == [[0, 0, -np.inf], [-np.inf] * 3, [-np.inf] * 3]
    assert softmax(np.array([[1000.0, 1000.0], [-np.inf, -np.inf], [0.0, -np.inf]])).tolist() == [
        [0.5, 0.5],
        [0, 0],
        [1, 0],
    ]


def test_padding_changes_no_weight_of_a_word() -> None:
    worked = nk.explain_transformer(exact=True)
    padded = worked["AMASK"].matrix
    assert padded[:6, :6] == pytest.approx(worked["A"].matrix)
    assert not padded[6:].any()
    assert not padded[:, 6:].any()


def test_the_decoder_sees_no_later_word() -> None:
    base = {
        "tokens": ["a", "b"],
        "target": ["x", "y", "z"],
        "d": 4,
        "heads": 2,
        "vocabulary": ["a", "b", "x", "y", "z", "w"],
    }
    first = nk.explain_transformer(base)
    second = nk.explain_transformer({**base, "target": ["x", "y", "w"]})
    assert first["P"].matrix[:2] == pytest.approx(second["P"].matrix[:2])
    assert np.abs(first["P"].matrix[2] - second["P"].matrix[2]).max() > 1e-3
    assert first["P"].matrix.sum(axis=1) == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("heads", [1, 2, 3])
def test_encoder_and_decoder_are_those_of_torch(heads: int) -> None:
    """torch.nn.TransformerEncoderLayer and -DecoderLayer with the same weights, d = h · d_k."""
    torch = pytest.importorskip("torch")
    d, d_k = 6, 6 // heads
    example = {"tokens": ["a", "b", "c"], "target": ["x", "y"], "d": d, "d_k": d_k, "heads": heads}
    worked = nk.explain_transformer(example, seed=5)
    w = worked.example.weights

    def attention(layer: Any, prefix: str) -> None:
        parts = [np.concatenate(list(w[f"{prefix}{name}"]), axis=1).T for name in ("W_Q", "W_K", "W_V")]
        layer.in_proj_weight.copy_(torch.tensor(np.concatenate(parts)))
        layer.in_proj_bias.zero_()
        layer.out_proj.weight.copy_(torch.tensor(w[f"{prefix}W_O"].T))
        layer.out_proj.bias.zero_()

    def network(layer: Any, prefix: str) -> None:
        for linear, name in ((layer.linear1, "1"), (layer.linear2, "2")):
            linear.weight.copy_(torch.tensor(w[f"{prefix}W_{name}"].T))
            linear.bias.copy_(torch.tensor(w[f"{prefix}b_{name}"]))

    shape = {"dropout": 0.0, "batch_first": True, "dtype": torch.float64}
    encoder = torch.nn.TransformerEncoderLayer(d, heads, 2 * d, **shape).eval()
    decoder = torch.nn.TransformerDecoderLayer(d, heads, 2 * d, **shape).eval()
    with torch.no_grad():
        attention(encoder.self_attn, "")
        network(encoder, "")
        attention(decoder.self_attn, "decoder.")
        attention(decoder.multihead_attn, "cross.")
        network(decoder, "decoder.")
        memory = encoder(torch.tensor(worked["X"].matrix)[None])
        assert worked["N2"].matrix == pytest.approx(memory[0].numpy(), abs=1e-9)
        later = torch.nn.Transformer.generate_square_subsequent_mask(2, dtype=torch.float64)
        out = decoder(torch.tensor(worked["XD"].matrix)[None], memory, tgt_mask=later)
        assert worked["ND3"].matrix == pytest.approx(out[0].numpy(), abs=1e-9)


def test_norms() -> None:
    x = np.array([[1.0, 2.0, 6.0]])
    assert layer_norm(x, norm="sample", epsilon=0.0) == pytest.approx((x - 3) / np.std(x, ddof=1))
    assert layer_norm(x, norm="population", epsilon=0.0) == pytest.approx((x - 3) / np.std(x))


def test_drawn_weights_depend_on_seed_and_name_alone() -> None:
    one, two = (nk.explain_transformer(text="a b", target=t) for t in (None, "x"))
    assert one["N2"].matrix.tolist() == two["N2"].matrix.tolist()
    assert nk.explain_transformer(text="a b", seed=1)["E"].matrix.tolist() != one["E"].matrix.tolist()
    assert "embedding.a" in one.example.drawn


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ({}, "no tokens"),
        ({"tokens": "a b"}, "tokens must be a list of words"),
        ({"tokens": ["a"], "token": []}, "'token' is not a part"),
        ({"tokens": ["a"], "vocabulary": ["b"]}, "'a' is not in the vocabulary"),
        ({"tokens": ["a", "b"], "length": 1}, "length = 1, but a sequence has 2"),
        ({"tokens": ["a"], "norm": "rms"}, "known are population, sample"),
        ({"tokens": ["a"] * 65}, "up to 64"),
        ({"tokens": ["a"], "heads": 0}, "heads = 0"),
        ({"tokens": ["a"], "heads": True}, "whole number"),
        ({"tokens": ["a"], "epsilon": float("nan")}, "epsilon must be"),
        ({"tokens": ["a"], "d": 3, "weights": {"W_Q": [[1.0, 2.0]]}}, "W_Q are 1 × 1 × 2, 1 × 3 × 2"),
        ({"tokens": ["a"], "weights": {"W_Q": [[1], [2, 3]]}}, "rows of numbers of one length"),
        ({"tokens": ["a"], "weights": {"W_X": [[1.0]]}}, "'W_X' are not used here"),
        ({"tokens": ["a"], "weights": {"W_Q": [[float("nan")] * 4] * 6}}, "not finite"),
        ({"tokens": ["a"], "weights": {"W_1": [[1.0] * 3] * 6}}, "needs a W_2"),
        ({"tokens": ["a"], "weights": [1]}, "must be a table"),
        ({"tokens": ["a", "b"], "embedding": {"a": [1.0, 2.0], "b": [1.0]}}, "of 'b' has 1 numbers, 2"),
        ({"tokens": ["a"], "embedding": {"a": [[1.0]]}}, "list of finite numbers"),
        ({"tokens": ["a"], "digits": {"X": -1}}, "from 0 to 15"),
        ({"tokens": ["a"], "printed": {"K": [[1.0]]}}, "the printed K is 1 × 1, the calculated one 1 × 4"),
        ({"tokens": ["a"], "printed": {"Y": [[1.0]]}}, "no step Y"),
    ],
)  # fmt: skip
def test_examples_that_do_not_fit(example: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        nk.explain_transformer(example)
    assert message in str(error.value)


def test_an_example_and_words_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="the example file defines it; leave it out"):
        nk.explain_transformer({"tokens": ["a"]}, heads=2)
    with pytest.raises(UsageError, match="add `text`"):
        nk.explain_transformer(heads=2)
    with pytest.raises(UsageError, match="`text` has no word"):
        nk.explain_transformer(text=" ")
