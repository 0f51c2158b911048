"""Conflicts of a merge or revert, as data, and their resolution.

    Conflict(kind="divergent_update", type="Person", entity="Ada", properties=("age",),
             base={"age": 36}, ours={"age": 37}, theirs={"age": 38}, key="divergent_update:node:Person:Ada")

`ours` is the branch that is merged into, `theirs` the one that is merged. A resolution says for all of them, or by key, which
side is preferred, or gives the values:

    resolve="theirs"
    resolve={"divergent_update:node:Person:Ada": {"age": 40}, "delete_vs_update:node:Person:Bob": "ours"}

Preferring a side means: every entity the conflict is about is as that side has it. So of an orphaned edge, preferring the side
that has the edge keeps it and the node it needs; preferring the side that removed the node removes the edge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

from omnigraph.catalog.catalog import EntityType, Kind
from omnigraph.engine.arrays.plain_values import plain, spelt
from omnigraph.engine.execution.result import wire
from omnigraph.engine.history.changes import shown
from omnigraph.engine.history.row_delta import RawRow
from omnigraph.engine.planning.parameters import convert
from omnigraph.engine.write.convert import stored
from omnigraph.errors import BlobRefused, MergeConflict, ParameterError, UsageError
from omnigraph.hints import Hint, Option
from omnigraph.model.blobs import managed, uri_of
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import one_line
from omnigraph.model.types import PropertyType, Scalar

ConflictKind = Literal[
    "divergent_insert",
    "divergent_update",
    "delete_vs_update",
    "orphan_edge",
    "unique_violation",
    "cardinality_violation",
    "value_constraint_violation",
]

Values = Mapping[str, object]
Choice = Literal["ours", "theirs"] | Values
Resolve = Literal["ours", "theirs"] | Mapping[str, Choice] | None

SHOWN = 3
"""Conflicts named in a message; the rest is counted."""

_WIRE_NAMES = {"src": "from", "dst": "to"}
_STORED_NAMES = {"from": "src", "to": "dst"}


@frozen(slots=False)
class Conflict:
    """One thing two sides do not agree about."""

    kind: ConflictKind
    entity_kind: Kind
    type: str
    entity: str | None
    message: str
    properties: tuple[str, ...] = ()
    """What it is about; `from` and `to` for the ends of an edge. Empty: whether the entity exists."""
    base: Values | None = None
    """These properties in the common state; None: the entity does not exist there."""
    ours: Values | None = None
    theirs: Values | None = None
    about: tuple[tuple[str, str], ...] = field(default=(), repr=False, compare=False)
    """Every entity it is about: key of the table, id."""

    @property
    def key(self) -> str:
        """What the conflict is called in a resolution: the same for the same conflict."""
        name = f"{self.kind}:{self.entity_kind}:{self.type}:{self.entity}"
        return f"{name}:{','.join(self.properties)}" if self.kind == "unique_violation" else name

    @property
    def breaks_a_rule(self) -> bool:
        """Whether what both sides have together is not allowed; otherwise what each side has says it all."""
        return self.kind.endswith("_violation") or self.kind == "orphan_edge"

    def __repr__(self) -> str:
        about = f" ({', '.join(self.properties)})" if self.properties else ""
        return one_line(f"Conflict: {self.kind.replace('_', ' ')}, {self.entity_kind} {self.type} {shown(self.entity)}{about}")

    def __str__(self) -> str:
        reported = f"{self.entity_kind} type '{self.type}', entity id '{self.entity}' ({self.kind})"
        return f"{reported}: {self.message}" if self.breaks_a_rule else reported

    def to_dict(self) -> dict[str, Any]:
        """The conflict as JSON-ready data."""
        data: dict[str, Any] = {
            "entity_kind": self.entity_kind,
            "type_name": self.type,
            "entity_id": self.entity,
            "kind": self.kind,
            "message": self.message,
            "key": self.key,
        }
        if self.properties:
            data["properties"] = list(self.properties)
        for name in ("base", "ours", "theirs"):
            values = getattr(self, name)
            data[name] = None if values is None else {k: _wire(v) for k, v in sorted(values.items())}
        return data


def in_order(conflicts: Iterable[Conflict]) -> tuple[Conflict, ...]:
    """Conflicts as they are reported: nodes before edges, by type, entity and kind; each once."""
    found: dict[str, Conflict] = {}
    for conflict in conflicts:
        known = found.get(conflict.key, conflict)
        about = tuple(dict.fromkeys((*known.about, *conflict.about)))
        found[conflict.key] = known if about == known.about else replace(known, about=about)
    return tuple(sorted(found.values(), key=lambda c: (c.entity_kind != "node", c.type, c.entity or "", c.kind, c.properties)))


def refused(conflicts: Sequence[Conflict], what: str, unused: Sequence[str] = ()) -> MergeConflict:
    """The error that carries them; keys that were resolved and that none of them has are named, too."""
    reported = "; ".join(str(c) for c in conflicts[:SHOWN])
    if len(conflicts) > SHOWN:
        reported += f"; and {len(conflicts) - SHOWN} more"
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(Counter(c.kind for c in conflicts).items()))
    message = f"{what} conflicts: {reported}" + (f" ({kinds})" if len(conflicts) > 1 else "")
    if unused:
        message += f"; and there is no conflict {unused[0]}, which was to be resolved"
    return MergeConflict(message, conflicts=conflicts)


def described(type_: EntityType, columns: Iterable[str], row: RawRow | None) -> dict[str, Any] | None:
    """Some values of a stored row, for people."""
    if row is None:
        return None
    return {_WIRE_NAMES.get(c, c): plain(type_.properties[c].type, row[c]) if c in type_.properties else row[c] for c in columns}


def wire_names(columns: Iterable[str]) -> tuple[str, ...]:
    """Columns by the names people know."""
    return tuple(_WIRE_NAMES.get(c, c) for c in columns)


def sides(values: tuple[Values | None, Values | None, Values | None]) -> str:
    """Three states in one line."""
    return ", ".join(f"{name} {_line(v)}" for name, v in zip(("base", "ours", "theirs"), values, strict=True))


def _line(values: Values | None) -> str:
    if values is None:
        return "does not exist"
    return "{" + ", ".join(f"{k}: {shown(v)}" for k, v in values.items()) + "}" if values else "exists"


def _wire(value: object) -> object:
    return spelt(PropertyType(Scalar.BLOB), managed(value)) if isinstance(value, bytes) else wire(value)


class Resolutions:
    """How conflicts are to be resolved, and which of the choices were used."""

    def __init__(self, resolve: Resolve) -> None:
        self._all: Literal["ours", "theirs"] | None = None
        self._by_key: Mapping[str, Choice] = {}
        self._used: set[str] = set()
        if isinstance(resolve, str):
            self._all = _side(resolve)
        elif resolve is not None:
            if not isinstance(resolve, Mapping):
                raise UsageError(
                    "resolve is a side or a mapping from conflict keys",
                    hint="Choose ours or theirs, or one of them, or values, for each key.",
                )
            for key, choice in resolve.items():
                if isinstance(choice, str):
                    _side(choice)
                elif not isinstance(choice, Mapping):
                    raise UsageError(
                        f"the resolution of {key} is neither a side nor values",
                        hint="Choose ours or theirs, or give values by property.",
                    )
            self._by_key = {key: choice for key, choice in resolve.items() if isinstance(choice, str | Mapping)}

    def of(self, conflict: Conflict) -> Choice | None:
        """What is to become of a conflict, if that was said."""
        if conflict.key in self._by_key:
            self._used.add(conflict.key)
            return self._by_key[conflict.key]
        return self._all

    @property
    def unused(self) -> tuple[str, ...]:
        """Keys that no conflict had."""
        return tuple(sorted(set(self._by_key) - self._used))

    def check_used(self) -> None:
        """Refuse keys that no conflict has: they were meant for another merge."""
        if self.unused:
            raise UsageError(
                f"there is no conflict {self.unused[0]}",
                hint=Hint("List the conflicts and their keys with ", Option("dry_run", True), "."),
            )


def _side(text: str) -> Literal["ours", "theirs"]:
    match text:
        case "ours":
            return "ours"
        case "theirs":
            return "theirs"
    raise UsageError(f"`{text}` is not a side", hint='"ours" is the branch that is merged into, "theirs" the one that is merged.')


def with_values(type_: EntityType, row: RawRow, values: Values, conflict: Conflict) -> RawRow:
    """A row with values that were given to resolve a conflict."""
    changed = dict(row)
    key = type_.key_names
    for name, value in values.items():
        column = _STORED_NAMES.get(name, name) if type_.is_edge else name
        prop = type_.properties.get(column)
        if column in ("src", "dst") and column not in key and prop is None and type_.is_edge:
            if not isinstance(value, str):
                raise ParameterError(f"`{name}` of {type_.name} is the id of a node, not {value!r}")
            changed[column] = value
        elif prop is None or column in key:
            why = "is the identity of an entity and cannot be changed" if column in key else "is not a property"
            raise UsageError(f"the resolution of {conflict.key}: `{name}` {why}")
        elif isinstance(value, bytes):
            changed[column] = managed(value)
        else:
            given = stored(column, prop.type, convert(column, prop.type, value))
            if isinstance(given, bytes) and uri_of(given) is not None:
                raise BlobRefused(
                    f"the resolution of {conflict.key}: `{name}` cannot be a URI", hint="Choose a side, or give the bytes."
                )
            changed[column] = given
    missing = [name for name in conflict.properties if name not in values] if conflict.kind.startswith("divergent") else []
    if missing:
        raise UsageError(
            f"the resolution of {conflict.key} has no value for `{missing[0]}`", hint="Give every property of the conflict."
        )
    return changed
