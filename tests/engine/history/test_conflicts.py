"""What a merge tells of conflicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.history.graphs import told

import omnigraph as og


def test_broken_rules_are_told_together_with_clashes(tmp_path: Path) -> None:
    g = og.init(tmp_path / "g", schema="node P { k: String @key  a: I32?  email: String? @unique }")
    g.mutate('query q() { insert P { k: "x", a: 1 } }')
    g.branches.create("b")
    g.mutate('query q() { update P set { a: 2 } where k = "x" insert P { k: "ours", email: "e" } }')
    g.mutate('query q() { update P set { a: 3 } where k = "x" insert P { k: "theirs", email: "e" } }', branch="b")
    wanted = {"divergent_update:node:P:x", "unique_violation:node:P:theirs:email"}
    assert {c.key for c in g.merge("b", into="main", dry_run=True).conflicts} == wanted
    with pytest.raises(og.MergeConflict) as caught:
        g.merge("b", into="main")
    assert {c.key for c in told(caught.value)} == wanted
