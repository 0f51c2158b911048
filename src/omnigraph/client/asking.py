"""What every part of a connected graph needs: the connection, arguments as the wire has them, and schemas to read values by."""

from __future__ import annotations

import base64
import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, NoReturn, cast

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.ir import SchemaIR
from omnigraph.client import spelling
from omnigraph.client.errors import Diagnostic
from omnigraph.client.transport import Transport
from omnigraph.client.typed import Typed
from omnigraph.client.vectors import RemoteVectors
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.execution.result import wire
from omnigraph.engine.export.entities import Edge, Key, Node
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.engine.schema.documents import AcceptedSchema
from omnigraph.errors import LanguageError, ScopeError, UsageError
from omnigraph.storage.commits.moments import reads_like_time
from omnigraph.wire.own_outputs import AcceptedSchemaOutput, WhoamiOutput

Names = Iterable[str] | str | None

_KEPT: Final = 64


class Asking:
    """Asks a server about one graph."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._schemas: OrderedDict[str, AcceptedSchema] = OrderedDict()

    def _accepted_schema(self, branch: str | None = None, at: State | None = None) -> AcceptedSchema:
        """The schema of a branch, or of a commit; what a commit has is remembered."""
        wanted = name_of(at)
        found = None if wanted is None else self._schemas.get(wanted)
        if found is None:
            said = self._transport.get("/schema/accepted", AcceptedSchemaOutput, {"branch": branch, "snapshot": wanted})
            catalog = Catalog.of(SchemaIR.from_json(said.schema_ir))
            found = AcceptedSchema(said.schema_source, catalog, said.graph_commit_id)
            self._schemas[found.commit] = found
            while len(self._schemas) > _KEPT:
                self._schemas.popitem(last=False)
        return found

    def _catalog(self, branch: str | None = None, at: State | None = None) -> Catalog:
        return self._accepted_schema(branch, at).catalog

    def _vector_property(self, branch: str, type_: str, prop: str) -> RemoteVectors:
        """What is known of the model that makes the vectors of a property."""
        return RemoteVectors(self._transport, branch, type_, prop)

    def _whoever_acts(self) -> str | None:
        """Who the server takes us for."""
        return self._transport.get(f"{self._transport.url}/whoami", WhoamiOutput).actor_id

    def _typed(self, branch: str | None = None, at: State | None = None) -> Typed:
        return Typed(self._catalog(branch, at))


def text_of(source: QueryText) -> str:
    """The text of a query."""
    return source if isinstance(source, str) else source.text


@contextmanager
def telling(source: QueryText) -> Iterator[None]:
    """What is wrong with a text is said of it by the name that it has here."""
    try:
        yield
    except LanguageError as error:
        if isinstance(source, str) or not all(isinstance(d, Diagnostic) for d in error.diagnostics):
            raise
        told = tuple(
            replace(d, shown=d.shown.replace("--> <query>:", f"--> {source.name}:")) for d in cast(Any, error.diagnostics)
        )
        raise type(error)(told, hint=error.advice) from error


def state(branch: str | None, at: State | None) -> dict[str, str | None]:
    """What is asked about, as the wire has it."""
    then = name_of(at)
    if branch is not None and then is not None and reads_like_time(then):
        return {"branch": None, "snapshot": f"{branch}@{then}"}
    return {"branch": branch, "snapshot": then}


def question(
    source: QueryText,
    name: str | None,
    params: Mapping[str, object] | None,
    branch: str | None = None,
    at: State | None = None,
) -> dict[str, object]:
    """A read, as the wire has it."""
    return {"query": text_of(source), "name": name, "params": given(source, name, params), **state(branch, at)}


def filters(kinds: Names, types: Names, ops: Names) -> dict[str, tuple[str, ...]]:
    """Which changes are wanted, as parameters."""
    return {"kind": names(kinds), "type": names(types), "op": names(ops)}


def names(given: Names) -> tuple[str, ...]:
    """One name, or several."""
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def given(source: QueryText, name: str | None, params: Mapping[str, object] | None) -> dict[str, object] | None:
    """Parameters of a query, as the wire has them."""
    return None if params is None else plain(spelling.parameters(source, name, params))


def plain(values: Mapping[str, object]) -> dict[str, object]:
    """Values by name, as JSON has them."""
    return {name: json.loads(json.dumps(wire(value), default=as_json)) for name, value in values.items()}


def as_json(value: object) -> object:
    """What JSON has no form for, as a record spells it."""
    if isinstance(value, bytes):
        return "base64:" + base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, tuple | set | frozenset):
        return [wire(item) for item in value]
    given = value.tolist() if hasattr(value, "tolist") else value
    found = wire(given)
    if found is value:
        raise UsageError(f"JSON has no form for {type(value).__name__}", hint="Give texts, numbers, dates, lists or bytes.")
    return found


def key_of(key: Key) -> object:
    """What names an entity, as the wire has it."""
    if isinstance(key, Node | Edge):
        return {"node": {"type": key.type, "id": key.id}}
    return json.loads(json.dumps(wire(dict(key) if isinstance(key, Mapping) else key), default=as_json))


def one(type_: str, key: Key | None, id_: str | None) -> dict[str, object]:
    """Which entity of a type is meant."""
    if (key is None) == (id_ is None):
        raise UsageError("a key or an id says which one is wanted", hint="Give one of them.")
    if isinstance(key, Node | Edge):
        if key.type != type_:
            raise UsageError(f"the key is one of {key.type}, not of {type_}", hint=f"Give one of {type_}.")
        return {"id": key.id}
    return {"id": id_} if key is None else {"key": key_of(key)}


def keyed(idempotency_key: str | None) -> dict[str, str]:
    """The header of a write that may be sent again."""
    return {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}


def only_here(what: str, instead: str) -> NoReturn:
    """Refuse what needs the graph itself."""
    raise ScopeError(f"{what}, and this graph is behind a server", hint=instead)


def no_actor(actor: str | None) -> None:
    """Refuse an actor: who acts is who the token belongs to."""
    if actor is not None:
        raise ScopeError(f"`actor` is {actor!r}, and a server takes the actor from the token", hint="Connect with their token.")
