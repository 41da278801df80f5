"""Texts that a language model makes, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.embed.models import folder_problem
from nlpkit.errors import InputError
from nlpkit.lm.model import GeneratedText, GenerateOptions
from nlpkit.lm.run import LN10, LanguageModel, load_arpa_file, load_language_model
from nlpkit.lm.transformers import CausalText, load_transformer, top_candidates
from nlpkit.lm.trie import END_ID, START_ID
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.nlpkit_files import is_arpa
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.runs.tables import save_table
from nlpkit.platform.types import FloatArray


def load_any(path: str | Path, execution: Execution | None = None) -> LanguageModel:
    """Return the model of a run directory of ngram-lm, or of an ARPA file.

    Raises:
        InputError, SchemaError: it is none of these, or damaged.
    """
    path, execution = Path(path), execution or Execution()
    return (
        load_arpa_file(path, execution) if is_arpa(path) and not path.is_dir() else load_language_model(path, execution)
    )


def load_writer(path: str | Path, execution: Execution | None = None) -> LanguageModel | CausalText:
    """Return the model of a run of ngram-lm, an ARPA file, a folder of transformers, or a run that has one (model/transformers).

    Raises:
        InputError, SchemaError: it is none of these, or damaged; MissingError: the transformer writes no text.
    """
    path, execution = Path(path), execution or Execution()
    if path.is_dir() and (path / MANIFEST).is_file():
        run = open_run(path, verify=False)
        if run.manifest["kind"] != "ngram-lm" and (path / "model" / "transformers" / "config.json").is_file():
            return load_transformer(open_run(path, verify=execution.verify).folder("model/transformers"), str(path))
    elif path.is_dir() and (path / "config.json").is_file():
        problem = folder_problem(path)
        if problem:
            raise InputError(f"model folder {path} {problem}")
        return load_transformer(path, str(path))
    return load_any(path, execution)


@dataclass(frozen=True, slots=True)
class GeneratedTexts(Tabular):
    """Texts that a model made, each with its words."""

    model: LanguageModel | CausalText
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

    def probabilities(self, n: int = 5) -> pa.Table:
        """Return the likeliest words in each place of each text: id, position, rank (1 the likeliest), word, prob, chosen.

        n: words of a place; the chosen one is there, too. A place behind the last word is the end, where the text has one.
        """
        rows: dict[str, list[Any]] = {name: [] for name in ("id", "position", "rank", "word", "prob", "chosen")}
        prompt = str(self.parameters["prompt"])
        for number, (_, one) in enumerate(self.texts, 1):
            for position, (chosen, prob) in enumerate(_steps(self.model, prompt, one), 1):
                for id in top_candidates(prob, chosen, n).tolist():
                    rank = 1 + int((prob > prob[id]).sum()) + int((prob[:id] == prob[id]).sum())
                    values = (str(number), position, rank, _word(self.model, id), float(prob[id]), id == chosen)
                    for name, value in zip(rows, values, strict=True):
                        rows[name].append(value)
        kinds = (pa.string(), pa.int32(), pa.int32(), pa.string(), pa.float64(), pa.bool_())
        return pa.table({name: pa.array(rows[name], kind) for name, kind in zip(rows, kinds, strict=True)})

    def save_probabilities(self, target: str | Path, n: int = 5, *, force: bool = False) -> None:
        """Write `probabilities` as a table. Raises what `save` does."""
        block = footer_block("probabilities", command="generate", parameters=self.parameters, seed=self.seed, inputs=[])
        save_table(target, self.probabilities(n), block, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return the texts in plain values."""
        return {"model": self.model.name, "texts": self.table().to_pylist()}

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table. Raises UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there."""
        block = footer_block("documents", command="generate", parameters=self.parameters, seed=self.seed, inputs=[])
        save_table(target, self.table(), block, force=force)


def generate_texts(
    model: LanguageModel | CausalText | str | Path,
    *,
    options: GenerateOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> GeneratedTexts:
    """Return texts by a language model: a fitted one, a run of ngram-lm, an ARPA file, or a transformer in a folder.

    A transformer is causal, or has an encoder and a decoder. The latter reads the prompt and writes a text for it.

    settings: fields of GenerateOptions and Execution, such as prompt="the court", decode="beam".

    Raises:
        UsageError: the prompt has a word that the model does not have, or does not fit its window; InputError, MissingError: there is
            no model.

    Example:
        >>> model = nk.fit_language_model(["I am Sam", "Sam I am", "I do not like ham"], order=2)
        >>> len(nk.generate_texts(model, texts=2).texts)
        2
    """
    options, execution = with_settings((options, execution), settings, (GenerateOptions, Execution))
    writer = load_writer(model, execution) if isinstance(model, str | Path) else model
    if isinstance(writer, LanguageModel):
        texts = writer.generate(options=options, execution=execution)
    else:
        texts = writer.generate(options, seed=execution.seed)
    return GeneratedTexts(writer, texts, {"model": writer.name, **asdict(options)}, execution.seed)


def vocabulary_size(writer: LanguageModel | CausalText) -> int:
    """Return the number of words or tokens that a model has."""
    return len(writer.model.words) if isinstance(writer, LanguageModel) else writer.vocabulary


def _steps(writer: LanguageModel | CausalText, prompt: str, one: GeneratedText) -> Iterator[tuple[int, FloatArray]]:
    """Yield each word of a text, its end included, with the probabilities (V,) of all words in its place."""
    if not isinstance(writer, LanguageModel):
        yield from writer.steps(prompt, one)
        return
    context = [START_ID, *(writer.model.ids[word] for word in writer.prompt_words(prompt))]
    for word in [*one.words, *([END_ID] if one.ended else [])]:
        yield word, writer.model.next_words(context)
        context.append(word)


def _word(writer: LanguageModel | CausalText, id: int) -> str:
    return writer.model.words[id] if isinstance(writer, LanguageModel) else writer.word(id)
