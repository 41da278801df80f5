"""nlpkit bertopic beside bertopic 0.17.4 on the same embeddings and tokens: quality, seconds after embedding, memory.

    python tests/benchmarks/bench_bertopic.py                      # all corpora, three seeds, both questions
    python tests/benchmarks/bench_bertopic.py --corpora gnad10k --seeds 1
    python tests/benchmarks/bench_bertopic.py --corpora own.jsonl  # any JSON Lines with `text` and `label`

Two questions. `equal K`: bertopic with its defaults finds N topics; nlpkit is asked for `--k N`. `auto`: bertopic with
nr_topics="auto" against `--k auto`. Every fit runs in a process of its own, on the two or more cores there are; seconds are
those of the fit alone (imports and embedding apart, compilation within: a second cold run of nlpkit has its kernels cached
on disk, umap-learn compiles in every process). NPMI by documents of the same corpus, ten terms. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from harness import CACHE, DATA, memory, printed_by

CORPORA = {
    "gnad10k": "gnad10k/gnad10k_test.jsonl",
    "ag_news_test": "ag_news/ag_news_test.jsonl",
    "reuters21578": "reuters21578/reuters21578.jsonl.gz",
    "20newsgroups": "20newsgroups/20newsgroups.jsonl.gz",
}


def prepare(name: str) -> Path:
    """Embed and tokenise a corpus once: one of CORPORA, or a file."""
    folder = CACHE / Path(name).stem
    if (folder / "labels.json").exists():
        return folder
    import pyarrow as pa

    from nlpkit.embed.loading import load_encoder
    from nlpkit.text.options import PreprocessOptions
    from nlpkit.text.tokens import tokens_of

    path = DATA / CORPORA[name] if name in CORPORA else Path(name)
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    texts = [row["text"] or "" for row in rows]
    vectors, _ = load_encoder().encode(texts)
    tokens, _ = tokens_of(pa.table({"text": pa.array(texts, pa.large_string())}), PreprocessOptions())
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "embeddings.npy", vectors)
    np.savez(folder / "tokens.npz", offsets=tokens.offsets, term_ids=tokens.term_ids, terms=np.array(tokens.terms))
    (folder / "usable.json").write_text(json.dumps([bool(t.strip()) for t in texts]))
    (folder / "labels.json").write_text(json.dumps([row.get("label") or None for row in rows]))
    return folder


def load(folder: Path) -> tuple[Any, Any, Any]:
    from nlpkit.platform.types import TokenTable

    stored = np.load(folder / "tokens.npz")
    tokens = TokenTable(stored["offsets"], stored["term_ids"], tuple(stored["terms"].tolist()))
    return np.load(folder / "embeddings.npy"), tokens, np.array(json.loads((folder / "usable.json").read_text()))


def run_nlpkit(folder: Path, k: str, seed: int) -> dict[str, Any]:

    from nlpkit.platform.options import Execution
    from nlpkit.topics.base.options import BertopicOptions
    from nlpkit.topics.bertopic.fit import fit_topics

    embeddings, tokens, usable = load(folder)
    before = memory()
    start = time.perf_counter()
    options = BertopicOptions(k=k)
    execution = Execution(seed=seed)
    model = fit_topics(embeddings, tokens, usable, options, execution=execution)
    seconds = time.perf_counter() - start
    return score(folder, tokens, model.topics, model.terms.term_ids[:, :10]) | _cost(seconds, before)


def run_bertopic(folder: Path, k: str, seed: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    from bertopic import BERTopic
    from sklearn.feature_extraction.text import CountVectorizer
    from umap import UMAP

    embeddings, tokens, _ = load(folder)
    bounds = zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)
    docs = [" ".join(tokens.terms[t] for t in tokens.term_ids[a:b]) for a, b in bounds]
    before = memory()
    start = time.perf_counter()
    model = BERTopic(
        umap_model=UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed),
        vectorizer_model=CountVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False),
        nr_topics="auto" if k == "auto" else None,
        language=None,
    )
    topics = np.array(model.fit_transform(docs, embeddings)[0], np.int32)
    seconds = time.perf_counter() - start
    number = {term: i for i, term in enumerate(tokens.terms)}
    ids = np.full((int(topics.max()) + 1, 10), -1, np.int32)
    for topic in range(len(ids)):
        words = [number[w] for w, weight in model.get_topic(topic) if w and weight > 0]
        ids[topic, : len(words)] = words[:10]
    return score(folder, tokens, topics, ids) | _cost(seconds, before)


def score(folder: Path, tokens: Any, topics: Any, term_ids: Any) -> dict[str, Any]:
    from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

    from nlpkit.metrics.topics.coherence import npmi_by_document, postings
    from nlpkit.metrics.topics.diversity import unique_share
    from nlpkit.weights.dtm import count_terms

    labels = json.loads((folder / "labels.json").read_text())
    known = np.array([x is not None for x in labels])
    truth = np.unique([str(x) for x in labels], return_inverse=True)[1][known]
    npmi = npmi_by_document(term_ids, postings(count_terms(tokens)))
    return {
        "documents": len(topics),
        "classes": len(set(truth.tolist())),
        "k": int(topics.max()) + 1,
        "unassigned": float((topics < 0).mean()),
        "npmi": float(np.nanmean(npmi)),
        "diversity": unique_share(term_ids),
        "nmi": float(normalized_mutual_info_score(truth, topics[known])),
        "ami": float(adjusted_mutual_info_score(truth, topics[known])),
    }


def _cost(seconds: float, before: float) -> dict[str, float]:
    return {"seconds": seconds, "peak_mb": memory(), "fit_mb": memory() - before}


def child(name: str, tool: str, k: str, seed: int) -> dict[str, Any]:
    result = printed_by([__file__, "--one", name, tool, k, seed])
    return {"corpus": Path(name).stem, "tool": tool, "asked": k, "seed": seed, **result}


def markdown(rows: list[dict[str, Any]]) -> str:
    """Means over seeds, one line a corpus, question and tool; K and speed-up per seed where they differ."""
    lines = [
        "| corpus (documents, classes) | question | tool | topics | unassigned | NPMI | diversity | NMI | AMI "
        "| s after embedding | peak MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(r["corpus"] for r in rows):
        for question in ("equal K", "auto"):
            for tool in ("bertopic", "nlpkit"):
                some = [r for r in rows if (r["corpus"], r["question"], r["tool"]) == (name, question, tool)]
                if not some:
                    continue
                mean = {m: float(np.mean([r[m] for r in some])) for m in some[0] if isinstance(some[0][m], float)}
                topics = ", ".join(str(r["k"]) for r in some)
                lines.append(
                    f"| {name} ({some[0]['documents']:,}, {some[0]['classes']}) | {question} | {tool} | {topics} | "
                    f"{mean['unassigned']:.3f} | {mean['npmi']:.3f} | {mean['diversity']:.3f} | {mean['nmi']:.3f} | "
                    f"{mean['ami']:.3f} | {mean['seconds']:.1f} | {mean['peak_mb']:,.0f} |"
                )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=CACHE / "bench_bertopic.json")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, tool, k, seed = given.one
        fit = run_nlpkit if tool == "nlpkit" else run_bertopic
        print(json.dumps(fit(prepare(name), k, int(seed))))
        return
    if not DATA.exists() and set(given.corpora) & set(CORPORA):
        raise SystemExit(f"this benchmark needs the corpora in {DATA}")
    rows: list[dict[str, Any]] = []
    for name in given.corpora:
        prepare(name)
        child(name, "nlpkit", "auto", 0)  # a warm call: kernels compiled and cached, the file cache filled
        for seed in range(1, given.seeds + 1):
            peer = child(name, "bertopic", "default", seed)
            rows.append({**peer, "question": "equal K"})
            rows.append({**child(name, "nlpkit", str(peer["k"]), seed), "question": "equal K"})
            rows.append({**child(name, "bertopic", "auto", seed), "question": "auto"})
            rows.append({**child(name, "nlpkit", "auto", seed), "question": "auto"})
            for r in rows[-4:]:
                print(
                    {k: round(v, 3) if isinstance(v, float) else v for k, v in r.items()}, file=sys.stderr, flush=True
                )
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(rows, indent=1))
    print(markdown(rows))


if __name__ == "__main__":
    main()
