"""README and docs: every shell command and Python block of a page runs in its order, links lead somewhere, the site builds."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.util
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from os.path import normpath
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import few_samples, fits_of_compare_in_this_process, needs_hdbscan, needs_minilm, run_line

__all__ = ["fits_of_compare_in_this_process"]  # a fixture, for this module, too

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DEMO = (
    next(line for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines() if "-o demo-run/" in line)
    .strip()
    .replace("$(BIN)/", "")
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def named(page: Path) -> str:
    """A page by its path in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    """The blocks of a page that are run: kind and code. What is only to be read is a block of another kind (text, console, yaml)."""
    found: list[tuple[str, str]] = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(kind, code) for kind, code in found if kind in ("sh", "python")]


def commands(code: str) -> list[str]:
    """The commands of a block, without comments; of make, which this test is a part of, the fit of the demo alone."""
    lines = [line.split("  #")[0].strip() for line in code.replace("\\\n", " ").splitlines()]
    lines = [DEMO if line == "make demo" else line for line in lines]
    return [line for line in lines if line and not line.startswith(("make ", "#", ". "))]


def shown(page: Path) -> dict[str, list[str]]:
    """The outputs that a page shows: command → lines. Such a block begins with `$ nlpkit …`; a line … stands for lines left out."""
    texts = [code for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == "text"]
    return {code.splitlines()[0][2:]: code.splitlines()[1:] for code in texts if code.startswith("$ nlpkit ")}


def compared(line: str) -> str:
    """A line of output as it is compared: numbers, precisions and marks are left out, for another processor may print others."""
    line = re.sub(r", cosine to fp32 [\d.]+", "", line)
    return re.sub(
        r"[─*<\s]+", " ", re.sub(r"-?\d+(?:[.,]\d+)*", "0", re.sub(r"\b(bf16|fp16|fp32)\b", "0", line))
    ).strip()


def outdated(lines: list[str], printed: str, *, encoder: bool) -> list[str]:
    """The lines shown that a command no longer prints. Rows of tables by an encoder, its best method and bars may differ: heads count."""
    now = {compared(line) for line in printed.splitlines()}
    is_row = [encoder and ("  " in line.strip() or line.startswith(" " * 20)) and not (after[:1] or [""])[0].startswith("───")
              for line, *after in (lines[i : i + 2] for i in range(len(lines)))]  # fmt: skip
    return [
        line
        for line, row in zip(lines, is_row, strict=True)
        if not row
        and line != "…"
        and not re.search("[▁-█]|step 2|to train the best", line)
        and compared(line) not in now
    ]


def shorten_minilm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands train the first of the six layers of the encoder that comes as a package: outputs are compared but for their numbers."""
    from safetensors.numpy import load_file, save_file

    from nlpkit.embed import models

    whole = models.find_model(offline=True).path
    shutil.copytree(whole, folder)
    weights = load_file(whole / "model.safetensors")
    layer = re.compile(r"encoder\.layer\.(\d+)\.")
    kept = {name: value for name, value in weights.items() if (layer.match(name) or [0, "0"])[1] == "0"}
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}))
    sha256 = {"model.safetensors": hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()}
    short = dataclasses.replace(models.PACKAGED[models.DEFAULT_MODEL], folder=str(folder), sha256=sha256)
    monkeypatch.setitem(models.PACKAGED, models.DEFAULT_MODEL, short)


def test_shown_outputs_are_compared_but_for_their_numbers() -> None:
    shown_lines = ["2 topics in 3 s", "topic  name", "─────", "0  bank, rate"]
    assert outdated(shown_lines, "9 topics in 12 s\ntopic   name\n────\n0  bank, rate", encoder=False) == []
    assert outdated(shown_lines, "2 topics after 3 s\ntopic  title\n────\n0  tax", encoder=True) == shown_lines[:2]
    assert outdated(shown_lines, "2 topics in 3 s\ntopic  name\n────\n0  tax", encoder=False) == shown_lines[3:]


TRAIN = (
    "finetune.md",
    "finetune-bases.md",
    "finetune-compare.md",
    "finetune-methods.md",
    "train-encoders.md",
    "finetune.toml",
    "train-encoder.toml",
    "classify-50-texts.md",
    "course.md",
)  # the encoder that comes as a package
# whose examples name a line, a word, a topic or a gate that only all of the news have
OF_ALL_NEWS = (
    "course.md", "bertopic.md", "preprocess.md", "word-embeddings.md", "classify.toml", "edit.toml", "words.toml",
)  # fmt: skip


def checkout(folder: Path, *, complete: bool) -> Path:
    """A folder that has the sample data, as the root of a checkout has; some of the news, or complete where outputs are compared."""
    (folder / "configs").symlink_to(ROOT / "configs")
    if not complete:
        return few_samples(folder)
    (folder / "data").symlink_to(ROOT / "data")
    return folder


@needs_minilm
@needs_hdbscan
@pytest.mark.examples
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=named)
def test_what_a_page_says_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name in TRAIN:
        shorten_minilm(tmp_path / "short", monkeypatch)
    outputs = shown(page)
    checkout(tmp_path, complete=bool(outputs) or page.name in OF_ALL_NEWS)
    monkeypatch.setenv("COLUMNS", "120")  # the width of the outputs shown, whatever the terminal of the tests
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, (kind, code) in enumerate(blocks(page), 1):
        if kind == "sh":
            for command in commands(code):
                monkeypatch.setattr(sys, "argv", shlex.split(command))  # which some outputs repeat
                done = run_line(command, tmp_path)
                assert done.out or done.err or not command.startswith("nlpkit"), done
                encoder = command.startswith(("nlpkit bertopic", "nlpkit finetune"))
                assert not outdated(outputs.pop(command, []), done.out + done.err, encoder=encoder), done
        else:
            with contextlib.chdir(tmp_path), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, f"{named(page)}, block {number}", "exec"), names)
    assert not outputs, "outputs of commands that the page does not run"


@cache
def prose(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def links(page: Path) -> set[tuple[Path, str]]:
    """What a page links to in the repository: file and anchor."""
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if not target.startswith("https://")]
    split = [target.partition("#") for target in targets]
    return {(Path(normpath(page.parent / path)) if path else page, anchor) for path, _, anchor in split}


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings as the site makes them, and what has an id."""
    titles = [re.sub(r"[^\w\s-]", "", title.lower()) for title in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)]
    named = set(re.findall(r'id="([^"]+)"', prose(page)))
    return {re.sub(r"[-\s]+", "-", title.strip()) for title in titles} | named


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [f"{p}#{a}" for p, a in links(page) if not p.exists() or (a and a not in anchors(p))]
    assert not broken


def test_every_page_is_reached_by_links() -> None:
    reached, queue = set(), [ROOT / "README.md", ROOT / "docs" / "index.md"]
    while queue:
        page = queue.pop()
        if page not in reached:
            reached.add(page)
            queue.extend(path for path, _ in links(page) if path.suffix == ".md" and path.exists())
    assert sorted(named(page) for page in set(PAGES) - reached) == []


def test_pages_that_code_and_examples_name_are_there() -> None:
    broken = []
    for path in [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "configs").glob("*"),
        ROOT / "pyproject.toml",
        ROOT / "Makefile",
    ]:
        for page, anchor in re.findall(r"\b(docs/[\w/.-]+\.md)(?:#([\w-]+))?", path.read_text(encoding="utf-8")):
            if not (ROOT / page).exists() or (anchor and anchor not in anchors(ROOT / page)):
                broken.append(f"{named(path)}: {page}#{anchor}")
    assert not broken


def test_what_contributing_names_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named_paths = re.findall(r"\b(?:src|tests|docs|configs|\.ci)/[\w/.-]+", text)
    named_paths += [f"{module.replace('.', '/')}.py" for module in re.findall(r"python -m (tests[\w.]+)", text)]
    assert len(named_paths) > 30
    assert [path for path in named_paths if "NAME" not in path and not (ROOT / path.rstrip(".")).exists()] == []


MOST_WORDS = 900
LONG: tuple[str, ...] = ()  # guides that are still to be split


@pytest.mark.parametrize("page", [p for p in PAGES if p.parent.name in ("guides", "tutorials")], ids=named)
def test_a_guide_is_short(page: Path) -> None:
    n_words = len(prose(page).split())
    if page.name in LONG:
        assert n_words > MOST_WORDS, "short by now: take it off the list"
    else:
        assert n_words <= MOST_WORDS


def test_the_reference_is_what_the_code_says(generated: dict[str, str]) -> None:
    for name, page in generated.items():
        written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
        assert written == page, f"docs/reference/{name} is older than the code; run: python docs/generate.py"


def test_pages_of_figures_say_when_they_were_measured_and_whether_the_code_has_changed() -> None:
    import measured

    entries = tomllib.loads(measured.TABLE.read_text(encoding="utf-8"))
    scripts = {path.name for path in (ROOT / "tests" / "benchmarks").glob("*.py")}
    for page in (ROOT / "docs" / "benchmarks").glob("*.md"):
        if page.name == "summary.md":  # whose figures come from the others
            continue
        rows = entries[page.name]["tables"]
        assert sorted(rows) == sorted(measured.tables(page)), (
            f"docs/benchmarks/measured.toml has other tables of {page.name}"
        )
        assert {row["by"] for row in rows.values() if "by" in row} <= scripts
    for page, text in measured.pages().items():
        assert page.read_text(encoding="utf-8") == text, f"{page.name}: run python docs/generate.py"


def test_a_digest_of_measured_code_changes_with_the_code_alone(tmp_path: Path) -> None:
    import measured

    def with_text(text: str) -> str:
        (tmp_path / "fit.py").write_text(text, encoding="utf-8")
        return measured.digest(["fit.py"], tmp_path)

    first = with_text('"""Fit."""\n\nK = 3  \n')
    assert with_text('"""Fit topics."""\n# of a course\nK = 3\n') == first
    assert with_text('"""Fit."""\n\nK = 4\n') != first


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """The files of docs/reference/ as the code writes them now."""
    import generate

    return generate.pages()


def test_the_reference_has_every_command_and_every_public_name(generated: dict[str, str]) -> None:
    import nlpkit
    from nlpkit.platform.cli.catalogue import Commands

    names = Commands()
    several = {
        name: [f"{name} {member}" for member in getattr(one, "commands", {})] or [name] for name, one in names.items()
    }
    json_headings = set(re.findall(r"^#+ (.*)$", generated["json-output.md"], re.MULTILINE))
    for members in several.values():
        for member in members:
            assert f"# {member}\n" in generated[f"commands/{member.replace(' ', '-')}.md"]
            assert f"[`{member}`](commands/" in generated["commands.md"]
            assert member in json_headings
    headings = {
        heading
        for name, page in generated.items()
        if name.startswith("python/")
        for heading in re.findall(r"^#+ (.*)$|^\| `(\w+)`", page, re.MULTILINE)
        for heading in heading
    }
    public = {name for name in nlpkit.__all__ if callable(getattr(nlpkit, name))}
    assert public <= headings


def test_an_option_has_a_text_an_anchor_and_one_place(generated: dict[str, str]) -> None:
    page, common = generated["commands/lda-gibbs.md"], generated["common-options.md"]
    assert (
        '<dt id="--k"><a href="#--k"><code>--k</code></a> TEXT <small>or <code>--num-topics</code></small></dt>' in page
    )
    assert re.search(r'<dt id="--sweeps">.*</dt>\n<dd>.* \[at least 1\]</dd>', page)
    assert '<dt id="--text-col">' in common
    assert '<dt id="--text-col">' not in page
    assert "[`--text-col`](../common-options.md#--text-col)" in page


def test_a_function_has_its_signature_and_a_list_of_arguments(generated: dict[str, str]) -> None:
    entry = generated["python/explore.md"].partition("\n## kwic\n")[2].partition("\n## ")[0]
    assert entry.lstrip().startswith(
        "```py\nkwic(\n    data: Any,\n    pattern: str,\n    *,\n    options: SearchOptions | None = None,"
    )
    assert "\n**Args**\n\n- data: " in entry
    assert "\n### SearchOptions\n" in generated["python/explore.md"]
    assert "[`kwic`](explore.md#kwic)" in generated["python/index.md"]


def test_examples_of_docstrings_are_code() -> None:
    from python_pages import _prose

    def shout(text: str) -> str:
        """Return a text in capitals, not <b>.

        Args:
            text: what is said,
                or *written*.

        Example:
            >>> shout("a")
            'A'

        Raises:
            ValueError: never.
        """
        return text.upper()

    lines = [line for line in _prose(shout).splitlines() if line]
    assert lines[0] == "Return a text in capitals, not &lt;b>."
    assert lines[1:4] == ["**Args**", "- text: what is said,", "  or \\*written\\*."]
    assert lines[4:9] == ["**Example**", "```pycon", '>>> shout("a")', "'A'", "```"]
    assert lines[9:] == ["**Raises**", "- ValueError: never."]


def test_no_page_of_the_reference_is_left_over(generated: dict[str, str]) -> None:
    reference = ROOT / "docs" / "reference"
    there = {
        path.relative_to(reference).as_posix()
        for folder in ("commands", "python")
        for path in (reference / folder).iterdir()
    }
    assert there == {name for name in generated if name.startswith(("commands/", "python/"))}


def test_every_page_is_in_the_navigation_once() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    listed = re.findall(r"'([^']+\.md)'", repr(site["nav"]))
    assert sorted(listed) == sorted(page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:])


def test_the_navigation_lists_the_generated_pages(generated: dict[str, str]) -> None:
    import generate

    site = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    assert site == generate.navigation(site, list(generated)), "run: python docs/generate.py"


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="the extra docs is not installed")
@pytest.mark.examples
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    command = [Path(sys.executable).with_name("zensical"), "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in PAGES[1:]:
        assert (tmp_path / "site" / page.relative_to(ROOT / "docs")).with_suffix(".html").is_file()
    loaded = re.findall(
        r'(?:src|href)="(https?://[^"]+)"[^>]*(?:stylesheet|script)', (tmp_path / "site/index.html").read_text()
    )
    assert loaded == []


@needs_minilm
@needs_hdbscan
@pytest.mark.examples
@pytest.mark.parametrize("config", sorted(p.name for p in (ROOT / "configs").glob("*.toml")))
def test_config_examples_run_as_their_first_lines_say(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if config in TRAIN:
        shorten_minilm(tmp_path / "short", monkeypatch)
    checkout(tmp_path, complete=config in OF_ALL_NEWS)
    lines = (ROOT / "configs" / config).read_text(encoding="utf-8").splitlines()
    run = [line.removeprefix("# ") for line in lines if line.startswith("# nlpkit ")]
    assert run[-1].startswith(f"nlpkit {config.removesuffix('.toml')} ")
    assert f"--config configs/{config}" in run[-1]
    for command in run:
        run_line(command, tmp_path)


def test_there_is_a_config_for_every_command() -> None:
    from nlpkit.platform.cli.catalogue import COMMANDS
    from nlpkit.platform.models import BUILT_IN

    there = {p.stem for p in (ROOT / "configs").glob("*.toml")}
    assert set(COMMANDS) - set(BUILT_IN) <= there <= set(COMMANDS)  # a topic model may have one
    for name, entry in ((name, COMMANDS[name]) for name in there):
        values = tomllib.loads((ROOT / "configs" / f"{name}.toml").read_text(encoding="utf-8"))
        assert set(values[name]) == set(entry.members) if entry.members else name in values
