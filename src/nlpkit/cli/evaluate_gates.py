"""Gates of `nlpkit evaluate`: bounds that scores must keep, and how far they may fall behind a baseline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlpkit import reporting
from nlpkit.cli import console
from nlpkit.cli.evaluate_flags import GateFlags
from nlpkit.cli.evaluate_result import Evaluation
from nlpkit.errors import InputError, QualityGateError, UsageError
from nlpkit.io.atomic import atomic_file
from nlpkit.io.score_files import junit
from nlpkit.metrics.score import Score, metric_of, no_metric
from nlpkit.plain import shell_line

# what of a definition must be the same for two numbers to be the same score
DEFINITION = (
    "segmentation", "window", "confirmation", "aggregation", "compat", "top_n", "absent", "epsilon", "p", "method", "beta", "of", "empty",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bound:
    """A bar that a score must keep. kind: under, over, or drop (from a baseline; relative: as a share of it)."""

    metric: str
    value: float
    kind: str
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """What became of a bound at one target: passed, and a line that says so."""

    target: str
    bound: Bound
    value: float | None
    passed: bool
    line: str

    def plain(self) -> dict[str, Any]:
        """Return it as values that go into JSON."""
        return {
            "target": self.target,
            "metric": self.bound.metric,
            "kind": self.bound.kind,
            "bound": self.bound.value,
            "value": self.value,
            "passed": self.passed,
            "line": self.line,
        }


def read_bounds(flags: GateFlags, asked: Sequence[str]) -> list[Bound]:
    """Return the bounds of the options.

    Args:
        asked: metrics that were asked for; a bare number is for the only one of them.

    Raises:
        UsageError: a bound that is none, or of a score whose good end is the other one.
    """
    bounds = []
    for option, given, kind in (("--fail-under", flags.fail_under, "under"), ("--fail-over", flags.fail_over, "over")):
        for metric, value, relative in _pairs(option, given, asked):
            if relative:
                raise UsageError(f"{option} {given}: a score is needed, not a percentage")
            if metric is None:
                raise UsageError(
                    f"{option} {given}: of which score? Say {option} {asked[0] if asked else 'npmi'}={given}"
                )
            better = _better(metric)
            if (kind, better) in (("under", "low"), ("over", "high")):
                other = "--fail-over" if kind == "under" else "--fail-under"
                raise UsageError(
                    f"{option} {metric}: {better}er is better here, so the bar is {other} {metric}={value:g}"
                )
            _check_missable(option, metric, value)
            bounds.append(Bound(metric, value, kind))
    if any(drop < 0 for _, drop, _ in _pairs("--max-drop", flags.max_drop, [])):
        raise UsageError(f"--max-drop {flags.max_drop}: how much worse a score may be, 0 or more")
    if flags.baseline is not None:
        _read_baseline(flags.baseline)  # before long work, and not after it
    if flags.max_drop is not None and flags.baseline is None:
        raise UsageError("--max-drop is against earlier scores; give them with --baseline metrics.json")
    return bounds


def _pairs(option: str, given: str | None, asked: Sequence[str]) -> list[tuple[str | None, float, bool]]:
    out: list[tuple[str | None, float, bool]] = []
    for part in (given or "").split(","):
        if not part.strip():
            continue
        name, equals, number = part.rpartition("=")
        text = number.strip()
        try:
            value = float(text.removesuffix("%"))
        except ValueError:
            value = float("nan")
        if value != value or abs(value) == float("inf"):
            raise UsageError(f"{option} {part}: NAME=NUMBER is needed, such as npmi=0.05")
        relative = text.endswith("%")
        value = value / 100 if relative else value
        if equals:
            out.append((_metric(option, name.strip()), value, relative))
        else:
            out.append((asked[0] if len(asked) == 1 else None, value, relative))
    if given is not None and not out:
        raise UsageError(f"{option}: NAME=NUMBER is needed, such as npmi=0.05")
    return out


def _check_missable(option: str, name: str, value: float) -> None:
    """Refuse a bar that every score keeps, since it lies outside of the range: such a gate says nothing. Raises UsageError."""
    metric = metric_of(name)
    if metric is None:
        return
    low, high = metric.range
    if value < low if option == "--fail-under" else value > high:
        percent = f"; {value:g} % is {value / 100:g}" if 1 < value <= 100 and high == 1 else ""
        end = f"never under {low:g}" if value < low else f"never over {high:g}"
        raise UsageError(f"{option} {name}={value:g}: every {name} passes, it is {end}{percent}")


def _better(name: str) -> str:
    metric = metric_of(name)
    return metric.better if metric is not None else ""


def _metric(option: str, name: str) -> str:
    metric = metric_of(name)
    if metric is None:
        raise UsageError(f"{option}: {no_metric(name, groups=False)}")
    return metric.name


def check_gates(evaluation: Evaluation, bounds: Sequence[Bound], flags: GateFlags, asked: Sequence[str]) -> list[Gate]:
    """Return what became of each bound, of the options and of the baseline.

    Raises:
        InputError: a score of a bound was not made, or the baseline cannot be used.
    """
    gates = []
    together = {"all targets": evaluation.shared} if evaluation.shared else {}
    scores = {**{t.name: t.scores for t in evaluation.targets}, **together}
    for bound in bounds:
        places = {name: own for name, own in scores.items() if bound.metric in own}
        if not places:
            made = sorted({metric for own in scores.values() for metric in own})
            raise InputError(
                f"the gate on {bound.metric} cannot be checked: the score was not made (made: {', '.join(made)}); "
                f"ask for it: --metrics {bound.metric}"
            )
        without = [target.name for target in evaluation.targets if target.name not in places]
        if without and bound.metric not in evaluation.shared:
            raise InputError(
                f"the gate on {bound.metric} cannot be checked for {without[0]}: that score was not made of it; give what it needs "
                "(a corpus: --reference DOCS), or evaluate it apart"
            )
        gates += [_check(name, own[bound.metric], bound) for name, own in places.items()]
    if flags.baseline is not None:
        lacking = {t.name: t.unmade for t in evaluation.targets}
        gates += _against(flags.baseline, scores, flags.max_drop, asked, lacking)
        _warn_of_corpus(flags.baseline, evaluation)
    return gates


def _check(target: str, score: Score, bound: Bound) -> Gate:
    where = f"{target}: {bound.metric}"
    if score.value is None:
        return Gate(target, bound, None, False, f"{where} is not defined ({score.why}), so the gate fails")
    value, bar = score.value, f"{bound.value:g}"
    passed = value >= bound.value if bound.kind == "under" else value <= bound.value
    side = ("not under" if passed else "under") if bound.kind == "under" else ("not over" if passed else "over")
    return Gate(target, bound, value, passed, f"{where} {value:.4g} is {side} {bar}")


def _against(
    path: Path,
    scores: Mapping[str, Mapping[str, Score]],
    max_drop: str | None,
    asked: Sequence[str],
    lacking: Mapping[str, Mapping[str, str]],
) -> list[Gate]:
    """Check all scores that the baseline has too against the drop that is allowed, by default none.

    Args:
        lacking: scores of each target that lack what they need, and why.
    """
    before = _read_baseline(path)
    drops = _pairs("--max-drop", max_drop if max_drop is not None else "0", [])
    general = [d for d in drops if d[0] is None]
    special = {d[0]: d for d in drops if d[0] is not None}
    gates: list[Gate] = []
    for name, own in scores.items():
        old = before.get(name)
        if old is None and len(before) == len(scores) == 1:
            old = next(iter(before.values()))
        if old is None:
            raise InputError(f"the baseline {path} has no target '{name}' (found: {', '.join(before)})")
        _warn_of_documents(path, old, own)
        lost = [m for m, then in old.items() if m not in own and not asked and _better(m) and _value(then) is not None]
        for metric in [m for m in lost if m in lacking.get(name, {})]:
            reporting.warn(f"{metric} of the baseline {path} is not held against anything: {lacking[name][metric]}")
            lost.remove(metric)
        if lost:
            raise InputError(
                f"the baseline {path} has {lost[0]} of {name}, which was not made now; make it, or name those to hold against the "
                f"baseline: --metrics {','.join(m for m in own if m in old)}"
            )
        for metric, score in own.items():
            drop = special.get(metric) or (general[0] if general else None)
            if drop is None or metric not in old or not _better(metric):
                continue
            if _value(old[metric]) is None and metric not in special:
                continue  # it was not defined then either
            gates.append(_fall(path, name, score, old[metric], Bound(metric, drop[1], "drop", drop[2])))
        unmade = [m for m in special if not any(m in made for made in scores.values())]
        if unmade:
            raise InputError(f"--max-drop {unmade[0]}: the score was not made; ask for it: --metrics {unmade[0]}")
        missing = [m for m in (*special, *asked) if m in own and m not in old]
        if missing:
            raise InputError(f"the baseline {path} has no score '{missing[0]}' of {name} (found: {', '.join(old)})")
    if not gates:
        raise InputError(
            f"the baseline {path} has no score of those made now; make it with the same metrics and -o metrics.json"
        )
    return gates


def _warn_of_corpus(path: Path, evaluation: Evaluation) -> None:
    """Say when words were counted in another corpus then: a score may have changed with it."""
    value = json.loads(path.read_text(encoding="utf-8-sig"))
    then = [t.get("reference") for t in value["targets"]]
    now = [t.facts.get("reference") for t in evaluation.targets]
    if len(then) == len(now) and [_hashes(r) for r in then] != [_hashes(r) for r in now]:
        reporting.warn(f"the scores of {path} were counted in another corpus, or in the same one cut into other words")


def _warn_of_documents(path: Path, before: Mapping[str, Any], own: Mapping[str, Score]) -> None:
    """Say when there were more or fewer documents or classes then: another test, whose scores say little of this one."""
    for name in before.keys() & own.keys():
        then = before[name].get("parameters") if isinstance(before[name], dict) else None
        now = own[name].parameters
        for what in ("documents", "classes"):
            if then and what in then and what in now and then[what] != now[what]:
                reporting.warn(
                    f"the scores of {path} are of {then[what]:,} {what}, those made now of {now[what]:,}: another test, so a "
                    "difference may be due to it"
                )
                return


def _hashes(reference: Any) -> Any:
    if not isinstance(reference, dict):
        return None
    return [i.get("sha256") for i in reference.get("inputs", [])], reference.get("n_tokens")


def _fall(path: Path, target: str, score: Score, old: Any, bound: Bound) -> Gate:
    where = f"{target}: {bound.metric}"
    was = _value(old)
    if not isinstance(was, int | float) or abs(was) == float("inf") or was != was:
        raise InputError(
            f"the baseline {path} has no value of {bound.metric} for {target}; leave it out with --max-drop NAME=DROP"
        )
    if isinstance(old, dict):
        _check_definition(path, where, score, old.get("parameters") or {})
    if score.value is None:
        return Gate(target, bound, None, False, f"{where} is not defined ({score.why}), so the gate fails")
    worse = was - score.value if score.metric.better == "high" else score.value - was
    allowed = bound.value * abs(was) if bound.relative else bound.value
    # sums of floats: a drop of exactly what is allowed passes
    passed = worse <= allowed + 1e-12
    limit = f"{bound.value:.4g}" if not bound.relative else f"{100 * bound.value:.4g}%"
    how = f"{'worse' if worse > 0 else 'better'} by {abs(worse):.4g} than" if worse else "not worse than"
    line = f"{where} {score.value:.4g} is {how} {was:.4g} of {path}, {'within' if passed else 'more than'} {limit}"
    return Gate(target, bound, score.value, passed, line)


def _value(then: Any) -> Any:
    return then.get("value") if isinstance(then, dict) else then


def _check_definition(path: Path, where: str, score: Score, then: Mapping[str, Any]) -> None:
    now = score.parameters
    heldout = [[i.get("sha256") for i in (p.get("heldout") or {}).get("inputs", [])] for p in (then, now)]
    if heldout[0] != heldout[1]:
        raise InputError(
            f"{where} was measured on other held-out documents in the baseline {path}; give the same, or make a new baseline"
        )
    for key in DEFINITION:
        if then.get(key) != now.get(key) and (key in then or key in now):
            raise InputError(
                f"{where} was measured by another definition in the baseline {path} ({key}: {then.get(key)}, now {now.get(key)}); "
                "use the same options, or make a new baseline"
            )


def _read_baseline(path: Path) -> dict[str, dict[str, Any]]:
    """Return target → metric → score of a file that -o metrics.json or --json wrote."""
    needed = "the JSON of an earlier nlpkit evaluate (-o metrics.json) was needed"
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(
            f"the baseline {path} does not exist; make it with: nlpkit evaluate … {shell_line('-o', path)}, or name the "
            "metrics.json of a run"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"the baseline {path} cannot be read ({error}); {needed}") from None
    try:
        found = {str(t["target"]): dict(t["metrics"]) for t in value["targets"]}
        if value.get("together"):
            found["all targets"] = dict(value["together"])
        means = (value.get("seeds") or {}).get("mean") or {}  # what gates look at in a run of several seeds
        first = next(iter(found.values()), {})
        for name in means.keys() & first.keys():
            first[name] = {**first[name], "value": means[name]}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"the baseline {path} has no scores of targets; {needed}") from None
    return found


def write_junit(path: Path, gates: Sequence[Gate], *, suite: str, force: bool) -> None:
    """Write the gates as JUnit XML, a test case each. Raises OutputExistsError, UsageError, InputError: see `check_target`."""
    cases = [(g.target, f"{g.bound.metric} {g.bound.kind} {g.bound.value:g}", g.passed, g.line) for g in gates]
    with atomic_file(path, force=force) as part:
        part.write_text(junit(cases, suite=suite), encoding="utf-8")


def tell(gates: Sequence[Gate]) -> None:
    """Say what became of the gates, a line each. Raises QualityGateError when one failed."""
    failed = [gate for gate in gates if not gate.passed]
    for gate in gates:
        if gate.passed:
            reporting.note(f"gate passed: {gate.line}")
    for gate in failed[:-1]:
        console.error(f"gate failed: {gate.line}")
    if failed:
        raise QualityGateError(f"gate failed: {failed[-1].line}")
