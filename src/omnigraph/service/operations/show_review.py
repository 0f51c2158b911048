"""A review as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import Lookup, ReviewOperation

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.reviews.review import Review
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ShowReview(ReviewOperation["Review"]):
    """A review as it is now."""

    name: ClassVar = "review show"
    review: int

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, lookup.review(self.review, Action.READ).branch, found=True),)

    def on(self, graph: AnyGraph, caller: Caller) -> Review:
        return graph.reviews.get(self.review)
