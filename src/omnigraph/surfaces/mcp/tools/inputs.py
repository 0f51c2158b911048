"""Inputs that several tools take, described once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from omnigraph.surfaces.mcp.tool import About

Branch = Annotated[str | None, About("The branch; the default branch of the session unless one is named.")]
Snapshot = Annotated[
    str | None, About("A commit id, tag, or time such as main@2026-01-31T12:00:00Z: the graph as it was. Excludes `branch`.")
]
PageToken = Annotated[
    str | None, About("`next_page_token` of the page before, sent with otherwise the same arguments: the next page.")
]
Query = Annotated[str, About("Text of one query or of several, in the query language of OmniGraph.")]
QueryName = Annotated[str | None, About("Which query of a text that holds several.")]
Params = Annotated[dict[str, Any] | None, About("Values of the parameters by name, without `$`.")]
Kinds = Annotated[list[Literal["node", "edge"]] | None, About("Only changes of nodes, or only of edges.")]
Types = Annotated[list[str] | None, About("Only changes of these types.")]
Ops = Annotated[list[Literal["insert", "update", "delete"]] | None, About("Only changes of these kinds.")]
