"""Schema migration: what it takes to get from the accepted schema to a desired one.

    codes          the OG-… catalogue
    instructions   what entities get that exist already
    computing      expressions for that, checked
    steps          the values a plan is made of
    planner        two IRs in, a plan out
    render         plans for people

`plan_change` is the whole way for a text: declare, resolve identities, plan.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.catalog.canonical_json import Json
from omnigraph.catalog.declare import declare
from omnigraph.catalog.identity import Resolution, resolve
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.migration.computing import check_computed
from omnigraph.catalog.migration.instructions import Instructions, renamed_values
from omnigraph.catalog.migration.planner import plan
from omnigraph.catalog.migration.render import render_plan
from omnigraph.catalog.migration.steps import MigrationPlan, refuse_unsupported
from omnigraph.language.source import Source

__all__ = ["MigrationPlan", "plan", "plan_change", "refuse_unsupported", "render_plan"]


def plan_change(
    accepted: SchemaIR,
    desired: Source,
    *,
    allow_data_loss: bool = False,
    backfill: Mapping[str, Json] | None = None,
    compute: Mapping[str, str] | None = None,
) -> tuple[MigrationPlan, Resolution]:
    """The plan for a desired text, and its identities.

    Raises `ParseError` or `SchemaError` for the text, `SchemaIdentityError` for rename hints and `TypeCheckError` for
    expressions; an unsupported change is no error here, it is a step of the plan.
    """
    shape = declare(desired)
    resolution = resolve(shape, accepted, domain=accepted.domain)
    given = Instructions(backfill or {}, compute or {}, renamed_values(shape))
    found = plan(accepted, resolution.ir, allow_data_loss=allow_data_loss, given=given)
    check_computed(found, accepted, resolution.ir)
    return found, resolution
