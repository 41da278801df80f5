"""A transformer with a head for a task, and what a method lets train of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nlpkit.embed.hardware import seeded
from nlpkit.embed.tokenizers import load_tokenizer, transformer_folder
from nlpkit.errors import UsageError
from nlpkit.finetune.adapters.quantized import quantize
from nlpkit.finetune.data.answers import answer_outputs
from nlpkit.finetune.data.inputs import Frame, Inputs, first_tokens, frame_of
from nlpkit.finetune.methods import Method
from nlpkit.finetune.quantization import Quantization
from nlpkit.finetune.tasks import FinetuneTask, SoftTargets, Targets
from nlpkit.finetune.training.architectures import check_padding, head_parameters, positions_of, window_of
from nlpkit.finetune.training.crf import LinearChainCRF, bio_bars
from nlpkit.finetune.training.engine import Engine, autocast_if_supported
from nlpkit.finetune.training.heads import MeanForSequenceClassification, is_mean, read_first_token
from nlpkit.finetune.training.loading import load_model
from nlpkit.metrics.labels.spans import are_bio
from nlpkit.platform.types import FloatArray, LongArray

NOWHERE = -1e4  # logit of a token that no answer starts or ends at
_CRF = "crf."  # before the names of its parameters
_SPARSE_ROWS = 4096  # embeddings of at least so many tokens have sparse gradients


@dataclass(slots=True)
class Network:
    """A transformers model for a task. model: as it is run; trained: the parameters that a method trains, by name."""

    model: Any
    tokenizer: Any
    frame: Frame
    task: FinetuneTask
    method: Method
    max_tokens: int
    heads: frozenset[str]  # names of the trained parameters that belong to the head
    trained: dict[str, Tensor]
    inserted: Any = None  # adapters of our own
    n_parameters: int = 0
    n_virtual: int = 0  # vectors that stand before the tokens of a text
    quantization: Quantization | None = None  # of the frozen matrices
    made_up: frozenset[str] = frozenset()  # names of the head's parameters that its folder did not have
    crf: LinearChainCRF | None = None  # over the labels of words

    @property
    def n_trained(self) -> int:
        """Numbers that are trained."""
        return sum(p.numel() for p in self.trained.values())

    def mode(self, train: bool) -> None:
        """Put the network into training, or out of it; of `head` the body stays out of it."""
        self.model.train(train)
        if train and self.method.kind.trains == "head":
            self.model.eval()
            for name, module in self.model.named_modules():
                if any(p in self.heads for p in (f"{name}.weight", f"{name}.bias")):
                    module.train()

    def logits(self, inputs: Inputs, rows: LongArray) -> Tensor:
        """Return the outputs (B, J) of some rows, or of their tokens (B, T, J)."""
        batch = inputs.batch(rows, next(iter(self.trained.values())).device)
        with autocast_if_supported(self.model):
            outputs = self.model(**batch)
        if self.task.kind == "answer":
            both = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1)[:, self.n_virtual :]
            return both.masked_fill(~_can_answer(inputs, rows, both)[..., None], NOWHERE)
        logits: Tensor = outputs.logits
        return logits[:, self.n_virtual :] if self.task.kind == "tokens" and self.n_virtual else logits

    def word_outputs(self, inputs: Inputs, rows: LongArray) -> list[FloatArray]:
        """Return the outputs of the own words of some rows: (n_words, J) float32, NaN for words without a token."""
        assert inputs.words is not None
        assert inputs.n_words is not None
        outputs = []
        for row, z in zip(rows.tolist(), self.logits(inputs, rows).float().cpu().numpy(), strict=True):
            words = inputs.words[row]
            places = first_tokens(words)
            every = np.full((int(inputs.n_words[row]), z.shape[-1]), np.nan, np.float32)
            every[words[places]] = z[places]
            outputs.append(every)
        return outputs

    def decoded(self, words: FloatArray) -> FloatArray:
        """Return the outputs of the words of a text, of those of its windows (W, J) one after the other.

        With a CRF (W, J + 1): the log-probabilities of the labels, then the label of the most probable sequence. Its sequence ends
        with the last word that has a token; those in it without one get what fits their neighbours.
        """
        seen = np.flatnonzero(~np.isnan(words).any(axis=1))
        if self.crf is None:
            return words.astype(np.float64)
        outputs: FloatArray = np.full((len(words), words.shape[1] + 1), np.nan)
        if len(seen):
            n = int(seen[-1]) + 1
            emissions = torch.from_numpy(np.nan_to_num(words[None, :n])).to(next(self.crf.parameters()).device)
            with torch.no_grad():
                mask = torch.ones(emissions.shape[:2], dtype=torch.bool, device=emissions.device)
                best = self.crf.viterbi(emissions, mask)[..., None]
                outputs[:n] = (
                    torch.cat([self.crf.log_marginals(emissions, mask), best.float()], dim=-1)[0].cpu().numpy()
                )
        return outputs

    def add_crf(self) -> None:
        """Put a CRF over the labels of words; it is trained with the head, and bars what BIO bars where the labels are BIO."""
        names, device = self.task.names, next(self.model.parameters()).device
        bars = bio_bars(names) if are_bio(names) else (None, None)
        self.crf = LinearChainCRF(len(names), barred_start=bars[0], barred=bars[1]).to(device)
        weights = {f"{_CRF}{name}": parameter for name, parameter in self.crf.named_parameters()}
        self.trained, self.heads = self.trained | weights, self.heads | weights.keys()


@dataclass(slots=True)
class ClassifierObjective:
    """Objective of training a network on labelled examples; see `engine.PerExampleLoss` and `objective.Objective`.

    rows (n,): the examples among the inputs.
    """

    network: Network
    inputs: Inputs
    targets: Targets | SoftTargets
    rows: LongArray
    joint: bool = False
    by_length: bool = True
    lengths: LongArray = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        self.n = len(self.rows)
        self.lengths = self.inputs.lengths[self.rows]

    def parameters(self) -> dict[str, Tensor]:
        """Return what is trained, by name."""
        return self.network.trained

    def head(self) -> set[str]:
        """Return the names of the head's parameters."""
        return set(self.network.heads)

    def mode(self, train: bool) -> None:
        """Put the network into training, or out of it."""
        self.network.mode(train)

    def begin(self, epoch: int, seed: int) -> None:
        """Nothing changes from epoch to epoch."""

    def weight(self, rows: LongArray) -> float:
        """Return the sum of the weights of some examples."""
        return self.targets.weight(self.rows[rows])

    def loss(self, rows: LongArray) -> Tensor:
        """Return the weighted sum of the losses of some examples."""
        input_rows = self.rows[rows]
        return self.targets.loss(self.network.logits(self.inputs, input_rows), input_rows)


def _can_answer(inputs: Inputs, rows: LongArray, logits: Tensor) -> Tensor:
    """Return the tokens (B, T) that an answer can start and end at: those of the text, and the first, which stands for no answer."""
    assert inputs.offsets is not None
    places = np.zeros(logits.shape[:2], bool)
    for i, row in enumerate(rows.tolist()):
        places[i, : len(inputs.offsets[row])] = inputs.offsets[row][:, 0] >= 0
    places[:, 0] = True
    return torch.from_numpy(places).to(logits.device)


def predict(network: Network, inputs: Inputs, rows: LongArray, engine: Engine) -> Any:
    """Return the outputs of some rows in their order: (n, J) float64; of words one array per row, see `Network.decoded`.

    Of answers and of words rows are documents, of which all windows are looked at; see `answers.answer_outputs`.
    """
    network.mode(False)
    if network.task.kind == "tokens":
        return _predict_words(network, inputs, rows, engine)
    if inputs.documents is not None:
        windows = np.flatnonzero(np.isin(inputs.documents, rows))
        by_window: list[FloatArray] = [np.zeros((0, 2))] * len(windows)
        for part, logits in engine.run_rows(
            lambda batch: network.logits(inputs, windows[batch]).float().cpu().numpy(), inputs.lengths[windows]
        ):
            for place, z in zip(part.tolist(), logits, strict=True):
                by_window[place] = z
        return answer_outputs(inputs, windows, by_window, rows, network.task.longest)
    out: FloatArray = np.zeros((len(rows), network.task.n_outputs))
    for part, logits in engine.run_rows(
        lambda batch: network.logits(inputs, rows[batch]).float().cpu().numpy(), inputs.lengths[rows]
    ):
        out[part] = logits
    return out


def _predict_words(network: Network, inputs: Inputs, rows: LongArray, engine: Engine) -> list[FloatArray]:
    """Return the outputs of the words of some documents, in the order of `rows`."""
    assert inputs.documents is not None
    windows = np.flatnonzero(np.isin(inputs.documents, rows))
    by_window: list[Any] = [None] * len(windows)
    for part, outputs in engine.run_rows(
        lambda batch: network.word_outputs(inputs, windows[batch]), inputs.lengths[windows]
    ):
        for place, values in zip(part.tolist(), outputs, strict=True):
            by_window[place] = values
    of_document: dict[int, list[FloatArray]] = {}
    for d, values in zip(inputs.documents[windows].tolist(), by_window, strict=True):
        of_document.setdefault(d, []).append(values)
    return [network.decoded(np.concatenate(of_document[d])) for d in rows.tolist()]


def load_network(
    folder: Path,
    task: FinetuneTask,
    method: Method,
    *,
    seed: int,
    device: torch.device,
    max_tokens: int | None = None,
    whole: bool = False,
    quantization: Quantization | None = None,
    pooling: str = "transformers",
) -> Network:
    """Return a base model with a new head for a task, ready for a method to train it.

    Args:
        folder: a transformers folder, or one of sentence-transformers, whose transformer is taken.
        seed: of the weights that are new.
        max_tokens: special ones included; None: as the folder says, or 512.
        whole: the folder must have the head, too. quantization: of the body, which the method leaves as it is.
        pooling: what the head reads, see `mean_head.pooling_of`: mean or transformers.

    Raises:
        MissingError: the folder is no model transformers can load; UsageError: the method does not fit the model;
        InputError: weights that are to be quantised are no numbers.
    """
    place = transformer_folder(folder)
    with seeded(seed):
        model, made_up = load_model(place, task, whole=whole, mean=pooling == "mean")
        if pooling == "mean":
            model, made_up = (
                MeanForSequenceClassification(model, task.n_outputs),
                frozenset(MeanForSequenceClassification.HEAD),
            )
    model.to(device)
    tokenizer = load_tokenizer(place, words=task.kind == "tokens")
    check_padding(model, tokenizer)
    window = window_of(folder, model, max_tokens)
    network = dress(model, tokenizer, task, method, seed=seed, max_tokens=window, quantization=quantization)
    if max_tokens is not None and network.max_tokens < max_tokens:
        raise UsageError(
            f"`max_tokens={max_tokens}`: with the vectors of {method.spelling}, this model reads up to "
            f"{network.max_tokens} tokens of a text"
        )
    network.made_up = made_up
    if task.crf:
        network.add_crf()
    return network


def dress(
    model: Any, tokenizer: Any, task: FinetuneTask, method: Method, *, seed: int, max_tokens: int,
    quantization: Quantization | None = None,
) -> Network:  # fmt: skip
    """Return the network of a loaded model: quantised, frozen and added to as the method says."""
    inserted, n_virtual = None, 0
    n_parameters = sum(p.numel() for p in model.parameters())
    heads = set(head_parameters(model))
    device = next(model.parameters()).device
    if quantization is not None:
        quantize(model, quantization, keep=frozenset(heads))
    if task.kind not in ("tokens", "answer") and not is_mean(model):
        read_first_token(model)
    family = method.kind.family
    if family == "head":
        biases = method.name == "bitfit"
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name in heads or (biases and name.endswith("bias") and "pooler" not in name))
    elif family == "peft":
        from nlpkit.finetune.adapters.peft_modules import apply_peft

        model = apply_peft(model, method.name, method.options, seed=seed)
        max_tokens, n_virtual = beside_virtual(model, max_tokens)
    elif family == "adapter":
        from nlpkit.finetune.adapters.insert import insert

        generator = torch.Generator()
        generator.manual_seed(seed)
        inserted = insert(model, method.name, method.options, generator=generator)
    elif family == "full":
        _sparse_embeddings(model)
    else:
        raise UsageError(f"{method.name} trains a sentence encoder, not a network with a head")
    model.to(device)
    if inserted is not None:
        trained = dict(inserted.parameters())
    else:
        trained = {n: p for n, p in model.named_parameters() if p.requires_grad and "original_module" not in n}
    own_heads = frozenset(n for n in trained if any(_is_head(n, h) for h in heads))
    typed = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
    frame = frame_of(tokenizer, typed=typed)
    return Network(
        model, tokenizer, frame, task, method, max_tokens, own_heads, trained, inserted, n_parameters, n_virtual, quantization
    )  # fmt: skip


def beside_virtual(model: Any, max_tokens: int) -> tuple[int, int]:
    """Return the tokens of a text that fit beside the vectors a peft method puts before it, and how many of these are in the output.

    Those of prefix tuning take positions, too: peft counts the tokens of a text from the end of the prefix.
    """
    from nlpkit.finetune.adapters.peft_modules import virtual_tokens

    taken = sum(int(getattr(c, "num_virtual_tokens", 0) or 0) for c in model.peft_config.values())
    room = positions_of(model.config) - taken
    if room < 8:
        raise UsageError(
            f"{taken} vectors before the text leave {max(room, 0)} tokens of the model's window; use fewer"
        )
    return min(max_tokens, room), virtual_tokens(model)


def _is_head(name: str, head: str) -> bool:
    """Whether a trained parameter is one of the head's, under the names peft gives: ….classifier.modules_to_save.default.weight."""
    plain = name.replace("modules_to_save.default.", "").replace("original_module.", "")
    return plain == head or plain.endswith(f".{head}")


def _sparse_embeddings(model: Any) -> None:
    words = model.get_input_embeddings()
    if isinstance(words, torch.nn.Embedding) and words.num_embeddings >= _SPARSE_ROWS:
        words.sparse = True


def output_layer(model: torch.nn.Module, n_outputs: int) -> Any:
    """Return the last layer of a network; of peft the one that was trained, which comes after the given one."""
    return [m for m in model.modules() if isinstance(m, torch.nn.Linear) and m.out_features == n_outputs][-1]


def divide_outputs(network: Network, temperature: float) -> None:
    """Divide the outputs of a network by a temperature, in the weights of its last layer: what other programs load is calibrated, too."""
    layer = output_layer(network.model, network.task.n_outputs)
    with torch.no_grad():
        layer.weight.div_(temperature)
        if layer.bias is not None:
            layer.bias.div_(temperature)


def state_of(network: Network) -> Mapping[str, Tensor]:
    """Return the trained parameters of the transformer and its head, detached, by name."""
    return {name: p.detach() for name, p in network.trained.items() if not name.startswith(_CRF)}
