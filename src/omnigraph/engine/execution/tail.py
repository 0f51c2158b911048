"""The tail of a query: from rows of bindings to rows of values.

    group → distinct → order → offset, limit            whichever of them the query has

Without grouping, order or ranking the result streams: a frame comes in, its rows go out, and the query ends as soon as the limit
is reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.catalog.render import expression_text
from omnigraph.engine.arrays.column import Array, Vec
from omnigraph.engine.arrays.column import concat as concat_vecs
from omnigraph.engine.arrays.grouping import codes_of, combined, groups_of
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.arrays.ordering import By, as_declared, order, order_by, sort_key
from omnigraph.engine.execution.budget import BATCH_ROWS
from omnigraph.engine.execution.evaluate import Finished, Scope, holds, vector
from omnigraph.engine.execution.frame import Frame, concat
from omnigraph.engine.execution.operators.aggregate import aggregate
from omnigraph.engine.execution.run import Run
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding, EdgeBinding, NodeBinding
from omnigraph.engine.planning.build import NAMELESS
from omnigraph.engine.planning.lowering import HELPER
from omnigraph.errors import QueryError
from omnigraph.language.gq.tree import Direction

_ENDLESS = 1 << 44
"""No more rows than this are ever returned of one: it would take years."""

_TOGETHER = 1 << 19
"""Distinct rows of several frames that are merged at once."""


def finish(plan: st.Plan, frames: Iterator[Frame], run: Run) -> Iterator[list[Vec]]:
    """The result in parts, each a list of columns."""
    tail = plan.tail
    if tail.aggregates:
        if tail.arms:
            frames = iter([_ranked(plan, _whole(frames, run, plan), run)])
        columns = aggregate(tail, frames, run, plan.bindings)
        yield _of_groups(tail, columns, run)
    elif tail.distinct:
        if tail.arms:
            frames = iter([_ranked(plan, _whole(frames, run, plan), run)])
        columns = _distinct(plan, frames, run)
        yield _ordered_columns(tail, columns, _key_columns(tail, columns), run)
    elif tail.order or tail.arms:
        whole = _whole(frames, run, plan)
        if tail.arms:
            chosen = _ranked(plan, whole, run)
            stop = chosen.rows if tail.limit is None else min(chosen.rows, tail.offset + tail.limit)
            chosen = chosen.slice(min(tail.offset, stop), stop)
        else:
            rows = _sorted(plan, whole, run)
            chosen = run.budget.aside(lambda: whole.take(rows), len(rows), "ordering")
        yield from _batches(tail, chosen, run, plan.bindings)
    else:
        yield from _streamed(plan, frames, run)


def collected(plan: st.Plan, frames: Iterator[Frame], run: Run) -> list[list[Vec]]:
    """The whole result: what stays of it is within the memory of the query."""
    if not run.budget.limited:
        tail = plan.tail
        streamed = not (tail.aggregates or tail.distinct or tail.order or tail.arms)
        return list(_streamed(plan, frames, run) if streamed else finish(plan, frames, run))
    parts: list[list[Vec]] = []
    for part in finish(plan, frames, run):
        run.budget.check("collecting the result")
        run.budget.keep(_nbytes(part), "collecting the result")
        parts.append(part)
    return parts


def _batches(tail: st.Tail, frame: Frame, run: Run, bindings: dict[str, Binding]) -> Iterator[list[Vec]]:
    """The columns of a frame, in one part, or in several if the query has limits."""
    most = run.budget.rows(2 * len(tail.projections), max(1, frame.rows))
    for start in range(0, max(1, frame.rows), most):
        run.budget.check("returning rows")
        yield _projected(tail, frame if frame.rows <= most else frame.slice(start, start + most), run, bindings)


def _distinct(plan: st.Plan, frames: Iterator[Frame], run: Run) -> list[Vec]:
    """Each row of the result once. What is found is merged as it comes, so that repeated rows do not pile up."""
    parts: list[list[Vec]] = []
    waiting = 0
    for frame in frames:
        for batch in _batches(plan.tail, frame, run, plan.bindings):
            parts.append(_once(batch, run))
            run.budget.keep(_nbytes(parts[-1]), "finding distinct rows")
            waiting += len(parts[-1][0]) if len(parts) > 1 else 0
            if waiting >= max(_TOGETHER, len(parts[0][0])):  # so that no row is merged more than a few times
                parts, waiting = [_distinct_together(parts, run)], 0
    if not parts:
        return _projected(plan.tail, _whole(iter(()), run, plan), run, plan.bindings)
    return _distinct_together(parts, run)


def _distinct_together(parts: list[list[Vec]], run: Run) -> list[Vec]:
    """Parts in which each row stands once as one in which it does."""
    if len(parts) == 1:
        return parts[0]
    before = sum(map(_nbytes, parts))
    run.budget.hold(before, "finding distinct rows")
    rows = sum(len(part[0]) for part in parts)
    columns = []
    for place in range(len(parts[0])):
        batches = [part[place] for part in parts]
        columns.append(run.budget.aside(partial(concat_vecs, batches), rows, "finding distinct rows"))
    found = _once(columns, run)
    run.budget.release(before - _nbytes(found))
    return found


def _nbytes(columns: list[Vec]) -> int:
    return sum(vec.nbytes for vec in columns)


def _once(columns: list[Vec], run: Run) -> list[Vec]:
    """Each row once, where it is first seen."""
    rows = len(columns[0])
    if not rows:
        return columns
    run.budget.hold(rows * 8 * (2 * len(columns) + 4), "finding distinct rows")

    def found() -> list[Vec]:
        first = groups_of(combined([codes_of(c) for c in columns])).first
        return columns if len(first) == rows else [c.take(first, complete=True) for c in columns]

    return run.budget.aside(found, rows * len(columns), "finding distinct rows")


def _whole(frames: Iterator[Frame], run: Run, plan: st.Plan) -> Frame:
    parts: list[Frame] = []
    for frame in frames:
        run.budget.check("collecting rows to order them")
        run.budget.keep(frame.nbytes * 2, "collecting rows to order them")
        parts.append(frame)
    if parts:
        whole = concat(parts, lambda: run.budget.check("collecting rows to order them"))
        run.budget.release(whole.nbytes)
        return whole
    return Frame(0, {name: np.empty(0, np.int64) for name in (*plan.bindings, *(a.column for a in plan.tail.arms))})


def _streamed(plan: st.Plan, frames: Iterator[Frame], run: Run) -> Iterator[list[Vec]]:
    tail = plan.tail
    skip, left = tail.offset, tail.limit
    if left == 0:
        return
    for frame in _unfolded(frames, run):
        if skip:
            skipped = min(skip, frame.rows)
            skip -= skipped
            frame = frame.slice(skipped, frame.rows)
        if left is not None and frame.rows > left:
            frame = frame.slice(0, left)
        if frame.rows and not run.budget.limited:
            yield _projected(tail, frame, run, plan.bindings)
        elif frame.rows:
            yield from _batches(tail, frame, run, plan.bindings)
        if left is not None:
            left -= frame.rows
            if left <= 0:
                return


def _unfolded(frames: Iterator[Frame], run: Run) -> Iterator[Frame]:
    """Each row as often as its weight says; some at a time if the query has limits: there may be any number."""
    for frame in frames:
        if frame.weight is None:
            yield frame
            continue
        rows = Frame(frame.rows, frame.columns)
        if not run.budget.limited:
            yield rows.take(np.repeat(np.arange(frame.rows), frame.weight))
            continue
        most = run.budget.rows(len(frame.columns) + 1, BATCH_ROWS)
        for start in range(0, frame.rows, most):
            weight = np.minimum(frame.weight[start : start + most], _ENDLESS)
            ends = np.cumsum(weight)
            for first in range(0, int(ends[-1]), most):
                run.budget.check("returning rows")
                places = np.arange(first, min(first + most, int(ends[-1])))
                yield rows.take(start + np.searchsorted(ends, places, side="right"))


def _projected(tail: st.Tail, frame: Frame, run: Run, bindings: dict[str, Binding]) -> list[Vec]:
    scope = Scope(run, frame, bindings)
    wanted = tail.expressions
    if tail.names_columns:
        by_alias = {p.alias: p.expression for p in tail.projections if p.alias is not None}
        wanted = tuple(_meant(expression, by_alias) for expression in wanted)
    if not run.budget.limited:
        return [vector(expression, scope) for expression in wanted]
    found = []
    for expression in wanted:
        run.budget.check("returning rows")
        found.append(vector(expression, scope))
    return found


def _meant(expression: lg.Expression, by_alias: dict[str, lg.Expression]) -> lg.Expression:
    """What an alias stands for, through as many aliases as it takes."""
    followed: set[str] = set()
    while isinstance(expression, lg.Column):
        meant = by_alias.get(expression.name)
        if meant is None or expression.name in followed:
            raise QueryError(f"alias `{expression.name}` not found", hint="Order by an alias of the return block, or a property.")
        followed.add(expression.name)
        expression = meant
    return expression


def _sorted(plan: st.Plan, frame: Frame, run: Run) -> Numbers:
    """Rows in the order the query asks for, within its limits."""
    tail = plan.tail
    scope = Scope(run, frame, plan.bindings)
    by_alias = {p.alias: p.expression for p in tail.projections if p.alias is not None}
    keys = [_key(k, by_alias, scope) for k in tail.order]
    wanted = None if tail.limit is None else tail.offset + tail.limit
    run.budget.hold(frame.rows * 8 * (2 * len(keys) + 3), "ordering")
    found = run.budget.aside(
        lambda: order_by(keys, lambda rows: tie_breakers(frame.take(rows), run, plan.bindings), wanted), frame.rows, "ordering"
    )
    return found[tail.offset :]


def _key(key: lg.SortKey, by_alias: dict[str, lg.Expression], scope: Scope) -> By:
    """A column to order by, and whether it descends. Rows that a ranking leaves out come after those it has, either way."""
    expression = _meant(key.expression, by_alias)
    values = _column(expression, scope)
    if isinstance(expression, lg.Ranking) and key.direction is Direction.ASC:
        assert values.plain is not None
        return By(Vec(values.type, -values.plain, values.valid), descending=True)
    return By(as_declared(values, lg.declared_values(expression)), key.direction is Direction.DESC, key.nulls_first)


def _column(expression: lg.Expression, scope: Scope) -> Vec:
    """An expression for all rows of a large frame, some at a time if the query has limits."""
    budget = scope.run.budget
    most = budget.rows(1, max(1, scope.rows))
    if scope.rows <= most or isinstance(expression, lg.Fusion):
        return vector(expression, scope)
    parts: list[Vec] = []
    for start in range(0, scope.rows, most):
        budget.check("ordering")
        part = vector(expression, Scope(scope.run, scope.frame.slice(start, start + most), scope.bindings))
        budget.keep(part.nbytes * 2, "ordering")
        parts.append(part)
    return budget.aside(lambda: concat_vecs(parts), scope.rows, "ordering")


def tie_breakers(frame: Frame, run: Run, bindings: dict[str, Binding]) -> Sequence[Array]:
    """Ids of every entity of a row, by the name of its variable: what makes an order total."""
    scope = Scope(run, frame, bindings)
    entities = [name for name in frame.columns if isinstance(bindings.get(name), NodeBinding | EdgeBinding)]
    names = sorted(name for name in entities if not name.startswith((NAMELESS, HELPER)))
    return [sort_key(scope.ids(name), descending=False) for name in names]


def _of_groups(tail: st.Tail, columns: list[Vec], run: Run) -> list[Vec]:
    """What is returned of groups, in order: those that are kept, and what is computed of them."""
    if not tail.final:
        columns = _once(columns, run) if tail.distinct else columns
        return _ordered_columns(tail, columns, _key_columns(tail, columns), run)
    scope = Finished(run, columns)
    if tail.having is not None:
        kept = run.budget.aside(partial(holds, tail.having, scope), scope.rows, "keeping groups")
        scope = Finished(run, [run.budget.aside(partial(c.keep, kept), scope.rows, "keeping groups") for c in columns])
    wanted = [*tail.final, *(() if tail.arms else (key.expression for key in tail.order))]
    found = [run.budget.aside(partial(vector, one, scope), scope.rows, "computing values") for one in wanted]
    shown, keys = found[: len(tail.final)], found[len(tail.final) :]
    keys = [_as_ordered(column, key.expression) for column, key in zip(keys, tail.order, strict=False)]
    if tail.distinct:
        once = _once([*shown, *keys], run)  # keys say nothing that the columns do not
        shown, keys = once[: len(shown)], once[len(shown) :]
    return _ordered_columns(tail, shown, keys, run)


def _key_columns(tail: st.Tail, columns: list[Vec]) -> list[Vec]:
    if tail.arms:
        return []
    places = [_result_column(tail, key.expression) for key in tail.order]
    return [_as_ordered(columns[place], tail.projections[place].expression) for place in places]


def _as_ordered(column: Vec, expression: lg.Expression) -> Vec:
    return as_declared(column, lg.declared_values(expression))


def _ordered_columns(tail: st.Tail, columns: list[Vec], by: list[Vec], run: Run) -> list[Vec]:
    """Finished rows in order, within the limits."""
    rows = len(columns[0]) if columns else 0
    stop = None if tail.limit is None else tail.offset + tail.limit
    if not by:
        return [c.slice(min(tail.offset, rows), rows if stop is None else min(stop, rows)) for c in columns]
    keys = [By(column, k.direction is Direction.DESC, k.nulls_first) for column, k in zip(by, tail.order, strict=True)]
    run.budget.hold(rows * 8 * (len(columns) + 2 * len(keys) + 2), "ordering")
    found = run.budget.aside(lambda: order_by(keys, lambda chosen: [chosen], stop), rows, "ordering")[tail.offset :]
    return run.budget.aside(lambda: [c.take(found, complete=True) for c in columns], rows * len(columns), "ordering")


def _result_column(tail: st.Tail, expression: lg.Expression) -> int:
    """Which column of the result a sort key means."""
    for place, projection in enumerate(tail.projections):
        if isinstance(expression, lg.Column):
            if projection.alias == expression.name:
                return place
        elif projection.expression == expression:
            return place
    raise QueryError(
        f"`{expression_text(expression)}` is not a column of the result",
        hint="A query that groups is ordered by what it returns: add it to the return block, or use its alias.",
    )


# ── rankings ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ranked(plan: st.Plan, frame: Frame, run: Run) -> Frame:
    """Rows in the order of a ranking, without those it leaves out."""
    tail = plan.tail
    for arm in tail.arms:
        if arm.column in tail.late and frame.rows:
            run.budget.hold(frame.rows * 8 * 6, "ranking")
            scope = Scope(run, frame, plan.bindings)
            places = run.budget.aside(partial(run.search.places, arm.ranking, scope), frame.rows, "ranking")
            if tail.fusion is not None and _fetches(tail) and isinstance(arm.ranking, lg.Nearest):
                assert tail.limit is not None
                places = np.where(places < tail.limit + tail.offset, places, -1)  # a nearest arm has as many as are returned
            frame = frame.with_columns(**{arm.column: places})
    if tail.fusion is not None:
        whole = frame
        return run.budget.aside(lambda: _fused(plan, whole, run), frame.rows, "merging rankings")
    every = frame
    frame = run.budget.aside(lambda: every.keep(every.columns[tail.arms[0].column] >= 0), every.rows, "ranking")
    if not frame.rows:
        return frame
    places = frame.columns[tail.arms[0].column]
    if not tail.order:
        return _by_place(plan, frame, places, run)
    scores = _column(tail.arms[0].ranking, Scope(run, frame, plan.bindings))
    return _by_score(plan, frame, scores, places, run)


def _fetches(tail: st.Tail) -> bool:
    """Whether a `nearest` arm has no more nodes than are returned: from its worst end a ranking has all of them."""
    return tail.limit is not None and not tail.backwards


def _by_place(plan: st.Plan, frame: Frame, places: Array, run: Run) -> Frame:
    """Rows by the places of their nodes."""
    key = ~places if plan.tail.backwards else places
    return run.budget.aside(
        lambda: frame.take(order([key], lambda some: _in_group(plan, frame.take(some), run), None)),
        frame.rows,
        "ordering by a ranking",
    )


def _by_score(plan: st.Plan, frame: Frame, scores: Vec, places: Array, run: Run) -> Frame:
    """Rows by a score, where that is equal by the other keys of the query, and then by place."""
    tail = plan.tail
    scope = Scope(run, frame, plan.bindings)
    by_alias = {p.alias: p.expression for p in tail.projections if p.alias is not None}
    first = By(scores, isinstance(tail.fusion or tail.arms[0].ranking, lg.Nearest) == tail.backwards)
    last = By(Vec(pa.int64(), places), tail.backwards)
    keys = [first, *(_key(key, by_alias, scope) for key in tail.order), last]
    run.budget.hold(frame.rows * 8 * (2 * len(keys) + 3), "ordering by a ranking")
    return run.budget.aside(
        lambda: frame.take(order_by(keys, lambda some: _in_group(plan, frame.take(some), run), None)),
        frame.rows,
        "ordering by a ranking",
    )


def _in_group(plan: st.Plan, frame: Frame, run: Run) -> Sequence[Array]:
    """Order of the rows of one ranked node: by edges first, then by everything else."""
    scope = Scope(run, frame, plan.bindings)
    edges = [name for name in frame.columns if isinstance(plan.bindings.get(name), EdgeBinding)]
    return [*(sort_key(scope.ids(name), descending=False) for name in edges), *tie_breakers(frame, run, plan.bindings)]


def _fused(plan: st.Plan, frame: Frame, run: Run) -> Frame:
    """Two rankings merged by reciprocal rank: nodes by score, all rows of each."""
    tail = plan.tail
    assert tail.fusion is not None
    first, second = (arm.column for arm in tail.arms)
    frame = frame.keep((frame.columns[first] >= 0) | (frame.columns[second] >= 0))
    if not frame.rows:
        return frame
    given = run.search.rrf_k(tail.fusion)
    identity = _fused_variable(tail.fusion)
    nodes, place = np.unique(frame.columns[identity], return_inverse=True)
    score = np.zeros(len(nodes))
    ranks = []
    for column in (first, second):
        best = np.full(len(nodes), np.iinfo(np.int64).max)
        there = frame.columns[column] >= 0
        np.minimum.at(best, place[there], frame.columns[column][there])
        rank = _dense(best)
        ranks.append(rank)
        found = best < np.iinfo(np.int64).max
        score[found] += 1.0 / (given + rank[found] + 1)
    run.search.remember(tail.fusion, nodes, score)
    by_score = np.lexsort([ranks[1], ranks[0], -score])
    final = np.empty(len(nodes), np.int64)
    final[by_score] = np.arange(len(nodes))
    if tail.order:
        return _by_score(plan, frame, Vec(pa.float64(), score[place]), final[place], run)
    if tail.limit is not None:
        first_places = len(nodes) - 1 - final if tail.backwards else final
        kept = first_places[place] < tail.limit + tail.offset
        frame, place = frame.keep(kept), place[kept]
    return _by_place(plan, frame, final[place], run)


def _dense(best: Array) -> Array:
    """Places among those that have one, from 0; those that have none come last."""
    order_ = np.argsort(best, kind="stable")
    ordered = best[order_]
    steps = np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])])
    found = np.empty(len(best), np.int64)
    found[order_] = steps
    return found


def _fused_variable(fusion: lg.Fusion) -> str:
    field = fusion.first.field
    assert isinstance(field, lg.PropertyValue)
    return field.variable
