"""What a graph shows of itself: commits, what stands where and how much of it, the bytes of a
Blob, the nodes and edges behind an answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final, Literal

from omnigraph.catalog.catalog import EntityType, Kind
from omnigraph.engine.arrays.blob_cells import plain_cell
from omnigraph.engine.execution.reader import Reader
from omnigraph.engine.export.subgraph import Matched, Subgraph
from omnigraph.engine.history.changes import KINDS
from omnigraph.engine.history.past import Past
from omnigraph.engine.planning.prepared import Prepared, QueryText
from omnigraph.engine.schema.indexes import declared_indexes
from omnigraph.engine.snapshot.failures import Failure
from omnigraph.engine.snapshot.memory import MemoryUse
from omnigraph.engine.snapshot.saved import SavedUse
from omnigraph.engine.snapshot.view import View, Workspace, table_key
from omnigraph.errors import HistoryReclaimed, NotFound, UsageError
from omnigraph.hints import Action, Hint
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line, short_id, size
from omnigraph.model.text_tables import html_table, text_table
from omnigraph.model.versions import INTERNAL_SCHEMA_VERSION
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.rewriting.indexes import IndexKind, uncovered_rows
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.rows import images

_LANCE_NAMES: Final = {IndexKind.BTREE: "BTree", IndexKind.FULL_TEXT: "Inverted"}
"""What an index is called once it is there."""


@frozen
class TypeState:
    """Where the entities of a type stand at a commit."""

    kind: Kind
    name: str
    path: str
    version: int
    """The pinned version: another one whenever an entity of the type changed."""
    entities: int
    fragments: int

    def __repr__(self) -> str:
        held = f"{counted(self.entities, 'entity')}, version {short_id(str(self.version))}"
        return one_line(f"{self.kind.capitalize()} type {self.name}: {held}")

    @property
    def type_key(self) -> str:
        return f"{self.kind}:{self.name}"


@frozen
class GraphSnapshot:
    """A graph at a commit, type by type."""

    branch: str
    commit: str
    number: int
    """How many commits there are along the first parents."""
    types: tuple[TypeState, ...]

    def __repr__(self) -> str:
        rows = [(t.kind, t.name, f"{t.entities:,}") for t in self.types]
        head = one_line(f"Snapshot of {self.branch} at commit {short_id(self.commit)}, number {self.number:,}")
        return "\n".join([head, *text_table(("kind", "type", "entities"), rows, right=(False, False, True))])

    def to_dict(self) -> dict[str, Any]:
        """The snapshot as JSON-ready data."""
        return {
            "graph_branch": self.branch,
            "graph_manifest_version": self.number,
            "internal_schema_version": INTERNAL_SCHEMA_VERSION,
            "graph_commit_id": self.commit,
            "datasets": [
                {
                    "entity_kind": t.kind,
                    "type_name": t.name,
                    "dataset_path": t.path,
                    "published_dataset_version": t.version,
                    "native_dataset_branch": None,
                    "entity_count": t.entities,
                }
                for t in self.types
            ],
        }


@frozen
class Cell:
    """Which Blob: a property of one node or edge."""

    entity: Kind
    type: str
    id: str
    property: str


@frozen
class Blob:
    """One Blob property: its bytes and what they are called, or where they are."""

    entity: Kind
    type: str
    id: str
    property_name: str
    content: bytes | str = field(repr=False)
    """The bytes, or the URI of a place outside the graph."""
    commit: str
    """The commit they were read from."""

    def __repr__(self) -> str:
        held = size(len(self.content)) if isinstance(self.content, bytes) else f"at {self.content}"
        return one_line(f"Blob {self.property_name} of {self.entity} {self.type} {self.id}, {held}")

    @property
    def kind(self) -> Literal["managed", "external"]:
        """Whether the graph holds the bytes."""
        return "managed" if isinstance(self.content, bytes) else "external"

    @property
    def uri(self) -> str | None:
        """Where the bytes of an external Blob are. Nothing here follows it."""
        return None if isinstance(self.content, bytes) else self.content

    @property
    def data(self) -> bytes:
        """The bytes. Those of an external Blob are not the graph's to read."""
        if not isinstance(self.content, bytes):
            hint = Hint(
                "External Blobs are not followed: read the URI yourself.", Hint(" ", Action("read_blob"), " describes it.")
            )
            raise UsageError(f"the Blob is external: {self.content}", hint=hint)
        return self.content

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def etag(self) -> str:
        """Equal bytes, equal tag."""
        return f'"{hashlib.sha256(self.data).hexdigest()}"'


@frozen
class IndexStats:
    """An index of a type, and how far it has come. Rows it does not cover are read through: slower, and as right."""

    property_name: str
    kind: str
    covered: int
    """Rows that it covers."""
    rows: int

    @property
    def behind(self) -> int:
        """Rows that it does not cover yet."""
        return self.rows - self.covered

    def __repr__(self) -> str:
        return one_line(f"Index on {self}")

    def __str__(self) -> str:
        behind = f", {self.covered:,} of {counted(self.rows, 'row')}" if self.behind else ""
        return f"{self.property_name} ({self.kind}{behind})"


@frozen
class TypeStats:
    """One node or edge type at a commit."""

    name: str
    kind: Literal["node", "edge"]
    rows: int
    indexes: tuple[IndexStats, ...]

    def __repr__(self) -> str:
        named = f", indexes on {', '.join(i.property_name for i in self.indexes)}" if self.indexes else ""
        return one_line(f"{self.kind.capitalize()} type {self.name}: {counted(self.rows, 'entity')}{named}")


@frozen
class Stats:
    """A graph in numbers."""

    branch: str
    commit: str
    types: tuple[TypeStats, ...]
    memory: MemoryUse
    saved: SavedUse
    prepared_queries: int
    failures: tuple[Failure, ...] = ()
    """Work in the background that failed and has not succeeded since, the latest last."""

    _COLUMNS = ("kind", "type", "entities", "indexes")

    def __repr__(self) -> str:
        table = text_table(self._COLUMNS, self._cells(), right=(False, False, True))
        return "\n".join([one_line(self._heading()), *table, *(one_line(f"failed: {failure}") for failure in self.failures)])

    def _repr_html_(self) -> str:
        return html_table(
            self._COLUMNS, self._cells(), above=self._heading(), below="; ".join(f"failed: {f}" for f in self.failures)
        )

    def _heading(self) -> str:
        total = counted(sum(t.rows for t in self.types), "entity")
        memory = f"{size(self.memory.used)} of {size(self.memory.budget)} of memory in use"
        return f"{self.branch} at commit {short_id(self.commit)}: {total} of {counted(len(self.types), 'type')}; {memory}"

    def _cells(self) -> list[tuple[str, str, str, str]]:
        return [(t.kind, t.name, f"{t.rows:,}", ", ".join(map(str, t.indexes))) for t in self.types]

    def to_dict(self) -> dict[str, Any]:
        """The numbers as JSON-ready data."""
        return {
            "branch": self.branch,
            "commit": self.commit,
            "types": [
                {
                    "name": t.name,
                    "kind": t.kind,
                    "rows": t.rows,
                    "indexes": [{"property": i.property_name, "kind": i.kind, "rows_covered": i.covered} for i in t.indexes],
                }
                for t in self.types
            ],
            "memory": {
                "budget_bytes": self.memory.budget,
                "used_bytes": self.memory.used,
                "entries": self.memory.entries,
                "hits": self.memory.hits,
                "misses": self.memory.misses,
                "evicted": self.memory.evicted,
            },
            "saved": {
                "read": self.saved.read,
                "written": self.saved.written,
                "damaged": self.saved.damaged,
                "reasons": list(self.saved.reasons),
            },
            "prepared_queries": self.prepared_queries,
            "failures": [failure.to_dict() for failure in self.failures],
        }


class Inspection:
    """Looks at one open graph from outside."""

    def __init__(self, workspace: Workspace, reader: Reader, past: Past) -> None:
        self._workspace = workspace
        self._reader = reader
        self._past = past

    def stats(self, view: View) -> Stats:
        """How many of what there is, what is indexed, and how memory is used."""
        types = []
        for type_ in (*view.catalog.nodes.values(), *view.catalog.edges.values()):
            state = view.stored(type_).state
            types.append(TypeStats(type_.name, type_.kind, state.rows, tuple(self._indexes(type_, state))))
        use = self._workspace.memory.use()
        saved = self._workspace.saved.use()
        failures = self._workspace.saved.failures.all()
        at = view.snapshot
        return Stats(at.branch, at.commit, tuple(types), use, saved, len(self._reader.prepared), failures)

    def _indexes(self, type_: EntityType, state: TableState) -> Iterator[IndexStats]:
        """Those that are there, and those that the schema declares and nobody has built yet."""
        behind: dict[str, int] = {}
        if any(index.covered < state.fragments for index in state.indexes):
            behind = uncovered_rows(self._workspace.store.tables.open(state))
        there = {index.name for index in state.indexes}
        for index in state.indexes:
            open_ = behind.get(index.name, 0) if index.covered < state.fragments else 0
            yield IndexStats(index.column, index.kind, state.rows - open_, state.rows)
        for spec in declared_indexes(type_, state.rows):
            if spec.name not in there and state.rows:
                yield IndexStats(spec.column, _LANCE_NAMES.get(spec.kind, spec.kind.value), 0, state.rows)

    def subgraph(
        self, view: View, source: QueryText, params: Mapping[str, object] | None, name: str | None, limit: int
    ) -> Subgraph:
        """The nodes and edges that the pattern of a read matched."""
        matched = Matched.of(self._reader.prepare(view, source, name).query, limit)
        return matched.subgraph(view, self._reader.answer_prepared(view, Prepared(matched.query, view.catalog), params))

    def commit(self, commit: str, *, maintenance: bool = False) -> Commit:
        """A commit by id, or the one that a branch or tag names."""
        try:
            return self._past.commit(commit, maintenance=maintenance)
        except (HistoryReclaimed, NotFound):
            raise NotFound(
                f"commit '{commit}' not found",
                what="commit",
                name=str(commit),
                hint="The commits of a branch are listed newest first.",
            ) from None

    def snapshot(self, view: View) -> GraphSnapshot:
        """What stands where."""
        states = view.snapshot.tables
        types = [e for _, e in sorted(view.catalog.edges.items())] + [n for _, n in sorted(view.catalog.nodes.items())]
        found = []
        for type_ in types:
            state = states[table_key(type_)]
            found.append(TypeState(type_.kind, type_.name, state.location, state.version, state.rows, state.fragments))
        number = self.commit(view.snapshot.commit).number
        return GraphSnapshot(view.snapshot.branch, view.snapshot.commit, number, tuple(found))

    def blob(self, view: View, cell: Cell) -> Blob:
        """A Blob property of one node or edge: its bytes, or the URI it refers to."""
        if cell.entity not in KINDS:
            raise UsageError(f"invalid Blob selector: `{cell.entity}` is neither node nor edge")
        types = view.catalog.nodes if cell.entity == "node" else view.catalog.edges
        found = types.get(cell.type)
        if found is None:
            raise UsageError(f"invalid Blob selector: no {cell.entity} type `{cell.type}`", hint=_near(cell.type, types))
        prop = found.properties.get(cell.property)
        if prop is None or not prop.type.is_blob:
            blobs = [name for name, p in found.properties.items() if p.type.is_blob]
            what = "no Blob" if prop is not None else f"not a property of {cell.type}"
            raise UsageError(f"invalid Blob selector: `{cell.property}` is {what}", hint=_near(cell.property, blobs))
        values = images(view.stored(found).table, [cell.id])[cell.property].to_pylist()
        if not values or values[0] is None:
            raise NotFound(
                "Blob cell not found",
                what="Blob cell",
                hint=f"{cell.type} {cell.id} does not exist, or its {cell.property} is null.",
            )
        return Blob(cell.entity, cell.type, cell.id, cell.property, plain_cell(values[0]), view.snapshot.commit)


def _near(name: str, known: Any) -> str:
    return did_you_mean(name, known) or (f"There are {', '.join(sorted(known))}." if known else "It has none.")
