"""What a versioned graph on a table format has to hold, by the names under which the hazards are known.

Each name leads to the tests that hold it here, or says in one line why it cannot arise. There is no recovery: nothing durable exists
before the one compare-and-swap that makes a commit visible, so a crash leaves garbage or a whole commit, and nobody has to finish or
undo anything.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Held:
    """Tests that hold a claim, as `file::function` below `tests`."""

    tests: tuple[str, ...]


@dataclass(frozen=True)
class CannotArise:
    """Why there is nothing to hold, and a test of that."""

    because: str
    tests: tuple[str, ...]


def held(*tests: str) -> Held:
    return Held(tests)


def cannot_arise(because: str, *tests: str) -> CannotArise:
    return CannotArise(because, tests)


CRASHES = (
    "storage/test_crash.py::test_a_process_killed_at_any_durable_call_leaves_the_old_graph_or_the_new_one",
    "engine/write/test_interrupted.py::test_a_failure_leaves_the_old_graph_or_the_new_one_and_the_same_handle_goes_on",
)
NO_SIDECARS = "there are no sidecars: an effect before the swap is garbage, one after it is a commit"
NO_HEAD = "no operation moves a table's own head, so none can drift from what the manifest names"
NO_MOVING_HEAD = "storage/test_forbidden_calls.py::test_no_call_moves_a_head_or_deletes_pinned_files"

TABLE: dict[str, Held | CannotArise] = {
    "partial_failure_leaves_target_queryable_and_unblocks_next_mutation": held(
        "storage/test_crash.py::test_a_failed_write_over_several_tables_leaves_both_queryable_and_unblocks_the_next_write",
        CRASHES[1],
    ),
    "load_after_finalize_publisher_failure_heals_without_reopen": held(*CRASHES),
    "mutation_after_finalize_publisher_failure_heals_without_reopen": held(*CRASHES),
    "schema_apply_after_finalize_publisher_failure_heals_without_reopen": held(*CRASHES),
    "branch_merge_after_finalize_publisher_failure_heals_without_reopen": held(*CRASHES),
    "open_sweep_roll_forward_converges_when_manifest_advances_concurrently": cannot_arise(
        "opening a graph writes nothing, so two who open it cannot race",
        "storage/test_crash.py::test_opening_and_reading_writes_nothing",
    ),
    "recovery.sidecar_write": cannot_arise(NO_SIDECARS, *CRASHES),
    "recovery.sidecar_list": cannot_arise(NO_SIDECARS, *CRASHES),
    "recovery.sidecar_delete": cannot_arise(NO_SIDECARS, *CRASHES),
    "recovery.record_audit": cannot_arise(
        "who did what is in the commit itself, written by the same swap",
        "engine/write/test_mutations.py::test_a_commit_says_who_and_why",
        "storage/test_crash.py::test_a_timeout_after_the_swap_is_a_success_reported_once_and_applied_once",
    ),
    "concurrent_disjoint_writes_share_head_and_form_linear_chain": held(
        "storage/test_processes.py::test_two_processes_that_insert_different_keys_at_once_both_win"
    ),
    "n_concurrent_disjoint_writes_share_head_and_form_linear_chain": held(
        "storage/test_processes.py::test_commits_of_eight_processes_on_one_branch_form_one_line_and_none_is_lost"
    ),
    "concurrent_disjoint_writes_share_head_and_form_linear_chain_on_s3": held(
        "storage/test_s3.py::test_two_processes_share_a_branch"
    ),
    "write_validates_schema_contract_once": held(
        "engine/write/test_stale_handles.py::test_a_write_reads_its_schema_once_and_opens_each_table_at_most_once"
    ),
    "keyed_insert_opens_table_at_most_once": held(
        "engine/write/test_stale_handles.py::test_a_write_reads_its_schema_once_and_opens_each_table_at_most_once",
        "storage/test_store.py::test_a_write_opens_each_touched_table_at_most_once",
    ),
    "served_strict_delete_after_external_optimize_advance_auto_refreshes": held(
        "engine/write/test_stale_handles.py::test_maintenance_by_others_is_not_noticed",
        "engine/write/test_write_skew.py::test_maintenance_in_between_voids_nothing",
    ),
    # Chosen: a handle holds no state, so a write is prepared from the newest one. The other choice, a refusal, is `if_commit`.
    "long_lived_handle_prepares_strict_mutation_from_current_head": held(
        "engine/write/test_stale_handles.py::test_a_long_lived_handle_prepares_a_strict_mutation_from_the_newest_state"
    ),
    "stale_handle_public_mutation_must_refresh_then_retry": held(
        "engine/write/test_stale_handles.py::test_a_precondition_is_compared_with_the_newest_state",
        "engine/write/test_write_skew.py::test_the_second_of_two_is_told",
    ),
    "cardinality_rejected_for_stale_handle_after_concurrent_edge_commit": held(
        "engine/write/test_stale_handles.py::test_cardinality_is_counted_on_what_will_be_the_base",
        "engine/write/test_write_skew.py::test_the_second_of_two_is_told",
    ),
    "optimize_survives_concurrent_insert_advancing_manifest": held(
        "engine/test_reconcile.py::test_a_writer_that_is_faster_makes_it_prepare_again",
        "engine/test_reconcile.py::test_it_runs_beside_live_writers_and_readers",
    ),
    "optimize_survives_concurrent_delete_before_compaction": held(
        "engine/test_reconcile.py::test_rows_deleted_before_a_compaction_is_published_stay_deleted"
    ),
    "optimize_retry_does_not_misclassify_own_head_drift": cannot_arise(
        NO_HEAD,
        NO_MOVING_HEAD,
        "storage/test_crash.py::test_a_timeout_after_the_swap_is_a_success_reported_once_and_applied_once",
    ),
    "optimize_publish_exhaustion_converges": held(
        "engine/test_reconcile.py::test_it_gives_up_on_a_table_that_never_rests",
        "engine/test_reconcile.py::test_optimize_covers_everything_and_then_has_nothing_to_do",
    ),
    "node_delete_with_no_incident_edges_leaves_no_edge_table_drift": held(
        "engine/write/test_stale_handles.py::test_deleting_a_node_without_edges_touches_no_edge_table"
    ),
    "overlapping_delete_dedup": held("engine/write/test_mutations.py::test_u9_overlapping_deletes_count_once"),
    "null_safe_dedup": held("engine/write/test_mutations.py::test_u10_a_missing_value_is_still_found_by_another_statement"),
    "lineage_projection": held(
        "storage/test_verify.py::test_pins_that_do_not_follow_from_the_commits_are_found",
        "storage/test_store.py::test_time_travel_reaches_every_commit",
    ),
    "internal_table_scans_are_flat_in_history": held(
        "storage/test_s3.py::test_the_cost_of_an_insert_does_not_grow_with_history",
        "engine/history/test_cost.py::test_a_page_costs_the_same_whatever_came_before",
    ),
    "future_stamp_is_refused_in_both_open_modes": held(
        "storage/test_bad_input.py::test_a_format_of_another_version_is_refused_in_both_ways_of_opening",
        "storage/test_bad_input.py::test_a_newer_format_is_refused_on_every_branch",
    ),
    "sub_floor_stamp_is_refused": held(
        "storage/test_formats.py::test_a_graph_of_an_older_format_is_refused_until_it_is_migrated"
    ),
    "publisher_retries_a_retryable_load_error": held(
        "storage/test_crash.py::test_a_look_at_the_store_that_fails_leaves_the_old_graph_or_the_new_one",
        "storage/test_crash.py::test_a_timeout_after_the_swap_is_settled_even_when_others_have_committed_since",
    ),
    "derived_ref_missing_read_must_not_wedge": held(
        "engine/test_saved.py::test_saved_state_is_never_needed",
        "engine/test_saved.py::test_what_cannot_be_saved_is_told_and_fails_nothing",
    ),
    "lance_restore_loses_to_concurrent_append_via_orphaning": cannot_arise(
        "nothing is ever restored over a live table",
        NO_MOVING_HEAD,
        "storage/guards/test_detached.py::test_restoring_a_pin_moves_the_head",
    ),
    "rollback_converges_manifest_and_head_so_schema_apply_retry_succeeds": held(
        CRASHES[1], "storage/test_columns.py::test_a_plan_whose_table_moved_is_void_and_succeeds_when_prepared_again"
    ),
    "incomplete_phase_b_partial_merge_rolls_back": held(*CRASHES),
    "pre_confirmation_sidecar_forward": cannot_arise(NO_SIDECARS, *CRASHES),
    "finalize_residual_does_not_drift_untouched_tables": cannot_arise(NO_HEAD, NO_MOVING_HEAD, CRASHES[0]),
    "heal_does_not_promote_live_schema_apply_staging": cannot_arise(
        "a schema is part of the commit that brings it, and nobody completes another's commit",
        "engine/write/test_promises.py::test_of_two_changes_of_the_schema_the_second_is_void",
        "storage/test_threads.py::test_of_two_schema_changes_at_once_the_second_is_void_and_others_go_on",
    ),
    "cross_process_n_writers": held(
        "storage/test_processes.py::test_commits_of_eight_processes_on_one_branch_form_one_line_and_none_is_lost",
        "engine/history/test_processes.py::test_processes_that_merge_into_one_branch",
    ),
    "in_process_interleave": held(
        "storage/test_threads.py::test_writes_of_sixteen_threads_share_swaps_and_each_is_a_commit_of_its_own",
        "storage/test_threads.py::test_a_plan_of_a_group_that_is_void_fails_alone",
    ),
    "live_writer_recovery": cannot_arise(
        "there is no recovery; reclaim, the only thing that deletes, leaves alone what is under way",
        "storage/test_reclaim.py::test_files_under_way_survive_and_can_be_published",
        "storage/test_leases.py::test_with_a_lease_a_write_may_take_hours_and_reclaim_waits_for_it",
    ),
    "formal_model": held(
        "storage/test_simulation.py::test_random_histories_agree_with_the_model",
        "engine/write/test_histories.py::test_a_thousand_random_histories_of_processes_keep_every_rule",
    ),
    "cross_table_write_skew_at_loader_post_ri_pre_stage": held(
        "engine/load/test_modes.py::test_a_commit_in_between_is_checked_again",
        "engine/write/test_write_skew.py::test_the_second_of_two_is_told",
        "engine/write/test_histories.py::test_a_thousand_random_histories_of_processes_keep_every_rule",
    ),
}


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("name", TABLE)
def test_every_claim_is_held_by_tests_that_exist(name: str) -> None:
    entry = TABLE[name]
    assert entry.tests
    for test in entry.tests:
        file, _, function = test.partition("::")
        assert function.startswith("test_")
        assert function in functions(file), f"{test} is gone: what holds `{name}` now?"
    if isinstance(entry, CannotArise):
        assert len(entry.because.split()) > 5
