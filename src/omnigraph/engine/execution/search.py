"""Search in one query: text tests, scores and rankings, over the nodes of its view.

    search($d.body, "wolves")                  which rows have a text with the term `wolf`
    bm25($d.body, "wolves"), nearest(…)        a score per row, to return or to order by
    order { nearest($d.vector, $q) } limit 5   the scan of d gives the five nearest of those for which its conditions hold
    … of a node reached by a hop               places among the nodes that were reached

**An index never changes an answer.** Text is analysed by us (`search.analyzer`) and scored with the statistics of the pin
(`text_column`); vectors are measured exactly (`vectors`). Indexes of the tables come in only where a vector column is too large
for memory: then the nearest are those the index proposes, measured again, which may miss some (see docs/guide/queries.md).

Scores: `bm25` is null where no term matches, `nearest` is the squared distance and null without a vector, `rrf` is null for a
node that neither ranking has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.engine.arrays.column import Array, Mask, Vec
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.arrays.quantized import matrix
from omnigraph.engine.cost import ledger
from omnigraph.engine.execution.budget import LONG_ROWS, Budget
from omnigraph.engine.execution.compare import Operand
from omnigraph.engine.execution.evaluate import Scope, constant, value
from omnigraph.engine.execution.frame import TYPE_LOW, TYPE_SHIFT, Frame
from omnigraph.engine.execution.neighbours import nearest_nodes
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding, NodeBinding
from omnigraph.engine.search.analyzer import terms
from omnigraph.engine.search.edits import Lexicon
from omnigraph.engine.search.places import ordered, positions_in
from omnigraph.engine.search.text_column import PassingText, Query, TextColumn, TextPin
from omnigraph.engine.search.vectors import exact
from omnigraph.engine.snapshot.nodes import Nodes
from omnigraph.errors import QueryError
from omnigraph.language.gq.tree import Function

if TYPE_CHECKING:
    from omnigraph.engine.execution.run import Run

DEFAULT_EDITS: Final = 2
"""Edits that `fuzzy` allows where the query does not say."""

DEFAULT_K: Final = 60
"""The constant of reciprocal rank fusion where the query gives none."""

_VECTORS = 512
_VECTOR_NUMBERS = 1 << 17
"""Vectors to compare with that are read between two looks at the clock, and how many numbers they have at most."""

_TEXTS = 1 << 13
"""Texts that are read and told apart between two looks."""

_RANKED_ROWS: Final = 4
"""Rows that are worked on in the time it takes to rank a node."""

_TEXT_ROWS: Final = 10
"""Rows that are worked on in the time it takes to have the terms of a text."""

_REMEMBERED: Final = 1 << 26
_REMEMBERED_ITEM: Final = 500
"""Bytes of what a query found in texts that are kept for its other rows, and what an item of it takes beside its arrays."""

Candidates = Callable[[str], Numbers | None]


class Search:
    """Search in one run. What was found once is not looked for again."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._matching: dict[tuple[object, ...], Mask] = {}
        self._bm25: dict[tuple[object, ...], tuple[Numbers, Array]] = {}
        self._remembered = 0
        self._vectors: dict[tuple[str, str, str], Array] = {}
        self._fused: dict[lg.Fusion, tuple[Numbers, Array]] = {}

    # ── text tests ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def matches(self, test: lg.TextMatch, scope: Scope) -> Mask:
        """For which rows a text has a term of the query, or one that is like it."""
        fuzzy = test.function is Function.FUZZY
        edits: Operand = 0
        if fuzzy:
            edits = DEFAULT_EDITS if test.edits is None else value(test.edits, scope)
        found = np.zeros(scope.rows, np.bool_)
        for (query, allowed), rows in _distinct([value(test.query, scope), edits], scope.rows, self._run.budget):
            self._run.budget.check("searching texts")
            if query is None or allowed is None:
                continue
            if not isinstance(allowed, int) or allowed < 0:
                raise QueryError(f"the edits of `fuzzy` cannot be {allowed!r}", hint="Give a whole number from 0 on.")
            wanted = Query.of(str(query))
            if wanted.terms:
                found[rows] = self._rows_matching(test.field, wanted, allowed if fuzzy else None, scope, rows)
        return found

    def _rows_matching(self, field: lg.Expression, wanted: Query, edits: int | None, scope: Scope, rows: Any) -> Mask:
        if isinstance(field, lg.PropertyValue) and isinstance(binding := scope.bindings[field.variable], NodeBinding):
            numbers = scope.frame.columns[field.variable][rows]
            if len(binding.types) == 1:
                return self._nodes_matching(binding.types[0], field.property, wanted, edits, numbers)
            found = np.zeros(len(numbers), np.bool_)
            for place, type_ in enumerate(binding.types):
                own = np.flatnonzero((numbers >= 0) & (numbers >> TYPE_SHIFT == place))
                if len(own):
                    found[own] = self._nodes_matching(type_, field.property, wanted, edits, numbers[own] & TYPE_LOW)
            return found
        given = value(field, scope)
        if not isinstance(given, Vec):
            return np.full(len(np.arange(scope.rows)[rows]), _texts_matching([given], wanted, edits, self._run.budget)[0])
        return _texts_matching(given.take(np.arange(scope.rows)[rows]).to_pylist(), wanted, edits, self._run.budget)

    def _nodes_matching(self, type_: str, name: str, wanted: Query, edits: int | None, numbers: Numbers) -> Mask:
        key = (type_, name, wanted, edits)
        marked = self._matching.get(key)
        nodes = self._run.view.nodes(type_)
        if marked is None:
            column = TextColumn.of(nodes.stored, name, self._memory, self._run.view.workspace.saved)
            if not column.has(nodes.stored) and ledger.prefers_single_texts(column.account, len(numbers), nodes.count):
                column.account.charge(len(numbers) * ledger.SINGLE_TEXT)
                self._note("texts one by one")
                texts = nodes.values(numbers, name).to_pylist()
                return _texts_matching(texts, wanted, edits, self._run.budget)
            text = self._text(column, nodes)
            marked = np.zeros(text.rows, np.bool_)
            marked[text.matching(wanted) if edits is None else text.resembling(wanted, edits)] = True
            self._make_room(marked.nbytes)
            self._matching[key] = marked
        rows = nodes.load().of(numbers)
        if len(rows) and rows.min() < 0:
            return (rows >= 0) & marked[rows] if len(marked) else np.zeros(len(rows), np.bool_)
        return marked[rows]

    def _text(self, column: TextColumn, nodes: Nodes) -> TextPin | PassingText:
        self._run.budget.check("reading a text to search it")
        if column.has(nodes.stored):
            text = column.at(nodes.stored, self._memory)
        else:  # all its texts are read, which is kept even if nobody can wait for it
            what = "reading a text to search it"
            text = self._run.budget.aside(lambda: column.at(nodes.stored, self._memory), nodes.count * _TEXT_ROWS, what)
        self._note("terms in memory" if isinstance(text, TextPin) else "text read through")
        return text

    # ── scores ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def scores(self, expression: lg.Nearest | lg.Bm25 | lg.Fusion, scope: Scope) -> Vec:
        """A score for every row; null where there is none."""
        match expression:
            case lg.Bm25(lg.PropertyValue(), query):
                found = np.full(scope.rows, np.nan)
                for (text,), rows in _distinct([value(query, scope)], scope.rows, self._run.budget):
                    self._run.budget.check("scoring texts")
                    if text is not None:
                        found[rows] = self._relevance(expression.field, str(text), scope, rows)
                return _nullable(found)
            case lg.Bm25():
                raise QueryError("`bm25` compares the texts of a property", hint="Write bm25($v.property, query).")
            case lg.Nearest(field):
                return self._distances(field, expression.query, scope)
            case lg.Fusion():
                return self._fusion(expression, scope)

    def _relevance(self, field: lg.Expression, text: str, scope: Scope, rows: Any) -> Array:
        assert isinstance(field, lg.PropertyValue)
        binding = scope.bindings[field.variable]
        assert isinstance(binding, NodeBinding)
        numbers = scope.frame.columns[field.variable][rows]
        found = np.full(len(numbers), np.nan)
        for place, type_ in enumerate(binding.types):
            own = np.flatnonzero((numbers >= 0) & (numbers >> TYPE_SHIFT == place)) if len(binding.types) > 1 else None
            nodes = self._run.view.nodes(type_)
            mine = numbers if own is None else numbers[own] & TYPE_LOW
            positions, scores = self._ranked_texts(nodes, field.property, text)
            if len(positions):
                there = nodes.load().of(mine)
                where = np.minimum(np.searchsorted(positions, there), len(positions) - 1)
                found[slice(None) if own is None else own] = np.where(positions[where] == there, scores[where], np.nan)
        return found

    def _ranked_texts(self, nodes: Nodes, name: str, text: str) -> tuple[Numbers, Array]:
        """Positions of the nodes whose text has a term of the query, ascending, and their scores."""
        key = (nodes.type.name, name, text)
        found = self._bm25.get(key)
        if found is None:
            column = TextColumn.of(nodes.stored, name, self._memory, self._run.view.workspace.saved)
            found = self._text(column, nodes).bm25(Query.of(text))
            self._make_room(found[0].nbytes + found[1].nbytes)
            self._bm25[key] = found
        return found

    def _make_room(self, nbytes: int) -> None:
        """Before something found is remembered: where every row asks for another text, that is not kept of all of them."""
        limit = self._run.budget.bytes
        self._remembered += nbytes + _REMEMBERED_ITEM
        if self._remembered > (_REMEMBERED if limit is None else min(_REMEMBERED, limit // 8)):
            self._matching.clear()
            self._bm25.clear()
            self._remembered = nbytes

    def _distances(self, field: lg.PropertyValue, query: lg.Expression, scope: Scope) -> Vec:
        found = np.full(scope.rows, np.nan)
        for types, rows in self._by_type(field, scope):
            self._run.budget.check("measuring distances")
            scoped = scope if rows is None else Scope(scope.run, scope.frame.take(rows), scope.bindings)
            self._run.budget.hold(scoped.rows * (field.type.dimension or 0) * 24, "measuring distances")
            stored = scoped.property(field.variable, field.property).to_arrow()
            wanted = self._query_vectors(types, field, value(query, scoped), scoped.rows)
            if wanted is None:
                continue
            measured = exact(matrix(stored), wanted)
            measured[~stored.is_valid().to_numpy(zero_copy_only=False)] = np.nan
            found[slice(None) if rows is None else rows] = measured
        return _nullable(found)

    def _by_type(self, field: lg.PropertyValue, scope: Scope) -> Iterator[tuple[str, Numbers | None]]:
        """Each type of a variable and the rows where it has it; None: all."""
        binding = scope.bindings[field.variable]
        assert isinstance(binding, NodeBinding)
        if len(binding.types) == 1:
            yield binding.types[0], None
            return
        numbers = scope.frame.columns[field.variable]
        for place, type_ in enumerate(binding.types):
            rows = np.flatnonzero((numbers >= 0) & (numbers >> TYPE_SHIFT == place))
            if len(rows):
                yield type_, rows

    def _query_vectors(self, type_: str, field: lg.PropertyValue, given: Operand, rows: int) -> Any:
        """The vector to compare with, or one for every row. None: there is none to compare with."""
        if not isinstance(given, Vec):
            return None if given is None else self._query_vector(type_, field, given)
        width = field.type.dimension or 0
        found = np.full((rows, width), np.nan)
        at_once = max(1, min(_VECTORS, _VECTOR_NUMBERS // max(1, width)))
        for start in range(0, rows, at_once):
            self._run.budget.check("reading the vectors to compare with")
            items = given.slice(start, min(start + at_once, rows)).to_pylist()
            self._embed(type_, field, [item for item in items if isinstance(item, str)])
            for place, item in enumerate(items, start):
                if item is not None:
                    found[place] = self._query_vector(type_, field, item if isinstance(item, str) else tuple(item))
        return found

    def _query_vector(self, type_: str, field: lg.PropertyValue, given: object) -> Array:
        if not isinstance(given, str):
            assert isinstance(given, tuple)
            return np.array(given, np.float64).astype(np.float32).astype(np.float64)
        self._embed(type_, field, [given])
        return self._vectors[given, type_, field.property]

    def _embed(self, type_: str, field: lg.PropertyValue, texts: list[str]) -> None:
        """Have the vectors of texts to compare with. A provider may take long: the clock is looked at meanwhile."""
        missing = [text for text in dict.fromkeys(texts) if (text, type_, field.property) not in self._vectors]
        if not missing:
            return
        from omnigraph.embedding.query_texts import QueryTexts  # most queries look for no text
        from omnigraph.engine.search.spaces import spaces_of

        run, width = self._run, field.type.dimension or 0
        type_of_nodes = run.view.nodes(type_).type
        spaces = spaces_of(run.view.workspace, type_of_nodes, type_of_nodes.properties[field.property])
        known = QueryTexts(None) if run.texts is None else run.texts()
        vectors = run.budget.aside(
            partial(known.vectors, missing, width, field=f"{type_}.{field.property}", spaces=spaces),
            LONG_ROWS,
            "embedding a text",
        )
        for text, vector in zip(missing, vectors, strict=True):
            self._vectors[text, type_, field.property] = vector.astype(np.float64)

    # ── rankings ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def places(self, ranking: lg.Nearest | lg.Bm25, scope: Scope) -> Numbers:
        """The place of each row's node among the nodes of all rows, the best being 0; -1 for those the ranking leaves out."""
        field = _ranked_field(ranking)
        nodes, first, inverse = np.unique(scope.frame.columns[field.variable], return_index=True, return_inverse=True)
        once = Scope(scope.run, scope.frame.take(first), scope.bindings)
        keys, there = _keys(ranking, self.scores(ranking, once))
        chosen = np.flatnonzero(there & (nodes >= 0))
        ids = once.ids(field.variable).to_arrow()
        best = ordered(keys[chosen], lambda rows: ids.take(pa.array(chosen[rows])), None, last_id_first=_last_id_first(ranking))
        found = np.full(len(nodes), -1)
        found[chosen[best]] = np.arange(len(best))
        return found[inverse]

    def ranked(self, step: st.Scan, candidates: Candidates) -> Iterator[tuple[Numbers, dict[str, Array]]]:
        """The nodes of a scan that rankings keep, in the order of the first, and their places in each."""
        known = {type_: candidates(type_) for type_ in step.types}
        rows = sum(self._run.view.nodes(type_).count if some is None else len(some) for type_, some in known.items())
        arms = [
            self._run.budget.aside(partial(self._arm, ranked, step, known), rows * _RANKED_ROWS, "ranking")
            for ranked in step.rankings
        ]
        numbers = arms[0]
        for arm in arms[1:]:
            numbers = np.concatenate([numbers, arm[positions_in(arm, numbers) < 0]])
        if not all(ranked.required for ranked in step.rankings):
            every = np.concatenate([self._all(step.types, type_, some) for type_, some in known.items()])
            numbers = np.concatenate([numbers, every[positions_in(every, numbers) < 0]])
        if len(arms) == 1 and len(numbers) == len(arms[0]):
            yield numbers, {step.rankings[0].column: np.arange(len(numbers))}
            return
        yield numbers, {ranked.column: positions_in(numbers, arm) for ranked, arm in zip(step.rankings, arms, strict=True)}

    def _arm(self, ranked: st.Ranked, step: st.Scan, known: dict[str, Numbers | None]) -> Numbers:
        """The nodes that a ranking keeps, best first."""
        ranking = ranked.ranking
        field = _ranked_field(ranking)
        if isinstance(ranking.query, lg.PropertyValue | lg.Entity):
            return self._arm_by_rows(ranked, step, known)
        query = constant(ranking.query, self._run)
        numbers: list[Numbers] = []
        keys: list[Array] = []
        for place, (type_, among) in enumerate(known.items()):
            nodes = self._run.view.nodes(type_)
            if query is None or not nodes.count:
                continue
            if isinstance(ranking, lg.Nearest):
                vector = self._query_vector(type_, field, query)
                some, key = nearest_nodes(self._run, nodes, field.property, vector, ranked.best, among)
            else:
                some, key = self._relevant_nodes(nodes, field.property, str(query), among)
            numbers.append(some | (place << TYPE_SHIFT) if place else some)
            keys.append(key)
        if not numbers:
            return np.empty(0, np.int64)
        every, key = np.concatenate(numbers), np.concatenate(keys)
        ids = self._ids_of(step, every)
        return every[ordered(key, ids, _best(ranked, key), last_id_first=_last_id_first(ranking))]

    def _arm_by_rows(self, ranked: st.Ranked, step: st.Scan, known: dict[str, Numbers | None]) -> Numbers:
        """The same when every node is compared with a value of its own."""
        numbers = np.concatenate([self._all(step.types, type_, some) for type_, some in known.items()])
        scope = Scope(self._run, Frame(len(numbers), {step.variable: numbers}), {step.variable: NodeBinding(step.types)})
        keys, there = _keys(ranked.ranking, self.scores(ranked.ranking, scope))
        kept = numbers[there]
        last = _last_id_first(ranked.ranking)
        best = _best(ranked, keys[there])
        return kept[ordered(keys[there], self._ids_of(step, kept), best, last_id_first=last)]

    def _relevant_nodes(self, nodes: Nodes, name: str, query: str, among: Numbers | None) -> tuple[Numbers, Array]:
        positions, scores = self._ranked_texts(nodes, name, query)
        if among is not None:
            wanted = np.zeros(nodes.count, np.bool_)
            wanted[nodes.load().of(among)] = True
            kept = wanted[positions]
            positions, scores = positions[kept], scores[kept]
        return nodes.all()[positions], -scores

    def _ids_of(self, step: st.Scan, numbers: Numbers) -> Callable[[Numbers], pa.StringArray]:
        if len(step.types) == 1:
            nodes = self._run.view.nodes(step.types[0])
            return lambda rows: nodes.ids(numbers[rows])
        bindings: dict[str, Binding] = {step.variable: NodeBinding(step.types)}

        def ids(rows: Numbers) -> pa.StringArray:
            return Scope(self._run, Frame(len(rows), {step.variable: numbers[rows]}), bindings).ids(step.variable).to_arrow()

        return ids

    def _all(self, types: Sequence[str], type_: str, among: Numbers | None) -> Numbers:
        numbers = self._run.reading_nodes(type_, "id", self._run.view.nodes(type_).all) if among is None else among
        place = types.index(type_)
        return numbers | (place << TYPE_SHIFT) if place else numbers

    # ── fusion ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def remember(self, fusion: lg.Fusion, nodes: Numbers, scores: Array) -> None:
        """The scores by which rows were ordered, for whoever returns them: later there are fewer rows to rank."""
        order = np.argsort(nodes)
        self._fused[fusion] = (nodes[order], scores[order])

    def _fusion(self, fusion: lg.Fusion, scope: Scope) -> Vec:
        numbers = scope.frame.columns[_ranked_field(fusion.first).variable]
        known = self._fused.get(fusion)
        if known is not None and len(known[0]):
            nodes, scores = known
            where = np.minimum(np.searchsorted(nodes, numbers), len(nodes) - 1)
            return _nullable(np.where(nodes[where] == numbers, scores[where], np.nan))
        k = self.rrf_k(fusion)
        found, there = np.zeros(scope.rows), np.zeros(scope.rows, np.bool_)
        for arm in (fusion.first, fusion.second):
            places = self.places(arm, scope)
            ranked = places >= 0
            found[ranked] += 1.0 / (k + places[ranked] + 1)
            there |= ranked
        return _nullable(np.where(there, found, np.nan))

    # ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def rrf_k(self, fusion: lg.Fusion) -> int:
        """The constant of a fusion."""
        given = DEFAULT_K if fusion.k is None else constant(fusion.k, self._run)
        if not isinstance(given, int) or given <= 0:
            raise QueryError("the k of `rrf` must be greater than zero")
        return given

    @property
    def _memory(self) -> Any:
        return self._run.view.workspace.memory

    def _note(self, text: str) -> None:
        if self._run.trace is not None:
            self._run.trace.note(text)


def _ranked_field(ranking: lg.Nearest | lg.Bm25) -> lg.PropertyValue:
    if not isinstance(ranking.field, lg.PropertyValue):
        raise QueryError("only properties can be ranked", hint="Write bm25($v.property, query).")
    return ranking.field


def _best(ranked: st.Ranked, keys: Array) -> int | None:
    """How many of some nodes a ranking keeps."""
    best = ranked.best
    if best is None or not ranked.ties or not 0 < best < len(keys):
        return best
    return int(np.count_nonzero(keys <= np.partition(keys, best - 1)[best - 1]))


def _last_id_first(ranking: lg.Nearest | lg.Bm25) -> bool:
    return isinstance(ranking, lg.Bm25)


def _keys(ranking: lg.Nearest | lg.Bm25, scores: Vec) -> tuple[Array, Mask]:
    """What to sort by, smallest first, and who takes part."""
    assert scores.plain is not None
    return (scores.plain if isinstance(ranking, lg.Nearest) else -scores.plain), scores.is_valid()


def _nullable(found: Array) -> Vec:
    missing = np.isnan(found)
    if not missing.any():
        return Vec(pa.float64(), found)
    return Vec(pa.float64(), np.where(missing, 0.0, found), ~missing)


def _distinct(operands: Sequence[Operand], rows: int, budget: Budget) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each combination of values, with the rows that have it: one for all rows unless an operand differs by row."""
    if not any(isinstance(operand, Vec) for operand in operands):
        yield tuple(operands), slice(None)
        return
    groups: dict[tuple[Any, ...], list[int]] = {}
    for start in range(0, rows, _TEXTS):
        budget.check("searching texts")
        some = slice(start, min(start + _TEXTS, rows))
        columns = [
            operand.slice(some.start, some.stop).to_pylist()
            if isinstance(operand, Vec)
            else repeat(operand, some.stop - some.start)
            for operand in operands
        ]
        for row, values in enumerate(zip(*columns, strict=True), start):
            groups.setdefault(values, []).append(row)
    for values, members in groups.items():
        yield values, np.array(members)


def _texts_matching(texts: Sequence[Any], wanted: Query, edits: int | None, budget: Budget) -> Mask:
    """Text by text, whether it has one of some terms, or one like it."""
    found = np.zeros(len(texts), np.bool_)
    known: dict[str, bool] = {}
    for place, text in enumerate(texts):
        if not place % 256:
            budget.check("searching texts")
        if text is None:
            continue
        if text not in known:
            own = set(terms(text))
            if edits is None:
                known[text] = not own.isdisjoint(wanted.terms)
            else:
                lexicon = Lexicon(sorted(own))
                known[text] = bool(own) and any(len(lexicon.near(term, edits)) for term in wanted.terms)
        found[place] = known[text]
    return found
