"""Vectors of `@embed` properties, brought up to date: those that are missing, and those whose text has changed.

    node Doc { title: String @key  text: String?  vec: Vector(64)? @embed("text") }

What is stale is read off the graph, nothing is noted down beside it:

    missing    there is a text and no vector
    changed    the text is another one than at the last commit that embedded this property, and the vector is still the old one;
               whoever wrote text and vector together meant both

**Work** is cut into parts, by fragments of the table or by ids; each part finds its texts, asks the provider (`embedding.paced`),
and writes whole rows to data files that nothing refers to. Whoever runs the parts, here or on a cluster, does the same; then
there is one commit per property. Vectors are kept beside the graph until they are committed (`embed_cache`), so a second attempt,
after a failure or because somebody wrote to the type meanwhile, costs no request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import Catalog, EntityType, Property
from omnigraph.catalog.columns import columns_of
from omnigraph.embedding import Embedder
from omnigraph.embedding.paced import Pace, Paced
from omnigraph.engine.history.past import Past
from omnigraph.engine.snapshot.view import View, Workspace, table_key
from omnigraph.engine.upkeep.embedding_cache import EmbedCache, forget
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.commit import Intent, commit
from omnigraph.engine.write.fill import looked_at
from omnigraph.errors import HistoryReclaimed, ReadSetChanged, UsageError
from omnigraph.hints import Action, Hint, Option
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line, short_id
from omnigraph.storage.tables.changes import WrittenRows
from omnigraph.storage.tables.rows import fragments, images, scan_images, scan_without
from omnigraph.storage.tables.work import PinnedTable, Run, cut

PART_ROWS: Final = 65_536
"""Rows whose missing vectors one part looks for."""

PART_IDS: Final = 4_096
"""Entities whose text has changed that one part takes."""

CHUNK: Final = 1_024
"""Texts after which vectors are kept."""

EMBED_THREADS: Final = 4
"""Parts that are worked on side by side in one process: they mostly wait for the provider."""

ATTEMPTS: Final = 5
"""Times everything is written again because somebody else wrote to the type."""


def require_embedder(embedder: object | None) -> Embedder:
    """A provider, or what to do to have one."""
    if embedder is None:
        raise UsageError(
            "no embedding provider is configured",
            hint=Hint("Give a provider here or when you open the graph: ", Option("embedder")),
        )
    if not isinstance(embedder, Embedder):
        raise UsageError(
            f"{type(embedder).__name__} is not an embedding provider", hint="It needs `model` and `embed(texts, dimension)`."
        )
    return embedder


@frozen
class EmbeddedProperty:
    """What was done for one property."""

    type: str
    property: str
    entities: int
    """Entities with a new vector."""
    requested: int
    """Texts that were sent to the provider: equal ones count once, cached ones not at all."""
    commit: str | None
    """None: everything was up to date."""

    def __repr__(self) -> str:
        at = "up to date" if self.commit is None else f"{counted(self.entities, 'new vector')}, commit {short_id(self.commit)}"
        return one_line(f"{self.type}.{self.property}: {at}")


@frozen
class Embedded:
    """What was done."""

    branch: str
    model: str
    properties: tuple[EmbeddedProperty, ...] = field(default=())

    def __repr__(self) -> str:
        named = ", ".join(f"{p.type}.{p.property} {p.entities:,}" for p in self.properties)
        return one_line(
            f"Embedded {counted(self.entities, 'entity')} on {self.branch} with {self.model}{': ' if named else ''}{named}"
        )

    @property
    def entities(self) -> int:
        """Entities with a new vector."""
        return sum(p.entities for p in self.properties)


@frozen(slots=False)
class Part:
    """Some rows of a type to look at: fragments of its table, or ids."""

    table: PinnedTable
    type: EntityType
    property: str
    embedder: Embedder
    pace: Pace
    fragments: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()
    again: bool = False
    """All texts, whether they have a vector or not."""


@frozen(slots=False)
class PartDone:
    """What came of a part."""

    written: WrittenRows | None
    kept: pa.Table
    """Ids of the rows, and what the rules about sets look at."""
    requested: int
    files: tuple[str, ...]
    """Where vectors are kept."""


def embed(
    workspace: Workspace,
    past: Past,
    view: View,
    branch: str,
    embedder: Embedder,
    *,
    types: Sequence[str] | None = None,
    pace: Pace | None = None,
    again: bool = False,
    actor: str | None = None,
    run: Run,
    workers: int = 1,
) -> Embedded:
    """Bring vectors up to date, of all types or some; `again`: all of them, whatever they have."""
    workspace.store.require_writable()
    job = _Job(workspace, past, branch, embedder, (pace or Pace()).shared_by(workers), again, actor, run)
    return Embedded(branch, embedder.model, tuple(job.run_property(t, p) for t, p in _properties(view.catalog, types, embedder)))


def _properties(catalog: Catalog, types: Sequence[str] | None, embedder: Embedder) -> list[tuple[EntityType, Property]]:
    every: dict[str, EntityType] = {**dict(sorted(catalog.nodes.items())), **dict(sorted(catalog.edges.items()))}
    for name in types or ():
        if name not in every:
            raise UsageError(f"there is no type `{name}`", hint=did_you_mean(name, every) or f"There are {', '.join(every)}.")
    found = [
        (type_, prop)
        for name, type_ in every.items()
        if types is None or name in types
        for prop in type_.properties.values()
        if prop.embed is not None
    ]
    for type_, prop in found:
        recorded = None if prop.embed is None else prop.embed.model
        if recorded is not None and recorded != embedder.model:
            raise UsageError(
                f"{type_.name}.{prop.name} is for model `{recorded}`, not `{embedder.model}`",
                hint="Vectors of different models cannot be compared: configure the recorded one, or name other types.",
            )
    return found


@dataclass
class _Job:
    workspace: Workspace
    past: Past
    branch: str
    embedder: Embedder
    pace: Pace
    again: bool
    actor: str | None
    run: Run

    def run_property(self, type_: EntityType, prop: Property) -> EmbeddedProperty:
        requested = 0
        files: list[str] = []
        with self.workspace.store.in_flight():
            for attempt in range(ATTEMPTS):
                view = self._view()
                done = self.run(embed_part, self._parts(view, type_, prop))
                requested += sum(part.requested for part in done)
                files += [file for part in done for file in part.files]
                try:
                    entities, made = self._committed(view, type_, prop, done)
                except ReadSetChanged:
                    if attempt + 1 == ATTEMPTS:
                        raise
                    continue
                forget(self.workspace.store.place, files)
                return EmbeddedProperty(type_.name, prop.name, entities, requested, made)
        raise AssertionError("unreachable")

    def _view(self) -> View:
        snapshot = self.workspace.store.snapshot(self.branch)
        return self.past.view_at(snapshot.layout)

    def _parts(self, view: View, type_: EntityType, prop: Property) -> list[Part]:
        state = view.snapshot.tables[table_key(type_)]
        pinned = PinnedTable.of(self.workspace.store.place, state)
        whole_type = Part(pinned, type_, prop.name, self.embedder, self.pace, again=self.again)
        parts = [replace(whole_type, fragments=numbers) for numbers in cut(fragments(view.stored(type_).table), PART_ROWS)]
        changed = [] if self.again else self._changed(view, type_, prop)
        return parts + [replace(whole_type, ids=tuple(changed[at : at + PART_IDS])) for at in range(0, len(changed), PART_IDS)]

    def _changed(self, view: View, type_: EntityType, prop: Property) -> list[str]:
        """Entities whose text is another one since this property was embedded last, and whose vector is not."""
        last = self.workspace.store.commit_with_key(self.branch, _key_prefix(type_, prop))
        if last is None:
            return []
        try:
            before = self.past.view_at(last.id)
        except HistoryReclaimed as error:
            raise HistoryReclaimed(
                f"{type_.name}.{prop.name} was embedded last at commit {last.id}, which was reclaimed: it is not known which "
                "texts have changed since",
                hint=Hint("Embed all of them once: ", Action("embed", Option("again", True)), "."),
            ) from error
        assert prop.embed is not None
        found: list[str] = []
        for delta in self.past.deltas.between(before, view, [table_key(type_)]):
            masks = delta.changed_columns
            if prop.embed.source in masks:
                stale = masks[prop.embed.source] & ~masks.get(prop.name, np.zeros(len(delta.ids), np.bool_))
                found += delta.ids.filter(pa.array(stale)).to_pylist()
        return found

    def _committed(self, view: View, type_: EntityType, prop: Property, done: Sequence[PartDone]) -> tuple[int, str | None]:
        parts = [part for part in done if part.written is not None]
        if not parts:
            return 0, None
        kept = pa.concat_tables([part.kept for part in parts]).combine_chunks()
        written = [part.written for part in parts if part.written is not None]
        together = WrittenRows(
            tuple(f for w in written for f in w.fragments),
            sum(w.rows for w in written),
            tuple(f for w in written for f in w.unsynced),
            min(w.fence for w in written),
            stored=tuple(s for w in written for s in w.stored),
        )
        delta = Delta(type_, kept, written=together)
        key = f"{_key_prefix(type_, prop)}{self.workspace.store.ids.next()}"
        message = f"{type_.name}.{prop.name} by {self.embedder.model}"
        intent = Intent("embed", self.actor, message, strict=frozenset({delta.key}), idempotency_key=key)
        made = commit(self.workspace, view, self.branch, ChangeSet([delta]), intent)
        return kept.num_rows, None if made is None else made.id


def _key_prefix(type_: EntityType, prop: Property) -> str:
    return f"embed/{table_key(type_)}/{prop.property_id}/"


# ── one part, anywhere ───────────────────────────────────────────────────────────────────────────────────────────────────────


def embed_part(part: Part) -> PartDone:
    """Find stale texts, embed them, and write whole rows to data files."""
    prop = part.type.properties[part.property]
    assert prop.embed is not None
    assert prop.type.dimension is not None
    table, schema = part.table.open(), columns_of(part.type)
    cache = EmbedCache(part.table.place, part.embedder.model, prop.type.dimension)
    paced = Paced(part.embedder, part.pace)
    kept: list[pa.RecordBatch] = []
    columns = looked_at(part.type)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in _stale(part, prop):
            row_batch = _with_vectors(batch, prop, cache, paced).select(schema.names).cast(schema)
            kept.append(row_batch.select(columns))
            yield row_batch

    rows = batches()
    first = next(rows, None)
    if first is None:
        return PartDone(None, schema.empty_table().select(columns), 0, tuple(cache.files))
    written = table.write(pa.RecordBatchReader.from_batches(schema, _chained(first, rows)))
    return PartDone(written, pa.Table.from_batches(kept), paced.requested, tuple(cache.files))


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _stale(part: Part, prop: Property) -> Iterator[pa.RecordBatch]:
    table = part.table.open()
    assert prop.embed is not None
    source = prop.embed.source
    if part.ids:
        rows = images(table, part.ids)
        rows = rows.filter(rows[prop.name].is_valid())  # those without are found with the fragments
        if not prop.type.nullable:
            rows = rows.filter(rows[source].is_valid())
        yield from rows.combine_chunks().to_batches()
        return
    found = scan_images(table, fragments=part.fragments) if part.again else scan_without(table, prop.name, part.fragments)
    for batch in found:
        texts = batch.column(source)
        wanted = batch.filter(pc.and_(texts.is_valid(), pc.not_equal(pc.binary_length(texts), 0)))
        if wanted.num_rows:
            yield wanted


def _with_vectors(batch: pa.RecordBatch, prop: Property, cache: EmbedCache, paced: Paced) -> pa.RecordBatch:
    """Rows with the vectors of their texts; without a text there is no vector."""
    assert prop.embed is not None
    assert prop.type.dimension is not None
    texts = batch.column(prop.embed.source)
    there = pc.fill_null(pc.not_equal(pc.binary_length(texts), 0), False)
    vectors = cache.embed(paced, texts.filter(there).to_pylist(), CHUNK)
    new = np.zeros((batch.num_rows, prop.type.dimension), np.float32)
    mask = there.to_numpy(zero_copy_only=False)
    new[mask] = vectors
    column = pa.FixedSizeListArray.from_arrays(pa.array(new.ravel()), prop.type.dimension, mask=pa.array(~mask))
    at = batch.schema.get_field_index(prop.name)
    return batch.set_column(at, pa.field(prop.name, column.type), column)
