"""Does a language model judge topics as people do? Its ratings and intruders beside those of people, and beside automatic scores.

Ratings of people are those of bench_ratings.py (Hoyle et al. 2021; Lau & Baldwin 2016). The model rates the ten first words of a topic
as people did, and looks for the intruder in questions that `nlpkit annotate task` would write: not the ones that people were asked,
which are not published, so that intrusion accuracies are of the same topics, and not of the same questions.

    .venv/bin/python tests/benchmarks/bench_judges.py --llm http://localhost:11434/v1 --llm-model llama3.2
    .venv/bin/python tests/benchmarks/bench_judges.py --stand-in --topics 20   # a server that knows nothing: shows that it runs
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import nlpkit as nk
from nlpkit.annotate.task_files import write_task
from nlpkit.annotate.tasks import design_task, task_of
from tests.benchmarks.bench_ratings import topic_sets
from tests.llm_server import said, serving

WORDS = 10


def stand_in(body: dict[str, Any]) -> tuple[int, Any]:
    """Answer by a hash of the question: what a judge gives that knows nothing."""
    question = body["messages"][-1]["content"]
    options = sum(line[:1].isdigit() for line in question.splitlines())
    number = int(hashlib.sha256(question.encode()).hexdigest(), 16) % max(options, 1)
    return 200, said(json.dumps({"answer": number + 1}))


def judged(kind: str, topics: list[list[str]], folder: Path, given: argparse.Namespace) -> list[np.ndarray[Any, Any]]:
    """Return for each topic the judge's rating and its expected rating, or whether it found the intruder; NaN without a usable answer."""
    task = task_of(kind, design_task(kind, topics, seed=given.seed), topics)
    target = folder / f"{kind}.html"
    write_task(target, task, parameters={}, force=True)
    answers = nk.judge_task(
        target.with_suffix(".key.json"), llm=given.llm, llm_model=given.llm_model, llm_cache=given.llm_cache,
        seed=given.seed, judges=given.judges, expected=given.expected and kind == "rating",
    )  # fmt: skip
    asked = len(task.design.items)
    sums, counts = np.zeros(len(topics)), np.zeros(len(topics))
    expected = [np.nan if rating is None else rating for _, _, rating in answers.expected_ratings()]
    for n, answer in enumerate(answers.answers):
        item = task.design.items[n % asked]
        if answer.choice >= 0:
            sums[item.topic] += answer.choice + 1 if kind == "rating" else answer.choice == item.answer
            counts[item.topic] += 1
    return [np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), np.array(expected)]


def rho(values: Any, people: Any) -> str:
    """Return Spearman's correlation where both are known."""
    values, people = np.asarray(values, np.float64), np.asarray(people, np.float64)
    fine = np.isfinite(values) & np.isfinite(people)
    if fine.sum() < 3 or np.ptp(values[fine]) == 0:
        return ""
    return f"{spearmanr(values[fine], people[fine]).statistic:.2f}"


def by_vectors(topics: list[list[str]], measure: str) -> Any:
    """Return the score of each topic by the vectors of the packaged encoder."""
    score = nk.evaluate(topics, metrics=measure, vectors="encoder", top_n=WORDS, ci=0).targets[0].scores[measure]
    return [np.nan if v is None else v for v in score.values.tolist()]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--llm", help="address of a language model that speaks OpenAI's protocol")
    parser.add_argument("--llm-model", default="stand-in")
    parser.add_argument(
        "--llm-cache", type=Path, help="folder where answers are kept; default: none are, after the run"
    )
    parser.add_argument("--judges", type=int, default=1)
    parser.add_argument("--expected", action="store_true", help="ask for the probabilities of ratings, too")
    parser.add_argument("--topics", type=int, help="of each set at most, evenly spread; default: all")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--stand-in", action="store_true", help="a local server that answers by a hash of the question")
    given = parser.parse_args()
    if bool(given.llm) == given.stand_in:
        parser.error("give --llm URL, or --stand-in")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        given.llm_cache = given.llm_cache or folder / "cache"
        if given.stand_in:
            given.llm = stack.enter_context(serving(stand_in)).url
            print("A stand-in that knows nothing: no language model's result.\n")
        print("| topics | n | judge | expected | we_pairwise | intruder_found | published NPMI | of |")
        print("|---|---:|---:|---:|---:|---:|---:|---|")
        intruders = []
        for name, (lines, ratings) in topic_sets().items():
            every = range(0, len(lines), -(-len(lines) // given.topics) if given.topics else 1)
            topics = [lines[t].split()[:WORDS] for t in every]
            people = {kind: np.array(values)[every] for kind, values in ratings.items()}
            automatic = {measure: by_vectors(topics, measure) for measure in ("we_pairwise", "intruder_found")}
            npmi = people.pop("their NPMI", None)
            for kind, values in people.items():
                task = "rating" if kind == "rating" else "word-intrusion"
                mine, expected = judged(task, topics, folder, given)
                scores = [mine, expected, *automatic.values(), *([npmi] if npmi is not None else [])]
                cells = [rho(score, values) for score in scores]
                print(f"| {name} | {len(topics)} | {' | '.join(cells + [''] * (5 - len(cells)))} | {kind} |")
                sys.stdout.flush()
                if task == "word-intrusion":
                    known = np.isfinite(mine)
                    intruders.append((name, float(mine[known].mean()), float(values.mean()), int(known.sum())))
        print("\n| topics | intruders found by the judge | by people | n |")
        print("|---|---:|---:|---:|")
        for name, mine, theirs, n in intruders:
            print(f"| {name} | {mine:.2f} | {theirs:.2f} | {n} |")


if __name__ == "__main__":
    main()
