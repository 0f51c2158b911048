"""Plans for people: one line per step.

Types are spelt as everywhere, except that an enum shows as `Enum(a|b)`: in these lines commas separate other things.
"""

from __future__ import annotations

from typing import assert_never

from omnigraph.catalog.canonical_json import compact, float_text
from omnigraph.catalog.migration.instructions import Computed, Fill
from omnigraph.catalog.migration.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    DropProperty,
    DropType,
    ExtendEnum,
    MigrationPlan,
    Refusal,
    RelaxProperty,
    RemoveConstraint,
    RenameEnumValues,
    RenameProperty,
    RenameType,
    RequireProperty,
    Step,
    TightenCardinality,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
    WidenProperty,
)
from omnigraph.catalog.shape import Bound, Check, Constraint, Index, Key, Note, Range, Unique
from omnigraph.language.cursor import quote_string
from omnigraph.model.phrases import one_line
from omnigraph.model.types import PropertyType

NO_CHANGES = "no schema changes"


def render_plan(plan: MigrationPlan) -> tuple[str, ...]:
    """One line per step, or the one line that says there is none."""
    return tuple(render_step(step) for step in plan.steps) or (NO_CHANGES,)


def render_step(step: Step) -> str:
    """One step as a line."""
    match step:
        case AddType(kind, name):
            return f"add {kind} type '{name}'"
        case RenameType(kind, old, new):
            return f"rename {kind} type '{old}' -> '{new}'"
        case AddProperty(kind, owner, name, type_, backfill):
            return f"add property '{owner}.{name}' ({_type_text(type_)}) on {kind} '{owner}'{_backfill_text(backfill)}"
        case RequireProperty(kind, owner, name, backfill):
            return f"require property '{owner}.{name}' on {kind} '{owner}'{_backfill_text(backfill)}"
        case RelaxProperty(kind, owner, name):
            return f"no longer require property '{owner}.{name}' on {kind} '{owner}'"
        case WidenProperty(kind, owner, name, before, after):
            return f"widen property '{owner}.{name}' ({_type_text(before)} -> {_type_text(after)}) on {kind} '{owner}'"
        case RenameEnumValues(kind, owner, name, renamed):
            pairs = ", ".join(f"{old} -> {new}" for old, new in renamed)
            return f"rename enum values of '{owner}.{name}' ({pairs}) on {kind} '{owner}'"
        case RenameProperty(kind, owner, old, new):
            return f"rename property '{owner}.{old}' -> '{owner}.{new}' on {kind} '{owner}'"
        case AddConstraint(kind, owner, constraint):
            return f"add constraint {constraint_text(constraint)} on {kind} '{owner}'"
        case RemoveConstraint(kind, owner, constraint):
            return f"remove constraint {constraint_text(constraint)} from {kind} '{owner}': it could not be checked"
        case TightenCardinality(owner, minimum, maximum):
            return f"tighten cardinality of edge '{owner}' to {cardinality_text(minimum, maximum)}"
        case ExtendEnum(kind, owner, name, added):
            return f"extend enum '{owner}.{name}' ({', '.join(f'+{value}' for value in added)}) on {kind} '{owner}'"
        case UpdateTypeMetadata(kind, name, notes):
            return f"update metadata on {kind} '{name}' ({notes_text(notes)})"
        case UpdatePropertyMetadata(kind, owner, name, notes):
            return f"update metadata on property '{owner}.{name}' of {kind} '{owner}' ({notes_text(notes)})"
        case DropType(kind, name, mode):
            return f"drop {kind} type '{name}' ({mode.value} mode)"
        case DropProperty(kind, owner, name, mode):
            return f"drop property '{owner}.{name}' of {kind} '{owner}' ({mode.value} mode)"
        case Refusal(entity, reason, code):
            bracket = "" if code is None else f" [{code}, {code.tier.value}]"
            return f"unsupported change on {entity}{bracket}: {reason}"
        case _:
            assert_never(step)


def constraint_text(constraint: Constraint) -> str:
    """A constraint as the schema language writes it in a body."""
    match constraint:
        case Key(columns):
            ends = [end for end in ("src", "dst") if end in columns]
            return f"@key({', '.join([*ends, *(c for c in columns if c not in ends)])})"
        case Unique(columns):
            return f"@unique({', '.join(columns)})"
        case Index(columns):
            return f"@index({', '.join(columns)})"
        case Range(name, low, high):
            return f"@range({name}, {_bound_text(low)}..{_bound_text(high)})"
        case Check(name, pattern):
            return f"@check({name}, {quote_string(pattern)})"
        case _:
            assert_never(constraint)


def cardinality_text(minimum: int, maximum: int | None) -> str:
    """A cardinality as the schema language writes it."""
    return f"@card({minimum}..{'' if maximum is None else maximum})"


def notes_text(notes: tuple[Note, ...]) -> str:
    """Annotations as the schema language writes them."""
    return " ".join(_note_text(note) for note in notes) or "no annotations"


def _note_text(note: Note) -> str:
    arguments = [] if note.value is None else [quote_string(note.value)]
    arguments += [f"{key}={quote_string(value)}" for key, value in note.kwargs]
    return f"@{note.name}({', '.join(arguments)})" if arguments else f"@{note.name}"


def _backfill_text(fill: Fill) -> str:
    match fill:
        case None:
            return ""
        case Computed(expression):
            return f" (existing: {one_line(expression)})"
        case _:
            return f" (existing: {compact(fill)})"


def _type_text(type_: PropertyType) -> str:
    if type_.enum_values is None:
        return type_.display()
    return f"Enum({'|'.join(type_.enum_values)}){'?' if type_.nullable else ''}"


def _bound_text(bound: Bound) -> str:
    if bound is None:
        return ""
    return str(bound) if isinstance(bound, int) else float_text(bound)
