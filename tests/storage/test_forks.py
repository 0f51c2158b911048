"""A process that was forked from one that used a graph is told so at once, where it would wait forever."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph as og

_SCRIPT = """
import os, sys, warnings
warnings.simplefilter("ignore")
import omnigraph as og
path, used, act = sys.argv[1:]
held = og.open(path) if used == "used" else None
child = os.fork()
if child == 0:
    try:
        graph = held if act == "held" else og.open(path)
        graph.mutate("query q() { insert P { k: 'child' } }".replace("'", '"'))
        print("written", flush=True)
    except og.GraphError as error:
        print(error.code, "spawn" in (error.hint or ""), flush=True)
    os._exit(0)
os.waitpid(child, 0)
if held is not None:
    held.mutate("query q() { insert P { k: 'parent' } }".replace("'", '"'))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no forks there")
@pytest.mark.parametrize(
    ("used", "act", "said"), [("used", "opened", "usage True"), ("used", "held", "usage True"), ("imported", "opened", "written")]
)
def test_a_forked_child(tmp_path: Path, used: str, act: str, said: str) -> None:
    graph = og.init(tmp_path / "g", schema="node P { k: String @key }")
    command = [sys.executable, "-c", _SCRIPT, str(tmp_path / "g"), used, act]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == said, done.stderr
    found = {row["p.k"] for row in graph.query("query q() { match { $p: P } return { $p.k } }").rows}
    assert found == ({"parent"} if used == "used" else {"child"})
