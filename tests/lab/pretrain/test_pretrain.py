"""pretrain: perplexity by hand, the same bytes on any threads and after an interruption, what transformers loads, bad input."""

from __future__ import annotations

import json
import logging
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.few import few

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import nlpkit as nk  # noqa: E402
from nlpkit.errors import InputError, MissingError, UsageError  # noqa: E402
from nlpkit.lab.options import PretrainOptions, TokenizerOptions  # noqa: E402
from nlpkit.lab.pretrain.estimate import estimate_pretraining  # noqa: E402
from nlpkit.lab.pretrain.networks import ARCHES, new_network  # noqa: E402
from nlpkit.lab.pretrain.objectives import ClmObjective, count_words, cut_sequences  # noqa: E402
from nlpkit.lab.pretrain.run import PretrainedModel, tokenizer_of  # noqa: E402
from nlpkit.lab.tokenizer import train_subwords  # noqa: E402
from nlpkit.platform.interrupts import Stop  # noqa: E402

NOUNS, VERBS = ["river", "bridge", "boat", "judge", "court", "moon"], ["sees", "meets", "follows", "crosses"]
TEXTS = [f"the {NOUNS[i % 6]} {VERBS[i % 4]} the {NOUNS[i // 4 % 6]}" for i in range(48)]
SMALL: dict[str, Any] = {"vocab_size": 80, "max_tokens": 16, "batch_size": 8, "threads": 1, "device": "cpu"}


def trained(arch: str, texts: list[str] = TEXTS, **options: Any) -> PretrainedModel:
    data: Any = texts
    if arch == "t5":
        data = pa.table({"text": texts, "target": [" ".join(text.split()[::-1]) for text in texts]})
        options = {"target_col": "target", **options}
    return nk.pretrain(data, arch=f"{arch}(layers=1,hidden=16)", **{**SMALL, "max_steps": 4, **options})


def weights(run: Path) -> dict[str, bytes]:
    return {f.relative_to(run).as_posix(): f.read_bytes() for f in sorted(run.rglob("*.safetensors"))}


@pytest.mark.parametrize("arch", ARCHES)
def test_every_architecture_is_trained_saved_and_embeds(arch: str, tmp_path: Path) -> None:
    result = trained(arch, pooling="lasttoken" if arch == "gpt" else "mean")
    result.save(tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["kind"] == "pretrain"
    assert manifest["parameters"]["arch"] == arch
    assert 1 < result.perplexity["per_token"] < 2 * 80
    assert (result.perplexity["per_word"] is None) == (result.job.objective == "mlm")
    embedded = nk.embed(TEXTS[:5], encoder=str(tmp_path / "run"), precision="fp32", device="cpu", threads=1)
    found = np.array(embedded.table().column("embedding").to_pylist())
    assert found.shape == (5, 16)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("arch", ["bert", "gpt", "mamba", "lstm"])
def test_transformers_loads_it_with_the_same_logits(arch: str, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    result = trained(arch)
    result.save(tmp_path / "run")
    folder = str(tmp_path / "run" / "model" / "transformers")
    kind: Any = AutoModelForMaskedLM if arch == "bert" else AutoModelForCausalLM
    model, tokenizer = kind.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(TEXTS[:3], return_tensors="pt", padding=True)
    again = new_network(
        arch,
        {**ARCHES[arch], "layers": 1, "hidden": 16},
        result.job.objective,
        "tiny",
        tokenizer,
        max_tokens=16,
        seed=0,
    )
    again.model.load_state_dict(model.state_dict())
    with torch.no_grad():
        theirs = model(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits
        ours = again.guess(again.body(input_ids=batch.input_ids, attention_mask=batch.attention_mask).last_hidden_state)
    seen = batch.attention_mask == 1
    torch.testing.assert_close(ours[seen], theirs[seen], atol=1e-5, rtol=1e-5)


def test_perplexity_by_hand() -> None:
    """exp(−Σ log p / N) over the tokens and the end of each text; per word over the words and the ends."""
    result = trained("gpt")
    network_tokenizer, texts = result.job.tokenizer, result.job.held_out.texts
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(str(result._store.checkpoint.model / "transformers")).eval()
    total = tokens = 0.0
    for text in texts:
        ids = torch.tensor([network_tokenizer(text).input_ids])  # [CLS] … [SEP]
        with torch.no_grad():
            log_p = torch.log_softmax(model(ids).logits[0, :-1], -1)
        total -= float(log_p[range(ids.shape[1] - 1), ids[0, 1:]].sum())
        tokens += ids.shape[1] - 1
    assert result.perplexity["tokens"] == tokens
    assert result.perplexity["per_token"] == pytest.approx(math.exp(total / tokens), rel=1e-5)
    assert result.perplexity["words"] == sum(len(text.split()) + 1 for text in texts) == count_words(texts)
    assert result.perplexity["per_word"] == pytest.approx(math.exp(total / result.perplexity["words"]), rel=1e-5)


@pytest.mark.parametrize("arch", ["lstm", pytest.param("bert", marks=pytest.mark.slow), "ffnn"])
def test_it_learns_the_grammar(arch: str) -> None:
    """Of the 80 tokens six nouns, four verbs and "the" take turns: perplexity falls far below their number."""
    result = trained(arch, max_steps=150, lr=1e-2, epochs=100, patience=0)
    assert result.perplexity["per_token"] < 8
    assert [p.loss for p in result.curve][-1] < 0.6 * result.curve[0].loss


@pytest.mark.parametrize(
    "arch",
    [
        *few(("lstm", "bert", "elmo", "t5"), 2),  # each has an objective of its own
        *few(("gpt", "mamba", "transformer", "hymba"), 0),
    ],
)
def test_the_same_bytes_on_any_threads_and_after_an_interruption(
    arch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(arch, max_steps=5).save(tmp_path / "whole")
    trained(arch, max_steps=5, threads=3).save(tmp_path / "threads")
    step = Stop.step

    def cut_off(self: Stop, number: int, total: int) -> None:
        if number == 3:
            raise KeyboardInterrupt
        step(self, number, total)

    with monkeypatch.context() as patch:
        patch.setattr(Stop, "step", cut_off)
        with pytest.raises(KeyboardInterrupt):
            trained(arch, max_steps=5, output=tmp_path / "run")
    assert (tmp_path / "run.checkpoint" / "state.safetensors").exists()
    result = trained(arch, max_steps=5, output=tmp_path / "run", resume=True)
    result.save(tmp_path / "run")
    assert not (tmp_path / "run.checkpoint").exists()
    assert weights(tmp_path / "whole") == weights(tmp_path / "threads") == weights(tmp_path / "run")
    assert len(result.curve) == 5
    with pytest.raises(UsageError, match="`resume`"):
        trained(arch, resume=True)


def test_another_seed_gives_other_weights_and_other_options_no_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained("gru").save(tmp_path / "a")
    trained("gru", seed=7).save(tmp_path / "b")
    assert weights(tmp_path / "a") != weights(tmp_path / "b")
    with monkeypatch.context() as patch:
        patch.setattr(Stop, "step", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            trained("gru", output=tmp_path / "c")
    with pytest.raises(InputError, match="arch was gru"):
        trained("rnn", output=tmp_path / "c", resume=True)


def _interrupt(self: Stop, number: int, total: int) -> None:
    raise KeyboardInterrupt


def test_a_loss_that_is_no_number_ends_training_and_the_best_state_is_kept(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loss, calls = ClmObjective.loss, []

    def spoiled(self: ClmObjective, rows: Any) -> Any:
        calls.extend([1] * torch.is_grad_enabled())
        return loss(self, rows) * (math.nan if len(calls) > 14 and torch.is_grad_enabled() else 1.0)

    monkeypatch.setattr(ClmObjective, "loss", spoiled)
    result = trained("lstm", max_steps=60, epochs=20)
    assert result.facts["diverged"] is not None
    assert 0 < result.facts["best_step"] < result.facts["diverged"] <= 15
    assert math.isfinite(result.perplexity["per_token"])
    assert "is no longer a number" in caplog.text
    calls.extend([1] * 100)
    with pytest.raises(InputError, match="loss of step 1 is no longer a number; lower `lr`"):
        trained("lstm")


def test_the_loss_of_elmo_is_half_of_each_direction_by_hand(tmp_path: Path) -> None:
    result = trained("elmo")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = str(result._store.checkpoint.model / "transformers")
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    total = tokens = 0.0
    for text in result.job.held_out.texts:
        ids = torch.tensor([tokenizer(text).input_ids])
        with torch.no_grad():
            backward = model.body(ids).hidden_states[-1][..., 8:]
            log_p = torch.log_softmax(model(ids).logits[0, :-1], -1)
            log_q = torch.log_softmax(model.lm_head(backward)[0, 1:], -1)
        n = ids.shape[1] - 1
        total -= float(log_p[range(n), ids[0, 1:]].sum() + log_q[range(n), ids[0, :-1]].sum()) / 2
        tokens += n
    assert result.perplexity["tokens"] == tokens
    assert result.perplexity["per_token"] == pytest.approx(math.exp(total / tokens), rel=1e-5)


def test_windows_overlap_by_one_token_and_each_is_guessed_once() -> None:
    tokenizer = train_subwords(TEXTS, TokenizerOptions(type="wordpiece", vocab_size=80)).transformers()
    network = new_network("lstm", {**ARCHES["lstm"], "hidden": 8}, "clm", "tiny", tokenizer, max_tokens=4, seed=0)
    sequences, n_long = cut_sequences(network, ["the river sees the moon", "the moon", ""])
    whole = tokenizer("the river sees the moon").input_ids
    rows = [sequences.flat[s : s + n].tolist() for s, n in zip(sequences.starts, sequences.lengths, strict=False)]
    assert n_long == 1
    assert [token for row in rows[:2] for token in row[1:]] == whole[1:]
    assert [row[0] for row in rows[:2]] == [whole[0], whole[4]]
    assert rows[-1] == [tokenizer.bos_token_id, tokenizer.eos_token_id]


def test_a_tokenizer_of_a_folder_is_taken(tmp_path: Path) -> None:
    nk.train_tokenizer(TEXTS, type="bpe", vocab_size=300).save(tmp_path / "tokenizer")
    result = trained("gpt", tokenizer=str(tmp_path / "tokenizer"))
    assert result.facts["parameters"] == sum(p.numel() for p in _loaded(result).parameters())
    (tmp_path / "tokenizer" / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="was changed"):
        trained("gpt", tokenizer=str(tmp_path / "tokenizer"))


def test_reading_a_tokenizer_shows_no_warning_of_transformers(tmp_path: Path) -> None:
    """It warned of a config.json of a type that it does not know, such as that of a teacher."""
    nk.train_tokenizer(TEXTS, type="bpe", vocab_size=300).save(tmp_path / "tokenizer")
    folder = Path(
        shutil.copytree(tmp_path / "tokenizer", tmp_path / "other", ignore=shutil.ignore_patterns("manifest.json"))
    )
    (folder / "config.json").write_text('{"model_type": "unknown"}', encoding="utf-8")
    shown: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: shown.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("transformers").addHandler(handler)
    try:
        tokenizer_of(PretrainOptions(tokenizer=str(folder)), TEXTS, 16, verify=True)
    finally:
        logging.getLogger("transformers").removeHandler(handler)
    assert shown == []


def _loaded(result: PretrainedModel) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(str(result._store.checkpoint.model / "transformers"))


def test_finetune_takes_it_as_base(tmp_path: Path) -> None:
    for arch, method in (("elmo", "full"), ("hymba", "full"), ("gpt", "lora"), ("mamba", "lora")):
        trained(arch).save(tmp_path / arch)
        corpus = nk.Corpus.from_texts(TEXTS, labels=["a" if "river" in text else "b" for text in TEXTS])
        tuned = nk.finetune(
            corpus, base=str(tmp_path / arch), method=method, max_steps=2, holdout=0.25, device="cpu", threads=1
        )
        assert tuned.facts["steps"] == 2


def test_models_of_nlpkit_go_on_with_a_text_where_they_are_causal(tmp_path: Path) -> None:
    parts = "attention=windowed+global+random,window=4,block=2,positions=rope,activation=swiglu,norm=rmsnorm"
    nk.pretrain(TEXTS, arch=f"transformer(layers=1,hidden=16,{parts})", max_steps=4, **SMALL).save(tmp_path / "run")
    config = json.loads((tmp_path / "run" / "model" / "transformers" / "config.json").read_text(encoding="utf-8"))
    assert config["choices"]["attention"] == "windowed+global+random"
    written = nk.generate_texts(tmp_path / "run", prompt="the river", decode="greedy", max_words=5)
    assert len(written.texts[0][1].words) > 0
    likeliest = written.probabilities(1)
    assert set(likeliest["rank"].to_pylist()) == {1}  # each token is the likeliest of the whole text's pass
    trained("bilstm").save(tmp_path / "both")
    with pytest.raises(MissingError, match="reads texts in both directions"):
        nk.generate_texts(tmp_path / "both", prompt="the river")


def test_few_windows_and_long_texts_are_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "nlpkit")
    trained("lstm", [" ".join(TEXTS), *TEXTS[:3]], batch_size=500, holdout=0.2)
    assert "fewer than `batch_size=500`, so each step uses all" in caplog.text
    assert "longer than the window: cut into several" in caplog.text


@pytest.mark.parametrize(
    ("options", "texts", "message"),
    [
        ({"arch": "elman"}, TEXTS, "rnn, lstm"),
        ({"arch": "gpt(hidden=10,heads=3)"}, TEXTS, "3 heads"),
        ({"arch": "gpt", "objective": "mlm"}, TEXTS, "left to right"),
        ({"arch": "transformer(attention=banded)"}, TEXTS, "windowed, dilated, global, random"),
        ({"arch": "t5", "objective": "clm"}, TEXTS, "writes another; use seq2seq"),
        ({"arch": "t5"}, TEXTS, "needs `target_col`"),
        ({"arch": "gpt", "target_col": "title"}, TEXTS, "objective="),
        ({"size": "huge"}, TEXTS, "tiny, mini, small"),
        ({"pooling": "sum"}, TEXTS, "lasttoken"),
        ({"holdout": 1.0}, TEXTS, "must be below 1"),
        ({"tokenizer": "no/such"}, TEXTS, "neither bpe, wordpiece, unigram nor a folder"),
    ],
)
def test_options_that_cannot_be_are_told(options: dict[str, Any], texts: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        nk.pretrain(texts, **{**SMALL, **options})


def test_texts_that_cannot_be_learned_from_are_told() -> None:
    with pytest.raises(InputError, match="no documents"):
        trained("lstm", [])
    with pytest.raises(InputError, match="so none is left for training; give more documents"):
        trained("lstm", ["the river"])
    with pytest.raises(InputError, match="no word"):
        trained("lstm", ["", " ", ""])
    with pytest.raises(InputError, match="one token beside the special ones"):
        trained("lstm", ["a"] * 12, tokenizer="wordpiece", vocab_size=20)


def test_an_estimate_follows_architecture_and_size_and_counts_what_is_trained() -> None:
    """Parameters, windows and steps are those of the training; a larger network and a longer window take more."""
    arches = ("transformer(layers=1,hidden=16,attention=windowed,window=4)", "bert(layers=1,hidden=16)")
    for arch in arches:
        settings: dict[str, Any] = {**SMALL, "max_steps": 2, "arch": arch}
        estimate, result = estimate_pretraining(TEXTS, **settings), nk.pretrain(TEXTS, **settings)
        facts = result.facts
        assert [estimate[name] for name in ("parameters", "windows", "steps")] == [
            facts[name] for name in ("parameters", "windows", "steps")
        ]
        assert estimate["rows"] == len(TEXTS)
        assert estimate["memory_mb_about"] > 100
    small, large = (
        estimate_pretraining(TEXTS, **SMALL, arch=f"gpt(layers={layers},hidden={hidden})", epochs=500)
        for layers, hidden in ((1, 16), (4, 128))
    )
    assert large["parameters"] > 20 * small["parameters"]
    for name in ("seconds_about", "memory_mb_about", "disk_mb_about"):
        assert large[name] > small[name]


@pytest.mark.parametrize(("attention", "growth"), [("full", True), ("windowed,window=8", False)])
def test_an_estimate_of_long_windows_knows_what_attention_costs(attention: str, growth: bool) -> None:
    """Of texts of 1,500 tokens 256 and 512 are run: the memory of a token of full attention grows, of windowed attention it does not."""
    from nlpkit.finetune.training.engine import Engine
    from nlpkit.lab.pretrain.estimate import CAP, _measure, _parts
    from nlpkit.lab.pretrain.training import Lesson, Texts, cut_texts, new_objective

    lesson = Lesson("clm", "clm")
    tokenizer = train_subwords(TEXTS, TokenizerOptions(type="wordpiece", vocab_size=80)).transformers(max_tokens=2000)
    options = {**ARCHES["transformer"], "layers": 1, "hidden": 16, "attention": attention.split(",")[0]}
    options |= {} if growth else {"window": 8}
    network = new_network("transformer", options, "clm", "tiny", tokenizer, max_tokens=1500, seed=0)
    learned = cut_texts(network, Texts([" ".join(TEXTS * 8)] * 2), lesson)
    lengths = new_objective(network, learned, lesson).lengths
    parts = _parts(lengths, np.arange(len(lengths)))
    with Engine(torch.device("cpu"), "fp32", threads=1) as engine:
        short, long = (_measure(network, learned, lesson, parts[:1], cap, engine) for cap in (CAP // 2, CAP))
    assert (short.width, long.width) == (CAP // 2, CAP)
    assert (long.bytes > 1.3 * short.bytes) == growth
    assert (long.at(1500, short)[1] > 2 * long.bytes) == growth
