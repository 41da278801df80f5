"""Options of `nlpkit finetune`: what is learned from, which model and method, how it is trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nlpkit.errors import UsageError
from nlpkit.parameters import FOLDER_WRITTEN, READ, Param

if TYPE_CHECKING:
    import torch

    from nlpkit.finetune.methods import Method

TASKS = ("auto", "classes", "labels", "regression", "words")
OBJECTIVES = ("mlm", "sbert-softmax", "triplet", "mnrl", "cosine")
FEW = 64  # documents of a class, on average; below, `auto` takes setfit


@dataclass(frozen=True, slots=True)
class TuneDataFlags:
    """Which documents are learned from, which decide when to stop, and which the model is scored on."""

    test: Annotated[
        Path | None,
        Param("Labelled documents to score the model on.", metavar="FILE"),
    ] = None
    dev: Annotated[
        Path | None,
        Param("Labelled documents that tell when to stop training.", metavar="FILE"),
    ] = None
    split: Annotated[
        str | None,
        Param("Column that says train, dev or test.", metavar="COL"),
    ] = None
    cv: Annotated[int | None, Param("Cross-validation in K folds.", metavar="K", min=2)] = None
    holdout: Annotated[
        float, Param("Without any of these: the share of documents that is the test.", metavar="SHARE")
    ] = 0.2
    shots: Annotated[
        str | None,
        Param("Learn from N documents of each class; 8,64,all compares, on one test.", metavar="N,…"),
    ] = None
    task: Annotated[
        str,
        Param(
            "classes, labels (several a document), regression, words (of --words-col, else between spaces); auto: by the labels. "
            "With --model: of a peft folder."
        ),
    ] = "auto"
    pair_col: Annotated[
        str | None,
        Param("A second text: sentence pairs; for encoders the text alike.", metavar="COL"),
    ] = None
    negative_col: Annotated[
        str | None,
        Param("--objective triplet, mnrl: a text unlike the first.", metavar="COL"),
    ] = None
    words_col: Annotated[
        str,
        Param("Lists of words, each with a label; the text, where there is no column of it.", metavar="COL"),
    ] = "words"
    context: Annotated[
        int,
        Param("Also show N documents before and after: [target] <sep> [before] <sep> [after].", metavar="N", min=0),
    ] = 0
    context_by: Annotated[
        str | None,
        Param("Context ends where this column changes.", metavar="COL"),
    ] = None
    label_sep: Annotated[
        str | None,
        Param("Several labels in a cell, apart by this: ';'. A column of lists needs no option.", metavar="TEXT"),
    ] = None
    twins: Annotated[
        float,
        Param("Test documents this similar to a training document are reported; 0: not looked for.", metavar="S"),
    ] = 0.9

    def check(self) -> None:
        """Raise UsageError for options that contradict each other."""
        given = [o for o, v in (("--test", self.test), ("--split", self.split), ("--cv", self.cv)) if v is not None]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} each say what the model is scored on; keep one")
        if self.cv is not None and (self.dev is not None or self.shots is not None):
            raise UsageError("--cv deals all documents into folds; leave --dev and --shots out")
        if self.split is not None and self.dev is not None:
            raise UsageError("--split and --dev both say which documents are dev; keep one")
        if not 0 < self.holdout < 1:
            raise UsageError(f"--holdout {self.holdout:g}: a share between 0 and 1 is needed")
        if self.twins and not 0.3 <= self.twins <= 1:
            raise UsageError(f"--twins {self.twins:g}: a similarity from 0.3 to 1 is needed, or 0 for none")
        if self.label_sep == "":
            raise UsageError("--label-sep needs the text between two labels, such as ';'")
        if self.task not in TASKS:
            raise UsageError(f"--task {self.task}: there are {', '.join(TASKS)}")
        if self.context and self.pair_col is not None:
            raise UsageError("--context and --pair-col each bring a second text; keep one")
        if self.context_by is not None and not self.context:
            raise UsageError("--context-by says where the context of --context ends; add --context 1")
        if given and self.holdout != TuneDataFlags().holdout:
            raise UsageError(f"{given[0]} says what the model is scored on; leave --holdout out")
        self.sizes()

    def sizes(self) -> list[int | None]:
        """Return the documents of each class to learn from, None for all. Raises UsageError."""
        found: list[int | None] = []
        for item in (self.shots or "all").split(","):
            text = item.strip()
            if text == "all":
                found.append(None)
            elif text.isdecimal() and int(text) > 0:
                found.append(int(text))
            else:
                raise UsageError(f"--shots {self.shots}: numbers of documents of a class, or all, such as 8,64,all")
        if len(set(found)) < len(found):
            raise UsageError(f"--shots {self.shots}: a number is there twice")
        return found


@dataclass(frozen=True, slots=True)
class TuneModelFlags:
    """Which model is trained, and by which method."""

    model: Annotated[
        Path | None,
        Param("Predict with this: a run, or a folder of transformers or peft.", metavar="RUN"),
    ] = None
    base: Annotated[str, Param("What is fine-tuned: a folder, or a name on the hub.", metavar="MODEL"), READ] = (
        "sentence-transformers/all-MiniLM-L6-v2"
    )
    method: Annotated[
        str,
        Param(
            "full, head, lora, dora, ia3, prefix, prompt, pfeiffer, houlsby, parallel, compacter, compacter++, mam, "
            "unipelt, setfit; with options, listed in README: lora(r=8,alpha=16). Several, or all, are compared. auto: setfit for few "
            "documents, else full.",
            metavar="NAME(…),…",
        ),
    ] = "auto"
    labels: Annotated[
        str | None,
        Param(
            "--model of peft, whose folder may have no names: those of its classes, in order.",
            metavar="NAME,…",
        ),
    ] = None
    objective: Annotated[
        str | None,
        Param("Train the encoder instead: mlm, sbert-softmax, triplet, mnrl, cosine.", metavar="NAME"),
    ] = None
    merge: Annotated[bool, Param("lora, dora: also the whole model with the updates in it.")] = False
    export: Annotated[
        Path | None,
        Param("setfit: also a folder the setfit library loads; its head is a pickle.", metavar="DIR"),
        FOLDER_WRITTEN,
    ] = None

    def check(self) -> None:
        """Raise UsageError for an objective there is not."""
        if self.objective is not None and self.objective.partition("(")[0] not in OBJECTIVES:
            raise UsageError(f"--objective {self.objective}: there are {', '.join(OBJECTIVES)}")

    def methods(self) -> list[Method] | None:
        """Return the methods; None for `auto`. Raises UsageError."""
        from nlpkit.finetune.methods import parse_methods

        return None if self.method == "auto" else parse_methods(self.method)


@dataclass(frozen=True, slots=True)
class TrainFlags:
    """How it is trained."""

    epochs: Annotated[
        int | None,
        Param("Default: 3, more where that is under 200 steps; of --objective 1, of mlm 3.", min=1),
    ] = None
    max_steps: Annotated[int | None, Param("End after so many steps.", min=1)] = None
    batch_size: Annotated[
        int | None,
        Param("Documents of a step; default: 16, of mlm and mnrl 32.", min=1),
    ] = None
    lr: Annotated[float | None, Param("Rate of learning; default: that of the method.")] = None
    head_lr: Annotated[
        float | None,
        Param("That of the new head; default: of the method, with more classes than a batch has documents 2e-3."),
    ] = None
    warmup: Annotated[
        float | None,
        Param("Share of the steps in which the rate grows; default: 0.1, of mlm 0.06."),
    ] = None
    weight_decay: Annotated[float | None, Param("Of AdamW; default: 0.01, of setfit 0.")] = None
    patience: Annotated[int, Param("With --dev: end after so many scores without a gain; 0: never.", min=0)] = 3
    class_weight: Annotated[str, Param("balanced gives each class the same weight.", metavar="none|balanced")] = "none"
    seeds: Annotated[int, Param("Train so many times, from --seed on: mean and deviation.", min=1)] = 1
    resume: Annotated[bool, Param("Go on from the checkpoint, if there is one.")] = False
    device: Annotated[str | None, Param("Device of the model: cpu, cuda or mps; default: the best there is.")] = None
    precision: Annotated[str, Param("auto, fp32, bf16 or fp16; auto: bf16 on a GPU that has it, else fp32.")] = "auto"
    max_tokens: Annotated[
        int | None,
        Param("Tokens of a text that the model sees; default: its own.", min=4),
    ] = None
    offline: Annotated[bool, Param("Never ask the hub.")] = False

    def check(self) -> None:
        """Raise UsageError for values that cannot be meant."""
        if self.class_weight not in ("none", "balanced"):
            raise UsageError(f"--class-weight {self.class_weight}: there are none, balanced")
        if self.precision not in ("auto", "fp32", "bf16", "fp16"):
            raise UsageError(f"--precision {self.precision}: there are auto, fp32, bf16, fp16")
        if self.lr is not None and not 0 < self.lr < 10:
            raise UsageError(f"--lr {self.lr:g}: a learning rate lies above 0 and below 10, such as 5e-5")
        if self.head_lr is not None and not 0 < self.head_lr < 10:
            raise UsageError(f"--head-lr {self.head_lr:g}: a learning rate lies above 0 and below 10, such as 1e-3")
        if self.warmup is not None and not 0 <= self.warmup <= 1:
            raise UsageError(f"--warmup {self.warmup:g}: a share from 0 to 1 is needed")
        if self.weight_decay is not None and not 0 <= self.weight_decay < 1:
            raise UsageError(f"--weight-decay {self.weight_decay:g}: a number from 0 to 1 is needed")

    def check_patience(self, *, dev: bool) -> None:
        """Raise UsageError for a --patience without dev documents."""
        if self.patience != TrainFlags().patience and not dev:
            raise UsageError(
                "--patience ends training by its scores on dev documents; give them with --dev, or leave it out"
            )

    def hardware(self) -> tuple[torch.device, str]:
        """Return the device and the precision of products there; on a CPU `auto` is fp32. Raises UsageError for one that is not there."""
        from nlpkit.embed.hardware import choose_device, choose_precision

        device = choose_device(self.device)
        if self.precision == "auto" and device.type == "cpu":
            return device, "fp32"
        return device, choose_precision(self.precision, device)


@dataclass(frozen=True, slots=True)
class TuneTellFlags:
    """What is told."""

    probabilities: Annotated[bool, Param("A column with the probability of every label by name.")] = False
    ci: Annotated[float, Param("Level of the intervals; 0 for none.")] = 0.95

    def level(self) -> float | None:
        """Return the level, None for no intervals. Raises UsageError when it is none."""
        from nlpkit.metrics.bootstrap import check_level

        return None if self.ci == 0 else check_level(self.ci)
