"""The ends of edges as they are given: ids, which are texts, or values of the key of a node type.

    node Person { id_no: I64 @key }         {"edge": "Knows", "from": 1, "to": "2"}       ids `1` and `2`
    node Person { name: String @key }       a text is the key and the id; a number is refused
    node Day { day: Date @key }             {"edge": "Came", "from": 1, "to": "2024-01-01"}          ids `1` and `19723`
    node City { …  @key(country, name) }    only an id: ["fr","Paris"]

A value becomes the id that the node gets from it (`omnigraph.catalog.keys`), and may be whatever the key itself may be at the
same door: `93.0` of a column is 93, that of a record is no integer. So a text is the key where the key may be given as text: a
day or a moment everywhere, everything in CSV, where `007` names the node that `007` made. Any other text is an id, and so are
days and moments spelt as ids spell them.
"""

from __future__ import annotations

import re
from typing import Final

from omnigraph.catalog.catalog import Catalog, EntityType, Property
from omnigraph.catalog.keys import end_key, end_rule, key_text
from omnigraph.errors import KeyValueError
from omnigraph.model.conversions import WITHOUT_FRACTION, Door, Misfit, convert, takes, text
from omnigraph.model.given import Kind, kind_of, named, plain
from omnigraph.model.types import Scalar

SPELT_IN_IDS: Final = re.compile(r"-?[0-9]+")
"""A day or a moment in an id: days or milliseconds since 1970-01-01."""


def node_at(catalog: Catalog, edge: EntityType, column: str) -> EntityType:
    """The node type at an end: at `src` or at `dst`."""
    return catalog.nodes[edge.source if column == "src" else edge.target]


def end_takes(node: EntityType, kind: Kind, door: Door) -> bool:
    """Whether values of a kind may name nodes of a type."""
    key = end_key(node)
    if kind is Kind.TEXT:
        return True
    return key is not None and takes(key.type.scalar, kind, door)


def end_id(node: EntityType, given: object, door: Door) -> str:
    """The id of a node that an edge names. Raises `Misfit`."""
    try:
        value = plain(given)
    except ValueError:
        value = given
    key = end_key(node)
    if isinstance(value, str):
        return text(value) if key is None or not takes(key.type.scalar, Kind.TEXT, door) else _text_id(key, value, door)
    if key is None or not end_takes(node, kind_of(value), door):
        wanted = "a string" if key is None else f"{key.type} or a string"
        raise Misfit(f"must be {wanted}, not {named(given)}" + ("" if value is None else f": {end_rule(node)}"))
    try:
        return key_text(key.name, key.type, convert(key.type, value, door))  # type: ignore[arg-type]
    except KeyValueError as error:
        raise Misfit(f"does not fit: {error}") from None


def _text_id(key: Property, given: str, door: Door) -> str:
    """The id that a text names: that of the key in it, or what it says."""
    if not (is_timed(key) and SPELT_IN_IDS.fullmatch(given)):
        try:
            return key_text(key.name, key.type, convert(key.type, given, door))  # type: ignore[arg-type]
        except Misfit as misfit:
            if misfit.remedy == WITHOUT_FRACTION:  # it is the id of nobody, and a deletion would not find it without a word
                raise
        except KeyValueError:
            pass
    return text(given)


def is_timed(key: Property) -> bool:
    """Whether a key is a day or a moment, which ids spell as numbers."""
    return key.type.scalar in (Scalar.DATE, Scalar.DATETIME)
