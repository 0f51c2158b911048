"""What fails in the background is logged, and shown by whoever is asked; what succeeds later takes it back."""

from __future__ import annotations

import ast
import io
import logging
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.engine.graphs import make_graph

import omnigraph as og
from omnigraph.engine.load.run.runners import report_of
from omnigraph.engine.snapshot.failures import FILE, Failures
from omnigraph.engine.upkeep import reconcile
from omnigraph.errors import StorageError
from omnigraph.surfaces.cli.main import cli

SCHEMA = "node Doc { slug: String @key  body: String? @index }"
SOURCE = Path(og.__file__).parent


def docs(count: int) -> list[dict[str, object]]:
    return [{"slug": f"d{n}", "body": f"text {n}"} for n in range(count)]


@pytest.fixture
def low_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "BEHIND_ROWS", 20)


@pytest.mark.usefixtures("low_bound")
def test_a_failure_to_complete_indexes_is_seen_until_they_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    graph = make_graph(tmp_path, SCHEMA, {})

    def broken(*_: object, **__: object) -> object:
        raise StorageError("no space left on device")

    with monkeypatch.context() as patched, caplog.at_level(logging.INFO, logger="omnigraph"):
        patched.setattr(reconcile, "extend_indexes", broken)
        graph.load({"Doc": docs(60)})
        graph._reconciler.wait()
    (failure,) = graph.stats().failures
    assert (failure.work, failure.about, failure.times) == ("completing indexes", "branch main", 1)
    assert failure.message == "no space left on device"
    assert failure.first_at == failure.last_at
    assert [r.name for r in caplog.records if "no space left" in r.getMessage()] == ["omnigraph.engine.snapshot.failures"]
    (stats,) = graph.stats().types
    assert {(i.property_name, i.kind): (i.covered, i.rows) for i in stats.indexes}[("body", "BTree")] == (0, 60)

    other = CliRunner().invoke(cli, ["stats", graph._store.place.uri])
    assert "completing indexes (branch main) failed once, last at " in other.output
    assert "body (BTree, 0 of 60 rows)" in other.output
    as_json = og.open(graph._store.place.uri, read_only=True).stats().to_dict()
    assert as_json["failures"][0]["message"] == "no space left on device"
    assert {i["property"]: i["rows_covered"] for i in as_json["types"][0]["indexes"]}["body"] == 0

    graph._reconciler.reconciler._tried.clear()
    graph.load({"Doc": [{"slug": "one more"}]})
    graph._reconciler.wait()
    assert graph.stats().failures == og.open(graph._store.place.uri).stats().failures == ()
    (stats,) = graph.stats().types
    assert all(i.behind <= 20 for i in stats.indexes)


@pytest.mark.usefixtures("low_bound")
def test_a_write_that_succeeded_does_not_fail_because_nobody_can_tell_whether_indexes_are_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = make_graph(tmp_path, SCHEMA, {})

    def broken(*_: object) -> object:
        raise StorageError("the disk is gone")

    monkeypatch.setattr(reconcile, "uncovered_rows_at", broken)
    assert graph.load({"Doc": docs(60)}).rows == 60
    assert [f.message for f in graph.stats().failures] == ["the disk is gone"]


def test_state_that_cannot_be_saved_is_seen(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os", save_from=1)
    graph.load({"Doc": docs(5)})
    folder = tmp_path / "g" / "__cache"
    folder.mkdir(exist_ok=True)
    state = next(iter(graph._view().snapshot.tables.values()))
    (folder / state.location.replace("/", "-")).write_text("in the way")
    graph._workspace.saved.save(state.location, state.pin, (), lambda: ({}, {}))
    graph._workspace.saved.wait()
    assert [f.work for f in graph.stats().failures] == ["saving derived state"]


def test_failures_of_several_processes_are_kept_together_and_bounded(tmp_path: Path) -> None:
    first, second = Failures(tmp_path), Failures(tmp_path)
    first.note("a", "x", StorageError("one"))
    second.note("a", "x", StorageError("two"))
    second.note("b", "y", ValueError("three"))
    assert [(f.work, f.message, f.times) for f in first.all()] == [("a", "two", 2), ("b", "ValueError: three", 1)]
    first.ended("a", "x")
    assert [f.work for f in second.all()] == ["b"]
    (tmp_path / FILE).write_text("not JSON")
    assert Failures(tmp_path).all() == ()
    reader = Failures(tmp_path / "read only", read_only=True)
    reader.note("c", "z", StorageError("kept in memory"))
    assert [f.work for f in reader.all()] == ["c"]
    assert not (tmp_path / "read only").exists()


def test_the_engine_writes_to_no_terminal() -> None:
    """It calls the report it is given; `progress=True` asks for the one that surfaces offer."""
    for package in ("model", "catalog", "storage", "engine", "pipeline", "embedding"):
        for file in (SOURCE / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                match node:
                    case ast.Call(ast.Name("print")):
                        raise AssertionError(f"{file}:{node.lineno} prints")
                    case ast.Attribute(ast.Name("sys"), "stderr" | "stdout" | "__stderr__" | "__stdout__"):
                        raise AssertionError(f"{file}:{node.lineno} writes to the terminal")
    report = report_of(True)
    assert report is not None
    assert type(report).__module__ == "omnigraph.surfaces.progress"
    assert report_of(False) is report_of(None) is None


def test_logging_says_nothing_unless_somebody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(isinstance(h, logging.NullHandler) for h in logging.getLogger("omnigraph").handlers)
    heard = io.StringIO()
    monkeypatch.setattr(sys, "stderr", heard)
    logging.getLogger("omnigraph.engine.upkeep").warning("nobody listens")
    assert heard.getvalue() == ""


BROAD = {"Exception", "BaseException", "GraphError", "StorageError", "OSError", "RuntimeError"}


def _caught(node: ast.AST) -> tuple[list[ast.expr], range] | None:
    """The errors that a part of the source drops, and the lines on which it may say why."""
    quiet = (ast.Pass, ast.Continue, ast.Break)
    if isinstance(node, ast.ExceptHandler) and all(
        isinstance(step, quiet) or (isinstance(step, ast.Return) and (step.value is None or isinstance(step.value, ast.Constant)))
        for step in node.body
    ):
        types = [] if node.type is None else node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        return types, range(node.lineno, (node.body[-1].end_lineno or node.lineno) + 1)
    if isinstance(node, ast.With):
        for item in node.items:
            match item.context_expr:
                case ast.Call(ast.Name("suppress"), types):
                    return types, range(node.lineno, node.body[0].lineno + 1)
    return None


def test_no_error_of_any_kind_is_dropped_without_a_reason() -> None:
    """Whoever drops a broad class of errors logs them, or says beside it why that is right."""
    silent = []
    for file in SOURCE.rglob("*.py"):
        lines = file.read_text().splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            found = _caught(node)
            if found is None or not {t.id for t in found[0] if isinstance(t, ast.Name)} & BROAD:
                continue
            if not any("#" in lines[at - 1] for at in found[1]):
                silent.append(f"{file.relative_to(SOURCE)}:{found[1].start}")
    assert silent == []
