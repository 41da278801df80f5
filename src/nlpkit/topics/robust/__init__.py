"""Robust topics: those that come back over numbers of topics, seeds, models and segments."""

from __future__ import annotations

from nlpkit.platform.models import Account, Methods, TopicModel

WILKERSON = (
    "Wilkerson, J., & Casas, A. (2017). Large-scale computerized text analysis in political science: Opportunities and challenges. "
    "Annual Review of Political Science, 20, 529–544."
)


def methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    get, results = run.parameters.get, run.results
    by = {"words": "words", "documents": "documents"}.get(str(get("match")), "words and their documents")
    return (
        f"We compared {results['topics_of_runs']} topics of {results['runs']} topic models of {run.n} documents (Wilkerson & Casas, 2017) "
        f"{run.seed}. We clustered them by the similarity of their {by} (average linkage). A cluster that came back in at least "
        f"{float(get('min_runs') or 0.5):.0%} of the models is a robust topic. Words, documents and shares of a robust topic are means "
        "over the models that have it, with their range over the models."
    ), (WILKERSON,)


def number(run: Account) -> str:
    """Return how the number of topics came about."""
    results = run.results
    return (
        f"The {results['robust_topics']} robust topics are those of {results['clusters']} clusters that came back in at least "
        f"{float(run.parameters.get('min_runs') or 0.5):.0%} of {results['runs']} runs."
    )


MODEL = TopicModel(
    kind="robust",
    title="Robust topics",
    options="nlpkit.topics.robust.options:RobustOptions",
    place=3,
    front="topics that come back over K, seeds, models and segments",
    cites=(WILKERSON,),
    methods=methods,
    main="models k seeds by shares-by min-runs threshold resume workers",
    keeps=False,
    embeddings=True,
    load="nlpkit.topics.robust.run:load_robust",
    command="nlpkit.topics.robust.command:robust_cli",
    has_eta=False,
    number=number,
    help="Find topics that come back over many runs.",
    foreign={"nlpkit robust INPUT --k 10:90:5 -o RUN/": "robust_topics metatopics"},
)
