"""Text by a causal transformer: greedy and beam as transformers generates them, draws, probabilities, and prompts that do not fit."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from nlpkit.errors import MissingError, UsageError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.command_line import run_cli  # noqa: E402
from tests.finetune.tiny import tiny_bert  # noqa: E402

WORDS = ["the", "court", "fined", "bank", "river"]


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random GPT-2 whose weights are large enough that words differ in probability, with a tokenizer of words."""
    folder = tmp_path_factory.mktemp("models")
    bert = tiny_bert(folder / "bert", words=WORDS)
    vocabulary = len(json.loads((bert / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"])
    config = transformers.GPT2Config(
        vocab_size=vocabulary, n_embd=16, n_layer=2, n_head=2, n_positions=24, bos_token_id=2, eos_token_id=3,
        initializer_range=0.4,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(3)
        transformers.GPT2LMHeadModel(config).save_pretrained(str(folder / "gpt"))
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (folder / "gpt" / file).write_bytes((bert / file).read_bytes())
    return folder / "gpt"


def theirs(folder: Path, **settings: Any) -> list[list[int]]:
    """What transformers itself generates behind [CLS] the court."""
    model = transformers.AutoModelForCausalLM.from_pretrained(str(folder)).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    ids = torch.tensor([tokenizer("the court")["input_ids"][:-1]])
    with torch.no_grad():
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, pad_token_id=3, **settings)
    rows: list[list[int]] = out[:, ids.shape[1] :].tolist()
    return [row[: row.index(3) + 1] if 3 in row else row for row in rows]


def test_greedy_is_that_of_transformers(gpt: Path) -> None:
    ours = nk.generate_texts(gpt, prompt="the court", decode="greedy", max_words=12)
    assert [list(one.words) for _, one in ours.texts] == theirs(gpt, do_sample=False)
    assert ours.texts[0][0].startswith("the court")


@pytest.mark.parametrize("texts", [1, 3])
def test_beam_is_that_of_transformers(gpt: Path, texts: int) -> None:
    ours = nk.generate_texts(gpt, prompt="the court", decode="beam", beams=4, texts=texts, max_words=12)
    expected = theirs(gpt, do_sample=False, num_beams=4, num_return_sequences=texts)
    assert [list(one.words) for _, one in ours.texts] == expected


def test_probabilities_are_those_of_the_text(gpt: Path) -> None:
    ours = nk.generate_texts(gpt, prompt="the court", texts=2, max_words=6)
    table = ours.probabilities(3).to_pylist()
    for number, (_, one) in enumerate(ours.texts, 1):
        chosen = [row for row in table if row["id"] == str(number) and row["chosen"]]
        assert sum(math.log(row["prob"]) for row in chosen) == pytest.approx(one.log_prob, abs=1e-4)
        first = [row for row in table if row["id"] == str(number) and row["position"] == 1]
        assert [row["rank"] for row in first][:3] == [1, 2, 3]
        assert len(first) in (3, 4)
    greedy = nk.generate_texts(gpt, prompt="the court", decode="greedy", max_words=6).probabilities(1)
    assert set(greedy["rank"].to_pylist()) == {1}


def test_draws_depend_on_the_seed_and_the_number_alone(gpt: Path) -> None:
    def texts(**settings: Any) -> list[str]:
        return [text for text, _ in nk.generate_texts(gpt, prompt="the court", max_words=8, **settings).texts]

    four = texts(texts=4)
    assert texts(texts=2, threads=1) == four[:2]
    assert texts(texts=4, seed=1) != four
    state = torch.get_rng_state()
    texts(texts=1)
    assert torch.equal(state, torch.get_rng_state())
    greedy = texts(decode="greedy")
    assert texts(texts=2, top_k=1) == greedy * 2
    assert texts(texts=2, top_p=0.0) == greedy * 2
    assert texts(texts=1, decode="temperature", temperature=0.01) == greedy
    assert texts(texts=3, decode="top-k") == texts(texts=3, top_k=50)
    assert texts(texts=3, decode="top-p") == texts(texts=3, top_p=0.9)


def test_prompts(gpt: Path) -> None:
    assert nk.generate_texts(gpt, decode="greedy", max_words=3).texts  # from the token for a beginning
    with pytest.raises(UsageError, match="no token for '日'"):
        nk.generate_texts(gpt, prompt="the 日 court")
    with pytest.raises(UsageError, match=r"the prompt has 31 tokens, the window .* 24"):
        nk.generate_texts(gpt, prompt="the " * 30)
    with pytest.raises(UsageError, match="finds no token"):
        nk.generate_texts(gpt, prompt="  ")
    cut = nk.generate_texts(gpt, prompt="the " * 20, decode="greedy", max_words=50)
    assert len(cut.texts[0][1].words) <= 3


def test_models_that_do_not_go_on_with_a_text(gpt: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="is not a causal language model"):
        nk.generate_texts(tiny_bert(tmp_path / "mlm", words=WORDS, architecture="BertForMaskedLM"), prompt="the")
    with pytest.raises(MissingError, match="is not a causal language model"):
        nk.generate_texts(gpt.parent / "bert", prompt="the")


def test_the_command(gpt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = ("generate", gpt, "--prompt", "the court", "--texts", 2, "--max-words", 5)
    done = run_cli(*line, "-o", "t.parquet", "--save-probabilities", "p.csv", "--candidates", 2)
    assert len(done.out.splitlines()) == 2
    assert "wrote p.csv" in done.err
    assert Path("p.csv").read_text(encoding="utf-8").startswith('"id","position","rank","word","prob","chosen"\n')
    assert run_cli(*line, "--json").json()["texts"][0]["ended"] in (True, False)
    assert "--temperature': it must be at least 0.01" in run_cli(*line, "--temperature", 0, code=2).error()
    assert "--temperature" in run_cli(*line, "--temperature", "nan", code=2).error()
    assert "needs --decode sample" in run_cli(*line, "--decode", "greedy", "--top-p", 0.5, code=2).error()
    assert "top-k" in run_cli(*line, "--decode", "nucleus", code=2).error()
    assert "vocabulary" in run_cli(*line, "-n").out
    run_cli("ngram-lm", write(tmp_path), "-o", "lm", "-q")
    run_cli("generate", "lm", "--decode", "greedy", "-q", "--save-probabilities", "n.csv")
    assert "</s>" in Path("n.csv").read_text(encoding="utf-8")


def write(folder: Path) -> Path:
    (folder / "c.txt").write_text("the court fined the bank\nthe bank paid\n" * 3, encoding="utf-8")
    return folder / "c.txt"
