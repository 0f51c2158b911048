"""No logical operation ever fails or changes because of upkeep. `python -m tests.engine.test_upkeep_histories 1000` plays a thousand."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from tests.engine.upkeep_histories import history

QUICK = 8
THREADED = 3


@pytest.mark.parametrize("seed", range(QUICK))
def test_a_history_with_upkeep_is_the_same_as_without(seed: int, tmp_path: Path) -> None:
    history(int(os.environ.get("OMNIGRAPH_UPKEEP_SEED", seed)), tmp_path)


@pytest.mark.parametrize("seed", range(THREADED))
def test_a_history_beside_upkeep_that_never_rests_is_the_same(seed: int, tmp_path: Path) -> None:
    history(10_000 + seed, tmp_path, threads=True)


if __name__ == "__main__":
    first, last = (int(text) for text in (sys.argv[1:] if len(sys.argv) > 2 else ["0", sys.argv[1]]))
    for played in range(first, last):
        folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
        try:
            history(played, folder, threads=played % 10 == 9)
        finally:
            shutil.rmtree(folder)
        print(played, flush=True)
