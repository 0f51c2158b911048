"""Commands about schemas and upkeep: init, schema, lint, explain, stats, snapshot, optimize, cleanup, verify, repair, completion."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.calling import ADD, NAMES, PEOPLE, SCHEMA, Call

import omnigraph as og_api

# ── init and schemas ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_init(og: Call, tmp_path: Path) -> None:
    where = tmp_path / "memory.omni"
    assert og("init", where, "--schema", SCHEMA).out == f"initialized {where}\n"
    again = og("init", where, "--schema", SCHEMA, "--force", "--json")
    assert (again.code, again.json["code"]) == (1, "already_exists")
    assert og("init", where).code == 2
    (tmp_path / "bad.pg").write_text("node A { x: Strin }")
    assert og("init", tmp_path / "b.omni", "--schema", tmp_path / "bad.pg", "--json").json["code"] == "parse_error"
    assert not (tmp_path / "b.omni").exists()
    assert og("init", "http://x/y", "--schema", SCHEMA).code == 1


@pytest.fixture
def wider(tmp_path: Path) -> Path:
    path = tmp_path / "wider.pg"
    path.write_text(PEOPLE.replace("age: I32?", "age: I32?  city: String?"))
    return path


def test_a_schema_change(og: Call, people: Path, wider: Path) -> None:
    plan = og("schema", "plan", people, "--schema", wider)
    assert plan.lines == [
        f"schema plan for {people}",
        "supported: yes",
        "- add property 'Person.city' (String?) on node 'Person'",
    ]
    done = og("schema", "apply", people, "--schema", wider, "--json", "--as", "me").json
    assert (done["applied"], done["step_count"], done["graph_manifest_version"]) == (True, 1, 4)
    assert og("schema", "show", people).out == wider.read_text()
    assert og("schema", "show", people, "--branch", "work").out == PEOPLE, "other branches keep theirs"
    assert "city" in og("schema", "show", people, "--diagram").out
    again = og("schema", "apply", people, "--schema", wider)
    assert again.lines == [f"schema apply on {people}: nothing to do", "no schema changes"]
    assert again.err == f"omnigraph schema apply → {people} (direct, local)\n"


def test_a_change_that_cannot_be(og: Call, people: Path, tmp_path: Path) -> None:
    (tmp_path / "n.pg").write_text(PEOPLE.replace("age: I32?", "age: String?"))
    planned = og("schema", "plan", people, "--schema", tmp_path / "n.pg")
    assert (planned.code, "supported: no" in planned.out) == (0, True)
    told = og("schema", "apply", people, "--schema", tmp_path / "n.pg", "--json")
    assert (told.code, told.json["code"]) == (1, "unsupported_change")
    assert og("schema", "show", people).out == PEOPLE
    assert og("schema", "show", SCHEMA, "--branch", "x").code == 1


def test_a_promise_that_needs_values(og: Call, people: Path, tmp_path: Path) -> None:
    (tmp_path / "n.pg").write_text(PEOPLE.replace("age: I32?", "age: I32"))
    refused = og("schema", "apply", people, "--schema", tmp_path / "n.pg", "--json")
    assert refused.code == 1, "Cy has no age"
    filled = ("--schema", tmp_path / "n.pg", "--backfill", "Person.age=0")
    assert og("schema", "plan", people, *filled).code == 0
    assert og("schema", "apply", people, *filled).code == 0
    assert og("query", "--store", people, "-e", NAMES, "--json").json["rows"][-1] == {"p.age": 0, "p.name": "Cy"}
    assert og("schema", "apply", people, "--schema", tmp_path / "n.pg", "--backfill", "age").code == 1


def test_a_schema_under_its_older_name(og: Call, people: Path) -> None:
    assert og("schema", "get", people).out == og("schema", "show", people).out


def test_lint_against_a_graph(og: Call, people: Path, tmp_path: Path) -> None:
    (tmp_path / "q.gq").write_text(NAMES)
    data = og("lint", people, "--query", tmp_path / "q.gq", "--json").json
    assert (data["status"], data["schema_source"]) == ("ok", {"kind": "graph", "uri": str(people)})
    both = og("lint", people, "--query", tmp_path / "q.gq", "--schema", SCHEMA, "--json").json
    assert both["schema_source"] == {"kind": "file", "path": SCHEMA}


# ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_explain(og: Call, people: Path) -> None:
    ran = og("explain", "--store", people, "-e", NAMES)
    assert ran.lines[0].startswith("names · main @ ")
    assert "└─ Order p.name" in ran.out
    data = og("explain", "--store", people, "-e", NAMES, "--analyze", "--json").json
    assert data["analyzed"]
    assert data["plan"][0]["rows"] == 3
    assert og("explain", "--store", people, "-e", ADD).code == 1


def test_stats(og: Call, people: Path) -> None:
    head, *lines = og("stats", people).lines
    assert head.startswith("branch main at ")
    assert [line.split()[:3] for line in lines] == [
        ["node", "Company", "1"], ["node", "Person", "3"], ["edge", "Knows", "2"], ["edge", "WorksAt", "1"],
    ]  # fmt: skip
    assert set(og("stats", people, "--branch", "work", "--json").json) == {"branch", "commit", "types", "failures"}


def test_snapshot(og: Call, people: Path) -> None:
    lines = og("snapshot", people, "--branch", "work").lines
    assert lines[:3] == ["graph_branch: work", "graph_manifest_version: 4", "internal_schema_version: 6"]
    assert lines[3].startswith("edge type 'Knows' published_dataset_version=")
    assert lines[3].endswith(" native_dataset_branch=- entities=3")
    data = og("snapshot", people, "--json").json
    assert [(d["entity_kind"], d["type_name"]) for d in data["datasets"]] == [
        ("edge", "Knows"), ("edge", "WorksAt"), ("node", "Company"), ("node", "Person"),
    ]  # fmt: skip
    assert list(data["datasets"][0]) == [
        "entity_kind", "type_name", "dataset_path", "published_dataset_version", "native_dataset_branch", "entity_count",
    ]  # fmt: skip


# ── keeping it in shape ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_optimize_then_nothing_is_left_to_do(og: Call, people: Path) -> None:
    for name in ("X", "Y"):
        og("mutate", "--store", people, "-e", ADD, "--params", f'{{"n": "{name}"}}')
    ran = og("optimize", people)
    assert ran.lines[0] == f"optimize {people} — 4 datasets"
    assert any(line.startswith("node:Person ") and "✓" in line for line in ran.lines)
    done = og("optimize", people, "--json").json
    assert [d["committed"] for d in done["datasets"]] == [False] * 4
    assert og("optimize", people).lines[1].endswith("no-op")


def test_cleanup_shows_first_and_removes_when_confirmed(og: Call, people: Path) -> None:
    refused = og("cleanup", people)
    assert (refused.code, "--keep N, --older-than DUR" in refused.err) == (2, True)
    shown = og("cleanup", people, "--keep", "1", "--older-than", "7d")
    assert shown.code == 0
    assert "would remove 0 commits" in shown.out
    assert "give --confirm" in shown.err
    done = og("cleanup", people, "--keep", "1", "--confirm", "--json").json
    assert (done["keep_versions"], done["older_than_secs"], done["dry_run"]) == (1, None, False)
    assert og("cleanup", people, "--older-than", "90", "--json").json["older_than_secs"] == 90
    assert og("cleanup", people, "--older-than", "soon").code == 1
    assert og("cleanup", people, "--keep", "0").code == 2
    assert og("verify", people, "--deep").code == 0


def test_verify_finds_what_is_missing(og: Call, people: Path) -> None:
    assert og("verify", people).out.startswith("ok: 2 branches, 0 tags, ")
    victim = next((people / "nodes").rglob("data/*.lance"))
    victim.unlink()
    ran = og("verify", people)
    assert ran.code == 1
    assert "file is missing" in ran.out
    told = og("verify", people, "--json")
    assert (told.code, told.json["ok"]) == (1, False)
    assert told.json["problems"][0]["path"] in str(victim)


def test_repair_explains(og: Call, people: Path) -> None:
    assert og("repair", people).out.startswith("nothing needs repairing")
    data = og("repair", people, "--confirm", "--force", "--json").json
    assert (data["confirm"], data["force"]) == (True, True)
    assert {(d["classification"], d["action"]) for d in data["datasets"]} == {("no_drift", "no_op")}
    assert og("repair", people, "--force").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(og: Call, shell: str) -> None:
    ran = og("completion", shell)
    assert ran.code == 0
    assert "_OMNIGRAPH_COMPLETE" in ran.out
    assert og("completion", "tcsh").code == 2


def test_a_write_through_a_closed_door(og: Call, people: Path, wider: Path) -> None:
    """Reading commands open the graph to read: they write nothing, whatever else happens."""
    before = sorted(p for p in people.rglob("*") if p.is_file())
    for line in (
        ["stats", people],
        ["diff", "main", "work", "--uri", people],
        ["verify", people],
        ["cleanup", people, "--keep", "1"],
    ):
        assert og(*line).code == 0
    assert sorted(p for p in people.rglob("*") if p.is_file()) == before
    with og_api.open(people, read_only=True) as g, pytest.raises(og_api.UsageError):
        g.apply_schema(wider)
