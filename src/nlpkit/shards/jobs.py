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

from nlpkit.errors import UsageError, unknown_value
from nlpkit.metrics.options import GateOptions
from nlpkit.platform.documents.corpus import Corpus, read_corpus
from nlpkit.platform.documents.inputs import Scan
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.artifacts import parquet_shape
from nlpkit.platform.runs.passes import Pass

# command → what opens its pass over a corpus; each stands with its capability, and nothing is loaded before it is needed
PASSES = {
    "preprocess": "nlpkit.text.run:preprocess",
    "sbert-embed": "nlpkit.embed.run:embed_batched",
    "predict": "nlpkit.predict.run:load",
    "spell": "nlpkit.lm.spelling_run:corrections",
    "features": "nlpkit.features.run:text_feature_batches",
    "sentiment": "nlpkit.sentiment.run:sentiment_batches",
    "zero-shot": "nlpkit.zero_shot.run:zero_shot_batches",
}
Open = Callable[[Corpus], AbstractContextManager[Pass]]

# command → its records of options by name, or a value; a model is a path that must be given
RECORDS: dict[str, dict[str, str | bool | None]] = {
    "preprocess": {"tokens": "nlpkit.text.options:DocumentTextOptions", "rows": "nlpkit.text.options:RowOptions"},
    "sbert-embed": {
        "options": "nlpkit.embed.options:SbertOptions",
        "kind": "nlpkit.embed.options:DocumentMethodOptions",
        "normalize": True,
    },
    "predict": {"model": None, "options": "nlpkit.predict.options:PredictOptions"},
    "features": {"options": "nlpkit.features.options:TextFeatureOptions"},
    "sentiment": {
        "options": "nlpkit.text.lexicon.options:SentimentOptions",
        "tokens": "nlpkit.text.lexicon.options:SentimentTextOptions",
        "gates": "nlpkit.metrics.options:GateOptions",
    },
    "zero-shot": {
        "options": "nlpkit.zero_shot.options:ZeroShotOptions",
        "encoder": "nlpkit.embed.options:EncoderOptions",
        "gates": "nlpkit.metrics.options:GateOptions",
    },
    "spell": {"model": None, "options": "nlpkit.lm.spelling:SpellOptions"},
}
BINS = "nlpkit.features.model:parse_bins"
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
            and any(resolve_name(BINS)(text).method != "edges" for text in values["options"].bins),
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
                checked = resolve_name("nlpkit.embed.run:checked_encoder")
                encoder = checked(values["options"], execution) if values["kind"].method == "sbert" else None
                return partial(resolve_name(PASSES[self.command]), encoder=encoder, execution=execution, **values)
            case "predict":
                model = resolve_name(PASSES[self.command])(values["model"], execution)
                return partial(model.predict_batches, options=values["options"], execution=execution)
            case "features" | "sentiment" | "zero-shot":
                return partial(resolve_name(PASSES[self.command]), execution=execution, **values)
            case "spell":
                opens = resolve_name(PASSES[self.command])
                return partial(opens, values["model"], options=values["options"], execution=execution)
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
                with resolve_name(PASSES[self.command])(
                    corpus, tokens=tokens, rows=rows, execution=self.execution
                ) as documents:
                    return dict(documents.save(target, force=force))
            written = resolve_name("nlpkit.text.shards:write_preprocessed_shard")(
                corpus, target, tokens=tokens, rows=rows, execution=self.execution, force=force
            )
            return dict(written)
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
    return {
        name: _default(default) if settings.get(name) is None else settings[name] for name, default in records.items()
    }


def _default(default: str | bool | None) -> Any:
    """Return the record of options that a text names, with its defaults; another value as it is."""
    return resolve_name(default)() if isinstance(default, str) else default


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; collections without order are sorted."""
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)
