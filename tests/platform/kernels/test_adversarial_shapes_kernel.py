"""Every kernel with the shapes that break sizes: nothing, one of a kind, the most there can be, no room at first.

`make test-bounds` runs this with NUMBA_BOUNDSCHECK=1, where an index outside its array is an IndexError, and
the same target as plain Python; compiled as users have it, such a write goes unseen. A kernel that no test here runs fails
`test_no_kernel_is_forgotten`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numba import config
from scipy import sparse
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import nlpkit.platform.kernels
from nlpkit.classify.features import hand_features
from nlpkit.classify.models import kernels as logistic
from nlpkit.classify.models.logistic import fit_label_logistic, fit_logistic
from nlpkit.cluster import kernels as layout
from nlpkit.cluster import kernels as medoids
from nlpkit.cluster import kernels as tree
from nlpkit.cluster.hierarchy import Hierarchy
from nlpkit.cluster.neighbours import nearest_neighbours
from nlpkit.cluster.reduce import fuzzy_graph, umap_layout
from nlpkit.embed import kernels as integer_rows
from nlpkit.embed import kernels as pieces
from nlpkit.embed import token_ids
from nlpkit.explore.collocations.model import CollocationCounter
from nlpkit.explore.stats.frequent import WordTally
from nlpkit.lab.architectures import kernels as selective_scan
from nlpkit.lm import kernels as spelling
from nlpkit.lm import kernels as trie
from nlpkit.lm.counting import NgramCounter
from nlpkit.lm.smoothing import kneser_ney
from nlpkit.metrics import kernels as chance
from nlpkit.metrics import kernels as cooccurrence
from nlpkit.metrics import kernels as diversity
from nlpkit.metrics import kernels as linkage
from nlpkit.metrics import kernels as windows
from nlpkit.metrics.labels.partitions import adjusted_mutual_information
from nlpkit.metrics.texts.corpus import lexical_diversity
from nlpkit.metrics.topics.coherence import npmi_by_document, postings
from nlpkit.metrics.topics.window_counts import WindowCounter, Windows, plan_pairs
from nlpkit.platform.documents.chunks import Periods
from nlpkit.platform.kernels import idtable, topk
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.scale import kernels as poisson
from nlpkit.text import tokenize
from nlpkit.text import tokenize as byte_strings
from nlpkit.text.duplicates import Duplicates, DuplicateSpec, find_near_duplicates
from nlpkit.text.fitted import NgramVocabulary
from nlpkit.text.kernels import characters, minhash, ngrams, scan
from nlpkit.text.kernels import ngrams as phrases
from nlpkit.text.kernels import ngrams as tally
from nlpkit.text.kernels import scan as bytestable
from nlpkit.text.kernels import scan as terms
from nlpkit.text.phrases import PhraseCounter, PhraseSpec, PhraseTable
from nlpkit.text.vocab import EncodedBatch, Frequencies, Vocabulary, prune_batch
from nlpkit.topics.base import heldout
from nlpkit.topics.base import heldout as infer
from nlpkit.topics.base import kernels as gibbs
from nlpkit.topics.base import kernels as gibbs_infer
from nlpkit.topics.base.model import MixtureModel
from nlpkit.topics.biterm import kernels as biterm
from nlpkit.topics.biterm.model import assign as assign_biterm
from nlpkit.topics.biterm.model import biterms_of, fit_biterm
from nlpkit.topics.biterm.options import BitermOptions
from nlpkit.topics.dtm import kernels as paths
from nlpkit.topics.dtm.fit import fit_dtm
from nlpkit.topics.dtm.options import DtmOptions
from nlpkit.topics.gsdmm import kernels as gsdmm
from nlpkit.topics.gsdmm.model import assign, fit_gsdmm
from nlpkit.topics.gsdmm.options import GsdmmOptions
from nlpkit.topics.hdp import kernels as hdp
from nlpkit.topics.hdp.model import fit_hdp
from nlpkit.topics.hdp.options import HdpOptions
from nlpkit.topics.hlda import kernels as hlda
from nlpkit.topics.hlda.model import fit_hlda, infer_paths
from nlpkit.topics.hlda.options import HldaOptions
from nlpkit.topics.lda import kernels as gibbs_layout
from nlpkit.topics.lda import kernels as topic_counts
from nlpkit.topics.lda import kernels as variational
from nlpkit.topics.lda import sampler as sampling
from nlpkit.topics.lda.distributed import DistributedSampler
from nlpkit.topics.lda.sampler import GibbsSampler
from nlpkit.topics.lda_online.model import LdaOnlineFitter, fit_lda_online
from nlpkit.topics.lda_online.options import LdaOnlineOptions
from nlpkit.topics.matrix import kernels as factors
from nlpkit.topics.matrix.options import PlsaOptions
from nlpkit.topics.matrix.plsa import fit_plsa, fold_in
from nlpkit.topics.rolling import kernels as resample
from nlpkit.topics.rolling.changes import resampled_similarities
from nlpkit.topics.stm import content_kernels as poisson_lasso
from nlpkit.topics.stm import kernels as stm
from nlpkit.topics.stm.content import update_content
from nlpkit.topics.stm.model import Prior, as_counts, expected_counts, infer_posteriors
from nlpkit.topics.supervised import kernels as restricted
from nlpkit.topics.supervised import slda_kernels as slda
from nlpkit.topics.supervised.restricted import NameSets, rows_of_authors, rows_of_labels
from nlpkit.topics.supervised.restricted import sample as draw_places
from nlpkit.weights import kernels as counts
from nlpkit.weights.dtm import count_terms
from nlpkit.words import kernels as glove
from nlpkit.words import kernels as levenshtein
from nlpkit.words import kernels as skipgrams
from nlpkit.words.learn import cooccurrences, fit_glove
from nlpkit.words.spelling import WordIndex
from tests.strategies import token_table, unit_rows

JIT = os.environ.get("NUMBA_DISABLE_JIT") != "1"
RUN: set[Any] = set()  # what the tests below call

# texts in which everything is a token, nothing is, and what comes in between
TEXTS: list[list[str | None]] = [
    [],
    [None],
    ["", "", ""],
    [" ", "\n\t", "…!?"],
    ["y"],
    ["y", "n"] * 40,
    ["1"] * 99,
    ["a b c"] * 20 + [None, ""],
    ["1 2 3 4 5 6 7 8 9"] * 9,
    ["?!" * 60, "?", ". " * 30],
    ["日" * 90, "本"],
    ["a©" * 70 + "a", "😀" * 30],
    ["x<a>" * 30, "<b>" * 30, "<" * 30],
    ["U.S." * 30, "a.b.c", "a@b.c" * 20, "@" * 40],
    ["&amp;" * 30, "&" * 40, "http://" * 9, "www." * 9, "www.a www.b"],
    ["don't-stop-&-" * 20, "'" * 30, "\u00ad\u200d\u0308" * 9],
    ["word" * 500, "a " * 500, "ab " * 500],
    ["é", "\U0010ffff", "\x00", "\u2028", "\ufffd"],
]


def exercises(*kernels: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Note what a test runs, and see to it that it did."""
    RUN.update(kernels)

    def watched(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(*args: Any, **named: Any) -> None:
            test(*args, **named)
            assert not JIT or all(kernel.signatures for kernel in kernels)

        return run

    return watched


def test_bounds_are_checked_where_they_should_be() -> None:
    assert bool(config.BOUNDSCHECK) == (os.environ.get("NUMBA_BOUNDSCHECK") == "1")
    if config.BOUNDSCHECK and JIT:
        with pytest.raises(IndexError):
            topk.rescore_rows(
                *(np.zeros((1, 1), np.float32),) * 2, np.array([[5]], np.int32), *(np.zeros((1, 1), np.int32),) * 2
            )


@pytest.mark.skipif(not JIT, reason="kernels are plain functions then")
def test_no_kernel_is_forgotten() -> None:
    """Each is called by a test of this module, or by a kernel that is."""
    package = Path(nlpkit.__file__).parent
    paths = [*(package / "kernels").glob("[!_]*.py"), *package.rglob("*kernels.py")]
    every = {
        kernel
        for path in paths
        for kernel in vars(import_module(".".join(path.relative_to(package.parent).with_suffix("").parts))).values()
        if isinstance(kernel, nlpkit.platform.kernels.Kernel)
    }
    reached, waiting = set(), list(RUN)
    while waiting:
        kernel = waiting.pop()
        if kernel not in reached:
            reached.add(kernel)
            waiting += [
                k for name in kernel.py_func.__code__.co_names if (k := kernel.py_func.__globals__.get(name)) in every
            ]
    assert len(every) > 90
    assert {f"{k.py_func.__module__}.{k.__name__}" for k in every - reached} == set()


# ---------------------------------------------------------------- texts


def arrays() -> Iterator[pa.Array]:
    """The texts above, each also as a part of a longer array, with bytes of others before it."""
    for texts in TEXTS:
        array = pa.array(texts, pa.string())
        yield array
        yield pa.concat_arrays([pa.array(["before"]), array]).slice(1)


@exercises(scan.scan_tokens, bytestable.bytes_rehash, terms.count_ids)
def test_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tokenize, "_FIRST_TYPES", 2
    )  # no room for types and their bytes: asked for more again and again
    for texts in arrays():
        found, wanted = tokenize.scan_tokens(texts), tokenize.cut_tokens(texts)
        assert found.codes.tolist() == wanted.codes.tolist()
        assert found.offsets.tolist() == wanted.offsets.tolist()
        assert found.types == wanted.types
        assert found.cf.tolist() == wanted.cf.tolist()
        assert found.df.tolist() == wanted.df.tolist()
        for least in (1, 2, 5):
            tokenize.scan_runs(texts, least=least)
        tokenize.scan_tokens(texts, lower=True, junk=False)


@exercises(bytestable.bytes_insert, terms.local_terms, terms.expand_terms, terms.plain_words, terms.map_ids)
def test_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_strings, "_FIRST_STRINGS", 1)
    monkeypatch.setattr(byte_strings, "_BYTES_EACH", 1)
    for several in (0, 1, 3):  # terms of a token
        for plain in ("none", "words", "all"):
            vocabulary = Vocabulary(lambda t, n=several: tuple(f"{t}{i}" for i in range(n)), plain=plain)
            for texts in arrays():
                batch = vocabulary.encode(tokenize.scan_tokens(texts))
                assert batch.offsets[-1] == len(batch.term_ids)
                assert not len(batch.term_ids) or 0 <= batch.term_ids.min() <= batch.term_ids.max() < vocabulary.n_terms
                kept = prune_batch(batch, np.where(np.arange(vocabulary.n_terms) % 2, -1, 0).astype(np.int32))
                assert kept.offsets[-1] == len(kept.term_ids)
            assert len(vocabulary.terms) == len(vocabulary.cf)


@exercises(pieces.split_words)
def test_words_of_tokenizers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_ids, "_WORTH", 0)
    monkeypatch.setattr(token_ids, "_TOGETHER", 3)
    monkeypatch.setattr(byte_strings, "_FIRST_STRINGS", 1)
    monkeypatch.setattr(byte_strings, "_BYTES_EACH", 1)
    tokenizer = Tokenizer(WordPiece({"[UNK]": 0, "a": 1, "##a": 2, "b": 3, "?": 4, ".": 5}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    reader = token_ids.TokenReader(tokenizer)
    for texts in TEXTS:
        strings = [text or "" for text in texts]
        ids = token_ids.TokenIds(reader, strings, 1 << 20, specials=False)
        whole = [tokenizer.encode(text).ids for text in strings]
        assert ids.flat.tolist() == [i for of_text in whole for i in of_text]
        assert ids.counts.tolist() == [len(of_text) for of_text in whole]


@exercises(characters.count_characters)
def test_hand_features() -> None:
    for texts in arrays():
        assert len(hand_features(texts)) == len(texts)


@exercises(
    minhash.shingle_sets, minhash.band_tags, minhash.drop_or_keep, minhash.first_equals, minhash.link_keys,
    minhash.link_all, minhash.set_keys, minhash.nearest_in_band,
)  # fmt: skip
def test_copies() -> None:
    everything = [text for texts in TEXTS for text in texts] * 3 + [
        f"some words and the number {n}" for n in range(1100 if JIT else 30)
    ]
    for spec in (DuplicateSpec(), DuplicateSpec(0.3), DuplicateSpec(0.9), DuplicateSpec(1.0)):
        index = Duplicates(spec)
        for texts in [*arrays(), pa.array(everything), pa.array(everything)]:
            index.check([str(i) for i in range(len(texts))], texts)
    for texts in [*arrays(), pa.array(everything)]:
        for threshold in (0.3, 0.9, 1.0):
            found = find_near_duplicates(texts, np.arange(len(texts), dtype=np.int32) % 3 - 1, threshold=threshold)
            assert len(found.nearest) == len(texts)


@exercises(spelling.words_within)
@pytest.mark.parametrize("limit", [0, 1, 2, 5])
@pytest.mark.parametrize(
    "words", [[], [""], ["a"], ["a" * 50] * 3, ["ab", "ba", "", "abc"], [chr(64 + i) for i in range(130)]]
)
def test_words_within_some_edits(words: list[str], limit: int) -> None:
    from nlpkit.lm.spelling import _code_points, _signatures

    codes, offsets = _code_points(words)
    ids, distances = np.full(len(words), -9, np.int32), np.full(len(words), -9, np.int32)
    for word in ("", "a", "ab", "a" * 49, "\U0001f600"):
        other, at = _code_points([word])
        n = spelling.words_within(
            codes, offsets, _signatures(codes, offsets), other, _signatures(other, at)[0], limit, ids, distances
        )
        assert 0 <= n <= len(words)
        assert (np.diff(ids[:n]) > 0).all()


@exercises(levenshtein.levenshtein_nearest, levenshtein.count_different_grams, levenshtein.count_shared_grams)
def test_word_distances() -> None:
    for words in ([], ["a"], ["", "a", "ab"], ["x" * 1000, "x" * 1001, "y", "日本"] if JIT else ["日本"]):
        for n, padded in ((1, False), (3, True), (50, False), (50, True)):
            index = WordIndex(words, n=n, padded=padded)
            for word in ("a", "zz", "x" * (1000 if JIT else 20)):
                index.similarity(word, "jaccard")
                for top in (0, 1, 99):
                    index.distance(word, top=top)
                    index.distance(word, top=top, normalized=True)


# ---------------------------------------------------------------- terms of documents


def documents(gaps: bool = False) -> Iterator[tuple[EncodedBatch, int]]:
    """Batches and the size of their vocabulary: no document, empty ones, one term, as many terms as tokens."""
    rng = np.random.default_rng(0)
    for lengths, V in (
        ([], 1),
        ([0], 1),
        ([0, 0, 0], 3),
        ([1], 1),
        ([1, 0, 9], 1),
        ([40, 0, 1, 2, 3], 3),
        ([30] * 5, 150),
    ):
        offsets = np.cumsum([0, *lengths]).astype(np.int64)
        ids = rng.integers(0, V, offsets[-1]) if V < 100 else np.arange(offsets[-1])
        if gaps:
            ids = np.where(rng.random(len(ids)) < 0.2, -1, ids)
        yield EncodedBatch(offsets, ids.astype(np.int32)), V


@exercises(ngrams.number_ngrams, ngrams.spell_ngrams)
def test_ngrams() -> None:
    for n_min, n_max in ((1, 1), (1, 3), (2, 2), (3, 5), (4, 60)):
        vocabulary = NgramVocabulary(n_min, n_max)
        vocabulary._stems, vocabulary._grams = idtable.new_table(1), idtable.new_table(1)
        for batch, _ in [*documents(), *documents(gaps=True)]:
            found = vocabulary.encode(batch)
            assert found.offsets[-1] == len(found.term_ids)
        assert len(vocabulary.words(np.arange(len(vocabulary)))) == len(vocabulary)


@exercises(phrases.count_pairs, phrases.join_phrases)
def test_phrases() -> None:
    for batch, V in [*documents(), *documents(gaps=True)]:
        names = [f"t{v}" for v in range(V)]
        for between in (0, 1, 5):
            counter = PhraseCounter(names, connectors=set(names[::2]), max_between=between)
            counter._table, counter._counts = idtable.new_table(1), np.zeros(2, np.int64)
            for _ in range(2):
                counter.count(batch)
            counter.find(PhraseSpec("pmi", -9.0, 1))
        given = PhraseTable.from_words([names[:2], names[:1] * 9, names, [*names, "unknown"]])
        joined = given.bind(names).apply(batch)
        assert joined.offsets[-1] == len(joined.term_ids)


@exercises(phrases.count_window_pairs)
def test_pairs_in_windows() -> None:
    for batch, V in [*documents(), *documents(gaps=True)]:
        for window in (1, 2, 50):
            for node in (None, 0):
                counter = CollocationCounter(np.ones(V, np.bool_), window=window, node=node)
                counter._table, counter._counts = idtable.new_table(1), np.zeros(2, np.int64)
                for _ in range(2):
                    counter.count(batch)
                counter.pairs(measure="g2", min_count=1, both_orders=node is not None)


@exercises(idtable.insert_all, idtable.find, idtable.insert, idtable.with_room)
def test_table_of_numbers() -> None:
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    for keys in ([], [0], [low, high, -1, 0], list(range(99)), [7] * 99, [k << 32 for k in range(99)]):
        ids = np.empty(len(keys), np.int32)
        for room in (1, 2, 99):
            table = idtable.insert_all(idtable.new_table(room), np.array(keys, np.int64), ids)
            assert [idtable.find(table, key) for key in keys] == ids.tolist()
            assert int(table.size[0]) == len(set(keys))
            assert idtable.find(table, 12345) == -1
            table = idtable.with_room(table, 1)
            assert idtable.insert(table, 12345) == len(set(keys))


@exercises(diversity.diversity_of_documents)
def test_diversity() -> None:
    for batch, V in [*documents(), *documents(gaps=True)]:
        for window, draws in ((1, 1), (3, 40), (50, 42)):
            found = lexical_diversity(batch.offsets, batch.term_ids, V, window=window, draws=draws)
            assert len(found.mtld) == len(found.mattr) == len(found.hdd) == len(batch.offsets) - 1


@exercises(tally.tally_words)
def test_tally() -> None:
    for groups in (1, 3):
        counter = WordTally(groups)
        for batch, _ in [*documents(), *documents(gaps=True)]:
            counter.add(batch, (np.arange(len(batch.offsets) - 1) % (groups + 1) - 1).astype(np.int32))
        assert len(counter.groups()) == groups


@exercises(counts.count_rows, cooccurrence.joint_document_counts)
def test_counts_of_documents() -> None:
    for batch, V in documents():
        matrix = count_terms(TokenTable(batch.offsets, batch.term_ids, tuple(map(str, range(V)))))
        assert matrix.sum() == len(batch.term_ids)
        lists = postings(matrix)
        for ids in ([[-1]], [[0]], [[0, -1, V - 1, 0]]):
            npmi_by_document(np.array(ids, np.int32), lists)
        frequencies = Frequencies()
        frequencies.count(batch, V)
        assert frequencies.cf(V).sum() == len(batch.term_ids)


@exercises(windows.count_windows, windows.fill_slots)
def test_windows() -> None:
    for topics in ([], [[]], [["a"]], [["a", "b", "a"], ["b", "c"]], [[f"w{i}" for i in range(40)]]):
        for every in (False, True):
            plan = plan_pairs(topics, all_pairs=every)
            for how in (Windows(None), Windows(2), Windows(10), Windows(99, "gensim"), Windows(10, "tomotopy")):
                counter = WindowCounter(plan, how, groups=2)
                for batch, _ in [*documents(), *documents(gaps=True)]:
                    counter.add(batch.offsets, np.minimum(batch.term_ids, plan.n_words - 1))
                counter.result()


@exercises(skipgrams.count_contexts, glove.adagrad)
def test_words_around_words() -> None:
    """No document, empty ones, one word alone, one word many times, windows of more than a document; cells in one block or none."""
    for docs in ([], [[], []], [[0]], [[0] * 40], [[0] * 40, [], [1, 2]], [[2, 1, 0], [0, 1, 2]]):
        tokens = token_table(docs or [[]], ["a", "b", "c"])
        for window in (1, 2, 100):
            X = cooccurrences(tokens, window)
            assert X.nnz <= min(9, 2 * window * len(tokens.term_ids))
            for threads in (1, 2):
                words, contexts, losses = fit_glove(
                    X, dimensions=1, epochs=2, rate=0.05, x_max=1.0, exponent=0.5, seed=0, threads=threads
                )
                assert np.isfinite([*words.ravel(), *contexts.ravel(), *losses]).all()


# ---------------------------------------------------------------- topics


@exercises(gsdmm.weigh, gsdmm.move, gsdmm.sweep, gsdmm.probabilities)
def test_one_topic_a_document() -> None:
    """Empty documents, one word many times, one topic, more topics than documents, new documents without words."""
    for docs in ([[0]], [[], [0], []], [[0] * 400], [[0, 3], [3, 3, 1]], [[3]] * 70):
        tokens = token_table(docs, ["a", "b", "c", "d"])
        for K in (1, 2, 90):
            fit = fit_gsdmm(tokens, K, GsdmmOptions(iterations=2))
            theta = assign(fit.model, fit.arrays["sizes"], 0.1, tokens.offsets, tokens.term_ids)
            assert theta.shape == (len(docs), fit.model.n_topics)
            np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)
            dtm, weights = count_terms(tokens), np.empty(K)
            sizes, n_k, n_vk = np.zeros(K, np.int64), np.zeros(K, np.int64), np.zeros((4, K), np.int32)
            for d in range(len(docs)):
                gsdmm.move(dtm.indptr, dtm.indices, dtm.data, d, K - 1, 1, sizes, n_k, n_vk)
                assert gsdmm.weigh(dtm.indptr, dtm.indices, dtm.data, d, sizes, n_k, n_vk, 0.1, 0.1, weights) > 0
            assert n_vk.sum() == len(tokens.term_ids)


@exercises(slda.sweep, restricted.sweep)
def test_topics_that_look_at_columns() -> None:
    """Empty documents, one topic, no labels, two classes and more, many authors, one label, no label at all."""
    for docs in ([[0]], [[], [0], []], [[0] * 400], [[0, 3], [3, 3, 1]], [[3]] * 70):
        tokens, D = token_table(docs, ["a", "b", "c", "d"]), len(docs)
        N = len(tokens.term_ids)
        uniforms = np.random.default_rng(0).random(N)
        uniforms[:1] = np.nextafter(1, 0)
        for K, C in ((1, 1), (3, 2), (2, 5)):
            for y in (np.full(D, np.nan), np.arange(D) % C + 0.0):
                z, n_vk, n_k = np.full(N, -1, np.int32), np.zeros((4, K), np.int32), np.zeros(K, np.int64)
                coef = 1000.0 * np.arange(K * C).reshape(K, C)
                room = slda.Room(np.zeros(K, np.int64), *np.empty((3, K)), np.empty(C), np.empty((K, C)))
                for _ in range(2):
                    slda.sweep(
                        tokens.offsets, tokens.term_ids, z, n_vk, n_k, 0.1, 0.1, coef, np.zeros(C), y, 1e-9, uniforms, room
                    )  # fmt: skip
                assert n_vk.sum() == n_k.sum() == N
                assert not N or 0 <= z.min() <= z.max() < K
        for names in ([["x", "y", "z"]] * D, [["x"]] * D, [[]] * D, [[str(d)] for d in range(D)]):
            sets = NameSets.encode(names)
            for K, rows in ((3, rows_of_authors(sets, 3)), (len(sets.names) + 2, rows_of_labels(sets, 2))):
                chain = draw_places(tokens, K, rows, alpha=0.1, eta=0.1, sweeps=2, key=1)
                assert chain.row_topic.sum() == len(chain.topics) == N


@exercises(hdp.sweep, hdp.weigh, hdp.topic_at, hdp.tables, hdp.log_likelihood)
def test_topics_that_come_and_go() -> None:
    """One token, one word many times, empty documents, a slot for every topic and none left, extreme concentrations."""
    for docs in ([[0]], [[], [0], []], [[0] * 70], [[0, 3], [3, 3, 1]], [[v % 4] for v in range(70)]):
        tokens = token_table(docs, ["a", "b", "c", "d"])
        for start, alpha, gamma, share in ((1, 1e4, 1e4, 0.0), (64, 1e-9, 1e-9, 1.0), (65, None, None, 0.1)):
            options = HdpOptions(alpha, gamma, 1e-3, iterations=4, initial_topics=start, min_share=share)
            fit = fit_hdp(tokens, options)
            assert fit.model.topic_totals.sum() == len(tokens.term_ids)
            assert (fit.model.topic_totals > 0).all()
            assert (fit.model.alpha > 0).all()
    factor = np.array([0.0, 2.0, 1.0] + [0.0] * 13)
    scratch = hdp.Scratch(np.zeros(16, np.int64), factor, np.zeros(16), np.zeros(1))
    assert hdp.weigh(np.zeros(16, np.int32), 1.0, 3, scratch) == 3.0
    assert [hdp.topic_at(left, 3, scratch) for left in (0.0, 1.9, 2.5, 3.0)] == [1, 1, 2, 2]


@exercises(hlda.sweep, hlda.weigh, hlda.draw, hlda.grow, hlda.put, hlda.draw_levels, hlda.infer)
def test_paths_in_a_tree_that_grows() -> None:
    """One token, one word many times, empty documents, deep trees, a branch for every document, new documents without words."""
    for docs in ([[0]], [[], [0], []], [[0] * 60], [[0, 3], [3, 3, 1]], [[v % 4] for v in range(40)]):
        tokens = token_table(docs, ["a", "b", "c", "d"])
        for depth, gamma in ((2, 1e-9), (3, 1e9), (16, 1.0)):
            options = HldaOptions(depth, 0.1, gamma, 1e-3, iterations=2)
            fit = fit_hlda(tokens, options)
            assert fit.model.topic_totals.sum() == len(tokens.term_ids)
            new = infer_paths(
                fit.model, fit.arrays["tree"], options, tokens.offsets, tokens.term_ids, seed=1, threads=1
            )
            np.testing.assert_allclose(new.sum(axis=1), 1, rtol=1e-4)
    L, path, leaves = 3, np.empty(3, np.int64), np.array([-1], np.int64)
    logs, log_n = np.log(np.arange(9) + 0.1), np.log(np.arange(9) + 0.4)
    tree = hlda.Tree(*(np.zeros(2, t) for t in ("i4", "i4", "i8", "i8")), np.zeros((4, 2), np.int32), logs, log_n)
    tree.level[1] = -1
    words, levels, key = np.array([0, 2], np.int32), np.array([0, 1], np.int32), np.uint64(1)
    ends = np.array([0, 2])
    assert (
        hlda.sweep(ends, words, levels, leaves, 0, L, tree, 0.1, 1.0, 0.1, key) == 0
    )  # a document can need two slots, one is free
    tree = hlda.Tree(*(np.zeros(3, t) for t in ("i4", "i4", "i8", "i8")), np.zeros((4, 3), np.int32), logs, log_n)
    tree.level[1:] = -1
    hlda.weigh(words, levels, L, 1.0, tree, np.empty(3), np.empty(L + 1), np.empty(3))
    assert hlda.draw(np.array([-np.inf, 0.0, -np.inf]), 0.999) == 1
    assert hlda.grow(0, L, tree) == 2
    hlda.put(words, levels, 2, 1, tree, path)
    with np.errstate(over="ignore"):
        hlda.draw_levels(words, levels, path, 0.1, 0.1, tree, np.empty(L, np.int64), np.empty(L), key, 0, False)
    assert tree.n_vk.sum() == tree.n_k.sum() == 2


@exercises(
    variational.digamma, variational.digammas, variational.expect_words, variational.expect_topics, variational.mix,
    variational.infer, variational.word_bounds,
)  # fmt: skip
def test_posteriors_of_documents() -> None:
    """Empty documents, one word many times, one topic, more topics than documents, words that no document has, tiny priors."""
    with np.errstate(over="ignore"):  # 1 / x² is 0 there, which NumPy tells of where kernels are not compiled
        variational.digammas(np.array([1e-300, 1.0, 1e300]), np.empty(3))
    assert variational.expect_topics(np.ones(1), np.empty(1)) == variational.digamma(1.0)
    for shape in ((1, 0), (1, 1), (3, 2)):
        sums = np.empty(shape[1])
        variational.mix(np.zeros(shape), np.ones(shape[0]), sums)
        assert (sums > 0).all()
    for docs in ([[0]], [[], [0], []], [[0] * 400], [[0, 3], [3, 3, 1]], [[3]] * 70):
        tokens = token_table(docs, ["a", "b", "c", "d"])
        for K, size, prior in ((1, "all", None), (1, 2, 1e-9), (90, 1, 1e-9)):
            if len(tokens.term_ids) < K:
                continue
            fit = fit_lda_online(tokens, K, LdaOnlineOptions(batch_size=size, iterations=2, alpha=prior, eta=prior))
            assert np.isfinite(fit.numbers["bound"])
            _, infer = LdaOnlineFitter(LdaOnlineOptions()).inference(fit, 0, 2)
            np.testing.assert_allclose(infer(tokens.offsets, tokens.term_ids).sum(axis=1), 1, rtol=1e-5)


@exercises(paths.climb, paths.climb_words, paths.centre_topic)
def test_paths_over_periods() -> None:
    """One period, one word, counts from nothing to a million, periods without counts, tiny and huge variances."""
    for n in (1, 2, 70):
        for variance in (1e-9, 1e6):
            path, counts = np.zeros(n), np.zeros(n)
            counts[-1] = 1e6
            paths.climb(counts, np.ones(n), 10.0, variance, path, np.empty(n), np.empty(n))
            assert np.isfinite(path).all()
    for V in (1, 3):
        walks, rest, sums = np.zeros((V, 2, 4)), np.ones((2, 4)), np.empty(4)
        paths.climb_words(np.zeros((V, 2, 4)), np.ones((2, 4)), rest, 10.0, 0.1, 0, V, walks)
        assert (walks == 1).all()
        assert np.isfinite(paths.centre_topic(walks, rest[0], 0, 10.0, 0.1, sums))
        assert (sums == V).all()
    bounds = np.array(["2000-01-01", "2001-01-01", "2002-01-01"], "datetime64[D]")
    for docs in ([[0], []], [[0] * 400, [3]], [[3]] * 70):
        period = np.arange(len(docs)) % 2
        fit = fit_dtm(token_table(docs, ["a", "b", "c", "d"]), Periods(bounds), period, 1, DtmOptions(iterations=2))
        assert all(np.isfinite(values).all() for values in fit.arrays.values())


@exercises(
    biterm.count_pairs, biterm.list_pairs, biterm.share, biterm.move, biterm.weigh, biterm.sweep, biterm.add_shares, biterm.documents
)  # fmt: skip
def test_pairs_of_words() -> None:
    """Empty documents, documents without pairs, one pair, windows wider than texts, more topics than pairs."""
    for docs in ([[0, 1]], [[], [0, 0], [1, 2], []], [[0, 1] * (200 if JIT else 9)], [[3], [0, 3], [3, 3, 1]]):
        tokens = token_table(docs, ["a", "b", "c", "d"])
        B = len(biterms_of(tokens, 2))
        for K in {1, B}:
            for window in (2, 3, 1000):
                fit = fit_biterm(tokens, K, BitermOptions(iterations=2, window=window))
                theta = assign_biterm(fit.model, fit.arrays["shares"], window, tokens.offsets, tokens.term_ids)
                np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)
                assert fit.model.topic_term.sum() == 2 * fit.numbers["biterms"]
            pairs, weights, theta = biterms_of(tokens, 2), np.empty(K), np.zeros(K)
            n_z, n_vk, shares = (
                np.zeros(K, np.int64),
                np.zeros((4, K), np.int32),
                np.full(K, biterm.share(0, 4, 0.1, 0.1)),
            )
            biterm.move(pairs, B - 1, K - 1, 1, n_z, n_vk, shares, 0.1, 0.1)
            assert biterm.weigh(*pairs[-1], n_vk, shares, 0.1, weights) > 0
            biterm.add_shares(weights, theta)
            assert theta.sum() == pytest.approx(1)


@exercises(selective_scan.forward, selective_scan.backward)
def test_states_over_time() -> None:
    for B, T, N, E in [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0), (1, 1, 1, 1), (2, 3, 1, 5)]:
        states, inputs, weights = (np.ones(s, np.float32) for s in ((B, T, N, E), (B, T, E), (B, T, N)))
        h, y, A = np.empty_like(states), np.zeros_like(inputs), np.ones((N, E), np.float32)
        selective_scan.forward(states, inputs, weights, weights, h, y)
        assert (y == N * np.arange(1, T + 1)[:, None]).all()
        sums = [np.zeros_like(v) for v in (A, inputs, inputs, A, weights, weights)]
        selective_scan.backward(inputs, states, h, inputs, inputs, A, weights, weights, *sums)
        assert (sums[2] == N * np.arange(T, 0, -1)[:, None]).all()


@exercises(factors.update_documents, factors.update_terms, factors.fold_in)
def test_factors_of_counts() -> None:
    """Empty documents, one term, one topic, more topics than documents, terms that no document has."""
    for docs in ([[0]], [[], [0], []], [[0] * 40], [[0, 3], [3, 3, 1]], [[3]] * 70):
        tokens = token_table(docs, ["a", "b", "c", "d"])
        for K in {1, min(2, len(tokens.term_ids)), len(tokens.term_ids)}:
            for threads in (1, 2):
                fit = fit_plsa(tokens, K, PlsaOptions(iterations=2), Execution(0, threads))
                assert np.isfinite(fit.model.topic_term.data).all()
                theta = fold_in(np.ascontiguousarray(fit.model.phi.T), tokens.offsets, tokens.term_ids, threads=threads)
                assert theta.shape == (len(docs), K)


@exercises(stm.infer, stm.expected_counts, stm.simplex_weights, stm.exact_weights, stm.softmax_rows)
def test_logistic_normal_topics() -> None:
    """Empty documents, one term, equal topics, more topics than terms, words that no topic has, documents of one mean and of many."""
    rng = np.random.default_rng(0)
    for docs in (
        [],
        [[]],
        [[0]],
        [[], [0], []],
        [[0] * 40],
        [[0, 3], [3, 3, 1]],
        [[3]] * (70 if JIT else 4),
        [[2] * 5000],
    ):
        tokens = token_table(docs or [[]], ["a", "b", "c", "d"])
        counts = as_counts(count_terms(tokens))
        for K in (2, 3, 9):
            phi = rng.dirichlet(np.full(4, 0.3), K)
            phi[:, 3] = 0.0
            phi[1:-1] = phi[0]  # equal topics: at η = 0 the hessian of a document of theirs is not positive definite
            for means in (1, tokens.n_docs):
                prior = Prior(np.zeros((means, K - 1)), 20 * np.eye(K - 1))
                for threads in (1, 2):
                    inference = infer_posteriors(counts, phi, prior, threads=threads)
                    assert np.isfinite(inference.bounds).all()
                    theta = np.empty((tokens.n_docs, K))
                    stm.softmax_rows(inference.eta, theta)
                    assert expected_counts(counts, theta, phi, threads=threads).shape == (K, 4)
    for K in (1, 2, 7):
        weights = np.empty((5, K))
        stm.simplex_weights(rng.random((5, K)), rng.random((K, K)), 0, 5, weights)
        assert np.allclose(weights.sum(axis=1), 1)
        rows = rng.random((K, 9))
        rows[K // 2 :] = rows[0]  # equal anchors: their weights are no longer unique
        stm.exact_weights(rng.random((5, 9)) @ rows.T, rows @ rows.T, 0, 5, weights)
        assert np.allclose(weights.sum(axis=1), 1)
        assert weights.min() >= 0
        stm.exact_weights(np.zeros((5, K)), np.zeros((K, K)), 0, 5, weights)
        assert np.allclose(weights.sum(axis=1), 1)


@exercises(poisson_lasso.fit_terms)
def test_words_by_level() -> None:
    """No term, none that occurs, cells without tokens, one topic or level, counts below one, with and without interactions."""
    rng = np.random.default_rng(0)
    for V, A, K in ((0, 2, 2), (1, 1, 1), (5, 2, 1), (3, 1, 4), (40, 3, 5)):
        for scale in (0.0, 1e-9, 0.3, 1e6):
            counts = scale * rng.poisson(0.7, (A, K, V))
            baseline = np.full(V, 1 / max(V, 1))
            for interactions in (True, False):
                for threads in (1, 2):
                    model = update_content(
                        counts, baseline, np.full(A, 1 / A), interactions=interactions, threads=threads
                    )
                    assert all(np.isfinite(values).all() for values in model.arrays().values())


def chains() -> Iterator[dict[str, Any]]:
    """Samplers of next to nothing: no document, empty ones, one topic, more topics than tokens, all documents frozen."""
    tables = [token_table(docs or [[]], ["a", "b", "c"]) for docs in ([], [[], []], [[0]], [[0] * 40, [], [1, 2]])]
    tables.append(TokenTable(np.zeros(1, np.int64), np.zeros(0, np.int32), ()))
    for tokens in tables:
        N, D = len(tokens.term_ids), tokens.n_docs
        for K in (1, 2, 33, 300):
            for shards in (1, 5):
                plain = {"tokens": tokens, "n_topics": K, "alpha": 0.1, "eta": 0.01, "seed": 1, "shards": shards}
                yield plain
                given = np.full(N, K - 1, np.int32)
                yield plain | {"assignments": given, "frozen": np.arange(D) % 2 == 0, "fixed": np.arange(K) % 2 == 0}
                yield plain | {"assignments": given, "frozen": np.ones(D, bool), "weights": np.full(N, 255.0)}
                yield plain | {"weights": np.zeros(N)}


@exercises(
    gibbs.sample_cell, gibbs_layout.sort_by_word, gibbs_layout.to_word_order, gibbs_layout.to_corpus_order,
    gibbs_layout.block_bounds, gibbs_layout.start_topics, gibbs_layout.topic_totals, gibbs_layout.fill_lists,
    gibbs_layout.fill_word_lists, gibbs_layout.read_lists, topic_counts.count_topics, gibbs_layout.fill_from_counts,
)  # fmt: skip
def test_gibbs_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "LISTED_FROM", 1)
    for chain in chains():
        sampler = GibbsSampler(**chain)
        sampler.run(3)
        sampler.restore({name: values.copy() for name, values in sampler.state().items()}, 3)
        sampler.run(1)
        z = sampler.assignments()
        assert not len(z) or 0 <= z.min() <= z.max() < chain["n_topics"]
        assert sampler.doc_topic().sum() == pytest.approx(sampler.topic_term().sum())
        sampler.log_likelihood()
    for chain in chains():  # AD-LDA: lists of words have room for the topics that tokens of the shard can bring
        frozen = chain.pop("frozen", None)
        distributed = DistributedSampler(**chain)
        distributed.run(3)
        distributed.restore({name: values.copy() for name, values in distributed.state().items()}, 3)
        distributed.run(1)
        z = distributed.assignments()
        assert not len(z) or 0 <= z.min() <= z.max() < chain["n_topics"]
        assert distributed.doc_topic().sum() == pytest.approx(distributed.topic_term().sum())
        if frozen is None:
            distributed.log_likelihood()


@exercises(
    gibbs_infer.infer, gibbs_infer.left_to_right, gibbs_infer.log_probs, gibbs_infer.mark_halves,
    gibbs_infer.smooth_sums,
)  # fmt: skip
def test_topics_of_new_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    for K in (1, 2, 40):
        for room in (1, 3 * K, infer.ROOM):  # entries of phi that are kept: of one word, of three, of all
            monkeypatch.setattr(infer, "ROOM", room)
            monkeypatch.setattr(heldout, "ROOM", room)
            phi = sparse.csr_array(np.eye(K, 3, dtype=np.int32))
            model = MixtureModel(("a", "b", "c"), phi, np.full(K, 0.1), 0.01)
            tokens = token_table([[], [0], [2, 2], [0, 1, 2] * 30], ["a", "b", "c"])
            theta = infer.infer_topics(model, tokens.offsets, tokens.term_ids, seed=1, sweeps=5)
            assert theta.sum(axis=1) == pytest.approx(1, abs=1e-5)
            assert infer.infer_topics(model, tokens.offsets[:1], tokens.term_ids, seed=1).shape == (0, K)
            for method in ("completion", "left-to-right"):
                found = heldout.perplexity(model, tokens, seed=1, method=method, sweeps=5, particles=2)
                assert np.isfinite(found.perplexity)


@exercises(
    topk.insert, topk.top_k_rows, topk.top_k_pairs, topk.merge_rows, topk.rescore_rows, layout.bandwidths,
    layout.slope, layout.layout_epochs,
)  # fmt: skip
def test_neighbours_and_layout() -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 20):
        rows = unit_rows(rng, n, 4)
        rows[n // 2 :] = rows[:1]  # all alike
        for k in (0, 1, 5, 99):
            found = nearest_neighbours(rows, k=k, threads=3)
            assert found.index.shape == (n, max(min(k, n - 1), 0))
            nearest_neighbours(rows, rows[:0], k=k)
            nearest_neighbours(rows[:0], rows, k=k)
            if n > 1 and k:
                with np.errstate(over="ignore"):  # hashes wrap around
                    umap_layout(fuzzy_graph(found), rows[:, :2].copy(), n_epochs=3)
    scores = np.zeros((2, 3), np.float32)
    topk.top_k_rows(scores, 0, -1, np.zeros((2, 0), np.int32), np.zeros((2, 0), np.float32))
    topk.insert(np.zeros(1, np.int32), np.zeros(1, np.float32), 1, np.float32(1))
    table = np.zeros(layout.N_SLOPES + 1, np.float32)
    for gap in (0, 1e-45, 1, 3e38, np.inf, np.nan):
        assert layout.slope(table, np.float32(gap)) == 0 or not np.isfinite(gap)


@exercises(
    trie.child, trie.look_up, trie.find_suffixes, trie.count_suffixes, trie.interpolate,
    trie.longer_keys, trie.rank_keys, trie.spell_keys, trie.is_before, trie.sift, trie.merge_runs,
)  # fmt: skip
def test_ngrams_of_a_language_model(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    assert trie.child(np.zeros(1, np.int64), np.zeros(0, np.int32), 0, 0) == -1
    assert not trie.is_before(np.zeros((2, 1, 3), np.int32), *np.zeros((2, 2), np.int64), 0, 1)
    shapes = ([], [0], [0, 0], [1, 0, 3], [30, 1])
    for block, order, sizes in itertools.product((1, 10**6), (1, 2, 5), shapes):
        monkeypatch.setattr("nlpkit.lm.counting.BLOCK_TOKENS", block)
        monkeypatch.setattr("nlpkit.lm.counting._ROOM", 2 * block)
        monkeypatch.setattr("nlpkit.lm.counting._MERGED_NUMBERS", block)
        for name in ("PART", "HELD", "WIDE"):
            monkeypatch.setattr(f"nlpkit.lm.smoothing.{name}", 2 * block)
        for n_words in (1, 4):
            counter = NgramCounter(order, 3 + n_words)
            offsets = np.cumsum([0, *sizes]).astype(np.int64)
            words = rng.integers(3, 3 + n_words, sum(sizes)).astype(np.int32)
            for _ in range(3):
                counter.add(offsets, words)
            model, counts = counter.finish()
            assert np.isfinite(kneser_ney(model, counts).log_backoff).all()
            nodes, _ = model.look_up(offsets, np.where(rng.random(len(words)) < 0.3, -1, words).astype(np.int32))
            assert len(nodes) == len(words) + 2 * len(sizes)


@exercises(tree.single_linkage, tree.condense, tree.excess_of_mass)
def test_hierarchy() -> None:
    for n in (1, 2, 3, 60):
        for edges in ([[i, i + 1] for i in range(n - 1)], [[0, i + 1] for i in range(n - 1)]):
            ends = np.array(edges, np.int64).reshape(-1, 2)
            for lengths in (np.zeros(n - 1), np.ones(n - 1), np.arange(n - 1.0)):
                cut = Hierarchy(ends, lengths, *tree.single_linkage(ends, n))
                for size in (1, 2, 5, 99):
                    for share in (0.0, 0.5, 1.0):
                        assert cut.cut(size, share).shape == (n,)


@exercises(linkage.complete_linkage, resample.resampled_products, chance.expected_information)
def test_statistics() -> None:
    for n in (1, 2, 40):
        for fill in (0.0, 1.0):
            left, _, _ = linkage.complete_linkage(np.full((n, n), fill))
            assert len(left) == n - 1
    generator = np.random.default_rng(0)
    for n, r in (([1], [1]), ([0, 1], [1, 0]), ([5] * 300, [1] * 300)):
        for n_vocab in (0, len(n), 10_000):
            resampled_similarities(np.array(n), np.array(r), n_vocab, 0.01, 0.9, 3, generator)
    for table in ([[1]], [[99]], [[0, 0], [0, 5]], [[1] * 30], np.eye(30, dtype=int), [[10**6, 1], [1, 10**6]]):
        adjusted_mutual_information(table)


@exercises(medoids.build, medoids.swap)
def test_medoids() -> None:
    for n in (1, 2, 3, 40):
        points = np.random.default_rng(n).random((n, 2))
        for distances in (np.zeros((n, n)), np.abs(points[:, :1] - points[:, 0]), np.full((n, n), np.nan)):
            for k in {1, (n + 1) // 2, n}:
                chosen = medoids.build(distances, k)
                assert len(set(chosen.tolist())) == k
                with np.errstate(invalid="ignore"):  # as plain Python, NumPy speaks of inf - inf
                    medoids.swap(distances, chosen, 1e-12)
                assert len(set(chosen.tolist()) & set(range(n))) == k


@exercises(
    logistic.times, logistic.squares_times, logistic.losses, logistic.residuals, logistic.curvatures, logistic.diagonals,
    logistic.spread_rows,
)  # fmt: skip
def test_regression() -> None:
    for X in (np.zeros((6, 1)), np.eye(6), np.ones((6, 40))):
        for features in (X, sparse.csr_array(X)):
            for J in (2, 3, 6):
                fit_logistic(features, np.arange(6) % J, J, max_steps=3)
            fit_label_logistic(features, np.arange(6)[:, None] % 2 == np.arange(2), max_steps=3)


@exercises(integer_rows.round_rows, integer_rows.scale_products)
def test_rows_of_integers() -> None:
    for shape in ((0, 5), (5, 0), (1, 1), (3, 70)):
        columns = np.full(shape[1], np.float32(2))
        for value in (0.0, 1.0, -1.0, -1e-38, 3e38, np.inf, np.nan, -np.nan):
            codes, steps, zeros = np.full(shape, 9, np.int8), np.ones(shape[0], np.float32), np.ones(shape[0], np.int32)
            with np.errstate(invalid="ignore", over="ignore"):
                integer_rows.round_rows(np.full(shape, np.float32(value)), columns, codes, steps, zeros)
            assert (codes == {1.0: 127, -1.0: -128}.get(value, 0)).all()
            if shape[1]:
                assert np.isfinite(steps).all() == (abs(value) <= 1.0) or 0 in shape
        for row in (
            np.linspace(-1, 1.5, 70),
            np.linspace(-1.5, 254, 511),
            np.array([-0.5, 254.5]),
            np.array([-1.5, 253.5]),
        ):
            codes, steps, zeros = np.empty((1, len(row)), np.int8), np.ones(1, np.float32), np.ones(1, np.int32)
            integer_rows.round_rows(row[None].astype(np.float32), np.ones(len(row), np.float32), codes, steps, zeros)
            assert np.abs((codes[0].astype(int) - zeros) * steps - row).max() <= 1.01 * steps  # at an end a half is cut
        products, sums = np.full(shape, 127 * 128 * 3072, np.int32), np.full(shape[1], -127 * 3072, np.int32)
        rows, out = np.ones(shape[0], np.float32), np.empty(shape, np.float32)
        integer_rows.scale_products(products, rows, np.full(shape[0], 127, np.int32), columns, sums, columns, out)
        assert (out == np.float32(127 * 255 * 3072) * 2 + 2).all()


@exercises(poisson.fit_regressions)
def test_poisson_regressions() -> None:
    for n_units, n_points in ((0, 3), (1, 1), (5, 0), (4, 7)):
        x = np.linspace(-1, 1, n_points)
        for totals in (0.0, 1.0, 1e300, np.inf, np.nan):
            a, b = np.zeros(n_units), np.zeros(n_units)
            y = np.full(n_units, totals)
            with np.errstate(all="ignore"):
                poisson.fit_regressions(y, y * 0.5, np.zeros(n_points), x, a, b, 1.0, 0, n_units, 9, 1e-9)
            assert np.isfinite(a).all()
            assert np.isfinite(b).all()
        a = np.zeros(n_units)
        poisson.fit_regressions(a + 1, a, np.zeros(n_points), x, a, a.copy(), 1.0, n_units, n_units, 9, 1e-9)
        assert not a.any()  # of no unit
