"""How it is recorded in which way texts were cut."""

from __future__ import annotations

from nlpkit.text.options import PreprocessOptions
from nlpkit.text.tokens import changed_token_options, option_parameters


def test_options_of_one_reading_are_not_recorded() -> None:
    """Words of topics that are scored say nothing of how the next texts are to be cut."""
    plain, one_reading = (
        PreprocessOptions(),
        PreprocessOptions(whole_words=frozenset({"china's"}), lists_must_match=True),
    )
    assert option_parameters(one_reading) == option_parameters(plain)
    assert changed_token_options(one_reading) == []
