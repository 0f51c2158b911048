"""Which token `omnigraph mcp` sends to a server: its own first, then what the environment has for agents, and none elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.calling import Call

from omnigraph.surfaces.cli import agents

HERE, ELSEWHERE = "https://graphs.example", "https://elsewhere.example"
BOTH = {"OMNIGRAPH_TOKEN": "of-agents", "OMNIGRAPH_BEARER_TOKEN": "of-all"}


@pytest.mark.parametrize(
    ("server", "environment", "sent"),
    [
        (HERE, {"OMNIGRAPH_TOKEN": "of-agents"}, "of-agents"),
        (HERE, {"OMNIGRAPH_TOKEN": "  of-agents  "}, "of-agents"),
        (HERE, {"OMNIGRAPH_TOKEN": " ", "OMNIGRAPH_BEARER_TOKEN": "of-all"}, "of-all"),
        (HERE, {"OMNIGRAPH_BEARER_TOKEN": "of-all"}, "of-all"),
        (HERE, BOTH, "of-agents"),
        (HERE, {**BOTH, "OMNIGRAPH_BASE_URL": f"{HERE}/"}, "of-agents"),
        (HERE, {**BOTH, "OMNIGRAPH_BASE_URL": ELSEWHERE}, "of-all"),
        (HERE, {"OMNIGRAPH_TOKEN": "of-agents", "OMNIGRAPH_BASE_URL": ELSEWHERE}, None),
        ("prod", BOTH, "of-agents"),
        ("prod", {**BOTH, "OMNIGRAPH_TOKEN_PROD": "of-prod"}, "of-prod"),
        (None, {**BOTH, "OMNIGRAPH_BASE_URL": HERE, "OMNIGRAPH_GRAPH_ID": "people"}, "of-agents"),
        (None, {"OMNIGRAPH_BEARER_TOKEN": "of-all", "OMNIGRAPH_BASE_URL": HERE, "OMNIGRAPH_GRAPH_ID": "people"}, "of-all"),
    ],
)
def test_which_token_is_sent(
    og: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    server: str | None,
    environment: dict[str, str],
    sent: str | None,
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text("servers: { prod: { url: https://prod.example } }\n")
    for name in ("OMNIGRAPH_TOKEN", "OMNIGRAPH_BEARER_TOKEN", "OMNIGRAPH_BASE_URL", "OMNIGRAPH_GRAPH_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found: list[tuple[str, str | None]] = []
    monkeypatch.setattr(agents, "serve", lambda where, token, **rest: found.append((where, token)))
    ran = og("mcp", *(() if server is None else ("--server", server, "--graph", "people")))
    assert ran.code == 0, ran.err
    base = "https://prod.example" if server == "prod" else HERE
    assert found == [(f"{base}/graphs/people", sent)]
