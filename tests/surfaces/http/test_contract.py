"""Which version of the contract a request speaks: what it is answered by, and when that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tests.engine.served import Server
from tests.surfaces.http.conftest import NO_CERTIFICATES, TOKENS, Running, people, serving

import omnigraph as og
from omnigraph.errors import StorageError, UsageError
from omnigraph.policy.authoriser import PolicyAuthoriser
from omnigraph.policy.bundle import Kind, read_bundle
from omnigraph.policy.states import TokenHolders
from omnigraph.service.open_graphs import OpenGraphs
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.graphs import Registry, named_graphs
from omnigraph.surfaces.http.process.settings import required_contract
from omnigraph.surfaces.http.revisions import Quarantined, Revision
from omnigraph.surfaces.http.tokens import Tokens
from omnigraph.wire.contract import knows_more

NAMES = {"query": "query names() { match { $p: Person } return { $p.name } }"}
SAYS = {"Omnigraph-Http-Api": "0.13"}
READERS = """
version: 1
groups: { readers: [ada] }
rules:
  - { id: reads, allow: { actors: { group: readers }, actions: [read] } }
"""
LISTS = "{version: 1, groups: {ops: [bob]}, rules: [{id: lists, allow: {actors: {group: ops}, actions: [graph_list]}}]}"


@pytest.mark.parametrize(
    ("said", "more"),
    [
        ([], False),
        ([b"0.10"], False),
        ([b"0.11"], False),
        ([b"0.12"], True),
        ([b" 0.13 "], True),
        ([b"0.13.2"], True),
        ([b"1.0"], True),
        ([b"0.13", b"0.13"], False),
        ([b"x"], False),
        ([b""], False),
        ([b"0.13, 0.12"], False),
    ],
)
def test_who_knows_the_later_codes(said: list[bytes], more: bool) -> None:
    assert knows_more(said) is more


@pytest.mark.parametrize("said", ["0.13", "0.12", "9.9", "", "nonsense", "*"])
def test_whatever_a_request_says_is_tolerated(ada: httpx.Client, server: Running, said: str) -> None:
    headers = {"Omnigraph-Http-Api": said}
    plain, found = ada.post("/query", json=NAMES), ada.post("/query", json=NAMES, headers=headers)
    assert (found.status_code, found.json()) == (200, plain.json())
    assert "omnigraph-http-api" not in found.headers, "nothing is promised that nobody asked to insist on"
    assert httpx.get(f"{server.url}/healthz", headers=headers, verify=NO_CERTIFICATES).status_code == 200


def test_a_server_can_insist(tmp_path: Path) -> None:
    path, required = people(tmp_path), {"OMNIGRAPH_REQUIRE_HTTP_API": "0.13"}
    with serving(path, variables=required) as running, running.client("ada") as ada, running.client(None) as nobody:
        found = ada.post("/query", json=NAMES)
        assert found.status_code == 400
        assert found.json() == {
            "error": "this server speaks version 0.13 of the contract, and the request does not say that it does",
            "code": "api_contract_mismatch",
            "condition": "api_contract_mismatch",
            "hint": "Send `Omnigraph-Http-Api: 0.13`, once.",
        }
        for wrong in ([("Omnigraph-Http-Api", "0.12")], [("Omnigraph-Http-Api", "0.13")] * 2):
            assert ada.post("/query", json=NAMES, headers=wrong).status_code == 400
        spoken = ada.post("/query", json=NAMES, headers=SAYS)
        assert (spoken.status_code, spoken.headers["omnigraph-http-api"]) == (200, "0.13")
        assert nobody.post("/query", json=NAMES).status_code == 401, "who asks comes first"
        assert ada.get(f"{running.url}/graphs/other/schema").json()["code"] == "api_contract_mismatch", "then the contract"
        assert ada.get(f"{running.url}/graphs/other/schema", headers=SAYS).status_code == 404
        assert ada.put("/query").status_code == 405
        assert ada.get(f"{running.url}/metrics").status_code == 200, "what is of no client needs none"
        for public in ("/healthz", "/readyz", "/openapi.json", "/docs"):
            assert nobody.get(f"{running.url}{public}").status_code == 200
        with og.connect(running.url, graph="people", token=TOKENS["ada"]) as graph:
            assert graph.query(NAMES["query"]).row_count == 2


def test_a_version_that_is_none_is_refused() -> None:
    assert required_contract({}) is None
    assert required_contract({"OMNIGRAPH_REQUIRE_HTTP_API": " 0.13 "}) == "0.13"
    with pytest.raises(UsageError, match="is a version of the contract"):
        required_contract({"OMNIGRAPH_REQUIRE_HTTP_API": "yes"})


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    """A server of people, which ought to serve papers, and cannot."""
    registry = Registry.of(named_graphs([str(people(tmp_path))]), OpenGraphs())
    bundle = read_bundle(READERS, source="readers.yaml", kind=Kind.GRAPH)
    authoriser = PolicyAuthoriser({"people": bundle, "papers": bundle}, read_bundle(LISTS, source="lists.yaml", kind=Kind.SERVER))
    lost = (Quarantined("papers", "graph_missing", "there is nothing at /srv/graphs/papers.omni"),)
    tokens = Tokens.of({**TOKENS, "eve": "token-of-eve"}.items())
    yield Application(Revision(registry, authoriser, tokens, lost))
    registry.close()


def test_a_graph_that_cannot_be_served(application: Application) -> None:
    server = Server(application)

    def ask(actor: str, graph: str = "papers", **headers: str) -> httpx.Response:
        tokens = {**TOKENS, "eve": "token-of-eve"}
        given = {"Authorization": f"Bearer {tokens[actor]}", **headers}
        return httpx.get(f"{server.url}/graphs/{graph}/schema", headers=given, verify=NO_CERTIFICATES)

    try:
        for actor in ("ada", "bob"):  # one may read it, the other list graphs
            found = ask(actor, **SAYS)
            assert found.status_code == 503
            assert found.json() == {
                "error": "graph 'papers' cannot be served for the moment",
                "code": "graph_unavailable",
                "condition": "graph_unavailable",
                "retryable": True,
                "hint": "Whoever runs the server finds the reason in its log.",
            }
        unknown = ask("eve", "nothing", **SAYS)
        hidden = ask("eve", **SAYS)
        assert (hidden.status_code, unknown.status_code) == (404, 404)
        assert hidden.text.replace("papers", "nothing") == unknown.text, "nobody is told who may not know"
        earlier = ask("ada")
        assert (earlier.status_code, earlier.json()["code"]) == (404, "not_found"), "as 0.10 has it"
        assert ask("ada", "nothing", **SAYS).status_code == 404
    finally:
        server.close()


def test_a_server_that_is_about_to_stop(application: Application) -> None:
    server = Server(application)
    try:
        with httpx.Client(headers={"Authorization": f"Bearer {TOKENS['ada']}"}, verify=NO_CERTIFICATES) as client:
            application.state = "draining"
            found = client.post(f"{server.url}/graphs/people/query", json=NAMES, headers=SAYS)
            assert (found.status_code, found.headers["connection"]) == (503, "close")
            assert found.json() == {
                "error": "the server is about to stop",
                "code": "service_unavailable",
                "condition": "service_unavailable",
                "retryable": True,
                "hint": "Send it again: another server of the same graphs may take it.",
            }
            assert client.post(f"{server.url}/graphs/people/query", json=NAMES).status_code == 200, "as 0.10 has it"
            assert client.get(f"{server.url}/healthz", headers=SAYS).status_code == 200
            wrong = {**SAYS, "Authorization": "Bearer wrong"}
            assert client.get(f"{server.url}/graphs/people/schema", headers=wrong).status_code == 401
        with og.connect(server.url, graph="people", token=TOKENS["ada"]) as graph:
            with pytest.raises(StorageError, match="about to stop") as raised:
                graph.query(NAMES["query"])
            assert raised.value.retryable
    finally:
        application.state = "serving"
        server.close()


def test_what_was_not_begun_is_sent_again(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that has no key, too: a server that refuses it so has done nothing."""
    tokens = Tokens.of(TOKENS.items())
    application = Application(replace(application.first, tokens=tokens, authoriser=TokenHolders()))
    server = Server(application)
    original, refused = Application._out_of_contract, [0]

    def once(self: Application, *given: object) -> object:
        self.state = "serving" if refused[0] else "draining"
        refused[0] += 1
        return original(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Application, "_out_of_contract", once)
    try:
        with og.connect(server.url, graph="people", token=TOKENS["ada"]) as graph:
            receipt = graph.mutate("query add($n: String) { insert Person { name: $n } }", {"n": "Once"})
        assert (receipt.affected_nodes, refused[0] > 1) == (1, True)
    finally:
        server.close()
