"""Tasks for people, their answers, coders and majority labels, as functions."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.annotate import run as annotate
from nlpkit.annotate.run import majority, write_majority
from nlpkit.annotate.task_files import write_task
from nlpkit.annotate.tasks import Task, design_task, task_of
from nlpkit.annotate.views import show_task
from nlpkit.errors import NlpkitError, OutputExistsError, UsageError
from nlpkit.metrics.agreement import krippendorff_alpha
from nlpkit.metrics.gate_views import show
from nlpkit.metrics.labels.coders import MANY_VALUES, agreement_scores
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Uncertainty
from nlpkit.metrics.topics.intrusion import Document
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.artifacts import footer_block, write_table
from tests.command_line import footer
from tests.refusals import refuses

K = 6
TOPICS = [[f"{chr(97 + k)}{n}" for n in range(30)] for k in range(K)]
DOCUMENTS = [
    Document(f"d{d}", f"text {d}", {(d + i) % K: p for i, p in enumerate((0.5, 0.3, 0.1))}, d % 2) for d in range(8)
]
NO = Uncertainty(None, 0)


def make_task(
    kind: str, topics: Any, weights: Any = None, documents: Any = None, *, output: Path, force: bool = False,
    name: str = "", topic_names: Any = None, **options: Any,
) -> Task:  # fmt: skip
    """Write a task about topics, with weights and documents where it needs them."""
    design = design_task(kind, topics, weights, documents, names=[f"name {topic[0]}" for topic in topics], **options)
    task = task_of(name or design.kind.replace("-", " "), design, topics, topic_names)
    write_task(output, task, parameters={}, force=force)
    return task


def score_answers(answers: Any, key: Path, **options: Any) -> TargetResult:
    return annotate.score_answers(key, answers, **options).targets[0]


def score_agreement(table: Path, coders: list[str], **options: Any) -> TargetResult:
    return annotate.agreement(table, coders, **options).targets[0]


def made(kind: str, **how: Any) -> tuple[Path, list[dict[str, Any]]]:
    """A task in this directory: its key and the items of it."""
    make_task(kind, TOPICS, None, DOCUMENTS, output=Path("t.html"), seed=1, name="A task", force=True, **how)
    key = Path("t.key.json")
    items: list[dict[str, Any]] = json.loads(key.read_text())["items"]
    return key, items


def wrong(item: dict[str, Any], by: int = 1) -> int:
    """A wrong answer: the option `by` places after the right one."""
    return (int(item["answer"]) - 1 + by) % len(item["options"]) + 1


def back(name: str, answers: list[Any], items: list[dict[str, Any]], **columns: list[str]) -> Path:
    """What coder `name` sends back: an answer an item, None for none."""
    path = Path(f"{name}.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["coder", "item", "answer", *columns])
        for i, (item, answer) in enumerate(zip(items, answers, strict=True)):
            out.writerow(
                [name, item["id"], "" if answer is None else answer, *(values[i] for values in columns.values())]
            )
    return path


# ---------------------------------------------------------------- tasks


@pytest.mark.parametrize(
    ("kind", "is_", "n"),
    [
        ("intrusion", "word-intrusion", K),
        ("word-intrusion", "word-intrusion", K),
        ("word-set-intrusion", "word-set-intrusion", K),
        ("topic-intrusion", "topic-intrusion", 8),
        ("group", "document-intrusion", 2),
        ("label", "optimal-label", 2),
        ("rating", "rating", K),
    ],
)
def test_a_task_is_three_files_and_says_how_to_go_on(
    kind: str, is_: str, n: int, capsys: pytest.CaptureFixture[str]
) -> None:
    task = make_task(kind, TOPICS, None, DOCUMENTS, output=Path("t.html"), seed=4)
    assert (task.kind, len(task.ids), task.design.seed, task.name) == (is_, n, 4, is_.replace("-", " "))
    assert sorted(p.name for p in Path().iterdir()) == ["t.csv", "t.html", "t.key.json"]
    show_task(task, Path("t.html"))
    said = capsys.readouterr()
    assert said.out == ""
    assert f"wrote t.html with {n} questions, t.csv, and t.key.json with the answers" in said.err
    assert "next: give t.html (or t.csv) to each coder, and keep t.key.json to yourself" in said.err
    assert "then: nlpkit annotate score t.key.json --answers FILE" in said.err


def test_the_seed_decides_the_files() -> None:
    def files(seed: int) -> list[bytes]:
        make_task("intrusion", TOPICS, output=Path("t.html"), seed=seed, force=True)
        return [Path(name).read_bytes() for name in ("t.html", "t.csv", "t.key.json")]

    assert files(1) == files(1)
    assert files(1) != files(2)


def test_topics_that_cannot_be_asked_about_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    task = annotate.make_task([*TOPICS, ["x"]], "intrusion", output="t.html")
    assert task.design.skipped == {6: "1 word, 5 needed"}
    assert "warning: no question about topic 6: 1 word, 5 needed" in capsys.readouterr().err


def test_weights_are_those_of_the_words() -> None:
    heavy = [[1000.0] * 12 + [0.001] * 18 for _ in TOPICS]
    make_task("word-set", TOPICS, heavy, output=Path("t.html"))
    for item in json.loads(Path("t.key.json").read_text())["items"]:
        own = {w for i, words in enumerate(item["options"], 1) if i != item["answer"] for w in words}
        assert own == set(TOPICS[item["topic"]][:12])


@pytest.mark.parametrize(
    ("kind", "output", "error", "says"),
    [
        ("quiz", "t.html", UsageError, "`kind=quiz`"),
        ("intrusion", "t.csv", UsageError, "output=task.html"),
        ("intrusion", "there.html", OutputExistsError, "exists; add"),
        ("topic-intrusion", "t.html", UsageError, "asks about documents, which topics does not have"),
        ("label", "t.html", UsageError, "optimal-label asks about documents, which topics does not have"),
    ],
)
def test_tasks_that_cannot_be_made(kind: str, output: str, error: type[NlpkitError], says: str) -> None:
    Path("there.html").write_text("")
    with pytest.raises(error, match=says):
        annotate.make_task(TOPICS, kind, output=output)
    assert sorted(p.name for p in Path().iterdir()) == ["there.html"]


# ---------------------------------------------------------------- answers


def test_precision_by_topic_and_coder_by_hand() -> None:
    key, items = made("intrusion")
    items = items[:4]  # the others are left open
    paths = [
        back("anna", [i["answer"] for i in items], items),
        back("ben", [items[0]["answer"], wrong(items[1]), None, wrong(items[3])], items),
        back("carla", [items[0]["answer"], wrong(items[1]), wrong(items[2]), wrong(items[3], 2)], items),
    ]
    result = score_answers(paths, key)
    precision = result.scores["precision"]
    by_topic = dict(zip(result.units, precision.values.tolist(), strict=True))  # type: ignore[union-attr]
    expected = [1.0, 1 / 3, 1 / 2, 1 / 3]
    assert [by_topic[str(i["topic"])] for i in items] == pytest.approx(expected)
    assert sum(math.isnan(v) for v in by_topic.values()) == 2
    assert (precision.value, precision.n) == (pytest.approx(np.mean(expected)), 4)
    assert precision.interval is not None
    assert precision.interval.low < np.mean(expected) < precision.interval.high
    assert result.facts["by_coder"] == [
        {"coder": "anna", "answers": 4, "missing": 2, "precision": 1.0},
        {"coder": "ben", "answers": 3, "missing": 3, "precision": pytest.approx(1 / 3)},
        {"coder": "carla", "answers": 4, "missing": 2, "precision": 0.25},
    ]
    assert [result.facts[n] for n in ("questions", "coders", "answers", "missing")] == [6, 3, 11, 7]
    assert result.facts["chance"] == pytest.approx(1 / 6)
    assert result.unit_texts[2] == " ".join(TOPICS[2][:10])


def test_agreement_is_on_the_option_right_or_not() -> None:
    key, items = made("intrusion")
    all_wrong = [wrong(i) for i in items]
    paths = [back(name, all_wrong, items) for name in ("a", "b")]
    scores = score_answers(paths, key).scores
    assert (scores["precision"].value, scores["alpha"].value) == (0.0, pytest.approx(1.0))
    assert scores["percent_agreement"].value == scores["fleiss_kappa"].value == scores["cohen_kappa"].value == 1.0
    ratings = np.array([[i["answer"], wrong(i)] for i in items], np.float64)
    paths[0] = back("a", ratings[:, 0].astype(int).tolist(), items)
    alpha = score_answers(paths, key).scores["alpha"]
    assert (alpha.value, alpha.over) == (pytest.approx(krippendorff_alpha(ratings, level="nominal")), "questions")


def test_several_questions_about_a_topic_count_together() -> None:
    key, items = made("intrusion", n_items=2 * K)
    chosen = [i["answer"] if n % 2 else wrong(i) for n, i in enumerate(items)]
    result = score_answers([back("a", chosen, items)], key)
    expected = [np.mean([n % 2 for n, i in enumerate(items) if i["topic"] == k]) for k in range(K)]
    values = result.scores["precision"].values
    assert values is not None
    assert values.tolist() == pytest.approx(expected)


def test_topic_intrusion_by_document_with_log_odds() -> None:
    key, items = made("topic-intrusion", n_items=3)
    places = [item["probs"].index(0.5) + 1 for item in items]
    paths = [
        back("a", [items[0]["answer"], places[1], items[2]["answer"]], items),
        back("b", [items[0]["answer"], places[1], places[2]], items),
    ]
    result = score_answers(paths, key)
    assert (result.unit, result.units) == ("document", [i["document"] for i in items])
    odds = result.scores["topic_log_odds"]
    lost = math.log(1 / 60) - math.log(0.5)  # the intruder has no probability: 1 / (10 K) stands for it
    assert odds.values is not None
    assert odds.values.tolist() == pytest.approx([0, lost, lost / 2])
    assert odds.value == pytest.approx(lost / 2)
    assert result.scores["precision"].value == pytest.approx((1 + 0 + 0.5) / 3)
    row = result.tables["Documents"].to_pylist()[1]
    assert (row["document"], row["answers"], row["precision"]) == (items[1]["document"], 2, 0.0)
    assert row["log odds"] == pytest.approx(lost)


def test_ratings_are_ordinal_and_have_labels() -> None:
    key, items = made("rating")
    first = [1, 2, 3, 3, 2, 1]
    second = [1, 3, 3, 2, None, "very related"]
    label = ["", "", "rivers", "", "", ""]
    result = score_answers([back("a", first, items, label=label), back("b", second, items)], key)
    rating = result.scores["rating"]
    by_topic = dict(zip(result.units, rating.values.tolist(), strict=True))  # type: ignore[union-attr]
    expected = [1, 2.5, 3, 2.5, 2, 2]
    assert [by_topic[str(i["topic"])] for i in items] == pytest.approx(expected)
    assert rating.value == pytest.approx(np.mean(expected))
    ratings = np.array([[1, 1], [2, 3], [3, 3], [3, 2], [2, math.nan], [1, 3]])
    assert result.scores["alpha"].value == pytest.approx(krippendorff_alpha(ratings, level="ordinal"))
    assert result.scores["alpha"].parameters["method"] == "ordinal"
    nominal = score_answers([Path("a.csv"), Path("b.csv")], key, measurement="nominal").scores["alpha"]
    assert nominal.value == pytest.approx(krippendorff_alpha(ratings, level="nominal"))
    assert result.facts["labels"] == [{"topic": str(items[2]["topic"]), "coder": "a", "label": "rivers"}]
    assert result.facts["by_coder"][0]["rating"] == 2.0
    with refuses("measurement"):
        score_answers([Path("a.csv")], key, measurement="rank")


def test_one_coder_has_no_agreement_and_the_score_says_why() -> None:
    key, items = made("intrusion")
    found = score_answers([back("a", [i["answer"] for i in items], items)], key).to_dict()
    assert found["metrics"]["precision"]["value"] == 1.0
    for name in ("alpha", "percent_agreement", "cohen_kappa"):
        assert found["metrics"][name]["value"] is None
        assert "two coders" in found["metrics"][name]["why"]
    assert "two ratings of a unit" in found["metrics"]["fleiss_kappa"]["why"]


def test_the_result_is_json_and_repeats() -> None:
    key, items = made("intrusion")
    paths = [
        back("a", [i["answer"] for i in items], items),
        back("b", [wrong(i) if i["topic"] % 2 else None for i in items], items),
    ]
    first = to_json(score_answers(paths, key, seed=3).to_dict())
    assert first == to_json(score_answers(paths, key, seed=3).to_dict())
    assert json.loads(first)["topics"][0] == {"name": "0", "words": list(TOPICS[0][:10])}
    assert "low" not in score_answers(paths, key, ci=0.0).to_dict()["metrics"]["precision"]
    wide, narrow = (score_answers(paths, key, ci=c).to_dict()["metrics"]["precision"] for c in (0.99, 0.5))
    assert wide["low"] < narrow["low"]
    assert wide["level"] == 0.99


@pytest.mark.parametrize("kind", ["intrusion", "topic-intrusion", "word-set-intrusion", "group", "label", "rating"])
def test_a_result_is_shown(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    key, items = made(kind)
    capsys.readouterr()
    first = [i.get("answer", 2) for i in items]
    show(
        annotate.score_answers(key, [back("anna", first, items), back("ben", [1] * len(items), items)]),
        [],
        markdown=False,
    )
    said = capsys.readouterr()
    for word in ("alpha", "anna", "ben", "rating" if kind == "rating" else "precision"):
        assert word in said.out, said.out
    if kind != "rating":
        assert f"at random is right {1 / len(items[0]['options']):.3f} of the time" in said.err


# ---------------------------------------------------------------- coders

# Krippendorff (2011), section C, with a fifth column that nobody asks about
EXAMPLE = """id,text,A,B,C,D
1,t,1,1,,1
2,t,2,2,3,2
3,t,3,3,3,3
4,t,3,3,3,3
5,t,2,2,2,2
6,t,1,2,3,4
7,t,4,4,4,4
8,t,1,1,2,1
9,t,2,2,2,2
10,t,,5,5,5
11,t,,,1,1
12,t,,3,,
"""
CODERS = ["A", "B", "C", "D"]


def example() -> Path:
    path = Path("coders.csv")
    path.write_text(EXAMPLE)
    return path


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_the_published_example(level: str, alpha: float) -> None:
    found = score_agreement(example(), CODERS, measurement=level).to_dict()
    assert found["metrics"]["alpha"]["value"] == pytest.approx(alpha, abs=5e-4)
    assert found["metrics"]["alpha"]["low"] < alpha < found["metrics"]["alpha"]["high"]
    assert [found[name] for name in ("units", "ratings", "missing", "ties", "unrated")] == [12, 41, 7, 1, 0]
    json.loads(to_json(found))


def test_each_coder_and_each_pair() -> None:
    result = score_agreement(example(), CODERS)
    assert [row["ratings"] for row in result.facts["by_coder"]] == [9, 11, 10, 11]
    without_c = krippendorff_alpha(
        [
            [float(v) if v else math.nan for v in (row.split(",")[2], row.split(",")[3], row.split(",")[5])]
            for row in EXAMPLE.splitlines()[1:]
        ],
        level="nominal",
    )
    assert result.facts["by_coder"][2]["alpha_without"] == pytest.approx(without_c)
    assert without_c > float(result.scores["alpha"].value or 0)  # C is who differs
    pairs = result.facts["by_pair"]
    assert [(p["first"] + p["second"], p["units"]) for p in pairs] == [
        ("AB", 9), ("AC", 8), ("AD", 9), ("BC", 9), ("BD", 10), ("CD", 10),
    ]  # fmt: skip
    assert result.scores["cohen_kappa"].value == pytest.approx(np.mean([p["cohen_kappa"] for p in pairs]))
    assert "as many ratings for every unit, found from 1 to 4" in result.scores["fleiss_kappa"].why
    assert result.facts["by_value"][0] == {"value": "1", "judgements": 9, "majority": 3}


def test_two_coders_with_labels_in_order() -> None:
    Path("t.csv").write_text("id,a,b\n1,low,low\n2,low,mid\n3,high,high\n4,,high\n5,,\n")
    result = score_agreement(Path("t.csv"), ["a", "b"], measurement="ordinal", order=("low", "mid", "high"))
    # places (0, 0), (0, 1), (2, 2): squared distances 1/3 in the mean; by chance, a with 0 0 2 and b with 0 1 2:
    # (2 (0 + 1 + 4) + (4 + 1 + 0)) / 9 = 15/9
    assert result.scores["cohen_kappa"].value == pytest.approx(1 - (1 / 3) / (15 / 9))
    assert "alpha_without" not in result.facts["by_coder"][0]
    assert (result.facts["ties"], result.facts["unrated"]) == (1, 1)
    assert any("1 unit without a majority" in note for note in result.notes)


def test_many_different_numbers_are_no_categories() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=(MANY_VALUES, 2))
    scores = agreement_scores(ratings, "interval", NO)
    assert scores["alpha"].value == pytest.approx(krippendorff_alpha(ratings, level="interval"))
    assert "2,000 different values" in scores["cohen_kappa"].why
    np.savetxt("t.csv", ratings, delimiter=",", header="a,b", comments="")
    assert "by_pair" not in score_agreement(Path("t.csv"), ["a", "b"], measurement="interval", ci=0.0).facts


def test_no_judgement_at_all() -> None:
    Path("t.csv").write_text("id,a,b\nu,,\n")
    found = score_agreement(Path("t.csv"), ["a", "b"])
    assert all(score.value is None for score in found.scores.values())
    assert "no unit was rated by two coders" in found.scores["alpha"].why
    json.loads(to_json(found.to_dict()))


def test_coders_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show(annotate.agreement(example(), CODERS), [], markdown=False)
    said = capsys.readouterr()
    for text in ("coders.csv: 12 units by 4 coders", "alpha without", "Pairs of coders", "units by majority"):
        assert text in said.out
    assert "7 of 48 judgements are missing" in said.err


# ---------------------------------------------------------------- majority


def test_the_majority_is_a_column() -> None:
    Path("t.csv").write_text("id,text,a,b,c\nu,x,yes,no,yes\nv,y,no,yes,\nw,z,,,\n;,,no,,\n")
    whole, counts = majority(Path("t.csv"), ["a", "b", "c"])
    assert whole.column_names == ["id", "text", "a", "b", "c", "label", "label_share"]
    assert whole.column("label").to_pylist() == ["yes", None, None, "no"]
    assert whole.column("label_share").to_pylist() == [pytest.approx(2 / 3), 0.5, None, 1.0]
    assert counts == {"labelled": 2, "ties": 1, "unrated": 1}
    first, counts = majority(Path("t.csv"), ["a", "b", "c"], column="vote", ties="first")
    assert first.column("vote").to_pylist() == ["yes", "no", None, "no"]
    assert counts == {"labelled": 3, "ties": 1, "unrated": 1}
    ordered, _ = majority(Path("t.csv"), ["a", "b", "c"], ties="first", order=["yes", "no"])
    assert ordered.column("label").to_pylist()[1] == "yes"
    with refuses("column"):
        majority(Path("t.csv"), ["a", "b"], column="text")


def test_numbers_make_labels_as_csv_has_them() -> None:
    pq.write_table(pa.table({"a": [1.0, 2.5], "b": [1.0, None]}), "t.parquet")
    whole, _ = majority(Path("t.parquet"), ["a", "b"])
    assert whole.column("label").to_pylist() == ["1", "2.5"]
    assert whole.schema.field("a").type == pa.float64()


def test_blank_lines_get_no_label() -> None:
    Path("t.csv").write_text("id;a;b\nu;x;x\n;;\nv;y;y\n")
    whole, _ = majority(Path("t.csv"), ["a", "b"])
    assert whole.select(["id", "label"]).to_pylist() == [{"id": "u", "label": "x"}, {"id": "v", "label": "y"}]


def test_what_is_written_is_a_document_table(capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"id": ["u", "v"], "text": ["one", "two"], "a": ["x", "y"], "b": ["x", "z"]})
    before = footer_block("documents", command="preprocess", parameters={"lower": True}, seed=None, inputs=[])
    write_table(Path("t.parquet"), table, before)
    counts = write_majority(Path("t.parquet"), ["a", "b"], column="label", output=Path("out.parquet"))
    assert counts == {"labelled": 1, "ties": 1, "unrated": 0}
    assert "wrote out.parquet: 1 of 2 units have a majority label (1 tie)" in capsys.readouterr().err
    documents = open_documents(["out.parquet"]).read_all()
    assert documents.column("label").to_pylist() == ["x", None]
    block = footer("out.parquet")
    assert (block["kind"], block["parameters"]) == ("documents", {"annotators": ["a", "b"], "majority": "label"})
    assert [step["command"] for step in block["steps"]] == ["preprocess"]
    assert block["inputs"][0]["rows"] == 2
    with pytest.raises(OutputExistsError):
        write_majority(Path("t.parquet"), ["a", "b"], column="label", output=Path("out.parquet"))
    with pytest.raises(UsageError, match="is not a format of nlpkit"):
        write_majority(Path("t.parquet"), ["a", "b"], column="label", output=Path("out.rds"))


def test_without_texts_it_is_a_table_of_annotations() -> None:
    Path("t.csv").write_text("a,b\nx,x\n")
    write_majority(Path("t.csv"), ["a", "b"], column="vote", output=Path("out.parquet"), ties="first")
    assert footer("out.parquet")["kind"] == "annotations"
    assert footer("out.parquet")["parameters"] == {"annotators": ["a", "b"], "majority": "vote", "ties": "first"}


# ---------------------------------------------------------------- Dawid and Skene


def test_dawid_skene_weighs_coders(capsys: pytest.CaptureFixture[str]) -> None:
    right = ["yes", "no"] * 10
    rows = ["id,good,also,random"]
    rows += [f"u{n},{label},{label},{'yes' if n % 4 < 2 else 'no'}" for n, label in enumerate(right)]
    rows += ["t1,yes,,no", "t2,,,"]
    Path("t.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    table, counts = majority(Path("t.csv"), ["good", "also", "random"], method="dawid-skene")
    assert table.column_names[-3:] == ["label", "label_prob", "label_entropy"]
    assert table.column("label").to_pylist() == [*right, "yes", None]  # by votes t1 is a tie
    assert table.column("label_prob").to_pylist()[-2:] == [pytest.approx(1.0), None]
    assert table.column("label_entropy").to_pylist()[-2:] == [pytest.approx(0.0, abs=1e-6), None]
    assert (counts["labelled"], counts["ties"], counts["unrated"]) == (21, 0, 1)
    accuracies = [one["accuracy"] for one in counts["coders"]]
    assert accuracies == pytest.approx([1.0, 1.0, 0.5], abs=0.03)
    assert counts["coders"][0]["confusion"]["yes"] == pytest.approx({"yes": 1.0, "no": 0.0}, abs=1e-6)
    write_majority("t.csv", ["good", "also", "random"], output="out.parquet", method="dawid-skene")
    assert "21 of 22 units have a probable label (1 without a judgement)" in capsys.readouterr().err
    assert footer(Path("out.parquet"))["parameters"]["method"] == "dawid-skene"
    with pytest.raises(UsageError, match="votes"):
        majority("t.csv", ["good", "also"], method="vote")
    with pytest.raises(UsageError, match="already has a column 'good'; give the majority label another name"):
        majority("t.csv", ["good", "also"], column="good", method="dawid-skene")


def test_soft_labels() -> None:
    Path("t.csv").write_text("id,a,b,c,d\nu,x,x,y,\nv,y,y,y,y\nw,,,,\n")
    coders = ["a", "b", "c", "d"]
    table, _ = majority(Path("t.csv"), coders, soft=True)
    assert table.column_names[-4:] == ["label", "label_share", "label_entropy", "label_probabilities"]
    assert table.column("label_probabilities").to_pylist() == [
        {"x": pytest.approx(2 / 3), "y": pytest.approx(1 / 3)},
        {"x": 0.0, "y": 1.0},
        None,
    ]
    entropy = -(2 / 3) * np.log(2 / 3) - (1 / 3) * np.log(1 / 3)
    assert table.column("label_entropy").to_pylist() == [pytest.approx(entropy), 0.0, None]
    skene, _ = majority(Path("t.csv"), coders, soft=True, method="dawid-skene")
    names = ["label", "label_prob", "label_entropy", "label_probabilities"]
    assert skene.column_names[-4:] == names
    first = skene.column("label_probabilities").to_pylist()
    assert first[2] is None
    for row, prob in zip(first[:2], skene.column("label_prob").to_pylist(), strict=False):
        assert sum(row.values()) == pytest.approx(1.0)
        assert max(row.values()) == prob
    write_majority("t.csv", coders, output="out.parquet", soft=True)
    assert footer(Path("out.parquet"))["parameters"]["soft"] is True
    with pytest.raises(UsageError, match="already"):
        majority(Path("out.parquet"), coders, column="label_probabilities"[:5], soft=True)


def test_a_data_frame_of_judgements_is_no_list_of_files() -> None:
    with pytest.raises(UsageError, match="tables are read from files"):
        annotate.agreement(pa.table({"a": ["x"], "b": ["x"]}), ["a", "b"])  # type: ignore[arg-type]
