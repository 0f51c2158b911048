"""Exports to Parquet and CSV: a folder with a file per type, complete or not there, that loads back to an equal graph."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine import random_graphs
from tests.engine.every_type import LARGE, schema_of
from tests.engine.every_type import data as rows_of_every_type
from tests.engine.graphs import make_graph
from tests.engine.load.load_model import TEXTS, Model, random_row, random_types
from tests.engine.load.load_model import given as as_given
from tests.engine.load.loading import EVERYTHING, PEOPLE_LINES, graph

import omnigraph as og
from omnigraph.engine.export import lines as export_lines
from omnigraph.engine.export import tables as export_tables
from omnigraph.model.blobs import reference

FORMATS = ["parquet", "csv"]


def lines_of(g: og.Graph) -> bytes:
    sink = io.BytesIO()
    g.export(sink)
    return sink.getvalue()


def check_round_trip(g: og.Graph, folder: Path, format_: Any, mode: Any = "append", **options: Any) -> None:
    """What was exported loads back to an equal graph, ids and signs of zeros included."""
    done = g.export(folder / "out", format=format_)
    files = sorted((folder / "out").iterdir())
    assert sorted(f.name for f in files) == sorted(f"{t.name}.{format_}" for t in g.stats().types)
    assert (done.bytes, done.commit) == (sum(f.stat().st_size for f in files), g.commits()[0].id)
    with og.init(folder / "copy", schema=g.schema(), durability="os", **options) as copy:
        copy.load(folder / "out", mode=mode)
        assert lines_of(copy) == lines_of(g)
        assert done.entities == sum(t.rows for t in copy.stats().types)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["overwrite", "merge", "append"]), st.sampled_from(FORMATS))
def test_load_undoes_an_export_of_tables(seed: int, mode: str, format_: str) -> None:
    made = random_graphs.graph(seed)
    with tempfile.TemporaryDirectory() as folder, make_graph(Path(folder), made.schema, made.past) as g:
        check_round_trip(g, Path(folder), format_, mode)


@pytest.mark.parametrize("format_", FORMATS)
def test_random_rows_of_random_types(tmp_path: Path, format_: str) -> None:
    for seed in range(8):
        r, folder = Random(seed), tmp_path / str(seed)
        folder.mkdir()
        model = Model(random_types(r))
        nodes = {t.name: [random_row(r, t, model, {}) for _ in range(12)] for t in model.types[:2]}
        rows = {**nodes, "E": [random_row(r, model.types[2], model, nodes) for _ in range(15)]}
        if not model.load(rows, "merge"):
            continue
        with og.init(folder / "g", schema="\n".join(t.declared() for t in model.types), durability="os") as g:
            g.load(as_given(r, "rows", model.types, rows, folder / "in"))
            check_round_trip(g, folder, format_)


@pytest.mark.parametrize("format_", FORMATS)
def test_every_type_in_small_groups(tmp_path: Path, format_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every type, nullable and not, at the edges of its values; Blobs of every size."""
    monkeypatch.setattr(export_lines, "CHUNK", 3)
    monkeypatch.setattr(export_tables, "GROUP_ROWS", 5)
    elsewhere = reference("s3://media/a.png")
    rows = {
        type_: [{n: b"" if v == elsewhere else v for n, v in row.items()} for row in found]
        for type_, found in rows_of_every_type(range(11)).items()
    }
    with make_graph(tmp_path, schema_of(), rows) as g:
        assert any(row.get("blob") == LARGE for row in rows["Whole"])
        check_round_trip(g, tmp_path, format_)
    if format_ == "parquet":
        assert pq.ParquetFile(tmp_path / "out" / "Link.parquet").num_row_groups == 2


STRANGE = [*TEXTS, "\r", "a\r\nb", "\n", '"', '""', ",", "base64:AA==", "\ufeff", "[1]", "#", "x" * 70_000, "end\\"]


@pytest.mark.parametrize("format_", FORMATS)
def test_texts_keys_and_years_that_are_hard_to_write(tmp_path: Path, format_: str) -> None:
    g = graph(tmp_path, EVERYTHING)
    years = ["-0044-03-15", "+12024-01-05", "0001-01-01", "9999-12-31"]
    things: list[dict[str, Any]] = [
        {"name": f"t{n}", "text": t.replace("!", ""), "words": [t, ""]} for n, t in enumerate(STRANGE)
    ]
    things += [{"name": f"d{n}", "day": y, "moment": f"{y}T10:00:00.5Z", "days": [y], "words": []} for n, y in enumerate(years)]
    things += [{"name": text} for text in STRANGE if text]
    things += [{"name": "none"}]
    pairs = [{"number": n, "tenant": t} for n in (-1, 7) for t in ("x", "a|b", "é")]
    g.load({
        "Thing": things,
        "Pair": pairs,
        "Plain": [{"id": "p,\n1", "note": ""}],
        "Dated": [{"day": d} for d in years],
        "Measured": [{"size": 0.5}, {"size": -0.0}, {"size": 3.4e38}],
        "Near": [{"from": "t0", "to": "t1", "since": None, "weight": 1e300}, {"id": 'q"', "from": "x,y", "to": "t1"}],
        "Step": [{"from": "t0", "to": "t1", "number": n, "text": t} for n, t in enumerate(["", None, "x"])],
    })  # fmt: skip
    check_round_trip(g, tmp_path, format_)


def test_csv_in_letters(tmp_path: Path) -> None:
    g = graph(
        tmp_path, "node P { name: String @key  note: String?  f: F64?  tags: [String]? }  edge Knows: P -> P { since: Date? }"
    )
    g.load({"P": [{"name": "Ada", "note": "", "f": 0.5, "tags": ["a", "b"]}, {"name": "Bob"}]})
    g.load({"Knows": [{"id": "k1", "from": "Ada", "to": "Bob", "since": "2024-05-01"}]})
    g.export(tmp_path / "out", format="csv")
    assert (tmp_path / "out" / "P.csv").read_text() == (
        'id,f,name,note,tags\n"Ada",0.5,"Ada","","[""a"",""b""]"\n"Bob",,"Bob",,\n'
    )
    assert (tmp_path / "out" / "Knows.csv").read_text() == 'id,src,dst,since\n"k1","Ada","Bob","2024-05-01"\n'


def test_some_types_a_branch_and_the_past(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(PEOPLE_LINES)
    before = g.commits()[0].id
    g.load([{"type": "Person", "data": {"name": "Eve"}}], branch="b", from_="main")
    counted: list[int] = []
    assert g.export(tmp_path / "a", format="csv", types=["Person"], progress=counted.append).entities == sum(counted) == 4
    assert g.export(str(tmp_path / "b"), format="parquet", types="Person", branch="b").entities == 5
    assert g.export(tmp_path / "c", format="parquet", types=["Person", "Knows"], at=before).entities == 7
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == ["Knows.parquet", "Person.parquet"]
    with pytest.raises(og.UsageError, match="unknown export type 'Persn'"):
        g.export(tmp_path / "x", format="csv", types=["Persn"])
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("format_", FORMATS)
def test_a_folder_is_complete_or_not_there(tmp_path: Path, format_: Any) -> None:
    g = graph(tmp_path)
    g.load(PEOPLE_LINES)
    written: list[int] = []

    def fails_later(count: int) -> None:
        written.append(count)
        if len(written) == 3:
            raise KeyError("enough")

    (tmp_path / "empty").mkdir(mode=0o750)
    for target in ("new", "empty"):
        written.clear()
        with pytest.raises(KeyError):
            g.export(tmp_path / target, format=format_, progress=fails_later)
    assert not (tmp_path / "new").exists()
    assert list((tmp_path / "empty").iterdir()) == []
    assert list(tmp_path.glob(".*")) == []
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    g.export(tmp_path / "link", format=format_)
    assert (tmp_path / "link").is_symlink()
    assert len(list((tmp_path / "empty").iterdir())) == 4
    assert (tmp_path / "empty").stat().st_mode & 0o777 == 0o750
    with pytest.raises(og.AlreadyExists, match="is not empty"):
        g.export(tmp_path / "empty", format=format_)


@pytest.mark.parametrize("format_", FORMATS)
def test_where_no_folder_can_be_written(tmp_path: Path, format_: Any) -> None:
    g = graph(tmp_path)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(og.AlreadyExists, match="is a file"):
        g.export(tmp_path / "file", format=format_)
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(og.NotFound, match="there is no folder"):
        g.export(tmp_path / "nowhere" / "out", format=format_)
    with pytest.raises(og.UsageError, match="not to a stream"):
        g.export(io.BytesIO(), format=format_)
    with pytest.raises(og.UsageError, match="not to an object store"):
        g.export("s3://bucket/out", format=format_)
    with pytest.raises(og.UsageError):
        g.export(tmp_path / "out", format="xml")  # type: ignore[arg-type]


def test_a_node_type_and_an_edge_type_of_one_name(tmp_path: Path) -> None:
    g = graph(tmp_path, "node Knows { k: String @key }  node B { k: String @key }  edge Knows: B -> B")
    with pytest.raises(og.UsageError, match="one of them only"):
        g.export(tmp_path / "out", format="csv")
    assert g.export(tmp_path / "out", format="csv", types=["B"]).entities == 0


def test_a_property_that_reads_as_an_end(tmp_path: Path) -> None:
    g = graph(tmp_path, "node B { k: String @key }  edge Moved: B -> B { from: String?  to: String? }")
    with pytest.raises(og.UsageError, match="has a property `from`"):
        g.export(tmp_path / "out", format="csv")
    assert not (tmp_path / "out").exists()


def test_rows_of_csv_with_blobs_may_be_long(tmp_path: Path) -> None:
    with make_graph(
        tmp_path, "node P { k: String @key  b: Blob? }", {"P": [{"k": f"{n}", "b": bytes(n << 20)} for n in range(14)]}
    ) as g:
        check_round_trip(g, tmp_path, "csv")


def test_blobs_that_are_kept_elsewhere(tmp_path: Path) -> None:
    with make_graph(tmp_path, "node P { k: String @key  b: Blob? }", {"P": [{"k": "a", "b": reference("s3://m/a.png")}]}) as g:
        with pytest.raises(og.UsageError, match=r"refers to another place: s3://m/a\.png") as error:
            g.export(tmp_path / "out", format="parquet")
        assert "csv" in str(error.value.hint)
        assert not (tmp_path / "out").exists()
        g.export(tmp_path / "out", format="csv")
    assert (tmp_path / "out" / "P.csv").read_text() == 'id,b,k\n"a","s3://m/a.png","a"\n'
