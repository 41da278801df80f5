"""What a layer costs as texts grow: seconds and peak memory of one pass, and of one with its way back, over the length of the text.

    nice -n 15 python tests/benchmarks/bench_attention_cost.py --out /tmp/cost.json --pictures docs/images
    python tests/benchmarks/bench_attention_cost.py --draw /tmp/cost.json --pictures docs/images

One layer of each kind, of equal width, reads one text on one thread. Seconds are processor time, the least of several passes; memory is
what the process takes beyond what it had before the pass. Each measurement is a process of its own. What would take more than
--most-gb by the growth so far is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from harness import memory
from torch import Tensor, nn

from nlpkit.lab.architectures.encoder import Choices, TransformerBlock
from nlpkit.lab.architectures.recurrent import RecurrentBlock
from nlpkit.lab.architectures.state_space import with_scan
from nlpkit.platform.views.chart import COLOURS, Chart, Curve, draw_picture

LENGTHS = [128 * 2**i for i in range(8)]
H, HEADS = 128, 2
SPARSE = {"window": 64, "dilation": 4, "global_tokens": 4, "random_blocks": 3, "block": 32}
KINDS: dict[str, dict[str, Any]] = {
    "full": {},
    "windowed": {"attention": "windowed"},
    "dilated": {"attention": "dilated"},
    "global": {"attention": "global"},
    "random": {"attention": "random"},
    "windowed+global+random": {"attention": "windowed+global+random"},
}
# positions and activation are compared at one length, in full and in windowed attention
PARTS: dict[str, dict[str, Any]] = {
    "sinusoidal, ReLU, LayerNorm": {}, "rope": {"positions": "rope"}, "alibi": {"positions": "alibi"},
    "relative": {"positions": "relative"}, "swiglu": {"activation": "swiglu"}, "rmsnorm": {"norm": "rmsnorm"},
}  # fmt: skip
PART_LENGTH = 1024
WAYS = {"forward": False, "forward and back": True}


def transformer(T: int, choices: dict[str, Any]) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    """Return a layer with these choices and its pass."""
    parts = choices.get("attention", "full").split("+")
    used = {
        name: SPARSE[name]
        for name, of in {
            "window": ("windowed", "dilated"), "dilation": ("dilated",), "global_tokens": ("global",), "random_blocks": ("random",),
        }.items()
        if set(of) & set(parts)
    }  # fmt: skip
    block = {} if parts == ["full"] else {"block": SPARSE["block"]}
    layer = TransformerBlock(H, HEADS, 0.0, Choices(**{**used, **block, **choices}), longest=T, causal=False)
    layer.attention.reset()
    mask, P = torch.ones(1, T, dtype=torch.long), torch.randn(2 * Choices().span, H, requires_grad=True)
    return layer, lambda x: layer(x, mask, P if choices.get("positions") == "relative" else None)


def layer_of(kind: str, T: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    """Return a layer of a kind and its pass over a text (1, T, H)."""
    if kind in KINDS:
        return transformer(T, KINDS[kind])
    if kind == "lstm":
        layer, mask = RecurrentBlock("lstm", H, 0.0), torch.ones(1, T, dtype=torch.long)
        return layer, lambda x: layer(x, mask)
    from transformers import MambaConfig, MambaModel

    model = with_scan(MambaModel(MambaConfig(vocab_size=8, hidden_size=H, num_hidden_layers=1, state_size=16)))
    return model.layers[0], model.layers[0]


def measure(make: Callable[[], tuple[nn.Module, Callable[[Tensor], Tensor]]], T: int, back: bool, out: Any) -> None:
    """Send seconds and MB of a pass over T tokens."""
    torch.manual_seed(0)
    layer, forward = make()
    x = torch.randn(1, T, H)
    parameters = list(layer.parameters())

    def once() -> None:
        with torch.set_grad_enabled(back):
            y = forward(x)
        if back:
            torch.autograd.grad(y.sum(), parameters, allow_unused=True)

    before, spent = memory("VmRSS"), []
    while len(spent) < 2 or (sum(spent) < 0.3 and len(spent) < 30):
        begun = time.process_time()
        once()
        spent.append(time.process_time() - begun)
        if spent[-1] > 5:
            break
    out.send((min(spent), max(0.0, memory("VmHWM") - before)))


def apart(make: Callable[[], tuple[nn.Module, Callable[[Tensor], Tensor]]], T: int, back: bool) -> tuple[float, float]:
    """Return seconds and MB of a pass, measured in a process of its own."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=measure, args=(make, T, back, theirs))
    process.start()
    theirs.close()
    result: tuple[float, float] = ours.recv()
    process.join()
    return result


def curves(
    kinds: list[str], lengths: list[int], most_mb: float
) -> dict[str, dict[str, list[tuple[int, float, float]]]]:
    """Return (T, seconds, MB) of each kind and way, up to the length whose memory would be too much."""
    rows: dict[str, dict[str, list[tuple[int, float, float]]]] = {}
    for kind in kinds:
        for way, back in WAYS.items():
            points: list[tuple[int, float, float]] = []
            for T in lengths:
                growth = 1.0 if len(points) < 2 else points[-1][2] / max(points[-2][2], 1.0)
                if points and points[-1][2] * max(2.0, growth) > most_mb:
                    break
                points.append((T, *apart(lambda T=T, kind=kind: layer_of(kind, T), T, back)))  # type: ignore[misc]
                print(f"{kind:24} {way:18} {T:6,} {points[-1][1]:9.4f} s {points[-1][2]:8.1f} MB", flush=True)
            rows.setdefault(kind, {})[way] = points
    return rows


def compare_parts(attention: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return seconds and MB, forward and back, of each part of a layer at one length."""
    T = PART_LENGTH
    return {
        name: apart(lambda choices=choices: transformer(T, {**attention, **choices}), T, True)  # type: ignore[misc]
        for name, choices in PARTS.items()
    }


def cell(seconds: float, mb: float) -> str:
    """Return milliseconds; MB."""
    spent = 1000 * seconds
    return f"{spent:,.0f}; {mb:,.0f}" if spent >= 100 else f"{spent:.3g}; {mb:,.0f}"


def tables(results: dict[str, Any]) -> str:
    """Return the tables in Markdown."""
    lengths = sorted({int(p[0]) for ways in results["curves"].values() for points in ways.values() for p in points})
    lines = []
    for way in WAYS:
        lines += [f"\n{way}, milliseconds; MB\n", "| layer | " + " | ".join(f"{T:,}" for T in lengths) + " |"]
        lines.append("|---" * (len(lengths) + 1) + "|")
        for kind, ways in results["curves"].items():
            by_length = {int(T): cell(s, mb) for T, s, mb in ways[way]}
            lines.append(f"| {kind} | " + " | ".join(by_length.get(T, "") for T in lengths) + " |")
    lines += [
        f"\nforward and back over {PART_LENGTH:,} tokens, milliseconds; MB\n",
        "| part | full | windowed |",
        "|---|---|---|",
    ]
    for name in PARTS:
        cells = [cell(s, mb) for s, mb in (results["parts"][a][name] for a in ("full", "windowed"))]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(results: dict[str, Any], folder: Path) -> None:
    """Write the pictures of time and memory, forward and back."""
    for column, name, label in ((1, "attention-seconds", "milliseconds"), (2, "attention-memory", "MB")):
        drawn = []
        for i, (kind, ways) in enumerate(results["curves"].items()):
            points = np.array(ways["forward and back"], float)
            look = "line" if kind in KINDS else "dashed"
            drawn.append(
                Curve(
                    kind,
                    points[:, 0],
                    points[:, column] * (1000 if column == 1 else 1),
                    look,
                    COLOURS[i % len(COLOURS)],
                )
            )
        title = f"One layer of width {H}, one text, one thread, forward and back"
        (folder / f"{name}.svg").write_bytes(
            draw_picture(Chart(title, "tokens of the text", label, drawn, log=True), "svg")
        )


def main() -> None:
    """Measure, write the numbers, print the tables and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, "mamba", "lstm"])
    parser.add_argument("--most-gb", type=float, default=8.0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--draw", type=Path, help="take the numbers from this file, and measure nothing")
    parser.add_argument("--pictures", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.draw:
        results = json.loads(args.draw.read_text(encoding="utf-8"))
    else:
        import transformers.models.mamba.modeling_mamba  # noqa: F401 — before the processes part

        parts = {name: compare_parts(choices) for name, choices in (("full", {}), ("windowed", KINDS["windowed"]))}
        results = {"parts": parts, "curves": curves(args.kinds, args.lengths, 1000 * args.most_gb)}
        if args.out:
            args.out.write_text(json.dumps(results), encoding="utf-8")
    print(tables(results))
    if args.pictures:
        draw(results, args.pictures)


if __name__ == "__main__":
    main()
