"""Folders: every file is loaded, or it is named. What a file is, and whose rows it has, follows from names alone."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.load.loading import counts, graph, refused

import omnigraph as og
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.load.read.inputs.sources import inputs_of
from omnigraph.language import Source
from omnigraph.storage.files import inputs

SCHEMA = """
node Person { name: String @key  country: String?  year: I32?  born: Date? }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
"""
CATALOG = offline_catalog(Source(SCHEMA, "s.pg"))


def _parquet(path: Path, name: str) -> None:
    pq.write_table(pa.table({"name": [name]}), path)


def _arrow(path: Path, name: str) -> None:
    feather.write_feather(pa.table({"name": [name]}), str(path), compression="uncompressed")


def _stream(path: Path, name: str) -> None:
    table = pa.table({"name": [name]})
    with path.open("wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _lines(path: Path, name: str) -> None:
    path.write_text(f'{{"type": "Person", "data": {{"name": "{name}"}}}}\n')


def _cells(path: Path, name: str) -> None:
    path.write_text(f"name\n{name}\n")


FORMS: dict[str, Callable[[Path, str], None]] = {
    ".jsonl": _lines,
    ".NDJSON": _lines,
    ".json": _lines,
    ".csv": _cells,
    ".tsv": _cells,
    ".parquet": _parquet,
    ".arrow": _stream,
    ".Feather": _arrow,
}
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


def made(path: Path, ending: str, name: str, packed: str = "") -> Path:
    """A file that holds one person."""
    path.parent.mkdir(parents=True, exist_ok=True)
    FORMS[ending](path, name)
    path.write_bytes(PACKED[packed.lower()](path.read_bytes()))
    return path


def people(g: og.Graph) -> set[str]:
    return {str(row["name"]) for row in g.query("query q() { match { $p: Person } return { $p.name as name } }").rows}


def test_every_form_packed_every_way(tmp_path: Path) -> None:
    wanted = set()
    for number, ending in enumerate(FORMS):
        for packed in (*PACKED, ".GZ"):
            name = f"{number}{packed}"
            made(tmp_path / "in" / f"sub {number}" / f"Person.é % {number}{ending}{packed}", ending, name, packed)
            wanted.add(name)
    g = graph(tmp_path, SCHEMA)
    result = g.load(tmp_path / "in")
    assert people(g) == wanted
    assert result.skipped == ()


def test_what_spark_writes(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    made(folder / "Person.parquet" / "part-00000-1b2c-c000.snappy.parquet", ".parquet", "a")
    made(folder / "Person.parquet" / "part-00001", ".parquet", "b")
    made(folder / "Person.csv" / "part-00000-77.c000", ".csv", "c")
    made(folder / "Person.csv" / "part-00001.gz", ".csv", "d", ".gz")
    made(folder / "Person" / "000000_0", ".parquet", "e")
    for name in ("_SUCCESS", ".part-00000.crc", "_metadata", "_common_metadata", "_committed_123", ".hidden/x.txt"):
        (folder / "Person.parquet" / name).parent.mkdir(exist_ok=True)
        (folder / "Person.parquet" / name).write_text("")
    g = graph(tmp_path, SCHEMA)
    g.load(folder)
    assert people(g) == set("abcde")
    other = graph(tmp_path, SCHEMA)
    other.load([folder / "Person.parquet", str(folder / "Person.csv" / "*"), folder / "Person" / "000000_0"])
    assert people(other) == set("abcde")


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_partitions_are_columns(tmp_path: Path, ending: str) -> None:
    at, graphs = tmp_path / "Person", tmp_path / "graphs"
    graphs.mkdir()
    made(at / "country=de" / "year=2024" / f"part-0{ending}", ending, "a")
    made(at / "country=a%2Fb%20c" / "year=1999" / f"part-0{ending}", ending, "b")
    made(at / "country=__HIVE_DEFAULT_PARTITION__" / "year=7" / f"part-0{ending}", ending, "c")
    wanted = [("a", "de", 2024), ("b", "a/b c", 1999), ("c", None, 7)]
    for source in (at, tmp_path / "Person", {"Person": at}, str(at / "*"), [at / p for p in os.listdir(at)]):
        g = graph(graphs, SCHEMA)
        g.load(source)
        rows = g.query(
            "query q() { match { $p: Person } return { $p.name as n, $p.country as c, $p.year as y } order { n } }"
        ).rows
        assert [(r["n"], r["c"], r["y"]) for r in rows] == wanted
    made(at / "country=de" / "year=soon" / f"part-0{ending}", ending, "d")
    found = refused(g, at)
    assert {v.property for v in found} == {"year"}
    made(at / "colour=red" / f"part-0{ending}", ending, "e")
    assert "unknown_property" in {v.rule for v in refused(g, at / "colour=red")}


def test_the_nearest_name_says_the_type(tmp_path: Path) -> None:
    made(tmp_path / "in" / "Company" / "2024" / "Person.csv", ".csv", "p")
    made(tmp_path / "in" / "Company" / "2024" / "more.csv", ".csv", "c")
    made(tmp_path / "in" / "day=7" / "Person.tsv", ".tsv", "q")
    made(tmp_path / "in" / "firms" / "x.csv", ".csv", "d")
    g = graph(tmp_path, SCHEMA)
    with pytest.raises(og.UsageError, match=r"firms/x\.csv has rows of which type"):
        g.load(tmp_path / "in")
    g.load(tmp_path / "in", types={"firms": "Company"})
    assert counts(g) == {"Person": 2, "Company": 2}
    with pytest.raises(og.UsageError, match=r"a type is given for `frims`"):
        g.load(tmp_path / "in", types={"firms": "Company", "frims": "Company"})


def test_what_cannot_be_read_is_named_and_refused_or_left_out_on_purpose(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    made(folder / "Person.csv", ".csv", "a")
    for name in ("notes.txt", "Person.xlsx", "deep/down/README", "_people.dat"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    (folder / "nowhere.csv").symlink_to(folder / "gone.csv")
    (folder / "again.csv").symlink_to(folder / "Person.csv")
    (folder / "round").symlink_to(folder, target_is_directory=True)
    os.mkfifo(folder / "pipe.csv")
    g = graph(tmp_path, SCHEMA)
    with pytest.raises(og.UsageError, match="8 files cannot be loaded") as raised:
        g.load(folder)
    assert counts(g) == {}
    for said in (
        "again.csv is ",
        "leads nowhere",
        "round leads back",
        "pipe.csv is no file",
        "notes.txt has an ending",
        "README has no",
    ):
        assert said in str(raised.value)
    result = g.load(folder, skip_unknown=True)
    assert people(g) == {"a"}
    assert sorted(os.path.relpath(p, folder) for p in result.skipped) == [
        *("Person.xlsx", "_people.dat", "again.csv", "deep/down/README", "notes.txt", "nowhere.csv", "pipe.csv", "round")
    ]
    assert result.to_dict()["skipped"] == list(result.skipped)
    with pytest.raises(og.UsageError, match=r"notes\.txt"):
        g.load(folder / "notes.txt", skip_unknown=True)


@pytest.mark.parametrize("name", ["_delta_log", ".hoodie", "_temporary", "_spark_metadata"])
def test_folders_in_which_not_every_file_counts_are_refused(tmp_path: Path, name: str) -> None:
    made(tmp_path / "Person" / "part-0.parquet", ".parquet", "a")
    (tmp_path / "Person" / name).mkdir()
    with pytest.raises(og.UsageError, match=name):
        graph(tmp_path, SCHEMA).load(tmp_path / "Person")


def test_nothing_to_load_and_what_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    g = graph(tmp_path, SCHEMA)
    (tmp_path / "in" / "sub").mkdir(parents=True)
    with pytest.raises(og.NotFound, match="nothing to load"):
        g.load(tmp_path / "in")

    listed = os.scandir

    def forbidden(path: Any = ".") -> Any:
        if str(path).startswith(str(tmp_path / "in")):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", forbidden)
    with pytest.raises(og.NotFound, match="Permission denied"):
        g.load(tmp_path / "in")


def test_a_file_is_loaded_once_however_often_it_is_named(tmp_path: Path) -> None:
    path = made(tmp_path / "in" / "a.jsonl", ".jsonl", "a")
    g = graph(tmp_path, SCHEMA)
    g.load([tmp_path / "in", path, str(tmp_path / "*" / "*.jsonl")], mode="append")
    assert people(g) == {"a"}


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("Person.csv", b"PAR1xxxxPAR1", "it is a Parquet file, not text in UTF-8"),
        ("Person.csv", "name\nx\n".encode("utf-16"), "it is text in UTF-16, not text in UTF-8"),
        ("Person.csv", "name\nx\n".encode("utf-16-le"), "perhaps UTF-16"),
        ("a.jsonl", '{"type": "Person"}\n'.encode("utf-16"), "it is text in UTF-16"),
        ("a.jsonl", gzip.compress(b"{}", mtime=0), "it is packed by gzip, not text"),
        ("a.jsonl.gz", b"{}\n", "it is not packed by gzip, as its name says"),
        ("a.jsonl.zst", b"", "it is empty, and not even packed by zstd"),
        ("a.jsonl.bz2", bz2.compress(b'{"type": "Person", "data": {"name": "x"}}\n' * 9)[:-9], "Truncated compressed stream"),
        ("Person.parquet", b"name\nx\n", "it is something else, not a Parquet file"),
        ("Person.parquet", b"", "it is empty, not a Parquet file"),
        ("Person.arrow", b"PAR1xxxxPAR1", "it is a Parquet file, not an Arrow file"),
        ("Person.csv", b"", "there is not even a header"),
        ("Person.csv", b"\n\n", "there is not even a header"),
    ],
)
def test_what_a_file_holds_is_what_its_name_says(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(data)
    (found,) = refused(graph(tmp_path, SCHEMA), tmp_path / name)
    assert (found.rule, found.file, found.line) == ("file", str(tmp_path / name), None)
    assert said in found.message


NAMES = st.sampled_from(["a", "part-00000", "Person", "é b", "x%20", "country=de", ".hidden", "_SUCCESS", "Company"])
ENDS = st.sampled_from(["", *FORMS, ".txt", ".csv.gz", ".jsonl.zst", ".parquet.bz2", ".bak", ".Parquet"])
FOLDERS = st.lists(st.tuples(NAMES, st.sampled_from(["", "", ".parquet", ".csv"])), max_size=3)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(FOLDERS, NAMES, ENDS), max_size=8))
def test_loaded_and_named_are_all_files(tmp_path_factory: pytest.TempPathFactory, tree: list[Any]) -> None:
    """Whatever is in a folder. The oracle walks it by itself, and knows only what is no data."""
    folder = tmp_path_factory.mktemp("tree")
    for folders, name, ending in tree:
        path = folder.joinpath(*("".join(part) for part in folders), name + ending)
        if not any(p.is_file() for p in path.parents) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            plain = next((form for form in FORMS if ending.startswith(form)), None)
            packed = next((p for p in PACKED if p and ending.endswith(p)), "")
            if plain is None:
                path.write_bytes(b"")
            else:
                made(path, plain, str(len(list(folder.rglob("*")))), packed)
    every = {
        os.path.join(at, file)
        for at, _, files in os.walk(folder)
        for file in files
        if not any(part.startswith(".") for part in Path(at, file).relative_to(folder).parts) and file != "_SUCCESS"
    }
    try:
        found = inputs_of(folder, CATALOG, skip_unknown=True)
    except og.NotFound:
        with pytest.raises((og.NotFound, og.UsageError)):
            inputs_of(folder, CATALOG)
        return
    loaded = [i.content for i in found.inputs]
    assert sorted([*loaded, *found.skipped]) == sorted(every)
    if found.skipped:
        with pytest.raises(og.UsageError) as raised:
            inputs_of(folder, CATALOG)
        assert all(path in str(raised.value) for path in found.skipped)
    else:
        assert inputs_of(folder, CATALOG) == found


PARTS = st.sampled_from(["a", "b", "ab", ".a", "a.csv"])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.lists(PARTS, min_size=1, max_size=3), min_size=1, max_size=6),
    st.lists(st.sampled_from(["*", "**", "a*", "?", "[ab]", "*.csv", "b"]), min_size=1, max_size=3),
)
def test_patterns_mean_the_same_in_an_object_store(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[str]], pattern: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("glob")
    for parts in files:
        path = folder.joinpath(*parts)
        if not any(p.is_file() for p in path.parents) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
    every = [p.relative_to(folder).parts for p in folder.rglob("*") if p.is_file()]
    here = (
        {Path(f.path).relative_to(folder).parts for f in inputs.files_at(str(folder.joinpath(*pattern)), {})}
        if any(c in "".join(pattern) for c in "*?[")
        else None
    )
    if here is not None:
        there = {p for p in every if inputs.matches(tuple(pattern), p) and not any(part.startswith(".") for part in p)}
        assert here == there
