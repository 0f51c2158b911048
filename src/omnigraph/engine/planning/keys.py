"""Keys as people give them, and the id they mean.

    node Person { name: String @key }                  "Ada"                    {"name": "Ada"}
    node Order { …  @key(tenant, number) }             ("acme", 7)              {"tenant": "acme", "number": 7}
    edge Knows: Person -> Person @key(src, dst)        ("Ada", "Bob")           {"from": "Ada", "to": "Bob"}

The values of a tuple stand in the order in which the schema writes the key. What is taken for which type is said by the table
of `omnigraph.model.conversions`, as for parameters. Entities of a type without a key are named
by their ids, which are texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.keys import KeyValue, entity_id
from omnigraph.errors import KeyValueError, UsageError
from omnigraph.language import Source, parse_schema
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.pg import tree as pg
from omnigraph.model.conversions import Door, Misfit, convert
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted

KeyGiven = str | int | float | bool | date | datetime | Sequence[object] | Mapping[str, object]
"""The key of an entity: its value, several in a tuple, or values by name."""


@frozen(slots=False)
class KeySchema:
    """What keys are read by: the types, and the text of the schema, which says how their keys are written."""

    catalog: Catalog
    source: Callable[[], str]


_ENDS = {"from": "src", "to": "dst"}


def id_of(schema: KeySchema, type_: EntityType, key: KeyGiven) -> str:
    """The id of the entity with a key, whether or not there is one."""
    if not type_.key:
        if isinstance(key, str):
            return str(key)
        raise UsageError(f"{type_.name} has no key", hint="Give the id of the entity, a text.")
    if len(type_.key) == 1 and not isinstance(key, Mapping | tuple | list):
        return entity_id(type_.key, {type_.key[0].name: _stored(type_, type_.key[0].name, key)})
    named = _by_name(schema, type_, key)
    ends = {"src": type_.source, "dst": type_.target} if type_.is_edge else {}
    values: dict[str, KeyValue | None] = {}
    for prop in type_.key:
        value, end = named[prop.name], ends.get(prop.name)
        is_end = end is not None and prop.name not in type_.properties
        values[prop.name] = id_of(schema, schema.catalog.nodes[end], value) if is_end else _stored(type_, prop.name, value)  # type: ignore[arg-type, index]
    return entity_id(type_.key, values)


def _by_name(schema: KeySchema, type_: EntityType, key: KeyGiven) -> dict[str, object]:
    names = [prop.name for prop in type_.key]
    if isinstance(key, Mapping):
        given = {(_ENDS.get(name, name) if type_.is_edge else name): value for name, value in key.items()}
        unknown = next((name for name in given if name not in names), None)
        if unknown is not None:
            hint = did_you_mean(unknown, names) or f"Its key is {_listed(schema, type_)}."
            raise UsageError(f"`{unknown}` is not part of the key of {type_.name}", hint=hint)
        missing = next((name for name in names if name not in given), None)
        if missing is not None:
            raise UsageError(f"the key of {type_.name} lacks `{missing}`", hint=f"It is {_listed(schema, type_)}.")
        return given
    if not isinstance(key, tuple | list) or len(key) != len(names):
        came = counted(len(key), "value") if isinstance(key, tuple | list) else f"one {type(key).__name__}"
        raise UsageError(
            f"the key of {type_.name} is {counted(len(names), 'value')}, not {came}",
            hint=f"Give a value for each of {_listed(schema, type_)}, in this order.",
        )
    return dict(zip(_written(schema, type_), key, strict=True))


def _stored(type_: EntityType, name: str, value: object) -> KeyValue | None:
    (prop,) = (prop for prop in type_.key if prop.name == name)
    try:
        return convert(prop.type, value, Door.PARAMETERS)  # type: ignore[return-value]
    except Misfit as misfit:
        message = f"key property `{name}` of {type_.name} {misfit}"[:300]
        raise KeyValueError(message, hint=f"Give a value that {prop.type} can hold.") from None


def _listed(schema: KeySchema, type_: EntityType) -> str:
    return ", ".join(_written(schema, type_))


def _written(schema: KeySchema, type_: EntityType) -> tuple[str, ...]:
    """The names of a key in the order in which the schema writes them."""
    names = tuple(prop.name for prop in type_.key)
    written = _written_keys(schema.source()).get((type_.kind, type_.name), ())
    return written if sorted(written) == sorted(names) else names


@lru_cache(maxsize=16)
def _written_keys(text: str) -> dict[tuple[str, str], tuple[str, ...]]:
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for declared in parse_schema(Source(text, "<schema>")).declarations:
        if isinstance(declared, pg.Node | pg.Edge):
            for constraint in _constraints(declared):
                if constraint.kind is pg.ConstraintKind.KEY:
                    kind = "node" if isinstance(declared, pg.Node) else "edge"
                    names = (part.value for part in constraint.arguments if isinstance(part, pg.Literal))
                    found[kind, declared.name.text] = tuple(names)
    return found


def _constraints(declared: pg.Node | pg.Edge) -> Sequence[pg.Constraint]:
    header: tuple[pg.Constraint, ...] = getattr(declared, "constraints", ())
    return (*header, *(() if declared.body is None else declared.body.constraints))
