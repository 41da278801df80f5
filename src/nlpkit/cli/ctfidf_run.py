"""The work of `nlpkit ctfidf`: count the classes batch by batch, weigh, write, show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.errors import ColumnError, InputError, NlpkitError, UsageError
from nlpkit.io.artifacts import footer_block
from nlpkit.io.corpora import open_documents
from nlpkit.io.run_documents import open_run_documents, run_of
from nlpkit.io.tables import table_sink, write_dropped
from nlpkit.text.options import PreprocessOptions
from nlpkit.types import CsrMatrix, IntArray, LongArray
from nlpkit.weighting.classes import ClassCounts
from nlpkit.weighting.ctfidf import TopTerms, class_tfidf, top_terms, values_of
from nlpkit.weighting.importance import EPSILON, importance
from nlpkit.weighting.keyness import keyness
from nlpkit.workflows.corpus import no_documents, no_words, steps, warn_dropped
from nlpkit.workflows.counts import CountedCorpus, counted
from nlpkit.workflows.groups import Groups
from nlpkit.workflows.tokens import changed_token_options, cut_as_model, found_parameters, say_tokens, token_parameters

if TYPE_CHECKING:
    from nlpkit.cli.ctfidf import ClassFlags
    from nlpkit.cli.options import OutputFlags
    from nlpkit.io.read_options import ReadOptions

SHOWN_TERMS = 10


class Classes:
    """The classes of a stream of documents: values of a column, or pairs of values of two, numbered as they come."""

    def __init__(self, by: str, over: str | None, schema: pa.Schema, inputs: list[str]) -> None:
        self._where = ", ".join("stdin" if name == "-" else name for name in inputs)
        self.names = [by] if over is None else [by, over]
        self._by = Groups(by, schema, inputs)
        self._over: Groups | None = None
        if over is not None:
            try:
                self._over = Groups(over, schema, inputs)
            except (ColumnError, UsageError) as error:
                raise _named_over(error) from None
        self._pairs: dict[tuple[int, int], int] = {}

    @property
    def columns(self) -> list[str]:
        """The columns of the documents that are needed."""
        return [self._by.column] + ([] if self._over is None else [self._over.column])

    def of(self, batch: pa.RecordBatch) -> IntArray:
        """Return the number of the class of each document of a batch (D,), -1 for none."""
        first = self._by.of(batch)
        if self._over is None:
            return first
        second = self._over.of(batch)
        keys = np.where((first < 0) | (second < 0), np.int64(-1), (first.astype(np.int64) << 32) | second)
        found, inverse = np.unique(keys, return_inverse=True)
        numbers = [
            -1 if key < 0 else self._pairs.setdefault((key >> 32, key & 0xFFFFFFFF), len(self._pairs))
            for key in found.tolist()
        ]
        return np.array(numbers, np.int32)[inverse]

    def finish(self) -> tuple[list[tuple[str, ...]], IntArray]:
        """Return the names of the classes in order, one or two each, and the number that `of` gave each.

        Raises:
            ColumnError: there are no dates where some were wanted; InputError: fewer than two classes.
        """
        firsts, places = self._by.finish()
        if self._over is None:
            names: list[tuple[str, ...]] = [(name,) for name in firsts]
            order = np.argsort(places[:-1]).astype(np.int32)
        else:
            try:
                seconds, second_places = self._over.finish()
            except (ColumnError, InputError) as error:
                raise _named_over(error) from None
            pairs = sorted((places[a], second_places[b], number) for (a, b), number in self._pairs.items())
            names = [(firsts[a], seconds[b]) for a, b, _ in pairs]
            order = np.array([number for _, _, number in pairs], np.int32)
        if len(names) < 2:
            found = f" ({' '.join(names[0])})" if names else ""
            raise InputError(
                f"'{' × '.join(self.names)}' of {self._where} has {wording.counted(len(names), 'class', 'classes')}"
                f"{found}; at least two are compared: name another column with --by"
            )
        return names, order


def _named_over(error: NlpkitError) -> NlpkitError:
    return type(error)(str(error).replace("--by", "--over"))


@dataclass(frozen=True, slots=True)
class Weighed:
    """names (C,) of the classes, one or two each; documents (C,); their best terms, further columns (C, n); what was in force."""

    names: list[tuple[str, ...]]
    documents: LongArray
    best: TopTerms
    further: dict[str, Any]
    parameters: dict[str, Any]


def weigh_classes(
    inputs: list[str],
    flags: ClassFlags,
    options: PreprocessOptions,
    out: OutputFlags,
    read: ReadOptions,
    *,
    threads: int,
) -> None:
    """Do what the command line asks for."""
    target = out.given_table_target("terms.parquet")
    _weights(sparse.csr_array((1, 1)), flags)  # a number that cannot be meant is told before reading
    run = run_of(inputs)
    own = True
    if run is not None:
        said = changed_token_options(options)
        if said:
            raise UsageError(f"{', '.join(said)}: the words of {run.path} are cut as they were for it; leave it out")
    opened = open_documents(inputs, read) if run is None else open_run_documents(run, read)
    with opened as stream:
        if not stream.has_documents():  # told before a column that no file without rows can have
            raise no_documents(stream)
        classes = Classes(flags.by, flags.over, stream.schema, inputs)
        if run is not None:
            settings = run.manifest["parameters"].get("tokens")
            cut = cut_as_model(stream, settings, f"the run {run.path}", bounds=False)
            words = tuple(run.table("vocab", ["term"]).column("term").to_pylist())
            options, own = replace(cut or PreprocessOptions(), vocab=words), cut is None
        with counted(stream, options, columns=classes.columns, threads=threads, own_tokens=own) as corpus:
            if not corpus.terms:
                raise no_words(corpus.n_docs)
            weighed = _weigh(corpus, classes, flags)
            terms = pa.array(corpus.terms, pa.string())
    left_out = corpus.n_docs - int(weighed.documents.sum())
    if corpus.report is not None:
        say_tokens(corpus.report)
    if left_out:
        what = "a topic" if classes.names == ["topic"] else f"a value in '{' and '.join(classes.names)}'"
        reporting.note(f"left out: {wording.counted(left_out, 'document')} without {what}")
    table = class_table(weighed, terms)
    made = {**token_parameters(options), **found_parameters(corpus.report)} if corpus.report else None
    block = footer_block(
        "class_terms",
        command="ctfidf",
        parameters={
            "by": flags.by, "over": flags.over, "top_n": flags.top_n, "classes": len(weighed.names), "left_out": left_out,
            **weighed.parameters, "tokens": made,
        },
        seed=None,
        inputs=stream.inputs,
        steps=steps(stream),
    )  # fmt: skip
    if target is None:
        warn_dropped(stream, None)
    else:
        with table_sink(target, table.schema, block, force=out.force) as sink:
            for batch in table.to_batches():
                sink.write(batch)
        warn_dropped(stream, write_dropped(target, stream.dropped, block))
        if target == "-":
            return
        reporting.note(f"wrote {target}: {wording.counted(table.num_rows, 'term')} of {len(weighed.names)} classes")
    if console.settings.json:
        facts = {"documents": corpus.n_docs, "left_out": left_out, **weighed.parameters}
        console.emit_json({"by": flags.by, "over": flags.over, **facts, "terms": _nested(weighed, corpus.terms)})
    else:
        _show(weighed, corpus.terms, classes.names)


def _weigh(corpus: CountedCorpus, classes: Classes, flags: ClassFlags) -> Weighed:
    sums = ClassCounts(len(corpus.terms))
    for batch, dtm in corpus.batches():
        sums.add(classes.of(batch), dtm)
    names, order = classes.finish()
    counts, documents = sums.finish(order)
    weights, further, parameters = _weights(counts, flags)
    best = top_terms(weights, flags.top_n)
    columns = {name: values_of(matrix, best.term_ids) for name, matrix in further.items()}
    return Weighed(names, documents, best, columns, {"weighting": flags.weighting, **parameters})


def _weights(counts: CsrMatrix, flags: ClassFlags) -> tuple[CsrMatrix, dict[str, CsrMatrix], dict[str, Any]]:
    """Return weights (C, V), matrices for further columns, and the parameters in force."""
    if flags.weighting == "importance":
        epsilon = EPSILON if flags.epsilon is None else flags.epsilon
        return importance(counts, epsilon=epsilon), {}, {"epsilon": epsilon}
    if flags.weighting == "keyness":
        found = keyness(counts, prior_words=flags.prior_words)
        return found.z, {"log_odds": found.log_odds, "z": found.z}, {"prior_words": found.prior_words}
    how = {"reduce_frequent_words": flags.reduce_frequent_words, "bm25": flags.bm25}
    return class_tfidf(counts, **how, truncate_mean=flags.compat == "bertopic"), {}, {**how, "compat": flags.compat}


def class_table(weighed: Weighed, terms: pa.Array) -> pa.Table:
    """Return the best terms as a table: class, over (of classes that are pairs), rank, term, weight, and further columns."""
    given = weighed.best.term_ids >= 0
    of_class, rank = np.nonzero(given)
    named = [pa.array(column, pa.string()) for column in zip(*weighed.names, strict=True)]
    columns: dict[str, Any] = {
        name: values.take(pa.array(of_class)) for name, values in zip(("class", "over"), named, strict=False)
    }
    columns["rank"] = pa.array(rank + 1, pa.int32())
    columns["term"] = terms.take(pa.array(weighed.best.term_ids[given]))
    columns["weight"] = pa.array(weighed.best.weights[given], pa.float32())
    for name, values in weighed.further.items():
        columns[name] = pa.array(values[given].astype(np.float32))
    return pa.table(columns)


def _nested(weighed: Weighed, terms: tuple[str, ...]) -> dict[str, Any]:
    """Return the terms of each class; of pairs: class → over → terms."""
    found: dict[str, Any] = {}
    for names, ids in zip(weighed.names, weighed.best.term_ids, strict=True):
        inner = found
        for name in names[:-1]:
            inner = inner.setdefault(name, {})
        inner[names[-1]] = [terms[t] for t in ids if t >= 0]
    return found


def _show(weighed: Weighed, terms: tuple[str, ...], columns: list[str]) -> None:
    rows, before = [], ""
    sizes = weighed.documents.tolist()
    kept = set(console.shown_rows(len(sizes), sizes))
    for i, (names, documents) in enumerate(zip(weighed.names, sizes, strict=True)):
        ids = weighed.best.term_ids[i, :SHOWN_TERMS]
        shown = list(names) if len(names) == 1 or names[0] != before else ["", *names[1:]]
        rows.append([*shown, wording.count(documents), " ".join(terms[t] for t in ids if t >= 0)])
        before = names[0] if i in kept else before
    heads = [*columns, "documents", "top terms"]
    console.table(heads, rows, right=["documents"], noun="classes", sizes=sizes, rest="-o FILE")
