"""`--model auto`: a sensible set of classifiers compared within a budget of time, and the choice scored by nested cross-validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nlpkit import reporting
from nlpkit.classify.choose import Tried, best_of, compare_within, nested
from nlpkit.classify.classifier import Fitted, Predicted, Recipe, fit_classifier, together
from nlpkit.classify.fit import KINDS
from nlpkit.classify.words import GivenWords
from nlpkit.cli.classify_corpus import LabelledDocuments
from nlpkit.cli.classify_flags import ModelFlags
from nlpkit.cli.classify_recipes import PLAIN, bounded, model_options, with_space

PAIRS = (1, 2)


def candidates(documents: LabelledDocuments, base: Recipe, flags: ModelFlags) -> list[Recipe]:
    """Return the classifiers to compare, the quickest first; those on embeddings where the documents bring them."""
    found: list[Recipe] = []
    if base.space is not None:
        scheme = base.space.scheme

        def words(name: str, kind: str, ngrams: tuple[int, int] | None = None, C: float | None = None) -> None:
            if base.hand and kind not in ("logreg", "svm"):
                return
            made = with_space(base, name, kind, ngrams=ngrams, scheme=PLAIN if kind.endswith("nb") else scheme)
            found.append(made if C is None else replace(made, model=replace(made.model, C=C)))

        words("nb", "nb")
        if not documents.labels.multiple:
            words("complement-nb", "complement-nb")
        words("svm", "svm")
        words("logreg", "logreg")
        words("logreg, C = 10", "logreg", C=10.0)
        pairs = not isinstance(documents.material.words, GivenWords) and base.space.bounds.ngrams == (1, 1)
        if pairs and not base.space.bounds.tokenizer.startswith("chars"):
            words("nb, words and pairs", "nb", PAIRS)
            words("svm, words and pairs", "svm", PAIRS)
            words("logreg, C = 10, words and pairs", "logreg", PAIRS, 10.0)
    if documents.material.embeddings is not None:
        for kind in ("centroid", "logreg", "knn", "svm"):
            if kind == "centroid" and documents.labels.multiple:
                continue
            found.append(Recipe(f"{kind} on embeddings", model_options(flags, kind), None, None, False, base.calibrate))
    return found


def choose(
    documents: LabelledDocuments, base: Recipe, flags: ModelFlags, *, probabilities: bool, seed: int, threads: int
) -> tuple[Recipe, Predicted, Fitted, list[dict[str, Any]]]:
    """Return the recipe that is best in the training documents, predictions of test documents, and what was compared.

    With a test set the winner predicts it. In cross-validation the winner of each fold's training documents predicts the fold.

    Args:
        probabilities: only classifiers that have some are compared.
    """
    material, labels, rounds = documents.material, documents.labels, documents.rounds
    compared = [
        recipe
        for recipe in candidates(documents, base, flags)
        if not probabilities or recipe.calibrate is not None or KINDS[recipe.model.kind].probabilities
    ]
    recipes = [bounded(recipe, documents.least_train) for recipe in compared]
    n_outer = documents.n_folds
    with reporting.progress("models", len(recipes)) as update:
        tried = compare_within(
            material, labels, documents.train, recipes, n_outer=n_outer, budget=flags.budget, seed=seed, threads=threads,
            said=lambda n, name: update(n, f"models: {name}"),
        )  # fmt: skip
    best = best_of(tried)
    chosen = recipes[best]
    left_out = [t.recipe.name for t in tried if t.why]
    if left_out:
        reporting.note(
            f"not tried within --budget {flags.budget:g}: {', '.join(left_out)}; what is tried depends on how fast this machine is"
        )
    rows = [_row(t, chosen=i == best) for i, t in enumerate(tried)]
    if not n_outer:
        train, test = rounds[0]
        fitted = fit_classifier(material, labels, train, chosen, seed=seed, threads=threads)
        return chosen, together(material.n_docs, labels, [(test, fitted.predict(test))]), fitted, rows
    kept = [t.recipe for t in tried if not t.why]
    with reporting.progress("nested folds", n_outer) as update:
        predicted, fitted, winners = nested(
            material,
            labels,
            rounds,
            kept,
            seed=seed,
            threads=threads,
            said=lambda n, name: update(n, f"nested folds: {name}"),
        )
    won = ", ".join(f"{name} {winners.count(name)}" for name in dict.fromkeys(winners))
    reporting.note(
        f"chosen: {chosen.name}; the scores are those of choosing anew in each of {n_outer} folds (won there: {won})"
    )
    return chosen, predicted, fitted, rows


def _row(tried: Tried, *, chosen: bool) -> dict[str, Any]:
    def known(value: float) -> float | None:
        return float(value) if np.isfinite(value) else None

    return {
        "name": tried.recipe.name,
        "macro_f1": known(tried.macro_f1),
        "error": known(tried.error),
        "accuracy": known(tried.accuracy),
        "seconds": round(tried.seconds, 3),
        "chosen": chosen,
        "why": tried.why,
    }
