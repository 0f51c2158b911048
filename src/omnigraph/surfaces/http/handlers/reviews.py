"""Reviews."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from omnigraph.errors import NotFound, UsageError
from omnigraph.service.operations.approve_review import ApproveReview
from omnigraph.service.operations.close_review import CloseReview
from omnigraph.service.operations.comment_review import CommentReview
from omnigraph.service.operations.create_review import CreateReview
from omnigraph.service.operations.diff_review import DiffReview
from omnigraph.service.operations.list_reviews import ListReviews
from omnigraph.service.operations.merge_review import MergeReview
from omnigraph.service.operations.reopen_review import ReopenReview
from omnigraph.service.operations.request_changes import RequestChanges
from omnigraph.service.operations.show_review import ShowReview
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.answering.outputs import merge_output
from omnigraph.surfaces.http.calls import Call, positive
from omnigraph.surfaces.http.handlers.branches import resolution
from omnigraph.surfaces.http.handlers.inspecting import compared
from omnigraph.wire import reviews as w

if TYPE_CHECKING:
    from omnigraph.service.results import Review

PAGE = 100
"""Reviews on a page, unless somebody says otherwise."""
LARGEST_PAGE = 1_000


def _number(call: Call) -> int:
    given = call.name("review")
    number = positive(given)
    if number is None or number >= 10**10:
        raise NotFound(f"no review {given}", what="review", name=given)
    return number


def _output(review: Review) -> w.ReviewOutput:
    return msgspec.convert(review.to_dict(), w.ReviewOutput)


async def create(call: Call) -> Response:
    """A new one."""
    wanted = await call.json(w.ReviewCreateRequest)
    operation = CreateReview(call.graph.ref, wanted.source, wanted.title, wanted.target or "main", wanted.description or "")
    return answer(_output(await call.run(operation)))


async def list_reviews(call: Call) -> Response:
    """Some of them, newest first."""
    wanted = tuple(value for name, value in call.parameters if name == "state")
    given, token = call.parameter("limit"), call.parameter("page_token")
    limit = PAGE if given is None else positive(given)
    if limit is None or limit > LARGEST_PAGE:
        raise UsageError(f"limit must be a whole number from 1 to {LARGEST_PAGE:,}", hint=f"It is {PAGE} by default.")
    before = None if token is None else positive(token)
    if token is not None and before is None:
        raise UsageError("page_token is not one that a page ended with", hint="Leave it out for the newest.")
    operation = ListReviews(
        call.graph.ref,
        wanted or None,  # type: ignore[arg-type]  # what they are is checked by whoever lists them
        call.parameter("source") or None,
        call.parameter("target") or None,
        call.parameter("author") or None,
        limit + 1,
        before,
    )
    found = await call.run(operation)
    shown = [_output(review) for review in found[:limit]]
    unreadable = [w.UnreadableReview(id=number, message=why) for number, why in found.unreadable.items()]
    more = str(shown[-1].id) if len(found) > limit else None
    return answer(w.ReviewListOutput(reviews=shown, unreadable=unreadable, next_page_token=more))


async def show(call: Call) -> Response:
    """One of them."""
    return answer(_output(await call.run(ShowReview(call.graph.ref, _number(call)))))


async def diff(call: Call) -> Response:
    """What one is about."""
    found = await call.run(DiffReview(call.graph.ref, _number(call)))

    def made() -> Response:
        preview = None if found.preview is None else merge_output(found.preview)
        return answer(
            w.ReviewDiffOutput(review=_output(found.review), diff=compared(found.diff), preview=preview, problem=found.problem)
        )

    return await call.do(made)


async def comment(call: Call) -> Response:
    """Somebody says something."""
    wanted = await call.json(w.ReviewCommentRequest)
    about = (wanted.type_name, wanted.entity_id, wanted.property)
    return answer(_output(await call.run(CommentReview(call.graph.ref, _number(call), wanted.text, *about))))


async def approve(call: Call) -> Response:
    """Somebody is in favour."""
    wanted = await call.json(w.ReviewApproveRequest)
    return answer(_output(await call.run(ApproveReview(call.graph.ref, _number(call), wanted.commit, wanted.text))))


async def request_changes(call: Call) -> Response:
    """Somebody is not, yet."""
    wanted = await call.json(w.ReviewChangesRequest)
    return answer(_output(await call.run(RequestChanges(call.graph.ref, _number(call), wanted.text, wanted.commit))))


async def merge(call: Call) -> Response:
    """It is merged."""
    wanted = await call.json(w.ReviewMergeRequest)
    operation = MergeReview(
        call.graph.ref,
        _number(call),
        wanted.commit,
        resolution(wanted.resolve),
        bool(wanted.strict),
        wanted.message,
        queries=call.graph.queries,
    )
    return answer(_output(await call.run(operation)))


async def close(call: Call) -> Response:
    """It is given up."""
    wanted = await call.json(w.ReviewCloseRequest)
    return answer(_output(await call.run(CloseReview(call.graph.ref, _number(call), wanted.text))))


async def reopen(call: Call) -> Response:
    """It goes on."""
    wanted = await call.json(w.ReviewCloseRequest)
    return answer(_output(await call.run(ReopenReview(call.graph.ref, _number(call), wanted.text))))
