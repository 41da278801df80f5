"""Train a tokenizer of subwords on documents."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit import wording
from nlpkit.io.corpora import DocumentStream
from nlpkit.io.cost import stopwatch
from nlpkit.io.runs import NewRun, RunTables, new_run
from nlpkit.parameters import Execution, with_settings
from nlpkit.pretrain.options import TokenizerOptions
from nlpkit.pretrain.subwords import TrainedTokenizer, train_subwords
from nlpkit.workflows.corpus import as_corpus, no_documents
from nlpkit.workflows.saving import save_run

KIND = "tokenizer"


@dataclass(frozen=True, slots=True)
class SubwordTokenizer:
    """A trained tokenizer. options: those in force; trained: the tokenizer itself."""

    options: TokenizerOptions
    trained: TrainedTokenizer
    run: NewRun
    seconds: dict[str, float]

    def __repr__(self) -> str:
        return wording.described(self, self.options.type, wording.counted(self.trained.n_tokens, "token"))

    @property
    def merges(self) -> pa.Table | None:
        """The merges in order: step, left, right, token, count, words; None for unigram."""
        return self.run.files.tables.get("merges")

    @property
    def tokens(self) -> pa.Table:
        """A row for each token: id, token."""
        return self.run.files.tables["tokens"]

    def results(self) -> dict[str, Any]:
        """Return numbers of documents, words, tokens and merges."""
        return dict(self.run.manifest["results"])

    def encode(self, text: str) -> list[str]:
        """Return the tokens of a text, special ones included."""
        return list(self.trained.backend.encode(text).tokens)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write a run directory that transformers loads as a tokenizer.

        Raises:
            OutputExistsError: it is there and `force` was not given.
        """
        return save_run(self.run, path, force=force)


def train_tokenizer(
    data: Any, *, options: TokenizerOptions | None = None, execution: Execution | None = None, **settings: Any
) -> SubwordTokenizer:
    """Train a tokenizer of subwords on documents: byte-pair encoding, WordPiece or unigram.

    Args:
        data: a Corpus, texts or a data frame. options, execution: whole records of options.
        settings: single options, such as type="bpe", vocab_size=8000.

    Raises:
        UsageError: options out of range. InputError: no documents, none with a word, or more characters than tokens.
        MissingError: the extra `neural` is not installed.

    Example:
        >>> tokenizer = nk.train_tokenizer(["low lower lowest", "new newer newest"] * 5, vocab_size=270)
        >>> tokenizer.tokens.num_rows <= 270
        True
    """
    options, execution = with_settings((options, execution), settings, (TokenizerOptions, Execution))
    seconds: dict[str, float] = {}
    with as_corpus(data).open() as stream:
        texts = Texts(stream)
        with stopwatch(seconds, "training"):
            trained = train_subwords(_some(texts, stream), options)
        with stopwatch(seconds, "merges"):
            steps = trained.steps(len(trained.merges))
        ids = sorted(trained.backend.get_vocab().items(), key=lambda item: item[1])
        tables = {
            "tokens": pa.table(
                {"id": pa.array([i for _, i in ids], pa.int32()), "token": pa.array([token for token, _ in ids])}
            )
        }
        if options.type != "unigram":
            columns = {"step": pa.array(range(1, len(steps) + 1), pa.int32())}
            columns |= {
                name: pa.array([getattr(s, name) for s in steps], pa.string()) for name in ("left", "right", "token")
            }
            columns |= {name: pa.array([getattr(s, name) for s in steps], pa.int64()) for name in ("count", "words")}
            tables["merges"] = pa.table(columns)
        results = {
            "documents": texts.n, "words": trained.words.total(), "different_words": len(trained.words),
            "tokens": trained.n_tokens, "merges": len(steps),
        }  # fmt: skip
        files = RunTables(tables, {}, {"kind": KIND, "type": options.type}, texts=_files(trained))
        run = new_run(
            KIND, files, stream, command="train-tokenizer", parameters=asdict(options), results=results, execution=execution,
            seconds=seconds,
        )  # fmt: skip
    return SubwordTokenizer(options, trained, run, seconds)


class Texts:
    """The texts of a stream of documents, read once. n: how many there were so far."""

    def __init__(self, stream: DocumentStream) -> None:
        """Take a stream."""
        self.stream, self.n = stream, 0

    def __iter__(self) -> Iterator[str]:
        for batch in self.stream:
            self.n += batch.num_rows
            yield from batch.column("text").to_pylist()


def _some(texts: Texts, stream: DocumentStream) -> Iterator[str]:
    """Yield the texts. Raises InputError where there are none."""
    yield from texts
    if not texts.n:
        raise no_documents(stream)


def _files(trained: TrainedTokenizer) -> dict[str, str]:
    """Return the files of transformers by name."""
    with tempfile.TemporaryDirectory(prefix="nlpkit-") as folder:
        trained.transformers().save_pretrained(folder)
        return {file.name: file.read_text(encoding="utf-8") for file in sorted(Path(folder).glob("*.json"))}
