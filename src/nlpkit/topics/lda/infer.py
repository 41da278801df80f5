"""Topics of new documents under a fitted LDA model."""

from __future__ import annotations

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.kernels import gibbs_infer
from nlpkit.topics.mixtures.by_term import check_ids, in_chunks, words_of
from nlpkit.topics.mixtures.model import MixtureModel
from nlpkit.topics.streams import stream_key
from nlpkit.types import Float32Array, IntArray, LongArray

SWEEPS = 100
ROOM = 1 << 22  # entries of phi kept for a document, 32 MB a thread: 4,194 different words at K = 1000


def infer_topics(
    model: MixtureModel | gibbs_infer.Words,
    offsets: LongArray,
    term_ids: IntArray,
    *,
    seed: int,
    sweeps: int = SWEEPS,
    burn_in: int | None = None,
    chains: int = 1,
    threads: int = 1,
) -> Float32Array:
    """Return theta (D, K) of new documents by Gibbs sampling of their topics, phi fixed.

        p(z_i = k | all others) ∝ (n_dk + α_k) · phi_k,w,   n_dk without token i
        theta_dk = (α_k + mean over samples of Σ_i p(z_i = k | all others)) / (N_d + Σα)

    The mean of conditional probabilities in place of counts (Rao-Blackwellised) has the same expectation and varies less: on
    texts of 10 tokens two seeds differ as little as with 1.5 times the sweeps. Samples are the sweeps after `burn_in`.
    A document's draws depend on the seed and its own words, in whatever order they stand: equal texts have equal topics, and
    neither other documents nor batches nor threads change them. A document without words has the prior's mean α / Σα.

    Measured on 20 Newsgroups, 100 tokens a document, α = η = 1/K: theta of two seeds differ by a total variation distance of
    0.06, 0.19 and 0.43 at K = 20, 100 and 500, and of 0.04, 0.14 and 0.35 with 200 sweeps. Several chains in place of a
    long one miss the mean of long runs by more (0.06, 0.16, 0.33 with 4 of 25 sweeps; 0.04, 0.11, 0.30 with one of 100).

    Args:
        model: or, to do that once for many batches, `words_of` it.
        offsets: (D + 1,) document d owns term_ids[offsets[d]:offsets[d + 1]]; a batch may begin anywhere in term_ids.
        term_ids: (N,) words that the model knows, numbered as in model.terms.
        seed: of the random streams.
        sweeps: draws of each token in a chain, burn-in included.
        burn_in: first sweeps of a chain that do not count; a fifth of `sweeps` if None.
        chains: times that a document is sampled from the start; theta is the mean over all of them.
        threads: documents sampled at the same time, in chunks of 64.

    Raises:
        UsageError: sweeps, burn_in or chains out of range; a term id that the model does not have; a prior that is not above 0.
    """
    words = words_of(model) if isinstance(model, MixtureModel) else model
    if not (np.all(words.base > 0) and np.all(words.alpha > 0)):
        raise UsageError("topics are drawn under priors: alpha and eta must be above 0", parameter="alpha")
    skipped = sweeps // 5 if burn_in is None else burn_in
    if not (0 <= skipped < sweeps and chains >= 1):
        raise UsageError(
            f"{sweeps} sweeps, burn_in {skipped}, {chains} chains: a chain and a sweep are needed, and a burn_in below sweeps",
            parameter="sweeps",
        )
    check_ids(words, term_ids[offsets[0] : offsets[-1]])
    theta = np.empty((len(offsets) - 1, len(words.base)), np.float32)
    key = np.uint64(stream_key(seed, "infer"))

    def fill(begin: int, end: int) -> None:
        chunk = offsets[begin : end + 1]
        gibbs_infer.infer(chunk, term_ids, words, chains, sweeps, skipped, key, ROOM, theta[begin:end])

    in_chunks(fill, len(theta), threads)
    return theta
