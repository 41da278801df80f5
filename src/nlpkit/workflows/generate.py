"""Texts that a language model makes, as a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.io.arpa import is_arpa
from nlpkit.io.artifacts import footer_block
from nlpkit.io.tables import save_table
from nlpkit.lm.generate import GeneratedText, GenerateOptions
from nlpkit.parameters import Execution, with_settings
from nlpkit.workflows.language_model import LN10, LanguageModel, load_arpa_file, load_language_model


def load_any(path: str | Path, execution: Execution | None = None) -> LanguageModel:
    """Return the model of a run directory of ngram-lm, or of an ARPA file.

    Raises:
        InputError, SchemaError: it is none of these, or damaged.
    """
    path, execution = Path(path), execution or Execution()
    return (
        load_arpa_file(path, execution) if is_arpa(path) and not path.is_dir() else load_language_model(path, execution)
    )


@dataclass(frozen=True, slots=True)
class GeneratedTexts:
    """Texts that a model made, each with its words."""

    model: LanguageModel
    texts: list[tuple[str, GeneratedText]]
    parameters: dict[str, Any]
    seed: int

    def table(self) -> pa.Table:
        """Return id, text, words (without the prompt), log10_prob, ended."""
        return pa.table(
            {
                "id": pa.array([str(i) for i in range(1, len(self.texts) + 1)], pa.string()),
                "text": pa.array([text for text, _ in self.texts], pa.large_string()),
                "words": pa.array([len(one.words) for _, one in self.texts], pa.int32()),
                "log10_prob": pa.array([one.log_prob / float(LN10) for _, one in self.texts], pa.float64()),
                "ended": pa.array([one.ended for _, one in self.texts], pa.bool_()),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the texts in plain values."""
        return {"model": self.model.name, "texts": self.table().to_pylist()}

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table. Raises UsageError: the name is that of no table; OutputExistsError: it is there."""
        block = footer_block("documents", command="generate", parameters=self.parameters, seed=self.seed, inputs=[])
        save_table(target, self.table(), block, force=force)


def generate_texts(
    model: LanguageModel | str | Path,
    *,
    options: GenerateOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> GeneratedTexts:
    """Return texts by a language model: a fitted one, a run directory of ngram-lm, or an ARPA file.

    settings: fields of GenerateOptions and Execution, such as prompt="the court", decode="beam".

    Raises:
        UsageError: the prompt has a word that the model does not have; InputError: there is no model.
    """
    options, execution = with_settings((options or GenerateOptions(), execution or Execution()), settings)
    fitted = model if isinstance(model, LanguageModel) else load_any(model, execution)
    texts = fitted.generate(options=options, execution=execution)
    return GeneratedTexts(fitted, texts, {"model": fitted.name, **asdict(options)}, execution.seed)
