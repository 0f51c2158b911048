"""Values of entities as Python has them, where JSON has only texts: by the schema they are written in.

"2024-05-01"    of a Date        date(2024, 5, 1)
"base64:aGk="   of a Blob        b"hi"
"NaN"           of an F64        float("nan")
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from msgspec import UNSET

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.history.changes import Change, Image
from omnigraph.engine.history.conflicts import Conflict
from omnigraph.model.types import PropertyType, Scalar
from omnigraph.wire import outputs as o

_MANAGED = "base64:"


def value_of(type_: PropertyType, value: Any) -> Any:
    """A value as Python has it. A day that Python's calendar does not have stays text."""
    if isinstance(value, list):
        return [value_of(type_, item) for item in value]
    if not isinstance(value, str):
        return value
    if type_.is_blob:
        return base64.b64decode(value.removeprefix(_MANAGED)) if value.startswith(_MANAGED) else value
    try:
        match type_.scalar:
            case Scalar.DATE:
                return date.fromisoformat(value)
            case Scalar.DATETIME:
                return datetime.fromisoformat(value)
            case Scalar.F32 | Scalar.F64 | Scalar.VECTOR:
                return float(value)
            case _:
                return value
    except ValueError:
        return value


class Typed:
    """What is said of entities, read by a schema. What the schema does not know stays as it is."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def _type(self, kind: str, name: str) -> EntityType | None:
        types: Mapping[str, EntityType] = self._catalog.nodes if kind == "node" else self._catalog.edges
        return types.get(name)

    def properties(self, kind: str, name: str, said: Mapping[str, Any]) -> dict[str, Any]:
        """Properties of an entity, in the order of its type."""
        type_ = self._type(kind, name)
        known = {} if type_ is None else type_.properties
        names = [*(n for n in known if n in said), *(n for n in said if n not in known)]
        return {n: value_of(known[n].type, said[n]) if n in known else said[n] for n in names}

    def image(self, kind: str, name: str, said: Any) -> Image | None:
        """An entity before or after a change."""
        if said is UNSET or said is None:
            return None
        ends = None if said.endpoints is UNSET else (said.endpoints.from_, said.endpoints.to)
        return Image(self.properties(kind, name, said.properties), ends, said.properties)

    def change(self, said: o.EntityChangeOutput, before: Typed | None = None) -> Change:
        """A change; `before` reads the entity as it was, if that was under another schema."""
        name = said.type.name
        old, new = (before or self).image(said.kind, name, said.before), self.image(said.kind, name, said.after)
        changed: tuple[str, ...] = ()
        if old is not None and new is not None:
            changed = tuple(n for n in new.properties if new.to_dict()["properties"][n] != old.to_dict()["properties"].get(n))
            if old.endpoints is not None and new.endpoints is not None:
                ends = zip(("from", "to"), old.endpoints, new.endpoints, strict=True)
                changed = (*(end for end, was, is_ in ends if was != is_), *changed)
        return Change(said.kind, name, said.type.id, said.id, said.op, old, new, changed)

    def conflict(self, conflict: Conflict) -> Conflict:
        """A conflict with the values of each side as Python has them."""
        sides: dict[str, Any] = {
            side: None if values is None else self.properties(conflict.entity_kind, conflict.type, values)
            for side, values in (("base", conflict.base), ("ours", conflict.ours), ("theirs", conflict.theirs))
        }
        return replace(conflict, **sides)
