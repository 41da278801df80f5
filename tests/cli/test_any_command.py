"""Any command, any small corpus, any options: the promises that must hold whatever the user types (DESIGN §2, §4).

Each test draws a corpus, a command and options from its seed, which is its name, and runs the line in this process. What must hold:
the exit code is one of the contract and never that of a bug; an error is one line, without a traceback, and leaves no file behind; no half
file is left by anybody; a document table that is written holds the documents that were read, in their order, and lists those that it left out.

`NLPKIT_COMBINATIONS` is the number of lines for each command (default 40), `NLPKIT_FIRST_SEED` the first seed (default 0).
"""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import json
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from nlpkit.cli.app import app
from tests.cli.conftest import COMMANDS, DIMENSIONS, Done, planted_rows, run_cli, write_embedded, write_jsonl
from tests.cli.finetune_data import base_model, rows

pytestmark = pytest.mark.any_command

COMBINATIONS = int(os.environ.get("NLPKIT_COMBINATIONS", "40"))
FIRST_SEED = int(os.environ.get("NLPKIT_FIRST_SEED", "0"))
CONTRACT = (0, 1, 2, 3, 4, 5)

has_neural = all(importlib.util.find_spec(name) is not None for name in ("torch", "hdbscan", "peft"))

# ---------------------------------------------------------------- corpora

WORDS = "river bridge water boat flood judge jury court trial violin choir concert opera moon orbit rocket the a of and".split()
ODD = ["", " ", "\n\t", "a", "7", "é", "日本語です", "自然语言处理", "😀", "<p>river &amp; boat</p>", "http://a.b/c", "\u200b", "...", "A-B-C",
       "=1+1", '"quoted, text"', "nan", "null", "\u0130stanbul", "x" * 300, "don't U.S.A. state-of-the-art"]  # fmt: skip


def texts(rng: np.random.Generator, n: int) -> list[Any]:
    """Texts of one kind, or of all kinds mixed, some of them not text at all."""
    kind = rng.choice(["prose", "prose", "prose", "characters", "codes", "odd", "mixed", "equal", "numbers", "nulls"])
    prose = [" ".join(rng.choice(WORDS, rng.integers(1, 30))) for _ in range(n)]
    odd = [str(rng.choice(ODD)) for _ in range(n)]
    made: dict[str, Callable[[], list[Any]]] = {
        "prose": lambda: [text.capitalize() + "." for text in prose],
        "characters": lambda: [str(rng.choice(list("ynabc01"))) for _ in range(n)],
        "codes": lambda: [" ".join(rng.choice(list("123456789"), rng.integers(1, 9))) for _ in range(n)],
        "odd": lambda: odd,
        "mixed": lambda: [[text, strange][rng.integers(2)] for text, strange in zip(prose, odd, strict=True)],
        "equal": lambda: ["the river and the boat"] * n,
        "numbers": lambda: [int(rng.integers(10)) for _ in range(n)],
        "nulls": lambda: [None if rng.random() < 0.4 else text for text in prose],
    }
    return made[str(kind)]()


def labels(rng: np.random.Generator, n: int) -> list[Any] | None:
    """Labels of one kind, or none."""
    kind = rng.choice(["two", "two", "four", "one", "all different", "nulls", "lists", "numbers", "none"])
    made: dict[str, Callable[[], list[Any] | None]] = {
        "two": lambda: [["pos", "neg"][i % 2] for i in range(n)],
        "four": lambda: [f"class {rng.integers(4)}" for _ in range(n)],
        "one": lambda: ["same"] * n,
        "all different": lambda: [f"l{i}" for i in range(n)],
        "nulls": lambda: [None if rng.random() < 0.5 else "a" for _ in range(n)],
        "lists": lambda: [sorted(set(rng.choice(list("abc"), rng.integers(0, 3)).tolist())) for _ in range(n)],
        "numbers": lambda: [float(rng.integers(1, 6)) for _ in range(n)],
        "none": lambda: None,
    }
    return made[str(kind)]()


def dates(rng: np.random.Generator, n: int) -> list[Any]:
    """Dates of one spelling, some of them none at all."""
    kind = rng.choice(["iso", "iso", "year", "slashes", "none", "mixed"])
    iso = [f"20{20 + i % 3}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(n)]
    made = {
        "iso": iso,
        "year": [day[:4] for day in iso],
        "slashes": [f"{day[8:]}/{day[5:7]}/{day[:4]}" for day in iso],
        "none": [None] * n,
        "mixed": [[day, "some day"][i % 5 == 0] for i, day in enumerate(iso)],
    }
    return made[str(kind)]


@dataclass
class Drawn:
    """A corpus on disk. ids: as given, where they are fit to be checked."""

    path: Path
    ids: list[str] | None
    columns: list[str] = field(default_factory=list)


def corpus(rng: np.random.Generator, folder: Path) -> Drawn:
    """Write a small corpus in some format; one in twelve is damaged."""
    n = int(rng.choice([0, 1, 2, 3, 5, 8, 20, 40]))
    table: list[dict[str, Any]] = [{"text": text} for text in texts(rng, n)]
    id_kind = rng.choice(["given", "given", "given", "missing", "numbers", "doubled"])
    label_column, date_column = labels(rng, n), dates(rng, n)
    for i, row in enumerate(table):
        if id_kind != "missing":
            row["id"] = {"given": f"d{i}", "numbers": i, "doubled": f"d{i // 2}"}[str(id_kind)]
        if label_column is not None:
            row["label"] = label_column[i]
        row |= {"date": date_column[i], "split": ["train", "test"][i % 3 == 0], "rating": i % 5, "author": f"a{i % 4}"}
    ids = [f"d{i}" for i in range(n)] if id_kind == "given" else None
    kind = str(rng.choice(["jsonl", "jsonl", "jsonl.gz", "json", "csv", "tsv", "txt", "parquet", "embedded", "tokens"]))
    path = folder / f"corpus.{kind if kind not in ('embedded', 'tokens') else 'parquet'}"
    if kind == "txt":
        path.write_text("".join(f"{str(row['text'] or '').strip()}\n" for row in table), encoding="utf-8")
        return Drawn(path, None, ["text"])
    write_as(kind, path, table, rng)
    if rng.random() < 1 / 12:
        damage(path, rng)
        return Drawn(path, None, list(table[0]) if table else [])
    return Drawn(path, ids, list(table[0]) if table else [])


def write_as(kind: str, path: Path, table: list[dict[str, Any]], rng: np.random.Generator) -> None:
    """Write rows in a format; what it cannot hold becomes a string."""
    if kind in ("jsonl", "json"):
        lines = [json.dumps(row, ensure_ascii=False) for row in table]
        path.write_text("\n".join(lines) + "\n" if kind == "jsonl" else f"[{','.join(lines)}]", encoding="utf-8")
    elif kind == "jsonl.gz":
        path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in table).encode()))
    elif kind in ("csv", "tsv"):
        import csv

        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(table[0]) if table else ["text"], delimiter="," if kind == "csv" else "\t")
            writer.writeheader()
            writer.writerows(table)
    else:
        for row in table:
            row["text"] = None if row["text"] is None else str(row["text"])
        if kind == "embedded":
            for row in table:
                vector = rng.normal(size=DIMENSIONS)
                row["embedding"] = (vector / np.linalg.norm(vector)).astype(np.float32).tolist()
        if kind == "tokens":
            for row in table:
                row["tokens"] = (row["text"] or "").split()
        if kind == "embedded" and table:
            write_embedded(path, table)
        else:
            pq.write_table(pa.Table.from_pylist(table) if table else pa.table({"text": pa.array([], pa.string())}), path)


def damage(path: Path, rng: np.random.Generator) -> None:
    """Cut the file, or overwrite some of it by random bytes."""
    data = bytearray(path.read_bytes())
    if rng.random() < 0.5:
        data = data[: rng.integers(0, len(data) + 1)]
    else:
        for _ in range(5):
            if data:
                data[rng.integers(len(data))] = rng.integers(256)
    path.write_bytes(bytes(data))


# ---------------------------------------------------------------- command lines

COLUMN = ["text", "id", "label", "date", "split", "rating", "author", "no such column"]
STRINGS: dict[str, Sequence[str]] = {
    "k": ["auto", "2", "3", "1", "0", "2:4", "4:2", "2:6:2", "x", "1000"],
    "language": ["auto", "en", "de", "none", "zh", "xx", "german"],
    "tokenizer": ["words", "sklearn", "whitespace", "chars:2-3", "chars:0", "auto"],
    "token_pattern": [r"\w+", "(", "[a-z]", ""],
    "stop_words": ["auto", "none", "en", "en,de", "xx", "NO_FILE.txt"],
    "ngrams": ["1", "1,2", "2,1", "0", "1,3"],
    "min_df": ["1", "2", "0.1", "auto", "0", "1000"],
    "max_df": ["1.0", "0.5", "2", "0", "-1"],
    "min_cf": ["1", "2", "0.1"], "max_cf": ["1.0", "0.5", "3"],
    "vocab": ["WORDS.txt", "NO_FILE.txt", "CORPUS"],
    "format": ["jsonl", "csv", "txt", "parquet", "doc"],
    "encoding": ["utf-8", "latin-1", "cp949", "no"], "encoding_errors": ["strict", "replace", "x"],
    "txt_docs": ["auto", "line", "lines", "file", "x"],
    "types": ["rating=string", "rating=int", "text=int", "x"],
    "estimate": ["last", "mean", "best", "x"], "term_weights": ["one", "idf", "pmi", "x"],
    "similarity": ["jaccard", "cosine", "jensen-shannon", "rbo", "x"],
    "rolling": ["month", "year", "quarter", "5 documents", "10 days", "x"],
    "init": ["2 quarters", "5 documents", "2021-01-01", "x"], "memory": ["3 quarters", "2 chunks", "x"],
    "seed_words": ["SEEDS.toml", "NO_FILE.txt"],
    "where": ["river", "(", "^$"], "keep_if": ["label == 'pos'", "rating >= 3", "text is not null", "x ==", "nope == 1"],
    "dedupe": ["exact", "near:0.9", "near:2", "x"],
    "unit": ["document", "paragraph", "sentence", "chunk:5", "chunk:0", "x"],
    "replace": ["REPLACE.tsv", "NO_FILE.txt"], "emoji": ["keep", "words", "remove", "x"],
    "keep": ["url,email", "number,emoji", "x"], "segment": ["auto", "ngrams", "characters", "words", "x"],
    "lemma": ["none", "dict", "x"], "stem": ["none", "auto", "porter", "german", "x"],
    "phrases": ["npmi:0.5", "pmi:3", "llr:10.83:2", "x", "npmi:9"], "phrase_file": ["PHRASES.txt", "NO_FILE.txt"],
    "spacy": ["blank:en", "no_such_model"], "pos": ["NOUN", "x"],
    "device": ["cpu", "cuda", "tpu"], "precision": ["auto", "fp32", "x"],
    "scheme": ["ltc", "lecture", "sklearn", "bm25", "xyz"], "tf": ["raw", "binary", "log", "augmented", "x"],
    "idf": ["idf", "plus1", "prob", "smooth", "x"], "norm": ["none", "l1", "l2", "pivoted-unique", "x"], "like": ["sklearn", "x"],
    "select": ["chi2:5", "mi:3", "chi2:0.5", "x", "chi2:0"], "to": ["parquet", "npz", "svmlight", "x"],
    "weighting": ["ctfidf", "importance", "keyness", "x"], "compat": ["bertopic", "gensim", "octis", "x"],
    "by": [*COLUMN, "date:year", "date:month", "date:quarter", "date:x"], "over": [*COLUMN, "date:year"],
    "on": ["words", "embeddings", "x"], "priors": ["empirical", "uniform", "0.5,0.5", "x"],
    "class_weight": ["none", "balanced", "x"], "calibrate": ["none", "sigmoid", "isotonic", "temperature", "x"],
    "zero_shot": ["sports,politics", "a: b c", ""], "hand_features": ["all", "length", "x"],
    "split": ["split", "split=test", "author=a1", "label", "no such column"], "groups": ["author", "no such column", "id"],
    "label_sep": [";", "a", ""], "twins": ["0.9", "0", "2"], "explain": ["d0", "nobody"],
    "fail_under": ["accuracy=0.1", "macro_f1=1.1", "npmi=0.0", "diversity=0.1", "x", "accuracy=x"], "fail_over": ["perplexity=10", "x=1"],
    "max_drop": ["0.02", "2%", "x"], "baseline": ["NO_FILE.txt", "WORDS.txt"],
    "lexicon": ["LEXICON.tsv", "vader", "no", "NO_FILE.txt"], "lexicon_score": ["sum", "mean", "polarity", "x"],
    "lexicon_cols": ["word=word,weight=weight", "x"], "negations": ["WORDS.txt"], "zero": ["positive", "negative", "x"],
    "classes": ["neg,pos", "a", "neg,neu,pos"],
    "l2s_epochs": ["1", "x"], "l2s_windows": ["2", "x"], "l2s_sizes": ["4", "x"], "l2s_resampling": ["bootstrap", "shuffle", "none", "x"],
    "method": ["full", "head", "lora", "lora(r=2)", "ia3", "setfit", "pfeiffer", "full,head", "x", "lora(r=0)"],
    "objective": ["mlm", "sbert-softmax", "cosine", "x"], "task": ["auto", "classes", "labels", "regression", "words", "x"],
    "shots": ["1", "2", "1,all", "x", "0"], "labels": ["a,b", "pos,neg"],
    "reference": ["CORPUS", "NO_FILE.txt"], "heldout": ["CORPUS"], "target_format": ["auto", "run", "table", "lines", "csv", "x"],
    "metrics": ["npmi", "coherence", "clustering", "classification", "distinctness", "fit", "all", "x", "accuracy,nmi"],
    "window": ["own", "document", "5", "0", "x"], "absent": ["worst", "skip", "x"],
    "ci_over": ["topics", "documents", "x"], "make_task": ["word-intrusion", "topic-intrusion", "rating", "x"],
    "annotators": ["label,author", "split,author,label", "x"], "measurement": ["nominal", "ordinal", "interval", "x"], "order": ["pos,neg", "x"],
    "plot": ["zipf.png", "heaps.svg", "x.doc"], "measure": ["jaccard", "cosine", "levenshtein", "levenshtein-normalized", "x"],
    "pattern": ["river", "a", "(", "", r"\w+", "r?ver"], "words": ["river", "bridge", "a", "日本"], "within": ["CORPUS", "WORDS.txt"],
    "date_format": ["%d/%m/%Y", "%Y-%m-%d", "x"], "show": ["1", "all", "0", "x", "5"],
}  # fmt: skip
COLUMNS = ("text_col", "id_col", "label_col", "date_col", "pair_col", "negative_col", "words_col", "context_by", "prediction_col",
           "prob_col", "topic_col", "positive", "majority", "xml_record", "xml_field")  # fmt: skip
FIXED = ("config", "debug", "verbose", "progress", "force", "output", "inputs", "quiet", "json", "dry_run", "encoder", "base", "offline")
OUTPUTS = ("save_vocab", "save_phrases", "save_removed", "save_state", "save_pyldavis", "features", "junit", "export")
FILES = {
    "WORDS.txt": "river\nboat\nmoon\n", "SEEDS.toml": "[topics]\nwater = ['river', 'boat*']\n", "REPLACE.tsv": "river\tstream\nboat\n",
    "PHRASES.txt": "river bridge\n", "LEXICON.tsv": "word\tweight\nriver\t2\nflood\t-3\n",
}  # fmt: skip
# what makes a line cheap enough to be run by the hundred
CHEAP = {
    "lda-gibbs": ["--sweeps", "12"],
    "bertopic": ["--offline", "--encoder", "TINY"],
    "sbert-embed": ["--offline", "--model", "TINY"],
    "classify": ["--offline", "--encoder", "TINY", "--budget", "2"],
    "finetune": ["--offline", "--base", "TINY", "--max-steps", "2", "--batch-size", "4"],
}
SMALL = {"prototype": [1, 2, 3], "l2s_resamples": [1, 2], "cv": [0, 1, 2, 3], "seeds": [1, 2], "epochs": [0, 1], "hidden": [1, 4],
         "items": [0, 1, 3], "particles": [1, 5], "threads": [0, 1, 2], "limit": [1, 3, 30], "max_tokens": [1, 4, 512],
         "n": [0, 1, 2, 5], "shards": [1, 2, 9], "checkpoint_every": [0, 1, 5], "lsa": [0, 1, 2, 50]}  # fmt: skip


def bare(annotation: Any) -> tuple[Any, bool]:
    """Return the type of an option without Annotated, Optional and list, and whether it may be repeated."""
    if hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(a for a in get_args(annotation) if a is not type(None))
    many = get_origin(annotation) is list
    return (get_args(annotation)[0], True) if many else (annotation, False)


def value_of(name: str, kind: Any, rng: np.random.Generator, drawn: Drawn, targets: Sequence[str]) -> str:
    """Return a value for an option: mostly one that it takes, now and then any."""
    if name == "model" and rng.random() < 0.7:
        return str(rng.choice([*targets, "nb", "logreg", "svm", "knn", "mlp", "auto", "no-such-run"]))
    if name in ("update", "fixed_topics", "targets", "path", "answers", "judgements", "vectors") and rng.random() < 0.9:
        return str(rng.choice([*targets, str(drawn.path)]))
    if name in ("test", "dev", "predict"):
        return str(drawn.path)
    if name in OUTPUTS:
        return f"{name}.out"
    if name in COLUMNS:
        return str(rng.choice([*drawn.columns, *COLUMN]))
    if name in STRINGS:
        return str(rng.choice(list(STRINGS[name])))
    if kind is int:
        return str(rng.choice(SMALL.get(name, [0, 1, 2, 3, 5, 30, -1])))
    if kind is float:
        return str(rng.choice([0.0, 0.1, 0.5, 0.9, 1.0, 2.0, -1.0, 1e-9]))
    return str(rng.choice(["x", "", "text", "1", "NO_FILE.txt", "WORDS.txt"]))


def line(command: str, rng: np.random.Generator, drawn: Drawn, targets: Sequence[str], tiny: str) -> list[str]:
    """Return the words of a command line: few options in most lines, many in some."""
    parameters = {p.name: p for p in typer.main.get_command(app).commands[command].params}  # type: ignore[attr-defined]
    from nlpkit.cli.config import _TYPES

    types = {name: annotation for name, annotation in _TYPES[command].items() if name in parameters}
    options = [name for name in types if name not in FIXED and parameters[name].param_type_name == "option"]
    words = [command]
    for name, parameter in parameters.items():
        if parameter.param_type_name != "argument":
            continue
        if name == "inputs" or (name in ("path", "targets") and rng.random() < 0.4):
            words.append(str(drawn.path) if rng.random() < 0.97 else str(rng.choice(["nothing.jsonl", ".", str(drawn.path.parent)])))
        else:
            kind, many = bare(types[name])
            words += [value_of(name, kind, rng, drawn, targets) for _ in range(rng.integers(1, 3) if many else 1)]
    chosen = rng.choice(options, min(len(options), int(rng.choice([0, 1, 1, 2, 2, 3, 6]))), replace=False)
    if command in ("bertopic", "lda-gibbs", "classify", "finetune", "tfidf") and rng.random() < 0.3 and "model" in options:
        chosen = ["model", *(name for name in chosen[:2] if name != "model")]
    for name in chosen:
        parameter = parameters[name]
        if getattr(parameter, "is_flag", False):
            words.append(str(rng.choice([*parameter.opts, *parameter.secondary_opts])))
            continue
        kind, _ = bare(types[name])
        words += [str(parameter.opts[0]), value_of(name, kind, rng, drawn, targets)]
    given = set(words)
    cheap = CHEAP.get(command, [])
    for i in range(0, len(cheap)):
        if cheap[i].startswith("--") and cheap[i] not in given:
            words += [cheap[i]] if i + 1 == len(cheap) or cheap[i + 1].startswith("--") else cheap[i : i + 2]
    if rng.random() < 0.9 and "output" in parameters:
        suffix = str(rng.choice([".parquet", ".parquet", "", "", ".csv", ".jsonl", ".npz", ".doc"]))
        words += ["-o", str(rng.choice(["-", f"out{suffix}", f"out{suffix}", f"out{suffix}"]))]
    words += [flag for flag, share in (("-q", 0.1), ("--json", 0.2), ("-n", 0.05), ("-f", 0.1)) if rng.random() < share]
    return [tiny if word == "TINY" else str(drawn.path) if word == "CORPUS" else word for word in words]


# ---------------------------------------------------------------- what must hold


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny random sentence model."""
    return str(base_model(tmp_path_factory.mktemp("any") / "tiny")) if has_neural else "tiny"


@pytest.fixture(scope="session")
def targets(tmp_path_factory: pytest.TempPathFactory, tiny: str) -> list[str]:
    """Runs of every kind, and tables that commands leave."""
    folder = tmp_path_factory.mktemp("targets")
    embedded = write_embedded(folder / "embedded.parquet", planted_rows(12))
    plain = write_jsonl(folder / "plain.jsonl", [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows(12)])
    run_cli("lda-gibbs", plain, "--k", "4", "--sweeps", "20", "-q", "-o", folder / "lda")
    run_cli("lda-gibbs", plain, "--k", "2", "--rolling", "year", "--init", "1 year", "--sweeps", "10", "-q", "-o", folder / "rolling")
    run_cli("classify", plain, "--model", "nb", "-q", "-o", folder / "nb")
    run_cli("tfidf", plain, "--lsa", "3", "-q", "-o", folder / "lsa")
    run_cli("preprocess", plain, "-q", "-o", folder / "docs.parquet")
    run_cli("classify", plain, "--model", folder / "nb", "-q", "-o", folder / "predicted.parquet")
    made = ["lda", "rolling", "nb", "lsa", "docs.parquet", "predicted.parquet"]
    if has_neural:
        run_cli("bertopic", embedded, "--k", "4", "-q", "-o", folder / "topics")
        labelled = write_jsonl(folder / "labelled.jsonl", rows())
        run_cli("finetune", labelled, "--base", tiny, "--method", "head", "--max-steps", "2", "-q", "-o", folder / "tuned")
        made += ["topics", "tuned"]
    return [str(folder / name) for name in made]


@contextlib.contextmanager
def here(folder: Path) -> Iterator[None]:
    with contextlib.chdir(folder):
        for name, content in FILES.items():
            Path(name).write_text(content, encoding="utf-8")
        yield


def run_any(words: Sequence[str], name: str) -> Done:
    """Run a line, whatever its exit code."""
    from typer.testing import CliRunner

    result = CliRunner().invoke(app, list(words), prog_name="nlpkit")
    done = Done(f"nlpkit {shlex.join(words)}   ({name})", result.exit_code, result.stdout, result.stderr)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(str(done)) from result.exception
    return done


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + COMBINATIONS))
@pytest.mark.parametrize("command", COMMANDS)
def test_any_line_keeps_the_promises(command: str, seed: int, tmp_path: Path, targets: list[str], tiny: str) -> None:
    if command == "finetune" and not has_neural:
        pytest.skip("the extra neural is not installed")
    rng = np.random.default_rng([COMMANDS.index(command), seed])
    with here(tmp_path):
        drawn = corpus(rng, tmp_path)
        before = {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}
        words = line(command, rng, drawn, targets, tiny)
        done = run_any(words, f"seed {seed}")
    check_streams(done, words)
    check_files(done, tmp_path, before)
    if done.code == 0:
        check_ids(done, tmp_path, drawn, words)


def check_streams(done: Done, words: Sequence[str]) -> None:
    assert done.code in CONTRACT, str(done)
    assert "Traceback" not in done.err, str(done)
    errors = [text for text in done.err.splitlines() if text.startswith("error: ")]
    if done.code == 0:
        assert errors == [], str(done)
    elif done.code > 1:
        assert len(errors) == 1, str(done)
        assert done.err.splitlines()[-1] == errors[0], str(done)
        assert "-o" in words or "--output" in words or done.out == "", str(done)
    if "--json" in words and done.code == 0 and done.out:
        done.json()


def check_files(done: Done, folder: Path, before: dict[Path, bytes]) -> None:
    after = {f for f in folder.rglob("*") if f.is_file()}
    assert all(f in after and f.read_bytes() == data for f, data in before.items()), f"an input was changed{done}"
    new = sorted(f.relative_to(folder).as_posix() for f in after - before.keys())
    assert not [name for name in new if Path(name).name.startswith(".")], f"half files: {new}{done}"
    if done.code > 1:
        assert not [name for name in new if ".checkpoint" not in name], f"files of a command that failed: {new}{done}"


DROPS_ROWS = {"--where", "--keep-if", "--dedupe", "--unit", "--limit", "--id-col", "--text-col", "--xml-field", "--xml-record", "--types"}


def check_ids(done: Done, folder: Path, drawn: Drawn, words: Sequence[str]) -> None:
    """The documents of a table or run are those that were read, in their order; the others are listed."""
    if drawn.ids is None or DROPS_ROWS & set(words) or str(drawn.path) not in words[1:2]:
        return
    target = folder / "out.parquet"
    run = next((path for path in (folder / "out", target) if (path / "documents.parquet").is_file()), None)
    if run is not None:
        ids, listed = ids_of(run / "documents.parquet"), run / "dropped.parquet"
    elif target.is_file() and words[0] in ("preprocess", "sbert-embed", "bertopic", "lda-gibbs", "classify", "finetune"):
        ids, listed = ids_of(target), folder / "out.dropped.parquet"
    else:
        return
    dropped = ids_of(listed) if listed.is_file() else []
    assert ids == [name for name in drawn.ids if name in set(ids)], str(done)
    if words[0] not in ("classify", "finetune"):  # whose runs hold the documents that were scored
        assert sorted([*ids, *dropped]) == sorted(drawn.ids), str(done)


def ids_of(path: Path) -> list[str]:
    return [str(name) for name in pq.ParquetFile(path).read(columns=["id"])["id"].to_pylist()]
