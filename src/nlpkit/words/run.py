"""Word embeddings of documents: learned, saved as a run directory, written for other programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import embedding_column
from nlpkit.platform.documents.corpus import as_corpus, no_words
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.runs import NewRun, RunTables, new_run
from nlpkit.platform.runs.saving import save_run
from nlpkit.text.options import CountOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.text.tokens import counting_options, note_tokens, token_info
from nlpkit.weights.counts import count_corpus
from nlpkit.words.files import KIND, NGRAMS, WORDS, write_word2vec
from nlpkit.words.learn import Learned, learn
from nlpkit.words.options import WordEmbeddingOptions
from nlpkit.words.vectors import WordVectors

FEW_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class WordEmbedding:
    """Vectors that were learned of documents. options: those in force; rows: id and columns of the documents."""

    options: WordEmbeddingOptions
    learned: Learned
    rows: pa.Table
    run: NewRun
    seconds: dict[str, float]

    def __repr__(self) -> str:
        return wording.described(self, self.options.method, wording.counted(self.words.num_rows, "word"))

    @property
    def vectors(self) -> WordVectors:
        """The words with their vectors and counts, the most frequent first."""
        return self.learned.vectors

    @property
    def words(self) -> pa.Table:
        """A row for each word: word, count, embedding; the most frequent first."""
        return self.run.files.tables["words"]

    @property
    def documents(self) -> pa.Table | None:
        """The documents with their vectors, column embedding; None but for doc2vec."""
        return self.run.files.tables.get("documents")

    def results(self) -> dict[str, Any]:
        """Return sizes and the loss of each epoch."""
        return dict(self.run.manifest["results"])

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write a run directory. Raises OutputExistsError when it is there and `force` was not given."""
        return save_run(self.run, path, force=force)

    def save_word2vec(self, path: str | Path, *, force: bool = False) -> None:
        """Write the words in word2vec's format: text (.txt, .vec) or binary (.bin).

        Raises:
            UsageError: another name; OutputExistsError: it is there.
        """
        changed = write_word2vec(Path(path), self.vectors, force=force)
        if changed:
            reporting.note(f"{path}: spaces in {wording.counted(changed, 'word')} are written as _")


def embed_words(
    data: Any,
    *,
    options: WordEmbeddingOptions | None = None,
    tokens: CountOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> WordEmbedding:
    """Learn vectors of the words of documents, and of the documents by doc2vec.

    The same bytes for the same seed on any number of threads, unless `workers` is above 1.

    Args:
        data: a Corpus, texts or a data frame; a column tokens is used, else made, of all words.
        options, tokens, execution: whole records of options.
        settings: single options, such as method="glove", dimensions=50, min_count=2, seed=1.

    Raises:
        UsageError: an option is out of its range or does not go with the method; InputError: too few words; MissingError: the
            extra `words` is not installed.

    Example:
        >>> words = nk.embed_words(["cats chase mice", "dogs chase cats"] * 50, dimensions=8, epochs=2)
        >>> sorted(words.words["word"].to_pylist())
        ['cats', 'chase', 'dogs', 'mice']
    """
    options, tokens, execution = with_settings(
        (options, tokens, execution), settings, (WordEmbeddingOptions, CountOptions, Execution)
    )
    options, threads = options.resolved(), execution.n_threads()
    preprocess_options(tokens.tokens())  # refuses what is wrong before anything is read
    seconds: dict[str, float] = {}
    with as_corpus(data).open() as stream:
        token_options = counting_options(tokens, stream)
        columns = [name for name in stream.schema.names if name not in ("tokens", "embedding")]
        with (
            stopwatch(seconds, "read"),
            count_corpus(stream, token_options, columns=_kept(columns, options), threads=threads) as words,
        ):
            if words.report is not None:
                note_tokens(words.report, token_options)
            table, rows = words.tokens(), words.rows()
        info = token_info(token_options, words.report, stream.steps)
        if not len(table.term_ids):
            raise no_words(table.n_docs, ", so there is nothing to learn from")
        if options.workers is not None and options.workers > 1:
            reporting.warn(
                f"with {options.workers} `workers` the vectors differ from run to run; with one, they are always "
                "the same"
            )
        if len(table.term_ids) < FEW_TOKENS and options.method != "pmi-svd":
            reporting.warn(
                f"{wording.counted(len(table.term_ids), 'word')} are too few for {options.method}, which needs "
                "millions, so neighbours may be random; `method=pmi-svd` needs fewer"
            )
        with stopwatch(seconds, "learning"):
            learned = _learned(table, options, execution)
        run = _run(learned, rows, options, info, stream, execution, seconds)
    return WordEmbedding(options, learned, rows, run, seconds)


def _kept(columns: list[str], options: WordEmbeddingOptions) -> list[str]:
    """Return the columns that the documents keep: all but the text where documents have vectors, else none."""
    return [name for name in columns if name != "text"] if options.method.startswith("doc2vec") else []


def _learned(table: Any, options: WordEmbeddingOptions, execution: Execution) -> Learned:
    epochs, done = options.epochs or 1, 0
    with reporting.progress(options.method, epochs) as update:

        def progress(loss: float | None) -> None:
            nonlocal done
            done += 1
            update(done, options.method if loss is None else f"{options.method}, loss {loss:.4g}")

        return learn(table, options, seed=execution.seed, threads=execution.n_threads(), progress=progress)


def _run(
    learned: Learned,
    rows: pa.Table,
    options: WordEmbeddingOptions,
    info: dict[str, Any] | None,
    stream: Any,
    execution: Execution,
    seconds: dict[str, float],
) -> NewRun:
    vectors = learned.vectors
    embeddings = embedding_column(vectors.vectors)
    tables = {"words": WORDS.table(word=vectors.words, count=vectors.counts, embedding=embeddings)}
    if learned.documents is not None:
        tables["documents"] = rows.append_column("embedding", embedding_column(learned.documents))
    parameters = {name: value for name, value in asdict(options).items() if value is not None} | {"preprocess": info}
    config: dict[str, Any] = {"kind": KIND, "method": options.method}
    model = {}
    if vectors.subwords is not None:
        grams = vectors.subwords
        config |= {"shortest": grams.shortest, "longest": grams.longest, "buckets": grams.buckets}
        model["ngrams"] = NGRAMS.table(bucket=grams.ids, embedding=embedding_column(grams.vectors))
    results = {
        "documents": rows.num_rows, "words": len(vectors.words), "dimensions": vectors.dimensions, **learned.facts,
        "losses": learned.losses,
    }  # fmt: skip
    return new_run(
        KIND, RunTables(tables, model, config), stream, parameters=parameters, results=results, execution=execution, seconds=seconds
    )  # fmt: skip
