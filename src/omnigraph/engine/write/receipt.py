"""What a mutation gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import by_actor, counted, one_line, short_id
from omnigraph.storage.commits.lineage import Commit

if TYPE_CHECKING:
    from omnigraph.engine.write.vectors import MadeVectors


@frozen
class Receipt:
    """What a mutation did."""

    branch: str
    query_name: str
    affected_nodes: int
    """Nodes that the statements inserted, found to update, or deleted; of a transaction, those that are different now."""
    affected_edges: int
    """The same of edges."""
    actor: str | None
    commit: Commit | None
    """None when nothing changed."""
    embedded: MadeVectors | None = None
    """Vectors that were made for it, where that was asked for."""

    def __repr__(self) -> str:
        if self.commit is None:
            return one_line(f"Receipt: {self.query_name} changed nothing on {self.branch}")
        named = ((self.affected_nodes, "node"), (self.affected_edges, "edge"))
        changed = " and ".join(counted(number, name) for number, name in named if number) or "nothing that is counted"
        where = f"on {self.branch}, commit {short_id(self.commit.id)}{by_actor(self.actor)}"
        return one_line(f"Receipt: {self.query_name} changed {changed} {where}")

    def to_dict(self) -> dict[str, Any]:
        """The receipt as JSON-ready data."""
        return {
            "branch": self.branch,
            "query_name": self.query_name,
            "affected_nodes": self.affected_nodes,
            "affected_edges": self.affected_edges,
            "actor_id": self.actor,
            "commit": None if self.commit is None else self.commit.to_dict(),
            **({} if self.embedded is None else {"embedded": self.embedded.to_dict()}),
        }
