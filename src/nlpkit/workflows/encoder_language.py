"""Whether an encoder knows the language of the texts that it is about to encode."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from nlpkit import reporting

if TYPE_CHECKING:
    from nlpkit.embed.encoder import Encoder


def warn_of_language(texts: Iterable[str | None], encoder: Encoder) -> None:
    """Warn when an encoder that knows English best is about to encode texts that are mostly in another language."""
    if "all-minilm" not in encoder.name.lower():
        return
    from nlpkit.text.language import SAMPLE_DOCS, foreign_language
    from nlpkit.text.token_settings import NO_LANGUAGE

    foreign = foreign_language(islice((text for text in texts if text), SAMPLE_DOCS), ["en"])
    if foreign is not None and foreign.code != NO_LANGUAGE:
        reporting.warn(
            f"the texts are mostly '{foreign.code}' and {encoder.name} knows English best: topics and classes may "
            "reflect style more than content; use a multilingual model, such as `encoder=multilingual` (extra 'multilingual')"
        )
