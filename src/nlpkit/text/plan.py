"""The plan of preprocessing in words: its steps in order, and the parameter that changes each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlpkit.platform.wording import listed

if TYPE_CHECKING:
    from nlpkit.text.options import PreprocessOptions, RowPlan

Step = tuple[str, str, str]


def plan_steps(rows: RowPlan, options: PreprocessOptions) -> list[Step]:
    """Return (step, what it does, parameter such as lower=False or "") in the order in which they happen."""
    return [*_rows(rows), *_texts(options), *_words(options), *_vocabulary(options)]


def _rows(plan: RowPlan) -> list[Step]:
    steps = []
    if plan.dedupe is not None:
        steps.append(("duplicates", f"drop all but the first ({plan.dedupe})", "dedupe"))
    if plan.unit is not None:
        size = f" of {plan.unit.size:,} words" if plan.unit.size else ""
        steps.append(("units", f"a row for each {plan.unit.kind}{size}", "unit"))
    return steps


def _texts(options: PreprocessOptions) -> list[Step]:
    language = {"auto": "detected on 300 texts", "none": "none"}.get(options.language, options.language)
    steps = [("language", language, "language")]
    cleaner = options.cleaner
    if cleaner is not None:
        if cleaner.html:
            steps.append(("markup", "scripts, styles, comments and tags go, entities become characters", "html"))
        if cleaner.join_hyphens:
            steps.append(("line ends", "words that a hyphen divides there are joined", "join_hyphens"))
        if cleaner.fold_marks:
            steps.append(("marks", "vowel signs of Arabic and Hebrew go, and tatweel", "fold"))
        if cleaner.replacements is not None:
            n = len(cleaner.replacements.phrases) + len(cleaner.replacements.patterns)
            steps.append(("replace", f"{n} phrases and patterns, the longest phrase first", "replace"))
        if cleaner.emoji != "keep":
            steps.append(("emoji", "become their names" if cleaner.emoji == "words" else "go", "emoji"))
    return steps


def _words(options: PreprocessOptions) -> list[Step]:
    lower = ("lower case", "every letter", "lower=False")
    first = options.tokenizer == "sklearn" or options.tokenizer.startswith("chars")  # as in scikit-learn
    steps = [lower] if options.lower and first else []
    steps.append(("cut", *_cut(options)))
    if options.spacy is not None:
        if options.spacy.pos:
            steps.append(("parts of speech", f"keep {', '.join(sorted(options.spacy.pos))}", "pos"))
        if options.spacy.entities:
            steps.append(("entities", "column 'entities' of start, end, text, type", "entities"))
        if options.spacy.tags:
            steps.append(("tag", "columns 'tags' and 'lemmas': part of speech and base form of each token", "tags"))
        if options.spacy.lemma:
            steps.append(("lemmatise", "base forms of the pipeline in the place of words", "lemma"))
    if options.tokenizer in ("words", "spacy"):
        steps += _kinds(options)
    if options.lower and not first:
        steps.append(lower)
    if options.lemma:
        steps.append(("lemmatise", "base forms by dictionary; stop words stay as they are", "lemma"))
    if options.stem != "none":
        algorithm = "Snowball of the language" if options.stem == "auto" else options.stem
        steps.append(("stem", f"{algorithm}; stop words stay as they are", "stem"))
    return steps


def _kinds(options: PreprocessOptions) -> list[Step]:
    """Return the steps for tokens that are no plain words."""
    dropped = ", ".join(k for k in ("url", "email", "number", "emoji") if k not in options.keep)
    signs = " and ".join(f"{k}s" for k in ("hashtag", "mention") if k not in options.keep)
    bare = f"; {signs} lose their sign" if signs and options.tokenizer == "words" else ""
    steps = [("drop", f"punctuation, tags{', ' if dropped else ''}{dropped}{bare}", "keep")]
    if options.keep:
        steps.append(("keep whole", ", ".join(sorted(options.keep)), "keep"))
    segments = {"words": "words by a segmenter", "characters": "every character"}
    segmentation = segments.get(options.segment, "pairs of Chinese and triples of Thai characters")
    if options.spacy is None:
        steps.append(("unspaced scripts", segmentation, "segment"))
    steps.append(
        (
            "Unicode",
            "NFC, plain apostrophes and hyphens, plain forms of ligatures and of letters in full width, no invisible characters",
            "",
        )
    )
    steps.append(("short words", f"drop those under {options.min_length} characters", "min_length"))
    return steps


def _cut(options: PreprocessOptions) -> tuple[str, str]:
    """Return the tokenizer in words, and the parameter that sets it."""
    if options.pattern is not None:
        return f"every match of {options.pattern}", "token_pattern"
    if options.spacy is not None:
        model = options.spacy.model
        return f"by the spaCy pipeline {'of the language' if model == 'auto' else model}", "spacy"
    what = {
        "words": "Unicode words; don't, AT&T, state-of-the-art and U.S.A. stay whole",
        "sklearn": "runs of at least two letters, digits and underscores",
        "whitespace": "at white space",
    }.get(options.tokenizer, f"n-grams of {options.tokenizer.partition(':')[2]} characters; white space is one space")
    return what, "tokenizer"


def _vocabulary(options: PreprocessOptions) -> list[Step]:
    steps = _stop_words(options)
    drops = bool(steps)
    if options.lexicon is not None:
        names = listed(options.lexicon.names, 5)
        what = f"put {names} in the place of their words" if options.lexicon.replace else f"keep the words of {names}"
        steps.append(("lexicon", f"{what}, stop words among them; all others go", "lexicon"))
    if options.phrases is not None:
        p = options.phrases
        what = (
            f"join neighbours with {p.measure} of at least {p.threshold:g} that occur {p.min_count} times, twice over"
        )
        steps.append(("phrases", f"{what}; no stop word begins or ends one", "phrases"))
    if options.phrase_table is not None and options.lexicon is None:
        steps.append(("phrases", f"join {len(options.phrase_table):,} given ones", "phrase_file"))
    if drops:
        steps.append(("drop stop words", "a document without any word left keeps its row", "stop_words"))
    if options.ngrams != (1, 1):
        low, high = options.ngrams
        sizes = f"{low}" if low == high else f"{low} to {high}"
        steps.append(
            ("n-grams", f"{sizes} terms that are neighbours {'without the stop words' * drops}".strip(), "ngrams")
        )
    if options.vocab is not None:
        steps.append(("vocabulary", f"keep these {len(options.vocab):,} terms and no others", "vocab"))
        return steps
    low_df = "2 documents, if there are 100 or more" if options.min_df is None else _bound(options.min_df, "documents")
    if options.min_df not in (0, 1):
        steps.append(("rare terms", f"drop those in fewer than {low_df}", "min_df"))
    if options.max_df != 1.0 or isinstance(options.max_df, int):
        steps.append(("frequent terms", f"drop those in more than {_bound(options.max_df, 'documents')}", "max_df"))
    if options.min_cf not in (0, 1) or isinstance(options.min_cf, float):
        what = f"drop those with fewer than {_bound(options.min_cf, 'occurrences')}"
        steps.append(("rare terms", what, "min_cf"))
    if options.max_cf != 1.0 or isinstance(options.max_cf, int):
        what = f"drop those with more than {_bound(options.max_cf, 'occurrences')}"
        steps.append(("frequent terms", what, "max_cf"))
    if options.max_vocab is not None:
        steps.append(("size", f"keep the {options.max_vocab:,} most frequent terms", "max_vocab"))
    return steps


def _stop_words(options: PreprocessOptions) -> list[Step]:
    steps = []
    listed = {"auto": "those of the language", "none": ""}.get(options.stop_words, f"those of {options.stop_words}")
    listed_in_files = f"{len(options.extra_stop_words):,} words and {len(options.stop_patterns):,} patterns of files"
    parts = [listed, listed_in_files if options.extra_stop_words or options.stop_patterns else ""]
    if options.language == "none" and options.stop_words == "auto":
        parts = parts[1:]
    if any(parts):
        steps.append(("find stop words", " and ".join(part for part in parts if part), "stop_words"))
    if options.auto_stop is not None:
        share = f"terms in more than {_bound(options.auto_stop, 'documents')}"
        steps.append(("find stop words", share, "auto_stop"))
    return steps


def _bound(value: float, what: str) -> str:
    """Return a number, or a share, of documents or occurrences."""
    return f"{100 * value:.4g} % of the {what}" if isinstance(value, float) else f"{value:,} {what}"
