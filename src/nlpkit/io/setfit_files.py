"""Folders of the setfit library: read without running what their pickle asks for, and written so that the library loads them."""

from __future__ import annotations

import io
import json
import pickle
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.classify.model import two_sided
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.embedder import Embedder
from nlpkit.finetune.heads import linear_head
from nlpkit.finetune.setfit import SetFitModel

CONFIG, HEAD = "config_setfit.json", "model_head.pkl"

_CLASSES = {
    ("sklearn.linear_model._logistic", "LogisticRegression"),
    ("sklearn.linear_model.logistic", "LogisticRegression"),
    ("sklearn.multiclass", "OneVsRestClassifier"),
    ("sklearn.multiclass", "_ConstantPredictor"),
    ("sklearn.multioutput", "MultiOutputClassifier"),
    ("sklearn.preprocessing._label", "LabelBinarizer"),
    ("sklearn.preprocessing.label", "LabelBinarizer"),
    ("setfit.modeling", "SetFitHead"),
    ("torch.nn.modules.linear", "Linear"),
    ("torch._utils", "_rebuild_parameter"),
    ("torch._utils", "_rebuild_tensor_v2"),
    ("torch.storage", "_load_from_bytes"),
    ("collections", "OrderedDict"),
    ("joblib.numpy_pickle", "NumpyArrayWrapper"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
}


def is_setfit_folder(path: Path) -> bool:
    """Whether the setfit library wrote this folder, or could have."""
    return (path / HEAD).is_file()


def read_setfit_head(path: Path, names: Sequence[str] | None = None) -> SetFitModel:
    """Return the classifier of a setfit folder; its encoder is the sentence-transformers folder `path` itself.

    model_head.pkl is a pickle. It is read as a list of what it would make: the few classes it may name are empty stand-ins, so
    nothing in it can run. Heads: logistic regression, one-vs-rest or multi-output ones of it (several labels), SetFitHead.

    Args:
        names: of the outputs of the head, in their order, in place of those the folder has.

    Raises:
        InputError: a file that is not there or is damaged, another class in the pickle, or a head that nlpkit does not have;
        UsageError: other than a name for each output.
    """
    config = _read_config(path / CONFIG)
    try:
        data = (path / HEAD).read_bytes()
    except OSError as error:
        raise InputError(f"{path} is no setfit folder: {HEAD} cannot be read ({error.strerror})") from None
    root = _interpret(data, path / HEAD)
    labels = config.get("labels")
    try:
        coef, intercept, classes, several, kind = _head(root, path / HEAD)
        if names is not None and len(names) != len(intercept):
            raise UsageError(f"--labels names {len(names)} classes, the model in {path} has {len(intercept)}")
        if names is None:
            names = [_name(c, labels) for c in (range(len(intercept)) if classes is None else classes)]
        if len(set(names)) != len(names) or coef.shape[1:] != intercept.shape or len(names) != len(intercept):
            raise InputError(f"{path / HEAD} and {CONFIG} do not fit: {len(names)} labels, coef_ of shape {coef.shape}")
    except (InputError, UsageError, MemoryError):
        raise
    except Exception as error:  # damaged bytes fail in many ways, torch's own among them
        raise InputError(
            f"{path / HEAD} holds no fitted head ({type(error).__name__}: {error}); save it again"
        ) from None
    return SetFitModel(
        tuple(names), linear_head(coef, intercept, multiple=several), bool(config.get("normalize_embeddings")), kind
    )


def write_setfit_folder(path: Path, embedder: Embedder, model: SetFitModel) -> None:
    """Write a folder that setfit's `SetFitModel.from_pretrained` loads. It holds a pickle, as that library wants it.

    Raises:
        UsageError: a single label that documents may or may not have, which scikit-learn's one-vs-rest does not know.
    """
    import joblib  # type: ignore[import-untyped, unused-ignore]

    head = _scikit_head(model)
    embedder.save(path)
    config = {"labels": list(model.names), "normalize_embeddings": model.normalize}
    (path / CONFIG).write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    joblib.dump(head, path / HEAD)


def _read_config(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not JSON ({error})") from None
    labels = found.get("labels") if isinstance(found, dict) else 0
    if not (labels is None or isinstance(labels, list)):
        raise InputError(f"{path}: labels was to be a list or null, found {labels!r}")
    return dict(found)


def _name(value: Any, labels: list[Any] | None) -> str:
    """Return the label of a class: itself, if it is a string, else that of its number in the config."""
    if isinstance(value, str):
        return str(value)
    if labels is None:
        return str(value)
    if not 0 <= int(value) < len(labels):
        raise InputError(
            f"{CONFIG} has no label for class {int(value)} of {HEAD} (it has {len(labels)}); save the model again"
        )
    return str(labels[int(value)])


# what a pickle would make


class _Inert:
    """What a pickle names, as a name with what it was called with and the state it was given."""

    name = ""
    args: tuple[Any, ...] = ()
    state: Any = None

    def __new__(cls, *args: Any) -> _Inert:
        own = object.__new__(cls)
        own.args = args
        return own

    def __init__(self, *args: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:  # an OrderedDict
        self.state = {**(self.state or {}), key: value}

    def __getitem__(self, key: Any) -> Any:
        return self.state[key]


def _interpret(data: bytes, path: Path) -> Any:
    """Return what a pickle of joblib describes: plain values, and an `_Inert` for each object."""
    if data[:1] != b"\x80":
        raise InputError(
            f"{path} is no plain pickle of joblib; save the model again with joblib.dump without compression"
        )
    file = io.BytesIO(data)
    try:
        return _reader(file, path).load()
    except InputError:
        raise
    except Exception as error:  # a damaged pickle fails in many ways
        raise InputError(f"{path} is damaged: {type(error).__name__}: {error}") from None


def _reader(file: io.BytesIO, path: Path) -> Any:
    """Return an unpickler that knows stand-ins only; they are made for this file, so that it can alter no others."""

    class Array(_Inert):
        """An array of joblib, whose bytes follow in the file."""

        def __setstate__(self, state: Any) -> None:
            self.state = (_following(file, state, path),)

    made: dict[str, type[_Inert]] = {"NumpyArrayWrapper": Array}

    # the one in Python, as joblib's: it reads no further than it must
    class Reader(pickle._Unpickler):  # type: ignore[misc, name-defined, unused-ignore]
        def find_class(self, module: str, name: str) -> Any:
            if (module, name) not in _CLASSES:
                raise InputError(
                    f"{path} asks for {module}.{name}, which no head of setfit needs; nothing was run. Use a model that "
                    "you trust, or train it again"
                )
            found = made.setdefault(name, type(name, (_Inert,), {}))
            found.name = name
            return found

        def persistent_load(self, pid: Any) -> Any:
            raise InputError(f"{path} asks for an object outside of the file; save it again")

        def get_extension(self, code: int) -> Any:
            raise InputError(f"{path} asks for extension {code} of this Python; save it again")

    return Reader(file)


def _following(file: io.BytesIO, state: Mapping[str, Any], path: Path) -> Any:
    """Return the array (as values) whose bytes, or whose pickle, are next in the file."""
    dtype = _dtype(state["dtype"])
    if dtype.hasobject:
        return _array(_reader(file, path).load())
    if state.get("numpy_array_alignment_bytes") is not None:
        file.read(file.read(1)[0])
    shape = tuple(int(n) for n in state["shape"])
    size = dtype.itemsize
    for n in shape:
        size *= n
    if min(shape, default=0) < 0 or size > len(file.getbuffer()) - file.tell():
        raise InputError(f"{path} is cut off: an array of shape {shape} does not fit into it")
    return np.frombuffer(file.read(size), dtype).reshape(shape, order="F" if state["order"] == "F" else "C")


def _dtype(own: Any) -> np.dtype[Any]:
    found = np.dtype(str(own.args[0]))
    if found.kind not in "biufUO":
        raise InputError(f"an array of type {found} is in no head of setfit")
    swapped = bool(own.state) and own.state[1] == (">" if sys.byteorder == "little" else "<")
    return found.newbyteorder("S") if swapped else found


def _array(own: Any) -> Any:
    """Return what a stand-in of an array, of a number or of a tensor stands for."""
    if not isinstance(own, _Inert):
        return own
    if own.name == "NumpyArrayWrapper" or type(own).__name__ == "Array":
        return own.state[0]
    if own.name == "_reconstruct":
        _, shape, dtype, fortran, data = own.state
        kind = _dtype(dtype)
        if isinstance(data, list):
            return np.array([str(v) if isinstance(v, str) else int(v) for v in data], object).reshape(shape)
        return np.frombuffer(data, kind).reshape(shape, order="F" if fortran else "C")
    if own.name == "scalar":
        return np.frombuffer(own.args[1], _dtype(own.args[0]))[0]
    if own.name == "_rebuild_parameter":
        return _array(own.args[0])
    if own.name == "_rebuild_tensor_v2":
        return _tensor(own)
    raise ValueError(f"{own.name} is no array")


def _tensor(own: Any) -> Any:
    import torch

    storage, offset, size, stride = own.args[:4]
    # torch's own reader of weights runs nothing either
    flat = torch.load(io.BytesIO(storage.args[0]), map_location="cpu", weights_only=True)
    numbers = flat._untyped_storage
    last = int(offset) + sum((int(n) - 1) * int(step) for n, step in zip(size, stride, strict=True))
    if last >= numbers.nbytes() // flat.dtype.itemsize:
        raise ValueError("a tensor is larger than its numbers")
    whole = torch.tensor([], dtype=flat.dtype).set_(numbers, int(offset), tuple(size), tuple(stride))
    return whole.numpy().copy()


# heads


def _head(own: Any, path: Path) -> tuple[Any, Any, Any, bool, str]:
    """Return coef (E, J), intercept (J,), classes or None for 0 … J-1, whether a document has several labels, and the kind."""
    kind = own.name if isinstance(own, _Inert) else type(own).__name__
    if kind == "LogisticRegression":
        coef, intercept, classes = _logistic(own)
        if len(classes) > 2 and (own.state.get("multi_class") == "ovr" or own.state.get("solver") == "liblinear"):
            raise InputError(
                f"{path}: a logistic regression of each class against the rest; nlpkit reads multinomial ones"
            )
        if len(classes) == 2:
            both = two_sided("logreg", coef[:, 0], float(intercept[0]), "softmax")
            coef, intercept = both.coef, both.intercept
        return coef, intercept, classes, False, "logistic"
    if kind in ("OneVsRestClassifier", "MultiOutputClassifier"):
        binarizer = own.state.get("label_binarizer_")
        if binarizer is not None and binarizer.state.get("y_type_", "multilabel-indicator") != "multilabel-indicator":
            raise InputError(
                f"{path}: one-vs-rest with a single label a document; nlpkit reads logistic regressions of all classes"
            )
        coef, intercept = zip(*(_binary(e, path) for e in own.state["estimators_"]), strict=True)
        E = max(len(c) for c in coef)
        return np.stack([np.resize(c, E) for c in coef], axis=1), np.array(intercept), None, True, "logistic"
    if kind == "SetFitHead":
        linear = own.state["_modules"]["linear"].state["_parameters"]
        scale = float(own.state["temperature"]) + float(own.state["eps"])
        coef = np.asarray(_array(linear["weight"]), np.float64).T / scale
        bias = (
            np.zeros(coef.shape[1])
            if linear.get("bias") is None
            else np.asarray(_array(linear["bias"]), np.float64) / scale
        )
        return coef, bias, None, bool(own.state["multitarget"]), "differentiable"
    raise InputError(
        f"{path}: the head is a {kind}; nlpkit reads LogisticRegression, OneVsRestClassifier, MultiOutputClassifier, SetFitHead"
    )


def _logistic(own: Any) -> tuple[Any, Any, list[Any]]:
    state = own.state
    coef = np.asarray(_array(state["coef_"]), np.float64).T
    intercept = np.asarray(_array(state["intercept_"]), np.float64)
    return coef, np.broadcast_to(intercept, coef.shape[1:]), _array(state["classes_"]).tolist()


def _binary(own: Any, path: Path) -> tuple[Any, float]:
    """Return weights (E,) and intercept of one label; of one that all or no documents had, a large constant."""
    if own.name == "_ConstantPredictor":
        return np.zeros(1), 1e4 if _array(own.state["y_"]).item() else -1e4
    coef, intercept, classes = _logistic(own)
    if [int(c) for c in classes] != [0, 1]:
        raise InputError(f"{path}: the classes of one label are {classes}, needed 0 and 1")
    return coef[:, 0], float(intercept[0])


def _scikit_head(model: SetFitModel) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer

    def regression(coef: Any, intercept: Any, n_classes: int) -> Any:
        own = LogisticRegression()
        own.coef_, own.intercept_ = np.ascontiguousarray(coef.T), np.array(intercept)
        own.classes_, own.n_features_in_ = np.arange(n_classes), coef.shape[0]
        own.n_iter_ = np.zeros(1, np.int32)
        return own

    coef, intercept = model.linear.coef, model.linear.intercept
    J = len(model.names)
    if not model.multiple:
        if J > 2:
            return regression(coef, intercept, J)
        return regression(coef[:, 1:] - coef[:, :1], intercept[1:] - intercept[:1], 2)
    if J < 2:
        raise UsageError(
            f"setfit's format has no place for a single label ('{model.names[0]}') that documents may lack"
        )
    own = OneVsRestClassifier(LogisticRegression())
    own.estimators_ = [regression(coef[:, j : j + 1], intercept[j : j + 1], 2) for j in range(J)]
    own.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(np.eye(J, dtype=np.int64))
    own.classes_ = own.label_binarizer_.classes_
    own.n_features_in_ = len(coef)
    return own
