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
    """Fit the author-topic model: topics that authors write about.

    \b
    Examples:
      nlpkit author-topic data/samples/news.jsonl --k 8 --author-col source -o authors/
      nlpkit author-topic data/samples/news.jsonl --k 4:8:4 --author-col source --iterations 30 -o k/
      nlpkit author-topic data/samples/news.jsonl --k 8 --author-col source --alpha 0.1 -o smooth/

    The model assigns each word to one of the document's authors and to one of that author's topics (Rosen-Zvi et al. 2004). The
    column holds one name, a list of names, or names separated by --separator. Any other column works too, such as a party or a
    newspaper. A document without an author counts as its own author.

    authors.parquet holds the topics of the authors. The topics of a document are the topics of its words.

    The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is
    <input>.author-topic/ in the current directory. `nlpkit predict RUN NEW` assigns topics to new documents, whoever wrote
    them. An existing column 'tokens' is reused. The result does not depend on the number of threads.
    """
    fit_mixture("author-topic", inputs, out, model, terms, tokens, read, run, checkpoints)
