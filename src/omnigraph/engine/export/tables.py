"""A graph as a folder with one file per type, as Parquet or CSV, written by this process.

    out/Person.parquet   out/Knows.parquet             out/Person.csv   out/Knows.csv

A file is called after its type, so the folder loads back to an equal graph (`g.load("out")`). Columns are `id`, `src` and `dst`
of an edge, and the properties by name; entities by id; a type without any has a file without rows. The folder appears under its
name when it is complete.

    CSV: text in quotes, "" is the empty text, nothing at all is null; lists and vectors as JSON; dates, moments and Blobs as in
    an export to JSON lines
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import msgspec
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.engine.arrays.blob_cells import blob_properties, held_bytes
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.plain_values import spelt_column
from omnigraph.engine.export.lines import ByteSink, Exported, entities_in_order, exported_types
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import UsageError
from omnigraph.model.outputs import output_folder
from omnigraph.storage.files.inputs import is_remote

GROUP_ROWS: Final = 131_072
"""Rows that are kept to be written together to Parquet…"""

GROUP_BYTES: Final = 64 << 20
"""…and bytes of them, more or less."""

_ENCODER: Final = msgspec.json.Encoder()


def export_tables(
    view: View,
    target: str | Path | ByteSink,
    format_: str,
    types: Iterable[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Exported:
    """Write some types, or all, to a folder that does not exist yet, or is empty."""
    write = _WRITERS[format_]
    if not isinstance(target, str | Path) or is_remote(str(target)):
        what = "an object store" if isinstance(target, str | Path) else "a stream"
        raise UsageError(
            f"{format_} is written to a folder on a disk, a file per type, and not to {what}",
            hint="Name a folder, or export to jsonl." if what == "a stream" else "Name a folder, or export with Spark.",
        )
    chosen = exported_types(view.catalog, types)
    _require_own_names(chosen)
    entities = size = 0
    with output_folder(target) as opened:
        for type_ in chosen:
            with opened(f"{type_.name}.{format_}") as file:
                for count in write(type_, entities_in_order(view, type_), file):
                    entities += count
                    if progress is not None:
                        progress(count)
                size += file.tell()
    return Exported(view.snapshot.commit, entities, size)


def _require_own_names(types: list[EntityType]) -> None:
    """Refuse a node type and an edge type of one name, whose files would have one name too, and properties that read as ends."""
    nodes = {t.name for t in types if t.is_node}
    for type_ in types:
        if type_.is_edge and type_.name in nodes:
            raise UsageError(
                f"a node type and an edge type are called {type_.name}, and a file of that name can be of one of them only",
                hint="Export to jsonl, which says of each line what it is.",
            )
        taken = next((name for name in ("from", "to") if type_.is_edge and name in type_.properties), None)
        if taken is not None:
            raise UsageError(
                f"{type_.name} has a property `{taken}`, and a column of that name is read as an end of the edge",
                hint="Export to jsonl, which keeps the two apart.",
            )


# ── Parquet ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def parquet_rows(type_: EntityType, rows: pa.Table, hint: str) -> pa.Table:
    """Rows as Parquet holds them: Blobs as bytes. A Blob that is kept elsewhere is refused."""
    schema = pa.schema([f.remove_metadata() for f in columns_of(type_)])
    for name in blob_properties(type_):
        cells = held_bytes(type_, name, whole(rows[name]), hint)
        rows = rows.set_column(rows.schema.get_field_index(name), schema.field(name), cells)
    return rows.select(schema.names).cast(schema)


def _to_parquet(type_: EntityType, chunks: Iterator[pa.Table], file: BinaryIO) -> Iterator[int]:
    hint = "Parquet holds bytes. Export to csv or jsonl, which spell the URI."
    with pq.ParquetWriter(file, pa.schema([f.remove_metadata() for f in columns_of(type_)]), compression="zstd") as writer:
        waiting: list[pa.Table] = []
        for rows in chunks:
            waiting.append(parquet_rows(type_, rows, hint))
            if sum(t.num_rows for t in waiting) >= GROUP_ROWS or sum(t.nbytes for t in waiting) >= GROUP_BYTES:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
            yield rows.num_rows
        if waiting:
            writer.write_table(pa.concat_tables(waiting))


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _to_csv(type_: EntityType, chunks: Iterator[pa.Table], file: BinaryIO) -> Iterator[int]:
    names = columns_of(type_).names
    file.write((",".join(names) + "\n").encode())
    for rows in chunks:
        cells = pa.table({name: _cells(rows[name]) for name in names})
        pcsv.write_csv(cells, file, pcsv.WriteOptions(include_header=False))
        yield rows.num_rows


def _cells(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """A column in types whose values Arrow spells as loads read them."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column
    found = spelt_column(column)
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        found = [None if value is None else _ENCODER.encode(value).decode() for value in found]
    return pa.array(found, pa.large_string())


class _Write(Protocol):
    def __call__(self, type_: EntityType, chunks: Iterator[pa.Table], file: BinaryIO, /) -> Iterator[int]:
        """Write chunks of a type to a file; after each, say how many entities it had."""
        ...


_WRITERS: Final[dict[str, _Write]] = {"parquet": _to_parquet, "csv": _to_csv}
