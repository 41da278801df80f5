"""The pipeline of BERTopic 0.17 with the libraries that it uses: umap-learn, hdbscan, and c-tf-idf with the outliers as a class.

Ties are broken as NumPy breaks them there, so topics, words and their order are those of the program.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, missing_extra
from nlpkit.platform.types import NO_TOPIC, CsrMatrix, Float32Array, IntArray
from nlpkit.text.options import PreprocessOptions, TopicTokenOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.bertopic.clustering import Clustering, Points
from nlpkit.topics.bertopic.density import halved
from nlpkit.topics.bertopic.engine import layout
from nlpkit.weights.ctfidf import TopTerms
from nlpkit.weights.dtm import group_rows


def check_libraries(options: BertopicOptions) -> None:
    """Raise MissingError where a package of a fit is not installed: said now, not after an hour of encoding."""
    needed = {"umap": options.reduction() == "umap-learn", "hdbscan": options.cluster == "hdbscan"}
    for module, name in (("umap", "`reduce=umap-learn`"), ("hdbscan", "`cluster=hdbscan`")):
        if needed[module] and find_spec(module) is None:
            raise missing_extra("`like=bertopic`" if options.like else name, "neural")


def words_of_bertopic(tokens: TopicTokenOptions) -> PreprocessOptions:
    """Return settings that cut texts as BERTopic's CountVectorizer does, where the user says nothing else.

    With `language` auto or en, letters and digits of ASCII alone are left, as with BERTopic's default language "english". Another
    language, or none, leaves the texts as they are: so does BERTopic with another language, or an `embedding_model`.
    """
    from nlpkit.text.clean import Cleaner  # loads polars

    words = replace(
        tokens,
        tokenizer="sklearn" if (tokens.tokenizer, tokens.token_pattern) == ("words", None) else tokens.tokenizer,
        stop_words="none" if tokens.stop_words == "auto" else tokens.stop_words,
        min_df=1 if tokens.min_df == "auto" else tokens.min_df,
        language="en" if tokens.language == "auto" else tokens.language,
    )
    options = preprocess_options(words)
    return replace(options, cleaner=Cleaner(nfc=False, ascii_only=options.language == "en"))


def library_clusters(points: Points, vectors: Float32Array) -> Clustering:
    """Return the clusters that hdbscan finds in the layout of umap-learn, numbered as BERTopic does.

    Args:
        vectors: (U, E) as they are stored: BERTopic does not scale them.

    Raises:
        InputError: every document is an outlier, or there are too few documents.
    """
    options, size = points.options, points.options.min_topic_size
    assert size is not None
    points.progress("layout", 0.0)
    view = layout(vectors, points.neighbours, options, points.execution)
    points.clock.lap("layout")
    from hdbscan import HDBSCAN

    if points.n < size:
        raise InputError(f"{points.n} documents make no topic of at least {size}; give a lower `min_topic_size`")
    model = HDBSCAN(
        min_cluster_size=size, min_samples=options.min_samples, metric="euclidean", cluster_selection_method="eom",
        core_dist_n_jobs=points.execution.n_threads(),
    ).fit(view)  # fmt: skip
    points.clock.lap("hierarchy")
    labels = reduced(by_frequency(np.asarray(model.labels_, np.int64)), vectors, options)
    K = int(labels.max(initial=-1)) + 1
    if not K:
        raise InputError(
            f"hdbscan finds no topic of at least {size} documents, only outliers; give a lower `min_topic_size`, or more documents"
        )
    prob = np.asarray(model.probabilities_, np.float32)
    return Clustering(labels, min_topic_size=size, coarser=tuple(halved(K)), prob=prob)


def reduced(labels: IntArray, vectors: Float32Array, options: BertopicOptions) -> IntArray:
    """Return topics merged as BERTopic merges them, by the cosine of the mean vectors of their documents.

    k=N, there nr_topics=N: average linkage, to N topics, the outliers among them. grain=coarse, there nr_topics="auto": the clusters that
    hdbscan finds in the topics, and those that it leaves out. Source: BERTopic 0.17.4, `_reduce_to_n_topics` and `_auto_reduce_topics`.

    Args:
        labels: (U,) from `by_frequency`. vectors: (U, E).

    Raises:
        InputError: N are the outliers alone.
    """
    K, outliers = int(labels.max(initial=-1)) + 1, int((labels < 0).any())
    wanted = options.number_of_topics().exactly
    if K < 2 or (wanted is None and options.grain != "coarse") or (wanted or 0) >= K + outliers:
        return labels
    means = np.array([vectors[labels == k].mean(axis=0) for k in range(K)])
    if wanted is None:
        from hdbscan import HDBSCAN
        from sklearn.preprocessing import normalize

        groups = HDBSCAN(min_cluster_size=2, metric="euclidean", cluster_selection_method="eom").fit_predict(
            normalize(means)
        )
        lowest = np.array([k if group < 0 else int(np.argmax(groups == group)) for k, group in enumerate(groups)])
        return by_frequency(np.append(lowest, NO_TOPIC)[labels])
    if wanted - outliers < 1:
        raise InputError(
            f"`k={wanted}` would leave the outliers alone, as BERTopic counts them as a topic; give 2 or more"
        )
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.metrics.pairwise import cosine_similarity

    distances = 1 - cosine_similarity(means)
    np.fill_diagonal(distances, 0)
    merged = AgglomerativeClustering(wanted - outliers, metric="precomputed", linkage="average").fit(distances).labels_
    return by_frequency(np.append(merged, NO_TOPIC)[labels])


def by_frequency(labels: IntArray) -> IntArray:
    """Return labels (U,) numbered by size, the largest 0; -1 stays.

    Clusters of one size are in the order of pandas' `sort_values(ascending=False)`, which depends on where each appears first.
    """
    values, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    seen = np.argsort(first)
    values, sizes = values[seen], sizes[seen]
    order = (len(sizes) - 1 - sizes[::-1].argsort(kind="quicksort"))[::-1]
    ranked = values[order][values[order] != NO_TOPIC]
    number = np.full(int(values.max()) + 2, NO_TOPIC, np.int32)
    number[ranked] = np.arange(len(ranked), dtype=np.int32)
    return number[labels]  # -1 is the last entry, which is -1


def class_terms(counts: CsrMatrix, topics: IntArray, K: int, vocabulary: tuple[str, ...], n: int) -> TopTerms:
    """Return the n words of each topic with the highest c-tf-idf, in the order in which BERTopic has them.

        c-tf-idf = tf_wc / Σ_v tf_vc · ln(1 + A / tf_w)

    A is the mean number of words of a class, rounded down. The documents without a topic are a class. Source: BERTopic 0.17.4,
    `ClassTfidfTransformer` and `_extract_words_per_topic`.

    Args:
        counts: (U, V) words of the documents. topics: (U,), -1 for none. vocabulary: (V,).
    """
    from sklearn.preprocessing import normalize

    classes = group_rows(counts, topics + 1, K + 1)
    shift = 0 if (topics < 0).any() else 1
    tf = np.asarray(classes.sum(axis=0)).ravel()
    columns = np.array(sorted(np.flatnonzero(tf).tolist(), key=vocabulary.__getitem__), np.int64)
    X = sparse.csr_matrix(classes[shift:][:, columns])
    X.sort_indices()
    term_ids, weights = np.full((K, n), -1, np.int32), np.zeros((K, n), np.float32)
    if not len(columns):
        return TopTerms(term_ids, weights)
    idf = np.log(int(X.sum(axis=1).mean()) / tf[columns] + 1)
    weighted = normalize(X, axis=1, norm="l1") @ sparse.diags(idf, format="csr")
    for k in range(K):
        row = slice(*weighted.indptr[k + 1 - shift :][:2])
        stored = min(n, row.stop - row.start)
        if not stored:
            continue
        data, indices = weighted.data[row], weighted.indices[row]
        best = np.argpartition(data, -stored)[-stored:]
        scores = np.zeros(n)
        scores[:stored] = data[best]
        order = np.argsort(scores)[::-1]
        order = order[scores[order] > 0]
        term_ids[k, : len(order)] = columns[indices[best[order]]]
        weights[k, : len(order)] = scores[order]
    return TopTerms(term_ids, weights)
