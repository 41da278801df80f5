"""The messages of the command line: one file holds them all, and the command lines that print them.

Each line of messages.txt that begins with "$ " is a command line; below it stand its standard error and, unless it is 0, its exit code.
A section ("## bertopic") runs in a folder of its own, which holds the files that `prepare` writes.

After a message was changed, or a command line added:  python -m tests.platform.cli.test_messages
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nlpkit.platform.cli import console
from tests.command_line import has_minilm, planted_rows, run_cli, write_embedded, write_jsonl

MESSAGES = Path(__file__).with_name("messages.txt")
NEURAL = {
    "bertopic",
    "sbert-embed",
    "finetune",
    "train-encoder",
    "train-tokenizer",
    "pretrain",
}  # sections whose commands need the extra of that name


def sections(text: str) -> dict[str, str]:
    """Return the sections of the file by their titles; what precedes the first has the title ""."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def prepare(folder: Path) -> None:
    """Write the corpora, lists and runs that the command lines name."""
    rows = planted_rows(10)
    write_embedded(folder / "embedded.parquet", planted_rows())
    docs = [{key: value for key, value in row.items() if key != "embedding"} for row in rows]
    write_jsonl(folder / "docs.jsonl", docs)
    write_jsonl(folder / "one.jsonl", docs[:1])
    write_embedded(folder / "newer.parquet", [{**row, "id": f"n{i}"} for i, row in enumerate(planted_rows(3, seed=5))])
    write_jsonl(folder / "stop-words-only.jsonl", [{"text": "the and of what it was that they were"}, {"text": " 12 "}])
    write_jsonl(folder / "no-labels.jsonl", [{**row, "label": None} for row in docs])
    write_jsonl(folder / "one-label.jsonl", [{**row, "label": "x"} for row in docs])
    write_jsonl(folder / "some-labels.jsonl", [*docs, {"id": "u", "text": "the river"}, {"id": "v", "text": None}])
    write_jsonl(folder / "same-id.jsonl", [docs[0], docs[0]])
    write_jsonl(folder / "lists.jsonl", [{**row, "label": ["a", "b"]} for row in docs])
    write_jsonl(folder / "text-is-number.jsonl", [{"id": "a", "text": 3}])
    write_jsonl(folder / "tokens-are-text.jsonl", [{"text": "x", "label": label, "tokens": label} for label in "ab"])
    for name, text in {
        "empty.jsonl": "",
        "broken.jsonl": '{"text": "a"}\n{"text": \n',
        "header-only.csv": "id,text\n",
        "ragged.csv": "id,text\na,b\nc,d,e\n",
        "twice.csv": "text,text\na,b\n",
        "paper.pdf": "%PDF-1.4\n",
        "no.parquet": "PAR1 nothing PAR1",
        "notes.txt": "mine\n",
        "stop.txt": "river\n/(/\n",
        "rules.txt": "a\tb\tc\n",
        "one-word.txt": "sea\n",
        "vectors.txt": "river 1 0\nbridge 0.9 0.1\njudge 0 1\n",
        "sets.toml": "[attributes]\nwet = ['river']\ndry = ['desert']\n",
        "rated.txt": "river bridge 8\nriver judge 1\nbridge judge 2\nsea judge 2\n",
        "lexicon.tsv": "word\tweight\ngood\t2\nbad\t-2\n",
        "no-words.txt": "; nothing\n",
        "topics.txt": "river bridge water boat\njudge jury court trial\n",
        "predictions.csv": "id,label,prediction,prediction_prob\na,x,x,0.9\nb,y,x,0.6\nc,y,y,0.8\nd,x,x,0.7\n",
        "numbers.csv": "id,label,prediction\na,x,0.5\nb,2,1.5\n",
        "no-truth.csv": "id,label,prediction\na,,x\nb,,y\n",
        "coders.csv": "id,anna,ben\na,x,x\nb,y,x\nc,x,\n",
        "bad.toml": "seed = \n",
        "unknown.toml": '[preprocess]\nmin-dff = 2\n\n[bertopik]\nk = "auto"\n',
        "wrong.toml": '[preprocess]\nlimit = "many"\n',
        "baseline.json": "{}\n",
        "seeds.toml": "topics = 3\n",
        "ends.toml": "positive = ['river']\nnegative = ['judge', 'nosuchword']\n",
        "left-right.csv": "id,score\np000,-1\np001,left\n",
        "nobody.csv": "id,score\nx1,-1\nx2,1\n",
        "two-merges.toml": "merge = [[0, 1], [1, 2]]\n",
        "no-topic.toml": "drop = [9]\n",
        "no-name.toml": 'merge = [["here", "there"]]\n',
        "merged-and-dropped.toml": "merge = [[0, 1]]\ndrop = [1]\n",
        "no-key.toml": "merg = [[0, 1]]\n",
        "no-groups.toml": "merge = [0, 1]\n",
        "no-edit.toml": "# drop = [1]\n",
        "split.toml": "split = { 1 = 2 }\ndrop = [0]\n",
        "same-name.toml": '[rename]\n0 = "A"\n1 = "A"\n',
        "of-another-fit.toml": 'drop = [0, 2]\n[topics]\n2 = { name = "x", words = ["castle", "ghost"] }\n',
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_bytes("id,text\na,café über Straße\n".encode("latin-1"))
    (folder / "zeros.txt").write_bytes(bytes(64))
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    with contextlib.chdir(folder):
        run_cli("lda-gibbs", "docs.jsonl", "--k", "4", "--sweeps", "20", "-q", "-o", "lda")
        run_cli("lda-gibbs", "docs.jsonl", "--k", "4", "--sweeps", "20", "--save-assignments", "-q", "-o", "assigned")
        run_cli("rolling-lda", "docs.jsonl", "--k", "4", "--sweeps", "20", "--chunks", "year", "-q", "-o", "rolling")
        run_cli("classify", "docs.jsonl", "--model", "nb", "-q", "-o", "classes")
        run_cli("classify", "docs.jsonl", "--model", "svm", "-q", "-o", "svm")
        run_cli("tfidf", "docs.jsonl", "-q", "-o", "weights.npz")
        run_cli("preprocess", "docs.jsonl", "-q", "-o", "docs.parquet")
        run_cli("scale", "docs.jsonl", "--method", "ca", "-q", "-o", "scaled")
        run_cli("annotate", "task", "topics.txt", "--kind", "rating", "-q", "-o", "task.html")
        if has_minilm:
            run_cli("bertopic", "embedded.parquet", "--k", "4", "-q", "-o", "topics")
        shutil.copytree("lda", "incomplete")
        Path("incomplete/topics.parquet").unlink()
        shutil.copytree("lda", "changed")
        with Path("changed/topic_terms.parquet").open("ab") as file:
            file.write(b" ")


def command_lines(section: str) -> Iterator[tuple[str, str]]:
    """Yield what precedes each command line of a section, and the command line."""
    before: list[str] = []
    for line in section.splitlines():
        if line.startswith("$ "):
            yield "\n".join(before), line[2:]
            before = []
        elif line.startswith("# "):
            before.append(line)
    if before:
        yield "\n".join(before), ""


def printed(line: str) -> str:
    """Run a command line in the working directory and return its standard error and exit code."""
    words = shlex.split(line)
    variables = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    assert words.pop(0) == "nlpkit", line
    console.use(console.Settings())
    done = run_cli(*words, code=None, env=variables)
    text = done.err.replace(str(Path.cwd()), "FOLDER").replace(sys.executable, "python")
    text = re.sub(r"\bin [0-9.]+ s\b", "in … s", text)
    return text + (f"[exit code {done.code}]\n" if done.code else "")


def replayed(section: str, folder: Path) -> str:
    """Return a section with what its command lines print now, run in a folder; what one of them writes is taken away again."""
    out = ""
    with contextlib.chdir(folder):
        for comment, line in command_lines(section):
            out += f"\n{comment}\n" if comment else "\n"
            there = set(folder.iterdir())
            said = printed(line) if line else ""
            out += f"$ {line}\n{said}" if line else ""
            made = set(folder.iterdir()) - there  # nothing by one that was refused; 1: a gate that failed
            assert not made or "[exit code" not in said or said.endswith("[exit code 1]\n"), (line, made)
            for new in made:
                shutil.rmtree(new) if new.is_dir() else new.unlink()
    return out + "\n"


def renewed(text: str) -> str:
    """Return the whole file with what its command lines print now."""
    with tempfile.TemporaryDirectory() as name:
        first = Path(name) / "prepared"
        first.mkdir()
        prepare(first)
        head, *titles = found = sections(text)
        out = found[head]
        for title in titles:
            folder = Path(shutil.copytree(first, Path(name) / "section"))
            out += f"## {title}\n{replayed(found[title], folder)}"
            shutil.rmtree(folder)
    return out.rstrip("\n") + "\n"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("messages")
    prepare(folder)
    return folder


@pytest.mark.parametrize("title", [title for title in sections(MESSAGES.read_text(encoding="utf-8")) if title])
def test_messages(title: str, prepared: Path, tmp_path: Path) -> None:
    if title in NEURAL and not has_minilm:
        pytest.skip("the extras neural and minilm are not installed")
    section = sections(MESSAGES.read_text(encoding="utf-8"))[title]
    folder = Path(shutil.copytree(prepared, tmp_path / "section"))
    assert replayed(section, folder).strip() == section.strip(), (
        "renew with: python -m tests.platform.cli.test_messages"
    )


def test_every_error_is_one_line_and_no_bug() -> None:
    text = MESSAGES.read_text(encoding="utf-8")
    assert "a bug in nlpkit" not in text
    for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, *rest = [line for line in block.splitlines() if line and not line.startswith("#")]
        errors = [said for said in rest if said.startswith("error: ")]
        failed = rest and rest[-1].startswith("[exit code")
        assert len(errors) >= bool(failed), line


if __name__ == "__main__":
    for name in [name for name in os.environ if name.startswith("NLPKIT_")] + ["COLUMNS", "NO_COLOR", "FORCE_COLOR"]:
        os.environ.pop(name, None)
    MESSAGES.write_text(renewed(MESSAGES.read_text(encoding="utf-8")), encoding="utf-8")
