"""The models of `nlpkit.workflows.mixtures` by name: one public function each, which hands its options on to `fit_topics`."""

from __future__ import annotations

from typing import Any

from nlpkit.embed.options import EncoderOptions
from nlpkit.parameters import hands_on
from nlpkit.topics.count_options import BitermOptions, GsdmmOptions, HdpOptions, HldaOptions, NmfOptions, PlsaOptions
from nlpkit.topics.lda.online_options import LdaOnlineOptions
from nlpkit.topics.neural.options import CtmOptions, EtmOptions, FastopicOptions
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.supervised.options import AuthorTopicOptions, LabeledLdaOptions, SldaOptions
from nlpkit.workflows.mixtures import FittedTopics, fit_topics


@hands_on(fit_topics, without=("options", "encoder"))
def fit_plsa(data: Any, *, options: PlsaOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit probabilistic latent semantic analysis (Hofmann 1999).

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_plsa(texts, k=2)
        >>> model.topics.num_rows
        2
    """
    return fit_topics("plsa", data, options, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_nmf(data: Any, *, options: NmfOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit non-negative matrix factorisation, its factors read as topics.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_nmf(texts, k=2)
        >>> model.topics.num_rows
        2
    """
    return fit_topics("nmf", data, options, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_gsdmm(data: Any, *, options: GsdmmOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit the Dirichlet multinomial mixture for short texts (Yin & Wang 2014), one topic a document.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_gsdmm(texts, k=4, iterations=10)
        >>> model.topics.num_rows
        2
    """
    return fit_topics("gsdmm", data, options, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_hdp(data: Any, *, options: HdpOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit a hierarchical Dirichlet process (Teh et al. 2006), which finds the number of topics with them.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_hdp(texts, iterations=20)
        >>> model.topics.num_rows >= 1
        True
    """
    return fit_topics("hdp", data, options, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_hlda(data: Any, *, options: HldaOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit hierarchical LDA (Blei, Griffiths & Jordan 2010), a tree of topics that grows with the documents.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_hlda(texts, iterations=20)
        >>> model.tree.shape[1]  # parent, level and documents of each topic
        3
    """
    return fit_topics("hlda", data, options, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_lda_online(data: Any, *, options: LdaOnlineOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit LDA by variational Bayes, batch by batch (Hoffman, Blei & Bach 2010) or on the whole corpus.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_lda_online(texts, k=2)
        >>> model.topics.num_rows
        2
    """
    return fit_topics("lda-online", data, options, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_biterm(data: Any, *, options: BitermOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit the biterm topic model for short texts (Yan, Guo, Lan & Cheng 2013).

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_biterm(texts, k=2, iterations=10)
        >>> model.topics.num_rows
        2
    """
    return fit_topics("biterm", data, options, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_stm(data: Any, *, options: StmOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit a structural topic model (Roberts, Stewart and Airoldi 2016), correlated topics without covariates.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> model = nk.fit_stm(corpus, k=2, prevalence="label")
        >>> model.theta.shape
        (20, 2)
    """
    return fit_topics("stm", data, options, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_slda(data: Any, *, options: SldaOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit supervised LDA (Blei & McAuliffe 2007), whose topics answer to the column label.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=[1.0, 5.0] * 10)
        >>> model = nk.fit_slda(corpus, k=2)
        >>> model.predict(["loan debt"]).num_rows
        1
    """
    return fit_topics("slda", data, options, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_author_topic(data: Any, *, options: AuthorTopicOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit the author-topic model (Rosen-Zvi et al. 2004), in which authors are mixtures of topics.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["Ann", "Bob"] * 10)
        >>> model = nk.fit_author_topic(corpus, author_col="label", k=2)
        >>> model.topics.num_rows
        2
    """
    return fit_topics("author-topic", data, options, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_labeled_lda(data: Any, *, options: LabeledLdaOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit labelled LDA (Ramage et al. 2009), whose topics are the labels of the documents.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> model = nk.fit_labeled_lda(corpus)
        >>> model.topics["label"].to_pylist()
        ['finance', 'nature']
    """
    return fit_topics("labeled-lda", data, options, **settings)


@hands_on(fit_topics, without=("options",))
def fit_ctm(
    data: Any, *, options: CtmOptions | None = None, encoder: EncoderOptions | str | None = None, **settings: Any
) -> FittedTopics:
    """Fit a contextualized topic model (Bianchi et al. 2021), or ProdLDA (Srivastava & Sutton 2017).

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_ctm(texts, k=2, inference="bow", iterations=2)
        >>> model.topics.num_rows
        2
    """
    return fit_topics("ctm", data, options, encoder=encoder, **settings)


@hands_on(fit_topics, without=("options", "encoder"))
def fit_etm(data: Any, *, options: EtmOptions | None = None, **settings: Any) -> FittedTopics:
    """Fit the embedded topic model (Dieng, Ruiz & Blei 2020).

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_etm(texts, k=2, iterations=2)
        >>> model.topics.num_rows
        2
    """
    return fit_topics("etm", data, options, **settings)


@hands_on(fit_topics, without=("options",))
def fit_fastopic(
    data: Any, *, options: FastopicOptions | None = None, encoder: EncoderOptions | str | None = None, **settings: Any
) -> FittedTopics:
    """Fit FASTopic (Wu et al. 2024).

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_fastopic(texts, k=2, iterations=2)
        >>> model.topics.num_rows
        2
    """
    return fit_topics("fastopic", data, options, encoder=encoder, **settings)
