"""What queries are told that ask for something the language writes in another way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph as og


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    folder: Path = tmp_path_factory.mktemp("advice")
    text = "node P { k: String @key  d: Date?  t: DateTime? }\nnode Q { n: I32? }\nedge R: P -> P { w: I32? }"
    with og.init(folder / "g", text, durability="os") as made:
        made.load([{"type": "P", "data": {"k": "a"}}])
        yield made


@pytest.mark.parametrize("text", ["hello", "", "2024-13-01", "2024-02-30", "99999999999-01-01", "2024-01-31T"])
@pytest.mark.parametrize(("name", "column"), [("date", "d"), ("datetime", "t")])
@pytest.mark.parametrize("form", ["$p.{column} = {literal}", "$p.{column} in [{literal}]", "$p: P {{ {column}: {literal} }}"])
def test_a_literal_that_is_no_date_is_told_how_to_write_one(
    graph: og.Graph, name: str, column: str, text: str, form: str
) -> None:
    clause = form.format(column=column, literal=f'{name}("{text}")')
    with pytest.raises(og.ParameterError, match=f"`{name}`") as caught:
        graph.query(f"query q() {{ match {{ $p: P  {clause} }} return {{ $p.k }} }}")
    assert f'{name}("2024-01-31' in str(caught.value.hint)


@pytest.mark.parametrize(
    "query",
    [
        "match { $p: P } return { $p.id as id }",
        'match { $p: P { id: "a" } } return { $p.id as id }',
        "match { $p: P } return { $p as id } order { $p.id }",
    ],
)
def test_an_id_is_read_like_a_property(graph: og.Graph, query: str) -> None:
    assert graph.query(f"query q() {{ {query} }}").rows == [{"id": "a"}]


def test_what_the_advice_says_works(graph: og.Graph) -> None:
    assert graph.query("query q() { match { $p: P } return { $p } }").rows == [{"p": "a"}]
    for literal in ('$p.d != date("2024-01-31")', '$p.t != datetime("2024-01-31T12:00:00Z")'):
        assert graph.query(f"query q() {{ match {{ $p: P  {literal} }} return {{ $p }} }}").rows == []
