"""`make demo`: a walk through what OmniGraph does today, on the example graph in `company-memory`.

Every step is a real command; the text around it says why you would want it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from rich.console import Console

import omnigraph as og
from omnigraph.surfaces.cli.main import run

EXAMPLE = Path(__file__).parent / "company-memory"
SCHEMA = EXAMPLE / "schema.pg"

OOPS = """query oops($team: String) {
    match {
        $p: Person { nme: "Ada" }
        $p memberof $t
        $t.name = $team
        $p works_on $s
        $s.started = "2024-01-01"
    }
    return { $p.name, $q.name }
}
"""

console = Console(highlight=False)
failures: list[str] = []


def step(title: str, why: str) -> None:
    """Open a chapter."""
    console.print()
    console.rule(f"[bold]{title}", align="left")
    console.print(f"[dim]{why}[/dim]\n")


def omnigraph(*arguments: str | Path, expect: int = 0) -> None:
    """Run a command as a person would type it."""
    words = [str(a) for a in arguments]
    shown = " ".join(w.removeprefix(f"{Path.cwd()}/") for w in words)
    console.print(f"[bold green]$[/] omnigraph {shown}", soft_wrap=True)
    sys.stdout.flush()
    code = run(words)
    sys.stdout.flush()
    if code != expect:
        failures.append(f"omnigraph {shown}: exit code {code}, expected {expect}")
    console.print()


def shown(code: str) -> None:
    """A line of Python as a person would type it."""
    console.print(f"[bold green]>>>[/] {code}", soft_wrap=True, markup=True)


def use_a_graph(path: Path) -> None:
    """Load the example, ask it, change it on a branch, look back."""
    people, search, remember = (
        (EXAMPLE / "queries" / f"{name}.gq").read_text() for name in ("people-and-work", "search", "remember")
    )

    step("A graph is a folder", "One atomic commit for everything that is loaded, every rule of the schema checked first.")
    shown('g = og.init("memory.omni", schema="schema.pg");  g.load("data.jsonl")')
    g = og.init(path, schema=SCHEMA, durability="os")
    loaded = g.load(EXAMPLE / "data.jsonl", actor="demo")
    console.print(f"{sum(t.rows for t in g.stats().types)} entities in commit {loaded.commit.id}\n")

    step("Ask it", "Traversal, full text and ranking in one language, over one snapshot.")
    shown('g.query(people, {"slug": "ledger"}, name="blast_radius")')
    console.print(str(g.query(people, {"slug": "ledger"}, name="blast_radius")) + "\n", soft_wrap=True)
    shown('g.query(search, {"q": "carrier feed stale"}, name="best_runbook")')
    console.print(str(g.query(search, {"q": "carrier feed stale"}, name="best_runbook")) + "\n", soft_wrap=True)
    shown('g.explain(people, name="workload", analyze=True)')
    console.print(str(g.explain(people, name="workload", analyze=True)) + "\n", soft_wrap=True)

    step("An agent works on a branch", "Nobody else sees it until it is merged; breaking a rule changes nothing.")
    g.branches.create("agent/7")
    started = {"session": "demo-1", "agent": "scout", "goal": "Look around"}
    shown('g.mutate(remember, {…}, name="start_session", branch="agent/7", actor="agent-7")')
    try:
        g.mutate(remember, {**started, "agent": "nobody"}, name="start_session", branch="agent/7")
    except og.ValidationError as error:
        console.print(f"[red]{error}[/]")
    agent = g.query("query q() { match { $a: Agent } return { $a } order { $a.slug } limit 1 }").rows[0]["a"]
    receipt = g.mutate(remember, {**started, "agent": agent}, name="start_session", branch="agent/7", actor="agent-7")
    console.print(
        f"{receipt.affected_nodes} node, {receipt.affected_edges} edge, commit {receipt.commit.id if receipt.commit else '-'}\n"
    )
    count = "query sessions() { match { $s: Session } return { count($s) as sessions } }"
    for branch in ("main", "agent/7"):
        shown(f'g.query(count, branch="{branch}").rows')
        console.print(str(g.query(count, branch=branch).rows))

    step(
        "Somebody reviews it",
        "What differs, entity by entity; then one commit with both parents, and the old state stays readable.",
    )
    before = g.commits(limit=1)[0].id
    shown('g.diff("main", "agent/7")')
    console.print(str(g.diff("main", "agent/7")) + "\n", soft_wrap=True)
    shown('g.merge("agent/7", into="main")')
    merged = g.merge("agent/7", into="main", actor="demo")
    console.print(f"{merged.outcome}\n")
    for at in (None, before):
        shown(f"g.query(count, at={at!r}).rows" if at else "g.query(count).rows")
        console.print(str(g.query(count, at=at).rows))


def main() -> None:
    """Run the demo."""
    started = time.monotonic()
    step(
        "A graph has a schema", "The memory of a fleet of agents about one company: who works on what, who decided what, and why."
    )
    omnigraph("schema", "show", SCHEMA, "--picture")
    counts = Counter("edges" if "edge" in json.loads(line) else "nodes" for line in (EXAMPLE / "data.jsonl").open())
    console.print(f"The example data holds {counts['nodes']} nodes and {counts['edges']} edges.")

    step(
        "Queries are checked before they run",
        "Every query is parsed and typed against the schema. One warning below is on purpose.",
    )
    for path in sorted((EXAMPLE / "queries").glob("*.gq")):
        omnigraph("lint", "--schema", SCHEMA, "--query", path)

    step("Mistakes are shown where they are", "Several at once, with the nearest right name.")
    with tempfile.TemporaryDirectory() as folder:
        query = Path(folder) / "oops.gq"
        query.write_text(OOPS)
        omnigraph("lint", "--schema", SCHEMA, "--query", query, expect=1)

        step("Layout is nobody's business but the formatter's", "Comments stay, meaning stays, everything else finds its place.")
        messy = Path(folder) / "messy.gq"
        messy.write_text(
            "query busy(){match{$p:Person // who\n$p worksOn $t}return{$p.name,count($t) as tasks}order{tasks desc}limit 3}"
        )
        omnigraph("fmt", "--diff", messy, expect=1)

        step("Schemas change by plan", "What would happen, step by step, before anything happens.")
        desired = Path(folder) / "next.pg"
        changed = SCHEMA.read_text().replace("node Team", "node Squad", 1).replace(" Team", " Squad")
        desired.write_text(changed.replace("node Squad", 'node Squad @rename_from("Team")', 1))
        omnigraph("schema", "plan", SCHEMA, "--schema", desired)

    with tempfile.TemporaryDirectory() as folder:
        use_a_graph(Path(folder) / "memory.omni")

    console.rule(align="left")
    console.print(
        f"That was OmniGraph in {time.monotonic() - started:.1f} s. The files are in {EXAMPLE.relative_to(Path.cwd())}."
    )
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
