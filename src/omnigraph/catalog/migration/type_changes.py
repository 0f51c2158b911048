"""Changes in the head of a type: its name, what it implements, where an edge leads and how often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from omnigraph.catalog.ir import EdgeIR, InterfaceIR, NodeIR, TypeIR, TypeRef, entity
from omnigraph.catalog.migration.annotation_changes import type_annotation_changes
from omnigraph.catalog.migration.render import cardinality_text
from omnigraph.catalog.migration.steps import DropMode, DropType, Refusal, RenameType, Step, TightenCardinality


def head_changes(accepted: TypeIR, desired: TypeIR) -> Iterator[Step]:
    """What changes between two states of one type, before its properties are looked at."""
    if accepted.name != desired.name:
        yield _rename(accepted, desired)
    match accepted, desired:
        case NodeIR(), NodeIR():
            yield from _implements_changes(accepted, desired)
            yield from type_annotation_changes(accepted, desired)
        case EdgeIR(), EdgeIR():
            yield from _endpoint_changes(accepted, desired)
            yield from _cardinality_changes(accepted, desired)
            yield from type_annotation_changes(accepted, desired)
        case _:
            return  # an interface has neither; `lineage` has seen to it that both are of one kind


def removal(accepted: TypeIR, mode: DropMode) -> Step:
    """The step for an accepted type the desired schema no longer has."""
    match accepted:
        case NodeIR(name=name) | EdgeIR(name=name):
            return DropType(accepted.kind, name, mode)
        case InterfaceIR(name=name):
            return Refusal(
                entity("interface", name),
                f"interface {name} cannot be removed; leave it in the schema, it holds no data by itself",
            )
        case _:
            assert_never(accepted)


def _rename(accepted: TypeIR, desired: TypeIR) -> Step:
    if not isinstance(desired, InterfaceIR):
        return RenameType(desired.kind, accepted.name, desired.name)
    return Refusal(
        entity("interface", desired.name),
        f"interface {accepted.name} cannot be renamed to {desired.name}; keep the name",
    )


def _implements_changes(accepted: NodeIR, desired: NodeIR) -> Iterator[Step]:
    if {ref.type_id for ref in accepted.implements} != {ref.type_id for ref in desired.implements}:
        yield Refusal(
            entity("node", desired.name),
            f"the interfaces of {desired.name} cannot change from ({_names(accepted.implements)}) "
            f"to ({_names(desired.implements)}); keep them, and declare further properties in the node itself",
        )


def _endpoint_changes(accepted: EdgeIR, desired: EdgeIR) -> Iterator[Step]:
    before, after = (accepted.source, accepted.target), (desired.source, desired.target)
    if [ref.type_id for ref in before] != [ref.type_id for ref in after]:
        yield Refusal(
            entity("edge", desired.name),
            f"edge {desired.name} cannot be redirected from {before[0].name} -> {before[1].name} "
            f"to {after[0].name} -> {after[1].name}; add a new edge type and drop this one",
        )


def _cardinality_changes(accepted: EdgeIR, desired: EdgeIR) -> Iterator[Step]:
    before, after = (accepted.minimum, accepted.maximum), (desired.minimum, desired.maximum)
    if before == after:
        return
    if after[0] >= before[0] and (before[1] is None or (after[1] is not None and after[1] <= before[1])):
        yield TightenCardinality(desired.name, *after)
        return
    yield Refusal(
        entity("edge", desired.name),
        f"the cardinality of edge {desired.name} cannot change from {cardinality_text(*before)} to {cardinality_text(*after)}, "
        "which allows what was not allowed; keep it, or add a new edge type and load the edges there",
    )


def _names(refs: Iterable[TypeRef]) -> str:
    return ", ".join(sorted(ref.name for ref in refs)) or "none"
