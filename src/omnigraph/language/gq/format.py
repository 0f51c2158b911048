"""The canonical layout of `.gq`.

    query friends($name: String, $limit: I32?)
        @description("who somebody knows, at one or two hops")
    {
        match {
            $p: Person { name: $name }
            $p knows{1,2} $f
            not { $f worksAt $_ }
        }
        return { $p.name, $f.age as age }
        order { $f.age desc, age }
        limit 10 offset 5
    }

    query rename($name: String, $new: String) {
        update Person set { name: $new } where name = $name
    }

What stands between brackets stays on one line when it fits and holds no comment; else each item gets its own line, with commas
between (a missing comma can change the meaning: `$a.x assigned` is `$a.x as signed`). Strings and fractions stay as they were
written. `omnigraph.language.layout` says where comments and blank lines go.

Conditions are written with the fewest parentheses that read back as the same tree. Because nothing marks where one clause ends
and the next begins, a few that look idle are not:

    ($x contains $y)                        without them, a traversal over an edge called `contains`
    (search($d.body, $q)) contains_tax = 3  without them, `search(…) contains _tax`: one clause runs into the next

The first kind is always written. The second takes a bare name used as an operand, which no valid query has in a condition; in a
block with one, the parentheses at either end of a clause stay as they were written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from omnigraph.language import parse_queries
from omnigraph.language.cursor import quote_string
from omnigraph.language.gq import tree as t
from omnigraph.language.layout import Bracket, Layout
from omnigraph.language.pg.format import decimal
from omnigraph.language.source import NOWHERE, Source, Span


def format_queries(source: Source) -> str:
    """A `.gq` text in canonical layout, comments and grouping kept. Raises `ParseError` when it cannot be read."""
    return _written(parse_queries(source), Layout(source.text))


def render_queries(tree: t.QueryFile) -> str:
    """The `.gq` text of a tree, in canonical layout."""
    return _written(tree, Layout())


def _written(tree: t.QueryFile, layout: Layout) -> str:
    for query in tree.queries:
        layout.stand_apart()
        _write_query(query, layout)
    return layout.text()


def _write_query(query: t.Query, layout: Layout) -> None:
    left = layout.sign_after("(", query.name.span.end)
    right = layout.sign_after(")", query.parameters[-1].span.end if query.parameters else left.end)
    parameters = [(f"${p.name}: {p.type.display()}", p.span) for p in query.parameters]
    annotated = bool(query.annotations)
    place = Bracket(query.span.start, left, right, right.end if annotated else query.opening.end)
    layout.listing(f"query {query.name}(", parameters, ")" if annotated else ") {", place, pad="", opens=not annotated)
    for annotation in query.annotations:
        layout.line(f"@{annotation.kind.value}({_string(annotation.text)})", annotation.span, deeper=1)
    if annotated:
        layout.line("{", query.opening, opens=True)
    match query.body:
        case t.Read():
            _write_read(query.body, layout)
        case t.Mutation(statements=statements):
            for statement in statements:
                _write_statement(statement, layout)
        case _:
            assert_never(query.body)
    layout.line("}", query.closing, closes=True)


# ── reads ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _write_read(read: t.Read, layout: Layout) -> None:
    _write_block("match", read.match, read.match_span.start, layout)
    projections = [(_projection(p), p.span) for p in read.projections]
    layout.listing("return distinct {" if read.distinct else "return {", projections, "}", _place(read.return_part))
    if read.order:
        orderings = [(_ordering(o), o.span) for o in read.order]
        layout.listing("order {", orderings, "}", _place(read.order_part))
    paging = [(f"limit {read.limit}", read.limit_span)] if read.limit is not None else []
    if read.offset is not None:
        paging.append((f"offset {read.offset}", read.offset_span))
    if paging:
        layout.line(" ".join(text for text, _ in paging), paging[0][1].to(paging[-1][1]))


def _place(part: t.Part | None) -> Bracket:
    return Bracket(0, NOWHERE, NOWHERE, 0) if part is None else Bracket(part.start, part.opening, part.closing, part.closing.end)


def _projection(projection: t.Projection) -> str:
    text = _expression(projection.expression)
    return text if projection.alias is None else f"{text} as {projection.alias}"


def _ordering(ordering: t.Ordering) -> str:
    text = _expression(ordering.expression)
    return text if ordering.direction is None else f"{text} {ordering.direction.value}"


# ── clauses ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _write_block(word: str, block: t.Block, start: int, layout: Layout) -> None:
    layout.line(f"{word} {{", Span(start, block.opening.end), opens=True)
    keep = _has_bare_names(block)
    for clause in block.clauses:
        _write_clause(clause, layout, keep)
    layout.line("}", block.closing, closes=True)


def _write_clause(clause: t.Clause, layout: Layout, keep: bool) -> None:
    one_line = _one_line(clause, keep)
    match clause:
        case t.Negation(block=block) | t.Optional(block=block):
            if one_line and layout.fits(one_line) and not layout.has_comment(block.opening.end, block.closing.start):
                layout.line(one_line, clause.span)
            else:
                _write_block(_block_word(clause), block, clause.span.start, layout)
        case t.Binding(variable=bound, type=type_, matches=matches) if matches:
            opening = layout.sign_after("{", type_.span.end)
            place = Bracket(clause.span.start, opening, Span(clause.span.end - 1, clause.span.end), clause.span.end)
            layout.listing(f"${bound.name}: {type_} {{", _assignments(matches), "}", place)
        case t.Binding() | t.Traversal() | t.Filter():
            layout.line(one_line, clause.span)
        case _:
            assert_never(clause)


def _one_line(clause: t.Clause, keep: bool) -> str:
    """The clause on one line; empty when it holds a block that needs several. `keep` parentheses at its ends as written."""
    match clause:
        case t.Negation(block=block) | t.Optional(block=block):
            inner = _one_line(block.clauses[0], _has_bare_names(block)) if len(block.clauses) == 1 else ""
            return f"{_block_word(clause)} {{ {inner} }}" if inner else ""
        case t.Binding(variable=bound, type=type_, matches=matches):
            inline = f" {{ {', '.join(text for text, _ in _assignments(matches))} }}" if matches else ""
            return f"${bound.name}: {type_}{inline}"
        case t.Traversal():
            return _traversal(clause)
        case t.Filter(condition=condition):
            return _condition(condition, clause.span if keep else None, first=True, last=True)
        case _:
            assert_never(clause)


def _block_word(clause: t.Negation | t.Optional) -> str:
    return "not" if isinstance(clause, t.Negation) else "optional"


def _assignments(assignments: Iterable[t.Assignment]) -> list[tuple[str, Span]]:
    return [(f"{a.property}: {_expression(a.value)}", a.span) for a in assignments]


def _traversal(traversal: t.Traversal) -> str:
    edge = f"<{traversal.edge}>" if traversal.undirected else str(traversal.edge)
    if traversal.binding is not None:
        edge = f"${traversal.binding.name}:{edge}"
    if traversal.hops is not None:
        most = "" if traversal.hops.maximum is None else str(traversal.hops.maximum)
        edge += f"{{{traversal.hops.minimum},{most}}}"
    return f"${traversal.source.name} {edge} ${traversal.target.name}"


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _condition(condition: t.Condition, clause: Span | None, *, first: bool, last: bool) -> str:
    """A condition; `first` and `last` when nothing stands between it and that end of its clause.

    The span of the clause is given when parentheses at its ends stay as they were written.
    """
    match condition:
        case t.And(parts=parts) | t.Or(parts=parts):
            texts: list[str] = []
            for number, part in enumerate(parts, 1):
                if isinstance(part, t.Or) or (isinstance(part, t.And) and isinstance(condition, t.And)):
                    texts.append(f"({_condition(part, clause, first=False, last=False)})")
                else:
                    texts.append(_condition(part, clause, first=first and number == 1, last=last and number == len(parts)))
            return (" and " if isinstance(condition, t.And) else " or ").join(texts)
        case t.Comparison(left=left, operator=operator, right=right):
            text = f"{_expression(left)} {operator.value} {_expression(right)}"
        case t.IsNull(operand=operand, negated=negated):
            text = f"{_expression(operand)} is {'not ' if negated else ''}null"
        case t.Among(operand=operand, choices=choices):
            text = f"{_expression(operand)} in {_expression(choices)}"
        case t.TextTest(call=call):
            text = _expression(call)
        case _:
            assert_never(condition)
    opened = first and (_reads_as_traversal(condition) or (clause is not None and clause.start < condition.span.start))
    closed = last and clause is not None and condition.span.end < clause.end
    return f"({text})" if opened or closed else text


def _reads_as_traversal(condition: t.Condition) -> bool:
    """Whether a condition at the start of a clause would be taken for `$a edge $b`."""
    match condition:
        case t.Comparison(left=t.Variable(), operator=t.Operator.CONTAINS | t.Operator.STARTS_WITH, right=other):
            return isinstance(other, t.Variable | t.Access)
        case t.Among(operand=t.Variable(), choices=other):
            return isinstance(other, t.Variable | t.Access)
        case _:
            return False


def _has_bare_names(block: t.Block) -> bool:
    """Whether an operand in the conditions of a block is a bare name, which could be taken for an operator or a function."""
    return any(_compares_a_name(clause.condition) for clause in block.clauses if isinstance(clause, t.Filter))


def _compares_a_name(condition: t.Condition) -> bool:
    match condition:
        case t.And(parts=parts) | t.Or(parts=parts):
            return any(map(_compares_a_name, parts))
        case t.Comparison(left=one, right=other) | t.Among(operand=one, choices=other):
            return isinstance(one, t.Alias) or isinstance(other, t.Alias)
        case t.IsNull(operand=operand):
            return isinstance(operand, t.Alias)
        case t.TextTest():
            return False
        case _:
            assert_never(condition)


# ── mutations ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _write_statement(statement: t.Statement, layout: Layout) -> None:
    start, end = statement.span
    match statement:
        case t.Insert(type=type_, assignments=assignments):
            place = Bracket(start, layout.sign_after("{", type_.span.end), Span(end - 1, end), end)
            layout.listing(f"insert {type_} {{", _assignments(assignments), "}", place)
        case t.Update(type=type_, assignments=assignments, where=where):
            closing = layout.sign_after("}", assignments[-1].span.end)
            place = Bracket(start, layout.sign_after("{", type_.span.end), closing, end)
            layout.listing(f"update {type_} set {{", _assignments(assignments), f"}} where {_predicate(where)}", place)
        case t.Delete(type=type_, where=where):
            layout.line(f"delete {type_} where {_predicate(where)}", statement.span)
        case _:
            assert_never(statement)


def _predicate(predicate: t.Predicate) -> str:
    return f"{predicate.property} {predicate.operator.value} {_expression(predicate.value)}"


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _expression(expression: t.Expression) -> str:
    match expression:
        case t.Call(function=function, arguments=arguments):
            return f"{function.value}({', '.join(map(_expression, arguments))})"
        case t.Aggregate(function=aggregate, argument=argument, distinct=distinct):
            return f"{aggregate.value}({'distinct ' if distinct else ''}{_expression(argument)})"
        case t.Access(variable=variable, property=name):
            return f"${variable.name}.{name}"
        case t.Variable(name=text):
            return f"${text}"
        case t.Alias(name=text):
            return text
        case _:
            return _literal(expression)


def _literal(literal: t.Literal) -> str:
    match literal:
        case t.String():
            return _string(literal)
        case t.Integer(value=whole):
            return str(whole)
        case t.Float(value=number, raw=raw):
            return raw or decimal(number)
        case t.Bool(value=answer):
            return "true" if answer else "false"
        case t.Date(text=text):
            return f"date({_string(text)})"
        case t.DateTime(text=text):
            return f"datetime({_string(text)})"
        case t.List(items=items):
            return f"[{', '.join(map(_literal, items))}]"
        case _:
            assert_never(literal)


def _string(string: t.String) -> str:
    return string.raw or quote_string(string.value)
