"""Every error OmniGraph raises, in one tree.

    GraphError
    ├── LanguageError               a text is wrong; `.diagnostics` says where
    │   ├── ParseError              parse_error             grammar of `.pg` or `.gq`
    │   ├── SchemaError             schema_error            a schema that parses but contradicts itself
    │   └── TypeCheckError          type_error              a query that parses but does not fit its schema
    ├── SchemaChangeError           a schema that cannot follow the accepted one
    │   ├── SchemaIdentityError     schema_identity         rename hints or stored identities do not resolve
    │   ├── UnsupportedChange       unsupported_change      the migration plan has a step that cannot be applied
    │   └── VoidConstraint          void_constraint         the schema has a constraint that cannot be checked
    ├── InputError                  the request is well-formed, its values are not
    │   ├── UsageError              usage                   arguments that are wrong or do not fit together
    │   ├── ScopeError              scope                   no graph is given, or in a way that does not work here
    │   ├── PolicyError             policy_invalid          a policy that cannot be used; the message says where
    │   ├── NotConfirmed            not_confirmed           something that needs to be confirmed
    │   ├── WouldEmpty              would_empty             a load or schema would leave nothing of a type; `.types` says which
    │   ├── ParameterError          parameter               a query parameter is missing or has the wrong type
    │   ├── MixedMutationError      mixed_mutation          insert/update and delete in one query
    │   ├── KeyValueError           key_value               a value that cannot be part of an entity id
    │   ├── QueryError              query_error             a query that cannot be evaluated on this data
    │   ├── ValidationError         validation_failed       rows that break the schema; `.violations` lists them
    │   ├── CursorRejected          cursor_rejected         not a change cursor, or one of another graph, branch or filter
    │   ├── NoSuchRow               no_such_row             a result has no row with this number
    │   └── BlobRefused             blob_refused            the URI of a Blob that no policy allows
    ├── NotFound                    not_found               no such graph, branch, commit, tag, type or file
    ├── AlreadyExists               already_exists          the name is taken
    ├── Forbidden                   forbidden               the policy does not let this caller do it; `.action` says what
    ├── TooBusy                     too_busy                the caller has as much under way as it may
    ├── ConflictError               somebody else got there first
    │   ├── KeyConflict             key_conflict            an entity with this id exists; `.violations` lists them
    │   ├── ReadSetChanged          read_set_changed        what the write relied on has changed
    │   ├── StalledWrite            stalled_write           it was stalled until cleanup removed its files
    │   ├── CleanupUnderWay         cleanup_under_way       a cleanup is deciding about the same commits or files
    │   ├── PreconditionFailed      precondition_failed     the branch is not at the expected commit
    │   ├── KeyReused               idempotency_key_reused  a write of another content had this idempotency key
    │   ├── MergeConflict           merge_conflict          `.conflicts` lists what both sides changed
    │   └── ReviewError             a review is not in the state that was expected; `.review` says which
    │       ├── ReviewOver          review_over             it is merged or closed already
    │       ├── ReviewStale         review_stale            its source is not at the commit that was seen or approved
    │       └── ApprovalMissing     approval_missing        it needs approvals, or changes were requested
    ├── BrokenQueries               broken_queries          stored queries that do not fit; `.broken` says which and why
    ├── BlobUnavailable             blob_unavailable        an allowed URI cannot be read now
    ├── ResourceLimit               resource_limit          a stated limit would be exceeded
    ├── QueryCancelled              query_cancelled         the query was cancelled
    ├── HistoryReclaimed            history_reclaimed       cleanup removed the commit
    ├── ChangesUnreadable           the changes of a commit cannot be read
    │   ├── ParentlessCommit        parentless_commit       the first commit of a graph: there is nothing to compare it with
    │   ├── SchemaBoundary          schema_boundary         the two sides have different schemas
    │   └── ChangeFeedGap           change_feed_gap         cleanup removed what a reader has not read yet
    ├── UnsupportedFormat           unsupported_format      the graph was written by another format version
    ├── StorageError                the store failed or holds something unexpected
    │   └── DamagedRecord           damaged_record          a record cannot be read; the rest of the graph can be
    ├── OutputFailed                output_failed           a file or a stream cannot be written
    ├── UnexpectedError             unexpected              an unexpected failure; its cause is attached
    ├── EmbeddingFailed             embedding_failed        the embedding provider failed; its error is attached
    ├── SparkUnavailable            spark_unavailable       Spark could not be started or reached
    └── TaskFailed                  task_failed             a distributed task failed, even when repeated

A leaf carries three things a program can rely on: a stable `code`, a `hint` for the person (what to do next), and `retryable`
(the same call may succeed later without any change; a store that fails says it of each failure). `EXIT_CODES` maps codes to
process exit codes; everything not listed there exits with 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from omnigraph.conflict_errors import ApprovalMissing as ApprovalMissing
from omnigraph.conflict_errors import CleanupUnderWay as CleanupUnderWay
from omnigraph.conflict_errors import ConflictError as ConflictError
from omnigraph.conflict_errors import KeyConflict as KeyConflict
from omnigraph.conflict_errors import KeyReused as KeyReused
from omnigraph.conflict_errors import MergeConflict as MergeConflict
from omnigraph.conflict_errors import PreconditionFailed as PreconditionFailed
from omnigraph.conflict_errors import ReadSetChanged as ReadSetChanged
from omnigraph.conflict_errors import ReviewError as ReviewError
from omnigraph.conflict_errors import ReviewOver as ReviewOver
from omnigraph.conflict_errors import ReviewStale as ReviewStale
from omnigraph.conflict_errors import StalledWrite as StalledWrite
from omnigraph.error_details import BrokenRule, Located, visible
from omnigraph.graph_error import GraphError as GraphError
from omnigraph.hints import Action, Advice, Hint, Option


class LanguageError(GraphError):
    """One or more problems in a text. `diagnostics` is never empty and is in source order of discovery."""

    code = "language_error"

    def __init__(self, diagnostics: Sequence[Located], *, hint: Advice = None) -> None:
        self.diagnostics: tuple[Located, ...] = tuple(diagnostics)
        first = self.diagnostics[0].summary
        more = len(self.diagnostics) - 1
        super().__init__(first if more == 0 else f"{first} (and {more} more)", hint=hint)

    def __str__(self) -> str:
        return visible("\n\n".join(d.render() for d in self.diagnostics))

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "diagnostics": [d.to_dict() for d in self.diagnostics]}


class ParseError(LanguageError):
    """The text does not follow the grammar."""

    code = "parse_error"
    default_hint = "Fix the marked place."


class SchemaError(LanguageError):
    """The schema follows the grammar but breaks a rule of the schema language."""

    code = "schema_error"
    default_hint = "Fix the marked declarations."


class TypeCheckError(LanguageError):
    """The query follows the grammar but does not fit the schema."""

    code = "type_error"
    default_hint = Hint("Compare the query with the schema: ", Action("show_schema"), " shows it.")


class SchemaChangeError(GraphError):
    """The desired schema cannot follow the accepted one."""

    code = "schema_change"


class SchemaIdentityError(SchemaChangeError):
    """Rename hints or stored identities do not resolve."""

    code = "schema_identity"
    default_hint = "Check the `@rename_from` hints; a rename and a reuse of the freed name need two applies."


class UnsupportedChange(SchemaChangeError):
    """The plan contains a step that cannot be applied to existing data."""

    code = "unsupported_change"
    default_hint = Hint("Split the change, or load into a new property.", Hint(" ", Action("plan_schema"), " shows every step."))


class VoidConstraint(SchemaChangeError):
    """The schema of the graph holds a constraint that cannot be checked, so nothing of its type can be written."""

    code = "void_constraint"
    default_hint = "Apply a schema without this constraint; reading goes on as before."


class InputError(GraphError):
    """The request is well-formed, its values are not."""

    code = "input_error"


class UsageError(InputError):
    """Arguments that do not fit together."""

    code = "usage"
    default_hint = Hint("See ", Action("help"), ".")


class ScopeError(InputError):
    """No graph is given, or in a way that does not work here."""

    code = "scope"
    default_hint = "Give the path or s3:// address of a graph."


class PolicyError(InputError):
    """A policy, or a file of its tests, that cannot be used. The message says in which line, and what is wrong there."""

    code = "policy_invalid"
    default_hint = "Correct the file."


class NotConfirmed(InputError):
    """Something that cannot be undone, on a graph that others may use, was not confirmed."""

    code = "not_confirmed"
    default_hint = "Nothing was done. Confirm it first."


class WouldEmpty(InputError):
    """A load or a schema would leave nothing of a type that has entities, and nobody said that this is intended.

    `types` has the name of each, with the number of entities that would go.
    """

    code = "would_empty"
    default_hint = Hint("Nothing was done.", Hint(" To go ahead anyway, set ", Option("allow_empty", True), "."))

    def __init__(self, message: str, *, types: Mapping[str, int] | None = None, hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.types = dict(types or {})

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "types": self.types}


class ParameterError(InputError):
    """A query parameter is missing or has the wrong type."""

    code = "parameter"
    default_hint = "Give every required parameter of the query, with the declared type."


class MixedMutationError(InputError):
    """Rule D2: one query either adds and changes, or deletes."""

    code = "mixed_mutation"
    default_hint = "Split it into two queries: one with the inserts and updates, one with the deletes."


class KeyValueError(InputError):
    """A value cannot be part of an entity id."""

    code = "key_value"
    default_hint = "Give the key a value that its type can hold."


class QueryError(InputError):
    """A well-typed query that cannot be evaluated."""

    code = "query_error"


class ValidationError(InputError):
    """Rows that break the schema. `violations` holds every one of them."""

    code = "validation_failed"
    default_hint = "Nothing was written. Fix the rows listed and run it again."

    def __init__(self, message: str, *, violations: Sequence[BrokenRule] = (), hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.violations = tuple(violations)

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "violations": [v.to_dict() for v in self.violations]}


class CursorRejected(InputError):
    """Not a change cursor, or one of another graph, branch or filter."""

    code = "cursor_rejected"
    default_hint = Hint("Start again with ", Option("since", "now"), ", or from a new baseline: ", Action("baseline"), ".")


class NoSuchRow(InputError, IndexError):
    """A result has no row with this number. Also an `IndexError`, as Python expects of a sequence."""

    code = "no_such_row"
    default_hint = "Rows are numbered from 0."


class BlobRefused(InputError):
    """A URI was given for a Blob, and the policy about external Blobs does not allow it."""

    code = "blob_refused"
    default_hint = Hint("Give the bytes as `base64:…`.", Hint(" Or allow the URI by ", Option("external_blobs"), "."))


class NotFound(GraphError):
    """No such thing. `what` and `name` say which, where somebody asked for it by name: a branch, a commit, a tag, a query."""

    code = "not_found"
    default_hint = "Check the spelling."

    def __init__(self, message: str, *, what: str = "", name: str = "", hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.what, self.name = what, name


class AlreadyExists(GraphError):
    """The name is taken. `what` and `name` say which, where somebody asked for it by name."""

    code = "already_exists"
    default_hint = "Choose another name or delete the existing one first."

    def __init__(self, message: str, *, what: str = "", name: str = "", hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.what, self.name = what, name


class Forbidden(GraphError):
    """The caller may not do this. Nothing was done."""

    code = "forbidden"
    default_hint = "Nothing was done. Ask whoever maintains the policy of this graph, or act as somebody who may do it."
    by_review_hint: ClassVar[Hint] = Hint(
        "Nothing was done. Write to a branch of your own, and open a review with ", Action("create_review"), "."
    )
    """For what a branch takes by a review alone."""

    def __init__(self, message: str, *, action: str = "", rule: str | None = None, hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.action, self.rule = action, rule


class TooBusy(GraphError):
    """The caller has as much under way as it may. Nothing was done."""

    code = "too_busy"
    retryable = True
    default_hint = "Wait for what is under way, then retry."


class BrokenQueries(GraphError):
    """Stored queries cannot be read, or do not fit a schema. `broken` has the reason by query, or by file."""

    code = "broken_queries"
    default_hint = "Nothing was changed. Fix or remove these queries first."

    def __init__(self, message: str, *, broken: Mapping[str, str] | None = None, hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.broken = dict(broken or {})

    @classmethod
    def of(cls, what: str, broken: Mapping[str, str]) -> BrokenQueries:
        """With the reasons in the message."""
        lines = "".join(f"\n  {name}: {reason}" for name, reason in broken.items())
        return cls(f"{what}:{lines}", broken=broken)

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "broken": self.broken}


class BlobUnavailable(GraphError):
    """The URI of a Blob is allowed, but its object cannot be read now. `uri` and `reason` are those of the first one."""

    code = "blob_unavailable"
    retryable = True
    default_hint = "Nothing was written. Check that the object is there and may be read, then run it again."

    def __init__(
        self, message: str, *, uri: str = "", reason: str = "", violations: Sequence[BrokenRule] = (), hint: Advice = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.uri, self.reason, self.violations = uri, reason, tuple(violations)

    def to_dict(self) -> dict[str, object]:
        data = {**super().to_dict(), "external_blob_source": {"uri": self.uri, "reason": self.reason}}
        return {**data, "violations": [v.to_dict() for v in self.violations]} if self.violations else data


class ResourceLimit(GraphError):
    """A stated limit would be exceeded."""

    code = "resource_limit"
    default_hint = "Ask for less at a time. The page Limits of the documentation lists every limit and how to work within it."

    def __init__(
        self, message: str, *, resource: str | None = None, actual: int = 0, limit: int = 0, hint: Advice = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.resource, self.actual, self.limit = resource, actual, limit

    def to_dict(self) -> dict[str, object]:
        if self.resource is None:
            return super().to_dict()
        detail = {"resource": self.resource, "limit": self.limit, "actual": self.actual}
        return {**super().to_dict(), "resource_limit": detail}


class QueryCancelled(GraphError):
    """The query was cancelled."""

    code = "query_cancelled"
    retryable = True
    default_hint = "Run it again if the answer is still wanted."


class HistoryReclaimed(GraphError):
    """The commit was removed by cleanup."""

    code = "history_reclaimed"
    default_hint = "Read a newer commit, or keep history longer with the cleanup policy or a tag."


class ChangesUnreadable(GraphError):
    """The changes of a commit cannot be read."""

    code = "changes_unreadable"


class ParentlessCommit(ChangesUnreadable):
    """The first commit of a graph has no parent to be compared with."""

    code = "parentless_commit"
    default_hint = "Read the graph at that commit, or export it."

    def __init__(self, message: str, *, commit: str = "", hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.commit = commit


class SchemaBoundary(ChangesUnreadable):
    """The two sides have different schemas."""

    code = "schema_boundary"
    default_hint = "Go on from a new baseline, or bring both sides to one schema first."

    def __init__(self, message: str, *, commit: str | None = None, type_name: str | None = None, hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.commit, self.type_name = commit, type_name


class ChangeFeedGap(ChangesUnreadable):
    """Cleanup removed history that the reader has not read yet. `first_unreadable_commit_id` is where it would go on."""

    code = "change_feed_gap"
    default_hint = Hint("Take a new baseline (", Action("baseline"), ") and go on from its cursor. Tags keep history readable.")

    def __init__(
        self, message: str, *, first_unreadable_commit_id: str = "", cursor: str | None = None, hint: Advice = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.first_unreadable_commit_id, self.cursor = first_unreadable_commit_id, cursor


class UnsupportedFormat(GraphError):
    """The graph was written by another format version."""

    code = "unsupported_format"
    default_hint = "Open it with the version that wrote it, or migrate it."


class StorageError(GraphError):
    """The store failed or holds something unexpected.

    A full disk, a missing permission and a damaged file do not mend themselves: then `retryable` is False.
    """

    code = "storage_error"
    retryable = True
    default_hint: ClassVar[Hint | str] = "Check that the store is reachable, then retry."

    def __init__(self, message: str, *, hint: Advice = None, retryable: bool | None = None) -> None:
        super().__init__(message, hint=hint)
        if retryable is not None:
            self.retryable = retryable


class OutputFailed(GraphError):
    """A file or a stream that was to be written cannot be: the disk is full, a permission is missing, the device failed."""

    code = "output_failed"
    default_hint = "Check the path, its permissions and the free space. The graph was only read."

    @classmethod
    def of(cls, named: str, error: OSError) -> OutputFailed:
        """What to say of an error of the operating system."""
        return cls(f"cannot write {named}: {error.strerror or error}")


class DamagedRecord(StorageError):
    """A record of the graph (a commit, branch, tag, lease) cannot be read. The message names it; everything else can be."""

    code = "damaged_record"
    retryable = False
    default_hint = Hint("Restore it from a copy.", Hint(" ", Action("verify"), " lists what is damaged."))


class UnexpectedError(GraphError):
    """Something failed that should not have. The error behind it is its cause (`__cause__`)."""

    code = "unexpected"
    default_hint = "If it did not come from an object or function of yours, this is a bug in OmniGraph: please report it."


class EmbeddingFailed(GraphError):
    """A provider of embeddings failed. What it raised is the cause (`__cause__`); of a network it may pass (`retryable`)."""

    code = "embedding_failed"
    default_hint = "Nothing was changed, and vectors that were made are kept for the next attempt. The message says why."

    def __init__(self, message: str, *, model: str = "", retryable: bool = False, hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.model = model
        self.retryable = retryable


class SparkUnavailable(GraphError):
    """Spark could not be started or reached. The message says what was tried."""

    code = "spark_unavailable"
    default_hint = "Install it (pip install 'omnigraph[spark]'), or use the local engine."


class TaskFailed(GraphError):
    """A distributed task failed, even when it was repeated.

    Lost executors and stores that cannot be reached may pass (`retryable`); what a task raised each time does not.
    """

    code = "task_failed"
    default_hint = "Nothing was changed. The message says why one task failed: fix that, then run it again."

    def __init__(self, message: str, *, retryable: bool = False, hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable


EXIT_CODES: Mapping[str, int] = {PreconditionFailed.code: 4}
"""Process exit code per error code; every other error exits with `EXIT_FAILURE`, and 2 is a command line that cannot be read."""

EXIT_FAILURE = 1


def exit_code(error: GraphError) -> int:
    """The process exit code for an error."""
    return EXIT_CODES.get(error.code, EXIT_FAILURE)
