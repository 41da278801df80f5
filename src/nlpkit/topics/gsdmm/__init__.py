"""GSDMM: a mixture model for short texts, one topic a document."""

from __future__ import annotations

from nlpkit.platform.models import TopicModel

MODEL = TopicModel(
    kind="gsdmm",
    posterior="nlpkit.topics.effects.posteriors:one_topic",
    title="GSDMM",
    options="nlpkit.topics.gsdmm.options:GsdmmOptions",
    fitter="nlpkit.topics.gsdmm.model:GsdmmFitter",
    place=3,
    front="topics of short texts, such as tweets",
    cites=(
        "Yin, J., & Wang, J. (2014). A Dirichlet multinomial mixture model-based approach for short text clustering. KDD 2014, 233–242.",
    ),
    methods=(
        "We fitted a Dirichlet multinomial mixture (Yin & Wang, 2014), in which each document has one topic, to {n} documents by "
        "{iterations} sweeps of collapsed Gibbs sampling with priors alpha = {alpha} and beta = {eta}; {K} topics had documents at the "
        "end {seed}."
    ),
    main="k alpha eta iterations",
    arrays={"sizes": "K"},
    counts_tokens=True,
    compared="",
    foreign={"nlpkit gsdmm INPUT -o RUN/": "movie_group_process dmm stmm short_texts"},
    help="""Fit a mixture model for short texts (GSDMM): one topic per document.

\b
Examples:
  nlpkit gsdmm data/samples/news.jsonl --k 30 -o gsdmm/
  nlpkit gsdmm data/samples/news.jsonl --k 30 --eta 0.05 --iterations 30 -o small/
  nlpkit gsdmm data/samples/news.jsonl --k 10:30:10 --iterations 20 -o gsdmm-k/

Use it for titles, tweets and queries, which have too few words for the topic mixtures of LDA. The method is Gibbs sampling
of the Dirichlet multinomial mixture (Yin and Wang 2014). --k is the maximum number of topics: topics that lose all
documents are dropped.

{writes} {predicts} {reuses} {threads}""",
    about="Fit the Dirichlet multinomial mixture for short texts (Yin & Wang 2014), one topic a document.",
    example="""
>>> model = nk.fit_gsdmm(texts, k=4, iterations=10)
>>> model.topics.num_rows
2""",
)
