"""nlpkit bertopic: topics from sentence embeddings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Param
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.bertopic.guided_options import GuidedOptions, refuse_new_options


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
    unit: Annotated[
        str,
        Param(
            "Fit sentences, paragraphs or chunk:200 (words) in place of documents, and add their topics up to the "
            "documents. Writes RUN.sentences.parquet and RUN.documents.parquet beside the run.",
            panel="Model",
        ),
    ] = "document",
    topics: BertopicOptions,
    guide: GuidedOptions,
    encoder: EncoderOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Find topics in documents.

    nlpkit embeds the documents, clusters the embeddings, ranks the words of each cluster (c-tf-idf) and names the topics.
    Existing columns 'embedding' and 'tokens' are reused; missing ones are computed. The command writes a run directory with
    topics.parquet, documents.parquet and more. Without -o, it is <input>.bertopic/ in the current directory. `nlpkit predict
    RUN NEW` assigns topics to new documents.

    --k auto compares up to 190 numbers of topics by three kinds of agreement, prints the table and marks its choice. The run
    also keeps coarser and finer layers: `nlpkit info RUN --tree` shows them, and --grain chooses one. --k N gives exactly N
    topics. The stability of a topic shows whether it appears again in half of the documents.

    --update RUN adds newer documents to a run. They join existing topics, and groups of documents about new subjects become new
    topics. Words, sizes and scores are computed again from all documents. All other model options stay as in the run.

    --unit sentence fits sentences. RUN.documents.parquet then has the share of each topic in each document, with intervals.

    \b
    Examples:
      nlpkit bertopic data/samples/news.jsonl --k auto -o run/
      nlpkit bertopic data/samples/news.jsonl --k 8 --json -q -o run8/
      nlpkit bertopic data/samples/news.jsonl --cluster hdbscan --min-topic-size 5 -o dense/
      nlpkit bertopic data/samples/news.jsonl --unit sentence --k 8 -o sentences/
    """
    target = out.run_target(inputs, "bertopic")
    if update is not None:
        refuse_new_options(topics, guide, tokens)
        if unit != "document":
            raise UsageError("`update` takes documents as the run has them; split them first", parameter="unit")
    if run.dry_run:
        from nlpkit.topics.bertopic.clustering import sample_size

        dry_run(
            inputs, read, "bertopic", tokens=tokens, encoder=encoder, fitted=partial(sample_size, topics),
            threads=run.n_threads(),
        )  # fmt: skip
        return
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.topics.bertopic.run import fit_bertopic
    from nlpkit.topics.bertopic.views import show_bertopic

    corpus = read_corpus(*inputs, options=read, beside=target)
    if update is not None:
        from nlpkit.topics.bertopic.update_run import update_bertopic
        from nlpkit.topics.bertopic.views import show_update

        longer = update_bertopic(update, corpus, encoder=encoder, read=read, parameter=None, execution=run)
        longer.save(target, force=out.force)
        show_update(longer, target, update)
        return
    parts = None
    if unit != "document":
        from nlpkit.topics.bertopic.units import SplitCorpus

        parts = SplitCorpus(unit, target, force=out.force)
        corpus = parts.split(corpus, tokens, run)
    model = fit_bertopic(corpus, options=topics, guide=guide, tokens=tokens, encoder=encoder, execution=run)
    model.save(target, force=out.force)
    show_bertopic(model, target)
    if parts is not None:
        parts.add_up(target, run)
