"""Parts of the engine that a read does not need, imported when they are first used: one question should not wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.engine.calls.deferred import Deferred

__all__ = [
    "changes_",
    "embedding",
    "feed",
    "inspection",
    "lines",
    "merging",
    "network",
    "one",
    "past",
    "reviewing",
    "transactions",
    "writing_",
]

if TYPE_CHECKING:
    from omnigraph.engine import inspect as inspection
    from omnigraph.engine import transaction as transactions
    from omnigraph.engine import writing as writing_
    from omnigraph.engine.export import entities as one
    from omnigraph.engine.export import lines as lines
    from omnigraph.engine.export import network as network
    from omnigraph.engine.export import tables as tables
    from omnigraph.engine.history import changes as changes_
    from omnigraph.engine.history import feed as feed
    from omnigraph.engine.history import merge as merging
    from omnigraph.engine.history import past as past
    from omnigraph.engine.reviews import front as reviewing
    from omnigraph.engine.upkeep import embedding as embedding
else:
    transactions = Deferred("omnigraph.engine.transaction")
    writing_ = Deferred("omnigraph.engine.writing")
    one = Deferred("omnigraph.engine.export.entities")
    network = Deferred("omnigraph.engine.export.network")
    lines = Deferred("omnigraph.engine.export.lines")
    tables = Deferred("omnigraph.engine.export.tables")
    changes_ = Deferred("omnigraph.engine.history.changes")
    feed = Deferred("omnigraph.engine.history.feed")
    merging = Deferred("omnigraph.engine.history.merge")
    past = Deferred("omnigraph.engine.history.past")
    reviewing = Deferred("omnigraph.engine.reviews.front")
    inspection = Deferred("omnigraph.engine.inspect")
    embedding = Deferred("omnigraph.engine.upkeep.embedding")
