"""Reviews of topics by several people: agreement by hand-computed examples, what differs, and the file of what all decided."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import nlpkit as nk
from nlpkit.errors import InputError, UsageError
from tests.command_line import SAMPLES, run_cli

TOPICS = "[topics]\n" + "".join(f'{k} = {{ name = "n{k}", words = ["a{k}", "b{k}"] }}\n' for k in range(6))


def review(name: str, text: str, topics: str = TOPICS) -> Path:
    path = Path(f"{name}.toml")
    path.write_text(f'coder = "{name}"\n{text}\n{topics}', encoding="utf-8")
    return path


def judged(values: str) -> str:
    names = {"u": "understood", "m": "mixed", "j": "junk"}
    return "[judgements]\n" + "".join(f'{k} = "{names[v]}"\n' for k, v in enumerate(values) if v != "-")


def test_agreement_on_judgements_is_that_of_the_formulas() -> None:
    result = nk.review_agreement([review("ann", judged("uummjj")), review("bob", judged("uumjju"))])
    judgement = result.evaluation.targets[0]
    # ann: 2 of each; bob: 3 u, 1 m, 2 j; four of six alike, by chance 1/3 of the time: (2/3 - 1/3) / (1 - 1/3)
    assert judgement.scores["percent_agreement"].value == pytest.approx(4 / 6)
    assert judgement.scores["cohen_kappa"].value == pytest.approx(0.5)
    # twelve values, 5 u, 3 m, 4 j: 1 - 11 · 4 / (144 - 25 - 9 - 16), for two ordered pairs of each disagreement
    assert judgement.scores["alpha"].value == pytest.approx(1 - 11 * 4 / 94)
    rows = result.evaluation.tables["By judgement"].to_pylist()
    assert [(row["given"], row["by all"]) for row in rows] == [(5, 2), (3, 1), (4, 1)]
    # junk against the rest: both 2 of 6; agreed on 4 of 6, by chance 4/36 + 16/36
    assert rows[2]["Cohen's kappa"] == pytest.approx((4 / 6 - 20 / 36) / (16 / 36))
    listed = [(row["topic"], row["ann"], row["bob"]) for row in result.disagreements.to_pylist()]
    assert listed == [(3, "mixed", "junk"), (5, "junk", "understood")]


def test_merges_are_compared_as_pairs_and_joined_as_what_is_common() -> None:
    ann = review("ann", "merge = [[2, 5, 1]]\nhide = [0, 4]")
    bob = review("bob", "merge = [[5, 2], [3, 1]]\nhide = [0]")
    result = nk.review_agreement([ann, bob])
    merges = result.evaluation.targets[2]
    # pairs: ann 2-5, 1-2, 1-5; bob 2-5, 1-3; alike but for three of fifteen
    assert merges.scores["percent_agreement"].value == pytest.approx(12 / 15)
    chance = (3 * 2 + 12 * 13) / 225
    assert merges.scores["cohen_kappa"].value == pytest.approx((0.8 - chance) / (1 - chance))
    joined = tomllib.loads(result.joined())
    assert joined["merge"] == [[2, 5]]
    assert joined["hide"] == [0]
    assert joined["open"]["1"] == ["merge: ann 1 + 2 + 5, bob 1 + 3"]
    assert joined["open"]["4"] == ["show: ann hidden, bob shown"]


def test_what_all_decided_is_written_and_what_is_open() -> None:
    ann = review(
        "ann", '[rename]\n0 = "Prices"\n1 = "Courts"\n[split]\n3 = 2\n[notes]\n2 = "same"\n4 = "x"\n' + judged("um")
    )
    bob = review(
        "bob", '[rename]\n0 = "prices "\n1 = "Law"\n[split]\n3 = 3\n[notes]\n2 = "same"\n4 = "y"\n' + judged("u-")
    )
    joined = tomllib.loads(nk.review_agreement([ann, bob]).joined())
    assert joined["rename"] == {"0": "Prices"}
    assert joined["judgements"] == {"0": "understood"}
    assert joined["notes"] == {"2": "same", "4": "ann: x; bob: y"}
    assert joined["open"] == {
        "1": ["judgement: ann mixed, bob none", "name: ann Courts, bob Law"],
        "3": ["split: ann 2 parts, bob 3 parts"],
    }
    assert {"split", "merge", "hide"}.isdisjoint(joined)


def test_three_coders_agree_where_all_do() -> None:
    files = [review(name, judged(values)) for name, values in (("a", "uuj"), ("b", "uuj"), ("c", "uum"))]
    result = nk.review_agreement(files)
    assert "fleiss_kappa" in result.evaluation.targets[0].scores
    assert tomllib.loads(result.joined())["judgements"] == {"0": "understood", "1": "understood"}


def test_bad_files_are_refused() -> None:
    ann = review("ann", judged("u"))
    for text, topics, says in (
        ("merge = [[0, 1], [1, 0]]", TOPICS, "topic 1 is in two merges"),
        ("merge = [[0, 1], [1, 2], [2, 0]]", TOPICS, "is in two merges"),
        ("hide = [1]\ndrop = [1]", TOPICS, "topic 1 is both hidden and dropped"),
        ("hide = [9]", TOPICS, "which"),
        (judged("u"), "", r"\[topics\] does not list the topics"),
        (judged("u"), TOPICS.replace('"a0"', '"other"'), "different runs"),
    ):
        with pytest.raises(InputError, match=says):
            nk.review_agreement([ann, review("bob", text, topics)])
    with pytest.raises(InputError, match="two reviews by 'ann'"):
        nk.review_agreement([ann, ann])
    with pytest.raises(UsageError, match="two people or more"):
        nk.review_agreement([ann])


def test_the_command_line() -> None:
    samples = [SAMPLES / f"review_{name}.toml" for name in ("anna", "ben")]
    done = run_cli("annotate", "agree", *samples, "--join", "agreed.toml", "--json", "-q").json()
    assert [target["target"] for target in done["targets"]] == ["judgement", "hidden or dropped", "merges"]
    assert done["targets"][0]["metrics"]["cohen_kappa"]["value"] == pytest.approx(0.8)
    run_cli("annotate", "agree", *samples, "--join", "agreed.toml", code=2)  # it is there
    shown = run_cli("annotate", "agree", *samples, "--fail-under", "alpha=0.9", code=1).out
    assert "Disagreements" in shown
    run_cli("annotate", "agree", *samples, "--annotators", "a,b", code=2)
    run_cli("annotate", "agree", SAMPLES / "coders.csv", "--annotators", "anna,ben", "--join", "x.toml", code=2)
