"""Errors of those who want the same thing at once: somebody else got there first. `errors` has the tree they are part of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from omnigraph.error_details import BrokenRule, Disagreement
from omnigraph.graph_error import GraphError
from omnigraph.hints import Advice, Hint, Option


class ConflictError(GraphError):
    """Somebody else got there first."""

    code = "conflict"


class KeyConflict(ConflictError):
    """An entity with this id exists already."""

    code = "key_conflict"
    default_hint = Hint("To replace existing entities, use ", Option("mode", "merge"), ".")

    def __init__(self, message: str, *, violations: Sequence[BrokenRule] = (), hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.violations = tuple(violations)


class ReadSetChanged(ConflictError):
    """What the write relied on has changed since it was read."""

    code = "read_set_changed"
    retryable = True
    default_hint = "Read again and retry."


class StalledWrite(ConflictError):
    """The write was stalled for so long that cleanup removed its files. Nothing was published."""

    code = "stalled_write"
    retryable = True
    default_hint = "Write it again."


class CleanupUnderWay(ConflictError):
    """A cleanup is deciding about the same commits or files. Nothing was changed."""

    code = "cleanup_under_way"
    retryable = True
    default_hint = "Retry in a moment. If a cleanup died, run it again: it takes back what it had announced."


class PreconditionFailed(ConflictError):
    """The branch is not at the expected commit."""

    code = "precondition_failed"
    default_hint = "Nothing was changed. Read the branch again, decide anew, and give the commit you read."

    def __init__(
        self, message: str, *, branch: str = "", expected: str | None = None, actual: str | None = None, hint: Advice = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.branch, self.expected, self.actual = branch, expected, actual

    @classmethod
    def at(cls, branch: str, *, expected: str | None, actual: str) -> PreconditionFailed:
        """What to say of a branch that is elsewhere."""
        return cls(f"branch `{branch}` is at {actual}, not at {expected}", branch=branch, expected=expected, actual=actual)

    def to_dict(self) -> dict[str, object]:
        reported = {"expected": self.expected, "actual": self.actual}
        return {**super().to_dict(), "precondition_failure": {k: v for k, v in reported.items() if v is not None}}


class KeyReused(ConflictError):
    """Another write had this idempotency key: one that was asked for differently. Nothing was written."""

    code = "idempotency_key_reused"
    default_hint = "Nothing was written. Give each write a key of its own, and the same key only to repeat the same write."


class MergeConflict(ConflictError):
    """Both sides changed the same thing. `conflicts` lists each case; `hidden` counts by type what the caller may not see."""

    code = "merge_conflict"
    default_hint = Hint(
        "Nothing was changed.", Hint(" List conflicts with ", Option("dry_run", True), ", resolve with ", Option("resolve"), ".")
    )

    hidden_hint: ClassVar[str] = (
        "Nothing was changed. Ask for the right to read both branches, or let somebody who has it resolve the conflicts."
    )
    """For those who may not read what is in conflict."""

    def __init__(
        self,
        message: str,
        *,
        conflicts: Sequence[Disagreement] = (),
        hidden: Mapping[str, int] | None = None,
        hint: Advice = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.conflicts = tuple(conflicts)
        self.hidden = dict(hidden) if hidden else None

    def without_values(self) -> MergeConflict:
        """The same for somebody who may not read what is in conflict: how many there are of each type, and nothing else."""
        found = Counter(f"{c.entity_kind}:{c.type}" for c in self.conflicts)
        counted = ", ".join(f"{type_} {number}" for type_, number in sorted(found.items()))
        total = f"{len(self.conflicts)} conflict{'' if len(self.conflicts) == 1 else 's'}"
        message = f"{total} ({counted}), which are shown to those who may read both branches"
        return MergeConflict(message, hidden=found, hint=self.hidden_hint)

    def to_dict(self) -> dict[str, object]:
        hidden = {} if self.hidden is None else {"hidden_conflicts": self.hidden}
        return {**super().to_dict(), "merge_conflicts": [c.to_dict() for c in self.conflicts], **hidden}


class ReviewError(ConflictError):
    """A review is not in the state that was expected. `review` is its number."""

    code = "review_error"

    def __init__(
        self,
        message: str,
        *,
        review: int = 0,
        commit: str | None = None,
        expected: str | None = None,
        actual: str | None = None,
        missing: int = 0,
        hint: Advice = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.review, self.commit, self.expected, self.actual, self.missing = review, commit, expected, actual, missing

    def to_dict(self) -> dict[str, object]:
        about = {name: getattr(self, name) for name in ("review", "commit", "expected", "actual", "missing")}
        return {**super().to_dict(), **{name: value for name, value in about.items() if value}}


class ReviewOver(ReviewError):
    """The review is merged or closed already. `commit` is the one that merged it."""

    code = "review_over"
    default_hint = "Nothing was changed. Open another review for what is still to be merged."


class ReviewStale(ReviewError):
    """The source of the review is at another commit (`actual`) than the one that was seen or approved (`expected`)."""

    code = "review_stale"
    default_hint = "Nothing was changed. Look at what the source has now, and approve that."


class ApprovalMissing(ReviewError):
    """The review may not be merged yet: somebody wants changes, or so many approvals are `missing`."""

    code = "approval_missing"
    default_hint = "Nothing was merged. Ask for the approvals that are missing."
