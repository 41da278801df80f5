"""nlpkit train-tokenizer: a tokenizer of subwords of one's own corpus."""

from __future__ import annotations

from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.pretrain.options import TokenizerOptions


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

    from nlpkit.cli.render import lab as render
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.train_tokenizer import train_tokenizer

    trained = train_tokenizer(read_corpus(*inputs, options=read), options=tokenizer, execution=run)
    trained.save(target, force=out.force)
    render.tokenizer(trained, target)
