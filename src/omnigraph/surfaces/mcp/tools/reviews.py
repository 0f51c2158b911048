"""Reviews: an agent proposes what it did on a branch, and people decide.

Approving and merging are tools only where a policy was asked and allows them: with a graph at hand and nobody to ask, an agent
proposes, and no more.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from omnigraph.policy.port import Action
from omnigraph.service.operations.approve_review import ApproveReview
from omnigraph.service.operations.comment_review import CommentReview
from omnigraph.service.operations.create_review import CreateReview
from omnigraph.service.operations.list_reviews import ListReviews
from omnigraph.service.operations.merge_review import MergeReview
from omnigraph.service.operations.show_review import ShowReview
from omnigraph.surfaces.mcp.answering.bounds import paged
from omnigraph.surfaces.mcp.answering.page_tokens import position, token
from omnigraph.surfaces.mcp.session import Call, named
from omnigraph.surfaces.mcp.tool import About, Input, Tool
from omnigraph.surfaces.mcp.tools.inputs import PageToken
from omnigraph.wire.reviews import ReviewCommentOutput, ReviewMergeOutput, ReviewVerdictOutput

_PAGE = 50

Number = Annotated[int, About("Number of the review.")]
SourceCommit = Annotated[
    str, About("The commit of the source that you looked at: `source_commit_id` of the review. Anything newer is refused.")
]


class ReviewSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A review in short."""

    id: int
    source: str
    target: str
    title: str
    author: str | None
    created_at: int
    state: str


class ReviewPage(ReviewSummary, frozen=True, kw_only=True):
    """A review. Verdicts about an older commit of the source are stale, and do not count."""

    description: str
    base_commit_id: str
    source_commit_id: str | None
    source_exists: bool
    verdicts: list[ReviewVerdictOutput]
    merge: ReviewMergeOutput | None
    comments: list[ReviewCommentOutput]
    next_page_token: str | msgspec.UnsetType = msgspec.UNSET
    truncated: list[str] | msgspec.UnsetType = msgspec.UNSET


class ReviewsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Reviews, newest first."""

    reviews: list[ReviewSummary]
    next_page_token: str | msgspec.UnsetType = msgspec.UNSET
    truncated: list[str] | msgspec.UnsetType = msgspec.UNSET


_SHORT = ("id", "source", "target", "title", "author", "created_at", "state")
_LONG = (*_SHORT, "description", "base_commit_id", "source_commit_id", "source_exists", "verdicts", "merge")


def _shown(call: Call, review: Any, offset: int = 0) -> Any:
    """A review, and the comments from a number on."""
    said = review.to_dict()
    head = {name: said[name] for name in _LONG}
    return paged(head, "comments", said["comments"][offset:], lambda taken: token(call, offset + taken))


class ReviewsCreate(Input, frozen=True):
    """What is proposed."""

    title: Annotated[str, About("What the branch does, in one line.")]
    source: Annotated[str | None, About("The branch that is to be merged; the default branch of the session unless named.")] = (
        None
    )
    target: Annotated[str | None, About("The branch it is to be merged into; main by default.")] = None
    description: Annotated[str | None, About("Why, and what reviewers should look at.")] = None


def reviews_create(call: Call, given: ReviewsCreate) -> Any:
    """A branch is proposed."""
    target = "main" if given.target is None else named(given.target, "target")
    operation = CreateReview(call.graph, call.branch(given.source), given.title, target, given.description or "")
    return _shown(call, call.run(operation))


class ReviewsList(Input, frozen=True):
    """Which reviews."""

    state: Annotated[
        Literal["open", "approved", "changes_requested", "merged", "closed"] | None, About("Only reviews in this state.")
    ] = None
    page_token: PageToken = None


def reviews_list(call: Call, given: ReviewsList) -> Any:
    """Reviews in short; a page begins below a number."""
    before = (position(call, given.page_token, int) or [None])[0]
    state = None if given.state is None else (given.state,)
    found = [review.to_dict() for review in call.run(ListReviews(call.graph, state, limit=_PAGE + 1, before=before))]
    short = [{name: said[name] for name in _SHORT} for said in found]
    return paged({}, "reviews", short, lambda taken: token(call, short[taken - 1]["id"]), most=_PAGE)


class ReviewsShow(Input, frozen=True):
    """Which review."""

    review: Number
    page_token: PageToken = None


def reviews_show(call: Call, given: ReviewsShow) -> Any:
    """A review, with its comments in pages."""
    offset = (position(call, given.page_token, int) or [0])[0]
    return _shown(call, call.run(ShowReview(call.graph, given.review)), offset)


class ReviewsComment(Input, frozen=True):
    """What is said, and about what."""

    review: Number
    text: Annotated[str, About("What to say.")]
    type: Annotated[str | None, About("Type of the entity it is about, if it is about one.")] = None
    id: Annotated[str | None, About("Id of that entity.")] = None
    property: Annotated[str | None, About("Property of that entity, if it is about one.")] = None


def reviews_comment(call: Call, given: ReviewsComment) -> Any:
    """A comment on the whole, an entity or a property."""
    return _shown(call, call.run(CommentReview(call.graph, given.review, given.text, given.type, given.id, given.property)))


class ReviewsApprove(Input, frozen=True):
    """What is approved."""

    review: Number
    commit: SourceCommit
    text: Annotated[str | None, About("What to say with it.")] = None


def reviews_approve(call: Call, given: ReviewsApprove) -> Any:
    """An approval of the commit that was looked at."""
    return _shown(call, call.run(ApproveReview(call.graph, given.review, named(given.commit, "commit"), given.text)))


class ReviewsMerge(Input, frozen=True):
    """What is merged."""

    review: Number
    commit: SourceCommit


def reviews_merge(call: Call, given: ReviewsMerge) -> Any:
    """The source goes into the target, as far as those who have a say approved it."""
    return _shown(call, call.run(MergeReview(call.graph, given.review, named(given.commit, "commit"), queries=call.queries)))


TOOLS = (
    Tool(
        "reviews_create",
        "Propose a branch",
        "Propose to merge a branch: people look at the difference, comment, approve and merge. Look at `diff` yourself first.",
        ReviewsCreate,
        ReviewPage,
        reviews_create,
        "adds",
        (Action.REVIEW_CREATE,),
    ),
    Tool(
        "reviews_list", "List reviews", "List reviews, newest first, each with its state.", ReviewsList, ReviewsPage, reviews_list
    ),
    Tool(
        "reviews_show",
        "Show a review",
        "Show a review with its comments, verdicts and what became of it.",
        ReviewsShow,
        ReviewPage,
        reviews_show,
    ),
    Tool(
        "reviews_comment",
        "Comment on a review",
        "Say something about a review, about an entity in it, or about a property of one.",
        ReviewsComment,
        ReviewPage,
        reviews_comment,
        "adds",
        (Action.REVIEW_COMMENT,),
    ),
    Tool(
        "reviews_approve",
        "Approve a review",
        "Approve what a review proposes, as of the commit that you looked at.",
        ReviewsApprove,
        ReviewPage,
        reviews_approve,
        "adds",
        (Action.REVIEW_APPROVE,),
    ),
    Tool(
        "reviews_merge",
        "Merge a review",
        "Merge what a review proposes, if it has the approvals that it needs.",
        ReviewsMerge,
        ReviewPage,
        reviews_merge,
        "changes",
        (Action.REVIEW_MERGE,),
    ),
)
