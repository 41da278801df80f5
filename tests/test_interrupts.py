"""Ctrl-C at any moment of the start is one line: also while modules are loaded."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.parametrize("after", [0.02, 0.05, 0.1])
def test_ctrl_c_while_modules_are_loaded(after: float) -> None:
    """A module that takes long to import stands for those that do; it says when it is there."""
    code = (
        "import sys, time, types\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'nlpkit.cli.app':\n"
        "            print('loading', flush=True); time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "sys.argv = ['nlpkit', '--help']\n"
        "from nlpkit.__main__ import main\n"
        "main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"loading\n"
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"error: interrupted; nothing was written\n")
