"""Topics of new documents by a fit on embeddings, in a stream."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit.cluster.assign import Training, predict_topics
from nlpkit.embed.embeddings import RunEmbeddings
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import text_hash
from nlpkit.platform.documents.corpus import has_text
from nlpkit.platform.runs.passes import ColumnMaker, WithColumns
from nlpkit.predict.options import TOPIC_COLUMNS
from nlpkit.text.language import SAMPLE_DOCS, foreign_language
from nlpkit.text.settings import NO_LANGUAGE
from nlpkit.topics.base.topic_tables import topic_columns

if TYPE_CHECKING:
    from nlpkit.embed.encoder import Encoder
    from nlpkit.platform.documents.corpora import DocumentStream
    from nlpkit.platform.options import Execution
    from nlpkit.predict.options import PredictOptions

NEAREST = "nearest"  # the rule of a model that BERTopic saved


@dataclass(frozen=True, slots=True)
class Bound:
    """The similarity under which new text is novel, -inf for none, and its quantile."""

    quantile: float
    least_similarity: float

    def as_dict(self) -> dict[str, float | None]:
        """Return it as JSON holds it."""
        least = self.least_similarity
        return {"quantile": self.quantile, "least_similarity": least if math.isfinite(least) else None}


class TopicMaker(ColumnMaker):
    """Documents with topic, topic_prob, nearest_topic and margin."""

    gives, replaces = "topics", TOPIC_COLUMNS

    def __init__(
        self,
        model: str,
        config: Mapping[str, Any],
        training: Training,
        bound: Bound,
        stream: DocumentStream,
        options: PredictOptions,
        execution: Execution,
        encoder: Encoder | None = None,
    ) -> None:
        """Take a model and documents. encoder: the one that the model keeps."""
        super().__init__(model, stream, execution.seed)
        self._config, self._training, self._bound = config, training, bound
        self._options, self._threads = options, execution.n_threads()
        self._embeddings = RunEmbeddings(dict(config), options.encoder, self._threads, stream, encoder)
        self._counts = dict.fromkeys(("known", "unassigned", "novel", "empty"), 0)
        self._sample: list[str] = []  # the first new texts, whose language is looked at

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents with their topics."""
        for batch in self.stream:
            yield batch, self._topics(batch)

    def _topics(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        counts, usable = self._counts, has_text(batch.column("text"))
        texts = batch.column("text").to_pylist()
        hashes = [text_hash(t) for t in texts]
        new = usable & np.array([h not in self._training.rows for h in hashes], bool)
        self._sample.extend(texts[i] for i in np.flatnonzero(new)[: SAMPLE_DOCS - len(self._sample)])
        prediction = predict_topics(
            self._training,
            self._embeddings.of_batch(batch, new),
            hashes,
            usable,
            n_neighbors=self._config["n_neighbors"],
            least_similarity=self._bound.least_similarity,
            assign_outliers=self._options.assign_outliers,
            nearest_only=self._config.get("rule") == NEAREST,
            threads=self._threads,
        )
        counts["known"] += int(prediction.known.sum())
        counts["unassigned"] += int((prediction.topics < 0).sum())
        counts["novel"] += int(prediction.novel.sum())
        counts["empty"] += int((~usable).sum())
        return topic_columns(prediction.topics, prediction.topic_prob, prediction.nearest_topic, prediction.margin)

    def parameters(self) -> dict[str, Any]:
        """Return the model, its encoder and the options in force."""
        return {
            "model": self.name,
            "encoder": self._config["encoder"],
            "assign_outliers": self._options.assign_outliers,
            "novelty_quantile": self._bound.quantile,
        }

    def summary(self) -> dict[str, Any]:
        """Return counts of documents by where their topic comes from."""
        return {
            "documents": self.documents,
            **self._counts,
            "rule_agreement": self._config["rule_agreement"],
            "novelty": self._bound.as_dict(),
        }

    def report(self) -> None:
        """Say where the topics come from, why documents have none, and whether their language is that of the fit."""
        counts, bound = self._counts, self._bound
        elsewhere = counts["unassigned"] - counts["novel"] - counts["empty"]
        by_fate = {
            "with a topic": self.documents - counts["unassigned"],
            "unlike the training documents (topic -1)": counts["novel"],
            "among documents that have no topic either (topic -1)": elsewhere,
            "without text (topic -1)": counts["empty"],
        }
        parts = [f"{wording.count(n)} {fate}" for fate, n in by_fate.items() if n]
        reporting.note(f"{wording.counted(self.documents, 'document')}: {', '.join(parts)}")
        if counts["known"]:
            reporting.note(f"{wording.count(counts['known'])} were in the fit and keep their topics")
        if self._config.get("rule") == NEAREST:
            reporting.note(
                "each document gets the topic with the nearest vector, as BERTopic's transform of a saved model does"
            )
        elif self.documents > counts["known"] + counts["empty"]:
            reporting.note(
                "new documents get the topic of their neighbours; for the documents of the fit, this rule finds "
                f"the right topic for {self._config['rule_agreement']:.0%}"
            )
        if counts["novel"]:
            reporting.note(
                f"unlike the training documents: mean cosine to the nearest of them under {bound.least_similarity:.3f} "
                f"(`novelty_quantile={bound.quantile:g}`; 1 sets no bound)"
            )
        self._warn_of_language()

    def _warn_of_language(self) -> None:
        known = [code for code, _ in self._config.get("languages") or [] if code != NO_LANGUAGE]
        foreign = foreign_language(self._sample, known)
        if foreign is not None:
            language = "in no language" if foreign.code == NO_LANGUAGE else f"'{foreign.code}'"
            reporting.warn(
                f"the new texts are mostly {language} ({foreign.share:.0%}), but the run's texts "
                f"'{', '.join(known)}'; topics may reflect the language more than the subject"
            )
