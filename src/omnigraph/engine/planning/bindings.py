"""What the variables of a query stand for, and the columns that are no variables."""

from __future__ import annotations

from omnigraph.model.frozen import frozen

RANK = "#rank"
"""The column that holds the place of a row in a ranking."""


@frozen
class NodeBinding:
    """A variable that stands for nodes."""

    types: tuple[str, ...]


@frozen
class EdgeBinding:
    """A variable that stands for edges."""

    edge: str


@frozen
class PathBinding:
    """A variable that stands for shortest paths over nodes of one type: its column says which of those that were found."""

    type: str


Binding = NodeBinding | EdgeBinding | PathBinding
