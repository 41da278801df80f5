"""The Gibbs sampler: planted topics, conserved counts, the same bytes on any number of threads, bad arguments.

Every draw against the plain sampler: tests/topics/base/test_gibbs_kernel.py; exact posteriors: test_posterior.py.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.errors import UsageError
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.lda import sampler as sampler_module
from nlpkit.topics.lda.priors import estimate_alpha
from nlpkit.topics.lda.sampler import GibbsSampler, shards_for
from tests.reference import gibbs as plain
from tests.strategies import token_table


def corpus(documents: list[list[int]], n_terms: int | None = None) -> TokenTable:
    V = 1 + max(max(d, default=0) for d in documents) if n_terms is None else n_terms
    return token_table(documents, [str(v) for v in range(V)])


def drawn_corpus(lengths: Any, *, K: int, V: int, seed: int, alpha: float = 0.2, eta: float = 0.05) -> TokenTable:
    """A corpus drawn from the model of LDA."""
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths)
    phi = np.cumsum(rng.dirichlet(np.full(V, eta), K), axis=1)
    theta = np.cumsum(rng.dirichlet(np.full(K, alpha), len(lengths)), axis=1)
    z = (rng.random((lengths.sum(), 1)) > np.repeat(theta, lengths, axis=0)[:, :-1]).sum(axis=1)
    w = np.empty(len(z), np.int32)
    for k in range(K):
        w[z == k] = np.minimum(np.searchsorted(phi[k], rng.random(np.count_nonzero(z == k))), V - 1)
    return TokenTable(np.concatenate([[0], np.cumsum(lengths)]), w, tuple(map(str, range(V))))


MIXED = drawn_corpus(
    np.random.default_rng(5).integers(0, 60, 40), K=8, V=50, seed=5
)  # 40 documents, about 1,200 tokens


def sampler(tokens: TokenTable = MIXED, **options: Any) -> GibbsSampler:
    return GibbsSampler(tokens, **{"n_topics": 8, "alpha": 0.2, "eta": 0.1, "seed": 1, **options})


def digest(*samplers: GibbsSampler) -> str:
    """A hash of all that the samplers give."""
    whole = hashlib.sha256()
    for s in samplers:
        for matrix in (s.topic_term(), s.doc_topic()):
            for part in (matrix.indptr, matrix.indices, matrix.data):
                whole.update(np.ascontiguousarray(part).tobytes())
        whole.update(s.assignments().tobytes() + repr((s.sweep, s.log_likelihood())).encode())
    return whole.hexdigest()


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("seed", range(4))
def test_planted_topics_come_back(seed: int, shards: int) -> None:
    # three topics of three words, as in scikit-learn's tests of LDA
    rng = np.random.default_rng(seed)
    main = rng.permutation(np.repeat([0, 1, 2], 20))
    tokens = corpus([(3 * k + rng.integers(0, 3, 9)).tolist() for k in main])
    found = sampler(tokens, n_topics=3, alpha=0.1, eta=0.1, seed=seed, shards=shards)
    found.run(100)
    words = found.topic_term().toarray()
    assert sorted(np.flatnonzero(row > 20).tolist() for row in words) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert words.max(axis=0).sum() == len(tokens.term_ids)  # not one token elsewhere
    topic = found.doc_topic().toarray().argmax(axis=1)
    assert len({*zip(main.tolist(), topic.tolist(), strict=True)}) == 3


def test_eight_shards_reach_the_likelihood_of_one() -> None:
    # more topics than the corpus has: chains with as many end where chance takes them, 0.6 % apart from seed to seed
    tokens = drawn_corpus(np.random.default_rng(3).integers(20, 180, 1000), K=20, V=3000, seed=3, alpha=0.1, eta=0.1)
    n = len(tokens.term_ids)
    assert 95_000 < n < 105_000
    per_token = {}
    for shards in (1, 8):
        chains = [sampler(tokens, n_topics=50, alpha=0.1, eta=0.1, shards=shards, seed=seed) for seed in range(2)]
        start = chains[0].log_likelihood() / n
        for chain in chains:
            chain.run(50)
        per_token[shards] = np.mean([chain.log_likelihood() / n for chain in chains])
        assert per_token[shards] > start + 2  # the chains have come a long way
    assert per_token[8] == pytest.approx(per_token[1], rel=0.005)


# --- what holds after every sweep ---------------------------------------------------------------------------------------

SOME = np.arange(40) % 3 == 1
OPTIONS: dict[str, dict[str, Any]] = {
    "one shard": {},
    "shards": {"shards": 5},
    "blocks": {"n_topics": 70, "shards": 3},
    "frozen": {"frozen": SOME, "assignments": np.arange(len(MIXED.term_ids)) % 8, "shards": 2},
    "all frozen": {"frozen": np.ones(40, bool), "assignments": np.arange(len(MIXED.term_ids)) % 8, "shards": 2},
    "fixed": {"fixed": np.arange(8) < 3, "shards": 2},
    "weights": {"weights": np.random.default_rng(0).gamma(2.0, size=len(MIXED.term_ids)), "shards": 2},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_counts_are_those_of_the_assignments(name: str) -> None:
    options = OPTIONS[name]
    chain = sampler(**options)
    units = (
        np.maximum(np.rint(256 * options["weights"]), 1) / 256
        if name == "weights"
        else np.ones(len(MIXED.term_ids), int)
    )
    doc, K = plain.documents_of(MIXED), chain.n_topics
    for sweep in range(4):
        assert chain.sweep == sweep
        z = chain.assignments()
        n_kv, n_dk = np.zeros((K, MIXED.n_terms)), np.zeros((MIXED.n_docs, K))
        np.add.at(n_kv, (z, MIXED.term_ids), units)
        np.add.at(n_dk, (doc, z), units)
        for found, expected in ((chain.topic_term(), n_kv), (chain.doc_topic(), n_dk)):
            assert np.array_equal(found.toarray(), expected)
            assert found.has_canonical_format
            assert np.all(found.data > 0)
            assert found.data.dtype == (np.float64 if name == "weights" else np.int32)
            assert found.sum() == pytest.approx(units.sum(), rel=1e-12)
        chain.run(1)


@pytest.mark.parametrize("name", OPTIONS)
def test_sweeps_add_up(name: str) -> None:
    whole, parts, none = sampler(**OPTIONS[name]), sampler(**OPTIONS[name]), sampler(**OPTIONS[name])
    whole.run(5)
    parts.run(2)
    parts.run(0)
    digest(parts)  # looking changes nothing
    parts.run(3)
    assert digest(whole) == digest(parts)
    assert name == "all frozen" or none.assignments().tolist() != whole.assignments().tolist()


@pytest.mark.parametrize("name", OPTIONS)
def test_any_number_of_threads_gives_the_same_bytes(name: str) -> None:
    digests = set()
    for threads in (1, 2, 3, 8):
        chain = sampler(**(OPTIONS[name] | {"shards": 8}), threads=threads)
        chain.run(4)
        digests.add(digest(chain))
    assert len(digests) == 1


def test_chains_side_by_side_are_chains_one_after_the_other() -> None:
    def digest_of(seed: int) -> str:
        chain = sampler(seed=seed, shards=3, threads=2)
        chain.run(20)
        return digest(chain)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(digest_of, range(8))) == list(map(digest_of, range(8)))


@pytest.mark.parametrize("name", OPTIONS)
def test_a_restored_chain_goes_on_to_the_same_bytes(name: str) -> None:
    unbroken, other = sampler(**OPTIONS[name]), sampler(**OPTIONS[name])
    unbroken.run(3)
    saved = {part: values.copy() for part, values in unbroken.state().items()}
    unbroken.run(3)
    other.run(1)  # what it did before is forgotten
    other.restore(saved, 3)
    assert other.sweep == 3
    other.run(3)
    assert digest(other) == digest(unbroken)


def test_draws_depend_on_the_seed_and_on_the_shards_alone() -> None:
    chains = [sampler(), sampler(), sampler(seed=2), sampler(shards=2)]
    starts = [chain.assignments().tolist() for chain in chains]
    assert starts[0] == starts[1] == starts[3] != starts[2]
    for chain in chains:
        chain.run(2)
    first, same, other_seed, other_shards = map(digest, chains)
    assert first == same
    assert len({first, other_seed, other_shards}) == 3


def test_keys_of_streams_are_for_ever() -> None:
    # blake2b of "(1, 'sweep', 0)", 8 bytes, little-endian: other numbers would make another chain of every seed
    assert stream_key(1, "sweep", 0) == 13741405936771347426
    assert len({stream_key(s, *parts) for s in (0, 1, -1) for parts in [("start",), ("sweep", 0), ("sweep", 1)]}) == 9


def test_without_the_compiler_the_bytes_are_the_same() -> None:
    script = (
        "from tests.topics.lda.test_sampler import OPTIONS, digest, sampler\\n"
        "chains = [sampler(**OPTIONS[name]) for name in ('blocks', 'frozen', 'fixed', 'weights')]\\n"
        "for chain in chains: chain.run(1)\\n"
        "print(digest(*chains))"
    ).replace("\\n", "\n")
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", script],
        cwd=Path(__file__).parents[3],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    chains = [sampler(**OPTIONS[name]) for name in ("blocks", "frozen", "fixed", "weights")]
    for chain in chains:
        chain.run(1)
    assert done.stdout.strip() == digest(*chains)


# --- small corpora ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [1, 2, 8])
@pytest.mark.parametrize(
    "documents",
    [
        [[], [0, 1], [1, 1, 0]],
        [[0, 1], [1, 1, 0], []],
        [[], [], [0, 1], [], [1, 1, 0], []],
        [[0]],
        [[0, 1, 2, 3]],
        [[0, 0], [0], [0, 0, 0]],
        [[], []],
    ],
)
@pytest.mark.parametrize("K", [1, 2, 50])
def test_small_corpora(documents: list[list[int]], K: int, shards: int) -> None:
    tokens = corpus(documents)
    chain = sampler(tokens, n_topics=K, shards=shards, threads=2)
    chain.run(3)
    N = len(tokens.term_ids)
    assert (chain.sweep, chain.n_tokens) == (3, N)
    assert (chain.topic_term().shape, chain.doc_topic().shape) == ((K, tokens.n_terms), (len(documents), K))
    assert chain.topic_term().sum(axis=0).tolist() == np.bincount(tokens.term_ids, minlength=tokens.n_terms).tolist()
    assert chain.doc_topic().sum(axis=1).tolist() == list(map(len, documents))
    expected = plain.chain_rule(tokens, chain.assignments(), np.full(K, 0.2), 0.1).sum()
    assert chain.log_likelihood() == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert K > 1 or not chain.assignments().any()


@pytest.mark.parametrize(
    "n_terms",
    [
        3,
        0,
    ],
)
def test_no_documents(n_terms: int) -> None:
    chain = sampler(TokenTable(np.zeros(1, np.int64), np.zeros(0, np.int32), tuple(map(str, range(n_terms)))))
    chain.run(2)
    assert chain.assignments().tolist() == []
    assert (chain.topic_term().shape, chain.doc_topic().shape) == ((8, n_terms), (0, 8))
    assert chain.log_likelihood() == 0


def test_as_many_topics_as_16_bits_hold() -> None:
    given = np.array([65_534, 65_534, 65_534, 65_534, 0], np.int32)
    chain = sampler(corpus([[0, 1, 1], [1, 0]]), n_topics=65_535, alpha=1e-12, assignments=given)
    assert chain.assignments().tolist() == given.tolist()
    chain.run(3)
    assert chain.assignments().tolist() == [65_534] * 5  # that of the other token of its document
    assert chain.topic_term()[[65_534]].toarray().tolist() == [[2, 3]]
    drawn = sampler(n_topics=65_535).assignments()
    assert 0 <= drawn.min() < 2_000
    assert 63_500 < drawn.max() < 65_535


@pytest.mark.parametrize(
    ("n_tokens", "n_terms", "shards"),
    [
        (0, 0, 1), (99_999, 10, 1), (100_000, 10, 2), (400_000, 10, 8), (10**9, 10, 16), (10**6, 30_000, 2), (10**6, 10**6, 1),
    ],
)  # fmt: skip
def test_shards_of_corpora(n_tokens: int, n_terms: int, shards: int) -> None:
    assert shards_for(n_tokens, n_terms) == shards


# --- what is given ------------------------------------------------------------------------------------------------------


def test_given_topics_are_the_start_and_the_others_are_drawn() -> None:
    given = np.random.default_rng(2).integers(-1, 8, len(MIXED.term_ids)).astype(np.int32)
    start = sampler(assignments=given).assignments()
    assert np.array_equal(start[given >= 0], given[given >= 0])
    assert np.array_equal(start[given < 0], sampler().assignments()[given < 0])
    assert given.min() == -1  # it came back as it went in


def test_frozen_documents_keep_their_topics_and_their_place() -> None:
    given = (np.arange(len(MIXED.term_ids)) % 8).astype(np.int32)
    chain = sampler(frozen=SOME, assignments=given, shards=2)
    in_frozen = SOME[plain.documents_of(MIXED)]
    assert chain.assignments().tolist() == given.tolist()
    chain.run(5)
    z = chain.assignments()
    assert np.array_equal(z[in_frozen], given[in_frozen])
    assert np.mean(z[~in_frozen] != given[~in_frozen]) > 0.5
    assert chain.n_tokens == np.count_nonzero(~in_frozen)


def test_frozen_documents_draw_the_others_to_their_topics() -> None:
    # two words that only the frozen document tells apart
    tokens = corpus([[0] * 5, [0] * 30 + [1] * 30, [1] * 5])
    given = np.array([-1] * 5 + [0] * 30 + [1] * 30 + [-1] * 5, np.int32)
    for seed in range(6):
        chain = sampler(
            tokens, n_topics=2, frozen=np.array([False, True, False]), assignments=given, eta=0.01, seed=seed
        )
        chain.run(20)
        assert chain.assignments().tolist() == [0] * 35 + [1] * 35


def test_fixed_topics_learn_nothing() -> None:
    # topic 0 has the words 0 and 1 alike, the corpus the word 0 alone. Topics that learn share its tokens in any proportion, but
    # φ_0 of a fixed one stays at 1/2, that of topic 1 goes to 1 and takes most of them
    tokens, start = corpus([[0, 0, 1, 1], [0] * 400]), np.zeros(404, np.int32)
    kept = {}
    for fixed in (False, True):
        chains = [
            sampler(
                tokens, n_topics=2, alpha=1.0, seed=seed,
                frozen=np.array([True, False]), assignments=start, fixed=np.array([fixed, False]),
            )
            for seed in range(8)
        ]  # fmt: skip
        for chain in chains:
            chain.run(100)
        kept[fixed] = [np.count_nonzero(chain.assignments()[4:] == 0) for chain in chains]
    assert np.mean(kept[False]) > 100
    assert max(kept[True]) < 40


def test_weights_of_one_change_nothing() -> None:
    counted, weighted = sampler(), sampler(weights=np.ones(len(MIXED.term_ids)))
    for chain in (counted, weighted):
        chain.run(10)
    assert counted.assignments().tolist() == weighted.assignments().tolist()
    assert counted.log_likelihood() == pytest.approx(weighted.log_likelihood(), rel=1e-12)


def test_weights_are_rounded_to_256ths_but_none_to_0() -> None:
    weights = np.array([0.0, 1e-9, 0.5 / 256, 1.49 / 256, 1.51 / 256, 255.0])
    chain = sampler(corpus([[0, 1, 2, 3, 4, 5]]), n_topics=1, weights=weights)
    assert (256 * chain.topic_term().toarray()[0]).tolist() == [1, 1, 1, 1, 2, 65_280]
    assert weights[0] == 0


def test_new_priors_take_effect() -> None:
    changed, unchanged = sampler(), sampler()
    for chain in (changed, unchanged):
        chain.run(3)
    changed.set_priors(np.arange(1, 9) / 10, 0.7)
    assert (changed.alpha.tolist(), changed.eta) == ((np.arange(1, 9) / 10).tolist(), 0.7)
    from_the_start = sampler(alpha=np.arange(1, 9) / 10, eta=0.7)
    from_the_start.restore(changed.state(), 3)
    assert changed.log_likelihood() == from_the_start.log_likelihood() != unchanged.log_likelihood()
    for chain in (changed, unchanged, from_the_start):
        chain.run(2)
    assert digest(changed) == digest(from_the_start)
    assert changed.assignments().tolist() != unchanged.assignments().tolist()


def test_arguments_stay_as_they_are() -> None:
    alpha, weights = np.full(8, 0.2), np.full(len(MIXED.term_ids), 2.0)
    given, frozen, fixed = np.zeros(len(MIXED.term_ids), np.int32), SOME.copy(), np.arange(8) < 2
    before = [x.tobytes() for x in (alpha, weights, given, frozen, fixed, MIXED.term_ids, MIXED.offsets)]
    chain = sampler(alpha=alpha, weights=weights, assignments=given, frozen=frozen, fixed=fixed)
    chain.run(2)
    assert [x.tobytes() for x in (alpha, weights, given, frozen, fixed, MIXED.term_ids, MIXED.offsets)] == before


N = len(MIXED.term_ids)
BAD: list[tuple[dict[str, Any], str]] = [
    ({"n_topics": 0}, "0 topics cannot be fitted"),
    ({"n_topics": 65_536}, "from 1 to 65,535"),
    *[({"alpha": bad}, "alpha and eta must be above 0") for bad in (0.0, -1.0, np.nan, np.inf)],
    ({"alpha": np.array([0.1] * 7 + [0.0])}, "alpha and eta must be above 0"),
    *[({"eta": bad}, "alpha and eta must be above 0") for bad in (0.0, -1.0, np.nan, np.inf)],
    ({"assignments": np.zeros(N - 1, np.int32)}, "one topic in -1 … 7"),
    ({"assignments": np.full(N, 8, np.int32)}, "one topic in -1 … 7"),
    ({"assignments": np.full(N, -2, np.int32)}, "one topic in -1 … 7"),
    ({"frozen": SOME}, "frozen documents need the topics"),
    ({"frozen": SOME, "assignments": np.full(N, -1, np.int32)}, "frozen documents need the topics"),
    *[({"weights": np.full(N, bad)}, "weights of tokens must be from 0 to 255") for bad in (-0.1, 256.0, np.nan, np.inf)],
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), BAD)
def test_arguments_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sampler(**options)


def test_a_state_of_another_corpus_or_model_is_refused() -> None:
    chain = sampler()
    before = digest(chain)
    for other in (sampler(corpus([[0, 1]])), sampler(n_topics=9)):
        with pytest.raises(UsageError, match="another corpus or another number of topics"):
            chain.restore(other.state(), 1)
    assert digest(chain) == before


@pytest.mark.parametrize(
    "options",
    [{"alpha": np.ones(9)}, {"fixed": np.zeros(9, bool)}, {"frozen": np.zeros(41, bool)}, {"weights": np.ones(N + 1)}],
    ids=lambda options: next(iter(options)),
)
def test_arguments_of_another_length_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        sampler(**options)


def test_a_document_of_more_weight_than_lists_can_count_is_refused() -> None:
    n = 70_000
    with pytest.raises(UsageError):
        sampler(corpus([[0] * n]), weights=np.full(n, 255.0))


def test_priors_that_are_refused_leave_the_former() -> None:
    chain = sampler()
    with pytest.raises(UsageError):
        chain.set_priors(-1.0, 0.5)
    assert (chain.alpha.tolist(), chain.eta) == ([0.2] * 8, 0.1)


def test_a_seed_is_a_number_of_any_type() -> None:
    assert sampler(seed=np.int64(1)).assignments().tolist() == sampler(seed=1).assignments().tolist()


def test_entries_of_32_and_64_bits_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = corpus([[0] * 65_535, [0, 1] * 30, [1]])
    chains = [sampler(tokens, n_topics=3)]
    assert chains[0].state()["list_entries"].dtype == np.uint32
    monkeypatch.setattr(sampler_module, "MAX_SHORT", 65_534)
    chains.append(sampler(tokens, n_topics=3))
    assert chains[1].state()["list_entries"].dtype == np.uint64
    for _ in range(3):
        assert digest(chains[0]) == digest(chains[1])
        for chain in chains:
            chain.run(1)
    one = sampler(corpus([[0] * 65_535]), n_topics=1)
    one.run(2)
    assert one.doc_topic().data.tolist() == [65_535]


@pytest.mark.parametrize("frozen", [None, np.arange(40) % 3 == 0])
def test_documents_are_counted_some_at_a_time(frozen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    start = np.arange(len(MIXED.term_ids), dtype=np.int32) % 8
    chain = sampler(frozen=frozen, assignments=start)
    whole = chain.log_documents(), chain.topic_sizes().tolist(), estimate_alpha(chain.topic_histogram(), chain.alpha)
    for most in (1, 7, 40):
        monkeypatch.setattr(sampler_module, "DOCS_AT_ONCE", most)
        assert chain.log_documents() == pytest.approx(whole[0], rel=1e-12)
        assert chain.topic_sizes().tolist() == whole[1]
        assert (estimate_alpha(chain.topic_histogram(), chain.alpha) == whole[2]).all()
