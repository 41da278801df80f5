"""Sentences of a report: what a run is, how its number of topics came about, and the paragraph for the methods of a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath, PurePosixPath
from typing import Any

from nlpkit.platform import wording
from nlpkit.platform.models import MODELS, Account

NPMI = (
    "Bouma, G. (2009). Normalized (pointwise) mutual information in collocation extraction. Proceedings of GSCL, 31–40."
)
_MOST_FILES = 3  # that are named
NAMES = {"classify": "Classifier", "finetune": "Fine-tuned classifier"}


def run_name(manifest: Mapping[str, Any]) -> str:
    """Return what a model is called: Topics of embeddings, LDA, Rolling LDA …"""
    parameters = manifest["parameters"]
    if manifest["kind"] == "lda-gibbs":
        prototype = "prototype " if parameters.get("prototype") else ""
        return f"Rolling {prototype}LDA" if "chunks" in parameters else f"{prototype.capitalize()}LDA"
    kind = str(manifest["kind"])
    return MODELS[kind].title if kind in MODELS else NAMES.get(kind, kind)


def training_paths(manifest: Mapping[str, Any]) -> list[str]:
    """Return the inputs that a run was trained on, not those of `test` and `dev`."""
    named = [manifest["parameters"].get(split) for split in ("test", "dev")]
    held_out = [source for source in named if isinstance(source, str)]
    paths = [str(entry["path"]) for entry in manifest["inputs"]]
    return [path for path in paths if not any(PurePath(path).is_relative_to(one) for one in held_out)] or paths


def corpus_name(manifest: Mapping[str, Any]) -> str:
    """Return the names of the files that a run was trained on, without their folders; of many files, the folder that all lie in."""
    paths = [PurePosixPath(path.replace("\\", "/")) for path in training_paths(manifest)]
    if len(paths) > _MOST_FILES:
        shared = (parent for parent in paths[0].parents if all(path.is_relative_to(parent) for path in paths))
        folder = next(shared, PurePosixPath())
        return f"{folder.name} ({len(paths):,} files)" if folder.name else f"{len(paths):,} files"
    return wording.listed([path.name for path in paths], _MOST_FILES) or "documents"


def score_sentence(name: str, value: float, interval: Sequence[float] | None) -> str:
    """Return a score with its interval: NPMI 0.12 (95 % interval 0.08 to 0.16)."""
    low_high = f" (95 % interval {interval[0]:.3f} to {interval[1]:.3f})" if interval else ""
    return f"{name} {value:.3f}{low_high}"


def number_evidence(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of each number of topics k that was tried, and which was `chosen`; nothing where the number was given."""
    rows = manifest["results"].get("evidence") or []
    scores = ("score", "halves", "views", "words", "npmi", "exclusivity", "stability", "diversity")
    return [
        {
            "k": row.get("k", row.get("n_topics")),
            **{name: row[name] for name in scores if name in row},
            "chosen": row["chosen"],
        }
        for row in rows
    ]


def number_sentence(manifest: Mapping[str, Any], K: int) -> str:
    """Return how the number of topics came about."""
    parameters = manifest["parameters"]
    k, evidence = str(parameters.get("k", parameters.get("n_topics"))), number_evidence(manifest)
    lineage = manifest.get("lineage")
    if lineage is not None:
        return f"The {K} topics are those of {lineage['parent']['path']} after {_later_step(lineage)}."
    model = MODELS[manifest["kind"]]
    if model.finds_number or parameters.get("like"):
        return f"The number of topics, {K}, was found with the topics."
    if model.number is not None:
        return model.number(_account(manifest, K))
    if not evidence:
        return f"The number of topics, {K}, was given."
    candidates = f"{len(evidence)} numbers from {evidence[0]['k']} to {evidence[-1]['k']}"
    return f"The number of topics, {K}, was chosen among {candidates} (`--k {k}`).{model.chosen}"


def _account(manifest: Mapping[str, Any], K: int) -> Account:
    """Return what the methods paragraph of a run is made of."""
    n = wording.count(manifest["results"].get("documents", sum(entry["rows"] for entry in manifest["inputs"])))
    seed = f"(nlpkit {manifest['nlpkit_version']}, random seed {manifest['seed']})"
    return Account(manifest["parameters"], manifest["results"], n, K, seed)


def _later_step(lineage: Mapping[str, Any]) -> str:
    return "newer documents joined them" if "update" in lineage else "they were edited by hand"


def methods(
    manifest: Mapping[str, Any],
    K: int,
    *,
    n_terms: int | None = None,
    n_tokens: int | None = None,
    left_out: Sequence[tuple[str, int, str]] = (),
) -> tuple[str, list[str]]:
    """Return a paragraph for the methods of a paper, and the references that it cites.

    n_terms, n_tokens: the vocabulary of the run, and how many tokens of it the documents have; None where that is not known.
    left_out: documents that are not in the topics: what, how many, why.
    """
    text, cited = MODELS[manifest["kind"]].paragraph(_account(manifest, K))
    text += words_sentence(manifest["parameters"].get("tokens"), n_terms, n_tokens)
    text += "".join(f" {wording.count(n)} {what} ({why})." for what, n, why in left_out if n)
    encoder = manifest["parameters"].get("encoder") or {}
    weights = None if encoder.get("engine") == "server" else encoder.get("fingerprint")
    text += f" The weights of the encoder have the SHA-256 {weights[:12]}…." if weights else ""
    lineage = manifest.get("lineage")
    if lineage is None:
        text += _tried_sentence(manifest, K)
    else:
        text += f" These are the topics after {_later_step(lineage)}{_edits_made(lineage)}."
    packages = manifest.get("packages")
    if packages:
        versions = [f"{'Python' if name == 'python' else name} {version}" for name, version in packages.items()]
        text += f" Versions of the software: {_and(versions)}."
    text += " Coherence is the normalised pointwise mutual information (NPMI; Bouma, 2009) of the top words within documents of the corpus."
    return text, [*cited, NPMI]


def _tried_sentence(manifest: Mapping[str, Any], K: int) -> str:
    """Return how the number of topics came about, and which others came close."""
    text = f" {number_sentence(manifest, K)}"
    rows = [row for row in number_evidence(manifest) if row.get("score") is not None]
    chosen = [row for row in rows if row["chosen"]]
    if chosen and len(rows) > 2:
        others = sorted((row for row in rows if not row["chosen"]), key=lambda row: -row["score"])[:2]
        close = " and ".join(f"{row['k']} ({row['score']:.3f})" for row in others)
        text += f" Its mean score was {chosen[0]['score']:.3f}; the next best were {close}."
    return text


def _edits_made(lineage: Mapping[str, Any]) -> str:
    """Return what edits did to topics, in brackets: how many were merged, split, dropped, renamed and hidden."""
    applied = (lineage.get("edits") or {}).get("applied") or {}
    numbers = {
        "merged": sum(map(len, applied.get("merge") or ())), "split": len(applied.get("split") or ()),
        "dropped": len(applied.get("drop") or ()), "merged as most similar": 2 * len(lineage.get("reduced") or ()),
        "renamed": len(applied.get("rename") or ()), "hidden": len(applied.get("hide") or ()),
    }  # fmt: skip
    done = [f"{n} {what}" for what, n in numbers.items() if n]
    return f" ({_and(done)})" if done else ""


def words_sentence(tokens: Mapping[str, Any] | None, n_terms: int | None, n_tokens: int | None) -> str:
    """Return how texts became words: what was left out, and how many are left. tokens: as manifests have them, None if not known."""
    if not tokens:
        return ""
    removed = [text for text in (_duplicates(tokens), *_stop_words(tokens), *_bounds(tokens)) if text]
    forms = [
        f"lemmas ({tokens['lemma']})" if tokens.get("lemma") else "",
        f"stems ({tokens['stem']})" if tokens.get("stem") not in (None, "none") else "",
        "phrases" if tokens.get("phrases") or tokens.get("phrase_table") else "",
        f"n-grams of {' to '.join(map(str, tokens['ngrams']))} words" if tokens.get("ngrams", [1, 1])[-1] != 1 else "",
    ]
    forms = [form for form in forms if form]
    text = (
        f" Texts were split into words{', lower case' if tokens.get('lower') else ''}"
        + (f", with {_and(forms)}" if forms else "")
        + "."
    )
    if removed:
        text += f" We left out {_and(removed)}."
    if n_terms is not None and n_tokens is not None:
        text += f" {wording.counted(n_tokens, 'token')} of {wording.counted(n_terms, 'different term')} remained."
    return text


def _duplicates(tokens: Mapping[str, Any]) -> str:
    kind, _, least = str(tokens.get("dedupe") or "").partition(":")
    if kind == "near":
        return "near-duplicate documents" + (f" (similarity of {least} or more)" if least else "")
    return "duplicate documents" if kind and kind != "none" else ""


def _stop_words(tokens: Mapping[str, Any]) -> list[str]:
    languages, extra = tokens.get("stop_word_languages") or [], tokens.get("extra_stop_words") or ()
    n = len(extra) if not isinstance(extra, str) else extra.split(" ", 1)[0]  # a long list stands as its length
    parts = [f"stop words ({', '.join(languages)})"] if languages else []
    parts += [f"{n} words of a list of our own"] if extra else []
    parts += (
        [f"words in more than {100 * float(tokens['auto_stop']):g} % of the documents"]
        if tokens.get("auto_stop")
        else []
    )
    return parts


def _bounds(tokens: Mapping[str, Any]) -> list[str]:
    """Return which rare and frequent terms were left out: numbers of documents or tokens, or shares of them."""
    kinds = (
        ("min_df", "terms in fewer than {} documents", 1), ("max_df", "terms in more than {} documents", 1.0),
        ("min_cf", "terms that occur fewer than {} times", 1), ("max_cf", "terms that occur more than {} times", 1.0),
    )  # fmt: skip
    parts = []
    for name, form, usual in kinds:
        value = tokens.get(name)
        if isinstance(value, int | float) and value != usual:
            what = f"{100 * value:g} % of the" if isinstance(value, float) and value < 1 else wording.count(value)
            parts.append(form.format(what))
    if tokens.get("max_vocab"):
        parts.append(f"all but the {wording.count(tokens['max_vocab'])} most frequent terms")
    return parts


def _and(parts: Sequence[str]) -> str:
    """Return parts as a list in a sentence."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
