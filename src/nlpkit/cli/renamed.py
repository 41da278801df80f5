"""Options that are a command of their own now: one line names it."""

from __future__ import annotations

RENAMED: dict[tuple[str, str], str] = {
    ("bertopic", "--model"): "nlpkit predict RUN INPUT -o OUTPUT",
}


def new_spelling(command: str, option: str) -> str | None:
    """Return what to say of an option that a command had before, None where it never had it."""
    new = RENAMED.get((command, option))
    return None if new is None else f"{option} of nlpkit {command} is a command now: {new}"
