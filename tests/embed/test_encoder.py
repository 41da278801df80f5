from __future__ import annotations

import copy
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.embed import loading as loading_module
from nlpkit.embed.encoder import Encoder, EncodeReport
from nlpkit.embed.loading import load_encoder
from nlpkit.embed.models import ModelFiles
from nlpkit.embed.token_ids import Batch
from nlpkit.errors import InputError, MissingError, OutOfMemoryError, UsageError
from tests.refusals import refuses

for needed in ("torch", "tokenizers", "safetensors"):
    pytest.importorskip(needed)

import torch  # noqa: E402

from nlpkit.embed.engines import load_engine  # noqa: E402
from nlpkit.embed.hardware import choose_devices  # noqa: E402

MakeModel = Callable[..., Path]


@pytest.fixture(scope="module")
def encoder(tiny: Path) -> Encoder:
    return load_encoder(str(tiny), precision="fp32", long="truncate")


# A fake engine whose vectors are known: text "3 1" is a document of 3 tokens whose vector is (3, 1).


class FakeEngine:
    name, dim, max_tokens, precision, pads = "torch", 2, 100, "fp32", True

    def __init__(self, fits: int = 1000, error: str = "CUDA out of memory. Tried to allocate 2.00 GiB") -> None:
        self.fits, self.error = fits, error
        self.sizes: list[int] = []
        self.delay = 0.0

    def read(self, texts: Sequence[str]) -> FakeTexts:
        return FakeTexts(self, texts)


class FakeTexts:
    def __init__(self, engine: FakeEngine, texts: Sequence[str]) -> None:
        self.engine = engine
        self.vectors = np.array([text.split() for text in texts], np.float32).reshape(-1, 2)
        self.counts = self.lengths = self.vectors[:, 0].astype(np.int64)
        self.cut = np.zeros(len(texts), np.int64)

    def on(self, engine: FakeEngine) -> FakeTexts:
        other = copy.copy(self)
        other.engine = engine
        return other

    def embed(self, batch: Batch) -> Any:
        if len(batch.rows) > self.engine.fits:
            raise RuntimeError(self.engine.error)
        time.sleep(self.engine.delay)
        self.engine.sizes.append(len(batch.rows))
        return self.vectors[batch.rows]


def fake_encoder(engine: FakeEngine, device: str = "cuda", **options: Any) -> Encoder:
    files = ModelFiles("fake", Path(), "path")
    return Encoder(files, engine, device=device, **{"batch_tokens": 40, "threads": 1} | options)


FAKE_TEXTS = [f"{n} {i}" for i, n in enumerate([3, 9, 1, 9, 4, 2, 9, 8])]


def test_vectors_come_back_in_input_order() -> None:
    vectors, report = fake_encoder(FakeEngine(), "cpu").encode(FAKE_TEXTS, normalize=False)
    assert vectors.tolist() == [[float(x) for x in text.split()] for text in FAKE_TEXTS]
    assert (report.n_docs, report.n_unique, report.tokens) == (8, 8, 45)


def test_equal_texts_are_run_once_and_counted_each_time() -> None:
    engine = FakeEngine()
    texts = ["3 1", "2 5", "3 1", "3 1"]
    vectors, report = fake_encoder(engine).encode(texts, normalize=False)
    assert vectors.tolist() == [[3, 1], [2, 5], [3, 1], [3, 1]]
    assert sum(engine.sizes) == report.n_unique == 2
    assert (report.n_docs, report.tokens) == (4, 11)


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_adds_up_to_all_documents(threads: int) -> None:
    steps: list[tuple[int, int]] = []
    texts = [*FAKE_TEXTS, *FAKE_TEXTS[:3]]
    here = threading.get_ident()
    encoder = fake_encoder(FakeEngine(), "cpu", threads=threads, batch_tokens=10)
    encoder.encode(texts, progress=lambda n: steps.append((n, threading.get_ident())))
    assert sum(n for n, _ in steps) == len(texts)
    assert len(steps) > 2
    assert {thread for _, thread in steps} == {here}


def test_nothing_runs_on_after_an_interrupt() -> None:
    engine = FakeEngine()
    encoder = fake_encoder(engine, "cpu", threads=2, batch_tokens=1)

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    engine.delay = 0.01  # 5 s in all, for a machine on which the end of the others is long in coming
    with pytest.raises(KeyboardInterrupt):
        encoder.encode([f"1 {i}" for i in range(1000)], progress=stop)
    assert len(engine.sizes) < 1000


def test_a_gpu_out_of_memory_halves_the_batch(caplog: pytest.LogCaptureFixture) -> None:
    engine = FakeEngine(fits=2)
    with caplog.at_level(logging.WARNING, "nlpkit.embed"):
        vectors, _ = fake_encoder(engine, batch_tokens=1000).encode(FAKE_TEXTS, normalize=False)
    assert vectors.tolist() == [[float(x) for x in text.split()] for text in FAKE_TEXTS]
    assert max(engine.sizes) == 2
    assert "halving" in caplog.text


def test_a_batch_size_that_failed_is_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"4 {i}" for i in range(40)]
    engine = FakeEngine(fits=5)
    with caplog.at_level(logging.WARNING, "nlpkit.embed"):
        fake_encoder(engine, batch_tokens=40).encode(texts)
    assert set(engine.sizes) == {5}
    assert len(caplog.records) == 1


def test_one_document_that_does_not_fit() -> None:
    with pytest.raises(OutOfMemoryError) as caught:
        fake_encoder(FakeEngine(fits=0)).encode(FAKE_TEXTS)
    assert caught.value.exit_code == 5


def test_batches_are_dealt_to_several_gpus() -> None:
    """Stand-ins for GPUs: batch i goes to device i mod n, whichever is faster, and every one halves for itself."""
    engines = [FakeEngine(), FakeEngine(fits=2), FakeEngine()]
    engines[0].delay = 0.02
    encoder = fake_encoder(engines[0], "cuda:0,cuda:1,cuda:2", others=engines[1:], batch_tokens=20)
    counts: list[int] = []
    vectors, _ = encoder.encode(FAKE_TEXTS, normalize=False, progress=counts.append)
    assert vectors.tolist() == [[float(x) for x in text.split()] for text in FAKE_TEXTS]
    one = FakeEngine()
    fake_encoder(one, batch_tokens=20).encode(FAKE_TEXTS)
    assert engines[0].sizes == one.sizes[0::3]
    assert sum(engines[1].sizes) == sum(one.sizes[1::3])
    assert sum(counts) == len(FAKE_TEXTS)


@pytest.mark.parametrize("broken", [0, 1])
def test_an_error_on_one_of_several_gpus_ends_the_work(broken: int) -> None:
    engines = [FakeEngine(), FakeEngine()]
    engines[broken].fits, engines[broken].error = 0, "CUDA error: device-side assert triggered"
    encoder = fake_encoder(engines[0], "cuda:0,cuda:1", others=engines[1:], batch_tokens=9)
    with pytest.raises(RuntimeError, match="device-side"):
        encoder.encode(FAKE_TEXTS)
    engines[broken].error = "CUDA out of memory"
    with pytest.raises(OutOfMemoryError):
        encoder.encode(FAKE_TEXTS)


def test_a_model_on_two_devices_gives_the_same_vectors(tiny: Path, sentences: list[str]) -> None:
    """The real engine twice, on the CPU as a stand-in, with the padded batches of GPUs."""
    one = load_encoder(str(tiny), precision="fp32", batch_tokens=60, long="truncate")
    files = ModelFiles("tiny", tiny, "path")
    engines = [load_engine(tiny, device=torch.device("cpu"), precision="fp32", max_tokens=None) for _ in range(2)]
    for engine in engines:
        engine.pads = True
    both = Encoder(files, engines[0], device="meta:0,meta:1", batch_tokens=60, threads=1, others=engines[1:])
    np.testing.assert_allclose(both.encode(sentences)[0], one.encode(sentences)[0], atol=1e-5)


@pytest.mark.parametrize("names", ["cpu,cpu", "cuda:0,cpu", "cuda:0,cuda:0", "cuda,cuda:0", "cuda:0,cuda:9"])
def test_several_devices_that_are_none(names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [str(device) for device in choose_devices("cuda:0, cuda:1")] == ["cuda:0", "cuda:1"]
    with refuses("device"):
        choose_devices(names)


def test_a_cpu_out_of_memory_is_an_error() -> None:
    engine = FakeEngine(fits=0, error="[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried")
    with pytest.raises(OutOfMemoryError):
        fake_encoder(engine, "cpu", threads=2, batch_tokens=10).encode(FAKE_TEXTS)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="shapes do not match"):
        fake_encoder(FakeEngine(fits=0, error="shapes do not match")).encode(FAKE_TEXTS)


def test_vectors_of_length_zero_stay_zero() -> None:
    vectors, _ = fake_encoder(FakeEngine()).encode(["0 0", "3 4"])
    np.testing.assert_allclose(vectors, [[0, 0], [0.6, 0.8]], atol=1e-7)


# The tiny BERT.


def test_what_an_encoder_says_of_itself(encoder: Encoder, tiny: Path) -> None:
    assert (encoder.name, encoder.origin, encoder.dim, encoder.max_tokens) == (str(tiny), "path", 32, 12)
    assert (encoder.precision, encoder.device) == ("fp32", "cpu")
    assert len(encoder.fingerprint) == 64


def test_shape_type_and_length_of_vectors(encoder: Encoder, sentences: list[str]) -> None:
    vectors, report = encoder.encode(sentences)
    assert (vectors.shape, vectors.dtype) == ((len(sentences), 32), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert report.seconds > 0
    raw, _ = encoder.encode(sentences, normalize=False)
    assert not np.allclose(np.linalg.norm(raw, axis=1), 1)
    np.testing.assert_allclose(raw / np.linalg.norm(raw, axis=1, keepdims=True), vectors, atol=1e-6)


def test_no_texts(encoder: Encoder) -> None:
    vectors, report = encoder.encode([])
    assert (vectors.shape, vectors.dtype) == ((0, 32), np.float32)
    assert (report.n_docs, report.n_unique, report.tokens, report.tokens_cut) == (0, 0, 0, 0)


def test_empty_and_odd_texts_have_a_vector(encoder: Encoder) -> None:
    vectors, report = encoder.encode(["", " \n\t", "\u200b", "a\ud800b", "a?b", "\x00", "🙂"])
    assert np.isfinite(vectors).all()
    assert (vectors[0] == vectors[1]).all()
    assert (vectors[3] == vectors[4]).all()  # half a character counts as a question mark
    assert report.n_docs == 7


def test_only_strings(encoder: Encoder) -> None:
    with pytest.raises(InputError):
        encoder.encode(["a", None])  # type: ignore[list-item]


def test_tokens_are_counted_before_the_cut(encoder: Encoder) -> None:
    texts = ["cat", "the cats sat", " ".join(["dog"] * 10), " ".join(["dog"] * 11), " ".join(["dog"] * 25)]
    _, report = encoder.encode([*texts, texts[-1]])
    assert report.tokens == 1 + 4 + 10 + 11 + 25 + 25  # cats is two tokens
    assert report.tokens_cut == 1 + 15 + 15
    assert report.docs_cut == 3
    assert report.max_tokens == 12
    assert (report.tokens_cut, report.tokens) == (31, 76)


def test_a_cut_text_is_its_first_tokens(encoder: Encoder) -> None:
    vectors, _ = encoder.encode([" ".join(["dog"] * 10), " ".join(["dog"] * 25)])
    assert (vectors[0] == vectors[1]).all()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_bytes_depend_on_the_text_alone(tiny: Path, sentences: list[str], precision: str) -> None:
    alone = load_encoder(str(tiny), precision=precision, threads=1, long="truncate")
    expected = np.concatenate([alone.encode([text])[0] for text in sentences])
    for threads, batch_tokens in ((1, 10_000), (2, 40), (5, 1)):
        other = load_encoder(
            str(tiny), precision=precision, threads=threads, batch_tokens=batch_tokens, long="truncate"
        )
        vectors, _ = other.encode(sentences)
        np.testing.assert_array_equal(vectors, expected)
        backwards, _ = other.encode(sentences[::-1])
        np.testing.assert_array_equal(backwards[::-1], expected)


def test_threads_of_torch_are_given_back(encoder: Encoder, sentences: list[str]) -> None:

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        encoder.encode(sentences)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_bf16_is_close_to_fp32(tiny: Path, encoder: Encoder, sentences: list[str]) -> None:
    short = load_encoder(str(tiny), precision="bf16", long="truncate")
    assert short.precision == "bf16"
    cosines = (short.encode(sentences)[0] * encoder.encode(sentences)[0]).sum(axis=1)
    assert cosines.mean() > 0.999


def test_auto_precision_follows_the_hardware(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nlpkit.embed import hardware

    monkeypatch.setattr(hardware, "cpu_has_fast_bf16", lambda: True)
    assert load_encoder(str(tiny), device="cpu").precision == "bf16"
    monkeypatch.setattr(hardware, "cpu_has_fast_bf16", lambda: False)
    assert load_encoder(str(tiny), device="cpu").precision == "fp32"


@pytest.mark.parametrize(
    ("vendor", "flags", "fast"),
    [
        ("GenuineIntel", "avx512f avx512_bf16 amx_bf16 amx_tile", True),
        ("GenuineIntel", "avx512f avx512_bf16", False),
        ("AuthenticAMD", "avx512f avx512_bf16", True),
        ("AuthenticAMD", "avx2", False),
    ],
)
def test_processors_that_are_faster_in_bf16(
    vendor: str, flags: str, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nlpkit.embed import hardware

    cores = [
        f"processor\t: {i}\nvendor_id\t: {vendor}\nmodel name\t: A: B\nflags\t\t: fpu {flags}\n\n" for i in range(2)
    ]
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: "".join(cores))
    assert hardware.cpu_has_fast_bf16() == fast


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"precision": "fp8"}, "`precision=fp8`"),
        ({"precision": "fp16", "device": "cpu"}, "precision fp16 needs cuda, the device is cpu"),
        ({"device": "cuda:99"}, "`device=cuda:99`"),
        ({"device": "gpu"}, "`device=gpu`"),
        ({"device": "cpu", "max_tokens": 41}, "`max_tokens=41`: this model takes 3 to 40"),
        ({"device": "cpu", "max_tokens": 2}, "`max_tokens=2`: this model takes 3 to 40"),
        ({"threads": 0}, "`threads=0`"),
        ({"batch_tokens": -1}, "`batch_tokens=-1`"),
    ],
)
def test_options_that_cannot_be(tiny: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_encoder(str(tiny), **options)


def test_max_tokens_can_be_raised_up_to_the_positions(tiny: Path) -> None:
    encoder = load_encoder(str(tiny), precision="fp32", max_tokens=40)
    _, report = encoder.encode([" ".join(["dog"] * 30)])
    assert (report.tokens_cut, report.max_tokens) == (0, 40)


def test_without_torch_the_extra_is_named(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = loading_module.importlib.util.find_spec
    monkeypatch.setattr(
        loading_module.importlib.util, "find_spec", lambda name: None if name == "torch" else find_spec(name)
    )
    with pytest.raises(MissingError, match=r"sbert-embed needs the extra 'neural'.*pip install") as caught:
        load_encoder(str(tiny))
    assert caught.value.exit_code == 4


def test_broken_folders(make_model: MakeModel) -> None:
    from safetensors.torch import load_file, save_file

    folder = make_model()
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.bias"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(MissingError):
        load_encoder(str(folder))
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(MissingError):
        load_encoder(str(folder))
    (folder / "modules.json").write_text("[")
    with pytest.raises(MissingError):
        load_encoder(str(folder))


def test_a_plain_transformers_folder_gets_mean_pooling(make_model: MakeModel, encoder: Encoder) -> None:
    folder = make_model()
    (folder / "modules.json").unlink()
    (folder / "sentence_bert_config.json").unlink()
    plain = load_encoder(str(folder), precision="fp32", long="truncate")
    assert plain.max_tokens == 40
    np.testing.assert_array_equal(plain.encode(["the cat sat"])[0], encoder.encode(["the cat sat"])[0])


def test_pooling_is_the_one_of_the_config(make_model: MakeModel, encoder: Encoder) -> None:
    both = make_model(pooling={"embedding_dimension": 32, "pooling_mode": ["cls", "mean"]})
    own = load_encoder(str(both), precision="fp32", long="truncate")
    assert own.dim == 64
    raw, _ = own.encode(["the cat sat"], normalize=False)
    np.testing.assert_array_equal(raw[:, 32:], encoder.encode(["the cat sat"], normalize=False)[0])


def test_lowercase_is_the_one_of_the_configs(make_model: MakeModel, encoder: Encoder) -> None:
    folder = make_model()
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"do_lower_case": False}))
    cased = load_encoder(str(folder), precision="fp32", long="truncate")
    expected, _ = encoder.encode(["the cat"])
    assert not np.allclose(cased.encode(["The CAT"])[0], expected)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 12, "do_lower_case": True}))
    lowered = load_encoder(str(folder), precision="fp32", long="truncate")
    np.testing.assert_array_equal(lowered.encode(["The CAT"])[0], expected)


def test_loading_is_light_and_silent(tiny: Path) -> None:
    code = (
        "import sys\n"
        "from nlpkit.embed.loading import load_encoder\n"
        "assert 'torch' not in sys.modules\n"
        f"load_encoder({str(tiny)!r}).encode(['a cat', 'a dog'])\n"
        "assert not {'transformers', 'sentence_transformers', 'scipy'} & set(sys.modules)\n"
    )
    ended = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_report_is_plain_numbers(encoder: Encoder) -> None:
    _, report = encoder.encode(["a cat"])
    assert isinstance(report, EncodeReport)
    json.dumps(report.__dict__)


@pytest.mark.parametrize(("capability", "precision"), [((7, 5), "fp32"), ((8, 0), "bf16"), ((9, 0), "bf16")])
def test_auto_precision_on_cuda(capability: tuple[int, int], precision: str, monkeypatch: pytest.MonkeyPatch) -> None:

    from nlpkit.embed.hardware import choose_device, choose_precision

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert choose_device(None) == torch.device("cuda")
    device = choose_device("cuda:1")
    assert choose_precision("auto", device) == precision
    assert choose_precision("fp16", device) == "fp16"
    with refuses("device"):
        choose_device("cuda:2")
