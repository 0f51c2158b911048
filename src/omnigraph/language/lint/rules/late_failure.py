"""L202: a query that type-checks but is certain to fail when it runs.

The language leaves a few names to the run: an order key that no column has, an inline match with a variable that is no
parameter. The type checker accepts them for the sake of existing files; this rule says so before the run does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.gq import tree as t
from omnigraph.language.lint.finding import Finding, LintedQuery, SchemaFacts, Severity

CODE = "L202"
SUMMARY = "a query type-checks but is certain to fail when it runs"


def check(queries: Sequence[LintedQuery], schema: SchemaFacts) -> Iterator[Finding]:
    for linted in queries:
        query = linted.query
        if not linted.valid:
            continue
        for problem in late_failures(query, query.body) if isinstance(query.body, t.Read) else _key_updates(query.body, schema):
            yield Finding(Severity.WARNING, CODE, f"{query.name}: {problem}", query_names=(query.name.text,))


def late_failures(query: t.Query, read: t.Read) -> Iterator[str]:
    """Why a run of this read is certain to fail."""
    declared = {p.name for p in query.parameters}
    for variable in _inline_variables(read.match):
        if variable not in declared:
            help = did_you_mean(variable, declared)
            yield f"parameter '{variable}' is not declared and cannot be provided{_aside(help)}"
    columns = {p.alias.text for p in read.projections if p.alias is not None}
    for projection in read.projections:
        if isinstance(projection.expression, t.Alias) and projection.expression.name not in columns:
            yield f"unsupported projection: `{projection.expression.name}` is neither a property nor a variable nor an alias"
    aggregating = any(isinstance(p.expression, t.Aggregate) for p in read.projections)
    plain = [p.expression for p in read.projections if p.alias is None]
    for ordering in read.order:
        yield from _order_failures(ordering.expression, columns, plain, aggregating)


def _key_updates(mutation: t.Mutation, schema: SchemaFacts) -> Iterator[str]:
    for statement in mutation.statements:
        if not isinstance(statement, t.Update | t.MatchedUpdate):
            continue
        of_type = statement.type.text if isinstance(statement, t.Update) else _type_of(statement.variable, statement.match)
        keys = frozenset() if of_type is None else schema.key_properties(of_type)
        for name in (a.property.text for a in statement.assignments if a.property.text in keys):
            what = "edge" if of_type is not None and schema.is_edge(of_type) else "node"
            yield f"cannot update @key property '{name}': delete the {what} and insert it under its new key"


def _type_of(variable: t.Variable, block: t.Block) -> str | None:
    """The type of a variable, where a pattern says it."""
    for clause in block.clauses:
        match clause:
            case t.Binding(t.Variable(variable.name), type_):
                return type_.text
            case t.Traversal(edge=edge, binding=t.Variable(variable.name), shortest=False):
                return edge.text
            case _:
                continue
    return None


def _order_failures(key: t.Expression, columns: set[str], plain: list[t.Expression], aggregating: bool) -> Iterator[str]:
    match key:
        case t.Alias(name) if name not in columns:
            yield f"alias '{name}' not found{_aside(did_you_mean(name, columns))}"
        case t.Variable(name) if aggregating and key not in plain:
            yield f"column {name} not found for ordering: return it without an alias, or order by its alias"
        case t.Access(variable, name) if aggregating and key not in plain:
            yield f"column {variable.name}.{name} not found for ordering: return it without an alias, or order by its alias"
        case t.Aggregate() if not aggregating:
            yield "unsupported ordering expression: ordering by an aggregate needs an aggregate in the return block"
        case t.String() | t.Integer() | t.Float() | t.Bool() | t.Date() | t.DateTime() | t.List():
            yield "unsupported ordering expression: a literal orders nothing"
        case _:
            return


def _inline_variables(block: t.Block) -> Iterator[str]:
    for clause in block.clauses:
        match clause:
            case t.Binding(_, _, matches):
                yield from (m.value.name for m in matches if isinstance(m.value, t.Variable))
            case t.Negation(inner) | t.Optional(inner):
                yield from _inline_variables(inner)
            case _:
                continue


def _aside(help: str) -> str:
    return f" ({help})" if help else ""
