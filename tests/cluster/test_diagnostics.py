"""Every code of the contract: something that provokes it, a meaning, a page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.clusters import FULL, MORE, NAMES, NONE, OTHER, PERSON, SIMPLE, TWO, Cluster, failing, unreadable

import omnigraph as og
from omnigraph.cluster.applying.planning import plan
from omnigraph.cluster.config.diagnostics import CODES, Diagnostic
from omnigraph.cluster.config.files import SentFiles
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.serving.revision import find_graph
from omnigraph.errors import NotFound
from omnigraph.storage.files.effects import Call
from omnigraph.surfaces.http.graphs import RESERVED, is_graph_id

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cluster-diagnostics.md"

Provoke = Callable[[Cluster], Iterable[Diagnostic]]


def validating(config: str, **files: str) -> Provoke:
    """A configuration, with other files."""

    def provoke(cluster: Cluster) -> Iterable[Diagnostic]:
        for path, text in files.items():
            cluster.write(path.replace("__", "."), text)
        return cluster.config(config).validate().diagnostics

    return provoke


def graph(text: str) -> str:
    return f"version: 1\ngraphs:\n  people: {{ schema: people.pg, {text} }}\n"


def provider(text: str) -> str:
    return f"version: 1\nproviders:\n  embedding:\n    main: {{ {text} }}\n"


def policy(text: str, rest: str = "") -> str:
    return f"{TWO}policies:\n  team: {{ {text} }}\n{rest}"


# ── more than a configuration ────────────────────────────────────────────────────────────────────────────────────────────────


def no_folder(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.folder = cluster.folder / "nowhere"
    return cluster.validate().diagnostics


def no_file(cluster: Cluster) -> Iterable[Diagnostic]:
    (cluster.folder / "cluster.yaml").unlink()
    return cluster.validate().diagnostics


def root_is_a_file(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.config(f"{SIMPLE}storage: team.yaml\n").plan().diagnostics


def folder_of_queries_is_none(cluster: Cluster) -> Iterable[Diagnostic]:
    (cluster.folder / "empty").mkdir()
    return cluster.config(graph("queries: empty/")).validate().diagnostics


def held(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.lock()
    return cluster.plan().diagnostics


def key_was_never_applied(cluster: Cluster) -> Iterable[Diagnostic]:
    config = "version: 1\nproviders: { embedding: { e: { kind: openai, model: m, api_key: '${KEY}' } } }\n"
    sent = SentFiles({"cluster.yaml": config}, str(cluster.folder), str(cluster.folder))
    return plan(replace(cluster.control(), sent=sent)).diagnostics


def lock_is_a_link(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.link(layout.LOCK).plan().diagnostics


def lock_unreadable(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.link(layout.LOCK).status().diagnostics


def lock_is_another(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.lock()
    return cluster.unlock("01ANOTHER").diagnostics


def lock_is_none(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.put(layout.LOCK, {"lock": "yes"}).unlock("01LOCK").diagnostics


def lock_of_tomorrow(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.lock(version=2)
    return cluster.unlock("01LOCK").diagnostics


def edited(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied()
    resource = cluster.state["applied_revision"]["resources"]["graph.people"]
    bases = [{"uri": "s3://elsewhere/all", "scope": "server_safe"}]
    cluster.edit_resource("graph.people", {**resource, "external_blob_policy": {"mode": "allow", "bases": bases}})
    return cluster.apply().diagnostics


def moved(cluster: Cluster) -> Iterable[Diagnostic]:
    """Somebody else publishes while this one is at work; it has no lock."""
    cluster.config(f"{SIMPLE}state: {{ lock: false }}\n")
    from omnigraph.cluster.applying.live import LiveGraphs

    original = LiveGraphs.create

    def create(self: LiveGraphs, graph_id: str, schema: str) -> None:
        original(self, graph_id, schema)
        cluster.put(layout.STATE, {**_empty(), "state_revision": 9})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LiveGraphs, "create", create)
        return cluster.apply().diagnostics


def _empty() -> dict[str, Any]:
    return {
        "version": 1,
        "state_revision": 1,
        "applied_revision": {"config_digest": None, "resources": {}},
        "resource_statuses": {},
        "approval_records": {},
        "recovery_records": {},
        "observations": {},
    }


def unwritable(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().write("people.pg", f"// the same\n{PERSON}")
    with failing(Call.SWAP):
        return cluster.apply().diagnostics


def replaced_graph(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied()
    with og.open(cluster.folder / "graphs/people.omni") as g:
        g.load([{"type": "Person", "data": {"name": "Ada"}}])
    cluster.refresh()
    shutil.rmtree(cluster.folder / "graphs/people.omni")
    og.init(cluster.folder / "graphs/people.omni", PERSON).close()
    return cluster.refresh().diagnostics


def copies_unwritable(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.config(FULL).link("__cluster/resources/query").apply().diagnostics


def changed_while_applying(cluster: Cluster) -> Iterable[Diagnostic]:
    from omnigraph.cluster.applying.live import LiveGraphs

    original = LiveGraphs.create

    def create(self: LiveGraphs, graph_id: str, schema: str) -> None:
        original(self, graph_id, schema)
        cluster.write("queries/names.gq", f"// later\n{NAMES}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LiveGraphs, "create", create)
        return cluster.config(FULL).apply().diagnostics


def schema_alone(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().edit_resource("graph.people", None)
    return cluster.config(NONE).apply().diagnostics


def waits_for_a_graph(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.config(FULL).link("graphs").apply().diagnostics


def approval_used_up(cluster: Cluster) -> Iterable[Diagnostic]:
    """Somebody without the lock uses the approval up, after it was found good."""
    cluster.applied().config(NONE)
    approved = cluster.approve("graph.people")
    from omnigraph.cluster.applying import apply as applying

    original = applying._Work._delete

    def delete(self: Any, change: Any) -> None:
        content = cluster.objects.read(layout.approval(str(approved.approval_id)))
        assert content is not None
        cluster.put(layout.approval(str(approved.approval_id)), content.replace(b'"consumed_at": null', b'"consumed_at": "now"'))
        original(self, change)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(applying._Work, "_delete", delete)
        found = cluster.apply()
    assert (cluster.folder / "graphs/people.omni").exists()
    return found.diagnostics


def damage_graph(cluster: Cluster, name: str = "people") -> None:
    """The graph is there and cannot be read."""
    (ref,) = (cluster.folder / f"graphs/{name}.omni/__refs").iterdir()
    ref.write_bytes(b"nothing of that")


def no_preview(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().write("people.pg", MORE)
    damage_graph(cluster)
    return cluster.plan().diagnostics


def unreadable_graph(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied()
    damage_graph(cluster)
    return cluster.refresh().diagnostics


def not_created(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.link("graphs").apply().diagnostics


def next_not_created(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.config(TWO).link("graphs").apply().diagnostics


def half_created(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.import_()
    og.init(cluster.folder / "graphs/people.omni", PERSON).close()
    damage_graph(cluster)
    cluster.sidecar()
    return cluster.apply().diagnostics


def schema_refused(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().write("people.pg", PERSON.replace("I32?", "String?"))
    return cluster.apply().diagnostics


def next_schema_skipped(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(TWO).applied()
    cluster.write("people.pg", PERSON.replace("I32?", "String?")).write(
        "things.pg", f"{OTHER}node More {{ name: String @key }}\n"
    )
    return cluster.apply().diagnostics


def not_deleted(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().config(NONE)
    cluster.approve("graph.people")
    with failing(Call.RECLAIM):
        return cluster.apply().diagnostics


def delete_skipped(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(TWO).applied()
    cluster.config(TWO.replace("things: { schema: things.pg }", "").rstrip() + "\n")
    cluster.write("people.pg", PERSON.replace("I32?", "String?"))
    cluster.approve("graph.things")
    return cluster.apply().diagnostics


def delete_did_not_end(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().config(NONE)
    approved = cluster.approve("graph.people")
    cluster.sidecar(kind="graph_delete", approval_id=approved.approval_id)
    return cluster.plan().diagnostics


def in_use(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().config(NONE)
    cluster.approve("graph.people")
    with og.open(cluster.folder / "graphs/people.omni") as g, g._store.in_flight():
        return cluster.apply().diagnostics


def not_gated(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.applied().approve("graph.people").diagnostics


def stale(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().config(NONE)
    cluster.approve("graph.people")
    return cluster.config(f"{NONE}metadata: {{ name: other }}\n").plan().diagnostics


def approval_unreadable(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().approval()
    with unreadable("approvals"):
        return cluster.plan().diagnostics


def approval_unwritable(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.applied().config(NONE).link(layout.APPROVALS).approve("graph.people").diagnostics


def approval_is_none(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.applied().put(layout.approval("01X"), {"yes": True}).plan().diagnostics


def approval_of_tomorrow(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().approval(schema_version=2)
    return cluster.plan().diagnostics


def neither_nor(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().sidecar(kind="schema_apply", desired_schema_digest="wanted")
    with og.open(cluster.folder / "graphs/people.omni") as g:
        g.apply_schema(MORE)
    return cluster.apply().diagnostics


def unfinished(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().sidecar()
    return cluster.status().diagnostics


def rolled_forward(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.import_()
    og.init(cluster.folder / "graphs/people.omni", PERSON).close()
    digest = cluster.validate().to_json()["resource_digests"]["schema.people"]  # type: ignore[index]
    cluster.sidecar(desired_schema_digest=digest)
    found = cluster.apply()
    assert found.converged
    return found.diagnostics


def unattributed(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.applied().put(layout.sidecar("01X"), b"{").serving()


def sidecar_unreadable(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().sidecar()
    with unreadable("recoveries"):
        return cluster.apply().diagnostics


def sidecar_unwritable(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.link(layout.RECOVERIES).apply().diagnostics


def sidecar_stays(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(f"{SIMPLE}state: {{ lock: false }}\n")
    with failing(Call.DELETE):
        found = cluster.apply()
    assert found.converged
    assert cluster.apply().converged
    assert cluster.objects.list(layout.RECOVERIES) == []
    return found.diagnostics


def sidecar_is_none(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.applied().put(layout.sidecar("01X"), {"kind": "graph_create"}).apply().diagnostics


def sidecar_of_tomorrow(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied().sidecar(schema_version=2)
    return cluster.apply().diagnostics


def copy_gone(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(FULL).applied()
    return cluster.remove(cluster.payload("query.people.names")).status().diagnostics


def copy_changed(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(FULL).applied()
    return cluster.put(cluster.payload("query.people.names"), b"query other() {}").status().diagnostics


def copy_unreadable(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(FULL).applied()
    with unreadable("resources/policy"):
        return cluster.status().diagnostics


def served_copy_changed(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(FULL).applied()
    return cluster.put(cluster.payload("query.people.names"), b"query other() {}").serving()


def policy_unbound(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(FULL).applied()
    digest = cluster.state["applied_revision"]["resources"]["policy.team"]["digest"]
    return cluster.edit_resource("policy.team", {"digest": digest}).serving()


EMBEDDED = f"{provider('kind: mock')}graphs:\n  people: {{ schema: people.pg, embedding_provider: main }}\n"


def provider_gone(cluster: Cluster) -> Iterable[Diagnostic]:
    return cluster.config(EMBEDDED).applied().edit_resource("provider.embedding.main", None).serving()


def provider_without_profile(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(EMBEDDED).applied()
    digest = cluster.state["applied_revision"]["resources"]["provider.embedding.main"]["digest"]
    return cluster.edit_resource("provider.embedding.main", {"digest": digest}).serving()


def provider_edited(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(EMBEDDED).applied()
    entry = cluster.state["applied_revision"]["resources"]["provider.embedding.main"]
    return cluster.edit_resource("provider.embedding.main", {**entry, "embedding_profile": {"kind": "openai"}}).serving()


def bound_to_nothing(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.config(FULL).applied()
    with pytest.raises(NotFound, match="graph_not_applied"):
        find_graph(str(cluster.folder), "other")
    digest = cluster.state["applied_revision"]["resources"]["policy.team"]["digest"]
    return cluster.edit_resource("policy.team", {"digest": digest, "applies_to": ["graph.gone"]}).serving()


def graph_is_gone(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied()
    shutil.rmtree(cluster.folder / "graphs")
    return cluster.refresh().diagnostics


def none_healthy(cluster: Cluster) -> Iterable[Diagnostic]:
    cluster.applied()
    shutil.rmtree(cluster.folder / "graphs")
    return cluster.serving()


PROVOKED: dict[str, Provoke] = {
    "config_dir_not_found": no_folder,
    "cluster_config_read_error": no_file,
    "invalid_cluster_yaml": validating("version: 1\ngraphs: [people]\n"),
    "duplicate_yaml_key": validating("version: 1\ngraphs: {}\ngraphs: {}\n"),
    "unsupported_cluster_config_version": validating("version: 2\n"),
    "empty_metadata_name": validating("version: 1\nmetadata: { name: '  ' }\n"),
    "unsupported_state_backend": validating("version: 1\nstate: { backend: postgres }\n"),
    "invalid_storage_root": validating("version: 1\nstorage: s3://key:secret@bucket/x\n"),
    "storage_root_invalid": root_is_a_file,
    "future_phase_field": validating("version: 1\npipelines: {}\n"),
    "removed_streaming_declaration": validating(graph("streaming: true")),
    "invalid_resource_id": validating("version: 1\ngraphs:\n  7up: { schema: people.pg }\n"),
    "schema_file_missing": validating("version: 1\ngraphs:\n  people: { schema: nowhere.pg }\n"),
    "schema_parse_error": validating(SIMPLE, people__pg="node Person { name }"),
    "schema_catalog_error": validating(SIMPLE, people__pg="edge Knows: Person -> Person"),
    "query_dir_unreadable": validating(graph("queries: nowhere/")),
    "query_dir_empty": folder_of_queries_is_none,
    "query_file_missing": validating(graph("queries: [nowhere.gq]")),
    "query_parse_error": validating(graph("queries: [a.gq]"), a__gq="query { }"),
    "duplicate_query_name": validating(graph("queries: [a.gq, b.gq]"), a__gq=NAMES, b__gq=NAMES),
    "query_key_mismatch": validating(graph("queries: { other: { file: a.gq } }"), a__gq=NAMES),
    "query_typecheck_error": validating(graph("queries: [a.gq]"), a__gq=NAMES.replace(".name", ".size")),
    "query_typecheck_skipped": validating(graph("queries: [a.gq]"), a__gq=NAMES, people__pg="node"),
    "policy_file_missing": validating(policy("file: nowhere.yaml, applies_to: [people]")),
    "policy_invalid": validating(
        policy("file: bad.yaml, applies_to: [people]"),
        bad__yaml="version: 1\nrules: [{ id: x, allow: { actors: { group: nobody }, actions: [read] } }]\n",
    ),
    "policy_missing_applies_to": validating(policy("file: team.yaml")),
    "policy_mixed_binding_kinds": validating(policy("file: team.yaml, applies_to: [cluster, people]")),
    "duplicate_policy_binding": validating(
        policy("file: team.yaml, applies_to: [people]", "  more: { file: team.yaml, applies_to: [graph.people] }\n")
    ),
    "dangling_graph_reference": validating(policy("file: team.yaml, applies_to: [nobody]")),
    "wrong_kind_reference": validating(policy("file: team.yaml, applies_to: [schema.people]")),
    "invalid_embedding_provider": validating(provider("kind: magic, api_key: '${KEY}'")),
    "embedding_api_key_inline": validating(provider("kind: openai, api_key: sk-123")),
    "embedding_api_key_required": validating(provider("kind: openai")),
    "embedding_api_key_not_deployable": key_was_never_applied,
    "dangling_embedding_provider_reference": validating(graph("embedding_provider: nobody")),
    "invalid_external_blob_base": validating(graph("external_blobs: { allow: [{ base: 'http://x/y', scope: server_safe }] }")),
    "invalid_external_blob_policy": validating(
        graph(
            "external_blobs: { allow: [{ base: 's3://media/a', scope: server_safe }, { base: 's3://media/a/c', scope: server_safe }] }"
        )
    ),
    "external_blob_ingress_default_deny": validating(SIMPLE, people__pg="node Person { name: String @key  photo: Blob? }"),
    "state_lock_held": held,
    "state_lock_error": lock_is_a_link,
    "state_lock_missing": lambda cluster: cluster.unlock("01LOCK").diagnostics,
    "state_lock_id_mismatch": lock_is_another,
    "state_lock_read_error": lock_unreadable,
    "invalid_state_lock": lock_is_none,
    "unsupported_state_lock_version": lock_of_tomorrow,
    "state_lock_disabled": validating("version: 1\nstate: { lock: false }\n"),
    "state_missing": lambda cluster: cluster.apply(init=False).diagnostics,
    "state_already_exists": lambda cluster: cluster.applied().import_().diagnostics,
    "state_read_error": lambda cluster: cluster.link(layout.STATE).plan().diagnostics,
    "invalid_state_json": lambda cluster: cluster.put(layout.STATE, {"version": 1, "more": 1}).plan().diagnostics,
    "unsupported_state_version": lambda cluster: cluster.applied().edit_state(version=2).plan().diagnostics,
    "state_cas_mismatch": moved,
    "state_write_error": unwritable,
    "conflicting_graph_manifest_observation": replaced_graph,
    "external_blob_policy_digest_mismatch": edited,
    "resource_payload_write_error": copies_unwritable,
    "resource_content_changed": changed_while_applying,
    "apply_unsupported_change": schema_alone,
    "apply_dependency_blocked": waits_for_a_graph,
    "apply_approval_invariant_violation": approval_used_up,
    "schema_preview_unavailable": no_preview,
    "graph_observation_error": unreadable_graph,
    "graph_create_failed": not_created,
    "graph_create_skipped": next_not_created,
    "graph_create_incomplete": half_created,
    "schema_apply_failed": schema_refused,
    "schema_apply_skipped": next_schema_skipped,
    "graph_delete_failed": not_deleted,
    "graph_delete_skipped": delete_skipped,
    "graph_delete_incomplete": delete_did_not_end,
    "graph_delete_export_in_progress": in_use,
    "approval_not_required": not_gated,
    "approval_stale": stale,
    "approval_read_error": approval_unreadable,
    "approval_write_error": approval_unwritable,
    "invalid_approval_artifact": approval_is_none,
    "unsupported_approval_version": approval_of_tomorrow,
    "actual_applied_state_pending": neither_nor,
    "cluster_recovery_pending": unfinished,
    "cluster_recovery_rolled_forward": rolled_forward,
    "cluster_recovery_unattributed": unattributed,
    "recovery_sidecar_read_error": sidecar_unreadable,
    "recovery_sidecar_write_error": sidecar_unwritable,
    "recovery_sidecar_cleanup_failed": sidecar_stays,
    "invalid_recovery_sidecar": sidecar_is_none,
    "unsupported_recovery_sidecar_version": sidecar_of_tomorrow,
    "catalog_payload_missing": copy_gone,
    "catalog_payload_mismatch": copy_changed,
    "catalog_payload_read_error": copy_unreadable,
    "catalog_payload_digest_mismatch": served_copy_changed,
    "policy_bindings_missing": policy_unbound,
    "embedding_provider_missing": provider_gone,
    "embedding_provider_profile_missing": provider_without_profile,
    "embedding_provider_digest_mismatch": provider_edited,
    "graph_not_applied": bound_to_nothing,
    "graph_missing": graph_is_gone,
    "cluster_state_missing": lambda cluster: cluster.serving(),
    "cluster_empty": lambda cluster: cluster.config(NONE).applied().serving(),
    "cluster_no_healthy_graphs": none_healthy,
}
"""Code to what provokes it."""


@pytest.mark.parametrize("code", PROVOKED)
def test_every_code_is_provoked(cluster: Cluster, code: str) -> None:
    found = [d for d in PROVOKED[code](cluster) if d.code == code]
    assert found, f"nothing said {code}"
    assert all(d.path and d.message for d in found)
    assert all("Traceback" not in d.message for d in found)


def test_the_codes_are_those_of_the_code_the_page_and_the_tests() -> None:
    listed = re.findall(r"^\| `([a-z_]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert listed == list(CODES)
    assert set(PROVOKED) == set(CODES)


def test_several_problems_at_once(cluster: Cluster) -> None:
    found = cluster.config(
        "version: 3\ncolour: blue\nui: {}\ngraphs:\n  a b: {}\n  people: { schema: 7, queries: 5, size: 3 }\n"
        "policies: { team: { applies_to: [nobody] } }\n"
    ).validate()
    said = [(d.code, d.path) for d in found.diagnostics]
    assert said == [
        ("invalid_cluster_yaml", "colour"),
        ("future_phase_field", "ui"),
        ("unsupported_cluster_config_version", "version"),
        ("invalid_resource_id", "graphs.a b"),
        ("invalid_cluster_yaml", "graphs.people.size"),
        ("invalid_cluster_yaml", "graphs.people.schema"),
        ("invalid_cluster_yaml", "graphs.people.queries"),
        ("invalid_cluster_yaml", "policies.team.file"),
        ("dangling_graph_reference", "policies.team.applies_to[0]"),
    ]


@pytest.mark.parametrize("name", [*sorted(RESERVED), "x" * 65])
def test_a_graph_has_an_id_that_a_server_can_address(cluster: Cluster, name: str) -> None:
    found = cluster.config(f"version: 1\ngraphs:\n  {name}: {{ schema: people.pg }}\n").validate()
    assert [(d.code, d.path) for d in found.diagnostics] == [("invalid_resource_id", f"graphs.{name}")]
    assert not is_graph_id(name)
