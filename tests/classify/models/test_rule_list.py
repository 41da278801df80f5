"""Hand-written rules: what matches, which rule decides, and what a file of rules says where it is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.classify.dataset import encode_sets, encode_single
from nlpkit.classify.files import read_rule_list
from nlpkit.classify.fit import model_from
from nlpkit.classify.models.rule_list import Rule, RuleList, fit_rules, words_pattern
from nlpkit.errors import ColumnError, InputError

TEXTS = ["A good goal.", "The CUP\n final, matches!", "goals only", "Court: a goal", None, "決勝戦だ :-)"]


def matched(rule: Rule) -> list[int]:
    batch = pa.record_batch({"text": pa.array(TEXTS), "stars": pa.array([5, 1, None, 4, 2, 3])})
    return np.flatnonzero(rule.matches(batch)).tolist()


@pytest.mark.parametrize(
    ("conditions", "rows"),
    [
        ({"any": ("goal",)}, [0, 3]),
        ({"any": ("goal*",)}, [0, 2, 3]),
        ({"any": ("cup final", "GOAL")}, [0, 1, 3]),
        ({"all": ("a", "goal")}, [0, 3]),
        ({"any": ("goal*",), "none": ("court", "only")}, [0]),
        ({"none": ("goal",)}, [1, 2, 4, 5]),
        ({"regex": "^A|[Cc]ourt"}, [0, 3]),
        ({"where": "stars >= 3"}, [0, 3, 5]),
        ({"any": ("goal",), "where": "stars < 5"}, [3]),
        ({"any": ("決勝",)}, [5]),
        ({"any": (":-)",)}, [5]),
        ({"any": ("match*", "fina*")}, [1]),
        ({"any": ("oal",)}, []),
    ],
)
def test_what_matches(conditions: dict[str, object], rows: list[int]) -> None:
    assert matched(Rule("r", "x", **conditions)) == rows  # type: ignore[arg-type]


def test_a_pattern_takes_its_words_as_they_are() -> None:
    for word in ("a.b", "c++", "(x)", "a|b", "don't"):
        assert re.search(words_pattern([word]), f"so {word} there")
        assert not re.search(words_pattern([word]), "so axb c there")


def rules() -> RuleList:
    return RuleList(
        (Rule("first", "b", any=("x",)), Rule("second", "a", any=("y",)), Rule("third", "b", any=("z",))), "c"
    )


def test_the_first_rule_decides() -> None:
    X = rules().matches(pa.table({"text": ["y x", "z y", "none", "z"]}))
    assert X.toarray().astype(int).tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 1]]
    labels = encode_single(["a", "b", "c", "b"], np.ones(4, bool))
    model = fit_rules(rules(), labels, np.arange(4))
    assert [labels.names[j] for j in model.decision(X).argmax(axis=1)] == ["b", "a", "c", "b"]
    restored = model_from(model.config(), model.arrays())
    assert (restored.decision(X) == model.decision(X)).all()


def test_without_a_default_the_training_documents_give_it() -> None:
    plain = RuleList(rules().rules)
    labels = encode_single(["a", "a", "b", "b", "b"], np.ones(5, bool))
    X = plain.matches(pa.table({"text": ["none"]}))
    for train, label in ((np.array([0, 1, 2]), "a"), (np.array([1, 2, 3, 4]), "b")):
        assert labels.names[int(fit_rules(plain, labels, train).decision(X).argmax())] == label


def test_of_several_labels_all_rules_give_theirs() -> None:
    labels = encode_sets([["a"], ["b", "c"]], np.ones(2, bool))
    X = rules().matches(pa.table({"text": ["y x", "none"]}))
    assert (fit_rules(rules(), labels, np.arange(2)).decision(X) > 0).tolist() == [
        [True, True, False],
        [False, False, True],
    ]
    without = RuleList(rules().rules)
    assert not (fit_rules(without, labels, np.arange(2)).decision(X)[1] > 0).any()


def test_priorities_come_before_the_order(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(
        'default = "d"\n[[rule]]\nlabel = "a"\nany = ["x"]\n\n[[rule]]\nname = "top"\nlabel = "b"\nregex = "x"\npriority = 2\n'
        '[[rule]]\nlabel = "c"\nall = ["x"]\n',
        encoding="utf-8",
    )
    read = read_rule_list(path)
    assert [(rule.name, rule.place) for rule in read.rules] == [
        ("top", f"{path}:6"),
        ("rule 1", f"{path}:2"),
        ("rule 3", f"{path}:11"),
    ]
    assert RuleList.from_dict(read.to_dict()) == read


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "tables [[rule]], and perhaps default, were needed, found: nothing"),
        ("rule = 3", "were needed, found: rule"),
        ("[[rule]]\nlabel = 'a'\n", "r.toml:1: the rule 'rule 1' has no condition"),
        ("[[rule]]\nany = ['x']\n", "r.toml:1: the rule has no label"),
        ("[[rule]]\nlabel = 'a'\nany = 'x'\n", "r.toml:1: any must be a list of words"),
        ("[[rule]]\nlabel = 'a'\nany = ['*']\n", "r.toml:1: any must be a list of words"),
        ("\n\n[[rule]]\nlabel = 'a'\nregex = '('\n", "r.toml:3: regex"),
        ("[[rule]]\nlabel = 'a'\nwhere = 'stars >'\n", "r.toml:1: where 'stars >': expected a value"),
        ("[[rule]]\nlabel = 'a'\nwords = ['x']\n", "r.toml:1: 'words' is not a key of a rule"),
        ("[[rule]]\nlabel = 'a'\nany = ['x']\npriority = true\n", "r.toml:1: priority must be a whole number"),
        (
            "[[rule]]\nlabel = 'a'\nany = ['x']\n[[rule]]\nlabel = 'a'\nany = ['y']\nname = 'rule 1'\n",
            "r.toml:4: a rule called 'rule 1'",
        ),
        ("default = 3\n[[rule]]\nlabel = 'a'\nany = ['x']\n", "default must be a label, got 3"),
        ("[[rule]\n", "is not TOML"),
    ],
)
def test_files_that_are_wrong(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(says)):
        read_rule_list(tmp_path / "r.toml")


def test_columns_and_labels_that_are_not_there() -> None:
    one = RuleList((Rule("r", "x", where="stars > 3", place="r.toml:7"),), None, "r.toml")
    with pytest.raises(ColumnError, match=r"r\.toml:7: the input has no column 'stars'"):
        one.check_schema(pa.schema([("text", pa.string())]))
    with pytest.raises(InputError, match=r"r\.toml:7: no training document has the label 'x'"):
        one.check_labels(["a", "b"])
