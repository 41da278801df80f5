"""Options of fine-tuning as plain data: which documents, which model and method, how it is trained, on what hardware."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from nlpkit.embed.options import DEFAULT_ENCODER
from nlpkit.errors import UsageError
from nlpkit.evaluation.options import VOTES, AnnotatorsBy
from nlpkit.finetune.methods import Method, parse_methods, users
from nlpkit.finetune.quantization import CODES, Quantization
from nlpkit.parameters import FOLDER_WRITTEN, READ, Param, names_in, options

if TYPE_CHECKING:
    from nlpkit.finetune.protocol import Protocol

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
