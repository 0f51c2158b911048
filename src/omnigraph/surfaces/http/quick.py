"""Which reads run where they arrive.

A read whose plan is small, and which was answered in a moment from the very state it would read now, is answered in the event
loop: handing it to a thread would take longer than the answer. The first read of a text, and the first after each commit, go to
a thread.

In a thread, beside others that want their turn, even a read of a moment takes long. So what counts there is the work of the
thread itself; whether the read also waits for something (a disk) shows when it runs here once:

    in a thread                        next time
    long                               in a thread
    a moment, of little work           here, by the clock: a moment → here from now on; longer → in threads until the next commit
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from omnigraph.errors import NotFound
from omnigraph.model.frozen import frozen
from omnigraph.surfaces.http.graphs import ServedGraph

if TYPE_CHECKING:
    from omnigraph.service.operations.invoke_query import InvokeQuery
    from omnigraph.service.operations.query import Query
    from omnigraph.service.results import Result
    from omnigraph.surfaces.http.calls import Call

_KEPT: Final = 1_024
_SECONDS: Final = 0.002
"""A read that took no longer is quick."""

_Key = tuple[str, str, str | None, str | None]


@frozen
class _Known:
    """What is known of a read of one state."""

    layout: str
    quick: bool | None
    """None: it took little work; whether it waits for something is seen when it runs here."""


class QuickReads:
    """Remembers which reads were quick, and of which state."""

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, work_of_the_thread: Callable[[], float] = time.thread_time
    ) -> None:
        self._known: OrderedDict[_Key, _Known] = OrderedDict()
        self._clock, self._work = clock, work_of_the_thread

    async def run(self, call: Call, operation: Query | InvokeQuery) -> Result:
        """The answer to a read, here or in a thread."""
        graph, key = call.graph, _key(call.graph, operation)
        known = self._known.get(key)
        if known is not None and known.quick is not False:
            view = None
            with suppress(NotFound):  # a branch that is gone: the door says so, to those whom it may tell
                view = operation.seen(call.revision.graphs.open(graph.ref))
            if view is not None and known.layout == view.snapshot.layout:
                return self._here(call, cast("Query", operation.quickly(view)), key, known)
        watched = operation.until(call.gone())
        result, state = await call.do(lambda: self._measured(call, watched))
        if state is not None and (known is None or known.layout != state):
            self._keep(key, _Known(state, None))
        return result

    def _here(self, call: Call, operation: Query, key: _Key, known: _Known) -> Result:
        if known.quick:
            return call.run_here(operation)
        begun = self._clock()
        try:
            return call.run_here(operation)
        finally:
            self._keep(key, _Known(known.layout, self._clock() - begun <= _SECONDS))

    def _keep(self, key: _Key, known: _Known) -> None:
        self._known[key] = known
        self._known.move_to_end(key)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def _measured(self, call: Call, operation: Query | InvokeQuery) -> tuple[Result, str | None]:
        """The answer, and the state it was read from if that took little work."""
        begun = self._work()
        result = call.run_here(cast("Query", operation))
        if self._work() - begun > _SECONDS or operation.at is not None or not call.graph.is_local:
            return result, None
        opened = call.revision.graphs.open(call.graph.ref)
        view = operation.seen(opened)
        return result, view.snapshot.layout if operation.is_small(opened, view) else None


def _key(graph: ServedGraph, operation: Query | InvokeQuery) -> _Key:
    source = operation.source if isinstance(operation.source, str) else operation.source.text
    return graph.uri, source, operation.query_name, operation.branch
