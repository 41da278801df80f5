"""Architectures for teaching, on the screen: merges of a tokenizer, a pretrained model, attention, the steps of a transformer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit.finetune.run import warn_growth
from nlpkit.platform import wording
from nlpkit.platform.cli import console
from nlpkit.platform.views.blocks import Block, Figure, Note, Sentence, Table
from nlpkit.platform.views.sparkline import chart, spark

if TYPE_CHECKING:
    from nlpkit.lab.attention_run import Attention
    from nlpkit.lab.pretrain.run import PretrainedModel
    from nlpkit.lab.tokenizer import SubwordTokenizer
    from nlpkit.lab.transformer import WorkedTransformer

_SHARES = {
    "pair_accuracy": "pairs of segments whose class is guessed",
    "detection_accuracy": "tokens rightly called original or replaced",
    "replaced_share": "tokens that the generator replaced",
}
_BAR = 30


def tokenizer(trained: SubwordTokenizer, target: Path) -> None:
    """Print the merges in order, or the likeliest tokens of unigram; or one JSON object."""
    facts = {"run": str(target), "type": trained.options.type, **trained.results()}
    console.say(_tokenizer(trained, facts, target), lambda: facts)


def _tokenizer(trained: SubwordTokenizer, results: Mapping[str, Any], target: Path) -> Iterator[Block]:
    if trained.merges is not None:
        rows = [
            [wording.count(row["step"]), row["left"], row["right"], row["token"], wording.count(row["count"])]
            for row in trained.merges.to_pylist()
        ]
        yield Table(
            ["step", "left", "right", "token", "count"], rows, right=["step", "count"], noun="merges",
            rest=f"{target}/merges.parquet",
        )  # fmt: skip
    yield Note(
        f"{trained.options.type}: {wording.counted(results['tokens'], 'token')} from {wording.counted(results['words'], 'word')} "
        f"({wording.count(results['different_words'])} different) of {wording.counted(results['documents'], 'document')}"
    )
    following = console.next_step("pretrain", "CORPUS", "--tokenizer", target, "-o", "model/")
    yield Note(f"wrote {target}/{following}")


def model_blocks(result: PretrainedModel, target: Path) -> Iterator[Block]:
    """Yield the learning curve of a model, its perplexity with the definition, and what to type next."""
    if len(result.curve) > 1:
        points = result.curve
        yield Figure(chart([p.loss for p in points], [p.step for p in points], "loss of training, per token"))
        held_out = [p.dev["loss"] for p in points if p.dev]
        if len(held_out) > 1:
            yield Figure(
                f"held out  {spark(held_out)}  {held_out[0]:.3f} → {held_out[-1]:.3f}, lowest {min(held_out):.3f}"
            )
    warn_growth(result.curve)
    measured, n_docs = result.perplexity, wording.counted(result.facts["held_out"], "document")
    if measured["per_word"] is None:
        yield Note(
            f"{n_docs} held out: perplexity {measured['per_token']:,.2f} per masked token = exp(−Σ log p / N), "
            f"N = {wording.count(measured['tokens'])}; no perplexity of a language model"
        )
        for name, share in measured["scores"].items():
            yield Note(f"{n_docs} held out: {_SHARES[name]} {share:.1%}")
    else:
        yield Note(
            f"{n_docs} held out: perplexity {measured['per_token']:,.2f} per token = exp(−Σ log p / N), "
            f"N = {wording.counted(measured['tokens'], 'token')} with the ends of documents; {measured['per_word']:,.1f} per word, "
            f"N = {wording.counted(measured['words'], 'word')} with the ends"
        )
    following = console.next_step("sbert-embed", "NEW.jsonl", "--model", target, "-o", "embedded.parquet")
    yield Note(f"wrote {target}/ in {sum(result.job.seconds.values()):.1f} s{following}")


def attention_blocks(seen: Attention, target: str | None) -> Iterator[Block]:
    """Yield how much each token is in the token that reads the text, and what a run of finetune would say after each layer."""
    L, H, T, _ = seen.maps.weights.shape
    shares = seen.received().tolist()
    top = max(shares)
    rows = [
        [str(i + 1), token, f"{share:.4f}", "▇" * round(_BAR * share / top)]
        for i, (token, share) in enumerate(zip(seen.maps.tokens, shares, strict=True))
    ]
    title = f"share of each token in {seen.maps.tokens[seen.reader]} after {wording.counted(L, 'layer')} (rollout)"
    yield Table(["", "token", "share", " "], rows, right=["", "share"], title=title, noun="tokens", sizes=shares)
    if seen.confidence is not None:
        layers = seen.confidence.to_list()
        table = [
            [str(row["layer"]), row["prediction"], f"{row['probability']:.4f}", f"{row['entropy']:.4f}"]
            for row in layers
        ]
        title = f"the class after each layer; from layer {seen.confidence.settled} on it is that of the last"
        yield Table(
            ["layer", "prediction", "probability", "entropy"], table, right=["layer", "probability", "entropy"], title=title,
            noun="layers",
        )  # fmt: skip
    if target is not None:
        yield Note(f"wrote {target}: {L} × {H} heads, {wording.counted(T, 'token')}")


def step_blocks(worked: WorkedTransformer, target: str | None) -> Iterator[Block]:
    """Yield each matrix below its formula, where they were not written, and the notes."""
    from nlpkit.lab.transformer import PARTS, cells, remarks

    if target is None:
        for number, step in enumerate(worked.steps, 1):
            title = f"{number}. {PARTS[step.part]}: {step.name} {step.symbol}    {step.formula}"
            rows = [[name, *row] for name, row in zip(step.rows, cells(step), strict=True)]
            yield Table(["", *step.columns], rows, right=step.columns, title=title)
            for remark in remarks(step):
                yield Sentence(remark)
            if remarks(step):
                yield Sentence("")
    for note in worked.notes:
        yield Note(note)
