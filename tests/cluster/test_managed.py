"""Branches of a graph that belongs to a cluster: an older one catches up with the schema that was applied, and gets no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cluster.clusters import MORE, PERSON, Cluster

import omnigraph as og
from omnigraph.cluster.serving.managed import AppliedSchema, managing
from omnigraph.surfaces.cli.main import run


@pytest.fixture
def behind(cluster: Cluster) -> Cluster:
    """A cluster whose graph has a branch with an older schema than was applied."""
    cluster.applied()
    with og.open(cluster.folder / "graphs/people.omni") as g:
        g.load([{"type": "Person", "data": {"name": "Ada"}}])
        g.branches.create("agent/7")
        g.load([{"type": "Person", "data": {"name": "Ben"}}], branch="agent/7")
    return cluster.write("people.pg", MORE).applied()


def schema_of(cluster: Cluster, branch: str) -> str:
    with og.open(cluster.folder / "graphs/people.omni", read_only=True) as g:
        return g.schema(branch=branch)


def test_a_branch_catches_up_and_is_merged(behind: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert "city" not in schema_of(behind, "agent/7")
    assert run(["schema", "apply", "--cluster", str(behind.folder), "--graph", "people", "--branch", "agent/7", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["applied"], [step["kind"] for step in said["steps"]]) == (True, ["add_property"])
    assert "city" in schema_of(behind, "agent/7")
    with og.open(behind.folder / "graphs/people.omni") as g:
        g.merge("agent/7")
        found = g.query("query names() { match { $p: Person } return { $p.name, $p.city } order { $p.name } }")
        assert [row["p.name"] for row in found] == ["Ada", "Ben"]
    assert behind.plan().changes == ()
    assert run(["schema", "apply", "--cluster", str(behind.folder), "--branch", "agent/7"]) == 0
    assert "nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize("named", ["--cluster", "address"])
def test_the_same_schema_may_be_repeated_and_no_other_given(
    behind: Cluster, named: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    graph = str(behind.folder / "graphs/people.omni")
    target = ["--cluster", str(behind.folder), "--graph", "people"] if named == "--cluster" else [graph]
    (tmp_path / "other.pg").write_text(MORE.replace("city", "town"))
    (tmp_path / "older.pg").write_text(PERSON)
    (tmp_path / "again.pg").write_text(f"// laid out differently\n{MORE.replace('  city', chr(10) + '  city')}")
    for file in ("other.pg", "older.pg"):
        assert run(["schema", "apply", *target, "--branch", "agent/7", "--schema", str(tmp_path / file)]) == 1
        assert "not the schema that was applied" in capsys.readouterr().err
    again = ["schema", "apply", *target, "--schema", str(tmp_path / "again.pg")]
    for more in ([], ["--branch", "agent/7", "--also", "main"], ["--branch", " main "]):
        assert run([*again, *more]) == 1
        assert "cluster apply" in capsys.readouterr().err
    assert run([*again, "--branch", "agent/7", "--allow-data-loss"]) == 1
    assert "city" not in schema_of(behind, "agent/7")
    assert run([*again, "--branch", "agent/7"]) == 0
    assert schema_of(behind, "agent/7") == schema_of(behind, "main"), "what is applied is the text of the cluster"


def test_without_a_copy_nothing_is_applied_and_refresh_makes_one(behind: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    behind.remove(behind.payload("schema.people"))
    command = ["schema", "apply", "--cluster", str(behind.folder), "--branch", "agent/7"]
    assert run(command) == 1
    assert "cluster refresh" in capsys.readouterr().err
    assert behind.refresh().ok
    assert run(command) == 0


def test_a_schema_has_to_be_named_where_there_is_no_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    og.init(tmp_path / "p.omni", PERSON).close()
    assert managing(str(tmp_path / "p.omni")) is None
    assert run(["schema", "apply", str(tmp_path / "p.omni"), "--branch", "x"]) == 2
    assert "--schema" in capsys.readouterr().err


def test_what_is_no_schema_is_not_the_one_that_was_applied() -> None:
    assert not AppliedSchema("0" * 64, PERSON).is_said_by("node {")
    assert not AppliedSchema("0" * 64, None).is_said_by(PERSON)
