"""The number of the newest version, as it is noted down: written over in its place, read while that happens, never believed twice."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.storage.commits import manifest_versions
from omnigraph.storage.commits.manifest_rows import StoredEntry
from omnigraph.storage.commits.version_hint import HINT, hinted_version, note_version
from omnigraph.storage.files.place import Place

ADD = "query q($k: String) { insert P { k: $k } }"


def manifest_of(graph: Path) -> Path:
    (folder,) = (graph / "__manifest").iterdir()
    return folder


def test_it_is_written_over_whatever_was_there(tmp_path: Path) -> None:
    place, hint = Place.at(str(tmp_path)), tmp_path / HINT
    hint.parent.mkdir(parents=True)
    assert not note_version(str(tmp_path), 1), "there is none yet"
    hint.write_bytes(b"")
    for number in (1, 9, 10, 123_456, 7):
        assert note_version(str(tmp_path), number)
        assert hint.read_bytes() == b'{"version":%d}' % number
        assert hinted_version(place, ".") == number
    hint.unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    os.symlink(elsewhere, hint)
    assert not note_version(str(tmp_path), 8)
    assert elsewhere.read_text() == "mine", "a link is not followed"
    hint.unlink()
    os.mkfifo(hint)
    assert not note_version(str(tmp_path), 8), "nor is anybody waited for"


def test_a_copy_made_of_links_stays_as_it_was(tmp_path: Path) -> None:
    """`cp -al`, as backups are made: every file of the graph is one of the copy, too."""
    with og.init(tmp_path / "g", "node P { k: String @key }", durability="os") as g:
        for number in range(5):
            g.mutate(ADD, {"k": f"{number}"})
        shutil.copytree(tmp_path / "g", tmp_path / "copy", copy_function=os.link)
        for number in range(5, 12):
            g.mutate(ADD, {"k": f"{number}"})
    for name, commits in (("copy", 6), ("g", 13)):
        with og.open(tmp_path / name) as g:
            assert len(g.commits()) == commits
            assert g.verify(content=True).ok
    folder = manifest_of(tmp_path / "g")
    assert hinted_version(Place.at(str(tmp_path / "g")), f"__manifest/{folder.name}") == 13


def test_a_row_of_no_kind_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bit in the name of a kind: the row would be passed over, and left out of the next tail for good."""
    with og.init(tmp_path / "g", "node P { k: String @key }", durability="os") as g:
        g.mutate(ADD, {"k": "a"})
    entries = manifest_versions.Opened.entries
    for kind in ("state", "commit"):

        def turned(self: manifest_versions.Opened, number: int, kind: str = kind) -> list[StoredEntry]:
            found = entries(self, number)
            at = next(at for at, entry in enumerate(found) if entry[0] == kind)
            return [*found[:at], (f"{kind[:-1]}?", *found[at][1:]), *found[at + 1 :]]

        monkeypatch.setattr(manifest_versions.Opened, "entries", turned)
        with og.open(tmp_path / "g") as g:
            with pytest.raises(og.DamagedRecord, match="of the kind"):
                g.commits()
            with pytest.raises(og.DamagedRecord, match="of the kind"):
                g.mutate(ADD, {"k": "b"})


def test_a_hint_that_was_read_in_the_middle_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that stays ahead is believed: a version is lost."""
    with og.init(tmp_path / "g", "node P { k: String @key }", durability="os") as g:
        for number in range(5):
            g.mutate(ADD, {"k": f"{number}"})
    folder = manifest_of(tmp_path / "g")
    right = hinted_version(Place.at(str(tmp_path / "g")), f"__manifest/{folder.name}")
    said = iter([right + 90, right])
    monkeypatch.setattr(manifest_versions, "hinted_version", lambda *_: next(said))
    with og.open(tmp_path / "g") as g:
        assert len(g.commits()) == 6
    assert not list(said)
    monkeypatch.undo()
    note_version(str(folder), right + 1)
    with og.open(tmp_path / "g") as g, pytest.raises(og.DamagedRecord, match="newest version of the manifest"):
        g.commits()


def test_nobody_who_reads_beside_a_writer_is_told_of_a_lost_version(tmp_path: Path) -> None:
    g = og.init(tmp_path / "g", "node P { k: String @key }", durability="os")
    stop, failed, opened = threading.Event(), list[BaseException](), list[int]()

    def read() -> None:
        try:
            while not stop.is_set():
                with og.open(tmp_path / "g", read_only=True) as other:
                    opened.append(len(other.commits(limit=3)))
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(300):  # through 9 → 10, 99 → 100
        g.mutate(ADD, {"k": f"{number}"})
    stop.set()
    for reader in readers:
        reader.join()
    assert not failed
    assert len(opened) > 10
