"""LDA by variational Bayes, batch by batch or on the whole corpus."""

from __future__ import annotations

from nlpkit.platform.models import Account, Methods, TopicModel
from nlpkit.topics.lda import LDA

ONLINE = (
    "Hoffman, M. D., Blei, D. M., & Bach, F. (2010). Online learning for latent Dirichlet allocation. NIPS 23, 856–864."
)


def lda_online_methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    get, is_batch = run.parameters.get, str(run.parameters.get("batch_size")) in ("all", "0")
    begun = "random topics" if get("start") == "random" else "the topics of 50 sweeps of Gibbs sampling"
    batches = (
        "batch variational Bayes"
        if is_batch
        else f"stochastic variational Bayes (Hoffman et al., 2010) with batches of {get('batch_size')} documents"
    )
    text = (
        f"We fitted latent Dirichlet allocation (Blei et al., 2003) with {run.K} topics to {run.n} documents by {batches} and symmetric "
        f"priors alpha = {get('alpha_in_force')} and eta = {get('eta_in_force')}, starting from {begun} {run.seed}."
    )
    return text, (LDA,) if is_batch else (LDA, ONLINE)


MODEL = TopicModel(
    kind="lda-online",
    posterior="nlpkit.topics.effects.posteriors:dirichlet",
    title="Online LDA",
    called="LDA",
    options="nlpkit.topics.lda_online.options:LdaOnlineOptions",
    fitter="nlpkit.topics.lda_online.model:LdaOnlineFitter",
    place=7,
    cites=(LDA, ONLINE),
    methods=lda_online_methods,
    main="k alpha eta iterations batch-size",
    foreign={"nlpkit lda-online INPUT --k 20 -o RUN/": "online_lda lda_vb variational_lda"},
    compared="",
    help="""Fit LDA by variational Bayes, in batches or on the whole corpus.

\b
Examples:
  nlpkit lda-online data/samples/news.jsonl --k 8 -o lda/
  nlpkit lda-online data/samples/news.jsonl --k 8 --batch-size all -o batch/
  nlpkit lda-online data/samples/news.jsonl --k 4:12:4 --iterations 10 -o lda-k/

The topics are updated after each batch of documents (Hoffman, Blei and Bach 2010), so a few passes are enough for a large
corpus. With --batch-size all, they are updated once per pass (Blei, Ng and Jordan 2003). `nlpkit lda-gibbs` usually finds
better topics, especially in short texts. For short texts, a larger --eta such as 0.5 helps.

{writes} {predicts} {reuses} {threads}

{chooses}""",
    about="Fit LDA by variational Bayes, batch by batch (Hoffman, Blei & Bach 2010) or on the whole corpus.",
)
