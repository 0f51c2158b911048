"""Schemas of a stored graph: from text to what is kept with the graph, and back to a catalog."""

from __future__ import annotations

from pathlib import Path

from omnigraph.catalog.canonical_json import compact
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.declare import declare
from omnigraph.catalog.declared_order import with_declared_order
from omnigraph.catalog.identity import resolve
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.ir_json import read_ir_text
from omnigraph.engine.snapshot.view import table_key, table_location
from omnigraph.errors import NotFound, UsageError
from omnigraph.language.source import Source
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.manifest import SchemaDocument
from omnigraph.storage.graph_store import NewTable


@frozen
class AcceptedSchema:
    """A schema as text and as what it means, and the commit that has it."""

    source: str
    catalog: Catalog
    commit: str


def schema_source(schema: str | Path) -> Source:
    """A schema given as text, or as a path to a `.pg` file."""
    if isinstance(schema, Path) or (schema.strip().endswith(".pg") and "\n" not in schema.strip()):
        path = Path(schema)
        try:
            return _of_something(Source(path.read_text(encoding="utf-8"), str(path)))
        except FileNotFoundError:
            raise NotFound(f"no schema file {path}", hint="Give the text of a schema, or a path to a .pg file.") from None
        except UnicodeDecodeError:
            raise UsageError(f"{path} is not UTF-8 text") from None
    return _of_something(Source(schema, "<schema>"))


def _of_something(source: Source) -> Source:
    """Refuse a text that says nothing: an empty file is a mistake, and would drop every type. One of comments is meant."""
    if not source.text.strip(" \t\r\n\ufeff"):
        raise UsageError(
            f"the schema {source.name} is empty: all existing types would be dropped",
            hint="Nothing was changed. A schema without types holds a comment that says so.",
        )
    return source


def first_schema(source: Source, domain: str) -> tuple[SchemaIR, SchemaDocument]:
    """The schema of a new graph."""
    ir = resolve(declare(source), None, domain=domain).ir
    return ir, SchemaDocument(ir.hash(), source.text, compact(ir.to_json()))


def catalog_of(document: SchemaDocument) -> Catalog:
    """The catalog of a schema that is kept with a graph."""
    return Catalog.of(with_declared_order(read_ir_text(document.ir), document.source))


def tables_of(catalog: Catalog) -> list[NewTable]:
    """A table per type."""
    types: list[EntityType] = [*catalog.nodes.values(), *catalog.edges.values()]
    return [NewTable(table_key(t), table_location(t), columns_of(t)) for t in types]
