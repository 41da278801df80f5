"""nlpkit ngram-lm: n-gram language models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.lm.options import NgramModelOptions
from nlpkit.parameters import WRITTEN, Param, options
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

    from nlpkit.cli.render import language_model as render
    from nlpkit.io.atomic import check_target
    from nlpkit.io.language_models import check_arpa
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.language_model import fit_language_model

    if fit.save_arpa is not None:
        check_arpa(options)
        check_target(fit.save_arpa, force=out.force)
    corpus = read_corpus(*inputs, options=read, beside=target)
    model = fit_language_model(corpus, options=options, words=words, held_out=fit.held_out, execution=run)
    model.save(target, force=out.force)
    if fit.save_arpa is not None:
        model.save_arpa(fit.save_arpa, force=out.force)
    render.language_model(model, str(target), fit.save_arpa)
