"""A graph looked at from outside: commits by id, snapshots, Blobs."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.language import Source

SCHEMA = "node Doc { slug: String @key  title: String?  file: Blob? }\nedge Cites: Doc -> Doc { scan: Blob? }"
BYTES = bytes(range(256)) * 40


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    g = og.init(tmp_path / "g", SCHEMA)
    encoded = "base64:" + base64.b64encode(BYTES).decode()
    g.load(
        [
            {"type": "Doc", "data": {"slug": "a", "file": encoded}},
            {"type": "Doc", "data": {"slug": "b"}},
            {"edge": "Cites", "from": "a", "to": "b", "data": {"id": "e1", "scan": "base64:AA=="}},
        ]
    )
    return g


def test_a_commit_is_the_one_that_is_listed(graph: og.Graph) -> None:
    newest, first = graph.commits()
    assert graph.commit(newest.id) == newest
    assert newest.to_dict() == {
        "graph_commit_id": newest.id,
        "graph_branch": None,
        "graph_manifest_version": 2,
        "parent_commit_id": first.id,
        "merged_parent_commit_id": None,
        "actor_id": None,
        "created_at": newest.created_at,
        "operation": "load",
        "message": None,
    }
    with pytest.raises(og.NotFound, match="commit 'nope' not found"):
        graph.commit("nope")


def test_a_commit_of_another_branch_names_it(graph: og.Graph) -> None:
    graph.branches.create("work")
    receipt = graph.mutate('query q() { insert Doc { slug: "c" } }', branch="work", actor="me")
    assert receipt.commit is not None
    assert receipt.to_dict()["commit"] == graph.commit(receipt.commit.id).to_dict()
    assert receipt.to_dict()["commit"]["graph_branch"] == "work"
    assert graph.mutate('query q() { delete Doc where slug = "nobody" }').to_dict()["commit"] is None


def test_a_snapshot_names_every_type_edges_first(graph: og.Graph) -> None:
    snapshot = graph.snapshot()
    assert [(t.type_key, t.entities) for t in snapshot.types] == [("edge:Cites", 1), ("node:Doc", 2)]
    data = snapshot.to_dict()
    assert (data["graph_branch"], data["graph_manifest_version"], data["internal_schema_version"]) == ("main", 2, 6)
    first = graph.snapshot(at=graph.commits()[-1].id)
    assert [t.entities for t in first.types] == [0, 0]
    assert first.number == 1


def test_the_bytes_of_a_blob(graph: og.Graph) -> None:
    blob = graph.blob("node", "Doc", "a", "file")
    assert (blob.data, blob.size, blob.commit) == (BYTES, len(BYTES), graph.commits()[0].id)
    assert graph.blob("edge", "Cites", "e1", "scan").data == b"\0"
    assert blob.etag == graph.blob("node", "Doc", "a", "file", at=blob.commit).etag


@pytest.mark.parametrize(
    ("selector", "error"),
    [
        (("node", "Doc", "b", "file"), og.NotFound),
        (("node", "Doc", "nobody", "file"), og.NotFound),
        (("node", "Doc", "a", "title"), og.UsageError),
        (("node", "Doc", "a", "nope"), og.UsageError),
        (("node", "Cites", "e1", "scan"), og.UsageError),
        (("thing", "Doc", "a", "file"), og.UsageError),
    ],
)
def test_a_blob_that_is_not_there(graph: og.Graph, selector: tuple[str, str, str, str], error: type[og.GraphError]) -> None:
    with pytest.raises(error):
        graph.blob(*selector)  # type: ignore[arg-type]


def test_a_problem_is_told_with_the_name_of_its_text(graph: og.Graph) -> None:
    with pytest.raises(og.TypeCheckError) as caught:
        graph.query(Source("query q() { match { $d: Doc } return { $d.titel } }", "docs.gq"))
    assert "docs.gq:1:" in str(caught.value)


def test_a_lost_precondition_says_what_was_expected(graph: og.Graph) -> None:
    newest, first = graph.commits()
    with pytest.raises(og.PreconditionFailed) as caught:
        graph.mutate('query q() { insert Doc { slug: "c" } }', if_commit=first.id)
    assert caught.value.to_dict()["precondition_failure"] == {"expected": first.id, "actual": newest.id}
