"""Options that mean the same on every command: config and environment, output, JSON, quiet, bars, dry run, limit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from nlpkit.platform.cli.options import RunFlags
from nlpkit.topics.bertopic import run as bertopic
from tests.command_line import (
    HARD,
    NEWS,
    Done,
    files,
    footer,
    needs_hdbscan,
    needs_minilm,
    read,
    run_cli,
    run_shell,
    write_jsonl,
)

# ---------------------------------------------------------------- flag > NLPKIT_… > file > default


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `nlpkit bertopic` would fit with, without fitting."""
    seen: dict[str, Any] = {}

    def fit(corpus: Any, *, options: Any, guide: Any, tokens: Any, encoder: Any, execution: Any) -> None:
        seen.update(topics=options, guide=guide, tokens=tokens, encoder=encoder, read=corpus.options, run=execution)
        raise typer.Exit

    monkeypatch.setattr(bertopic, "fit_bertopic", fit)
    return seen


def test_precedence(fitted: dict[str, Any], tmp_path: Path) -> None:
    def seed(*words: str, env: dict[str, str | None] | None = None) -> int:
        run_cli("bertopic", NEWS, *words, env=env)
        found: int = fitted["run"].seed
        return found

    config = tmp_path / "c.toml"
    config.write_text("seed = 1\n")
    both = tmp_path / "both.toml"
    both.write_text("seed = 1\n[bertopic]\nseed = 2\n[ctfidf]\nseed = 3\n")
    assert seed() == 42
    assert seed("--config", str(config)) == 1
    assert seed("--config", str(both)) == 2
    assert seed("--config", str(config), env={"NLPKIT_SEED": "4"}) == 4
    assert seed(env={"NLPKIT_SEED": "4"}) == 4
    assert seed("--config", str(config), "--seed", "5", env={"NLPKIT_SEED": "4"}) == 5
    assert seed("--seed", "5", "--config", str(config)) == 5
    assert seed(env={"NLPKIT_CONFIG": str(config)}) == 1


def test_values_of_a_config_file_reach_the_command(fitted: dict[str, Any], tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(
        'k = "5:20:5"\ncluster = "hdbscan"\nmin-topic-size = 4\nmin_dist = 0.1\nassign_outliers = true\nlower = false\nquiet = true\n'
        'types = ["a=int", "b=string"]\nxml_field = "text=body"\nmin_df = 0.01\nmax_df = 50\noffline = true\nlimit = 7\n'
    )
    run_cli("bertopic", NEWS, "--config", config)
    topics, tokens, read_flags = fitted["topics"], fitted["tokens"], fitted["read"]
    assert (topics.k, topics.min_topic_size, topics.min_dist, topics.assign_outliers) == ("5:20:5", 4, 0.1, True)
    assert (tokens.lower, tokens.min_df, tokens.max_df) == (False, "0.01", "50")
    assert (read_flags.types, read_flags.xml_fields) == ((("a", "int"), ("b", "string")), (("text", "body"),))
    assert (read_flags.limit, fitted["run"].quiet, fitted["encoder"].offline) == (7, True, True)
    run_cli("bertopic", NEWS, "--config", config, "--lower", "--k", "3")
    assert (fitted["tokens"].lower, fitted["topics"].k) == (True, "3")


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        ("sed = 7", 2, "'sed' is not an option of 'preprocess'; did you mean 'seed'?"),
        (
            "qqqqqq = 7",
            2,
            "'qqqqqq' is not an option of 'preprocess' (known: auto_stop, categories, date_col, date_format, ",
        ),
        ("k = 5", 2, "'k' is not an option of 'preprocess'; put it below a line [bertopic]"),
        ("[bertopik]\nk = 5", 2, "'bertopik' is not a command; did you mean 'bertopic'?"),
        ("[bertopic]\nsed = 5", 2, "'sed' is not an option of 'bertopic'; did you mean 'seed'?"),
        ("[preprocess]\nk = 5", 2, "'k' is not an option of 'preprocess'"),
        ("config = 'x'", 2, "'config' is not an option"),
        ("inputs = ['x']", 2, "'inputs' is not an option"),
        ("seed = 1\nrandom_state = 2", 2, "'seed' and 'random_state' are the same option; keep one"),
        ("min_df = 1\nmin-df = 2", 2, "'min_df' and 'min-df' are the same option; keep one"),
        ('seed = "x"', 2, "'seed' takes a whole number, not \"x\""),
        ("seed = 3.5", 2, "'seed' takes a whole number, not 3.5"),
        ("seed = true", 2, "'seed' takes a whole number, not true"),
        ("seed = [1]", 2, "'seed' takes a whole number, not [1]"),
        ('quiet = "maybe"', 2, "'quiet' takes true or false, not \"maybe\""),
        ("quiet = 1", 2, "'quiet' takes true or false, not 1"),
        ("text_col = true", 2, "'text_col' takes a string or a number, not true"),
        ("text_col = 2020-01-01", 2, "'text_col' takes a string or a number, not 2020-01-01"),
        ("types = [1]", 2, "'types' takes a list of strings, not [1]"),
        ("[bertopic]\nmin_dist = true", 2, "'min_dist' takes a number, not true"),
        ("seed = ", 3, "is not TOML: Invalid value (at line 1, column 8)"),
        ("limit = 0", 2, "invalid value for '--limit'"),
    ],
)
def test_what_a_config_file_must_not_hold(content: str, code: int, says: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(content + "\n")
    done = run_cli("preprocess", NEWS, "--config", "c.toml", "-o", "x.parquet", code=code)
    assert says in done.error()
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "x.parquet").exists()


def test_a_config_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"seed = 1 # \xff\n")
    assert "c.toml is not TOML" in run_cli("info", NEWS, "--config", "c.toml", code=3).error()
    assert "config file nope.toml does not exist" in run_cli("info", NEWS, "--config", "nope.toml", code=3).error()
    assert "is a directory" in run_cli("info", NEWS, "--config", tmp_path, code=3).error()


def test_a_misspelt_variable_is_told() -> None:
    done = run_cli("info", HARD, "--json", env={"NLPKIT_LIMT": "5"})
    assert done.err == (
        "warning: the environment variable NLPKIT_LIMT is not an option of nlpkit and is ignored; did you mean NLPKIT_LIMIT?\n"
    )
    assert run_cli("info", HARD, "--json", env={"NLPKIT_LIMIT": "5"}).json()["rows"] == 5
    assert "invalid value for '--limit'" in run_cli("info", HARD, env={"NLPKIT_LIMIT": "x"}, code=2).error()


@pytest.mark.parametrize(
    ("words", "record", "field", "value"),
    [
        (["--nr-topics", "7"], "topics", "k", "7"),
        (["--num-topics", "7"], "topics", "k", "7"),
        (["--k", "auto"], "topics", "k", "auto"),
        (["--random-state", "7"], "run", "seed", 7),
        (["--cluster", "hdbscan", "--min-topic-size", "7"], "topics", "min_topic_size", 7),
        (["--min-df", "7"], "tokens", "min_df", "7"),
        (["--max-df", "0.7"], "tokens", "max_df", "0.7"),
        (["--lang", "de"], "tokens", "language", "de"),
        (["--n-neighbors", "7"], "topics", "n_neighbors", 7),
        (["--cluster", "hdbscan", "--n-components", "7"], "topics", "n_components", 7),
        (["--cluster", "hdbscan", "--min-samples", "7"], "topics", "min_samples", 7),
    ],
)
def test_spellings_of_the_field(fitted: dict[str, Any], words: list[str], record: str, field: str, value: Any) -> None:
    run_cli("bertopic", NEWS, *words)
    assert getattr(fitted[record], field) == value


# ---------------------------------------------------------------- output


WRITERS = [
    pytest.param("preprocess"),
    pytest.param("sbert-embed", marks=needs_minilm),
    pytest.param("ctfidf"),
    pytest.param("predict", marks=needs_hdbscan),
    pytest.param("bertopic", marks=needs_hdbscan),
]


def command_line(kind: str, request: pytest.FixtureRequest) -> list[Any]:
    """A quick command line that writes, without its -o."""
    planted = request.getfixturevalue("planted")
    if kind == "sbert-embed":
        return ["sbert-embed", HARD, "--limit", "3", "--offline"]
    if kind == "predict":
        return ["predict", request.getfixturevalue("planted_run"), planted]
    return [kind, planted, *(["--k", "4"] if kind == "bertopic" else [])]


@pytest.mark.parametrize("kind", WRITERS)
def test_output_rules(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    words = command_line(kind, request)
    directory = kind == "bertopic"
    name = "run" if directory else "out.parquet"
    target = tmp_path / name
    run_cli(*words, "-o", name)
    first = files(tmp_path)
    assert target.is_dir() == directory

    assert f"output {name} exists; add --force" in run_cli(*words, "-o", name, code=2).error()
    assert files(tmp_path) == first
    run_cli(*words, "-o", name, "--force")
    again = {f: b for f, b in files(tmp_path).items() if not f.endswith("manifest.json")}
    assert again == {f: b for f, b in first.items() if not f.endswith("manifest.json")}

    says = run_cli(*words, "-o", f"not/there/{name}", code=3).error()
    assert "the directory not/there does not exist; create it with: mkdir -p not/there" in says
    (tmp_path / "file").write_text("x")
    assert "is a file, not a directory" in run_cli(*words, "-o", f"file/{name}", code=3).error()

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    run_cli(*words, "-o", "mine", "--force", code=2).error()
    run_cli(*words, "-o", "file" if directory else "mine", "--force", code=2).error()
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "x"
    assert (tmp_path / "file").read_text() == "x"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("kind", [w for w in WRITERS if w.values[0] != "bertopic"])
def test_outputs_that_are_no_table(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    words = command_line(kind, request)
    assert "'.rds' is not a format of nlpkit" in run_cli(*words, "-o", "x.rds", code=2).error()
    assert "'.gz' is not a format of nlpkit" in run_cli(*words, "-o", "x.parquet.gz", code=2).error()
    assert "is a directory, but a file is needed, such as -o" in run_cli(*words, "-o", "out/", code=2).error()
    assert "the file name must end in the format" in run_cli(*words, "-o", "/dev/null", "--force", code=2).error()
    assert "both write to stdout" in run_cli(*words, "-o", "-", "--json", code=2).error()
    assert list(tmp_path.iterdir()) == []


@needs_hdbscan
def test_force_replaces_a_run_only_when_all_in_it_is_ours(planted: Path, own_run: Path, tmp_path: Path) -> None:
    words = ["bertopic", planted, "--k", "3", "-q", "--force", "-o", own_run]
    (own_run / "notes.md").write_text("what I think of these topics")
    says = run_cli(*words, code=2).error()
    assert "own_run holds notes.md, which nlpkit did not write and --force would delete" in says
    assert (own_run / "notes.md").exists()
    (own_run / "notes.md").unlink()
    run_cli(*words)
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "manifest.json").write_text('{"name": "My app", "icons": []}')
    says = run_cli("bertopic", planted, "--force", "-o", "web", code=2).error()
    assert "a directory that nlpkit did not write" in says
    assert (tmp_path / "web" / "manifest.json").exists()
    (tmp_path / "empty").mkdir()
    run_cli("bertopic", planted, "--k", "3", "-q", "--force", "-o", "empty")
    assert (tmp_path / "empty" / "topics.parquet").exists()


@needs_hdbscan
@pytest.mark.parametrize(
    ("name", "target"), [("a.b.jsonl.gz", "a.bertopic"), ("docs", "docs.bertopic"), ("*.parquet", "corpus.bertopic")]
)
def test_a_run_without_output_is_named_after_the_input(name: str, target: str, planted: Path, tmp_path: Path) -> None:
    if name.startswith("*"):
        (tmp_path / "in.parquet").write_bytes(planted.read_bytes())
    elif "." in name:
        import gzip

        rows = [{k: v for k, v in row.items() if k != "date"} for row in read(planted).to_pylist()]
        (tmp_path / name).write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    else:
        (tmp_path / name).mkdir()
        (tmp_path / name / "in.parquet").write_bytes(planted.read_bytes())
    run_cli("bertopic", name, "--k", "4", "-q")
    assert (tmp_path / target / "manifest.json").exists()


def test_input_and_output_are_never_the_same_file(planted: Path, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(planted.read_bytes())
    says = run_cli("preprocess", "x.parquet", "--force", "-o", "x.parquet", code=2).error()
    assert "and inputs are never overwritten; name another -o" in says
    assert (tmp_path / "x.parquet").read_bytes() == planted.read_bytes()


# ---------------------------------------------------------------- streams


def told(done: Done) -> list[str]:
    return [line for line in done.err.splitlines() if not line.startswith("warning: ")]


@pytest.mark.parametrize("kind", WRITERS)
def test_json_is_one_object_and_quiet_is_silent(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    words = command_line(kind, request)
    done = run_cli(*words, "--json", "-q", "-o", "a.parquet" if kind != "bertopic" else "a")
    assert done.err == ""
    assert done.json()
    loud = run_cli(*words, "--json", "-o", "b.parquet" if kind != "bertopic" else "b")
    assert loud.json().keys() == done.json().keys()
    assert told(loud)
    quiet = run_cli(*words, "-q", "-o", "c.parquet" if kind != "bertopic" else "c")
    assert quiet.err == ""
    assert (quiet.out == "") == (kind in ("preprocess", "sbert-embed", "predict"))


def test_json_of_info() -> None:
    done = run_cli("info", NEWS, "--json", "-q")
    assert (done.err, done.json()["rows"]) == ("", 416)


COLOUR = re.compile(r"\x1b\[[0-9;]*(3[0-9]|4[0-9]|9[0-9]|10[0-7])[0-9;]*m")


def test_no_escape_codes_without_a_terminal(planted_run: Path, planted: Path) -> None:
    for words in (["info", planted_run], ["ctfidf", planted], ["info", NEWS], ["--help"], ["bertopic", "--help"]):
        done = run_cli(*words)
        assert "\x1b" not in done.out + done.err
        assert done.out


@pytest.mark.skipif(not Path("/usr/bin/script").exists(), reason="needs script(1)")
def test_no_colour_on_a_terminal_with_no_color(planted: Path, tmp_path: Path) -> None:
    command = f"script -qec 'nlpkit preprocess {planted} --force -o x.parquet' /dev/null </dev/null"
    coloured = run_shell(command, cwd=tmp_path, env={"TERM": "xterm-256color"})
    assert COLOUR.search(coloured.out)  # the bar
    plain = run_shell(command, cwd=tmp_path, env={"TERM": "xterm-256color", "NO_COLOR": "1"})
    assert not COLOUR.search(plain.out)
    assert "tokens" in plain.out


@needs_hdbscan
@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit_the_width_and_lose_no_number(width: int, planted: Path) -> None:
    done = run_cli("bertopic", planted, "-q", "-o", "run", env={"COLUMNS": str(width)})
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= max(width, 80)
    assert not [line for line in lines if line != line.rstrip()]
    evidence = lines[1 : lines.index("")]
    head = "".join(c for line in evidence if not re.search(r"[0-9─]", line) for c in line.split())
    if width >= 80:
        assert head == "topicshalvesagreeviewsagreewordsagreescore"
    numbers = [re.findall(r"-?\d\.\d{3}", line) for line in evidence if re.search(r"\d", line)]
    assert numbers
    assert all(len(row) == 4 for row in numbers), done


def test_progress_only_when_asked_or_on_a_terminal(planted: Path) -> None:
    err = run_cli("preprocess", planted, "--progress", "-q", "-o", "a.parquet").err
    assert re.fullmatch(r"tokens: 120, [\d,]+/s after \d+ s\n", err)
    assert run_cli("preprocess", planted, "--no-progress", "-q", "-o", "b.parquet").err == ""
    assert "\r" not in run_cli("preprocess", planted, "-o", "c.parquet").err


@needs_hdbscan
def test_the_bar_of_bertopic_names_its_stages(planted: Path) -> None:
    err = run_cli("bertopic", planted, "--k", "4", "--progress", "-q", "-o", "run").err
    lines = re.findall(r"^topics: (.*): (\d+)% after", err, re.MULTILINE)
    assert list(dict.fromkeys(stage for stage, _ in lines)) == ["neighbours", "choice and words"]
    assert [int(p) for _, p in lines] == sorted(int(p) for _, p in lines)
    assert lines[-1][1] == "100"


# ---------------------------------------------------------------- dry run, limit, threads


@pytest.mark.parametrize("kind", WRITERS)
def test_dry_run_writes_nothing_and_needs_no_output(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    words = command_line(kind, request)
    done = run_cli(*words, "--dry-run")
    assert re.search(r"^rows +\d", done.out, re.MULTILINE), done
    assert "nothing was written" in done.err
    plan = run_cli(*words, "-n", "--json", "-q").json()
    assert {"rows", "tokens_about", "memory_mb_about", "seconds_about", "disk_mb_about"} <= plan.keys()
    assert plan["rows"] == (3 if kind == "sbert-embed" else 120)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.jsonl").write_text("")
    assert "no documents: empty.jsonl has no rows" in run_cli("preprocess", "empty.jsonl", "-n", code=3).error()


def test_limit_takes_the_first_documents(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", [{"id": str(i), "text": None if i == 1 else f"river {i}"} for i in range(9)])
    run_cli("preprocess", "x.jsonl", "--limit", "3", "-o", "y.parquet")
    assert read("y.parquet")["id"].to_pylist() == ["0", "2", "3"]
    assert read("y.dropped.parquet")["id"].to_pylist() == ["1"]


def test_number_of_threads() -> None:
    assert RunFlags(threads=3).n_threads() == 3
    assert RunFlags().n_threads() >= 1


def test_several_inputs_and_stdin(tmp_path: Path) -> None:
    a = write_jsonl(tmp_path / "a.jsonl", [{"text": "river"}, {"text": "bank"}])
    (tmp_path / "b.csv").write_text("text,extra\nmoon,1\n")
    run_cli("preprocess", a, "b.csv", "-o", "y.parquet")
    table = read("y.parquet")
    assert table["id"].to_pylist() == ["a:1", "a:2", "b:1"]
    assert [i["path"] for i in footer("y.parquet")["inputs"]] == [str(a), "b.csv"]
    run_cli("preprocess", "-", "--force", "-o", "y.parquet", input='{"text": "river"}\n')
    assert read("y.parquet")["id"].to_pylist() == ["stdin:1"]
    assert footer("y.parquet")["inputs"][0]["path"] == "-"


def test_numbers_out_of_range_are_told_in_plain_english() -> None:
    """The words of a library came through: Input should be greater than or equal to 1."""
    says = run_cli("stats", NEWS, "--limit", "0", code=2).error()
    assert "'--limit': it must be at least 1" in says
    assert "Input should" not in says
    says = run_cli("classify", NEWS, "--entities", "-o", "x", code=2).error()
    assert "no classifier uses" in says


@pytest.mark.parametrize(
    "line",
    [
        "kwic the {} --window N", "preprocess {} --show N", "preprocess {} --limit N", "evaluate {} --top-n N",
        "lda-gibbs {} --k 2 --sweeps N -o r",
    ],
)  # fmt: skip
def test_numbers_that_nothing_has(line: str) -> None:
    """They ended as bugs deep inside, or in loops without an end."""
    for number in (2**31, 10**30):
        assert "2,147,483,647" in run_cli(*line.format(NEWS).replace("N", str(number)).split(), code=2).error()


def test_options_by_the_names_of_other_programs(planted: Path, tmp_path: Path) -> None:
    words = ("lda-gibbs", planted, "-q")
    run_cli(*words, "--k", "3", "--sweeps", "5", "--seed", "2", "--min-df", "3", "-o", "ours")
    run_cli(
        *words, "--n-topics=3", "--num-iterations", "5", "--random-state", "2", "--no-below", "3", "--output-dir",
        "theirs",
    )  # fmt: skip
    assert read("ours/topics.parquet").equals(read("theirs/topics.parquet"))
    (tmp_path / "c.toml").write_text("n_topics = 3\npasses = 5\nrandom_state = 2\nmin_df = 3\n", encoding="utf-8")
    run_cli(*words, "--config", "c.toml", "-o", "config")
    assert read("ours/topics.parquet").equals(read("config/topics.parquet"))
    says = run_cli(*words, "--n-jobs", "-1", code=2).error()
    assert "nlpkit lda-gibbs has no --n-jobs; use --threads, the number of threads; 0 takes all cores" in says
    assert "nlpkit hdp has no --n-topics: it finds" in run_cli("hdp", planted, "--n-topics", "3", code=2).error()
