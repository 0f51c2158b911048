"""What a random query returns: columns, aggregates, rankings, order and limits over the variables it has bound."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.engine.random_clauses import Pick, Scope, Var, Writer, entities, is_number, is_orderable, is_vector, is_words, literal

from omnigraph.model.types import Scalar


@dataclass(frozen=True)
class Returned:
    text: str
    alias: str | None
    orderable: bool

    def __str__(self) -> str:
        return f"{self.text} as {self.alias}" if self.alias else self.text


def column_of(text: str) -> str:
    """The name of the column of a projection without an alias (4.4)."""
    if text.startswith("$"):
        return text[1:]
    call = re.match(r"(\w+)\((?:distinct )?([^,)]*)", text)
    if call is None or call[1] == "date":
        return "literal"
    return call[2][1:] if call[1] in ("count", "sum", "avg", "min", "max", "collect") else call[1]


class Results:
    """The return block and what follows it."""

    def __init__(self, writer: Writer, scope: Scope) -> None:
        self.writer = writer
        self.rng = writer.rng
        self.odds = writer.odds
        self.scope = scope
        self.everything = entities(scope)
        self.nodes = [var for var in self.everything if not var.is_edge]
        self.returned: list[Returned] = []
        self.columns: set[str] = set()
        """Names of the columns returned so far: no two may be equal."""

    def text(self) -> str:
        aggregates = self.odds(0.28)
        distinct = self.odds(0.15)
        for _ in range(self.rng.choice((1, 1, 2, 3)) if not aggregates else self.rng.choice((0, 1, 1, 2))):
            self.returned.append(self.plain(aggregates))
        for _ in range(self.rng.choice((1, 1, 2, 3)) if aggregates else 0):
            self.returned.append(self.aggregate())
        self.rng.shuffle(self.returned)
        ranking, limited = self.ranking(aggregates) if not distinct and self.odds(0.3) else (None, False)
        if not aggregates and not distinct and ranking and self.odds(0.3):
            self.returned.append(self.named(re.sub(" (asc|desc)$", "", ranking), True))
            alias = self.returned[-1].alias
            if alias and self.odds(0.6):
                ranking = f"{alias}{self.rng.choice(('', ' asc', ' desc'))}"
        if ranking and not aggregates and self.odds(0.3):
            ranking = ", ".join([ranking, *self.properties()])
        order = f"order {{ {ranking} }}" if ranking else self.order(aggregates, distinct) if self.odds(0.6) else ""
        limited = limited or (not ranking and any(r.alias and "nearest(" in r.text for r in self.returned))
        limit = f" limit {self.count((1 if limited else 0, 1, 2, 3, 4, 5, 7))}" if limited or self.odds(0.35) else ""
        offset = f" offset {self.count((0, 1, 2, 3))}" if self.odds(0.15) else ""
        word = "return distinct" if distinct else "return"
        having = self.having() if aggregates and self.odds(0.3) else ""
        return f"{word} {{ {', '.join(map(str, self.returned))} }} {having}{order}{limit}{offset}".rstrip()

    def count(self, choices: tuple[int, ...]) -> str:
        chosen = self.rng.choice(choices)
        return self.writer.parameter(self.rng.choice(("I32", "I64", "U32")), chosen) if self.odds(0.3) else str(chosen)

    def having(self) -> str:
        """Which groups are kept: by a count, by an extreme, or by what rows are grouped by."""
        tests = [
            f"count({self.rng.choice(self.nodes)}) {self.rng.choice(('>', '>=', '<', '=', '!='))} {self.rng.choice((1, 2, 3))}"
        ]
        picked = self.writer.pick(self.scope, lambda p: is_orderable(p) and p.type.scalar is not Scalar.BOOL)
        if picked is not None:
            extreme = f"{self.rng.choice(('min', 'max'))}({picked[0]}.{picked[1].name})"
            tests.append(f"{extreme} is {self.rng.choice(('', 'not '))}null")
            tests.append(f"{extreme} >= {literal(self.writer.likely(*picked))}")
        aliased = [r.alias for r in self.returned if r.alias]
        if aliased:
            tests.append(f"{self.rng.choice(aliased)} is not null")
        chosen = self.rng.sample(tests, min(len(tests), self.rng.choice((1, 1, 2))))
        return f"having {{ {self.rng.choice((' and ', ' or ')).join(chosen)} }} "

    def named(self, text: str, orderable: bool, share: float = 0.4) -> Returned:
        column = column_of(text)
        if text.count("(") > 1:
            share = 1.0
        alias = f"c{len(self.returned) + 1}" if self.odds(share) or column in self.columns else None
        self.columns.add(alias or column)
        return Returned(text, alias, orderable)

    def plain(self, aggregates: bool) -> Returned:
        roll = self.rng.random()
        picked = self.writer.pick(self.scope, lambda p: not (aggregates and p.type.is_vector))
        if roll < 0.15 or picked is None:
            return self.named(f"{self.rng.choice(self.everything)}{self.rng.choice(('', '', '.id'))}", True)
        if roll < 0.22 and not aggregates:
            return self.named(self.rng.choice(('"text"', "3", "-2.5", "true", 'date("2024-02-29")', "[1, 2]")), False)
        if roll < 0.26:
            return self.named(self.writer.parameter("String?", self.rng.choice((None, "given"))), False)
        if roll < 0.44 and roll > 0.34:
            return self.computed()
        if roll < 0.34 and not aggregates:
            score = self.score(self.rng.choice((is_words, is_vector)))
            if score is not None:
                return self.named(score, True)
        return self.named(f"{picked[0]}.{picked[1].name}", picked[1].orderable)

    def computed(self) -> Returned:
        """Something computed, with a name."""
        roll = self.rng.random()
        times = self.writer.time_pair(self.scope) if roll < 0.3 else None
        text = times[0] if times else self.writer.number(self.scope) if roll < 0.7 else self.writer.text_value(self.scope)
        return self.named(text, True, 1.0)

    def aggregate(self) -> Returned:
        if self.odds(0.15):
            sign = self.rng.choice("+-*/%")
            other = f"count({self.rng.choice(self.nodes)})" if self.odds(0.5) else self.rng.choice(("2", "0.5", "0"))
            return self.named(f"{self.small_aggregate()} {sign} {other}", True, 1.0)
        call = self.aggregate_call()
        return self.named(call, not call.startswith("collect("), 0.7)

    def small_aggregate(self) -> str:
        """An aggregate that is a number, and not a large one."""
        number = self.writer.pick(self.scope, lambda p: is_number(p) and not p.wide)
        if number is None or self.odds(0.3):
            return f"count({self.rng.choice(self.nodes)})"
        return f"{self.rng.choice(('sum', 'avg', 'min', 'max'))}({number[0]}.{number[1].name})"

    def aggregate_call(self) -> str:
        roll = self.rng.random()
        distinct = "distinct " if self.odds(0.25) else ""
        number = self.writer.pick(self.scope, lambda p: is_number(p) and not p.wide)
        comparable = self.writer.pick(self.scope, lambda p: is_orderable(p) and p.type.scalar is not Scalar.BOOL)
        scalar = self.writer.pick(self.scope, is_orderable)
        if roll < 0.1:
            computed = self.writer.number(self.scope) if self.odds(0.6) else self.writer.text_value(self.scope)
            return f"{'count' if computed.startswith(('lower', 'upper', 'concat', 'coalesce')) else self.rng.choice(('count', 'max'))}({computed})"
        if roll < 0.4 and number is not None:
            return f"{self.rng.choice(('sum', 'avg'))}({distinct}{number[0]}.{number[1].name})"
        if roll < 0.6 and comparable is not None:
            return f"{self.rng.choice(('min', 'max'))}({distinct}{comparable[0]}.{comparable[1].name})"
        if roll < 0.68 and scalar is not None:
            return f"collect({distinct}{self.rng.choice((scalar[0], f'{scalar[0]}.{scalar[1].name}'))})"
        if roll < 0.75 and scalar is not None:
            return f"count({distinct}{scalar[0]}.{scalar[1].name})"
        return f"count({distinct}{self.rng.choice(self.everything)}{self.rng.choice(('', '', '', '.id'))})"

    def order(self, aggregates: bool, distinct: bool) -> str:
        keys = [self.key(aggregates, distinct) for _ in range(self.rng.choice((1, 1, 2)))]
        written = [f"{key}{self.rng.choice(('', ' asc', ' desc', ' desc'))}{self.nulls(key)}" for key in keys if key]
        return f"order {{ {', '.join(written)} }}" if written else ""

    def nulls(self, key: str) -> str:
        """Where missing values come; a ranking has none to place."""
        ranks = "bm25(" in key or any(r.alias == key and re.match(r"(bm25|nearest|rrf)\(", r.text) for r in self.returned)
        return "" if ranks else self.rng.choice(("", "", " nulls first", " nulls last"))

    def properties(self) -> list[str]:
        """Properties to order by after a ranking."""
        picked = [self.writer.pick(self.scope, is_orderable) for _ in range(self.rng.choice((1, 1, 2)))]
        return [f"{p[0]}.{p[1].name}{self.rng.choice(('', ' asc', ' desc'))}" for p in picked if p is not None]

    def key(self, aggregates: bool, distinct: bool) -> str | None:
        aliased = [r.alias for r in self.returned if r.alias and r.orderable]
        accessed = [r.text for r in self.returned if not r.alias and r.orderable and re.fullmatch(r"\$\w+\.\w+", r.text)]
        if aliased and self.odds(0.5):
            return self.rng.choice(aliased)
        if distinct or aggregates:
            calls = [r.text for r in self.returned if re.match(r"(count|sum|avg|min|max)\(", r.text)]
            keys = [*aliased, *accessed, *calls]
            return self.rng.choice(keys) if keys else None
        score = self.score(is_words) if self.odds(0.12) else None
        if score is not None:
            return score
        if self.odds(0.15):
            return self.writer.number(self.scope) if self.odds(0.5) else self.writer.text_value(self.scope)
        picked = self.writer.pick(self.scope, is_orderable)
        if picked is None or self.odds(0.1):
            return f"{self.rng.choice(self.everything)}{self.rng.choice(('', '.id'))}"
        return f"{picked[0]}.{picked[1].name}"

    def score(self, wanted: Pick, var: Var | None = None) -> str | None:
        """A ranking function of a property."""
        scope = self.scope if var is None else {var.name: var}
        if wanted is is_words:  # one type: texts of several have no statistics in common
            scope = {name: v for name, v in scope.items() if len(v.types) == 1}
        picked = self.writer.pick(scope, wanted, nodes=True)
        if picked is None:
            return None
        field_ = f"{picked[0]}.{picked[1].name}"
        if wanted is is_words:
            return f"bm25({field_}, {self.writer.words()})"
        vector = [float(self.rng.choice((-1, 0, 1, 2))) for _ in range(2)]
        query = self.writer.parameter("Vector(2)", vector) if self.odds(0.4) else literal(vector)
        return f"nearest({field_}, {query})"

    def ranking(self, aggregates: bool) -> tuple[str | None, bool]:
        """A ranking to order by, and whether it needs a limit."""
        rankable = [v for v in self.nodes if any(p.words or p.type.is_vector for p in v.props)]
        if not rankable:
            return None, False
        var = self.rng.choice(rankable)
        kinds = [wanted for wanted in (is_words, is_vector) if self.score_exists(var, wanted)]
        if not kinds:
            return None, False
        first, second = self.rng.choice(kinds), self.rng.choice(kinds)
        if not aggregates and self.odds(0.35):
            k = self.rng.choice(("", "", ", 1", ", 60", f", {self.writer.parameter('I64', 5)}"))
            return (
                f"rrf({self.score(first, var)}, {self.score(second, var)}{k}){self.rng.choice(('', '', ' asc', ' desc'))}",
                True,
            )
        score = self.score(first, var)
        if first is is_vector:
            return score, True
        return f"{score}{self.rng.choice(('', '', ' asc', ' desc'))}", False

    def score_exists(self, var: Var, wanted: Pick) -> bool:
        return any(map(wanted, var.props)) and not (wanted is is_words and len(var.types) > 1)
