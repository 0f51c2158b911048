"""The history of a graph on a server: commits, differences, the change feed, merges and reverts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

from omnigraph.client.asking import Asking, Names, filters, keyed, no_actor
from omnigraph.client.refs import segment
from omnigraph.client.typed import Typed
from omnigraph.client.values import GivenChanges, cause_of, commit_of, given, merge_of, schema_change_of
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.execution.result import wire
from omnigraph.engine.export.entities import Key, type_of, wanted_id
from omnigraph.engine.history.baseline import Baseline
from omnigraph.engine.history.blocks import Block
from omnigraph.engine.history.bounds import DEFAULT_BYTES, DEFAULT_CHANGES, DEFAULT_COMMITS
from omnigraph.engine.history.conflicts import Resolve
from omnigraph.engine.history.diff import Diff, End
from omnigraph.engine.history.entity import EntityHistory, Revision
from omnigraph.engine.history.feed import ChangePage
from omnigraph.engine.history.merge import Merge
from omnigraph.engine.planning.keys import KeySchema
from omnigraph.errors import MergeConflict, StorageError
from omnigraph.storage.commits.lineage import Commit, CommitList
from omnigraph.wire import outputs as o
from omnigraph.wire import own_outputs as own


class History(Asking):
    """What was committed, and what is made of it."""

    @guarded()
    def commits(self, branch: str = "main", limit: int | None = None, *, maintenance: bool = False) -> CommitList:
        """Commits of a branch, newest first; with `maintenance` also those that only changed how the graph is stored."""
        if limit == 0:
            self._transport.get(f"/branches/{segment(branch)}", o.BranchOutput)
            return CommitList()
        asked = {"branch": branch, "limit": limit, "maintenance": _flag(maintenance)}
        return CommitList(commit_of(c) for c in self._transport.get("/commits", o.CommitListOutput, asked).commits)

    @guarded()
    def commit(self, commit: State, *, maintenance: bool = False) -> Commit:
        """A commit by id, or the one that a branch or tag names."""
        path = f"/commits/{segment(name_of(commit))}"
        return commit_of(self._transport.get(path, o.CommitOutput, {"maintenance": _flag(maintenance)}))

    @guarded()
    def history(
        self, type: str, key: Key | None = None, *, id: str | None = None, branch: str = "main", limit: int | None = None
    ) -> EntityHistory:
        """Every commit of a branch that changed an entity, newest first, with its values before and after."""
        schema = self._accepted_schema(branch)
        wanted = wanted_id(KeySchema(schema.catalog, lambda: schema.source), type_of(schema.catalog, type), key, id)
        asked = {"type": type, "id": wanted, "branch": branch, "limit": limit}
        said = self._transport.get("/history", own.EntityHistoryOutput, asked)
        revisions = []
        for revision in said.revisions:
            commit = commit_of(revision.commit)
            new = self._typed(at=commit.id)
            old = new if commit.parent is None else self._typed(at=commit.parent)
            origins = tuple(map(commit_of, given(revision.origins) or ()))
            revisions.append(Revision(commit, new.change(revision.change, old), origins))
        return EntityHistory(said.kind, said.type, said.id, said.branch, tuple(revisions), said.is_complete)

    @guarded()
    def diff(self, before: State, after: State, *, kinds: Names = None, types: Names = None, ops: Names = None) -> Diff:
        """What differs between two branches, tags or commits."""
        ends = name_of(before), name_of(after)
        said = self._transport.get("/diff", own.DiffOutput, {"from": ends[0], "to": ends[1], **filters(kinds, types, ops)})
        old, new = self._typed(at=said.from_graph_commit_id), self._typed(at=said.to_graph_commit_id)
        return Diff(
            End(ends[0], said.from_graph_commit_id, said.from_graph_manifest_version),
            End(ends[1], said.to_graph_commit_id, said.to_graph_manifest_version),
            GivenChanges(new.change(c, old) for c in said.changes),
            said.published_dataset_versions,
            schema_change_of(said.schema),
        )

    @guarded()
    def changes(
        self,
        since: str = "now",
        *,
        branch: str = "main",
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        max_commits: int = DEFAULT_COMMITS,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> ChangePage:
        """What was committed to a branch since a cursor, `now`, the `beginning`, or `after:<commit>`: a page of it."""
        start = since in ("now", "beginning") or since.startswith("after:")
        asked = {"start" if start else "cursor": since, "branch": branch, "limit": limit, **filters(kinds, types, ops)}
        said = self._transport.get("/changes", o.ChangeFeedOutput, asked | {"max_bytes": max_bytes, "max_commits": max_commits})
        return ChangePage(list(self._blocks(said)), given(said.cursor), given(said.caught_up), given(said.next_page_token))

    def _blocks(self, said: o.ChangeFeedOutput) -> Iterator[Block]:
        """Blocks of a page. The schema is asked for once, and again after each block that says that it changed."""
        typed: Typed | None = None
        for block in said.blocks:
            changed = schema_change_of(block.schema)
            if block.changes and (typed is None or changed is not None):
                typed = self._typed(at=block.cause.graph_commit_id)
            changes = [] if typed is None else [typed.change(c) for c in block.changes]
            yield Block(cause_of(block.cause), changes, schema=changed)
            typed = None if changed is not None and not block.changes else typed

    @guarded()
    def commit_changes(
        self,
        commit: State,
        *,
        page_token: str | None = None,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> Block:
        """What one commit changed, against its first parent. `next_page_token` leads to the rest, if there is any."""
        asked = {"page_token": page_token, "limit": limit, "max_bytes": max_bytes, **filters(kinds, types, ops)}
        said = self._transport.get(f"/commits/{segment(name_of(commit))}/changes", o.CommitChangesOutput, asked)
        typed = self._typed(at=said.cause.graph_commit_id) if said.changes else None
        changes = [] if typed is None else [typed.change(c) for c in said.changes]
        return Block(cause_of(said.cause), changes, given(said.next_page_token), schema_change_of(said.schema))

    @guarded()
    def baseline(self, branch: str = "main", *, kinds: Names = None, types: Names = None, ops: Names = None) -> Baseline:
        """Everything at the newest commit of a branch, and the cursor to follow its changes from there.

        It is kept in a temporary file.
        """
        kept = tempfile.TemporaryFile()  # noqa: SIM115 - it is as long there as the baseline is
        last = b""
        body = {"branch": branch, **{name: list(found) for name, found in filters(kinds, types, ops).items()}}
        with self._transport.streamed("/changes/baseline", body) as found:
            for chunk in found.iter_bytes():
                kept.write(chunk)
                last = (last + chunk)[-_LAST:]
        line = last.rstrip(b"\n").rpartition(b"\n")[2]
        try:
            where = json.loads(line)["baseline"]
        except (ValueError, KeyError, TypeError):
            raise StorageError("the baseline ended before its last line", hint="Take it again.") from None
        end = kept.tell() - len(line) - 1
        return Baseline(where["snapshot_commit_id"], where["resume_cursor"], branch, lambda: _lines(kept, end))

    @guarded(source=arguments.branch)
    def merge(
        self,
        source: str,
        into: str = "main",
        *,
        dry_run: bool = False,
        resolve: Resolve = None,
        strict: bool = False,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Merge:
        """Merge a branch into another, as one commit with two parents.

        Conflicts are raised as `MergeConflict`, all together, and nothing is changed; `dry_run` gives them, and what would
        change, without raising. `resolve` is `"ours"` (the branch that is merged into), `"theirs"`, or a mapping from the keys of
        conflicts to a side or to values.
        """
        no_actor(actor)
        body = {"source": source, "target": into, **_wanted(dry_run, resolve, strict, message)}
        return self._combined("/branches/merge", body, o.BranchMergeOutput, into, dry_run, idempotency_key)

    @guarded()
    def revert(
        self,
        commit: State,
        branch: str = "main",
        *,
        dry_run: bool = False,
        resolve: Resolve = None,
        strict: bool = False,
        actor: str | None = None,
        message: str | None = None,
    ) -> Merge:
        """Undo what a commit did, by a new commit. What happened to the same entities since comes up as conflicts."""
        no_actor(actor)
        body = {"commit": name_of(commit), "branch": branch, **_wanted(dry_run, resolve, strict, message)}
        return self._combined("/revert", body, o.RevertOutput, branch, dry_run)

    def _combined(
        self, path: str, body: dict[str, object], answer: Any, branch: str, dry_run: bool, key: str | None = None
    ) -> Merge:
        try:
            said = self._transport.post(path, body, answer, headers=keyed(key), again=dry_run or key is not None)
        except MergeConflict as error:
            if error.conflicts:  # whoever may not read them may not read the schema either
                typed: Any = self._typed(branch)
                error.conflicts = tuple(typed.conflict(c) for c in error.conflicts)
            raise
        return merge_of(said, self._typed(branch) if said.dry_run is True else None)


_LAST = 64 << 10
"""The last line of a baseline is shorter than this."""


def _flag(value: bool) -> str | None:
    return "true" if value else None


def _wanted(dry_run: bool, resolve: Resolve, strict: bool, message: str | None) -> dict[str, object]:
    return {"dry_run": dry_run, "resolve": settled(resolve), "strict": strict, "message": message}


def settled(resolve: Resolve) -> object:
    """How conflicts are settled, as the wire has it."""
    if resolve is None or isinstance(resolve, str):
        return resolve
    return {
        key: {name: wire(value) for name, value in choice.items()} if isinstance(choice, Mapping) else choice
        for key, choice in resolve.items()
    }


def _lines(kept: IO[bytes], end: int) -> Iterator[tuple[int, bytes]]:
    """What was kept, some lines at a time."""
    at = 0
    while at < end:
        kept.seek(at)
        chunk = kept.read(min(1 << 20, end - at))
        if at + len(chunk) < end:
            chunk += kept.readline()
        at += len(chunk)
        yield chunk.count(b"\n"), chunk
