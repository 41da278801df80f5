"""Topics of a fit on embeddings: how their number was chosen, the table of topics, and how it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.io.topic_tables import TOP_TERMS, headlines
from nlpkit.plain import shell_line
from nlpkit.topics.choose import Candidate
from nlpkit.topics.clustering import usual_topic_size
from nlpkit.topics.description import TopicModel
from nlpkit.topics.evidence import CLEAR, FEWEST, TOLERANCE, NumberEvidence, angle
from nlpkit.topics.stability import LEAST_STABLE
from nlpkit.workflows.topic_notes import note_leading_term

if TYPE_CHECKING:
    from nlpkit.workflows.bertopic import FittedBertopic

TERMS_SHOWN = 8
NUMBER_SCORES: Sequence[str] = ("halves", "views", "words", "score")
CUT_SCORES: Sequence[str] = (
    "min_topic_size",
    "assigned",
    "validity",
    "separation",
    "agreement",
    "npmi",
    "diversity",
    "score",
)
LARGEST_NEAR_BEST = "the largest number that is about as good as the best"
LATER_PEAK = "the largest number of a later peak: the score falls after the best and rises again"
CLEAR_CUT = f"the largest number for which all three are {CLEAR} or more"
NEAREST_TO_TEN = (
    "the number nearest to ten of those whose score two layouts of the same documents cannot tell from the best"
)


def show_bertopic(fitted: FittedBertopic, target: Path) -> None:
    """Print the topics of a run that was written, or their JSON object."""
    if console.settings.json:
        console.emit_json({"run": str(target), **fitted.results(), "topics": fitted.topics.to_pylist()})
        return
    show_evidence(fitted.model, usual_topic_size(int((fitted.of_document >= 0).sum())), fitted.options.grain)
    show_topics(fitted)
    show_next(fitted, target)


def show_evidence(model: TopicModel, usual_size: int, grain: str = "middle") -> None:
    """Print the candidates of --k auto, the choice marked and why; or how exactly N topics came about."""
    if model.merges:
        reporting.note(
            f"{wording.counted(model.n_topics, 'topic')}: the cut with at least {model.min_topic_size} documents a topic gave "
            f"{model.n_topics + len(model.merges)}; the most similar pair (c-tf-idf) was merged "
            f"{'once' if len(model.merges) == 1 else f'{len(model.merges)} times'}"
        )
    if not model.candidates and model.min_topic_size is not None and model.min_topic_size < usual_size:
        reporting.note(
            f"so many topics needed a cut with {model.min_topic_size} documents a topic and more, where {usual_size} is usual here "
            "(--min-topic-size)"
        )
    if model.candidates:
        show_numbers(model.candidates, grain)


def show_numbers(candidates: Sequence[Candidate | NumberEvidence], grain: str = "middle") -> None:
    """Print the numbers of topics that were compared with their scores, and why one of them was chosen."""
    chosen = next(c for c in candidates if c.chosen)
    names, noun, reason = CUT_SCORES, "cuts", NEAREST_TO_TEN
    if isinstance(chosen, NumberEvidence):
        names, noun, reason = NUMBER_SCORES, "numbers", LARGEST_NEAR_BEST
        highest = max(c.score for c in candidates if c.k >= min(FEWEST, chosen.k))
        if angle(highest) - angle(chosen.score) > TOLERANCE:
            reason = LATER_PEAK
        if min(chosen.halves, chosen.views, chosen.words) >= CLEAR:
            reason = CLEAR_CUT
        if grain != "middle":
            reason = (
                f"the best number a layer {'above' if grain == 'coarse' else 'below'} the middle one (--grain {grain})"
            )
    columns = ["", "topics", *(name.replace("min_topic_size", "min size") for name in names)]
    rows: list[Sequence[str]] = [
        ["→" if c.chosen else "", str(c.k), *(_cell(getattr(c, name)) for name in names)] for c in candidates
    ]
    console.table(columns, rows, right=columns[1:], title="How many topics? Higher is better in every column.",
        noun=noun, sizes=[c.score for c in candidates], rest="manifest.json of the run")  # fmt: skip
    if isinstance(chosen, NumberEvidence):
        reporting.note(
            "halves: topics of one half of the documents, found from the other half · views: topics of the plain embeddings · "
            "words: topics read from the words of held-out documents"
        )
    best = max(candidates, key=lambda c: (c.score, -c.k))
    reporting.note(
        f"{wording.counted(chosen.k, 'topic')}: {reason} ({best.score:.3f} with {wording.counted(best.k, 'topic')})"
    )


def _cell(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def show_topics(fitted: FittedBertopic) -> None:
    """Print the topics with their words and a representative document."""
    table, words, model, rows = fitted.table, fitted.words, fitted.model, []
    for k in range(model.n_topics):
        top = " ".join(words.terms[t] for t in model.terms.term_ids[k, :TERMS_SHOWN] if t >= 0)
        share = model.size[k] / len(model.topics)
        first = [d for d in model.representatives[k] if d >= 0][:1]
        rows.append(
            [
                str(k),
                wording.count(model.size[k]),
                f"{share:.1%}",
                _stability(model.stability[k]),
                model.labels[k],
                top,
                *(headlines(table, first, 60) or [""]),
            ]
        )
    lost = int((model.topics < 0).sum())
    none = ["-1", wording.count(lost), f"{model.unassigned:.1%}", "", "(no topic)", "", ""]
    columns = ["topic", "size", "share", "stability", "name", "top words", "a representative document"]
    after = [none] if lost else []
    sizes = [float(n) for n in model.size]
    rest = "topics.parquet of the run"
    console.table(columns, rows, right=columns[:4], noun="topics", sizes=sizes, rest=rest, after=after)


def _stability(value: float) -> str:
    return f"{value:.2f}{' !' if value < LEAST_STABLE else '  '}" if np.isfinite(value) else ""


def show_next(fitted: FittedBertopic, target: Path) -> None:
    """Say what was written, how to read it, and what to type next."""
    model, seconds = fitted.model, fitted.seconds
    known = model.npmi[np.isfinite(model.npmi)]
    coherence = wording.if_defined(known.mean() if len(known) else None)
    by_words = any(isinstance(c, Candidate) for c in model.candidates)
    apart = "; the table above scores each cut by plain c-tf-idf words of its clusters" if by_words else ""
    reporting.note(
        f"{wording.counted(model.n_topics, 'topic')} in {sum(seconds.values()):.0f} s; NPMI {coherence}, diversity "
        f"{wording.if_defined(model.diversity)} (the top {TOP_TERMS} words of each topic, this corpus, whole documents{apart})"
    )
    if np.isfinite(model.agreement):
        dissolved = fitted.dissolved_topics()
        again = "all topics come back"
        if dissolved:
            numbers = wording.listed(dissolved, 10)
            again = f"marked !, and not to be relied on: {numbers} (stability under {LEAST_STABLE})"
        what = "a second layout" if fitted.options.cluster == "hdbscan" else "a fit to the other half of the documents"
        reporting.note(f"stability: {what} agrees with these topics at AMI {model.agreement:.2f}; {again}")
    if len(model.layers) > 1:
        sizes = " · ".join(f"[{len(x.parent)}]" if x.chosen else str(len(x.parent)) for x in model.layers)
        reporting.note(
            f"layers, coarse to fine: {sizes} topics ({shell_line('nlpkit', 'info', str(target), '--tree')})"
        )
    if model.outliers_joined:
        reporting.note(
            f"{wording.counted(model.outliers_joined, 'document')} between the clusters joined the topic of most of their neighbours "
            "(--no-join-neighbors leaves them out)"
        )
    if model.outliers_assigned:
        n = model.outliers_assigned
        what = (
            "1 document without a topic was moved to its"
            if n == 1
            else f"{n:,} documents without a topic were moved to their"
        )
        reporting.note(f"{what} nearest one")
    note_leading_term(model.terms.term_ids, fitted.words.terms, fitted.share_of_documents)
    if model.by_all_texts.any():
        few = np.flatnonzero(model.by_all_texts).tolist()
        topics, their = ("topic", "Its") if len(few) == 1 else ("topics", "Their")
        reporting.note(
            f"{topics} {wording.listed(few, 10)}: hardly a word is in two different texts. {their} words are ranked by plain "
            "c-tf-idf (--plain-terms)"
        )
    repeated = ""
    if model.text_agreement != model.rule_agreement:
        repeated = f" ({model.text_agreement:.0%} of the different texts, each without those that equal it)"
    reporting.note(
        "documents.parquet has the nearest topic and its margin of every document; new texts get the topic of their neighbours: "
        f"for {model.rule_agreement:.0%} of the documents here this rule gives the topic of the fit{repeated}"
    )
    if np.isfinite(model.least_similarity):
        reporting.note(
            f"new texts with a mean cosine under {model.least_similarity:.3f} to their nearest documents here get topic -1 "
            f"(--novelty-quantile {fitted.options.novelty_quantile:g})"
        )
    console.note_topic_run(target)
