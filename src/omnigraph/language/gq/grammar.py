"""Grammar of `.gq` queries, clauses and mutations; expressions and conditions are in `expressions`.

    file       := query*
    query      := "query" ident "(" ( param ("," param)* )? ")" qannot* "{" ( read | mutation+ ) "}"
    qannot     := ( "@description" | "@instruction" ) "(" string ")"
    param      := variable ":" ( "[" base "]" | base | "Vector" "(" integer ")" ) "?"?
    read       := "match" "{" clause+ "}" "return" "distinct"? "{" projection+ "}" order? limit? offset?
    clause     := "not" "{" clause+ "}" | "optional" "{" clause+ "}" | binding | traversal | condition
    binding    := variable ":" typeName ( "{" pmatch ("," pmatch)* ","? "}" )?            pmatch := ident ":" value
    traversal  := variable ( variable ":" )? ( "<" edgeName ">" | edgeName ) ( "{" integer "," integer? "}" )? variable
    projection := expr ( "as" ident )? ","?
    limit      := "limit" integer                                       offset := "offset" integer
    order      := "order" "{" ordering ("," ordering)* "}"              ordering := nearest | expr ( "asc" | "desc" )?
    mutation   := "insert" typeName "{" assign+ "}" | "update" typeName "set" "{" assign+ "}" "where" predicate
                | "delete" typeName "where" predicate
    assign     := ident ":" value ","?                                  predicate := ident cmp value

`optional`, `distinct` and `offset` go beyond the base language. An edge name may be any identifier except `not` followed by
something that is neither letter nor digit, so that `$a: A not { … }` reads as two clauses.
"""

from __future__ import annotations

import re

from omnigraph.language.cursor import (
    IDENT,
    STRING,
    TRIVIA,
    TYPE_NAME,
    Cursor,
    NoMatch,
    Pattern,
    TextError,
    decode_string,
    whole_word,
    word,
)
from omnigraph.language.cursor import INTEGER as DIGITS
from omnigraph.language.gq import tree as t
from omnigraph.language.gq.expressions import (
    COMMA,
    COMPARISON,
    DISTINCT,
    LEFT,
    LIST_CLOSE,
    LIST_OPEN,
    RIGHT,
    VARIABLE,
    condition,
    expression,
    rank,
    value,
    variable,
)
from omnigraph.language.pg.grammar import BASE, QUESTION, VECTOR, vector_dimension
from omnigraph.language.pg.tree import Name
from omnigraph.language.source import Span
from omnigraph.model.limits import MAX_CLAUSES, MAX_COLUMNS, MAX_U32, MAX_U64
from omnigraph.model.types import PropertyType, Scalar

QUERY, MATCH, RETURN, ORDER, LIMIT = word("query"), word("match"), word("return"), word("order"), word("limit")
INSERT, UPDATE, DELETE, SET, WHERE = word("insert"), word("update"), word("delete"), word("set"), word("where")
NOT_BLOCK = Pattern(rf"not(?={TRIVIA}{{)", "`not {`")
OPTIONAL_BLOCK = Pattern(rf"optional(?={TRIVIA}{{)", "`optional {`")
OFFSET = whole_word("offset")
AS, ASC_DESC = word("as"), Pattern("asc|desc", "`asc` or `desc`")
OPEN, CLOSE, COLON, LESS, GREATER = word("{"), word("}"), word(":"), word("<"), word(">")
EDGE_NAME = Pattern(r"(?!not[^A-Za-z0-9])[a-z_][A-Za-z0-9_]*+", "an edge name")
ANNOTATION = Pattern("@(?:description|instruction)", "`@description` or `@instruction`")
NEAREST_AHEAD = Pattern(rf"nearest(?={TRIVIA}\()", "`nearest(…)`")

QUERY_START = re.compile(r"^[ \t]*+query[ \t]++[a-z_]\w*+\s*+\(", re.MULTILINE)
"""Where reading resumes after a query that could not be read."""


def query(c: Cursor) -> t.Query:
    """One query, or `NoMatch`."""
    start = c.start
    c.count_anew()
    c.expect(QUERY)
    name = _name(c)
    c.expect(LEFT)
    parameters: list[t.Parameter] = []
    if c.looking_at(VARIABLE):
        parameters.append(_parameter(c))
        while c.accept(COMMA) is not None:
            parameters.append(_parameter(c))
    else:
        c.accept(VARIABLE)  # notes that a parameter could stand here
    c.expect(RIGHT)
    annotations = _annotations(c)
    c.expect(OPEN)
    opening = c.last
    body = _read(c) if c.looking_at(MATCH) else _mutation(c)
    c.expect(CLOSE)
    return t.Query(name, tuple(parameters), annotations, body, opening, c.last, c.since(start))


def _parameter(c: Cursor) -> t.Parameter:
    name = variable(c)
    c.expect(COLON)
    scalar, is_list, dimension = Scalar.VECTOR, False, None
    c.begin_type()
    if c.accept(LIST_OPEN) is not None:
        c.begin_type()
        scalar, is_list = Scalar(c.expect(BASE)), True
        c.expect(LIST_CLOSE)
    elif (base := c.accept(BASE)) is not None:
        scalar = Scalar(base)
    else:
        c.expect(VECTOR)
        c.expect(LEFT)
        dimension = _parameter_dimension(c, name.name)
        c.expect(RIGHT)
    nullable = c.accept(QUESTION) is not None
    type_ = PropertyType(scalar, nullable, is_list, dimension=dimension)
    return t.Parameter(name.name, type_, c.since(name.span.start))


def _parameter_dimension(c: Cursor, name: str) -> int:
    try:
        return vector_dimension(c)
    except TextError as error:
        message = f"unknown parameter type for `${name}`: {error.message}"
        raise TextError("unknown-parameter-type", message, error.span) from None


def _annotations(c: Cursor) -> tuple[t.QueryAnnotation, ...]:
    found: dict[t.QueryAnnotationKind, t.QueryAnnotation] = {}
    while (text := c.accept(ANNOTATION)) is not None:
        at = c.last
        kind = t.QueryAnnotationKind(text[1:])
        c.expect(LEFT)
        raw = c.expect(STRING)
        value = t.String(decode_string(raw, c.last.start), raw, c.last)
        c.expect(RIGHT)
        if kind in found:
            raise TextError("duplicate-annotation", f"`{text}` may appear only once on a query", at)
        found[kind] = t.QueryAnnotation(kind, value, c.since(at.start))
    return tuple(found.values())


# ── reads ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(c: Cursor) -> t.Read:
    match_start = c.start
    c.expect(MATCH)
    match = _block(c)
    match_span = c.since(match_start)
    return_start = c.start
    c.expect(RETURN)
    distinct = c.accept(DISTINCT) is not None
    c.expect(OPEN)
    opening = c.last
    projections = [_projection(c)]
    while not c.looking_at(CLOSE):
        projections.append(_projection(c))
    c.expect(CLOSE)
    return_part = t.Part(return_start, opening, c.last)
    order, order_part = _order(c)
    limit, limit_span = _count(c, LIMIT, "limit")
    offset, offset_span = _count(c, OFFSET, "offset")
    return t.Read(
        match, tuple(projections), distinct, order, limit, offset, match_span, return_part, order_part, limit_span, offset_span
    )


def _block(c: Cursor) -> t.Block:
    c.expect(OPEN)
    opening = c.last
    c.enter()
    clauses = [_clause(c)]
    while not c.looking_at(CLOSE):
        clauses.append(_clause(c))
    c.leave()
    c.expect(CLOSE)
    return t.Block(tuple(clauses), opening, c.last)


def _clause(c: Cursor) -> t.Clause:
    start = c.start
    c.count("clauses", MAX_CLAUSES, "join conditions with `and`, or ask several queries")
    first = c.text[start : start + 1]
    if first == "$":
        return _clause_of_variable(c, start)
    if first == "n" and c.accept(NOT_BLOCK) is not None:
        block = _block(c)
        return t.Negation(block, c.since(start))
    if first == "o" and c.accept(OPTIONAL_BLOCK) is not None:
        block = _block(c)
        return t.Optional(block, c.since(start))
    return t.Filter(condition(c), c.since(start))


def _clause_of_variable(c: Cursor, start: int) -> t.Clause:
    mark = c.mark()
    bound = variable(c)
    if c.accept(COLON) is not None:
        return _binding(c, bound)
    if c.next_char() not in ".=!>":
        try:
            return _traversal(c, bound)
        except NoMatch:
            pass
    c.reset(mark)
    return t.Filter(condition(c), c.since(start))


def _binding(c: Cursor, bound: t.Variable) -> t.Binding:
    type_ = Name(c.expect(TYPE_NAME), c.last)
    matches: list[t.Assignment] = []
    if c.accept(OPEN) is not None:
        matches.append(_assignment(c))
        while c.accept(COMMA) is not None and not c.looking_at(CLOSE):
            matches.append(_assignment(c))
        c.expect(CLOSE)
    return t.Binding(bound, type_, tuple(matches), c.since(bound.span.start))


def _assignment(c: Cursor) -> t.Assignment:
    name = _name(c)
    c.expect(COLON)
    found = value(c)
    return t.Assignment(name, found, c.since(name.span.start))


def _traversal(c: Cursor, source: t.Variable) -> t.Traversal:
    binding: t.Variable | None = None
    if c.looking_at(VARIABLE):
        binding = variable(c)
        c.expect(COLON)
    undirected = c.accept(LESS) is not None
    edge = Name(c.expect(EDGE_NAME), c.last)
    if undirected:
        c.expect(GREATER)
    hops = _hops(c) if c.looking_at(OPEN) else None
    target = variable(c)
    return t.Traversal(source, edge, target, binding, undirected, hops, c.since(source.span.start))


def _hops(c: Cursor) -> t.Hops:
    c.expect(OPEN)
    start = c.last.start
    low = _number(c, "hop bound", MAX_U32)
    c.expect(COMMA)
    high = _number(c, "hop bound", MAX_U32) if c.looking_at(DIGITS) else None
    c.expect(CLOSE)
    return t.Hops(low, high, c.since(start))


def _projection(c: Cursor) -> t.Projection:
    start = c.start
    c.count("columns", MAX_COLUMNS, "return fewer columns, or ask several queries")
    found = expression(c)
    alias: Name | None = None
    mark = c.mark()
    if c.accept(AS) is not None:
        text = c.accept(IDENT)
        if text is None:  # `as` is itself the next projection
            c.reset(mark)
        else:
            alias = Name(text, c.last)
    span = c.since(start)
    c.accept(COMMA)
    return t.Projection(found, alias, span)


def _order(c: Cursor) -> tuple[tuple[t.Ordering, ...], t.Part | None]:
    start = c.start
    if c.accept(ORDER) is None:
        return (), None
    c.expect(OPEN)
    opening = c.last
    found = [_ordering(c)]
    while c.accept(COMMA) is not None:
        found.append(_ordering(c))
    c.expect(CLOSE)
    return tuple(found), t.Part(start, opening, c.last)


def _ordering(c: Cursor) -> t.Ordering:
    c.count("sort keys", MAX_COLUMNS, "order by fewer keys")
    start = c.start
    if c.looking_at(NEAREST_AHEAD):
        return t.Ordering(rank(c), None, c.since(start))
    found = expression(c)
    direction = c.accept(ASC_DESC)
    return t.Ordering(found, t.Direction(direction) if direction else None, c.since(start))


def _count(c: Cursor, keyword: Pattern, what: str) -> tuple[int | None, Span]:
    if c.accept(keyword) is None:
        return None, Span(0, 0)
    start = c.last.start
    return _number(c, what, MAX_U64), c.since(start)


def _number(c: Cursor, what: str, most: int) -> int:
    digits = c.expect(DIGITS)
    found = int(digits) if len(digits) <= 20 else most + 1
    if found > most:
        shown = digits if len(digits) <= 24 else f"{digits[:21]}…"
        raise TextError("number-range", f"invalid {what} `{shown}`: at most {most}", c.last)
    return found


# ── mutations ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _mutation(c: Cursor) -> t.Mutation:
    c.accept(MATCH)  # notes that a read could stand here
    statements = [_statement(c)]
    while not c.looking_at(CLOSE):
        statements.append(_statement(c))
    return t.Mutation(tuple(statements))


def _statement(c: Cursor) -> t.Statement:
    start = c.start
    if c.accept(INSERT) is not None:
        type_ = Name(c.expect(TYPE_NAME), c.last)
        assignments = _assignments(c)
        return t.Insert(type_, assignments, c.since(start))
    if c.accept(UPDATE) is not None:
        type_ = Name(c.expect(TYPE_NAME), c.last)
        c.expect(SET)
        assignments = _assignments(c)
        where = _predicate(c)
        return t.Update(type_, assignments, where, c.since(start))
    c.expect(DELETE)
    type_ = Name(c.expect(TYPE_NAME), c.last)
    where = _predicate(c)
    return t.Delete(type_, where, c.since(start))


def _assignments(c: Cursor) -> tuple[t.Assignment, ...]:
    c.expect(OPEN)
    found = [_assignment(c)]
    c.accept(COMMA)
    while not c.looking_at(CLOSE):
        found.append(_assignment(c))
        c.accept(COMMA)
    c.expect(CLOSE)
    return tuple(found)


def _predicate(c: Cursor) -> t.Predicate:
    c.expect(WHERE)
    name = _name(c)
    operator = t.Operator(c.expect(COMPARISON))
    found = value(c)
    return t.Predicate(name, operator, found, c.since(name.span.start))


def _name(c: Cursor) -> Name:
    return Name(c.expect(IDENT), c.last)
