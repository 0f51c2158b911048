"""Comparisons: exact across types, and never true where a value is missing.

Numbers compare by value, whatever their types: an integer is never equal to 2.7 and greater than it from 3 on; an integer beyond
2^53 is not rounded to a float first. A constant next to an F32 property is narrowed to F32, as the property was.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Set
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.logical import Comparator
from omnigraph.engine.arrays.column import Array, Mask, Vec, to_mask
from omnigraph.engine.planning.parameters import Value

_PYTHON: dict[Comparator, Callable[[Any, Any], Any]] = {
    Comparator.EQ: operator.eq,
    Comparator.NE: operator.ne,
    Comparator.GT: operator.gt,
    Comparator.LT: operator.lt,
    Comparator.GE: operator.ge,
    Comparator.LE: operator.le,
}
_ARROW = {
    Comparator.EQ: pc.equal,
    Comparator.NE: pc.not_equal,
    Comparator.GT: pc.greater,
    Comparator.LT: pc.less,
    Comparator.GE: pc.greater_equal,
    Comparator.LE: pc.less_equal,
}
_TURNED = {
    Comparator.EQ: Comparator.EQ,
    Comparator.NE: Comparator.NE,
    Comparator.GT: Comparator.LT,
    Comparator.LT: Comparator.GT,
    Comparator.GE: Comparator.LE,
    Comparator.LE: Comparator.GE,
}
_TEXT_KERNELS = {
    Comparator.STRING_CONTAINS: pc.match_substring,
    Comparator.STARTS_WITH: pc.starts_with,
    Comparator.ENDS_WITH: pc.ends_with,
}
_TEXT_TESTS: dict[Comparator, Callable[[str, str], bool]] = {
    Comparator.STRING_CONTAINS: str.__contains__,
    Comparator.STARTS_WITH: str.startswith,
    Comparator.ENDS_WITH: str.endswith,
}
_EXACT = 1 << 53

_LONG_PATTERN = 4_096
"""Bytes from which on a text to look for is compared with the longest text there is first."""

FEW_CHOICES = 16
"""Up to so many values are compared one after the other."""

Operand = Vec | Value


def compare(left: Operand, how: Comparator, right: Operand, rows: int) -> Mask:
    """Row by row, whether a comparison is definitely true."""
    if left is None or right is None:
        return np.zeros(rows, np.bool_)
    if not isinstance(left, Vec) and not isinstance(right, Vec):
        return np.full(rows, _constants(left, how, right))
    if how is Comparator.CONTAINS:
        return _contains(left, right, rows)
    if how in _TEXT_KERNELS:
        return _text(left, how, right, rows)
    if not isinstance(left, Vec):
        assert isinstance(right, Vec)
        return _with_constant(right, _TURNED[how], left)
    if not isinstance(right, Vec):
        return _with_constant(left, how, right)
    return _columns(left, how, right)


def _constants(left: Value, how: Comparator, right: Value) -> bool:
    match how:
        case Comparator.CONTAINS:
            return isinstance(left, tuple) and right in left
        case Comparator.STRING_CONTAINS | Comparator.STARTS_WITH | Comparator.ENDS_WITH:
            return isinstance(left, str) and isinstance(right, str) and _TEXT_TESTS[how](left, right)
        case _:
            if isinstance(left, str) and isinstance(right, str):
                return bool(_PYTHON[how](left.encode(), right.encode()))
            return bool(_PYTHON[how](left, right))


def _with_constant(vec: Vec, how: Comparator, constant: Value) -> Mask:
    if vec.plain is not None:
        assert isinstance(constant, int | float)
        found = _numbers_with_constant(vec.plain, how, constant)
        return found if vec.valid is None else found & vec.valid
    assert vec.arrow is not None
    if isinstance(constant, tuple):
        equal = np.array([item == list(constant) for item in vec.arrow.to_pylist()], np.bool_)
        return equal if how is Comparator.EQ else ~equal & vec.is_valid()
    return to_mask(_ARROW[how](vec.arrow, pa.scalar(constant, vec.arrow.type)))


def _numbers_with_constant(values: Array, how: Comparator, constant: int | float) -> Mask:
    rows = len(values)
    if isinstance(constant, float) and values.dtype.kind in "iu":
        if math.isnan(constant):
            return np.full(rows, how is Comparator.NE)
        if math.isinf(constant):
            above = constant > 0
            yes = how is Comparator.NE or ((how in (Comparator.LT, Comparator.LE)) == above and how is not Comparator.EQ)
            return np.full(rows, yes)
        if not constant.is_integer():
            if how in (Comparator.EQ, Comparator.NE):
                return np.full(rows, how is Comparator.NE)
            whole = math.floor(constant)
            how = Comparator.GT if how in (Comparator.GT, Comparator.GE) else Comparator.LE
            return _PYTHON[how](values, whole)  # type: ignore[no-any-return]
        constant = int(constant)
    if values.dtype == np.float32:
        with np.errstate(over="ignore"):
            return _PYTHON[how](values, np.float32(constant))  # type: ignore[no-any-return]
    if values.dtype == np.float64 and isinstance(constant, int) and abs(constant) > _EXACT:
        return np.array([_PYTHON[how](value, constant) for value in values.tolist()], np.bool_)
    return _PYTHON[how](values, constant)  # type: ignore[no-any-return]


def _columns(left: Vec, how: Comparator, right: Vec) -> Mask:
    if left.plain is not None and right.plain is not None:
        found = _number_columns(left.plain, how, right.plain)
        for side in (left, right):
            if side.valid is not None:
                found = found & side.valid
        return found
    a, b = left.to_arrow(), right.to_arrow()
    if pa.types.is_nested(a.type):
        both = left.is_valid() & right.is_valid()
        equal = np.array([x == y for x, y in zip(a.to_pylist(), b.to_pylist(), strict=True)], np.bool_)
        return both & (equal if how is Comparator.EQ else ~equal)
    return to_mask(_ARROW[how](a, b))


def _number_columns(left: Array, how: Comparator, right: Array) -> Mask:
    mixed = (left.dtype.kind in "iu") != (right.dtype.kind in "iu")
    if mixed:
        whole = left if left.dtype.kind in "iu" else right
        if whole.dtype.itemsize == 8 and len(whole) and (int(whole.max()) > _EXACT or int(whole.min()) < -_EXACT):
            pairs = zip(left.tolist(), right.tolist(), strict=True)
            return np.array([_PYTHON[how](a, b) for a, b in pairs], np.bool_)
        left, right = left.astype(np.float64), right.astype(np.float64)
    return _PYTHON[how](left, right)  # type: ignore[no-any-return]


def _text(left: Operand, how: Comparator, right: Operand, rows: int) -> Mask:
    if isinstance(left, Vec) and isinstance(right, str):
        if len(right) > _LONG_PATTERN and len(right.encode()) > (pc.max(pc.binary_length(left.to_arrow())).as_py() or 0):
            return np.zeros(rows, np.bool_)  # to prepare such a pattern takes longer than to look for it
        return to_mask(_TEXT_KERNELS[how](left.to_arrow(), pattern=right))
    lefts = left.to_arrow().to_pylist() if isinstance(left, Vec) else [left] * rows
    rights = right.to_arrow().to_pylist() if isinstance(right, Vec) else [right] * rows
    test, pairs = _TEXT_TESTS[how], zip(lefts, rights, strict=True)
    return np.array([a is not None and b is not None and test(a, b) for a, b in pairs], np.bool_)


def _contains(left: Operand, right: Operand, rows: int) -> Mask:
    if isinstance(left, Vec):
        lists = left.to_arrow()
        lengths = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
        owner = np.repeat(np.arange(rows), lengths)
        elements = Vec.of(pc.list_flatten(lists))
        wanted = right.take(owner) if isinstance(right, Vec) else right
        hits = compare(elements, Comparator.EQ, wanted, len(owner))
        found = np.zeros(rows, np.bool_)
        found[owner[hits]] = True
        return found
    assert isinstance(left, tuple)
    found = np.zeros(rows, np.bool_)
    for item in left:
        found |= compare(right, Comparator.EQ, item, rows)
    return found


def set_of(choices: tuple[Any, ...], *, narrowed: bool) -> frozenset[Any]:
    """Values to look for, once for all rows; as an F32 property would hold them, if it is one that is looked at."""
    if not narrowed:
        return frozenset(choices)
    with np.errstate(over="ignore"):
        return frozenset(float(np.float32(item)) for item in choices if item is not None)


def one_of(vec: Vec, known: Set[Any]) -> Mask:
    """Row by row, whether a value is in a set. To Python equal numbers are equal whatever their type, and so are their hashes."""
    if vec.plain is None:
        column = vec.to_arrow()
        # Many texts are compared where they are, unless there are more to look for; one that is no UTF-8 is none of them.
        if pa.types.is_string(column.type) and len(known) <= len(vec):
            texts = [item for item in known if isinstance(item, str) and item.isprintable()]
            if len(texts) == len(known):
                return np.asarray(pc.is_in(column, value_set=pa.array(texts, column.type)), np.bool_)
        return np.fromiter((item is not None and item in known for item in column.to_pylist()), np.bool_, len(vec))
    found = np.fromiter((item in known for item in vec.plain.tolist()), np.bool_, len(vec))
    return found if vec.valid is None else found & vec.valid


def among(operand: Operand, choices: Operand, rows: int) -> Mask:
    """Row by row, whether a value is one of some."""
    return compare(choices, Comparator.CONTAINS, operand, rows)
