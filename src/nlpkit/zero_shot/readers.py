"""Labels of documents by a model that reads them: one of natural language inference, or a masked language model with a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.prediction_values import Predicted, joined
from nlpkit.embed.models import files_fingerprint, find_model
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, first_line, missing_extra
from nlpkit.finetune.foreign_files import foreign_task
from nlpkit.finetune.options import HardwareOptions
from nlpkit.platform import reporting, wording
from nlpkit.platform.options import Execution
from nlpkit.zero_shot.model import calibrated, entailed_labels, label_shares, words_of
from nlpkit.zero_shot.options import LABEL, NLI, TEXT, UNCALIBRATED, ZeroShotOptions

if TYPE_CHECKING:
    from nlpkit.finetune.training.engine import Engine

CHUNK = 1024  # texts that are read at a time
USED = ("device", "precision", "offline", "max_tokens")
Judge = Callable[[Sequence[str]], tuple[Predicted, int]]  # labels of texts, and how many of these were cut


@contextmanager
def model_labels(
    labels: Mapping[str, Sequence[str]], options: ZeroShotOptions, encoder: EncoderOptions, execution: Execution
) -> Iterator[ModelLabels]:
    """Return a context with labels by a model that reads texts. encoder: device, precision, offline and max_tokens.

    Raises:
        UsageError: options or labels that the model cannot use; MissingError: the model is not there or is none; InputError: it has no
            classes.
    """
    encoder.refuse_others(USED, f"labels by `by={options.by}` need no encoder; leave it out")
    hardware = HardwareOptions(encoder.device, encoder.precision, encoder.offline)
    try:
        from nlpkit.finetune.training.engine import Engine
    except ImportError:
        raise missing_extra("zero-shot", "neural") from None
    device, precision = hardware.chosen()
    files = find_model(str(options.model), offline=encoder.offline)
    with Engine(device, precision, threads=execution.n_threads()) as engine:
        judge, facts = (_nli if options.by == NLI else _prompt)(files.path, labels, options, encoder, engine)
        made_by = {"model": files.name, "model_sha256": files_fingerprint(files.path)}
        yield ModelLabels(judge, options, {**made_by, **facts})


class ModelLabels:
    """Labels by a model that reads each text."""

    reservation = UNCALIBRATED

    def __init__(self, judge: Judge, options: ZeroShotOptions, facts: Mapping[str, Any]) -> None:
        self._judge, self._options, self._facts = judge, options, facts
        self._empty = self._cut = 0

    def labelled(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, Predicted]]:
        """Yield documents and their labels. Raises InputError where they have no text."""
        yield from ((batch, self._predict(batch)) for batch in batches)

    def _predict(self, batch: pa.RecordBatch) -> Predicted:
        if "text" not in batch.schema.names:
            raise InputError(f"`by={self._options.by}` reads texts, and these documents have no column 'text'")
        texts = [text or "" for text in batch.column("text").to_pylist()]
        self._empty += sum(not text.strip() for text in texts)
        parts = []
        with reporting.progress("labels", len(texts)) as update:
            for start in range(0, len(texts), CHUNK):
                part, cut = self._judge(texts[start : start + CHUNK])
                parts.append(part)
                self._cut += cut
                update(len(part.decision))
        return joined(parts)

    def parameters(self) -> dict[str, Any]:
        """Return the model, the sentence and what else the labels depend on."""
        return {"by": self._options.by, "template": self._options.sentence, **self._facts}

    def summary(self) -> dict[str, int]:
        """Return the number of texts that were cut."""
        return {"documents_cut": self._cut}

    def report(self) -> None:
        """Say which texts the model could not read as they are."""
        if self._empty:
            reporting.note(f"{wording.counted(self._empty, 'document')} without text: predicted like any other")
        if self._cut:
            reporting.note(
                f"{wording.counted(self._cut, 'document')} longer than the window of the model: the end is not seen"
            )


def _nli(
    folder: Path, labels: Mapping[str, Sequence[str]], options: ZeroShotOptions, encoder: EncoderOptions, engine: Engine
) -> tuple[Judge, dict[str, Any]]:
    """Return what judges by inference between a text and a sentence about each label, and what that depends on."""
    from nlpkit.finetune.label_models import load_nli

    try:
        _, task = foreign_task(folder)
    except InputError as error:
        raise InputError(
            f"the model in {folder} has no classes, but needs the class 'entailment': {first_line(error).partition(';')[0]}",
            parameter="model",
        ) from None
    phrases, label_of = words_of(labels)
    hypotheses = [options.sentence.replace(LABEL, phrase) for phrase in phrases]
    model = load_nli(folder, task.names, device=engine.device, max_tokens=encoder.max_tokens)

    def judge(texts: Sequence[str]) -> tuple[Predicted, int]:
        entailment, contradiction, cut = model.logits(texts, hypotheses, engine)
        predicted = entailed_labels(entailment, contradiction, label_of, len(labels), multi_label=options.multi_label)
        return predicted, cut

    return judge, {"multi_label": options.multi_label}


def _prompt(
    folder: Path, labels: Mapping[str, Sequence[str]], options: ZeroShotOptions, encoder: EncoderOptions, engine: Engine
) -> tuple[Judge, dict[str, Any]]:
    """Return what judges by the word that a model puts into a sentence, and what that depends on."""
    from nlpkit.finetune.label_models import load_prompt

    words, label_of = words_of(labels)
    before, _, after = options.sentence.partition(TEXT)
    model = load_prompt(folder, (before, after), words, device=engine.device, max_tokens=encoder.max_tokens)
    shares = label_shares(model.without_content(engine), label_of, len(labels)).mean(axis=0)
    reference = shares if options.calibrate else np.ones(len(labels))

    def judge(texts: Sequence[str]) -> tuple[Predicted, int]:
        log_probs, cut = model.log_probs(texts, engine)
        return calibrated(label_shares(log_probs, label_of, len(labels)), reference), cut

    without_content = {name: round(float(p), 6) for name, p in zip(labels, shares, strict=True)}
    return judge, {"calibrate": options.calibrate, "without_content": without_content}
