"""A graph with a property of every type there is, nullable and not, and values at the edges of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.engine.graphs import Data, add, make_graph
from tests.engine.history.graphs import calm, contents

import omnigraph as og
from omnigraph.model.blobs import MARK, managed, reference

UTC = UTC
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SCALARS: dict[str, list[Any]] = {
    "String": ["", "a", 'it\'s "quoted" \\ % _ `', "näïve 日本 \U0001f600", "x" * 5_000, "null", " "],
    "Bool": [True, False],
    "I32": [0, -1, 5, -(2**31), 2**31 - 1],
    "I64": [0, -1, 5, -(2**63), 2**63 - 1],
    "U32": [0, 1, 5, 2**31, 2**32 - 1],
    "U64": [0, 1, 5, 2**63, 2**64 - 1],
    "F32": [0.0, -0.0, 0.5, -1.5, 3.4028234663852886e38, 1.401298464324817e-45],
    "F64": [0.0, -0.0, 0.1, -1.5, 1.7976931348623157e308, 5e-324],
    "Date": [date(1970, 1, 1), date(1969, 12, 31), date(2026, 2, 28), date(1, 1, 1), date(9999, 12, 31)],
    "DateTime": [
        _EPOCH,
        _EPOCH - timedelta(milliseconds=1),
        datetime(2026, 2, 28, 13, 5, 7, 123_000, UTC),
        datetime(9999, 12, 31, tzinfo=UTC),
    ],
    "enum(a, b, zz)": ["a", "b", "zz"],
}
"""Values of each scalar type, as they are stored."""

SMALL, PACKED, LARGE = b"\x00\x01small", b"p" * 70_000, bytes(range(256)) * 16_500
"""Bytes inside a data file, beside it with others, and (more than 4 MB) in a file of their own."""

BLOBS: list[bytes] = [b"", SMALL, PACKED, managed(MARK + b"!"), reference("s3://media/a.png")]

TYPES: dict[str, list[Any]] = {
    **SCALARS,
    **{f"[{name}]": [values[:3], [], values] for name, values in SCALARS.items() if not name.startswith("enum")},
    "Vector(3)": [[0.0, 0.0, 0.0], [1.0, -0.5, 3.0]],
}
"""Values of every type but Blob."""

PLAIN = {f"p{number}": type_ for number, type_ in enumerate(TYPES)}
"""Name and type of a property of every type but Blob."""

BLOB = "blob"

Spelling = Callable[[str, str], str]
"""How a property of a name and a type is declared."""


def schema_of(spelling: Spelling = "{}: {}".format) -> str:
    """A schema with a property of every type, once nullable and once not, with and without Blobs."""

    def spelt(types: Mapping[str, str]) -> str:
        return "  ".join(f"{spelling(n, f'{t}?')}  {spelling(f'req_{n}', t)}" for n, t in types.items())

    plain, whole = spelt(PLAIN), spelt({**PLAIN, BLOB: "Blob"})
    return f"""
node Plain {{ k: String @key  {plain} }}
node Whole {{ k: String @key  {whole} }}
edge Link: Whole -> Plain {{ {whole} }}
"""


def row(number: int, *, blobs: bool) -> dict[str, Any]:
    """Values of one entity: another choice of the edges for each number; every third has no value where it needs none."""
    found: dict[str, Any] = {}
    for name, type_ in PLAIN.items():
        values = TYPES[type_]
        found[f"req_{name}"] = values[number % len(values)]
        if number % 3:
            found[name] = values[(number + 1) % len(values)]
    if blobs:
        found[f"req_{BLOB}"] = BLOBS[number % len(BLOBS)]
        if number % 3:
            found[BLOB] = LARGE if number == 4 else BLOBS[(number + 1) % len(BLOBS)]
    return found


def data(numbers: range) -> Data:
    """Entities of each of the three types."""
    return {
        "Plain": [{"k": f"p{n:05}", **row(n, blobs=False)} for n in numbers],
        "Whole": [{"k": f"w{n:05}", **row(n, blobs=True)} for n in numbers],
        "Link": [{"id": f"l{n:05}", "src": f"w{n:05}", "dst": f"p{n:05}", **row(n, blobs=True)} for n in numbers],
    }


def graph_of_every_type(folder: Path, numbers: range) -> og.Graph:
    """A graph with some of them, all in one commit, and nobody at work in the background."""
    graph = make_graph(folder, schema_of(), data(numbers))
    calm(graph)
    return graph


def one_by_one(graph: og.Graph, numbers: range, branch: str = "main") -> Iterator[int]:
    """Add more, one of each type per commit."""
    for number in numbers:
        add(graph, data(range(number, number + 1)), branch)
        yield number


def everything(graph: og.Graph, branch: str | None = None, at: str | None = None) -> dict[tuple[str, str], dict[str, Any]]:
    """All values of all entities, as another process reads them; signs of zeros included."""
    with og.open(graph._store.place.uri, read_only=True) as other:
        return {key: {name: _exact(v) for name, v in row.items()} for key, row in contents(other, branch, at).items()}


def name_of(type_: str) -> str:
    """The nullable property of a type."""
    return next(name for name, found in PLAIN.items() if found == type_)


def _exact(value: Any) -> Any:
    if isinstance(value, list):
        return [_exact(v) for v in value]
    return repr(value) if isinstance(value, float) else value
