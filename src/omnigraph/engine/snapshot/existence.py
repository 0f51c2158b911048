"""Which nodes exist at a commit, and which of them edges touch: told from an earlier commit and what those since noted down.

A write asks for a handful of ids: is the key new, are both ends there, has the node that goes any edge? All ids of a large type
in memory answer that at once, but they are those of one pin, and every write makes another. A small commit notes down which ids
came and went, and which nodes its edges touch (`Named`), so what is known of a pin follows from what was known of the one before,
for the price of those few:

    pin 0x9f3…    all ids in memory
    pin 0xc01…    the same, and `eve` exists           commit: Person came eve
    pin 0x8aa…    the same, and `ada` does not         commit: Person went ada

A commit that noted nothing down (a load) ends that: the ids are then asked for as ever, and once they are in memory it begins
anew.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from itertools import accumulate
from threading import Lock
from typing import Final, Generic, TypeVar

import numpy as np

from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.arrays.numbering import NOBODY, Numbering
from omnigraph.engine.cost import ledger
from omnigraph.engine.cost.ledger import Account
from omnigraph.engine.snapshot.edges import Edges
from omnigraph.engine.snapshot.nodes import Nodes, Rows
from omnigraph.engine.snapshot.stored import Stored
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.tables.changes import Named, RowPlace

ONE_BY_ONE: Final = 64
"""Up to so many ids are asked for one by one."""

LOADED_ROWS: Final = 65_536
"""Up to so many rows all ids are had in memory as fast as some are looked up."""

_PINS: Final = 32
_NOTED: Final = 2_048
"""When so much has been noted down since all ids were in memory, they are brought up to date."""

_READ_THROUGH: Final = 4
"""How many times as long as through an index alone a lookup takes that reads through fragments which no index covers yet."""

_NOTHING: Final = Named()

K = TypeVar("K", "KnownIds", "KnownEnds")


@frozen(slots=False)
class KnownIds:
    """The ids of a node type at one pin."""

    numbering: Numbering
    rows: Rows
    stored: Stored
    """A pin whose ids were all in memory."""
    since: Mapping[str, RowPlace | bool] = field(default_factory=dict)
    """Of ids that came or went since: where the node stands, or whether it exists."""

    def has(self, id_: str) -> bool:
        said = self.since.get(id_)
        return self.rows.row(self.numbering.number(id_)) >= 0 if said is None else bool(said)

    def place(self, id_: str) -> RowPlace | None:
        """Where a node stands, if that is known."""
        said = self.since.get(id_)
        if isinstance(said, RowPlace):
            return said
        row = self.rows.row(self.numbering.number(id_)) if said is None else NOBODY
        if row < 0:
            return None
        fragments, derived = self.stored.fragments, self.stored.derived
        starts = derived.get("starts")
        if starts is None:
            starts = derived["starts"] = list(accumulate((f.rows for f in fragments), initial=0))
        at = bisect_right(starts, row) - 1
        fragment, offset = fragments[at], row - starts[at]
        if fragment.deletions is not None:
            offsets = derived.get(f"offsets {at}")
            if offsets is None:
                offsets = derived[f"offsets {at}"] = self.stored.offsets(fragment)
            offset = int(offsets[offset])
        return RowPlace(id_, fragment.number, fragment.files, offset)

    def after(self, noted: Sequence[Named]) -> KnownIds:
        """The same after some commits, oldest first."""
        since = dict(self.since)
        for named in noted:
            since.update((id_, named.place(number) or True) for number, id_ in enumerate(named.came))
            since.update(dict.fromkeys(named.went, False))
        return replace(self, since=since)


@frozen(slots=False)
class KnownEnds:
    """Which nodes edges of a type touch at one pin, or touched before."""

    numberings: Mapping[str, Numbering]
    """By the column of the end."""
    touched: Mapping[str, Mask]
    """By column and number."""
    since: frozenset[str] = frozenset()
    """Ends of edges that came since."""

    def may_touch(self, column: str, id_: str) -> bool:
        """Whether a node may have an edge with this end."""
        if id_ in self.since:
            return True
        number, touched = self.numberings[column].number(id_), self.touched[column]
        return 0 <= number < len(touched) and bool(touched[number])

    def after(self, noted: Sequence[Named]) -> KnownEnds:
        """The same after some commits."""
        return replace(self, since=self.since.union(*(named.ends for named in noted)))


class _Pins(Generic[K]):
    """What is known of some pins of one table."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, K] = OrderedDict()

    def of(self, stored: Stored, recent: Sequence[Commit]) -> K | None:
        """What is known of a pin, or follows from what is known of one before. `recent` are commits up to that state."""
        pin = stored.pin
        found = self._known.get(pin)
        if found is not None or not self._known:
            return found
        noted: list[Named] = []
        for commit in reversed(recent):
            for change in commit.changes:
                if change.table != stored.state.table or change.after is None or change.after.pin != pin:
                    continue
                named = _NOTHING if commit.is_maintenance else change.named
                if named is None or change.before is None:
                    return None
                noted.append(named)
                pin = change.before.pin
                known = self._known.get(pin)
                if known is not None:
                    found = known.after(noted[::-1])
                    return self.keep(stored.pin, found) if len(found.since) <= _NOTED else None
        return None

    def keep(self, pin: int, known: K) -> K:
        self._known[pin] = known
        while len(self._known) > _PINS:
            self._known.popitem(last=False)
        return known


class Existence:
    """What is known, by table and pin. Safe from any thread."""

    def __init__(self) -> None:
        self._ids: dict[str, _Pins[KnownIds]] = {}
        self._ends: dict[str, _Pins[KnownEnds]] = {}
        self._accounts: dict[str, Account] = {}
        """What lookups have cost: at some point all ids are worth having."""
        self._lock = Lock()

    def ids(self, nodes: Nodes, recent: Sequence[Commit], wanted: int) -> KnownIds | None:
        """The ids of a type, if they are known, or are worth knowing when so many are wanted."""
        stored = nodes.stored
        with self._lock:
            pins = self._ids.setdefault(stored.location, _Pins())
            found = pins.of(stored, recent)
            if found is not None or not (nodes.loaded or self._is_worth(stored, wanted)):
                return found
        rows = nodes.load()
        with self._lock:
            return pins.keep(stored.pin, KnownIds(nodes.numbering, rows, stored))

    def known(self, nodes: Nodes, recent: Sequence[Commit]) -> Callable[[str], bool] | None:
        """Whether nodes of a type exist, if that follows from what is in memory."""
        stored = nodes.stored
        with self._lock:
            pins = self._ids.setdefault(stored.location, _Pins())
            found = pins.of(stored, recent)
            if found is None and nodes.loaded:
                found = pins.keep(stored.pin, KnownIds(nodes.numbering, nodes.load(), stored))
        return None if found is None else found.has

    def ends(self, edges: Edges, recent: Sequence[Commit], wanted: int) -> KnownEnds | None:
        """The same for the nodes that edges of a type touch."""
        stored = edges.stored
        with self._lock:
            pins = self._ends.setdefault(stored.location, _Pins())
            found = pins.of(stored, recent)
            if found is not None or not self._is_worth(stored, wanted):
                return found
        ends = edges.ends()
        touched = {"src": _marked(ends.sources), "dst": _marked(ends.targets)}
        known = KnownEnds({"src": edges.source.numbering, "dst": edges.target.numbering}, touched)
        with self._lock:
            return pins.keep(stored.pin, known)

    def _is_worth(self, stored: Stored, wanted: int) -> bool:
        """Whether having all ids in memory costs less by now than looking some of them up again and again."""
        if stored.rows <= LOADED_ROWS:
            return True
        location = stored.location
        account = self._accounts.setdefault(location, Account())
        account.charge(_READ_THROUGH * ledger.fetch_seconds(wanted))
        if not ledger.is_worth_having(account, stored.rows):
            return False
        del self._accounts[location]
        return True


def _marked(numbers: Array) -> Mask:
    found = np.zeros(int(numbers.max()) + 1 if len(numbers) else 0, np.bool_)
    found[numbers] = True
    return found
