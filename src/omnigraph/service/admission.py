"""Whether there is room for an operation now. A server bounds what each actor has under way; a command takes what there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, Protocol

from omnigraph.errors import TooBusy
from omnigraph.service.caller import Caller
from omnigraph.service.operation import Operation

INFLIGHT: Final = 16
BYTES: Final = 4 << 30


class Admission(Protocol):
    """Lets operations in."""

    def admit(self, caller: Caller, operation: Operation[Any]) -> AbstractContextManager[None]:
        """Room for as long as the block runs; `TooBusy` if there is none."""
        ...


class Unlimited:
    """There is always room."""

    def admit(self, caller: Caller, operation: Operation[Any]) -> AbstractContextManager[None]:
        return nullcontext()


@dataclass(slots=True)
class _Load:
    operations: int = 0
    bytes: int = 0


class PerActor:
    """Bounds the writes that each actor has under way, in number and in bytes. Reads are not counted: they have budgets."""

    def __init__(self, inflight: int = INFLIGHT, bytes_: int = BYTES) -> None:
        self._inflight, self._bytes = inflight, bytes_
        self._lock = Lock()
        self._loads: dict[str, _Load] = {}

    def admit(self, caller: Caller, operation: Operation[Any]) -> AbstractContextManager[None]:
        return self._room(caller.actor or "anonymous", operation.size) if operation.writes else nullcontext()

    @contextmanager
    def _room(self, actor: str, size: int) -> Iterator[None]:
        with self._lock:
            load = self._loads.setdefault(actor, _Load())
            if load.operations + 1 > self._inflight:
                raise TooBusy(f"actor in-flight count cap {self._inflight} exceeded")
            if load.bytes + size > self._bytes:
                raise TooBusy(f"actor byte budget exceeded: would use {load.bytes + size} bytes against cap {self._bytes}")
            load.operations += 1
            load.bytes += size
        try:
            yield
        finally:
            with self._lock:
                load.operations -= 1
                load.bytes -= size
                if not load.operations:
                    self._loads.pop(actor, None)
