"""The grammar of `.pg`, one function per rule.

    schema      := decl*
    decl        := interface | node | edge
    interface   := "interface" typeName "{" prop* "}"
    node        := "node" typeName annot* implements? "{" ( prop | constraint )* "}"
    implements  := "implements" typeName ("," typeName)*
    edge        := "edge" typeName ":" typeName "->" typeName card? ( annot | constraint )* ( "{" ( prop | constraint )* "}" )?
    card        := "@card" "(" integer ".." integer? ")"
    prop        := ident ":" coreType "?"? annot*
    coreType    := "[" base "]" | "enum" "(" enumValue ("," enumValue)* ")" | "Vector" "(" integer ")" | base
    constraint  := "@" cname "(" carg ("," carg)* ")"           cname := key | unique | index | range | check
    carg        := num ".." num? | ".." num | literal | ident
    annot       := "@" !( cname "(" ) ident ( "(" ( literal | ident ) ("," ident "=" literal)* ")" )?
    literal     := string | float | integer | bool

Keywords are prefixes, choices are ordered and never reconsidered (see `omnigraph.language.cursor`). After a declaration that
cannot be read, reading goes on at the next line that starts one, so that one run reports the problems of several declarations.
"""

from __future__ import annotations

import re

from omnigraph.language.cursor import (
    BOOL,
    IDENT,
    INTEGER,
    STRING,
    TYPE,
    TYPE_NAME,
    Cursor,
    NoMatch,
    Pattern,
    TextError,
    decode_string,
    word,
)
from omnigraph.language.pg.tree import (
    Annotation,
    Body,
    Cardinality,
    Constraint,
    ConstraintArgument,
    ConstraintKind,
    Declaration,
    Edge,
    Interface,
    Literal,
    LiteralKind,
    Member,
    Name,
    Node,
    Property,
    Range,
)
from omnigraph.language.source import Span
from omnigraph.model.limits import MAX_I64, MAX_U32, MAX_VECTOR_DIMENSION, MIN_I64
from omnigraph.model.types import PropertyType, Scalar

INTERFACE, NODE, EDGE = word("interface"), word("node"), word("edge")
IMPLEMENTS, ENUM, VECTOR = word("implements"), word("enum"), word("Vector")
OPEN, CLOSE, LEFT, RIGHT = word("{"), word("}"), word("("), word(")")
LIST_OPEN, LIST_CLOSE = word("["), word("]")
COLON, COMMA, ARROW, QUESTION, DOTS, AT, EQUALS = (word(s) for s in (":", ",", "->", "?", "..", "@", "="))
CARD = word("@card")
BASE = Pattern("String|Blob|Bool|I32|I64|U32|U64|F32|F64|DateTime|Date", TYPE)
ENUM_VALUE = Pattern("[A-Za-z0-9_-]++", "an enum value")
CONSTRAINT_NAME = Pattern("key|unique|index|range|check", "a constraint")
FLOAT = Pattern(r"[0-9]++\.[0-9]++", "a number")
SIGNED_FLOAT = Pattern(r"-?[0-9]++\.[0-9]++", "a number")
SIGNED_INTEGER = Pattern("-?[0-9]++", "a number")

DECLARATION_START = re.compile(r"^[ \t]*+(?:interface|node|edge)[ \t]++[A-Za-z_]", re.MULTILINE)
"""Where reading resumes after a declaration that could not be read."""


def declaration(c: Cursor) -> Declaration:
    """One declaration, or `NoMatch`."""
    start = c.start
    if c.accept(INTERFACE) is not None:
        return _interface(c, start)
    if c.accept(NODE) is not None:
        return _node(c, start)
    if c.accept(EDGE) is not None:
        return _edge(c, start)
    raise NoMatch


def _interface(c: Cursor, start: int) -> Interface:
    name = _name(c, TYPE_NAME)
    opening = _sign(c, OPEN)
    members: list[Member] = []
    while (prop := _property(c)) is not None:
        members.append(prop)
    closing = _sign(c, CLOSE)
    return Interface(name, Body(tuple(members), opening, closing), c.since(start))


def _node(c: Cursor, start: int) -> Node:
    name = _name(c, TYPE_NAME)
    annotations = _annotations(c)
    implements: list[Name] = []
    if c.accept(IMPLEMENTS) is not None:
        implements.append(_name(c, TYPE_NAME))
        while c.accept(COMMA) is not None:
            implements.append(_name(c, TYPE_NAME))
    return Node(name, annotations, tuple(implements), _body(c), c.since(start))


def _edge(c: Cursor, start: int) -> Edge:
    name = _name(c, TYPE_NAME)
    c.expect(COLON)
    source = _name(c, TYPE_NAME)
    c.expect(ARROW)
    target = _name(c, TYPE_NAME)
    cardinality = _cardinality(c)
    annotations, constraints = _annotations(c), list[Constraint]()
    while (constraint := _constraint(c)) is not None:
        constraints.append(constraint)
        annotations += _annotations(c)
    body = _body(c) if c.looking_at(OPEN) else None
    if body is None:
        c.accept(OPEN)  # notes that a body could stand here
    return Edge(name, source, target, cardinality, annotations, body, tuple(constraints), c.since(start))


def _cardinality(c: Cursor) -> Cardinality | None:
    mark = c.mark()
    if c.accept(CARD) is None:
        return None
    begin = c.last.start
    try:
        c.expect(LEFT)
        low, low_span = c.expect(INTEGER), c.last
        c.expect(DOTS)
        high, high_span = c.accept(INTEGER), c.last
        c.expect(RIGHT)
    except NoMatch:  # `@cardinal(…)` and `@card(3)` are ordinary annotations
        c.reset(mark)
        return None
    span = c.since(begin)
    return Cardinality(_bounded(low, low_span), None if high is None else _bounded(high, high_span), span)


def _bounded(digits: str, span: Span) -> int:
    value = int(digits) if len(digits) <= 20 else MAX_U32 + 1
    if value > MAX_U32:
        raise TextError("number-range", f"invalid cardinality `{_shorten(digits)}`: at most {MAX_U32}", span)
    return value


def _body(c: Cursor) -> Body:
    opening = _sign(c, OPEN)
    members: list[Member] = []
    while True:
        member = _property(c) or _constraint(c)
        if member is None:
            break
        members.append(member)
    return Body(tuple(members), opening, _sign(c, CLOSE))


def _property(c: Cursor) -> Property | None:
    text = c.accept(IDENT)
    if text is None:
        return None
    name = Name(text, c.last)
    c.expect(COLON)
    start = c.start
    type_, order = _type(c)
    type_span = c.since(start)
    annotations = _annotations(c)
    return Property(name, type_, annotations, type_span, order, c.since(name.span.start))


def _type(c: Cursor) -> tuple[PropertyType, tuple[Name, ...]]:
    scalar, is_list, values, dimension = Scalar.STRING, False, None, None
    written: tuple[Name, ...] = ()
    c.begin_type()
    if c.accept(LIST_OPEN) is not None:
        c.begin_type()
        scalar, is_list = Scalar(c.expect(BASE)), True
        c.expect(LIST_CLOSE)
    elif c.accept(ENUM) is not None:
        written = _enum_values(c)
        values = tuple(sorted(value.text for value in written))
    elif c.accept(VECTOR) is not None:
        c.expect(LEFT)
        scalar, dimension = Scalar.VECTOR, vector_dimension(c)
        c.expect(RIGHT)
    else:
        scalar = Scalar(c.expect(BASE))
    nullable = c.accept(QUESTION) is not None
    declared = tuple(value.text for value in written)
    return PropertyType(
        scalar, nullable, is_list, values, dimension, declared if declared != values and written else None
    ), written


def _enum_values(c: Cursor) -> tuple[Name, ...]:
    c.expect(LEFT)
    values: dict[str, Name] = {}
    while True:
        value = c.expect(ENUM_VALUE)
        if value in values:
            raise TextError("duplicate-enum-value", f"an enum cannot include duplicate values: `{value}` is here twice", c.last)
        values[value] = Name(value, c.last)
        if c.accept(COMMA) is None:
            break
    c.expect(RIGHT)
    return tuple(values.values())


def vector_dimension(c: Cursor) -> int:
    """The number inside `Vector(…)`; also used by query parameters."""
    digits = c.expect(INTEGER)
    value = int(digits) if len(digits) <= 20 else MAX_U32 + 1
    if value > MAX_U32:
        raise TextError("vector-dimension", f"invalid Vector dimension `{_shorten(digits)}`", c.last)
    if value == 0:
        raise TextError("vector-dimension", "a Vector dimension must be greater than zero", c.last)
    if value > MAX_VECTOR_DIMENSION:
        raise TextError("vector-dimension", f"Vector dimension {value} exceeds maximum {MAX_VECTOR_DIMENSION}", c.last)
    return value


def _annotations(c: Cursor) -> tuple[Annotation, ...]:
    found: list[Annotation] = []
    while (annotation := _annotation(c)) is not None:
        found.append(annotation)
    return tuple(found)


def _annotation(c: Cursor) -> Annotation | None:
    mark = c.mark()
    if c.accept(AT) is None:
        return None
    at = c.last.start
    after_at = c.mark()
    if c.looking_at(CONSTRAINT_NAME):
        c.expect(CONSTRAINT_NAME)
        if c.looking_at(LEFT):  # a body constraint, not an annotation
            c.reset(mark)
            return None
        c.reset(after_at)
    text = c.accept(IDENT)
    if text is None:
        raise NoMatch
    name = Name(text, c.last)
    value: Literal | None = None
    kwargs: list[tuple[Name, Literal]] = []
    if c.accept(LEFT) is not None:
        value = _literal(c) or _name_literal(c)
        while c.accept(COMMA) is not None:
            key = _name(c, IDENT)
            c.expect(EQUALS)
            literal = _literal(c)
            if literal is None:
                raise c.fail("a string, a number, `true` or `false`")
            kwargs.append((key, literal))
        c.expect(RIGHT)
    return Annotation(name, value, tuple(kwargs), c.since(at))


def _constraint(c: Cursor) -> Constraint | None:
    if c.accept(AT) is None:
        return None
    start = c.last.start
    kind = ConstraintKind(c.expect(CONSTRAINT_NAME))
    c.expect(LEFT)
    arguments: list[ConstraintArgument] = [_constraint_argument(c)]
    while c.accept(COMMA) is not None:
        arguments.append(_constraint_argument(c))
    c.expect(RIGHT)
    return Constraint(kind, tuple(arguments), c.since(start))


def _constraint_argument(c: Cursor) -> ConstraintArgument:
    return _range(c) or _literal(c) or _name_literal(c)


def _range(c: Cursor) -> Range | None:
    mark = c.mark()
    begin = c.start
    low = c.accept(SIGNED_FLOAT) or c.accept(SIGNED_INTEGER) or ""
    if c.accept(DOTS) is None:
        c.reset(mark)
        return None
    high = c.accept(SIGNED_FLOAT) or c.accept(SIGNED_INTEGER) or ""
    if not low and not high:
        raise c.fail("a number")
    span = c.since(begin)
    return Range(_number(low, span), _number(high, span), (low, high), span)


def _number(raw: str, span: Span) -> int | float | None:
    if not raw:
        return None
    if "." in raw:
        return float(raw)
    value = int(raw) if len(raw) <= 24 else MAX_I64 + 1
    if not MIN_I64 <= value <= MAX_I64:
        raise TextError("number-range", f"invalid integer `{_shorten(raw)}`: it must fit 64 bits", span)
    return value


def _literal(c: Cursor) -> Literal | None:
    raw = c.accept(STRING)
    if raw is not None:
        return Literal(LiteralKind.STRING, decode_string(raw, c.last.start), raw, c.last)
    for pattern, kind in ((FLOAT, LiteralKind.FLOAT), (INTEGER, LiteralKind.INTEGER), (BOOL, LiteralKind.BOOL)):
        raw = c.accept(pattern)
        if raw is not None:
            return Literal(kind, raw, raw, c.last)
    return None


def _name_literal(c: Cursor) -> Literal:
    text = c.expect(IDENT)
    return Literal(LiteralKind.NAME, text, text, c.last)


def _name(c: Cursor, pattern: Pattern) -> Name:
    return Name(c.expect(pattern), c.last)


def _sign(c: Cursor, pattern: Pattern) -> Span:
    c.expect(pattern)
    return c.last


def _shorten(digits: str) -> str:
    return digits if len(digits) <= 24 else f"{digits[:21]}…"
