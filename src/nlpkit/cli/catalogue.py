"""The commands by name, imported when they are used: `nlpkit --help` needs their names and a line for each, no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import typer

from nlpkit.cli.options import command, group


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is, and the first line of its help.

    module: below nlpkit.cli.commands; it has a function <command>_cli, or HELP and a function for each member of a command with
    commands of its own. tables: whether it has --show. front: its line on the front page of the help; "" where it is not there.
    """

    module: str
    summary: str
    tables: bool = True
    members: tuple[str, ...] = ()
    front: str = ""


PANELS: dict[str, dict[str, Entry]] = {
    "Find topics": {
        "bertopic": Entry("bertopic", "Find topics in documents.", front="topics from embeddings; finds their number"),
        "lda-gibbs": Entry(
            "lda_gibbs", "Fit LDA by collapsed Gibbs sampling.", front="LDA: several topics in each document"
        ),
        "stm": Entry(
            "stm",
            "Fit a structural topic model: topics with covariates, correlated topics without (STM, CTM).",
            front="topics that depend on author, party or date",
        ),
        "gsdmm": Entry(
            "gsdmm",
            "Fit a mixture model for short texts (GSDMM): each document has one topic.",
            front="topics of short texts, such as tweets",
        ),
        "biterm": Entry("biterm", "Fit a biterm topic model for short texts (BTM): each pair of words has one topic."),
        "nmf": Entry("nmf", "Factorise document-term weights into topics without negative numbers (NMF)."),
        "plsa": Entry("plsa", "Fit probabilistic latent semantic analysis (pLSA)."),
        "lda-online": Entry("lda_online", "Fit LDA by variational Bayes, batch by batch or on the whole corpus."),
        "rolling-lda": Entry("rolling_lda", "Fit a time series of LDA models over dates, with changes."),
        "dtm": Entry("dtm", "Fit a dynamic topic model: topics whose words drift over dates."),
        "hdp": Entry("hdp", "Fit a mixture of topics whose number is found with them (HDP)."),
        "hlda": Entry("hlda", "Fit a tree of topics that grows with the documents (hierarchical LDA)."),
        "author-topic": Entry(
            "author_topic",
            "Fit the author-topic model: which topics authors write about, also of documents by several.",
        ),
        "labeled-lda": Entry(
            "labeled_lda", "Fit labelled LDA: a topic for each label, and each document only uses those of its labels."
        ),
        "slda": Entry(
            "slda", "Fit supervised LDA (sLDA): topics that answer to a label of the documents, and predict it."
        ),
        "ctm": Entry(
            "ctm", "Fit a neural topic model from sentence embeddings (ZeroShotTM, CombinedTM) or words (ProdLDA)."
        ),
        "etm": Entry("etm", "Fit the embedded topic model (ETM): topics in the space of word vectors."),
        "fastopic": Entry(
            "fastopic",
            "Fit FASTopic: topics and words as vectors in the space of sentence embeddings, by optimal transport.",
        ),
        "compare": Entry(
            "compare",
            "Compare topic models on one corpus: each with several numbers of topics and seeds.",
            front="compare topic models on your texts",
        ),
    },
    "Read topics": {
        "report": Entry(
            "report",
            "Make one HTML page of a run that opens anywhere.",
            front="one HTML page for a run, works offline",
            tables=False,
        ),
        "topics": Entry(
            "topics",
            "Show the topics of a run over time, by group, and by their documents.",
            front="shares of topics over time and by group",
        ),
        "name": Entry(
            "name",
            "Name the topics of a run by phrases of their documents, by people, or by a language model.",
            front="better names: from phrases, people or an LLM",
            tables=False,
        ),
        "edit": Entry(
            "edit",
            "Merge, split, rename or drop the topics of a run.",
            front="rename, merge, split or drop topics",
        ),
        "diff": Entry(
            "diff",
            "Compare the topics of two runs: matched, split, merged, vanished, new.",
            front="what changed between two runs",
        ),
        "effects": Entry(
            "effects", "Estimate the effects of columns of documents on their topics, by a structural topic model."
        ),
        "plot": Entry("plot", "Draw one picture of a run for a paper: SVG, PDF or PNG.", tables=False),
        "export": Entry(
            "export", "Write the topics of a run for spreadsheets, Gephi, BERTopic, pyLDAvis or R.", tables=False
        ),
    },
    "Explore a corpus": {
        "stats": Entry(
            "stats", "Count words and documents; fit the laws of Zipf and Heaps.", front="counts of words and documents"
        ),
        "kwic": Entry(
            "kwic", "Show every match of a pattern in its context.", front="a word or pattern in its context"
        ),
        "collocations": Entry(
            "collocations",
            "Find collocations: pairs of words that attract each other, or the collocates of one word.",
            front="words that attract each other",
        ),
        "keyness": Entry(
            "keyness",
            "Find the words that distinguish two groups of documents.",
            front="words that distinguish two groups",
        ),
        "ctfidf": Entry("ctfidf", "Weigh terms by class: which words tell the classes apart."),
        "similar": Entry(
            "similar",
            "Find documents similar to a text, or to each other.",
            front="similar documents and near-duplicates",
            tables=False,
        ),
        "similar-words": Entry(
            "similar_words", "Compare words, or find those of a corpus nearest to them.", tables=False
        ),
        "cluster": Entry("cluster", "Cluster documents, or the rows of any table with numbers."),
    },
    "Classify texts": {
        "classify": Entry(
            "classify",
            "Train a classifier of labelled documents and score it.",
            front="train a classifier, from about 100 labels on",
        ),
        "finetune": Entry(
            "finetune",
            "Fine-tune a transformer on labelled documents, or compare methods.",
            front="tune a transformer, from 4 labels per class",
        ),
        "zero-shot": Entry(
            "zero_shot",
            "Give texts labels by their names alone: by embedding, inference, a prompt or a language model.",
            front="classify without labels, by names of classes",
        ),
        "sentiment": Entry("sentiment", "Score the sentiment of texts by a lexicon, without training."),
        "active": Entry(
            "active",
            "Choose the texts to label next, and write a page for the people who label them.",
            front="choose which texts to label next",
        ),
        "active-curve": Entry(
            "active_curve", "Compare strategies of active learning with random choice, on documents that are labelled."
        ),
    },
    "Prepare texts": {
        "preprocess": Entry(
            "preprocess",
            "Cut texts into tokens and write them as column 'tokens'.",
            front="split texts into tokens",
            tables=False,
        ),
        "sbert-embed": Entry(
            "sbert_embed",
            "Encode texts as sentence embeddings, column 'embedding'.",
            front="sentence embeddings",
            tables=False,
        ),
        "tfidf": Entry("tfidf", "Weigh the terms of documents: tf-idf, BM25, LSA, PCA."),
        "features": Entry(
            "features", "Make a table of text features: counts, shares, readability, words of a lexicon.", tables=False
        ),
    },
    "Check and reuse": {
        "evaluate": Entry(
            "evaluate",
            "Score topic models and predictions; gates for CI.",
            front="scores, intervals and quality gates for CI",
        ),
        "annotate": Entry(
            "annotate",
            "Write tasks for people, score their answers, and measure how far coders agree.",
            front="tasks for people, and how far they agree",
            members=("task", "judge", "labels", "score", "agree", "majority"),
        ),
        "predict": Entry(
            "predict",
            "Give new documents the topics, classes or probabilities of a saved model.",
            front="apply a saved model to new texts",
        ),
        "info": Entry(
            "info", "Say what a file or run directory holds and how it was made.", front="what a run or file contains"
        ),
        "convert": Entry("convert", "Write topic models for other programs, and read theirs."),
        "merge": Entry("merge", "Put the parts of a table together that a command wrote with --shard.", tables=False),
    },
    "Word vectors and language models": {
        "embed-words": Entry(
            "embed_words", "Learn vectors of words from documents: word2vec, fastText, GloVe, PMI-SVD, doc2vec."
        ),
        "words": Entry(
            "words",
            "Ask word vectors: neighbours, analogies, similarity, the word that does not belong.",
            members=("nearest", "analogy", "similarity", "odd-one-out", "bias", "drift", "plot"),
        ),
        "train-encoder": Entry(
            "train_encoder", "Train a sentence encoder on texts, pairs or triplets, for sbert-embed and bertopic."
        ),
        "train-tokenizer": Entry(
            "train_tokenizer", "Train a tokenizer of subwords: byte-pair encoding, WordPiece, unigram."
        ),
        "ngram-lm": Entry("ngram_lm", "Fit an n-gram language model: Kneser-Ney, Witten-Bell, backoff, add-k."),
        "generate": Entry("generate", "Write text by a language model: drawn, greedy or by beam search.", tables=False),
        "spell": Entry("spell", "Find misspelled words and what was meant, by a language model.", tables=False),
        "pretrain": Entry(
            "pretrain", "Train a language model from scratch: LSTM, ELMo, BERT, GPT-2, T5, Mamba, Hymba and others."
        ),
        "attention": Entry(
            "attention", "Show what a transformer looks at in a text: a map of each head in each layer."
        ),
        "explain-transformer": Entry(
            "explain_transformer",
            "Calculate a transformer by hand: every matrix of an encoder and a decoder layer, with its formula.",
            tables=False,
        ),
    },
}
COMMANDS = {name: entry for commands in PANELS.values() for name, entry in commands.items()}


def command_panels() -> dict[str, dict[str, str]]:
    """Return the names and summaries of the commands by task."""
    return {title: {name: entry.summary for name, entry in commands.items()} for title, commands in PANELS.items()}


def front_panels() -> dict[str, dict[str, str]]:
    """Return the commands of the front page by task, each with a few words."""
    panels = {title: {name: e.front for name, e in commands.items() if e.front} for title, commands in PANELS.items()}
    return {title: rows for title, rows in panels.items() if rows}


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
    entry = COMMANDS[name]
    module, app = import_module(f"nlpkit.cli.commands.{entry.module}"), typer.Typer(rich_markup_mode=None)
    if entry.members:
        group(
            app,
            name,
            module.HELP,
            [(member, getattr(module, f"{member.replace('-', '_')}_cli")) for member in entry.members],
        )
    else:
        command(app, name, getattr(module, f"{entry.module}_cli"), tables=entry.tables)
    compiled: Any = typer.main.get_group(app)
    return compiled.commands[name]
