"""nlpkit name: names of topics by a language model, by people or from phrases, as a file of edits or as a new run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.lm.ask import language_model, say_cached, usable_answer
from nlpkit.platform import reporting, wording
from nlpkit.platform.llm import ANSWER_TOKENS, KeptAnswers
from nlpkit.platform.llm_options import question_tokens
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.runs.plain_tables import TABLE_FORMATS, read_columns, table_format
from nlpkit.platform.runs.runs import Run
from nlpkit.topics.edit.edits import Edits
from nlpkit.topics.edit.files import RenamedRun, rename_text
from nlpkit.topics.edit.run import edit, names_by_people, open_topic_run, topics_of_run
from nlpkit.topics.name.layers import LayerName, Layers
from nlpkit.topics.name.llm import NameAnswer, TopicSource, messages_for, read_answer
from nlpkit.topics.name.options import NameOptions
from nlpkit.topics.name.phrases import names_from_phrases


@dataclass(frozen=True, slots=True)
class TopicName:
    """The name of a topic, what it was called before, and the passage that speaks for it; problem: why it has no new name."""

    topic: int
    before: str
    name: str
    evidence: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TopicNames(Tabular):
    """Names of the topics of a run. calls, cached: answers of the language model that were asked for, and that were there.

    by_people: whether a person chose them. layers: names of the topics of the other layers, where they were asked for.
    """

    run: Run
    names: Sequence[TopicName]
    calls: int = 0
    cached: int = 0
    by_people: bool = False
    layers: Sequence[LayerName] = ()

    def __repr__(self) -> str:
        return wording.described(self, *(one.name for one in self.names))

    @property
    def failed(self) -> list[TopicName]:
        """Topics without a new name."""
        return [one for one in self.names if one.problem]

    @property
    def edits(self) -> Edits:
        """The names as edits of the run."""
        topics, _ = topics_of_run(self.run)
        renamed = tuple((one.topic, one.name) for one in self.names if not one.problem)
        return Edits(rename=renamed, topics=dict(enumerate(topics)), by_people=self.by_people)

    def table(self) -> pa.Table:
        """Return topic, before, name, evidence, problem; with names of other layers also layer, which is null for topics of the run."""
        rows = [*self.names, *self.layers]
        table = {key: [getattr(one, key) for one in rows] for key in ("topic", "before", "name", "evidence", "problem")}
        layers = {"layer": pa.array([getattr(one, "layer", None) for one in rows], pa.int32())} if self.layers else {}
        return pa.table({**layers, **table})

    def save(self, path: str | Path, *, force: bool = False, execution: Execution | None = None) -> Path:
        """Write a file of edits (.toml), else a new run whose topics have these names.

        Raises:
            InputError: no topic got a name; UsageError: names of layers for a file of edits; OutputExistsError: it is there and
            `force` was not given; and what `nlpkit.edit` raises.
        """
        target = Path(path)
        if not self.edits.rename:
            raise InputError(f"no topic of {self.run.path} got a name, so nothing is written")
        if target.suffix == ".toml":
            if self.layers:
                raise UsageError(
                    "`layers`: a file of edits holds no names of other layers; write a run", parameter="layers"
                )
            topics, sizes = topics_of_run(self.run)
            lines = {one.topic: (one.name, one.evidence) for one in self.names if not one.problem}
            with atomic_file(target, force=force) as part:
                part.write_text(
                    rename_text(topics, sizes, lines, run=self.run.path.name), encoding="utf-8", newline="\n"
                )
            return target
        edited = edit(self.run.path, self.edits, execution=execution)
        if self.layers:
            assert isinstance(edited.model.run, RenamedRun)
            labels = {(one.layer, one.topic): one.name for one in self.layers if not one.problem}
            edited.model.run = replace(edited.model.run, layer_labels=labels)
        return edited.save(target, force=force)


def name_topics(
    run: str | Path,
    *,
    options: NameOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> TopicNames:
    """Return names of the topics of a run: by a language model that is shown their words and typical documents, by people, or phrases.

    A language model answers with a name and a passage of the documents that speaks for it. An answer is used if the name is new and
    the passage does stand there; else it is asked again, and a topic without a usable answer keeps its name. Answers are kept by
    question: the same question is never asked twice. Phrases have one to three words of the typical documents of a topic, as they are
    mostly written there (`nlpkit.weights.key_phrases.key_phrases`).
    A topic keeps a name that a person gave it, unless `all` or a new list of names says otherwise.

    Args:
        run: a run directory of a topic model. options: who names the topics. execution: the seed that is sent along.
            settings: fields of these, such as llm="http://localhost:11434/v1", llm_model="llama3.2".

    Raises:
        MissingError: the language model cannot be reached, or refuses; InputError: it sends something else, or the file of names cannot be
        used; UsageError: nobody is asked.

    Example:
        >>> from pathlib import Path
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> _ = Path("names.txt").write_text("Rivers\\nMoney\\n")
        >>> nk.name_topics(run, names="names.txt").names[0].name
        'Rivers'
    """
    if options is None:
        known = {key: settings.pop(key) for key in list(settings) if key in NameOptions.__dataclass_fields__}
        options = NameOptions(**known)
    options, execution = with_settings((options, execution or Execution()), settings)
    opened = open_topic_run(run, execution)
    if options.names is not None:
        return TopicNames(opened, _names_of_people(opened, Path(options.names)), by_people=True)
    kept = _kept_names(opened, options)
    if kept:
        n = wording.counted(len(kept), "topic keeps the name", "topics keep the names")
        reporting.note(
            f"{n} given by people are kept: {wording.listed(list(kept.values()), 5, between='; ')} (`all` "
            "renames every topic)"
        )
    if options.phrases:
        return _kept_where_missing(TopicNames(opened, _phrases(opened, kept, options, execution)))
    model = language_model(options, execution.seed)
    if options.layers:
        Layers(opened)  # a run without layers is refused before anything is asked
    sources = sources_of(opened, options)
    topics, _ = topics_of_run(opened)
    names: list[TopicName] = []
    with reporting.progress("names", len(sources)) as update:
        for source in sources:
            taken = [*kept.values(), *(one.name for one in names if not one.problem)]
            names.append(_ask(model, source, topics[source.topic].name, taken, options))
            update(1)
    layers: list[LayerName] = []
    if options.layers:
        chosen = {k: topic.name for k, topic in enumerate(topics)} | {one.topic: one.name for one in names}
        layers = _layer_names(Layers(opened), chosen, model, options)
    say_cached(model)
    return _kept_where_missing(TopicNames(opened, names, model.calls, model.cached, layers=layers))


def _layer_names(
    layers: Layers, chosen: Mapping[int, str], model: KeptAnswers, options: NameOptions
) -> list[LayerName]:
    """Return the names of the topics of the other layers; warn of those that have no new one."""
    with reporting.progress("names of layers", layers.asked()) as update:

        def ask(source: TopicSource, taken: Sequence[str]) -> NameAnswer:
            answer = _answer(model, source, taken, options)
            update(1)
            return answer

        named = layers.names(chosen, options.n_words, ask)
    for one in named:
        if one.problem:
            reporting.warn(f"topic {one.topic} of layer {one.layer} keeps its name, '{one.before}': {one.problem}")
    return named


def _kept_where_missing(names: TopicNames) -> TopicNames:
    """Return the names; warn of topics that have no new one."""
    for one in names.failed:
        reporting.warn(f"topic {one.topic} keeps its name, '{one.before}': {one.problem}")
    return names


def _kept_names(run: Run, options: NameOptions) -> dict[int, str]:
    """Return the topics that keep their names, which people gave.

    Raises:
        InputError: all of them do.
    """
    labels, by_people = run.table("topics", ["label"]).column("label").to_pylist(), names_by_people(run)
    kept = {} if options.all else {k: label for k, label in enumerate(labels) if label in by_people}
    if labels and len(kept) == len(labels):
        raise InputError(
            f"all topics of {run.path} already have names given by people; `all` renames them", parameter="all"
        )
    return kept


def _phrases(run: Run, kept: Mapping[int, str], options: NameOptions, execution: Execution) -> list[TopicName]:
    topics, _ = topics_of_run(run)
    before = [topic.name for topic in topics]
    named_by = [name for name in ("topics_from", "seed_words") if run.manifest["parameters"].get(name)]
    if named_by:
        reporting.warn(f"the names given by `{named_by[0]}` are replaced by phrases, like all others")
    names = names_from_phrases(run, [topic.words for topic in topics], before, options, execution)
    result = []
    for k, (old, (name, passage)) in enumerate(zip(before, names, strict=True)):
        problem = "" if name else "its documents have no phrase of it"
        if name in kept.values():
            problem = f"its phrase, '{name}', is the name of another topic"
        if k not in kept:
            result.append(TopicName(k, old, old, problem=problem) if problem else TopicName(k, old, name, passage))
    return result


def plan_names(run: str | Path, options: NameOptions, execution: Execution) -> dict[str, Any]:
    """Return how many questions naming would ask at least, and their tokens; nothing is asked."""
    opened = open_topic_run(run, execution)
    if options.llm is None:
        return {"topics": len(topics_of_run(opened)[0]), "calls": 0}
    sources = sources_of(opened, options)
    further = Layers(opened).asked() if options.layers else 0
    asked = [messages_for(source, [], budget=options.budget) for source in sources]
    tokens = [*map(question_tokens, asked), *[options.budget] * further]
    taken = 12 * len(sources) * (len(sources) - 1) // 2  # names that are taken stand in later questions
    return {
        "topics": len(sources),
        "calls": len(tokens),
        "tokens_to_read": sum(tokens) + taken,
        "tokens_to_write": ANSWER_TOKENS // 4 * len(tokens),
    }


def sources_of(run: Run, options: NameOptions) -> list[TopicSource]:
    """Return what is shown of each topic that is to be named: its words, and the beginnings of typical documents that the run holds."""
    kept = _kept_names(run, options)
    table = run.table("topics", ["topic", "top_terms", "representative_texts"])
    return [
        TopicSource(
            row["topic"], row["top_terms"][: options.n_words], [t for t in row["representative_texts"] if t.strip()]
        )
        for row in table.to_pylist()
        if row["topic"] not in kept
    ]


def _ask(model: KeptAnswers, source: TopicSource, before: str, taken: list[str], options: NameOptions) -> TopicName:
    answer = _answer(model, source, taken, options)
    if answer.problem:
        return TopicName(source.topic, before, before, problem=answer.problem)
    return TopicName(source.topic, before, answer.name, answer.evidence)


def _answer(model: KeptAnswers, source: TopicSource, taken: Sequence[str], options: NameOptions) -> NameAnswer:
    return usable_answer(
        model,
        lambda complaint: messages_for(source, taken, budget=options.budget, complaint=complaint),
        lambda answered: read_answer(answered.text, source, taken),
        attempts=options.attempts,
    )


def _names_of_people(run: Run, path: Path) -> list[TopicName]:
    """Return names from a table with topic and name, or from lines, one for each topic in order, empty where it keeps its name."""
    topics, _ = topics_of_run(run)
    if not path.is_file():
        raise InputError(f"names {path} does not exist", parameter="names")
    if table_format(path) in TABLE_FORMATS:
        table = read_columns(path, ["topic", "name"])
        rows = list(zip(table["topic"], table["name"], strict=True))
    else:
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise InputError(f"names {path} is not UTF-8 text", parameter="names") from None
        while lines and not lines[-1].strip():
            lines.pop()
        rows = list(enumerate(lines))
    named: dict[int, str] = {}
    for topic, name in rows:
        topic = str(topic).removesuffix(".0")  # as a column of numbers is written where one is missing
        if not topic.isdecimal() or int(topic) >= len(topics):
            raise InputError(f"names {path}: the run has topics 0 to {len(topics) - 1}, not {topic}", parameter="names")
        if int(topic) in named:
            raise InputError(f"names {path}: topic {topic} occurs twice", parameter="names")
        if name is not None and str(name).strip():
            named[int(topic)] = " ".join(str(name).split())
    if not named:
        raise InputError(f"names {path}: there are no names in it", parameter="names")
    topic_of = {topic.name: k for k, topic in enumerate(topics) if k not in named}
    for k, name in sorted(named.items()):
        if topic_of.setdefault(name, k) != k:
            raise InputError(f"names {path}: topics {topic_of[name]} and {k} would both be '{name}'", parameter="names")
    if len(named) < len(topics):
        reporting.note(f"{wording.counted(len(topics) - len(named), 'topic keeps its', 'topics keep their')} name")
    return [TopicName(k, topics[k].name, name) for k, name in sorted(named.items())]
