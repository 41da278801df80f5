"""Options that are a command of their own now, or that a command cannot have: one line says what to type."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise

from nlpkit.foreign_names import native_parameter, parameter_hint
from nlpkit.models import MODELS

SENTIMENT = (
    "lexicon", "lexicon-cols", "lexicon-score", "negation", "no-negation", "negations", "negation-reach", "neutral", "zero",
    "classes", "lex2sent", "l2s-resamples", "l2s-epochs", "l2s-windows", "l2s-sizes", "l2s-resampling", "l2s-min-count",
)  # fmt: skip
_ROLLING = (
    "--rolling", "--init", "--memory", "--memory-fallback", "--vocab-abs", "--vocab-rel", "--vocab-fallback", "--doc-abs",
    "--change-mixture", "--change-span", "--change-level",
)  # fmt: skip
RENAMED: dict[tuple[str, str], str] = {
    ("evaluate", "--make-task"): "nlpkit annotate task TARGET --kind KIND -o task.html",
    ("evaluate", "--items"): "nlpkit annotate task TARGET --items N -o task.html",
    ("evaluate", "--answers"): "nlpkit annotate score KEY --answers FILE",
    ("evaluate", "--annotators"): "nlpkit annotate agree TABLE --annotators COLS",
    ("evaluate", "--judgements"): "nlpkit annotate agree TABLE --judgements COLS",
    ("evaluate", "--measurement"): "nlpkit annotate agree TABLE --annotators COLS --measurement LEVEL",
    ("evaluate", "--order"): "nlpkit annotate agree TABLE --annotators COLS --order LABELS",
    ("evaluate", "--majority"): "nlpkit annotate majority TABLE --annotators COLS -o OUTPUT",
    ("bertopic", "--model"): "nlpkit predict RUN INPUT -o OUTPUT",
    ("classify", "--explain"): "nlpkit predict RUN INPUT --explain ID",
    ("classify", "--zero-shot"): "nlpkit zero-shot INPUT --labels NAMES -o OUTPUT",
    **dict.fromkeys(
        [("classify", f"--{option}") for option in SENTIMENT], "nlpkit sentiment INPUT --lexicon NAME|FILE -o OUTPUT"
    ),
    ("lda-gibbs", "--model"): "nlpkit predict RUN INPUT -o OUTPUT",
    ("lda-gibbs", "--update"): "nlpkit rolling-lda NEWER --update RUN -o LONGER/",
    **{("lda-gibbs", option): "nlpkit rolling-lda INPUT --chunks SPAN -o RUN/" for option in _ROLLING},
    ("lda-gibbs", "--from-mallet"): "nlpkit convert state.gz -o RUN/",
    ("lda-gibbs", "--save-state"): "nlpkit convert RUN -o state.gz, of a run with --save-assignments",
    ("lda-gibbs", "--save-pyldavis"): "nlpkit convert RUN -o lda.json, of a run with --save-assignments",
    ("lda-gibbs", "--labels"): "nlpkit labeled-lda INPUT --label-col COLUMN -o RUN/",
    ("lda-gibbs", "--authors"): "nlpkit author-topic INPUT --author-col COLUMN -o RUN/",
    ("finetune", "--model"): "nlpkit predict RUN INPUT -o OUTPUT",
    ("finetune", "--labels"): "nlpkit predict FOLDER INPUT --labels NAMES -o OUTPUT",
    ("finetune", "--objective"): "nlpkit train-encoder INPUT --objective NAME -o RUN",
    ("finetune", "--negative-col"): "nlpkit train-encoder INPUT --objective triplet --negative-col COL -o RUN",
}


NEVER_THERE = {
    ("lda-gibbs", "--labels"),
    ("lda-gibbs", "--authors"),
}  # what other programs, or people, call the new command


def new_spelling(command: str, option: str, words: Sequence[str] = ()) -> str | None:
    """Return what to say of an option that a command had before, or that models of other commands have; None for all others.

    Args:
        words: of the command line; the value that the option has there takes the place of COLUMN.
    """
    is_k = option in ("--k", "-k") or native_parameter(option, ("k",)) is not None
    if is_k and command in MODELS and MODELS[command].finds_number:
        return f"nlpkit {command} has no {option}: it {MODELS[command].finds_number}"
    new = RENAMED.get((command, option))
    if new is None:
        instead = parameter_hint(option)
        return None if instead is None else f"nlpkit {command} has no {option}; use {instead}"
    values = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    values += [after for word, after in pairwise(words) if word == option and not after.startswith("-")]
    if values:
        new = new.replace("COLUMN", shlex.quote(values[0]))
    is_none = "is not an option" if (command, option) in NEVER_THERE else "is no longer an option"
    return f"{option} {is_none} of nlpkit {command}; use: {new}"
