"""Recipes of classifiers: what the options of `nlpkit classify` ask for, and what `--model auto` compares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nlpkit.classify.classifier import Recipe
from nlpkit.classify.features import SpaceOptions
from nlpkit.classify.fit import KINDS, ModelOptions
from nlpkit.cli.classify_flags import MODELS, ClassifyTextFlags, ModelFlags
from nlpkit.errors import UsageError
from nlpkit.text.pruning import MIN_DF_AUTO_FROM
from nlpkit.weighting.options import WeightOptions
from nlpkit.weighting.schemes import Scheme
from nlpkit.weighting.selection import FeatureSelection

if TYPE_CHECKING:
    from nlpkit.text.options import PreprocessOptions

COUNTS = ("nb", "bernoulli-nb", "complement-nb")
DENSE = ("knn", "centroid", "mlp")
LINEAR = ("logreg", "svm")
KEEP_RARE = (
    "complement-nb",
    "svm",
)  # words of a single document help them, and cost the others (tests/benchmarks/bench_classify.py)
PLAIN = Scheme("raw", "none", "none")
SUBLINEAR = Scheme("log", "smooth", "l2")  # (1 + ln tf) · (ln((1 + M) / (1 + df)) + 1), of length 1


def recipe_of(flags: ModelFlags, weights: WeightOptions, tokens: ClassifyTextFlags) -> Recipe:
    """Return the recipe of the model that was asked for by name.

    Raises:
        UsageError: an unknown model, or options that it does not have.
    """
    flags.check()
    kind = flags.model
    if kind not in KINDS:
        raise UsageError(
            f"--model {kind}: there are {', '.join(MODELS)}, and run directories that nlpkit classify wrote"
        )
    on = flags.on or ("embedding" if kind in DENSE else "words")
    plain = ModelFlags()
    _refuse(
        on == "embedding",
        {
            "--select": flags.select,
            "--hand-features": flags.hand_features,
            "--scheme and the other weights": weights != WeightOptions(),
            "options on words": tokens != ClassifyTextFlags(),
        },
        "is about words, and this model sees embeddings; leave it out, or take --on words",
    )
    if kind in COUNTS and on == "embedding":
        raise UsageError(
            f"--model {kind} counts words and cannot see embeddings; take logreg, svm, knn, centroid or mlp"
        )
    _refuse(
        kind not in COUNTS,
        {"--alpha": flags.alpha != plain.alpha, "--priors": flags.priors != plain.priors},
        "belongs to Naive Bayes; leave it out",
    )
    _refuse(
        kind not in LINEAR,
        {"--cost": flags.cost != plain.cost, "--hand-features": flags.hand_features},
        "belongs to logreg and svm; leave it out",
    )
    _refuse(
        not KINDS[kind].balanced,
        {"--class-weight": flags.class_weight != plain.class_weight},
        "belongs to " + ", ".join(name for name, k in KINDS.items() if k.balanced) + "; leave it out",
    )
    _refuse(kind != "knn", {"--neighbors": flags.neighbors != plain.neighbors}, "belongs to knn; leave it out")
    _refuse(kind != "mlp", {"--hidden": flags.hidden != plain.hidden}, "belongs to mlp; leave it out")
    space = None
    if on == "words":
        space = space_of(flags, weights, tokens.options(), kind)
    return Recipe(kind, model_options(flags, kind), space, None, flags.hand_features is not None, flags.calibration())


def model_options(flags: ModelFlags, kind: str) -> ModelOptions:
    """Return the options of a kind of model."""
    return ModelOptions(
        kind=kind, alpha=flags.alpha, priors=flags.class_priors(), C=flags.cost,
        balanced=flags.class_weight == "balanced", k=flags.neighbors, hidden=flags.hidden,
    )  # fmt: skip


def space_of(flags: ModelFlags, weights: WeightOptions, options: PreprocessOptions, kind: str) -> SpaceOptions:
    """Return how words become features: counts for Naive Bayes, else sublinear tf-idf of length 1, if not told otherwise."""
    if options.auto_stop is not None:
        raise UsageError(
            "--auto-stop counts in all documents, also those of the test; --max-df counts in training documents"
        )
    scheme = weights.weighting() if weights != WeightOptions() else (PLAIN if kind in COUNTS else SUBLINEAR)
    selection = FeatureSelection.parse(flags.select)
    if selection is None:
        return SpaceOptions(scheme, options)
    if selection.n is None:
        raise UsageError(f"--select {flags.select}: say how many words are kept, such as {selection.score.name}:5000")
    return SpaceOptions(scheme, options, selection.score, selection.count)


def with_space(recipe: Recipe, name: str, kind: str, *, ngrams: tuple[int, int] | None, scheme: Scheme) -> Recipe:
    """Return a recipe for another model on the same words."""
    assert recipe.space is not None
    return replace(
        recipe,
        name=name,
        model=replace(recipe.model, kind=kind),
        ngrams=ngrams,
        space=replace(recipe.space, scheme=scheme),
    )


def bounded(recipe: Recipe, least_train: int) -> Recipe:
    """Return the recipe with its bound on rare words, one for all training sets: --min-df, or else what suits the model.

    That is 1 for svm and complement-nb on single words, and 2 for others where the smallest training set has 100 documents.
    """
    if recipe.space is None or recipe.space.bounds.min_df is not None:
        return recipe
    bounds = recipe.space.bounds
    rare = recipe.model.kind in KEEP_RARE and (recipe.ngrams or bounds.ngrams) == (1, 1)
    least = 1 if rare or least_train < MIN_DF_AUTO_FROM else 2
    return replace(recipe, space=replace(recipe.space, bounds=replace(bounds, min_df=least)))


def _refuse(applies: bool, given: dict[str, object], why: str) -> None:
    option = next((name for name, value in given.items() if value), None)
    if applies and option is not None:
        raise UsageError(f"{option} {why}")
