"""What --json prints is what docs/reference/json-output.md and the schemas say; `run_cli` compares every --json with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import json_output
import pytest

from nlpkit.platform.cli.catalogue import COMMANDS
from tests.command_line import NEWS, ROOT, planted_rows, run_cli, write_embedded

LINES = {
    "preprocess": "preprocess NEWS -o docs.parquet",
    "preprocess --show": "preprocess NEWS --show 2",
    "preprocess --steps": "preprocess NEWS --steps",
    "tfidf": "tfidf NEWS -o weights.parquet",
    "features": "features NEWS --include counts --bins words:3 -o features.parquet",
    "tfidf --lsa": "tfidf NEWS --lsa 5 -o lsa/",
    "ctfidf": "ctfidf NEWS --by label",
    "keyness": "keyness NEWS --target economy --reference courts",
    "stats": "stats NEWS --by label",
    "kwic": "kwic judge NEWS --by label",
    "collocations": "collocations NEWS --node court",
    "cluster": "cluster PLANTED --k 3:5",
    "similar": "similar PLANTED --id p000",
    "similar --pairs": "similar PLANTED --pairs 0.97",
    "embed-words": "embed-words NEWS --method glove --epochs 2 -o vectors/",
    "words odd-one-out": "words odd-one-out VECTORS river bridge court",
    "similar-words": "similar-words work worker",
    "similar-words --in": "similar-words parliment --in NEWS",
    "bertopic": "bertopic PLANTED --k 4 -o run/",
    "bertopic --update": "bertopic NEWER --update RUN -o longer/",
    "lda-gibbs": "lda-gibbs NEWS --k 3:4 --sweeps 10 -o lda/",
    "rolling-lda": "rolling-lda NEWS --k 3 --chunks quarter --sweeps 10 -o rolling/",
    "edit --init": "edit RUN --init",
    "convert": "convert data/samples/topics.txt -o topics.json",
    "classify": "classify NEWS --limit 150 --cv 2 --model auto --budget 5 --fail-under accuracy=0.1 -o nb/",
    "sentiment": "sentiment NEWS --lexicon data/samples/lexicon.tsv -o sentiment.parquet",
    "evaluate": "evaluate data/samples/topics.txt --reference NEWS --metrics npmi,diversity",
    "annotate task": "annotate task data/samples/topics.txt -o task.html",
    "annotate agree": "annotate agree data/samples/coders.csv --annotators anna,ben,chiara",
    "annotate majority": "annotate majority data/samples/coders.csv --annotators anna,ben,chiara -o labels.csv",
    "annotate majority --method": "annotate majority data/samples/coders.csv --annotators anna,ben --method dawid-skene -o x.csv",
    "predict": "predict RUN PLANTED -o predicted.parquet",
    "info": "info RUN",
    "dry-run": "tfidf NEWS -n -o weights.parquet",
}


@pytest.mark.parametrize("form", LINES)
def test_the_output_of_a_command_is_what_its_schema_says(
    form: str, tmp_path: Path, planted: Path, planted_run: Path
) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    newer = [{**row, "id": f"new {row['id']}"} for row in planted_rows(2, seed=8)]
    write_embedded(tmp_path / "newer.parquet", newer)
    (tmp_path / "v.txt").write_text("river 1 0\nbridge 1 1\ncourt 0 -1\n", encoding="utf-8")
    places = {"VECTORS": "v.txt", "NEWS": NEWS, "PLANTED": planted, "RUN": planted_run, "NEWER": "newer.parquet"}
    words = [places.get(word, word) for word in LINES[form].split()]
    assert run_cli(*words, "--json", "-q").json()  # run_cli compares it


def test_every_command_has_a_schema() -> None:
    names = {
        name
        for command, entry in COMMANDS.items()
        for name in ([f"{command} {member}" for member in entry.members] or [command])
    }
    assert set(json_output.schemas()) == names | {"dry-run"}
    for schema in json_output.schema_files().values():
        assert json.loads(schema)["title"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"output": "a.json", "to": "octis", "n_topics": 8}, None),
        ({"output": "a.json", "to": "octis"}, " has no n_topics"),
        ({"output": "a.json", "to": "octis", "n_topics": "8"}, ".n_topics is no integer: '8'"),
        ({"output": "a.json", "to": "octis", "n_topics": 8, "k": 8}, " has k, which is not described"),
        ([], "the output is no object: []"),
    ],
)
def test_a_value_is_compared_with_its_schema(value: Any, problem: str | None) -> None:
    assert json_output.problems_of("convert", value) == ([] if problem is None else [problem])
