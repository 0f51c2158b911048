"""The OpenAPI 3.1 document, made from the table of routes and the structs of the wire."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from omnigraph.surfaces.http.routing import Route
from omnigraph.wire.errors import ErrorOutput

_ERRORS: Final = {
    "400": "The request is wrong",
    "401": "No token, or one that nobody has",
    "403": "The policy does not let this caller do it",
    "404": "No such thing",
    "405": "The path is not for this method",
    "409": "Somebody else got there first, or what is there is in the way",
    "410": "History was reclaimed",
    "412": "A condition does not hold",
    "413": "A limit would be exceeded",
    "415": "The body is of another kind",
    "416": "The Blob has no such part",
    "424": "A place outside the graph cannot be read",
    "429": "The caller has as much under way as it may",
    "500": "Something failed inside",
    "503": "Not now",
}

_PARAMETERS: Final[dict[str, tuple[tuple[str, bool, dict[str, Any], str], ...]]] = {
    "cluster_getSnapshot": (("branch", False, {"type": "string"}, "main by default"),),
    "cluster_listCommits": (
        ("branch", False, {"type": "string"}, "main by default"),
        ("limit", False, {"type": "integer", "minimum": 1}, "all by default"),
        ("page_token", False, {"type": "string"}, "where a page ended"),
    ),
    "cluster_getSchema": (("branch", False, {"type": "string"}, "main by default"),),
    "cluster_loadNdjson": (
        ("branch", False, {"type": "string"}, "main by default"),
        ("from", False, {"type": "string"}, "where the branch starts if it is not there"),
        ("mode", False, {"type": "string", "enum": ["append", "merge", "overwrite"]}, "merge by default"),
    ),
    "cluster_getBlob": (
        ("entity", True, {"type": "string", "enum": ["node", "edge"]}, "a node or an edge"),
        ("type", True, {"type": "string"}, "its type"),
        ("id", True, {"type": "string"}, "its id"),
        ("property", True, {"type": "string"}, "which Blob"),
        ("branch", False, {"type": "string"}, "main by default"),
        ("snapshot", False, {"type": "string"}, "a commit id, instead of a branch"),
    ),
}
_CHANGES: Final = (
    ("page_token", False, {"type": "string"}, "where a page ended inside a commit"),
    ("limit", False, {"type": "integer", "minimum": 1, "maximum": 8192}, "changes on a page, 1000 by default"),
    *(
        (name, False, {"type": "array", "items": {"type": "string"}}, "only these; may be given several times")
        for name in ("kind", "type", "op")
    ),
)
_FEED: Final = (
    ("branch", False, {"type": "string"}, "main by default"),
    ("cursor", False, {"type": "string"}, "where to go on"),
    ("start", False, {"type": "string"}, "now, beginning or after:<commit id>"),
    *_CHANGES,
)


def document(routes: Iterable[Route], version: str, *, secured: bool) -> dict[str, Any]:
    """The document."""
    shown = [route for route in routes if route.documented]
    used = (struct for route in shown for struct in (route.body, route.answer) if struct is not None)
    structs = [*dict.fromkeys(used), ErrorOutput]
    schemas, components = msgspec.json.schema_components(structs, ref_template="#/components/schemas/{name}")
    by_struct = dict(zip(structs, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in shown:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_struct, secured=secured)
        if route.operation_id == "cluster_getBlob":
            head = _operation(route, by_struct, secured=secured)
            paths[route.path]["head"] = {**head, "operationId": "cluster_headBlob", "summary": "Blob metadata"}
    all_components: dict[str, Any] = {"schemas": components}
    if secured:
        all_components["securitySchemes"] = {"bearer_token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Omnigraph API", "version": version, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": paths,
        "components": all_components,
    }


def _operation(route: Route, structs: dict[Any, Any], *, secured: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": route.operation_id,
        "summary": route.summary,
        "parameters": [*_path_parameters(route), *_query_parameters(route)],
    }
    if route.deprecated_for is not None:
        found["deprecated"] = True
    if secured and not route.open:
        found["security"] = [{"bearer_token": []}]
    if route.path.endswith("/if-graph-commit"):
        found["parameters"].append(
            {
                "name": "Omnigraph-If-Graph-Commit",
                "in": "header",
                "required": True,
                "schema": {"type": "string"},
                "description": "the commit that the branch must be at",
            }
        )
    content = _content_of_body(route, structs)
    if content is not None:
        found["requestBody"] = {"required": True, "content": content}
    found["responses"] = _responses(route, structs)
    return found


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    names = re.findall(r"\{(\w+)\}", route.path)
    return [{"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in names]


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    by_id = {**_PARAMETERS, "cluster_getCommitChanges": _CHANGES, "cluster_pollChanges": _FEED}
    return [
        {"name": name, "in": "query", "required": required, "schema": schema, "description": text}
        for name, required, schema, text in by_id.get(route.operation_id, ())
    ]


def _content_of_body(route: Route, structs: dict[Any, Any]) -> dict[str, Any] | None:
    if route.body is not None:
        return {"application/json": {"schema": structs[route.body]}}
    if route.operation_id == "cluster_loadNdjson":
        return {"application/x-ndjson": {"schema": {"type": "string"}}}
    return None


def _responses(route: Route, structs: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if route.answer is not None:
        found["200"] = {"description": "Done", "content": {"application/json": {"schema": structs[route.answer]}}}
        if route.operation_id == "ready":
            found["503"] = {**found["200"], "description": "Not now"}
    elif route.operation_id == "cluster_getBlob":
        binary = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        found["200"] = {"description": "All of it", "content": binary}
        found["206"] = {"description": "A part", "content": binary}
        found["302"] = {"description": "It is elsewhere"}
        found["304"] = {"description": "Not changed"}
    else:
        lines = {"application/x-ndjson": {"schema": {"type": "string"}}}
        last = ", and a last line that says where the feed goes on" if route.operation_id.endswith("Baseline") else ""
        found["200"] = {"description": f"A line per entity{last}", "content": lines}
    error = {"application/json": {"schema": structs[ErrorOutput]}}
    for status, text in _ERRORS.items():
        found.setdefault(status, {"description": text, "content": error})
    return found
