"""Rolling models: thresholds, memory, growth of the vocabulary, and chunks that are added later."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.lda.sampler import GibbsSampler
from nlpkit.topics.rolling.options import RollingOptions
from nlpkit.topics.rolling.plan import RollingFit, RollingState, chunk_seed, fit_rolling, plan_chunks, update_rolling
from tests.peer_data import PEER_DATA
from tests.refusals import refuses
from tests.strategies import repeatable

ECONOMY = "rollinglda_economy/economy_tokenised.jsonl"


class PlainSampler:
    """Collapsed Gibbs sampling of LDA, one token after the other."""

    calls: list[dict[str, Any]]

    def __init__(self, tokens: TokenTable, *, assignments: Any, frozen: Any, **options: Any) -> None:
        self.tokens, self.frozen, self.options = tokens, frozen, options
        self.K, self.rng = options["n_topics"], np.random.default_rng(options["seed"])
        self.d = np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))
        self.start = assignments
        random = self.rng.integers(0, self.K, len(assignments))
        self.z = np.where(assignments < 0, random, assignments).astype(np.int32)
        self.n_dk, self.n_kv = np.zeros((tokens.n_docs, self.K)), np.zeros((self.K, tokens.n_terms))
        np.add.at(self.n_dk, (self.d, self.z), 1)
        np.add.at(self.n_kv, (self.z, tokens.term_ids), 1)

    def run(self, sweeps: int) -> None:
        alpha, eta = self.options["alpha"], self.options["eta"]
        for _ in range(sweeps):
            for n in np.flatnonzero(~self.frozen[self.d]):
                d, v, k = self.d[n], self.tokens.term_ids[n], self.z[n]
                self.n_dk[d, k] -= 1
                self.n_kv[k, v] -= 1
                p = (
                    (self.n_dk[d] + alpha)
                    * (self.n_kv[:, v] + eta)
                    / (self.n_kv.sum(axis=1) + self.tokens.n_terms * eta)
                )
                k = self.z[n] = np.searchsorted(np.cumsum(p), self.rng.random() * p.sum(), side="right")
                self.n_dk[d, k] += 1
                self.n_kv[k, v] += 1

    def assignments(self) -> Any:
        return self.z


class Corpus:
    """Documents as lists of words, their dates and ids."""

    def __init__(self, *documents: tuple[str, str], prefix: str = "d") -> None:
        self.words = [text.split() for _, text in documents]
        self.dates = np.array([when for when, _ in documents], "datetime64[D]")
        self.ids = [f"{prefix}{i}" for i in range(len(documents))]

    def __getitem__(self, rows: Any) -> Corpus:
        part = Corpus()
        part.words = [self.words[i] for i in rows]
        part.dates, part.ids = self.dates[list(rows)], [self.ids[i] for i in rows]
        return part

    @property
    def tokens(self) -> TokenTable:
        number: dict[str, int] = {}
        ids = [number.setdefault(word, len(number)) for words in self.words for word in words]
        offsets = np.cumsum([0, *(len(words) for words in self.words)])
        return TokenTable(offsets.astype(np.int64), np.array(ids, np.int32), tuple(number))

    def fit(self, options: RollingOptions, **keywords: Any) -> RollingFit:
        return fit_rolling(self.tokens, self.dates, self.ids, options, **{"sampler": PlainSampler, **keywords})

    def plan(self, options: RollingOptions) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        return plan_chunks(self.tokens, self.dates, self.ids, options)

    def update(self, state: RollingState, **keywords: Any) -> RollingFit:
        return update_rolling(state, self.tokens, self.dates, self.ids, **{"sampler": PlainSampler, **keywords})


def same(a: RollingState, b: RollingState) -> bool:
    """Whether two states are equal, bit by bit."""
    for field in fields(RollingState):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if isinstance(x, TokenTable):
            equal = x.terms == y.terms and x.offsets.tobytes() == y.offsets.tobytes()
            equal = equal and (x.term_ids.tobytes(), x.term_ids.dtype) == (y.term_ids.tobytes(), y.term_ids.dtype)
        elif isinstance(x, np.ndarray):
            equal = x.dtype == y.dtype and x.tobytes() == y.tobytes()
        else:
            equal = x == y
        if not equal:
            return False
    return True


OPTIONS = RollingOptions(k=2, init="2020-01-31", memory="month", vocab_abs=0, sweeps=3)

SMALL = Corpus(
    ("2020-02-10", "b b c"),
    ("2020-01-05", "a a b"),
    ("2020-01-05", "a b b"),
    ("2020-04-02", "c c a"),
    ("2020-01-31", "a"),
    ("2020-02-10", "a d"),
)


def words_of(state: RollingState, row: int) -> list[str]:
    return [state.terms[v] for v in state.term_ids[state.offsets[row] : state.offsets[row + 1]]]


def test_documents_stand_by_date_and_are_found_from_the_order_given() -> None:
    fit = SMALL.fit(replace(OPTIONS, memory="3 months"))
    state = fit.state
    assert state.ids == ("d1", "d2", "d4", "d0", "d5", "d3")  # those of one day as given
    assert fit.rows.tolist() == [3, 0, 1, 5, 2, 4]
    assert [words_of(state, row) for row in fit.rows] == SMALL.words
    assert state.chunk_of().tolist() == [0, 0, 0, 1, 1, 3]
    assert [state.rows(chunk) for chunk in state.chunks] == [(0, 3), (3, 5), (5, 5), (5, 6)]
    assert state.terms == ("a", "b", "c", "d")
    assert state.z.dtype == state.term_ids.dtype == np.int32
    assert state.offsets.dtype == np.int64
    assert ((state.z == 0) | (state.z == 1)).all()


def test_the_chunk_table() -> None:
    table = SMALL.fit(replace(OPTIONS, memory="3 months", doc_abs=1)).state.chunks
    rows = [(c.chunk_id, c.start_date, c.end_date, c.first_date, c.last_date, c.memory) for c in table]
    assert rows == [
        (0, date(2020, 1, 5), date(2020, 1, 31), date(2020, 1, 5), date(2020, 1, 31), None),
        (1, date(2020, 2, 1), date(2020, 2, 29), date(2020, 2, 10), date(2020, 2, 10), date(2019, 11, 1)),
        (2, date(2020, 3, 1), date(2020, 3, 31), None, None, None),  # nobody wrote
        (3, date(2020, 4, 1), date(2020, 4, 30), date(2020, 4, 2), date(2020, 4, 2), date(2020, 1, 1)),
    ]
    assert [(c.n, c.n_discarded, c.n_memory, c.n_vocab, c.n_tokens) for c in table] == [
        (2, 1, None, 2, 6),  # the document of one word goes
        (2, 0, 2, 4, 5),
        (0, 0, None, 4, 0),
        (1, 0, 4, 4, 3),
    ]
    assert SMALL.plan(replace(OPTIONS, memory="3 months", doc_abs=1)) == (table, ("a", "b", "c", "d"))


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"vocab_abs": 2}, "abcd"),  # d occurs three times in ten
        ({"vocab_abs": 3}, "abc"),  # more than three are asked for
        ({"vocab_abs": 0, "vocab_rel": 0.25}, "abcd"),  # limit 2.75 of 11 tokens
        ({"vocab_abs": 0, "vocab_rel": 3 / 12}, "abcd"),
        ({"vocab_abs": 0, "vocab_rel": 4 / 11}, "ab"),  # 4 of 11: as often is not more
        ({"vocab_abs": 0, "vocab_rel": 0.9, "vocab_fallback": 3}, "abc"),  # more than 3 is enough
        ({"vocab_abs": 0, "vocab_rel": 0.9, "vocab_fallback": 2}, "abcd"),
        ({"vocab_abs": 4, "vocab_rel": 0.9, "vocab_fallback": 2}, "ab"),  # vocab_abs holds all the same
    ],
)
def test_thresholds_at_their_limits(limits: dict[str, Any], expected: str) -> None:
    # in the chunk: c four times, d three; e once. a and b are there from the start
    corpus = Corpus(
        ("2020-01-01", "a a a a a b b b b b"),
        ("2020-02-01", "c c c c d d"),
        ("2020-02-02", "d a a a e"),
    )
    _, terms = corpus.plan(replace(OPTIONS, **limits))
    assert "".join(terms) == expected


def test_words_are_counted_in_the_chunk_alone_and_stay_for_good() -> None:
    corpus = Corpus(
        ("2020-01-01", "a a z"),  # z once
        ("2020-02-01", "z a"),  # once again: twice in all, but not in one chunk
        ("2020-03-01", "z z y y c"),  # now it is in, after y by the alphabet
        ("2020-04-01", "z a"),  # once is enough for a word that is in
    )
    state = corpus.fit(replace(OPTIONS, vocab_abs=1)).state
    assert state.terms == ("a", "y", "z")
    assert [c.n_vocab for c in state.chunks] == [1, 1, 3, 3]
    assert [words_of(state, row) for row in range(4)] == [["a", "a"], ["a"], ["z", "z", "y", "y"], ["z", "a"]]


def test_discarded_documents_are_counted_and_have_no_words() -> None:
    corpus = Corpus(
        ("2020-01-01", "a a a"), ("2020-01-02", "b a"), ("2020-02-01", "a a x"), ("2020-02-02", "a x a y y")
    )
    state = corpus.fit(replace(OPTIONS, vocab_abs=2, doc_abs=2)).state
    assert [(c.n, c.n_discarded, c.n_tokens) for c in state.chunks] == [(1, 1, 3), (0, 2, 0)]
    assert [words_of(state, row) for row in range(4)] == [["a", "a", "a"], [], [], []]
    state = corpus.fit(replace(OPTIONS, vocab_abs=1, doc_abs=2)).state
    assert [words_of(state, row) for row in range(4)] == [
        ["a", "a", "a"],
        [],
        ["a", "a", "x"],
        ["a", "x", "a", "y", "y"],
    ]
    assert state.chunks[1].n_memory == 1  # without the one that was discarded


class Spy(PlainSampler):
    """Keeps what it was made with."""

    def __init__(self, made: list[Spy], tokens: TokenTable, **options: Any) -> None:
        super().__init__(tokens, **options)
        made.append(self)


def test_memory_keeps_its_topics_and_new_documents_start_at_random() -> None:
    made: list[Spy] = []
    options = replace(OPTIONS, memory_fallback=1, alpha=0.2, eta=0.25, shards=2)
    shown: list[int] = []

    @contextmanager
    def show(label: str, total: int | None, percent: bool) -> Iterator[Any]:
        assert (label, total, percent) == ("documents", 6, False)
        yield shown.append

    with reporting.progress_shown_by(show):
        state = SMALL.fit(
            options, execution=Execution(threads=3), sampler=lambda t, **k: Spy(made, t, **k)
        ).state  # fmt: skip
    assert shown == [1, 2, 3, 3, 4, 5, 5, 5, 6]  # three sweeps a chunk; the third chunk is empty
    initial, february, april = made
    assert (initial.frozen.tolist(), initial.start.tolist()) == ([False] * 3, [-1] * 7)
    assert initial.tokens.terms == ("a", "b")
    assert february.frozen.tolist() == [True, True, True, False, False]
    assert february.start.tolist() == [*state.z[:7], *[-1] * 5]
    assert february.tokens.terms == ("a", "b", "c", "d")
    assert [february.tokens.offsets.tolist(), february.tokens.term_ids.tolist()] == [
        [0, 3, 6, 7, 10, 12],
        [0, 0, 1, 0, 1, 1, 0, 1, 1, 2, 0, 3],
    ]
    # nothing in March: the last document before is the memory, with the other one of its day
    assert april.frozen.tolist() == [True, True, False]
    assert april.start.tolist() == [*state.z[7:12], -1, -1, -1]
    assert (february.z[:7] == state.z[:7]).all()
    for model, seed in zip(made, [42, chunk_seed(42, date(2020, 2, 1)), chunk_seed(42, date(2020, 4, 1))], strict=True):
        assert model.options == {"n_topics": 2, "alpha": 0.2, "eta": 0.25, "seed": seed, "threads": 3, "shards": 2}


def test_priors_are_one_part_in_k_unless_given() -> None:
    made: list[Spy] = []
    SMALL.fit(replace(OPTIONS, k=4, memory_fallback=1), sampler=lambda t, **k: Spy(made, t, **k))
    assert [made[0].options["alpha"], made[0].options["eta"]] == [0.25, 0.25]


def test_the_first_model_can_be_any() -> None:
    given: list[TokenTable] = []

    def first(tokens: TokenTable) -> Any:
        given.append(tokens)
        return tokens.term_ids % 2

    fit = SMALL.fit(replace(OPTIONS, memory_fallback=1), first=first)
    assert fit.state.z[:7].tolist() == [0, 0, 1, 0, 1, 1, 0]
    assert [given[0].terms, given[0].offsets.tolist()] == [("a", "b"), [0, 3, 6, 7]]


def test_seeds_of_chunks_differ_and_stay() -> None:
    seeds = {chunk_seed(s, date(2020, 1, 1) + timedelta(days=n)) for s in (-1, 0, 1, 42) for n in range(50)}
    assert len(seeds) == 200
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert chunk_seed(42, date(2020, 1, 1)) == 4314882732638648353


def planted(n_docs: int, seed: int, *, words: int = 8, span: int = 300) -> Corpus:
    """Documents of two topics whose words drift through an alphabet of 60, on random days."""
    rng = np.random.default_rng(seed)
    documents = []
    for _ in range(n_docs):
        at = int(rng.integers(span))
        first = 10 * int(rng.integers(2)) * 3 + at // 30
        numbers = first + rng.integers(0, 10, rng.integers(0, words))
        documents.append((str(np.datetime64("2019-11-20") + at), " ".join(f"w{n:02}" for n in numbers)))
    return Corpus(*documents)


@pytest.mark.parametrize(
    "options",
    [
        {"chunks": "month", "memory": "2 months"},
        {"chunks": "2 weeks", "memory": "20 documents"},
        {"chunks": "15 documents", "memory": "2 chunks"},
        {"chunks": "quarter", "memory": "month", "vocab_rel": 0.01, "vocab_fallback": 3},
        {"chunks": "10 days", "memory": "3 days", "memory_fallback": 5, "doc_abs": 2},
    ],
)
@pytest.mark.parametrize("share", [0.4, 0.7, 0.95, 0.999])
def test_chunks_added_later_give_what_one_run_gives(options: dict[str, Any], share: float) -> None:
    corpus = planted(120, seed=len(options))
    by_date = np.argsort(corpus.dates, kind="stable")
    cut = int(share * 120)
    # documents of one day may lie on both sides; within each side they are in any order
    rng = np.random.default_rng(7)
    old, new = (rng.permutation(part) for part in (by_date[:cut], by_date[cut:]))
    keep = RollingOptions(k=2, init="30 documents", vocab_abs=1, sweeps=2, **options)
    one = corpus[[*old, *new]].fit(keep)
    before = corpus[old].fit(keep)
    after = corpus[new].update(before.state)
    assert same(one.state, after.state)
    assert after.rows.tolist() == one.rows[cut:].tolist()
    assert not same(before.state, after.state)


@repeatable
@given(
    st.integers(0, 99), st.lists(st.integers(40, 60), min_size=1, max_size=4), st.sampled_from(["month", "7", "week"])
)
def test_many_small_updates_give_what_one_run_gives(seed: int, cuts: Sequence[int], chunks: str) -> None:
    corpus = planted(60, seed, words=4)
    corpus = corpus[np.argsort(corpus.dates, kind="stable")]
    options = RollingOptions(k=2, init="20", chunks=chunks, memory="month", memory_fallback=9, vocab_abs=1, sweeps=1)
    state = corpus[range(40)].fit(options).state
    for begin, stop in zip([40, *sorted(cuts)], [*sorted(cuts), 60], strict=True):
        state = corpus[range(begin, stop)].update(state).state
    assert same(state, corpus.fit(options).state)


def test_an_update_without_documents_changes_nothing() -> None:
    state = SMALL.fit(replace(OPTIONS, memory_fallback=1)).state
    fit = Corpus().update(state)
    assert same(fit.state, state)
    assert fit.rows.tolist() == []


def test_documents_before_the_last_chunk_are_refused() -> None:
    state = SMALL.fit(replace(OPTIONS, memory_fallback=1)).state
    late = Corpus(("2020-04-05", "a b"), ("2020-03-31", "a"), ("2020-02-01", "b"), prefix="new")
    with pytest.raises(InputError, match=r"2 of the new documents are dated before 2020-04-01.*'new1', 2020-03-31"):
        late.update(state)
    assert late[[0]].update(state).state.chunks[-1].n == 2


def test_documents_that_are_there_already_are_refused() -> None:
    state = SMALL.fit(replace(OPTIONS, memory_fallback=1)).state
    again = Corpus(("2020-05-01", "a b"), prefix="d")
    with pytest.raises(InputError, match=r"of the new documents are already in the model"):
        again.update(state)


def test_bad_input_is_named() -> None:
    dates = SMALL.dates.copy()
    dates[[2, 4]] = np.datetime64("NaT")
    with pytest.raises(InputError, match=r"2 of 6 documents have no date \(first: 'd2'\)"):
        fit_rolling(SMALL.tokens, dates, SMALL.ids, OPTIONS, sampler=PlainSampler)
    with pytest.raises(InputError, match="the id 'd1' occurs more than once"):
        fit_rolling(SMALL.tokens, SMALL.dates, ["d0", "d1", "d2", "d1", "d4", "d5"], OPTIONS, sampler=PlainSampler)
    with pytest.raises(InputError, match="all 2 documents are dated 2020-01-01"):
        Corpus(("2020-01-01", "a"), ("2020-01-01", "a")).fit(OPTIONS)
    with pytest.raises(InputError, match="the only document is dated 2020-01-01"):
        Corpus(("2020-01-01", "a")).fit(OPTIONS)
    with pytest.raises(InputError):
        Corpus().fit(OPTIONS)
    with pytest.raises(InputError, match="no word occurs more than 4 times in the 3 documents of the initial period"):
        SMALL.fit(replace(OPTIONS, vocab_abs=4))


def test_a_chunk_without_memory_is_named_before_anything_is_sampled() -> None:
    def never(tokens: TokenTable, **options: Any) -> PlainSampler:
        raise AssertionError("sampled")

    with refuses("memory", InputError):
        SMALL.fit(OPTIONS, sampler=never)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"vocab_abs": -1}, "`vocab_abs` must be at least 0"),
        ({"doc_abs": -1}, "`doc_abs` must be at least 0"),
        ({"memory_fallback": -5}, "`memory_fallback` must be at least 0"),
        ({"vocab_rel": 1.5}, "`vocab_rel` must be at most 1"),
        ({"chunks": "fortnight"}, "`chunks` 'fortnight' is not a length of time"),
        ({"memory": "long"}, "`memory` 'long' is not a length of time"),
        ({"init": "2020-02-30"}, "`init` '2020-02-30' is not a day of the calendar"),
    ],
)
def test_options_that_cannot_be_meant(option: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RollingOptions(**{"k": 2, "init": "10", **option})


@pytest.mark.peer_data(ECONOMY)
def test_the_example_of_rollinglda() -> None:
    """The chunk table that its README prints for economy, "quarter", "3 quarter", init 2008-07-03."""
    rows = [json.loads(line) for line in (PEER_DATA / ECONOMY).read_text(encoding="utf-8").splitlines()]
    corpus = Corpus(*((row["date"], row["text"]) for row in rows))
    table, terms = corpus.plan(RollingOptions(k=10, init="2008-07-03", chunks="quarter", memory="3 quarter"))
    assert [
        (str(c.first_date), str(c.last_date), str(c.memory), c.n, c.n_discarded, c.n_memory, c.n_vocab) for c in table
    ] == [
        ("2007-01-01", "2008-07-03", "None", 470, 2, None, 2691),
        ("2008-07-05", "2008-09-30", "2007-10-04", 50, 0, 204, 2720),
        ("2008-10-04", "2008-12-29", "2008-01-04", 54, 0, 186, 2814),
    ]
    assert len(terms) == 2814
    assert sum(c.n_tokens for c in table) / 574 == pytest.approx(120.68, abs=0.005)  # mean length that it prints


def drifting(n_docs: int, seed: int) -> tuple[Corpus, Any]:
    """Documents of two topics, and the topic of each; within 300 days all words of both topics are replaced one by one."""
    rng = np.random.default_rng(seed)
    days, groups = np.sort(rng.integers(0, 300, n_docs)), rng.integers(0, 2, n_docs)
    words = [rng.integers(0, 10, 20) + 60 * g + day // 15 for g, day in zip(groups, days, strict=True)]
    texts = [" ".join(f"w{n:03}" for n in numbers) for numbers in words]
    return Corpus(*zip((str(np.datetime64("2020-01-01") + day) for day in days), texts, strict=True)), groups


def test_topics_stay_the_same_ones_while_all_their_words_are_replaced() -> None:
    corpus, groups = drifting(600, seed=0)
    options = RollingOptions(k=2, init="1 month", chunks="10 days", memory="30 days", vocab_abs=2, sweeps=30)
    state = fit_rolling(corpus.tokens, corpus.dates, corpus.ids, options).state
    assert state.chunks[0].n_vocab < 30 < len(state.terms)
    main = np.array([np.bincount(state.z[a:b], minlength=2).argmax() for a, b in pairwise(state.offsets)])
    first = state.chunk_of() == 0
    swap = int((main[first] != groups[first]).mean() > 0.5)
    for chunk in state.chunks:
        rows = slice(*state.rows(chunk))
        assert (main[rows] ^ swap == groups[rows]).mean() > 0.95


def test_no_memory_of_words_no_topics() -> None:
    """The counterpart: without what is remembered the numbers of the topics would be a matter of chance."""
    corpus, groups = drifting(600, seed=0)
    options = RollingOptions(k=2, init="1 month", chunks="10 days", memory="30 days", vocab_abs=2, sweeps=30)

    def forgetful(tokens: TokenTable, *, frozen: Any, assignments: Any, **rest: Any) -> Any:
        fresh = np.full_like(assignments, -1)
        return GibbsSampler(tokens, assignments=fresh, **rest)

    state = fit_rolling(corpus.tokens, corpus.dates, corpus.ids, options, sampler=forgetful).state
    main = np.array([np.bincount(state.z[a:b], minlength=2).argmax() for a, b in pairwise(state.offsets)])
    agree = [abs((main[slice(*state.rows(c))] == groups[slice(*state.rows(c))]).mean() - 0.5) for c in state.chunks]
    share = (main == groups).mean()
    assert min(agree) > 0.4  # each chunk has the two topics
    assert 0.1 < share < 0.9  # in an order of its own


@pytest.mark.parametrize("chunks", ["month", "40 documents"])
def test_updates_of_the_sampler_on_any_number_of_threads(chunks: str) -> None:
    corpus, _ = drifting(300, seed=1)
    options = RollingOptions(k=3, init="2 months", chunks=chunks, memory="2 months", sweeps=5, shards=3)
    one = fit_rolling(corpus.tokens, corpus.dates, corpus.ids, options).state
    for cut in (150, 151, 299):
        old, new = corpus[range(cut)], corpus[range(cut, 300)]
        before = fit_rolling(old.tokens, old.dates, old.ids, options, Execution(threads=2)).state
        after = update_rolling(before, new.tokens, new.dates, new.ids, threads=3).state
        assert same(after, one)
    assert not same(fit_rolling(corpus.tokens, corpus.dates, corpus.ids, options, Execution(1)).state, one)
