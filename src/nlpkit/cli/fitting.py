"""What the commands that fit one kind of mixture model have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nlpkit import reporting
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.cli.options import OutputFlags, RunFlags
    from nlpkit.io.read_options import ReadOptions
    from nlpkit.text.options import TopicTokenOptions
    from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions


def fit_mixture(
    kind: str,
    inputs: list[str],
    out: OutputFlags,
    model: Any,
    terms: TermOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
    checkpoints: CheckpointOptions | None = None,
    **further: Any,
) -> None:
    """Fit a model to the inputs, write its run directory and show it; or only say how long it would take.

    Args:
        checkpoints: None for models whose fits take seconds and are not kept before they are done. further: of fit_topics.
    """
    from nlpkit.cli.render.mixtures import show_mixture
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.costs import COSTS
    from nlpkit.workflows.estimate import estimate
    from nlpkit.workflows.mixtures import fit_topics, number_of_topics

    target = out.run_target(inputs, kind)
    corpus = read_corpus(*inputs, options=read, beside=target)
    if run.dry_run:
        column = getattr(model, "content", None)
        exactly = 0 if kind == "labeled-lda" else number_of_topics(model).exactly
        encoder = further.get("encoder") if getattr(model, "embeds", False) else None
        name = kind if kind in COSTS else "lda-gibbs"
        console.plan(
            estimate(
                corpus, name, tokens=tokens, encoder=encoder, column=column, k=exactly, iterations=model.iterations,
                threads=run.n_threads(),
            )
        )  # fmt: skip
        if exactly is None:
            reporting.note(f"the time is for one fit; `k={model.k}` needs at least one fit for each number it tries")
        return
    fitted = fit_topics(
        kind, corpus, model, terms=terms, tokens=tokens, execution=run, checkpoints=checkpoints,
        checkpoint=None if checkpoints is None else target, force=out.force, **further,
    )  # fmt: skip
    fitted.save(target, force=out.force)
    show_mixture(fitted, target)
