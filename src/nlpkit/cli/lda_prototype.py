"""`nlpkit lda-gibbs --prototype N`: many chains, and the one most like the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.cli import console
from nlpkit.cli.lda_flags import ChainFlags, PrototypeFlags
from nlpkit.cli.lda_write import Results
from nlpkit.errors import UsageError
from nlpkit.io.runs import stopwatch
from nlpkit.topics.lda.fit import LdaOptions, make_sampler
from nlpkit.topics.lda.prototype import Prototype, Replications, run_prototype
from nlpkit.topics.lda.similarity import MEASURES

if TYPE_CHECKING:
    from nlpkit.cli.lda_work import Work
    from nlpkit.topics.lda.fit import LdaFit
    from nlpkit.topics.lda.sampler import GibbsSampler

MAX_STORED = 5000  # topics of all runs whose similarities are written out: 100 MB


@dataclass(frozen=True, slots=True)
class Compared:
    """Chains that were compared, and the measure of the similarity of topics."""

    runs: Replications
    found: Prototype
    measure: str

    @property
    def seed(self) -> int:
        """Seed of the prototype's chain."""
        return self.runs.seeds[self.found.run]

    def add_to(self, more: Results, fit: LdaFit) -> None:
        """Add S-CLOP, matches and agreement to a run whose topics are those of the prototype in another order."""
        found, R = self.found, len(self.runs.seeds)
        order, numbers = fit.order, np.arange(R)
        own = numbers == found.run
        more.tables["prototype"] = pa.table(
            {
                "run": pa.array(numbers, pa.int32()),
                "seed": pa.array(self.runs.seeds, pa.int64()),
                "mean_sclop": pa.array(found.mean_sclop),
                "log_likelihood": pa.array(self.runs.log_likelihood),
                "prototype": pa.array(own),
                "sclop": pa.array([[None if np.isnan(v) else float(v) for v in row] for row in found.sclop]),
            }
        )
        topics, others = np.repeat(np.arange(len(order)), R - 1), np.tile(numbers[~own], len(order))
        more.tables["matched_topics"] = pa.table(
            {
                "topic": pa.array(topics, pa.int32()),
                "run": pa.array(others, pa.int32()),
                "matched": pa.array(found.matches[order][:, ~own].ravel(), pa.int32()),
                "similarity": pa.array(found.match_similarity[order][:, ~own].ravel(), pa.float32()),
            }
        )
        if len(found.similarity) <= MAX_STORED:
            sizes = np.diff(found.offsets)
            more.tables["topic_similarity"] = pa.table(
                {
                    "run": pa.array(np.repeat(numbers, sizes), pa.int32()),
                    "topic": pa.array(np.concatenate([np.arange(n) for n in sizes]), pa.int32()),
                    "similarity": pa.FixedSizeListArray.from_arrays(
                        pa.array(found.similarity.ravel(), pa.float32()), len(found.similarity)
                    ),
                }
            )
        more.topic_columns["agreement"] = pa.array(found.agreement[order], pa.float32())
        more.results |= {
            "prototype_run": found.run,
            "mean_sclop": round(float(found.mean_sclop[found.run]), 6),
            "mean_sclop_of_runs": round(float(found.mean_sclop.mean()), 6),
            "agreement": round(float(found.agreement.mean()), 6),
            "chain_topics": [int(k) for k in order],
        }
        more.parameters |= {"prototype": R, "similarity": self.measure}

    def show(self) -> None:
        """Print the runs with their mean S-CLOP."""
        mean = self.found.mean_sclop
        shown = np.argsort(-mean, kind="stable")[:10]
        rows = [
            ["→" if r == self.found.run else "", str(r), str(self.runs.seeds[r]), f"{mean[r]:.3f}",
             f"{self.runs.log_likelihood[r]:,.0f}"]
            for r in shown
        ]  # fmt: skip
        columns = ["", "run", "seed", "mean S-CLOP", "log p(w, z)"]
        console.table(columns, rows, right=columns[1:], title="How much do the chains agree? 1 = the same topics.")
        reporting.note(
            f"run {self.found.run} is the prototype: mean S-CLOP {mean.max():.3f} with the others, mean of all runs "
            f"{mean.mean():.3f}, worst {mean.min():.3f} ({self.measure} similarity of topics)"
        )


def check_prototype(flags: PrototypeFlags, chain: ChainFlags) -> None:
    """Refuse options that do not go with several chains, before any work is done.

    Raises:
        UsageError: there is one, or the measure is unknown.
    """
    if flags.similarity not in MEASURES:
        raise UsageError(f"--similarity is one of {', '.join(MEASURES)}, not '{flags.similarity}'")
    for name, used in {
        "--optimize-interval": chain.optimize_interval > 0,
        "--early-stop": chain.early_stop is not None,
        "--resume": chain.resume,
        "--checkpoint-every": chain.checkpoint_every is not None,
    }.items():
        if used:
            raise UsageError(
                f"{name} and --prototype do not go together: its chains have equal priors and lengths, and run at once"
            )


def choose_chain(work: Work, options: LdaOptions, flags: PrototypeFlags) -> Compared:
    """Run the chains and compare their topics. Raises UsageError as `check_prototype`."""
    check_prototype(flags, work.chain)
    assert flags.prototype is not None
    tokens = work.corpus.tokens

    def chain(seed: int) -> GibbsSampler:
        return make_sampler(tokens, replace(options, seed=seed, threads=1), work.guidance, work.weights)

    with stopwatch(work.seconds, "chains"), reporting.progress("chains", 100, percent=True) as update:
        runs, found = run_prototype(
            chain,
            runs=flags.prototype,
            sweeps=options.sweeps,
            seed=options.seed,
            threads=options.threads,
            measure=MEASURES[flags.similarity],
            progress=lambda share: update(int(100 * share)),
        )
    return Compared(runs, found, flags.similarity)
