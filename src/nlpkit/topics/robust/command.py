"""nlpkit robust: the topics that come back over many runs."""

from __future__ import annotations

from pathlib import Path

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import parse_share
from nlpkit.platform.models import MODELS, resolved
from nlpkit.text.options import TextOptions
from nlpkit.topics.base.options import TermOptions
from nlpkit.topics.robust.options import GridOptions, GridShard, RobustOptions, model_names

FITS = ".fits"  # ending of the directory of the fits, beside the run


def robust_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    options: RobustOptions,
    terms: TermOptions,
    tokens: TextOptions,
    encoder: EncoderOptions,
    sharing: GridOptions,
    shard: GridShard = None,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Find topics that come back over many runs.

    \b
    Examples:
      nlpkit robust data/samples/news.jsonl --models nmf --k 4:12:4 --seeds 2 -o robust/
      nlpkit robust data/samples/news.jsonl --models nmf --k 6 --seeds 1 --by label -o segments/
      nlpkit robust robust.fits/runs/nmf-k4-s42/ robust.fits/runs/nmf-k8-s42/ -o again/
      nlpkit robust data/samples/news.jsonl --models nmf --k 4,8 --seeds 1 --workers 2 -o parallel/

    The documents are tokenised (and embedded) once. Each model is fitted with each number of topics and seed. The topics of all
    fits are clustered by their words and documents. A cluster that came back in at least half of the runs (--min-runs) is a
    robust topic (Wilkerson and Casas 2017). nlpkit prints how often each came back, and its share of the corpus and of the values
    of --shares-by, with the range over the runs. What did not come back is the last topic, 'not robust'.

    --by COLUMN fits each value of a column separately, and matches the topics by their words: shared topics and topics of one
    value. The inputs may also be runs of any topic models on the same documents, or the directory of `nlpkit compare`.

    The command writes a run directory as other topic models do, with the tables robust_runs, robust_members, robust_terms,
    robust_shares and robust_run_shares. Without -o, it is <input>.robust/ in the current directory. The fits stay in
    <run>.fits/, and --resume continues them, also with more models, numbers and seeds.

    --workers makes several fits at a time; --shard lets the jobs of a batch system share them. Neither changes the result.
    """
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.topics.robust.run import robust_topics, runs_in
    from nlpkit.topics.robust.views import robust_blocks

    check_shard(shard, force=out.force)
    target = out.run_target(inputs, "robust")
    runs = runs_in(inputs)
    if runs is not None and shard is not None:
        raise UsageError("`shard` is an option of fits, and has no effect on runs that exist", parameter="shard")
    if run.dry_run:
        _plan(inputs, runs is not None, options, tokens, sharing, read, run)
        return
    data = read_corpus(*inputs, options=read, beside=target) if runs is None else runs
    fits = None if runs is not None else fits_beside(target)
    if shard is not None and fits is not None:
        from nlpkit.topics.robust.grid import fit_grid

        grid = fit_grid(data, fits, options, tokens, encoder, run, sharing=sharing, shard=shard)
        say_part(shard, len(grid.fits), fits, json=run.json)
        return
    model = robust_topics(
        data,
        options=options,
        terms=terms,
        tokens=tokens,
        encoder=encoder,
        read=read,
        sharing=sharing,
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


def check_shard(shard: str | None, *, force: bool) -> None:
    """Raise UsageError for a part of a grid that is none, or would replace the fits of others."""
    if shard is not None:
        parse_share(shard)
    if shard is not None and force:
        raise UsageError(
            "`force` would delete the fits of the other parts; remove the directory, or leave `force` out",
            parameter="shard",
        )


def say_part(shard: str, n_fits: int, place: Path, *, json: bool) -> None:
    """Say which part of a grid was made, and how it goes on."""
    reporting.note(
        f"part {shard}: {wording.counted(n_fits, 'fit')} in {place}; when all parts are done: the same command with "
        "`resume` instead of `shard`"
    )
    if json:
        console.emit_json({"part": shard, "fits": n_fits, "directory": str(place)})


def fits_beside(target: Path) -> Path:
    """Return the directory of the fits of a run."""
    return target.with_name(target.name + FITS)


def _plan(
    inputs: list[str],
    are_runs: bool,
    options: RobustOptions,
    tokens: TextOptions,
    sharing: GridOptions,
    read: ReadOptions,
    run: RunFlags,
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
    console.plan({**plan, "fits": len(fits), "what": what + of_one_process(sharing)})


def of_one_process(sharing: GridOptions) -> str:
    """Return what is to be said of the plan of a grid that workers share."""
    return "; time and memory are those of one process" if sharing.divided else ""


def usual_steps(model: str) -> int:
    """Return how many steps a model takes by default, at most."""
    options = resolved(MODELS[model].options)()
    steps: int = getattr(options, "iterations", 1) if MODELS[model].fitter else getattr(options, "n_sweeps", 1)
    return steps
