"""Prepared queries: parsed and checked once per text and schema, and planned once while the same start is the best."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from threading import Lock

import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.check import check, refuse_mixed
from omnigraph.engine.planning import lowering as lw
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.build import build
from omnigraph.engine.planning.parameters import Value, require
from omnigraph.engine.planning.rules import choose_root, improve
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import NotFound, ParameterError, UsageError
from omnigraph.hints import Hint, Option
from omnigraph.language import Source, parse_queries
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.gq.tree import QueryFile
from omnigraph.model.arrow import arrow_type

QueryText = str | Source
"""Queries as text, or as text with a name, which problems in it are reported with."""

_KEPT = 512


class Prepared:
    """A checked query, ready to be planned."""

    def __init__(self, query: lg.LogicalQuery, catalog: Catalog) -> None:
        self.query = query
        self.catalog = catalog
        self.parameters = _parameters(query)
        """Parameters the query uses."""
        returned = query.projections if isinstance(query, lg.ReadQuery) else ()
        self.columns = [p.column for p in returned]
        self.types = [_arrow_type(p.expression) for p in returned]
        """What each column of the result holds."""
        self.answers: dict[object, bool] = {}
        """What was found out about it, by those who want to find it out once, under their questions."""
        self._planned: tuple[str, st.Limits, lg.ReadQuery, st.Plan] | None = None

    def plan(self, view: View, values: Mapping[str, Value] | None = None) -> st.Plan:
        """The plan for a view. After a commit it is the same unless the numbers of nodes say to begin elsewhere.

        `values` of parameters say what `limit $k` means; without them it is a plan to look at.
        """
        query = self.query
        assert isinstance(query, lg.ReadQuery)
        limits = (query.limit, query.offset)
        known = (_count("limit", query.limit, values), _count("offset", query.offset, values) or 0)
        planned = self._planned
        if planned is not None and planned[0] == view.snapshot.layout and planned[1] == known:
            return planned[3]
        counts = {name: view.nodes(name).count for name in self.catalog.nodes}
        rooted = choose_root.apply(replace(query, limit=known[0], offset=known[1]), self.catalog, counts)
        if planned is not None and planned[2] == rooted:
            plan = planned[3]
        else:
            plan = improve(build(self.catalog, rooted, lw.lower(rooted)), self.catalog)
            if any(isinstance(limit, lg.Parameter) for limit in limits):
                plan = replace(plan, tail=replace(plan.tail, counts=_texts(limits)))
        self._planned = (view.snapshot.layout, known, rooted, plan)
        return plan


def _count(word: str, count: int | lg.Parameter | None, values: Mapping[str, Value] | None) -> int | None:
    """`limit` or `offset` as a number."""
    if not isinstance(count, lg.Parameter):
        return count
    if values is None:
        return None
    found = require(values, count)
    assert isinstance(found, int)
    if found < 0:
        raise ParameterError(f"`{word}` is below zero: `${count.name}` is {found}", hint="Give zero or more.")
    return found


def _texts(limits: tuple[int | lg.Parameter | None, int | lg.Parameter | None]) -> tuple[str, str]:
    """`limit` and `offset` as they are written."""
    limit, offset = (
        "" if found is None else f"${found.name}" if isinstance(found, lg.Parameter) else str(found) for found in limits
    )
    return limit, offset


class PreparedQueries:
    """The queries that were run lately."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str | None, str], Prepared] = OrderedDict()
        self._lock = Lock()

    def get(self, text: QueryText, name: str | None, schema: str, catalog: Catalog) -> Prepared:
        """One query of a text, checked against a schema."""
        key = (text.text if isinstance(text, Source) else text, name, schema)
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        found = prepare(text if isinstance(text, Source) else Source(text, "<query>"), name, catalog)
        with self._lock:
            self._known[key] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    def __len__(self) -> int:
        return len(self._known)


def prepare(source: Source, name: str | None, catalog: Catalog) -> Prepared:
    """Parse and check one query of a text."""
    tree = chosen(parse_queries(source), name)
    checked = check(catalog, tree, source)
    if isinstance(checked, lg.MutationQuery):
        refuse_mixed(checked)
    return Prepared(checked, catalog)


def chosen(file: QueryFile, name: str | None):  # type: ignore[no-untyped-def]
    """The query of a name, or the only one."""
    names = [query.name.text for query in file.queries]
    if name is None:
        if len(names) == 1:
            return file.queries[0]
        if not names:
            raise UsageError("the text holds no query", hint="Write `query name() { match { … } return { … } }`.")
        raise UsageError(
            "the text holds several queries", hint=Hint("Name one of them (", Option("name"), f"): {', '.join(names)}.")
        )
    for query in file.queries:
        if query.name.text == name:
            return query
    raise NotFound(
        f"no query `{name}` in the text",
        what="query",
        name=name,
        hint=did_you_mean(name, names) or f"There are {', '.join(names)}.",
    )


def _arrow_type(expression: lg.Expression) -> pa.DataType:
    if isinstance(expression, lg.Entity) or expression.type is None:
        return pa.string()
    return arrow_type(expression.type)


def _parameters(value: object) -> tuple[lg.Parameter, ...]:
    """Every parameter a checked query uses, in order, each once."""
    found: dict[str, lg.Parameter] = {}

    def walk(item: object) -> None:
        if isinstance(item, lg.Parameter):
            found.setdefault(item.name, item)
        elif isinstance(item, tuple):
            for part in item:
                walk(part)
        elif is_dataclass(item) and not isinstance(item, type):
            for about in fields(item):
                if about.name != "parameters":
                    walk(getattr(item, about.name))

    walk(value)
    return tuple(found.values())
