"""What follows from the events of a review: who approved what, what state that makes, and whether it may be merged.

Pure functions over a stored review and the commit that its source is at now.

    events                                        source at c1        source at c2
    created (c1)                                  open                open
    approval by ada (c1)                          approved            open: the approval is stale
    change_request by bob (c1)                    changes_requested   open
    approval by bob (c1)                          approved            open

**An approval is of a commit.** It counts while the source is at that commit, and never for another one. The last word of a
reviewer counts, and takes back what they said before. So does a request for changes: while it is not stale, nobody merges.

**Merging.** What is merged is one commit of the source, and the approvals that count are those of that commit. With rules
(`policy.port.ReviewRule`) each must find enough of them, from its group, and not by the author if it says so. Without rules none
is needed; but a review that somebody has approved is merged as approved: if every approval is of an older commit, it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeVar, cast

from omnigraph.engine.reviews.review import (
    Review,
    ReviewComment,
    ReviewDiff,
    ReviewEvent,
    ReviewList,
    ReviewMerge,
    ReviewState,
    ReviewVerdict,
    approved_by,
)
from omnigraph.errors import ApprovalMissing, ReviewOver, ReviewStale
from omnigraph.model.phrases import counted, short_id
from omnigraph.policy.port import ReviewRule
from omnigraph.storage.commits import reviews as stored

_VERDICTS: Final[dict[str, Literal["approved", "changes_requested"]]] = {
    "approval": "approved",
    "change_request": "changes_requested",
}
_SHOWN: Final[dict[str, Literal["created", "comment", "approved", "changes_requested", "closed", "reopened", "merged"]]] = {
    "created": "created",
    "comment": "comment",
    "approval": "approved",
    "change_request": "changes_requested",
    "closed": "closed",
    "reopened": "reopened",
    "merged": "merged",
}


def verdicts_of(review: stored.StoredReview, commit: str | None) -> tuple[ReviewVerdict, ...]:
    """The last word of each reviewer; stale if it is about another commit than the given one."""
    last: dict[str | None, stored.ReviewEvent] = {}
    for event in review.events:
        if event.kind in _VERDICTS and event.commit is not None:
            last.pop(event.actor, None)
            last[event.actor] = event
    return tuple(
        ReviewVerdict(_VERDICTS[e.kind], e.actor, e.at, e.commit, e.text, e.commit != commit)
        for e in last.values()
        if e.commit is not None
    )


def state_of(review: stored.StoredReview, verdicts: Iterable[ReviewVerdict]) -> ReviewState:
    """Where a review stands."""
    if review.merged is not None:
        return "merged"
    if review.closed is not None:
        return "closed"
    current = {v.kind for v in verdicts if not v.stale}
    return "changes_requested" if "changes_requested" in current else "approved" if "approved" in current else "open"


def shown(review: stored.StoredReview, head: str | None) -> Review:
    """A review as people see it. `head` is where its source is now; None if it is gone."""
    merged, created = review.merged, review.events[0]
    commit = merged.commit if merged is not None else review.seen if review.closed is not None or head is None else head
    verdicts = verdicts_of(review, commit)
    return Review(
        review.id,
        review.source,
        review.target,
        review.title,
        review.description,
        created.actor,
        created.at,
        state_of(review, verdicts),
        review.base,
        commit,
        head is not None,
        tuple(
            ReviewComment(e.actor, e.at, e.text or "", e.commit, e.type, e.entity, e.property)
            for e in review.events
            if e.kind == "comment"
        ),
        verdicts,
        tuple(ReviewEvent(_SHOWN[e.kind], e.actor, e.at, e.commit, e.text) for e in review.events if e.kind in _SHOWN),
        None if merged is None else ReviewMerge(merged.actor, merged.at, merged.commit, merged.merge_commit, merged.approved_by),
        () if review.is_over else tuple(pin.commit for pin in review.pins),
    )


# ── what may be done ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def require_open(review: stored.StoredReview) -> None:
    """Refuse what cannot be done to a review that is over."""
    merged, closed = review.merged, review.closed
    if merged is not None:
        made = "" if merged.merge_commit is None else f" as commit {merged.merge_commit}"
        raise ReviewOver(
            f"review {review.id} was merged by {merged.actor or 'somebody'}{made}", review=review.id, commit=merged.merge_commit
        )
    if closed is not None:
        raise ReviewOver(
            f"review {review.id} was closed by {closed.actor or 'somebody'}", review=review.id, hint="Open it again."
        )


def require_at(review: stored.StoredReview, expected: str, head: str) -> None:
    """Refuse to decide about a commit that is not what the source is at."""
    if expected != head:
        raise ReviewStale(
            f"review {review.id} is about commit {head} by now, not about {expected}: branch `{review.source}` has moved",
            review=review.id,
            expected=expected,
            actual=head,
        )


def require_no_objection(review: stored.StoredReview, commit: str, others: Iterable[stored.StoredReview]) -> None:
    """Refuse to merge a commit to which somebody asked for changes in another review of the same branches.

    Who asks for changes asks for them of what the source has, whichever review it is said in: another one is no way past them.
    """
    for other in others:
        if other.merged is not None:
            continue
        against = [v.actor or "somebody" for v in verdicts_of(other, commit) if v.kind == "changes_requested" and not v.stale]
        if against:
            raise ApprovalMissing(
                f"review {review.id} cannot be merged: {' and '.join(against)} asked for changes to the same commit "
                f"in review {other.id}",
                review=review.id,
                hint="Nothing was merged. Change the source, or ask them to approve it there.",
            )


def approvers(review: stored.StoredReview, commit: str, rules: Sequence[ReviewRule]) -> tuple[str | None, ...]:
    """Who has approved a commit of the source; raises if it may not be merged."""
    require_open(review)
    verdicts = verdicts_of(review, commit)
    current = [v for v in verdicts if not v.stale]
    against = [v.actor or "somebody" for v in current if v.kind == "changes_requested"]
    if against:
        raise ApprovalMissing(
            f"review {review.id} cannot be merged: {' and '.join(against)} asked for changes",
            review=review.id,
            hint="Nothing was merged. Change the source, or ask them to approve it.",
        )
    approved = tuple(v.actor for v in current if v.kind == "approved")
    stale = [v for v in verdicts if v.kind == "approved" and v.stale]
    lacking = _lacking(review, commit, approved, rules)
    if stale and (lacking is not None or not approved):
        last = stale[-1]
        raise ReviewStale(
            f"review {review.id} was approved at commit {last.commit}, and branch `{review.source}` is at {commit} by now",
            review=review.id,
            expected=last.commit,
            actual=commit,
            hint="Nothing was merged. Ask for an approval of what the source has now.",
        )
    if lacking is not None:
        raise lacking
    return approved


def _lacking(
    review: stored.StoredReview, commit: str, approved: Sequence[str | None], rules: Sequence[ReviewRule]
) -> ApprovalMissing | None:
    for rule in rules:
        counting = _counting(rule, review.events[0].actor, approved)
        if len(counting) < rule.approvals:
            missing = rule.approvals - len(counting)
            group = "" if rule.from_group is None else f" from group `{rule.from_group}`"
            others = " (the author's own does not count)" if rule.not_author else ""
            has = approved_by(counting) or ", and has none"
            return ApprovalMissing(
                f"before `{review.target}` moves, review {review.id} needs {counted(rule.approvals, 'approval')} of commit "
                f"{short_id(commit)}{group}{others}{has}",
                review=review.id,
                missing=missing,
                hint=f"Nothing was merged. {counted(missing, 'approval')} more {'is' if missing == 1 else 'are'} needed.",
            )
    return None


def _counting(rule: ReviewRule, author: str | None, approved: Sequence[str | None]) -> list[str | None]:
    """Those of some approvals that count for a rule. Where the author's does not, nor does one of nobody knows whom."""
    return [a for a in approved if not (rule.not_author and a in (author, None)) and _is_among(rule, a)]


R = TypeVar("R")


def informed(found: R, rules: Sequence[ReviewRule]) -> R:
    """A review, several, or the changes of one, with how many approvals they have and need."""
    if isinstance(found, Review):
        return cast(R, _with_approvals(found, rules))
    if isinstance(found, ReviewList):
        return cast(R, ReviewList((_with_approvals(review, rules) for review in found), found.unreadable))
    if isinstance(found, ReviewDiff):
        return cast(R, ReviewDiff(_with_approvals(found.review, rules), found.diff, found.preview, found.problem))
    return found


def _with_approvals(review: Review, rules: Sequence[ReviewRule]) -> Review:
    """A review that is not over, with the approvals of the rule that lacks most."""
    if review.is_over:
        return review
    given = [v.actor for v in review.approvals]
    standing = [(len(_counting(r, review.author, given)), r.approvals) for r in rules if r.applies_to(review.target)]
    if not standing:
        return review
    has, needs = max(standing, key=lambda one: one[1] - one[0])
    return replace(review, approvals_given=has, approvals_needed=needs)


def _is_among(rule: ReviewRule, actor: str | None) -> bool:
    """Whether somebody belongs to the group of a rule. Of a group that nobody lists, nobody is known to."""
    return rule.from_group is None if rule.members is None else actor in rule.members
