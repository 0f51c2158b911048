"""What a load needs to know of the types of a graph, as one value that can be sent to any worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.shape import Unique
from omnigraph.engine.arrays.column import Mask
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.blobs.settling import External
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.read.rows.removals import Removals
from omnigraph.engine.write.violations import Violation
from omnigraph.model.frozen import frozen

ENDS: Final = {"src": ("from", "src"), "dst": ("to", "dst")}
"""How the ends of an edge are spelt in columns and rows."""


def label(type_: EntityType) -> str:
    """A name for a type that no other type of the graph has."""
    return type_.name if type_.is_node else f"edge {type_.name}"


def key_of(type_: EntityType) -> tuple[str, ...]:
    """Names of what the key is made of, in the order of the id."""
    return tuple(p.name for p in type_.key)


def identifying(type_: EntityType) -> tuple[str, ...]:
    """Columns that say which entity a row is about."""
    return key_of(type_) or ("id",)


@frozen(slots=False)
class Rows:
    """Rows of one type, from one place, in their order there."""

    type: EntityType
    batch: pa.RecordBatch
    """The columns of the type. An id that is still to be made is null."""
    file: str | None
    lines: Numbers
    """The line (or record, or row) of each, from 1."""
    absent: Mapping[str, Mask] = field(default_factory=dict)
    """By column, which rows do not say anything about it, where that is allowed: their value is null until they are completed."""
    stepwise: bool = False
    """Whether records say what is done with them: then the last one of an entity counts."""

    @property
    def count(self) -> int:
        return int(self.batch.num_rows)

    def only(self, mask: Mask) -> Rows:
        """Some of them."""
        absent = {name: lacking[mask] for name, lacking in self.absent.items()}
        return Rows(self.type, self.batch.filter(pa.array(mask)), self.file, self.lines[mask], absent, self.stepwise)


class RowPlaces:
    """The place of each row, made when it is asked for."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return self._rows.count

    def __getitem__(self, row: int, /) -> tuple[str | None, int]:
        return self._rows.file, int(self._rows.lines[row])


def absent_of(parts: Sequence[Rows]) -> dict[str, Mask]:
    """What rows one after the other do not say anything about."""
    names = dict.fromkeys(name for part in parts for name in part.absent)
    return {name: np.concatenate([p.absent.get(name, np.zeros(p.count, np.bool_)) for p in parts]) for name in names}


@frozen(slots=False)
class Parsed:
    """What came of a chunk."""

    rows: tuple[Rows, ...] = ()
    violations: tuple[Violation, ...] = ()
    doubtful: tuple[tuple[str, str], ...] = ()
    """Node type and id of rows that broke a rule and were left out: edges to them are not reported too."""
    broken: frozenset[str] = frozenset()
    """Labels of types of which rows were left out."""
    renamed: tuple[tuple[str, str, str], ...] = ()
    """Node type, an old spelling of an id, and the id: edges of the same input follow."""
    lines: int = 0
    bytes: int = 0
    records: Mapping[int, object] = field(default_factory=dict)
    """By line: records of which something is wrong, if they are to be kept (`Types.keeps`)."""
    removals: tuple[Removals, ...] = ()
    """What is deleted."""


@frozen(slots=False)
class Types:
    """The types rows may have."""

    catalog: Catalog
    external: External = field(default_factory=External)
    """What is done with URIs that are given for Blobs."""
    lossy: bool = False
    """Whether values that do not fit exactly are rounded."""
    keeps: bool = False
    """Whether records of which something is wrong are kept, where they cannot be read again."""
    mode: Mode = Mode.MERGE
    """What is done with rows: in some modes they need not be whole."""
    kept: dict[str, tuple[str, ...]] = field(init=False)
    """By label: columns that the rules about sets of rows look at."""

    def __post_init__(self) -> None:
        found = {}
        for type_ in self.every():
            implicit = type_.implicit
            unique = [c for constraint in type_.constraints if isinstance(constraint, Unique) for c in constraint.columns]
            found[label(type_)] = tuple(dict.fromkeys((*implicit, *unique)))
        object.__setattr__(self, "kept", found)

    @property
    def partial(self) -> bool:
        """Whether rows may leave out what is to stay as it is."""
        return self.mode.is_partial

    def every(self) -> list[EntityType]:
        """All of them."""
        return [*self.catalog.nodes.values(), *self.catalog.edges.values()]

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each type, by label."""
        return {label(t): columns_of(t) for t in self.every()}

    def schema(self, type_: EntityType) -> pa.Schema:
        """The columns of a type."""
        return self.schemas[label(type_)]


def line_numbers(first: int, count: int) -> Numbers:
    """Consecutive lines."""
    return np.arange(first, first + count, dtype=np.int64)
