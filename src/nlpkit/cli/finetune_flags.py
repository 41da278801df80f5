"""Options of `nlpkit finetune`: what is learned from, which model and method, how it is trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nlpkit.cli.options import FOLDER_WRITTEN, READ
from nlpkit.errors import UsageError

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
        typer.Option(metavar="FILE", help="Labelled documents to score the model on.", show_default=False),
    ] = None
    dev: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labelled documents that tell when to stop training.", show_default=False),
    ] = None
    split: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column that says train, dev or test.", show_default=False),
    ] = None
    cv: Annotated[
        int | None, typer.Option(min=2, metavar="K", help="Cross-validation in K folds.", show_default=False)
    ] = None
    holdout: Annotated[
        float, typer.Option(metavar="SHARE", help="Without any of these: the share of documents that is the test.")
    ] = 0.2
    shots: Annotated[
        str | None,
        typer.Option(
            metavar="N,…",
            help="Learn from N documents of each class; 8,64,all compares, on one test.",
            show_default=False,
        ),
    ] = None
    task: Annotated[
        str,
        typer.Option(
            help="classes, labels (several a document), regression, words (of --words-col, else between spaces); auto: by the labels. "
            "With --model: of a peft folder."
        ),
    ] = "auto"
    pair_col: Annotated[
        str | None,
        typer.Option(
            metavar="COL", help="A second text: sentence pairs; for encoders the text alike.", show_default=False
        ),
    ] = None
    negative_col: Annotated[
        str | None,
        typer.Option(metavar="COL", help="--objective triplet, mnrl: a text unlike the first.", show_default=False),
    ] = None
    words_col: Annotated[
        str,
        typer.Option(
            metavar="COL", help="Lists of words, each with a label; the text, where there is no column of it."
        ),
    ] = "words"
    context: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Also show N documents before and after: [target] <sep> [before] <sep> [after]."
        ),
    ] = 0
    context_by: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Context ends where this column changes.", show_default=False),
    ] = None
    label_sep: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Several labels in a cell, apart by this: ';'. A column of lists needs no option.",
            show_default=False,
        ),
    ] = None
    twins: Annotated[
        float,
        typer.Option(
            metavar="S", help="Test documents this similar to a training document are reported; 0: not looked for."
        ),
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
        typer.Option(
            metavar="RUN",
            help="Predict with this: a run, or a folder of transformers, peft or setfit.",
            show_default=False,
        ),
    ] = None
    base: Annotated[
        str, typer.Option(metavar="MODEL", help="What is fine-tuned: a folder, or a name on the hub."), READ
    ] = "sentence-transformers/all-MiniLM-L6-v2"
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME(…),…",
            help="full, head, lora, dora, ia3, prefix, prompt, pfeiffer, houlsby, parallel, compacter, compacter++, mam, "
            "unipelt, setfit; with options, listed in README: lora(r=8,alpha=16). Several, or all, are compared. auto: setfit for few "
            "documents, else full.",
        ),
    ] = "auto"
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…",
            help="--model of peft or setfit, whose folder may have no names: those of its classes, in order.",
            show_default=False,
        ),
    ] = None
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Train the encoder instead: mlm, sbert-softmax, triplet, mnrl, cosine.",
            show_default=False,
        ),
    ] = None
    merge: Annotated[bool, typer.Option("--merge", help="lora, dora: also the whole model with the updates in it.")] = (
        False
    )
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="setfit: also a folder the setfit library loads; its head is a pickle.",
            show_default=False,
        ),
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
        typer.Option(
            min=1,
            help="Default: 3, more where that is under 200 steps; of --objective 1, of mlm 3.",
            show_default=False,
        ),
    ] = None
    max_steps: Annotated[int | None, typer.Option(min=1, help="End after so many steps.", show_default=False)] = None
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Documents of a step; default: 16, of mlm and mnrl 32.", show_default=False),
    ] = None
    lr: Annotated[
        float | None, typer.Option("--lr", help="Rate of learning; default: that of the method.", show_default=False)
    ] = None
    head_lr: Annotated[
        float | None,
        typer.Option(
            "--head-lr",
            help="That of the new head; default: of the method, with more classes than a batch has documents 2e-3.",
            show_default=False,
        ),
    ] = None
    warmup: Annotated[
        float | None,
        typer.Option(help="Share of the steps in which the rate grows; default: 0.1, of mlm 0.06.", show_default=False),
    ] = None
    weight_decay: Annotated[
        float | None, typer.Option(help="Of AdamW; default: 0.01, of setfit 0.", show_default=False)
    ] = None
    patience: Annotated[
        int, typer.Option(min=0, help="With --dev: end after so many scores without a gain; 0: never.")
    ] = 3
    class_weight: Annotated[
        str, typer.Option(metavar="none|balanced", help="balanced gives each class the same weight.")
    ] = "none"
    seeds: Annotated[int, typer.Option(min=1, help="Train so many times, from --seed on: mean and deviation.")] = 1
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.")] = False
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, mps; default: the best there is.", show_default=False)
    ] = None
    precision: Annotated[
        str, typer.Option(help="auto, fp32, bf16 or fp16; auto: bf16 on a GPU that has it, else fp32.")
    ] = "auto"
    max_tokens: Annotated[
        int | None,
        typer.Option(min=4, help="Tokens of a text that the model sees; default: its own.", show_default=False),
    ] = None
    offline: Annotated[bool, typer.Option("--offline", help="Never ask the hub.")] = False

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

    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="A column with the probability of every label by name.")
    ] = False
    ci: Annotated[float, typer.Option("--ci", help="Level of the intervals; 0 for none.")] = 0.95

    def level(self) -> float | None:
        """Return the level, None for no intervals. Raises UsageError when it is none."""
        from nlpkit.metrics.bootstrap import check_level

        return None if self.ci == 0 else check_level(self.ci)
