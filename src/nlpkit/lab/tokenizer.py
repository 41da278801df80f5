"""Tokenizers of subwords trained on documents, and the merges that made them, step by step.

Byte-pair encoding (Sennrich, Haddow & Birch 2016, algorithm 1) starts from single symbols and merges, again and again, the pair of
neighbours that is most frequent in the words of the corpus. Here bpe starts from bytes (Radford et al. 2019, §2.2), so no character
is unknown. wordpiece starts from characters and cuts as BERT does, the longest token first; the library learns its vocabulary by
merges as well. unigram (Kudo 2018, §3.2) starts from many substrings and drops those whose loss costs the least likelihood.

Parts, in this order:
- The training, by the library tokenizers.
- The tokenizer with its texts: what a person trains, saves and sees.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.errors import InputError, missing_extra
from nlpkit.lab.options import SPECIAL, TokenizerOptions
from nlpkit.platform import wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import as_corpus, no_documents
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.runs import NewRun, RunTables, new_run
from nlpkit.platform.runs.saving import save_run

PREFIX = "##"  # of a token of wordpiece that does not begin a word
_DIGITS = 4  # of the scores of unigram, which the library sums in the order of a hash table


@dataclass(frozen=True, slots=True)
class MergeStep:
    """One merge. left, right: the pair; count: how often it occurs before the merge; words: how many kinds of words have it."""

    left: str
    right: str
    token: str
    count: int
    words: int


@dataclass(frozen=True, slots=True)
class TrainedTokenizer:
    """A tokenizer of the library tokenizers, the merges that made it (of unigram none) and the words they were counted in."""

    backend: Any
    merges: tuple[tuple[str, str], ...]
    words: Counter[str]
    type: str

    @property
    def n_tokens(self) -> int:
        """Number of tokens, special ones included."""
        return int(self.backend.get_vocab_size())

    def steps(self, n: int) -> list[MergeStep]:
        """Return the first n merges with the count of each pair when it was merged."""
        return merge_steps(self.words, self.merges[:n], prefix=PREFIX if self.type == "wordpiece" else "")

    def transformers(self, *, max_tokens: int | None = None) -> Any:
        """Return it as transformers has it: [CLS] stands before a text and [SEP] behind it, also as its beginning and end."""
        from transformers import PreTrainedTokenizerFast

        pad, unk, cls, sep, mask = SPECIAL
        return PreTrainedTokenizerFast(
            tokenizer_object=self.backend, pad_token=pad, unk_token=unk, cls_token=cls, sep_token=sep, mask_token=mask,
            bos_token=cls, eos_token=sep, padding_side="right", **({} if max_tokens is None else {"model_max_length": max_tokens}),
        )  # fmt: skip


def train_subwords(texts: Iterable[str], options: TokenizerOptions) -> TrainedTokenizer:
    """Train a tokenizer; the same texts in the same order give the same one.

    Raises:
        UsageError: options out of range. InputError: texts without a word, or fewer tokens than the characters need.
        MissingError: the library is not installed.
    """
    try:
        from tokenizers import Tokenizer, normalizers, trainers
    except ImportError:
        raise missing_extra("train-tokenizer", "neural") from None

    empty = Tokenizer(_model(options.type))
    empty.pre_tokenizer = _pre_tokenizer(options.type)
    if options.lower:
        empty.normalizer = normalizers.Lowercase()
    words = count_words(empty, texts)
    if not words:
        raise InputError("the texts have no words to learn tokens from; check `text_col`")
    # each word as often as it occurs, in an order of our own
    corpus = chain.from_iterable(repeat(word, count) for word, count in sorted(words.items()))
    merges: tuple[tuple[str, str], ...] = ()
    if options.type == "unigram":
        _check_room(len({char for word in words for char in word}), options)
        trainer = trainers.UnigramTrainer(
            vocab_size=options.vocab_size, special_tokens=list(SPECIAL), unk_token="[UNK]", show_progress=False
        )
        bare = Tokenizer(_model("unigram"))
        bare.train_from_iterator(corpus, trainer)
        state = json.loads(bare.to_str())["model"]
        empty.model = _unigram({token: score for token, score in state["vocab"] if token not in SPECIAL})
    else:
        vocabulary, merges = _merged(corpus, words, options)
        empty.model = _model(options.type, vocabulary, merges)
    _dress(empty, options.type)
    if empty.get_vocab_size() < len(SPECIAL) + 2:
        raise InputError(
            "the vocabulary has one token beside the special ones, and a model that can only guess it learns nothing; "
            "give texts with more characters"
        )
    return TrainedTokenizer(empty, merges, words, options.type)


def count_words(tokenizer: Any, texts: Iterable[str]) -> Counter[str]:
    """Return how often each word occurs, cut as the tokenizer's first step cuts, which no token crosses."""
    words: Counter[str] = Counter()
    for text in texts:
        normal = tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer is not None else text
        words.update(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
    return words


def merge_steps(words: Counter[str], merges: Sequence[tuple[str, str]], *, prefix: str = "") -> list[MergeStep]:
    """Return merges with the count of each pair at its turn, by doing them again on the words.

    Args:
        prefix: stands before symbols that do not begin a word, and falls away where they are merged to the right of another.
    """
    cut = {word: [c if i == 0 else prefix + c for i, c in enumerate(word)] for word in words}
    having: dict[str, set[str]] = defaultdict(set)  # the words that a symbol is in, or once was
    for word, symbols in cut.items():
        for symbol in symbols:
            having[symbol].add(word)
    steps = []
    for left, right in merges:
        token, count, kinds = left + right.removeprefix(prefix), 0, 0
        for word in having[left] & having[right]:
            merged, n = merge_pair(cut[word], left, right, token)
            if n:
                cut[word], count, kinds = merged, count + n * words[word], kinds + 1
                having[token].add(word)
        steps.append(MergeStep(left, right, token, count, kinds))
    return steps


def merge_pair(symbols: Sequence[str], left: str, right: str, token: str) -> tuple[list[str], int]:
    """Return symbols with each pair (left, right) merged, from the beginning on, and how many there were."""
    out: list[str] = []
    i = n = 0
    while i < len(symbols):
        if i + 1 < len(symbols) and symbols[i] == left and symbols[i + 1] == right:
            out.append(token)
            i, n = i + 2, n + 1
        else:
            out.append(symbols[i])
            i += 1
    return out, n


def _merged(
    corpus: Iterable[str], words: Counter[str], options: TokenizerOptions
) -> tuple[dict[str, int], tuple[tuple[str, str], ...]]:
    """Return the vocabulary and the merges of bpe and wordpiece.

    The single symbols are given to the library in their order: the ids it would give them follow a hash table, and pairs of the same
    count are merged in the order of their ids.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    piece = options.type == "wordpiece"
    if piece:
        first, later = {w[0] for w in words}, {c for w in words for c in w[1:]}
        symbols = [*sorted(first | later), *(PREFIX + c for c in sorted(later))]
    else:
        symbols = sorted(pre_tokenizers.ByteLevel.alphabet())
    _check_room(len(symbols), options)
    affix: dict[str, Any] = {"continuing_subword_prefix": PREFIX} if piece else {}
    trainer = trainers.BpeTrainer(
        vocab_size=options.vocab_size, special_tokens=[*SPECIAL, *symbols], show_progress=False, **affix
    )
    bare = Tokenizer(models.BPE(**affix))
    bare.train_from_iterator(corpus, trainer)
    state = json.loads(bare.to_str())["model"]
    pairs = [tuple(pair if isinstance(pair, list) else pair.split(" ")) for pair in state["merges"]]
    return state["vocab"], tuple((left, right) for left, right in pairs)


def _unigram(scores: dict[str, float]) -> Any:
    """Return the model of tokens with log probabilities, by these and then by name.

    Characters that the library keeps only so that none is unknown have scores a ten-thousandth apart, in the order of a hash table;
    they get one score, the lowest of the longer tokens.
    """
    from tokenizers import models

    n_single = sum(len(token) == 1 for token in scores)
    least = min((score for token, score in scores.items() if len(token) > 1), default=0.0) + 10.0**-_DIGITS * n_single
    even = {
        token: round(least if len(token) == 1 and score <= least else score, _DIGITS) for token, score in scores.items()
    }
    ranked = sorted(even.items(), key=lambda item: (-item[1], item[0]))
    return models.Unigram([*((token, 0.0) for token in SPECIAL), *ranked], unk_id=1, byte_fallback=False)


def _check_room(n_symbols: int, options: TokenizerOptions) -> None:
    least = n_symbols + len(SPECIAL)
    if options.vocab_size < least:
        raise InputError(
            f"`vocab_size={options.vocab_size}`: the texts have {n_symbols:,} single symbols, so {options.type} needs at least "
            f"{least:,} tokens; give more, or `type=bpe`, which starts from 256 bytes",
            parameter="vocab_size",
        )


def _model(kind: str, vocabulary: dict[str, int] | None = None, merges: Sequence[tuple[str, str]] = ()) -> Any:
    from tokenizers import models

    if kind == "unigram":
        return models.Unigram()
    if kind == "bpe":
        return models.BPE() if vocabulary is None else models.BPE(vocabulary, list(merges))
    return models.WordPiece(vocabulary or {"[UNK]": 0}, unk_token="[UNK]", continuing_subword_prefix=PREFIX)


def _pre_tokenizer(kind: str) -> Any:
    from tokenizers import pre_tokenizers

    if kind == "bpe":
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    return pre_tokenizers.BertPreTokenizer() if kind == "wordpiece" else pre_tokenizers.Metaspace()


def _dress(tokenizer: Any, kind: str) -> None:
    """Add special tokens, the way back to text, and the frame around texts."""
    from tokenizers import decoders, processors

    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.decoder = {
        "bpe": decoders.ByteLevel, "wordpiece": decoders.WordPiece, "unigram": decoders.Metaspace
    }[kind]()  # fmt: skip
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )


# ------------------------------------------------------------------------------------------------------------------------
# Train a tokenizer of subwords on documents.

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
