"""Changes and conflicts for people: aligned, and in colour where somebody looks.

update node Person Ada              insert edge Knows 01J…              divergent_update  Person Ada
  age: 36 -> 37                       Ada -> Bob                                  base   ours   theirs
  city: <null> -> Rome                + since: 2024-05-01                 age     36     38     37
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.model.phrases import counted, iso
from omnigraph.model.text_tables import aligned, padded, width
from omnigraph.surfaces.cli.output import styled, use_colour

if TYPE_CHECKING:
    from omnigraph.service.results import Cause, Change, ChangeStats, Conflict, SchemaChange

COLOURS = {"insert": "green", "update": "yellow", "delete": "red"}
LONGEST_VALUE = 60


def painted(text: str, colour: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
    """A text in a colour, where somebody looks."""
    return styled(text, fg=colour, bold=bold or None, dim=dim or None) if use_colour(sys.stdout) else text


def value_text(value: object) -> str:
    """A value on one line."""
    from omnigraph.service.results import shown

    if isinstance(value, str):
        text = value.replace("\n", "\\n")
        return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
    return shown(value)


def change_lines(changes: Iterable[Change]) -> Iterator[str]:
    """Changes, one entity after the other; those of one page have their names under each other."""
    page: list[Change] = []
    for change in changes:
        page.append(change)
        if len(page) == 1_000:
            yield from _page(page)
            page = []
    yield from _page(page)


def _page(changes: Sequence[Change]) -> Iterator[str]:
    columns = max((width(c.type) for c in changes), default=0)
    for change in changes:
        colour = COLOURS[change.op]
        yield f"{painted(change.op, colour, bold=True)} {change.kind} {padded(change.type, columns)} {value_text(change.id)}"
        yield from _ends(change)
        yield from _properties(change)


def _ends(change: Change) -> Iterator[str]:
    old = None if change.before is None else change.before.endpoints
    new = None if change.after is None else change.after.endpoints
    reported = [f"{value_text(a)} -> {value_text(b)}" for a, b in dict.fromkeys(e for e in (old, new) if e is not None)]
    if reported:
        yield f"  {' => '.join(reported)}"


def _properties(change: Change) -> Iterator[str]:
    if change.before is None or change.after is None:
        image, sign = (change.after, "+") if change.before is None else (change.before, "-")
        assert image is not None
        for name, value in sorted(image.properties.items()):
            yield painted(f"  {sign} {name}: {value_text(value)}", COLOURS[change.op])
        return
    for name in change.properties:
        if name not in ("from", "to"):
            old, new = (_of(image.properties, name) for image in (change.before, change.after))
            yield f"  {name}: {painted(old, 'red')} -> {painted(new, 'green')}"


def _of(properties: Any, name: str) -> str:
    return value_text(properties[name]) if name in properties else "<absent>"


def schema_lines(schema: SchemaChange | None) -> Iterator[str]:
    """What a commit did to the schema."""
    if schema is None:
        return
    yield "schema: changed"
    for change in schema.types:
        named = f" (was {change.renamed_from})" if change.renamed_from else ""
        yield f"{painted(change.op, COLOURS[change.op], bold=True)} {change.kind} type {change.name}{named}"
        yield from (painted(f"  + {name}", COLOURS["insert"]) for name in change.added)
        yield from (painted(f"  - {name}", COLOURS["delete"]) for name in change.dropped)
        yield from (f"  {old} => {new}" for old, new in change.renamed.items())


def stats_text(stats: ChangeStats) -> str:
    """How many of what, in one line."""
    counts = {"insert": stats.inserts, "update": stats.updates, "delete": stats.deletes}
    parts = [painted(counted(count, op), COLOURS[op]) for op, count in counts.items() if count]
    total = sum(counts.values())
    return f"{counted(total, 'change')}: {', '.join(parts)}" if total else "no changes"


def cause_lines(cause: Cause) -> Iterator[str]:
    """Which commit it was."""
    yield f"commit: {painted(cause.commit, 'cyan', bold=True)}"
    yield f"branch: {cause.branch}"
    for name, value in (("parent", cause.parent), ("merged_parent", cause.merged_parent), ("actor", cause.actor)):
        if value is not None:
            yield f"{name}: {value}"
    yield f"authored_at: {moment(cause.created_at)}"


def moment(microseconds: int) -> str:
    """A moment for people."""
    return iso(microseconds)


# ── conflicts ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def conflict_lines(conflict: Conflict, *, ours: str = "ours", theirs: str = "theirs") -> Iterator[str]:
    """One conflict: what it is about, and what each side has."""
    yield f"{painted(conflict.kind, 'red', bold=True)}  {conflict.entity_kind} {conflict.type} {conflict.entity}"
    sides = {"base": conflict.base, ours: conflict.ours, theirs: conflict.theirs}
    if conflict.breaks_a_rule or not any(sides.values()):
        yield f"  {conflict.message}"
    if any(sides.values()):
        names = list(dict.fromkeys(name for values in sides.values() for name in values or ()))
        grid = [["", *sides], *([name, *(_side(values, name) for values in sides.values())] for name in names)]
        for number, line in enumerate(aligned(grid)):
            yield painted(f"  {line}", dim=True) if number == 0 else f"  {line}"
    yield f"  {painted('key', dim=True)} {conflict.key}"


def _side(values: Any, name: str) -> str:
    if values is None:
        return "(does not exist)"
    return value_text(values[name]) if name in values else ""
