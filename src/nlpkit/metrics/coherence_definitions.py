"""Definitions of the coherence measures: segmentation × probability × confirmation × aggregation (Röder, Both & Hinneburg 2015)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from nlpkit.errors import UsageError, unknown_value
from nlpkit.metrics.confirmation import EPSILON
from nlpkit.metrics.windows import Windows

Segmentation: TypeAlias = Literal["one_one", "one_preceding", "one_succeeding", "one_set", "one_all"]
Confirmation: TypeAlias = Literal["npmi", "pmi", "log_conditional", "fitelson"]
Unseen: TypeAlias = Literal["floor", "plus_one", "epsilon", "epsilon_both", "none"]
Absent: TypeAlias = Literal["as_asked", "dropped", "dropped_first", "zero"]


@dataclass(frozen=True, slots=True)
class CoherenceMeasure:
    """A coherence measure.

    - segmentation: which words W' are compared with which W*. one_one: all pairs of different words; one_preceding: each
      word against those before it in the list; one_succeeding: against those after it; one_set, one_all: against the sum
      of all words, or of all others (only with context vectors).
    - windows: the definition of co-occurrence, see `Windows`.
    - confirmation: how much W* supports W', see `nlpkit.metrics.confirmation`.
    - context_vectors: instead of the confirmation of W' by W* the cosine of their vectors of confirmations by all words
      of the topic, each to the power gamma.
    - aggregation: of the confirmations of a topic.
    - unseen: what a pair that never meets is worth. floor: -1 of NPMI, and 1 for a pair in all windows (Bouma 2009);
      plus_one: one window more (Mimno et al. 2011); epsilon: ε is added to its probability; epsilon_both: and to the
      product of the probabilities of its words (tomotopy); none: the measure is defined as it is.
    - absent: what becomes of words that are in no window. as_asked: the argument of `coherence`; dropped: they are left out
      of the topic; dropped_first: before it is cut to its top words; zero: they confirm with 0.
    - min_count: fewer windows count as none.
    - relevant_only: probabilities are shares of the windows of documents that hold a word of any topic.
    - all_pairs: the vectors hold confirmations by the words of all topics: needs plan_pairs(topics, all_pairs=True).
    - compat: the program whose scores these are; source: where the definition stands.
    """

    name: str
    segmentation: Segmentation
    windows: Windows
    confirmation: Confirmation
    unseen: Unseen
    source: str
    context_vectors: bool = False
    gamma: int = 1
    epsilon: float = EPSILON
    aggregation: Literal["mean", "median"] = "mean"
    absent: Absent = "as_asked"
    min_count: int = 1
    relevant_only: bool = False
    all_pairs: bool = False
    compat: str | None = None

    def __post_init__(self) -> None:
        if self.segmentation in ("one_set", "one_all") and not self.context_vectors:
            raise UsageError(
                f"the segmentation {self.segmentation} needs context vectors: sets of words are not counted"
            )

    @property
    def window(self) -> int | None:
        """Tokens of a window; None: the whole document."""
        return self.windows.size

    def describe(self) -> dict[str, Any]:
        """Return the definition as plain values, for JSON."""
        uses_epsilon = self.unseen in ("epsilon", "epsilon_both")
        return {
            "name": self.name,
            "segmentation": self.segmentation,
            "window": "document" if self.window is None else self.window,
            "window_rule": self.windows.rule,
            "confirmation": self.confirmation,
            "context_vectors": self.context_vectors,
            "gamma": self.gamma if self.context_vectors else None,
            "aggregation": self.aggregation,
            "unseen_pairs": self.unseen,
            "epsilon": self.epsilon if uses_epsilon else None,
            "absent_words": self.absent,
            "min_count": self.min_count,
            "relevant_documents_only": self.relevant_only,
            "vectors_over_all_topics": self.all_pairs,
            "compat": self.compat,
            "source": self.source,
        }


_RODER = "Röder, Both & Hinneburg 2015"
DEFINITIONS: dict[str, CoherenceMeasure] = {
    m.name: m
    for m in (
        CoherenceMeasure(
            "npmi", "one_one", Windows(10), "npmi", "floor", f"Bouma 2009; Lau, Newman & Baldwin 2014; {_RODER}, C_NPMI"
        ),
        CoherenceMeasure("pmi", "one_one", Windows(10), "pmi", "epsilon", f"Newman et al. 2010; {_RODER}, C_UCI"),
        CoherenceMeasure(
            "umass", "one_preceding", Windows(None), "log_conditional", "plus_one", "Mimno et al. 2011; mean, not sum"
        ),
        CoherenceMeasure("c_v", "one_set", Windows(110), "npmi", "epsilon", f"{_RODER}, C_V", context_vectors=True),
        CoherenceMeasure("c_p", "one_preceding", Windows(70), "fitelson", "none", f"{_RODER}, C_P; Fitelson 2003"),
    )
}
COMPAT = ("gensim", "octis", "palmetto", "tomotopy")


def measure(name: str, *, window: int | Literal["own"] | None = "own", compat: str | None = None) -> CoherenceMeasure:
    """Return a coherence measure by its name.

    Our own definitions (compat None), of boolean sliding windows or documents, all means over the pairs of a topic:

        npmi   one_one, window 10:  ln(p(u, v) / p(u) p(v)) / -ln p(u, v);  -1 if never together, 1 if in all windows
        pmi    one_one, window 10 (C_UCI):  ln((p(u, v) + ε) / p(u) p(v)),  ε = 1e-12
        umass  one_preceding, document:  ln((D(u, v) + 1) / D(v)),  v before u
        c_v    one_set, window 110:  the cosine of a word's vector of NPMI (with ε, as in the paper) with the sum of all
               words' vectors. It is high for words that never meet, too (their vectors are alike): prefer npmi.
        c_p    one_preceding, window 70:  Fitelson's confirmation of u by v

    Those of other programs, from the same tokens:

    - gensim (CoherenceModel of 4.4: c_npmi, c_uci, u_mass, c_v, per topic to 1e-9): ε is added to p(u, v), so that a pair
      that never meets has not -1, and one in all windows has; in windows a repeated word is forgotten too early (`Windows`).
      Words that are not in the texts are dropped before a list is cut to its top words, as if the dictionary came from the
      same texts, and no list is cut unless the first is longer than top_n; a topic without two of them is NaN (gensim: NaN
      of one, ValueError of none). Words that a topic repeats count once here.
    - octis (Coherence of 1.14): gensim's CoherenceModel with topk = 10; it raises if the first topic is shorter.
    - tomotopy (coherence.Coherence of 0.14.0: c_npmi, c_uci, u_mass, to 1e-9, c_v, in single precision there, to 1e-5), with
      all words of the plan as its `targets`: ε stands in the denominator too; windows do not see their first token, and
      documents without a target are not counted (`Windows`); unknown words are left out. Its c_v has vectors over all targets,
      so that the score of a topic depends on the other topics, and needs plan_pairs(topics, all_pairs=True). A word that only
      stands first in documents counts as unknown here. An LDAModel as its corpus lacks the words that the model removed.
    - palmetto (npmi, uci, umass, c_v, c_p; read in its source, not run): counts below 10 · window (10 for documents) are 0,
      which zeroes rare words; a pair with such a word confirms with 0 (c_p: with -1 if only W* is rare).

    Args:
        window: tokens of a window, None for the whole document, "own" for the size the measure is known with.
        compat: a program of COMPAT.

    Raises:
        UsageError: no such measure, program or window.
    """
    if name not in DEFINITIONS:
        raise unknown_value("measure", name, DEFINITIONS)
    definition = DEFINITIONS[name]
    if compat is not None and compat not in COMPAT:
        raise unknown_value("compat", compat, COMPAT)
    if window != "own":
        if name == "umass" and window is not None and compat not in (None, "palmetto"):
            raise UsageError(
                f"u_mass of {compat} counts documents, not windows of {window}; leave the window out",
                parameter="window",
            )
        definition = replace(definition, windows=Windows(window))
    if compat is None:
        return definition
    if compat == "palmetto":
        rare = 10 * (definition.window or 1)
        return _as_of(definition, compat, "Palmetto, dice-group/Palmetto", "boolean", absent="zero", min_count=rare)
    if name == "c_p":
        raise UsageError(f"{compat} has no c_p; it is in palmetto, and without `compat`", parameter="compat")
    if compat == "tomotopy":
        every, relevant = name == "c_v", definition.window is not None
        options: dict[str, Any] = {"absent": "dropped", "relevant_only": relevant, "all_pairs": every}
        return replace(
            _as_of(definition, compat, "tomotopy 0.14.0, Coherence", "tomotopy", **options), unseen="epsilon_both"
        )
    source = "gensim 4.4, CoherenceModel" + ("; OCTIS 1.14, Coherence" if compat == "octis" else "")
    return _as_of(definition, compat, source, "gensim", absent="dropped_first")


def _as_of(
    definition: CoherenceMeasure,
    compat: str,
    source: str,
    rule: Literal["boolean", "gensim", "tomotopy"],
    **options: Any,
) -> CoherenceMeasure:
    """Return the measure as another program has it; documents as windows are the same everywhere."""
    windows = Windows(definition.window, rule if definition.window is not None else "boolean")
    unseen: Unseen = "none" if definition.confirmation == "fitelson" else "epsilon"
    return replace(definition, windows=windows, unseen=unseen, compat=compat, source=source, **options)
