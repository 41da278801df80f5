"""nlpkit generate: text by a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.lm.generate import GenerateOptions
from nlpkit.parameters import READ


def generate_cli(
    *,
    model: Annotated[Path, Argument("Run directory of nlpkit ngram-lm, or an ARPA file.", metavar="RUN"), READ],
    options: GenerateOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Write text by a language model: drawn, greedy or by beam search.

    Each text begins with --prompt and ends where the model ends a sentence, or after --max-words. With -o a table (id, text, words,
    log10_prob, ended) is written. The same seed gives the same texts.

    \b
    Examples:
      nlpkit generate lm/
      nlpkit generate lm/ --prompt "the court" --top-k 20 --temperature 0.8
      nlpkit generate lm/ --prompt "the court" --decode beam --texts 3
    """
    from nlpkit.cli.render import language_model as render
    from nlpkit.workflows.generate import generate_texts, load_any

    fitted = load_any(model, run)
    if run.dry_run:
        console.plan({"texts": options.texts, "max_words": options.max_words, "vocabulary": len(fitted.model.words)})
        return
    target = out.given_table_target("texts.parquet")
    texts = generate_texts(fitted, options=options, execution=run)
    if target is not None:
        texts.save(target, force=out.force)
    render.texts(texts, target)
