"""The commands of the models, made of what each declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from nlpkit.embed.options import EncoderOptions
from nlpkit.platform import reporting
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.models import TopicModel, resolved
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.base.options import CheckpointOptions, TermOptions


def model_command(declared: TopicModel) -> Callable[..., None]:
    """Return the function of the command that fits a model, as `nlpkit.platform.cli.options.command` takes it."""
    if declared.command:
        function: Callable[..., None] = resolved(declared.command)
        return function
    records = {"inputs": Inputs, "out": OutputFlags, "model": resolved(declared.options), "terms": TermOptions}
    records |= {"checkpoints": CheckpointOptions} if declared.keeps else {}
    records |= {"tokens": TopicTokenOptions}
    records |= {"encoder": EncoderOptions} if declared.embeddings else {}
    records |= {"read": ReadOptions, "run": RunFlags}

    def fit(**values: Any) -> None:
        fit_mixture(declared, **values)

    kind = inspect.Parameter.KEYWORD_ONLY
    fit.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in records])  # type: ignore[attr-defined]
    fit.__annotations__ = records
    fit.__doc__ = declared.command_help
    return fit


def fit_mixture(
    declared: TopicModel,
    *,
    inputs: list[str],
    out: OutputFlags,
    model: Any,
    terms: TermOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
    checkpoints: CheckpointOptions | None = None,
    **encoder: EncoderOptions,
) -> None:
    """Fit a model to the inputs, write its run directory and show it; or only say how long it would take.

    Args:
        checkpoints: None for models whose fits take seconds and are not kept before they are done. encoder: of models that have one.
    """
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.topics.base.run import fit_topics

    target = out.run_target(inputs, declared.kind)
    corpus = read_corpus(*inputs, options=read, beside=target)
    if run.dry_run:
        _plan(declared, corpus, model, tokens, encoder.get("encoder"), run)
        return
    fit = resolved(declared.fit) if declared.fit else partial(fit_topics, declared.kind)
    fitted = fit(
        corpus, options=model, terms=terms, tokens=tokens, execution=run, checkpoints=checkpoints,
        checkpoint=None if checkpoints is None else target, force=out.force, **encoder,
    )  # fmt: skip
    fitted.save(target, force=out.force)
    resolved(declared.show)(fitted, target)


def _plan(
    declared: TopicModel,
    corpus: Any,
    model: Any,
    tokens: TopicTokenOptions,
    encoder: EncoderOptions | None,
    run: RunFlags,
) -> None:
    """Say how long a fit takes."""
    from nlpkit.text.estimate import estimate
    from nlpkit.topics.base.run import number_of_topics

    exactly = 0 if declared.number is not None else number_of_topics(model).exactly
    console.plan(
        estimate(
            corpus, declared.kind if declared.costs else "lda-gibbs", tokens=tokens, column=getattr(model, "content", None),
            encoder=encoder if getattr(model, "embeds", False) else None, every=getattr(model, "every", None), k=exactly,
            iterations=model.iterations, threads=run.n_threads(),
        )
    )  # fmt: skip
    if exactly is None:
        reporting.note(f"the time is for one fit; `k={model.k}` needs at least one fit for each number it tries")
