"""nlpkit bertopic: topics from sentence embeddings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Param
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.guided_options import GuidedOptions
from nlpkit.topics.options import BertopicOptions
from nlpkit.topics.update_options import refuse_new_options


def bertopic_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    update: Annotated[
        Path | None,
        Param(
            "Add the documents to this run; the output is a run of all documents. Existing topics keep their "
            "numbers, and documents about new subjects form new topics.",
            metavar="RUN",
            panel="Model",
        ),
    ] = None,
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

    --update RUN adds newer documents to a run: they join its topics, groups of new matter become topics after these, and words,
    sizes and scores are those of all. All other options of the model stay those of the run.

    \b
    Examples:
      nlpkit bertopic data/samples/news.jsonl --k auto -o run/
      nlpkit bertopic data/samples/news.jsonl --k 8 --json -q -o run8/
      nlpkit bertopic data/samples/news.jsonl --cluster hdbscan --min-topic-size 5 -o dense/
    """
    target = out.run_target(inputs, "bertopic")
    if update is not None:
        refuse_new_options(topics, guide, tokens)
    if run.dry_run:
        from nlpkit.topics.fit_sample import sample_size

        dry_run(
            inputs, read, "bertopic", tokens=tokens, encoder=encoder, fitted=partial(sample_size, topics),
            threads=run.n_threads(),
        )  # fmt: skip
        return
    from nlpkit.cli.render.topics import show_bertopic
    from nlpkit.workflows.bertopic import fit_bertopic
    from nlpkit.workflows.corpus import read_corpus

    corpus = read_corpus(*inputs, options=read, beside=target)
    if update is not None:
        from nlpkit.cli.render.update import show_update
        from nlpkit.workflows.bertopic_update import update_bertopic

        longer = update_bertopic(update, corpus, encoder=encoder, read=read, parameter=None, execution=run)
        longer.save(target, force=out.force)
        show_update(longer, target, update)
        return
    model = fit_bertopic(corpus, options=topics, guide=guide, tokens=tokens, encoder=encoder, execution=run)
    model.save(target, force=out.force)
    show_bertopic(model, target)
