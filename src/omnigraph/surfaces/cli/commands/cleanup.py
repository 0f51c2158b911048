"""`omnigraph cleanup`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from omnigraph.model.phrases import counted
from omnigraph.model.times import duration
from omnigraph.service.operations.cleanup import Cleanup
from omnigraph.service.operations.snapshot import Snapshot
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.confirmation import confirm as ask_for_consent
from omnigraph.surfaces.cli.confirmation import echo_write
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import CLUSTERS, WRITES, Capability, Command, address, connect_to


@click.command(cls=Command, capability=Capability.DIRECT, usable=WRITES | CLUSTERS, also=frozenset({"quiet", "yes"}))
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="Keep the newest N commits of every branch.")
@click.option("--older-than", metavar="DUR", help="Keep what was current within this time: 90s, 30m, 12h, 7d, 2w.")
@click.option(
    "--confirm", "confirmed", is_flag=True, help="Remove them. Without it, the command only shows what would be removed."
)
@json_option("what goes")
def command(uri: str | None, keep: int | None, older_than: str | None, confirmed: bool, as_json: bool) -> None:
    """Remove old commits and free their space.

    A commit is removed if neither --keep nor --older-than keeps it. Newest and tagged commits, and where branches began, always
    stay.

    \b
    omnigraph cleanup people.omni --keep 10 --older-than 7d
    """
    if keep is None and older_than is None:
        raise click.UsageError("what should be kept? Give --keep N, --older-than DUR, or both.")
    age = timedelta(0) if older_than is None else duration(f"{older_than}s" if older_than.isdigit() else older_than)
    where = address(uri)
    if confirmed:
        ask_for_consent("removing old commits", where, as_json=as_json)
        echo_write("cleanup", where)
    from omnigraph.surfaces.progress import working

    with connect_to(where, read_only=not confirmed) as graph, working("finding what is no longer needed"):
        names = {t.path: t.type_key for t in graph.run(Snapshot(graph.ref)).types}
        report = graph.run(Cleanup(graph.ref, keep or 1, age, not confirmed))
    datasets: list[dict[str, Any]] = [
        {
            "type_key": names.get(s.path, s.path),
            "bytes_removed": s.bytes_removed,
            "old_versions_removed": s.versions_removed,
            "files_removed": s.files_removed,
            "error": None,
        }
        for s in report.tables
    ]
    if as_json:
        print_json(
            {
                "uri": where,
                "keep_versions": keep,
                "older_than_secs": None if older_than is None else int(age.total_seconds()),
                "dry_run": report.dry_run,
                "commits_kept": report.commits_kept,
                "commits_removed": report.commits_reclaimed,
                "files_removed": report.files_removed,
                "bytes_removed": report.bytes_removed,
                "reason": report.reason,
                "datasets": datasets,
            }
        )
    else:
        verb = "removed" if confirmed else "would remove"
        say(
            f"{verb} {counted(report.commits_reclaimed, 'commit')}, {counted(report.files_removed, 'file')}, "
            f"{counted(report.bytes_removed, 'byte')}; {counted(report.commits_kept, 'commit')} kept"
        )
        if report.reason is not None:
            say(f"nothing to remove: {report.reason}")
    if not confirmed:
        policy = [f"keep the newest {keep}" if keep else "", f"keep what was current within {older_than}" if older_than else ""]
        say(f"policy: {', '.join(p for p in policy if p)}. Nothing was removed; give --confirm to do it.", err=True)
