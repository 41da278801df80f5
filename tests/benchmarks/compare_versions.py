"""Run the same command lines with two versions of nlpkit and compare all that they print and write, byte for byte.

    python tests/benchmarks/compare_versions.py --old ../old/src --new src --jobs 2
    python tests/benchmarks/compare_versions.py --old ../old/src --new src --keep-old ../old_outputs --only 'lda*'
    python tests/benchmarks/compare_versions.py --old ../old/src --new src --only lda-gibbs --times 5 --rss

The command lines are in compare_versions.toml. Each case runs in a fresh folder for each version; then standard output, standard
error, exit codes and every file are compared. With --keep-old, what the old version did is kept, and not run again while the
lines of the case stay the same. What must differ is made alike before: seconds, peak memory, version, command line,
names of renamed commands, the folder, and the sha256 of a file that is compared itself. The verdict on a stream or file is

    bytes       it is the same, byte for byte
    data        Parquet whose data, schema and footers are the same, made alike
    alike       it is the same, made alike
    mended      it is the same but for sentences that are written anew on purpose, as compare_versions.toml lists them
    DIFFERENT   none of these; the exit code is 1, unless the case tells why it may differ
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VERDICTS = ("bytes", "data", "alike", "mended", "DIFFERENT")
VERSIONS = ("old", "new")
SECONDS_A_LINE = 1200
Mended = list[tuple[re.Pattern[str], str]]
STRING = r'"(?:[^"\\]|\\.)*"'
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
ALIKE: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    # JSON: manifests, footers, --json
    (re.compile(rf'("command_line": )(?:{STRING}|\[(?:\s*{STRING},?)*\s*\])'), r"\1#"),
    (re.compile(rf'("made_in": )(?:null|\{{(?:\s*{STRING}: {STRING},?)*\s*\}})'), r"\1#"),
    (re.compile(rf'("(?:nlpkit_version|peak_memory_mb|bytes|\w*seconds)": )(?:{STRING}|{NUMBER}|null)'), r"\1#"),
    (re.compile(r'"packages": \{[^{}]*\}'), '"packages": #'),
    (re.compile(r'"(?:seconds|files)": \{[^{}]*\}'), lambda m: re.sub(rf": {NUMBER}", ": #", m[0])),
    (re.compile(rf'("memory_mb(?:_sd)?": )(?:{NUMBER}|null)'), r"\1#"),
    (re.compile(r'(<tr><th scope="row">(?:seconds|peak memory)</th><td>)[^<]*'), r"\1#"),
    # nlpkit info, whose sizes of files depend on how long the seconds in them are
    (re.compile(r"^command line {2,}.*(?:\n {18}.*)*", re.MULTILINE), "command line  #"),
    (
        re.compile(r"^(?:seconds|bytes|files|peak memory \(MB\)) {2,}.*(?:\n {18}.*)*", re.MULTILINE),
        lambda m: re.sub(rf"(?<=[ :]){NUMBER}$", "#", m[0], flags=re.MULTILINE),
    ),
    (re.compile(rf"(\b\w*seconds) {NUMBER}"), r"\1 #"),
    # what people read
    (re.compile(rf"\b{NUMBER} (s|ms|min|docs/s|documents/s)(?![\w.])"), r"# \1"),
]


@dataclass(frozen=True)
class Case:
    """Command lines that share a folder, in the words of the old and the new version."""

    name: str
    lines: list[dict[str, str]]
    files: dict[str, str] = field(default_factory=dict)
    may_differ: str = ""


@dataclass
class Result:
    """What the lines of a case left behind: exit code, output and errors of each line, and the sha256 of every file at any time."""

    folder: Path
    ran_in: str  # the folder as its outputs name it
    words: list[str] = field(default_factory=list)
    lines: list[tuple[int, str, str]] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    renamed: str = ""  # pattern of the commands that the lines of the two versions do not have in common


@dataclass(frozen=True)
class Difference:
    """The verdict on one stream or file, and the first lines that differ."""

    what: str
    verdict: str
    lines: list[str]


def read_cases(path: Path, only: Sequence[str]) -> tuple[list[Case], Mended]:
    """Return the cases of a file, or those whose names match what is asked for, and the sentences that were mended."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    mended = [(re.compile(entry["old"]), entry["new"]) for entry in content.get("mended", ())]
    cases = []
    for entry in content["case"]:
        both = [*entry["lines"], *(content["then"][entry.pop("then")] if "then" in entry else ())]
        lines = [line if isinstance(line, dict) else {"old": line, "new": line} for line in both]
        cases.append(Case(**{**entry, "lines": lines}))
    unknown = [name for name in only if not any(Path(case.name).match(name) for case in cases)]
    if unknown:
        sys.exit(f"error: no case {unknown[0]!r}; there are: {' '.join(case.name for case in cases)}")
    return [case for case in cases if not only or any(Path(case.name).match(name) for name in only)], mended


@dataclass(frozen=True)
class Runner:
    """Runs cases with the versions of two source trees, on copies of `data` below a work folder.

    kept: where the outputs of the old version are kept, if anywhere.
    """

    trees: dict[str, Path]
    data: Path
    work: Path
    threads: int
    kept: Path | None

    def __post_init__(self) -> None:
        """Put the commands `nlpkit`, of the version of PYTHONPATH, `nlpkit-lines` and `with-llm` on the path."""
        scripts = {"nlpkit-lines": HERE / "one_process.py", "with-llm": HERE / "with_llm.py"}
        for name, what in {"nlpkit": "-m nlpkit", **{name: f'"{path}"' for name, path in scripts.items()}}.items():
            wrapper = self.work / "bin" / name
            wrapper.parent.mkdir(parents=True, exist_ok=True)
            wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" {what} "$@"\n', encoding="utf-8")
            wrapper.chmod(0o755)

    def run(self, case: Case, version: str) -> Result:
        """Run the lines of a case in a fresh folder, or take what the old version did before."""
        folder = self.work / version / case.name
        words = [line[version] for line in case.lines]
        identity = [str(self.trees[version]), words, case.files, self.threads]
        kept = self.kept / case.name if self.kept and version == "old" else None
        if kept and (result := read_kept(kept, identity)):
            return result
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.data, folder)
        for name, text in case.files.items():
            (folder / name).write_text(text.lstrip("\n"), encoding="utf-8")
        result = Result(folder, str(folder), words)
        for line in words:
            self._run_line(line, result, self._environment(version))
        if kept:
            keep(result, kept, identity)
        return result

    def _environment(self, version: str) -> dict[str, str]:
        """Each worker compiles its kernels into its own folder: Numba's cache is not made for two processes at once."""
        cache = Path(os.environ.get("NUMBA_CACHE_DIR", self.work))
        return {
            **{k: v for k, v in os.environ.items() if not k.startswith(("NLPKIT_", "PYTHONDONTWRITE"))},
            "PATH": f"{self.work / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.trees[version]),
            "NUMBA_CACHE_DIR": str(cache / "compare_versions" / version / threading.current_thread().name),
            "NLPKIT_THREADS": str(self.threads),
            "COLUMNS": "110",
            "NO_COLOR": "1",
            "HF_HUB_OFFLINE": "1",
        }

    def _run_line(self, line: str, result: Result, env: dict[str, str]) -> None:
        start = time.perf_counter()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            command = ["timeout", str(SECONDS_A_LINE), "bash", "-o", "pipefail", "-c", line]
            process = subprocess.Popen(
                command, cwd=result.folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            result.seconds += time.perf_counter() - start
            result.cpu_seconds += usage.ru_utime + usage.ru_stime
            result.peak_mb = max(result.peak_mb, usage.ru_maxrss / 1024)
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode("utf-8", "surrogateescape"))
        result.lines.append((process.returncode, texts[0], texts[1]))
        for path in files_of(result.folder):
            result.hashes.setdefault(sha256_of(result.folder / path), path)


def keep(result: Result, kept: Path, identity: list[Any]) -> None:
    """Keep what the old version did: its files in a folder, the rest in a record beside it, which is written last."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(result.folder, kept)
    saved = {"identity": identity, "ran_in": result.ran_in, "lines": result.lines, "hashes": result.hashes}
    kept.with_name(f"{kept.name}.json").write_text(json.dumps(saved), encoding="utf-8")


def read_kept(kept: Path, identity: list[Any]) -> Result | None:
    """Return what was kept of the same lines; None where there is nothing."""
    record = kept.with_name(f"{kept.name}.json")
    saved: dict[str, Any] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    if saved.get("identity") != identity:
        record.unlink(missing_ok=True)
        return None
    return Result(kept, saved["ran_in"], identity[1], [tuple(line) for line in saved["lines"]], saved["hashes"])


def commands_in(line: str) -> set[str]:
    """Return the commands that a line names."""
    return set(re.findall(r"\bnlpkit ([a-z-]+)", line))


def files_of(folder: Path) -> list[str]:
    """Return the paths of the files below a folder, in order."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def made_alike(text: str, result: Result) -> str:
    """Return a text without what must differ between two runs."""
    text = text.replace(result.ran_in, "<folder>")
    text = re.sub(r"\b[0-9a-f]{64}\b", lambda m: f"sha256 of {result.hashes.get(m[0], m[0])}", text)
    if result.renamed:
        text = re.sub(rf'("(?:command|kind)": "|\brun \()(?:{result.renamed})(?: \w+)?(?=[")])', r"\1#", text)
    for pattern, to in ALIKE:
        text = pattern.sub(to, text)
    return without_seconds(text) if "  seconds" in text else text


def without_seconds(text: str) -> str:
    """Return a text without the numbers below the heading 'seconds' of its tables."""
    lines, end = [], 0
    for line in text.split("\n"):
        heading = re.search(r"  seconds(?=  |$)", line)
        end = heading.end() if heading else end if line.strip() else 0
        number = re.search(rf"{NUMBER}$", line[:end])
        lines.append(f"{line[: number.start()].rstrip()} #{line[end:]}" if number and not heading else line)
    return "\n".join(lines)


def table_text(path: Path) -> str:
    """Return schema, footers and rows of a Parquet file as text."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    table = table.select([name for name in table.column_names if not name.endswith("seconds")])
    footer = {k.decode(): v.decode("utf-8", "replace") for k, v in (table.schema.metadata or {}).items()}
    head = [*map(str, table.schema.remove_metadata()), *(f"{k}: {v}" for k, v in sorted(footer.items()))]
    return "\n".join([*head, *map(repr, table.to_pylist())])


def contents(path: Path) -> str | None:
    """Return a file as text: Parquet as its rows, archives as their members; None for other bytes."""
    if path.suffix == ".parquet":
        return table_text(path)
    data = path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
        return "\n".join(f"{name}: {text_of(member) or hashlib.sha256(member).hexdigest()}" for name, member in members)
    return text_of(gzip.decompress(data) if path.suffix == ".gz" else data)


def text_of(data: bytes) -> str | None:
    """Return bytes as text, None where they are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def compare(old: Result, new: Result, mended: Mended) -> Iterator[Difference]:
    """Compare exit codes and streams of each line, then every file that either version left."""
    pairs = [(a, b) for a, b in zip(old.words, new.words, strict=True) if a != b]
    old.renamed = new.renamed = "|".join(
        sorted({name for pair in pairs for line in pair for name in commands_in(line)})
    )
    for i, (before, after) in enumerate(zip(old.lines, new.lines, strict=True)):
        if before[0] != after[0]:
            yield Difference(f"exit code of: {new.words[i]}", "DIFFERENT", [f"-{before[0]}", f"+{after[0]}"])
        for name, a, b in (("stdout", before[1], after[1]), ("stderr", before[2], after[2])):
            verdict, diff = compare_texts(a, b, old, new, mended)
            yield Difference(f"{name} of: {new.words[i]}", verdict, diff)
    names = [set(files_of(result.folder)) for result in (old, new)]
    for name in sorted(names[0] | names[1]):
        if name not in names[0] or name not in names[1]:
            yield Difference(
                name, "DIFFERENT", ["only the old version wrote it" if name in names[0] else "only the new"]
            )
            continue
        paths = [old.folder / name, new.folder / name]
        if sha256_of(paths[0]) == sha256_of(paths[1]):
            yield Difference(name, "bytes", [])
            continue
        texts = [contents(path) for path in paths]
        if texts[0] is None or texts[1] is None:
            yield Difference(name, "DIFFERENT", [f"{path.stat().st_size:,} bytes" for path in paths])
            continue
        verdict, diff = compare_texts(texts[0], texts[1], old, new, mended)
        yield Difference(name, "data" if name.endswith(".parquet") and verdict == "alike" else verdict, diff)


def compare_texts(a: str, b: str, old: Result, new: Result, mended: Mended) -> tuple[str, list[str]]:
    """Return the verdict on two texts, and how they differ once they are made alike."""
    if a == b:
        return "bytes", []
    a, b = made_alike(a, old), made_alike(b, new)
    if a == b:
        return "alike", []
    for pattern, to in mended:
        a, b = pattern.sub(to, a), pattern.sub(to, b)
    if a == b:
        return "mended", []
    parts = [re.sub(r"(?m)^.{400,}$", lambda m: m[0].replace(", ", ",\n"), text).splitlines() for text in (a, b)]
    diff = list(difflib.unified_diff(parts[0], parts[1], lineterm="", n=0))[2:]
    return "DIFFERENT", [line for line in diff if not line.startswith("@@")] or ["other line ends"]


def report(case: Case, old: Result, new: Result, n_lines: int, mended: Mended) -> bool:
    """Print a row for the case and what differs below it; return whether a fault was seen."""
    found = list(compare(old, new, mended))
    counts = {verdict: sum(d.verdict == verdict for d in found) for verdict in VERDICTS}
    worst = next(verdict for verdict in reversed(VERDICTS) if counts[verdict] or verdict == "bytes")
    codes = " ".join(str(line[0]) for line in new.lines)
    tally = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    expected = f" (may differ: {case.may_differ})" if case.may_differ and counts["DIFFERENT"] else ""
    print(f"{case.name:26} {codes:32} {worst:10} {new.cpu_seconds:7.1f}  {tally}{expected}")
    for difference in found:
        if difference.verdict == "DIFFERENT":
            print(f"    {difference.what}")
            for line in difference.lines[:n_lines]:
                print(f"        {line if len(line) <= 400 else line[:400] + '…'}")
            if len(difference.lines) > n_lines:
                print(f"        … {len(difference.lines) - n_lines} more")
    sys.stdout.flush()
    return bool(counts["DIFFERENT"]) and not case.may_differ


def measure(runner: Runner, cases: Sequence[Case], times: int, *, rss: bool) -> None:
    """Run each case with either version in turn and print the medians; one run before the clock compiles the kernels."""
    columns = ["seconds", "cpu_seconds", *(["peak_mb"] if rss else [])]
    print(f"{'case':22}" + "".join(f" {f'old {name}':>16} {'new':>8} {'ratio':>6}" for name in columns))
    for case in cases:
        runs: dict[str, list[Result]] = {version: [] for version in VERSIONS}
        for _ in range(times + 1):
            for version in VERSIONS:
                runs[version].append(runner.run(case, version))
        row = f"{case.name:22}"
        for name in columns:
            old, new = (
                statistics.median(getattr(result, name) for result in runs[version][1:]) for version in VERSIONS
            )
            row += f" {old:16.2f} {new:8.2f} {new / old:6.2f}"
        print(row, flush=True)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, required=True, help="source tree of the version before, such as ../old/src")
    parser.add_argument("--new", type=Path, required=True, help="source tree of the version after")
    parser.add_argument("--cases", type=Path, default=HERE / "compare_versions.toml", help="the command lines")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a case, or a pattern such as 'lda*'"
    )
    parser.add_argument("--jobs", type=int, default=1, help="cases side by side (1)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each command (1)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work here and leave all files")
    parser.add_argument(
        "--keep-old", type=Path, metavar="DIR", help="keep what the old version did, or take it from here"
    )
    parser.add_argument("--lines", type=int, default=12, help="lines of a difference that are printed (12)")
    parser.add_argument(
        "--times", type=int, metavar="N", help="instead: run N times, in turn, and print median seconds"
    )
    parser.add_argument("--rss", action="store_true", help="with --times: peak memory, too")
    return parser.parse_args(arguments)


def main() -> int:
    """Compare or measure; return the exit code."""
    options = parse()
    trees: dict[str, Any] = {version: getattr(options, version).resolve() for version in VERSIONS}
    for tree in trees.values():
        if not (tree / "nlpkit").is_dir():
            sys.exit(f"error: {tree} has no package nlpkit; name the folder src of a checkout")
    cases, mended = read_cases(options.cases, options.only)
    with tempfile.TemporaryDirectory(prefix="compare-versions-") as temporary:
        work = (options.keep or Path(temporary)).resolve()
        data = trees["old"].parent / "data" / "samples"
        kept = options.keep_old and not options.times and options.keep_old.resolve()
        runner = Runner(trees, data, work, options.threads, kept or None)
        if options.times:
            measure(runner, cases, options.times, rss=options.rss)
            return 0
        print(f"{'case':26} {'exit codes':32} {'verdict':10} {'seconds':>7}  streams and files")
        with ThreadPoolExecutor(options.jobs, thread_name_prefix="worker") as pool:
            results = pool.map(lambda case: [runner.run(case, version) for version in VERSIONS], cases)
            rows = zip(cases, results, strict=True)
            faults = [case.name for case, (old, new) in rows if report(case, old, new, options.lines, mended)]
    print(f"{len(cases)} cases, {sum(len(c.lines) for c in cases)} lines: ", end="")
    print(f"{len(faults)} differ: {' '.join(faults)}" if faults else "no difference that is not explained")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
