"""Topics of embeddings, as the registry of models knows them."""

from __future__ import annotations

from nlpkit.platform.models import Account, Methods, TopicModel

BERTOPIC = (
    "Grootendorst, M. (2022). BERTopic: Neural topic modeling with a class-based TF-IDF procedure. arXiv:2203.05794."
)
SBERT = (
    "Reimers, N., & Gurevych, I. (2019). Sentence-BERT: Sentence embeddings using Siamese BERT-networks. EMNLP-IJCNLP "
    "2019, 3982–3992."
)
HDBSCAN = (
    "Campello, R. J. G. B., Moulavi, D., & Sander, J. (2013). Density-based clustering based on hierarchical density "
    "estimates. PAKDD 2013, 160–172."
)
UMAP = (
    "McInnes, L., Healy, J., & Melville, J. (2018). UMAP: Uniform manifold approximation and projection for dimension "
    "reduction. arXiv:1802.03426."
)
ENGINES = {
    "kmeans": "k-means on embeddings averaged over nearest neighbours",
    "agglomerative": "agglomerative clustering of the embeddings",
    "gmm": "a mixture of Gaussians",
    "hdbscan": "HDBSCAN (Campello et al., 2013) in dimensions of UMAP (McInnes et al., 2018)",
}


def methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    cluster, is_sbert = str(run.parameters.get("cluster")), bool(run.encoder) and not run.is_served
    embedded = (
        f"We embedded {run.n} documents with {run.encoder}{' (Reimers & Gurevych, 2019)' if is_sbert else ''}" if run.encoder else
        f"We used {run.n} documents with existing embeddings"
    )  # fmt: skip
    if run.parameters.get("like"):
        origin = "read from a model that BERTopic saved" if run.parameters.get("from_bertopic") else run.seed
        return (
            f"{embedded} and grouped them into {run.K} topics as BERTopic 0.17 does: {ENGINES['hdbscan']}, {origin}. The words of a topic "
            "have the highest class-based tf-idf (Grootendorst, 2022).",
            (*([SBERT] if is_sbert else []), HDBSCAN, UMAP, BERTOPIC),
        )
    text = (
        f"{embedded} and grouped them into {run.K} topics by {ENGINES.get(cluster, cluster)} {run.seed}. "
        "The words of a topic have the highest class-based tf-idf (Grootendorst, 2022) in its typical documents. Each word is weighted by "
        "the similarity of its documents to the topic."
    )
    stability = run.results.get("stability") or {}
    if stability.get("agreement") is not None:
        text += (
            f" Topics inferred from one half of the corpus agreed with these at an adjusted mutual information (AMI) of "
            f"{stability['agreement']:.2f}."
        )
    return text, (*([SBERT] if is_sbert else []), *([HDBSCAN, UMAP] if cluster == "hdbscan" else []), BERTOPIC)


MODEL = TopicModel(
    kind="bertopic",
    title="Embedding topics",
    options="nlpkit.topics.base.options:BertopicOptions",
    help="Find topics in documents.",
    main="k like cluster min-topic-size grain update seed-words debias encoder",
    front="topics from embeddings; finds their number",
    place=0,
    cites=(BERTOPIC, SBERT, HDBSCAN, UMAP),
    methods=methods,
    load="nlpkit.topics.bertopic.run:load_bertopic",
    command="nlpkit.topics.bertopic.command:bertopic_cli",
    embeddings=True,
    keeps=False,
    mixture=False,
    compared="",
    chosen=(
        " Three questions decided: do both halves of the documents give the same topics, do raw and smoothed embeddings, and can words "
        "alone predict the topic?"
    ),
    costs={"start": (4.0, 380), "1000 documents": (0.15, 5.0), "million pairs of documents": (0.0057, 0)},
    foreign={"nlpkit bertopic INPUT -o RUN/": "fit fit_transform top2vec topic_model topic_modeling topic_modelling"},
)
