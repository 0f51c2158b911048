"""`omnigraph verify`."""

from __future__ import annotations

import click

from omnigraph.model.phrases import counted
from omnigraph.service.operations.verify import Verify
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import READS, Capability, Command, address, connect_to


@click.command(cls=Command, capability=Capability.DIRECT, usable=READS)
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--deep", is_flag=True, help="Check every commit that is kept, not only the newest ones and tags.")
@click.option("--content", is_flag=True, help="Read everything: checksums, ids, ends of edges, constraints, indexes.")
@json_option("what was found")
def command(uri: str | None, deep: bool, content: bool, as_json: bool) -> int:
    """Check the stored graph for damage. Only reads; exits with 1 if something is wrong."""
    where = address(uri)
    from omnigraph.surfaces.progress import working

    with connect_to(where) as graph, working("checking"):
        report = graph.run(Verify(graph.ref, deep, content))
    if as_json:
        problems = [
            {"kind": p.kind.value, "where": p.branch, "type": p.table, "path": p.path, "message": p.message}
            for p in report.problems
        ]
        looked = {name: getattr(report, name) for name in ("branches", "tags", "commits", "versions", "files", "unchecked")}
        print_json({"uri": where, "ok": report.ok, **looked, "problems": problems})
    else:
        for problem in report.problems:
            say(f"{problem.kind.value}: {problem.path} ({problem.branch}): {problem.message}")
        state = "ok" if report.ok else counted(len(report.problems), "problem")
        say(
            f"{state}: {report.checked}" + (f" ({report.unchecked:,} without a checksum)" if report.unchecked and content else "")
        )
    return 0 if report.ok else 1
