"""Statistics of a graph, property by property: number of values, of missing values and of distinct values, minimum and maximum.

Every part of a type is counted by itself, anywhere, and the counts are put together. Nearly everything adds up; how many values
differ does not, so each part keeps the `SKETCH` smallest hashes of its values: the smallest of all are among them. While there
are fewer than that, the count is exact; beyond, it is estimated from how close they stand together, to about three per cent.

    hashes are spread evenly over 0 … 1: if the 1024th smallest is 0.001, there are about 1024 / 0.001 of them
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.plain_values import plain, plain_array
from omnigraph.engine.export.lines import exported_types
from omnigraph.engine.snapshot.view import View
from omnigraph.model.frozen import frozen
from omnigraph.storage.files.place import Place
from omnigraph.storage.tables.rows import fragments, scan_images
from omnigraph.storage.tables.work import PinnedTable, Run, cut

SKETCH: Final = 1_024
PART_ROWS: Final = 262_144

Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]


@frozen(slots=False)
class PropertyStatistics:
    """One property of a type."""

    name: str
    values: int = 0
    """Entities that have it."""
    missing: int = 0
    minimum: Any = None
    """Of what has an order: numbers, texts, dates, moments."""
    maximum: Any = None
    total: float | None = None
    """Of numbers; of lists and texts, of their lengths."""
    hashes: Hashes = field(default_factory=lambda: np.empty(0, np.uint64), repr=False, compare=False)

    @property
    def mean(self) -> float | None:
        """Of numbers; of lists and texts, of their lengths."""
        return None if self.total is None or not self.values else self.total / self.values

    @property
    def is_exact(self) -> bool:
        """Whether `distinct` is exact."""
        return len(self.hashes) < SKETCH

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        if self.is_exact:
            return len(self.hashes)
        return round((SKETCH - 1) / (int(self.hashes[-1]) / 2**64))

    def with_(self, other: PropertyStatistics) -> PropertyStatistics:
        """Both together."""
        lows = [v for v in (self.minimum, other.minimum) if v is not None]
        highs = [v for v in (self.maximum, other.maximum) if v is not None]
        totals = [v for v in (self.total, other.total) if v is not None]
        hashes = np.unique(np.concatenate([self.hashes, other.hashes]))[:SKETCH]
        return PropertyStatistics(
            self.name,
            self.values + other.values,
            self.missing + other.missing,
            min(lows, default=None),
            max(highs, default=None),
            sum(totals) if totals else None,
            hashes,
        )

    def to_dict(self) -> dict[str, Any]:
        """The numbers as data."""
        return {
            "name": self.name,
            "values": self.values,
            "missing": self.missing,
            "distinct": self.distinct,
            "distinct_is_exact": self.is_exact,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "mean": self.mean,
        }


@frozen(slots=False)
class TypeStatistics:
    """One node or edge type."""

    name: str
    rows: int
    properties: tuple[PropertyStatistics, ...]

    def __getitem__(self, name: str) -> PropertyStatistics:
        return next(p for p in self.properties if p.name == name)


@frozen(slots=False)
class StatisticsPart:
    """Fragments of a type for one process to count."""

    table: PinnedTable
    type: EntityType
    fragments: tuple[int, ...]


def statistics(view: View, place: Place, *, types: Iterable[str] | None = None, run: Run) -> list[TypeStatistics]:
    """The numbers of some types, or all, at a commit."""
    chosen = exported_types(view.catalog, types)
    parts: list[StatisticsPart] = []
    for type_ in chosen:
        stored = view.stored(type_)
        groups = cut(fragments(stored.table), PART_ROWS)
        parts += [StatisticsPart(PinnedTable.of(place, stored.state), type_, group) for group in groups]
    done = run(count_part, parts)
    found = []
    for type_ in chosen:
        mine = [d for part, d in zip(parts, done, strict=True) if part.type is type_]
        counted = tuple(_shown(type_, one) for one in _together(_columns(type_), mine))
        found.append(TypeStatistics(type_.name, view.stored(type_).rows, counted))
    return found


def _columns(type_: EntityType) -> list[str]:
    implicit = [] if type_.is_node else ["src", "dst"]
    return [*implicit, *(name for name, prop in type_.properties.items() if not prop.type.is_blob)]


def _together(names: Sequence[str], parts: Sequence[Sequence[PropertyStatistics]]) -> tuple[PropertyStatistics, ...]:
    empty = [PropertyStatistics(name) for name in names]
    return tuple(reduce(PropertyStatistics.with_, (part[at] for part in parts), start) for at, start in enumerate(empty))


def _shown(type_: EntityType, counted: PropertyStatistics) -> PropertyStatistics:
    """With values as answers have them."""
    prop = type_.properties.get(counted.name)
    if prop is None:
        return counted
    return replace(counted, minimum=plain(prop.type, counted.minimum), maximum=plain(prop.type, counted.maximum))


def count_part(part: StatisticsPart) -> list[PropertyStatistics]:
    """The numbers of some fragments; what is the least and the most, as it is stored."""
    names = _columns(part.type)
    found = [PropertyStatistics(name) for name in names]
    if not names:
        return found
    for batch in scan_images(part.table.open(), names, fragments=part.fragments, batch_rows=65_536):
        found = [one.with_(_counted(name, batch.column(name))) for one, name in zip(found, names, strict=True)]
    return found


def _counted(name: str, column: pa.Array) -> PropertyStatistics:
    there = column.drop_null()
    kind = column.type
    minimum = maximum = total = None
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        total = float(pc.sum(pc.list_value_length(there)).as_py() or 0)
    elif len(there):
        if not pa.types.is_boolean(kind):
            ends = pc.min_max(_ordered(there)).as_py()
            minimum, maximum = ends["min"], ends["max"]
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            total = float(pc.sum(there.cast(pa.float64(), safe=False)).as_py())
        elif pa.types.is_string(kind):
            total = float(pc.sum(pc.utf8_length(there)).as_py())
    return PropertyStatistics(name, len(there), column.null_count, minimum, maximum, total, _hashes(there))


def _ordered(values: pa.Array) -> pa.Array:
    """Dates and moments as the numbers they are stored as: parts of them are compared before they are shown."""
    if pa.types.is_date(values.type):
        return values.cast(pa.int32())
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def _hashes(values: pa.Array) -> Hashes:
    """The smallest hashes of different values."""
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        width = kind.bit_width
        if pa.types.is_floating(kind):
            values = pc.add(values, pa.scalar(0.0, kind))  # both zeros are one value
        numbers = pc.unique(values).view(pa.int64() if width == 64 else pa.int32()).to_numpy().astype(np.int64)
        return np.unique(_mixed(numbers.view(np.uint64)))[:SKETCH]
    if pa.types.is_string(kind) or pa.types.is_boolean(kind):
        different: Iterable[bytes] = (str(v).encode() for v in pc.unique(values).to_pylist())
    else:
        different = {repr(v).encode() for v in plain_array(values)}
    digests = b"".join(hashlib.blake2b(value, digest_size=8).digest() for value in different)
    return np.unique(np.frombuffer(digests, np.uint64))[:SKETCH]


def _mixed(numbers: Hashes) -> Hashes:
    """Numbers spread evenly, equal ones alike (the finish of splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))
