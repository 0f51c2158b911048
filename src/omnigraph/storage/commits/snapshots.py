"""The whole graph at one commit, and tables that are to be part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import pyarrow as pa

from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.tables.changes import TableState


@frozen
class NewTable:
    """A table to be created with the graph or a schema."""

    table: str
    location: str
    schema: pa.Schema


@frozen(slots=False)
class Snapshot:
    """The whole graph at one commit."""

    branch: str
    commit: str
    """The logical commit, as people and programs name it."""
    schema: str
    tables: Mapping[str, TableState]
    layout: str
    """The commit whose tables these are: the same, or maintenance that followed. What is published rests on it."""
    recent: tuple[Commit, ...] = field(default=(), compare=False, repr=False)
    """The last commits up to that one, oldest first, as far as they are at hand."""
