"""The rule about how large an entity may be: no larger than a line that an export can write and a load can read.

Measuring a line means writing it. Nobody does that unless the entity may be too large: no cell becomes longer in JSON than its
bytes, or its elements, allow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.json_lines import lines
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.write.changeset import Delta
from omnigraph.engine.write.violations import Violation
from omnigraph.model.limits import MAX_ENTITY_BYTES

_LONGEST = 48
"""Characters that a byte in memory may become: eight booleans, `false,` each."""

_OTHER = 40
"""Characters of anything but a text, and of what stands around one."""

_FRESH_ID = 32


def check(delta: Delta) -> Iterator[Violation]:
    """Entities that are too large."""
    rows = delta.rows
    if rows.nbytes * _LONGEST <= MAX_ENTITY_BYTES:
        return
    most = sum(_most(whole(column)) + len(name) for name, column in zip(rows.column_names, rows.columns, strict=True))
    for row in np.flatnonzero(np.asarray(most) > MAX_ENTITY_BYTES).tolist():
        length = len(lines(delta.type, rows.slice(row, 1))) + (_FRESH_ID if delta.entity(row) is None else 0)
        if length > MAX_ENTITY_BYTES:
            message = (
                f"{delta.called(row)} is too large: {length:,} bytes as a line of JSON, and at most {MAX_ENTITY_BYTES:,} may be"
            )
            file, line = delta.place(row)
            yield Violation("limit", delta.type.name, message, None, delta.entity(row), None, file, line)


def _most(column: pa.Array) -> Numbers:
    """The most characters that each cell can become."""
    type_ = column.type
    if pa.types.is_list(type_):
        lengths = _numbers(pc.list_value_length(column))
        ends, total = np.cumsum(lengths), np.concatenate([[0], np.cumsum(_most(column.flatten()))])
        most: Numbers = _OTHER + total[ends] - total[ends - lengths]
        return most
    if pa.types.is_fixed_size_list(type_):
        return np.full(len(column), _OTHER * (type_.list_size + 1))
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return _OTHER + 6 * _numbers(pc.binary_length(column))  # a control character takes six
    if pa.types.is_large_binary(type_) or pa.types.is_binary(type_):
        return _OTHER + 2 * _numbers(pc.binary_length(column))  # base64, or a URI
    return np.full(len(column), _OTHER)


def _numbers(column: pa.Array) -> Numbers:
    return pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
