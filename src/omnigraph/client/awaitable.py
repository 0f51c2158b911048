"""Graphs for programs that run in an event loop: the methods of a graph, awaitable.

    async with await og.open_async("people.omni") as g:
        result = await g.query("query q() { match { $p: Person } return { $p.name } }")

The graph below works in threads, at most `threads` of them, so the loop is never blocked. A read that nobody waits for any more
(its task was cancelled) is cancelled; a write that has begun ends, as it would behind a server.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import TracebackType
from typing import Any, Concatenate, Final, NoReturn, ParamSpec, TypeVar

import pyarrow as pa

from omnigraph.client.graph import connect
from omnigraph.engine.any_graph import AnyBranches, AnyGraph, AnyReviews, AnySession, AnyTags
from omnigraph.engine.calls.arguments import AnyPath, State
from omnigraph.engine.opening import open as open_graph
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.errors import ScopeError
from omnigraph.model.phrases import one_line

P = ParamSpec("P")
R = TypeVar("R")

THREADS: Final = 8
"""How many calls of one graph are under way at most, unless somebody says otherwise."""


class Worker:
    """Runs calls of one graph in its threads."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, "omnigraph-async")

    async def run(self, function: Callable[..., R], /, *args: Any, **kwargs: Any) -> R:
        """A call, away from the event loop. A read that is given up is cancelled."""
        cancel: Event | None = None
        if "cancel" in inspect.signature(function).parameters and kwargs.get("cancel") is None:
            cancel = kwargs["cancel"] = Event()
        running = asyncio.get_running_loop().run_in_executor(self._pool, functools.partial(function, *args, **kwargs))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if cancel is not None:
                cancel.set()
            running.add_done_callback(_forget)
            raise

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=False)


def _forget(done: asyncio.Future[Any]) -> None:
    if not done.cancelled():
        done.exception()


class _Awaited:
    """Something of a graph whose methods are awaited."""

    def __init__(self, of: Any, worker: Worker) -> None:
        self._of, self._worker = of, worker

    def __repr__(self) -> str:
        return one_line(f"Awaitable: {self._of!r}")


def _awaited(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """The same method, awaitable."""

    @functools.wraps(function)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        found: R = await self._worker.run(getattr(self._of, function.__name__), *args, **kwargs)
        return found

    return call


class AsyncSession(_Awaited):
    """Several reads of one commit: `async with await g.session() as s: await s.query(…)`."""

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    @property
    def graph_commit_id(self) -> str:
        """The commit that is read."""
        return str(self._of.graph_commit_id)

    query = _awaited(AnySession.query)


class AsyncBranches(_Awaited):
    """The branches of a graph: `await g.branches.list()`."""

    create = _awaited(AnyBranches.create)
    delete = _awaited(AnyBranches.delete)
    get = _awaited(AnyBranches.get)
    list = _awaited(AnyBranches.list)


class AsyncTags(_Awaited):
    """The tags of a graph: `await g.tags.list()`."""

    create = _awaited(AnyTags.create)
    delete = _awaited(AnyTags.delete)
    deleted = _awaited(AnyTags.deleted)
    list = _awaited(AnyTags.list)


class AsyncReviews(_Awaited):
    """The reviews of a graph: `await g.reviews.list()`."""

    approve = _awaited(AnyReviews.approve)
    close = _awaited(AnyReviews.close)
    comment = _awaited(AnyReviews.comment)
    create = _awaited(AnyReviews.create)
    diff = _awaited(AnyReviews.diff)
    get = _awaited(AnyReviews.get)
    list = _awaited(AnyReviews.list)
    merge = _awaited(AnyReviews.merge)
    reopen = _awaited(AnyReviews.reopen)
    request_changes = _awaited(AnyReviews.request_changes)


class AsyncGraph(_Awaited):
    """A graph, open here or behind a server, whose methods are awaited: those of `AnyGraph`, with the same parameters."""

    def __init__(self, graph: AnyGraph, threads: int = THREADS) -> None:
        super().__init__(graph, Worker(threads))
        self.branches = AsyncBranches(graph.branches, self._worker)
        self.tags = AsyncTags(graph.tags, self._worker)

    @functools.cached_property
    def reviews(self) -> AsyncReviews:
        """Its reviews."""
        return AsyncReviews(self._of.reviews, self._worker)

    @property
    def uri(self) -> str:
        """Where it is."""
        return str(self._of.uri)

    async def __aenter__(self) -> AsyncGraph:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the graph and its threads."""
        await self._worker.run(self._of.close)
        self._worker.close()

    async def session(self, branch: str | None = None, at: State | None = None) -> AsyncSession:
        """One commit for several reads: what others commit meanwhile is not seen."""
        return AsyncSession(await self._worker.run(self._of.session, branch, at), self._worker)

    async def stream(
        self, source: QueryText, params: Mapping[str, object] | None = None, **options: Any
    ) -> AsyncIterator[pa.RecordBatch]:
        """The answer as Arrow batches: `async for batch in g.stream(…)`."""
        batches = iter(await self._worker.run(self._of.stream, source, params, **options))
        while (batch := await self._worker.run(_next, batches)) is not None:
            yield batch

    # ── what is not awaited ──────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def analytics(self) -> NoReturn:
        """Graph analytics are of a graph that is opened with `og.open`."""
        _not_awaited("graph analytics", "Open the graph with `og.open`, and run them with `asyncio.to_thread`.")

    def queries(self, path: AnyPath, *, branch: str | None = None, at: State | None = None, actor: str | None = None) -> NoReturn:
        """The queries of a file as functions are of a graph that is opened with `og.open` or `og.connect`."""
        _not_awaited("queries of a file as functions", "Await `query` or `mutate` with the text of the file and `name=`.")

    def to_networkx(
        self, *, types: Iterable[str] | str | None = None, branch: str | None = None, at: State | None = None
    ) -> NoReturn:
        """A whole graph becomes one of networkx where it is opened with `og.open`."""
        _not_awaited("`to_networkx`", "Await `subgraph` and call its `to_networkx`, or open the graph with `og.open`.")

    def transaction(
        self, branch: str = "main", *, if_commit: State | None = None, actor: str | None = None, message: str | None = None
    ) -> NoReturn:
        """Transactions are of a graph that is opened with `og.open`."""
        _not_awaited("transactions", "Await one `mutate` of several statements, or a `load`: each is one commit.")

    apply_schema = _awaited(AnyGraph.apply_schema)
    baseline = _awaited(AnyGraph.baseline)
    blob = _awaited(AnyGraph.blob)
    changes = _awaited(AnyGraph.changes)
    cleanup = _awaited(AnyGraph.cleanup)
    commit = _awaited(AnyGraph.commit)
    commit_changes = _awaited(AnyGraph.commit_changes)
    commits = _awaited(AnyGraph.commits)
    delete = _awaited(AnyGraph.delete)
    diff = _awaited(AnyGraph.diff)
    embed = _awaited(AnyGraph.embed)
    explain = _awaited(AnyGraph.explain)
    export = _awaited(AnyGraph.export)
    get = _awaited(AnyGraph.get)
    history = _awaited(AnyGraph.history)
    invoke = _awaited(AnyGraph.invoke)
    load = _awaited(AnyGraph.load)
    merge = _awaited(AnyGraph.merge)
    mutate = _awaited(AnyGraph.mutate)
    neighbors = _awaited(AnyGraph.neighbors)
    optimize = _awaited(AnyGraph.optimize)
    plan_schema = _awaited(AnyGraph.plan_schema)
    put = _awaited(AnyGraph.put)
    put_edge = _awaited(AnyGraph.put_edge)
    query = _awaited(AnyGraph.query)
    revert = _awaited(AnyGraph.revert)
    schema = _awaited(AnyGraph.schema)
    snapshot = _awaited(AnyGraph.snapshot)
    stats = _awaited(AnyGraph.stats)
    stored_queries = _awaited(AnyGraph.stored_queries)
    subgraph = _awaited(AnyGraph.subgraph)
    verify = _awaited(AnyGraph.verify)


def _not_awaited(what: str, instead: str) -> NoReturn:
    raise ScopeError(f"a graph in an event loop has no {what}", hint=instead)


def _next(batches: Any) -> Any:
    return next(batches, None)


async def open_async(path: AnyPath, *, threads: int = THREADS, **options: Any) -> AsyncGraph:
    """An existing graph whose methods are awaited. `options` are those of `og.open`."""
    return AsyncGraph(await asyncio.to_thread(open_graph, path, **options), threads)


async def connect_async(
    url: str, *, graph: str, token: str | None = None, timeout: float = 60.0, threads: int = THREADS
) -> AsyncGraph:
    """A graph on a server whose methods are awaited; otherwise as `og.connect`."""
    return AsyncGraph(await asyncio.to_thread(connect, url, graph=graph, token=token, timeout=timeout), threads)
