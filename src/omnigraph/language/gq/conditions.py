"""Grammar of `.gq` conditions.

    condition  := conjunct ("or" conjunct)*
    conjunct   := primary ("and" primary)*
    primary    := "not"? "(" condition ")" | expr filterOp expr | expr "is" "not"? "null" | expr "not"? "in" expr | textTest
    filterOp   := "starts_with" | "ends_with" | "contains" | ">=" | "<=" | "!=" | ">" | "<" | "="

`is`, `in`, `ends_with`, `and`, `or`, `not` and the parentheses go beyond the base language. They are tried only where the base
grammar has nothing, and their words must end where they end, so a text of the base language keeps its meaning.

Parentheses may hold a condition or the first operand of one, which only shows at their end: they are read once, as either.
"""

from __future__ import annotations

from omnigraph.language.cursor import TRIVIA, Cursor, NoMatch, Pattern, whole_word
from omnigraph.language.gq import tree as t
from omnigraph.language.gq.expressions import LEFT, RIGHT, expression
from omnigraph.model.limits import MAX_CONDITIONS

OPERATOR = Pattern(
    r"starts_with|contains|ends_with(?![A-Za-z0-9_])|>=|<=|!=|>|<|=",
    "a comparison (`=` `!=` `<` `<=` `>` `>=` `contains` `starts_with` `ends_with`)",
)
TEXT_TEST_AHEAD = Pattern(rf"(?:{'|'.join(sorted(f.value for f in t.TEXT_TESTS))})(?={TRIVIA}\()", "a text test")
NOT_GROUP = Pattern(rf"not(?={TRIVIA}\()", "`not (`")
IS, NOT, NULL, IN, AND, OR = (whole_word(w) for w in ("is", "not", "null", "in", "and", "or"))


def condition(c: Cursor, *, loose: bool = False) -> t.Condition:
    """Comparisons joined by `and` and `or`. `loose`: another clause may begin right after it."""
    found = _either(c, loose)
    if isinstance(found, t.CONDITIONS):
        return found
    raise NoMatch


def _either(c: Cursor, loose: bool) -> t.Condition | t.Expression:
    """A condition, or an expression that may yet become part of one."""
    start = c.start
    first = _conjunct(c, loose)
    if not isinstance(first, t.CONDITIONS):
        return first
    parts = [first]
    while (part := _joined(c, OR, loose, conjunct=True)) is not None:
        parts.append(part)
    return parts[0] if len(parts) == 1 else t.Or(tuple(parts), c.since(start))


def _conjunct(c: Cursor, loose: bool) -> t.Condition | t.Expression:
    start = c.start
    first = _primary(c, loose)
    if not isinstance(first, t.CONDITIONS):
        return first
    parts = [first]
    while (part := _joined(c, AND, loose, conjunct=False)) is not None:
        parts.append(part)
    return parts[0] if len(parts) == 1 else t.And(tuple(parts), c.since(start))


def _joined(c: Cursor, connective: Pattern, loose: bool, *, conjunct: bool) -> t.Condition | None:
    """The operand after a connective; nothing when what follows is not one and so belongs to the next clause."""
    mark = c.mark()
    if c.accept(connective) is None:
        return None
    try:
        found = _conjunct(c, loose) if conjunct else _primary(c, loose)
    except NoMatch:
        found = None
    if isinstance(found, t.CONDITIONS):
        return found
    c.reset(mark)
    return None


def _primary(c: Cursor, loose: bool) -> t.Condition | t.Expression:
    start = c.start
    first: t.Expression | None = None
    if c.looking_at(NOT_GROUP) and c.accept(NOT_GROUP) is not None:
        c.expect(LEFT)
        c.enter()
        negated = condition(c)
        c.expect(RIGHT)
        c.leave()
        return t.Not(negated, c.since(start))
    if c.accept(LEFT) is not None:
        c.enter()
        inner = _either(c, loose=False)
        c.expect(RIGHT)
        c.leave()
        if isinstance(inner, t.CONDITIONS):
            return inner
        first = inner
    alone = loose and c.looking_at(TEXT_TEST_AHEAD)  # another clause may begin after it
    left = expression(c, first=first, loose=alone)
    return _comparison(c, left, start, loose) or left


def _comparison(c: Cursor, left: t.Expression, start: int, loose: bool) -> t.Condition | None:
    """What is said of an expression, if anything is."""
    operator = c.accept(OPERATOR)
    if operator is not None:
        _count(c)
        return t.Comparison(left, t.Operator(operator), expression(c, loose=loose), c.since(start))
    found = _null_test(c, left, start) or _membership(c, left, start, loose)
    if found is None and isinstance(left, t.Call) and left.function in t.TEXT_TESTS:
        found = t.TextTest(left, c.since(start))
    if found is not None:
        _count(c)
    return found


def _count(c: Cursor) -> None:
    c.count("comparisons", MAX_CONDITIONS, "use `in` with a list, or ask several queries")


def _null_test(c: Cursor, operand: t.Expression, start: int) -> t.Condition | None:
    mark = c.mark()
    if c.accept(IS) is None:
        return None
    negated = c.accept(NOT) is not None
    if c.accept(NULL) is None:
        c.reset(mark)
        return None
    return t.IsNull(operand, negated, c.since(start))


def _membership(c: Cursor, operand: t.Expression, start: int, loose: bool) -> t.Condition | None:
    mark = c.mark()
    negated = c.looking_at(NOT) and c.accept(NOT) is not None
    if c.accept(IN) is not None:
        try:
            return t.Among(operand, expression(c, loose=loose), negated, c.since(start))
        except NoMatch:
            pass
    c.reset(mark)
    return None
