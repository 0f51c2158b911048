"""The algorithms and their parameters, as values: the same for every runner."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import pyarrow as pa

from omnigraph.engine.analytics.scope import Direction
from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen


@frozen
class Degree:
    """Edges of each node."""

    name: ClassVar[str] = "degree"
    type: ClassVar[pa.DataType] = pa.int64()
    direction: Direction


@frozen
class PageRank:
    """The share of time a random walker spends at each node."""

    name: ClassVar[str] = "rank"
    type: ClassVar[pa.DataType] = pa.float64()
    damping: float
    rounds: int
    tolerance: float

    def __post_init__(self) -> None:
        if not 0 <= self.damping < 1:
            raise UsageError(f"damping cannot be {self.damping}", hint="It is at least 0 and less than 1; 0.85 is usual.")
        _at_least(self.rounds, 1, "rounds")
        if self.tolerance < 0:
            raise UsageError(f"tolerance cannot be {self.tolerance}", hint="It is 0 or more.")


@frozen
class Components:
    """Which nodes are connected."""

    name: ClassVar[str] = "component"
    type: ClassVar[pa.DataType] = pa.int64()


@frozen
class LabelPropagation:
    """Communities by majority."""

    name: ClassVar[str] = "community"
    type: ClassVar[pa.DataType] = pa.int64()
    rounds: int

    def __post_init__(self) -> None:
        _at_least(self.rounds, 1, "rounds")


@frozen
class Triangles:
    """Triangles each node is a corner of."""

    name: ClassVar[str] = "triangles"
    type: ClassVar[pa.DataType] = pa.int64()


@frozen
class Reach:
    """How far nodes are from the nearest of some nodes; those that cannot be reached are left out."""

    name: ClassVar[str] = "hops"
    type: ClassVar[pa.DataType] = pa.int64()
    sources: dict[str, list[str]] = field(hash=False)
    direction: Direction
    most: int | None
    """Most hops; None: as many as it takes."""
    paths: bool
    """Whether to tell the node before each one on the way."""

    def __post_init__(self) -> None:
        if self.most is not None:
            _at_least(self.most, 0, "hops")


Algorithm = Degree | PageRank | Components | LabelPropagation | Triangles | Reach


def columns_of(algorithm: Algorithm) -> pa.Schema:
    """The columns of the answer."""
    fields = [pa.field("type", pa.string()), pa.field("id", pa.string()), pa.field(algorithm.name, algorithm.type)]
    if isinstance(algorithm, Reach) and algorithm.paths:
        fields += [pa.field("previous_type", pa.string()), pa.field("previous_id", pa.string())]
    return pa.schema(fields)


def _at_least(given: int, least: int, what: str) -> None:
    if given < least:
        raise UsageError(f"{given} {what} is too few", hint=f"Ask for at least {least}.")
