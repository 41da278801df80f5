"""Neural topic models: contextualized ones and ProdLDA, ETM, FASTopic."""

from __future__ import annotations

from nlpkit.platform.models import Account, Methods, TopicModel

PRODLDA = "Srivastava, A., & Sutton, C. (2017). Autoencoding variational inference for topic models. ICLR 2017."
COMBINED = (
    "Bianchi, F., Terragni, S., & Hovy, D. (2021). Pre-training is a hot topic: Contextualized document embeddings improve topic "
    "coherence. Proceedings of ACL-IJCNLP 2021, 759–766."
)
ZEROSHOT = (
    "Bianchi, F., Terragni, S., Hovy, D., Nozza, D., & Fersini, E. (2021). Cross-lingual contextualized topic models with zero-shot "
    "learning. Proceedings of EACL 2021, 1676–1683."
)
DIENG = "Dieng, A. B., Ruiz, F. J. R., & Blei, D. M. (2020). Topic modeling in embedding spaces. TACL, 8, 439–453."
WU = (
    "Wu, X., Nguyen, T., Zhang, D. C., Wang, W. Y., & Luu, A. T. (2024). FASTopic: Pretrained transformer is a fast, adaptive, stable, "
    "and transferable topic model. NeurIPS 37."
)


def _encoder(run: Account) -> str:
    """Return what gave the embeddings of documents."""
    return run.encoder or "embeddings that were given"


def _trained(run: Account) -> str:
    """Return how a network was trained."""
    return (
        f"by Adam with a learning rate of {run.parameters.get('rate')} for {run.results.get('best_epoch')} passes, after which the "
        f"evidence lower bound of a held-out tenth of the documents was highest {run.seed}."
    )


def ctm_methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    cited: tuple[str, ...]
    model, cited = {
        "zeroshot": (
            f"ZeroShotTM (Bianchi, Terragni, Hovy, Nozza, et al., 2021) on {_encoder(run)}",
            (ZEROSHOT, PRODLDA),
        ),
        "combined": (
            f"CombinedTM (Bianchi, Terragni, & Hovy, 2021) on words and {_encoder(run)}",
            (COMBINED, PRODLDA),
        ),
        "bow": ("ProdLDA (Srivastava & Sutton, 2017)", (PRODLDA,)),
    }[str(run.parameters.get("inference"))]
    return f"We fitted {model} with {run.K} topics to {run.n} documents {_trained(run)}", cited


def etm_methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    name = str(run.parameters.get("vectors"))
    source = {"pmi-svd": "PMI-SVD of the same documents", "random": "the model itself"}.get(name, name)
    return (
        f"We fitted the embedded topic model (Dieng et al., 2020) with {run.K} topics and word vectors of {source} to {run.n} documents "
        f"{_trained(run)}"
    ), (DIENG,)


def fastopic_methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    get = run.parameters.get
    return (
        f"We fitted FASTopic (Wu et al., 2024) with {run.K} topics on {_encoder(run)} to {run.n} documents, by {get('iterations')} "
        f"steps of Adam with a learning rate of {get('rate')} over all documents {run.seed}; the transport plans had weights of "
        f"{get('dt_alpha')} (documents and topics) and {get('tw_alpha')} (topics and words)."
    ), (WU,)


CTM = TopicModel(
    kind="ctm",
    title="Contextualized topic model",
    called="A contextualized topic model",
    options="nlpkit.topics.neural.options:CtmOptions",
    fitter="nlpkit.topics.neural.ctm:CtmFitter",
    place=15,
    cites=(PRODLDA, ZEROSHOT, COMBINED),
    methods=ctm_methods,
    main="k inference iterations batch-size encoder cache",
    costs={"start": (5.9, 640), "million terms · document · step": (0.024, 0), "1000 documents": (0.1, 6)},
    has_eta=False,
    columns="nlpkit.topics.neural.run:CtmColumns",
    embeddings=True,
    compared="",
    help="""Fit a neural topic model (ZeroShotTM, CombinedTM, ProdLDA).

\b
Examples:
  nlpkit ctm data/samples/news.jsonl --k 8 --iterations 20 -o ctm/
  nlpkit ctm data/samples/news.jsonl --k 8 --iterations 20 --inference combined -o combined/
  nlpkit ctm data/samples/news.jsonl --k 8 --iterations 20 --inference bow -o prodlda/

The model is a contextualized topic model (Bianchi, Terragni and Hovy 2021). A neural network infers the topics of a
document from its embedding (zeroshot), from embedding and words (--inference combined), or from words alone (bow). It is
trained to reconstruct the words (ProdLDA, Srivastava and Sutton 2017). With a multilingual embedding model, texts in all
its languages share the topics. Training takes minutes where lda-gibbs takes seconds.

{writes} {predicts} Existing columns 'embedding' and 'tokens' are reused. {threads} The command needs the extra 'neural'.

{mixed}

For the correlated topic model, which is also called CTM, use `nlpkit stm` without covariates.""",
    about="Fit a contextualized topic model (Bianchi et al. 2021), or ProdLDA (Srivastava & Sutton 2017).",
    example="""
>>> model = nk.fit_ctm(texts, k=2, inference="bow", iterations=2)
>>> model.topics.num_rows
2""",
)

ETM = TopicModel(
    kind="etm",
    title="Embedded topic model",
    called="An embedded topic model",
    options="nlpkit.topics.neural.options:EtmOptions",
    fitter="nlpkit.topics.neural.etm:EtmFitter",
    place=16,
    cites=(DIENG,),
    methods=etm_methods,
    main="k vectors iterations batch-size",
    costs={"start": (5.9, 640), "million terms · document · step": (0.024, 0), "1000 documents": (0.1, 6)},
    has_eta=False,
    columns="nlpkit.topics.neural.run:EtmColumns",
    compared="",
    help="""Fit the embedded topic model (ETM): topics based on word vectors.

\b
Examples:
  nlpkit etm data/samples/news.jsonl --k 8 --iterations 20 -o etm/
  nlpkit etm data/samples/news.jsonl --k 8 --iterations 20 --tune -o tuned/
  nlpkit etm data/samples/news.jsonl --k 8 --iterations 20 --vectors random -o learned/

Topics are vectors in the space of the word vectors (Dieng, Ruiz and Blei 2020). The nearer a word is to a topic, the more
probable it is in that topic. A neural network infers the topics of a document from its words. --vectors takes a run of
embed-words or a file of word vectors. Without it, they are learned from the documents (PMI-SVD). The vectors stay fixed
unless you set --tune. Training takes minutes where lda-gibbs takes seconds.

{writes} {predicts} {reuses} {threads} The command needs the extra 'neural'.

{compares}""",
    about="Fit the embedded topic model (Dieng, Ruiz & Blei 2020).",
    example="""
>>> model = nk.fit_etm(texts, k=2, iterations=2)
>>> model.topics.num_rows
2""",
)

FASTOPIC = TopicModel(
    kind="fastopic",
    title="FASTopic",
    options="nlpkit.topics.neural.options:FastopicOptions",
    fitter="nlpkit.topics.neural.fastopic:FastopicFitter",
    place=17,
    cites=(WU,),
    methods=fastopic_methods,
    main="k iterations encoder cache",
    costs={
        "start": (3.5, 400),
        "million topics of documents · step": (0.35, 0),
        "1000 documents · step": (0.003, 0),
        "1000 documents": (0.0, 4),
        "million topics of documents": (0.0, 45),
    },
    has_eta=False,
    columns="nlpkit.topics.neural.run:EmbeddedColumns",
    embeddings=True,
    compared="",
    help="""Fit FASTopic: topics from sentence embeddings by optimal transport.

\b
Examples:
  nlpkit fastopic data/samples/news.jsonl --k 8 --min-df 5 -o fastopic/
  nlpkit fastopic data/samples/questions.jsonl --k 2:4 -o chosen/
  nlpkit fastopic data/samples/questions.jsonl --k 4 --theta-temp 0.2 -o clearer/

FASTopic (Wu et al. 2024) learns a vector for each topic and each word in the space of the document embeddings. It moves
documents to topics and topics to words at low cost (Sinkhorn's algorithm), so that the words of the documents are
reproduced. No network is trained: a fit takes seconds for thousands of documents, plus the embeddings. Topics of new texts
depend on their embeddings only.

{writes} Existing columns 'embedding' and 'tokens' are reused; computing embeddings needs the extra 'neural'. {threads}

{mixed}""",
    about="Fit FASTopic (Wu et al. 2024).",
    example="""
>>> model = nk.fit_fastopic(texts, k=2, iterations=2)
>>> model.topics.num_rows
2""",
)
