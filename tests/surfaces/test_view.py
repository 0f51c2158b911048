"""Pictures: what is drawn, and that the page needs nothing else."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.calling import EXAMPLE, SCHEMA, Call

import omnigraph as og_api

FRIENDS = "query friends($n: String) { match { $p: Person { name: $n }  $p knows $f } return { $f.name } }"


@pytest.fixture
def graph(people: Path) -> Iterator[og_api.Graph]:
    with og_api.open(people) as g:
        yield g


def drawn(page: str) -> dict[str, Any]:
    """The data a page is given."""
    found = re.search(r'<script type="application/json" id="drawing">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def test_a_schema_is_every_type_and_every_edge(graph: og_api.Graph) -> None:
    data = drawn(og_api.view(graph).html)
    assert {n["label"] for n in data["nodes"]} == {"Person", "Company"}
    assert {(e["source"], e["label"], e["target"]) for e in data["edges"]} == {
        ("Person", "Knows", "Person"), ("Person", "WorksAt 0..1", "Company"),
    }  # fmt: skip
    person = next(n for n in data["nodes"] if n["label"] == "Person")
    assert ["name ⚷", "String"] in person["lines"]
    assert ["entities", "3"] in person["detail"]


def test_an_answer_is_the_nodes_and_edges_behind_it(graph: og_api.Graph) -> None:
    picture = og_api.view(graph, query=FRIENDS, params={"n": "Ada"})
    data = drawn(picture.html)
    assert [(n["type"], n["label"]) for n in data["nodes"]] == [("Person", "Ada"), ("Person", "Bob")]
    (edge,) = data["edges"]
    assert (edge["source"], edge["type"], edge["target"]) == ("Person/Ada", "Knows", "Person/Bob")
    assert ["since", "2024-05-01"] in edge["detail"]
    assert data["notes"] == []
    assert repr(picture) == "Visualization of people.omni: 2 nodes, 1 edge"


def test_a_diff_has_colours_and_what_it_touches(graph: og_api.Graph) -> None:
    data = drawn(og_api.view(graph, diff=("main", "work")).html)
    assert {n["label"]: n["status"] for n in data["nodes"]} == {"Bob": "changed", "Dan": "added", "Cy": "context"}
    bob = next(n for n in data["nodes"] if n["label"] == "Bob")
    assert ["age", "41", "42"] in bob["detail"]
    (edge,) = data["edges"]
    assert (edge["source"], edge["target"], edge["status"]) == ("Person/Cy", "Person/Dan", "added")
    back = drawn(og_api.view(graph, diff=("work", "main")).html)
    assert {e["status"] for e in back["edges"]} == {"removed"}
    few = drawn(og_api.view(graph, diff=("main", "work"), limit=1).html)
    assert few["notes"] == ["2 more changes are not drawn."]


def test_an_edge_that_moved_went_and_came(graph: og_api.Graph) -> None:
    graph.load([{"edge": "Knows", "from": "Ada", "to": "Cy", "data": {"id": "k1"}}], branch="work")
    edges = drawn(og_api.view(graph, diff=("main", "work")).html)["edges"]
    assert {(e["target"], e["status"]) for e in edges if e["key"].startswith("Knows/k1")} == {
        ("Person/Bob", "removed"), ("Person/Cy", "added"),
    }  # fmt: skip


def test_the_page_is_one_file_that_asks_for_nothing(graph: og_api.Graph) -> None:
    page = og_api.view(graph).html
    assert "default-src 'none'" in page
    assert re.findall(r"""(?:src|href)\s*=\s*["']""", page) == []
    assert set(re.findall(r"https?://[^\"'\s)]+", page)) == {"http://www.w3.org/2000/svg"}, "a name, not an address"
    assert "@" not in re.sub(r"@media|main @", "", page)


def test_what_people_store_cannot_break_out_of_the_page(graph: og_api.Graph) -> None:
    evil = "</script><script>alert(1)</script>\u2028<!--"
    graph.load([{"type": "Person", "data": {"name": evil}}, {"edge": "Knows", "from": "Ada", "to": evil}])
    page = og_api.view(graph, query=FRIENDS, params={"n": "Ada"}).html
    assert page.count("</script>") == 2
    assert "alert(1)</script>" not in page
    assert evil in {n["label"] for n in drawn(page)["nodes"]}


def test_in_a_notebook(graph: og_api.Graph) -> None:
    picture = og_api.view(graph)
    shown = picture._repr_html_()
    assert shown.startswith("<iframe ")
    assert 'sandbox="allow-scripts"' in shown
    inner = re.search(r'srcdoc="(.*)"></iframe>$', shown, re.DOTALL)
    assert inner is not None
    assert html.unescape(inner[1]) == picture.html


def test_what_does_not_go_together(graph: og_api.Graph) -> None:
    with pytest.raises(og_api.UsageError):
        og_api.view(graph, query=FRIENDS, diff=("main", "work"))
    with pytest.raises(og_api.UsageError):
        og_api.view(graph, params={"n": "Ada"})


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_draws_what_the_function_draws(og: Call, graph: og_api.Graph, people: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    cases: list[tuple[list[str], Any]] = [
        ([], og_api.view(graph)),
        (["--diff", "main", "work"], og_api.view(graph, diff=("main", "work"))),
        (["-e", FRIENDS, "--params", '{"n": "Ada"}'], og_api.view(graph, query=FRIENDS, params={"n": "Ada"})),
    ]
    for arguments, picture in cases:
        ran = og("view", people, *arguments, "--out", out, "--no-open", "--json")
        assert ran.json == {
            "out": str(out), "kind": picture.drawing.kind, "nodes": len(picture.drawing.nodes), "edges": len(picture.drawing.edges),
            "opened": False,
        }  # fmt: skip
        assert out.read_text() == picture.html


def test_a_schema_file_is_drawn_too(og: Call, tmp_path: Path) -> None:
    ran = og("view", SCHEMA, "--out", tmp_path / "s.html", "--no-open")
    assert ran.out == f"drew 12 nodes and 16 edges: {tmp_path / 's.html'}\n"
    assert og("view", SCHEMA, "--diff", "a", "b", "--no-open").code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--diff", "main", "work", "-e", FRIENDS],
        ["--name", "x"],
        ["--params", "{}"],
        ["--limit", "3"],
        ["--diff", "main", "work", "--branch", "main"],
        ["--out", "/no/such/folder/x.html"],
        ["-e", 'query q() { insert Company { name: "x" } }'],
    ],
)
def test_drawings_that_cannot_be(og: Call, people: Path, arguments: list[str]) -> None:
    runs = arguments[0] == "--out" or arguments[:1] == ["-e"]  # the rest cannot be parsed
    assert og("view", people, *arguments, "--no-open").code == (1 if runs else 2)


def test_the_whole_example_can_be_drawn(tmp_path: Path) -> None:
    with og_api.init(tmp_path / "memory.omni", EXAMPLE / "schema.pg") as g:
        g.load(EXAMPLE / "data.jsonl")
        everything = (
            "query q() { match { $p: Person  optional { $p memberOf $t }  optional { $p worksOn $k } } return { $p.name } }"
        )
        data = drawn(og_api.view(g, query=everything).html)
        assert {n["type"] for n in data["nodes"]} == {"Person", "Team", "Task"}
        keys = {n["key"] for n in data["nodes"]}
        assert {end for e in data["edges"] for end in (e["source"], e["target"])} <= keys
