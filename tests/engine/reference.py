"""A naive evaluator of checked reads: plain Python over lists, nested loops, no plan.

It takes the *patterns* of a query (`lg.Bind`, `lg.Hop`, `lg.Keep`, `lg.Without`, `lg.Maybe`) as they stand in the text, one after the
other, each of them turning a bag of rows into the next. Lowering, filter placement, join order and adjacency have no part in it; that
is what makes it a judge of them. Chapter and verse are those of the specification, chapters 4 and 5.

    [{}]                          one empty row to begin with
    $p: Person                    each row × each person
    $p knows $f                   each row × each person reached from p (4.6.2); a test when f is in the row already
    $f.age > 30                   rows for which it is definitely true
    optional { $f worksAt $c }    rows × what is found inside, or the row with c missing
    not { $f knows $p }           rows for which nothing is found inside

Points the specification leaves open, and how they are read here:

* A traversal is walked from the variable that is written first, whatever is known first and wherever a plan starts (9.2): its meaning
  does not depend on the order of the text. Over stored self-loops with a minimum above one the two ways differ.
* A name first bound inside `not { }` is another variable than the same name outside it, even if that comes later.
* `$v: T` on a variable that an `optional` left missing does not hold.
* `count($v)` counts the rows in which v is not missing.
* `nearest` on a scanned variable fetches `limit` (+ `offset`) entities by their own conditions, then the rest of the pattern is looked at
  (5.1, 5.2). On a variable reached by a hop it orders what was reached; inside `rrf` it gives `limit` (+ `offset`) of them (5.5).
* BM25 takes its statistics from every entity of the type that has a text, at the snapshot read.
* A ranking orders the same through its alias as by itself. Written without a direction it gives the best first; the other way round it
  gives the same entities from the other end, and `nearest` then fetches all. Further keys decide between equal scores. As a later key a
  ranking leaves no row out: those without a score come last, either way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
from tests.engine import reference_search as search
from tests.engine.answers import Answer, Near, Values
from tests.engine.reference_computed import computed
from tests.engine.reference_graph import Data, Row, Thing, World
from tests.engine.reference_starts import starts, variables
from tests.engine.reference_values import as_parameter, constant, freeze, holds, narrowed, placed, refuted

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.language.gq.tree import AggregateFunction, Direction, Function
from omnigraph.model.types import PropertyType, Scalar

MOST_ROWS = 20_000


class MissingParameter(Exception):
    """A parameter is needed and was not given."""


class NotEvaluated(Exception):
    """The query type-checks but has no value (unknown alias, ordering by a variable, …)."""


class TooManyRows(Exception):
    """More rows than a naive evaluator should look at."""


def evaluate(
    catalog: Catalog, data: Data, query: lg.ReadQuery, params: Mapping[str, Any] | None = None, now: datetime | None = None
) -> Answer:
    """The answer to a checked read."""
    return _Evaluation(World(catalog, data), query, params or {}, now or datetime.now(UTC)).answer()


# ── evaluation ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Line:
    """A row of the result before it is ordered."""

    values: Values
    keys: Values
    """What `order` compares."""
    ids: tuple[str | None, ...]
    """What breaks ties: ids of every variable, by its name. Empty when rows have been merged."""
    place: int
    """Where the ranking puts it."""


class _Evaluation:
    def __init__(self, world: World, query: lg.ReadQuery, params: Mapping[str, Any], now: datetime) -> None:
        self.world = world
        self.query = query
        self.params = params
        self.now = now
        self.fused: dict[Thing, float] = {}
        self.scores: set[float] = set()
        self.limit: int | None = self._count(query.limit)
        self.offset: int = self._count(query.offset) or 0

    def answer(self) -> Answer:
        query = self.query
        rows = self.found(query.pattern, [{}])
        ranking = query.order[0].expression if query.order else None
        ranked = isinstance(ranking, lg.Ranking)
        places = self._ranked(rows, ranking) if isinstance(ranking, lg.Ranking) else [rows]
        if self.backwards:
            places.reverse()
        keys = query.order[1:] if ranked else query.order
        lines = list(self._aggregated(places, keys) if query.aggregates else self._projected(places, keys))
        if query.distinct:
            lines = _distinct(lines)
        columns = tuple(projection.column for projection in query.projections)
        ties = self._by_score(places, lines) if ranked and keys else _by_place(lines) if ranked else _ordered(lines, keys)
        return Answer(columns, ties, self.offset, self.limit)

    @property
    def backwards(self) -> bool:
        """Whether the worst of the ranking comes first."""
        return bool(self.query.order) and self.query.order[0].is_backwards

    def _by_score(self, places: list[list[Row]], lines: list[_Line]) -> tuple[tuple[Values, ...], ...]:
        """Rows by score, then by the other keys, then by place."""
        first = self.query.order[0]
        scores = [self._sortable(first, place[0]) for place in places]
        keyed = [_Line(line.values, (scores[line.place], *line.keys), (line.place,), line.place) for line in lines]  # type: ignore[arg-type]
        return _ordered(keyed, self.query.order)

    def _sortable(self, key: lg.SortKey, row: Row) -> float:
        """A score to sort by; rows without one come last."""
        found = self.value(key.expression, row)
        if not found and not isinstance(key.expression, lg.Nearest):
            found = None
        if found is not None:
            if any(_close(found, other) for other in self.scores):
                raise TooManyRows  # equal by rounding, perhaps: more than one order is right
            self.scores.add(found)
        missing = math.inf if key.direction is Direction.ASC else -math.inf
        return missing if found is None else float(found)

    # patterns

    def found(self, pattern: Sequence[lg.Pattern], rows: list[Row]) -> list[Row]:
        """The rows of a block that starts from these."""
        for part in pattern:
            rows = list(self._step(part, rows))
            if len(rows) > MOST_ROWS:
                raise TooManyRows
        return rows

    def _step(self, part: lg.Pattern, rows: list[Row]) -> Iterator[Row]:
        for row in rows:
            match part:
                case lg.Bind():
                    yield from self._bound(part, row)
                case lg.Hop(edge_variable=None):
                    yield from self._hopped(part, row)
                case lg.Hop():
                    yield from self._hopped_by_edge(part, row)
                case lg.Keep(condition):
                    if self.true(condition, row):
                        yield row
                case lg.Without(inner):
                    if not self.found(inner, [row]):
                        yield row
                case lg.Maybe(inner, _, introduces):
                    yield from self.found(inner, [row]) or [{**row, **dict.fromkeys(introduces)}]

    def _bound(self, bind: lg.Bind, row: Row) -> Iterator[Row]:
        if bind.variable in row:
            thing = row[bind.variable]
            if thing is not None and thing.type in bind.types and self._fits(thing, bind):
                yield row
            return
        for name in bind.types:
            for thing in self.world.nodes[name].values():
                if self._fits(thing, bind):
                    yield _with(row, bind.variable, thing)

    def _fits(self, thing: Thing, bind: lg.Bind) -> bool:
        return all(self._match_holds(thing.values.get(match.property), match) for match in bind.matches)

    def _match_holds(self, stored: Any, match: lg.Match) -> bool:
        wanted = self.value(match.value, {})
        if match.type.scalar in (Scalar.F32, Scalar.VECTOR):
            wanted = narrowed(wanted)
        return holds(lg.Comparator.CONTAINS if match.type.is_list else lg.Comparator.EQ, stored, wanted)

    def _hopped(self, hop: lg.Hop, row: Row) -> Iterator[Row]:
        """Each target at most once per source."""
        for source in self._candidates(hop.source, hop.source_type, row):
            here = _with(row, hop.source, source)
            for target in self._candidates(hop.target, hop.target_type, here):
                if target.id in self.world.reached(hop, source.id):
                    found = _with(here, hop.target, target)
                    if hop.path_variable is None:
                        yield found
                    elif (path := self.world.shortest(hop, source.id, target.id)) is not None:
                        yield _with(found, hop.path_variable, Thing("path", "", {"length": len(path) - 1, "nodes": path}))

    def _hopped_by_edge(self, hop: lg.Hop, row: Row) -> Iterator[Row]:
        """One row per edge (4.6.3)."""
        assert hop.edge_variable is not None
        for source in self._candidates(hop.source, hop.source_type, row):
            here = _with(row, hop.source, source)
            for target in self._candidates(hop.target, hop.target_type, here):
                for reached, edge in self.world.neighbours(hop.edge, source.id, hop.direction):
                    if reached == target.id:
                        yield _with(_with(here, hop.target, target), hop.edge_variable, edge)

    def _candidates(self, variable: str, type_: str, row: Row) -> list[Thing]:
        """What one end of a traversal may be."""
        if variable not in row:
            return list(self.world.nodes[type_].values())
        thing = row[variable]
        return [thing] if thing is not None and thing.type == type_ else []

    # values

    def true(self, condition: lg.Condition, row: Row) -> bool:
        """Is a condition definitely true? (4.6.5)"""
        match condition:
            case lg.Compare(left, comparator, right):
                return holds(comparator, *self._pair(left, right, row))
            case lg.IsNull(operand, negated):
                return (self.value(operand, row) is None) is not negated
            case lg.Among(operand, choices, negated):
                value, among = self._pair(operand, choices, row)
                return None not in (value, among) and holds(lg.Comparator.CONTAINS, among, value) is not negated
            case lg.TextMatch():
                return self._text_matches(condition, row)
            case lg.AllOf(parts):
                return all(self.true(part, row) for part in parts)
            case lg.AnyOf(parts):
                return any(self.true(part, row) for part in parts)
            case lg.Not(part):
                return refuted(part, lambda one: self.true(one, row), lambda side: self.value(side, row))

    def _pair(self, left: lg.Expression, right: lg.Expression, row: Row) -> tuple[Any, Any]:
        """Two operands. What meets an F32 property and is no property itself is narrowed first."""
        a, b = self.value(left, row), self.value(right, row)
        if _is_single(left) and lg.is_fixed(right):
            b = narrowed(b)
        if _is_single(right) and lg.is_fixed(left):
            a = narrowed(a)
        return a, b

    def value(self, expression: lg.Expression, row: Row) -> Any:
        """The value of an expression in a row; None is null."""
        match expression:
            case lg.PropertyValue(variable, name):
                thing = row[variable]
                return None if thing is None else thing.values.get(name)
            case lg.Entity(variable):
                thing = row[variable]
                return None if thing is None else thing.id
            case lg.Parameter(name, type_, declared):
                return self._parameter(name, type_, declared)
            case lg.Constant():
                return constant(expression)
            case lg.Now():
                return self.now
            case lg.TextMatch():
                return self._text_matches(expression, row)
            case lg.Bm25():
                return self._score(expression, row)
            case lg.Nearest():
                return self._distance(expression, row)
            case lg.Fusion(first):
                thing = self._ranked_thing(first, row)
                return None if thing is None else self.fused.get(thing)
            case lg.Computed(operation, arguments, type_):
                return computed(operation, type_, [self.value(argument, row) for argument in arguments])
            case lg.Aggregated() | lg.Column() | lg.Found():
                raise NotEvaluated(f"{expression} has no value in a row")

    def _count(self, given: int | lg.Parameter | None) -> int | None:
        """`limit` or `offset`."""
        return given if not isinstance(given, lg.Parameter) else int(self.value(given, {}))

    def _parameter(self, name: str, type_: PropertyType, declared: bool) -> Any:
        if declared and name in self.params:
            return as_parameter(self.params[name], type_)
        if declared and type_.nullable:
            return None
        raise MissingParameter(name)

    def _text_matches(self, test: lg.TextMatch, row: Row) -> bool:
        text, query = self.value(test.field, row), self.value(test.query, row)
        if test.function is not Function.FUZZY:
            return search.matches(text, query)
        edits = search.DEFAULT_EDITS if test.edits is None else self.value(test.edits, row)
        return edits is not None and search.matches_roughly(text, query, edits)

    # rankings

    def _score(self, ranking: lg.Bm25, row: Row) -> float:
        thing = self._ranked_thing(ranking, row)
        if thing is None or not isinstance(ranking.field, lg.PropertyValue):
            return 0.0
        name = ranking.field.property
        corpus = [other.values.get(name) for other in self.world.nodes[thing.type].values()]
        return search.bm25(thing.values.get(name), self.value(ranking.query, row), corpus)

    def _distance(self, ranking: lg.Nearest, row: Row) -> float | None:
        vector, query = self.value(ranking.field, row), self.value(ranking.query, row)
        if isinstance(query, str):
            query = search.mock_embedding(query, ranking.field.type.dimension or 0)
        return None if vector is None or query is None else search.distance(vector, query)

    def _ranked_thing(self, ranking: lg.Nearest | lg.Bm25, row: Row) -> Thing | None:
        if not isinstance(ranking.field, lg.PropertyValue):
            raise NotEvaluated("only a property can be ranked")
        return row[ranking.field.variable]

    def _ranked(self, rows: list[Row], ranking: lg.Ranking) -> list[list[Row]]:
        """Rows by ranked entity, best first; entities that cannot be told apart share a place."""
        if isinstance(ranking, lg.Fusion):
            return self._fused(rows, ranking)
        found, ties = self._arm(rows, ranking)
        return [[row for thing in tie for row in found[thing]] for tie in ties]

    def _arm(self, rows: list[Row], ranking: lg.Nearest | lg.Bm25) -> tuple[dict[Thing, list[Row]], list[list[Thing]]]:
        """The rows of each ranked entity, and the entities, best first."""
        found: dict[Thing, list[Row]] = {}
        scores: dict[Thing, float] = {}
        fetched = self._fetched(ranking) if isinstance(ranking, lg.Nearest) else None
        for row in rows:
            thing = self._ranked_thing(ranking, row)
            score = self._distance(ranking, row) if isinstance(ranking, lg.Nearest) else -self._score(ranking, row) or None
            if thing is not None and score is not None and (fetched is None or thing in fetched):
                scores[thing] = score
                found.setdefault(thing, []).append(row)
        best = sorted(sorted(scores, key=lambda t: t.id, reverse=isinstance(ranking, lg.Bm25)), key=scores.__getitem__)
        ties: list[list[Thing]] = []
        for thing in best:
            last = ties[-1][-1] if ties else None
            if last is not None and (_close(scores[last], scores[thing]) or (scores[last], last.id) == (scores[thing], thing.id)):
                ties[-1].append(thing)
            else:
                ties.append([thing])
        return found, ties

    def _fetched(self, ranking: lg.Nearest) -> set[Thing] | None:
        """The entities a scan gives `nearest`, by their own conditions alone; None when the variable is not scanned."""
        variable, pattern = ranking.field.variable, self.query.pattern
        if variable not in starts(pattern, ()).scanned or self.limit is None or self.backwards:
            return None
        own: list[lg.Pattern] = [p for p in pattern if isinstance(p, lg.Bind) and p.variable == variable]
        own += [p for p in pattern if isinstance(p, lg.Keep) and variables(p.condition) == {variable}]
        types = next((p.types for p in own if isinstance(p, lg.Bind)), None)
        if types is None:
            types = next((p.source_type,) for p in pattern if isinstance(p, lg.Hop) and p.source == variable)
        rows: list[Row] = [{variable: thing} for name in types for thing in self.world.nodes[name].values()]
        measured = [(self._distance(ranking, row), row[variable]) for row in self.found(own, rows)]
        near = sorted(
            (d, thing.id, number, thing) for number, (d, thing) in enumerate(measured) if d is not None and thing is not None
        )
        wanted = self.limit + self.offset
        ties = len(self.query.order) > 1 and isinstance(self.query.order[0].expression, lg.Nearest)
        return {thing for at, (d, *_, thing) in enumerate(near) if at < wanted or (ties and wanted and d == near[wanted - 1][0])}

    def _fused(self, rows: list[Row], ranking: lg.Fusion) -> list[list[Row]]:
        """Reciprocal ranks added up (5.5). Equal sums: the order of the first arm, then what only the second found."""
        assert self.limit is not None
        k = search.DEFAULT_RRF_K if ranking.k is None else self.value(ranking.k, {})
        ranks: dict[Thing, list[int]] = {}
        found: dict[Thing, list[Row]] = {}
        for arm in (ranking.first, ranking.second):
            members, ties = self._arm(rows, arm)
            listed = [thing for tie in ties for thing in tie]
            if isinstance(arm, lg.Nearest) and not self.backwards:
                listed = listed[: self.limit + self.offset]
            for rank, thing in enumerate(listed):
                ranks.setdefault(thing, []).append(rank)
                found.setdefault(thing, members[thing])
        sums = {thing: sum(Fraction(1, k + rank + 1) for rank in given) for thing, given in ranks.items()}
        self.fused = {thing: float(total) for thing, total in sums.items()}
        places: list[list[Thing]] = []
        for thing in sorted(sums, key=lambda t: -sums[t]):
            last = places[-1][-1] if places else None
            if last is not None and sums[last] == sums[thing] and sorted(ranks[last]) != sorted(ranks[thing]):
                places[-1].append(thing)  # equal by arithmetic, not by rounding
            else:
                places.append([thing])
        return [[row for thing in place for row in found[thing]] for place in places]

    # results

    def _projected(self, places: list[list[Row]], keys: Sequence[lg.SortKey]) -> Iterator[_Line]:
        for place, rows in enumerate(places):
            for row in rows:
                values = tuple(self._shown(p.expression, row) for p in self.query.projections)
                ids = tuple(None if row[name] is None else row[name].id for name in sorted(row))  # type: ignore[union-attr]
                yield _Line(values, tuple(placed(key.expression, self._key(key, values, row)) for key in keys), ids, place)

    def _shown(self, expression: lg.Expression, row: Row) -> Any:
        value = self.value(expression, row)
        match expression:
            case lg.Bm25():
                return Near(value, 1e-4, zero_is_null=True)
            case lg.Nearest() | lg.Fusion():
                return Near(value, 1e-4)
            case _:
                return _spelt(expression, value)

    def _key(self, key: lg.SortKey, values: Values, row: Row) -> Any:
        if isinstance(key.expression, lg.Column):
            return self._aliased(key.expression, values)
        if isinstance(key.expression, lg.Ranking):
            return self._sortable(key, row)
        if not isinstance(key.expression, lg.PropertyValue | lg.Entity | lg.Computed):
            raise NotEvaluated("unsupported ordering expression")
        return self.value(key.expression, row)

    def _aliased(self, column: lg.Column, values: Values) -> Any:
        for projection, value in zip(self.query.projections, values, strict=True):
            if projection.alias == column.name:
                return value
        raise NotEvaluated(f"alias {column.name} not found")

    def _aggregated(self, places: list[list[Row]], keys: Sequence[lg.SortKey]) -> Iterator[_Line]:
        """Rows per group, in the order groups are first seen (4.6.6)."""
        grouping = [p.expression for p in self.query.projections if not lg.aggregates_in(p.expression)]
        groups: dict[tuple[Any, ...], tuple[int, list[Row]]] = {}
        for place, rows in enumerate(places):
            for row in rows:
                key = tuple(row[e.variable] if isinstance(e, lg.Entity) else freeze(self.value(e, row)) for e in grouping)
                groups.setdefault(key, (place, []))[1].append(row)
        if not groups and not grouping:
            groups[()] = (0, [])
        for place, members in groups.values():
            if self.query.having is not None and not self._group_true(self.query.having, members):
                continue
            values = tuple(self._of_group(p.expression, members) for p in self.query.projections)
            yield _Line(values, tuple(placed(key.expression, self._group_key(key, values, members)) for key in keys), (), place)

    def _of_group(self, expression: lg.Expression, members: list[Row]) -> Any:
        """The value that an expression has for a group."""
        if isinstance(expression, lg.Aggregated):
            return self._aggregate(expression, members)
        if not lg.aggregates_in(expression):
            return _spelt(expression, self.value(expression, members[0] if members else {}))
        assert isinstance(expression, lg.Computed)
        given = [self._within_group(argument, members) for argument in expression.arguments]
        found = computed(expression.operation, expression.type, [g.value if isinstance(g, Near) else g for g in given])
        return Near(found) if isinstance(found, float) else found

    def _within_group(self, expression: lg.Expression, members: list[Row]) -> Any:
        """The same inside of something computed: as exact as it is stored, not as it is written."""
        if isinstance(expression, lg.Aggregated):
            return self._aggregate(expression, members, spelt=False)
        return (
            self._of_group(expression, members)
            if lg.aggregates_in(expression)
            else self.value(expression, members[0] if members else {})
        )

    def _group_true(self, condition: lg.Condition, members: list[Row]) -> bool:
        """Is a condition about a group definitely true?"""
        match condition:
            case lg.Compare(left, comparator, right):
                return holds(comparator, *(_plain(self._within_group(side, members)) for side in (left, right)))
            case lg.IsNull(operand, negated):
                return (self._of_group(operand, members) is None) is not negated
            case lg.Among(operand, choices, negated):
                value, among = (_plain(self._of_group(side, members)) for side in (operand, choices))
                return None not in (value, among) and holds(lg.Comparator.CONTAINS, among, value) is not negated
            case lg.AllOf(parts):
                return all(self._group_true(part, members) for part in parts)
            case lg.AnyOf(parts):
                return any(self._group_true(part, members) for part in parts)
            case lg.Not(part):
                return refuted(part, lambda one: self._group_true(one, members), lambda side: self._of_group(side, members))
            case _:
                raise NotEvaluated("a text test is about rows")

    def _group_key(self, key: lg.SortKey, values: Values, members: list[Row]) -> Any:
        match key.expression:
            case lg.Column():
                return self._aliased(key.expression, values)
            case lg.Aggregated() | lg.Computed():
                return self._of_group(key.expression, members)
            case lg.PropertyValue():
                for projection, value in zip(self.query.projections, values, strict=True):
                    if projection.alias is None and projection.expression == key.expression:
                        return value
        raise NotEvaluated("unsupported ordering expression")

    def _aggregate(self, aggregate: lg.Aggregated, rows: list[Row], *, spelt: bool = True) -> Any:
        argument = aggregate.argument
        values: list[Any] = [
            row[argument.variable] if isinstance(argument, lg.Entity) else self.value(argument, row) for row in rows
        ]
        given = [value for value in values if value is not None]
        if aggregate.distinct:
            given = list({freeze(value): value for value in given}.values())
        match aggregate.function:
            case AggregateFunction.COUNT:
                return len(given)
            case AggregateFunction.COLLECT:
                ids = [value.id if isinstance(value, Thing) else value for value in given]
                return [_spelt(argument, value) for value in sorted(ids, key=lambda v: placed(argument, v))]
            case AggregateFunction.MIN:
                return (
                    _spelt(argument, min(given, default=None, key=lambda v: placed(argument, v)))
                    if spelt
                    else min(given, default=None, key=lambda v: placed(argument, v))
                )
            case AggregateFunction.MAX:
                return (
                    _spelt(argument, max(given, default=None, key=lambda v: placed(argument, v)))
                    if spelt
                    else max(given, default=None, key=lambda v: placed(argument, v))
                )
            case AggregateFunction.SUM | AggregateFunction.AVG:
                if not given:
                    return None
                total = sum((Fraction(value) for value in given), Fraction(0))
                share = total if aggregate.function is AggregateFunction.SUM else total / len(given)
                if aggregate.type.scalar in (Scalar.I64, Scalar.U64):
                    return int(share)
                return Near(float(share))


def _with(row: Row, variable: str, thing: Thing) -> Row:
    """The row with a variable bound; the anonymous one never is."""
    return row if variable == lg.ANONYMOUS else {**row, variable: thing}


def _is_single(expression: lg.Expression) -> bool:
    return isinstance(expression, lg.PropertyValue | lg.Computed) and expression.type.scalar is Scalar.F32


def _spelt(expression: lg.Expression, value: Any) -> Any:
    """A value of F32 as it is written: 0.1, and not the double 0.10000000149011612."""
    if value is None or isinstance(expression, lg.Entity) or expression.type is None:
        return value
    if expression.type.scalar not in (Scalar.F32, Scalar.VECTOR) or not isinstance(expression, lg.PropertyValue | lg.Computed):
        return value
    if isinstance(value, list | tuple):
        return type(value)(_spelt(expression, item) for item in value)
    return float(str(np.float32(value)))


def _close(left: float, right: float) -> bool:
    """Different scores that a 32-bit float may hold equal."""
    return left != right and abs(left - right) <= 1e-5 * max(abs(left), abs(right))


# ── the order of results ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _distinct(lines: list[_Line]) -> list[_Line]:
    """Each row once; which of its entities it stood for is forgotten."""
    first: dict[tuple[Any, ...], _Line] = {}
    for line in lines:
        first.setdefault(tuple(freeze(value) for value in line.values), _Line(line.values, line.keys, (), line.place))
    return list(first.values())


def _by_place(lines: list[_Line]) -> tuple[tuple[Values, ...], ...]:
    places = sorted({line.place for line in lines})
    return tuple(tuple(line.values for line in lines if line.place == place) for place in places)


def _ordered(lines: list[_Line], keys: Sequence[lg.SortKey]) -> tuple[tuple[Values, ...], ...]:
    """4.6.8: by the keys, null smallest, then by the ids."""
    if not keys:
        return (tuple(line.values for line in lines),)
    lines = sorted(lines, key=lambda line: [_rank(value) for value in line.ids])
    for number in reversed(range(len(keys))):
        backwards = keys[number].direction is Direction.DESC
        null = 0 if keys[number].nulls_first is not backwards else 2
        lines.sort(key=lambda line: _rank(line.keys[number], null), reverse=backwards)
    ties: list[list[_Line]] = []
    for line in lines:
        last = ties[-1][-1] if ties else None
        if last is not None and last.ids == line.ids and all(map(_as_good_as, last.keys, line.keys)):
            ties[-1].append(line)
        else:
            ties.append([line])
    return tuple(tuple(line.values for line in tie) for tie in ties)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Near) else value


def _rank(value: Any, null: int = 0) -> tuple[int, Any]:
    plain = value.value if isinstance(value, Near) else value
    if isinstance(plain, list):
        raise NotEvaluated("lists have no order")
    return (null, 0) if plain is None else (1, plain)


def _as_good_as(left: Any, right: Any) -> bool:
    if isinstance(left, Near) and isinstance(right, Near):
        return left.value == right.value or left.admits(right.value)
    return bool(left == right)
