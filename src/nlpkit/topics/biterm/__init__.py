"""The biterm topic model for short texts."""

from __future__ import annotations

from nlpkit.platform.models import TopicModel

MODEL = TopicModel(
    kind="biterm",
    title="Biterm topic model",
    called="A biterm topic model",
    options="nlpkit.topics.biterm.options:BitermOptions",
    fitter="nlpkit.topics.biterm.model:BitermFitter",
    place=4,
    cites=(
        "Yan, X., Guo, J., Lan, Y., & Cheng, X. (2013). A biterm topic model for short texts. WWW 2013, 1445–1456.",
    ),
    methods=(
        "We fitted a biterm topic model (Yan et al., 2013) with {K} topics to the {biterms:,} pairs of words that stand within {window} "
        "words of each other in {n} documents, by {iterations} sweeps of collapsed Gibbs sampling with priors alpha = {prior_alpha} and "
        "beta = {eta} {seed}."
    ),
    main="k alpha eta iterations window",
    arrays={"shares": "K"},
    compared="",
    likelihood="log p(biterms, z) per biterm",
    foreign={"nlpkit biterm INPUT --k 20 -o RUN/": "btm"},
    help="""Fit a biterm topic model (BTM) for short texts.

\b
Examples:
  nlpkit biterm data/samples/news.jsonl --k 8 --iterations 30 -o biterm/
  nlpkit biterm data/samples/news.jsonl --k 8 --iterations 30 --window 5 -o near/
  nlpkit biterm data/samples/news.jsonl --k 4:12:4 --iterations 20 -o biterm-k/

Use it for titles, tweets and queries (Gibbs sampling after Yan, Guo, Lan and Cheng 2013). One short text has too few words
to learn its mixture of topics. The model therefore learns from the word pairs of all texts together, and each pair has one
topic. Two different words form a pair if they occur within --window consecutive words. The topics of a text are the mean
over its pairs.

{writes} {predicts} {reuses} {threads}

{compares}""",
    about="Fit the biterm topic model for short texts (Yan, Guo, Lan & Cheng 2013).",
    example="""
>>> model = nk.fit_biterm(texts, k=2, iterations=10)
>>> model.topics.num_rows
2""",
)
