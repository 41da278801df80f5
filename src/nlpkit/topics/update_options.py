"""Which options go with an update of a run."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from nlpkit.errors import UsageError


def refuse_new_options(*records: Any) -> None:
    """Refuse options of a fit beside `update`, which keeps those of the run.

    Raises:
        UsageError: one is not the default.
    """
    for record in records:
        usual = type(record)()
        for one in fields(record):
            value = getattr(record, one.name)
            if value != getattr(usual, one.name):
                shown = (
                    f"{one.name}={value}"
                    if isinstance(value, str | int | float) and not isinstance(value, bool)
                    else one.name
                )
                raise UsageError(
                    f"`{shown}` is an option for a new fit; `update` keeps the options of the run, so leave it out",
                    parameter=one.name,
                )
