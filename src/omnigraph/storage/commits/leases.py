"""Leases: what is under way for longer than reclaim waits, or needs a commit that reclaim might take.

Reclaim leaves alone what is younger than the grace period, so a write that is published within it needs to tell nobody. Two
things need more:

* **a write of hours** (a bulk load, a compaction of a large table): its first files are old before it is published;
* **a commit that is to be used again** (a revert publishes the pins of an old one): reclaim may be about to take it.

Whoever does one of those holds a lease: a small object below `__inflight/` that says since when, until when, and perhaps for
which commit. It is written again from time to time by a thread of its own, and removed in the end. A process that dies stops
renewing it, and an hour later it counts for nothing.

    12:00  load: put 01J8…  {since 12:00, until 13:00}          files from 12:01 on
    12:15  load: put 01J8…  {since 12:00, until 13:15}
    14:10  reclaim: grace is an hour, but something is under way since 12:00 → nothing younger than 12:00 is touched
    14:30  load: publish, delete 01J8…

Work that no process sees from its beginning to its end (a write that Spark plans in one process and commits in another) takes a
lease of a fixed length instead (`lasting`).

Reclaim looks for leases before it looks for anything else. A lease that appears later began later, and so did its files.

Leases and the grace period are a courtesy, so that those who are slow and alive are not hurt. They rest on clocks and on
processes that are not stopped. What does not, and keeps a commit from naming files that are gone, is the fence (`doomed`).

A lease for a commit is put *before* it is asked whether the commit was reclaimed, as a tag is; see `reclaimed`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import Event, Thread
from typing import Final

from omnigraph.errors import DamagedRecord, GraphError, NotFound
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.refs import Ref
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import decoded, encoded

_log = logging.getLogger(__name__)

FOLDER: Final = "__inflight"

GRACE: Final = timedelta(hours=1)
"""How long a write without a lease may take: files and heads younger than this are not touched by reclaim."""

RENEWED: Final = GRACE / 6
"""How often a lease is renewed."""


@frozen
class Lease:
    """What somebody is doing. Times in seconds since the epoch."""

    since: float
    until: float
    owner: Ref | None = None
    """The branch whose manifest holds the commit…"""
    commit: str | None = None
    """…that must stay."""


@dataclass
class Held:
    """A lease of this process."""

    path: str
    lease: Lease
    failure: GraphError | None = field(default=None)
    """Why it could not be renewed the last time, or given back."""


@contextmanager
def holding(place: Place, name: str, owner: Ref | None = None, commit: str | None = None) -> Iterator[Held]:
    """Hold a lease for as long as the block runs."""
    now = time.time()
    held = Held(f"{FOLDER}/{name}", Lease(now, now + GRACE.total_seconds(), owner, commit))
    place.put_new(held.path, encoded(held.lease, held.path))
    done = Event()
    renewer = Thread(target=_renew, args=(place, held, done), name="omnigraph-lease", daemon=True)
    renewer.start()
    try:
        yield held
    finally:
        done.set()
        renewer.join()
        give_back(place, held)


def lasting(place: Place, name: str, time_: timedelta) -> Held:
    """A lease that nobody renews, for work that goes from process to process: it ends after a time, or when it is given back."""
    now = time.time()
    held = Held(f"{FOLDER}/{name}", Lease(now, now + time_.total_seconds()))
    place.put_new(held.path, encoded(held.lease, held.path))
    return held


def give_back(place: Place, held: Held) -> None:
    """End a lease. One that is over already is fine."""
    try:
        place.delete([held.path])
    except GraphError as error:  # what it was for is done, and said so; the lease ends by itself
        held.failure = error
        _log.warning("the lease %s could not be given back, and ends by itself: %s", held.path, error.message)


def _renew(place: Place, held: Held, done: Event) -> None:
    while not done.wait(RENEWED.total_seconds()):
        renewed = replace(held.lease, until=time.time() + GRACE.total_seconds())
        try:
            place.put(held.path, encoded(renewed, held.path))
        except GraphError as error:  # tried again; if it goes on failing, the fence decides
            held.failure = error
            _log.warning("the lease %s could not be renewed, and is tried again: %s", held.path, error.message)
        else:
            held.lease, held.failure = renewed, None


def leases(place: Place) -> dict[str, Lease]:
    """Every lease by its path, expired ones too."""
    found = {}
    for entry in place.names(FOLDER):
        try:
            found[entry.path] = decoded(place.get(entry.path), Lease, entry.path, f"the lease {entry.path}")
        except NotFound:
            continue  # ended since it was listed
        except DamagedRecord as error:
            raise DamagedRecord(error.message, hint=f"Delete {place.child(entry.path)} if nothing is under way.") from error
    return found
