"""Masked language modelling: an encoder learns the words of a domain, or labels as words in gaps.

PETapter's head:

    z = W_t LN(GELU(W_h x + b_h)) + b_t        W_h (h, h), W_t (t, h), t the tokens of all words that stand for labels

Agrees with `PEThead` of github.com/JonasRieger/petapter (code/petapter.py): its layers, the epsilon of its norm, its new weights.

Parts, in this order:
- PETapter's head: it scores the words of the verbalizer alone, and is trained with the adapters (Rieger et al. 2024,
  §3).
- Masked language modelling: an encoder goes on guessing masked tokens, on texts of the domain it is meant for.
- Masked language modelling in two stages: a new head alone, the body frozen, then all.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.embed.encoder import encodable
from nlpkit.embed.engines import quiet
from nlpkit.embed.hardware import seeded
from nlpkit.embed.models import weight_files
from nlpkit.embed.token_ids import iterate_ids
from nlpkit.embed.tokenizers import declared_max_tokens, load_tokenizer, transformer_folder
from nlpkit.errors import InputError, MissingError, UsageError, first_line
from nlpkit.finetune.adapters.peft_modules import apply_peft
from nlpkit.finetune.data.inputs import NO_TARGET, Frame, Inputs, frame_of, mask_tokens
from nlpkit.finetune.methods import Method
from nlpkit.finetune.training.architectures import positions_of
from nlpkit.finetune.training.engine import Engine, autocast_if_supported
from nlpkit.finetune.training.train import LogPoint, Outcome, Schedule, State, train
from nlpkit.platform.types import LongArray


class WordHead(nn.Module):  # type: ignore[misc]
    """The head. tokens (t,) int64: ids in the vocabulary, ascending; scores are in their order."""

    tokens: Tensor

    def __init__(self, tokens: LongArray, width: int, *, eps: float = 1e-12) -> None:
        super().__init__()
        self.register_buffer("tokens", torch.from_numpy(np.asarray(tokens, np.int64)))
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=eps)
        self.words = nn.Linear(width, len(tokens))

    def forward(self, hidden: Tensor) -> Tensor:
        """Return the scores (m, t) of the words at m places from the encoder's vectors (m, h) there."""
        scores: Tensor = self.words(self.norm(functional.gelu(self.dense(hidden))))
        return scores


# ------------------------------------------------------------------------------------------------------------------------
# Masked language modelling: an encoder goes on guessing masked tokens, on texts of the domain it is meant for.
#
# This is the first task of BERT (Devlin et al. 2019, §3.1), continued in a domain (Gururangan et al. 2020, §3). The head is the usual
# one: dense, GELU, LayerNorm, then the transposed word embeddings and a bias per word. Sentence encoders come without it.

MODEL_TYPES = ("bert", "roberta", "xlm-roberta", "distilbert", "deberta", "deberta-v2", "mpnet", "modernbert")
USUAL_TOKENS = 256  # of a window, where the folder of the model does not say
_MASKS, _DEV_MASKS = 17, 19  # so that no two draws of one seed are the same


@dataclass(slots=True)
class MlmNetwork:
    """An encoder with a head that guesses masked tokens.

    head_is_new: the folder had no head, so it was made; head: the names of its parameters, but for the word embeddings that it
    shares with the body. mask_id, ordinary: the id of the mask, and all that are no special tokens. max_tokens: of a window.
    """

    model: Any
    tokenizer: Any
    frame: Frame
    mask_id: int
    ordinary: LongArray
    max_tokens: int
    head_is_new: bool
    head: frozenset[str]
    trained: dict[str, Tensor]
    adapted: Any = None  # the body as peft wraps it, where low-rank updates are trained
    words: WordHead | None = None  # that guesses in the place of the model's head, some tokens alone

    @property
    def body(self) -> Any:
        """The encoder."""
        return getattr(self.model, self.model.base_model_prefix)

    @property
    def mask_token(self) -> str:
        """The token that is guessed."""
        return str(self.tokenizer.mask_token)

    def guess(self, hidden: Tensor) -> Tensor:
        """Return the logits (m, V) of the words at m places from the encoder's vectors (m, H) there; of `words` (m, t)."""
        if self.words is not None:
            scores: Tensor = self.words(hidden)
            return scores
        model, kind = self.model, self.model.config.model_type
        if kind in ("bert", "deberta", "deberta-v2"):
            legacy = hasattr(model, "cls")
            words = self.body.embeddings.word_embeddings
            output = model.cls(hidden) if legacy else model.lm_predictions(hidden, words)
        elif kind == "distilbert":
            output = model.vocab_projector(model.vocab_layer_norm(model.activation(model.vocab_transform(hidden))))
        elif kind == "modernbert":
            output = model.decoder(model.head(hidden))
        else:
            output = model.lm_head(hidden)
        logits: Tensor = output
        return logits

    def output_words(self) -> tuple[Tensor, Tensor | None]:
        """Return the last layer of the model's head: a row (V, E) and a bias (V,) for each word."""
        out, words = self.model.get_output_embeddings(), self.model.get_input_embeddings().weight
        if (
            out is None or out.weight.shape != words.shape
        ):  # DeBERTa's own head, of which transformers gives the layer before
            weight, bias = words, None
        else:
            weight, bias = out.weight, getattr(out, "bias", None)
        if bias is None:
            parameters = dict(self.model.named_parameters())
            bias = next(
                (parameters[name] for name in sorted(self.head) if parameters[name].shape == (len(words),)), None
            )
        return weight, bias

    def merge(self) -> None:
        """Add what peft has put into the body to its weights."""
        if self.adapted is not None:
            self.adapted.merge_and_unload()
            self.adapted = None

    def save(self, folder: Path) -> None:
        """Write a transformers folder that AutoModelForMaskedLM loads: safetensors, JSON and the tokenizer."""
        with quiet():
            self.model.save_pretrained(str(folder))
            self.tokenizer.save_pretrained(str(folder))

    def save_encoder(self, base: Path, folder: Path) -> None:
        """Write a sentence-transformers folder: that of `base` with the body of this network; mean pooling where it says none."""
        with quiet(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # of a pooler that the files lack
            from sentence_transformers import SentenceTransformer

            whole = SentenceTransformer(str(base), device="cpu", trust_remote_code=False, local_files_only=True).float()
            self.copy_body(whole[0].model, base)
            whole.save(str(folder), create_model_card=False, safe_serialization=True)

    def copy_body(self, model: Any, base: Path) -> None:
        """Put the weights of the encoder into a transformers model of `base`, which may have a pooler more. Raises MissingError."""
        left, extra = model.load_state_dict(self.body.state_dict(), strict=False)
        wrong = [name for name in left if "pooler" not in name and "position_ids" not in name] + list(extra)
        if wrong:
            raise MissingError(f"{base} has another body than the one trained: {wrong[0]}")


def load_mlm(
    path: Path, *, device: torch.device, seed: int, max_tokens: int | None = None, method: Method | None = None
) -> MlmNetwork:
    """Load an encoder with its head for masked tokens, or make it one.

    A new head starts as LayerNorm(GELU(x)) of the encoder's vectors, dense layer = identity, with a bias of 0: on MiniLM that learned
    faster than a random dense layer (perplexity of headlines after 120 steps 1175 against 1340, with `know_words` 898 and 1177).

    Args:
        path: a folder of transformers or sentence-transformers, checked by `find_model`.
        seed: of the weights transformers makes up. max_tokens: of a window, special ones included; None: as the folder says.
            method: one of `methods.MERGED`, whose updates of a frozen body are trained, with the head; None: all is trained.

    Raises:
        MissingError: files that do not make a model. UsageError: a kind of model that has no such head, a tokenizer without a mask,
            or more tokens than the model takes.
    """
    from transformers import AutoConfig, AutoModelForMaskedLM

    place = transformer_folder(path)
    with quiet(), seeded(seed):
        try:
            config = AutoConfig.from_pretrained(str(place), local_files_only=True, trust_remote_code=False)
            kind = config.model_type
            if kind in ("deberta", "deberta-v2") and any("lm_predictions." in name for name in _weight_names(place)):
                config.legacy = False  # as its authors published it; transformers takes the other head by default
        except Exception as error:  # every model fails in its own way
            raise MissingError(f"transformers cannot read the model in {place}: {first_line(error)}") from None
        if kind not in MODEL_TYPES:
            raise UsageError(
                f"the model in {path} is a {kind}; masked language modelling needs {', '.join(MODEL_TYPES)}",
                parameter="base",
            )
        tokenizer = _tokenizer(place)
        try:
            model, info = AutoModelForMaskedLM.from_pretrained(
                str(place),
                config=config,
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
        except Exception as error:
            raise MissingError(f"transformers cannot load the model in {place}: {first_line(error)}") from None
    inside = f"{model.base_model_prefix}."
    missing = sorted(str(name) for name in info.get("missing_keys") or ())
    lost = [name for name in missing if name.startswith(inside)]
    if lost:
        raise MissingError(f"the weights in {place} do not fit its config.json: missing '{lost[0]}'")
    body = {id(p) for p in getattr(model, model.base_model_prefix).parameters()}
    trained = dict(model.named_parameters())
    head = frozenset(name for name, p in trained.items() if id(p) not in body)
    head_is_new = any(trained[name].ndim > 1 for name in head.intersection(missing))
    _fill(model, frozenset(missing) & head)
    special = np.unique(np.array(tokenizer.all_special_ids, np.int64))
    size = min(int(model.config.vocab_size), len(tokenizer))
    ordinary = np.setdiff1d(np.arange(size), special)
    window = _window(path, model.config, max_tokens)
    mask_id, frame = int(tokenizer.mask_token_id), frame_of(tokenizer, typed=False)
    adapted = None
    if method is not None and method.kind.merges:
        adapted = apply_peft(getattr(model, model.base_model_prefix), method.name, method.options, seed=seed)
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    model.to(device).eval()
    return MlmNetwork(model, tokenizer, frame, mask_id, ordinary, window, head_is_new, head, trained, adapted)


def cut_windows(network: MlmNetwork, texts: Sequence[str]) -> tuple[Inputs, int]:
    """Return texts as windows of at most `max_tokens` tokens, with the special tokens around each, and how many texts are empty.

    Nothing is lost: a text that is too long is cut into windows of like length. A text without any token, an empty one, has none.

    Raises:
        InputError: there is no token at all.
    """
    frame, room = network.frame, network.max_tokens - network.frame.single
    flat, lengths, empty = array("i"), [], 0
    ids_of_texts = iterate_ids(network.tokenizer.backend_tokenizer, [encodable(text) for text in texts])
    for ids in ids_of_texts:
        parts = -(-len(ids) // room)
        empty += not ids
        for i in range(parts):
            window = ids[i * len(ids) // parts : (i + 1) * len(ids) // parts]
            flat.extend([*frame.before, *window, *frame.after])
            lengths.append(len(window) + frame.single)
    if not lengths:
        raise InputError(f"none of the {len(texts)} texts has a token to mask; check `text_col`")
    sizes = np.array(lengths, np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    nothing = np.zeros(len(sizes), np.int64)
    return Inputs(np.frombuffer(flat, np.intc), None, starts, sizes, sizes - frame.single, nothing, frame), empty


@dataclass(slots=True)
class MlmObjective:
    """Objective of training a network on masked tokens; see `engine.PerExampleLoss` and `objective.Objective`.

    Attributes:
        share: of the tokens that are masked. head_only: the body is frozen and runs without dropout.
    """

    network: MlmNetwork
    windows: Inputs
    share: float = 0.15
    head_only: bool = False
    joint: bool = False
    by_length: bool = True
    lengths: LongArray = field(init=False)
    n: int = field(init=False)
    _maskable: Any = field(init=False)
    seen: Inputs = field(init=False)
    targets: Inputs = field(init=False)
    _counts: LongArray = field(init=False)

    def __post_init__(self) -> None:
        self.count()
        self.draw(np.random.default_rng(0))

    def count(self) -> None:
        """Take in the windows: how many there are, how long, and which tokens can be masked."""
        self.lengths, self.n = self.windows.lengths, len(self.windows.lengths)
        ordinary = np.zeros(int(max(self.windows.flat.max(), self.network.ordinary.max())) + 1, bool)
        ordinary[self.network.ordinary] = True
        self._maskable = ordinary[self.windows.flat]

    def draw(self, rng: np.random.Generator) -> None:
        """Draw new masks."""
        w, net = self.windows, self.network
        ids = w.flat.astype(np.int64)
        seen, targets = mask_tokens(
            ids, self._maskable, w.starts, mask_id=net.mask_id, ordinary=net.ordinary, share=self.share, rng=rng
        )
        self.seen = replace(w, flat=seen.astype(np.int32))
        self.targets = replace(w, flat=targets.astype(np.int32), frame=replace(w.frame, pad=NO_TARGET))
        self._counts = np.add.reduceat(targets != NO_TARGET, w.starts[:-1]).astype(np.int64)

    def parameters(self) -> dict[str, Tensor]:
        """Return what is trained, by name."""
        trained = self.network.trained
        return {name: p for name, p in trained.items() if name in self.network.head} if self.head_only else trained

    def head(self) -> set[str]:
        """Return the names of the head's parameters."""
        return set(self.network.head)

    def mode(self, train: bool) -> None:
        """Put the network into training, or out of it."""
        self.network.model.train(train and not self.head_only)

    def begin(self, epoch: int, seed: int) -> None:
        """Draw the masks of an epoch."""
        self.draw(np.random.default_rng([seed, _MASKS, int(self.head_only), epoch]))

    def weight(self, rows: LongArray) -> float:
        """Return how many tokens of some windows are masked."""
        return float(self._counts[rows].sum())

    def loss(self, rows: LongArray) -> Tensor:
        """Return the sum of the cross-entropies of the masked tokens of some windows; the head runs on these alone."""
        return self._token_losses(rows)[0].sum()

    def mean_losses(self, rows: LongArray) -> Tensor:
        """Return the mean cross-entropy of the masked tokens of each of some windows (B,), 0 where none is masked."""
        losses, window = self._token_losses(rows)
        counts = torch.from_numpy(np.maximum(self._counts[rows], 1)).to(losses.device)
        return torch.zeros(len(rows), device=losses.device).index_add(0, window, losses) / counts

    def _token_losses(self, rows: LongArray) -> tuple[Tensor, Tensor]:
        """Return the cross-entropy of each masked token (m,), and which of the windows it is in (m,)."""
        device = next(self.network.model.parameters()).device
        targets = self.targets.batch(rows, device)["input_ids"]
        chosen = targets != NO_TARGET
        with autocast_if_supported(self.network.model):
            with torch.set_grad_enabled(torch.is_grad_enabled() and not self.head_only):
                hidden = self.network.body(**self.seen.batch(rows, device)).last_hidden_state[chosen]
            guesses = self.network.guess(hidden).float()
        return functional.cross_entropy(guesses, targets[chosen], reduction="none"), chosen.nonzero()[:, 0]


def exp_loss(loss: float) -> float:
    """Return exp(mean −log p), the perplexity, and the largest one that a table can hold for a model that has lost its way."""
    return math.exp(min(loss, 700.0))


def perplexity(network: MlmNetwork, windows: Inputs, engine: Engine, *, seed: int, share: float = 0.15) -> float:
    """Return exp(`masked_loss`)."""
    return exp_loss(masked_loss(network, windows, engine, seed=seed, share=share))


def masked_loss(network: MlmNetwork, windows: Inputs, engine: Engine, *, seed: int, share: float = 0.15) -> float:
    """Return the mean cross-entropy over the masked tokens of windows, with the same masks for the same seed.

    The masks are drawn as in training, a tenth of the tokens to guess being left in sight, as transformers' run_mlm does. It is no
    perplexity of a language model, and only comparable between models of one tokenizer.
    """
    objective = MlmObjective(network, windows, share)
    objective.draw(np.random.default_rng([seed, _DEV_MASKS]))
    objective.mode(False)
    total = 0.0
    for _, loss in engine.run(lambda rows: float(objective.loss(rows)), windows.lengths.astype(np.int32)):
        total += loss
    return float(total / max(objective.weight(np.arange(objective.n)), 1.0))


def know_words(network: MlmNetwork, windows: Inputs) -> None:
    """Set the bias of a new head to the log share of each word in the windows, (count + 0.1) / (N + 0.1 V)."""
    _, bias = network.output_words()
    size = int(network.model.config.vocab_size)
    assert bias is not None
    ids = windows.flat[np.isin(windows.flat, network.ordinary)]
    counts = np.bincount(ids, minlength=size) + 0.1
    with torch.no_grad():
        bias.copy_(torch.from_numpy(np.log(counts / counts.sum())))


def _fill(model: Any, names: frozenset[str]) -> None:
    """Make a head that passes the encoder's vectors on: dense = identity, norm = 1, biases 0, embeddings tied or copied."""
    words, out = model.get_input_embeddings().weight, model.get_output_embeddings()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name not in names:
                continue
            if parameter.ndim == 1:
                parameter.fill_(1.0 if name.lower().endswith("norm.weight") else 0.0)
            elif out is not None and parameter is out.weight and parameter.shape == words.shape:
                parameter.copy_(words)
            else:
                parameter.copy_(torch.eye(*parameter.shape))


def _window(folder: Path, config: Any, wanted: int | None) -> int:
    positions = positions_of(config)
    if wanted is None:
        return min(declared_max_tokens(folder, usual=USUAL_TOKENS), positions)
    if not 3 <= wanted <= positions:
        raise UsageError(f"`max_tokens={wanted}`: this model takes 3 to {positions} tokens of a text")
    return wanted


def _tokenizer(place: Path) -> Any:
    tokenizer = load_tokenizer(place, words=False)
    if tokenizer.mask_token_id is None:
        raise UsageError(
            f"the tokenizer in {place} has no mask token, so nothing can be masked; use another `base`",
            parameter="base",
        )
    return tokenizer


def _weight_names(place: Path) -> list[str]:
    from safetensors import safe_open

    names: list[str] = []
    for file in weight_files(place):
        with safe_open(str(file), "pt") as weights:
            names += weights.keys()
    return names


# ------------------------------------------------------------------------------------------------------------------------
# Masked language modelling in two stages: a new head alone, the body frozen, then all.

OnStep = Callable[[int, int, LogPoint | None], None]


@dataclass(frozen=True, slots=True)
class MlmOutcome:
    """Outcome of training. head: of the first stage, None where there was none; whole: of the second; perplexities of the held-out texts.

    before: None when training went on from a state; windows: of the training texts; empty: texts without a token, left out;
    between: the measurement before the body learned.
    """

    head: Outcome | None
    whole: Outcome
    windows: int
    empty: int
    before: float | None = None
    after_head: float | None = None
    after: float | None = None
    between: float | None = None


def train_mlm(
    network: MlmNetwork,
    texts: Sequence[str],
    *,
    plan: Schedule,
    options: Mapping[str, float],
    engine: Engine,
    seed: int,
    dev: Sequence[str] | None = None,
    state: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    on_step: OnStep = lambda step, steps, point: None,
    between: Callable[[], float | None] = lambda: None,
) -> MlmOutcome:
    """Train a network to guess masked tokens, in place.

    A new head learns first, `head_steps` steps at the rate `head_rate`, from a bias that knows how often each word is there. Training
    ends early when the perplexity of the held-out texts does not fall any more.

    Args:
        options: as `encoders.OPTIONS["mlm"]`: share, head_steps, head_rate.
        state: to resume from; its contents show its stage.
        on_step: as `train` says; the steps of both stages are counted as one.
        between: what is measured before the body learns, once a new head has.

    Raises:
        InputError: no text has a token. OutOfMemoryError: not even one window fits.
    """
    share = float(options["share"])
    windows, empty = cut_windows(network, texts)
    held_out = cut_windows(network, dev)[0] if dev is not None else None
    head_steps = int(options["head_steps"]) if network.head_is_new else 0
    in_head = state is not None and set(state.values) == set(network.head)

    def measured() -> float | None:
        return None if held_out is None else perplexity(network, held_out, engine, seed=seed, share=share)

    def score() -> dict[str, float]:
        current = measured() or 1.0
        return {"loss": float(np.log(current)), "perplexity": current}

    scored = None if held_out is None else score
    steps = head_steps + plan.steps(len(windows.lengths))
    before = measured() if state is None else None
    head, after_head = None, None
    if network.head_is_new and state is None:
        know_words(network, windows)
    if head_steps and (state is None or in_head):
        objective = MlmObjective(network, windows, share, head_only=True)
        epochs = -(-head_steps * plan.batch // objective.n)
        stage = replace(
            plan, epochs=epochs, max_steps=head_steps, rate=float(options["head_rate"]), head_rate=None, patience=0
        )
        head = train(
            objective,
            engine,
            stage,
            seed=seed,
            state=state,
            save=save,
            on_step=lambda i, _, point: on_step(i, steps, point),
        )
        after_head, state = measured(), None
    elif head_steps:
        assert state is not None
        head = state.first
    done = head_steps
    between_score = between() if state is None else state.between

    def keep(snapshot: State) -> None:
        snapshot.first, snapshot.between = head, between_score
        save(snapshot)

    def counted_on(step: int, _: int, point: LogPoint | None) -> None:
        on_step(step + done, steps, None if point is None else replace(point, step=point.step + done))

    objective = MlmObjective(network, windows, share)
    whole = train(
        objective, engine, plan, seed=seed, score=scored, better="loss", state=state, save=keep, on_step=counted_on
    )
    after = next((p.dev.get("perplexity") for p in whole.curve if p.step == whole.best_step), None)
    return MlmOutcome(head, whole, len(windows.lengths), empty, before, after_head, after, between_score)
