"""Resources: what an agent may read without calling a tool.

    omnigraph://schema                          the schema, as text
    omnigraph://branches, omnigraph://graphs    as JSON
    omnigraph://best-practices/{index, …}       guides, as Markdown

Of a session with several graphs, schema and branches stand below the graph: omnigraph://graphs/ID/schema.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from threading import Event
from typing import Final

from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_TOOL_BYTES
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.surfaces.mcp.catalogue import UnknownTool, call_tool
from omnigraph.surfaces.mcp.session import Call, Session

GUIDES: Final = {
    "index": "Start here: what there is to know, and where",
    "queries": "Writing queries that are right the first time",
    "data": "Loading and changing data safely",
    "schema": "Reading and designing schemas",
    "search": "Finding by words, by meaning, and both",
}
"""Guides by name."""

TEXT: Final = "text/plain"
JSON: Final = "application/json"
MARKDOWN: Final = "text/markdown"

_SCHEME: Final = "omnigraph://"


@frozen
class Resource:
    """Something to read."""

    uri: str
    name: str
    description: str
    kind: str


class UnknownResource(Exception):
    """There is no such resource, or not for this caller."""


def resources(session: Session) -> list[Resource]:
    """What there is to read."""
    found = []
    for graph, below in _graphs(session):
        of = f" of graph {graph}" if below else ""
        found += [
            Resource(f"{_SCHEME}{below}schema", f"schema{of}", f"The schema{of}", TEXT),
            Resource(f"{_SCHEME}{below}branches", f"branches{of}", f"The branches{of}", JSON),
        ]
    found.append(Resource(f"{_SCHEME}graphs", "graphs", "The graphs that are served here", JSON))
    found += [Resource(f"{_SCHEME}best-practices/{name}", name, about, MARKDOWN) for name, about in GUIDES.items()]
    return found


def _graphs(session: Session) -> list[tuple[str, str]]:
    """Each graph, and where its resources stand."""
    several = len(session.graphs) > 1
    return [(graph, f"graphs/{graph}/" if several else "") for graph in session.graph_ids]


def read(session: Session, uri: str, cancel: Event) -> tuple[str, str]:
    """A resource: its kind and its text."""
    if not uri.startswith(_SCHEME):
        raise UnknownResource(uri)
    path = uri.removeprefix(_SCHEME)
    if path.removeprefix("best-practices/") in GUIDES and path.startswith("best-practices/"):
        return MARKDOWN, guide(path.removeprefix("best-practices/"))
    if path == "graphs":
        return JSON, _of_tool(session, "graphs_list", {}, cancel)
    for graph, below in _graphs(session):
        if path == f"{below}branches":
            return JSON, _of_tool(session, "branches_list", {"graph": graph} if below else {}, cancel)
        if path == f"{below}schema":
            call = Call(session, session.caller(), session.graphs[graph], cancel, "schema_get", {})
            return TEXT, _shortened(call.run(ShowSchema(call.graph, call.branch(None))).source)
    raise UnknownResource(uri)


def _of_tool(session: Session, tool: str, arguments: dict[str, str], cancel: Event) -> str:
    """What a tool says; where there is no such tool, there is no such resource."""
    try:
        return call_tool(session, tool, arguments, cancel).text
    except UnknownTool:
        raise UnknownResource(tool) from None


def _shortened(text: str) -> str:
    """A text within the bound of answers; a longer one says how to get the rest."""
    if len(text.encode()) <= MAX_TOOL_BYTES:
        return text
    kept = text.encode()[: MAX_TOOL_BYTES - 200].decode("utf-8", "ignore")
    return f"{kept}\n// … the schema is longer: the tool schema_get gives all of it, in pages\n"


@cache
def guide(name: str) -> str:
    """A guide, as it is shipped."""
    return files("omnigraph.surfaces.mcp").joinpath("best_practices", f"{name}.md").read_text(encoding="utf-8")
