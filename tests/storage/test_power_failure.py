"""The power may fail at any durable call: what was acknowledged is on the disk, and a swap that is there finds everything it names."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.storage.crashing import OPERATIONS, assert_is_new, assert_writable, describe, start, timeout
from tests.storage.graphs import delete, insert, place, upsert

from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.place import Durability
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.reclaiming.verify import verify


class Disk(Effects):
    """What a power failure would leave: files whose content was synced, under names whose folders were synced after."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.events: list[Call | Path] = []
        self.content: dict[Path, bytes] = {}
        self.names: dict[Path, set[str]] = {}
        self.visible: dict[Path, bytes] | None = None
        self._lock = threading.Lock()

    def after(self, call: Call) -> None:
        with self._lock:
            self.events.append(call)
        if call is Call.PUBLISH:
            # The worst that a power failure can do at this moment: the swap reached the disk, and nothing else that was not synced.
            versions = self.root.glob("graph/__manifest/*/_versions/*.manifest")
            self.visible = {**self.durable(), **{path: path.read_bytes() for path in versions}}

    def synced(self, path: Path) -> None:
        with self._lock:
            self.events.append(path)
            if path.is_dir():
                self.names[path] = set(os.listdir(path))
            else:
                self.content[path] = path.read_bytes()

    def durable(self) -> dict[Path, bytes]:
        return {path: data for path, data in self.content.items() if self._is_named(path)}

    def _is_named(self, path: Path) -> bool:
        while path != self.root:
            if path.name not in self.names.get(path.parent, ()):
                return False
            path = path.parent
        return True

    def restored(self, files: dict[Path, bytes], to: Path) -> Path:
        for path, data in files.items():
            copy = to / path.relative_to(self.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
        return to


@pytest.fixture
def disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    root = folder / "disk"
    root.mkdir()
    watched = Disk(root)
    really = os.fsync

    def fsync(descriptor: int) -> None:
        really(descriptor)
        watched.synced(Path(os.readlink(f"/proc/self/fd/{descriptor}")))

    monkeypatch.setattr(os, "fsync", fsync)
    return watched


WRITES: dict[str, Callable[[GraphStore], object]] = {
    "insert": lambda s: insert(s, a=1, b=2, c=3),
    "branch": lambda s: s.create_branch("work"),
    "upsert": lambda s: upsert(s, "work", a=10, d=4),
    "delete": lambda s: delete(s, "b"),
    "side": lambda s: s.create_branch("side", at="work"),
    "tag": lambda s: s.create_tag("v1", s.snapshot("work").commit),
    "several tables": OPERATIONS["several tables"].run,
    "index": OPERATIONS["index"].run,
    "compact": OPERATIONS["compact"].run,
    "column added": OPERATIONS["column added"].run,
    "column dropped": OPERATIONS["column dropped"].run,
    "overwrite": OPERATIONS["overwrite"].run,
    "overwrite with nothing": OPERATIONS["overwrite with nothing"].run,
    "schema change": OPERATIONS["schema change"].run,
    "branch delete": OPERATIONS["branch delete"].run,
    "tag delete": OPERATIONS["tag delete"].run,
}


def test_every_acknowledged_write_survives_a_power_failure(disk: Disk, folder: Path) -> None:
    where = place(disk.root, durability=Durability.FULL, effects=disk)
    store = start(where)
    seen = describe(where)
    assert describe(place(disk.restored(disk.durable(), folder / "init"))) == seen
    for name, write in WRITES.items():
        write(store)
        seen = describe(where)
        survived = place(disk.restored(disk.durable(), folder / name))
        assert seen is not None
        assert describe(survived) == seen, name
        assert verify(GraphStore.open(survived), deep=True).problems == (), name
        assert_writable(survived, seen)


def test_a_swap_that_reaches_the_disk_finds_everything_it_names_there(disk: Disk, folder: Path) -> None:
    where = place(disk.root, durability=Durability.FULL, effects=disk)
    store = start(where)
    for name, write in WRITES.items():
        disk.visible = None
        write(store)
        if disk.visible is not None:
            survived = place(disk.restored(disk.visible, folder / name))
            seen = describe(survived)
            assert seen is not None
            assert_is_new(name, seen, describe(where))
            assert verify(GraphStore.open(survived), deep=True).problems == (), name
            assert_writable(survived, seen)


def test_files_are_synced_before_the_swap_and_the_swap_before_it_is_acknowledged(disk: Disk) -> None:
    store = start(place(disk.root, durability=Durability.FULL, effects=disk))
    insert(store, a=1, b=2)
    before = set(disk.content)
    disk.events.clear()
    upsert(store, a=10)
    synced = {path.relative_to(disk.root / "graph"): path for path in set(disk.content) - before}
    new = {relative: path for relative, path in synced.items() if "#" not in path.name}
    (staged,) = synced.keys() - new.keys()
    kinds = sorted((path.parts[0], path.parts[-2]) for path in new)
    assert kinds == [
        ("__manifest", "_versions"),
        ("__manifest", "data"),
        ("nodes", "_deletions"),
        ("nodes", "_versions"),
        ("nodes", "data"),
    ]
    swap = disk.events.index(Call.PUBLISH)
    assert staged.parts[0] == "__manifest"
    assert disk.events.index(synced[staged]) < swap, "what a swap makes visible is whole before it"
    assert disk.events.index(synced[staged].parent) > swap, "its name is not waited for, only the one that it gets"
    (version,) = (path for path in new.values() if path.parent.name == "_versions" and path.name in staged.name)
    assert disk.content[version] == disk.content[synced[staged]]
    for relative, path in new.items():
        is_swap = relative.parts[0] == "__manifest" and relative.parts[-2] == "_versions"
        assert (disk.events.index(path) > swap) == is_swap, relative
        folder = disk.events.index(path.parent, disk.events.index(path))
        assert (folder > swap) == is_swap, relative


def test_refs_and_tags_are_synced_after_they_are_put_and_after_they_are_removed(disk: Disk) -> None:
    store = start(place(disk.root, durability=Durability.FULL, effects=disk))
    refs, tags = disk.root / "graph" / "__refs", disk.root / "graph" / "__tags"
    for write, call, path in (
        (lambda: store.create_branch("b"), Call.PUT_NEW, refs / "b"),
        (lambda: store.delete_branch("b"), Call.DELETE, None),
        (lambda: store.create_tag("t", store.snapshot().commit), Call.PUT_NEW, tags / "t"),
        (lambda: store.delete_tag("t"), Call.DELETE, None),
    ):
        disk.events.clear()
        write()
        last = len(disk.events) - 1 - disk.events[::-1].index(call)
        after = disk.events[last:]
        assert after[-1] is Call.SYNC
        if path is not None:
            assert after.index(path) < after.index(path.parent)
    assert disk.names[refs] == {"main"}
    assert disk.names[tags] == set()


def test_a_failed_sync_of_the_swap_is_repeated_before_the_write_is_acknowledged(disk: Disk, folder: Path) -> None:
    where = place(disk.root, durability=Durability.FULL, effects=disk)
    store = start(where)

    class FailingOnce(Disk):
        failed = False

        def before(self, call: Call) -> None:
            if call is Call.SYNC and Call.PUBLISH in disk.events and not self.failed:
                self.failed = True
                timeout()

        def after(self, call: Call) -> None:
            disk.after(call)

    disk.events.clear()
    failing = FailingOnce(disk.root)
    store = GraphStore.open(place(disk.root, durability=Durability.FULL, effects=failing))
    insert(store, a=1)
    assert failing.failed
    assert describe(place(disk.restored(disk.durable(), folder / "after"))) == describe(where)


def test_with_durability_os_nothing_is_synced(disk: Disk) -> None:
    where = place(disk.root, durability=Durability.OS, effects=disk)
    store = start(where)
    for write in WRITES.values():
        write(store)
    assert Call.SYNC not in disk.events
    assert [event for event in disk.events if isinstance(event, Path)] == []
