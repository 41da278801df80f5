"""The copy of py3langid's model in the user's cache: the same answers, and the package's own model where there is no whole copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from nlpkit.text.language import cache_folder, language_identifier

TEXTS = [
    "The court fined the bank for selling loans it knew to be bad.",
    "Das Gericht verurteilte die Bank zu einer Strafe.",
    "Суд оштрафовал банк за кредиты.",
    "裁判所は銀行に罰金を科した。",
    "la",
    "",
]


@pytest.fixture(scope="module")
def packaged() -> Any:
    return LanguageIdentifier.from_model_file(MODEL_FILE)


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packaged: Any) -> Path:
    """A copy of the model in a cache of its own; the package's model is not read to make it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(LanguageIdentifier, "from_model_file", lambda name: packaged)
        assert language_identifier() is packaged
    (copy,) = (tmp_path / "nlpkit").iterdir()
    return copy


def test_a_copy_gives_the_same_scores(copied: Path, packaged: Any) -> None:
    identifier = language_identifier()
    assert identifier is not packaged
    assert [identifier.rank(text) for text in TEXTS] == [packaged.rank(text) for text in TEXTS]
    assert copied.stat().st_size < 10_000_000


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_copy_is_made_anew(damage: str, copied: Path, packaged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = copied.read_bytes()
    at = len(whole) // 2
    copied.write_bytes(whole[:at] if damage == "cut" else whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    monkeypatch.setattr(LanguageIdentifier, "from_model_file", lambda name: packaged)
    assert language_identifier() is packaged
    assert copied.read_bytes() == whole


def test_where_nothing_can_be_kept_the_package_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packaged: Any
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(LanguageIdentifier, "from_model_file", lambda name: packaged)
    assert language_identifier() is packaged
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_folder_is_that_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the specification says to ignore
    assert cache_folder() == Path.home() / ".cache" / "nlpkit"


def test_a_user_without_a_home_has_no_copy(monkeypatch: pytest.MonkeyPatch, packaged: Any) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    monkeypatch.setattr(LanguageIdentifier, "from_model_file", lambda name: packaged)
    assert cache_folder() is None
    assert language_identifier() is packaged
