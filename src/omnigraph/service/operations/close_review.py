"""A review ends without a merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import Lookup, ReviewChange

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.reviews.review import Review
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class CloseReview(ReviewChange["Review"]):
    """A review ends without a merge."""

    name: ClassVar = "review close"
    review: int
    text: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (lookup.review(self.review, Action.REVIEW_CREATE),)

    def on(self, graph: AnyGraph, caller: Caller) -> Review:
        return graph.reviews.close(self.review, text=self.text, actor=caller.actor)
