"""Every problem that the control plane reports has a code, a place and a sentence. Codes are a contract: scripts match on them.

`CODES` says of each what it means and what to do about it; `docs/reference/cluster-diagnostics.md` is written from it. A command
collects as many diagnostics as it can before it gives up (`Diagnostics`), and fails if one of them is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from omnigraph.model.frozen import frozen

Severity = Literal["error", "warning"]


@frozen
class Code:
    """What a code means and what to do."""

    group: str
    meaning: str
    action: str


def _group(name: str, codes: dict[str, tuple[str, str]]) -> dict[str, Code]:
    return {code: Code(name, meaning, action) for code, (meaning, action) in codes.items()}


CODES: Final[dict[str, Code]] = {
    **_group(
        "Configuration",
        {
            "config_dir_not_found": (
                "The folder given by `--config` does not exist.",
                "Give the folder that holds `cluster.yaml`.",
            ),
            "cluster_config_read_error": ("`cluster.yaml` is missing, or cannot be read.", "Create it, or mend its permissions."),
            "invalid_cluster_yaml": (
                "`cluster.yaml` is not YAML, has a key nobody knows, or a value of the wrong kind.",
                "Mend the place that the path names.",
            ),
            "duplicate_yaml_key": ("A key stands twice in one mapping of `cluster.yaml`.", "Keep one of them."),
            "unsupported_cluster_config_version": ("`version` is not 1.", "Write `version: 1`."),
            "empty_metadata_name": ("`metadata.name` is blank.", "Give a name, or leave it out."),
            "unsupported_state_backend": ("`state.backend` is not `cluster`.", "Write `cluster`, or leave it out."),
            "invalid_storage_root": (
                "`storage` is no folder and no address that can hold a cluster.",
                "Give a path, `file://…` or `s3://bucket/prefix`, without credentials, query or fragment.",
            ),
            "storage_root_invalid": ("The storage root cannot be used: it is a file, or below one.", "Give another folder."),
            "future_phase_field": ("A key that is reserved for later versions.", "Leave it out."),
            "removed_streaming_declaration": ("`streaming` was taken out of graphs.", "Leave it out."),
            "invalid_resource_id": (
                "An id has other characters than letters, digits, `_` and `-`, or begins with neither a letter nor `_`.",
                "Rename it.",
            ),
        },
    ),
    **_group(
        "Schemas and queries",
        {
            "schema_file_missing": (
                "The schema file of a graph cannot be read.",
                "Check the path; it is relative to the folder of `cluster.yaml`.",
            ),
            "schema_parse_error": ("The schema does not follow the grammar.", "Mend the place that the message names."),
            "schema_catalog_error": ("The schema contradicts itself.", "Mend the declarations that the message names."),
            "query_dir_unreadable": ("The folder of queries cannot be read.", "Check the path and its permissions."),
            "query_dir_empty": ("The folder of queries holds no `.gq` file with a query.", "Add one, or leave `queries` out."),
            "query_file_missing": (
                "A file of queries cannot be read.",
                "Check the path; it is relative to the folder of `cluster.yaml`.",
            ),
            "query_parse_error": ("A file of queries does not follow the grammar.", "Mend the place that the message names."),
            "duplicate_query_name": ("Two queries of one graph have the same name.", "Rename one of them."),
            "query_key_mismatch": (
                "The file does not declare a query of the name it is registered by.",
                "Name a query of the file.",
            ),
            "query_typecheck_error": ("A query does not fit the schema of its graph.", "Change the query or the schema."),
            "query_typecheck_skipped": (
                "Queries could not be checked, because the schema of their graph is broken.",
                "Mend the schema first.",
            ),
        },
    ),
    **_group(
        "Policies",
        {
            "policy_file_missing": (
                "The file of a policy cannot be read.",
                "Check the path; it is relative to the folder of `cluster.yaml`.",
            ),
            "policy_invalid": (
                "A policy bundle breaks a rule of its format.",
                "Mend what the message names; `omnigraph policy validate --file` says the same.",
            ),
            "policy_missing_applies_to": ("A policy is bound to nothing.", "Name `cluster` or graphs in `applies_to`."),
            "policy_mixed_binding_kinds": (
                "A policy is bound to the cluster and to graphs; a bundle holds the actions of one of them.",
                "Make two bundles of it.",
            ),
            "duplicate_policy_binding": ("Two policies are bound to one graph, or to the cluster.", "Bind one bundle to each."),
            "dangling_graph_reference": (
                "A policy is bound to a graph that is not declared.",
                "Declare the graph, or take the reference out.",
            ),
            "wrong_kind_reference": (
                "A reference names another kind of resource than can stand here.",
                "Write `cluster`, a graph id, or `graph.<id>`.",
            ),
        },
    ),
    **_group(
        "Embedding providers and external Blobs",
        {
            "invalid_embedding_provider": (
                "The profile of a provider is wrong: its kind, its address or its model.",
                "Mend what the message names.",
            ),
            "embedding_api_key_inline": (
                "A key stands in `cluster.yaml` itself.",
                "Write `${NAME}`; the server reads it from its environment.",
            ),
            "embedding_api_key_required": ("A provider other than the mock has no key.", "Write `api_key: ${NAME}`."),
            "embedding_api_key_not_deployable": (
                "A configuration that was sent names a variable of the server's environment for a provider that did not have it.",
                "Apply it where the server's files are, or name the variable in OMNIGRAPH_DEPLOYABLE_KEYS of the server.",
            ),
            "dangling_embedding_provider_reference": (
                "A graph names a provider that is not declared.",
                "Declare it below `providers.embedding`.",
            ),
            "invalid_external_blob_base": (
                "A base of external Blobs is no folder that may be one.",
                "Give `s3://bucket/folder` (server_safe) or an existing `file:///folder` (embedded_only).",
            ),
            "invalid_external_blob_policy": (
                "The bases of external Blobs do not fit together: they overlap, or there is none.",
                "Keep the outer one.",
            ),
            "external_blob_ingress_default_deny": (
                "A schema has Blob properties, and no URI may be given for them (warning).",
                "Nothing, if bytes are stored in the graph; otherwise allow bases by `external_blobs`.",
            ),
        },
    ),
    **_group(
        "State and lock",
        {
            "state_lock_held": (
                "Somebody else is working on the cluster, or died doing so.",
                "Wait; if nobody is, `omnigraph cluster force-unlock LOCK_ID`, or `--steal-after 1h`.",
            ),
            "state_lock_error": ("The lock could not be taken or given back.", "Check the storage root, then run it again."),
            "state_lock_missing": ("There is no lock to remove.", "Nothing."),
            "state_lock_id_mismatch": (
                "The lock has another id than the one given.",
                "`omnigraph cluster status` shows the id; make sure that its holder is gone.",
            ),
            "state_lock_read_error": ("The lock cannot be read.", "Check the storage root."),
            "invalid_state_lock": (
                "`lock.json` is not a lock.",
                "Look at the file; if nobody is working on the cluster, delete it.",
            ),
            "unsupported_state_lock_version": ("`lock.json` was written by a newer version.", "Use that version."),
            "state_lock_disabled": (
                "`state.lock: false`: nothing keeps two commands apart but the condition on the ledger (warning).",
                "Leave `state.lock` out.",
            ),
            "state_missing": (
                "There is no ledger yet.",
                "`omnigraph cluster import` records what exists; `omnigraph cluster apply --init` does that and applies.",
            ),
            "state_already_exists": ("`import` begins a ledger, and there is one.", "Use `omnigraph cluster refresh`."),
            "state_read_error": ("The ledger cannot be read.", "Check the storage root."),
            "invalid_state_json": (
                "`state.json` is not a ledger.",
                "Restore it from a copy, or move it away and run `omnigraph cluster import`.",
            ),
            "unsupported_state_version": ("`state.json` was written by a newer version.", "Use that version."),
            "state_cas_mismatch": (
                "Somebody else has written the ledger meanwhile; nothing was published.",
                "Run the command again.",
            ),
            "state_write_error": (
                "The ledger could not be written.",
                "Check the storage root, then run the command again: it goes on where this one ended.",
            ),
            "conflicting_graph_manifest_observation": (
                "A graph has fewer commits than when it was last looked at: another one stands in its place (warning).",
                "Find out who replaced it; `refresh` has recorded what is there now.",
            ),
            "external_blob_policy_digest_mismatch": (
                "What the ledger says of a graph does not have the digest it says: somebody edited it.",
                "Restore `state.json` from a copy.",
            ),
        },
    ),
    **_group(
        "Apply",
        {
            "resource_payload_write_error": (
                "A query or a policy could not be copied to the storage root.",
                "Check the storage root, then apply again.",
            ),
            "resource_content_changed": ("A file changed between the check and the copy.", "Apply again."),
            "apply_unsupported_change": (
                "A change that `apply` never makes: a schema without its graph (warning).",
                "Delete the graph, or declare it again.",
            ),
            "apply_dependency_blocked": (
                "A change waits for another one that was not made (warning).",
                "See what that one waits for.",
            ),
            "apply_approval_invariant_violation": (
                "An approval was used up by somebody else while this apply was about to use it.",
                "Approve again, if it is still meant.",
            ),
            "schema_preview_unavailable": (
                "The graph could not be opened, so the steps of its migration are not known (warning).",
                "See why it does not open.",
            ),
            "graph_observation_error": ("A graph exists and cannot be read.", "`omnigraph verify` says what is damaged."),
            "graph_create_failed": ("A graph could not be created.", "See the message; nothing depends on the graph yet."),
            "graph_create_skipped": (
                "A graph was not created, because something before it failed (warning).",
                "Mend that and apply again.",
            ),
            "graph_create_incomplete": (
                "A graph was begun and cannot be opened.",
                "Look at its folder, remove it, and apply again.",
            ),
            "schema_apply_failed": (
                "A schema cannot follow the one before, or applying it failed.",
                "Change the schema; `omnigraph cluster plan` shows the steps.",
            ),
            "schema_apply_skipped": (
                "A schema was not applied, because something before it failed (warning).",
                "Mend that and apply again.",
            ),
            "graph_delete_failed": (
                "A graph could not be deleted.",
                "See the message, then apply again: the approval is still good.",
            ),
            "graph_delete_skipped": (
                "A graph was not deleted, because something before it failed (warning).",
                "Mend that and apply again.",
            ),
            "graph_delete_incomplete": (
                "A delete was begun and did not end; it is proposed again (warning).",
                "Apply again: the approval is still good.",
            ),
            "graph_delete_export_in_progress": (
                "Something long is under way in a graph that is to be deleted.",
                "Wait for it and apply again.",
            ),
            "approval_not_required": (
                "The change needs no approval, or there is no such change.",
                "Look at `omnigraph cluster plan`.",
            ),
            "approval_stale": (
                "An approval was given for another state or another configuration (warning).",
                "Read the plan again and approve again.",
            ),
            "approval_read_error": ("An approval cannot be read.", "Check the storage root."),
            "approval_write_error": ("An approval could not be written.", "Check the storage root, then approve again."),
            "invalid_approval_artifact": ("A file of `approvals` is not an approval.", "Move it away."),
            "unsupported_approval_version": ("An approval was written by a newer version.", "Use that version."),
            "actual_applied_state_pending": (
                "What a killed apply left is neither what it found nor what it wanted.",
                "Look at the graph. If it is right as it is, remove the sidecar and run `omnigraph cluster refresh`.",
            ),
            "cluster_recovery_pending": (
                "A sidecar of an unfinished apply is there; changes of its graph wait (warning).",
                "Run `omnigraph cluster apply`.",
            ),
            "cluster_recovery_rolled_forward": ("What a killed apply had done is recorded now (warning).", "Nothing."),
            "cluster_recovery_unattributed": (
                "A sidecar cannot be read, so nobody knows which graph it is about.",
                "Look at the file below `__cluster/recoveries`.",
            ),
            "recovery_sidecar_read_error": ("A sidecar cannot be read.", "Check the storage root."),
            "recovery_sidecar_write_error": (
                "A sidecar could not be written, so the graph was left alone.",
                "Check the storage root, then apply again.",
            ),
            "recovery_sidecar_cleanup_failed": (
                "A sidecar could not be removed after its work was recorded (warning).",
                "Nothing; the next apply removes it.",
            ),
            "invalid_recovery_sidecar": ("A file of `recoveries` is not a sidecar.", "Look at it, then move it away."),
            "unsupported_recovery_sidecar_version": ("A sidecar was written by a newer version.", "Use that version."),
        },
    ),
    **_group(
        "Catalogue and serving",
        {
            "catalog_payload_missing": (
                "The copy of an applied query or policy is gone.",
                "`omnigraph cluster refresh`, then `apply`, writes it again.",
            ),
            "catalog_payload_mismatch": (
                "The copy of an applied query or policy was changed.",
                "`omnigraph cluster refresh`, then `apply`, writes it again.",
            ),
            "catalog_payload_read_error": ("The copy of an applied query or policy cannot be read.", "Check the storage root."),
            "catalog_payload_digest_mismatch": (
                "A server found a changed copy, and does not serve it.",
                "`omnigraph cluster refresh`, then `apply`, writes it again.",
            ),
            "policy_bindings_missing": (
                "The ledger does not say what a policy is bound to.",
                "Run `omnigraph cluster apply` again.",
            ),
            "embedding_provider_missing": (
                "A graph is bound to a provider that is not in the ledger.",
                "Run `omnigraph cluster apply` again.",
            ),
            "embedding_provider_profile_missing": (
                "The ledger has a provider without its profile.",
                "Run `omnigraph cluster apply` again.",
            ),
            "embedding_provider_digest_mismatch": (
                "The profile of a provider does not have the digest the ledger says.",
                "Restore `state.json` from a copy.",
            ),
            "graph_not_applied": (
                "A graph that is asked for was not applied.",
                "Run `omnigraph cluster apply`, or name an applied one.",
            ),
            "graph_missing": (
                "An applied graph is not where it was.",
                "Restore it; or `omnigraph cluster refresh`, and the next apply creates an empty one.",
            ),
            "cluster_state_missing": ("There is nothing to serve: no ledger.", "Run `omnigraph cluster apply --init`."),
            "cluster_empty": ("The applied revision has no graph.", "Declare one and apply."),
            "cluster_no_healthy_graphs": ("Every graph is quarantined.", "Mend one of them; each has a diagnostic of its own."),
        },
    ),
}
"""Code to meaning, in the order of the reference page."""


@frozen
class Diagnostic:
    """One problem: what kind, where, and in words."""

    code: str
    severity: Severity
    path: str
    message: str

    def to_json(self) -> dict[str, object]:
        return {"code": self.code, "severity": self.severity, "path": self.path, "message": self.message}

    def line(self) -> str:
        """As people read it."""
        return f"{'ERROR' if self.severity == 'error' else 'WARN '} {self.code} {self.path}: {self.message}"


class Diagnostics:
    """What a command has found so far."""

    def __init__(self, found: Iterable[Diagnostic] = ()) -> None:
        self.found = list(found)

    def error(self, code: str, path: str, message: str) -> None:
        """Something that keeps the command from succeeding."""
        self._add(code, "error", path, message)

    def warn(self, code: str, path: str, message: str) -> None:
        """Something people should know."""
        self._add(code, "warning", path, message)

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return all(d.severity != "error" for d in self.found)

    def to_json(self) -> list[dict[str, object]]:
        return [d.to_json() for d in self.found]

    def _add(self, code: str, severity: Severity, path: str, message: str) -> None:
        assert code in CODES, code
        added = Diagnostic(code, severity, path, message)
        if added not in self.found:
            self.found.append(added)


class Stopped(Exception):
    """A command cannot go on; its diagnostics say why."""
