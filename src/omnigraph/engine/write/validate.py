"""The one evaluator: does this change satisfy the schema?

It looks at the change and, through indexes, at the little of the graph that the change is about; so its cost follows the change.
All violations are collected. Rules about rows alone are checked once; rules that compare with what is committed are checked again
if somebody else committed in between (`set_violations`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from omnigraph.engine.snapshot.view import View, table_key
from omnigraph.engine.write.changeset import ChangeSet
from omnigraph.engine.write.rules import cardinality, endpoints, identity, unique, values
from omnigraph.engine.write.violations import Violation

SIDE_BY_SIDE = 100_000
"""From so many rows on, rules are checked in parallel."""

_THREADS = 2


def violations(changes: ChangeSet, view: View) -> list[Violation]:
    """Everything that is wrong with a change."""
    found: list[Violation] = []
    for delta in changes:
        if delta.written is None:
            found += values.check(delta)
    return found + set_violations(changes, view)


def set_violations(changes: ChangeSet, view: View) -> list[Violation]:
    """What is wrong with a change next to what is committed."""
    many = sum(delta.rows.num_rows for delta in changes) >= SIDE_BY_SIDE
    questions: list[Callable[[], Iterable[Violation]]] = []
    for delta in changes:
        questions += [partial(identity.check, delta, view), partial(unique.check, delta, view)]
        if delta.type.is_edge:
            ends = (("src",), ("dst",)) if many else (("src", "dst"),)
            questions += [partial(endpoints.check_new_edges, delta, changes, view, end) for end in ends]
            questions.append(partial(cardinality.check, delta, changes, view))
        else:
            questions.append(partial(endpoints.check_left_behind, delta, changes, view))
    if not many:
        return [v for question in questions for v in question()]
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="omnigraph-check") as pool:
        return [v for found in pool.map(lambda question: list(question()), questions) for v in found]


def relied_on(changes: ChangeSet, view: View) -> frozenset[str]:
    """Tables whose content decided the answer: when one of them changes, the set rules must be checked again."""
    found: set[str] = set()
    for delta in changes:
        found.add(delta.key)
        if delta.type.is_edge:
            ends = (delta.type.source, delta.type.target)
            found |= {table_key(view.catalog.nodes[name]) for name in ends}
        elif len(delta.removed) or delta.replaces_all:
            assert delta.type.is_node
            found |= {table_key(edge) for edge in view.catalog.incident_edges(delta.type.name)}
    return frozenset(found)
