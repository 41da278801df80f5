"""Answers of a causal language model in a folder, by transformers, on this machine: greedy, so the same again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nlpkit.errors import MissingError, first_line, missing_extra
from nlpkit.lm.questions import LIKELY_TOKENS, Answer


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
        return Answer(str(tokenizer.decode(answer, skip_special_tokens=True)), tuple(tokens))

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
