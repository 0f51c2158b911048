"""What a cell of a Blob column holds: bytes, or where the bytes are.

Nearly every cell is the bytes themselves. A cell that begins with `MARK`, sixteen bytes drawn once at random, says more:

    hello                        the bytes `hello`
    MARK R s3://media/a.png      a reference: the bytes are somewhere else, and the graph does not follow it
    MARK B MARK…                 bytes that happen to begin with the mark, escaped

So a reference is a value like any other: it is compared, merged, compacted and copied by code that knows nothing of it, and
graphs that were written before there were references read as they did. Whoever shows cells asks `uri_of` and `bytes_of`; whoever
stores bytes asks `managed`.
"""

from __future__ import annotations

from typing import Final

from omnigraph.errors import UnsupportedFormat

MARK: Final = b"\x00" + bytes.fromhex("343852392287fe96be561f339e8310")

_REFERENCE: Final = MARK + b"R"
_ESCAPED: Final = MARK + b"B"

BASE64: Final = "base64:"
"""How bytes are spelt in text: this, and base64."""


def reference(uri: str) -> bytes:
    """The cell that refers to another place."""
    return _REFERENCE + uri.encode()


def managed(data: bytes) -> bytes:
    """The cell that holds bytes."""
    return _ESCAPED + data if data.startswith(MARK) else data


def uri_of(cell: bytes) -> str | None:
    """Where a cell refers to; None: it holds bytes."""
    if not cell.startswith(MARK) or cell.startswith(_ESCAPED):
        return None
    if not cell.startswith(_REFERENCE):
        raise UnsupportedFormat("a Blob is stored in a way that this version does not know")
    return cell[len(_REFERENCE) :].decode()


def bytes_of(cell: bytes) -> bytes:
    """The bytes a cell holds."""
    if uri_of(cell) is not None:
        raise ValueError("the cell refers to another place")
    return cell[len(_ESCAPED) :] if cell.startswith(_ESCAPED) else cell
