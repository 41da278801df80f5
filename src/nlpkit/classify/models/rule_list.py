"""Hand-written rules as a classifier: an ordered list, of which the first rule that matches a document gives its label."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.classify.dataset import Labels
from nlpkit.classify.models.linear import Array, Features, Link
from nlpkit.errors import ColumnError, InputError, UsageError
from nlpkit.platform.documents.conditions import Filter, parse_filter
from nlpkit.platform.documents.regex import UNSPACED, compile_regex, regex_mask
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: it matches where all of its conditions hold.

    any, all, none: words or phrases, case aside, of which one, all, none occur; * at the end stands for any ending. regex: a regular
    expression of Python that is found in the text. where: a condition on columns (see `Filter`). Rules of a higher priority
    come first. place: where it is written.
    """

    name: str
    label: str
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    regex: str = ""
    where: str = ""
    priority: int = 0
    place: str = ""

    def check(self) -> None:
        """Raise UsageError for a rule without a condition, or a regular expression or condition that is none; it names the place."""
        if not (self.any or self.all or self.none or self.regex or self.where):
            raise UsageError(
                f"{self.place}: the rule '{self.name}' has no condition; give any, all, none, regex or where"
            )
        if self.regex:
            compile_regex(self.regex, f"{self.place}: regex")
        self.condition()

    def condition(self) -> Filter | None:
        """Return the condition on columns, None where there is none."""
        return parse_filter(self.where, option=f"{self.place}: where") if self.where else None

    def matches(self, batch: pa.RecordBatch) -> BoolArray:
        """Return which documents (D,) the rule matches.

        Raises:
            ColumnError, UsageError: a column of `where` is not there, or of another type.
        """
        texts = batch.column("text")
        matched = np.ones(batch.num_rows, bool)
        if self.any:
            matched &= _occur(texts, self.any)
        for word in self.all:
            matched &= _occur(texts, [word])
        if self.none:
            matched &= ~_occur(texts, self.none)
        if self.regex:
            matched &= _as_bool(regex_mask(texts, self.regex))
        condition = self.condition()
        if condition is not None:
            try:
                matched &= _as_bool(condition.mask(batch))
            except (ColumnError, UsageError) as error:
                raise type(error)(f"{self.place}: {error}") from None
        return matched


@dataclass(frozen=True, slots=True)
class RuleList:
    """Rules in the order in which they are asked: by priority, then as they are written. default: the label of documents that none
    matches; None for the largest class of the training documents (of several labels: for no label)."""

    rules: tuple[Rule, ...]
    default: str | None = None
    source: str = ""

    @property
    def names(self) -> list[str]:
        """The rules (R,) by name."""
        return [rule.name for rule in self.rules]

    def matches(self, documents: pa.Table | pa.RecordBatch) -> CsrMatrix:
        """Return which rules match documents (D, R), 1 or 0, CSR."""
        batches = documents.to_batches() if isinstance(documents, pa.Table) else [documents]
        parts = [np.stack([rule.matches(batch) for rule in self.rules], axis=1) for batch in batches]
        whole = np.concatenate([np.zeros((0, len(self.rules)), bool), *parts])
        return sparse.csr_array(whole.astype(np.float64))

    def check_schema(self, schema: pa.Schema) -> None:
        """Raise ColumnError or UsageError where documents of a schema lack what a rule needs."""
        self.matches(pa.RecordBatch.from_pylist([], schema))

    def check_labels(self, names: Sequence[str]) -> None:
        """Raise InputError for a label that no training document has; it names the place."""
        labels = [(rule.label, rule.place) for rule in self.rules]
        labels += [] if self.default is None else [(self.default, self.source)]
        for label, place in labels:
            if label not in names:
                near = get_close_matches(label, names, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise InputError(
                    f"{place}: no training document has the label '{label}' (found: {', '.join(names)}){hint}"
                )

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as values that go into JSON."""
        return {"rules": [asdict(rule) for rule in self.rules], "default": self.default, "source": self.source}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RuleList:
        """Return the rules of such values. Raises KeyError, TypeError where they are damaged."""
        rules: list[dict[str, Any]] = []
        for rule in values["rules"]:
            rules.append({name: tuple(value) if isinstance(value, list) else value for name, value in rule.items()})
        return cls(tuple(Rule(**rule) for rule in rules), values["default"], str(values["source"]))


def _occur(texts: pa.Array, words: Sequence[str]) -> BoolArray:
    return _as_bool(regex_mask(texts, words_pattern(words)))


def _as_bool(mask: Any) -> BoolArray:
    array = mask if isinstance(mask, pa.Array) else pa.array(np.asarray(mask, bool))
    return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False), bool)


def words_pattern(words: Sequence[str]) -> str:
    r"""Return a regular expression of whole words and phrases, case aside: good, cup final → (?i)\bgood\b|\bcup\s+final\b.

    In scripts without spaces, and where an entry begins or ends with a sign, it may stand anywhere.
    """
    return "(?i)" + "|".join(_word_pattern(word) for word in words)


def _word_pattern(word: str) -> str:
    plain = word.strip()
    stem = plain.removesuffix("*")
    parts = r"\s+".join(re.escape(part) for part in stem.split())
    first, last = (r"\b" if _bounded(sign) else "" for sign in (stem[:1], stem[-1:]))
    return f"{first}{parts}{'' if plain.endswith('*') else last}"


def _bounded(sign: str) -> bool:
    return bool(re.match(r"\w", sign)) and not UNSPACED.match(sign)


@dataclass(frozen=True, slots=True)
class RuleModel:
    """The labels that rules give; its features are which rules match (D, R).

    Of one label a document, the first rule that matches gives it; of several labels, all rules that match give theirs. labels (R,):
    the class of each rule; default: that of a document that none matches, -1 for none.
    """

    labels: IntArray
    default: int
    n_classes: int
    multi_label: bool
    kind: str = "rules"
    link: Link = "margin"
    converged: bool = True

    def decision(self, X: Features) -> FloatArray:
        """Return scores (D, J): 1 for the labels that a document gets, else 0 (of several labels -1)."""
        matched = np.asarray(sparse.csr_array(X).todense()) > 0
        if self.multi_label:
            scores = np.full((len(matched), self.n_classes), -1.0)
            rows, rules = np.nonzero(matched)
            scores[rows, self.labels[rules]] = 1.0
            if self.default >= 0:
                scores[~matched.any(axis=1), self.default] = 1.0
            return scores
        scores = np.zeros((len(matched), self.n_classes))
        scores[
            np.arange(len(matched)), np.where(matched.any(axis=1), self.labels[matched.argmax(axis=1)], self.default)
        ] = 1.0
        return scores

    def probabilities(self, X: Features) -> FloatArray | None:
        """Return None: rules have no probabilities."""
        return None

    def config(self) -> dict[str, Any]:
        """Return the model as plain values."""
        return {
            "kind": self.kind, "n_features": len(self.labels), "n_classes": self.n_classes, "multi_label": self.multi_label,
            "labels": self.labels.tolist(), "default": self.default,
        }  # fmt: skip

    def arrays(self) -> dict[str, Array]:
        """Return nothing: all is in `config`."""
        return {}

    @classmethod
    def restored(cls, config: Mapping[str, Any], arrays: Mapping[str, Array]) -> RuleModel:
        """Return the model of a `config`. Raises KeyError for what is missing, ValueError for a class that is none."""
        labels, J = np.array(config["labels"], np.int32), int(config["n_classes"])
        default, multiple = int(config["default"]), bool(config["multi_label"])
        if not ((labels >= 0) & (labels < J)).all() or not (-1 if multiple else 0) <= default < J:
            raise ValueError(f"rules with labels outside the {J} classes")
        return cls(labels, default, J, multiple)


def fit_rules(rules: RuleList, labels: Labels, train: LongArray) -> RuleModel:
    """Return the rules as a model; the training documents give the default label where the list names none."""
    place = {name: j for j, name in enumerate(labels.names)}
    codes = np.array([place[rule.label] for rule in rules.rules], np.int32)
    default = -1
    if rules.default is not None:
        default = place[rules.default]
    elif not labels.multiple:
        default = int(np.bincount(labels.targets(train), minlength=len(labels.names)).argmax())
    return RuleModel(codes, default, len(labels.names), labels.multiple)
