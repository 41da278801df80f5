"""The checks of labelled documents before training: overlaps of splits, and labels that nothing can be learned from.

Parts, in this order:
- Documents that are in two splits, or nearly: what makes scores too good.
- Labels and splits that nothing can be learned from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from nlpkit.classify.dataset import DEV, TEST, TRAIN
from nlpkit.errors import InputError
from nlpkit.finetune.data.dataset import FinetuneDataset, first_names
from nlpkit.finetune.options import DatasetOptions
from nlpkit.finetune.tasks import CLASSES
from nlpkit.finetune.training.crf import breaks_bio
from nlpkit.metrics.labels.spans import are_bio
from nlpkit.platform import reporting, wording
from nlpkit.platform.types import LongArray
from nlpkit.text.duplicates import NearDuplicates, find_near_duplicates


def find_overlap(
    dataset: FinetuneDataset, threshold: float, *, split: int = TEST, among: int = TRAIN
) -> NearDuplicates | None:
    """Return test documents that are near-duplicates of training documents; of pairs and words they are not looked for.

    Args:
        split, among: other splits to compare; in cross-validation each fold is, with all others.
    """
    if not threshold or dataset.words is not None or dataset.second is not None:
        return None
    texts = dataset.table.column("text")
    if dataset.n_folds:
        return find_near_duplicates(texts, dataset.split.astype(np.int32), threshold=threshold)
    both = np.select([dataset.split == among, dataset.split == split], [0, 1], -1)
    duplicates = find_near_duplicates(texts, both.astype(np.int32), threshold=threshold)
    return NearDuplicates(
        np.where(both == 1, duplicates.nearest, -1).astype(np.int32), duplicates.similarity, duplicates.n_unresolved
    )


def overlap_notes(dataset: FinetuneDataset, duplicates: NearDuplicates | None, threshold: float) -> list[str]:
    """Return sentences about test documents that are in training as well, and dev documents that are there or in the test."""
    notes = []
    rows = np.zeros(0, np.int64) if duplicates is None else np.flatnonzero(duplicates.nearest >= 0)
    if duplicates is not None and len(rows):
        n_tested = sum(len(test) for _, test in dataset.rounds)
        same = sum(dataset.raw_labels[d] == dataset.raw_labels[duplicates.nearest[d]] for d in rows.tolist())
        notes.append(f"{_near_duplicates(len(rows), n_tested, 'test', 'training')} ({same:,} with the same label)")
    for split, among, name, other in ((DEV, TRAIN, "dev", "training"), (TEST, DEV, "test", "dev")):
        between = find_overlap(dataset, threshold, split=split, among=among) if len(dataset.dev) else None
        n = 0 if between is None else int((between.nearest >= 0).sum())
        if n:
            why = (
                "dev scores are too good, and end training late"
                if split == DEV
                else "training ended where these were best"
            )
            notes.append(f"{_near_duplicates(n, int((dataset.split == split).sum()), name, other)}: {why}")
    return notes


def _near_duplicates(n: int, total: int, split: str, other: str) -> str:
    are = "is a near-duplicate" if n == 1 else "are near-duplicates"
    return f"{n:,} of {wording.counted(total, f'{split} document')} {are} of a {other} document"


def note_overlap(dataset: FinetuneDataset, sizes: Sequence[int | None], threshold: float, *, seed: int) -> None:
    """Note the documents that are near-duplicates of others; of a comparison, those of its largest training set."""
    most = None if None in sizes else max(size for size in sizes if size is not None)
    drawn = dataset.drawn(most, seed=seed)
    where = "" if most is None else f"{dataset.describe_size(most)}, seed {seed}: "
    for note in overlap_notes(drawn, find_overlap(drawn, threshold), threshold):
        reporting.note(f"{where}{note}")


# ------------------------------------------------------------------------------------------------------------------------
# Checks of labelled documents before training: labels and splits that nothing can be learned from.


def check_dataset(dataset: FinetuneDataset, options: DatasetOptions, *, seed: int) -> None:
    """Refuse labels and splits that cannot be learned from or scored.

    Raises:
        InputError: labels of dev that training does not have, a test without labels, nothing to learn from.
    """
    _check_labels(dataset, options)
    for size in options.sizes():
        _check_rounds(dataset.drawn(size, seed=seed), size, options)


def _check_rounds(dataset: FinetuneDataset, size: int | None, options: DatasetOptions) -> None:
    for train, test in dataset.rounds:
        if not len(train):
            raise InputError(
                f"no document is left for training, because {len(test):,} are test documents; use a smaller "
                "`holdout`, or name test documents with `test`"
            )
        if len(dataset.labelled(test)):
            continue
        if size is not None and not len(test):
            least = "there are no more" if options.by_total else "no class has more"
            raise InputError(
                f"`{options.size_name}={size}` leaves no document to test on: {least}; use fewer, or name test "
                "documents with `test`"
            )
        raise InputError(
            f"{_test_name(options)}: none of {wording.counted(len(test), 'document')} has a label, so nothing can be scored; "
            "name the column with `label_col`"
        )


def _check_labels(dataset: FinetuneDataset, options: DatasetOptions) -> None:
    where = options.name_of("dev")
    dev = np.flatnonzero(dataset.split == DEV) if not dataset.n_folds else np.zeros(0, np.int64)
    unseen = Counter({label: n for label, n in _label_counts(dataset, dev).items() if label not in dataset.names})
    if unseen:
        raise InputError(
            f"{where}: labels that no training document has: {with_counts(unseen.most_common())}; use the same "
            "spelling, or add such documents to training"
        )
    _reject_unknown_test(dataset, options)
    if len(dev) and not len(dataset.dev):
        raise InputError(f"{where}: no document has a label")
    if dataset.kind == "tokens" and len(dataset.tag_names) < 2:
        raise InputError(f"all words have the label '{''.join(dataset.tag_names)}'; two labels are needed")
    if dataset.kind == "regression":
        assert dataset.values is not None
        values = dataset.values[dataset.train]
        if np.ptp(values) == 0:
            raise InputError(f"all training documents have the value {values[0]:g}; there is nothing to learn")


def _reject_unknown_test(dataset: FinetuneDataset, options: DatasetOptions) -> None:
    """Raise InputError for test documents none of whose labels is in training: nothing can be predicted right."""
    test = np.flatnonzero(dataset.split == TEST) if not dataset.n_folds else np.zeros(0, np.int64)
    labels = _label_counts(dataset, test)
    if labels and not set(dataset.names) & labels.keys():
        raise InputError(
            f"{_test_name(options)}: no label occurs in training: {first_names(list(labels))}; training has "
            f"{first_names(sorted(dataset.names))}. Use the same spelling, or name the column with `label_col`"
        )


def _test_name(options: DatasetOptions) -> str:
    return options.name_of("test") if options.test is not None else "the test"


def check_sequences(dataset: FinetuneDataset) -> None:
    """Refuse sequences of labels that a CRF of BIO labels cannot learn, and note where labels are no BIO scheme.

    Raises:
        InputError: of a training document an I- label does not follow a label of its span.
    """
    if not are_bio(dataset.tag_names):
        other = next((name for name in dataset.tag_names if name != "O" and name[:2] not in ("B-", "I-")), "")
        reporting.note(
            f"labels do not follow the BIO scheme (such as '{other}'), so the CRF allows any label after any other"
        )
        return
    assert dataset.tags is not None
    for d in dataset.train.tolist():
        labels = dataset.tags[d] or []
        i = breaks_bio(labels)
        if i is not None:
            before = f"after '{labels[i - 1]}'" if i else "at the start"
            raise InputError(
                f"document {dataset.table.column('id')[d].as_py()}, word {i + 1}: the label '{labels[i]}' {before} "
                f"does not follow the BIO scheme, where a span starts with 'B-{str(labels[i])[2:]}'; write it so, "
                "or leave `crf` out"
            )


def _label_counts(dataset: FinetuneDataset, rows: LongArray) -> Counter[str]:
    """Return how often some documents, or their words, have each label; numbers are none."""
    counts: Counter[str] = Counter()
    if dataset.kind in (*CLASSES, "tokens"):
        for d in rows.tolist():
            raw = dataset.raw_labels[d]
            counts.update(v for v in (raw if isinstance(raw, list) else [raw]) if v is not None)
    return counts


def with_counts(labels: Sequence[tuple[str, int]]) -> str:
    """Return the first five labels, quoted, with how often each is there."""
    return wording.listed([f"'{label}' ({n:,})" for label, n in labels], 5)


def note_dataset(dataset: FinetuneDataset) -> None:
    """Note the number of documents of each split, and warn of those that cannot be predicted right."""
    split = dataset.split
    if dataset.n_folds:
        sizes = f"{wording.counted(int((split >= 0).sum()), 'document')} in {dataset.n_folds} folds"
    else:
        train, test = dataset.rounds[0]
        dev = f", {len(dataset.dev):,} dev" if (split == DEV).any() else ""
        sizes = f"{wording.counted(len(train), 'training document')}{dev}, {len(test):,} test"
    reporting.note(f"{sizes}; {dataset.describe_task()}")
    without = int(((split < 0) & ~dataset.labels.known).sum())
    if without:
        reporting.note(f"{wording.counted(without, 'document')} without a label: left out")
    if dataset.kind == "answer" and not dataset.n_folds:
        train, test = dataset.rounds[0]
        known = {dataset.texts[d] for d in train.tolist()}
        shared = sum(dataset.texts[d] in known for d in test.tolist())
        if shared:
            reporting.note(
                f"{wording.counted(shared, 'test document')} with the same text as a training document, but another "
                "question"
            )
    if dataset.kind in (*CLASSES, "tokens"):
        unseen = dataset.unseen_labels(dataset.tag_names)
        if unseen:
            reporting.warn(
                f"labels of test documents that no training document has: {with_counts(list(unseen.items()))}; "
                "these are always counted as wrong"
            )
    empty = dataset.empty & (split == TEST)
    if empty.any() and not dataset.n_folds:
        reporting.note(f"{wording.counted(int(empty.sum()), 'test document')} without a word: predicted like any other")


def warn_small_classes(dataset: FinetuneDataset, sizes: Sequence[int | None], *, seed: int) -> None:
    """Warn of classes that have fewer documents than `shots` asks for, and of fewer documents than `totals` does."""
    for shots in sizes:
        if shots is None:
            continue
        if dataset.by_total:
            n = len(dataset.drawn(shots, seed=seed).train)
            if n < shots:
                reporting.warn(f"{wording.counted(n, 'training document')}, fewer than `totals={shots}`: all are used")
            continue
        drawn = dataset.drawn(shots, seed=seed)
        n_drawn = drawn.labels.sizes(drawn.train).tolist()
        few = [f"'{name}' ({n})" for name, n in zip(drawn.labels.names, n_drawn, strict=True) if n < shots]
        if few:
            reporting.warn(f"classes with fewer than {shots} documents: {wording.listed(few, 5)}")
