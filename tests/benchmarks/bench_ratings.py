"""Which score agrees with people? Rank correlation of coherence scores with human ratings of topics.

The ratings are those of Hoyle et al. 2021 (300 topics of three models on Wikitext and the New York Times: mean rating 1-3 and
share of people who found the intruder) and of Lau & Baldwin 2016 (600 topics on Wikipedia and news). Their reference corpora are
not in ../shared/data, so all English corpora there are one reference: forum posts, newswire, reviews, speeches. Beside our scores
stand those that Hoyle et al. published, counted in their own corpora.

    .venv/bin/python tests/benchmarks/bench_ratings.py
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import DATA
from scipy.stats import spearmanr

RATINGS = DATA / "topic_human_ratings"
REFERENCE = (
    "20newsgroups/20newsgroups.jsonl.gz", "reuters21578/reuters21578.jsonl.gz", "ag_news/ag_news_train_sub.jsonl.gz",
    "ag_news/ag_news_test.jsonl", "imdb/imdb_5k.jsonl.gz", "sotu/sotu_1900_on.jsonl.gz",
    "un_general_debate/ungd_5countries_1970on.jsonl.gz", "bills/bills_subset.jsonl",
)  # fmt: skip
SCORES = {
    "npmi, window 10": ["--metrics", "npmi"],
    "npmi, document": ["--metrics", "npmi", "--window", "document"],
    "npmi, absent words skipped": ["--metrics", "npmi", "--absent", "skip"],
    "npmi, top 5, 10, 15, 20": ["--metrics", "npmi", "--top-n", "5,10,15,20"],
    "npmi as gensim": ["--metrics", "npmi", "--compat", "gensim"],
    "pmi": ["--metrics", "pmi"],
    "umass": ["--metrics", "umass"],
    "c_v": ["--metrics", "c_v"],
    "c_v as gensim": ["--metrics", "c_v", "--compat", "gensim"],
    "c_p": ["--metrics", "c_p"],
    "we_pairwise (all-MiniLM-L6-v2)": ["--metrics", "we_pairwise", "--vectors", "encoder"],
    "we_centroid (all-MiniLM-L6-v2)": ["--metrics", "we_centroid", "--vectors", "encoder"],
    "intruder_found (all-MiniLM-L6-v2)": ["--metrics", "intruder_found", "--vectors", "encoder"],
}


def topic_sets() -> dict[str, tuple[list[str], dict[str, list[float]]]]:
    """Return name → topics (a line of words each) and ratings of each topic."""
    with (RATINGS / "hoyle2021_topics.csv").open(encoding="utf-8") as file:
        hoyle = list(csv.DictReader(file))
    with (RATINGS / "lau_baldwin2016_annotations.csv").open(encoding="utf-8") as file:
        lau = list(csv.DictReader(file))
    sets: dict[str, tuple[list[str], dict[str, list[float]]]] = {}
    for dataset in ("wikitext", "nytimes"):
        rows = [row for row in hoyle if row["dataset"] == dataset]
        columns = {"rating": "ratings_scores_avg", "intrusion": "intrusion_scores_avg", "their NPMI": "c_npmi_10_full"}
        numbers = {name: [float(row[column] or "nan") for row in rows] for name, column in columns.items()}
        sets[f"Hoyle {dataset}"] = [row["topic"] for row in rows], numbers
    for domain in ("wiki", "news"):
        rows = [row for row in lau if row["domain"] == domain]
        sets[f"Lau {domain}"] = (
            [row["topic"].replace(",", " ") for row in rows],
            {"rating": [float(row["rating_top10"]) for row in rows]},
        )
    return sets


def main() -> None:
    """Print the table."""
    nlpkit = [sys.executable, "-m", "nlpkit"]
    sets = topic_sets()
    table: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs.parquet"
        inputs = [str(DATA / name) for name in REFERENCE]
        command = [
            *nlpkit, "preprocess", *inputs, "--id-col", "none", "--language", "en", "--stop-words", "none",
            "--min-df", "1",
        ]  # fmt: skip
        subprocess.run([*command, "-o", str(docs)], check=True)
        for name, (topics, ratings) in sets.items():
            lines = Path(folder) / "topics.txt"
            lines.write_text("".join(line + "\n" for line in topics), encoding="utf-8")
            for score, options in SCORES.items():
                done = subprocess.run(
                    [*nlpkit, "evaluate", str(lines), "--reference", str(docs), "--ci", "0", "--json", "-q", *options],
                    check=True, capture_output=True, text=True,
                )  # fmt: skip
                (found,) = json.loads(done.stdout)["targets"][0]["metrics"].values()
                values = np.array([np.nan if v is None else v for v in found["values"]])
                for rating, numbers in ratings.items():
                    if rating != "their NPMI":
                        fine = np.isfinite(values)
                        rho = spearmanr(values[fine], np.array(numbers)[fine]).statistic
                        table.setdefault(score, {})[f"{name} {rating}"] = float(rho)
            theirs = ratings.get("their NPMI")
            for rating, numbers in ratings.items():
                if theirs is not None and rating != "their NPMI":
                    rho = spearmanr(theirs, numbers).statistic
                    table.setdefault("(published NPMI, their corpus)", {})[f"{name} {rating}"] = float(rho)
    columns = list(next(iter(table.values())))
    print("| score | " + " | ".join(columns) + " | mean |")
    print("|---|" + "---:|" * (len(columns) + 1))
    for score, row in table.items():
        cells = [f"{row[c]:.2f}" if c in row else "" for c in columns]
        mean = f"{np.mean(list(row.values())):.2f}" if len(row) == len(columns) else ""
        print(f"| {score} | {' | '.join(cells)} | {mean} |")


if __name__ == "__main__":
    main()
