"""BERTScore by a local encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nlpkit import reporting, wording
from nlpkit.embed.models import find_model, weights_fingerprint
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import missing_extra
from nlpkit.evaluation.generation import TokenScores
from nlpkit.finetune.training_options import HardwareOptions
from nlpkit.types import FloatArray
from nlpkit.workflows.reference import EvaluationSettings

USED = ("encoder", "device", "precision", "offline", "max_tokens")  # options of embeddings


@contextmanager
def token_scores(settings: EvaluationSettings, encoder: EncoderOptions) -> Iterator[TokenScores]:
    """Return a context with what gives BERTScore of references and texts.

    Raises:
        UsageError: a layer or a number of tokens that the encoder does not have; MissingError: the encoder or an extra is not there.
    """
    hardware = HardwareOptions(encoder.device, encoder.precision, encoder.offline)
    try:
        from nlpkit.finetune.engine import Engine
        from nlpkit.finetune.token_vectors import bert_scores, load_token_encoder
    except ImportError:
        raise missing_extra("bertscore", "neural") from None
    device, precision = hardware.chosen()
    files = find_model(encoder.name, offline=encoder.offline)
    loaded = load_token_encoder(files.path, device=device, layer=settings.options.layer, max_tokens=encoder.max_tokens)
    idf = settings.options.token_idf
    parameters: dict[str, Any] = {
        "encoder": files.name, "encoder_sha256": weights_fingerprint(files.path), "layer": loaded.layer, "idf": idf,
    }  # fmt: skip
    with Engine(device, precision, threads=settings.threads) as engine:

        def score(references: Sequence[str], texts: Sequence[str]) -> tuple[FloatArray, dict[str, Any]]:
            scores, cut = bert_scores(loaded, references, texts, engine, idf=idf)
            if cut:
                reporting.note(f"{wording.counted(cut, 'pair')} longer than the window of the encoder: cut")
            return scores, parameters

        yield score
