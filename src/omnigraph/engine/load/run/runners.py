"""Ports for running a load elsewhere (Spark) and for showing its progress; other packages register themselves here.

The engine runs loads in threads (`runner`). A runner of another kind stands in a layer above, which the engine does not import;
whoever puts the layers together says where it is (`offer`), and it is imported when it is first needed.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, cast

from omnigraph.errors import SparkUnavailable

if TYPE_CHECKING:
    from omnigraph.engine.load.run.progress import Report
    from omnigraph.engine.load.run.request import Request
    from omnigraph.engine.load.run.result import LoadResult
    from omnigraph.engine.snapshot.view import View, Workspace


class Runner(Protocol):
    """Loads what a request asks for on top of a view, as one commit, or raises all that is wrong with it."""

    def __call__(self, workspace: Workspace, view: View, request: Request) -> LoadResult: ...


_OFFERED: dict[str, tuple[str, str, str]] = {}


def offer(engine: str, module: str, name: str, needs: str) -> None:
    """Say where the runner of an engine is, and which package it cannot do without."""
    _OFFERED[engine] = (module, name, needs)


def is_installed(engine: str) -> bool:
    """Whether a runner is offered, and what it needs is there."""
    if engine not in _OFFERED:
        return False
    try:
        return find_spec(_OFFERED[engine][2]) is not None
    except ValueError:  # somebody barred it from being imported
        return False


def runner_of(engine: str) -> Runner:
    """The runner of an engine."""
    if not is_installed(engine):
        raise SparkUnavailable(f"the package for loading with {engine} is not installed")
    module, name, _ = _OFFERED[engine]
    return cast(Runner, getattr(import_module(module), name))


_SHOWN: list[tuple[str, str]] = []


def offer_report(module: str, name: str) -> None:
    """Say where the report is that `progress=True` asks for: the engine itself writes to no terminal."""
    _SHOWN[:] = [(module, name)]


def report_of(wanted: bool | Report | None) -> Report | None:
    """The report somebody wants: none, one of their own, or the one that is offered."""
    if wanted is not True:
        return wanted or None
    for module, name in _SHOWN:
        return cast("Report", getattr(import_module(module), name)())
    return None
