"""What commands print as JSON: these members, in this order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cluster.clusters import FULL, MORE, NONE, PERSON, SIMPLE, TWO, Cluster

OBSERVED = ["state_path", "lock_path", "state_found", "state_revision", "resource_count", "locked", "lock_acquired"]


def members(data: Any) -> list[str]:
    return list(data)


def test_validate(cluster: Cluster) -> None:
    data = cluster.config(FULL).validate().to_json()
    assert members(data) == [
        "ok",
        "config_dir",
        "config_file",
        "resource_digests",
        "resources",
        "dependencies",
        "diagnostics",
    ]
    assert data["ok"] is True
    assert data["config_file"] == f"{cluster.folder}/cluster.yaml"
    resources: Any = data["resources"]
    assert [members(one) for one in resources] == [
        ["address", "kind", "digest"],
        ["address", "kind", "digest", "path"],
        ["address", "kind", "digest", "path"],
        ["address", "kind", "digest", "path"],
    ]
    assert [(one["address"], one["kind"], one.get("path")) for one in resources] == [
        ("graph.people", "graph", None),
        ("policy.team", "policy", "team.yaml"),
        ("query.people.names", "query", "queries/names.gq"),
        ("schema.people", "schema", "people.pg"),
    ]
    assert data["dependencies"] == [
        {"from": "policy.team", "to": "graph.people"},
        {"from": "query.people.names", "to": "graph.people"},
        {"from": "query.people.names", "to": "schema.people"},
        {"from": "schema.people", "to": "graph.people"},
    ]
    assert list(data["resource_digests"]) == sorted(data["resource_digests"])  # type: ignore[call-overload]


def test_plan_of_everything_new(cluster: Cluster) -> None:
    data: Any = cluster.config(FULL).plan().to_json()
    assert members(data) == [
        "ok",
        "config_dir",
        "desired_revision",
        "resource_digests",
        "dependencies",
        "state_observations",
        "changes",
        "blast_radius",
        "approvals_required",
        "diagnostics",
    ]
    assert members(data["desired_revision"]) == ["config_digest"]
    assert data["state_observations"] == {
        "state_path": f"{cluster.folder}/__cluster/state.json",
        "lock_path": f"{cluster.folder}/__cluster/lock.json",
        "state_found": False,
        "state_revision": 0,
        "resource_count": 0,
        "locked": False,
        "lock_acquired": True,
        "acquired_lock_id": "01J00000000000000000000001",
    }
    assert [(c["resource"], c["operation"], c["disposition"]) for c in data["changes"]] == [
        ("graph.people", "create", "applied"),
        ("policy.team", "create", "applied"),
        ("query.people.names", "create", "applied"),
        ("schema.people", "create", "applied"),
    ]
    assert all(members(c) == ["resource", "operation", "after_digest", "disposition"] for c in data["changes"])
    assert data["blast_radius"][0] == {
        "resource": "graph.people",
        "affected": ["policy.team", "query.people.names", "schema.people"],
    }
    assert data["approvals_required"] == []
    assert not (cluster.folder / "graphs").exists()
    assert not (cluster.folder / "__cluster" / "state.json").exists(), "a plan writes nothing"
    assert not (cluster.folder / "__cluster" / "lock.json").exists()


def test_plan_of_a_migration(cluster: Cluster) -> None:
    cluster.applied().write("people.pg", MORE)
    data: Any = cluster.plan().to_json()
    graph, schema = data["changes"]
    assert members(graph) == ["resource", "operation", "before_digest", "after_digest", "disposition"]
    assert graph["disposition"] == "derived"
    assert members(schema) == ["resource", "operation", "before_digest", "after_digest", "disposition", "migration"]
    assert schema["migration"] == {
        "supported": True,
        "steps": [
            {
                "kind": "add_property",
                "type_kind": "node",
                "type_name": "Person",
                "property_name": "city",
                "property_type": {"scalar": "String", "nullable": True, "list": False, "enum_values": None},
            }
        ],
    }


def test_what_only_follows_from_another_change_is_counted_by_none(cluster: Cluster) -> None:
    cluster.applied().write("people.pg", MORE)
    data: Any = cluster.apply().to_json()
    assert [(c["resource"], c["disposition"]) for c in data["changes"]] == [
        ("graph.people", "derived"),
        ("schema.people", "applied"),
    ]
    assert (data["applied_count"], data["deferred_count"]) == (1, 0)
    cluster.write("people.pg", PERSON.replace("I32?", "String?"))
    data = cluster.apply().to_json()
    assert (data["applied_count"], data["deferred_count"]) == (0, 2), "what is blocked is counted, and so is what waits for it"


def test_plan_of_other_bindings(cluster: Cluster) -> None:
    cluster.config(f"{TWO}policies: {{ team: {{ file: team.yaml, applies_to: [people] }} }}\n").applied()
    cluster.config(f"{TWO}policies: {{ team: {{ file: team.yaml, applies_to: [people, graph.things] }} }}\n")
    change: Any = cluster.plan().changes[0].to_json()
    assert change == {
        "resource": "policy.team",
        "operation": "update",
        "before_digest": change["after_digest"],
        "after_digest": change["after_digest"],
        "disposition": "applied",
        "binding_change": True,
        "metadata_change": "policy_bindings",
    }
    cluster.applied()
    assert cluster.state["applied_revision"]["resources"]["policy.team"]["applies_to"] == ["graph.people", "graph.things"]


def test_plan_of_a_delete(cluster: Cluster) -> None:
    data: Any = cluster.applied().config(NONE).plan().to_json()
    assert [(c["resource"], c["disposition"], c["reason"]) for c in data["changes"]] == [
        ("graph.people", "blocked", "approval_required"),
        ("schema.people", "blocked", "dependency_not_applied"),
    ]
    (gate,) = data["approvals_required"]
    assert gate == {"resource": "graph.people", "reason": "the graph and all of its history are deleted", "satisfied": False}
    cluster.approve("graph.people")
    (gate,) = cluster.plan().to_json()["approvals_required"]  # type: ignore[misc]
    assert gate["satisfied"] is True


def test_a_graph_that_waits_for_its_deletion_keeps_its_policy(cluster: Cluster) -> None:
    bound = "policies: { team: { file: team.yaml, applies_to: [people] } }\n"
    cluster.config(f"{TWO}{bound}").applied()
    cluster.config(NONE).apply()
    assert cluster.state["applied_revision"]["resources"]["policy.team"]["applies_to"] == ["graph.people"]


def test_apply(cluster: Cluster) -> None:
    data: Any = cluster.config(FULL).apply().to_json()
    assert members(data) == [
        "ok",
        "config_dir",
        "actor",
        "desired_revision",
        "state_observations",
        "changes",
        "applied_count",
        "deferred_count",
        "converged",
        "state_written",
        "resource_statuses",
        "diagnostics",
    ]
    assert (data["actor"], data["applied_count"], data["deferred_count"]) == ("ada", 4, 0)
    assert (data["converged"], data["state_written"]) == (True, True)
    assert data["resource_statuses"]["graph.people"] == {"status": "applied", "conditions": [], "message": None}
    cluster.actor = None
    assert "actor" not in cluster.apply().to_json()


def test_the_ledger(cluster: Cluster) -> None:
    cluster.config(FULL).applied()
    raw = cluster.objects.read("__cluster/state.json")
    assert raw is not None
    assert raw == (json.dumps(cluster.state, indent=2) + "\n").encode()
    state = cluster.state
    assert members(state) == [
        "version",
        "state_revision",
        "applied_revision",
        "resource_statuses",
        "approval_records",
        "recovery_records",
        "observations",
    ]
    assert (state["version"], state["state_revision"]) == (1, 1)
    resources = state["applied_revision"]["resources"]
    assert {address: members(entry) for address, entry in resources.items()} == {
        "graph.people": ["digest"],
        "policy.team": ["digest", "applies_to"],
        "query.people.names": ["digest"],
        "schema.people": ["digest"],
    }
    assert resources["policy.team"]["applies_to"] == ["graph.people"]
    assert state["observations"]["graph.people"]["schema_match"] is True


def test_approve(cluster: Cluster) -> None:
    cluster.applied().config(NONE)
    data = cluster.approve("graph.people").to_json()
    assert members(data) == ["ok", "config_dir", "approval_id", "resource", "operation", "approved_by", "diagnostics"]
    assert (data["resource"], data["operation"], data["approved_by"]) == ("graph.people", "delete", "ada")
    (path,) = cluster.objects.list("__cluster/approvals")
    content = cluster.objects.read(path)
    assert content is not None
    assert members(json.loads(content)) == [
        "schema_version",
        "approval_id",
        "resource",
        "operation",
        "reason",
        "bound_config_digest",
        "bound_before_digest",
        "bound_after_digest",
        "approved_by",
        "created_at",
        "consumed_at",
        "consumed_by_operation",
    ]


def test_status_refresh_and_import(cluster: Cluster) -> None:
    said = ["state_observations", "resource_digests", "resource_statuses", "observations", "diagnostics"]
    data: Any = cluster.status().to_json()
    assert members(data) == ["ok", "config_dir", *said]
    assert data["ok"] is True, "no ledger yet is no error"
    assert members(cluster.import_().to_json()) == ["ok", "operation", "config_dir", *said]
    data = cluster.applied().refresh().to_json()
    assert members(data) == ["ok", "operation", "config_dir", *said]
    assert data["operation"] == "refresh"
    assert members(data["observations"]["graph.people"]) == [
        "exists",
        "graph_manifest_version",
        "live_schema_digest",
        "desired_schema_digest",
        "schema_match",
    ]


def test_a_lock_in_the_output(cluster: Cluster) -> None:
    cluster.lock()
    data: Any = cluster.plan().to_json()
    assert data["state_observations"] == {
        "state_path": f"{cluster.folder}/__cluster/state.json",
        "lock_path": f"{cluster.folder}/__cluster/lock.json",
        "state_found": False,
        "state_revision": 0,
        "resource_count": 0,
        "locked": True,
        "lock_id": "01LOCK",
        "lock_acquired": False,
        "lock_operation": "apply",
        "lock_created_at": "2026-05-01T11:00:00Z",
        "lock_pid": 7,
        "lock_age_seconds": 3600,
    }
    (diagnostic,) = data["diagnostics"]
    assert members(diagnostic) == ["code", "severity", "path", "message"]
    assert "01LOCK" in diagnostic["message"]
    assert "for 1 hour" in diagnostic["message"]
    unlocked: Any = cluster.unlock("01LOCK").to_json()
    assert members(unlocked) == ["ok", "config_dir", "state_observations", "lock_removed", "diagnostics"]
    assert (unlocked["ok"], unlocked["lock_removed"], unlocked["state_observations"]["locked"]) == (True, True, False)
    assert cluster.config(SIMPLE).plan().ok
    assert PERSON in (cluster.folder / "people.pg").read_text()


@pytest.mark.parametrize("why", ["config", "query", "lock"])
def test_a_command_that_fails_before_it_begins_says_what_is_in_force(cluster: Cluster, why: str) -> None:
    cluster.config(SIMPLE).applied()
    revision = cluster.state["state_revision"]
    match why:
        case "config":
            cluster.config(f"{SIMPLE}colour: blue\n")
        case "query":
            cluster.write("people.pg", "node {")
        case "lock":
            cluster.lock()
    for found in (cluster.apply(), cluster.plan(), cluster.refresh()):
        assert not found.ok
        seen = found.observations
        assert (seen.state_found, seen.state_revision, seen.resource_count > 0) == (True, revision, True)
    assert cluster.state["state_revision"] == revision
