"""Models that factorise the matrix of counts: pLSA and NMF."""

from __future__ import annotations

from nlpkit.platform.models import Account, Methods, TopicModel

HOFMANN = "Hofmann, T. (1999). Probabilistic latent semantic analysis. UAI 1999, 289–296."
LEE = "Lee, D. D., & Seung, H. S. (1999). Learning the parts of objects by non-negative matrix factorization. Nature, 401, 788–791."


def plsa_methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    tempered = "tempered " if run.parameters.get("tempered") else ""
    start = "a singular value decomposition" if run.parameters.get("start") == "svd" else "random topics"
    return (
        f"We fitted probabilistic latent semantic analysis (Hofmann, 1999) with {run.K} topics to {run.n} documents by {tempered}"
        f"expectation maximisation from {start} {run.seed}."
    ), (HOFMANN,)


def nmf_methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    loss = "Frobenius norm" if run.parameters.get("loss") == "frobenius" else "Kullback–Leibler divergence"
    matrix = "tf-idf weights" if run.parameters.get("weights") == "tfidf" else "counts"
    return (
        f"We factorised the {matrix} of the terms of {run.n} documents into {run.K} topics by non-negative matrix factorisation (Lee & "
        f"Seung, 1999) under the {loss} {run.seed}; rows divided by their sums are probabilities of terms and topics."
    ), (LEE,)


PLSA = TopicModel(
    kind="plsa",
    title="pLSA",
    options="nlpkit.topics.matrix.options:PlsaOptions",
    fitter="nlpkit.topics.matrix.plsa:PlsaFitter",
    place=6,
    cites=(HOFMANN,),
    methods=plsa_methods,
    main="k iterations start tempered",
    has_eta=False,
    keeps=False,
    compared="",
    help="""Fit probabilistic latent semantic analysis (pLSA).

\b
Examples:
  nlpkit plsa data/samples/news.jsonl --k 8 -o plsa/
  nlpkit plsa data/samples/news.jsonl --k 8 --tempered -o tempered/
  nlpkit plsa data/samples/news.jsonl --k 4:12:4 -o plsa-k/

As in LDA, each document is a mixture of topics, but without priors. The model is fitted by expectation maximisation. It
fits the documents as closely as possible and overfits where LDA does not. --tempered reduces the overfitting.

{writes} {predicts} {reuses} {threads}

{chooses}""",
    about="Fit probabilistic latent semantic analysis (Hofmann 1999).",
)

NMF = TopicModel(
    kind="nmf",
    title="NMF",
    options="nlpkit.topics.matrix.options:NmfOptions",
    fitter="nlpkit.topics.matrix.nmf:NmfFitter",
    place=5,
    cites=(LEE,),
    methods=nmf_methods,
    main="k loss weights iterations",
    arrays={"idf": "V"},
    has_eta=False,
    keeps=False,
    compared="",
    foreign={"nlpkit nmf INPUT --k 20 -o RUN/": "non_negative_matrix_factorization"},
    help="""Find topics by non-negative matrix factorisation (NMF).

\b
Examples:
  nlpkit nmf data/samples/news.jsonl --k 8 -o nmf/
  nlpkit nmf data/samples/news.jsonl --k 8 --loss kullback-leibler -o nmf-kl/
  nlpkit nmf data/samples/news.jsonl --k 4:12:4 -o nmf-k/

The method is scikit-learn's NMF on tf-idf weights. The factors are divided by their sums, so that they read as shares of
words in topics and of topics in documents. It is fast and hardly depends on the seed, but it is not a probability model.

{writes} {predicts} {reuses} {threads}

{chooses}""",
    about="Fit non-negative matrix factorisation, its factors read as topics.",
)
