"""Errors as tools answer them: what was wrong and where, what to do, and the part of the schema that helps.

    {"error": "…with a caret below the place…", "status": 400, "code": "bad_request", "requestId": "…",
     "hint": "…", "schema": "…", "body": what else HTTP answers}

What failed inside is told without a word about where; what happened is in the log, next to the request id.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from omnigraph.errors import GraphError, LanguageError, QueryCancelled, UnexpectedError, UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.limits import MAX_TOOL_ERROR_BYTES
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.surfaces.mcp.answering.bounds import bounded
from omnigraph.surfaces.mcp.answering.schema_help import schema_part
from omnigraph.surfaces.mcp.session import Call
from omnigraph.surfaces.mcp.wording import TOOLS
from omnigraph.wire.errors import error_output

_log = logging.getLogger("omnigraph.mcp")


def error_answer(error: GraphError, request_id: str, call: Call | None = None) -> dict[str, Any]:
    """What is answered instead of a result."""
    status, body = error_output(error)
    if status >= 500 and not isinstance(error, QueryCancelled | UnexpectedError):
        _log.error("request %s failed: %s", request_id, error.message, exc_info=error)
    said: dict[str, Any] = {
        "error": body.error,
        "status": status,
        "code": body.code if isinstance(body.code, str) else None,
        "requestId": request_id,
    }
    hint = "" if status >= 500 else error.advice.worded(TOOLS)
    if hint:
        said["hint"] = hint
    part = _schema(error, call)
    if part:
        said["schema"] = part
    carried = msgspec.to_builtins(body)
    carried.pop("hint", None)  # worded for HTTP
    for name in ("error", "code"):  # said above: whoever reads this pays for every word
        if name in carried and carried[name] == said[name]:
            del carried[name]
    details = carried.pop("details", {})
    details.pop("advice", None)  # the same, for programs that word it themselves
    if details:
        carried["details"] = details
    said["body"] = carried
    return bounded(said, MAX_TOOL_ERROR_BYTES)


def unexpected(error: BaseException, request_id: str) -> dict[str, Any]:
    """What is answered when something failed that should not: nothing of it is told."""
    _log.error("request %s failed", request_id, exc_info=error)
    return error_answer(UnexpectedError(type(error).__name__), request_id)


_UNKNOWN_FIELD: Final = re.compile(r"unknown field `(.+?)`")


def misused(tool: str, problem: msgspec.ValidationError, fields: Iterable[str] = ()) -> UsageError:
    """What is wrong with the arguments of a tool, which has these fields."""
    said = str(problem).replace("Object ", "", 1) if str(problem).startswith("Object ") else str(problem)
    hint, known = "Compare them with the input schema of the tool.", sorted(fields)
    found = _UNKNOWN_FIELD.search(said)
    if found is not None and known:
        hint = did_you_mean(found[1], known) or f"There are {', '.join(known)}."
    return UsageError(f"invalid arguments for {tool}: {said}", hint=hint)


def _schema(error: GraphError, call: Call | None) -> str | None:
    """The part of the schema that a text needs which was refused."""
    if call is None or not isinstance(error, LanguageError):
        return None
    given = call.arguments.get("branch"), call.arguments.get("snapshot")
    branch, snapshot = (value if isinstance(value, str) and value.strip() else None for value in given)
    try:
        accepted = call.run(ShowSchema(call.graph, *call.state(branch, snapshot)))
    except GraphError:  # what was wrong is told anyway
        return None
    text = call.arguments.get("query")
    return schema_part(accepted.source, text if isinstance(text, str) else "", *(d.render() for d in error.diagnostics))
