"""`nlpkit lda-gibbs --k auto`: numbers of topics compared, and the one that is taken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.lda_work import Work, alpha_of
from nlpkit.cli.lda_write import Results
from nlpkit.errors import InputError
from nlpkit.io.atomic import naming
from nlpkit.io.checkpoints import scores_path
from nlpkit.io.runs import stopwatch
from nlpkit.plain import to_json
from nlpkit.topics.lda.choose import SEEDS, TopicChoice, choose_topics
from nlpkit.topics.lda.scores import Scores
from nlpkit.topics.options import NumberOfTopics

if TYPE_CHECKING:
    from nlpkit.topics.lda.fit import LdaOptions


def chosen_topics(work: Work, options: LdaOptions, more: Results) -> LdaOptions:
    """Compare numbers of topics, print the table, and return the options with the chosen one."""
    path = scores_path(work.target)
    identity = json.loads(to_json({**work.identity, **_plain(options)}))
    known = _known(path, identity) if work.chain.resume else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    if work.chain.resume and not known:
        reporting.warn(f"there are no scores {path}: starting anew", always=True)
    if known:
        reporting.note(f"{len(known)} fits are known from {path}")

    fits = 0
    with stopwatch(work.seconds, "choice of k"), reporting.progress("fits", None) as update:

        def done(n_topics: int, seed: int, scores: Scores) -> None:
            nonlocal fits
            begins = not known and not fits
            fits += 1
            with naming(path), path.open("w" if begins else "a", encoding="utf-8") as file:
                if begins:
                    file.write(to_json({"identity": identity}) + "\n")
                file.write(to_json({"k": n_topics, "seed": seed, "scores": scores.as_dict()}) + "\n")
            update(fits, f"fits (k = {n_topics})")

        try:
            found = choose_topics(
                work.corpus.tokens,
                lambda n: replace(options, n_topics=n, alpha=alpha_of(work.chain, n)),
                NumberOfTopics.parse(work.chain.k).within,
                guidance=work.guidance,
                weights=work.weights,
                known=known,
                done=done,
            )
        except KeyboardInterrupt as stopped:
            if not known and not fits:
                raise
            kept = wording.counted(len(known) + fits, "fit")
            stopped.args = (
                f"the scores of {kept} are kept in {path}: the same command with --resume goes on with them",
            )
            raise
    more.results |= {
        "choice_of_k": found.reason,
        "runner_ups": [[k, why] for k, why in found.runner_ups],
        "evidence": [{k: _short(v) for k, v in row.as_dict().items()} for row in found.rows],
    }
    if not console.settings.json:
        show(found)
    return replace(options, n_topics=found.n_topics)


def _plain(options: LdaOptions) -> dict[str, Any]:
    return {k: v for k, v in asdict(options).items() if k not in ("threads", "n_topics")}


def _known(path: Path, identity: dict[str, Any]) -> dict[tuple[int, int], Scores]:
    """Return the scores that an earlier command left; a line it was killed in does not count."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        head = json.loads(lines[0])["identity"]
    except (ValueError, KeyError, IndexError, TypeError):
        raise InputError(
            f"{path} does not hold the scores of a comparison; --force without --resume drops it"
        ) from None
    changed = [key for key in identity if head.get(key) != identity[key]]
    if changed:
        raise InputError(
            f"{path} was made with another {changed[0].replace('_', ' ')} ({head.get(changed[0])}, now "
            f"{identity[changed[0]]}); give the same options, or --force without --resume, which drops it"
        )
    known = {}
    for line in lines[1:]:
        try:
            row = json.loads(line)
            known[row["k"], row["seed"]] = Scores.from_dict(row["scores"])
        except (ValueError, KeyError):  # killed in the middle of a line, or scores of before that lack a number
            continue
    return known


def _short(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


def show(found: TopicChoice) -> None:
    """Print the table, the reason and the runner-ups."""
    names = ["npmi", "diversity", "exclusivity", "stability", "small_topics", "score"]
    columns = ["", "topics", "perplexity", "± se", "behind best", "± se", *(name.replace("_", " ") for name in names)]
    rows: list[Sequence[str]] = []
    for row in found.rows:
        mark = "→" if row.chosen else "*" if row.best else ""
        held = [f"{row.perplexity:,.1f}", f"{row.perplexity_se:,.1f}", f"{row.behind:.4f}", f"{row.behind_se:.4f}"]
        rows.append([mark, str(row.n_topics), *held, *(_number(getattr(row, name)) for name in names)])
    title = (
        f"How many topics? {SEEDS} fits each; perplexity of {found.n_held_out:,} held-out documents and small topics (share with "
        "fewer than 10 documents): lower is better; all else: higher."
    )
    nearest = [-abs(row.behind) + (1e9 if row.chosen or row.best else 0) for row in found.rows]
    console.table(
        columns,
        rows,
        right=columns[1:],
        title=title,
        noun="numbers of topics",
        sizes=nearest,
        rest="manifest.json of the run",
    )
    reporting.note(found.reason)
    for k, why in found.runner_ups:
        reporting.note(f"also worth a look: {k} topics, {why}")
    if found.note:
        reporting.note(found.note)
    reporting.note("there is no right number of topics: read the topics of two or three of these before you decide")


def _number(value: float) -> str:
    return "" if value != value else f"{value:.3f}"
