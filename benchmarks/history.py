"""What history costs on a large graph, beside the same on a small one: a change of ten rows, on a thousand rows and on a million.

Both graphs are indexed. Each round makes a branch, changes four rows scattered over the table, adds four and an edge, changes ten
others on main, and then compares, merges and reverts; the two graphs take turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import omnigraph as og
from benchmarks.measuring import Measurement, scratch_folder
from omnigraph.catalog.columns import columns_of
from omnigraph.engine.snapshot.view import table_key
from omnigraph.engine.upkeep.reconcile import optimize
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.tables.changes import Append

SMALL, LARGE = 1_000, 1_000_000
ROUNDS = 9
MOST = 2.0
"""How many times as long the large graph may take."""

SCHEMA = """
node Person { name: String @key  age: I32?  nick: String? }
edge Knows: Person -> Person { since: Date? }
"""


def graph(folder: Path, size: int) -> og.Graph:
    """People who each know the next."""
    made = og.init(folder / str(size), schema=SCHEMA, durability="os")
    view = made._view()
    node, edge = view.catalog.nodes["Person"], view.catalog.edges["Knows"]
    ids = [name_of(n) for n in range(size)]
    ages = pa.array(np.arange(size) % 90, pa.int32())
    people = pa.table({"id": ids, "age": ages, "name": ids, "nick": pa.nulls(size, pa.string())}, schema=columns_of(node))
    ends = {"id": [f"e{n:07d}" for n in range(size)], "src": ids, "dst": [*ids[1:], ids[0]]}
    knows = pa.table({**ends, "since": pa.nulls(size, pa.date32())}, schema=columns_of(edge))
    changes = []
    for key, rows in ((table_key(node), people), (table_key(edge), knows)):
        written = made._store.tables.open(view.snapshot.tables[key]).write(rows)
        changes.append(PlannedChange(key, Append(written)))
    made._store.publish("main", PublishPlan(OpClass.LOGICAL, "load", view.snapshot.commit, tuple(changes)))
    optimize(made._store, "main", view.catalog)
    return made


def name_of(number: int) -> str:
    """The id of a person."""
    return f"p{number:07d}"


def _put(made: og.Graph, branch: str, *statements: str) -> None:
    made.mutate(f"query q() {{ {' '.join(statements)} }}", branch=branch)


def _round(made: og.Graph, size: int, number: int) -> dict[str, float]:
    work, step = f"work{number}", size // 20
    made.branches.create(work)
    changed = [f'update Person set {{ age: {number} }} where name = "{name_of(k * step + number)}"' for k in range(4)]
    added = [f'insert Person {{ name: "new{number}-{k}" }}' for k in range(5)]
    _put(made, work, *changed, *added, f'insert Knows {{ from: "{name_of(step)}", to: "new{number}-1" }}')
    others = (name_of((k + 5) * step + number) for k in range(10))
    _put(made, "main", *(f'update Person set {{ nick: "{number}" }} where name = "{name}"' for name in others))
    found = {"a diff": _ms(lambda: made.diff("main", work))}
    found["a merge of ten rows"] = _ms(lambda: made.merge(work))
    commit = made.commits(limit=1)[0].id
    found["the changes of a commit"] = _ms(lambda: made.commit_changes(commit))
    found["a revert"] = _ms(lambda: made.revert(commit))
    made.branches.create(f"ahead{number}")
    _put(made, f"ahead{number}", f'insert Person {{ name: "ahead{number}" }}')
    found["a fast-forward"] = _ms(lambda: made.merge(f"ahead{number}"))
    return found


def _ms(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def measure() -> list[Measurement]:
    """Time the same work on both graphs."""
    folder = scratch_folder()
    graphs = {size: graph(folder, size) for size in (SMALL, LARGE)}
    times: dict[str, dict[int, list[float]]] = {}
    for number in range(ROUNDS + 2):
        for size, made in graphs.items():
            for name, taken in _round(made, size, number).items():
                if number >= 2:
                    times.setdefault(name, {}).setdefault(size, []).append(taken)
    for made in graphs.values():
        made.close()
    found = []
    for name, by_size in times.items():
        small, large = (statistics.median(by_size[size]) for size in (SMALL, LARGE))
        bound = MOST * small if name == "a merge of ten rows" else None
        found.append(Measurement(f"{name}, {LARGE:,} rows", large, f"{SMALL:,} rows", small, bound))
    return found
