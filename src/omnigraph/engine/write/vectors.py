"""Vectors of `@embed` properties of rows that are about to be written, so that they are committed together with their texts.

    text                        vector of the row           vector that is written
    there                       none                        that of the entity, if it has this text already; else a new one
    another one than before     the same as before          a new one: it was kept, not given
    none, as it was not before  the same as before          none
    anything                    anything else               as it is given

Nothing is asked of a provider before the rows are known to be valid, and nothing is committed before all vectors are there. What
was answered is kept beside the graph (`embedding_cache`) until it is committed, so a write that is tried again costs no request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.catalog.columns import columns_of
from omnigraph.embedding.pace import Pace, Usage
from omnigraph.embedding.paced import Paced
from omnigraph.embedding.port import Embedder, Provider, Vectors
from omnigraph.embedding.space import Space
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.column import Mask, to_mask
from omnigraph.engine.search.spaces import record_space, require_space
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.embedding_cache import EmbedCache, forget
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line
from omnigraph.storage.files.place import Place
from omnigraph.storage.tables.changes import WrittenRows
from omnigraph.storage.tables.rows import by_fragment, images, positions_of, rows_of_written, take, together
from omnigraph.storage.tables.table import Table
from omnigraph.storage.tables.work import PinnedTable, Run, here

GROUP_ROWS: Final = 16_384
GROUP_NUMBERS: Final = 8 << 20
GROUP_BYTES: Final = 64 << 20
"""Rows, numbers of their vectors and bytes that are in memory at a time; twice as much while the next ones are asked for."""

_FEW: Final = 2_048
"""So few entities are looked up by their ids."""


@frozen(slots=False)
class Embedding:
    """How a write gets its vectors."""

    embedder: Embedder
    pace: Pace
    until: float | None = None
    """When it is to be given up, as `time.time` says it."""


@frozen
class MadeVectors:
    """Vectors that a write made."""

    model: str
    vectors: int
    usage: Usage = Usage()

    def to_dict(self) -> dict[str, object]:
        """The same as JSON-ready data."""
        used = self.usage
        return {"model": self.model, "vectors": self.vectors, "usage": usage_dict(used)}

    def __repr__(self) -> str:
        return one_line(f"{counted(self.vectors, 'vector')} by {self.model} ({self.usage})")


def usage_dict(used: Usage) -> dict[str, object]:
    """What a provider was asked, as JSON-ready data."""
    said = {"texts": used.texts, "requests": used.requests, "retries": used.retries, "seconds": round(used.seconds, 6)}
    return {**said, "tokens": used.tokens, "cost": used.cost}


@frozen(slots=False)
class Filled:
    """A change with its vectors."""

    changes: ChangeSet
    made: MadeVectors
    files: tuple[str, ...]
    """Where vectors are kept until they are committed."""

    def committed(self, place: Place) -> None:
        """Let go of what was kept."""
        forget(place, self.files)


def embedded_properties(type_: EntityType) -> list[Property]:
    """Properties whose vectors stand for texts."""
    return [prop for prop in type_.properties.values() if prop.embed is not None]


def require_ready(workspace: Workspace, types: Iterable[EntityType], embedder: Embedder, *, again: bool = False) -> None:
    """Refuse, before anything is sent or written, what cannot end well: another model, no key, another dimension."""
    for type_ in types:
        for prop in embedded_properties(type_):
            require_space(workspace, type_, prop, embedder, again=again)
            if isinstance(embedder, Provider):
                assert prop.type.dimension is not None
                embedder.prepare(prop.type.dimension)


def with_vectors(
    workspace: Workspace, view: View, changes: ChangeSet, embedding: Embedding, actor: str | None, run: Run = here
) -> Filled:
    """A valid change with the vectors that its rows lack."""
    mine = [delta for delta in changes if delta.rows.num_rows and embedded_properties(delta.type)]
    require_ready(workspace, (delta.type for delta in mine), embedding.embedder)
    found: dict[str, Delta] = {}
    usage, vectors, files = Usage(), 0, list[str]()
    for delta in mine:
        parts = _parts(workspace, view, delta, embedding)
        done = run(fill_part, parts)
        if any(part.made for part in done):
            for prop in embedded_properties(delta.type):
                record_space(workspace, delta.type, prop, Space.of(embedding.embedder), actor)
        if any(part.changed for part in done):
            found[delta.key] = _filled(delta, done)
        usage, vectors = sum((part.usage for part in done), usage), vectors + sum(part.made for part in done)
        files += [file for part in done for file in part.files]
    made = MadeVectors(embedding.embedder.model, vectors, usage)
    return Filled(ChangeSet(found.get(delta.key, delta) for delta in changes), made, tuple(files))


def _filled(delta: Delta, done: Sequence[FilledPart]) -> Delta:
    if delta.written is None:
        (part,) = done
        return replace(delta, rows=part.rows)
    assert all(part.written is not None for part in done)
    written = together([part.written for part in done if part.written is not None], delta.written)
    return replace(delta, written=written, unchanged=False)


def _parts(workspace: Workspace, view: View, delta: Delta, embedding: Embedding) -> list[WrittenPart]:
    pinned = PinnedTable.of(workspace.store.place, view.snapshot.tables[delta.key])
    looks = not delta.fresh and bool(pinned.state.rows)
    whole_type = WrittenPart(pinned, delta.type, embedding, looks)
    if delta.written is None:
        return [replace(whole_type, rows=delta.rows)]
    if delta.written.unstored is not None:
        return [replace(whole_type, written=delta.written)]
    return [replace(whole_type, written=one) for one in by_fragment(delta.written)]


# ── one part, anywhere ───────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen(slots=False)
class WrittenPart:
    """Some rows that are about to be committed: in memory, or in a data file."""

    table: PinnedTable
    type: EntityType
    embedding: Embedding
    looks: bool
    """Whether entities of these ids may be there."""
    rows: pa.Table | None = None
    written: WrittenRows | None = None


@frozen(slots=False)
class FilledPart:
    """What came of it: the rows again, in memory or in data files."""

    made: int
    changed: bool
    usage: Usage
    files: tuple[str, ...]
    rows: pa.Table | None = None
    written: WrittenRows | None = None


def fill_part(part: WrittenPart) -> FilledPart:
    """Rows with the vectors they lack."""
    table, schema = part.table.open(), columns_of(part.type)
    with Maker(part.table.place, part.embedding) as maker:
        if part.rows is not None:
            (group,) = _planned([part.rows], part, table, maker)
            batch = group.filled(maker)
            rows = pa.Table.from_batches([batch]).select(schema.names).cast(schema) if group.changes else part.rows
            return FilledPart(group.made, group.changes, maker.usage, maker.files, rows=rows)
        assert part.written is not None
        source = rows_of_written(table, part.table.state, part.written)
        parts, made, changed = list[WrittenRows](), 0, False
        for group in ahead(_planned(tables_of(source, part.type), part, table, maker)):
            batch = group.filled(maker).select(schema.names).cast(schema)
            parts.append(table.store(pa.RecordBatchReader.from_batches(schema, [batch])))
            made, changed = made + group.made, changed or group.changes
            maker.forget()
        written = together(parts) if changed else part.written
        return FilledPart(made, changed, maker.usage, maker.files, written=written)


def ahead(groups: Iterator[Group]) -> Iterator[Group]:
    """Groups in their order, each when the next one is asked for: the provider has always something to do."""
    waiting: deque[Group] = deque()
    for group in groups:
        waiting.append(group)
        if len(waiting) > 1:
            yield waiting.popleft()
    yield from waiting


def tables_of(batches: Iterable[pa.RecordBatch], type_: EntityType) -> Iterator[pa.Table]:
    """Rows in groups that fit in memory."""
    widest = max(prop.type.dimension or 1 for prop in embedded_properties(type_))
    most = max(1, min(GROUP_ROWS, GROUP_NUMBERS // widest))
    group: list[pa.RecordBatch] = []
    for batch in batches:
        for at in range(0, batch.num_rows, most):
            piece = batch.slice(at, most)
            full = sum(b.num_rows for b in group) + piece.num_rows > most or sum(b.nbytes for b in group) > GROUP_BYTES
            if group and full:
                yield pa.Table.from_batches(group)
                group = []
            group.append(piece)
    if group:
        yield pa.Table.from_batches(group)


def _planned(tables: Iterable[pa.Table], part: WrittenPart, table: Table, maker: Maker) -> Iterator[Group]:
    for rows in tables:
        before = _before(table, whole(rows["id"]), part.type) if part.looks else None
        yield Group.of(rows, embedded_properties(part.type), before, maker)


def _before(table: Table, ids: pa.Array, type_: EntityType) -> pa.Table:
    """What is committed of some entities: their texts and vectors."""
    sources = [prop.embed.source for prop in embedded_properties(type_) if prop.embed is not None]
    names = list(dict.fromkeys(["id", *sources, *(prop.name for prop in embedded_properties(type_))]))
    if len(ids) <= _FEW:
        return images(table, ids.to_pylist()).select(names)
    positions = positions_of(table, ids)
    return take(table, positions[positions >= 0], names)


class Maker:
    """Makes vectors of any dimension, through what is kept of them."""

    def __init__(self, place: Place, embedding: Embedding) -> None:
        self._place, self._until = place, embedding.until
        self._paced = Paced(embedding.embedder, embedding.pace)
        self._caches: dict[int, EmbedCache] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Maker:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)  # type: ignore[arg-type]

    @property
    def usage(self) -> Usage:
        """What the provider was asked."""
        return self._paced.usage

    @property
    def files(self) -> tuple[str, ...]:
        """Where vectors are kept."""
        return tuple(file for cache in self._caches.values() for file in cache.files)

    def cache(self, prop: Property) -> EmbedCache:
        """Vectors of the dimension of a property."""
        assert prop.type.dimension is not None
        found = self._caches.get(prop.type.dimension)
        if found is None:
            made = EmbedCache(self._place, self._paced, prop.type.dimension, self._until)
            found = self._caches[prop.type.dimension] = self._stack.enter_context(made)
        return found

    def forget(self) -> None:
        """Let go of what is in files."""
        for cache in self._caches.values():
            cache.forget()


class Group:
    """Some rows, and the vectors that they are to have."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows.combine_chunks()
        self._wanted: list[tuple[Property, Vectors, Mask, Mask, list[str]]] = []
        self.made = 0
        self.changes = False

    @classmethod
    def of(cls, rows: pa.Table, props: Sequence[Property], before: pa.Table | None, maker: Maker) -> Group:
        """Rows whose vectors are looked at as the page above says; what is to be made is asked for."""
        group = cls(rows)
        places = None if before is None else pc.index_in(whole(group.rows["id"]), value_set=whole(before["id"]))
        for prop in props:
            group._look(prop, before, places, maker)
        return group

    @classmethod
    def stale(cls, rows: pa.Table, prop: Property, maker: Maker) -> Group:
        """Rows whose vectors are made anew; without a text there is none."""
        group = cls(rows)
        assert prop.embed is not None
        texts = whole(group.rows[prop.embed.source])
        there = _is_text(texts)
        vectors = np.zeros((len(texts), prop.type.dimension or 0), np.float32)
        group._want(prop, vectors, there.copy(), there, texts, maker)
        return group

    def _look(self, prop: Property, before: pa.Table | None, places: pa.Array | None, maker: Maker) -> None:
        assert prop.embed is not None
        texts, given = whole(self.rows[prop.embed.source]), whole(self.rows[prop.name])
        vectors, valid = _matrix(given, prop), to_mask(given.is_valid())
        there = _is_text(texts)
        makes = there & ~valid
        if before is not None and places is not None:
            known = to_mask(places.is_valid())
            at = pc.fill_null(places, 0).to_numpy(zero_copy_only=False)
            if before.num_rows:
                old_texts = whole(before[prop.embed.source]).take(pa.array(at))
                old_column = whole(before[prop.name]).take(pa.array(at))
                old, had = _matrix(old_column, prop), to_mask(old_column.is_valid()) & known
                both_none = to_mask(texts.is_null()) & to_mask(old_texts.is_null())
                same_text = known & (to_mask(pc.fill_null(pc.equal(texts, old_texts), False)) | both_none)
                kept = had & valid & (vectors == old).all(axis=1)
                again = makes & had & same_text
                vectors[again] = old[again]
                valid |= again
                self.changes |= bool(again.any())
                makes &= ~again
                makes |= kept & ~same_text & there
                gone = kept & ~same_text & ~there
                if prop.type.nullable and gone.any():
                    valid &= ~gone
                    self.changes = True
        self._want(prop, vectors, valid | makes, makes, texts, maker)

    def _want(self, prop: Property, vectors: Vectors, valid: Mask, makes: Mask, texts: pa.Array, maker: Maker) -> None:
        wanted = texts.filter(pa.array(makes)).to_pylist()
        if wanted:
            maker.cache(prop).request(wanted)
        self.made += len(wanted)
        self.changes |= bool(wanted)
        self._wanted.append((prop, vectors, valid, makes, wanted))

    def filled(self, maker: Maker) -> pa.RecordBatch:
        """The rows with their vectors, once these are there."""
        rows = self.rows
        for prop, vectors, valid, makes, texts in self._wanted:
            if texts:
                vectors[makes] = maker.cache(prop).collect(texts)
            column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), prop.type.dimension, mask=pa.array(~valid))
            at = rows.schema.get_field_index(prop.name)
            rows = rows.set_column(at, pa.field(prop.name, column.type), column)
        (batch,) = rows.combine_chunks().to_batches() or (pa.RecordBatch.from_pylist([], rows.schema),)
        return batch


def _is_text(texts: pa.Array) -> Mask:
    return to_mask(pc.fill_null(pc.not_equal(pc.binary_length(texts), 0), False))


def _matrix(column: pa.Array, prop: Property) -> Vectors:
    """Vectors as rows of numbers, zeros where there is none."""
    dimension = prop.type.dimension or 0
    found = np.zeros((len(column), dimension), np.float32)
    valid = to_mask(column.is_valid())
    if valid.any():
        found[valid] = column.drop_null().flatten().to_numpy(zero_copy_only=False).reshape(-1, dimension)
    return found
