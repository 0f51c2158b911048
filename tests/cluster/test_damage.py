"""Files of a cluster that were damaged or edited by hand: every command says what is wrong by a code, and changes nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.clusters import FULL, Cluster

from omnigraph.cluster.applying.outputs import Output
from omnigraph.cluster.config.diagnostics import CODES, Diagnostic
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.serving.revision import applied_cas, find_graph
from omnigraph.errors import GraphError

RICH = f"""{FULL}  lists: {{ file: lists.yaml, applies_to: [cluster] }}
providers:
  embedding:
    main: {{ kind: mock }}
""".replace("queries: queries/", "queries: queries/, embedding_provider: main")

COMMANDS: dict[str, Callable[[Cluster], Output]] = {
    "validate": lambda cluster: cluster.validate(),
    "plan": lambda cluster: cluster.plan(),
    "apply": lambda cluster: cluster.apply(init=False),
    "approve": lambda cluster: cluster.approve("graph.people"),
    "status": lambda cluster: cluster.status(),
    "refresh": lambda cluster: cluster.refresh(),
    "import": lambda cluster: cluster.import_(),
    "force-unlock": lambda cluster: cluster.unlock("01LOCK"),
}
STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2,
    10**40,
    1.5,
    "",
    "x",
    "../../../etc/passwd",
    "graph.people.more",
    "graph.people",
    "schema.gone",
    "query.people",
    "\x00",
    "a\nb",
    [],
    ["x", 1],
    {},
    {"x": 1},
    {"digest": "x"},
)


@pytest.fixture
def rich(cluster: Cluster) -> Cluster:
    """A cluster with something of everything: the record of an approval, of a recovery, and files of both."""
    cluster.config(RICH).applied()
    record = {
        "resource": "graph.x",
        "operation": "delete",
        "approved_by": "ada",
        "consumed_at": "t",
        "consumed_by_operation": "01O",
    }
    done = {"kind": "graph_create", "graph_id": "people", "outcome": "rolled_forward", "actor": None, "started_at": "t"}
    cluster.edit_state(approval_records={"01A": record}, recovery_records={"01R": done})
    cluster.approval()
    return cluster


def files_of(cluster: Cluster) -> list[str]:
    """What a command reads, without the graphs."""
    paths = (path.relative_to(cluster.folder) for path in cluster.folder.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in paths if path.parts[0] != "graphs")


def contents(cluster: Cluster) -> dict[str, bytes]:
    """Everything, graphs too."""
    found = sorted(path for path in cluster.folder.rglob("*") if path.is_file())
    return {path.relative_to(cluster.folder).as_posix(): path.read_bytes() for path in found}


def restore(folder: Path, before: dict[str, bytes]) -> None:
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in before:
            path.unlink()
    for name, content in before.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    """Every place of a JSON value."""
    yield path
    inside: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    for key, one in inside:
        yield from places(one, (*path, key))


def edited(value: Any, path: tuple[Any, ...], chance: random.Random) -> Any:
    """The value with one place missing, of another kind, called differently, or with a member that nobody knows."""
    if not path:
        return chance.choice(STRANGE)
    copy = json.loads(json.dumps(value))
    at = copy
    for key in path[:-1]:
        at = at[key]
    match chance.randrange(4) if isinstance(at, dict) else 1:
        case 0:
            del at[path[-1]]
        case 1:
            at[path[-1]] = chance.choice(STRANGE)
        case 2:
            at[str(chance.choice(STRANGE))] = at.pop(path[-1])
        case _:
            at[str(chance.choice(STRANGE))] = chance.choice(STRANGE)
    return copy


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Cut off, with a byte changed, or edited as JSON."""
    way = chance.randrange(10)
    if way == 0:
        return content[: chance.randrange(len(content))]
    if way == 1:
        at = chance.randrange(len(content))
        return content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]
    try:
        value = json.loads(content)
    except ValueError:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(40))) if way == 2 else content[len(content) // way :]
    return json.dumps(edited(value, chance.choice(list(places(value))), chance)).encode()


def check(cluster: Cluster, before: dict[str, bytes], where: str) -> None:
    """Every command on a damaged cluster."""
    broken = contents(cluster)
    for name, command in COMMANDS.items():
        found = command(cluster)
        found.to_json()
        assert all(isinstance(one, Diagnostic) and one.code in CODES for one in found.diagnostics), (where, name)
        after = contents(cluster)
        for path, content in after.items():
            if not path.startswith("__cluster/"):
                assert broken.get(path) == content, f"{name} changed {path} after damage to {where}"
        if not found.ok:
            assert after == broken, f"{name} failed after damage to {where} and changed something: {found.diagnostics}"
        restore(cluster.folder, broken)
    reads: list[Callable[[], object]] = [
        cluster.serving,
        lambda: find_graph(str(cluster.folder)),
        lambda: find_graph(str(cluster.folder), "people"),
        lambda: applied_cas(str(cluster.folder)),
    ]
    for read in reads:
        with suppress(GraphError):
            read()
    restore(cluster.folder, before)


def without(value: Any, *path: Any) -> Any:
    return edited_at(value, path, lambda at, key: at.pop(key))


def having(value: Any, new: Any, *path: Any) -> Any:
    return edited_at(value, path, lambda at, key: at.__setitem__(key, new))


def edited_at(value: Any, path: tuple[Any, ...], change: Callable[[Any, Any], object]) -> Any:
    copy = json.loads(json.dumps(value))
    at = copy
    for key in path[:-1]:
        at = at[key]
    change(at, path[-1])
    return copy


RESOURCES = ("applied_revision", "resources")
GRAPH = (*RESOURCES, "graph.people")
DIGEST = "0" * 64
EDITS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no version": (lambda state: without(state, "version"), "invalid_state_json"),
    "no revision": (lambda state: without(state, "state_revision"), "invalid_state_json"),
    "a revision before the first": (lambda state: having(state, -1, "state_revision"), "invalid_state_json"),
    "a revision that is no number": (lambda state: having(state, "7", "state_revision"), "invalid_state_json"),
    "a version nobody knows": (lambda state: having(state, 2, "version"), "unsupported_state_version"),
    "no resources": (lambda state: without(state, *RESOURCES), "invalid_state_json"),
    "no records of approvals": (lambda state: without(state, "approval_records"), "invalid_state_json"),
    "a record of another kind": (lambda state: having(state, {}, "approval_records", "01A"), "invalid_state_json"),
    "a recovery of another kind": (lambda state: having(state, {"kind": 7}, "recovery_records", "01R"), "invalid_state_json"),
    "an observation of another kind": (lambda state: having(state, [], "observations", "graph.people"), "invalid_state_json"),
    "a status nobody knows": (
        lambda state: having(state, {"status": "x"}, "resource_statuses", "graph.people"),
        "invalid_state_json",
    ),
    "a graph of two names": (
        lambda state: having(state, {"digest": DIGEST}, *RESOURCES, "graph.people.more"),
        "invalid_state_json",
    ),
    "a query of no graph": (lambda state: having(state, {"digest": DIGEST}, *RESOURCES, "query.people"), "invalid_state_json"),
    "a resource of no kind": (lambda state: having(state, {"digest": DIGEST}, *RESOURCES, "x"), "invalid_state_json"),
    "a path as a digest": (
        lambda state: having(state, "../../x", *RESOURCES, "query.people.names", "digest"),
        "invalid_state_json",
    ),
    "no digest": (lambda state: without(state, *GRAPH, "digest"), "invalid_state_json"),
    "another digest": (lambda state: having(state, DIGEST, *GRAPH, "digest"), "external_blob_policy_digest_mismatch"),
    "a provider that is none": (lambda state: having(state, "x", *GRAPH, "embedding_provider"), "invalid_state_json"),
    "bound to a schema": (
        lambda state: having(state, ["schema.x"], *RESOURCES, "policy.team", "applies_to"),
        "invalid_state_json",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_somebody_wrote_into_the_ledger_is_a_diagnostic_with_its_code(rich: Cluster, edit: str) -> None:
    change, code = EDITS[edit]
    rich.put(layout.STATE, change(rich.state))
    before = contents(rich)
    for found in (rich.plan(), rich.apply(), rich.approve("graph.people")):
        assert [one.code for one in found.diagnostics if one.severity == "error"] == [code]
    assert [one.code for one in rich.serving() if one.severity == "error"] == [code]
    assert contents(rich) == before


@pytest.mark.parametrize("graph_id", ["../people", "", "a.b", "x/y"])
def test_a_sidecar_that_names_no_graph_stops_everything(rich: Cluster, graph_id: str) -> None:
    rich.sidecar(graph_id=graph_id)
    before = contents(rich)
    for found in (rich.plan(), rich.apply(), rich.refresh()):
        assert [one.code for one in found.diagnostics] == ["invalid_recovery_sidecar"]
    assert contents(rich) == before


def test_an_approval_under_another_name_authorises_nothing(rich: Cluster) -> None:
    rich.config("version: 1\n")
    given = rich.approve("graph.people")
    approval = rich.objects.read(layout.approval(str(given.approval_id)))
    assert approval is not None
    rich.put(layout.approval("01COPY"), approval).remove(layout.approval(str(given.approval_id)))
    found = rich.apply()
    assert "invalid_approval_artifact" in {one.code for one in found.diagnostics}
    assert (rich.folder / "graphs/people.omni").exists()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_damage_to_any_file_is_reported_by_every_command_and_changes_nothing(rich: Cluster, seed: int) -> None:
    chance = random.Random(seed)
    if seed % 2:
        rich.sidecar(kind="schema_apply", operation_id="01SIDECAR")
    if seed == 2:
        rich.lock()
    before = contents(rich)
    paths = files_of(rich)
    for number in range(30):
        path = layout.STATE if number % 2 else chance.choice(paths)
        (rich.folder / path).write_bytes(damaged(before[path], chance))
        check(rich, before, f"{path}: {(rich.folder / path).read_bytes()!r}")
