"""The commands by name, imported when they are used: `nlpkit --help` needs their names and a line for each, no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import typer

from nlpkit.platform.cli.options import command, group
from nlpkit.platform.models import BUILT_IN, MODELS, resolved


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is, and the first line of its help.

    module: below nlpkit; it has a function <command>_cli, or HELP and a function for each member of a command with
    commands of its own; "" for a model, whose command follows from what it declares. tables: whether it has --show. front: its line on
    the front page of the help; "" where it is not there. place: among the commands that find topics.
    """

    module: str
    summary: str
    tables: bool = True
    members: tuple[str, ...] = ()
    front: str = ""
    place: int = 1000


_PANELS: dict[str, dict[str, Entry]] = {
    "Find topics": {  # with the models, which declare their commands themselves
        "rolling-lda": Entry("topics.rolling.command", "Fit a time series of LDA models and detect changes.", place=8),
        "compare": Entry(
            "evaluate.compare.command",
            "Compare topic models on one corpus, by number of topics and seed.",
            front="compare topic models on your texts",
        ),
    },
    "Read topics": {
        "report": Entry(
            "report.commands",
            "Write a self-contained HTML report of a run.",
            front="one HTML page for a run, works offline",
            tables=False,
        ),
        "topics": Entry(
            "topics.over_time.command",
            "Show topics over time, by group, and by their documents.",
            front="shares of topics over time and by group",
        ),
        "name": Entry(
            "topics.name.command",
            "Name topics by phrases, by hand, or with a language model.",
            front="better names: from phrases, people or an LLM",
            tables=False,
        ),
        "edit": Entry(
            "topics.edit.command",
            "Merge, split, rename or drop the topics of a run.",
            front="rename, merge, split or drop topics",
        ),
        "diff": Entry(
            "topics.diff.command",
            "Compare two runs: matched, split, merged, vanished and new topics.",
            front="what changed between two runs",
        ),
        "effects": Entry("topics.effects.command", "Estimate effects of variables on topics."),
        "plot": Entry("report.commands", "Draw one figure of a run: SVG, PDF or PNG.", tables=False),
        "export": Entry(
            "topics.export.commands", "Export topics to spreadsheets, Gephi, BERTopic, pyLDAvis or R.", tables=False
        ),
    },
    "Explore a corpus": {
        "stats": Entry(
            "explore.stats.command",
            "Count words and documents, and fit the laws of Zipf and Heaps.",
            front="counts of words and documents",
        ),
        "kwic": Entry(
            "explore.kwic.command",
            "Show every match of a pattern in its context.",
            front="a word or pattern in its context",
        ),
        "collocations": Entry(
            "explore.collocations.command",
            "Find word pairs that attract each other, or one word's collocates.",
            front="words that attract each other",
        ),
        "keyness": Entry(
            "weights.commands",
            "Find the words that distinguish two groups of documents.",
            front="words that distinguish two groups",
        ),
        "ctfidf": Entry("weights.commands", "Weight terms by class: the words that distinguish the classes."),
        "scale": Entry(
            "scale.command",
            "Place documents on a scale by Wordscores, Wordfish, LSS or an axis.",
        ),
        "similar": Entry(
            "explore.similar.command",
            "Find documents similar to a text, or to each other.",
            front="similar documents and near-duplicates",
            tables=False,
        ),
        "similar-words": Entry("words.commands", "Find words with a similar spelling.", tables=False),
        "cluster": Entry("cluster.command", "Cluster documents, or the rows of any table with numbers."),
    },
    "Classify texts": {
        "classify": Entry(
            "classify.command",
            "Train a classifier on labelled documents and score it.",
            front="train a classifier, from about 100 labels on",
        ),
        "finetune": Entry(
            "finetune.command",
            "Fine-tune a transformer on labelled documents, or compare methods.",
            front="tune a transformer, from 4 labels per class",
        ),
        "zero-shot": Entry(
            "zero_shot.command",
            "Label texts by label names alone, without training.",
            front="classify without labels, by names of classes",
        ),
        "sentiment": Entry("sentiment.command", "Score sentiment with a lexicon, without training."),
        "active": Entry(
            "annotate.active.commands",
            "Choose which texts to label next, and write a page for labelling.",
            front="choose which texts to label next",
        ),
        "active-curve": Entry("annotate.active.commands", "Compare active learning strategies with random choice."),
    },
    "Prepare texts": {
        "preprocess": Entry(
            "text.command",
            "Split texts into tokens, written to the column 'tokens'.",
            front="split texts into tokens",
            tables=False,
        ),
        "sbert-embed": Entry(
            "embed.command",
            "Compute sentence embeddings, written to the column 'embedding'.",
            front="sentence embeddings",
            tables=False,
        ),
        "tfidf": Entry("weights.tfidf_command", "Weight the terms of documents: tf-idf, BM25, LSA, PCA."),
        "features": Entry(
            "features.command", "Make a table of text features: counts, readability, lexicon words.", tables=False
        ),
    },
    "Check and reuse": {
        "evaluate": Entry(
            "evaluate.command",
            "Score topic models and predictions, and gate CI jobs.",
            front="scores, intervals and quality gates for CI",
        ),
        "annotate": Entry(
            "annotate.command",
            "Write tasks for coders, score their answers, and measure agreement.",
            front="tasks for people, and how far they agree",
            members=("task", "judge", "labels", "score", "agree", "majority"),
        ),
        "predict": Entry(
            "predict.command",
            "Apply a saved model to new documents.",
            front="apply a saved model to new texts",
        ),
        "info": Entry(
            "report.commands",
            "Show what a file or run directory holds and how it was made.",
            front="what a run or file contains",
        ),
        "convert": Entry("topics.export.commands", "Convert topics to and from MALLET, BERTopic, pyLDAvis and others."),
        "merge": Entry("shards.command", "Combine the parts of a table written with --shard.", tables=False),
    },
    "Word vectors and language models": {
        "embed-words": Entry("words.commands", "Learn word vectors: word2vec, fastText, GloVe, PMI-SVD, doc2vec."),
        "words": Entry(
            "words.commands",
            "Query word vectors: neighbours, analogies, similarity, odd one out.",
            members=("nearest", "analogy", "similarity", "odd-one-out", "bias", "drift", "plot"),
        ),
        "train-encoder": Entry("finetune.encoders.command", "Train a sentence encoder on texts, pairs or triplets."),
        "train-tokenizer": Entry("lab.commands", "Train a subword tokenizer: BPE, WordPiece or unigram."),
        "ngram-lm": Entry("lm.commands", "Fit an n-gram language model: Kneser-Ney, Witten-Bell, backoff, add-k."),
        "generate": Entry("lm.commands", "Write text with a language model.", tables=False),
        "spell": Entry("lm.commands", "Find and correct misspelled words with a language model.", tables=False),
        "pretrain": Entry("lab.commands", "Train a language model from scratch: LSTM, BERT, GPT-2, T5 and others."),
        "attention": Entry("lab.commands", "Show what a transformer attends to in a text, by layer and head."),
        "explain-transformer": Entry(
            "lab.commands",
            "Compute a transformer by hand, matrix by matrix.",
            tables=False,
        ),
    },
}
_TOPICS = "Find topics"
_ENTRIES = {name: entry for commands in _PANELS.values() for name, entry in commands.items()}


@cache
def panels() -> dict[str, dict[str, Entry]]:
    """Return the commands by task, with those of all models."""
    return _with_models(MODELS)


def _with_models(kinds: Iterable[str]) -> dict[str, dict[str, Entry]]:
    models = {k: Entry("", MODELS[k].summary, front=MODELS[k].front, place=MODELS[k].place) for k in kinds}
    topics = sorted((models | _PANELS[_TOPICS]).items(), key=lambda command: command[1].place)
    return _PANELS | {_TOPICS: dict(topics)}


class _Entries(Mapping[str, Entry]):
    """The commands by name, in the order of the help; models are asked when all of them are listed, or one is wanted."""

    def __getitem__(self, name: str) -> Entry:
        """Return a command. Raises KeyError."""
        return _ENTRIES[name] if name in _ENTRIES else panels()[_TOPICS][name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return (name for commands in panels().values() for name in commands)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(_ENTRIES) + len(MODELS)


COMMANDS: Mapping[str, Entry] = _Entries()
N_COMMANDS = len(_ENTRIES) + len(BUILT_IN)  # of nlpkit itself


def command_panels() -> dict[str, dict[str, str]]:
    """Return the names and summaries of the commands by task."""
    return {title: {name: entry.summary for name, entry in commands.items()} for title, commands in panels().items()}


def front_panels() -> dict[str, dict[str, str]]:
    """Return the commands of the front page by task, each with a few words; those of other distributions, slow to find, are not there."""
    entries = _with_models(BUILT_IN).items()
    fronts = {title: {name: e.front for name, e in commands.items() if e.front} for title, commands in entries}
    return {title: rows for title, rows in fronts.items() if rows}


class Commands(Mapping[str, Any]):
    """The commands as Typer has them; each is made when it is asked for, once in a process.

    further: commands that need no catalogue, such as `help`; they come last.
    """

    def __init__(self, further: Mapping[str, Any] | None = None) -> None:
        self._further = dict(further or {})

    def __getitem__(self, name: str) -> Any:
        return self._further[name] if name in self._further else _made(name)

    def __iter__(self) -> Iterator[str]:
        return iter([*COMMANDS, *self._further])

    def __len__(self) -> int:
        return len(COMMANDS) + len(self._further)


@cache
def _made(name: str) -> Any:
    app = typer.Typer(rich_markup_mode=None)
    if name not in _ENTRIES:
        command(app, name, resolved("nlpkit.topics.base.command:model_command")(MODELS[name]), tables=True)
    else:
        _add(app, name, _ENTRIES[name])
    compiled: Any = typer.main.get_group(app)
    return compiled.commands[name]


def _add(app: typer.Typer, name: str, entry: Entry) -> None:
    """Add a command of a module, or one with commands of its own."""
    module = import_module(f"nlpkit.{entry.module}")
    if entry.members:
        members = [(member, getattr(module, f"{member.replace('-', '_')}_cli")) for member in entry.members]
        group(app, name, module.HELP, members)
    else:
        command(app, name, getattr(module, f"{name.replace('-', '_')}_cli"), tables=entry.tables)
