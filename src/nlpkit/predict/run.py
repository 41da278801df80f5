"""Models that were saved, of every kind, and their predictions for new documents."""

from __future__ import annotations

from pathlib import Path

from nlpkit.errors import SchemaError
from nlpkit.platform.models import MODELS, resolved, topic_kinds
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.nlpkit_files import is_arpa
from nlpkit.platform.runs.runs import open_run
from nlpkit.predict.model import FittedModel

# kind of the manifest → the function that loads such a model: (path: Path, execution: Execution) -> FittedModel; topic models declare it
KINDS = {
    "classify": "nlpkit.classify.model:load_classifier",
    "finetune": "nlpkit.finetune.model:load_finetuned",
    "finetune-comparison": "nlpkit.finetune.model:load_finetuned",
    "ngram-lm": "nlpkit.lm.run:load_language_model",
}
_NEITHER = "which gives documents neither topics nor classes"
_AS_MODEL = ", with this run as its model"
# kind → what such a run is, and the command that uses it
WITHOUT_PREDICTIONS = {
    "lsa": f"a run of tfidf `lsa`, {_NEITHER}; give new documents to tfidf{_AS_MODEL}",
    "pca": f"a run of tfidf `pca`, {_NEITHER}; give new documents to tfidf{_AS_MODEL}",
    "embed-words": f"a run of word vectors, {_NEITHER}; give it to words{_AS_MODEL}",
    "finetune-causal": "a causal language model, which answers rather than predicts; see its model card for how other programs load it",
    "finetune-encoder": f"a sentence encoder, {_NEITHER}; give new documents to sbert-embed{_AS_MODEL}",
    "pretrain": f"a language model from scratch, {_NEITHER}; give new documents to sbert-embed{_AS_MODEL}",
    "scale": f"a run of scale, {_NEITHER}; give old and new documents to scale together",
    "tokenizer": f"a tokenizer, {_NEITHER}; give it to pretrain `tokenizer`{_AS_MODEL}",
}
ARPA = "nlpkit.lm.run:load_arpa_file"
FOREIGN = "nlpkit.finetune.model:load_finetuned"  # the function that loads a folder of another program


def load(path: str | Path, execution: Execution | None = None) -> FittedModel:
    """Return the model of a run directory, or of an ARPA file.

    Raises:
        InputError: there is no run, or it is damaged; SchemaError: it is of a kind that cannot predict, or of a newer nlpkit.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> model = nk.load(run)
        >>> model.predict(["money and debt"]).column_names[:3]
        ['id', 'text', 'topic']
    """
    folder, execution = Path(path), execution or Execution()
    if is_arpa(folder) and not folder.is_dir():
        return _loaded(ARPA, folder, execution)
    if folder.is_dir() and not (folder / MANIFEST).is_file():
        return _loaded(FOREIGN, folder, execution)
    if (folder / MANIFEST).is_file():
        kind = str(open_run(folder, verify=False).manifest["kind"])
        if kind in WITHOUT_PREDICTIONS:
            raise SchemaError(f"{folder} is {WITHOUT_PREDICTIONS[kind]}")
    kind = str(open_run(folder, (*topic_kinds(), *KINDS), verify=False).manifest["kind"])
    return _loaded(KINDS[kind] if kind in KINDS else MODELS[kind].load, folder, execution)


def _loaded(name: str, folder: Path, execution: Execution) -> FittedModel:
    model: FittedModel = resolved(name)(folder, execution)
    return model
