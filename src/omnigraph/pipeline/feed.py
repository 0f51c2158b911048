"""The change feed of a branch as a DataFrame, and as a stream.

    spark.read.format("omnigraph-changes").option("graph", …).option("since", cursor).load()
    spark.readStream.format("omnigraph-changes").option("graph", …).option("since", "now").load()

    option        meaning                                                              default
    graph         path of the graph, or an s3:// address                               required
    branch        the branch that is followed                                          main
    since         a cursor, `beginning`, `now` or `after:<commit>`                     beginning
    until         a cursor; for DataFrames only                                        the newest commit
    kinds, types, ops                                                                  which changes, separated by commas; all
    maxCommits    most commits in one batch of a stream                                1000
    storage.*     options of the object store

A row is one change; its images are JSON, spelt as in an export. An offset of a stream is a cursor: it stands between two commits,
is bound to graph, branch and filter, and any process can go on from it. A batch covers whole commits, and the same two offsets
give the same rows, however often and wherever they are read. One task reads a run of commits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.graph import Graph
from omnigraph.engine.history.changes import Change, Filter, Image
from omnigraph.engine.history.past import Names
from omnigraph.engine.opening import open as open_graph
from omnigraph.engine.parts import parts_of
from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.pipeline.session import ready
from omnigraph.pipeline.source import NO_TABLE, STORAGE_OPTION, checked_options, hinted, placed, storage_options
from omnigraph.pipeline.types import arrow_schema
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.graph_store import MAIN

FORMAT: Final = "omnigraph-changes"

COMMITS_PER_TASK: Final = 64
BATCH_ROWS: Final = 4_096
MAX_COMMITS: Final = 1_000

_OPTIONS: Final = ("graph", "branch", "since", "until", "kinds", "types", "ops", "maxcommits")

SCHEMA: Final = st.StructType(
    [
        st.StructField("commit", st.StringType(), nullable=False),
        st.StructField("number", st.LongType(), nullable=False),
        st.StructField("branch", st.StringType(), nullable=False),
        st.StructField("actor", st.StringType()),
        st.StructField("committed_at", st.TimestampType(), nullable=False),
        st.StructField("kind", st.StringType(), nullable=False),
        st.StructField("type", st.StringType(), nullable=False),
        st.StructField("id", st.StringType(), nullable=False),
        st.StructField("op", st.StringType(), nullable=False),
        st.StructField("src", st.StringType()),
        st.StructField("dst", st.StringType()),
        st.StructField("changed", st.ArrayType(st.StringType(), containsNull=False), nullable=False),
        st.StructField("before", st.StringType()),
        st.StructField("after", st.StringType()),
    ]
)
"""`number` counts commits along the branch; `src` and `dst` are of edges; `changed` are the properties an update changed."""


@frozen(slots=False)
class Followed:
    """A branch that is followed, as a value."""

    uri: str
    storage: tuple[tuple[str, str], ...]
    branch: str
    chosen: Filter

    def graph(self) -> Graph:
        """The graph, opened in this process."""
        return open_graph(self.uri, read_only=True, storage_options=dict(self.storage))


class ChangesSource(DataSource):
    """The format itself."""

    @hinted()
    def __init__(self, options: Any) -> None:
        self.options = checked_options(options, _OPTIONS)
        placed(self.options)

    @classmethod
    def name(cls) -> str:
        """What the format is called."""
        return FORMAT

    def schema(self) -> st.StructType:
        """The columns of a change."""
        return SCHEMA

    @hinted()
    def reader(self, schema: st.StructType) -> DataSourceReader:
        """Who reads a DataFrame. Where it begins and ends is settled here."""
        followed = self._followed()
        past = parts_of(followed.graph()).past
        start, end = past.stretch(followed.branch, self.options.get("since", "beginning"), followed.chosen)
        return ChangesReader(followed, start, self.options.get("until", end))

    @hinted()
    def streamReader(self, schema: st.StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Who reads a stream."""
        most = self.options.get("maxcommits", str(MAX_COMMITS))
        if not most.isdigit() or int(most) < 1:
            raise UsageError(f"option `maxCommits` cannot be `{most}`", hint="It is a number from 1 on.")
        return ChangesStream(self._followed(), self.options.get("since", "beginning"), int(most))

    @hinted()
    def writer(self, schema: st.StructType, overwrite: bool) -> DataSourceWriter:
        """Refused: a feed is read."""
        raise _read_only()

    @hinted()
    def streamWriter(self, schema: st.StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """Refused: a feed is read."""
        raise _read_only()

    def _followed(self) -> Followed:
        if "graph" not in self.options:
            more = "" if self.options else f" If this is a table of Spark's catalog: {NO_TABLE}"
            raise UsageError("the option `graph` is missing", hint=f'Add .option("graph", …).{more}')
        storage = storage_options(self.options)
        chosen = Filter.of(*(_listed(self.options.get(name)) for name in ("kinds", "types", "ops")))
        return Followed(self.options["graph"], tuple(sorted(storage.items())), self.options.get("branch", MAIN), chosen)


def _read_only() -> UsageError:
    return UsageError(
        f"format `{FORMAT}` is read, and written by nobody: it is what was committed",
        hint='Write rows with format("omnigraph"), and streams with ogs.sink.',
    )


def _listed(given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


class Commits(InputPartition):
    """A run of commits, by id, each with what is wanted of it."""

    def __init__(self, wanted: tuple[tuple[str, Filter], ...]) -> None:
        super().__init__(wanted)


def _runs(commits: Sequence[tuple[Commit, Filter]]) -> list[InputPartition]:
    wanted = [(commit.id, chosen) for commit, chosen in commits]
    return [Commits(tuple(wanted[at : at + COMMITS_PER_TASK])) for at in range(0, len(wanted), COMMITS_PER_TASK)]


def _read(followed: Followed, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    if not isinstance(partition, Commits):
        return
    schema = arrow_schema(SCHEMA)
    graph = followed.graph()
    for id_, chosen in partition.value:
        commit = parts_of(graph).past.log.shown(parts_of(graph).past.log.get(id_))
        changes = parts_of(graph).past.changes_of(id_, chosen)
        for at in range(0, len(changes), BATCH_ROWS):
            rows = [_row(commit, change) for change in changes.between(at, min(at + BATCH_ROWS, len(changes)))]
            yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _row(commit: Commit, change: Change) -> dict[str, object]:
    ends = change.endpoints or (None, None)
    return {
        "commit": commit.id,
        "number": commit.number,
        "branch": commit.branch,
        "actor": commit.actor,
        "committed_at": commit.created_at,
        "kind": change.kind,
        "type": change.type,
        "id": change.id,
        "op": change.op,
        "src": ends[0],
        "dst": ends[1],
        "changed": list(change.properties),
        "before": _image(change.before),
        "after": _image(change.after),
    }


def _image(image: Image | None) -> str | None:
    return None if image is None else json.dumps(image.to_dict()["properties"], ensure_ascii=False)


@dataclass
class ChangesReader(DataSourceReader):
    """Reads what happened between two cursors."""

    followed: Followed
    start: str
    end: str

    @hinted()
    def partitions(self) -> list[InputPartition]:
        """Runs of commits."""
        followed = self.followed
        return _runs(parts_of(followed.graph()).past.commits_of(followed.branch, self.start, self.end, followed.chosen))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The changes of a run."""
        return _read(self.followed, partition)


@dataclass
class ChangesStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what happened since a cursor, batch by batch."""

    followed: Followed
    since: str
    most: int
    until: str | None = None
    """Where a stream ends that takes what is there now."""

    @hinted()
    def initialOffset(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        """Where a new stream begins."""
        start, _ = parts_of(self.followed.graph()).past.stretch(self.followed.branch, self.since, self.followed.chosen)
        return {"cursor": start}

    @hinted()
    def latestOffset(self, start: dict[str, str], limit: object) -> dict[str, str]:  # noqa: N802 - Spark's name
        """Where the next batch ends."""
        followed = self.followed
        most = None if isinstance(limit, ReadAllAvailable) else self.most
        _, end = parts_of(followed.graph()).past.stretch(followed.branch, start["cursor"], followed.chosen, most, self.until)
        return {"cursor": end}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """What one batch may take: Spark has no word for commits, which are files of changes."""
        return ReadMaxFiles(self.most)

    @hinted()
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """What arrives from now on is for the next time."""
        _, self.until = parts_of(self.followed.graph()).past.stretch(self.followed.branch, "now", self.followed.chosen)

    @hinted()
    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[InputPartition]:
        """Runs of commits."""
        followed = self.followed
        return _runs(parts_of(followed.graph()).past.commits_of(followed.branch, start["cursor"], end["cursor"], followed.chosen))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The changes of a run."""
        return _read(self.followed, partition)


@frozen(slots=False)
class Changes:
    """A part of a change feed."""

    frame: DataFrame
    cursor: str
    """Where it ends, and the next one begins."""


@guarded()
def changes(
    graph: Graph,
    since: str = "beginning",
    *,
    branch: str = MAIN,
    kinds: Names = None,
    types: Names = None,
    ops: Names = None,
    spark: SparkSession | None = None,
) -> Changes:
    """What was committed to a branch since a cursor, as a DataFrame, and the cursor to go on from.

    found = ogs.changes(g)
    found.frame.groupBy("type", "op").count().show()
    found = ogs.changes(g, since=found.cursor)
    """
    start, end = parts_of(graph).past.stretch(branch, since, Filter.of(kinds, types, ops))
    reader = ready(spark).read.format(FORMAT).option("graph", graph.uri).option("branch", branch)
    for name, value in parts_of(graph).store.place.options.items():
        reader = reader.option(f"{STORAGE_OPTION}{name}", value)
    for name, given in (("kinds", kinds), ("types", types), ("ops", ops)):
        if given is not None:
            reader = reader.option(name, given if isinstance(given, str) else ",".join(given))
    return Changes(reader.option("since", start).option("until", end).load(), end)
