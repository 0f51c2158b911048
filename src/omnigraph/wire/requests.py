"""What clients send. Members that are not known are ignored unless a struct says otherwise; `null` is as good as absent."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

LoadMode = Literal["append", "merge", "overwrite"]


class QueryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A read: the text of a query, and what it is asked about."""

    query: str
    name: str | None = None
    """Which query of a text that holds several."""
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
    """A commit id: the graph as it was then."""


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The same, as earlier clients spell it."""

    query_source: str
    query_name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None


class ChangeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A mutation. `query_source` and `query_name` are earlier spellings of `query` and `name`."""

    query: str | None = None
    query_source: str | None = None
    name: str | None = None
    query_name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None


class InvokeStoredQueryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a stored query is invoked with."""

    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
    expect_mutation: bool | None = None
    """What the caller takes it for: refused if it is something else."""


class SchemaApplyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Another schema for the main branch."""

    schema_source: str
    allow_data_loss: bool | None = None


class IngestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Records to load, as text: JSON objects separated by white space."""

    data: str
    branch: str | None = None
    from_: str | None = msgspec.field(default=None, name="from")
    """Where the branch starts if it is not there yet."""
    mode: LoadMode | None = None


class ExportRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to export."""

    branch: str | None = None
    snapshot: str | None = None
    """A commit id: the graph as it was then."""
    type_names: list[str] | None = None


class BranchCreateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A new branch."""

    name: str
    from_: str | None = msgspec.field(default=None, name="from")


class BranchMergeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A merge."""

    source: str
    target: str | None = None
    delete_branch: bool | None = None
    """Delete the source once it is merged."""


class ChangeBaselineRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which entities a baseline holds."""

    branch: str | None = None
    kind: list[str] | None = None
    type: list[str] | None = None
    op: list[str] | None = None
