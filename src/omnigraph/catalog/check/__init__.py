"""The type checker: does a query fit a schema, and what does it mean there?

`check` gives the typed form of a query or raises `TypeCheckError` with every problem found; `read_query` gives the problems
instead of raising. Problems come in the order of the text, so the first one is the one to fix first. Rules are numbered
(`rules`), one module per kind of thing they speak about:

    values        literals, and values that meet a property
    expressions   property access, aggregates, text tests, rankings
    conditions    comparisons, null tests, membership
    patterns      bindings, traversals, blocks
    results       projections and ordering
    mutations     insert, update, delete; rule D2
"""

from __future__ import annotations

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.check import patterns, results
from omnigraph.catalog.check.mutations import own_value, refuse_mixed, statement
from omnigraph.catalog.check.rules import TYPING_RULES
from omnigraph.catalog.check.scope import Scope
from omnigraph.errors import TypeCheckError
from omnigraph.language.diagnostics import Problems
from omnigraph.language.gq import tree as t
from omnigraph.language.source import Source
from omnigraph.model.types import PropertyType

__all__ = ["NOW_PARAMETER", "TYPING_RULES", "check", "check_value", "read_query", "refuse_mixed"]

NOW_PARAMETER = "__nanograph_now"
"""A parameter name older programs used for the clock; no query may declare it."""


def check(catalog: Catalog, query: t.Query, source: Source) -> lg.LogicalQuery:
    """The typed form of a query."""
    checked, problems = read_query(catalog, query, source)
    if problems:
        raise TypeCheckError(problems.found)
    return checked


def read_query(catalog: Catalog, query: t.Query, source: Source) -> tuple[lg.LogicalQuery, Problems]:
    """The typed form of a query as far as it makes sense, and every problem found."""
    problems = Problems(source)
    scope = Scope(catalog, problems, {p.name: p.type for p in query.parameters})
    for parameter in query.parameters:
        if parameter.name == NOW_PARAMETER:
            scope.refuse("reserved-parameter", f"parameter `${NOW_PARAMETER}` is reserved", parameter.span)
    parameters = tuple(lg.Parameter(p.name, p.type) for p in query.parameters)
    checked: lg.LogicalQuery
    if isinstance(query.body, t.Read):
        checked = _read(scope, query.name.text, parameters, query.body)
    else:
        statements = [statement(scope, tree) for tree in query.body.statements]
        checked = lg.MutationQuery(query.name.text, parameters, tuple(s for s in statements if s is not None))
    return checked, problems


def check_value(
    catalog: Catalog, owner: EntityType, name: str, type_: PropertyType, tree: t.Expression, source: Source
) -> lg.Expression:
    """The typed form of an expression over the properties of one entity, whose value a property of some type is to have."""
    problems = Problems(source)
    value = own_value(Scope(catalog, problems, {}), owner, name, type_, tree)
    if problems or value is None:
        raise TypeCheckError(problems.found)
    return value


def _read(scope: Scope, name: str, parameters: tuple[lg.Parameter, ...], read: t.Read) -> lg.ReadQuery:
    pattern = patterns.block(scope, read.match.clauses)
    returned = results.projections(scope, read)
    having = results.having(scope, read, returned)
    order = results.ordering(scope, read, returned)
    limit, offset = results.count(scope, "limit", read.limit), results.count(scope, "offset", read.offset)
    return lg.ReadQuery(name, parameters, pattern, returned, read.distinct, order, limit, offset, having)
