"""Runs that somebody prepared, every file of every kind of model: an error that nlpkit means or a result, never a crash or a bug.

The sha256 in the manifest is right ("sealed"), so that what is read is checked for itself. With NUMBA_BOUNDSCHECK=1 an index
outside of its array is an error here too; in other runs it may corrupt memory (nlpkit#53, faults 2).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from nlpkit.platform.runs.atomic import MANIFEST
from tests.command_line import needs_gensim, needs_torch, run_cli
from tests.fuzz.damage import damages, sealed

MOST_SECONDS = 60  # of a command on a prepared run; an intact one takes less than one
WORDS = ("river bank water fish boat stream shore tide", "judge court law bank fine trial lawyer crime")
PREDICT, REPORT = ["predict", "RUN", "NEW", "-o", "OUT"], ["report", "RUN", "-o", "PAGE"]
TOPICS = (PREDICT, ["topics", "RUN"], ["evaluate", "RUN"], REPORT)
CLASSES = (PREDICT, REPORT)
VECTORS = ["--dimensions", 4, "--epochs", 1, "--min-count", 1]
FEW = ["--k", 3, "--iterations", 3]
NET = ["--k", 2, "--iterations", 2]
CLASSIFIERS = ("nb", "bernoulli-nb", "complement-nb", "logreg", "svm", "knn", "centroid", "mlp", "kan", "lstm", "cnn")
# kind: the command that fits it, those that read it
KINDS: dict[str, tuple[list[Any], tuple[list[Any], ...]]] = {
    "gsdmm": (["gsdmm", *FEW], TOPICS),
    "biterm": (["biterm", *FEW], TOPICS),
    "lda-gibbs": (["lda-gibbs", "--k", 2, "--sweeps", 4], TOPICS),
    "lda-online": (["lda-online", *FEW], TOPICS),
    "nmf": (["nmf", *FEW], TOPICS),
    "plsa": (["plsa", *FEW], TOPICS),
    "hdp": (["hdp", "--iterations", 4], TOPICS),
    "hlda": (["hlda", "--iterations", 4], TOPICS),
    "labeled-lda": (["labeled-lda", "--iterations", 4], TOPICS),
    "slda": (["slda", *FEW], TOPICS),
    "author-topic": (["author-topic", *FEW], TOPICS),
    "dtm": (["dtm", "--k", 2, "--iterations", 2], TOPICS),
    "stm": (["stm", *FEW, "--prevalence", "label", "--content", "label"], TOPICS),
    "rolling-lda": (
        ["rolling-lda", "--k", 2, "--sweeps", 3, "--init", "24 months", "--chunks", "year", "--memory", "12 months", "--vocab-abs", 0],
        (*TOPICS, ["rolling-lda", "LATER", "--update", "RUN", "-o", "NEXT", "--force"]),
    ),
    "bertopic": (["bertopic", "--k", 2, "--n-neighbors", 3], TOPICS),
    "ctm": (["ctm", *NET, "--hidden", 4], TOPICS),
    "ctm-bow": (["ctm", *NET, "--hidden", 4, "--inference", "bow"], TOPICS),
    "etm": (["etm", *NET, "--hidden", 4, "--dimensions", 3], TOPICS),
    "fastopic": (["fastopic", *NET], TOPICS),
    "ngram-lm": (["ngram-lm", "--order", 2], (PREDICT, ["generate", "RUN"])),
    "word2vec": (["embed-words", "--method", "sgns", *VECTORS], (["words", "nearest", "RUN", "river"],)),
    "fasttext": (["embed-words", "--method", "fasttext", "--buckets", 50, *VECTORS], (["words", "nearest", "RUN", "rivery"],)),
    "doc2vec": (["embed-words", "--method", "doc2vec-dm", *VECTORS], (["words", "nearest", "RUN", "river"],)),
    **{name: (["classify", "--model", name, "--cv", 2], CLASSES) for name in CLASSIFIERS},
    "logreg-columns": (["classify", "--model", "logreg", "--cv", 2, "--hand-features", "all", "--feature-cols", "n,author"], CLASSES),
    "regression": (["classify", "--task", "regression", "--label-col", "n", "--model", "logreg", "--cv", 2], CLASSES),
}  # fmt: skip
QUICK = ("gsdmm", "nb")
NEEDS = {"word2vec": needs_gensim, "fasttext": needs_gensim, "doc2vec": needs_gensim} | dict.fromkeys(
    ("ctm", "ctm-bow", "etm", "fastopic", "lstm", "cnn"), needs_torch
)


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("damaged")
    rng = np.random.default_rng(1)
    rows = [
        {
            "id": f"d{i}",
            "text": " ".join(rng.choice(WORDS[i % 2].split(), 12)),
            "label": "ab"[i % 2],
            "author": "xyz"[i % 3],
            "date": f"20{10 + i % 6}-{1 + i % 12:02d}-03",
            "n": i % 7,
            "embedding": (np.eye(4)[i % 2] + rng.normal(0, 0.2, 4)).tolist(),
        }
        for i in range(60)
    ]
    frames = {"CORPUS": rows[:48], "NEW": rows[48:], "LATER": [{**row, "date": "2016-02-05"} for row in rows[48:]]}
    for name, part in frames.items():
        table = pl.DataFrame(part).with_columns(pl.col("embedding").cast(pl.Array(pl.Float32, 4)))
        table.write_parquet(folder / f"{name.lower()}.parquet")
    return {name: folder / f"{name.lower()}.parquet" for name in frames}


def files_of(run: Path) -> list[str]:
    return sorted(
        file.relative_to(run).as_posix() for file in run.rglob("*") if file.is_file() and file.name != MANIFEST
    )


def fitted(
    kind: str, texts: dict[str, Path], folder: Path
) -> tuple[Path, Callable[[Path], Iterator[tuple[str, int, str]]]]:
    """Return a run of a kind, and what uses a run: the commands that can be done with the intact one, each with its exit code."""
    command, uses = KINDS[kind]
    run = folder / kind
    words = ["--stop-words", "none"] if command[0] != "classify" else []  # some of which see no words
    run_cli(command[0], texts["CORPUS"], *command[1:], *words, "-q", "-o", run)

    def used(path: Path) -> Iterator[tuple[str, int, str]]:
        places = {
            **texts,
            "RUN": path,
            "OUT": folder / "out.parquet",
            "PAGE": folder / "page.html",
            "NEXT": folder / "next",
        }
        for words in uses:
            force = ["--force"] if "-o" in words and "--force" not in words else []
            start = time.perf_counter()
            done = run_cli(*(places.get(word, word) for word in words), *force, "-q", code=None)
            assert time.perf_counter() - start < MOST_SECONDS, done
            yield str(words[0]), done.code, str(done)

    for _, code, shown in used(run):
        assert code == 0, shown
    return run, used


def wrong(kind: str, texts: dict[str, Path], folder: Path, most: int | None) -> list[str]:
    """Return what ended with another code than 0 and 3, of so many damages of each file (None: all)."""
    run, used = fitted(kind, texts, folder)
    bad = []
    for at, name in enumerate(files_of(run)):
        all_of_file = list(damages(run / name))
        first = at % 3  # of the lengths: double, half, short
        for what, content in all_of_file if most is None else all_of_file[first : first + most]:
            changed = sealed(run, folder / "changed", name, content)
            bad += [f"{name} {what}: {shown}" for _, code, shown in used(changed) if code not in (0, 3)]
    return bad


@pytest.mark.parametrize("kind", QUICK)
def test_a_file_of_another_length_is_no_bug(kind: str, texts: dict[str, Path], tmp_path: Path) -> None:
    assert not wrong(kind, texts, tmp_path, 1)


# of each kind: what ended as a bug, or took all memory, before it was looked at where it is read
WERE_BUGS = {
    "gsdmm": (("doc_topics.parquet", "prob nan"),),
    "hlda": (("model/training.parquet", "layer_0 null"), ("model/topic_term.parquet", "count 1073741824")),
    "ctm-bow": (("model/weights.safetensors", "input.weight half"), ("model/config.json", "options = '{}'")),
    "nmf": (("model/topic_term.parquet", "empty"),),
    "etm": (("model/weights.safetensors", "words missing"),),
    "rolling-lda": (
        ("model/rolling_texts.parquet", "empty"),
        ("model/config.json", "rolling_options.n_topics = '1073741824'"),
        ("model/config.json", "rolling_options.sweeps = '1073741824'"),
        ("model/config.json", "rolling_options.memory missing"),
        ("model/config.json", "rolling_options.seed = '-1'"),
    ),
}


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=NEEDS.get(kind, ())) for kind in WERE_BUGS])
def test_a_damage_that_was_a_bug_is_told(kind: str, texts: dict[str, Path], tmp_path: Path) -> None:
    run, used = fitted(kind, texts, tmp_path)
    for name, damage in WERE_BUGS[kind]:
        changed = sealed(run, tmp_path / "changed", name, dict(damages(run / name))[damage])
        done = [(code, shown) for _, code, shown in used(changed)]
        assert {code for code, _ in done} <= {0, 3}, done
        assert any(code == 3 and "damaged" in shown for code, shown in done), (name, damage, done)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=NEEDS.get(kind, ())) for kind in KINDS],
)
def test_a_damaged_file_is_no_bug(kind: str, texts: dict[str, Path], tmp_path: Path) -> None:
    bad = wrong(kind, texts, tmp_path, None)
    assert not bad, f"{len(bad)} of {kind}: " + "\n".join(bad)
