"""The dynamic topic model, whose topics change their words over time."""

from __future__ import annotations

from nlpkit.platform.models import TopicModel

MODEL = TopicModel(
    kind="dtm",
    posterior="nlpkit.topics.effects.posteriors:dirichlet",
    title="Dynamic topic model",
    called="A dynamic topic model",
    options="nlpkit.topics.dtm.options:DtmOptions",
    fitter="nlpkit.topics.dtm.fit:DtmFitter",
    place=9,
    cites=("Blei, D. M., & Lafferty, J. D. (2006). Dynamic topic models. Proceedings of ICML 2006, 113–120.",),
    methods=(
        "We fitted a dynamic topic model (Blei & Lafferty, 2006) with {K} topics to {n} documents, divided into periods of a {every}, "
        "with a chain variance of {chain_variance} and alpha = {alpha_in_force}, by expectation maximisation with the most probable paths "
        "of the natural parameters {seed}."
    ),
    main="k every chain-variance iterations date-col",
    costs={
        "start": (3.0, 370),
        "million tokens": (1.0, 40),
        "million tokens · topic · step": (0.1, 0),
        "million terms of topics in periods": (0.1, 24),
        "million terms of topics in periods · step": (0.3, 0),
    },
    arrays={"pairs": "N 2", "paths": "N T", "rest": "K T", "period_bounds": "T+1", "period_tokens": "T K"},
    has_eta=False,
    compared="dated documents",
    fit="nlpkit.topics.dtm.run:fit_dtm",
    load="nlpkit.topics.dtm.run:load_dtm",
    show="nlpkit.topics.mixture_views:show_dynamic",
    foreign={"nlpkit dtm INPUT --every month -o RUN/": "ldaseqmodel ldaseq dynamic_topic_model"},
    help="""Fit a dynamic topic model: topics whose words change over time.

\b
Examples:
  nlpkit dtm data/samples/news.jsonl --k 8 --every quarter -o dtm/
  nlpkit dtm data/samples/news.jsonl --k 4 --every "2 months" --chain-variance 0.005 -o slower/
  nlpkit dtm data/samples/news.jsonl --k 4:8:4 --every quarter --iterations 10 -o dtm-k/

Each topic has its own words in each period. They follow a random walk from period to period (Blei and Lafferty 2006), so a
topic stays the same topic while its vocabulary changes. --chain-variance sets how fast. Documents without a date are left
out and listed. Periods without documents are interpolated.

The command writes a run directory as lda-gibbs does, with topics averaged over time. It also has
topic_terms_over_time.parquet, topic_changes.parquet and periods.parquet. Without -o, it is <input>.dtm/ in the current
directory. `nlpkit predict RUN NEW` assigns topics to new documents, with the words of their date or of the nearest period.
{reuses} {threads}

{chooses}""",
)
