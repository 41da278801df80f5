"""Commands that go through documents one by one, as jobs that can be done on any share of the documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from nlpkit.embed.options import DocumentMethodOptions, EncoderOptions, SbertOptions
from nlpkit.errors import UsageError, unknown_value
from nlpkit.features.model import parse_bins
from nlpkit.features.options import TextFeatureOptions
from nlpkit.lm.spelling import SpellOptions
from nlpkit.metrics.options import GateOptions
from nlpkit.platform.documents.corpus import Corpus, read_corpus
from nlpkit.platform.documents.inputs import Scan
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.artifacts import parquet_shape
from nlpkit.platform.runs.passes import Pass
from nlpkit.predict.options import PredictOptions
from nlpkit.text.lexicon.options import SentimentOptions, SentimentTextOptions
from nlpkit.text.options import DocumentTextOptions, RowOptions
from nlpkit.zero_shot.options import ZeroShotOptions

# command → what opens its pass over a corpus
PASSES = {
    "features": "nlpkit.features.run:text_feature_batches",
    "sentiment": "nlpkit.sentiment.run:sentiment_batches",
    "zero-shot": "nlpkit.zero_shot.run:zero_shot_batches",
}
Open = Callable[[Corpus], AbstractContextManager[Pass]]

# command → its records of options by name; a model is a path that must be given
RECORDS: dict[str, dict[str, Any]] = {
    "preprocess": {"tokens": DocumentTextOptions, "rows": RowOptions},
    "sbert-embed": {"options": SbertOptions, "kind": DocumentMethodOptions, "normalize": lambda: True},
    "predict": {"model": None, "options": PredictOptions},
    "features": {"options": TextFeatureOptions},
    "sentiment": {"options": SentimentOptions, "tokens": SentimentTextOptions, "gates": GateOptions},
    "zero-shot": {"options": ZeroShotOptions, "encoder": EncoderOptions, "gates": GateOptions},
    "spell": {"model": None, "options": SpellOptions},
}
ENCODES = ("sbert-embed", "predict", "zero-shot")  # which can use a GPU


@dataclass(frozen=True, slots=True)
class MapJob:
    """One command with its options, which can be done on any share of its documents. settings: see RECORDS."""

    command: str
    inputs: tuple[str, ...]
    read: ReadOptions
    execution: Execution
    settings: Mapping[str, Any]

    def check(self) -> None:
        """Refuse options by which what becomes of a document depends on all others.

        Raises:
            UsageError: there is one.
        """
        values = self.settings
        whole = {
            "method": self.command == "sbert-embed" and values["kind"].method != "sbert",
            "engine": self.command == "sbert-embed" and values["options"].static_sample() is not None,
            "bins": self.command == "features"
            and any(parse_bins(text).method != "edges" for text in values["options"].bins),
            "lex2sent": self.command == "sentiment" and values["options"].lex2sent,
            "dedupe": self.command == "preprocess" and values["rows"].dedupe is not None,
            "explain": self.command == "predict" and bool(values["options"].explain),
        }
        if self.command in ("sentiment", "zero-shot"):
            whole |= {f.name: getattr(values["gates"], f.name) != f.default for f in fields(GateOptions)}
        for name in [name for name, asked in whole.items() if asked]:
            raise UsageError(
                f"`{name}` of {self.command} needs all documents, and a part has only some; leave it out, or do not "
                "use parts",
                parameter=name,
            )

    def prepare(self) -> Open | None:
        """Return what opens a corpus for the command, with the model loaded; None for preprocess, which has none."""
        values, execution = dict(self.settings), self.execution
        match self.command:
            case "sbert-embed":
                from nlpkit.embed.run import checked_encoder, embed_batched

                encoder = checked_encoder(values["options"], execution) if values["kind"].method == "sbert" else None
                return partial(embed_batched, encoder=encoder, execution=execution, **values)
            case "predict":
                from nlpkit.predict.run import load

                return partial(
                    load(values["model"], execution).predict_batches, options=values["options"], execution=execution
                )
            case "features" | "sentiment" | "zero-shot":
                return partial(resolve_name(PASSES[self.command]), execution=execution, **values)
            case "spell":
                from nlpkit.lm.spelling_run import corrections

                return partial(corrections, values["model"], options=values["options"], execution=execution)
        return None

    def run(
        self,
        target: str,
        *,
        force: bool,
        prepared: Open | None = None,
        shard: str | None = None,
        scan: Scan | None = None,
    ) -> dict[str, Any]:
        """Do the work, on a share where there is one, and write the table; return the summary of the command, of a share
        the numbers of rows and of dropped rows.

        prepared: of `prepare`, where it was called before. scan: of all documents, where they have been read before.
        """
        read = self.read if shard is None else replace(self.read, shard=shard)
        corpus = replace(read_corpus(*self.inputs, options=read, beside=target), scan=scan)
        if self.command == "preprocess":
            tokens, rows = self.settings["tokens"], self.settings["rows"]
            if read.shard is None:
                from nlpkit.text.run import preprocess

                with preprocess(corpus, tokens=tokens, rows=rows, execution=self.execution) as documents:
                    return documents.save(target, force=force)
            from nlpkit.text.shards import write_preprocessed_shard

            return write_preprocessed_shard(
                corpus, target, tokens=tokens, rows=rows, execution=self.execution, force=force
            )
        opened = prepared or self.prepare()
        assert opened is not None
        with opened(corpus) as predictions:
            summary = predictions.save(target, force=force)
        if read.shard is None:
            return summary
        return {"rows": parquet_shape(Path(target))[0], "dropped": len(predictions.dropped)}

    def described(self) -> dict[str, Any]:
        """Return the job as JSON, to be compared with another."""
        parts = {"command": self.command, "inputs": self.inputs, "read": self.read, "seed": self.execution.seed}
        return dict(json.loads(json.dumps({**parts, "settings": dict(self.settings)}, default=_plain)))


def records_of(command: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a command, defaults where there are none."""
    records = RECORDS[command]
    unknown = sorted(settings.keys() - records.keys())
    if unknown:
        raise unknown_value("settings", unknown[0], tuple(records))
    missing = [name for name, default in records.items() if default is None and settings.get(name) is None]
    if missing:
        raise UsageError(f"`{missing[0]}` is needed for {command}", parameter=missing[0])
    return {name: default() if settings.get(name) is None else settings[name] for name, default in records.items()}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; collections without order are sorted."""
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)
