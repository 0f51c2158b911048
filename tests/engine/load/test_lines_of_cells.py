"""Lines of CSV files in messages: those an editor shows, whatever the message is about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.engine.load.loading import graph, refused

MESSY = 'name,bio,age\n\nAda,"one\ntwo",1\nBob,x\nCy,"a, b",3\n{}\n'
"""An empty line, a record of two lines, one with too few cells, and then whatever comes at line 7."""


@pytest.mark.parametrize("mode", ["merge", "append", "overwrite"])
@pytest.mark.parametrize(("again", "first"), [("Ada", 3), ("Cy", 6)])
def test_where_a_key_came_first(tmp_path: Path, mode: str, again: str, first: int) -> None:
    schema = "node Person { name: String @key  bio: String?  age: I64? }"
    (tmp_path / "Person.csv").write_text(MESSY.format(f"{again},,9"))
    found = next(v for v in refused(graph(tmp_path, schema), tmp_path / "Person.csv", mode=mode) if v.rule == "unique")
    assert (found.line, found.message) == (7, f"Person `{again}` is there twice, first at line {first}")


def test_where_a_key_came_first_in_another_file_and_in_what_is_left_out(tmp_path: Path) -> None:
    schema = "node Person { name: String @key  bio: String?  age: I64? }"
    data = tmp_path / "data" / "Person"
    data.mkdir(parents=True)
    (data / "1.csv").write_text(MESSY.format("Dan,,9"))
    (data / "2.csv").write_text("name,age\nEve,1\nDan,2\n")
    (data / "3.csv").write_text("name,age\nAda,2\n")
    g = graph(tmp_path, schema)
    expected = {
        (3, f"Person `Dan` is there twice, first at {data / '1.csv'}:7"),
        (2, f"Person `Ada` is there twice, first at {data / '1.csv'}:3"),
    }
    assert {(v.line, v.message) for v in refused(g, tmp_path / "data") if v.rule == "unique"} == expected
    result = g.load(tmp_path / "data", quarantine=tmp_path / "bad.jsonl")
    assert result.quarantine is not None
    left_out = [json.loads(line) for line in Path(result.quarantine).read_text().splitlines()]
    assert {(r["line"], v["message"]) for r in left_out for v in r["violations"] if v["rule"] == "unique"} == expected


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["unix", "dos"])
@pytest.mark.parametrize("line", [1, 2, 4])
def test_lines_that_are_no_utf8(tmp_path: Path, line: int, ending: str) -> None:
    schema = "node Person { name: String @key  bio: String? }"
    lines = ["name,bio", "Ada,x", 'Bob,"a, b"', "Cy,y"]
    lines[line - 1] += "é"
    (tmp_path / "Person.csv").write_bytes("".join(f"{text}{ending}" for text in lines).encode("latin-1"))
    for quarantine in (None, tmp_path / "bad.jsonl"):
        (found,) = refused(graph(tmp_path, schema), tmp_path / "Person.csv", quarantine=quarantine)
        assert (found.rule, found.line, found.file) == ("encoding", line, str(tmp_path / "Person.csv"))
        assert found.message == f"not UTF-8: invalid continuation byte at byte {len(lines[line - 1])}"
