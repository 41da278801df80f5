"""Features of texts as columns of their table, in a stream or in memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.classify.features import kind_of, read_numbers
from nlpkit.errors import ColumnError, UsageError, missing_column
from nlpkit.features.model import FeatureColumns, parse_bins, select_features
from nlpkit.features.options import TextFeatureOptions
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import add_column
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, as_corpus
from nlpkit.platform.options import Execution, names_in, with_settings
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.runs.passes import ColumnMaker, Pass, WithColumns, warn_of_replaced
from nlpkit.platform.runs.tables import Spool, spool_in
from nlpkit.platform.types import FloatArray
from nlpkit.text.lexicon.files import read_categories
from nlpkit.text.lexicon.model import CategoryCounter, CategoryCounts, text_languages
from nlpkit.text.options import PreprocessOptions, TextOptions
from nlpkit.text.settings import preprocess_options

_CHARACTERS = re.compile(r"\W+")  # that no name of a column has


class TextFeatureMaker(ColumnMaker):
    """Documents with a column for each feature of their text."""

    command = gives = progress = "features"

    def __init__(
        self, stream: DocumentStream, spool: Spool | None, options: TextFeatureOptions, execution: Execution
    ) -> None:
        super().__init__("features", stream, None)
        self._options, self._spool, self._threads = options, spool, execution.n_threads()
        self._bins = [parse_bins(text) for text in options.bins]
        self._settings: PreprocessOptions = preprocess_options(
            TextOptions(language=options.language, lemma=options.lemma, stem=options.stem)
        )
        select_features(names_in(options.include), "en")  # an unknown name is refused before anything is read
        self._kept = self._kept_columns()
        self._lexica = [read_categories(path, name) for name, path in map(_named, options.lexicon)]
        self._names: list[str] = []
        self._counts: dict[str, Any] = {}

    def _kept_columns(self) -> list[str]:
        """Return the columns of the input that stay, in its order. Raises ColumnError for one that is not there."""
        names, asked = self.stream.schema.names, names_in(self._options.keep_cols)
        if asked == ["all"]:
            return list(names)
        kept = set() if asked == ["none"] else set(asked)
        for name in asked if kept else ():
            if name not in names:
                raise missing_column(self.stream.where, name, names, "`keep_cols`")
        return [name for name in names if name == "id" or name in kept]

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents with their features."""
        self._start = perf_counter()
        running = iter(self.stream)
        first = next(running, None)
        if first is None:
            return
        languages = text_languages(self._settings, [*self.stream.opening, first][:1])
        language = languages[0] if languages else None
        names = select_features(names_in(self._options.include), language)
        if not names and not self._lexica and not self._bins:
            raise UsageError(
                f"`include={self._options.include}` has no feature for texts in '{language}'", parameter="include"
            )
        maker = FeatureColumns(names, language=language, spacy=self._options.spacy)
        counters = [CategoryCounter(lexicon, self._settings, languages) for lexicon in self._lexica]
        self._check_names([*names, *(name for counter in counters for name in category_columns(counter))])
        self._counts = {"bytes": 0, "language": language, "features": len(self._names), "bins": {}}
        yield from self._features(chain([first], running), maker, counters)

    def _check_names(self, features: Sequence[str]) -> None:
        """Keep the names of the new columns. Raises UsageError for two of one name."""
        self._names = [*features, *(bins.name for bins in self._bins)]
        twice = next((name for name in self._names if self._names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(
                f"two features would be called '{twice}'; name the columns of a lexicon with `lexicon=NAME=FILE`",
                parameter="lexicon",
            )
        for bins in self._bins:
            if bins.column in features:
                continue
            if bins.column not in self.stream.schema.names:
                raise missing_column(self.stream.where, bins.column, [*features, *self.stream.schema.names], "`bins`")
            if kind_of(bins.column, self.stream.schema.field(bins.column).type) != "number":
                raise ColumnError(f"column '{bins.column}' holds text; `bins` needs numbers")
        warn_of_replaced(self.stream, self._names)

    def _features(
        self, batches: Iterable[pa.RecordBatch], maker: FeatureColumns, counters: Sequence[CategoryCounter]
    ) -> Iterator[WithColumns]:
        threads = self._threads if maker.pipeline is None else 1  # a pipeline is no use to two threads
        for batch, columns in map_ahead(lambda one: maker.compute(one.column("text")), batches, threads=threads):
            features = dict(zip((field.name for field in maker.fields), columns, strict=True))
            for counter in counters:
                for _, counts in counter.count([batch]):
                    features |= zip(category_columns(counter), _category_values(counts), strict=True)
            self._counts["bytes"] += pc.sum(pc.binary_length(batch.column("text"))).as_py() or 0
            yield batch, features

    def finish(self) -> None:
        """Set the bins whose edges depend on all documents."""
        self._seconds = perf_counter() - self._start
        if self._spool is None:
            return
        values: list[list[FloatArray]] = [[] for _ in self._bins]
        for batch in self._spool:
            for of_column, bins in zip(values, self._bins, strict=True):
                of_column.append(read_numbers(bins.column, batch.column(bins.column)))
        self._bins = [bins.fit(np.concatenate(of_column)) for bins, of_column in zip(self._bins, values, strict=True)]

    def completed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the documents with their bins and without the columns that do not stay."""
        for bins in self._bins:
            batch = add_column(batch, bins.name, bins.apply(read_numbers(bins.column, batch.column(bins.column))))
            self._counts["bins"][bins.name] = bins.labels
        return batch.select([*[name for name in self._kept if name not in self._names], *self._names])

    def parameters(self) -> dict[str, Any]:
        """Return the options, the language in force and the edges of bins."""
        options = self._options
        return {
            "include": names_in(options.include), "lexicon": list(options.lexicon), "language": self._counts.get("language"),
            "lemma": options.lemma, "stem": options.stem, "features": list(self._names),
            "bins": {bins.name: {"column": bins.column, "method": bins.method, "edges": list(bins.edges)} for bins in self._bins},
        }  # fmt: skip

    def summary(self) -> dict[str, Any]:
        """Return the numbers of documents, bytes of text and features, the language, and the bins."""
        return {"documents": self.documents, **self._counts}

    def report(self) -> None:
        """Say how many features there are, how fast they were made, and where the bins have their edges."""
        counts = self._counts
        seconds, size = max(self._seconds, 1e-9), counts["bytes"] / 1e6
        language = f", language {counts['language']}" if counts["language"] else ""
        reporting.note(
            f"{wording.counted(counts['features'], 'feature')} of {wording.counted(self.documents, 'document')}{language}: "
            f"{size:,.1f} MB of text in {seconds:.1f} s ({size / seconds:.1f} MB/s)"
        )
        for name, labels in counts["bins"].items():
            reporting.note(f"{name}: {wording.listed(labels, 10)}")


def _named(text: str) -> tuple[str | None, Path]:
    """Return name and file of NAME=FILE, no name where there is none."""
    name, equals, path = text.partition("=")
    if equals and re.fullmatch(r"\w+", name) and not Path(text).exists():
        return name, Path(path)
    return None, Path(text)


def category_columns(counter: CategoryCounter) -> list[str]:
    """Return the columns of a lexicon: the counts of its categories, then their shares of the words."""
    lexicon = counter.lexicon
    names = [
        lexicon.name if category == lexicon.name else f"{lexicon.name}_{_CHARACTERS.sub('_', category).strip('_')}"
        for category in lexicon.categories
    ]
    return [*names, *(f"{name}_share" for name in names)]


def _category_values(counts: CategoryCounts) -> list[pa.Array]:
    """Return counts, then shares, null for a text without words."""
    words = np.where(counts.words > 0, counts.words, np.nan)
    shares = counts.counts / words[:, None]
    return [
        *(pa.array(column, pa.int32()) for column in counts.counts.T),
        *(pa.array(column, pa.float64(), from_pandas=True) for column in shares.T),
    ]


@contextmanager
def text_feature_batches(corpus: Corpus, *, options: TextFeatureOptions, execution: Execution) -> Iterator[Pass]:
    """Return a context with documents and their features, made batch by batch."""
    with corpus.open() as stream, spool_in(stream.spool_directory) as spool:
        # quantiles and widths are known when all documents are read
        kept = spool if any(parse_bins(text).method != "edges" for text in options.bins) else None
        yield Pass(TextFeatureMaker(stream, kept, options, execution), kept)


def text_features(
    data: Any, *, options: TextFeatureOptions | None = None, execution: Execution | None = None, **settings: Any
) -> Corpus:
    """Return documents with a column for each feature of their text: counts, shares and means, readability, lexical diversity, the
    categories of lexica, bins.

    A count of an empty text is 0; a share or mean of nothing is null, never NaN. `nlpkit.features.model.FEATURES` has the formulas.

    Args:
        data: a Corpus, texts, or a data frame.
        options: which features, and which columns stay.
        execution: threads; the result does not depend on them.
        settings: single fields of these records, such as include="counts", lexicon=("nrc=NRC.txt",).

    Raises:
        UsageError: an unknown feature; InputError: no documents, or a lexicon that cannot be read; ColumnError: a column is not there;
        MissingError: parts of speech without spaCy.

    Example:
        >>> features = nk.text_features(["A cat sat.", "Prices rose sharply today."])
        >>> features.table().num_columns > 5
        True
    """
    options, execution = with_settings((options, execution), settings, (TextFeatureOptions, Execution))
    with text_feature_batches(as_corpus(data), options=options, execution=execution) as features:
        return features.collect()
