"""nlpkit generate: text by a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.lm.generate import GenerateOptions
from nlpkit.parameters import READ, TABLE_WRITTEN, Param


def generate_cli(
    *,
    model: Annotated[
        Path,
        Argument("Run of ngram-lm or pretrain, an ARPA file, or a transformers folder.", metavar="RUN"),
        READ,
    ],
    options: GenerateOptions,
    save_probabilities: Annotated[
        Path | None,
        Param(
            "Also write the most probable words at each position, with their probabilities.",
            metavar="FILE",
            panel="Output",
        ),
        TABLE_WRITTEN,
    ] = None,
    candidates: Annotated[
        int,
        Param(
            "Number of words per position in that table, in addition to the chosen word.",
            metavar="N",
            min=1,
            panel="Output",
        ),
    ] = 5,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Write text with a language model.

    Each text starts with --prompt. It ends where the model ends a sentence, or after --max-words (transformers: tokens). -o
    writes a table (id, text, words, log10_prob, ended). The same seed gives the same texts. For transformers, greedy and beam
    search work as in the transformers library. An encoder-decoder model (T5, BART) reads --prompt and writes a text for it.

    \b
    Examples:
      nlpkit generate lm/
      nlpkit generate lm/ --prompt "the court" --top-k 20 --temperature 0.8
      nlpkit generate lm/ --prompt "the court" --decode beam --texts 3 --save-probabilities words.csv
    """
    from nlpkit.cli.render import language_model as render
    from nlpkit.workflows.generate import generate_texts, load_writer, vocabulary_size

    fitted = load_writer(model, run)
    if run.dry_run:
        console.plan({"texts": options.texts, "max_words": options.max_words, "vocabulary": vocabulary_size(fitted)})
        return
    target = out.given_table_target("texts.parquet")
    texts = generate_texts(fitted, options=options, execution=run)
    if target is not None:
        texts.save(target, force=out.force)
    if save_probabilities is not None:
        texts.save_probabilities(save_probabilities, candidates, force=out.force)
    render.texts(texts, target, save_probabilities)
