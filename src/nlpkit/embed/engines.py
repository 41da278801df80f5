"""The engines of a model: nlpkit's own forward passes, or sentence-transformers."""

from __future__ import annotations

import contextlib
import copy
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from nlpkit.embed import bert, use
from nlpkit.embed.models import ModelLayout, read_layout
from nlpkit.embed.pooling import pool
from nlpkit.embed.token_ids import (
    NO_LIMIT,
    Batch,
    IntArray,
    TokenIds,
    TokenReader,
    iterate_ids,
    load_tokenizer,
    plain,
    plan_batches,
    special_ids,
)
from nlpkit.errors import MissingError, UsageError, missing_extra

FloatArray = npt.NDArray[np.float32]
logger = logging.getLogger("nlpkit.embed")

MOST_PACKED = 65_535  # texts of one call of attention on a GPU: the largest grid of CUDA in its second dimension
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.int8}


class Texts(Protocol):
    """Texts as an engine has read them."""

    counts: IntArray  # (U,) tokens of each text before the cut, without special tokens
    cut: IntArray  # (U,) how many of them the model does not see
    lengths: IntArray  # (U,) tokens the model does see, special ones included, at least 1

    def embed(self, batch: Batch) -> FloatArray:
        """Return the vectors of the texts `batch.rows`, (B, E) float32, not normalised. Safe in several threads."""


class MovableTexts(Texts, Protocol):
    """Texts that an engine of the same model on another device can embed as well."""

    def on(self, engine: Any) -> Texts:
        """Return the same texts for another engine."""


class EncoderEngine(Protocol):
    """A loaded model."""

    name: str  # one of ENGINES
    dim: int
    max_tokens: int
    precision: str
    pads: bool  # documents of a batch are padded to one width
    tokenizer: Any  # of the library tokenizers, None for a model that has another

    def read(self, texts: Sequence[str]) -> Texts:
        """Tokenise texts."""


def load_engine(
    path: Path, *, device: torch.device, precision: str, max_tokens: int | None, prompt: str = ""
) -> EncoderEngine:
    """Load the model in a folder that `find_model` has checked, for texts that begin with a prompt.

    Transformers of the BERT family with plain pooling and the Universal Sentence Encoder are run by nlpkit itself, all others by
    sentence-transformers.
    Raises MissingError for files that do not make a model, UsageError for a `max_tokens` the model cannot take.
    """
    if use.is_use(path):
        return UseEngine(path, device=device, max_tokens=max_tokens)
    layout = read_layout(path)
    if layout is not None and bert.supports(layout.config):
        return DirectEngine(layout, device=device, precision=precision, max_tokens=max_tokens)
    logger.debug("%s is run by sentence-transformers", path)
    return FallbackEngine(path, device=device, precision=precision, max_tokens=max_tokens, prompt=prompt)


def several(
    engine: EncoderEngine, path: Path, devices: Sequence[torch.device], *, max_tokens: int | None
) -> list[EncoderEngine]:
    """Return engines like the one that is loaded, on more devices. Raises UsageError for one that reads texts for itself alone."""
    if devices and not isinstance(engine, DirectEngine):
        kinds = ", ".join(bert.MODEL_TYPES)
        raise UsageError(
            f"several devices need a transformer with plain pooling ({kinds}); name one device", parameter="device"
        )
    return [load_engine(path, device=device, precision=engine.precision, max_tokens=max_tokens) for device in devices]


class BertEngine:
    """A model of the BERT family: its tokenizer, its pooling and how many tokens of a text it sees. Engines add how it is run."""

    def __init__(self, layout: ModelLayout, *, precision: str, max_tokens: int | None) -> None:
        self.modes, self.precision = layout.modes, precision
        try:
            self.tokenizer = load_tokenizer(layout)
        except Exception as error:  # tokenizers raises plain Exception
            raise MissingError(f"{layout.folder / 'tokenizer.json'} cannot be read: {error}") from None
        self.reader = TokenReader(self.tokenizer)
        positions = bert.max_positions(layout.config)
        specials = sum(map(len, special_ids(self.tokenizer)))
        self.max_tokens = checked_max_tokens(max_tokens, layout.max_tokens, positions, specials)


@contextlib.contextmanager
def bert_weights(layout: ModelLayout) -> Iterator[dict[str, torch.Tensor]]:
    """Yield the weights of a model by name. Raises MissingError when what is done with them misses one."""
    from safetensors.torch import load_file

    weights: dict[str, torch.Tensor] = {}
    files = [layout.folder / "model.safetensors"]
    for file in files if files[0].is_file() else sorted(layout.folder.glob("*.safetensors")):
        weights |= load_file(file)
    try:
        with torch.inference_mode():
            yield weights
    except (KeyError, ValueError) as error:
        raise MissingError(f"the weights in {layout.folder} do not fit its config.json: missing {error}") from None


class DirectEngine(BertEngine):
    """A BERT-like transformer and its pooling, run by `nlpkit.embed.bert`.

    On a CPU texts are laid end to end without padding, so that the vector of a text depends on nothing but the text; so are they on
    GPUs that have an attention for it. Elsewhere a batch is one padded rectangle, which needs fewer and larger kernels.
    """

    name = "torch"

    def __init__(self, layout: ModelLayout, *, device: torch.device, precision: str, max_tokens: int | None) -> None:
        super().__init__(layout, precision=precision, max_tokens=max_tokens)
        self.device = device
        with bert_weights(layout) as weights:
            self.model = bert.Bert(layout.config, weights, dtype=DTYPES[precision], device=device)
        self.pads = device.type != "cpu" and self.model.packed is None
        self.dim = self.model.dim * len(self.modes)

    def read(self, texts: Sequence[str]) -> Texts:
        return DirectTexts(self, texts)

    def first_layer(self) -> DirectEngine:
        """Return the engine of the first layer alone, which makes products of the shapes that all layers have."""
        engine = copy.copy(self)
        engine.model = copy.copy(self.model)
        engine.model.layers = self.model.layers[:1]
        return engine


class DirectTexts(TokenIds):
    """Token ids that the engine's model embeds."""

    def __init__(self, engine: DirectEngine, texts: Sequence[str]) -> None:
        super().__init__(engine.reader, texts, engine.max_tokens)
        self._engine = engine

    def on(self, engine: DirectEngine) -> DirectTexts:
        """Return the same texts for an engine on another device; they are not tokenised again."""
        texts = copy.copy(self)
        texts._engine = engine
        return texts

    def embed(self, batch: Batch) -> FloatArray:
        with torch.inference_mode():
            return self._embed(batch)

    def _embed(self, batch: Batch) -> FloatArray:
        engine, lengths = self._engine, self.lengths[batch.rows]
        if engine.model.packed is not None:
            return self._embed_packed(batch.rows, lengths)
        widths = np.repeat([width for _, width in batch.groups], [count for count, _ in batch.groups])
        padded = torch.from_numpy(lengths).to(engine.device) if (lengths < widths).any() else None
        ids = torch.from_numpy(self.lay_out(batch.rows, widths)).to(engine.device)
        hidden = engine.model.forward(ids, batch.groups, padded)
        parts, start = [], 0
        for count, width in batch.groups:
            stop = start + count * width
            parts.append(pool(hidden[start:stop].view(count, width, -1), padded, engine.modes))
            start = stop
        vectors: FloatArray = torch.cat(parts).float().cpu().numpy()
        return vectors

    def _embed_packed(self, rows: IntArray, lengths: IntArray) -> FloatArray:
        if len(rows) > MOST_PACKED:
            calls = (slice(start, start + MOST_PACKED) for start in range(0, len(rows), MOST_PACKED))
            return np.concatenate([self._embed_packed(rows[call], lengths[call]) for call in calls])
        engine = self._engine
        ends = torch.from_numpy(lengths.cumsum())
        starts = functional.pad(ends, (1, 0)).to(engine.device, torch.int32)
        ids = torch.from_numpy(self.lay_out(rows, lengths)).to(engine.device)
        hidden = engine.model.forward_packed(ids, starts, int(lengths.max()))
        parts = []
        # of one long text and many short ones, each on its own: padded together they would take too much memory
        for part in plan_batches(lengths, 2 * len(ids), pad=True):
            first, (count, width) = int(part.rows[0]), part.groups[0]
            bounds = starts[first : first + count + 1]
            places = (bounds[:-1, None] + torch.arange(width, device=engine.device)).clamp(max=len(ids) - 1)
            parts.append(pool(hidden[places], bounds.diff(), engine.modes))
        vectors: FloatArray = torch.cat(parts).float().cpu().numpy()
        return vectors


class UseEngine:
    """The multilingual Universal Sentence Encoder, run by `nlpkit.embed.use`, texts end to end without padding."""

    name, pads, precision = "torch", False, "fp32"

    def __init__(self, path: Path, *, device: torch.device, max_tokens: int | None) -> None:
        try:
            self.tokenizer = use.load_vocabulary(path / use.VOCABULARY)
            self.model = use.UniversalSentenceEncoder(path / use.WEIGHTS, device)
        except Exception as error:  # zip, NumPy, struct and tokenizers have classes of their own for a damaged file
            raise MissingError(f"the model in {path} cannot be read: {error}") from None
        self.reader = TokenReader(self.tokenizer)
        self.max_tokens = checked_max_tokens(max_tokens, None, NO_LIMIT, sum(map(len, special_ids(self.tokenizer))))
        self.dim = self.model.dim

    def read(self, texts: Sequence[str]) -> Texts:
        return use.UseTexts(self.model, self.reader, texts, self.max_tokens)


class FallbackEngine:
    """Any other model, run by sentence-transformers.

    On a CPU texts are run one at a time, for a vector of a padded batch depends on the other texts; elsewhere a batch at a time, padded.
    """

    name = "torch"

    def __init__(
        self, path: Path, *, device: torch.device, precision: str, max_tokens: int | None, prompt: str = ""
    ) -> None:
        self.pads, self.prompt = device.type != "cpu", prompt
        model = load_sentence_transformer(path, device, command="sbert-embed")
        if len(model) > 1 and type(model[-1]).__name__ == "Normalize":
            del model[len(model) - 1]  # the encoder normalises, if it is asked to
        plain_transformer = type(model[0]).__name__ == "Transformer"
        self.precision = precision if plain_transformer else "fp32"
        for parameter in model.parameters():  # not the buffers: tables of angles need all their digits
            if parameter.is_floating_point():
                parameter.data = parameter.data.to(DTYPES[self.precision])
        limit = getattr(model, "max_seq_length", None) or NO_LIMIT
        self.max_tokens = checked_max_tokens(max_tokens, None, int(min(limit, NO_LIMIT)), 0)
        if max_tokens is not None and hasattr(model, "max_seq_length"):
            model.max_seq_length = max_tokens
        self.model = model.eval()
        self.tokenizer = _backend_tokenizer(model)
        self.dim = self.run(["a"]).shape[1]  # and a first call before there are threads

    def read(self, texts: Sequence[str]) -> Texts:
        return FallbackTexts(self, texts)

    def run(self, texts: list[str]) -> FloatArray:
        """Return the vectors of texts (B, E) float32, which have the prompt in front; some models leave its tokens out of the mean."""
        prompted = all(text.startswith(self.prompt) for text in texts)
        vectors = self.model.encode(
            [text.removeprefix(self.prompt) for text in texts] if prompted else texts,
            prompt=self.prompt if prompted else "",  # "": the model's own is in the texts, if it is wanted
            batch_size=len(texts) if self.pads else 1,
            show_progress_bar=False,
            convert_to_numpy=False,
            normalize_embeddings=False,
        )
        stacked: FloatArray = torch.stack(list(vectors)).float().cpu().numpy()
        return stacked


class FallbackTexts:
    """Texts that sentence-transformers tokenises a second time, when it embeds them."""

    def __init__(self, engine: FallbackEngine, texts: Sequence[str]) -> None:
        self._engine, self._texts = engine, texts
        if engine.tokenizer is None:
            self.counts = np.array([len(text.split()) for text in texts], np.int64)
            specials = 0
        else:
            ids = iterate_ids(engine.tokenizer, texts)
            self.counts = np.fromiter((len(token_ids) for token_ids in ids), np.int64, count=len(texts))
            specials = sum(map(len, special_ids(engine.tokenizer))) if engine.max_tokens < NO_LIMIT else 0
        self.cut = np.maximum(self.counts + specials - engine.max_tokens, 0)
        self.lengths = np.maximum(self.counts - self.cut + specials, 1)

    def embed(self, batch: Batch) -> FloatArray:
        return self._engine.run([self._texts[row] for row in batch.rows.tolist()])


def load_sentence_transformer(path: Path, device: torch.device, *, command: str) -> Any:
    """Return the SentenceTransformer of a folder. Raises MissingError for files that do not make a model.

    Args:
        command: for the message when sentence-transformers is not installed.
    """
    try:
        # transformers draws the weights of a pooler that is not in the files: always the same ones
        with quiet() as messages, torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            from sentence_transformers import SentenceTransformer

            from nlpkit.platform.lab_networks import register

            register()
            model = SentenceTransformer(str(path), device=str(device), trust_remote_code=False, local_files_only=True)
    except ImportError as error:
        if error.name == "sentence_transformers":
            raise missing_extra(command, "neural") from None
        raise MissingError(f"the model in {path} needs a package that is not installed: {error}") from None
    except MemoryError:
        raise
    except Exception as error:  # every module of every release fails in its own way
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise MissingError(f"sentence-transformers cannot load the model in {path}: {lines[0]}") from None
    refuse_random_weights(path, messages)
    # Its model card, which nlpkit never writes, holds it in a cycle: its weights would stay until Python looks for such, which is rare.
    model.model_card_data.model = None
    if getattr(getattr(model[0], "model", None), "base_model_prefix", "") == "backbone":  # Mamba
        from nlpkit.platform.lab_networks import with_scan

        with_scan(model)
    return model


def checked_max_tokens(wanted: int | None, usual: int | None, limit: int, specials: int) -> int:
    """Return how many tokens of a text the model sees; UsageError when it cannot see as many, or not even one."""
    if wanted is None:
        return min(usual or limit, limit)
    if not specials < wanted <= limit:
        raise UsageError(f"`max_tokens={wanted}`: this model takes {specials + 1} to {limit} tokens of a text")
    return wanted


def refuse_random_weights(path: Path, messages: Sequence[str]) -> None:
    """Raise MissingError when transformers said that it made up weights the files do not have (poolers apart)."""
    for message in messages:
        for line in message.splitlines():
            made_up = "MISSING" in line or "newly initialized" in line
            if made_up and "pooler" not in line and "|" in line:
                name = line.split("|")[0].strip()
                raise MissingError(f"the weights in {path} do not fit its config.json: missing '{name}'")


@contextlib.contextmanager
def quiet() -> Iterator[list[str]]:
    """Keep warnings, log lines and progress bars of the libraries off the screen; yields what they logged."""
    messages: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    listener = Listener()
    loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from transformers.utils import logging as hf_logging
        except ImportError:
            hf_logging = None
        bars = hf_logging is not None and hf_logging.is_progress_bar_enabled()
        before: list[tuple[Any, ...]] = [(log.handlers, log.propagate, log.level) for log in loggers]
        for log in loggers:
            log.handlers, log.propagate, log.level = [listener], False, logging.WARNING
        if bars:
            hf_logging.disable_progress_bar()
        try:
            yield messages
        finally:
            if bars:
                hf_logging.enable_progress_bar()
            for log, (handlers, propagate, level) in zip(loggers, before, strict=True):
                log.handlers, log.propagate = handlers, propagate
                log.setLevel(level)


def _backend_tokenizer(model: Any) -> Any:
    """Return a copy of the model's fast tokenizer that neither cuts nor pads, or None when it has none."""
    from tokenizers import Tokenizer

    tokenizer = getattr(model, "tokenizer", None)
    tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)
    return plain(Tokenizer.from_str(tokenizer.to_str())) if isinstance(tokenizer, Tokenizer) else None
