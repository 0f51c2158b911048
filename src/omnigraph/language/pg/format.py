"""The canonical layout of `.pg`.

    interface Named {
        name: String @index
    }

    node Person @description("somebody we know") implements Named {
        slug: String @key
        age: I32?
        role: enum(
            visitor,
            member  // may write
        ) @index

        // inclusive at both ends
        @range(age, 0..150)
    }

    node Tag {}

    edge Knows: Person -> Person @card(0..5) @key(src, dst)
    edge WorksAt: Person -> Company @description("…") {
        since: Date
    }

A declaration starts on one line. Where that would be too wide, each annotation gets a line of its own, then `implements`, then
the brace. A property is one line, except that the values of an enum get a line each when it is their fault that the line is too
wide, or when a comment stands between them.
Literals and enum values stay as they were written. `omnigraph.language.layout` says where comments and blank lines go.
"""

from __future__ import annotations

from decimal import Decimal
from typing import assert_never

from omnigraph.language import parse_schema
from omnigraph.language.cursor import quote_string
from omnigraph.language.layout import Bracket, Layout
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
            pieces += [(_constraint(constraint), constraint.span) for constraint in declaration.constraints]
            pieces.sort(key=lambda piece: piece[1].start)
        case _:
            assert_never(declaration)
    _write_start(first, pieces, declaration.body, layout)
    if declaration.body is not None and _is_open(declaration.body, layout):
        for member in declaration.body.members:
            _write_member(member, layout)
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


def _write_member(member: t.Member, layout: Layout) -> None:
    match member:
        case t.Property(name=name, type=type_, annotations=annotations):
            if type_.enum_values is not None:
                _write_enum(member, member.enum_order or tuple(map(t.Name, type_.enum_values)), layout)
            else:
                layout.line(" ".join((f"{name}: {type_.display()}", *map(_annotation, annotations))), member.span)
        case t.Constraint():
            layout.line(_constraint(member), member.span)
        case _:
            assert_never(member)


def _write_enum(prop: t.Property, values: tuple[t.Name, ...], layout: Layout) -> None:
    head, listed = f"{prop.name}: enum(", ", ".join(map(str, values))
    tail = " ".join((")?" if prop.type.nullable else ")", *map(_annotation, prop.annotations)))
    opening = layout.sign_after("(", prop.type_span.start)
    closing = layout.sign_after(")", values[-1].span.end)
    if layout.has_comment(opening.end, closing.start) or not layout.fits(f"{head}{listed})") or layout.fits(tail):
        place = Bracket(prop.span.start, opening, closing, prop.span.end)
        layout.listing(head, [(str(value), value.span) for value in values], tail, place, pad="")
    else:  # the annotations alone are too wide: nothing would be won
        layout.line(f"{head}{listed}{tail}", prop.span)


def _annotation(annotation: t.Annotation) -> str:
    if annotation.value is None:
        return f"@{annotation.name}"
    named = "".join(f", {key}={_literal(value)}" for key, value in annotation.kwargs)
    return f"@{annotation.name}({_literal(annotation.value)}{named})"


def _constraint(constraint: t.Constraint) -> str:
    return f"@{constraint.kind.value}({', '.join(map(_argument, constraint.arguments))})"


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
