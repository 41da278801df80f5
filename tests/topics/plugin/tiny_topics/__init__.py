"""A topic model by somebody else, from a distribution of its own: what it declares."""

from __future__ import annotations

from nlpkit.platform.models import TopicModel

MODEL = TopicModel(
    kind="tiny-topics",
    title="Tiny topic model",
    called="A tiny topic model",
    options="tiny_topics.model:TinyTopicsOptions",
    fitter="tiny_topics.model:TinyFitter",
    cites=("Little, A. (2026). Words dealt like cards. Journal of Small Models, 1, 1–2.",),
    help="""Deal the words of a corpus into topics, one after the other.

\b
Examples:
  nlpkit tiny-topics data/samples/news.jsonl --k 4 -o tiny/

{writes} {predicts} {reuses} {threads}""",
    main="k start",
    compared="",
    has_eta=False,
    foreign={"nlpkit tiny-topics INPUT --k 4 -o RUN/": "dealt_topics"},
)
