"""Rows a search is limited to, in the form Lance takes them: a Roaring bitmap per fragment.

    number of fragments │ fragment │ length │ bitmap in its portable form │ fragment │ …      32 bits, little end first

A mask says which rows, a condition says what they hold: whoever has found its rows already need not say how. Lance looks at
nothing else then, and goes on to further partitions of a vector index until it has as many neighbours as it was asked for. A
guard test holds this Lance to the form.
"""

from __future__ import annotations

import struct
from array import array
from typing import Final

import numpy as np

Addresses = np.ndarray[tuple[int], np.dtype[np.int64]]
"""Fragment number in the upper half, offset in the lower."""

_NUMBER: Final = struct.Struct("<I")
_HEAD: Final = struct.Struct("<II")


def row_mask(addresses: Addresses) -> bytes:
    """Some rows, in any order."""
    from pyroaring import BitMap  # only such searches need it

    ordered = np.sort(addresses)
    numbers, starts = np.unique(ordered >> 32, return_index=True)
    parts = [_NUMBER.pack(len(numbers))]
    for number, offsets in zip(numbers.tolist(), np.split(ordered, starts[1:]), strict=False):  # none at all are one part, too
        bitmap = BitMap(array("I", offsets.astype(np.uint32).tobytes())).serialize()
        parts += [_HEAD.pack(number, len(bitmap)), bitmap]
    return b"".join(parts)
