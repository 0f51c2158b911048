"""Random queries over random graphs: everything the language has, everything well-typed.

A case is written as text, from a seed, and must parse and type-check: a refused query is a mistake of the writer here, not a case. What
the specification leaves to the run to refuse (ordering by a variable, unknown aliases, missing parameters) is not written either.

    case(12, 3)      query 3 over graph 12
    print(case)      schema, rows, query and parameters, to be cut down by hand
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pprint import pformat
from random import Random
from typing import Any

from tests.engine.random_clauses import Scope, Writer
from tests.engine.random_graphs import Graph, graph
from tests.engine.random_results import Results
from tests.engine.reference import TooManyRows, evaluate

from omnigraph.catalog import logical as lg
from omnigraph.catalog.check import check
from omnigraph.language import Source, parse_queries


@dataclass(frozen=True)
class Case:
    """A query over a graph."""

    seed: int
    number: int
    graph: Graph = field(repr=False)
    query: str
    params: dict[str, Any]
    checked: lg.ReadQuery = field(repr=False)

    @property
    def name(self) -> str:
        return f"{self.seed}/{self.number}"

    def __str__(self) -> str:
        places = {"past": self.graph.past, "main": self.graph.main, "branch adds": self.graph.branch_grows}
        rows = "\n".join(f"{place} = {pformat(data, width=150)}" for place, data in places.items())
        again = f"again: OMNIGRAPH_SEED={self.name} pytest tests/engine/test_random_queries.py"
        return f"{again}\n\n{self.graph.schema}\n{rows}\n\n{self.query}\nparams = {self.params}\n"


@lru_cache(maxsize=4)
def _graph(seed: int) -> Graph:
    return graph(seed)


DRAFTS = 8


def case(seed: int, number: int) -> Case:
    """One query over the graph of a seed: of a few drafts the first that finds something; now and then the first of all.

    Raises `TypeCheckError` or `ParseError` when the writer wrote nonsense.
    """
    drafts = DRAFTS if Random(f"drafts {seed}/{number}").random() < 0.9 else 1
    for draft in range(DRAFTS):
        drawn = _draft(seed, number, draft)
        try:
            found = evaluate(drawn.graph.catalog, drawn.graph.main, drawn.checked, drawn.params)
        except TooManyRows:
            continue
        if found.total >= (4 if draft < DRAFTS // 2 else 1) or draft >= drafts - 1:
            return drawn
    return drawn


def _draft(seed: int, number: int, draft: int) -> Case:
    stored = _graph(seed)
    writer = Writer(Random(f"query {seed}/{number}/{draft}"), stored)
    text = _query(writer)
    source = Source(text)
    checked = check(stored.catalog, parse_queries(source).queries[0], source)
    assert isinstance(checked, lg.ReadQuery)
    return Case(seed, number, stored, text, writer.given, checked)


def _query(writer: Writer) -> str:
    scope: Scope = {}
    clauses = [writer.first(scope), *writer.clauses(scope, writer.rng.choice((0, 1, 2, 2, 3, 3, 4, 5)), 0)]
    result = Results(writer, scope).text()
    parameters = ", ".join(f"${name}: {type_}" for name, type_ in writer.declared.items())
    lines = "\n".join(f"        {clause}" for clause in clauses)
    return f"query q({parameters}) {{\n    match {{\n{lines}\n    }}\n    {result}\n}}"
