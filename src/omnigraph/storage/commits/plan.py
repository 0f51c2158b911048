"""What is to be published, as a value.

A plan holds everything a publish needs to decide on its own whether it may still happen after somebody else was faster:

    op class       logical (changes what the graph says) or maintenance (changes how it is stored)
    base           the commit it was prepared against
    changes        per table, with data files already written
    read set       tables, or rows of them, it relied on; a logical change to one of them in the meantime makes the plan void
    creates/drops  tables that come and go, with a schema
    lineage        who, why, and the second parent of a merge

Insert and upsert plans leave tables out of their read set that they can re-check cheaply: the publisher applies them again on
top of what is there now, without writing rows again, and asks `revalidate` about the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.manifest import SchemaDocument
from omnigraph.storage.commits.since import Since
from omnigraph.storage.tables.changes import Applied, Change, Delete, Named, TableState, Upsert


class Touching(Protocol):
    """What is said of a change of one table, before or after it happened."""

    @property
    def table(self) -> str: ...

    @property
    def named(self) -> Named | None: ...


@frozen
class PlannedChange:
    """A change of one table."""

    table: str
    change: Change
    named: Named | None = None
    """Which rows it is about, if they are few."""


@frozen
class Replacement:
    """A new version of a table that was prepared on a particular pin: compaction, indexing, a column added or dropped.

    It cannot be applied to another pin. If the table moved meanwhile, the plan is void and is prepared again; except that the
    replacement of a logical plan, which says what the table holds from now on, takes the place of what maintenance made of it.
    """

    table: str
    base_pin: int
    applied: Applied


@frozen
class PublishPlan:
    """A commit to be."""

    op_class: OpClass
    operation: str
    base: str
    changes: tuple[PlannedChange, ...] = ()
    replacements: tuple[Replacement, ...] = ()
    creates: tuple[TableState, ...] = ()
    drops: tuple[str, ...] = ()
    read_set: frozenset[str] = field(default=frozenset())
    read_rows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The same for some rows of a table, there or not, by their ids: what happens to others is none of its business."""
    read_ends: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The same for all edges of some nodes, which may have become more."""
    expected_head: str | None = None
    """Publish only while the branch is at this logical commit, however it is laid out by then."""
    schema: SchemaDocument | None = None
    """A new schema that takes effect with this commit."""
    actor: str | None = None
    message: str | None = None
    merged_parent: str | None = None
    merged_logical: str | None = None
    """The logical commit that the merged parent is, or lays out."""
    carried: tuple[Commit, ...] = ()
    """Commits of a merged branch that are to be kept with this one."""
    idempotency_key: str | None = None
    """Publish only if no commit since the base has this key…"""
    looked_since: str | None = None
    """… or since an earlier one, if whoever looked through the commits before took that, and prepared on a later one."""
    asked: str | None = None
    """A digest of what the write with the key was asked to do."""
    seals: bool = False
    """Nothing may follow: the branch is being deleted."""

    @property
    def relies_on_anything(self) -> bool:
        """Whether what others do meanwhile may make it void."""
        return bool(self.read_set or self.read_rows or self.read_ends)

    def may_be_concerned(self, since: Since) -> bool:
        """Whether what happened since may be about a table, or rows, that it relied on; commit by commit is then to be asked."""
        if since.changed(self.read_set):
            return True
        if any(since.of(table).touches(ids) for table, ids in self.read_rows.items()):
            return True
        ends = ((since.of(table), nodes) for table, nodes in self.read_ends.items())
        return any(not touched.is_named or not touched.ends.isdisjoint(nodes) for touched, nodes in ends)

    def is_about(self, change: Touching) -> bool:
        """Whether a change is about a table, or rows, that it relied on."""
        if change.table in self.read_set:
            return True
        ids, ends = (read.get(change.table, frozenset()) for read in (self.read_rows, self.read_ends))
        if not ids and not ends:
            return False
        named = change.named
        return named is None or named.touches(ids) or not ends.isdisjoint(named.ends)

    def fence(self, known: int) -> int:
        """The newest fence that was known before the first of its files was begun; `known` is that of who publishes it now."""
        written = [c.change.written for c in self.changes if not isinstance(c.change, Delete)]
        marked = any(isinstance(c.change, Upsert) and c.change.marks is not None for c in self.changes)
        unknown = [0] if self.creates or marked else []
        return min((known, *unknown, *(w.fence for w in written if w.fragments), *(r.applied.fence for r in self.replacements)))

    def __post_init__(self) -> None:
        touched = [c.table for c in self.changes] + [r.table for r in self.replacements] + [c.table for c in self.creates]
        if len(set(touched)) < len(touched):
            raise ValueError(f"a plan touches a table once: {', '.join(touched)}")
