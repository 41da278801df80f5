"""Every --help: purpose, options, and examples that run as printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from nlpkit.platform.cli.catalogue import Commands, command_panels, front_panels
from nlpkit.platform.cli.help_options import main_options
from tests.command_line import (
    COMMANDS,
    NEWS,
    ROOT,
    SAMPLES,
    few_samples,
    needs_gensim,
    needs_hdbscan,
    needs_minilm,
    needs_torch,
    run_cli,
    run_line,
)


def examples(command: str) -> list[str]:
    """The lines below 'Examples:' of a --help, as printed."""
    lines = run_cli(command, "--help").out.splitlines()
    return [line.strip() for line in takewhile(str.strip, lines[lines.index("Examples:") + 1 :]) if "nlpkit" in line]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_begins_with_three_examples_and_has_named_panels(command: str) -> None:
    out = run_cli(command, "--help-all").out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    main = run_cli(command, "--help").out
    assert run_cli(command, "-h").out == main
    n_options = len([line for line in lines if re.match(r" {2}-", line)])
    if n_options > 15:
        assert main.splitlines()[:6] == lines[:6]
        assert " ".join(main.split()).endswith(
            f"These are the main options. All {n_options - 2}: nlpkit {command} --help-all"
        )
    usage, blank, summary = lines[:3]
    assert (usage.startswith(f"Usage: nlpkit {command} [OPTIONS]"), blank, summary[-1]) == (True, "", ".")
    assert "[[" not in usage
    assert lines[4] == "Examples:"  # before the details and all options
    printed = examples(command)
    assert len(printed) >= 3
    assert all(line.startswith(f"nlpkit {command} ") for line in printed)
    panels = [line for line in lines if re.fullmatch(r"[A-Z][\w ]+:", line)][1:]
    assert (panels[0], panels[-2 if "More:" in panels else -1]) == ("Arguments:", "Run:")
    assert len(set(panels)) == len(panels)
    for option in (
        "--seed",
        "--threads",
        "--json",
        "-q, --quiet",
        "-v, --verbose",
        "--config FILE",
        "--dry-run",
        "--debug",
    ):
        assert re.search(rf"^ +.*{re.escape(option)}", out, re.MULTILINE), option
    assert ("--output" in out) == (command != "info")
    declared = [
        name for line in lines if re.match(r" +-", line) for name in re.findall(r"-[\w-]+", line.split("  ")[1])
    ]
    assert len(set(declared)) == len(declared), "an option stands twice"


def is_sentence(text: str) -> bool:
    """Whether a help stands alone: it begins with a capital letter or values, ends with a full stop, and has a noun of its own."""
    values = r"[a-z][\w:.+-]*(, [a-z][\w:.+-]*)*(,? or [a-z][\w:.+-]*)?( =|:|;|$)"
    begins = re.match(rf"[A-Z]|{values}", text) and not re.match(r"(Of|And|Or)\b", text)
    return bool(begins) and text.endswith(".") and len(text.split()) > 1


def options_of(commands: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield command, option and help."""
    for name, command in commands.items():
        for parameter in getattr(command, "params", []):
            if not getattr(parameter, "hidden", False) and parameter.name != "help":
                yield name, parameter.name, " ".join((parameter.help or "").split())
        members = getattr(command, "commands", {})
        yield from options_of({f"{name} {member}": one for member, one in members.items()})


def test_the_help_of_every_option_is_a_sentence_that_stands_alone() -> None:
    assert is_sentence("Random seed.")
    assert is_sentence("none = no n-grams.")
    for fragment in (
        "Of BM25.",
        "or more often than this.",
        "Lower case",
        "Windows.",
        "and more often than this share,",
    ):
        assert not is_sentence(fragment)
    found = {(command, name) for command, name, text in options_of(Commands()) if not is_sentence(text)}
    assert not found
    assert len(list(options_of(Commands()))) > 500


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where the examples find data/samples, with some of the news."""
    # a gate, and rounds, for which a third of them are too few
    return few_samples(tmp_path, 1 if request.node.name.endswith(("[classify]", "[active-curve]")) else 3)


@pytest.mark.examples
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("bertopic", marks=[needs_minilm, needs_hdbscan]),
        pytest.param("lda-gibbs"),
        pytest.param("plsa"),
        pytest.param("nmf"),
        pytest.param("gsdmm"),
        pytest.param("hdp"),
        pytest.param("hlda"),
        pytest.param("lda-online"),
        pytest.param("dtm"),
        pytest.param("biterm"),
        pytest.param("ctm", marks=needs_minilm),
        pytest.param("etm", marks=needs_torch),
        pytest.param("fastopic", marks=needs_minilm),
        pytest.param("stm"),
        pytest.param("slda"),
        pytest.param("author-topic"),
        pytest.param("labeled-lda"),
        pytest.param("compare"),
        pytest.param("preprocess"),
        pytest.param("sbert-embed", marks=needs_minilm),
        pytest.param("features"),
        pytest.param("tfidf"),
        pytest.param("ctfidf"),
        pytest.param("keyness"),
        pytest.param("classify"),
        pytest.param("sentiment"),
        pytest.param("zero-shot", marks=needs_minilm),
        pytest.param("active"),
        pytest.param("active-curve"),
        pytest.param("evaluate"),
        pytest.param("annotate"),
        pytest.param("stats"),
        pytest.param("kwic"),
        pytest.param("collocations"),
        pytest.param("cluster"),
        pytest.param("ngram-lm"),
        pytest.param("similar", marks=needs_minilm),
        pytest.param("similar-words"),
        pytest.param("embed-words", marks=needs_gensim),
    ],
)
def test_examples_run_as_printed(command: str, folder: Path) -> None:
    for line in examples(command):
        output = re.search(r" -o (\S+)", line)
        run_line(line, folder)
        if output and output[1] != "-":
            assert (folder / output[1]).exists()


@pytest.mark.examples
def test_examples_of_generate_and_spell_run_as_printed(folder: Path) -> None:
    run_line("nlpkit ngram-lm data/samples/news.jsonl -o lm/ -q", folder)
    for line in [*examples("generate"), *examples("spell")]:
        run_line(line, folder)


@pytest.mark.examples
def test_examples_of_effects_run_as_printed(folder: Path) -> None:
    for formula, target in (("label", "stm"), ("label + s(date, 5)", "stm-dates")):
        run_line(f"nlpkit stm data/samples/news.jsonl --k 4 --prevalence '{formula}' -o {target}/ -q", folder)
    run_line("nlpkit lda-gibbs data/samples/news.jsonl --k 4 --sweeps 100 -o run/ -q", folder)
    for line in examples("effects"):
        run_line(line, folder)


@pytest.fixture(scope="module")
def run_of_all_news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that the documentation shows."""
    run = tmp_path_factory.mktemp("all news") / "run"
    run_cli("bertopic", NEWS, "--offline", "-q", "-o", run)
    return run


@needs_minilm
@needs_hdbscan
@pytest.mark.examples
@pytest.mark.parametrize("command", ["edit", "info", "topics", "diff", "report", "export", "plot"])
def test_examples_of_commands_on_runs_run_as_printed(command: str, tmp_path: Path, run_of_all_news: Path) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    for name in ("run", "other"):
        (tmp_path / name).symlink_to(run_of_all_news)
    for line in examples(command):
        run_line(line, tmp_path)


@needs_minilm
@needs_hdbscan
@pytest.mark.examples
def test_the_edits_of_the_sample_apply_to_its_run(run_of_all_news: Path) -> None:
    value = run_cli(
        "edit", run_of_all_news, SAMPLES / "news_edits.toml", "--strict", "--json", "-q", "-o", "new"
    ).json()
    assert value["edits"]["skipped"] == []
    assert {"Prices and pay", "Climate and sea"} <= {t["label"] for t in value["topics"]}


@needs_minilm
@needs_hdbscan
@pytest.mark.examples
def test_examples_of_the_program_run_as_printed(folder: Path) -> None:
    for page, n_lines in (("--help", 2), ("--help-all", 4)):
        lines = [line.strip() for line in run_cli(page).out.splitlines() if line.startswith("  nlpkit ")]
        assert len(lines) == n_lines
        for line in lines:
            run_line(line.replace("run/", f"run{page}/"), folder)


def every_command() -> Iterator[tuple[str, Any]]:
    """Yield every command with its name, the members of a group one by one."""
    for name, command in Commands().items():
        members = getattr(command, "commands", None)
        yield from [(name, command)] if members is None else [(f"{name} {sub}", one) for sub, one in members.items()]


def test_every_command_has_five_to_fifteen_main_options() -> None:
    names = set()
    for name, command in every_command():
        names.add(name)
        options = {
            next(o for o in parameter.opts if o.startswith("--"))
            for parameter in command.params
            if parameter.param_type_name == "option" and not parameter.hidden
        }
        main = main_options(name)
        assert main <= options, f"{name}: {', '.join(main - options)}: no such options"
        assert 5 <= len(main) <= 15, f"{name} has {len(main)} main options"
    assert names >= {"bertopic", "words nearest"}
    assert main_options("nothing") == frozenset()


def test_help_shows_the_main_options_and_help_all_the_others() -> None:
    main, whole = (run_cli("bertopic", f"--{name}").out for name in ("help", "help-all"))
    shown = set(re.findall(r"--[a-z-]+", main.split("Arguments:")[1]))
    assert shown - {"--help", "--help-all"} >= main_options("bertopic")
    for option in ("--min-dist", "--novelty-quantile", "--encoding", "--seed"):
        assert (f"  {option} " in main, f"  {option} " in whole) == (False, True)
    assert len(main.splitlines()) < len(whole.splitlines()) / 2


@pytest.mark.parametrize("width", ["60", "80", "100", "200"])
def test_the_front_page_is_one_screen_by_task(width: str) -> None:
    page = run_cli("--help", env={"COLUMNS": width}).out
    lines = page.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= min(int(width), 100)
    for title, commands in front_panels().items():
        assert any(line.startswith(title) for line in lines), title
        for name in commands:
            assert re.search(rf"^.* {name} +\w", page, re.MULTILINE), name
    assert run_cli("-h", env={"COLUMNS": width}).out == page == run_cli("help", env={"COLUMNS": width}).out
    assert 20 <= sum(map(len, front_panels().values())) <= 26


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_help_of_a_command_can_be_read_at_any_width(width: str) -> None:
    out = run_cli("lda-gibbs", "--help", env={"COLUMNS": width}).out
    assert max(len(line) for line in out.splitlines() if not line.startswith("  nlpkit ")) <= int(width)
    assert "  --k TEXT" in out


def test_all_commands_and_the_help_of_a_group_have_the_layout_of_commands() -> None:
    for words, panels in (
        (["--help-all"], [*(f"{title}:" for title in command_panels()), "Help:", "Options:"]),
        (["annotate", "--help"], ["Commands:", "Options:"]),
    ):
        for columns in ("80", "100", "200"):
            lines = run_cli(*words, env={"COLUMNS": columns}).out.splitlines()
            assert max(map(len, lines)) <= 100
            assert lines[0] == " ".join(["Usage: nlpkit", *words[:-1], "[OPTIONS] COMMAND [ARGS]..."])
            assert lines[4].startswith("Example")
            assert [line for line in lines[5:] if re.fullmatch(r"[A-Z][\w ]+:", line)] == panels
    assert run_cli("help", "--all").out == run_cli("--help-all").out


def test_help_of_a_command_by_its_name() -> None:
    for words in (["topics"], ["lda-gibbs"], ["words"], ["words", "nearest"], ["help"]):
        assert run_cli("help", *words).out == run_cli(*words, "--help").out
    assert run_cli("version").out == run_cli("--version").out


def test_the_list_of_commands_says_what_their_help_says() -> None:
    from nlpkit.platform.cli.catalogue import COMMANDS as CATALOGUE

    for name, entry in CATALOGUE.items():
        summary = " ".join(run_cli(name, "--help").out.split("\n\n")[1].split())
        assert summary.startswith(entry.summary), name
