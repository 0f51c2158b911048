"""Reviews, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import Lookup, ReviewOperation

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.reviews.review import ReviewList, ReviewState
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ListReviews(ReviewOperation["ReviewList"]):
    """Reviews, newest first."""

    name: ClassVar = "review list"
    state: tuple[ReviewState, ...] | None = None
    source: str | None = None
    target: str | None = None
    author: str | None = None
    limit: int | None = None
    before: int | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, self.source),)

    def on(self, graph: AnyGraph, caller: Caller) -> ReviewList:
        return graph.reviews.list(
            state=self.state,
            source=self.source,
            target=self.target,
            author=self.author,
            limit=self.limit,
            before=self.before,
        )
