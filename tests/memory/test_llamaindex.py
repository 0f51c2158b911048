"""The property graph store for LlamaIndex, on a branch, open here and connected."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.served import Server

import omnigraph as og
from omnigraph.memory import schema

pytest.importorskip(
    "llama_index.core.graph_stores.types", reason="llama-index-core is not installed: pip install 'omnigraph[llamaindex]'"
)

from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters, VectorStoreQuery

from omnigraph.memory.llamaindex import OmniGraphPropertyGraphStore as Store

ADA = EntityNode(
    name="Ada", label="PERSON", properties={"born": 1815, "tags": ["a"], "note": 'says "hi"'}, embedding=[3, 0, 0, 4]
)
GRACE = EntityNode(name="Grace Hopper", label="PERSON", properties={"born": 1906}, embedding=[1, 0, 0, 0])
NAVY = EntityNode(name="Navy", label="ORG")
CHUNK = ChunkNode(text="Grace wrote a compiler", id_="c1", properties={"ref_doc_id": "d1"}, embedding=[0, 1, 0, 0])


@pytest.fixture(params=["here", "served"])
def labelled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with og.init(tmp_path / "kg.omni", schema=schema("labelled", dimension=4), durability="os") as opened:
        if request.param == "here":
            yield opened
            return
        server: Server = request.getfixturevalue("memory_server")
        with og.connect(server.url, graph=server.graphs.hold(opened), token="ada") as connected:
            yield connected


@pytest.fixture
def store(labelled: Any) -> Store:
    found = Store(labelled, agent="ada")
    found.upsert_nodes([ADA, GRACE, NAVY, CHUNK])
    found.upsert_relations(
        [
            Relation(label="WORKS_AT", source_id=GRACE.id, target_id=NAVY.id, properties={"since": 1943}),
            Relation(label="SOURCE", source_id=GRACE.id, target_id=CHUNK.id),
            Relation(label="KNOWS", source_id=ADA.id, target_id="Charles"),
        ]
    )
    return found


def said(triplets: Any) -> list[str]:
    return [f"{a.id} {r.label} {b.id}" for a, r, b in triplets]


def test_nodes_come_back_as_they_were(labelled: Any, store: Store) -> None:
    assert labelled.branches.list() == ["agent/ada", "main"]
    assert {(c.actor, c.message) for c in labelled.commits(branch="agent/ada")} >= {
        ("ada", "upsert nodes"),
        ("ada", "upsert relations"),
    }
    ada, charles, grace, navy, chunk = store.get()
    assert isinstance(ada, EntityNode)
    assert isinstance(chunk, ChunkNode)
    assert (ada.name, ada.label, ada.properties) == ("Ada", "PERSON", ADA.properties)
    assert ada.embedding == pytest.approx([0.6, 0, 0, 0.8]), "length one"
    assert (chunk.text, chunk.id, chunk.properties) == (CHUNK.text, "c1", CHUNK.properties)
    assert (navy.embedding, charles.id, charles.label, grace.id) == (None, "Charles", "entity", "Grace Hopper")
    assert [node.id for node in store.get(ids=["c1", "Ada", "nobody"])] == ["Ada", "c1"]


@pytest.mark.parametrize(
    ("properties", "ids"),
    [
        ({"born": 1815}, ["Ada"]),
        ({"born": 1815.0}, ["Ada"]),
        ({"born": 1815, "note": 'says "hi"'}, ["Ada"]),
        ({"born": 1815, "note": "other"}, []),
        ({"tags": ["a"]}, ["Ada"]),
        ({"ref_doc_id": "d1"}, ["c1"]),
        ({"born": None, "ref_doc_id": "d1"}, ["c1"]),
    ],
)
def test_nodes_by_properties(store: Store, properties: dict[str, Any], ids: list[str]) -> None:
    assert [node.id for node in store.get(properties=properties)] == ids


def test_triplets(store: Store) -> None:
    assert store.get_triplets() == []
    assert said(store.get_triplets(entity_names=["Navy"])) == ["Grace Hopper WORKS_AT Navy"]
    assert said(store.get_triplets(entity_names=["Grace Hopper"], relation_names=["SOURCE"])) == ["Grace Hopper SOURCE c1"]
    assert said(store.get_triplets(relation_names=["KNOWS", "SOURCE"])) == ["Ada KNOWS Charles", "Grace Hopper SOURCE c1"]
    assert said(store.get_triplets(properties={"since": 1943})) == ["Grace Hopper WORKS_AT Navy"]
    assert said(store.get_triplets(ids=["c1"])) == ["Grace Hopper SOURCE c1"]
    [(_, relation, _)] = store.get_triplets(ids=["Navy"])
    assert relation.properties == {"since": 1943}


def test_relations_around_nodes(store: Store) -> None:
    store.upsert_relations([Relation(label="KNOWS", source_id="Charles", target_id=GRACE.id)])
    near = ["Ada KNOWS Charles"]
    assert said(store.get_rel_map([ADA], depth=1)) == near
    assert said(store.get_rel_map([ADA], depth=2)) == [*near, "Charles KNOWS Grace Hopper"]
    assert len(store.get_rel_map([ADA], depth=3)) == 4
    assert said(store.get_rel_map([ADA], depth=3, ignore_rels=["SOURCE", "WORKS_AT"])) == [*near, "Charles KNOWS Grace Hopper"]
    assert len(store.get_rel_map([ADA], depth=9, limit=2)) == 2
    assert store.get_rel_map([], depth=2) == []


def test_nearest_nodes(store: Store) -> None:
    nodes, scores = store.vector_query(VectorStoreQuery(query_embedding=[2, 0, 0, 0], similarity_top_k=2))
    assert [node.id for node in nodes] == ["Grace Hopper", "Ada"]
    assert scores == pytest.approx([1, 0.6])
    late = MetadataFilters(filters=[MetadataFilter(key="born", value=1900, operator=FilterOperator.LT)])
    nodes, _ = store.vector_query(VectorStoreQuery(query_embedding=[2, 0, 0, 0], similarity_top_k=1, filters=late))
    assert [node.id for node in nodes] == ["Ada"]
    with pytest.raises(og.UsageError, match="vectors of 4"):
        store.vector_query(VectorStoreQuery(query_embedding=[1, 0], similarity_top_k=1))


def test_writing_again(labelled: Any, store: Store) -> None:
    before = labelled.commit("agent/ada").id
    store.upsert_nodes([ADA, GRACE])
    store.upsert_relations([])
    store.upsert_nodes([])
    assert labelled.commit("agent/ada").id == before, "the same changes nothing"
    store.upsert_nodes([EntityNode(name="Ada", label="COUNTESS", properties={"died": 1852})])
    [ada] = store.get(ids=["Ada"])
    assert (ada.label, ada.properties) == ("COUNTESS", {"died": 1852})
    assert ada.embedding == pytest.approx([0.6, 0, 0, 0.8]), "the name is the same"
    store.upsert_nodes([ChunkNode(text="another text", id_="c1")])
    assert store.get(ids=["c1"])[0].embedding is None
    assert len(store.get_triplets(ids=["c1", "Ada"])) == 2, "relations stay"


def test_deleting(labelled: Any, store: Store) -> None:
    commits = len(list(labelled.commits(branch="agent/ada")))
    store.delete(relation_names=["KNOWS"])
    assert len(store.get()) == 5
    assert store.get_triplets(relation_names=["KNOWS"]) == []
    store.delete(entity_names=["Grace Hopper"])
    assert store.get_triplets(relation_names=["WORKS_AT", "SOURCE"]) == []
    store.delete(ids=["c1"], properties={"born": 1815})
    assert [node.id for node in store.get()] == ["Charles", "Navy"]
    store.delete(ids=["nobody"])
    store.delete()
    assert len(list(labelled.commits(branch="agent/ada"))) == commits + 3


def test_texts_of_llama_index(store: Store) -> None:
    node = TextNode(text="It will rain", id_="t1", metadata={"page": 3})
    store.upsert_llama_nodes([node])
    [found] = store.get_llama_nodes(["t1"])
    assert (found.get_content(), found.metadata) == ("It will rain", {"page": 3})
    store.delete_llama_nodes(node_ids=["t1"])
    assert store.get_llama_nodes(["t1"]) == []


def test_queries_and_the_schema(store: Store) -> None:
    query = "query q($l: String) { match { $n: Labelled { label: $l } } return { $n.name } order { $n.name } }"
    assert store.structured_query(query, {"l": "PERSON"}) == [{"n.name": "Ada"}, {"n.name": "Grace Hopper"}]
    with pytest.raises(og.GraphError):
        store.structured_query('query q() { delete Labelled where key = "Ada" }')
    assert "node Labelled" in store.get_schema_str()
    assert asyncio.run(store.aget(ids=["Ada"]))[0].id == "Ada"


def test_an_index_is_built_on_it(labelled: Any) -> None:
    from llama_index.core import MockEmbedding, PropertyGraphIndex
    from llama_index.core.indices.property_graph import ImplicitPathExtractor

    store = Store(labelled, agent="ada")
    index = PropertyGraphIndex(
        nodes=[TextNode(text="Grace wrote a compiler", id_="t1")],
        property_graph_store=store,
        embed_model=MockEmbedding(4),
        kg_extractors=[ImplicitPathExtractor()],
        embed_kg_nodes=True,
    )
    assert index.property_graph_store is store
    assert [node.id for node in store.get()] == ["t1"]


def test_a_graph_without_the_schema(tmp_path: Path) -> None:
    with (
        og.init(tmp_path / "g.omni", schema="node Labelled { text: String }", durability="os") as graph,
        pytest.raises(og.UsageError, match="has no schema for labelled nodes"),
    ):
        Store(graph, agent="ada").get()
