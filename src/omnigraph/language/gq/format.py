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
    (-$x.a < 3)                             without them, subtracted from the clause before
    (search($d.body, $q)) contains_tax = 3  without them, `search(…) contains _tax`: one clause runs into the next

The first two are always written. The third takes a bare name used as an operand, which no valid query has in a condition; in a
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
    if read.having is not None:
        having = _condition(read.having, None, first=False, last=False)
        layout.listing("having {", [(having, read.having.span)], "}", _place(read.having_part))
    if read.order:
        orderings = [(_ordering(o), o.span) for o in read.order]
        layout.listing("order {", orderings, "}", _place(read.order_part))
    paging = [(f"limit {_count(read.limit)}", read.limit_span)] if read.limit is not None else []
    if read.offset is not None:
        paging.append((f"offset {_count(read.offset)}", read.offset_span))
    if paging:
        layout.line(" ".join(text for text, _ in paging), paging[0][1].to(paging[-1][1]))


def _count(count: int | t.Variable) -> str:
    return f"${count.name}" if isinstance(count, t.Variable) else str(count)


def _place(part: t.Part | None) -> Bracket:
    return Bracket(0, NOWHERE, NOWHERE, 0) if part is None else Bracket(part.start, part.opening, part.closing, part.closing.end)


def _projection(projection: t.Projection) -> str:
    text = _expression(projection.expression)
    return text if projection.alias is None else f"{text} as {projection.alias}"


def _ordering(ordering: t.Ordering) -> str:
    text = _expression(ordering.expression)
    text = text if ordering.direction is None else f"{text} {ordering.direction.value}"
    return text if ordering.nulls is None else f"{text} nulls {ordering.nulls.value}"


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
    return [(f"{a.property}: {'null' if isinstance(a.value, t.Null) else _expression(a.value)}", a.span) for a in assignments]


def _traversal(traversal: t.Traversal) -> str:
    edge = f"<{traversal.edge}>" if traversal.undirected else str(traversal.edge)
    if traversal.binding is not None:
        edge = f"${traversal.binding.name}:{'shortest ' if traversal.shortest else ''}{edge}"
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
        case t.Not(part=part):
            text = f"not ({_condition(part, clause, first=False, last=False)})"
        case t.Comparison(left=left, operator=operator, right=right):
            text = f"{_expression(left)} {operator.value} {_expression(right)}"
        case t.IsNull(operand=operand, negated=negated):
            text = f"{_expression(operand)} is {'not ' if negated else ''}null"
        case t.Among(operand=operand, choices=choices, negated=negated):
            text = f"{_expression(operand)} {'not ' if negated else ''}in {_expression(choices)}"
        case t.TextTest(call=call):
            text = _expression(call)
        case _:
            assert_never(condition)
    joins = _reads_as_traversal(condition) or (text[0] == "-" and not text[1].isdigit())
    opened = first and (joins or (clause is not None and clause.start < condition.span.start))
    closed = last and clause is not None and condition.span.end < clause.end
    return f"({text})" if opened or closed else text


def _reads_as_traversal(condition: t.Condition) -> bool:
    """Whether a condition at the start of a clause would be taken for `$a edge $b`."""
    match condition:
        case t.Comparison(left=t.Variable(), operator=operator, right=other) if operator.value.isidentifier():
            return isinstance(_first(other), t.Variable | t.Access)
        case t.Among(operand=t.Variable(), choices=other, negated=False):
            return isinstance(_first(other), t.Variable | t.Access)
        case _:
            return False


def _first(expression: t.Expression) -> t.Expression:
    """What an expression begins with."""
    while isinstance(expression, t.Arithmetic):
        expression = expression.left
    return expression


def _has_bare_names(block: t.Block) -> bool:
    """Whether an operand in the conditions of a block is a bare name, which could be taken for an operator or a function."""
    return any(_compares_a_name(clause.condition) for clause in block.clauses if isinstance(clause, t.Filter))


def _compares_a_name(condition: t.Condition) -> bool:
    match condition:
        case t.And(parts=parts) | t.Or(parts=parts):
            return any(map(_compares_a_name, parts))
        case t.Not(part=part):
            return _compares_a_name(part)
        case t.Comparison(left=one, right=other) | t.Among(operand=one, choices=other):
            return _holds_a_name(one) or _holds_a_name(other)
        case t.IsNull(operand=operand):
            return _holds_a_name(operand)
        case t.TextTest():
            return False
        case _:
            assert_never(condition)


def _holds_a_name(expression: t.Expression) -> bool:
    match expression:
        case t.Arithmetic(left=left, right=right):
            return _holds_a_name(left) or _holds_a_name(right)
        case t.Negative(operand=operand):
            return _holds_a_name(operand)
        case _:
            return isinstance(expression, t.Alias)


# ── mutations ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _write_statement(statement: t.Statement, layout: Layout) -> None:
    start, end = statement.span
    match statement:
        case t.Insert(type=type_, assignments=assignments, match=match):
            if match is not None:
                _write_block("match", match, start, layout)
                start = statement.action
            place = Bracket(start, layout.sign_after("{", type_.span.end), Span(end - 1, end), end)
            layout.listing(f"insert {type_} {{", _assignments(assignments), "}", place)
        case t.Update(type=type_, assignments=assignments, where=where):
            closing = layout.sign_after("}", assignments[-1].span.end)
            place = Bracket(start, layout.sign_after("{", type_.span.end), closing, end)
            layout.listing(f"update {type_} set {{", _assignments(assignments), f"}} where {_where(where)}", place)
        case t.Delete(type=type_, where=where):
            layout.line(f"delete {type_} where {_where(where)}", statement.span)
        case t.MatchedUpdate(match=match, variable=changed, assignments=assignments):
            _write_block("match", match, start, layout)
            place = Bracket(statement.action, layout.sign_after("{", changed.span.end), Span(end - 1, end), end)
            layout.listing(f"update ${changed.name} set {{", _assignments(assignments), "}", place)
        case t.MatchedDelete(match=match, variable=gone):
            _write_block("match", match, start, layout)
            layout.line(f"delete ${gone.name}", Span(statement.action, end))
        case _:
            assert_never(statement)


def _where(condition: t.Condition) -> str:
    return _condition(condition, None, first=False, last=False)


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
        case t.Arithmetic(left=left, operator=sign, right=right):
            return f"{_factor(left, sign, right=False)} {sign.value} {_factor(right, sign, right=True)}"
        case t.Negative(operand=operand):
            alone = not isinstance(operand, t.Arithmetic | t.Integer | t.Float)
            return f"-{_expression(operand)}" if alone else f"-({_expression(operand)})"
        case _:
            return _literal(expression)


def _factor(operand: t.Expression, sign: t.ArithmeticOperator, *, right: bool) -> str:
    """An operand, in parentheses where it would be taken apart without them."""
    text = _expression(operand)
    if not isinstance(operand, t.Arithmetic):
        return text
    closer = operand.operator in t.PRODUCTS and sign not in t.PRODUCTS
    as_close = (operand.operator in t.PRODUCTS) == (sign in t.PRODUCTS)
    return text if closer or (as_close and not right) else f"({text})"


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
