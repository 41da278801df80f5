"""The files of edits: TOML files of what is wanted, and runs whose topics have other names.

Parts, in this order:
- Edits of topics as a TOML file: read, and written with the topics of a run to fill in.
- A run of a topic model whose topics have other names: all else is copied as it is.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.platform.models import MODELS
from nlpkit.platform.reporting import command_line
from nlpkit.platform.runs.artifacts import read_footer, write_table
from nlpkit.platform.runs.atomic import MANIFEST, atomic_directory
from nlpkit.platform.runs.runs import Run, seen_from, sha256_of, write_json
from nlpkit.topics.edit.edits import JUDGEMENTS, Edits, Reference, TopicWords

KEYS = ("merge", "split", "drop", "reduce", "max_outliers", "stop_words", "rename", "pin", "reorder", "hide", "judgements",
        "notes", "open", "coder", "topics")  # fmt: skip
_EXAMPLES = {
    "merge": "merge = [[0, 3], [2, 5]]",
    "split": "split = { 4 = 2 }",
    "drop": "drop = [7]",
    "reduce": "reduce = 20",
    "max_outliers": 'max_outliers = "5 %"',
    "stop_words": 'stop_words = ["said"]',
    "rename": '[rename] and below it 0 = "Prices"',
    "pin": "pin = [1]",
    "reorder": 'reorder = [3, 0] or reorder = "size"',
    "hide": "hide = [7]",
    "judgements": '[judgements] and below it 0 = "understood", "mixed" or "junk"',
    "notes": '[notes] and below it 0 = "two matters"',
    "open": '[open] and below it 3 = ["judgement: anna mixed, ben junk"]',
    "coder": 'coder = "anna"',
    "topics": 'the lines that `init` wrote, such as 0 = { name = "cent, rate", words = ["cent", "rate"] }',
}
_SHARE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


def read_edits(path: Path) -> Edits:
    """Return the edits of a file.

    Raises:
        InputError: the file cannot be read, or does not hold edits.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"edits {path}: cannot be opened ({error.strerror})", parameter="edits") from None
    except UnicodeDecodeError:
        raise InputError(f"edits {path} is not UTF-8 text", parameter="edits") from None
    return edits_from(text, str(path))


def edits_from(text: str, where: str) -> Edits:
    """Return the edits of a text in TOML. Raises InputError where it holds none."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"edits {where} is not TOML: {error}", parameter="edits") from None
    for key in content:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, n=1)
            meant = f"; did you mean '{near[0]}'?" if near else f" (known: {', '.join(KEYS)})"
            raise InputError(f"edits {where}: there is no edit '{key}'{meant}", parameter="edits")

    def part(key: str, read: Callable[[Any], Any], default: Any) -> Any:
        if key not in content:
            return default
        try:
            return read(content[key])
        except ValueError as error:
            why = f"{error}; " if str(error) else ""
            raise InputError(
                f"edits {where}: {why}'{key}' is written as: {_EXAMPLES[key]}", parameter="edits"
            ) from None

    edits = Edits(
        merge=part("merge", lambda value: tuple(_references(group) for group in _list(value)), ()),
        split=part("split", lambda value: _pairs(value, _parts), ()),
        drop=part("drop", _references, ()),
        reduce=part("reduce", lambda value: _whole(value, 1), None),
        max_outliers=part("max_outliers", _share, None),
        stop_words=part("stop_words", _strings, ()),
        rename=part("rename", lambda value: _pairs(value, _string), ()),
        pin=part("pin", _references, ()),
        reorder=part("reorder", _order, ()),
        hide=part("hide", _references, None),
        judgements=part("judgements", lambda value: _pairs(value, _judgement), ()),
        notes=part("notes", lambda value: _pairs(value, _note), ()),
        open=part("open", lambda value: _pairs(value, _strings), ()),
        coder=part("coder", _string, ""),
        topics=part("topics", _topics, {}),
    )
    if edits == Edits(topics=edits.topics, coder=edits.coder):
        raise InputError(
            f"edits {where}: it contains no edits; remove the # from a line, such as {_EXAMPLES['merge']}",
            parameter="edits",
        )
    return edits


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError
    return value


def _whole(value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError
    return value.strip()


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(_string(item) for item in _list(value))


def _note(value: Any) -> str:
    return "" if value == "" else _string(value)


def _judgement(value: Any) -> str:
    if value != "" and value not in JUDGEMENTS:
        raise ValueError
    return str(value)


def _parts(value: Any) -> int:
    return _whole(value, 2)


def _reference(value: Any) -> Reference:
    return _string(value) if isinstance(value, str) else _whole(value, 0)


def _references(value: Any) -> tuple[Reference, ...]:
    return tuple(_reference(item) for item in _list(value))


def _order(value: Any) -> tuple[Reference, ...] | Literal["size"]:
    return "size" if value == "size" else _references(value)


def _pairs(value: Any, read: Callable[[Any], Any]) -> tuple[tuple[Reference, Any], ...]:
    if not isinstance(value, dict):
        raise ValueError
    pairs: list[tuple[Reference, Any]] = []
    for key, item in value.items():
        try:
            pairs.append((int(key) if key.isdecimal() else _string(key), read(item)))
        except ValueError:
            why = ""
            if isinstance(item, str) and item not in ("", *JUDGEMENTS) and read is _judgement:
                near = get_close_matches(item, JUDGEMENTS, n=1)
                why = f"; did you mean '{near[0]}'?" if near else ", which is no judgement"
            elif isinstance(item, str):
                why = (
                    ", which has a line break or another sign that cannot be printed"
                    if item.strip()
                    else ", which is empty"
                )
            raise ValueError(f"topic {key} has {item!r}{why}") from None
    return tuple(pairs)


def _share(value: Any) -> float:
    """Return a share: "5 %" or a number from 0 to 1."""
    if isinstance(value, str):
        match = _SHARE.fullmatch(value)
        share = float(match[1]) / 100 if match else math.nan
    else:
        share = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not 0 <= share <= 1:
        raise ValueError
    return share


def _topics(value: Any) -> dict[int, TopicWords]:
    if not isinstance(value, dict):
        raise ValueError
    topics = {}
    for key, item in value.items():
        if not isinstance(item, dict) or set(item) != {"name", "words"}:
            raise ValueError
        topics[int(key)] = TopicWords(str(item["name"]), _strings(item["words"]))
    return topics


def edits_text(
    topics: Sequence[TopicWords],
    sizes: Sequence[int],
    *,
    run: str,
    left_out: Collection[str],
    example: Mapping[str, str],
) -> str:
    """Return a file of edits in which nothing is edited yet, with the topics of a run and every edit as a comment.

    Args:
        sizes: documents of each topic. run: its name. left_out: names of edits that do not apply to it. example: the commands to type,
            by what they do.
    """
    K = len(topics)
    last, other = K - 1, min(1, K - 1)
    gone = (
        "its tokens have no topic then, documents go to their other topics"
        if "split" in left_out
        else "its documents have no topic then"
    )
    choices = [
        (
            f"merge = [[0, {other}]]",
            "each group becomes one topic, with the number of its first and, if you gave it one, its name",
        ),
        ("split = { 0 = 2 }", "topic 0 in two parts (k-means on the embeddings); the larger part keeps the number"),
        (f"drop = [{last}]", gone),
        (
            f"reduce = {max(K // 2, 1)}",
            "the most similar pairs (c-tf-idf) are merged until so many topics are left",
        ),
        (
            'max_outliers = "5 %"',
            "documents without a topic go to the nearest, clearest first, until so few are left",
        ),
        ('stop_words = ["said", "mr"]', "words that describe no topic; documents stay where they are"),
        (f"pin = [{other}]", "reduce leaves it alone, and it keeps its name"),
        (f"reorder = [{other}, 0]", 'these come first; or reorder = "size"'),
        (f"hide = [{last}]", "all topics that reports do not list; documents stay where they are"),
        (
            'judgements = { 0 = "mixed" }',
            '"understood", "mixed" or "junk", of a reader; and notes = { 0 = "any text" }',
        ),
    ]
    lines = [
        f"# Edits of the {K} topics of {run}.",
        "# Take the # from the lines that you need and change them; then:",
        f"#   {example['edit']}",
        f"# The run stays as it is, and the file can be used again on a later fit: topics are known by their words ({example['table']}).",
        "# A topic is its number or its name in quotes. The edits are done in this order:",
        "",
        *(f"# {edit:<28} # {meaning}" for edit, meaning in choices if edit.split()[0] not in left_out),
        *([""] if len(left_out) < len(choices) else []),
        "# [rename]",
        *(f"# {k} = {quoted(topic.name)}" for k, topic in enumerate(topics)),
        "",
        *topic_lines(topics, sizes),
    ]
    return "\n".join(lines) + "\n"


def rename_text(
    topics: Sequence[TopicWords], sizes: Sequence[int], names: Mapping[int, tuple[str, str]], *, run: str
) -> str:
    """Return a file of edits that gives topics names, with what speaks for each behind it.

    Args:
        sizes: documents of each topic. names: name and evidence ("" for none) by topic. run: its name.
    """
    renamed = [
        f"{k} = {quoted(name)}" + (f"  # {' '.join(evidence.split())}" if evidence else "")
        for k, (name, evidence) in sorted(names.items())
    ]
    head = [f"# Names for topics of {run}.", "", "[rename]", *renamed, ""]
    return "\n".join([*head, *topic_lines(topics, sizes)]) + "\n"


def topic_lines(topics: Sequence[TopicWords], sizes: Sequence[int]) -> list[str]:
    """Return the lines by which topics are known again on a later fit."""
    lines = ["# The topics that the numbers mean; leave these lines as they are.", "[topics]"]
    for k, topic in enumerate(topics):
        words, size = ", ".join(map(quoted, topic.words)), f"  # size {sizes[k]}" if sizes else ""
        lines.append(f"{k} = {{ name = {quoted(topic.name)}, words = [{words}] }}{size}")
    return lines


def quoted(text: str) -> str:
    """Return a string as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# ------------------------------------------------------------------------------------------------------------------------
# A run of a topic model whose topics have other names: all else is copied as it is.

CONFIG = "model/config.json"
LAYERS = "layers"


@dataclass(frozen=True, slots=True)
class RenamedRun(Run):
    """A run that is not written yet: another one, whose files it has but for the names of topics. manifest: its own.

    labels: names of all topics (K,). layer_labels: new names of topics of other layers, by layer and topic.
    """

    is_written: ClassVar[bool] = False

    labels: Sequence[str] = field(default=(), kw_only=True)
    layer_labels: Mapping[tuple[int, int], str] = field(default_factory=dict, kw_only=True)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one of its tables by file stem."""
        table = Run.table(self, name)
        if name == "topics":
            table = _with_labels(table, list(self.labels))
        elif name == LAYERS:
            names = dict(enumerate(self.labels))
            every = MODELS[self.manifest["kind"]].is_tree  # whose topics have numbers of their own in all layers
            table = _with_labels(table, [
                names.get(row["topic"], row["label"]) if every or row["chosen"]
                else self.layer_labels.get((row["layer"], row["topic"]), row["label"])
                for row in table.select(["layer", "topic", "label", "chosen"]).to_pylist()
            ])  # fmt: skip
        return table if columns is None else table.select(columns)

    def copy_to(self, path: Path, *, force: bool) -> None:
        """Write it; raises the errors of `write_run` for an existing target."""
        outputs = dict(self.manifest["outputs"])
        with atomic_directory(path, force=force) as part:
            for name in outputs:
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.path / name, part / name)
            changed = [f"{stem}.parquet" for stem in ("topics", LAYERS) if f"{stem}.parquet" in outputs]
            for name in changed:
                write_table(part / name, self.table(Path(name).stem), read_footer(self.path / name) or {})
            write_json(part / CONFIG, {**self.model_config(), "labels": list(self.labels)})
            outputs |= {name: sha256_of(part / name) for name in (*changed, CONFIG)}
            write_json(part / MANIFEST, {**self.manifest, "made_in": self._made_in(path), "outputs": outputs})

    def _made_in(self, path: Path) -> Mapping[str, str] | None:
        """Return the folder that the paths of its inputs start from, as it is seen from a place."""
        made_in = self.manifest.get("made_in")
        if not made_in:
            return None
        seen_from_run = (self.path / made_in["from_run"]).resolve()
        folder = seen_from_run if seen_from_run.is_dir() else Path(made_in["folder"])
        return seen_from(path, folder)


def renamed_run(run: Run, labels: Sequence[str], lineage: Mapping[str, Any]) -> RenamedRun:
    """Return a run with other names of its topics (K,), and with its lineage."""
    manifest = {**run.manifest, "command_line": list(command_line.get()), "lineage": dict(lineage)}
    return RenamedRun(run.path, manifest, run.verify, labels=tuple(labels))


def review_of(run: Run) -> dict[str, Any]:
    """Return what people said of the topics of a run, by the edits that made it: `hidden`, `judgements`, `notes`, by number."""
    return dict((run.manifest.get("lineage") or {}).get("review") or {})


def hidden_topics(run: Run) -> set[int]:
    """Return the topics that people hid, which reports and pictures leave off."""
    return set(review_of(run).get("hidden", ()))


def _with_labels(table: pa.Table, labels: list[str]) -> pa.Table:
    at = table.schema.get_field_index("label")
    return table.set_column(at, table.schema.field(at), pa.array(labels, table.schema.field(at).type))
