"""`timeout`, `memory_limit` and `cancel` are kept, by a table of queries that would take all there is (`hostile_queries`)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.engine import hostile_queries as hostile

import omnigraph
from omnigraph.engine.execution import budget
from omnigraph.engine.execution.budget import Budget
from omnigraph.engine.snapshot.edges import Edges
from omnigraph.engine.snapshot.nodes import Nodes
from omnigraph.engine.snapshot.stored import Stored
from omnigraph.errors import ParseError, QueryCancelled, QueryError, ResourceLimit

ROOT = Path(__file__).parent.parent.parent
SECONDS = 0.4
MEMORY = 20_000_000
BESIDE = 64_000_000
"""What a query may take beside its memory: the text of the query, Arrow's and numpy's own, what the interpreter keeps."""
LATE = 0.35
"""Seconds a query may take longer, by the clock of the process or by that on the wall: other processes want their turn, too.
On a slower machine it is as much longer as a fixed piece of work takes there (`hostile.slowness`)."""
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured by /proc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("limits") / "g"
    hostile.make(made)
    return made


def outcomes(folder: Path, seconds: str, memory: str) -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-m", "tests.engine.hostile_queries", str(folder), seconds, memory]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    found = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0, f"died after {list(found)[-1:]}: {done.stderr[-2000:]}"
    assert set(found) == set(hostile.QUERIES)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "memory"), [(str(SECONDS), "-"), (str(SECONDS), str(MEMORY))], ids=["time", "time and memory"]
)
def test_hostile_queries_stay_within_their_limits(folder: Path, seconds: str, memory: str) -> None:
    wrong = []
    for name, found in outcomes(folder, seconds, memory).items():
        if found["outcome"].startswith("raw"):
            wrong.append(f"{name}: {found['outcome']}")
        if min(found["wall"], found["cpu"]) > SECONDS + LATE * found["slowness"]:
            wrong.append(f"{name}: {found['wall']:.2f} s ({found['cpu']:.2f} s of work): {found['outcome']}")
        if found["unseen"] > hostile.UNSEEN:
            wrong.append(f"{name}: did not look at the clock for {found['unseen']:.3f} s: {found['between']}")
        if memory != "-" and found["growth"] > MEMORY + BESIDE:
            wrong.append(f"{name}: grew by {found['growth'] / 1e6:.0f} MB: {found['outcome']}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_random_hostile_queries_stay_within_their_limits(folder: Path) -> None:
    command = [sys.executable, "-m", "tests.engine.hostile_random", str(folder), "0", "200", "0.1", str(MEMORY)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"died after {found[-1:]}: {done.stderr[-2000:]}"
    wrong = []
    for one in found:
        what = f"{one['seed']}: {one['wall']:.2f} s ({one['cpu']:.2f} s of work), {one['growth'] / 1e6:.0f} MB: {one['outcome']}"
        known = one["outcome"].endswith(" rows") or one["outcome"].startswith(("ResourceLimit", "QueryError"))
        late = min(one["wall"], one["cpu"]) > 0.1 + LATE * one["slowness"]
        if one["unseen"] > hostile.UNSEEN:
            wrong.append(f"{what}\n    did not look at the clock for {one['unseen']:.3f} s: {one['between']}")
        if not known or late or one["growth"] > MEMORY + BESIDE:
            wrong.append(f"{what}\n    {one['query']}")
    assert not wrong, "\n".join(wrong)
    assert len(found) == 200
    assert sum(one["outcome"].startswith("ResourceLimit") for one in found) > 100  # they do explode


@pytest.mark.parametrize(
    "text", ["$a e $b $b e $c } return { count($c) as c }", "$a $x:e $b } return { count(distinct $b.n) as c }"]
)
def test_edges_that_are_read_for_the_first_time_are_not_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    release = threading.Event()
    for name in ("adjacency", "edge_lists", "ends"):
        read = getattr(Edges, name)
        monkeypatch.setattr(Edges, name, lambda *given, read=read: (release.wait(10), read(*given))[1])
    monkeypatch.setattr(budget, "LONG_ROWS", 1_000)
    graph = omnigraph.open(folder)
    started = time.perf_counter()
    with pytest.raises(ResourceLimit, match="it was in reading the edges of E"):
        graph.query(hostile.read(f"match {{ $a: N {text}"), timeout=1)
    assert time.perf_counter() - started < 8
    release.set()


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("all", "$a: N $a.n > 5 } return { count($a) as c }"),
        ("number", '$a: N { k: "k0001" } $a e $b } return { $b.n }'),
        ("column", "$a: N $a.n > 5 } return { count($a) as c }"),
        ("values", '$a: N { k: "k0001" } $a e $b } return { $b.s }'),
        ("values", "$a: N $a $x:e $b } return { $x.x }"),
    ],
)
def test_nodes_and_properties_that_are_read_for_the_first_time_are_not_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, method: str, text: str
) -> None:
    release = threading.Event()
    owner: Any = {"column": Stored, "values": Stored}.get(method, Nodes)
    read = getattr(owner, method)
    monkeypatch.setattr(owner, method, lambda *given: (release.wait(10), read(*given))[1])
    monkeypatch.setattr(budget, "LONG_ROWS", 1_000)
    graph = omnigraph.open(folder)
    started = time.perf_counter()
    with pytest.raises(ResourceLimit, match=r"it was in reading the (nodes|edges) of "):
        graph.query(hostile.read(f"match {{ {text}"), timeout=1)
    assert time.perf_counter() - started < 8
    release.set()


def test_lists_and_vectors_have_no_order(folder: Path) -> None:
    graph = omnigraph.open(folder)
    for text in (
        "return { $a.k } order { $a.t }",
        "return distinct { $a.t } order { $a.t }",
        "return { $a.k, $a.v as v } order { v }",
    ):
        with pytest.raises(QueryError, match="lists and vectors have no order"):
            graph.query(hostile.read(f"match {{ $a: N }} {text}"))


@pytest.mark.parametrize("name", ["pairs", "pairs in order", "distinct pairs", "groups of pairs", "walks", "one of many"])
def test_the_operator_that_grew_is_named(folder: Path, name: str) -> None:
    graph = omnigraph.open(folder)
    params = {"l": [f"text {number}" for number in range(hostile.MANY)]} if name == "one of many" else None
    with pytest.raises(ResourceLimit, match=r"needs \d+(\.\d+)? MB, the query may use 5 MB"):
        graph.query(hostile.QUERIES[name], params, memory_limit=5_000_000)


@pytest.mark.parametrize("limit", [{"memory_limit": 2_000_000}, {"timeout": 0.02}], ids=["memory", "time"])
@pytest.mark.parametrize("kind", ["String", "I64", "Date"])
def test_long_lists_are_read_within_the_limits(folder: Path, kind: str, limit: dict[str, Any]) -> None:
    graph = omnigraph.open(folder)
    question = hostile.read("match { $a: N } return { $a.k } order { $a.k } limit 1", f"$l: [{kind}]?")
    given = {"String": "x", "I64": 7, "Date": "2024-02-29"}[kind]
    where = "reading parameters" if "memory_limit" in limit else "ran longer than 0.02 s; it was in (reading|planning)"
    with pytest.raises(ResourceLimit, match=where):
        graph.query(question, {"l": [given] * hostile.MANY}, **limit)
    assert len(graph.query(question, {"l": [given] * 9_000}, memory_limit=2_000_000)) == 1


@pytest.mark.parametrize("name", ["triples counted", "walks of walks", "texts in texts"])
def test_a_query_is_cancelled_from_another_thread(folder: Path, name: str) -> None:
    graph = omnigraph.open(folder)
    cancel = threading.Event()
    asked = threading.Timer(0.3, cancel.set)
    asked.start()
    started = time.process_time()
    with pytest.raises(QueryCancelled):
        graph.query(hostile.QUERIES[name], cancel=cancel, timeout=60)
    assert time.process_time() - started < 0.3 + 2 * LATE


def test_a_stream_keeps_its_limits_and_needs_no_memory_for_what_it_handed_out(folder: Path) -> None:
    graph = omnigraph.open(folder)
    rows = sum(batch.num_rows for batch in graph.stream(hostile.QUERIES["ids of pairs"], memory_limit=MEMORY))
    assert rows == hostile.NODES**2
    with pytest.raises(ResourceLimit, match="ran longer than"):
        for _ in graph.stream(hostile.QUERIES["triples"], timeout=0.2):
            pass


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("3,000 variables", "more than 400 clauses"),
        ("3,000 hops", "more than 400 clauses"),
        ("100,000 clauses", "more than 400 clauses"),
        ("100,000 alternatives", "more than 10,000 comparisons"),
        ("a long list", "more than 100,000 values in lists"),
    ],
)
def test_a_query_that_is_too_large_is_refused_as_it_is_read(folder: Path, name: str, what: str) -> None:
    with pytest.raises(ParseError, match=what) as caught:
        omnigraph.open(folder).query(hostile.QUERIES[name])
    assert caught.value.to_dict()["diagnostics"][0]["code"] == "size-limit"  # type: ignore[index]


@pytest.mark.parametrize(
    "limits", [{"memory_limit": 1 << 27}, {"timeout": 60.0}, {"cancel": threading.Event()}], ids=["memory", "time", "cancel"]
)
def test_limits_that_are_not_reached_change_no_answer(folder: Path, limits: dict[str, Any]) -> None:
    graph = omnigraph.open(folder)
    for text in (
        "match { $a: N $a $x:e $b $b.n < 40 } return { $a.k, $x.x, $b.k } order { $x.x desc, $a.k, $b.k } limit 50 offset 7",
        "match { $a: N $a.n < 30 $a e{2,3} $b } return { $a.k, count($b) as c, max($b.s) as s }",
        "match { $a: N $b: N $a.n < 9 optional { $a e $c $c.n > $b.n } } return { $a.m, count($c) as c, count(distinct $b.s) as d }",
        "match { $a: N $a.n < 99 $a e $b $b e $c } return distinct { $c.m, $a.m }",
        'match { $a: N $a e $b } return { $b.k } order { bm25($b.w, "wolf lamp") asc } limit 20',
    ):
        question = hostile.read(text)
        assert graph.query(question, **limits).rows == graph.query(question).rows, text


def test_a_long_step_is_left_behind_when_time_is_up() -> None:
    budget = Budget(0.1)
    release = threading.Event()
    with pytest.raises(ResourceLimit, match="it was in sorting"):
        budget.aside(lambda: release.wait(5), 1 << 20, "sorting")
    release.set()
    assert Budget(5).aside(lambda: 7, 1 << 20, "sorting") == 7
    with pytest.raises(ZeroDivisionError):
        Budget(5).aside(lambda: 1 // 0, 1 << 20, "sorting")


def test_a_step_that_was_left_behind_does_not_take_the_process_down() -> None:
    script = """
import pyarrow as pa, pyarrow.compute as pc
from omnigraph.engine.execution.budget import Budget
from omnigraph.errors import ResourceLimit
texts = pc.cast(pa.array(range(1_500_000)), pa.string())
try:
    Budget(0.03).aside(lambda: [pc.rank(texts) for _ in range(2)], 1 << 20, "sorting")
except ResourceLimit:
    print("left behind")
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "left behind\n"), done.stderr


@pytest.mark.parametrize(
    ("allowed", "needed", "said"),
    [
        (100, 4_000, "needs 4 kB, the query may use 100 bytes"),
        (200_000, 1_400_000, "needs 1 MB, the query may use 200 kB"),
        (10_000_000, 10_400_000, "needs 10.4 MB, the query may use 10 MB"),
        (10_000_000, 10_000_001, "needs 10,000,001 bytes, the query may use 10,000,000 bytes"),
        (2_000_000_000, 35_000_000_000, "needs 35 GB, the query may use 2 GB"),
    ],
)
def test_sizes_are_told_so_that_the_larger_one_is(allowed: int, needed: int, said: str) -> None:
    with pytest.raises(ResourceLimit, match=f"(?m)grouping {said}$"):
        Budget(memory=allowed).hold(needed, "grouping")
