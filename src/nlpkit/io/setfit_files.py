"""Folders for the setfit library: an encoder of sentence-transformers and a head of scikit-learn, which it loads as its models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.finetune.embedder import Embedder
from nlpkit.finetune.setfit import SetFitModel
from nlpkit.io.finetune_files import SETFIT_HEAD

CONFIG = "config_setfit.json"


def write_setfit_folder(path: Path, embedder: Embedder, model: SetFitModel) -> None:
    """Write a folder that setfit's `SetFitModel.from_pretrained` loads. It holds a pickle, as that library wants it.

    Raises:
        UsageError: a single label that documents may or may not have, which scikit-learn's one-vs-rest does not know.
    """
    import joblib  # type: ignore[import-untyped, unused-ignore]

    head = _scikit_head(model)
    embedder.save(path)
    config = {"labels": list(model.names), "normalize_embeddings": model.normalize}
    (path / CONFIG).write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    joblib.dump(head, path / SETFIT_HEAD)


def _scikit_head(model: SetFitModel) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer

    def regression(coef: Any, intercept: Any, n_classes: int) -> Any:
        head = LogisticRegression()
        head.coef_, head.intercept_ = np.ascontiguousarray(coef.T), np.array(intercept)
        head.classes_, head.n_features_in_ = np.arange(n_classes), coef.shape[0]
        head.n_iter_ = np.zeros(1, np.int32)
        return head

    coef, intercept = model.linear.coef, model.linear.intercept
    J = len(model.names)
    if not model.multiple:
        if J > 2:
            return regression(coef, intercept, J)
        return regression(coef[:, 1:] - coef[:, :1], intercept[1:] - intercept[:1], 2)
    if J < 2:
        raise UsageError(f"setfit's format cannot store a single label ('{model.names[0]}') that documents may lack")
    head = OneVsRestClassifier(LogisticRegression())
    head.estimators_ = [regression(coef[:, j : j + 1], intercept[j : j + 1], 2) for j in range(J)]
    head.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(np.eye(J, dtype=np.int64))
    head.classes_ = head.label_binarizer_.classes_
    head.n_features_in_ = len(coef)
    return head
