"""Options of embeddings, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import FOLDER_WRITTEN, READ, Param, options

if TYPE_CHECKING:
    from nlpkit.embed.encoder import Encoder

STATIC = {"static": {"sample": 10_000}}  # texts that a static encoder is tuned on
LEAST_SAMPLE = 100
DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"


@options
class EncoderOptions:
    """Options of embeddings: the model and its settings."""

    PANEL: ClassVar[str] = "Embeddings"

    encoder: Annotated[
        str | None,
        Param(
            "Embedding model: a folder, a Hugging Face name, or URL#MODEL (a server with OpenAI's protocol; texts are sent there). "
            '"multilingual": 16 languages (extra multilingual). Default: the embedding '
            f"column if present, otherwise {DEFAULT_ENCODER}. A column made by another model is computed again."
        ),
        READ,
    ] = None
    device: Annotated[
        str | None,
        Param("Device of the model: cpu, cuda, mps, or several GPUs (cuda:0,cuda:1). Default: the fastest available."),
    ] = None
    engine: Annotated[
        str,
        Param(
            "Inference engine: torch, openvino, onnx, or auto (the fastest with a cosine of at least 0.9999 to "
            "fp32; today torch). sbert-embed and bertopic also take static(sample=20000): token vectors tuned on a "
            "sample of the documents.",
            metavar="NAME",
        ),
    ] = "auto"
    precision: Annotated[
        str,
        Param(
            "Precision: fp32, bf16, fp16, int8 (CPU only; faster, less exact), or auto (bf16 where the device "
            "supports it)."
        ),
    ] = "auto"
    max_tokens: Annotated[
        int | None,
        Param(
            "Maximum number of tokens per window. Default: the model's own limit.",
            min=2,
        ),
    ] = None
    offline: Annotated[bool, Param("Never contact the Hugging Face hub.")] = False
    long: Annotated[
        str | None,
        Param(
            "Texts longer than the window: mean (average over windows, weighted by tokens), max, or truncate. "
            "Default: mean; truncate if `max_tokens` is set.",
            metavar="HOW",
        ),
    ] = None
    prompt: Annotated[
        str | None,
        Param(
            "Text to put before each document, such as 'query: ' for e5 models. Default: the model's own prompt, "
            "if it has one.",
            metavar="TEXT",
        ),
    ] = None
    truncate_dim: Annotated[
        int | None, Param("Keep only the first N numbers of each vector (for Matryoshka models).", metavar="N", min=1)
    ] = None
    cache: Annotated[
        Path | None,
        Param("Folder for cached embeddings, reused by later runs.", metavar="DIR"),
        FOLDER_WRITTEN,
    ] = None

    @classmethod
    def from_value(cls, value: EncoderOptions | str | Path | None) -> EncoderOptions:
        """Return the options that a person gives from Python: themselves, the name or folder of a model, or None."""
        if isinstance(value, EncoderOptions):
            return value
        return cls() if value is None else cls(encoder=str(value))

    @property
    def name(self) -> str:
        """The model that was asked for, else the usual one."""
        return self.encoder or DEFAULT_ENCODER

    def requested(self) -> list[str]:
        """Return the options that request certain embeddings, as messages name them."""
        names = ("encoder", "max_tokens", "long", "prompt", "truncate_dim")
        named = [f"`{name}`" for name in names if getattr(self, name) is not None]
        return named if self.static_sample() is None else [*named, "`engine`"]

    def refuse(self, why: str) -> None:
        """Raise UsageError when one of these options is given and would change nothing."""
        if self.requested():
            raise UsageError(f"{', '.join(self.requested())}: {why}")

    def refuse_others(self, used: Sequence[str], why: str) -> None:
        """Raise UsageError when an option that is not among those used is given, and would change nothing."""
        for one in fields(self):
            if one.name not in used and getattr(self, one.name) != one.default:
                raise UsageError(f"`{one.name}`: {why}", parameter=one.name)

    def static_sample(self) -> int | None:
        """Return the number of texts that a static encoder is tuned on, None where `engine` is another. Raises UsageError."""
        from nlpkit.platform.named_options import parse_options

        if not self.engine.lower().startswith("static"):
            return None
        sample = int(parse_options(self.engine, STATIC, "engine")[1]["sample"])
        if sample < LEAST_SAMPLE:
            raise UsageError(
                f"`engine={self.engine}`: a sample of at least {LEAST_SAMPLE} texts is needed", parameter="engine"
            )
        return sample

    def load(self, threads: int) -> Encoder:
        """Load the encoder. Raises MissingError when the model or the extra is not there."""
        from nlpkit.embed.loading import load_encoder

        engine = self.engine if self.static_sample() is None else "static"
        return load_encoder(
            self.name, device=self.device, engine=engine, precision=self.precision, max_tokens=self.max_tokens, threads=threads,
            offline=self.offline, long=self.long, prompt=self.prompt, truncate_dim=self.truncate_dim,
        )  # fmt: skip


@options
class SbertOptions(EncoderOptions):
    """Options of embeddings for a command whose purpose is to embed."""

    encoder: Annotated[
        str,
        Param(
            "Embedding model: a folder, a Hugging Face name, or URL#MODEL (a server with OpenAI's protocol; texts are sent there). "
            '"multilingual": 16 languages (extra multilingual).',
            ("model", "encoder"),
        ),
        READ,
    ] = DEFAULT_ENCODER


METHODS = ("sbert", "doc2vec", "mean-words")


@options
class DocumentMethodOptions:
    """The kind of vectors that documents get."""

    PANEL: ClassVar[str] = "Embeddings"

    method: Annotated[
        str,
        Param(
            "Method: sbert, mean-words (mean of the word vectors in `vectors`), or doc2vec. doc2vec learns from "
            "these documents; with `vectors` RUN it uses the document vectors of that run.",
            metavar="METHOD",
            choices=METHODS,
        ),
    ] = "sbert"
    vectors: Annotated[
        Path | None,
        Param(
            "Word vectors for mean-words (run of embed-words or a file), or a doc2vec run that contains these "
            "documents.",
            metavar="VECTORS",
            needs=("method=mean-words", "method=doc2vec"),
        ),
        READ,
    ] = None
    dtype: Annotated[
        str,
        Param(
            "How to store numbers: float32, float16, int8, or binary (one bit each). int8 and binary keep "
            "directions only, not lengths.",
            metavar="TYPE",
            choices=("float32", "float16", "int8", "binary"),
        ),
    ] = "float32"

    def check(self, encoder: EncoderOptions, *, normalize: bool = True) -> None:
        """Refuse options that do not go together.

        Raises:
            UsageError: an unknown method or type, mean-words without vectors, sbert with them, an encoder for another method, a type
                that has no length for vectors that are not normalised, one that has no zero for the vectors of words.
        """
        if self.dtype in ("int8", "binary") and not normalize:
            raise UsageError(
                f"`dtype={self.dtype}` keeps the directions of vectors but not their lengths; leave "
                "`normalize=False` out"
            )
        if self.dtype == "binary" and self.method != "sbert":
            raise UsageError(
                "`dtype=binary` cannot store a vector of zeros, which a document without known words needs; use int8"
            )
        if self.method == "mean-words" and self.vectors is None:
            raise UsageError("`method=mean-words` needs word vectors: give `vectors`", parameter="vectors")
        if self.method != "sbert" and (encoder.name != DEFAULT_ENCODER or len(encoder.requested()) > 1):
            raise UsageError(
                f"{', '.join(encoder.requested())}: only for `method=sbert`, not {self.method}", parameter="method"
            )
