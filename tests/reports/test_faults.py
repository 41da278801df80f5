"""Reports of faults, bad input and attacks: each kind that was tried, those that held and those that were mended (nlpkit#53, faults)."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit import errors
from nlpkit.embed.models import folder_problem
from nlpkit.errors import InputError, UsageError, is_shortage
from nlpkit.platform import wording
from nlpkit.platform.cli import config
from nlpkit.platform.interrupts import report_checkpoint_on_interrupt
from tests.command_line import run_cli, write_jsonl

TEXTS = [f"{'river bank water boat' if i % 2 else 'judge court law trial'} {i % 5}" for i in range(12)]
ESCAPES = "\x1b]52;c;ZXZpbA==\x07\x9b2J\x7f\r\u202e\u2066"  # clipboard (OSC 52), C1, DEL, carriage return, Trojan Source (CVE-2021-42574)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{"id": f"d{i}", "text": text, "label": f"{ESCAPES}{'ab'[i % 2]}"} for i, text in enumerate(TEXTS)]
    return write_jsonl(tmp_path_factory.mktemp("faults") / "docs.jsonl", rows)


@pytest.fixture(scope="module")
def run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("faults") / "lda"
    nk.fit_lda(nk.read_corpus(corpus), k=2, sweeps=5, stop_words="none", min_df=1).save(place)
    return place


def sealed(run: Path, target: Path, name: str, table: pa.Table) -> Path:
    """Copy a run with another table in it, whose sha256 its manifest has."""
    import shutil

    shutil.copytree(run, target)
    old = pq.ParquetFile(run / name).schema_arrow.metadata
    pq.write_table(table.replace_schema_metadata(old), target / name)
    manifest = json.loads((target / "manifest.json").read_text())
    manifest["outputs"][name] = hashlib.sha256((target / name).read_bytes()).hexdigest()
    (target / "manifest.json").write_text(json.dumps(manifest))
    return target


# Zip Slip, CVE-2007-4559 (tarfile): a name in an archive, here in a manifest, that leaves the folder
def test_a_run_that_names_files_elsewhere_is_not_copied(run: Path, tmp_path: Path) -> None:
    import shutil

    bad, target = tmp_path / "dl" / "x" / "run", tmp_path / "proj" / "work" / "named"
    shutil.copytree(run, bad)
    (tmp_path / "dl" / ".bashrc").write_text("echo evil")
    target.parent.mkdir(parents=True)
    (tmp_path / "proj" / ".bashrc").write_text("mine")
    manifest = json.loads((bad / "manifest.json").read_text())
    manifest["outputs"]["../../.bashrc"] = hashlib.sha256(b"echo evil").hexdigest()
    (bad / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "names.csv").write_text("topic,name\n0,River\n1,Court\n")
    names = tmp_path / "names.csv"
    for command in (
        ["name", bad, "--names", names, "-o", target],
        ["info", bad],
        ["predict", bad, names, "-o", "p.parquet"],
    ):
        assert "lies outside of the run directory" in run_cli(*command, code=3).err
    assert (tmp_path / "proj" / ".bashrc").read_text() == "mine"


# "escape sequence injection": CVE-2003-0063 and later; ls and less show such characters
@pytest.mark.parametrize(
    "command", [["stats", "--by", "label"], ["ctfidf", "--by", "label"], ["kwic", "river", "--by", "label"], ["info"]]
)
def test_tables_for_people_pass_no_sequence_on(command: list[str], corpus: Path, tmp_path: Path) -> None:
    end = ["-o", tmp_path / "out.parquet"] if command[0] == "ctfidf" else []
    place = (
        [command[0], *command[1:2], corpus, *command[2:]]
        if command[0] == "kwic"
        else [command[0], corpus, *command[1:]]
    )
    result = run_cli(*place, *end)
    assert not set(ESCAPES) & set(result.out + result.err) - {"a", "b", *wording.visible(ESCAPES)}
    if "label" in command:
        assert "\\x1b]52" in result.out


def test_json_stays_json(corpus: Path) -> None:
    groups = run_cli("stats", corpus, "--by", "label", "--json").out
    assert r"\u001b]52" in json.dumps(json.loads(groups))
    assert json.loads(wording.visible_json(json.dumps(ESCAPES, ensure_ascii=False))) == ESCAPES


def test_what_languages_need_is_left_alone() -> None:
    for text in ("می‌خواهم", "👩‍🚀", "naïve", "日本語\tund\nmehr", "soft\xadhyphen"):
        assert wording.visible(text) == text


# limits of batch systems and containers: each is a shortage, not a bug
@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError("Could not find/load shared object file 'libllvmlite.so'"),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
        OSError(12, "Cannot allocate memory"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
        ),
        pa.ArrowMemoryError("malloc of size 64 failed"),
    ],
)
def test_a_shortage_of_memory_is_no_bug(error: Exception) -> None:
    assert is_shortage(error)
    outer = ValueError("in between")
    outer.__cause__ = error
    assert is_shortage(outer)


def test_other_errors_are_no_shortage() -> None:
    for error in (
        ValueError("out of memory"),
        OSError(2, "No such file"),
        RuntimeError("shape mismatch"),
        KeyError("memory allocation"),
    ):
        assert not is_shortage(error)


# a key of a language model in the environment is no misspelt option
def test_the_documented_key_is_known(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("NLPKIT_LLM_KEY", "sk-1")
    monkeypatch.setenv("NLPKIT_LLM_KEYS", "sk-1")
    config.check_environment()
    assert [record.getMessage().split()[3] for record in caplog.records] == ["NLPKIT_LLM_KEYS"]


# file names are bytes on Linux: those that are no UTF-8 can be read, and are refused as an output
def test_file_names_that_are_no_utf_8(corpus: Path, tmp_path: Path) -> None:
    source = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl")
    Path(source).write_bytes(corpus.read_bytes())
    run_cli("preprocess", source, "-o", tmp_path / "out.parquet", "--min-df", 1, "-q")
    done = run_cli("preprocess", corpus, "-o", os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet"), "-q", code=2)
    assert "the name is not valid UTF-8" in done.err


def test_a_number_of_threads_that_is_none(corpus: Path) -> None:
    done = run_cli("stats", corpus, "-q", env={"NUMBA_NUM_THREADS": "0"}, code=2)
    assert "NUMBA_NUM_THREADS=0 is not a number of threads" in done.err


# CVE-2026-68770: sentence-transformers before 6 imports what the modules.json of a local folder names
@pytest.mark.parametrize(
    ("modules", "says"),
    [
        ('[{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}]', "'evil.Evil', which is code of the model's own"),
        ('[{"type": "sentence_transformers_evil.X"}]', "code of the model's own"),
        ('{"type": 3}', "lists no modules"),
        ("[" * 100_000, "lists no modules"),
    ],
)
def test_a_model_that_brings_code_is_refused(modules: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text(modules)
    (tmp_path / "evil.py").write_text("raise SystemExit('this ran')")
    assert says in str(folder_problem(tmp_path))


# broken and forged runs: never a crash, never a number that no one computed
@pytest.mark.parametrize("kind", ["gsdmm", "biterm"])
def test_arrays_of_another_length_are_refused(kind: str, corpus: Path, tmp_path: Path) -> None:
    fitted = getattr(nk, f"fit_{kind}")(nk.read_corpus(corpus), k=3, iterations=3, stop_words="none", min_df=1)
    fitted.save(tmp_path / "run")
    name = {"gsdmm": "model/sizes.parquet", "biterm": "model/shares.parquet"}[kind]
    table = pq.ParquetFile(tmp_path / "run" / name).read()
    for i, other in enumerate((pa.concat_tables([table, table]), table.slice(0, 1), table.slice(0, 0))):
        with pytest.raises(InputError, match="is damaged"):
            nk.load(sealed(tmp_path / "run", tmp_path / str(i), name, other)).predict(TEXTS)


def test_a_table_without_its_column_is_said_to_be_damaged(run: Path, tmp_path: Path) -> None:
    bad = sealed(run, tmp_path / "bad", "model/topic_term.parquet", pa.table({"topic": [0], "term_id": [0]}))
    with pytest.raises(InputError, match="is damaged"):
        nk.load(bad).predict(TEXTS)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    rows = [{"id": f"d{i}", "text": text, "label": "ab"[i % 2 if i > 2 else 0]} for i, text in enumerate(TEXTS)]
    write_jsonl(folder / "docs.jsonl", rows)
    run_cli("classify", folder / "docs.jsonl", "--model", "nb", "--cv", 2, "--min-df", 1, "-q", "-o", folder / "nb")
    return folder / "nb"


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("class_terms", ("class", "term")),
        ("classes", ("class", "training_documents", "precision", "recall", "f1", "labels", "predicted")),
        ("errors", ("id", "label", "prediction")),
    ],
)
def test_a_report_of_a_table_without_its_column_is_of_a_damaged_run(
    table: str, columns: tuple[str, ...], classifier: Path, tmp_path: Path
) -> None:
    name = f"{table}.parquet"
    whole = pq.ParquetFile(classifier / name).read()
    assert whole.num_rows
    for column in columns:
        bad = sealed(classifier, tmp_path / column, name, whole.drop_columns([column]))
        assert "is damaged" in run_cli("report", bad, "-o", tmp_path / "page.html", code=3).err


@pytest.mark.parametrize(
    ("table", "column", "values"), [("class_terms", "term", range(99)), ("classes", "precision", ["x"] * 9)]
)
def test_a_report_of_a_table_of_another_type_is_of_a_damaged_run(
    table: str, column: str, values: Any, classifier: Path, tmp_path: Path
) -> None:
    name = f"{table}.parquet"
    whole = pq.ParquetFile(classifier / name).read()
    other = pa.array(list(values)[: whole.num_rows])
    bad = sealed(classifier, tmp_path / "run", name, whole.set_column(whole.column_names.index(column), column, other))
    assert "is damaged" in run_cli("report", bad, "-o", tmp_path / "page.html", code=3).err


# what can switch a check off, or be a slip, is said
def test_a_check_that_is_switched_off_is_said(run: Path, corpus: Path, tmp_path: Path) -> None:
    off: dict[str, str | None] = {"NLPKIT_VERIFY": "0"}
    done = run_cli("predict", run, corpus, "-q", "-o", tmp_path / "out.parquet", env=off)
    assert "VERIFY is set: runs are read even if their files were" in done.err
    done = run_cli("predict", run, corpus, "-q", "-o", tmp_path / "on.parquet", env={"NLPKIT_VERIFY": "1"})
    assert "NLPKIT_VERIFY" not in done.err


def test_a_variable_without_a_name_is_no_misspelt_option(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NLPKIT_", "1")
    config.check_environment()
    (record,) = caplog.records
    assert record.getMessage() == "the environment variable NLPKIT_ is not an option of nlpkit and is ignored"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_after_the_end_of_the_work_comes_too_late() -> None:
    code = (
        "import os, signal, atexit\n"
        "from nlpkit.platform.interrupts import catch_ending_signals, ignore_ending_signals\n"
        "catch_ending_signals(); ignore_ending_signals()\n"
        "class Last:\n"
        "    def __del__(self, kill=os.kill, pid=os.getpid()): kill(pid, 15)\n"
        "last = Last()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), InputError("cannot write x: No space left on device")]
)
def test_a_full_disk_names_what_is_saved(error: Exception, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        with report_checkpoint_on_interrupt("training", tmp_path):
            raise error

    with pytest.raises(type(error)):
        fail()
    assert f"the training is saved in {tmp_path}: the same command with `resume` goes on with it" in caplog.text


def test_words_of_an_example_are_no_markdown() -> None:
    example = nk.explain_transformer(text="<script> [x](javascript:1)")
    assert "<script" not in example.markdown()
    assert "[x](" not in example.markdown().replace("\\[", "")


# limits of options hold on every path (A1)
def test_limits_hold_for_whole_records() -> None:
    from nlpkit.topics.gsdmm.options import GsdmmOptions
    from nlpkit.topics.hdp.options import HdpOptions
    from nlpkit.topics.matrix.options import PlsaOptions

    for make in (
        lambda: HdpOptions(iterations=3, min_share=7.0),
        lambda: PlsaOptions(k=3, iterations=0),
        lambda: GsdmmOptions(k=3, iterations=0),
        lambda: nk.Execution(threads=-2),
        lambda: nk.fit_plsa(TEXTS, k=2, tolerance=float("nan")),
        lambda: nk.cluster(TEXTS, k=2, by="tfidf", seed=-1),
    ):
        with pytest.raises(UsageError):
            make()


# Windows has no `resource`, SIGALRM and others: modules can be imported without
def test_modules_load_without_what_windows_lacks() -> None:
    code = (
        "import sys, signal; sys.modules['resource'] = None; del signal.SIGALRM, signal.setitimer, signal.ITIMER_REAL\n"
        "import nlpkit.platform.runs.runs, nlpkit.explore.stats.run, nlpkit.topics.over_time.run, nlpkit.platform.documents.regex as r\n"
        "with r.limited('a', 5): print('ok')"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "ok\n", done.stderr


# what held: one cheap call of a kind
@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param(
            "a.xml",
            '<!DOCTYPE a [<!ENTITY x "xx"><!ENTITY y "&x;&x;&x;">]><a><text>&y;</text></a>',
            id="billion laughs",
        ),
        pytest.param(
            "b.xml",
            '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a><text>&x;</text></a>',
            id="external entity",
        ),
        pytest.param("c.jsonl", "[" * 100_000, id="JSON nested 100,000 deep"),
        pytest.param("d.jsonl", '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n', id="an id twice"),
        pytest.param("e.jsonl", '{"text": "x"\n', id="JSON cut off"),
        pytest.param("f.csv", 'text\n"open', id="a quotation mark that is never closed"),
    ],
)
def test_bad_input_ends_with_one_line(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    done = run_cli("preprocess", tmp_path / name, "-o", tmp_path / "out.parquet", "--min-df", 1, "-q", code=None)
    assert done.code in (0, 3)
    assert "root:" not in done.out + done.err
    assert len(done.err.splitlines()) == (done.code == 3)


@pytest.mark.parametrize("place", ["/dev/full", "..", "."])
def test_places_that_cannot_be_written_are_refused(
    place: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_cli("lda-gibbs", corpus, "--k", 2, "--sweeps", 2, "-q", "-o", place, "--force", code=None)
    assert result.code in (2, 3)
    assert "a bug in nlpkit" not in result.err


def test_an_error_shows_what_steers_a_terminal() -> None:
    assert str(errors.InputError(f"a file {ESCAPES}")).isprintable()


@pytest.mark.parametrize("formula", ["(" * 5000 + "label" + ")" * 5000, "__import__('os')"])
def test_formulas_that_are_none(formula: str) -> None:
    from nlpkit.topics.effects.formula import parse_formula

    with pytest.raises(UsageError):
        parse_formula(formula)


def test_a_seed_may_be_any_number(corpus: Path) -> None:
    seeds: Any = [2**32, 99999999999999999999]
    for seed in seeds:
        assert nk.cluster(nk.read_corpus(corpus), k=2, by="tfidf", stop_words="none", min_df=1, seed=seed) is not None
