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
    │   └── MergeConflict           merge_conflict          `.conflicts` lists what both sides changed
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

from omnigraph.error_details import BrokenRule, Disagreement, Located
from omnigraph.hints import Action, Advice, Hint, Option


class GraphError(Exception):
    """Base of every error raised by OmniGraph. `hint` says what to do next in Python's words, `advice` is the same as a value."""

    code: ClassVar[str] = "graph_error"
    retryable: bool = False
    default_hint: ClassVar[Hint | str] = ""

    def __init__(self, message: str, *, hint: Advice = None) -> None:
        super().__init__(message)
        self.message = message
        advice = self.default_hint if hint is None else hint
        self.advice = advice if isinstance(advice, Hint) else Hint(advice)
        self.hint = str(self.advice)
        if self.hint:
            self.add_note(_visible(self.hint))  # a traceback shows it, too

    def __reduce__(self) -> tuple[object, ...]:
        """Errors travel between processes with everything they carry, whatever their constructors take."""
        return _again, (type(self), self.args, dict(self.__dict__))

    def __str__(self) -> str:
        """The message as it may be shown on a terminal; `message` has it as it is."""
        return _visible(self.message)

    def to_dict(self) -> dict[str, object]:
        """The error as JSON-ready data."""
        data: dict[str, object] = {"error": self.message, "code": self.code, "retryable": self.retryable}
        if self.hint:
            data["hint"] = self.hint
        return data


def _visible(text: str) -> str:
    """A text with everything spelt out that a terminal would obey, or that turns a line around."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def _again(cls: type[GraphError], args: tuple[object, ...], state: dict[str, object]) -> GraphError:
    """An error as it was."""
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


class LanguageError(GraphError):
    """One or more problems in a text. `diagnostics` is never empty and is in source order of discovery."""

    code = "language_error"

    def __init__(self, diagnostics: Sequence[Located], *, hint: Advice = None) -> None:
        self.diagnostics: tuple[Located, ...] = tuple(diagnostics)
        first = self.diagnostics[0].summary
        more = len(self.diagnostics) - 1
        super().__init__(first if more == 0 else f"{first} (and {more} more)", hint=hint)

    def __str__(self) -> str:
        return _visible("\n\n".join(d.render() for d in self.diagnostics))

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
    default_hint = "Key values must be present and finite."


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

    def __init__(self, message: str, *, action: str = "", rule: str | None = None, hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.action, self.rule = action, rule


class TooBusy(GraphError):
    """The caller has as much under way as it may. Nothing was done."""

    code = "too_busy"
    retryable = True
    default_hint = "Wait for what is under way, then retry."


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
        self.branch = branch
        self.expected = expected
        self.actual = actual

    @classmethod
    def at(cls, branch: str, *, expected: str | None, actual: str) -> PreconditionFailed:
        """What to say of a branch that is elsewhere."""
        return cls(f"branch `{branch}` is at {actual}, not at {expected}", branch=branch, expected=expected, actual=actual)

    def to_dict(self) -> dict[str, object]:
        reported = {"expected": self.expected, "actual": self.actual}
        return {**super().to_dict(), "precondition_failure": {k: v for k, v in reported.items() if v is not None}}


class MergeConflict(ConflictError):
    """Both sides changed the same thing. `conflicts` lists each case."""

    code = "merge_conflict"
    default_hint = Hint(
        "Nothing was changed.", Hint(" List conflicts with ", Option("dry_run", True), ", resolve with ", Option("resolve"), ".")
    )

    def __init__(self, message: str, *, conflicts: Sequence[Disagreement] = (), hint: Advice = None) -> None:
        super().__init__(message, hint=hint)
        self.conflicts = tuple(conflicts)

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "merge_conflicts": [c.to_dict() for c in self.conflicts]}


class BlobUnavailable(GraphError):
    """The URI of a Blob is allowed, but its object cannot be read now. `uri` and `reason` are those of the first one."""

    code = "blob_unavailable"
    retryable = True
    default_hint = "Nothing was written. Check that the object is there and may be read, then run it again."

    def __init__(
        self, message: str, *, uri: str = "", reason: str = "", violations: Sequence[BrokenRule] = (), hint: Advice = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.uri = uri
        self.reason = reason
        self.violations = tuple(violations)

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
        self.commit = commit
        self.type_name = type_name


class ChangeFeedGap(ChangesUnreadable):
    """Cleanup removed history that the reader has not read yet. `first_unreadable_commit_id` is where it would go on."""

    code = "change_feed_gap"
    default_hint = Hint("Take a new baseline (", Action("baseline"), ") and go on from its cursor. Tags keep history readable.")

    def __init__(
        self, message: str, *, first_unreadable_commit_id: str = "", cursor: str | None = None, hint: Advice = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.first_unreadable_commit_id = first_unreadable_commit_id
        self.cursor = cursor


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


EXIT_CODES: Mapping[str, int] = {
    UsageError.code: 2,
    PreconditionFailed.code: 4,
}
"""Process exit code per error code; every other error exits with `EXIT_FAILURE`."""

EXIT_FAILURE = 1


def exit_code(error: GraphError) -> int:
    """The process exit code for an error."""
    return EXIT_CODES.get(error.code, EXIT_FAILURE)
