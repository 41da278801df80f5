"""Options of asking a language model, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.parameters import Param, options

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
    llm_cache: Annotated[
        Path | None,
        Param(
            "Folder for saved answers. Default: nlpkit/llm in the user's cache folder.",
            metavar="DIR",
            panel="Language model",
        ),
    ] = None
