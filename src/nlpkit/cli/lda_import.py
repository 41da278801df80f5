"""`nlpkit lda-gibbs state.gz --from-mallet`: a run directory of a chain that MALLET sampled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.lda_flags import ChainFlags, ExtraFlags
from nlpkit.cli.lda_show import show_next, show_topics
from nlpkit.cli.lda_work import Corpus, Work
from nlpkit.cli.lda_write import Results, write_lda
from nlpkit.cli.options import OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.io.corpora import InputInfo
from nlpkit.io.mallet import read_mallet_state
from nlpkit.io.runs import sha256_of, stopwatch
from nlpkit.topics.lda.fit import fit_state
from nlpkit.weighting.dtm import count_terms, document_frequency


def make_run(inputs: list[str], out: OutputFlags, extra: ExtraFlags, run: RunFlags) -> None:
    """Make a run of one MALLET state.

    Raises:
        UsageError: not one file. InputError: it is no state.
    """
    if len(inputs) != 1 or inputs[0] == "-":
        raise UsageError("--from-mallet makes a run of one file, MALLET's --output-state; give its name as INPUT")
    target = out.run_target(inputs, "lda")
    seconds: dict[str, float] = {}
    with stopwatch(seconds, "read"):
        state = read_mallet_state(Path(inputs[0]))
    tokens = state.tokens
    reporting.note(
        f"state of {wording.counted(len(state.alpha), 'topic')}: {wording.counted(len(tokens.term_ids), 'token')} in "
        f"{wording.counted(tokens.n_docs, 'document')}; alpha sums to {state.alpha.sum():.4g}, beta {state.beta:.4g} each"
    )
    if run.dry_run:
        console.plan({"documents": tokens.n_docs, "tokens": len(tokens.term_ids), "n_topics": len(state.alpha)})
        return
    found = fit_state(tokens, state.assignments, state.alpha, state.beta)
    corpus = Corpus(
        tokens=tokens,
        rows=pa.table({"id": pa.chunked_array([pa.array(state.ids, pa.string())])}),
        cf=np.bincount(tokens.term_ids, minlength=tokens.n_terms),
        df=document_frequency(count_terms(tokens)),
        token_info=None,
        inputs=[InputInfo(inputs[0], tokens.n_docs, sha256_of(Path(inputs[0])), None)],
        dropped=(),
        steps=[],
        texts=lambda rows: dict.fromkeys(rows, ""),
    )
    work = Work(corpus, None, None, ChainFlags(), run, target, seconds)
    parameters = {"from_mallet": inputs[0], "n_topics": len(state.alpha)}
    written = write_lda(work, found, extra, parameters, Results(), force=out.force)
    if run.json:
        console.emit_json({"run": str(target), **written.summary, "topics": written.tables["topics"].to_pylist()})
        return
    show_topics(written.tables["topics"], tokens.n_docs)
    show_next(target, found, written.description, seconds, corpus.df / corpus.rows.num_rows)
