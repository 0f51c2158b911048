"""Errors as they travel: one table from our codes to HTTP statuses, and back.

    raise PreconditionFailed(…)  →  412 {"error": "precondition failed on branch …", "precondition_failure": {…}, "condition": …}
                                 →  PreconditionFailed in the client, with the same code, details and hint

`code` is the contract's own, closed enumeration: a kind of answer, not of error. What exactly happened is `condition`, the stable
code of our own errors, and the details beside it. Clients of the contract find what they know; ours rebuild the error.

What failed inside (a disk, a bucket, a mistake of ours) is answered without a word about where: paths, addresses and what a
library had to say stay in the log, next to the request's id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from omnigraph import errors as e
from omnigraph.wire.advice import advice_output
from omnigraph.wire.wording import HTTP

Code = Literal[
    "unauthorized",
    "forbidden",
    "bad_request",
    "not_found",
    "method_not_allowed",
    "conflict",
    "too_many_requests",
    "internal",
    "api_contract_mismatch",
    "service_unavailable",
    "graph_unavailable",
]
"""The last three are for callers who say that they speak 0.12 of the contract or later (`wire.contract`)."""


class MergeConflictOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Something that both sides of a merge changed."""

    entity_kind: str
    type_name: str
    entity_id: str | None
    kind: str
    message: str


class KeyConflictOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An entity that exists already."""

    entity_kind: str
    type_name: str
    entity_id: str | UnsetType = UNSET


class ReadSetConflictOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a write relied on, and what it is now."""

    member: str
    expected: str | None
    actual: str | None


class ResourceLimitOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that would be exceeded."""

    resource: str
    limit: int
    actual: int


class BlobRangeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a Blob that it does not have; the end is not part of it."""

    start: int
    end: int
    length: int


class ExternalBlobSourceOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A place outside the graph that cannot be read."""

    uri: str
    reason: str


class PreconditionFailureOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The commit that was expected, and where the branch is."""

    expected: str
    actual: str | UnsetType = UNSET


class ChangeFeedGapOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Where history was reclaimed."""

    cursor: str | UnsetType = UNSET
    first_unreadable_commit_id: str


class ChangeDiffRefusalOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Why a commit has no changes to show."""

    reason: Literal["parentless_commit", "schema_boundary"]
    graph_commit_id: str
    type_name: str | UnsetType = UNSET


class RecoveryRequiredOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A write that has to be recovered first. Ours never need it; the member is part of the contract."""

    operation_id: str


class ErrorOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every error."""

    error: str
    code: Code | UnsetType = UNSET
    merge_conflicts: list[MergeConflictOutput] | UnsetType = UNSET
    read_set_conflict: ReadSetConflictOutput | UnsetType = UNSET
    key_conflict: KeyConflictOutput | UnsetType = UNSET
    resource_limit: ResourceLimitOutput | UnsetType = UNSET
    blob_range: BlobRangeOutput | UnsetType = UNSET
    external_blob_source: ExternalBlobSourceOutput | UnsetType = UNSET
    recovery_required: RecoveryRequiredOutput | UnsetType = UNSET
    precondition_failure: PreconditionFailureOutput | UnsetType = UNSET
    change_feed_gap: ChangeFeedGapOutput | UnsetType = UNSET
    change_diff_refusal: ChangeDiffRefusalOutput | UnsetType = UNSET
    condition: str | UnsetType = UNSET
    """The stable code of the error, finer than `code`."""
    retryable: bool | UnsetType = UNSET
    """Whether the same request may succeed later."""
    hint: str | UnsetType = UNSET
    """What to do next."""
    diagnostics: list[dict[str, Any]] | UnsetType = UNSET
    """Where a text is wrong."""
    violations: list[dict[str, Any]] | UnsetType = UNSET
    """Records that break the schema."""
    conflicts: list[dict[str, Any]] | UnsetType = UNSET
    """What both sides of a merge changed, with the values of each and the key of each in a resolution."""
    details: dict[str, Any] | UnsetType = UNSET
    """What else the error carries, by the names of its class."""


_STATUS: Final[Mapping[type[e.GraphError], tuple[int, Code | None]]] = {
    e.LanguageError: (400, "bad_request"),
    e.SchemaChangeError: (400, "bad_request"),
    e.InputError: (400, "bad_request"),
    e.NotFound: (404, "not_found"),
    e.AlreadyExists: (409, "conflict"),
    e.Forbidden: (403, "forbidden"),
    e.TooBusy: (429, "too_many_requests"),
    e.ConflictError: (409, "conflict"),
    e.PreconditionFailed: (412, None),
    e.BrokenQueries: (409, "conflict"),
    e.BlobUnavailable: (424, None),
    e.ResourceLimit: (413, "bad_request"),
    e.QueryCancelled: (500, "internal"),
    e.HistoryReclaimed: (410, None),
    e.ChangesUnreadable: (409, "conflict"),
    e.ChangeFeedGap: (410, None),
}
"""By the nearest class in the tree; everything else failed inside: 500."""

_SAID: Final = frozenset({"message", "hint", "diagnostics", "violations", "conflicts"})
"""What has members of its own."""

_REWORDED: Final = (
    e.NotFound,
    e.AlreadyExists,
    e.PreconditionFailed,
    e.MergeConflict,
    e.ResourceLimit,
    e.CursorRejected,
    e.ChangeFeedGap,
)
"""Errors whose texts the contract fixes."""

INTERNAL: Final = (500, "internal")
INTERNAL_TEXT: Final = "internal error"


def status_of(error: e.GraphError) -> tuple[int, Code | None]:
    """The HTTP status of an error, and the contract's code for it."""
    if isinstance(error, e.NotFound) and not error.what:  # not what was asked for: a file of the graph
        return 500, "internal"
    for cls in type(error).__mro__:
        if cls in _STATUS:
            return _STATUS[cls]
    return 500, "internal"


def error_output(error: e.GraphError) -> tuple[int, ErrorOutput]:
    """An error as it is answered."""
    status, code = status_of(error)
    about: dict[str, Any] = {"condition": error.code, "retryable": error.retryable}
    if code is not None:
        about["code"] = code
    if status == 500:
        return status, ErrorOutput(error=INTERNAL_TEXT, **about)
    hint = error.advice.worded(HTTP)
    if hint:
        about["hint"] = hint
    for cls, add in _DETAILS.items():
        if isinstance(error, cls):
            about |= add(error)
    details = _carried(error)
    if any(not isinstance(part, str) for part in error.advice.parts):
        details["advice"] = advice_output(error.advice)
    if details:
        about["details"] = details
    return status, ErrorOutput(error=_text(error), **about)


def _text(error: e.GraphError) -> str:
    match error:
        case e.LanguageError():
            return "\n\n".join(d.render() for d in error.diagnostics)
        case e.NotFound(what=what, name=name) if name:
            return f"{what} '{name}' not found"
        case e.AlreadyExists(what=what, name=name) if name:
            return f"{what} '{name}' already exists"
        case e.PreconditionFailed():
            now = error.actual or "<absent>"
            return f"precondition failed on branch '{error.branch}': expected head '{error.expected}' but current is {now}"
        case e.MergeConflict():
            return _merge_text(error)
        case e.ResourceLimit(resource=str(resource)):
            return f"resource limit exceeded for {resource}: actual {error.actual}, limit {error.limit}"
        case e.CursorRejected():
            return f"change cursor rejected: {error.message.removeprefix('change cursor rejected: ')}"
        case e.ChangeFeedGap():
            return f"change feed gap at commit '{error.first_unreadable_commit_id}'"
        case _:
            return error.message


def _merge_text(error: e.MergeConflict) -> str:
    if error.hidden is not None:
        return f"merge conflicts: {error.message}"
    named = [
        f"{c.entity_kind} type '{c.type}'{'' if c.entity is None else f', entity id {c.entity!r}'} ({c.kind})"
        for c in error.conflicts[:3]
    ]
    more = len(error.conflicts) - 3
    return f"merge conflicts: {'; '.join(named)}{f'; and {more} more' if more > 0 else ''}"


def _conflicts(error: e.MergeConflict) -> dict[str, Any]:
    return {
        "merge_conflicts": [
            MergeConflictOutput(entity_kind=c.entity_kind, type_name=c.type, entity_id=c.entity, kind=c.kind, message=c.message)
            for c in error.conflicts
        ],
        "conflicts": [c.to_dict() for c in error.conflicts],
    }


def _limit(error: e.ResourceLimit) -> dict[str, Any]:
    if error.resource is None:
        return {}
    return {"resource_limit": ResourceLimitOutput(resource=error.resource, limit=error.limit, actual=error.actual)}


def _precondition(error: e.PreconditionFailed) -> dict[str, Any]:
    failure = PreconditionFailureOutput(expected=error.expected or "", actual=error.actual or UNSET)
    return {"precondition_failure": failure}


def _gap(error: e.ChangeFeedGap) -> dict[str, Any]:
    gap = ChangeFeedGapOutput(cursor=error.cursor or UNSET, first_unreadable_commit_id=error.first_unreadable_commit_id)
    return {"change_feed_gap": gap}


def _refusal(error: e.ParentlessCommit | e.SchemaBoundary) -> dict[str, Any]:
    type_name = getattr(error, "type_name", None)
    reason: Literal["parentless_commit", "schema_boundary"] = "parentless_commit"
    if isinstance(error, e.SchemaBoundary):
        reason = "schema_boundary"
    refusal = ChangeDiffRefusalOutput(reason=reason, graph_commit_id=error.commit or "", type_name=type_name or UNSET)
    return {"change_diff_refusal": refusal}


def _key(error: e.KeyConflict) -> dict[str, Any]:
    first = next(iter(error.violations), None)
    if first is None:
        return {}
    found = KeyConflictOutput(entity_kind=getattr(first, "kind", "node"), type_name=first.type, entity_id=first.entity or UNSET)
    return {"key_conflict": found}


def _source(error: e.BlobUnavailable) -> dict[str, Any]:
    return {"external_blob_source": ExternalBlobSourceOutput(uri=error.uri, reason=error.reason)}


def _carried(error: e.GraphError) -> dict[str, Any]:
    """What an error was made with, as far as JSON has it and no member of its own says it; and its message, where the contract
    words it otherwise. What is so by default is not said."""
    found: dict[str, Any] = {}
    for name, parameter in signature(type(error)).parameters.items():
        value = getattr(error, name, None) if name not in _SAID else None
        if value not in (None, "", parameter.default) and _is_json(value):
            found[name] = value
    if isinstance(error, _REWORDED) and error.message != _text(error):
        found["message"] = error.message
    return found


def _is_json(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_json(item) for name, item in value.items())
    return isinstance(value, str | int | float)


def _violations(error: Any) -> dict[str, Any]:
    """Records that break the schema. A file is named only as the request named it: other paths are nobody's business."""
    shown = [
        {name: value for name, value in v.to_dict().items() if name != "file" or not str(value).startswith("/")}
        for v in error.violations
    ]
    return {"violations": shown} if shown else {}


_DETAILS: Final[Mapping[type[e.GraphError], Callable[[Any], dict[str, Any]]]] = {
    e.MergeConflict: _conflicts,
    e.ResourceLimit: _limit,
    e.PreconditionFailed: _precondition,
    e.ChangeFeedGap: _gap,
    e.ParentlessCommit: _refusal,
    e.SchemaBoundary: _refusal,
    e.BlobUnavailable: _source,
    e.ValidationError: _violations,
    e.KeyConflict: lambda error: {**_key(error), **_violations(error)},
    e.LanguageError: lambda error: {"diagnostics": [d.to_dict() for d in error.diagnostics]},
}
