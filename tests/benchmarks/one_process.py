"""Run each line of standard input as a command of nlpkit, all in one process: most of them take longer to start than to run."""

import runpy
import shlex
import sys

for line in sys.stdin:
    print(f"$ nlpkit {line.strip()}", flush=True)
    sys.argv = ["nlpkit", *shlex.split(line)]
    try:
        runpy.run_module("nlpkit", run_name="__main__", alter_sys=False)
    except SystemExit as end:
        sys.stdout.flush()
        print(f"exit code {end.code or 0}", flush=True)
