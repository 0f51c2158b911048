"""Changes of entities, as people and programs see them.

    Change(kind="node", type="Person", id="Ada", op="update", before=Image(…), after=Image(…))

The order is frozen: nodes before edges, then the opaque id of the type, then the id of the entity. An entity stands in a list of
changes once. Values are spelt as in an export (`arrays.plain_values`). The opaque id of a type survives a rename and is
another one when a type is dropped and made again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np

from omnigraph.catalog.catalog import Catalog, EntityType, Kind
from omnigraph.engine.arrays.plain_values import plain, spelt
from omnigraph.engine.history.row_delta import RawRow, RowDelta
from omnigraph.errors import UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line
from omnigraph.model.printable import printable

Op = Literal["insert", "update", "delete"]

OPS: tuple[Op, ...] = ("insert", "update", "delete")
KINDS: tuple[Kind, ...] = ("node", "edge")


@frozen(slots=False)
class Image:
    """An entity as it was or is. Values are plain Python."""

    properties: Mapping[str, Any]
    endpoints: tuple[str, str] | None = None
    """Ids of source and target, for an edge."""
    _encoded: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        ends = "" if self.endpoints is None else f" {shown(self.endpoints[0])} -> {shown(self.endpoints[1])}"
        return one_line(f"Image{ends}: {', '.join(f'{name} {shown(value)}' for name, value in self.properties.items())}")

    def to_dict(self) -> dict[str, Any]:
        """The image as JSON-ready data, values spelt as in an export."""
        data: dict[str, Any] = {"properties": dict(self._encoded if self._encoded is not None else self.properties)}
        if self.endpoints is not None:
            data["endpoints"] = {"from": self.endpoints[0], "to": self.endpoints[1]}
        return data


@frozen(slots=False)
class Change:
    """What happened to one entity."""

    kind: Kind
    type: str
    type_id: str
    """Opaque; survives a rename."""
    id: str
    op: Op
    before: Image | None
    after: Image | None
    properties: tuple[str, ...] = ()
    """What an update changed; `from` and `to` for a moved edge."""

    def __repr__(self) -> str:
        changed = f" ({', '.join(self.properties)})" if self.properties else ""
        return one_line(f"{self.op.capitalize()} of {self.kind} {self.type} {shown(self.id)}{changed}")

    @property
    def endpoints(self) -> tuple[str, str] | None:
        """Source and target of an edge, after the change if there is an after."""
        image = self.after or self.before
        return None if image is None else image.endpoints

    def to_record(self) -> dict[str, Any]:
        """The change as a record that a load takes: `other.load(change for page in pages for change in page.changes)`."""
        image, member = self.after or self.before, "edge" if self.kind == "edge" else "type"
        record: dict[str, Any] = {"op": "delete" if self.op == "delete" else "upsert", member: self.type}
        if image is not None and image.endpoints is not None:
            record |= {"from": image.endpoints[0], "to": image.endpoints[1]}
        properties = {} if self.after is None else self.after.to_dict()["properties"]
        return {**record, "data": {"id": self.id, **properties}}

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON-ready data."""
        data: dict[str, Any] = {
            "kind": self.kind,
            "type": {"id": self.type_id, "name": self.type},
            "id": self.id,
            "op": self.op,
        }
        if self.before is not None:
            data["before"] = self.before.to_dict()
        if self.after is not None:
            data["after"] = self.after.to_dict()
        return data


Identity = tuple[int, int]
"""What a type is, whatever it is called: its stable id, and how often a type was made under it."""


@frozen(slots=False)
class Filter:
    """Which changes are wanted. Empty: all of them."""

    kinds: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    ops: frozenset[str] = frozenset()
    followed: frozenset[Identity] = frozenset()
    """Types that had one of the names when the filter was made, and are wanted whatever they are called since."""

    @classmethod
    def of(cls, kinds: Iterable[str] | str | None, types: Iterable[str] | str | None, ops: Iterable[str] | str | None) -> Filter:
        """A filter from names."""
        chosen = cls(_names(kinds), _names(types), _names(ops))
        for given, known, what in ((chosen.kinds, KINDS, "kind"), (chosen.ops, OPS, "op")):
            for name in sorted(given - set(known)):
                raise UsageError(f"no {what} `{name}`", hint=f"There are {', '.join(known)}.")
        return chosen

    def check(self, *catalogs: Catalog) -> None:
        """Refuse names of types that do not exist in any of some catalogs."""
        known = {name for catalog in catalogs for name in (*catalog.nodes, *catalog.edges)}
        for name in sorted(self.types - known):
            raise UsageError(f"no type `{name}`", hint=did_you_mean(name, known) or f"There are {', '.join(sorted(known))}.")

    def wants(self, type_: EntityType) -> bool:
        """Whether changes of a type are wanted at all."""
        kind = type_.kind
        if self.kinds and kind not in self.kinds:
            return False
        return not self.types or type_.name in self.types or (type_.type_id, type_.incarnation) in self.followed

    def following(self, known: Iterable[Identity] = (), *catalogs: Catalog) -> Filter:
        """The same, which also wants the types that are known, and those that have one of the names in a catalog."""
        if not self.types:
            return self
        every: list[EntityType] = []
        for catalog in catalogs:
            every += [*catalog.nodes.values(), *catalog.edges.values()]
        named = {(t.type_id, t.incarnation) for t in every if t.name in self.types}
        return replace(self, followed=self.followed | named | set(known))

    def applied(self, delta: RowDelta) -> RowDelta:
        """The wanted part of a delta."""
        if not self.ops:
            return delta
        codes = [OPS.index(op) for op in OPS if op in self.ops]
        return delta.only(np.isin(delta.operations, codes))

    def to_dict(self) -> dict[str, list[str]]:
        """The filter as data, always the same for the same filter."""
        return {name: sorted(getattr(self, name)) for name in ("kinds", "types", "ops") if getattr(self, name)}


ALL = Filter()


class ChangeList(Sequence[Change]):
    """Changes in their frozen order, made when they are looked at."""

    def __init__(self, deltas: Iterable[RowDelta], domain: str) -> None:
        found = [(not d.is_node, opaque_type_id(domain, d.type), d) for d in deltas if not d.is_empty]
        self.deltas = [(type_id, delta) for _, type_id, delta in sorted(found, key=lambda f: f[:2])]
        self._sizes = [len(delta.ids) for _, delta in self.deltas]

    def __len__(self) -> int:
        return sum(self._sizes)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self))
            return list(self.between(start, stop))[::step] if step > 0 else list(self)[at]
        at = at + len(self) if at < 0 else at
        if not 0 <= at < len(self):
            raise IndexError(at)
        return next(self.between(at, at + 1))

    def __iter__(self) -> Iterator[Change]:
        return self.between(0, len(self))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if not self:
            return "no changes"
        named = [f"{change.op} {change.type} {shown(change.id)}" for change in self[:3]]
        return one_line(f"{counted(len(self), 'change')}: {', '.join([*named, '…'] if len(self) > 3 else named)}")

    def between(self, start: int, stop: int, *, batch: int = 1024) -> Iterator[Change]:
        """Some of them."""
        for (type_id, delta), size in zip(self.deltas, self._sizes, strict=True):
            for at in range(max(start, 0), min(stop, size), batch):
                yield from changes_of(delta, type_id, at, min(at + batch, stop, size))
            start, stop = start - size, stop - size
            if stop <= 0:
                return

    @cached_property
    def stats(self) -> ChangeStats:
        """How many of what."""
        inserts, updates, deletes = (sum(delta.count(code) for _, delta in self.deltas) for code in range(3))
        return ChangeStats(inserts, updates, deletes, tuple(sorted({delta.type.name for _, delta in self.deltas})))


@frozen
class ChangeStats:
    """Changes in numbers."""

    inserts: int
    updates: int
    deletes: int
    types_affected: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The numbers as JSON-ready data."""
        return {
            "inserts": self.inserts,
            "updates": self.updates,
            "deletes": self.deletes,
            "types_affected": list(self.types_affected),
        }

    def __repr__(self) -> str:
        total = self.inserts + self.updates + self.deletes
        if not total:
            return "no changes"
        numbers = zip((self.inserts, self.updates, self.deletes), OPS, strict=True)
        parts = [counted(count, name) for count, name in numbers if count]
        return f"{counted(total, 'change')}: {', '.join(parts)}"


def changes_of(delta: RowDelta, type_id: str, start: int, stop: int) -> Iterator[Change]:
    """Some changes of one type, in order."""
    kind = delta.type.kind
    names = {"src": "from", "dst": "to"}
    changed = {names.get(name, name): mask for name, mask in delta.changed_columns.items()}
    for at, (id_, old, new) in enumerate(delta.images(start, stop), start):
        op = OPS[int(delta.operations[at])]
        properties = tuple(name for name, mask in changed.items() if mask[at]) if op == "update" else ()
        yield Change(kind, delta.type.name, type_id, id_, op, image(delta.type, old), image(delta.type, new), properties)


def image(type_: EntityType, row: RawRow | None) -> Image | None:
    """A stored row as an image."""
    if row is None:
        return None
    properties = {name: plain(prop.type, row[name]) for name, prop in type_.properties.items()}
    encoded = {name: spelt(prop.type, row[name]) for name, prop in sorted(type_.properties.items())}
    ends = (str(row["src"]), str(row["dst"])) if type_.is_edge else None
    return Image(properties, ends, encoded)


def opaque_type_id(domain: str, type_: EntityType) -> str:
    """What a type is called where names may change."""
    packed = domain.encode() + b"\x1f" + struct.pack("<Q", type_.type_id) + b"\x1f" + struct.pack("<Q", type_.incarnation)
    return base64.urlsafe_b64encode(hashlib.sha256(packed).digest()).rstrip(b"=").decode("ascii")


def _names(given: Iterable[str] | str | None) -> frozenset[str]:
    if given is None:
        return frozenset()
    return frozenset([given] if isinstance(given, str) else given)


def shown(value: object) -> str:
    """A value in one short line."""
    match value:
        case None:
            return "<null>"
        case bytes():
            return f"<{counted(len(value), 'byte')}>"
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
        case bool():
            return "true" if value else "false"
        case float():
            return _number(value)
        case list() if len(value) > 4:
            return f"[{', '.join(_item(v) for v in value[:3])}, … {len(value)}]"
        case list():
            value = f"[{', '.join(_item(v) for v in value)}]"
    text = printable(str(value).replace("\n", "⏎"))
    return text if len(text) <= 40 else text[:39] + "…"


def _item(value: object) -> str:
    """An element of a list: texts in quotes, as JSON has them."""
    return "null" if value is None else json.dumps(value, ensure_ascii=False) if isinstance(value, str) else shown(value)


def _number(value: float) -> str:
    """A number as somebody would write it: 0.85, also where 32 bits keep 0.8500000238418579."""
    if value != _in_32_bits(value):
        return str(value)
    return next(text for digits in range(6, 18) if _in_32_bits(float(text := str(float(f"{value:.{digits}g}")))) == value)


def _in_32_bits(value: float) -> float | None:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return None
