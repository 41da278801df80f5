"""Run a command with a server that plays a language model; the word URL stands for its address: with_llm.py nlpkit name run/ --llm URL."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.llm_server import Server, said

PORT = 18123


def answer(body: dict[str, Any]) -> tuple[int, Any]:
    """Answer every kind of question at once, from the question alone: a name and its evidence, the number of an option, a label."""
    question = body["messages"][-1]["content"]
    word = (re.findall(r"words: (\w+)", question) or ["none"])[0]
    passage = " ".join(question.partition("Document 1: ")[2].split()[:4])
    label = ("hours", "loans", "account", "rooms")[len(question) % 4]
    return 200, said(
        json.dumps({"name": f"About {word}", "evidence": passage, "answer": 1 + len(question) % 5, "label": label})
    )


def started() -> Server:
    """Return the server, at the same port in each run, for answers are saved by address; another run that has the port is waited for."""
    for _ in range(600):
        try:
            return Server(answer, PORT)
        except OSError:
            time.sleep(0.5)
    sys.exit(f"port {PORT} stays taken")


url = started().url
sys.exit(subprocess.run([url if word == "URL" else word for word in sys.argv[1:]]).returncode)
