"""Text by a causal transformer in a folder: greedy, by beam search, or drawn, as transformers generates it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit import reporting
from nlpkit.errors import MissingError, UsageError, first_line, missing_extra
from nlpkit.lm.generate import GeneratedText, GenerateOptions
from nlpkit.types import FloatArray, LongArray


class CausalText:
    """A causal language model of transformers that writes text. name: of the folder in messages."""

    def __init__(self, folder: Path, name: str) -> None:
        """Load the model on the CPU, in fp32.

        Raises:
            MissingError: transformers is not installed, or the folder holds no causal model with its head.
        """
        if any(importlib.util.find_spec(module) is None for module in ("torch", "transformers")):
            raise missing_extra("text by a transformer", "neural")
        import torch
        from transformers import AutoModelForCausalLM

        from nlpkit.architectures.model import MODEL_TYPE, register
        from nlpkit.embed.engines import quiet
        from nlpkit.finetune.tokenizers import load_tokenizer

        register()
        self.name = name
        with quiet():
            try:
                model, info = AutoModelForCausalLM.from_pretrained(
                    str(folder), dtype=torch.float32, local_files_only=True, trust_remote_code=False, use_safetensors=True,
                    output_loading_info=True,
                )  # fmt: skip
            except Exception as error:  # every model fails in its own way
                raise MissingError(
                    f"{name} is no causal language model that transformers loads: {first_line(error)}"
                ) from None
        if model.config.model_type == MODEL_TYPE and not model.config.causal:
            raise MissingError(f"{name} reads texts in both directions: it is no causal language model")
        kinds = model.config.architectures or [type(model).__name__]
        missing = sorted(map(str, info.get("missing_keys") or ()))
        if missing or type(model).__name__ not in kinds:
            lacks = f"'{missing[0]}' is missing" if missing else f"it is a {kinds[0]}"
            raise MissingError(
                f"{name} is no causal language model ({lacks}); give one that was trained to go on with a text"
            )
        self._model, self._tokenizer = model.eval(), load_tokenizer(folder, words=False)

    @property
    def vocabulary(self) -> int:
        """Tokens that can be written."""
        return int(self._model.config.vocab_size)

    def word(self, id: int) -> str:
        """Return a token as text."""
        return str(self._tokenizer.decode([id]))

    def generate(self, options: GenerateOptions, *, seed: int) -> list[tuple[str, GeneratedText]]:
        """Return texts that begin with a prompt, with the ids of the tokens behind it.

        Greedy and beam search give what `generate` of transformers gives; of a beam the score is the sum of the log-probabilities by
        the number of tokens. A draw depends on the seed and the number of the text alone; temperature comes before top-k and top-p.

        Raises:
            UsageError: the prompt has characters without a token, is longer than the window, or is missing where it is needed.
        """
        import torch
        from transformers import GenerationConfig

        from nlpkit.embed.engines import quiet
        from nlpkit.finetune.network import seeded

        prompt = self._ids(options.prompt)
        window = self._window()
        room = options.max_words if window is None else min(options.max_words, window - len(prompt))
        if room < 1:
            raise UsageError(
                f"the prompt has {len(prompt):,} tokens, the window of {self.name} {window:,}; a shorter prompt is needed",
                parameter="prompt",
            )
        if room < options.max_words:
            reporting.note(
                f"the window of {self.name} has {window:,} tokens: texts end after {room:,} tokens behind the prompt"
            )
        top_k, top_p = options.bounds
        chosen: dict[str, Any] = {"do_sample": options.drawn, "num_beams": 1}
        if options.drawn:
            chosen |= {
                "temperature": options.temperature,
                "top_k": top_k or 0,
                "top_p": 1.0 if top_p is None else top_p,
            }
        if options.decode == "beam":
            width = max(options.beams, options.texts)
            chosen |= {"num_beams": width, "num_return_sequences": options.texts}
        ends = sorted(self._ends())
        settings = GenerationConfig(
            max_new_tokens=room, eos_token_id=ends or None, pad_token_id=ends[0] if ends else 0, **chosen
        )
        ids = torch.tensor([prompt])
        written: list[list[int]] = []
        before = torch.get_num_threads()
        torch.set_num_threads(1)  # the sums of a product do not depend on the number of threads
        try:
            with torch.inference_mode(), quiet():
                for number in range(options.texts if options.drawn else 1):
                    with seeded(int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> 1)):
                        out = self._model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=settings)
                    written += out[:, len(prompt) :].tolist()
        finally:
            torch.set_num_threads(before)
        return [self._text(prompt, tokens) for tokens in written]

    def steps(self, prompt: str, one: GeneratedText) -> Iterator[tuple[int, FloatArray]]:
        """Yield each token of a text, its end included, with the probabilities (V,) of all tokens in its place."""
        start = self._ids(prompt)
        tokens = list(one.words)
        logs = self._log_probs(start, tokens)
        yield from zip(tokens, np.exp(logs), strict=True)

    def _text(self, prompt: list[int], tokens: list[int]) -> tuple[str, GeneratedText]:
        """Return a text, and its tokens up to the first end, which counts."""
        ends = self._ends()
        stop = next((i for i, token in enumerate(tokens) if token in ends), None)
        tokens = tokens if stop is None else tokens[: stop + 1]
        logs = self._log_probs(prompt, tokens)
        total = float(logs[np.arange(len(tokens)), tokens].sum())
        text = self._tokenizer.decode([*prompt, *tokens], skip_special_tokens=True)
        return str(text), GeneratedText(tuple(tokens), total, stop is not None)

    def _log_probs(self, prompt: list[int], tokens: list[int]) -> FloatArray:
        """Return log p (n, V) of all tokens in the places of n tokens behind a prompt."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.inference_mode():
                logits = self._model(torch.tensor([[*prompt, *tokens]])).logits[0, len(prompt) - 1 : -1]
                logs: FloatArray = torch.log_softmax(logits.double(), dim=-1).numpy()
        finally:
            torch.set_num_threads(before)
        return logs

    def _ids(self, prompt: str) -> list[int]:
        tokenizer = self._tokenizer
        if not prompt:
            config = self._model.config
            known = (tokenizer.bos_token_id, config.bos_token_id, tokenizer.eos_token_id, config.eos_token_id)
            first = next((i for i in known if isinstance(i, int)), None)
            if first is None:
                raise UsageError(f"{self.name} has no token for a beginning; give a `prompt`", parameter="prompt")
            return [int(first)]
        read = tokenizer(prompt, return_special_tokens_mask=True, return_offsets_mapping=True)
        ids, special, spans = read["input_ids"], read["special_tokens_mask"], read["offset_mapping"]
        while ids and special[-1]:  # an end, which some tokenizers add
            ids, special = ids[:-1], special[:-1]
        unknown = [prompt[a:b] for i, (a, b) in zip(ids, spans, strict=False) if i == tokenizer.unk_token_id and b > a]
        if unknown and tokenizer.unk_token_id not in self._ends():
            raise UsageError(
                f"{self.name} has no token for {', '.join(map(repr, dict.fromkeys(unknown[:5])))}; write the prompt without it",
                parameter="prompt",
            )
        if all(special):
            raise UsageError(f"{self.name} finds no token in the prompt {prompt!r}; give words", parameter="prompt")
        return list(map(int, ids))

    def _ends(self) -> set[int]:
        """Return the ids that end a text."""
        ends = getattr(self._model.generation_config, "eos_token_id", None)
        if ends is None:
            ends = self._tokenizer.eos_token_id
        return set() if ends is None else set(ends) if isinstance(ends, list) else {int(ends)}

    def _window(self) -> int | None:
        """Return the tokens the model can take, None where there is no limit."""
        positions = getattr(self._model.config, "max_position_embeddings", None)
        return int(positions) if positions and positions > 0 else None


def top_candidates(prob: FloatArray, chosen: int, n: int) -> LongArray:
    """Return the n likeliest of V words, the chosen one behind them where it is not among them; ties go to the lower id."""
    best = np.argsort(-prob, kind="stable")[:n]
    return best if chosen in best else np.append(best, chosen)
