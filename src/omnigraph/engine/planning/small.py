"""Whether a plan proves to be small: it starts from nodes found by their keys and goes a few short hops from there.

A server runs such a read where it arrives, instead of handing it to a thread; so whether it is small is said by the plan and by
counts that the commit keeps, before anything is read.
"""

from __future__ import annotations

from typing import Final

from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.estimate import estimates
from omnigraph.engine.snapshot.view import View

ROWS: Final = 256
"""Rows that a small plan has in hand at most, as far as counts tell."""

HOPS: Final = 2

_SMALL_STEPS: Final = (st.Start, st.Lookup, st.Expand, st.Reach, st.Close, st.Filter, st.Merge)


def is_small(plan: st.Plan, view: View) -> bool:
    """Whether a plan is small on a view."""
    steps = plan.steps
    if not any(isinstance(step, st.Lookup) for step in steps[:2]) or not all(isinstance(step, _SMALL_STEPS) for step in steps):
        return False
    if any(isinstance(step, st.Expand | st.Reach) and step.hop.maximum > HOPS for step in steps):
        return False
    return max(estimates(steps, view).values(), default=0.0) <= ROWS
