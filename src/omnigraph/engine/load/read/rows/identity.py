"""Ids of many rows at once: from key columns, or fresh.

Derived ids are exactly those of `omnigraph.catalog.keys`; here whole columns are spelt at a time, and only what Arrow spells
differently (floats, text that JSON escapes) goes through it value by value.

In the compatible dialect an id may be spelt as an older writer spelt it: any text that reads as one of the key values, such as
`00042` for the number 42. The entity gets its right id, and edges of the same input follow.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.canonical_json import compact
from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.catalog.keys import key_text
from omnigraph.model.conversions import Misfit, digits, nearest, shown
from omnigraph.model.given import Spelt
from omnigraph.model.ids import IdSource
from omnigraph.model.times import date_days, datetime_ms
from omnigraph.model.types import Scalar

_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CROCKFORD: Final = np.frombuffer(_LETTERS.encode(), np.uint8)
_PAIRS: Final = np.array([(_CROCKFORD[n >> 5], _CROCKFORD[n & 31]) for n in range(1024)], np.uint8).view(np.uint16)[:, 0]
"""Two letters for ten bits."""
_ESCAPED: Final = r'["\\\x00-\x1f]'
_RANDOM_BITS: Final = 80
_COUNTED_BITS: Final = 40
"""Of the random bits of an id, those that are counted up."""
_TIME_CHARS: Final = 10
_ULID_CHARS: Final = 26
_ULID: Final = re.compile("[0-9A-HJKMNP-TV-Z]{26}")


def ids_from_keys(type_: EntityType, columns: dict[str, pa.Array]) -> pa.Array:
    """The id of each row. A row without all key values has none."""
    texts = [key_texts(prop, columns[prop.name]) for prop in type_.key]
    if len(texts) == 1:
        return texts[0]
    plain = pa.array(np.ones(len(texts[0]), np.bool_))
    for text in texts:
        plain = pc.and_(plain, pc.fill_null(pc.invert(pc.match_substring_regex(text, _ESCAPED)), True))
    joined = pc.binary_join_element_wise(*texts, '","')
    joined = pc.binary_join_element_wise('["', joined, '"]', "")
    if pc.all(plain).as_py() is not False:
        return joined
    escaped = [None if None in row else compact(list(row)) for row in zip(*(t.to_pylist() for t in texts), strict=True)]
    return pa.array(escaped, pa.string())


def mismatch(type_: EntityType, given: str, derived: str) -> str:
    """What to say of an entity whose id is not the one its key gives."""
    keys = ", ".join(p.name for p in type_.key)
    return f"{type_.name}: id `{shown(given)}` does not match @key({keys}), which gives `{derived}`"


def is_old_spelling(type_: EntityType, row: Mapping[str, object], given: str) -> bool:
    """Whether an id reads as any one of the key values."""
    return any(_reads_as(prop, given, row[prop.name]) for prop in type_.key)


def _reads_as(prop: Property, given: str, value: object) -> bool:
    scalar = prop.type.scalar
    if scalar is Scalar.STRING:
        return given == value
    if scalar is Scalar.BOOL:
        return given == ("true" if value else "false")
    number = digits(given)
    if scalar.is_integer:
        return number == value
    try:
        if scalar in (Scalar.DATE, Scalar.DATETIME):
            return value in (number, (date_days if scalar is Scalar.DATE else datetime_ms)(given, lossy=True))
        return nearest(scalar, Spelt(given)) == value
    except (ValueError, Misfit):
        return number is not None and number == value


def key_texts(prop: Property, column: pa.Array) -> pa.Array:
    """Values of a key property as they are spelt in ids."""
    scalar = prop.type.scalar
    if scalar is Scalar.STRING:
        return column
    if scalar is Scalar.DATE:
        return column.cast(pa.int32()).cast(pa.string())
    if scalar is Scalar.DATETIME:
        return column.cast(pa.int64()).cast(pa.string())
    if scalar.is_float:
        values = column.to_pylist()
        return pa.array([None if v is None else key_text(prop.name, prop.type, v) for v in values], pa.string())
    return column.cast(pa.string())


def fresh_ids(ids: IdSource, count: int) -> pa.Array:
    """Ids that never were, ascending, all of one moment: one is asked of the source and says which, the others count on from a
    random number of their own. (Not from the one they were given: within a millisecond the next one is only one more.)
    """
    first = ids.next()
    if not _ULID.fullmatch(first) or count >= 1 << _COUNTED_BITS:
        return pa.array([first, *(ids.next() for _ in range(count - 1))][:count], pa.string())
    random = secrets.randbits(_RANDOM_BITS)
    kept = _ULID_CHARS - _COUNTED_BITS // 5
    head = first[:_TIME_CHARS] + "".join(_LETTERS[random >> bits & 31] for bits in range(_RANDOM_BITS - 5, _COUNTED_BITS - 1, -5))
    start = min(random & (1 << _COUNTED_BITS) - 1, (1 << _COUNTED_BITS) - count)  # the letters before stay as they are
    numbers = np.arange(start, start + count, dtype=np.int64)
    text = np.empty((count, _ULID_CHARS // 2), np.uint16)
    text[:, : kept // 2] = np.frombuffer(head.encode(), np.uint16)
    for pair in range(kept // 2, _ULID_CHARS // 2):
        text[:, pair] = _PAIRS[numbers >> 10 * (_ULID_CHARS // 2 - 1 - pair) & 1023]
    offsets = np.arange(0, (count + 1) * _ULID_CHARS, _ULID_CHARS, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def with_ids(batch: pa.RecordBatch, ids: IdSource) -> pa.RecordBatch:
    """Rows with a fresh id where they have none."""
    given = batch.column(0)
    if not given.null_count:
        return batch
    made = fresh_ids(ids, given.null_count)
    if given.null_count < len(given):
        made = pc.replace_with_mask(given, given.is_null(), made)
    return pa.RecordBatch.from_arrays([made, *batch.columns[1:]], schema=batch.schema)
