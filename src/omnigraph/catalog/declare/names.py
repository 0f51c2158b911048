"""Names: what is reserved, what repeats, what does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar

from omnigraph.language.diagnostics import Family, Problems, did_you_mean
from omnigraph.language.pg import tree as pg

TypeKind = Literal["interface", "node", "edge"]

STORAGE_NAMES = frozenset({"_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version"})
"""Column names the storage layer keeps for itself."""

IMPLICIT_NAMES: dict[TypeKind, frozenset[str]] = {
    "interface": frozenset({"id"}),
    "node": frozenset({"id"}),
    "edge": frozenset({"id", "src", "dst"}),
}
"""Columns every entity has without declaring them."""

Declared = TypeVar("Declared", pg.Interface, pg.Node, pg.Edge)


def unique_declarations(problems: Problems, kind: TypeKind, declarations: Sequence[Declared]) -> dict[str, Declared]:
    """Declarations of one kind by name; a repeated name is a problem and the first one stays."""
    what = "interface name" if kind == "interface" else f"{kind} type"
    found: dict[str, Declared] = {}
    folded: dict[str, str] = {}
    for declaration in declarations:
        name, span = declaration.name.text, declaration.name.span
        if name in found:
            problems.add(Family.CATALOG, "duplicate-type", f"duplicate {what} `{name}`", span, "rename or remove one of them")
            continue
        twin = folded.get(name.lower()) if kind == "edge" else None
        if twin is not None:
            message = f"edge types `{twin}` and `{name}` are a collision after case folding"
            problems.add(Family.CATALOG, "case-fold-collision", message, span, "queries find edges regardless of case")
            continue
        found[name] = declaration
        folded[name.lower()] = name
    return found


def unique_properties(problems: Problems, kind: TypeKind, owner: str, body: pg.Body | None) -> dict[str, pg.Property]:
    """Properties by name, without reserved and repeated ones."""
    found: dict[str, pg.Property] = {}
    for prop in body.properties if body is not None else ():
        name, span = prop.name.text, prop.name.span
        if name in STORAGE_NAMES:
            message = f"property name `{name}` is reserved for a virtual storage system column"
            problems.add(Family.PARSE, "reserved-property", message, span)
        elif name in IMPLICIT_NAMES[kind]:
            message = f"property name `{name}` is reserved: every {kind if kind != 'interface' else 'node'} has it already"
            help = "use `@key` on a property of your own; the id is derived from it" if name == "id" else ""
            problems.add(Family.PARSE, "reserved-property", message, span, help)
        elif name in found:
            problems.add(Family.PARSE, "duplicate-property", f"duplicate property `{name}` in `{owner}`", span)
        else:
            found[name] = prop
    return found


def check_endpoints(problems: Problems, edges: Iterable[pg.Edge], node_names: Iterable[str]) -> None:
    """Both ends of an edge are node types."""
    known = set(node_names)
    for edge in edges:
        for end in (edge.source, edge.target):
            if end.text not in known:
                message = f"edge `{edge.name}` refers to unknown node type `{end}`"
                problems.add(Family.CATALOG, "unknown-endpoint", message, end.span, did_you_mean(end.text, known))
