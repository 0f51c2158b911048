"""Wrong paths, foreign folders, damaged files, formats of other versions, disks that are full or not ours to write: a clear error,
and nothing changed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import lance
import msgspec
import pyarrow as pa
import pytest
from tests import children
from tests.storage.crashing import (
    OPERATIONS,
    Moment,
    Striking,
    build_template,
    copied,
    describe,
    disk_full,
    not_permitted,
    opened,
    scratch_folder,
)
from tests.storage.graphs import DOCUMENT, PEOPLE, TABLES, content, insert, new_graph, place

from omnigraph.errors import AlreadyExists, GraphError, NotFound, StorageError, UnsupportedFormat, UsageError
from omnigraph.storage.commits.format import CURRENT, FLOOR, STAMP_KEY
from omnigraph.storage.commits.refs import Ref
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import MAIN, GraphStore


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    with scratch_folder() as folder:
        build_template("graph", folder / "template")
        yield folder / "template"


@pytest.fixture
def graph(template: Path, tmp_path: Path) -> Path:
    return copied(template, tmp_path / "copy")


def tree(folder: Path) -> dict[Path, bytes | None]:
    """Every file with its bytes, every folder with None."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


# ── places that hold no graph ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_path_that_does_not_exist_is_named_and_not_created(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "such" / "graph"
    for read_only in (False, True):
        with pytest.raises(NotFound, match="no/such/graph holds no graph") as caught:
            GraphStore.open(Place.at(str(missing)), read_only=read_only)
        assert "init" in caught.value.hint
    assert tree(tmp_path) == {}


def test_a_path_that_is_a_file_holds_no_graph_and_cannot_hold_one(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    for path in (file, file / "below"):
        with pytest.raises(NotFound, match="holds no graph"):
            GraphStore.open(Place.at(str(path)))
        with pytest.raises(UsageError, match=r"notes\.txt is a file"):
            GraphStore.init(Place.at(str(path)), DOCUMENT, TABLES)
    assert tree(tmp_path) == {file: b"mine"}


@pytest.mark.parametrize("uri", ["gs://bucket/graph", "http://somewhere/graph", "memory://graph"])
def test_an_address_of_another_kind_is_refused(uri: str) -> None:
    with pytest.raises(UsageError, match="cannot store a graph"):
        Place.at(uri)


def test_a_folder_with_other_files_holds_no_graph_and_keeps_its_files_when_it_gets_one(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    (folder / "photos").mkdir(parents=True)
    (folder / "readme.md").write_text("mine")
    (folder / "photos" / "cat.jpg").write_bytes(b"cat")
    before = tree(folder)
    with pytest.raises(NotFound, match="holds no graph"):
        GraphStore.open(place(tmp_path))
    assert tree(folder) == before
    store = new_graph(tmp_path)
    insert(store, a=1)
    assert content(store) == {"a": 1}
    assert {path: tree(folder)[path] for path in before} == before


def test_a_lance_dataset_is_not_a_graph(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    lance.write_dataset(pa.table({"id": ["x"]}), str(folder))
    before = tree(folder)
    with pytest.raises(NotFound, match="holds no graph"):
        GraphStore.open(place(tmp_path))
    assert tree(folder) == before


def test_rows_of_somebody_else_where_a_table_is_to_be_are_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    lance.write_dataset(pa.table({"id": ["x"]}), str(folder / "nodes" / "1-3"))
    before = tree(folder)
    with pytest.raises(AlreadyExists, match="already holds rows"):
        new_graph(tmp_path)
    assert tree(folder) == before


@pytest.mark.parametrize("stamped", [False, True])
def test_a_ref_that_names_a_lance_dataset_which_is_no_manifest(graph: Path, stamped: bool) -> None:
    location = graph / "graph" / "__manifest" / "foreign"
    rows = pa.table({"id": ["x"]})
    lance.write_dataset(rows.replace_schema_metadata({STAMP_KEY: str(CURRENT)}) if stamped else rows, str(location))
    (graph / "graph" / "__refs" / "main").write_bytes(msgspec.json.encode(Ref(MAIN, "foreign")))
    with pytest.raises(GraphError) as caught:
        GraphStore.open(place(graph))
    assert isinstance(caught.value, StorageError if stamped else UnsupportedFormat), caught.value
    assert "manifest" in caught.value.message


def test_a_ref_whose_manifest_is_gone_is_named(graph: Path) -> None:
    (graph / "graph" / "__refs" / "main").write_bytes(msgspec.json.encode(Ref(MAIN, "gone")))
    with pytest.raises(NotFound, match="__manifest/gone"):
        GraphStore.open(place(graph))


# ── formats of other versions ────────────────────────────────────────────────────────────────────────────────────────────────


def stamp(graph: Path, branch: str, value: str) -> None:
    """Give the manifest of a branch another stamp, as another version of this software would have."""
    incarnation = GraphStore.open(place(graph)).ref(branch).incarnation
    dataset = lance.dataset(str(graph / "graph" / "__manifest" / incarnation))
    dataset.replace_schema_metadata({STAMP_KEY: value})


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("value", "problem", "advice"),
    [
        (str(CURRENT + 1), f"has format {CURRENT + 1}; this OmniGraph reads up to {CURRENT}", "Upgrade"),
        (str(FLOOR - 1), f"has format {FLOOR - 1}; this OmniGraph reads from {FLOOR} on", "Export"),
        ("soon", "is not the manifest of an OmniGraph graph", "Check"),
    ],
)
def test_a_format_of_another_version_is_refused_in_both_ways_of_opening(
    graph: Path, value: str, problem: str, advice: str, read_only: bool
) -> None:
    stamp(graph, MAIN, value)
    before = tree(graph)
    with pytest.raises(UnsupportedFormat, match=problem) as caught:
        GraphStore.open(place(graph), read_only=read_only)
    assert advice in caught.value.hint
    assert tree(graph) == before


def test_a_newer_format_is_refused_on_every_branch(graph: Path) -> None:
    stamp(graph, "work", str(CURRENT + 1))
    store = GraphStore.open(place(graph))
    assert content(store)["a"] == 1
    attempts: list[Callable[[], object]] = [
        lambda: store.snapshot("work"),
        lambda: insert(store, "work", x=1),
        lambda: store.commits("work"),
        lambda: store.create_branch("child", at="work"),
        lambda: store.delete_branch("work"),
    ]
    before = tree(graph)
    for attempt in attempts:
        with pytest.raises(UnsupportedFormat):
            attempt()
    assert tree(graph) == before


def test_a_handle_that_is_open_while_the_format_changes_notices_before_it_writes(graph: Path) -> None:
    store = GraphStore.open(place(graph))
    store.snapshot()
    stamp(graph, MAIN, str(CURRENT + 1))
    with pytest.raises(UnsupportedFormat):
        insert(store, x=1)


# ── damaged files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def newest(folder: Path) -> Path:
    return max(folder.iterdir(), key=lambda p: p.stat().st_mtime_ns)


def files_by_role(graph: Path) -> dict[str, Path]:
    """One file of each kind that the newest state of branch `side` needs."""
    store, root = GraphStore.open(place(graph)), graph / "graph"
    manifest = root / "__manifest" / store.ref("side").incarnation
    state = store.snapshot("side").tables[PEOPLE]
    table = root / state.location
    return {
        "ref": root / "__refs" / "side",
        "manifest version": min((manifest / "_versions").glob("*.manifest")),
        "manifest rows": newest(manifest / "data"),
        "table version": table / "_versions" / f"d{state.pin}.manifest",
        "table rows": min((table / "data").iterdir(), key=lambda p: p.stat().st_mtime_ns),
        "deletion marks": newest(table / "_deletions"),
    }


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def shortened(data: bytes) -> bytes:
    return data[:-1]


def emptied(_: bytes) -> bytes:
    return b""


def overwritten(data: bytes) -> bytes:
    return b"\xa5" * len(data)


@pytest.mark.parametrize(
    "damage", [cut, shortened, emptied, overwritten, None], ids=lambda d: "missing" if d is None else d.__name__
)
@pytest.mark.parametrize("role", ["ref", "manifest version", "manifest rows", "table version", "table rows", "deletion marks"])
def test_a_damaged_file_is_a_typed_error_for_those_who_need_it_and_nobody_else(
    graph: Path, role: str, damage: Callable[[bytes], bytes] | None
) -> None:
    if role == "manifest version" and damage is None:
        pytest.skip(
            "without its newest version a manifest says what it said before: nothing can tell that from a smaller history"
        )
    file = files_by_role(graph)[role]
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes()))
    before = tree(graph)
    for attempt in (lambda s: content(s, "side"), lambda s: insert(s, "side", x=1)):
        with pytest.raises(GraphError) as caught:
            attempt(GraphStore.open(place(graph)))
        assert caught.value.message
        assert caught.value.hint
    # What the failed insert wrote before it noticed is garbage that nothing refers to; nothing that was there has changed.
    assert {path: data for path, data in tree(graph).items() if path in before} == before
    if role not in ("table rows", "deletion marks"):
        store = GraphStore.open(place(graph))
        assert content(store) == {"a": 1, "b": 2, "c": 3, "d": 4}
        insert(store, x=1)


def flip_bytes(test: Connection, graph: Path, file: Path, start: int, step: int) -> None:
    """For a process of its own: flip one byte after the other, saying which, and read."""
    good = file.read_bytes()
    for at in range(start, len(good), step):
        test.send(at)
        file.write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        with suppress(GraphError):
            content(GraphStore.open(place(graph)), "side")
    test.send("end")


def last_said(child: Connection) -> object:
    """The last thing a process said before it ended."""
    said = None
    with suppress(EOFError):
        while True:
            said = child.recv()
    return said


@pytest.mark.slow
@pytest.mark.parametrize("role", ["manifest version", "manifest rows", "table version", "table rows", "deletion marks"])
def test_a_flipped_byte_never_raises_anything_but_our_errors(graph: Path, role: str) -> None:
    """Lance keeps no checksums, so a flipped byte may go unnoticed; what is noticed has to be typed, panics included.

    Nobody can catch it when Lance ends the process, which a few bytes of few files make it do (by asking for terabytes of memory,
    or by a panic where none may pass). Those are stepped over.
    """
    file = files_by_role(graph)[role]
    good = file.read_bytes()
    step, at, aborts = max(1, len(good) // 150), 0, 0
    while at < len(good):
        file.write_bytes(good)
        ours, theirs = children.CONTEXT.Pipe()
        child = children.started(flip_bytes, theirs, graph, file, at, step)
        theirs.close()
        reached = last_said(ours)
        child.join()
        if reached == "end":
            break
        assert child.exitcode == -signal.SIGABRT, f"byte {reached} of {len(good)}: {child.exitcode}"
        assert isinstance(reached, int)
        at, aborts = reached + step, aborts + 1
    assert aborts <= 5


# ── places that cannot be written ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("fault", "problem"), [(disk_full, "no space left"), (not_permitted, "permission denied")])
@pytest.mark.parametrize("name", [n for n in OPERATIONS if n not in ("init", "append to a full tail")])
def test_a_full_or_forbidden_disk_is_named_and_nothing_is_changed(
    name: str, fault: Callable[[], None], problem: str, graph: Path
) -> None:
    class Refusing(Effects):
        def before(self, call: Call) -> None:
            fault()

    before = describe(place(graph))
    store = opened(place(graph, durability=Durability.FULL, effects=Refusing()))
    with pytest.raises(StorageError, match=problem) as caught:
        OPERATIONS[name].run(store)
    assert caught.value.hint
    assert describe(place(graph)) == before


def test_an_init_on_a_full_disk_leaves_no_graph(tmp_path: Path) -> None:
    for number in range(1, 5):
        effects = Striking(number, Moment.BEFORE, disk_full)
        with pytest.raises(StorageError, match="no space left"):
            new_graph(tmp_path, durability=Durability.OS, effects=effects)
        assert describe(place(tmp_path)) is None
    new_graph(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; the same errors are played above")
def test_a_folder_without_write_permission_can_be_read_and_refuses_writes(graph: Path) -> None:
    folders = [graph, *(p for p in graph.rglob("*") if p.is_dir())]
    before = tree(graph)
    try:
        for folder in folders:
            folder.chmod(0o555)
        store = GraphStore.open(place(graph))
        assert content(store)["a"] == 1
        for name in ("append", "branch create", "tag create", "tag delete"):
            with pytest.raises(StorageError, match="permission"):
                OPERATIONS[name].run(store)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert tree(graph) == before


def test_a_graph_opened_read_only_reaches_no_durable_call(graph: Path) -> None:
    class Forbidden(Effects):
        def before(self, call: Call) -> None:
            raise AssertionError(f"{call} on a read-only graph")

    store = GraphStore.open(place(graph, effects=Forbidden()), read_only=True)
    before = tree(graph)
    for branch in store.branches():
        store.commits(branch)
        content(store, branch)
    content(store, at="v1")
    for attempt in (
        lambda: store.create_branch("x"),
        lambda: store.delete_branch("work"),
        lambda: store.create_tag("x", store.snapshot().commit),
        lambda: store.delete_tag("v1"),
        lambda: store.create_tables(TABLES),
    ):
        with pytest.raises(UsageError, match="read-only"):
            attempt()
    assert tree(graph) == before
