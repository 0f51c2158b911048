"""The vectors of a property in eight bits per number, at any pin: kept, extended from pin to pin, saved for the next process.

They are made of vectors as those are read, a batch at a time, so that there is never much more in memory than what is kept. A pin
copies what it shares with another one, in memory or on disk, as columns do (`Stored.assembled`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from omnigraph.engine.arrays.column import Array
from omnigraph.engine.arrays.numbering import Fingerprint
from omnigraph.engine.arrays.quantized import Quantized, joined, matrix, quantize
from omnigraph.engine.snapshot.memory import Key, Memory
from omnigraph.engine.snapshot.saved import Arrays, Saved, State, deleted_to_array
from omnigraph.engine.snapshot.stored import Stored
from omnigraph.storage.tables.rows import Fragment, column_identity, scan_fragments

QUANTIZATION: Final = 1
"""To be raised when vectors become other bytes: those that were saved before are of no use then."""


def has_quantized(stored: Stored, name: str, memory: Memory) -> bool:
    """Whether the vectors of a property are in memory."""
    return memory.peek(_key(stored, name)) is not None


def quantized_vectors(stored: Stored, name: str, memory: Memory, saved: Saved) -> Quantized:
    """The vectors of a property at a pin."""
    found: Quantized | None = memory.get(_key(stored, name))
    return _Column(stored, name, memory, saved).read() if found is None else found


def _key(stored: Stored, name: str) -> Key:
    return (stored.location, stored.pin, "quantized", column_identity(stored.table, name))


class _Column:
    """A property at a pin, on its way into memory."""

    def __init__(self, stored: Stored, name: str, memory: Memory, saved: Saved) -> None:
        self._stored, self._name, self._memory, self._saved = stored, name, memory, saved
        type_ = stored.table.schema.field(name).type
        self._identity = column_identity(stored.table, name)
        self._width: int = type_.list_size
        self._home = f"{stored.location}-quantized-{self._identity}"
        self._made_by = f"{QUANTIZATION} {type_}"

    def read(self) -> Quantized:
        """From another pin, from what was saved, or from the table."""
        stored = self._stored
        worth = self._saved.worth(stored.rows)
        if worth and not stored.is_extended(self._of) and (taken := self._take_saved()) is not None:
            return taken
        parts = stored.assembled(self._of, _slice, Quantized.rows, self._quantized)
        found = self._keep(stored, joined(parts, self._width))
        if worth:

            def make() -> tuple[Arrays, dict[str, Fingerprint]]:
                return {**_to_arrays(found), **deleted_to_array(stored.fragments, stored.deleted)}, {}

            self._saved.save(self._home, stored.pin, stored.fragments, make, made_by=self._made_by)
        return found

    def _of(self, other: Stored) -> Quantized | None:
        """What another pin has."""
        key = (other.location, other.pin, "quantized", self._identity)
        found: Quantized | None = self._memory.peek(key)
        return found if found is not None and found.width == self._width else None

    def _quantized(self, chosen: Sequence[Fragment]) -> Quantized:
        parts: list[Quantized] = []
        for batch in scan_fragments(self._stored.table, chosen, [self._name]):
            vectors = batch.column(0)
            there = vectors.is_valid().to_numpy(zero_copy_only=False) if vectors.null_count else None
            parts.append(quantize(matrix(vectors), there))
        return joined(parts, self._width)

    def _take_saved(self) -> Quantized | None:
        """Start from what another process saved: gives that of this pin, or remembers an older one to start from."""
        stored = self._stored
        states = self._saved.states(self._home, self._made_by)
        for state in sorted(states, key=lambda s: not s.is_of(stored.pin, stored.fragments)):
            taken = self._taken(state) if state.shares(stored.fragments) > 0 else None
            if taken is None:
                continue
            if state.is_of(stored.pin, stored.fragments):
                return self._keep(stored, taken)
            other = stored.other_pin(state)
            if other is not None:
                self._keep(other, taken)
                return None
        return None

    def _taken(self, state: State) -> Quantized | None:
        arrays = state.take({"codes": "|u1", "scale": "<f8", "norm": "<f8", "slack": "<f8"})
        if arrays is None:
            return None
        codes, rows = arrays["codes"], state.origin.rows
        if len(codes) != rows * self._width or any(len(arrays[name]) != rows for name in ("scale", "norm", "slack")):
            state.refuse("there is not one vector per row")
            return None
        return Quantized(codes.view(np.int8).reshape(rows, self._width), arrays["scale"], arrays["norm"], arrays["slack"])

    def _keep(self, stored: Stored, vectors: Quantized) -> Quantized:
        self._memory.put((stored.location, stored.pin, "quantized", self._identity), vectors, vectors.nbytes)
        stored.remember()
        return vectors


def _slice(vectors: Quantized, start: int, rows: int) -> Quantized:
    return vectors.rows(slice(start, start + rows))


def _to_arrays(vectors: Quantized) -> dict[str, Array]:
    codes = np.ascontiguousarray(vectors.codes).view(np.uint8).reshape(-1)
    return {"codes": codes, "scale": vectors.scale, "norm": vectors.norm, "slack": vectors.slack}
