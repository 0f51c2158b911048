"""Spark's filters as conditions on stored columns: those that mean the same to both.

A filter is taken over only if it keeps exactly the rows Spark would keep; anything doubtful stays with Spark, which then looks at
every row itself. Doubtful are texts as patterns, floats that are zero (there are two) or no number, moments between milliseconds,
numbers out of the range of the property, and columns that are no single values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime

import pyarrow as pa
from pyspark.sql import datasource as sf

from omnigraph.model.arrow import arrow_type
from omnigraph.model.times import ms_of
from omnigraph.model.types import INTEGER_RANGES, PropertyType, Scalar
from omnigraph.storage.filters import Comparison, Filter, compare, is_null, is_there, one_of

_UNASKED = frozenset({Scalar.BLOB, Scalar.VECTOR})


class _Doubtful(Exception):
    pass


def condition(filter_: sf.Filter, types: Mapping[str, PropertyType]) -> Filter | None:
    """A filter as a condition; None: Spark has to look itself."""
    try:
        return _condition(filter_, types)
    except _Doubtful:
        return None


def _condition(filter_: sf.Filter, types: Mapping[str, PropertyType]) -> Filter:
    match filter_:
        case sf.Not(sf.EqualNullSafe()):
            raise _Doubtful
        case sf.Not(child):
            return ~_condition(child, types)
        case sf.IsNull(path):
            return is_null(_column(path, types)[0])
        case sf.IsNotNull(path):
            return is_there(_column(path, types)[0])
        case sf.EqualTo(path, value) | sf.EqualNullSafe(path, value):
            column, type_ = _column(path, types)
            return compare(column, Comparison.EQUAL, _scalar(type_, value))
        case sf.GreaterThan(path, value):
            column, type_ = _column(path, types)
            return compare(column, Comparison.GREATER, _scalar(type_, value))
        case sf.GreaterThanOrEqual(path, value):
            column, type_ = _column(path, types)
            return compare(column, Comparison.AT_LEAST, _scalar(type_, value))
        case sf.LessThan(path, value):
            column, type_ = _column(path, types)
            return compare(column, Comparison.LESS, _scalar(type_, value))
        case sf.LessThanOrEqual(path, value):
            column, type_ = _column(path, types)
            return compare(column, Comparison.AT_MOST, _scalar(type_, value))
        case sf.In(path, values):
            column, type_ = _column(path, types)
            return one_of(column, [_scalar(type_, value) for value in values])
        case _:
            raise _Doubtful


def _column(path: tuple[str, ...], types: Mapping[str, PropertyType]) -> tuple[str, PropertyType]:
    type_ = types.get(path[0]) if len(path) == 1 else None
    if type_ is None or type_.is_list or type_.scalar in _UNASKED:
        raise _Doubtful
    return path[0], type_


def _scalar(type_: PropertyType, value: object) -> pa.Scalar:
    return pa.scalar(_stored(type_, value), arrow_type(type_))


def _stored(type_: PropertyType, value: object) -> object:
    scalar = type_.scalar
    if scalar.is_integer:
        low, high = INTEGER_RANGES[scalar]
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
    elif scalar.is_float:
        if isinstance(value, float) and math.isfinite(value) and value != 0:
            return value
    elif scalar is Scalar.STRING:
        if isinstance(value, str):
            return value
    elif scalar is Scalar.BOOL:
        if isinstance(value, bool):
            return value
    elif scalar is Scalar.DATETIME:
        if isinstance(value, datetime) and value.tzinfo is not None and value.microsecond % 1000 == 0:
            return ms_of(value)
    elif isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise _Doubtful
