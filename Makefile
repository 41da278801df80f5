# Two commands do everything on a fresh machine: make demo, make test.
# the first of these that is installed, or another: make demo PYTHON=python3.14
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name) 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
# tests of one file stay together, and share what they made; the order is that of tests/conftest.py
WORKERS := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
KERNELS = $(shell find tests -name "test_*_kernel.py")
# bytecode is kept, whatever the environment says: else each of the hundreds of processes that tests start compiles the package anew
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo docs dist test test-examples test-any test-bounds test-gpu test-wheel test-all lint bench clean

demo: $(INSTALLED)
	$(BIN)/nlpkit bertopic data/samples/news.jsonl --k auto --seed 42 --offline --force -o demo-run/

# leaves the durations of the slowest tests and files in build/durations.txt (tests/conftest.py)
test: $(DEV) lint
	$(BIN)/python -m pytest $(WORKERS)

# what README, docs, configs and --help print, run as printed
test-examples: $(DEV)
	$(BIN)/python -m pytest -n auto --maxprocesses 4 -m examples tests/test_docs.py tests/test_notebooks.py tests/test_workflow.py tests/platform/cli/test_help.py

# random command lines; ANY_COMMAND_SEED=1000 ANY_COMMAND_LINES=200 make test-any draws others and more
test-any: $(DEV)
	$(BIN)/python -m pytest -n auto --maxprocesses 4 -m any_command tests/platform/cli/test_any_command.py

# kernels compiled so that an index outside its array is an error, with their own cache, for the code is another; then as plain Python
test-bounds: $(DEV)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.cache/bounds $(BIN)/python -m pytest $(WORKERS) \
		$(KERNELS) tests/fuzz tests/platform/test_widths.py tests/text/kernels/test_scan.py tests/text/test_duplicates.py tests/text/test_near_duplicates.py
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(WORKERS) $(KERNELS)

# what needs a GPU; elsewhere the tests see none, so that they compare the same numbers on every machine
test-gpu: $(DEV)
	CUDA_VISIBLE_DEVICES=0 $(BIN)/python -m pytest tests/embed/test_gpu.py tests/finetune/test_gpu.py

# the wheel beside the packages that are installed here; test-all has it in an empty environment and with pipx, too
test-wheel: $(DEV)
	$(BIN)/python -m pytest -m slow -k beside tests/test_packaging.py

test-all: $(DEV) lint
	OMP_NUM_THREADS=$$(nproc) $(BIN)/python -m pytest $(WORKERS) -m "not bench and not any_command"

lint: $(DEV)
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2
	for platform in darwin win32; do \
		$(BIN)/mypy --num-workers 2 --platform $$platform --cache-dir .mypy_cache/$$platform || exit 1; \
	done

# the site of docs/ in site/, with the pages of docs/reference/ that come from the code, the stub of Python and the notebooks
docs: $(DEV)
	$(BIN)/python docs/write_stub.py
	$(BIN)/python docs/notebooks/run.py
	$(BIN)/python docs/generate.py
	$(BIN)/zensical build --clean --strict

# wheel and source archive in dist/
dist: $(DEV)
	rm -rf dist
	$(BIN)/python -m build

bench: $(DEV)
	$(BIN)/python tests/benchmarks/bench_bertopic.py
	$(BIN)/python tests/benchmarks/bench_text.py
	$(BIN)/python tests/benchmarks/bench_lda.py
	$(BIN)/python tests/benchmarks/bench_classify.py
	$(BIN)/python tests/benchmarks/bench_classify.py --speed
	$(BIN)/python tests/benchmarks/bench_finetune.py --data trec --shots 8 --peers
	$(BIN)/python tests/benchmarks/bench_coherence.py
	$(BIN)/python tests/benchmarks/bench_ratings.py

# torch first: with it there, nothing asks the index for a newer build
$(INSTALLED): pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(PIP) torch
	$(PIP) -e ".[neural,minilm,report]"
	touch $@

# the tests run every extra
$(DEV): $(INSTALLED)
	$(PIP) -e ".[all,docs,dev]"
	touch $@

clean:
	rm -rf $(VENV) demo-run dist site .cache build *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
