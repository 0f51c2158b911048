"""Parts of the engine that a read does not need, imported when they are first used: one question should not wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.engine.calls.deferred import Deferred

__all__ = [
    "changes_",
    "committing",
    "embedding",
    "feed",
    "inspection",
    "lines",
    "merging",
    "past",
    "receipts",
    "settling",
    "staging",
    "work",
]

if TYPE_CHECKING:
    from omnigraph.engine import inspect as inspection
    from omnigraph.engine.blobs import settling as settling
    from omnigraph.engine.export import lines as lines
    from omnigraph.engine.history import changes as changes_
    from omnigraph.engine.history import feed as feed
    from omnigraph.engine.history import merge as merging
    from omnigraph.engine.history import past as past
    from omnigraph.engine.upkeep import embedding as embedding
    from omnigraph.engine.write import commit as committing
    from omnigraph.engine.write import mutate as staging
    from omnigraph.engine.write import receipt as receipts
    from omnigraph.storage.tables import work as work
else:
    settling = Deferred("omnigraph.engine.blobs.settling")
    lines = Deferred("omnigraph.engine.export.lines")
    changes_ = Deferred("omnigraph.engine.history.changes")
    feed = Deferred("omnigraph.engine.history.feed")
    merging = Deferred("omnigraph.engine.history.merge")
    past = Deferred("omnigraph.engine.history.past")
    inspection = Deferred("omnigraph.engine.inspect")
    embedding = Deferred("omnigraph.engine.upkeep.embedding")
    committing = Deferred("omnigraph.engine.write.commit")
    staging = Deferred("omnigraph.engine.write.mutate")
    receipts = Deferred("omnigraph.engine.write.receipt")
    work = Deferred("omnigraph.storage.tables.work")
