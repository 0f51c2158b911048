"""How a query is answered: the plan, about how many rows each step gives, and after a run how many it gave and how long it took.

friends · main @ 01J…
└─ Return f.name, f.age                                              est 10   rows 2
   └─ Expand p -Knows-> f: Person                                    est 10   rows 2   0.02 ms   adjacency
      └─ Lookup p: Person by name = $n                               est 1    rows 1   0.01 ms
"""

from __future__ import annotations

import json
from typing import Any

from omnigraph.catalog import logical as lg
from omnigraph.catalog.render import condition_text, expression_text
from omnigraph.engine.execution.trace import Trace
from omnigraph.engine.planning import steps as st
from omnigraph.language.gq.tree import Direction
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line
from omnigraph.model.printable import printable
from omnigraph.model.text_tables import html_text, padded, width


@frozen
class ExplainLine:
    """One step of an explained plan."""

    text: str
    depth: int
    estimate: float | None
    rows: int | None = None
    milliseconds: float | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        estimate = "" if self.estimate is None else f", about {self.estimate:,.0f}"
        rows = "" if self.rows is None else f", {counted(self.rows, 'row')}"
        took = "" if self.milliseconds is None else f", {self.milliseconds:.3f} ms"
        return one_line(f"{self.text}{estimate}{rows}{took}")


@frozen
class Explanation:
    """A plan for people (`print`) and for programs (`to_dict`)."""

    query_name: str
    target: str
    lines: tuple[ExplainLine, ...]
    analyzed: bool
    total_ms: float | None = None

    def __str__(self) -> str:
        head = f"{self.query_name} · {self.target}"
        if self.total_ms is not None:
            head += f" · {self.total_ms:.2f} ms"
        texts = [f"{'   ' * line.depth}└─ {line.text}" for line in self.lines]
        columns = min(max((width(t) for t in texts), default=0), 100)
        found = [head]
        for line, text in zip(self.lines, texts, strict=True):
            about = []
            if line.estimate is not None:
                about.append(f"est {line.estimate:,.0f}".ljust(10))
            if line.rows is not None:
                about.append(f"rows {line.rows:,}".ljust(12))
            if line.milliseconds is not None:
                about.append(f"{line.milliseconds:.3f} ms".ljust(11))
            about.extend(line.notes)
            found.append(f"{padded(text, columns)}   {' '.join(about)}".rstrip())
        return printable("\n".join(found))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON-ready data, outermost step first."""
        steps = []
        for line in self.lines:
            step: dict[str, Any] = {"step": line.text, "depth": line.depth}
            if line.estimate is not None:
                step["estimated_rows"] = round(line.estimate, 2)
            if line.rows is not None:
                step["rows"] = line.rows
            if line.milliseconds is not None:
                step["milliseconds"] = round(line.milliseconds, 4)
            if line.notes:
                step["used"] = list(line.notes)
            steps.append(step)
        found: dict[str, Any] = {"query_name": self.query_name, "target": self.target, "analyzed": self.analyzed, "plan": steps}
        if self.total_ms is not None:
            found["milliseconds"] = round(self.total_ms, 4)
        return found

    def to_json(self, *, indent: int | None = 2) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)


def explained(
    query_name: str,
    target: str,
    plan: st.Plan,
    estimated: dict[int, float],
    trace: Trace | None,
    result_rows: int | None,
    total_ms: float | None,
) -> Explanation:
    """A plan as lines, the last step first."""
    lines: list[ExplainLine] = []
    depth = 0
    for text in tail_texts(plan.tail):
        lines.append(ExplainLine(text, depth, None, result_rows if depth == 0 else None))
        depth += 1
    _steps(plan.steps, depth, estimated, trace, lines)
    return Explanation(query_name, target, tuple(lines), trace is not None, total_ms)


def _steps(
    steps: tuple[st.Step, ...], depth: int, estimated: dict[int, float], trace: Trace | None, lines: list[ExplainLine]
) -> None:
    for step in reversed(steps):
        about = None if trace is None else trace.of(step)
        lines.append(
            ExplainLine(
                step.describe(),
                depth,
                estimated.get(id(step)),
                None if about is None else about.rows,
                None if about is None else about.seconds * 1000,
                () if about is None else tuple(about.notes),
            )
        )
        if isinstance(step, st.Anti | st.Optional):
            _steps(step.inner, depth + 2, estimated, trace, lines)
        depth += 1


def tail_texts(tail: st.Tail) -> list[str]:
    """What happens at the end, outermost first."""
    found = []
    if tail.counts is not None:
        words = zip(("Offset", "Limit"), reversed(tail.counts), strict=True)
        found.append(" ".join(f"{word} {text}" for word, text in words if text))
    elif tail.limit is not None or tail.offset:
        found.append(" ".join([*([f"Offset {tail.offset}"] if tail.offset else []), *_limit(tail)]))
    if tail.order:
        found.append(f"Order {', '.join(map(_sort_key, tail.order))}")
    if tail.fusion is not None:
        found.append(f"Merge rankings {expression_text(tail.fusion)}")
    elif tail.late:
        found.append(f"Rank by {expression_text(tail.arms[0].ranking)}")
    if tail.backwards:
        found.append("The worst first")
    if tail.final:
        found.append(f"Return {', '.join(map(expression_text, tail.final))}")
    if tail.having is not None:
        found.append(f"Having {condition_text(tail.having)}")
    returned = ", ".join(expression_text(p.expression) for p in tail.projections)
    verb = "Group" if tail.aggregates else "Return distinct" if tail.distinct else "Return"
    found.append(f"{verb} {returned}")
    return found


def _sort_key(key: lg.SortKey) -> str:
    nulls = "" if key.nulls is None else f" nulls {key.nulls.value}"
    return f"{expression_text(key.expression)}{' desc' if key.direction is Direction.DESC else ''}{nulls}"


def _limit(tail: st.Tail) -> list[str]:
    return [] if tail.limit is None else [f"Limit {tail.limit}"]
