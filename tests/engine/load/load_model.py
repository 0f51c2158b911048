"""Loads as plain dictionaries know them: random schemas, rows and doors, and what a graph must hold after each load.

The model knows six rules: an id comes from the key or is given; `append` refuses ids that exist, `merge` replaces them, `overwrite`
leaves nothing else of the types that occur; `patch` changes what a row has and nothing else, `update` only where the id exists; a
key may stand in a load once; both ends of every edge are there at the end.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.model.arrow import arrow_type
from omnigraph.model.types import PropertyType, Scalar

Row = dict[str, Any]

TEXTS = ["", "a", "é", "null", "x,y", 'q"q', "two\nlines", "  ", "\t", "'", "\\", "NaN", "0", "-0", "true", "𝒳", "\u2028", "\x01"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Kind:
    """A type of a property: values, and how JSON and CSV spell them."""

    name: str
    arrow: pa.DataType
    make: Callable[[Random], Any]
    spell: Callable[[Any], Any] = lambda value: value


def _list(element: Kind) -> Kind:
    return Kind(
        f"[{element.name}]",
        pa.list_(element.arrow),
        lambda r: [element.make(r) for _ in range(r.choice([0, 1, 1, 3]))],
        lambda values: [element.spell(v) for v in values],
    )


def _moment(r: Random) -> datetime:
    return EPOCH + timedelta(milliseconds=r.choice([0, -1, 1, 999, r.randrange(-(10**13), 10**13)]))


def _shortest(value: float) -> float:
    return float(str(np.float32(value)))


SCALARS = [
    Kind("String", pa.string(), lambda r: r.choice(TEXTS)),
    Kind("Bool", pa.bool_(), lambda r: r.random() < 0.5),
    Kind("I32", pa.int32(), lambda r: r.choice([0, -1, 2**31 - 1, -(2**31), r.randrange(100)])),
    Kind("I64", pa.int64(), lambda r: r.choice([0, -1, 2**63 - 1, -(2**63), 2**53 + 1, r.randrange(100)])),
    Kind("U32", pa.uint32(), lambda r: r.choice([0, 2**32 - 1, r.randrange(100)])),
    Kind("U64", pa.uint64(), lambda r: r.choice([0, 2**64 - 1, 2**63, r.randrange(100)])),
    Kind("F64", pa.float64(), lambda r: r.choice([0.0, -0.0, 0.1, 1e300, 5e-324, -2.5, 2.0**53, r.random()])),
    Kind("F32", pa.float32(), lambda r: r.choice([0.0, -0.0, 0.5, -1.25, 2.0**127, 2.0**-149, float(r.randrange(1000))]), _shortest),
    Kind("Date", pa.date32(), lambda r: date(1, 1, 1) + timedelta(days=r.choice([0, 719_162, r.randrange(3_652_059)])), date.isoformat),
    Kind(
        "DateTime", pa.timestamp("ms", "UTC"), _moment, lambda v: f"{v.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
    ),
]  # fmt: skip
OTHERS = [
    Kind("Vector(2)", arrow_type(PropertyType(Scalar.VECTOR, dimension=2)), lambda r: [r.choice([0.0, 0.5, -3.0]), 1.5]),
    Kind(
        "Blob",
        pa.large_binary(),
        lambda r: r.randbytes(r.choice([0, 1, 40])),
        lambda v: f"base64:{base64.b64encode(v).decode()}",
    ),
]
KINDS = [*SCALARS, *map(_list, SCALARS), *OTHERS]
KEYS = [kind for kind in SCALARS if kind.name in ("String", "I32", "U64")]


@dataclass(frozen=True)
class Type:
    """A node or edge type."""

    name: str
    key: Kind | None
    properties: dict[str, Kind]
    is_edge: bool = False
    ends: bool = True
    """Whether columns of an edge name its ends."""
    ops: bool = False
    """Whether a column says what is done with rows."""

    def declared(self) -> str:
        own = [f"{name}: {kind.name}?" for name, kind in self.properties.items()]
        if self.is_edge:
            return f"edge {self.name}: A -> B {{ {'  '.join(own)} }}"
        return f"node {self.name} {{ {'  '.join([f'k: {self.key.name} @key', *own] if self.key else own)} }}"

    @property
    def columns(self) -> dict[str, pa.DataType]:
        ends = {"from": pa.string(), "to": pa.string()} if self.is_edge and self.ends else {}
        key = {"k": self.key.arrow} if self.key else {"id": pa.string()}
        ops = {"_op": pa.string()} if self.ops else {}
        return {**ops, **ends, **key, **{name: kind.arrow for name, kind in self.properties.items()}}

    def spell(self, name: str, value: Any) -> Any:
        kind = self.properties.get(name) or (self.key if name == "k" else None)
        return value if value is None or kind is None else kind.spell(value)


@dataclass
class Model:
    """What a graph holds: ids with their spelt values, by type; edges whose id nobody gave under one of ours."""

    types: list[Type]
    held: dict[str, dict[str, Row]] = field(default_factory=dict)
    fresh: int = 0

    def load(self, rows: dict[str, list[Row]], mode: str) -> bool:
        """Take rows, or refuse all of them and say so."""
        after = {name: dict(found) for name, found in self.held.items()}
        gone, written = dict[str, set[str]](), set[str]()
        for type_ in self.types:
            if type_.name not in rows:
                continue
            new: dict[str, Row | None] = {}
            partial = mode in ("update", "patch")
            steps = any(row.get("_op") for row in rows[type_.name])
            for row in rows[type_.name]:
                spelt = {name: type_.spell(name, row.get(name)) for name in type_.columns if name != "id"}
                given = str(row["k"]) if type_.key else row.get("id")
                if row.get("_op") == "delete":
                    if partial and new.get(given or ""):
                        return False
                    new[given or ""] = None
                    continue
                if partial:
                    before = after.get(type_.name, {}).get(given or "")
                    if given is None or (before is None and (mode == "update" or (type_.is_edge and "from" not in row))):
                        return False
                    spelt = spelt if before is None else before | {name: spelt[name] for name in row if name in spelt}
                if given is None:
                    self.fresh += 1
                id_ = f"~{self.fresh}" if given is None else given
                if id_ in new and ((type_.key is not None and not steps) or mode != "merge"):
                    return False
                new[id_] = spelt
            there = after.setdefault(type_.name, {})
            if mode == "append" and there.keys() & new.keys():
                return False
            images = {id_: image for id_, image in new.items() if image is not None}
            after[type_.name] = images if mode == "overwrite" else {i: v for i, v in (there | images).items() if new.get(i, v)}
            gone[type_.name] = {id_ for id_, image in new.items() if image is None}
            written |= images.keys() if type_.is_edge else set()
        after["E"] = {
            id_: e
            for id_, e in after.get("E", {}).items()
            if id_ in written or not (e["from"] in gone.get("A", ()) or e["to"] in gone.get("B", ()))
        }
        if not all(e["from"] in after.get("A", {}) and e["to"] in after.get("B", {}) for e in after.get("E", {}).values()):
            return False
        self.held = after
        return True

    def spelt(self) -> list[str]:
        """Everything, in an order of its own, fresh ids without their text."""
        return sorted(comparable(name, id_, row) for name, found in self.held.items() for id_, row in found.items())


def comparable(type_: str, id_: str, row: Row) -> str:
    """An entity as a text that is equal for equal ones."""
    shown = "~" if id_.startswith("~") or len(id_) == 26 else id_
    return json.dumps([type_, shown, {n: v for n, v in sorted(row.items()) if v is not None}], default=str)


def exported_ones(records: list[Row]) -> list[str]:
    """The same of what a graph exports."""
    found = []
    for record in records:
        data = dict(record["data"])
        id_ = data.pop("id")
        ends: Row = {name: record[name] for name in ("from", "to") if name in record}
        found.append(comparable(record.get("type") or record["edge"], id_, {**ends, **data}))
    return sorted(found)


def random_types(r: Random) -> list[Type]:
    def properties(name: str) -> dict[str, Kind]:
        return {f"{name}{n}": r.choice(KINDS) for n in range(r.randrange(1, 5))}

    nodes = [Type(name, r.choice([None, *KEYS]), properties(name.lower())) for name in ("A", "B")]
    return [*nodes, Type("E", None, properties("e"), is_edge=True)]


def random_rows(r: Random, model: Model) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for type_ in r.sample(model.types, r.randrange(1, 4)):
        rows[type_.name] = [random_row(r, type_, model, rows) for _ in range(r.choice([0, 1, 2, 5, 20]))]
    return {t.name: rows[t.name] for t in model.types if t.name in rows}


def random_row(r: Random, type_: Type, model: Model, rows: dict[str, list[Row]]) -> Row:
    row: Row = {}
    for name, kind in type_.properties.items():
        row[name] = None if r.random() < 0.25 else kind.make(r)
    if type_.is_edge:
        for end, node in (("from", "A"), ("to", "B")):
            new = [
                str(given["k"]) if "k" in given else given["id"]
                for given in rows.get(node, [])
                if given.get("k", given.get("id")) is not None
            ]
            known = [*(i for i in model.held.get(node, {}) if not i.startswith("~")), *new]
            row[end] = r.choice(known) if known and r.random() < 0.99 else "nobody"
    if type_.key:
        row["k"] = f"k{r.randrange(400)}" if type_.key.name == "String" else r.choice([type_.key.make(r), r.randrange(400)])
    elif r.random() < 0.5:
        row["id"] = f"{type_.name}{r.randrange(60)}"
    return row


def poisoned(r: Random, rows: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """The same rows with edges here and there that have an end no text can be, or nobody is, and some that have one id."""
    if "E" not in rows:
        return rows
    edges = list[Row]()
    for row in rows["E"]:
        poison: Row = {"from": None} if r.random() < 0.3 else {"to": "nobody"} if r.random() < 0.2 else {}
        shared: Row = {"id": f"E{r.randrange(3)}"} if r.random() < 0.3 else {}
        edges.append({**row, **poison, **shared})
    return {**rows, "E": edges}


def thinned(r: Random, model: Model, rows: dict[str, list[Row]], door: str) -> tuple[list[Type], dict[str, list[Row]]]:
    """The same rows about entities that mostly exist, without some of their columns; where rows stand alone, without some values."""
    types, found = list[Type](), dict[str, list[Row]]()
    for type_ in model.types:
        shown = {n: kind for n, kind in type_.properties.items() if r.random() < 0.6} or type_.properties
        seen = replace(type_, properties=shown, ends=r.random() < 0.4)
        types.append(seen)
        known = [id_ for id_ in model.held.get(type_.name, {}) if not id_.startswith("~")]
        r.shuffle(known)
        for row in rows.get(type_.name, []):
            mine = {name: value for name, value in row.items() if name in seen.columns}
            if known and r.random() < 0.97:
                id_ = known.pop()
                mine |= {"k": id_ if type_.key.name == "String" else int(id_)} if type_.key else {"id": id_}
            if door in ("records", "lines", "rows"):
                mine = {name: value for name, value in mine.items() if name not in type_.properties or r.random() < 0.7}
            found.setdefault(type_.name, []).append(mine)
    return types, found


def with_deletions(
    r: Random, model: Model, types: list[Type], rows: dict[str, list[Row]]
) -> tuple[list[Type], dict[str, list[Row]]]:
    """The same rows among others that delete: mostly who is there, now and then somebody who is written too, or nobody."""
    found: dict[str, list[Row]] = {}
    for type_ in types:
        mine = list(rows.get(type_.name, []))
        known = [id_ for id_ in model.held.get(type_.name, {}) if not id_.startswith("~")]
        for id_ in r.sample(known, min(len(known), r.randrange(3))) + (["77"] if r.random() < 0.2 else []):
            named = {"k": id_ if type_.key.name == "String" else int(id_)} if type_.key else {"id": id_}
            mine.insert(r.randrange(len(mine) + 1), {"_op": "delete", **named})
        if mine:
            found[type_.name] = [{"_op": r.choice(["upsert", None]), **row} for row in mine]
    return [replace(type_, ops=True) for type_ in types], found


# ── doors ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def table_of(type_: Type, rows: list[Row]) -> pa.Table:
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in type_.columns.items()})


def record_of(type_: Type, row: Row, *, spelt: bool) -> Row:
    data = {n: type_.spell(n, v) if spelt else v for n, v in row.items() if n not in ("from", "to", "_op")}
    op = {"op": row["_op"]} if row.get("_op") else {}
    ends = {n: v for n, v in row.items() if n in ("from", "to")}
    return {**op, "edge": type_.name, **ends, "data": data} if type_.is_edge else {**op, "type": type_.name, "data": data}


def _records(types: list[Type], rows: dict[str, list[Row]], *, spelt: bool) -> list[Row]:
    return [record_of(t, row, spelt=spelt) for t in types if t.name in rows for row in rows[t.name]]


def _cell(type_: Type, name: str, value: Any) -> str:
    if value is None:
        return ""
    spelt = type_.spell(name, value)
    if isinstance(spelt, bool | list):
        spelt = json.dumps(spelt)
    return '"' + str(spelt if not isinstance(spelt, float) else repr(spelt)).replace('"', '""') + '"'


def _csv(type_: Type, rows: list[Row], path: Path) -> Path:
    lines = [",".join(type_.columns), *(",".join(_cell(type_, name, row.get(name)) for name in type_.columns) for row in rows)]
    path.write_text("\n".join(lines) + "\n", newline="")
    return path


def _parquet(type_: Type, rows: list[Row], path: Path) -> Path:
    pq.write_table(table_of(type_, rows), path, row_group_size=3)
    return path


def _frame(type_: Type, rows: list[Row]) -> Any:
    columns = {name: pd.Series([row.get(name) for row in rows], dtype=object) for name in type_.columns}
    frame = pd.DataFrame(columns)
    return frame.set_index("k") if type_.key and len(rows) % 2 else frame


def given(r: Random, door: str, types: list[Type], rows: dict[str, list[Row]], folder: Path) -> Any:
    """Rows as a door takes them."""
    folder.mkdir()
    mine = [t for t in types if t.name in rows]
    match door:
        case "records":
            return _records(types, rows, spelt=r.random() < 0.5)
        case "lines":
            text = "".join(
                json.dumps(record, ensure_ascii=r.random() < 0.5) + "\n" for record in _records(types, rows, spelt=True)
            )
            (folder / "all.jsonl").write_text(text)
            return folder / "all.jsonl"
        case "csv":
            return [_csv(t, rows[t.name], folder / f"{t.name}.csv") for t in mine]
        case "parquet":
            return [_parquet(t, rows[t.name], folder / f"{t.name}.parquet") for t in mine]
        case "polars":
            return {t.name: pl.from_arrow(table_of(t, rows[t.name])) for t in mine}
        case "pandas":
            return {t.name: _frame(t, rows[t.name]) for t in mine}
        case "converted":
            return {t.name: table_of(t, rows[t.name]).to_pandas(types_mapper=pd.ArrowDtype) for t in mine}
        case "arrow":
            return {t.name: table_of(t, rows[t.name]) for t in mine}
        case _:
            return {t.name: rows[t.name] for t in mine}


DOORS = ["records", "lines", "csv", "parquet", "polars", "pandas", "converted", "arrow", "rows"]
