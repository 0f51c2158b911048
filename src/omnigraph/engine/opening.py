"""Graphs are made and opened here: `og.init`, `og.open`; and `og.infer_schema`, for those who have data and no schema yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from omnigraph.catalog.catalog import Catalog
from omnigraph.embedding.port import Embedder
from omnigraph.engine.blobs.policy import ExternalBlobs
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import AnyPath
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.graph import Graph
from omnigraph.engine.reading import MEMORY_BUDGET
from omnigraph.engine.schema.documents import first_schema, schema_source, tables_of
from omnigraph.engine.snapshot.saved import LEAST_ROWS
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import GraphStore


@guarded()
def init(
    path: AnyPath,
    schema: str | Path,
    *,
    durability: Literal["full", "os"] = "full",
    memory: int = MEMORY_BUDGET,
    save_from: int | None = LEAST_ROWS,
    actor: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    embedder: Embedder | None = None,
    external_blobs: ExternalBlobs | None = None,
) -> Graph:
    """A new graph in a folder (or below an `s3://` address) that does not hold one yet."""
    source = schema_source(schema)
    place = Place.at(str(path), durability=Durability(durability), options=dict(storage_options or {}))
    store = GraphStore(place)
    ir, document = first_schema(source, store.ids.next())
    store = GraphStore.init(place, document, tables_of(Catalog.of(ir)), actor=actor)
    return Graph(store, memory=memory, save_from=save_from, embedder=embedder, external_blobs=external_blobs, reopen=open)


@guarded(source=arguments.paths)
def infer_schema(source: AnyPath | Iterable[AnyPath], *, storage_options: Mapping[str, str] | None = None) -> str:
    """A schema proposed from CSV, Parquet, Arrow or JSON files, as the text of a `.pg` file; comments say what was guessed.

    A file becomes a type that is called after it; one with columns `from` and `to` (or `src` and `dst`) an edge type. Read it,
    change it, then give it to `init`.
    """
    from omnigraph.engine.load.read.any_format.inferring import proposed

    paths = [source] if isinstance(source, str | os.PathLike) else source
    return proposed([os.fspath(path) for path in paths], storage_options)


@guarded(source=arguments.paths, compatible=arguments.function)
def infer_schema_worded(source: Iterable[AnyPath], compatible: Callable[[str], str]) -> str:
    """The same in the words of a surface: `compatible` says how a path is loaded in the compatible dialect."""
    from omnigraph.engine.load.read.any_format.inferring import proposed

    return proposed([os.fspath(path) for path in source], compatible=compatible)


@guarded()
def open(
    path: AnyPath,
    *,
    read_only: bool = False,
    durability: Literal["full", "os"] = "full",
    memory: int = MEMORY_BUDGET,
    save_from: int | None = LEAST_ROWS,
    storage_options: Mapping[str, str] | None = None,
    embedder: Embedder | None = None,
    external_blobs: ExternalBlobs | None = None,
) -> Graph:
    """An existing graph. Opening writes nothing. `external_blobs`: which URIs may be given for Blobs; by default none.

    What was made of a type of `save_from` entities or more (numbers, neighbours, terms, vectors) is saved for the next process;
    None: nothing is saved, and nothing that was is used.
    """
    place = Place.at(str(path), durability=Durability(durability), options=dict(storage_options or {}))
    store = GraphStore.open(place, read_only=read_only)
    return Graph(store, memory=memory, save_from=save_from, embedder=embedder, external_blobs=external_blobs, reopen=open)
