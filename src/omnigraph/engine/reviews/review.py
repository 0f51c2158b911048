"""A review as people see it: what is to be merged, what was said about it, and where it stands.

r = g.reviews.get(7)
r.state             open, approved, changes_requested, merged or closed
r.verdicts          the last word of each reviewer; one about an older commit of the source is stale, and does not count
r.comments          about the whole, an entity, or a property of one
r.source_commit     the newest commit of the source: what an approval now would be about
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any, Literal

from omnigraph.engine.history.diff import Diff
from omnigraph.engine.history.merge import Merge
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import ago, by_actor, counted, one_line, short_id
from omnigraph.model.printable import printable
from omnigraph.model.text_tables import html_table, html_text, text_table

ReviewState = Literal["open", "approved", "changes_requested", "merged", "closed"]
STATES: tuple[ReviewState, ...] = ("open", "approved", "changes_requested", "merged", "closed")


@frozen
class ReviewComment:
    """Something that was said: about the whole, about an entity, or about a property of one."""

    actor: str | None
    at: int
    """Microseconds since the epoch."""
    text: str
    commit: str | None
    """The newest commit of the source at that time."""
    type: str | None = None
    id: str | None = None

    @property
    def about(self) -> str:
        """`Person Ada.age`; nothing if it is about the whole."""
        if self.type is None:
            return ""
        return f"{self.type} {self.id}" + ("" if self.property is None else f".{self.property}")

    def __repr__(self) -> str:
        about = f" on {self.about}" if self.about else ""
        return one_line(f"Comment{about}{by_actor(self.actor)}, {ago(self.at)}: {self.text}")

    property: str | None = None  # the last: its name hides the decorator


@frozen
class ReviewVerdict:
    """An approval, or a request for changes: about one commit of the source."""

    kind: Literal["approved", "changes_requested"]
    actor: str | None
    at: int
    commit: str
    text: str | None = None
    stale: bool = False
    """The source has other commits by now: it does not count."""

    def __repr__(self) -> str:
        said = self.kind.replace("_", " ")
        text = f": {self.text}" if self.text else ""
        stale = " (stale)" if self.stale else ""
        return one_line(f"{said} at {short_id(self.commit)}{stale}{by_actor(self.actor)}, {ago(self.at)}{text}")


@frozen
class ReviewMerge:
    """How a review was merged."""

    actor: str | None
    at: int
    source_commit: str | None
    """What was merged."""
    commit: str | None
    """The commit that merged it; None if the target had everything already."""
    approved_by: tuple[str | None, ...] = ()

    def __repr__(self) -> str:
        made = "nothing was left to merge" if self.commit is None else f"commit {short_id(self.commit)}"
        return one_line(f"merged{by_actor(self.actor)}, {ago(self.at)}: {made}{approved_by(self.approved_by)}")


@frozen
class ReviewEvent:
    """Something that happened to a review."""

    kind: Literal["created", "comment", "approved", "changes_requested", "closed", "reopened", "merged"]
    actor: str | None
    at: int
    commit: str | None
    """The newest commit of the source at that time; None if the branch was gone."""
    text: str | None = None

    def __repr__(self) -> str:
        text = f": {self.text}" if self.text else ""
        return one_line(f"{self.kind.replace('_', ' ')}{by_actor(self.actor)}, {ago(self.at)}{text}")


@frozen(slots=False)
class Review:
    """A request to merge a branch into another, and what became of it."""

    id: int
    source: str
    target: str
    title: str
    description: str
    author: str | None
    created_at: int
    """Microseconds since the epoch."""
    state: ReviewState
    base: str
    """The commit where the two parted, when it was opened."""
    source_commit: str | None
    """The newest commit of the source; of a review that is over, or whose source is gone, the last one that was seen."""
    source_exists: bool
    comments: tuple[ReviewComment, ...] = field(default=(), repr=False)
    verdicts: tuple[ReviewVerdict, ...] = field(default=(), repr=False)
    """The last word of each reviewer, in the order they were given."""
    events: tuple[ReviewEvent, ...] = field(default=(), repr=False)
    merge: ReviewMerge | None = field(default=None, repr=False)
    keeps: tuple[str, ...] = field(default=(), repr=False)
    """Commits that cleanup leaves alone because of it: none once it is merged or closed."""
    approvals_given: int | None = field(default=None, repr=False)
    """Approvals that count where a rule demands some before the target moves; None where none does."""
    approvals_needed: int | None = field(default=None, repr=False)
    """How many it demands."""

    @property
    def is_over(self) -> bool:
        """Whether it is merged or closed."""
        return self.state in ("merged", "closed")

    @property
    def approvals(self) -> tuple[ReviewVerdict, ...]:
        """The approvals that count."""
        return tuple(v for v in self.verdicts if v.kind == "approved" and not v.stale)

    @property
    def standing(self) -> str:
        """The state in words, with the approvals that are needed: `approved, 1 of 2 approvals`."""
        said = self.state.replace("_", " ")
        if self.approvals_needed is None:
            return said
        return f"{said}, {self.approvals_given or 0} of {counted(self.approvals_needed, 'approval')}"

    def to_dict(self) -> dict[str, Any]:
        """The review as JSON-ready data."""
        return {
            "id": self.id,
            "source": self.source,
            "target": self.target,
            "title": self.title,
            "description": self.description,
            "author": self.author,
            "created_at": self.created_at,
            "state": self.state,
            "base_commit_id": self.base,
            "source_commit_id": self.source_commit,
            "source_exists": self.source_exists,
            "comments": [
                {
                    "actor_id": c.actor,
                    "created_at": c.at,
                    "text": c.text,
                    "source_commit_id": c.commit,
                    "type_name": c.type,
                    "entity_id": c.id,
                    "property": c.property,
                }
                for c in self.comments
            ],
            "verdicts": [
                {
                    "kind": v.kind,
                    "actor_id": v.actor,
                    "created_at": v.at,
                    "source_commit_id": v.commit,
                    "text": v.text,
                    "stale": v.stale,
                }
                for v in self.verdicts
            ],
            "events": [
                {"kind": e.kind, "actor_id": e.actor, "created_at": e.at, "source_commit_id": e.commit, "text": e.text}
                for e in self.events
            ],
            "merge": None
            if self.merge is None
            else {
                "actor_id": self.merge.actor,
                "created_at": self.merge.at,
                "source_commit_id": self.merge.source_commit,
                "graph_commit_id": self.merge.commit,
                "approved_by": list(self.merge.approved_by),
            },
            "kept_commit_ids": list(self.keeps),
            **(
                {}
                if self.approvals_needed is None
                else {"approvals_given": self.approvals_given, "approvals_needed": self.approvals_needed}
            ),
        }

    def __repr__(self) -> str:
        return one_line(
            f"Review {self.id} ({self.standing}): {self.title}, "
            f"{self.source} into {self.target}{by_actor(self.author)}, {ago(self.created_at)}"
        )

    def _repr_html_(self) -> str:
        return html_text("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """The review for people."""
        gone = "" if self.source_exists or self.is_over else " (the branch is gone)"
        branches = f"{self.source}{gone} into {self.target}"
        found = [
            f"review {self.id}: {self.title}",
            f"{self.standing}: {branches}{by_actor(self.author)}, {ago(self.created_at)}",
        ]
        if self.source_commit is not None:
            found.append(f"source commit {self.source_commit}")
        if self.description:
            found += ["", *self.description.splitlines()]
        if self.merge is not None:
            found += ["", str(self.merge)]
        if self.verdicts:
            found += ["", *map(repr, self.verdicts)]
        for about, comments in threads(self.comments):
            found += ["", f"on {about}:" if about else "comments:"]
            for comment in comments:
                found.append(f"  {comment.actor or 'somebody'}, {ago(comment.at)}:")
                found += [f"    {line}" for line in comment.text.splitlines()]
        return [printable(line) for line in found]


def approved_by(actors: Iterable[str | None]) -> str:
    """`, approved by ada and bob`."""
    names = [actor or "somebody" for actor in actors]
    return f", approved by {' and '.join(names)}" if names else ""


def threads(comments: Iterable[ReviewComment]) -> list[tuple[str, list[ReviewComment]]]:
    """Comments by what they are about, in the order in which something was first said about it; the whole comes first."""
    found: dict[str, list[ReviewComment]] = {"": []}
    for comment in comments:
        found.setdefault(comment.about, []).append(comment)
    return [(about, said) for about, said in found.items() if said]


class ReviewList(list[Review]):
    """Reviews, newest first. A list like any other; shown as a table. `unreadable` says which are damaged, and how."""

    _COLUMNS = ("review", "state", "title", "source", "target", "author", "opened")

    def __init__(self, reviews: Iterable[Review] = (), unreadable: dict[int, str] | None = None) -> None:
        super().__init__(reviews)
        self.unreadable = dict(unreadable or {})

    def __repr__(self) -> str:
        table = text_table(self._COLUMNS, self._cells()) if self else ["no reviews"]
        return "\n".join([*table, *self._damaged()])

    def _repr_html_(self) -> str:
        return html_table(self._COLUMNS, self._cells(), below="; ".join(self._damaged()))

    def _damaged(self) -> list[str]:
        return [printable(f"review {number} cannot be read: {why}") for number, why in self.unreadable.items()]

    def _cells(self) -> list[list[str]]:
        return [[str(r.id), r.standing, r.title, r.source, r.target, r.author or "", ago(r.created_at)] for r in self]


class ReviewDiff:
    """What a review is about: what its source adds, and what merging it now would do."""

    def __init__(self, review: Review, diff: Diff, preview: Merge | None, problem: str | None) -> None:
        self.review = review
        self.diff = diff
        """What the source has that it had not where it parted from the target."""
        self.preview = preview
        """What a merge would do, and what conflicts; None if the review is over, or cannot be merged as it is."""
        self.problem = problem
        """Why it cannot be merged as it is, conflicts aside."""

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-ready data."""
        return {
            "review": self.review.to_dict(),
            "diff": self.diff.to_dict(),
            "preview": None if self.preview is None else self.preview.to_dict(),
            "problem": self.problem,
        }

    def __repr__(self) -> str:
        return "\n".join([repr(self.review), repr(self.diff), *self._merging()])

    def _merging(self) -> list[str]:
        if self.preview is None:
            return [] if self.problem is None else [printable(f"cannot be merged: {self.problem}")]
        if self.preview.conflicts:
            return [f"merging it now: {repr(self.preview).partition(chr(10))[0]}", *repr(self.preview).splitlines()[1:]]
        return [f"merging it now: {self.preview.outcome.replace('_', ' ')}"]

    def _repr_html_(self) -> str:
        above = html_text("\n".join([repr(self.review), *self._merging()]))
        return above + self.diff._repr_html_()
