"""A text property of one table, searchable at any pin.

Rows of a table are in fragments that never change, except that rows of theirs get deleted. So terms are kept per *segment* (some
fragments, read together), and a pin is a list of segments with the position of each of their rows:

    pin 0x9f3…   [ segment 1: fragments A B ]                          all rows, in order
    pin 0xc01…   [ segment 1: fragments A B, one row gone ] [ segment 2: fragment C ]       only C was read

Statistics are those of the pin, never those of a segment: a score is the same however the text came to be stored or indexed.
The score is BM25 with k1 = 1.2 and b = 0.75:

    idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5))               N texts, n of them with t
    Σ idf(t) · f · (k1 + 1) / (f + k1 · (1 - b + b · length / average length))
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from threading import RLock
from typing import Final

import numpy as np

from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.arrays.numbering import Fingerprint, Numbers
from omnigraph.engine.cost.ledger import Account
from omnigraph.engine.search.analyzer import ANALYSIS, terms, words
from omnigraph.engine.search.postings import Rows, Segment
from omnigraph.engine.snapshot.memory import Key, Memory
from omnigraph.engine.snapshot.saved import Arrays, Saved, deleted_to_array
from omnigraph.engine.snapshot.stored import Stored
from omnigraph.model.frozen import frozen
from omnigraph.storage.rewriting.indexes import IndexKind
from omnigraph.storage.tables.rows import Fragment, column_identity, offsets, read_fragments
from omnigraph.storage.tables.search import Words, full_text

K1: Final = 1.2
B: Final = 0.75

MOST_SEGMENTS: Final = 8
"""When a pin would have more, all but the largest are read again as one."""

_REMEMBERED_PINS = 4
_SEGMENT_ROWS = 1 << 20
_SAVED_FILES = 2
"""Saved segments that are kept besides those that a pin has."""
_PASSING_ROWS = 1 << 16
_SAMPLED_ROWS = 1_000
_MOST_BYTES = 1 << 30
"""Text that one segment can be made of: Arrow counts its bytes in 31 bits, and the first thousand may be short ones."""
_BYTES_PER_LETTER = 4
"""Memory that the terms of a text take, per byte of it, about."""


@frozen
class Query:
    """What is looked for: distinct terms, and the words they are the stems of."""

    terms: tuple[str, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Query:
        """The terms of a text."""
        return cls(tuple(dict.fromkeys(terms(text))), tuple(dict.fromkeys(words(text))))


@frozen
class _Held:
    """A fragment as a segment has it."""

    fragment: Fragment
    start: int
    """Its first row in the segment."""
    offsets: Numbers | None
    """Where in the fragment its rows stood; None: none was deleted."""


@frozen(slots=False, eq=False)
class _Indexed:
    segment: Segment
    held: tuple[_Held, ...]


@frozen(slots=False, eq=False)
class _Part:
    """A segment in a pin: the position of each of its rows."""

    indexed: _Indexed
    start: int
    positions: Rows | None
    """By row of the segment, -1 for a row that is gone; None: from `start` on, all of them, in order."""

    def at(self, rows: Rows) -> tuple[Rows, Mask | None]:
        """Positions of rows, and which of them are not gone (None: all)."""
        if self.positions is None:
            return rows if self.start == 0 else rows + self.start, None
        found = self.positions[rows]
        return found, found >= 0


class TextPin:
    """The property at one pin. Never changes."""

    def __init__(self, rows: int, parts: Sequence[_Part]) -> None:
        self.rows = rows
        self.parts = tuple(parts)
        self.lengths: Rows = np.zeros(rows, np.int32)
        self.texts = 0
        for part in parts:
            segment = part.indexed.segment
            there = np.arange(segment.rows) if segment.there is None else np.flatnonzero(segment.there)
            positions, alive = part.at(there)
            lengths = segment.lengths[there]
            if alive is not None:
                positions, lengths = positions[alive], lengths[alive]
            self.lengths[positions] = lengths
            self.texts += len(positions)
        self.average = int(self.lengths.sum(dtype=np.int64)) / self.texts if self.texts else 0.0

    @cached_property
    def _damping(self) -> Array:
        return _damping(self.lengths, self.average)

    @property
    def nbytes(self) -> int:
        return 3 * int(self.lengths.nbytes) + sum(0 if p.positions is None else int(p.positions.nbytes) for p in self.parts)

    def matching(self, query: Query) -> Numbers:
        """Positions of texts with any of some terms, ascending."""
        return self._any(lambda segment: [segment.find(term)[0] for term in query.terms])

    def resembling(self, query: Query, edits: int) -> Numbers:
        """Positions of texts with a term that differs from any of some by at most so many letters, ascending."""
        return self._any(lambda segment: [segment.near(term, edits) for term in query.terms])

    def _any(self, rows: Callable[[Segment], list[Rows]]) -> Numbers:
        found: list[Rows] = []
        for part in self.parts:
            for some in rows(part.indexed.segment):
                positions, alive = part.at(some)
                found.append(positions if alive is None else positions[alive])
        marked = np.zeros(self.rows, np.bool_)
        for positions in found:
            marked[positions] = True
        return np.flatnonzero(marked)

    def _with(self, term: str) -> tuple[Numbers, Array]:
        """Positions of texts with a term, and how often each has it."""
        positions: list[Rows] = []
        counts: list[Rows] = []
        for part in self.parts:
            rows, count = part.indexed.segment.find(term)
            found, alive = part.at(rows)
            positions.append(found if alive is None else found[alive])
            counts.append(count if alive is None else count[alive])
        if len(positions) == 1:
            return positions[0], counts[0]
        return (np.concatenate(positions), np.concatenate(counts)) if positions else (np.empty(0, np.int64), np.empty(0))

    def bm25(self, query: Query) -> tuple[Numbers, Array]:
        """Positions of texts that contain any of some terms, ascending, and the score of each."""
        found = [self._scored(term) for term in query.terms]
        if len(found) == 1 and len(self.parts) == 1 and self.parts[0].positions is None:
            positions, scores = found[0]
            return positions.astype(np.int64), scores
        return _summed(found, self.rows)

    def _scored(self, term: str) -> tuple[Numbers, Array]:
        positions, counts = self._with(term)
        return positions, _bm25(counts, self._damping[positions], self.texts)


def _damping(lengths: Array, average: float) -> Array:
    """How much less a term counts in each text, for its length."""
    found: Array = K1 * (1 - B + B * lengths / average) if average else np.full(len(lengths), K1)
    return found


def _bm25(counts: Array, damping: Array, texts: int) -> Array:
    """What one term adds to the score of each text that has it."""
    holders = len(counts)
    if not holders:
        return np.empty(0)
    idf = math.log(1 + (texts - holders + 0.5) / (holders + 0.5))
    found: Array = idf * counts * (K1 + 1) / (counts + damping)
    return found


def _summed(found: Sequence[tuple[Numbers, Array]], rows: int) -> tuple[Numbers, Array]:
    """Scores of several terms added up per text, in the order of the terms; positions ascending."""
    found = [(positions, scores) for positions, scores in found if len(positions)]
    if not found:
        return np.empty(0, np.int64), np.empty(0)
    if sum(len(positions) for positions, _ in found) * 16 < rows:
        every, place = np.unique(np.concatenate([positions for positions, _ in found]), return_inverse=True)
        return every.astype(np.int64, copy=False), np.bincount(place, np.concatenate([scores for _, scores in found]))
    total = np.zeros(rows)
    for positions, scores in found:
        total[positions] += scores
    marked = np.flatnonzero(total)
    return marked, total[marked]


@frozen
class _Statistics:
    texts: int
    average: float


class PassingText:
    """The property at a pin when its terms are too many to keep: a question reads it all, a batch at a time.

    Unless the table has a full-text index of it: then only texts that the index proposes are read, and looked at again. The
    index is built so that it leaves out nothing a query could look for (`omnigraph.engine.upkeep.reconcile`).
    """

    def __init__(self, stored: Stored, name: str, statistics: dict[int, _Statistics]) -> None:
        self.rows = stored.rows
        self._stored = stored
        self._name = name
        self._statistics = statistics

    def matching(self, query: Query) -> Numbers:
        """Positions of texts with any of some terms, ascending."""
        proposed = self._proposed(query)
        if proposed is None:
            return self._any(lambda segment: [segment.find(term)[0] for term in query.terms])
        positions, segment = proposed
        found = [positions[segment.find(term)[0]] for term in query.terms]
        return np.unique(np.concatenate(found))

    def resembling(self, query: Query, edits: int) -> Numbers:
        """Positions of texts with a term that differs from any of some by at most so many letters, ascending."""
        return self._any(lambda segment: [segment.near(term, edits) for term in query.terms])

    def _any(self, rows: Callable[[Segment], list[Rows]]) -> Numbers:
        found = [some + start for start, segment in self._segments() for some in rows(segment)]
        return np.unique(np.concatenate(found)).astype(np.int64) if found else np.empty(0, np.int64)

    def bm25(self, query: Query) -> tuple[Numbers, Array]:
        """Positions of texts that contain any of some terms, ascending, and the score of each."""
        known = self._statistics.get(self._stored.pin)
        proposed = None if known is None else self._proposed(query)
        if known is not None and proposed is not None:
            positions, segment = proposed
            scored = []
            for rows, counts in map(segment.find, query.terms):
                scored.append((positions[rows], _bm25(counts, _damping(segment.lengths[rows], known.average), known.texts)))
            return _summed(scored, self.rows)
        return self._read_and_scored(query.terms)

    def _read_and_scored(self, wanted: Sequence[str]) -> tuple[Numbers, Array]:
        found: dict[str, list[tuple[Rows, Rows, Rows]]] = {term: [] for term in wanted}
        texts = total = 0
        for start, segment in self._segments():
            texts += segment.rows if segment.there is None else int(segment.there.sum())
            total += int(segment.lengths.sum(dtype=np.int64))
            for term in wanted:
                rows, counts = segment.find(term)
                found[term].append((rows + start, counts, segment.lengths[rows]))
        known = self._statistics[self._stored.pin] = _Statistics(texts, total / texts if texts else 0.0)
        scored: list[tuple[Numbers, Array]] = []
        for term in wanted if texts else ():
            positions, counts, lengths = (np.concatenate(column) for column in zip(*found[term], strict=True))
            scored.append((positions, _bm25(counts, _damping(lengths, known.average), known.texts)))
        return _summed(scored, self.rows)

    def _proposed(self, query: Query) -> tuple[Numbers, Segment] | None:
        """Positions of texts that the index of the table proposes, and their terms; None if it cannot be asked."""
        covers = any(
            i.column == self._name and i.kind.upper() == IndexKind.FULL_TEXT.value and i.covered >= self._stored.state.fragments
            for i in self._stored.state.indexes
        )
        if not covers or not query.words or not all(word.isascii() for word in query.words):
            return None
        found = full_text(self._stored.table, self._name, Words(" ".join(query.words)), columns=["_rowaddr", self._name])
        positions = self._stored.positions(found["_rowaddr"].to_numpy().astype(np.int64))
        return positions, Segment.of(found[self._name].combine_chunks())

    def _segments(self) -> Iterator[tuple[int, Segment]]:
        start = 0
        for batch in self._stored.table.scan([self._name], batch_rows=_PASSING_ROWS):
            yield start, Segment.of(batch.column(0))
            start += batch.num_rows


class TextColumn:
    """The property at the pins it was lately searched at. Safe from any thread."""

    def __init__(self, name: str, key: Key, saved: Saved) -> None:
        self._name = name
        self._key = key
        self._saved = saved
        self._pins: OrderedDict[int, TextPin] = OrderedDict()
        self._statistics: dict[int, _Statistics] = {}
        self._lock = RLock()
        self.account = Account()
        """What it took so far to look at texts one by one."""

    @classmethod
    def of(cls, stored: Stored, name: str, memory: Memory, saved: Saved) -> TextColumn:
        """The column of a table, as the memory has it."""
        key = (stored.location, "text", name, column_identity(stored.table, name))
        return memory.keep(key, lambda: cls(name, key, saved), lambda _: 0)

    @property
    def nbytes(self) -> int:
        with self._lock:
            return sum(pin.nbytes for pin in self._pins.values()) + sum(i.segment.nbytes for i in self._known())

    def has(self, stored: Stored) -> bool:
        """Whether the terms of a pin are in memory."""
        return stored.pin in self._pins

    def at(self, stored: Stored, memory: Memory) -> TextPin | PassingText:
        """The property at a pin; what is not in memory is read."""
        with self._lock:
            found = self._pins.get(stored.pin)
            if found is not None:
                self._pins.move_to_end(stored.pin)
                return found
            if not self._fits(stored, memory.budget):
                return PassingText(stored, self._name, self._statistics)
            found = self._pins[stored.pin] = self._assembled(stored)
            while len(self._pins) > _REMEMBERED_PINS:
                self._pins.popitem(last=False)
            memory.put(self._key, self, self.nbytes)
            return found

    def _fits(self, stored: Stored, budget: int) -> bool:
        """Whether the terms of all texts may be kept. Few texts do; of many, the first thousand tell how long they are."""
        if stored.rows * 64 * _BYTES_PER_LETTER < budget // 16:
            return True
        seen = [batch.column(0) for batch in stored.table.scan([self._name], limit=_SAMPLED_ROWS)]
        size = sum(int(texts.nbytes) for texts in seen) / max(1, sum(len(texts) for texts in seen))
        together = max([_SEGMENT_ROWS, *(fragment.rows for fragment in stored.fragments)])
        return size * stored.rows * _BYTES_PER_LETTER < budget // 2 and size * min(together, stored.rows) < _MOST_BYTES

    def _known(self) -> list[_Indexed]:
        return list(dict.fromkeys(part.indexed for pin in reversed(self._pins.values()) for part in pin.parts))

    @property
    def _home(self) -> str:
        location, _, _, identity = self._key
        return f"{location}-text-{identity}"

    def _from_saved(self, stored: Stored) -> list[_Indexed]:
        """Segments that another process saved, of this pin or an older one; none of fragments that a newer one has."""
        if not self._saved.worth(stored.rows):
            return []
        found: list[_Indexed] = []
        known: set[tuple[str, ...]] = set()
        for state in self._saved.states(self._home, ANALYSIS):
            missing = [fragment for fragment in stored.fragments if fragment.files not in known]
            segment = Segment.from_saved(state) if missing and state.shares(missing) > 0 else None
            deleted = None if segment is None else state.deleted()
            if segment is not None and deleted is not None:
                starts = np.cumsum([0, *(fragment.rows for fragment in state.fragments)]).tolist()
                held = (
                    _Held(fragment, start, _not_among(deleted[fragment], fragment.written) if fragment in deleted else None)
                    for fragment, start in zip(state.fragments, starts, strict=False)
                )
                found.append(_Indexed(segment, tuple(held)))
                known |= {fragment.files for fragment in state.fragments}
        return found

    def _save(self, stored: Stored, indexed: _Indexed) -> None:
        """Let the next process start from here."""
        fragments = tuple(held.fragment for held in indexed.held)
        if not self._saved.worth(sum(fragment.rows for fragment in fragments)):
            return
        offsets = {held.fragment: held.offsets for held in indexed.held}

        def make() -> tuple[Arrays, dict[str, Fingerprint]]:
            gone = deleted_to_array(fragments, lambda f: _not_among(offsets[f], f.written))
            return {**indexed.segment.saved_form(), **gone}, {}

        files = _SAVED_FILES + stored.rows // _SEGMENT_ROWS
        self._saved.save(self._home, stored.pin, fragments, make, made_by=ANALYSIS, kept=files)

    def _assembled(self, stored: Stored) -> TextPin:
        fragments = stored.fragments
        kept = _kept(stored, self._known() or self._from_saved(stored))
        if len({indexed for indexed, _ in kept.values()}) >= MOST_SEGMENTS:
            largest = max((indexed for indexed, _ in kept.values()), key=lambda i: i.segment.rows)
            kept = {number: found for number, found in kept.items() if found[0] is largest}
        unread = [fragment for fragment in fragments if fragment.number not in kept]
        for indexed in _read(stored, unread, self._name):
            self._save(stored, indexed)
            for held in indexed.held:
                kept[held.fragment.number] = (indexed, np.arange(held.start, held.start + held.fragment.rows))
        positions: dict[_Indexed, Rows] = {}
        start = 0
        for fragment in fragments:
            if fragment.rows:
                indexed, rows = kept[fragment.number]
                where = positions.setdefault(indexed, np.full(indexed.segment.rows, -1, np.int32))
                where[rows] = np.arange(start, start + fragment.rows, dtype=np.int32)
                start += fragment.rows
        return TextPin(start, [_part(indexed, where) for indexed, where in positions.items()])


def _not_among(some: Numbers | None, count: int) -> Numbers:
    """The numbers below a count that are none of some; None: of all."""
    there = np.full(count, some is not None)
    if some is not None:
        there[some] = False
    return np.flatnonzero(there)


def _part(indexed: _Indexed, positions: Rows) -> _Part:
    first = int(positions[0]) if len(positions) else 0
    if first >= 0 and bool((positions == np.arange(first, first + len(positions))).all()):
        return _Part(indexed, first, None)
    return _Part(indexed, 0, positions)


def _kept(stored: Stored, known: Iterable[_Indexed]) -> dict[int, tuple[_Indexed, Rows]]:
    """Fragments whose terms are known, by number: the segment, and which of its rows they are now."""
    wanted = {fragment.files: fragment for fragment in stored.fragments if fragment.rows}
    found: dict[int, tuple[_Indexed, Rows]] = {}
    for indexed in known:
        here: dict[int, tuple[_Indexed, Rows]] = {}
        for held in indexed.held:
            fragment = wanted.get(held.fragment.files)
            if fragment is None or fragment.number in found:
                continue
            rows = _surviving(stored, held, fragment)
            if rows is not None:
                here[fragment.number] = (indexed, rows)
        if sum(len(rows) for _, rows in here.values()) * 2 >= indexed.segment.rows:  # mostly alive
            found |= here
    return found


def _surviving(stored: Stored, held: _Held, fragment: Fragment) -> Rows | None:
    """Rows of a segment that are the rows of a fragment now; None if the segment lacks some."""
    if fragment.holds_the_same_as(held.fragment):
        return np.arange(held.start, held.start + fragment.rows)
    after = offsets(stored.table, fragment)
    if held.offsets is None:
        return after + held.start
    where = np.searchsorted(held.offsets, after)
    if (where >= len(held.offsets)).any() or (held.offsets[where] != after).any():
        return None  # rows that were deleted there live here: the segment is of a younger pin
    return where + held.start


def _read(stored: Stored, fragments: Sequence[Fragment], name: str) -> Iterator[_Indexed]:
    """New segments for fragments."""
    waiting: list[Fragment] = []
    rows = 0
    for fragment in fragments:
        if not fragment.rows:
            continue
        if waiting and rows + fragment.rows > _SEGMENT_ROWS:
            yield _indexed(stored, waiting, name)
            waiting, rows = [], 0
        waiting.append(fragment)
        rows += fragment.rows
    if waiting:
        yield _indexed(stored, waiting, name)


def _indexed(stored: Stored, fragments: Sequence[Fragment], name: str) -> _Indexed:
    if stored.has(name) and len(fragments) == len([p for p in stored.fragments if p.rows]):
        texts = stored.column(name).arrow
    else:
        chunks = read_fragments(stored.table, fragments, [name])[name]
        texts = chunks.combine_chunks() if chunks.num_chunks != 1 else chunks.chunk(0)
    held: list[_Held] = []
    start = 0
    for fragment in fragments:
        where = None if fragment.deletions is None else offsets(stored.table, fragment)
        held.append(_Held(fragment, start, where))
        start += fragment.rows
    return _Indexed(Segment.of(texts), tuple(held))
