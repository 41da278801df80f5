"""nlpkit explain-transformer: the transformer by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.lm.transformer_steps import TransformerOptions
from nlpkit.parameters import READ


def explain_transformer_cli(
    *,
    example: Annotated[
        Path | None,
        Argument("TOML file with words and matrices. Default: a built-in example.", metavar="EXAMPLE"),
        READ,
    ] = None,
    options: TransformerOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Compute a transformer by hand, matrix by matrix.

    nlpkit prints every matrix of an encoder and a decoder layer with its formula. The steps are embedding, positional encoding, Q, K, V,
    scores, softmax, Z, add and norm, feed-forward network, the padding and look-ahead masks, cross-attention, and the next
    word. Without a file, it computes a published example (after Khan 2023, "Understanding Transformers: A Step-by-Step Math
    Example") and compares it with the printed numbers. Weights missing from an example are drawn with --seed. -o writes a page
    (.html, .md) or a table (.parquet, .csv …).

    \b
    Examples:
      nlpkit explain-transformer --exact
      nlpkit explain-transformer --text "the dog barks" --target "<start> der Hund" --heads 2
      nlpkit explain-transformer -o transformer.html
    """
    from nlpkit.cli.render import lab as render
    from nlpkit.io.atomic import check_target
    from nlpkit.workflows.explain_transformer import announce, check_steps_name, explain_transformer

    target = out.output
    if target is not None and target != "-":
        check_steps_name(target)
        check_target(Path(target), force=out.force)
    elif target == "-":
        target = out.table_target("steps.jsonl")
    worked = explain_transformer(example, options=options, execution=run)
    if run.dry_run:
        console.plan({"matrices": len(worked.steps), "numbers": sum(step.matrix.size for step in worked.steps)})
        return
    if target is not None:
        worked.save(target, force=out.force)
        if target != "-":
            announce(worked, target)
    console.say(render.step_blocks(worked, target), lambda: {"output": target, **worked.to_dict()})
