"""The migration planner: from the accepted schema to the desired one, as a list of steps.

Both sides are IRs, so the planner never guesses. Two things are the same when their ids are, and the name is one more attribute
that may have changed. What has an id only on the desired side is new; what has one only on the accepted side goes.

Three rules decide what can be a step. A schema is a promise to those who read the graph: more can be promised (`@unique`, a
tighter `@card`, a value that is always there) if the entities that exist keep it, which is looked at when the plan is applied; of
what is promised, only that a value is always there can be taken back. Values are never changed by a type: a property keeps its
type or gets one that holds all of its values (`I32` to `I64`), and an enum keeps its values or says what they are called now. And
a drop is not a refusal: the data leaves the current image and stays in history, unless the caller allows it to be lost for good.

Accepted, on the left, and desired:

    node Person {                              node Human @rename_from("Person") {
        name: String                               name: String @index
        state: enum(open, done)                    status: enum(open, done, stuck) @rename_from("state")
        age: I32?
    }                                          }
    edge Knows: Person -> Person @card(0..9)   edge Knows: Human -> Human

gives, in this order,

    rename node type 'Person' -> 'Human'
    add constraint @index(name) on node 'Human'
    rename property 'Human.state' -> 'Human.status' on node 'Human'
    extend enum 'Human.status' (+stuck) on node 'Human'
    drop property 'Human.age' of node 'Human' (soft mode)
    unsupported change on edge:Knows: the cardinality of edge Knows cannot change …

The endpoints of Knows do not appear: they lead where they led before. The order is fixed: interfaces, nodes, edges; in each the
desired types by name, then what goes; in a type its head, its properties by name, what goes, and its constraints last. A refusal
does not end the plan, so that one look shows everything that stands in the way.

    type_changes          name, implements, endpoints, cardinality
    annotation_changes    descriptions and custom annotations
    property_changes      everything about properties
    constraint_changes    both spellings of constraints
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omnigraph.catalog.canonical_json import compact
from omnigraph.catalog.ir import SchemaIR, TypeIR
from omnigraph.catalog.migration.constraint_changes import type_constraint_changes
from omnigraph.catalog.migration.instructions import Instructions
from omnigraph.catalog.migration.lineage import check_lineage
from omnigraph.catalog.migration.property_changes import property_changes
from omnigraph.catalog.migration.steps import AddType, DropMode, MigrationPlan, Refusal, Step
from omnigraph.catalog.migration.type_changes import head_changes, removal


def plan(
    accepted: SchemaIR, desired: SchemaIR, *, allow_data_loss: bool = False, given: Instructions | None = None
) -> MigrationPlan:
    """Every step from the accepted schema to the desired one, in order.

    With `allow_data_loss` every drop is hard; `given` says what existing entities get. Raises `SchemaIdentityError` when the two
    are not states of one schema.
    """
    check_lineage(accepted, desired)
    filled = given or Instructions()
    mode = DropMode.HARD if allow_data_loss else DropMode.SOFT
    steps = [
        *_group_changes(accepted.interfaces, desired.interfaces, mode, filled),
        *_group_changes(accepted.nodes, desired.nodes, mode, filled),
        *_group_changes(accepted.edges, desired.edges, mode, filled),
    ]
    filled.refuse_unused()
    # The JSON text, because that is what is hashed: to `==`, the bounds 1 and 1.0 are the same.
    if not steps and compact(accepted.to_json()) != compact(desired.to_json()):
        reason = "the schemas differ by an unclassified semantic IR change; write the change as the schema language states it"
        steps.append(Refusal("schema", reason))
    return MigrationPlan(tuple(steps))


def _group_changes(accepted: Sequence[TypeIR], desired: Sequence[TypeIR], mode: DropMode, given: Instructions) -> Iterator[Step]:
    """Types of one kind: the desired ones by name, then those that go."""
    known = {type_.type_id: type_ for type_ in accepted}
    for type_ in desired:
        before = known.pop(type_.type_id, None)
        if before is None:
            yield AddType(type_.kind, type_.name)
        else:
            yield from head_changes(before, type_)
            yield from property_changes(before, type_, mode, given)
            yield from type_constraint_changes(before, type_)
    for leftover in known.values():
        yield removal(leftover, mode)
