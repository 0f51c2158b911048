"""Reservations: a writer that has lost the race again and again gets the branch to itself for a moment.

A plan that searched a table is void when somebody else changes the table meanwhile, and is made again. Beside a process that
inserts without pause it would be made again for ever: reading and planning takes longer than one insert. So who has lost twice
reserves the branch. A reservation stands in the head, put there by the swap that publishes commits, and whoever is about to
publish and finds one of another process waits until it is gone:

    delete    plans on m7    void: m8 came          1st
    delete    plans on m9    void: m10 came         2nd: reserves
    insert    finds the reservation on m10, waits
    delete    plans on m10   published as m11, which ends the reservation
    insert    goes on: m12

It lasts three times as long as the last try took, and no longer than `LONGEST`. Then others are served, and the next one has to
be earned by losing twice again. While it lasts a thread renews it (`beat`). Who dies stops renewing, and is waited for no longer
than `STILL` seconds. Both are measured by those who wait, on their own clock.

All that is a courtesy, as turns are (`turns`): the swap decides as always.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from threading import Condition, Event, Thread, local
from typing import Final

from omnigraph.errors import GraphError
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.manifest import Head, Manifest, ManifestState, Reservation
from omnigraph.storage.commits.turns import Turns
from omnigraph.storage.files.lance_errors import LostRace

_log = logging.getLogger(__name__)

LOSSES: Final = 2
"""After so many in a row a branch is reserved."""

SHORTEST: Final = 1.0
LONGEST: Final = 10.0
"""Seconds a reservation lasts."""

ROW: Final = 30 * LONGEST
"""Seconds after which a loss no longer counts."""

BEAT: Final = 0.4
"""Seconds after which a reservation is renewed."""

STILL: Final = 1.5
"""Seconds after which one that was not renewed is not respected any longer."""

_POLL, _FAR_POLL = 0.004, 0.1
"""Seconds between two looks: on a disk, and on an object store."""

_SWAPS: Final = 50

_TOKEN: Final = secrets.token_hex(8)
"""What tells this process from others, together with its number: one that was forked has the same."""

_numbers = count(1)
_mine = local()


def _this_thread() -> int:
    """What tells a thread from every other one there ever was: the system gives the number of one that ended again."""
    found: int | None = getattr(_mine, "number", None)
    if found is None:
        found = _mine.number = next(_numbers)
    return found


@frozen
class _Loss:
    count: int
    at: float


@dataclass(slots=True)
class _Held:
    thread: int
    until: float
    over: Event


class Reservations:
    """The reservations of one process on one branch. Safe from any thread."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._losses: dict[int, _Loss] = {}
        self._held: _Held | None = None
        self._changed = Condition()
        self._ignored: Reservation | None = None
        """One that was not renewed for so long that its owner must be dead, or slow."""

    @property
    def _owner(self) -> str:
        return f"{_TOKEN}-{os.getpid()}"

    # ── respecting those of others ───────────────────────────────────────────────────────────────────────────────────────────

    def wait_for_threads(self) -> None:
        """Wait while another thread of this process has the branch to itself. That time is not part of a try of this one."""
        thread, begun = _this_thread(), time.monotonic()
        with self._changed:
            while (held := self._held) is not None and held.thread != thread:
                left = held.until - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            loss = self._losses.get(thread)
            if loss is not None:
                self._losses[thread] = replace(loss, at=loss.at + time.monotonic() - begun)

    def respected(self, head: ManifestState, turns: Turns) -> ManifestState:
        """A head that nobody else has reserved, or has reserved for too long."""
        if not self._is_foreign(head):
            return head
        turns.leave()
        seen, begun = head.head.reserved, time.monotonic()
        still = begun
        while self._is_foreign(head):
            now = time.monotonic()
            if head.head.reserved != seen:
                seen, still = head.head.reserved, now
            if now - still > STILL or now - begun > LONGEST + STILL:
                self._ignored = seen
                break
            time.sleep(_POLL if self._manifest.place.is_local else _FAR_POLL)
            head = self._manifest.load()
        turns.wait()
        return head

    def _is_foreign(self, head: ManifestState) -> bool:
        found = head.head.reserved
        return found is not None and found.owner != self._owner and found != self._ignored

    # ── one's own ────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def won(self) -> None:
        """A plan of this thread was published: what it had reserved is over."""
        with self._changed:
            self._losses.pop(_this_thread(), None)
            if self._held is not None and self._held.thread == _this_thread():
                self._end()

    def lost(self, begun: float) -> None:
        """A plan of this thread, which it was about to publish at a moment, was void."""
        now, thread = time.monotonic(), _this_thread()
        with self._changed:
            before = self._losses.get(thread)
            if before is None or now - before.at > ROW:
                before = _Loss(0, begun)
            self._losses = {t: loss for t, loss in self._losses.items() if now - loss.at <= ROW}
            self._losses[thread] = _Loss(before.count + 1, now)
            if before.count + 1 < LOSSES:
                return
            self._losses[thread] = _Loss(0, now)
            if self._held is not None and self._held.thread != thread and self._held.until > now:
                return
            self._end()
            held = self._held = _Held(thread, now + min(max(SHORTEST, 3 * (now - before.at)), LONGEST), Event())
        try:
            if not self._swap(lambda head: replace(head, reserved=Reservation(self._owner, 0)), respecting=True):
                return
        except GraphError as error:  # a courtesy that could not be had; whoever lost is told so in a moment anyway
            _log.warning("the branch could not be reserved: %s", error.message)
            return
        Thread(target=self._beat, args=(held,), name="omnigraph-reservation", daemon=True).start()

    def _end(self) -> None:
        if self._held is not None:
            self._held.over.set()
            self._held = None
            self._changed.notify_all()

    def _beat(self, held: _Held) -> None:
        """Renew a reservation until it is over, and take it back if nobody did."""

        def renewed(head: Head) -> Head | None:
            mine = head.reserved is not None and head.reserved.owner == self._owner and not held.over.is_set()
            return replace(head, reserved=Reservation(self._owner, head.reserved.beat + 1)) if mine and head.reserved else None

        def without(head: Head) -> Head | None:
            mine = head.reserved is not None and head.reserved.owner == self._owner
            return replace(head, reserved=None) if mine else None

        try:
            while not held.over.wait(min(BEAT, max(held.until - time.monotonic(), 0))):
                if time.monotonic() >= held.until:
                    break
                if not self._swap(renewed):
                    return
            with self._changed:
                if self._held is held:
                    self._end()
                elif self._held is not None:  # reserved anew
                    return
            self._swap(without)
        except GraphError as error:  # it is not renewed then, and ends by itself
            _log.warning("a reservation of the branch could not be renewed, and ends by itself: %s", error.message)

    def _swap(self, changed: Callable[[Head], Head | None], *, respecting: bool = False) -> bool:
        """Change the head and nothing else; whether there was something to change."""
        turns = Turns(self._manifest.folder)
        with turns.turn():
            for _ in range(_SWAPS):
                state = self._manifest.load()
                if respecting:
                    state = self.respected(state, turns)
                head = changed(state.head)
                if head is None or state.head.sealed:
                    return False
                try:
                    self._manifest.publish(state, replace(state, head=head), None, ())
                except LostRace:
                    continue
                return True
        return False
