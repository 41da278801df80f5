"""A fine-tuned model as something that gives outputs for documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.patterns.seq2seq import ChoiceModel
from nlpkit.finetune.patterns.training import PatternEnsemble
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.network import Network, predict


@dataclass(slots=True)
class Predictor:
    """A model that predicts: a network, of SetFit a sentence encoder and a classifier, or models of patterns.

    columns: what it reads beside the text; form: of another program's folder, that program.
    """

    task: FinetuneTask
    columns: Mapping[str, Any]
    network: Network | None = None
    embedder: Any = None
    setfit: Any = None
    ensemble: PatternEnsemble | ChoiceModel | None = None
    form: str | None = None

    def check(self) -> None:
        """Raise InputError when weights are NaN or infinite, as of a damaged file: every document would get the first class."""
        parts = {} if self.network is None else {**dict(self.network.model.named_parameters()), **self.network.trained}
        if self.embedder is not None:
            parts |= self.embedder.parameters()
        if self.ensemble is not None:
            parts |= self.ensemble.parameters()
        heads = {} if self.setfit is None else self.setfit.linear.arrays()
        bad = [name for name, p in parts.items() if p.is_floating_point() and not bool(p.isfinite().all())]
        bad += [name for name, values in heads.items() if not np.isfinite(values).all()]
        if bad:
            raise InputError(f"the weights '{bad[0]}' of the model hold numbers that are not finite; train it again")

    def outputs(self, text_inputs: TextInputs, engine: Engine) -> tuple[Any, int]:
        """Return the outputs of all documents, and how many were longer than the window."""
        if self.ensemble is not None:
            scores, cut = self.ensemble.scores(text_inputs, engine)
            return scores, int((cut > 0).sum())
        if self.network is None:
            from nlpkit.finetune.setfit.embedder import embed_all

            texts = self.embedder.read(text_inputs.texts)
            return self.setfit.decision(embed_all(self.embedder, texts, engine)), int((texts.cut > 0).sum())
        inputs = text_inputs.inputs(self.network)
        outputs = predict(self.network, inputs, np.arange(len(text_inputs.texts)), engine)
        return outputs, int((inputs.cut > 0).sum())
