"""Reviews as people handle them: opened, talked about, approved, merged, on a folder, behind a server and in a bucket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key  age: I32? }  edge Knows: Person -> Person"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """Ada on main; Bob on a branch of an agent."""
    g = og.init(tmp_path / "g.omni", SCHEMA, durability="os")
    g.put("Person", {"name": "Ada", "age": 36})
    g.branches.create("agent/7")
    g.put("Person", {"name": "Bob", "age": 20}, branch="agent/7")
    return g


def names(graph: og.Graph, branch: str = "main") -> set[str]:
    return {r["p.name"] for r in graph.query("query q() { match { $p: Person } return { $p.name } }", branch=branch).rows}


def opened(graph: og.Graph, **about: Any) -> og.Review:
    return graph.reviews.create("agent/7", **{"title": "Bob is here", "actor": "agent", **about})


def test_a_branch_is_reviewed_and_merged(graph: og.Graph) -> None:
    review = opened(graph, description="Found in the register.\nTwice.")
    assert (review.id, review.state, review.author, review.source, review.target) == (1, "open", "agent", "agent/7", "main")
    assert review.source_commit == graph.commit("agent/7").id
    review = graph.reviews.comment(review, "Which one?", type="Person", id="Bob", property="age", actor="eve")
    assert [(c.about, c.text, c.actor) for c in review.comments] == [("Person Bob.age", "Which one?", "eve")]
    review = graph.reviews.approve(review, text="fine", actor="eve")
    assert review.state == "approved"
    merged = graph.reviews.merge(review, actor="ada")
    assert merged.state == "merged"
    assert merged.merge is not None
    assert (merged.merge.actor, merged.merge.approved_by) == ("ada", ("eve",))
    assert merged.merge.source_commit == review.source_commit
    commit = graph.commits(limit=1)[0]
    assert (commit.id, commit.actor, commit.message) == (merged.merge.commit, "ada", "Merge review 1: Bob is here")
    assert commit.merged_parent == review.source_commit
    assert commit.idempotency_key is not None
    assert commit.idempotency_key.startswith("review:1:")
    assert names(graph) == {"Ada", "Bob"}
    assert [e.kind for e in merged.events] == ["created", "comment", "approved", "merged"]
    assert merged.keeps == ()
    assert graph.reviews.get(1) == merged


def test_an_approval_is_of_a_commit(graph: og.Graph) -> None:
    review = opened(graph)
    approved = graph.reviews.approve(review, actor="eve")
    graph.put("Person", {"name": "Cid"}, branch="agent/7")
    now = graph.reviews.get(review)
    assert (now.state, now.verdicts[0].stale, now.approvals) == ("open", True, ())
    for stale in (1, approved):
        with pytest.raises(og.ReviewStale) as refused:
            graph.reviews.merge(stale, actor="ada")
        assert (refused.value.review, refused.value.actual) == (1, now.source_commit)
    with pytest.raises(og.ReviewStale):
        graph.reviews.approve(approved, actor="ivy")
    with pytest.raises(og.ReviewStale):
        graph.reviews.approve(1, commit=approved.source_commit, actor="ivy")
    assert names(graph) == {"Ada"}
    graph.reviews.approve(1, actor="eve")
    assert graph.reviews.merge(1, actor="ada").state == "merged"
    assert names(graph) == {"Ada", "Bob", "Cid"}


def test_upkeep_of_the_source_makes_nothing_stale(graph: og.Graph) -> None:
    opened(graph)
    graph.reviews.approve(1, actor="eve")
    graph.optimize("agent/7")
    assert graph.reviews.get(1).state == "approved"
    assert graph.reviews.merge(1, actor="ada").state == "merged"


def test_nobody_merges_while_changes_are_requested(graph: og.Graph) -> None:
    opened(graph)
    graph.reviews.approve(1, actor="eve")
    review = graph.reviews.request_changes(1, "Bob is 21", actor="ivy")
    assert review.state == "changes_requested"
    with pytest.raises(og.ApprovalMissing, match="ivy asked for changes"):
        graph.reviews.merge(1, actor="ada")
    assert graph.reviews.approve(1, actor="ivy").state == "approved"  # the last word of a reviewer counts
    assert len(graph.reviews.get(1).verdicts) == 2
    assert graph.reviews.merge(1, actor="ada").merge.approved_by == ("eve", "ivy")  # type: ignore[union-attr]


def test_without_approvals_a_review_is_merged_as_it_is(graph: og.Graph) -> None:
    review = opened(graph)
    assert graph.reviews.merge(review, actor="ada").merge.approved_by == ()  # type: ignore[union-attr]


def test_a_merged_review_is_over(graph: og.Graph) -> None:
    opened(graph)
    merged = graph.reviews.merge(1, actor="ada")
    calls: tuple[Callable[[], object], ...] = (
        lambda: graph.reviews.merge(1, actor="bob"),
        lambda: graph.reviews.approve(1, actor="bob"),
        lambda: graph.reviews.request_changes(1, "no", actor="bob"),
        lambda: graph.reviews.close(1, actor="bob"),
        lambda: graph.reviews.reopen(1, actor="bob"),
    )
    for call in calls:
        with pytest.raises(og.ReviewOver, match="was merged by ada") as refused:
            call()
        assert refused.value.commit == merged.merge.commit  # type: ignore[union-attr]
    assert graph.reviews.comment(1, "thanks", actor="bob").comments[0].text == "thanks"


def test_closed_and_opened_again(graph: og.Graph) -> None:
    opened(graph)
    closed = graph.reviews.close(1, text="not now", actor="eve")
    assert (closed.state, closed.keeps, closed.events[-1].text) == ("closed", (), "not now")
    with pytest.raises(og.ReviewOver, match="was closed by eve"):
        graph.reviews.merge(1, actor="ada")
    again = graph.reviews.reopen(1, actor="eve")
    assert again.state == "open"
    assert again.source_commit in again.keeps
    with pytest.raises(og.UsageError, match="is open"):
        graph.reviews.reopen(1, actor="eve")
    assert graph.reviews.merge(1, actor="ada").state == "merged"


def test_conflicts_are_shown_and_resolved(graph: og.Graph) -> None:
    graph.put("Person", {"name": "Ada", "age": 40}, branch="agent/7")
    graph.put("Person", {"name": "Ada", "age": 37})
    opened(graph)
    shown = graph.reviews.diff(1)
    assert shown.preview is not None
    assert [c.key for c in shown.preview.conflicts] == ["divergent_update:node:Person:Ada"]
    assert {(c.op, c.id) for c in shown.diff} == {("insert", "Bob"), ("update", "Ada")}
    assert "1 conflict" in repr(shown)
    with pytest.raises(og.MergeConflict) as refused:
        graph.reviews.merge(1, actor="ada")
    assert refused.value.conflicts[0].key == "divergent_update:node:Person:Ada"
    assert graph.reviews.get(1).state == "open"
    assert [e.kind for e in graph.reviews.get(1).events] == ["created"]
    decided = {"divergent_update:node:Person:Ada": {"age": 41}}
    with pytest.raises(og.GraphError, match=r"as it was approved|policy of a server"):
        graph.reviews.merge(1, resolve=decided, rules=[og.ReviewRule(branches=frozenset({"main"}), approvals=1)], actor="ada")
    merged = graph.reviews.merge(1, resolve=decided, actor="ada")
    assert merged.state == "merged"
    ada: Any = graph.get("Person", "Ada")
    assert ada.properties["age"] == 41


def test_a_diff_is_what_the_source_adds(graph: og.Graph) -> None:
    graph.put("Person", {"name": "Zoe"})  # main goes on; that is no part of what the source adds
    opened(graph)
    shown = graph.reviews.diff(1)
    assert [(c.op, c.id) for c in shown.diff] == [("insert", "Bob")]
    assert shown.preview is not None
    assert shown.preview.outcome == "merged"
    graph.reviews.merge(1, actor="ada")
    graph.branches.delete("agent/7")
    after = graph.reviews.diff(1)
    assert [(c.op, c.id) for c in after.diff] == [("insert", "Bob")]
    assert after.preview is None
    assert after.to_dict()["review"]["state"] == "merged"


def test_schemas_that_changed_apart_are_told(graph: og.Graph) -> None:
    graph.apply_schema(SCHEMA.replace("age: I32?", "age: I32?  city: String?"), branch="agent/7")
    graph.put("Person", {"name": "Zoe"})
    opened(graph)
    shown = graph.reviews.diff(1)
    assert shown.preview is None
    assert shown.problem is not None
    assert "schema" in shown.problem
    assert [(c.op, c.id) for c in shown.diff] == [("insert", "Bob")]


def test_the_source_may_be_gone(graph: og.Graph) -> None:
    review = opened(graph)
    graph.reviews.approve(1, actor="eve")
    graph.branches.delete("agent/7")
    gone = graph.reviews.get(1)
    assert (gone.state, gone.source_exists, gone.source_commit) == ("approved", False, review.source_commit)
    assert [(c.op, c.id) for c in graph.reviews.diff(1).diff] == [("insert", "Bob")]
    calls: tuple[Callable[[], object], ...] = (
        lambda: graph.reviews.merge(1, actor="ada"),
        lambda: graph.reviews.approve(1, actor="ivy"),
    )
    for call in calls:
        with pytest.raises(og.NotFound) as refused:
            call()
        assert str(review.source_commit) in refused.value.hint
    graph.reviews.comment(1, "where is it?", type="Person", id="Bob", actor="ivy")
    graph.branches.create("agent/7", str(review.source_commit))  # the approval is of the commit, whatever its branch was
    assert graph.reviews.get(1).state == "approved"
    assert graph.reviews.merge(1, actor="ada").merge.approved_by == ("eve",)  # type: ignore[union-attr]
    assert names(graph) == {"Ada", "Bob"}


def test_what_was_merged_elsewhere_is_merged(graph: og.Graph) -> None:
    opened(graph)
    graph.merge("agent/7")
    merged = graph.reviews.merge(1, actor="ada")
    assert merged.state == "merged"
    assert merged.merge is not None
    assert merged.merge.commit is None
    with pytest.raises(og.ReviewOver):
        graph.reviews.merge(1, actor="ada")


def test_lists(graph: og.Graph) -> None:
    graph.branches.create("agent/8")
    graph.branches.create("release")
    opened(graph)
    graph.reviews.create("agent/8", "release", title="two", actor="eve")
    graph.reviews.create("agent/8", title="three", actor="eve")
    graph.reviews.close(2, actor="eve")
    graph.reviews.approve(3, actor="ada")

    def ids(**chosen: Any) -> list[int]:
        return [review.id for review in graph.reviews.list(**chosen)]

    assert ids() == [3, 2, 1]
    assert ids(state="open") == [1]
    assert ids(state=["open", "approved"]) == [3, 1]
    assert ids(source="agent/8") == [3, 2]
    assert ids(target="release") == [2]
    assert ids(author="agent") == [1]
    assert ids(limit=1) == [3]
    assert ids(before=3, limit=1) == [2]
    assert ids(author="nobody") == []
    assert repr(graph.reviews.list(state="closed")).splitlines()[0].split()[:2] == ["review", "state"]
    assert "<table>" in graph.reviews.list()._repr_html_()


def test_comments_are_about_something_that_is_there(graph: og.Graph) -> None:
    opened(graph)
    graph.reviews.comment(1, "about the whole", actor="eve")
    graph.reviews.comment(1, "about Ada", type="Person", id="Ada", actor="eve")
    for about in ({"type": "Person"}, {"id": "Bob"}, {"property": "age"}):
        with pytest.raises(og.UsageError, match="type and its id"):
            graph.reviews.comment(1, "x", actor="eve", **about)
    wrong = ({"type": "Persn", "id": "Bob"}, {"type": "Person", "id": "Nobody"}, {"type": "Person", "id": "Bob", "property": "x"})
    for named in wrong:
        with pytest.raises(og.NotFound):
            graph.reviews.comment(1, "x", actor="eve", **named)
    assert [c.about for c in graph.reviews.get(1).comments] == ["", "Person Ada"]


def test_arguments_are_checked_before_anything_is_done(graph: og.Graph) -> None:
    for wrong in ("", "  ", "two\nlines", "x" * 257):
        with pytest.raises(og.UsageError):
            graph.reviews.create("agent/7", title=wrong)
    with pytest.raises(og.UsageError, match="into itself"):
        graph.reviews.create("main", title="x")
    for source, target in (("nowhere", "main"), ("agent/7", "nowhere")):
        with pytest.raises(og.NotFound):
            graph.reviews.create(source, target, title="x")
    assert graph.reviews.list() == []
    opened(graph)
    with pytest.raises(og.NotFound) as missing:
        graph.reviews.get(2)
    assert (missing.value.what, missing.value.name) == ("review", "2")
    for review in (0, -1, "1", None, 1.5, True):
        with pytest.raises(og.UsageError):
            graph.reviews.get(review)  # type: ignore[arg-type]
    with pytest.raises(og.UsageError):
        graph.reviews.comment(1, "  ")
    with pytest.raises(og.UsageError):
        graph.reviews.comment(1, "x" * 65_537)
    with pytest.raises(og.UsageError):
        graph.reviews.list(state="opened")  # type: ignore[arg-type]


def test_short_texts(graph: og.Graph) -> None:
    review = opened(graph, description="why")
    assert repr(review) == "Review 1 (open): Bob is here, agent/7 into main, by agent, just now"
    review = graph.reviews.approve(graph.reviews.comment(1, "hm", type="Person", id="Bob", actor="eve"), actor="eve")
    assert repr(review.comments[0]) == "Comment on Person Bob, by eve, just now: hm"
    assert repr(review.verdicts[0]).startswith("approved at 01")
    lines = review.lines()
    assert lines[0] == "review 1: Bob is here"
    assert "on Person Bob:" in lines
    assert "<pre>" in review._repr_html_()
    assert "Bob" in repr(graph.reviews.diff(1))


def test_another_review_is_no_way_past_a_request_for_changes(graph: og.Graph) -> None:
    first = opened(graph)
    graph.reviews.request_changes(first, "Bob is 21", actor="ivy")
    second = graph.reviews.create("agent/7", title="again", actor="agent")
    graph.reviews.approve(second, actor="eve")
    with pytest.raises(og.ApprovalMissing, match="ivy asked for changes to the same commit in review 1"):
        graph.reviews.merge(second.id)
    graph.reviews.close(first.id, actor="agent")
    with pytest.raises(og.ApprovalMissing, match="in review 1"):
        graph.reviews.merge(second.id)
    graph.put("Person", {"name": "Bob", "age": 21}, branch="agent/7")
    graph.reviews.approve(second.id, actor="eve")
    assert graph.reviews.merge(second.id).state == "merged"


def merged_and_deleted(folder: Path) -> og.Graph:
    """A branch whose merge base with main is a commit of a branch that was merged into both, and deleted."""
    g = og.init(folder / "m.omni", SCHEMA, durability="os")
    g.put("Person", {"name": "Ada"})
    for name in ("feature", "long"):
        g.branches.create(name)
    for name, branch in (("Main", "main"), ("Long", "long"), ("Feature", "feature")):
        g.put("Person", {"name": name}, branch=branch)
    g.merge("feature")
    g.merge("feature", "long")
    g.branches.delete("feature")
    g.put("Person", {"name": "Later"}, branch="long")
    g.put("Person", {"name": "Last"})
    return g


def test_a_review_whose_base_is_of_a_branch_that_is_gone(tmp_path: Path) -> None:
    with merged_and_deleted(tmp_path) as g:
        g.reviews.create("long", title="Long")
    with og.open(tmp_path / "m.omni") as g:
        assert g.reviews.diff(1).preview is not None
        assert g.reviews.merge(1).state == "merged"
        assert names(g) == {"Ada", "Main", "Long", "Feature", "Later", "Last"}


def test_a_merge_whose_base_is_of_a_branch_that_is_gone_after_a_change_of_the_schema(tmp_path: Path) -> None:
    with merged_and_deleted(tmp_path) as g:
        g.apply_schema(SCHEMA.replace("age: I32?", "age: I32?  city: String?"), also=["long"])
    with og.open(tmp_path / "m.omni") as g:
        assert g.merge("long").outcome == "merged"
