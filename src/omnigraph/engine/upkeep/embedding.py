"""Vectors of `@embed` properties, brought up to date: those that are missing, and those whose text has changed.

    node Doc { title: String @key  text: String?  vec: Vector(64)? @embed("text") }

What is stale is read off the graph, nothing is noted down beside it:

    missing    there is a text and no vector
    changed    the text is another one than at the last commit that embedded this property, and the vector is still the old one;
               whoever wrote text and vector together meant both

**Work** is cut into parts, by fragments of the table or by ids; each part finds its texts, asks the provider (`write.vectors`),
and writes whole rows to data files that nothing refers to. Whoever runs the parts, here or on a cluster, does the same; then
there is one commit per property. Vectors are kept beside the graph until they are committed (`write.embedding_cache`), so a
second attempt, after a failure or because somebody wrote to the type meanwhile, costs no request. Here there is one part for all
fragments, for what is done side by side are requests: at the end of a part there are fewer and fewer of them under way. Whoever
interrupts them waits for none.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import Catalog, EntityType, Property
from omnigraph.catalog.columns import columns_of
from omnigraph.embedding import Embedder, Pace, Usage, configured
from omnigraph.embedding.paced import pace_of
from omnigraph.embedding.port import require_embedder as require_one
from omnigraph.embedding.space import Space
from omnigraph.engine.history.past import Past
from omnigraph.engine.search.spaces import record_space, replace_space
from omnigraph.engine.snapshot.view import View, Workspace, table_key
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.commit import Intent, commit
from omnigraph.engine.write.embedding_cache import forget
from omnigraph.engine.write.fill import looked_at
from omnigraph.engine.write.vectors import Embedding, Group, Maker, ahead, embedded_properties, require_ready, tables_of
from omnigraph.errors import HistoryReclaimed, ReadSetChanged, UsageError
from omnigraph.hints import Action, Hint, Option
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line, short_id
from omnigraph.storage.tables.changes import WrittenRows
from omnigraph.storage.tables.rows import fragments, images, scan_images, scan_without, together
from omnigraph.storage.tables.work import PinnedTable, Run, cut, here

PART_ROWS: Final = 65_536
"""Rows whose missing vectors one part looks for, where several work side by side."""

PART_IDS: Final = 4_096
"""Entities whose text has changed that one part takes."""

ATTEMPTS: Final = 5
"""Times everything is written again because somebody else wrote to the type."""


def require_embedder(embedder: object | None) -> Embedder:
    """A provider: the one that is given, or the one that the environment asks for."""
    if embedder is None:
        embedder = configured(os.environ)
    if embedder is None:
        raise UsageError(
            "no embedding provider is configured",
            hint=Hint(
                "Set OMNIGRAPH_EMBED_PROVIDER and its key, or OMNIGRAPH_EMBEDDINGS_MOCK=1 for made-up vectors.",
                Hint(" Or give a provider here or when you open the graph: ", Option("embedder")),
            ),
        )
    return require_one(embedder)


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
    usage: Usage = Usage()
    """What the provider was asked, and what it says that costs."""

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

    @property
    def usage(self) -> Usage:
        """What the provider was asked for all of them."""
        return sum((p.usage for p in self.properties), Usage())


@frozen(slots=False)
class Part:
    """Some rows of a type to look at: fragments of its table, or ids."""

    table: PinnedTable
    type: EntityType
    property: str
    embedding: Embedding
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
    usage: Usage
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
    timeout: float | None = None,
    run: Run = here,
    workers: int = 1,
) -> Embedded:
    """Bring vectors up to date, of all types or some; `again`: all of them, whatever they have. By default in this process."""
    workspace.store.require_writable()
    chosen = _types(view.catalog, types)
    require_ready(workspace, chosen, embedder, again=again)
    until = None if timeout is None else time.time() + timeout
    embedding = Embedding(embedder, pace_of(embedder, pace).shared_by(workers), until)
    job = _Job(workspace, past, branch, embedding, again, actor, run, PART_ROWS if workers > 1 else sys.maxsize)
    done = tuple(job.run_property(type_, prop) for type_ in chosen for prop in embedded_properties(type_))
    return Embedded(branch, embedder.model, done)


def _types(catalog: Catalog, types: Sequence[str] | None) -> list[EntityType]:
    every: dict[str, EntityType] = {**dict(sorted(catalog.nodes.items())), **dict(sorted(catalog.edges.items()))}
    for name in types or ():
        if name not in every:
            raise UsageError(f"there is no type `{name}`", hint=did_you_mean(name, every) or f"There are {', '.join(every)}.")
    return [type_ for name, type_ in every.items() if types is None or name in types]


@dataclass
class _Job:
    workspace: Workspace
    past: Past
    branch: str
    embedding: Embedding
    again: bool
    actor: str | None
    run: Run
    part_rows: int

    def run_property(self, type_: EntityType, prop: Property) -> EmbeddedProperty:
        usage = Usage()
        files: list[str] = []
        with self.workspace.store.in_flight():
            for attempt in range(ATTEMPTS):
                view = self._view()
                done = self.run(embed_part, self._parts(view, type_, prop))
                usage = sum((part.usage for part in done), usage)
                files += [file for part in done for file in part.files]
                try:
                    entities, made = self._committed(view, type_, prop, done)
                except ReadSetChanged:
                    if attempt + 1 == ATTEMPTS:
                        raise
                    continue
                forget(self.workspace.store.place, files)
                return EmbeddedProperty(type_.name, prop.name, entities, usage.texts, made, usage)
        raise AssertionError("unreachable")

    def _view(self) -> View:
        snapshot = self.workspace.store.snapshot(self.branch)
        return self.past.view_at(snapshot.layout)

    def _parts(self, view: View, type_: EntityType, prop: Property) -> list[Part]:
        state = view.snapshot.tables[table_key(type_)]
        pinned = PinnedTable.of(self.workspace.store.place, state)
        whole_type = Part(pinned, type_, prop.name, self.embedding, again=self.again)
        parts = [replace(whole_type, fragments=some) for some in cut(fragments(view.stored(type_).table), self.part_rows)]
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
        written = together([part.written for part in parts if part.written is not None])
        embedder = self.embedding.embedder
        record_space(self.workspace, type_, prop, Space.of(embedder), self.actor)
        delta = Delta(type_, kept, written=written)
        key = f"{_key_prefix(type_, prop)}{self.workspace.store.ids.next()}"
        message = f"{type_.name}.{prop.name} by {embedder.model}"
        intent = Intent("embed", self.actor, message, strict=frozenset({delta.key}), idempotency_key=key)
        made = commit(self.workspace, view, self.branch, ChangeSet([delta]), intent)
        if self.again:
            replace_space(self.workspace, type_, prop, embedder, self.actor)
        return kept.num_rows, None if made is None else made.id


def _key_prefix(type_: EntityType, prop: Property) -> str:
    return f"embed/{table_key(type_)}/{prop.property_id}/"


# ── one part, anywhere ───────────────────────────────────────────────────────────────────────────────────────────────────────


def embed_part(part: Part) -> PartDone:
    """Find stale texts, embed them, and write whole rows to data files."""
    prop = part.type.properties[part.property]
    table, schema, columns = part.table.open(), columns_of(part.type), looked_at(part.type)
    written, kept = list[WrittenRows](), list[pa.RecordBatch]()
    with Maker(part.table.place, part.embedding) as maker:
        groups = (Group.stale(rows, prop, maker) for rows in tables_of(_stale(part, prop), part.type))
        for group in ahead(groups):
            batch = group.filled(maker).select(schema.names).cast(schema)
            kept.append(batch.select(columns))
            written.append(table.store(pa.RecordBatchReader.from_batches(schema, [batch])))
            maker.forget()
        ids = pa.Table.from_batches(kept, pa.schema([schema.field(name) for name in columns]))
        return PartDone(together(written) if written else None, ids, maker.usage, maker.files)


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
