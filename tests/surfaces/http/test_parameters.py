"""What a route takes besides its body is described, and what it does not take is refused: nothing that is sent is ignored."""

from __future__ import annotations

import inspect
import re
from typing import Any

import httpx
import pytest
from tests.surfaces.http.conftest import Running

from omnigraph.surfaces.http.describing.parameters import KEYLESS, PARAMETERS, REPEATABLE
from omnigraph.surfaces.http.handlers import changes
from omnigraph.surfaces.http.routes import ROUTES

BY_ID = {route.operation_id: route for route in ROUTES}
KEY = {"Idempotency-Key": "k"}
ADD = "query add($n: String) { insert Person { name: $n } }"
READING = {
    "cluster_query",
    "cluster_read",
    "cluster_export",
    "cluster_captureChangeBaseline",
    "cluster_explain",
    "cluster_subgraph",
    "cluster_planSchema",
    "cluster_verify",
    "cluster_get",
    "cluster_neighbors",
    "deployment_plan",
}
"""Questions that are posted."""


def read_by(handler: Any) -> set[str]:
    """The parameters that a handler looks at."""
    source = inspect.getsource(handler)
    if "_Wanted(call)" in source:
        source += inspect.getsource(changes._Wanted)
    found = set(re.findall(r"call\.(?:parameter|flag|one_of)\(\"(\w+)\"", source))
    found |= set(re.findall(r"(?:\.one\.get|\.bound)\(\"(\w+)\"", source))
    found |= set(re.findall(r"for name, value in call\.parameters if name == \"(\w+)\"", source))
    if "call.state()" in source:
        found |= {"branch", "snapshot"}
    for several in re.findall(r"for (?:name|wanted) in \(([^)]*)\)", source):
        found |= set(re.findall(r"\"(\w+)\"", several))
    return found | (set(changes._MANY) if "_Wanted(call)" in source else set())


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation_id)
def test_the_description_lists_what_the_handler_reads(route: Any) -> None:
    assert read_by(route.handler) == {name for name, *_ in PARAMETERS.get(route.operation_id, ())}


def test_every_description_is_of_a_route() -> None:
    assert PARAMETERS.keys() | REPEATABLE | KEYLESS <= BY_ID.keys()


def test_every_write_takes_a_key_or_refuses_it() -> None:
    assert not REPEATABLE & KEYLESS
    assert {r.operation_id for r in ROUTES if r.method != "GET"} == REPEATABLE | KEYLESS | READING


def url_of(server: Running, route: Any, graph: str = "people") -> str:
    path = route.path.replace("{graph_id}", graph)
    return server.url + re.sub(r"\{\w+\}", "none", path)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation_id)
def test_a_parameter_that_nobody_knows_is_refused(server: Running, ada: httpx.Client, route: Any) -> None:
    found = ada.request(route.method, url_of(server, route), params={"brnach": "agent/9"})
    assert (found.status_code, found.json()["error"]) == (400, "unknown query parameter 'brnach'")
    known = [name for name, *_ in PARAMETERS.get(route.operation_id, ())]
    assert all(name in found.json()["hint"] for name in known)
    if not known:
        assert "takes none" in found.json()["hint"]


def test_who_asks_and_about_what_is_asked_first(server: Running, ada: httpx.Client) -> None:
    wrong = {"brnach": "x"}
    route = BY_ID["cluster_loadNdjson"]
    assert httpx.post(url_of(server, route), params=wrong).status_code == 401
    assert ada.post(url_of(server, route, "a%20b"), params=wrong).json()["error"] == "'a b' is not a graph id"
    assert ada.post(url_of(server, route, "other"), params=wrong).status_code == 404


def test_a_query_string_for_a_question_in_a_body(ada: httpx.Client) -> None:
    found = ada.post("/query?branch=b1", json={"query": "query q() { match { $p: Person } return { $p.name } }"})
    assert (found.status_code, "stands in its body" in found.json()["hint"]) == (400, True)


@pytest.mark.parametrize("route", sorted(KEYLESS))
def test_a_key_that_would_not_be_looked_at_is_refused(server: Running, ada: httpx.Client, route: str) -> None:
    found = ada.request(BY_ID[route].method, url_of(server, BY_ID[route]), headers=KEY)
    assert (found.status_code, "takes no Idempotency-Key" in found.json()["error"]) == (400, True)


def test_a_put_happens_once(ada: httpx.Client) -> None:
    on = {"branch": "params/put"}
    assert ada.post("/branches", json={"name": on["branch"]}).status_code == 200
    pat = {"type": "Person", "values": {"name": "Pat"}, **on}
    first = ada.post("/put", json=pat, headers=KEY).json()
    assert ada.post("/put", json=pat, headers=KEY).json() == first
    edge = {"type": "Knows", "from": "Ada", "to": "Pat", **on}
    done = [ada.post("/put", json=edge, headers={"Idempotency-Key": "e"}).json() for _ in range(2)]
    assert done[0]["commit"] == done[1]["commit"] != first["commit"]
    other = ada.post("/put", json={**pat, "values": {"name": "Quin"}}, headers=KEY)
    assert (other.status_code, other.json()["condition"]) == (409, "idempotency_key_reused")


def test_a_key_is_that_of_one_actor(server: Running, ada: httpx.Client) -> None:
    body = {"query": ADD, "params": {"n": "Zoe"}}
    headers = {"Idempotency-Key": "of-ada"}
    assert ada.post("/mutate", json=body, headers=headers).status_code == 200
    with server.client("bob") as bob:
        found = bob.post("/mutate", json=body, headers=headers)
    assert (found.status_code, found.json()["condition"], found.json()["retryable"]) == (409, "idempotency_key_reused", False)
    assert "key of its own" in found.json()["hint"]
