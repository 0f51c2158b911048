"""Generated objects of every kind at every argument, and inside everything that holds values: records, cells, parameters, options.

What comes back is a result or a `GraphError` (a `TypeError` for what types would show), and after an error nothing has changed.
`OMNIGRAPH_ANYTHING=5000` tries that many at each place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tests.engine.anything import BOXES, Box
from tests.engine.hostile import state
from tests.engine.test_door import CALLED_BACK, FREE, World, public

import omnigraph as og
from omnigraph.engine.calls.guard import GUARDED

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

EXAMPLES: Final = int(os.environ.get("OMNIGRAPH_ANYTHING", "80"))

TYPES: Final = (
    *("String?", "I32?", "I64?", "U32?", "U64?", "F32?", "F64?", "Bool?", "Date?", "DateTime?", "Blob?", "Vector(2)?"),
    *("[String]?", "[I32]?", "[F64]?", "[Date]?", "[Bool]?", "enum(a, b)?", "String", "I32"),
)
PROPERTIES: Final = {f"p{i}": t for i, t in enumerate(TYPES[:18])}
SCHEMA: Final = (
    "node All { name: String @key  " + "  ".join(f"{n}: {t}" for n, t in PROPERTIES.items()) + " }\n"
    "node Day { on: Date @key }\nnode Num { n: I64 @key }\nedge Goes: All -> All { w: F64? }"
)


class Place:
    """A graph of every type, and what is done to it with a value."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.graph = og.init(folder / "all", SCHEMA, durability="os", save_from=None)
        self.graph.load([{"type": "All", "data": {"name": "Ada"}}, {"edge": "Goes", "from": "Ada", "to": "Ada"}])
        self.graph.branches.create("theirs")
        for branch, text in (("main", "ours"), ("theirs", "theirs")):
            self.graph.mutate('query q($t: String) { update All set { p0: $t } where name = "Ada" }', {"t": text}, branch=branch)
        self.conflict = self.graph.merge("theirs", dry_run=True).conflicts[0]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("anything")
    before = Path.cwd()
    os.chdir(folder)  # texts that are taken as paths are paths there
    yield Place(folder)
    os.chdir(before)


@pytest.fixture(scope="module")
def world(place: Place, tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


def tries(share: float = 1.0) -> Callable[[Any], Any]:
    return settings(
        max_examples=max(1, int(EXAMPLES * share)),
        database=None,
        derandomize="OMNIGRAPH_ANYTHING" not in os.environ,  # the same in every run, unless more are asked for
        suppress_health_check=list(HealthCheck),
    )


def held(graph: og.Graph, call: Callable[[], object], theirs: bool = False) -> None:
    """Make a call, and hold it to what is promised. `theirs`: what is given is called, and what it raises is its own."""
    before = state(graph)
    try:
        call()
        return
    except Exception as error:
        raised = error
    if state(graph) != before:
        raise AssertionError("refused, and changed the graph") from raised
    if isinstance(raised, og.UnexpectedError) and "hostile" in str(raised):
        return  # the object failed, and it is told
    if isinstance(raised, og.GraphError) and not isinstance(raised, og.UnexpectedError):
        str(raised), repr(raised), json.dumps(raised.to_dict())
    elif not theirs or not (isinstance(raised, TypeError) or "hostile" in str(raised)):
        raise raised


@tries(3)
@given(box=BOXES, type_=st.sampled_from(TYPES), write=st.booleans())
def test_values_of_parameters(place: Place, box: Box, type_: str, write: bool) -> None:
    name = next((n for n, t in PROPERTIES.items() if t == type_), "name")
    if write:
        change = f'query q($v: {type_}) {{ update All set {{ {name}: $v }} where name = "Ada" }}'
        held(place.graph, lambda: place.graph.mutate(change, {"v": box.value}))
    elif type_.startswith(("Blob", "Vector", "[")):
        held(
            place.graph,
            lambda: place.graph.query(f"query q($v: {type_}) {{ match {{ $a: All }} return {{ $a.name }} }}", {"v": box.value}),
        )
    else:
        ask = f"query q($v: {type_}) {{ match {{ $a: All  $a.{name} = $v }} return {{ $a.name }} }}"
        held(place.graph, lambda: place.graph.query(ask, {"v": box.value}).rows)


@tries()
@given(box=BOXES)
def test_vectors_and_keys_that_are_looked_for(place: Place, box: Box) -> None:
    near = "query q($v: Vector(2)) { match { $a: All } return { $a.name } order { nearest($a.p11, $v) } limit 1 }"
    held(place.graph, lambda: place.graph.query(near, {"v": box.value}).rows)
    for type_, key, scalar in (("All", "name", "String"), ("Day", "on", "Date"), ("Num", "n", "I64")):
        ask = f"query q($v: {scalar}) {{ match {{ $a: {type_} {{ {key}: $v }} }} return {{ $a.{key} }} }}"
        held(place.graph, lambda ask=ask: place.graph.query(ask, {"v": box.value}).rows)  # type: ignore[misc]


@tries()
@given(keys=st.lists(BOXES, min_size=1, max_size=2))
def test_keys_of_parameters(place: Place, keys: list[Box]) -> None:
    params = {}
    for key in keys:
        try:
            params[key.value] = 1
        except Exception:  # no key of anything
            assume(False)
    held(place.graph, lambda: place.graph.query("query q($v: I32?) { match { $a: All } return { $a.name } }", params))  # type: ignore[arg-type]


@tries(2)
@given(box=BOXES, name=st.sampled_from(["name", *PROPERTIES]), mode=st.sampled_from(["merge", "append"]))
def test_values_of_records(place: Place, box: Box, name: str, mode: Any) -> None:
    record = {"type": "All", "data": {"name": "new", name: box.value}}
    held(place.graph, lambda: place.graph.load([record], branch="theirs", mode=mode))


@tries()
@given(box=BOXES, at=st.sampled_from(["type", "edge", "from", "to", "id", "data", "other"]))
def test_parts_of_records(place: Place, box: Box, at: str) -> None:
    good: dict[str, object] = {"type": "All", "data": {"name": "r"}}
    if at in ("edge", "from", "to"):
        good = {"edge": "Goes", "from": "Ada", "to": "Ada"}
    held(place.graph, lambda: place.graph.load([{**good, at: box.value}], branch="theirs"))
    held(place.graph, lambda: place.graph.load([{**good, at: box.value}], branch="theirs", dialect="compatible"))


@tries()
@given(
    boxes=st.lists(BOXES, min_size=1, max_size=2), what=st.sampled_from(["record", "key", "data key", "source", "row", "named"])
)
def test_whole_records_and_their_keys(place: Place, boxes: list[Box], what: str) -> None:
    value = boxes[0].value
    try:
        made: dict[str, Callable[[], Any]] = {
            "record": lambda: [b.value for b in boxes],
            "key": lambda: [{"type": "All", "data": {"name": "k"}, value: 1}],
            "data key": lambda: [{"type": "All", "data": {"name": "k", value: 1}}],
            "source": lambda: value,
            "row": lambda: {"All": [b.value for b in boxes]},
            "named": lambda: {"All": value},
        }
        source = made[what]()
    except Exception:  # no key of anything
        assume(False)
    held(place.graph, lambda: place.graph.load(source, branch="theirs"))


@tries(2)
@given(
    boxes=st.lists(BOXES, min_size=1, max_size=2),
    name=st.sampled_from(["name", *PROPERTIES]),
    library=st.sampled_from(["pandas", "pandas typed", "polars", "arrow"]),
    edge=st.booleans(),
)
def test_cells_of_frames(place: Place, boxes: list[Box], name: str, library: str, edge: bool) -> None:
    values = [box.value for box in boxes]
    columns = {"name": [f"f{i}" for i in range(len(values))], name: values}
    if edge:
        columns = {"from": ["Ada"] * len(values), "to": ["Ada"] * len(values), "w" if name == "name" else "from": values}
    frame: object
    try:
        if library == "pandas":
            frame = pd.DataFrame({n: pd.Series(v, dtype=object) for n, v in columns.items()})
        elif library == "pandas typed":
            frame = pd.DataFrame(columns)
        elif library == "polars":
            frame = pl.DataFrame(columns, strict=False)
        else:
            frame = pa.table({n: pa.array(v) for n, v in columns.items()})
    except BaseException as error:  # there is no such frame
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        assume(False)
    held(place.graph, lambda: place.graph.load({"Goes" if edge else "All": frame}, branch="theirs"))


@tries()
@given(box=BOXES, type_=st.sampled_from([t.rstrip("?") for t in TYPES if not t.startswith(("Vector", "["))]))
def test_backfills(place: Place, box: Box, type_: str) -> None:
    wanted = SCHEMA.replace("edge Goes", "node Next { k: String @key }\nedge Goes").replace(
        "node All {", f"node All {{ fresh: {type_} "
    )
    held(place.graph, lambda: place.graph.plan_schema(wanted, backfill={"All.fresh": box.value}))  # type: ignore[dict-item]
    try:
        keyed = {box.value: 1}
    except Exception:
        return
    held(place.graph, lambda: place.graph.plan_schema(wanted, backfill=keyed))  # type: ignore[arg-type]


@tries(0.3)
@given(box=BOXES)
def test_backfills_that_are_applied(place: Place, box: Box) -> None:
    branch = f"b{len(place.graph.branches.list())}"
    place.graph.branches.create(branch)
    wanted = SCHEMA.replace("node All {", "node All { fresh: String ")
    held(place.graph, lambda: place.graph.apply_schema(wanted, branch=branch, backfill={"All.fresh": box.value}))  # type: ignore[dict-item]
    place.graph.branches.delete(branch)


@tries()
@given(box=BOXES, inside=st.booleans())
def test_resolutions(place: Place, box: Box, inside: bool) -> None:
    resolve: Any = {place.conflict.key: box.value} if inside else box.value
    held(place.graph, lambda: place.graph.merge("theirs", resolve=resolve, dry_run=True))


@tries()
@given(box=BOXES, inside=st.booleans())
def test_options_of_the_store(place: Place, box: Box, inside: bool) -> None:
    held(place.graph, lambda: og.open(place.folder / "all", storage_options={"x": box.value} if inside else box.value))  # type: ignore[arg-type,dict-item]


@tries()
@given(box=BOXES, text=st.text(max_size=30))
@example(box=Box(None), text="query")
def test_texts_of_queries(place: Place, box: Box, text: str) -> None:
    held(place.graph, lambda: place.graph.query(box.value))  # type: ignore[arg-type]
    held(place.graph, lambda: place.graph.query(f"query q() {{ match {{ $a: All {{ name: {text} }} }} return {{ $a.name }} }}"))
    held(place.graph, lambda: place.graph.plan_schema(f"node A {{ k: String @key {text} }}"))


def _places() -> list[tuple[Any, str]]:
    return [(f, p) for f in public() if f not in FREE for p in getattr(f, GUARDED)]


@tries(4)
@given(box=BOXES, where=st.sampled_from(_places()))
def test_every_argument(world: World, box: Box, where: tuple[Any, str]) -> None:
    function, parameter = where
    call, good = world.call(function)
    held(world.graph, lambda: call(**{**good, parameter: box.value}), theirs=parameter in CALLED_BACK)


def test_both_graphs_are_as_good_as_before(place: Place, world: World) -> None:
    for folder in (place.folder / "all", world.folder / "g"):
        again = og.open(folder, read_only=True)
        assert again.verify(deep=True).ok
        for branch in again.branches.list():
            again.commits(branch)
