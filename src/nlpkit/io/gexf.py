"""A network of topics and their words as GEXF 1.3, which Gephi and networkx read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from nlpkit.io.atomic import atomic_file

_SPACE, _VIZ = "http://gexf.net/1.3", "http://gexf.net/1.3/viz"
_TYPES = {str: "string", int: "integer", float: "double"}


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its id, its label, how large it is drawn, attributes by name."""

    id: str
    label: str
    size: float
    attributes: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """An undirected edge between two nodes, with its weight and what it is."""

    source: str
    target: str
    weight: float
    kind: str


def write_gexf(path: Path, nodes: Sequence[Node], edges: Sequence[Edge], *, force: bool) -> None:
    """Write an undirected network. Raises OutputExistsError when the file is there."""
    ET.register_namespace("", _SPACE)
    ET.register_namespace("viz", _VIZ)
    root = ET.Element(f"{{{_SPACE}}}gexf", version="1.3")
    graph = _child(root, "graph", defaultedgetype="undirected", mode="static")
    names: dict[str, str] = {}
    for node in nodes:
        names |= {name: _TYPES[type(value)] for name, value in node.attributes.items() if name not in names}
    declared = _child(graph, "attributes", **{"class": "node"})
    for number, (name, kind) in enumerate(names.items()):
        _child(declared, "attribute", id=str(number), title=name, type=kind)
    _child(_child(graph, "attributes", **{"class": "edge"}), "attribute", id="0", title="kind", type="string")
    places = {name: str(number) for number, name in enumerate(names)}
    listed = _child(graph, "nodes")
    for node in nodes:
        element = _child(listed, "node", id=node.id, label=_clean(node.label))
        values = _child(element, "attvalues")
        for name, value in node.attributes.items():
            _child(values, "attvalue", **{"for": places[name], "value": _clean(str(value))})
        ET.SubElement(element, f"{{{_VIZ}}}size", value=f"{node.size:.4g}")
    joined = _child(graph, "edges")
    for number, edge in enumerate(edges):
        element = _child(
            joined, "edge", id=str(number), source=edge.source, target=edge.target, weight=f"{edge.weight:.6g}"
        )
        _child(_child(element, "attvalues"), "attvalue", **{"for": "0", "value": edge.kind})
    ET.indent(root)
    with atomic_file(path, force=force) as part:
        ET.ElementTree(root).write(part, encoding="utf-8", xml_declaration=True)


def _child(parent: ET.Element, name: str, **attributes: Any) -> ET.Element:
    return ET.SubElement(parent, f"{{{_SPACE}}}{name}", attributes)


def _clean(text: str) -> str:
    """Return a text without the control characters that XML cannot hold."""
    return "".join(
        c for c in text if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
    )
