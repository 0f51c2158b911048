"""Changes of annotations: descriptions and instructions are text about the schema, all else may mean something to somebody.

So the first two can be rewritten at any time, and a custom annotation can only come with the type or property that carries it.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.catalog.ir import EdgeIR, NodeIR, PropertyIR, TypeIR, entity
from omnigraph.catalog.migration.render import notes_text
from omnigraph.catalog.migration.steps import Refusal, Step, UpdatePropertyMetadata, UpdateTypeMetadata
from omnigraph.catalog.shape import Note

DOCUMENTATION = frozenset({"description", "instruction"})


def type_annotation_changes(accepted: NodeIR | EdgeIR, desired: NodeIR | EdgeIR) -> Iterator[Step]:
    """What changes in the annotations of a type."""
    documentation = _documentation(desired.notes)
    if _documentation(accepted.notes) != documentation:
        yield UpdateTypeMetadata(desired.kind, desired.name, documentation)
    yield from _custom_changes(entity(desired.kind, desired.name), accepted.notes, desired.notes)


def property_annotation_changes(owner: TypeIR, accepted: PropertyIR, desired: PropertyIR) -> Iterator[Step]:
    """What changes in the annotations of a property of `owner`, a desired type."""
    documentation = _documentation(desired.notes)
    if _documentation(accepted.notes) != documentation:
        yield UpdatePropertyMetadata(owner.kind, owner.name, desired.name, documentation)
    yield from _custom_changes(entity(owner.kind, owner.name, desired.name), accepted.notes, desired.notes)


def _custom_changes(what: str, accepted: tuple[Note, ...], desired: tuple[Note, ...]) -> Iterator[Step]:
    before, after = _custom(accepted), _custom(desired)
    if before != after:
        yield Refusal(
            what,
            f"custom annotations of {what} cannot change from ({notes_text(before)}) to ({notes_text(after)}); "
            "keep them as they are, or put the text into @description",
        )


def _documentation(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    return tuple(note for note in notes if note.name in DOCUMENTATION)


def _custom(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    return tuple(note for note in notes if note.name not in DOCUMENTATION)
