"""Masks: how many, which, and what is seen in their place."""

from __future__ import annotations

import numpy as np
import pytest

from nlpkit.finetune.data.inputs import NO_TARGET, mask_tokens

MASK, SPECIAL = 4, 5  # ids below 5 are special
ORDINARY = np.arange(SPECIAL, 1000)


def corpus(lengths: list[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts of so many ordinary tokens between [CLS] and [SEP]."""
    rng = np.random.default_rng(0)
    texts = [np.r_[2, rng.integers(SPECIAL, 1000, n), 3] for n in lengths]
    ids = np.concatenate(texts).astype(np.int64)
    return ids, ids >= SPECIAL, np.cumsum([0, *map(len, texts)])


def masked(ids, maskable, offsets, seed=1, **options):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    return mask_tokens(ids, maskable, offsets, mask_id=MASK, ordinary=ORDINARY, rng=rng, **options)


def test_the_shares_are_those_of_bert() -> None:
    ids, maskable, offsets = corpus(np.full(2000, 50))
    inputs, targets = masked(ids, maskable, offsets)
    chosen = targets != NO_TARGET
    n = int(chosen.sum())
    assert n / maskable.sum() == pytest.approx(0.15, abs=0.0015)
    became_mask, stayed = inputs[chosen] == MASK, inputs[chosen] == ids[chosen]
    other = ~became_mask & ~stayed
    five_sd = 5 * np.sqrt(0.1 * 0.9 / n)
    assert became_mask.mean() == pytest.approx(0.8, abs=5 * np.sqrt(0.8 * 0.2 / n))
    assert stayed.mean() == pytest.approx(0.1 + 0.1 / len(ORDINARY), abs=five_sd)
    assert other.mean() == pytest.approx(0.1, abs=five_sd)
    drawn = inputs[chosen][other]
    assert drawn.min() >= SPECIAL
    counts = np.histogram(drawn, bins=5, range=(SPECIAL, 1000))[0]
    assert np.abs(counts - len(drawn) / 5).max() < 5 * np.sqrt(len(drawn) / 5)


def test_every_place_of_a_text_is_chosen_equally_often() -> None:
    ids, maskable, offsets = corpus(np.full(20_000, 7))
    _, targets = masked(ids, maskable, offsets)
    share = (targets != NO_TARGET).reshape(-1, 9).mean(0)
    assert share[[0, 8]].tolist() == [0, 0]
    assert np.abs(share[1:8] - share[1:8].mean()).max() < 5 * np.sqrt(0.15 * 0.85 / 20_000)


def test_nothing_else_changes_and_special_tokens_are_never_chosen() -> None:
    ids, maskable, offsets = corpus([0, 1, 2, 30, 400, 0])
    before = ids.copy()
    inputs, targets = masked(ids, maskable, offsets)
    chosen = targets != NO_TARGET
    assert not (chosen & ~maskable).any()
    assert (inputs[~chosen] == ids[~chosen]).all()
    assert (targets[chosen] == ids[chosen]).all()
    assert (ids == before).all()


def test_a_text_with_any_token_has_a_mask_and_an_empty_one_none() -> None:
    lengths = [0, 1, 2, 3, 6, 0, 10, 0]
    ids, maskable, offsets = corpus(lengths)
    for seed in range(20):
        _, targets = masked(ids, maskable, offsets, seed)
        counts = np.add.reduceat(targets != NO_TARGET, offsets[:-1])
        assert counts[[0, 5, 7]].tolist() == [0, 0, 0]
        assert counts[[1, 2, 3, 4]].tolist() == [1, 1, 1, 1]
        assert counts[6] in (1, 2)


def test_a_share_of_all_and_a_seed() -> None:
    ids, maskable, offsets = corpus([20, 5])
    _, targets = masked(ids, maskable, offsets, share=1.0)
    assert ((targets != NO_TARGET) == maskable).all()
    first, again, other = (masked(ids, maskable, offsets, seed)[1] for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_no_texts_at_all() -> None:
    none = np.empty(0, np.int64)
    inputs, targets = masked(none, none.astype(bool), np.zeros(1, np.int64))
    assert len(inputs) == len(targets) == 0
