"""Documents that are in two splits, or nearly: what makes scores too good."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit import reporting, wording
from nlpkit.classify.splits import DEV, TEST, TRAIN
from nlpkit.finetune.dataset import FinetuneDataset
from nlpkit.text.near_duplicates import NearDuplicates, find_near_duplicates


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
