"""The example graph is what it says: its data fits its schema, its files are laid out, the demo runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path

import pytest

from omnigraph.catalog.catalog import Catalog, EntityType, Property
from omnigraph.catalog.keys import entity_id
from omnigraph.catalog.opening import offline_catalog
from omnigraph.catalog.shape import Check, Range, Unique
from omnigraph.language import Source
from omnigraph.model.types import INTEGER_RANGES, Scalar

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "company-memory"
Record = dict[str, object]


def load() -> tuple[Catalog, list[Record]]:
    catalog = offline_catalog(Source((EXAMPLE / "schema.pg").read_text(), "schema.pg"))
    return catalog, [json.loads(line) for line in (EXAMPLE / "data.jsonl").read_text().splitlines()]


CATALOG, RECORDS = load()
NODES = [r for r in RECORDS if "type" in r]
EDGES = [r for r in RECORDS if "edge" in r]


def data_of(record: Record) -> dict[str, object]:
    data = record.get("data", {})
    assert isinstance(data, dict)
    return data


def node_ids() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {name: set() for name in CATALOG.nodes}
    for record in NODES:
        node = CATALOG.nodes[str(record["type"])]
        values = {p.name: data_of(record)[p.name] for p in node.key}
        identity = entity_id(node.key, values)  # type: ignore[arg-type]
        assert identity not in found[node.name], f"{node.name} {identity} twice"
        found[node.name].add(identity)
    return found


def test_there_is_enough_of_it() -> None:
    assert len(RECORDS) >= 200
    assert {str(r["type"]) for r in NODES} == set(CATALOG.nodes)
    assert {str(r["edge"]) for r in EDGES} == set(CATALOG.edges)


def test_endpoints_exist() -> None:
    ids = node_ids()
    for record in EDGES:
        edge = CATALOG.edges[str(record["edge"])]
        assert record["from"] in ids[edge.source], record
        assert record["to"] in ids[edge.target], record


def test_cardinalities_hold() -> None:
    counts = Counter((str(r["edge"]), str(r["from"])) for r in EDGES)
    for (name, source), count in counts.items():
        edge = CATALOG.edges[name]
        assert edge.minimum <= count <= (edge.maximum or count), f"{name} from {source}: {count}"


def fits(prop: Property, value: object) -> bool:
    type_ = prop.type
    if value is None:
        return type_.nullable
    if type_.is_list:
        return isinstance(value, list) and all(_fits_scalar(type_.scalar, item) for item in value)
    if type_.enum_values is not None:
        return value in type_.enum_values
    return _fits_scalar(type_.scalar, value)


def _fits_scalar(scalar: Scalar, value: object) -> bool:
    match scalar:
        case Scalar.STRING | Scalar.BLOB:
            return isinstance(value, str)
        case Scalar.BOOL:
            return isinstance(value, bool)
        case Scalar.DATE:
            return isinstance(value, str) and date.fromisoformat(value) is not None
        case Scalar.DATETIME:
            return isinstance(value, str) and datetime.fromisoformat(value) is not None
        case Scalar.F32 | Scalar.F64:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Scalar.VECTOR:
            return isinstance(value, list)
        case _:
            low, high = INTEGER_RANGES[scalar]
            return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def test_values_fit_their_properties() -> None:
    for record in RECORDS:
        owner: EntityType = CATALOG.nodes[str(record["type"])] if "type" in record else CATALOG.edges[str(record["edge"])]
        data = data_of(record)
        assert set(data) <= set(owner.properties), record
        for prop in owner.properties.values():
            assert fits(prop, data.get(prop.name)), f"{prop.name}: {record}"
        for constraint in owner.constraints:
            assert _holds(constraint, data), f"{constraint}: {record}"


def _holds(constraint: object, data: Mapping[str, object]) -> bool:
    match constraint:
        case Range(name, low, high):
            value = data.get(name)
            return not isinstance(value, int | float) or ((low is None or value >= low) and (high is None or value <= high))
        case Check(name, pattern):
            value = data.get(name)
            return value is None or re.search(pattern, str(value)) is not None
        case _:
            return True


def test_unique_properties_are_unique() -> None:
    owners: list[EntityType] = [*CATALOG.nodes.values(), *CATALOG.edges.values()]
    for owner in owners:
        rows = [r for r in RECORDS if owner.name in (r.get("type"), r.get("edge"))]
        for constraint in owner.constraints:
            if isinstance(constraint, Unique):
                images = [{**data_of(r), "src": r.get("from"), "dst": r.get("to")} for r in rows]
                tuples = [
                    tuple(str(i.get(c)) for c in constraint.columns) for i in images if all(i.get(c) for c in constraint.columns)
                ]
                assert len(set(tuples)) == len(tuples), f"{owner.name}: {constraint}"


@pytest.mark.slow
def test_the_demo_runs_without_java(tmp_path: Path) -> None:
    """Every chapter says what it is about; the programs it may find are those Spark's scripts need, and no Java."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "sh", "dirname", "ps", "env", "uname", "python3"):
        if (found := shutil.which(name)) is not None:
            (tools / name).symlink_to(found)
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "LANG": "C.UTF-8"}
    command = [sys.executable, str(ROOT / "examples" / "demo.py")]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    told = result.stdout + result.stderr
    for part in (
        "did you mean `name`?",
        "160,360 entities in commit",
        "4 violations (endpoint 2, range 1, type 1)",
        "Invoice Mill",
        "Look around from afar",
        "Position Store runbook",
        "dropped 19 messages",
        "A lagging replica has to be taken out of rotation by hand.",
        "Expand p -WorksOn-> t: Task",
        "insert node Session demo-1",
        "divergent_update  node Claim replica-lag-90s",
        "approved by reviewer",
        "Claim replica-lag-90s.confidence",
        "merged review 1: agent/harbor into main, approved by reviewer",
        "merged agent/abacus into main: merged",
        "caught_up: true",
        "drew 16 nodes and 21 edges: demo.html",
        "ok: 4 branches",
    ):
        assert part in told, part
    assert (tmp_path / "demo.html").stat().st_size > 10_000
