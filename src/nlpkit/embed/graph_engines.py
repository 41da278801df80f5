"""Engines that run a model of the BERT family as a graph on a CPU: OpenVINO and ONNX Runtime.

The graph is `nlpkit.embed.graphs`; pooling is the same for every engine. A text is padded to a width that follows from its own length,
and texts of one width make one call, on one thread; rows of a call are computed alike whatever their number is. So here, too,
the vector of a text depends on nothing but the text. This module loads without onnx, which an extra installs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from nlpkit.embed.engines import BertEngine, Texts, bert_weights
from nlpkit.embed.models import ModelLayout
from nlpkit.embed.pooling import pool
from nlpkit.embed.token_ids import Batch, IntArray, TokenIds

FloatArray = npt.NDArray[np.float32]
Run = Callable[[IntArray, IntArray], FloatArray]  # ids (B, T), lengths (B,) → token vectors (B, T, H)

LARGEST = 2**31 - 2**24  # bytes of weights: a graph is one protobuf message, which holds less than 2 GiB
WIDTH_STEP = 8  # widths are multiples of it: few shapes for which code has to be made, and little padding


class GraphEngine(BertEngine):
    """A model of the BERT family, run as a graph by OpenVINO or by ONNX Runtime."""

    pads = False

    def __init__(self, name: str, layout: ModelLayout, *, precision: str, max_tokens: int | None, threads: int) -> None:
        """Build the graph. Raises UsageError for a model that is too large for one, MissingError for a weight that is missing."""
        from nlpkit.embed.graphs import build

        super().__init__(layout, precision=precision, max_tokens=max_tokens)
        self.name = name
        with bert_weights(layout) as weights:
            graph = build(layout.config, weights)
        self.run = openvino_run(graph, precision, threads) if name == "openvino" else onnxruntime_run(graph)
        self.dim = graph.graph.output[0].type.tensor_type.shape.dim[2].dim_value * len(self.modes)

    def read(self, texts: Sequence[str]) -> Texts:
        return GraphTexts(self, texts)


class GraphTexts(TokenIds):
    """Token ids that the engine's graph embeds."""

    def __init__(self, engine: GraphEngine, texts: Sequence[str]) -> None:
        super().__init__(engine.reader, texts, engine.max_tokens)
        self._engine = engine

    def embed(self, batch: Batch) -> FloatArray:
        lengths = self.lengths[batch.rows]
        widths = -(-lengths // WIDTH_STEP) * WIDTH_STEP
        at = 0
        parts = []
        while at < len(lengths):  # longest first, so equal widths are neighbours
            rows = int(np.count_nonzero(widths == widths[at]))
            part, at = slice(at, at + rows), at + rows
            ids = self.lay_out(batch.rows[part], widths[part]).reshape(-1, int(widths[part][0]))
            hidden = torch.from_numpy(self._engine.run(ids, lengths[part]))
            parts.append(pool(hidden, torch.from_numpy(lengths[part]), self._engine.modes))
        vectors: FloatArray = torch.cat(parts).numpy()
        return vectors


def openvino_run(graph: Any, precision: str, threads: int) -> Run:
    """Return the graph as OpenVINO runs it: a stream of one thread for each of our threads."""
    import openvino

    core = openvino.Core()
    settings = {
        "INFERENCE_PRECISION_HINT": {"fp32": "f32", "bf16": "bf16"}[precision],
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": threads,
        "ENABLE_CPU_PINNING": False,  # several processes would be tied to the same cores
    }
    model = core.compile_model(core.read_model(graph.SerializeToString()), "CPU", settings)
    local = threading.local()

    def run(ids: IntArray, lengths: IntArray) -> FloatArray:
        if not hasattr(local, "request"):
            local.request = model.create_infer_request()
        hidden: FloatArray = local.request.infer({"ids": ids, "lengths": lengths}, share_inputs=True)["hidden"]
        return hidden

    return run


def onnxruntime_run(graph: Any) -> Run:
    """Return the graph as ONNX Runtime runs it, in the thread that asks for it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # a plan of memory for each shape, of which there are many
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run(ids: IntArray, lengths: IntArray) -> FloatArray:
        hidden: FloatArray = session.run(["hidden"], {"ids": ids, "lengths": lengths})[0]
        return hidden

    return run
