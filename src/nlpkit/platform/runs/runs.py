"""Run directories, the output of every kind of model: written, opened and checked (DESIGN §3).

Parts, in this order:
- The tables that runs of every kind of topic model have (DESIGN §3).
- The directories themselves.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError, SchemaError, UsageError, first_line
from nlpkit.platform import wording
from nlpkit.platform.documents.inputs import DroppedRow, InputInfo
from nlpkit.platform.models import BUILT_IN, MODELS, is_mixture
from nlpkit.platform.options import Execution
from nlpkit.platform.plain import shell_line, to_json
from nlpkit.platform.reporting import command_line
from nlpkit.platform.runs.artifacts import BatchedTable, dropped_table, parquet_shape, read_table, write_table
from nlpkit.platform.runs.atomic import LITTER, MANIFEST, atomic_directory, atomic_file
from nlpkit.platform.runs.footers import SCHEMA_VERSION
from nlpkit.platform.runs.nlpkit_files import is_comparison
from nlpkit.platform.runs.provenance import HasProvenance, package_versions, peak_memory_mb, source_block
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.runs.tensor_files import write_safetensors
from nlpkit.platform.types import Float32Array
from nlpkit.version import __version__

_WORDS = pa.list_(pa.string())
TOPICS = TableSpec(
    "topics", "A topic of a run, the largest first; topics given beforehand come first.",
    Column("topic", pa.int32(), "Number of the topic, 0 for the first."),
    Column("size", pa.int32(), "Documents of the topic; in mixtures those whose main topic it is."),
    Column("share", pa.float32(), "Share of the documents; in mixtures of the tokens."),
    Column("label", pa.string(), "Name of the topic."),
    Column("top_terms", _WORDS, "Ten words, best first."),
    Column("npmi", pa.float32(), "Coherence of the ten words in the corpus of the fit.", gaps=True),
    Column("exclusivity", pa.float32(), "Share of the ten words that falls to this topic.", gaps=True),
    Column("representative_ids", _WORDS, "Ids of the most typical documents."),
    Column("representative_texts", _WORDS, "The first 300 characters of each."),
)  # fmt: skip
TOPIC_TERMS = TableSpec(
    "topic_terms", "One of the thirty strongest words of a topic.",
    Column("topic", pa.int32(), "Number of the topic.", least=0, below="K"),
    Column("rank", pa.int32(), "1 for the strongest word of the topic.", least=1),
    Column("term", pa.string(), "The word."),
    Column("weight", pa.float32(), "Its weight: c-tf-idf in bertopic, else the probability in the topic."),
)  # fmt: skip
LAYERS = TableSpec(
    "layers", "A topic of a layer, the coarsest layer first.",
    Column("layer", pa.int32(), "Number of the layer, 0 the coarsest."),
    Column("topic", pa.int32(), "Number of the topic in the layer, 0 for the largest."),
    Column("parent", pa.int32(), "Its topic in the layer above.", gaps=True),
    Column("size", pa.int32(), "Documents of the topic."),
    Column("stability", pa.float32(), "Share of the topic that half of the documents gives again (Jaccard).", gaps=True),
    Column("label", pa.string(), "Name of the topic."),
    Column("top_terms", _WORDS, "Ten words, best first."),
    Column("chosen", pa.bool_(), "Whether the topics of the layer are those of the run."),
)  # fmt: skip
DOC_TOPICS = TableSpec(
    "doc_topics",
    "A topic of a document. Of mixtures, probabilities under 1 / (10 K) are left out, and topics of which a document has no word.",
    Column("id", pa.string(), "Id of the document."),
    Column("topic", pa.int32(), "Number of the topic.", least=0, below="K"),
    Column("prob", pa.float32(), "Its probability: the votes of neighbours in bertopic, theta in mixtures.", least=0, most=1.0001),
)  # fmt: skip
VOCAB = TableSpec(
    "vocab", "A term of the vocabulary.",
    Column("term", pa.string(), "The term."),
    Column("cf", pa.int64(), "Its occurrences in the corpus."),
    Column("df", pa.int64(), "Documents that have it."),
    Column("idf", pa.float64(), "Its inverse document frequency, of lsa and pca.", always=False),
    Column("score", pa.float64(), "Its score, where features were selected.", gaps=True, always=False),
)  # fmt: skip
TREE = TableSpec(
    "tree", "A merge of Ward's tree of K topics: row i is node K + i, as in scipy.cluster.hierarchy.",
    Column("left", pa.int32(), "Node that is merged."),
    Column("right", pa.int32(), "The other node."),
    Column("distance", pa.float64(), "Distance of the two."),
    Column("size", pa.int32(), "Topics below the merge."),
)  # fmt: skip
TOPIC_OF_DOCUMENT = (
    Column("topic", pa.int32(), "Its topic, -1 for none.", least=-1, below="K"),
    Column("topic_prob", pa.float32(), "Probability of the topic.", least=0, most=1.0001),
    Column("nearest_topic", pa.int32(), "The nearest topic, also of documents without one.", least=-1, below="K"),
    Column("margin", pa.float32(), "Lead of the nearest topic over the next one."),
)
DOCUMENTS = TableSpec(
    "documents", "A document, without its text; layer_0 … are its topics in the layers of a tree.",
    Column("id", pa.string(), "Id of the document."),
    *TOPIC_OF_DOCUMENT,
    is_open=True,
)  # fmt: skip
# what runs of topic models have, beside columns of their kind and of the user
TOPIC_TABLES = {table.name: table for table in (TOPICS, TOPIC_TERMS, LAYERS, DOC_TOPICS, VOCAB, TREE, DOCUMENTS)}


def check_topic_table(name: str, table: pa.Table, columns: Sequence[str] | None, n_topics: Callable[[], int]) -> None:
    """Refuse a table of a run of a topic model whose columns are other than they were written.

    Args:
        name: its file stem. columns: that are read, None for all.
        n_topics: the number of rows of the table topics; its topics are 0, 1, 2 …

    Raises:
        ValueError: see `TableSpec.check`, or topics do not fit together.
    """
    declared = TOPIC_TABLES[name]
    limited = any(c.below for c in declared.columns if columns is None or c.name in columns)
    declared.check(table, columns, {"K": n_topics()} if limited else {})
    if name != "topics":
        return
    topics = table.column("topic").to_pylist() if columns is None or "topic" in columns else []
    if topics != list(range(len(topics))):
        raise ValueError(f"the topics of {name} are not 0, 1, 2 …")
    if columns is None and not _lengths(table, "ids").equals(_lengths(table, "texts")):
        raise ValueError("topics has other than one representative text for each representative id")


def _lengths(table: pa.Table, what: str) -> pa.ChunkedArray:
    return pc.list_value_length(table.column(f"representative_{what}"))


# ------------------------------------------------------------------------------------------------------------------------
# Run directories, the output of a model (DESIGN §3), the same for every kind of model.

REPRESENTATIVE_CHARS = 300
WEIGHTS = "weights.safetensors"
EDITABLE = ("topics.parquet",)  # the names of topics may be edited by hand; nothing is computed from them

logger = logging.getLogger("nlpkit.io")


@dataclass(frozen=True, slots=True)
class RunTables:
    """The tables of a run, by file stem (documents, topics, topic_terms, doc_topics, vocab), and of model/ below it.

    reports: further JSON files by stem, such as metrics. texts: further text files by name. model_folder: a folder whose content
    goes into model/, such as the files of a transformer. model_files: content of further files in model/, by path below it.
    weights: of a neural network, for model/weights.safetensors.
    """

    tables: Mapping[str, pa.Table]
    model_tables: Mapping[str, pa.Table | BatchedTable]
    model_config: Mapping[str, Any]
    dropped: Sequence[DroppedRow] = ()
    reports: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    model_folder: Path | None = None
    model_files: Mapping[str, bytes] = field(default_factory=dict)
    weights: Mapping[str, Float32Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that is not written yet: its files, the footer block of its tables, its manifest."""

    files: RunTables
    block: dict[str, Any]
    manifest: dict[str, Any]

    def write(self, path: Path, *, force: bool) -> None:
        """Write the run directory; raises what `write_run` does."""
        write_run(path, self.files, self.block, self.manifest, force=force)


def new_run(
    kind: str,
    files: RunTables,
    source: HasProvenance,
    *,
    command: str = "",
    parameters: Mapping[str, Any],
    further: Mapping[str, Any] | None = None,
    results: Mapping[str, Any],
    execution: Execution,
    seconds: Mapping[str, float],
    lineage: Mapping[str, Any] | None = None,
) -> NewRun:
    """Return a run that can be written.

    Args:
        kind: of the run, also the command in its footers unless that has another name. files: without dropped rows, which are
            those of `source`, the documents that the run was made from.
        parameters: in force, for footers and manifest. further, results: parameters and numbers for the manifest alone.
        seconds: of each stage. lineage: the run that this one was made from, and which of its topics became which.
    """
    block = source_block("run", source, command=command or kind, parameters=parameters, seed=execution.seed)
    manifest = manifest_of(
        kind, parameters={**parameters, **(further or {})}, seed=execution.seed,
        threads=execution.n_threads(), inputs=source.inputs, seconds=seconds, results=results,
    )  # fmt: skip
    if lineage is not None:
        manifest["lineage"] = dict(lineage)
    return NewRun(replace(files, dropped=source.dropped), block, manifest)


def write_run(path: Path, run: RunTables, block: dict[str, Any], manifest: dict[str, Any], *, force: bool) -> None:
    """Write a run directory; it appears whole or not at all.

    Args:
        path: where.
        run: the tables.
        block: footer block of every table; its kind is replaced by the table's name.
        manifest: what `manifest.json` holds besides kind, versions and the sha256 of the outputs.
        force: replace an existing run directory.

    Raises:
        OutputExistsError, UsageError, InputError: see `check_target`.
    """
    before = peak_memory_mb()
    with atomic_directory(path, force=force) as part:
        for name, table in run.tables.items():
            write_table(part / f"{name}.parquet", table, {**block, "kind": _KINDS.get(name, name)})
        if run.dropped:
            write_table(part / "dropped.parquet", dropped_table(run.dropped), {**block, "kind": "dropped"})
        model = part / "model"
        if run.model_folder is not None:
            shutil.copytree(run.model_folder, model, copy_function=shutil.copyfile)  # with the usual permissions
        model.mkdir(exist_ok=True)
        for name, table in run.model_tables.items():
            write_table(model / f"{name}.parquet", table, {**block, "kind": f"model/{name}"})
        for name, content in run.model_files.items():
            (model / name).parent.mkdir(parents=True, exist_ok=True)
            (model / name).write_bytes(content)
        if run.weights:
            write_safetensors(model / WEIGHTS, run.weights)
        write_json(model / "config.json", run.model_config)
        for name, report in run.reports.items():
            write_json(part / f"{name}.json", report)
        for name, text in run.texts.items():
            (part / name).write_text(text, encoding="utf-8", newline="\n")
        outputs = {f.relative_to(part).as_posix(): sha256_of(f) for f in sorted(part.rglob("*")) if f.is_file()}
        head = {"schema_version": SCHEMA_VERSION, "nlpkit_version": __version__}
        if (peak := peak_memory_mb()) > before:  # writing took the most
            manifest = {**manifest, "peak_memory_mb": peak}
        write_json(part / MANIFEST, {**head, **manifest, "made_in": _made_in(path), "outputs": outputs})


def _made_in(path: Path) -> dict[str, str] | None:
    """Return the folder that relative paths of the inputs start from, see `seen_from`; None when it is gone."""
    try:
        return seen_from(path, Path.cwd())
    except FileNotFoundError:
        return None


def seen_from(run: Path, folder: Path) -> dict[str, str]:
    """Return a folder by its name, and by the way to it from a run: on another drive of Windows, its name again."""
    try:
        way = os.path.relpath(folder, run.resolve())
    except ValueError:
        way = str(folder)
    return {"folder": str(folder), "from_run": way}


_KINDS = {"documents": "run_documents"}
# the types of values in model/config.json that are relied on, in runs of all kinds
_CONFIG = {
    "n_topics": int,
    "eta": int | float,
    "options": dict,
    "tokens": dict,
    "arrays": list,
    "labels": list,
    "classes": list,
    "encoder": dict,
    "dim": int,
    "n_neighbors": int,
    "novelty": dict,
    "languages": list,
}
_KEYS = (
    "schema_version", "nlpkit_version", "kind", "command_line", "parameters", "seed", "threads", "inputs", "results",
    "seconds", "peak_memory_mb", "outputs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """An existing run directory.

    Every file that is read through it is compared with the sha256 in the manifest first, once, unless `verify` is off. A file
    in EDITABLE may differ: that is logged.
    """

    is_written: ClassVar[bool] = True

    path: Path
    manifest: dict[str, Any]
    verify: bool = True
    _checked: set[str] = field(default_factory=set, repr=False, compare=False)

    def __repr__(self) -> str:
        return wording.described(self, f"{self.manifest.get('kind')} in {self.path}")

    @property
    def is_mixture(self) -> bool:
        """Whether it is a topic model of whose phi and theta nothing is left out, of any kind."""
        return is_mixture(self.manifest["kind"])

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one of its tables by file stem, such as topics or model/training.

        Raises:
            InputError: it is not there, was changed, or its columns are not those of a run of this kind.
        """
        table = read_table(self.file(f"{name}.parquet"), [_KINDS.get(name, name)], columns)
        if name in TOPIC_TABLES and self.manifest["kind"] in MODELS:
            with self.intact():
                check_topic_table(name, table, columns, lambda: parquet_shape(self.file("topics.parquet"))[0])
        return table

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables of the model by file stem: all beside the manifest but dropped rows and predictions added later."""
        stems = [Path(name).stem for name in self.manifest["outputs"] if "/" not in name and name.endswith(".parquet")]
        return {stem: self.table(stem) for stem in stems if stem != "dropped" and not stem.startswith("predictions")}

    def model_config(self, *needed: str) -> dict[str, Any]:
        """Return model/config.json. Raises InputError when it is not there or has not the keys that are needed."""
        file = self.file("model/config.json")
        config = _read_json(file)
        missing = [key for key in needed if key not in config]
        if missing:
            raise InputError(f"{file} has no '{missing[0]}'; the run directory is damaged, make it again")
        other = [key for key, kind in _CONFIG.items() if not isinstance(config.get(key), kind | None)]
        if not other and config.get("encoder") is not None and not isinstance(config["encoder"].get("encoder"), str):
            other = ["encoder"]
        if other:
            raise InputError(
                f"the value of '{other[0]}' in {file} is of another type; the run directory is damaged, make it again"
            )
        return config

    def file(self, name: str) -> Path:
        """Return the path of one of its files, as it was written.

        Raises:
            InputError: it is not there, lies elsewhere, or was changed since.
        """
        file = self.path / name
        _check_inside(self.path, name)
        if not file.is_file() and name not in self.manifest["outputs"]:
            raise InputError(f"{self.path} is a run of kind '{self.manifest['kind']}', which has no {name}")
        if not file.is_file():
            raise InputError(f"run directory {self.path} has no {name}; it is incomplete, make it again")
        if self.verify and name not in self._checked:
            self._checked.add(name)
            problem = self._problem(name)
            if problem and name in EDITABLE:
                logger.warning("%s %s", file, problem)
            elif problem:
                raise InputError(f"{file} {problem}; make the run again, or read it anyway with `verify=False`")
        return file

    def folder(self, name: str) -> Path:
        """Return a folder of it, such as that of a transformer, with every file in it as it was written."""
        listed = [other for other in self.manifest["outputs"] if other.startswith(f"{name}/")]
        there = [f.relative_to(self.path).as_posix() for f in (self.path / name).rglob("*") if f.is_file()]
        for file in sorted({*listed, *(f for f in there if Path(f).name not in LITTER)}):
            self.file(file)
        return self.path / name

    def changed(self) -> dict[str, str]:
        """Return the files that are not as they were written, and what is wrong with each."""
        outputs = self.manifest["outputs"]
        problems = {name: self._problem(name) if (self.path / name).is_file() else "is missing" for name in outputs}
        return {name: problem for name, problem in problems.items() if problem}

    def _problem(self, name: str) -> str:
        listed = self.manifest["outputs"].get(name)
        if listed is None:
            return f"was added since the run was written ({MANIFEST} does not list it)"
        if sha256_of(self.path / name) != listed:
            return f"was changed since the run was written (its sha256 is not the one in {MANIFEST})"
        return ""

    def copy_to(self, path: Path, *, force: bool) -> None:
        """Copy it to another place; raises the errors of `write_run` for an existing target."""
        with atomic_directory(path, force=force) as part:
            shutil.copytree(self.path, part, dirs_exist_ok=True)

    @contextmanager
    def intact(self) -> Iterator[None]:
        """Report the files as damaged when a model cannot be built from them."""
        try:
            yield
        except (
            LookupError,
            TypeError,
            ValueError,
            ArithmeticError,
            AttributeError,
            RecursionError,
            pa.ArrowException,
            InputError,
            UsageError,  # of options that the model was fitted with
        ) as error:
            if isinstance(error, InputError) and str(self.path) in str(error):
                raise
            raise InputError(
                f"run directory {self.path} is damaged: the parts of its model do not fit ({first_line(error)}); make it again"
            ) from None


def open_run(path: Path, kinds: Sequence[str] | None = None, *, command: str = "", verify: bool = True) -> Run:
    """Open a run directory after checking its manifest.

    Args:
        path: where.
        kinds: that can be used; None for all.
        command: that makes such a run; default: that of the first kind.
        verify: refuse files that were changed since they were written, when they are read.

    Raises:
        InputError: it is not a run directory; SchemaError: another kind of model or a newer schema.
    """
    target = "run/" if path.exists() else path  # what is there already would be refused, or is a file of the user's
    command = command or (kinds[0] if kinds else "bertopic")
    make = shell_line("nlpkit", command, "CORPUS", "-o", target)
    if not kinds or "ngram-lm" in kinds:  # a command that takes runs of all kinds
        make += ", or `fit_lda()`, classify, finetune, ngram-lm …"
    if not path.exists():
        raise InputError(f"run directory {path} does not exist; make one with: {make}")
    if is_comparison(path):
        raise InputError(f"{path} is a comparison of models; name one of its runs in {path / 'runs'}")
    if not (path / MANIFEST).is_file():
        raise InputError(f"{path} is not a run directory (no {MANIFEST}); make one with: {make}")
    manifest = _read_json(path / MANIFEST)
    version = manifest.get("schema_version")
    missing = [k for k in _KEYS if k not in manifest]
    if not isinstance(version, int) or (version <= SCHEMA_VERSION and missing):
        raise InputError(f"{path / MANIFEST} is not the manifest of an nlpkit run (no '{(missing or _KEYS)[0]}')")
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{path} was written by nlpkit {manifest.get('nlpkit_version')} with schema version {version}, this nlpkit "
            f"({__version__}) reads up to {SCHEMA_VERSION}: update nlpkit"
        )
    if kinds and manifest.get("kind") not in kinds:
        *most, last = kinds
        needed = f"{', '.join(most)} or {last}" if most else last
        if set(BUILT_IN) <= set(kinds):
            needed = "a topic model, such as bertopic or lda-gibbs,"
        raise SchemaError(f"{path} is a run of kind '{manifest.get('kind')}', but a run of {needed} is needed")
    _check_values(path / MANIFEST, manifest)
    return Run(path, manifest, verify)


def _check_values(path: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest whose values are not of the types that are relied on."""
    for key, kind in {
        "kind": str,
        "command_line": list,
        "parameters": dict,
        "results": dict,
        "inputs": list,
        "outputs": dict,
    }.items():
        if not isinstance(manifest[key], kind):
            raise InputError(f"{path} is damaged: '{key}' is not of type {kind.__name__}; make the run again")
    for name in manifest["outputs"]:
        _check_inside(path.parent, name)
    needed = {"path": str, "rows": int, "sha256": str}
    for entry in manifest["inputs"]:
        if not isinstance(entry, dict) or not all(isinstance(entry.get(k), kind) for k, kind in needed.items()):
            raise InputError(f"{path} is damaged: an input without path, rows or sha256; make the run again")
    made_in = manifest.get("made_in")
    if made_in is not None and not (
        isinstance(made_in, dict) and all(isinstance(made_in.get(k), str) for k in ("folder", "from_run"))
    ):
        raise InputError(f"{path} is damaged: 'made_in' is not a folder; make the run again")
    packages = manifest.get("packages", {})  # runs of before 2026-12 have none
    if not isinstance(packages, dict) or not all(isinstance(v, str) for v in packages.values()):
        raise InputError(f"{path} is damaged: 'packages' are not versions by name; make the run again")


def _check_inside(run: Path, name: str) -> None:
    """Refuse a file of a run that lies elsewhere, by its name or by a link: whoever made the run would choose what is read or written.

    Raises:
        InputError: it does.
    """
    leaves = not name or "\\" in name or PurePath(name).is_absolute() or ".." in PurePath(name).parts
    try:
        leaves = leaves or not (run / name).resolve().is_relative_to(run.resolve())
    except (OSError, RuntimeError, ValueError):  # a circle of links, a NUL in a name
        leaves = True
    if leaves:
        raise InputError(f"{run} is refused: its file '{name}' lies outside of the run directory; make the run again")


def add_output(path: Path, names: Sequence[str]) -> None:
    """List files that were put into a run after it was written in its manifest, so that the run can be replaced."""
    manifest = _read_json(path / MANIFEST)
    manifest["outputs"] |= {name: sha256_of(path / name) for name in names if (path / name).exists()}
    with atomic_file(path / MANIFEST, force=True) as part:
        write_json(part, manifest)


def manifest_of(
    kind: str,
    *,
    parameters: Mapping[str, Any],
    seed: int,
    threads: int,
    inputs: Sequence[InputInfo],
    seconds: Mapping[str, float],
    results: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the manifest of a run. Only `command_line`, `threads`, `seconds` and `peak_memory_mb` may differ between equal runs.

    So may `packages`, which lists what the process had loaded, where that did more than the run; and `made_in`, the folder that paths
    of inputs start from, which `write_run` adds.
    """
    return {
        "kind": kind,
        "command_line": list(command_line.get()),
        "parameters": dict(parameters),
        "seed": seed,
        "threads": threads,
        "packages": package_versions(),
        "inputs": [i.listed() for i in inputs],
        "results": dict(results),
        "seconds": {k: round(v, 3) for k, v in seconds.items()},
        "peak_memory_mb": peak_memory_mb(),
    }


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file of a run."""
    path.write_text(to_json(value, indent=2) + "\n", encoding="utf-8", newline="\n")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} is missing; the run directory is incomplete, make it again") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}; make the run again") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} is not a JSON object; make the run again")
    return value


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
