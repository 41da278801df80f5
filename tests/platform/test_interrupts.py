"""Ctrl-C at any moment of the start is one line: also while modules are loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nlpkit.platform.interrupts import Ended, between_steps, catch_ending_signals, end


@pytest.mark.parametrize("after", [0.02, 0.05, 0.1])
def test_ctrl_c_while_modules_are_loaded(after: float) -> None:
    """A module that takes long to import stands for those that do; it says when it is there."""
    code = (
        "import sys, time, types\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'nlpkit.platform.cli.app':\n"
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_of_batch_systems_wait_for_the_end_of_a_step(number: signal.Signals) -> None:
    usual = signal.signal(number, signal.SIG_DFL)
    try:
        catch_ending_signals()
        with between_steps() as stop:
            stop.step(1, 9)
            signal.raise_signal(number)
            signal.raise_signal(number)
            with pytest.raises(Ended) as ended:
                stop.step(2, 9)
        assert ended.value.number == number
        assert signal.getsignal(number) is end
        signal.signal(number, signal.SIG_IGN)  # nohup
        catch_ending_signals()
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, usual)


def test_no_room_for_the_model_of_languages_is_one_line(tmp_path: Path) -> None:
    """py3langid unpacks its model into a temporary file, in a thread."""
    (tmp_path / "x.txt").write_text("a river and a bridge over it\n" * 5)
    run = f"ulimit -f 20; exec {sys.executable} -m nlpkit preprocess x.txt -o x.parquet"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}  # where no copy of it is
    done = subprocess.run(["bash", "-c", run], cwd=tmp_path, env=environment, capture_output=True, timeout=300)
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith(b"error: cannot unpack the model that finds languages in ")
    assert done.stderr.count(b"\n") == 1
    assert [f.name for f in tmp_path.iterdir()] == ["x.txt"]
