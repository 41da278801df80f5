"""Commands without what only Linux, or only Unix, has; no machine with macOS or Windows was at hand.

Names that those systems lack are found by mypy, which `make lint` runs as on them, too.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.runs import atomic, runs
from tests.test_rings import MODULES, PACKAGE, nodes_of

ROOT = PACKAGE.parents[1]
# run by every Python process that has the folder on its path, those of worker processes too
HIDDEN = """
import contextlib, os, pathlib, signal, sys
with contextlib.suppress(ImportError):
    import psutil  # which has other parts on other systems
for name in ("resource", "fcntl", "termios", "tty", "pty", "pwd", "grp", "readline", "syslog"):
    sys.modules[name] = None
for module, names in (
    (signal, ("SIGALRM", "SIGHUP", "SIGUSR1", "SIGCHLD", "alarm", "setitimer", "siginterrupt", "pthread_sigmask")),
    (os, ("sched_getaffinity", "fork", "forkpty", "getuid", "geteuid", "getpgid", "killpg", "setsid", "sysconf", "statvfs",
          "mkfifo")),  # not uname: numpy looks for it by the name of the system
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
exists = pathlib.Path.exists
pathlib.Path.exists = lambda path: not str(path).startswith("/proc/") and exists(path)
"""
LINES = (
    "preprocess NEWS --limit 60 --min-df 1 -o tokens.parquet", "tfidf tokens.parquet -o weights.parquet",
    "lda-gibbs tokens.parquet --k 3 --sweeps 5 --shards 2 --scheme ad-lda --workers 2 -o lda",
    "predict lda NEWS --limit 10 -o shares.parquet", "report lda -o page.html",
    "classify NEWS --label-col label --limit 80 --model nb --cv 2 -o nb", "info lda",
)  # fmt: skip


def test_commands_run_without_what_unix_has(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    hidden = tmp_path_factory.mktemp("hidden")
    (hidden / "sitecustomize.py").write_text(HIDDEN, encoding="utf-8")
    path = os.pathsep.join(map(str, (hidden, PACKAGE.parent, ROOT, ROOT / "docs")))
    news = str(ROOT / "data" / "samples" / "news.jsonl")
    lines = [[news if word == "NEWS" else word for word in line.split()] for line in LINES]
    code = f"""
import signal, sys
assert sys.modules["resource"] is None and not hasattr(signal, "SIGALRM")
from tests.command_line import run_cli
for line in {lines!r}:
    run_cli(*line)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


# ---------------------------------------------------------------- texts and paths in files are the same everywhere


def calls(path: Path) -> Iterator[tuple[ast.Call, str, set[str | None]]]:
    """Yield every call of a module, with the last name of what is called and the keywords."""
    for node in nodes_of(path):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield node, name, {keyword.arg for keyword in node.keywords}


def faults(path: Path) -> Iterator[str]:
    """Yield the calls that write or read another text on Windows: in its encoding, with its line ends, with its separator."""
    for node, name, keywords in calls(path):
        if "force_zip64" in keywords:  # an entry of an archive holds bytes
            continue
        modes = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        writes = name == "write_text" or (name == "open" and any(mode in ("w", "a", "x", "wt", "at") for mode in modes))
        needed = {"encoding"} if name == "read_text" or ("text" in keywords and name in ("run", "Popen")) else set()
        needed = {"encoding", "newline"} if writes else needed
        if not needed <= keywords:
            yield f"{path.name}:{node.lineno} {ast.unparse(node)[:90]}"
        inner = node.args[0] if name == "str" and node.args else None
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "relative_to":
            yield f"{path.name}:{node.lineno} {ast.unparse(node)[:90]}"


def test_files_hold_the_same_on_every_system() -> None:
    assert [fault for path in MODULES for fault in faults(path)] == []


def test_such_faults_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        'p.write_text("é", encoding="utf-8")\np.read_text()\nstr(f.relative_to(p))\np.open("a")\n', encoding="utf-8"
    )
    assert [fault.split(" ")[0] for fault in faults(path)] == [f"module.py:{n}" for n in (1, 2, 3, 4)]


# ---------------------------------------------------------------- names and open files of Windows


@pytest.mark.parametrize(
    "name",
    [
        "con", "NUL", "aux.parquet", "Com1.csv", "lpt9 .txt", "a:b.csv", "what?", "x.", "x ", "a\tb", "CON.tar.gz",
        "com¹",
    ],
)  # fmt: skip
def test_a_name_that_windows_does_not_give_a_file(name: str) -> None:
    with pytest.raises(UsageError, match="Windows"):
        atomic.check_windows_name(name)


@pytest.mark.parametrize(
    "name", ["console.csv", "com10", "com", ".x.part", "kön.parquet", "a b.csv", "con-1.csv", "x..y"]
)
def test_names_that_it_does(name: str) -> None:
    atomic.check_windows_name(name)


@pytest.mark.parametrize("force", [True, False])
def test_a_target_that_another_program_has_open(force: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(13, "The process cannot access the file because it is being used by another process")

    for name in ("replace", "rename"):
        monkeypatch.setattr(Path, name, refuse)
    file, folder = tmp_path / "x.csv", tmp_path / "run"
    if force:
        file.write_text("old", encoding="utf-8")
        with (
            pytest.raises(InputError, match=r"x\.csv: The process.*close it"),
            atomic.atomic_file(file, force=True) as part,
        ):
            part.write_bytes(b"new")
    with pytest.raises(InputError, match=r"run: The process.*close it"), atomic.atomic_directory(folder, force=force):
        pass
    assert [path.name for path in tmp_path.iterdir()] == (["x.csv"] if force else [])


def test_a_corpus_on_another_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other_drive(path: Path, start: Path) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr(runs.os.path, "relpath", other_drive)
    assert runs.seen_from(tmp_path / "run", tmp_path) == {"folder": str(tmp_path), "from_run": str(tmp_path)}
