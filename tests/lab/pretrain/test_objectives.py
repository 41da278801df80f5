"""Objectives beside clm and mlm: the losses of transformers where it has them, DistilBERT's by hand; pairs, draws, resume, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.few import few

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import nlpkit as nk  # noqa: E402
from nlpkit.errors import InputError, MissingError, UsageError  # noqa: E402
from nlpkit.finetune.data.inputs import NO_TARGET  # noqa: E402
from nlpkit.lab.options import TokenizerOptions  # noqa: E402
from nlpkit.lab.pretrain.distil import DistilObjective, load_teacher  # noqa: E402
from nlpkit.lab.pretrain.networks import ARCHES, new_network, objective_of  # noqa: E402
from nlpkit.lab.pretrain.objectives import OTHER, ElectraObjective, PairObjective, cut_segments, draw_pairs  # noqa: E402
from nlpkit.lab.pretrain.run import PretrainedModel  # noqa: E402
from nlpkit.lab.pretrain.training import Lesson, Texts, cut_texts, new_objective  # noqa: E402
from nlpkit.lab.tokenizer import train_subwords  # noqa: E402
from nlpkit.platform.interrupts import Stop  # noqa: E402

NOUNS, VERBS = ["river", "bridge", "boat", "judge", "court", "moon"], ["sees", "meets", "follows", "crosses"]
TEXTS = [
    f"the {NOUNS[i % 6]} {VERBS[i % 4]} the {NOUNS[i // 4 % 6]} . then the moon {VERBS[i // 3 % 4]} the {NOUNS[i // 5 % 6]} . at last ."
    for i in range(30)
]
TOKENIZER = train_subwords(TEXTS, TokenizerOptions(type="wordpiece", vocab_size=80)).transformers()
SMALL: dict[str, Any] = {
    "vocab_size": 80, "max_tokens": 32, "batch_size": 8, "threads": 1, "device": "cpu", "max_steps": 6, "holdout": 0.2,
}  # fmt: skip
ROWS = np.arange(30)


def network(objective: str, arch: str = "bert", hidden: int = 16) -> Any:
    options = {**ARCHES[arch], "layers": 1, "hidden": hidden, **({"heads": 2} if "heads" in ARCHES[arch] else {})}
    return new_network(arch, options, objective, "tiny", TOKENIZER, max_tokens=32, seed=0)


def objective(name: str, **options: Any) -> Any:
    net, lesson = network(name), Lesson(name, "mlm", options)
    net.model.eval()
    return new_objective(net, cut_texts(net, Texts(TEXTS), lesson), lesson)


def trained(name: str, arch: str = "bert", **options: Any) -> PretrainedModel:
    return nk.pretrain(TEXTS, arch=f"{arch}(layers=1,hidden=16)", objective=name, **{**SMALL, **options})


def weights(run: Path) -> dict[str, bytes]:
    return {f.relative_to(run).as_posix(): f.read_bytes() for f in sorted(run.rglob("*.safetensors"))}


@pytest.mark.parametrize("task", ["nsp", "sop"])
def test_the_loss_of_pairs_is_that_of_transformers(task: str) -> None:
    """Over all pairs of an epoch; the parts of a batch add up to it."""
    ours: PairObjective = objective(task)
    batch = ours.seen.batch(ROWS, torch.device("cpu"))
    with torch.no_grad():
        theirs = ours.network.model(
            **batch,
            labels=ours.targets.batch(ROWS, torch.device("cpu"))["input_ids"],
            next_sentence_label=torch.tensor(ours.labels),
        ).loss
        whole = ours.loss(ROWS) / ours.weight(ROWS)
        parts = (ours.loss(ROWS[:11]) + ours.loss(ROWS[11:])) / ours.weight(ROWS)
    assert ours.n == 30
    torch.testing.assert_close(whole, theirs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(parts, theirs, atol=1e-5, rtol=1e-5)


def test_pairs_are_what_their_class_says() -> None:
    texts = [f"{a} one . {a} two . {a} three . {a} four ." for a in ("river", "judge", "moon")] + ["boat"]
    tokenizer = train_subwords(texts, TokenizerOptions(type="wordpiece", vocab_size=80)).transformers()
    net = new_network(
        "bert",
        {**ARCHES["bert"], "layers": 1, "hidden": 16, "heads": 2},
        "nsp",
        "tiny",
        tokenizer,
        max_tokens=64,
        seed=0,
    )
    segments, n_short = cut_segments(net, texts)
    assert (len(segments.chunks), n_short) == (3, 1)
    assert [len(chunk) for chunk in segments.chunks] == [4, 4, 4]
    seen = set()
    for draw in range(40):
        for task in ("nsp", "sop"):
            inputs, labels = draw_pairs(segments, net, task, np.random.default_rng(draw))
            assert inputs.types is not None
            for row, label in enumerate(labels):
                text = texts[row].replace(" .", ".")  # as the tokenizer writes it
                place = slice(int(inputs.starts[row]), int(inputs.starts[row + 1]))
                ids, types = inputs.flat[place], inputs.types[place]
                a, b = (tokenizer.decode(ids[types == t], skip_special_tokens=True) for t in (0, 1))
                if label != OTHER:
                    assert f"{a} {b}" == text
                elif task == "sop":
                    assert f"{b} {a}" == text
                else:
                    assert text.startswith(a)
                    assert text.split()[0] not in b
                seen.add((task, int(label)))
    assert len(seen) == 4
    with pytest.raises(InputError, match="one document"):
        draw_pairs(cut_segments(net, texts[:1])[0], net, "nsp", np.random.default_rng(0))
    with pytest.raises(InputError, match="two tokens"):
        cut_segments(net, ["", " "])


def test_long_documents_are_cut_into_several_chunks() -> None:
    net = network("sop")
    segments, _ = cut_segments(net, [" ".join(TEXTS[:5]), "river"])
    assert len(segments.chunks) > 3
    assert set(segments.owners.tolist()) == {0}
    inputs, _ = draw_pairs(segments, net, "sop", np.random.default_rng(0))
    assert inputs.lengths.max() <= 32
    assert not inputs.cut.any()


def test_the_losses_of_electra_are_those_of_transformers() -> None:
    ours: ElectraObjective = objective("electra", weight=50.0)
    cpu, pair = torch.device("cpu"), ours.network.model
    targets = ours.targets.batch(ROWS, cpu)["input_ids"]
    seen, original = ours.seen.batch(ROWS, cpu), ours.windows.batch(ROWS, cpu)
    with torch.no_grad():
        masked = pair.generator(**seen, labels=targets)
        places = ours.windows.starts[ROWS][:, None] + np.arange(targets.shape[1])
        chosen, corrupt = targets != NO_TARGET, original["input_ids"].clone()
        for b, t in chosen.nonzero().tolist():
            p = masked.logits[b, t].double().softmax(-1)
            corrupt[b, t] = int((p.cumsum(-1) > ours._uniforms[places[b, t]]).nonzero()[0])
        labels = (corrupt != original["input_ids"]).long()
        found = pair.discriminator(input_ids=corrupt, attention_mask=original["attention_mask"], labels=labels).loss
        whole = ours.loss(ROWS) / ours.weight(ROWS)
        _, _, (right, replaced) = ours.parts(ROWS)
    torch.testing.assert_close(whole, masked.loss + 50 * found, atol=1e-4, rtol=1e-5)
    assert replaced == int(labels.sum()) > 0
    assert 0 <= right <= len(ours.windows.flat)
    assert pair.generator.electra.embeddings is pair.discriminator.electra.embeddings


@pytest.mark.parametrize(("task", "arch"), [("mlm", "bert"), ("clm", "gpt"), ("clm", "lstm")])
def test_the_triple_loss_by_hand(task: str, arch: str) -> None:
    student, teacher = network(task, arch), network(task, arch)
    with torch.no_grad():
        for parameter in teacher.model.parameters():
            parameter.add_(0.1 * torch.sin(torch.arange(parameter.numel(), dtype=torch.float32)).view(parameter.shape))
    base = new_objective(student, cut_texts(student, Texts(TEXTS), Lesson(task, task)), Lesson(task, task))
    ours = DistilObjective(base, teacher, temperature=3.0, soft=5.0, hard=2.0, cosine=1.0)
    rows = np.array([3, 0, 7])
    batch, targets, seen = ours._batch(rows, torch.device("cpu"))
    with torch.no_grad():
        hard, soft, cosine = ours.parts(rows)
        outputs = [net.model(**batch, output_hidden_states=True) for net in (student, teacher)]
        s, t = (out.logits[seen] for out in outputs)
        p, q = (t / 3).softmax(-1), (s / 3).softmax(-1)
        h, g = (net.body(**batch).last_hidden_state[seen] for net in (student, teacher))
        expected = torch.nn.functional.cross_entropy(s, targets[seen], ignore_index=NO_TARGET, reduction="sum")
        torch.testing.assert_close(hard, expected, atol=1e-4, rtol=1e-5)
        torch.testing.assert_close(hard, base.loss(rows), atol=1e-4, rtol=1e-5)
        torch.testing.assert_close(soft, 9 * (p * (p / q).log()).sum(), atol=1e-3, rtol=1e-4)
        torch.testing.assert_close(
            cosine, (1 - (h * g).sum(-1) / h.norm(dim=-1) / g.norm(dim=-1)).sum(), atol=1e-4, rtol=1e-4
        )
        torch.testing.assert_close(ours.loss(rows), 2 * hard + ours.ratio * (5 * soft + cosine))
    assert ours.ratio == 1 if task == "clm" else 0.1 < ours.ratio < 0.3
    assert (
        not any(p.requires_grad for p in ours.parameters().values())
        or ours.parameters().keys() == student.trained.keys()
    )


def test_of_the_same_network_soft_targets_cost_nothing() -> None:
    student = network("mlm")
    base = new_objective(student, cut_texts(student, Texts(TEXTS), Lesson("mlm", "mlm")), Lesson("mlm", "mlm"))
    with torch.no_grad():
        _, soft, cosine = DistilObjective(base, student).parts(ROWS)
    assert abs(float(soft)) < 1e-3
    assert abs(float(cosine)) < 1e-3


def test_a_student_comes_near_its_teacher(tmp_path: Path) -> None:
    """With soft targets alone the student's guesses become the teacher's, and not those of the corpus."""
    trained("clm", "gpt", max_steps=40, lr=1e-2, epochs=60, patience=0).save(tmp_path / "teacher")
    folder = tmp_path / "teacher" / "model" / "transformers"
    losses = []
    for steps in (1, 40):
        result = trained(
            "distil(hard=0,cosine=0)",
            "lstm",
            teacher=str(tmp_path / "teacher"),
            max_steps=steps,
            lr=1e-2,
            epochs=60,
            patience=0,
        )
        student = network("clm", "lstm")
        student.model.load_state_dict(
            transformers.AutoModelForCausalLM.from_pretrained(
                str(result._store.checkpoint.model / "transformers")
            ).state_dict()
        )
        student.tokenizer = result.job.tokenizer
        teacher = load_teacher(folder, student, "clm", torch.device("cpu"))
        base = new_objective(
            student, cut_texts(student, result.job.held_out, Lesson("clm", "clm")), Lesson("clm", "clm")
        )
        with torch.no_grad():
            losses.append(float(DistilObjective(base, teacher).parts(np.arange(base.n))[1]))
    assert losses[1] < 0.5 * losses[0]


@pytest.mark.parametrize("name", few(["nsp", "sop", "electra", "distil"], 2))
def test_the_same_bytes_after_an_interruption_and_folders_load(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {}
    if name == "distil":
        trained("mlm", max_steps=2).save(tmp_path / "teacher")
        options = {"teacher": str(tmp_path / "teacher")}
    trained(name, **options, threads=2).save(tmp_path / "whole")
    step = Stop.step

    def cut_off(self: Stop, number: int, total: int) -> None:
        if number == 4:
            raise KeyboardInterrupt
        step(self, number, total)

    with monkeypatch.context() as patch:
        patch.setattr(Stop, "step", cut_off)
        with pytest.raises(KeyboardInterrupt):
            trained(name, **options, output=tmp_path / "run")
    result = trained(name, **options, output=tmp_path / "run", resume=True)
    result.save(tmp_path / "run")
    assert weights(tmp_path / "whole") == weights(tmp_path / "run")
    assert len(result.curve) == 6
    assert result.perplexity["per_word"] is None
    assert (result.perplexity["scores"] == {}) == (name == "distil")
    folder = str(tmp_path / "run" / "model" / "transformers")
    kind: Any = transformers.AutoModelForMaskedLM if name == "distil" else transformers.AutoModelForPreTraining
    model, info = kind.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"] | info["unexpected_keys"]
    if name == "electra":
        assert type(model).__name__ == "ElectraForPreTraining"
        _, info = transformers.AutoModelForMaskedLM.from_pretrained(f"{folder}/generator", output_loading_info=True)
        assert not info["missing_keys"] | info["unexpected_keys"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rate", "steps"), [("sop", 1e-2, 120), ("electra", 3e-3, 120)])
def test_it_learns(name: str, rate: float, steps: int) -> None:
    """In these texts the order shows: a segment that begins with "then" or "at last" is no first one."""
    result = nk.pretrain(
        TEXTS * 2, arch="bert(layers=1,hidden=32,heads=2,dropout=0)", objective=name,
        **{**SMALL, "max_steps": steps, "batch_size": 12, "lr": rate, "epochs": 100, "patience": 0},
    )  # fmt: skip
    assert result.curve[-1].loss < 0.6 * result.curve[0].loss
    scores = result.perplexity["scores"]
    if name == "sop":
        assert scores["pair_accuracy"] > 0.9
    else:
        assert scores["detection_accuracy"] > 1 - 0.8 * scores["replaced_share"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "nsp", "arch": "gpt"}, "does not have its heads; use"),
        ({"objective": "electra(weights=1)"}, "not an option of electra"),
        ({"objective": "rtd"}, "give one of clm, mlm"),
        ({"objective": "distil"}, "needs `teacher`"),
        ({"objective": "mlm", "teacher": "x"}, "objective="),
        ({"objective": "distil(temperature=0)", "teacher": "x"}, "above 0"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        nk.pretrain(TEXTS, **{"arch": "bert", **SMALL, **options})
    assert objective_of("bert", "sop") == "sop"


def test_teachers_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    trained("clm", "gpt", max_steps=1).save(tmp_path / "gpt")
    teacher = str(tmp_path / "gpt")
    with pytest.raises(UsageError, match="reads the text in both directions"):
        trained("distil", teacher=teacher)
    with pytest.raises(UsageError, match="another tokenizer"):
        trained("distil", "lstm", teacher=teacher, tokenizer="bpe", vocab_size=300)
    with pytest.raises(UsageError, match="takes up to 32 tokens"):
        trained("distil", "lstm", teacher=teacher, max_tokens=64)
    with pytest.raises(MissingError, match="holds no model"):
        trained("distil", teacher=str(tmp_path))
