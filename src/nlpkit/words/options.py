"""The options of word embeddings and of questions about them, as plain data."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import Param, options

_NETWORK: dict[str, object] = {
    "window": 5,
    "epochs": 5,
    "rate": 0.025,
    "negative": 5,
    "hs": False,
    "subsample": 1e-3,
    "workers": 1,
}
# what each method has, with its defaults: those of gensim; of the paper and the authors' program; of the paper
METHODS: dict[str, dict[str, object]] = {
    "sgns": _NETWORK,
    "cbow": _NETWORK,
    "fasttext": {**_NETWORK, "char_ngrams": "3-6", "buckets": 500_000},
    "glove": {"window": 10, "epochs": 25, "rate": 0.05, "x_max": 100.0, "exponent": 0.75, "context": True},
    "pmi-svd": {"window": 5, "smoothing": 0.75, "shift": 1.0, "power": 0.5, "context": False},
    "doc2vec-dm": {**_NETWORK, "epochs": 10},
    "doc2vec-dbow": {**_NETWORK, "epochs": 10},
}
OF_GENSIM = tuple(name for name, values in METHODS.items() if "workers" in values)


@options
class WordEmbeddingOptions:
    """Options of word embeddings. What is None has the default of the method (METHODS), see `resolved`."""

    PANEL: ClassVar[str] = "Embeddings"

    method: Annotated[
        str,
        Param(
            "Method: sgns or cbow (word2vec), fasttext, glove, pmi-svd, doc2vec-dm or doc2vec-dbow.",
            metavar="METHOD",
            choices=METHODS,
        ),
    ] = "sgns"
    dimensions: Annotated[
        int, Param("Number of dimensions of a vector.", ("dimensions", "vector_size"), min=1, max=10_000)
    ] = 100
    min_count: Annotated[int, Param("Minimum number of occurrences of a word.", min=1)] = 5
    window: Annotated[
        int | None, Param("Words of context on each side. Default: 5; 10 for glove.", min=1, max=1_000)
    ] = None
    epochs: Annotated[
        int | None, Param("Passes over the texts or co-occurrences. Default: 5; 10 for doc2vec, 25 for glove.", min=1)
    ] = None
    rate: Annotated[
        float | None,
        Param("Initial learning rate. Default: 0.025; 0.05 for glove.", ("rate", "learning_rate"), min=0, max=100),
    ] = None
    negative: Annotated[
        int | None, Param("Negative examples per context word. Default: 5; 0 with `hs`.", min=0, max=1_000)
    ] = None
    hs: Annotated[
        bool | None, Param("Train with hierarchical softmax, in addition to or instead of negative sampling.", off="")
    ] = None
    subsample: Annotated[
        float | None,
        Param("Words with a larger share than this are dropped at random. Default: 0.001; 0 = never.", min=0, max=1),
    ] = None
    workers: Annotated[
        int | None,
        Param(
            "Number of gensim threads. With more than 1, the vectors differ from run to run. Default: 1.",
            min=1,
            max=256,
        ),
    ] = None
    char_ngrams: Annotated[
        str | None, Param("Lengths of fasttext's character n-grams. Default: 3-6.", metavar="LO-HI")
    ] = None
    buckets: Annotated[
        int | None, Param("Number of vectors shared by fasttext's n-grams. Default: 500000.", min=1, max=20_000_000)
    ] = None
    x_max: Annotated[
        float | None, Param("glove: number of co-occurrences from which a pair has full weight. Default: 100.", min=0)
    ] = None
    exponent: Annotated[
        float | None, Param("glove: exponent of the weight below that number. Default: 0.75.", min=0, max=10)
    ] = None
    smoothing: Annotated[
        float | None, Param("pmi-svd: exponent of the context frequencies; 1 = none. Default: 0.75.", min=0, max=1)
    ] = None
    shift: Annotated[
        float | None,
        Param("pmi-svd: number k whose logarithm is subtracted from each PMI. Default: 1 (nothing).", min=0),
    ] = None
    power: Annotated[float | None, Param("pmi-svd: exponent of the singular values. Default: 0.5.", min=0, max=1)] = (
        None
    )
    context: Annotated[
        bool | None,
        Param("Add the context vector of a word to its word vector (glove, pmi-svd). Default: on for glove."),
    ] = None

    def resolved(self) -> WordEmbeddingOptions:
        """Return the options with the defaults of the method; what the method does not have stays None.

        Raises:
            UsageError: an option of another one, neither negative examples nor hierarchical softmax, lengths
                of n-grams that are none.
        """
        defaults = METHODS[self.method]
        for one in fields(self):
            if one.name in _OF_ALL or one.name in defaults or getattr(self, one.name) is None:
                continue
            having = [name for name, values in METHODS.items() if one.name in values]
            raise UsageError(
                f"`{one.name}` has no effect with `method={self.method}`; it is for {', '.join(having)}",
                parameter=one.name,
            )
        values = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        full = replace(self, **values)  # type: ignore[arg-type]
        for name in ("rate", "x_max", "shift"):
            if getattr(full, name) == 0:
                raise UsageError(f"`{name}` must be above 0", parameter=name)
        if full.negative == 0 and not full.hs:
            raise UsageError("`negative=0` leaves nothing to learn from; add `hs=True`", parameter="negative")
        if full.char_ngrams is not None:
            full.ngram_lengths()
        return full

    def ngram_lengths(self) -> tuple[int, int]:
        """Return the shortest and the longest n-gram of characters. Raises UsageError where they are none."""
        low, dash, high = str(self.char_ngrams).partition("-")
        high = high if dash else low
        if not (low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= 100):
            raise UsageError(
                f"`char_ngrams={self.char_ngrams}`: two lengths from 1 to 100 are needed, such as 3-6",
                parameter="char_ngrams",
            )
        return int(low), int(high)


_OF_ALL = ("method", "dimensions", "min_count")


# ------------------------------------------------------------------------------------------------------------------------
# Options of questions about word vectors, as plain data.


@options
class VectorOptions:
    """Which words of the vectors take part, and how words are looked up."""

    PANEL: ClassVar[str] = "Vectors"

    most_frequent: Annotated[
        int | None,
        Param("Search only the N most frequent words (in files without counts, the first N). Default: all.", min=1),
    ] = None
    lower: Annotated[bool, Param("Use the lowercase form if a word is missing, and ignore case in comparisons.")] = True
