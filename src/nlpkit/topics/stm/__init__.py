"""The structural topic model, whose topics depend on columns of the documents."""

from __future__ import annotations

from nlpkit.platform.models import Account, Methods, TopicModel

STM = (
    "Roberts, M. E., Stewart, B. M., & Airoldi, E. M. (2016). A model of text for experimentation in the social sciences. Journal of "
    "the American Statistical Association, 111(515), 988–1003."
)
CORRELATED = "Blei, D. M., & Lafferty, J. D. (2007). A correlated topic model of Science. Annals of Applied Statistics, 1(1), 17–35."
ANCHORS = (
    "Arora, S., Ge, R., Halpern, Y., Mimno, D., Moitra, A., Sontag, D., Wu, Y., & Zhu, M. (2013). A practical algorithm for topic "
    "modeling with provable guarantees. Proceedings of ICML 28(2), 280–288."
)


def methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    formula, start = run.parameters.get("prevalence"), run.parameters.get("start")
    by_anchors = "LDA" not in str(run.results.get("start", "")) and start in ("spectral", "anchors")
    model, cited = (
        ("a correlated topic model (Blei & Lafferty, 2007)", (CORRELATED, STM))
        if formula is None
        else (f"a structural topic model (Roberts et al., 2016) with the prevalence covariates {formula}", (STM,))
    )
    begin = "anchor words (Arora et al., 2013)" if by_anchors else "random topics" if start == "random" else "LDA"
    text = (
        f"We fitted {model} with {run.K} topics to {run.n} documents by variational expectation maximisation, with Laplace approximations "
        f"of the documents' posteriors as in the R package stm, from {begin} {run.seed}."
    )
    return text, (*cited, ANCHORS) if by_anchors else cited


MODEL = TopicModel(
    kind="stm",
    posterior="nlpkit.topics.stm.run:drawn_topics",
    title="Structural topic model",
    called="A structural topic model",
    options="nlpkit.topics.stm.options:StmOptions",
    fitter="nlpkit.topics.stm.fitter:StmFitter",
    place=2,
    front="topics that depend on author, party or date",
    cites=(STM, CORRELATED, ANCHORS),
    methods=methods,
    main="k prevalence content iterations start",
    costs={
        "start": (2.9, 360),
        "million tokens · topic · step": (0.1, 0),
        "million cubes of topics · document · step": (0.01, 0),
        "million terms of topics": (0.1, 24),
        "million terms of topics at levels · step": (11.0, 0),
    },
    arrays={
        "eta": "D K-1",
        "noise": "K-1 K-1",
        "sigma": "K-1 K-1",
        "gamma": "P K-1",
        "mean": "K-1",
        "average_mean": "K-1",
        "average_covariance": "K-1 K-1",
        "content_baseline": "V",
        "content_topic": "K V",
        "content_level": "A V",
        "content_weights": "A",
        "content_topic_level": "A*K V",
    },
    has_eta=False,
    compared="without covariates",
    columns="nlpkit.topics.stm.run:StmColumns",
    foreign={"nlpkit stm INPUT --prevalence 'party + s(date)' -o RUN/": "structural_topic_model textmodel_stm"},
    help="""Fit a structural topic model: topics that depend on covariates.

\b
Examples:
  nlpkit stm data/samples/news.jsonl --k 8 --prevalence label -o stm/
  nlpkit stm data/samples/news.jsonl --k 8 --prevalence "label + s(date, 5)" -o stm-dates/
  nlpkit stm data/samples/nachrichten.jsonl --k 2 --content source -o stm-content/
  nlpkit stm data/samples/news.jsonl --k 8 -o ctm/

--prevalence lists the columns that influence what documents are about, as an R formula. Numbers and dates (in days) enter
as they are, or as splines with s(x) or s(x, degrees of freedom). Texts are categories, as are numbers in factor(x);
factor(x, "level") sets the first level. Without --prevalence, this is the correlated topic model (CTM).

--content is a column of categories that influences which words a topic uses. The words of each topic at each level are
printed and stored in topic_terms_by_content.parquet. Everything else shows their average over the levels.

{writes} {predicts} {reuses} The fit starts from anchor words. The result does not depend on the seed or on the number of
threads.

--k auto and --k lo:hi try several numbers of topics without covariates. nlpkit prints held-out perplexity, coherence and
other scores for each, and keeps the number with the highest mean score.""",
    about="Fit a structural topic model (Roberts, Stewart and Airoldi 2016), correlated topics without covariates.",
    example="""
>>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
>>> model = nk.fit_stm(corpus, k=2, prevalence="label")
>>> model.theta.shape
(20, 2)""",
)
