"""Options of training a model itself, an encoder or a causal one: its objective, its base, and the columns that the objective reads."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.embed.options import DEFAULT_ENCODER
from nlpkit.errors import UsageError
from nlpkit.platform.options import READ, Param, options

_PAIR, _NEGATIVE, _ANSWERS = ("pair_col",), ("pair_col", "negative_col"), ("chosen_col", "rejected_col")
READS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # of each objective the columns beside the text, and those that it needs
    "mlm": ((), ()), "static": ((), ()), "sbert-softmax": (_PAIR, _PAIR), "cosine": (_PAIR, _PAIR), "mnrl": (_NEGATIVE, _PAIR),
    "triplet": (_NEGATIVE, _NEGATIVE), "sft": (("prompt_col",), ()), "dpo": (_ANSWERS, _ANSWERS),
}  # fmt: skip
MEANINGS = {
    "pair_col": "the second text of pairs", "negative_col": "the text unlike the first", "chosen_col": "the better answer",
    "rejected_col": "the worse answer",
}  # fmt: skip


@options
class TrainEncoderOptions:
    """Base and objective of encoder training."""

    PANEL: ClassVar[str] = "Model"

    objective: Annotated[
        str,
        Param(
            "Training objective: mlm, sbert-softmax, triplet, mnrl, cosine or static (fast token vectors that "
            "replace the base). For causal language models: sft (answers) or dpo (better and worse answers). "
            "Options go in brackets: triplet(margin=1).",
            metavar="NAME",
        ),
    ] = "mlm"
    base: Annotated[
        str,
        Param("Encoder to train: a folder or a Hugging Face name.", ("base", "model"), metavar="MODEL"),
        READ,
    ] = DEFAULT_ENCODER
    method: Annotated[
        str,
        Param(
            "Weights to train: full, or lora, as in lora(r=8,alpha=16). For encoders also dora and ia3.",
            metavar="NAME(…)",
        ),
    ] = "full"
    prompt_col: Annotated[
        str | None,
        Param("Column with the text before an answer, for the objective sft.", metavar="COL", panel="Data"),
    ] = None
    chosen_col: Annotated[
        str | None,
        Param("Column with the better answer to the text, for the objective dpo.", metavar="COL", panel="Data"),
    ] = None
    rejected_col: Annotated[
        str | None,
        Param("Column with the worse answer to the text, for the objective dpo.", metavar="COL", panel="Data"),
    ] = None
    negative_col: Annotated[
        str | None,
        Param("Column with a text unlike the first, for the objectives triplet and mnrl.", metavar="COL", panel="Data"),
    ] = None

    def columns(self, name: str, pair_col: str | None) -> dict[str, str | None]:
        """Return the columns that an objective reads beside the text, by the parameters that name them: of a second text, and a third.

        Raises:
            UsageError: one that it needs is missing, or one is given that it does not read.
        """
        named = {
            "pair_col": pair_col, "negative_col": self.negative_col, "prompt_col": self.prompt_col, "chosen_col": self.chosen_col,
            "rejected_col": self.rejected_col,
        }  # fmt: skip
        read, needed = READS[name]
        for parameter, column in named.items():
            if column is not None and parameter not in read:
                raise UsageError(f"`objective={name}` does not read `{parameter}`; leave it out", parameter=parameter)
            if column is None and parameter in needed:
                raise UsageError(
                    f"`objective={name}` needs the column of {MEANINGS[parameter]}: `{parameter}=COL`",
                    parameter=parameter,
                )
        return {parameter: named[parameter] for parameter in read}
