"""The options that topic models share, as plain data.

Parts, in this order:
- Options of the number of topics and of fitting topics on embeddings, as plain data.
- Options that mixture models of every kind share, as plain data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, ClassVar

from nlpkit.cluster.options import NumberOfTopics
from nlpkit.errors import UsageError
from nlpkit.platform.options import Param, options

NOVELTY_QUANTILE = 0.95
FIT_ALL_UP_TO, FIT_SAMPLE, FITTED_PER_TOPIC = 100_000, 20_000, 50  # different documents
LEAST_FITTED = 10
ENGINES = ("kmeans", "hdbscan", "agglomerative", "gmm")
REDUCTIONS = ("auto", "pca", "umap", "umap-learn", "none")
LIKE_BERTOPIC = {
    "cluster": "hdbscan", "reduce": "umap-learn", "min_topic_size": 10, "core_terms": False, "join_neighbors": False,
}  # fmt: skip
LAYOUTS = ("umap", "umap-learn")
LINKAGES = ("ward", "average", "complete", "single")
GRAINS = ("coarse", "middle", "fine")
TopicCount = Annotated[
    int | str,
    Param(
        "Number of topics: auto, a number N, or a range lo:hi or lo:hi:step to choose from.",
        ("k", "num_topics"),
        log=False,
    ),
]


def check_number_of_topics(n_topics: int, n_tokens: int, *, least: int = 1, most: int | None = None) -> None:
    """Raise UsageError where there are no tokens, or the topics are not from `least` to the number of tokens, or to `most`."""
    if not n_tokens:
        raise UsageError("the corpus has no tokens to find topics in")
    highest = n_tokens if most is None else min(n_tokens, most)
    if not least <= n_topics <= highest:
        has = "1 token" if n_tokens == 1 else f"{n_tokens:,} tokens"
        raise UsageError(
            f"`k={n_topics}`: this model has from {least} to {highest:,} topics on a corpus of {has}", parameter="k"
        )


@options
class BertopicOptions:
    """Options of fitting topics on embeddings; names and defaults are BERTopic's where it has the option.

    Raises:
        UsageError: k or novelty_quantile is out of its range.
    """

    PANEL: ClassVar[str] = "Model"

    k: Annotated[
        int | str,
        Param(
            "Number of topics: auto, a number N, or a range lo:hi or lo:hi:step to choose from.",
            ("k", "nr_topics", "num_topics"),
        ),
    ] = "auto"
    like: Annotated[
        str | None,
        Param(
            "Fit as this program does: bertopic (umap-learn, hdbscan, CountVectorizer and c-tf-idf with the defaults of BERTopic "
            "0.17; its random_state is the seed).",
            metavar="PROGRAM",
            choices=("bertopic",),
        ),
    ] = None
    cluster: Annotated[
        str,
        Param(
            "Clustering method. kmeans, agglomerative and gmm (mixture of Gaussians) give every document a topic; "
            "hdbscan leaves documents between dense groups without one.",
            choices=ENGINES,
        ),
    ] = "kmeans"
    reduce: Annotated[
        str,
        Param(
            "What to cluster: pca (50 principal axes of embeddings averaged with their neighbours), umap (a "
            "layout), umap-learn (a layout by the package of this name), none (the embeddings), or auto (umap for hdbscan, "
            "otherwise pca).",
            choices=REDUCTIONS,
        ),
    ] = "auto"
    linkage: Annotated[
        str,
        Param(
            "Linkage of agglomerative clustering: ward, average, complete or single.",
            choices=LINKAGES,
            needs=("cluster=agglomerative",),
        ),
    ] = "ward"
    grain: Annotated[
        str,
        Param(
            "With `k=auto`, use the chosen number of topics (middle), or the next coarse or fine layer. With `like=bertopic`, coarse is "
            "its nr_topics='auto'.",
            choices=GRAINS,
        ),
    ] = "middle"
    ensemble: Annotated[
        int,
        Param(
            "Number of fits (each on 80 % of the documents) to combine into a consensus; 1 = a single fit on all "
            "documents.",
            min=1,
        ),
    ] = 1
    min_topic_size: Annotated[
        int | None,
        Param(
            "Minimum documents per topic. Default: 1 %, but between 3 and 10, or less if `k=N` needs it.",
            min=2,
            needs=("cluster=hdbscan", "like=bertopic"),
        ),
    ] = None
    n_neighbors: Annotated[int, Param("Number of neighbours of a document, including itself.", min=3)] = 15
    n_components: Annotated[int, Param("UMAP: dimensions of the layout.", min=2)] = 5
    min_dist: Annotated[float, Param("UMAP: minimum distance between points.", min=0.0, max=1.0)] = 0.0
    min_samples: Annotated[
        int | None,
        Param(
            "HDBSCAN: higher values leave more documents unassigned. Default: 5, or the minimum topic size with `like=bertopic`.",
            min=1,
            needs=("cluster=hdbscan", "like=bertopic"),
        ),
    ] = None
    assign_outliers: Annotated[
        bool, Param("Move documents without a topic to the nearest topic.", needs=("cluster=hdbscan",))
    ] = False
    join_neighbors: Annotated[
        bool, Param("Let a document between clusters join the topic around it.", needs=("cluster=hdbscan",))
    ] = True
    fit_sample: Annotated[
        int | str,
        Param(
            f"Number of documents to fit topics on: N, all, or auto (all up to {FIT_ALL_UP_TO:,}, otherwise {FIT_SAMPLE:,}). "
            "The other documents get the topics of their neighbours."
        ),
    ] = "auto"
    novelty_quantile: Annotated[
        float,
        Param(
            "Mark a new text as topic -1 if it is less similar to its neighbours than this share of the training "
            "texts are. 1 turns this off.",
            above=0,
            max=1,
        ),
    ] = NOVELTY_QUANTILE
    core_terms: Annotated[
        bool,
        Param(
            "Rank topic words by c-tf-idf weighted towards typical documents, or by ordinary c-tf-idf. The column "
            "ctfidf of topic_terms.parquet holds the latter in any case.",
            off="plain_terms",
        ),
    ] = True

    def __post_init__(self) -> None:
        """Check what can be checked without documents."""
        self.number_of_topics()
        check_fit_sample(self.fit_sample)
        if self.like is not None:
            self._as_bertopic()
        merges = self.like is not None and self.grain == "coarse"
        self._refuse_unused(self.cluster == "hdbscan", ("ensemble", *(() if merges else ("grain",))), "cluster=hdbscan")
        self._refuse_unused(
            self.reduction() not in LAYOUTS, ("n_components", "min_dist"), f"reduce={self.reduction()}", "reduce=umap"
        )
        self._refuse_unused(self.number_of_topics().exactly is not None, ("grain",), f"k={self.k}")

    def _as_bertopic(self) -> None:
        """Set what BERTopic has in place of nlpkit's defaults; refuse other values, and what BERTopic has not."""
        usual = {f.name: f.default for f in fields(self)}
        self._refuse_unused(self.number_of_topics().exactly is None, ("k",), "like=bertopic")
        self._refuse_unused(True, ("assign_outliers", "fit_sample"), "like=bertopic")
        for name, value in LIKE_BERTOPIC.items():
            if getattr(self, name) == usual[name]:
                object.__setattr__(self, name, value)
            elif getattr(self, name) != value and name != "min_topic_size":
                raise UsageError(f"`{name}={getattr(self, name)}` has no effect with `like=bertopic`", parameter=name)

    def _refuse_unused(self, unused: bool, names: Sequence[str], because: str, instead: str = "") -> None:
        usual = {f.name: f.default for f in fields(self)}
        for name in names if unused else ():
            if getattr(self, name) != usual[name]:
                hint = f"; it is an option of `{instead}`" if instead else ""
                raise UsageError(f"`{name}` has no effect with `{because}`{hint}", parameter=name)

    def reduction(self) -> str:
        """Return the reduction in force."""
        if self.reduce == "auto":
            return "umap" if self.cluster == "hdbscan" else "pca"
        return self.reduce

    def number_of_topics(self) -> NumberOfTopics:
        """Return what `k` asks for."""
        return NumberOfTopics.parse(self.k)


def check_fit_sample(fit_sample: int | str) -> None:
    """Raise UsageError for what is neither auto, all nor a number of documents that topics can be found in."""
    text = str(fit_sample)
    if text not in ("auto", "all") and not (text.isdecimal() and int(text) >= LEAST_FITTED):
        raise UsageError(
            f"`fit_sample` takes auto, all, or a number of documents from {LEAST_FITTED} on, got '{text}'",
            parameter="fit_sample",
        )


# ------------------------------------------------------------------------------------------------------------------------
# Options that mixture models of every kind share, as plain data.


@options
class TermOptions:
    """Options of the terms that a run stores of its topics."""

    PANEL: ClassVar[str] = "Output"

    top_terms: Annotated[int, Param("Number of terms stored per topic.", min=1)] = 30
    relevance_lambda: Annotated[
        float,
        Param("Weight λ of the probability in the relevance of a term (Sievert and Shirley 2014).", min=0.0, max=1.0),
    ] = 0.6


@options
class CheckpointOptions:
    """Options of saving an unfinished fit."""

    PANEL: ClassVar[str] = "Run"

    checkpoint_every: Annotated[
        int | None,
        Param(
            "Save the fit next to the run every N sweeps (steps, passes); 0 = only if interrupted. Default: every "
            "minute.",
            min=0,
        ),
    ] = None
    resume: Annotated[
        bool, Param("Continue from the checkpoint if there is one. lda-gibbs can also continue with more sweeps.")
    ] = False
