"""Prepared queries: parsed and checked once per text and schema, planned once per commit."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import fields, is_dataclass
from threading import Lock

import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.check import check, refuse_mixed
from omnigraph.engine.planning import lowering as lw
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.build import build
from omnigraph.engine.planning.rules import choose_root, improve
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import NotFound, UsageError
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
        self._planned: tuple[str, st.Plan] | None = None

    def plan(self, view: View) -> st.Plan:
        """The plan for a view. Kept until the next commit: it depends on how many nodes there are."""
        planned = self._planned
        if planned is not None and planned[0] == view.snapshot.layout:
            return planned[1]
        assert isinstance(self.query, lg.ReadQuery)
        counts = {name: view.nodes(name).count for name in self.catalog.nodes}
        rooted = choose_root.apply(self.query, self.catalog, counts)
        plan = improve(build(self.catalog, rooted, lw.lower(rooted)), self.catalog)
        self._planned = (view.snapshot.layout, plan)
        return plan


class PreparedQueries:
    """The queries that were run lately."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str | None, str], Prepared] = OrderedDict()
        self._lock = Lock()

    def get(self, text: QueryText, name: str | None, schema: str, catalog: Catalog) -> Prepared:
        """One query of a text, checked against a schema."""
        source = text if isinstance(text, Source) else Source(text, "<query>")
        key = (source.text, name, schema)
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        found = prepare(source, name, catalog)
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
