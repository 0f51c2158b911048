"""Postings: which rows of some stored text contain a term, and how often.

A segment holds the terms of rows that were read together, in row order:

    rows      "wolf plum wolf"    "plum"    –         tokens   0 1 0 1          terms   wolf 0, plum 1
                                                      owner    0 0 0 1          lengths 3 1 0

For the first few terms asked for, `tokens` is read through. After that it is sorted by term, once, and a term is a slice. So a
single question to a large column costs no sort, and many questions cost one.
"""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.search.analyzer import analysed
from omnigraph.engine.search.edits import Lexicon
from omnigraph.engine.snapshot.adjacency import all_below
from omnigraph.engine.snapshot.saved import State, arrays_to_texts, texts_to_arrays

READ_THROUGH: Final = 4
"""Terms looked for by reading through before tokens are sorted: sorting costs as much as some dozens of them."""

Rows = np.ndarray[tuple[int], np.dtype[Any]]


class Segment:
    """The terms of some rows. Safe from any thread."""

    def __init__(
        self,
        terms: dict[str, int],
        lengths: Rows,
        there: Mask | None,
        unsorted: tuple[Rows, Rows] | None = None,
        by_term: tuple[Rows, Rows] | None = None,
    ) -> None:
        self.rows = len(lengths)
        self.terms = terms
        self.lengths = lengths
        self.there = there
        """Rows that have a text; None: all."""
        self._unsorted = unsorted
        self._sorted = by_term
        self._size = len((unsorted or by_term or (_NOTHING, _NOTHING))[1])
        self._asked = 0
        self._lock = Lock()

    @classmethod
    def of(cls, texts: pa.StringArray) -> Segment:
        """The terms of some texts."""
        found = analysed(texts)
        lengths: Rows = np.diff(found.starts).astype(np.int32)
        there: Mask | None = texts.is_valid().to_numpy(zero_copy_only=False) if texts.null_count else None
        return cls(found.terms, lengths, there, (found.tokens, np.repeat(np.arange(len(texts), dtype=np.int32), lengths)))

    @classmethod
    def from_saved(cls, state: State) -> Segment | None:
        """Terms that another process saved."""
        arrays = state.take(
            {
                "terms.starts": "<i4",
                "terms.bytes": "|u1",
                "lengths": "<i4",
                "there": "|b1",
                "starts": "<i8",
                "owner": "<i4",
            }
        )
        if arrays is None:
            return None
        terms = arrays_to_texts(arrays["terms.starts"], arrays["terms.bytes"])
        lengths, there, starts, owner = (arrays[name] for name in ("lengths", "there", "starts", "owner"))
        sound = (
            terms is not None
            and len(starts) == len(terms) + 1
            and starts[0] == 0
            and starts[-1] == len(owner)
            and not bool((starts[1:] < starts[:-1]).any())
            and len(lengths) == len(there) == state.origin.rows
            and all_below(owner, len(lengths))
        )
        if not sound or terms is None:
            state.refuse("terms and texts do not go together")
            return None
        known = dict(zip(terms.to_pylist(), range(len(terms)), strict=True))
        return cls(known, lengths, None if there.all() else there, by_term=(starts, owner))

    def saved_form(self) -> dict[str, Array]:
        """What `from_saved` needs."""
        with self._lock:
            if self._sorted is None:
                assert self._unsorted is not None
                self._sorted = _by_term(*self._unsorted, len(self.terms))
            starts, owner = self._sorted
        there = np.ones(self.rows, np.bool_) if self.there is None else self.there
        terms = texts_to_arrays("terms", pa.array(list(self.terms), pa.string()))
        return {**terms, "lengths": self.lengths, "there": there, "starts": starts, "owner": owner}

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return (4 if self._unsorted is None else 8) * self._size + 5 * self.rows + 300 * len(self.terms)

    def find(self, term: str) -> tuple[Rows, Rows]:
        """Rows with a term, ascending, and how often each has it."""
        code = self.terms.get(term)
        if code is None:
            return _NOTHING, _NOTHING
        owner = self._with(code)
        first = np.empty(len(owner), np.bool_)
        first[:1] = True
        np.not_equal(owner[1:], owner[:-1], out=first[1:])
        starts = np.flatnonzero(first)
        return owner[starts], np.diff(np.append(starts, len(owner)))

    def near(self, term: str, edits: int) -> Rows:
        """Rows with a term that is at most so many edits away; some of them several times."""
        codes = self._lexicon.near(term, edits).tolist()
        return np.concatenate([self._with(code) for code in codes]) if codes else _NOTHING

    def _with(self, code: int) -> Rows:
        """The row of every token of a term, ascending."""
        unsorted = self._unsorted
        if unsorted is not None:
            self._asked += 1
            if self._asked <= READ_THROUGH:
                tokens, owner = unsorted
                read: Rows = owner[tokens == code]
                return read
            with self._lock:
                if self._sorted is None:
                    self._sorted = _by_term(*unsorted, len(self.terms))
                self._unsorted = None
        assert self._sorted is not None
        starts, owner = self._sorted
        found: Rows = owner[starts[code] : starts[code + 1]]
        return found

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon(list(self.terms))


_NOTHING: Rows = np.empty(0, np.int32)


def _by_term(tokens: Array, owner: Rows, terms: int) -> tuple[Rows, Rows]:
    """Owners of tokens, sorted by term and then by row; and where each term begins."""
    order = np.argsort((tokens & 0xFFFF).astype(np.uint16), kind="stable")  # numpy sorts 16 bits by radix
    if terms > 1 << 16:
        order = order[np.argsort((tokens[order] >> 16).astype(np.uint16), kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(tokens, minlength=terms))])
    return starts, owner[order]
