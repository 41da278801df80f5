"""The forward pass of `nlpkit.embed.bert` as an ONNX graph, which ONNX Runtime and OpenVINO run.

It is built from the weights and not traced, so it needs no converter and no converted file that could be out of date.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from nlpkit.embed import bert

OPSET = 20  # the first with Gelu
UNSEEN = -1e30  # score of padding; -inf would make rows of padding alone NaN


def build(config: Mapping[str, Any], weights: Mapping[str, Any]) -> onnx.ModelProto:
    """Return the graph: ids (B, T) int64 and lengths (B,) int64 to token vectors hidden (B, T, H) float32.

    config: of transformers; weights: float tensors of torch by name. Raises KeyError for a weight that is missing.
    """
    return _Graph(config, weights).model()


class _Graph:
    """Nodes and constants, as they are added."""

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, Any]) -> None:
        self.w = bert.canonical_names(str(config["model_type"]), weights)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.config = config

    def const(self, value: Any, name: str = "") -> str:
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def ints(self, *values: int) -> str:
        return self.const(np.array(values, np.int64))

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def weight(self, name: str) -> Any:
        return self.w[name].float().numpy()

    def linear(self, x: str, name: str, scale: float = 1.0) -> str:
        """Return x Wᵀ + b."""
        W, b = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        if scale != 1.0:
            W, b = W * np.float32(scale), b * np.float32(scale)
        product = self.add("MatMul", x, self.const(W.T, f"{name}.weight"))
        return self.add("Add", product, self.const(b))

    def norm(self, x: str, name: str) -> str:
        gain, shift = self.const(self.weight(f"{name}.weight")), self.const(self.weight(f"{name}.bias"))
        return self.add("LayerNormalization", x, gain, shift, axis=-1, epsilon=bert.epsilon(self.config))

    def model(self) -> onnx.ModelProto:
        config = self.config
        words = self.weight("embeddings.word_embeddings.weight")
        heads, size = bert.heads(config), words.shape[1]
        positions = bert.position_vectors(config, self.w)
        zero, one = self.ints(0), self.ints(1)
        width = self.add("Slice", self.add("Shape", "ids"), one, self.ints(2))
        scalar = self.add("Squeeze", width, zero)
        places = self.add("Range", self.const(np.array(0, np.int64)), scalar, self.const(np.array(1, np.int64)))
        seen = self.add("Less", places, self.add("Unsqueeze", "lengths", one))
        bias = self.add("Where", seen, self.const(np.zeros((), np.float32)), self.const(np.array(UNSEEN, np.float32)))
        bias = self.add("Unsqueeze", bias, self.ints(1, 2))  # (B, 1, 1, T)
        if config["model_type"] == "mpnet":
            pairs = bert.relative_bias(self.w["encoder.relative_attention_bias.weight"].float(), len(positions))
            ends = self.add("Concat", width, width, axis=0)
            axes, starts = self.ints(1, 2), self.ints(0, 0)
            bias = self.add("Add", bias, self.add("Slice", self.const(pairs.numpy()), starts, ends, axes))
        x = self.add("Gather", self.const(words, "words"), "ids")
        x = self.add("Add", x, self.add("Slice", self.const(positions.numpy()), zero, width))
        x = self.norm(x, "embeddings.LayerNorm")
        split = self.ints(0, 0, heads, size // heads)
        joined = self.ints(0, 0, size)
        for i in range(bert.depth(self.w)):
            at = f"encoder.layer.{i}."

            def part(x: str, name: str, order: list[int], scale: float = 1.0, at: str = at) -> str:
                projected = self.linear(x, f"{at}attention.self.{name}", scale)
                return self.add("Transpose", self.add("Reshape", projected, split), perm=order)

            q = part(x, "query", [0, 2, 1, 3], (size // heads) ** -0.5)
            k, v = part(x, "key", [0, 2, 3, 1]), part(x, "value", [0, 2, 1, 3])
            scores = self.add("Add", self.add("MatMul", q, k), bias)
            mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), v)
            mixed = self.add("Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), joined)
            x = self.norm(
                self.add("Add", self.linear(mixed, f"{at}attention.output.dense"), x),
                f"{at}attention.output.LayerNorm",
            )
            up = self.act(self.linear(x, f"{at}intermediate.dense"))
            x = self.norm(self.add("Add", self.linear(up, f"{at}output.dense"), x), f"{at}output.LayerNorm")
        self.nodes.append(helper.make_node("Identity", [x], ["hidden"]))
        graph = helper.make_graph(
            self.nodes,
            "encoder",
            [
                helper.make_tensor_value_info("ids", TensorProto.INT64, ["B", "T"]),
                helper.make_tensor_value_info("lengths", TensorProto.INT64, ["B"]),
            ],
            [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["B", "T", size])],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)

    def act(self, x: str) -> str:
        kind, approximate = bert.activation(self.config)
        return self.add("Relu", x) if kind == "relu" else self.add("Gelu", x, approximate=approximate)
