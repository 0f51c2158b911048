"""Random histories of reviews: several people, a source that moves, branches that go, cleanup, processes that start anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.reviews.model import History


@pytest.mark.slow
def test_reviews_are_what_a_simple_model_says(tmp_path: Path) -> None:
    ended: list[str | None] = []
    for seed in range(7):
        history = History(tmp_path, seed)
        for number in range(120):
            history.step()
            if number % 5 == 0 or history.log[-1] in ("cleanup", "open_again"):
                history.check()
        history.check()
        assert history.graph.verify(deep=True).problems == ()
        ended += [review.over for review in history.reviews.values()]
        history.graph.close()
    assert ended.count("merged") >= 10
    assert {None, "closed"} <= set(ended)
