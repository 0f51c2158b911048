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
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.load.read.inputs.sources import Source
    from omnigraph.engine.load.read.rows.modes import ModeName
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


def is_named_by_format(path: str) -> bool:
    """Whether the name of a file says how it is written."""
    from omnigraph.engine.load.read.inputs.naming import form_of
    from omnigraph.storage.files.inputs import InputFile

    return form_of(InputFile(path, 0)) is not None


@frozen(slots=False)
class Load(GraphCommit["LoadResult"]):
    """Files, frames or records are loaded into a branch as one commit, or all that is wrong with them is raised."""

    name: ClassVar = "load"
    source: Source = field(compare=False)
    mode: ModeName
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
    idempotency_key: str | None = None
    embed: bool = False
    progress: Report | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        """The bytes of files that lie here, in folders too; the rest is not known before it is read."""
        paths = self.source if isinstance(self.source, list) else [self.source]
        return SMALL + sum(_bytes_at(path) for path in paths if isinstance(path, str | os.PathLike))

    @property
    def brings_its_rows(self) -> bool:
        return True

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        needed = [Access(Action.CHANGE, self.branch)]
        if self.mode == "overwrite":
            needed.append(Access(Action.LOAD_OVERWRITE, self.branch))
        if self.from_ is not None and not lookup.has_branch(self.branch):
            needed.append(Access(Action.BRANCH_CREATE, lookup.branch_of(self.from_), self.branch))
        return tuple(needed)

    def on(self, graph: AnyGraph, caller: Caller) -> LoadResult:
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
            idempotency_key=self.idempotency_key,
            embed=self.embed,
        )

    def commit_of(self, result: LoadResult) -> str | None:
        return result.commit.id if result.changed and result.commit is not None else None


def _bytes_at(path: str | os.PathLike[str]) -> int:
    """The bytes of a file, or of everything below a folder; of what is elsewhere, nothing is known."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    inside = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    return sum(os.path.getsize(file) for file in inside if os.path.isfile(file))
