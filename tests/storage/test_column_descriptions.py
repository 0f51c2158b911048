"""Files whose descriptions of columns hold zeros are refused before Lance sees them; everything else is left to Lance."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from tests.storage.damaging import Reader, ask, damaged, make, verified

import omnigraph as og
from omnigraph.errors import StorageError
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format.column_descriptions import Sound
from omnigraph.storage.lance_format.protobuf import fields, varints

SCHEMA = """node P {
    k: String @key  n: I64?  few: String?  long: String?  words: [String]?  pages: [String]?  v: Vector(4)?
}"""

NAME = re.compile(rb"/lance\.encodings[a-zA-Z0-9.]+")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("described"))


@pytest.fixture
def reader() -> Iterator[Reader]:
    found = Reader()
    yield found
    found.close()


def lance_files(graph: Path) -> list[str]:
    return [str(f.relative_to(graph)) for f in sorted(graph.rglob("*")) if f.suffix in (".lance", ".idx")]


def test_whole_files_are_sound(graph: Path) -> None:
    assert len(lance_files(graph)) > 20
    Sound(Place.at(str(graph))).require(lance_files(graph), values=True)


def test_every_kind_of_values_is_where_it_should_be(tmp_path: Path) -> None:
    graph = varied(tmp_path)
    files = lance_files(graph)
    assert len(files) > 4
    Sound(Place.at(str(graph))).require(files, values=True)


def test_a_scan_of_values_that_are_elsewhere_ends(tmp_path: Path) -> None:
    """Zeros, ones and noise where pages say where their values are: a scan of such a file may not end, and is not begun."""
    graph = varied(tmp_path)
    rng, tried, refused = Random(1), 0, 0
    for path in (p for p in lance_files(graph) if "/data/" in p and p.startswith("nodes")):
        data = (graph / path).read_bytes()
        for at, size in (place for places in places_of(data) for place in places[:1] + places[1:][-1:] if place[1] < 1 << 16):
            begin = at + rng.randrange(max(1, size // 2)) // 8 * 8
            end = min(at + size, begin + 512)
            for noise in (bytes(end - begin), b"\xff" * (end - begin), rng.randbytes(end - begin)):
                if data[begin:end] == noise:
                    continue
                with damaged(graph / path, data[:begin] + noise + data[end:]):
                    tried += 1
                    with suppress(StorageError):
                        Sound(Place.at(str(graph))).require([path], values=True)
                        continue
                    refused += 1
    assert tried > 50
    assert refused > tried / 2


def test_offsets_of_zeros_are_refused_by_every_read(tmp_path: Path) -> None:
    """Lance would take memory until the process ends."""
    graph = varied(tmp_path)
    path, at = next(
        (path, places[1])
        for path in lance_files(graph)
        if "/data/" in path and path.startswith("nodes")
        for places in places_of((graph / path).read_bytes())
        if len(places) == 2 and places[1][1] == 4 * 2_001
    )
    data = (graph / path).read_bytes()
    with damaged(graph / path, data[: at[0] + 2_000] + bytes(4_000) + data[at[0] + 6_000 :]), og.open(graph) as g:
        with pytest.raises(StorageError, match="damaged"):
            g.query("query q() { match { $p: P } return { $p.long } }")
        with pytest.raises(StorageError, match="damaged"):
            g.export(tmp_path / "out.jsonl")
        assert [problem.path for problem in g.verify().problems] == [path]


def varied(folder: Path) -> Path:
    """Values that are laid out in every way: short ones, long ones, lists, vectors, few that repeat, none."""
    rng = Random(7)
    with og.init(folder / "varied", SCHEMA, durability="os") as g:
        for first, missing in ((0, 0.0), (2_000, 0.4)):
            g.load([{"type": "P", "data": _person(rng, first + n, missing)} for n in range(2_000)])
    return folder / "varied"


def _person(rng: Random, number: int, missing: float) -> dict[str, object]:
    letters = "abcdefghij"
    values: dict[str, object] = {
        "n": rng.randrange(1 << 40),
        "few": rng.choice(["red", "green", "blue" * 5]),
        "long": "".join(rng.choices(letters, k=400)),
        "words": ["".join(rng.choices(letters, k=5)) for _ in range(rng.randrange(5))],
        "pages": ["".join(rng.choices(letters, k=500)) for _ in range(rng.randrange(3))],
        "v": [rng.random() for _ in range(4)],
    }
    return {"k": f"p{number}", **{name: value for name, value in values.items() if rng.random() >= missing}}


def places_of(file: bytes) -> Iterator[list[tuple[int, int]]]:
    """Where the buffers of each page of a file are, by what the file says of its columns."""
    begin_of_table, columns = struct.unpack_from("<Q", file, len(file) - 32)[0], struct.unpack_from("<I", file, len(file) - 12)[0]
    for column in range(columns):
        at, length = struct.unpack_from("<QQ", file, begin_of_table + 16 * column)
        for number, _, page in fields(file[at : at + length]):
            if number == 2 and isinstance(page, bytes):
                said = {n: value for n, _, value in fields(page) if isinstance(value, bytes)}
                yield list(zip(varints(said.get(1, b"")), varints(said.get(2, b"")), strict=True))


def test_a_zero_anywhere_in_any_name_is_found(graph: Path) -> None:
    place, tried = Place.at(str(graph)), 0
    for path in lance_files(graph):
        data = (graph / path).read_bytes()
        for name in NAME.finditer(data):
            for at in (name.start(), (name.start() + name.end()) // 2, name.end() - 1):
                tried += 1
                with damaged(graph / path, data[:at] + b"\0" + data[at + 1 :]), pytest.raises(StorageError, match="damaged"):
                    Sound(place).require([path])
    assert tried > 500


def test_what_is_no_file_of_lance_is_left_to_lance(tmp_path: Path) -> None:
    sound = Sound(Place.at(str(tmp_path)))
    for number, content in enumerate([b"", b"LANC", b"\0" * 40, b"x" * 100, b"\xff" * 36 + b"LANC", b"\0" * 36 + b"LANC"]):
        (tmp_path / f"{number}").write_bytes(content)
        sound.require([f"{number}"])
    sound.require(["missing"])


def test_a_process_that_reads_or_verifies_them_lives(graph: Path, reader: Reader) -> None:
    files = [p for p in lance_files(graph) if p.startswith("nodes/")]
    for path in (next(p for p in files if "/data/" in p), next(p for p in files if p.endswith("page_lookup.lance"))):
        data = (graph / path).read_bytes()
        *_, name = NAME.finditer(data)
        at = (name.start() + name.end()) // 2 - 4
        with damaged(graph / path, data[:at] + bytes(8) + data[at + 8 :]):
            assert reader.run(ask, graph) is not None, path
            found = reader.run(verified, graph)
        assert found is not None
        assert any(path in problem for problem in found["verify"][1])
