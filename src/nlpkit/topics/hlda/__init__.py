"""Hierarchical LDA: a tree of topics that grows with the documents."""

from __future__ import annotations

from nlpkit.platform.models import Account, Methods, TopicModel

REFERENCE = (
    "Blei, D. M., Griffiths, T. L., & Jordan, M. I. (2010). The nested Chinese restaurant process and Bayesian nonparametric "
    "inference of topic hierarchies. Journal of the ACM, 57(2), 1–30."
)


def methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    get, levels = run.parameters.get, run.results.get("topics_by_level", [])
    return (
        f"We fitted hierarchical LDA (Blei et al., 2010), a tree of topics of depth {get('depth')}, to {run.n} documents by "
        f"{get('iterations')} sweeps of collapsed Gibbs sampling with alpha = {get('alpha')}, gamma = {get('gamma')} and eta = "
        f"{get('eta')}; the levels had {', '.join(map(str, levels))} topics {run.seed}."
    ), (REFERENCE,)


MODEL = TopicModel(
    kind="hlda",
    title="Hierarchical LDA",
    options="nlpkit.topics.hlda.options:HldaOptions",
    fitter="nlpkit.topics.hlda.model:HldaFitter",
    place=11,
    cites=(REFERENCE,),
    methods=methods,
    main="depth alpha gamma eta iterations",
    arrays={"tree": "K 3"},
    counts_tokens=True,
    compared="",
    likelihood="log p(w | z) per token",
    finds_number="finds the number of topics with their tree; --depth gives its levels, and --eta and --gamma move the number",
    help="""Fit a tree of topics (hierarchical LDA).

\b
Examples:
  nlpkit hlda data/samples/news.jsonl -o hlda/
  nlpkit hlda data/samples/news.jsonl --eta 1 --iterations 100 -o coarse/
  nlpkit hlda data/samples/news.jsonl --depth 2 --gamma 0.1 --iterations 50 -o flat/

Each document follows a path of --depth topics from the root to a leaf (Blei, Griffiths and Jordan 2010). Each of its words
comes from one of these topics. There is no --k: branches are added and removed as documents choose among them (nested
Chinese restaurant process, Gibbs sampling).

The command writes a run directory with topics.parquet, layers.parquet (the tree), doc_topics.parquet and more. The columns
layer_0, layer_1 … of documents.parquet hold the path of each document. Without -o, it is <input>.hlda/ in the current
directory. `nlpkit info RUN --tree` shows the tree, and `nlpkit predict RUN NEW` assigns a path to new documents. {reuses}
{threads}""",
    about="Fit hierarchical LDA (Blei, Griffiths & Jordan 2010), a tree of topics that grows with the documents.",
    example="""
>>> model = nk.fit_hlda(texts, iterations=20)
>>> model.tree.shape[1]  # parent, level and documents of each topic
3""",
)
