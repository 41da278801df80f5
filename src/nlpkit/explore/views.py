"""What is in a corpus, on the screen: figures, keywords in context, collocations, similar documents, features of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nlpkit.explore.stats.frequent import spelled
from nlpkit.metrics.texts.corpus import DRAWS, WINDOW, verdict, zipf_frequencies
from nlpkit.platform import wording
from nlpkit.platform.cli import console
from nlpkit.platform.documents.corpus import warn_dropped
from nlpkit.platform.views.blocks import Block, Note, Table, cell

if TYPE_CHECKING:
    import pyarrow as pa

    from nlpkit.explore.collocations.run import Collocations
    from nlpkit.explore.kwic.run import Concordance
    from nlpkit.explore.similar.run import DocumentPairs, NearestDocuments
    from nlpkit.explore.stats.run import CorpusStatistics, GroupStatistics
    from nlpkit.metrics.texts.corpus import CorpusFigures, DiversitySummary, LengthBin

_BAR = 40
_NAMES = {2: "bigram", 3: "trigram"}


def statistics_blocks(stats: CorpusStatistics) -> Iterator[Block]:
    """Yield figures, lengths, words beside the law of Zipf, growth, n-grams and groups."""
    whole, words = stats.whole, stats.words.to_pylist()
    yield _figures(whole.figures, whole.diversity)
    yield from _readability(stats)
    yield _lengths(whole.figures.bins)
    yield from _zipf(whole, words, stats.top, stats.exponent_of(whole))
    yield from _heaps(whole.figures)
    yield from _ngrams(whole, words)
    if stats.by is not None:
        groups = stats.groups if ":" in stats.by else sorted(stats.groups, key=lambda g: -g.figures.lengths.n_docs)
        yield _groups(groups, stats.by)
        yield _group_words(stats, groups, stats.by)


def _figures(figures: CorpusFigures, diversity: DiversitySummary) -> Table:
    lengths = figures.lengths
    empty = f" ({wording.count(lengths.empty)} without a token)" if lengths.empty else ""
    share = f" ({figures.hapaxes / figures.types:.1%} of the types)" if figures.types else ""
    rows = [
        ["documents", f"{wording.count(lengths.n_docs)}{empty}"],
        ["tokens", wording.count(figures.tokens)],
        ["types (different words)", wording.count(figures.types)],
        ["hapaxes (words that occur once)", f"{wording.count(figures.hapaxes)}{share}"],
        ["type-token ratio", cell(figures.type_token_ratio, ",.4f")],
        ["tokens per document", f"mean {lengths.mean:,.1f}; min {lengths.min:,}, quartiles {_quartile(lengths.q1)} · "
         f"{_quartile(lengths.median)} · {_quartile(lengths.q3)}, max {lengths.max:,}"],
    ]  # fmt: skip
    if diversity.documents:
        values = f"{diversity.mtld:.1f} · {diversity.mattr:.3f} · {diversity.hdd:.3f}"
        which = f"mean of {wording.counted(diversity.documents, 'document')} of {WINDOW} tokens or more"
        rows.append([f"MTLD · MATTR ({WINDOW}) · HD-D ({DRAWS})", f"{values} ({which})"])
    return Table(["", ""], rows)


_FORMULAS = {"flesch": "Flesch", "flesch_kincaid": "Flesch-Kincaid", "wiener": "Wiener", "lix": "LIX"}


def _readability(stats: CorpusStatistics) -> Iterator[Block]:
    names = list(stats.whole.readability)
    if not names:
        return
    rows = [[str(g.name), *(cell(g.readability[name], ",.1f") for name in names)] for g in stats.groups]
    heads = [stats.by or "", *(_FORMULAS[name] for name in names)]
    everything = ["all documents", *(cell(stats.whole.readability[name], ",.1f") for name in names)]
    title = "Readability, mean of the documents (Flesch: higher is easier; others: higher is harder)"
    yield Table(heads, rows, right=heads[1:], title=title, noun="groups", rest="--json", after=[everything])


def _lengths(bins: Sequence[LengthBin]) -> Table:
    most = max(b.documents for b in bins)
    rows = [[_range(b), wording.count(b.documents), "█" * -(-b.documents * _BAR // most)] for b in bins]
    return Table(["tokens", "documents", ""], rows, right=["tokens", "documents"], title="Length of documents")


def _zipf(whole: GroupStatistics, words: Sequence[str], top: int, s: float) -> Iterator[Block]:
    fit = whole.figures.zipf
    if not fit.n_ranks:
        return
    law = zipf_frequencies(float(whole.cf[0]), s, min(top, fit.n_ranks)).tolist()
    even = whole.dispersion
    spread = {} if even is None else {"DP": even.dp, "Juilland's D": even.juilland_d}
    rows = [
        [str(k), words[k - 1], wording.count(int(whole.cf[k - 1])), f"{whole.cf[k - 1] / whole.figures.tokens:.2%}",
         cell(f, ",.2f"), *(cell(float(values[k - 1]), ",.3f") for values in spread.values())]
        for k, f in enumerate(law, 1)
    ]  # fmt: skip
    title = "Most frequent words"
    if fit.n_ranks > 1:
        title = (
            f"Zipf's law p_k = k^-s / Σ v^-s: s = {fit.exponent:.4f} ± {fit.error:.2g} (maximum likelihood, "
            f"{wording.count(fit.n_ranks)} ranks)\n{verdict(fit.ks).capitalize()}: the first "
            f"{wording.counted(fit.ks_rank, 'word')} {'has' if fit.ks_rank == 1 else 'have'} a share of the tokens "
            f"{fit.ks:.3f} off the law, the largest gap (KS)\nMost frequent words; Zipf = "
            f"{wording.count(int(whole.cf[0]))} / rank^{s:.4g}"
        )
    if spread:
        title += "; DP 0 = spread evenly over the documents, D 1 = evenly"
    numbers = ["tf", "share", "Zipf", *spread]
    yield Table(["rank", "word", *numbers], rows, right=["rank", *numbers], title=title)


def _heaps(figures: CorpusFigures) -> Iterator[Block]:
    fit = figures.heaps
    if fit.beta != fit.beta:
        return
    ahead = fit.k * (2 * figures.tokens) ** fit.beta
    rows = [
        ["K", cell(fit.k, ",.3f")],
        ["β", cell(fit.beta, ",.4f")],
        ["R² of the logarithms", cell(fit.r2, ",.4f")],
        ["types in twice the text, about", wording.count(_rounded(ahead))],
    ]
    yield Table(["", ""], rows, title="Heaps' law V(n) = K n^β (least squares on the logarithms)")


def _ngrams(whole: GroupStatistics, words: Sequence[str]) -> Iterator[Block]:
    if not whole.ngrams:
        return
    columns, rows, right = ["rank"], [], ["rank"]
    lists = []
    for n, grams in whole.ngrams.items():
        columns += [_NAMES.get(n, f"{n}-gram"), f"tf {n}"]
        right.append(f"tf {n}")
        lists.append(spelled(grams, words))
    for k in range(max(map(len, lists))):
        cells = [(grams[k][0], wording.count(grams[k][1])) if k < len(grams) else ("", "") for grams in lists]
        rows.append([str(k + 1), *(cell for pair in cells for cell in pair)])
    if not rows:
        yield Note("no n-gram occurs twice")
        return
    names = [name if not name.startswith("tf ") else "tf" for name in columns]
    yield Table(names, rows, right=["rank", "tf"], title="Most frequent n-grams")


def _groups(groups: Sequence[GroupStatistics], by: str) -> Table:
    heads = "documents,tokens,types,hapaxes,type-token,MTLD,mean length,Zipf s,KS,Heaps K,β"
    columns = [by, *heads.split(",")]
    rows = [
        [str(g.name), wording.count(f.lengths.n_docs), wording.count(f.tokens), wording.count(f.types),
         wording.count(f.hapaxes), cell(f.type_token_ratio, ",.3f"), cell(g.diversity.mtld, ",.1f"),
         f"{f.lengths.mean:,.1f}", cell(f.zipf.exponent, ",.3f"),
         cell(f.zipf.ks, ",.3f"), cell(f.heaps.k, ",.2f"), cell(f.heaps.beta, ",.3f")]
        for g in groups for f in (g.figures,)
    ]  # fmt: skip
    title = f"By {by} (type-token ratio and exponents depend on text length, MTLD does not)"
    return Table(columns, rows, columns[1:], title, noun="groups", rest="--json")


def _group_words(stats: CorpusStatistics, groups: Sequence[GroupStatistics], by: str) -> Table:
    words = stats.words.to_pylist()
    rows = []
    for g in groups:
        grams = [gram for frequent in g.ngrams.values() for gram, _ in spelled(frequent, words)[:3]]
        rows.append([str(g.name), " ".join(stats.terms.take(g.ids[: stats.top]).to_pylist()), ", ".join(grams)])
    return Table([by, "most frequent words", "n-grams"], rows, noun="groups", rest="--json")


def _range(b: LengthBin) -> str:
    if b.high is None:
        return f"{b.low:,}+"
    return f"{b.low:,}" if b.low == b.high else f"{b.low:,}–{b.high:,}"


def _quartile(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _rounded(value: float) -> int:
    """Return a forecast with two digits that count."""
    digits = max(len(str(int(value))) - 2, 0)
    return int(round(value, -digits))


def concordance(hits: Concordance, target: str | None) -> None:
    """Print lines where nothing was written, numbers, and scores where there are classes."""
    lines: list[dict[str, Any]] = []
    if target is None:
        lines = _lines(hits)
        scores = hits.scores()
        warn_dropped(hits.stream, None)
    else:
        scores = hits.scores()
    shown = {} if hits.options.count or target is not None else {"lines": lines}
    console.say(_concordance(hits, scores, target), lambda: {**hits.summary(), **shown})


def _concordance(hits: Concordance, scores: dict[str, dict[str, Any]], target: str | None) -> Iterator[Block]:
    """Yield numbers, and precision and recall of the pattern where there are classes."""
    yield _numbers(hits)
    if hits.n_unclassed:
        yield Note(f"not scored: {wording.counted(hits.n_unclassed, 'document')} without a value in '{hits.by}'")
    if hits.by is not None:
        yield from _scores(scores, hits.by, to_stderr=target == "-")


def _lines(hits: Concordance) -> list[dict[str, Any]]:
    """Print the matches as they are found; return them where they go into JSON."""
    from nlpkit.platform.views.terminal import Lines

    if console.settings.json:
        return [row for batch in hits.batches() for row in batch.to_pylist()]
    lines = Lines(hits.columns)
    batches: Iterable[pa.RecordBatch] = hits.batches()
    if hits.options.positive is not None:
        batches = list(batches)
        hits.scores()  # a class that no document has is refused before a line is printed
    for batch in batches:
        lines.show(batch)
    return []


def _numbers(hits: Concordance) -> Block:
    share = f"{hits.matched / hits.documents:.1%}"
    if hits.options.count and hits.by is None:
        columns = ["documents", "with a hit", "share", "hits"]
        row = [wording.count(hits.documents), wording.count(hits.matched), share, wording.count(hits.hits)]
        return Table(columns, [row], right=columns)
    some = not hits.options.count and hits.n_shown < hits.hits
    shown = f" (the first {wording.count(hits.n_shown)} here)" if some else ""
    return Note(
        f"{wording.counted(hits.hits, 'hit')}{shown} in {wording.count(hits.matched)} of "
        f"{wording.counted(hits.documents, 'document')} ({share})"
    )


def _scores(scores: dict[str, dict[str, Any]], by: str, *, to_stderr: bool) -> Iterator[Block]:
    """Yield precision and recall for each class, those with most documents first; parts of dates stay in their order."""
    largest_first = sorted(scores.items(), key=lambda item: 0 if ":" in by else -item[1]["documents"])
    rows = [
        [name, *(wording.count(s[n]) for n in ("documents", "matched", "hits")), cell(s["precision"]), _ends(s, "precision"),
         cell(s["recall"]), _ends(s, "recall"), cell(s["f1"])]
        for name, s in largest_first
    ]  # fmt: skip
    if to_stderr:  # stdout is for the lines
        for row in rows:
            yield Note(f"{row[0]}: precision {row[4]} ({row[5]}), recall {row[6]} ({row[7]}), F1 {row[8]}")
        return
    columns = [by, "documents", "with a hit", "hits", "precision", "95 %", "recall", "95 %", "F1"]
    yield Table(columns, rows, right=columns[1:], noun="classes", rest="--json")


def _ends(score: dict[str, Any], name: str) -> str:
    low, high = score[f"{name}_low"], score[f"{name}_high"]
    return "" if low != low else f"{low:.3f}–{high:.3f}"


_HEADS = {"pmi": "PMI", "npmi": "NPMI", "g2": "G²", "t": "t", "dice": "Dice", "log_dice": "logDice"}
_DIGITS = {"pmi": 2, "npmi": 3, "g2": 1, "t": 2, "dice": 4, "log_dice": 2}


def collocation_blocks(collocations: Collocations) -> Iterator[Block]:
    """Yield the best pairs with their counts and all measures."""
    options, pairs = collocations.options, collocations.pairs
    if not len(pairs):
        yield Note(f"no pair occurs {options.min_count} times within the bounds; try --min-count 2")
        return
    node = collocations.node
    counts = ["n_xy", *(["left", "right"] if node is not None else []), "n_x", "n_y"]
    rows = [
        [
            str(row["rank"]), *([] if node is not None else [row["x"]]), row["y"],
            *(wording.count(row[{"left": "n_left", "right": "n_right"}.get(name, name)]) for name in counts),
            *(f"{row[name]:,.{_DIGITS[name]}f}" for name in _HEADS),
        ]
        for row in collocations.table().slice(0, options.top).to_pylist()
    ]  # fmt: skip
    names = ["x", "y"] if node is None else ["collocate y"]
    right = ["rank", *counts, *_HEADS.values()]
    near = "neighbours" if options.distance == 1 else f"words at most {options.distance} apart"
    order = "in either order" if options.both_orders else "x before y"
    title = (
        f"{'Pairs' if node is None else f'Collocates of x = {node}'}: {near}, {order}; N = {wording.count(pairs.n_pairs)} pairs of "
        f"places; by {options.measure}"
    )
    yield Table(["rank", *names, *counts, *_HEADS.values()], rows, right=right, title=title)
    if len(pairs) > options.top:
        yield Note(f"the first {wording.count(options.top)} of {wording.counted(len(pairs), 'pair')}: see --top, -o")


def similar(result: NearestDocuments | DocumentPairs, target: str | None) -> None:
    """Print a table, or one JSON object."""
    from nlpkit.explore.similar.run import NearestDocuments

    if target != "-":
        console.say(_nearest(result) if isinstance(result, NearestDocuments) else _pairs(result), result.to_dict)


def _nearest(result: NearestDocuments) -> Iterator[Block]:
    measure = result.metric.value
    for number, query in enumerate(result.queries):
        rows = [[str(n["rank"]), n["id"], f"{n[measure]:.3f}", n["text"]] for n in result.nearest(number)]
        title = wording.truncated(" ".join(query.split()), 80)
        if rows:
            yield Table(["rank", "id", measure, "text"], rows, right=["rank", measure], title=title)
        else:
            yield Note(f"there is no other document than '{title}'")


def _pairs(result: DocumentPairs) -> Iterator[Block]:
    measure, closest = result.metric.value, result.closest()
    least = "at least" if result.metric.is_similarity else "at most"
    yield Note(
        f"{wording.counted(result.n_pairs, 'pair')} of {wording.counted(len(result.vectors.rows), 'document')} with a {measure} of "
        f"{least} {result.options.pairs:g}"
        + (f"; the closest {len(closest)}:" if 0 < len(closest) < result.n_pairs else "")
    )
    rows = [[p["id"], p["other_id"], f"{p[measure]:.3f}", p["text"]] for p in closest]
    if rows:
        yield Table(["id", "other id", measure, "text"], rows, right=[measure])
