"""Random schemas, rows, modes and doors beside a model of dictionaries: the same entities after each load, or the same refusal."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.engine.load.load_model import (
    DOORS,
    Model,
    Type,
    exported_ones,
    given,
    poisoned,
    random_row,
    random_rows,
    random_types,
    record_of,
    thinned,
    with_deletions,
)
from tests.engine.load.loading import exported

import omnigraph as og

LOADS = 8
MODES = ["append", "merge", "overwrite", "update", "patch", "patch"]


def history(seed: int, folder: Path) -> None:
    """A few loads one after the other."""
    r = Random(seed)
    model = Model(random_types(r))
    schema = "\n".join(type_.declared() for type_ in model.types)
    g = og.init(folder / "g", schema=schema, durability="os")
    for step in range(LOADS):
        rows, mode, door, types = random_rows(r, model), r.choice(MODES), r.choice(DOORS), model.types
        if mode in ("update", "patch"):
            types, rows = thinned(r, model, rows, door)
        if mode in ("merge", "update", "patch") and r.random() < 0.4:
            types, rows = with_deletions(r, model, types, rows)
        if door in ("records", "lines"):  # types of which there is no record do not occur
            rows = {name: found for name, found in rows.items() if found}
        what = f"seed {seed}, load {step}: {mode} by {door} of { ({n: len(found) for n, found in rows.items()}) } into\n{schema}"
        source = given(r, door, types, rows, folder / f"in{step}")
        taken = model.load(rows, mode)
        try:
            g.load(source, mode=mode, allow_empty=True)  # type: ignore[arg-type]
            told = None
        except og.errors.GraphError as error:
            told = error
        nothing = not any(rows.values()) and isinstance(told, og.errors.UsageError | og.errors.NotFound)
        assert nothing or (told is None) == taken, f"{what}\n{told}"
        found, expected = exported_ones(exported(g)), model.spelt()
        assert found == expected, (
            f"{what}\nfound {[e for e in found if e not in expected]}\nnot {[e for e in expected if e not in found]}"
        )
    g.close()


def quarantines(seed: int, folder: Path) -> None:
    """Loads in which edges are wrong: every record is loaded, replaced or written down, and what is written down was given so."""
    r = Random(seed)
    model = Model(random_types(r))
    g = og.init(folder / "g", schema="\n".join(type_.declared() for type_ in model.types), durability="os")
    nodes = {t.name: [random_row(r, t, model, {}) for _ in range(6)] for t in model.types[:2]}
    if not model.load(nodes, "merge"):
        return
    g.load(given(r, "rows", model.types, nodes, folder / "nodes"))
    for step in range(2):
        all_rows = poisoned(r, {"E": [random_row(r, model.types[2], model, nodes) for _ in range(9)]})
        good, bad = _sorted_out(model, all_rows["E"])
        door, place = r.choice(DOORS), folder / f"bad{step}"
        what = f"seed {seed}, load {step} by {door}"
        source = given(r, door, model.types, all_rows, folder / f"in{step}")
        try:
            g.load(source, mode="merge", quarantine=place)
            told = None
        except og.errors.ValidationError as error:
            told = error
        assert (told is None) == bool(good), f"{what}\n{told}"
        if told is not None:
            continue
        assert model.load({"E": good}, "merge"), what
        assert exported_ones(exported(g)) == model.spelt(), what
        files = list(place.iterdir()) if place.exists() else []
        lines = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
        kept = _kept(model.types[2], [record_of(model.types[2], row, spelt=True)["data"] for row in bad])
        found = _kept(model.types[2], [line["record"]["data"] for line in lines])
        assert found == kept, f"{what}\nfound {found}\nnot {kept}"
    g.close()


def _sorted_out(model: Model, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Which edges are loaded and which are written down: of those with one id the last good one is loaded, and those before it
    were never more than what it replaces, unless they are wrong by themselves."""
    good, bad, taken = list[dict[str, Any]](), list[dict[str, Any]](), set[str]()
    for row in reversed(rows):
        if row["from"] is None:
            bad.append(row)
        elif row.get("id") in taken:
            continue
        elif row["from"] in model.held["A"] and row["to"] in model.held["B"]:
            good.append(row)
            taken |= {row["id"]} if "id" in row else set()
        else:
            bad.append(row)
    return good[::-1], bad


def _kept(type_: Type, records: list[dict[str, Any]]) -> list[str]:
    """Records without nulls; F32 may be the double that was given for them."""
    singles = {name for name, kind in type_.properties.items() if "F32" in kind.name}
    told = [{n: v for n, v in sorted(record.items()) if v is not None} for record in records]
    return sorted(json.dumps({n: type_.spell(n, v) if n in singles else v for n, v in record.items()}) for record in told)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_what_is_wrong_is_written_down_whole(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 10):
        (tmp_path / str(seed)).mkdir()
        quarantines(seed, tmp_path / str(seed))


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_loads_are_what_dictionaries_say(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 10):
        (tmp_path / str(seed)).mkdir()
        history(seed, tmp_path / str(seed))


if __name__ == "__main__":  # by hand: python -m tests.engine.load.test_random_loads FIRST LAST
    wrong = 0
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        with tempfile.TemporaryDirectory() as place:
            try:
                for what in (history, quarantines):
                    (Path(place) / what.__name__).mkdir()
                    what(number, Path(place) / what.__name__)
            except Exception as problem:
                wrong += 1
                print(f"== {number}: {type(problem).__name__}: {str(problem)[:1500]}")
    print(f"{wrong} wrong")
