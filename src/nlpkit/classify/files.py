"""The files of a classifier: its model as tables, rules and costs from TOML.

Parts, in this order:
- Columns that a classifier sees as a table of its run, a row for each feature, and back.
- Rules of a classifier from a TOML file.
- Costs of errors from a TOML file or a table.
- A classifier as the tables and the config.json of a run directory's model/, and back.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.calibration import calibrator_from
from nlpkit.classify.classifier import TextClassifier
from nlpkit.classify.features import CategoryColumn, ColumnFeatures, Features, NumberColumn, Scaling, Vectorizer
from nlpkit.classify.fit import model_from
from nlpkit.classify.kinds import KINDS
from nlpkit.classify.models.rule_list import Rule, RuleList
from nlpkit.classify.thresholds import Threshold
from nlpkit.errors import InputError, MissingFileError, UsageError
from nlpkit.platform.documents.sources import missing_path
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.runs.table_spec import Column, TableSpec, array_table
from nlpkit.text.files import phrases_from, phrases_table
from nlpkit.weights.options import Scheme
from nlpkit.weights.tfidf import CorpusStats, Weighting

FEATURES = TableSpec(
    "model/feature_columns", "A feature that is made of a column of the documents.",
    Column("column", pa.string(), "The column."),
    Column("kind", pa.string(), "number, category, none for a column without a category, or missing."),
    Column("value", pa.string(), "The category.", gaps=True),
    Column("mean", pa.float64(), "Mean of the number in the training documents.", gaps=True),
    Column("deviation", pa.float64(), "Its standard deviation.", gaps=True),
)  # fmt: skip


def columns_table(features: ColumnFeatures) -> pa.Table:
    """Return column, kind (number, category, none for a column without a category, missing), value, mean and deviation."""
    rows: list[dict[str, Any]] = []
    for column in features.columns:
        if isinstance(column, NumberColumn):
            rows.append({"column": column.name, "kind": "number", "mean": column.mean, "deviation": column.deviation})
        else:
            rows += [{"column": column.name, "kind": "category", "value": value} for value in column.categories]
            rows += [] if column.categories else [{"column": column.name, "kind": "none"}]
        rows += [{"column": column.name, "kind": "missing"}] if column.indicator else []
    return FEATURES.rows(rows)


def columns_from(table: pa.Table) -> ColumnFeatures:
    """Return the features of a table that `columns_table` made. Raises KeyError, TypeError, ValueError when it is damaged."""
    by_column: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        by_column.setdefault(str(row["column"]), []).append(row)
    return ColumnFeatures(tuple(_column(name, rows) for name, rows in by_column.items()))


def _column(name: str, rows: list[dict[str, Any]]) -> NumberColumn | CategoryColumn:
    kinds = [row["kind"] for row in rows]
    if not set(kinds) <= {"number", "category", "none", "missing"} or kinds.count("missing") > 1:
        raise ValueError(f"features of the column '{name}' of kinds {', '.join(map(str, kinds))}")
    indicator = "missing" in kinds
    if "number" not in kinds:
        categories = tuple(str(row["value"]) for row in rows if row["kind"] == "category")
        return CategoryColumn(name, categories, indicator)
    number = rows[kinds.index("number")]
    return NumberColumn(name, float(number["mean"]), float(number["deviation"]), indicator)


# ------------------------------------------------------------------------------------------------------------------------
# Rules of a classifier from a TOML file.

_HEAD = re.compile(r"^\s*\[\[\s*rule\s*\]\]", re.MULTILINE)
_EXAMPLE = "write it as: [[rule]], then label = 'sports' and any = ['goal', 'match*']"
_KEYS = ("name", "label", "any", "all", "none", "regex", "where", "priority")


def read_rule_list(path: Path) -> RuleList:
    """Return the rules of a file, in the order in which they are asked.

        default = "other"                       # optional: the label of documents that no rule matches

        [[rule]]
        label = "sports"                        # any, all, none: words or phrases; regex; where: a condition on columns
        any = ["goal", "match*", "cup final"]
        none = ["court"]
        where = "source == 'wire'"
        priority = 1                            # default 0; higher ones come first

    Raises:
        InputError: it cannot be read, or does not look like this; UsageError: a regular expression or condition that is none. Both
            name the line.
    """
    if not path.exists():
        raise MissingFileError(f"rules {missing_path(path)}")
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"rules {path}: cannot be opened ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"rules {path} is not TOML: {error}; {_EXAMPLE}") from None
    listed, default = content.get("rule"), content.get("default")
    unknown = sorted(set(content) - {"rule", "default"})
    if unknown or not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        names = ", ".join(content) or "nothing"
        raise InputError(f"rules {path}: tables [[rule]], and perhaps default, were needed, found: {names}; {_EXAMPLE}")
    if default is not None and (not isinstance(default, str) or not default):
        raise InputError(f"rules {path}: default must be a label, got {default!r}")
    lines = [text.count("\n", 0, match.end()) + 1 for match in _HEAD.finditer(text)]
    places = (
        [f"{path}:{line}" for line in lines]
        if len(lines) == len(listed)
        else [f"{path}, rule {n + 1}" for n in range(len(listed))]
    )
    rules = [_rule(values, f"rule {n}", place) for n, (values, place) in enumerate(zip(listed, places, strict=True), 1)]
    _check_names(rules)
    return RuleList(tuple(sorted(rules, key=lambda rule: -rule.priority)), default, str(path))


def _rule(values: dict[str, Any], name: str, place: str) -> Rule:
    unknown = sorted(set(values) - set(_KEYS))
    if unknown:
        raise InputError(f"{place}: '{unknown[0]}' is not a key of a rule; known keys are {', '.join(_KEYS)}")
    kinds: dict[str, Any] = {"name": str, "label": str, "regex": str, "where": str, "priority": int}
    for key, kind in kinds.items():
        if key in values and (not isinstance(values[key], kind) or isinstance(values[key], bool)):
            raise InputError(
                f"{place}: {key} must be {'a whole number' if kind is int else 'text'}, got {values[key]!r}"
            )
    for key in ("any", "all", "none"):
        words = values.get(key, [])
        if not isinstance(words, list) or not all(isinstance(word, str) and word.strip(" *") for word in words):
            raise InputError(f"{place}: {key} must be a list of words, got {words!r}")
    if not values.get("label"):
        raise InputError(f"{place}: the rule has no label; {_EXAMPLE}")
    words_of = {key: tuple(values.get(key, ())) for key in ("any", "all", "none")}
    rule = Rule(
        str(values.get("name") or name), values["label"], **words_of, regex=values.get("regex", ""), where=values.get("where", ""),
        priority=values.get("priority", 0), place=place,
    )  # fmt: skip
    try:
        rule.check()
    except UsageError as error:
        raise InputError(str(error)) from None
    return rule


def _check_names(rules: list[Rule]) -> None:
    places: dict[str, str] = {}
    for rule in rules:
        if rule.name in places:
            raise InputError(
                f"{rule.place}: a rule called '{rule.name}' is also in {places[rule.name]}; give each rule its own name"
            )
        places[rule.name] = rule.place


# ------------------------------------------------------------------------------------------------------------------------
# Costs of errors from a TOML file or a table.

_COSTS_EXAMPLE = "write a table for a true class: [spam], then a line for a predicted one: ham = 5"


def read_costs(path: Path) -> dict[str, dict[str, float]]:
    """Return costs by true class, then by predicted class.

    TOML has a table for each true class, `[spam]` with lines `ham = 5`. CSV and TSV have the predicted classes in the first row, and
    below it a row for each true class, which is its first cell.

    Raises:
        InputError: the file cannot be read or does not look like this.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"costs {path}: cannot be opened ({error.strerror})", parameter="costs") from None
    except UnicodeDecodeError as error:
        raise InputError(f"costs {path} is not UTF-8 text: {error}", parameter="costs") from None
    if path.suffix.lower() in (".csv", ".tsv"):
        return _table(path, text, "\t" if path.suffix.lower() == ".tsv" else ",")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"costs {path} is not TOML: {error}; {_COSTS_EXAMPLE}", parameter="costs") from None
    if not content or not all(isinstance(row, dict) for row in content.values()):
        raise InputError(f"costs {path}: every true class needs a table; {_COSTS_EXAMPLE}", parameter="costs")
    return content


def _table(path: Path, text: str, delimiter: str) -> dict[str, dict[str, float]]:
    rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if any(cell.strip() for cell in row)]
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise InputError(
            f"costs {path}: a row of predicted classes is needed, and below it a row of as many cells for each true class",
            parameter="costs",
        )
    costs: dict[str, dict[str, float]] = {}
    for number, (true, *cells) in enumerate(rows[1:], 2):
        costs[true] = {}
        for predicted, cell in zip(rows[0][1:], cells, strict=True):
            try:
                costs[true][predicted] = float(cell)
            except ValueError:
                raise InputError(f"costs {path}: row {number}: {cell!r} is not a number", parameter="costs") from None
    return costs


# ------------------------------------------------------------------------------------------------------------------------
# A classifier as the tables and the config.json of a run directory's model/, and back. No pickles: JSON and Parquet.

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
            from nlpkit.classify.features import HAND_FEATURES

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
