"""Branches and tags, stored as small objects below `__refs/` and `__tags/`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import ago, one_line, short_id


@frozen
class Ref:
    """A branch: its name, the incarnation that holds its manifest, and where it came from.

    The origin stands in the ref in full, so that the way back is known even when the branches along it are deleted. Who created
    the branch and when is unknown of those that were created before it was recorded.
    """

    branch: str
    incarnation: str
    origin: Ref | None = None
    fork_commit: str | None = None
    created_by: str | None = None
    created_at: int | None = None
    """Microseconds since the epoch."""
    fork_logical: str | None = None
    """The logical commit that the fork commit is, or lays out; unknown of branches of before."""

    def shown(self) -> Ref:
        """The branch as people see it: it began at a logical commit."""
        return replace(self, fork_commit=self.fork_logical) if self.fork_logical is not None else self

    def __repr__(self) -> str:
        origin = "" if self.origin is None else f" from {self.origin.branch}"
        at = "" if self.fork_commit is None else f" at {short_id(self.fork_commit)}"
        return one_line(f"Branch {self.branch}{origin}{at}{created(self)}")

    def ancestry(self) -> Iterator[Ref]:
        """The branch and those it came from, nearest first."""
        current: Ref | None = self
        while current is not None:
            yield current
            current = current.origin


@frozen
class Tag:
    """A name for a commit. What it names is never reclaimed."""

    name: str
    commit: str
    owner: Ref
    """The branch whose manifest holds the commit."""
    created_by: str | None = None
    created_at: int | None = None
    """Microseconds since the epoch; like `created_by`, unknown of tags of before."""

    def __repr__(self) -> str:
        return one_line(f"Tag {self.name} of commit {short_id(self.commit)}{created(self)}")


def created(named: Ref | Tag) -> str:
    """Who created it and when, as far as it is known."""
    by = [] if named.created_by is None else [f"by {named.created_by}"]
    when = [] if named.created_at is None else [ago(named.created_at)]
    return f", created {' '.join([*by, *when])}" if by or when else ""
