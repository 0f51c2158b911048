"""Whether there is room for an operation now. A server bounds what each actor has under way; a command takes what there is."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from omnigraph.service.caller import Caller
from omnigraph.service.operation import Operation


class Admission(Protocol):
    """Lets operations in."""

    def admit(self, caller: Caller, operation: Operation[Any]) -> AbstractContextManager[None]:
        """Room for as long as the block runs; a `ResourceLimit` if there is none."""
        ...


class Unlimited:
    """There is always room."""

    def admit(self, caller: Caller, operation: Operation[Any]) -> AbstractContextManager[None]:
        return nullcontext()
