"""The Markdown tables of bench_lda.py."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from lda_tools import OWN, TOOLS, VARIATIONAL

GROUP = ("corpus", "limit", "held_out", "k", "sweeps", "passes", "more", "points", "alpha", "eta")  # rows of one table
NOISE = 0.2  # CPUs that others may use while a tool runs


def mean(rows: list[dict[str, Any]], name: str) -> float | None:
    values = [row[name] for row in rows]
    return None if None in values else float(np.mean(values))


def seconds_to(curve: Any, target: float | None) -> float | None:
    """Return the seconds at which a curve (sweep, seconds, value) first has a value, linear between points; None if it has not."""
    if curve is None or target is None:
        return None
    for (_, t0, v0), (_, t1, v1) in pairwise(curve):
        if v1 >= target:
            return float(t0 + (t1 - t0) * max(0.0, target - v0) / max(v1 - v0, 1e-300))
    return None


def shown(value: float | None, form: str = ".1f") -> str:
    return "–" if value is None else format(value, form)


def ratio(a: float | None, b: float | None) -> str:
    return "–" if a is None or b is None else f"{a / b:.2f}×"


def star(row: dict[str, Any]) -> str:
    return "*" if row["elsewhere"] > NOISE else ""


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the tables of all stored rows."""
    lines: list[str] = []
    groups = dict.fromkeys(tuple(r[x] for x in GROUP) for r in rows if r["kind"] == "run")
    for group in groups:
        lines += table_of_k([r for r in rows if r["kind"] == "run" and tuple(r[x] for x in GROUP) == group])
    lines += growth_table([r for r in rows if r["kind"] == "growth"])
    for r in (r for r in rows if r["kind"] == "compile"):
        lines += ["", f"Kernels compiled in {r['cold_s']:.2f} s cold, {r['cached_s']:.2f} s from the cache on disk "
                      f"(imports apart: {r['import_s']:.2f} s)."]  # fmt: skip
    return "\n".join(lines).strip()


def table_of_k(rows: list[dict[str, Any]]) -> list[str]:
    """Return a table of one corpus, K and number of sweeps, and a line on each number of threads."""
    one = rows[0]
    lines = ["", f"**{one['corpus']}, K = {one['k']}** ({one['documents']:,} documents, {one['tokens']:,} tokens, "
                 f"{one['terms']:,} terms; alpha {one['alpha']:g}, eta {one['eta']:g}; {one['sweeps']} sweeps, "
                 f"{one['passes']} passes; seeds: {len({r['seed'] for r in rows})})", "",
             "| tool | threads | setup s | s | s per sweep | last LL per token | s to target | nlpkit s to this tool's LL "
             "| times as fast | held-out perplexity | peak MB (base) |", "|---|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    words: list[str] = []
    for threads in sorted({r["threads"] for r in rows}):
        here = {tool: summary(rows, tool, threads) for tool in TOOLS}
        here = {tool: x for tool, x in here.items() if x}
        target = max((x["ll"] for tool, x in here.items() if tool != OWN and x["ll"] is not None), default=None)
        for tool, x in here.items():
            x["reached"] = seconds_to(x["curve"], target)
            x["own"] = None if tool == OWN else seconds_to(x["own_curve"], x["ll"])
            lines.append(
                f"| {tool} | {threads} | {x['setup_s']:.2f} | {x['seconds']:.2f}{star(x)} | {x['seconds'] / x['sweeps']:.3f} | "
                f"{shown(x['ll'], '.4f')} | {shown(x['reached'], '.2f')} | {shown(x['own'], '.2f')} | "
                f"{ratio(x['seconds'], x['own'])} | {shown(x['perplexity'])} | "
                f"{x['peak_mb']:.0f} ({shown(x['base_mb'], '.0f')}) |"
            )
        if OWN in here and target is not None:
            words += ["", said(threads, target, here)]
    if any(map(star, rows)):
        words += ["", f"\\* other processes had more than {NOISE} CPUs meanwhile: not to be used."]
    versions = sorted({f"{r['tool'].split()[0]} {r['version']}" for r in rows if "version" in r})
    words += ["", f"Versions: {', '.join(versions)}."]
    return lines + words


def summary(rows: list[dict[str, Any]], tool: str, threads: int) -> dict[str, Any]:
    """Return the means of a tool's runs, and nlpkit's curve and setup of the same seeds and sessions (None if there are none)."""
    some = [r for r in rows if (r["tool"], r["threads"]) == (tool, threads)]
    if not some:
        return {}
    turns = {(r["seed"], r["session"]) for r in some}
    own = [r for r in rows if (r["tool"], r["threads"]) == (OWN, threads) and (r["seed"], r["session"]) in turns]
    own = own if len(own) == len(some) else []
    sweeps = some[0]["passes" if tool in VARIATIONAL else "sweeps"]
    curve, own_curve = curve_of(some), curve_of(own)
    result = {x: mean(some, x) for x in ("setup_s", "seconds", "perplexity", "peak_mb", "base_mb", "elsewhere")}
    result |= {"curve": curve, "own_curve": own_curve, "own_setup": mean(own, "setup_s") if own else None}
    return result | {"sweeps": sweeps, "ll": None if curve is None else next(v for n, _, v in curve if n == sweeps)}


def curve_of(rows: list[dict[str, Any]]) -> Any:
    return np.mean([r["trace"] for r in rows], axis=0) if rows and rows[0]["trace"] else None


def said(threads: int, target: float, here: dict[str, Any]) -> str:
    """Return the sentence that compares nlpkit with its best peers."""
    mine = here[OWN]
    peers = {tool: x for tool, x in here.items() if tool != OWN}
    best = min((tool for tool, x in peers.items() if x["reached"] is not None), key=lambda tool: peers[tool]["reached"])
    there, own = peers[best]["reached"], seconds_to(peers[best]["own_curve"], target)
    text = f"{threads} thread{'s' * (threads > 1)}: LL {target:.4f} is reached by {best} in {there:.2f} s, "
    if peers[best]["own_curve"] is None:
        text += "nlpkit was not measured in the same session"
    elif own is None:
        _, seconds, last = peers[best]["own_curve"][-1]
        text += f"by nlpkit not in {seconds:.2f} s (LL {last:.4f})"
    else:
        both = ratio(there + peers[best]["setup_s"], own + peers[best]["own_setup"])
        text += f"by nlpkit in {own:.2f} s: {ratio(there, own)} as fast, setup included {both}"
    known = {tool: x["seconds"] / x["own"] for tool, x in peers.items() if x["own"]}
    if known:
        low = min(known, key=lambda tool: known[tool])
        text += f"; smallest ratio at a peer's own last LL {known[low]:.2f}× ({low})"
    scored = {tool: x["perplexity"] for tool, x in peers.items() if x["perplexity"] is not None}
    gibbs = {tool: x for tool, x in scored.items() if tool not in VARIATIONAL}
    if scored and mine["perplexity"] is not None:
        lowest = dict.fromkeys(min(some, key=lambda tool: some[tool]) for some in (gibbs, scored) if some)
        text += "; held-out perplexity "
        text += ", ".join(f"{mine['perplexity'] / scored[tool] - 1:+.2%} beside {tool}" for tool in lowest)
    return text + "."


def growth_table(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    lines = ["", f"**Growth** ({rows[0]['corpus']}, K = {rows[0]['k']}, {rows[0]['sweeps']} sweeps)", "",
             "| tool | threads | corpus | tokens | setup s | s per sweep | M tokens/s | peak MB (base) | bytes per token |",
             "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    newest = {tuple(r[x] for x in ("tool", "threads", "corpus", "limit", "k", "copies")): r for r in rows}
    for r in newest.values():
        each = r["seconds"] / r["sweeps"]
        above = None if r["base_mb"] is None else (r["peak_mb"] - r["base_mb"]) * 2**20 / r["tokens"]
        lines.append(
            f"| {r['tool']} | {r['threads']} | {r['copies']}× | {r['tokens']:,} | {r['setup_s']:.2f} | {each:.3f}{star(r)} | "
            f"{r['tokens'] / each / 1e6:.2f} | {r['peak_mb']:.0f} ({shown(r['base_mb'], '.0f')}) | {shown(above)} |"
        )
    return lines
