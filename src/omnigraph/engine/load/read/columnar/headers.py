"""Checks of columns against a type: whether each is known, and whether its Arrow type can be converted at all.

A column whose every value is of a kind that its property never takes is one mistake, however many rows it has. Kinds are those of
Arrow; in CSV all is text. Whether a value of a kind that may do does so is for the conversion of values to say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.keys import end_key, end_rule
from omnigraph.engine.load.read.conversion.kinds import bare, is_bytes, is_list, is_number, is_text
from omnigraph.engine.load.read.rows.ends import node_at
from omnigraph.engine.load.read.rows.removals import COLUMN, names_column
from omnigraph.engine.load.read.rows.types import ENDS
from omnigraph.engine.write.violations import Violation
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.types import PropertyType, Scalar


def column_violations(type_: EntityType, names: list[str], file: str | None, *, partial: bool = False) -> list[Violation]:
    """What is wrong with the columns of a type, whatever is in them. `partial`: those that tell which entity it is suffice."""
    known = {*type_.properties, "id", COLUMN} | ({"from", "to", "src", "dst"} if type_.is_edge else set())
    deletes = names_column(type_, names)  # then rows say what they need: one that is deleted, its key or its id
    some = partial or deletes
    found = []
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            message = f"column `{name}` is there {names.count(name)} times"
            found.append(Violation("record", type_.name, message, name, file=file))
        elif name not in known:
            hint = did_you_mean(name, known)
            if len(names) == 1 and (mark := next((m for m in ";\t|" if m in name), None)):
                hint = f"cells are separated by commas, not by {json.dumps(mark)}"
            message = f"{type_.name} has no property `{name}`" + (f": {hint}" if hint else "")
            found.append(Violation("unknown_property", type_.name, message, name, file=file))
    if partial and not deletes and not type_.key and "id" not in names:
        message = f"column `id` is missing: {type_.name} has no key, and `id` says which one changes; to add new ones, use merge"
        found.append(Violation("id", type_.name, message, "id", file=file))
    for name, prop in type_.properties.items():
        if not prop.type.nullable and name not in names and not (some and (deletes or name not in type_.key_names)):
            message = f"column `{name}` is missing, and {type_.name}.{name} must have a value"
            found.append(Violation("required", type_.name, message, name, file=file))
    if type_.is_edge:
        for column, spellings in ENDS.items():
            if not any(s in names for s in spellings) and not (some and (deletes or column not in type_.key_names)):
                message = f"column `{spellings[0]}` is missing: it names one end of {type_.name}"
                found.append(Violation("record", type_.name, message, spellings[0], file=file))
    return found


def misfits(type_: EntityType, batch: pa.RecordBatch, catalog: Catalog, file: str | None) -> Iterator[Violation]:
    """Columns of which no value can be one of their property. What has no values fits everything, and
    empty lists fit every list."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        prop = type_.properties.get(name)
        wants_items = prop is not None and prop.type.is_list
        if column.null_count == len(column) or (wants_items and is_list(column.type) and not len(column.flatten())):
            continue
        if prop is not None and not may_fit(prop.type, column.type):
            message = f"column `{name}` holds values of {column.type}, and {type_.name}.{name} is {prop.type}"
            yield Violation("type", type_.name, message, name, file=file)
        elif prop is None and type_.is_edge and name in _COLUMNS:
            node = node_at(catalog, type_, _COLUMNS[name])
            if not is_text(bare(column.type)) and not fits_end(node, column.type):
                message = f"column `{name}` holds values of {column.type}, and {end_rule(node)}"
                yield Violation("record", type_.name, message, name, file=file)
        elif prop is None and name in _TEXTS and not is_text(bare(column.type)):
            message = f"column `{name}` holds values of {column.type}, and `{name}` is text"
            yield Violation("record", type_.name, message, name, file=file)


_TEXTS: Final = frozenset({"id", COLUMN})
_COLUMNS: Final = {spelt: column for column, spellings in ENDS.items() for spelt in spellings}


def fits_end(node: EntityType, given: pa.DataType) -> bool:
    """Whether values of an Arrow type are keys that may name nodes of a type; texts are ids."""
    key, given = end_key(node), bare(given)
    if key is None or is_text(given):
        return False
    return may_fit(key.type, given)


def may_fit(wanted: PropertyType, given: pa.DataType) -> bool:
    """Whether a value of an Arrow type can be one of a property."""
    given = bare(given)
    if wanted.is_list or wanted.is_vector:
        if not is_list(given):
            return False
        element = bare(given.value_type)
        return bool(pa.types.is_null(element)) or (
            is_number(element) if wanted.is_vector else _may_fit_one(wanted.scalar, element)
        )
    return _may_fit_one(wanted.scalar, given)


def _may_fit_one(wanted: Scalar, given: pa.DataType) -> bool:
    match wanted:
        case Scalar.STRING:
            return is_text(given)
        case Scalar.BOOL:
            return bool(pa.types.is_boolean(given))
        case Scalar.BLOB:
            return is_text(given) or is_bytes(given)
        case Scalar.DATE | Scalar.DATETIME:
            moment = pa.types.is_date(given) or pa.types.is_timestamp(given) or pa.types.is_integer(given)
            return bool(moment) or is_text(given)
        case _:
            return is_number(given)
