"""What the source of a review adds, and what merging it now would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import Lookup, ReviewOperation

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.reviews.review import ReviewDiff
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class DiffReview(ReviewOperation["ReviewDiff"]):
    """What the source of a review adds, and what merging it now would do."""

    name: ClassVar = "review diff"
    review: int

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return lookup.review_branches(self.review)

    def on(self, graph: AnyGraph, caller: Caller) -> ReviewDiff:
        return graph.reviews.diff(self.review)
