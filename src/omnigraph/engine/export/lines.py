"""A graph as JSON lines, which load back to an equal graph.

    {"edge":"Knows","from":"Ada","to":"Bob","data":{"id":"01J…","since":null}}
    {"type":"Person","data":{"id":"Ada","age":36,"name":"Ada"}}

Edges first, then nodes; types by name, entities by id. Dates and moments are ISO texts, blobs `base64:…` or the URI they refer to
(`omnigraph.engine.arrays.plain_values`). Rows are read in chunks of some megabytes: all that is in memory
of a type at once is its ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.json_lines import lines
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import UsageError
from omnigraph.language.diagnostics import did_you_mean, one_of
from omnigraph.model.frozen import frozen
from omnigraph.model.outputs import output_file
from omnigraph.model.phrases import counted, one_line, short_id, size
from omnigraph.storage.tables.rows import images, row_bytes, take

CHUNK = 8_192
"""Entities that are read and written at a time…"""

CHUNK_BYTES = 32 << 20
"""…and bytes, unless a single one has more."""


class ByteSink(Protocol):
    """Something to write bytes to."""

    def write(self, data: bytes, /) -> object:
        """Take some bytes."""
        ...


@frozen
class Exported:
    """What came of an export."""

    commit: str
    """The commit that was read."""
    entities: int
    bytes: int

    def __repr__(self) -> str:
        return one_line(f"Exported {counted(self.entities, 'entity')} ({size(self.bytes)}) of commit {short_id(self.commit)}")


def export(
    view: View,
    target: str | Path | ByteSink,
    types: Iterable[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Exported:
    """Write a graph. A file appears under its name when it is complete, not before."""
    chosen = exported_types(view.catalog, types)
    if not isinstance(target, str | Path):
        return _written(view, target, chosen, progress)
    with output_file(target) as file:
        return _written(view, file, chosen, progress)


def _written(view: View, sink: ByteSink, chosen: list[EntityType], progress: Callable[[int], None] | None) -> Exported:
    entities = size = 0
    for count, data in chunks(view, chosen):
        sink.write(data)
        entities, size = entities + count, size + len(data)
        if progress is not None:
            progress(count)
    return Exported(view.snapshot.commit, entities, size)


def exported_types(catalog: Catalog, names: Iterable[str] | None = None) -> list[EntityType]:
    """Types by name, or all of them, in the order they are written in."""
    edges, nodes = dict(sorted(catalog.edges.items())), dict(sorted(catalog.nodes.items()))
    if names is None:
        return [*edges.values(), *nodes.values()]
    wanted = {names} if isinstance(names, str) else set(names)
    for name in sorted(wanted):
        if name not in edges and name not in nodes:
            known = f"There are {one_of([*nodes, *edges])}." if edges or nodes else "The schema has no types."
            raise UsageError(f"unknown export type '{name}'", hint=did_you_mean(name, [*edges, *nodes]) or known)
    return [t for group in (edges, nodes) for name, t in group.items() if name in wanted]


def chunks(view: View, types: Iterable[EntityType]) -> Iterator[tuple[int, bytes]]:
    """Lines of some types, a chunk at a time, with the number of entities in it."""
    for type_ in types:
        for rows in entities_in_order(view, type_):
            yield rows.num_rows, lines(type_, rows)


def entities_in_order(view: View, type_: EntityType) -> Iterator[pa.Table]:
    """Entities of a type by id, some thousands at a time, whole."""
    table = view.stored(type_).table
    columns = ["id", *(() if type_.is_node else ("src", "dst")), *type_.properties]
    ids = whole(table.read(["id"])["id"])
    order = pc.sort_indices(ids).to_numpy().astype(np.int64)
    has_blobs = any(p.type.is_blob for p in type_.properties.values())
    for at, end in _cuts(row_bytes(table, columns)[order]):
        chosen = order[at:end]
        if has_blobs:  # only a lookup gives their bytes
            yield images(table, ids.take(pa.array(chosen)).to_pylist()).select(columns).sort_by("id")
        else:
            yield take(table, chosen, columns)


def _cuts(sizes: Numbers) -> Iterator[tuple[int, int]]:
    """Where chunks begin and end."""
    total, at = np.concatenate([[0], np.cumsum(sizes)]), 0
    while at < len(sizes):
        end = int(np.searchsorted(total, total[at] + CHUNK_BYTES, side="right")) - 1
        end = min(max(end, at + 1), at + CHUNK, len(sizes))
        yield at, end
        at = end
