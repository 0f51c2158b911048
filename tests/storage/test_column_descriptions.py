"""Files whose descriptions of columns hold zeros are refused before Lance sees them; everything else is left to Lance."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage.damaging import Reader, ask, damaged, make, verified

from omnigraph.errors import StorageError
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format.column_descriptions import Sound

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
    Sound(Place.at(str(graph))).require(lance_files(graph))


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
