"""nlpkit tfidf: weighted terms of documents, as a long table or for other tools."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Param
from nlpkit.text.options import TokenOptions
from nlpkit.weighting.options import SelectionOptions, WeightOptions

EXAMPLES = {"parquet": "weights.parquet", "npz": "weights.npz", "mtx": "weights.mtx", "svmlight": "weights.svm"}


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
            "parquet, npz (scipy), mtx (Matrix Market) or svmlight, whatever the name of -o; default: by its suffix."
        ),
    ] = None,
    model: Annotated[
        Path | None,
        Param(
            "Weigh new documents with the terms, idf and columns of an earlier output of tfidf, or place them in its LSA.",
            metavar="WEIGHTS|RUN",
        ),
    ] = None,
    lsa: Annotated[
        int | None,
        Param("Latent semantic analysis: L dimensions; -o is a directory.", metavar="L", min=1),
    ] = None,
) -> None:
    """Weigh the terms of documents: tf-idf, BM25, LSA.

    The weight of a term in a document is tf · ln(M / df) as it stands; --scheme, or --tf, --idf and --norm, choose
    another. Writes one row for each term of a document (id, term, tf, weight), terms in alphabetical order, and beside it
    <stem>.vocab.parquet (term, cf, df, idf). --select keeps the features that tell classes apart and prints the best of
    each; weights stay those of the whole vocabulary. --lsa writes document and term vectors. --model weighs new documents
    as scikit-learn's `transform` does: same columns in the same order, idf of the training documents, other terms left out.

    \b
    Examples:
      nlpkit tfidf data/samples/news.jsonl -o weights.parquet
      nlpkit tfidf data/samples/news.jsonl --scheme ltc --to npz -o ltc.npz
      nlpkit tfidf data/samples/news.jsonl --select chi2:500 --features best.parquet
      nlpkit tfidf data/samples/news.jsonl --like sklearn --lsa 20 -o lsa/
      nlpkit tfidf data/samples/hard.jsonl --model ltc.npz -o new.npz
    """
    from nlpkit.cli.dry_run import dry_run
    from nlpkit.cli.tfidf_run import Request, make
    from nlpkit.weighting.selection import FeatureSelection
    from nlpkit.workflows.token_options import preprocess_options

    if model is not None:
        from nlpkit.cli.tfidf_model import weigh_new

        refuse_beside_model(model, tokens, weights, selection, lsa)
        if run.dry_run:
            dry_run(inputs, read)
            return
        weigh_new(list(inputs), model, to, out, read, run)
        return
    scheme, wish = weights.weighting(), FeatureSelection.parse(selection.select)
    if selection.features is not None and wish is None:
        raise UsageError("--features lists the best features by a score; name one, such as --select chi2")
    target, kind = None, "table"
    if out.output is not None:
        kind = "run" if lsa else format_of(to, out.output)
        if lsa and to:
            raise UsageError("--lsa writes a directory of Parquet tables; leave --to out")
        target = out.table_target("weights.parquet") if kind == "table" else out.output
    elif lsa:
        raise UsageError("say where to write: --lsa writes a directory, such as -o lsa/")
    elif to or not wish:
        example = EXAMPLES.get(to or "parquet", "weights.parquet")
        raise UsageError(f"say where to write: -o {example}, or -o - for JSON lines on stdout")
    request = Request(
        tuple(inputs), target, kind, scheme, preprocess_options(tokens), wish, selection.by, selection.features,
        selection.top_n, lsa, out.force, run.seed, run.n_threads(),
    )  # fmt: skip
    request.check_targets()
    if run.dry_run:
        dry_run(inputs, read)
        return
    make(request, read)


def refuse_beside_model(
    model: Path, tokens: TokenOptions, weights: WeightOptions, selection: SelectionOptions, lsa: int | None
) -> None:
    """Raise UsageError for options that say what the model has decided."""
    from nlpkit.workflows.token_options import preprocess_options
    from nlpkit.workflows.tokens import changed_token_options

    said = [*changed_token_options(preprocess_options(tokens))]
    for flags, usual in ((weights, WeightOptions()), (selection, SelectionOptions())):
        said += [
            f"--{f.name.replace('_', '-')}" for f in fields(flags) if getattr(flags, f.name) != getattr(usual, f.name)
        ]
    said += ["--lsa"] if lsa is not None else []
    if said:
        raise UsageError(f"{', '.join(said)}: new documents are weighed as those of {model} were; leave it out")


def format_of(to: str | None, output: str) -> str:
    """Return what is written: a table (the long form), or a matrix as npz, mtx or svmlight; as asked for, else by the suffix.

    Raises:
        UsageError: an unknown format, one that the name of the output contradicts, or one that stdout cannot take.
    """
    from nlpkit.io.tables import FORMATS, MATRICES

    if to is not None and to not in EXAMPLES:
        raise UsageError(f"--to {to}: {', '.join(EXAMPLES)} are known")
    suffix = Path(output).suffix.lower()
    named = {**FORMATS, **MATRICES}.get(suffix)
    if to is not None and named is not None and named != to and output != "-":
        stem = Path(output).stem
        raise UsageError(
            f"--to {to} and -o {output} contradict each other; give -o {stem}{Path(EXAMPLES[to]).suffix}, or leave --to out"
        )
    if suffix and to is None and named is None and output != "-":
        *most, last = FORMATS
        known = f"{' '.join(most)} or {last} (a row for each weight), or as a matrix: {' '.join(MATRICES)}"
        raise UsageError(f"output {output}: '{suffix}' is no format of nlpkit; weights are written as {known}")
    kind = to or named
    if kind not in MATRICES.values():
        return "table"
    if output == "-":
        raise UsageError(f"{kind} is not written to stdout; give -o {EXAMPLES[str(kind)]}")
    return str(kind)
