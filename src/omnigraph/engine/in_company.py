"""Mutations that several callers ask for at the same moment, done by one thread for all of them.

Of sixteen threads that a group commit wakes, one after the other goes on for some microseconds and gives up its turn at running
Python; that takes longer than what they do. Here one thread brings sixteen mutations: each is a commit of its own, and is told by
itself what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omnigraph.engine.any_graph import AnyGraph
from omnigraph.engine.calls.guard import GUARDED, in_our_terms
from omnigraph.engine.graph import Graph
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.engine.write.receipt import Receipt
from omnigraph.engine.writing import Asked, Onto
from omnigraph.errors import GraphError
from omnigraph.model.frozen import frozen

_CHECKS = getattr(Graph.mutate, GUARDED)


@frozen
class Mutation:
    """What `Graph.mutate` is given."""

    source: QueryText
    params: Mapping[str, object] | None
    name: str | None
    branch: str
    actor: str | None
    message: str | None


def is_quick(graph: AnyGraph, source: QueryText, name: str | None, branch: str) -> bool:
    """Whether a mutation is done in a moment, so that others may wait for it."""
    return isinstance(graph, Graph) and graph._writing.is_quick(source, name, branch)


def mutate_each(graph: AnyGraph, mutations: Sequence[Mutation]) -> list[Receipt | Exception]:
    """What comes of each, as `Graph.mutate` would give or raise it."""
    assert isinstance(graph, Graph)
    found: list[Receipt | Exception | None] = []
    asked: list[Asked] = []
    for one in mutations:
        try:
            asked.append(_asked(one))
            found.append(None)
        except Exception as error:
            found.append(_in_our_terms(error))
    done = iter(graph._writing.mutate_each(asked))
    return [_in_our_terms(next(done)) if one is None else one for one in found]


def _asked(one: Mutation) -> Asked:
    given = {name: getattr(one, name) for name in ("source", "params", "name", "branch", "actor", "message")}
    checked = {name: _CHECKS[name](name, value) for name, value in given.items()}
    onto = Onto(checked["branch"], actor=checked["actor"], message=checked["message"])
    return Asked(checked["source"], checked["params"], checked["name"], onto)


def _in_our_terms(came: Receipt | Exception) -> Receipt | Exception:
    if not isinstance(came, Exception) or isinstance(came, GraphError):
        return came
    return in_our_terms(came, "mutate", handed=False) or came
