"""Grammar of `.gq` expressions and values; conditions are in `conditions`.

    expr       := product ( ( "+" | "-" ) product )*
    product    := operand ( ( "*" | "/" | "%" ) operand )*
    operand    := "(" expr ")" | "-" operand | call | agg | propAccess | variable | literal | ident    (the last is an alias)
    call       := now "(" ")" | nearest "(" propAccess "," expr ")" | search "(" expr "," expr ")"
                | fuzzy "(" expr "," expr ("," expr)? ")" | match_text "(" expr "," expr ")" | bm25 "(" expr "," expr ")"
                | rrf "(" rank "," rank ("," expr)? ")"                         rank := nearest | bm25
                | ( lower | upper | length | concat | coalesce | days | hours | minutes | seconds ) "(" expr ("," expr)* ")"
    agg        := ( count | sum | avg | min | max | collect ) "(" distinct? expr ")"
    propAccess := variable "." ident
    literal    := "[" ( literal ("," literal)* )? "]" | "datetime" "(" string ")" | "date" "(" string ")"
                | string | "-"? float | "-"? integer | bool
    value      := literal | variable | now

The minus sign, arithmetic, `distinct` and the parentheses go beyond the base language. They are tried only where the base
grammar has nothing, so a text of the base language keeps its meaning. For the same reason a minus that touches the digit after it
is a sign wherever another column or clause may begin: `return { $a.x -1 }` has two columns, `return { $a.x - 1 }` has one.
"""

from __future__ import annotations

from omnigraph.language.cursor import (
    BOOL,
    IDENT,
    STRING,
    TRIVIA,
    Cursor,
    NoMatch,
    Pattern,
    TextError,
    decode_string,
    whole_word,
    word,
)
from omnigraph.language.diagnostics import did_you_mean, one_of
from omnigraph.language.gq import tree as t
from omnigraph.language.pg.tree import Name
from omnigraph.model.limits import MAX_LIST_ITEMS, MAX_U64, MIN_I64

LEFT, RIGHT, COMMA, DOT = word("("), word(")"), word(","), word(".")
LIST_OPEN, LIST_CLOSE = word("["), word("]")
VARIABLE = Pattern(r"\$[a-z_][A-Za-z0-9_]*+", "a variable (`$name`)")
FUNCTION_NAMES = (*(f.value for f in t.Function), *(f.value for f in t.AggregateFunction))
CALL_AHEAD = Pattern(rf"(?:{'|'.join(FUNCTION_NAMES)})(?={TRIVIA}\()", "a function")
NOW_AHEAD = Pattern(rf"now(?={TRIVIA}\()", "`now()`")
TEMPORAL_AHEAD = Pattern(rf"(?:datetime|date)(?={TRIVIA}\()", 'date("…") or datetime("…")')
FLOAT = Pattern(r"-?[0-9]++\.[0-9]++", "a number")
INTEGER = Pattern(r"-?[0-9]++", "a number")
_ARITHMETIC = "`+` `-` `*` `/` `%`"
SUM_OPERATOR = Pattern(r"\+|-(?!>)", _ARITHMETIC)
LOOSE_SUM_OPERATOR = Pattern(r"\+|-(?![0-9>])", _ARITHMETIC)
"""The same where another column or clause may begin, with a number that has a sign."""
PRODUCT_OPERATOR = Pattern(r"\*|/(?![/*])|%", _ARITHMETIC)
MINUS = Pattern(r"-(?![0-9>])", "`-`")
COMPARISON = Pattern(r">=|<=|!=|>|<|=", "a comparison (`=` `!=` `<` `<=` `>` `>=`)")
DISTINCT = whole_word("distinct")

_OF_ANY_NUMBER = (
    frozenset({t.Function.LOWER, t.Function.UPPER, t.Function.LENGTH, t.Function.CONCAT, t.Function.COALESCE}) | t.SPANS
)
"""Functions whose arguments the type checker counts."""
_CALLED = (*FUNCTION_NAMES, "date", "datetime")
"""What may stand before parentheses."""
_AGGREGATES = {f.value: f for f in t.AggregateFunction}
_FUNCTIONS = {f.value: f for f in t.Function}
VALUE = "a value (a literal, a parameter or `now()`)"
"""What is expected where an inline match, an assignment or a predicate compares."""


def expression(c: Cursor, *, loose: bool = False, first: t.Expression | None = None) -> t.Expression:
    """Any expression, or `NoMatch`.

    `loose`: another column or clause may begin right after it, which a number with a sign then does. `first`: its first operand,
    if that was read already.
    """
    start = c.start if first is None else first.span.start
    operators = LOOSE_SUM_OPERATOR if loose else SUM_OPERATOR
    left = _product(c, first, start)
    depth = 0
    while c.next_char() in _SUMS and (sign := c.accept(operators)) is not None:
        c.enter()
        depth += 1
        after = c.start
        left = t.Arithmetic(left, t.ArithmeticOperator(sign), _product(c, None, after), c.since(start))
    for _ in range(depth):
        c.leave()
    return left


_SUMS = frozenset("+-")
_PRODUCTS = frozenset("*/%")


def _product(c: Cursor, first: t.Expression | None, start: int) -> t.Expression:
    left = _operand(c) if first is None else first
    depth = 0
    while c.next_char() in _PRODUCTS and (sign := c.accept(PRODUCT_OPERATOR)) is not None:
        c.enter()
        depth += 1
        left = t.Arithmetic(left, t.ArithmeticOperator(sign), _operand(c), c.since(start))
    for _ in range(depth):
        c.leave()
    return left


def _operand(c: Cursor) -> t.Expression:
    first = c.next_char()
    if first == "$":
        return _variable_or_access(c)
    if first == "-" and c.looking_at(MINUS):
        start = c.start
        c.expect(MINUS)
        c.enter()
        operand = _operand(c)
        c.leave()
        return t.Negative(operand, c.since(start))
    if first in _LITERAL_STARTS:
        return literal(c)
    if first == "(":
        c.expect(LEFT)
        c.enter()
        inner = expression(c)
        c.expect(RIGHT)
        c.leave()
        return inner
    name = c.accept(CALL_AHEAD) if c.looking_at(CALL_AHEAD) else None
    if name is not None:
        return _call(c, name)
    found = _word_literal(c)
    if found is not None:
        return found
    text = c.accept(IDENT) if c.looking_at(IDENT) else None
    if text is None:
        raise c.fail("a value")
    if c.text.startswith("(", c.pos):
        help = did_you_mean(text, _CALLED, closeness=0.65) or f"there are {one_of(_CALLED, limit=len(_CALLED))}"
        raise TextError("unknown-function", f"no function `{text}`", c.last, help)
    return t.Alias(text, c.last)


_LITERAL_STARTS = frozenset('"[-0123456789')


def variable(c: Cursor) -> t.Variable:
    """`$name`."""
    return t.Variable(c.expect(VARIABLE)[1:], c.last)


def _variable_or_access(c: Cursor) -> t.Variable | t.Access:
    base = variable(c)
    mark = c.mark()
    if c.accept(DOT) is not None:
        text = c.accept(IDENT)
        if text is not None:
            return t.Access(base, Name(text, c.last), c.since(base.span.start))
        c.reset(mark)
    return base


def access(c: Cursor) -> t.Access:
    """`$name.property`."""
    found = _variable_or_access(c)
    if isinstance(found, t.Access):
        return found
    raise c.fail("`.` and a property")


def _call(c: Cursor, name: str) -> t.Call | t.Aggregate:
    start = c.last.start
    c.expect(LEFT)
    c.enter()
    if name in _AGGREGATES:
        distinct, argument = _aggregate_argument(c)
        c.expect(RIGHT)
        c.leave()
        return t.Aggregate(_AGGREGATES[name], argument, distinct, c.since(start))
    function = _FUNCTIONS[name]
    arguments = _call_arguments(c, function)
    c.expect(RIGHT)
    c.leave()
    return t.Call(function, arguments, c.since(start))


def _aggregate_argument(c: Cursor) -> tuple[bool, t.Expression]:
    mark = c.mark()
    if c.looking_at(DISTINCT):
        c.expect(DISTINCT)
        try:
            return True, expression(c)
        except NoMatch:  # an alias that happens to be called `distinct`
            c.reset(mark)
    return False, expression(c)


def _call_arguments(c: Cursor, function: t.Function) -> tuple[t.Expression, ...]:
    if function is t.Function.NOW:
        return ()
    if function in _OF_ANY_NUMBER:
        found = [expression(c)]
        while c.accept(COMMA) is not None:
            c.count("values in lists", MAX_LIST_ITEMS, "give fewer")
            found.append(expression(c))
        return tuple(found)
    if function is t.Function.RRF:
        first: t.Expression = rank(c)
        c.expect(COMMA)
        second: t.Expression = rank(c)
    else:
        first = access(c) if function is t.Function.NEAREST else expression(c)
        c.expect(COMMA)
        second = expression(c)
    if function in (t.Function.FUZZY, t.Function.RRF) and c.accept(COMMA) is not None:
        return (first, second, expression(c))
    return (first, second)


def rank(c: Cursor) -> t.Call:
    """`nearest(…)` or `bm25(…)`."""
    name = c.accept(CALL_AHEAD)
    if name not in ("nearest", "bm25"):
        raise c.fail("`nearest(…)` or `bm25(…)`")
    found = _call(c, name)
    assert isinstance(found, t.Call)
    return found


def literal(c: Cursor) -> t.Literal:
    """A constant written out."""
    found = _sign_literal(c) if c.next_char() in _LITERAL_STARTS else _word_literal(c)
    if found is None:
        raise c.fail("a literal")
    return found


def _sign_literal(c: Cursor) -> t.Literal:
    """A literal that starts with a sign or a digit: a string, a number, a list."""
    first = c.next_char()
    if first == '"':
        raw = c.expect(STRING)
        return t.String(decode_string(raw, c.last.start), raw, c.last)
    if first == "[":
        c.expect(LIST_OPEN)
        return _list(c)
    fraction = c.accept(FLOAT)
    if fraction is not None:
        return t.Float(float(fraction), fraction, c.last)
    return t.Integer(_whole(c, c.expect(INTEGER)), c.last)


def _whole(c: Cursor, raw: str) -> int:
    value = int(raw) if len(raw) <= 24 else MAX_U64 + 1
    if not MIN_I64 <= value <= MAX_U64:
        shown = raw if len(raw) <= 24 else f"{raw[:21]}…"
        raise TextError("number-range", f"invalid integer `{shown}`: it must fit 64 bits", c.last)
    return value


def _list(c: Cursor) -> t.List:
    start = c.last.start
    c.enter()
    items: list[t.Literal] = []
    if not c.looking_at(LIST_CLOSE):
        items.append(literal(c))
        while c.accept(COMMA) is not None:
            c.count("values in lists", MAX_LIST_ITEMS, "give them as a parameter")
            items.append(literal(c))
    c.expect(LIST_CLOSE)
    c.leave()
    return t.List(tuple(items), c.since(start))


def _word_literal(c: Cursor) -> t.Literal | None:
    """A literal that starts with a letter: `date(…)`, `datetime(…)`, `true`, `false`."""
    if c.looking_at(TEMPORAL_AHEAD):
        kind = c.expect(TEMPORAL_AHEAD)
        start = c.last.start
        c.expect(LEFT)
        raw = c.expect(STRING)
        text = t.String(decode_string(raw, c.last.start), raw, c.last)
        c.expect(RIGHT)
        return t.Date(text, c.since(start)) if kind == "date" else t.DateTime(text, c.since(start))
    if c.looking_at(BOOL):
        return t.Bool(c.expect(BOOL) == "true", c.last)
    return None


def value(c: Cursor) -> t.Expression:
    """What an inline match, an assignment or a predicate may compare with: a literal, a parameter, `now()`."""
    first = c.next_char()
    if first == "$":
        return variable(c)
    if first in _LITERAL_STARTS:
        return _sign_literal(c)
    if c.looking_at(NOW_AHEAD):
        return _call(c, c.expect(NOW_AHEAD))
    found = _word_literal(c)
    if found is None:
        raise c.fail(VALUE)
    return found
