"""Catalogues of stored queries: what is in them, what is refused, what does not fit a schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.catalog.opening import offline_catalog
from omnigraph.errors import BrokenQueries
from omnigraph.language import Source
from omnigraph.service.stored import NO_QUERIES, StoredQueries, validate
from omnigraph.service.stored.catalogue import read_named, read_named_files, read_paths, read_texts

FIND = "query find($n: String) { match { $p: Person { name: $n } } return { $p.age } }"
ADD = "query add($n: String) { insert Person { name: $n } }"
SCHEMA = offline_catalog(Source("node Person { name: String @key  age: I32? }"))


def write(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.gq").write_text(text)
    return folder


def codes(read: tuple[StoredQueries, tuple[object, ...]]) -> list[tuple[str, str]]:
    return [(p.code, p.about) for p in read[1]]  # type: ignore[attr-defined]


def test_a_folder_registers_every_declaration_of_its_own_files(tmp_path: Path) -> None:
    folder = write(tmp_path / "q", b=FIND, a=f"{ADD}\nquery all() {{ match {{ $p: Person }} return {{ $p.name }} }}")
    write(folder / "inside", c="query inner() { match { $p: Person } return { $p.name } }")
    (folder / "notes.txt").write_text("no query")
    found = StoredQueries.of_paths(folder)
    assert [(q.name, q.kind, Path(q.source.name).name) for q in found] == [
        ("add", "mutation", "a.gq"),
        ("all", "read", "a.gq"),
        ("find", "read", "b.gq"),
    ]
    assert repr(found) == "3 stored queries: add, all, find"
    assert repr(found["find"]) == "Stored read find($n: String)"
    assert found.get("inner") is None
    assert "add" in found
    assert "inner" not in found


def test_files_and_texts_register_the_same(tmp_path: Path) -> None:
    folder = write(tmp_path / "q", a=ADD, b=FIND)
    by_files = StoredQueries.of_paths(folder / "b.gq", folder / "a.gq")
    by_texts = StoredQueries.of_texts([Source(ADD, str(folder / "a.gq")), Source(FIND, str(folder / "b.gq"))])
    assert by_files == by_texts == StoredQueries.of_paths(folder)


def test_a_map_registers_what_it_names(tmp_path: Path) -> None:
    folder = write(tmp_path / "q", both=f"{ADD}\n{FIND}")
    found, problems = read_named_files({"find": folder / "both.gq"})
    assert ([q.name for q in found], problems) == (["find"], ())
    assert [q.name for q in StoredQueries.of_names({"add": Source(f"{ADD}\n{FIND}")})] == ["add"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, [("query_dir_empty", "q")]),
        ({"a": "query ("}, [("query_parse_error", "q/a.gq")]),
        ({"a": ADD, "b": ADD}, [("duplicate_query_name", "add")]),
        ({"a": f"{ADD}\n{ADD}"}, [("duplicate_query_name", "add")]),
        (
            {"a": "query (", "b": "query )", "c": f"{ADD} {ADD}"},
            [("query_parse_error", "q/a.gq"), ("query_parse_error", "q/b.gq"), ("duplicate_query_name", "add")],
        ),
    ],
)
def test_everything_that_is_wrong_is_found_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("q"), **files)
    assert codes(read_paths(["q"])) == expected
    with pytest.raises(BrokenQueries) as raised:
        StoredQueries.of_paths("q")
    assert set(raised.value.broken) == {about for _, about in expected}
    assert all(about in raised.value.message for _, about in expected)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.gq").write_bytes(b"query \xff")
    assert codes(read_paths([tmp_path / "none.gq", tmp_path / "x.gq"])) == [
        ("query_file_missing", str(tmp_path / "none.gq")),
        ("query_parse_error", str(tmp_path / "x.gq")),
    ]


def test_a_map_whose_key_is_not_declared() -> None:
    read = read_named({"fnd": Source(FIND, "f.gq"), "add": Source(ADD, "a.gq")})
    assert codes(read) == [("query_key_mismatch", "fnd")]
    assert "did you mean `find`?" in read[1][0].message
    assert [q.name for q in read[0]] == ["add"]


def test_tools_have_names_of_their_own() -> None:
    named = {"add": Source(ADD, "a.gq"), "find": Source(FIND, "f.gq")}
    found, problems = read_named(named, {"find": "search_people"})
    assert ([q.tool_name for q in found], problems) == (["add", "search_people"], ())
    assert codes(read_named(named, {"find": "add"})) == [("duplicate_tool_name", "find")]


def test_what_fits_and_what_does_not_is_told_of_every_query() -> None:
    texts = [
        FIND,
        "query old() { match { $p: Persn } return { $p.nme } }",
        "query gone($n: String) { insert Person { name: $n, height: 3 } }",
        'query mixed($n: String) { insert Person { name: $n } delete Person where name = "x" }',
        'query fixed() { insert Person { name: "Ada" } }',
    ]
    found = validate(StoredQueries.of_texts(Source(text, f"{n}.gq") for n, text in enumerate(texts)), SCHEMA)
    assert not found.ok
    assert [remark.query for remark in found.breakages] == ["gone", "mixed", "old"]
    assert "height" in found.breakages[0].message
    assert "split it into two" in found.breakages[1].message
    assert found.breakages[2].diagnostics
    assert [remark.query for remark in found.warnings] == ["fixed"]
    assert list(found.to_dict()) == ["ok", "breakages", "warnings"]
    with pytest.raises(BrokenQueries, match="stored queries do not fit the schema") as raised:
        found.require()
    assert list(raised.value.broken) == ["gone", "mixed", "old"]


def test_no_queries_fit_every_schema() -> None:
    assert validate(NO_QUERIES, SCHEMA).ok
    assert not NO_QUERIES
    assert read_texts([]) == (NO_QUERIES, ())
