"""Values as the specification compares them: nulls, exact numbers, 32-bit floats, dates and moments read from text (4.5, 4.6.5, 7.3)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

from tests.engine.reference_search import single

from omnigraph.catalog import logical as lg
from omnigraph.model.types import PropertyType, Scalar

_MOMENT = re.compile(
    r"(?P<day>[^Tt ]+)[Tt ](?P<h>\d\d):?(?P<m>\d\d):?(?P<s>\d\d)(?:\.(?P<fraction>\d{1,9}))?"
    r" ?(?:(?P<utc>[Zz])|(?P<sign>[+-])(?P<zh>\d\d):?(?P<zm>\d\d)?)?"
)

_COMPARED: dict[lg.Comparator, Callable[[Any, Any], bool]] = {
    lg.Comparator.EQ: operator.eq,
    lg.Comparator.NE: operator.ne,
    lg.Comparator.GT: operator.gt,
    lg.Comparator.LT: operator.lt,
    lg.Comparator.GE: operator.ge,
    lg.Comparator.LE: operator.le,
    lg.Comparator.STRING_CONTAINS: operator.contains,
    lg.Comparator.STARTS_WITH: str.startswith,
    lg.Comparator.ENDS_WITH: str.endswith,
}


def holds(comparator: lg.Comparator, left: Any, right: Any) -> bool:
    """Is the comparison definitely true? Python compares integers with floats exactly and strings by code point, which is bytewise."""
    if left is None or right is None:
        return False
    if comparator is lg.Comparator.CONTAINS:
        return any(element is not None and element == right for element in left)
    return _COMPARED[comparator](left, right)


def refuted(condition: lg.Condition, true: Callable[[lg.Condition], bool], value: Callable[[lg.Expression], Any]) -> bool:
    """Is a condition definitely false? Of three values: what is compared with null is neither true nor false."""
    match condition:
        case lg.AllOf(parts):
            return any(refuted(part, true, value) for part in parts)
        case lg.AnyOf(parts):
            return all(refuted(part, true, value) for part in parts)
        case lg.Not(part):
            return true(part)
        case lg.IsNull():
            return not true(condition)
        case lg.Compare(one, _, other) | lg.Among(one, other):
            return value(one) is not None and value(other) is not None and not true(condition)
        case lg.TextMatch(_, text, query, edits):
            sides = [text, query] if edits is None else [text, query, edits]
            return all(value(side) is not None for side in sides) and not true(condition)


def narrowed(value: Any) -> Any:
    """Numbers as 32-bit floats."""
    if isinstance(value, list):
        return [narrowed(element) for element in value]
    return single(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def freeze(value: Any) -> Any:
    """Something equal that can be a key; true is not one."""
    if isinstance(value, list):
        return tuple(freeze(element) for element in value)
    return (bool, value) if isinstance(value, bool) else value


def constant(literal: lg.Constant) -> Any:
    """The value of a literal."""
    if isinstance(literal.value, tuple):
        return [_typed(item, literal.type.scalar) for item in literal.value]
    return _typed(literal.value, literal.type.scalar)


def as_parameter(given: Any, type_: PropertyType) -> Any:
    """The value of a parameter as the query sees it."""
    if given is None:
        return None
    if type_.is_vector:
        return narrowed(list(given))
    if type_.is_list:
        return [_typed(item, type_.scalar) for item in given]
    return _typed(given, type_.scalar)


def _typed(value: Any, scalar: Scalar) -> Any:
    if scalar is Scalar.DATE and isinstance(value, str):
        return day(value)
    if scalar is Scalar.DATETIME and isinstance(value, str):
        return moment(value)
    if scalar.is_integer and isinstance(value, str):
        return int(value)
    return value


def day(text: str) -> date:
    """A date from text; of a moment its day in UTC."""
    if len(text) > 10:
        return moment(text).date()
    year, month, day_ = text.split("-") if "-" in text else (text[:4], text[4:6], text[6:])
    return date(int(year), int(month), int(day_))


def moment(text: str) -> datetime:
    """A moment from text, in UTC, to the millisecond."""
    if len(text) <= 10:
        start = day(text)
        return datetime(start.year, start.month, start.day, tzinfo=UTC)
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"no moment: {text}")
    start = day(found["day"])
    zone = timedelta(hours=int(found["zh"] or 0), minutes=int(found["zm"] or 0)) * (-1 if found["sign"] == "-" else 1)
    milliseconds = int((found["fraction"] or "").ljust(3, "0")[:3])
    local = datetime(start.year, start.month, start.day, int(found["h"]), int(found["m"]), int(found["s"]), milliseconds * 1000)
    return local.replace(tzinfo=timezone(zone)).astimezone(UTC)


def placed(expression: lg.Expression, value: Any) -> Any:
    """A value as it is ordered: of an enum, its place among those declared."""
    declared = lg.declared_values(expression)
    return value if declared is None or value is None else declared.index(value)
