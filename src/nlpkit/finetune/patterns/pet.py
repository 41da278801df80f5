"""PET, iPET and PETapter: models that fill patterns, their ensemble, and the classifier that learns from its soft labels.

pet       a masked language model is trained for each pattern; together they label unlabelled texts softly, from which a classifier
          learns. Without unlabelled texts they predict together (Schick & Schütze 2021a, "Exploiting Cloze Questions")
ipet      the same in generations: each model gets examples that the others have labelled (§3.4)
petapter  adapters in a frozen masked language model, trained with a head of their own for the words alone, h → h → t, whose weights
          are new (Rieger et al. 2024, §3), or start as those of the base; or with the base's head, as it is
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.methods import Method, parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.patterns.options import DEFAULTS
from nlpkit.finetune.patterns.patterns import (
    MASK,
    Gaps,
    Patterns,
    Verbalizer,
    fill_pattern,
    pattern_scores,
    search_words,
    verbalizers_of,
)
from nlpkit.finetune.patterns.training import (
    PatternEnsemble,
    PatternNetwork,
    PatternObjective,
    Stages,
    ensemble_scores,
    load_pattern_network,
    make_word_head,
    next_examples,
    pattern_weights,
    soft_labels,
)
from nlpkit.finetune.tasks import FinetuneTask, SoftTargets, Targets, balanced
from nlpkit.finetune.trained import Trained, TrainingCallbacks
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.network import ClassifierObjective, Network, load_network, predict
from nlpkit.finetune.training.train import LogPoint, Outcome, Schedule, train
from nlpkit.platform.types import FloatArray, LongArray

FULL = parse_method("full")
WEIGHT = "weights/"


def fit_patterns(
    folder: Path,
    method: Method,
    task: FinetuneTask,
    patterns: Patterns,
    text_inputs: TextInputs,
    y: LongArray,
    *,
    unlabelled: TextInputs | None,
    train_rows: LongArray,
    dev_rows: LongArray,
    predict_rows: LongArray,
    training: TrainingOptions,
    engine: Engine,
    seed: int,
    stages: Stages,
    score: Callable[[LongArray, Any], float] | None = None,
    callbacks: TrainingCallbacks | None = None,
) -> Trained:
    """Return a classifier, or an ensemble of models, trained on patterns of some documents, and its outputs for others.

    Args:
        folder: of the base model. y: classes of all documents. unlabelled: texts without labels; of `petapter` not read.
        stages: where each pattern's training is kept; one that is done is taken from there. Of `callbacks`
            `state` and `save` are not used: the stages keep states.
        score: (dev rows, outputs) → the score that early stopping looks at, higher is better.

    Raises:
        UsageError: a base without a head for masked words. InputError: words that fit no pattern.
    """
    callbacks = callbacks or TrainingCallbacks()
    start = time.perf_counter()
    training = training.on(folder, task.kind)
    network = load_pattern_network(folder, method, seed=seed, device=engine.device, max_tokens=training.max_tokens)
    run = _Run(
        folder, method, task, patterns, text_inputs, unlabelled if method.name in DEFAULTS else None, train_rows, dev_rows,
        predict_rows, network, training, engine, seed, stages, score if len(dev_rows) else None, callbacks.on_step,
    )  # fmt: skip
    run.read(y)
    callbacks.on_truncation(*run.cut)
    run.choose_words()
    run.make_head()
    run.plan_steps()
    by_pattern: list[Mapping[str, np.ndarray]] = []
    for generation in range(len(run.sets)):
        previous, by_pattern = by_pattern, []
        for p in range(len(run.patterns.texts)):
            rows, labels = run.examples(generation, p, previous)
            by_pattern.append(run.train_pattern(generation, p, rows, labels))
    if len(run.left):
        classifier, outputs = run.distil([scores["unlabelled"] for scores in by_pattern])
        n_trained, n_parameters, ensemble = classifier.n_trained, classifier.n_parameters, None
    else:
        classifier, outputs = None, ensemble_scores([scores["asked"] for scores in by_pattern], run.weights)
        n_trained, n_parameters = (len(run.patterns.texts) * n for n in (network.n_trained, network.n_parameters))
        ensemble = PatternEnsemble(
            run.patterns, task.names, tuple(run.weights), run.trained_network, network.mlm.max_tokens
        )
    seconds = time.perf_counter() - start - run.spent + run.earlier
    return Trained(
        outputs, _in_sequence(run.outcomes), run.last_plan, seconds, run.spent, n_trained, n_parameters, run.cut, method.options,
        network=classifier, ensemble=ensemble, patterns=run.facts(),
    )  # fmt: skip


@dataclass(slots=True)
class _Run:
    """One training of all patterns, and what its stages share.

    gaps (P): documents to learn from, those of dev and unlabelled ones in each pattern, of which learn, dev and left are the rows;
    asked (P): documents to predict. sets (G, J): examples of each class in each generation. spent: seconds of predictions; earlier:
    seconds of trainings that were taken from the stages.
    """

    folder: Path
    method: Method
    task: FinetuneTask
    patterns: Patterns
    text_inputs: TextInputs
    unlabelled: TextInputs | None
    train_rows: LongArray
    dev_rows: LongArray
    predict_rows: LongArray
    network: PatternNetwork
    training: TrainingOptions
    engine: Engine
    seed: int
    stages: Stages
    score: Callable[[LongArray, Any], float] | None
    on_step: Callable[[int, int, LogPoint | None], None]
    initial: dict[str, np.ndarray] = field(init=False)
    gaps: list[Gaps] = field(init=False)
    asked: list[Gaps] = field(init=False)
    learn: LongArray = field(init=False)
    dev: LongArray = field(init=False)
    left: LongArray = field(init=False)
    codes: LongArray = field(init=False)
    class_weights: Any = None
    cut: tuple[int, float] = (0, 0.0)
    verbalizers: list[Verbalizer] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    sets: LongArray = field(init=False)
    plans: list[Schedule] = field(default_factory=list)
    last_plan: Schedule = field(init=False)
    total_steps: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    spent: float = 0.0
    earlier: float = 0.0

    @property
    def options(self) -> dict[str, Any]:
        """The options of PET in force: of `petapter`, whose options are those of its adapters, the defaults."""
        return {**DEFAULTS["pet"], **(self.method.options if self.method.name in DEFAULTS else {})}

    def read(self, y: LongArray) -> None:
        """Put all texts into the patterns."""
        used = np.unique(np.concatenate([self.train_rows, self.dev_rows]))
        self.learn, self.dev = np.searchsorted(used, self.train_rows), np.searchsorted(used, self.dev_rows)
        inside, asked, left = self.text_inputs.take(used), self.text_inputs.take(self.predict_rows), self.unlabelled
        texts = [*inside.texts, *(left.texts if left is not None else ())]
        second = inside.second and [*inside.second, *((left.second if left is not None else None) or ())]
        self.left = np.arange(len(used), len(texts))
        self.codes = np.concatenate([y[used], np.zeros(len(self.left), np.int64)])
        mlm, J = self.network.mlm, len(self.task.names)
        self.gaps = [fill_pattern(mlm, pattern, texts, second) for pattern in self.patterns.texts]
        self.asked = [fill_pattern(mlm, pattern, asked.texts, asked.second) for pattern in self.patterns.texts]
        cut, counts = (
            np.concatenate([getattr(filled[0].inputs, name) for filled in (self.gaps, self.asked)])
            for name in ("cut", "counts")
        )
        self.cut = int((cut > 0).sum()), float(cut.sum() / max(1, counts.sum()))
        if self.training.balanced:
            sizes = np.bincount(self.codes[self.learn], minlength=J).astype(np.int64)
            self.class_weights = balanced(sizes, len(self.learn))

    def choose_words(self) -> None:
        """Search for the words of labels that have none, and weigh the patterns before anything is trained."""
        mlm, names, learn = self.network.mlm, self.task.names, self.learn
        without = [j for j, name in enumerate(names) if name not in self.patterns.words]
        if without:
            _check_single_masks(self.patterns, names[without[0]])
            taken = {word for words in self.patterns.words.values() for word in words}
            n = int(self.options["n_words"])
            searched = search_words(mlm, self.gaps, learn, self.codes[learn], without, self.engine, n=n, taken=taken)
            words = {**self.patterns.words, **{names[j]: tuple(best) for j, best in searched.items()}}
            self.patterns = Patterns(self.patterns.texts, words)
        verbalizers = self._verbalizers()
        before = [
            pattern_scores(mlm, filled, verbalizer, self.engine, learn)
            for filled, verbalizer in zip(self.gaps, verbalizers, strict=True)
        ]
        self.accuracies = [float((s.argmax(axis=1) == self.codes[learn]).mean()) for s in before]
        self.weights = pattern_weights(self.accuracies, str(self.options["weights"]))

    def make_head(self) -> None:
        """Give `petapter` its head for the words; the untrained model, which weighs the patterns, has that of the base."""
        verbalizers, start = self._verbalizers(), self.method.options.get("head", "frozen")
        if start != "frozen":
            tokens = np.unique(np.concatenate([verbalizer.pieces.ravel() for verbalizer in verbalizers]))
            self.network.take_head(make_word_head(self.network.mlm, tokens, str(start), seed=self.seed))
            verbalizers = [verbalizer.among(tokens) for verbalizer in verbalizers]
        self.verbalizers, self.initial = verbalizers, self.network.state()

    def _verbalizers(self) -> list[Verbalizer]:
        """Return the verbalizer of each pattern."""
        by_masks = verbalizers_of(self.network.mlm, self.patterns, self.task.names)
        return [by_masks[text.count(MASK)] for text in self.patterns.texts]

    def plan_steps(self) -> None:
        """Lay out the generations: the examples of each class, and how long each model is trained."""
        options, J = self.options, len(self.task.names)
        first = np.bincount(self.codes[self.learn], minlength=J).astype(np.int64)
        growth, generations = int(options.get("growth", 1)), int(options.get("generations", 1))
        self.sets = np.stack([first * growth**g for g in range(generations)])
        self.plans = [self.training.schedule(self.method, self._size(g)) for g in range(generations)]
        self.total_steps = len(self.patterns.texts) * sum(
            plan.steps(self._size(g)) for g, plan in enumerate(self.plans)
        )
        self.last_plan = self.plans[-1]
        if len(self.left):
            self.last_plan = self.training.schedule(FULL, len(self.left), J)
            self.total_steps += self.last_plan.steps(len(self.left))

    def _size(self, generation: int) -> int:
        """Return how many examples a generation learns from at most."""
        return int(min(self.sets[generation].sum(), len(self.learn) + len(self.left)))

    def examples(
        self, generation: int, p: int, previous: Sequence[Mapping[str, np.ndarray]]
    ) -> tuple[LongArray, LongArray]:
        """Return what a pattern's model learns from, rows (n,) and their labels (n,)."""
        rows, labels = self.learn, self.codes[self.learn]
        if not generation:
            return rows, labels
        chosen, guesses = next_examples(
            [scores["unlabelled"] for scores in previous], self.weights, p, self.sets[generation] - self.sets[0],
            raters=float(self.options["raters"]), seed=self.seed, generation=generation,
        )  # fmt: skip
        return np.concatenate([rows, self.left[chosen]]), np.concatenate([labels, guesses])

    def train_pattern(self, generation: int, p: int, rows: LongArray, labels: LongArray) -> Mapping[str, np.ndarray]:
        """Train the model of a pattern, or take it from the stages; return its scores and, where it will predict, its weights."""
        name = _stage(generation, p)
        kept = self.stages.finished(name)
        if kept is not None:
            self.outcomes.append(_outcome_of(kept[0]["outcome"]))
            self.earlier += float(kept[0]["seconds"])
            return kept[1]
        mlm, verbalizer, options, start = self.network.mlm, self.verbalizers[p], self.options, time.perf_counter()
        self.network.restore(self.initial)
        codes = self.codes.copy()
        codes[rows] = labels
        objective = PatternObjective(
            self.network, self.gaps[p], verbalizer, Targets(self.task, codes, self.class_weights), rows, self.left,
            float(options["alpha"]), int(options["partners"]), float(options["share"]),
        )  # fmt: skip

        def dev_score() -> Mapping[str, float]:
            assert self.score is not None
            return {
                "score": self.score(self.dev_rows, pattern_scores(mlm, self.gaps[p], verbalizer, self.engine, self.dev))
            }

        state = self.stages.state(name)
        before = 0.0 if state is None else state.seconds
        outcome = train(
            objective, self.engine, self.plans[generation], seed=self.seed, score=None if self.score is None else dev_score,
            better="score", state=state, save=lambda now: self.stages.save(name, now), on_step=self._count_on,
        )  # fmt: skip
        since = time.perf_counter()
        arrays = {
            "asked": pattern_scores(mlm, self.asked[p], verbalizer, self.engine),
            "unlabelled": pattern_scores(mlm, self.gaps[p], verbalizer, self.engine, self.left),
        }
        self.spent += time.perf_counter() - since
        self.earlier += before
        if not len(self.left):
            arrays |= {f"{WEIGHT}{key}": value for key, value in self.network.state().items()}
        self.outcomes.append(outcome)
        self.stages.finish(name, {"outcome": asdict(outcome), "seconds": before + since - start}, arrays)
        return arrays

    def distil(self, scores: Sequence[FloatArray]) -> tuple[Network, FloatArray]:
        """Return the classifier that learns the soft labels of the unlabelled texts, and its outputs for the documents to predict."""
        assert self.unlabelled is not None
        T, name = float(self.options["temperature"]), "classifier"
        q = soft_labels(ensemble_scores(scores, self.weights), T)
        network = load_network(
            self.folder, self.task, FULL, seed=self.seed, device=self.engine.device, max_tokens=self.training.max_tokens,
            pooling=self.training.pooling,
        )  # fmt: skip
        rows = np.arange(len(q))
        objective = ClassifierObjective(network, self.unlabelled.inputs(network), SoftTargets(q, T), rows)
        dev, asked = (self.text_inputs.take(rows).inputs(network) for rows in (self.dev_rows, self.predict_rows))

        def dev_score() -> Mapping[str, float]:
            assert self.score is not None
            return {
                "score": self.score(self.dev_rows, predict(network, dev, np.arange(len(self.dev_rows)), self.engine))
            }

        state = self.stages.state(name)
        self.earlier += 0.0 if state is None else state.seconds
        self.outcomes.append(train(
            objective, self.engine, self.last_plan, seed=self.seed, score=None if self.score is None else dev_score, better="score",
            state=state, save=lambda now: self.stages.save(name, now), on_step=self._count_on,
        ))  # fmt: skip
        since = time.perf_counter()
        outputs: FloatArray = predict(network, asked, np.arange(len(self.predict_rows)), self.engine)
        self.spent += time.perf_counter() - since
        return network, outputs

    def trained_network(self, p: int) -> PatternNetwork:
        """Return the network with the weights of a pattern's last model."""
        kept = self.stages.finished(_stage(len(self.sets) - 1, p))
        assert kept is not None
        self.network.restore({key.removeprefix(WEIGHT): a for key, a in kept[1].items() if key.startswith(WEIGHT)})
        return self.network

    def facts(self) -> dict[str, Any]:
        """Return what is to be known of the patterns: weights, accuracies before training, words, sizes."""
        rows = zip(self.patterns.texts, self.weights, self.accuracies, strict=True)
        return {
            "patterns": [{"pattern": text, "weight": w, "accuracy_before": a} for text, w, a in rows],
            "words": {name: list(self.patterns.words[name]) for name in self.task.names},
            "unlabelled": len(self.left),
        }

    def _count_on(self, step: int, _: int, point: LogPoint | None) -> None:
        done = sum(outcome.steps for outcome in self.outcomes)
        self.on_step(done + step, max(self.total_steps, done + step), point and replace(point, step=point.step + done))


def _stage(generation: int, p: int) -> str:
    return f"generation{generation}-pattern{p}"


def _check_single_masks(patterns: Patterns, label: str) -> None:
    """Raise InputError for a pattern of several masks, which no words are searched for."""
    several = next((text for text in patterns.texts if text.count(MASK) > 1), None)
    if several is not None:
        raise InputError(
            f"label '{label}' has no words, and words are only searched for patterns with one {MASK}; add words, or "
            f"leave the pattern '{several}' out",
            parameter="patterns",
        )


def _outcome_of(plain: Mapping[str, Any]) -> Outcome:
    """Return an outcome that was kept as JSON."""
    return Outcome(**{**plain, "curve": tuple(LogPoint(**point) for point in plain["curve"])})


def _in_sequence(outcomes: Sequence[Outcome]) -> Outcome:
    """Return several trainings as one: their steps are counted on."""
    curve: list[LogPoint] = []
    done = 0
    for outcome in outcomes:
        curve += [replace(point, step=point.step + done) for point in outcome.curve]
        done += outcome.steps
    last = outcomes[-1]
    return Outcome(
        done, done - last.steps + last.best_step, tuple(curve), sum(o.seconds for o in outcomes),
        any(o.stopped_early for o in outcomes), last.batch,
    )  # fmt: skip
