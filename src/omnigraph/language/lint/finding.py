"""What lint rules take and give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Protocol

from omnigraph.language.gq.tree import Query
from omnigraph.model.frozen import frozen


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        return ("error", "warning", "info").index(self.value)


@frozen
class Finding:
    """One piece of advice."""

    severity: Severity
    code: str
    message: str
    type_name: str | None = None
    property: str | None = None
    query_names: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        data: dict[str, object] = {"severity": self.severity.value, "code": self.code, "message": self.message}
        if self.type_name is not None:
            data["type_name"] = self.type_name
        if self.property is not None:
            data["property"] = self.property
        if self.query_names:
            data["query_names"] = list(self.query_names)
        return data

    def sort_key(self) -> tuple[int, str, str, str]:
        return self.severity.rank, self.type_name or "", self.property or "", self.message


class SchemaFacts(Protocol):
    """What lint rules ask of a schema."""

    def key_properties(self, type_: str) -> frozenset[str]:
        """Properties that make up the key of a type, without the ends of an edge; none if there is no such type."""
        ...

    def is_edge(self, type_: str) -> bool:
        """Whether a name is that of an edge type, and of no node type."""
        ...

    def settable_properties(self, node_type: str) -> tuple[str, ...] | None:
        """Nullable properties of a node type that an update could set: neither key nor derived. None if there is no such type."""
        ...


@frozen
class LintedQuery:
    """A query and whether it passed the type checker."""

    query: Query
    valid: bool


LintRule = Callable[[Sequence[LintedQuery], SchemaFacts], Iterator[Finding]]
