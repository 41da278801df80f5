"""Linear-chain conditional random field (Lafferty, McCallum & Pereira 2001) over the labels of the words of a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from nlpkit.platform.types import LongArray

BARRED = -1e4  # score of a transition that must not be; exp of it is 0 in float32


class LinearChainCRF(nn.Module):  # type: ignore[misc]
    """Probabilities of label sequences y (T,) of a text whose words have the scores e (T, J).

        s(e, y) = start[y_1] + Σ_t e[t, y_t] + Σ_t transitions[y_t-1, y_t] + end[y_T];   p(y | e) = exp s(e, y) / Z(e)

    All sums are in logarithms. Texts are padded: emissions (B, T, J), mask (B, T) bool with the words of each text first; the scores of
    padding are never looked at. barred_start (J,), barred (J, J): where and after what a label must not stand; sequences with such
    labels are not among those of Z. Equal to pytorch-crf 0.7.2, which bars none. Weights start at 0: the softmax of each word.
    """

    def __init__(self, n_labels: int, *, barred_start: Tensor | None = None, barred: Tensor | None = None) -> None:
        super().__init__()
        J = n_labels
        self.start = nn.Parameter(torch.zeros(J))
        self.transitions = nn.Parameter(torch.zeros(J, J))
        self.end = nn.Parameter(torch.zeros(J))
        none = torch.zeros(J, J, dtype=torch.bool)
        self.register_buffer("barred_start", none[0] if barred_start is None else barred_start, persistent=False)
        self.register_buffer("barred", none if barred is None else barred, persistent=False)

    def log_likelihood(self, emissions: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        """Return log p(y | e) of each text (B,); 0 for one without words.

        Args:
            labels: (B, T) int64, below 0 for a word whose label is not known: then of all sequences with the known labels (Tsuboi et
                al. 2008, eq. 3).
        """
        others = torch.arange(emissions.shape[-1], device=labels.device) != labels[..., None]
        known = (labels >= 0) & mask
        return self.log_partition(emissions.masked_fill(others & known[..., None], BARRED), mask) - self.log_partition(
            emissions, mask
        )

    def log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Return log Z of each text (B,)."""
        return torch.logsumexp(self._forward(emissions, mask)[-1] + self.end, dim=-1)

    def log_marginals(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Return log p(y_t = j | e) of each word (B, T, J), by the forward and the backward algorithm."""
        forward = torch.stack(self._forward(emissions, mask), dim=1)
        _, transitions = self._scores()
        beta = self.end.expand_as(emissions[:, 0])
        backward = [beta]
        for t in range(emissions.shape[1] - 1, 0, -1):
            before = torch.logsumexp(transitions + (emissions[:, t] + beta)[:, None, :], dim=-1)
            beta = torch.where(mask[:, t, None], before, beta)
            backward.append(beta)
        joint = forward + torch.stack(backward[::-1], dim=1)
        return joint - torch.logsumexp(joint, dim=-1, keepdim=True)

    def viterbi(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Return the labels (B, T) int64 of the most probable sequence of each text, -1 for padding; of equal ones the first."""
        start, transitions = self._scores()
        best = start + emissions[:, 0]
        came_from = []
        for t in range(1, emissions.shape[1]):
            score, label = (best[:, :, None] + transitions).max(dim=1)
            best = torch.where(mask[:, t, None], score + emissions[:, t], best)
            came_from.append(label)
        last = (best + self.end).argmax(dim=-1)
        labels = [last]
        for t in range(emissions.shape[1] - 1, 0, -1):
            before = came_from[t - 1].gather(1, last[:, None])[:, 0]
            last = torch.where(mask[:, t], before, last)
            labels.append(last)
        return torch.stack(labels[::-1], dim=1).masked_fill(~mask, -1)

    def _forward(self, emissions: Tensor, mask: Tensor) -> list[Tensor]:
        """Return alpha_t (B, J) of each place: log Σ exp s over the beginnings of sequences that end there in label j."""
        start, transitions = self._scores()
        alpha = start + emissions[:, 0]
        alphas = [alpha]
        for t in range(1, emissions.shape[1]):
            after = torch.logsumexp(alpha[:, :, None] + transitions, dim=1) + emissions[:, t]
            alpha = torch.where(mask[:, t, None], after, alpha)
            alphas.append(alpha)
        return alphas

    def _scores(self) -> tuple[Tensor, Tensor]:
        return self.start.masked_fill(self.barred_start, BARRED), self.transitions.masked_fill(self.barred, BARRED)


def bio_bars(names: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Return what BIO bars (Ramshaw & Marcus 1995; IOB2): I-X at the start (J,), and after all but B-X and I-X (J, J), bool."""
    inside = torch.tensor([name.startswith("I-") for name in names])
    goes_on = torch.tensor([[a[:2] in ("B-", "I-") and a[2:] == b[2:] for b in names] for a in names])
    return inside, inside & ~goes_on


def breaks_bio(labels: Sequence[str | None]) -> int | None:
    """Return the place of the first I-X of a text that does not follow B-X or I-X, None where there is none.

    After a word without a label any may stand.
    """
    before: str | None = "O"
    for i, label in enumerate(labels):
        if (
            label is not None
            and label.startswith("I-")
            and before is not None
            and before not in (f"B-{label[2:]}", label)
        ):
            return i
        before = label
    return None


def of_words(logits: Tensor, places: Sequence[LongArray]) -> tuple[Tensor, Tensor]:
    """Return the scores of words as emissions (B, W, J) and mask (B, W), from those of tokens (B, T, J).

    Args:
        places: of each text (W_b,) the token of each word, -1 for a word without one, whose scores are 0: its neighbours decide.
    """
    width = max(1, *map(len, places))
    at, mask = np.full((len(places), width), -1, np.int64), np.zeros((len(places), width), bool)
    for row, each in enumerate(places):
        at[row, : len(each)], mask[row, : len(each)] = each, True
    index = torch.from_numpy(at).to(logits.device)
    words = logits.gather(1, index.clamp(min=0)[..., None].expand(-1, -1, logits.shape[-1]))
    return words.masked_fill((index < 0)[..., None], 0.0), torch.from_numpy(mask).to(logits.device)
