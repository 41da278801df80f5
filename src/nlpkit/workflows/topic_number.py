"""How many topics a mixture model gets: numbers of topics compared; the scores are kept until the run is written."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from nlpkit import reporting
from nlpkit.interrupts import report_checkpoint_on_interrupt
from nlpkit.io.checkpoints import append_score, read_scores
from nlpkit.io.mixture_runs import Additions
from nlpkit.parameters import Execution
from nlpkit.plain import rounded, to_json
from nlpkit.topics.mixtures.choose import SEEDS, TopicChoice, choose_topics
from nlpkit.topics.mixtures.scores import Fitter, Scores
from nlpkit.topics.options import Range
from nlpkit.types import TokenTable
from nlpkit.workflows.unfinished import UnfinishedWork


def compare_numbers(
    tokens: TokenTable, fitter: Fitter, within: Range, execution: Execution, unfinished: UnfinishedWork, identity: Mapping[str, Any],
    seeds: int = SEEDS, **further: Any,
) -> TopicChoice:  # fmt: skip
    """Compare numbers of topics, say what each scored as soon as its fits are made, and which is chosen.

    Args:
        tokens, fitter, within, execution: what is fitted, and how; seeds, further: of `choose_topics`.
        unfinished: where the scores of the fits are kept, so that a comparison that was interrupted can be continued.
        identity: what must be the same for that.

    Raises:
        InputError: the scores that are there are of another comparison.
    """
    path, resume = unfinished.scores, unfinished.options.resume
    identity = json.loads(to_json(dict(identity)))
    known: dict[tuple[int, int], Scores] = {}
    if path is not None and resume:
        known = read_scores(path, identity)
        if known:
            reporting.note(f"{len(known)} fits were loaded from {path}")
        else:
            reporting.warn(f"there are no scores {path}: starting from the beginning", always=True)
    elif path is not None:
        path.unlink(missing_ok=True)

    fits = 0
    finished: defaultdict[int, list[Scores]] = defaultdict(list)
    for (n_topics, _), scores in known.items():
        finished[n_topics].append(scores)
    with reporting.progress("fits", None) as update, report_checkpoint_on_interrupt("list of scores", path):

        def done(n_topics: int, seed: int, scores: Scores) -> None:
            nonlocal fits
            fits += 1
            if path is not None:
                append_score(path, identity, n_topics, seed, scores)
            update(fits, f"fits (k = {n_topics})")
            finished[n_topics].append(scores)
            if len(finished[n_topics]) == seeds:
                reporting.note(
                    f"k = {n_topics}: perplexity {_perplexity(finished[n_topics]):,.1f} of held-out documents"
                )

        choice = choose_topics(tokens, fitter, within, execution, seeds=seeds, known=known, done=done, **further)
    note_choice(choice)
    return choice


def _perplexity(fits: Sequence[Scores]) -> float:
    """Return the perplexity of fits of one number of topics, from their mean log-likelihood."""
    return math.exp(-sum(sum(fit.log_likelihood) for fit in fits) / sum(sum(fit.n_tokens) for fit in fits))


def note_choice(choice: TopicChoice) -> None:
    """Say why a number of topics was chosen, and what else is worth a look."""
    reporting.note(choice.reason)
    for k, why in choice.runner_ups:
        reporting.note(f"also consider {k} topics, {why}")
    if choice.note:
        reporting.note(choice.note)
    reporting.note("no number of topics is right by itself; read the topics of two or three of these before you decide")


def choice_additions(choice: TopicChoice) -> Additions:
    """Return what the manifest says of a choice."""
    return Additions(
        results={
            "choice_of_k": choice.reason,
            "runner_ups": [[k, why] for k, why in choice.runner_ups],
            "evidence": [rounded(row.as_dict()) for row in choice.rows],
        }
    )
