"""`df.write.format("omnigraph")`: rows of one type, as one commit.

    df.write.format("omnigraph").option("graph", …).option("type", "Person").mode("append").save()

    mode("append")                          every row must be new
    mode("append").option("mode", "merge")  rows replace those with their id, as a whole
    mode("append").option("mode", "patch")  rows change what they have columns for, or are new ("update": they must not be)
    mode("overwrite")                       the rows become all there is of the type

Tasks check rows and write data files that nothing refers to; the driver asks the rules about sets of rows and makes one commit,
exactly as a load does (`omnigraph.pipeline.load`). Columns that do not fit are refused before any task starts; values that a type
cannot hold exactly are violations with their rows, unless the option `lossy` is `round`.

Spark plans a write in one process, has tasks do it, and commits in another. The lease that keeps reclaim away from the files goes
from hand to hand with the writer: it is given back after the commit, or when Spark gives up, and ends after a day in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, cast

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.calls.guard import CHECKS
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import Input
from omnigraph.engine.load.read.parallel.chunks import Chunk, Cut, Work, read_batches
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.run.chunked import run_chunked
from omnigraph.engine.load.run.progress import ProgressReporter
from omnigraph.engine.load.run.request import Request
from omnigraph.engine.opening import open as open_graph
from omnigraph.engine.parts import parts_of
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import UsageError
from omnigraph.pipeline.batches import gathered
from omnigraph.storage.commits.leases import Held
from omnigraph.storage.graph_store import GraphStore

LONGEST: Final = timedelta(days=1)
"""How long a write may take."""


@dataclass
class Written(WriterCommitMessage):
    """What a task wrote."""

    partition: int
    chunk: Chunk


@dataclass
class Writer(DataSourceArrowWriter):
    """Writes rows of a type on top of a commit."""

    uri: str
    storage: dict[str, str]
    base: str
    branch: str
    type: EntityType
    work: Work
    mode: Mode
    actor: str | None
    message: str | None
    lease: Held
    allow_empty: bool = False

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Check and write the rows of a task."""
        chunk = read_batches(self.work, self.type, gathered(iterator))
        context = TaskContext.get()
        return Written(0 if context is None else context.partitionId(), chunk)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """One commit of what all tasks wrote."""
        written = sorted((cast(Written, m) for m in messages if m is not None), key=lambda m: m.partition)
        input_ = Input(Format.DISTRIBUTED, None, None, self.type)
        request = Request([input_], self.branch, self.mode, actor=self.actor, message=self.message, allow_empty=self.allow_empty)

        def read(work: Work, request: Request, reporter: ProgressReporter, lease: Held) -> tuple[list[Cut], list[Chunk]]:
            return [Cut(input_)] * len(written), [m.chunk for m in written]

        graph = open_graph(self.uri, storage_options=self.storage)
        try:
            run_chunked(parts_of(graph).workspace, parts_of(graph).view(at=self.base), request, read, lease=self.lease)
        finally:
            parts_of(graph).store.give_back(self.lease)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Only the lease is ended: Spark also calls this after a commit that succeeded. What is not referred to is garbage."""
        parts_of(open_graph(self.uri, storage_options=self.storage)).store.give_back(self.lease)


def writer(store: GraphStore, view: View, branch: str, type_: EntityType, mode: Mode, options: Mapping[str, str]) -> Writer:
    """A writer on top of the newest commit of a branch."""
    place = store.place
    lossy = options.get("lossy")
    if lossy not in (None, "round"):
        raise UsageError(f"option `lossy` cannot be `{lossy}`", hint="It is round, or left out.")
    return Writer(
        place.uri,
        dict(place.options),
        view.snapshot.layout,
        branch,
        type_,
        Work.of(place, view, lossy=lossy is not None, mode=mode),
        mode,
        _checked(options, "actor"),
        _checked(options, "message"),
        store.lease_for(LONGEST),
        options.get("allow_empty", "false").lower() == "true",
    )


def _checked(options: Mapping[str, str], name: str) -> str | None:
    """An option that is an argument elsewhere, checked as there."""
    given = options.get(name)
    checked: str | None = None if given is None else CHECKS[name](name, given)
    return checked
