"""Graphs to load into, files to load, and what came of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.write.violations import Violation
from omnigraph.storage.commits.lineage import OpClass

PEOPLE = (Path(__file__).parent.parent / "cases" / "people" / "schema.pg").read_text()
PEOPLE_LINES = Path(__file__).parent.parent / "cases" / "people" / "data.jsonl"

EVERYTHING = """
node Thing {
    name: String @key
    text: String?
    kind: enum(a, b)?
    flag: Bool?
    i32: I32?
    i64: I64?
    u32: U32?
    u64: U64?
    f32: F32?
    f64: F64?
    day: Date?
    moment: DateTime?
    vector: Vector(3)?
    blob: Blob?
    words: [String]?
    numbers: [I32]?
    floats: [F32]?
    days: [Date]?
    @range(i32, -100..100)
    @check(text, "^[^!]*$")
    @unique(i64)
}
node Plain { note: String }
node Pair { number: I32 tenant: String @key(number, tenant) }
node Dated { day: Date @key }
node Counted { number: I32 @key }
node Measured { size: F32 @key }
edge Near: Thing -> Thing { weight: F64? since: Date? }
edge Owns: Thing -> Plain @card(0..1)
edge Counts: Counted -> Counted
edge Step: Thing -> Thing @key(src, dst, number) { number: I32 text: String? }
"""


def graph(folder: Path, schema: str = PEOPLE) -> og.Graph:
    """An empty graph."""
    return og.init(folder / f"graph-{len(list(folder.iterdir()))}", schema=schema, durability="os")


def written(path: Path, records: Iterable[object]) -> Path:
    """A file of lines; what is not text is written as JSON."""
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


def exported(g: og.Graph, **options: Any) -> list[dict[str, Any]]:
    """Everything in a graph, in the order it is exported."""
    sink = io.BytesIO()
    g.export(sink, **options)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def counts(g: og.Graph) -> dict[str, int]:
    """How many entities each type has, for types that have any."""
    return {t.name: t.rows for t in g.stats().types if t.rows}


def refused(g: og.Graph, source: object, **options: Any) -> list[Violation]:
    """What is wrong with an input. The graph is as before."""
    before = _changes(g)
    with pytest.raises((og.ValidationError, og.KeyConflict)) as found:
        g.load(source, **options)
    assert _changes(g) == before
    assert isinstance(found.value, og.ValidationError | og.KeyConflict)
    violations = [v for v in found.value.violations if isinstance(v, Violation)]
    assert violations
    return violations


def _changes(g: og.Graph) -> list[str]:
    """Commits that changed what the graph says; indexes may catch up at any time."""
    return [c.id for c in g.commits() if c.op_class is OpClass.LOGICAL]


def rules(violations: Iterable[Violation]) -> list[str]:
    return [v.rule for v in violations]


def said(g: og.Graph, source: object, engine: Any, **options: Any) -> list[tuple[object, ...]]:
    """What is wrong with an input, by one engine."""
    try:
        g.load(source, engine=engine, **options)
    except (og.ValidationError, og.KeyConflict) as error:
        return [
            (v.rule, v.type, v.property, v.entity, str(v.value), v.file, v.line, v.message)
            for v in error.violations
            if isinstance(v, Violation)
        ]
    return []


def comparable(g: og.Graph) -> list[str]:
    """A graph without ids that were made up."""
    rows = exported(g)
    made = [len(r["data"]["id"]) == 26 and r["data"]["id"].startswith("01") for r in rows]
    return sorted(
        (
            str({**r, "data": {k: v for k, v in r["data"].items() if not (k == "id" and m)}})
            for r, m in zip(rows, made, strict=True)
        ),
    )


def without_made_up(found: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Violations without ids that were made for the load: those are others each time."""
    return [tuple(re.sub(r"01[0-9A-Z]{24}", "…", str(part)) for part in violation) for violation in found]
