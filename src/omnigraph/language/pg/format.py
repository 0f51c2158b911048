"""The canonical layout of `.pg`.

    interface Named {
        name: String @index
    }

    node Person @description("somebody we know") implements Named {
        slug: String @key
        age: I32?

        // inclusive at both ends
        @range(age, 0..150)
    }

    node Tag {}

    edge Knows: Person -> Person @card(0..5)
    edge WorksAt: Person -> Company @description("…") {
        since: Date
    }

A declaration starts on one line. Where that would be too wide, each annotation gets a line of its own, then `implements`, then
the brace.
Literals and enum values stay as they were written. `omnigraph.language.layout` says where comments and blank lines go.
"""

from __future__ import annotations

from decimal import Decimal
from typing import assert_never

from omnigraph.language import parse_schema
from omnigraph.language.cursor import quote_string
from omnigraph.language.layout import Layout
from omnigraph.language.pg import tree as t
from omnigraph.language.source import Source, Span

Piece = tuple[str, Span]
"""A part of a declaration's first line, and where it stands in the source."""


def format_schema(source: Source) -> str:
    """A `.pg` text in canonical layout, comments and grouping kept. Raises `ParseError` when it cannot be read."""
    return _written(parse_schema(source), Layout(source.text))


def render_schema(tree: t.Schema) -> str:
    """The `.pg` text of a tree, in canonical layout."""
    return _written(tree, Layout())


def decimal(number: float) -> str:
    """A number the way both languages write one: with a fraction, without an exponent."""
    text = format(Decimal(repr(number)), "f")
    return text if "." in text else f"{text}.0"


def _written(tree: t.Schema, layout: Layout) -> str:
    previous: t.Declaration | None = None
    for declaration in tree.declarations:
        if previous is not None and (declaration.body is not None or previous.body is not None):
            layout.stand_apart()
        _write_declaration(declaration, layout)
        previous = declaration
    return layout.text()


def _write_declaration(declaration: t.Declaration, layout: Layout) -> None:
    start = declaration.span.start
    pieces: list[Piece] = []
    match declaration:
        case t.Interface(name=name):
            first = (f"interface {name}", Span(start, name.span.end))
        case t.Node(name=name, annotations=annotations, implements=implements):
            first = (f"node {name}", Span(start, name.span.end))
            pieces += [(_annotation(a), a.span) for a in annotations]
            if implements:
                pieces.append((f"implements {', '.join(map(str, implements))}", implements[0].span.to(implements[-1].span)))
        case t.Edge(cardinality=cardinality, annotations=annotations):
            ends = f"edge {declaration.name}: {declaration.source} -> {declaration.target}"
            if cardinality is None:
                first = (ends, Span(start, declaration.target.span.end))
            else:
                first = (f"{ends} {_cardinality(cardinality)}", Span(start, cardinality.span.end))
            pieces += [(_annotation(a), a.span) for a in annotations]
        case _:
            assert_never(declaration)
    _write_start(first, pieces, declaration.body, layout)
    if declaration.body is not None and _is_open(declaration.body, layout):
        for member in declaration.body.members:
            layout.line(_member(member), member.span)
        layout.line("}", declaration.body.closing, closes=True)


def _write_start(first: Piece, pieces: list[Piece], body: t.Body | None, layout: Layout) -> None:
    """Everything up to the opening brace; all of a declaration that has no members."""
    if body is None:
        opens, ending, end = False, "", (pieces or [first])[-1][1].end
    elif _is_open(body, layout):
        opens, ending, end = True, " {", body.opening.end
    else:
        opens, ending, end = False, " {}", body.closing.end
    one_line = " ".join(text for text, _ in (first, *pieces)) + ending
    if not pieces or layout.fits(one_line):
        layout.line(one_line, Span(first[1].start, end), opens=opens)
        return
    layout.line(*first)
    for text, span in pieces:
        layout.line(text, span, deeper=1)
    if body is not None:
        layout.line(ending.strip(), Span(body.opening.start, end), opens=opens)


def _is_open(body: t.Body, layout: Layout) -> bool:
    return bool(body.members) or layout.has_comment(body.opening.end, body.closing.start)


def _cardinality(cardinality: t.Cardinality) -> str:
    most = "" if cardinality.maximum is None else str(cardinality.maximum)
    return f"@card({cardinality.minimum}..{most})"


def _member(member: t.Member) -> str:
    match member:
        case t.Property(name=name, annotations=annotations):
            return " ".join((f"{name}: {_type(member)}", *map(_annotation, annotations)))
        case t.Constraint(kind=kind, arguments=arguments):
            return f"@{kind.value}({', '.join(map(_argument, arguments))})"
        case _:
            assert_never(member)


def _type(prop: t.Property) -> str:
    if prop.type.enum_values is None or not prop.enum_order:
        return prop.type.display()
    return f"enum({', '.join(prop.enum_order)}){'?' if prop.type.nullable else ''}"


def _annotation(annotation: t.Annotation) -> str:
    if annotation.value is None:
        return f"@{annotation.name}"
    named = "".join(f", {key}={_literal(value)}" for key, value in annotation.kwargs)
    return f"@{annotation.name}({_literal(annotation.value)}{named})"


def _argument(argument: t.ConstraintArgument) -> str:
    match argument:
        case t.Range(low=low, high=high, raw=(low_raw, high_raw)):
            return f"{_bound(low, low_raw)}..{_bound(high, high_raw)}"
        case t.Literal():
            return _literal(argument)
        case _:
            assert_never(argument)


def _bound(number: int | float | None, raw: str) -> str:
    if number is None or raw:
        return raw
    return str(number) if isinstance(number, int) else decimal(number)


def _literal(literal: t.Literal) -> str:
    if literal.raw:
        return literal.raw
    return quote_string(literal.value) if literal.kind is t.LiteralKind.STRING else literal.value
