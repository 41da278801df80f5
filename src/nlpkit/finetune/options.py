"""The options of fine-tuning, as plain data: documents, model, method, training, hardware."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from nlpkit.embed.options import DEFAULT_ENCODER
from nlpkit.errors import UsageError
from nlpkit.finetune.methods import Method, parse_methods, users
from nlpkit.finetune.quantization import CODES, Quantization
from nlpkit.metrics.options import VOTES, AnnotatorsBy
from nlpkit.platform.options import FOLDER_WRITTEN, READ, Param, names_in, options

if TYPE_CHECKING:
    import torch

    from nlpkit.finetune.protocol import Protocol
    from nlpkit.finetune.tasks import TaskKind
    from nlpkit.finetune.training.train import Schedule

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
        from nlpkit.finetune.training.heads import pooling_of

        return replace(self, pooling=pooling_of(folder, self.pooling, kind))

    def schedule(self, method: Method, n: int, classes: int = 0) -> Schedule:
        """Return the schedule for n training documents: 3 epochs, more (at most 50) where these are fewer than 200 steps.

        Fine-tuning on few documents needs more steps than usual (Mosbach et al. 2021, §6; Zhang et al. 2021). With more classes
        than a batch has documents, most classes are in few batches, and the head learns them too slowly at the usual rate.

        Args:
            classes: among which the head chooses for a document; 0: it chooses for words, or gives a number.
        """
        from nlpkit.finetune.training.train import Schedule

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
        from nlpkit.finetune.training.train import Schedule

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


# ------------------------------------------------------------------------------------------------------------------------
# Options of fine-tuning as plain data: which documents, which model and method, how it is trained, on what hardware.

TASKS = ("auto", "classes", "labels", "ordinal", "regression", "words", "answers")
DEFAULT_WORDS = "words"
DEFAULT_OVERLAP = 128
Shots = str | int | Sequence[int | str | None] | None


def _plain_source(source: Any) -> str | None:
    """Return a file by name, None for none."""
    return None if source is None else str(source) if isinstance(source, str | Path) else "(in memory)"


@options
class HeldOutOptions:
    """Documents that decide when to stop, and those the model is scored on: files, corpora, or rows by a column."""

    PANEL: ClassVar[str] = "Data"

    test: Annotated[Path | Any | None, Param("Labelled documents to score the model on.", metavar="FILE")] = None
    dev: Annotated[
        Path | Any | None,
        Param("Labelled documents that decide when training stops.", metavar="FILE", excludes=("split",)),
    ] = None
    split: Annotated[
        str | None, Param("Column with the values train, dev and test.", metavar="COL", excludes=("test",))
    ] = None
    holdout: Annotated[
        float,
        Param(
            "Share of documents held out for testing if no other test is chosen.",
            metavar="SHARE",
            above=0,
            below=1,
            excludes=("test", "split"),
        ),
    ] = 0.2
    pair_col: Annotated[str | None, Param("Column with the second text of sentence pairs.", metavar="COL")] = None

    def scored_on(self) -> list[str]:
        """Return the options that say what the model is scored on, as messages name them."""
        return [f"`{name}`" for name in ("test", "split") if getattr(self, name) is not None]

    def name_of(self, split: str) -> str:
        """Return how messages name the test or dev documents."""
        source = getattr(self, split)
        if isinstance(source, str | Path):
            return f"`{split}={source}`"
        if source is not None:
            return f"`{split}`"
        return f"the {split} documents" + (f" of `split={self.split}`" if self.split is not None else "")


@options
class DatasetOptions(HeldOutOptions):
    """Documents that are learned from, their labels, and the documents the model is scored on."""

    cv: Annotated[
        int | None,
        Param(
            "Number of cross-validation folds.",
            metavar="K",
            min=2,
            excludes=("test", "split", "dev", "shots", "totals", "holdout"),
        ),
    ] = None
    shots: Annotated[
        Shots,
        Param("Number of training documents per class. A list such as 8,64,all is compared.", metavar="N,…"),
    ] = None
    totals: Annotated[
        Shots,
        Param(
            "Total number of training documents, with the classes in proportion. A list such as 10,100 is compared.",
            metavar="N,…",
            excludes=("shots",),
        ),
    ] = None
    task: Annotated[
        str,
        Param(
            "Kind of labels: classes, labels (several per document), ordinal (ordered classes), regression, words "
            "(a label for each word) or answers (to the question in `pair_col`). auto looks at the labels.",
            choices=TASKS,
        ),
    ] = "auto"
    order: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "All labels of `task=ordinal` from lowest to highest, such as bad,ok,good. Numbers need no order.",
            metavar="LABEL,…",
            needs=("task=ordinal",),
        ),
    ] = None
    annotators: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Columns with the labels of several coders (anna,ben,chiara). The model learns the shares of their "
            "labels (soft labels) instead of one label for each text.",
            metavar="COLS",
        ),
    ] = None
    annotators_by: AnnotatorsBy = VOTES
    unlabelled: Annotated[
        Path | Any | None,
        Param(f"Unlabelled texts, from which {users('unlabelled')} also learn.", metavar="FILE"),
    ] = None
    words_col: Annotated[
        str,
        Param("Column with lists of words, one label per word. Default: the text, split at spaces.", metavar="COL"),
    ] = DEFAULT_WORDS
    context: Annotated[
        int,
        Param(
            "Number of documents before and after each document that the model also reads.",
            metavar="N",
            min=0,
            excludes=("pair_col",),
        ),
    ] = 0
    context_by: Annotated[
        str | None,
        Param("Column whose change ends the context (such as a dialogue number).", metavar="COL", needs=("context",)),
    ] = None
    answer_start_col: Annotated[
        str | None,
        Param(
            "Column with the character position at which the answer starts, from 0. Default: its first occurrence.",
            metavar="COL",
            needs=("task=answers",),
        ),
    ] = None
    answer_tokens: Annotated[
        int, Param("Maximum number of tokens of an answer.", metavar="N", min=1, needs=("task=answers",))
    ] = 30
    overlap: Annotated[
        int,
        Param(
            "Number of tokens shared by neighbouring windows of a long text, for answers and words.",
            metavar="N",
            min=0,
        ),
    ] = DEFAULT_OVERLAP
    label_sep: Annotated[
        str | None,
        Param(
            "Separator of several labels in one cell, such as ';'. A column of lists needs none.",
            metavar="TEXT",
            filled=True,
        ),
    ] = None
    near_duplicates: Annotated[
        float,
        Param(
            "Similarity from which a test document is reported as a near-duplicate of a training document; 0 = "
            "no search.",
            ("near_duplicates", "twins"),
        ),
    ] = 0.9

    def __post_init__(self) -> None:
        """Raise UsageError for options that contradict each other."""
        if self.near_duplicates and not 0.3 <= self.near_duplicates <= 1:
            raise UsageError(
                f"`near_duplicates={self.near_duplicates:g}`: it must be a similarity from 0.3 to 1, or 0 for no search",
                parameter="near_duplicates",
            )
        if self.annotators is not None and (self.task not in ("auto", "classes") or self.label_sep is not None):
            raise UsageError(
                "`annotators` give soft labels of classes; leave `task` and `label_sep` out, or write one label "
                "per text with `majority()`",
                parameter="annotators",
            )
        if self.task == "answers" and self.pair_col is None:
            raise UsageError(
                "`task=answers` needs the questions to the texts; name their column with `pair_col`",
                parameter="pair_col",
            )
        self.sizes()

    @property
    def coders(self) -> list[str]:
        """The columns of coders, none where documents have one label."""
        return names_in(self.annotators)

    @property
    def labels_in_order(self) -> list[str]:
        """The labels of `order`; those of numbers are not listed."""
        return names_in(self.order)

    def scored_on(self) -> list[str]:
        """Return the options that say what the model is scored on, as messages name them."""
        return [f"`{name}`" for name in ("test", "split", "cv") if getattr(self, name) is not None]

    @property
    def by_total(self) -> bool:
        """Whether sizes are numbers of documents in all, not of each class."""
        return self.totals is not None

    @property
    def size_name(self) -> str:
        """The option that says how many documents are learned from."""
        return "totals" if self.by_total else "shots"

    def sizes(self) -> list[int | None]:
        """Return the sizes of the samples that are learned from (see `by_total`), None for all documents. Raises UsageError."""
        name, wanted = self.size_name, self.totals if self.by_total else self.shots
        items: list[Any] = (
            [wanted]
            if wanted is None or isinstance(wanted, int)
            else list(wanted.split(",") if isinstance(wanted, str) else wanted)
        )
        shown = wanted if isinstance(wanted, str | int) else ",".join(map(str, items))
        sizes: list[int | None] = []
        for item in items:
            text = "all" if item is None else str(item).strip()
            if text == "all":
                sizes.append(None)
            elif text.isdecimal() and int(text) > 0:
                sizes.append(int(text))
            else:
                counted = "in all" if self.by_total else "of a class"
                raise UsageError(
                    f"`{name}={shown}`: numbers of documents {counted} from 1 on, or all, are needed, such as 8,64,all",
                    parameter=name,
                )
        if len(set(sizes)) < len(sizes):
            raise UsageError(f"`{name}={shown}`: a number occurs twice", parameter=name)
        return sizes

    def plain(self) -> dict[str, Any]:
        """Return what manifests and checkpoints say of them, beside shots and task."""
        files = {name: _plain_source(getattr(self, name)) for name in ("test", "dev")}
        return {
            **files, "split": self.split, "cv": self.cv, "holdout": self.holdout, "pair_col": self.pair_col, "negative_col": None,
            "words_col": self.words_col, "context": self.context, "context_by": self.context_by, "label_sep": self.label_sep,
            "twins": self.near_duplicates, "order": self.labels_in_order,
            **({"annotators": self.coders, "annotators_by": self.annotators_by} if self.coders else {}),
            "answer_start_col": self.answer_start_col, "answer_tokens": self.answer_tokens, "overlap": self.overlap,
        }  # fmt: skip


@options
class FinetuneOptions:
    """The model that is fine-tuned, the method, and the report."""

    PANEL: ClassVar[str] = "Model"

    method: Annotated[
        str,
        Param(
            "Fine-tuning method: full, head, bitfit, lora, dora, ia3, prefix, prompt, pfeiffer, houlsby, parallel, "
            "compacter, compacter++, mam, unipelt, setfit, adasent, pet, ipet, petapter(lora) or tfew. Options go "
            "in brackets: lora(r=8,alpha=16). Several, or all, are compared. auto: setfit for few documents (lora "
            "with many classes), otherwise full.",
            metavar="NAME(…),…",
        ),
    ] = "auto"
    base: Annotated[str, Param("Model to fine-tune: a folder or a Hugging Face name.", metavar="MODEL"), READ] = (
        DEFAULT_ENCODER
    )
    quantize: Annotated[
        str | None,
        Param(
            "Precision of the frozen base for lora and other methods that add weights: nf4 (4 bits, QLoRA), or "
            "int8 (8 bits; faster on processors with AVX-512 VNNI).",
            metavar="nf4|int8",
            choices=CODES,
        ),
    ] = None
    double_quant: Annotated[
        bool,
        Param(
            "Also store the nf4 block scales in 8 bits: 0.13 instead of 0.5 bits per weight.", needs=("quantize=nf4",)
        ),
    ] = False
    crf: Annotated[
        bool,
        Param(
            "Add a linear-chain CRF over the labels of words. It chooses the most probable sequence; with BIO "
            "labels, only valid ones."
        ),
    ] = False
    patterns: Annotated[
        Path | Any | None,
        Param(f"Patterns and label words for {users('patterns')} (TOML).", metavar="FILE"),
    ] = None
    seeds: Annotated[
        int, Param("Number of trainings with consecutive seeds. Scores get a mean and a standard deviation.", min=1)
    ] = 1
    protocol: Annotated[
        str | None,
        Param(
            "Protocol of a comparison: majority(samples=5,repeats=5) trains 5 times on each of 5 samples of documents and "
            "takes the majority vote (Rieger et al. 2024).",
            metavar="NAME(…)",
        ),
    ] = None
    probabilities: Annotated[bool, Param("Add a column with the probability of each label.", panel="Output")] = False
    ci: Annotated[
        float, Param("Confidence level of the intervals; 0 = no intervals.", panel="Output", min=0, below=1)
    ] = 0.95
    merge: Annotated[
        bool, Param("Also save the whole model, with the lora or dora updates merged into its weights.", panel="Output")
    ] = False
    export: Annotated[
        Path | None,
        Param(
            "Also write the model to this folder for the setfit library. Its head is a pickle.",
            metavar="DIR",
            panel="Output",
        ),
        FOLDER_WRITTEN,
    ] = None

    def quantization(self) -> Quantization | None:
        """Return how the frozen base is stored, None for plain weights. Raises UsageError."""
        return None if self.quantize is None else Quantization(self.quantize, self.double_quant)

    def methods(self) -> list[Method] | None:
        """Return the methods; None for `auto`. Raises UsageError."""
        return None if self.method == "auto" else parse_methods(self.method)

    def repeated(self) -> Protocol | None:
        """Return the protocol of a comparison, None for none. Raises UsageError."""
        from nlpkit.finetune.protocol import parse_protocol

        if self.protocol is None:
            return None
        if self.seeds > 1:
            raise UsageError("`protocol` has samples and repeats of its own; leave `seeds` out", parameter="seeds")
        return parse_protocol(self.protocol)

    def compares(self, dataset: DatasetOptions) -> bool:
        """Whether several methods or sizes are compared, or one by a protocol. Raises UsageError."""
        return len(self.methods() or [None]) > 1 or len(dataset.sizes()) > 1 or self.protocol is not None

    def level(self) -> float | None:
        """Return the level of intervals, None for none. Raises UsageError when it is no level."""
        return self.ci or None
