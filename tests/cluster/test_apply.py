"""What apply, import and refresh do, in a folder and in a bucket."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cluster.clusters import FULL, MORE, NAMES, NONE, OTHER, PERSON, SIMPLE, TEAM, TWO, Cluster

import omnigraph as og
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.serving.revision import ClusterNotReady, find_graph, find_root, read_serving
from omnigraph.errors import ScopeError
from omnigraph.surfaces.cli.main import run


def graph(cluster: Cluster, name: str = "people") -> og.Graph:
    return og.open(cluster.objects.address(layout.graph_root(name)))


def test_from_nothing_to_a_change_to_an_approved_delete(anywhere: Cluster) -> None:
    cluster = anywhere.config(FULL)
    assert cluster.plan().ok
    assert not cluster.apply(init=False).ok
    first = cluster.apply()
    assert (first.converged, first.observations.state_revision) == (True, 1)
    again = cluster.apply(init=False)
    assert (again.written, again.converged, again.observations.state_revision) == (False, True, 1)

    cluster.write("people.pg", MORE)
    assert cluster.apply().converged
    with graph(cluster) as g:
        assert "city" in g.schema()
        assert [c.actor for c in g.commits()] == ["ada", "ada"], "what is changed carries the actor"

    cluster.config(NONE)
    waiting = cluster.apply()
    assert (waiting.ok, waiting.converged) == (True, False)
    assert cluster.objects.has_graph(layout.graph_root("people")), "nothing goes without an approval"
    assert cluster.approve("graph.people").ok
    assert cluster.apply().converged
    assert not cluster.objects.has_graph(layout.graph_root("people"))
    assert cluster.state["applied_revision"]["resources"] == {}
    (record,) = cluster.state["approval_records"].values()
    assert (record["resource"], record["approved_by"]) == ("graph.people", "ada")

    cluster.config(FULL).applied()
    cluster.config(NONE)
    assert not cluster.apply().converged, "an approval is good for one delete"


def test_a_server_reads_what_was_applied(anywhere: Cluster) -> None:
    cluster = anywhere.config(FULL).applied()
    cluster.write("queries/names.gq", NAMES.replace("names", "later")).write("team.yaml", "version: 1\n")
    found = read_serving(cluster.storage or str(cluster.folder))
    (served,) = found.graphs
    assert (served.id, served.uri) == ("people", cluster.objects.address("graphs/people.omni"))
    assert served.queries == {"names": NAMES}, "what was applied, not what is wanted"
    policy = found.policy_of("people")
    assert policy is not None
    assert (policy.name, policy.text) == ("team", TEAM)
    assert found.cluster_policy is None
    assert (found.state_revision, found.quarantined, found.warnings) == (1, {}, ())
    cluster.lock()
    assert read_serving(cluster.storage or str(cluster.folder)) == found, "a lock does not matter"


def test_one_graph_that_is_pending_does_not_keep_the_others(cluster: Cluster) -> None:
    cluster.config(TWO).applied().sidecar(graph_id="things", kind="schema_apply")
    found = read_serving(str(cluster.folder))
    assert [g.id for g in found.graphs] == ["people"]
    assert found.quarantined["things"].code == "cluster_recovery_pending"


def test_why_a_cluster_cannot_be_served_is_said_all_at_once(cluster: Cluster) -> None:
    cluster.config(FULL).applied()
    cluster.remove(cluster.payload("query.people.names")).put(cluster.payload("policy.team"), b"changed")
    with pytest.raises(ClusterNotReady) as caught:
        read_serving(str(cluster.folder))
    lines = caught.value.message.splitlines()
    assert lines[0] == f"the cluster at '{cluster.folder}' is not ready to serve:"
    assert [line.split(":")[0] for line in lines[1:]] == [
        "[catalog_payload_missing] query.people.names",
        "[catalog_payload_digest_mismatch] policy.team",
    ]


def test_a_graph_is_found_by_the_ledger_alone(cluster: Cluster, tmp_path: Path) -> None:
    where = str(cluster.folder)
    with pytest.raises(ScopeError, match="has no applied graphs"):
        find_graph(where)
    cluster.applied()
    uri = f"{cluster.folder}/graphs/people.omni"
    assert find_graph(where) == find_graph(where, "people") == find_graph(f"file://{where}") == ("people", uri)
    shutil.rmtree(uri)
    assert find_graph(where) == ("people", uri), "whatever has become of the graph"
    cluster.config(TWO).applied()
    with pytest.raises(ScopeError, match="several graphs: people, things"):
        find_graph(where)
    with pytest.raises(ScopeError, match="is no cluster"):
        find_root(str(tmp_path))
    cluster.config(f"{TWO}storage: elsewhere/\n")
    assert find_root(where) == f"{where}/elsewhere"


def test_graphs_that_exist_are_imported(cluster: Cluster) -> None:
    og.init(cluster.folder / "graphs/people.omni", PERSON).close()
    og.init(cluster.folder / "graphs/things.omni", f"{OTHER}node More {{ name: String @key }}\n").close()
    found = cluster.config(TWO).import_()
    assert found.ok, found.diagnostics
    seen = cluster.state["observations"]
    assert (seen["graph.people"]["schema_match"], seen["graph.things"]["schema_match"]) == (True, False)
    plan = cluster.plan()
    assert {c.resource: c.steps for c in plan.changes if c.kind == "schema"} == {
        "schema.things": ("drop node type 'More' (soft mode)",)
    }
    assert cluster.apply().converged
    with graph(cluster) as g:
        assert len(g.commits()) == 1, "what was right is left alone"


def test_an_import_that_meets_a_broken_graph_writes_nothing(cluster: Cluster) -> None:
    og.init(cluster.folder / "graphs/people.omni", PERSON).close()
    (ref,) = (cluster.folder / "graphs/people.omni/__refs").iterdir()
    ref.write_bytes(b"broken")
    found = cluster.import_()
    assert [d.code for d in found.diagnostics] == ["graph_observation_error"]
    assert cluster.state is None


def test_a_text_that_says_the_same_moves_no_graph(cluster: Cluster) -> None:
    cluster.applied().write("people.pg", f"// about people\n{PERSON}")
    assert cluster.apply().converged
    with graph(cluster) as g:
        assert len(g.commits()) == 1
    for _ in range(2):
        found = cluster.refresh()
        assert (found.ok, found.diagnostics, found.observations.state_revision) == (True, (), 2)
    assert cluster.plan().changes == ()


def test_a_schema_that_somebody_else_changed_is_seen_and_changed_back(cluster: Cluster) -> None:
    cluster.applied()
    with graph(cluster) as g:
        g.apply_schema(MORE)
    for _ in range(3):
        cluster.refresh()
        assert cluster.state["resource_statuses"]["schema.people"]["conditions"] == ["schema_mismatch"], "until it is applied"
    assert cluster.apply().converged
    cluster.refresh()
    assert cluster.state["resource_statuses"]["schema.people"]["status"] == "applied"
    with graph(cluster) as g:
        assert "city" not in g.schema()


def test_a_schema_that_is_wanted_as_somebody_else_made_it_has_drifted_no_more(cluster: Cluster) -> None:
    cluster.applied()
    with graph(cluster) as g:
        g.apply_schema(MORE)
    cluster.refresh()
    cluster.write("people.pg", MORE).refresh()
    assert cluster.state["resource_statuses"]["schema.people"]["status"] == "applied"


def test_a_graph_that_is_gone_is_reported_until_it_is_there(cluster: Cluster) -> None:
    cluster.applied()
    shutil.rmtree(cluster.folder / "graphs/people.omni")
    for _ in range(3):
        assert [d.code for d in cluster.refresh().diagnostics] == ["graph_missing"]
    assert cluster.apply().converged
    assert cluster.refresh().diagnostics == ()


def test_copies_that_are_gone_or_changed_are_written_again(anywhere: Cluster) -> None:
    cluster = anywhere.config(FULL).applied()
    cluster.remove(cluster.payload("query.people.names")).put(cluster.payload("policy.team"), b"changed")
    for _ in range(3):
        found = cluster.refresh()
        assert sorted(d.code for d in found.diagnostics) == ["catalog_payload_mismatch", "catalog_payload_missing"]
    assert {c.resource for c in cluster.plan().changes} == {"query.people.names", "policy.team", "graph.people"}
    assert cluster.apply().converged
    assert cluster.refresh().diagnostics == ()
    assert read_serving(cluster.storage or str(cluster.folder)).graphs[0].queries == {"names": NAMES}


def test_a_schema_that_cannot_follow_blocks_what_rests_on_it_and_nothing_else(cluster: Cluster) -> None:
    cluster.config(FULL).applied()
    cluster.write("people.pg", PERSON.replace("I32?", "String?")).write("queries/more.gq", NAMES.replace("names", "more"))
    cluster.write("team.yaml", TEAM.replace("ben", "cy"))
    found = cluster.apply()
    assert not found.ok
    assert {c.resource: (c.disposition, c.reason) for c in found.changes} == {
        "graph.people": ("blocked", "dependency_not_applied"),
        "policy.team": ("applied", None),
        "query.people.more": ("blocked", "dependency_not_applied"),
        "schema.people": ("blocked", "schema_apply_failed"),
    }
    assert cluster.state["applied_revision"]["config_digest"] is None
    assert cluster.state["resource_statuses"]["schema.people"] == {
        "status": "error",
        "conditions": ["schema_apply_failed"],
        "message": None,
    }
    with graph(cluster) as g:
        assert len(g.commits()) == 1
    assert cluster.objects.list(layout.RECOVERIES) == []
    cluster.write("people.pg", PERSON)
    assert cluster.apply().converged


def test_an_old_lock_is_stolen_when_that_is_asked_for(anywhere: Cluster) -> None:
    cluster = anywhere
    cluster.lock()  # an hour old
    cluster.steal_after = timedelta(hours=2)
    assert [d.code for d in cluster.apply().diagnostics] == ["state_lock_held"]
    cluster.steal_after = timedelta(minutes=30)
    assert cluster.apply().converged
    assert cluster.objects.read(layout.LOCK) is None


def test_a_graph_of_a_cluster_is_changed_by_the_cluster(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.applied()
    uri = f"{cluster.folder}/graphs/people.omni"
    (cluster.folder / "more.pg").write_text(MORE)
    assert run(["schema", "apply", uri, "--schema", f"{cluster.folder}/more.pg"]) == 1
    assert "cluster apply" in capsys.readouterr().err
    assert run(["init", f"{cluster.folder}/graphs/new.omni", "--schema", f"{cluster.folder}/more.pg"]) == 1
    assert "cluster apply" in capsys.readouterr().err
    assert not (cluster.folder / "graphs/new.omni").exists()
    assert cluster.config(SIMPLE).plan().changes == ()


def test_people_read_what_happens(cluster: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(cluster.folder)

    def lines(*arguments: str) -> list[str]:
        run(["cluster", *arguments])
        return capsys.readouterr().out.splitlines()

    cluster.config(FULL)
    assert lines("validate") == ["cluster config valid: 4 resource(s), 4 dependency edge(s)"]
    assert lines("status") == ["cluster state missing"]
    assert lines("plan")[0] == "cluster plan: 4 change(s), 0 approval gate(s)"
    assert lines("apply", "--init", "--as", "ada")[:2] == [
        "cluster apply: 4 applied, 0 deferred/blocked",
        "  state: revision 1, converged: true, written: true",
    ]
    assert lines("status")[0] == "cluster state: revision 1, 4 resource(s)"
    assert lines("refresh")[0] == "cluster refresh: revision 1, 4 resource(s)"
    cluster.config(SIMPLE).write("people.pg", MORE)
    assert lines("plan") == [
        "cluster plan: 3 change(s), 0 approval gate(s)",
        "  - policy.team         delete",
        "  - query.people.names  delete",
        "  ~ schema.people       update: people.pg",
        "      add property 'Person.city' (String?) on node 'Person'",
    ]
    cluster.config(NONE)
    assert lines("plan")[-1] == (
        "  ! graph.people: the graph and all of its history are deleted: omnigraph cluster approve graph.people"
    )
    (approved,) = lines("approve", "graph.people", "--as", "ben")
    assert approved.startswith("cluster approve: delete graph.people approved by ben (approval 01")
    assert lines("plan")[:3] == [
        "cluster plan: 2 change(s), 1 approval gate(s)",
        "  - graph.people  delete",
        "      with query.people.names, schema.people",
    ]
    assert lines("apply", "--as", "ada")[0] == "cluster apply: 2 applied, 0 deferred/blocked"
    lock = cluster.lock()
    assert lines("force-unlock", lock.lock_id) == [
        "cluster force-unlock: removed lock (id=01LOCK, operation=apply, pid=7, created_at=2026-05-01T11:00:00Z)"
    ]
