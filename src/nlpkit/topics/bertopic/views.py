"""Topics of a fit on embeddings: how their number was chosen, the topics, what became of them with newer documents, what to type next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit.platform import wording
from nlpkit.platform.cli import console
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.blocks import Block, Note, Table, cell
from nlpkit.topics.base.notes import TopicResult, note_advice
from nlpkit.topics.base.topic_tables import TOP_TERMS, headlines
from nlpkit.topics.base.views import TERMS_SHOWN, topics_block
from nlpkit.topics.bertopic.choose import Candidate
from nlpkit.topics.bertopic.clustering import usual_topic_size
from nlpkit.topics.bertopic.description import TopicModel
from nlpkit.topics.bertopic.evidence import CLEAR, FEWEST, TOLERANCE, NumberEvidence, angle
from nlpkit.topics.mixture_views import topic_run_notes

if TYPE_CHECKING:
    from nlpkit.topics.bertopic.run import FittedBertopic
    from nlpkit.topics.bertopic.update_run import UpdatedRun

NUMBER_SCORES = {"halves": "halves agree", "views": "views agree", "words": "words agree", "score": "score"}
CUT_SCORES = {
    "min_topic_size": "smallest topic",
    "assigned": "assigned",
    "validity": "validity",
    "separation": "separation",
    "agreement": "layouts agree",
    "npmi": "NPMI",
    "diversity": "diversity",
    "score": "score",
}
NUMBER_MEANINGS = (
    "halves agree: do both halves of the documents give the same topics? · views agree: do raw and smoothed embeddings? · "
    "words agree: do the words of a document alone tell its topic? · score: their mean, smoothed (1: always, 0: by chance)"
)
CUT_MEANINGS = (
    "assigned: share of documents with a topic · validity: how dense the topics are (DBCV) · separation: how few neighbours they share · "
    "layouts agree: does a second layout give the same topics? · NPMI, diversity: of their words · score: the mean of these"
)
BEST = "the best score"
LARGEST_NEAR_BEST = "the largest number with about the best score"
LATER_PEAK = "the score falls after its best and rises to a second peak, whose largest number is taken"
CLEAR_CUT = f"the largest number for which all three agree at {CLEAR} or more"
NEAREST_TO_TEN = "the number nearest to ten of those with about the best score"


def show_bertopic(fitted: FittedBertopic, target: Path) -> None:
    """Print the topics of a run that was written, or their JSON object."""
    console.say(
        bertopic_blocks(fitted, target),
        lambda: {"run": str(target), **fitted.results(), "topics": fitted.topics.to_pylist()},
    )


def bertopic_blocks(fitted: FittedBertopic, target: Path) -> Iterator[Block]:
    """Yield how the number of topics came about, the topics, how good they are, and what to type next."""
    usual = usual_topic_size(int((fitted.of_document >= 0).sum()))
    yield from evidence_blocks(fitted.model, usual, fitted.options.grain)
    yield topics_of(fitted)
    yield from next_blocks(fitted, target)


def evidence_blocks(model: TopicModel, usual_size: int, grain: str = "middle") -> Iterator[Block]:
    """Yield the candidates of --k auto, the choice marked and why; or how exactly N topics came about."""
    if model.merges:
        yield Note(
            f"{wording.counted(model.n_topics, 'topic')}: the cut with at least {model.min_topic_size} documents a topic gave "
            f"{model.n_topics + len(model.merges)}; the most similar pair (c-tf-idf) was merged "
            f"{'once' if len(model.merges) == 1 else f'{len(model.merges)} times'}"
        )
    if not model.candidates and model.min_topic_size is not None and model.min_topic_size < usual_size:
        yield Note(
            f"so many topics needed a cut with {model.min_topic_size} documents a topic and more, where {usual_size} is usual here "
            "(--min-topic-size)"
        )
    if model.candidates:
        yield from number_blocks(model.candidates, grain)


def number_blocks(candidates: Sequence[Candidate | NumberEvidence], grain: str = "middle") -> Iterator[Block]:
    """Yield the numbers of topics that were compared with their scores, and why one of them was chosen."""
    chosen = next(c for c in candidates if c.chosen)
    best = max(candidates, key=lambda c: (c.score, -c.k))
    by_number = isinstance(chosen, NumberEvidence)
    names, noun = (NUMBER_SCORES, "numbers") if by_number else (CUT_SCORES, "cuts")
    columns = ["", "topics", *names.values()]
    rows: list[Sequence[str]] = [
        ["→" if c.chosen else "", str(c.k), *(cell(getattr(c, name)) for name in names)] for c in candidates
    ]
    yield Table(columns, rows, right=columns[1:], title="How many topics? Higher is better in every column.",
        noun=noun, sizes=[c.score for c in candidates], rest="manifest.json of the run")  # fmt: skip
    yield Note(NUMBER_MEANINGS if by_number else CUT_MEANINGS)
    other = "" if best is chosen else f"; the best score is {best.score:.3f}, with {wording.counted(best.k, 'topic')}"
    yield Note(
        f"{wording.counted(chosen.k, 'topic')}: {_reason(chosen, best, candidates, grain)} (score {chosen.score:.3f}{other})"
    )


def _reason(
    chosen: Candidate | NumberEvidence,
    best: Candidate | NumberEvidence,
    candidates: Sequence[Candidate | NumberEvidence],
    grain: str,
) -> str:
    """Return why a number of topics was chosen."""
    if isinstance(chosen, NumberEvidence):
        if grain != "middle":
            layer = "coarser" if grain == "coarse" else "finer"
            return f"the best number of the next {layer} layer (--grain {grain})"
        if min(chosen.halves, chosen.views, chosen.words) >= CLEAR:
            return CLEAR_CUT
        highest = max(c.score for c in candidates if c.k >= min(FEWEST, chosen.k))
        if angle(highest) - angle(chosen.score) > TOLERANCE:
            return LATER_PEAK
    if chosen is best:
        return BEST
    return LARGEST_NEAR_BEST if isinstance(chosen, NumberEvidence) else NEAREST_TO_TEN


def topics_of(fitted: FittedBertopic) -> Table:
    """Return the topics with their words and a representative document."""
    model, words = fitted.model, fitted.words
    topics = fitted.topics.to_pylist()
    for k, topic in enumerate(topics):
        topic["share"] = model.size[k] / len(model.topics)  # the table has 32 bits, which round otherwise
        topic["top_terms"] = [words.terms[t] for t in model.terms.term_ids[k] if t >= 0]
    first = ([d for d in documents if d >= 0][:1] for documents in model.representatives)
    documents = [(headlines(fitted.table, one, 60) or [""])[0] for one in first]
    lost = int((model.topics < 0).sum())
    none = [["-1", wording.count(lost), f"{model.unassigned:.1%}", "", "(no topic)", "", ""]] if lost else []
    return topics_block(topics, {name: name for name in ("size", "share", "stability")}, documents, after=none)


def next_blocks(fitted: FittedBertopic, target: Path) -> Iterator[Block]:
    """Yield how good the topics are, what was written, what to look at and what to type next."""
    model, seconds = fitted.model, fitted.seconds
    known = model.npmi[np.isfinite(model.npmi)]
    coherence = wording.if_defined(known.mean() if len(known) else None)
    by_words = any(isinstance(c, Candidate) for c in model.candidates)
    apart = "; the table above scores each cut by plain c-tf-idf words of its clusters" if by_words else ""
    yield Note(
        f"{wording.counted(model.n_topics, 'topic')} in {sum(seconds.values()):.0f} s; NPMI (documents) {coherence}, diversity "
        f"{wording.if_defined(model.diversity)} (of the top {TOP_TERMS} words of each topic, higher is better{apart})"
    )
    if np.isfinite(model.agreement):
        again = "" if fitted.dissolved_topics() else "; all topics come back"
        yield Note(
            f"stability: {_repeated(fitted)} agrees with these topics at AMI {model.agreement:.2f} (1: the same, 0: by chance){again}"
        )
    if len(model.layers) > 1:
        sizes = " · ".join(f"[{len(x.parent)}]" if x.chosen else str(len(x.parent)) for x in model.layers)
        yield Note(f"layers, coarse to fine: {sizes} topics ({shell_line('nlpkit', 'info', str(target), '--tree')})")
    yield from outlier_notes(model)
    if model.by_all_texts.any():
        few = np.flatnonzero(model.by_all_texts).tolist()
        topics, their = ("topic", "Its") if len(few) == 1 else ("topics", "Their")
        yield Note(
            f"{topics} {wording.listed(few, 10)}: hardly a word is in two different texts. {their} words are ranked by plain "
            "c-tf-idf (--plain-terms)"
        )
    yield prediction_note(fitted)
    note_advice(topic_result(fitted))
    yield from topic_run_notes(target)


def outlier_notes(model: TopicModel) -> Iterator[Block]:
    """Yield which documents got a topic although the clusters left them out."""
    if model.outliers_joined:
        yield Note(
            f"{wording.counted(model.outliers_joined, 'document')} between the clusters joined the topic of most of their neighbours "
            "(--no-join-neighbors leaves them out)"
        )
    if model.outliers_assigned:
        n = model.outliers_assigned
        moved = (
            "document without a topic was moved to its" if n == 1 else "documents without a topic were moved to their"
        )
        yield Note(f"{wording.count(n)} {moved} nearest one")


def prediction_note(fitted: FittedBertopic) -> Note:
    """Return how new texts get a topic, how often this is the topic of the fit, and which get none."""
    model, repeated = fitted.model, ""
    if model.text_agreement != model.rule_agreement:
        repeated = f" ({model.text_agreement:.0%} of the different texts, each without those that equal it)"
    novel = ""
    if np.isfinite(model.least_similarity):
        novel = (
            f". Texts with a mean cosine under {model.least_similarity:.3f} to their nearest documents here get topic -1 "
            f"(--novelty-quantile {fitted.options.novelty_quantile:g})"
        )
    return Note(
        f"new texts get the topic of their neighbours; for {model.rule_agreement:.0%} of the documents here this is the topic of the "
        f"fit{repeated}{novel}"
    )


def topic_result(fitted: FittedBertopic) -> TopicResult:
    """Return what advice about the topics needs. Columns that topics may mirror, the label and the date, are left out."""
    columns = None
    if "debias" not in fitted.guidance and fitted.corpus is not None:
        read = fitted.corpus.options
        known = {"id", "text", "label", "date", read.label_col, read.date_col}
        columns = fitted.table.select([name for name in fitted.table.column_names if name not in known])
    return TopicResult(
        fitted.model.topics, fitted.model.terms.term_ids, fitted.words, unreliable=fitted.dissolved_topics(),
        repeated=_repeated(fitted), columns=columns, can_assign=True,
    )  # fmt: skip


def _repeated(fitted: FittedBertopic) -> str:
    return "a second layout" if fitted.options.cluster == "hdbscan" else "a fit to the other half of the documents"


def show_update(longer: UpdatedRun, target: Path, run: Path) -> None:
    """Print the topics of a run with newer documents that was written, or their JSON object."""

    def facts() -> dict[str, Any]:
        rows = [{**topic, **change} for topic, change in zip(longer.topics.to_pylist(), longer.changes, strict=True)]
        results = {name: value for name, value in longer.model.results().items() if name not in ("evidence", "merges")}
        return {"run": str(target), **longer.lineage, "results": results, "unlike": longer.unlike, "topics": rows}

    console.say(update_blocks(longer, target, run), facts)


def update_blocks(longer: UpdatedRun, target: Path, run: Path) -> Iterator[Block]:
    """Yield what became of each topic when newer documents came."""
    cells: list[list[str]] = []
    topics = longer.topics.to_pylist()
    for topic, change in zip(topics, longer.changes, strict=True):
        came, went = sum(change["from_topics"].values()), sum(change["to_topics"].values())
        before = "" if change["is_new"] else cell(change["before"])
        moves = [f"{n:+,}" if n else "" for n in (change["new"], came, -went)]
        number = f"{topic['topic']}{' new' if change['is_new'] else ''}"
        terms = " ".join(topic["top_terms"][:TERMS_SHOWN])
        cells.append([number, before, cell(change["now"]), *moves, topic["label"], terms])
    columns = ["topic", "before", "now", "newer", "moved in", "moved out", "name", "top words"]
    sizes = [change["now"] for change in longer.changes]
    yield Table(columns, cells, right=columns[1:6], noun="topics", rest="topics.parquet of the run", sizes=sizes)
    n_new = sum(change["is_new"] for change in longer.changes)
    joined = sum(change["new"] for change in longer.changes if not change["is_new"])
    in_new = sum(change["new"] for change in longer.changes if change["is_new"])
    yield Note(
        f"{wording.counted(longer.n_newer, 'newer document')}: {joined:,} joined topics of {run}, {in_new:,} in "
        f"{wording.counted(n_new, 'new topic')}, {longer.n_newer - joined - in_new:,} without a topic"
        + (f" ({longer.unlike:,} different ones unlike everything there)" if longer.unlike else "")
    )
    for change in longer.changes:
        came = change["from_topics"]
        if came:
            where = [f"no topic ({n:,})" if other == "-1" else f"{other} ({n:,})" for other, n in came.items()]
            n = sum(came.values())
            yield Note(
                f"{wording.counted(n, 'document')} moved to topic {change['topic']}, from {wording.listed(where, 10)}"
            )
    yield from topic_run_notes(target)
