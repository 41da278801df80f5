"""nlpkit compare: topic models on one corpus, side by side."""

from __future__ import annotations

from nlpkit.cli import console
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TextOptions
from nlpkit.topics.compare_options import CompareOptions


def compare_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    options: CompareOptions,
    tokens: TextOptions,
    encoder: EncoderOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Compare topic models on one corpus: each with several numbers of topics and seeds.

    \b
    Examples:
      nlpkit compare data/samples/news.jsonl --models nmf,plsa --k 8 --seeds 1 -o compared/
      nlpkit compare data/samples/news.jsonl --models nmf --k 4,8 --seeds 1 -o two/
      nlpkit compare data/samples/news.jsonl --models nmf,gsdmm --k 4,8 --seeds 1 --resume -o two/

    Words are made once. Each model is fitted by its command with its defaults, in a process of its own, so that its time and its
    memory are its own; each fit has another seed and leaves out another tenth of the documents. Coherence, diversity,
    agreement with labels, stability and the perplexity of documents held out stand side by side: no score tells which model
    is best for you. Leaves a directory with documents.parquet, runs/, fits.parquet and summary.parquet; --resume goes on
    with it, also with more models, numbers and seeds. Without -o it is <input>.compare/ in the current directory.
    """
    from nlpkit.cli.render.compare import show_comparison
    from nlpkit.workflows.compare import check_comparison, compare_models
    from nlpkit.workflows.compare_costs import usual_steps
    from nlpkit.workflows.corpus import read_corpus

    target = out.new_directory(inputs, "compare")
    facts = check_comparison(target, options, force=out.force)
    corpus = read_corpus(*inputs, options=read)
    if run.dry_run:
        from nlpkit.workflows.estimate import estimate

        fits = [(name, k, usual_steps(name)) for name, k, _ in options.fits(run.seed)]
        console.plan({**estimate(corpus, tokens=tokens, threads=run.n_threads(), fits=fits), **facts})
        return
    show_comparison(
        compare_models(
            corpus, target, options=options, tokens=tokens, encoder=encoder, execution=run, force=out.force
        )
    )  # fmt: skip
