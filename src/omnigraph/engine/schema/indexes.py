"""The indexes that a schema declares, type by type.

id, src, dst                          BTREE, always
@index, @key, @unique on one          BTREE for every scalar; a String key is the id already and gets none
property                              full text too for @index on a String; inverted file for @index on a Vector
@index(a, b), lists, Blobs            nothing
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.shape import Index, Key, Unique
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, key_indexes

LEAST_VECTORS: Final = 50_000
"""With fewer rows a vector index gains nothing: all vectors are measured in a few milliseconds."""

_TEXT_OPTIONS: Final = {
    "with_position": False,
    "remove_stop_words": False,
    "stem": True,
    "lower_case": True,
    "ascii_folding": True,
    "max_token_length": 200,
}
"""Nothing is left out of the index that a query might look for; which words count is decided by `search.analyzer`."""


def declared_indexes(type_: EntityType, rows: int | None = None) -> tuple[IndexSpec, ...]:
    """The indexes the table of a type should have. With `rows`, only those that are worth it for so many."""
    found = list(key_indexes(columns_of(type_)))
    named = {spec.name for spec in found}
    for constraint in type_.constraints:
        if not isinstance(constraint, Key | Unique | Index) or len(constraint.columns) != 1:
            continue
        prop = type_.properties.get(constraint.columns[0])
        if prop is None:
            continue
        for spec in _indexes(prop, constraint, rows):
            if spec.name not in named:
                named.add(spec.name)
                found.append(spec)
    return tuple(found)


def _indexes(prop: Property, constraint: Key | Unique | Index, rows: int | None) -> Iterator[IndexSpec]:
    type_ = prop.type
    if type_.is_list or type_.is_blob:
        return
    if type_.is_vector:
        if isinstance(constraint, Index) and (rows is None or rows >= LEAST_VECTORS):
            yield IndexSpec(f"{prop.name}_vector", prop.name, IndexKind.IVF_FLAT, {"metric": "l2"})
        return
    if isinstance(constraint, Key) and type_.is_string:
        return
    yield IndexSpec(f"{prop.name}_value", prop.name, IndexKind.BTREE)
    if isinstance(constraint, Index) and type_.is_string and not type_.is_enum:
        yield IndexSpec(f"{prop.name}_text", prop.name, IndexKind.FULL_TEXT, _TEXT_OPTIONS)
