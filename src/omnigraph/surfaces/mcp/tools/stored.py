"""Stored queries as tools: each is one, typed by its parameters; from many on, two tools list and run them.

    query find($name: String, $least: I64?) @description("Who is called so.") { … }

    find {"name": {"type": "string"}, "least": {"type": ["string", "null"], "pattern": "^-?\\d+$"}}

Parameters are inputs beside `branch` and the like, unless a parameter has that name. Whole numbers of 64 bits are texts, since
JSON of other languages does not hold them exactly. A query that the caller may not invoke is no tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from omnigraph.errors import NotFound, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import STORED_QUERY_TOOLS
from omnigraph.policy.port import Access, Action
from omnigraph.service import Caller, GraphRef
from omnigraph.service.operations.invoke_query import InvokeQuery
from omnigraph.surfaces.mcp.answering.bounds import paged
from omnigraph.surfaces.mcp.answering.page_tokens import position, token
from omnigraph.surfaces.mcp.session import Call, Session
from omnigraph.surfaces.mcp.tool import About, Input, Json, Nothing, Tool
from omnigraph.surfaces.mcp.tools.inputs import Branch, PageToken, Params, Snapshot
from omnigraph.surfaces.mcp.tools.reading import Limit, Rows, rows
from omnigraph.wire.outputs import ChangeOutput, StoredQueryOutput

if TYPE_CHECKING:
    from omnigraph.catalog.signature import QueryParameter
    from omnigraph.service.stored import StoredQuery

_PLAIN: Final[Mapping[str, Json]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "bigint": {"type": "string", "pattern": r"^-?\d+$"},
    "float": {"type": "number"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "blob": {"type": "string", "description": "`base64:` and bytes, or the URI of what is kept elsewhere."},
}


class Around(Input, frozen=True):
    """What may be said beside the parameters of a stored query."""

    branch: Branch = None
    snapshot: Snapshot = None
    limit: Limit = None
    page_token: PageToken = None


_AROUND: Final = tuple(msgspec.structs.fields(Around))


@frozen(slots=False)
class StoredTool(Tool):
    """A tool that is a stored query."""

    parameters: tuple[QueryParameter, ...] = ()

    def given(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], Around]:
        """Parameters, and what is said beside them."""
        names = {parameter.name for parameter in self.parameters}
        params = {name: value for name, value in arguments.items() if name in names}
        rest = {name: value for name, value in arguments.items() if name not in names}
        around = msgspec.convert(rest, Around)
        return {p.name: _value(p, params[p.name]) for p in self.parameters if p.name in params}, around


def _value(parameter: QueryParameter, given: Any) -> Any:
    """A value as the query takes it: whole numbers that travel as text are numbers again."""
    if parameter.kind == "bigint":
        return _whole(parameter.name, given)
    if parameter.item_kind == "bigint" and isinstance(given, list):
        return [_whole(parameter.name, item) for item in given]
    return given


def _whole(name: str, given: Any) -> Any:
    if isinstance(given, str):
        text = given.strip().removeprefix("-")
        if not (text.isascii() and text.isdigit() and len(text) <= 20):
            raise UsageError(f"`{name}` must be a whole number as text, not {given[:50]!r}", hint='For example "42".')
        return int(given)
    return given


def schema_of_parameter(parameter: QueryParameter) -> Json:
    """What a parameter takes, as JSON Schema."""
    if parameter.kind == "vector":
        size = parameter.vector_dim or 0
        found: Json = {"type": "array", "items": {"type": "number"}, "minItems": size, "maxItems": size}
    elif parameter.kind == "list":
        found = {"type": "array", "items": dict(_PLAIN[parameter.item_kind or "string"])}
    else:
        found = dict(_PLAIN[parameter.kind])
    return {**found, "type": [found["type"], "null"]} if parameter.nullable else found


def stored_tools(session: Session, caller: Caller, fixed: Mapping[str, Tool]) -> list[Tool]:
    """The tools that the stored queries of a session make, as far as the caller may invoke them."""
    known = {graph: exposed(session, caller, ref) for graph, ref in session.graphs.items()}
    every = [query for queries in known.values() for query in queries]
    if not every:
        return []
    names = {query.tool_name for query in every}
    if len(every) >= STORED_QUERY_TOOLS or len(session.graphs) > 1 or names & set(fixed) or len(names) < len(every):
        return list(MANY)
    return [_tool(query) for query in every]


def exposed(session: Session, caller: Caller, graph: GraphRef) -> list[StoredQuery]:
    """The stored queries of a graph that a caller may know of."""
    found = session.stored.get(graph.name, ())
    may = session.door.may
    allowed = [q for q in found if may(caller, graph, Access(Action.INVOKE_QUERY, query=q.name))]
    return [q for q in allowed if not (session.read_only and q.mutation)]


def hidden_query(session: Session, tool: str) -> tuple[GraphRef, Access] | None:
    """The right that calling a stored query needs, if a tool that is not there is one."""
    for graph, ref in session.graphs.items():
        for query in session.stored.get(graph, ()):
            if query.tool_name == tool:
                return ref, Access(Action.INVOKE_QUERY, query=query.name)
    return None


def _tool(query: StoredQuery) -> Tool:
    told = " ".join(text for text in (query.description, query.instruction) if text)
    names = {parameter.name for parameter in query.params}
    around = Tool("", "", "", Around, Rows, _nothing).inputs()["properties"]
    beside = {name: about for name, about in around.items() if name not in names and (not query.mutation or name == "branch")}
    schema: Json = {
        "type": "object",
        "properties": {**{p.name: schema_of_parameter(p) for p in query.params}, **beside},
        "required": [p.name for p in query.params if not p.nullable],
        "additionalProperties": False,
    }

    def run(call: Call, given: tuple[dict[str, Any], Around]) -> Any:
        params, beside = given
        return _invoked(call, query, params, beside)

    return StoredTool(
        query.tool_name,
        query.name.replace("_", " ").capitalize(),
        told or f"Run the stored {query.kind} `{query.name}`.",
        Nothing,
        ChangeOutput if query.mutation else Rows,
        run,
        "changes" if query.mutation else "reads",
        (),
        input_schema=schema,
        parameters=query.params,
    )


def _nothing(call: Call, given: Any) -> Any:
    raise NotImplementedError  # a shape to take inputs from, never called


def _invoked(call: Call, query: StoredQuery, params: dict[str, Any], around: Around) -> Any:
    def asked(branch: str | None, at: str | None) -> Any:
        session = call.session
        return call.run(
            InvokeQuery(
                call.graph,
                query.name,
                query,
                params,
                branch,
                at,
                timeout=session.query_seconds,
                memory_limit=session.query_bytes,
                cancel=call.cancel,
            )
        )

    branch, snapshot = call.state(around.branch, around.snapshot)
    if query.mutation:
        return asked(branch, snapshot).to_dict()
    return rows(call, asked, branch, snapshot, around.limit, around.page_token)


class StoredQueryList(Input, frozen=True):
    """A page of the stored queries."""

    page_token: PageToken = None


class StoredQueriesPage(msgspec.Struct, frozen=True, kw_only=True):
    """The stored queries, by name."""

    queries: list[StoredQueryOutput]
    next_page_token: str | msgspec.UnsetType = msgspec.UNSET
    truncated: list[str] | msgspec.UnsetType = msgspec.UNSET


def stored_query_list(call: Call, given: StoredQueryList) -> Any:
    """Which there are, and what they take."""
    after = (position(call, given.page_token, str) or [""])[0]
    found = [q.signature.to_dict() for q in exposed(call.session, call.caller, call.graph) if q.name > after]
    return paged({}, "queries", found, lambda taken: token(call, found[taken - 1]["name"]))


class StoredQueryRun(Around, frozen=True, kw_only=True):
    """Which one, and with what."""

    name: Annotated[str, About("Name of the stored query, as `stored_query_list` shows it.")]
    params: Params = None


class StoredAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of a read, or what a mutation did."""

    query_name: str


def stored_query_run(call: Call, given: StoredQueryRun) -> Any:
    """One of them."""
    query = next((q for q in exposed(call.session, call.caller, call.graph) if given.name in (q.name, q.tool_name)), None)
    if query is None:
        call.session.denied(call.caller, call.tool, call.graph, Access(Action.INVOKE_QUERY, query=given.name[:200]))
        raise NotFound("stored query not found", what="stored query", hint="`stored_query_list` shows which there are.")
    params = given.params or {}
    known = {p.name: _value(p, params[p.name]) for p in query.params if p.name in params}
    return _invoked(call, query, {**params, **known}, Around(**{f.name: getattr(given, f.name) for f in _AROUND}))


MANY: Final = (
    Tool(
        "stored_query_list",
        "List stored queries",
        "List the stored queries of the graph: what each does, and which parameters it takes.",
        StoredQueryList,
        StoredQueriesPage,
        stored_query_list,
        needs=(),
    ),
    Tool(
        "stored_query_run",
        "Run a stored query",
        "Run a stored query by its name. Whole numbers of 64 bits (`bigint`) are given as text.",
        StoredQueryRun,
        StoredAnswer,
        stored_query_run,
        "changes",
        (),
    ),
)
"""Tools for stored queries where they are too many to be one each."""
