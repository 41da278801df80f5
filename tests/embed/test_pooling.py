"""Pooling of hidden states that are 0, 1, 2 …, by hand."""

from __future__ import annotations

import pytest

from nlpkit.embed.pooling import MODES, pool, read_modes

torch = pytest.importorskip("torch")

# Two documents of 3 and 2 tokens in two dimensions; the last token of the second is padding.
HIDDEN = torch.tensor([[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[6.0, -7.0], [8.0, -9.0], [100.0, 100.0]]])
LENGTHS = torch.tensor([3, 2])
EXPECTED = {
    "cls": [[0.0, 1.0], [6.0, -7.0]],
    "lasttoken": [[4.0, 5.0], [8.0, -9.0]],
    "max": [[4.0, 5.0], [8.0, -7.0]],
    "mean": [[2.0, 3.0], [7.0, -8.0]],
    "mean_sqrt_len_tokens": [[6 / 3**0.5, 9 / 3**0.5], [14 / 2**0.5, -16 / 2**0.5]],
    "weightedmean": [[16 / 6, 22 / 6], [22 / 3, -25 / 3]],
}


@pytest.mark.parametrize("mode", MODES)
def test_by_hand(mode: str) -> None:
    torch.testing.assert_close(pool(HIDDEN, LENGTHS, (mode,)), torch.tensor(EXPECTED[mode]))


@pytest.mark.parametrize("mode", MODES)
def test_without_padding(mode: str) -> None:
    alone = pool(HIDDEN[1:, :2], None, (mode,))
    torch.testing.assert_close(alone, torch.tensor(EXPECTED[mode][1:]))


def test_modes_are_put_side_by_side_in_order() -> None:
    both = pool(HIDDEN, LENGTHS, ("max", "cls"))
    torch.testing.assert_close(both, torch.tensor([[4.0, 5.0, 0.0, 1.0], [8.0, -7.0, 6.0, -7.0]]))


def test_padding_that_is_not_a_number_stays_out() -> None:
    hidden = HIDDEN.clone()
    hidden[1, 2] = float("nan")
    assert pool(hidden, LENGTHS, MODES).isfinite().all()


def test_the_input_is_left_alone() -> None:
    before = HIDDEN.clone()
    pool(HIDDEN, LENGTHS, MODES)
    assert torch.equal(HIDDEN, before)


def test_config_of_both_layouts() -> None:
    assert read_modes({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}) == ("cls",)
    assert read_modes({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}) == ("max", "mean")
    assert read_modes({"embedding_dimension": 8, "pooling_mode": "lasttoken"}) == ("lasttoken",)
    assert read_modes({"pooling_mode": ["mean", "cls"]}) == ("mean", "cls")
    assert read_modes({}) == ("mean",)


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="unknown pooling mode 'median'"):
        read_modes({"pooling_mode": "median"})
