"""What came of a load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line, short_id, tallied
from omnigraph.model.text_tables import html_table
from omnigraph.storage.commits.lineage import Commit

if TYPE_CHECKING:
    from omnigraph.engine.write.vectors import MadeVectors


@frozen
class LoadResult:
    """What a load did. `nodes_loaded` and `edges_loaded` count entities of each type that occurs in the input."""

    branch: str
    base_branch: str | None
    """What the branch was to be made from, if it was missing."""
    branch_created: bool
    mode: Mode
    nodes_loaded: Mapping[str, int]
    edges_loaded: Mapping[str, int]
    commit: Commit
    """The commit that was made; if nothing changed (`changed`), the one that the branch is at."""
    actor: str | None = None
    seconds: float = 0.0
    quarantined: int = 0
    """Rows and lines that were left out and written to the quarantine file, where that was requested."""
    quarantine: str | None = None
    """The file they were written to."""
    skipped: tuple[str, ...] = ()
    """Files of a folder that were skipped, as requested, because their format is unknown."""
    changed: bool = True
    """False: there was nothing, or all of it was there already, exactly so, and nothing was committed."""
    deleted: Mapping[str, int] = field(default_factory=dict)
    """Entities of each type that the input deletes, by its name."""
    cascaded: Mapping[str, int] = field(default_factory=dict)
    """Edges of each type that went because one of their nodes was deleted."""
    missing: Mapping[str, int] = field(default_factory=dict)
    """Entities of each type that the input deletes and that were not there."""
    embedded: MadeVectors | None = None
    """Vectors that were made for it, where that was asked for."""

    @property
    def rows(self) -> int:
        """All entities."""
        return sum(self.nodes_loaded.values()) + sum(self.edges_loaded.values())

    @property
    def rate(self) -> float:
        """Entities per second."""
        return self.rows / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, object]:
        """The result as JSON-ready data."""
        return {
            "branch": self.branch,
            "base_branch": self.base_branch,
            "branch_created": self.branch_created,
            "mode": self.mode.value,
            "nodes": [{"name": n, "entities_loaded": c} for n, c in sorted(self.nodes_loaded.items())],
            "edges": [{"name": n, "entities_loaded": c} for n, c in sorted(self.edges_loaded.items())],
            "total_entities": self.rows,
            "actor_id": self.actor,
            "commit": self.commit.id,
            **({"quarantined": self.quarantined, "quarantine": self.quarantine} if self.quarantined else {}),
            **({"skipped": list(self.skipped)} if self.skipped else {}),
            **{name: dict(counts) for name, counts in self._deletions().items() if counts},
            **({} if self.embedded is None else {"embedded": self.embedded.to_dict()}),
        }

    def __repr__(self) -> str:
        named = tallied(self._counts())
        kept_out = f", {self.quarantined:,} quarantined" if self.quarantined else ""
        made = " (new)" if self.branch_created else ""
        head = f"Loaded {counted(self.rows, 'entity')} into {self.branch}{made} with {self.mode.value}"
        gone = "; ".join(f"{name} {tallied(counts)}" for name, counts in self._deletions().items() if any(counts.values()))
        if gone and not self.rows:
            made = f", commit {short_id(self.commit.id)}" if self.changed else ""
            return one_line(f"{gone[0].upper()}{gone[1:]} on {self.branch}{made}")
        kept_out += f"; {gone}" if gone else ""
        if not self.changed:
            there = f"{counted(self.rows, 'entity')} already in {self.branch}{made}" if self.rows else "there are no entities"
            return one_line(f"Nothing to load: {there}{kept_out}")
        return one_line(f"{head}, commit {short_id(self.commit.id)}{kept_out}{': ' if named else ''}{named}")

    def _deletions(self) -> dict[str, Mapping[str, int]]:
        return {"deleted": self.deleted, "cascaded": self.cascaded, "missing": self.missing}

    def _repr_html_(self) -> str:
        rows = [[name, f"{count:,}"] for name, count in self._counts().items()]
        rate = f"{counted(self.rows, 'entity')} in {self.seconds:,.1f} s, commit {self.commit.id} on {self.branch}"
        return html_table(("type", "entities"), rows, below=rate)

    def _counts(self) -> dict[str, int]:
        return {**dict(sorted(self.nodes_loaded.items())), **dict(sorted(self.edges_loaded.items()))}
