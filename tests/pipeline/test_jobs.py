"""Jobs by Spark come to what they come to here: compaction and indexes, embedding, export, statistics."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession
from tests.embedding.server import Server

import omnigraph as og
from omnigraph import spark as ogs
from omnigraph.embedding import MockEmbedder, mock_vector
from omnigraph.engine.export.statistics import statistics
from omnigraph.storage.tables.work import here

pytestmark = pytest.mark.slow

SCHEMA = """
    node Doc { slug: String @key  year: I32? @index  text: String? @index  vec: Vector(4)? @embed("text")  file: Blob? }
    edge Cites: Doc -> Doc
"""


def make(folder: Path) -> og.Graph:
    graph = og.init(folder, schema=SCHEMA, durability="os", embedder=MockEmbedder())
    for start in range(0, 120, 30):
        docs = [
            {"slug": f"d{n}", "year": 1990 + n % 20, "text": f"paper number {n}", "file": "base64:AAEC"}
            for n in range(start, start + 30)
        ]
        cites = [{"edge": "Cites", "from": f"d{n}", "to": f"d{start}"} for n in range(start, start + 30)]
        graph.load([*({"type": "Doc", "data": doc} for doc in docs), *cites])
    graph.mutate('query q() { delete Doc where slug = "d7" }')
    return graph


def exported(graph: og.Graph) -> bytes:
    sink = io.BytesIO()
    graph.export(sink, types=["Doc"])
    return sink.getvalue()


def test_upkeep_by_tasks_is_upkeep(spark: SparkSession, tmp_path: Path) -> None:
    here_, there = make(tmp_path / "here"), make(tmp_path / "there")
    before = exported(there)
    found = ogs.optimize(there, actor="me", spark=spark)
    expected = here_.optimize()
    assert [(t.type, t.rows, t.fragments_after, t.covered) for t in found.tables] == [
        (t.type, t.rows, t.fragments_after, t.covered) for t in expected.tables
    ]
    assert {c.operation for c in there.commits(limit=len(found.commits), maintenance=True)} == {"optimize"}
    assert exported(there) == before
    query = 'query q() { match { $d: Doc  search($d.text, "paper") } return { count($d) as n } }'
    assert there.query(query).rows == here_.query(query).rows == [{"n": 119}]
    assert ogs.optimize(there, spark=spark).commits == ()

    done = ogs.embed(there, spark=spark)
    assert (done.entities, done.properties[0].requested) == (119, 119)
    rows = there.query("query q() { match { $d: Doc } return { $d.text, $d.vec } }").rows
    assert all(np.array_equal(np.array(r["d.vec"], "f4"), np.array(mock_vector(r["d.text"], 4), "f4")) for r in rows)
    assert ogs.embed(there, spark=spark).properties[0].commit is None

    assert ogs.statistics(there, spark=spark) == statistics(there._view(), there._store.place, run=here)
    for format_ in ("parquet", "jsonl"):
        target = tmp_path / format_
        ogs.export(there, str(target), format=format_, spark=spark)
        (target / "_export.json").unlink()
        with og.init(tmp_path / f"copy-{format_}", schema=SCHEMA, durability="os") as copy:
            copy.load(target, mode="append")
            assert exported(copy) == exported(there)
    assert there.verify(deep=True).ok


def test_a_load_by_tasks_commits_texts_with_their_vectors(spark: SparkSession, tmp_path: Path) -> None:
    with Server() as server:
        provider = og.embedding_provider("openai-compatible", base_url=server.url, model="m", pace=og.Pace(batch=20))
        graph = og.init(tmp_path / "g", schema=SCHEMA, durability="os", embedder=provider)
        docs = [{"type": "Doc", "data": {"slug": f"d{n}", "text": f"paper number {n}"}} for n in range(200)]
        (tmp_path / "docs.jsonl").write_text("".join(f"{json.dumps(doc)}\n" for doc in docs))
        before = len(graph.commits())
        done = ogs.load(graph, tmp_path / "docs.jsonl", spark=spark, embed=True)
        assert done.embedded is not None
        assert (done.embedded.vectors, done.embedded.usage.texts, len(graph.commits())) == (200, 200, before + 1)
        assert server.texts == {f"paper number {n}": 1 for n in range(200)}
        rows = graph.query("query q() { match { $d: Doc } return { $d.text, $d.vec } }").rows
        assert all(np.allclose(r["d.vec"], mock_vector(r["d.text"], 4), atol=1e-6) for r in rows)
        graph.mutate('query q() { insert Doc { slug: "late", text: "late" } }')
        assert ogs.embed(graph, spark=spark).usage.texts == 1
        assert graph.verify(deep=True).ok
