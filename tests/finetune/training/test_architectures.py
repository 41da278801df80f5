"""The names told are those of the parts, in all eight kinds of encoders."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from transformers import ElectraConfig, ElectraForSequenceClassification

from nlpkit.finetune.training.architectures import MODEL_TYPES, describe
from tests.finetune.eight import HEADS, KINDS, batch, build, one_thread  # noqa: F401
from tests.refusals import refuses

SEQUENCE_HEADS = {
    "bert": ("bert.pooler", "classifier"),
    "roberta": ("classifier",),
    "xlm-roberta": ("classifier",),
    "distilbert": ("pre_classifier", "classifier"),
    "deberta": ("pooler", "classifier"),
    "deberta-v2": ("pooler", "classifier"),
    "mpnet": ("classifier",),
    "modernbert": ("head", "classifier"),
}


def test_the_table_is_of_eight_kinds() -> None:
    assert MODEL_TYPES == KINDS


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_part_is_there_and_of_its_size(kind: str, head: str) -> None:
    model = build(kind, head)
    found = describe(model)
    assert (found.hidden_size, found.heads, len(found.layers)) == (32, 4, 2)
    for layer in found.layers:
        for field in dataclasses.fields(layer):
            name = getattr(layer, field.name)
            assert name is None or model.get_submodule(name) is not None
        outputs = 96 if found.fused else 32
        assert model.get_submodule(layer.query).weight.shape == (outputs, 32)
        assert model.get_submodule(layer.attention_dense).weight.shape == (32, 32)
        assert model.get_submodule(layer.ffn_up).weight.shape in ((64, 32), (128, 32))
        assert model.get_submodule(layer.ffn_down).weight.shape == (32, 64)
        assert (len({layer.query, layer.key, layer.value}) == 1) == bool(found.fused)
        for part, inside in found.targets.items():
            assert model.get_submodule(f"{layer.whole}.{inside}") is not None, part


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind != "modernbert"]
)  # pre-norm: no LayerNorm after the sum
def test_the_residual_sum_is_what_the_norms_are_given(kind: str) -> None:
    """attention_out and ffn_out are the last modules before the sum: norm's input − their output = the residual."""
    model = build(kind)
    layer = describe(model).layers[1]
    seen: dict[str, torch.Tensor] = {}
    for name in (layer.attention_norm, layer.ffn_norm):
        model.get_submodule(name).register_forward_pre_hook(lambda _m, args, n=name: seen.update({n: args[0]}))
        model.get_submodule(name).register_forward_hook(lambda _m, _a, out, n=name: seen.update({f"{n}>": out}))
    for name in (layer.attention_out, layer.ffn_out):
        model.get_submodule(name).register_forward_hook(lambda _m, _a, out, n=name: seen.update({n: out}))
    model(**batch())
    middle = seen[f"{layer.attention_norm}>"]
    torch.testing.assert_close(seen[str(layer.ffn_norm)], seen[layer.ffn_out] + middle)
    assert not torch.allclose(seen[str(layer.attention_norm)], seen[layer.attention_out])


@pytest.mark.parametrize("kind", KINDS)
def test_the_head_is_what_comes_after_the_encoder(kind: str) -> None:
    model = build(kind)
    found = describe(model)
    assert set(found.head_modules) == set(SEQUENCE_HEADS[kind])
    inside = {f"{m}.{n}" for m in found.head_modules for n, _ in model.get_submodule(m).named_parameters()}
    assert inside == set(found.head)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bare_encoder_has_no_head_and_a_token_classifier_no_pooler(kind: str) -> None:
    assert describe(build(kind, "")).head == ()
    tokens = describe(build(kind, "ForTokenClassification")).head_modules
    assert tokens == (("head", "classifier") if kind == "modernbert" else ("classifier",))


def test_another_kind_of_model_is_refused_with_the_kinds_there_are() -> None:
    config = ElectraConfig(vocab_size=60, hidden_size=32, embedding_size=32, num_hidden_layers=1, num_attention_heads=4)
    with refuses("base"):
        describe(ElectraForSequenceClassification(config))
