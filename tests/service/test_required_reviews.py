"""Where a policy demands reviews: a branch moves by a review with enough approvals, and by nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.policy.authoriser import PolicyAuthoriser
from omnigraph.policy.bundle import read_bundle
from omnigraph.policy.port import Action, ReviewRule
from omnigraph.service import Caller, GraphRef, Origin, Service
from omnigraph.service.audit import AuditRecord, Outcome
from omnigraph.service.direct import DirectGraphs
from omnigraph.service.operation import Operation
from omnigraph.service.operations.apply_schema import ApplySchema
from omnigraph.service.operations.approve_review import ApproveReview
from omnigraph.service.operations.close_review import CloseReview
from omnigraph.service.operations.comment_review import CommentReview
from omnigraph.service.operations.create_branch import CreateBranch
from omnigraph.service.operations.create_review import CreateReview
from omnigraph.service.operations.delete_branch import DeleteBranch
from omnigraph.service.operations.diff_review import DiffReview
from omnigraph.service.operations.list_reviews import ListReviews
from omnigraph.service.operations.load import Load
from omnigraph.service.operations.merge import Merge
from omnigraph.service.operations.merge_review import MergeReview
from omnigraph.service.operations.mutate import Mutate
from omnigraph.service.operations.optimize import Optimize
from omnigraph.service.operations.put_entity import PutEntity
from omnigraph.service.operations.request_changes import RequestChanges
from omnigraph.service.operations.revert import Revert
from omnigraph.service.operations.show_review import ShowReview

SCHEMA = "node Person { name: String @key }"
ADD = "query add($n: String) { insert Person { name: $n } }"
ACTIONS = ", ".join(a.value for a in Action if a.value not in ("graph_list", "config_manage", "audit_read", "load_overwrite"))
BUNDLE = f"""
version: 1
groups:
  everybody: [ada, bob, eve, agent]
  owners: [ada, bob]
  readers: [rae]
protected_branches: [main, release]
rules:
  - {{ id: all, allow: {{ actors: {{ group: everybody }}, actions: [{ACTIONS}] }} }}
  - {{ id: some, allow: {{ actors: {{ group: readers }}, actions: [read, review_comment] }} }}
reviews:
  - target_branch_scope: [main]
    approvals: APPROVALS
    from_group: owners
    not_author: AUTHOR
  - target_branch_scope: [release]
    approvals: 1
"""


class Kept:
    """An audit in a list."""

    def __init__(self) -> None:
        self.records: list[AuditRecord] = []

    def takes(self, outcome: Outcome) -> bool:
        return True

    def write(self, record: AuditRecord) -> None:
        self.records.append(record)


@dataclass
class Served:
    """A graph behind a door with a policy."""

    ref: GraphRef
    service: Service
    audit: Kept

    def run(self, actor: str, operation: Operation[Any]) -> Any:
        return self.service.run(Caller(actor, Origin.PYTHON), operation)


Serve = Callable[[int, bool], Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with og.init(tmp_path / "g.omni", SCHEMA, durability="os") as g:
        g.put("Person", {"name": "Ada"})
        g.branches.create("release")
        g.branches.create("agent/7")
        g.put("Person", {"name": "Bob"}, branch="agent/7")
        ref = GraphRef(g.uri, id="people")
    opened: list[Service] = []

    def made(approvals: int, not_author: bool) -> Served:
        text = BUNDLE.replace("APPROVALS", str(approvals)).replace("AUTHOR", str(not_author).lower())
        audit = Kept()
        opened.append(
            Service(DirectGraphs(), authoriser=PolicyAuthoriser({"people": read_bundle(text, source="policy.yaml")}), audit=audit)
        )
        return Served(ref, opened[-1], audit)

    yield made
    for service in opened:
        service.close()


def test_nothing_but_a_review_moves_a_protected_branch(serve: Serve) -> None:
    served = serve(1, True)
    ref = served.ref
    graph = served.service.graphs.open(ref)
    before = graph.commit("main").id
    for operation in (
        Mutate(ref, ADD, {"n": "x"}),
        PutEntity(ref, "Person", {"name": "x"}),
        Load(ref, [], "merge"),
        Load(ref, [], "overwrite"),
        Merge(ref, "agent/7"),
        Revert(ref, before),
        ApplySchema(ref, SCHEMA),
        DeleteBranch(ref, "release"),
        Mutate(ref, ADD, {"n": "x"}, branch=" release "),
    ):
        with pytest.raises(og.Forbidden, match=r"moves by a review with 1 approval.*open a review") as refused:
            served.run("ada", operation)
        assert refused.value.rule == "review-required"
        assert "g.reviews.create()" in refused.value.hint
        last = served.audit.records[-1]
        assert (last.kind, last.outcome, last.rule) == ("decision", "denied", "review-required")
    assert graph.commit("main").id == before
    assert served.run("ada", Merge(ref, "agent/7", dry_run=True)).outcome == "fast_forward"
    served.run("ada", CreateBranch(ref, "agent/8"))
    served.run("ada", Mutate(ref, ADD, {"n": "y"}, branch="agent/8"))
    served.run("ada", Optimize(ref))
    may = served.service.may
    caller = Caller("ada", Origin.PYTHON)
    change = Mutate(ref, ADD).access(served.service.lookup(ref))[0]
    assert not may(caller, ref, change), "who asks what is possible is told the same"


@pytest.mark.parametrize(("approvals", "not_author"), [(1, False), (1, True), (2, True)])
def test_so_many_approvals_from_a_group_and_not_by_the_author(serve: Serve, approvals: int, not_author: bool) -> None:
    """Every choice of who approves, for a review by each: against the rule, counted by hand."""
    served = serve(approvals, not_author)
    ref = served.ref
    number = 0
    for author in ("ada", "agent"):
        for size in range(4):
            for chosen in itertools.combinations(("ada", "bob", "eve"), size):
                number += 1
                review = served.run(author, CreateReview(ref, "agent/7", "Bob"))
                assert review.id == number
                for actor in chosen:
                    served.run(actor, ApproveReview(ref, number))
                counting = {a for a in chosen if a in ("ada", "bob") and not (not_author and a == author)}
                if len(counting) >= approvals:
                    done = served.run("agent", MergeReview(ref, number))  # after the first one, nothing is left to merge
                    assert (done.state, done.merge.approved_by) == ("merged", chosen)
                    continue
                with pytest.raises(og.ApprovalMissing, match="from group `owners`") as refused:
                    served.run("ada", MergeReview(ref, number))
                assert refused.value.missing == approvals - len(counting)
    served.run("agent", Mutate(ref, ADD, {"n": "Cid"}, branch="agent/7"))
    review = served.run("agent", CreateReview(ref, "agent/7", "Cid"))
    for actor in ("ada", "bob")[:approvals]:
        served.run(actor, ApproveReview(ref, review.id))
    merged = served.run("eve", MergeReview(ref, review.id))
    assert (merged.state, merged.merge.approved_by) == ("merged", ("ada", "bob")[:approvals])
    written = [r for r in served.audit.records if r.kind == "write"][-1]
    assert (written.actor, written.operation, written.outcome, written.commit) == (
        "eve",
        "review merge",
        "done",
        merged.merge.commit,
    )
    assert (written.action, written.branch, written.target_branch) == ("review_merge", "agent/7", "main")


def test_an_approval_of_an_older_commit_does_not_count(serve: Serve) -> None:
    served = serve(1, True)
    ref = served.ref
    served.run("agent", CreateReview(ref, "agent/7", "Bob"))
    served.run("ada", ApproveReview(ref, 1))
    served.run("agent", Mutate(ref, ADD, {"n": "Mallory"}, branch="agent/7"))
    with pytest.raises(og.ReviewStale):
        served.run("agent", MergeReview(ref, 1))
    served.run("eve", ApproveReview(ref, 1))  # of the new commit, but not of the group
    with pytest.raises(og.ReviewStale):
        served.run("agent", MergeReview(ref, 1))
    served.run("bob", ApproveReview(ref, 1))
    assert served.run("agent", MergeReview(ref, 1)).merge.approved_by == ("eve", "bob")


def test_a_review_into_a_branch_without_a_rule_needs_none(serve: Serve) -> None:
    served = serve(2, True)
    ref = served.ref
    served.run("ada", CreateBranch(ref, "open"))
    served.run("agent", CreateReview(ref, "agent/7", "Bob", "open"))
    assert served.run("agent", MergeReview(ref, 1)).state == "merged"


def test_actions_are_decided_one_by_one(serve: Serve) -> None:
    served = serve(1, True)
    ref = served.ref
    served.run("agent", CreateReview(ref, "agent/7", "Bob"))
    assert served.run("rae", ShowReview(ref, 1)).title == "Bob"
    assert len(served.run("rae", DiffReview(ref, 1)).diff) == 1
    served.run("rae", CommentReview(ref, 1, "hm"))
    for operation, action in (
        (CreateReview(ref, "agent/7", "x"), "review_create"),
        (ApproveReview(ref, 1), "review_approve"),
        (RequestChanges(ref, 1, "x"), "review_approve"),
        (MergeReview(ref, 1), "review_merge"),
        (CloseReview(ref, 1), "review_create"),
    ):
        with pytest.raises(og.Forbidden) as refused:
            served.run("rae", operation)
        assert refused.value.action == action
    assert [e.kind for e in served.run("rae", ShowReview(ref, 1)).events] == ["created", "comment"]


def test_a_review_says_how_many_approvals_it_has_and_needs(serve: Serve) -> None:
    served = serve(2, True)
    ref = served.ref
    review = served.run("agent", CreateReview(ref, "agent/7", "Bob"))
    assert repr(review).startswith("Review 1 (open, 0 of 2 approvals): Bob")
    served.run("eve", ApproveReview(ref, 1))
    review = served.run("ada", ApproveReview(ref, 1))
    assert (review.state, review.approvals_given, review.approvals_needed) == ("approved", 1, 2), "eve is of no group that counts"
    assert repr(served.run("ada", ShowReview(ref, 1))).startswith("Review 1 (approved, 1 of 2 approvals): Bob")
    assert "approved, 1 of 2 approvals" in repr(served.run("ada", ListReviews(ref)))
    assert "approved, 1 of 2 approvals" in repr(served.run("ada", DiffReview(ref, 1)))
    told = review.to_dict()
    assert (told["approvals_given"], told["approvals_needed"]) == (1, 2)
    served.run("bob", ApproveReview(ref, 1))
    assert served.run("ada", ShowReview(ref, 1)).approvals_given == 2
    merged = served.run("ada", MergeReview(ref, 1))
    assert repr(merged).startswith("Review 1 (merged): Bob")


def test_where_the_authors_approval_does_not_count_one_of_nobody_knows_whom_does_not(serve: Serve) -> None:
    served = serve(1, True)
    graph = served.service.graphs.open(served.ref)
    graph.reviews.create("agent/7", "release", title="Bob", actor="agent")
    graph.reviews.approve(1)
    rule = ReviewRule(frozenset({"release"}), 1, not_author=True)
    with pytest.raises(og.ApprovalMissing) as refused:
        graph.reviews.merge(1, rules=[rule], actor="agent")
    assert refused.value.missing == 1
