"""The page and the JSON Schemas of --json, from docs/json_output.toml, and a check of values against it."""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import table_pages

from nlpkit.platform.models import BUILT_IN

SOURCE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SHAPES: dict[str, dict[str, Any]] = SOURCE["shapes"] | table_pages.shapes()
TYPES: dict[str, Any] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "object": {"type": "object"},
    "any": {},
}
PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
    "object": (dict,), "array": (list,),
}  # fmt: skip


def fields_of(form: Mapping[str, Any]) -> Iterator[tuple[str, bool, str, str]]:
    """Yield name, whether it is always there, type and meaning of each field, those of included shapes after its own."""
    common = {name: SOURCE["fields"][name.rstrip("?")] for name in form.get("fields", "").split()}
    for name, text in {**common, **form}.items():
        if name not in ("about", "include", "fields"):
            kind, _, meaning = text.partition(": ")
            yield name.rstrip("?"), not name.endswith("?") and name != "*", kind, meaning
    included = form.get("include", [])
    for name in [included] if isinstance(included, str) else included:
        yield from fields_of(SHAPES[name])


def schema_of_type(kind: str) -> dict[str, Any]:
    """Return the schema of a type as it is written in the source."""
    if " or " in kind and not kind.startswith(("list of", "map of")):
        return {"anyOf": [schema_of_type(one) for one in kind.split(" or ")]}
    if kind.startswith("list of "):
        return {"type": "array", "items": schema_of_type(kind.removeprefix("list of "))}
    if kind.startswith("map of "):
        return {"type": "object", "additionalProperties": schema_of_type(kind.removeprefix("map of "))}
    return dict(TYPES[kind]) if kind in TYPES else {"$ref": f"#/$defs/{kind}"}


def schema_of_form(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object: its fields, those that are always there, and no others unless * stands for them."""
    fields = list(fields_of(form))
    return {
        "type": "object",
        **({"description": form["about"]} if "about" in form else {}),
        "properties": {n: schema_of_type(kind) | {"description": why} for n, _, kind, why in fields if n != "*"},
        "required": [name for name, needed, _, _ in fields if needed],
        "additionalProperties": any(name == "*" for name, *_ in fields),
    }


def shapes_in(form: Mapping[str, Any]) -> list[str]:
    """Return the shapes that the types of a form name, and those that these name."""
    found: list[str] = []
    queue = [form]
    for one in queue:
        for _, _, kind, _ in fields_of(one):
            for word in re.findall(r"[A-Z]\w+", kind):
                if word not in found:
                    found.append(word)
                    queue.append(SHAPES[word])
    return sorted(found)


def command_of(form: str) -> str:
    """Return the command that has a form of output: its name up to the first word that names no command."""
    words = re.split(r"[ ,]+", form)
    return " ".join(words[:2]) if words[0] in ("annotate", "words") else words[0]


def forms() -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return the forms of output of each command by their names."""
    by_command: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, form in SOURCE["commands"].items():
        by_command.setdefault(command_of(name), {})[name] = form
    for kind in BUILT_IN:
        by_command.setdefault(kind, {kind: SOURCE["topic-model"]})
    for command in SOURCE["in_parts"]:
        by_command[command][f"{command} --shard or --workers"] = {"include": "Parts"}
    return by_command


@functools.cache
def schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of the --json of each command, and that of --dry-run."""
    made = {"dry-run": _whole("nlpkit COMMAND --dry-run --json", {"dry-run": SOURCE["dry-run"]})}
    return made | {command: _whole(f"nlpkit {command} --json", several) for command, several in forms().items()}


def _whole(title: str, several: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    alternatives = [schema_of_form(form) for form in several.values()]
    names = sorted({name for form in several.values() for name in shapes_in(form)})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **(alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}),
        **({"$defs": {name: schema_of_form(SHAPES[name]) for name in names}} if names else {}),
    }


def schema_files() -> dict[str, str]:
    """Return the text of each schema by the path of its file below docs/reference."""
    return {
        f"schemas/{name.replace(' ', '-')}.json": _one_line_a_field(schema) + "\n" for name, schema in schemas().items()
    }


def _one_line_a_field(value: Any, indent: str = "") -> str:
    """Return JSON in which an object that holds no object of objects stands on one line."""
    if not isinstance(value, dict) or not any(isinstance(x, dict) for x in value.values()):
        return json.dumps(value, ensure_ascii=False)
    inner = indent + " "
    lines = (f"{inner}{json.dumps(name)}: {_one_line_a_field(x, inner)}" for name, x in value.items())
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def page() -> str:
    """Return the page that describes the output of each command."""
    parts = [
        "# Output of `--json`\n",
        "With `--json` a command prints one object on one line of stdout, and all else on stderr. Numbers that are not finite are null. "
        "The tables name each field; the schema beside a command is for programs "
        "([JSON Schema](https://json-schema.org/), draft 2020-12). A field in brackets may be missing.\n",
        "With `--dry-run` all commands print amounts, those about to be needed under names that end in `_about`: "
        "[schema](schemas/dry-run.json).\n",
    ]
    for command, several in forms().items():
        parts.append(f"## {command}\n\n[Schema](schemas/{command.replace(' ', '-')}.json)\n")
        for name, form in several.items():
            if len(several) > 1:
                parts.append(f"**{name}**\n")
            parts.append(_table(form))
    parts.append("## Objects inside\n")
    inside = {name for several in forms().values() for form in several.values() for name in shapes_in(form)}
    inside |= SOURCE["shapes"].keys()
    parts += [f"### {n}\n\n{SHAPES[n]['about']}\n\n{_table(SHAPES[n])}" for n in SHAPES if n in inside]
    return "\n".join(parts)


def _table(form: Mapping[str, Any]) -> str:
    rows = ["| field | type | meaning |", "|---|---|---|"]
    own = {**form, "include": []}
    for name, needed, kind, meaning in fields_of(own):
        shown = "others" if name == "*" else f"`{name}`" if needed else f"[`{name}`]"
        kind = re.sub(r"[A-Z]\w+", lambda word: f"[{word[0]}](#{word[0].lower()})", kind)
        meaning = re.sub(r"--[a-z-]+", r"`\g<0>`", meaning)
        rows.append(f"| {shown} | {kind} | {meaning} |")
    included = form.get("include", [])
    for name in [included] if isinstance(included, str) else included:
        rows.append(f"| all of [{name}](#{name.lower()}) | | {SHAPES[name]['about']} |")
    return "\n".join(rows) + "\n"


def problems_of(command: str, value: Any) -> list[str]:
    """Return where the output of a command, or `dry-run`, differs from its schema, a line each."""
    schema = schemas()[command]
    return problems(value, schema, schema.get("$defs", {}))


def problems(value: Any, schema: Mapping[str, Any], defs: Mapping[str, Any], where: str = "") -> list[str]:
    """Return where a value differs from a schema, a line each: the keywords that `schemas` writes, and no others."""
    if "$ref" in schema:
        return problems(value, defs[schema["$ref"].rpartition("/")[2]], defs, where)
    if "anyOf" in schema:
        found = [problems(value, one, defs, where) for one in schema["anyOf"]]
        return [] if any(not lines for lines in found) else min(found, key=len)
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, PYTHON[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [f"{where or 'the output'} is no {kind}: {value!r:.60}"]
    lines = []
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        lines += [f"{where} has no {name}" for name in schema.get("required", []) if name not in value]
        for name, inner in value.items():
            if name in known or isinstance(others, dict):
                lines += problems(inner, known.get(name, others), defs, f"{where}.{name}")
            elif not others:
                lines.append(f"{where} has {name}, which is not described")
    elif isinstance(value, list):
        lines += [
            line
            for i, one in enumerate(value)
            for line in problems(one, schema.get("items", {}), defs, f"{where}[{i}]")
        ]
    return lines
