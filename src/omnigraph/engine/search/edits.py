"""Edit distance between one word and many: letters to insert, delete or replace.

The usual table, but with a whole column of words in each cell, and only the cells near the diagonal: beyond it the distance is
larger than anybody asked for. A hundred thousand words take some milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnigraph.engine.arrays.column import Array, Mask


class Lexicon:
    """Words, ready to be compared."""

    def __init__(self, words: Sequence[str]) -> None:
        spelt = np.array(words, np.str_) if len(words) else np.empty(0, "U1")
        self._letters = spelt.view(np.uint32).reshape(len(spelt), spelt.itemsize // 4)
        self._lengths = np.char.str_len(spelt)

    @property
    def nbytes(self) -> int:
        return int(self._letters.nbytes + self._lengths.nbytes)

    def near(self, word: str, edits: int) -> Array:
        """Places of the words that are at most so many edits away."""
        size = len(word)
        chosen = np.flatnonzero(np.abs(self._lengths - size) <= edits)
        if not len(chosen):
            return chosen
        widest = int(self._lengths[chosen].max())
        columns = np.ascontiguousarray(self._letters[chosen, :widest].T)
        found = _distances(np.frombuffer(word.encode("utf-32-le"), np.uint32), columns, self._lengths[chosen], edits)
        return chosen[found]


def _distances(word: Array, letters: Array, lengths: Array, edits: int) -> Mask:
    """For which words the distance is small enough. `letters[j]` is letter j of every word."""
    size, widest, count = len(word), len(letters), len(lengths)
    far = np.full(count, edits + 1, np.int64 if edits > 100 else np.int8)
    row: dict[int, Array] = {j: np.full_like(far, j) for j in range(min(edits, widest) + 1)}
    for i in range(1, size + 1):
        above, row = row, {}
        for j in range(max(0, i - edits), min(widest, i + edits) + 1):
            if j == 0:
                row[j] = np.full_like(far, i)
                continue
            cell = above.get(j - 1, far) + (letters[j - 1] != word[i - 1])
            np.minimum(cell, above.get(j, far) + 1, out=cell, casting="unsafe")
            np.minimum(cell, row.get(j - 1, far) + 1, out=cell, casting="unsafe")
            row[j] = np.minimum(cell, far).astype(far.dtype, copy=False)
    near = np.zeros(count, np.bool_)
    for length, cell in row.items():
        near |= (lengths == length) & (cell <= edits)
    return near
