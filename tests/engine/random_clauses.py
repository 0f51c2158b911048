"""What a random query matches: clauses of every kind, over the types and the rows of a random graph, and the values they speak of."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from random import Random
from typing import Any

from tests.engine.random_graphs import DAYS, ENUM, MOMENTS, TEXTS, WORDS, Edge, Graph, Prop

from omnigraph.language.cursor import quote_string
from omnigraph.model.types import PropertyType, Scalar

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h", "ab", "a1", "b_", "zz", "p", "q", "x")
NUMBERS = ("-3", "-1", "0", "1", "2", "3", "2.0", "0.5", "2.7", "0.1", "-0.25", "0.7")
EXTREMES = (
    "4294967296",
    "9007199254740992",
    "9007199254740993",
    "9007199254740992.0",
    "9223372036854775807",
    "-9223372036854775808",
)
BOUNDS = ("{1,1}", "{1,2}", "{1,3}", "{2,2}", "{2,3}", "{3,3}", "{1,5}")


@dataclass(frozen=True)
class Var:
    name: str
    label: str
    types: tuple[str, ...]
    props: tuple[Prop, ...]
    is_edge: bool = False
    is_path: bool = False
    """A shortest path: it has properties, and is nothing by itself."""

    def __str__(self) -> str:
        return f"${self.name}"


PATH = (
    Prop("length", PropertyType(Scalar.I64), (1, 2, 3)),
    Prop("nodes", PropertyType(Scalar.STRING, is_list=True), ()),
)

Scope = dict[str, Var]
Pick = Callable[[Prop], bool]


def is_number(prop: Prop) -> bool:
    return prop.type.is_numeric


def is_text(prop: Prop) -> bool:
    return prop.type.is_string


def is_words(prop: Prop) -> bool:
    return prop.words


def is_vector(prop: Prop) -> bool:
    return prop.type.is_vector


def is_list(prop: Prop) -> bool:
    return prop.type.is_list


def is_orderable(prop: Prop) -> bool:
    return prop.orderable


def entities(scope: Scope) -> list[Var]:
    """Variables that stand for nodes or edges."""
    return [var for var in scope.values() if not var.is_path]


class Writer:
    """Writes clauses, one after the other; remembers the names they take and the parameters they declare."""

    def __init__(self, rng: Random, stored: Graph) -> None:
        self.rng = rng
        self.graph = stored
        self.declared: dict[str, str] = {}
        self.given: dict[str, Any] = {}
        self.taken: set[str] = set()
        self.rows = stored.main

    def odds(self, share: float) -> bool:
        return self.rng.random() < share

    # clauses

    def first(self, scope: Scope) -> str:
        return self.binding(scope) if self.odds(0.85) else self.loose_hop(scope)

    def clauses(self, scope: Scope, count: int, depth: int) -> list[str]:
        found: list[str] = []
        for _ in range(count):
            roll = self.rng.random()
            if roll < 0.34:
                found.append(self.hop(scope) or self.condition(scope))
            elif roll < 0.44 and sum(not var.is_edge for var in scope.values()) < 4:
                found.append(self.binding(scope))
            elif roll < 0.49:
                found.append(self.rebinding(scope))
            elif roll < 0.51:
                found.append(self.anonymous())
            elif roll < 0.75 or depth == 2:
                found.append(self.condition(scope))
            elif roll < 0.88:
                found.append(self.block("not", scope, depth))
            else:
                found.append(self.block("optional", scope, depth))
        return found

    def block(self, word: str, scope: Scope, depth: int) -> str:
        inner = dict(scope)
        kept = set(self.taken)
        first = self.hop(inner) if self.odds(0.7) else self.rebinding(inner) if self.odds(0.4) else self.condition(inner)
        if first is None or not any(re.search(rf"\${name}\b", first) for name in scope):
            inner = dict(scope)
            first = self.rebinding(inner)
        clauses = [first, *self.clauses(inner, self.rng.choice((0, 0, 1, 1, 2)), depth + 1)]
        if word == "optional":
            scope.update(inner)
        elif self.odds(0.2):
            self.taken = kept  # the names inside may be used again outside, for something else
        return f"{word} {{ {'  '.join(clauses)} }}"

    # bindings and traversals

    def name(self, scope: Scope) -> str:
        free = [name for name in NAMES if name not in scope and name not in self.taken]
        chosen = self.rng.choice(free or [f"v{len(self.taken)}"])
        self.taken.add(chosen)
        return chosen

    def node_var(self, name: str, type_: str) -> Var:
        return Var(name, type_, (type_,), next(n.props for n in self.graph.nodes if n.name == type_))

    def bindable(self, name: str) -> Var:
        implemented = [i for i in self.graph.interfaces if self.graph.implementers(i.name)]
        if implemented and self.odds(0.3):
            interface = self.rng.choice(implemented)
            return Var(name, interface.name, self.graph.implementers(interface.name), interface.props)
        return self.node_var(name, self.rng.choice(self.graph.nodes).name)

    def binding(self, scope: Scope) -> str:
        var = self.bindable(self.name(scope))
        text = f"{var}: {var.label}{self.matches(var, self.rng.choice((0, 0, 0, 0, 1, 2)))}"
        scope[var.name] = var
        return text

    def anonymous(self) -> str:
        var = self.bindable("_")
        return f"{var}: {var.label}{self.matches(var, 1)}"

    def rebinding(self, scope: Scope) -> str:
        var = self.rng.choice([var for var in scope.values() if not var.is_edge])
        return f"{var}: {var.label}{self.matches(var, self.rng.choice((0, 1, 1, 1, 2)))}"

    def matches(self, var: Var, count: int) -> str:
        props = self.rng.sample(var.props, min(count, len(var.props)))
        return f" {{ {', '.join(f'{prop.name}: {self.inline(var, prop)}' for prop in props)} }}" if props else ""

    def inline(self, var: Var, prop: Prop) -> str:
        if prop.type.scalar is Scalar.DATETIME and not prop.type.is_list and self.odds(0.1):
            return "now()"
        value = self.likely(var, prop)
        return self.parameter_for(prop, value) if self.odds(0.3) else literal(value)

    def hop(self, scope: Scope) -> str | None:
        """A traversal with an end that is bound."""
        bound = [var for var in scope.values() if not var.is_edge]
        for _ in range(6):
            start = self.rng.choice(bound)
            edges = [e for e in self.graph.edges if e.source in start.types or e.target in start.types]
            if not edges:
                continue
            edge = self.rng.choice(edges)
            roll = self.rng.random()
            other = None if roll < 0.72 else self.rng.choice(bound)
            forwards = self.odds(0.5)
            ends = (start, other) if forwards else (other, start)
            fitting = self.directions(edge, *ends)
            if len(fitting) == 1:
                far = fitting[0][1 if forwards else 0]
                if other is None:
                    other = self.node_var("_" if roll < 0.12 else self.name(scope), far)
                text = self.traversal(scope, edge, *((start, other) if forwards else (other, start)))
                if other.name != "_":
                    scope.setdefault(other.name, other)
                return text
        return None

    def directions(self, edge: Edge, source: Var | None, target: Var | None) -> list[tuple[str, str]]:
        """Types of the two ends, each way the checker would take it."""
        ways = [(edge.source, edge.target)]
        if edge.source != edge.target:
            ways.append((edge.target, edge.source))
        ways = [way for way in ways if source is None or way[0] in source.types]
        return [way for way in ways if target is None or way[1] in target.types]

    def loose_hop(self, scope: Scope) -> str:
        """A traversal none of whose ends is bound: it reads as the edge is declared."""
        edge = self.rng.choice(self.graph.edges)
        source = self.node_var("_" if self.odds(0.1) else self.name(scope), edge.source)
        if edge.source == edge.target and self.odds(0.1) and source.name != "_":
            target = source
        else:
            target = self.node_var(self.name(scope), edge.target)
        text = self.traversal(scope, edge, source, target)
        for var in (source, target):
            if var.name != "_":
                scope[var.name] = var
        return text

    def traversal(self, scope: Scope, edge: Edge, source: Var, target: Var) -> str:
        spelling = f"<{edge.spelling}>" if edge.source == edge.target and self.odds(0.3) else edge.spelling
        named = "_" not in (source.name, target.name)
        if named and edge.source == edge.target and self.odds(0.12):
            name = self.name({**scope, source.name: source, target.name: target})
            scope[name] = Var(name, "path", (), PATH, is_edge=True, is_path=True)
            return f"{source} ${name}:shortest {spelling}{self.rng.choice(BOUNDS)} {target}"
        if self.odds(0.3):
            name = self.name({**scope, source.name: source, target.name: target}) if self.odds(0.85) else "_"
            if name != "_":
                scope[name] = Var(name, edge.name, (edge.name,), edge.props, is_edge=True)
            return f"{source} ${name}:{spelling} {target}"
        bounds = self.rng.choice(BOUNDS) if self.odds(0.35) else ""
        return f"{source} {spelling}{bounds} {target}"

    # conditions

    def pick(self, scope: Scope, wanted: Pick, *, nodes: bool = False) -> tuple[Var, Prop] | None:
        found = [(v, p) for v in scope.values() if not (nodes and v.is_edge) for p in v.props if wanted(p)]
        return self.rng.choice(found) if found else None

    def condition(self, scope: Scope, depth: int = 0) -> str:
        if depth < 2 and self.odds(0.15):
            word = self.rng.choice((" and ", " or ", " or "))
            parts = [self.condition(scope, depth + 1) for _ in range(self.rng.choice((2, 2, 3)))]
            return f"({word.join(parts)})"
        if depth < 3 and self.odds(0.08):
            return f"not ({self.condition(scope, depth + 1)})"
        writers: list[Callable[[Scope], str | None]] = [
            self.comparison,
            self.comparison,
            self.comparison,
            self.null_test,
            self.membership,
            self.text_test,
            self.text_test,
            self.inside_text,
            self.inside_list,
            self.of_id,
        ]
        self.rng.shuffle(writers)
        return next((text for text in (write(scope) for write in writers) if text), "1 = 1")

    def comparison(self, scope: Scope) -> str | None:
        picked = self.pick(scope, is_orderable)
        if picked is None:
            return None
        var, prop = picked
        if self.odds(0.3) and (both := self.computed_pair(scope)):
            return f"{both[0]} {self.rng.choice(('=', '!=', '<', '<=', '>', '>='))} {both[1]}"
        left, right = f"{var}.{prop.name}", self.other_side(scope, var, prop)
        if self.odds(0.2) and not right.startswith("$"):
            left, right = right, left
        return f"{left} {self.rng.choice(('=', '=', '!=', '<', '<=', '>', '>='))} {right}"

    def other_side(self, scope: Scope, var: Var, prop: Prop) -> str:
        """Something to compare a property with."""
        roll = self.rng.random()
        if roll < 0.2:
            same = self.pick(scope, lambda p: p.orderable and p.type.compatible_with(prop.type))
            if same is not None:
                return f"{same[0]}.{same[1].name}"
        if prop.type.scalar is Scalar.DATETIME and roll > 0.6:
            return "now()"
        if prop.type.is_numeric and roll > 0.6:
            return self.rng.choice(NUMBERS if self.odds(0.7) else EXTREMES)
        value = self.likely(var, prop)
        return self.parameter_for(prop, value) if roll < 0.45 else literal(value)

    def null_test(self, scope: Scope) -> str | None:
        word = self.rng.choice(("is null", "is not null"))
        roll = self.rng.random()
        if roll < 0.25 and scope:
            return f"{self.rng.choice(entities(scope))} {word}"
        if roll < 0.35 and (computed := self.number(scope)):
            return f"({computed}) {word}"
        picked = self.pick(scope, lambda p: True)
        if picked is None or roll > 0.95:
            return f"{self.parameter('String?', self.rng.choice((None, 'a')))} {word}"
        return f"{picked[0]}.{picked[1].name} {word}"

    def of_id(self, scope: Scope) -> str | None:
        """The id of a node or edge, compared with one that there may be."""
        if not scope:
            return None
        var = self.rng.choice(entities(scope))
        if self.odds(0.2):
            return f"{var}.id {self.rng.choice(('=', '!=', '<'))} {self.rng.choice(entities(scope))}.id"
        ids = [row["id"] for name in var.types for row in self.rows.get(name, [])] or ["nobody"]
        if self.odds(0.3):
            return f"{var}.id in [{', '.join(literal(self.rng.choice(ids)) for _ in range(self.rng.randint(1, 3)))}]"
        id_ = self.rng.choice(ids)
        given = self.parameter("String", id_) if self.odds(0.4) else literal(id_)
        return f"{var}.id {self.rng.choice(('=', '=', '!=', '<', '>=', 'starts_with', 'contains'))} {given}"

    def membership(self, scope: Scope) -> str | None:
        picked = self.pick(scope, is_orderable)
        if picked is None:
            return None
        var, prop = picked
        lists = self.pick(scope, lambda p: p.type.is_list and p.type.element().compatible_with(prop.type))
        if lists is not None and self.odds(0.4):
            return f"{var}.{prop.name} in {lists[0]}.{lists[1].name}"
        values = [self.likely(var, prop) for _ in range(self.rng.randint(0, 3))]
        if self.odds(0.3):
            some = ", ".join(literal(v) for v in values)
            return f"{var}.{prop.name} not in [{some}]"
        if self.odds(0.4):
            return f"{var}.{prop.name} in {self.parameter(f'[{_base(prop.type)}]', [_as_given(v) for v in values])}"
        if prop.type.is_numeric and self.odds(0.5):
            return f"{var}.{prop.name} in [{', '.join(self.rng.choices(NUMBERS, k=3))}]"
        return f"{var}.{prop.name} in [{', '.join(literal(v) for v in values)}]"

    def text_test(self, scope: Scope) -> str | None:
        picked = self.pick(scope, is_words, nodes=True)
        if picked is None:
            return None
        field_ = f"{picked[0]}.{picked[1].name}"
        if self.odds(0.25):
            word = self.rng.choice(WORDS)
            place = self.rng.randrange(1, len(word))
            typo = word[:place] + "q" + word[place + self.rng.choice((0, 1)) :]
            edits = self.rng.choice(("", ", 1", ", 2", ", 0", f", {self.parameter('I32', 1)}"))
            return f"fuzzy({field_}, {literal(typo)}{edits})"
        call = self.rng.choice(("search", "match_text"))
        return f"{call}({field_}, {self.words()})" + (" = true" if self.odds(0.2) else "")

    def words(self) -> str:
        text = " ".join(self.rng.sample((*WORDS, "absent"), self.rng.choice((1, 1, 2, 3))))
        return self.parameter("String", text) if self.odds(0.4) else literal(text)

    def inside_text(self, scope: Scope) -> str | None:
        picked = self.pick(scope, is_text)
        if picked is None:
            return None
        var, prop = picked
        operator = self.rng.choice(("contains", "starts_with", "ends_with"))
        if self.odds(0.15):
            return f"{self.text_value(scope)} {operator} {literal(self.rng.choice(('a', 'B', '')))}"
        other = self.pick(scope, is_text)
        roll = self.rng.random()
        if other is not None and roll < 0.2:
            return f"{var}.{prop.name} {operator} {other[0]}.{other[1].name}"
        if roll < 0.35:
            return f'"zeta 100% abc lamp blue" {operator} {var}.{prop.name}'
        part = self.rng.choice(("a", "b", "%", "_", "", "la", "L", "ä", "\\", '"'))
        return f"{var}.{prop.name} {operator} {self.parameter('String', part) if roll < 0.5 else literal(part)}"

    def inside_list(self, scope: Scope) -> str | None:
        picked = self.pick(scope, is_list)
        if picked is None:
            return None
        var, prop = picked
        same = self.pick(scope, lambda p: p.orderable and prop.type.element().compatible_with(p.type))
        if same is not None and self.odds(0.25):
            return f"{var}.{prop.name} contains {same[0]}.{same[1].name}"
        if prop.type.scalar.is_numeric and self.odds(0.4):
            return f"{var}.{prop.name} contains {self.rng.choice(NUMBERS)}"
        value = self.likely(var, prop)
        return f"{var}.{prop.name} contains {self.parameter_for(prop, value) if self.odds(0.3) else literal(value)}"

    # what is computed

    def computed_pair(self, scope: Scope) -> tuple[str, str] | None:
        """Two values that can be compared, one of them computed."""
        roll = self.rng.random()
        if roll < 0.45 and (number := self.number(scope)):
            other = self.number(scope) if self.odds(0.3) else self.rng.choice(NUMBERS)
            return f"({number})", f"({other})"
        if roll < 0.7 and (text := self.text_value(scope)):
            return text, self.text_value(scope) if self.odds(0.4) else literal(self.rng.choice(("a", "A", "abc", "ÄB")))
        return self.time_pair(scope)

    def number(self, scope: Scope, depth: int = 0) -> str:
        """A number that is computed, none of it so large that it would not fit."""
        roll = self.rng.random()
        picked = self.pick(scope, lambda p: is_number(p) and not p.wide)
        if picked is None or roll < 0.1:
            text = self.pick(scope, lambda p: is_text(p) or is_list(p))
            return (
                f"length({text[0]}.{text[1].name})" if text and self.odds(0.6) else self.rng.choice(("1 + 1", "2 * 3", "0.5 - 1"))
            )
        one = f"{picked[0]}.{picked[1].name}"
        if depth == 2 or roll < 0.25:
            return one
        if roll < 0.35:
            return (
                f"coalesce({one}, {self.number(scope, 2)})" if self.odds(0.5) else f"coalesce({one}, {self.rng.choice(NUMBERS)})"
            )
        if roll < 0.42:
            return f"-{one}"
        sign = self.rng.choice("+-*/%+-*")
        other = self.number(scope, depth + 1) if self.odds(0.6) else self.rng.choice(("1", "2", "3", "0", "0.5"))
        parts = (one, other) if self.odds(0.7) else (other, one)
        return f"({parts[0]}) {sign} ({parts[1]})"

    def text_value(self, scope: Scope) -> str:
        picked = self.pick(scope, is_text)
        one = '"aB"' if picked is None else f"{picked[0]}.{picked[1].name}"
        shape = self.rng.choice(
            ("lower({})", "upper({})", 'concat({}, "-", {})', 'coalesce({}, "none")', "lower(concat({}, {}))")
        )
        return shape.replace("{}", one)

    def time_pair(self, scope: Scope) -> tuple[str, str] | None:
        """A date or a moment moved by some time, or what lies between two."""
        picked = self.pick(scope, lambda p: p.type.scalar in (Scalar.DATE, Scalar.DATETIME) and not p.type.is_list)
        if picked is None:
            return None
        var, prop = picked
        one, moment = f"{var}.{prop.name}", prop.type.scalar is Scalar.DATETIME
        other = self.pick(scope, lambda p: p.type.scalar is prop.type.scalar and not p.type.is_list)
        second = literal(self.likely(var, prop)) if other is None or self.odds(0.4) else f"{other[0]}.{other[1].name}"
        span = self.span(moment)
        if self.odds(0.4):
            return f"{one} - {second}", span
        return f"{one} {self.rng.choice('+-')} {span}", second

    def span(self, moment: bool) -> str:
        many = self.rng.choice(("1", "2", "-3", "0", self.parameter("I32", self.rng.choice((1, 30, 366)))))
        found = f"days({many})"
        if moment and self.odds(0.6):
            found = f"({found} + {self.rng.choice(('hours', 'minutes', 'seconds'))}({self.rng.choice((1, 46, -90))}))"
        return f"{found} * 2" if self.odds(0.2) else found

    # values

    def likely(self, var: Var, prop: Prop) -> Any:
        """A value that the property may well have; of a list, an element."""
        stored = [row[prop.name] for name in var.types for row in self.rows.get(name, []) if prop.name in row]
        value = self.rng.choice(stored) if stored and self.odds(0.75) else None
        if prop.type.is_list:
            value = self.rng.choice(value) if value else None
        if value is None or (isinstance(value, int) and value > 2**63 - 1):
            value = self.rng.choice(_COMMON[prop.type.scalar]) if not prop.type.is_enum else self.rng.choice(ENUM)
        return value

    def parameter_for(self, prop: Prop, value: Any) -> str:
        """A parameter to meet a property: of its type, or of another one that is as good."""
        base = _base(prop.type)
        if prop.type.is_numeric or (prop.type.is_list and prop.type.scalar.is_numeric):
            if isinstance(value, float) and not value.is_integer():
                base = "F64"
            elif self.odds(0.4):
                base = self.rng.choice(("I64", "F64"))
                value = int(value) if base == "I64" else float(value)
            else:
                base, value = ("I64", int(value)) if base not in ("F32", "F64") else (base, float(value))
        if self.odds(0.15):
            return self.parameter(f"{base}?", self.rng.choice((None, _as_given(value))), may_be_left_out=True)
        return self.parameter(base, _as_given(value))

    def parameter(self, type_: str, value: Any, *, may_be_left_out: bool = False) -> str:
        name = f"n{len(self.declared) + 1}"
        self.declared[name] = type_
        if not (may_be_left_out and value is None and self.odds(0.5)):
            self.given[name] = value
        return f"${name}"


_COMMON: dict[Scalar, Sequence[Any]] = {
    Scalar.STRING: TEXTS,
    Scalar.BOOL: (False, True),
    Scalar.I32: (0, 1, 2),
    Scalar.I64: (0, 1, 2),
    Scalar.U32: (0, 1, 2),
    Scalar.U64: (0, 1, 2),
    Scalar.F32: (0.5, 0.1, 1.0),
    Scalar.F64: (0.5, 0.1, 1.0),
    Scalar.DATE: DAYS,
    Scalar.DATETIME: MOMENTS,
    Scalar.VECTOR: ([0.0, 1.0], [1.0, -1.0]),
}


def _base(type_: PropertyType) -> str:
    return f"Vector({type_.dimension})" if type_.is_vector else type_.scalar.value


def _as_given(value: Any) -> Any:
    """A parameter as a program would pass it."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def literal(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quote_string(value)
        case datetime():
            return f'datetime("{_as_given(value)}")'
        case date():
            return f'date("{value.isoformat()}")'
        case float():
            return f"{value:.1f}" if value.is_integer() else repr(value)
        case list():
            return f"[{', '.join(map(literal, value))}]"
        case _:
            return str(value)
