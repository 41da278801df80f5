"""The tokenizer of a pre-trained model, and how many tokens of a text the model reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nlpkit.embed.engines import quiet
from nlpkit.errors import MissingError, first_line

NO_END = 1e9  # transformers writes a larger number for a tokenizer that takes texts of any length


def transformer_folder(folder: Path) -> Path:
    """Return where the transformer of a model folder lies: of sentence-transformers, its first module."""
    modules = folder / "modules.json"
    if not modules.is_file():
        return folder
    listed = json.loads(modules.read_text(encoding="utf-8"))
    if not listed or not str(listed[0].get("type", "")).endswith("Transformer"):
        raise MissingError(f"{folder}: its first module is not a transformer, so there is nothing to fine-tune")
    return folder / str(listed[0].get("path", ""))


def declared_max_tokens(folder: Path, *, usual: int) -> int:
    """Return the tokens of a text that a model folder says it was made for, `usual` where it does not.

    sentence-transformers writes max_seq_length in a file of its own, since version 6 model_max_length among the tokenizer's settings.
    There transformers has what the tokenizer can do rather than what is of use: of its folders only less than `usual` counts.
    """
    place = transformer_folder(folder)
    settings = next(iter(sorted(place.glob("sentence_*_config.json"))), None)
    max_seq_length = settings and _read(settings).get("max_seq_length")
    if max_seq_length:
        return int(max_seq_length)
    longest = _read(place / "tokenizer_config.json").get("model_max_length") or NO_END
    if longest >= NO_END:
        return usual
    return int(longest) if (folder / "modules.json").is_file() else min(int(longest), usual)


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        values: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise MissingError(f"{file} is not JSON ({error}); download the model again") from None
    return values


def load_tokenizer(place: Path, *, words: bool) -> Any:
    """Return the fast tokenizer of a model folder, which gives the ids that `nlpkit.embed.token_ids` gives.

    sentence-transformers has a further setting that makes texts lower case (do_lower_case in sentence_bert_config.json).

    Raises MissingError when there is none.

    Args:
        words: texts are lists of words, which tokenizers of bytes have to read with a space before each.
    """
    from transformers import AutoTokenizer

    with quiet():
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(place), local_files_only=True)
        except Exception as error:  # every tokenizer fails in its own way
            raise MissingError(f"{place} has no tokenizer that can be read: {first_line(error)}") from None
    if not any((place / name).is_file() for name in {*tokenizer.vocab_files_names.values(), "tokenizer.json"}):
        raise MissingError(f"{place} has no tokenizer: no tokenizer.json and no vocabulary")
    if not getattr(tokenizer, "is_fast", False):
        raise MissingError(f"the tokenizer in {place} is not a fast one (tokenizer.json); convert it first")
    if _lowers(place):
        tokenizer = _lowering(tokenizer, place)
    if words:
        _set_prefix(tokenizer)
    return tokenizer


def _lowers(place: Path) -> bool:
    """Whether sentence-transformers makes texts lower case before the tokenizer reads them."""
    settings = next(iter(sorted(place.glob("sentence_*_config.json"))), None)
    return settings is not None and bool(_read(settings).get("do_lower_case"))


def _lowering(tokenizer: Any, place: Path) -> Any:
    """Return a tokenizer that makes texts lower case, and does when it was saved and read again."""
    from tokenizers import normalizers
    from transformers import AutoTokenizer

    normalizer: Any = tokenizer.backend_tokenizer.normalizer
    if isinstance(
        normalizer, normalizers.BertNormalizer
    ):  # made of the settings by transformers, whatever tokenizer.json has
        if normalizer.lowercase:
            return tokenizer
        with quiet():
            return AutoTokenizer.from_pretrained(
                str(place), local_files_only=True, do_lower_case=True, strip_accents=bool(normalizer.strip_accents)
            )
    rest = [] if normalizer is None else [normalizer]
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *rest])
    return tokenizer


def _set_prefix(tokenizer: Any) -> None:
    """Let a tokenizer of bytes, which RoBERTa and its kin have, read a space before each word.

    The option add_prefix_space of from_pretrained is heard by some classes only: not by that of ModernBERT.
    """
    from tokenizers import pre_tokenizers

    kind: Any = tokenizer.backend_tokenizer.pre_tokenizer
    parts: Any = kind if isinstance(kind, pre_tokenizers.Sequence) else [kind]
    for part in parts:
        if isinstance(part, pre_tokenizers.ByteLevel):
            part.add_prefix_space = True
