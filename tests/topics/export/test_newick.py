"""Layers of topics as a Newick tree: every topic of the finest layer is a leaf, also one that is part of no other."""

from __future__ import annotations

from nlpkit.topics.export.formats import newick


def row(layer: int, topic: int, parent: int | None) -> dict[str, object]:
    return {"layer": layer, "topic": topic, "parent": parent, "label": f"it's {topic}"}


def test_topics_of_layers_become_nodes() -> None:
    layers = [row(0, 0, None), row(0, 1, None), row(1, 0, 1), row(1, 1, 0), row(1, 2, 0)]
    assert newick(layers) == "(('1.1 it''s 1':1,'1.2 it''s 2':1)'0.0 it''s 0':1,('1.0 it''s 0':1)'0.1 it''s 1':1);"


def test_a_topic_without_a_document_hangs_from_the_root() -> None:
    assert (
        newick([row(0, 0, None), row(1, 0, 0), row(1, 1, None)])
        == "(('1.0 it''s 0':1)'0.0 it''s 0':1,'1.1 it''s 1':1);"
    )
