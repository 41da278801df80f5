"""How often 95 % intervals of `nlpkit scale` hold the position, on counts that are drawn from a Wordfish model.

    python tests/benchmarks/scale_coverage.py [--words 300] [--texts 20] [--length 2000] [--corpora 50]

The position of wordfish and lss is that of the model, with mean 0 and standard deviation 1; that of wordscores and ca is what they give
for the expected counts. wordscores has three reference texts, which do not count; lss has five seed words at each end.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from nlpkit.platform.types import CsrMatrix, FloatArray
from nlpkit.scale import scores
from nlpkit.scale.wordfish import wordfish

LARGE = 1e6  # counts of a word that are as good as its probability


def counts_of(values: FloatArray) -> CsrMatrix:
    return sparse.csr_array(values.astype(np.float64))


def standard(values: FloatArray) -> FloatArray:
    return np.asarray((values - values.mean()) / values.std(ddof=1))


def errors(
    y: FloatArray, p: FloatArray, theta: FloatArray, beta: FloatArray
) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Yield the method, the differences of its positions from the true ones, and their standard errors."""
    D, length = len(y), y[0].sum()
    there = y.sum(axis=0) > 0
    seen, expected = counts_of(y[:, there]), counts_of(p * length)

    def turned(position: FloatArray) -> FloatArray:
        return np.asarray(position * np.sign(np.corrcoef(position, theta)[0, 1]))

    fit = wordfish(seen)
    yield "wordfish", turned(fit.theta) - standard(theta), fit.se
    references = np.array([0, D // 2, D - 1])
    truth = p @ scores.wordscores(counts_of(p[references] * LARGE), theta[references])
    mean, se, _ = scores.mean_scores(seen, scores.wordscores(counts_of(y[references][:, there]), theta[references]))
    others = np.setdiff1d(np.arange(D), references)
    yield "wordscores", (mean - truth)[others], se[others]
    space = scores.correspondence(seen, 1, seed=1)
    _, se, _ = scores.mean_scores(seen, space.words[:, 0])
    of_expected = scores.correspondence(expected, 1, seed=1).documents[:, 0]
    yield "ca", turned(space.documents[:, 0]) - turned(of_expected), se / space.singular_values[0]
    frequent = np.argsort(-p.sum(axis=0))[: p.shape[1] // 3]
    ordered = frequent[np.argsort(beta[frequent])]
    seeds = {int(v): sign / 5 for sign, end in ((-1.0, ordered[:5]), (1.0, ordered[-5:])) for v in end}
    weight, _ = scores.polarity(counts_of(y), seeds, min(100, D // 2), seed=1)
    mean, se, _ = scores.mean_scores(counts_of(y), weight)
    yield "lss", standard(mean) - standard(theta), se / mean.std(ddof=1)


def main() -> None:
    """Print the coverage of each method, and how large its errors are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, usual in (("words", 300), ("texts", 20), ("length", 2000), ("corpora", 50)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    psi, beta = rng.normal(0, 1.2, given.words), rng.normal(0, 0.5, given.words)
    theta = np.linspace(-1.5, 1.5, given.texts)
    p = np.exp(psi + np.outer(theta, beta))
    p /= p.sum(axis=1, keepdims=True)
    found: dict[str, list[tuple[FloatArray, FloatArray]]] = {}
    for _ in range(given.corpora):
        y = np.stack([rng.multinomial(given.length, row) for row in p])
        for method, error, se in errors(y, p, theta, beta):
            found.setdefault(method, []).append((error, se))
    print(f"{given.words:,} words, {given.texts} texts of {given.length:,}, {given.corpora} corpora")
    for method, rows in found.items():
        error, se = (np.concatenate(part) for part in zip(*rows, strict=True))
        print(
            f"{method:12} coverage {(np.abs(error) < 1.96 * se).mean():6.1%}, root mean square {np.sqrt((error**2).mean()):.4f}"
        )


if __name__ == "__main__":
    main()
