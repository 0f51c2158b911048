"""A block of strict NDJSON into typed rows: lines are grouped by type, each type is parsed at once, doubtful lines one by one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.column import Mask
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.load.read.conversion.exact import Reader, check_rows, may_have_many_lists
from omnigraph.engine.load.read.json_lines.fast import Found, fast_rows
from omnigraph.engine.load.read.json_lines.lines import LineBlock
from omnigraph.engine.load.read.rows.types import Parsed, Rows, Types, absent_of, label
from omnigraph.engine.write.violations import Violation
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_LINE_BYTES, MAX_RECORD_LISTS

_FEW: Final = 16
"""So many lines are not worth halving again."""

_PREFIXES: Final = 256
"""So many spellings of the beginning of a line are looked for before lines are looked at singly."""

_BEGINNING = re.compile(rb'\{[ \t]*"(type|edge)"[ \t]*:[ \t]*"([^"\\\x00-\x1f]{0,512})"')
_LF, _CR, _OPEN, _CLOSE = 10, 13, ord("{"), ord("}")


class _Peek(msgspec.Struct):
    type: str | msgspec.UnsetType = msgspec.UNSET
    edge: str | msgspec.UnsetType = msgspec.UNSET


_PEEK = msgspec.json.Decoder(_Peek)


def parse_block(block: LineBlock, types: Types) -> Parsed:
    """Rows and violations of a block, each row checked by itself."""
    lines = _Lines.of(block)
    by_type, rest = lines.sorted_by_type(types)
    found: dict[str, list[Rows]] = {}
    exact = Reader(types, block.file)
    for number in block.too_long:
        message = f"the line is longer than {MAX_LINE_BYTES >> 20} MiB"
        exact.violations.append(Violation("limit", "", message, file=block.file, line=number))
    doubtful: list[Numbers] = [rest]
    for type_, chosen in by_type:
        parts: list[tuple[Numbers, Found]] = []
        doubtful += _halved(type_, lines, chosen, types, parts)
        found[label(type_)] = [Rows(type_, batch, block.file, lines.first + at, absent) for at, (batch, absent) in parts]
    for at in np.sort(np.concatenate(doubtful)).tolist():
        line = lines.array[at].as_py().rstrip(b"\r\n")
        if line.strip(b" \t\r\n\v\f"):
            exact.line(lines.first + at, line)
    singly = exact.parsed()
    for rows in singly.rows:
        found.setdefault(label(rows.type), []).append(rows)
    joined = tuple(_joined(parts) for parts in found.values() if parts)
    wrong = (*singly.violations, *(v for rows in joined for v in check_rows(rows, types)))
    return replace(singly, rows=joined, violations=wrong, lines=len(lines.array), bytes=block.bytes_read)


def _halved(type_: EntityType, lines: _Lines, chosen: Numbers, types: Types, found: list[tuple[Numbers, Found]]) -> list[Numbers]:
    """Parse what can be parsed at once; gives the lines that cannot."""
    rows = fast_rows(type_, lines.take(chosen), types, ascii_only=lines.ascii_only)
    if rows is not None:
        found.append((chosen, rows))
        return []
    if len(chosen) <= _FEW:
        return [chosen]
    middle = len(chosen) // 2
    return [
        *_halved(type_, lines, chosen[:middle], types, found),
        *_halved(type_, lines, chosen[middle:], types, found),
    ]


def _joined(parts: list[Rows]) -> Rows:
    """Rows of one type in the order of their lines."""
    if len(parts) == 1:
        return parts[0]
    table = pa.Table.from_batches([p.batch for p in parts]).combine_chunks()
    numbers = np.concatenate([p.lines for p in parts])
    order = np.argsort(numbers, kind="stable")
    batch = table.to_batches()[0] if table.num_rows else parts[0].batch
    if (np.diff(numbers) < 0).any():
        batch = batch.take(pa.array(order))
    absent = {name: mask[order] for name, mask in absent_of(parts).items()}
    return Rows(parts[0].type, batch, parts[0].file, numbers[order], absent, any(p.stepwise for p in parts))


@frozen(slots=False)
class _Lines:
    """The lines of a block, without copying them."""

    first: int
    array: pa.BinaryArray
    regular: Numbers
    """Lines that look like an object: from `{` to `}`, and no longer than may be."""
    irregular: Numbers
    ascii_only: bool

    @classmethod
    def of(cls, block: LineBlock) -> _Lines:
        data = block.data
        raw = np.frombuffer(data, np.uint8)
        starts = np.concatenate([[0], np.flatnonzero(raw == _LF) + 1]).astype(np.int32)
        count = len(starts) - 1
        array = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(starts), pa.py_buffer(data)])
        ends = starts[1:] - 2
        ends = np.where(raw[np.maximum(ends, 0)] == _CR, ends - 1, ends)
        lengths = starts[1:] - starts[:-1]
        regular: Mask = (raw[starts[:-1]] == _OPEN) & (raw[np.maximum(ends, 0)] == _CLOSE)
        for at in np.flatnonzero(lengths > MAX_RECORD_LISTS).tolist():
            line: bytes = array[at].as_py()
            regular[at] &= not may_have_many_lists(line) and len(line) <= MAX_LINE_BYTES
        return cls(block.first_line, array, np.flatnonzero(regular), np.flatnonzero(~regular), data.isascii())

    def take(self, chosen: Numbers) -> pa.BinaryArray:
        if len(chosen) and chosen[-1] - chosen[0] + 1 == len(chosen):
            return self.array.slice(chosen[0], len(chosen))
        return self.array.take(pa.array(chosen))

    def sorted_by_type(self, types: Types) -> tuple[list[tuple[EntityType, Numbers]], Numbers]:
        """Lines of each type, and lines that must be looked at singly."""
        found: dict[str, tuple[EntityType, list[Numbers]]] = {}
        rest, odd = [self.irregular], list[Numbers]()
        left = self.regular

        def add(type_: EntityType, chosen: Numbers) -> None:
            found.setdefault(label(type_), (type_, []))[1].append(chosen)

        for _ in range(_PREFIXES):
            if not len(left):
                break
            beginning = _BEGINNING.match(self.array[left[0]].as_py())
            if beginning is None:
                odd.append(left[:1])
                left = left[1:]
                continue
            alike = pc.starts_with(self.take(left), beginning[0]).to_numpy(zero_copy_only=False)
            type_ = _named(types, beginning[1], beginning[2])
            if type_ is None:
                rest.append(left[alike])
            else:
                add(type_, left[alike])
            left = left[~alike]
        singly: dict[str, tuple[EntityType, list[int]]] = {}
        for at in np.concatenate([*odd, left]).tolist():
            type_ = _peeked(types, self.array[at].as_py())
            if type_ is None:
                rest.append(np.array([at]))
            else:
                singly.setdefault(label(type_), (type_, []))[1].append(at)
        for type_, places in singly.values():
            add(type_, np.array(places))
        sorted_ = [(type_, parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))) for type_, parts in found.values()]
        return sorted_, np.concatenate(rest)


def _named(types: Types, member: bytes, name: bytes) -> EntityType | None:
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return None
    return types.catalog.nodes.get(text) if member == b"type" else types.catalog.edge(text)


def _peeked(types: Types, line: bytes) -> EntityType | None:
    try:
        seen = _PEEK.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    if isinstance(seen.type, str) == isinstance(seen.edge, str):
        return None
    if isinstance(seen.type, str):
        return types.catalog.nodes.get(seen.type)
    assert isinstance(seen.edge, str)
    return types.catalog.edge(seen.edge)
