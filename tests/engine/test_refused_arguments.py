"""Arguments that fail already when they are asked what they are, and places that cannot be written down: errors of ours, always."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.engine import graphs

import omnigraph as og
from omnigraph.errors import NoSuchRow, UsageError

READ = "query q() { match { $p: P } return { $p } }"
WRITE = 'query q() { insert P { k: "b" } }'


class Thing:
    """Something that a proxy may stand for."""


class Nameless:
    """Does not say what it is."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("hostile")


class Closed:
    """Has nothing to look at."""

    def __getattribute__(self, name: str) -> Any:
        raise KeyError(name)


VALUES: dict[str, Callable[[], object]] = {"dead proxy": lambda: weakref.proxy(Thing()), "nameless": Nameless, "closed": Closed}
CALLS: dict[str, Callable[[og.Graph, Any], object]] = {
    "params": lambda g, value: g.query(READ, value),
    "params by name": lambda g, value: g.query(READ, params=value),
    "branch": lambda g, value: g.query(READ, branch=value),
    "at": lambda g, value: g.query(READ, at=value),
    "timeout": lambda g, value: g.query(READ, timeout=value),
    "memory": lambda g, value: g.query(READ, memory_limit=value),
    "actor": lambda g, value: g.mutate(WRITE, actor=value),
    "query": lambda g, value: g.mutate(value),
    "source": lambda g, value: g.load(value),
    "rows": lambda g, value: g.load({"P": value}),
    "path": lambda g, value: og.open(value),
    "name of a branch": lambda g, value: g.branches.create(value),
    "limit": lambda g, value: g.commits(limit=value),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    folder: Path = tmp_path_factory.mktemp("refused")
    return graphs.make_graph(folder, "node P { k: String @key }", {"P": [{"k": "a"}]})


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", VALUES)
def test_what_cannot_be_looked_at_is_refused(graph: og.Graph, call: str, kind: str) -> None:
    before = len(graph.commits())
    with pytest.raises(UsageError):
        CALLS[call](graph, VALUES[kind]())
    assert len(graph.commits()) == before


@pytest.mark.parametrize("place", [10**5000, -(10**5000), 7, -7], ids=["huge", "less", "none", "before"])
def test_no_row_is_at_a_place_however_it_is_written(graph: og.Graph, place: int) -> None:
    with pytest.raises(NoSuchRow, match="the result has 1 row, and none at"):
        graph.query(READ)[place]


def test_a_day_is_no_moment_and_the_hint_says_how_to_write_one(graph: og.Graph) -> None:
    with pytest.raises(UsageError, match="a commit, a branch, a tag or a time") as refused:
        graph.query(READ, at=date(2024, 5, 1))  # type: ignore[arg-type]
    assert "datetime(2024, 5, 1)" in refused.value.hint
    with pytest.raises(UsageError, match="a commit, a branch, a tag or a time, not int 3"):
        graph.query(READ, at=3)  # type: ignore[arg-type]
