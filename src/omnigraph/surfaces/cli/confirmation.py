"""Around a write: which graph is written to, confirmation of what cannot be undone, and what became of it after Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from omnigraph.errors import Forbidden, GraphError, NotConfirmed, NotFound
from omnigraph.service.operations.show_branch import ShowBranch
from omnigraph.surfaces.cli.output import say
from omnigraph.surfaces.cli.scope import here, is_served

if TYPE_CHECKING:
    from omnigraph.surfaces.cli.scope import Connection


def is_local(uri: str) -> bool:
    """Whether a graph is on a disk of this machine."""
    return "://" not in uri or uri.startswith("file://")


def echo_write(label: str, uri: str) -> None:
    """One line on stderr about which graph is written to."""
    if not here().quiet:
        how = "served" if is_served(uri) else f"direct, {'local' if is_local(uri) else 'remote'}"
        say(f"omnigraph {label} → {uri} ({how})", err=True)


def confirm(what: str, uri: str, *, as_json: bool) -> None:
    """Ask before something is done that cannot be undone to a graph that others may use. A graph on this disk is one's own."""
    if is_local(uri) or here().yes:
        return
    if as_json or not sys.stdin.isatty():
        raise NotConfirmed(
            f"{what} on {uri} needs to be confirmed", hint="Nothing was done. Give --yes to skip the confirmation."
        )
    _ask(f"{what} on {uri}. This cannot be undone.")


def ask(refused: GraphError, *, as_json: bool) -> None:
    """Ask about what was refused because nobody had said that it is meant. Where nobody can answer, it stays refused."""
    if as_json or not sys.stdin.isatty():
        raise refused
    text = str(refused)
    _ask(f"{text[:1].upper()}{text[1:]}.")


def _ask(text: str) -> None:
    say(f"{text} Go on? [yes/no] ", err=True, nl=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotConfirmed("not confirmed", hint="Nothing was done.")


class Interrupted(click.ClickException):
    """Somebody pressed Ctrl-C, and this is what became of the graph."""

    exit_code = 130

    def show(self, file: object = None) -> None:
        """One line on stderr."""
        say(self.message, err=True)


@contextmanager
def interruptible(graph: Connection, branch: str) -> Iterator[None]:
    """A write to a branch. After Ctrl-C the branch is looked at, so that what is said about it is true.

    A commit is one atomic step at the very end: before it nothing has changed, after it everything has.
    """
    before = _head(graph, branch)
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not cut the sentence short
        try:
            now = _head(graph, branch)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if now == before:
            state = "does not exist" if now is None else f"is still at {now}"
            raise Interrupted(f"Stopped. Nothing was changed: branch `{branch}` {state}.") from None
        raise Interrupted(
            f"Stopped, but the branch has moved: `{branch}` is at {now}, it was at {before}. "
            "`omnigraph commit list` shows who committed."
        ) from None


def completing_indexes(graph: Connection, commit: str) -> None:
    """Wait for the indexes of what was committed, where a person sees why. Whoever does not want to may press Ctrl-C."""
    from omnigraph.surfaces.progress import working

    try:
        with working("completing indexes"):
            graph.close()
    except KeyboardInterrupt:
        raise Interrupted(
            f"Stopped while indexes were being completed. Commit {commit} is there; `omnigraph optimize` completes them."
        ) from None


@contextmanager
def one_step(look: str) -> Iterator[None]:
    """A write of one small object: after Ctrl-C it is done or not, and `look` shows which."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"Stopped, perhaps after it was done: `{look}` shows the current state.") from None


def _head(graph: Connection, branch: str) -> str | None:
    with suppress(NotFound, Forbidden):  # whoever may write need not be let read
        return graph.run(ShowBranch(graph.ref, branch))
    return None
