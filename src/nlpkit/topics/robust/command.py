"""nlpkit robust: the topics that come back over many runs."""

from __future__ import annotations

from pathlib import Path

from nlpkit.embed.options import EncoderOptions
from nlpkit.platform import wording
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.models import MODELS, resolved
from nlpkit.text.options import TextOptions
from nlpkit.topics.base.options import TermOptions
from nlpkit.topics.robust.options import RobustOptions, model_names

FITS = ".fits"  # ending of the directory of the fits, beside the run


def robust_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    options: RobustOptions,
    terms: TermOptions,
    tokens: TextOptions,
    encoder: EncoderOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Find topics that come back over many runs.

    \b
    Examples:
      nlpkit robust data/samples/news.jsonl --models nmf --k 4:12:4 --seeds 2 -o robust/
      nlpkit robust data/samples/news.jsonl --models nmf --k 6 --seeds 1 --by label -o segments/
      nlpkit robust robust.fits/runs/nmf-k4-s42/ robust.fits/runs/nmf-k8-s42/ -o again/

    The documents are tokenised (and embedded) once. Each model is fitted with each number of topics and seed. The topics of all
    fits are clustered by their words and documents. A cluster that came back in at least half of the runs (--min-runs) is a
    robust topic (Wilkerson and Casas 2017). nlpkit prints how often each came back, and its share of the corpus and of the values
    of --shares-by, with the range over the runs. What did not come back is the last topic, 'not robust'.

    --by COLUMN fits each value of a column separately, and matches the topics by their words: shared topics and topics of one
    value. The inputs may also be runs of any topic models on the same documents, or the directory of `nlpkit compare`.

    The command writes a run directory as other topic models do, with the tables robust_runs, robust_members, robust_terms,
    robust_shares and robust_run_shares. Without -o, it is <input>.robust/ in the current directory. The fits stay in
    <run>.fits/, and --resume continues them, also with more models, numbers and seeds.
    """
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.topics.robust.run import robust_topics, runs_in
    from nlpkit.topics.robust.views import robust_blocks

    target = out.run_target(inputs, "robust")
    runs = runs_in(inputs)
    if run.dry_run:
        _plan(inputs, runs is not None, options, tokens, read, run)
        return
    data = read_corpus(*inputs, options=read, beside=target) if runs is None else runs
    fits = None if runs is not None else fits_beside(target)
    model = robust_topics(
        data,
        options=options,
        terms=terms,
        tokens=tokens,
        encoder=encoder,
        read=read,
        execution=run,
        fits=fits,
        force=out.force,
    )
    model.save(target, force=out.force)
    rows = {
        name: table.to_pylist()
        for name, table in model.tables().items()
        if name in ("topics", "robust_runs", "robust_shares")
    }
    console.say(robust_blocks(model, target), lambda: {"run": str(target), **model.summary, **rows})


def fits_beside(target: Path) -> Path:
    """Return the directory of the fits of a run."""
    return target.with_name(target.name + FITS)


def _plan(
    inputs: list[str], are_runs: bool, options: RobustOptions, tokens: TextOptions, read: ReadOptions, run: RunFlags
) -> None:
    """Say how long the fits take; of runs that exist, how many there are."""
    if are_runs:
        console.plan({"runs": len(inputs)})
        return
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.text.estimate import estimate

    wanted = options.fits(run.seed)
    fits = [(name, k, usual_steps(name)) for name, k, _ in wanted]
    what = f"{wording.counted(len(fits), 'fit')} of {', '.join(model_names(options.models))}"
    if options.by is not None:
        what += f" for each value of {options.by}; time and memory are those of one value with all documents"
    plan = estimate(read_corpus(*inputs, options=read), tokens=tokens, threads=run.n_threads(), fits=fits)
    console.plan({**plan, "fits": len(fits), "what": what})


def usual_steps(model: str) -> int:
    """Return how many steps a model takes by default, at most."""
    options = resolved(MODELS[model].options)()
    steps: int = getattr(options, "iterations", 1) if MODELS[model].fitter else getattr(options, "n_sweeps", 1)
    return steps
