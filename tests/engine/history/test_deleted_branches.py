"""Commits of a branch that was merged and deleted are listed; why they cannot be read is said."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

ALL = "query q() { match { $p: P } return { $p.k } }"
ADD = "query q($k: String) { insert P { k: $k } }"


def test_a_state_of_a_deleted_branch_says_why_it_is_gone(tmp_path: Path) -> None:
    with og.init(tmp_path / "g", "node P { k: String @key }", durability="os") as g:
        g.branches.create("agent/7")
        made = [g.mutate(ADD, {"k": str(n)}, branch="agent/7", actor="agent-7").commit for n in range(3)]
        g.mutate(ADD, {"k": "main"})
        g.merge("agent/7")
        g.branches.delete("agent/7")
    g = og.open(tmp_path / "g")
    for commit in made:
        assert commit is not None
        assert g.commit(commit.id).actor == "agent-7"
        with pytest.raises(og.HistoryReclaimed, match="made on branch `agent/7`, which was deleted"):
            g.query(ALL, at=commit.id)
    with pytest.raises(og.HistoryReclaimed, match="not in the history of any branch"):
        g.query(ALL, at="01ARZ3NDEKTSV4RRFFQ69G5FAV")
