"""The commands of the lab: `train-tokenizer`, `attention`, `explain-transformer` and `pretrain`.

Parts, in this order:
- nlpkit train-tokenizer: a tokenizer of subwords of one's own corpus.
- nlpkit attention: what a transformer looks at.
- nlpkit explain-transformer: the transformer by hand.
- nlpkit pretrain: a language model from scratch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.finetune.options import HardwareOptions, ScheduleOptions
from nlpkit.lab.attention import AttentionOptions
from nlpkit.lab.options import PretrainOptions, TokenizerOptions
from nlpkit.lab.transformer_steps import TransformerOptions
from nlpkit.platform.cli import console
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Argument, Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import READ, Param


def train_tokenizer_cli(
    inputs: Inputs, tokenizer: TokenizerOptions, out: OutputFlags, read: ReadOptions, run: RunFlags
) -> None:
    """Train a subword tokenizer: BPE, WordPiece or unigram.

    \b
    Examples:
      nlpkit train-tokenizer data/samples/news.jsonl --vocab-size 2000 -o bpe/
      nlpkit train-tokenizer data/samples/news.jsonl --type wordpiece --vocab-size 1000 -o pieces/
      nlpkit train-tokenizer data/samples/news.jsonl --type unigram --vocab-size 1000 -o uni/

    nlpkit prints the merges step by step: the most frequent pair of neighbours and its number of occurrences. The command
    writes a directory that transformers loads as a tokenizer. It also holds tokens.parquet and, except for unigram,
    merges.parquet. Without -o, it is <input>.tokenizer/ in the current directory. The library tokenizers does the training. The
    special tokens are [PAD], [UNK], [CLS], [SEP] and [MASK].
    """
    if run.dry_run:
        dry_run(inputs, read)
        return
    target = out.run_target(inputs, "tokenizer")

    from nlpkit.lab import views as render
    from nlpkit.lab.tokenizer import train_tokenizer
    from nlpkit.platform.documents.corpus import read_corpus

    trained = train_tokenizer(read_corpus(*inputs, options=read), options=tokenizer, execution=run)
    trained.save(target, force=out.force)
    render.tokenizer(trained, target)


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit attention: what a transformer looks at.


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
    from nlpkit.lab import views as render
    from nlpkit.lab.attention_run import attention, check_attention_name
    from nlpkit.platform.runs.atomic import check_target

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


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit explain-transformer: the transformer by hand.


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
    from nlpkit.lab import views as render
    from nlpkit.lab.transformer import announce, check_steps_name, explain_transformer
    from nlpkit.platform.runs.atomic import check_target

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


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit pretrain: a language model from scratch.

Resume = Annotated[bool, Param("Continue the interrupted training of the same command, if there is one.", panel="Run")]


def pretrain_cli(
    inputs: Inputs,
    model: PretrainOptions,
    training: ScheduleOptions,
    out: OutputFlags,
    read: ReadOptions,
    hardware: HardwareOptions,
    run: RunFlags,
    resume: Resume = False,
) -> None:
    """Train a language model from scratch: LSTM, BERT, GPT-2, T5 and others.

    \b
    Examples:
      nlpkit pretrain data/samples/questions.jsonl --arch "lstm(hidden=32)" --max-steps 5 -o lstm/
      nlpkit pretrain data/samples/questions.jsonl --arch bert --max-steps 2 -o bert/
      nlpkit pretrain data/samples/questions.jsonl --tokenizer bpe --max-steps 2 -o gpt/
      nlpkit pretrain data/samples/questions.jsonl --arch "transformer(positions=rope)" --dry-run

    nlpkit prints the learning curve and the perplexity on the held-out documents (--holdout), per token and per word. It keeps
    the parameters that were best on these documents. Other architectures include ELMo, Mamba and Hymba.

    The command writes a run directory, which sbert-embed --model and finetune --base can use. Without -o, it is
    <input>.pretrain/ in the current directory. transformers loads its folder model/transformers; bert, gpt, t5 and mamba do not
    need nlpkit for that.
    """
    from nlpkit.lab import views as render
    from nlpkit.lab.pretrain.estimate import estimate_pretraining
    from nlpkit.lab.pretrain.run import pretrain
    from nlpkit.platform.documents.corpus import read_corpus

    corpus = read_corpus(*inputs, options=read)
    if run.dry_run:
        console.plan(estimate_pretraining(corpus, options=model, training=training, hardware=hardware, execution=run))
        return
    target = out.run_target(inputs, "pretrain")
    result = pretrain(
        corpus, options=model, training=training, hardware=hardware, execution=run, output=target, resume=resume, force=out.force,
    )  # fmt: skip
    result.save(target, force=out.force)
    console.say(render.model_blocks(result, target), lambda: {"run": str(target), **result.report})
