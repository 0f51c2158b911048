"""Records: nothing is written that cannot be read, and one that cannot be read hides nothing else."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.engine.history.graphs import calm

import omnigraph as og
from omnigraph.errors import DamagedRecord, GraphError, UsageError
from omnigraph.storage.commits import manifest as manifests
from omnigraph.storage.commits.deleted_tags import DeletedTag
from omnigraph.storage.commits.leases import Lease
from omnigraph.storage.commits.lineage import Commit, DamagedCommit, OpClass
from omnigraph.storage.commits.manifest import Head
from omnigraph.storage.commits.manifest_rows import rows_of
from omnigraph.storage.commits.plan import PublishPlan
from omnigraph.storage.commits.reclaimed_commits import Reclaimed
from omnigraph.storage.commits.refs import Ref, Tag
from omnigraph.storage.files.records import decoded, encoded

COMMIT = Commit("01A", 3, "01B", None, "main", "ada", 5, OpClass.LOGICAL, "mutate", "why", "s1")
RECORDS: list[Any] = [
    COMMIT,
    Head("01A", 3, "s1"),
    Ref("work", "01C", Ref("main", "01D"), "01B", "ada", 5),
    Tag("v1", "01A", Ref("main", "01D"), "ada", 5),
    DeletedTag(Tag("v1", "01A", Ref("main", "01D")), "bob", 6),
    Lease(1.0, 2.0, Ref("main", "01D"), "01A"),
    Reclaimed(5, {"01D": ((0, 3),)}, ("01C",), by="ada"),
]
SCHEMA = "node Person { name: String @key  age: I32? }\nnode Other { name: String @key }"


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
def test_a_record_is_read_as_it_was_written_and_any_turned_bit_is_found(record: Any) -> None:
    stored = encoded(record, "here")
    assert decoded(stored, type(record), "here", "it") == record
    with pytest.raises(DamagedRecord, match="it is damaged"):
        decoded(stored, type(record), "elsewhere", "it")
    for at in range(len(stored)):
        for bit in range(8):
            flipped = bytes([*stored[:at], stored[at] ^ (1 << bit), *stored[at + 1 :]])
            with suppress(DamagedRecord):
                assert decoded(flipped, type(record), "here", "it") == record  # a bit of the checksum's own name
    for cut in range(len(stored)):
        with pytest.raises(DamagedRecord):
            decoded(stored[:cut], type(record), "here", "it")


def test_records_of_before_have_no_checksum() -> None:
    assert decoded(b'{"branch":"main","incarnation":"01A"}', Ref, "__refs/main", "it") == Ref("main", "01A")


@pytest.mark.parametrize("wrong", [7, ["x"], b"x\xff", {"a": 1}, 1.5, "\ud800"])
@pytest.mark.parametrize("field", ["actor", "message", "operation", "mark", "id", "branch"])
def test_a_value_of_a_wrong_type_is_refused_before_it_is_stored(field: str, wrong: Any) -> None:
    with pytest.raises(UsageError, match="cannot be stored"):
        encoded(replace(COMMIT, **{field: wrong}), "here")


def people(folder: Path) -> og.Graph:
    graph = og.init(folder / "g", SCHEMA, durability="os")
    calm(graph)
    for n in range(4):
        graph.load([{"type": "Person", "data": {"name": f"p{n}", "age": n}}])
    return graph


def ages(graph: og.Graph, **where: Any) -> list[int]:
    return [
        r["p.age"] for r in graph.query("query q() { match { $p: Person } return { $p.age } order { $p.age } }", **where).rows
    ]


@pytest.mark.parametrize("wrong", [7, ["x"]])
def test_storage_refuses_a_commit_that_nobody_could_read(tmp_path: Path, wrong: Any) -> None:
    """Whatever the doors let through: other writers go on, and the graph stays readable."""
    graph = people(tmp_path)
    view = graph._view()
    plan = PublishPlan(OpClass.LOGICAL, "mutate", view.snapshot.commit, actor=wrong)
    with pytest.raises(UsageError, match="cannot be stored"):
        graph._store.publish("main", plan)
    graph.load([{"type": "Person", "data": {"name": "q", "age": 9}}])
    with og.open(graph._store.place.uri) as other:
        assert ages(other) == [0, 1, 2, 3, 9]


def damage(graph: og.Graph, commit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the record of a commit be stored with a bit that is another one."""
    real = rows_of

    def spoilt(entries: Any) -> Any:
        return real([(k, key, s, _flip(b) if key == commit and isinstance(b, bytes) else b) for k, key, s, b in entries])

    with monkeypatch.context() as patch:
        patch.setattr(manifests, "rows_of", spoilt)
        graph.load([{"type": "Other", "data": {"name": "x"}}])


def _flip(body: bytes) -> bytes:
    at = body.index(b'"operation":"') + 14
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


def test_a_damaged_commit_hides_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = people(tmp_path)
    commits = graph.commits()
    third, first = commits[1].id, commits[3].id
    graph.branches.create("work", from_=commits[2].id)
    damage(graph, third, monkeypatch)
    for round_ in range(3):
        with og.open(graph._store.place.uri) as other:
            calm(other)
            assert ages(other) == [0, 1, 2, 3]
            assert ages(other, branch="work") == [0, 1]
            listed = {c.id: c for c in other.commits()}
            assert isinstance(listed[third], DamagedCommit)
            assert listed[third].to_dict()["operation"] == "damaged"
            assert ages(other, at=commits[0].id) == [0, 1, 2, 3]
            with pytest.raises(DamagedRecord, match=third):
                assert other.commit(third).actor
            with pytest.raises(DamagedRecord, match=third):
                ages(other, at=first)
            with pytest.raises(DamagedRecord, match=third):
                other.diff(first, commits[0].id)
            report = other.verify(deep=True)
            assert any(third in p.message for p in report.problems)
            with pytest.raises(GraphError):
                other.cleanup(keep=1, older_than="0s", dry_run=False)
            other.load([{"type": "Other", "data": {"name": f"y{round_}"}}])  # and it can be written


def test_a_damaged_commit_stays_one_when_it_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "TAIL_COMMITS", 4)
    graph = people(tmp_path)
    third = graph.commits()[0].id
    damage(graph, third, monkeypatch)
    with og.open(graph._store.place.uri) as other:
        calm(other)
        for n in range(12):
            other.load([{"type": "Other", "data": {"name": f"o{n}"}}])
        assert ages(other) == [0, 1, 2, 3]
        assert [c.id for c in other.commits() if isinstance(c, DamagedCommit)] == [third]


@pytest.mark.parametrize("content", [b"", b"{", b"\x00" * 80, b"[]", b'{"name":7}'])
def test_a_damaged_ref_or_tag_hides_nothing_else(tmp_path: Path, content: bytes) -> None:
    graph = people(tmp_path)
    commits = graph.commits()
    graph.branches.create("work")
    graph.branches.create("other", from_=commits[1].id)
    graph.tags.create("v1", commits[1].id)
    graph.tags.create("v2", commits[2].id)
    folder = Path(graph._store.place.uri)
    (folder / "__refs" / "work").write_bytes(content)
    (folder / "__tags" / "v1").write_bytes(content)
    with og.open(folder) as other:
        assert ages(other) == [0, 1, 2, 3]
        assert ages(other, branch="other") == [0, 1, 2]
        assert ages(other, at="v2") == [0, 1]
        assert ages(other, at=commits[3].id) == [0]
        if content:
            assert "work" in other.branches.list()
            assert [t.commit.startswith("damaged") for t in other.tags.list()] == [True, False]
            with pytest.raises(DamagedRecord, match="work"):
                ages(other, branch="work")
            with pytest.raises(DamagedRecord, match="v1"):
                ages(other, at="v1")
            assert {p.branch for p in other.verify().problems} == {"work", "v1"}
            with pytest.raises(GraphError):
                other.cleanup(keep=1, older_than="0s", dry_run=False)


def test_records_are_written_and_read_in_one_place() -> None:
    folder = Path(__file__).parents[2] / "src" / "omnigraph" / "storage"
    found = [p.name for p in folder.rglob("*.py") if "msgspec.json" in p.read_text()]
    assert found == ["records.py"]
