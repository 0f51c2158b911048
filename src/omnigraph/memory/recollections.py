"""What a memory gives back: values that print in a line, and are JSON for those who send them on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from datetime import datetime
from typing import Any

from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line, short_id, tallied


@frozen
class Remembered:
    """A memory that was written, or was there already."""

    id: str
    branch: str
    changed: bool
    """False: it was there, exactly so, and nothing was committed."""
    commit: str
    """The commit that was made, or the one that the branch is at."""

    def __repr__(self) -> str:
        said = "Remembered" if self.changed else "Already known"
        return one_line(f"{said}: {self.id} on {self.branch}, commit {short_id(self.commit)}")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)


@frozen
class Recollection:
    """A memory that was found, with where it is from and why it ranks where it does."""

    id: str
    text: str
    kind: str
    score: float
    """`relevance` times `confidence_now` times (0.5 + `importance`): what they are ordered by."""
    relevance: float
    """How well it fits the question: reciprocal ranks by vectors and by words, and what its neighbours lend it."""
    confidence: float
    confidence_now: float
    """What is left of its confidence at the moment that was asked about."""
    importance: float
    created: datetime
    confirmed: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    about: tuple[str, ...]
    sources: tuple[str, ...]
    agents: tuple[str, ...]

    def __repr__(self) -> str:
        return one_line(f"Recollection {self.score:.4f}: {self.text}")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        found = asdict(self)
        for name in ("created", "confirmed", "valid_from", "valid_until"):
            moment = found[name]
            found[name] = None if moment is None else moment.isoformat().replace("+00:00", "Z")
        return {**found, **{name: list(found[name]) for name in ("about", "sources", "agents")}}


@frozen
class Relation:
    """How one entity relates to another."""

    from_: str
    how: str
    to: str
    confidence: float

    def __repr__(self) -> str:
        return one_line(f"{self.from_} {self.how} {self.to}")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {"from": self.from_, "how": self.how, "to": self.to, "confidence": self.confidence}


@frozen
class Recalled:
    """What was found for a question, the best first; a sequence of recollections."""

    memories: tuple[Recollection, ...]
    relations: tuple[Relation, ...]
    """Of entities that these memories are about, or that the question names."""
    branch: str
    commit: str
    """What was read."""
    by_vectors: bool
    """False: there was no embedding provider, and words, neighbours and time had to do."""

    def __len__(self) -> int:
        return len(self.memories)

    def __iter__(self) -> Iterator[Recollection]:
        return iter(self.memories)

    def __getitem__(self, place: int) -> Recollection:
        return self.memories[place]

    def __repr__(self) -> str:
        best = f": {self.memories[0].text}" if self.memories else ""
        return one_line(f"Recalled {counted(len(self.memories), 'memory')} from {self.branch}{best}")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "memories": [found.to_dict() for found in self.memories],
            "relations": [found.to_dict() for found in self.relations],
            "branch": self.branch,
            "graph_commit_id": self.commit,
            "by_vectors": self.by_vectors,
        }


@frozen
class Forgotten:
    """What was deleted."""

    branch: str
    commit: str | None
    """None: there was nothing to delete."""
    deleted: Mapping[str, int] = field(default_factory=dict)
    """Nodes by type."""
    cascaded: Mapping[str, int] = field(default_factory=dict)
    """Edges by type, which went with them."""

    def __repr__(self) -> str:
        if self.commit is None:
            return one_line(f"Forgot nothing on {self.branch}: there was nothing")
        gone = tallied(self.deleted)
        with_them = f", with {tallied(self.cascaded)}" if self.cascaded else ""
        return one_line(f"Forgot {gone}{with_them} on {self.branch}, commit {short_id(self.commit)}")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "branch": self.branch,
            "commit": self.commit,
            "deleted": dict(self.deleted),
            "cascaded": dict(self.cascaded),
        }
