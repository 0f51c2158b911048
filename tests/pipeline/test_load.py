"""A load by Spark gives what a load by this process gives: the same graph, the same violations, the same commit."""

from __future__ import annotations

import datetime
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.engine.load.loading import EVERYTHING, comparable, counts, graph, said, written
from tests.engine.load.test_quarantine import FORMS, NEAR, THINGS, check_report, told
from tests.storage.s3 import BUCKET, server

import omnigraph as og
from omnigraph import spark as ogs
from omnigraph.engine.load.read.parallel import chunks as chunks
from omnigraph.engine.load.run import chunked as chunked
from omnigraph.engine.load.run.progress import Progress, Stage
from omnigraph.pipeline.load import load, on
from omnigraph.pipeline.report import report
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.tables import small_changes
from omnigraph.storage.tables.changes import Applied, Change, TableState, Upsert
from omnigraph.storage.tables.table import Table

pytestmark = pytest.mark.slow

MODES = ("merge", "append", "overwrite")


def records(count: int, seed: int, dirty: float = 0.0) -> Iterator[object]:
    """Nodes and edges of all kinds, mixed; some of them wrong in all ways there are."""
    rng = random.Random(seed)
    wrong: list[Any] = [
        "nonsense",
        '{"type": "Thing", "data": {"name": "x"}',
        {"type": "Thing", "data": {"name": "t1"}},
        {"type": "Thing", "data": {"name": "new", "i32": 1000}},
        {"type": "Thing", "data": {"name": "new2", "i64": 7, "text": "no!"}},
        {"type": "Thing", "data": {"name": "new3", "u32": "12"}},
        {"type": "Plain", "data": {}},
        {"type": "Nothing", "data": {}},
        {"edge": "Near", "from": "t0", "to": "nobody"},
        {"edge": "Near", "from": "t0", "to": "new3"},
        {"edge": "Owns", "from": "t3", "to": "p3"},
        {"edge": "Near", "to": "t0"},
    ]
    for n in range(count):
        if rng.random() < dirty:
            yield rng.choice(wrong)
        yield {
            "type": "Thing",
            "data": {"name": f"t{n}", "i64": n, "day": "2024-02-29", "vector": [n, 0.5, -1], "words": ["a", str(n)]},
        }
        if n % 3 == 0:
            yield {"type": "Plain", "data": {"id": f"p{n}", "note": "ä" * (n % 5)}}
            yield {"edge": "Owns", "from": f"t{n}", "to": f"p{n}"}
        yield {"edge": "Near", "from": f"t{rng.randrange(count)}", "to": f"t{rng.randrange(count)}", "data": {"weight": n / 4}}


def about(commit: Commit) -> object:
    """What a commit says, without what differs by nature: ids, moments, pins."""
    changes = [(c.table, c.added, c.removed) for c in commit.changes]
    return commit.op_class, commit.operation, commit.actor, commit.message, commit.branch, sorted(changes)


def last(g: og.Graph, branch: str = "main") -> Commit:
    return next(c for c in g.commits(branch=branch) if c.op_class is OpClass.LOGICAL)


@pytest.fixture
def small_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LEAST_CUT", 10_000)


@pytest.mark.usefixtures("small_cuts")
def test_files_of_every_kind_in_every_mode(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [json.dumps(r) + "\n" for r in records(120, 1)]
    (folder / "a.jsonl").write_text("".join(lines[:90]))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("".join(lines[90:]).encode()))
    (folder / "Counted.csv").write_text("number\n" + "".join(f"{n}\n" for n in range(50)))
    (folder / "edges.csv").write_text("from,to\n" + "".join(f"{n},{n + 1}\n" for n in range(49)))
    pairs = pa.table({"number": pa.array(range(80), pa.int32()), "tenant": [f"x{n % 7}" for n in range(80)]})
    pq.write_table(pairs, folder / "Pair.parquet", row_group_size=30)
    here, there = graph(tmp_path, EVERYTHING), graph(tmp_path, EVERYTHING)
    told: list[Progress] = []
    for mode in MODES:
        options: Any = {"mode": mode, "actor": "etl", "message": f"by {mode}", "types": {"edges.csv": "Counts"}}
        branch = {"branch": "in/append", "from_": "main"} if mode == "append" else {}
        if mode == "append":
            assert said(there, str(folder / "*"), on(spark), **options, **branch) == said(
                here, str(folder / "*"), "local", **options, **branch
            )
            continue
        first = here.load(str(folder / "*"), engine="local", **options)
        checks: Any = {"merge": "tasks", "overwrite": "joins"}[mode]
        second = there.load(str(folder / "*"), engine=on(spark, checks), progress=told.append, **options)
        assert (first.nodes_loaded, first.edges_loaded) == (second.nodes_loaded, second.edges_loaded)
        assert comparable(here) == comparable(there)
        assert about(last(here)) == about(last(there))
    assert {p.stage for p in told} == set(Stage)
    assert told[-1].rows == sum(counts(there).values())
    assert there.verify(deep=True).problems == ()


@pytest.mark.usefixtures("small_cuts")
@pytest.mark.parametrize("mode", MODES)
def test_dirty_files_are_refused_in_the_same_words(spark: SparkSession, tmp_path: Path, mode: Any) -> None:
    """By Spark as by threads, and whoever asks the rules about sets of rows: driver, tasks or joins."""
    here, there = graph(tmp_path, EVERYTHING), graph(tmp_path, EVERYTHING)
    first = written(tmp_path / "first.jsonl", records(40, 3))
    for g in (here, there):
        g.load(first)
    paths = [written(tmp_path / f"{n}.jsonl", records(150, n, dirty=0.1)) for n in range(2)]
    (tmp_path / "Measured.csv").write_text("size\n1.5\n1,2\nx\n\n2.5\n2.5\n")
    bad = [*paths, tmp_path / "Measured.csv"]
    before = last(there)
    found = said(there, bad, on(spark), mode=mode)
    assert found == said(here, bad, "local", mode=mode)
    assert found == said(there, bad, on(spark, "tasks"), mode=mode)
    assert found == said(there, bad, on(spark, "joins"), mode=mode)
    assert {"json", "range", "check", "type", "required", "unknown_type", "endpoint", "cardinality", "unique", "csv"} <= {
        v[0] for v in found
    }
    assert last(there) == before
    assert there.branches.list() == ["main"]


def test_frames_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    moment = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)
    things = spark.range(0, 100, 1, 3).selectExpr(
        "concat('t', id) as name", "id as i64", "cast(id as int) % 100 as i32", "array(cast(id as float), 0.5f, 1f) as vector",
        "timestamp'2024-05-01 12:00:00' as moment", "date'2024-05-01' as day", "array('a', cast(id as string)) as words",
        "cast('x' as binary) as blob", "cast(id as decimal(20,0)) as u64",
    )  # fmt: skip
    near = spark.range(0, 99).selectExpr("concat('t', id) as `from`", "concat('t', id + 1) as `to`", "id / 2.0D as weight")
    result = load(g, {"Thing": things, "Near": near, "Plain": [{"note": "here"}]}, branch="etl/nightly", from_="main")
    assert result.branch_created
    assert (result.nodes_loaded, result.edges_loaded) == ({"Thing": 100, "Plain": 1}, {"Near": 99})
    row = g.query(
        'query q() { match { $t: Thing { name: "t7" } } return { $t.i64 as i, $t.moment as m, $t.words as w, $t.u64 as u, $t.vector as v } }',
        branch="etl/nightly",
    ).rows[0]
    assert row == {"i": 7, "m": moment, "w": ["a", "7"], "u": 7, "v": [7.0, 0.5, 1.0]}
    bad = things.selectExpr("name", "case when name = 't42' then 1000 else 1 end as i32", "i64 % 50 as i64")
    with pytest.raises(og.ValidationError) as raised:
        load(g, {"Thing": bad})
    rules = [(v.rule, v.line) for v in raised.value.violations]
    assert ("range", 43) in rules
    assert len([rule for rule, _ in rules if rule == "unique"]) == 50
    assert counts(g) == {}
    with pytest.raises(og.ValidationError, match="column `name` is missing"):
        load(g, {"Thing": things.drop("name")})
    renamed = things.withColumnRenamed("name", "nam")
    found = said(g, {"Thing": renamed}, on(spark))
    assert [(v[0], v[2], v[6]) for v in found] == [("unknown_property", "nam", None), ("required", "name", None)]
    assert found == said(g, {"Thing": renamed.toArrow()}, "local")
    twice = things.selectExpr("name", "i32", "i32 as i32", "map('a', 1) as text").limit(2)
    alike = pa.table([["t0", "t1"], [0, 1], [0, 1], [{"a": 1}] * 2], names=["name", "i32", "i32", "text"])
    found = said(g, {"Thing": twice}, on(spark))
    assert [v[-1] for v in found] == ["column `i32` is there 2 times"]
    assert found == said(g, {"Thing": alike}, "local")


def test_object_stores(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LEAST_CUT", 10_000)
    with server() as s3:
        import boto3

        client = boto3.client(
            "s3", endpoint_url=s3.endpoint, aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
        )
        lines = [json.dumps(r) + "\n" for r in records(60, 5)]
        client.put_object(Bucket=BUCKET, Key="day/a.jsonl", Body="".join(lines[:100]).encode())
        client.put_object(Bucket=BUCKET, Key="day/b.jsonl.gz", Body=gzip.compress("".join(lines[100:]).encode()))
        client.put_object(Bucket=BUCKET, Key="day/Counted.csv", Body=b"number\n1\n2\n")
        pq.write_table(pa.table({"number": pa.array([1, 2], pa.int32()), "tenant": ["a", "b"]}), tmp_path / "Pair.parquet")
        client.put_object(Bucket=BUCKET, Key="day/Pair.parquet", Body=(tmp_path / "Pair.parquet").read_bytes())
        here = og.init(f"s3://{BUCKET}/here", schema=EVERYTHING, storage_options=s3.options)
        there = og.init(f"s3://{BUCKET}/there", schema=EVERYTHING, storage_options=s3.options)
        here.load(f"s3://{BUCKET}/day", engine="local")
        there.load(
            [f"s3://{BUCKET}/day/*.jsonl*", f"s3://{BUCKET}/day/Counted.csv", f"s3://{BUCKET}/day/Pair.parquet"], engine=on(spark)
        )
        assert comparable(here) == comparable(there)
        assert counts(there)["Counted"] == 2
        with pytest.raises(og.NotFound, match="no file"):
            there.load(f"s3://{BUCKET}/night.jsonl", engine=on(spark))

        # Nobody finds this server through the environment: whoever reads or writes was given the options.
        options = {"graph": there._store.place.uri, **{f"storage.{name}": value for name, value in s3.options.items()}}
        frame = spark.createDataFrame([(3, "c"), (4, "d")], "number int, tenant string")
        frame.write.format("omnigraph").options(**options).option("type", "Pair").mode("append").save()
        pairs = spark.read.format("omnigraph").options(**options).option("type", "Pair").load()
        assert sorted((r.number, r.tenant) for r in pairs.collect()) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
        assert ogs.table(there, "Thing", spark=spark).count() == 60
        assert ogs.changes(there, types="Pair", spark=spark).frame.count() == 4
        sink = ogs.sink(there, "Pair", name="pairs")
        assert sink.write(frame.selectExpr("number + 10 as number", "tenant"), 0) is not None
        assert sink.write(frame, 0) is None
        bad = f"s3://{BUCKET}/bad"
        counted = [{"type": "Counted", "data": {"number": n}} for n in (7, "x")]
        client.put_object(Bucket=BUCKET, Key="night/a.jsonl", Body="".join(json.dumps(c) + "\n" for c in counted).encode())
        result = load(there, f"s3://{BUCKET}/night", spark=spark, quarantine=bad)
        assert result.quarantined == 1
        (written_down,) = client.list_objects_v2(Bucket=BUCKET, Prefix="bad/")["Contents"]
        assert result.quarantine == f"s3://{BUCKET}/{written_down['Key']}"
        told_of = json.loads(client.get_object(Bucket=BUCKET, Key=written_down["Key"])["Body"].read())
        assert (told_of["line"], told_of["record"]) == (2, counted[1])
        assert ogs.export(there, f"s3://{BUCKET}/out", spark=spark).entities == sum(counts(there).values())
        assert counts(there) == counts(here) | {"Pair": 6, "Counted": 3}


def test_what_is_wrong_is_a_data_frame(spark: SparkSession, tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    path = written(tmp_path / "bad.jsonl", records(60, 2, dirty=0.2))
    with pytest.raises(og.ValidationError) as raised:
        load(g, path, spark=spark)
    frame = report(raised.value, spark)
    assert frame.count() == len(raised.value.violations)
    counted = {row["rule"]: row["count"] for row in frame.groupBy("rule").count().collect()}
    kinds = ", ".join(f"{rule} {number}" for rule, number in sorted(counted.items()))
    assert str(raised.value).splitlines()[0] == f"{frame.count()} violations ({kinds})"
    first = frame.orderBy("line").first()
    assert first is not None
    assert (first["file"], first["line"] > 0) == (str(path), True)


@pytest.mark.usefixtures("small_cuts")
def test_quarantine_loads_the_good_and_writes_the_bad_beside(spark: SparkSession, tmp_path: Path) -> None:
    g, clean = graph(tmp_path, EVERYTHING), graph(tmp_path, EVERYTHING)
    good = [*records(60, 2)]
    bad: list[Any] = [
        "nonsense",
        {"type": "Thing", "data": {"name": "bad1", "i32": 1000}},
        {"type": "Plain", "data": {"id": "bad2"}},
        {"edge": "Near", "from": "t0", "to": "bad1"},
        {"edge": "Owns", "from": "t3", "to": "p3"},
        {"type": "Thing", "data": {"name": "t1"}},
        {"type": "Thing", "data": {"name": "bad3", "i64": 7}},
        {"edge": "Near", "from": "bad3", "to": "t0"},
    ]
    path = written(tmp_path / "mixed.jsonl", [*good, *bad])
    result = load(g, path, spark=spark, mode="append", quarantine=tmp_path / "bad")
    clean.load(good, mode="append")
    assert comparable(g) == comparable(clean)
    assert result.quarantined == len(bad)
    assert last(g).operation == "load"
    found = told(tmp_path / "bad")
    assert [t["line"] for t in found] == list(range(len(good) + 1, len(good) + len(bad) + 1))
    assert {v["rule"] for t in found for v in t["violations"]} == {
        "json",
        "range",
        "required",
        "endpoint",
        "cardinality",
        "unique",
    }
    assert [t["record"] for t in found] == bad
    assert g.verify(deep=True).problems == ()
    (tmp_path / "Pair.parquet").write_bytes(b"not parquet")
    with pytest.raises(og.ValidationError, match="cannot be read"):
        load(g, tmp_path / "Pair.parquet", spark=spark, quarantine=tmp_path / "bad")


@pytest.mark.parametrize("form", FORMS)
def test_quarantine_of_every_form(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """By the name of the engine, and with frames of Spark where the form is a frame."""
    g, clean = graph(tmp_path, EVERYTHING), graph(tmp_path, EVERYTHING)
    source = FORMS[form](tmp_path)
    if form == "arrow":
        source = {name: spark.createDataFrame(table) for name, table in source.items()}
    engine: Any = "auto" if form == "arrow" else "spark"
    result = g.load(source, engine=engine, quarantine=tmp_path / "bad")
    clean.load({"Thing": THINGS, "Near": NEAR})
    assert comparable(g) == comparable(clean)
    assert (result.nodes_loaded, result.edges_loaded, result.quarantined) == ({"Thing": 8}, {"Near": 7}, 5)
    check_report(told(tmp_path / "bad"), form)


def test_a_large_merge_marks_what_it_replaces_by_tasks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same graph and the same commit as without; and when the table moves meanwhile, the ids are looked for again."""
    monkeypatch.setattr(chunked, "MARKED_ABOVE", 1)
    monkeypatch.setattr(small_changes, "FEW", 0)  # as if the merge were a large one
    here, there = graph(tmp_path, EVERYTHING), graph(tmp_path, EVERYTHING)
    for g in (here, there):
        for start in (0, 40, 80):
            g.load([{"type": "Counted", "data": {"number": n}} for n in range(start, start + 40)])
            g.load([{"type": "Plain", "data": {"id": f"p{n}", "note": "old"}} for n in range(start, start + 40)])
    lines = [
        {"type": "Plain", "data": {"id": f"p{n}", "note": "new"}} for n in [*range(10, 20), *range(40, 80), *range(100, 140)]
    ]
    path = written(tmp_path / "merge.jsonl", lines)
    marked: list[Upsert] = []
    applied = Table.apply

    def noted(self: Table, state: TableState, change: Change) -> tuple[Applied, Table | None]:
        if isinstance(change, Upsert):
            marked.append(change)
        return applied(self, state, change)

    monkeypatch.setattr(Table, "apply", noted)
    here.load(path, engine="local")
    assert [c.marks for c in marked] == [None]
    marked.clear()
    there.load(path, engine=on(spark))
    assert [c.marks.removed for c in marked if c.marks] == [70]
    assert comparable(here) == comparable(there)
    assert about(last(here)) == about(last(there))

    def meanwhile(progress: Progress) -> None:
        if progress.stage is Stage.CHECK:
            there.load([{"type": "Plain", "data": {"id": "p15", "note": "by another"}}], engine="local")

    newest = [json.loads(json.dumps(line).replace('"new"', '"newest"')) for line in lines]
    again = written(tmp_path / "again.jsonl", newest)
    there.load(again, engine=on(spark), progress=meanwhile)
    here.load(again, engine="local")
    assert comparable(here) == comparable(there)
    assert there.verify(deep=True).problems == ()


def _missing_column(folder: Path) -> list[Path]:
    (folder / "Thing.csv").write_text("text,i32\nx,1\ny,2\n")
    pq.write_table(pa.table({"number": pa.array([1], pa.int32())}), folder / "Pair.parquet")
    return [folder / "Thing.csv", folder / "Pair.parquet"]


def _mixed_types(folder: Path) -> list[Path]:
    (folder / "Counted.csv").write_text("number\n" + "".join(f"{n if n % 10 else 'n/a'}\n" for n in range(1, 60)))
    pq.write_table(pa.table({"name": ["a", "b"], "i32": [1.5, 2.5]}), folder / "Thing.parquet")
    lines = [{"type": "Plain", "data": {"note": n if n % 7 == 0 else str(n)}} for n in range(30)]
    return [folder / "Counted.csv", folder / "Thing.parquet", written(folder / "mixed.jsonl", lines)]


def _broken_lines(folder: Path) -> list[Path]:
    lines = [json.dumps({"type": "Plain", "data": {"note": str(n)}}) for n in range(2000)]
    return [written(folder / "broken.jsonl", [line[:-5] if n % 100 == 50 else line for n, line in enumerate(lines)])]


def _unreadable(folder: Path) -> list[Path]:
    (folder / "Pair.parquet").write_bytes(b"PAR1 and then nothing of the kind")
    packed = gzip.compress("".join(json.dumps(r) + "\n" for r in records(50, 9)).encode())
    (folder / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (folder / "Plain.csv").write_bytes(b"note\nfine\n\xff\xfe\n")
    (folder / "Counted.csv.gz").write_bytes(b"not packed at all")
    days = gzip.compress(b"day\n" + b"".join(b"20%02d-01-01\n" % n for n in range(99)))
    (folder / "Dated.csv.gz").write_bytes(days[: len(days) // 2])
    pq.write_table(pa.table({"number": pa.array(range(5000), pa.int32())}), folder / "Counted.parquet", compression="zstd")
    whole = (folder / "Counted.parquet").read_bytes()
    (folder / "Counted.parquet").write_bytes(whole[:20] + bytes(2000) + whole[2020:])
    return [
        folder / name
        for name in ("Pair.parquet", "cut.jsonl.gz", "Plain.csv", "Counted.csv.gz", "Dated.csv.gz", "Counted.parquet")
    ]


def _unknown_ends(folder: Path) -> list[Path]:
    (folder / "Counted.csv").write_text("number\n" + "".join(f"{n}\n" for n in range(100)))
    (folder / "Counts.csv").write_text("from,to\n" + "".join(f"{n},{n + 1 if n % 10 else 5000 + n}\n" for n in range(99)))
    return [folder / "Counted.csv", folder / "Counts.csv"]


@pytest.mark.usefixtures("small_cuts")
@pytest.mark.parametrize(
    ("make", "rules", "count"),
    [
        (_missing_column, {"required"}, 2),
        (_mixed_types, {"type"}, 12),
        (_broken_lines, {"json"}, 20),
        (_unreadable, {"file", "encoding"}, 6),
        (_unknown_ends, {"endpoint"}, 10),
    ],
)
def test_bad_input_gives_a_report_to_act_on(spark: SparkSession, tmp_path: Path, make: Any, rules: set[str], count: int) -> None:
    """Every violation names its file, and its line where it is about one; nothing is changed."""
    g = graph(tmp_path, EVERYTHING)
    folder = tmp_path / "in"
    folder.mkdir()
    paths = make(folder)
    before = g.commits()
    found = said(g, paths, on(spark))
    assert found == said(g, paths, "local")
    assert {rule for rule, *_ in found} == rules
    assert len(found) == count
    assert {v[5] for v in found} <= {str(path) for path in paths}
    assert all((v[6] is not None) == (v[0] not in ("required", "file")) for v in found)
    assert g.commits() == before
