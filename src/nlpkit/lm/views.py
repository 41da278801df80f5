"""The views of language models on the screen: n-grams, perplexity, texts, and spelling errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.views.blocks import Block, Note, Sentence, Table, cell

if TYPE_CHECKING:
    from nlpkit.lm.generate_run import GeneratedTexts
    from nlpkit.lm.run import LanguageModel


def language_model(model: LanguageModel, target: str, arpa: Path | None) -> None:
    """Print the n-grams by length with their discounts, and the perplexity on documents that were held out; or one JSON object."""
    summary = model.summary()
    facts = {"run": target, "arpa": None if arpa is None else str(arpa), **summary}
    console.say(model_blocks(model, summary, target, arpa), lambda: facts)


def model_blocks(model: LanguageModel, summary: Mapping[str, Any], target: str, arpa: Path | None) -> Iterator[Block]:
    """Yield the n-grams by length with their discounts, the perplexity on documents that were held out, and how it goes on."""
    from nlpkit.lm.run import described

    smoothed = model.model.smoothed
    rows = []
    for m, size in enumerate(summary["ngrams"], 1):
        discounts = smoothed.discounts[m - 1] if smoothed is not None and smoothed.discounts else ()
        rows.append([str(m), wording.count(size), ", ".join(f"{d:.3f}" for d in dict.fromkeys(discounts)) or "–"])
    yield Table(["words", "n-grams", "discounts"], rows, right=["words", "n-grams"])
    words = f"{wording.counted(summary['words'], 'word')} with the ends of sentences, {wording.count(summary['vocabulary'])} different"
    yield Note(f"{model.model.options.smoothing}, order {model.model.trie.order}: {words}")
    if model.held_out is not None:
        yield Note(f"held-out documents: {described(model.held_out, closed=model.model.options.closed)}")
    if arpa is not None:
        yield Note(f"wrote {arpa}")
    yield Note(f"wrote {target}{console.next_step('generate', target)}")


def texts(generated: GeneratedTexts, target: str | None, probabilities: Path | None = None) -> None:
    """Print one text a line, or one JSON object."""
    if probabilities is not None:
        reporting.note(f"wrote {probabilities}: the likeliest words in each place")
    if target == "-":
        return
    wrote = [] if target is None else [Note(f"wrote {target}: {wording.counted(len(generated.texts), 'text')}")]
    console.say([*wrote, *(Sentence(text) for text, _ in generated.texts)], generated.to_dict)


# ------------------------------------------------------------------------------------------------------------------------
# What spell shows: the commonest errors.


def errors(summary: Mapping[str, Any], target: str | None) -> None:
    """Print the commonest errors with what was meant, or one JSON object."""
    if target == "-":
        return
    rows = [[one["word"], one["suggestion"], cell(one["n"])] for one in summary["commonest"]]
    blocks: list[Block] = [Table(["word", "suggestion", "n"], rows, right=["n"])] if rows else []
    blocks += [] if target is None else [Note(f"wrote {target}")]
    console.say(blocks, lambda: {"output": target, **summary})
