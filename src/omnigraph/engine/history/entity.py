"""The history of one entity: every commit that changed it, with its values before and after.

Commits are gone through from the newest backwards, and what they noted down says which of them to look at:

    a small commit       names the entities it is about                                     nothing is read of the others
    a large one          rows that come stand in fragments it added, so an entity that      nothing is read if it stands elsewhere
                         stands in another fragment was not touched
    merge, revert, schema                                                                   both images are read and compared

Of a merge the revision says besides which commits it came from: those it brought along that are about the entity.

The image after a commit is the one before the next that touched the entity, so each of them costs one lookup by id. Besides, one
lookup finds out where the entity stands, whenever a large commit comes after others that may have moved it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from omnigraph.catalog.catalog import Catalog, EntityType, Kind
from omnigraph.engine.history.changes import Change, Image, Op, changes_of, opaque_type_id, shown
from omnigraph.engine.history.commit_log import CommitLog
from omnigraph.engine.history.deltas import aligned, types_of
from omnigraph.engine.history.row_delta import RowDelta, no_images
from omnigraph.engine.snapshot.view import View, table_key
from omnigraph.errors import HistoryReclaimed, NotFound
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, iso, one_line, short_id
from omnigraph.model.text_tables import text_table
from omnigraph.storage.commits.lineage import Commit, DamagedCommit, TableChange, only_of
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.lance_format.filters import one_of
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.rows import found, images

_RUN: Final = 256
"""Commits read at once."""
_BY_FRAGMENTS: Final = frozenset({"mutate", "load", "embed", "analytics"})
"""Operations whose rows that come stand in fragments which they added."""
ORIGINS: Final = 50
"""Most commits that a merge is said to have brought along."""

_SHOWN: Final = 20


@frozen(slots=False)
class Revision:
    """What one commit did to an entity."""

    commit: Commit
    change: Change
    origins: tuple[Commit, ...] = ()
    """If it is a merge: the commits it brought along that changed the entity, newest first; at most `ORIGINS`."""

    def __repr__(self) -> str:
        return one_line(f"{self.change!r} in commit {short_id(self.commit.id)}")

    @property
    def op(self) -> Op:
        return self.change.op

    @property
    def before(self) -> Image | None:
        """The entity as it was; None if it was inserted."""
        return self.change.before

    @property
    def after(self) -> Image | None:
        """The entity as the commit left it; None if it was deleted."""
        return self.change.after

    @property
    def properties(self) -> tuple[str, ...]:
        """What an update changed."""
        return self.change.properties

    def to_dict(self) -> dict[str, Any]:
        """The revision as JSON-ready data."""
        origins = {"origins": [commit.to_dict() for commit in self.origins]} if self.origins else {}
        return {"commit": self.commit.to_dict(), "change": self.change.to_dict(), **origins}


@frozen(slots=False)
class EntityHistory:
    """Every commit of a branch that changed an entity, newest first."""

    kind: Kind
    type: str
    id: str
    branch: str
    revisions: tuple[Revision, ...]
    is_complete: bool
    """Whether these are all: not if only some were asked for, or older commits were reclaimed."""

    def __len__(self) -> int:
        return len(self.revisions)

    def __iter__(self) -> Iterator[Revision]:
        return iter(self.revisions)

    def __getitem__(self, place: int) -> Revision:
        return self.revisions[place]

    def __repr__(self) -> str:
        more = "" if self.is_complete else ", and older ones that are not here"
        head = f"{self.kind.capitalize()} {self.type} {shown(self.id)} on {self.branch}: {counted(len(self), 'revision')}{more}"
        rows: list[tuple[str, ...]] = []
        for r in self.revisions[:_SHOWN]:
            rows.append((short_id(r.commit.id), *_by(r.commit), r.op, shown_values(r), one_line(r.commit.message or "")))
            rows += [(f"  {short_id(c.id)}", *_by(c), "", f"on {c.branch}", one_line(c.message or "")) for c in r.origins]
        columns: tuple[str, ...] = ("commit", "time", "actor", "op", "values", "message")
        if not any(row[-1] for row in rows):
            columns, rows = columns[:-1], [row[:-1] for row in rows]
        return "\n".join([one_line(head), *text_table(columns, rows)])

    def to_dict(self) -> dict[str, Any]:
        """The history as JSON-ready data."""
        return {
            "kind": self.kind,
            "type": self.type,
            "id": self.id,
            "branch": self.branch,
            "is_complete": self.is_complete,
            "revisions": [revision.to_dict() for revision in self.revisions],
        }


def _by(commit: Commit) -> tuple[str, str]:
    return iso(commit.created_at), commit.actor or ""


def shown_values(revision: Revision) -> str:
    """What a revision changed, in one line: values, and the ends of an edge."""
    image = revision.after or revision.before
    assert image is not None
    old, new = (({} if i is None else {**_ends(i), **i.properties}) for i in (revision.before, revision.after))
    if revision.op == "update":
        names = (name for name in revision.properties if name in new)
        return one_line(", ".join(f"{name} {shown(old.get(name))} → {shown(new.get(name))}" for name in names), 80)
    said = {**_ends(image), **image.properties}
    return one_line(", ".join(f"{name} {shown(value)}" for name, value in said.items() if value is not None), 80)


def _ends(image: Image) -> dict[str, str]:
    return {} if image.endpoints is None else dict(zip(("from", "to"), image.endpoints, strict=True))


@dataclass
class _Trace:
    """What is known of the entity while going back."""

    present: bool
    fragment: int | None = None
    """Where it stands, if that is known."""
    rows: pa.Table | None = None
    """Its image, if it was read."""


class EntityHistories:
    """Finds histories of entities in one stored graph. Safe from any thread."""

    def __init__(self, store: GraphStore, log: CommitLog, catalog_of: Callable[[Commit], Catalog]) -> None:
        self._store = store
        self._log = log
        self._catalog_of = catalog_of
        self.lookups = 0
        """How many rows were looked for: the cost tests count on it."""

    def of(self, view: View, branch: str, type_: EntityType, id_: str, limit: int | None) -> EntityHistory:
        """The revisions of an entity along the first parents of a branch, newest first."""
        key = table_key(type_)
        trace = _Trace(False)
        trace.fragment = self._fragment(view.snapshot.tables[key], id_)
        trace.present = trace.fragment is not None
        revisions: list[Revision] = []
        is_complete = True
        for commit in self._store.line(branch, _RUN):
            if limit is not None and len(revisions) >= limit:
                is_complete = False
                break
            change = None if isinstance(commit, DamagedCommit) else next((c for c in commit.changes if c.table == key), None)
            try:
                if change is None or not self._may_touch(trace, commit, change, id_):
                    continue
                found_change = self._step(trace, commit, change, key, id_)
            except (HistoryReclaimed, NotFound):
                is_complete = False
                break
            if found_change is not None:
                origins = tuple(map(self._log.shown, islice(self._origins(commit, key, id_), ORIGINS)))
                revisions.append(Revision(self._log.shown(commit), found_change, origins))
        return EntityHistory(type_.kind, type_.name, id_, branch, tuple(revisions), is_complete)

    def _may_touch(self, trace: _Trace, commit: Commit, change: TableChange, id_: str) -> bool:
        """Whether a commit may have changed the entity; and where it stood before, if it only moved."""
        if change.before is None or change.after is None:
            return trace.present
        if change.named is not None:
            if change.named.touches({id_}):
                return True
            if trace.fragment in change.fragments_added:  # a writer has folded small fragments on its way
                trace.fragment = None
            return False
        if not commit.is_maintenance and commit.operation not in _BY_FRAGMENTS:
            return True
        if not trace.present:
            return not commit.is_maintenance and change.removed > 0
        if commit.is_maintenance:
            trace.fragment = None
            return False
        if trace.fragment is None:
            trace.fragment = self._fragment(change.after, id_)
        return trace.fragment in change.fragments_added

    def _step(self, trace: _Trace, commit: Commit, change: TableChange, key: str, id_: str) -> Change | None:
        """What a commit did to the entity, if it did anything; and the trace before it."""
        later = None if change.after is None else types_of(self._catalog_of(commit)).get(key)
        earlier = None if change.before is None or commit.parent is None else self._type_at(commit.parent, key)
        type_ = later or earlier
        assert type_ is not None
        after = trace.rows if trace.rows is not None else self._image(change.after, id_)
        before = self._image(change.before, id_)
        trace.present, trace.fragment, trace.rows = before.num_rows > 0, None, before
        new = aligned(after, later, type_) if after.num_rows and later is not None else no_images(type_)
        old = aligned(before, earlier, type_) if before.num_rows and earlier is not None else no_images(type_)
        delta = RowDelta.of(type_, old, new)
        if delta.is_empty:
            return None
        return next(changes_of(delta, opaque_type_id(self._catalog_of(commit).ir.domain, type_), 0, 1))

    def _origins(self, merge: Commit, key: str, id_: str) -> Iterator[Commit]:
        """Commits that a merge brought along and that changed the entity, as far as they can be read; newest first."""
        if merge.merged_parent is None or merge.parent is None:
            return
        brought: frozenset[str] = frozenset()
        with suppress(HistoryReclaimed, NotFound):
            brought = only_of(merge.merged_parent, merge.parent, self._log.parents)
        for commit in map(self._log.get, sorted(brought, reverse=True)):
            if isinstance(commit, DamagedCommit) or commit.is_maintenance or commit.merged_parent is not None:
                continue
            change = next((c for c in commit.changes if c.table == key), None)
            if change is not None and self._changed(commit, change, key, id_):
                yield commit

    def _changed(self, commit: Commit, change: TableChange, key: str, id_: str) -> bool:
        if change.named is not None and not change.named.touches({id_}):
            return False
        try:
            return self._step(_Trace(False), commit, change, key, id_) is not None
        except (HistoryReclaimed, NotFound):
            return False

    def _type_at(self, commit: str, key: str) -> EntityType | None:
        return types_of(self._catalog_of(self._log.get(commit))).get(key)

    def _image(self, state: TableState | None, id_: str) -> pa.Table:
        if state is None or not state.rows:
            return pa.table({"id": pa.array([], pa.string())})
        self.lookups += 1
        return images(self._store.tables.open(state), [id_])

    def _fragment(self, state: TableState, id_: str) -> int | None:
        """The fragment that an entity stands in; None if there is no such entity."""
        if not state.rows:
            return None
        self.lookups += 1
        addresses, _ = found(self._store.tables.open(state), ["id"], one_of("id", [id_]))
        return int(addresses[0]) >> 32 if len(addresses) else None
