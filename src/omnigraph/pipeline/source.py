"""`spark.read.format("omnigraph")`: the nodes or edges of one type as a DataFrame, at one commit.

    option      meaning                                             default
    graph       path of the graph, or an s3:// address              required
    type        a node or edge type                                 required
    branch      a branch, read as it is when the frame is made      main
    at          a commit or a tag                                   –
    columns     some columns, separated by commas                   all: id, (src, dst,) and the properties
    partitions  at least so many tasks, if there is enough to read  one per `PARTITION_ROWS` rows
    pushdown    whether filters are looked at while reading         false
    mode        how rows are written: append or merge                append
    lossy       round: numbers and times that do not fit exactly    they are violations
    allow_empty whether an overwrite may leave no entities           false
    actor, message                                                  what stands in the commit that is written
    storage.*   options of the object store                         –

**One commit.** Spark asks for the columns when a frame is made, and for rows whenever it is used. The commit is looked up once,
with the columns: whatever is committed later, and however often the frame is used, it is the same rows.

**One task per group of pieces.** A group is consecutive pieces of a table with about as many rows as other groups have. A task
opens the table at its pin and reads its pieces; nothing else is asked of anybody.

**Filters** (`pushdown`). Spark 4.3 keeps what a filter left of a Python source with the source itself, not with the query: a
frame on which one filter was used gives these rows to every later query, filtered or not. So a frame hands over its filters only
if somebody asks for it, and then is good for one filter; `omnigraph.spark.table` makes a new one in a line.

Writing is in `omnigraph.pipeline.target`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import datasource as sf
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter, InputPartition
from pyspark.sql.types import StructType

from omnigraph.catalog.catalog import Catalog, EdgeType, NodeType
from omnigraph.engine.door import door
from omnigraph.engine.graph import Graph
from omnigraph.engine.graph import open as open_graph
from omnigraph.engine.load.collected import Mode
from omnigraph.engine.write.committed import stored_of
from omnigraph.errors import GraphError, UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.types import PropertyType, Scalar
from omnigraph.pipeline.filters import condition
from omnigraph.pipeline.session import as_active, session
from omnigraph.pipeline.target import writer
from omnigraph.pipeline.types import arrow_schema, check_writable, spark_schema, to_spark
from omnigraph.storage.filters import Filter, every
from omnigraph.storage.graph_store import MAIN
from omnigraph.storage.rows import Piece, pieces, scan_images
from omnigraph.storage.work import PinnedTable

FORMAT: Final = "omnigraph"

PARTITION_ROWS: Final = 1 << 20
"""Rows a task reads, where nobody says how many tasks there should be."""

BATCH_ROWS: Final = 1 << 16

_PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"
STORAGE_OPTION: Final = "storage."
"""How options begin that are meant for the object store."""

_OPTIONS: Final = (
    *("graph", "type", "branch", "at", "columns", "partitions", "pushdown"),
    *("mode", "lossy", "allow_empty", "actor", "message"),
)
_ID: Final = PropertyType(Scalar.STRING)


@door()
def register(spark: SparkSession) -> None:
    """Let a session know the formats. Sessions made by `omnigraph.spark.session` know them already."""
    from omnigraph.pipeline.feed import ChangesSource  # which follows this module

    spark.conf.set(_PUSHDOWN, "true")
    with as_active(spark):  # a format that the active session knows cannot be told to another one
        spark.dataSource.register(OmniGraphSource)
        spark.dataSource.register(ChangesSource)


@door()
def table(
    graph: Graph,
    type_: str,
    *,
    branch: str | None = None,
    at: str | None = None,
    columns: Sequence[str] | None = None,
    pushdown: bool = False,
    spark: SparkSession | None = None,
) -> DataFrame:
    """The nodes or edges of a type as a DataFrame: what `spark.read.format("omnigraph")` gives with these options."""
    place = graph.store.place
    given = {"graph": place.uri, "type": type_, "branch": branch, "at": at, "pushdown": str(pushdown).lower()}
    given |= {"columns": None if columns is None else ",".join(columns)}
    given |= {f"{STORAGE_OPTION}{name}": value for name, value in place.options.items()}
    return (spark or session()).read.format(FORMAT).options(**{n: v for n, v in given.items() if v is not None}).load()


@dataclass(frozen=True)
class Pinned:
    """A type of a graph at a commit."""

    type: NodeType | EdgeType
    table: PinnedTable
    commit: str


@contextmanager
def hinted() -> Iterator[None]:
    """Errors with their hint in the text: Spark hands on nothing else."""
    try:
        yield
    except GraphError as error:
        if error.hint and error.hint not in str(error):
            error.args = (f"{error}\n{error.hint}",)
        raise


def checked_options(given: Any, known: Sequence[str]) -> dict[str, str]:
    """Options of a format by their names in small letters; one that nobody knows is refused."""
    options = {str(name).lower(): str(value) for name, value in dict(given).items()}
    for name in options:
        if name not in known and not name.startswith(STORAGE_OPTION):
            hint = did_you_mean(name, known) or f"There are {', '.join(known)} and {STORAGE_OPTION}*."
            raise UsageError(f"there is no option `{name}`", hint=hint)
    return options


def storage_options(options: Mapping[str, str]) -> dict[str, str]:
    """Those among the options that the object store is opened with."""
    return {n.removeprefix(STORAGE_OPTION): v for n, v in options.items() if n.startswith(STORAGE_OPTION)}


class OmniGraphSource(DataSource):
    """The format itself."""

    @hinted()
    def __init__(self, options: Any) -> None:
        self.options = checked_options(options, _OPTIONS)
        self._pinned: Pinned | None = None

    @classmethod
    def name(cls) -> str:
        """What the format is called."""
        return FORMAT

    @hinted()
    def schema(self) -> StructType:
        """The columns. The commit is pinned here, and travels with this object."""
        pinned = self.pinned()
        return spark_schema(pinned.type, self._columns())

    @hinted()
    def reader(self, schema: StructType) -> DataSourceReader:
        """Who reads."""
        pinned = self.pinned()
        found = spark_schema(pinned.type, schema.names)
        if found != schema:
            hint = f"Leave the schema out; it is {found.simpleString()}."
            raise UsageError(f"the given schema is not that of {pinned.type.name}", hint=hint)
        kind = Reader if self.options.get("pushdown", "false").lower() == "true" else PlainReader
        wanted = self.options.get("partitions")
        return kind(pinned, schema, None if wanted is None else _number("partitions", wanted))

    @hinted()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Who writes. Columns that do not fit are refused here."""
        for name in ("at", "columns", "partitions", "pushdown"):
            if name in self.options:
                raise UsageError(f"the option `{name}` is for reading")
        graph = self._graph()
        graph.store.require_writable()
        branch = self.options.get("branch", MAIN)
        view = graph.view(branch)
        type_ = type_named(view.catalog, self._required("type"))
        check_writable(type_, schema)
        given = "overwrite" if overwrite else self.options.get("mode", "append")
        if given not in ("append", "merge", "overwrite"):
            raise UsageError(f"option `mode` cannot be `{given}`", hint='It is append or merge; or .mode("overwrite").')
        return writer(graph.store, view, branch, type_, Mode(given), self.options)

    def _graph(self) -> Graph:
        return open_graph(self._required("graph"), storage_options=storage_options(self.options))

    def pinned(self) -> Pinned:
        """The type at the commit that is read. Looked up once."""
        if self._pinned is None:
            graph = self._graph()
            view = graph.view(self.options.get("branch"), self.options.get("at"))
            type_ = type_named(view.catalog, self._required("type"))
            state = stored_of(view, type_).state
            self._pinned = Pinned(type_, PinnedTable.of(graph.store.place, state), view.snapshot.commit)
        return self._pinned

    def _required(self, name: str) -> str:
        if name not in self.options:
            raise UsageError(f"the option `{name}` is missing", hint=f'Add .option("{name}", …).')
        return self.options[name]

    def _columns(self) -> list[str] | None:
        given = self.options.get("columns")
        return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def type_named(catalog: Catalog, name: str) -> NodeType | EdgeType:
    """A type by its name."""
    found = catalog.nodes.get(name) or catalog.edge(name)
    if found is None:
        known = [*catalog.nodes, *catalog.edges]
        raise UsageError(f"there is no type `{name}`", hint=did_you_mean(name, known) or f"There are {', '.join(known)}.")
    return found


def _number(name: str, given: str) -> int:
    if not given.isdigit() or int(given) < 1:
        raise UsageError(f"option `{name}` cannot be `{given}`", hint="It is a number from 1 on.")
    return int(given)


class Pieces(InputPartition):
    """What one task reads."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        super().__init__(numbers)


@dataclass
class PlainReader(DataSourceReader):
    """Reads everything."""

    pinned: Pinned
    schema: StructType
    least: int | None
    where: list[Filter] = field(default_factory=list)

    def partitions(self) -> list[InputPartition]:
        """One per group of pieces."""
        return [Pieces(numbers) for numbers in grouped(pieces(self.pinned.table.open()), self.least)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a group."""
        if not isinstance(partition, Pieces):  # Spark's own, for a type without rows
            return
        schema = arrow_schema(self.schema)
        rows = scan_images(
            self.pinned.table.open(), self.schema.names, pieces=partition.value, where=every(self.where), batch_rows=BATCH_ROWS
        )
        for batch in rows:
            yield to_spark(self.pinned.type, batch, schema)


class Reader(PlainReader):
    """Reads what filters leave. Spark wants this method to be there only if it may use it."""

    def pushFilters(self, filters: list[sf.Filter]) -> Iterable[sf.Filter]:  # noqa: N802 - Spark's name
        """Take over the filters that mean the same here; the others are left to Spark."""
        type_ = self.pinned.type
        types = {"id": _ID} | ({"src": _ID, "dst": _ID} if isinstance(type_, EdgeType) else {})
        types |= {name: prop.type for name, prop in type_.properties.items()}
        for filter_ in filters:
            found = condition(filter_, types)
            if found is None:
                yield filter_
            else:
                self.where.append(found)


def grouped(there: Iterable[Piece], least: int | None) -> list[tuple[int, ...]]:
    """Numbers of pieces in groups of about equal size, in their order."""
    filled = [piece for piece in there if piece.rows]
    total = sum(piece.rows for piece in filled)
    wanted = max(1, -(-total // PARTITION_ROWS), least or 0)
    groups: dict[int, list[int]] = {}
    before = 0
    for piece in filled:
        middle = 2 * before + piece.rows
        groups.setdefault(middle * wanted // (2 * total), []).append(piece.number)  # by where its middle falls
        before += piece.rows
    return [tuple(numbers) for numbers in groups.values()]
