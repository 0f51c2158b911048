"""Writes that arrive at the same moment share a thread.

A write that is done in a moment (it inserts a row, or changes one that it names) is published in a group with others. Were each
handed to a thread of its own, most of what a server does would be to wake threads and to be woken by them. So those that arrive
in one turn of the event loop are handed over together, and their answers come back together:

    one turn of the loop          requests a, b, c
    one thread                    permission, room and audit of each as ever; one group; three commits
    one turn of the loop          answers a, b, c

Whether a mutation is quick is found out when it ran the first time, by itself.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final

from omnigraph.errors import GraphError
from omnigraph.model.frozen import frozen
from omnigraph.service.operations.mutate import Mutate, mutate_each
from omnigraph.surfaces.http.threads import Threads, read_and_forget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.service.results import Receipt
    from omnigraph.service.service import Service
    from omnigraph.surfaces.http.calls import Call

_KEPT: Final = 1_024

MOST: Final = 64
"""Writes that one thread takes."""

_Key = tuple[str, str, str | None, str]


@frozen(eq=False)
class _Waiting:
    call: Call
    operation: Mutate
    receipt: asyncio.Future[Receipt]


class QuickWrites:
    """Remembers which mutations are quick, and hands those over that have arrived."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._quick: OrderedDict[_Key, bool] = OrderedDict()
        self._waiting: dict[tuple[Service, str], list[_Waiting]] = {}

    async def run(self, call: Call, operation: Mutate) -> Receipt:
        """What comes of a mutation."""
        graph = call.graph
        if not operation.is_plain or not graph.is_local:
            return await call.run(operation)
        key = (graph.uri, *_text(operation), operation.branch)
        if self._quick.get(key):
            return await self._with_others(call, operation)
        if key in self._quick:
            return await call.run(operation)
        receipt, quick = await self._threads.run(call, partial(_watched, call, operation), writes=True)
        self._keep(key, quick)
        return receipt

    async def _with_others(self, call: Call, operation: Mutate) -> Receipt:
        loop = asyncio.get_running_loop()
        waiting = _Waiting(call, operation, loop.create_future())
        waiting.receipt.add_done_callback(read_and_forget)  # its request may have been given up
        key = (call.service, call.graph.id)
        others = self._waiting.get(key)
        if others is None:
            self._waiting[key] = [waiting]
            loop.call_soon(self._hand_over, key)
        else:
            others.append(waiting)
        return await asyncio.shield(waiting.receipt)

    def _hand_over(self, key: tuple[Service, str]) -> None:
        arrived = self._waiting.pop(key)
        for at in range(0, len(arrived), MOST):
            some = arrived[at : at + MOST]
            running = self._threads.write(partial(_run, key[0], some))
            for one in some:
                one.call.use.until(running)
            running.add_done_callback(partial(_answer, some))

    def _keep(self, key: _Key, quick: bool) -> None:
        self._quick[key] = quick
        while len(self._quick) > _KEPT:
            self._quick.popitem(last=False)


def _text(operation: Mutate) -> tuple[str, str | None]:
    source = operation.source if isinstance(operation.source, str) else operation.source.text
    return source, operation.query_name


def _watched(call: Call, operation: Mutate) -> tuple[Receipt, bool]:
    """What comes of a mutation by itself, and whether it may be done with others from now on."""
    receipt = call.service_run(operation, None)
    try:
        return receipt, operation.is_quick(call.revision.graphs.open(call.graph.ref))
    except GraphError:  # its branch is gone by now: whoever writes there next is told
        return receipt, False


def _run(service: Service, some: Sequence[_Waiting]) -> list[Receipt | Exception]:
    return service.run_each([(one.call.caller, one.operation) for one in some], mutate_each)


def _answer(some: Sequence[_Waiting], done: asyncio.Future[list[Receipt | Exception]]) -> None:
    """Tell each what came of it."""
    failed = done.exception()
    for at, one in enumerate(some):
        if one.receipt.done():  # the loop is ending
            continue
        came = failed or done.result()[at]
        if isinstance(came, BaseException):
            one.receipt.set_exception(came)
        else:
            one.receipt.set_result(came)
