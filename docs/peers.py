"""How nlpkit compares with its peers: sentences whose figures come from the tables of docs/benchmarks/.

`python docs/generate.py` writes them into docs/benchmarks/summary.md and, a few of them, into README.md between two comments.
A test fails while either differs from what the tables give.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BEGIN, END = "<!-- written by docs/peers.py -->", "<!-- end -->"


class Row(NamedTuple):
    """One peer: a page of docs/benchmarks/, what nlpkit gains and what it loses beside it, and whether the README shows it."""

    peer: str
    page: str
    gains: str
    losses: str
    in_readme: bool = False


def table(page: str, heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading of a page, without its head."""
    text = (DOCS / "benchmarks" / page).read_text(encoding="utf-8").partition(heading)[2]
    lines = text[text.index("\n\n|") + 2 :].splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:end]]


def number(cell: str) -> float:
    """Return the first number of a cell, without marks and separators of thousands."""
    return float(re.findall(r"-?[\d.]+", cell.replace("−", "-").replace(",", ""))[0])


def span(values: list[float]) -> str:
    """Return the smallest and the largest of several figures."""
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low} to {high}"


def bertopic(heading: str, question: str) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows of BERTopic and of nlpkit, corpus by corpus."""
    rows = [row for row in table("bertopic.md", heading) if row[1] == question]
    return [row for row in rows if row[2] == "bertopic"], [row for row in rows if row[2] == "nlpkit"]


def share_better(theirs: list[list[str]], ours: list[list[str]], column: int) -> str:
    """Return on how many corpora nlpkit has the higher score."""
    return f"{sum(number(b[column]) > number(a[column]) for a, b in zip(theirs, ours, strict=True))} of {len(ours)}"


def rows_of_topics() -> list[Row]:
    """Compare topics found from embeddings."""
    theirs, ours = bertopic("# Beside", "auto")
    equal_theirs, equal_ours = bertopic("# Beside", "equal K")
    times = [number(a[9]) / number(b[9]) for a, b in zip(theirs, ours, strict=True)]
    few = {row[0].split(" ")[0]: row[3].split(",")[0] for row in ours}
    chat_theirs, chat_ours = (
        next(row for row in part if row[0].startswith("chat")) for part in (equal_theirs, equal_ours)
    )
    hdb_theirs, hdb_ours = bertopic("## By HDBSCAN", "equal K")
    left = [number(b[4]) / number(a[4]) for a, b in zip(hdb_theirs, hdb_ours, strict=True)]
    peers = {row[0]: row for row in table("topics-peers.md", "## Means over")}
    own, topeax = peers["nlpkit, `--cluster kmeans --k auto`"], peers["Turftopic Topeax"]
    return [
        Row(
            "BERTopic, `auto` on both sides, default k-means",
            "bertopic",
            f"Agreement with labels (AMI) is higher on {share_better(theirs, ours, 8)} corpora. No document is left out. "
            f"{span(times)} times as fast after embedding.",
            f"`auto` finds {few['r52']} topics where r52 has 52 classes. AMI is lower on books. "
            f"On short chats NPMI is {chat_ours[5]} at equal K (BERTopic {chat_theirs[5]}).",
            True,
        ),
        Row(
            "BERTopic, equal K, `--cluster hdbscan`",
            "bertopic",
            f"The share of documents without a topic is at most {max(left):.0%} of BERTopic's. "
            f"NPMI is higher on {share_better(hdb_theirs, hdb_ours, 5)} corpora.",
            f"Diversity is higher on {share_better(hdb_theirs, hdb_ours, 6)} corpora only. k-means agrees better with labels.",
        ),
        Row(
            "Turftopic's Topeax",
            "topics-peers",
            f"Mean AMI {own[3]} (Topeax {topeax[3]}), NPMI {own[9].replace('-', '−')} ({topeax[9].replace('-', '−')}).",
            f"Topics share words: diversity {own[5]} ({topeax[5]}). Interpretability {own[8]} ({topeax[8]}).",
        ),
    ]


def rows_of_words() -> list[Row]:
    """Compare LDA, tf-idf, n-gram models and coherence."""
    lda = {(row[0], row[1]): row for row in table("lda.md", "# LDA")}["100", "2"]
    words = {row[0]: number(row[1]) for row in table("text.md", "# Words")}
    ngrams = table("language-models.md", "# N-gram")
    seconds = [[number(part) for part in cell.split(", ")] for row in ngrams for cell in row[2:4]]
    memory = [number(row[2].split(", ")[1]) / number(row[3].split(", ")[1]) for row in ngrams]
    slower = [seconds[i][0] / seconds[i + 1][0] for i in range(0, len(seconds), 2)]
    coherence = [number(row[3]) for row in table("coherence.md", "# Coherence")[:2]]
    return [
        Row(
            "tomotopy, MALLET (LDA)",
            "lda",
            f"{lda[4]} and {lda[6]} times as fast to the same likelihood (K = 100, two threads).",
            f"More memory: {lda[8].split(', ')[0]} MB (tomotopy {lda[8].split(', ')[1]}). New documents are not predicted better.",
            True,
        ),
        Row(
            "scikit-learn, gensim (tf-idf)",
            "text",
            f"{words['scikit-learn 1.9'] / words['nlpkit tfidf, sklearn tokens']:.1f} and "
            f"{words['gensim 4.4'] / words['nlpkit tfidf, own tokens']:.0f} times as fast, with equal numbers.",
            "On a processor with AMX the first is 3.9 to 4.2 times.",
            True,
        ),
        Row(
            "gensim (coherence)",
            "coherence",
            f"Equal scores {coherence[1] / coherence[0]:.0f} times as fast on one thread.",
            "The default definitions differ from gensim's. `--compat gensim` gives its numbers.",
        ),
        Row(
            "KenLM (n-gram models)",
            "language-models",
            f"The same probabilities with {span(memory)} times its memory and {span(slower)} times its CPU seconds.",
            "A saved model is read into memory whole; KenLM maps its binary files.",
        ),
    ]


def rows_of_labels() -> list[Row]:
    """Compare classifiers and fine-tuning."""
    cells = [re.findall(r"([\d.]+) / ([\d.]+)", cell)[0] for row in table("classify.md", "# ") for cell in row[1:6]]
    scores = [(float(a), float(b)) for a, b in cells]
    higher, equal, lower = (sum(test(a, b) for a, b in scores) for test in (float.__gt__, float.__eq__, float.__lt__))
    memory = [re.findall(r"(\d+) / (\d+)", row[7])[0] for row in table("classify.md", "# ")]
    steps = [
        [number(cell.split(":")[1]) for cell in row[1:5] if ":" in cell]
        for row in table("finetune.md", "## CPU seconds")
    ]
    names = [row[0].strip("`") for row in table("finetune.md", "## CPU seconds")]
    adapters = [
        ratio for name, row in zip(names, steps, strict=True) if name not in ("head", "full", "setfit") for ratio in row
    ]
    return [
        Row(
            "scikit-learn (classifiers)",
            "classify",
            f"Macro-F1 is higher in {higher} and equal in {equal} of {len(scores)} comparisons.",
            f"It is lower in {lower}. Small corpora take up to {max(int(a) / int(b) for a, b in memory):.1f} times the memory.",
            True,
        ),
        Row(
            "peft, Trainer (fine-tuning)",
            "finetune",
            f"The same accuracy with the same head; adapters are {span(adapters)} times as fast at equal steps.",
            "On short questions the gain is smallest. Half of their memory was the aim and is not met.",
        ),
    ]


def rows() -> list[Row]:
    """Return all rows, the default of the commonest task first."""
    return [*rows_of_topics(), *rows_of_words(), *rows_of_labels()]


def markdown(of: list[Row], folder: str) -> str:
    """Return rows as a table; `folder` leads from the page to docs/benchmarks/."""
    lines = ["| beside | gains | losses |", "|---|---|---|"]
    lines += [f"| [{row.peer}]({folder}{row.page}.md) | {row.gains} | {row.losses} |" for row in of]
    return "\n".join(lines)


def filled(page: Path, text: str) -> str:
    """Return a page with the part between the two comments replaced."""
    written = page.read_text(encoding="utf-8")
    before, rest = written.split(f"{BEGIN}\n")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}"


def pages() -> dict[Path, str]:
    """Return the two pages as they should be."""
    every = rows()
    summary, readme = DOCS / "benchmarks" / "summary.md", ROOT / "README.md"
    return {
        summary: filled(summary, markdown(every, "")),
        readme: filled(readme, markdown([row for row in every if row.in_readme], "docs/benchmarks/")),
    }


def write() -> None:
    """Write the two pages."""
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
