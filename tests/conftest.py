"""What every test gets."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quiet_log_again() -> Iterator[None]:
    """Take back what a command run in this process did to the log, so that no test depends on the ones before it."""
    logger = logging.getLogger("nlpkit")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    logger.handlers, logger.propagate = before[0], before[2]
    logger.setLevel(before[1])
