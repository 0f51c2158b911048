"""Several processes write to branches of their own and merge them into one: nothing is lost, nothing is broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.engine.history.graphs import contents, people

import omnigraph as og

WORKER = """
import sys
import omnigraph as og

place, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
g = og.open(place, durability="os")
g.branches.create(name)
refused = 0
for number in range(rounds):
    g.mutate(f'query q() {{ insert Person {{ name: "{name}-{number}" }} insert WorksAt {{ from: "{name}-{number}", to: "Acme" }} }}', branch=name)
    g.mutate(f'query q() {{ update Person set {{ age: {number} }} where name = "Alice" }}', branch=name)
    try:
        g.merge(name)
    except og.MergeConflict:
        refused += 1
        g.merge(name, resolve="theirs")
    g.merge("main", into=name)
g.close()
print(refused)
"""


@pytest.mark.slow
def test_processes_that_merge_into_one_branch(tmp_path: Path) -> None:
    graph = people(tmp_path)
    place, rounds = graph.store.place.uri, 5
    running = [
        subprocess.Popen([sys.executable, "-c", WORKER, place, name, str(rounds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for name in ("a", "b", "c")
    ]
    for process in running:
        _, complaints = process.communicate(timeout=300)
        assert process.returncode == 0, complaints.decode()
    fresh = og.open(place)
    found = contents(fresh)
    assert sum(name == "Person" for name, _ in found) == 3 + 3 * rounds
    assert sum(name == "WorksAt" for name, _ in found) == 3 * rounds
    assert all(("Person", row["src"]) in found for (name, _), row in found.items() if name == "WorksAt")
    logical = [c for c in fresh.commits() if c.operation == "merge"]
    assert len(logical) >= 3 * rounds
    state = contents(fresh, at=fresh.commits()[-2].id)
    page = fresh.changes(f"after:{fresh.commits()[-2].id}", limit=8_192, max_commits=512)
    for change in page.changes:
        if change.after is None:
            del state[change.type, change.id]
        else:
            ends = {} if change.endpoints is None else {"src": change.endpoints[0], "dst": change.endpoints[1]}
            state[change.type, change.id] = {"id": change.id, **ends, **change.after.properties}
    assert state == found, "the feed tells the same story"
