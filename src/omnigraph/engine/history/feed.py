"""The change feed: commits of a branch in order, a page at a time, and where to go on.

    page = g.changes(since="beginning")      blocks of the first commits
    page = g.changes(since=page.next)        and so on; page.caught_up says when there is nothing more for now

Commits come along first parents, oldest first. A *cursor* always stands between two commits. A page ends between two commits,
too, so that what was one commit arrives together: a commit that does not fit behind others waits for the next page. Only one that
is larger than a page is cut: its pages have a *page token* instead, which goes on in the middle. A round of pages ends where the
branch was when the round began; what arrives meanwhile waits for the next. Delivery is at least once: whoever reads a page twice
gets the same page.

    commit   c1 (3 changes)    c2 (900)         c3 (1,400)      limit 1000
    page 1   ▇▇▇               ▇▇▇▇▇▇▇▇▇▇▇▇                     ends after c2: a cursor, and more to come
    page 2                                      ▇▇▇▇▇▇▇▇ 1000   ends inside c3: a page token
    page 3                                              ▇▇ 400  ends after c3: a cursor, caught up
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

import msgspec

from omnigraph.engine.history.blocks import Block, Blocks, CatalogOf, Cause, gap
from omnigraph.engine.history.bounds import DEFAULT_BYTES, DEFAULT_CHANGES, DEFAULT_COMMITS
from omnigraph.engine.history.changes import Change, ChangeList, Filter
from omnigraph.engine.history.commit_log import CommitLog
from omnigraph.engine.history.cursors import Token, filter_text, read_token, rejected, require, write_token
from omnigraph.errors import ChangeFeedGap, HistoryReclaimed, ResourceLimit, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_PAGE_BYTES, MAX_PAGE_CHANGES, MAX_POLL_COMMITS
from omnigraph.model.phrases import counted, one_line
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.commits.reclaimed_commits import Reclaimed
from omnigraph.storage.commits.refs import Ref


@frozen(slots=False)
class Limits:
    """How much one page holds."""

    changes: int = DEFAULT_CHANGES
    bytes: int = DEFAULT_BYTES
    commits: int = DEFAULT_COMMITS

    def __post_init__(self) -> None:
        for given, most, what in (
            (self.changes, MAX_PAGE_CHANGES, "changes on a page"),
            (self.bytes, MAX_PAGE_BYTES, "bytes on a page"),
            (self.commits, MAX_POLL_COMMITS, "commits of one look"),
        ):
            if given < 1:
                raise UsageError(f"{given} {what} is too few", hint="Ask for at least one.")
            if given > most:
                raise ResourceLimit(f"at most {most:,} {what}, not {given:,}", hint="Ask for less and go on with the next page.")


@frozen(slots=False)
class ChangePage:
    """One page of a change feed."""

    blocks: list[Block] = field(default_factory=list)
    cursor: str | None = None
    """Where to go on; only when the page ends between two commits."""
    caught_up: bool | None = None
    """Whether that is the end, for now."""
    next_page_token: str | None = None
    """Where to go on inside a commit."""

    @property
    def next(self) -> str:
        """What to give as `since` the next time."""
        given = self.cursor or self.next_page_token
        assert given is not None
        return given

    @property
    def changes(self) -> list[Change]:
        """Every change on the page."""
        return [change for block in self.blocks for change in block.changes]

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    def __repr__(self) -> str:
        total = sum(len(block.changes) for block in self.blocks)
        state = "caught up" if self.caught_up else "more to come"
        return one_line(f"Page: {counted(total, 'change')} in {counted(len(self.blocks), 'commit')}, {state}")

    def to_dict(self) -> dict[str, Any]:
        """The page as JSON-ready data."""
        data: dict[str, Any] = {"blocks": [block.to_dict() for block in self.blocks]}
        for name in ("next_page_token", "cursor", "caught_up"):
            if getattr(self, name) is not None:
                data[name] = getattr(self, name)
        return data


@frozen(slots=False)
class Line:
    """A branch as a feed reads it: this incarnation, up to the commit it was at. Maintenance is not part of it.

    Numbers here, and in cursors, are those of all commits: by them the next one is found without a walk.
    """

    ref: Ref
    head: str
    number: int
    newest: int
    """The number of the newest commit, which may be maintenance: cursors that stand on such ones were given out once."""
    domain: str
    """What tells this graph from others."""
    catalog_of: CatalogOf
    gone: Callable[[], Reclaimed]


class Feed:
    """Reads pages."""

    def __init__(self, blocks: Blocks, log: CommitLog) -> None:
        self._blocks = blocks
        self._log = log

    # ── where to begin ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, line: Line, since: str, chosen: Filter) -> Token:
        """The place a text means: `now`, `beginning`, `after:<commit>`, a cursor or a page token."""
        if since == "now":
            return self._first(line, chosen, line.head, line.number)
        if since == "beginning":
            first = self._log.after(line.ref, -1, 0)
            if not first:
                raise gap(self._log.get(line.head))
            return self._first(line, chosen, first[0].id, 0)
        if since.startswith("after:"):
            return self._after(line, since.removeprefix("after:"), chosen)
        token = read_token(since)
        if token.kind == "commit":
            raise rejected("it is a page token of a single commit")
        require(token, graph=line.domain, chosen=chosen, incarnation=line.ref.incarnation)
        if token.number > line.newest:
            raise rejected("it is ahead of the branch")
        if chosen.types and not token.types:  # of a version that did not note them down
            there = line.catalog_of(self._log.get(token.commit))
            token = msgspec.structs.replace(token, types=tuple(sorted(chosen.following((), there).followed)))
        return token

    def _after(self, line: Line, commit: str, chosen: Filter) -> Token:
        try:
            given = self._log.logical(commit)
            found = self._log.after(line.ref, given.seq - 1, given.seq) if given.seq <= line.number else []
        except HistoryReclaimed:
            raise rejected(f"there is no commit {commit}") from None
        if not found or found[0].id != given.id:
            raise rejected(f"commit {commit} is not on branch `{line.ref.branch}`")
        return self._first(line, chosen, given.id, given.seq)

    def _first(self, line: Line, chosen: Filter, commit: str, number: int) -> Token:
        """A cursor that no other one led to: names of types are those of its commit, or of the branch as it is now."""
        there, now = (line.catalog_of(self._log.get(id_)) for id_ in (commit, line.head))
        chosen.check(there, now)
        return self._cursor(line, chosen.following((), there, now), commit, number)

    def _cursor(self, line: Line, chosen: Filter, commit: str, number: int) -> Token:
        types = tuple(sorted(chosen.followed))
        return Token("cursor", line.domain, filter_text(chosen), commit, line.ref.incarnation, number, types=types)

    def end(self, line: Line, start: Token, chosen: Filter, last: int) -> Token:
        """The place after the commit with a number, if that is behind another place; else that one."""
        if last <= start.number:
            return start
        if chosen.types:
            behind = self.commits(line, start, chosen, last)
            if not behind:
                return start
            commit, chosen = behind[-1]
            return self._cursor(line, chosen.following((), line.catalog_of(commit)), commit.id, commit.seq)
        end = self._log.logical(self._log.after(line.ref, last - 1, last)[-1].id)
        return start if end.seq <= start.number else self._cursor(line, chosen, end.id, end.seq)

    def commits(self, line: Line, start: Token, chosen: Filter, last: int) -> list[tuple[Commit, Filter]]:
        """The commits behind a place, up to one with a number, each with what is wanted of it."""
        found: list[tuple[Commit, Filter]] = []
        chosen, schema = chosen.following(start.types), None
        for commit in self._log.logical_after(line.ref, start.number, last):
            found.append((commit, chosen))
            if commit.schema != schema:
                schema = commit.schema
                chosen = chosen.following((), line.catalog_of(commit)) if chosen.types else chosen
        return found

    # ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def page(self, line: Line, since: Token, chosen: Filter, limits: Limits) -> ChangePage:
        """The next page."""
        chosen = chosen.following(since.types)
        inside = since.kind == "page"
        cut = since.cut if inside else line.number
        first = since.number if inside else since.number + 1
        commits = self._log.logical_after(line.ref, first - 1, cut, limits.commits)
        room = _Room(limits)
        blocks: list[Block] = []
        at = since
        for commit in commits:
            skipped = since.delivered if inside and commit.seq == since.number else 0
            if room.is_full and not skipped:
                break
            changes = self._changes(line, commit, chosen, at)
            taken = list(room.fill(changes, skipped))
            if len(taken) < len(changes) and any(block.changes for block in blocks):
                break  # it is whole on the next page, or begins there
            if taken or len(changes) == skipped:
                schema = None if skipped else self._blocks.schema(commit, line.catalog_of, chosen)
                blocks.append(Block(Cause.of(self._log.shown(commit)), taken, schema=schema))
                if schema is not None:
                    chosen = chosen.following((), line.catalog_of(commit))
            delivered = skipped + len(taken)
            if delivered < len(changes):
                if not taken:
                    break
                place = self._cursor(line, chosen, commit.id, commit.seq)
                token = msgspec.structs.replace(place, kind="page", delivered=delivered, cut=cut)
                return ChangePage(blocks, next_page_token=write_token(token))
            at = self._cursor(line, chosen, commit.id, commit.seq)
        return ChangePage(blocks, write_token(at), at.number >= line.number)

    def _changes(self, line: Line, commit: Commit, chosen: Filter, at: Token) -> ChangeList:
        try:
            return self._blocks.changes(commit, line.catalog_of, chosen, line.gone())
        except ChangeFeedGap as error:
            raise gap(commit, write_token(at)) from error

    def every(self, commit: Commit, catalog_of: CatalogOf, gone: Reclaimed, chosen: Filter) -> ChangeList:
        """All changes of one commit."""
        return self._blocks.changes(commit, catalog_of, chosen, gone)

    def block(
        self, commit: Commit, catalog_of: CatalogOf, gone: Reclaimed, chosen: Filter, limits: Limits, token: str | None
    ) -> Block:
        """The changes of one commit, a page at a time."""
        domain = catalog_of(commit).ir.domain
        skipped = 0
        if token is not None:
            given = read_token(token)
            require(given, graph=domain, chosen=chosen)
            if given.kind != "commit" or given.commit != commit.id:
                raise rejected("it belongs to another commit")
            skipped = given.delivered
        changes = self._blocks.changes(commit, catalog_of, chosen, gone)
        taken = list(_Room(limits).fill(changes, skipped))
        delivered = skipped + len(taken)
        more = None
        if delivered < len(changes):
            more = write_token(Token("commit", domain, filter_text(chosen), commit.id, delivered=delivered))
        schema = None if skipped else self._blocks.schema(commit, catalog_of, chosen)
        return Block(Cause.of(self._log.shown(commit)), taken, more, schema)


class _Room:
    """What still fits on a page. One change always does."""

    def __init__(self, limits: Limits) -> None:
        self._changes = limits.changes
        self._bytes = limits.bytes
        self._limit = limits.bytes

    @property
    def is_full(self) -> bool:
        return self._changes <= 0 or self._bytes <= 0

    def fill(self, changes: ChangeList, skipped: int) -> Iterator[Change]:
        """As many changes as fit, after those that were delivered before."""
        for change in changes.between(skipped, min(len(changes), skipped + self._changes)):
            size = len(json.dumps(change.to_dict(), ensure_ascii=False).encode())
            if size > self._bytes and self._bytes < self._limit:
                self._bytes = 0
                return
            self._changes -= 1
            self._bytes -= size
            yield change
            if self.is_full:
                return
