"""nlpkit tfidf: weighted terms of documents, as a long table or for other tools."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from nlpkit.errors import UsageError
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Param
from nlpkit.text.options import TokenOptions
from nlpkit.weights.options import SelectionOptions, WeightOptions

if TYPE_CHECKING:
    from nlpkit.weights.files import WeightModel, WeightsTarget
    from nlpkit.weights.lsa_run import Method
    from nlpkit.weights.run import Carry


def tfidf_cli(
    inputs: Inputs,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
    tokens: TokenOptions,
    weights: WeightOptions,
    selection: SelectionOptions,
    to: Annotated[
        str | None,
        Param(
            "Output format: parquet, npz (scipy), mtx (Matrix Market) or svmlight. Default: from the file name.",
            metavar="FORMAT",
            panel="Output",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        Param(
            "Weight new documents with the terms, idf and columns of an earlier tfidf output, or project them into "
            "its LSA or PCA.",
            metavar="WEIGHTS|RUN",
            panel="Weights",
        ),
    ] = None,
    lsa: Annotated[
        int | None,
        Param("Latent semantic analysis with L dimensions. -o is a directory.", metavar="L", min=1, panel="Weights"),
    ] = None,
    pca: Annotated[
        int | None,
        Param(
            "First L principal components of the weights, centred on the mean document. -o is a directory.",
            metavar="L",
            min=1,
            panel="Weights",
        ),
    ] = None,
) -> None:
    """Weight the terms of documents: tf-idf, BM25, LSA, PCA.

    The default weight of a term in a document is tf · ln(M / df). --scheme, or --tf, --idf and --norm, choose another. The
    output has one row for each term of a document (id, term, tf, weight), with terms in alphabetical order.
    <stem>.vocab.parquet next to it holds term, cf, df and idf.

    --select keeps the features that separate the classes and prints the best of each class; weights still use the whole
    vocabulary. --lsa and --pca write document and term vectors. --model weights new documents as scikit-learn's `transform`
    does: same columns, same order, idf of the training documents, other terms left out.

    \b
    Examples:
      nlpkit tfidf data/samples/news.jsonl -o weights.parquet
      nlpkit tfidf data/samples/news.jsonl --scheme ltc --to npz -o ltc.npz
      nlpkit tfidf data/samples/news.jsonl --select chi2:500 --features best.parquet
      nlpkit tfidf data/samples/news.jsonl --like sklearn --lsa 20 -o lsa/
      nlpkit tfidf data/samples/hard.jsonl --model ltc.npz -o new.npz
    """
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.weights import views as render
    from nlpkit.weights.run import load_weights, place, tfidf, weigh, weighting_and_selection

    if lsa and pca:
        raise UsageError("`lsa` and `pca` each write a directory; give one", parameter="pca")
    weighting_and_selection(weights, selection)
    method: Method | None = "lsa" if lsa else "pca" if pca else None
    fitted = None
    if model is not None:
        _refuse_beside_model(model, tokens, weights, selection, method)
        fitted = None if run.dry_run else load_weights(model, verify=run.verify)
    if fitted is not None and fitted.components is not None:
        if to is not None:
            raise UsageError(f"`to={to}`: LSA and PCA of new documents write a table of documents; leave `to` out")
        target = out.target("new.parquet")
        corpus = read_corpus(*inputs, options=read, beside=target)
        render.placed(place(fitted, corpus, execution=run).save(target, force=out.force))
        return
    goal = None if run.dry_run and model is not None else _target(out, to, method, selection, fitted, inputs)
    if run.dry_run:
        dry_run(inputs, read, "tfidf", tokens=tokens, threads=run.n_threads())
        return
    corpus = read_corpus(*inputs, options=read, beside=None if method else out.output)
    labels: Carry = "labels" if goal is not None and goal.is_matrix else "nothing"
    if fitted is not None:
        weighted = weigh(fitted, corpus, execution=run, carry=labels)
    else:
        carry: Carry = "columns" if method else labels
        weighted = tfidf(corpus, tokens=tokens, weights=weights, selection=selection, execution=run, carry=carry)
    if selection.features is not None:
        weighted.save_features(selection.features, force=out.force)
    if method:
        from nlpkit.weights.lsa_run import decompose

        space = decompose(weighted, lsa or pca or 0, method=method, execution=run)
        render.latent_space(space, space.save(str(out.output), force=out.force))
    else:
        render.weights(weighted, None if goal is None else weighted.save(goal, force=out.force))


def _target(
    out: OutputFlags,
    to: str | None,
    method: Method | None,
    selection: SelectionOptions,
    fitted: WeightModel | None,
    inputs: list[str],
) -> WeightsTarget | None:
    """Return the file to write, None for a run directory, or where features are only shown; checked before any work is done."""
    from nlpkit.weights.files import EXAMPLES, weights_target

    if method and to:
        raise UsageError(f"`{method}` writes a directory of Parquet tables; leave `to` out")
    if out.output is None:
        if method:
            raise UsageError(f"no output is named; `{method}` writes a directory, such as -o {method}/")
        if fitted is None and selection.select and not to:
            return None
        example = "new.npz or new.parquet" if fitted is not None else EXAMPLES.get(to or "parquet", "weights.parquet")
        raise UsageError(f"no output is named; add -o {example}, or -o - for JSON lines on stdout")
    if method:
        _check_by(selection, "a run")
        out.run_target(inputs, method)
        return None
    goal = weights_target(out.output, to)
    if not goal.is_matrix:
        _check_by(selection, "a table of weights")
        out.table_target("new.parquet" if fitted is not None else "weights.parquet")
    selects = ":" in (selection.select or "") if fitted is None else len(fitted.kept) < fitted.terms.num_rows
    goal.check(force=out.force, terms=selects, features=selection.features)
    return goal


def _check_by(selection: SelectionOptions, output: str) -> None:
    """Raise UsageError for classes that nothing uses: features are selected by them, and the rows of a matrix have them."""
    if selection.by is not None and selection.select is None:
        raise UsageError(
            f"`by={selection.by}` names classes, which only `select` and matrices (.npz, .mtx, .svm) use, and "
            f"{output} is neither; add `select`, or leave it out",
            parameter="by",
        )


def _refuse_beside_model(
    model: Path, tokens: TokenOptions, weights: WeightOptions, selection: SelectionOptions, method: str | None
) -> None:
    """Raise UsageError for options that say what the model has decided."""
    from nlpkit.text.settings import preprocess_options
    from nlpkit.text.tokens import changed_token_options

    names = [*changed_token_options(preprocess_options(tokens))]
    records: tuple[tuple[Any, Any], ...] = ((weights, WeightOptions()), (selection, SelectionOptions()))
    for record, usual in records:
        names += [f"`{f.name}`" for f in fields(record) if getattr(record, f.name) != getattr(usual, f.name)]
    names += [f"`{method}`"] if method is not None else []
    if names:
        raise UsageError(f"{', '.join(names)}: new documents are weighted as in {model}; leave it out")
