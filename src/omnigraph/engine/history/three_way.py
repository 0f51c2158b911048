"""Three-way comparison of one entity: what two sides changed since a common state, and whether they conflict.

`ours` is the side that is merged into, `theirs` the one that is merged. Each of the three states is an image or nothing:

    theirs vs base   ours vs base      whole entities (strict)            property by property
    ──────────────   ──────────────    ────────────────────────────────   ────────────────────────────────────────────────────────
    unchanged        anything          ours                               the same
    changed          unchanged         theirs                             the same
    changed          changed alike     ours                               the same
    inserted         inserted          divergent_insert                   divergent_insert, about the properties that differ
    updated          updated           divergent_update                   each property by itself; divergent_update where both
                                                                          changed one, and not alike
    deleted          updated           delete_vs_update                   the same
    updated          deleted           delete_vs_update                   the same

Source and target of an edge count as one property: taking the one from here and the other from there would make an edge that
nobody wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.history.row_delta import RawRow
from omnigraph.model.frozen import frozen

Side = Literal["ours", "theirs"]


@frozen(slots=False)
class Clash:
    """Both sides changed one entity, and not alike."""

    kind: Literal["divergent_insert", "divergent_update", "delete_vs_update"]
    columns: tuple[str, ...]
    """What they do not agree about; empty when it is whether the entity exists."""
    ours: RawRow | None
    """The outcome if our side is preferred: what nobody disagrees about is merged all the same."""
    theirs: RawRow | None

    def preferring(self, side: Side) -> RawRow | None:
        """The outcome with one side preferred."""
        return self.ours if side == "ours" else self.theirs


def decide(
    type_: EntityType, base: RawRow | None, ours: RawRow | None, theirs: RawRow | None, *, strict: bool
) -> RawRow | Clash | None:
    """The state of an entity after both sides, or why there is none."""
    if theirs == base or ours == theirs:
        return ours
    if ours == base:
        return theirs
    if ours is None or theirs is None:
        return Clash("delete_vs_update", (), ours, theirs)
    if base is None or strict:
        columns = tuple(name for unit in _units(type_) if not _agree(unit, ours, theirs) for name in unit)
        return Clash("divergent_insert" if base is None else "divergent_update", columns, ours, theirs)
    return _by_property(type_, base, ours, theirs)


def _by_property(type_: EntityType, base: RawRow, ours: RawRow, theirs: RawRow) -> RawRow | Clash:
    merged, other = dict(ours), dict(ours)
    contested: list[str] = []
    for unit in _units(type_):
        if _agree(unit, theirs, base) or _agree(unit, ours, theirs):
            continue
        if _agree(unit, ours, base):
            for name in unit:
                merged[name] = other[name] = theirs[name]
        else:
            contested += unit
            for name in unit:
                other[name] = theirs[name]
    return Clash("divergent_update", tuple(contested), merged, other) if contested else merged


def _agree(unit: tuple[str, ...], left: RawRow, right: RawRow) -> bool:
    return all(left[name] == right[name] for name in unit)


def _units(type_: EntityType) -> Iterator[tuple[str, ...]]:
    """Columns that are merged together."""
    if type_.is_edge:
        yield ("src", "dst")
    for name in sorted(type_.properties):
        yield (name,)
