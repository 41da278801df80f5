"""The options of asking a language model, and how questions are bounded and answers read.

Parts, in this order:
- Options of asking a language model, as plain data.
- Questions to a language model: how long they are, and what in an answer is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from nlpkit.errors import UsageError
from nlpkit.platform.options import Param, options

LOCAL = "local"
KEYS = ("NLPKIT_LLM_KEY", "OPENAI_API_KEY")  # variables of the environment that hold the key of a server


@options
class LlmOptions:
    """Which language model is asked, and how."""

    llm: Annotated[
        str | None,
        Param(
            "Address of a language model with OpenAI's protocol, such as http://localhost:11434/v1; or local (a "
            "transformers folder).",
            metavar="URL",
            panel="Language model",
            needs=("llm_model",),
        ),
    ] = None
    llm_model: Annotated[
        str | None,
        Param(
            "Name of the language model at this address; for local, its folder.", metavar="NAME", panel="Language model"
        ),
    ] = None
    attempts: Annotated[
        int,
        Param(
            "Number of retries if an answer cannot be used.",
            metavar="N",
            min=0,
            panel="Language model",
        ),
    ] = 2
    timeout: Annotated[
        float, Param("Seconds to wait for an answer.", metavar="SECONDS", min=0.1, panel="Language model")
    ] = 60.0
    llm_tokens: Annotated[
        int | None,
        Param(
            "Maximum number of tokens of an answer, thinking included. Default: 200; up to 16,384 if an answer was cut off.",
            metavar="N",
            min=1,
            panel="Language model",
            needs=("llm",),
        ),
    ] = None
    llm_extra: Annotated[
        str | Mapping[str, Any] | None,
        Param(
            'Further fields of each request, as JSON: \'{"reasoning_effort": "low"}\'. null leaves a field out.',
            metavar="JSON",
            panel="Language model",
            needs=("llm",),
        ),
    ] = None
    llm_cache: Annotated[
        Path | None,
        Param(
            "Folder for saved answers. Default: nlpkit/llm in the user's cache folder.",
            metavar="DIR",
            panel="Language model",
        ),
    ] = None

    def extra_fields(self) -> dict[str, Any]:
        """Return the further fields of a request. Raises UsageError where they are no JSON object, or those of nlpkit itself."""
        extra = self.llm_extra
        if isinstance(extra, str):
            try:
                extra = json.loads(extra)
            except (ValueError, RecursionError):
                extra = None
            if not isinstance(extra, dict):
                raise UsageError(
                    f'`llm_extra={self.llm_extra}` is not a JSON object, such as \'{{"reasoning_effort": "low"}}\'',
                    parameter="llm_extra",
                )
        taken = next((name for name in ("model", "messages", "stream") if name in (extra or ())), None)
        if taken is not None:
            raise UsageError(f"`llm_extra`: nlpkit sends '{taken}' itself; leave it out", parameter="llm_extra")
        return dict(extra or {})


# ------------------------------------------------------------------------------------------------------------------------
# Questions to a language model: how long they are, and what in an answer is used.

Messages = list[dict[str, str]]  # role and content of each

CHARACTERS_A_TOKEN = 4
# what a model thinks first is no part of its answer; its beginning may be in the prompt, its end may be cut off
THOUGHT = re.compile(r"\A.*</think(?:ing)?>|<think(?:ing)?>.*\Z", re.DOTALL)
LIKELY_TOKENS = 20  # those whose probability is asked for in the place of a token: as many as OpenAI's protocol gives


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question.

    tokens: its tokens, where their probabilities were asked for: each with the likeliest ones in its place and the logarithm of the
    probability of each (natural). cut: it ended because it was as long as answers may be.
    """

    text: str
    tokens: tuple[tuple[str, Mapping[str, float]], ...] = ()
    cut: bool = False


def conversation(
    system: str, parts: Sequence[str], complaint: str = "", examples: Sequence[tuple[str, str]] = ()
) -> Messages:
    """Return the messages of a question.

    Args:
        system: what to do. parts: paragraphs to do it with. complaint: what was wrong with the answer before.
        examples: questions with the answers that are right, as if they had been given before.
    """
    before = [
        {"role": role, "content": content}
        for example in examples
        for role, content in zip(("user", "assistant"), example, strict=True)
    ]
    again = [f"Your last answer could not be used: {complaint}. Answer again."] if complaint else []
    return [{"role": "system", "content": system}, *before, {"role": "user", "content": "\n\n".join([*parts, *again])}]


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in an answer, whatever stands around it; None where there is none."""
    enclosed = re.search(r"\{.*\}", THOUGHT.sub("", text), re.DOTALL)
    try:
        answer = json.loads(enclosed[0]) if enclosed else None
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def short_answer(text: str, key: str) -> str | int | None:
    """Return the text or the whole number under `key` of the JSON object in an answer; of an answer without one all of it, without
    quotation marks and the full stop around it. None where the object holds something else.
    """
    text = THOUGHT.sub("", text)
    if "{" not in text:
        return text.strip().strip("\"'`*.").strip()
    value = (json_object(text) or {}).get(key)
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has: four characters each, but one for each character beyond Latin letters."""
    wide = sum(ord(character) > 0x2FF for character in text)
    return wide + -(-(len(text) - wide) // CHARACTERS_A_TOKEN)


def fitted_documents(documents: Sequence[str], budget: int) -> list[str]:
    """Return the beginnings of documents that together have at most `budget` tokens; short ones leave more to the others."""
    texts = [" ".join(text.split()) for text in documents]
    left, kept = budget, [""] * len(texts)
    for place, i in enumerate(sorted(range(len(texts)), key=lambda i: (len(texts[i]), i))):
        share = left // (len(texts) - place)
        text = texts[i]
        while text and estimated_tokens(text) > share:
            text = text[: max(int(len(text) * share / estimated_tokens(text)) - 1, 0)]
        kept[i] = text
        left -= estimated_tokens(text)
    return [text for text in kept if text]


def question_tokens(messages: Messages) -> int:
    """Return about how many tokens the messages of a question have."""
    return sum(estimated_tokens(message["content"]) for message in messages)
