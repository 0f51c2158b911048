"""Reviews as they are stored: one small object each below `__reviews/`, and how several people change one at once.

A review is what was asked (merge this branch into that one) and what happened to it since: comments, approvals, requests for
changes, the merge. What happened is a list of events, each with who and when, and none of them is ever changed or removed. What
a review *is* (open, approved, merged) follows from its events and from where its source is now; nobody writes that down.

    __reviews/0000000007   {"id":7,"source":"agent/7","target":"main",…,"events":[created, comment, approval, merging, merged]}

**Several at once.** Whoever adds an event reads the object, and replaces it on the condition that it still says what was read
(`Place.replace`). Who comes second reads again, decides again, and adds to what is there now: nothing is lost, and every decision
was made about exactly the events that precede it. An event has an id of its own, so that one whose acknowledgement got lost on
the way is recognised and not added twice.

**Numbers** are what people type. A new review takes the number after the greatest; of two that take the same one, the
conditional put lets one have it, and the other takes the next.

**A merge** is two events, because it happens elsewhere, in the commits of the target. `merging` is written before the commit is
published, by the same replacement that checks the approvals, and `merged` after it. The commit carries the id of the `merging`
event (`merge_key`). So after a crash in between, whoever looks finds out from the target whether the merge happened.

**What a review keeps.** While it is neither merged nor closed, the commits that were seen (where the source was when it was
opened, approved, or changes were requested) and the base stay readable, whatever becomes of the branch: reclaim treats them like
tags. A merged or closed one keeps nothing: what was merged is part of the target.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, Literal

from omnigraph.errors import AlreadyExists, ConflictError, DamagedRecord, NotFound, ResourceLimit
from omnigraph.hints import Action, Hint
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_REVIEW_BYTES
from omnigraph.model.phrases import counted
from omnigraph.storage.commits.refs import Ref, Tag
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import all_of, decoded, encoded, readable

FOLDER: Final = "__reviews"

ATTEMPTS: Final = 200
"""How often an event is added anew because somebody else added one."""

SIDE_BY_SIDE: Final = 8
"""Reviews that are read at a time."""

_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.5

KEEPING: Final = frozenset({"created", "approval", "change_request", "reopened"})
"""Events whose commits stay readable while the review is open."""

EventKind = Literal["created", "comment", "approval", "change_request", "closed", "reopened", "merging", "merged"]


@frozen
class ReviewEvent:
    """Something that happened to a review."""

    id: str
    kind: EventKind
    actor: str | None
    at: int
    """Microseconds since the epoch."""
    commit: str | None
    """The newest commit of the source that whoever did it saw; None: the branch was not there."""
    text: str | None = None
    type: str | None = None
    """What a comment is about: an entity of this type…"""
    entity: str | None = None
    """…with this id…"""
    property: str | None = None
    """…and this property of it. Nothing of it: the whole review."""
    approved_by: tuple[str | None, ...] = ()
    """Of a merge: who had approved the commit."""
    onto: str | None = None
    """Of `merging`: the newest commit of the target; the merge comes after it, or did not happen."""
    merge_commit: str | None = None
    """Of `merged`: the commit that merged it; None if the target had everything already."""


@frozen
class Pin:
    """A commit that a review needs, and the branch whose manifest holds it."""

    commit: str
    owner: Ref


@frozen
class StoredReview:
    """A review as it is stored."""

    id: int
    source: str
    target: str
    title: str
    description: str
    base: str
    """Where source and target parted when it was opened."""
    pins: tuple[Pin, ...]
    events: tuple[ReviewEvent, ...]

    @property
    def merged(self) -> ReviewEvent | None:
        """The merge, if it is known."""
        return next((event for event in self.events if event.kind == "merged"), None)

    @property
    def closed(self) -> ReviewEvent | None:
        """Who closed it, unless it was opened again."""
        last = next((event for event in reversed(self.events) if event.kind in ("closed", "reopened")), None)
        return last if last is not None and last.kind == "closed" else None

    @property
    def is_over(self) -> bool:
        """Whether it is merged or closed."""
        return self.merged is not None or self.closed is not None

    @property
    def seen(self) -> str | None:
        """The commit of the source that was last seen by somebody whose event keeps it readable."""
        return next((event.commit for event in reversed(self.events) if event.kind in KEEPING), None)

    def with_event(self, event: ReviewEvent, pins: Iterable[Pin] = ()) -> StoredReview:
        """The review after something happened to it."""
        known = {pin.commit for pin in self.pins}
        fresh = tuple(pin for pin in pins if pin.commit not in known)
        return replace(self, events=(*self.events, event), pins=(*self.pins, *fresh))


def merge_key(review: int, merging: ReviewEvent) -> str:
    """What the commit of a merge carries: which review it is of, and which attempt."""
    return f"review:{review}:{merging.id}"


# ── stored ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def review_path(number: int) -> str:
    """Where a review is kept."""
    return f"{FOLDER}/{number:010d}"


def numbers(place: Place) -> list[int]:
    """The numbers of all reviews, ascending. One listing."""
    names = (o.path.rpartition("/")[2] for o in place.names(FOLDER))
    return sorted(int(name) for name in names if name.isascii() and name.isdigit() and len(name) < 19)


def read_review(place: Place, number: int) -> StoredReview:
    """A review by its number."""
    return _read(place, number)[0]


def _read(place: Place, number: int) -> tuple[StoredReview, bytes]:
    path = review_path(number)
    try:
        with translated(f"read the review {number}"):
            said = place.get(path)
    except NotFound:
        listed = Hint(Action("list_reviews"), " lists them.")
        raise NotFound(f"no review {number}", what="review", name=str(number), hint=listed) from None
    try:
        found = decoded(said, StoredReview, path, f"the review {number}")
    except DamagedRecord as error:
        hint = f"Other reviews and the graph are not affected. Restore {path} from a copy; cleanup waits for it."
        raise DamagedRecord(error.message, hint=hint) from error
    return found, said


def readable_reviews(place: Place, wanted: Iterable[int] | None = None) -> tuple[list[StoredReview], dict[str, DamagedRecord]]:
    """Reviews by their numbers, or all of them, as far as they can be read, and by number why others cannot."""
    chosen = list(numbers(place) if wanted is None else wanted)
    if place.is_local or len(chosen) < 2:
        return readable(map(str, chosen), lambda name: read_review(place, int(name)))
    with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="omnigraph-reviews") as pool:
        halves = list(pool.map(lambda n: readable([str(n)], lambda name: read_review(place, int(name))), chosen))
    return [review for found, _ in halves for review in found], {n: why for _, unread in halves for n, why in unread.items()}


def kept(reviews: Iterable[StoredReview]) -> list[Tag]:
    """The commits that reviews need, each as if it had a name."""
    return [Tag(f"review {r.id}", pin.commit, pin.owner) for r in reviews if not r.is_over for pin in r.pins]


def kept_commits(place: Place) -> list[Tag]:
    """The same for all reviews; `DamagedRecord` if one cannot be read, for what it needs is not known."""
    return kept(all_of(readable_reviews(place)))


# ── changed ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def put_review(place: Place, make: Callable[[int], StoredReview]) -> StoredReview:
    """Store a new review under the next number that is free."""
    number = max(numbers(place), default=0)
    for _ in range(ATTEMPTS):
        number += 1
        review = make(number)
        try:
            place.put_new(review_path(number), _encoded(review))
            return review
        except AlreadyExists:
            found = _ours(place, number, review.events[0].id)
            if found is not None:
                return found
    raise ConflictError(f"{ATTEMPTS} reviews were opened while this one was", hint="Retry.")


def _ours(place: Place, number: int, event: str) -> StoredReview | None:
    """A review that is there already because its put was repeated on the way."""
    try:
        found = read_review(place, number)
    except (NotFound, DamagedRecord):
        return None
    return found if found.events and found.events[0].id == event else None


def change_review(place: Place, number: int, event: str, decide: Callable[[StoredReview], StoredReview]) -> StoredReview:
    """Change a review. `decide` says how it is to be, or raises; it is asked again if somebody else changed it meanwhile.

    `event` is the id of what is added: if it is there already, it was this call that added it.
    """
    for attempt in range(ATTEMPTS):
        before, said = _read(place, number)
        if any(known.id == event for known in before.events):
            return before
        after = decide(before)
        if after == before or place.replace(review_path(number), _encoded(after), said):
            return after
        time.sleep(random.uniform(0, min(_PAUSE * (attempt + 1), _LONGEST_PAUSE)))
    raise ConflictError(f"review {number} is changed by so many that {ATTEMPTS} attempts lost the race", hint="Retry.")


def _encoded(review: StoredReview) -> bytes:
    made = encoded(review, review_path(review.id))
    if len(made) > MAX_REVIEW_BYTES:
        raise ResourceLimit(
            f"review {review.id} would have {counted(len(made), 'byte')}; it may have {MAX_REVIEW_BYTES:,}",
            resource="review_bytes",
            actual=len(made),
            limit=MAX_REVIEW_BYTES,
            hint="Write less, or close it and open another one.",
        )
    return made
