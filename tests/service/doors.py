"""Services that watch or refuse, and every operation there is."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from omnigraph.cluster.applying import operations as cluster_operations
from omnigraph.policy.port import NO_GROUPS, Access, Action, Authoriser, Decision
from omnigraph.service import Caller, Service, operations
from omnigraph.service.audit import AuditRecord
from omnigraph.service.direct import DirectGraphs
from omnigraph.service.operation import Operation


def every_operation() -> set[type[Operation[Any]]]:
    """The operations, found by looking: a public class of a module that is an operation itself."""
    found: set[type[Operation[Any]]] = set()
    for module in pkgutil.iter_modules(operations.__path__):
        loaded = importlib.import_module(f"{operations.__name__}.{module.name}")
        own = [v for v in vars(loaded).values() if isinstance(v, type) and v.__module__ == loaded.__name__]
        (operation,) = (cls for cls in own if issubclass(cls, Operation))
        found.add(operation)
    of_clusters = [v for v in vars(cluster_operations).values() if isinstance(v, type) and v is not Operation]
    return found | {cls for cls in of_clusters if issubclass(cls, Operation)}


class Kept:
    """A sink that keeps."""

    def __init__(self) -> None:
        self.records: list[AuditRecord] = []

    def takes(self, outcome: object) -> bool:
        return True

    def write(self, record: AuditRecord) -> None:
        self.records.append(record)


class Refusing(Authoriser):
    """Refuses some actions, all of them unless told which."""

    def __init__(self, *actions: Action) -> None:
        self.actions = actions or tuple(Action)

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        refused = access.action in self.actions
        return Decision(not refused, None if refused else "the-rest", f"policy denied action '{access.action.value}'")


class Watched(Service):
    """The door of direct access, which remembers what went through."""

    def __init__(self, authoriser: Authoriser | None = None) -> None:
        self.audit = Kept()
        self.asked: list[tuple[Caller, Operation[Any]]] = []
        super().__init__(DirectGraphs(), authoriser=authoriser, audit=self.audit)

    def run(self, caller: Caller, operation: Operation[Any], permit: Any = None) -> Any:
        self.asked.append((caller, operation))
        return super().run(caller, operation, permit)

    @property
    def ran(self) -> set[type[Operation[Any]]]:
        """The kinds of operations that were asked for."""
        return {type(operation) for _, operation in self.asked}
