"""Random histories in which every answer is compared with a model, while handles start from each other's saved state."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.saved_histories import run

STEPS = 45


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_every_answer_is_right_whatever_was_saved(seed: int, tmp_path: Path) -> None:
    history = run(tmp_path / "graph", seed, STEPS)
    used = [handle.stats().saved for handle in history.handles]
    assert sum(use.read for use in used) > 0, "the last handles started from saved state"
    assert sum(use.damaged for use in used) == 0
    assert not [reason for use in used for reason in use.reasons]
