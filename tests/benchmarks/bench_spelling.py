"""Planted errors: how many are found and mended by nlpkit spell with n-grams, and by single words alone.

    python tests/benchmarks/bench_spelling.py                     # imdb_5k: fitted to 4,500 reviews, errors planted in the others

In the held-out documents every twentieth word of four letters or more gets one edit (three quarters) or two: a letter inserted, left out,
replaced or two swapped, all equally likely (seed 42). Edits that give a word of the model are kept: only --real-words can find these.
Precision: corrections that give back the word before the edit, among all; recall: among all edits. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time

import numpy as np
from harness import DATA

import nlpkit as nk

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def edited(word: str, rng: np.random.Generator) -> str:
    """Return a word with one edit."""
    kind, at = rng.integers(4), int(rng.integers(len(word)))
    letter = LETTERS[rng.integers(26)]
    if kind == 0:
        return word[:at] + letter + word[at:]
    if kind == 1:
        return word[:at] + word[at + 1 :]
    if kind == 2:
        return word[:at] + letter + word[at + 1 :]
    at = min(at, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def planted(text: str, rng: np.random.Generator, share: float) -> tuple[str, dict[int, tuple[str, str]]]:
    """Return a text with errors, and by their place in it the word before and after."""
    parts, errors, end, length = [], {}, 0, 0
    for match in re.finditer(r"\b[A-Za-z]{4,}\b", text):
        if rng.random() >= share:
            continue
        word = edited(match[0], rng)
        word = edited(word, rng) if rng.random() < 0.25 else word
        if word == match[0]:
            continue
        parts.append(text[end : match.start()])
        length += match.start() - end
        errors[length] = match[0], word
        parts.append(word)
        length, end = length + len(word), match.end()
    return "".join([*parts, text[end:]]), errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpus", default="imdb/imdb_5k.jsonl.gz")
    parser.add_argument("--held-out", type=int, default=500)
    parser.add_argument("--orders", type=int, nargs="+", default=[3, 1])
    parser.add_argument("--gains", type=float, nargs="+", default=[0.0])
    parser.add_argument("--real-words", action="store_true")
    arguments = parser.parse_args()
    opener = gzip.open if arguments.corpus.endswith(".gz") else open
    with opener(DATA / arguments.corpus, "rt") as file:
        texts = [json.loads(line)["text"] for line in file]
    rng = np.random.default_rng(42)
    chosen = set(rng.permutation(len(texts))[: arguments.held_out].tolist())
    test = [planted(texts[i], rng, 0.05) for i in sorted(chosen)]
    edits = sum(len(errors) for _, errors in test)
    for order in arguments.orders:
        model = nk.fit_language_model([t for i, t in enumerate(texts) if i not in chosen], order=order, language="en")
        known = sum(word.lower() in model.model.ids for _, errors in test for _, word in errors.values())
        new = sum(before.lower() not in model.model.ids for _, errors in test for before, _ in errors.values())
        start = time.perf_counter()
        found = nk.correct_spelling(model, [text for text, _ in test], real_words=arguments.real_words).to_pylist()
        seconds = time.perf_counter() - start
        for gain in arguments.gains:
            kept = [row for row in found if row["log10_gain"] > gain]
            at_errors = [(row, test[int(row["id"].rpartition(":")[2]) - 1][1].get(row["start"])) for row in kept]
            right = sum(error is not None and row["suggestion"] == error[0] for row, error in at_errors)
            places = sum(error is not None for _, error in at_errors)
            print(
                f"order {order}, gain > {gain:g}: {edits} edits ({known} give a word, {new} of a word that the model lacks), "
                f"{len(kept)} corrections, {places} at an edit, {right} right: precision {right / max(len(kept), 1):.3f}, "
                f"recall {right / edits:.3f}; right of those found {right / max(places, 1):.3f}; {seconds:.0f} s"
            )


if __name__ == "__main__":
    main()
