"""nlpkit attention: what a transformer looks at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.embed.attention import AttentionOptions
from nlpkit.parameters import READ


def attention_cli(
    *,
    model: Annotated[
        str,
        Argument("Run of finetune or train-encoder, a transformers folder, or a Hugging Face name.", metavar="MODEL"),
        READ,
    ],
    text: Annotated[str, Argument("Text to read.", metavar="TEXT")],
    options: AttentionOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Show what a transformer attends to in a text, by layer and head.

    -o writes an HTML page that works offline (.html), or a table (.parquet, .csv …: layer, head, from, to, weight). The table
    on the screen is the rollout (Abnar & Zuidema 2020): how much each token contributes to the token that represents the text.
    That is the first token, or the last token of a causal model.

    \b
    Examples:
      nlpkit attention minilm "The court fined the bank." -o attention.html
      nlpkit attention run/ "The court fined the bank." -o attention.parquet
      nlpkit attention minilm "The court fined the bank." --max-tokens 8
    """
    from nlpkit.cli.render import lab as render
    from nlpkit.io.atomic import check_target
    from nlpkit.workflows.attention import attention, check_attention_name

    target = out.output
    if target is not None and target != "-":
        check_attention_name(target)
        check_target(Path(target), force=out.force)
    elif target == "-":
        target = out.table_target("attention.jsonl")
    seen = attention(model, text, options=options, execution=run)
    if run.dry_run:
        L, H, T, _ = seen.maps.weights.shape
        console.plan({"layers": L, "heads": H, "tokens": T, "rows": L * (H + 1) * T * T})
        return
    if target is not None:
        seen.save(target, force=out.force)
    console.say(render.attention_blocks(seen, target), lambda: {"output": target, **seen.to_dict()}, target)
