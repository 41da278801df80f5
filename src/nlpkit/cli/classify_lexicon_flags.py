"""Options of `nlpkit classify --lexicon`: which list of words, how it scores, and which classes the scores become."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nlpkit.errors import UsageError
from nlpkit.parameters import READ_LIST, Param

if TYPE_CHECKING:
    from nlpkit.classify.lex2sent import Lex2SentOptions
    from nlpkit.classify.lexicon import Lexicon, SentimentClasses


@dataclass(frozen=True, slots=True)
class LexiconFlags:
    """Sentiment without labels."""

    lexicon: Annotated[
        str | None,
        Param(
            "No training: sentiment by a list of words: vader, afinn (afinn:da, afinn:emoticons), liu, a file of words and "
            "weights, or two lists, positive,negative.",
            metavar="NAME|FILE[,FILE]",
        ),
        READ_LIST,
    ] = None
    lexicon_cols: Annotated[
        str | None,
        Param("Columns of the file: word=…,weight=…,kind=…; kind says negation or intensifier.", metavar="ROLE=COL,…"),
    ] = None
    lexicon_score: Annotated[str, Param("sum of the weights; their mean; polarity = (P - N) / (P + N).")] = "sum"
    negation: Annotated[
        bool,
        Param("Turn the weights between a negation and the next punctuation mark."),
    ] = True
    negations: Annotated[
        Path | None,
        Param("Words that negate, one a line; default: lists for en and de.", metavar="FILE"),
    ] = None
    negation_reach: Annotated[
        int | None,
        Param("Turn at most the N words behind a negation.", metavar="N", min=1),
    ] = None
    neutral: Annotated[
        float | None,
        Param("Scores from -X to X are neutral.", metavar="X", min=0.0),
    ] = None
    zero: Annotated[str, Param("What a score of 0 is where there are two classes.", metavar="positive|negative")] = (
        "positive"
    )
    classes: Annotated[
        str | None,
        Param(
            "Names of the classes; default: as the labels have them, else negative,neutral,positive.",
            metavar="NEG,[NEU,]POS",
        ),
    ] = None
    lex2sent: Annotated[
        bool,
        Param("Score by how near a text is to either half of the lexicon in doc2vec spaces."),
    ] = False
    l2s_resamples: Annotated[
        int | None,
        Param("Models of Lex2Sent.", metavar="B", min=1),
    ] = None
    l2s_epochs: Annotated[str, Param("Epochs of its models.", metavar="N,…")] = "5,10,15"
    l2s_windows: Annotated[str, Param("Windows.", metavar="N,…")] = "5,10,15"
    l2s_sizes: Annotated[str, Param("Dimensions.", metavar="N,…")] = "64,128,256"
    l2s_resampling: Annotated[
        str, Param("bootstrap = words drawn from their text; shuffle = in another order; none.")
    ] = "bootstrap"
    l2s_min_count: Annotated[int, Param("Words that are rarer have no vector.", min=1)] = 5

    def check(self) -> None:
        """Raise UsageError for options that contradict each other, or that nothing would come of."""
        from nlpkit.classify.lex2sent import RESAMPLINGS
        from nlpkit.classify.lexicon import SCORES
        from nlpkit.classify.packages import is_package

        if self.lexicon_score not in SCORES:
            raise UsageError(f"--lexicon-score {self.lexicon_score}: there are {', '.join(SCORES)}")
        if self.l2s_resampling not in RESAMPLINGS:
            raise UsageError(f"--l2s-resampling {self.l2s_resampling}: there are {', '.join(RESAMPLINGS)}")
        if self.zero not in ("positive", "negative"):
            raise UsageError(f"--zero {self.zero}: positive or negative")
        own = {
            "--lexicon-score": self.lexicon_score != "sum", "--no-negation": not self.negation,
            "--negations": self.negations is not None, "--negation-reach": self.negation_reach is not None,
            "--lexicon-cols": self.lexicon_cols is not None,
        }  # fmt: skip
        given = [name for name, value in own.items() if value]
        if self.lexicon is not None and is_package(self.lexicon) and not self.lex2sent and given:
            raise UsageError(
                f"{', '.join(given)}: {self.lexicon} is scored by its own package and rules; give a list of words as a file to have "
                "them here"
            )
        if not self.negation and (self.negations is not None or self.negation_reach is not None):
            raise UsageError("--no-negation leaves --negations and --negation-reach without a use; leave one out")
        unused = [
            n
            for n, v in (("--lexicon-score", self.lexicon_score != "sum"), ("--negation-reach", self.negation_reach))
            if v
        ]
        if self.lex2sent and unused:
            raise UsageError(
                f"{', '.join(unused)}: Lex2Sent does not add weights up; leave it out, or leave out --lex2sent"
            )
        if not self.lex2sent:
            plain = LexiconFlags()
            names = ("l2s_resamples", "l2s_epochs", "l2s_windows", "l2s_sizes", "l2s_resampling", "l2s_min_count")
            changed = [n for n in names if getattr(self, n) != getattr(plain, n)]
            if changed:
                raise UsageError(f"--{changed[0].replace('_', '-')} belongs to --lex2sent; add it")

    def load(self) -> Lexicon:
        """Return the list of words. Raises InputError, ColumnError, MissingError and UsageError."""
        from nlpkit.classify.packages import is_package
        from nlpkit.io.lexica import opinion_lexicon, package_list, read_lexicon

        assert self.lexicon is not None
        if Path(self.lexicon).is_file():
            return read_lexicon([Path(self.lexicon)], self._columns())
        if is_package(self.lexicon):
            return read_lexicon([package_list(self.lexicon)], check=False)
        if self.lexicon == "liu":
            return opinion_lexicon()
        parts = [part.strip() for part in self.lexicon.split(",")]
        if len(parts) == 1 and not Path(parts[0]).suffix and "/" not in parts[0]:
            raise UsageError(f"--lexicon {self.lexicon}: neither a file nor one of vader, afinn, liu")
        return read_lexicon([Path(part) for part in parts], self._columns())

    def shown(self) -> str:
        """Return the lexicon as it is told of: the names of its files without their folders."""
        return ",".join(Path(part).name for part in (self.lexicon or "").split(","))

    def sentiment_classes(self) -> SentimentClasses | None:
        """Return the classes that were named."""
        from nlpkit.classify.lexicon import parse_classes

        return None if self.classes is None else parse_classes(self.classes)

    def lex2sent_options(self) -> Lex2SentOptions:
        """Return the parameters of Lex2Sent. Raises UsageError for what is no number."""
        from nlpkit.classify.lex2sent import Lex2SentOptions

        return Lex2SentOptions(
            _numbers(self.l2s_epochs, "--l2s-epochs"),
            _numbers(self.l2s_windows, "--l2s-windows"),
            _numbers(self.l2s_sizes, "--l2s-sizes"),
            self.l2s_resamples,
            self.l2s_resampling,
            self.l2s_min_count,
        )

    def _columns(self) -> dict[str, str]:
        from nlpkit.io.lexica import ROLES

        found: dict[str, str] = {}
        for part in (self.lexicon_cols or "").split(","):
            role, equals, name = (piece.strip() for piece in part.partition("="))
            if part.strip() and (not equals or not name or role not in ROLES):
                raise UsageError(f"--lexicon-cols takes {'=…, '.join(ROLES)}=…, got '{part}'")
            if part.strip():
                found[role] = name
        return found


def _numbers(text: str, option: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise UsageError(f"{option} takes whole numbers from 1 on, with commas between them, got '{text}'")
    return found
