"""A whole story, word for word: an agent finds its way into a graph, makes a mistake, mends it, works on a branch and proposes it; a
person approves, and it is merged. The transcript is kept in `story.golden`; ids and times are masked.

    UPDATE_STORY=1 pytest tests/surfaces/mcp/test_story.py      writes it anew: look at the difference
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.surfaces.http.conftest import TOKENS, serving
from tests.surfaces.mcp.agents import Agent, over_http, over_stdio, people, text

import omnigraph as og

GOLDEN = Path(__file__).parent / "story.golden"
WRONG = "query older($least: I32) { match { $p: Persn  $p.age > $least } return { $p.name } }"
RIGHT = "query older($least: I32) { match { $p: Person  $p.age > $least } return { $p.name, $p.age } order { $p.name } }"
CHANGE = """query hire($name: String, $company: String) {
    insert Person { name: $name, age: 29 }
    insert WorksAt { from: $name, to: $company }
}"""


class Told:
    """What was asked and answered, with everything masked that is different each time."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.lines: list[str] = []
        self._ids: dict[str, str] = {}

    def call(self, tool: str, **arguments: object) -> dict[str, object]:
        found = self.agent.call(tool, arguments)
        self.say(f"→ {tool} {json.dumps(arguments, ensure_ascii=False)}")
        self.say(f"← {'error ' if found.is_error else ''}{text(found)}")
        return json.loads(text(found)) if tool != "schema_get" else {}

    def say(self, line: str) -> None:
        masked = re.sub(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", self._named, line)
        masked = re.sub(r'("(?:created_at|authored_at)": )\d+', r"\1TIME", masked)
        masked = re.sub(r'("requestId": )"[0-9a-f]+"', r'\1"REQUEST"', masked)
        masked = re.sub(r'("id": )"[\w-]{43}"', r'\1"TYPE"', masked)
        self.lines.append(masked)

    def _named(self, match: re.Match[str]) -> str:
        return self._ids.setdefault(match[0], f"COMMIT-{len(self._ids) + 1}")


def story(agent: Agent, graph: Path) -> str:
    """The story; the person works on the graph itself."""
    told = Told(agent)
    told.say("# The agent reads the schema, asks, is wrong, and mends its query.")
    told.call("schema_get")
    told.call("query", query=WRONG, params={"least": 40})
    told.call("query", query=RIGHT, params={"least": 40})
    told.say("# It works on a branch of its own, and looks at what it did.")
    told.call("branches_create", name="agent/hire")
    told.call("mutate", query=CHANGE, params={"name": "Cleo", "company": "Acme"}, branch="agent/hire")
    told.call("diff", to="agent/hire", kind=["node"])
    told.say("# It proposes.")
    proposed = told.call("reviews_create", source="agent/hire", title="Cleo works at Acme", description="As Ada asked.")
    told.say("# A person looks, approves and merges.")
    number = proposed["id"]
    assert isinstance(number, int)
    with og.open(graph) as g:
        review = g.reviews.get(number)
        assert review.source_commit is not None
        g.reviews.approve(number, commit=review.source_commit, actor="grace")
        g.reviews.merge(number, commit=review.source_commit, actor="grace")
    told.say("# The agent sees it merged.")
    told.call("reviews_show", review=number)
    told.call("query", query=RIGHT.replace("older", "younger").replace(">", "<"), params={"least": 30})
    return "\n".join(told.lines) + "\n"


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_story_is_told_as_it_was(tmp_path: Path, way: str) -> None:
    graph = people(tmp_path)
    if way == "stdio":
        with over_stdio(graph, "--as", "ada") as agent:
            found = story(agent, graph)
    else:
        with serving(graph) as running, over_http(f"{running.url}/graphs/people/mcp", TOKENS["ada"], mode="legacy") as agent:
            found = story(agent, graph)
    if os.environ.get("UPDATE_STORY"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()
