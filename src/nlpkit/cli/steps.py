"""The plan of preprocess in words, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.cli.rows import RowPlan
    from nlpkit.text.options import PreprocessOptions


def show_steps(plan: RowPlan, options: PreprocessOptions) -> None:
    """Print the steps that would be done, in their order, with the option that changes each."""
    found = list(steps_of(plan, options))
    if console.settings.json:
        console.emit_json({"steps": [{"step": name, "what": what, "option": option} for name, what, option in found]})
        return
    rows = [[str(i), name, what, option] for i, (name, what, option) in enumerate(found, 1)]
    console.table(["", "step", "what", "option"], rows)


def steps_of(plan: RowPlan, options: PreprocessOptions) -> list[tuple[str, str, str]]:
    """Return (step, what it does, option) in the order in which they happen."""
    return [*_rows(plan), *_texts(options), *_words(options), *_vocabulary(options)]


def _rows(plan: RowPlan) -> list[tuple[str, str, str]]:
    steps = []
    if plan.where is not None:
        steps.append(("filter texts", f"keep those that match {plan.where}", "--where"))
    if plan.condition is not None:
        steps.append(("filter rows", f"keep those with {plan.condition}", "--keep-if"))
    if plan.dedupe is not None:
        steps.append(("duplicates", f"drop all but the first ({plan.dedupe})", "--dedupe"))
    if plan.unit is not None:
        steps.append(("units", f"a row for each {plan.unit}", "--unit"))
    return steps


def _texts(options: PreprocessOptions) -> list[tuple[str, str, str]]:
    language = {"auto": "detected on the first 300 texts", "none": "none"}.get(options.language, options.language)
    steps = [("language", language, "--language")]
    cleaner = options.cleaner
    if cleaner is not None:
        if cleaner.html:
            steps.append(("markup", "scripts, styles, comments and tags go, entities become characters", "--html"))
        if cleaner.replacements is not None:
            n = len(cleaner.replacements.phrases) + len(cleaner.replacements.patterns)
            steps.append(("replace", f"{n} phrases and patterns, the longest phrase first", "--replace"))
        if cleaner.emoji != "keep":
            steps.append(("emoji", "become their names" if cleaner.emoji == "words" else "go", "--emoji"))
    return steps


def _words(options: PreprocessOptions) -> list[tuple[str, str, str]]:
    steps = [("cut", _cut(options), "--token-pattern" if options.pattern else "--tokenizer")]
    if options.spacy is not None:
        if options.spacy.pos:
            steps.append(("parts of speech", f"keep {', '.join(sorted(options.spacy.pos))}", "--pos"))
        if options.spacy.entities:
            steps.append(("entities", "column 'entities' of start, end, text, type", "--entities"))
    if options.tokenizer in ("words", "spacy"):
        kinds = ", ".join(k for k in ("url", "email", "hashtag", "mention", "number", "emoji") if k not in options.keep)
        kept = f"; whole: {', '.join(sorted(options.keep))}" if options.keep else ""
        steps.append(("drop", f"tags, punctuation, words without a letter; {kinds}{kept}", "--keep"))
        steps.append(("unspaced scripts", f"Chinese, Japanese, Thai: {options.segment}", "--segment"))
        steps.append(("Unicode", "NFC, plain apostrophes and hyphens, no invisible characters", ""))
        steps.append(("short words", f"drop those under {options.min_length} characters", "--min-length"))
    if options.lower:
        steps.append(("lower case", "every term", "--no-lower"))
    if options.lemma or (options.spacy is not None and options.spacy.lemma):
        how = "of the spaCy pipeline" if options.spacy is not None and options.spacy.lemma else "by dictionary"
        steps.append(
            ("lemmatise", f"base forms {how}, once for each distinct word; stop words stay as they are", "--lemma")
        )
    if options.stem != "none":
        steps.append(("stem", "Snowball of the language" if options.stem == "auto" else options.stem, "--stem"))
    return steps


def _cut(options: PreprocessOptions) -> str:
    if options.pattern is not None:
        return f"every match of {options.pattern}"
    if options.spacy is not None:
        return f"by the spaCy pipeline {options.spacy.model}"
    return {
        "words": "Unicode words; don't, AT&T, state-of-the-art and U.S.A. stay whole",
        "sklearn": "runs of at least two letters, digits and underscores",
        "whitespace": "at white space",
    }.get(options.tokenizer, f"character n-grams ({options.tokenizer.partition(':')[2]})")


def _vocabulary(options: PreprocessOptions) -> list[tuple[str, str, str]]:
    stop = {"auto": "those of the language", "none": "none"}.get(options.stop_words, f"those of {options.stop_words}")
    if options.extra_stop_words or options.stop_patterns:
        stop += f", {len(options.extra_stop_words)} words and {len(options.stop_patterns)} patterns of files"
    steps = [("find stop words", stop, "--stop-words")]
    if options.auto_stop is not None:
        steps.append(("", f"and terms in more than {options.auto_stop:.3g} of the documents", "--auto-stop"))
    if options.phrases is not None:
        p = options.phrases
        what = (
            f"join neighbours with {p.measure} of at least {p.threshold:g} that occur {p.min_count} times, twice over"
        )
        steps.append(("phrases", f"{what}; no stop word begins or ends one", "--phrases"))
    if options.phrase_table is not None:
        steps.append(("phrases", f"join {len(options.phrase_table)} given ones", "--phrase-file"))
    steps.append(("drop stop words", "documents that become empty keep their row", "--stop-words"))
    if options.ngrams != (1, 1):
        low, high = options.ngrams
        steps.append(("n-grams", f"{low} to {high} terms that are neighbours without the stop words", "--ngrams"))
    if options.vocab is not None:
        steps.append(("vocabulary", f"keep these {len(options.vocab):,} terms and no others", "--vocab"))
        return steps
    low_df = "2 from 100 documents on, else 1" if options.min_df is None else _bound(options.min_df)
    steps.append(("rare terms", f"drop those in fewer documents than {low_df}", "--min-df"))
    steps.append(("frequent terms", f"drop those in more documents than {_bound(options.max_df)}", "--max-df"))
    if options.min_cf != 1 or options.max_cf != 1.0:
        low_cf, high_cf = _bound(options.min_cf), _bound(options.max_cf)
        steps.append(("occurrences", f"drop terms under {low_cf} or over {high_cf}", "--min-cf --max-cf"))
    if options.max_vocab is not None:
        steps.append(("size", f"keep the {options.max_vocab:,} most frequent terms", "--max-vocab"))
    return steps


def _bound(value: float) -> str:
    return f"{value:.4g} of all" if isinstance(value, float) else f"{value:,}"
