"""The command line without a graph: version, lint, fmt, schema files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.calling import EXAMPLE, SCHEMA, Call

from omnigraph.model.versions import API_VERSION, __version__
from omnigraph.surfaces.cli.main import COMMANDS


def test_the_installed_command_and_the_module_are_the_same() -> None:
    script = Path(sys.executable).parent / "omnigraph"
    for command in ([str(script)], [sys.executable, "-m", "omnigraph"]):
        result = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert result.stdout == f"omnigraph {API_VERSION} (package {__version__})\n"


def test_version(og: Call) -> None:
    assert og("version").out == "omnigraph 0.10.0\ninternal-schema 6\n"
    assert og("version", "--json").json == {"version": "0.10.0", "internal_schema_version": 6, "package": __version__}


def test_help_lists_every_command(og: Call) -> None:
    ran = og("--help")
    assert ran.code == 0
    assert all(f"  {name} " in ran.out for name in COMMANDS)


def test_a_mistyped_command_gets_a_suggestion(og: Call) -> None:
    ran = og("lnit")
    assert ran.code == 2
    assert "Did you mean `lint`?" in ran.err


@pytest.mark.parametrize("arguments", [["lint"], ["fmt"], ["schema", "plan", "x"], ["version", "--nope"]])
def test_misuse_exits_with_2(og: Call, arguments: list[str]) -> None:
    assert og(*arguments).code == 2


# ── lint ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", sorted((EXAMPLE / "queries").glob("*.gq")), ids=lambda p: p.stem)
def test_lint_of_the_example(og: Call, path: Path) -> None:
    ran = og("lint", "--schema", SCHEMA, "--query", str(path))
    assert ran.code == 0, ran.err
    assert "INFO  Lint complete: " in ran.out


def test_lint_shows_the_place_of_an_error(og: Call, tmp_path: Path) -> None:
    query = tmp_path / "q.gq"
    query.write_text(
        "query q() {\n    match { $p: Person }\n    return { $p.nme }\n}\nquery ok() { match { $p: Person } return { $p.name } }\n"
    )
    ran = og("lint", "--schema", SCHEMA, "--query", str(query))
    assert ran.code == 1
    assert f"{query}:3:17" in ran.err
    assert "^^^" in ran.err
    assert "did you mean `name`?" in ran.err
    assert "ERROR query `q` (read): type error: T6: `Person` has no property `nme`" in ran.out
    assert "OK    query `ok` (read)" in ran.out
    data = og("lint", "--json", "--schema", SCHEMA, "--query", str(query)).json
    assert (data["status"], data["errors"], data["query_path"]) == ("error", 1, str(query))
    assert data["diagnostics"][0]["line"] == 3


def test_lint_under_its_old_name(og: Call) -> None:
    ran = og("check", "--schema", SCHEMA, "--query", str(EXAMPLE / "queries" / "search.gq"))
    assert ran.code == 0
    assert "warning: `omnigraph check` is now `omnigraph lint`" in ran.err


@pytest.mark.parametrize("older", ["lint", "check"])
def test_lint_as_a_part_of_query(og: Call, older: str) -> None:
    ran = og("query", older, "--schema", SCHEMA, "--query", str(EXAMPLE / "queries" / "search.gq"))
    assert ran.code == 0
    assert f"warning: `omnigraph query {older}` is now `omnigraph lint`" in ran.err


def test_a_missing_file_is_named_with_its_neighbours(og: Call) -> None:
    ran = og("lint", "--schema", SCHEMA, "--query", str(EXAMPLE / "queries" / "serch.gq"))
    assert ran.code == 1
    assert "query file not found" in ran.err
    assert "search.gq" in ran.err
    data = og("lint", "--json", "--schema", "nope/x.pg", "--query", "y.gq").json
    assert data["code"] == "not_found"


def test_a_broken_schema_is_an_error_with_every_problem(og: Call, tmp_path: Path) -> None:
    schema = tmp_path / "s.pg"
    schema.write_text("node A { x: Strin }\nnode B { y: [Blob] }\n")
    ran = og("lint", "--schema", str(schema), "--query", SCHEMA)
    assert ran.code == 1
    assert ran.err.count("-->") == 1
    assert ran.err.splitlines()[-1] == f"Error: 1 problem in {schema}"
    assert og("schema", "show", str(schema), "--json").json["code"] == "parse_error"


def test_problems_are_counted_not_repeated(og: Call, tmp_path: Path) -> None:
    schema = tmp_path / "s.pg"
    schema.write_text("node A { x: Boolean }\nnode b {}\nnode C { y: Strings }\n")
    ran = og("schema", "show", str(schema))
    assert ran.err.splitlines()[-1] == f"Error: 3 problems in {schema}"
    assert ran.err.count("no type `Boolean`") == 1


def test_a_folder_and_a_binary_file_are_refused(og: Call, tmp_path: Path) -> None:
    assert "is a folder" in og("lint", "--schema", str(tmp_path), "--query", SCHEMA).err
    (tmp_path / "x.pg").write_bytes(b"node \xff {}")
    ran = og("schema", "show", str(tmp_path / "x.pg"))
    assert ran.code == 1
    assert "not UTF-8 text (byte 5)" in ran.err


# ── fmt ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_fmt_lays_out_in_place_and_is_then_content(og: Call, tmp_path: Path) -> None:
    path = tmp_path / "s.pg"
    path.write_text("node   A{x:String // why\n}")
    assert og("fmt", "--check", str(path)).code == 1
    assert path.read_text() == "node   A{x:String // why\n}"
    diff = og("fmt", "--diff", str(path))
    assert diff.code == 1
    assert "+node A {" in diff.out
    assert og("fmt", str(path)).code == 0
    assert path.read_text() == "node A {\n    x: String  // why\n}\n"
    assert og("fmt", "--check", str(tmp_path)).code == 0


def test_fmt_leaves_a_broken_file_alone_and_does_the_others(og: Call, tmp_path: Path) -> None:
    (tmp_path / "a.pg").write_text("node A {")
    (tmp_path / "b.gq").write_text("query q(){match{$p:P}return{$p}}")
    ran = og("fmt", "--json", str(tmp_path))
    assert ran.code == 1
    assert ran.json["changed"] == 1
    assert (tmp_path / "a.pg").read_text() == "node A {"
    assert (tmp_path / "b.gq").read_text().startswith("query q() {\n")


def test_fmt_of_stdin() -> None:
    command = [sys.executable, "-m", "omnigraph", "fmt", "-", "--lang", "pg"]
    result = subprocess.run(command, input="node A{}", capture_output=True, text=True, check=True)
    assert result.stdout == "node A {}\n"
    assert subprocess.run(command[:-2], input="", capture_output=True, text=True, check=False).returncode == 1


def test_fmt_refuses_other_files(og: Call, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    assert og("fmt", str(tmp_path / "x.txt")).code == 1


# ── schema ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_schema_show(og: Call) -> None:
    assert og("schema", "show", SCHEMA).out == (EXAMPLE / "schema.pg").read_text()
    data = og("schema", "show", SCHEMA, "--json").json
    assert str(data["schema_shape_hash"]).startswith("sha256:")
    assert data["schema_ir"]["ir_version"] == 2
    assert og("schema", "show", SCHEMA, "--json", "--diagram").code == 2


def test_schema_picture_shows_every_type(og: Call) -> None:
    picture = og("schema", "show", SCHEMA, "--diagram").out
    data = og("schema", "show", SCHEMA, "--json").json["schema_ir"]
    for kind in ("nodes", "edges"):
        for declared in data[kind]:
            assert declared["name"] in picture


def test_schema_plan(og: Call, tmp_path: Path) -> None:
    old, new = tmp_path / "old.pg", tmp_path / "new.pg"
    old.write_text("node Person { name: String @key age: I32? }\n")
    new.write_text("node Person { name: String @key nickname: String? }\nnode Tag {}\n")
    ran = og("schema", "plan", str(old), "--schema", str(new))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"schema plan for {old}",
        "supported: yes",
        "- add property 'Person.nickname' (String?) on node 'Person'",
        "- drop property 'Person.age' of node 'Person' (soft mode)",
        "- add node type 'Tag'",
    ]
    data = og("schema", "plan", str(old), "--schema", str(new), "--allow-data-loss", "--json").json
    assert (data["supported"], data["step_count"]) == (True, 3)
    assert data["steps"][1] == {
        "kind": "drop_property", "type_kind": "node", "type_name": "Person", "property_name": "age", "mode": "hard",
    }  # fmt: skip
    assert og("schema", "plan", str(old), "--schema", str(old)).out.splitlines()[-1] == "no schema changes"


def test_a_plan_with_values_for_what_exists(og: Call, tmp_path: Path) -> None:
    old, new = tmp_path / "old.pg", tmp_path / "new.pg"
    old.write_text("node Person { name: String @key age: I32? }\n")
    new.write_text("node Person { name: String @key age: I32 city: String }\n")
    given = ("--backfill", 'Person.city="Oslo"', "--backfill", "Person.age=0")
    ran = og("schema", "plan", str(old), "--schema", str(new), *given)
    assert (ran.code, ran.out.splitlines()[2:]) == (
        0,
        [
            "- require property 'Person.age' on node 'Person' (existing: 0)",
            "- add property 'Person.city' (String) on node 'Person' (existing: \"Oslo\")",
        ],
    )
    for wrong, says in (("Person.city=Oslo", "no JSON"), ("Person.city", "no `=`"), ("Person.town=1", "`Person.town`")):
        ran = og("schema", "plan", str(old), "--schema", str(new), "--backfill", wrong)
        assert ran.code == 1
        assert says in ran.err


def test_an_unsupported_plan_says_why_and_exits_with_1(og: Call, tmp_path: Path) -> None:
    old, new = tmp_path / "old.pg", tmp_path / "new.pg"
    old.write_text("node Person { age: I32? }\n")
    new.write_text("node Person { age: String? email: String }\n")
    ran = og("schema", "plan", str(old), "--schema", str(new))
    assert ran.code == 0
    assert "supported: no" in ran.out
    assert "unsupported change on node:Person.age [OG-MF-106, destructive]: " in ran.out
    assert "[OG-MF-103, validated]" in ran.out


def test_schema_plan_from_an_accepted_schema(og: Call, tmp_path: Path) -> None:
    accepted = tmp_path / "accepted.json"
    accepted.write_text(json.dumps(og("schema", "show", SCHEMA, "--json").json["schema_ir"]))
    assert "no schema changes" in og("schema", "plan", str(accepted), "--schema", SCHEMA).out
    accepted.write_text("{}")
    assert og("schema", "plan", str(accepted), "--schema", SCHEMA, "--json").json["code"] == "schema_identity"
    accepted.write_text("{")
    assert og("schema", "plan", str(accepted), "--schema", SCHEMA).code == 1


def test_init_from_a_template(og: Call, tmp_path: Path) -> None:
    where = tmp_path / "team.omni"
    listed = og("init", "--template", "list")
    assert (listed.code, listed.out.partition(":")[0]) == (0, "memory")
    assert [one["name"] for one in og("init", "--template", "list", "--json").json["templates"]] == [
        "memory",
        "items",
        "labelled",
    ]
    assert og("init", where, "--template", "memory", "--dimension", "8").out == f"initialized {where}\n"
    assert "Vector(8)?" in og("schema", "show", where).out
    for wrong, said in (
        (["--template", "memory"], "Missing argument 'URI'"),
        ([tmp_path / "x", "--template", "memroy"], "no template `memroy`"),
        ([tmp_path / "x", "--template", "memory", "--dimension", "0"], "from 1 to 65,536"),
        ([tmp_path / "x", "--schema", "x.pg", "--dimension", "7"], "--dimension belongs to --template"),
    ):
        ran = og("init", *wrong)
        assert (ran.code != 0, said in ran.err) == (True, True), ran.err
    assert not (tmp_path / "x").exists()


def test_init_proposes_a_schema_and_creates_a_graph_only_if_told_to(og: Call, tmp_path: Path) -> None:
    (tmp_path / "Person.csv").write_text("name,age\nAda,36\nBob,\n")
    where = tmp_path / "new.omni"
    shown = og("init", where, "--infer", tmp_path / "Person.csv")
    assert (shown.code, where.exists()) == (0, False)
    assert "node Person {\n    name: String @key" in shown.out
    assert og("init", where, "--infer", tmp_path / "Person.csv", "--json").json["schema_source"] == shown.out
    assert og("init", where, "--infer", tmp_path / "Person.csv", "--yes").out == f"initialized {where}\n"
    assert og("load", where, "--data", tmp_path / "Person.csv", "--mode", "merge").code == 0
    (tmp_path / "City.csv").write_text("name,Zip Code\nUlm,89073\n")
    left_out = og("init", tmp_path / "cities", "--infer", tmp_path / "City.csv", "--yes")
    assert "warning: column `Zip Code` of City is left out: names begin with a small letter" in left_out.err
    (tmp_path / "Item.jsonl").write_text('{"name": "a", "odd": 1}\n{"name": "b", "odd": "x"}\n')
    items, load = tmp_path / "items", f"load {tmp_path}/items --data {tmp_path}/Item.jsonl --mode merge --dialect compatible"
    made = og("init", items, "--infer", tmp_path / "Item.jsonl")
    assert f"// A load refuses what is left out. Without it: omnigraph {load}, which also takes" in made.out
    assert og("init", items, "--infer", tmp_path / "Item.jsonl", "--yes").code == 0
    assert og(*load.split()).code == 0
    both = og("init", where, "--infer", tmp_path / "Person.csv", "--schema", "x.pg")
    assert (both.code, "give one of --schema, --infer and --template" in both.err) == (2, True)
    assert og("init", where).code == 2
