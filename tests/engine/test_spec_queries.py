"""The numbered cases of the specification against the engine, through the front door: with and without indexes, over adjacency in
memory and over the indexes of edge tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine import graphs
from tests.engine.answers import difference
from tests.engine.reference_search import mock_embedding
from tests.engine.spec_cases import Case, cases, fixtures, written

from omnigraph.errors import GraphError, ParameterError, TypeCheckError

FIXTURES = fixtures()
CASES = cases()
TRAVERSALS = (None, "csr", "btree")

Opened = Callable[[str, bool], Any]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """The graph of a fixture, made once, plain or with its indexes built."""
    made: dict[tuple[str, bool], Any] = {}

    def open_(name: str, indexed: bool) -> Any:
        if (name, indexed) not in made:
            fixture = FIXTURES[name]
            graph = graphs.make_graph(tmp_path_factory.mktemp(name), fixture.schema, fixture.data)
            if indexed:
                graph.optimize()
            made[name, indexed] = graph
        return made[name, indexed]

    return open_


@pytest.mark.parametrize("indexed", [False, True], ids=["plain", "indexed"])
@pytest.mark.parametrize("case", [c for c in CASES if not c.refused and not c.fails], ids=str)
def test_answers(case: Case, indexed: bool, opened: Opened) -> None:
    graph = opened(case.fixture, indexed)
    for traversal in TRAVERSALS:
        result = graph.query(case.query, params=case.params, traversal=traversal)
        rows = [{name: written(value) for name, value in row.items()} for row in result.rows]
        assert difference(case.answer(tuple(result.columns)), rows) is None, traversal
        if case.columns is not None:
            assert list(result.columns) == case.columns


@pytest.mark.parametrize("case", [c for c in CASES if c.refused], ids=str)
def test_is_refused(case: Case, opened: Opened) -> None:
    with pytest.raises(TypeCheckError) as refused:
        opened(case.fixture, False).query(case.query)
    assert [d.code for d in refused.value.diagnostics] == [case.refused]


@pytest.mark.parametrize("case", [c for c in CASES if c.fails], ids=str)
def test_cannot_be_run(case: Case, opened: Opened) -> None:
    with pytest.raises(ParameterError):
        opened(case.fixture, False).query(case.query, params=case.params)


def slugs(graph: Any, query: str, **params: object) -> list[str]:
    return [row["d.slug"] for row in graph.query(query, params=params).rows]


@pytest.mark.parametrize("indexed", [False, True], ids=["plain", "indexed"])
def test_x7_fuzzy_is_inert_or_right(opened: Opened, indexed: bool) -> None:
    """The reference finds nothing; the specification would rather have edit distance. Anything else is wrong."""
    query = "query q($q: String) { match { $d: Doc fuzzy($d.title, $q) } return { $d.slug } }"
    assert slugs(opened("search", indexed), query, q="Introductio") in ([], ["ml-intro"])


def test_x14_a_text_is_embedded(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    graph = opened("search", False)
    by_text = "query q($q: String) { match { $d: Doc } return { $d.slug } order { nearest($d.embedding, $q) } limit 5 }"
    by_vector = by_text.replace("$q: String", "$q: Vector(4)")
    assert slugs(graph, by_text, q="deep") == slugs(graph, by_vector, q=mock_embedding("deep", 4))


def test_x15_the_models_must_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    schema = 'node Doc { slug: String @key  body: String  v: Vector(4)? @embed(body, model="recorded-model") }'
    graph = graphs.make_graph(tmp_path, schema, {"Doc": [{"id": "a", "slug": "a", "body": "lamp", "v": [1.0, 0.0, 0.0, 0.0]}]})
    query = "query q($q: {}) {{ match {{ $d: Doc }} return {{ $d.slug }} order {{ nearest($d.v, $q) }} limit 1 }}"
    with pytest.raises(GraphError, match="recorded-model"):
        graph.query(query.format("String"), params={"q": "lamp"})
    assert slugs(graph, query.format("Vector(4)"), q=[1.0, 0.0, 0.0, 0.0]) == ["a"]


def test_x16_what_is_not_indexed_yet_is_found(tmp_path: Path) -> None:
    fixture = FIXTURES["search"]
    graph = graphs.make_graph(tmp_path, fixture.schema, fixture.data)
    graph.optimize()
    late = {"slug": "late", "title": "Learning late", "body": "Zinc learning", "embedding": [0.1, 0.2, 0.3, 0.4]}
    graphs.add(graph, {"Doc": [{"id": "late", **late}]})
    text = "query q($q: String) { match { $d: Doc search($d.body, $q) } return { $d.slug } }"
    near = "query q($q: Vector(4)) { match { $d: Doc } return { $d.slug } order { nearest($d.embedding, $q) } limit 2 }"
    assert slugs(graph, text, q="zinc") == ["late"]
    assert sorted(slugs(graph, near, q=[0.1, 0.2, 0.3, 0.4])) == ["late", "ml-intro"]


@pytest.mark.parametrize("indexed", [False, True], ids=["plain", "indexed"])
def test_x17_the_order_is_global(tmp_path: Path, indexed: bool) -> None:
    count = 3000
    places = {f"{n:05}": float((n * 7919) % count) for n in range(count)}
    rows = [{"id": slug, "slug": slug, "v": [place, 1.0]} for slug, place in places.items()]
    graph = graphs.make_graph(tmp_path, "node Doc { slug: String @key  v: Vector(2) @index }", {"Doc": rows})
    if indexed:
        graph.optimize()
    query = "query q() { match { $d: Doc } return { $d.slug } order { nearest($d.v, [0, 1]) } limit 2500 }"
    assert slugs(graph, query) == sorted(places, key=places.__getitem__)[:2500]
