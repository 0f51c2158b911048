"""The bar of a load."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console
from tests.engine.load.loading import PEOPLE_LINES, graph

from omnigraph.surfaces.progress import loading_bar


def test_a_bar_shows_stages_and_rows(tmp_path: Path) -> None:
    screen = io.StringIO()
    with loading_bar(Console(file=screen, force_terminal=True, width=100)) as report:
        graph(tmp_path).load(PEOPLE_LINES, progress=report)
    assert "done" in screen.getvalue()
    assert "11 rows" in screen.getvalue()


def test_nothing_is_shown_where_nobody_looks(tmp_path: Path) -> None:
    screen = io.StringIO()
    with loading_bar(Console(file=screen)) as report:
        graph(tmp_path).load(PEOPLE_LINES, progress=report)
    assert screen.getvalue() == ""
