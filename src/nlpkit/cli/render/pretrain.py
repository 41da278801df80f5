"""What train-tokenizer and pretrain show: merges step by step, the learning curve, perplexity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.render.finetune import chart, spark
from nlpkit.workflows.finetune_results import warn_growth

if TYPE_CHECKING:
    from nlpkit.workflows.pretrain import PretrainedModel
    from nlpkit.workflows.train_tokenizer import SubwordTokenizer
_SHARES = {
    "pair_accuracy": "pairs of segments whose class is guessed",
    "detection_accuracy": "tokens rightly called original or replaced",
    "replaced_share": "tokens that the generator replaced",
}


def tokenizer(trained: SubwordTokenizer, target: Path) -> None:
    """Print the merges in order, or the likeliest tokens of unigram; or one JSON object."""
    results = trained.results()
    if console.settings.json:
        console.emit_json({"run": str(target), "type": trained.options.type, **results})
        return
    if trained.merges is not None:
        rows = [
            [wording.count(row["step"]), row["left"], row["right"], row["token"], wording.count(row["count"])]
            for row in trained.merges.to_pylist()
        ]
        console.table(
            ["step", "left", "right", "token", "count"], rows, right=["step", "count"], noun="merges",
            rest=f"{target}/merges.parquet",
        )  # fmt: skip
    reporting.note(
        f"{trained.options.type}: {wording.counted(results['tokens'], 'token')} from {wording.counted(results['words'], 'word')} "
        f"({wording.count(results['different_words'])} different) of {wording.counted(results['documents'], 'document')}"
    )
    following = console.next_step("pretrain", "CORPUS", "--tokenizer", target, "-o", "model/")
    reporting.note(f"wrote {target}/{following}")


def model(result: PretrainedModel, target: Path) -> None:
    """Print the learning curve and the perplexity with its definition, or one JSON object."""
    if console.settings.json:
        console.emit_json({"run": str(target), **result.report})
        return
    if len(result.curve) > 1:
        points = result.curve
        console.out(chart([p.loss for p in points], [p.step for p in points], "loss of training, per token"))
        held_out = [p.dev["loss"] for p in points if p.dev]
        if len(held_out) > 1:
            console.out(
                f"held out  {spark(held_out)}  {held_out[0]:.3f} → {held_out[-1]:.3f}, lowest {min(held_out):.3f}"
            )
    warn_growth(result.curve)
    measured, n_docs = result.perplexity, wording.counted(result.facts["held_out"], "document")
    if measured["per_word"] is None:
        reporting.note(
            f"{n_docs} held out: perplexity {measured['per_token']:,.2f} per masked token = exp(−Σ log p / N), "
            f"N = {wording.count(measured['tokens'])}; no perplexity of a language model"
        )
        for name, share in measured["scores"].items():
            reporting.note(f"{n_docs} held out: {_SHARES[name]} {share:.1%}")
    else:
        reporting.note(
            f"{n_docs} held out: perplexity {measured['per_token']:,.2f} per token = exp(−Σ log p / N), "
            f"N = {wording.counted(measured['tokens'], 'token')} with the ends of documents; {measured['per_word']:,.1f} per word, "
            f"N = {wording.counted(measured['words'], 'word')} with the ends"
        )
    following = console.next_step("sbert-embed", "NEW.jsonl", "--model", target, "-o", "embedded.parquet")
    reporting.note(f"wrote {target}/ in {sum(result.job.seconds.values()):.1f} s{following}")
