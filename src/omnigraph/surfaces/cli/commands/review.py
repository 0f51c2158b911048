"""`omnigraph review`: create, list, show, diff, comment, approve, request-changes, merge, close, reopen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from omnigraph.model.phrases import ago, counted
from omnigraph.model.text_tables import aligned
from omnigraph.service.operations.approve_review import ApproveReview
from omnigraph.service.operations.close_review import CloseReview
from omnigraph.service.operations.comment_review import CommentReview
from omnigraph.service.operations.create_review import CreateReview
from omnigraph.service.operations.diff_review import DiffReview
from omnigraph.service.operations.list_reviews import ListReviews
from omnigraph.service.operations.merge import Merge
from omnigraph.service.operations.merge_review import MergeReview
from omnigraph.service.operations.reopen_review import ReopenReview
from omnigraph.service.operations.request_changes import RequestChanges
from omnigraph.service.operations.show_review import ShowReview
from omnigraph.surfaces.cli.arguments import json_option, resolution, resolve_options
from omnigraph.surfaces.cli.change_text import change_lines, painted, schema_lines, stats_text
from omnigraph.surfaces.cli.confirmation import echo_write, interruptible, one_step
from omnigraph.surfaces.cli.merging import SHOWN_CHANGES, ask, tell, tell_conflicts
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import READS, WRITES, Capability, Group, address, connect, connect_to, uri_option

if TYPE_CHECKING:
    from omnigraph.service.operation import Operation
    from omnigraph.service.results import Review, ReviewDiff
    from omnigraph.surfaces.cli.scope import Connection

QUIET = frozenset({"quiet"})
UNFINISHED = ("open", "approved", "changes_requested")
STATES = (*UNFINISHED, "merged", "closed")
COLOURS = {"open": "cyan", "approved": "green", "changes_requested": "yellow", "merged": "magenta", "closed": "red"}

review_argument = click.argument("review", type=click.IntRange(min=1), metavar="REVIEW")
seen_option = click.option("--commit", metavar="COMMIT", help="The commit of the source that you saw; refused if it has moved.")


@click.group(cls=Group)
def command() -> None:
    """Ask for a branch to be merged, talk about it, approve it, merge it."""


def _changed(what: str, uri: str | None, number: int | None, make: Callable[[Any], Operation[Review]], as_json: bool) -> Review:
    """Do something to a review, and print it where a program asks."""
    where = address(uri)
    echo_write(f"review {what}", where)
    look = "omnigraph review list" if number is None else f"omnigraph review show {number}"
    with connect_to(where, read_only=False) as graph, one_step(look):
        done = graph.run(make(graph.ref))
    if as_json:
        print_json(done.to_dict())
    return done


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@click.argument("source")
@click.option("--into", default="main", show_default=True, metavar="B", help="The branch to merge into.")
@click.option("--title", required=True, metavar="TEXT", help="What it is about, in one line.")
@click.option("--description", default="", metavar="TEXT", help="Why, in as many lines as it takes.")
@uri_option
@json_option("the review")
def create(source: str, into: str, title: str, description: str, uri: str | None, as_json: bool) -> None:
    """Ask for SOURCE to be merged.

    \b
    omnigraph review create agent/7 --title "Ada moved to Paris" --store people.omni
    """
    made = _changed("create", uri, None, lambda ref: CreateReview(ref, source, title, into, description), as_json)
    if not as_json:
        say(f"opened review {made.id}: {made.source} into {made.target} at {made.source_commit}")


@command.command("list", capability=Capability.DATA, usable=READS)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([*STATES, "all"]),
    help="Only these; may be repeated. By default those that are neither merged nor closed.",
)
@click.option("--source", metavar="B", help="Only of this branch.")
@click.option("--target", metavar="B", help="Only into this branch.")
@click.option("--author", metavar="ACTOR", help="Only of this author.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The newest N.")
@uri_option
@json_option("the reviews")
def list_(
    states: tuple[str, ...],
    source: str | None,
    target: str | None,
    author: str | None,
    limit: int | None,
    uri: str | None,
    as_json: bool,
) -> None:
    """List reviews, newest first."""
    chosen: Any = None if "all" in states else states or UNFINISHED
    with connect(uri) as graph:
        found = graph.run(ListReviews(graph.ref, chosen, source, target, author, limit))
    for number, why in found.unreadable.items():
        say(f"warning: review {number} cannot be read: {why}", err=True)
    if as_json:
        unreadable = [{"id": number, "message": why} for number, why in found.unreadable.items()]
        print_json({"reviews": [review.to_dict() for review in found], "unreadable": unreadable})
        return
    for line in aligned(
        (str(r.id), _state(r), f"{r.source} -> {r.target}", r.author or "", ago(r.created_at), r.title) for r in found
    ):
        say(line)


@command.command(capability=Capability.DATA, usable=READS)
@review_argument
@uri_option
@json_option("the review")
def show(review: int, uri: str | None, as_json: bool) -> None:
    """Show a review: what was said, who approved what, and what it changes in numbers."""
    with connect(uri) as graph:
        found = graph.run(ShowReview(graph.ref, review))
        if as_json:
            print_json(found.to_dict())
            return
        for line in _lines(found):
            say(line)
        if found.state not in ("merged", "closed"):
            say()
            _tell_diff(graph.run(DiffReview(graph.ref, review)), changes=0)


@command.command(capability=Capability.DATA, usable=READS)
@review_argument
@uri_option
@json_option("the changes, and the preview of the merge")
def diff(review: int, uri: str | None, as_json: bool) -> int:
    """Show what the source of a review adds, and what merging it now would do.

    The exit code is 1 if there are conflicts.
    """
    with connect(uri) as graph:
        found = graph.run(DiffReview(graph.ref, review))
        conflicts = found.preview is not None and bool(found.preview.conflicts)
        if as_json:
            print_json(found.to_dict())
        else:
            _tell_diff(found, changes=SHOWN_CHANGES)
            if found.preview is not None and found.preview.conflicts:
                tell_conflicts(found.preview.conflicts)
    return 1 if conflicts else 0


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@review_argument
@click.argument("text")
@click.option("--type", "type_", metavar="T", help="It is about an entity of this type…")
@click.option("--id", "id_", metavar="ID", help="…with this id…")
@click.option("--property", "property_", metavar="P", help="…and this property of it.")
@uri_option
@json_option("the review")
def comment(
    review: int, text: str, type_: str | None, id_: str | None, property_: str | None, uri: str | None, as_json: bool
) -> None:
    """Say something about a review, about an entity, or about a property of one.

    \b
    omnigraph review comment 7 "Which Paris?" --type Person --id Ada --property city --store people.omni
    """
    done = _changed("comment", uri, review, lambda ref: CommentReview(ref, review, text, type_, id_, property_), as_json)
    if not as_json:
        say(f"commented on review {done.id}, which has {counted(len(done.comments), 'comment')}")


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@review_argument
@seen_option
@click.option("--text", metavar="TEXT", help="What there is to say about it.")
@uri_option
@json_option("the review")
def approve(review: int, commit: str | None, text: str | None, uri: str | None, as_json: bool) -> None:
    """Approve what the source of a review has now. What it gets later needs another approval."""
    done = _changed("approve", uri, review, lambda ref: ApproveReview(ref, review, commit, text), as_json)
    if not as_json:
        named = any(event.kind == "approved" and event.actor for event in done.events[-1:])
        say(f"approved review {done.id} at {done.source_commit}{'' if named else ', by nobody named: --as says who'}")


@command.command("request-changes", capability=Capability.DATA, usable=WRITES, also=QUIET)
@review_argument
@click.argument("text")
@seen_option
@uri_option
@json_option("the review")
def request_changes(review: int, text: str, commit: str | None, uri: str | None, as_json: bool) -> None:
    """Ask for changes. Nobody merges the review until the source moves, or you approve it."""
    done = _changed("request-changes", uri, review, lambda ref: RequestChanges(ref, review, text, commit), as_json)
    if not as_json:
        say(f"asked for changes to review {done.id} at {done.source_commit}")


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@review_argument
@seen_option
@resolve_options
@uri_option
@json_option("the review, or the preview")
def merge(
    review: int,
    commit: str | None,
    message: str | None,
    dry_run: bool,
    resolve: tuple[str, ...],
    resolve_file: str | None,
    strict: bool,
    interactive: bool,
    uri: str | None,
    as_json: bool,
) -> int:
    """Merge a review as one commit that says who approved it.

    It is refused if the source has moved since it was approved, while changes are requested, and where the policy of a server
    demands approvals that are missing. Conflicts are resolved as in `omnigraph branch merge`.
    """
    if interactive and (dry_run or as_json):
        raise click.UsageError(f"--interactive asks questions; {'--dry-run' if dry_run else '--json'} does not go with it")
    chosen = resolution(resolve, resolve_file)
    where = address(uri)
    if not dry_run:
        echo_write("review merge", where)
    with connect_to(where, read_only=dry_run) as graph:
        found = graph.run(ShowReview(graph.ref, review))
        if dry_run:
            preview = _preview(graph, found, chosen, strict)
            if as_json:
                print_json(preview.to_dict())
            else:
                tell(preview)
            return 1 if preview.conflicts else 0
        if interactive:
            chosen = ask(lambda choices, _: _preview(graph, found, choices, strict), chosen)
        with interruptible(graph, found.target):
            done = graph.run(MergeReview(graph.ref, review, commit, chosen, strict, message))
    if as_json:
        print_json(done.to_dict())
        return 0
    made = done.merge
    approved = "" if made is None or not made.approved_by else f", approved by {_and(made.approved_by)}"
    say(f"merged review {done.id}: {done.source} into {done.target}{approved}")
    if made is not None and made.commit is not None:
        say(f"commit: {made.commit}")
    return 0


def _preview(graph: Connection, review: Review, chosen: Any, strict: bool) -> Any:
    return graph.run(Merge(graph.ref, review.source, review.target, True, chosen, strict))


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@review_argument
@click.option("--text", metavar="TEXT", help="Why.")
@uri_option
@json_option("the review")
def close(review: int, text: str | None, uri: str | None, as_json: bool) -> None:
    """End a review without a merge. What it kept from cleanup may go afterwards."""
    done = _changed("close", uri, review, lambda ref: CloseReview(ref, review, text), as_json)
    if not as_json:
        say(f"closed review {done.id}")


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@review_argument
@click.option("--text", metavar="TEXT", help="Why.")
@uri_option
@json_option("the review")
def reopen(review: int, text: str | None, uri: str | None, as_json: bool) -> None:
    """Go on with a review that was closed."""
    done = _changed("reopen", uri, review, lambda ref: ReopenReview(ref, review, text), as_json)
    if not as_json:
        say(f"opened review {done.id} again")


# ── for people ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _state(review: Review) -> str:
    return painted(review.standing, COLOURS[review.state])


def _and(actors: tuple[str | None, ...]) -> str:
    return " and ".join(actor or "somebody" for actor in actors)


def _lines(review: Review) -> Iterator[str]:
    from omnigraph.service.results import threads

    yield f"{painted(f'review {review.id}', bold=True)}: {review.title}"
    gone = "" if review.source_exists or review.state in ("merged", "closed") else " (the branch is gone)"
    yield f"state:  {_state(review)}"
    yield f"merges: {review.source}{gone} -> {review.target}"
    yield f"author: {review.author or 'unknown'}, {ago(review.created_at)}"
    if review.source_commit is not None:
        yield f"commit: {review.source_commit}"
    if review.merge is not None:
        approved = f", approved by {_and(review.merge.approved_by)}" if review.merge.approved_by else ""
        made = "" if review.merge.commit is None else f" as {review.merge.commit}"
        yield f"merged: by {review.merge.actor or 'somebody'}, {ago(review.merge.at)}{made}{approved}"
    if review.description:
        yield ""
        yield from (f"  {line}" for line in review.description.splitlines())
    if review.verdicts:
        yield ""
    for verdict in review.verdicts:
        said = painted(verdict.kind.replace("_", " "), COLOURS[verdict.kind])
        stale = painted(f" (stale: of {verdict.commit})", dim=True) if verdict.stale else ""
        text = f": {verdict.text}" if verdict.text else ""
        yield f"{said} by {verdict.actor or 'somebody'}, {ago(verdict.at)}{stale}{text}"
    for about, comments in threads(review.comments):
        yield ""
        yield painted(about or "comments", bold=True)
        for said_ in comments:
            yield f"  {said_.actor or 'somebody'}, {ago(said_.at)}"
            yield from (f"    {line}" for line in said_.text.splitlines())


def _tell_diff(found: ReviewDiff, *, changes: int) -> None:
    say(f"adds {stats_text(found.diff.stats)}")
    for line in schema_lines(found.diff.schema):
        say(line)
    for line in change_lines(found.diff.changes.between(0, changes)) if changes else ():
        say(line)
    if changes and len(found.diff) > changes:
        say(f"… and {len(found.diff) - changes:,} more")
    if found.problem is not None:
        say(f"cannot be merged: {found.problem}")
    elif found.preview is not None:
        conflicts = len(found.preview.conflicts)
        outcome = painted(counted(conflicts, "conflict"), "red") if conflicts else found.preview.outcome.replace("_", " ")
        say(f"merging it now: {outcome}")
