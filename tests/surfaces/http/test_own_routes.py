"""Routes that the contract does not have: what they answer, and what they refuse."""

from __future__ import annotations

import io
import json
import tarfile

import httpx
import pytest
from tests.surfaces.http.conftest import Running

NAMES = "query names() { match { $p: Person } return { $p.name } order { $p.name asc } }"
KNOWS = "query knows() { match { $p: Person  $p knows $q } return { $p.name, $q.name } }"
ADD = "query add($n: String, $a: I32?) { insert Person { name: $n, age: $a } }"
AGE = "query age($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
TAR = {"Content-Type": "application/x-tar"}


def branch(client: httpx.Client, name: str, from_: str = "main") -> str:
    """A branch for one test."""
    assert client.post("/branches", json={"name": name, "from": from_}).status_code == 200
    return name


def changed(client: httpx.Client, on: str, name: str, age: int, query: str = AGE) -> str:
    """A commit of a branch."""
    answered = client.post("/mutate", json={"query": query, "params": {"n": name, "a": age}, "branch": on, "message": f"{age}"})
    assert answered.status_code == 200, answered.text
    commit = answered.json()["commit"]
    assert commit["message"] == f"{age}"
    return str(commit["graph_commit_id"])


def archive(*files: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as made:
        for name, content in files:
            about = tarfile.TarInfo(name)
            about.size, about.type = len(content), kind
            made.addfile(about, io.BytesIO(content))
    return sink.getvalue()


def test_a_diff(ada: httpx.Client) -> None:
    on = branch(ada, "own/diff")
    changed(ada, on, "Ada", 90)
    changed(ada, on, "Dora", 1, ADD)
    found = ada.get("/diff", params={"from": "main", "to": on}).json()
    assert list(found) == [
        "from_graph_commit_id",
        "to_graph_commit_id",
        "from_graph_manifest_version",
        "to_graph_manifest_version",
        "changes",
        "published_dataset_versions",
        "stats",
    ]
    assert found["stats"] == {"inserts": 1, "updates": 1, "deletes": 0, "types_affected": ["Person"]}
    assert [(c["id"], c["op"]) for c in found["changes"]] == [("Ada", "update"), ("Dora", "insert")]
    assert found["changes"][0]["after"]["properties"]["age"] == 90
    only = ada.get("/diff", params={"from": "main", "to": on, "op": "insert", "type": "Person", "kind": "node"}).json()
    assert [c["id"] for c in only["changes"]] == ["Dora"]
    assert ada.get("/diff", params={"from": "main"}).status_code == 400
    assert ada.get("/diff", params={"from": "main", "to": "nowhere"}).status_code == 404
    assert ada.get("/diff", params={"from": "main", "to": on, "op": "x"}).status_code == 400


def test_tags(ada: httpx.Client) -> None:
    on = branch(ada, "own/tags")
    commit = changed(ada, on, "Ada", 50)
    made = ada.post("/tags", json={"name": "v1/a", "branch": on})
    assert made.status_code == 200
    tag = made.json()
    assert list(tag) == ["name", "graph_commit_id", "owner", "created_by", "created_at"]
    assert (tag["name"], tag["graph_commit_id"], tag["created_by"]) == ("v1/a", commit, "ada")
    assert tag["owner"]["name"] == on
    assert tag in ada.get("/tags").json()["tags"]
    assert ada.post("/query", json={"query": NAMES, "snapshot": "v1/a"}).status_code == 200
    taken = ada.post("/tags", json={"name": "v1/a", "commit": commit})
    assert (taken.status_code, taken.json()["condition"]) == (409, "already_exists")
    assert ada.post("/tags", json={"name": "x", "commit": commit, "branch": on}).status_code == 400
    assert ada.post("/tags", json={"name": "y", "commit": "nothing"}).status_code == 404
    gone = ada.request("DELETE", "/tags/v1%2Fa").json()
    assert (gone["name"], gone["actor_id"], gone["deleted"]["deleted_by"]) == ("v1/a", "ada", "ada")
    assert gone["deleted"] in ada.get("/tags/deleted").json()["deleted"]
    assert ada.request("DELETE", "/tags/v1%2Fa").status_code == 404


def test_a_branch_says_where_it_came_from(ada: httpx.Client) -> None:
    on = branch(ada, "own/of")
    found = ada.get("/branches/own%2Fof").json()
    assert list(found) == ["name", "incarnation", "origin", "fork_commit_id", "created_by", "created_at"]
    assert (found["name"], found["origin"]["name"], found["created_by"]) == (on, "main", "ada")
    assert ada.get("/branches/own%2Fnone").status_code == 404
    last = ada.request("DELETE", "/branches/own%2Fof").json()["commit"]
    assert (last["graph_branch"], last["actor_id"]) == (on, "ada")


def test_merges_are_previewed_and_conflicts_resolved(ada: httpx.Client) -> None:
    ours, theirs = branch(ada, "own/ours"), branch(ada, "own/theirs")
    changed(ada, ours, "Ada", 60)
    changed(ada, theirs, "Ada", 61)
    wanted = {"source": theirs, "target": ours}
    preview = ada.post("/branches/merge", json={**wanted, "dry_run": True}).json()
    assert (preview["outcome"], preview["dry_run"]) == ("conflicts", True)
    [conflict] = preview["merge_conflicts"]
    assert (conflict["ours"], conflict["theirs"]) == ({"age": 60}, {"age": 61})
    refused = ada.post("/branches/merge", json=wanted)
    assert refused.status_code == 409
    assert [c["key"] for c in refused.json()["conflicts"]] == [conflict["key"]]
    for wrong in ("mine", 5, {"k": "mine"}, ["ours"]):
        assert ada.post("/branches/merge", json={**wanted, "resolve": wrong}).status_code == 400
    both = ada.post("/branches/merge", json={**wanted, "dry_run": True, "delete_branch": True})
    assert both.status_code == 400
    done = ada.post("/branches/merge", json={**wanted, "resolve": {conflict["key"]: {"age": 62}}, "message": "settled"}).json()
    assert (done["outcome"], done["commit"]["message"]) == ("merged", "settled")
    assert done["commit"]["graph_commit_id"] == done["graph_commit_id"]


def test_a_commit_is_undone(ada: httpx.Client) -> None:
    on = branch(ada, "own/revert")
    commit = changed(ada, on, "Ada", 70)
    preview = ada.post("/revert", json={"commit": commit, "branch": on, "dry_run": True}).json()
    assert (preview["outcome"], len(preview["changes"]), "commit" in preview) == ("reverted", 1, False)
    done = ada.post("/revert", json={"commit": commit, "branch": on}).json()
    assert (done["outcome"], done["source"], done["target"], done["actor_id"]) == ("reverted", commit, on, "ada")
    assert ada.post("/revert", json={"commit": "nothing", "branch": on}).status_code == 404


def test_plans_and_numbers(ada: httpx.Client, server: Running) -> None:
    plan = ada.post("/explain", json={"query": NAMES, "analyze": True, "traversal": "csr"}).json()
    assert (plan["query_name"], plan["analyzed"], plan["plan"][0]["depth"]) == ("names", True, 0)
    assert ada.post("/explain", json={"query": "query"}).status_code == 400
    assert ada.post("/explain", json={"query": NAMES, "branch": "main", "snapshot": "x"}).status_code == 400
    stats = ada.get("/stats", params={"branch": "main"}).json()
    assert {t["name"]: t["kind"] for t in stats["types"]} == {"Person": "node", "Knows": "edge"}
    assert ada.get("/stats", params={"branch": "none"}).status_code == 404
    found = ada.post("/subgraph", json={"query": KNOWS}).json()
    assert [(n["type"], n["id"]) for n in found["nodes"]] == [("Person", "Ada"), ("Person", "Bob")]
    [edge] = found["edges"]
    assert (edge["source"], edge["target"]) == ({"type": "Person", "id": "Ada"}, {"type": "Person", "id": "Bob"})
    assert edge["properties"]["since"] == "2020-01-01"


def test_schemas(ada: httpx.Client) -> None:
    on = branch(ada, "own/schema")
    accepted = ada.get("/schema/accepted", params={"branch": on}).json()
    assert list(accepted) == ["graph_commit_id", "schema_source", "schema_ir"]
    wider = {"schema_source": accepted["schema_source"].replace("age: I32?", "age: I32?  town: String"), "branch": on}
    plan = ada.post("/schema/plan", json={**wider, "backfill": {"Person.town": "Oslo"}}).json()
    assert (plan["supported"], [step["kind"] for step in plan["steps"]]) == (True, ["add_property"])
    assert not ada.post("/schema/plan", json=wider).json()["supported"]
    done = ada.post("/schema/apply", json={**wider, "backfill": {"Person.town": "Oslo"}}).json()
    assert (done["applied"], done["commit"]["graph_branch"]) == (True, on)
    assert "town" not in ada.get("/schema").json()["schema_source"]
    assert "commit" not in ada.post("/schema/apply", json=wider).json()


def test_upkeep(ada: httpx.Client) -> None:
    assert {t["type"] for t in ada.post("/optimize", json={}).json()["types"]} == {"Person", "Knows"}
    preview = ada.post("/cleanup", json={"keep": 1, "older_than": "0s"}).json()
    assert preview["dry_run"] is True
    assert ada.post("/cleanup", json={"older_than": "soon"}).status_code == 400
    report = ada.post("/verify", json={"deep": True}).json()
    assert (report["ok"], report["problems"]) == (True, [])
    assert ada.post("/embed", json={}).status_code == 400
    hidden = ada.get("/commits", params={"maintenance": "true"}).json()["commits"]
    assert len(hidden) >= len(ada.get("/commits").json()["commits"])
    assert ada.get("/commits", params={"maintenance": "perhaps"}).status_code == 400


def test_which_model_makes_vectors(ada: httpx.Client) -> None:
    on = branch(ada, "own/vectors")
    source = ada.get("/schema").json()["schema_source"] + "\nnode Note { body: String  vec: Vector(4)? @embed(body) }\n"
    assert ada.post("/schema/apply", json={"schema_source": source, "branch": on}).status_code == 200
    asked = {"type": "Note", "property": "vec", "branch": on}
    assert ada.get("/embedding-model", params=asked).json() == {"type": "Note", "property": "vec", "models": []}
    noted = ada.post("/embedding-model", json={**asked, "model": "m"})
    assert noted.json()["models"] == [{"model": "m", "made_up": False}]
    assert ada.get("/embedding-model", params=asked).json() == noted.json()
    assert ada.post("/embedding-model", json={**asked, "model": "m"}).json() == noted.json()
    refused = ada.post("/embedding-model", json={**asked, "model": "other"})
    assert (refused.status_code, "were made by model `m`" in refused.json()["error"]) == (400, True)
    later = {**asked, "branch": "own/later", "from": on, "model": "m"}
    assert ada.post("/embedding-model", json=later).status_code == 200, "the branch will be made by the write that follows"
    for wrong in ({"type": "Note"}, {"type": "Note", "property": "body", "branch": on}, {"type": "No", "property": "vec"}):
        assert ada.get("/embedding-model", params=wrong).status_code == 400


def test_who_asks(ada: httpx.Client) -> None:
    root = str(ada.base_url).partition("/graphs/")[0]
    assert ada.get(f"{root}/whoami").json() == {"actor_id": "ada", "groups": []}
    assert httpx.get(f"{root}/whoami").status_code == 401


ZOE = 'query q() { match { $p: Person { name: "Zoe 10" } } return { $p.age as age } }'


def test_files_are_loaded_as_one_commit(ada: httpx.Client) -> None:
    on = branch(ada, "own/files")
    people = b"name,age\nCarl,5\n"
    lines = json.dumps({"edge": "Knows", "from": "Carl", "to": "Ada"}).encode()
    sent = archive(("0000/Person.csv", people), ("0001/records.jsonl", lines))
    done = ada.post("/load/files", params={"branch": on, "message": "files"}, content=sent, headers=TAR).json()
    assert (done["nodes"], done["edges"]) == (
        [{"name": "Person", "entities_loaded": 1}],
        [{"name": "Knows", "entities_loaded": 1}],
    )
    assert done["commit"]["message"] == "files"
    numbered = archive(*((f"{n}/Person.csv", f"name,age\nZoe {n},{n}\n".encode()) for n in (10, 9, 2)))
    assert ada.post("/load/files", params={"branch": on}, content=numbered, headers=TAR).status_code == 200
    assert ada.post("/query", json={"query": ZOE, "branch": on}).json()["rows"] == [{"age": 10}]
    wrong = ada.post(
        "/load/files", params={"branch": on}, content=archive(("0000/Person.csv", b"name,age\nX,old\n")), headers=TAR
    )
    assert wrong.status_code == 400
    [violation] = wrong.json()["violations"]
    assert (violation["file"], violation["line"]) == ("0000/Person.csv", 2)
    assert "/omnigraph-load-" not in wrong.text


@pytest.mark.parametrize("name", ["../x.jsonl", "/etc/x.jsonl", "x.jsonl", "0000/../../x.jsonl", "0000/", "0000/a/../b.jsonl"])
def test_hostile_members_are_refused(ada: httpx.Client, name: str) -> None:
    assert ada.post("/load/files", content=archive((name, b"")), headers=TAR).status_code == 400


def test_other_archives_are_refused(ada: httpx.Client) -> None:
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.GNUTYPE_SPARSE, tarfile.CHRTYPE):
        assert ada.post("/load/files", content=archive(("0000/x.jsonl", b""), kind=kind), headers=TAR).status_code == 400
    assert ada.post("/load/files", content=b"no archive", headers=TAR).status_code == 400
    assert ada.post("/load/files", content=archive(("0000/x.jsonl", b""))).status_code == 415
    assert ada.post("/load/files", params={"mode": "x"}, content=b"", headers=TAR).status_code == 400
    assert (
        ada.post("/load/files", params={"branch": "none"}, content=archive(("0000/x.jsonl", b"")), headers=TAR).status_code == 404
    )


def test_single_entities(ada: httpx.Client) -> None:
    on = branch(ada, "own/entities")
    done = ada.post("/put", json={"type": "Person", "values": {"name": "Pat", "age": 3}, "branch": on, "message": "put"}).json()
    assert (done["affected_nodes"], done["commit"]["message"]) == (1, "put")
    late = ada.post("/put", json={"type": "Person", "values": {"name": "Pat"}, "branch": on, "if_graph_commit": "x"})
    assert late.status_code == 412
    ada.post("/put", json={"type": "Person", "values": {"name": "Pat", "day": "2024-01-02"}, "patch": True, "branch": on})
    ends = {"from": "Pat", "to": {"node": {"type": "Person", "id": "Ada"}}}
    assert ada.post("/put", json={"type": "Knows", **ends, "branch": on}).json()["affected_edges"] == 1
    assert ada.post("/put", json={"type": "Knows", "from": "Pat", "branch": on}).status_code == 400
    found = ada.post("/get", json={"type": "Person", "key": "Pat", "branch": on}).json()
    assert (found["node"]["properties"]["age"], found["node"]["properties"]["day"], found["edge"]) == (3, "2024-01-02", None)
    assert ada.post("/get", json={"type": "Person", "key": "Nobody", "branch": on}).json() == {"node": None, "edge": None}
    assert ada.post("/get", json={"type": "Person", "branch": on}).status_code == 400
    assert ada.post("/get", json={"type": "Nothing", "key": "x", "branch": on}).status_code == 404
    [neighbor] = ada.post("/neighbors", json={"type": "Person", "key": "Pat", "branch": on, "direction": "out"}).json()[
        "neighbors"
    ]
    assert (neighbor["node"]["id"], neighbor["edge"]["type"], neighbor["direction"]) == ("Ada", "Knows", "out")


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("put", {"type": "Person", "values": {"name": "Zoe"}, "pach": True}),
        ("put", {"type": "Person", "data": {"name": "Zoe"}}),
        ("cleanup", {"dryrun": True}),
        ("optimize", {"tpyes": ["Person"]}),
        ("revert", {"commits": [], "onto": "main"}),
        ("tags", {"name": "t", "comit": "main"}),
        ("explain", {"query": NAMES, "branhc": "main"}),
        ("get", {"type": "Person", "key": "Ada", "att": "main"}),
    ],
)
def test_a_misspelt_member_is_refused(ada: httpx.Client, route: str, body: dict[str, object]) -> None:
    before = ada.get("/commits").json()
    answered = ada.post(f"/{route}", json=body)
    assert answered.status_code == 400, answered.text
    assert "unknown field" in answered.json()["error"]
    assert ada.get("/commits").json() == before
