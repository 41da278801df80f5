"""Edited topics of LDA: counts of topics added up or left out, and all that is said of them worked out again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nlpkit import reporting
from nlpkit.errors import InputError
from nlpkit.io.cost import stopwatch
from nlpkit.io.mixture_runs import LDA, Additions, TopicCorpus, mixture_run
from nlpkit.io.mixture_tables import read_doc_topic, read_model
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.runs import Run
from nlpkit.io.table_spec import numbers
from nlpkit.parameters import Execution
from nlpkit.topics.debias import debiased_tokens
from nlpkit.topics.edits import EditPlan, names_after
from nlpkit.topics.lda.edited import EditedModel, edited_assignments, edited_model
from nlpkit.topics.lda.fit import LdaFit
from nlpkit.topics.lda.likelihood import dirichlet_multinomial
from nlpkit.topics.lda.options import DescriptionOptions
from nlpkit.topics.mixtures.model import MixtureModel
from nlpkit.topics.naming import exclusive_terms, topic_names
from nlpkit.types import CsrMatrix, IntArray, TokenTable
from nlpkit.workflows.edit_documents import documents_again
from nlpkit.workflows.guidance import groups_of
from nlpkit.workflows.lda_model import FittedLda, LdaReport

OF_CHAINS = ("prototype", "matched_topics", "topic_similarity")


@dataclass(frozen=True, slots=True)
class StoredLda:
    """A fit of LDA as its run holds it: counts n_kv and n_dk (D, K), the topics (N,) of the tokens if it has them.

    corpus: the documents as the fit counted them.
    """

    run: Run
    model: MixtureModel
    doc_topic: CsrMatrix
    assignments: IntArray | None
    corpus: TopicCorpus


def read_lda_fit(run: Run, documents: Any, read: ReadOptions, execution: Execution, stack: ExitStack) -> StoredLda:
    """Return a fit of lda-gibbs with its documents, which are closed with the stack.

    Raises:
        InputError: the documents are gone, have changed, or are not cut into words again; the run is damaged, or of another kind.
    """
    model, n_docs = read_model(run), int(run.manifest["results"]["documents"])
    doc_topic = read_doc_topic(run, n_docs, model.n_topics)
    if doc_topic is None:
        raise InputError(
            f"{run.path} does not hold how many tokens of each document a topic has (model/doc_topic.parquet): it "
            "is from an older nlpkit; fit it again"
        )
    words = stack.enter_context(documents_again(run, model.terms, documents, read, execution))
    tokens = words.tokens
    debias = run.manifest["parameters"].get("debias")
    if debias is not None:
        groups = groups_of(words.rows, debias, np.diff(tokens.offsets) > 0, where=str(run.path))
        tokens = debiased_tokens(tokens, groups, seed=execution.seed).tokens
    return StoredLda(run, model, doc_topic, _assignments(run, tokens), replace(words, tokens=tokens))


def _assignments(run: Run, tokens: TokenTable) -> IntArray | None:
    """Return the topics of the tokens (N,), None where the run does not hold them, or holds those of other tokens."""
    if "assignments.parquet" not in run.manifest["outputs"]:
        return None
    table = run.table("assignments", ["term", "topic"])
    with run.intact():
        topics: IntArray = numbers(table, "topic", least=0).astype(np.int32)
        terms = table.column("term").to_pylist()
    if terms != [tokens.terms[i] for i in tokens.term_ids.tolist()]:
        reporting.warn(
            f"{run.path}/assignments.parquet has other tokens than the documents; the new run has no such table"
        )
        return None
    return topics


def edit_lda(
    fit: StoredLda,
    plan: EditPlan,
    *,
    labels: Sequence[str],
    stop_words: Sequence[str],
    execution: Execution,
    seconds: dict[str, float],
) -> tuple[FittedLda, EditedModel]:
    """Return the topics of a fit after an edit, as a model that can be written, and what became of which topic.

    Args:
        labels: names of the topics of the run; stop_words: all terms that describe no topic.
    """
    run = fit.run
    with stopwatch(seconds, "topics"):
        edited = edited_model(fit.model, fit.doc_topic, plan)
    number = {term: i for i, term in enumerate(fit.model.terms)}
    earlier = [number[term] for term in (run.manifest.get("lineage") or {}).get("stop_words", ())]
    generated = topic_names(exclusive_terms(fit.model.topic_term, earlier), fit.model.terms)
    names = tuple(names_after(edited.topics, plan, labels, generated))
    results = run.manifest["results"]
    dropped = bool((edited.into < 0).any())
    assignments = None if fit.assignments is None or dropped else edited_assignments(fit.assignments, edited.into)
    if fit.assignments is not None and dropped:
        reporting.note("assignments.parquet is left out, because the tokens of dropped topics have no topic")
    if assignments is None:
        reporting.note(
            "topics.parquet: coherence and token_doc_diff count whole documents, because the topics of single "
            "tokens are not stored (`save_assignments` of the fit)"
        )
    extra = [name for name in OF_CHAINS if f"{name}.parquet" in run.manifest["outputs"]]
    if extra:
        reporting.note(
            f"the tables of the chains ({', '.join(extra)}) describe the topics before the edit and are only "
            f"kept in {run.path}"
        )
    unchanged = np.array_equal(np.sort(edited.into), np.arange(fit.model.n_topics))
    new = LdaFit(
        model=edited.model,
        doc_topic=edited.doc_topic,
        assignments=np.zeros(0, np.int32) if assignments is None else assignments,
        trace=(),
        sweeps=int(results.get("sweeps", 0)),
        samples=int(results.get("samples", 1)),
        log_likelihood=float(results["log_likelihood_per_token"]) if unchanged else _log_likelihood(edited),
        names=names,
        order=np.arange(len(names)),
        stopped=None,
    )
    terms = run.table("topic_terms", ["rank"]).column("rank").to_numpy()
    parameters = run.manifest["parameters"]
    description = DescriptionOptions(
        top_terms=int(terms.max(initial=1)),
        relevance_lambda=float(parameters.get("relevance_lambda", DescriptionOptions().relevance_lambda)),
        save_assignments=assignments is not None,
    )
    written = mixture_run(
        LDA, fit.corpus, new.mixture(), description, execution, command="edit", parameters=parameters,
        additions=Additions(), seconds=seconds, with_assignments=description.save_assignments,
        weighted=assignments is None, hidden_terms=[number[term] for term in stop_words],
    )  # fmt: skip
    report = LdaReport(new, fit.corpus.tokens, seconds)
    return FittedLda(written, edited.model, report), edited


def _log_likelihood(edited: EditedModel) -> float:
    """Return log p(w, z) per token of the tokens that have a topic."""
    words = dirichlet_multinomial(edited.model.topic_term, edited.model.eta)
    documents = dirichlet_multinomial(edited.doc_topic, edited.model.alpha)
    return (words + documents) / max(float(edited.doc_topic.sum()), 1.0)
