"""The OpenAPI 3.1 document, made from the table of routes and the structs of the wire."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from omnigraph.surfaces.http.describing.parameters import PARAMETERS, REPEATABLE
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


def document(routes: Iterable[Route], version: str, *, secured: bool) -> dict[str, Any]:
    """The document."""
    shown = [route for route in routes if route.documented]
    used = (struct for route in shown for struct in (route.body, route.answer, route.other_answer) if struct)
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
    if route.operation_id in REPEATABLE:
        found["parameters"].append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "schema": {"type": "string", "maxLength": 200},
                "description": "the same request with the same key happens once on a branch, within a day",
            }
        )
    content = _content_of_body(route, structs)
    if content is not None:
        found["requestBody"] = {"required": not route.optional_body, "content": content}
    found["responses"] = _responses(route, structs)
    return found


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    names = re.findall(r"\{(\w+)\}", route.path)
    return [{"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in names]


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "required": required, "schema": schema, "description": text}
        for name, required, schema, text in PARAMETERS.get(route.operation_id, ())
    ]


def _content_of_body(route: Route, structs: dict[Any, Any]) -> dict[str, Any] | None:
    if route.body is not None:
        return {"application/json": {"schema": structs[route.body]}}
    if route.operation_id == "cluster_loadNdjson":
        return {"application/x-ndjson": {"schema": {"type": "string"}}}
    if route.operation_id == "cluster_loadFiles":
        return {"application/x-tar": {"schema": {"type": "string", "format": "binary"}}}
    return None


def _responses(route: Route, structs: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if route.answer is not None:
        either = [structs[struct] for struct in (route.answer, route.other_answer) if struct is not None]
        schema = {"anyOf": either} if len(either) > 1 else either[0]
        found["200"] = {"description": "Done", "content": {"application/json": {"schema": schema}}}
        if route.operation_id == "deployment_apply":
            found["202"] = {**found["200"], "description": "It has begun, and goes on"}
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
