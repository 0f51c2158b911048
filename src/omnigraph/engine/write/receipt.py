"""What a mutation gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.storage.commits.lineage import Commit


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a mutation did."""

    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    actor: str | None
    commit: Commit | None
    """None when nothing changed."""

    def to_dict(self) -> dict[str, Any]:
        """The receipt as JSON-ready data."""
        return {
            "branch": self.branch,
            "query_name": self.query_name,
            "affected_nodes": self.affected_nodes,
            "affected_edges": self.affected_edges,
            "actor_id": self.actor,
            "commit": None if self.commit is None else self.commit.to_dict(),
        }
