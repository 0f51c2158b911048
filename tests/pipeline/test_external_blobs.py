"""URIs given for Blobs in loads by Spark: the same policy, the same graph, the same violations as by this process."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.engine.external.media import BASE, SCHEMA, Media, bytes_of, gallery, media, photo, uri_of, violations
from tests.engine.load.loading import counts, exported, written

import omnigraph as og
from omnigraph import spark as ogs
from omnigraph.engine.load.read.parallel import chunks as chunks
from omnigraph.model.limits import MAX_EXTERNAL_CELLS
from omnigraph.pipeline.load import load, on

pytestmark = pytest.mark.slow


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(chunks, "LEAST_CUT", 400)
    folder = tmp_path / "images"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_bytes(name.encode() * 3)
    return folder


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Media]:
    with media(monkeypatch) as found:
        yield found


def said(error: og.ValidationError | og.BlobUnavailable) -> list[tuple[Any, ...]]:
    return [(v.rule, v.property, v.entity, v.value, v.file, v.line, v.message, v.reason) for v in violations(error)]


def both(spark: SparkSession, tmp_path: Path, path: Path, error: type[og.GraphError], *bases: str) -> list[list[tuple[Any, ...]]]:
    """What each runner has to say."""
    found = []
    for engine in ("local", on(spark)):
        g = gallery(tmp_path, *bases)
        with pytest.raises(error) as raised:
            g.load(path, engine=engine)
        assert isinstance(raised.value, og.ValidationError | og.BlobUnavailable)
        assert counts(g) == {}
        found.append(said(raised.value))
    return found


def test_what_is_refused_and_what_is_missing_is_told_alike(spark: SparkSession, tmp_path: Path, images: Path) -> None:
    base = f"file://{images}"
    fine = [photo(f"fine{n}", content=f"{base}/a") for n in range(20)]
    refused = written(tmp_path / "r.jsonl", [*fine, photo("x", content="s3://key:SECRET@b/x"), photo("y", thumb="?")])
    here, there = both(spark, tmp_path, refused, og.ValidationError, base)
    assert (here, [line[5] for line in here]) == (there, [21, 22])
    missing = written(tmp_path / "m.jsonl", [*fine, photo("x", content=f"{base}/none"), photo("y", content=f"{base}/none")])
    here, there = both(spark, tmp_path, missing, og.BlobUnavailable, base)
    assert (here, len(here)) == (there, 2)
    denied, too = both(spark, tmp_path, missing, og.ValidationError)
    assert (denied, len(denied)) == (too, 22)


@pytest.mark.parametrize("mode", ["merge", "append", "overwrite"])
def test_bytes_are_copied_in_or_references_kept(spark: SparkSession, tmp_path: Path, images: Path, mode: Any) -> None:
    base = f"file://{images}"
    path = written(tmp_path / "p.jsonl", [photo(f"{n}", content=f"{base}/{'ab'[n % 2]}") for n in range(50)])
    found = []
    for engine in ("local", "spark"):
        g = gallery(tmp_path, base)
        g.load(path, mode=mode, engine=engine)
        found.append(exported(g))
        assert uri_of(g, "1") == (f"{base}/b" if mode == "overwrite" else None)
    assert found[0] == found[1]


def test_limits_are_of_the_whole_load(spark: SparkSession, tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LEAST_CUT", 200_000)
    g = gallery(tmp_path, f"file://{images}")
    path = written(tmp_path / "p.jsonl", [photo(f"{n}", content=f"file://{images}/a") for n in range(MAX_EXTERNAL_CELLS + 1)])
    with pytest.raises(og.ResourceLimit) as found:
        g.load(path, mode="overwrite", engine="spark")
    assert (found.value.resource, found.value.actual) == ("external Blob reference cells", MAX_EXTERNAL_CELLS + 1)
    assert counts(g) == {}


def test_frames_streams_and_quarantine(spark: SparkSession, tmp_path: Path, images: Path) -> None:
    g, base = gallery(tmp_path, f"file://{images}"), f"file://{images}"
    frame = spark.createDataFrame([("x", f"{base}/a"), ("y", "base64:AAEC")], "name string, content string")
    load(g, {"Photo": frame})
    assert (bytes_of(g, "x"), bytes_of(g, "y")) == (b"aaa", b"\0\1\2")
    sink = pickle.loads(pickle.dumps(ogs.sink(g, "Photo", name="photos")))
    sink.write(frame.selectExpr("concat(name, name) as name", "content"), 1)
    assert bytes_of(g, "xx") == b"aaa", "a stream that goes on in another process keeps the policy"
    path = written(
        tmp_path / "q.jsonl",
        [photo("good", content=f"{base}/b"), photo("gone", content=f"{base}/none"), photo("bad", content="?")],
    )
    done = load(g, path, quarantine=tmp_path / "left.jsonl")
    assert (done.quarantined, bytes_of(g, "good")) == (2, b"bbb")
    assert [r["data"]["id"] for r in exported(g)] == ["good", "x", "xx", "y", "yy"]


def test_objects_of_a_store_reached_by_options(spark: SparkSession, tmp_path: Path, bucket: Media) -> None:
    uri, policy = bucket.put("a", b"by an executor"), og.ExternalBlobs.allow(BASE)
    g = og.init(tmp_path / "g", SCHEMA, storage_options=bucket.server.options, external_blobs=policy)
    with bucket.asked() as asked:
        g.load(written(tmp_path / "p.jsonl", [photo(f"{n}", content=uri) for n in range(64)]), engine="spark")
    assert sorted(asked) == ["GET", "HEAD"], "one chunk asks once"
    assert bytes_of(g, "63") == b"by an executor"


def test_a_table_of_spark_holds_bytes_only(spark: SparkSession, tmp_path: Path, images: Path) -> None:
    g = gallery(tmp_path, f"file://{images}")
    g.load([photo("x", content=f"file://{images}/a"), photo("y", thumb="base64:AA==")], mode="overwrite")
    table = spark.read.format("omnigraph").option("graph", g._store.place.uri).option("type", "Photo")
    with pytest.raises(PySparkException, match=f"Photo.content refers to another place: file://{images}/a"):
        table.load().collect()
    rows = table.option("columns", "name,thumb").load().collect()
    assert sorted((r["name"], r["thumb"]) for r in rows) == [("x", None), ("y", bytearray(b"\0"))]
    with pytest.raises(og.UsageError, match="refers to another place"):
        ogs.export(g, str(tmp_path / "out"), types=["Photo"], spark=spark)
