"""Options of tokenizers and of training from scratch."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.embed.pooling import MODES
from nlpkit.errors import UsageError
from nlpkit.platform.options import READ, Param, options

TYPES = ("bpe", "wordpiece", "unigram")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
OBJECTIVES: dict[str, dict[str, int | float | str | bool]] = {  # with their options
    "clm": {}, "mlm": {}, "seq2seq": {}, "nsp": {}, "sop": {}, "electra": {"weight": 50.0},
    "distil": {"temperature": 2.0, "soft": 5.0, "hard": 2.0, "cosine": 1.0},
}  # fmt: skip
LEAST_VOCABULARY = len(SPECIAL) + 2


@options
class TokenizerOptions:
    """Kind and size of a tokenizer of subwords."""

    PANEL: ClassVar[str] = "Tokenizer"

    type: Annotated[
        str,
        Param(
            "Subword algorithm: bpe (merges bytes), wordpiece (merges characters, as BERT does) or unigram.",
            metavar="TYPE",
            choices=TYPES,
        ),
    ] = "bpe"
    vocab_size: Annotated[
        int, Param("Vocabulary size, including special tokens.", metavar="N", min=LEAST_VOCABULARY)
    ] = 8000
    lower: Annotated[bool, Param("Lowercase texts before tokenisation.", off="")] = False

    def __post_init__(self) -> None:
        """Raise UsageError for a vocabulary that is too small for the kind of tokenizer."""
        least = 256 + len(SPECIAL) if self.type == "bpe" else LEAST_VOCABULARY
        if self.vocab_size < least:
            raise UsageError(
                f"`vocab_size={self.vocab_size}`: {self.type} needs at least {least} tokens"
                + (", 256 for the bytes and 5 special ones" if self.type == "bpe" else ""),
                parameter="vocab_size",
            )


@options
class PretrainOptions:
    """Architecture, objective and tokenizer of a language model that is trained from scratch."""

    PANEL: ClassVar[str] = "Model"

    arch: Annotated[
        str,
        Param(
            "Architecture: ffnn, rnn, lstm, bilstm, gru, elmo, transformer, bert, gpt, mamba, s4, tokenformer, "
            "hymba or t5. Options go in brackets: lstm(layers=1,hidden=64).",
            metavar="NAME",
        ),
    ] = "gpt"
    objective: Annotated[
        str | None,
        Param(
            "Objective: clm (predict the next token), mlm (predict masked tokens), seq2seq (write a target) or "
            "distil(temperature=2). For bert also nsp, sop (with mlm) or electra(weight=50). Default: mlm for bert "
            "and bilstm, seq2seq for t5, otherwise clm.",
            metavar="NAME(…)",
        ),
    ] = None
    target_col: Annotated[
        str | None, Param("Column with the text to write, for the objective seq2seq.", metavar="COL", panel="Data")
    ] = None
    teacher: Annotated[
        str | None,
        Param("Run or folder of the teacher model, for the objective distil.", metavar="FOLDER"),
        READ,
    ] = None
    size: Annotated[
        str,
        Param(
            "Size: tiny (2 layers, width 128), mini (4 layers, width 256) or small (4 layers, width 512).",
            metavar="SIZE",
            choices=SIZES,
        ),
    ] = "tiny"
    tokenizer: Annotated[
        str,
        Param(
            "Tokenizer: bpe, wordpiece or unigram (trained on the corpus), or a folder with a tokenizer.",
            metavar="TOKENIZER",
        ),
        READ,
    ] = "wordpiece"
    vocab_size: Annotated[
        int, Param("Vocabulary size of a tokenizer trained here.", metavar="N", min=LEAST_VOCABULARY)
    ] = 4000
    holdout: Annotated[
        float, Param("Share of the documents held out to measure perplexity.", metavar="SHARE", above=0, below=1)
    ] = 0.1
    pooling: Annotated[
        str,
        Param(
            "How the model's token vectors become one text vector: mean, max, cls, lasttoken, weightedmean.",
            metavar="NAME",
            choices=MODES,
        ),
    ] = "mean"


# layers and width; tiny, mini and small are those of Turc et al. (2019)
SIZES = {"tiny": (2, 128), "mini": (4, 256), "small": (4, 512)}
