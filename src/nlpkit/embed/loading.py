"""Finding a sentence-embedding model and loading it, for the devices, the engine and the precision that are wanted."""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
from typing import Any

from nlpkit.embed.encoder import BATCH_TOKENS, LONG, STATIC_BATCH_TOKENS, Encoder
from nlpkit.embed.kinds import ENGINES, GRAPHS, PRECISIONS
from nlpkit.embed.models import DEFAULT_MODEL, ModelFiles, find_model, is_address, read_prompts
from nlpkit.embed.token_ids import NO_LIMIT
from nlpkit.errors import OutOfMemoryError, UsageError, missing_extra, unknown_value

logger = logging.getLogger("nlpkit.embed")


def load_encoder(
    name: str = DEFAULT_MODEL,
    *,
    device: str | None = None,
    engine: str = "auto",
    precision: str = "auto",
    batch_tokens: int | None = None,
    max_tokens: int | None = None,
    threads: int | None = None,
    offline: bool = False,
    long: str | None = None,
    prompt: str | None = None,
    truncate_dim: int | None = None,
) -> Encoder:
    """Find a model, load it and return its encoder; name: a folder, a name, or the address of a server and its model, URL#MODEL.

    device        "cpu", "cuda", "cuda:1", "mps", or several GPUs, "cuda:0,cuda:1"; None takes the best there is
    engine        what runs the model: "torch", "openvino", "onnx", "static" (of a static encoder); "auto" is the fastest
                  whose vectors have a cosine of at least 0.9999 to those in fp32: torch, in one of its precisions (choice.py)
    precision     of the products: "fp32", "bf16", "fp16" (cuda only), "int8" (cpu only); "auto" is bf16 where the hardware
                  computes in it and where that is as close
    batch_tokens  tokens run at once; None takes what suits the device (BATCH_TOKENS)
    max_tokens    cut texts here, special tokens included; None takes the model's own limit
    threads       CPU threads; None takes all this process may use. The embeddings do not depend on it
    offline       never ask the hub
    long          a text longer than the model reads is cut ("truncate"), or embedded in windows whose vectors are averaged by their
                  tokens ("mean") or of which the maximum of each number is taken ("max"); None takes the mean, and cuts with
                  `max_tokens` and where a model has no tokenizer that tells where tokens begin
    prompt        is put before every text; None is the one that the model has by default, "" is none
    truncate_dim  keep the first numbers of each vector (Kusupati et al. 2022, Matryoshka Representation Learning)

    Raises MissingError (no such model, no torch, an engine that is not installed), UsageError (an option that cannot be), OutOfMemoryError.
    """
    if engine not in ENGINES:
        raise unknown_value("engine", engine, ENGINES)
    if precision not in PRECISIONS:
        raise unknown_value("precision", precision, PRECISIONS)
    if long is not None and long not in LONG:
        raise unknown_value("long", long, LONG)
    for option, value in (
        ("batch_tokens", batch_tokens),
        ("max_tokens", max_tokens),
        ("threads", threads),
        ("truncate_dim", truncate_dim),
    ):
        if value is not None and value < 1:
            raise UsageError(f"`{option}={value}`: at least 1 is needed")
    if is_address(name):
        from nlpkit.embed.server import load_server

        model: dict[str, Any] = {"max_tokens": max_tokens, "long": long, "prompt": prompt, "truncate_dim": truncate_dim}
        return load_server(name, device=device, engine=engine, precision=precision, offline=offline, **model)
    if any(importlib.util.find_spec(module) is None for module in ("torch", "tokenizers", "safetensors")):
        raise missing_extra("sbert-embed", "neural")
    files = find_model(name, offline=offline)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # said aloud, it does not warn when a process forks
    _work_alone_after_fork()
    prompt = chosen_prompt(files, prompt)

    from nlpkit.embed.choice import choose_engine
    from nlpkit.embed.engines import several
    from nlpkit.embed.hardware import available_cpus, choose_devices, is_out_of_memory

    where, *further = choose_devices("cpu" if device is None and (engine in GRAPHS or precision == "int8") else device)
    threads = threads or available_cpus()
    try:
        loaded, cosine = choose_engine(
            files.path,
            device=where,
            engine=engine,
            precision=precision,
            max_tokens=max_tokens,
            threads=threads,
            prompt=prompt,
        )
        others = several(loaded, files.path, further, max_tokens=max_tokens)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemoryError(f"no memory on {where} to load {files.name}; use a smaller model") from None
    if truncate_dim is not None and truncate_dim > loaded.dim:
        raise UsageError(f"`truncate_dim={truncate_dim}`: the vectors of {files.name} have {loaded.dim} numbers")
    if long is None:
        windows = max_tokens is None and loaded.tokenizer is not None and loaded.max_tokens < NO_LIMIT
        long = "mean" if windows else "truncate"
    static = loaded.name == "static"
    usual = STATIC_BATCH_TOKENS if static else BATCH_TOKENS.get(where.type, BATCH_TOKENS["cpu"])
    return Encoder(
        files,
        loaded,
        device="cpu" if static else ",".join(map(str, (where, *further))),
        batch_tokens=batch_tokens or usual,
        threads=threads,
        cosine=cosine,
        others=others,
        long=long,
        prompt=prompt,
        truncate_dim=truncate_dim,
    )


@functools.cache
def _work_alone_after_fork() -> None:
    """Let a process that is forked from this one compute in one thread: it has no others, and would wait for them without end."""
    import torch

    def alone() -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        torch.set_num_threads(1)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=alone)


def chosen_prompt(files: ModelFiles, prompt: str | None) -> str:
    """Return what is put before every text: what is given, else what the model has by default. Say what a person may have missed."""
    prompts, usual = read_prompts(files.path)
    known = ", ".join(f"{name} {text!r}" for name, text in prompts.items())
    if prompt in prompts:
        logger.warning(
            "`prompt=%s` puts these letters before every text; the prompt that %s has under this name is %r",
            prompt,
            files.name,
            prompts[prompt],
        )
    elif prompt is None and usual:
        logger.info("%s puts %r before every text; `prompt` takes another, or an empty one", files.name, usual)
    elif prompt is None and prompts:
        logger.info("%s has prompts, and none is put before the texts: %s; see `prompt`", files.name, known)
    return usual if prompt is None else prompt
