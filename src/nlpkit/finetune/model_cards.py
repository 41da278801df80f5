"""The model card: what a model was trained on, how, how good it is, and how other programs load it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nlpkit.classify.scores import ClassifierScores
from nlpkit.finetune.data.dataset import FinetuneDataset
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.platform import wording
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.markdown import table
from nlpkit.version import __version__

_LIBRARIES = {
    "transformers": "transformers",
    "classifier": "sentence-transformers",
    "peft": "peft",
    "mean": "peft",
    "adapter": "nlpkit",
    "setfit": "sentence-transformers",
    "patterns": "transformers",
}
_LOAD = {
    "transformers": "from transformers import Auto{kind}, AutoTokenizer\nmodel = Auto{kind}.from_pretrained(\"{folder}\")\n"
    "tokenizer = AutoTokenizer.from_pretrained(\"{folder}\")",
    "peft": "from transformers import Auto{kind}, AutoTokenizer\nfrom peft import PeftModel\n"
    "# {base}, weights of sha256 {sha256}…: this name on the hub, or a folder with the same weights\n"
    "base = Auto{kind}.from_pretrained(\"{base}\"{outputs})\nmodel = PeftModel.from_pretrained(base, \"{folder}\")\n"
    "tokenizer = AutoTokenizer.from_pretrained(\"{base}\")",
    "classifier": "from sentence_transformers import SentenceTransformer\nmodel = SentenceTransformer(\"{folder}\")\n"
    "logits = model.encode(texts)  # of {names}",
    "mean": "import torch\nfrom peft import PeftModel\nfrom safetensors.torch import load_file\n"
    "from transformers import AutoModel, AutoTokenizer\n"
    "# {base}, weights of sha256 {sha256}…: this name on the hub, or a folder with the same weights\n"
    "model = PeftModel.from_pretrained(AutoModel.from_pretrained(\"{base}\"), \"{folder}\").eval()\n"
    "tokens = AutoTokenizer.from_pretrained(\"{base}\")(texts, padding=True, truncation=True, return_tensors=\"pt\")\n"
    "states, seen = model(**tokens).last_hidden_state, tokens[\"attention_mask\"]\n"
    "seen = torch.nn.functional.pad(seen, (states.shape[1] - seen.shape[1], 0), value=1)[..., None]\n"
    "head = load_file(\"{folder}/head.safetensors\")\n"
    "logits = (states * seen).sum(1) / seen.sum(1) @ head[\"weight\"].T + head[\"bias\"]  # of {names}",
    "setfit": "from sentence_transformers import SentenceTransformer\nencoder = SentenceTransformer(\"{folder}\")  # head.safetensors: "
    "the classifier on its embeddings",
}  # fmt: skip
_ORDINAL = (
    "The outputs are the log-odds that the class is above the first, the second …; the prediction is the median class, the first whose "
    "output is not above 0, or the last."
)
_CRF = (
    "The labels are the most probable sequence by a linear-chain CRF (`crf.safetensors`: start, transitions, end), which transformers and "
    "peft do not have: what they load gives the scores of each word alone. Predict with nlpkit."
)
_PIPELINES = {"tokens": "token-classification", "answer": "question-answering"}
_CLASSES = {"tokens": "ModelForTokenClassification", "answer": "ModelForQuestionAnswering"}
_PACKAGES = ("torch", "transformers", "peft", "sentence-transformers", "tokenizers")


def write_cards(
    model: Path,
    scores: ClassifierScores,
    parameters: Mapping[str, Any],
    dataset: FinetuneDataset,
    inputs: Sequence[InputInfo],
    spread: Mapping[str, Any] | None,
    leaks: Sequence[str],
    calibration: Mapping[str, Any] | None = None,
) -> None:
    """Write README.md into every folder of a model.

    Args:
        spread: means and deviations over the seeds, None for one. leaks: what is known of documents in more than one split.
        calibration: see `FinetuneResult.calibration`.
    """
    for folder in sorted(p for p in model.iterdir() if p.is_dir()):
        text = card(folder.name, scores, parameters, dataset, inputs, spread, leaks, calibration)
        (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")


def calibration_note(calibration: Mapping[str, Any]) -> str:
    """Return what a temperature did to the calibration error of test documents."""
    return (
        f"temperature {calibration['temperature']:.3g}, fitted to {wording.counted(calibration['dev_documents'], 'dev document')} "
        f"(Guo et al. 2017): ECE {calibration['ece_before']:.4f} before, {calibration['ece']:.4f} after"
    )


def card(
    name: str, scores: ClassifierScores, parameters: Mapping[str, Any], dataset: FinetuneDataset, inputs: Sequence[InputInfo],
    spread: Mapping[str, Any] | None, leaks: Sequence[str], calibration: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """Return the model card of a folder in Markdown, with the head that hubs read."""
    facts = parameters["training"]
    kind = dataset.kind
    base = parameters["base"]
    pooled = parameters["learning"]["pooling"] == "mean" and not facts["method"].startswith("tfew")
    form = {"merged": "classifier" if pooled else "transformers", "peft": "mean" if pooled else "peft"}.get(name, name)
    head = {
        "library_name": _LIBRARIES[form],
        "base_model": base,
        "pipeline_tag": _PIPELINES.get(kind, "text-classification"),
        "tags": ["nlpkit", facts["method"]],
    }
    lines = ["---", *(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()), "---", ""]
    lines += [f"# {base}, fine-tuned: {facts['method']}", ""]
    classes = [str(c) for c in parameters["classes"]]
    task = FinetuneTask(kind, tuple(classes) if kind != "regression" else ())
    what = {
        "single": f"Gives a text one of {len(classes)} classes",
        "multi": f"Gives a text any of {len(classes)} labels",
        "ordinal": f"Gives a text one of {len(classes)} classes in an order, the lowest first",
        "regression": "Gives a text a number",
        "answer": "Finds the answer to a question in a text, which is read in windows",
        "tokens": f"Gives each word of a text one of {len(classes)} labels",
    }[kind]
    lines.append(
        f"{what}{'' if kind in ('regression', 'answer') else ': ' + ', '.join(classes[:30]) + (' …' if len(classes) > 30 else '')}."
    )
    lines += ["", "## Data", ""]
    for info in inputs:
        lines.append(f"- `{Path(info.path).name}`: {info.rows:,} rows, sha256 `{info.sha256[:16]}…`")
    n_test = sum(len(test) for _, test in dataset.rounds)
    tested = f"cross-validation in {dataset.n_folds} folds" if dataset.n_folds else f"{n_test:,} test documents"
    lines += [
        f"- {facts['training_documents']:,} documents to learn from; scores are from {tested}",
        *(f"- {leak}" for leak in leaks),
        "",
        "## Scores",
        "",
    ]
    lines += [_scores(scores, spread), "", "## Training", ""]
    if calibration is not None:
        lines.append(f"- {calibration_note(calibration)}; the last layer is divided by it")
    lines += [
        f"- {facts['trained_parameters']:,} of {facts['parameters']:,} parameters trained",
        f"- {facts['steps']:,} steps of {facts['batch_size']} documents, AdamW, rate {facts['lr']:g}, seed {facts['seed']}",
        f"- on {parameters['device']} ({parameters['precision']})",
        *_quantized(name, parameters),
        f"- nlpkit {__version__}, " + ", ".join(f"{p} {v}" for p in _PACKAGES if (v := _version(p))),
        *_patterns(facts.get("pet") or facts.get("tfew")),
        *_domain(facts.get("domain")),
        "",
        "## Use",
        "",
    ]
    place = "RUN/model/merged" if name == "merged" else "RUN"
    lines += ["```sh", shell_line("nlpkit", "predict", place, "NEW.jsonl", "-o", "predictions.parquet"), "```"]
    lines += _loading(name, form, task, parameters)
    if kind == "ordinal":
        lines += ["", _ORDINAL]
    if dataset.crf:
        lines += ["", _CRF]
    return "\n".join(lines) + "\n"


def _loading(name: str, form: str, task: FinetuneTask, parameters: Mapping[str, Any]) -> list[str]:
    """Return how the model of a folder is loaded without nlpkit, nothing where it cannot be."""
    lines: list[str] = []
    base = parameters["base"]
    if form in _LOAD:
        decoder = parameters["training"]["method"].startswith("tfew")
        auto = "ModelForSeq2SeqLM" if decoder else _CLASSES.get(task.kind, "ModelForSequenceClassification")
        code = _LOAD[form].format(
            kind=auto,
            folder=f"RUN/model/{name}",
            base=base,
            names=", ".join(task.output_names),
            sha256=str(parameters.get("base_sha256"))[:16],
            outputs=""
            if decoder
            else ", num_labels=1"
            if task.kind == "regression"
            else f", num_labels={task.n_outputs}, id2label={dict(enumerate(task.output_names))!r}",
        )
        lines += ["", "```python", code, "```"]
        if form == "classifier" and name == "peft":
            lines += [
                "",
                f"The adapter is one of peft, and its base {base}: this name on the hub, or a folder with the same weights.",
            ]
    return lines


def _patterns(pet: Mapping[str, Any] | None) -> list[str]:
    """Return lines about the patterns of PET, and the words that stand for the classes."""
    if pet is None:
        return []
    lines = [f"- pattern `{pattern['pattern']}`, weight {pattern['weight']:.3g}" for pattern in pet["patterns"]]
    lines += [f"- {label}: {', '.join(words)}" for label, words in pet["words"].items()]
    return [*lines, f"- {pet['unlabelled']:,} unlabelled texts"] if pet["unlabelled"] else lines


def _domain(domain: Mapping[str, Any] | None) -> list[str]:
    """Return a line about the texts that AdaSent learned a domain from."""
    if domain is None:
        return []
    way = "all weights" if domain["adapter"] == "full" else f"{domain['adapter']}, added to the weights"
    return [
        f"- before, {domain['steps']:,} steps on the masked words of {domain['texts']:,} texts ({way}; Huang et al. 2023)"
    ]


def _quantized(name: str, parameters: Mapping[str, Any]) -> list[str]:
    """Return a line on the quantised base that a model was trained on, where it was."""
    code = parameters.get("quantize")
    if code is None:
        return []
    way = f"{code} with double quantisation" if parameters["double_quant"] else str(code)
    source = (
        "rows of integers (LLM.int8(), Dettmers et al. 2022)"
        if code == "int8"
        else "blocks of 64 (QLoRA, Dettmers et al. 2023)"
    )
    line = f"- trained on a quantised base: the matrices of its layers were frozen in {way}, {source}."
    if name == "merged":
        inputs = (
            "; inputs are not rounded here, though they were in training, so outputs differ a little"
            if code == "int8"
            else ""
        )
        return [f"{line} The weights here are what these numbers stand for, with the updates added{inputs}"]
    return [
        f"{line} nlpkit quantises the base again when it predicts; on the base in full precision the outputs differ a little"
    ]


def write_encoder_cards(
    model: Path, objective: str, parameters: Mapping[str, Any], report: Mapping[str, Any], inputs: Sequence[InputInfo]
) -> None:
    """Write README.md into every folder of a trained encoder."""
    for folder in sorted(p for p in model.iterdir() if p.is_dir()):
        text = encoder_card(folder.name, objective, parameters, report, inputs)
        (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")


def encoder_card(
    name: str, objective: str, parameters: Mapping[str, Any], report: Mapping[str, Any], inputs: Sequence[InputInfo]
) -> str:
    """Return the model card of an encoder in Markdown."""
    base, facts = parameters["base"], report["training"]
    causal = objective in ("sft", "dpo")
    masked = name == "transformers" and not causal
    head = {
        "library_name": name,
        "base_model": base,
        "pipeline_tag": "text-generation" if causal else "fill-mask" if masked else "sentence-similarity",
        "tags": ["nlpkit", objective],
    }
    lines = ["---", *(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()), "---", ""]
    lines += [f"# {base}, trained on: {objective}", "", "## Data", ""]
    lines += [f"- `{Path(i.path).name}`: {i.rows:,} rows, sha256 `{i.sha256[:16]}…`" for i in inputs]
    lines += ["", "## Scores", ""]
    before, after = report["before"] or {}, report["after"] or {}
    rows = [
        [n, "–" if n not in before else wording.score_text(before[n]), wording.score_text(v)] for n, v in after.items()
    ]
    lines += [table(["test rows", "before", "after"], rows, right=["before", "after"]), "", "## Training", ""]
    if objective == "static":
        trained = f"- the vectors of the tokens were fitted to the vectors that {base} gives {facts['texts']:,} texts"
    else:
        trained = (
            f"- {objective} {dict(parameters['options'])}, {facts['steps']:,} steps of {facts['batch_size']}, rate {facts['lr']:g}, "
            f"seed {report['seed']}, {parameters['method']} ({facts['trained_parameters']:,} parameters)"
        )
    lines += [
        trained,
        f"- on {parameters['device']} ({parameters['precision']})",
        f"- nlpkit {__version__}, " + ", ".join(f"{p} {v}" for p in _PACKAGES if (v := _version(p))),
        "", "## Use", "", "```python" if causal else "```sh",
    ]  # fmt: skip
    if causal:
        form = "peft" if name == "peft" else "transformers"
        lines += [
            _LOAD[form].format(
                kind="ModelForCausalLM",
                folder=f"RUN/model/{name}",
                base=base,
                sha256=str(parameters["base_sha256"])[:16],
                outputs="",
            ),
            "```",
        ]
    elif masked:
        lines += ["nlpkit train-encoder MORE.jsonl --objective mlm --base RUN/model/transformers -o more/", "```"]
    elif name == "peft":
        lines += [
            shell_line("nlpkit", "finetune", "TRAIN.jsonl", "--method", "adasent(sept=RUN)", "--base", base),
            "```",
        ]
    else:
        lines += ["nlpkit sbert-embed NEW.jsonl --model RUN -o embedded.parquet", "```"]
    return "\n".join(lines) + "\n"


def _scores(scores: ClassifierScores, spread: Mapping[str, Any] | None) -> str:
    """Return the table of scores; with columns for documents without a near-duplicate in training, and for all seeds, where there are."""
    columns = {"score": scores.model, scores.majority.name: scores.majority}
    if scores.without_duplicates is not None:
        columns[scores.without_duplicates.name] = scores.without_duplicates
    rows = []
    for name in scores.model.scores:
        row = [name]
        for result in columns.values():
            score = result.scores.get(name)
            row.append("" if score is None else "–" if score.value is None else wording.score_text(score.value))
        if spread is not None:
            has_spread = name in spread["mean"]
            row.append(f"{spread['mean'][name]:.4f} ± {spread['sd'][name]:.4f}" if has_spread else "")
        rows.append(row)
    heads = ["metric", *columns, *([f"{len(spread['runs'])} seeds"] if spread is not None else [])]
    return table(heads, rows, right=["score"])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
