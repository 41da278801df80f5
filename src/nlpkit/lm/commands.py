"""The commands of language models: `nlpkit ngram-lm`, `nlpkit generate` and `nlpkit spell`.

Parts, in this order:
- nlpkit ngram-lm: n-gram language models.
- nlpkit generate: text by a language model.
- nlpkit spell: spelling errors by a noisy channel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.lm.model import GenerateOptions
from nlpkit.lm.options import NgramModelOptions
from nlpkit.lm.spelling import SpellOptions
from nlpkit.platform.cli import console
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Argument, Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions
from nlpkit.platform.options import READ, TABLE_WRITTEN, WRITTEN, Param, options
from nlpkit.shards.command import divided
from nlpkit.text.options import CountOptions


@options
class FitOptions:
    """What is measured and written beside the model."""

    PANEL: ClassVar[str] = "Output"

    held_out: Annotated[
        float | None,
        Param("Hold out this share of the documents and print the perplexity on them.", metavar="SHARE"),
    ] = None
    save_arpa: Annotated[
        Path | None,
        Param("Also write the model as an ARPA file for KenLM (.arpa or .arpa.gz).", metavar="FILE"),
        WRITTEN,
    ] = None


def ngram_lm_cli(
    inputs: Inputs,
    options: NgramModelOptions,
    out: OutputFlags,
    fit: FitOptions,
    read: ReadOptions,
    run: RunFlags,
    words: CountOptions,
) -> None:
    """Fit an n-gram language model: Kneser-Ney, Witten-Bell, backoff, add-k.

    Texts are split into sentences, from <s> to </s>, and all words count. If the table has tokens, each row is one sentence.
    The model predicts each word from the words before it. `nlpkit predict RUN NEW` adds the probability and perplexity of
    documents as columns, and `nlpkit generate RUN` writes text.

    \b
    Examples:
      nlpkit ngram-lm data/samples/news.jsonl --held-out 0.1 -o lm/
      nlpkit ngram-lm data/samples/news.jsonl --order 5 --save-arpa news.arpa -o lm5/
      nlpkit ngram-lm data/samples/news.jsonl --smoothing add-k --add 0.1 --min-count 2 -o laplace/
    """
    if run.dry_run:
        dry_run(inputs, read)
        return
    target = out.run_target(inputs, "lm")

    from nlpkit.lm import views as render
    from nlpkit.lm.files import check_arpa
    from nlpkit.lm.run import fit_language_model
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.platform.runs.atomic import check_target

    if fit.save_arpa is not None:
        check_arpa(options)
        check_target(fit.save_arpa, force=out.force)
    corpus = read_corpus(*inputs, options=read, beside=target)
    model = fit_language_model(corpus, options=options, words=words, held_out=fit.held_out, execution=run)
    model.save(target, force=out.force)
    if fit.save_arpa is not None:
        model.save_arpa(fit.save_arpa, force=out.force)
    render.language_model(model, str(target), fit.save_arpa)


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit generate: text by a language model.


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
    from nlpkit.lm import views as render
    from nlpkit.lm.generate_run import generate_texts, load_writer, vocabulary_size

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


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit spell: spelling errors by a noisy channel.


def spell_cli(
    *,
    model: Annotated[Path, Argument("Run directory of nlpkit ngram-lm, or an ARPA file.", metavar="RUN"), READ],
    inputs: Inputs,
    out: OutputFlags,
    options: SpellOptions,
    read: ReadOptions,
    sharing: ShardOptions,
    run: RunFlags,
) -> None:
    """Find and correct misspelled words with a language model.

    nlpkit compares each unknown word with known words at one or two edits (a letter inserted, left out or replaced, or two
    swapped). It suggests the most probable word in the context, if that is more probable than the word as written. Fit the
    language model to a large corpus of the same kind, because unknown names are taken for errors.

    -o writes a table (id, start, end, word, suggestion, log10_gain) with positions in characters. With --apply, it writes the
    documents with a column 'corrected'.

    \b
    Examples:
      nlpkit spell lm/ data/samples/hard.jsonl
      nlpkit spell lm/ data/samples/hard.jsonl --min-gain 6 -o errors.csv
      nlpkit spell lm/ data/samples/hard.jsonl --apply -o corrected.parquet
    """
    from nlpkit.lm import views as render
    from nlpkit.lm.spelling_run import corrections
    from nlpkit.platform.documents.corpus import read_corpus

    if run.dry_run:
        dry_run(inputs, read)
        return
    target = out.given_table_target("spelling.parquet")
    if options.apply and target is None:
        raise UsageError("`apply` writes the documents with a column 'corrected'; give -o FILE", parameter="apply")
    work = {"model": model, "options": options}
    if divided("spell", inputs, target, sharing=sharing, read=read, out=out, run=run, **work):
        return
    corpus = read_corpus(*inputs, options=read, beside=target)
    with corrections(model, corpus, options=options, execution=run) as errors:
        summary = errors.run() if target is None else errors.save(target, force=out.force)
    render.errors(summary, target)
