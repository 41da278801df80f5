"""What stats shows: figures, lengths, words beside the law of Zipf, growth, n-grams, groups."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.metrics.corpus import CorpusFigures
from nlpkit.metrics.lengths import LengthBin
from nlpkit.metrics.lexical_diversity import DRAWS, WINDOW, DiversitySummary
from nlpkit.metrics.zipf import verdict, zipf_frequencies
from nlpkit.text.frequent import spelled
from nlpkit.workflows.stats import CorpusStatistics, GroupStatistics

_BAR = 40
_NAMES = {2: "bigram", 3: "trigram"}


def statistics(stats: CorpusStatistics) -> None:
    """Print tables for people, or one JSON object."""
    if console.settings.json:
        console.emit_json(stats.to_dict())
        return
    whole, words = stats.whole, stats.words.to_pylist()
    _show_figures(whole.figures, whole.diversity)
    _show_readability(stats)
    _show_lengths(whole.figures.bins)
    _show_zipf(whole, words, stats.top, stats.exponent_of(whole))
    _show_heaps(whole.figures)
    _show_ngrams(whole, words)
    if stats.by is not None:
        groups = stats.groups if ":" in stats.by else sorted(stats.groups, key=lambda g: -g.figures.lengths.n_docs)
        _show_groups(groups, stats.by)
        _show_group_words(stats, groups, stats.by)


def _show_figures(figures: CorpusFigures, diversity: DiversitySummary) -> None:
    lengths = figures.lengths
    empty = f" ({wording.count(lengths.empty)} without a token)" if lengths.empty else ""
    share = f" ({figures.hapaxes / figures.types:.1%} of the types)" if figures.types else ""
    rows = [
        ["documents", f"{wording.count(lengths.n_docs)}{empty}"],
        ["tokens", wording.count(figures.tokens)],
        ["types (different words)", wording.count(figures.types)],
        ["hapaxes (words that occur once)", f"{wording.count(figures.hapaxes)}{share}"],
        ["type-token ratio", _number(figures.type_token_ratio, 4)],
        ["tokens per document", f"mean {lengths.mean:,.1f}; min {lengths.min:,}, quartiles {_quartile(lengths.q1)} · "
         f"{_quartile(lengths.median)} · {_quartile(lengths.q3)}, max {lengths.max:,}"],
    ]  # fmt: skip
    if diversity.documents:
        values = f"{diversity.mtld:.1f} · {diversity.mattr:.3f} · {diversity.hdd:.3f}"
        which = f"mean of {wording.counted(diversity.documents, 'document')} of {WINDOW} tokens or more"
        rows.append([f"MTLD · MATTR ({WINDOW}) · HD-D ({DRAWS})", f"{values} ({which})"])
    console.table(["", ""], rows)


_FORMULAS = {"flesch": "Flesch", "flesch_kincaid": "Flesch-Kincaid", "wiener": "Wiener", "lix": "LIX"}


def _show_readability(stats: CorpusStatistics) -> None:
    names = list(stats.whole.readability)
    if not names:
        return
    rows = [[str(g.name), *(_number(g.readability[name], 1) for name in names)] for g in stats.groups]
    heads = [stats.by or "", *(_FORMULAS[name] for name in names)]
    everything = ["all documents", *(_number(stats.whole.readability[name], 1) for name in names)]
    title = "Readability, mean of the documents (Flesch: higher is easier; others: higher is harder)"
    console.table(heads, rows, right=heads[1:], title=title, noun="groups", rest="--json", after=[everything])


def _show_lengths(bins: Sequence[LengthBin]) -> None:
    most = max(b.documents for b in bins)
    rows = [[_range(b), wording.count(b.documents), "█" * -(-b.documents * _BAR // most)] for b in bins]
    console.table(["tokens", "documents", ""], rows, right=["tokens", "documents"], title="Length of documents")


def _show_zipf(whole: GroupStatistics, words: Sequence[str], top: int, s: float) -> None:
    fit = whole.figures.zipf
    if not fit.n_ranks:
        return
    law = zipf_frequencies(float(whole.cf[0]), s, min(top, fit.n_ranks)).tolist()
    even = whole.dispersion
    spread = {} if even is None else {"DP": even.dp, "Juilland's D": even.juilland_d}
    rows = [
        [str(k), words[k - 1], wording.count(int(whole.cf[k - 1])), f"{whole.cf[k - 1] / whole.figures.tokens:.2%}",
         _number(f, 2), *(_number(float(values[k - 1]), 3) for values in spread.values())]
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
    console.table(["rank", "word", *numbers], rows, right=["rank", *numbers], title=title)


def _show_heaps(figures: CorpusFigures) -> None:
    fit = figures.heaps
    if fit.beta != fit.beta:
        return
    ahead = fit.k * (2 * figures.tokens) ** fit.beta
    rows = [
        ["K", _number(fit.k, 3)],
        ["β", _number(fit.beta, 4)],
        ["R² of the logarithms", _number(fit.r2, 4)],
        ["types in twice the text, about", wording.count(_rounded(ahead))],
    ]
    console.table(["", ""], rows, title="Heaps' law V(n) = K n^β (least squares on the logarithms)")


def _show_ngrams(whole: GroupStatistics, words: Sequence[str]) -> None:
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
        reporting.note("no n-gram occurs twice")
        return
    names = [name if not name.startswith("tf ") else "tf" for name in columns]
    console.table(names, rows, right=["rank", "tf"], title="Most frequent n-grams")


def _show_groups(groups: Sequence[GroupStatistics], by: str) -> None:
    columns = [
        by,
        "documents",
        "tokens",
        "types",
        "hapaxes",
        "type-token",
        "MTLD",
        "mean length",
        "Zipf s",
        "KS",
        "Heaps K",
        "β",
    ]
    rows = [
        [str(g.name), wording.count(f.lengths.n_docs), wording.count(f.tokens), wording.count(f.types),
         wording.count(f.hapaxes), _number(f.type_token_ratio, 3), _number(g.diversity.mtld, 1),
         f"{f.lengths.mean:,.1f}", _number(f.zipf.exponent, 3),
         _number(f.zipf.ks, 3), _number(f.heaps.k, 2), _number(f.heaps.beta, 3)]
        for g in groups for f in (g.figures,)
    ]  # fmt: skip
    console.table(
        columns,
        rows,
        right=columns[1:],
        noun="groups",
        rest="--json",
        title=f"By {by} (type-token ratio and exponents depend on text length, MTLD does not)",
    )


def _show_group_words(stats: CorpusStatistics, groups: Sequence[GroupStatistics], by: str) -> None:
    words = stats.words.to_pylist()
    rows = []
    for g in groups:
        grams = [gram for frequent in g.ngrams.values() for gram, _ in spelled(frequent, words)[:3]]
        rows.append([str(g.name), " ".join(stats.terms.take(g.ids[: stats.top]).to_pylist()), ", ".join(grams)])
    console.table([by, "most frequent words", "n-grams"], rows, noun="groups", rest="--json")


def _range(b: LengthBin) -> str:
    if b.high is None:
        return f"{b.low:,}+"
    return f"{b.low:,}" if b.low == b.high else f"{b.low:,}–{b.high:,}"


def _quartile(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _number(value: float, digits: int) -> str:
    return "" if value != value else f"{value:,.{digits}f}"


def _rounded(value: float) -> int:
    """Return a forecast with two digits that count."""
    digits = max(len(str(int(value))) - 2, 0)
    return int(round(value, -digits))
