"""Topic models that learn from labels or authors: supervised LDA, the author-topic model, labelled LDA."""

from __future__ import annotations

from nlpkit.platform import wording
from nlpkit.platform.models import Account, TopicModel

BLEI = "Blei, D. M., & McAuliffe, J. D. (2007). Supervised topic models. Advances in Neural Information Processing Systems, 20."
ROSEN_ZVI = (
    "Rosen-Zvi, M., Griffiths, T., Steyvers, M., & Smyth, P. (2004). The author-topic model for authors and documents. UAI 2004, "
    "487–494."
)
RAMAGE = (
    "Ramage, D., Hall, D., Nallapati, R., & Manning, C. D. (2009). Labeled LDA: A supervised topic model for credit attribution in "
    "multi-labeled corpora. EMNLP 2009, 248–256."
)


_METHODS = (
    "with {K} topics to {n} documents by {iterations} sweeps of collapsed Gibbs sampling with symmetric priors alpha = {alpha_in_force} "
    "and eta = {eta_in_force} {seed}."
)


def label_number(run: Account) -> str:
    """Return how the number of topics of labelled LDA came about."""
    latent = run.parameters.get("latent") or 0
    return f"The topics are the {wording.counted(run.K - latent, 'label')} of the documents" + (
        f" and {latent} that every document may use." if latent else "."
    )


SLDA = TopicModel(
    kind="slda",
    posterior="nlpkit.topics.effects.posteriors:dirichlet",
    title="Supervised LDA",
    options="nlpkit.topics.supervised.options:SldaOptions",
    fitter="nlpkit.topics.supervised.slda:SldaFitter",
    place=14,
    cites=(BLEI,),
    methods=f"We fitted supervised LDA (Blei & McAuliffe, 2007), whose topics answer to a label of the documents, {_METHODS}",
    main="k alpha eta iterations response label-col",
    arrays={"coefficients": "K C", "intercept": "C"},
    counts_tokens=True,
    columns="nlpkit.topics.supervised.run:SldaColumns",
    help="""Fit supervised LDA (sLDA): topics that predict a label.

\b
Examples:
  nlpkit slda data/samples/news.jsonl --k 8 --iterations 60 -o slda/
  nlpkit slda data/samples/news.jsonl --k 8 --label-col source --iterations 60 -o sources/
  nlpkit slda data/samples/news.jsonl --k 4:12:4 --iterations 30 -o slda-k/

The model alternates between the topics and a regression of the label on them (Blei and McAuliffe 2007): ridge regression
for numbers, multinomial logistic regression for classes. Documents without a label are used as in LDA. coefficients.parquet
shows which topics go with which label.

{writes} {reuses} {threads}

`nlpkit predict RUN NEW` adds topics, prediction and, for classes, prediction_prob to new documents, from their words alone.
If they have labels, it also prints how good the predictions are.""",
    about="Fit supervised LDA (Blei & McAuliffe 2007), whose topics answer to the column label.",
    example="""
>>> corpus = nk.Corpus.from_texts(texts, labels=[1.0, 5.0] * 10)
>>> model = nk.fit_slda(corpus, k=2)
>>> model.predict(["loan debt"]).num_rows
1""",
)

AUTHOR_TOPIC = TopicModel(
    kind="author-topic",
    title="Author-topic model",
    called="The author-topic model",
    options="nlpkit.topics.supervised.options:AuthorTopicOptions",
    fitter="nlpkit.topics.supervised.restricted:AuthorTopicFitter",
    place=12,
    cites=(ROSEN_ZVI,),
    methods=f"We fitted the author-topic model (Rosen-Zvi et al., 2004), in which authors are mixtures of topics, {_METHODS}",
    main="k author-col separator alpha iterations",
    arrays={"authors": "A K"},
    counts_tokens=True,
    columns="nlpkit.topics.supervised.run:AuthorTopicColumns",
    help="""Fit the author-topic model: topics that authors write about.

\b
Examples:
  nlpkit author-topic data/samples/news.jsonl --k 8 --author-col source -o authors/
  nlpkit author-topic data/samples/news.jsonl --k 4:8:4 --author-col source --iterations 30 -o k/
  nlpkit author-topic data/samples/news.jsonl --k 8 --author-col source --alpha 0.1 -o smooth/

The model assigns each word to one of the document's authors and to one of that author's topics (Rosen-Zvi et al. 2004). The
column holds one name, a list of names, or names separated by --separator. Any other column works too, such as a party or a
newspaper. A document without an author counts as its own author.

authors.parquet holds the topics of the authors. The topics of a document are the topics of its words.

{writes} `nlpkit predict RUN NEW` assigns topics to new documents, whoever wrote them. {reuses} {threads}""",
    about="Fit the author-topic model (Rosen-Zvi et al. 2004), in which authors are mixtures of topics.",
    example="""
>>> corpus = nk.Corpus.from_texts(texts, labels=["Ann", "Bob"] * 10)
>>> model = nk.fit_author_topic(corpus, author_col="label", k=2)
>>> model.topics.num_rows
2""",
)

LABELED_LDA = TopicModel(
    kind="labeled-lda",
    title="Labelled LDA",
    options="nlpkit.topics.supervised.options:LabeledLdaOptions",
    fitter="nlpkit.topics.supervised.restricted:LabeledLdaFitter",
    place=13,
    cites=(RAMAGE,),
    methods=f"We fitted labelled LDA (Ramage et al., 2009), whose topics are the labels of the documents, {_METHODS}",
    main="latent separator alpha eta iterations label-col",
    counts_tokens=True,
    columns="nlpkit.topics.supervised.run:LabeledLdaColumns",
    number=label_number,
    foreign={"nlpkit labeled-lda INPUT --label-col COLUMN -o RUN/": "llda labelled_lda"},
    help="""Fit labelled LDA: one topic for each label.

\b
Examples:
  nlpkit labeled-lda data/samples/news.jsonl --iterations 60 -o labeled/
  nlpkit labeled-lda data/samples/news.jsonl --latent 2 --iterations 60 -o labeled-latent/
  nlpkit labeled-lda data/samples/news.jsonl --label-col source --iterations 60 -o sources/

The model finds which words of a document belong to which of its labels (Ramage et al. 2009). The column holds a list of
labels, labels separated by --separator, or one label. Topics are named after the labels, and a document only uses the
topics of its own labels. --latent adds topics that are open to every document. A document without labels may use every
topic.

{writes} `nlpkit predict RUN NEW` assigns the topics of all labels to new documents, and predicts the most probable label.
{reuses} {threads}""",
    about="Fit labelled LDA (Ramage et al. 2009), whose topics are the labels of the documents.",
    example="""
>>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
>>> model = nk.fit_labeled_lda(corpus)
>>> model.topics["label"].to_pylist()
['finance', 'nature']""",
)
