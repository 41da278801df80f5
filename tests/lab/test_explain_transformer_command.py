"""nlpkit explain-transformer: what it prints and writes, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import nlpkit as nk
from tests.command_line import footer, read, run_cli

EXAMPLE = """
tokens = ["the", "dog"]
target = ["<start>", "der|Hund"]
heads = 2
[weights]
decoder.b_1 = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
"""


def test_the_lecture_on_the_screen_and_as_json() -> None:
    done = run_cli("explain-transformer")
    assert "6. Encoder: Value V    V = X W^V" in done.out
    assert "thrones  2.63  3.98  2.93  3.36" in done.out
    assert "−∞" in done.out
    assert "printed in row <end>, column <start>: −∞; calculated: 0.0000" in done.out
    assert "18 printed matrices compared" in done.err
    steps = run_cli("explain-transformer", "--json").json()["steps"]
    assert [step["symbol"] for step in steps[:6]] == ["E", "PE", "X", "Q", "K", "V"]
    assert steps[9]["matrix"][0][0] == 3.6227
    mask = next(step for step in steps if step["symbol"] == "MASK")
    assert mask["matrix"][0][5:7] == [0, None]


def test_pages_and_tables(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(EXAMPLE, encoding="utf-8")
    for name in ("t.html", "t.md", "t.parquet", "t.csv"):
        done = run_cli("explain-transformer", "e.toml", "-o", name)
        assert f"wrote {name}: " in done.err
        assert done.out == ""
    page = Path("t.html").read_text(encoding="utf-8")
    assert "&lt;start&gt;" in page
    assert "http" not in page.split("</style>")[1]
    assert "| der\\|Hund |" in Path("t.md").read_text(encoding="utf-8")
    table = read("t.parquet")
    worked = nk.explain_transformer("e.toml")
    assert table.num_rows == sum(step.matrix.size for step in worked.steps)
    assert table.equals(worked.table())
    assert footer("t.parquet")["command"] == "explain-transformer"
    before = Path("t.parquet").read_bytes()
    run_cli("explain-transformer", "e.toml", "-o", "t.parquet", "--force", "--threads", 1)
    assert Path("t.parquet").read_bytes() == before


def test_the_example_of_the_guide(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/inside-transformers.md").read_text(encoding="utf-8")
    (tmp_path / "dog.toml").write_text(
        re.findall(r"^```toml\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)[0], encoding="utf-8"
    )
    done = run_cli("explain-transformer", "dog.toml")
    assert "1 printed matrix compared: 0 cells differ" in done.err
    assert "drawn by the seed 42: embedding.dog" in done.err


def test_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("tokens = [", encoding="utf-8")
    (tmp_path / "e.toml").write_text('tokens = ["a"]', encoding="utf-8")
    assert "bad.toml is not TOML" in run_cli("explain-transformer", "bad.toml", code=3).error()
    assert "example none.toml: no such file" in run_cli("explain-transformer", "none.toml", code=3).error()
    assert (
        "the example file defines it; leave it out"
        in run_cli("explain-transformer", "e.toml", "--text", "a", code=2).error()
    )
    assert "name it steps.html" in run_cli("explain-transformer", "-o", "x.pdf", code=2).error()
    assert "--heads" in run_cli("explain-transformer", "--text", "a", "--heads", 0, code=2).err
    run_cli("explain-transformer", "e.toml", "-o", "x.md")
    assert "--force" in run_cli("explain-transformer", "e.toml", "-o", "x.md", code=2).error()
    assert "dry run" in run_cli("explain-transformer", "-n", "-o", "y.md").err
    assert not Path("y.md").exists()
