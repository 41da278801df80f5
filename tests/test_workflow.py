"""The CI job of docs/guides/ci-gates.md runs as printed, in a shell: it passes, and fails when the model got worse."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.examples
PAGE = (ROOT / "docs/guides/ci-gates.md").read_text(encoding="utf-8")


def steps() -> list[str]:
    """The scripts of the job, without the one that installs."""
    (job,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    lines = job.splitlines()
    found = []
    for i, line in enumerate(lines):
        if not line.strip().startswith("- run:"):
            continue
        script = line.split("- run:")[1].strip()
        if script == "|":
            indent = len(line) - len(line.lstrip()) + 4
            body = [more[indent:] for more in lines[i + 1 :] if more.startswith(" " * indent)]
            script = "\n".join(body)
        if not script.startswith("pip install"):
            found.append(script)
    return found


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does: bash -e -o pipefail."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's repository: texts, no checkout of nlpkit, and a baseline that was made as the page says."""
    folder = tmp_path_factory.mktemp("job")
    (folder / "texts.jsonl").symlink_to(ROOT / "data/samples/news.jsonl")
    (once,) = [
        line.split("  #")[0] for line in PAGE.splitlines() if line.startswith("nlpkit") and "-o metrics.json" in line
    ]
    fit, _ = steps()
    assert run(fit, folder).returncode == 0
    done = run(once, folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_job_passes(job: Path) -> None:
    done = run(steps()[1], job)
    assert done.returncode == 0, done.stderr
    assert (job / "summary.md").read_text(encoding="utf-8").startswith("### ✅ all gates passed")
    assert ET.parse(job / "gates.xml").getroot().get("failures") == "0"


def test_the_job_fails_when_the_model_got_worse(job: Path, tmp_path: Path) -> None:
    for name in ("texts.jsonl", "model"):
        (tmp_path / name).symlink_to(job / name)
    before = json.loads((job / "metrics.json").read_text(encoding="utf-8"))
    before["targets"][0]["metrics"]["npmi"]["value"] += 0.1
    (tmp_path / "metrics.json").write_text(json.dumps(before), encoding="utf-8")
    done = run(steps()[1], tmp_path)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert re.fullmatch(
        r"error: gate failed: model/: npmi \S+ is worse by 0\.1 than \S+ of metrics\.json, more than 0\.02", line
    )
    assert "❌ 1 of 3 gates failed" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert ET.parse(tmp_path / "gates.xml").getroot().get("failures") == "1"
