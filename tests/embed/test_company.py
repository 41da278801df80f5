"""The vector of a text is the same bytes alone and among others, in every precision and engine; an engine that changes it is not chosen."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.embed.kinds import is_installed
from nlpkit.embed.loading import load_encoder
from tests.command_line import needs_minilm
from tests.encoder_models import WORDS

torch = pytest.importorskip("torch")

from nlpkit.embed import bert, choice, use  # noqa: E402
from nlpkit.embed.bert import has_integer_products  # noqa: E402
from nlpkit.embed.engines import DirectEngine, FallbackEngine, load_engine  # noqa: E402

CPU = torch.device("cpu")
Linear = Callable[..., Callable[[Any], Any]]


def texts_of(n: int, seed: int = 3) -> list[str]:
    rng = np.random.default_rng(seed)
    return [f"{chr(97 + i % 26)} " + " ".join(rng.choice(WORDS, 1 + i % 30)) for i in range(n)]


def in_companies(folder: Path, n: int = 400, **settings: Any) -> None:
    """Embed n texts all together, and parts of them of many sizes, and compare the bytes."""
    texts = texts_of(n)
    encoder = load_encoder(str(folder), threads=2, **settings)
    together, _ = encoder.encode(texts, normalize=False)
    for size in (1, 2, 3, 7, 8, 33, 150, 320):
        part, _ = encoder.encode(texts[-size:], normalize=False)
        assert part.tobytes() == together[-size:].tobytes(), size


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_no_text_depends_on_its_company(tiny: Path, precision: str, caplog: pytest.LogCaptureFixture) -> None:
    in_companies(tiny, precision=precision)
    assert "depend on the texts beside it" not in caplog.text


@pytest.mark.parametrize("engine", ["openvino", "onnx"])
def test_no_text_of_a_graph_depends_on_its_company_unless_a_warning_says_so(
    tiny: Path, engine: str, caplog: pytest.LogCaptureFixture
) -> None:
    if not is_installed(engine):
        pytest.skip(f"no {engine}")
    loaded, _ = choice.choose_engine(tiny, device=CPU, engine=engine, precision="fp32", max_tokens=None, threads=1)
    assert ("depend on the texts beside it" in caplog.text) is not choice.keeps_vectors(loaded)
    if choice.keeps_vectors(loaded):
        in_companies(tiny, engine=engine, precision="fp32")


def test_no_text_of_sentence_transformers_depends_on_its_company(make_model: Callable[..., Path]) -> None:
    pytest.importorskip("sentence_transformers")
    folder = make_model()
    (folder / "sentence_bert_config.json").write_text(json.dumps({"model_args": {"attn_implementation": "eager"}}))
    assert isinstance(load_encoder(str(folder))._engine, FallbackEngine)
    in_companies(folder, 30, precision="fp32")


@needs_minilm
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_no_text_of_minilm_depends_on_its_company(precision: str) -> None:
    """Its product 1536 → 384 in bf16 has other last digits with 33 to 300 rows than with 2,048, on processors with AMX."""
    texts = [" ".join([text] * (1 + i % 9)) for i, text in enumerate(texts_of(40))]
    encoder = load_encoder(precision=precision, offline=True, threads=2)
    together, _ = encoder.encode(texts, normalize=False)
    for n in (1, 2, 5, 17):
        assert encoder.encode(texts[-n:], normalize=False)[0].tobytes() == together[-n:].tobytes(), n


def test_products_have_one_number_of_rows(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for a library whose last digits depend on the number of rows, as oneDNN's do on processors with AMX."""
    real, rows = bert._linear, set()

    def linear(*arguments: Any) -> Callable[[Any], Any]:
        product = real(*arguments)

        def of_rows(x: Any) -> Any:
            rows.add(len(x))
            return product(x) * (1 + 1e-4 * len(x))

        return of_rows

    monkeypatch.setattr(bert, "_linear", linear)
    in_companies(tiny, precision="fp32")
    assert rows == {bert.ROWS_ON_CPU}


def by_place(dtypes: tuple[Any, ...]) -> Linear:
    """Return a stand-in for a library whose result for a row depends on where the row stands, in some precisions."""
    real = bert._linear

    def linear(weight: Any, bias: Any, act: Any, dtype: Any, device: Any) -> Callable[[Any], Any]:
        product = real(weight, bias, act, dtype, device)
        if dtype not in dtypes:
            return product
        return lambda x: product(x) * (1 + 1e-2 * torch.arange(len(x)).remainder(5)[:, None]).to(x.dtype)

    return linear


def test_a_precision_that_depends_on_company_is_not_chosen_and_named_when_asked_for(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bert, "_linear", by_place((torch.bfloat16,)))
    monkeypatch.setattr(choice, "choose_precision", lambda name, device: "bf16" if name == "auto" else name)
    monkeypatch.setattr(choice, "CLOSE", -1.0)  # so that company alone decides
    caplog.set_level(logging.INFO)
    assert load_encoder(str(tiny)).precision == "fp32"
    assert "bf16 on cpu: the last digits of a text's vector depend on the texts beside it" in caplog.text
    assert [record.levelname for record in caplog.records] == ["INFO"]
    caplog.clear()
    assert load_encoder(str(tiny), precision="bf16").precision == "bf16"
    assert [record.levelname for record in caplog.records if "beside it" in record.message] == ["WARNING"]


def test_fp32_is_taken_with_a_warning_where_nothing_else_is_left(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bert, "_linear", by_place((torch.float32,)))
    assert load_encoder(str(tiny), precision="fp32").precision == "fp32"
    assert "depend on the texts beside it" in caplog.text


def test_the_first_layer_is_enough_to_see_it(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = load_engine(tiny, device=CPU, precision="fp32", max_tokens=None)
    assert isinstance(engine, DirectEngine)
    assert len(engine.model.layers) == 2
    assert len(engine.first_layer().model.layers) == 1
    assert choice.keeps_vectors(engine)
    monkeypatch.setattr(bert, "_linear", by_place((torch.float32,)))
    assert not choice.keeps_vectors(load_engine(tiny, device=CPU, precision="fp32", max_tokens=None))


def test_products_of_the_universal_sentence_encoder_have_one_number_of_rows() -> None:
    x, matrix = torch.randn(700, 24), torch.randn(24, 8)
    whole = use.times(x, matrix)
    torch.testing.assert_close(whole, x @ matrix)
    for n in (0, 1, 2, 7, 33, 255, 256, 257, 700):
        assert torch.equal(use.times(x[:n], matrix), whole[:n])


def test_integers_are_multiplied_exactly() -> None:
    """So no number of rows changes them, with and without the instructions for it."""
    from nlpkit.embed.bert import RowStore

    generator = torch.Generator().manual_seed(0)
    store, x = RowStore(torch.randn(48, 384, generator=generator)), torch.randn(300, 384, generator=generator)
    whole = store.linear(x, None)
    for n in (1, 2, 3, 7, 33, 150):
        assert torch.equal(store.linear(x[:n], None), whole[:n]), has_integer_products()
