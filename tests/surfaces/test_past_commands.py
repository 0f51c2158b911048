"""Commands about branches and the past: branch, tag, commit, changes, diff, revert."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.calling import Call

import omnigraph as og_api

SET_AGE = "query set($n: String, $a: I32) { update Person set { age: $a } where name = $n }"


def set_age(og: Call, people: Path, name: str, age: int, branch: str = "main", *more: str) -> None:
    params = json.dumps({"n": name, "a": age})
    ran = og("mutate", "--store", people, "--branch", branch, "-e", SET_AGE, "--params", params, *more)
    assert ran.code == 0, ran.err


# ── branches and tags ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_branches(og: Call, people: Path) -> None:
    ran = og("branch", "create", "agent/7", "--uri", people)
    assert ran.out == "created branch agent/7 from main\n"
    assert ran.err == f"omnigraph branch create → {people} (direct, local)\n"
    assert og("branch", "list", "--uri", people).lines == ["agent/7", "main", "work"]
    again = og("branch", "create", "agent/7", "--uri", people, "--json")
    assert (again.code, again.json["code"]) == (1, "already_exists")
    made = og("branch", "create", "x", "--from", "work", "--uri", people, "--json", "--as", "me").json
    assert made == {"uri": str(people), "from": "work", "name": "x", "actor_id": "me"}
    assert og("branch", "delete", "agent/7", "--uri", people).out == "deleted branch agent/7\n"
    assert og("branch", "delete", "agent/7", "--uri", people).code == 1
    assert og("branch", "delete", "main", "--uri", people).code == 1
    assert og("branch", "create", "y", "--from", "nowhere", "--uri", people).code == 1


def test_tags(og: Call, people: Path) -> None:
    first = og("commit", "list", people, "--json").json["commits"][-1]["graph_commit_id"]
    assert og("tag", "create", "v0", first, "--uri", people).out == f"created tag v0 at {first}\n"
    head = og("tag", "create", "tip", "--branch", "work", "--uri", people, "--json").json
    assert (
        head["graph_commit_id"]
        == og("commit", "list", people, "--branch", "work", "--json").json["commits"][0]["graph_commit_id"]
    )
    assert og("tag", "list", "--uri", people).lines == [f"tip  {head['graph_commit_id']}", f"v0   {first}"]
    assert (
        og(
            "query",
            "--store",
            people,
            "--snapshot",
            "v0",
            "-e",
            "query q() { match { $p: Person } return { $p.name } }",
            "--json",
        ).json["rows"]
        == []
    )
    assert og("tag", "delete", "v0", "--uri", people).code == 0
    assert og("tag", "delete", "v0", "--uri", people).code == 1


# ── merge ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_preview_shows_what_would_change_and_changes_nothing(og: Call, people: Path) -> None:
    before = og("commit", "list", people, "--json").json
    ran = og("branch", "merge", "work", "--uri", people, "--dry-run")
    assert ran.code == 0
    assert ran.err == "", "nothing is written, so nothing is announced"
    lines = ran.lines
    assert lines[:2] == ["preview of work into main: merged", "3 changes: 2 inserts, 1 update"]
    assert "update node Person Bob" in lines
    assert "  age: 41 -> 42" in lines
    assert "insert node Person Dan" in lines
    assert og("commit", "list", people, "--json").json == before
    data = og("branch", "merge", "work", "--uri", people, "--dry-run", "--json").json
    assert (data["outcome"], data["dry_run"], len(data["changes"])) == ("merged", True, 3)


def test_a_merge(og: Call, people: Path) -> None:
    ran = og("branch", "merge", "work", "--uri", people, "--as", "me", "--message", "in it goes", "--delete-branch")
    assert ran.code == 0
    assert ran.lines[0] == "merged work into main: merged"
    assert ran.lines[-1] == "deleted branch work"
    commit = og("commit", "list", people, "--json").json["commits"][0]
    assert (commit["operation"], commit["actor_id"], commit["message"]) == ("merge", "me", "in it goes")
    assert og("branch", "list", "--uri", people).lines == ["main"]


def test_the_outcome_as_data(og: Call, people: Path) -> None:
    og("branch", "create", "ahead", "--uri", people)
    set_age(og, people, "Cy", 9, "ahead")
    data = og("branch", "merge", "ahead", "--uri", people, "--delete-branch", "--json").json
    assert (data["source"], data["target"], data["outcome"], data["branch_deleted"]) == ("ahead", "main", "fast_forward", True)
    og("branch", "merge", "work", "--uri", people)
    assert og("branch", "merge", "work", "--uri", people, "--json").json["outcome"] == "already_up_to_date"
    assert og("branch", "merge", "nowhere", "--uri", people).code == 1
    assert og("branch", "merge", "main", "--uri", people).code == 1


@pytest.fixture
def divided(og: Call, people: Path) -> Path:
    """`work` says 42, main says 50."""
    set_age(og, people, "Bob", 50)
    return people


def test_conflicts_are_under_each_other_and_nothing_is_changed(og: Call, divided: Path) -> None:
    before = og("commit", "list", divided, "--json").json
    ran = og("branch", "merge", "work", "--uri", divided)
    assert ran.code == 1
    assert ran.lines == [
        "1 conflict:",
        "",
        "divergent_update  node Person Bob",
        "       base  ours  theirs",
        "  age  41    50    42",
        "  key divergent_update:node:Person:Bob",
    ]
    assert "Error: merge conflicts: " in ran.err
    assert "--resolve or --interactive" in ran.err
    told = og("branch", "merge", "work", "--uri", divided, "--json")
    assert told.code == 1
    assert told.json["merge_conflicts"][0]["key"] == "divergent_update:node:Person:Bob"
    assert og("commit", "list", divided, "--json").json == before
    preview = og("branch", "merge", "work", "--uri", divided, "--dry-run")
    assert (preview.code, preview.lines[0]) == (1, "preview of work into main: conflicts")


@pytest.mark.parametrize(
    ("resolve", "age"),
    [
        (["--resolve", "ours"], 50),
        (["--resolve", "theirs"], 42),
        (["--resolve", "divergent_update:node:Person:Bob=theirs"], 42),
        (["--resolve", 'divergent_update:node:Person:Bob={"age": 46}'], 46),
        (["--resolve-file", "choices.json"], 47),
    ],
)
def test_resolutions(
    og: Call, divided: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resolve: list[str], age: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("choices.json").write_text('{"divergent_update:node:Person:Bob": {"age": 47}}')
    assert og("branch", "merge", "work", "--uri", divided, *resolve).code == 0
    with og_api.open(divided) as g:
        assert g.query('query q() { match { $p: Person { name: "Bob" } } return { $p.age } }').rows == [{"p.age": age}]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--resolve", "mine"],
        ["--resolve", "divergent_update:node:Person:Bob=ours", "--resolve", "no:such:key=ours"],
        ["--resolve", "k={"],
        ["--resolve", "ours", "--resolve", "theirs"],
        ["--resolve-file", "list.json"],
        ["--dry-run", "--delete-branch"],
        ["--interactive", "--dry-run"],
        ["--interactive", "--json"],
        ["--interactive"],
    ],
)
def test_resolutions_that_cannot_be(
    og: Call, divided: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list.json").write_text("[]")
    before = og("commit", "list", divided, "--json").json
    assert og("branch", "merge", "work", "--uri", divided, *arguments).code in (1, 2)
    assert og("commit", "list", divided, "--json").json == before


def test_strict(og: Call, people: Path) -> None:
    told = og("branch", "merge", "work", "--uri", people, "--strict", "--json")
    assert told.code == 1, "Bob's age and Bob's bio"
    assert told.json["merge_conflicts"][0]["entity_id"] == "Bob"


# ── revert ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_revert(og: Call, people: Path) -> None:
    set_age(og, people, "Ada", 99)
    head = og("commit", "list", people, "--json").json["commits"][0]["graph_commit_id"]
    preview = og("revert", head, "--uri", people, "--dry-run")
    assert preview.lines[0] == f"preview of reverting {head} on main: reverted"
    assert "  age: 99 -> 36" in preview.lines
    assert og("revert", head, "--uri", people).lines[0] == f"reverted {head} on main: reverted"
    assert og("revert", head, "--uri", people, "--dry-run").lines[0] == f"preview of reverting {head} on main: nothing_to_revert"
    assert og("revert", head, "--uri", people, "--json").json["outcome"] == "nothing_to_revert"
    first = og("commit", "list", people, "--json").json["commits"][-1]["graph_commit_id"]
    told = og("revert", first, "--uri", people, "--json")
    assert (told.code, told.json["code"]) == (1, "parentless_commit")
    assert og("revert", "nope", "--uri", people).code == 1


def test_a_revert_can_conflict(og: Call, people: Path) -> None:
    set_age(og, people, "Ada", 98)
    wrong = og("commit", "list", people, "--json").json["commits"][0]["graph_commit_id"]
    set_age(og, people, "Ada", 99)
    assert og("revert", wrong, "--uri", people).code == 1
    assert og("revert", wrong, "--uri", people, "--resolve", "theirs").code == 0


# ── commits, changes, diff ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_commits(og: Call, people: Path) -> None:
    newest, loaded, first = og("commit", "list", people).lines
    assert " graph_branch=main graph_manifest_version=3 mutate " in newest
    assert newest.endswith(" a note")
    assert " graph_manifest_version=2 actor=loader load " in loaded
    assert " graph_manifest_version=1 init " in first
    assert len(og("commit", "list", people, "--limit", "1").lines) == 1
    assert og("commit", "list", people, "--limit", "0").code == 2
    assert og("commit", "list", people, "--branch", "nowhere").code == 1
    shown = dict(line.split(": ", 1) for line in og("commit", "show", loaded.split()[0], "--uri", people).lines)
    assert shown["graph_commit_id"] == loaded.split()[0]
    assert (shown["graph_branch"], shown["actor_id"], shown["operation"]) == ("main", "loader", "load")
    assert "message" not in shown
    assert og("commit", "show", "nope", "--uri", people, "--json").json["code"] == "not_found"


def test_changes_of_a_commit_are_followed_over_all_pages(og: Call, people: Path) -> None:
    loaded = og("commit", "list", people, "--json").json["commits"][1]["graph_commit_id"]
    whole = og("commit", "changes", loaded, "--uri", people, "--json").json
    assert len(whole["changes"]) == 7
    assert og("commit", "changes", loaded, "--uri", people, "--limit", "2", "--json").json == whole
    lines = og("commit", "changes", loaded, "--uri", people, "--kind", "edge", "--limit", "1").lines
    assert lines[0] == f"commit: {loaded}"
    assert {line for line in lines if line.startswith("insert")} == {
        "insert edge Knows k1", "insert edge Knows k2", "insert edge WorksAt w1",
    }  # fmt: skip
    assert "  Ada -> Bob" in lines
    assert "  + since: 2024-05-01" in lines
    with og_api.open(people) as g:
        token = g.commit_changes(loaded, limit=2).next_page_token
    assert token is not None
    page = og("commit", "changes", loaded, "--uri", people, "--limit", "2", "--page-token", token, "--json").json
    assert (page["changes"], "next_page_token" in page) == (whole["changes"][2:4], True)
    assert og("commit", "changes", loaded, "--uri", people, "--page-token", "x").code == 1
    first = og("commit", "list", people, "--json").json["commits"][-1]["graph_commit_id"]
    assert og("commit", "changes", first, "--uri", people, "--json").json["code"] == "parentless_commit"


def test_the_feed(og: Call, people: Path) -> None:
    start = og("changes", "poll", "--uri", people, "--json").json
    assert (start["blocks"], start["caught_up"]) == ([], True)
    assert og("changes", "poll", "--uri", people).lines[0] == "(no new commits)"
    set_age(og, people, "Cy", 5)
    human = og("changes", "poll", "--uri", people, "--cursor", start["cursor"]).lines
    assert human[-2].startswith("cursor: ")
    assert human[-1] == "caught_up: true"
    assert "update node Person Cy" in human
    assert "  age: <null> -> 5" in human
    every = og("changes", "poll", "--uri", people, "--start", "beginning", "--json").json
    assert [len(b["changes"]) for b in every["blocks"]] == [7, 1, 1]
    assert (
        og("changes", "poll", "--uri", people, "--start", "beginning", "--limit", "3", "--json").json["blocks"] == every["blocks"]
    )
    after = every["blocks"][1]["cause"]["graph_commit_id"]
    assert len(og("changes", "poll", "--uri", people, "--start", f"after:{after}", "--json").json["blocks"]) == 1
    only = og("changes", "poll", "--uri", people, "--start", "beginning", "--type", "Knows", "--op", "insert", "--json").json
    assert [len(b["changes"]) for b in only["blocks"]] == [2, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--cursor", "nonsense"], 1),
        (["--start", "yesterday"], 2),
        (["--start", "after:nope"], 1),
        (["--cursor", "x", "--start", "now"], 2),
        (["--op", "upsert"], 2),
        (["--type", "Nope"], 1),
        (["--limit", "100000"], 1),
        (["--branch", "nowhere"], 1),
    ],
)
def test_feeds_that_cannot_be_read(og: Call, people: Path, arguments: list[str], code: int) -> None:
    assert og("changes", "poll", "--uri", people, *arguments).code == code


def test_a_baseline_and_what_follows(og: Call, people: Path, tmp_path: Path) -> None:
    out = tmp_path / "base.jsonl"
    told = og("changes", "baseline", "--uri", people, "--out", out, "--json").json
    assert out.read_text() == og("export", people).out
    assert told["snapshot_commit_id"] == og("commit", "list", people, "--json").json["commits"][0]["graph_commit_id"]
    set_age(og, people, "Cy", 5)
    blocks = og("changes", "poll", "--uri", people, "--cursor", told["resume_cursor"], "--json").json["blocks"]
    assert [len(b["changes"]) for b in blocks] == [1]
    assert og("changes", "baseline", "--uri", people, "--out", tmp_path / "no" / "where").code == 1
    assert [p.name for p in tmp_path.glob("*.part")] == []


def test_diff(og: Call, people: Path) -> None:
    ran = og("diff", "main", "work", "--uri", people)
    assert ran.lines[0] == "main → work: 3 changes: 2 inserts, 1 update"
    assert "  bio: Keeps the books -> <null>" in ran.lines
    assert og("diff", "main", "work", "--uri", people, "--stat").lines == ran.lines[:1]
    assert og("diff", "main", "main", "--uri", people).lines == ["main → main: no changes"]
    edges = og("diff", "work", "main", "--uri", people, "--kind", "edge").lines
    assert edges[1].startswith("delete edge Knows ")
    assert edges[2] == "  Cy -> Dan"
    assert og("diff", "main", "nowhere", "--uri", people).code == 1
    assert og("diff", "main", "--uri", people).code == 2
    assert og("diff", "main", "work", "--uri", people, "--stat", "--json").code == 2


def test_an_approval_without_a_name_is_shown_as_one(og: Call, people: Path) -> None:
    set_age(og, people, "Alice", 41, "work")
    assert og("review", "create", "work", "--title", "Work", "--uri", people, "--as", "agent").code == 0
    assert og("review", "approve", "1", "--uri", people).out.endswith(", by nobody named: --as says who\n")
    assert og("review", "approve", "1", "--uri", people).code == 0
    assert len(og("review", "show", "1", "--uri", people, "--json").json["verdicts"]) == 1, "nobody named is nobody twice"
    assert "nobody" not in og("review", "approve", "1", "--uri", people, "--as", "ada").out


# ── the history of an entity ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_history_of_an_entity_names_who_changed_it(og: Call, people: Path) -> None:
    og("branch", "create", "agent/7", "--uri", people)
    change = ("--branch", "agent/7", "-e", SET_AGE, "--params", '{"n": "Bob", "a": 50}')
    og("mutate", "--store", people, *change, "--as", "agent", "--message", "as he said")
    og("branch", "merge", "agent/7", "--into", "main", "--uri", people, "--as", "boss")
    merged, made = og("history", "Person", "Bob", "--uri", people).lines[:2]
    assert " by boss: update age " in merged
    assert made.startswith("  from ")
    assert made.endswith(" by agent on agent/7: as he said")
    set_age(og, people, "Bob", 51, "main", "--message", "a year later")
    assert og("history", "Person", "Bob", "--uri", people).lines[0].endswith(": update age 50 → 51 (a year later)")
    (origin,) = og("history", "Person", "Bob", "--uri", people, "--json").json["revisions"][1]["origins"]
    assert (origin["actor_id"], origin["graph_branch"], origin["message"]) == ("agent", "agent/7", "as he said")
