"""Lines that are rows of one type, without saying so: as Spark, pandas and most programs write JSON lines.

    Item.jsonl      {"sku": "a1", "price": 3.5}
    is read as      {"type": "Item", "data": {"sku": "a1", "price": 3.5}}

    Bought.jsonl    {"from": "ada", "to": "a1", "pieces": 2}
    is read as      {"edge": "Bought", "from": "ada", "to": "a1", "data": {"pieces": 2}}

A line becomes the record that it stands for, and is checked and quarantined as that. Whether a file holds rows or records is seen
from its first line: a record says `type` or `edge`. Who names the type of a file says that it holds rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.load.read.inputs.content import ByteSource, Text
from omnigraph.engine.load.read.inputs.naming import Columns
from omnigraph.engine.load.read.inputs.sources import Input
from omnigraph.engine.load.read.json_lines.lines import LineBlock, line_blocks
from omnigraph.engine.load.read.rows.removals import COLUMN
from omnigraph.engine.load.read.rows.types import ENDS
from omnigraph.model.types import Scalar

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_ENDS: Final = {spelt: spellings[0] for spellings in ENDS.values() for spelt in spellings}


def record_blocks(input_: Input, source: ByteSource, *, begun: bool = False) -> Iterator[LineBlock]:
    """The lines of an input as records, in blocks. `begun`: the source begins somewhere in the middle."""
    blocks = line_blocks(source if begun else Text(source), input_.name)
    if input_.type is None:
        return blocks
    return (_as_records(block, input_.type, input_.columns) for block in blocks)


def record_lines(input_: Input, source: ByteSource) -> Iterator[bytes]:
    """The same, as lines."""
    return (line for block in record_blocks(input_, source) for line in block.data.splitlines(keepends=True))


def _as_records(block: LineBlock, type_: EntityType, columns: Columns) -> LineBlock:
    of_folders = b"".join(b"%b:%b," % (_text(name), _value(type_, name, value)) for name, value in columns)
    lines = [_as_record(line, type_, of_folders) for line in block.data.split(b"\n")]
    return replace(block, data=b"\n".join(lines))


def _as_record(line: bytes, type_: EntityType, of_folders: bytes) -> bytes:
    """The record that a row stands for. What is no object of JSON stays as it is, and whoever reads it says what is wrong:
    within a record it might say what is done with it."""
    text = line.strip(b" \t\r\v\f")
    members = _members(text) if text else None
    if members is None:
        return line
    if type_.is_node and not of_folders and COLUMN not in members:
        return b'{"type":%b,"data":%b}' % (_text(type_.name), text)
    said = {"edge" if type_.is_edge else "type": _text(type_.name)}
    data: list[tuple[str, bytes]] = []
    try:
        every = _every(text, members)
    except (ValueError, RecursionError):
        return line
    for name, value in every:
        if name == COLUMN and COLUMN not in type_.properties:
            if value != b"null":
                said["op"] = value
        elif type_.is_edge and name in _ENDS and _ENDS[name] not in said:
            said[_ENDS[name]] = value
        else:
            data.append((name, value))
    head = b",".join(b"%b:%b" % (_text(name), value) for name, value in said.items())
    rest = of_folders + b",".join(b"%b:%b" % (_text(name), value) for name, value in data)
    return b'{%b,"data":{%b}}' % (head, rest.rstrip(b","))


def _members(text: bytes) -> Mapping[str, bytes | msgspec.Raw] | None:
    """The members of an object as they are written; None if the text is not one object of JSON, and nothing else."""
    try:
        return _MEMBERS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # NaN and its like, of which the reader says what they are
        found = json.loads(text.decode())
    except (ValueError, RecursionError):
        return None
    return {name: json.dumps(value).encode() for name, value in found.items()} if isinstance(found, dict) else None


def _every(text: bytes, members: Mapping[str, bytes | msgspec.Raw]) -> list[tuple[str, bytes]]:
    """The members of an object, a repeated one as often as it is there: the reader refuses it."""
    pairs: list[tuple[str, Any]] = json.JSONDecoder(object_pairs_hook=lambda pairs: pairs).decode(text.decode())
    twice = [(name, b"null") for name in members if sum(name == other for other, _ in pairs) > 1]
    return [*((name, bytes(value)) for name, value in members.items()), *twice]


def _text(text: str) -> bytes:
    return json.dumps(text).encode()


def _value(type_: EntityType, name: str, text: str | None) -> bytes:
    """What the name of a folder says of every row, as a value of the property."""
    prop = type_.properties.get(name)
    if text is None:
        return b"null"
    if prop is None or prop.type.is_list or prop.type.is_vector:
        return _text(text)
    scalar = prop.type.scalar
    if scalar.is_integer or scalar.is_float:
        return text.encode() if _NUMBER.fullmatch(text) else _text(text)
    return text.encode() if scalar is Scalar.BOOL and text in ("true", "false") else _text(text)
