"""nlpkit bertopic: topics from sentence embeddings."""

from __future__ import annotations

from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.guided_options import GuidedOptions
from nlpkit.topics.options import BertopicOptions


def bertopic_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    topics: BertopicOptions,
    guide: GuidedOptions,
    encoder: EncoderOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Find topics in documents.

    Steps: embed, reduce, cluster, weigh words (c-tf-idf), name. Columns that are there are used (embedding, tokens),
    missing ones are made. Leaves a run directory with topics.parquet, documents.parquet and more; without -o it is
    <input>.bertopic/ in the current directory. `nlpkit predict RUN NEW` gives new documents its topics.

    --k auto compares 2 to 190 topics by three kinds of agreement, prints the table and marks the choice; coarser and finer
    layers are kept beside it (`nlpkit info RUN --tree`), and --grain takes one of them. --k N gives exactly N topics.
    Each topic has a stability: whether half of the documents gives it again.

    \b
    Examples:
      nlpkit bertopic data/samples/news.jsonl --k auto -o run/
      nlpkit bertopic data/samples/news.jsonl --k 8 --json -q -o run8/
      nlpkit bertopic data/samples/news.jsonl --cluster hdbscan --min-topic-size 5 -o dense/
    """
    target = out.run_target(inputs, "bertopic")
    if run.dry_run:
        dry_run(inputs, read, embeds=True)
        return
    from nlpkit.cli.render.topics import show_bertopic
    from nlpkit.workflows.bertopic import fit_bertopic
    from nlpkit.workflows.corpus import read_corpus

    corpus = read_corpus(*inputs, options=read, beside=target)
    model = fit_bertopic(corpus, options=topics, guide=guide, tokens=tokens, encoder=encoder, execution=run)
    model.save(target, force=out.force)
    show_bertopic(model, target)
