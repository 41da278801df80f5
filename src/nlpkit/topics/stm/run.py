"""The columns of a structural topic model: those of a fit, what its run says of them, and those of new documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray
from nlpkit.predict.options import TOPIC_COLUMNS, PredictOptions
from nlpkit.topics.base.mixture import DocumentInference, FitSettings, FittedMixture, Inferred, ModelColumns
from nlpkit.topics.base.model import MixtureFit
from nlpkit.topics.base.runs import Additions, TopicCorpus
from nlpkit.topics.base.tables import MIXTURE_TOPICS, read_arrays
from nlpkit.topics.effects.covariates import covariate_of, covariates_of, note_dropped_knots
from nlpkit.topics.effects.design import Covariate, Design, design_from_json, fit_design
from nlpkit.topics.effects.formula import parse_formula
from nlpkit.topics.stm.content import Content, content_from_arrays, content_terms, fit_content, levels_of
from nlpkit.topics.stm.fitter import StmFitter
from nlpkit.topics.stm.model import draw_thetas
from nlpkit.topics.stm.options import TERMS_BY_CONTENT

STM_TOPICS = MIXTURE_TOPICS.plus(
    "topics_of_stm", "A topic of a structural topic model, with two scores of R's stm.",
    Column("semantic_coherence", pa.float64(), "semanticCoherence of R's stm, of the ten most probable words."),
    Column("frex_exclusivity", pa.float64(), "exclusivity of R's stm: the sum of FREX of the ten most probable words, 0 to 10."),
)  # fmt: skip
CONTENT_TERMS = TableSpec(
    TERMS_BY_CONTENT, "A word of a topic at a level of the column of --content.",
    Column("topic", pa.int32(), "Number of the topic."),
    Column("level", pa.string(), "The level."),
    Column("rank", pa.int32(), "1 for the most probable word."),
    Column("term", pa.string(), "The word."),
    Column("weight", pa.float32(), "Its probability."),
    Column("log_ratio", pa.float32(), "Logarithm of its probability by the average of the levels."),
    Column("contrast_rank", pa.int32(), "Rank by weight times log_ratio."),
)  # fmt: skip


class StmColumns(ModelColumns):
    """The covariates of a formula, and the levels of the content."""

    def prepared(
        self, fitter: StmFitter, corpus: TopicCorpus, settings: FitSettings
    ) -> tuple[StmFitter, TopicCorpus, Additions]:
        """Return the fitter with the columns of X that its formula makes of documents, and the levels of its content."""
        formula, column = fitter.options.formula, fitter.options.content
        if formula is not None:
            values = covariates_of(corpus.rows, formula, where="the corpus")
            design = fit_design(formula, values)
            note_dropped_knots(design)
            fitter = replace(fitter, design=design, X=design.matrix(values))
        if column is not None:
            fitter = replace(fitter, content=content_of(corpus.rows, column))
        return fitter, corpus, Additions()

    def additions(self, fitter: StmFitter, fit: MixtureFit, n_terms: int) -> Additions:
        """Return how the columns are coded, and the words of each topic at each level of the content."""
        config: dict[str, Any] = {} if fitter.design is None else {"design": fitter.design.to_json()}
        model, content = content_from_arrays(fit.arrays), fitter.content
        if model is None or content is None:
            return Additions(config=config)
        rows = content_terms(model, n_terms)
        table = CONTENT_TERMS.table(
            topic=rows.topic, level=[content.levels[a] for a in rows.level], rank=rows.rank,
            term=[fit.model.terms[v] for v in rows.term], weight=rows.weight, log_ratio=rows.log_ratio,
            contrast_rank=rows.contrast_rank
        )  # fmt: skip
        config["content_levels"] = list(content.levels)
        return Additions(tables={TERMS_BY_CONTENT: table}, config=config)

    def restored(self, fitter: StmFitter, config: Mapping[str, Any]) -> StmFitter:
        """Return the fitter with the coding of its columns as its run keeps it; without where a run of before 2026-11-24 has none."""
        formula, column = fitter.options.formula, fitter.options.content
        if formula is not None and "design" in config:
            fitter = replace(fitter, design=design_from_json(formula, config["design"]))
        if column is not None:
            fitter = replace(fitter, content=Content(column, tuple(config["content_levels"]), np.zeros(0, np.int32)))
        return fitter

    def inference(
        self,
        model: FittedMixture,
        fitter: StmFitter,
        fit: MixtureFit,
        stream: DocumentStream,
        options: PredictOptions,
        execution: Execution,
    ) -> DocumentInference | None:
        """Return what gives documents their topics by their columns, None where the model has none."""
        if not fitter.uses_columns:
            return None
        columns = [column for column in stream.schema.names if column not in ("text", "tokens", *TOPIC_COLUMNS)]
        return ColumnInference(fitter, fit, columns, execution, model.name)


def content_of(rows: pa.Table, column: str) -> Content:
    """Return the levels of a content covariate of the documents of a fit. Raises InputError, ColumnError where it cannot be used."""
    return fit_content(column, covariate_of(rows, column, where="the corpus", is_category=True, parameter="content"))


class ColumnInference(DocumentInference):
    """Topics of new documents by their words and their columns.

    The prior of topics is that of the columns of the formula where all are there, and the average one otherwise; so it is for a
    single document without a value, or with one that the fit did not have. The words of topics are those of the level of the
    content, and otherwise the average ones.
    """

    def __init__(
        self, fitter: StmFitter, fit: MixtureFit, columns: Sequence[str], execution: Execution, name: str
    ) -> None:
        """Take the model and the columns that the new documents have. name: of the model in messages."""
        self.fitter, self.name = fitter, name
        formula, content = fitter.options.formula, fitter.content
        self.lacking = [] if formula is None else [column for column in formula.columns if column not in columns]
        self.design = None if self.lacking else fitter.design
        self.content = content if content is not None and content.column in columns else None
        self.known = fitter.inference_of(fit, execution.n_threads())
        self.counts = {"new": 0, "without_covariates": 0, "without_level": 0}

    def __call__(self, batch: pa.RecordBatch, new: BoolArray, offsets: LongArray, ids: IntArray) -> Inferred:
        """Return the topics of a batch."""
        rows = pa.Table.from_batches([batch])
        X = None if self.design is None else usable_covariates(self.design, rows)
        level = np.full(len(new), -1, np.int32)
        if self.content is not None:
            column = self.content.column
            values = covariate_of(rows, column, where="the new documents", is_category=True, parameter="content")
            level = levels_of(self.content.levels, values)
        self.counts["new"] += int(new.sum())
        if X is not None:
            self.counts["without_covariates"] += int((new & np.isnan(X).any(axis=1)).sum())
        self.counts["without_level"] += int((new & (level < 0)).sum())
        return self.known(offsets, ids, X, level), np.diff(offsets) > 0

    def parameters(self) -> dict[str, Any]:
        """Return what footers say of it."""
        taken: dict[str, Any] = {}
        if self.fitter.options.formula is not None:
            taken["prior"] = "average" if self.design is None else "covariates"
        if self.fitter.content is not None:
            taken["words"] = "average" if self.content is None else "content"
        return taken

    def report(self) -> None:
        """Say which prior and which words of topics the new documents had."""
        n, formula, content = self.counts, self.fitter.options.formula, self.fitter.content
        if not n["new"]:
            return
        if formula is not None:
            reporting.note(self._prior(formula.text, n["without_covariates"]))
        if content is not None and self.content is None:
            reporting.note(
                f"words of topics: the average of the levels of '{content.column}', a column that the new documents do not have"
            )
        elif content is not None:
            reporting.note(f"words of topics: by level of '{content.column}'")
            if n["without_level"]:
                reporting.warn(
                    f"{wording.counted(n['without_level'], 'document')} of {wording.count(n['new'])} without a "
                    f"level of '{content.column}' of the fit ({', '.join(content.levels[:10])}): the average words "
                    "of all levels are used"
                )

    def _prior(self, formula: str, n_without: int) -> str:
        if self.lacking:
            names = wording.listed([f"'{name}'" for name in self.lacking], 5)
            return f"prior of topics: the average one of the fit, as the new documents have no column {names}"
        if self.design is None:
            return f"prior of topics: the average one of the fit, as {self.name} is of an older nlpkit, which kept no coding of the formula"
        some = (
            f"; the average one for {wording.counted(n_without, 'document')} without a value, or with one that the fit did not have"
            if n_without
            else ""
        )
        return f"prior of topics: by the columns of {formula}{some}"


def usable_covariates(design: Design, rows: pa.Table) -> FloatArray:
    """Return X (D, P) of new documents, NaN in rows whose values are missing, or that the fit did not have.

    Raises:
        ColumnError, InputError: a column is of another kind than in the fit.
    """
    values: dict[str, Covariate] = {}
    usable = np.ones(rows.num_rows, bool)
    for column in design.formula.columns:
        codings = [coding for coding in design.codings if coding.factor.column == column]
        is_category = not all(coding.is_number for coding in codings)
        values[column] = covariate_of(rows, column, where="the new documents", is_category=is_category)
        for coding in codings:
            usable &= coding.knows(values[column])
    X = np.full((rows.num_rows, len(design.names)), np.nan)
    kept = np.flatnonzero(usable)
    if len(kept):
        some: dict[str, Covariate] = {
            name: each[kept] if isinstance(each, np.ndarray) else [each[i] for i in kept.tolist()]
            for name, each in values.items()
        }
        X[kept] = design.matrix(some)
    return X


def drawn_topics(run: Run, filled: BoolArray) -> Callable[[np.random.Generator, int], Iterator[FloatArray]]:
    """Return draws of theta from the posteriors of the documents of a run that have words (`draw_thetas`).

    The posterior of each document has the mean covariance of all ("Global" in R's stm), as runs hold no words.
    """
    arrays, text = read_arrays(run), run.model_config("options")["options"].get("prevalence")
    X = np.ones((int(filled.sum()), 1))
    if text is not None:
        formula = parse_formula(text)
        columns = covariates_of(run.table("documents").filter(pa.array(filled)), formula, where=str(run.path))
        X = fit_design(formula, columns).matrix(columns)
    return lambda rng, count: draw_thetas(arrays["eta"][filled], arrays["noise"], arrays["sigma"], X, rng, count)
