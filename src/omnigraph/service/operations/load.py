"""Files, frames or records are loaded into a branch as one commit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Literal

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import SMALL, GraphCommit, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.load.read.sources import Source
    from omnigraph.engine.load.run.progress import Report
    from omnigraph.engine.load.run.result import LoadResult
    from omnigraph.engine.load.run.runners import Runner
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class SparkSettings:
    """Where Spark runs, and its own settings."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    def runner(self) -> Runner:
        """What loads there. Says what is missing, if anything is."""
        from omnigraph.engine.load.run.runners import runner_of

        runner_of("spark")
        from omnigraph.pipeline.load import started_on

        return started_on(self.master, self.conf)


@frozen(slots=False)
class Load(GraphCommit["LoadResult"]):
    """Files, frames or records are loaded into a branch as one commit, or all that is wrong with them is raised."""

    name: ClassVar = "load"
    source: Source = field(compare=False)
    mode: Literal["merge", "append", "overwrite"]
    branch: str = "main"
    from_: str | None = None
    engine: Literal["auto", "local", "spark"] | SparkSettings = "auto"
    types: Mapping[str, str] | None = None
    quarantine: str | None = None
    max_bad: float | None = None
    lossy: Literal["round"] | None = None
    message: str | None = None
    dialect: Literal["strict", "compatible"] = "strict"
    allow_empty: bool = False
    skip_unknown: bool = False
    progress: Report | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        """The bytes of files that lie here; the rest is not known before it is read."""
        paths = self.source if isinstance(self.source, list) else [self.source]
        files = [path for path in paths if isinstance(path, str | os.PathLike) and os.path.isfile(path)]
        return SMALL + sum(os.path.getsize(path) for path in files)

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        change = Access(Action.CHANGE, self.branch)
        if self.from_ is None or lookup.has_branch(self.branch):
            return (change,)
        return change, Access(Action.BRANCH_CREATE, lookup.branch_of(self.from_), self.branch)

    def on(self, graph: Graph, caller: Caller) -> LoadResult:
        return graph.load(
            self.source,
            mode=self.mode,
            branch=self.branch,
            from_=self.from_,
            actor=caller.actor,
            message=self.message,
            dialect=self.dialect,
            progress=self.progress,
            engine=self.engine.runner() if isinstance(self.engine, SparkSettings) else self.engine,
            types=self.types,
            quarantine=self.quarantine,
            lossy=self.lossy,
            max_bad=self.max_bad,
            allow_empty=self.allow_empty,
            skip_unknown=self.skip_unknown,
        )

    def commit_of(self, result: LoadResult) -> str | None:
        return None if result.commit is None else result.commit.id
