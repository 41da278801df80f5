"""Options of how a transformer is trained, and on what."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from nlpkit.errors import UsageError
from nlpkit.parameters import Param, options

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from nlpkit.finetune.methods import Method
    from nlpkit.finetune.tasks import TaskKind
    from nlpkit.finetune.train import Schedule

LEAST_STEPS, MOST_EPOCHS, EPOCHS, BATCH_SIZE, WARMUP, WEIGHT_DECAY = 200, 50, 3, 16, 0.1, 0.01
TFEW_STEPS, TFEW_BATCH, TFEW_WARMUP = 1000, 8, 0.06
MANY_CLASSES_RATE = 2e-3  # of the head
MEAN_RATE, MEAN_MANY_CLASSES_RATE = 2e-3, 5e-3  # of a head on the mean of the tokens, a single layer


@options
class ScheduleOptions:
    """Length and rates of training; None: the method or the objective decides."""

    PANEL: ClassVar[str] = "Training"

    epochs: Annotated[
        int | None,
        Param("Passes over the training documents. Default: set by the method or objective.", min=1),
    ] = None
    max_steps: Annotated[int | None, Param("Maximum number of training steps.", min=1)] = None
    batch_size: Annotated[
        int | None, Param("Documents per training step. Default: 16; 32 for the objectives mlm and mnrl.", min=1)
    ] = None
    lr: Annotated[float | None, Param("Learning rate. Default: set by the method or objective.", above=0, below=10)] = (
        None
    )
    warmup: Annotated[
        float | None,
        Param(
            "Share of the steps in which the learning rate rises. Default: 0.1; 0.06 for the objective mlm.",
            min=0,
            max=1,
        ),
    ] = None
    weight_decay: Annotated[
        float | None, Param("Weight decay of AdamW. Default: 0.01; 0 for setfit.", min=0, below=1)
    ] = None
    patience: Annotated[
        int, Param("Stop after this many scores on the dev documents without improvement; 0 = never.", min=0)
    ] = 3
    max_tokens: Annotated[
        int | None,
        Param("Maximum number of tokens of a text that the model reads. Default: the model's window.", min=4),
    ] = None

    def check_patience(self, *, dev: bool) -> None:
        """Raise UsageError for a `patience` that was given, and is not 0, without dev documents."""
        if self.patience not in (0, ScheduleOptions().patience) and not dev:
            raise UsageError(
                "`patience` stops training by the scores on dev documents; name them with `dev`, or leave it out",
                parameter="patience",
            )

    def applied_to(self, schedule: Schedule) -> Schedule:
        """Return a schedule with what is set here."""
        wanted = {
            "epochs": self.epochs, "batch": self.batch_size, "rate": self.lr, "warmup": self.warmup, "weight_decay": self.weight_decay,
        }  # fmt: skip
        changes: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        return replace(schedule, max_steps=self.max_steps, patience=self.patience, **changes)


@options
class TrainingOptions(ScheduleOptions):
    """Settings of fine-tuning; what is None comes from the method. `class_weight="balanced"`: classes weigh alike."""

    head_lr: Annotated[
        float | None,
        Param(
            "Learning rate of the new classification head. Default: set by the method; 2e-3 if there are more "
            "classes than documents in a batch.",
            above=0,
            below=10,
        ),
    ] = None
    class_weight: Annotated[
        str,
        Param(
            "Class weights: none, or balanced (all classes count equally). setfit is balanced in any case if "
            "documents are few.",
            metavar="none|balanced",
            choices=("none", "balanced"),
        ),
    ] = "none"
    pooling: Annotated[
        str,
        Param(
            "Input of the new head: mean (of all tokens), or transformers (as in its classifiers; for BERT the "
            "first token). auto: mean if the base is a sentence encoder trained with it.",
            metavar="auto|mean|transformers",
        ),
    ] = "auto"
    calibrate: Annotated[bool, Param("Calibrate the probabilities with a temperature fitted on the dev documents.")] = (
        False
    )

    @property
    def balanced(self) -> bool:
        """Whether all classes weigh alike."""
        return self.class_weight == "balanced"

    def on(self, folder: Path, kind: TaskKind) -> TrainingOptions:
        """Return the settings for a base and a kind of task, with the `pooling` that auto comes to. Raises UsageError, see `pooling_of`."""
        from nlpkit.finetune.mean_head import pooling_of

        return replace(self, pooling=pooling_of(folder, self.pooling, kind))

    def schedule(self, method: Method, n: int, classes: int = 0) -> Schedule:
        """Return the schedule for n training documents: 3 epochs, more (at most 50) where these are fewer than 200 steps.

        Fine-tuning on few documents needs more steps than usual (Mosbach et al. 2021, §6; Zhang et al. 2021). With more classes
        than a batch has documents, most classes are in few batches, and the head learns them too slowly at the usual rate.

        Args:
            classes: among which the head chooses for a document; 0: it chooses for words, or gives a number.
        """
        from nlpkit.finetune.train import Schedule

        if method.name == "tfew":
            return self._tfew_schedule(method, n)
        kind, batch = method.kind, self.batch_size or BATCH_SIZE
        setfit = kind.family == "setfit"
        steps = max(1, math.ceil(n / batch))
        head_rate = kind.head_rate
        if "pooling" in kind.uses and not (kind.trains == "head" and self.lr is not None):  # which is its rate
            if self.pooling == "mean":
                head_rate = MEAN_MANY_CLASSES_RATE if classes > batch else max(MEAN_RATE, head_rate or kind.rate)
            elif classes > batch:
                head_rate = MANY_CLASSES_RATE
        usual = Schedule(
            epochs=min(MOST_EPOCHS, max(EPOCHS, math.ceil(LEAST_STEPS / steps))), batch=batch, rate=kind.rate,
            head_rate=self.head_lr or head_rate,
            warmup=WARMUP, weight_decay=0.0 if setfit else WEIGHT_DECAY,
        )  # fmt: skip
        return self.applied_to(usual)

    def _tfew_schedule(self, method: Method, n: int) -> Schedule:
        """Return the schedule of T-Few: 1,000 steps of 8, 60 of them warm-up (Liu et al. 2022, §3.1), scored 20 times at most."""
        from nlpkit.finetune.train import Schedule

        epochs = math.ceil(TFEW_STEPS / max(1, math.ceil(n / (self.batch_size or TFEW_BATCH))))
        plan = Schedule(epochs=epochs, batch=TFEW_BATCH, rate=method.kind.rate, warmup=TFEW_WARMUP, weight_decay=0.0)
        plan = self.applied_to(plan)
        plan = replace(plan, scores_per_epoch=min(1.0, 20 / plan.epochs))
        return plan if self.max_steps or self.epochs else replace(plan, max_steps=TFEW_STEPS)

    def plain(self, methods: Sequence[Method]) -> dict[str, Any]:
        """Return what manifests and checkpoints say of them; batch and warm-up are those of the methods, None where these differ."""
        plans = [self.schedule(method, 1) for method in methods]
        batches, warmups = {plan.batch for plan in plans}, {plan.warmup for plan in plans}
        return {
            "epochs": self.epochs, "max_steps": self.max_steps, "batch": batches.pop() if len(batches) == 1 else None, "rate": self.lr,
            "warmup": warmups.pop() if len(warmups) == 1 else None, "weight_decay": self.weight_decay, "patience": self.patience,
            "class_balance": self.balanced, "max_tokens": self.max_tokens, "head_rate": self.head_lr,
            "calibrate": self.calibrate, "pooling": self.pooling,
        }  # fmt: skip


@options
class HardwareOptions:
    """Where a model is trained, and whether the hub is asked for it."""

    PANEL: ClassVar[str] = "Run"

    device: Annotated[str | None, Param("Device: cpu, cuda or mps. Default: the fastest available.")] = None
    precision: Annotated[
        str,
        Param(
            "Precision of matrix products: fp32, bf16 or fp16. auto: bf16 on a GPU that supports it, otherwise fp32.",
            choices=("auto", "fp32", "bf16", "fp16"),
        ),
    ] = "auto"
    offline: Annotated[bool, Param("Never contact the Hugging Face hub.")] = False

    def chosen(self) -> tuple[torch.device, str]:
        """Return the device and the precision of products there; on a CPU `auto` is fp32. Raises UsageError for one that is not there."""
        from nlpkit.embed.hardware import choose_device, choose_precision

        device = choose_device(self.device)
        if self.precision == "auto" and device.type == "cpu":
            return device, "fp32"
        return device, choose_precision(self.precision, device)
