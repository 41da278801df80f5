"""A classifier as the tables and the config.json of a run directory's model/, and back. No pickles: JSON and Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.calibration import calibrator_from
from nlpkit.classify.classifier import TextClassifier
from nlpkit.classify.features import Features, Scaling, Vectorizer
from nlpkit.classify.fit import model_from
from nlpkit.classify.kinds import KINDS
from nlpkit.classify.rule_list import RuleList
from nlpkit.classify.thresholds import Threshold
from nlpkit.io.feature_columns import columns_from, columns_table
from nlpkit.io.phrase_files import phrases_from, phrases_table
from nlpkit.io.runs import Run
from nlpkit.io.table_spec import Column, TableSpec, array_table
from nlpkit.weighting.schemes import Scheme
from nlpkit.weighting.tfidf import CorpusStats, Weighting

SCALING = TableSpec(
    "model/hand_features", "A number that is counted in each text.",
    Column("feature", pa.string(), "Its name."),
    Column("mean", pa.float64(), "Its mean over the training documents."),
    Column("deviation", pa.float64(), "Its standard deviation."),
)  # fmt: skip
VOCAB = TableSpec(
    "model/vocab", "A term of the vocabulary of a classifier.",
    Column("term", pa.string(), "The term."),
    Column("cf", pa.int64(), "Its occurrences in the training documents.", least=0),
    Column("df", pa.int64(), "Training documents that have it.", least=0),
    Column("idf", pa.float64(), "Its inverse document frequency."),
    Column("selected", pa.bool_(), "Whether it is a feature."),
)  # fmt: skip
NEEDED = ("classes", "multiple", "present", "sees", "model", "tokens", "encoder")


def classifier_tables(
    classifier: TextClassifier, *, tokens: Mapping[str, Any] | None, encoder: Mapping[str, Any] | None
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Return the tables of model/ by file stem, and what goes into its config.json.

    Args:
        tokens: how the words were made; encoder: what made the embeddings; None where the model sees none, or it is not known.
    """
    vectorizer, scaling = classifier.features.vectorizer, classifier.features.scaling
    tables: dict[str, pa.Table] = {}
    config: dict[str, Any] = {
        "kind": "classify",
        "classes": list(classifier.names),
        "order": list(classifier.scale),
        "multiple": classifier.multiple,
        "present": classifier.present.tolist(),
        "documents": classifier.n_train,
        "sees": classifier.features.sees,
        "tokens": None if tokens is None else dict(tokens),
        "encoder": None if encoder is None else dict(encoder),
        "model": classifier.model.config(),
        "calibrator": None,
        "thresholds": [one.to_dict() for one in classifier.thresholds],
        "costs": classifier.costs,
    }
    for name, array in classifier.model.arrays().items():
        tables[f"weights_{name}"] = array_table(array)
    if vectorizer is not None:
        tables["vocab"] = _vocab(vectorizer)
        weighting = vectorizer.weighting
        config["weighting"] = {
            "scheme": asdict(weighting.scheme), "formula": weighting.scheme.formula, "mean_length": weighting.mean_length,
            "pivot": weighting.pivot, "documents": vectorizer.n_docs, "selected": vectorizer.selected is not None,
        }  # fmt: skip
    if scaling is not None:
        tables["hand_features"] = SCALING.table(feature=scaling.names, mean=scaling.mean, deviation=scaling.deviation)
    if classifier.features.rules is not None:
        config["rules"] = classifier.features.rules.to_dict()
    if classifier.features.columns is not None:
        tables["feature_columns"] = columns_table(classifier.features.columns)
    if classifier.phrases is not None:
        tables["phrases"] = phrases_table(classifier.phrases)
    if classifier.calibrator is not None:
        config["calibrator"] = classifier.calibrator.config()
        for name, array in classifier.calibrator.arrays().items():
            tables[f"calibrator_{name}"] = array_table(array)
    return tables, config


def read_classifier(run: Run) -> tuple[TextClassifier, dict[str, Any]]:
    """Return the classifier of a run directory and its config. Raises InputError, SchemaError when it is damaged."""
    config = run.model_config(*NEEDED)
    with run.intact():
        names = tuple(config["classes"])
        model = model_from(config["model"], _arrays(run, "weights_"))
        calibrator = None
        if config.get("calibrator") is not None:
            calibrator = calibrator_from(config["calibrator"], _arrays(run, "calibrator_"))
        vectorizer = _vectorizer(run, config["weighting"]) if config["sees"] == "words" else None
        scaling = None
        if (run.path / "model" / "hand_features.parquet").exists():
            from nlpkit.classify.hand_features import HAND_FEATURES

            known, mean, deviation = SCALING.arrays(run.table("model/hand_features"))
            scaling = Scaling(tuple(known), mean, deviation)
            if not set(known) <= HAND_FEATURES.keys():
                raise ValueError("features that nlpkit does not count")
        columns = None
        if (run.path / "model" / "feature_columns.parquet").exists():
            columns = columns_from(run.table("model/feature_columns"))
        phrases = None
        if (run.path / "model" / "phrases.parquet").exists():
            phrases = phrases_from(run.table("model/phrases"))
        present = np.array(config["present"], np.int32)
        sizes = {len(present), model.n_classes, model.n_classes if calibrator is None else calibrator.n_classes}
        task = KINDS[model.kind].task
        regression = task == "regression"
        if regression and (names or len(present) or model.n_classes != 1):
            raise ValueError(f"{len(names)} classes and {model.n_classes} scores of a regression, which has one number")
        if not regression and (len(sizes) > 1 or not len(present) or not np.isin(present, np.arange(len(names))).all()):
            raise ValueError(f"{len(names)} classes ({len(present)} learned), but scores of {model.n_classes}")
        rules = RuleList.from_dict(config["rules"]) if config["sees"] == "rules" else None
        features = Features(vectorizer, scaling, columns, rules)
        if features.sees != config["sees"]:
            raise ValueError(f"a model that sees {config['sees']}, with features of {features.sees}")
        if features.sees == "embedding" and config.get("dim") is None:
            raise ValueError("a model that sees embeddings, whose dimensions are not said")
        if features.sees != "embedding" and len(features.names) != config["model"]["n_features"]:
            raise ValueError(f"{len(features.names)} features for a model of {config['model']['n_features']}")
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ValueError("names of classes that are not strings, or one twice")
        scale = tuple(config.get("order", ()))
        if (task == "ordinal") != bool(scale) or (scale and [name for name in scale if name in names] != list(names)):
            raise ValueError(f"classes {', '.join(names)} in another order than {', '.join(scale) or 'none'}")
        thresholds = tuple(Threshold.restored(values) for values in config.get("thresholds", ()))
        if not {one.label for one in thresholds} <= {names[j] for j in present}:
            raise ValueError("a threshold of a class that the model does not know")
        costs = config.get("costs")
        if costs is not None:
            if np.array(costs, np.float64).shape != (len(names), len(names)) or not np.isfinite(costs).all():
                raise ValueError(f"costs that are not numbers for {len(names)} classes")
            costs = tuple(tuple(row) for row in costs)
        return TextClassifier(
            names, bool(config["multiple"]), present, features, model, calibrator, phrases,
            int(config.get("documents", 0)), thresholds=thresholds, costs=costs, scale=scale,
        ), config  # fmt: skip


def _vocab(vectorizer: Vectorizer) -> pa.Table:
    selected = np.ones(len(vectorizer.terms), bool)
    if vectorizer.selected is not None:
        selected = np.zeros(len(vectorizer.terms), bool)
        selected[vectorizer.selected] = True
    idf = vectorizer.weighting.idf
    return VOCAB.table(term=vectorizer.terms, cf=vectorizer.cf, df=vectorizer.df, idf=idf, selected=selected)


def _vectorizer(run: Run, config: Mapping[str, Any]) -> Vectorizer:
    table = run.table("model/vocab")
    names, cf, df, idf = VOCAB.arrays(table, "term", "cf", "df", "idf")
    terms = tuple(names)
    scheme, n_docs = Scheme(**config["scheme"]), int(config["documents"])
    size = CorpusStats(n_docs, terms, cf, df).term_bytes() if scheme.norm == "pivoted-bytes" else None
    weighting = Weighting(scheme, idf, config["mean_length"], size, config["pivot"])
    selected = None
    if config["selected"]:
        selected = np.flatnonzero(table.column("selected").to_numpy(zero_copy_only=False)).astype(np.int32)
    return Vectorizer(terms, weighting, n_docs, cf, df, selected)


def _arrays(run: Run, prefix: str) -> dict[str, Any]:
    arrays = {}
    for file in sorted((run.path / "model").glob(f"{prefix}*.parquet")):
        column = run.table(f"model/{file.stem}").column("value").combine_chunks()
        if pa.types.is_fixed_size_list(column.type):
            width = column.type.list_size
            arrays[file.stem.removeprefix(prefix)] = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
        else:
            arrays[file.stem.removeprefix(prefix)] = column.to_numpy(zero_copy_only=False)
        if column.null_count or not np.isfinite(arrays[file.stem.removeprefix(prefix)]).all():
            raise ValueError(f"{file.stem} has values that are not finite numbers")
    return arrays
