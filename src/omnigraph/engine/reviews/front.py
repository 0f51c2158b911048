"""Reviews of a graph, as people handle them: `g.reviews`.

    r = g.reviews.create("agent/7", title="Ada moved", actor="agent-7")
    g.reviews.comment(r, "is this the one in Paris?", type="Person", id="Ada", property="city", actor="bob")
    g.reviews.approve(r, actor="bob")
    g.reviews.merge(r, actor="bob").merge.commit

A call takes the number of a review or a review that was read before. One that was read says which commit of the source its reader
has seen, so approving or merging it is refused if the source has moved since; a bare number is about whatever is there now.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from typing import Final

from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import Check, State, line, refuse, whole
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.export import entities
from omnigraph.engine.history.conflicts import Resolve
from omnigraph.engine.history.merge import Merge, Wanted
from omnigraph.engine.history.past import Past
from omnigraph.engine.reviews import verdicts
from omnigraph.engine.reviews.review import STATES, Review, ReviewDiff, ReviewList, ReviewState
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import ChangesUnreadable, HistoryReclaimed, MergeConflict, NotFound, ReviewOver, StorageError, UsageError
from omnigraph.hints import Hint, Option
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.limits import MAX_REVIEW_TEXT_CHARS, MAX_REVIEW_TITLE_CHARS
from omnigraph.model.phrases import counted, one_line
from omnigraph.policy.port import ReviewRule
from omnigraph.storage.commits.reviews import (
    EventKind,
    Pin,
    ReviewEvent,
    StoredReview,
    change_review,
    merge_key,
    numbers,
    put_review,
    read_review,
    readable_reviews,
)
from omnigraph.storage.graph_store import MAIN, GraphStore

AnyReview = int | Review
"""A review by its number, or as it was read."""

_number: Final = whole(1, 10**10 - 1)
_title: Final = line(MAX_REVIEW_TITLE_CHARS)
_long: Final = line(MAX_REVIEW_TEXT_CHARS, several=True)


def review(name: str, value: object) -> AnyReview:
    """A review: its number, or as it was read."""
    return value if isinstance(value, Review) else int(_number(name, value))


def states(name: str, value: object) -> tuple[ReviewState, ...]:
    """One state, or several."""
    given = arguments.names(name, value)
    for each in given:
        if each not in STATES:
            raise UsageError(f"{name} cannot be `{each}`", hint=f"It is one of {', '.join(STATES)}.")
    return given  # type: ignore[return-value]


def said(name: str, value: object) -> str:
    """Something that somebody says."""
    given: str = _long(name, value)
    return given if given.strip() else refuse(name, "a text that says something", value)


def title(name: str, value: object) -> str:
    """What a review is called, trimmed."""
    given: str = _title(name, value).strip()
    return given or refuse(name, "a title", value)


def rules(name: str, value: object) -> tuple[ReviewRule, ...]:
    """What must be approved before the target moves."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        refuse(name, "rules for reviews", value)
    given = tuple(value)
    for each in given:
        if not isinstance(each, ReviewRule):
            refuse(name, "rules for reviews", each)
    return given


CHECKS: Final[dict[str, Check]] = {
    "review": review,
    "title": title,
    "description": _long,
    "text": said,
    "source": arguments.branch,
    "state": states,
    "author": arguments.actor,
    "before": _number,
    "limit": whole(1),
    "rules": rules,
    "id": arguments.text,
}
"""What arguments mean here, and in the same calls of a graph behind a server."""


def checks(*names: str) -> dict[str, Check]:
    """Some of them, for `guarded`."""
    return {name: CHECKS[name] for name in names}


def number_of(given: AnyReview) -> int:
    """The number of a review."""
    return given.id if isinstance(given, Review) else given


def seen(given: AnyReview, commit: State | None) -> str | None:
    """The commit of the source that whoever decides has seen, if they say."""
    return given.source_commit if commit is None and isinstance(given, Review) else arguments.name_of(commit)


class Reviews:
    """The reviews of a graph: `g.reviews`."""

    def __init__(self, store: GraphStore, past: Past, view: Callable[[str], View], after_merge: Callable[[Merge], Merge]) -> None:
        self._store = store
        self._past = past
        self._view = view
        self._after_merge = after_merge

    def __repr__(self) -> str:
        return one_line(counted(len(numbers(self._store.place)), "review"))

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @guarded(**checks("review"))
    def get(self, review: AnyReview) -> Review:
        """A review as it is now."""
        return self._shown(read_review(self._store.place, number_of(review)))

    @guarded(**checks("state", "source", "author", "limit", "before"), target=arguments.branch)
    def list(
        self,
        *,
        state: Iterable[ReviewState] | ReviewState | None = None,
        source: str | None = None,
        target: str | None = None,
        author: str | None = None,
        limit: int | None = None,
        before: int | None = None,
    ) -> ReviewList:
        """Reviews, newest first: in these states, of this source, target or author; so many, older than a number.

        Those whose record is damaged are told by `unreadable`, and do not hide the others.
        """
        wanted = [n for n in reversed(numbers(self._store.place)) if before is None or n < before]
        unreadable: dict[int, str] = {}

        def matching() -> Iterator[Review]:
            for start in range(0, len(wanted), 64):
                found, unread = readable_reviews(self._store.place, wanted[start : start + 64])
                unreadable.update((int(number), error.message) for number, error in unread.items())
                for record in found:
                    about = ((source, record.source), (target, record.target), (author, record.events[0].actor))
                    if all(wish in (None, has) for wish, has in about):
                        shown = self._shown(record)
                        if state is None or shown.state in state:
                            yield shown

        return ReviewList(islice(matching(), limit), unreadable)

    @guarded(**checks("review"))
    def diff(self, review: AnyReview) -> ReviewDiff:
        """What the source of a review adds since it parted from the target, and what merging it now would do."""
        shown = self.get(review)
        if shown.source_commit is None:
            raise HistoryReclaimed(f"review {shown.id} has seen no commit of `{shown.source}`")
        if shown.is_over or not shown.source_exists:
            return ReviewDiff(shown, self._past.between(shown.base, shown.source_commit), None, self._gone(shown))
        preview: Merge | None = None
        problem: str | None = None
        try:
            preview = self._past.merge(shown.source, shown.target, Wanted(dry_run=True))
        except ChangesUnreadable as error:  # schemas that have changed apart: what the source adds can be shown all the same
            problem = error.message
        base = self._past.base(shown.source, shown.target) if preview is None else preview.base
        return ReviewDiff(shown, self._past.between(base, shown.source_commit), preview, problem)

    def _gone(self, shown: Review) -> str | None:
        return None if shown.is_over else f"branch `{shown.source}` is gone; it can be created again from {shown.source_commit}"

    def _head(self, branch: str) -> str | None:
        try:
            return self._store.snapshot(branch).commit
        except (NotFound, StorageError):  # it is gone, or cannot be read: what was said about it can be
            return None

    def _source(self, record: StoredReview) -> str:
        """The newest commit of the source, which must be there."""
        try:
            return self._view(record.source).snapshot.commit
        except NotFound:
            hint = "It was deleted." if record.seen is None else f"It was deleted. To go on, create it again from {record.seen}."
            raise NotFound(f"no branch `{record.source}`", what="branch", name=record.source, hint=hint) from None

    def _shown(self, record: StoredReview) -> Review:
        record = self._settled(record)
        return verdicts.shown(record, self._head(record.source))

    def _settled(self, record: StoredReview) -> StoredReview:
        """A review whose merge was published, but whose merger could not write that down: with the merge."""
        attempts = {merge_key(record.id, e): e for e in record.events if e.kind == "merging"}
        if not attempts or record.merged is not None:
            return record
        first = next(iter(attempts.values())).onto
        try:
            for commit in self._store.line(record.target, 64):
                merging = attempts.get(commit.idempotency_key or "")
                if merging is not None:
                    return record.with_event(_merged(merging, commit.id, commit.created_at))
                if commit.id == first:
                    break
        except (NotFound, StorageError):  # the target was deleted, or cannot be read
            pass
        return record

    # ── talking ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @guarded(**checks("source", "title", "description"), target=arguments.branch)
    def create(self, source: str, target: str = MAIN, *, title: str, description: str = "", actor: str | None = None) -> Review:
        """Ask for a branch to be merged into another. `actor` is the author."""
        self._store.require_writable()
        if source == target:
            raise UsageError(f"branch `{source}` cannot be merged into itself")
        self._store.ref(target)
        head, base = self._view(source).snapshot.commit, self._past.base(source, target)
        event = self._event("created", actor, head)
        with self._keeping(base, head) as pins:
            made = put_review(
                self._store.place,
                lambda number: StoredReview(number, source, target, title, description, base, tuple(pins), (event,)),
            )
        return self._shown(made)

    @guarded(**checks("review", "text", "id"))
    def comment(
        self,
        review: AnyReview,
        text: str,
        *,
        type: str | None = None,
        id: str | None = None,
        property: str | None = None,
        actor: str | None = None,
    ) -> Review:
        """Say something about a review, about an entity (its `type` and `id`), or about a `property` of one.

        A review that is over can be commented on as well.
        """
        self._store.require_writable()
        record = self._settled(read_review(self._store.place, number_of(review)))
        type = self._about(record, type, id, property)
        event = self._event("comment", actor, self._head(record.source), text, type, id, property)
        return self._added(record.id, event, lambda now: None)

    @guarded(**checks("review", "text"))
    def approve(
        self, review: AnyReview, *, commit: State | None = None, text: str | None = None, actor: str | None = None
    ) -> Review:
        """Approve what the source of a review has now. `commit` is what was seen: refused if the source has moved."""
        return self._judged("approval", review, commit, text, actor)

    @guarded(**checks("review", "text"))
    def request_changes(self, review: AnyReview, text: str, *, commit: State | None = None, actor: str | None = None) -> Review:
        """Ask for changes: until the source moves, or whoever asked approves, the review is not merged."""
        return self._judged("change_request", review, commit, text, actor)

    @guarded(**checks("review", "text"))
    def close(self, review: AnyReview, *, text: str | None = None, actor: str | None = None) -> Review:
        """End a review without a merge. What it kept readable may be reclaimed afterwards."""
        self._store.require_writable()
        record = read_review(self._store.place, number_of(review))
        event = self._event("closed", actor, self._head(record.source), text)
        return self._added(record.id, event, verdicts.require_open)

    @guarded(**checks("review", "text"))
    def reopen(self, review: AnyReview, *, text: str | None = None, actor: str | None = None) -> Review:
        """Go on with a review that was closed. Its source must be there."""
        self._store.require_writable()
        record = read_review(self._store.place, number_of(review))
        head, base = self._source(record), self._past.base(record.source, record.target)
        event = self._event("reopened", actor, head, text)

        def require_closed(now: StoredReview) -> None:
            if now.merged is not None:
                verdicts.require_open(now)
            if now.closed is None:
                raise UsageError(f"review {now.id} is open", hint="Only one that was closed is opened again.")

        def decide(found: StoredReview) -> StoredReview:
            now = self._settled(found)
            require_closed(now)
            return replace(now, base=base, pins=tuple(pins)).with_event(event)  # what it needed before may be gone

        with self._keeping(base, head) as pins:
            return self._shown(change_review(self._store.place, record.id, event.id, decide))

    def _judged(self, kind: EventKind, given: AnyReview, commit: State | None, text: str | None, actor: str | None) -> Review:
        self._store.require_writable()
        record = read_review(self._store.place, number_of(given))
        verdicts.require_open(self._settled(record))
        head = self._source(record)
        expected = self._named(seen(given, commit))
        if expected is not None:
            verdicts.require_at(record, expected, head)
        event = self._event(kind, actor, head, text)
        with self._keeping(*([] if any(pin.commit == head for pin in record.pins) else [head])) as pins:
            return self._added(record.id, event, verdicts.require_open, pins)

    def _named(self, commit: str | None) -> str | None:
        """A commit that was named, by its id."""
        try:
            return None if commit is None else self._past.commit(commit, maintenance=False).id
        except (NotFound, HistoryReclaimed):  # whatever it was, the source is not at it
            return commit

    def _about(self, record: StoredReview, type_: str | None, id_: str | None, property_: str | None) -> str | None:
        """Refuse a comment on what is not there; gives the type by its name."""
        if type_ is None and id_ is None and property_ is None:
            return None
        if type_ is None or id_ is None:
            raise UsageError("an entity is named by its type and its id", hint="Give both, or neither.")
        views = [self._view(b) for b in (record.source, record.target) if self._head(b) is not None]
        if self._head(record.source) is None and record.seen is not None:
            views.insert(0, self._past.view_at(record.seen))
        for at, view in enumerate(views):
            try:
                found = entities.type_of(view.catalog, type_)
                if property_ is not None and property_ not in found.properties:
                    known = list(found.properties)
                    hint = did_you_mean(property_, known) or f"There are {', '.join(known)}."
                    raise NotFound(f"no property `{property_}` of {found.name}", what="property", name=property_, hint=hint)
                if entities.get(view, found.name, None, id_) is not None:
                    return found.name
                raise NotFound(f"no {found.name} with the id `{id_}` on either branch", what="entity", name=id_)
            except NotFound:
                if at == len(views) - 1:
                    raise
        raise NotFound(f"neither branch of review {record.id} is there", what="branch", name=record.source)

    # ── merging ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @guarded(**checks("review", "rules"))
    def merge(
        self,
        review: AnyReview,
        *,
        commit: State | None = None,
        resolve: Resolve = None,
        strict: bool = False,
        rules: Sequence[ReviewRule] = (),
        actor: str | None = None,
        message: str | None = None,
    ) -> Review:
        """Merge the source of a review into its target, as `g.merge` does, and write down who did and who had approved.

        Refused if somebody asked for changes to this commit (`ApprovalMissing`), if every approval is of an older one, or if the
        source is not at `commit` (`ReviewStale`), and if somebody else has merged it (`ReviewOver`). `rules` demand approvals.
        """
        self._store.require_writable()
        if resolve is not None and rules:
            raise UsageError(
                "under a rule of approvals a review is merged as it was approved, without decisions about conflicts",
                hint="Merge the target into the source, decide there, and have that approved.",
            )
        record = self._settled(read_review(self._store.place, number_of(review)))
        verdicts.require_open(record)
        verdicts.require_no_objection(record, self._source(record), self._of_the_same(record))
        gate = _Gate(self, record, self._named(seen(review, commit)), rules, actor)
        wanted = Wanted(False, resolve, strict, actor, message or f"Merge review {record.id}: {record.title}", gate=gate)
        try:
            merged = self._after_merge(self._past.merge(record.source, record.target, wanted))
        except MergeConflict as error:
            hint = Hint("Nothing was changed. The diff of the review lists the conflicts; decide with ", Option("resolve"), ".")
            raise MergeConflict(error.message, conflicts=error.conflicts, hidden=error.hidden, hint=hint) from error.__cause__
        return gate.written(merged)

    def _of_the_same(self, record: StoredReview) -> Iterator[StoredReview]:
        """Other reviews of the same source and target, also those that were closed."""
        others = [number for number in reversed(numbers(self._store.place)) if number != record.id]
        for start in range(0, len(others), 64):
            found, _ = readable_reviews(self._store.place, others[start : start + 64])
            yield from (other for other in found if (other.source, other.target) == (record.source, record.target))

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _event(
        self,
        kind: EventKind,
        actor: str | None,
        commit: str | None,
        text: str | None = None,
        type_: str | None = None,
        entity: str | None = None,
        property_: str | None = None,
    ) -> ReviewEvent:
        now = int(self._store.clock.now().timestamp() * 1_000_000)
        return ReviewEvent(self._store.ids.next(), kind, actor, now, commit, text, type_, entity, property_)

    def _added(self, number: int, event: ReviewEvent, check: Callable[[StoredReview], None], pins: Sequence[Pin] = ()) -> Review:
        """Add an event to a review, if it may be as the review is at that moment."""

        def decide(found: StoredReview) -> StoredReview:
            now = self._settled(found)
            check(now)
            return now.with_event(event, pins)

        return self._shown(change_review(self._store.place, number, event.id, decide))

    @contextmanager
    def _keeping(self, *commits: str) -> Iterator[builtins.list[Pin]]:
        """Commits that a review is about to need: they are not reclaimed before it says so."""
        with ExitStack() as held:
            pins = []
            for commit in dict.fromkeys(commits):
                try:
                    held.enter_context(self._store.in_flight(commit))
                    owner, found = self._store.history.logical_commit(*self._store.locate(commit))
                except HistoryReclaimed:  # of a branch that is gone: whoever merged it has it in their own history
                    continue
                pins.append(Pin(found.id, owner))
            yield pins


def _merged(merging: ReviewEvent, commit: str | None, at: int) -> ReviewEvent:
    """The end of a merge that was begun."""
    return ReviewEvent(
        f"{merging.id}-merged",
        "merged",
        merging.actor,
        at,
        merging.commit,
        approved_by=merging.approved_by,
        merge_commit=commit,
    )


class _Gate:
    """What a review has to say while its source is merged (`history.merge.Gate`)."""

    def __init__(
        self, reviews: Reviews, record: StoredReview, expected: str | None, rules: Sequence[ReviewRule], actor: str | None
    ) -> None:
        self._reviews, self._record, self._expected, self._rules = reviews, record, expected, rules
        self._begun = reviews._event("merging", actor, None)
        self._is_written = False

    def looks(self, commit: str) -> None:
        """Refuse a commit that was not approved, or is not the one that was meant."""
        if self._expected is not None:
            verdicts.require_at(self._record, self._expected, commit)
        self._approved(self._reviews._settled(read_review(self._reviews._store.place, self._record.id)), commit)
        self._expected = commit

    def _approved(self, record: StoredReview, commit: str) -> tuple[str | None, ...]:
        try:
            return verdicts.approvers(record, commit, self._rules)
        except ReviewOver as over:
            if over.commit is None:
                raise
            self._note(record)
            raise

    def lets_in(self, onto: str) -> str:
        """Write down that it is about to be merged, if that is still approved."""
        assert self._expected is not None
        commit = self._expected

        def decide(found: StoredReview) -> StoredReview:
            now = self._reviews._settled(found)
            approved = self._approved(now, commit)
            begun = self._begun
            made = ReviewEvent(begun.id, "merging", begun.actor, begun.at, commit, approved_by=approved, onto=onto)
            return now.with_event(made)

        if not self._is_written:
            after = change_review(self._reviews._store.place, self._record.id, self._begun.id, decide)
            self._begun = next(e for e in after.events if e.id == self._begun.id)
            self._is_written = True
        return merge_key(self._record.id, self._begun)

    def written(self, merged: Merge) -> Review:
        """Write down that it is merged. If it was somebody else who merged it, that is written down, and said."""
        reviews, number = self._reviews, self._record.id
        mine = f"{self._begun.id}-merged"
        commit = None if merged.commit is None else merged.commit.id
        at = self._begun.at if merged.commit is None else merged.commit.created_at

        def decide(found: StoredReview) -> StoredReview:
            now = reviews._settled(found)
            if now.merged is not None:
                return now
            approved = verdicts.approvers(now, self._expected or "", self._rules) if commit is None else ()
            begun = self._begun
            if commit is None:
                begun = ReviewEvent(begun.id, "merging", begun.actor, begun.at, self._expected, approved_by=approved)
            return now.with_event(_merged(begun, commit, at))

        after = change_review(reviews._store.place, number, mine, decide)
        if after.merged is not None and after.merged.id != mine:
            verdicts.require_open(after)
        return reviews._shown(after)

    def _note(self, record: StoredReview) -> None:
        """Write down a merge that somebody else published and could not write down."""
        merged = record.merged
        if merged is not None:
            with_it = self._reviews._settled
            change_review(self._reviews._store.place, record.id, merged.id, with_it)
