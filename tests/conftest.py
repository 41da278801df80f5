"""What every test gets."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def fresh_log() -> Iterator[None]:
    """Take back what a command run in this process, by a test or a wider fixture, did to the log."""
    _reset_log()
    yield
    _reset_log()


def _reset_log() -> None:
    logger = logging.getLogger("nlpkit")
    logger.handlers, logger.propagate = [], True
    logger.setLevel(logging.NOTSET)
