"""A state by the time at which it was the newest: `2024-05-01T10:00:00Z`, `agent/7@2024-05-01`.

What was the newest state of a branch at a time is the newest commit along its first parents that was made at that time or before.
*Newest* is by the lineage: from the head backwards, the first commit whose time is not later. Clocks of writers may differ, so a
commit may bear an earlier time than its parent; a later time still never gives an earlier state.

    parents   a 10:00 ◀── b 10:05 ◀── c 10:03 ◀── d 10:10         10:04 gives c: b, which bears a later time, is part of it

No branch means `main`. Before it was made, a branch is what it was made of. A text without a zone is in UTC, and a date is its
midnight. One of milliseconds means the whole millisecond, because that is how times of commits are shown; finer digits are taken
at their word. Names of branches and tags come first: a text is a time only if nothing has that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol

from omnigraph.errors import HistoryReclaimed, NotFound
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import iso
from omnigraph.model.times import datetime_ms
from omnigraph.storage.commits.lineage import Commit, DamagedCommit
from omnigraph.storage.commits.name_rules import no_such_state
from omnigraph.storage.commits.refs import Ref

_LIKE_A_TIME: Final = re.compile(r"[+-]?\d{4,6}-?\d{1,2}-?\d{1,2}(?:\Z|[Tt ])", re.ASCII)
_FINER: Final = re.compile(r"[.,]\d{3}(\d+)", re.ASCII)
"""Digits of a second after the milliseconds."""
_RUN: Final = 256
"""Commits read at once."""


class Commits(Protocol):
    """What is asked of a stored graph."""

    def branches(self) -> list[str]:
        """Names of branches."""

    def line(self, branch: str, run: int | None = None) -> Iterator[Commit]:
        """Commits of a branch along its first parents, newest first."""

    def locate(self, commit: str) -> tuple[Ref, Commit]:
        """A commit, and the branch whose manifest holds it."""


@frozen
class Moment:
    """A time on a branch."""

    branch: str
    us: int
    """The last microsecond of it: a text that says milliseconds, or less, means all of the last one."""


def reads_like_time(text: str) -> bool:
    """Whether a text has the form of a time, or of a branch at a time."""
    return _LIKE_A_TIME.match(text.rpartition("@")[2]) is not None


def moment_of(text: str, otherwise: str) -> Moment | None:
    """The time that a text says, on the branch it names or another; None if it says none."""
    branch, _, time = text.rpartition("@")
    if not reads_like_time(text):
        return None
    try:
        return Moment(branch or otherwise, _microseconds(time))
    except ValueError as wrong:
        hint = "Times are written as 2024-05-01T10:00:00Z."
        raise NotFound(
            f"no branch, tag or commit `{text}`, and no such time: {wrong}", what="commit", name=text, hint=hint
        ) from None


def _microseconds(time: str) -> int:
    """The last microsecond since the epoch that a text means: the whole of its millisecond, unless it has finer digits."""
    said = _FINER.search(time)
    finer = 999 if said is None else int(f"{said[1]}00"[:3])
    return datetime_ms(time, lossy=True) * 1000 + finer


def at_moment(store: Commits, text: str, otherwise: str) -> tuple[Ref, Commit]:
    """The commit that a time means."""
    moment = moment_of(text, otherwise)
    if moment is None:
        raise no_such_state(text, store.branches())
    oldest: Commit | None = None
    for commit in store.line(moment.branch, _RUN):
        if isinstance(commit, DamagedCommit):
            continue
        if not commit.is_maintenance and commit.created_at <= moment.us:
            return store.locate(commit.id)
        oldest = commit
    assert oldest is not None
    began = iso(oldest.created_at)
    if oldest.parent is not None:
        raise HistoryReclaimed(f"what `{moment.branch}` was at {text} is not kept: its oldest commit is of {began}")
    hint = "Ask for a later time; a time without a zone is in UTC."
    raise NotFound(f"there was no graph at {text}: it began at {began}", what="commit", name=text, hint=hint)
