"""A server with policies: which file is for what, when it does not start, and that a new file is in force without a restart."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.surfaces.http.conftest import TOKENS, people, serving

from omnigraph.errors import GraphError
from omnigraph.surfaces.http.process.policies import PolicyFiles
from omnigraph.surfaces.http.process.settings import Access, ServerSettings

ADD = {"query": "query add($n: String) { insert Person { name: $n } }", "params": {"n": "x"}}
NAMES = {"query": "query names() { match { $p: Person } return { $p.name } }"}
BUNDLE = """
version: 1
groups: {{ team: [ada, bob], admins: [ada] }}
protected_branches: [main]
rules:
  - {{ id: reads, allow: {{ actors: {{ group: team }}, actions: [read, branch_create, branch_merge] }} }}
  - {{ id: writes, allow: {{ actors: {{ group: {writers} }}, actions: [change], branch_scope: any }} }}
"""
SERVER = "{version: 1, groups: {ops: [bob]}, rules: [{id: lists, allow: {actors: {group: ops}, actions: [graph_list]}}]}"


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_what_a_policy_says_is_in_force_and_is_read_again_on_sighup(tmp_path: Path) -> None:
    policy, server = tmp_path / "policy.yaml", tmp_path / "server.yaml"
    policy.write_text(BUNDLE.format(writers="admins"))
    server.write_text(SERVER)
    more = ("--policy", f"people={policy}", "--server-policy", str(server))
    with (
        serving(people(tmp_path), command="server", more=more) as running,
        running.client("ada") as ada,
        running.client("bob") as bob,
    ):
        assert ada.post("/mutate", json=ADD).status_code == 200
        denied = bob.post("/mutate", json=ADD)
        assert (denied.status_code, denied.json()["code"]) == (403, "forbidden")
        assert denied.json()["error"] == "policy denied action 'change' on branch 'main' for actor 'bob'"
        assert bob.post("/query", json=NAMES).status_code == 200
        assert httpx.post(f"{running.url}/graphs/people/query", json=NAMES).status_code == 401
        for name in ("side", "other"):
            assert ada.post("/branches", json={"name": name}).status_code == 200
        merged = ada.post("/branches/merge", json={"source": "side", "target": "other", "delete_branch": True})
        assert (merged.status_code, merged.json()["branch_deleted"]) == (200, False), "the merge stands"
        assert merged.json()["branch_delete_error_details"] == ada.delete("/branches/side").json()
        assert merged.json()["branch_delete_error_details"]["code"] == "forbidden"
        lists = {actor: {"Authorization": f"Bearer {TOKENS[actor]}"} for actor in TOKENS}
        assert [httpx.get(f"{running.url}/graphs", headers=lists[a]).status_code for a in ("ada", "bob")] == [403, 200]

        policy.write_text(BUNDLE.format(writers="nobody"))
        running.process.send_signal(signal.SIGHUP)
        time.sleep(1.0)
        assert ada.post("/mutate", json=ADD).status_code in (200, 409), "what cannot be used is not used"
        assert bob.post("/mutate", json=ADD).status_code == 403

        policy.write_text(BUNDLE.format(writers="team"))
        running.process.send_signal(signal.SIGHUP)
        until(lambda: bob.post("/mutate", json={**ADD, "params": {"n": "of bob"}}).status_code in (200, 409))


def of(*policies: str, server: str | None = None, access: Access = Access.READ, read_only: bool = False) -> PolicyFiles:
    settings = ServerSettings(graphs=(), policies=policies, server_policy=server, access=access, read_only=read_only)
    return PolicyFiles.of(settings, ["people", "papers"])


def test_which_file_is_for_what() -> None:
    assert not of()
    assert of("a.yaml").graphs == {"people": "a.yaml", "papers": "a.yaml"}
    assert of("a.yaml", "people=b.yaml").graphs == {"people": "b.yaml", "papers": "a.yaml"}
    assert of("people=b.yaml", server="s.yaml") == PolicyFiles({"people": "b.yaml"}, "s.yaml")
    assert list(of("a.yaml", server="s.yaml").files()) == ["a.yaml", "s.yaml"]
    assert of("dir.v1/a=b.yaml").graphs["people"] == "dir.v1/a=b.yaml", "a path with = in it is a path"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: of("a.yaml", "b.yaml"), "two policies are for all graphs: a.yaml, b.yaml"),
        (lambda: of("people=a", "people=b"), "graph `people` has two policies: a and b"),
        (lambda: of("person=a.yaml"), "no graph `person` is served"),
        (lambda: of("a.yaml", access=Access.OPEN), "--unauthenticated asks for no token"),
        (lambda: of(server="a.yaml", access=Access.OPEN), "--unauthenticated asks for no token"),
        (lambda: of("a.yaml", read_only=True), "--read-only and a policy both say what may be done"),
        (lambda: of("nowhere.yaml").authoriser(), "cannot read the policy nowhere.yaml: No such file"),
    ],
)
def test_a_server_that_does_not_start(given: Callable[[], object], message: str) -> None:
    with pytest.raises(GraphError) as raised:
        given()
    assert message in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize("command", ["serve", "server"])
def test_a_policy_without_tokens_does_not_start(tmp_path: Path, command: str) -> None:
    (tmp_path / "policy.yaml").write_text(BUNDLE.format(writers="team"))
    more = ("--policy", str(tmp_path / "policy.yaml"))
    with (
        pytest.raises(
            AssertionError,
            match=r"no tokens are configured(.|\n)*Give each actor of the policy a token: OMNIGRAPH_SERVER_BEARER_TOKENS_JSON",
        ),
        serving(people(tmp_path), command=command, more=more, tokens={}),
    ):
        pass


def test_a_bundle_of_the_server_is_not_one_of_a_graph(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(SERVER)
    with pytest.raises(GraphError, match="rule `lists` is about the server"):
        of(str(tmp_path / "policy.yaml")).authoriser()
