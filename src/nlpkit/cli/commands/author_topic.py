"""nlpkit author-topic: topics of authors."""

from __future__ import annotations

from nlpkit.cli.fitting import fit_mixture
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.mixtures.options import CheckpointOptions, TermOptions
from nlpkit.topics.supervised.options import AuthorTopicOptions


def author_topic_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    model: AuthorTopicOptions,
    terms: TermOptions,
    checkpoints: CheckpointOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit the author-topic model: which topics authors write about, also of documents by several.

    \b
    Examples:
      nlpkit author-topic data/samples/news.jsonl --k 8 --author-col source -o authors/
      nlpkit author-topic data/samples/news.jsonl --k 4:8:4 --author-col source --iterations 30 -o k/
      nlpkit author-topic data/samples/news.jsonl --k 8 --author-col source --alpha 0.1 -o smooth/

    Each word has one of the authors of its document and one of their topics (Rosen-Zvi et al. 2004). The column holds one name,
    a list of names, or names separated by --separator; any other column serves as well, such as a party or a newspaper. A
    document without an author counts as an author of its own.

    authors.parquet has the topics of the authors; those of a document are the topics of its words. The result is the same on any
    number of threads. A column tokens is used, else made. Leaves a run directory with topics.parquet, topic_terms.parquet,
    doc_topics.parquet and more; without -o it is <input>.author-topic/ in the current directory. `nlpkit predict RUN NEW` gives
    new documents its topics, whoever wrote them.
    """
    fit_mixture("author-topic", inputs, out, model, terms, tokens, read, run, checkpoints)
