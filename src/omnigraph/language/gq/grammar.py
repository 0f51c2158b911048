"""Grammar of `.gq` queries, clauses and mutations; expressions are in `expressions`, conditions in `conditions`.

    file       := query*
    query      := "query" ident "(" ( param ("," param)* )? ")" qannot* "{" ( read | mutation+ ) "}"
    qannot     := ( "@description" | "@instruction" ) "(" string ")"
    param      := variable ":" ( "[" base "]" | base | "Vector" "(" integer ")" ) "?"?
    read       := "match" "{" clause+ "}" "return" "distinct"? "{" projection+ "}" having? order? limit? offset?
    clause     := "not" "{" clause+ "}" | "optional" "{" clause+ "}" | binding | traversal | condition
    binding    := variable ":" typeName ( "{" pmatch ("," pmatch)* ","? "}" )?            pmatch := ident ":" value
    traversal  := variable ( variable ":" "shortest"? )? ( "<" edgeName ">" | edgeName ) bounds? variable
    bounds     := "{" integer "," integer? "}"
    projection := expr ( "as" ident )? ","?
    having     := "having" "{" condition "}"
    limit      := "limit" ( integer | variable )                        offset := "offset" ( integer | variable )
    order      := "order" "{" ordering ("," ordering)* "}"
    ordering   := nearest | expr ( "asc" | "desc" )? ( "nulls" ( "first" | "last" ) )?
    mutation   := insert | "update" typeName "set" "{" assign+ "}" "where" predicate | "delete" typeName "where" predicate
                | "match" "{" clause+ "}" ( insert | "update" variable "set" "{" assign+ "}" | "delete" variable )
    insert     := "insert" typeName "{" assign+ "}"
    assign     := ident ":" ( value | "null" | expr ) ","?              predicate := ident cmp value | condition

In `set` and `where` a bare name is a property of what is changed: `where from = "Ada" and (since is null or weight in [1, 2])`.

`optional`, `distinct`, `having`, `shortest`, `nulls`, `offset` and variables after `limit` go beyond the base language. An edge
name may be any identifier except `not` followed by something that is neither letter nor digit, so that `$a: A not { … }` reads as
two clauses.
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
from omnigraph.language.gq.conditions import NULL, condition
from omnigraph.language.gq.expressions import (
    CALL_AHEAD,
    COMMA,
    COMPARISON,
    DISTINCT,
    LEFT,
    LIST_CLOSE,
    LIST_OPEN,
    RIGHT,
    VARIABLE,
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
SHORTEST = Pattern(rf"shortest(?![A-Za-z0-9_])(?={TRIVIA}[<a-z_])", "`shortest`")
HAVING, NULLS = whole_word("having"), whole_word("nulls")
FIRST_LAST = Pattern(r"(?:first|last)(?![A-Za-z0-9_])", "`first` or `last`")
AS, ASC_DESC = word("as"), Pattern("asc|desc", "`asc` or `desc`")
OPEN, CLOSE, COLON, LESS, GREATER = word("{"), word("}"), word(":"), word("<"), word(">")
EDGE_NAME = Pattern(r"(?!not[^A-Za-z0-9])[a-z_][A-Za-z0-9_]*+", "an edge name")
ANNOTATION = Pattern("@(?:description|instruction)", "`@description` or `@instruction`")
OWN_NAME = Pattern(r"(?!(?:true|false|date|datetime)\b)[a-z_]\w*+", "a property")
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
    body = _body(c)
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


def _body(c: Cursor) -> t.Read | t.Mutation:
    if not c.looking_at(MATCH):
        return _mutation(c)
    start = c.start
    c.expect(MATCH)
    match = _block(c)
    if any(c.looking_at(word) for word in (INSERT, UPDATE, DELETE)):
        return t.Mutation((_matched(c, match, start), *_statements(c)))
    return _read(c, match, c.since(start))


def _read(c: Cursor, match: t.Block, match_span: Span) -> t.Read:
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
    having, having_part = _having(c)
    order, order_part = _order(c)
    limit, limit_span = _count(c, LIMIT, "limit")
    offset, offset_span = _count(c, OFFSET, "offset")
    return t.Read(
        match,
        tuple(projections),
        distinct,
        order,
        limit,
        offset,
        having,
        match_span,
        return_part,
        order_part,
        having_part,
        limit_span,
        offset_span,
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
    return t.Filter(condition(c, loose=True), c.since(start))


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
    return t.Filter(condition(c, loose=True), c.since(start))


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
    shortest = binding is not None and c.looking_at(SHORTEST) and c.accept(SHORTEST) is not None
    undirected = c.accept(LESS) is not None
    edge = Name(c.expect(EDGE_NAME), c.last)
    if undirected:
        c.expect(GREATER)
    hops = _hops(c) if c.looking_at(OPEN) else None
    target = variable(c)
    return t.Traversal(source, edge, target, binding, undirected, hops, shortest, c.since(source.span.start))


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
    found = expression(c, loose=True)
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


def _having(c: Cursor) -> tuple[t.Condition | None, t.Part | None]:
    start = c.start
    if c.accept(HAVING) is None:
        return None, None
    c.expect(OPEN)
    opening = c.last
    found = condition(c)
    c.expect(CLOSE)
    return found, t.Part(start, opening, c.last)


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
        return t.Ordering(rank(c), span=c.since(start))
    found = expression(c)
    direction = c.accept(ASC_DESC)
    nulls = t.Nulls(c.expect(FIRST_LAST)) if c.accept(NULLS) is not None else None
    return t.Ordering(found, t.Direction(direction) if direction else None, nulls, c.since(start))


def _count(c: Cursor, keyword: Pattern, what: str) -> tuple[int | t.Variable | None, Span]:
    if c.accept(keyword) is None:
        return None, Span(0, 0)
    start = c.last.start
    if c.looking_at(VARIABLE):
        return variable(c), c.since(start)
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
    return t.Mutation((_statement(c), *_statements(c)))


def _statements(c: Cursor) -> list[t.Statement]:
    found: list[t.Statement] = []
    while not c.looking_at(CLOSE):
        found.append(_statement(c))
    return found


def _statement(c: Cursor) -> t.Statement:
    start = c.start
    if c.accept(INSERT) is not None:
        type_ = Name(c.expect(TYPE_NAME), c.last)
        assignments = _assignments(c)
        return t.Insert(type_, assignments, span=c.since(start))
    if c.looking_at(MATCH):
        c.expect(MATCH)
        return _matched(c, _block(c), start)
    if c.accept(UPDATE) is not None:
        type_ = Name(c.expect(TYPE_NAME), c.last)
        c.expect(SET)
        assignments = _assignments(c, own=True)
        where = _where(c)
        return t.Update(type_, assignments, where, c.since(start))
    c.expect(DELETE)
    type_ = Name(c.expect(TYPE_NAME), c.last)
    where = _where(c)
    return t.Delete(type_, where, c.since(start))


def _matched(c: Cursor, match: t.Block, start: int) -> t.Statement:
    """What is done for each row of a pattern."""
    action = c.start
    if c.accept(INSERT) is not None:
        type_ = Name(c.expect(TYPE_NAME), c.last)
        return t.Insert(type_, _assignments(c), match, action, c.since(start))
    if c.accept(UPDATE) is not None:
        changed = variable(c)
        c.expect(SET)
        return t.MatchedUpdate(match, changed, _assignments(c), action, c.since(start))
    c.expect(DELETE)
    return t.MatchedDelete(match, variable(c), action, c.since(start))


def _assignments(c: Cursor, *, own: bool = False) -> tuple[t.Assignment, ...]:
    """What is assigned; `own`: there are properties already, which bare names stand for."""
    c.expect(OPEN)
    found = [_assigned(c, own)]
    c.accept(COMMA)
    while not c.looking_at(CLOSE):
        found.append(_assigned(c, own))
        c.accept(COMMA)
    c.expect(CLOSE)
    return tuple(found)


def _assigned(c: Cursor, own: bool) -> t.Assignment:
    name = _name(c)
    c.expect(COLON)
    found: t.Expression | t.Null
    if c.looking_at(NULL):
        c.expect(NULL)
        found = t.Null(c.last)
    else:
        found = _given(c, own)
    return t.Assignment(name, found, c.since(name.span.start))


def _given(c: Cursor, own: bool) -> t.Expression:
    """A value; or any expression, where that is not all that stands there."""
    mark = c.mark()
    if c.next_char() in "(-" or c.looking_at(CALL_AHEAD) or (own and c.looking_at(OWN_NAME)):
        try:
            return expression(c)
        except NoMatch:
            c.reset(mark)
    found = value(c)
    if c.next_char() not in ".+-*/%":
        return found
    c.reset(mark)
    return expression(c)


def _where(c: Cursor) -> t.Condition:
    """One comparison of a property, whatever that is called; or any condition, where more follows than that."""
    c.expect(WHERE)
    mark = c.mark()
    found, after = _predicate(c), c.mark()
    if found is not None and any(c.looking_at(follows) for follows in (CLOSE, INSERT, UPDATE, DELETE, MATCH)):
        return found
    c.reset(mark)
    try:
        return condition(c)
    except NoMatch:
        if found is None:
            raise
        c.reset(after)
        return found


def _predicate(c: Cursor) -> t.Comparison | None:
    name = c.accept(IDENT)
    at = c.last
    operator = None if name is None else c.accept(COMPARISON)
    if name is None or operator is None:
        return None
    left = t.Alias(name, at)
    if c.looking_at(TYPE_NAME) or c.looking_at(CLOSE):  # no expression begins like this
        return t.Comparison(left, t.Operator(operator), value(c), c.since(at.start))
    try:
        return t.Comparison(left, t.Operator(operator), value(c), c.since(at.start))
    except NoMatch:
        return None


def _name(c: Cursor) -> Name:
    return Name(c.expect(IDENT), c.last)
