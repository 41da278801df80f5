"""The models that fine-tuning starts from."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit import reporting
from nlpkit.embed.models import ModelFiles, find_model, folder_problem
from nlpkit.errors import MissingError
from nlpkit.io.run_reading import check_encoder

SAMPLE, MUCH = 1000, 0.02  # texts whose tokens are looked up; the share of unknown ones from which on it is a warning


def find_base(name: str, *, verify: bool, offline: bool) -> ModelFiles:
    """Return a model by its folder or name.

    Raises:
        MissingError: it is nowhere, or cannot be trained; InputError: it lies in a run whose files were changed.
    """
    check_encoder(name, verify=verify)
    files = find_model(name, offline=offline)
    if problem := folder_problem(files.path):
        raise MissingError(
            f"{files.name} embeds texts, but cannot be trained ({files.path} {problem}); for classes: `embed()` with "
            f"`model={name}`, then `train_classifier(on=embedding)`"
        )
    return files


def warn_unknown_tokens(files: ModelFiles, texts: Sequence[str]) -> None:
    """Warn when the vocabulary of a model lacks many tokens of the first texts: it is of another language."""
    from nlpkit.embed.layout import read_layout
    from nlpkit.embed.tokens import load_tokenizer, unknown_share

    layout = read_layout(files.path)
    if layout is None or not (layout.folder / "tokenizer.json").is_file():
        return
    share = unknown_share(load_tokenizer(layout), texts[:SAMPLE])
    if share >= MUCH:
        reporting.warn(
            f"{share:.1%} of the tokens are not in the vocabulary of {files.name}; see `base` for a model of the language"
        )
