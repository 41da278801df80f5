"""What became of the topics of one run in another: matched, split, merged, vanished, new."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError
from nlpkit.metrics.labels.partitions import adjusted_mutual_information, adjusted_rand, contingency
from nlpkit.platform import wording
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import CsrMatrix, FloatArray, LongArray
from nlpkit.topics.diff.correspondence import RELATIONS, Link, correspondence, ranked_words
from nlpkit.topics.diff.options import USUAL, DiffOptions
from nlpkit.topics.over_time.prevalence import cosines
from nlpkit.topics.over_time.tables import labels_of, save_run_table, topic_run

if TYPE_CHECKING:
    from nlpkit.platform.views.picture import Picture

WORDS = 10
LEAST_SHARED = 0.5  # of the documents of the smaller run, for `by` auto
_COSINE_SHOWN = 0.1  # words in common that are worth a row of `overlaps`


@dataclass(frozen=True)
class TopicDiff(Tabular):
    """Two runs compared, A the first.

    by: documents or words; threshold in force; links: how topics correspond; shared: documents in both; table (K + 1, L + 1):
    how many of them each pair of topics has, none last; words (K, L): cosine of their words by rank.
    """

    _shown = "relations"

    a: Run
    b: Run
    by: str
    threshold: float
    links: list[Link]
    shared: int
    table: LongArray
    words: FloatArray

    def __repr__(self) -> str:
        return wording.described(self, f"{self.a.path} and {self.b.path}", wording.counted(len(self.links), "link"))

    @cached_property
    def relations(self) -> pa.Table:
        """A row for each link.

        relation, a, a_label, a_size, b, b_label, b_size; documents in both topics, share_of_a and share_of_b: of the shared
        documents of either; jaccard; words: cosine; kept, lost, gained: of their ten first words. What needs shared documents is
        null without them; of a topic that vanished or is new, the other side.
        """
        labels = [labels_of(run) for run in (self.a, self.b)]
        sizes = [run.table("topics", ["size"]).column("size").to_pylist() for run in (self.a, self.b)]
        first = [_first_words(run) for run in (self.a, self.b)]
        rows = []
        for link in self.links:
            row: dict[str, Any] = {"relation": link.relation, "kept": [], "lost": [], "gained": []}
            for name, number, names, of_size in zip("ab", (link.a, link.b), labels, sizes, strict=True):
                if number is not None:
                    row |= {name: number, f"{name}_label": names[number], f"{name}_size": of_size[number]}
            if link.a is not None and link.b is not None:
                row |= self._overlap(link.a, link.b)
                before, after = first[0][link.a], first[1][link.b]
                row["kept"] = [word for word in after if word in before]
                row["lost"] = [word for word in before if word not in after]
                row["gained"] = [word for word in after if word not in before]
            rows.append(row)
        return RELATIONS_OF_TOPICS.rows(rows)

    @cached_property
    def overlaps(self) -> pa.Table:
        """A row for each pair of topics with documents or words in common: a, b, documents, share_of_a, share_of_b, jaccard, words.

        Topic -1 stands for documents without one.
        """
        K, L = self.words.shape
        cosine = np.zeros((K + 1, L + 1))
        cosine[:K, :L] = self.words
        pairs = np.argwhere((self.table > 0) | (cosine >= _COSINE_SHOWN))
        rows = [{"a": -1 if i == K else i, "b": -1 if j == L else j, **self._overlap(i, j)} for i, j in pairs.tolist()]
        return OVERLAPS.rows(rows)

    def _overlap(self, i: int, j: int) -> dict[str, Any]:
        K, L = self.words.shape
        cosine = float(self.words[i, j]) if i < K and j < L else None
        if not self.shared:
            return {"words": cosine}
        n, of_a, of_b = (int(v) for v in (self.table[i, j], self.table[i].sum(), self.table[:, j].sum()))
        return {
            "documents": n,
            "share_of_a": n / of_a if of_a else None,
            "share_of_b": n / of_b if of_b else None,
            "jaccard": n / (of_a + of_b - n) if of_a + of_b - n else None,
            "words": cosine,
        }

    def counts(self) -> dict[str, int]:
        """Return how many topics of A were matched, split, vanished, and how many of B are merged or new."""
        of_link = {"split": "a", "vanished": "a", "matched": "a", "merged": "b", "new": "b"}
        topics = {(link.relation, getattr(link, of_link[link.relation])) for link in self.links}
        tally = Counter(relation for relation, _ in topics)
        return {relation: tally[relation] for relation in RELATIONS}

    def facts(self) -> dict[str, Any]:
        """Return what was compared and by what, the counts of relations, and how far the shared documents agree."""
        K, L = self.words.shape
        both = self.table[:K, :L]
        agree: dict[str, Any] = {"ami": None, "ari": None, "same": None, "moved": None}
        if both.sum():
            pairs = [(link.a, link.b) for link in self.links if link.a is not None and link.b is not None]
            same = int(sum(both[i, j] for i, j in pairs))
            agree = {
                "ami": float(adjusted_mutual_information(both)),
                "ari": float(adjusted_rand(both)),
                "same": same,
                "moved": int(both.sum()) - same,
            }
        return {
            "a": str(self.a.path), "b": str(self.b.path), "by": self.by, "threshold": self.threshold,
            "a_topics": K, "b_topics": L, "shared_documents": self.shared,
            "left_topics": int(self.table[:K, L].sum()), "joined_topics": int(self.table[K, :L].sum()),
            **agree, "relations": self.counts(),
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain values."""
        return {**self.facts(), "links": self.relations.to_pylist()}

    def picture(self, *, width: float = 17.5, height: float | None = None, style: str = "plain") -> Picture:
        """Return a picture: the topics of A on the left, of B on the right, joined by bands as wide as what they share.

        Args:
            width, height: cm; height: by the number of topics. style: plain, serif, grey or dark.

        Raises:
            UsageError: the names take all of the room; MissingError: the extra report is not installed.
        """
        from nlpkit.topics.diff.figure import diff_picture

        return diff_picture(self, width=width, height=height, style=style)

    def save(self, target: str | Path, *, table: str = "relations", force: bool = False) -> None:
        """Write the relations, or the overlaps. Raises OutputExistsError when the target is there."""
        save_run_table(
            target,
            getattr(self, table),
            f"topic_{table}",
            [self.a, self.b],
            command="diff",
            parameters=self.facts(),
            force=force,
        )


_OVERLAP = (
    Column("documents", pa.int64(), "Documents in both, null where the runs share none.", gaps=True),
    Column("share_of_a", pa.float64(), "Their share of the shared documents of topic a.", gaps=True),
    Column("share_of_b", pa.float64(), "Their share of those of topic b.", gaps=True),
    Column("jaccard", pa.float64(), "Their share of the documents of either.", gaps=True),
    Column("words", pa.float64(), "Cosine of the words, weighted by their ranks.", gaps=True),
)
OVERLAPS = TableSpec(
    "topic_overlaps", "A topic of A and one of B with documents or words in common.",
    Column("a", pa.int32(), "Topic of A, -1 for documents without one."),
    Column("b", pa.int32(), "Topic of B, -1 for documents without one."),
    *_OVERLAP,
)  # fmt: skip
RELATIONS_OF_TOPICS = TableSpec(
    "topic_relations", "A relation of a topic of A and one of B.",
    Column("relation", pa.string(), "matched, split, merged, vanished or new."),
    Column("a", pa.int32(), "Topic of A, null for a new one.", gaps=True),
    Column("a_label", pa.string(), "Its name.", gaps=True),
    Column("a_size", pa.int64(), "Its documents.", gaps=True),
    Column("b", pa.int32(), "Topic of B, null for one that vanished.", gaps=True),
    Column("b_label", pa.string(), "Its name.", gaps=True),
    Column("b_size", pa.int64(), "Its documents.", gaps=True),
    *_OVERLAP,
    Column("kept", pa.list_(pa.string()), "Words among the first ten of both."),
    Column("lost", pa.list_(pa.string()), "Words among those of a alone."),
    Column("gained", pa.list_(pa.string()), "Words among those of b alone."),
)  # fmt: skip


def diff(
    a: Any, b: Any, *, options: DiffOptions | None = None, execution: Execution | None = None, **settings: Any
) -> TopicDiff:
    """Return what became of the topics of a run in another one, whatever models made them (see `correspondence`).

    By documents, where the runs share them by id: how many of the documents of a topic are in a topic of the other run. Two topics
    without shared documents are compared by words. By words: the cosine of the stored words, weighted by rank, since the weights of
    different models cannot be compared.

    Args:
        a, b: run directories, runs that are open, or saved models.
        options: by what, and from which share or cosine on.
        execution: whether changed files are refused.
        settings: single options, such as by="words".

    Raises:
        InputError: no run of a topic model, or no document in common where documents are asked for.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> nk.diff(run, run).counts()["matched"]
        2
    """
    options, execution = with_settings((options, execution), settings, (DiffOptions, Execution))
    runs = [topic_run(run, execution) for run in (a, b)]
    tables = [run.table("documents", ["id", "topic"]) for run in runs]
    K, L = (len(labels_of(run)) for run in runs)
    ids, others = (table.column("id").combine_chunks() for table in tables)
    place = pc.index_in(ids, value_set=others)
    there = np.flatnonzero(place.is_valid().to_numpy(zero_copy_only=False))
    smaller = min(len(ids), len(others))
    by = options.by
    if by == "auto":
        by = "documents" if smaller and len(there) >= LEAST_SHARED * smaller else "words"
    if by == "documents" and not len(there):
        raise InputError(
            f"{runs[0].path} and {runs[1].path} have no document ID in common; compare them by words: `by=words`",
            parameter="by",
        )
    of_a = tables[0].column("topic").to_numpy()[there]
    of_b = tables[1].column("topic").to_numpy()[place.drop_null().to_numpy()]
    codes = [np.where(topic < 0, size, topic).astype(np.int32) for topic, size in ((of_a, K), (of_b, L))]
    table = contingency(codes[0], codes[1], shape=(K + 1, L + 1))
    words = cosines(*_words(runs))
    threshold = USUAL[by] if options.threshold is None else options.threshold
    if by == "words":
        links = correspondence(words, words, threshold=threshold)
    else:
        both = table[:K, :L].astype(np.float64)
        of_each, of_other = table[:K].sum(axis=1)[:, None], table[:, :L].sum(axis=0)[None, :]
        alone = np.where((of_each == 0) & (of_other == 0), words, 0.0)
        links = correspondence(_shares(both, of_each) + alone, _shares(both, of_other) + alone, threshold=threshold)
    return TopicDiff(runs[0], runs[1], by, threshold, links, len(there), table, words)


def _shares(both: FloatArray, whole: LongArray) -> FloatArray:
    whole = np.broadcast_to(whole.astype(np.float64), both.shape)
    return np.asarray(np.divide(both, whole, out=np.zeros_like(both), where=whole > 0))


def _ranked(run: Run) -> pa.Table:
    """Return topic, term, rank of the stored words: of LDA by relevance, which leaves behind words that all topics have."""
    table = run.table("topic_terms")
    if "relevance" not in table.column_names:
        return table.select(["topic", "term", "rank"])
    order = pc.sort_indices(table, [("topic", "ascending"), ("relevance", "descending"), ("rank", "ascending")])
    table = table.take(order)
    topic = table.column("topic").to_numpy()
    first = np.searchsorted(topic, topic)
    rank = pa.array(np.arange(1, len(topic) + 1) - first, pa.int32())
    return pa.table({"topic": table.column("topic"), "term": table.column("term"), "rank": rank})


def _words(runs: list[Run]) -> tuple[CsrMatrix, CsrMatrix]:
    """Return the words of the topics of both runs over the terms of both, (K, V) and (L, V)."""
    tables = [_ranked(run) for run in runs]
    place: dict[str, int] = {}
    codes = [
        np.array([place.setdefault(term, len(place)) for term in table.column("term").to_pylist()], np.int32)
        for table in tables
    ]
    matrices = []
    for run, table, terms in zip(runs, tables, codes, strict=True):
        topic, rank = (table.column(name).to_numpy().astype(np.int32) for name in ("topic", "rank"))
        matrices.append(ranked_words(topic, terms, rank, (len(labels_of(run)), max(len(place), 1))))
    return matrices[0], matrices[1]


def _first_words(run: Run) -> list[list[str]]:
    """Return the ten first words of each topic."""
    words: list[list[str]] = run.table("topics", ["top_terms"]).column("top_terms").to_pylist()
    return [(of_topic or [])[:WORDS] for of_topic in words]
