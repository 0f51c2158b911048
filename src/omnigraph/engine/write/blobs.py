"""URIs that a mutation gives for Blobs: the bytes behind them, fetched before the first statement runs.

insert Photo { content: $c }      $c = "s3://media/a.png"      the cell holds the bytes of a.png
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnigraph.catalog import logical as lg
from omnigraph.engine.blobs.policy import Refusal, TooLong
from omnigraph.engine.blobs.settling import External, Settling
from omnigraph.engine.execution.evaluate import constant
from omnigraph.engine.execution.run import Run
from omnigraph.engine.write.convert import blob
from omnigraph.errors import BlobRefused, BlobUnavailable, ResourceLimit
from omnigraph.model.blobs import uri_of
from omnigraph.model.limits import MAX_EXTERNAL_URI_BYTES
from omnigraph.model.uris import shown_uri
from omnigraph.storage.files.external_objects import Unreachable


def copied(query: lg.MutationQuery, run: Run, external: External) -> Mapping[str, bytes]:
    """The cell to store for every URI. All are judged before any is looked for."""
    given = list(_given(query, run))
    if not given:
        return {}
    for name, text in given:
        _require_allowed(name, text, external)
    settling = Settling(external)
    cells = settling.settle([text for _, text in given])
    settling.use.require()
    found: dict[str, bytes] = {}
    for name, text in given:
        cell = cells[text]
        if isinstance(cell, Unreachable):
            message = f"property `{name}`: external blob source '{shown_uri(text)}' is unavailable: {cell}"
            raise BlobUnavailable(message, uri=text, reason=str(cell))
        found[text] = cell
    return found


def _given(query: lg.MutationQuery, run: Run) -> Iterator[tuple[str, str]]:
    """Properties and the URIs they are given."""
    for statement in query.statements:
        if not isinstance(statement, lg.DeleteNode | lg.DeleteEdge | lg.DeleteMatched):
            for assignment in statement.assignments:
                given = assignment.value if assignment.type.is_blob else None
                value = None if given is None else constant(given, run)
                uri = None if value is None else uri_of(blob(assignment.property, value))
                if uri is not None:
                    yield assignment.property, uri


def _require_allowed(name: str, text: str, external: External) -> None:
    try:
        external.policy.approve(text)
    except TooLong:
        actual, limit, resource = len(text.encode()), MAX_EXTERNAL_URI_BYTES, "external Blob URI bytes"
        reported = f"property `{name}`: resource limit exceeded for {resource}: actual {actual}, limit {limit}"
        raise ResourceLimit(reported, resource=resource, actual=actual, limit=limit) from None
    except Refusal as refusal:
        raise BlobRefused(f"property `{name}`: `{shown_uri(text)}` {refusal}") from None
