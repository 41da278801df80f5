"""Names of trends: how often they are false on permuted dates, and how often planted trends, seasons and bursts get theirs.

python tests/benchmarks/bench_signals.py permuted RUN:date:month RUN:date:month@main … [--permutations 200]
python tests/benchmarks/bench_signals.py planted [--repeats 200]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import nlpkit as nk
from nlpkit.topics.base.tables import read_membership
from nlpkit.topics.over_time.options import SignalOptions
from nlpkit.topics.over_time.prevalence import CellSums, sum_cells
from nlpkit.topics.over_time.signal_run import cycle_of
from nlpkit.topics.over_time.signals import CALLED, Signals, burst_null, signals

LEVEL = 0.95
TESTS = ("trend", "season", "burst")


def permuted(run: str, over: str, permutations: int) -> str:
    """Return a row of the table: what the tests find where dates are permuted over the documents of a run."""
    over, _, count = over.partition("@")
    shares = nk.topics(run, over=over, count=count or "auto")
    membership = read_membership(shares.run, mixed=shares.mixed)
    cells, cycle, rng = shares.over_time, cycle_of(shares, SignalOptions()), np.random.default_rng(1)
    assert cells is not None
    null = burst_null(cells.n, cycle, rng)
    rows = np.flatnonzero(shares.cell_of >= 0)
    found = [signals(cells, cycle, null, level=LEVEL)]
    for _ in range(permutations):
        periods = shares.cell_of.copy()
        periods[rows] = rng.permutation(periods[rows])
        found.append(signals(sum_cells(membership, periods.astype(np.int32), len(cells.n)), cycle, null, level=LEVEL))
    real, chance = found[0], found[1:]
    kind = "mixed" if shares.mixed else "main"
    K = len(shares.labels)
    parts = [f"{Path(run).name}, {over}, {kind}", f"{len(rows):,}", str(int((cells.n > 0).sum())), str(K)]
    parts += [
        f"{np.mean([one.called.mean() for one in chance]):.2%}",
        f"{np.mean([one.called.any() for one in chance]):.1%}",
    ]
    parts += [single(chance, name) for name in TESTS]
    return " | ".join([*parts, f"{real.called.mean():.0%}"])


def single(found: list[Signals], name: str) -> str:
    """Return the share of p-values of one test of at most 0.05, and of at most 0.01, "–" where it is nowhere done."""
    p = np.concatenate([getattr(one, f"p_{name}") for one in found])
    p = p[~np.isnan(p)]
    return f"{np.mean(p <= 0.05):.1%}, {np.mean(p <= 0.01):.2%}" if len(p) else "–"


def series(T: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what is planted: a name, and the odds of the planted topic in each period (T,) by those without it."""
    t = np.arange(T)
    yield "nothing", np.ones(T)
    for factor in (1.5, 2, 3):
        yield f"rises to {factor} times its odds", factor ** (t / (T - 1) - 0.5)
    for factor in (1.5, 2, 3):
        yield f"falls to 1/{factor} of its odds", factor ** -(t / (T - 1) - 0.5)
    for ratio in (1.5, 2, 3):
        yield f"season, height {ratio} times the low", np.exp(np.log(ratio) / 2 * np.cos(2 * np.pi * (t - 3) / 12))
    yield "season, one month of twelve, 3 times", np.where(t % 12 == 5, 3.0, 1.0)
    for length, factor in ((1, 3), (1, 5), (3, 2), (3, 3), (9, 1.5), (9, 2)):
        yield f"burst of {length}, {factor} times", np.where((t >= T // 2) & (t < T // 2 + length), float(factor), 1.0)
    yield "burst of 6 at the end, 2 times", np.where(t >= T - 6, 2.0, 1.0)


def planted(T: int, documents: int, share: float, repeats: int, rng: np.random.Generator) -> None:
    """Print how often a planted topic among 20 gets each name."""
    names = [*CALLED, "steady or noise"]
    print(f"\n{T} months of {documents} documents; planted topic {share:.0%}\n\n| planted | {' | '.join(names)} |")
    for what, odds in series(T):
        print(
            f"| {what} | "
            + " | ".join(counted([one(T, documents, share, odds, rng) for _ in range(repeats)], names))
            + " |"
        )


def noises(T: int, documents: int, repeats: int, rng: np.random.Generator) -> None:
    """Print how often topics without trend, season or burst are named where their months are not drawn independently."""
    for what in (
        "independent",
        "φ = 2, months independent",
        "φ = 4, months independent",
        "φ = 2, AR(1) 0.5",
        "φ = 4, AR(1) 0.8",
    ):
        spread = 0.0 if what == "independent" else float(what[4]) - 1
        rho = float(what[-3:]) if "AR" in what else 0.0
        named = []
        for _ in range(repeats):
            base = np.full(20, 0.05)
            wave = rng.standard_normal((T, 20))
            for t in range(1, T):
                wave[t] = rho * wave[t - 1] + np.sqrt(1 - rho**2) * wave[t]
            odds = base * np.exp(wave * np.sqrt(spread / (documents * 0.05)))
            found = judged(np.stack([rng.multinomial(documents, p / p.sum()) for p in odds]), documents, rng)
            named.append(found.called.mean())
        print(f"| {what} | {np.mean(named):.1%} | {np.mean(np.array(named) > 0):.0%} |")


def one(T: int, documents: int, share: float, odds: np.ndarray, rng: np.random.Generator) -> str:
    """Return the name of the planted topic of one simulation, of 20 topics that share the rest."""
    rest = rng.dirichlet(np.full(19, 5.0)) * (1 - share)
    weights = np.hstack([share * odds[:, None], np.broadcast_to(rest, (T, 19))])
    weights /= weights.sum(axis=1, keepdims=True)
    return str(judged(np.stack([rng.multinomial(documents, p) for p in weights]), documents, rng).name[0])


_nulls: dict[tuple[int, int], object] = {}


def judged(counts: np.ndarray, documents: int, rng: np.random.Generator) -> Signals:
    """Return the signals of counts (T, K)."""
    T = len(counts)
    n = np.full(T, documents, np.int64)
    if (T, documents) not in _nulls:
        _nulls[T, documents] = burst_null(n, 12.0, rng)
    sums = np.hstack([counts, np.zeros((T, 1))]).astype(np.float64)
    return signals(CellSums(n, sums, sums, False), 12.0, _nulls[T, documents], level=LEVEL)  # type: ignore[arg-type]


def counted(found: list[str], names: list[str]) -> list[str]:
    """Return the share of each name among those found."""
    found = [name if name in CALLED else names[-1] for name in found]
    return [f"{found.count(name) / len(found):.0%}" for name in names]


def main() -> None:
    """Print the table that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=("permuted", "planted"))
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--permutations", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=200)
    given = parser.parse_args()
    if given.table == "permuted":
        for run in given.runs:
            path, _, over = run.partition(":")
            print("| " + permuted(path, over, given.permutations) + " |", flush=True)
        return
    rng = np.random.default_rng(1)
    planted(48, 100, 0.05, given.repeats, rng)
    planted(24, 100, 0.05, given.repeats, rng)
    noises(48, 100, given.repeats, rng)


if __name__ == "__main__":
    main()
