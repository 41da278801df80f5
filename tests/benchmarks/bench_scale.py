"""Every command by number of documents: seconds and peak memory (resident) of a process of its own.

    python tests/benchmarks/bench_scale.py                                     # 100,000 and 300,000 documents
    python tests/benchmarks/bench_scale.py --docs 1000000 --commands tfidf "lda-gibbs"
    python tests/benchmarks/bench_scale.py --list

The corpus: every other document is a sentence of IMDB reviews, the rest texts of AG News in which one word of seven is another
word of the same section, and one of two documents has a name that no other has (the vocabulary grows as that of real texts does,
where copies of a corpus would not). Columns id, text, label (6), date (10 years), score. Needs ../shared/data. A smaller corpus is the
beginning of a larger one. Results are appended to .cache/bench/scale/results.jsonl, and printed as a table for docs/benchmarks/scale.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import DATA, NLPKIT, ROOT, spent

CACHE = ROOT / ".cache" / "bench" / "scale"
VADER = DATA / "lexicons" / "vader_lexicon.txt"
SENTENCE = re.compile(r"(?<=[.!?])\s+")
DAYS = np.datetime64("2010-01-01") + np.arange(3650)

# {c} corpus, {d} documents with tokens, {lda} a run of 50 topics, {nb} a classifier, {o} output without suffix.
# A command that makes what others read comes before them.
COMMANDS: dict[str, str] = {
    "preprocess": "preprocess {c} -o {d} --force",
    "preprocess bigrams": "preprocess {c} -o {o}.parquet --ngrams 1,2",
    "preprocess chars": "preprocess {c} -o {o}.parquet --tokenizer chars:3-5",
    "preprocess phrases": "preprocess {c} -o {o}.parquet --phrases npmi:0.5",
    "tfidf": "tfidf {c} -o {o}.parquet",
    "tfidf bigrams": "tfidf {c} -o {o}.parquet --ngrams 1,2",
    "tfidf bigrams min_df 1": "tfidf {c} -o {o}.parquet --ngrams 1,2 --min-df 1 --stop-words none",
    "tfidf chars": "tfidf {c} -o {o}.parquet --tokenizer chars:3-5",
    "tfidf npz": "tfidf {d} -o {o}.npz",
    "tfidf chi2": "tfidf {c} -o {o}.parquet --select chi2:5000 --by label",
    "lda-gibbs": "lda-gibbs {d} -o {lda} --k 50 --sweeps 10 --force",
    "lda-gibbs --k 20:40:20": "lda-gibbs {d} -o {o} --k 20:40:20 --sweeps 20",
    "ctfidf": "ctfidf {d} --by label -o {o}.parquet",
    "stats": "stats {c} -o {o}.parquet",
    "evaluate": "evaluate {lda} --reference {d} -o {o}.json",
    "evaluate perplexity": "evaluate {lda} --perplexity --heldout {d} -o {o}.json",
    "evaluate residuals": "evaluate {lda} --metrics residuals -o {o}.json",
    "evaluate silhouette": "evaluate {lda} --metrics silhouette -o {o}.json",
    "info": "info {d}",
    "topics": "topics {lda}",
    "report": "report {lda} --no-texts -o {o}.html",
    "predict": "predict {lda} {c} -o {o}.parquet",
    "classify": "classify {c} --model nb -o {nb} --force",
    "predict nb": "predict {nb} {c} -o {o}.parquet",
    "cluster": "cluster {c} -o {o}.parquet --by tfidf --k 20",
    "similar": "similar {c} 'oil prices fall' --by tfidf -o {o}.parquet",
    "kwic": "kwic market {c} -o {o}.parquet",
    "collocations": "collocations {c} -o {o}.parquet",
    "keyness": "ctfidf {c} --by label --weighting keyness -o {o}.parquet",
    "sentiment": "sentiment {c} --lexicon {v} -o {o}.parquet",
    "features": "features {c} -o {o}.parquet",
    # few steps: memory does not depend on how many
    "preprocess near duplicates": "preprocess {c} -o {o}.parquet --dedupe near",
    "topics over time": "topics {lda} --over date:year -o {o}.parquet",
    "nmf": "nmf {d} -o {o} --k 20 --iterations 20",
    "plsa": "plsa {d} -o {o} --k 20 --iterations 5",
    "lda-online": "lda-online {d} -o {o} --k 50 --iterations 1",
    "gsdmm": "gsdmm {d} -o {o} --k 50 --iterations 3",
    "hdp": "hdp {d} -o {o} --iterations 3",
    "hlda": "hlda {d} -o {o} --iterations 3",
    "biterm": "biterm {d} -o {o} --k 20 --iterations 2",
    "stm": "stm {d} -o {o} --k 10 --prevalence label --iterations 3",
    "slda": "slda {d} -o {o} --k 20 --iterations 5",
    "labeled-lda": "labeled-lda {d} -o {o} --iterations 3",
    "author-topic": "author-topic {d} -o {o} --k 20 --author-col label --iterations 3",
    "rolling-lda": "rolling-lda {d} -o {o} --k 20 --chunks year --sweeps 5",
    "dtm": "dtm {d} -o {o} --k 10 --iterations 2",
    "embed-words": "embed-words {d} -o {o} --epochs 1",
    "ngram-lm": "ngram-lm {c} -o {o} --order 3",
    "train-tokenizer": "train-tokenizer {c} -o {o}",
}


def sentences() -> Iterator[tuple[str, str]]:
    """Yield sentences of reviews of five words and more, with what the review is (pos, neg, unsup)."""
    while True:
        with gzip.open(DATA / "imdb" / "imdb_100k.jsonl.gz", "rt", encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                for sentence in SENTENCE.split(row["text"].replace("<br />", " ")):
                    if sentence.count(" ") >= 4:
                        yield row["label"], sentence


def news(rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Yield texts of AG News, varied, with their section."""
    with gzip.open(DATA / "ag_news" / "ag_news_train_sub.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [(row["label"], row["text"].split()) for row in map(json.loads, file)]
    words = {
        label: np.array([w for name, text in rows if name == label for w in text]) for label in {row[0] for row in rows}
    }
    while True:
        for label, text in rows:
            other = words[label][rng.integers(len(words[label]), size=len(text))]
            changed = rng.random(len(text)) < 1 / 7
            yield label, " ".join(np.where(changed, other, text).tolist())


def corpus(n_docs: int) -> Path:
    """Return the file of the corpus, made when it is not there."""
    path = CACHE / f"docs_{n_docs}.jsonl"
    if path.exists():
        return path
    CACHE.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    sources = (sentences(), news(rng))
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        for i in range(n_docs):
            label, text = next(sources[i % 2])
            if i % 4 < 2:
                text += f" {''.join(chr(97 + int(c)) for c in str(i))}ov"
            date = str(DAYS[rng.integers(len(DAYS))])
            row = {"id": f"d{i}", "label": label, "date": date, "score": round(rng.normal(), 3), "text": text}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    part.rename(path)
    return path


def run(name: str, n_docs: int, threads: int) -> dict[str, Any]:
    """Run a command on a corpus in an empty folder."""
    kept = CACHE / str(n_docs)
    out = CACHE / f"out_{n_docs}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    kept.mkdir(exist_ok=True)
    places = {"c": corpus(n_docs), "d": kept / "docs.parquet", "o": out / "o", "v": VADER}
    places |= {name: kept / name for name in ("lda", "nb")}
    line = [part.format(**places) for part in shlex.split(COMMANDS[name])]
    row = spent([NLPKIT, *line], threads)
    cost = {"seconds": round(row["seconds"], 1), "cpu": round(row["cpu"], 1), "mb": round(row["mb"])}
    cost |= {"exit": row["exit"], "said": row["said"][-500:]}
    result = {"command": name, "docs": n_docs, **cost, "line": COMMANDS[name]}
    shutil.rmtree(out, ignore_errors=True)
    with (CACHE / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", nargs="+", type=int, default=[100_000, 300_000])
    parser.add_argument("--commands", nargs="+", default=list(COMMANDS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    if given.list:
        print("\n".join(f"{name:24} nlpkit {line}" for name, line in COMMANDS.items()))
        return
    for n_docs in given.docs:
        # in a process of its own: what it holds would count as held by each command
        making = multiprocessing.Process(target=corpus, args=(n_docs,))
        making.start()
        making.join()
        for name in given.commands:
            result = run(name, n_docs, given.threads)
            note = "" if result["exit"] == 0 else f"  exit {result['exit']}: {result['said'][-300:]}"
            print(f"{name:24} {n_docs:>9,} {result['seconds']:>8.1f} s {result['mb']:>7,} MB{note}", flush=True)


if __name__ == "__main__":
    main()
