"""What is saved beside the graph for the next process: found, extended, never needed, and never in the way."""

from __future__ import annotations

import ast
import os
import shutil
from pathlib import Path

import pytest
from tests.engine.friends import FRIENDS, SCHEMA, counted_reads, knows, people
from tests.engine.graphs import Data, add, delete, make_graph
from tests.storage.s3 import BUCKET, server

import omnigraph as og
from omnigraph.catalog.logical import HopDirection
from omnigraph.engine.execution import neighbours
from omnigraph.engine.search import postings, text_column


def test_a_fresh_process_maps_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abcdef"), "Knows": knows("ab", "bc", "ca", "de")}, save_from=1)
    expected = graph.query(FRIENDS, traversal="csr").rows
    graph.close()
    again = og.open(graph._store.place.uri, save_from=1)
    read = counted_reads(monkeypatch)
    edges = again._view().edges("Knows")
    assert edges.adjacency(HopDirection.OUT).neighbours.tolist() == [1, 2, 0, 4]
    assert edges.adjacency(HopDirection.IN).neighbours.tolist() == [2, 0, 1, 3]
    assert read == [], "no row was read"
    assert again.query(FRIENDS, traversal="csr").rows == expected


def test_saved_state_of_an_older_commit_is_extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abcdef"), "Knows": knows("ab", "bc", "ca", "de")}, save_from=1)
    graph.query(FRIENDS, traversal="csr")
    graph.close()
    add(graph, {"Person": people("g"), "Knows": knows("ga", "ag")})
    delete(graph, "Knows", ["eab"])
    read = counted_reads(monkeypatch)
    again = og.open(graph._store.place.uri, save_from=1)
    ends = again._view().edges("Knows").ends()
    assert sum(read) == 3, "one new node and two new edges"
    assert len(ends.sources) == 5
    assert (
        again.query(FRIENDS, traversal="csr").rows
        == og.open(graph._store.place.uri, save_from=1).query(FRIENDS, traversal="btree").rows
    )


@pytest.mark.parametrize("form", ["column", "quantized"])
def test_vectors_are_saved_too(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if form == "quantized":
        monkeypatch.setattr(neighbours, "LEAST_QUANTIZED", 0)
    schema = "node Doc { name: String @key  place: Vector(2)? }"
    docs: list[dict[str, object]] = [{"name": "a", "place": [0.0, 1.0]}, {"name": "b"}, {"name": "c", "place": [3.0, 4.0]}]
    graph = make_graph(tmp_path, schema, {"Doc": docs}, save_from=1)
    near = "query q($v: Vector(2)) { match { $d: Doc } return { $d.name } order { nearest($d.place, $v) } limit 9 }"

    def names(asked: og.Graph) -> list[str]:
        return [row["d.name"] for row in asked.query(near, {"v": [3.0, 3.0]}).rows]

    assert names(graph) == ["c", "a"]
    graph.close()
    saved = [path.parent.name for path in Path(graph._store.place.uri, "__cache").rglob("*.sealed")]
    assert [name for name in saved if "-column-" in name or "-quantized-" in name] == [name for name in saved if form in name]
    read = counted_reads(monkeypatch)
    assert names(og.open(graph._store.place.uri, save_from=1)) == ["c", "a"]
    assert read == [], "no row was read"
    add(graph, {"Doc": [{"name": "d", "place": [3.0, 3.0]}]})
    delete(graph, "Doc", ["a"])
    assert names(og.open(graph._store.place.uri, save_from=1)) == ["d", "c"]
    assert sum(read) == 2, "the id and the vector of the new one"


def test_what_a_killed_process_left_unfinished_goes(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"ab"), "Knows": knows("ab")}, save_from=1)
    home = Path(graph._store.place.uri) / "__cache" / graph._view().nodes("Person").stored.location.replace("/", "-")
    old, young = home / "unfinished-old", home / "unfinished-young"
    old.mkdir(parents=True)
    young.mkdir()
    os.utime(old, (0, 0))
    graph.query(FRIENDS, traversal="csr")
    graph.close()
    assert not old.exists()
    assert young.exists(), "somebody may be writing it"


def test_terms_of_texts_are_saved_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = "node Doc { name: String @key  text: String? }"
    docs = [
        {"name": "a", "text": "the wolf and the lamp"},
        {"name": "b", "text": "one wolf among many other animals"},
        {"name": "c"},
        {"name": "d", "text": "plum"},
    ]
    graph = make_graph(tmp_path, schema, {"Doc": docs}, save_from=1)
    best = (
        "query q($q: String) { match { $d: Doc } return { $d.name, bm25($d.text, $q) as s } order { bm25($d.text, $q) } limit 9 }"
    )
    expected = graph.query(best, {"q": "wolf lamp"}).rows
    assert [row["d.name"] for row in expected] == ["a", "b"]
    graph.close()
    read = counted_reads(monkeypatch)
    monkeypatch.setattr(postings, "analysed", lambda texts: pytest.fail("analysed again"))
    assert og.open(graph._store.place.uri, save_from=1).query(best, {"q": "wolf lamp"}).rows == expected
    monkeypatch.undo()
    add(graph, {"Doc": [{"name": "e", "text": "lamp"}]})
    delete(graph, "Doc", ["b"])
    fresh = og.open(graph._store.place.uri, save_from=1).query(best, {"q": "wolf lamp"}).rows
    assert fresh == graph.query(best, {"q": "wolf lamp"}).rows
    assert {row["d.name"] for row in fresh} == {"a", "e"}
    assert sum(read) == 0


def test_terms_are_saved_of_fragments_with_deleted_rows_and_of_every_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_column, "_SEGMENT_ROWS", 10)
    schema = "node Doc { name: String @key  text: String? }"
    texts = {f"d{n:02}": f"wolf {'plum ' * (n % 7)} w{n}" for n in range(50)}
    graph = make_graph(tmp_path, schema, {}, save_from=1)
    for start in range(0, 50, 10):
        add(graph, {"Doc": [{"name": name, "text": text} for name, text in list(texts.items())[start : start + 10]]})
    gone = ["d03", "d11", "d12", "d49"]
    delete(graph, "Doc", gone)
    best = (
        'query q() { match { $d: Doc } return { $d.name, bm25($d.text, "wolf plum") as s } order { bm25($d.text, "wolf plum") } }'
    )
    expected = graph.query(best).rows
    assert {row["d.name"] for row in expected} == texts.keys() - set(gone)
    graph.close()
    again = og.open(graph._store.place.uri, save_from=1)
    with monkeypatch.context() as patched:
        patched.setattr(postings, "analysed", lambda texts: pytest.fail("analysed again"))
        assert again.query(best).rows == expected
    delete(graph, "Doc", ["d30", "d04"])
    add(graph, {"Doc": [{"name": "new", "text": "wolf"}]})
    fresh = [og.open(graph._store.place.uri, save_from=least).query(best).rows for least in (1, None)]
    assert fresh[0] == fresh[1]
    assert {row["d.name"] for row in fresh[0]} == texts.keys() - {*gone, "d30", "d04"} | {"new"}
    past = graph._view().snapshot.commit
    assert again.query(best, at=past).rows == fresh[0]


@pytest.mark.parametrize("damage", ["remove", "truncate", "scramble", "half"])
def test_saved_state_is_never_needed(damage: str, tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abcdef"), "Knows": knows("ab", "bc", "ca", "de")}, save_from=1)
    expected = graph.query(FRIENDS, traversal="csr").rows
    graph.close()
    cache = Path(graph._store.place.uri) / "__cache"
    files = [f for f in cache.rglob("*") if f.is_file()]
    assert files
    if damage == "remove":
        shutil.rmtree(cache)
    for file in files if damage in ("truncate", "scramble") else files[::2] if damage == "half" else []:
        if damage == "half":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:40] if damage == "truncate" else b"\x00nonsense")
    assert og.open(graph._store.place.uri, save_from=1).query(FRIENDS, traversal="csr").rows == expected


def test_what_cannot_be_saved_is_told_and_fails_nothing(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abc"), "Knows": knows("ab")}, save_from=1)
    (Path(graph._store.place.uri) / "__cache").write_text("in the way")
    assert len(graph.query(FRIENDS, traversal="csr").rows) == 1
    graph.close()
    assert any("not saved" in reason for reason in graph.stats().saved.reasons)


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(f): (f.stat().st_mtime_ns, f.stat().st_size) for f in sorted([folder, *folder.rglob("*")])}


def test_a_read_only_graph_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abc"), "Knows": knows("ab")}, save_from=1)
    folder = Path(graph._store.place.uri)
    before = everything(folder)
    reader = og.open(folder, read_only=True, save_from=1)
    expected = reader.query(FRIENDS, traversal="csr").rows
    reader.close()
    assert everything(folder) == before
    assert reader.stats().saved.written == 2
    again = og.open(folder, read_only=True, save_from=1)
    assert again.query(FRIENDS, traversal="csr").rows == expected
    assert again.stats().saved.read == 2, "from the folder of the user"
    assert everything(folder) == before


def test_a_graph_that_is_created_again_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for names, read_only in (("abcdef", True), ("fedcba", True), ("abcdef", False), ("fedcba", False)):
        graph = make_graph(tmp_path, SCHEMA, {"Person": people(*names), "Knows": knows(names[:2], names[1:3])}, save_from=1)
        folder = Path(graph._store.place.uri)
        if (tmp_path / "old").exists():
            shutil.copytree(tmp_path / "old", folder / "__cache", dirs_exist_ok=True)
        asked = og.open(folder, read_only=read_only, save_from=1)
        found = [(row["p.name"], row["f.name"]) for row in asked.query(FRIENDS, traversal="csr").rows]
        assert found == sorted([(names[0], names[1]), (names[1], names[2])])
        asked.close()
        assert asked.stats().saved.read == 0
        if not read_only:
            shutil.copytree(folder / "__cache", tmp_path / "old", dirs_exist_ok=True)
        shutil.rmtree(folder)


def test_without_saving_nothing_is_written_and_nothing_is_used(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abc"), "Knows": knows("ab")}, save_from=1)
    expected = graph.query(FRIENDS, traversal="csr").rows
    graph.close()
    folder = Path(graph._store.place.uri)
    before = everything(folder)
    bare = og.open(folder, save_from=None)
    assert bare.query(FRIENDS, traversal="csr").rows == expected
    bare.close()
    assert (bare.stats().saved.read, bare.stats().saved.written) == (0, 0)
    assert everything(folder) == before


def test_a_link_in_the_place_of_the_cache_is_not_followed(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abc"), "Knows": knows("ab")}, save_from=1)
    outside = tmp_path / "outside"
    outside.mkdir()
    (Path(graph._store.place.uri) / "__cache").symlink_to(outside)
    assert len(graph.query(FRIENDS, traversal="csr").rows) == 1
    graph.close()
    assert not list(outside.iterdir())
    assert any("is a link" in reason for reason in graph.stats().saved.reasons)


def test_what_an_older_omnigraph_saved_goes(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abc"), "Knows": knows("ab")}, save_from=1)
    home = Path(graph._store.place.uri) / "__cache" / graph._view().nodes("Person").stored.location.replace("/", "-")
    (home / "17").mkdir(parents=True)
    (home / "17" / "about.json").write_text('{"version": 1, "pin": 17, "numbering": {}, "pieces": []}')
    assert len(graph.query(FRIENDS, traversal="csr").rows) == 1
    graph.close()
    assert not (home / "17").exists()
    assert graph.stats().saved.damaged == 0


def test_saved_state_of_a_reclaimed_commit_is_extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was deleted then is saved with it: the deletion files and the version itself are gone."""
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abcdef"), "Knows": knows("ab", "bc", "ca", "de", "ef")}, save_from=1)
    delete(graph, "Knows", ["eca"])
    graph.query(FRIENDS, traversal="csr")
    graph.close()
    delete(graph, "Knows", ["ebc"])
    add(graph, {"Knows": knows("fa")})
    old = graph._view().edges("Knows").stored
    location = Path(graph._store.place.uri) / old.location
    current = {fragment.deletions for fragment in old.fragments}
    gone = [f for f in (location / "_deletions").iterdir() if f"_deletions/{f.name}" not in current]
    assert gone
    for file in gone:
        file.unlink()
    again = og.open(graph._store.place.uri, save_from=1)
    read = counted_reads(monkeypatch)
    found = [row["p.name"] + row["f.name"] for row in again.query(FRIENDS, traversal="csr").rows]
    assert found == ["ab", "de", "ef", "fa"]
    assert sum(read) < 6 + 4, "most was saved"
    assert again.stats().saved.damaged == 0


def test_the_same_pin_remembered_from_a_file_is_no_stand_in_for_the_real_one(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abcdef"), "Knows": knows("ab", "bc", "ca", "de")}, save_from=1)
    first = graph._view().snapshot.commit
    graph.query(FRIENDS, traversal="csr")
    graph.close()
    add(graph, {"Knows": knows("fa")})
    again = og.open(graph._store.place.uri, save_from=1)
    again.query(FRIENDS, traversal="csr")
    past = again._view(at=first)
    assert past.edges("Knows").stored.state == graph._view(at=first).edges("Knows").stored.state
    assert len(again.query(FRIENDS, at=first).rows) == 4


def test_a_numbering_of_the_dead_is_not_taken_over(tmp_path: Path) -> None:
    names = [chr(0x4E00 + at) for at in range(40)]
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"ab"), "Knows": knows("ab")}, save_from=1)
    for name in names:
        add(graph, {"Person": people(name)})
        graph.query(FRIENDS, traversal="csr")
        delete(graph, "Person", [name])
    add(graph, {"Person": people("c"), "Knows": knows("ca")})
    expected = graph.query(FRIENDS, traversal="csr").rows
    assert len(graph._view().nodes("Person").numbering) == 43
    graph.close()
    again = og.open(graph._store.place.uri, save_from=1)
    assert again.query(FRIENDS, traversal="csr").rows == expected
    assert len(again._view().nodes("Person").numbering) == 3
    again.close()
    third = og.open(graph._store.place.uri, save_from=1)
    assert third.query(FRIENDS, traversal="csr").rows == expected
    assert third.stats().saved.read == 2, "both were saved again"


def test_a_lookup_does_not_spoil_the_numbering_for_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = "node P { name: String @key }\nnode C { name: String @key }\nedge Lives: P -> C"
    data: Data = {
        "P": [{"name": name} for name in "abc"],
        "C": [{"name": name} for name in "xyz"],
        "Lives": [{"src": a, "dst": b} for a, b in ("az", "by", "cx")],
    }
    lives = "query q() { match { $p: P  $p lives $c } return { $p.name, $c.name } order { $p.name } }"
    graph = make_graph(tmp_path, schema, data, save_from=1)
    expected = graph.query(lives, traversal="csr").rows
    graph.close()
    again = og.open(graph._store.place.uri, save_from=1)
    assert again.query(lives, traversal="btree").rows == expected, "the first city that is seen is z"
    read = counted_reads(monkeypatch)
    assert again.query(lives, traversal="csr").rows == expected
    assert read == [], "the adjacency was saved"


@pytest.mark.slow
def test_a_graph_created_again_on_s3_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with server() as s3:
        for names in ("abcd", "dcba"):
            graph = og.init(f"s3://{BUCKET}/again", SCHEMA, storage_options=s3.options, save_from=1)
            add(graph, {"Person": people(*names), "Knows": knows(names[:2], names[1:3])})
            for saved in (0, 2):
                asked = og.open(f"s3://{BUCKET}/again", storage_options=s3.options, save_from=1)
                found = [(row["p.name"], row["f.name"]) for row in asked.query(FRIENDS, traversal="csr").rows]
                assert found == sorted([(names[0], names[1]), (names[1], names[2])])
                asked.close()
                assert asked.stats().saved.read == saved
            place = graph._store.place
            place.delete([o.path for o in place.objects("")])


def test_derived_files_are_read_and_written_in_one_place() -> None:
    """Whatever reads arrays or objects from a file by itself would believe them."""
    trusting = {"memory_map", "memmap", "fromfile", "tofile", "savez", "open_memmap", "OSFile"}
    found = {
        (path.name, node.attr)
        for path in (Path(og.__file__).parent / "engine").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and (node.attr in trusting or (node.attr in ("load", "save") and ast.unparse(node.value) in ("np", "numpy", "pickle")))
    }
    assert found == {("sealed_file.py", "memmap")}
