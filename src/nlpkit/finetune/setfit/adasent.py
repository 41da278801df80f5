"""AdaSent: an encoder learns the words of a domain, gets the adapter of sentence vectors, then SetFit (Huang et al. 2023, §3).

    DAPT   masked words of unlabelled texts of the domain, here through LoRA unless all weights are trained, added to the weights
    SEPT   an adapter that was trained on pairs of sentences in the encoder as it was before, put on the adapted one
    SetFit all weights, on the labelled texts

Of a base that is a sentence encoder already, the second step is left out: row R8 of their table 3.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from nlpkit.classify.dataset import Labels
from nlpkit.errors import UsageError, first_line
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.fit import fit_setfit
from nlpkit.finetune.methods import Method, parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.patterns.mlm import load_mlm, train_mlm
from nlpkit.finetune.patterns.training import Stages
from nlpkit.finetune.setfit.embedder import Embedder, load_embedder
from nlpkit.finetune.setfit.options import RATES, of_setfit
from nlpkit.finetune.trained import Trained, TrainingCallbacks
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import LogPoint, Schedule
from nlpkit.platform.types import LongArray

STAGE = "domain"
WARMUP = 0.06  # of masked words, as `train-encoder` has it
OnStep = Callable[[int, int, LogPoint | None], None]


def fit_adasent(
    folder: Path,
    method: Method,
    labels: Labels,
    text_inputs: TextInputs,
    *,
    unlabelled: TextInputs | None,
    train_rows: LongArray,
    dev_rows: LongArray,
    predict_rows: LongArray,
    training: TrainingOptions,
    engine: Engine,
    seed: int,
    stages: Stages,
    callbacks: TrainingCallbacks | None = None,
) -> Trained:
    """Return a sentence encoder with a classifier, trained on a domain and then on some documents, and logits for others.

    Args:
        folder: of the base model. unlabelled: texts of the domain, None: those of the documents to learn from.
        stages: where the training on the domain is kept; of `callbacks`, `state` and `save` are of SetFit.

    Raises:
        UsageError: a base that cannot learn masked words, or an adapter that does not fit it. Otherwise as `fit_setfit`.
    """
    callbacks, options, start = callbacks or TrainingCallbacks(), method.options, time.perf_counter()
    sept = sept_folder(str(options["sept"])) if options["sept"] else None
    embedder = load_embedder(folder, max_tokens=training.max_tokens, device=engine.device)
    if sept is not None:  # one that does not fit is refused before anything is trained
        load_embedder(folder, max_tokens=training.max_tokens, device=engine.device).add_adapter(sept)
    texts = unlabelled.texts if unlabelled is not None else [text_inputs.texts[d] for d in train_rows.tolist()]
    facts, earlier = _learn_domain(
        folder,
        embedder,
        texts,
        options,
        training=training,
        engine=engine,
        seed=seed,
        stages=stages,
        on_step=callbacks.on_step,
    )
    if sept is not None:
        embedder.add_adapter(sept)
    spent = earlier + time.perf_counter() - start
    done = int(facts["steps"])

    def counted_on(step: int, steps: int, point: LogPoint | None) -> None:
        callbacks.on_step(done + step, done + steps, point)

    setfit = Method("setfit", of_setfit(options))
    trained = fit_setfit(
        folder, setfit, labels, text_inputs, train_rows=train_rows, dev_rows=dev_rows, predict_rows=predict_rows, training=training,
        engine=engine, seed=seed, callbacks=replace(callbacks, on_step=counted_on), embedder=embedder,
    )  # fmt: skip
    return replace(trained, seconds=trained.seconds + spent, options={**options, **trained.options}, domain=facts)


def _learn_domain(
    folder: Path, embedder: Embedder, texts: Sequence[str], options: Mapping[str, Any], *, training: TrainingOptions, engine: Engine,
    seed: int, stages: Stages, on_step: OnStep,
) -> tuple[dict[str, Any], float]:  # fmt: skip
    """Train the body on masked words, or take it from the stages, and put it into an embedder; return facts and earlier seconds."""
    adapter, start = str(options["adapter"]), time.perf_counter()
    method = parse_method("full" if adapter == "full" else f"lora(r={options['r']},alpha={options['alpha']})")
    network = load_mlm(folder, device=engine.device, seed=seed, max_tokens=training.max_tokens, method=method)
    body = {name: p for name, p in network.trained.items() if name not in network.head}
    kept, earlier = stages.finished(STAGE), 0.0
    if kept is not None:
        facts, earlier = kept[0]["facts"], float(kept[0]["seconds"])
        with torch.no_grad():
            for name, parameter in body.items():
                parameter.copy_(torch.from_numpy(kept[1][name]))
    else:
        state = stages.state(STAGE)
        before = 0.0 if state is None else state.seconds
        plan = Schedule(
            epochs=int(options["mlm_epochs"]), batch=int(options["mlm_batch"]), rate=float(options["mlm_rate"]) or RATES[adapter],
            warmup=WARMUP, max_steps=training.max_steps,
        )  # fmt: skip
        outcome = train_mlm(
            network, texts, plan=plan, options={"share": options["share"], "head_steps": options["mlm_head_steps"], "head_rate": 1e-3},
            engine=engine, seed=seed, state=state, save=lambda now: stages.save(STAGE, now),
            on_step=lambda step, steps, point: on_step(step, steps + 1, point),  # SetFit's steps are still to come
        )  # fmt: skip
        head_steps = 0 if outcome.head is None else outcome.head.steps
        facts = {
            "texts": len(texts) - outcome.empty, "windows": outcome.windows, "head_is_new": network.head_is_new,
            "steps": head_steps + outcome.whole.steps, "loss": round(outcome.whole.curve[-1].loss, 6), "adapter": adapter,
            "parameters": sum(p.numel() for p in body.values()),
        }  # fmt: skip
        arrays = {name: p.detach().cpu().numpy() for name, p in body.items()}
        earlier = before
        stages.finish(STAGE, {"facts": facts, "seconds": before + time.perf_counter() - start}, arrays)
    network.merge()
    network.copy_body(embedder.model[0].model, folder)
    return facts, earlier


def sept_folder(path: str) -> Path:
    """Return the folder of a peft adapter that makes sentence vectors: that folder, or of a run `model/peft`.

    Raises:
        UsageError: it is neither, or an adapter of another kind than LoRA and its kin, which are added to weights.
    """
    folder = next(
        (place for place in (Path(path), Path(path) / "model" / "peft") if (place / "adapter_config.json").is_file()),
        None,
    )
    if folder is None:
        raise UsageError(
            f"adasent(sept={path}): no peft adapter found (a folder with adapter_config.json); train one: "
            "`train_encoder(PAIRS, objective=mnrl, method=lora)`",
            parameter="method",
        )
    try:
        kind = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8")).get("peft_type")
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(
            f"adasent(sept={path}): its adapter_config.json cannot be read ({first_line(error)})", parameter="method"
        ) from None
    if kind not in ("LORA", "IA3"):
        raise UsageError(
            f"adasent(sept={path}): the adapter must be lora, dora or ia3, which can be merged into the "
            f"weights; this is {kind}",
            parameter="method",
        )
    return folder
