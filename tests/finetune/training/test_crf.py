"""The CRF against all sequences of labels, against pytorch-crf, and where padding, masks and BIO bars bite."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nlpkit.finetune.data.inputs import word_places
from nlpkit.finetune.tasks import IGNORED, FinetuneTask, Targets
from nlpkit.finetune.training.crf import LinearChainCRF, bio_bars, breaks_bio, of_words
from nlpkit.metrics.labels import spans
from tests.finetune.eight import one_thread  # noqa: F401

BIO = ("B-LOC", "B-PER", "I-LOC", "I-PER", "O")


def crf_of(J: int, *, names: tuple[str, ...] = (), seed: int = 0) -> LinearChainCRF:
    bars = bio_bars(names) if names else (None, None)
    crf = LinearChainCRF(J, barred_start=bars[0], barred=bars[1]).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_(generator=generator)
    return crf


def texts_of(lengths: list[int], J: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    width = max(1, *lengths)
    emissions = torch.randn(len(lengths), width, J, generator=generator, dtype=torch.float64)
    return emissions, torch.arange(width) < torch.tensor(lengths)[:, None]


def sequences(crf: LinearChainCRF, scores: Tensor, names: tuple[str, ...] = ()) -> dict[tuple[int, ...], float]:
    """Return s(e, y) of every sequence of a text (T, J), by its definition; with names only of those that BIO allows."""
    found = {}
    start, end, transitions = (p.detach() for p in (crf.start, crf.end, crf.transitions))
    for y in product(range(scores.shape[1]), repeat=len(scores)):
        if names and breaks_bio([names[j] for j in y]) is not None:
            continue
        total = start[y[0]] + end[y[-1]] + sum(scores[t, j] for t, j in enumerate(y))
        total = total + sum(transitions[a, b] for a, b in pairwise(y))
        found[y] = float(total)
    return found


@pytest.mark.parametrize("names", [(), BIO])
def test_partition_marginals_and_viterbi_are_those_of_all_sequences(names: tuple[str, ...]) -> None:
    J, lengths = 5, [4, 1, 3, 5]
    crf = crf_of(J, names=names)
    emissions, mask = texts_of(lengths, J)
    with torch.no_grad():
        log_z, marginals = crf.log_partition(emissions, mask), crf.log_marginals(emissions, mask).exp()
        best = crf.viterbi(emissions, mask)
    for i, n in enumerate(lengths):
        every = sequences(crf, emissions[i, :n], names)
        values = np.array(list(every.values()))
        expected = values.max() + np.log(np.exp(values - values.max()).sum())
        assert float(log_z[i]) == pytest.approx(expected, abs=1e-9)
        assert tuple(best[i, :n].tolist()) == max(every, key=lambda y: every[y])
        assert best[i, n:].tolist() == [-1] * (max(lengths) - n)
        p = np.exp(values - expected)
        for t, j in product(range(n), range(J)):
            by_hand = sum(share for y, share in zip(every, p, strict=True) if y[t] == j)
            assert float(marginals[i, t, j]) == pytest.approx(by_hand, abs=1e-9)


def test_bars_are_needed_for_the_best_sequence() -> None:
    found = {}
    for names in ((), BIO):
        crf = LinearChainCRF(5, **dict(zip(("barred_start", "barred"), bio_bars(BIO), strict=True)) if names else {})
        emissions = torch.tensor([[[0.0, 0, 0, 0, 1], [0, 0, 0, 5, 0], [0, 0, 4, 0, 1]]])
        best = crf.viterbi(emissions, torch.ones(1, 3, dtype=torch.bool))[0].tolist()
        found[bool(names)] = [BIO[j] for j in best]
    assert found[False] == ["O", "I-PER", "I-LOC"]
    assert breaks_bio(found[True]) is None
    assert found[True] == ["B-PER", "I-PER", "O"]  # 6; with I-LOC at most 5


@pytest.mark.parametrize("seed", range(3))
def test_it_is_pytorch_crf(seed: int) -> None:
    torchcrf = pytest.importorskip("torchcrf")
    J, lengths = 4, [6, 2, 5, 1]
    crf, other = crf_of(J, seed=seed), torchcrf.CRF(J, batch_first=True).double()
    with torch.no_grad():
        for mine, theirs in (
            ("start", "start_transitions"),
            ("end", "end_transitions"),
            ("transitions", "transitions"),
        ):
            getattr(other, theirs).copy_(getattr(crf, mine))
    emissions, mask = texts_of(lengths, J, seed)
    labels = torch.randint(0, J, mask.shape, generator=torch.Generator().manual_seed(seed))
    both = [emissions.clone().requires_grad_() for _ in range(2)]
    mine, theirs = crf.log_likelihood(both[0], labels, mask), other(both[1], labels, mask, reduction="none")
    torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=0)
    mine.sum().backward()
    theirs.sum().backward()
    torch.testing.assert_close(both[0].grad, both[1].grad, atol=1e-6, rtol=0)
    torch.testing.assert_close(crf.transitions.grad, other.transitions.grad, atol=1e-6, rtol=0)
    decoded = [row[:n].tolist() for row, n in zip(crf.viterbi(emissions, mask), lengths, strict=True)]
    assert decoded == other.decode(emissions, mask)


def test_padding_changes_nothing() -> None:
    crf = crf_of(3, seed=4)
    emissions, mask = texts_of([2, 5], 3)
    labels = torch.tensor([[0, 2, 1, 1, 1], [1, 1, 0, 2, 0]])
    whole = crf.log_likelihood(emissions, labels, mask)
    noisy = emissions.masked_fill(~mask[..., None], 1e6)
    torch.testing.assert_close(crf.log_likelihood(noisy, labels, mask), whole)
    torch.testing.assert_close(crf.log_likelihood(emissions[:1, :2], labels[:1, :2], mask[:1, :2]), whole[:1])
    assert crf.viterbi(noisy, mask).tolist() == crf.viterbi(emissions, mask).tolist()
    gradient = torch.autograd.grad(whole.sum(), crf.end)[0]
    assert torch.isfinite(gradient).all()


def test_labels_that_are_not_known_are_summed_over() -> None:
    crf = crf_of(3, seed=1)
    emissions, mask = texts_of([3, 0], 3)
    labels = torch.tensor([[2, IGNORED, 0], [IGNORED] * 3])
    found = crf.log_likelihood(emissions, labels, mask)
    each = [crf.log_likelihood(emissions[:1], torch.tensor([[2, j, 0]]), mask[:1]) for j in range(3)]
    torch.testing.assert_close(found[:1], torch.stack(each).logsumexp(dim=0))
    assert float(found[1].detach()) == 0  # no word: nothing to be known


def test_at_its_start_the_loss_is_the_cross_entropy_of_the_words() -> None:
    rng = np.random.default_rng(0)
    logits = torch.from_numpy(rng.normal(size=(2, 6, 3)).astype(np.float32))
    words = [np.array([-1, 0, 0, 1, 2, -1], np.int32), np.array([-1, 0, 1, -1, -1, -1], np.int32)]
    by_token = [
        np.array([IGNORED, 2, IGNORED, 0, 1, IGNORED]),
        np.array([IGNORED, 1, IGNORED, IGNORED, IGNORED, IGNORED]),
    ]
    by_word = [np.stack([word_places(w), labels]) for w, labels in zip(words, ([2, 0, 1], [1, IGNORED]), strict=True)]
    plain = Targets(FinetuneTask("tokens", ("a", "b", "c")), by_token)
    sequence = Targets(FinetuneTask("tokens", ("a", "b", "c"), crf=True), by_word, None, LinearChainCRF(3))
    rows = np.array([0, 1])
    assert sequence.weight(rows) == plain.weight(rows) == 4
    torch.testing.assert_close(sequence.loss(logits, rows), plain.loss(logits, rows))


def test_a_word_without_a_token_is_decided_by_its_neighbours() -> None:
    places = word_places(np.array([-1, 0, 2, 2, -1], np.int32))
    assert places.tolist() == [1, -1, 2]
    logits = torch.arange(10.0).reshape(1, 5, 2)
    emissions, mask = of_words(logits, [places])
    assert emissions[0].tolist() == [[2.0, 3.0], [0.0, 0.0], [4.0, 5.0]]
    assert mask.tolist() == [[True, True, True]]
    empty, none = of_words(logits, [np.zeros(0, np.int64)])
    assert (empty.shape, none.any().item()) == ((1, 1, 2), False)


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        (["O", "B-X", "I-X", "I-X"], None),
        (["I-X"], 0),
        (["B-X", "O", "I-X"], 2),
        (["B-X", "I-Y"], 1),
        ([None, "I-X"], None),
        ([], None),
    ],
)
def test_labels_that_break_bio(labels: list[str | None], place: int | None) -> None:
    assert breaks_bio(labels) == place


def test_spans_are_those_of_seqeval() -> None:
    entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities
    rng = np.random.default_rng(1)
    for _ in range(300):
        labels = [BIO[j] for j in rng.integers(0, 5, rng.integers(0, 8))]
        expected = {(kind, start, end + 1) for kind, start, end in entities(labels)}
        assert spans.spans_of(labels) == expected, labels


def test_a_long_text_of_large_scores_stays_finite() -> None:
    crf: Any = crf_of(5, names=BIO, seed=2).float()
    emissions = 30 * torch.randn(1, 600, 5, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(1, 600, dtype=torch.bool)
    best = crf.viterbi(emissions, mask)
    assert breaks_bio([BIO[j] for j in best[0].tolist()]) is None
    likelihood = crf.log_likelihood(emissions, best, mask)
    likelihood.sum().backward()
    assert float(likelihood.detach()) <= 0.01
    assert torch.isfinite(crf.transitions.grad).all()
