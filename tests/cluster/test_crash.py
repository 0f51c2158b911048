"""An apply that dies: after every call that reaches the store, the next one reaches what is wanted, and nothing is done twice.

Everything that reaches a store goes through `Effects`, of the control plane and of the graphs alike. So "killed anywhere" has
finitely many meanings. Here each of them is tried: from the call it dies at on, nothing of that process reaches the store any
more. A sample is killed for real, by SIGKILL.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.clusters import FULL, MORE, NAMES, TEAM, Cluster

import omnigraph as og
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.serving.revision import read_serving
from omnigraph.storage.files.effects import Call, Effects

ROOT = Path(__file__).parents[2]
BOTH = FULL.replace("policies:", "  things: { schema: things.pg }\npolicies:")
OTHERS = FULL.replace("policies:", "  others: { schema: things.pg }\npolicies:")


class Died(BaseException):
    """A crash: nothing that catches errors may catch it."""


class Clock:
    """Counts calls that change what a store holds, and stops everything after one of them."""

    def __init__(self, dies_after: int | None = None) -> None:
        self.dies_after = dies_after
        self.made = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        clock = self

        def before(effects: Effects, call: Call) -> None:
            if clock.dies_after is not None and clock.made >= clock.dies_after:
                raise Died

        def after(effects: Effects, call: Call) -> None:
            if call is not Call.SYNC:  # which changes nothing that anybody sees
                clock.made += 1
                before(effects, call)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Effects, "before", before)
            patch.setattr(Effects, "after", after)
            yield


def nothing(cluster: Cluster) -> None:
    cluster.config(BOTH)


def changed(cluster: Cluster) -> None:
    """A schema, a query and a policy are to change, a query to go."""
    cluster.write("queries/gone.gq", NAMES.replace("names", "gone"))
    cluster.config(BOTH).applied()
    (cluster.folder / "queries/gone.gq").unlink()
    cluster.write("people.pg", MORE).write("queries/names.gq", NAMES.replace("$p.name", "$p.name, $p.city"))
    cluster.write("team.yaml", TEAM.replace("ben", "cy"))


def deleted(cluster: Cluster) -> None:
    """A graph is to go, and another one to come."""
    cluster.config(BOTH).applied().config(OTHERS)
    assert cluster.approve("graph.things").ok


SCENARIOS: dict[str, Callable[[Cluster], None]] = {"nothing": nothing, "changed": changed, "deleted": deleted}
COMMITS = {
    "nothing": {"people": 1, "things": 1},
    "changed": {"people": 2, "things": 1},
    "deleted": {"people": 1, "others": 1},
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {}
    for name, prepare in SCENARIOS.items():
        cluster = Cluster(tmp_path_factory.mktemp(name) / "cluster")
        prepare(cluster)
        folders[name] = cluster.folder
    return folders


def copied(source: Path, target: Path) -> Cluster:
    texts = {path.relative_to(source): path.read_bytes() for path in source.rglob("*") if path.is_file()}
    shutil.rmtree(target, ignore_errors=True)
    cluster = Cluster(target)
    shutil.rmtree(target)
    for path, content in texts.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(content)
    return cluster


def settled(cluster: Cluster, name: str) -> None:
    """What the next apply makes of it."""
    lock = cluster.status().observations.held
    if lock is not None:
        assert cluster.unlock(lock.lock_id).ok
    found = cluster.apply()
    assert found.ok, found.diagnostics
    assert found.converged
    assert found.desired is not None
    assert cluster.status().ledger.digest_map() == found.desired.digest_map
    assert {s.status for s in cluster.status().ledger.resource_statuses.values()} == {"applied"}
    assert cluster.objects.list(layout.RECOVERIES) == []
    counted = {}
    for graph in ("people", "things", "others"):
        if cluster.objects.has_graph(layout.graph_root(graph)):
            with og.open(cluster.objects.address(layout.graph_root(graph)), read_only=True) as g:
                counted[graph] = len(g.commits())
    assert counted == COMMITS[name], "nothing is done twice"
    approvals = [cluster.objects.read(path) for path in cluster.objects.list(layout.APPROVALS)]
    assert all(b'"consumed_at": null' not in (content or b"") for content in approvals)
    assert len(cluster.state["approval_records"]) == len(approvals)
    assert len(read_serving(cluster.storage or str(cluster.folder)).graphs) == len(counted)
    again = cluster.apply()
    assert (again.written, again.converged, len(again.changes)) == (False, True, 0)


def calls_of(prepared: dict[str, Path], name: str, tmp_path: Path) -> int:
    cluster, clock = copied(prepared[name], tmp_path / "whole"), Clock()
    with clock.running():
        assert cluster.apply().converged
    settled(cluster, name)
    return clock.made


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_an_apply_that_dies_after_any_call_is_continued(prepared: dict[str, Path], tmp_path: Path, name: str) -> None:
    calls = calls_of(prepared, name, tmp_path)
    assert calls > 10
    for number in range(1, calls):
        cluster = copied(prepared[name], tmp_path / "killed")
        with Clock(number).running(), pytest.raises(Died):
            cluster.apply()
        settled(cluster, name)


def test_an_apply_that_dies_in_the_middle_is_continued(prepared: dict[str, Path], tmp_path: Path) -> None:
    for name in SCENARIOS:
        cluster = copied(prepared[name], tmp_path / name)
        with Clock(12).running(), pytest.raises(Died):
            cluster.apply()
        settled(cluster, name)


def test_an_apply_that_dies_twice_is_continued(prepared: dict[str, Path], tmp_path: Path) -> None:
    cluster = copied(prepared["changed"], tmp_path / "killed")
    for number in (4, 9):
        with Clock(number).running(), pytest.raises(Died):
            cluster.apply()
        lock = cluster.status().observations.held
        assert lock is not None
        cluster.unlock(lock.lock_id)
    settled(cluster, "changed")


@pytest.mark.slow
def test_an_apply_in_a_bucket_that_dies_is_continued(tmp_path: Path, bucket: str) -> None:
    clock = Clock()
    with clock.running():
        assert Cluster(tmp_path / "whole", f"{bucket}/whole").config(BOTH).apply().converged
    for number in range(2, clock.made, 5):
        cluster = Cluster(tmp_path / str(number), f"{bucket}/{number}").config(BOTH)
        with Clock(number).running(), pytest.raises(Died):
            cluster.apply()
        settled(cluster, "nothing")


KILLED = """
    import os, signal, sys
    from omnigraph.storage.files.effects import Call, Effects
    from omnigraph.surfaces.cli.main import run

    made = 0

    def after(self, call):
        global made
        made += call is not Call.SYNC
        if made == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)

    Effects.after = after
    sys.exit(run(["cluster", "apply", "--init", "--config", sys.argv[2], "--as", "ada"]))
"""


def process(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), [("nothing", 5), ("nothing", 14), ("changed", 8), ("deleted", 14)])
def test_a_process_that_is_killed_is_continued(prepared: dict[str, Path], tmp_path: Path, name: str, number: int) -> None:
    cluster = copied(prepared[name], tmp_path / "killed")
    child = process(KILLED, number, cluster.folder)
    child.communicate(timeout=120)
    assert child.returncode == -signal.SIGKILL
    assert (cluster.folder / layout.LOCK).exists()
    refused = cluster.apply()
    assert [d.code for d in refused.diagnostics] == ["state_lock_held"]
    settled(cluster, name)


SLOW = """
    import sys, time
    from pathlib import Path
    from omnigraph.cluster.applying.live import LiveGraphs
    from omnigraph.surfaces.cli.main import run

    create = LiveGraphs.create

    def slowly(self, graph_id, schema):
        Path(sys.argv[2]).touch()
        while not Path(sys.argv[3]).exists():
            time.sleep(0.01)
        create(self, graph_id, schema)

    LiveGraphs.create = slowly
    sys.exit(run(["cluster", "apply", "--init", "--config", sys.argv[1], "--json"]))
"""


@pytest.mark.slow
def test_of_two_appliers_one_wins_and_the_other_is_told(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "cluster").config(BOTH)
    begun, go = tmp_path / "begun", tmp_path / "go"
    first = process(SLOW, cluster.folder, begun, go)
    while not begun.exists():
        assert first.poll() is None
        time.sleep(0.02)
    second = process(SLOW, cluster.folder, tmp_path / "other", go)
    out, _ = second.communicate(timeout=120)
    assert second.returncode == 1
    assert "state_lock_held" in out
    go.touch()
    out, err = first.communicate(timeout=120)
    assert first.returncode == 0, err
    assert '"converged": true' in out
    settled(cluster, "nothing")


@pytest.mark.slow
def test_many_appliers_at_once(tmp_path: Path, anywhere: Cluster) -> None:
    """Whoever gets the lock applies; the others are told, and nothing is done twice."""
    cluster = anywhere.config(BOTH)
    go = tmp_path / "go"
    go.touch()
    children = [process(SLOW, cluster.folder, tmp_path / f"begun{n}", go) for n in range(3)]
    ended: list[tuple[int, str]] = []
    for child in children:
        out, _ = child.communicate(timeout=120)
        ended.append((child.returncode, out))
    assert any(code == 0 for code, _ in ended)
    assert all(code == 0 or "state_lock_held" in out for code, out in ended)
    settled(cluster, "nothing")


def test_a_stolen_lock_does_not_lose_the_ledger(cluster: Cluster) -> None:
    """Two at work at once, because one took the other's lock: one publishes, the other is told and publishes nothing."""
    from omnigraph.cluster.applying.live import LiveGraphs

    cluster.config(BOTH)
    original: Any = LiveGraphs.create
    outcome: list[Any] = []

    def create(self: LiveGraphs, graph_id: str, schema: str) -> None:
        original(self, graph_id, schema)
        if not outcome:
            outcome.append(None)
            lock = cluster.status().observations.held
            assert lock is not None
            cluster.unlock(lock.lock_id)
            outcome[0] = cluster.apply()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LiveGraphs, "create", create)
        first = cluster.apply()
    assert outcome[0].converged
    assert not first.ok
    assert not first.written
    settled(cluster, "nothing")
