"""Expressions and conditions over the rows of a frame.

A `Scope` knows what each variable of a frame stands for and fetches properties; `value` and `holds` work on whole columns. A
condition is true, or it is not: where an operand is missing it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.engine.arrays.column import Array, Mask, Vec, concat, nulls, physical
from omnigraph.engine.execution.compare import FEW_CHOICES, Operand, among, compare, one_of, set_of
from omnigraph.engine.execution.frame import TYPE_LOW, TYPE_SHIFT, Frame
from omnigraph.engine.planning.bindings import Binding, EdgeBinding, NodeBinding, PathBinding
from omnigraph.engine.planning.parameters import Value, require, temporal
from omnigraph.engine.snapshot.nodes import Located
from omnigraph.errors import QueryError
from omnigraph.model.arrow import arrow_type
from omnigraph.model.types import PropertyType, Scalar

if TYPE_CHECKING:
    from omnigraph.engine.execution.run import Run


_INTO_A_SET = 1 << 15
"""Values that are put into a set between two looks at the clock."""

TRIED_AT_ONCE: Final = 1 << 14
"""Rows for which a condition is tried between two looks at the clock: to look for texts in texts takes a microsecond for each."""


class Scope:
    """The variables of some rows."""

    __slots__ = ("_located", "bindings", "frame", "rows", "run")

    def __init__(self, run: Run, frame: Frame, bindings: dict[str, Binding]) -> None:
        self.run = run
        self.frame = frame
        self.bindings = bindings
        self.rows = frame.rows
        self._located: dict[str, Located] = {}

    def property(self, variable: str, name: str) -> Vec:
        """A property of a variable, for every row."""
        run, binding = self.run, self.bindings[variable]
        located = self._located.get(variable)
        if located is None:
            column = self.frame.columns[variable]
            if isinstance(binding, PathBinding):
                from omnigraph.engine.execution.found_paths import Paths  # few queries ask for paths, or compute

                return run.paths.setdefault(variable, Paths()).values(column, name, run.view.nodes(binding.type))
            if isinstance(binding, EdgeBinding):
                edges = run.view.edges(binding.edge)
                return run.reading_property(binding.edge, name, lambda: edges.values(column, name))
            if len(binding.types) > 1:
                return self._across(column, binding.types, partial(self._values, name))
            located = self._located[variable] = run.view.nodes(binding.types[0]).located(column)
        if not run.budget.limited:
            return located.values(name)
        assert isinstance(binding, NodeBinding)
        return run.reading_nodes(binding.types[0], name, partial(located.values, name))

    def _values(self, name: str, type_: str, numbers: Array) -> Vec:
        nodes = self.run.view.nodes(type_)
        return self.run.reading_nodes(type_, name, lambda: nodes.values(numbers, name))

    def ids(self, variable: str) -> Vec:
        """The ids of the nodes (or edges) a variable stands for."""
        column = self.frame.columns[variable]
        binding = self.bindings[variable]
        view = self.run.view
        assert not isinstance(binding, PathBinding)
        if isinstance(binding, EdgeBinding):
            return view.edges(binding.edge).values(column, "id")
        if len(binding.types) == 1:
            return view.nodes(binding.types[0]).names(column)
        return self._across(column, binding.types, lambda t, numbers: view.nodes(t).names(numbers))

    def nodes_of(self, variable: str, type_: str) -> Array:
        """Numbers of a variable as nodes of one type; nobody where it stands for another type."""
        column = self.frame.columns[variable]
        binding = self.bindings[variable]
        assert isinstance(binding, NodeBinding)
        if len(binding.types) == 1:
            return column
        place = binding.types.index(type_) if type_ in binding.types else -2
        return np.where((column >= 0) & (column >> TYPE_SHIFT == place), column & TYPE_LOW, -1)

    def _across(self, column: Array, types: tuple[str, ...], values: Callable[[str, Array], Vec]) -> Vec:
        """Values of nodes of several types, each fetched from its own."""
        parts: list[Vec] = []
        places = np.full(len(column), -1)
        total = 0
        for place, type_ in enumerate(types):
            where = np.flatnonzero((column >= 0) & (column >> TYPE_SHIFT == place))
            if len(where):
                parts.append(values(type_, column[where] & TYPE_LOW))
                places[where] = np.arange(total, total + len(where))
                total += len(where)
        return concat(parts).take(places) if parts else nulls(values(types[0], column[:0]).type, len(places))


class Finished(Scope):
    """Rows of values instead of bindings: the columns of groups."""

    __slots__ = ("columns",)

    def __init__(self, run: Run, columns: list[Vec]) -> None:
        super().__init__(run, Frame(len(columns[0]), {}), {})
        self.columns = columns


def value(expression: lg.Expression, scope: Scope) -> Operand:
    """An expression: a column, or one value that holds for every row."""
    match expression:
        case lg.PropertyValue(variable, name):
            return scope.property(variable, name)
        case lg.Entity(variable):
            return scope.ids(variable)
        case lg.TextMatch():
            found = scope.run.search.matches(expression, scope)
            return Vec(pa.bool_(), found)
        case lg.Nearest() | lg.Bm25() | lg.Fusion():
            return scope.run.search.scores(expression, scope)
        case lg.Computed(_, arguments):
            from omnigraph.engine.execution.compute import computed

            return computed(expression, _operands(arguments, scope), scope.run.budget)
        case lg.Found(place):
            assert isinstance(scope, Finished)
            return scope.columns[place]
        case _:
            return constant(expression, scope.run)


def _operands(arguments: tuple[lg.Expression, ...], scope: Scope) -> list[Operand]:
    """Values to compute with: each is counted before the next is made."""
    budget = scope.run.budget
    if not budget.limited:
        return [value(argument, scope) for argument in arguments]
    found: list[Operand] = []
    nbytes = 0
    for argument in arguments:
        budget.check("computing values")
        operand = value(argument, scope)
        nbytes += operand.nbytes if isinstance(operand, Vec) else 0
        budget.hold(nbytes * 2, "computing values")
        found.append(operand)
    return found


def constant(expression: lg.Expression, run: Run) -> Value:
    """An expression that is the same for every row."""
    match expression:
        case lg.Parameter():
            return require(run.parameters, expression)
        case lg.Constant(found, type_):
            return literal(found, type_)
        case lg.Now():
            return run.now_ms
        case lg.Computed(_, arguments):
            from omnigraph.engine.execution.compute import computed

            whole = computed(expression, [constant(argument, run) for argument in arguments], run.budget)
            assert not isinstance(whole, Vec)
            return whole
        case _:
            raise QueryError(f"{type(expression).__name__} cannot be evaluated here")


def literal(found: lg.ConstantItem | tuple[lg.ConstantItem, ...], type_: PropertyType) -> Value:
    """The value of a literal: dates and moments as integers."""
    if type_.scalar not in (Scalar.DATE, Scalar.DATETIME):
        return found
    name = type_.scalar.value.lower()
    if isinstance(found, tuple):
        return tuple(temporal(name, type_.element(), item) for item in found)
    return temporal(name, type_, found)


def vector(expression: lg.Expression, scope: Scope) -> Vec:
    """An expression as a column."""
    if isinstance(expression, lg.PropertyValue):
        return scope.property(expression.variable, expression.property)
    found = value(expression, scope)
    if isinstance(found, Vec):
        return found
    type_ = expression.type if not isinstance(expression, lg.Entity) else None
    assert type_ is not None
    arrow = arrow_type(type_)
    if isinstance(found, tuple):
        return Vec(arrow, arrow=pa.array([list(found)] * scope.rows, arrow))
    return Vec.of(pa.array([found] * scope.rows, physical(arrow)).cast(arrow))


def keeping(frame: Frame, condition: lg.Condition, run: Run, bindings: dict[str, Binding], what: str) -> Frame:
    """Rows of a frame for which a condition is definitely true. A query with limits tries some rows at a time."""
    run.budget.check(what)
    if not run.budget.limited or frame.rows <= TRIED_AT_ONCE:
        return frame.keep(holds(condition, Scope(run, frame, bindings)))
    mask = np.empty(frame.rows, np.bool_)
    for start in range(0, frame.rows, TRIED_AT_ONCE):
        run.budget.check(what)
        some = frame.slice(start, start + TRIED_AT_ONCE)
        mask[start : start + some.rows] = holds(condition, Scope(run, some, bindings))
    return frame.keep(mask)


def holds(condition: lg.Condition, scope: Scope) -> Mask:
    """For which rows a condition is definitely true."""
    match condition:
        case lg.Compare(left, how, right):
            return compare(value(left, scope), how, value(right, scope), scope.rows)
        case lg.AllOf(parts):
            found = np.ones(scope.rows, np.bool_)
            for part in parts:
                scope.run.budget.check("a condition")
                found &= holds(part, scope)
            return found
        case lg.AnyOf(parts):
            found = np.zeros(scope.rows, np.bool_)
            for part in parts:
                scope.run.budget.check("a condition")
                found |= holds(part, scope)
            return found
        case lg.IsNull(operand, negated):
            tested = value(operand, scope)
            missing = ~tested.is_valid() if isinstance(tested, Vec) else np.full(scope.rows, tested is None)
            return ~missing if negated else missing
        case lg.Among(operand, choices, negated):
            tested = value(operand, scope)
            return _not_among(tested, choices, scope) if negated else _among(tested, choices, scope)
        case lg.TextMatch():
            return scope.run.search.matches(condition, scope)
        case lg.Not(part):
            return _fails(part, scope)


def _fails(condition: lg.Condition, scope: Scope) -> Mask:
    """For which rows a condition is definitely false: nothing that it compares is missing, or the rest is false without it."""
    match condition:
        case lg.Compare(left, how, right):
            one, other = value(left, scope), value(right, scope)
            return _known(one, scope) & _known(other, scope) & ~compare(one, how, other, scope.rows)
        case lg.AllOf(parts):
            found = np.zeros(scope.rows, np.bool_)
            for part in parts:
                scope.run.budget.check("a condition")
                found |= _fails(part, scope)
            return found
        case lg.AnyOf(parts):
            found = np.ones(scope.rows, np.bool_)
            for part in parts:
                scope.run.budget.check("a condition")
                found &= _fails(part, scope)
            return found
        case lg.IsNull():
            return ~holds(condition, scope)
        case lg.Among(operand, choices, negated):
            tested = value(operand, scope)
            return _among(tested, choices, scope) if negated else _not_among(tested, choices, scope)
        case lg.TextMatch(_, text, query, edits):
            asked = [text, query] if edits is None else [text, query, edits]
            found = ~holds(condition, scope)
            for side in asked:
                found &= _known(value(side, scope), scope)
            return found
        case lg.Not(part):
            return holds(part, scope)


def _known(operand: Operand, scope: Scope) -> Mask:
    """For which rows there is a value."""
    return operand.is_valid() if isinstance(operand, Vec) else np.full(scope.rows, operand is not None)


def _not_among(tested: Operand, choices: lg.Expression, scope: Scope) -> Mask:
    """Whether a value is none of some: not known where there is no value, or nothing that it could be one of."""
    return _known(value(choices, scope), scope) & _known(tested, scope) & ~_among(tested, choices, scope)


def _among(tested: Operand, choices: lg.Expression, scope: Scope) -> Mask:
    """Whether a value is one of some. Many are put into a set, once for the whole query."""
    if not isinstance(tested, Vec) or tested.type.num_fields:
        return among(tested, value(choices, scope), scope.rows)
    narrowed = bool(pa.types.is_float32(tested.type))
    known = scope.run.sets.get((id(choices), narrowed))
    if known is None:
        listed = value(choices, scope)
        if not isinstance(listed, tuple) or len(listed) <= FEW_CHOICES:
            return among(tested, listed, scope.rows)
        scope.run.budget.keep(len(listed) * 64, "putting values into a set")
        known = set[Any]()
        for start in range(0, len(listed), _INTO_A_SET):
            scope.run.budget.check("putting values into a set")
            known |= set_of(listed[start : start + _INTO_A_SET], narrowed=narrowed)
        scope.run.sets[(id(choices), narrowed)] = known
    return one_of(tested, known)
