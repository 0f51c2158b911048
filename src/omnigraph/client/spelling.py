"""Values on their way to a server, as JSON has them.

JSON has texts, numbers and lists. A date, bytes or a `Decimal` would arrive as one of those, and be taken for a text or a number
that somebody gave: a date for a String property is refused by an open graph, and its text would be stored by a server. So what
JSON has no form of is converted here, for the type that it is meant for and by the one table of conversions, and spelt as that
type is:

    Date       date(2024, 5, 1)   "2024-05-01"            String     date(2024, 5, 1)   refused, in the words of an open graph
    I32        Decimal("1E+3")    1000                    F64        float("nan")       refused

What it is meant for is said by the query (its parameters) or by the schema. Where neither says it, the server has no use for the
value and tells so.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from math import isfinite

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.planning.parameters import convert
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.engine.write.violations import Violation
from omnigraph.errors import ParseError
from omnigraph.language import parse_queries
from omnigraph.language.source import Source
from omnigraph.model.blobs import BASE64, bytes_of, uri_of
from omnigraph.model.conversions import Door, Misfit, shown
from omnigraph.model.conversions import convert as converted
from omnigraph.model.times import date_text, datetime_text
from omnigraph.model.types import PropertyType, Scalar


def is_native(value: object) -> bool:
    """Whether a value arrives as what it is."""
    kind = type(value)
    if kind is str:
        assert isinstance(value, str)
        return value.isascii() or _is_unicode(value)
    if kind is float:
        return isfinite(value)  # type: ignore[arg-type]
    if kind in (list, tuple):
        return all(map(is_native, value))  # type: ignore[call-overload]
    if kind is dict:
        return all(type(name) is str and is_native(item) for name, item in value.items())  # type: ignore[attr-defined]
    return value is None or kind in (bool, int)


def parameters(source: QueryText, name: str | None, given: Mapping[str, object]) -> dict[str, object]:
    """Parameters of a query. One that is none of them, and all of a text that cannot be read, are for the server to refuse."""
    return dict(given) if all(map(is_native, given.values())) else of_types(_declared(source, name), given)


def of_types(declared: Mapping[str, PropertyType], given: Mapping[str, object]) -> dict[str, object]:
    """Parameters of these types."""
    return {
        key: value if is_native(value) or key not in declared else _json(declared[key], convert(key, declared[key], value))
        for key, value in given.items()
    }


def _declared(source: QueryText, name: str | None) -> dict[str, PropertyType]:
    try:
        queries = parse_queries(source if isinstance(source, Source) else Source(source, "<query>")).queries
    except ParseError:
        return {}
    chosen = [query for query in queries if name is None or query.name.text == name]
    return {parameter.name: parameter.type for parameter in chosen[0].parameters} if len(chosen) == 1 else {}


def properties(type_: EntityType, values: Mapping[str, object]) -> dict[str, object]:
    """Values of properties of one entity."""
    found: dict[str, object] = {}
    for name, value in values.items():
        prop = type_.properties.get(name)
        if prop is None or is_native(value):
            found[name] = value
        else:
            found[name] = _json(prop.type, convert(name, prop.type, value, f"{type_.name}: property", Door.RECORDS))
    return found


def row(type_: EntityType, values: Mapping[str, object], line: int, *, lossy: bool) -> tuple[dict[str, object], list[Violation]]:
    """A row of a load, and what is wrong with it as far as it cannot be sent."""
    found: dict[str, object] = {}
    wrong: list[Violation] = []
    for name, value in values.items():
        prop = type_.properties.get(name)
        if prop is None or is_native(value):
            found[name] = value
            continue
        try:
            found[name] = _json(prop.type, converted(prop.type, value, lossy=lossy))
        except Misfit as misfit:
            message = f"{type_.name}: property `{name}` {misfit}{misfit.remedy}"
            wrong.append(Violation("type", type_.name, message, name, value=shown(value), line=line))
    return found, wrong


def _json(type_: PropertyType, value: object) -> object:
    """A converted value, as JSON spells what is of its type."""
    if isinstance(value, list | tuple):
        return [_json(type_.element(), item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        return date_text(value) if type_.scalar is Scalar.DATE else datetime_text(value)
    if isinstance(value, bytes):
        return uri_of(value) or BASE64 + base64.b64encode(bytes_of(value)).decode()
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
