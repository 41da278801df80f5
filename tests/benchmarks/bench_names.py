"""How near names of topics are to the names of the classes they are mostly made of.

    python tests/benchmarks/bench_names.py

Topics are those of `nlpkit bertopic --k auto`; names their three first words, the two first, and those of `nlpkit name --phrases`. For
each topic: cosine (all-MiniLM-L6-v2) of its name and the name of the class that most of its documents have, and whether that class
is the nearest of all. The names of the classes are those of the corpus, of 20 Newsgroups spelled out (NEWSGROUPS). Needs ../shared/data.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import bench_peers  # noqa: F401 - more corpora
import bench_topic_number  # noqa: F401 - and more
import numpy as np
import polars as pl
from bench_bertopic import CORPORA, DATA, load, prepare

USED = ("20newsgroups", "ag_news_test", "banking77", "bills", "clinc150")
NEWSGROUPS = {
    "rec.sport.hockey": "ice hockey", "soc.religion.christian": "christian religion", "rec.motorcycles": "motorcycles",
    "rec.sport.baseball": "baseball", "sci.crypt": "cryptography", "rec.autos": "cars", "sci.med": "medicine",
    "comp.windows.x": "x window system", "sci.space": "space", "comp.os.ms-windows.misc": "microsoft windows",
    "sci.electronics": "electronics", "comp.sys.ibm.pc.hardware": "pc hardware", "misc.forsale": "for sale",
    "comp.graphics": "computer graphics", "comp.sys.mac.hardware": "macintosh hardware", "talk.politics.mideast":
    "middle east politics", "talk.politics.guns": "guns", "alt.atheism": "atheism", "talk.politics.misc": "politics",
    "talk.religion.misc": "religion",
}  # fmt: skip


def names_and_classes(name: str, folder: Path) -> tuple[dict[str, list[str]], list[str], list[str]]:
    """Return names of the topics by method, the class that each topic mostly has, and all classes."""
    import nlpkit as nk

    path = DATA / CORPORA[name]
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    table = folder / f"{name}.parquet"
    columns: dict[str, Any] = {"id": [str(i) for i in range(len(rows))], "text": [row["text"] or "" for row in rows]}
    pl.DataFrame({**columns, "embedding": load(prepare(name))[0]}).write_parquet(table)
    nk.fit_bertopic(nk.read_corpus(table), k="auto").save(folder / name)
    topics = pl.read_parquet(folder / name / "topics.parquet")
    documents = pl.read_parquet(folder / name / "documents.parquet")
    classes = [NEWSGROUPS.get(row["label"], (row["label"] or "").replace("_", " ")) for row in rows]
    of_topic: list[Counter[str]] = [Counter() for _ in range(topics.height)]
    for row, topic in zip(documents["id"].cast(pl.Int64), documents["topic"], strict=True):
        if topic >= 0:
            of_topic[topic][classes[row]] += 1
    words = [list(terms) for terms in topics["top_terms"]]
    methods = {
        "three first words": topics["label"].to_list(),
        "two first words": [", ".join(row[:2]) for row in words],
        "--phrases": [one.name for one in nk.name_topics(folder / name, phrases=True).names],
    }
    return methods, [counts.most_common(1)[0][0] for counts in of_topic], sorted(set(classes))


def main() -> None:
    """Print a table: cosine and share of topics whose own class is the nearest, by corpus and method."""
    from nlpkit.embed.loading import load_encoder

    encoder = load_encoder()
    with tempfile.TemporaryDirectory() as folder:
        for name in USED:
            methods, own, classes = names_and_classes(name, Path(folder))
            vectors = np.asarray(encoder.encode(classes)[0])
            at = np.array([classes.index(one) for one in own])
            cells = []
            for names in methods.values():
                cosines = np.asarray(encoder.encode(names)[0]) @ vectors.T
                cells.append(
                    f"{cosines[np.arange(len(at)), at].mean():.3f}, {(cosines.argmax(axis=1) == at).mean():.3f}"
                )
            print(f"| {name} ({len(at)} topics, {len(classes)} classes) | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
