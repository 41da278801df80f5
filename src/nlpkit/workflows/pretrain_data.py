"""What a language model is trained from: documents with their targets, a tokenizer, a teacher, all checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit import reporting, wording
from nlpkit.errors import InputError, MissingError, UsageError, first_line, missing_column
from nlpkit.io.atomic import MANIFEST
from nlpkit.io.runs import open_run
from nlpkit.named_options import Value
from nlpkit.pretrain.options import TYPES, PretrainOptions, TokenizerOptions
from nlpkit.values import python_values
from nlpkit.workflows.corpus import no_documents


def check_objective(objective: str, values: Mapping[str, Value], options: PretrainOptions) -> None:
    """Raise UsageError for a column or a teacher that the objective does not have, or lacks, and for weights that are all 0."""
    for name, needing, what in (
        ("target_col", "seq2seq", "the column with the text to write"),
        ("teacher", "distil", "the model to learn from"),
    ):
        is_set = getattr(options, name) is not None
        if is_set != (objective == needing):
            raise UsageError(
                f"`{name}` only applies to `objective={needing}`, not to {objective}; leave it out"
                if is_set
                else f"`objective={objective}` needs `{name}`, {what}",
                parameter=name,
            )
    if values.get("temperature") == 0 or (objective == "distil" and not values["soft"] and not values["hard"]):
        raise UsageError(
            f"`objective={options.objective}`: temperature, and soft or hard, must be above 0",
            parameter="objective",
        )


def find_teacher(name: str, arch: str, *, verify: bool) -> tuple[Path, str]:
    """Return the folder of a teacher, and what it guesses, clm or mlm.

    Raises:
        UsageError: the architecture does not; MissingError: it guesses nothing, or is not there.
    """
    from nlpkit.pretrain.distil import guesses_of
    from nlpkit.pretrain.networks import objective_of

    folder = Path(name)
    if (folder / MANIFEST).is_file():
        folder = open_run(folder, verify=verify).folder("model/transformers")
    if not (folder / "config.json").is_file():
        raise MissingError(
            f"{name} holds no model; a run of pretrain or a folder of transformers is needed",
            parameter="teacher",
        )
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise MissingError(f"the config.json of {name} is not JSON: {first_line(error)}", parameter="teacher") from None
    guessed = guesses_of(config, name)
    objective_of(arch, guessed)
    return folder, guessed


def read_texts(stream: Any, target_col: str | None) -> Any:
    """Return the texts of a stream with their targets. Raises ColumnError: there is no such column; InputError: there is no document."""
    from nlpkit.pretrain.training import Texts

    if target_col is not None and target_col not in stream.schema.names:
        raise missing_column(stream.where, target_col, stream.schema.names, "`target_col`")
    texts: list[str] = []
    targets: list[str] = []
    for batch in stream:
        texts += batch.column("text").to_pylist()
        if target_col is not None:
            targets += ["" if value is None else str(value) for value in python_values(batch.column(target_col))]
    if not texts:
        raise no_documents(stream)
    if target_col is None:
        return Texts(texts)
    kept = [i for i, (text, target) in enumerate(zip(texts, targets, strict=True)) if text.strip() and target.strip()]
    if len(kept) < len(texts):
        without = wording.counted(len(texts) - len(kept), "document")
        reporting.warn(f"{without} without a text or without a target in {target_col}: left out")
    if not kept:
        raise InputError(f"no document has both a text and a target in {target_col}", parameter="target_col")
    return Texts([texts[i] for i in kept], [targets[i] for i in kept])


def split_texts(documents: Any, share: float, seed: int) -> tuple[Any, Any]:
    """Return the documents to learn from and those held out, in their order."""
    n = len(documents)
    n_held_out = max(1, round(share * n))
    if n_held_out >= n:
        raise InputError(
            f"of {wording.counted(n, 'document')} `holdout={share:g}` holds out {n_held_out:,}, so none is left for "
            "training; give more documents"
        )
    order = np.random.default_rng(seed).permutation(n)
    return documents.take(np.sort(order[n_held_out:])), documents.take(np.sort(order[:n_held_out]))


def tokenizer_of(options: PretrainOptions, texts: list[str], window: int, *, verify: bool) -> Any:
    """Return the tokenizer of a folder, or one trained on the texts. Raises UsageError, InputError, MissingError."""
    from nlpkit.embed.tokenizers import load_tokenizer
    from nlpkit.pretrain.subwords import train_subwords

    if options.tokenizer in TYPES and not Path(options.tokenizer).is_dir():
        record = TokenizerOptions(type=options.tokenizer, vocab_size=options.vocab_size)
        return train_subwords(texts, record).transformers(max_tokens=window)
    folder = Path(options.tokenizer)
    if not (folder / "tokenizer.json").is_file():
        raise UsageError(
            f"`tokenizer={options.tokenizer}` is neither {', '.join(TYPES)} nor a folder with tokenizer.json; make one with: "
            "`train_tokenizer(CORPUS, output=tokenizer/)`",
            parameter="tokenizer",
        )
    if (folder / MANIFEST).is_file():
        open_run(folder, verify=verify).file("tokenizer.json")
    tokenizer = load_tokenizer(folder, words=False)
    tokenizer.model_max_length = window
    return tokenizer


def sha256_of(tokenizer: Any) -> str:
    import hashlib

    return hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode()).hexdigest()
