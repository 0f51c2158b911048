"""Memory does not follow the size of the input: only what the rules about sets of rows need is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

LOAD = """
import resource, sys
import omnigraph as og
g = og.init(sys.argv[1], schema="node Note {{ text: String }}", durability="os")
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
g.load(sys.argv[2])
first = peak()
g.load(sys.argv[3])
print(first, peak())
"""


@pytest.mark.slow
def test_ten_times_the_text_takes_little_more_memory(tmp_path: Path) -> None:
    """40 MB and then 400 MB of text: kept are an id and a line number for each row."""
    line = (json.dumps({"type": "Note", "data": {"text": "x" * 2_000}}) + "\n").encode()
    for name, lines in (("small", 20_000), ("large", 200_000)):
        with (tmp_path / f"{name}.jsonl").open("wb") as file:
            for _ in range(lines // 1_000):
                file.write(line * 1_000)
    command = [
        sys.executable,
        "-c",
        LOAD.format(),
        str(tmp_path / "g"),
        *(str(tmp_path / f"{n}.jsonl") for n in ("small", "large")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    small, large = map(int, done.stdout.split())
    assert large - small < 150, done.stdout
