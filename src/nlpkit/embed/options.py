"""Options of embeddings, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from nlpkit.errors import UsageError, unknown_value
from nlpkit.parameters import FOLDER_WRITTEN, READ, Param, options

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
            "A sentence-transformers model: folder, or name on the hub; multilingual is one of 16 languages that comes as a package. "
            "When it is given, a column 'embedding' that another model made is made anew; default: that column, else "
            f"{DEFAULT_ENCODER}."
        ),
        READ,
    ] = None
    device: Annotated[
        str | None,
        Param("Device of the model: cpu, cuda, mps, or several GPUs (cuda:0,cuda:1); default: the best there is."),
    ] = None
    engine: Annotated[
        str,
        Param(
            "Engine of the encoder: torch, openvino, onnx, or auto (the fastest here with a cosine to fp32 of at least 0.9999: torch); "
            "in sbert-embed and bertopic also static(sample=20000): token vectors tuned on a sample of the documents.",
            metavar="NAME",
        ),
    ] = "auto"
    precision: Annotated[
        str,
        Param(
            "Precision of the encoder: fp32, bf16, fp16, int8 (on a CPU; faster, less exact), or auto (bf16 where the device has it)."
        ),
    ] = "auto"
    max_tokens: Annotated[
        int | None,
        Param(
            "Tokens that the model reads at once; longer texts are then cut, unless --long says otherwise. Default: the model's own.",
            min=2,
        ),
    ] = None
    offline: Annotated[bool, Param("Never ask the hub.")] = False
    long: Annotated[
        str | None,
        Param(
            "Texts longer than the model reads: truncate, or windows whose vectors are averaged (mean, by tokens) or maximised (max); "
            "default: mean, with --max-tokens truncate.",
            metavar="HOW",
        ),
    ] = None
    prompt: Annotated[
        str | None,
        Param(
            "Put this before every text, as some models need it: 'query: ' (e5). Default: the model's own, where it has one.",
            metavar="TEXT",
        ),
    ] = None
    truncate_dim: Annotated[
        int | None, Param("Keep the first N numbers of each vector (of a Matryoshka model).", metavar="N", min=1)
    ] = None
    cache: Annotated[
        Path | None,
        Param("Folder where embeddings are kept by text and model, and found again in later runs.", metavar="DIR"),
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
        from nlpkit.finetune.methods import parse_options

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
            "A sentence-transformers model: folder, or name on the hub; multilingual is one of 16 languages that comes as a package.",
            ("model", "encoder"),
        ),
        READ,
    ] = DEFAULT_ENCODER


METHODS = ("sbert", "doc2vec", "mean-words")
DTYPES = ("float32", "float16", "int8", "binary")


@options
class DocumentMethodOptions:
    """The kind of vectors that documents get."""

    PANEL: ClassVar[str] = "Embeddings"

    method: Annotated[
        str,
        Param(
            "Method: sbert, mean-words (mean of the word vectors of --vectors), or doc2vec (learned from these documents; with "
            "--vectors RUN, the vectors of the documents that the run learned from, of no others).",
            metavar="METHOD",
        ),
    ] = "sbert"
    vectors: Annotated[
        Path | None,
        Param(
            "Word vectors of mean-words (run of embed-words, or file), or a run of doc2vec that has these documents.",
            metavar="VECTORS",
        ),
        READ,
    ] = None
    dtype: Annotated[
        str,
        Param(
            "Numbers as they are stored: float32, float16, int8, or binary (one bit each); the last two hold directions alone.",
            metavar="TYPE",
        ),
    ] = "float32"

    def check(self, encoder: EncoderOptions, *, normalize: bool = True) -> None:
        """Refuse options that do not go together.

        Raises:
            UsageError: an unknown method or type, mean-words without vectors, sbert with them, an encoder for another method, a type
                that has no length for vectors that are not normalised, one that has no zero for the vectors of words.
        """
        if self.dtype not in DTYPES:
            raise unknown_value("dtype", self.dtype, DTYPES)
        if self.dtype in ("int8", "binary") and not normalize:
            raise UsageError(
                f"`dtype={self.dtype}` keeps the directions of vectors and not their lengths; leave `normalize=False` out"
            )
        if self.dtype == "binary" and self.method != "sbert":
            raise UsageError(
                "`dtype=binary` has no vector of zeros, which a document without known words gets; take int8"
            )
        if self.method not in METHODS:
            raise unknown_value("method", self.method, METHODS)
        if self.method == "mean-words" and self.vectors is None:
            raise UsageError("`method=mean-words` needs word vectors: give `vectors`", parameter="vectors")
        if self.method == "sbert" and self.vectors is not None:
            raise UsageError("`vectors` go with `method=mean-words` or `method=doc2vec`", parameter="vectors")
        if self.method != "sbert" and (encoder.name != DEFAULT_ENCODER or len(encoder.requested()) > 1):
            raise UsageError(f"options of a model are for `method=sbert`, not {self.method}", parameter="method")
