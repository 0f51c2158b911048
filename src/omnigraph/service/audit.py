"""What is written down about decisions and writes: who, what, on which branch, allowed by which rule, with what outcome.

One record per decision and one per write; and one of a request without a token that is known, which is turned away before
anything is decided (rule `no-token`, no actor, no action, and nothing of what was sent as a token). A write that is refused
leaves a decision and nothing else; one that was let in leaves a second record when it ends, also when it failed. Where records go
is chosen with the service. By default it is Python's logging, under `omnigraph.audit`: writes and denials at INFO, the rest at
DEBUG, each as one line of JSON, and as `record.audit` for handlers that want fields.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import Literal, Protocol

from omnigraph.model.frozen import frozen

LOGGER = "omnigraph.audit"

Outcome = Literal["allowed", "denied", "done", "unchanged", "failed"]
"""Of a decision: allowed or denied. Of a write: done, unchanged (it came to nothing), or failed."""


@frozen
class AuditRecord:
    """One line of an audit."""

    kind: Literal["decision", "write"]
    at: str
    """When, as ISO 8601 in UTC."""
    request_id: str
    actor: str | None
    origin: str
    operation: str
    graph: str
    outcome: Outcome
    action: str | None = None
    branch: str | None = None
    target_branch: str | None = None
    rule: str | None = None
    commit: str | None = None
    error: str | None = None
    """Code of the error that it failed with."""
    duration_ms: float | None = None
    query: str | None = None
    """The stored query that it is about."""

    def to_dict(self) -> dict[str, object]:
        """The record as JSON-ready data, without what does not apply; the actor is always there."""
        return {name: value for name, value in asdict(self).items() if value is not None or name == "actor"}


class Sink(Protocol):
    """Takes records."""

    def takes(self, outcome: Outcome) -> bool:
        """Whether records of this outcome are kept: those that are not need not be made."""
        ...

    def write(self, record: AuditRecord) -> None:
        """Keep a record."""
        ...


class LogSink:
    """Records as lines of Python's logging."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger(LOGGER)

    def takes(self, outcome: Outcome) -> bool:
        return self._logger.isEnabledFor(_level(outcome))

    def write(self, record: AuditRecord) -> None:
        level = _level(record.outcome)
        if self._logger.isEnabledFor(level):
            said = record.to_dict()
            self._logger.log(level, "%s", json.dumps(said, ensure_ascii=False), extra={"audit": said})


def _level(outcome: Outcome) -> int:
    return logging.DEBUG if outcome == "allowed" else logging.INFO
