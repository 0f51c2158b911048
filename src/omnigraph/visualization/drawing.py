"""A drawing as data: what the page is given. Nodes and edges have a type, a label, and details for the panel."""

from __future__ import annotations

import json
from typing import Any, Literal

from omnigraph.model.frozen import frozen

Kind = Literal["schema", "answer", "diff"]
Status = Literal["added", "changed", "removed", "context"]
Detail = tuple[tuple[str, ...], ...]
"""Rows of name and value; in a diff of a change, of name, value before and value after."""


@frozen
class DrawnNode:
    """A circle or, with `lines`, a card."""

    key: str
    type: str
    label: str
    detail: Detail = ()
    status: Status | None = None
    lines: tuple[tuple[str, str], ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The node as JSON-ready data."""
        data: dict[str, Any] = {"key": self.key, "type": self.type, "label": self.label, "detail": self.detail}
        if self.status is not None:
            data["status"] = self.status
        if self.lines is not None:
            data["lines"] = self.lines
        return data


@frozen
class DrawnEdge:
    """An arrow."""

    key: str
    type: str
    label: str
    source: str
    target: str
    detail: Detail = ()
    status: Status | None = None

    def to_dict(self) -> dict[str, Any]:
        """The edge as JSON-ready data."""
        names = ("key", "type", "label", "source", "target", "detail")
        data = {name: getattr(self, name) for name in names}
        return data if self.status is None else {**data, "status": self.status}


@frozen(slots=False)
class Drawing:
    """What is drawn."""

    kind: Kind
    title: str
    subtitle: str
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The drawing as text that may stand inside a page."""
        data = {
            "kind": self.kind,
            "title": self.title,
            "subtitle": self.subtitle,
            "nodes": [node.to_dict() for node in self.nodes],
            "edges": [edge.to_dict() for edge in self.edges],
            "notes": self.notes,
        }
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
