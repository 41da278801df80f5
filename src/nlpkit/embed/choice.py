"""The choice of an engine and a precision for a model, and how close its vectors are to those in fp32.

Candidates stand in a fixed order, the fastest first. The first is taken whose vectors of the probe have a cosine of at least CLOSE to
those of torch in fp32, and are the same bytes whatever texts are beside them. So the choice depends on the model and the machine, and
never on a clock or on the documents. The other engines are no candidates unless they are named: they are no faster than torch in the
same precision (docs/benchmarks/embeddings.md).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from nlpkit.embed import bert, use
from nlpkit.embed.bert import has_integer_products
from nlpkit.embed.engines import DirectEngine, EncoderEngine, load_engine
from nlpkit.embed.graph_engines import LARGEST, GraphEngine
from nlpkit.embed.hardware import choose_precision
from nlpkit.embed.kinds import GRAPHS, PRECISIONS_OF, is_installed
from nlpkit.embed.models import ModelLayout, read_layout
from nlpkit.embed.static_engine import StaticEngine, static_folder
from nlpkit.embed.token_ids import plan_batches
from nlpkit.errors import UsageError, missing_extra

logger = logging.getLogger("nlpkit.embed")

CLOSE = 0.9999
# Article 1 of the Universal Declaration of Human Rights, and a text that is longer than most models see.
PROBE = (
    "All human beings are born free and equal in dignity and rights.",
    "They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
    "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
    "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
    "Todos los seres humanos nacen libres e iguales en dignidad y derechos.",
    "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "人人生而自由,在尊严和权利上一律平等。",
    "Price: $1,299.00 (was $1,450), delivery 3-5 days!",
    "yes",
    "",
    " ".join(f"In year {1900 + 7 * i} the committee met {i} times and heard {3 * i} reports." for i in range(60)),
)


def choose_engine(
    path: Path,
    *,
    device: torch.device,
    engine: str,
    precision: str,
    max_tokens: int | None,
    threads: int,
    prompt: str = "",
) -> tuple[EncoderEngine, float]:
    """Return the engine of a model, loaded, and the smallest cosine of its vectors of the probe to those of torch in fp32.

    What is named, and fp32 where all else fails, is taken whatever its cosine is and whether company changes its vectors or not, with a
    warning.
    Raises MissingError for an engine that is not installed, UsageError for one that does not run this model, on this device or in
    this precision, and what `load_engine` raises.
    """
    static = static_folder(path)
    if static is None and engine == "static":
        raise UsageError(
            f"`engine=static`: {path} is not a static encoder; `embed()` and `fit_bertopic()` tune one on "
            "their documents; `train_encoder(objective=static)` makes one for all commands",
            parameter="engine",
        )
    if static is not None:
        if engine not in ("auto", "static"):
            raise UsageError(
                f"`engine={engine}`: {path} is a static encoder and has no other engine", parameter="engine"
            )
        return StaticEngine.from_folder(static, max_tokens=max_tokens), 1.0
    layout = None if use.is_use(path) else read_layout(path)
    if layout is not None and not bert.supports(layout.config):
        layout = None
    _check(engine, precision, device, path, layout)
    candidates = list(_candidates(engine, precision, device))
    reference = None
    for i, (name, products) in enumerate(candidates):
        loaded = _load(
            path, layout, name, products, device=device, max_tokens=max_tokens, threads=threads, prompt=prompt
        )
        cosine = 1.0
        if (loaded.name, loaded.precision) != ("torch", "fp32"):
            if reference is None:
                exact = load_engine(
                    path, device=torch.device("cpu"), precision="fp32", max_tokens=max_tokens, prompt=prompt
                )
                reference = probe_vectors(exact)
                del exact
            cosine = float((probe_vectors(loaded) * reference).sum(axis=1).min())
        problems = _problems(loaded, cosine, device)
        if not problems:
            break
        say = f"{name} in {products} on {device}: {' and '.join(problems)}"
        if i + 1 < len(candidates):
            logger.info("%s: the next engine is tried", say)
        else:
            logger.warning("%s", say)
    return loaded, cosine


def _problems(engine: EncoderEngine, cosine: float, device: torch.device) -> list[str]:
    """Return why an engine is not taken unless it is named."""
    problems = []
    if not cosine >= CLOSE:
        problems.append(f"the cosine of vectors to those in fp32 falls to {cosine:.5f}; engine torch in fp32 is exact")
    if engine.pads:  # of no precision, and known: the guide to engines says so
        logger.debug("%s pads the texts of a batch, so company changes last digits", device)
    elif not keeps_vectors(engine):
        problems.append(
            "the last digits of a text's vector depend on the texts beside it, so shards and caches can differ from one run; "
            "see `precision` and `device`"
        )
    return problems


def keeps_vectors(engine: EncoderEngine) -> bool:
    """Return whether the vector of a text is the same bytes alone, with another text, and among many of other lengths.

    A transformer of torch is asked for its first layer alone: the products of the others have the same shapes.
    """
    shallow = engine.first_layer() if isinstance(engine, DirectEngine) else engine
    texts = [PROBE[-1], PROBE[1], PROBE[8]]  # many tokens, twenty and one
    crowd = texts + [" ".join(PROBE[1].split()[:n]) for n in range(2, 18)] * 2
    beside = embed_texts(shallow, crowd, tokens=1 << 20)[: len(texts)]
    alone = np.concatenate([embed_texts(shallow, [text], tokens=512) for text in texts])
    pair = embed_texts(shallow, texts[1:], tokens=512)
    return alone.tobytes() == beside.tobytes() and pair.tobytes() == alone[1:].tobytes()


def probe_vectors(engine: EncoderEngine) -> npt.NDArray[np.float64]:
    """Return the vectors of the probe, (texts, E) float64 of length 1, computed in one thread: the same on any number of them."""
    out = embed_texts(engine, PROBE, tokens=512).astype(np.float64)
    unit: npt.NDArray[np.float64] = out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)
    return unit


def embed_texts(engine: EncoderEngine, texts: Sequence[str], *, tokens: int) -> npt.NDArray[np.float32]:
    """Return the vectors of texts (U, E), not normalised, computed in one thread in batches of so many tokens."""
    read = engine.read(texts)
    out = np.zeros((len(texts), engine.dim), np.float32)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for batch in plan_batches(read.lengths, tokens, pad=engine.pads):
            out[batch.rows] = read.embed(batch)
    finally:
        torch.set_num_threads(before)
    return out


def _candidates(engine: str, precision: str, device: torch.device) -> Iterator[tuple[str, str]]:
    """Yield pairs of an engine and a precision, the fastest first; the last is taken whatever its cosine is."""
    if precision == "int8":
        yield "torch", "int8"
        return
    if engine == "onnx":
        yield "onnx", "fp32"
        return
    fastest = choose_precision(precision, device)
    wanted = [fastest] if precision != "auto" or fastest == "fp32" else [fastest, "fp32"]
    if engine == "openvino":
        yield from (("openvino", name) for name in wanted)
        return
    if device.type == "cuda" and wanted == ["bf16", "fp32"]:
        wanted = ["bf16", "fp16", "fp32"]
    yield from (("torch", name) for name in wanted)


def _check(engine: str, precision: str, device: torch.device, path: Path, layout: ModelLayout | None) -> None:
    """Refuse an engine that does not run this model here, or a precision that it does not have."""
    engine = "torch" if engine == "auto" else engine
    known = PRECISIONS_OF[engine]
    if precision not in ("auto", *known):
        raise UsageError(f"`precision={precision}`: {engine} computes in {', '.join(known)}", parameter="precision")
    if engine not in GRAPHS and precision != "int8":
        return
    if not is_installed(engine):
        raise missing_extra(f"`engine={engine}`", engine)
    option = "precision=int8" if precision == "int8" else f"engine={engine}"
    if device.type != "cpu":
        raise UsageError(f"`{option}` is for cpu, and the device is {device}; give `device=cpu`, or leave it out")
    if layout is None:
        kinds = ", ".join(bert.MODEL_TYPES)
        raise UsageError(
            f"`{option}` is for transformers with plain pooling ({kinds}), and {path} is none; leave it out"
        )
    if precision == "int8" and not has_integer_products():
        logger.warning(
            "this processor has no products of 8-bit integers (AVX-512 VNNI): `precision=int8` takes more time than fp32"
        )
    if engine in GRAPHS and not _fits(layout):
        raise UsageError(f"`engine={engine}` takes weights of less than 2 GiB in fp32, {path} has more; leave it out")


def _fits(layout: ModelLayout) -> bool:
    """Return whether the weights of a model fit into a graph."""
    from safetensors import safe_open

    total = 0
    for file in layout.folder.glob("*.safetensors"):
        with safe_open(file, framework="np") as weights:
            total += sum(4 * int(np.prod(weights.get_slice(name).get_shape())) for name in weights.keys())  # noqa: SIM118
    return total <= LARGEST


def _load(
    path: Path,
    layout: ModelLayout | None,
    engine: str,
    precision: str,
    *,
    device: torch.device,
    max_tokens: int | None,
    threads: int,
    prompt: str,
) -> EncoderEngine:
    """Load a model for one candidate."""
    if engine == "torch":
        return load_engine(path, device=device, precision=precision, max_tokens=max_tokens, prompt=prompt)
    assert layout is not None
    return GraphEngine(engine, layout, precision=precision, max_tokens=max_tokens, threads=threads)
