"""Rules: each makes a plan better without changing its answer. One per module, applied in this order.

A rule is a function from a plan to a plan. Its module says when it applies and why the answer stays the same; its fixture in
`tests/engine/rules/` shows a plan before and after.
"""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning.rules import (
    close_early,
    count_from_the_middle,
    count_rows,
    count_walks,
    edge_scan,
    existence,
    key_lookup,
    merge_equal_rows,
    push_filters,
    rank_in_scan,
    reach_each_once,
    stop_early,
)
from omnigraph.engine.planning.steps import Plan

Rule = Callable[[Plan, Catalog], Plan]

RULES: tuple[tuple[str, Rule], ...] = (
    ("push_filters", push_filters.apply),
    ("rank_in_scan", rank_in_scan.apply),
    ("key_lookup", key_lookup.apply),
    ("close_early", close_early.apply),
    ("existence", existence.apply),
    ("count_from_the_middle", count_from_the_middle.apply),
    ("count_walks", count_walks.apply),
    ("edge_scan", edge_scan.apply),
    ("count_rows", count_rows.apply),
    ("merge_equal_rows", merge_equal_rows.apply),
    ("reach_each_once", reach_each_once.apply),
    ("stop_early", stop_early.apply),
)


def improve(plan: Plan, catalog: Catalog) -> Plan:
    """The plan after every rule had its turn."""
    for _, rule in RULES:
        plan = rule(plan, catalog)
    return plan
