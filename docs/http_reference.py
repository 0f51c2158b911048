# ruff: noqa: E501
"""The page of the HTTP interface, from the same description that a server gives at `/openapi.json`.

Each example is a line of Python that `tests/test_docs.py` runs, one after the other, against a server that the page starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omnigraph.model.versions import API_VERSION
from omnigraph.surfaces.http.describing.openapi import document
from omnigraph.surfaces.http.routes import ROUTES

_ALL = '"query": "query all() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }"'
_ADD = '"query": "query add($n: String) { insert Person { name: $n } }"'

EXAMPLES: dict[str, str] = {
    "health": 'server.get("/healthz")',
    "ready": 'server.get("/readyz")',
    "whoami": 'server.get("/whoami")',
    "listGraphs": 'server.get("/graphs")',
    "discoverGraphs": 'server.get("/graphs/discovery")',
    "cluster_getSnapshot": 'people.get("/snapshot", params={"branch": "main"})',
    "cluster_getBlob": 'people.get("/blob", params={"entity": "node", "type": "Person", "id": "Ada", "property": "photo"}, headers={"Range": "bytes=0-3"})',
    "cluster_query": f'people.post("/query", json={{{_ALL}}})',
    "cluster_read": 'people.post("/read", json={"query_source": "query n() { match { $p: Person } return { count($p) as n } }"})',
    "cluster_mutate": f'people.post("/mutate", json={{{_ADD}, "params": {{"n": "Eve"}}, "message": "one more"}})',
    "cluster_mutate_if_graph_commit": f'people.post("/mutate/if-graph-commit", json={{{_ADD}, "params": {{"n": "Fay"}}}}, headers={{"Omnigraph-If-Graph-Commit": head()}})',
    "cluster_change": 'people.post("/change", json={"query_source": "query add() { insert Person { name: \\"Gil\\" } }"})',
    "cluster_getSchema": 'people.get("/schema")',
    "cluster_applySchema": 'people.post("/schema/apply", json={"schema_source": SCHEMA.replace("age: I32?", "age: I32?  city: String?")})',
    "cluster_planSchema": 'people.post("/schema/plan", json={"schema_source": SCHEMA.replace("age: I32?", "age: I32?  town: String?")})',
    "cluster_load": 'people.post("/load", json={"data": \'{"type": "Person", "data": {"name": "Hal"}}\', "mode": "merge"})',
    "cluster_loadNdjson": 'people.post("/load/ndjson", params={"mode": "merge"}, content=\'{"type": "Person", "data": {"name": "Ida"}}\\n\', headers={"Content-Type": "application/x-ndjson"})',
    "cluster_ingest": 'people.post("/ingest", json={"data": \'{"type": "Person", "data": {"name": "Jo"}}\', "branch": "ingested", "from": "main"})',
    "cluster_export": 'people.post("/export", json={"type_names": ["Knows"]})',
    "cluster_listBranches": 'people.get("/branches")',
    "cluster_createBranch": 'people.post("/branches", json={"name": "agent/7", "from": "main"})',
    "cluster_describeBranch": 'people.get("/branches/agent%2F7")',
    "cluster_deleteBranch": 'people.delete("/branches/ingested")',
    "cluster_mergeBranches": 'people.post("/branches/merge", json={"source": "agent/7", "target": "main", "delete_branch": True})',
    "cluster_listCommits": 'people.get("/commits", params={"limit": 2})',
    "cluster_getCommit": 'people.get(f"/commits/{head()}")',
    "cluster_getCommitChanges": 'people.get(f"/commits/{head()}/changes")',
    "cluster_pollChanges": 'people.get("/changes", params={"start": "beginning", "limit": 10})',
    "cluster_captureChangeBaseline": 'people.post("/changes/baseline", json={})',
    "cluster_diff": 'people.get("/diff", params={"from": "v1", "to": "main"})',
    "cluster_history": 'people.get("/history", params={"type": "Person", "key": "Ada"})',
    "cluster_stats": 'people.get("/stats")',
    "cluster_listTags": 'people.get("/tags")',
    "cluster_createTag": 'people.post("/tags", json={"name": "v1", "branch": "main"})',
    "cluster_listDeletedTags": 'people.get("/tags/deleted")',
    "cluster_deleteTag": 'people.delete("/tags/v1")',
    "cluster_revert": 'people.post("/revert", json={"commit": head(), "dry_run": True})',
    "cluster_explain": f'people.post("/explain", json={{{_ALL}, "analyze": True}})',
    "cluster_subgraph": 'people.post("/subgraph", json={"query": "query q() { match { $p: Person  $p knows $f } return { $p.name, $f.name } }"})',
    "cluster_getAcceptedSchema": 'people.get("/schema/accepted")',
    "cluster_optimize": 'people.post("/optimize", json={})',
    "cluster_cleanup": 'people.post("/cleanup", json={"keep": 10, "dry_run": True})',
    "cluster_verify": 'people.post("/verify", json={})',
    "cluster_get": 'people.post("/get", json={"type": "Person", "key": "Ada"})',
    "cluster_neighbors": 'people.post("/neighbors", json={"type": "Person", "key": "Ada"})',
    "cluster_put": 'people.post("/put", json={"type": "Person", "values": {"name": "Kim", "age": 7}})',
}
"""Operations to an example. Those that need what others made come after them on the page."""

FIRST = ("cluster_createTag", "cluster_createBranch", "cluster_ingest", "cluster_mutate")
"""Made before the others are shown; their own examples are not run a second time."""

_START = """```python
import os
import subprocess
import sys

import httpx

import omnigraph as og

SCHEMA = "node Person { name: String @key  age: I32?  photo: Blob? }  edge Knows: Person -> Person"
records = [
    {"type": "Person", "data": {"name": "Ada", "age": 36, "photo": "base64:aGVsbG8="}},
    {"type": "Person", "data": {"name": "Bob"}},
    {"edge": "Knows", "from": "Ada", "to": "Bob"},
]
with og.init("people.omni", schema=SCHEMA) as graph:
    graph.load(records)

process = subprocess.Popen(
    [sys.executable, "-m", "omnigraph", "serve", "people.omni", "--bind", "127.0.0.1:0"],
    stdout=subprocess.PIPE,
    text=True,
    env={**os.environ, "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": '{"ada": "a long secret"}'},
)
url = "http://" + process.stdout.readline().strip().removeprefix("OMNIGRAPH_LISTEN_ADDR=")
token = {"Authorization": "Bearer a long secret"}
server = httpx.Client(base_url=url, headers=token, timeout=30)
people = httpx.Client(base_url=f"{url}/graphs/people", headers=token, timeout=30)


def head():
    return people.get("/commits", params={"limit": 1}).json()["commits"][0]["graph_commit_id"]


def done(answer):
    assert answer.is_success, (answer.status_code, answer.text)
    return answer
```"""

_END = """```python
server.close()
people.close()
process.terminate()
assert process.wait(30) == 0
```"""

_HEAD = """Every route of a server, from the description that it gives at `/openapi.json`. [Serving graphs](../guide/server.md) is the way in. All routes but `/healthz`, `/readyz`,
`/docs` and `/openapi.json` want `Authorization: Bearer …`. Bodies and answers are JSON unless it says otherwise; errors have one form, [`ErrorOutput`](#erroroutput), and every answer has
an `X-Request-Id`. Names in paths are percent-encoded, a `/` in them as `%2F`.

The examples run against this server:"""


def http_page() -> str:
    """The whole page."""
    described = document(ROUTES, API_VERSION, secured=True)
    parts = [_HEAD, _START]
    parts += [_block(*(EXAMPLES[name] for name in FIRST))]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            parts.append("\n\n".join(_operation(method.upper(), path, operation)))
    parts.append("The examples end here.\n\n" + _END)
    parts.append("## Bodies and answers")
    parts += [_schema(name, schema) for name, schema in sorted(described["components"]["schemas"].items())]
    return "\n\n".join(parts)


def _block(*lines: str) -> str:
    return "```python\n" + "\n".join(f"done({line})" for line in lines) + "\n```"


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"## {method} {path}"
    old = " *For earlier clients.*" if operation.get("deprecated") else ""
    yield f"{operation['summary']}.{old}"
    given = [p for p in operation["parameters"] if p["in"] != "path"]
    if given:
        rows = [
            f"| `{p['name']}` | {p['in']}{', required' if p['required'] else ''} | {p.get('description', '')} |" for p in given
        ]
        yield "\n".join(["| parameter | in | |", "|---|---|---|", *rows])
    body = operation.get("requestBody")
    answer = operation["responses"].get("200")
    told = [f"Takes {_content(body)}." if body else "", f"Gives {_content(answer)}." if answer and "content" in answer else ""]
    if any(told):
        yield " ".join(text for text in told if text)
    name = operation["operationId"]
    if name in EXAMPLES:
        yield _block(EXAMPLES[name]) if name not in FIRST else f"```text\n{EXAMPLES[name]}\n```"


def _content(described: dict[str, Any]) -> str:
    found = []
    for kind, content in described["content"].items():
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        found.append(f"[`{name}`](#{name.lower()})" if name else f"`{kind}`")
    return " or ".join(found)


def _schema(name: str, schema: dict[str, Any]) -> str:
    about = f"\n\n{schema['description'].splitlines()[0]}" if schema.get("description") else ""
    required = set(schema.get("required", ()))
    rows = [
        f"| `{member}` | {_type(of)} | {'yes' if member in required else ''} |"
        for member, of in schema.get("properties", {}).items()
    ]
    table = "\n\n" + "\n".join(["| member | type | required |", "|---|---|---|", *rows]) if rows else ""
    return f"### {name}{about}{table}"


def _type(of: dict[str, Any]) -> str:
    if "$ref" in of:
        name = of["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in of:
        return " or ".join(_type(one) for one in of["anyOf"])
    if "enum" in of:
        return ", ".join(f"`{one}`" for one in of["enum"])
    if of.get("type") == "array":
        return f"array of {_type(of.get('items', {}))}"
    kind = of.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
