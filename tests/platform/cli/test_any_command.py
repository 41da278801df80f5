"""Any command, any small corpus, any options: the promises that must hold whatever the user types (DESIGN §2, §4).

Each test draws a corpus, a command and options from its seed, which is part of its name, and runs the line in this process. The exit
code is one of the contract and never that of a bug; an error is one line, without a traceback, and leaves no file behind; nothing leaves
a half-written file; a document table holds the documents that were read, in their order, and those that were left out are listed.

`ANY_COMMAND_LINES` is the number of lines for each command (default 60), `ANY_COMMAND_SEED` the first seed (default 0).
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import importlib.util
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from nlpkit.platform.cli.app import app
from nlpkit.platform.cli.config import _TYPES
from tests.command_line import COMMANDS, DIMENSIONS, Done, files, planted_rows, run_cli, write_embedded, write_jsonl
from tests.finetune.finetune_data import base_model, rows

pytestmark = pytest.mark.any_command

COMBINATIONS = int(os.environ.get("ANY_COMMAND_LINES", "60"))
FIRST_SEED = int(os.environ.get("ANY_COMMAND_SEED", "0"))
CONTRACT = (0, 1, 2, 3, 4, 5)

has_neural = all(importlib.util.find_spec(name) is not None for name in ("torch", "hdbscan", "peft"))

# ---------------------------------------------------------------- corpora

WORDS = [
    "river", "bridge", "water", "boat", "flood", "judge", "jury", "court", "trial", "violin", "choir", "concert",
    "opera", "moon", "orbit", "rocket", "the", "a", "of", "and",
]  # fmt: skip
ODD = ["", " ", "\n\t", "a", "7", "é", "日本語です", "自然语言处理", "😀", "<p>river &amp; boat</p>", "http://a.b/c", "\u200b", "...",
       "A-B-C",
       "=1+1", '"quoted, text"', "nan", "null", "\u0130stanbul", "x" * 300, "don't U.S.A. state-of-the-art"]  # fmt: skip


def texts(rng: np.random.Generator, n: int, calm: bool) -> list[Any]:
    """Texts of one kind, or of all kinds mixed, some of them not text at all."""
    kinds = ["prose", "prose", "mixed", "nulls"]
    kind = rng.choice(kinds if calm else [*kinds, "characters", "codes", "odd", "equal", "numbers"])
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


def labels(rng: np.random.Generator, n: int, calm: bool) -> list[Any] | None:
    """Labels of one kind, or none."""
    kinds = ["two", "two", "four", "lists"]
    kind = rng.choice(kinds if calm else [*kinds, "one", "all different", "nulls", "numbers", "none"])
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


def corpus(rng: np.random.Generator, folder: Path, calm: bool) -> Drawn:
    """Write a small corpus in some format. calm: most commands can work on it; of the others one in eight is damaged."""
    n = int(rng.choice([24, 40, 60] if calm else [0, 1, 2, 3, 5, 8, 20]))
    table: list[dict[str, Any]] = [{"text": text} for text in texts(rng, n, calm)]
    id_kind = rng.choice(["given", "given", "missing", "numbers", *([] if calm else ["doubled"])])
    label_column, date_column = labels(rng, n, calm), dates(rng, n)
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
    if not calm and rng.random() < 1 / 8:
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
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(
                file, list(table[0]) if table else ["text"], delimiter="," if kind == "csv" else "\t"
            )
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
            pq.write_table(
                pa.Table.from_pylist(table) if table else pa.table({"text": pa.array([], pa.string())}), path
            )


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

COLUMN = ["text", "id", "label", "date", "split", "rating", "author"]
WRONG = ["x", "", "0", "-1", "1000000", "nan", "NO_FILE.txt", "no such column", "("]
STRINGS: dict[str, Sequence[str]] = {
    "what": ["map", "topics", "tree", "over-time", "stream", "by-column", "number", "confusion", "calibration", "similarity"],
    "shard": ["1/1", "1/1", "2/2", "0/1", "1"],
    "k": ["2", "3", "4", "2:4", "2:6:2", "auto"],
    "language": ["auto", "en", "de", "none", "zh", "german"],
    "tokenizer": ["words", "sklearn", "whitespace", "chars:2-3"],
    "token_pattern": [r"\w+", "[a-z]"],
    "stop_words": ["auto", "none", "en", "en,de"],
    "ngrams": ["1", "1,2", "1,3"],
    "min_df": ["1", "2", "0.1", "auto"], "max_df": ["1.0", "0.9", "20"],
    "min_cf": ["1", "2", "0.01"], "max_cf": ["1.0", "0.5", "30"],
    "vocab": ["WORDS.txt"], "format": ["jsonl", "csv", "txt", "parquet"],
    "encoding": ["utf-8", "latin-1", "cp949"], "encoding_errors": ["strict", "replace"], "txt_docs": ["auto",
    "line", "file"],
    "types": ["rating=string", "rating=int", "rating=float"],
    "estimate": ["last", "mean", "best"], "term_weights": ["one", "idf", "pmi"],
    "similarity": ["jaccard", "cosine", "jensen-shannon", "rbo"],
    "chunks": ["month", "year", "quarter", "5 documents", "10 days"],
    "init": ["2 quarters", "5 documents", "2021-01-01", "1 year"], "memory": ["3 quarters", "2 chunks"],
    "seed_words": ["SEEDS.toml"],
    "where": ["river", "^The", "boat|moon"], "keep_if": ["label == 'pos'", "rating >= 3", "text is not null"],
    "dedupe": ["exact", "near:0.9"], "unit": ["document", "paragraph", "sentence", "chunk:5"],
    "replace": ["REPLACE.tsv"], "emoji": ["keep", "words", "remove"],
    "keep": ["url,email", "number,emoji"], "segment": ["auto", "ngrams", "characters", "words"],
    "lemma": ["none", "dict"], "stem": ["none", "auto", "porter", "german"],
    "phrases": ["npmi:0.5", "pmi:3", "llr:10.83:2"], "phrase_file": ["PHRASES.txt"],
    "spacy": ["blank:en"], "pos": ["NOUN"], "device": ["cpu"], "precision": ["auto", "fp32"],
    "scheme": ["ltc", "classic", "sklearn", "bm25"], "tf": ["raw", "binary", "log", "augmented"],
    "idf": ["idf", "plus1", "prob", "smooth"], "norm": ["none", "l1", "l2", "pivoted-unique"], "like": ["sklearn"],
    "select": ["chi2:5", "mi:3", "chi2:0.5"], "to": ["parquet", "npz", "svmlight"],
    "weighting": ["ctfidf", "importance", "keyness"], "compat": ["bertopic", "gensim", "octis"],
    "by": ["label", "author", "split", "date", "date:year", "date:month", "date:quarter"],
    "target": ["a1", "pos", "nobody"], "parts": ["author", "split"],
    "over": ["author",
    "split", "date:year"],
    "on": ["words", "embeddings", "columns"], "priors": ["empirical", "uniform", "0.5,0.5"],
    "cost": ["10", "0.1,10", "auto"], "alpha": ["0.1", "auto"],
    "threshold": ["recall=0.9:economy", "precision=0.5:0"],
    "class_weight": ["none", "balanced"], "calibrate": ["none", "sigmoid", "isotonic", "temperature"],
    "zero_shot": ["sports,politics", "a: b c,d"], "hand_features": ["all", "length"],
    "split": ["split", "split=test", "author=a1"], "groups": ["author"],
    "label_sep": [";"], "near_duplicates": ["0.9", "0"], "explain": ["d0", "p000", "nobody"],
    "fail_under": ["accuracy=0.1", "macro_f1=1.1", "npmi=0.0", "diversity=0.1"], "fail_over": ["perplexity=10"],
    "max_drop": ["0.02", "2%"],
    "baseline": ["WORDS.txt"],
    "lexicon": ["LEXICON.tsv", "vader", "afinn", "liu"], "lexicon_score": ["sum", "mean", "polarity"],
    "lexicon_cols": ["word=word,weight=weight"], "negations": ["WORDS.txt"], "zero": ["positive", "negative"],
    "classes": ["neg,pos", "neg,neu,pos"],
    "l2s_epochs": ["1"], "l2s_windows": ["2"], "l2s_sizes": ["4"], "l2s_resampling": ["bootstrap", "shuffle", "none"],
    "method": ["full", "head", "lora", "lora(r=2)", "ia3", "setfit", "pfeiffer", "full,head"],
    "objective": ["mlm", "sbert-softmax", "cosine"], "task": ["auto", "classes", "labels", "regression", "ordinal", "words"],
    "shots": ["1", "2", "1,all"], "labels": ["a,b", "pos,neg"],
    "reference": ["CORPUS"], "heldout": ["CORPUS"], "target_format": ["auto", "run", "table", "lines", "csv"],
    "metrics": ["npmi", "coherence", "clustering", "classification", "distinctness", "fit", "all", "accuracy,nmi"],
    "window": ["own", "document", "5"], "absent": ["worst", "skip"],
    "ci_over": ["topics", "documents"], "make_task": ["word-intrusion", "topic-intrusion", "rating"],
    "annotators": ["label,author", "split,author,label"], "measurement": ["nominal", "ordinal", "interval"],
    "order": ["pos,neg"], "smoothing": ["kneser-ney", "witten-bell", "backoff", "add-k", "mle"],
    "decode": ["sample", "greedy", "beam"], "prompt": ["river", "the boat", "日本"],
    "plot": ["zipf.png", "heaps.svg"], "node": ["river", "The", "日本"],
    "measure": ["g2", "log-dice", "jaccard", "cosine", "levenshtein", "levenshtein-normalized"],
    "sort": ["left", "right", "match"], "show_cols": ["author,rating", "all", "date"],
    "pattern": ["river", "a", r"\w+", "b.*t"], "words": ["river", "bridge", "a", "日本"], "within": ["CORPUS",
    "WORDS.txt"],
    "metric": ["cosine", "euclidean", "manhattan", "minkowski"], "scale": ["none", "standard", "minmax", "robust"],
    "rules": ["RULES.toml"],
    "include": ["all", "counts,lix", "words", "diversity", "flesch"], "bins": ["words:3", "rating:width:2", "words:edges:1,5"],
    "keep_cols": ["all", "none", "author,label"],
    "feature_cols": ["rating", "rating,author", "label"], "ids": ["d0", "d1", "nobody"], "texts": ["WORDS.txt"],
    "queries": ["river", "a boat", "日本"],
    "date_format": ["%d/%m/%Y", "%Y-%m-%d"], "show": ["1", "5"],
}  # fmt: skip
# The ways to use a command: the options that make it so, and the groups of options that then say nothing.
LEXICON = (
    "lexicon lexicon_cols lexicon_score negation negations negation_reach neutral zero classes lex2sent "
    "l2s_resamples l2s_epochs l2s_windows l2s_sizes l2s_resampling l2s_min_count"
)
TRAINING = (
    "priors cost class_weight neighbors hidden calibrate budget test split cv groups label_sep predict near_duplicates select "
    "hand_features feature_cols on rules"
)
RARE = (
    "text_col id_col label_col date_col format xml_record xml_field words_col pos entities lemma model zero_shot explain probabilities "
    "prototype update resume fixed_topics answers judgements annotators majority order threshold costs "
    "label_noise layer token_idf template multi_label examples choose"
)
ONE_TASK = "crf calibrate answer_start_col answer_tokens overlap"
PRETRAIN = "arch objective size tokenizer pooling teacher target_col"
BM25 = "scheme tf idf norm like bm25 k1 b slope augment"
WAYS: dict[str, list[tuple[list[str], str]]] = {
    "bertopic": [(["--k", "3"], RARE), ([], RARE)],
    "lda-gibbs": [(["--k", "3"], RARE), (["--k", "2:4"], RARE), (["--k", "2", "--prototype", "2"], RARE)],
    "plsa": [(["--k", "3"], RARE), (["--k", "2:4"], RARE)],
    "nmf": [(["--k", "3"], RARE), (["--k", "2:4"], RARE)],
    "gsdmm": [(["--k", "5"], RARE)],
    "hdp": [(["--initial-topics", "9"], RARE)],
    "hlda": [(["--depth", "3"], RARE)],
    "dtm": [(["--k", "2", "--every", "month", "--iterations", "3"], RARE)],
    "lda-online": [(["--k", "3"], RARE), (["--k", "2", "--batch-size", "all"], RARE)],
    "biterm": [(["--k", "3"], RARE), (["--k", "2:4"], RARE)],
    "ctm": [(["--k", "3", "--inference", "bow", "--iterations", "3"], f"{RARE} inference encoder")],
    "etm": [(["--k", "3", "--iterations", "3", "--hidden", "20"], RARE)],
    "fastopic": [(["--k", "3", "--iterations", "3", "--encoder", "TINY"], f"{RARE} encoder")],
    "compare": [(["--k", "2", "--models", "nmf", "--seeds", "1"], f"{RARE} models metrics")],
    "stm": [(["--k", "3"], RARE), (["--k", "2:4"], RARE)],
    "slda": [(["--k", "3", "--iterations", "5"], RARE)],
    "author-topic": [(["--k", "3", "--author-col", "label", "--iterations", "5"], f"{RARE} author_col")],
    "labeled-lda": [(["--iterations", "5"], RARE)],
    "rolling-lda": [(["--k", "2", "--chunks", "year", "--init", "1 year"], RARE)],
    "classify": [
        (["--model", "nb"], f"{RARE} {LEXICON}"), (["--model", "logreg"], f"{RARE} {LEXICON}"), (["--model",
        "svm"], f"{RARE} {LEXICON}"),
        (["--model", "knn", "--encoder", "TINY"], f"{RARE} {LEXICON} {BM25}"),
        (["--on", "columns", "--feature-cols", "author,rating"], "*"),
        (["--rules", "RULES.toml"], "*"),
    ],
    "sentiment": [(["--lexicon", "LEXICON.tsv"], RARE)],
    "zero-shot": [(["--labels", "sports,politics", "--encoder", "TINY"], RARE)],
    "active": [(["--vectors", "tfidf", "--relabel"], f"{RARE} by labels labelled page vectors"), (["--by", "random", "--relabel"],
    f"{RARE} by labels labelled page")],
    "active-curve": [(["--by", "margin", "--vectors", "tfidf", "--rounds", "2", "--batch-size", "4", "--seeds", "1"], f"{RARE} by plot")],
    "finetune": [(["--method", "head"], f"{RARE} {ONE_TASK}"), (["--method", "lora"], f"{RARE} {ONE_TASK}")],
    "train-encoder": [(["--objective", "mlm"], RARE)],
    "train-tokenizer": [([], RARE)],
    "pretrain": [(["--arch", "gru"], f"{RARE} {PRETRAIN}"), (["--arch", "bert", "--objective", "mlm"], f"{RARE} {PRETRAIN}")],
    "evaluate": [(["LDA"], RARE), (["TOPICS"], RARE), (["PREDICTED"], RARE), (["CORPUS"], RARE), (["LDA",
    "TOPICS"], RARE)],
    "tfidf": [([], BM25), ([], BM25), (["--lsa", "2"], BM25), (["--scheme", "ltc"], BM25), (["--by", "label",
    "--select", "chi2:5"], BM25)],
    "ctfidf": [(["--by", "label"], ""), (["--by", "date:year", "--over", "author"], ""), (["--by", "author",
    "--weighting", "keyness"], ""),
    (["--by", "author", "--target", "a1"], "over weighting reduce_frequent_words bm25 compat epsilon")],
    "keyness": [(["--by", "author"], ""), (["--by", "author", "--target", "a1"], "")],
    "kwic": [([], "text_col id_col format xml_record xml_field within window"), (["--by", "author"],
    "text_col id_col format xml_record xml_field within window")],
    "cluster": [(["--by", "tfidf"], RARE),
    (["--by", "tfidf", "--method", "average"], RARE), (["--feature-cols", "rating"], "*"), ([], "*")],
    "similar": [(["--by", "tfidf", "--pairs", "0.5"], f"{RARE} ids texts"), (["--by", "tfidf", "--id", "d0"], f"{RARE} pairs"), (["--pairs",
    "0.9"], "*")],
    "features": [([], RARE), (["--lexicon", "EMOTIONS.tsv"], RARE)],
    "similar-words": [(["--in", "CORPUS"], "text_col id_col format xml_record xml_field")],
    "preprocess": [([], RARE)],
    "collocations": [([], RARE), (["--node", "river", "--min-count", "1"], RARE)],
    "stats": [([], RARE)],
    "sbert-embed": [([], RARE)],
    "embed-words": [(["--method", "glove", "--min-count", "1", "--epochs", "2"], "*"), (["--method", "pmi-svd", "--dimensions", "2"], "*")],
}  # fmt: skip
COMMON = "encoding encoding_errors txt_docs types limit seed threads device precision max_tokens date_format show"
SUFFIXES = {
    "bertopic": ["", ".run"], "lda-gibbs": ["", ".run"], "plsa": ["", ".run"], "nmf": ["", ".run"], "gsdmm": ["", ".run"],
    "hdp": ["", ".run"], "hlda": ["", ".run"], "stm": ["", ".run"], "slda": ["", ".run"], "author-topic": ["", ".run"],
    "labeled-lda": ["", ".run"], "lda-online": ["", ".run"], "dtm": ["", ".run"],
    "biterm": ["", ".run"], "ctm": ["", ".run"], "etm": ["", ".run"], "fastopic": ["", ".run"],
    "compare": ["", ".run"],
    "rolling-lda": ["", ".run"], "classify": ["", ".run"], "finetune": ["", ".run"],
    "train-encoder": ["", ".run"], "train-tokenizer": ["", ".run"], "pretrain": ["", ".run"],
    "edit": ["", ".run"], "name": ["", ".toml"], "report": [".html"], "plot": [".svg", ".pdf", ".png"],
    "export": ["", ".xlsx", ".json", ".gexf"], "ngram-lm": ["", ".run"], "embed-words": ["", ".run"],
    "evaluate": [".json", ".parquet"], "tfidf": [".parquet", ".npz"],
}  # fmt: skip
COLUMNS = ("text_col", "id_col", "label_col", "date_col", "pair_col", "negative_col", "words_col", "context_by", "prediction_col",
           "answer_start_col", "prob_col", "topic_col", "positive", "majority", "xml_record", "xml_field")  # fmt: skip
FIXED = (
    "workers", "ray", "resume", "shard_timeout", "budget", "config", "debug", "verbose", "progress", "force",
    "output", "inputs", "quiet", "json", "dry_run", "encoder", "base", "offline",
)  # fmt: skip
OUTPUTS = (
    "export", "features", "junit", "merges", "save_arpa", "save_conllu", "save_phrases", "save_removed",
    "save_vocab", "save_word2vec", "tree",
)  # fmt: skip
FILES = {
    "WORDS.txt": "river\nboat\nmoon\n", "SEEDS.toml": "[topics]\nwater = ['river', 'boat*']\n",
    "REPLACE.tsv": "river\tstream\nboat\n",
    "PHRASES.txt": "river bridge\n",
    "RULES.toml": "[[rule]]\nlabel = 'pos'\nany = ['river', 'judge*']\n",
    "LEXICON.tsv": "word\tweight\nriver\t2\nflood\t-3\n",
    "EMOTIONS.tsv": "river\tjoy\t1\nflood\tfear\t1\nflood\tjoy\t0\n",
}  # fmt: skip
# what makes a line cheap enough to be run by the hundred
CHEAP = {
    "lda-gibbs": [("--sweeps", "12")],
    "rolling-lda": [("--sweeps", "12")],
    "bertopic": [("--offline",), ("--encoder", "TINY")],
    "sbert-embed": [("--offline",), ("--model", "TINY")],
    "classify": [("--offline",)],
    "zero-shot": [("--offline",)],
    "cluster": [("--offline",)],
    "active": [("--offline",)],
    "active-curve": [("--offline",)],
    "similar": [("--offline",)],
    "embed-words": [("--dimensions", "4")],
    "finetune": [("--offline",), ("--base", "TINY"), ("--max-steps", "2"), ("--batch-size", "4")],
    "train-encoder": [("--offline",), ("--base", "TINY"), ("--max-steps", "2"), ("--batch-size", "4")],
    "train-tokenizer": [("--vocab-size", "300")],
    "pretrain": [("--vocab-size", "300"), ("--max-steps", "2"), ("--batch-size", "4")],
}
SMALL = {"prototype": [1, 2, 3], "l2s_resamples": [1, 2], "cv": [0, 1, 2, 3], "seeds": [1, 2], "epochs": [0, 1],
"hidden": [1, 4],
         "items": [0, 1, 3], "particles": [1, 5], "threads": [0, 1, 2], "limit": [1, 3, 30],
         "max_tokens": [1, 4, 512],
         "n": [0, 1, 2, 5], "shards": [1, 2, 9], "workers": [1, 2],
         "checkpoint_every": [0, 1, 5], "lsa": [0, 1, 2, 50], "pca": [1, 2, 50]}  # fmt: skip


def bare(annotation: Any) -> tuple[Any, bool]:
    """Return the type of an option without Annotated, Optional and list, and whether it may be repeated."""
    if hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(a for a in get_args(annotation) if a is not type(None))
    many = get_origin(annotation) is list
    return (get_args(annotation)[0], True) if many else (annotation, False)


def value_of(name: str, kind: Any, rng: np.random.Generator, drawn: Drawn, targets: Mapping[str, str]) -> str:
    """Return a value for an option."""
    if name in ("model", "source", "update", "fixed_topics", "targets", "path", "answers", "judgements", "vectors",
                "first", "second", "compare"):  # fmt: skip
        return str(rng.choice([*targets.values(), str(drawn.path)]))
    if name in ("test", "dev", "predict", "docs"):
        return str(drawn.path)
    if name in OUTPUTS:
        return f"{name}.out"
    if name in COLUMNS:
        return str(rng.choice([*drawn.columns, *COLUMN]))
    if kind is int:
        return str(rng.choice(SMALL.get(name, [1, 2, 3, 5, 30])))
    if kind is float:
        return str(rng.choice([0.1, 0.5, 0.9, 1.0, 2.0]))
    if name in STRINGS:
        return str(rng.choice(list(STRINGS[name])))
    return str(rng.choice(["text", "1", "WORDS.txt"]))


def line(command: str, rng: np.random.Generator, drawn: Drawn, targets: Mapping[str, str], calm: bool) -> list[str]:
    """Return the words of a command line. calm: options that go together, with values they take; else any."""
    parameters = {p.name: p for p in typer.main.get_command(app).commands[command].params}  # type: ignore[attr-defined]
    types = _TYPES[command]
    way, silent = WAYS.get(command, [([], "")])[rng.integers(len(WAYS.get(command, [1])))] if calm else ([], "")
    options = [name for name in types if name not in FIXED and parameters[name].param_type_name == "option"]
    if calm:
        closed = set(silent.split())
        kept = set(COMMON.split()) if "*" in closed else set(options) - closed
        options = [name for name in options if name in kept and parameters[name].opts[0] not in way]
    words = [command]
    for name, parameter in parameters.items():
        if parameter.param_type_name != "argument" or (way and name == "targets"):
            continue
        if name == "queries" and "--pairs" in way:
            continue
        if name == "inputs":
            words.append(
                str(drawn.path) if calm or rng.random() < 0.95 else str(rng.choice(["nothing.jsonl", ".", "-"]))
            )
        else:
            kind, many = bare(types[name])
            words += [
                value_of(name, kind, rng, drawn, targets) for _ in range(rng.integers(1, 3) if many and not calm else 1)
            ]
    words += way
    for name in rng.choice(
        options, min(len(options), int(rng.choice([0, 1, 1, 2, 3] if calm else [1, 2, 3, 6]))), replace=False
    ):
        parameter = parameters[name]
        if getattr(parameter, "is_flag", False):
            words.append(str(rng.choice([*parameter.opts, *parameter.secondary_opts])))
            continue
        kind, _ = bare(types[name])
        wrong = not calm and rng.random() < 0.25
        words += [
            str(parameter.opts[0]),
            str(rng.choice(WRONG)) if wrong else value_of(name, kind, rng, drawn, targets),
        ]
    for option, *value in CHEAP.get(command, []):
        if option not in words and not (calm and "--model" in way and option not in ("--offline", "--encoder")):
            words += [option, *value]
    if "output" in parameters and (calm or rng.random() < 0.8):
        predicts = "--model" in way or "--lexicon" in way or "--labels" in way
        suffixes = (
            [".parquet", ".parquet", ".csv", ".jsonl"]
            if predicts
            else SUFFIXES.get(command, [".parquet", ".parquet", ".tsv", ".jsonl"])
        )
        words += [
            "-o",
            f"out{rng.choice(suffixes if calm else [*suffixes, '.csv', '.jsonl', '.xlsx', '.doc', '.npz'])}",
        ]
        if not calm and rng.random() < 0.2:
            words[-1] = "-"
    words += [flag for flag, share in (("-q", 0.1), ("--json", 0.2), ("-n", 0.05)) if rng.random() < share]
    return [str(drawn.path) if word == "CORPUS" else targets.get(word, word) for word in words]


# ---------------------------------------------------------------- what must hold


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny random sentence model."""
    return str(base_model(tmp_path_factory.mktemp("any") / "tiny")) if has_neural else "tiny"


@pytest.fixture(scope="session")
def targets(tmp_path_factory: pytest.TempPathFactory, tiny: str) -> dict[str, str]:
    """Runs of every kind, and tables that commands leave, by the word that stands for them."""
    folder = tmp_path_factory.mktemp("targets")
    plain = write_jsonl(
        folder / "plain.jsonl", [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows(12)]
    )
    lines = {
        "LDA": ["lda-gibbs", plain, "--k", "4", "--sweeps", "20"],
        "ROLLING": ["rolling-lda", plain, "--k", "2", "--chunks", "year", "--init", "1 year", "--sweeps", "10"],
        "NB": ["classify", plain, "--model", "nb"],
        "LSA": ["tfidf", plain, "--lsa", "3"],
        "NGRAMS": ["ngram-lm", plain],
        "DOCS.parquet": ["preprocess", plain],
        "PREDICTED.parquet": ["predict", folder / "NB", plain],
    }
    if has_neural:
        labelled = write_jsonl(folder / "labelled.jsonl", rows())
        lines["TOPICS"] = ["bertopic", plain, "--encoder", tiny, "--offline", "--k", "3"]
        lines["EMBEDDED.parquet"] = ["sbert-embed", plain, "--model", tiny, "--offline"]
        lines["TUNED"] = ["finetune", labelled, "--base", tiny, "--method", "head", "--max-steps", "2"]
    for name, words in lines.items():
        run_cli(*words, "-q", "-o", folder / name)
    return {"TINY": tiny, **{name.removesuffix(".parquet"): str(folder / name) for name in lines}}


# a manifest tells seconds, memory and threads; so do the scores and the curve of a fine-tuning
TOLD_ANEW = ("manifest.json", "curve.jsonl")


def write_files(folder: Path) -> dict[Path, bytes]:
    """Write the files that options name, and return all that is in the folder."""
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    return {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()}


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
def test_any_line_keeps_the_promises(command: str, seed: int, tmp_path: Path, targets: dict[str, str]) -> None:
    if command in ("finetune", "train-encoder", "train-tokenizer", "pretrain") and not has_neural:
        pytest.skip("the extra neural is not installed")
    rng = np.random.default_rng([*command.encode(), seed])
    calm = seed % 5 < 3
    folder = tmp_path / "here"
    folder.mkdir()
    drawn = corpus(rng, folder, calm)
    words = line(command, rng, drawn, targets, calm)
    before = write_files(folder)
    with contextlib.chdir(folder):
        done = run_any(words, f"seed {seed}")
    if log := os.environ.get("ANY_COMMAND_LOG"):
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{done.code}\t{done.command}\t{done.err.splitlines()[-1:]}\n")
    check_streams(done, words)
    check_files(done, folder, before)
    if done.code == 0:
        check_ids(done, folder, drawn, words)
        if seed % 6 == 0:
            check_bytes(done, folder, tmp_path / "again", words)


def check_bytes(done: Done, folder: Path, again: Path, words: Sequence[str]) -> None:
    """The same line on three threads writes the same bytes, but for what tells how long it took."""
    again.mkdir()
    write_files(again)
    with contextlib.chdir(again):
        second = run_any([*words, "--threads", "3"], "again, on three threads")
    assert second.code == 0, str(second)
    first, other = (
        {name: data for name, data in files(where).items() if name not in FILES} for where in (folder, again)
    )
    cached = (".entries", ".vectors")  # whose names tell when they were written
    names = {name for name in first | other if first.get(name) != other.get(name) and not name.startswith("corpus.")}
    names = {name for name in names if not name.endswith(cached)}
    timed = {*TOLD_ANEW, "metrics.json", "costs.parquet"}  # the last of a comparison of methods
    allowed = timed if words[0] in ("finetune", "train-encoder", "pretrain") else set(TOLD_ANEW)
    allowed |= {"fits.parquet", "summary.parquet"} if words[0] == "compare" else set()  # which tell seconds and memory
    assert not {name for name in names if Path(name).name not in allowed}, f"other bytes: {names}{done}"


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
    if done.code > 1 and not done.command.startswith("nlpkit compare"):  # which keeps what it has fitted for --resume
        kept = (".checkpoint", ".entries", ".vectors", "identity.json")  # of --resume and of --cache
        left = [name for name in new if not any(part in name for part in kept)]
        assert not left, f"files of a command that failed: {left}{done}"


DROPS_ROWS = {
    "--format", "--where", "--keep-if", "--sample", "--dedupe", "--unit", "--limit", "--id-col", "--text-col",
    "--xml-field", "--xml-record", "--types",
}  # fmt: skip


def check_ids(done: Done, folder: Path, drawn: Drawn, words: Sequence[str]) -> None:
    """The documents of a table or run are those that were read, in their order; the others are listed."""
    if drawn.ids is None or DROPS_ROWS & set(words) or str(drawn.path) not in words[1:2]:
        return
    target = next((path for path in folder.glob("out.*") if not path.name.startswith("out.dropped")), folder / "out")
    if (target / "documents.parquet").is_file():
        name = "documents.dropped.parquet" if words[0] == "compare" else "dropped.parquet"
        ids, listed = ids_of(target / "documents.parquet"), target / name
    elif target.suffix in (".parquet", ".csv", ".tsv", ".jsonl") and words[0] in (
        "preprocess",
        "sbert-embed",
        "features",
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
        "sentiment",
        "zero-shot",
        "cluster",
        "rolling-lda",
        "finetune",
    ):
        ids, listed = ids_of(target), folder / "out.dropped.parquet"
    else:
        return
    dropped = ids_of(listed) if listed.is_file() else []
    assert ids == [name for name in drawn.ids if name in set(ids)], str(done)
    if words[0] not in ("classify", "finetune"):  # whose runs hold the documents that were scored
        assert sorted([*ids, *dropped]) == sorted(drawn.ids), str(done)


def ids_of(path: Path) -> list[str]:
    if path.suffix == ".jsonl":
        return [str(json.loads(text)["id"]) for text in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix in (".csv", ".tsv"):
        with path.open(newline="", encoding="utf-8") as file:
            return [row["id"] for row in csv.DictReader(file, delimiter="," if path.suffix == ".csv" else "\t")]
    return [str(name) for name in pq.ParquetFile(path).read(columns=["id"])["id"].to_pylist()]
