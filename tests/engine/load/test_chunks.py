"""A load in chunks gives what a load in one go gives, however it is cut and in whatever order the parts are read."""

from __future__ import annotations

import io
import pickle
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from tests.engine.load.dirty import FORMS, Rows, broken, check_agreement, rows
from tests.engine.load.loading import EVERYTHING, comparable, graph, said, without_made_up, written

import omnigraph as og
from omnigraph.engine.load.check.questions import ask_here, bucket_of
from omnigraph.engine.load.read.inputs.sources import inputs_of
from omnigraph.engine.load.read.json_lines.lines import Split, line_blocks
from omnigraph.engine.load.read.parallel import chunks
from omnigraph.engine.load.read.parallel.chunks import Chunk, Cut, Lines, Work, cuts_of, read_chunk
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.run import request
from omnigraph.engine.load.run.chunked import Checks, by_suspects, in_memory, run_chunked
from omnigraph.engine.load.run.progress import ProgressReporter
from omnigraph.engine.load.run.request import Dialect, Engine, Request, chosen_engine
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.storage.commits.leases import Held


@given(
    st.lists(st.sampled_from([b"", b"a", b"bb", b"ccc" * 9]), max_size=12),
    st.lists(st.integers(1, 60), max_size=5),
    st.booleans(),
)
def test_splits_that_follow_one_another_give_every_line_once(lines: list[bytes], cuts: list[int], ends: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if ends else b"")
    edges = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    found, at = [], 0
    for start, end in pairwise(edges):
        split = Split(io.BytesIO(data), start, end)
        part = b""
        while block := split.read(7):
            part += block
        assert not part or start <= at < end, "a line belongs to the split in which it starts"
        at += len(part)
        found.append(part)
    assert b"".join(found) == data


@given(st.lists(st.lists(st.integers(1, 2**40), max_size=20), max_size=4))
def test_packed_lines_are_unpacked(parts: list[list[int]]) -> None:
    arrays = [np.array(p, np.int64) for p in parts]
    assert Lines.of(arrays).numbers().tolist() == [n for p in parts for n in p]
    assert Lines.of([np.arange(5, 2000)]).steps is None


class InChunks:
    """A runner that reads cuts in any order, some of them twice, with everything pickled on the way."""

    def __init__(self, parallel: int, seed: int = 1, checks: Checks = in_memory) -> None:
        self._parallel, self._random, self._checks = parallel, random.Random(seed), checks

    def __call__(self, workspace: Workspace, view: View, asked: Request) -> LoadResult:
        return run_chunked(workspace, view, asked, self.read, self._checks)

    def read(self, work: Work, asked: Request, told: ProgressReporter, lease: Held) -> tuple[Sequence[Cut], Sequence[Chunk]]:
        cuts = cuts_of(asked.inputs, self._parallel)
        order = [*range(len(cuts)), *self._random.sample(range(len(cuts)), len(cuts) // 3)]
        self._random.shuffle(order)
        found: dict[int, Chunk] = {}
        for number in order:
            sent = pickle.dumps((work, cuts[number])) if cuts[number].input.is_file else None
            there = (work, cuts[number]) if sent is None else pickle.loads(sent)
            if number not in found or sent is not None:
                found[number] = pickle.loads(pickle.dumps(read_chunk(*there)))
        return cuts, [found[number] for number in range(len(cuts))]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of everything, to be copied: a graph's files hold no path."""
    folder = tmp_path_factory.mktemp("empty")
    graph(folder, EVERYTHING)
    return folder / "graph-0"


def copied(original: Path, to: Path) -> og.Graph:
    return og.open(shutil.copytree(original, to), durability="os")


record = st.one_of(
    st.builds(
        lambda n, i, u: {"type": "Thing", "data": {"name": f"t{n}", "i32": i, "i64": u}},
        st.integers(0, 9),
        st.integers(-120, 120),
        st.none() | st.integers(0, 30),
    ),
    st.builds(
        lambda n, t: {"type": "Plain", "data": {"id": f"p{n}", "note": t}}, st.integers(0, 9), st.sampled_from(["x", "y", None])
    ),
    st.builds(lambda a, b: {"edge": "Near", "from": f"t{a}", "to": f"t{b}"}, st.integers(0, 11), st.integers(0, 11)),
    st.builds(lambda a, b: {"edge": "Owns", "from": f"t{a}", "to": f"p{b}"}, st.integers(0, 9), st.integers(0, 9)),
    st.sampled_from(
        ["", "   ", "nonsense", '{"type": "Thing"', '{"type": "Thang", "data": {}}', '{"edge": "Near", "from": 1, "to": "t1"}']
    ),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    before=st.lists(record, max_size=6),
    files=st.lists(st.lists(record, max_size=14), min_size=1, max_size=3),
    mode=st.sampled_from(["merge", "append", "overwrite", "update", "patch"]),
    size=st.integers(1, 300),
)
def test_chunks_and_threads_agree(
    tmp_path_factory: pytest.TempPathFactory, empty: Path, before: list[object], files: list[list[object]], mode: str, size: int
) -> None:
    folder = tmp_path_factory.mktemp("agree")
    one = copied(empty, folder / "one")
    said(one, written(folder / "before.jsonl", [r for r in before if not isinstance(r, str)]), "local")
    other = copied(folder / "one", folder / "other")
    paths = [written(folder / f"{n}.jsonl", records) for n, records in enumerate(files)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chunks, "LEAST_CUT", size)
        there = said(other, paths, InChunks(10**9), mode=mode)
    assert there == said(one, paths, "local", mode=mode)
    assert comparable(one) == comparable(other)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=10, deadline=None)
@given(before=rows, loaded=rows, broken=broken, mode=st.sampled_from(["merge", "append", "overwrite", "update", "patch"]))
def test_chunks_and_threads_agree_on_every_form(
    tmp_path_factory: pytest.TempPathFactory, form: str, before: Rows, loaded: Rows, broken: list[str], mode: str
) -> None:
    """Also on what is left out and written down beside."""
    folder = tmp_path_factory.mktemp("forms")
    source = FORMS[form](folder, loaded, broken)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chunks, "LEAST_CUT", 100)
        check_agreement(folder, before, source, source, InChunks(10**9), mode)


RELATED = """
node A { name: String @key  code: I64? @unique }
node B { note: String  tag: String?  kind: F32?  @unique(tag, kind) }
edge Knows: A -> A
edge Owns: A -> B @card(1..2) { rank: I32? @unique }
"""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of things that are related, with a few nodes."""
    folder = tmp_path_factory.mktemp("started")
    nodes = [{"type": "A", "data": {"name": f"a{n}"}} for n in range(3)] + [
        {"type": "B", "data": {"id": f"b{n}", "note": "n"}} for n in range(3)
    ]
    graph(folder, RELATED).load(nodes, engine="local")
    return folder / "graph-0"


TWICE: list[object] = [{"edge": "Owns", "from": "a1", "to": "b0", "data": data} for data in ({}, {"id": "o1"}, {"id": "o1"})]
"""An id given twice is a mistake, and both rows count."""

few = st.integers(0, 4)
related = st.one_of(
    st.builds(lambda n, c: {"type": "A", "data": {"name": f"a{n}", "code": c}}, few, st.none() | few),
    st.builds(
        lambda n, t, k, x: {"type": "B", "data": {"id": f"b{n}", "note": x, "tag": t, "kind": k}},
        few,
        st.sampled_from([None, "x", "y"]),
        st.sampled_from([None, 0.0, -0.0, 1.5]),
        st.sampled_from(["n", "n", "n", None]),
    ),
    st.builds(
        lambda a, b, i: {"edge": "Knows", "from": f"a{a}", "to": f"a{b}", "data": i},
        few,
        few,
        st.sampled_from([{}, {"id": "k1"}, {"id": "k2"}]),
    ),
    st.builds(
        lambda a, b, i, r: {"edge": "Owns", "from": f"a{a}", "to": f"b{b}", "data": {**i, "rank": r}},
        few,
        few,
        st.sampled_from([{}, {"id": "o1"}, {"id": "o2"}, {"id": "o3"}]),
        st.none() | few,
    ),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, phases=[Phase.explicit, Phase.generate])
@example(before=[], loaded=TWICE, mode="append", buckets=1)
@given(
    before=st.lists(related, max_size=6),
    loaded=st.lists(related, min_size=1, max_size=14),
    mode=st.sampled_from(["merge", "append", "overwrite", "update", "patch"]),
    buckets=st.integers(1, 3),
)
def test_rules_asked_about_suspects_say_what_rules_asked_about_everything_say(
    tmp_path_factory: pytest.TempPathFactory, started: Path, before: list[object], loaded: list[object], mode: str, buckets: int
) -> None:
    folder = tmp_path_factory.mktemp("suspects")
    one = copied(started, folder / "one")
    for item in before:
        said(one, [item], "local")
    other = copied(folder / "one", folder / "other")
    path = written(folder / "loaded.jsonl", loaded)
    asking = by_suspects(partial(ask_here, buckets=buckets))
    there = said(other, path, InChunks(1, checks=asking), mode=mode)
    assert without_made_up(there) == without_made_up(said(one, path, "local", mode=mode))
    assert comparable(one) == comparable(other)


@given(st.lists(st.text(max_size=20)), st.integers(1, 7), st.integers(0, 5))
def test_equal_values_fall_into_equal_buckets(values: list[str], buckets: int, skipped: int) -> None:
    array = pa.array([*values, *values], pa.string())
    found = bucket_of(array, buckets).tolist()
    assert found[: len(values)] == found[len(values) :]
    assert all(0 <= b < buckets for b in found)
    assert bucket_of(array[skipped:], buckets).tolist() == found[skipped:]


def test_parquet_is_cut_by_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LEAST_CUT", 1)
    names = [f"t{n}" for n in range(40)]
    ages = [n if n != 33 else 1000 for n in range(40)]
    pq.write_table(pa.table({"name": names, "i32": ages}), tmp_path / "Thing.parquet", row_group_size=7)
    g = graph(tmp_path, EVERYTHING)
    found = said(g, tmp_path / "Thing.parquet", InChunks(10**9))
    assert [(line, rule) for rule, *_, line, _ in found] == [(34, "range")]
    assert found == said(g, tmp_path / "Thing.parquet", "local")


def test_lines_are_counted_across_chunks_of_a_split(tmp_path: Path) -> None:
    data = b"".join(b'{"type": "Plain", "data": {"note": "%d"}}\n' % n for n in range(3000))
    middle = len(data) // 2
    first = sum(c.line_count for c in line_blocks(Split(io.BytesIO(data), 0, middle), "f", size=100))
    second = sum(c.line_count for c in line_blocks(Split(io.BytesIO(data), middle, len(data)), "f", size=100))
    assert first + second == 3000


def test_who_runs_a_load_follows_from_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = graph(tmp_path, EVERYTHING)._view()
    path = written(tmp_path / "a.jsonl", ["{}"] * 100)

    def who(source: object, engine: str = "auto", dialect: Dialect = Dialect.STRICT) -> Engine:
        return chosen_engine(engine, Request(inputs_of(source, view.catalog).inputs, "main", Mode.MERGE, dialect=dialect))

    assert who(path) is Engine.LOCAL
    assert who(path, "spark") is Engine.SPARK
    monkeypatch.setattr(request, "SPARK_BYTES", path.stat().st_size)
    assert who(path) is Engine.SPARK
    assert who(path, "local") is Engine.LOCAL
    assert who(path, dialect=Dialect.COMPATIBLE) is Engine.LOCAL
    assert who([{"type": "Plain"}]) is Engine.LOCAL
    monkeypatch.setattr(request, "is_installed", lambda engine: False)
    assert who(path) is Engine.LOCAL


def test_the_package_loads_without_spark_installed(tmp_path: Path) -> None:
    """`import omnigraph` and a small load touch nothing of Spark; asking for it says what is missing."""
    path = written(tmp_path / "a.jsonl", [{"type": "Plain", "data": {"note": "x"}}])
    code = f"""
import sys
sys.modules["pyspark"] = None  # as if it were not installed
import omnigraph as og
g = og.init({str(tmp_path / "g")!r}, schema="node Plain {{ note: String }}")
g.load({str(path)!r})
try:
    g.load({str(path)!r}, engine="spark")
except (og.SparkUnavailable, ValueError) as error:
    print(type(error).__name__, "py4j" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["SparkUnavailable", "False"], ran.stderr
