"""Words of scripts without spaces."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from nlpkit.errors import MissingError
from nlpkit.text import segment as segment_module
from nlpkit.text.segment import characters, ngrams, segmenter, words_hint
from tests.refusals import refuses

SENTENCE = "姚明进入总决赛"  # lecture L1080: Yao Ming reaches the finals


def needs(*modules: str) -> None:
    for module in modules:
        pytest.importorskip(module)


def test_the_sentence_of_the_lecture() -> None:
    needs("jieba")
    assert segmenter("words", ["zh"])(SENTENCE) == ["姚明", "进入", "总决赛"]
    assert segmenter("characters")(SENTENCE) == list(SENTENCE)
    assert segmenter("ngrams")(SENTENCE) == ["姚明", "明进", "进入", "入总", "总决", "决赛"]


def test_auto_depends_on_no_package() -> None:
    assert segmenter("auto", ["zh", "ja", "th"]) is ngrams


@pytest.mark.parametrize(
    ("run", "terms"),
    [
        ("自然语言", ["自然", "然语", "语言"]),
        ("我", ["我"]),
        ("コーヒーを飲む", ["コーヒー", "飲"]),
        ("東京タワー", ["東京", "タワー"]),
        ("カ", []),
        ("ひらがな", []),
        ("ภาษาไทย", ["ภาษ", "าษา", "ษาไ", "าไท", "ไทย"]),
    ],
)
def test_ngrams(run: str, terms: list[str]) -> None:
    assert ngrams(run) == terms


def test_characters_keep_their_marks() -> None:
    assert characters("ที่นี่") == ["ที่", "นี่"]
    assert characters("東京の") == ["東", "京", "の"]
    assert characters("") == []


def test_japanese() -> None:
    needs("fugashi", "unidic_lite")
    words = segmenter("words", ["ja"])
    assert words("東京都に行きました") == ["東京", "都", "に", "行き", "まし", "た"]
    assert words("消費税") == ["消費", "税"]  # Han alone, in a Japanese corpus


def test_han_alone_is_chinese_unless_the_corpus_is_japanese() -> None:
    needs("jieba", "fugashi", "unidic_lite")
    run = "经济发展"
    assert segmenter("words", ["zh"])(run) == segmenter("words", [])(run) == segmenter("words", ["ja", "zh"])(run)
    assert segmenter("words", ["zh"])(run) == ["经济", "发展"]
    assert segmenter("words", ["zh"])("東京に行く") == ["東京", "に", "行く"]  # Kana: Japanese as a whole


def test_thai_and_its_neighbours() -> None:
    needs("pythainlp")
    words = segmenter("words", ["th"])
    assert words("ภาษาไทยเป็นภาษา") == ["ภาษาไทย", "เป็น", "ภาษา"]
    assert words("ພາສາລາວ") == ngrams("ພາສາລາວ")  # Lao: no segmenter


@pytest.mark.parametrize("code", ["zh", "ja", "th"])
def test_a_missing_extra_is_said_before_the_first_text(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_module, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match=r"needs the extra 'asian'.*pip install") as error:
        segmenter("words", ["en", code])
    assert error.value.exit_code == 4
    assert segmenter("words", ["en"])  # nothing is needed before a run is met


def test_unknown_names() -> None:
    with refuses("segment"):
        segmenter("jieba")


def test_segmenters_write_nothing_anywhere(tmp_path: Path) -> None:
    """jieba would log to stderr and keep a cache in the temporary folder; pythainlp would make a folder at home."""
    needs("jieba", "pythainlp", "fugashi", "unidic_lite")
    code = "from nlpkit.text.segment import segmenter as s\nw = s('words', ['zh', 'th'])\nw('姚明进入'), w('ภาษา'), w('行く')"
    places = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHAINLP_DATA": ""}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env={**os.environ, **places}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
    assert Path(tempfile.gettempdir()) != tmp_path


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert words_hint(["en", "lo"]) == ""
    monkeypatch.setattr("nlpkit.text.segment.find_spec", lambda name: None if name == "pythainlp" else name)
    assert words_hint(["zh", "en"]) == "`segment=words` splits them into words"
    assert words_hint(["zh", "th"]).startswith("`segment=words` splits them into words; first: pip install")
