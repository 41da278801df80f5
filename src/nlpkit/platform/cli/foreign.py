"""Other programs' names for options and commands: each is understood, or answered with what to type instead.

Parts, in this order:
- Options and commands by the names that other programs have for them, and what to say of those that are not here.
- Options that are a command of their own now, or that a command cannot have: one line says what to type.
- How the parameters that messages name are written on the command line: `min_df=5` in Python is --min-df 5 here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from nlpkit.platform import wording
from nlpkit.platform.foreign_names import command_line, native_parameter, parameter_hint
from nlpkit.platform.models import MODELS


class ForeignOptions:
    """A command that takes --n-topics, --num-topics and the like for its own --k."""

    params: list[Any]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command line with the options as they are called here."""
        names = {p.name: p for p in self.params if p.param_type_name == "option"}
        spelled = {option for p in names.values() for option in (*p.opts, *p.secondary_opts)}
        end = args.index("--") if "--" in args else len(args)
        words = [_native(word, names, spelled) for word in args[:end]] + args[end:]
        parsed: list[str] = super().parse_args(ctx, words)  # type: ignore[misc]
        return parsed


def _native(word: str, names: dict[str, Any], spelled: Collection[str]) -> str:
    """Return an option as it is called here, every other word as it is."""
    option, equals, value = word.partition("=")
    if not option.startswith("--") or option in spelled:
        return word
    native = native_parameter(option[2:], names)
    if native is None:
        return word
    ours: str = next(name for name in names[native].opts if name.startswith("--"))
    return f"{ours}{equals}{value}"


def no_command(name: str, known: Collection[str]) -> str:
    """Return what to say of a command that is not here: the line that does it, or the commands spelled like it.

    Commands that begin with the name come first, then those that hold it or that it holds, then those of a similar spelling.
    """
    begin = [one for one in known if one.startswith(name)]
    held = [one for one in known if name in one or one in name] if len(name) > 2 else []
    likely = list(dict.fromkeys([*begin, *held])) or get_close_matches(name, known, n=3)
    line = command_line(name)
    if line is not None:
        return f"no such command '{name}'; use: {line}"
    if likely:
        return f"no such command '{name}'; did you mean {wording.listed(likely, 3)}? See: nlpkit help --all"
    return f"no such command '{name}'; search for it: nlpkit help {name}, or see all: nlpkit help --all"


# ------------------------------------------------------------------------------------------------------------------------
# Options that are a command of their own now, or that a command cannot have: one line says what to type.

SENTIMENT = (
    "lexicon", "lexicon-cols", "lexicon-score", "negation", "no-negation", "negations", "negation-reach", "neutral", "zero",
    "classes", "lex2sent", "l2s-resamples", "l2s-epochs", "l2s-windows", "l2s-sizes", "l2s-resampling", "l2s-min-count",
)  # fmt: skip
_ROLLING = (
    "--rolling", "--init", "--memory", "--memory-fallback", "--vocab-abs", "--vocab-rel", "--vocab-fallback", "--doc-abs",
    "--change-mixture", "--change-span", "--change-level",
)  # fmt: skip
RENAMED: dict[tuple[str, str], str] = {
    ("evaluate", "--make-task"): "nlpkit annotate task TARGET --kind KIND -o task.html",
    ("evaluate", "--items"): "nlpkit annotate task TARGET --items N -o task.html",
    ("evaluate", "--answers"): "nlpkit annotate score KEY --answers FILE",
    ("evaluate", "--annotators"): "nlpkit annotate agree TABLE --annotators COLS",
    ("evaluate", "--judgements"): "nlpkit annotate agree TABLE --judgements COLS",
    ("evaluate", "--measurement"): "nlpkit annotate agree TABLE --annotators COLS --measurement LEVEL",
    ("evaluate", "--order"): "nlpkit annotate agree TABLE --annotators COLS --order LABELS",
    ("evaluate", "--majority"): "nlpkit annotate majority TABLE --annotators COLS -o OUTPUT",
    ("bertopic", "--model"): "nlpkit predict RUN INPUT -o OUTPUT",
    ("classify", "--explain"): "nlpkit predict RUN INPUT --explain ID",
    ("classify", "--zero-shot"): "nlpkit zero-shot INPUT --labels NAMES -o OUTPUT",
    **dict.fromkeys(
        [("classify", f"--{option}") for option in SENTIMENT], "nlpkit sentiment INPUT --lexicon NAME|FILE -o OUTPUT"
    ),
    ("lda-gibbs", "--model"): "nlpkit predict RUN INPUT -o OUTPUT",
    ("lda-gibbs", "--update"): "nlpkit rolling-lda NEWER --update RUN -o LONGER/",
    **{("lda-gibbs", option): "nlpkit rolling-lda INPUT --chunks SPAN -o RUN/" for option in _ROLLING},
    ("lda-gibbs", "--from-mallet"): "nlpkit convert state.gz -o RUN/",
    ("lda-gibbs", "--save-state"): "nlpkit convert RUN -o state.gz, of a run with --save-assignments",
    ("lda-gibbs", "--save-pyldavis"): "nlpkit convert RUN -o lda.json, of a run with --save-assignments",
    ("lda-gibbs", "--labels"): "nlpkit labeled-lda INPUT --label-col COLUMN -o RUN/",
    ("lda-gibbs", "--authors"): "nlpkit author-topic INPUT --author-col COLUMN -o RUN/",
    ("finetune", "--model"): "nlpkit predict RUN INPUT -o OUTPUT",
    ("finetune", "--labels"): "nlpkit predict FOLDER INPUT --labels NAMES -o OUTPUT",
    ("finetune", "--objective"): "nlpkit train-encoder INPUT --objective NAME -o RUN",
    ("finetune", "--negative-col"): "nlpkit train-encoder INPUT --objective triplet --negative-col COL -o RUN",
}


NEVER_THERE = {
    ("lda-gibbs", "--labels"),
    ("lda-gibbs", "--authors"),
}  # what other programs, or people, call the new command


OF_PREPROCESS = (
    "--stem",
    "--lemma",
    "--phrases",
    "--dedupe",
    "--replace",
    "--html",
    "--spacy",
    "--min-length",
    "--keep",
)
READ_TOKENS = ("tfidf", "ctfidf", "keyness")  # beside the topic models


def new_spelling(command: str, option: str, words: Sequence[str] = ()) -> str | None:
    """Return what to say of an option that a command had before, or that models of other commands have; None for all others.

    Args:
        words: of the command line; the value that the option has there takes the place of COLUMN.
    """
    is_k = option in ("--k", "-k") or native_parameter(option, ("k",)) is not None
    if is_k and command in MODELS and MODELS[command].finds_number:
        return f"nlpkit {command} has no {option}: it {MODELS[command].finds_number}"
    new = RENAMED.get((command, option))
    if new is None:
        instead = parameter_hint(option)
        if instead is not None:
            return f"nlpkit {command} has no {option}; use {instead}"
        if option in OF_PREPROCESS and (command in MODELS or command in READ_TOKENS):
            return (
                f"nlpkit {command} has no {option}; it is an option of nlpkit preprocess, whose output {command} reads"
            )
        return None
    values = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    values += [after for word, after in pairwise(words) if word == option and not after.startswith("-")]
    if values:
        new = new.replace("COLUMN", shlex.quote(values[0]))
    is_none = "is not an option" if (command, option) in NEVER_THERE else "is no longer an option"
    return f"{option} {is_none} of nlpkit {command}; use: {new}"


# ------------------------------------------------------------------------------------------------------------------------
# How the parameters that messages name are written on the command line: `min_df=5` in Python is --min-df 5 here.

_PARAMETER = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]*))?`")
_CALL = re.compile(r"`([a-z][a-z0-9_]*)\(([^`]*)\)`")
_COMMANDS = {  # functions whose commands are not called as they are
    "agreement": "annotate agree", "compare_models": "compare", "correct_spelling": "spell", "embed": "sbert-embed",
    "estimate_effects": "effects", "fit_lda": "lda-gibbs", "fit_language_model": "ngram-lm", "majority": "annotate majority",
    "name_topics": "name", "propose_texts": "active", "score_answers": "annotate score", "text_features": "features",
    "train_classifier": "classify",
}  # fmt: skip
_known: dict[str, tuple[str, str]] = {}  # of all commands: parameter → the option, and what switches it off
_current: dict[str, tuple[str, str]] = {}  # of the command that runs


def option(name: str, field: str = "") -> str:
    """Return a name of the parameter `field` as an option; a single letter that is not the field's name is a short one."""
    return f"-{name}" if len(name) == 1 and name != field else f"--{name.replace('_', '-')}"


def declare(spellings: Mapping[str, tuple[str, str]]) -> None:
    """Take note of the options of a command: parameter → the option and what switches it off ("" where nothing does)."""
    for name, spelling in spellings.items():
        _known.setdefault(name, spelling)


def use(spellings: Mapping[str, tuple[str, str]]) -> None:
    """Write parameters as the options of this command, those it does not have as they are elsewhere."""
    _current.clear()
    _current.update(spellings)


def as_options(message: str, spellings: Mapping[str, tuple[str, str]] = _current) -> str:
    """Return a message with the parameters that stand between backticks as options of a command, by default of the one that runs.

    A call of a function there is written as its command: `preprocess(unit=sentence)` as nlpkit preprocess --unit sentence.
    """
    if "`" not in message:
        return message
    message = _CALL.sub(lambda match: _command(match[1], match[2]), message)
    return _PARAMETER.sub(lambda match: _spelled(match[1], match[2], spellings), message)


def _command(function: str, arguments: str) -> str:
    """Return a call as a command line whose options still stand between backticks; what is in capitals stands for a file."""
    parts = [part if part[0].isupper() else f"`{part}`" for part in arguments.split(", ") if part]
    return " ".join(("nlpkit", _COMMANDS.get(function) or function.removeprefix("fit_").replace("_", "-"), *parts))


def _spelled(name: str, value: str | None, spellings: Mapping[str, tuple[str, str]]) -> str:
    on, off = spellings.get(name) or _known.get(name) or (option(name, name), option(f"no_{name}"))
    if value is None or value == "True":
        return on
    if value == "False":
        return off or on
    return f"{on} {value.strip(chr(34))}"
