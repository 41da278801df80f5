"""What `nlpkit finetune` refuses of labelled documents before it trains: labels and parts from which nothing would come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from nlpkit import reporting, wording
from nlpkit.classify.splits import DEV, TEST
from nlpkit.errors import InputError
from nlpkit.types import LongArray

if TYPE_CHECKING:
    from nlpkit.cli.finetune_corpus import TuneDocuments
    from nlpkit.cli.finetune_flags import TuneDataFlags


def check_parts(documents: TuneDocuments, shots: int | None, data: TuneDataFlags) -> None:
    """Raise InputError where nothing is left to learn from, to test on, or where no test document has a label."""
    for train, test in documents.rounds:
        if not len(train):
            raise InputError(
                f"no document is left to learn from, {len(test):,} are the test; take a smaller --holdout, or name it with --test"
            )
        if any(documents.raw_labels[d] is not None for d in test.tolist()):
            continue
        if shots is not None and not len(test):
            raise InputError(
                f"--shots {shots} leaves no document to test on: no class has more; take fewer, or name the test with --test"
            )
        where = f"--test {data.test}" if data.test is not None else "the test"
        raise InputError(
            f"{where}: none of {wording.counted(len(test), 'document')} has a label, so nothing can be scored; "
            "name the column with --label-col"
        )


def keep_lonely(documents: TuneDocuments, rows: LongArray, data: TuneDataFlags) -> LongArray:
    """Return the documents that can be held out: of several labels, those whose labels are all of another document, too."""
    sizes = documents.labels.sizes(rows)
    lonely = np.asarray(sizes == 1)
    if not lonely.any():
        return rows
    named = ", ".join(f"'{documents.labels.names[j]}'" for j in np.flatnonzero(lonely)[:5].tolist())
    more = " …" if lonely.sum() > 5 else ""
    where = "in one fold there is nothing to learn from" if data.cv else "learned from, and not tested"
    reporting.warn(f"{wording.counted(int(lonely.sum()), 'label')} with a single document ({named}{more}): {where}")
    if data.cv:
        return rows
    assert documents.labels.sets is not None
    held = rows[~documents.labels.sets[rows][:, lonely].any(axis=1)]
    return held if len(held) >= 2 else rows


def refuse_lonely(documents: TuneDocuments, rows: LongArray) -> LongArray:
    """Return the rows. Raises InputError for a class of one document."""
    sizes = documents.labels.sizes(rows)
    lonely = [name for name, n in zip(documents.labels.names, sizes.tolist(), strict=True) if n == 1]
    if lonely:
        named = ", ".join(f"'{name}'" for name in lonely[:5]) + (" …" if len(lonely) > 5 else "")
        one = "label" if len(lonely) == 1 else "labels"
        raise InputError(
            f"{one} {named} {'has' if len(lonely) == 1 else 'have'} one document, which cannot be in training and test; "
            "add documents, take the label out, or give the test with --test"
        )
    return rows


def check_labels(documents: TuneDocuments, data: TuneDataFlags) -> None:
    """Raise InputError for labels of dev that training does not have, and for words whose labels are all alike."""
    where = f"--dev {data.dev}" if data.dev is not None else f"the dev documents of --split {data.split}"
    dev = np.flatnonzero(documents.split == (DEV if not documents.n_folds else -2))
    names = set(documents.tag_names if documents.kind == "tokens" else documents.labels.names)
    unseen = Counter({label: n for label, n in _labels_of(documents, dev).items() if label not in names})
    if unseen:
        named = ", ".join(f"'{v}' ({n:,})" for v, n in unseen.most_common(5))
        raise InputError(
            f"{where}: labels that no training document has: {named}; spell them alike, or add such documents to training"
        )
    _refuse_strange_test(documents, names, data)
    if len(dev) and not len(documents.dev):
        raise InputError(f"{where}: no document has a label")
    if documents.kind == "tokens" and len(documents.tag_names) < 2:
        raise InputError(f"all words have the label '{''.join(documents.tag_names)}'; two labels are needed")
    if documents.kind == "regression":
        assert documents.values is not None
        learn = documents.values[documents.train]
        if np.ptp(learn) == 0:
            raise InputError(f"all training documents have the value {learn[0]:g}; there is nothing to learn")
        with np.errstate(over="ignore"):
            spread = float(learn.std())
        if not np.isfinite(spread):
            raise InputError(
                f"the values of training documents go from {learn.min():g} to {learn.max():g}, too far apart to compute with; "
                "correct them, or leave the outliers out"
            )


def _refuse_strange_test(documents: TuneDocuments, names: set[str], data: TuneDataFlags) -> None:
    """Raise InputError for test documents of whose labels not one is in training: nothing can be predicted right."""
    given = _labels_of(documents, np.flatnonzero(documents.split == (TEST if not documents.n_folds else -2)))
    if given and not names & given.keys():
        where = f"--test {data.test}" if data.test is not None else "the test"
        raise InputError(
            f"{where}: no label of a document is one of training's: {_some(given)}, in training {_some(sorted(names))}; "
            "spell them alike, or name the column with --label-col"
        )


def _labels_of(documents: TuneDocuments, rows: LongArray) -> Counter[str]:
    """Return how often some documents, or their words, have each label; numbers are none."""
    found: Counter[str] = Counter()
    if documents.kind != "regression":
        for d in rows.tolist():
            own = documents.raw_labels[d]
            found.update(v for v in (own if isinstance(own, list) else [own]) if v is not None)
    return found


def _some(names: Iterable[str]) -> str:
    """Return the first names, quoted."""
    first = [f"'{name}'" for name in islice(names, 6)]
    return ", ".join(first[:5]) + (" …" if len(first) > 5 else "")
