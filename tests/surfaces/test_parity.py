"""The command line and the Python API give the same data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.calling import NAMES, Call

import omnigraph as og_api
from omnigraph.surfaces.wording import COMMAND_LINE

SAME: dict[str, tuple[list[str], Callable[[og_api.Graph], Any]]] = {
    "query": (["query", "-e", NAMES], lambda g: g.query(NAMES).to_dict()),
    "query of a branch": (["query", "-e", NAMES, "--branch", "work"], lambda g: g.query(NAMES, branch="work").to_dict()),
    "diff": (["diff", "main", "work"], lambda g: g.diff("main", "work").to_dict()),
    "diff of some": (
        ["diff", "main", "work", "--type", "Person", "--op", "update"],
        lambda g: g.diff("main", "work", types="Person", ops="update").to_dict(),
    ),
    "branch list": (["branch", "list"], lambda g: {"branches": g.branches.list()}),
    "branch merge --dry-run": (
        ["branch", "merge", "work", "--dry-run"],
        lambda g: g.merge("work", dry_run=True).to_dict(),
    ),
    "tag list": (["tag", "list"], lambda g: {"tags": [{"name": t.name, "graph_commit_id": t.commit} for t in g.tags.list()]}),
    "commit list": (["commit", "list"], lambda g: {"commits": [c.to_dict() for c in g.commits()]}),
    "commit list of a branch": (
        ["commit", "list", "--branch", "work", "--limit", "2"],
        lambda g: {"commits": [c.to_dict() for c in g.commits("work", limit=2)]},
    ),
    "changes poll": (["changes", "poll", "--start", "beginning"], lambda g: g.changes("beginning").to_dict()),
    "stats": (
        ["stats"],
        lambda g: {k: v for k, v in g.stats().to_dict().items() if k in ("branch", "commit", "types", "failures")},
    ),
    "snapshot": (["snapshot"], lambda g: g.snapshot("main").to_dict()),
    "explain": (["explain", "-e", NAMES], lambda g: g.explain(NAMES).to_dict()),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_data(og: Call, people: Path, name: str) -> None:
    arguments, ask = SAME[name]
    with og_api.open(people) as g:
        expected = ask(g)
    assert og("--store", people, *arguments, "--json").json == expected


def test_the_same_commits(og: Call, people: Path) -> None:
    """What each commit changed, and every commit by id."""
    with og_api.open(people) as g:
        for commit in g.commits("work"):
            assert og("commit", "show", commit.id, "--uri", people, "--json").json == commit.to_dict()
            if commit.parent is not None:
                assert og("commit", "changes", commit.id, "--uri", people, "--json").json == g.commit_changes(commit.id).to_dict()


def test_the_same_export(og: Call, people: Path, tmp_path: Path) -> None:
    with og_api.open(people) as g:
        g.export(tmp_path / "a.jsonl", branch="work")
    assert og("export", people, "--branch", "work").out == (tmp_path / "a.jsonl").read_text()


def test_the_same_writes(og: Call, people: Path, tmp_path: Path) -> None:
    """A write by either is seen by the other, and told alike."""
    add = 'query add() { insert Person { name: "Eve" } }'
    told = og("mutate", "--store", people, "-e", add, "--json").json
    with og_api.open(people) as g:
        assert told["commit"] == g.commits(limit=1)[0].to_dict()
        receipt = g.mutate('query add() { insert Person { name: "Fay" } }')
        assert {**receipt.to_dict(), "commit": None} == {**told, "commit": None}
    assert og("commit", "list", people, "--json").json["commits"][0] == receipt.to_dict()["commit"]


def test_the_same_errors(og: Call, people: Path) -> None:
    with og_api.open(people) as g, pytest.raises(og_api.GraphError) as caught:
        g.query("query q() { match { $p: Persn } return { $p.name } }")
    told = og("query", "--store", people, "-e", "query q() { match { $p: Persn } return { $p.name } }", "--json")
    assert told.json == {**caught.value.to_dict(), "hint": caught.value.advice.worded(COMMAND_LINE)}
