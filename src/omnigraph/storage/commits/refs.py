"""What has a name: branches and tags, as they are kept in small objects below `__refs/` and `__tags/`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
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

    def ancestry(self) -> Iterator[Ref]:
        """The branch and those it came from, nearest first."""
        current: Ref | None = self
        while current is not None:
            yield current
            current = current.origin


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for a commit. What it names is never reclaimed."""

    name: str
    commit: str
    owner: Ref
    """The branch whose manifest holds the commit."""
    created_by: str | None = None
    created_at: int | None = None
    """Microseconds since the epoch; like `created_by`, unknown of tags of before."""
