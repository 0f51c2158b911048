"""`verify(content=True)`: what is stored is what was written, keeps what was promised, and is found by its indexes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.engine.graphs import Data, add, delete, make_graph
from tests.engine.history.graphs import calm

import omnigraph as og
from omnigraph.storage.lance_format.small_files import SmallFiles
from omnigraph.storage.reclaiming import verify_content
from omnigraph.storage.reclaiming.verify import ProblemKind, VerifyReport
from omnigraph.storage.tables import rows
from omnigraph.storage.tables import table as tables

SCHEMA = """
node Person {
    name: String @key
    age: I32? @index
    mail: String? @unique
    mood: enum(glad, sad)?
    @range(age, 0..150)
    @check(mail, ".+@.+")
}
edge Knows: Person -> Person @card(0..1)
"""
PEOPLE: Data = {
    "Person": [{"name": f"p{n}", "age": n % 90, "mail": f"p{n}@x"} for n in range(40)],
    "Knows": [{"src": "p1", "dst": "p2"}, {"src": "p2", "dst": "p3"}],
}


def graph_of(folder: Path, data: Data = PEOPLE) -> og.Graph:
    graph = make_graph(folder, SCHEMA, data)
    calm(graph)
    return graph


def told(report: VerifyReport) -> list[tuple[str, str]]:
    return [(p.kind.name, p.message) for p in report.problems]


def test_a_whole_graph_has_nothing_to_tell(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    graph.optimize()
    graph.branches.create("work")
    graph.mutate('query m() { delete Person where name = "p1" }', branch="work")
    report = graph.verify(content=True, deep=True)
    assert report.ok, told(report)
    assert report.content
    assert report.unchecked == 0


@pytest.mark.parametrize(
    ("row", "kind", "words"),
    [
        ({"name": "q", "age": 200}, "BROKEN_PROMISE", "outside 0..150"),
        ({"name": "q", "mail": "nobody"}, "BROKEN_PROMISE", "does not match"),
        ({"name": "q", "mail": "p3@x"}, "BROKEN_PROMISE", "must be unique"),
        ({"name": "q", "mood": "odd"}, "BROKEN_PROMISE", "not one of glad, sad"),
        ({"name": "q", "id": "r"}, "BROKEN_PROMISE", "has the key of `q`"),
        ({"name": "p3"}, "REPEATED_ID", "such as `p3`"),
    ],
)
def test_an_entity_that_breaks_a_promise_is_found(tmp_path: Path, row: dict[str, object], kind: str, words: str) -> None:
    graph = graph_of(tmp_path)
    add(graph, {"Person": [row]})
    assert graph.verify().ok, "that takes a look at contents"
    assert any(k == kind and words in message for k, message in told(graph.verify(content=True)))


def test_edges_that_lost_an_end_or_are_too_many_are_found(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    delete(graph, "Person", ["p2"])
    add(graph, {"Knows": [{"src": "p1", "dst": "p5"}]})
    found = told(graph.verify(content=True))
    assert sum(kind == "LOST_END" for kind, _ in found) == 2
    assert any(kind == "BROKEN_PROMISE" and "p1" in message for kind, message in found)


def test_an_index_that_disagrees_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(tmp_path)
    graph.optimize()
    real = rows.found

    def blind(table, columns, where, *, use_index=True):  # type: ignore[no-untyped-def]
        addresses, found = real(table, columns, where, use_index=use_index)
        return (addresses[1:], found.slice(1)) if use_index and "age" in where.sql else (addresses, found)

    monkeypatch.setattr(verify_content, "found", blind)
    assert [kind for kind, _ in told(graph.verify(content=True))] == ["INDEX_DISAGREES"]


def test_a_turned_bit_is_found_wherever_it_is(tmp_path: Path) -> None:
    """Some of them are read as other values: nothing but the checksum can tell."""
    graph = graph_of(tmp_path)
    (file,) = Path(graph._store.place.uri).glob("nodes/*/data/*.lance")
    data = file.read_bytes()
    for at in range(0, len(data), max(1, len(data) // 25)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        assert ProblemKind.WRONG_CONTENT in {p.kind for p in og.open(graph._store.place.uri).verify(content=True).problems}
    file.write_bytes(data)
    assert graph.verify(content=True).ok


def test_graphs_of_before_have_no_checksums_and_are_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = SmallFiles.written
    with monkeypatch.context() as before:
        before.setattr(tables, "stored_files", lambda *_: ())
        before.setattr(
            SmallFiles, "written", lambda *given: replace(written(*given), content=None)
        )  # known from what was written
        graph = graph_of(tmp_path)
    report = graph.verify(content=True)
    assert report.ok
    assert report.unchecked > 0
