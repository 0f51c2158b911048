"""Numbers for node ids: what traversal counts and compares instead of strings.

Each node type has one numbering. A number is given to an id when it is first seen and never given away again, whatever commit,
branch or pin the id was seen in. So everything built from numbers (adjacency, visited sets) stays valid while the graph goes on.

    ids     "ada"  "bob"  "cy"   │  "dan"  "eve"             after a load of three, and two inserts seen one by one
    number    0      1      2    │    3      4
            └──── base ──────────┘  └─ late, in a dict ─┘    late ids move to the base when there are many

Ids are found in the base by a table of their hashes, which is made when the first is asked for; in a base that was saved together
with its sorted order, a few of them by binary search, so that a fresh process need not make that table.

Two processes number the same ids, and may number them differently. So numbers mean something only together with the ids they were
given to, in that order: a `Fingerprint` is how many there are and the digest of all of them. Whatever is kept of numbers outside
of this process names the fingerprint of its numbering, and is of use to a numbering that begins with the same ids
(`begins_with`).
"""

from __future__ import annotations

from functools import cached_property
from threading import RLock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_128

from omnigraph.engine.arrays.hashing import all_differ
from omnigraph.engine.arrays.string_buffer import FEW, Texts
from omnigraph.engine.arrays.text_index import TextIndex, TooAlike
from omnigraph.model.frozen import frozen

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]

NOBODY = -1
"""The number of no node: an id nobody has, or the missing side of an optional match."""

_MARKS = 64
"""Fingerprints that are remembered."""

_FEW = 64
_SEARCHED = 50
"""One in so many ids is found by binary search in the time it takes to make a table of all of them."""

_PER_ID = 8
"""To find more ids than so many per known one, Arrow's own table, made for this question only, is the quicker one."""

_ASKED = 65_536
_LATE_SHARE = 8
_LATE_LEAST = 4_096
_EMPTY = pa.array([], pa.string())


def has_nobody(numbers: Numbers) -> bool:
    """Whether `NOBODY` is among some numbers."""
    if len(numbers) == 1:  # by far the most frequent question, and a reduction costs as much for one as for a thousand
        return bool(numbers[0] < 0)
    return len(numbers) > 0 and bool(numbers.min() < 0)


def each_once(numbers: Numbers) -> Numbers:
    """Distinct numbers, ascending. numpy's own `unique` puts them into a hash table, which takes ten times as long."""
    ordered = np.sort(numbers)
    if len(ordered) < 2:
        return ordered
    keep = np.empty(len(ordered), np.bool_)
    keep[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=keep[1:])
    return ordered[keep]


_BITS = 64
"""A bitmap of this many places per number takes no longer than sorting the numbers."""


def distinct_count(numbers: Numbers) -> int:
    """How many different numbers there are, none of them negative."""
    if not len(numbers):
        return 0
    top = int(numbers.max()) + 1
    if top > _BITS * len(numbers):
        return len(each_once(numbers))
    seen = np.zeros(top, np.bool_)
    seen[numbers] = True
    return int(np.count_nonzero(seen))


@frozen(slots=False)
class Fingerprint:
    """Which ids have the numbers below a count."""

    count: int
    digest: str


class _Base:
    """Ids in number order, and how to find one of them. Never changes."""

    def __init__(self, ids: pa.StringArray, order: Numbers | None = None) -> None:
        self.ids = ids
        self.texts = Texts(ids)
        self._order: memoryview | None = None if order is None else memoryview(order)  # type: ignore[arg-type]

    @property
    def order(self) -> memoryview:
        """Numbers in the order of their ids."""
        if self._order is None:
            self._order = memoryview(pc.sort_indices(self.ids).to_numpy().astype(np.int64))
        return self._order

    @property
    def nbytes(self) -> int:
        index = self.__dict__.get("index")
        return int(self.ids.nbytes) + sum(part.nbytes for part in (self._order, index) if part is not None)

    @cached_property
    def index(self) -> TextIndex | None:
        """Where each id stands; None: there can be no such table."""
        try:
            return TextIndex(self.ids)
        except TooAlike:
            return None

    def few(self) -> int:
        """Up to how many ids are found one by one: more of them while there is no table of all ids that can be asked instead."""
        return _FEW if "index" in self.__dict__ or self._order is None else max(_FEW, len(self.ids) // _SEARCHED)

    def find(self, ids: pa.Array) -> Numbers:
        """Numbers of many ids."""
        index = None if len(ids) > _PER_ID * len(self.ids) else self.index
        return _numbers(pc.index_in(ids, value_set=self.ids)) if index is None else index.find(ids)

    def number(self, id_: str) -> int:
        if len(self.ids) == 0:
            return NOBODY
        if self._order is None and (index := self.index) is not None:
            return index.place(id_)
        order = self.order
        wanted = id_.encode()
        text = self.texts.bytes_at
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) >> 1
            if text(order[middle]) < wanted:
                low = middle + 1
            else:
                high = middle
        if low == len(order):
            return NOBODY
        at = order[low]
        return int(at) if text(at) == wanted else NOBODY


class Numbering:
    """The ids of one node type, numbered as they are seen. Safe from any thread: numbers only ever get added."""

    def __init__(self) -> None:
        self._base = _Base(_EMPTY)
        self._late: dict[str, int] = {}
        self._late_ids: list[str] = []
        self._asked: dict[str, int] = {}
        """Ids of the base that were asked for one by one."""
        self._joined: pa.StringArray = _EMPTY
        self._lock = RLock()
        self._fingerprints: dict[int, Fingerprint] = {}

    def start_from(self, fingerprint: Fingerprint, ids: pa.StringArray, order: Numbers) -> bool:
        """Take over a saved numbering, unless something was numbered already; whether this numbering begins with it now."""
        with self._lock:
            if not len(self):
                self._base = _Base(ids, order)
                self._fingerprints = {fingerprint.count: fingerprint}
                return True
        return self.begins_with(fingerprint)

    def fingerprint(self, count: int) -> Fingerprint:
        """What the numbers below a count are the numbers of."""
        with self._lock:
            found = self._fingerprints.get(count)
            if found is None:
                ids = self._base.ids if count <= len(self._base.ids) else self.all()
                if len(self._fingerprints) >= _MARKS:
                    self._fingerprints = {}
                found = self._fingerprints[count] = Fingerprint(count, _digest(ids.slice(0, count)))
            return found

    def begins_with(self, fingerprint: Fingerprint) -> bool:
        """Whether the numbers below the count of a fingerprint are those of the numbering it was taken of."""
        with self._lock:
            return 0 <= fingerprint.count <= len(self) and self.fingerprint(fingerprint.count) == fingerprint

    def saved_form(self) -> tuple[pa.StringArray, Numbers]:
        """Every id by number, and the numbers in the order of their ids."""
        with self._lock:
            if self._late_ids:
                self._set_base(self.all())
            base = self._base
        return base.ids, np.asarray(base.order)

    def __len__(self) -> int:
        with self._lock:
            return len(self._base.ids) + len(self._late_ids)

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return self._base.nbytes + 120 * len(self._late_ids)

    def number(self, id_: str) -> int:
        """The number of an id, or `NOBODY`."""
        found = self._late.get(id_)
        if found is None:
            found = self._asked.get(id_)
        if found is None:
            found = self._base.number(id_)
            if found >= 0:  # a number is given once and for all, so it may be remembered
                if len(self._asked) >= _ASKED:
                    self._asked = {}
                self._asked[id_] = found
        return found

    def find(self, ids: pa.Array) -> Numbers:
        """Numbers of many ids; `NOBODY` for those never seen."""
        if len(ids) <= self._base.few():
            return np.fromiter((self.number(i) for i in ids.to_pylist()), np.int64, len(ids))
        with self._lock:
            base, late = self._base, self._late
        found = base.find(ids)
        if late and len(unseen := np.flatnonzero(found < 0)):  # what is late now was in no base before
            asked = ids if len(unseen) == len(ids) else ids.take(pa.array(unseen))
            found[unseen] = [late.get(id_, NOBODY) for id_ in asked.to_pylist()]
        return found

    def intern(self, ids: pa.Array) -> Numbers:
        """Numbers of many ids; those never seen get one, in order of first appearance."""
        with self._lock:
            if not len(self):
                return self._start(ids)
            found = self.find(ids)
            unseen = found < 0
            if not unseen.any():
                return found
            strangers = ids.filter(pa.array(unseen))
            new = pc.unique(strangers)
            first = len(self)
            if len(new) > _LATE_LEAST:
                self._set_base(pa.concat_arrays([self.all(), new]))
            else:
                self._add_late(new.to_pylist())
            found[unseen] = _numbers(pc.index_in(strangers, value_set=new)) + first
            return found

    def ids(self, numbers: Numbers) -> pa.StringArray:
        """Ids of numbers; null for `NOBODY`."""
        if has_nobody(numbers):
            return self.all().take(pa.array(numbers, mask=numbers < 0))
        return self.all().take(pa.array(numbers))

    def few_ids(self, numbers: Numbers) -> list[str | None] | None:
        """Ids of a few numbers as plain texts; None where that is not the better way."""
        base = self._base
        if not 0 < len(numbers) <= FEW:
            return None
        wanted = numbers.tolist()
        return base.texts.at(wanted) if min(wanted) >= 0 and max(wanted) < len(base.ids) else None

    def all(self) -> pa.StringArray:
        """Every id, by number."""
        with self._lock:
            if not self._late_ids:
                return self._base.ids
            if len(self._joined) < len(self):
                self._joined = pa.concat_arrays([self._base.ids, pa.array(self._late_ids, pa.string())])
            return self._joined

    def _start(self, ids: pa.Array) -> Numbers:
        distinct = ids if not ids.null_count and all_differ(ids) else pc.unique(ids)
        self._set_base(distinct)
        if len(distinct) == len(ids):
            return np.arange(len(ids), dtype=np.int64)
        return _numbers(pc.index_in(ids, value_set=distinct))

    def _add_late(self, ids: list[str]) -> None:
        for id_ in ids:
            self._late[id_] = len(self)
            self._late_ids.append(id_)
        if len(self._late_ids) > max(_LATE_LEAST, len(self._base.ids) // _LATE_SHARE):
            self._set_base(self.all())

    def _set_base(self, ids: pa.StringArray) -> None:
        self._base = _Base(ids)  # first: whoever finds no late id looks here next
        self._late, self._late_ids, self._joined = {}, [], _EMPTY


def _digest(ids: pa.StringArray) -> str:
    """A digest of texts in their order: of where each ends, and of their letters."""
    digest = xxh3_128()
    if len(ids):
        _, offsets, letters = ids.buffers()
        starts = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + len(ids) + 1]
        digest.update((starts if starts[0] == 0 else starts - starts[0]).tobytes())
        if letters is not None:
            digest.update(memoryview(letters)[starts[0] : starts[-1]])
    return digest.hexdigest()


def _numbers(found: pa.Array) -> Numbers:
    filled: Numbers = found.fill_null(NOBODY).to_numpy().astype(np.int64)
    return filled
