"""Deletions as data: what a record or a row says that deletes an entity instead of writing it.

    {"op": "delete", "type": "Person", "data": {"name": "Ada"}}            by key, or by `id`
    {"op": "delete", "edge": "Knows", "from": "Ada", "to": "Bob"}          by its ends, if there is one such edge
    {"kind": "node", "type": {"name": "Person"}, "id": "Ada", "op": "delete", "before": …}      as the change feed writes it
    a column `_op` of a frame or file: `upsert` or `delete`

Records with an operation are steps: where several are about one entity, the last one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.model.frozen import frozen

COLUMN: Final = "_op"
"""The column that says what is done with a row."""

OPERATION: Final = "op"
"""The rule about operations."""

UPSERTS: Final = ("upsert", "insert", "update")
"""What writes an entity: a feed tells inserts from updates, and both write its image."""

DELETE: Final = "delete"

_KINDS: Final = {"node": "type", "edge": "edge"}


@frozen(slots=False)
class Removals:
    """Entities of one type that go, from one place, in their order there."""

    type: EntityType
    ids: pa.Array
    """Null: it is an edge that is named by its ends."""
    ends: tuple[pa.Array, pa.Array] | None
    file: str | None
    lines: Numbers


def is_operation(op: object) -> bool:
    """Whether a text says what is done with a record."""
    return isinstance(op, str) and (op == DELETE or op in UPSERTS)


def refusal(mode: Mode) -> str | None:
    """Why nothing can be deleted in a mode."""
    if mode is Mode.APPEND:
        return "append only adds, and cannot delete; use merge, patch or update"
    if mode is Mode.OVERWRITE:
        return "an overwrite leaves what is given and nothing else; to delete single entities, use merge, patch or update"
    return None


def names_column(type_: EntityType, names: Any) -> bool:
    """Whether columns say what is done with rows."""
    return COLUMN in names and COLUMN not in type_.properties


def is_change(record: Mapping[str, object]) -> bool:
    """Whether a record is a change as the feed writes it."""
    return isinstance(record.get("type"), Mapping) and isinstance(record.get("kind"), str) and "op" in record


def of_change(record: Mapping[str, Any]) -> dict[str, object]:
    """A change of the feed as a record: what is there after it, or what goes."""
    member, op = _KINDS.get(record["kind"], "type"), record["op"]
    image = record.get("before" if op == DELETE else "after")
    found: dict[str, object] = {"op": op, member: record["type"].get("name")}
    image = image if isinstance(image, Mapping) else {}
    ends, properties = image.get("endpoints"), image.get("properties")
    if member == "edge" and isinstance(ends, Mapping):
        found |= {end: ends.get(end) for end in ("from", "to")}
    id_ = {"id": record["id"]} if "id" in record else {}
    found["data"] = id_ if op == DELETE else {**id_, **(properties if isinstance(properties, Mapping) else {})}
    return found
