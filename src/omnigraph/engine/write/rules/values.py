"""Rules about a row alone: required values, enums, ranges, patterns, finite numbers, and how large it is (`size`).

Types are right by the time a row is in Arrow; whoever made the rows refused what did not fit. A list may have elements without a
value: only the compatible dialect makes such, every other door refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.catalog.keepable import void
from omnigraph.catalog.logical import Comparator
from omnigraph.catalog.shape import Check, Range
from omnigraph.engine.arrays.chunked import plain
from omnigraph.engine.arrays.column import Mask, Vec, to_mask
from omnigraph.engine.execution.compare import compare
from omnigraph.engine.write.changeset import Delta
from omnigraph.engine.write.rules import size
from omnigraph.engine.write.violations import Violation
from omnigraph.errors import VoidConstraint


def check(delta: Delta) -> Iterator[Violation]:
    """Every row that breaks a rule about itself."""
    if delta.rows.num_rows == 0:
        return
    for prop in delta.type.properties.values():
        yield from _property(delta, prop)
    for constraint in delta.type.constraints:
        match constraint:
            case Range(name, low, high):
                yield from _range(delta, name, low, high)
            case Check(name, pattern):
                yield from _pattern(delta, name, pattern)
            case _:
                pass
    yield from size.check(delta)


def _property(delta: Delta, prop: Property) -> Iterator[Violation]:
    values = delta.column(prop.name)
    type_ = prop.type
    if not type_.nullable and values.null_count:
        missing = to_mask(values.is_null())
        if prop.name in delta.absent:
            missing &= ~delta.absent[prop.name]
        yield from _each(delta, "required", prop.name, values, missing, lambda _: "has no value")
    if type_.is_vector:
        flat = pc.list_flatten(values)
        finite = to_mask(pc.is_finite(flat))
        if not finite.all():
            owners = pc.list_parent_indices(values).to_numpy()[~finite]
            bad = np.zeros(len(values), np.bool_)
            bad[owners] = True
            yield from _each(delta, "type", prop.name, values, bad, lambda _: "has a component that is not a finite number")
    elif type_.scalar.is_float and not type_.is_list:
        bad = ~to_mask(pc.is_finite(values)) & to_mask(values.is_valid())
        yield from _each(delta, "type", prop.name, values, bad, lambda v: f"must be a finite number, not {v}")
    if type_.enum_values is not None:
        allowed = pa.array(type_.enum_values, pa.string())
        names = ", ".join(type_.enum_values)
        if type_.is_list:
            flat = pc.list_flatten(values)
            wrong = ~to_mask(pc.is_in(flat, value_set=allowed)) & to_mask(flat.is_valid())
            bad = np.zeros(len(values), np.bool_)
            bad[pc.list_parent_indices(values).to_numpy()[wrong]] = True
        else:
            bad = ~to_mask(pc.is_in(values, value_set=allowed)) & to_mask(values.is_valid())
        yield from _each(delta, "enum", prop.name, values, bad, lambda v: f"is {v!r}, not one of {names}")


def _range(delta: Delta, name: str, low: int | float | None, high: int | float | None) -> Iterator[Violation]:
    values = delta.column(name)
    if pa.types.is_list(values.type):
        return  # a range says nothing about lists
    held = Vec.of(values.cast(pa.float64()) if pa.types.is_float32(values.type) else values)
    bad = np.zeros(len(values), np.bool_)
    if low is not None:
        bad |= compare(held, Comparator.LT, low, len(values))
    if high is not None:
        bad |= compare(held, Comparator.GT, high, len(values))
    bounds = f"{'' if low is None else low}..{'' if high is None else high}"
    yield from _each(delta, "range", name, values, bad, lambda v: f"is {v}, outside {bounds}")


def _pattern(delta: Delta, name: str, pattern: str) -> Iterator[Violation]:
    values = delta.column(name)
    try:
        bad = ~to_mask(pc.match_substring_regex(values, pattern=pattern)) & to_mask(values.is_valid())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        refuse_void(delta.type)
        raise
    yield from _each(delta, "check", name, values, bad, lambda v: f"is {v!r}, which does not match {pattern}")


def refuse_void(type_: EntityType) -> None:
    """Raise if a type has a constraint that nothing can be held against."""
    from omnigraph.catalog.migration.render import constraint_text

    types = {prop.name: prop.type for prop in type_.properties.values()}
    for constraint in type_.constraints:
        problem = void(constraint, types)
        if problem is not None:
            text = constraint_text(constraint)
            raise VoidConstraint(f"nothing can be written to {type_.name}: {text} cannot be checked: {problem}")


def _each(delta: Delta, rule: str, name: str, values: pa.Array, bad: Mask, what: Callable[[object], str]) -> Iterator[Violation]:
    for row in np.flatnonzero(bad).tolist():
        value = plain(values[row])
        entity = delta.entity(row)
        file, line = delta.place(row)
        message = f"{delta.called(row)}: property `{name}` {what(value)}"
        yield Violation(rule, delta.type.name, message, name, entity, value, file, line)
