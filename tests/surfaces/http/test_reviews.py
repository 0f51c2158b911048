"""Reviews over HTTP: every route, its body to the letter, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.surfaces.http.conftest import Running
from tests.surfaces.http.test_own_routes import ADD, branch, changed


@pytest.fixture
def bob(server: Running) -> Iterator[httpx.Client]:
    with server.client("bob") as client:
        yield client


def opened(client: httpx.Client, source: str, **more: Any) -> dict[str, Any]:
    branch(client, source)
    changed(client, source, source, 1, ADD)
    made = client.post("/reviews", json={"source": source, "title": f"about {source}", **more})
    assert made.status_code == 200, made.text
    found: dict[str, Any] = made.json()
    return found


def golden(found: Any) -> Any:
    """A body without what is another one each time: ids, times, numbers of reviews."""
    if isinstance(found, dict):
        return {k: "TIME" if k.endswith("_at") else "N" if k == "id" else golden(v) for k, v in found.items()}
    if isinstance(found, list):
        return [golden(item) for item in found]
    return re.sub(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", "COMMIT", found) if isinstance(found, str) else found


def test_a_review_from_its_beginning_to_its_end(ada: httpx.Client, bob: httpx.Client) -> None:
    review = opened(ada, "rev/one", description="why")
    where = f"/reviews/{review['id']}"
    about = {"text": "hm", "type_name": "Person", "entity_id": "rev/one", "property": "age"}
    assert bob.post(f"{where}/comments", json=about).status_code == 200
    approved = bob.post(f"{where}/approve", json={"commit": review["source_commit_id"], "text": "fine"})
    assert approved.json()["state"] == "approved"
    merged = ada.post(f"{where}/merge", json={"message": "done"})
    assert merged.status_code == 200, merged.text
    assert golden(merged.json()) == {
        "id": "N",
        "source": "rev/one",
        "target": "main",
        "title": "about rev/one",
        "description": "why",
        "author": "ada",
        "created_at": "TIME",
        "state": "merged",
        "base_commit_id": "COMMIT",
        "source_commit_id": "COMMIT",
        "source_exists": True,
        "comments": [
            {
                "actor_id": "bob",
                "created_at": "TIME",
                "text": "hm",
                "source_commit_id": "COMMIT",
                "type_name": "Person",
                "entity_id": "rev/one",
                "property": "age",
            }
        ],
        "verdicts": [
            {
                "kind": "approved",
                "actor_id": "bob",
                "created_at": "TIME",
                "source_commit_id": "COMMIT",
                "text": "fine",
                "stale": False,
            }
        ],
        "events": [
            {"kind": kind, "actor_id": actor, "created_at": "TIME", "source_commit_id": "COMMIT", "text": text}
            for kind, actor, text in (
                ("created", "ada", None),
                ("comment", "bob", "hm"),
                ("approved", "bob", "fine"),
                ("merged", "ada", None),
            )
        ],
        "merge": {
            "actor_id": "ada",
            "created_at": "TIME",
            "source_commit_id": "COMMIT",
            "graph_commit_id": "COMMIT",
            "approved_by": ["bob"],
        },
        "kept_commit_ids": [],
    }
    assert ada.get(where).json() == merged.json()
    head = ada.get("/commits", params={"limit": 1}).json()["commits"][0]
    assert (head["graph_commit_id"], head["message"], head["actor_id"]) == (
        merged.json()["merge"]["graph_commit_id"],
        "done",
        "ada",
    )
    again = bob.post(f"{where}/merge", json={})
    assert (again.status_code, again.json()["condition"]) == (409, "review_over")
    assert again.json()["details"]["commit"] == merged.json()["merge"]["graph_commit_id"]


def test_a_diff_of_a_review(ada: httpx.Client) -> None:
    review = opened(ada, "rev/diff")
    found = ada.get(f"/reviews/{review['id']}/diff").json()
    assert list(found) == ["review", "diff", "preview", "problem"]
    assert [(c["op"], c["id"]) for c in found["diff"]["changes"]] == [("insert", "rev/diff")]
    assert found["preview"]["dry_run"] is True
    assert found["preview"]["merge_conflicts"] == []
    assert found["problem"] is None


def test_what_is_stale_and_what_is_missing(ada: httpx.Client, bob: httpx.Client) -> None:
    review = opened(ada, "rev/stale")
    where = f"/reviews/{review['id']}"
    bob.post(f"{where}/approve", json={})
    now = changed(ada, "rev/stale", "rev/stale/2", 2, ADD)
    for path in ("merge", "approve"):
        refused = ada.post(f"{where}/{path}", json={"commit": review["source_commit_id"]})
        assert (refused.status_code, refused.json()["code"], refused.json()["condition"]) == (409, "conflict", "review_stale")
        assert refused.json()["details"]["actual"] == now
    assert ada.post(f"{where}/merge", json={}).json()["condition"] == "review_stale"
    assert bob.post(f"{where}/request-changes", json={"text": "no"}).json()["state"] == "changes_requested"
    refused = ada.post(f"{where}/merge", json={})
    assert (refused.status_code, refused.json()["condition"]) == (409, "approval_missing")
    assert "bob asked for changes" in refused.json()["error"]
    assert ada.post(f"{where}/close", json={"text": "enough"}).json()["state"] == "closed"
    assert ada.post(f"{where}/reopen", json={}).json()["state"] == "changes_requested"


def test_pages(ada: httpx.Client) -> None:
    ids = [opened(ada, f"rev/page/{n}")["id"] for n in range(3)]
    asked: dict[str, Any] = {"source": "rev/page/1", "limit": 1}
    assert [r["id"] for r in ada.get("/reviews", params=asked).json()["reviews"]] == [ids[1]]
    first = ada.get("/reviews", params={"limit": 2, "state": "open", "author": "ada", "target": "main"}).json()
    assert list(first) == ["reviews", "unreadable", "next_page_token"]
    assert [r["id"] for r in first["reviews"]] == [ids[2], ids[1]]
    second = ada.get("/reviews", params={"limit": 1, "state": ["open", "merged"], "page_token": first["next_page_token"]}).json()
    assert [r["id"] for r in second["reviews"]] == [ids[0]]
    assert ada.get("/reviews", params={"author": "nobody"}).json() == {"reviews": [], "unreadable": [], "next_page_token": None}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/reviews/999999", None, 404),
        ("GET", "/reviews/x", None, 404),
        ("GET", "/reviews/0", None, 404),
        ("GET", f"/reviews/{10**30}", None, 404),
        ("GET", "/reviews/999999/diff", None, 404),
        ("POST", "/reviews/999999/merge", {}, 404),
        ("POST", "/reviews", {"source": "nowhere", "title": "x"}, 404),
        ("POST", "/reviews", {"source": "main", "title": "x"}, 400),
        ("POST", "/reviews", {"source": "main"}, 400),
        ("POST", "/reviews", {"source": "main", "title": 7}, 400),
        ("POST", "/reviews/999999/comments", {}, 400),
        ("GET", "/reviews?state=opened", None, 400),
        ("GET", "/reviews?limit=0", None, 400),
        ("GET", "/reviews?limit=1001", None, 400),
        ("GET", "/reviews?page_token=x", None, 400),
        ("GET", "/reviews?stat=open", None, 400),
    ],
)
def test_what_is_refused(ada: httpx.Client, method: str, path: str, body: Any, status: int) -> None:
    answered = ada.request(method, path, json=body) if body is not None else ada.request(method, path)
    assert answered.status_code == status, answered.text
    assert answered.json()["error"]


def test_a_key_would_not_be_looked_at(ada: httpx.Client) -> None:
    refused = ada.post("/reviews", json={"source": "main", "title": "x"}, headers={"Idempotency-Key": "k"})
    assert refused.status_code == 400
    assert "takes no Idempotency-Key" in refused.json()["error"]
