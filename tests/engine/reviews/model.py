"""Random histories of reviews, played on a graph and on a model that is too simple to be wrong.

Everybody only adds people with names of their own, so what a branch holds is a set of names, a merge is a union, and there are no
conflicts. The model keeps, per commit, the names it holds; per review, what was said in order. What it says of a call (which error,
or what the review is afterwards) is written down without looking at how reviews are made.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import omnigraph as og
from omnigraph.storage.reclaiming.reclaim import reclaim

SCHEMA = "node Person { name: String @key }"
ACTORS = ("ada", "bob", "eve", "agent")
SOURCES = ("s1", "s2", "s3")
RULES: tuple[tuple[og.ReviewRule, ...], ...] = (
    (),
    (),
    (og.ReviewRule(frozenset({"main"}), 1, not_author=True),),
    (og.ReviewRule(frozenset({"main"}), 2),),
    (og.ReviewRule(frozenset({"main"}), 1, "owners", frozenset({"ada", "bob"})),),
    (og.ReviewRule(frozenset({"main"}), 2, "owners", frozenset({"ada", "bob", "eve"}), True),),
)
NAMES = "query q() { match { $p: Person } return { $p.name } }"


@dataclass
class Modelled:
    """A review, as the model has it."""

    source: str
    author: str
    base: str
    said: list[tuple[str, str, str]] = field(default_factory=list)
    """Verdicts in order: who, what, about which commit."""
    comments: list[tuple[str, str]] = field(default_factory=list)
    over: str | None = None
    merged_by: tuple[str, str, frozenset[str]] | None = None
    """Who, which commit of the source, who had approved."""
    seen: str = ""

    def words(self, commit: str | None) -> dict[str, str]:
        """The last word of each, where it is about a commit."""
        last = {actor: (what, about) for actor, what, about in self.said}
        return {actor: what for actor, (what, about) in last.items() if about == commit}


class History:
    """A graph and its model."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.path = folder / f"g{seed}.omni"
        self.graph = og.init(self.path, SCHEMA, durability="os")
        self.names: dict[str, frozenset[str]] = {}
        self.heads: dict[str, str] = {}
        self.reviews: dict[int, Modelled] = {}
        self.old: list[og.Review] = []
        """Reviews as somebody read them some time ago."""
        self.number = 0
        self.log: list[str] = []
        self._add("main")

    def _add(self, branch: str) -> None:
        self.number += 1
        receipt = self.graph.put("Person", {"name": f"p{self.number}"}, branch=branch)
        assert receipt.commit is not None
        before = self.names[self.heads[branch]] if branch in self.heads else frozenset()
        self.heads[branch] = receipt.commit.id
        self.names[receipt.commit.id] = before | {f"p{self.number}"}

    # ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def step(self) -> None:
        """Something happens; the graph and the model agree about what came of it."""
        choices = {
            self.commit: 5,
            self.branch: 3,
            self.delete: 1,
            self.create: 4,
            self.talk: 2,
            self.judge: 8,
            self.merge: 6,
            self.close: 1,
            self.reopen: 2,
            self.cleanup: 1,
            self.open_again: 1,
            self.upkeep: 1,
        }
        chosen = self.random.choices(list(choices), list(choices.values()))[0]
        self.log.append(chosen.__name__)
        chosen()

    def commit(self) -> None:
        self._add(self.random.choice(list(self.heads)))

    def upkeep(self) -> None:
        self.graph.optimize(self.random.choice(list(self.heads)))

    def branch(self) -> None:
        name = self.random.choice(SOURCES)
        if name in self.heads:
            return
        start = self.heads["main"]
        unfinished = [r.seen for r in self.reviews.values() if r.source == name and r.over is None]
        if unfinished and self.random.random() < 0.7:
            start = self.random.choice(unfinished)  # where a review has seen it
        self.graph.branches.create(name, start)
        self.heads[name] = start

    def delete(self) -> None:
        gone = [name for name in self.heads if name != "main"]
        if gone:
            name = self.random.choice(gone)
            self.graph.branches.delete(name)
            del self.heads[name]

    def create(self) -> None:
        sources = [name for name in self.heads if name != "main"]
        if not sources:
            return
        source, author = self.random.choice(sources), self.random.choice(ACTORS)
        made = self.graph.reviews.create(source, title=f"from {source}", actor=author)
        assert made.id == len(self.reviews) + 1
        self.reviews[made.id] = Modelled(source, author, made.base, seen=self.heads[source])
        self.old.append(made)

    def _some(self) -> int | None:
        return self.random.choice(list(self.reviews)) if self.reviews else None

    def talk(self) -> None:
        number, actor = self._some(), self.random.choice(ACTORS)
        if number is not None:
            text = f"c{len(self.log)}"
            self.graph.reviews.comment(number, text, actor=actor)
            self.reviews[number].comments.append((actor, text))

    def judge(self) -> None:
        given = self._given()
        if given is None:
            return
        number, expected = given.id if isinstance(given, og.Review) else given, _seen(given)
        review, actor = self.reviews[number], self.random.choice(ACTORS)
        head, approves = self.heads.get(review.source), self.random.random() < 0.75
        reviews = self.graph.reviews
        found, error = _tried(
            lambda: reviews.approve(given, actor=actor) if approves else reviews.request_changes(given, "no", actor=actor)
        )
        assert error is self._refusal(review, head, expected), self.log[-20:]
        if found is None:
            return
        assert head is not None
        review.said = [w for w in review.said if w[0] != actor] + [(actor, "approved" if approves else "changes_requested", head)]
        review.seen = head
        self.old.append(found)

    def _given(self) -> og.Review | int | None:
        """A review by its number, or as somebody has read it at some time."""
        if self.old and self.random.random() < 0.4:
            return self.random.choice(self.old)
        return self._some()

    @staticmethod
    def _refusal(review: Modelled, head: str | None, expected: str | None) -> type[og.GraphError] | None:
        if review.over is not None:
            return og.ReviewOver
        if head is None:
            return og.NotFound
        return og.ReviewStale if expected not in (None, head) else None

    def merge(self) -> None:
        given = self._given()
        if given is None:
            return
        number = given.id if isinstance(given, og.Review) else given
        review, actor, rules = self.reviews[number], self.random.choice(ACTORS), self.random.choice(RULES)
        head = self.heads.get(review.source)
        expected = self._refusal(review, head, _seen(given)) or self._lacking(review, head, rules)
        others = [r for r in self.reviews.values() if r is not review and r.source == review.source and r.over != "merged"]
        if review.over is None and head is not None and any("changes_requested" in r.words(head).values() for r in others):
            expected = og.ApprovalMissing
        done, error = _tried(lambda: self.graph.reviews.merge(given, rules=rules, actor=actor))
        assert error is expected, self.log[-20:]
        if done is None:
            return
        assert head is not None
        assert done.merge is not None
        approved = frozenset(a for a, what in review.words(head).items() if what == "approved")
        review.over, review.merged_by, review.seen = "merged", (actor, head, approved), head
        if self.names[head] <= self.names[self.heads["main"]]:
            assert done.merge.commit is None
        else:
            assert done.merge.commit is not None
            self.names[done.merge.commit] = self.names[self.heads["main"]] | self.names[head]
            self.heads["main"] = done.merge.commit

    @staticmethod
    def _lacking(review: Modelled, head: str | None, rules: tuple[og.ReviewRule, ...]) -> type[og.GraphError] | None:
        words = review.words(head)
        if "changes_requested" in words.values():
            return og.ApprovalMissing
        approved = {actor for actor, what in words.items() if what == "approved"}
        older = any(what == "approved" and about != head for _, what, about in review.said)
        enough = all(
            len(
                {
                    a
                    for a in approved
                    if (a != review.author or not rule.not_author) and (rule.members is None or a in rule.members)
                }
            )
            >= rule.approvals
            for rule in rules
        )
        if older and (not enough or not approved):
            return og.ReviewStale
        return None if enough else og.ApprovalMissing

    def close(self) -> None:
        number, actor = self._some(), self.random.choice(ACTORS)
        if number is None:
            return
        review = self.reviews[number]
        try:
            self.graph.reviews.close(number, actor=actor)
        except og.ReviewOver:
            assert review.over is not None
            return
        assert review.over is None
        review.over = "closed"

    def reopen(self) -> None:
        number, actor = self._some(), self.random.choice(ACTORS)
        if number is None:
            return
        review = self.reviews[number]
        head = self.heads.get(review.source)
        wanted: type[og.GraphError] | None = og.NotFound if head is None else og.ReviewOver if review.over == "merged" else None
        wanted = wanted or (og.UsageError if review.over is None else None)
        found, error = _tried(lambda: self.graph.reviews.reopen(number, actor=actor))
        assert error is wanted, self.log[-20:]
        if found is None:
            return
        assert head is not None
        review.over, review.seen, review.base = None, head, found.base

    def cleanup(self) -> None:
        reclaim(self.graph._store, keep=1, older_than=timedelta(0), grace=timedelta(0), dry_run=False)
        self.graph._views.forget()

    def open_again(self) -> None:
        self.graph.close()
        self.graph = og.open(self.path, durability="os")

    # ── what must hold ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def check(self) -> None:
        """The graph and the model say the same of everything."""
        seen = {review.id: review for review in self.graph.reviews.list()}
        assert set(seen) == set(self.reviews)
        for number, review in self.reviews.items():
            self._check(seen[number], review)
        for branch, head in self.heads.items():
            assert {row["p.name"] for row in self.graph.query(NAMES, branch=branch).rows} == self.names[head]
        keys = [c.idempotency_key or "" for c in self.graph.commits()]
        marked = [key.split(":")[1] for key in keys if key.startswith("review:")]
        assert len(set(marked)) == len(marked), "a review was merged twice"

    def _check(self, found: og.Review, review: Modelled) -> None:
        head = self.heads.get(review.source)
        commit = review.seen if review.over is not None or head is None else head
        words = review.words(commit)
        state = review.over or ("changes_requested" if "changes_requested" in words.values() else "approved" if words else "open")
        assert (found.state, found.source_commit, found.author) == (state, commit, review.author), (found, self.log[-20:])
        assert {v.actor: v.kind for v in found.verdicts if not v.stale} == words
        assert [(c.actor, c.text) for c in found.comments] == review.comments
        if review.merged_by is not None:
            assert found.merge is not None
            merged = (found.merge.actor, found.merge.source_commit, frozenset(found.merge.approved_by))
            assert merged == review.merged_by
        if review.over is None:
            for kept in (review.base, commit):
                rows = self.graph.query(NAMES, at=kept).rows
                assert {row["p.name"] for row in rows} == self.names[kept], "what an open review needs is readable"
            if head is None:
                adds = {c.id for c in self.graph.reviews.diff(found.id).diff if c.op == "insert"}
                assert adds == self.names[commit] - self.names[review.base]
        else:
            assert found.keeps == ()


def _seen(given: og.Review | int) -> str | None:
    return given.source_commit if isinstance(given, og.Review) else None


def _tried(call: Callable[[], og.Review]) -> tuple[og.Review | None, type[og.GraphError] | None]:
    """What a call came to: a review, or the class of an error."""
    try:
        return call(), None
    except og.GraphError as error:
        return None, type(error)
