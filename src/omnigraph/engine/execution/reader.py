"""Reads, from the text of a query to its answer.

    Read(source, params, …)  ──prepared──▶ checked query  ──planned──▶ steps  ──run──▶ rows

A `Read` is what was asked, as one value; a `Reader` answers it over any view. What was parsed and checked once is kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.embedding.port import Embedder
from omnigraph.engine.arrays.column import Vec
from omnigraph.engine.execution.budget import LETTER, Budget
from omnigraph.engine.execution.operators import run_steps
from omnigraph.engine.execution.result import Result
from omnigraph.engine.execution.run import Run, Traversal
from omnigraph.engine.execution.tail import collected, finish
from omnigraph.engine.execution.trace import Trace
from omnigraph.engine.planning.parameters import Value, bind, require
from omnigraph.engine.planning.prepared import Prepared, PreparedQueries, QueryText
from omnigraph.engine.planning.steps import Plan
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import UsageError
from omnigraph.hints import Action, Hint
from omnigraph.model.frozen import frozen
from omnigraph.model.ids import Clock
from omnigraph.storage.graph_store import MAIN

if TYPE_CHECKING:
    from omnigraph.embedding.query_texts import QueryTexts
    from omnigraph.engine.execution.explain import Explanation
    from omnigraph.engine.execution.stream import Stream


@frozen
class Target:
    """Where a read was pointed at, as its result says it: a branch, or a commit or tag."""

    branch: str | None = None
    at: str | None = None

    @property
    def state(self) -> str | None:
        """The state of the past, if it is one; that of a branch at a time names both."""
        return self.at if self.at is None or self.branch is None else f"{self.branch}@{self.at}"

    @property
    def name(self) -> str:
        return self.state or self.branch or MAIN


@frozen
class Read:
    """What was asked."""

    source: QueryText
    params: Mapping[str, object] | None = None
    name: str | None = None
    """Which query of a text that holds several."""
    budget: Budget = field(default_factory=Budget)
    traversal: Traversal = Traversal.AUTO


class Reader:
    """Answers reads of one open graph. Safe from any thread."""

    def __init__(self, clock: Clock, embedder: Embedder | None) -> None:
        self._clock = clock
        self._embedder = embedder
        """Turns texts into vectors where a query asks for it."""
        self._texts: QueryTexts | None = None
        self.prepared = PreparedQueries()

    def __reduce__(self) -> tuple[object, ...]:
        """In another process, a reader that has prepared nothing yet."""
        return Reader, (self._clock, self._embedder)

    def texts(self) -> QueryTexts:
        """Texts that queries look for, as vectors, and those of them that are kept."""
        if self._texts is None:
            from omnigraph.embedding.query_texts import QueryTexts

            self._texts = QueryTexts(self._embedder)
        return self._texts

    def prepare(self, view: View, source: QueryText, name: str | None) -> Prepared:
        """A query of a text, checked against the schema of a view."""
        return self.prepared.get(source, name, view.snapshot.schema, view.catalog)

    def answer(self, view: View, read: Read, target: Target) -> Result:
        """The answer, whole."""
        prepared, plan, run = self._ready(view, read)
        return _result(prepared, view, target, collected(plan, run_steps(plan.steps, run, plan.bindings), run))

    def answer_prepared(self, view: View, prepared: Prepared, params: Mapping[str, object] | None) -> Result:
        """The answer to a read that somebody else prepared."""
        run = self.run(view, prepared, params)
        return _result(prepared, view, Target(at=view.snapshot.commit), list(_parts(prepared.plan(view, run.parameters), run)))

    def stream(self, view: View, read: Read) -> Stream:
        """The answer as Arrow batches, each as soon as it is there. What is wrong with the query is said at once."""
        prepared, plan, run = self._ready(view, read)
        names = prepared.columns

        def batches() -> Iterator[pa.RecordBatch]:
            for part in _parts(plan, run):
                if part and len(part[0]):
                    yield pa.RecordBatch.from_arrays([vec.to_arrow() for vec in part], names=names)

        from omnigraph.engine.execution.stream import Stream  # most reads are answered whole

        return Stream(prepared.query.name, prepared.columns, view.snapshot.commit, batches())

    def explain(self, view: View, read: Read, target: Target, *, analyze: bool) -> Explanation:
        """How a read is answered. With `analyze` it is run, and rows and times are shown."""
        from omnigraph.engine.execution.explain import explained
        from omnigraph.engine.planning.estimate import estimates

        prepared, plan = self._planned(view, read)
        shown = f"{target.name} @ {view.snapshot.commit}"
        estimated = estimates(plan.steps, view)
        if not analyze:
            return explained(prepared.query.name, shown, plan, estimated, None, None, None)
        trace = Trace()
        run = self.run(view, prepared, read.params, read.budget, read.traversal)
        run.trace = trace
        plan = prepared.plan(view, run.parameters)
        estimated = estimates(plan.steps, view)
        started = time.perf_counter()
        parts = list(_parts(plan, run))
        elapsed = (time.perf_counter() - started) * 1000
        rows = sum(len(part[0]) for part in parts if part)
        return explained(prepared.query.name, shown, plan, estimated, trace, rows, elapsed)

    def run(
        self,
        view: View,
        prepared: Prepared,
        params: Mapping[str, object] | None,
        budget: Budget | None = None,
        traversal: Traversal = Traversal.AUTO,
    ) -> Run:
        """A query about to run, with its parameters bound."""
        budget = Budget() if budget is None else budget
        look = partial(budget.spend, "reading parameters") if budget.limited else None
        values: dict[str, Value] = bind(prepared.query.parameters, params, look)
        for parameter in prepared.parameters:
            require(values, parameter)
        return Run(view, values, self._clock, budget, traversal, texts=self.texts)

    def _planned(self, view: View, read: Read) -> tuple[Prepared, Plan]:
        prepared = self.prepare(view, read.source, read.name)
        if isinstance(prepared.query, lg.MutationQuery):
            raise UsageError(
                f"`{prepared.query.name}` changes the graph",
                hint=Hint("For inserts, updates and deletes use ", Action("mutate"), "."),
            )
        return prepared, prepared.plan(view)

    def _ready(self, view: View, read: Read) -> tuple[Prepared, Plan, Run]:
        if not read.budget.limited:
            prepared, plan = self._planned(view, read)
        else:
            size = len(read.source if isinstance(read.source, str) else read.source.text) * LETTER
            prepared, plan = read.budget.aside(lambda: self._planned(view, read), size, "reading the query")
            read.budget.check("planning")
        run = self.run(view, prepared, read.params, read.budget, read.traversal)
        return prepared, prepared.plan(view, run.parameters) if plan.tail.counts else plan, run


def _parts(plan: Plan, run: Run) -> Iterator[list[Vec]]:
    """The rows of a plan, some at a time."""
    return finish(plan, run_steps(plan.steps, run, plan.bindings), run)


def _result(prepared: Prepared, view: View, target: Target, parts: list[list[Vec]]) -> Result:
    return Result(
        prepared.columns,
        prepared.types,
        parts,
        query_name=prepared.query.name,
        graph_commit_id=view.snapshot.commit,
        branch=None if target.at is not None else target.branch or MAIN,
        snapshot=target.state,
    )
