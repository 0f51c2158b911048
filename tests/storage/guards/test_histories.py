"""The first guard: whatever happens to a table, in whatever order, it says what a model in memory says.

A history is a random walk over several branches of one table: rows come, change and go; three kinds of index grow segment by
segment; fragments are rewritten, with and without their indexes; a column comes and goes; branches fork. After every step the branch is compared with its
model by full scan, key lookup, full text, and exact nearest neighbours.

It is red when Lance breaks one of the things that storage rests on: with stable row ids, for one, most of these histories fail.
Replay one with `pytest tests/storage/guards/test_histories.py -k 'seed17'`, or others with `OMNIGRAPH_SEEDS=100-200`.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.rewriting.columns import add_nullable_columns, drop_columns
from omnigraph.storage.rewriting.derived import own
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, extend_index, extend_indexes
from omnigraph.storage.rewriting.rewrites import commit_rewrites, compact, fragment_sizes, rewrite
from omnigraph.storage.tables.changes import Append, Applied, Delete, Overwrite, TableState, Upsert, WrittenRows
from omnigraph.storage.tables.search import Metric, Words, full_text, nearest
from omnigraph.storage.tables.table import Table, Tables

STEPS = 60
QUICK = 2
"""Seeds that also run in `make quick`."""

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.string()),
        pa.field("vec", pa.list_(pa.float32(), 4)),
    ]
)
WORDS = ["amber", "birch", "cedar", "dune", "ember", "fjord"]
SPECS = (
    IndexSpec("by_id", "id", IndexKind.BTREE),
    IndexSpec("by_text", "text", IndexKind.FULL_TEXT, {"with_position": True}),
    IndexSpec("by_vec", "vec", IndexKind.IVF_FLAT, {"metric": "l2", "num_partitions": 1}),
)

DEEDS = {
    "append": 8,
    "upsert": 6,
    "update": 4,
    "delete": 5,
    "index": 5,
    "rewrite": 3,
    "compact": 1,
    "column": 1,
    "fork": 1,
    "overwrite": 0.2,
}
"""What may happen, and how often."""

Row = tuple[str | None, list[float] | None]


@dataclass
class Branch:
    state: TableState
    rows: dict[str, Row]


class History:
    """One random walk."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.tables = Tables(Place.at(str(folder), durability=Durability.OS))
        self.branches = [Branch(self.tables.create("node:1-2", "nodes/1-2", SCHEMA), {})]
        self.branches[0].state = extend_indexes(self.tables, self.branches[0].state, SPECS).state
        self.named = 0
        self.log: list[str] = []

    def step(self) -> None:
        """Do something to some branch, and compare."""
        branch = self.random.choice(self.branches)
        deed = self.random.choices([getattr(self, name) for name in DEEDS], list(DEEDS.values()))[0]
        self.log.append(f"{self.branches.index(branch)}:{deed.__name__}")
        deed(branch)
        self.compare(branch)

    # ── deeds ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def append(self, branch: Branch) -> None:
        self._put(branch, self._fresh(), Append)

    def upsert(self, branch: Branch) -> None:
        self._put(branch, [*self._some(branch), *self._fresh()], Upsert)

    def update(self, branch: Branch) -> None:
        self._put(branch, self._some(branch), Upsert)

    def delete(self, branch: Branch) -> None:
        ids = self._some(branch)
        self._apply(branch, Delete((*ids, "nobody")))
        for name in ids:
            del branch.rows[name]

    def index(self, branch: Branch) -> None:
        self._take(branch, extend_index(self.tables, branch.state, self.random.choice(SPECS)))

    def rewrite(self, branch: Branch) -> None:
        table = own(self.tables.open(branch.state))
        numbers = [s.number for s in fragment_sizes(table)]
        chosen = sorted(self.random.sample(numbers, min(len(numbers), self.random.randint(1, 4))))
        groups = [rewrite(table, chosen, 1_000)] if chosen else []
        specs = self.random.sample(SPECS, self.random.randint(0, len(SPECS)))
        self._take(branch, commit_rewrites(table, branch.state, groups, specs))

    def compact(self, branch: Branch) -> None:
        self._take(branch, compact(self.tables, branch.state, SPECS, target_rows=self.random.choice((4, 40, 1_000_000))))

    def fork(self, branch: Branch) -> None:
        if len(self.branches) < 4:
            self.branches.append(Branch(branch.state, dict(branch.rows)))

    def column(self, branch: Branch) -> None:
        if "mood" in self.tables.open(branch.state).schema.names:
            self._take(branch, drop_columns(self.tables, branch.state, ["mood"]))
        else:
            self._take(branch, add_nullable_columns(self.tables, branch.state, [pa.field("mood", pa.string())]))

    def overwrite(self, branch: Branch) -> None:
        branch.rows = {name: self._row() for name in self._fresh()}
        self._apply(branch, Overwrite(self._written(branch, branch.rows)))

    def _put(self, branch: Branch, ids: list[str], change: type[Append] | type[Upsert]) -> None:
        rows = {name: self._row() for name in ids}
        self._apply(branch, change(self._written(branch, rows), tuple(rows)))
        branch.rows.update(rows)

    def _written(self, branch: Branch, rows: dict[str, Row]) -> WrittenRows:
        table = self.tables.open(branch.state)
        columns = {"id": list(rows), "text": [t for t, _ in rows.values()], "vec": [v for _, v in rows.values()]}
        if "mood" in table.schema.names:
            columns["mood"] = ["grey"] * len(rows)
        return table.write(pa.table(columns, schema=table.schema))

    def _apply(self, branch: Branch, change: Append | Upsert | Delete | Overwrite) -> None:
        branch.state = self.tables.apply(branch.state, change).state

    def _take(self, branch: Branch, applied: Applied) -> None:
        assert (applied.added, applied.removed, applied.state.rows) == (0, 0, branch.state.rows)
        branch.state = applied.state

    def _fresh(self) -> list[str]:
        first, self.named = self.named, self.named + self.random.randint(1, 8)
        return [f"k{n}" for n in range(first, self.named)]

    def _some(self, branch: Branch) -> list[str]:
        return self.random.sample(sorted(branch.rows), min(len(branch.rows), self.random.randint(1, 4)))

    def _row(self) -> Row:
        text = None if self.random.random() < 0.1 else " ".join(self.random.choices(WORDS, k=self.random.randint(1, 3)))
        vector = None if self.random.random() < 0.1 else [self.random.uniform(-1, 1) for _ in range(4)]
        return text, vector

    # ── comparing ────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def compare(self, branch: Branch) -> None:
        table = self.tables.open(branch.state)
        assert branch.state.rows == len(branch.rows)
        self._compare_scan(branch, table)
        self._compare_lookup(branch, table)
        self._compare_text(branch, table)
        self._compare_nearest(branch, table)

    def _compare_scan(self, branch: Branch, table: Table) -> None:
        found = {r["id"]: (r["text"], r["vec"]) for r in table.read(["id", "text", "vec"]).to_pylist()}
        assert found.keys() == branch.rows.keys()
        for name, (text, vector) in branch.rows.items():
            assert found[name][0] == text, name
            assert found[name][1] == (None if vector is None else pytest.approx(vector)), name

    def _compare_lookup(self, branch: Branch, table: Table) -> None:
        asked = [*self._some(branch), f"k{self.random.randint(0, self.named + 1)}", "nobody"]
        found = table.lookup(asked, ["id", "text"]).to_pylist()
        assert sorted((r["id"], r["text"] or "") for r in found) == sorted(
            (n, branch.rows[n][0] or "") for n in set(asked) if n in branch.rows
        )

    def _compare_text(self, branch: Branch, table: Table) -> None:
        word = self.random.choice(WORDS)
        found = full_text(table, "text", Words(word))["id"].to_pylist()
        assert sorted(found) == sorted(n for n, (text, _) in branch.rows.items() if word in (text or "").split()), word

    def _compare_nearest(self, branch: Branch, table: Table) -> None:
        query = [self.random.uniform(-1, 1) for _ in range(4)]
        found = nearest(table, "vec", query, 4, Metric.L2)
        distances = sorted((_squared(query, v), n) for n, (_, v) in branch.rows.items() if v is not None)[:4]
        assert found["id"].to_pylist() == [n for _, n in distances]
        assert found["_distance"].to_pylist() == pytest.approx([d for d, _ in distances], abs=1e-4)


def _squared(first: Iterable[float], second: Iterable[float]) -> float:
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True))


def _seeds() -> list[int]:
    first, _, last = os.environ.get("OMNIGRAPH_SEEDS", "0-19").partition("-")
    return list(range(int(first), int(last or first) + 1))


@pytest.mark.parametrize(
    "seed", [pytest.param(s, id=f"seed{s}", marks=[] if s < QUICK else [pytest.mark.slow]) for s in _seeds()]
)
def test_random_histories_agree_with_a_model(tmp_path: Path, seed: int) -> None:
    """If this is red, do not upgrade Lance: some order of changes, indexes and rewrites gives wrong answers."""
    history = History(tmp_path, seed)
    try:
        for _ in range(STEPS):
            history.step()
    except BaseException:
        print(f"\nhistory of seed {seed} broke at step {len(history.log)}: {' '.join(history.log)}")
        raise
