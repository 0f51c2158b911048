"""How columns are packed in data files, where we know better than Lance."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_QUICK: Final = {b"lance-encoding:compression": b"lz4"}
"""How ids and ends are packed. Lance would choose FSST: to write those takes twice as long, to read them a sixth longer."""

_PACKED_QUICKLY: Final = ("id", "src", "dst")


def packed(schema: pa.Schema) -> pa.Schema:
    """A schema that says how ids and ends are packed; everything else is left to Lance."""
    return pa.schema([field.with_metadata(_QUICK) if field.name in _PACKED_QUICKLY else field for field in schema])
