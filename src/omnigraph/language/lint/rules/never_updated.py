"""L201: a node type is updated somewhere, but one of its optional properties is set by no update.

Either the property is dead, or a query forgot it. Only types that have at least one valid update are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omnigraph.language.gq.tree import Binding, MatchedUpdate, Mutation, Statement, Update
from omnigraph.language.lint.finding import Finding, LintedQuery, SchemaFacts, Severity

CODE = "L201"
SUMMARY = "an optional property of an updated node type is set by no update"


def check(queries: Sequence[LintedQuery], schema: SchemaFacts) -> Iterator[Finding]:
    assigned: dict[str, set[str]] = {}
    updaters: dict[str, set[str]] = {}
    for linted in queries:
        body = linted.query.body
        if not linted.valid or not isinstance(body, Mutation):
            continue
        for statement in body.statements:
            name = _updated(statement)
            if name is not None and isinstance(statement, Update | MatchedUpdate):
                assigned.setdefault(name, set()).update(a.property.text for a in statement.assignments)
                updaters.setdefault(name, set()).add(linted.query.name.text)
    for name, properties in assigned.items():
        for prop in schema.settable_properties(name) or ():
            if prop not in properties:
                message = f"{name}.{prop} exists in schema but no update query sets it"
                yield Finding(Severity.WARNING, CODE, message, name, prop, tuple(sorted(updaters[name])))


def _updated(statement: Statement) -> str | None:
    """The type that a statement updates, as far as its text says so."""
    if isinstance(statement, Update):
        return statement.type.text
    if isinstance(statement, MatchedUpdate):
        bound = (clause for clause in statement.match.clauses if isinstance(clause, Binding))
        return next((clause.type.text for clause in bound if clause.variable.name == statement.variable.name), None)
    return None
