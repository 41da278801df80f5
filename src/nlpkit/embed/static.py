"""Static encoders: a vector for each token, tuned so that their means give the texts of a corpus the vectors of a sentence encoder.

Sources: Tulkens & van Dongen 2024, Model2Vec (a token's vector starts as the encoder's output for that token alone) and
Tokenlearn (the vectors are then fitted to the encoder's vectors of real texts); Arora et al. 2017, A simple but tough-to-beat
baseline for sentence embeddings (weights by frequency). The fit here is least squares, not gradient descent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from nlpkit.embed.encoder import STATIC_BATCH_TOKENS, Encoder, encodable, unit_length
from nlpkit.embed.models import ModelFiles
from nlpkit.embed.options import LEAST_SAMPLE
from nlpkit.embed.static_engine import StaticEngine
from nlpkit.embed.token_ids import NO_LIMIT, TokenIds, TokenReader
from nlpkit.errors import InputError, MissingError
from nlpkit.metrics.labels.clustering import adjusted_mutual_information
from nlpkit.platform.parallel import one_thread
from nlpkit.platform.types import CsrMatrix, Float32Array, IntArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SIF, RIDGE, RIDGE_MAP, STEPS = 1e-2, 0.1, 1e-2, 25  # chosen in docs/benchmarks/embeddings.md
HELD_OUT, MOST_HELD_OUT = 0.1, 2000  # share of the sample that the fit does not see, and at most how many texts
LEAST_AGREEMENT = 2 / 3  # of what two clusterings of the encoder's own vectors agree
_BLOCK = 64  # columns that are solved together; the same for any number of threads, so are the bytes
_CLUSTERS, _TEXTS_IN_A_CLUSTER = 20, 20


@dataclass(frozen=True, slots=True)
class StaticScores:
    """Comparison of a static encoder with the encoder it was tuned to, on texts that the fit did not see.

    cosine: mean cosine of the two vectors of a text; agreement: adjusted mutual information of k-means on the one and on the
    other; ceiling: that of two k-means from different seeds on the vectors of the encoder itself.
    """

    cosine: float
    agreement: float
    ceiling: float
    texts: int
    clusters: int

    @property
    def weak(self) -> bool:
        """Whether the clusters are so unlike those of the encoder that they should not stand for them."""
        return self.agreement < LEAST_AGREEMENT * self.ceiling

    def as_dict(self) -> dict[str, float]:
        """Return the numbers, rounded for a footer."""
        names = ("cosine", "agreement", "ceiling")
        return {
            **{name: round(getattr(self, name), 6) for name in names},
            "held_out": self.texts,
            "clusters": self.clusters,
        }


@dataclass(frozen=True, slots=True)
class StaticModel:
    """A tuned static encoder: a tokenizer, and the vectors (V, E) of its tokens.

    teacher: the encoder it was tuned to; texts: how many it was fitted on. plain: scores of the start alone, which is plain
    distillation; scores: those of the tuned vectors.
    """

    tokenizer: Tokenizer = field(repr=False)
    vectors: Float32Array = field(repr=False)
    teacher: Mapping[str, Any]
    texts: int
    plain: StaticScores
    scores: StaticScores

    def facts(self) -> dict[str, Any]:
        """Return what footers say of it."""
        return {"teacher": dict(self.teacher), "texts": self.texts, **self.scores.as_dict()}

    def files(self) -> dict[str, bytes]:
        """Return the files of a folder that nlpkit and sentence-transformers (StaticEmbedding) load, by name."""
        from safetensors.numpy import save

        modules = [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"},
            {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
        ]
        return {
            "model.safetensors": save({"embedding.weight": np.ascontiguousarray(self.vectors)}),
            "modules.json": (json.dumps(modules, indent=2) + "\n").encode(),
            "tokenizer.json": self.tokenizer.to_str(pretty=True).encode(),
        }

    def encoder(self, *, threads: int, max_tokens: int | None = None) -> Encoder:
        """Return an encoder that embeds by these vectors."""
        return static_encoder(self.files(), self.facts(), threads=threads, max_tokens=max_tokens)


def static_encoder(
    files: Mapping[str, bytes], facts: Mapping[str, Any], *, threads: int, max_tokens: int | None = None
) -> Encoder:
    """Return the encoder of files and facts of a `StaticModel`. Raises ValueError for files that are damaged."""
    engine = StaticEngine.from_files(files, max_tokens=max_tokens)
    model = ModelFiles(f"static({facts['teacher']['encoder']})", Path(), "tuned on these documents")
    encoder = Encoder(model, engine, device="cpu", batch_tokens=STATIC_BATCH_TOKENS, threads=threads)
    encoder.fingerprint = hashlib.sha256(files["model.safetensors"]).hexdigest()
    encoder.static = dict(facts)
    return encoder


class TextSample:
    """A sample of a stream of texts, spread over their lengths; it depends on which texts there are, not on order or repetition.

    A text belongs to the stratum of its length (each half as long again as the one before), which keeps its `size` texts of the
    smallest hash (bottom-k sampling).
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self._key = size, seed.to_bytes(8, "little")
        self._known: set[int] = set()
        self._counts: dict[int, int] = {}
        self._kept: dict[int, dict[int, str]] = {}

    def add(self, texts: Sequence[str]) -> None:
        """Take more texts; those without a character other than spaces are left out."""
        for text in texts:
            if not text.strip():
                continue
            digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=8, key=self._key).digest()
            number = int.from_bytes(digest, "little")
            if number in self._known:
                continue
            self._known.add(number)
            stratum = int(np.log(len(text)) / np.log(1.5))
            self._counts[stratum] = self._counts.get(stratum, 0) + 1
            kept = self._kept.setdefault(stratum, {})
            kept[number] = text
            if len(kept) > 2 * self.size:
                self._kept[stratum] = dict(islice(sorted(kept.items()), self.size))

    def texts(self) -> list[str]:
        """Return the sample, `size` texts or all there are, each stratum with its share of the texts (largest remainders)."""
        total = sum(self._counts.values())
        wanted = min(self.size, total)
        strata = sorted(self._counts)
        shares = [wanted * self._counts[s] / max(1, total) for s in strata]
        parts = [int(share) for share in shares]
        by_remainder = sorted(range(len(strata)), key=lambda i: (parts[i] - shares[i], strata[i]))
        for i in by_remainder[: wanted - sum(parts)]:
            parts[i] += 1
        chosen = [pair for s, n in zip(strata, parts, strict=True) for pair in islice(sorted(self._kept[s].items()), n)]
        return [text for _, text in sorted(chosen)]


def tune_static(
    teacher: Encoder,
    texts: Sequence[str],
    *,
    held_out: Sequence[str] | None = None,
    threads: int = 1,
    seed: int = 42,
    progress: Callable[[int, str], None] = lambda percent, stage: None,
) -> StaticModel:
    """Tune a static encoder to the vectors that an encoder gives the texts of a corpus; see `fit_tokens`.

    Args:
        teacher: the encoder. texts: in the order of a `TextSample`, whose first tenth is held out; equal ones count once.
        held_out: texts to compare on, where there are some; all texts are then fitted on.
        threads: the vectors do not depend on them. seed: of the clusterings that are compared.
        progress: called with the percentage done, and the stage.

    Returns:
        The model. Its tokens are those of the teacher; E is that of the teacher, whose space it shares.

    Raises:
        InputError: fewer than 100 different texts with a token; MissingError: the teacher has no tokenizer that can be kept.
    """
    tokenizer = static_tokenizer(teacher)
    train, C = _with_tokens(tokenizer, texts)
    test, C_test = _with_tokens(tokenizer, held_out or ())
    n = 0 if held_out is not None else min(MOST_HELD_OUT, max(1, int(HELD_OUT * len(train))))
    if len(train) < LEAST_SAMPLE or not (n or test):
        raise InputError(
            f"a static encoder is tuned on at least {LEAST_SAMPLE} different texts with words, found {len(train)}"
            + ("" if len(train) < LEAST_SAMPLE else " and none to compare on")
            + "; give more, or embed with the encoder itself"
        )
    if n:
        (test, train), (C_test, C) = (train[:n], train[n:]), (C[:n], C[n:])
    test, C_test = test[:MOST_HELD_OUT], C_test[:MOST_HELD_OUT]
    words = [_text_of(tokenizer, i) for i in range(C.shape[1])]
    every, done = len(train) + len(test) + len(words), 0

    def encode(part: Sequence[str], stage: str) -> Float32Array:
        def advance(n_embedded: int) -> None:
            nonlocal done
            done += n_embedded
            progress(90 * done // every, stage)

        return teacher.encode(part, progress=advance)[0]

    targets, wanted = encode(train, "texts by the encoder"), encode(test, "texts by the encoder")
    start = encode(words, "tokens by the encoder")
    with one_thread():
        progress(90, "fit")
        vectors = fit_tokens(C, start, targets, threads=threads)
        progress(95, "comparison")
        plain = compare(unit_length(mean_vectors(C_test, plain_vectors(start))), wanted, seed=seed)
        scores = compare(unit_length(mean_vectors(C_test, vectors)), wanted, seed=seed)
    about = {
        "encoder": teacher.name, "fingerprint": teacher.fingerprint, "max_tokens": teacher.max_tokens, "precision": teacher.precision,
    }  # fmt: skip
    return StaticModel(tokenizer, vectors, about, len(train), plain, scores)


def fit_tokens(counts: CsrMatrix, start: Float32Array, targets: Float32Array, *, threads: int = 1) -> Float32Array:
    """Return token vectors (V, E) float32 whose mean over a text points to the text's target.

        w_t = a / (a + p_t)                                       p_t: share of the token among all tokens of the texts
        f_dt = n_dt w_t / Σ_s n_ds w_s
        A, b = argmin Σ_d ‖y_d - A Σ_t f_dt s_t - b‖² + λ₀ ‖A, b‖²
        δ = argmin Σ_d ‖y_d - Σ_t f_dt (A s_t + b + δ_t)‖² + λ Σ_t ‖δ_t‖²
        x_t = w_t (A s_t + b + δ_t)

    A token that no text has keeps δ_t = 0: it profits from A and b, which all texts agree on. The mean of x_t over the tokens of
    a text has the direction of the weighted mean; a = SIF, λ₀ = RIDGE_MAP times the mean of the diagonal, λ = RIDGE. δ is found
    by STEPS conjugate gradients on the dual, (F Fᵀ + λ I) α = residual, δ = Fᵀ α, each column by itself.

    Args:
        counts: (D, V) n, tokens of each text, none empty. start: (V, E) s, unit vectors of the tokens alone. targets: (D, E) y,
            unit vectors. threads: over columns; the bytes do not depend on them.
    """
    total = np.asarray(counts.sum(axis=0), np.float64).ravel()
    weights = (SIF / (SIF + total / total.sum())).astype(np.float32)
    F = sp.csr_matrix(counts, dtype=np.float32) @ sp.diags(weights)
    F = (sp.diags(1 / np.asarray(F.sum(axis=1)).ravel()) @ F).tocsr().astype(np.float32)
    X = np.column_stack([F @ start, np.ones(len(targets), np.float32)]).astype(np.float64)
    gram = X.T @ X
    gram[np.diag_indices_from(gram)] += RIDGE_MAP * np.trace(gram) / len(gram)
    A = np.linalg.solve(gram, X.T @ targets)
    mapped = (start @ A[:-1].astype(np.float32) + A[-1]).astype(np.float32)
    seen = np.flatnonzero(total)
    F = F[:, seen].tocsr()
    Ft = F.T.tocsr()
    residual = (targets - X @ A).astype(np.float32)

    def solve(column: int) -> None:
        block = np.ascontiguousarray(residual[:, column : column + _BLOCK])
        mapped[seen, column : column + _BLOCK] += Ft @ conjugate_gradients(F, Ft, block)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(solve, range(0, targets.shape[1], _BLOCK)))
    vectors: Float32Array = weights[:, None] * mapped
    return vectors


def conjugate_gradients(F: CsrMatrix, Ft: CsrMatrix, B: Float32Array) -> Float32Array:
    """Return α (D, c) with (F Fᵀ + λ I) α ≈ B, after STEPS conjugate gradients (Hestenes & Stiefel 1952) for each column of B (D, c)."""
    alpha, r, q = np.zeros_like(B), B.copy(), B.copy()
    rr = np.square(r).sum(axis=0)
    for _ in range(STEPS):
        Mq = F @ (Ft @ q) + np.float32(RIDGE) * q
        step = rr / np.maximum((q * Mq).sum(axis=0), 1e-30)
        alpha += step * q
        r -= step * Mq
        before, rr = rr, np.square(r).sum(axis=0)
        q = r + (rr / np.maximum(before, 1e-30)) * q
    return alpha


def plain_vectors(start: Float32Array) -> Float32Array:
    """Return the token vectors (V, E) of plain distillation: centred, weighted by the rank in the vocabulary (Model2Vec, all dimensions).

    Model2Vec rotates them by principal components as well, which changes no cosine where all are kept.
    """
    chance = 1 / np.arange(2, len(start) + 2)
    chance /= chance.sum()
    centred: Float32Array = ((start - start.mean(axis=0)) * (1e-4 / (1e-4 + chance))[:, None]).astype(np.float32)
    return centred


def compare(static: Float32Array, real: Float32Array, *, seed: int) -> StaticScores:
    """Return how near the static vectors (D, E) of some texts are to the real ones (D, E), all of length 1 or 0."""
    k = int(np.clip(len(real) // _TEXTS_IN_A_CLUSTER, 2, _CLUSTERS))
    if len(real) < 2:
        return StaticScores(float((static * real).sum(axis=1).mean()), 0.0, 0.0, len(real), 1)
    ours, theirs, again = (_clusters(v, k, s) for v, s in ((static, seed), (real, seed), (real, seed + 1)))
    return StaticScores(
        float((static * real).sum(axis=1, dtype=np.float64).mean()), adjusted_mutual_information(ours, theirs),
        adjusted_mutual_information(theirs, again), len(real), k,
    )  # fmt: skip


def _clusters(vectors: Float32Array, k: int, seed: int) -> IntArray:
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(k, n_init=3, random_state=seed % 2**32).fit_predict(vectors), np.int64)


def static_tokenizer(teacher: Encoder) -> Tokenizer:
    """Return a copy of the tokenizer of an encoder. Raises MissingError for an encoder without one that is fast."""
    from tokenizers import Tokenizer

    if teacher.tokenizer is None:
        raise MissingError(
            f"{teacher.name} has no fast tokenizer, which a static encoder needs; use another model, such as "
            "all-MiniLM-L6-v2"
        )
    return Tokenizer.from_str(teacher.tokenizer.to_str())


def token_counts(tokenizer: Tokenizer, texts: Sequence[str]) -> CsrMatrix:
    """Return how often each text has each token, (D, V)."""
    ids = TokenIds(TokenReader(tokenizer), texts, NO_LIMIT, specials=False)
    shape = (len(texts), tokenizer.get_vocab_size())
    matrix = sp.csr_matrix((np.ones(len(ids.flat), np.float32), ids.flat, ids.starts), shape=shape)
    matrix.sum_duplicates()
    return matrix


def mean_vectors(counts: CsrMatrix, vectors: Float32Array) -> Float32Array:
    """Return the mean vector (D, E) of the tokens of each text; 0 for one without."""
    n = np.asarray(counts.sum(axis=1)).reshape(-1, 1)
    means: Float32Array = ((counts @ vectors) / np.maximum(n, 1)).astype(np.float32)
    return means


def _with_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[list[str], CsrMatrix]:
    """Return the different texts that have a token, and their counts."""
    distinct = [encodable(text) for text in dict.fromkeys(texts)]
    counts = token_counts(tokenizer, distinct)
    rows = np.flatnonzero(np.diff(counts.indptr))
    return [distinct[i] for i in rows.tolist()], counts[rows]


def _text_of(tokenizer: Tokenizer, token: int) -> str:
    """Return a token as text: without the marks of a continuation or of a space."""
    piece = tokenizer.decode([token], skip_special_tokens=False) or tokenizer.id_to_token(token) or ""
    return piece.removeprefix("##").replace("\u2581", " ").strip()
