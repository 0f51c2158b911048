"""A configuration that was sent is planned and applied like one in a folder, once for each id, and for no other cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.cluster.clusters import FULL, LISTS, MORE, NAMES, PERSON, SIMPLE, TEAM, TWO, Cluster

from omnigraph.cluster.applying import deploying
from omnigraph.cluster.applying.apply import _Work, apply
from omnigraph.cluster.applying.deploying import Deployment, DeploymentRefused, deploy, every, show
from omnigraph.cluster.applying.planning import plan
from omnigraph.cluster.applying.session import Control
from omnigraph.cluster.config.files import SentFiles
from omnigraph.cluster.ledger import layout
from omnigraph.errors import AlreadyExists, DamagedRecord, NotFound, UsageError

ALL = {"cluster.yaml": FULL, "people.pg": PERSON, "queries/names.gq": NAMES, "team.yaml": TEAM}


def control(cluster: Cluster, files: Mapping[str, str]) -> Control:
    root = cluster.objects.uri
    return replace(cluster.control(), sent=SentFiles(files, str(cluster.folder), root))


def sent(cluster: Cluster, deployment_id: str = "d1", **files: str) -> Deployment:
    return deploy(control(cluster, {**ALL, **{name.replace("__", "."): text for name, text in files.items()}}), deployment_id)


def settled(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said, without the ids of locks."""
    return json.loads(json.dumps(said), object_hook=lambda o: {k: v for k, v in o.items() if k != "acquired_lock_id"})  # type: ignore[no-any-return]


def test_a_plan_of_what_was_sent_is_the_plan_of_the_folder(anywhere: Cluster) -> None:
    anywhere.applied()
    for config in (FULL, TWO, "version: 1\n", "version: 2\n", "nonsense: 1\n"):
        anywhere.config(config)
        text = (anywhere.folder / "cluster.yaml").read_text()
        files = {str(p.relative_to(anywhere.folder)): p.read_text() for p in anywhere.folder.glob("*.pg")}
        files |= {"cluster.yaml": text, "queries/names.gq": NAMES, "team.yaml": TEAM, "lists.yaml": LISTS}
        assert settled(plan(control(anywhere, files)).to_json()) == settled(anywhere.plan().to_json()), config


def test_a_deployment_is_an_apply_that_happens_once(anywhere: Cluster) -> None:
    anywhere.applied()
    first = sent(anywhere)
    assert (first.state, first.in_progress, first.record.actor) == ("applied", False, "ada")
    result = first.record.result
    assert result is not None
    assert (result["ok"], result["converged"], result["state_written"]) == (True, True, True)
    assert anywhere.state["applied_revision"]["config_digest"] == first.record.config_digest
    assert (first.record.state_revision, anywhere.state["state_revision"]) == (2, 2)
    assert sent(anywhere) == first, "sent again, it is told what came of it"
    assert anywhere.state["state_revision"] == 2
    with pytest.raises(AlreadyExists) as taken:
        sent(anywhere, people__pg=MORE)
    assert (taken.value.what, taken.value.name) == ("deployment", "d1")
    anywhere.clock.time = anywhere.clock.time.replace(minute=5)
    other = sent(anywhere, "d2", people__pg=MORE)
    assert (other.state, [one.record.deployment_id for one in every(anywhere.objects.uri)]) == ("applied", ["d2", "d1"])
    assert show(anywhere.objects.uri, "d1") == first
    assert anywhere.objects.read(layout.LOCK) is None


def test_what_cannot_be_undone_waits_for_an_approval(cluster: Cluster) -> None:
    cluster.config(TWO).applied()
    files = {**ALL, "cluster.yaml": SIMPLE}
    waits = deploy(control(cluster, files), "without")
    assert waits.state == "partial"
    assert (cluster.folder / "graphs/things.omni").exists()
    cluster.config(SIMPLE)
    assert cluster.approve("graph.things").ok
    assert deploy(control(cluster, files), "without") == waits, "an id stands for what came of it"
    assert deploy(control(cluster, files), "with").state == "applied"
    assert not (cluster.folder / "graphs/things.omni").exists()


def test_a_deployment_that_was_killed_is_continued(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.applied()
    done = _Work.run

    def killed(self: _Work) -> None:
        done(self)
        raise KeyboardInterrupt  # the schema has changed, and the ledger does not know

    monkeypatch.setattr(_Work, "run", killed)
    with pytest.raises(KeyboardInterrupt):
        sent(cluster, people__pg=MORE)
    monkeypatch.undo()
    left = show(cluster.objects.uri, "d1")
    assert (left.state, left.in_progress, left.record.finished_at) == ("interrupted", False, None)
    assert cluster.state["state_revision"] == 1
    with pytest.raises(AlreadyExists):
        sent(cluster)
    ended = sent(cluster, people__pg=MORE)
    assert ended.state == "applied"
    assert ended.record.submitted_at == left.record.submitted_at
    assert ended.record.result is not None
    assert "cluster_recovery_rolled_forward" in [d["code"] for d in ended.record.result["diagnostics"]]


def test_a_lock_that_a_killed_deployment_left_has_to_be_removed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.applied()

    def killed(self: _Work) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_Work, "run", killed)
    with pytest.raises(KeyboardInterrupt):
        sent(cluster)
    monkeypatch.undo()
    lock = cluster.lock(operation="deployment d1")
    for seen in (show(cluster.objects.uri, "d1"), sent(cluster)):
        assert (seen.state, seen.lock) == ("applying", lock), "nobody can tell that they are dead"
    assert cluster.unlock(lock.lock_id).ok
    assert show(cluster.objects.uri, "d1").state == "interrupted"
    assert sent(cluster).state == "applied"


def test_a_deployment_that_is_under_way_is_not_begun_again(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.applied()
    seen: list[Deployment] = []
    done = _Work.run

    def meanwhile(self: _Work) -> None:
        monkeypatch.setattr(_Work, "run", done)
        seen.append(sent(cluster))
        with pytest.raises(DeploymentRefused, match="state_lock_held"):
            sent(cluster, "another")
        done(self)

    monkeypatch.setattr(_Work, "run", meanwhile)
    assert sent(cluster).state == "applied"
    assert [(one.state, one.in_progress) for one in seen] == [("applying", True)]
    with pytest.raises(NotFound):
        show(cluster.objects.uri, "another")


def test_a_lock_that_somebody_holds_refuses_it_and_nothing_is_written(cluster: Cluster) -> None:
    cluster.applied()
    lock = cluster.lock()
    with pytest.raises(DeploymentRefused) as refused:
        sent(cluster)
    assert not refused.value.invalid
    assert [d.code for d in refused.value.diagnostics] == ["state_lock_held"]
    assert lock.lock_id in refused.value.message
    assert every(cluster.objects.uri) == []
    cluster.unlock(lock.lock_id)
    assert sent(cluster).state == "applied"


def test_the_lock_is_taken_even_if_the_configuration_does_without(cluster: Cluster) -> None:
    cluster.applied().lock()
    with pytest.raises(DeploymentRefused, match="state_lock_held"):
        sent(cluster, cluster__yaml=FULL + "state: { lock: false }\n")


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"cluster.yaml": "version: 9\n"}, "unsupported_cluster_config_version"),
        ({"cluster.yaml": SIMPLE}, "schema_file_missing"),
        ({"people.pg": PERSON}, "cluster_config_read_error"),
        ({"cluster.yaml": SIMPLE, "people.pg": "node"}, "schema_parse_error"),
        ({"cluster.yaml": SIMPLE + "storage: s3://other/place\n", "people.pg": PERSON}, "storage_root_invalid"),
        ({"cluster.yaml": SIMPLE + "storage: ./elsewhere\n", "people.pg": PERSON}, "storage_root_invalid"),
        ({"cluster.yaml": "version: 1\ngraphs: { people: { schema: /etc/passwd } }\n"}, "schema_file_missing"),
        (
            {"cluster.yaml": "version: 1\ngraphs: { people: { schema: ../people.pg } }\n", "people.pg": PERSON},
            "schema_file_missing",
        ),
        (
            {"cluster.yaml": "version: 1\ngraphs: { people: { schema: people.pg, queries: / } }\n", "people.pg": PERSON},
            "query_dir_unreadable",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_every_reason(cluster: Cluster, files: dict[str, str], code: str) -> None:
    """Nothing is read but what was sent: a path that leads elsewhere leads nowhere."""
    (cluster.applied().folder.parent / "people.pg").write_text(PERSON)
    before = cluster.state
    with pytest.raises(DeploymentRefused) as refused:
        deploy(control(cluster, files), "d1")
    assert refused.value.invalid
    assert code in [d.code for d in refused.value.diagnostics]
    assert (cluster.state, every(cluster.objects.uri)) == (before, [])


def test_a_storage_root_that_is_the_one_that_is_served(cluster: Cluster) -> None:
    cluster.applied()
    assert sent(cluster, cluster__yaml=f"{FULL}storage: {cluster.folder}\n").state == "applied"
    assert sent(cluster, "d2", cluster__yaml=f"{FULL}storage: .\n").state == "applied"


@pytest.mark.parametrize("path", ["", "/x", "../x", "a/../b", "./a", "a//b", "a\\b", "a\0", "a/"])
def test_paths_that_are_none(path: str) -> None:
    with pytest.raises(UsageError, match="is no path"):
        SentFiles({path: ""}, "w", "r")


def test_texts_that_are_none_and_too_many() -> None:
    with pytest.raises(UsageError, match="is not text"):
        SentFiles({"a": "\ud800"}, "w", "r")
    with pytest.raises(UsageError, match="at most 10,000 files"):
        SentFiles({f"f{n}": "" for n in range(10_001)}, "w", "r")


@pytest.mark.parametrize("wrong", ["", "a b", "a/b", "../x", "-a", ".a", "x" * 76, "é"])
def test_ids_that_are_none(cluster: Cluster, wrong: str) -> None:
    with pytest.raises(UsageError, match="is not the id of a deployment"):
        sent(cluster, wrong)
    with pytest.raises(UsageError, match="is not the id of a deployment"):
        show(str(cluster.folder), wrong)


def test_a_record_that_cannot_be_read_says_so(cluster: Cluster) -> None:
    cluster.applied().put(layout.deployment("d1"), b"{")
    with pytest.raises(DamagedRecord, match="is no record of a deployment"):
        sent(cluster)


def test_who_finishes_first_is_believed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody removed the lock and sent it again, while the first was still at it."""
    cluster.applied()
    done, others = apply, []

    def both(given: Control, **more: Any) -> Any:
        monkeypatch.setattr(deploying, "apply", done)
        applied = done(given, **more)
        others.append(sent(cluster))
        return applied

    monkeypatch.setattr(deploying, "apply", both)
    assert sent(cluster) == others[0]
