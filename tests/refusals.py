"""What tests expect of errors: their kind and the parameter they are about; their wording stands in tests/platform/cli/messages.txt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nlpkit.errors import NlpkitError, UsageError


@contextmanager
def refuses(parameter: str | None, kind: type[NlpkitError] = UsageError) -> Iterator[pytest.ExceptionInfo[NlpkitError]]:
    """Expect an error of a kind that is about a parameter, None for one about none."""
    with pytest.raises(kind) as raised:
        yield raised
    assert raised.value.parameter == parameter, raised.value
