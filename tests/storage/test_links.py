"""Symbolic links below a graph are never followed: whatever is done to the graph, what is behind them stays as it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from tests.storage.aging import MovedClock
from tests.storage.crashing import scratch_folder

import omnigraph as og
from omnigraph.errors import GraphError
from omnigraph.storage.files.place import Place
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.reclaiming.reclaim import reclaim
from omnigraph.storage.reclaiming.verify import verify

SCHEMA = """
node Person { name: String @key  age: I32? @index }
edge Knows: Person -> Person
"""
INSERT = "query q($n: String) { insert Person { name: $n } }"


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    with scratch_folder() as folder:
        g = og.init(str(folder / "template"), SCHEMA)
        g.load([{"type": "Person", "data": {"name": f"p{n}", "age": n}} for n in range(50)])
        g.branches.create("work")
        g.mutate(INSERT, {"n": "x"}, branch="work")
        g.tags.create("v1", "main")
        g.mutate("query q() { delete Person where age = 3 }")
        g.optimize()
        clean(str(folder / "template"))
        (folder / "template" / "__inflight").mkdir(exist_ok=True)
        yield folder / "template"


def clean(uri: str) -> None:
    clock = MovedClock()
    clock.pass_time(timedelta(days=2))
    reclaim(GraphStore.open(Place.at(uri), clock=clock), keep=1, older_than=None, dry_run=False)


def everything(uri: str) -> list[Callable[[], object]]:
    """Whatever is done to a graph."""

    def opened() -> og.Graph:
        return og.open(uri)

    return [
        lambda: opened().query("query q() { match { $p: Person } return { count($p) as n } }"),
        lambda: opened().mutate(INSERT, {"n": "new"}),
        lambda: opened().mutate("query q() { update Person set { age: 1 } where age = 2 }"),
        lambda: opened().mutate("query q() { delete Person where age = 5 }"),
        lambda: opened().load([{"type": "Person", "data": {"name": f"l{n}"}} for n in range(9)]),
        lambda: opened().branches.create("other"),
        lambda: opened().tags.create("v2", "main"),
        lambda: opened().merge("work"),
        lambda: opened().optimize(),
        lambda: opened().apply_schema(SCHEMA.replace("age: I32?", "city: String?  age: I32?")),
        lambda: verify(opened()._store, deep=True),
        lambda: opened().branches.delete("work"),
        lambda: opened().tags.delete("v1"),
        lambda: clean(uri),
        lambda: clean(uri),
    ]


def described(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(p.relative_to(folder)): (p.read_bytes() if p.is_file() else b"", p.stat().st_mtime_ns)
        for p in sorted(folder.rglob("*"))
    }


FOLDERS = [
    "nodes",
    "nodes/*",
    "nodes/*/data",
    "nodes/*/_versions",
    "nodes/*/_indices",
    "nodes/*/_deletions",
    "nodes/*/_transactions",
    "edges",
    "__manifest",
    "__manifest/*",
    "__manifest/*/_versions",
    "__manifest/*/data",
    "__refs",
    "__tags",
    "__inflight",
    "__reclaimed",
    "__doomed",
    "__cache",
    "__probe",
]


@pytest.mark.parametrize("what", FOLDERS)
def test_a_folder_that_is_a_link_is_not_followed_by_anything(template: Path, tmp_path: Path, what: str) -> None:
    graph, outside = tmp_path / "graph", tmp_path / "outside"
    shutil.copytree(template, graph)
    replaced = next(iter(sorted(graph.glob(what))), None) or graph / what
    if replaced.exists():
        shutil.move(replaced, outside)
    outside.mkdir(exist_ok=True)
    for name in ("sentinel", "00000000000000000009", "data/old.lance", "_versions/1.manifest"):
        (outside / name).parent.mkdir(exist_ok=True)
        (outside / name).write_bytes(b"mine")
    for path in outside.rglob("*"):
        os.utime(path, (1_000_000, 1_000_000))
    replaced.symlink_to(outside, target_is_directory=True)
    before = described(outside)
    for step in everything(str(graph)):
        with suppress(GraphError):
            step()
        assert described(outside) == before


def test_links_put_into_a_graph_are_not_followed(template: Path, tmp_path: Path) -> None:
    """Links to files and folders, in every folder there is."""
    graph, outside = tmp_path / "graph", tmp_path / "outside"
    shutil.copytree(template, graph)
    for name in ("data/old.lance", "_versions/old.manifest", "_indices/x/old.idx", "deep/_deletions/old.arrow"):
        (outside / name).parent.mkdir(parents=True, exist_ok=True)
        (outside / name).write_bytes(b"mine")
    for number, folder in enumerate([graph, *(p for p in graph.rglob("*") if p.is_dir())]):
        (folder / f"link{number}").symlink_to(outside, target_is_directory=True)
        (folder / f"link{number}.lance").symlink_to(outside / "data/old.lance")
    for path in outside.rglob("*"):
        os.utime(path, (1_000_000, 1_000_000))
    before = described(outside)
    failures = []
    for step in everything(str(graph)):
        try:
            step()
        except GraphError as error:
            failures.append(error)
        assert described(outside) == before
    assert failures == []


def test_the_graph_itself_may_be_a_link(template: Path, tmp_path: Path) -> None:
    shutil.copytree(template, tmp_path / "graph")
    (tmp_path / "link").symlink_to(tmp_path / "graph", target_is_directory=True)
    (tmp_path / "far").symlink_to(tmp_path / "link", target_is_directory=True)
    for step in everything(str(tmp_path / "far")):
        step()
    assert og.open(str(tmp_path / "graph"))._store.branches() == ["main", "other"]


def test_a_link_is_named_in_the_message(template: Path, tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    shutil.copytree(template, graph)
    shutil.move(graph / "__refs", tmp_path / "refs")
    (graph / "__refs").symlink_to(tmp_path / "refs")
    with pytest.raises(GraphError, match=r"__refs.* is a symbolic link"):
        og.open(str(graph))
