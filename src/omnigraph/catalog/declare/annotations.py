"""Annotations: where each may stand, what it may hold, and what is kept of it.

| annotation                 | type header        | property                                            |
|----------------------------|--------------------|-----------------------------------------------------|
| `@key`                     | no                 | of a node or interface; not list, Vector, Blob      |
| `@unique`                  | no                 | not list, Vector, Blob                              |
| `@index`                   | no                 | not list, Blob                                      |
| `@embed(source, model=…)`  | no                 | a Vector of a node or interface                     |
| `@description(text)`       | yes                | yes                                                 |
| `@instruction(text)`       | yes                | no                                                  |
| `@rename_from(old)`        | yes                | yes                                                 |
| `@rename_value(old, to=…)` | no                 | an enum; once for each value                        |
| anything else              | yes                | yes                                                 |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omnigraph.catalog.declare.names import TypeKind
from omnigraph.catalog.shape import Embed, Note, canonical_notes
from omnigraph.language.diagnostics import Family, Problems, did_you_mean
from omnigraph.language.pg import tree as pg
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType

CONSTRAINING = ("key", "unique", "index")
TYPED = frozenset({"rename_from", "rename_value", "embed", *CONSTRAINING})
"""Annotations with a place of their own in the shape; the others are kept as notes."""


@frozen
class Annotated:
    """What the annotations of one declaration come to."""

    notes: tuple[Note, ...] = ()
    constraints: tuple[str, ...] = ()
    embed: Embed | None = None
    rename_from: str | None = None
    renamed_values: tuple[tuple[str, str], ...] = ()
    """Values of an enum that were called something else before: old, new."""


def read_type_annotations(problems: Problems, kind: TypeKind, annotations: Sequence[pg.Annotation]) -> Annotated:
    """Annotations in the header of a node or edge."""
    for annotation in annotations:
        name = annotation.name.text
        if name == "rename_value":
            problems.add(Family.PARSE, "annotation-misplaced", "`@rename_value` is for a property", annotation.span)
        if name in CONSTRAINING or name == "embed":
            if kind == "edge":
                message, help = f"`@{name}` is not supported on edges", "an edge property may carry `@unique` or `@index`"
                if name == "key":
                    message, help = "`@key` of an edge names its columns", "for example @key(src, dst)"
            else:
                message, help = f"`@{name}` is only supported on node properties or as body constraint", ""
            problems.add(Family.PARSE, "annotation-misplaced", message, annotation.span, help)
    _check_texts(problems, annotations)
    return Annotated(_notes(annotations), rename_from=_rename_hint(problems, annotations))


def read_property_annotations(
    problems: Problems, kind: TypeKind, prop: pg.Property, siblings: Mapping[str, PropertyType]
) -> Annotated:
    """Annotations of a property; `siblings` are the properties an `@embed` may name."""
    seen: set[str] = set()
    embed: Embed | None = None
    for annotation in prop.annotations:
        name = annotation.name.text
        if name == "instruction":
            message = "`@instruction` is not supported on properties"
            problems.add(Family.PARSE, "annotation-misplaced", message, annotation.span, "use `@description`")
        if name not in CONSTRAINING and name != "embed":
            continue
        refusal = _refusal(kind, name, prop.type)
        if refusal:
            help = "the key of an edge names its ends, too: @key(src, dst, …)" if kind == "edge" and name == "key" else ""
            message = f"`@{name}` is not supported on {refusal}"
            problems.add(Family.PARSE, "annotation-misplaced", message, annotation.span, help)
        if name in seen:
            message = f"`@{name}` appears more than once on `{prop.name}`"
            problems.add(Family.PARSE, "annotation-repeated", message, annotation.span)
        elif name in CONSTRAINING and annotation.value is not None:
            message = f"`@{name}` on a property takes no value"
            problems.add(Family.PARSE, "annotation-value", message, annotation.span)
        elif name == "embed" and not refusal:
            embed = _embed(problems, annotation, prop, siblings)
        seen.add(name)
    _check_texts(problems, prop.annotations)
    constraints = tuple(sorted(seen & set(CONSTRAINING)))
    return Annotated(
        _notes(prop.annotations),
        constraints,
        embed,
        _rename_hint(problems, prop.annotations),
        _renamed_values(problems, prop),
    )


def _refusal(kind: TypeKind, name: str, type_: PropertyType) -> str:
    """What kind of property cannot carry this annotation, when this one is of that kind."""
    if type_.is_list:
        return "a list property"
    if type_.is_blob:
        return "a Blob property"
    if type_.is_vector and name in ("key", "unique"):
        return "a Vector property"
    if kind == "edge" and name in ("key", "embed"):
        return "an edge property"
    return ""


def _embed(
    problems: Problems, annotation: pg.Annotation, prop: pg.Property, siblings: Mapping[str, PropertyType]
) -> Embed | None:
    def refuse(message: str, help: str = "") -> None:
        problems.add(Family.PARSE, "embed", message, annotation.span, help)

    if not prop.type.is_vector:
        refuse(f"`@embed` needs a Vector property; `{prop.name}` is {prop.type}")
        return None
    if annotation.value is None or not annotation.value.value.strip():
        refuse("`@embed` needs the name of the text property to embed", "for example @embed(body)")
        return None
    model: str | None = None
    for key, literal in annotation.kwargs:
        if key.text == "model":
            model = literal.value
        else:
            refuse(f"unknown argument `{key}` for `@embed`", "the only one is `model`")
    source = annotation.value.value
    target = siblings.get(source)
    if target is None:
        refuse(f"`@embed` names unknown property `{source}`", did_you_mean(source, siblings))
    elif not target.is_string:
        refuse(f"`@embed` needs a String property as source; `{source}` is {target}")
    return Embed(source, model)


def _check_texts(problems: Problems, annotations: Sequence[pg.Annotation]) -> None:
    """`@description` and `@instruction`: once, with something in it."""
    seen: set[str] = set()
    for annotation in annotations:
        name = annotation.name.text
        if name not in ("description", "instruction"):
            continue
        if name in seen:
            problems.add(Family.PARSE, "annotation-repeated", f"`@{name}` appears more than once", annotation.span)
        elif annotation.value is None or not annotation.value.value.strip():
            problems.add(Family.PARSE, "annotation-value", f"`@{name}` needs a non-empty value", annotation.span)
        seen.add(name)


def _rename_hint(problems: Problems, annotations: Sequence[pg.Annotation]) -> str | None:
    hints = [a for a in annotations if a.name.text == "rename_from"]
    for extra in hints[1:]:
        problems.add(Family.PARSE, "rename-hint", "`@rename_from` may appear only once", extra.span)
    if not hints:
        return None
    hint = hints[0]
    if hint.value is None or hint.kwargs or not hint.value.value.strip():
        help = 'for example @rename_from("OldName")'
        problems.add(Family.PARSE, "rename-hint", "`@rename_from` needs exactly one non-empty name", hint.span, help)
        return None
    return hint.value.value


def _renamed_values(problems: Problems, prop: pg.Property) -> tuple[tuple[str, str], ...]:
    """What `@rename_value("old", to="new")` says, once for each old value."""
    found: dict[str, str] = {}
    for annotation in (a for a in prop.annotations if a.name.text == "rename_value"):
        given = {key.text: literal.value for key, literal in annotation.kwargs}
        old = None if annotation.value is None else annotation.value.value
        message, help = "", 'for example @rename_value("done", to="finished")'
        allowed = prop.type.enum_values
        if allowed is None:
            message, help = f"`@rename_value` needs an enum; `{prop.name}` is {prop.type}", ""
        elif not old or set(given) != {"to"}:
            message = "`@rename_value` takes the old value, and the new one as `to`"
        elif given["to"] not in allowed:
            message, help = f"`{given['to']}` is not a value of `{prop.name}`", did_you_mean(given["to"], allowed)
        elif old in allowed:
            message, help = f"`{old}` is still a value of `{prop.name}`", "take it out of the enum, or drop the annotation"
        elif old in found or given["to"] in found.values():
            message, help = f"`@rename_value` names `{old if old in found else given['to']}` twice", ""
        if message:
            problems.add(Family.PARSE, "rename-hint", message, annotation.span, help)
        else:
            assert old is not None
            found[old] = given["to"]
    return tuple(found.items())


def _notes(annotations: Sequence[pg.Annotation]) -> tuple[Note, ...]:
    return canonical_notes(
        [
            Note(
                a.name.text,
                None if a.value is None else a.value.value,
                tuple(sorted({key.text: literal.value for key, literal in a.kwargs}.items())),
            )
            for a in annotations
            if a.name.text not in TYPED
        ]
    )
