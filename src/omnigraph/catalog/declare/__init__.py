"""From the tree of a `.pg` text to its shape, checking every rule of the schema language on the way.

`read_shape` collects all problems; `declare` raises them. Rules live one group per module:

    names          reserved and duplicate names, endpoints, case folding
    annotations    where each annotation may stand and what it may hold; `@embed`; rename hints
    constraints    `@key` `@unique` `@index` `@range` `@check` `@card`
    interfaces     expansion of `implements`
"""

from __future__ import annotations

from omnigraph.catalog.declare.schema import declare, read_shape

__all__ = ["declare", "read_shape"]
