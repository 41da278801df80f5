"""Options that are a command of their own now: one line names it."""

from __future__ import annotations

SENTIMENT = (
    "lexicon", "lexicon-cols", "lexicon-score", "negation", "no-negation", "negations", "negation-reach", "neutral", "zero",
    "classes", "lex2sent", "l2s-resamples", "l2s-epochs", "l2s-windows", "l2s-sizes", "l2s-resampling", "l2s-min-count",
)  # fmt: skip
RENAMED: dict[tuple[str, str], str] = {
    ("bertopic", "--model"): "nlpkit predict RUN INPUT -o OUTPUT",
    ("classify", "--explain"): "nlpkit predict RUN INPUT --explain ID",
    ("classify", "--zero-shot"): "nlpkit zero-shot INPUT --labels NAMES -o OUTPUT",
    **dict.fromkeys(
        [("classify", f"--{option}") for option in SENTIMENT], "nlpkit sentiment INPUT --lexicon NAME|FILE -o OUTPUT"
    ),
}


def new_spelling(command: str, option: str) -> str | None:
    """Return what to say of an option that a command had before, None where it never had it."""
    new = RENAMED.get((command, option))
    return None if new is None else f"{option} of nlpkit {command} is a command now: {new}"
