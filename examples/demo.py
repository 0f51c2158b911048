"""`make demo`: the main job from end to end, on the memory of a made-up company (`company-memory`).

A graph is made, bulk-loaded by Spark, asked in four ways, changed on two branches by two agents, reviewed, merged with one
conflict, served over HTTP to a third agent, read as it was before, followed by its change feed, and drawn. Every step is a real
command or call; the text around it says why you would want it.
"""

from __future__ import annotations

import json
import math
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

import omnigraph as og
from omnigraph.surfaces.cli.main import run

EXAMPLE = Path(__file__).parent / "company-memory"
SCHEMA = EXAMPLE / "schema.pg"
QUERIES = EXAMPLE / "queries"
PICTURE = Path("demo.html")
SESSIONS = 20_000

OOPS = """query oops($team: String) {
    match {
        $p: Person { nme: "Ada" }
        $p memberof $t
        $t.name = $team
    }
    return { $p.name, $q.name }
}
"""

SOUND = {"goal": "Count", "started_at": "2026-11-02T09:00:00Z", "tokens_used": 1, "cost_usd": 0}
BROKEN: list[dict[str, object]] = [
    {"type": "Session", "data": {**SOUND, "slug": "bad-1", "started_at": "yesterday"}},
    {"type": "Session", "data": {**SOUND, "slug": "bad-2", "tokens_used": -5}},
    {"edge": "RunBy", "from": "bad-3", "to": "nobody"},
]

console = Console(highlight=False)
failures: list[str] = []


# ── telling the story ────────────────────────────────────────────────────────────────────────────────────────────────────────


def step(title: str, why: str) -> None:
    """Open a chapter."""
    console.print()
    console.rule(f"[bold]{title}", align="left")
    console.print(f"[dim]{why}[/dim]\n")


def omnigraph(*arguments: str | Path, expect: int = 0) -> None:
    """Run a command as a person would type it."""
    words = [str(a) for a in arguments]
    typed = [w.removeprefix(f"{EXAMPLE.parent.parent}/").removeprefix(f"{tempfile.gettempdir()}/") for w in words]
    console.print(f"[bold green]$[/] omnigraph {escape(shlex.join(typed))}", soft_wrap=True)
    sys.stdout.flush()
    code = run(words)
    sys.stdout.flush()
    if code != expect:
        failures.append(f"omnigraph {' '.join(words)}: exit code {code}, expected {expect}")
    console.print()


def say(code: str, answer: object = "") -> None:
    """A line of Python as a person would type it, and what it gives."""
    console.print(f"[bold green]>>>[/] {escape(code)}", soft_wrap=True)
    if str(answer):
        console.print(str(answer) + "\n", soft_wrap=True, markup=False)


# ── what it is told with ─────────────────────────────────────────────────────────────────────────────────────────────────────


class WordHash:
    """An embedding model that needs nobody: texts that share words are near. Any object with these two names will do."""

    model = "local/hash-8"

    def embed(self, texts: Sequence[str], dimension: int) -> list[list[float]]:
        """Each word adds to one place of the vector."""
        vectors = []
        for text in texts:
            vector = [0.0] * dimension
            for word in text.lower().replace(".", " ").replace(",", " ").split():
                if len(word) > 3:
                    vector[zlib.crc32(word[:5].encode()) % dimension] += 1.0
            length = math.hypot(*vector) or 1.0
            vectors.append([v / length for v in vector])
        return vectors


def history(sessions: int) -> Iterator[dict[str, object]]:
    """A year of agents at work: sessions, and claims about services that rest on them."""
    chance = random.Random(7)
    records = [json.loads(line) for line in (EXAMPLE / "data.jsonl").open()]
    agents = [r["data"]["slug"] for r in records if r.get("type") == "Agent"]
    services = [r["data"]["slug"] for r in records if r.get("type") == "Service"]
    facts = ("answers in {} ms at night", "was retried {} times", "dropped {} messages", "caught up after {} minutes")
    yield from records
    for number in range(sessions):
        session, day = f"run-{number:06d}", f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}"
        service = chance.choice(services)
        yield {
            "type": "Session",
            "data": {
                "slug": session,
                "goal": f"Watch {service}",
                "started_at": f"{day}T{number % 24:02d}:00:00Z",
                "outcome": chance.choice(["done", "handed-over", "abandoned"]),
                "tokens_used": chance.randrange(200_000),
                "cost_usd": round(chance.random() * 3, 4),
            },
        }
        yield {"edge": "RunBy", "from": session, "to": chance.choice(agents)}
        for place in range(2):
            claim = f"{session}-{place}"
            yield {
                "type": "Claim",
                "data": {
                    "slug": claim,
                    "statement": f"{service} {chance.choice(facts).format(chance.randrange(2, 900))}",
                    "confidence": round(chance.random(), 2),
                    "status": "held",
                    "asserted_at": f"{day}T{number % 24:02d}:30:00Z",
                },
            }
            yield {"edge": "AssertedIn", "from": claim, "to": session}
            yield {"edge": "About", "from": claim, "to": service}


# ── the story ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_before_anything_runs(folder: Path) -> None:
    """The schema, and what happens to mistakes."""
    step(
        "A graph has a schema",
        "Who works on what, who decided what, what agents believe and why: the memory of a fleet of agents.",
    )
    omnigraph("schema", "show", SCHEMA, "--diagram")
    step(
        "Mistakes are shown where they are",
        "Queries are typed against the schema before they run; the nearest right name is named.",
    )
    query = folder / "oops.gq"
    query.write_text(OOPS)
    omnigraph("lint", "--schema", SCHEMA, "--query", query, expect=1)


def load_everything(graph: Path, folder: Path) -> og.Graph:
    """A bulk load by Spark, and one that is refused."""
    step(
        "Bulk loads run on Spark",
        "Executors parse and check; one commit for all of it, or nothing. No Java needed: it comes with the packages.",
    )
    lines = folder / "history.jsonl"
    with lines.open("w") as out:
        written = sum(1 for record in history(SESSIONS) if out.write(json.dumps(record) + "\n"))
    console.print(f"history.jsonl: {written:,} nodes and edges, {lines.stat().st_size / 1e6:.0f} MB\n")
    g = og.init(graph, schema=SCHEMA, embedder=WordHash())
    say('g = og.init("memory.omni", schema="schema.pg");  g.load("history.jsonl", engine="spark")')
    started = time.monotonic()
    loaded = g.load(lines, engine="spark", actor="etl", progress=True)
    seconds = time.monotonic() - started
    console.print(f"{written:,} entities in commit {loaded.commit.id}, {seconds:.1f} s with the start of Spark\n")

    step("A bad load changes nothing", "Everything that is wrong is told at once, with its line.")
    bad = folder / "broken.jsonl"
    bad.write_text("".join(json.dumps(record) + "\n" for record in BROKEN))
    omnigraph("load", "--data", bad, "--store", graph, "--mode", "append", expect=1)
    g.embed()
    return g


def ask(g: og.Graph) -> None:
    """Four ways to ask, and how an answer is found."""
    people, search, beyond = ((QUERIES / f"{name}.gq").read_text() for name in ("people-and-work", "search", "beyond"))
    step("Ask it", "Hops, words and vectors in one language, over one snapshot.")
    console.print("[dim]What an outage of the ledger would take down: hops.[/]")
    say('g.query(people, {"slug": "ledger"}, name="blast_radius")', g.query(people, {"slug": "ledger"}, name="blast_radius"))
    console.print("[dim]The runbooks for a symptom: words.[/]")
    runbooks = g.query(
        search.replace("$d.body, $d.reviewed_on", "$d.reviewed_on"), {"q": "carrier feed stale"}, name="best_runbook"
    )
    say('g.query(search, {"q": "carrier feed stale"}, name="best_runbook")', runbooks)
    console.print("[dim]What agents believe about something: vectors, made from the text of the question.[/]")
    near = g.query(beyond, {"q": "the tracker dropped messages"}, name="claims_with_distances")
    say('g.query(beyond, {"q": "the tracker dropped messages"}, name="claims_with_distances")', near)
    console.print("[dim]Words and vectors together, then a hop to the evidence.[/]")
    evidence = g.query(search.replace("limit 8", "limit 3"), {"q": "replica lag"}, name="evidence_for")
    say('g.query(search, {"q": "replica lag"}, name="evidence_for")', evidence)
    step("See how it is answered", "Estimates beside what really happened.")
    say('g.explain(people, name="workload", analyze=True)', g.explain(people, name="workload", analyze=True))


def work_on_branches(g: og.Graph, graph: Path) -> str:
    """Two agents change the same claim on branches of their own; a person decides. Gives the commit before the merges."""
    remember = (QUERIES / "remember.gq").read_text()
    before = g.commits(limit=1)[0].id
    step("Two agents, two branches", "A branch is one small object, however large the graph. Nobody sees it until it is merged.")
    for name, confidence, status in (("agent/harbor", 0.9, "held"), ("agent/abacus", 0.2, "held")):
        g.branches.create(name)
        seen = {"claim": "replica-lag-90s", "confidence": confidence, "status": status, "expires": None}
        g.mutate(remember, seen, name="recheck_claim", branch=name, actor=name)
        say(f'g.mutate(remember, {{"claim": "replica-lag-90s", "confidence": {confidence}, …}}, branch="{name}")')
    g.mutate(
        remember, {"session": "demo-1", "agent": "harbor", "goal": "Look around"}, name="start_session", branch="agent/harbor"
    )
    console.print()

    step("Somebody reviews them", "What differs, entity by entity and property by property.")
    omnigraph("diff", "main", "agent/harbor", "--store", graph)
    step(
        "The first asks for a review",
        "Like a pull request: people comment on an entity or a property, approve one commit, and merge exactly that.",
    )
    about = ("--type", "Claim", "--id", "replica-lag-90s", "--property", "confidence")
    omnigraph(
        "review", "create", "agent/harbor", "--title", "The lag is real", "--store", graph, "--as", "agent/harbor", "--quiet"
    )
    omnigraph("review", "comment", "1", "Seen twice this week.", *about, "--store", graph, "--as", "reviewer", "--quiet")
    omnigraph("review", "approve", "1", "--store", graph, "--as", "reviewer", "--quiet")
    omnigraph("review", "show", "1", "--store", graph)
    omnigraph("review", "merge", "1", "--store", graph, "--as", "reviewer", "--quiet")
    step(
        "The second disagrees",
        "Both agents changed the same properties of one claim: nothing is merged until somebody says which counts.",
    )
    omnigraph("branch", "merge", "agent/abacus", "--store", graph, "--dry-run", expect=1)
    omnigraph("branch", "merge", "agent/abacus", "--store", graph, "--as", "reviewer", "--resolve", "ours")
    return before


def serve(graph: Path) -> None:
    """An agent that has no keys to the folder."""
    step(
        "Agents elsewhere",
        "A server gives them the graph over HTTP. Each has a token, which says who it is; what it writes carries its name.",
    )
    command = [sys.executable, "-m", "omnigraph", "serve", str(graph), "--bind", "127.0.0.1:0", "--log-level", "error"]
    tokens = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps({"agent/remote": "a-secret"})}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **tokens}) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip().removeprefix("OMNIGRAPH_LISTEN_ADDR=")
        say(f"omnigraph serve memory.omni                       # listens at {address}")
        with og.connect(f"http://{address}", graph="memory", token="a-secret") as remote:
            remote.branches.create("agent/remote")
            remember = (QUERIES / "remember.gq").read_text()
            given = {"session": "demo-2", "agent": "harbor", "goal": "Look around from afar"}
            say(
                'g = og.connect(…, token="a-secret");  g.mutate(remember, {…}, branch="agent/remote")',
                remote.mutate(remember, given, name="start_session", branch="agent/remote"),
            )
            asked = 'query q() { match { $s: Session { slug: "demo-2" } } return { $s.slug, $s.goal } }'
            say('g.query(asked, branch="agent/remote")', remote.query(asked, branch="agent/remote"))
        server.terminate()


def look_back(g: og.Graph, graph: Path, before: str) -> None:
    """The past, the feed, and a picture."""
    step("Every commit stays readable", "The same question, today and before the merges.")
    asked = 'query q() { match { $c: Claim { slug: "replica-lag-90s" } } return { $c.confidence, $c.status, $c.checked_at } }'
    say("g.query(asked)", g.query(asked))
    say(f'g.query(asked, at="{before}")', g.query(asked, at=before))
    step(
        "Follow what happens",
        "A feed with cursors: what was committed since, change by change, nothing missed and nothing twice.",
    )
    omnigraph("changes", "poll", "--store", graph, "--start", f"after:{before}")
    step("Look at it", "One HTML file that needs no network: here, what a service depends on and who answers for it.")
    drawn = "query q() { match { $t owns $s  $s dependsOn $d } return { $t.name, $s.name, $d.name } }"
    omnigraph("view", graph, "-e", drawn, "--out", PICTURE, "--no-open")
    step("Nothing to repair", "A crash leaves garbage at worst, never half a commit. Every file that is needed is there.")
    omnigraph("verify", graph)


def main() -> None:
    """Run the demo."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="omnigraph-demo-") as name:
        folder = Path(name)
        graph = folder / "memory.omni"
        check_before_anything_runs(folder)
        g = load_everything(graph, folder)
        ask(g)
        before = work_on_branches(g, graph)
        serve(graph)
        look_back(g, graph, before)
    console.rule(align="left")
    seconds = time.monotonic() - started
    console.print(
        f"That was OmniGraph in {seconds:.0f} s. Open {PICTURE} in a browser; the example is in examples/{EXAMPLE.name}."
    )
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
