"""LDA models on the screen: how many topics, how much chains agree, the topics, and what to type next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.render.mixtures import show_choice, show_further, show_result, show_topics

if TYPE_CHECKING:
    from nlpkit.topics.lda.chains import ComparedChains
    from nlpkit.workflows.lda_model import FittedLda

TERMS_SHOWN = 8
TEXT_WIDTH = 60


def show_lda(model: FittedLda, target: Path) -> None:
    """Print a model that was written: the result as JSON, or tables and what to type next."""
    if console.settings.json:
        console.emit_json({"run": str(target), **model.summary, "topics": model.topics.to_pylist()})
        return
    assert model.report is not None
    if model.report.choice is not None:
        show_choice(model.report.choice)
    if model.report.prototype is not None:
        show_prototype(model.report.prototype)
    show_topics(model.topics, model.documents.num_rows)
    show_next(model, target)


def show_prototype(compared: ComparedChains) -> None:
    """Print the chains with their mean S-CLOP."""
    runs, prototype = compared.runs, compared.prototype
    mean = prototype.mean_sclop
    shown = np.argsort(-mean, kind="stable")[:10]
    rows = [
        [
            "→" if r == prototype.run else "",
            str(r),
            str(runs.seeds[r]),
            f"{mean[r]:.3f}",
            f"{runs.log_likelihood[r]:,.0f}",
        ]
        for r in shown
    ]
    columns = ["", "run", "seed", "mean S-CLOP", "log p(w, z)"]
    console.table(columns, rows, right=columns[1:], title="How much do the chains agree? 1 = the same topics.")
    reporting.note(
        f"run {prototype.run} is the prototype: mean S-CLOP {mean.max():.3f} with the others, mean of all runs "
        f"{mean.mean():.3f}, worst {mean.min():.3f} ({compared.measure} similarity of topics)"
    )


def show_next(model: FittedLda, target: Path) -> None:
    """Say how the fit went, what was written, and what to type next."""
    report, run = model.report, model.run
    assert report is not None
    fit, mixture = report.fit, model.model
    if fit.stopped is not None:
        reporting.note(f"the chain had settled after {wording.counted(fit.stopped, 'sweep')} (--early-stop)")
    averaged = f" (counts: mean of {fit.samples} states)" if fit.samples > 1 else ""
    went = f"log-likelihood {fit.log_likelihood:.4f} a token{averaged}, alpha sums to {mixture.alpha.sum():.4g}, eta {mixture.eta:.4g} each"
    show_result(run, sum(report.seconds.values()), went)  # type: ignore[arg-type]
    show_further(model, report.tokens, target)
