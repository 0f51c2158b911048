"""Grouping and aggregates.

Each frame is aggregated as it comes; what several frames found is then merged: counts and sums add up, averages from both, the
smallest of the smallest. Aggregates over distinct values need all of them at once, so those queries collect first.

In a query with a limit of memory what is kept per group is counted as it is, texts and lists with all their bytes, and a frame is
taken in pieces that are no larger than their values allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.engine.arrays.column import Array, Vec
from omnigraph.engine.arrays.column import concat as concat_vecs
from omnigraph.engine.arrays.grouping import Codes, Groups, codes_of, combined, groups_of
from omnigraph.engine.arrays.numbering import distinct_count, each_once
from omnigraph.engine.arrays.ordering import as_declared, sort_key
from omnigraph.engine.execution.evaluate import Scope, vector
from omnigraph.engine.execution.frame import Frame, concat
from omnigraph.engine.execution.operators import counts
from omnigraph.engine.execution.operators.sums import exact_sums, float_sums, means, scaled_back, sums_of, whole_sums
from omnigraph.engine.execution.run import Run
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding, NodeBinding
from omnigraph.language.gq.tree import AggregateFunction as Fn
from omnigraph.model.arrow import arrow_type

_PARTIALS = 32
"""After so many frames what they found is merged, so that it does not pile up."""

_BESIDE = 8
"""Bytes per group and column that are in use while groups are found."""

_SAMPLE_ROWS = 32
"""Rows by which the others are judged."""


@dataclass(slots=True)
class _Partial:
    """What some rows come to: the keys of each group, and the states of each aggregate."""

    keys: list[Vec]
    identities: list[Vec]
    """What makes two groups of different frames the same: the keys, but entities themselves rather than their ids."""
    groups: int
    states: list[list[Array | Vec]]

    @property
    def nbytes(self) -> int:
        """What it takes in memory, with some bytes per group for what goes with it."""
        parts = {id(part): part for part in (*self.keys, *self.identities, *(s for state in self.states for s in state))}
        return sum(part.nbytes for part in parts.values()) + self.groups * _BESIDE * (len(parts) + 1)


def aggregate(tail: st.Tail, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> list[Vec]:
    """One row per group: the columns of the result."""
    keys = [p.expression for p in tail.projections if not isinstance(p.expression, lg.Aggregated)]
    wanted = [p.expression for p in tail.projections if isinstance(p.expression, lg.Aggregated)]
    if any(_is_whole(a) for a in wanted):
        collected = []
        for frame in frames:
            run.budget.check("grouping")
            run.budget.keep(frame.nbytes * 3, "grouping")
            collected.append(frame)
        frames = iter([concat(collected, lambda: run.budget.check("grouping"))] if collected else [])
    partials: list[_Partial] = []
    for frame in frames:
        run.budget.check("grouping")
        if not run.budget.limited:
            partials.append(_partial(keys, wanted, frame, run, bindings))
            continue
        for part in _pieces(keys, wanted, frame, run, bindings):
            run.budget.keep(part.nbytes, "grouping")
            partials.append(part)
            if len(partials) > _PARTIALS and sum(p.groups for p in partials[1:]) > partials[0].groups:
                partials = [_together(wanted, partials, run)]
    if not partials:
        if keys:
            return [_empty(p.expression) for p in tail.projections]
        empty = Frame(0, {name: np.empty(0, np.int64) for name in bindings})
        partials.append(_partial(keys, wanted, empty, run, bindings))
    whole = partials[0] if len(partials) == 1 else _together(wanted, partials, run)
    key_columns, aggregate_columns = iter(whole.keys), iter(zip(wanted, whole.states, strict=True))
    found = []
    for projection in tail.projections:
        if isinstance(projection.expression, lg.Aggregated):
            found.append(_final(*next(aggregate_columns)))
        else:
            found.append(next(key_columns))
    return found


def _pieces(
    keys: Sequence[lg.Expression], wanted: list[lg.Aggregated], frame: Frame, run: Run, bindings: dict[str, Binding]
) -> Iterator[_Partial]:
    """What a frame comes to, in pieces: the values of one take no more than the budget has for one batch of work."""
    most = frame.rows
    if run.budget.bytes is not None and (row_bytes := _row_bytes([*keys, *wanted], frame, run, bindings)):
        if any(_is_whole(a) for a in wanted):  # these cannot be merged
            run.budget.hold(row_bytes * frame.rows, "grouping")
        else:
            most = run.budget.rows(2 + row_bytes // 8, frame.rows)
    for start in range(0, max(1, frame.rows), max(1, most)):
        piece = frame if most >= frame.rows else frame.slice(start, min(start + most, frame.rows))
        yield run.budget.aside(partial(_partial, keys, wanted, piece, run, bindings), piece.rows, "grouping")


def _is_whole(wanted: lg.Aggregated) -> bool:
    """Whether an aggregate needs all its values at once."""
    return wanted.distinct or wanted.function is Fn.COLLECT


def _row_bytes(expressions: Sequence[lg.Expression], frame: Frame, run: Run, bindings: dict[str, Binding]) -> int:
    """About how many bytes the texts and lists of a row take, judged by some rows."""
    wide = [e.argument if isinstance(e, lg.Aggregated) else e for e in expressions if _is_wide(e)]
    if not wide or not frame.rows:
        return 0
    sample = frame.take(np.linspace(0, frame.rows - 1, min(frame.rows, _SAMPLE_ROWS)).astype(np.int64))
    return sum(vector(e, Scope(run, sample, bindings)).nbytes for e in wide) // sample.rows


def _is_wide(expression: lg.Expression) -> bool:
    """Whether values may take any number of bytes."""
    if isinstance(expression, lg.Aggregated):
        expression = expression.argument
    return isinstance(expression, lg.PropertyValue | lg.Computed) and (
        expression.type.is_list or expression.type.is_vector or expression.type.is_string
    )


def _together(wanted: list[lg.Aggregated], partials: list[_Partial], run: Run) -> _Partial:
    """What several frames came to, as one; counted before it is made."""
    if not run.budget.limited:
        return _merged(wanted, partials)
    before = sum(p.nbytes for p in partials)
    run.budget.hold(before, "grouping")
    found = run.budget.aside(partial(_merged, wanted, partials), sum(p.groups for p in partials), "grouping")
    run.budget.release(before - found.nbytes)
    return found


def _empty(expression: lg.Expression) -> Vec:
    type_ = pa.string() if isinstance(expression, lg.Entity) else arrow_type(expression.type)  # type: ignore[arg-type]
    return Vec.of(pa.array([], type_))


def _partial(
    keys: Sequence[lg.Expression], wanted: list[lg.Aggregated], frame: Frame, run: Run, bindings: dict[str, Binding]
) -> _Partial:
    scope = Scope(run, frame, bindings)
    if keys:
        codes = []
        for key in keys:
            run.budget.check("grouping")
            codes.append(_codes(key, scope))
        groups = groups_of(combined(codes))
        firsts = Scope(run, frame.take(groups.first), bindings)
        values = []
        for key in keys:
            run.budget.check("grouping")
            values.append(vector(key, firsts))
        identities = [_identity(key, value, firsts) for key, value in zip(keys, values, strict=True)]
        made = sum(value.nbytes for value in values) if run.budget.bytes is not None else 0
    else:
        groups = Groups(np.zeros(frame.rows, np.int64), np.zeros(1, np.int64))
        values, identities, made = [], [], 0
    states = []
    for aggregated in wanted:
        run.budget.check("grouping")
        vec = None if _counts_entities(aggregated) else vector(aggregated.argument, scope)
        if vec is not None and run.budget.bytes is not None:
            made += vec.nbytes
            run.budget.hold(2 * made, "grouping")
        states.append(_state(aggregated, vec, scope, groups))
    return _Partial(values, identities, groups.count, states)


def _counts_entities(wanted: lg.Aggregated) -> bool:
    return isinstance(wanted.argument, lg.Entity) and wanted.function is Fn.COUNT


def _identity(key: lg.Expression, value: Vec, scope: Scope) -> Vec:
    return Vec(pa.int64(), scope.frame.columns[key.variable]) if isinstance(key, lg.Entity) else value


def _codes(key: lg.Expression, scope: Scope) -> Codes:
    """Codes of a group key: of the whole column where that is at hand, of the values otherwise."""
    match key:
        case lg.Entity(variable):
            column = scope.frame.columns[variable]
            return codes_of(Vec(pa.int64(), column, column >= 0 if len(column) and column.min() < 0 else None))
        case lg.PropertyValue(variable, name, type_) if (
            isinstance(binding := scope.bindings[variable], NodeBinding) and not type_.is_list and not type_.is_vector
        ):
            nodes = scope.run.view.nodes(binding.types[0])
            if len(binding.types) == 1 and name in ("id", nodes.id_property):  # as many values as nodes
                return _codes(lg.Entity(variable, binding.types[0]), scope)
            if len(binding.types) == 1 and scope.rows > nodes.count // 4 and nodes.loaded:
                rows = nodes.load().of(scope.frame.columns[variable])
                if not len(rows) or rows.min() >= 0:
                    codes, values = nodes.stored.column(name).codes
                    return Codes(codes[rows], max(1, len(values)))
    return codes_of(vector(key, scope))


def _state(wanted: lg.Aggregated, vec: Vec | None, scope: Scope, groups: Groups) -> list[Array | Vec]:
    """The state of one aggregate per group. `vec`: its values, row by row, if it has any."""
    weight = scope.frame.weight
    group = groups.group
    if vec is None:
        assert isinstance(wanted.argument, lg.Entity)
        column = scope.frame.columns[wanted.argument.variable]
        if wanted.distinct:
            there = column >= 0
            if groups.count == 1:
                return [np.array([distinct_count(column[there])])]
            return [_distinct_by_group(group[there], column[there], groups.count)]
        if len(column) and column.min() < 0:
            there = column >= 0
            return [counts.by_group(group[there], None if weight is None else weight[there], groups.count)]
        return [counts.by_group(group, weight, groups.count)]
    valid = vec.is_valid()
    if not valid.all():
        vec, group = vec.keep(valid), group[valid]
        weight = None if weight is None else weight[valid]
    if wanted.distinct:
        if len(group):
            once = groups_of(combined([Codes(group, groups.count), codes_of(vec)])).first
            vec, group = vec.take(once), group[once]
        weight = None
    match wanted.function:
        case Fn.COUNT:
            return [counts.by_group(group, weight, groups.count)]
        case Fn.SUM | Fn.AVG:
            assert vec.plain is not None
            summed = exact_sums if vec.plain.dtype.kind in "iu" else float_sums
            return [*summed(vec.plain, group, weight, groups.count), counts.by_group(group, weight, groups.count)]
        case Fn.COLLECT:
            if weight is not None:
                scope.run.budget.hold(counts.total(weight) * 16, "collecting values")
                rows = np.repeat(np.arange(len(group)), weight)
                vec, group = vec.take(rows, complete=True), group[rows]
            return [_lists(wanted, vec, group, groups.count)]
        case Fn.MIN | Fn.MAX:
            return [_extreme(wanted, vec, group, groups.count)]


def _distinct_by_group(group: Array, numbers: Array, count: int) -> Array:
    top = int(numbers.max()) + 1 if len(numbers) else 1
    if top * count < 1 << 62:
        return np.bincount(each_once(group.astype(np.int64) * top + numbers) // top, minlength=count)
    _, dense = np.unique(numbers, return_inverse=True)
    return _distinct_by_group(group, dense, count)


def _lists(wanted: lg.Aggregated, vec: Vec, group: Array, count: int) -> Vec:
    """The values of each group, in order."""
    order = np.lexsort([sort_key(as_declared(vec, lg.declared_values(wanted.argument)), descending=False), group])
    ends = np.cumsum(np.bincount(group, minlength=count))
    values = vec.take(order, complete=True).to_arrow()
    return Vec.of(pa.ListArray.from_arrays(pa.array(np.concatenate([[0], ends]), pa.int32()), values))


def _extreme(wanted: lg.Aggregated, vec: Vec, group: Array, count: int) -> Vec:
    """The smallest or largest value of each group; null where a group has none."""
    key = sort_key(as_declared(vec, lg.declared_values(wanted.argument)), descending=wanted.function is Fn.MAX)
    best = np.full(count, -1)
    order = np.lexsort([key, group])
    ordered = group[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else order
    best[ordered[starts]] = order[starts]
    return vec.take(best)


def _merged(wanted: list[lg.Aggregated], partials: list[_Partial]) -> _Partial:
    keys = [concat_vecs([p.keys[i] for p in partials]) for i in range(len(partials[0].keys))]
    identities = [concat_vecs([p.identities[i] for p in partials]) for i in range(len(keys))]
    total = sum(p.groups for p in partials)
    groups = (
        groups_of(combined([codes_of(k) for k in identities]))
        if keys
        else Groups(np.zeros(total, np.int64), np.zeros(1, np.int64))
    )
    states: list[list[Array | Vec]] = []
    for place, aggregated in enumerate(wanted):
        state: list[Array | Vec] = []
        for part in range(len(partials[0].states[place])):
            batches = [p.states[place][part] for p in partials]
            if isinstance(batches[0], Vec):
                vec = concat_vecs([v for v in batches if isinstance(v, Vec)])
                valid = vec.is_valid()
                state.append(_extreme(aggregated, vec.keep(valid), groups.group[valid], groups.count))
            else:
                values = np.concatenate([v for v in batches if isinstance(v, np.ndarray)])
                if values.dtype.kind == "f":
                    state.append(np.bincount(groups.group, weights=values, minlength=groups.count))
                elif part == len(partials[0].states[place]) - 1:  # how many there are
                    state.append(counts.by_group(groups.group, values, groups.count))
                else:
                    state.append(sums_of(groups.group, values, groups.count))
        states.append(state)
    first = groups.first
    return _Partial([k.take(first) for k in keys], [i.take(first) for i in identities], groups.count, states)


def _final(wanted: lg.Aggregated, state: list[Array | Vec]) -> Vec:
    match wanted.function, state:
        case Fn.COUNT, [np.ndarray() as rows]:
            return Vec(pa.int64(), counts.countable(rows))
        case Fn.SUM | Fn.AVG, [np.ndarray() as first, np.ndarray() as second, np.ndarray() as rows]:
            there = None if (rows > 0).all() else rows > 0
            if wanted.function is Fn.AVG:
                return Vec(pa.float64(), means(first, second, counts.countable(rows)), there)
            if first.dtype.kind == "f":
                return Vec(pa.float64(), scaled_back(first, second), there)
            return Vec(arrow_type(wanted.type), whole_sums(wanted, first, second), there)
        case _, [Vec() as vec]:
            return vec
        case _:
            raise AssertionError(wanted.function)
