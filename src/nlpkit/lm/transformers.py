"""Texts and answers by a transformer in a folder on this machine, as transformers generates them.

Parts, in this order:
- Answers of a causal language model in a folder, by transformers, on this machine: greedy, so the same again.
- Text by a transformer in a folder, causal or of encoder and decoder: greedy, by beam search, or drawn, as transformers
  generates it.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.errors import MissingError, UsageError, first_line, missing_extra
from nlpkit.lm.model import GeneratedText, GenerateOptions
from nlpkit.platform import reporting
from nlpkit.platform.llm_options import LIKELY_TOKENS, Answer
from nlpkit.platform.types import FloatArray, LongArray


class LocalModel:
    """A causal language model in a folder of transformers. Weights that are only a pickle, and code in the folder, are not loaded."""

    def __init__(self, folder: str | Path, *, answer_tokens: int, with_tokens: bool = False) -> None:
        """Take a folder; it is loaded with the first question.

        Args:
            answer_tokens: of an answer at most. with_tokens: answers have the probabilities of their tokens, too.

        Raises:
            MissingError: it is not there.
        """
        self.name = str(folder)
        self._folder, self._answer_tokens, self._with_tokens = Path(folder), answer_tokens, with_tokens
        if not (self._folder / "config.json").is_file():
            raise MissingError(f"model folder {folder} has no config.json", parameter="llm_model")
        self._tokenizer: Any = None
        self._model: Any = None

    def identity(self) -> str:
        """Return the folder with the size and time of its weights: other weights answer otherwise."""
        weights = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in sorted(self._folder.glob("*.safetensors"))]
        return f"{self._folder.resolve()} {weights} {self._answer_tokens}{' with tokens' if self._with_tokens else ''}"

    def complete(self, messages: Sequence[dict[str, str]]) -> Answer:
        """Return the answer to messages, greedy; what is too long for the model loses its beginning.

        Raises:
            MissingError: transformers is not installed, the folder holds no causal model, or its chat template takes no question.
        """
        self._load()
        import torch

        tokenizer, model = self._tokenizer, self._model
        plain = not tokenizer.chat_template  # a template writes the special tokens itself
        ids = tokenizer(self._prompt(messages), return_tensors="pt", add_special_tokens=plain).input_ids
        room = getattr(model.config, "max_position_embeddings", None) or ids.shape[1] + self._answer_tokens
        answer_tokens = min(self._answer_tokens, max(room // 2, 1))
        ids = ids[:, -max(room - answer_tokens, 1) :]
        with torch.inference_mode():
            written = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=answer_tokens, do_sample=False,
                pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id or 0, return_dict_in_generate=True,
                output_logits=self._with_tokens,
            )  # fmt: skip
        answer = written.sequences[0, ids.shape[1] :]
        tokens = []
        for token, logits in zip(answer, written.logits or (), strict=self._with_tokens):
            likely = torch.log_softmax(logits[0].double(), dim=0).topk(min(LIKELY_TOKENS, logits.shape[1]))
            pairs = zip(likely.indices.tolist(), likely.values.tolist(), strict=True)
            tokens.append((str(tokenizer.decode(token)), {str(tokenizer.decode(i)): value for i, value in pairs}))
        text = str(tokenizer.decode(answer, skip_special_tokens=True))
        return Answer(text, tuple(tokens), cut=len(answer) >= answer_tokens)

    def _prompt(self, messages: Sequence[dict[str, str]]) -> str:
        """Return messages as the model's chat template writes them; a system message that it does not take goes before the question."""
        if not self._tokenizer.chat_template:
            return "\n\n".join(message["content"] for message in messages) + "\n\n"
        from jinja2 import TemplateError

        system, question, *rest = messages
        asked = {**question, "content": f"{system['content']}\n\n{question['content']}"}
        for written in (messages, [asked, *rest]):
            try:
                return str(
                    self._tokenizer.apply_chat_template(list(written), tokenize=False, add_generation_prompt=True)
                )
            except TemplateError as error:
                reason = first_line(error)
        raise MissingError(
            f"the chat template of {self._folder} does not accept a question ({reason})", parameter="llm_model"
        )

    def _load(self) -> None:
        if self._model is not None:
            return
        try:
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError:
            raise missing_extra("a language model on this machine", "neural") from None
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
            self._model = AutoModelForCausalLM.from_pretrained(
                self._folder, local_files_only=True, use_safetensors=True
            ).eval()
        except (OSError, ValueError, KeyError) as error:
            raise MissingError(
                f"{self._folder} is not a causal language model that transformers loads ({first_line(error)})",
                parameter="llm_model",
            ) from None


# ------------------------------------------------------------------------------------------------------------------------
# Text by a transformer in a folder, causal or of encoder and decoder: greedy, by beam search, or drawn, as transformers generates it.


class CausalText:
    """A causal language model of transformers that goes on with a text. name: of the folder in messages."""

    LOADER, WHAT, TRAINED = "AutoModelForCausalLM", "causal language model", "to continue with a text"

    def __init__(self, folder: Path, name: str) -> None:
        """Load the model on the CPU, in fp32.

        Raises:
            MissingError: transformers is not installed, or the folder holds no model of this kind with its head.
        """
        if any(importlib.util.find_spec(module) is None for module in ("torch", "transformers")):
            raise missing_extra("text by a transformer", "neural")
        import torch
        import transformers

        from nlpkit.embed.engines import quiet
        from nlpkit.embed.tokenizers import load_tokenizer
        from nlpkit.platform.lab_networks import MODEL_TYPE, register

        register()
        self.name = name
        with quiet():
            try:
                model, info = getattr(transformers, self.LOADER).from_pretrained(
                    str(folder), dtype=torch.float32, local_files_only=True, trust_remote_code=False, use_safetensors=True,
                    output_loading_info=True,
                )  # fmt: skip
            except Exception as error:  # every model fails in its own way
                raise MissingError(
                    f"{name} is not a {self.WHAT} that transformers loads: {first_line(error)}"
                ) from None
        if model.config.model_type == MODEL_TYPE and not model.config.causal:
            raise MissingError(f"{name} reads texts in both directions, so it is not a causal language model")
        kinds = model.config.architectures or [type(model).__name__]
        missing = sorted(map(str, info.get("missing_keys") or ()))
        if missing or type(model).__name__ not in kinds:
            lacks = f"'{missing[0]}' is missing" if missing else f"it is a {kinds[0]}"
            raise MissingError(f"{name} is not a {self.WHAT} ({lacks}); give one that was trained {self.TRAINED}")
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
        from nlpkit.embed.hardware import seeded

        prompt = self._ids(options.prompt)
        window = self._window()
        room = options.max_words if window is None else min(options.max_words, self._room(prompt, window))
        if room < 1:
            raise UsageError(
                f"the prompt has {len(prompt):,} tokens, the window of {self.name} {window:,}; shorten the prompt",
                parameter="prompt",
            )
        if room < options.max_words:
            reporting.note(
                f"the window of {self.name} has {window:,} tokens: texts end {room:,} tokens after the prompt"
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
            max_new_tokens=room,
            eos_token_id=ends or None,
            pad_token_id=ends[0] if ends else 0,
            **self._start(),
            **chosen,
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
                    written += out[:, self._before(prompt) :].tolist()
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
        return self._written(prompt, tokens), GeneratedText(tuple(tokens), total, stop is not None)

    def _log_probs(self, prompt: list[int], tokens: list[int]) -> FloatArray:
        """Return log p (n, V) of all tokens in the places of n tokens behind a prompt."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.inference_mode():
                logs: FloatArray = torch.log_softmax(self._logits(prompt, tokens).double(), dim=-1).numpy()
        finally:
            torch.set_num_threads(before)
        return logs

    def _logits(self, prompt: list[int], tokens: list[int]) -> Any:
        """Return the logits (n, V) in the places of n tokens behind a prompt."""
        import torch

        return self._model(torch.tensor([[*prompt, *tokens]])).logits[0, len(prompt) - 1 : -1]

    def _before(self, prompt: list[int]) -> int:
        """Return how many tokens stand before those that are written."""
        return len(prompt)

    def _room(self, prompt: list[int], window: int) -> int:
        """Return how many tokens can be written; below 1 where the prompt is too long."""
        return window - len(prompt)

    def _start(self) -> dict[str, int]:
        """Return settings of transformers that say how a text begins."""
        return {}

    def _written(self, prompt: list[int], tokens: list[int]) -> str:
        return str(self._tokenizer.decode([*prompt, *tokens], skip_special_tokens=True))

    def _beginning(self) -> list[int]:
        """Return the tokens that stand for an empty prompt. Raises UsageError where there is none."""
        config, tokenizer = self._model.config, self._tokenizer
        known = (tokenizer.bos_token_id, config.bos_token_id, tokenizer.eos_token_id, config.eos_token_id)
        first = next((i for i in known if isinstance(i, int)), None)
        if first is None:
            raise UsageError(f"{self.name} has no token for a beginning; give a `prompt`", parameter="prompt")
        return [int(first)]

    def _without_end(self, ids: list[int], special: list[int]) -> list[int]:
        """Return the ids of a prompt without an end behind it, which some tokenizers add."""
        while ids and special[-1]:
            ids, special = ids[:-1], special[:-1]
        return ids

    def _ids(self, prompt: str) -> list[int]:
        tokenizer = self._tokenizer
        if not prompt:
            return self._beginning()
        # not verbose: of a prompt that is too long transformers would print its own warning
        read = tokenizer(prompt, return_special_tokens_mask=True, return_offsets_mapping=True, verbose=False)
        ids, special, spans = read["input_ids"], read["special_tokens_mask"], read["offset_mapping"]
        unknown = [prompt[a:b] for i, (a, b) in zip(ids, spans, strict=False) if i == tokenizer.unk_token_id and b > a]
        if unknown and tokenizer.unk_token_id not in self._ends():
            raise UsageError(
                f"{self.name} has no token for {', '.join(map(repr, dict.fromkeys(unknown[:5])))}; write the prompt without it",
                parameter="prompt",
            )
        if all(special):
            raise UsageError(f"{self.name} finds no token in the prompt {prompt!r}; give words", parameter="prompt")
        return list(map(int, self._without_end(ids, special)))

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


class Seq2SeqText(CausalText):
    """A model of transformers whose encoder reads the prompt, and whose decoder writes a text for it."""

    LOADER, WHAT, TRAINED = "AutoModelForSeq2SeqLM", "model of encoder and decoder", "to write a text for another"

    def _logits(self, prompt: list[int], tokens: list[int]) -> Any:
        import torch

        first = self._start()["decoder_start_token_id"]
        return self._model(
            input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([[first, *tokens[:-1]]])
        ).logits[0]

    def _before(self, prompt: list[int]) -> int:
        return 1

    def _room(self, prompt: list[int], window: int) -> int:
        return 0 if len(prompt) > window else window - 1

    def _start(self) -> dict[str, int]:
        configs = self._model.generation_config, self._model.config
        known = (getattr(c, name, None) for name in ("decoder_start_token_id", "bos_token_id") for c in configs)
        first = next((i for i in known if isinstance(i, int)), None)
        if first is None:
            raise MissingError(f"{self.name} does not define which token begins a text (decoder_start_token_id)")
        return {"decoder_start_token_id": first}

    def _written(self, prompt: list[int], tokens: list[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def _beginning(self) -> list[int]:
        raise UsageError(f"{self.name} writes a text for an input text; give the input as `prompt`", parameter="prompt")

    def _without_end(self, ids: list[int], special: list[int]) -> list[int]:
        return ids


def load_transformer(folder: Path, name: str) -> CausalText:
    """Return the model in a folder of transformers, by what its config.json says. Raises MissingError: it writes no text."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MissingError(f"the config.json of {name} cannot be read ({first_line(error)})") from None
    return (Seq2SeqText if config.get("is_encoder_decoder") else CausalText)(folder, name)


def top_candidates(prob: FloatArray, chosen: int, n: int) -> LongArray:
    """Return the n likeliest of V words, the chosen one behind them where it is not among them; ties go to the lower id."""
    best = np.argsort(-prob, kind="stable")[:n]
    return best if chosen in best else np.append(best, chosen)
