"""The edges of one type at one commit: neighbours, edge rows and properties.

Two ways again. *Adjacency* (`snapshot.adjacency`): both ends of all edges as numbers, built once per pin, then every hop
is a gather. *Lookup*: the index on `src` or `dst` finds the edges of a few nodes, and nothing is built. The ledger chooses
(`cost.ledger`), and what lookups take is charged to the account of these edges; both give the same neighbours, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import RLock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.logical import HopDirection
from omnigraph.engine.arrays.column import Array, Column, Vec
from omnigraph.engine.arrays.numbering import Fingerprint, Numbers, each_once
from omnigraph.engine.cost import ledger
from omnigraph.engine.cost.ledger import Account, EdgeFacts
from omnigraph.engine.snapshot import adjacency
from omnigraph.engine.snapshot.adjacency import Adjacency, EdgeLists
from omnigraph.engine.snapshot.memory import Memory
from omnigraph.engine.snapshot.nodes import Nodes
from omnigraph.engine.snapshot.pieces import changed_rows, lost_rows, new_rows
from omnigraph.engine.snapshot.saved import Arrays, Saved, State, deleted_to_array
from omnigraph.engine.snapshot.stored import Stored
from omnigraph.model.frozen import frozen
from omnigraph.storage.lance_format.filters import one_of
from omnigraph.storage.tables.rows import Fragment

_READ_ROWS = 1 << 20
"""Edges whose ends are turned into numbers at once: bounds the memory a large build takes."""

_EXTENDED = 8_192
"""Fewer edges are put in order as fast as adjacency is extended."""

_SMALL_SHARE = 64
"""Adjacency is extended where at most one edge in so many came or went."""

Found = tuple[Numbers, Numbers, Numbers]
"""Edges: number at this end, number at the other end, edge row."""

GoOn = Callable[[float], bool]
"""Whether to look up more, after so large a share of what was wanted."""


@frozen(slots=False)
class Ends:
    """Numbers of both ends of every edge, by row."""

    sources: Array
    targets: Array

    @property
    def nbytes(self) -> int:
        return int(self.sources.nbytes + self.targets.nbytes)

    def rows(self, rows: Numbers) -> Ends:
        """Those of some edges."""
        return Ends(self.sources[rows], self.targets[rows])

    def are_below(self, near: int, far: int) -> bool:
        """Whether all sources are numbers below one, and all targets below another."""
        return adjacency.all_below(self.sources, near) and adjacency.all_below(self.targets, far)


class Edges:
    """Edges of one type."""

    def __init__(self, type_: EntityType, stored: Stored, source: Nodes, target: Nodes, memory: Memory, saved: Saved) -> None:
        self.type = type_
        self.stored = stored
        self.source = source
        self.target = target
        self._memory = memory
        self._saved = saved
        self._asked_saved: set[HopDirection] = set()
        self._keys: dict[tuple[str, HopDirection], tuple[str, int, str, str]] = {}
        self._lock = RLock()
        self.built = 0
        """Adjacencies built for this pin…"""
        self.extended = 0
        """…and those that were made of another pin's."""

    @property
    def count(self) -> int:
        return self.stored.rows

    def has(self, form: str) -> bool:
        """Whether all edges are in memory in a form: their `ends`, `lists` by node in a direction, or the adjacency of one."""
        kind, _, way = form.rpartition(" ")
        if form == "ends":
            return self._memory.peek((self.stored.location, self.stored.pin, form)) is not None
        return self._memory.peek(self._key("edges" if kind else "adjacency", HopDirection(way))) is not None

    def ready(self, direction: HopDirection) -> bool:
        """Whether the adjacency of a direction is in memory, or follows from that of another pin, or was saved and is now."""
        if self._memory.peek(self._key("adjacency", direction)) is not None:
            return True
        if self._ancestor(direction) is not None:
            return True
        if direction in self._asked_saved or direction is HopDirection.BOTH:
            return False
        with self._lock:
            self._asked_saved.add(direction)
            if not self._saved.worth(self.count):
                return False
            if not any(self._is_here(state) for state in self._saved.states(self.stored.location)):
                return False
            saved = self._saved_adjacency(direction)
            if saved is not None:
                self._memory.put(self._key("adjacency", direction), saved, saved.nbytes)
            return saved is not None

    def adjacency(self, direction: HopDirection) -> Adjacency:
        """Neighbours in a direction; built now if need be."""
        found: Adjacency | None = self._memory.get(self._key("adjacency", direction))
        if found is not None:
            return found
        with self._lock:
            return self._memory.keep(self._key("adjacency", direction), lambda: self._build(direction), lambda a: a.nbytes)

    def _build(self, direction: HopDirection) -> Adjacency:
        if (other := self._ancestor(direction)) is not None:
            return self._extended(direction, *other)
        self.built += 1
        if direction is HopDirection.BOTH:
            return adjacency.both_ways(self.adjacency(HopDirection.OUT), self.adjacency(HopDirection.IN))
        saved = self._saved_adjacency(direction)
        if saved is not None:
            return saved
        ends = self.ends()
        near, far = (ends.sources, ends.targets) if direction is HopDirection.OUT else (ends.targets, ends.sources)
        built = adjacency.build(near, far, _more_than(near))
        if self._saved.worth(self.count):
            self._save(direction, built)
        return built

    # ── another pin ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _ancestor(self, direction: HopDirection) -> tuple[Stored, Adjacency] | None:
        """A pin whose adjacency is in memory and differs in a few edges, where building it anew takes longer than that."""
        if self.count < _EXTENDED:
            return None
        for other in self.stored.others():
            known: Adjacency | None = self._memory.peek((other.location, other.pin, "adjacency", direction.value))
            if known is not None and self._other_ends(other) is not None:
                pieces = self.stored.pieces(other)
                if changed_rows(pieces, other.rows) * _SMALL_SHARE <= self.count:
                    return other, known
        return None

    def _extended(self, direction: HopDirection, other: Stored, known: Adjacency) -> Adjacency:
        """Neighbours as another pin has them, with those of edges that came since and without those of edges that went."""
        pieces, before, now = self.stored.pieces(other), self._other_ends(other), self.ends()
        assert before is not None
        self.extended += 1
        come = np.unique(_directed(now.rows(new_rows(pieces)), direction))
        gone = np.unique(_directed(before.rows(lost_rows(pieces, other.rows)), direction))
        if len(gone):  # an edge beside the one that went still connects the two
            near, _ = adjacency.ends_of(gone)
            touched = now.rows(np.flatnonzero(np.isin(now.sources, near) | np.isin(now.targets, near)))
            gone = np.setdiff1d(gone, _directed(touched, direction))
        come = come[~known.connects(*adjacency.ends_of(come))]
        gone = gone[known.connects(*adjacency.ends_of(gone))]
        return known.changed(come, gone)

    # ── saved state ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _is_here(self, state: State) -> bool:
        return state.is_of(self.stored.pin, self.stored.fragments)

    def _fits(self, state: State) -> bool:
        """Whether the numbers that were saved are our numbers."""
        fingerprints = state.origin.fingerprints
        ends = {nodes.stored.location: nodes.numbering for nodes in (self.source, self.target)}
        return fingerprints.keys() == ends.keys() and all(
            ends[location].begins_with(fingerprint) for location, fingerprint in fingerprints.items()
        )

    def _saved_states(self) -> list[State]:
        if not self._saved.worth(self.count):
            return []
        self.source.load()
        self.target.load()
        return [state for state in self._saved.states(self.stored.location) if self._fits(state)]

    def _below(self, state: State) -> tuple[int, int]:
        """Numbers of sources and of targets are below these."""
        fingerprints = state.origin.fingerprints
        return fingerprints[self.source.stored.location].count, fingerprints[self.target.stored.location].count

    def _saved_adjacency(self, direction: HopDirection) -> Adjacency | None:
        names = (f"{direction.value}.starts", f"{direction.value}.neighbours")
        for state in self._saved_states():
            arrays = state.take({names[0]: "<i8", names[1]: "<i4"}) if self._is_here(state) else None
            if arrays is not None:
                found = Adjacency(arrays[names[0]], arrays[names[1]])
                near, far = self._below(state) if direction is HopDirection.OUT else reversed(self._below(state))
                if found.is_sound(near, far):
                    return found
                state.refuse(f"`{direction.value}` is no adjacency")
        return None

    def _take_saved_ends(self) -> Ends | None:
        """Start from what another process saved: gives the ends of this pin, or remembers an older one to start from."""
        states = self._saved_states()
        for state in sorted(states, key=lambda s: not self._is_here(s)):
            arrays = state.take({"sources": "<i4", "targets": "<i4"}) if state.shares(self.stored.fragments) > 0 else None
            if arrays is None:
                continue
            ends, (near, far) = Ends(arrays["sources"], arrays["targets"]), self._below(state)
            if not len(ends.sources) == len(ends.targets) == state.origin.rows or not ends.are_below(near, far):
                state.refuse("there is not one pair of ends per edge")
                continue
            if self._is_here(state):
                return ends
            other = self.stored.other_pin(state)
            if other is not None:
                self._memory.put((other.location, other.pin, "ends"), ends, ends.nbytes)
                other.remember()
                return None
        return None

    def _save(self, direction: HopDirection, built: Adjacency) -> None:
        """Let the next process start from here: both ends, and neighbours both ways. The ids that have the numbers go first."""
        ends = self.ends()
        below: dict[str, int] = {}
        for nodes, numbers in ((self.source, ends.sources), (self.target, ends.targets)):
            below[nodes.stored.location] = max(below.get(nodes.stored.location, 0), _more_than(numbers))
        for nodes in {self.source.stored.location: self.source, self.target.stored.location: self.target}.values():
            nodes.save(below[nodes.stored.location])

        def make() -> tuple[Arrays, dict[str, Fingerprint]]:
            found = {"sources": ends.sources, "targets": ends.targets, **deleted_to_array(fragments, self.stored.deleted)}
            for way in (HopDirection.OUT, HopDirection.IN):
                near, far = (ends.sources, ends.targets) if way is HopDirection.OUT else (ends.targets, ends.sources)
                known = built if way is direction else adjacency.build(near, far, _more_than(near))
                found[f"{way.value}.starts"], found[f"{way.value}.neighbours"] = known.starts, known.neighbours
            numberings = {nodes.stored.location: nodes.numbering for nodes in (self.source, self.target)}
            return found, {location: numbering.fingerprint(below[location]) for location, numbering in numberings.items()}

        fragments = self.stored.fragments
        self._saved.save(self.stored.location, self.stored.pin, fragments, make, fits=self._fits)

    def edge_lists(self, direction: HopDirection) -> EdgeLists:
        """Edge rows in a direction (out or in); built now if need be."""
        with self._lock:
            return self._memory.keep(self._key("edges", direction), lambda: self._build_lists(direction), lambda a: a.nbytes)

    def _build_lists(self, direction: HopDirection) -> EdgeLists:
        ends = self.ends()
        if direction is HopDirection.OUT:
            return adjacency.build_edge_lists(ends.sources, ends.targets, _more_than(ends.sources))
        return adjacency.build_edge_lists(ends.targets, ends.sources, _more_than(ends.targets))

    def ends(self) -> Ends:
        """Both ends of every edge, by row."""
        with self._lock:
            return self._memory.keep((self.stored.location, self.stored.pin, "ends"), self._read_ends, lambda e: e.nbytes)

    def known_ends(self) -> Ends | None:
        """Both ends of every edge, if they are in memory or follow from those of another pin."""
        known: Ends | None = self._memory.peek((self.stored.location, self.stored.pin, "ends"))
        if known is None and any(self._other_ends(other) is not None for other in self.stored.others()):
            return self.ends()
        return known

    def _read_ends(self) -> Ends:
        if not self.stored.is_extended(self._other_ends):
            self.source.load()  # first, so that nodes are numbered in row order
            self.target.load()
            taken = self._take_saved_ends()
            if taken is not None:
                return taken
        parts = self.stored.assembled(self._other_ends, _slice, _keep, self._read)
        self.stored.remember()
        none = np.empty(0, np.int32)
        if len(parts) < 2:
            return parts[0] if parts else Ends(none, none)
        return Ends(np.concatenate([part.sources for part in parts]), np.concatenate([part.targets for part in parts]))

    def _other_ends(self, other: Stored) -> Ends | None:
        found: Ends | None = self._memory.peek((other.location, other.pin, "ends"))
        return found

    def _read(self, chosen: Sequence[Fragment]) -> Ends:
        rows = self.stored.read(chosen, ["src", "dst"])
        found = Ends(np.empty(rows.num_rows, np.int32), np.empty(rows.num_rows, np.int32))
        for start in range(0, rows.num_rows, _READ_ROWS):
            part = rows.slice(start, _READ_ROWS).combine_chunks()
            stop = start + part.num_rows
            found.sources[start:stop] = self.source.numbering.intern(_array(part["src"]))
            found.targets[start:stop] = self.target.numbering.intern(_array(part["dst"]))
        return found

    # ── lookups ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def account(self) -> Account:
        """What lookups of these edges took so far."""
        return self.stored.account("")

    def facts(self, direction: HopDirection, found: float = 0.0) -> EdgeFacts:
        """What the ledger has to know to choose between lookups and adjacency. `found`: edges per node that were found before."""
        ends = {HopDirection.OUT: ("src",), HopDirection.IN: ("dst",), HopDirection.BOTH: ("src", "dst")}[direction]
        unread = {nodes.stored.location: nodes.count for nodes in (self.source, self.target) if not nodes.loaded}
        return EdgeFacts(
            self.count,
            (self.target if direction is HopDirection.IN else self.source).count,
            unread_ids=sum(unread.values()),
            indexed=all(self.stored.covers(end) for end in ends),
            numbered=self._memory.peek((self.stored.location, self.stored.pin, "ends")) is not None,
            ways=len(ends),
            found=found,
        )

    def look_up(
        self, nodes: Numbers, direction: HopDirection, *, positions: bool, found: float = 0.0, go_on: GoOn | None = None
    ) -> Found | None:
        """Edges of some nodes without adjacency, with their rows if asked for. None: `go_on` put an end to it before all were
        found. `found`: edges per node that were found before, in the same query."""
        near, far = ("src", "dst") if direction is HopDirection.OUT else ("dst", "src")
        here, there = (self.source, self.target) if direction is HopDirection.OUT else (self.target, self.source)
        wanted = each_once(nodes)
        ids = here.ids(wanted)
        facts = self.facts(direction, found)
        parts: list[Found] = []
        start = 0
        while start < len(ids):
            if start and go_on is not None and not go_on(start / len(ids)):
                return None
            at_once = ledger.looked_up_at_once(facts, len(ids) - start)
            with self.account.timed():
                some = ids.slice(start, at_once)
                indexed = ledger.uses_index(facts, len(some))
                rows, ends = self.stored.found(one_of(near, some), [near, far], positions=positions, use_index=indexed)
                places = pc.index_in(_array(ends[near]), value_set=some).to_numpy(zero_copy_only=False)
                parts.append((wanted[start + places], there.intern(_array(ends[far])), rows))
            start += at_once
            facts = replace(facts, found=max(facts.found, len(rows) / at_once))
        if not parts:
            none = np.empty(0, np.int64)
            return none, none, none
        near_numbers, far_numbers, rows = (np.concatenate([p[i] for p in parts]) for i in range(3))
        return near_numbers, far_numbers, rows

    # ── properties ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def values(self, rows: Numbers, name: str) -> Vec:
        """A property of some edges, by row."""
        present = rows[rows >= 0] if len(rows) and rows.min() < 0 else rows
        found = self.stored.values(name, present)
        if isinstance(found, Column):
            return found.take(rows)
        if present is rows:
            return Vec.of(found)
        where = np.full(len(rows), -1)
        where[rows >= 0] = np.arange(len(present))
        return Vec.of(found).take(where)

    def _key(self, what: str, direction: HopDirection) -> tuple[str, int, str, str]:
        found = self._keys.get((what, direction))
        if found is None:
            found = self._keys[what, direction] = (self.stored.location, self.stored.pin, what, direction.value)
        return found


def _directed(ends: Ends, direction: HopDirection) -> Numbers:
    """Edges as pairs of a node and its neighbour in a direction."""
    out, in_ = adjacency.pairs_of(ends.sources, ends.targets), adjacency.pairs_of(ends.targets, ends.sources)
    return {HopDirection.OUT: out, HopDirection.IN: in_}.get(direction, np.concatenate([out, in_]))


def _more_than(ends: Array) -> int:
    return int(ends.max()) + 1 if len(ends) else 0


def _slice(ends: Ends, start: int, count: int) -> Ends:
    return Ends(ends.sources[start : start + count], ends.targets[start : start + count])


def _keep(part: Ends, kept: Numbers) -> Ends:
    return Ends(part.sources[kept], part.targets[kept])


def _array(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
