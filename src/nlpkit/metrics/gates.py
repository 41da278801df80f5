"""Gates: bounds that scores must keep, and how far they may fall behind those of an earlier evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.catalogue import metric_of, no_metric
from nlpkit.metrics.options import GateOptions
from nlpkit.metrics.results import ALL_TARGETS, MODEL, Bound, Evaluation, Gate
from nlpkit.metrics.score import Score
from nlpkit.platform import reporting

# what of a definition must be the same for two numbers to be the same score
DEFINITION = (
    "segmentation", "window", "confirmation", "aggregation", "compat", "top_n", "absent", "epsilon", "p", "method", "beta", "of", "empty",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier evaluation. name: for messages; scores: target → metric → score as JSON; references: where words were counted."""

    name: str
    scores: Mapping[str, Mapping[str, Any]]
    references: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class GateRules:
    """What scores must keep. bounds: fixed bars; drops: how much worse than the baseline scores may be, metric (None: all
    others), amount, and whether it is a share; metrics: those that were asked for by name, empty for the usual ones.
    """

    bounds: tuple[Bound, ...] = ()
    drops: tuple[tuple[str | None, float, bool], ...] = ()
    baseline: Baseline | None = None
    metrics: tuple[str, ...] = ()

    def check(self, evaluation: Evaluation) -> list[Gate]:
        """Return the outcome of each bound, and of the baseline.

        Raises:
            InputError: a score of a bound was not made, or the baseline has no such scores.
        """
        together = {ALL_TARGETS: evaluation.shared} if evaluation.shared else {}
        scores = {**{t.name: t.scores for t in evaluation.targets}, **together}
        gates = []
        for bound in self.bounds:
            places = {name: present[bound.metric] for name, present in scores.items() if bound.metric in present}
            _check_made(bound, places, scores, evaluation)
            gates += [_check(name, score, bound) for name, score in places.items()]
        if self.baseline is not None:
            lacking = {t.name: t.unmade for t in evaluation.targets}
            gates += _compare(self, self.baseline, scores, lacking)
            _warn_of_corpus(self.baseline, evaluation)
        return gates


def gate_rules(options: GateOptions, metrics: Sequence[str] = ()) -> GateRules:
    """Return the rules that options ask for, but for the scores of the baseline, which are in a file.

    Args:
        metrics: those that were asked for; a bare number is for the only one of them. Those of bounds are added to them.

    Raises:
        UsageError: a bound that is none, or of a score whose good end is the other one.
    """
    bounds = [*_bounds("fail_under", options.fail_under, "under", metrics)]
    bounds += _bounds("fail_over", options.fail_over, "over", metrics)
    drops = _pairs("max_drop", "0" if options.max_drop is None else options.max_drop, [])
    if any(drop < 0 for _, drop, _ in drops):
        raise UsageError(
            f"`max_drop={options.max_drop}`: it must be 0 or more (how much worse a score may be)", parameter="max_drop"
        )
    if options.max_drop is not None and options.baseline is None:
        raise UsageError(
            "`max_drop` compares with earlier scores; name them with `baseline=metrics.json`", parameter="max_drop"
        )
    asked = [*metrics, *(b.metric for b in bounds if b.metric not in metrics)] if metrics else []
    return GateRules(tuple(bounds), tuple(drops), None, tuple(asked))


def _bounds(
    option: Literal["fail_under", "fail_over"], text: str | None, kind: str, metrics: Sequence[str]
) -> list[Bound]:
    bounds = []
    for name, value, relative in _pairs(option, text, metrics):
        if relative:
            raise UsageError(f"`{option}={text}`: a score is needed, not a percentage", parameter=option)
        if name is None:
            example = f"`{option}={metrics[0] if metrics else 'npmi'}={text}`"
            raise UsageError(f"`{option}={text}`: no score is named; write {example}", parameter=option)
        better = _better(name)
        if (kind, better) in (("under", "low"), ("over", "high")):
            other = "fail_over" if kind == "under" else "fail_under"
            raise UsageError(
                f"`{option}` {name}: {better}er is better here, so use `{other}={name}={value:g}`",
                parameter=option,
            )
        _check_missable(option, name, value)
        bounds.append(Bound(name, value, kind))
    return bounds


def _pairs(option: str, text: str | None, metrics: Sequence[str]) -> list[tuple[str | None, float, bool]]:
    """Return metric (None: not named), number, and whether it is a percentage."""
    out: list[tuple[str | None, float, bool]] = []
    for part in (text or "").split(","):
        if not part.strip():
            continue
        name, equals, digits = part.rpartition("=")
        digits = digits.strip()
        try:
            value = float(digits.removesuffix("%"))
        except ValueError:
            value = float("nan")
        if value != value or abs(value) == float("inf"):
            raise UsageError(f"`{option}={part}`: NAME=NUMBER is needed, such as npmi=0.05", parameter=option)
        relative = digits.endswith("%")
        value = value / 100 if relative else value
        if equals:
            out.append((_metric(option, name.strip()), value, relative))
        else:
            out.append((metrics[0] if len(metrics) == 1 else None, value, relative))
    if text is not None and not out:
        raise UsageError(f"`{option}`: NAME=NUMBER is needed, such as npmi=0.05", parameter=option)
    return out


def _check_missable(option: str, name: str, value: float) -> None:
    """Refuse a bar that every score keeps, since it lies outside of the range: such a gate says nothing. Raises UsageError."""
    metric = metric_of(name)
    if metric is None:
        return
    low, high = metric.range
    if value < low if option == "fail_under" else value > high:
        percent = f"; {value:g} % is {value / 100:g}" if 1 < value <= 100 and high == 1 else ""
        end = f"never under {low:g}" if value < low else f"never over {high:g}"
        raise UsageError(
            f"`{option}={name}={value:g}`: every {name} passes, because it is {end}{percent}", parameter=option
        )


def _better(name: str) -> str:
    metric = metric_of(name)
    return metric.better if metric is not None else ""


def _metric(option: str, name: str) -> str:
    metric = metric_of(name)
    if metric is None:
        raise UsageError(f"`{option}`: {no_metric(name, groups=False)}", parameter=option)
    return metric.name


# ---------------------------------------------------------------- bounds


def _check_made(
    bound: Bound, places: Mapping[str, Score], scores: Mapping[str, Mapping[str, Score]], evaluation: Evaluation
) -> None:
    """Raise InputError when the score of a bound was not made, or not of every target."""
    if not places:
        present = sorted({metric for of_target in scores.values() for metric in of_target})
        raise InputError(
            f"the gate on {bound.metric} cannot be checked, because the score was not computed (computed: "
            f"{', '.join(present)}); add it: `metrics={bound.metric}`"
        )
    without = [target.name for target in evaluation.targets if target.name not in places]
    if without and bound.metric not in evaluation.shared:
        raise InputError(
            f"the gate on {bound.metric} cannot be checked for {without[0]}: that score was not computed; give what "
            "it needs (a corpus: `reference=DOCS`), or evaluate it separately"
        )


def _check(target: str, score: Score, bound: Bound) -> Gate:
    where = f"{target}: {bound.metric}"
    if score.value is None:
        return Gate(target, bound, None, False, f"{where} is not defined ({score.why}), so the gate fails")
    value, bar = score.value, f"{bound.value:g}"
    passed = value >= bound.value if bound.kind == "under" else value <= bound.value
    side = ("not under" if passed else "under") if bound.kind == "under" else ("not over" if passed else "over")
    return Gate(target, bound, value, passed, f"{where} {value:.4g} is {side} {bar}")


# ---------------------------------------------------------------- a baseline


def _compare(
    rules: GateRules,
    baseline: Baseline,
    scores: Mapping[str, Mapping[str, Score]],
    lacking: Mapping[str, Mapping[str, str]],
) -> list[Gate]:
    """Check all scores that the baseline has too against the drop that is allowed, by default none.

    Args:
        lacking: scores of each target that lack what they need, and why.
    """
    general = [drop for drop in rules.drops if drop[0] is None]
    special = {drop[0]: drop for drop in rules.drops if drop[0] is not None}
    gates: list[Gate] = []
    for name, now in scores.items():
        before = _of_target(baseline, name, len(scores))
        _warn_of_documents(baseline, before, now)
        lost = [
            metric
            for metric, score in before.items()
            if metric not in now and not rules.metrics and _better(metric) and _value(score) is not None
        ]
        for metric in [m for m in lost if m in lacking.get(name, {})]:
            reporting.warn(
                f"{metric} of the baseline {baseline.name} is not compared with anything: {lacking[name][metric]}"
            )
            lost.remove(metric)
        if lost:
            raise InputError(
                f"the baseline {baseline.name} has {lost[0]} of {name}, which was not computed now; compute it, or "
                f"name the scores to compare: `metrics={','.join(m for m in now if m in before)}`"
            )
        for metric, score in now.items():
            drop = special.get(metric) or (general[0] if general else None)
            if drop is None or metric not in before or not _better(metric):
                continue
            if _value(before[metric]) is None and metric not in special:
                continue  # it was not defined then either
            gates.append(_fall(baseline, name, score, before[metric], Bound(metric, drop[1], "drop", drop[2])))
        unmade = [m for m in special if not any(m in present for present in scores.values())]
        if unmade:
            raise InputError(f"`max_drop` {unmade[0]}: the score was not computed; add it: `metrics={unmade[0]}`")
        missing = [m for m in (*special, *rules.metrics) if m in now and m not in before]
        if missing:
            raise InputError(
                f"the baseline {baseline.name} has no score '{missing[0]}' of {name} (found: {', '.join(before)})"
            )
    if not gates:
        raise InputError(
            f"the baseline {baseline.name} has none of the scores computed now; make it with the same metrics "
            "and `output=metrics.json`"
        )
    return gates


def _of_target(baseline: Baseline, name: str, n_targets: int) -> Mapping[str, Any]:
    """Return the earlier scores of a target; one alone may have had another name then, as in the metrics.json of a run."""
    before = baseline.scores.get(name)
    if before is None and n_targets == 1:
        before = next(iter(baseline.scores.values())) if len(baseline.scores) == 1 else baseline.scores.get(MODEL)
    if before is None:
        raise InputError(f"the baseline {baseline.name} has no target '{name}' (found: {', '.join(baseline.scores)})")
    return before


def _warn_of_corpus(baseline: Baseline, evaluation: Evaluation) -> None:
    """Warn when words were counted in another corpus then: a score may have changed with it."""
    now = [t.facts.get("reference") for t in evaluation.targets]
    then = baseline.references
    if len(then) == len(now) and [_hashes(r) for r in then] != [_hashes(r) for r in now]:
        reporting.warn(f"the scores of {baseline.name} used another corpus, or the same corpus with other tokens")


def _warn_of_documents(baseline: Baseline, before: Mapping[str, Any], scores: Mapping[str, Score]) -> None:
    """Warn when there were more or fewer documents or classes then: another test, whose scores say little of this one."""
    for name in before.keys() & scores.keys():
        then = before[name].get("parameters") if isinstance(before[name], dict) else None
        now = scores[name].parameters
        for what in ("documents", "classes"):
            if then and what in then and what in now and then[what] != now[what]:
                reporting.warn(
                    f"the scores of {baseline.name} cover {then[what]:,} {what}, and the scores computed now "
                    f"{now[what]:,}; a difference may come from the other test"
                )
                return


def _hashes(reference: Any) -> Any:
    if not isinstance(reference, dict):
        return None
    return [i.get("sha256") for i in reference.get("inputs", [])], reference.get("n_tokens")


def _fall(baseline: Baseline, target: str, score: Score, before: Any, bound: Bound) -> Gate:
    """Return whether a score fell by more than its bound allows."""
    where = f"{target}: {bound.metric}"
    was = _value(before)
    if not isinstance(was, int | float) or abs(was) == float("inf") or was != was:
        raise InputError(
            f"the baseline {baseline.name} has no value of {bound.metric} for {target}; leave it out with `max_drop=NAME=DROP`"
        )
    if isinstance(before, dict):
        _check_definition(baseline, where, score, before.get("parameters") or {})
    if score.value is None:
        return Gate(target, bound, None, False, f"{where} is not defined ({score.why}), so the gate fails")
    worse = was - score.value if score.metric.better == "high" else score.value - was
    allowed = bound.value * abs(was) if bound.relative else bound.value
    # a drop of exactly what is allowed passes, also where probabilities were stored as float32 in between
    passed = worse <= allowed + 1e-7
    limit = f"{bound.value:.4g}" if not bound.relative else f"{100 * bound.value:.4g}%"
    change = f"{'worse' if worse > 0 else 'better'} by {abs(worse):.4g} than" if worse else "not worse than"
    end = "within" if passed else "more than"
    line = f"{where} {score.value:.4g} is {change} {was:.4g} of {baseline.name}, {end} {limit}"
    return Gate(target, bound, score.value, passed, line)


def _value(score: Any) -> Any:
    return score.get("value") if isinstance(score, dict) else score


def _check_definition(baseline: Baseline, where: str, score: Score, then: Mapping[str, Any]) -> None:
    """Raise InputError when a score was measured by another definition, or on other held-out documents, in the baseline."""
    now = score.parameters
    heldout = [[i.get("sha256") for i in (p.get("heldout") or {}).get("inputs", [])] for p in (then, now)]
    if heldout[0] != heldout[1]:
        raise InputError(
            f"{where} was measured on other held-out documents in the baseline {baseline.name}; use the same "
            "documents, or make a new baseline"
        )
    for key in DEFINITION:
        if then.get(key) != now.get(key) and (key in then or key in now):
            raise InputError(
                f"{where} was measured by another definition in the baseline {baseline.name} ({key}: {then.get(key)}, now "
                f"{now.get(key)}); use the same options, or make a new baseline"
            )
