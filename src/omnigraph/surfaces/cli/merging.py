"""Merging and reverting with a person: previews, conflicts under each other, choices one by one.

`--interactive` shows each conflict and asks. What was chosen is previewed once more before it happens, because a choice can bring
up new conflicts: keeping an edge keeps the node it needs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from omnigraph.errors import GraphError, MergeConflict, UsageError
from omnigraph.model.printable import printable
from omnigraph.surfaces.cli.change_text import change_lines, conflict_lines, painted, schema_lines, stats_text
from omnigraph.surfaces.cli.confirmation import interruptible
from omnigraph.surfaces.cli.output import say

if TYPE_CHECKING:
    from omnigraph.service.results import Conflict, Merge
    from omnigraph.surfaces.cli.scope import Connection

SHOWN_CHANGES = 40
"""Changes of a preview that are spelt out; the rest is counted."""

Attempt = Callable[[Any, bool], "Merge"]
"""Merges, or previews, with a resolution."""


def settled(
    graph: Connection, branch: str, attempt: Attempt, chosen: Any, *, dry_run: bool, interactive: bool, as_json: bool
) -> Merge:
    """The outcome of a merge or revert, conflicts settled as requested."""
    if interactive and (dry_run or as_json):
        raise click.UsageError(f"--interactive asks questions; {'--dry-run' if dry_run else '--json'} does not go with it")
    from omnigraph.surfaces.progress import working

    if dry_run:
        with working("comparing"):
            return attempt(chosen, True)
    if interactive:
        if not sys.stdin.isatty():
            raise UsageError("--interactive needs a terminal", hint="Resolve conflicts with --resolve instead.")
        chosen = ask(attempt, chosen)
    with interruptible(graph, branch):
        try:
            with working("merging"):
                return attempt(chosen, False)
        except MergeConflict as error:
            if not as_json and error.conflicts:
                tell_conflicts(error.conflicts)  # type: ignore[arg-type]
            raise


def tell(merge: Merge) -> None:
    """What a merge or revert did, or would do."""
    if not merge.dry_run:
        done = f"reverted {merge.source} on" if merge.is_revert else f"merged {merge.source} into"
        say(f"{done} {merge.into}: {merge.outcome}")
        if merge.commit is not None:
            say(f"commit: {merge.commit.id}")
        return
    what = f"reverting {merge.source} on" if merge.is_revert else f"{merge.source} into"
    say(f"preview of {what} {merge.into}: {painted(merge.outcome, bold=True)}")
    if merge.conflicts:
        tell_conflicts(merge.conflicts)
    elif merge.changes is not None:
        for line in schema_lines(merge.schema):
            say(line)
        say(stats_text(merge.changes.stats))
        for line in change_lines(merge.changes.between(0, SHOWN_CHANGES)):
            say(line)
        if len(merge.changes) > SHOWN_CHANGES:
            say(f"… and {len(merge.changes) - SHOWN_CHANGES:,} more")


def tell_conflicts(conflicts: tuple[Conflict, ...]) -> None:
    """Conflicts, one after the other."""
    number = len(conflicts)
    say(f"{number} {'conflict' if number == 1 else 'conflicts'}:")
    for conflict in conflicts:
        say()
        for line in conflict_lines(conflict):
            say(line)


# ── one by one ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def ask(attempt: Attempt, chosen: Any) -> Any:
    """Choices for every conflict, one prompt each."""
    if isinstance(chosen, str):
        raise UsageError(f"--resolve {chosen} resolves everything; there is nothing to ask", hint="Leave one of the two out.")
    choices: dict[str, Any] = dict(chosen or {})
    while True:
        try:
            preview = attempt(choices or None, True)
        except GraphError as error:  # values that do not fit: whoever gave them may give others
            if not choices:
                raise
            key, _ = choices.popitem()
            say(f"{painted('That does not go:', 'red')} {error.message}\n  {key} is open again.")
            continue
        if not preview.conflicts:
            tell(preview)
            if not click.confirm("Do it?", default=True):
                raise click.Abort
            return choices or None
        for number, conflict in enumerate(preview.conflicts, 1):
            say(f"\nconflict {number} of {len(preview.conflicts)}")
            for line in conflict_lines(conflict):
                say(line)
            choices[conflict.key] = _choice(conflict)


def _choice(conflict: Conflict) -> Any:
    while True:
        answer = click.prompt("  [o]urs, [t]heirs, [e]dit, [q]uit", default="", show_default=False).strip().lower()
        match answer:
            case "o" | "ours":
                return "ours"
            case "t" | "theirs":
                return "theirs"
            case "q" | "quit":
                raise click.Abort
            case "e" | "edit" if conflict.properties:
                return {name: _value(name, conflict) for name in conflict.properties}
            case _:
                say("  Write o, t, e or q." if conflict.properties else "  Write o, t or q: there are no values to edit.")


def _value(name: str, conflict: Conflict) -> Any:
    now = None if conflict.theirs is None else conflict.theirs.get(name)
    asked = f"  {name}" if now is None else f"  {name} [{printable(str(now))}]"
    given = click.prompt(asked, default=now if now is not None else "", show_default=False)
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except json.JSONDecodeError:
        return given
