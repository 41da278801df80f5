"""The networks that transformers does not have, as models of it: saved as config.json and safetensors, loaded by its Auto classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    GenerationMixin,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import BaseModelOutput, MaskedLMOutput, SequenceClassifierOutput

from nlpkit.embed.pooling import mean_of_tokens
from nlpkit.finetune.training import causal_heads
from nlpkit.lab.architectures.attention import (
    Pattention,
    Positions,
    TokenformerBlock,
    barred_places,
    positional_encoding,
)
from nlpkit.lab.architectures.encoder import NORMS, Choices, SelfAttention, TransformerBlock
from nlpkit.lab.architectures.recurrent import CELLS, BilmLayer, CharacterCNN, LayerWeights, RecurrentBlock, WordsBefore
from nlpkit.lab.architectures.s4 import S4, S4Block
from nlpkit.lab.architectures.state_space import HymbaBlock, MetaTokens, SSMHeads
from nlpkit.platform.lab_networks import MODEL_TYPE

ATTENDING = ("tokenformer", "hymba")


class SequenceConfig(PretrainedConfig):  # type: ignore[misc]
    """Configuration.

    arch: one of LAYERS; causal: no place sees what comes after it.
    """

    model_type = MODEL_TYPE

    def __init__(
        self,
        arch: str = "lstm",
        vocab_size: int = 1000,
        hidden_size: int = 128,
        num_hidden_layers: int = 2,
        num_attention_heads: int = 2,
        max_position_embeddings: int = 128,
        state_size: int = 32,
        parameter_tokens: int = 128,
        meta_tokens: int = 8,
        words_before: int = 4,
        dropout: float = 0.1,
        causal: bool = True,
        tie_word_embeddings: bool = True,
        choices: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Take sizes.

        state_size: N of s4 and hymba; parameter_tokens: n of tokenformer; meta_tokens: m of hymba; words_before: n − 1 of ffnn;
        choices of transformer: fields of `Choices`.
        """
        self.arch, self.vocab_size, self.hidden_size, self.num_hidden_layers = (
            arch,
            vocab_size,
            hidden_size,
            num_hidden_layers,
        )
        self.num_attention_heads, self.max_position_embeddings = num_attention_heads, max_position_embeddings
        self.state_size, self.parameter_tokens, self.meta_tokens = state_size, parameter_tokens, meta_tokens
        self.words_before, self.choices = words_before, choices or {}
        self.dropout, self.causal, self.tie_word_embeddings = dropout, causal, tie_word_embeddings
        super().__init__(**options)


def _transformer_block(config: SequenceConfig, choices: Choices, _: int) -> nn.Module:
    H, heads, longest = config.hidden_size, config.num_attention_heads, config.max_position_embeddings
    return TransformerBlock(H, heads, config.dropout, choices, longest=longest, causal=config.causal)


LAYERS: dict[str, Callable[[SequenceConfig, Choices, int], nn.Module]] = {  # layer 0, 1, … of an architecture
    **dict.fromkeys(CELLS, lambda c, _, i: RecurrentBlock(c.arch, c.hidden_size, c.dropout)),
    "elmo": lambda c, _, i: BilmLayer(c.hidden_size, c.dropout, residual=i > 0),
    "ffnn": lambda c, _, i: WordsBefore(c.hidden_size, 1 if i else c.words_before, c.dropout),
    "s4": lambda c, _, i: S4Block(c.hidden_size, c.state_size, c.dropout),
    "tokenformer": lambda c, _, i: TokenformerBlock(
        c.hidden_size, c.num_attention_heads, c.parameter_tokens, c.dropout
    ),
    "hymba": lambda c, _, i: HymbaBlock(c.hidden_size, c.num_attention_heads, c.state_size, c.dropout),
    "transformer": _transformer_block,
}


class SequencePreTrained(PreTrainedModel):  # type: ignore[misc]
    """What the models have in common: their configuration and how weights begin."""

    config_class = SequenceConfig
    base_model_prefix = "body"
    main_input_name = "input_ids"

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _init_weights(self, module: Any) -> None:
        if isinstance(module, (S4, Pattention, SelfAttention, MetaTokens, SSMHeads, CharacterCNN, LayerWeights)):
            module.reset()
        elif isinstance(module, nn.Linear):
            # no norm follows ELMo's layers, which would let small values grow
            nn.init.normal_(module.weight, std=module.in_features**-0.5 if self.config.arch == "elmo" else 0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        elif isinstance(module, (nn.LayerNorm, nn.RMSNorm)):
            nn.init.ones_(module.weight)
            if isinstance(module, nn.LayerNorm):
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.RNNBase):
            for name, parameter in module.named_parameters():
                if "weight" in name:
                    nn.init.orthogonal_(parameter)
                else:
                    nn.init.zeros_(parameter)


class SequenceModel(SequencePreTrained):
    """The body: embeddings, layers, LayerNorm. ids (B, T) → vectors (B, T, H)."""

    def __init__(self, config: SequenceConfig) -> None:
        super().__init__(config)
        if config.arch not in LAYERS:
            raise ValueError(f"there is no architecture '{config.arch}'")
        H, elmo, choices = config.hidden_size, config.arch == "elmo", Choices(**config.choices)
        self.embeddings = CharacterCNN(config.vocab_size, H, H // 2) if elmo else nn.Embedding(config.vocab_size, H)
        if config.arch == "transformer":
            self.positions = Positions(choices.positions, H, config.max_position_embeddings, choices.span)
        self.layers = nn.ModuleList(LAYERS[config.arch](config, choices, i) for i in range(config.num_hidden_layers))
        self.meta = MetaTokens(config.meta_tokens, H) if config.arch == "hymba" else None
        self.norm = LayerWeights(config.num_hidden_layers + 1) if elmo else NORMS[choices.norm](H)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the embeddings of tokens."""
        return self.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the embeddings of tokens."""
        self.embeddings = value

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> BaseModelOutput:
        """Return vectors of tokens; attention_mask (B, T): 1 for tokens, 0 for padding, which comes last."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        config, H = self.config, self.config.hidden_size
        x = self.embeddings(input_ids)
        if config.arch == "elmo":
            return self._both_ways(torch.cat([x, x], -1), mask)
        if config.arch == "transformer":
            x = self.positions(x)
        elif config.arch == "tokenformer":
            x = x * H**0.5 + positional_encoding(input_ids.shape[1], H).to(x)
        if self.meta is not None:
            x, mask = self.meta(x, mask)
        x = functional.dropout(x, config.dropout, self.training)
        barred = barred_places(mask, causal=config.causal) if config.arch in ATTENDING else None
        for layer in self.layers:
            if config.arch in CELLS:
                x = layer(x, mask)
            elif config.arch == "transformer":
                x = layer(x, mask, self.positions.relative)
            elif config.arch in ATTENDING:
                x = layer(x, barred)
            else:
                x = layer(x)
        return BaseModelOutput(last_hidden_state=self.norm(x[:, -input_ids.shape[1] :]))

    def _both_ways(self, x: Tensor, mask: Tensor) -> BaseModelOutput:
        """Return the weighted layers of ELMo, and the layers, the first of which is x (B, T, H)."""
        layers = [functional.dropout(x, self.config.dropout, self.training)]
        for layer in self.layers:
            layers.append(layer(layers[-1], mask))
        return BaseModelOutput(last_hidden_state=self.norm(layers), hidden_states=tuple(layers))


class SequenceLM(SequencePreTrained, GenerationMixin):  # type: ignore[misc]
    """The body with a head that guesses tokens: the next ones, or masked ones. Its weights are the embeddings.

    ELMo's head has weights of its own, and reads the last layer of either direction; called, it guesses the next tokens.
    """

    _tied_weights_keys = {"lm_head.weight": "body.embeddings.weight"}  # noqa: RUF012

    def __init__(self, config: SequenceConfig) -> None:
        super().__init__(config)
        self.body = SequenceModel(config)
        self.lm_head = nn.Linear(config.hidden_size // (2 if config.arch == "elmo" else 1), config.vocab_size)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        """Return the head."""
        return self.lm_head

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any
    ) -> dict[str, Any]:
        """Return what the next token is guessed from: all before it, as nothing of them is kept."""
        return {"input_ids": input_ids, "attention_mask": attention_mask}

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> MaskedLMOutput:
        """Return logits (B, T, V)."""
        seen = self.body(input_ids, attention_mask)
        if self.config.arch == "elmo":
            return MaskedLMOutput(logits=self.lm_head(seen.hidden_states[-1].chunk(2, -1)[0]))
        return MaskedLMOutput(logits=self.lm_head(seen.last_hidden_state))


class SequenceClassifier(SequencePreTrained):
    """The body with a head for classes, on the mean of the tokens.

    Also where no place sees what comes after it: the last token ends the text, and a language model guesses that one but never reads it.
    """

    def __init__(self, config: SequenceConfig) -> None:
        super().__init__(config)
        self.body = SequenceModel(config)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> SequenceClassifierOutput:
        """Return logits (B, J)."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        x = self.body(input_ids, mask).last_hidden_state
        pooled = functional.dropout(mean_of_tokens(x, mask), self.config.dropout, self.training)
        return SequenceClassifierOutput(logits=self.classifier(pooled))


def register() -> None:
    """Let transformers load these models by its Auto classes, and Mamba as a classifier."""
    causal_heads.register()
    AutoConfig.register(MODEL_TYPE, SequenceConfig, exist_ok=True)
    AutoModel.register(SequenceConfig, SequenceModel, exist_ok=True)
    AutoModelForCausalLM.register(SequenceConfig, SequenceLM, exist_ok=True)
    AutoModelForMaskedLM.register(SequenceConfig, SequenceLM, exist_ok=True)
    AutoModelForSequenceClassification.register(SequenceConfig, SequenceClassifier, exist_ok=True)
