"""`spark.read.format("omnigraph")`: the nodes or edges of one type as a DataFrame, at one commit.

    option      meaning                                             default
    graph       path of the graph, or an s3:// address              required
    type        a node or edge type                                 required
    branch      a branch, read as it is when the frame is made      main
    at          a commit or a tag                                   –
    columns     some columns, separated by commas                   all: id, (src, dst,) and the properties
    partitions  at least so many tasks, if there is enough to read  one per `PARTITION_ROWS` rows
    mode        how rows are written: append, merge, update, patch   append
    lossy       round: numbers and times that do not fit exactly    they are violations
    allow_empty whether an overwrite may leave no entities           false
    actor, message                                                  what stands in the commit that is written
    storage.*   options of the object store                         –

**One commit.** Spark asks for the columns when a frame is made, and for rows whenever it is used. The commit is looked up once,
with the columns: whatever is committed later, and however often the frame is used, it is the same rows.

**One task per group of fragments.** A group is consecutive fragments of a table with about as many rows as other groups. A task
opens the table at its pin and reads its fragments; nothing else is asked of anybody.

**Filters** are Spark's. Spark 4.3 keeps what a filter left of a Python source with the source itself, not with the query: were a
filter handed over here, every later query on the same frame, with another filter or none, would see the rows of the first. So the
reader has no `pushFilters`.

**No table of a catalog.** Spark 4.3 keeps the options of a table (`CREATE TABLE … USING omnigraph OPTIONS (…)`) and hands them
to no Python source: `PythonDataSourceV2.getTable(schema, partitioning, properties)` makes a `PythonTable` of the name and the
schema, and calls nothing of Python's. Where Spark asks before it makes a table (`V2SessionCatalog.createTable0` without
columns: `inferSchema`), it is refused. With columns it does not ask (the same `createTable0` calls `getTable` only), and a
table that is made with its rows (`CreateTableAsSelectExec`, which is `saveAsTable`) is written to with the options and columns
that `save` has: a writer cannot tell the two apart. Catalogs and rules that could refuse are classes of the JVM, and this
package has none. Such a table is refused when it is used without options; with them (`SELECT … FROM t WITH (graph = '…', type =
'…')`) it works. A temporary view is what keeps them: `CREATE TEMPORARY VIEW … USING omnigraph OPTIONS (…)`. A `path`
(`load(path)`) is the graph.

Streams are read as changes (`omnigraph.pipeline.feed`) and written by a sink (`omnigraph.pipeline.sink`), not by this format.

Writing is in `omnigraph.pipeline.target`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, get_args

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.graph import Graph
from omnigraph.engine.load.read.rows.modes import Mode, ModeName
from omnigraph.engine.opening import open as open_graph
from omnigraph.engine.parts import parts_of
from omnigraph.errors import GraphError, UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.frozen import frozen
from omnigraph.pipeline.session import as_active, is_connect, ready
from omnigraph.pipeline.target import writer
from omnigraph.pipeline.types import arrow_schema, check_writable, spark_schema, to_spark
from omnigraph.storage.graph_store import MAIN
from omnigraph.storage.tables.rows import Fragment, fragments, scan_images
from omnigraph.storage.tables.work import PinnedTable

FORMAT: Final = "omnigraph"

PARTITION_ROWS: Final = 1 << 20
"""Rows a task reads, where nobody says how many tasks there should be."""

BATCH_ROWS: Final = 1 << 16

STORAGE_OPTION: Final = "storage."
"""How options begin that are meant for the object store."""

NO_TABLE: Final = (
    "Spark hands the options of a table to no Python source. Read by CREATE TEMPORARY VIEW … USING omnigraph OPTIONS "
    "(graph '…', type '…') or spark.read.format(\"omnigraph\"), and write by df.write.format(\"omnigraph\")…save() or g.load. "
    "A table that is there already takes them each time: FROM t WITH (graph = '…', type = '…')."
)
_PATH: Final = "path"
_CHECKPOINT: Final = "checkpointlocation"
_PROVIDER: Final = "provider"
_OPTIONS: Final = (
    *("graph", "type", "branch", "at", "columns", "partitions"),
    *("mode", "lossy", "allow_empty", "actor", "message"),
)


@guarded()
def register(spark: SparkSession) -> None:
    """Let a session know the formats. Sessions given by `omnigraph.spark.session` know them already. Changes no setting."""
    from omnigraph.pipeline.feed import ChangesSource  # which follows this module

    with as_active(spark):  # a format that the active session knows cannot be registered with another one
        for format_ in (OmniGraphSource, ChangesSource):
            if not _knows(spark, format_.name()):
                spark.dataSource.register(format_)


def _knows(spark: SparkSession, name: str) -> bool:
    if is_connect(spark):
        return False  # a client cannot ask; registering twice does no harm
    return bool(spark._jsparkSession.sessionState().dataSourceManager().dataSourceExists(name))


@guarded()
def table(
    graph: Graph,
    type_: str,
    *,
    branch: str | None = None,
    at: str | None = None,
    columns: Sequence[str] | None = None,
    spark: SparkSession | None = None,
) -> DataFrame:
    """The nodes or edges of a type as a DataFrame: what `spark.read.format("omnigraph")` gives with these options."""
    place = parts_of(graph).store.place
    given = {"graph": place.uri, "type": type_, "branch": branch, "at": at}
    given |= {"columns": None if columns is None else ",".join(columns)}
    given |= {f"{STORAGE_OPTION}{name}": value for name, value in place.options.items()}
    return ready(spark).read.format(FORMAT).options(**{n: v for n, v in given.items() if v is not None}).load()


@frozen(slots=False)
class Pinned:
    """A type of a graph at a commit."""

    type: EntityType
    table: PinnedTable
    commit: str


@contextmanager
def hinted() -> Iterator[None]:
    """Errors with their hint in the text: Spark hands on nothing else."""
    try:
        yield
    except GraphError as error:
        if error.hint and error.hint not in error.message:
            error.message = f"{error.message}\n{error.hint}"
            error.args = (error.message,)
        raise


def checked_options(given: Any, known: Sequence[str]) -> dict[str, str]:
    """Options of a format by their names in small letters; one that nobody knows is refused."""
    options = {str(name).lower(): str(value) for name, value in dict(given).items()}
    if _PROVIDER in options:  # Spark is about to make a table, and shows its properties
        raise UsageError("a type of a graph cannot be a table of Spark's catalog", hint=NO_TABLE)
    for name in options:
        if name not in known and not name.startswith(STORAGE_OPTION) and name not in (_PATH, _CHECKPOINT):
            hint = did_you_mean(name, known) or f"There are {', '.join(known)} and {STORAGE_OPTION}*."
            raise UsageError(f"there is no option `{name}`", hint=hint)
    return options


def placed(options: dict[str, str]) -> None:
    """Take what Spark says of a place out of some options: the path of a table, or of `load(path)`, and of a checkpoint."""
    options.pop(_CHECKPOINT, None)
    path = options.pop(_PATH, None)
    if path is None:
        return
    if "graph" in options:
        raise UsageError(f"there are two places: the option `graph`, and the path {path}", hint="Leave one of them out.")
    options["graph"] = path


def _unlike(own: StructType, given: StructType) -> bool:
    """Whether columns have other names or types. Whether they may be null is for the graph to say."""
    return [(f.name, f.dataType.simpleString()) for f in own] != [(f.name, f.dataType.simpleString()) for f in given]


def storage_options(options: Mapping[str, str]) -> dict[str, str]:
    """Those among the options that the object store is opened with."""
    return {n.removeprefix(STORAGE_OPTION): v for n, v in options.items() if n.startswith(STORAGE_OPTION)}


class OmniGraphSource(DataSource):
    """The format itself."""

    @hinted()
    def __init__(self, options: Any) -> None:
        self.options = checked_options(options, _OPTIONS)
        placed(self.options)
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
        if _unlike(found, schema):
            hint = f"Leave the schema out; it is {found.simpleString()}."
            raise UsageError(f"the given schema is not that of {pinned.type.name}", hint=hint)
        wanted = self.options.get("partitions")
        return Reader(pinned, schema, None if wanted is None else _number("partitions", wanted))

    @hinted()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The writer of the table. Columns that do not fit are refused here."""
        for name in ("at", "columns", "partitions"):
            if name in self.options:
                raise UsageError(f"the option `{name}` is for reading")
        graph = self._graph()
        parts_of(graph).store.require_writable()
        branch = self.options.get("branch", MAIN)
        view = parts_of(graph).view(branch)
        type_ = type_named(view.catalog, self._required("type"))
        given = "overwrite" if overwrite else self.options.get("mode", "append")
        if given not in get_args(ModeName):
            raise UsageError(
                f"option `mode` cannot be `{given}`", hint='It is append, merge, update or patch; or .mode("overwrite").'
            )
        check_writable(type_, schema, view.catalog, partial=Mode(given).is_partial)
        return writer(parts_of(graph).store, view, branch, type_, Mode(given), self.options)

    @hinted()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """Refused: only a sink knows which batches of which checkpoint are in the graph already."""
        raise UsageError(
            f"format `{FORMAT}` does not write streams: a batch that Spark repeats would be written twice",
            hint='Use .writeStream.foreachBatch(ogs.sink(g, "Person", name="people")), which writes each batch once.',
        )

    @hinted()
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Refused: what happens to a type is a stream of changes."""
        raise UsageError(
            f"format `{FORMAT}` does not read streams",
            hint='Use .readStream.format("omnigraph-changes"), the change feed, with .option("types", "Person").',
        )

    def _graph(self) -> Graph:
        return open_graph(self._required("graph"), storage_options=storage_options(self.options))

    def pinned(self) -> Pinned:
        """The type at the commit that is read. Looked up once."""
        if self._pinned is None:
            graph = self._graph()
            view = parts_of(graph).view(self.options.get("branch"), self.options.get("at"))
            type_ = type_named(view.catalog, self._required("type"))
            state = view.stored(type_).state
            self._pinned = Pinned(type_, PinnedTable.of(parts_of(graph).store.place, state), view.snapshot.commit)
        return self._pinned

    def _required(self, name: str) -> str:
        if name not in self.options:
            more = "" if self.options else f" If this is a table of Spark's catalog: {NO_TABLE}"
            raise UsageError(f"the option `{name}` is missing", hint=f'Add .option("{name}", …).{more}')
        return self.options[name]

    def _columns(self) -> list[str] | None:
        given = self.options.get("columns")
        return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def type_named(catalog: Catalog, name: str) -> EntityType:
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


class Fragments(InputPartition):
    """What one task reads."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        super().__init__(numbers)


@dataclass
class Reader(DataSourceReader):
    """Reads everything."""

    pinned: Pinned
    schema: StructType
    least: int | None

    def partitions(self) -> list[InputPartition]:
        """One per group of fragments."""
        return [Fragments(numbers) for numbers in grouped(fragments(self.pinned.table.open()), self.least)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a group."""
        if not isinstance(partition, Fragments):  # Spark's own, for a type without rows
            return
        schema = arrow_schema(self.schema)
        rows = scan_images(self.pinned.table.open(), self.schema.names, fragments=partition.value, batch_rows=BATCH_ROWS)
        for batch in rows:
            yield to_spark(self.pinned.type, batch, schema)


def grouped(there: Iterable[Fragment], least: int | None) -> list[tuple[int, ...]]:
    """Numbers of fragments in groups of about equal size, in their order."""
    filled = [fragment for fragment in there if fragment.rows]
    total = sum(fragment.rows for fragment in filled)
    wanted = max(1, -(-total // PARTITION_ROWS), least or 0)
    groups: dict[int, list[int]] = {}
    before = 0
    for fragment in filled:
        middle = 2 * before + fragment.rows
        groups.setdefault(middle * wanted // (2 * total), []).append(fragment.number)  # by where its middle falls
        before += fragment.rows
    return [tuple(numbers) for numbers in groups.values()]
