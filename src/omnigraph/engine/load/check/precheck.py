"""Columns before rows: problems of whole files and frames are found before any row is read, even if there are no rows.

A file whose header does not fit is refused at once, and not after the hours that other files take.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

from omnigraph.engine.load.read.any_format.batches import schema_of
from omnigraph.engine.load.read.columnar.headers import column_violations
from omnigraph.engine.load.read.conversion.partition_columns import column_misfits
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import Input
from omnigraph.engine.load.read.parallel.tasks import UNREADABLE, UNREADABLE_FILE, unreadable
from omnigraph.engine.write.violations import Violation, refuse

_SIDE_BY_SIDE = 16


def require_columns(inputs: Sequence[Input], *, partial: bool = False) -> None:
    """Refuse files and frames whose columns are not those of their types, all at once. `partial`: they need not have all."""
    asked = [i for i in inputs if i.type is not None and i.format not in (Format.ROWS, Format.NDJSON)]
    if len(asked) < _SIDE_BY_SIDE:
        found = [v for input_ in asked for v in _wrong(input_, partial)]
    else:
        with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="omnigraph-load") as pool:
            found = [v for wrong in pool.map(_wrong, asked, repeat(partial)) for v in wrong]
    if any(v.rule != UNREADABLE_FILE for v in found):  # if it is only that, the rest is read to say everything at once
        refuse(found)


def _wrong(input_: Input, partial: bool) -> list[Violation]:
    assert input_.type is not None
    try:
        names = _names(input_)
    except UNREADABLE as error:
        return list(unreadable(input_, error))
    if names is None:
        return []
    return [*column_violations(input_.type, names, input_.name, partial=partial), *column_misfits(input_)]


def _names(input_: Input) -> list[str] | None:
    if input_.is_file:
        return [*schema_of(input_).names, *(name for name, _ in input_.columns)]
    if input_.format is Format.DISTRIBUTED:
        return None if input_.content is None else list(input_.content.columns)
    return list(input_.content.schema.names)
