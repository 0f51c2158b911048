"""A store for LangGraph on a branch of a graph: `pip install 'omnigraph[langgraph]'`.

    og.init("team.omni", schema=schema("items", dimension=1536))
    store = OmniGraphStore(og.open("team.omni"), agent="ada", embedder=…)
    builder.compile(store=store)

It is a `BaseStore`: values are JSON objects by namespace and key. The puts and deletes of a batch are one commit on the branch of
the agent, reads of a batch are of one commit, which is the one before. The schema is `templates/items.pg`; values are kept as
JSON text, so filters are applied here, after what the namespace and the query leave. One vector per item: of the texts of its
indexed fields together. Without an embedding provider a query ranks by words. There is no TTL: LangGraph refuses to be asked for
one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from omnigraph.errors import UsageError
from omnigraph.memory.agent_branch import MAIN, AgentBranch, Record
from omnigraph.memory.checks import moment_of, name_of, plain_text

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        PutOp,
        SearchItem,
        SearchOp,
        get_text_at_path,
    )
except ImportError:
    raise UsageError("langgraph is not installed", hint="pip install 'omnigraph[langgraph]'") from None

if TYPE_CHECKING:
    from omnigraph.catalog.catalog import Catalog
    from omnigraph.embedding.port import Embedder
    from omnigraph.engine.any_graph import AnyGraph, AnySession
    from omnigraph.engine.history.merge import Merge

_NEEDED: Final = {"path", "namespace", "key", "value", "text", "embedding", "created", "updated"}
_COLUMNS: Final = "$i.path as path, $i.value as value, $i.created as created, $i.updated as updated"
_WITHIN: Final = "$i: Item  $i.namespace starts_with $within"
_BY_PATH: Final = f"""query items($paths: [String]) {{
    match {{ $i: Item  $i.path in $paths }}
    return {{ {_COLUMNS}, $i.text as text }}
}}"""
_LISTED: Final = f"""query items($within: String, $most: I64) {{
    match {{ {_WITHIN} }}
    return {{ {_COLUMNS} }}
    order {{ $i.updated desc, $i.path }}
    limit $most
}}"""
_BY_WORDS: Final = f"""query items($within: String, $like: String, $most: I64) {{
    match {{ {_WITHIN} }}
    return {{ {_COLUMNS}, bm25($i.text, $like) as score }}
    order {{ bm25($i.text, $like) }}
    limit $most
}}"""
_BY_VECTORS: Final = f"""query items($within: String, $like: LIKE, $most: I64) {{
    match {{ {_WITHIN} }}
    return {{ {_COLUMNS}, nearest($i.embedding, $like) as distance }}
    order {{ nearest($i.embedding, $like) }}
    limit $most
}}"""
_NAMESPACES: Final = "query namespaces() { match { $i: Item } return { $i.namespace as namespace, count($i) as items } }"
_MEETING: Final = {"created": min, "updated": max}
"""What becomes of the times of an item that two sides have put: when the first did, and when the last did."""
_GROWTH: Final = 4
"""By how much more is looked at when a filter leaves too few."""


class OmniGraphStore(BaseStore):
    """Values by namespace and key, on the branch of an agent. Safe from any thread as far as its graph is."""

    __slots__ = ("_fields", "_on")

    def __init__(
        self,
        graph: AnyGraph,
        *,
        agent: str | None = None,
        branch: str | None = None,
        base: str | None = MAIN,
        embedder: Embedder | None = None,
        fields: Sequence[str] = ("$",),
        actor: str | None = None,
    ) -> None:
        """Who writes where, and what makes vectors, as for `Memory`. `fields`: what of a value is searched; all by default."""
        if isinstance(fields, str) or not all(isinstance(path, str) for path in fields):
            raise UsageError("`fields` must be paths of fields", hint='Write ["title", "author.name"], or ["$"] for all.')
        self._fields = list(fields)
        self._on = AgentBranch(
            graph,
            dimension=_dimension_of,
            field=("Item", "embedding"),
            agent=agent,
            branch=branch,
            base=base,
            embedder=embedder,
            actor=actor,
        )

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Operations: reads of one commit first, then puts and deletes as the next one, the last of each key."""
        asked = list(ops)
        self._on.ready()
        found: list[Any] = [None] * len(asked)
        if any(not isinstance(op, PutOp) for op in asked):
            with self._on.graph.session(self._on.read()) as session:
                for place, op in enumerate(asked):
                    if not isinstance(op, PutOp):
                        found[place] = self._read(session, op)
        puts = {_path(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        if puts:
            self._write(puts)
        return found

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """The same, in a thread of its own."""
        return await asyncio.to_thread(self.batch, list(ops))

    def catch_up(self, base: str = MAIN) -> Merge:
        """Bring what others have merged to the branch of the agent.

        What two agents put alike is one item: created when the first put it, updated when the last did. Other conflicts are
        raised, and decided by a merge.
        """
        return self._on.catch_up(name_of(base, "base"), frozenset({"Item"}), _MEETING)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _read(self, session: AnySession, op: object) -> object:
        if isinstance(op, GetOp):
            rows = session.query(_BY_PATH, {"paths": [_path(op.namespace, op.key)]}).rows
            return _item(rows[0]) if rows else None
        if isinstance(op, SearchOp):
            return self._search(session, op)
        if isinstance(op, ListNamespacesOp):
            return _namespaces(session, op)
        raise UsageError(f"LangGraph has no operation {type(op).__name__} that is known here", hint="")

    def _search(self, session: AnySession, op: SearchOp) -> list[SearchItem]:
        _require_numbers(op)
        if op.query:
            plain_text(op.query, "query")
        wanted, within = op.offset + op.limit, {"within": _within(op.namespace_prefix)}

        def some(query: str, params: Mapping[str, object], most: int) -> list[SearchItem]:
            """The first of what a query finds that the filter leaves, at most so many."""
            asked = most
            while True:
                rows = session.query(query, {**within, **params, "most": asked}).rows
                left = [item for item in map(_found, rows) if _passes(item.value, op.filter)]
                if len(left) >= most or len(rows) < asked:
                    return left[:most]
                asked *= _GROWTH

        if wanted <= 0:
            return []
        found = [] if not op.query else some(*self._ranking(op.query), wanted)
        if len(found) < wanted:  # what no ranking has comes after it, without a score
            have = {(item.namespace, item.key) for item in found}
            rest = some(_LISTED, {}, wanted + len(found))
            found += [item for item in rest if (item.namespace, item.key) not in have]
        return found[op.offset : wanted]

    def _ranking(self, query: str) -> tuple[str, dict[str, object]]:
        like = self._on.like(query)
        if like is None:
            return _BY_WORDS, {"like": query}
        kind = "String" if isinstance(like, str) else f"Vector({self._on.ready()})"
        return _BY_VECTORS.replace("LIKE", kind), {"like": like}

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _write(self, puts: Mapping[str, PutOp]) -> None:
        values = {path: _json(op.value, path) for path, op in puts.items() if op.value is not None}
        texts = {path: self._text(op) if path in values else None for path, op in puts.items()}
        known = {row["path"]: row["text"] for row in self._on.rows(_BY_PATH, {"paths": list(puts)})}
        new = {path: text for path, text in texts.items() if path in values and text is not None and text != known.get(path)}
        vectors: dict[str, list[float]] = {}
        if new and self._on.embedder is not None:
            vectors = dict(zip(new, self._on.vectors(list(new.values())), strict=True))
        now = moment_of(datetime.now(UTC), "now")
        rows: list[Record] = []
        for path, op in puts.items():
            if op.value is None:
                rows += [{"op": "delete", "type": "Item", "data": {"path": path}}] if path in known else []
                continue
            data: Record = {"path": path, "value": values[path], "text": texts[path], "updated": now}
            if path not in known:
                data |= {"namespace": _within(op.namespace), "key": op.key, "created": now}
            if texts[path] != known.get(path) or path not in known:
                data["embedding"] = vectors.get(path)
            rows.append({"type": "Item", "data": data})
        if rows:
            self._on.put(rows, "put items")

    def _text(self, op: PutOp) -> str | None:
        """What is searched of a value; None: nothing."""
        if op.index is False:
            return None
        paths = self._fields if op.index is None else op.index
        texts = [text for path in paths for text in get_text_at_path(op.value, path) if text.strip()]
        return "\n".join(texts) or None


def _dimension_of(catalog: Catalog, where: str) -> int:
    found = catalog.nodes.get("Item")
    if found is None or not set(found.properties) >= _NEEDED:
        raise UsageError(
            f"{where} has no schema for items",
            hint="Create the graph from the template `items`, or apply a schema that holds the type of that template too.",
        )
    return found.properties["embedding"].type.dimension or 0


def _require_numbers(op: SearchOp | ListNamespacesOp) -> None:
    for name in ("limit", "offset"):
        given = getattr(op, name)
        if isinstance(given, bool) or not isinstance(given, int):
            raise UsageError(f"`{name}` must be a whole number, not {given!r}", hint="")


def _namespaces(session: AnySession, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    _require_numbers(op)
    every = (_labels(row["namespace"]) for row in session.query(_NAMESPACES).rows)
    some = {labels for labels in every if all(_matches(condition, labels) for condition in op.match_conditions or ())}
    cut = some if op.max_depth is None else {labels[: op.max_depth] for labels in some}
    return sorted(cut)[op.offset : op.offset + op.limit]


def _matches(condition: MatchCondition, labels: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(labels) < len(path):
        return False
    part = labels[: len(path)] if condition.match_type == "prefix" else labels[len(labels) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _within(namespace: Sequence[str]) -> str:
    """A namespace as it is stored: what begins with it is inside of it."""
    return "".join(f"{_escaped(label)}/" for label in namespace)


def _path(namespace: Sequence[str], key: str) -> str:
    return _within(namespace) + _escaped(key)


def _labels(within: str) -> tuple[str, ...]:
    return tuple(_plain(label) for label in within.split("/")[:-1])


def _escaped(name: str) -> str:
    if not isinstance(name, str):
        raise UsageError(f"names of namespaces and keys are texts, not {type(name).__name__}", hint="")
    return name.replace("%", "%25").replace("/", "%2F")


def _plain(name: str) -> str:
    return name.replace("%2F", "/").replace("%25", "%")


def _json(value: Mapping[str, Any] | None, path: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_mapping)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the value of `{path}` cannot be written as JSON: {error}", hint="") from None


def _mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _parts(row: Mapping[str, Any]) -> dict[str, Any]:
    within, _, key = row["path"].rpartition("/")
    namespace = _labels(f"{within}/") if _ else ()
    moments = {"created_at": _utc(row["created"]), "updated_at": _utc(row["updated"])}
    return {"namespace": namespace, "key": _plain(key), "value": json.loads(row["value"]), **moments}


def _item(row: Mapping[str, Any]) -> Item:
    return Item(**_parts(row))


def _found(row: Mapping[str, Any]) -> SearchItem:
    score = row.get("score")
    if row.get("distance") is not None:
        score = 1 - row["distance"] / 2  # of vectors with length one: the cosine of their angle
    return SearchItem(**_parts(row), score=score)


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return all(_fits(value.get(name), condition) for name, condition in (wanted or {}).items())


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_compares(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(_fits(value.get(name), other) for name, other in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_fits, value, wanted))
    return bool(value == wanted)


_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


def _compares(value: Any, how: str, other: Any) -> bool:
    if how in ("$eq", "$ne"):
        return bool((value == other) is (how == "$eq"))
    if how not in _ORDERS:
        raise UsageError(f"filters have no operator `{how}`", hint=f"There are: $eq, $ne, {', '.join(_ORDERS)}.")
    try:
        return _ORDERS[how](value, other)
    except TypeError:
        return False
