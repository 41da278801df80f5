"""The command `nlpkit compare`: topic models on one corpus, side by side."""

from __future__ import annotations

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.evaluate.compare.options import CompareOptions
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.llm_options import LlmOptions
from nlpkit.text.options import TextOptions
from nlpkit.topics.robust.command import check_shard, of_one_process, say_part, usual_steps
from nlpkit.topics.robust.options import GridOptions, GridShard


def compare_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    options: CompareOptions,
    tokens: TextOptions,
    encoder: EncoderOptions,
    judge: LlmOptions,
    sharing: GridOptions,
    shard: GridShard = None,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Compare topic models on one corpus, by number of topics and seed.

    \b
    Examples:
      nlpkit compare data/samples/news.jsonl --models nmf,plsa --k 8 --seeds 1 -o compared/
      nlpkit compare data/samples/news.jsonl --models nmf --k 4,8 --seeds 1 --workers 2 -o two/
      nlpkit compare data/samples/news.jsonl --models nmf,gsdmm --k 4,8 --seeds 1 --resume -o two/
      nlpkit compare data/samples/news.jsonl --limit 60 --preprocessing lowercase,stem,stop-words --k 8

    The documents are tokenised once. Each model is fitted by its own command with its defaults, in a separate process, so that
    time and memory are measured per model. Each seed leaves out a different tenth of the documents. The tables show coherence,
    diversity, agreement with labels, stability, and perplexity on held-out documents. No single score shows which model is best
    for you. --llm adds the mean rating of the topics by a language model, from 1 (unrelated words) to 3; it sees their words alone.

    The command writes a directory with documents.parquet, runs/, fits.parquet and summary.parquet. Without -o, it is
    <input>.compare/ in the current directory. --resume continues it, also with more models, numbers and seeds.

    --workers makes several fits at a time; --shard lets the jobs of a batch system share them. Neither changes the result, but
    fits that run side by side take longer.

    --preprocessing compares combinations of preprocessing steps instead: how much each step changes distances of documents
    (preText, Denny & Spirling 2018) and topics. -o writes a table of the combinations.
    """
    if options.preprocessing is not None:
        if judge.llm is not None:
            raise UsageError(
                "`llm` rates the topics of models, and `preprocessing` compares none; leave one of them out",
                parameter="llm",
            )
        for name, value in {"shard": shard, "workers": sharing.workers, "ray": sharing.ray}.items():
            if value is not None:
                raise UsageError(
                    f"`{name}` shares the fits of models, and `preprocessing` compares none", parameter=name
                )
        _compare_steps(inputs, out, options, tokens, encoder, read, run)
        return
    from nlpkit.evaluate.compare.run import check_comparison, compare_models, compare_part
    from nlpkit.evaluate.compare.views import comparison_blocks
    from nlpkit.platform.documents.corpus import read_corpus

    target = out.new_directory(inputs, "compare")
    check_shard(shard, force=out.force)
    facts = check_comparison(target, options, force=out.force, shared=shard is not None)
    corpus = read_corpus(*inputs, options=read)
    if run.dry_run:
        from nlpkit.text.estimate import estimate

        fits = [(name, k, usual_steps(name)) for name, k, _ in options.fits(run.seed)]
        # one question a topic, where the number of topics is known
        calls = {"calls": sum(k or 0 for _, k, _ in fits)} if judge.llm else {}
        plan = estimate(corpus, tokens=tokens, threads=run.n_threads(), fits=fits)
        console.plan({**plan, **facts, "what": facts["what"] + of_one_process(sharing), **calls})
        return
    if shard is not None:
        n = compare_part(corpus, target, shard, options, tokens, encoder, sharing, run)
        say_part(shard, n, target, json=run.json)
        return
    result = compare_models(
        corpus, target, options=options, tokens=tokens, encoder=encoder, judge=judge, sharing=sharing, execution=run,
        force=out.force,
    )  # fmt: skip
    best = {name: {"model": model, "k": k} for name, (model, k) in result.best().items()}
    rows = {"summary": result.summary.to_pylist(), "fits": result.fits.to_pylist(), "best": best}
    console.say(comparison_blocks(result), lambda: {"comparison": str(result.path), **rows})


def _compare_steps(
    inputs: Inputs,
    out: OutputFlags,
    options: CompareOptions,
    tokens: TextOptions,
    encoder: EncoderOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Compare combinations of preprocessing steps."""
    from nlpkit.evaluate.compare.preprocessing import compare_preprocessing
    from nlpkit.evaluate.compare.views import preprocessing_blocks
    from nlpkit.platform.documents.corpus import read_corpus

    target = None if out.output is None else out.table_target("combinations.parquet")
    corpus = read_corpus(*inputs, options=read)
    n = 1 << len(options.steps())
    if run.dry_run:
        from nlpkit.text.estimate import estimate

        fits = [(name, k, usual_steps(name)) for name, k, _ in options.fits(run.seed)]
        facts = {"fits": n * len(fits), "what": f"{n} combinations of preprocessing steps"}
        console.plan({**estimate(corpus, tokens=tokens, threads=run.n_threads(), fits=fits * n), **facts})
        return
    result = compare_preprocessing(corpus, options=options, tokens=tokens, encoder=encoder, execution=run)
    if target is not None:
        result.save(target, force=out.force)
    console.say(preprocessing_blocks(result, target is not None), result.to_dict, target)
