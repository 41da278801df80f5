"""A grid of fits of one corpus: documents that are tokenised and embedded once, and a directory of runs that can be continued.

Further parts, in this order:
- The fits of a grid, one after the other, by processes of this machine or by Ray.
- The fits of robust topics.
"""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nlpkit.embed.options import EncoderOptions
from nlpkit.embed.run import embed
from nlpkit.errors import InputError, NlpkitError, OutputExistsError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import Corpus, as_corpus, read_corpus, warn_dropped
from nlpkit.platform.documents.groups import Groups
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import parse_share
from nlpkit.platform.interrupts import report_checkpoint_on_interrupt
from nlpkit.platform.models import MODELS, resolved
from nlpkit.platform.options import Execution
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.artifacts import read_parquet
from nlpkit.platform.runs.atomic import MANIFEST, atomic_file, check_target
from nlpkit.platform.runs.tables import table_sink, write_dropped
from nlpkit.platform.types import IntArray
from nlpkit.shards.ray import Cluster
from nlpkit.shards.schedule import CorruptError, ProcessWorkers, Workers, do_tasks, warnings_of
from nlpkit.text.options import TextOptions
from nlpkit.text.run import preprocess
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.robust.options import GridOptions, RobustOptions, model_names
from nlpkit.version import __version__

DOCUMENTS, RUNS = "documents.parquet", "runs"
DROPPED = "documents.dropped.parquet"
EMBEDDED_BY = "sentence-transformers/all-MiniLM-L6-v2"


def read_inputs(corpus: Corpus, columns: Mapping[str, str] | None = None) -> list[InputInfo]:
    """Return the inputs of a corpus, which are read for their sha256; nothing of stdin, which can be read once.

    Args:
        columns: that must be there, each with the option that names it.

    Raises:
        ColumnError: one is not there, or holds other than single values.
    """
    if "-" in corpus.inputs:
        return []
    with corpus.open() as stream:
        for name, parameter in (columns or {}).items():
            Groups(name, stream.schema, stream.where, parameter=parameter)
        for _ in stream:
            pass
        return list(stream.inputs)


def prepare_fits(
    target: Path,
    identity: Mapping[str, Any],
    facts: str,
    written: Sequence[str],
    *,
    resume: bool,
    force: bool,
    what: str,
    shared: bool = False,
) -> None:
    """Make the directory of a grid, or see whether fits that are there are of the same one.

    Args:
        identity: what fits that are there must have been made with, which is kept in the file `facts`.
        written: names that a grid writes. what: it is called.
        shared: other processes may make it at the same time, each a part of its fits.

    Raises:
        OutputExistsError: it is there, without `resume` or `force`; InputError: its fits were made otherwise; UsageError: other
        files are in it.
    """
    path = target / facts
    if shared:
        _share_directory(target, identity, path)
        resume = True
    if target.exists():
        if not path.is_file():
            check_target(target, force=False, directory=True)  # refuses what is there
        if not resume and not force:
            raise OutputExistsError(
                f"{target} already exists; continue its fits with `resume`, or replace it with `force`"
            )
        if resume:
            earlier = json.loads(path.read_text(encoding="utf-8"))
            changed = [name for name in identity if earlier.get(name) != identity[name]]
            if changed:
                raise InputError(
                    f"the fits in {target} were made with other {' and '.join(changed)}; use the same, or name another "
                    "directory"
                )
            return
        others = sorted(each.name for each in target.iterdir() if each.name not in written)
        if others:
            raise UsageError(
                f"{target} holds {others[0]}, which was not written by {what} and is not replaced; name another directory"
            )
        shutil.rmtree(target)
    check_target(target, force=False, directory=True)
    (target / RUNS).mkdir(parents=True)
    _write_facts(path, identity)


def _share_directory(target: Path, identity: Mapping[str, Any], path: Path) -> None:
    """Make the directory of a grid that another process may make at the same time; who comes first writes its facts.

    One that holds other files is left as it is, and refused later.
    """
    with suppress(OutputExistsError):
        check_target(target, force=False, directory=True)
    if path.is_file() or not any(one.is_file() and not one.name.startswith(".") for one in target.rglob("*")):
        (target / RUNS).mkdir(parents=True, exist_ok=True)
        with suppress(OutputExistsError):
            _write_facts(path, identity)


def _write_facts(path: Path, identity: Mapping[str, Any]) -> None:
    with atomic_file(path) as part:
        part.write_text(to_json(identity) + "\n", encoding="utf-8", newline="\n")


@contextmanager
def unfinished_fits(target: Path, what: str, *, stays: bool = True, shared: bool = False) -> Iterator[None]:
    """Say at an interrupt where the fits are, if the directory stays, and remove it at any end without a fit.

    One that is shared is removed where its documents cannot be used, which no other process can, either.
    """
    with report_checkpoint_on_interrupt(what, target if stays else None):
        try:
            yield
        except BaseException as error:
            unusable = isinstance(error, NlpkitError) and not (target / DOCUMENTS).exists()
            if (unusable or not shared) and not any((target / RUNS).glob(f"*/{MANIFEST}")):  # nothing to go on with
                shutil.rmtree(target, ignore_errors=True)
            raise


def write_documents(
    corpus: Corpus,
    path: Path,
    kinds: Sequence[str],
    tokens: TextOptions,
    encoder: EncoderOptions,
    execution: Execution,
    columns: Callable[[pa.Table], pa.Table],
) -> None:
    """Write documents with their words, and embeddings where a kind of model needs them, unless they are there.

    columns: adds those of the grid.
    """
    if path.exists():
        return
    embeds = any(MODELS[name].embeddings for name in kinds)
    if embeds and (encoder.encoder is not None or not _has_embeddings(corpus)):
        corpus = embed(corpus, encoder=encoder.encoder or EMBEDDED_BY, execution=execution)
    made_meanwhile = suppress(OutputExistsError)  # by another process of a shared grid
    with made_meanwhile, preprocess(corpus, tokens=tokens, execution=execution) as cut:
        table = columns(pa.Table.from_batches(cut.batches()))
        with table_sink(path, table.schema, cut.result.block, force=False) as sink:
            for batch in table.to_batches():
                sink.write(batch)
        warn_dropped(cut, write_dropped(str(path), cut.dropped, cut.result.block))


def _has_embeddings(corpus: Corpus) -> bool:
    """Whether documents have a column of embeddings; those of stdin, which can be read once, get new ones."""
    if "-" in corpus.inputs:
        return False
    with corpus.open() as stream:
        return "embedding" in stream.schema.names


def with_folds(table: pa.Table, name: str, folds: int, key: int, what: str) -> pa.Table:
    """Return documents with a column of the fold that each is in, at random. Raises InputError where the column is there."""
    if name in table.column_names:
        raise InputError(f"the documents have a column '{name}', which {what} writes; leave it out")
    rng = np.random.Generator(np.random.Philox(key=key))
    return table.append_column(name, pa.array(rng.permutation(table.num_rows) % folds, pa.int32()))


# ------------------------------------------------------------------------------------------------------------------------
# The fits of a grid, one after the other, by processes of this machine or by Ray.

AnyFit = TypeVar("AnyFit")  # whose text is the name of its run


def made_fits(
    fits: Sequence[AnyFit],
    runs: Path,
    make: Callable[[AnyFit, str], None],
    is_made: Callable[[AnyFit], bool],
    sharing: GridOptions,
    execution: Execution,
) -> Iterator[AnyFit]:
    """Yield fits when they are made. One whose worker is lost is made again.

    Args:
        runs: the directory of their runs. make: makes one, in a run; a function at the top of a module, or a partial one.
        is_made: whether one need not be made. execution: of each worker.

    Raises:
        MissingError: Ray is not installed, or its cluster cannot be reached; InputError: no worker could be started, or a fit was lost
        again and again; and what `make` raises.
    """
    left = [fit for fit in fits if not is_made(fit)]
    if sharing.divided and left:
        _make_elsewhere(left, runs, make, sharing, execution)
        left = []
    with reporting.progress("fits", len(fits)) as update:
        for n, fit in enumerate(fits):
            update(n, f"fits: {fit}")
            if fit in left:
                make(fit, str(runs / str(fit)))
            yield fit
        update(len(fits))


def _make_elsewhere(
    fits: Sequence[AnyFit],
    runs: Path,
    make: Callable[[AnyFit, str], None],
    sharing: GridOptions,
    execution: Execution,
) -> None:
    """Have workers make fits."""

    def do(at_work: Workers, n: int) -> None:
        do_tasks(at_work, fits, lambda fit: runs / str(fit), _verify_run, n_workers=n, what="fit")

    heard = partial(warnings_of, make)
    if sharing.ray is None:
        with ProcessWorkers(heard) as processes:
            do(processes, sharing.workers or 1)
    else:
        with Cluster(heard, sharing.ray, sharing.workers, execution, gpus=False) as cluster:
            do(cluster, cluster.n_workers)


def _verify_run(run: Path) -> None:
    """Raise CorruptError for a run that is not there."""
    if not (run / MANIFEST).is_file():
        raise CorruptError(f"{run} is not there")


def part_of(fits: Sequence[AnyFit], shard: str) -> list[AnyFit]:
    """Return the fits of one part of a grid: every N-th, because the long ones stand together.

    Raises:
        UsageError: `shard` names no part, or there are fewer fits than parts.
    """
    share = parse_share(shard)
    if len(fits) < share.total:
        raise UsageError(
            f"`shard={share}`: the grid has {wording.counted(len(fits), 'fit')}, and a part needs at least one; "
            f"{f'divide it into {len(fits):,} at most' if len(fits) > 1 else 'leave it whole'}",
            parameter="shard",
        )
    return list(fits[share.index - 1 :: share.total])


# ------------------------------------------------------------------------------------------------------------------------
# The fits of robust topics.

FACTS = "fits.json"
WRITTEN = (FACTS, DOCUMENTS, DROPPED, RUNS)
FOLD, SEGMENT = "robust_fold", "robust_segment"
LEAST_IN_SEGMENT = 2  # documents


@dataclass(frozen=True, slots=True)
class Fit:
    """One fit of a grid. number: of its seed, from 0. segment: its number and name, None where all documents are one."""

    model: str
    k: int | None
    seed: int
    number: int
    segment: tuple[int, str] | None = None

    def __str__(self) -> str:
        """Return the name of its run."""
        part = "" if self.segment is None else f"part{self.segment[0]}-"
        return f"{part}{self.model}-{'' if self.k is None else f'k{self.k}-'}s{self.seed}"

    def documents(self, folds: int) -> str | None:
        """Return the condition of its documents, None for all. The first fit of a number leaves none out."""
        parts = [] if self.segment is None else [f"{SEGMENT} == {self.segment[0]}"]
        parts += [f"{FOLD} != {(self.number - 1) % folds}"] if folds and self.number else []
        return " and ".join(parts) or None


@dataclass(frozen=True, slots=True)
class Grid:
    """Fits that were made: their directory, and the inputs of their documents."""

    path: Path
    inputs: Sequence[InputInfo]
    fits: Sequence[Fit]

    @property
    def documents(self) -> Path:
        """The documents with their words."""
        return self.path / DOCUMENTS

    def run(self, fit: Fit) -> Path:
        """Return the run directory of a fit."""
        return self.path / RUNS / str(fit)


def fit_grid(
    data: Any,
    target: Path,
    options: RobustOptions,
    tokens: TextOptions,
    encoder: EncoderOptions,
    execution: Execution,
    *,
    sharing: GridOptions,
    shard: str | None = None,
    force: bool = False,
    stays: bool = True,
) -> Grid:
    """Make the fits of a grid that are not there yet.

    Args:
        shard: the part of the fits that are made, while other processes make others; None for all.
        stays: whether the directory can be continued later.

    Raises:
        OutputExistsError, InputError, UsageError: as `prepare_fits` and `part_of`; or documents that cannot be used, or a fit that
        failed; MissingError: see `made_fits`.
    """
    if shard is not None and options.by is None:  # else segments are counted first
        part_of(options.fits(execution.seed), shard)
    corpus = as_corpus(data)
    columns = {} if options.by is None else {options.by: "by"}
    columns |= dict.fromkeys(options.columns() or (), "shares_by")
    inputs = read_inputs(corpus, columns)
    identity = {
        "nlpkit_version": __version__, "leave_out": options.leave_out, "by": options.by, "seed": execution.seed, "tokens": tokens,
        "encoder": encoder.encoder, "documents": [one.sha256 for one in inputs],
    }  # fmt: skip
    identity = json.loads(to_json(identity))
    shared = shard is not None
    prepare_fits(
        target, identity, FACTS, WRITTEN, resume=options.resume, force=force, what="this command", shared=shared
    )
    with unfinished_fits(target, "grid of fits", stays=stays, shared=shared):
        kinds, add = model_names(options.models), partial(_columns, options, execution.seed)
        write_documents(corpus, target / DOCUMENTS, kinds, tokens, encoder, execution, add)
        fits = planned_fits(options, execution.seed, target / DOCUMENTS)
        fits = fits if shard is None else part_of(fits, shard)
        each = sharing.of_each(execution)
        make = partial(_fit, target=target, folds=options.folds, encoder=encoder, execution=each)
        deque(made_fits(fits, target / RUNS, make, partial(_is_made, target), sharing, each), maxlen=0)
    return Grid(target, inputs, fits)


def _is_made(target: Path, fit: Fit) -> bool:
    return (target / RUNS / str(fit) / MANIFEST).is_file()


def planned_fits(options: RobustOptions, seed: int, documents: Path) -> list[Fit]:
    """Return the fits of a grid, for each segment of the documents."""
    wanted = [Fit(name, k, s, s - seed) for name, k, s in options.fits(seed)]
    if options.by is None:
        return wanted
    columns = pq.read_schema(documents).names
    column = options.by if options.by in columns else options.by.partition(":")[0]
    names, _ = group_codes(read_parquet(documents, [column]), options.by, "by")
    return [replace(fit, segment=one) for one in enumerate(names) for fit in wanted]


def group_codes(table: pa.Table, by: str, parameter: str) -> tuple[list[str], IntArray]:
    """Return the values of a column, or of a part of its dates, in order, and that of each document (D,), -1 for none.

    Raises:
        ColumnError, UsageError, InputError: as `Groups`.
    """
    groups = Groups(by, table.schema, "the corpus", parameter=parameter)
    codes = [groups.assign(batch) for batch in table.to_batches()]
    names, places = groups.finish()
    return list(names), np.concatenate([places[some] for some in codes]).astype(np.int32)


def _columns(options: RobustOptions, seed: int, table: pa.Table) -> pa.Table:
    """Return documents with the fold and the segment of each. Raises ColumnError, InputError for segments that cannot be."""
    for name in options.columns() or ():
        group_codes(table, name, "shares_by")  # an error before the fits
    folded = with_folds(table, FOLD, max(options.folds, 1), stream_key(seed, "robust"), "this command")
    if options.by is None:
        return folded
    names, segments = group_codes(table, options.by, "by")
    sizes = np.bincount(segments[segments >= 0], minlength=len(names))
    if len(names) < 2:
        raise InputError(
            f"`by={options.by}`: segments need a column of at least 2 values, found {len(names)}", parameter="by"
        )
    small = [name for name, n in zip(names, sizes, strict=True) if n < LEAST_IN_SEGMENT]
    if small:
        raise InputError(
            f"`by={options.by}`: {len(small)} of {len(names)} values, such as '{small[0]}', have one document; leave them out with "
            "`keep_if`, or name a column of groups",
            parameter="by",
        )
    return folded.append_column(SEGMENT, pa.array(segments, pa.int32()))


def _fit(fit: Fit, run: str, *, target: Path, folds: int, encoder: EncoderOptions, execution: Execution) -> None:
    """Fit a model and write its run. Raises InputError where it failed."""
    corpus = read_corpus(target / DOCUMENTS, options=ReadOptions(keep_if=fit.documents(folds)))
    settings: dict[str, Any] = {} if fit.k is None else {"k": fit.k}
    if MODELS[fit.model].embeddings and encoder.encoder is not None:  # else they are a column
        settings["encoder"] = encoder
    try:
        with reporting.quiet():
            model = fit_function(fit.model)(corpus, execution=replace(execution, seed=fit.seed), **settings)
            model.save(run)
    except NlpkitError as error:
        if _is_made(target, fit):  # another process of this grid was faster
            return
        part = "" if fit.segment is None else f" of segment '{fit.segment[1]}'"
        raise InputError(f"the fit {fit}{part} failed: {error}") from error


def fit_function(kind: str) -> Callable[..., Any]:
    """Return the function that fits a kind of model."""
    if kind == "bertopic":
        from nlpkit.topics.bertopic.run import fit_bertopic

        return fit_bertopic
    if kind == "lda-gibbs":
        from nlpkit.topics.lda.run import fit_lda

        return fit_lda
    from nlpkit.topics.base.run import fit_topics

    return resolved(MODELS[kind].fit) if MODELS[kind].fit else partial(fit_topics, kind)
