"""Files with mistakes: all of them are found in one go, with their lines, and nothing changes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import pytest
from tests.engine.load.loading import EVERYTHING, graph, refused, rules, written

import omnigraph as og
from omnigraph.engine.write.violations import SHOWN
from omnigraph.model.blobs import BASE64

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    email: String? @unique
    mood: enum(good, bad)?
    code: String?
    @range(age, 0..150)
    @check(code, "^[A-Z]+$")
}
edge Knows: Person -> Person { since: Date? }
edge Boss: Person -> Person @card(0..1)
"""

KINDS = {
    "json": lambda n: f'{{"type": "Person", "data": {{"name": "j{n}"',
    "duplicate_member": lambda n: f'{{"type": "Person", "data": {{"name": "d{n}", "age": 1, "age": 2}}}}',
    "unknown_type": lambda n: f'{{"type": "Persona", "data": {{"name": "t{n}"}}}}',
    "unknown_property": lambda n: f'{{"type": "Person", "data": {{"name": "p{n}", "agee": 1}}}}',
    "type": lambda n: f'{{"type": "Person", "data": {{"name": "y{n}", "age": "old"}}}}',
    "required": lambda n: f'{{"type": "Person", "data": {{"age": {n}}}}}',
    "enum": lambda n: f'{{"type": "Person", "data": {{"name": "e{n}", "mood": "so so"}}}}',
    "range": lambda n: f'{{"type": "Person", "data": {{"name": "r{n}", "age": {200 + n}}}}}',
    "check": lambda n: f'{{"type": "Person", "data": {{"name": "c{n}", "code": "abc"}}}}',
    "record": lambda n: f'{{"edge": "Knows", "from": "person1", "data": {{"since": {n}}}}}',
    "endpoint": lambda n: f'{{"edge": "Knows", "from": "person1", "to": "nobody{n}"}}',
    "unique": lambda n: f'{{"type": "Person", "data": {{"name": "u{n}", "email": "p{n}@x.org"}}}}',
    "cardinality": lambda n: f'{{"edge": "Boss", "from": "person{n}", "to": "person2"}}',
}


def clean(number: int, rng: Random) -> str:
    if number < 40_000:
        data = {"name": f"person{number}", "age": number % 100, "email": f"p{number}@x.org", "mood": "good", "code": "ABC"}
        return json.dumps({"type": "Person", "data": data})
    if number < 45_000:
        return json.dumps({"edge": "Boss", "from": f"person{number - 40_000}", "to": "person1"})
    ends = {"from": f"person{rng.randrange(40_000)}", "to": f"person{rng.randrange(40_000)}"}
    return json.dumps({"edge": "Knows", **ends, "data": {"since": "2020-02-02"}})


def test_a_hundred_thousand_lines_with_mistakes_of_many_kinds(tmp_path: Path) -> None:
    rng = Random(5)
    lines = [clean(number, rng) for number in range(100_000)]
    expected = set()
    places = rng.sample(range(100_000), 4 * len(KINDS))
    for at, place in enumerate(places):
        kind = list(KINDS)[at % len(KINDS)]
        lines.insert(place, "")  # a blank line, which counts
        lines[place] = KINDS[kind](at)
    kinds = {KINDS[kind](at): kind for at in range(len(places)) for kind in [list(KINDS)[at % len(KINDS)]]}
    expected = {(number, kinds[line]) for number, line in enumerate(lines, 1) if line in kinds}
    path = written(tmp_path / "people.jsonl", lines)
    g = graph(tmp_path, SCHEMA)
    found = refused(g, path)
    later = {"unique", "cardinality"}  # of two lines that clash, the later one is named, whichever was put in
    assert {(v.line, v.rule) for v in found if v.rule not in later} == {e for e in expected if e[1] not in later}
    assert sorted(v.rule for v in found if v.rule in later) == sorted(rule for _, rule in expected if rule in later)
    assert all(v.file == str(path) and v.line is not None for v in found)
    assert [v.line for v in found] == sorted(v.line for v in found if v.line is not None)
    with pytest.raises(og.ValidationError) as error:
        g.load(path)
    message = str(error.value)
    assert f"{len(found)} violations" in message
    assert message.count("people.jsonl:") == SHOWN
    assert f"and {len(found) - SHOWN} more" in message


def test_one_line_may_break_several_rules(tmp_path: Path) -> None:
    record = {"type": "Person", "data": {"name": "x", "age": "1", "mood": "meh", "code": "x", "zz": 1, "_rowid": 2}}
    found = refused(graph(tmp_path, SCHEMA), written(tmp_path / "a.jsonl", [record]))
    assert sorted(rules(found)) == ["check", "enum", "reserved_name", "type", "unknown_property"]


def test_edges_to_nodes_that_were_refused_are_not_reported_too(tmp_path: Path) -> None:
    lines = [{"type": "Person", "data": {"name": "x", "age": "1"}}, {"edge": "Knows", "from": "x", "to": "x"}]
    assert rules(refused(graph(tmp_path, SCHEMA), written(tmp_path / "a.jsonl", lines))) == ["type"]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("[]", "record"),
        ("1", "record"),
        ("{}", "record"),
        ('{"type": "Thing", "edge": "Near", "from": "a", "to": "b"}', "record"),
        ('{"type": 1}', "record"),
        ('{"type": "Thing", "data": []}', "record"),
        ('{"type": "Thing", "data": null}', "record"),
        ('{"type": "Thing", "data": {"name": "x"}, "from": "y"}', "record"),
        ('{"type": "Thing", "data": {"name": "x"}, "_tombstone": true}', "reserved_name"),
        ('{"type": "Thing", "data": {"name": "x", "_rowid": 1}}', "reserved_name"),
        ('{"edge": "Near", "from": "a", "to": 1}', "record"),
        ('{"edge": "Near", "from": "a", "to": "a", "data": {"src": "a"}}', "reserved_name"),
        ('{"edge": "Nearr", "from": "a", "to": "a"}', "unknown_type"),
        ('{"type": "thing", "data": {"name": "x"}}', "unknown_type"),
        ('{"type": "Thing", "data": {"name": "x", "id": 1}}', "id"),
        ('{"type": "Thing", "data": {"name": "x", "id": "y"}}', "id"),
        ('{"type": "Plain", "data": {}}', "required"),
        ('{"type": "Plain", "data": {"note": null}}', "required"),
        ('{"type": "Thing", "data": {"name": "x", "words": ["a", null]}}', "type"),
        ('{"type": "Thing", "data": {"name": "x", "words": ["a", 1]}}', "type"),
        ('{"type": "Thing", "data": {"name": "x", "u32": -1}}', "type"),
        ('{"type": "Thing", "data": {"name": "x", "day": "31.1.2024"}}', "type"),
        ('{"type": "Thing", "data": {"name": "x", "moment": "2024-01-31T10:30Z"}}', "type"),
        ('{"type": "Thing", "data": {"name": "x", "f64": NaN}}', "json"),
        ('{"type": "Thing", "data": {"name": "\\ud800"}}', "type"),
        ('{"type": "Thing", "data": {"name": "x", "numbers": ' + "[" * 5000 + "]" * 5000 + "}}", "json"),
        ('{"type": "Thing", "data": {"name": "x", "numbers": [' + "[]," * 131_072 + "1]}}", "limit"),
        (f'{{"type": "Thing", "data": {{"name": "x", "blob": "{BASE64}a"}}}}', "type"),
        ('{"type": "Thing", "data": {"name": "x", "i32": ' + "9" * 5000 + "}}", "type"),
    ],
)
def test_each_mistake_has_a_name(tmp_path: Path, line: str, rule: str) -> None:
    found = refused(graph(tmp_path, EVERYTHING), written(tmp_path / "a.jsonl", ["", line]))
    assert rules(found)[0] == rule
    assert found[0].line == 2


def test_a_long_line_is_fine_when_its_length_is_text(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load(written(tmp_path / "a.jsonl", [{"type": "Plain", "data": {"note": ",:[" * 70_000}}]))
    assert g.stats().types[0].rows + sum(t.rows for t in g.stats().types[1:]) == 1


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"type":"Plain","data":{"note":"x"}}\n' * 100)[:-20])
    (tmp_path / "Plain.parquet").write_bytes(b"PAR1 nonsense")
    for name in ("a.jsonl.gz", "Plain.parquet"):
        (found,) = refused(g, tmp_path / name)
        assert (found.rule, found.file) == ("file", str(tmp_path / name))


def test_windows_lines_blank_lines_and_no_last_newline(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\r\n{"type":"Plain","data":{"note":"x"}}\r\n  \t\r\n{"type":"Plain","data":{"note":"y"}}')
    g = graph(tmp_path, EVERYTHING)
    assert g.load(path).nodes_loaded == {"Plain": 2}


def test_edges_without_ids_that_have_the_same_are_named_by_their_ends(tmp_path: Path) -> None:
    g = graph(
        tmp_path, "node P { k: I64 @key  u: String? @unique }  edge E: P -> P { @unique(src, dst) }  node N { u: I64? @unique }"
    )
    lines: list[dict[str, object]] = [{"type": "P", "data": {"k": 1}}, {"type": "P", "data": {"k": 2}}]
    edge = {"edge": "E", "from": "1", "to": "2"}
    (found,) = refused(g, written(tmp_path / "a.jsonl", [*lines, edge, edge]))
    assert found.message == "E from `1` to `2` and another one both have dst = '2', src = '1', which must be unique"
    (found,) = refused(g, {"N": [{"u": 7}, {"u": 7}]})
    assert found.message == "N and another one both have u = 7, which must be unique"
    g.load(written(tmp_path / "b.jsonl", [*lines, edge]))
    (found,) = refused(g, written(tmp_path / "c.jsonl", [edge]))
    assert found.message.startswith("E from `1` to `2` and `")
    assert "None" not in found.message
