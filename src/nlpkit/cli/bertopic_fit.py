"""`nlpkit bertopic` without --model: read, fit, write the run, show the topics."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.bertopic import TopicFlags, topic_parameters
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import OutputFlags, RunFlags
from nlpkit.cli.topic_show import say_leading_term
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import missing_extra
from nlpkit.io.artifacts import footer_block
from nlpkit.io.corpora import open_documents
from nlpkit.io.footers import step_parameters
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.run_reading import check_encoder
from nlpkit.io.runs import RunTables, manifest_of, stopwatch, write_run
from nlpkit.io.topic_tables import (
    TOP_TERMS,
    TOPIC_COLUMNS,
    doc_topics_table,
    documents_table,
    headlines,
    topic_terms_table,
    topics_table,
    training_tables,
    vocab_table,
)
from nlpkit.plain import shell_line
from nlpkit.text.options import TopicTokenOptions
from nlpkit.topics.bertopic import BertopicOptions, NumberOfTopics, TopicModel, fit_topics, smallest_topic
from nlpkit.topics.novelty import NOVELTY_QUANTILE, check_quantile
from nlpkit.weighting.dtm import count_terms, document_frequency
from nlpkit.workflows.corpus import has_text, no_documents, no_words, steps, warn_dropped
from nlpkit.workflows.embeddings import embedded_by, embeddings_of
from nlpkit.workflows.token_options import preprocess_options
from nlpkit.workflows.tokens import found_parameters, say_tokens, token_parameters, tokens_of

if TYPE_CHECKING:
    from nlpkit.text.preprocess import PreprocessReport
    from nlpkit.types import FloatArray, TokenTable

TERMS_SHOWN = 8
STAGES = {"neighbours": (0, 5, "neighbours"), "layout": (5, 95, "layout"), "topics": (95, 100, "choice and words")}


def fit(
    inputs: list[str],
    out: OutputFlags,
    topics: TopicFlags,
    encoder: EncoderOptions,
    tokens: TopicTokenOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fit topics and write a run directory. Raises InputError, UsageError and MissingError as its steps do."""
    target = out.run_target(inputs, "bertopic")
    options = BertopicOptions(
        k=NumberOfTopics.parse(topics.k),
        n_neighbors=topics.n_neighbors,
        n_components=topics.n_components,
        min_dist=topics.min_dist,
        min_topic_size=topics.min_topic_size,
        min_samples=topics.min_samples,
        assign_outliers=topics.assign_outliers,
        core_terms=topics.core_terms,
        join_neighbors=topics.join_neighbors,
        novelty_quantile=NOVELTY_QUANTILE if topics.novelty_quantile is None else topics.novelty_quantile,
        seed=run.seed,
        threads=run.n_threads(),
    )
    check_quantile(options.novelty_quantile)
    token_options = preprocess_options(tokens)
    seconds: dict[str, float] = {}
    if run.dry_run:
        dry_run(inputs, read, embeds=True)
        return
    if find_spec("hdbscan") is None:  # said now, not after an hour of encoding
        raise missing_extra("nlpkit bertopic", "neural")
    check_encoder(encoder.encoder, verify=run.verify)
    with stopwatch(seconds, "read"), open_documents(inputs, read) as stream:
        made_by = embedded_by(stream)
        table = stream.read_all()
    if not table.num_rows:
        raise no_documents(stream)
    for name in TOPIC_COLUMNS:
        if name in table.column_names:
            reporting.warn(f"the column '{name}' of the input is not kept: the run has its own")
    with stopwatch(seconds, "tokens"):
        words, report = tokens_of(table, token_options)
    if report is not None:
        say_tokens(report)
        warn_of_language(report, encoder, table)
    if not words.n_terms:
        raise no_words(table.num_rows, ", so topics would have no names")
    with stopwatch(seconds, "embeddings"):
        usable = has_text(table.column("text"))
        embeddings, encoder_info = embeddings_of(table, made_by, encoder, run.n_threads(), usable)
    if not usable.all():
        reporting.note(f"{wording.counted(int((~usable).sum()), 'document')} without text: no embedding, no topic")
    with stopwatch(seconds, "topics"), reporting.progress("topics", 100, percent=True) as update:

        def step(stage: str, share: float) -> None:
            start, end, name = STAGES.get(stage, (0, 100, stage))
            update(int(start + (end - start) * share), f"topics: {name}")

        model = fit_topics(embeddings, words, usable, options, progress=step)
        update(100)

    parameters = {**topic_parameters(topics, options.novelty_quantile), "min_topic_size_in_force": model.min_topic_size}
    token_info = {**token_parameters(token_options), **found_parameters(report)} if report is not None else None
    earlier = steps(stream)
    parameters |= {"encoder": encoder_info, "tokens": token_info or step_parameters(earlier, "preprocess")}
    block = footer_block(
        "run", command="bertopic", parameters=parameters, seed=run.seed, inputs=stream.inputs, steps=earlier
    )
    tables, left_out = run_tables(table, words, model)
    config = {
        "kind": "bertopic",
        "n_topics": model.n_topics,
        "labels": list(model.labels),
        "n_neighbors": options.n_neighbors,
        "encoder": encoder_info,
        "dim": int(embeddings.shape[1]),
        "rule_agreement": round(model.rule_agreement, 6),
        "novelty": {
            "quantile": options.novelty_quantile,
            "least_similarity": model.least_similarity if np.isfinite(model.least_similarity) else None,
        },
        "languages": (parameters["tokens"] or {}).get("languages"),
    }
    results = {**summary(table, model), "doc_topics_left_out": round(left_out, 6), "evidence": evidence_rows(model)}
    write_run(
        target,
        RunTables(tables, training_tables(table, embeddings, model, usable), config, stream.dropped),
        block,
        manifest_of(
            "bertopic",
            parameters=parameters,
            seed=run.seed,
            threads=run.n_threads(),
            inputs=stream.inputs,
            seconds={**seconds, **{f"topics.{k}": v for k, v in model.seconds.items()}},
            results=results,
        ),
        force=out.force,
    )
    warn_dropped(stream, target / "dropped.parquet")
    if run.json:
        console.emit_json({"run": str(target), **results, "topics": tables["topics"].to_pylist()})
        return
    show_evidence(model, smallest_topic(int(usable.sum())))
    show_topics(table, words, model)
    documents_with = np.asarray(tables["vocab"].column("df").to_numpy() / table.num_rows)
    show_next(target, model, seconds, options.novelty_quantile, words, documents_with)


def warn_of_language(report: PreprocessReport, flags: EncoderOptions, table: pa.Table) -> None:
    """Warn when an English encoder is about to encode a corpus that is mostly in another language."""
    english = "all-minilm" in flags.name.lower()
    if english and "embedding" not in table.column_names and report.languages and report.languages[0].code != "en":
        reporting.warn(
            f"the corpus is mostly '{report.languages[0].code}' and {flags.name} knows English best: topics may follow "
            "style more than matter; a multilingual model serves better, such as "
            "--encoder sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
        )


def run_tables(table: pa.Table, words: TokenTable, model: TopicModel) -> tuple[dict[str, pa.Table], float]:
    """Return the tables of the run directory, and the probability mass left out of doc_topics."""
    dtm = count_terms(words)
    doc_topics, left_out = doc_topics_table(table, model)
    cf = np.bincount(words.term_ids, minlength=words.n_terms)
    return {
        "documents": documents_table(table, model),
        "topics": topics_table(table, model, words.terms),
        "topic_terms": topic_terms_table(model, words.terms),
        "doc_topics": doc_topics,
        "vocab": vocab_table(words.terms, cf, document_frequency(dtm)),
    }, left_out


def summary(table: pa.Table, model: TopicModel) -> dict[str, Any]:
    """Return the numbers that describe a fit."""
    finite = model.npmi[np.isfinite(model.npmi)]
    return {
        "documents": table.num_rows,
        "n_topics": model.n_topics,
        "unassigned": round(model.unassigned, 6),
        "npmi": round(float(finite.mean()), 6) if len(finite) else None,
        "diversity": round(model.diversity, 6) if np.isfinite(model.diversity) else None,
        "outliers_joined": model.outliers_joined,
        "outliers_assigned": model.outliers_assigned,
        "merges": [[a, b, round(s, 6)] for a, b, s in model.merges],
        "rule_agreement": round(model.rule_agreement, 6),
    }


def evidence_rows(model: TopicModel) -> list[dict[str, Any]]:
    """Return the candidates of --k auto as plain rows."""
    return [{k: round(v, 6) if isinstance(v, float) else v for k, v in c.as_dict().items()} for c in model.candidates]


def show_evidence(model: TopicModel, usual_size: int) -> None:
    """Print the candidates of --k auto, the choice marked and why; or how exactly N topics came about."""
    if model.merges:
        reporting.note(
            f"{wording.counted(model.n_topics, 'topic')}: the cut with at least {model.min_topic_size} documents a topic gave "
            f"{model.n_topics + len(model.merges)}; the most similar pair (c-tf-idf) was merged "
            f"{'once' if len(model.merges) == 1 else f'{len(model.merges)} times'}"
        )
    if not model.candidates and model.min_topic_size < usual_size:
        reporting.note(
            f"so many topics needed a cut with {model.min_topic_size} documents a topic and more, where {usual_size} is usual here "
            "(--min-topic-size)"
        )
    if not model.candidates:
        return
    names = ["assigned", "validity", "separation", "agreement", "npmi", "diversity", "score"]
    columns = ["", "topics", "min size", *names]
    rows: list[Sequence[str]] = [
        ["→" if c.chosen else "", str(c.k), str(c.min_topic_size), *(f"{getattr(c, n):.3f}" for n in names)]
        for c in model.candidates
    ]
    console.table(columns, rows, right=columns[1:], title="How many topics? Higher is better in every column.",
        noun="cuts", sizes=[c.score for c in model.candidates], rest="manifest.json of the run")  # fmt: skip
    best = max(model.candidates, key=lambda c: (c.score, -c.k))
    chosen = next(c for c in model.candidates if c.chosen)
    reporting.note(
        f"{wording.counted(chosen.k, 'topic')}: the number nearest to ten of those whose score two layouts of the same documents cannot "
        f"tell from the best ({best.score:.3f} with {wording.counted(best.k, 'topic')})"
    )


def show_topics(table: pa.Table, words: TokenTable, model: TopicModel) -> None:
    """Print the topics with their words and a representative document."""
    rows = []
    for k in range(model.n_topics):
        top = " ".join(words.terms[t] for t in model.terms.term_ids[k, :TERMS_SHOWN] if t >= 0)
        share = model.size[k] / len(model.topics)
        first = [d for d in model.representatives[k] if d >= 0][:1]
        rows.append(
            [str(k), wording.count(model.size[k]), f"{share:.1%}", model.labels[k], top, *headlines(table, first, 60)]
        )
    lost = int((model.topics < 0).sum())
    none = ["-1", wording.count(lost), f"{model.unassigned:.1%}", "(no topic)", "", ""]
    columns = ["topic", "size", "share", "name", "top words", "a representative document"]
    console.table(columns, rows, right=columns[:3], noun="topics", rest="topics.parquet of the run", after=[none])


def show_next(
    target: Path,
    model: TopicModel,
    seconds: dict[str, float],
    quantile: float,
    words: TokenTable,
    documents_with: FloatArray,
) -> None:
    """Say what was written, how to read it, and what to type next."""
    finite = model.npmi[np.isfinite(model.npmi)]
    coherence = f"{finite.mean():.3f}" if len(finite) else "not defined"
    apart = "; the table above scores each cut by plain c-tf-idf words of its clusters" if model.candidates else ""
    reporting.note(
        f"{wording.counted(model.n_topics, 'topic')} in {sum(seconds.values()):.0f} s; NPMI {coherence}, diversity "
        f"{model.diversity:.3f} (the top {TOP_TERMS} words of each topic, this corpus, whole documents{apart})"
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
    say_leading_term(model.terms.term_ids, words.terms, documents_with)
    reporting.note(
        "documents.parquet has the nearest topic and its margin of every document; new texts get the topic of their "
        f"neighbours: for {model.rule_agreement:.0%} of the documents here this rule gives the topic of the fit"
    )
    if np.isfinite(model.least_similarity):
        reporting.note(
            f"new texts with a mean cosine under {model.least_similarity:.3f} to their nearest documents here get topic -1 "
            f"(--novelty-quantile {quantile:g})"
        )
    reporting.note(f"wrote {target}/{console.next_step('info', target)}")
    predict = shell_line("nlpkit", "bertopic", "NEW.jsonl", "--model", target, "-o", "predicted.parquet")
    reporting.note(f"              or: {predict}")
