"""Stored queries of a graph on a server."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from omnigraph.catalog.signature import QueryParameter, QuerySignature
from omnigraph.client import spelling
from omnigraph.client.asking import Asking, keyed, plain, state
from omnigraph.client.values import receipt_of, result_of
from omnigraph.client.writes import CONDITION
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.execution.result import Result
from omnigraph.engine.write.receipt import Receipt
from omnigraph.model.types import PropertyType, Scalar
from omnigraph.wire import outputs as o

if TYPE_CHECKING:
    from omnigraph.catalog.signature import Kind

ARROW = "application/vnd.apache.arrow.stream"


class Stored(Asking):
    """Stored queries."""

    @guarded()
    def stored_queries(self) -> list[QuerySignature]:
        """The queries that the server stores with the graph, by name, as far as whoever asks may invoke them."""
        return [_signature(found) for found in self._transport.get("/queries", o.QueriesCatalogOutput).queries]

    @guarded()
    def invoke(
        self,
        name: str,
        params: Mapping[str, object] | None = None,
        *,
        branch: str | None = None,
        at: State | None = None,
        if_commit: State | None = None,
        expect_mutation: bool | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        cancel: Event | None = None,
    ) -> Result | Receipt:
        """Run a stored query: a read gives a `Result`, a mutation a `Receipt`. `expect_mutation`: which it must be.

        What is known to be a read, or has an `idempotency_key`, is sent again when a connection breaks.
        """
        body: dict[str, object] = {"params": self._given(name, params), **state(branch, at)}
        body |= {"expect_mutation": expect_mutation, "message": message}
        path, headers = f"/queries/{quote(name, safe='')}", {"Accept": f"{ARROW}, application/json", **keyed(idempotency_key)}
        if if_commit is not None:
            path, headers = f"{path}/if-graph-commit", {**headers, CONDITION: name_of(if_commit)}
        again = expect_mutation is False or idempotency_key is not None
        sent = {k: v for k, v in body.items() if v is not None}
        found = self._transport.send("POST", path, body=sent, headers=headers, again=again, long=True, cancel=cancel)
        if found.headers.get("content-type", "").startswith(ARROW):
            return result_of(found.content)
        return receipt_of(msgspec.json.decode(found.content, type=o.ChangeOutput))

    def _given(self, name: str, params: Mapping[str, object] | None) -> dict[str, object] | None:
        """Parameters as the wire has them. What they are is asked for if one of them has no form in JSON."""
        if params is None or all(map(spelling.is_native, params.values())):
            return None if params is None else plain(params)
        declared = {p.name: _type(p) for query in self.stored_queries() if query.name == name for p in query.params}
        return plain(spelling.of_types(declared, params))


_SCALARS: Final[Mapping[str, Scalar]] = {
    "string": Scalar.STRING,
    "bool": Scalar.BOOL,
    "int": Scalar.I64,
    "bigint": Scalar.I64,
    "float": Scalar.F64,
    "date": Scalar.DATE,
    "datetime": Scalar.DATETIME,
    "blob": Scalar.BLOB,
    "vector": Scalar.VECTOR,
}


def _type(parameter: QueryParameter) -> PropertyType:
    """What a parameter takes, as far as its kind says it."""
    is_list = parameter.kind == "list"
    scalar = _SCALARS[(parameter.item_kind or "string") if is_list else parameter.kind]
    return PropertyType(scalar, parameter.nullable, is_list, dimension=parameter.vector_dim)


def _signature(said: o.StoredQueryOutput) -> QuerySignature:
    params = tuple(
        QueryParameter(
            p.name,
            p.kind,
            p.nullable,
            None if p.item_kind is UNSET else cast("Kind", p.item_kind),
            None if p.vector_dim is UNSET else p.vector_dim,
        )
        for p in said.params
    )
    description, instruction = (None if text is UNSET else text for text in (said.description, said.instruction))
    return QuerySignature(said.name, said.mutation, params, description, instruction, said.tool_name)
