"""`omnigraph changes`: poll and baseline."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.errors import OutputFailed, StorageError, UsageError
from omnigraph.model.outputs import output_file
from omnigraph.service.operations.baseline import Baseline
from omnigraph.service.operations.poll_changes import PollChanges
from omnigraph.surfaces.cli.arguments import filter_options, json_option
from omnigraph.surfaces.cli.change_text import cause_lines, change_lines, painted, schema_lines
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import READS, Capability, Group, connect, uri_option

if TYPE_CHECKING:
    from omnigraph.service.results import Baseline as CapturedBaseline
    from omnigraph.service.results import Block


@click.group(cls=Group)
def command() -> None:
    """Follow what is committed to a branch."""


@command.command(capability=Capability.DATA, usable=READS)
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to follow.")
@click.option("--cursor", metavar="C", help="Where the last poll ended.")
@click.option("--start", metavar="now|beginning|after:ID", help="Where to begin without a cursor; now by default.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=1_000, show_default=True, metavar="N", help="Number of changes per page."
)
@filter_options
@uri_option
@json_option("blocks and cursor")
def poll(
    branch: str,
    cursor: str | None,
    start: str | None,
    limit: int,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    uri: str | None,
    as_json: bool,
) -> None:
    """Show what was committed since a cursor, and the cursor to continue from.

    Keep the cursor and pass it to the next poll: nothing is missed and nothing comes twice. `caught_up: false` means that there
    is more already.

    \b
    omnigraph changes poll --store people.omni --start beginning
    """
    if cursor is not None and start is not None:
        raise click.UsageError("--cursor and --start exclude each other")
    if start is not None and start not in ("now", "beginning") and not start.startswith("after:"):
        raise click.UsageError(f"--start is now, beginning or after:COMMIT, not `{start}`")
    blocks: list[Block] = []
    with connect(uri) as graph:
        since = cursor or start or "now"
        while True:
            page = graph.run(PollChanges(graph.ref, since, branch, limit, kinds, types, ops))
            for block in page:
                if blocks and blocks[-1].cause == block.cause:  # the rest of a commit that did not fit on the page before
                    blocks[-1] = replace(blocks[-1], changes=[*blocks[-1].changes, *block.changes])
                else:
                    blocks.append(block)
            if page.cursor is not None:
                break
            since = page.next
    if as_json:
        reported = {"blocks": [block.to_dict() for block in blocks], "cursor": page.cursor, "caught_up": page.caught_up}
        print_json(reported)
        return
    for block in blocks:
        for line in (*cause_lines(block.cause), *schema_lines(block.schema), *change_lines(block.changes), ""):
            say(line)
    if not blocks:
        say("(no new commits)")
    say(f"cursor: {painted(page.cursor, bold=True)}")
    say(f"caught_up: {str(page.caught_up).lower()}")


@command.command(capability=Capability.DATA, usable=READS)
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to follow afterwards.")
@click.option("--out", required=True, metavar="PATH", help="The file to write, in the format of an export.")
@filter_options
@uri_option
@json_option("commit and cursor")
def baseline(
    branch: str,
    out: str,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    uri: str | None,
    as_json: bool,
) -> None:
    """Write all entities at one commit, and print the cursor right after it.

    The file appears under its name when it is complete and safe on the disk, and only then is the cursor printed.
    """
    with connect(uri) as graph:
        found = graph.run(Baseline(graph.ref, branch, kinds, types, ops))
        _write(found, Path(out))
    if as_json:
        print_json({"snapshot_commit_id": found.commit, "resume_cursor": found.cursor})
        return
    say(f"snapshot: {out}")
    say(f"snapshot_commit_id: {found.commit}")
    say(f"resume_cursor: {found.cursor}")


def _write(found: CapturedBaseline, out: Path) -> None:
    """Write a baseline so that its name never stands for half of one, or for somebody else's."""
    if not out.parent.is_dir():
        raise UsageError(f"the folder {out.parent} does not exist")
    with _alone(out):
        with output_file(out, durable=True) as file:
            for _, lines in found.chunks():
                file.write(lines)
            written = os.fstat(file.fileno()).st_ino
        if out.stat().st_ino != written:
            raise StorageError(f"{out} was replaced by somebody else while it was written", hint="Take the baseline again.")


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Nobody else writes this file meanwhile. A pipe or a device is whoever's it is."""
    if out.exists() and not out.is_file():
        yield
        return
    try:
        lock = os.open(f"{os.path.realpath(out)}.lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise OutputFailed.of(str(out), error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise UsageError(f"somebody else is writing {out}", hint="Wait for them, or choose another file.") from None
    try:
        yield
    finally:
        os.close(lock)
