"""Two states of a graph, compared.

d = g.diff("main", "agent/7")       branches, tags or commits; what "agent/7" has that "main" has not, and the other way round
d.changes                           every change, in a frozen order     d.stats       how many
print(d)                            a table                             d.to_dict()   for programs
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omnigraph.engine.history.changes import Change, ChangeList, ChangeStats, shown
from omnigraph.engine.history.evolution import SchemaChange
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted
from omnigraph.model.printable import printable
from omnigraph.model.text_tables import html_table

SHOWN_CHANGES = 50
"""Changes a table shows; the rest is counted."""

SHOWN_VALUES = 12
"""Values that are shown of an entity; the rest is counted."""


@frozen(slots=False)
class End:
    """One of the two states."""

    name: str
    """As given by the caller."""
    commit: str
    number: int


class Diff:
    """What differs between two states of a graph."""

    def __init__(
        self, before: End, after: End, changes: ChangeList, pins: dict[str, int], schema: SchemaChange | None = None
    ) -> None:
        self.before = before
        self.after = after
        self.changes = changes
        self.schema = schema
        """What differs between their schemas; None if they have one."""
        self._pins = pins

    @property
    def versions(self) -> dict[str, int]:
        """The pinned version of each type in the second state, by its name."""
        return dict(self._pins)

    @property
    def stats(self) -> ChangeStats:
        return self.changes.stats

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        changes = []
        for change in self.changes:
            data: dict[str, Any] = {"kind": change.kind, "type_name": change.type, "id": change.id, "op": change.op}
            if change.type in self._pins:
                data["published_dataset_version"] = self._pins[change.type]
            if change.endpoints is not None:
                data["endpoints"] = {"src": change.endpoints[0], "dst": change.endpoints[1]}
            if change.properties:
                data["properties"] = list(change.properties)
            for name, image in (("before", change.before), ("after", change.after)):
                if image is not None:
                    data[name] = image.to_dict()
            changes.append(data)
        return {
            "from_graph_commit_id": self.before.commit,
            "to_graph_commit_id": self.after.commit,
            "from_graph_manifest_version": self.before.number,
            "to_graph_manifest_version": self.after.number,
            **({} if self.schema is None else {"schema": self.schema.to_dict()}),
            "changes": changes,
            "stats": self.stats.to_dict(),
        }

    def _repr_html_(self) -> str:
        schema = "" if self.schema is None else f"; {'; '.join(line.strip() for line in self.schema.lines)}"
        above = f"{self.before.name} → {self.after.name}: {self.stats}{schema}"
        below = f"{len(self) - SHOWN_CHANGES:,} more" if len(self) > SHOWN_CHANGES else ""
        return html_table(("change", "type", "entity", "values"), _html_cells(self.changes), above=above, below=below)

    def __repr__(self) -> str:
        schema = [] if self.schema is None else self.schema.lines
        head = f"{self.before.name} → {self.after.name}   {self.stats}"
        return printable("\n".join([head, *schema, lines_of(self.changes)]).rstrip())


def lines_of(changes: ChangeList, limit: int = SHOWN_CHANGES) -> str:
    """Changes for people, one entity after the other."""
    lines: list[str] = []
    for change in changes[:limit]:
        lines.append(f"  {change.op:<6}  {change.type} {shown(change.id)}{_ends(change)}")
        values = _values(change)
        lines.extend(f"          {line}" for line in values[:SHOWN_VALUES])
        if len(values) > SHOWN_VALUES:
            lines.append(f"          … and {counted(len(values) - SHOWN_VALUES, 'property')} more")
    if len(changes) > limit:
        lines.append(f"  … and {len(changes) - limit:,} more")
    return "\n".join(lines)


def _values(change: Change) -> list[str]:
    """What an update changed, and what an entity that came or went has; what it has no value of is left out."""
    if change.before is not None and change.after is not None:
        old, new = change.before.properties, change.after.properties
        names = [name for name in change.properties if name not in ("from", "to")]
        return [f"{name}: {shown(old[name])} → {shown(new[name])}" for name in names]
    image, sign = (change.after, "+") if change.before is None else (change.before, "-")
    given = {} if image is None else image.properties
    return [f"{sign} {name}: {shown(value)}" for name, value in sorted(given.items()) if value is not None]


def _html_cells(changes: ChangeList) -> Iterator[list[str]]:
    for change in changes[:SHOWN_CHANGES]:
        values = [_ends(change).strip()] if _ends(change) else []
        found = _values(change)
        values += found[:SHOWN_VALUES]
        if len(found) > SHOWN_VALUES:
            values.append(f"and {counted(len(found) - SHOWN_VALUES, 'property')} more")
        yield [change.op, change.type, shown(change.id), "; ".join(values)]


def _ends(change: Change) -> str:
    old = None if change.before is None else change.before.endpoints
    new = None if change.after is None else change.after.endpoints
    if old is None and new is None:
        return ""
    reported = [f"{shown(a)} -> {shown(b)}" for a, b in dict.fromkeys(e for e in (old, new) if e is not None)]
    return f"  {' => '.join(reported)}"
