"""Commands about the data of a graph: load, query, mutate, export, blob, embed, alias."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.surfaces.calling import ADD, NAMES, PHOTO, RECORDS, Call

import omnigraph as og_api

# ── load ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "people.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in RECORDS))
    return path


def test_load_tells_what_it_did(og: Call, people: Path, records: Path) -> None:
    ran = og("load", people, "--data", records, "--mode", "merge", "--as", "etl")
    assert ran.out == f"loaded {people} on branch main with merge: 7 entities across 2 node types and 2 edge types\n"
    assert ran.err == f"omnigraph load → {people} (direct, local)\n"
    assert og("load", people, "--data", records, "--mode", "merge", "--quiet").err == ""
    with og_api.open(people) as g:
        assert g.commits(limit=2)[1].actor == "etl"


def test_load_changes_only_what_is_given(og: Call, people: Path, tmp_path: Path) -> None:
    path = tmp_path / "ages.jsonl"
    path.write_text('{"type": "Person", "data": {"name": "Ada", "age": 77}}\n')
    assert og("load", people, "--data", path, "--mode", "patch", "--quiet").code == 0
    with og_api.open(people) as g:
        (ada,) = g.query('query q() { match { $p: Person { name: "Ada" } } return { $p.age as age, $p.bio as bio } }').rows
        assert ada == {"age": 77, "bio": "Wrote the first program"}
        assert g.blob("node", "Person", "Ada", "photo").data == PHOTO
    path.write_text('{"type": "Person", "data": {"name": "Nobody"}}\n')
    refused = og("load", people, "--data", path, "--mode", "update")
    assert refused.code != 0
    assert "Person `Nobody` does not exist" in refused.err


def test_load_of_the_compatible_dialect(og: Call, people: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text('{"type": "Person", "data": {"name": "Ida", "age": "unknown", "shoes": 2}}\n')
    load = ("load", people, "--data", path, "--mode", "merge")
    assert og(*load).code == og(*load, "--dialect", "strict").code == 1
    assert og(*load, "--dialect", "compatible").code == 0
    assert og(*load, "--dialect", "loose").code == 2
    with og_api.open(people) as g:
        found = g.get("Person", "Ida")
    assert found is not None
    assert found["age"] is None


def test_load_onto_a_new_branch(og: Call, people: Path, records: Path) -> None:
    missing = og("load", people, "--data", records, "--mode", "merge", "--branch", "etl/7")
    assert missing.code == 1
    assert "Pass --from … to create it." in missing.err
    ran = og("load", people, "--data", records, "--mode", "merge", "--branch", "etl/7", "--from", "main")
    assert ran.lines[-1] == "branch etl/7 created from main"
    data = og("load", people, "--data", records, "--mode", "merge", "--branch", "etl/8", "--from", "main", "--json").json
    assert list(data) == [
        "uri",
        "branch",
        "mode",
        "base_branch",
        "branch_created",
        "nodes",
        "edges",
        "total_entities",
        "actor_id",
        "commit",
    ]
    assert data["nodes"] == [{"name": "Company", "entities_loaded": 1}, {"name": "Person", "entities_loaded": 3}]
    assert og("commit", "show", data["commit"]["graph_commit_id"], "--uri", people, "--json").json == data["commit"]


def test_load_without_from_names_no_base(og: Call, people: Path, records: Path) -> None:
    assert "base_branch" not in og("load", people, "--data", records, "--mode", "merge", "--json").json


def test_a_load_needs_a_mode_and_data(og: Call, people: Path, records: Path) -> None:
    assert "--mode" in og("load", people, "--data", records).err
    assert og("load", people, "--mode", "merge").code == 2
    assert og("load", people, "--data", records, "--mode", "upsert").code == 2


def test_what_is_wrong_is_put_aside_if_asked(og: Call, people: Path, records: Path, tmp_path: Path) -> None:
    with records.open("a") as file:
        file.write("nonsense\n")
    aside = tmp_path / "aside"
    load = ("load", people, "--data", records, "--mode", "merge", "--quarantine", aside)
    ran = og(*load)
    (put,) = aside.iterdir()
    assert ran.lines[-1] == f"quarantined: 1, see {put}"
    assert json.loads(put.read_text())["record"] == "nonsense"
    again = og(*load, "--max-bad", "20%", "--json").json
    assert (again["quarantined"], Path(again["quarantine"]).parent) == (1, aside)
    for limit in ("0", "1%", "0.1"):
        told = og(*load, "--max-bad", limit)
        assert (told.code, "1 of 8 records are wrong" in told.err) == (1, True), told.err
    assert og(*load, "--max-bad", "few").code == 1
    assert len(list(aside.iterdir())) == 2


def test_files_that_nobody_can_read_are_named_and_left_out_if_asked(og: Call, people: Path, records: Path) -> None:
    folder = records.parent / "folder"
    folder.mkdir()
    (folder / "notes.txt").write_text("x")
    (folder / records.name).write_text(records.read_text())
    told = og("load", people, "--data", folder, "--mode", "merge")
    assert (told.code, "notes.txt" in told.err) == (1, True)
    ran = og("load", people, "--data", folder, "--mode", "merge", "--skip-unknown")
    assert ran.lines[-1] == f"skipped: {folder / 'notes.txt'}"


def test_an_overwrite_that_would_empty_a_type_asks(og: Call, people: Path, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "Company.csv").write_text("name\n")
    (tmp_path / "WorksAt.csv").write_text("from,to\n")
    load = ("load", people, "--data", tmp_path / "Company.csv", "--data", tmp_path / "WorksAt.csv", "--mode", "overwrite")
    told = og(*load, "--json")
    assert (told.code, told.json["code"], sorted(told.json["types"])) == (1, "would_empty", ["Company", "WorksAt"])
    assert "--allow-empty" in og(*load).err
    answers = iter(["no\n", "yes\n"])
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True, readline=lambda: next(answers)))
    from omnigraph.errors import NotConfirmed, WouldEmpty
    from omnigraph.surfaces.cli.confirmation import ask

    with pytest.raises(NotConfirmed, match="not confirmed"):
        ask(WouldEmpty("this would"), as_json=False)
    ask(WouldEmpty("this would"), as_json=False)
    assert og(*load, "--allow-empty").code == 0


def test_everything_that_is_wrong_is_told_and_nothing_is_changed(og: Call, people: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"type": "Person", "data": {"name": "Z", "age": "old"}}\n{"edge": "Knows", "from": "Z", "to": "Nobody"}\n')
    before = og("commit", "list", people, "--json").json
    ran = og("load", people, "--data", bad, "--mode", "merge")
    assert ran.code == 1
    assert "2 violations" in ran.err
    assert f"{bad}:1" in ran.err
    assert f"{bad}:2" in ran.err
    told = og("load", people, "--data", bad, "--mode", "merge", "--json").json
    assert [v["line"] for v in told["violations"]] == [1, 2]
    assert og("commit", "list", people, "--json").json == before


def test_append_of_what_exists_is_a_conflict(og: Call, people: Path, records: Path) -> None:
    told = og("load", people, "--data", records, "--mode", "append", "--json")
    assert (told.code, told.json["code"]) == (1, "key_conflict")


def test_tables_are_loaded_by_the_names_of_their_files(og: Call, people: Path, tmp_path: Path) -> None:
    (tmp_path / "Company.csv").write_text("name\nInitech\n")
    (tmp_path / "folk.csv").write_text("name,age\nGil,50\n")
    refused = og("load", people, "--data", tmp_path / "folk.csv", "--mode", "merge")
    assert refused.code == 1
    data = og(
        "load", people, "--mode", "merge", "--data", tmp_path / "Company.csv", "--data", tmp_path / "folk.csv",
        "--type", "folk.csv=Person", "--json",
    ).json  # fmt: skip
    assert data["total_entities"] == 2
    assert og("load", people, "--mode", "merge", "--data", tmp_path / "folk.csv", "--type", "Person").code == 1


def test_load_from_stdin(og: Call, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"type": "Person", "data": {"name": "Hal"}}\n')))
    assert og("load", people, "--data", "-", "--mode", "append", "--json").json["total_entities"] == 1
    assert og("load", people, "--data", "-", "--data", "x.jsonl", "--mode", "append").code == 2


def test_ingest_still_works_and_says_that_it_is_old(og: Call, people: Path, records: Path) -> None:
    ran = og("ingest", people, "--data", records, "--branch", "fresh")
    assert ran.code == 0
    assert "`omnigraph ingest` is now `omnigraph load`" in ran.err
    assert "branch fresh created from main" in ran.out


# ── query ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_forms_of_an_answer(og: Call, people: Path) -> None:
    ask = ("query", "--store", people, "-e", NAMES)
    assert og(*ask).lines == [
        "3 rows from branch main via names",
        "p.name | p.age",
        "-------+------",
        "Ada    | 36",
        "Bob    | 41",
        "Cy     | null",
    ]
    assert og(*ask, "--format", "csv").lines == ["p.name,p.age", "Ada,36", "Bob,41", "Cy,"]
    assert og(*ask, "--format", "kv").lines[:5] == ["3 rows from branch main via names", "row 1", "p.name: Ada", "p.age: 36", ""]
    first, *rows = og(*ask, "--format", "jsonl").lines
    assert first == '{"kind":"metadata","query_name":"names","target":{"branch":"main","snapshot":null},"row_count":3}'
    assert rows[0] == '{"p.name":"Ada","p.age":36}'
    data = og(*ask, "--json").json
    assert list(data) == ["query_name", "target", "row_count", "columns", "rows", "graph_commit_id"]
    assert og(*ask, "--format", "json").json == data


def test_binary_answers(og: Call, people: Path, tmp_path: Path) -> None:
    ask = ("query", "--store", people, "-e", NAMES, "--out", tmp_path / "a")
    assert og(*ask, "--format", "arrow").code == 0
    arrow = pa.ipc.open_stream((tmp_path / "a").read_bytes()).read_all()
    assert og(*ask, "--format", "parquet").code == 0
    assert pq.read_table(tmp_path / "a").to_pylist() == arrow.to_pylist()
    assert arrow.to_pylist()[0] == {"p.name": "Ada", "p.age": 36}
    assert og(*ask[:-2], "--format", "parquet").code == 2
    assert og(*ask[:-2], "--format", "arrow").out.startswith("\ufffd")


def test_quoting_width_and_layout(og: Call, people: Path) -> None:
    og("mutate", "--store", people, "-e", ADD, "--params", json.dumps({"n": 'a,"b"\nc' + "x" * 20}))
    ask = ("query", "--store", people, "-e", 'query q() { match { $p: Person  $p.name starts_with "a," } return { $p.name } }')
    assert og(*ask, "--format", "csv").out == 'p.name\n"a,""b""\nc' + "x" * 20 + '"\n'
    og("config", "set", "defaults.table_max_column_width", "10")
    assert og(*ask).lines[-1] == 'a,"b"\\ncx…'
    og("config", "set", "defaults.table_cell_layout", "wrap")
    assert og(*ask).lines[3:] == ['a,"b"\\ncxx', "x" * 10, "x" * 8]


def test_no_rows_in_every_form(og: Call, people: Path) -> None:
    ask = ("query", "--store", people, "-e", 'query q() { match { $p: Person { name: "Nobody" } } return { $p.name } }')
    assert og(*ask).lines == ["0 rows from branch main via q", "p.name", "------"]
    assert og(*ask, "--format", "kv").lines == ["0 rows from branch main via q", "(no rows)"]
    assert og(*ask, "--json").json["rows"] == []


def test_which_query_of_a_file(og: Call, people: Path, tmp_path: Path) -> None:
    path = tmp_path / "q.gq"
    path.write_text(NAMES + "\nquery other() { match { $c: Company } return { $c.name } }")
    ran = og("query", "--store", people, "--query", path)
    assert ran.code == 1
    assert "Name one of them (NAME): names, other." in ran.err
    assert og("query", "other", "--store", people, "--query", path, "--json").json["rows"] == [{"c.name": "Acme"}]
    assert og("query", "nmes", "--store", people, "--query", path).code == 1


def test_a_problem_is_shown_in_its_file(og: Call, people: Path, tmp_path: Path) -> None:
    path = tmp_path / "typo.gq"
    path.write_text("query q() {\n    match { $p: Person }\n    return { $p.nme }\n}\n")
    ran = og("query", "--store", people, "--query", path)
    assert ran.code == 1
    assert f"{path}:3:17" in ran.err
    assert "did you mean `name`?" in ran.err
    assert og("query", "--store", people, "--query", path, "--json").json["diagnostics"][0]["line"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["-e", "  "], 1, "must not be empty"),
        ([], 2, "a query is missing"),
        (["names"], 2, "Stored queries need a server"),
        (["people.omni"], 2, "Name the graph by --store"),
        (["-e"], 2, "the text of the query is missing after -e. Write: -e 'query q() { … }'"),
        (["-e", "--branch", "main"], 2, "the text of the query is missing after -e. Write: -e 'query q() { … }'"),
        (["-e", "q.gq"], 2, "`q.gq` is not the text of a query. A file of queries is named by --query: --query q.gq"),
        ([NAMES], 2, "is the text of a query: write -e before it"),
        (["-e", NAMES, "--query", "x.gq"], 2, "exclude each other"),
        (["-e", NAMES, "--json", "--format", "csv"], 2, "exclude each other"),
        (["-e", NAMES, "--branch", "b", "--snapshot", "c"], 2, "exclude each other"),
        (["-e", NAMES, "--params", "{", "--json"], 1, "is not JSON"),
        (["-e", NAMES, "--params", "[1]"], 1, "not an object"),
        (["-e", NAMES, "--params", "{}", "--params-file", "x"], 2, "exclude each other"),
        (["-e", NAMES, "--format", "xml"], 2, "xml"),
        (["-e", NAMES, "--branch", "nowhere"], 1, "no branch `nowhere`"),
        (["-e", NAMES, "--snapshot", "nowhere"], 1, "nowhere"),
        (["-e", "query q($x: I32) { match { $p: Person { age: $x } } return { $p.name } }"], 1, "`x`"),
        (["-e", "query q($x: I32) { match { $p: Person { age: $x } } return { $p.name } }", "--params", '{"x": null}'], 1, "x"),
        (["-e", ADD, "--params", '{"n": "Z"}'], 1, "use `omnigraph mutate`"),
    ],
)
def test_questions_that_cannot_be_asked(og: Call, people: Path, arguments: list[str], code: int, told: str) -> None:
    ran = og("query", "--store", people, *arguments)
    assert (ran.code, told in ran.out + ran.err) == (code, True), ran.out + ran.err


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("query", ["-e", NAMES]),
        ("query", []),
        ("mutate", ["-e", ADD]),
        ("explain", ["-e", NAMES]),
        ("history", ["Person", "Ada"]),
        ("branch create", []),
        ("branch list", []),
        ("branch merge", ["work"]),
        ("blob get", ["node", "Person", "Ada", "photo"]),
        ("review approve", ["1"]),
        ("diff", ["main", "work"]),
    ],
)
def test_a_graph_where_something_else_belongs(og: Call, people: Path, command: str, more: list[str], settled: bool) -> None:
    if settled:
        og("config", "set", "defaults.store", str(people))
    other = people.rename(people.with_name("plain")) if command == "history" and not settled else people
    for graph in (str(other), "nowhere.omni/", "s3://bucket/people"):
        ran = og(*command.split(), graph, *more)
        said = f"`{graph}` looks like a graph, which `omnigraph {command}` takes after --store"
        assert (ran.code, said in ran.err) == (2, True), ran.err
        assert f"Write: omnigraph {command} --store {graph} …" in ran.err


def test_a_branch_may_be_called_like_a_graph(og: Call, people: Path) -> None:
    assert og("branch", "create", "old.omni", "--store", people).code == 0
    assert og("branch", "delete", "old.omni", "--uri", people, "--yes").code == 0


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (("--timeout", "0.000001"), "Or give the query more time: --timeout …."),
        (("--memory-limit", "1"), "Or give the query more memory: --memory-limit …."),
        (("--memory-limit", "0.001kB"), "the query may use 1 bytes"),
    ],
)
def test_a_query_with_limits(og: Call, people: Path, limit: tuple[str, str], told: str) -> None:
    ask = ("query", "--store", people, "-e", NAMES)
    assert og(*ask, "--timeout", "60", "--memory-limit", "2 GB").out == og(*ask).out
    ran = og(*ask, *limit)
    assert (ran.code, told in ran.err) == (1, True), ran.err
    assert og(*ask, *limit, "--json").json["code"] == "resource_limit"


@pytest.mark.parametrize(
    "wrong", [("--memory-limit", "much"), ("--memory-limit", "0"), ("--memory-limit", "-1"), ("--timeout", "0")]
)
def test_limits_that_are_none(og: Call, people: Path, wrong: tuple[str, str]) -> None:
    ran = og("query", "--store", people, "-e", NAMES, *wrong)
    assert ran.code == 2
    assert "500MB" in ran.err or wrong[0] == "--timeout"


@pytest.mark.parametrize("command", ["query", "mutate", "explain"])
@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
def test_a_graph_beside_a_forgotten_text_is_named_by_store(og: Call, people: Path, command: str, json: tuple[str, ...]) -> None:
    for given in (("people.omni", "-e"), ("-e", "people.omni"), ("people.omni", "-e", "--branch", "main")):
        ran = og(command, *given, *json)
        assert ran.code == 2
        assert f"Write: omnigraph {command} --store people.omni -e 'query q() {{ … }}'" in ran.out + ran.err
    ran = og(command, "-e", NAMES, *json)
    assert "Give its path or s3:// address with --store, or --server" in ran.out + ran.err


def test_parameters_from_a_file_and_from_stdin(og: Call, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_age = "query q($x: I32) { match { $p: Person { age: $x } } return { $p.name } }"
    (tmp_path / "p.json").write_text('{"x": 41}')
    ask = ("query", "--store", people, "-e", by_age, "--json")
    assert og(*ask, "--params-file", tmp_path / "p.json").json["rows"] == [{"p.name": "Bob"}]
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"x": 36}'))
    assert og(*ask, "--params", "-").json["rows"] == [{"p.name": "Ada"}]


def test_the_past_and_a_branch(og: Call, people: Path) -> None:
    first = og("commit", "list", people, "--json").json["commits"][-2]["graph_commit_id"]
    ask = ("query", "--store", people, "-e", NAMES)
    assert og(*ask, "--snapshot", first).lines[0] == f"3 rows from snapshot {first} via names"
    data = og(*ask, "--branch", "work", "--json").json
    assert data["target"] == {"branch": "work", "snapshot": None}
    assert data["row_count"] == 4


# ── mutate ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_mutate(og: Call, people: Path) -> None:
    ran = og("mutate", "--store", people, "-e", ADD, "--params", '{"n": "Eve"}', "--as", "me", "--message", "hello")
    assert ran.lines == ["changed main via add: 1 node, 0 edges", "actor_id: me"]
    assert ran.err == ""
    commit = og("commit", "list", people, "--json").json["commits"][0]
    assert (commit["actor_id"], commit["message"]) == ("me", "hello")
    data = og("mutate", "--store", people, "-e", 'query q() { delete Person where name = "Nobody" }', "--json").json
    assert data == {
        "branch": "main", "query_name": "q", "affected_nodes": 0, "affected_edges": 0, "actor_id": None, "commit": None,
    }  # fmt: skip
    assert og("mutate", "--store", people, "-e", NAMES).code == 1


def test_a_mutation_that_changes_nothing_says_so(og: Call, people: Path, tmp_path: Path) -> None:
    keyed = tmp_path / "keyed.omni"
    with og_api.init(keyed, "node Person { name: String @key }\nedge Likes: Person -> Person @key(src, dst)") as g:
        g.load({"Person": [{"name": "Ada"}, {"name": "Bob"}]})
    again = ("mutate", "--store", keyed, "-e", 'query q() { insert Likes { from: "Ada", to: "Bob" } }')
    assert og(*again).lines == ["changed main via q: 0 nodes, 1 edge"]
    assert og(*again).lines == ["changed main via q: 0 nodes, 1 edge", "nothing is different: no commit was made"]
    nobody = og("mutate", "--store", people, "-e", 'query q() { delete Person where name = "Nobody" }')
    assert nobody.lines == ["changed main via q: 0 nodes, 0 edges", "nothing is different: no commit was made"]


def test_a_load_that_changes_nothing_says_so(og: Call, tmp_path: Path) -> None:
    og_api.init(tmp_path / "g.omni", "node Person { name: String @key }").close()
    (tmp_path / "Person.csv").write_text("name\nAda\n")
    load = ("load", tmp_path / "g.omni", "--data", tmp_path / "Person.csv", "--mode", "merge")
    said = f"loaded {tmp_path / 'g.omni'} on branch main with merge: 1 entity across 1 node type and 0 edge types"
    assert og(*load).lines == [said]
    assert og(*load).lines == [said, "nothing is different: no commit was made"]
    (tmp_path / "Person.csv").write_text("_op,name\ndelete,Bob\n")
    assert og(*load).lines[1:] == ["nothing is different: no commit was made", "missing: Person 1"]
    made = og(*load, "--branch", "new", "--from", "main")
    assert made.lines[1:] == ["nothing is different: no commit was made", "branch new created from main", "missing: Person 1"]


def test_a_lost_precondition_exits_with_4(og: Call, people: Path) -> None:
    head = og("query", "--store", people, "-e", NAMES, "--json").json["graph_commit_id"]
    call = ("mutate", "--store", people, "-e", ADD, "--params", '{"n": "Eve"}', "--if-commit", head)
    done = og(*call, "--json")
    assert done.code == 0
    lost = og(*call, "--json")
    assert lost.code == 4
    assert lost.json["precondition_failure"] == {"expected": head, "actual": done.json["commit"]["graph_commit_id"]}
    told = og(*call)
    assert (told.code, told.out) == (4, "")
    assert head in told.err


def test_a_mixed_mutation_is_refused(og: Call, people: Path) -> None:
    mixed = 'query q() { insert Person { name: "X" } delete Person where name = "Ada" }'
    assert og("mutate", "--store", people, "-e", mixed, "--json").json["code"] == "mixed_mutation"


# ── export, blob ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_export_loads_back(og: Call, people: Path, tmp_path: Path) -> None:
    text = og("export", people).out
    (tmp_path / "all.jsonl").write_text(text)
    (tmp_path / "s.pg").write_text(og("schema", "show", people).out)
    og("init", tmp_path / "copy.omni", "--schema", tmp_path / "s.pg")
    assert og("load", tmp_path / "copy.omni", "--data", tmp_path / "all.jsonl", "--mode", "append").code == 0
    assert og("export", tmp_path / "copy.omni").out == text
    some = og("export", people, "--type", "Company").lines
    assert [json.loads(line) for line in some] == [{"type": "Company", "data": {"id": "Acme", "name": "Acme"}}]
    assert og("export", people, "--type", "Nope").code == 1
    assert og("export", people, "--json").code == 2
    done = og("export", people, "--out", tmp_path / "out.jsonl", "--json").json
    assert (done["entities"], done["bytes"]) == (7, len((tmp_path / "out.jsonl").read_bytes()))
    assert "not needed" in og("export", people, "--jsonl").err


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_an_export_of_tables_loads_back(og: Call, people: Path, tmp_path: Path, format_: str) -> None:
    assert og("export", people, "--format", format_).code == 2  # a folder is wanted
    done = og("export", people, "--format", format_, "--out", tmp_path / "out", "--json").json
    files = list((tmp_path / "out").iterdir())
    assert (done["entities"], done["bytes"]) == (7, sum(file.stat().st_size for file in files))
    assert {file.suffix for file in files} == {f".{format_}"}
    assert og("export", people, "--format", format_, "--out", tmp_path / "out").code == 1  # and it is not empty
    (tmp_path / "s.pg").write_text(og("schema", "show", people).out)
    og("init", tmp_path / "copy.omni", "--schema", tmp_path / "s.pg")
    assert og("load", tmp_path / "copy.omni", "--data", tmp_path / "out", "--mode", "append").code == 0
    assert og("export", tmp_path / "copy.omni").out == og("export", people).out


def test_the_bytes_of_a_blob(og: Call, people: Path, tmp_path: Path) -> None:
    out = tmp_path / "photo.png"
    get = ("blob", "get", "node", "Person", "Ada", "photo", "--uri", people)
    assert og(*get, "--out", out, "--json").json == {"out": str(out), "bytes": len(PHOTO)}
    assert out.read_bytes() == PHOTO
    og(*get, "--out", out, "--offset", "2", "--length", "3")
    assert out.read_bytes() == PHOTO[2:5]
    og(*get, "--out", out, "--offset", "60", "--length", "1000")
    assert out.read_bytes() == PHOTO[60:]


@pytest.mark.parametrize("arguments", [["--length", "0"], ["--offset", "9999"], ["--length", str(2**63)]])
def test_a_range_that_cannot_be_read_leaves_the_file_alone(og: Call, people: Path, tmp_path: Path, arguments: list[str]) -> None:
    out = tmp_path / "keep"
    out.write_text("as it was")
    assert og("blob", "get", "node", "Person", "Ada", "photo", "--uri", people, "--out", out, *arguments).code == 1
    assert out.read_text() == "as it was"


def test_a_description_of_a_blob(og: Call, people: Path) -> None:
    data = og("blob", "stat", "node", "Person", "Ada", "photo", "--uri", people, "--json").json
    assert data["selector"] == {"entity": "node", "type": "Person", "id": "Ada", "property": "photo"}
    assert (data["kind"], data["size"]) == ("managed", len(PHOTO))
    assert set(data["target"]) == {"resolved_snapshot"}
    missing = og("blob", "stat", "node", "Person", "Bob", "photo", "--uri", people)
    assert (missing.code, "Blob cell not found" in missing.err) == (1, True)
    assert og("blob", "stat", "thing", "Person", "Bob", "photo", "--uri", people).code == 2
    assert "invalid Blob selector" in og("blob", "stat", "node", "Person", "Ada", "name", "--uri", people).err


def test_a_blob_that_is_elsewhere_is_described_and_not_followed(og: Call, people: Path, tmp_path: Path) -> None:
    (tmp_path / "ada.png").write_bytes(PHOTO)
    uri = (tmp_path / "ada.png").resolve().as_uri()
    with og_api.open(people, external_blobs=og_api.ExternalBlobs.allow(tmp_path.resolve().as_uri())) as g:
        ends = [{"type": "Person", "data": {"name": name}} for name in ("Ada", "Bob", "Cy")]
        eve = {"type": "Person", "data": {"name": "Eve", "photo": uri}}
        g.load([eve, *ends], mode="overwrite", branch="elsewhere", from_="main")
    where = ("node", "Person", "Eve", "photo", "--uri", people, "--branch", "elsewhere")
    data = og("blob", "stat", *where, "--json").json
    assert (data["kind"], data["uri"], "size" in data, "etag" in data) == ("external", uri, False, False)
    assert f"kind: external\nuri: {uri}\n" in og("blob", "stat", *where).out
    out = tmp_path / "keep"
    out.write_text("as it was")
    refused = og("blob", "get", *where, "--out", out)
    assert (refused.code, uri in refused.err, "blob stat" in refused.err) == (1, True, True)
    assert out.read_text() == "as it was"
    assert uri in og("export", people, "--branch", "elsewhere", "--type", "Person").out


def test_the_command_line_allows_no_uri_for_a_blob(og: Call, people: Path, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text(
        json.dumps({"type": "Person", "data": {"name": "Eve", "photo": f"file://{tmp_path}/x"}}) + "\n"
    )
    loaded = og("load", people, "--data", tmp_path / "p.jsonl", "--mode", "merge", "--json")
    assert (loaded.code, loaded.json["code"], loaded.json["violations"][0]["rule"]) == (1, "validation_failed", "blob")
    assert loaded.json["violations"][0]["line"] == 1
    insert = 'query add($p: Blob) { insert Person { name: "Eve", photo: $p } }'
    mutated = og("mutate", "--store", people, "-e", insert, "--params", json.dumps({"p": f"file://{tmp_path}/x"}), "--json")
    assert (mutated.code, mutated.json["code"]) == (1, "blob_refused")


# ── embed ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    lines = [
        {"type": "Doc", "data": {"slug": "a", "title": "One"}},
        {"type": "Doc", "data": {"slug": "b", "title": "Two", "vector": [1.0, 0.0]}},
        {"type": "Other", "data": {"slug": "c"}},
        {"edge": "Cites", "from": "a", "to": "b"},
    ]
    (tmp_path / "raw.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "spec.json").write_text('{"dimension": 2, "types": {"Doc": {"target": "vector", "fields": ["title", "body"]}}}')
    (tmp_path / "seed.yaml").write_text("sources: { raw_seed: raw.jsonl }\nembeddings: { spec: spec.json }\n")
    return tmp_path


def vectors(path: Path) -> dict[str, object]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return {r["data"]["slug"]: r["data"].get("vector") for r in found if "type" in r}


def test_embed_fills_in_what_is_missing(og: Call, seed: Path) -> None:
    data = og("embed", "--seed", seed / "seed.yaml", "--json").json
    assert (data["records"], data["selected_records"], data["embedded_records"], data["mode"]) == (3, 2, 1, "fill_missing")
    found = vectors(seed / "build" / "seed.embedded.jsonl")
    assert found["b"] == [1.0, 0.0]
    assert found["c"] is None
    assert isinstance(found["a"], list)
    assert abs(sum(x * x for x in found["a"]) - 1) < 1e-6
    assert json.loads((seed / "build" / "seed.embedded.jsonl").read_text().splitlines()[-1])["edge"] == "Cites"


def test_embed_again_selected_and_clean(og: Call, seed: Path) -> None:
    files = ("embed", "--input", seed / "raw.jsonl", "--output", seed / "out.jsonl", "--spec", seed / "spec.json")
    assert og(*files, "--reembed-all", "--json").json["embedded_records"] == 2
    assert og(*files, "--select", "Doc:slug=b", "--json").json["embedded_records"] == 1
    assert vectors(seed / "out.jsonl")["a"] is None
    ran = og(*files, "--clean")
    assert ran.out.startswith("embedded 0 records (selected 2, cleaned 1)")
    assert vectors(seed / "out.jsonl")["b"] is None


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 2),
        (["--input", "raw.jsonl"], 2),
        (["--seed", "seed.yaml", "--input", "raw.jsonl"], 2),
        (["--seed", "seed.yaml", "--clean", "--reembed-all"], 2),
        (["--seed", "nope.yaml"], 1),
        (["--seed", "raw.jsonl"], 1),
        (["--seed", "seed.yaml", "--select", "nonsense"], 1),
    ],
)
def test_embed_misused(og: Call, seed: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int) -> None:
    monkeypatch.chdir(seed)
    assert og("embed", *arguments).code == code


def test_embed_needs_a_provider(og: Call, seed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMNIGRAPH_EMBEDDINGS_MOCK")
    ran = og("embed", "--seed", seed / "seed.yaml")
    assert ran.code == 1
    assert "OMNIGRAPH_EMBEDDINGS_MOCK" in ran.err


# ── where the graph is said to be ────────────────────────────────────────────────────────────────────────────────────────────


def test_ways_to_address_a_graph(og: Call, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = og("stats")
    assert (none.code, none.err.startswith("Error: no graph addressed")) == (1, True)
    both = og("stats", people, "--store", people)
    assert (both.code, "Give one of them" in both.err) == (1, True)
    assert og("--store", people, "stats").code == 0
    assert og("stats", f"file://{people}").code == 0
    served = og("stats", "https://graph.example.com")
    assert (served.code, "address of a server" in served.err) == (1, True)
    og("config", "set", "profiles.dev.store", str(people))
    assert og("stats", "--profile", "dev").code == 0
    wrong = og("stats", "--profile", "dve")
    assert (wrong.code, "did you mean `dev`?" in wrong.err) == (1, True)
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "dev")
    assert og("stats").code == 0
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "")
    assert og("stats").code == 1
    og("config", "set", "defaults.store", str(people))
    assert og("stats").code == 0
    assert og("stats", tmp_path / "other").code == 1, "what is said on the line comes first"


def test_the_settings_of_a_person(og: Call, people: Path, tmp_path: Path) -> None:
    og("config", "set", "operator.actor", "act-me")
    og("config", "set", "defaults.output", "csv")
    og("mutate", "--store", people, "-e", ADD, "--params", '{"n": "Eve"}')
    assert og("commit", "list", people, "--json").json["commits"][0]["actor_id"] == "act-me"
    assert og("query", "--store", people, "-e", NAMES).lines[0] == "p.name,p.age"
    assert og("query", "--store", people, "-e", NAMES, "--format", "table").lines[0].startswith("4 rows")
    shown = og("config", "show").lines
    assert shown[:3] == [str(tmp_path / "home" / "config.yaml"), "operator.actor: act-me", "defaults.output: csv"]
    assert og("config", "unset", "defaults.output").code == 0
    assert og("config", "unset", "defaults.output").code == 1
    assert og("config", "set", "defaults.outptu", "csv").code == 1
    assert og("config", "set", "defaults.output", "xml").code == 1


def test_settings_that_are_broken_or_unknown(og: Call, people: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    path = tmp_path / "home" / "config.yaml"
    path.write_text(f"# mine\ndefaults: {{ store: {people}, colour: red }}\nservers: {{ prod: {{ url: x }} }}\nnonsense: {{}}\n")
    ran = og("stats")
    assert ran.code == 0
    assert "unknown key `defaults.colour` (newer CLI feature or typo); ignored" in ran.err
    assert "unknown key `nonsense`" in ran.err
    assert "servers" not in ran.err
    assert "comments are lost" in og("config", "set", "operator.actor", "me").err
    assert path.with_suffix(".yaml.bak").read_text().startswith("# mine")
    for text in ("{", "- a\n", "defaults: 3\n"):
        path.write_text(text)
        assert og("stats").code == 1, text


def test_profiles(og: Call, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "(no profiles in" in og("profile", "list").out
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text(
        f"profiles:\n  dev: {{ store: {people} }}\n  prod: {{ server: prod }}\n  both: {{ store: a, server: b }}\n"
    )
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "dev")
    assert og("profile", "list").lines[1] == f"dev (active)  store: {people}"
    items = {item["name"]: item for item in og("profile", "list", "--json").json}
    assert (items["dev"]["valid"], items["prod"]["valid"], items["both"]["valid"]) == (True, True, False)
    assert og("profile", "show", "--json").json["target"] == str(people)
    assert og("profile", "show", "prod").code == 1
    assert og("profile", "show", "nope").code == 1


def test_aliases(og: Call, people: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "by.gq").write_text(
        "query by($n: String, $a: I32?) { match { $p: Person { name: $n } } return { $p.name, $p.age } }"
    )
    (tmp_path / "home" / "config.yaml").write_text(
        f"aliases:\n  who: {{ store: {people}, query: by.gq, args: [n], params: {{ n: Cy }}, format: csv }}\n"
        "  far: { server: prod, query: x }\n  empty: {}\n"
    )
    assert og("alias", "who").lines == ["p.name,p.age", "Cy,"]
    assert og("alias", "who", "Ada").lines[1] == "Ada,36"
    assert og("alias", "who", "Ada", "--params", '{"n": "Bob"}', "--json").json["rows"][0]["p.name"] == "Bob"
    many = og("alias", "who", "a", "b")
    assert (many.code, "takes 1 argument (n)" in many.err) == (1, True)
    unknown = og("alias", "hwo")
    assert (unknown.code, "did you mean `who`?" in unknown.err) == (1, True)
    assert og("alias", "far").code == 1
    assert og("alias", "empty").code == 1
    scoped = og("--profile", "x", "alias", "who", "--store", "y")
    assert (scoped.code, "--store, --profile cannot be used" in scoped.err) == (1, True)
