"""Token ids as transformers' own tokenizers give them, cut, with neighbours, and by words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.embed.engines import quiet
from nlpkit.embed.tokenizers import load_tokenizer
from nlpkit.finetune.data.inputs import (
    Frame,
    Inputs,
    encode,
    encode_context,
    encode_words,
    first_tokens,
    frame_of,
    labels_of_windows,
    share_room,
    spread,
    word_windows,
)
from tests.finetune.tiny import tiny_bert
from tests.refusals import refuses
from tests.strategies import repeatable

CPU = torch.device("cpu")
WORDS = ["cat", "dog", "sat", "ran", "the", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEXTS = ["The cat sat.", "", "a dog", "nine eight seven six five four", "Zürich 老 😀", "   ", "the the the"]
OTHERS = ["one two", "the dog ran", "", "cat", "four, five", "  ", "sat"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_tokenizer(tiny_bert(tmp_path_factory.mktemp("inputs") / "bert", words=WORDS), words=False)


@pytest.fixture(scope="module")
def roberta_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import ByteLevelBPETokenizer, processors
    from transformers import PreTrainedTokenizerFast

    folder: Path = tmp_path_factory.mktemp("inputs") / "roberta"
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(
        WORDS * 5, vocab_size=300, min_frequency=1, special_tokens=special, show_progress=False
    )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    with quiet():
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer._tokenizer, bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>",
            unk_token="<unk>", pad_token="<pad>", mask_token="<mask>",
        ).save_pretrained(str(folder))  # fmt: skip
    return folder


@pytest.fixture
def roberta(roberta_folder: Path) -> Any:
    return load_tokenizer(roberta_folder, words=False)


@pytest.fixture(params=["RobertaTokenizer", "TokenizersBackend", "sequence"])
def roberta_of_words(roberta_folder: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """Return the tokenizer as the classes read it that hear of add_prefix_space and that do not, and as one step of several."""
    folder = tmp_path / "of_words"
    shutil.copytree(roberta_folder, folder)
    for name, key in (("tokenizer_config.json", "tokenizer_class"), ("tokenizer.json", "pre_tokenizer")):
        own = json.loads((folder / name).read_text(encoding="utf-8"))
        if key == "tokenizer_class":
            own[key] = "TokenizersBackend" if request.param == "sequence" else request.param
        elif request.param == "sequence":
            digits = {"type": "Digits", "individual_digits": False}
            own[key] = {"type": "Sequence", "pretokenizers": [digits, own[key]]}
        (folder / name).write_text(json.dumps(own), encoding="utf-8")
    return load_tokenizer(folder, words=True)


def frame(tokenizer: Any) -> Frame:
    return frame_of(tokenizer, typed="token_type_ids" in tokenizer("a", "b"))


def ids(inputs: Inputs) -> list[list[int]]:
    return [inputs.flat[a:b].tolist() for a, b in zip(inputs.starts[:-1], inputs.starts[1:], strict=True)]


def types(inputs: Inputs) -> list[list[int]]:
    assert inputs.types is not None
    return [inputs.types[a:b].tolist() for a, b in zip(inputs.starts[:-1], inputs.starts[1:], strict=True)]


def tokens(tokenizer: Any, inputs: Inputs) -> list[str]:
    return [" ".join(tokenizer.convert_ids_to_tokens(own)) for own in ids(inputs)]


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("which", ["bert", "roberta"])
def test_ids_masks_and_types_are_transformers_own(request: pytest.FixtureRequest, which: str, pairs: bool) -> None:
    tokenizer = request.getfixturevalue(which)
    seconds = OTHERS if pairs else None
    own = frame(tokenizer)
    inputs = encode(tokenizer, own, TEXTS, seconds, max_tokens=200)
    expected = tokenizer(TEXTS, seconds, padding=True, return_tensors="pt")
    found = inputs.batch(np.arange(len(TEXTS)), CPU)
    assert found.keys() == expected.keys() - ({"token_type_ids"} if not own.typed else set())
    for name, tensor in found.items():
        assert tensor.dtype == torch.int64
        assert torch.equal(tensor, expected[name]), name
    assert inputs.lengths.tolist() == expected["attention_mask"].sum(1).tolist()
    assert not inputs.cut.any()
    assert inputs.counts.tolist() == [
        len(tokenizer(a, add_special_tokens=False)["input_ids"])
        + (len(tokenizer(b, add_special_tokens=False)["input_ids"]) if pairs else 0)
        for a, b in zip(TEXTS, OTHERS, strict=True)
    ]


def test_frames(bert: Any, roberta: Any) -> None:
    assert frame(bert) == Frame((2,), (3,), (3,), 0, True)
    assert frame(roberta) == Frame((0,), (2, 2), (2,), 1, False)
    assert not frame_of(bert, typed=False).typed
    assert frame(bert).single == 2


def test_a_batch_is_padded_to_its_own_longest_row_in_the_order_asked_for(bert: Any) -> None:
    inputs = encode(bert, frame(bert), ["cat", "cat dog sat ran", "dog dog"], max_tokens=50)
    found = inputs.batch(np.array([2, 0]), CPU)
    cat, dog = bert.convert_tokens_to_ids(["cat", "dog"])
    assert found["input_ids"].tolist() == [[2, dog, dog, 3], [2, cat, 3, 0]]
    assert found["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]


def test_texts_are_cut_at_their_end_and_counted(bert: Any) -> None:
    inputs = encode(bert, frame(bert), ["one two three four five", "one", ""], max_tokens=5)
    assert tokens(bert, inputs) == ["[CLS] one two three [SEP]", "[CLS] one [SEP]", "[CLS] [SEP]"]
    assert inputs.counts.tolist() == [5, 1, 0]
    assert inputs.cut.tolist() == [2, 0, 0]


def test_of_a_pair_the_longer_text_is_cut(bert: Any) -> None:
    firsts = ["one two three four five", "one", "one two three four", "one two three four"]
    seconds = ["six", "six seven eight nine four", "six seven eight nine", "six seven eight nine four"]
    inputs = encode(bert, frame(bert), firsts, seconds, max_tokens=8)
    assert tokens(bert, inputs) == [
        "[CLS] one two three four [SEP] six [SEP]",
        "[CLS] one [SEP] six seven eight nine [SEP]",
        "[CLS] one two three [SEP] six seven [SEP]",
        "[CLS] one two three [SEP] six seven [SEP]",
    ]
    assert inputs.cut.tolist() == [1, 1, 3, 4]
    assert types(inputs)[2] == [0, 0, 0, 0, 0, 1, 1, 1]


@repeatable
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 20))
def test_shares_fill_the_room_and_take_from_the_longer(a: int, b: int, room: int) -> None:
    keep_a, keep_b = share_room(a, b, room)
    assert keep_a + keep_b == min(a + b, room)
    assert 0 <= keep_a <= a
    assert 0 <= keep_b <= b
    if keep_a < a:
        assert keep_a >= min(keep_b, a) or keep_b == b
    if keep_a < a and keep_b < b:
        assert 0 <= keep_a - keep_b <= 1


CONTEXT = (["cat", "dog"], ["one two three four", ""], ["six seven eight nine", "ran"])


def test_context_stands_behind_the_target(bert: Any) -> None:
    inputs = encode_context(bert, frame(bert), *CONTEXT, max_tokens=30)
    assert tokens(bert, inputs) == [
        "[CLS] cat [SEP] one two three four [SEP] six seven eight nine [SEP]",
        "[CLS] dog [SEP] [SEP] ran [SEP]",
    ]
    assert types(inputs) == [[0] * 3 + [1] * 10, [0] * 3 + [1] * 3]
    assert not inputs.cut.any()


def test_context_of_a_tokenizer_with_two_separators(roberta: Any) -> None:
    inputs = encode_context(roberta, frame(roberta), *CONTEXT, max_tokens=60)
    assert tokens(roberta, inputs)[1].count("</s> </s>") == 2
    assert inputs.types is None
    target = roberta(CONTEXT[0][0])["input_ids"]
    both = roberta(CONTEXT[1][0], CONTEXT[2][0])["input_ids"]
    assert ids(inputs)[0] == [*target, 2, *both[1:]]


def test_the_nearest_context_is_kept_and_the_target_is_cut_last(bert: Any) -> None:
    texts, before, after = ["cat dog"] * 3, ["one two three four"] * 2 + ["four"], ["six seven eight nine"] * 3
    inputs = encode_context(bert, frame(bert), texts, before, after, max_tokens=11)
    assert tokens(bert, inputs) == [
        "[CLS] cat dog [SEP] two three four [SEP] six seven [SEP]",
        "[CLS] cat dog [SEP] two three four [SEP] six seven [SEP]",
        "[CLS] cat dog [SEP] four [SEP] six seven eight nine [SEP]",
    ]
    assert inputs.cut.tolist() == [3, 3, 0]
    assert inputs.counts.tolist() == [10, 10, 7]
    inputs = encode_context(bert, frame(bert), texts, before, after, max_tokens=6)
    assert tokens(bert, inputs)[0] == "[CLS] cat dog [SEP] [SEP] [SEP]"
    inputs = encode_context(bert, frame(bert), texts, before, after, max_tokens=5)
    assert tokens(bert, inputs)[0] == "[CLS] cat [SEP] [SEP] [SEP]"
    assert inputs.cut[0] == 9


def test_words_tell_which_tokens_are_theirs(bert: Any, roberta_of_words: Any) -> None:
    for tokenizer in (bert, roberta_of_words):
        _check_words(tokenizer)


def _check_words(tokenizer: Any) -> None:
    texts = [["cat", "Xy", "dog"], [], ["sat"]]
    inputs = encode_words(tokenizer, frame(tokenizer), texts, max_tokens=50)
    assert inputs.words is not None
    for own, words, row in zip(texts, inputs.words, ids(inputs), strict=True):
        assert len(words) == len(row)
        assert (words[0], words[-1]) == (-1, -1)
        for i, word in enumerate(own):
            inside = [t for t, w in zip(row, words, strict=True) if w == i]
            assert inside
            assert tokenizer.decode(inside).strip().lower() == word.lower()
        first = first_tokens(words)
        assert words[first].tolist() == list(range(len(own)))
        assert all(words[place - 1] != words[place] for place in first)


def test_words_of_byte_level_tokenizers_are_read_as_within_a_text(roberta: Any, roberta_of_words: Any) -> None:
    inputs = encode_words(roberta_of_words, frame(roberta_of_words), [["the", "cat", "sat"]], max_tokens=50)
    assert ids(inputs)[0] == roberta(" the cat sat")["input_ids"] != roberta("the cat sat")["input_ids"]


def test_targets_of_words_lie_on_their_first_tokens(bert: Any) -> None:
    inputs = encode_words(bert, frame(bert), [["cat", "qq", "dog"]], max_tokens=50)
    assert inputs.words is not None
    assert tokens(bert, inputs) == ["[CLS] cat q ##q dog [SEP]"]
    assert inputs.words[0].tolist() == [-1, 0, 1, 1, 2, -1]
    assert first_tokens(inputs.words[0]).tolist() == [1, 2, 4]
    assert spread(inputs.words[0], [7, 8, 9], -100).tolist() == [-100, 7, 8, -100, 9, -100]


def test_words_behind_the_window_are_in_another_one(bert: Any) -> None:
    inputs = encode_words(bert, frame(bert), [["cat", "qq", "dog"], ["cat"]], max_tokens=4)  # cat q ##q dog
    assert inputs.words is not None
    assert inputs.documents is not None
    assert inputs.n_words is not None
    assert [words.tolist() for words in inputs.words] == [[-1, 0, 1, -1], [-1, -1, 0, -1], [-1, 0, -1]]
    assert inputs.documents.tolist() == [0, 0, 1]
    assert inputs.n_words.tolist() == [2, 1, 1]
    assert inputs.cut.tolist() == [0, 0, 0]
    labels = labels_of_windows(inputs, [np.array([7, 8, 9]), np.array([5])])
    assert [own.tolist() for own in labels] == [[7, 8], [9], [5]]
    assert [spread(words, own, -100).tolist() for words, own in zip(inputs.words, labels, strict=True)] == [
        [-100, 7, 8, -100], [-100, -100, 9, -100], [-100, 5, -100],
    ]  # fmt: skip
    nothing = labels_of_windows(inputs, [np.zeros(0, np.int64), np.array([5])])
    assert [len(own) for own in nothing] == [0, 0, 1]


def test_a_word_the_tokenizer_makes_nothing_of_has_no_token(bert: Any) -> None:
    inputs = encode_words(bert, frame(bert), [["cat", "\u200b", "", "dog"]], max_tokens=20)
    assert inputs.words is not None
    assert inputs.words[0].tolist() == [-1, 0, 3, -1]
    assert spread(inputs.words[0], [5, 6, 7, 8], -100).tolist() == [-100, 5, 8, -100]


def test_two_words_that_follow_with_the_same_number_are_one() -> None:
    assert first_tokens(np.array([0, 0, 1, -1], np.int32)).tolist() == [0, 2]
    assert first_tokens(np.zeros(0, np.int32)).tolist() == []


def test_lone_surrogates_are_read_as_question_marks(bert: Any) -> None:
    own = frame(bert)
    odd, plain = "cat \ud83d dog", "cat ? dog"
    assert ids(encode(bert, own, [odd], max_tokens=20)) == ids(encode(bert, own, [plain], max_tokens=20))
    assert ids(encode(bert, own, ["a"], [odd], max_tokens=20)) == ids(encode(bert, own, ["a"], [plain], max_tokens=20))
    words = encode_words(bert, own, [[odd]], max_tokens=20)
    assert ids(words) == ids(encode_words(bert, own, [[plain]], max_tokens=20))


def test_no_texts_at_all(bert: Any) -> None:
    own = frame(bert)
    for inputs in (
        encode(bert, own, [], max_tokens=8),
        encode(bert, own, [], [], max_tokens=8),
        encode_context(bert, own, [], [], [], max_tokens=8),
        encode_words(bert, own, [], max_tokens=8),
    ):
        assert inputs.starts.tolist() == [0]
        assert len(inputs.flat) == len(inputs.lengths) == len(inputs.counts) == len(inputs.cut) == 0


def test_more_texts_than_are_read_at_once(bert: Any) -> None:
    texts = [WORDS[i % len(WORDS)] for i in range(2500)]
    found = encode(bert, frame(bert), texts, texts[::-1], max_tokens=8)
    assert found.lengths.tolist() == [5] * 2500
    assert tokens(bert, found)[2400] == f"[CLS] {texts[2400]} [SEP] {texts[99]} [SEP]"
    words = encode_words(bert, frame(bert), [[text] for text in texts], max_tokens=8)
    assert words.words is not None
    assert len(words.words) == 2500


def test_lists_of_different_lengths_are_a_bug(bert: Any) -> None:
    with pytest.raises(ValueError, match="zip"):
        encode(bert, frame(bert), ["a", "b"], ["a"], max_tokens=9)


def test_a_window_without_room(bert: Any) -> None:
    own = frame(bert)
    for call in (
        lambda n: encode(bert, own, ["a"], max_tokens=n),
        lambda n: encode(bert, own, ["a"], ["b"], max_tokens=n + 1),
        lambda n: encode_context(bert, own, ["a"], [""], [""], max_tokens=n + 2),
        lambda n: encode_words(bert, own, [["a"]], max_tokens=n),
    ):
        assert call(3).lengths[0] > 2
        with refuses("max_tokens"):
            call(2)


@repeatable
@given(st.lists(st.integers(0, 4), max_size=40), st.integers(1, 12), st.integers(0, 12))
def test_each_word_is_one_windows_own_and_its_first_token_is_there(pieces: list[int], room: int, overlap: int) -> None:
    words = np.repeat(np.arange(len(pieces)), pieces).astype(np.int32)
    windows = word_windows(words, len(pieces), room, overlap)
    assert [w for _, first, end in windows for w in range(first, end)] == list(range(len(pieces)))
    covered = {t for at, _, _ in windows for t in range(at, min(at + room, len(words)))}
    assert covered == set(range(len(words)))
    for at, first, end in windows:
        for w in range(first, end):
            if pieces[w]:
                assert at <= int(np.flatnonzero(words == w)[0]) < at + room
