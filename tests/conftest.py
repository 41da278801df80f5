"""What every test gets."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

# Hypothesis also draws the constants of the modules that are loaded: which ones are depends on the tests before, and they
# on how long those of the other workers take
assert hasattr(providers, "_get_local_constants")
providers._get_local_constants = providers.Constants
settings.register_profile("repeatable", derandomize=True, deadline=None)  # the same examples in every run
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    """Let a worker of pytest-xdist, which ignores Ctrl-C, hear the one that a test sends to itself or to a command."""
    if hasattr(config, "workerinput"):
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
