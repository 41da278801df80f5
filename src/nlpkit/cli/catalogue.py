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
    commands of its own. tables: whether it has --show.
    """

    module: str
    summary: str
    tables: bool = True
    members: tuple[str, ...] = ()


PANELS: dict[str, dict[str, Entry]] = {
    "Text": {
        "preprocess": Entry("preprocess", "Split texts into tokens, written to the column 'tokens'.", tables=False),
        "sbert-embed": Entry(
            "sbert_embed", "Compute sentence embeddings, written to the column 'embedding'.", tables=False
        ),
        "embed-words": Entry("embed_words", "Learn word vectors: word2vec, fastText, GloVe, PMI-SVD, doc2vec."),
        "features": Entry(
            "features", "Make a table of text features: counts, readability, lexicon words.", tables=False
        ),
        "tfidf": Entry("tfidf", "Weight the terms of documents: tf-idf, BM25, LSA, PCA."),
        "ctfidf": Entry("ctfidf", "Weight terms by class: the words that distinguish the classes."),
        "stats": Entry("stats", "Count words and documents, and fit the laws of Zipf and Heaps."),
        "collocations": Entry("collocations", "Find word pairs that attract each other, or one word's collocates."),
        "kwic": Entry("kwic", "Show every match of a pattern in its context."),
        "words": Entry(
            "words",
            "Query word vectors: neighbours, analogies, similarity, odd one out.",
            members=("nearest", "analogy", "similarity", "odd-one-out", "bias", "drift", "plot"),
        ),
        "similar": Entry("similar", "Find documents similar to a text, or to each other.", tables=False),
        "similar-words": Entry("similar_words", "Find words with a similar spelling.", tables=False),
    },
    "Topics": {
        "bertopic": Entry("bertopic", "Find topics in documents."),
        "lda-gibbs": Entry("lda_gibbs", "Fit LDA by collapsed Gibbs sampling."),
        "lda-online": Entry("lda_online", "Fit LDA by variational Bayes, in batches or on the whole corpus."),
        "dtm": Entry("dtm", "Fit a dynamic topic model: topics whose words change over time."),
        "plsa": Entry("plsa", "Fit probabilistic latent semantic analysis (pLSA)."),
        "nmf": Entry("nmf", "Find topics by non-negative matrix factorisation (NMF)."),
        "gsdmm": Entry("gsdmm", "Fit a mixture model for short texts (GSDMM): one topic per document."),
        "hdp": Entry("hdp", "Fit HDP: LDA that also finds the number of topics."),
        "hlda": Entry("hlda", "Fit a tree of topics (hierarchical LDA)."),
        "biterm": Entry("biterm", "Fit a biterm topic model (BTM) for short texts."),
        "stm": Entry("stm", "Fit a structural topic model: topics that depend on covariates."),
        "slda": Entry("slda", "Fit supervised LDA (sLDA): topics that predict a label."),
        "author-topic": Entry(
            "author_topic",
            "Fit the author-topic model: topics that authors write about.",
        ),
        "labeled-lda": Entry("labeled_lda", "Fit labelled LDA: one topic for each label."),
        "effects": Entry("effects", "Estimate effects of variables on topics (structural topic model)."),
        "ctm": Entry("ctm", "Fit a neural topic model (ZeroShotTM, CombinedTM, ProdLDA)."),
        "etm": Entry("etm", "Fit the embedded topic model (ETM): topics based on word vectors."),
        "fastopic": Entry(
            "fastopic",
            "Fit FASTopic: topics from sentence embeddings by optimal transport.",
        ),
        "compare": Entry("compare", "Compare topic models on one corpus, by number of topics and seed."),
        "rolling-lda": Entry("rolling_lda", "Fit a time series of LDA models and detect changes."),
        "diff": Entry("diff", "Compare two runs: matched, split, merged, vanished and new topics."),
        "topics": Entry("topics", "Show topics over time, by group, and by their documents."),
        "edit": Entry("edit", "Merge, split, rename or drop the topics of a run."),
        "cluster": Entry("cluster", "Cluster documents, or the rows of any table with numbers."),
        "export": Entry("export", "Export topics to spreadsheets, Gephi, BERTopic, pyLDAvis or R.", tables=False),
        "convert": Entry("convert", "Convert topic models to and from MALLET, pyLDAvis and other formats."),
    },
    "Language models": {
        "ngram-lm": Entry("ngram_lm", "Fit an n-gram language model: Kneser-Ney, Witten-Bell, backoff, add-k."),
        "generate": Entry("generate", "Write text with a language model.", tables=False),
        "attention": Entry("attention", "Show what a transformer attends to in a text, by layer and head."),
        "explain-transformer": Entry(
            "explain_transformer",
            "Compute a transformer by hand, matrix by matrix.",
            tables=False,
        ),
        "train-tokenizer": Entry("train_tokenizer", "Train a subword tokenizer: BPE, WordPiece or unigram."),
        "pretrain": Entry(
            "pretrain",
            "Train a language model from scratch: LSTM, BERT, GPT-2, T5 and others.",
        ),
        "spell": Entry("spell", "Find and correct misspelled words with a language model.", tables=False),
    },
    "Classifiers and encoders": {
        "classify": Entry("classify", "Train a classifier on labelled documents and score it."),
        "sentiment": Entry("sentiment", "Score sentiment with a lexicon, without training."),
        "zero-shot": Entry(
            "zero_shot",
            "Label texts by label names alone, without training.",
        ),
        "active": Entry("active", "Choose which texts to label next, and write a page for labelling."),
        "active-curve": Entry("active_curve", "Compare active learning strategies with random choice."),
        "finetune": Entry("finetune", "Fine-tune a transformer on labelled documents, or compare methods."),
        "train-encoder": Entry("train_encoder", "Train a sentence encoder on texts, pairs or triplets."),
    },
    "Evaluation": {
        "evaluate": Entry("evaluate", "Score topic models and predictions, and gate CI jobs."),
        "annotate": Entry(
            "annotate",
            "Write tasks for coders, score their answers, and measure agreement.",
            members=("task", "judge", "labels", "score", "agree", "majority"),
        ),
    },
    "Saved models and files": {
        "predict": Entry("predict", "Apply a saved model to new documents.", tables=False),
        "name": Entry(
            "name",
            "Name topics by phrases, by hand, or with a language model.",
            tables=False,
        ),
        "plot": Entry("plot", "Draw one figure of a run: SVG, PDF or PNG.", tables=False),
        "report": Entry("report", "Write a self-contained HTML report of a run.", tables=False),
        "merge": Entry("merge", "Combine the parts of a table written with --shard.", tables=False),
        "info": Entry("info", "Show what a file or run directory holds and how it was made."),
    },
}
COMMANDS = {name: entry for commands in PANELS.values() for name, entry in commands.items()}


def command_panels() -> dict[str, dict[str, str]]:
    """Return the names and summaries of the commands by panel of the help."""
    return {title: {name: entry.summary for name, entry in commands.items()} for title, commands in PANELS.items()}


class Commands(Mapping[str, Any]):
    """The commands as Typer has them; each is made when it is asked for, once in a process."""

    def __getitem__(self, name: str) -> Any:
        return _made(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


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
