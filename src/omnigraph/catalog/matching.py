"""Which declaration of a desired schema is which thing of the accepted one.

Three ways to be the same thing, tried in this order, first for all types and then for the properties of each:

    1. the same kind and name                          a rename hint on it is then ignored, with a notice
    2. a hint: `@rename_from("Old")`                   Old must exist, be of the same kind or owner, and be nobody else's
    3. an injected property follows its interface      `interface N { label @rename_from("name") }` renames the copies in nodes

Because the same name always wins, old hints may stay in the file for ever, and a rename cannot be combined with the reuse of the
freed name. Names that stand and whose hints go round in a circle (`a` from `b`, `b` from `a`) ask for a swap: no history leaves
such hints behind, and a swap would be undone when the same text is applied again, so it is refused. What matches nothing is new.
Everything that does not resolve is collected, so that one run reports all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from omnigraph.catalog.declare.names import TypeKind
from omnigraph.catalog.ir import PropertyIR, SchemaIR, TypeIR, entity
from omnigraph.catalog.shape import EdgeShape, InterfaceShape, NodeShape, PropertyShape, Shape
from omnigraph.model.frozen import frozen

TypeKey = tuple[TypeKind, str]
"""A type of the desired schema: kind and name."""
PropertyKey = tuple[TypeKind, str, str]
"""A property of the desired schema: kind and name of its type, and its own name."""

TypeShape = InterfaceShape | NodeShape | EdgeShape


class NoticeCode(StrEnum):
    """Rename hints that resolve to nothing and do no harm."""

    IGNORED_EXACT_MATCH = "ignored_exact_match_rename_hint"
    INERT_INITIALIZATION = "inert_initialization_rename_hint"


@frozen
class Notice:
    """Something worth telling that stops nothing."""

    code: NoticeCode
    entity: str
    message: str

    def to_json(self) -> dict[str, str]:
        return {"code": self.code.value, "entity": self.entity, "message": self.message}


@frozen
class Matching:
    """The accepted thing each desired one is. What is missing here is new."""

    types: Mapping[TypeKey, TypeIR]
    properties: Mapping[PropertyKey, PropertyIR]
    notices: tuple[Notice, ...]
    problems: tuple[str, ...]
    """Each names its entity; none when everything resolved."""
    in_steps: bool = False
    """Whether some of them are about names that are to be freed and given again at once."""


def declared_types(shape: Shape) -> Iterator[tuple[TypeKind, TypeShape]]:
    """Every declaration with its kind: interfaces, nodes, edges, each by name."""
    for interface in shape.interfaces:
        yield "interface", interface
    for node in shape.nodes:
        yield "node", node
    for edge in shape.edges:
        yield "edge", edge


def match_nothing(shape: Shape) -> Matching:
    """The matching of a first schema: everything is new and hints have nothing to point at."""
    notices: list[Notice] = []

    def note(what: str, hint: str | None) -> None:
        if hint is not None:
            message = f'{what}: @rename_from("{hint}") has no effect: the graph has no earlier schema'
            notices.append(Notice(NoticeCode.INERT_INITIALIZATION, what, message))

    for kind, declared in declared_types(shape):
        note(entity(kind, declared.name), _type_hint(declared))
        for prop in declared.properties:
            note(entity(kind, declared.name, prop.name), prop.rename_from)
    return Matching({}, {}, tuple(notices), ())


def match_against(shape: Shape, accepted: SchemaIR) -> Matching:
    """The matching of a desired schema with the accepted one."""
    matcher = _Matcher(accepted)
    declared = list(declared_types(shape))
    matcher.match_types(declared)
    for kind, type_ in declared:
        key = (kind, type_.name)
        if key in matcher.unresolved:
            continue
        owner = matcher.types.get(key)
        if owner is None:
            matcher.refuse_hints_of_new_owner(kind, type_)
        else:
            matcher.match_properties(kind, type_, owner)
    return Matching(matcher.types, matcher.properties, tuple(matcher.notices), tuple(matcher.problems), matcher.in_steps)


def _type_hint(declared: TypeShape) -> str | None:
    return None if isinstance(declared, InterfaceShape) else declared.rename_from


@dataclass(slots=True)
class _Matcher:
    accepted: SchemaIR
    types: dict[TypeKey, TypeIR] = field(default_factory=dict)
    properties: dict[PropertyKey, PropertyIR] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    in_steps: bool = False
    unresolved: set[TypeKey] = field(default_factory=set)
    """Types whose hint failed; their properties are left alone, or each would be a second report of the same mistake."""

    def match_types(self, declared: Sequence[tuple[TypeKind, TypeShape]]) -> None:
        by_key = {(t.kind, t.name): t for t in self.accepted.types}
        taken: dict[int, str] = {}
        for kind, type_ in declared:
            exact = by_key.get((kind, type_.name))
            if exact is not None:
                self.types[kind, type_.name] = exact
                taken[exact.type_id] = entity(kind, type_.name)
                self._note_ignored(entity(kind, type_.name), _type_hint(type_))
        for kind in ("interface", "node", "edge"):
            standing = {t.name: _type_hint(t) for k, t in declared if k == kind and (k, t.name) in self.types}
            self._refuse_circles(standing, partial(entity, kind))
        for kind, type_ in declared:
            hint = _type_hint(type_)
            if hint is None or (kind, type_.name) in self.types:
                continue
            what, named = entity(kind, type_.name), by_key.get((kind, hint))
            if named is None:
                others = [entity(t.kind, t.name) for t in self.accepted.types if t.name == hint]
                self._refuse_type(kind, type_, _missing_type(others))
            elif named.type_id in taken:
                self._refuse_type(kind, type_, self._consumed_twice(entity(kind, hint), taken[named.type_id]))
            else:
                self.types[kind, type_.name] = named
                taken[named.type_id] = what

    def match_properties(self, kind: TypeKind, desired: TypeShape, owner: TypeIR) -> None:
        by_name = {p.name: p for p in owner.properties}
        taken: dict[int, str] = {}

        def take(prop: PropertyShape, found: PropertyIR) -> None:
            self.properties[kind, desired.name, prop.name] = found
            taken[found.property_id] = entity(kind, desired.name, prop.name)

        rest: list[PropertyShape] = []
        for prop in desired.properties:
            exact = by_name.get(prop.name)
            if exact is None:
                rest.append(prop)
            else:
                take(prop, exact)
                self._note_ignored(entity(kind, desired.name, prop.name), prop.rename_from)
        standing = {prop.name: prop.rename_from for prop in desired.properties if prop.name in by_name}
        self._refuse_circles(standing, partial(entity, kind, desired.name))
        for prop in rest:
            what = entity(kind, desired.name, prop.name)
            if prop.rename_from is None:
                followed = self._follow_interface(prop, owner)
                if followed is not None and followed.property_id not in taken:
                    take(prop, followed)
                continue
            named = by_name.get(prop.rename_from)
            if named is None:
                self._refuse(what, prop.rename_from, self._missing_property(prop.rename_from, owner))
            elif named.property_id in taken:
                source = entity(kind, owner.name, named.name)
                self._refuse(what, prop.rename_from, self._consumed_twice(source, taken[named.property_id]))
            else:
                take(prop, named)

    def refuse_hints_of_new_owner(self, kind: TypeKind, desired: TypeShape) -> None:
        for prop in desired.properties:
            if prop.rename_from is not None:
                what = entity(kind, desired.name, prop.name)
                new = entity(kind, desired.name)
                self._refuse(what, prop.rename_from, f"{new} is new and cannot import property identity from elsewhere")

    def _follow_interface(self, prop: PropertyShape, owner: TypeIR) -> PropertyIR | None:
        """The property by which the accepted owner fulfilled the interface property this one was copied from."""
        if prop.declared_directly:
            return None
        links = (self.properties.get(("interface", name, property_name)) for name, property_name in prop.satisfies)
        origins = {origin.property_id for origin in links if origin is not None}
        for candidate in owner.properties:
            if any(ref.property_id in origins for ref in candidate.satisfies):
                return candidate
        return None

    def _missing_property(self, hint: str, owner: TypeIR) -> str:
        elsewhere = [entity(t.kind, t.name, hint) for t in self.accepted.types if any(p.name == hint for p in t.properties)]
        if elsewhere:
            return f"only {' and '.join(elsewhere)} has that name, and a property never moves across stable owners"
        return f"no accepted property of {entity(owner.kind, owner.name)} has that name"

    def _note_ignored(self, what: str, hint: str | None) -> None:
        if hint is not None:
            message = f'{what}: @rename_from("{hint}") is ignored: the name is already the accepted one'
            self.notices.append(Notice(NoticeCode.IGNORED_EXACT_MATCH, what, message))

    def _refuse_circles(self, standing: Mapping[str, str | None], called: Callable[[str], str]) -> None:
        """Names that are accepted as they are, with hints that ask for each other's."""
        for first in sorted(standing):
            way = [first]
            while (hint := standing.get(way[-1])) is not None and hint not in way:
                way.append(hint)
            if hint == first and len(way) > 1 and first == min(way):
                reported = ", ".join(f"{called(name)} from {standing[name]}" for name in way)
                self.problems.append(f"{reported}: names cannot be swapped in one change")
                self.in_steps = True

    def _consumed_twice(self, source: str, other: str) -> str:
        self.in_steps = True
        return f"{source} would be consumed by more than one declaration, the other being {other}"

    def _refuse_type(self, kind: TypeKind, declared: TypeShape, problem: str) -> None:
        self.unresolved.add((kind, declared.name))
        self._refuse(entity(kind, declared.name), _type_hint(declared) or "", problem)

    def _refuse(self, what: str, hint: str, problem: str) -> None:
        self.problems.append(f'{what}: @rename_from("{hint}"): {problem}')


def _missing_type(of_other_kinds: Sequence[str]) -> str:
    if of_other_kinds:
        return f"{' and '.join(of_other_kinds)} has that name, and nothing can be renamed across declaration kinds"
    return "no accepted declaration has that name"
