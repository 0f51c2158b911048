"""Constraints: `@key` `@unique` `@index` `@range` `@check`, and the cardinality of edges.

The key of an edge holds both ends, and any of its properties besides: `@key(src, dst)`, `@key(src, dst, since)`. An edge that is
what it is whatever it connects would be another edge with every end it is given; a number that is its own is `@unique`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from omnigraph.catalog.declare.names import TypeKind
from omnigraph.catalog.keepable import void
from omnigraph.catalog.shape import Check, Constraint, Index, Key, Range, Unique
from omnigraph.language.diagnostics import Family, Problems, did_you_mean
from omnigraph.language.pg import tree as pg
from omnigraph.language.source import Span
from omnigraph.model.types import PropertyType

ENDPOINTS = ("src", "dst")


class Constraints:
    """The constraints of one type, as they are found valid."""

    def __init__(self, problems: Problems, kind: TypeKind, owner: str, types: Mapping[str, PropertyType]) -> None:
        self._problems = problems
        self._kind = kind
        self._owner = owner
        self._types = types
        self._keys = 0
        self.found: list[Constraint] = []

    def add_written(self, constraint: pg.Constraint) -> None:
        """A constraint written in the body."""
        match constraint.kind:
            case pg.ConstraintKind.KEY | pg.ConstraintKind.UNIQUE | pg.ConstraintKind.INDEX:
                columns = [self._name(a, constraint) for a in constraint.arguments]
                if None not in columns:
                    names = tuple(c for c in columns if c)
                    problem = void(Unique(names), self._types) if constraint.kind is pg.ConstraintKind.UNIQUE else None
                    if problem is None:
                        self.add_columns(constraint.kind.value, names, constraint.span)
                    else:
                        self._refuse(f"`@unique` cannot be checked: {problem}", constraint.span, "name single values only")
            case pg.ConstraintKind.RANGE:
                self._add_range(constraint)
            case pg.ConstraintKind.CHECK:
                self._add_check(constraint)

    def add_columns(self, kind: Literal["key", "unique", "index"], columns: tuple[str, ...], span: Span) -> None:
        """`@key`, `@unique` or `@index` over columns, whichever way it was written."""
        if kind == "key":
            self._keys += 1
            if self._keys > 1:
                help = "a composite key is one body constraint: @key(a, b)"
                self._refuse(f"multiple @key constraints on `{self._owner}`", span, help)
                return
            if self._kind == "edge" and all(c in self._types for c in columns if c not in ENDPOINTS):
                absent = [end for end in ENDPOINTS if end not in columns]
                if absent:
                    message = f"`@key` of edge `{self._owner}` needs both ends; `{absent[0]}` is missing"
                    wanted = ", ".join((*ENDPOINTS, *(c for c in columns if c not in ENDPOINTS)))
                    self._refuse(message, span, f"write @key({wanted}), or @unique({', '.join(columns)})")
                    return
        usable = [self._column_fits(kind, column, span) for column in columns]
        if all(usable):
            ordered = tuple(sorted(set(columns)))
            self.found.append(Key(ordered) if kind == "key" else Unique(ordered) if kind == "unique" else Index(ordered))

    def _column_fits(self, kind: str, column: str, span: Span) -> bool:
        if self._kind == "edge" and column in ENDPOINTS:
            return True
        type_ = self._types.get(column)
        if type_ is None:
            self._unknown(f"@{kind}", column, span)
            return False
        if type_.is_blob:
            self._refuse(f"`@{kind}` is not supported on Blob property `{column}`", span)
            return False
        if kind == "key" and (type_.nullable or type_.is_list or type_.is_vector):
            why = "nullable" if type_.nullable else "a list" if type_.is_list else "a Vector"
            self._refuse(f"`@key` needs a required scalar property; `{column}` is {why} ({type_})", span)
            return False
        return True

    def _add_range(self, constraint: pg.Constraint) -> None:
        name = self._constrained_property(constraint)
        if name is None:
            return
        bounds = constraint.arguments[1] if len(constraint.arguments) > 1 else None
        if not isinstance(bounds, pg.Range):
            self._refuse("`@range` needs bounds after the property", constraint.span, "for example @range(age, 0..150)")
            return
        type_ = self._types[name]
        if not type_.scalar.is_numeric:
            self._refuse(f"`@range` requires a numeric type; `{name}` is {type_}", constraint.span)
            return
        self.found.append(Range(name, bounds.low, bounds.high))

    def _add_check(self, constraint: pg.Constraint) -> None:
        name = self._constrained_property(constraint)
        if name is None:
            return
        pattern = constraint.arguments[1] if len(constraint.arguments) > 1 else None
        if not isinstance(pattern, pg.Literal) or pattern.kind is not pg.LiteralKind.STRING:
            help = 'for example @check(slug, "^[a-z-]+$")'
            self._refuse("`@check` needs a pattern (a string) after the property", constraint.span, help)
            return
        type_ = self._types[name]
        if type_.scalar.value != "String":
            self._refuse(f"`@check` requires a String type; `{name}` is {type_}", constraint.span)
            return
        found = Check(name, pattern.value)
        problem = void(found, self._types)
        if problem is None:
            self.found.append(found)
        else:
            help = "patterns are those of RE2: no look-around, no back-references, no repetition above 1000"
            self._refuse(f"`@check` of `{name}` cannot be checked: {problem}", constraint.span, help)

    def _constrained_property(self, constraint: pg.Constraint) -> str | None:
        word = f"@{constraint.kind.value}"
        if self._kind == "edge":
            self._refuse(f"`{word}` is not supported on edges", constraint.span)
            return None
        name = self._name(constraint.arguments[0], constraint)
        if name is not None and name not in self._types:
            self._unknown(word, name, constraint.span)
            return None
        return name

    def _name(self, argument: pg.ConstraintArgument, constraint: pg.Constraint) -> str | None:
        if isinstance(argument, pg.Literal) and argument.kind is pg.LiteralKind.NAME:
            return argument.value
        self._refuse(f"`@{constraint.kind.value}`: expected property name", argument.span, "write it without quotes")
        return None

    def _unknown(self, word: str, column: str, span: Span) -> None:
        message = f"`{word}` names unknown property `{column}` of `{self._owner}`"
        spelt = {"from": "src", "to": "dst"}.get(column) if self._kind == "edge" else None
        help = did_you_mean(column, self._types) if spelt is None else f"in a schema this end is called `{spelt}`"
        self._refuse(message, span, help)

    def _refuse(self, message: str, span: Span, help: str = "") -> None:
        self._problems.add(Family.PARSE, "constraint", message, span, help)


def check_cardinality(problems: Problems, edge: pg.Edge) -> tuple[int, int | None]:
    """Minimum and maximum number of edges per source node."""
    card = edge.cardinality
    if card is None:
        return 0, None
    if card.maximum is not None and card.minimum > card.maximum:
        message = f"`@card` of edge `{edge.name}`: min {card.minimum} exceeds max {card.maximum}"
        problems.add(Family.PARSE, "cardinality", message, card.span)
    return card.minimum, card.maximum
