"""Prior knowledge for topics on embeddings: read from columns and files before anything is encoded.

Parts, in this order:
- Names of topics from a text file.
- All that columns and options give: labels, names, seed words, groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.platform import reporting, wording
from nlpkit.topics.base.guide import Seeds, codes_of, groups_of, matching_terms, read_seed_words, without_groups
from nlpkit.topics.bertopic.guided import (
    NAME_SIMILARITY,
    WORD_SIMILARITY,
    PredefinedTopics,
    directions_of_names,
    directions_of_words,
    with_classes,
)
from nlpkit.topics.bertopic.guided_options import GuidedOptions
from nlpkit.zero_shot.model import prompts_of, prototypes
from nlpkit.zero_shot.options import COSINE, LABEL, TEMPLATES

if TYPE_CHECKING:
    from nlpkit.platform.types import BoolArray, Float32Array, IntArray, TokenTable

_PARAMETER = "topics_from"


def read_topic_names(path: Path) -> dict[str, list[str]]:
    """Return the topics of a file in its order, each with its descriptions: a line is `name` or `name: description | description`.

    Empty lines and those that begin with # are passed over.

    Raises:
        InputError: the file cannot be read, has no name, or one twice.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"names of topics {path}: cannot be opened ({error.strerror})", parameter=_PARAMETER) from None
    except UnicodeDecodeError:
        raise InputError(f"names of topics {path} is not UTF-8 text", parameter=_PARAMETER) from None
    topics: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        name, _, described = (part.strip() for part in line.partition(":"))
        if not name or name.startswith("#"):
            continue
        if name in topics:
            raise InputError(f"{path}:{number}: the topic '{name}' occurs twice", parameter=_PARAMETER)
        topics[name] = [text.strip() for text in described.split("|") if text.strip()]
    if not topics:
        raise InputError(f"names of topics {path}: there is none; write one a line", parameter=_PARAMETER)
    return topics


# ------------------------------------------------------------------------------------------------------------------------
# Prior knowledge for topics on embeddings: read from the columns of documents before anything is encoded.

REFERENCE = TEMPLATES[COSINE].replace(LABEL, "something")


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known before a fit of D documents.

    labels (D,): classes that pull topics, -1 for none. names: topics that are given, with their descriptions; seeds: those given by
    words. least: how similar to a given topic a document must be. groups (D,): what topics are not to mirror,
    -1 for none. Each is None where it is not known.
    """

    labels: IntArray | None = None
    names: dict[str, list[str]] | None = None
    seeds: tuple[Seeds, ...] | None = None
    least: float | None = None
    groups: IntArray | None = None

    def rows(self, embeddings: Float32Array, *, threads: int) -> Float32Array | None:
        """Return the rows (D, F) that are clustered in place of the embeddings (D, E), None for these."""
        if self.groups is None and self.labels is None:
            return None
        rows = embeddings if self.groups is None else without_groups(embeddings, self.groups)
        return rows if self.labels is None else with_classes(rows, self.labels, threads=threads)

    def predefined(self, words: TokenTable, encode: Callable[[list[str]], Float32Array]) -> PredefinedTopics | None:
        """Return the topics that are given, None where there are none.

        Args:
            encode: gives the embeddings of texts by the model of the documents.

        Raises:
            InputError: no seed word is a term of the corpus.
        """
        if self.names is not None:
            texts, topic_of = prompts_of(self.names)
            vectors = encode([*texts, REFERENCE])
            directions = directions_of_names(prototypes(vectors[:-1], topic_of, len(self.names)), vectors[-1:])
            return PredefinedTopics(
                tuple(self.names), lambda X, counts: directions, NAME_SIMILARITY if self.least is None else self.least
            )
        if self.seeds is not None:
            terms = _seed_terms(self.seeds, words.terms)
            names = tuple(seed.name for seed in self.seeds)
            return PredefinedTopics(
                names, partial(directions_of_words, seeds=terms), WORD_SIMILARITY if self.least is None else self.least
            )
        return None


def knowledge_of(
    table: pa.Table,
    guide: GuidedOptions,
    usable: BoolArray,
    *,
    where: str,
    label_col: str,
    encoder_known: bool,
) -> Knowledge:
    """Return what is known of documents and topics, and say how many labels there are.

    Args:
        usable: (D,) whether a document has text. where: name of the inputs; label_col: name of the labels there.
        encoder_known: whether it is known, or chosen now, what makes the embeddings.

    Raises:
        ColumnError, InputError: a column or a file is not there or says nothing, or names cannot be embedded.
    """
    groups = None
    if guide.debias is not None:
        groups = groups_of(table, guide.debias, usable, where=where)
    if guide.topics_from is not None:
        names = read_topic_names(guide.topics_from)
        if not encoder_known:
            raise InputError(
                "the column 'embedding' does not record its model, so names of topics cannot be embedded in the "
                "same way. Set `encoder` to compute the embeddings again, compute them with `embed()`, or "
                "give `seed_words`",
                parameter="topics_from",
            )
        return Knowledge(names=names, least=guide.least_similarity, groups=groups)
    if guide.seed_words is not None:
        seeds = read_seed_words(guide.seed_words)
        if any(seed.weight != 1 for seed in seeds):
            raise InputError(
                f"seed words {guide.seed_words}: weights only apply to `fit_lda()`; leave them out here",
                parameter="seed_words",
            )
        return Knowledge(seeds=seeds, least=guide.least_similarity, groups=groups)
    if not guide.semi_supervised:
        return Knowledge(groups=groups)
    labels = codes_of(table, "label", usable, shown=label_col, parameter="label_col", where=where)
    reporting.note(
        f"semi-supervised: the labels of {(labels >= 0).sum():,} of {wording.counted(len(labels), 'document')} pull "
        f"topics towards {labels.max() + 1} classes; scores against '{label_col}' are only fair for the other "
        "documents"
    )
    return Knowledge(labels, groups=groups)


def _seed_terms(seeds: Sequence[Seeds], terms: Sequence[str]) -> list[list[int]]:
    """Return the terms that the seed words of each topic are, and say which words are none. Raises InputError where none is one."""
    number = {term: i for i, term in enumerate(terms)}
    missing: list[str] = []
    matched: list[list[int]] = []
    for seed in seeds:
        hits = {word: matching_terms(word, terms, number) for word in seed.words}
        missing += [word for word, ids in hits.items() if not ids]
        matched.append(sorted({i for ids in hits.values() for i in ids}))
    if not any(matched):
        raise InputError(
            f"none of the seed words is a term of the corpus ({wording.listed(missing, 5)}); terms are as `preprocess()` writes "
            "them: see `stats()`, or use a pattern such as econom*",
            parameter="seed_words",
        )
    if missing:
        reporting.warn(f"seed words that do not occur in the corpus: {wording.listed(missing, 10)}")
    return matched


def note_predefined(predefined: PredefinedTopics, size: IntArray) -> None:
    """Say how many documents the topics that were given have, and which have none.

    Args:
        size: (K,) documents of each topic.
    """
    J = len(predefined.names)
    reporting.note(
        f"{wording.counted(int(size[:J].sum()), 'document')} in the {wording.counted(J, 'topic')} given (cosine "
        f"{predefined.least:g} or more), {size[J:].sum():,} in {wording.counted(len(size) - J, 'further topic')} "
        "(`least_similarity` changes the limit)"
    )
    empty = [name for name, n in zip(predefined.names, size, strict=False) if not n]
    if empty:
        reporting.warn(
            f"{wording.counted(len(empty), 'topic')} given but without documents, kept with size 0: "
            f"{wording.listed(empty, 10)}"
        )
