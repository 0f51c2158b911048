"""Bars for a terminal: how far long work is, how fast it goes, how long it will take. Shown only where a person looks.

with loading_bar() as report:
    graph.load("people.jsonl", progress=report)

with counting_bar("exporting", 1_000_000) as advance:
    graph.export("people.jsonl", progress=advance)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from omnigraph.model.phrases import counted
from omnigraph.model.text_tables import padded, width

if TYPE_CHECKING:
    from omnigraph.service.results import Progress as Moment
    from omnigraph.service.results import Report


class TerminalLine:
    """One line that is written over, as long as somebody looks: `progress=True`."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._width = 0

    def __call__(self, progress: Moment) -> None:
        """Show a moment."""
        if not self._stream.isatty():
            return
        text = str(progress)
        end = "\n" if progress.stage.value == "done" else ""
        self._stream.write(f"\r{padded(text, self._width)}{end}")
        self._stream.flush()
        self._width = width(text)


@contextmanager
def loading_bar(console: Console | None = None) -> Iterator[Report]:
    """A bar as long as the block runs, and what tells it how far a load is. Shown only where a person looks."""
    shown = console or Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]:,} rows · {task.fields[rate]:,.0f}/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as bar:
        task = bar.add_task("reading", total=None, rows=0, rate=0.0)

        def report(moment: Moment) -> None:
            done = None if moment.total_bytes is None else moment.bytes
            wrong = f" · {counted(moment.violations, 'violation')}" if moment.violations else ""
            bar.update(
                task,
                description=moment.stage.value + wrong,
                total=moment.total_bytes,
                completed=done,
                rows=moment.rows,
                rate=moment.rate,
            )

        yield report


@contextmanager
def counting_bar(
    what: str, total: int, *, unit: str = "entities", console: Console | None = None
) -> Iterator[Callable[[int], None]]:
    """A bar as long as the block runs, and what tells it that some more is done."""
    shown = console or Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,} {task.fields[unit]} · {task.fields[rate]:,.0f}/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as bar:
        task = bar.add_task(what, total=total, unit=unit, rate=0.0)

        def advance(count: int) -> None:
            bar.update(task, advance=count, rate=bar.tasks[0].speed or 0.0)

        yield advance


@contextmanager
def working(what: str, console: Console | None = None) -> Iterator[None]:
    """A spinner and the time, for work that cannot tell how far it is."""
    shown = console or Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as bar:
        bar.add_task(what, total=None)
        yield
