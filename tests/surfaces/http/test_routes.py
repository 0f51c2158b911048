"""Every route: what it answers, member by member."""

from __future__ import annotations

import json

import httpx
import pytest
from tests.surfaces.http.conftest import Running

NAMES = "query names() { match { $p: Person } return { $p.name } order { $p.name asc } }"
ADD = "query add($n: String, $a: I32?) { insert Person { name: $n, age: $a } }"


def branch(client: httpx.Client, name: str) -> str:
    """A branch for one test."""
    assert client.post("/branches", json={"name": name}).status_code == 200
    return name


def test_health_needs_no_token(server: Running) -> None:
    found = httpx.get(f"{server.url}/healthz")
    assert found.status_code == 200
    assert list(found.json()) == ["status", "version", "internal_schema_version", "server"]
    assert found.json() | {"server": ""} == {"status": "ok", "version": "0.10.0", "internal_schema_version": 6, "server": ""}


def test_graphs_are_listed_by_id(server: Running, ada: httpx.Client) -> None:
    found = ada.get(f"{server.url}/graphs").json()
    assert [graph["graph_id"] for graph in found["graphs"]] == ["people"]


def test_a_read(ada: httpx.Client) -> None:
    found = ada.post("/query", json={"query": NAMES, "branch": None, "params": None})
    body = found.json()
    assert list(body) == ["query_name", "target", "row_count", "columns", "rows", "graph_commit_id"]
    assert body["target"] == {"branch": "main", "snapshot": None}
    assert body["columns"] == ["p.name"]
    assert {"p.name": "Ada"} in body["rows"]
    at = ada.post("/query", json={"query": NAMES, "snapshot": body["graph_commit_id"]}).json()
    assert at["target"] == {"branch": None, "snapshot": body["graph_commit_id"]}
    assert at["rows"] == body["rows"]


def test_values_as_json_has_them(ada: httpx.Client) -> None:
    text = "query q($n: String) { match { $p: Person { name: $n } } return { $p.day as day, $p.seen as seen, $p.age as age, $p.score as score } }"
    [row] = ada.post("/query", json={"query": text, "params": {"n": "Ada"}}).json()["rows"]
    assert row == {"day": "2024-02-29", "seen": "2024-01-02T03:04:05.678Z", "age": 36, "score": None}
    assert list(row) == ["day", "seen", "age", "score"]


def test_a_read_as_arrow(ada: httpx.Client) -> None:
    import pyarrow as pa

    found = ada.post("/query", json={"query": NAMES}, headers={"Accept": "application/vnd.apache.arrow.stream"})
    table = pa.ipc.open_stream(found.content).read_all()
    assert "Ada" in table["p.name"].to_pylist()
    about = json.loads(table.schema.metadata[b"omnigraph"])
    assert about["query_name"] == "names"
    assert about["branch"] == "main"


def test_an_earlier_spelling_of_a_read(ada: httpx.Client) -> None:
    found = ada.post("/read", json={"query_source": NAMES, "query_name": "names"})
    assert "graph_commit_id" not in found.json()
    assert found.headers["deprecation"] == "true"
    assert found.headers["link"] == '<query>; rel="successor-version"'


def test_a_mutation_and_its_commit(ada: httpx.Client) -> None:
    on = branch(ada, "routes/mutation")
    body = ada.post("/mutate", json={"query": ADD, "params": {"n": "Eve"}, "branch": on}).json()
    assert list(body) == ["branch", "query_name", "affected_nodes", "affected_edges", "actor_id", "commit"]
    assert (body["branch"], body["affected_nodes"], body["actor_id"]) == (on, 1, "ada")
    commit = body["commit"]
    assert commit["graph_branch"] == on
    assert ada.get(f"/commits/{commit['graph_commit_id']}").json() == commit
    assert ada.get("/commits", params={"branch": on}).json()["commits"][0] == commit
    nothing = ada.post("/mutate", json={"query": 'query d() { delete Person where name = "nobody" }', "branch": on}).json()
    assert nothing["commit"] is None
    assert nothing["affected_nodes"] == 0


def test_a_condition_holds_or_nothing_happens(ada: httpx.Client) -> None:
    on = branch(ada, "routes/condition")
    head = ada.post("/query", json={"query": NAMES, "branch": on}).json()["graph_commit_id"]
    wanted = {"query": ADD, "params": {"n": "Eve"}, "branch": on}
    here = {"Omnigraph-If-Graph-Commit": head}
    done = ada.post("/mutate/if-graph-commit", json=wanted, headers=here)
    assert done.status_code == 200
    late = ada.post("/mutate/if-graph-commit", json=wanted, headers=here)
    assert late.status_code == 412
    assert "code" not in late.json()
    assert late.json()["precondition_failure"] == {"expected": head, "actual": done.json()["commit"]["graph_commit_id"]}
    assert late.json()["error"].startswith(f"precondition failed on branch '{on}': expected head '{head}' but current is ")
    refused = ada.post("/mutate", json=wanted, headers=here)
    assert refused.status_code == 400
    assert "/graphs/people/mutate/if-graph-commit" in refused.json()["error"]


@pytest.mark.parametrize("text", ["", "*", "W/x", '"x', 'x"', "a,b"])
def test_conditions_that_are_none(ada: httpx.Client, text: str) -> None:
    found = ada.post(
        "/mutate/if-graph-commit", json={"query": ADD, "params": {"n": "E"}}, headers={"Omnigraph-If-Graph-Commit": text}
    )
    assert found.status_code == 400
    assert found.json()["code"] == "bad_request"


def test_a_condition_is_required_and_given_once(ada: httpx.Client) -> None:
    wanted = {"query": ADD, "params": {"n": "E"}}
    assert ada.post("/mutate/if-graph-commit", json=wanted).status_code == 400
    twice = [("Omnigraph-If-Graph-Commit", "a"), ("Omnigraph-If-Graph-Commit", "b")]
    assert ada.post("/mutate/if-graph-commit", json=wanted, headers=twice).status_code == 400


def test_branches(ada: httpx.Client, server: Running) -> None:
    made = ada.post("/branches", json={"name": "routes/one", "from": "main"}).json()
    assert list(made) == ["uri", "from", "name", "actor_id"]
    assert (made["from"], made["name"], made["actor_id"]) == ("main", "routes/one", "ada")
    assert "routes/one" in ada.get("/branches").json()["branches"]
    taken = ada.post("/branches", json={"name": "routes/one"})
    assert (taken.status_code, taken.json()["code"]) == (409, "conflict")
    assert taken.json()["error"] == "branch 'routes/one' already exists"
    ada.post("/mutate", json={"query": ADD, "params": {"n": "Merged"}, "branch": "routes/one"})
    into = branch(ada, "routes-target")
    answered = ada.post("/branches/merge", json={"source": "routes/one", "target": into, "delete_branch": True})
    assert answered.status_code == 200, answered.text
    merged = answered.json()
    assert (merged["outcome"], merged["branch_deleted"], merged["actor_id"]) == ("fast_forward", True, "ada")
    assert "routes/one" not in ada.get("/branches").json()["branches"]
    gone = ada.request("DELETE", "/branches/routes%2Fnone")
    assert gone.status_code == 404
    assert gone.json()["error"] == "branch 'routes/none' not found"
    main = ada.delete("/branches/main")
    assert (main.status_code, main.json()["error"]) == (400, "cannot delete branch 'main'")


def test_a_merge_of_nothing_new_commits_nothing(ada: httpx.Client) -> None:
    source, target = branch(ada, "nothing-new"), branch(ada, "has-everything")
    found = ada.post("/branches/merge", json={"source": source, "target": target}).json()
    assert (found["outcome"], found["commit"]) == ("already_up_to_date", None)
    assert not {"branch_deleted", "branch_delete_error", "branch_delete_error_details"} & found.keys()
    previewed = ada.post("/branches/merge", json={"source": source, "target": target, "dry_run": True}).json()
    assert "commit" not in previewed, "nothing was to be committed"


def test_a_source_that_cannot_be_deleted_leaves_the_merge_as_it_is(ada: httpx.Client) -> None:
    target = branch(ada, "gets-it")
    ada.post("/mutate", json={"query": ADD, "params": {"n": "Stays"}})
    answered = ada.post("/branches/merge", json={"source": "main", "target": target, "delete_branch": True})
    merged = answered.json()
    assert (answered.status_code, merged["outcome"], merged["branch_deleted"]) == (200, "fast_forward", False)
    assert merged["branch_delete_error_details"]["code"] == "bad_request"
    assert merged["branch_delete_error_details"]["error"] == merged["branch_delete_error"]
    assert ada.get(f"/commits/{merged['commit']['graph_commit_id']}").json() == merged["commit"]


def test_conflicts_of_a_merge(ada: httpx.Client) -> None:
    left, right = branch(ada, "left"), branch(ada, "right")
    change = 'query c($a: I32) { update Person set { age: $a } where name = "Ada" }'
    for number, on in enumerate((left, right)):
        assert ada.post("/mutate", json={"query": change, "params": {"a": 40 + number}, "branch": on}).status_code == 200
    found = ada.post("/branches/merge", json={"source": left, "target": right})
    assert (found.status_code, found.json()["code"]) == (409, "conflict")
    [conflict] = found.json()["merge_conflicts"]
    assert conflict | {"message": ""} == {
        "entity_kind": "node",
        "type_name": "Person",
        "entity_id": "Ada",
        "kind": "divergent_update",
        "message": "",
    }
    assert found.json()["error"].startswith("merge conflicts: node type 'Person', entity id 'Ada' (divergent_update)")


def test_loads(ada: httpx.Client) -> None:
    on = branch(ada, "routes/load")
    line = json.dumps({"type": "Person", "data": {"name": "Lin"}})
    strict = ada.post(
        "/load/ndjson", params={"branch": on, "mode": "append"}, content=line, headers={"Content-Type": "application/x-ndjson"}
    )
    body = strict.json()
    assert list(body) == [
        "branch",
        "base_branch",
        "branch_created",
        "mode",
        "nodes",
        "edges",
        "total_entities",
        "actor_id",
        "commit",
    ]
    assert body["nodes"] == [{"name": "Person", "entities_loaded": 1}]
    assert ada.get(f"/commits/{body['commit']['graph_commit_id']}").json() == body["commit"]
    again = ada.post(
        "/load/ndjson", params={"branch": on, "mode": "append"}, content=line, headers={"Content-Type": "application/x-ndjson"}
    )
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert again.json()["key_conflict"]["type_name"] == "Person"
    lenient = ada.post("/load", json={"data": '{"type": "Person",\n "data": {"name": "Kim"}, "note": 1}', "branch": on}).json()
    assert next(iter(lenient)) == "uri"
    assert lenient["total_entities"] == 1
    made = ada.post("/load", json={"data": line, "branch": "routes/made", "from": "main", "mode": "merge"}).json()
    assert (made["base_branch"], made["branch_created"]) == ("main", True)
    missing = ada.post("/load", json={"data": line, "branch": "routes/missing"})
    assert missing.status_code == 404
    assert missing.json()["error"] == "branch 'routes/missing' not found; pass `from` to create it"
    wrong = ada.post("/load/ndjson", content="{}\n{", headers={"Content-Type": "application/x-ndjson"})
    assert wrong.status_code == 400
    assert wrong.json()["error"].startswith("line 1: ")
    kind = ada.post("/load/ndjson", content=line, headers={"Content-Type": "text/plain"})
    assert kind.status_code == 415


def test_loads_that_change_what_is_given(ada: httpx.Client) -> None:
    on, kind = branch(ada, "routes/patch"), {"Content-Type": "application/x-ndjson"}
    lines = ['{"type": "Person", "data": {"name": "Pat", "age": 5}}', '{"type": "Person", "data": {"name": "Pat"}}']
    for line, mode in zip(lines, ("patch", "update"), strict=True):
        done = ada.post("/load/ndjson", params={"branch": on, "mode": mode}, content=line, headers=kind).json()
        assert (done["mode"], done["total_entities"]) == (mode, 1)
    read = 'query q() { match { $p: Person { name: "Pat" } } return { $p.age as age } }'
    assert ada.post("/query", json={"query": read, "branch": on}).json()["rows"] == [{"age": 5}]
    lenient = ada.post("/load", json={"data": lines[1], "branch": on, "mode": "patch"})
    assert lenient.status_code == 400
    assert "patch is for records of the strict dialect" in lenient.text


def test_an_export_loads_back(ada: httpx.Client) -> None:
    found = ada.post("/export", json={})
    assert found.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    kinds = ["edge" if "edge" in json.loads(line) else "node" for line in found.text.splitlines()]
    assert kinds == sorted(kinds)
    branch(ada, "routes/export")
    back = ada.post(
        "/load/ndjson",
        params={"branch": "routes/export"},
        content=found.content,
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert back.json()["total_entities"] == len(kinds)
    unknown = ada.post("/export", json={"type_names": ["Nobody"]})
    assert (unknown.status_code, unknown.json()["error"]) == (400, "unknown export type 'Nobody'")
    assert ada.post("/export", json={"types": []}).status_code == 400


def test_the_change_feed(ada: httpx.Client) -> None:
    on = branch(ada, "routes/feed")
    start = ada.get("/changes", params={"branch": on}).json()
    assert (start["blocks"], start["caught_up"]) == ([], True)
    done = ada.post("/mutate", json={"query": ADD, "params": {"n": "New"}, "branch": on}).json()["commit"]
    page = ada.get("/changes", params={"branch": on, "cursor": start["cursor"]}).json()
    [block] = page["blocks"]
    assert block["cause"]["graph_commit_id"] == done["graph_commit_id"]
    assert block["changes"] == ada.get(f"/commits/{done['graph_commit_id']}/changes").json()["changes"]
    base = ada.post("/changes/baseline", json={"branch": on}).text.splitlines()
    last = json.loads(base[-1])["baseline"]
    assert last["snapshot_commit_id"] == done["graph_commit_id"]
    assert ada.get("/changes", params={"branch": on, "cursor": last["resume_cursor"]}).json()["blocks"] == []
    bad = ada.get("/changes", params={"branch": on, "cursor": "nonsense"})
    assert bad.status_code == 400
    assert bad.json()["error"].startswith("change cursor rejected: ")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=0", 400),
        ("limit=9000", 413),
        ("x=1", 400),
        ("start=now&cursor=a", 400),
        ("start=soon", 400),
        ("branch=%20", 400),
        ("limit=1&limit=2", 400),
        ("branch=none", 404),
    ],
)
def test_wrong_parameters_of_the_feed(ada: httpx.Client, query: str, status: int) -> None:
    assert ada.get(f"/changes?{query}").status_code == status


def test_blobs(ada: httpx.Client) -> None:
    where = {"entity": "node", "type": "Person", "id": "Bob", "property": "photo"}
    whole = ada.get("/blob", params=where)
    assert (whole.content, whole.headers["content-type"]) == (b"hello", "application/octet-stream")
    tag = whole.headers["etag"]
    assert ada.head("/blob", params=where).headers["content-length"] == "5"
    part = ada.get("/blob", params=where, headers={"Range": "bytes=1-2", "If-Range": tag})
    assert (part.status_code, part.content, part.headers["content-range"]) == (206, b"el", "bytes 1-2/5")
    assert ada.get("/blob", params=where, headers={"Range": "bytes=-2"}).content == b"lo"
    assert ada.get("/blob", params=where, headers={"Range": "bytes=3-1"}).status_code == 200
    far = ada.get("/blob", params=where, headers={"Range": "bytes=9-"})
    assert (far.status_code, far.headers["content-range"]) == (416, "bytes */5")
    assert far.json()["blob_range"]["length"] == 5
    same = ada.get("/blob", params=where, headers={"If-None-Match": f'W/{tag}, "x"'})
    assert (same.status_code, same.content, same.headers["etag"], same.headers["content-length"]) == (304, b"", tag, "5")
    other = ada.get("/blob", params=where, headers={"If-Match": '"x"'})
    assert (other.status_code, other.json()["code"], other.headers["etag"]) == (412, "conflict", tag)
    assert ada.get("/blob", params=where | {"id": "Ada"}).status_code == 404
    assert ada.get("/blob", params=where | {"property": "age"}).status_code == 400


def test_the_schema(ada: httpx.Client) -> None:
    found = ada.get("/schema").json()
    assert list(found) == ["schema_source", "system_columns"]
    assert "node Person" in found["schema_source"]
    assert found["system_columns"] == {"id": "id", "src": "src", "dst": "dst"}


def test_the_snapshot(ada: httpx.Client) -> None:
    found = ada.get("/snapshot").json()
    assert [d["entity_kind"] for d in found["datasets"]] == ["edge", "node"]
    assert all(0 < d["published_dataset_version"] < 2**53 for d in found["datasets"])
    assert found["graph_manifest_version"] > 0


def test_the_description_names_every_route(server: Running, ada: httpx.Client) -> None:
    found = httpx.get(f"{server.url}/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    assert found["components"]["securitySchemes"] == {"bearer_token": {"type": "http", "scheme": "bearer"}}
    ids = {operation["operationId"] for methods in found["paths"].values() for operation in methods.values()}
    assert {"health", "listGraphs", "cluster_query", "cluster_mutate_if_graph_commit", "cluster_headBlob"} <= ids
    assert "<h1>" in httpx.get(f"{server.url}/docs").text
    assert "omnigraph_http_requests_total" in ada.get(f"{server.url}/metrics").text
