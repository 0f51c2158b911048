"""What public calls give back, and what they raise, can be copied and sent to another process."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.engine.test_door import ADD, ALL, World, public
from tests.test_errors import ALL as ERRORS

import omnigraph as og
from omnigraph import errors
from omnigraph.hints import Action, Hint, Option

WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("copies"))


def same(one: Any, other: Any) -> bool:
    """Equal values, or what says the same where equality is identity."""
    if type(one) is not type(other):
        return False
    if isinstance(one, og.Result):
        return bool(one.to_dict() == other.to_dict() and one.to_arrow().equals(other.to_arrow()))
    if hasattr(one, "adjacency"):  # of networkx, whose graphs equal themselves alone
        return bool(dict(one.nodes) == dict(other.nodes) and list(one.edges(data=True)) == list(other.edges(data=True)))
    if hasattr(one, "records"):
        return list(one.records()) == list(other.records())
    if hasattr(one, "to_dict"):
        return bool(one.to_dict() == other.to_dict())
    if hasattr(one, "graph_commit_id"):
        return bool(one.graph_commit_id == other.graph_commit_id)
    if "__eq__" not in vars(type(one)):
        return repr(one) == repr(other) or "snapshot" in vars(one)
    return bool(one == other)


@pytest.mark.parametrize("way", WAYS)
def test_every_value_that_a_public_call_gives(world: World, way: str) -> None:
    tried = 0
    for function in public():
        if function not in world.calls():
            continue
        call, good = world.call(function)
        try:
            given = call(**good)
        except (og.NotFound, og.ScopeError):  # to delete what is not there, to invoke what only servers store
            continue
        if isinstance(given, og.Transaction):
            with pytest.raises(TypeError, match="belongs to whoever began it"):
                WAYS[way](given)
            continue
        for value in given if isinstance(given, list) else [given]:
            assert same(value, WAYS[way](value)), function.__qualname__
            tried += 1
    assert tried > 40


def raised(world: World) -> Iterator[og.GraphError]:
    """Errors with everything in them, as they come."""
    g = world.graph
    for call in (
        lambda: g.query("query q( {"),
        lambda: g.query("query q() { match { $p: Nobody } return { $p } }"),
        lambda: og.init(world.folder / "bad", "node A { k: String  k: String }"),
        lambda: g.load([{"type": "Person", "data": {"age": "x"}}, {"type": "Person", "data": {"name": "x", "age": 2**40}}]),
        lambda: g.load([{"type": "Person", "data": {"name": "Ada"}}], mode="append"),
        lambda: g.mutate(ADD, if_commit="nope"),
        lambda: g.revert("main", branch="work"),
        lambda: g.apply_schema("node Person { name: I32 @key }"),
    ):
        try:
            call()
        except og.GraphError as error:
            yield error


@pytest.mark.parametrize("way", WAYS)
def test_every_error(world: World, way: str) -> None:
    made = list(raised(world))
    assert len(made) >= 6
    for cls in ERRORS:
        if issubclass(cls, errors.LanguageError):
            continue  # among those that were raised
        wanted = {n: p for n, p in inspect.signature(cls).parameters.items() if p.kind is p.KEYWORD_ONLY}
        values: dict[str, Any] = {n: _sample(n, p, made[3]) for n, p in wanted.items()}
        made.append(cls("message", **values))
    for error in made:
        again = WAYS[way](error)
        assert type(again) is type(error)
        assert (again.args, str(again), again.to_dict()) == (error.args, str(error), error.to_dict())
        assert vars(again) == vars(error)
        assert (again.retryable, again.hint, again.code) == (error.retryable, error.hint, error.code)
    assert {type(e) for e in made} >= {c for c in ERRORS if not c.__subclasses__()}


def _sample(name: str, parameter: inspect.Parameter, refused: og.GraphError) -> object:
    if name == "hint":
        return Hint("Try ", Option("mode", "merge"), " or ", Action("verify"), ".", Hint(" Or ", Option("timeout"), "."))
    if name in ("violations", "conflicts"):
        return refused.violations  # type: ignore[attr-defined]
    kind = str(parameter.annotation)
    if "Mapping" in kind:
        return {"Person": 3}
    if any(word in kind for word in ("Sequence", "tuple", "Iterable", "list")):
        return ("a", "b")
    return True if "bool" in kind else 3 if "int" in kind else "text"


def _work(kind: str, folder: str) -> object:
    graph = og.open(folder)
    if kind == "language":
        graph.query("query q( {")
    if kind == "violations":
        graph.load([{"type": "Person", "data": {"age": "x"}}])
    return graph.query(ALL)


def test_from_process_to_process(world: World) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        folder = str(world.folder / "g")
        result = processes.submit(_work, "result", folder).result(timeout=120)
        assert isinstance(result, og.Result)
        assert result.rows == world.graph.query(ALL).rows
        assert "Ada" in repr(result)
        with pytest.raises(og.ParseError) as language:
            processes.submit(_work, "language", folder).result(timeout=120)
        assert language.value.diagnostics[0].render()
        with pytest.raises(og.ValidationError) as refused:
            processes.submit(_work, "violations", folder).result(timeout=120)
        assert refused.value.violations
        assert Path(processes.submit(_place, world.graph).result(timeout=120)) == world.folder / "g"


def _place(graph: og.Graph) -> str:
    graph.query(ALL)
    return graph._store.place.uri
