"""URIs given for Blobs in a load. Parsers turn every text that is not base64 into a reference; here the references are checked.

parsed rows ──refused──▶ a violation for each URI that the policy does not allow, with its line
            ──settled──▶ rows with the bytes in place of URIs, or with references in their normal spelling;
                         a violation (`blob_source`) for each that leads nowhere
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from omnigraph.engine.arrays.blob_cells import blob_properties, references, replaced_cells
from omnigraph.engine.blobs.policy import ExternalBlobs, Refusal, TooLong
from omnigraph.engine.blobs.settling import Settling
from omnigraph.engine.load.read.rows.types import Parsed, Rows
from omnigraph.engine.write.violations import BLOB_SOURCE, Violation
from omnigraph.model.blobs import BASE64
from omnigraph.model.uris import shown_uri
from omnigraph.storage.files.external_objects import Unreachable


def refused(rows: Rows, policy: ExternalBlobs) -> Iterator[Violation]:
    """URIs that the policy does not allow."""
    for name in blob_properties(rows.type):
        for at, text in references(rows.batch.column(name)):
            try:
                policy.approve(text)
            except Refusal as refusal:
                rule = "limit" if isinstance(refusal, TooLong) else "blob"
                uri = shown_uri(text)
                yield _violation(rule, rows, name, at, uri, f"`{uri}` {refusal}: give the bytes as `{BASE64}…`")


def settled(parsed: Parsed, settling: Settling) -> Parsed:
    """Rows in which every URI became what is stored. Those that are refused, and what is too much, are left as they are."""
    blobs = [(rows, name) for rows in parsed.rows for name in blob_properties(rows.type)]
    given = [(rows, name, list(references(rows.batch.column(name)))) for rows, name in blobs]
    cells = settling.settle([text for _, _, found in given for _, text in found])
    if not cells:
        return parsed
    batches = {id(rows): rows.batch for rows in parsed.rows}
    missing: list[Violation] = []
    for rows, name, found in given:
        answers = {at: (text, cells[text]) for at, text in found if text in cells}
        there = {at: cell for at, (_, cell) in answers.items() if not isinstance(cell, Unreachable)}
        batches[id(rows)] = replaced_cells(batches[id(rows)], name, there)
        for at, (text, cell) in answers.items():
            if isinstance(cell, Unreachable):
                why = f"external blob source '{shown_uri(text)}' is unavailable: {cell}"
                missing.append(_violation(BLOB_SOURCE, rows, name, at, text, why, str(cell)))
    kept = tuple(replace(rows, batch=batches[id(rows)]) for rows in parsed.rows)
    return replace(parsed, rows=kept, violations=(*parsed.violations, *missing))


def _violation(rule: str, rows: Rows, name: str, at: int, value: str, why: str, reason: str | None = None) -> Violation:
    entity = rows.batch.column("id")[at].as_py()
    message = f"{rows.type.name}: property `{name}`: {why}"
    return Violation(rule, rows.type.name, message, name, entity, value, rows.file, int(rows.lines[at]), reason)
