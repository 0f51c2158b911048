"""Errors of a server, raised here as what they were there: the same class, code, message, hint and details."""

from __future__ import annotations

from inspect import signature
from typing import Any, Final

import msgspec
from msgspec import UNSET

from omnigraph import errors as e
from omnigraph.client.values import conflict_of
from omnigraph.engine.write.violations import Violation
from omnigraph.hints import Hint
from omnigraph.model.frozen import frozen
from omnigraph.wire.advice import advice_of
from omnigraph.wire.errors import ErrorOutput
from omnigraph.wire.outputs import ConflictOutput
from omnigraph.wire.wording import HTTP

_DECODER: Final = msgspec.json.Decoder(ErrorOutput)
_BY_STATUS: Final[dict[int, type[e.GraphError]]] = {
    400: e.InputError,
    401: e.Forbidden,
    403: e.Forbidden,
    404: e.NotFound,
    409: e.ConflictError,
    410: e.HistoryReclaimed,
    412: e.PreconditionFailed,
    413: e.ResourceLimit,
    424: e.BlobUnavailable,
    429: e.TooBusy,
}
"""What an error is where the server says no more than a status: a proxy, or a server of another making."""


_TOKEN_HINT: Final = (
    "Nothing was done. Give a token that the server knows, or log in; the environment may have one in OMNIGRAPH_BEARER_TOKEN."
)
"""The server speaks of headers, which nobody sees here."""


def _leaves(cls: type[e.GraphError]) -> dict[str, type[e.GraphError]]:
    found = {cls.code: cls} if "code" in vars(cls) else {}
    for below in cls.__subclasses__():
        found |= _leaves(below)
    return found


@frozen
class Diagnostic:
    """A problem in a text, as the server shows it."""

    code: str
    summary: str
    shown: str
    data: dict[str, object]

    def render(self, *, colour: bool = False) -> str:
        return self.shown

    def to_dict(self) -> dict[str, object]:
        return self.data


def error_of(status: int, body: bytes, request_id: str | None) -> e.GraphError:
    """The error that an answer carries, made as it was made there: with the details that its class takes."""
    try:
        said = _DECODER.decode(body)
    except msgspec.DecodeError:
        said = ErrorOutput(error=f"the server answered {status} and nothing that can be read")
    condition = said.condition if isinstance(said.condition, str) else ""
    cls: Any = _leaves(e.GraphError).get(condition) or _BY_STATUS.get(status, e.StorageError)
    takes = signature(cls).parameters
    hint = _TOKEN_HINT if status == 401 else _hint(cls, said)
    if "diagnostics" in takes:
        error: e.GraphError = cls(_diagnostics(said), hint=hint)
    else:
        found = _details(said)
        message = found.pop("message", said.error)
        error = cls(message, hint=hint, **{name: value for name, value in found.items() if name in takes})
    if isinstance(said.retryable, bool):
        error.retryable = said.retryable
    if request_id is not None:
        error.add_note(f"request {request_id}")
    return error


def _hint(cls: type[e.GraphError], said: ErrorOutput) -> Hint:
    """What the server advises, to be worded here."""
    if isinstance(said.details, dict) and "advice" in said.details:
        return advice_of(said.details["advice"])
    text = said.hint if isinstance(said.hint, str) else ""
    usual = cls.default_hint if isinstance(cls.default_hint, Hint) else Hint(cls.default_hint)
    return usual if text in ("", usual.worded(HTTP)) else Hint(text)


def _diagnostics(said: ErrorOutput) -> tuple[Diagnostic, ...]:
    if not isinstance(said.diagnostics, list) or not said.diagnostics:
        return (Diagnostic("", said.error, said.error, {}),)
    shown = said.error.split("\n\n")
    texts = [*shown, *[""] * len(said.diagnostics)]
    return tuple(
        Diagnostic(str(d.get("code", "")), str(d.get("summary", d.get("message", ""))), text, d)
        for d, text in zip(said.diagnostics, texts, strict=False)
    )


def _details(said: ErrorOutput) -> dict[str, Any]:
    """What the answer says beside its text."""
    found: dict[str, Any] = dict(said.details) if isinstance(said.details, dict) else {}
    for detail in (
        said.precondition_failure,
        said.resource_limit,
        said.change_feed_gap,
        said.change_diff_refusal,
        said.external_blob_source,
    ):
        if isinstance(detail, msgspec.Struct):
            found |= {name: value for name, value in msgspec.structs.asdict(detail).items() if value is not UNSET}
    if "graph_commit_id" in found:
        found["commit"] = found["graph_commit_id"]
    if isinstance(said.violations, list):
        names = {"rule", "type", "message", "property", "entity", "value", "file", "line", "reason"}
        found["violations"] = tuple(Violation(**{n: v for n, v in d.items() if n in names}) for d in said.violations)
    if isinstance(said.conflicts, list):
        found["conflicts"] = tuple(conflict_of(msgspec.convert(c, ConflictOutput)) for c in said.conflicts)
    elif isinstance(said.merge_conflicts, list):  # a server that says no more of them
        bare = {"key": "", "base": None, "ours": None, "theirs": None}
        found["conflicts"] = tuple(
            conflict_of(msgspec.convert({**msgspec.to_builtins(c), **bare}, ConflictOutput)) for c in said.merge_conflicts
        )
    return found
