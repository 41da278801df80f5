"""One model has one tokenisation: fine-tuning and embedding give the same ids, whatever a folder's settings are."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nlpkit.embed import token_ids as tokens
from nlpkit.embed.models import read_layout
from nlpkit.embed.tokenizers import load_tokenizer
from tests.few import few
from tests.finetune.tiny import tiny_sentence_model

WORDS = ["cat", "the", "möchten", "mochten", "müde", "mude", "老", "人", "老人"]
TEXTS = ["The CAT", "Möchten müde Vögel", "老人 cat", "Ünder Café", "İstanbul", "", "  ", "a\u200bb <s> [MASK]"]
YES_NO_NOTHING = (True, False, None)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_sentence_model(tmp_path_factory.mktemp("tokens") / "base", words=WORDS)


def folder_with(base: Path, folder: Path, *, lowers: bool, **settings: Any) -> Path:
    shutil.copytree(base, folder)
    file = folder / "tokenizer_config.json"
    kept = {name: value for name, value in json.loads(file.read_text()).items() if name not in settings}
    file.write_text(json.dumps({**kept, **{name: value for name, value in settings.items() if value is not None}}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 64, "do_lower_case": lowers}))
    return folder


def ids(tokenizer: Any) -> list[list[int]]:
    return [tokenizer.encode(text).ids for text in TEXTS]


@pytest.mark.parametrize(
    ("lower", "accents", "chinese", "lowers"),
    few(itertools.product(YES_NO_NOTHING, YES_NO_NOTHING, YES_NO_NOTHING, (False, True)), 9),
)
def test_ids_are_those_of_embedding(
    lower: bool | None, accents: bool | None, chinese: bool | None, lowers: bool, base: Path, tmp_path: Path
) -> None:
    """transformers#2917, #6186, #6280, FARM#624: three keys of tokenizer_config.json; and sentence-transformers' own."""
    settings = {"do_lower_case": lower, "strip_accents": accents, "tokenize_chinese_chars": chinese}
    folder = folder_with(base, tmp_path / "model", lowers=lowers, **settings)
    layout = read_layout(folder)
    assert layout is not None
    tuned = load_tokenizer(folder, words=False)
    backend = tokens.plain(tuned.backend_tokenizer)
    assert ids(backend) == ids(tokens.load_tokenizer(layout))
    tuned.save_pretrained(str(tmp_path / "saved"))
    assert ids(tokens.plain(load_tokenizer(tmp_path / "saved", words=False).backend_tokenizer)) == ids(backend)


def test_a_tokenizer_of_another_kind_is_lower_case_too(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({"[UNK]": 0, "cat": 1, "CAT": 2}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]").save_pretrained(str(tmp_path))
    assert load_tokenizer(tmp_path, words=False).encode("CAT") == [2]
    (tmp_path / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    assert load_tokenizer(tmp_path, words=False).encode("CAT") == [1]
