"""Grammar of `.gq` expressions, values and conditions.

    expr       := call | agg | propAccess | variable | literal | ident          (ordered; the final ident is an alias reference)
    call       := now "(" ")" | nearest "(" propAccess "," expr ")" | search "(" expr "," expr ")"
                | fuzzy "(" expr "," expr ("," expr)? ")" | match_text "(" expr "," expr ")" | bm25 "(" expr "," expr ")"
                | rrf "(" rank "," rank ("," expr)? ")"                         rank := nearest | bm25
    agg        := ( count | sum | avg | min | max ) "(" distinct? expr ")"
    propAccess := variable "." ident
    literal    := "[" ( literal ("," literal)* )? "]" | "datetime" "(" string ")" | "date" "(" string ")"
                | string | "-"? float | "-"? integer | bool
    value      := literal | variable | now

    condition  := conjunct ("or" conjunct)*
    conjunct   := primary ("and" primary)*
    primary    := "(" condition ")" | expr filterOp expr | expr "is" "not"? "null" | expr "in" expr | textTest
    filterOp   := "starts_with" | "contains" | ">=" | "<=" | "!=" | ">" | "<" | "="

The minus sign, `distinct`, `is`, `in`, `and`, `or` and the parentheses go beyond the base language. They are tried only where the
base grammar has nothing, and their words must end where they end, so a text of the base language keeps its meaning.
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
from omnigraph.language.gq import tree as t
from omnigraph.language.pg.tree import Name
from omnigraph.model.limits import MAX_CONDITIONS, MAX_LIST_ITEMS, MAX_U64, MIN_I64

LEFT, RIGHT, COMMA, DOT = word("("), word(")"), word(","), word(".")
LIST_OPEN, LIST_CLOSE = word("["), word("]")
VARIABLE = Pattern(r"\$[a-z_][A-Za-z0-9_]*+", "a variable (`$name`)")
CALL_AHEAD = Pattern(rf"(?:now|nearest|search|fuzzy|match_text|bm25|rrf|count|sum|avg|min|max)(?={TRIVIA}\()", "a function")
NOW_AHEAD = Pattern(rf"now(?={TRIVIA}\()", "`now()`")
TEMPORAL_AHEAD = Pattern(rf"(?:datetime|date)(?={TRIVIA}\()", 'date("…") or datetime("…")')
FLOAT = Pattern(r"-?[0-9]++\.[0-9]++", "a number")
INTEGER = Pattern(r"-?[0-9]++", "a number")
OPERATOR = Pattern(r"starts_with|contains|>=|<=|!=|>|<|=", "a comparison (`=` `!=` `<` `<=` `>` `>=` `contains` `starts_with`)")
COMPARISON = Pattern(r">=|<=|!=|>|<|=", "a comparison (`=` `!=` `<` `<=` `>` `>=`)")
IS, NOT, NULL, IN, AND, OR = (whole_word(w) for w in ("is", "not", "null", "in", "and", "or"))
DISTINCT = whole_word("distinct")

_AGGREGATES = {f.value: f for f in t.AggregateFunction}
_FUNCTIONS = {f.value: f for f in t.Function}
VALUE = "a value (a literal, a parameter or `now()`)"
"""What is expected where an inline match, an assignment or a predicate compares."""


def expression(c: Cursor) -> t.Expression:
    """Any expression, or `NoMatch`."""
    first = c.next_char()
    if first == "$":
        return _variable_or_access(c)
    if first in _LITERAL_STARTS:
        return literal(c)
    name = c.accept(CALL_AHEAD) if c.looking_at(CALL_AHEAD) else None
    if name is not None:
        return _call(c, name)
    found = _word_literal(c)
    if found is not None:
        return found
    text = c.accept(IDENT) if c.looking_at(IDENT) else None
    if text is None:
        raise c.fail("a value")
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


def condition(c: Cursor) -> t.Condition:
    """Comparisons joined by `and` and `or`."""
    start = c.start
    parts = [_conjunct(c)]
    while (part := _joined(c, OR, conjunct=True)) is not None:
        parts.append(part)
    return parts[0] if len(parts) == 1 else t.Or(tuple(parts), c.since(start))


def _conjunct(c: Cursor) -> t.Condition:
    start = c.start
    parts = [_primary(c)]
    while (part := _joined(c, AND, conjunct=False)) is not None:
        parts.append(part)
    return parts[0] if len(parts) == 1 else t.And(tuple(parts), c.since(start))


def _joined(c: Cursor, connective: Pattern, *, conjunct: bool) -> t.Condition | None:
    """The operand after a connective; nothing when what follows is not one and so belongs to the next clause."""
    mark = c.mark()
    if c.accept(connective) is None:
        return None
    try:
        return _conjunct(c) if conjunct else _primary(c)
    except NoMatch:
        c.reset(mark)
        return None


def _primary(c: Cursor) -> t.Condition:
    if c.accept(LEFT) is not None:
        c.enter()
        inner = condition(c)
        c.expect(RIGHT)
        c.leave()
        return inner
    start = c.start
    c.count("comparisons", MAX_CONDITIONS, "use `in` with a list, or ask several queries")
    left = expression(c)
    operator = c.accept(OPERATOR)
    if operator is not None:
        return t.Comparison(left, t.Operator(operator), expression(c), c.since(start))
    found = _null_test(c, left, start) or _membership(c, left, start)
    if found is not None:
        return found
    if isinstance(left, t.Call) and left.function in t.TEXT_TESTS:
        return t.TextTest(left, c.since(start))
    raise NoMatch


def _null_test(c: Cursor, operand: t.Expression, start: int) -> t.IsNull | None:
    mark = c.mark()
    if c.accept(IS) is None:
        return None
    negated = c.accept(NOT) is not None
    if c.accept(NULL) is None:
        c.reset(mark)
        return None
    return t.IsNull(operand, negated, c.since(start))


def _membership(c: Cursor, operand: t.Expression, start: int) -> t.Among | None:
    mark = c.mark()
    if c.accept(IN) is None:
        return None
    try:
        return t.Among(operand, expression(c), c.since(start))
    except NoMatch:
        c.reset(mark)
        return None
