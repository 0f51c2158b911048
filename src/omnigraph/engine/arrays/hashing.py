"""Hashes of texts, millions at once.

    "ada"  →  0x51ed…        "bob"  →  0x03c7…        equal texts, equal hashes: in every process and on every machine

A text is taken eight bytes at a time, straight from Arrow's buffer: the first `HEAD` words of it and, of a longer one, its last
`HEAD` words and its length. That is all of most ids and names, and of the others the parts where they differ. Two texts with one
hash need not be equal; whoever finds such a pair has to look (`all_differ` then only says that it does not know).

It is a matter of speed: to put two million ids into a table of Arrow's takes several times as long as to hash and sort them, and
nearly always the question is whether there is anything wrong at all.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]

HEAD: Final = 4
"""Words of eight bytes that are looked at from each end of a text."""

_CHUNK: Final = 1 << 15
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_FACTORS: Final = np.array([(0xD1342543DE82EF95 * (2 * place + 1)) % 2**64 for place in range(2 * HEAD)], np.uint64)
_FACTOR_INT: Final = int(_FACTOR)
_FACTORS_INT: Final = [int(factor) for factor in _FACTORS]
_WORD: Final = 2**64 - 1
_SHIFT: Final = np.uint64(29)
_MASKS: Final = np.array([(1 << (8 * count)) - 1 for count in range(9)], np.uint64)


def hashes(texts: pa.Array | pa.ChunkedArray) -> Hashes:
    """The hash of each text. A missing text has the hash of an empty one."""
    if isinstance(texts, pa.ChunkedArray):
        return np.concatenate([np.empty(0, np.uint64), *(hashes(chunk) for chunk in texts.chunks)])
    _, offsets, data = texts.buffers()
    wide = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    found = np.empty(len(texts), np.uint64)
    if not len(texts):
        return found
    ends = np.frombuffer(offsets, wide)[texts.offset : texts.offset + len(texts) + 1]
    for start in range(0, len(texts), _CHUNK):  # a chunk at a time stays in the cache of a core
        chunk = ends[start : start + _CHUNK + 1].astype(np.int64)
        found[start : start + _CHUNK] = _hashed(chunk, data)
    return found


def _hashed(ends: np.ndarray[tuple[int], np.dtype[np.int64]], data: pa.Buffer | None) -> Hashes:
    first, size = int(ends[0]), int(ends[-1] - ends[0])
    raw = np.zeros(size + 8, np.uint8)  # a word may be read up to here from any byte
    if size:
        assert data is not None
        raw[:size] = np.frombuffer(data, np.uint8, size, first)
    words: Hashes = np.ndarray((size + 1,), "<u8", raw.data, strides=(1,))
    begin, left = ends[:-1] - first, np.diff(ends)
    found = left.astype(np.uint64) * _FACTOR
    longest = int(left.max())
    for back in (False, True)[: 1 + (longest > 8 * HEAD)]:
        for word in range(min(HEAD, -(-longest // 8))):
            at = begin + left - 8 * (HEAD - word) if back else begin + 8 * word
            count = np.where(left > 8 * HEAD, 8, 0) if back else np.clip(left - 8 * word, 0, 8)
            part = words[np.clip(at, 0, size)]
            part &= _MASKS[count]
            part *= _FACTORS[word + HEAD * back]  # a word that is not there is zero, and stays it
            part ^= part >> _SHIFT
            part *= _FACTOR
            found += part
    found ^= found >> _SHIFT
    return found


def hash_of(text: bytes) -> int:
    """The hash of one text, as `hashes` gives it."""
    size = len(text)
    found = size * _FACTOR_INT
    starts = list(range(0, min(size, 8 * HEAD), 8))
    words = [(number, text[at : at + 8]) for number, at in enumerate(starts)]
    if size > 8 * HEAD:
        words += [(HEAD + word, text[size - 8 * (HEAD - word) :][:8]) for word in range(HEAD)]
    for place, word in words:
        part = int.from_bytes(word, "little") * _FACTORS_INT[place] & _WORD
        part = (part ^ part >> 29) * _FACTOR_INT & _WORD
        found += part
    found &= _WORD
    return found ^ found >> 29


def all_differ(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Whether no text occurs twice. False: one does, or it is not certain."""
    return none_occurs_more_often(texts, 1)


def none_occurs_more_often(texts: pa.Array | pa.ChunkedArray, times: int) -> bool:
    """Whether no text occurs more often than a number of times. False: one does, or it is not certain."""
    if len(texts) <= times:
        return True
    ordered = hashes(texts)
    ordered.sort()
    return not bool((ordered[times:] == ordered[: len(ordered) - times]).any())
