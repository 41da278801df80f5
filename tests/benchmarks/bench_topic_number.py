"""--k auto of each engine of nlpkit bertopic on labelled corpora: the number of topics, AMI with the labels, seconds.

    python tests/benchmarks/bench_topic_number.py                              # all corpora, both engines, one seed
    python tests/benchmarks/bench_topic_number.py --corpora trec --seeds 5

`best` is the highest AMI that k-means has for any of the numbers in GRID on the same vectors, with the labels in hand: the ceiling
of a choice. The error of K is |K / classes - 1|. The rule has one constant that could be fitted, the tolerance of topics/evidence.py:
--tolerances prints what each value would give on each corpus, and the value that the other corpora would choose for it. Seconds are
those of the fit alone, without embedding. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import bench_bertopic
import numpy as np
from bench_bertopic import load, prepare, score
from harness import CACHE, DATA, ROOT

from nlpkit.topics.bertopic.evidence import NumberEvidence, middle_number

SHORT = "short_texts_sttm/{}_tokenised.jsonl"
bench_bertopic.CORPORA |= {
    "banking77": "banking77/banking77.jsonl",
    "bills": "bills/bills_subset.jsonl",
    "uscongress": "uscongress/uscongress_bill_titles.jsonl",
    **{name: SHORT.format(name) for name in ("searchsnippets", "stackoverflow", "tweet", "googlenews")},
    "nyt_headlines": "nyt_headlines/nyt_headlines_1996_2006.jsonl",
    "trec": "trec/trec.jsonl",
    "clinc150": "clinc150_small/clinc150_small.jsonl",
    "livedoor": "livedoor/livedoor_540.jsonl",
    "news": str(ROOT / "data" / "samples" / "news.jsonl"),
}
GRID = (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 29, 34, 40, 48, 57, 68, 81, 96, 114, 136, 161, 192)
TOLERANCES = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05)


def fit(folder: Path, engine: str, k: str | int, seed: int) -> tuple[dict[str, Any], Any]:
    """Return the scores of a fit, and the model."""
    from nlpkit.platform.options import Execution
    from nlpkit.topics.base.options import BertopicOptions
    from nlpkit.topics.bertopic.fit import fit_topics

    embeddings, tokens, usable = load(folder)
    start = time.perf_counter()
    options = BertopicOptions(k=k, cluster=engine)
    model = fit_topics(embeddings, tokens, usable, options, execution=Execution(seed=seed))
    seconds = time.perf_counter() - start
    return score(folder, tokens, model.topics, model.terms.term_ids[:, :10]) | {"seconds": seconds}, model


def ami_by_number(folder: Path, seed: int) -> dict[int, float]:
    """Return the AMI of k-means with the labels for each number of topics of GRID."""
    from sklearn.metrics import adjusted_mutual_info_score
    from threadpoolctl import threadpool_limits

    from nlpkit.cluster.hierarchy import KMeansFits, plain_view, smoothed
    from nlpkit.cluster.neighbours import distinct_rows, nearest_neighbours

    embeddings, _, usable = load(folder)
    labels = json.loads((folder / "labels.json").read_text())
    known = np.array([x is not None for x in labels]) & usable
    first, inverse = distinct_rows(embeddings[usable])
    X = embeddings[usable][first]
    truth = np.unique([str(x) for x in labels], return_inverse=True)[1][known]
    with threadpool_limits(1, user_api="blas"):
        view = plain_view(smoothed(X, nearest_neighbours(X, k=14, threads=2)))
        fits = KMeansFits(view, seed=seed)
        found = {k: fits.fit(k)[0] for k in GRID if k <= len(X)}
    return {k: float(adjusted_mutual_info_score(truth, z[inverse][known[usable]])) for k, z in found.items()}


def choice(evidence: list[dict[str, Any]], tolerance: float) -> int:
    """Return the number that the rule takes with another tolerance."""
    return middle_number([NumberEvidence(**row) for row in evidence], tolerance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpora", nargs="*", default=list(bench_bertopic.CORPORA))
    parser.add_argument("--engines", nargs="*", default=["hdbscan", "kmeans"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=CACHE / "bench_topic_number.json")
    arguments = parser.parse_args()
    if not DATA.exists():
        raise SystemExit(f"this benchmark needs the corpora in {DATA}")
    rows: list[dict[str, Any]] = []
    for name in arguments.corpora:
        folder = prepare(name)
        curve = ami_by_number(folder, 42)
        for engine in arguments.engines:
            for seed in range(42, 42 + arguments.seeds):
                row, model = fit(folder, engine, "auto", seed)
                evidence = [c.as_dict() for c in model.candidates] if engine == "kmeans" else []
                rows.append(
                    {"corpus": name, "engine": engine, "seed": seed, "curve": curve, "evidence": evidence, **row}
                )
                print(
                    f"{name:16} {engine:8} classes {row['classes']:4} K {row['k']:4} AMI {row['ami']:.3f} best "
                    f"{max(curve.values()):.3f} unassigned {row['unassigned']:.2f} {row['seconds']:.1f} s",
                    file=sys.stderr, flush=True,
                )  # fmt: skip
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(rows, indent=1))
    print(markdown(rows))
    print(tolerances([r for r in rows if r["engine"] == "kmeans" and r["seed"] == 42]))


def markdown(rows: list[dict[str, Any]]) -> str:
    """A line for each corpus, means over seeds, and the means over corpora."""
    engines = list(dict.fromkeys(r["engine"] for r in rows))
    head = ["corpus (documents, classes)", *(f"{e}: K, AMI, s" for e in engines), "best AMI over K"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name in dict.fromkeys(r["corpus"] for r in rows):
        some = [r for r in rows if r["corpus"] == name]
        cells = []
        for engine in engines:
            fits = [r for r in some if r["engine"] == engine]
            ks, ami, s = (
                ", ".join(str(r["k"]) for r in fits),
                *(np.mean([r[m] for r in fits]) for m in ("ami", "seconds")),
            )
            cells.append(f"{ks}, {ami:.3f}, {s:.1f}")
        best = max(some[0]["curve"].values())
        lines.append(f"| {name} ({some[0]['documents']:,}, {some[0]['classes']}) | {' | '.join(cells)} | {best:.3f} |")
    means = []
    for engine in engines:
        fits = [r for r in rows if r["engine"] == engine]
        error = np.mean([abs(r["k"] / r["classes"] - 1) for r in fits])
        means.append(f"AMI {np.mean([r['ami'] for r in fits]):.3f}, error of K {error:.0%}")
    best = np.mean([max(r["curve"].values()) for r in rows])
    return "\n".join([*lines, f"| mean | {' | '.join(means)} | {best:.3f} |"])


def tolerances(rows: list[dict[str, Any]]) -> str:
    """The error of K and the AMI on each corpus by tolerance, and the tolerance that the other corpora choose (by AMI)."""

    def outcome(row: dict[str, Any], tolerance: float) -> tuple[float, float]:
        k = choice(row["evidence"], tolerance)
        near = min(row["curve"], key=lambda g: abs(np.log(g / k)))
        return row["curve"][near], abs(k / row["classes"] - 1)

    lines = [f"| corpus | {' | '.join(f'{t:g}' for t in TOLERANCES)} | chosen by the others | AMI, error of K |"]
    lines.append("|---" * (len(TOLERANCES) + 3) + "|")
    held_out = []
    for row in rows:
        others = [r for r in rows if r is not row]
        taken = max(TOLERANCES, key=lambda t: np.mean([outcome(r, t)[0] for r in others])) if others else TOLERANCES[0]
        held_out.append(outcome(row, taken))
        cells = [f"{a:.3f} {e:.0%}" for a, e in (outcome(row, t) for t in TOLERANCES)]
        lines.append(
            f"| {row['corpus']} | {' | '.join(cells)} | {taken:g} | {held_out[-1][0]:.3f}, {held_out[-1][1]:.0%} |"
        )
    ami, error = np.mean(held_out, axis=0)
    means = (np.mean([outcome(r, t) for r in rows], axis=0) for t in TOLERANCES)
    cells = [f"{a:.3f} {e:.0%}" for a, e in means]
    lines.append(f"| mean | {' | '.join(cells)} | | {ami:.3f}, {error:.0%} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
