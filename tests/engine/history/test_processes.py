"""Several processes write to branches of their own and merge them into one: nothing is lost, nothing is broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import children
from tests.engine.history.graphs import contents, people, put

import omnigraph as og


def write_and_merge(place: str, name: str, rounds: int) -> None:
    """For a process of its own."""
    g = og.open(place, durability="os")
    g.branches.create(name)
    for number in range(rounds):
        person = f"{name}-{number}"
        put(g, f'insert Person {{ name: "{person}" }} insert WorksAt {{ from: "{person}", to: "Acme" }}', name)
        put(g, f'update Person set {{ age: {number} }} where name = "Alice"', name)
        try:
            g.merge(name)
        except og.MergeConflict:
            g.merge(name, resolve="theirs")
        g.merge("main", into=name)
    g.close()


@pytest.mark.slow
def test_processes_that_merge_into_one_branch(tmp_path: Path) -> None:
    graph = people(tmp_path)
    place, rounds = graph._store.place.uri, 5
    running = [children.started(write_and_merge, place, name, rounds) for name in ("a", "b", "c")]
    for process in running:
        process.join(300)
        assert process.exitcode == 0
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
