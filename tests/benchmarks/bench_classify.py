"""nlpkit classify beside scikit-learn pipelines written out plainly: accuracy, macro-F1, seconds and memory, in one run.

    python tests/benchmarks/bench_classify.py --quick             # seven sets of up to 13,083 documents
    python tests/benchmarks/bench_classify.py --json rows.jsonl   # also 20newsgroups and ag_news; each row is kept at once
    python tests/benchmarks/bench_classify.py --speed             # training on imdb_100k
    python tests/benchmarks/bench_classify.py --only trec gnad10k --models nb logreg

Quality: nlpkit with its defaults, that is with near-duplicates looked for, intervals, tables and a model on disk. The peer is a
process of its own with the pipeline that a user would write (`peer`), fitted to the same training documents, predicting the same
test documents (in cross-validation the folds of nlpkit's documents.parquet), scored by scikit-learn. Where macro-F1 is more than
0.005 apart, `same features` is the peer with bounds and weights of ours (its own tokens): min_df, and sublinear tf for tf-idf.
Embeddings: all-MiniLM-L6-v2, made once with nlpkit sbert-embed; nlpkit and the peer read the same Parquet file. ag_news has
embeddings only with --all. In cross-validation nlpkit fits the model that it keeps to all documents besides.

Naive Bayes: on the counts of CountVectorizer our models must be those of scikit-learn to 1e-9, or the benchmark fails.

Speed: whole commands, alternating; nlpkit without near-duplicates and intervals, for the peer has none. The 1,000 documents that
are predicted may be among those trained on: their accuracy only says that both have learned.

Seconds are of whole processes, peak memory is theirs. A star marks runs during which other processes used more than 0.2 CPUs:
their seconds are not to be used. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from bench_lda import busy
from harness import CACHE, DATA, NLPKIT, spent
from lda_table import NOISE

APART = 0.005  # in macro-F1: from here on the peer also gets our features
EQUAL = 1e-9


@dataclass(frozen=True)
class Corpus:
    """A labelled corpus: a file with a column split, with a file of test documents, or (folds) for cross-validation."""

    path: str
    test: str | None = None
    folds: int = 0
    large: bool = False

    def options(self) -> list[str]:
        """Return how nlpkit is told what the test documents are; {test} is the file of them."""
        if self.test is not None:
            return ["--test", "{test}"]
        return ["--cv", str(self.folds)] if self.folds else ["--split", "split"]


CORPORA = {
    "sst2": Corpus("sst2/sst2.jsonl"),
    "trec": Corpus("trec/trec.jsonl"),
    "banking77": Corpus("banking77/banking77.jsonl"),
    "gnad10k": Corpus("gnad10k/gnad10k_test.jsonl", folds=5),
    "germeval2018": Corpus("germeval2018/germeval2018.jsonl"),
    "rotten_tomatoes": Corpus("rotten_tomatoes/rotten_tomatoes.jsonl", folds=5),
    "imdb_5k": Corpus("imdb/imdb_5k.jsonl.gz"),
    "20newsgroups": Corpus("20newsgroups/20newsgroups.jsonl.gz", large=True),
    "ag_news": Corpus("ag_news/ag_news_train_sub.jsonl.gz", test="ag_news/ag_news_test.jsonl", large=True),
}
WORDS = ("nb", "bernoulli-nb", "complement-nb", "logreg", "svm")
DENSE = ("logreg", "knn", "centroid", "mlp")
MODELS = {name: (name, False) for name in WORDS} | {f"{name}, embedding": (name, True) for name in DENSE}


# ---------------------------------------------------------------- the peer, as a user would write it


ESTIMATORS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "nb": ("naive_bayes", "MultinomialNB", {}),
    "bernoulli-nb": ("naive_bayes", "BernoulliNB", {}),
    "complement-nb": ("naive_bayes", "ComplementNB", {}),
    "logreg": ("linear_model", "LogisticRegression", {"max_iter": 1000}),
    "svm": ("svm", "LinearSVC", {}),
    "knn": ("neighbors", "KNeighborsClassifier", {"n_neighbors": 15, "metric": "cosine"}),
    "centroid": ("neighbors", "NearestCentroid", {}),
    "mlp": ("neural_network", "MLPClassifier", {"random_state": 0}),
}


def peer_pipeline(job: dict[str, Any]) -> Any:
    """Return the pipeline of scikit-learn; features: counts, tfidf, or None for embeddings; options: of its vectorizer."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    module, name, options = ESTIMATORS[job["model"]]
    model = getattr(importlib.import_module(f"sklearn.{module}"), name)(**options)
    if job["features"] is None:
        return model
    vectorizer = CountVectorizer if job["features"] == "counts" else TfidfVectorizer
    return make_pipeline(vectorizer(**job["options"]), model)


def peer(job: dict[str, Any]) -> dict[str, Any]:
    """Fit and predict with scikit-learn; return accuracy and macro-F1."""
    import numpy as np
    from sklearn.metrics import accuracy_score, f1_score

    X, y, X_test, y_test = peer_documents(job)
    if job["folds"] is None:
        predicted = peer_pipeline(job).fit(X, y).predict(X_test)
    else:
        import pyarrow.parquet as pq

        folds = pq.read_table(job["folds"], columns=["fold"]).column("fold").to_numpy()
        predicted, y_test = np.empty_like(y), y
        for k in np.unique(folds):
            predicted[folds == k] = peer_pipeline(job).fit(X[folds != k], y[folds != k]).predict(X[folds == k])
    scores = {"accuracy": accuracy_score(y_test, predicted), "macro_f1": f1_score(y_test, predicted, average="macro")}
    return {name: float(value) for name, value in scores.items()} | {"n": len(y_test)}


def read_rows(path: str) -> list[dict[str, Any]]:
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def peer_table(path: str, *, dense: bool) -> tuple[Any, Any, Any]:
    """Return texts or embeddings, labels, and the column split where there is one."""
    import numpy as np

    if dense:
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        vectors = table.column("embedding").combine_chunks()
        columns = {name: table.column(name).to_pylist() for name in ("label", "split") if name in table.column_names}
        X: Any = vectors.flatten().to_numpy().reshape(len(vectors), -1)
    else:
        rows = read_rows(path)
        columns = {name: [row[name] for row in rows] for name in ("label", "split") if name in rows[0]}
        X = np.array([row["text"] or "" for row in rows], object)
    return X, np.array(columns["label"], object), np.array(columns.get("split", []))


def peer_documents(job: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Return documents and labels of training and test; of cross-validation all, and nothing."""
    dense = job["features"] is None
    X, y, parts = peer_table(job["path"], dense=dense)
    if job["test"] is not None:
        return X, y, *peer_table(job["test"], dense=dense)[:2]
    if job["folds"] is not None:
        return X, y, None, None
    return X[parts == "train"], y[parts == "train"], X[parts == "test"], y[parts == "test"]


# ---------------------------------------------------------------- Naive Bayes on the same counts


def same_naive_bayes(job: dict[str, Any]) -> dict[str, float]:
    """Return the largest difference to scikit-learn, over log P(w|c) or weights, and log P(c|d) of the test documents."""
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

    from nlpkit.classify.fit import fit_model
    from nlpkit.classify.kinds import ModelOptions

    texts, labels, test, _ = peer_documents(job)
    if job["folds"] is not None:
        folds = np.arange(len(texts)) % job["folds"]
        texts, labels, test = texts[folds > 0], labels[folds > 0], texts[folds == 0]
    vectorizer = CountVectorizer()
    X, X_test = vectorizer.fit_transform(texts), vectorizer.transform(test)
    classes, y = np.unique(labels, return_inverse=True)
    found = {}
    for name, theirs in (("nb", MultinomialNB()), ("bernoulli-nb", BernoulliNB()), ("complement-nb", ComplementNB())):
        theirs.fit(X, y)
        ours = fit_model(X, y.astype(np.int32), len(classes), ModelOptions(name))
        weights = theirs.feature_log_prob_
        if name == "bernoulli-nb":
            weights = weights - np.log1p(-np.exp(weights))
        scores = ours.decision(X_test)
        scores = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
        differences = ours.arrays()["coef"].T - weights, scores - theirs.predict_log_proba(X_test)
        found[name] = float(max(np.abs(d).max() for d in differences))
    return found


# ---------------------------------------------------------------- running and printing


def run(command: list[str]) -> dict[str, Any]:
    """Run a command to its end; return seconds, peak memory (MB), CPUs used by others, its stdout, and its last line if it fails."""
    before = busy()
    cost = spent(command)
    row = {name: cost[name] for name in ("seconds", "mb", "out")}
    row["elsewhere"] = (busy() - before) / cost["seconds"]
    if cost["exit"]:
        row["error"] = [f"exit {cost['exit']}", *cost["said"].strip().splitlines()][-1]
        row["command"] = " ".join(command)
    return row


def child(job: dict[str, Any]) -> dict[str, Any]:
    """Run a function of this file in a process of its own; return what it returns, with seconds and memory."""
    row = run([sys.executable, "-W", "ignore", __file__, "--one", json.dumps(job)])
    said = row.pop("out").splitlines()
    return row if "error" in row else {**row, **json.loads(said[-1])}


def classify(line: list[str], target: Path) -> dict[str, Any]:
    """Run nlpkit classify; return scores with intervals, seconds and memory."""
    row = run([NLPKIT, "classify", *line, "-o", str(target), "-q", "-f"])
    row.pop("out")
    if "error" in row:
        return row
    metrics = json.loads((target / "metrics.json").read_text(encoding="utf-8"))["targets"][0]["metrics"]
    for name in ("accuracy", "macro_f1"):
        row[name] = metrics[name]["value"]
        row[f"{name}_interval"] = [metrics[name].get("low"), metrics[name].get("high")]
    return row | {"n": metrics["accuracy"]["n"]}


def embedded(name: str, path: Path) -> Path:
    """Return the Parquet file with embeddings of a file, made when it is not there."""
    made = CACHE / f"classify_{name}.parquet"
    if not made.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = made.with_name("part_" + made.name)
        row = run([NLPKIT, "sbert-embed", str(path), "--offline", "-o", str(part), "-q", "-f"])
        if "error" in row:
            raise SystemExit(f"{row['command']}: {row['error']}")
        part.rename(made)
        print(f"embedded {name} in {row['seconds']:.0f} s", file=sys.stderr)
    return made


def keep(row: dict[str, Any], path: Path | None) -> None:
    """Add a row to a file of JSON lines, if there is one."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def cells(*values: Any) -> None:
    print("|", " | ".join(map(str, values)), "|", flush=True)


def timed(row: dict[str, Any]) -> str:
    if "seconds" not in row:
        return ""
    return f"{row['seconds']:.1f}" + ("*" if row["elsewhere"] > NOISE else "")


def quality(names: list[str], models: list[str], rows: Path | None, *, all_embeddings: bool) -> None:
    """Print the table of every set and model."""
    cells("set", "model", "test documents", "accuracy [95 %]", "scikit-learn", "macro-F1 [95 %]", "scikit-learn",
          "difference", "same features", "s", "scikit-learn s", "MB", "scikit-learn MB")  # fmt: skip
    print("|---|---|" + "---:|" * 11)
    failed = []
    for name in names:
        for label in models:
            if MODELS[label][1] and CORPORA[name].test is not None and not all_embeddings:
                continue
            row = compare(name, label)
            keep(row, rows)
            show(row)
            failed += [r for r in (row["nlpkit"], row["peer"], row["same"]) if "error" in r]
    for one in failed:
        print(f"\nfailed: {one['command']}\n  {one['error']}")


def compare(name: str, label: str) -> dict[str, Any]:
    """Run nlpkit and the peer on a set and return both rows."""
    corpus = CORPORA[name]
    model, dense = MODELS[label]
    path, test = DATA / corpus.path, DATA / corpus.test if corpus.test else None
    if dense:
        path = embedded(name, path)
        test = embedded(f"{name}_test", test) if test else None
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "run"
        options = [str(test) if o == "{test}" else o for o in corpus.options()]
        options += ["--on", "embedding"] if dense else []
        row: dict[str, Any] = {"set": name, "model": label, "same": {}, "peer": {}}
        row["nlpkit"] = classify([str(path), *options, "--model", model], target)
        job = {"what": "peer", "path": str(path), "test": str(test) if test else None, "model": model, "options": {}}
        job["features"] = None if dense else "counts" if model.endswith("nb") else "tfidf"
        job["folds"] = str(target / "documents.parquet") if corpus.folds else None
        if corpus.folds and "error" in row["nlpkit"]:
            return row
        row["peer"] = child(job)
        if "error" in row["nlpkit"] or "error" in row["peer"]:
            return row
        if row["nlpkit"]["n"] != row["peer"]["n"]:
            raise SystemExit(f"{name}: {row['nlpkit']['n']} documents scored, by scikit-learn {row['peer']['n']}")
        if not dense and abs(row["nlpkit"]["macro_f1"] - row["peer"]["macro_f1"]) > APART:
            manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
            options = {"min_df": manifest["parameters"]["tokens"]["min_df"]}
            options |= {"sublinear_tf": True} if job["features"] == "tfidf" else {}
            row["same"] = child(job | {"options": options})
    return row


def show(row: dict[str, Any]) -> None:
    ours, theirs = row["nlpkit"], row["peer"]
    found = [row["set"], row["model"], f"{ours['n']:,}" if "n" in ours else ""]
    for name in ("accuracy", "macro_f1"):
        if "error" in ours:
            found.append("failed")
        else:
            low, high = ours[f"{name}_interval"]
            found.append(f"{ours[name]:.4f} [{low:.3f}, {high:.3f}]")
        found.append(f"{theirs[name]:.4f}" if name in theirs else "failed" if "error" in theirs else "")
    both = "macro_f1" in ours and "macro_f1" in theirs
    found.append(f"{ours['macro_f1'] - theirs['macro_f1']:+.4f}" if both else "")
    found.append(f"{row['same']['macro_f1']:.4f}" if "macro_f1" in row["same"] else "")
    found += [timed(ours), timed(theirs), f"{ours['mb']:.0f}", f"{theirs['mb']:.0f}" if theirs else ""]
    cells(*found)


def equality(names: list[str], rows: Path | None) -> None:
    """Print by how much Naive Bayes on the same counts differs from scikit-learn's; fail where that is more than 1e-9."""
    cells("set", "nb", "bernoulli-nb", "complement-nb")
    print("|---|---:|---:|---:|")
    worst = 0.0
    for name in names:
        corpus = CORPORA[name]
        test = str(DATA / corpus.test) if corpus.test else None
        job = {"what": "naive bayes", "path": str(DATA / corpus.path), "test": test, "features": "counts"}
        row = child(job | {"folds": corpus.folds or None})
        if "error" in row:
            raise SystemExit(f"Naive Bayes on {name}: {row['error']}")
        found = [row[kind] for kind in ("nb", "bernoulli-nb", "complement-nb")]
        keep({"set": name, "largest difference": found}, rows)
        cells(name, *(f"{value:.1e}" for value in found))
        worst = max(worst, *found)
    if not worst <= EQUAL:
        raise SystemExit(f"Naive Bayes differs from scikit-learn's by {worst}")


# ---------------------------------------------------------------- speed

SPEED = {
    "nlpkit nb": ("nb", None),
    "CountVectorizer + MultinomialNB": ("nb", "counts"),
    "TfidfVectorizer + MultinomialNB": ("nb", "tfidf"),
    "nlpkit logreg": ("logreg", None),
    "TfidfVectorizer + LogisticRegression": ("logreg", "tfidf"),
}


def speed(tools: list[str], runs: int, rows: Path | None) -> None:
    """Print seconds of training on 100,000 reviews and predicting 1,000."""
    path, test = DATA / "imdb" / "imdb_100k.jsonl.gz", CACHE / "classify_imdb_1000.jsonl"
    CACHE.mkdir(parents=True, exist_ok=True)
    with gzip.open(DATA / "imdb" / "imdb_5k.jsonl.gz", "rt", encoding="utf-8") as file:
        test.write_text("".join(islice(file, 1000)), encoding="utf-8")
    found: dict[str, list[dict[str, Any]]] = {tool: [] for tool in tools}
    for _ in range(runs):  # in turn, so that a noisy minute hits all
        for tool in tools:
            model, features = SPEED[tool]
            if features is None:
                with tempfile.TemporaryDirectory() as folder:
                    line = [str(path), "--model", model, "--test", str(test), "--twins", "0", "--ci", "0"]
                    row = classify(line, Path(folder) / "run")
            else:
                job = {"what": "peer", "path": str(path), "test": str(test), "model": model, "folds": None}
                row = child(job | {"features": features, "options": {}})
            if "error" in row:
                raise SystemExit(f"{row['command']}: {row['error']}")
            keep({"tool": tool, **row}, rows)
            found[tool].append(row)
    cells("imdb_100k", "seconds, least", "median", "× nlpkit", "peak MB", "accuracy")
    print("|---|---:|---:|---:|---:|---:|")
    for tool in tools:
        seconds = [row["seconds"] for row in found[tool]]
        ours = found.get(f"nlpkit {SPEED[tool][0]}", [])
        ratio = f"{min(seconds) / min(row['seconds'] for row in ours):.2f}" if ours else ""
        star = "*" if any(row["elsewhere"] > NOISE for row in found[tool]) else ""
        peak = max(row["mb"] for row in found[tool])
        accuracy = f"{found[tool][0]['accuracy']:.4f}"
        middle = f"{statistics.median(seconds):.1f}{star}"
        cells(tool, f"{min(seconds):.1f}{star}", middle, ratio, f"{peak:.0f}", accuracy)


def warm() -> None:
    """Run nlpkit once on a few documents: its kernels are compiled and on disk from then on."""
    with tempfile.TemporaryDirectory() as folder:
        classify([str(DATA / CORPORA["trec"].path), "--limit", "300", "--cv", "2"], Path(folder) / "run")


def machine() -> str:
    """Return processor, cores and versions."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("nlpkit", "scikit-learn", "numpy", "scipy")]
    return f"{cpu}, {os.cpu_count()} cores, Python {platform.python_version()}, {', '.join(versions)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="only the sets of up to 13,083 documents")
    parser.add_argument("--only", nargs="+", choices=CORPORA, metavar="NAME", help="only these sets")
    parser.add_argument("--models", nargs="+", choices=MODELS, metavar="MODEL", help="only these models")
    parser.add_argument("--all", action="store_true", help="embeddings of ag_news, too")
    parser.add_argument("--speed", action="store_true", help="only the seconds of training on imdb_100k")
    parser.add_argument("--tools", nargs="+", choices=SPEED, metavar="TOOL", default=list(SPEED), help="of --speed")
    parser.add_argument("--runs", type=int, default=3, help="of --speed")
    parser.add_argument("--json", type=Path, help="each row is added to this file as a line of JSON")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        job = json.loads(given.one)
        print(json.dumps({"peer": peer, "naive bayes": same_naive_bayes}[job["what"]](job)))
        return
    warm()
    print(machine(), end="\n\n")
    if given.speed:
        speed(given.tools, given.runs, given.json)
        return
    names = given.only or [name for name, corpus in CORPORA.items() if not (given.quick and corpus.large)]
    equality(names, given.json)
    print()
    quality(names, given.models or list(MODELS), given.json, all_embeddings=given.all)


if __name__ == "__main__":
    main()
