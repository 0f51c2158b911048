"""Versions of a manifest that we make: Lance reads them, and whoever swaps by Lance and whoever swaps by us meet the same."""

from __future__ import annotations

import os
from pathlib import Path

import lance
import pytest
from lance import LanceDataset
from tests.storage.graphs import PEOPLE, content, insert, new_graph

from omnigraph.storage.commits.manifest import Manifest
from omnigraph.storage.commits.manifest_versions import ManifestVersions
from omnigraph.storage.files.lance_errors import LostRace
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.lance_format import made_versions
from omnigraph.storage.lance_format.made_versions import Version
from omnigraph.storage.reclaiming.reclaim import reclaim


def manifest_of(store: GraphStore) -> Manifest:
    return store.manifest(store.ref("main"))


def folder_of(store: GraphStore) -> Path:
    found = manifest_of(store).folder
    assert found is not None
    return Path(found)


def by_lance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every version is read and made by Lance, as on an object store."""
    monkeypatch.setattr(ManifestVersions, "read", lambda *_: None)


def test_lance_reads_what_we_made_and_finds_the_same_as_in_one_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_graph(tmp_path)
    insert(store, a=1)
    ours = lance.dataset(str(folder_of(store)))
    with monkeypatch.context() as patched:
        by_lance(patched)
        other = GraphStore.open(store.place)
        insert(other, b=2)
    theirs = lance.dataset(str(folder_of(store)))
    assert (theirs.version, theirs.latest_version) == (ours.version + 1, ours.version + 1)
    assert theirs.schema.equals(ours.schema, check_metadata=True)
    made = [d.read_transaction(d.version) for d in (ours, theirs)]
    assert [type(t.operation).__name__ for t in made if t is not None] == ["Update", "Update"]
    numbers = [[f.fragment_id for f in d.get_fragments()] for d in (ours, theirs)]
    assert numbers[1] == [*numbers[0][:-1], numbers[0][-1] + 1]
    assert [c.seq for c in manifest_of(store).load().recent] == [0, 1, 2]
    assert content(store) == content(GraphStore.open(store.place)) == {"a": 1, "b": 2}


@pytest.mark.parametrize("slower", ["ours", "Lance"])
@pytest.mark.parametrize("faster", ["ours", "Lance"])
def test_of_two_that_swap_on_one_version_one_wins_whoever_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faster: str, slower: str
) -> None:
    store = new_graph(tmp_path)
    insert(store, a=1)
    manifest, other = manifest_of(store), manifest_of(GraphStore.open(store.place))
    states = manifest.load(), other.load()
    for who, one, state in ((faster, other, states[1]), (slower, manifest, states[0])):
        with monkeypatch.context() as patched:
            if who == "Lance":
                by_lance(patched)
                one._opened = one._versions.at(state.version)
            if one is other:
                one.publish(state, state, None, ())
                continue
            with pytest.raises(LostRace):
                one.publish(state, state, None, ())
    assert manifest.load().version == states[0].version + 1
    assert not [name for name in os.listdir(folder_of(store) / "_versions") if "#" in name]


def test_a_process_follows_versions_of_others_without_lance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_graph(tmp_path)
    insert(store, a=1)
    other = GraphStore.open(store.place)
    assert content(other) == {"a": 1}
    for number in range(100):
        insert(store, MAIN, PEOPLE, **{f"k{number}": number})
    calls, versions = list[str](), list[int]()
    checkout, read = LanceDataset.checkout_version, Version.read

    def moved(dataset: LanceDataset, version: int) -> LanceDataset:
        calls.append(dataset.uri)
        return checkout(dataset, version)

    def said(pin: int, content_: bytes) -> Version:
        versions.append(pin)
        return read(pin, content_)

    monkeypatch.setattr(LanceDataset, "checkout_version", moved)
    monkeypatch.setattr(Version, "read", said)
    assert manifest_of(other).load().head == manifest_of(store).load().head
    assert (calls, versions) == ([], [manifest_of(store).load().version]), "one look, however many versions came"
    assert len(content(other)) == 101
    assert len(manifest_of(other).history()) == 102


def test_a_swap_on_a_version_that_was_pruned_puts_nothing(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    insert(store, a=1)
    manifest = manifest_of(store)
    state, versions = manifest.load(), manifest._versions
    wanted = versions.prepared(versions.at(state.version), [state.tail], [])
    folder = folder_of(store) / "_versions"
    sorted(folder.glob("*.manifest"))[0].unlink()
    left = sorted(name for name in os.listdir(folder) if "#" not in name)
    with pytest.raises(LostRace):
        versions.swap(wanted)
    assert sorted(os.listdir(folder)) == left


def test_what_a_version_says_that_is_not_known_is_left_to_lance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_graph(tmp_path)
    insert(store, a=1)
    newest = sorted((folder_of(store) / "_versions").glob("*.manifest"))[0]
    said = Version.read(0, newest.read_bytes())
    assert said.number == manifest_of(store).load().version
    with monkeypatch.context() as patched:
        patched.setattr(made_versions, "_UNDERSTOOD", frozenset({1, 2, 3}))
        other = GraphStore.open(store.place)
        insert(other, b=2)
        assert content(other) == {"a": 1, "b": 2}
    insert(store, c=3)
    assert content(store) == {"a": 1, "b": 2, "c": 3}


def test_what_a_swap_that_never_came_left_behind_is_swept_when_it_is_old(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    insert(store, a=1)
    manifest = manifest_of(store)
    state, versions = manifest.load(), manifest._versions
    wanted = versions.prepared(versions.at(state.version), [state.tail], [])
    assert wanted.staged is not None
    left = Path(store.place.child(wanted.staged))
    reclaim(store, keep=1, older_than=None, dry_run=False)
    assert left.exists(), "it may be somebody's who is about to swap"
    os.utime(left, (0, 0))
    reclaim(store, keep=1, older_than=None, dry_run=False)
    assert not left.exists()
    with pytest.raises(LostRace):
        versions.swap(wanted)
    insert(store, b=2)
    assert content(store) == {"a": 1, "b": 2}
