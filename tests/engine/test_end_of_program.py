"""Threads that write while the program is ending: Python waits for them, and so their writes count."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import omnigraph as og

PROGRAM = """
import sys, threading
import omnigraph as og

g = og.open(sys.argv[1])
g.put("P", {"n": "a"})

def agent():
    threading.main_thread().join()
    for n in range(5):
        g.put("P", {"n": f"late {n}"})
    g.branches.create("work")
    g.mutate('query q() { insert P { n: "there" } }', branch="work")
    g.merge("work")
    try:
        g.load([{"type": "P", "data": {"n": "loaded"}}])
    except og.GraphError as error:
        print(error.code, error.message, flush=True)

threading.Thread(target=agent).start()
"""


def test_writes_of_threads_that_outlive_the_main_one(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node P { n: String @key }")
    ran = subprocess.run([sys.executable, "-c", PROGRAM, graph.uri], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout in ("", "usage load: the program is ending, and Python starts no more threads\n")
    found = {r["n"] for r in graph.query("query q() { match { $p: P } return { $p.n as n } }").rows}
    assert found - {"loaded"} == {"a", "there", *(f"late {n}" for n in range(5))}
