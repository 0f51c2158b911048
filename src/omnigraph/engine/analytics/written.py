"""Results back into the graph: a property of every node that has a value, as one commit.

The property has to be in the schema of the branch, be a number, and be able to hold the result. Nodes that have the value
already are left alone, so measuring twice commits once. Nodes that came to the branch since keep what they have; those that went
are left out.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.analytics.algorithms import Algorithm
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.write.changeset import ChangeSet
from omnigraph.engine.write.commit import Intent, commit
from omnigraph.engine.write.fill import fill
from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.types import INTEGER_RANGES, PropertyType
from omnigraph.storage.commits.lineage import Commit


@frozen
class Target:
    """Where values go."""

    view: View
    """The newest state of the branch."""
    branch: str
    property: str
    actor: str | None = None
    message: str | None = None


def check_target(target: Target, types: tuple[str, ...], algorithm: Algorithm) -> None:
    """Refuse a property that cannot hold the values, before anything is computed."""
    wanted = "F64" if pa.types.is_floating(algorithm.type) else "I64"
    for name in types:
        type_ = target.view.catalog.nodes.get(name)
        if type_ is None:
            raise UsageError(f"branch `{target.branch}` has no node type `{name}` to write to")
        prop = type_.properties.get(target.property)
        if prop is None:
            raise UsageError(
                f"{name} has no property `{target.property}` to write to",
                hint=f"Add `{target.property}: {wanted}?` to the schema.",
            )
        fits = prop.type.is_numeric and (prop.type.scalar.is_float or wanted == "I64")
        if not fits or target.property in type_.key_names:
            why = "is part of the key" if target.property in type_.key_names else f"is {prop.type}"
            raise UsageError(f"{name}.{target.property} {why}", hint=f"Write to a property of type {wanted}.")


def write_back(workspace: Workspace, target: Target, table: pa.Table, algorithm: Algorithm) -> Commit | None:
    """Write the values of an algorithm (`type`, `id`, value, …) to a branch."""
    workspace.store.require_writable()
    deltas = []
    for name in pc.unique(table["type"]).sort().to_pylist():
        part = table.filter(pc.equal(table["type"], name))
        type_ = target.view.catalog.nodes[name]
        values = _fitted(whole(part[algorithm.name]), type_.properties[target.property].type, f"{name}.{target.property}")
        delta = fill(target.view, type_, target.property, pa.table({"id": whole(part["id"]), "value": values}))
        if delta is not None:
            deltas.append(delta)
    message = target.message or f"{algorithm.name} into {target.property}"
    intent = Intent("analytics", target.actor, message, strict=frozenset(delta.key for delta in deltas))
    return commit(workspace, target.view, target.branch, ChangeSet(deltas), intent)


def _fitted(values: pa.Array, type_: PropertyType, called: str) -> pa.Array:
    bounds = INTEGER_RANGES.get(type_.scalar)
    if bounds is not None and len(values):
        highest = pc.max(values).as_py()
        if highest > bounds[1]:
            raise UsageError(f"{called} is {type_}, and a value is {highest}", hint="Write to a property of type I64.")
    return values
