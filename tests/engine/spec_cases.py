"""The numbered cases of the specification (Q of 4.7, X of 5.7), and a few that its text implies.

A folder of `cases` is a graph: `schema.pg` (that of `people` if there is none), `data.jsonl` in the strict dialect of 7.1, and
`queries.gq`. Above each query stand comments that say what it gives:

    // case: Q2                        its name
    // params: {"n": 1}                parameters
    // columns: ["f.name"]             names of the columns
    // rows: [["Bob"], ["Charlie"]]    the rows, in any order
    // sequence: [["Bob"]]             the rows, in this order
    // refused: T15                    the checker refuses it, with this code
    // fails: missing parameter        it cannot be run
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from tests.engine.answers import Answer, Near
from tests.engine.reference_search import single
from tests.engine.reference_values import day, moment

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.keys import entity_id
from omnigraph.catalog.opening import offline_catalog
from omnigraph.language import Source
from omnigraph.model.types import PropertyType, Scalar

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Fixture:
    """A small graph."""

    name: str
    schema: str
    data: Mapping[str, list[dict[str, Any]]]
    catalog: Catalog


@dataclass(frozen=True)
class Case:
    """A query on it, and what must come of it."""

    fixture: str
    name: str
    query: str
    notes: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.fixture}: {self.name}"

    @property
    def params(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.notes.get("params", "{}"))
        return found

    @property
    def columns(self) -> list[str] | None:
        found: list[str] | None = json.loads(self.notes["columns"]) if "columns" in self.notes else None
        return found

    @property
    def refused(self) -> str | None:
        return self.notes.get("refused")

    @property
    def fails(self) -> bool:
        return "fails" in self.notes

    def answer(self, columns: tuple[str, ...]) -> Answer:
        """The rows it gives. JSON has no dates: text is compared as a date would be written."""
        ordered = "sequence" in self.notes
        rows = [tuple(map(_expected, row)) for row in json.loads(self.notes["sequence" if ordered else "rows"])]
        return Answer(columns, tuple((row,) for row in rows) if ordered else (tuple(rows),))


def _expected(value: Any) -> Any:
    return Near(value) if isinstance(value, float) else value


def written(value: object) -> object:
    """A date as it is written; anything else as it is."""
    return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else value


def fixtures() -> dict[str, Fixture]:
    """Every graph, by name."""
    return {folder.name: _fixture(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()}


def _fixture(folder: Path) -> Fixture:
    own = folder / "schema.pg"
    schema = (own if own.exists() else FOLDER / "people" / "schema.pg").read_text()
    catalog = offline_catalog(Source(schema))
    data: dict[str, list[dict[str, Any]]] = {}
    for number, line in enumerate((folder / "data.jsonl").read_text().splitlines()):
        record = json.loads(line)
        given: dict[str, Any] = record.get("data", {})
        if "type" in record:
            node = catalog.nodes[record["type"]]
            row = {name: _stored(value, node.properties[name].type) for name, value in given.items() if name != "id"}
            identity = entity_id(node.key, row) if node.key else given["id"]
            data.setdefault(node.name, []).append({"id": identity, **row})
        else:
            edge = catalog.edges[record["edge"]]
            row = {name: _stored(value, edge.properties[name].type) for name, value in given.items() if name != "id"}
            ends = {"id": given.get("id", f"e{number:04}"), "src": record["from"], "dst": record["to"]}
            data.setdefault(edge.name, []).append({**ends, **row})
    return Fixture(folder.name, schema, data, catalog)


def _stored(value: Any, type_: PropertyType) -> Any:
    if isinstance(value, list):
        element = PropertyType(Scalar.F32) if type_.is_vector else type_.element()
        return [_stored(item, element) for item in value]
    match type_.scalar:
        case Scalar.DATE:
            return day(value)
        case Scalar.DATETIME:
            return moment(value)
        case Scalar.F32:
            return single(value)
        case _:
            return value


def cases() -> list[Case]:
    """Every case of every graph."""
    return [case for folder in sorted(FOLDER.iterdir()) if folder.is_dir() for case in _cases(folder)]


def _cases(folder: Path) -> Iterator[Case]:
    notes: dict[str, str] = {}
    text = ""
    for line in [*(folder / "queries.gq").read_text().splitlines(), "// case: end"]:
        if line.startswith("// case: ") and text.strip():
            yield Case(folder.name, notes["case"], text, notes)
            notes, text = {}, ""
        if line.startswith("// ") and ": " in line:
            key, _, value = line.removeprefix("// ").partition(": ")
            notes[key] = value
        elif not line.startswith("//"):
            text += line + "\n"
