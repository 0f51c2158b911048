"""Where texts stand among many: a table of hashes, asked for millions of texts at once or for a few.

    texts    "ada" "bob" "cy"         slots   · cy · ada · · bob ·          each text in the first free slot from its own on
    place      0     1     2

Arrow's own `index_in` makes such a table anew for every question, whatever is asked: among a million ids, to find a hundred takes
nearly as long as to find half a million. Here it is made once, and a question costs what is asked. A slot holds a place; 32 bits
of each text's hash say which slots are not worth a look, and in the end every text that was found is compared with the one that
was asked for.

Hashes look at both ends of a text. Many texts that differ in between only would all want one slot: of those no table is made.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.hashing import hash_of, hashes
from omnigraph.engine.arrays.string_buffer import Texts

_FREE = -1
_LEAST_BITS = 4

_FURTHEST = 256
"""Slots that a text may stand away from its own."""

Places = np.ndarray[tuple[int], np.dtype[np.int64]]


class TooAlike(Exception):
    """Too many texts have the same hash."""


class TextIndex:
    """The places of some texts that all differ. Never changes."""

    def __init__(self, texts: pa.StringArray) -> None:
        """Raises `TooAlike` if there can be no such table."""
        self.texts = texts
        self._bytes_at = Texts(texts).bytes_at
        hashed = hashes(texts)
        bits = max(_LEAST_BITS, int(2 * len(texts)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._mask = np.int64((1 << bits) - 1)
        self._tags = hashed.astype(np.uint32)
        self._slots = np.full(1 << bits, _FREE, np.int32)
        slot = (hashed >> self._shift).astype(np.int64)
        waiting = np.arange(len(texts), dtype=np.int32)
        for _ in range(_FURTHEST):
            if not len(waiting):
                return
            wanted = slot[waiting]
            free = self._slots[wanted] == _FREE
            self._slots[wanted[free]] = waiting[free]  # where several want one slot, one of them has it
            waiting = waiting[self._slots[wanted] != waiting]
            slot[waiting] = (slot[waiting] + 1) & self._mask
        raise TooAlike

    @property
    def nbytes(self) -> int:
        return int(self._tags.nbytes + self._slots.nbytes)

    def place(self, text: str) -> int:
        """The place of one text; -1: it is not there."""
        if not len(self.texts):
            return _FREE
        wanted = text.encode()
        slot, slots, mask = hash_of(wanted) >> int(self._shift), self._slots, int(self._mask)
        while (place := int(slots[slot])) != _FREE:
            if self._bytes_at(place) == wanted:
                return place
            slot = (slot + 1) & mask
        return _FREE

    def find(self, texts: pa.Array) -> Places:
        """The place of each text; -1 for those that are not there, and for what is missing."""
        found = np.full(len(texts), _FREE, np.int64)
        if not len(texts) or not len(self.texts):
            return found
        hashed = hashes(texts)
        tags = hashed.astype(np.uint32)
        slot = (hashed >> self._shift).astype(np.int64)
        waiting = None
        while True:
            places = self._slots[slot]
            there = places != _FREE
            same = there & (self._tags[places] == tags)
            if waiting is None:
                found[same] = places[same]
                waiting = np.flatnonzero(there & ~same)
                slot, tags = slot[waiting], tags[waiting]
            else:
                found[waiting[same]] = places[same]
                other = there & ~same
                waiting, slot, tags = waiting[other], slot[other], tags[other]
            if not len(waiting):
                return self._compared(texts, found)
            slot = (slot + 1) & self._mask

    def _compared(self, texts: pa.Array, found: Places) -> Places:
        """Places of texts that are equal, not only alike."""
        missing = found == _FREE
        asked, at = (texts, found) if not missing.any() else (texts.filter(pa.array(~missing)), found[~missing])
        equal = pc.equal(asked, self.texts.take(pa.array(at))).fill_null(False).to_numpy(zero_copy_only=False)
        if not equal.all():
            doubtful = np.flatnonzero(~missing)[~equal]
            again = pc.index_in(texts.take(pa.array(doubtful)), value_set=self.texts, skip_nulls=True)
            found[doubtful] = again.fill_null(_FREE).to_numpy(zero_copy_only=False)
        return found
