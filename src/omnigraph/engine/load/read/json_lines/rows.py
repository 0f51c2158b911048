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
from typing import Final

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


def lenient_record(value: object, input_: Input) -> object:
    """The record that a JSON value of an input stands for in the compatible dialect, where it may go over several lines."""
    type_ = input_.type
    if type_ is None or not isinstance(value, dict) or _is_record(value, type_):
        return value
    record: dict[str, object] = {"edge" if type_.is_edge else "type": type_.name}
    data: dict[str, object] = {name: json.loads(_value(type_, name, text)) for name, text in input_.columns}
    for name, member in value.items():
        if name == COLUMN and COLUMN not in type_.properties:
            record |= {} if member is None else {"op": member}
        elif type_.is_edge and name in _ENDS and _ENDS[name] not in record:
            record[_ENDS[name]] = member
        else:
            data[name] = member
    return {**record, "data": data}


def _is_record(value: dict[str, object], type_: EntityType) -> bool:
    """Whether an object is a record and could not be a row: a long one may look like rows to whoever looks at its lines."""
    says = not value.keys().isdisjoint({"type", "edge"}) and isinstance(value.get("data"), dict)
    return says and value.keys().isdisjoint(type_.properties)


def _as_records(block: LineBlock, type_: EntityType, columns: Columns) -> LineBlock:
    of_folders = b"".join(b"%b:%b," % (_text(name), _value(type_, name, value)) for name, value in columns)
    lines = [_as_record(line, type_, of_folders) for line in block.data.split(b"\n")]
    return replace(block, data=b"\n".join(lines))


def _as_record(line: bytes, type_: EntityType, of_folders: bytes) -> bytes:
    """The record that a row stands for. What is no object of JSON stays as it is: whoever reads it finds that, too, and says what
    is wrong. Within a record it might say what is done with it. No object is read as a record of its own."""
    text = line.strip(b" \t\r\v\f")
    if not text:
        return line
    try:
        members = _members(text)
        if type_.is_node and not of_folders and COLUMN not in members:
            return b'{"type":%b,"data":%b}' % (_text(type_.name), text)
        twice = _repeated(text)
    except ValueError:
        return line
    except RecursionError:
        return _TOO_DEEP
    said = {"edge" if type_.is_edge else "type": _text(type_.name)}
    data = [(name, b"null") for name in twice for _ in range(2)]  # the reader refuses them
    for name, written in members.items():
        value = bytes(written)
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


def _members(text: bytes) -> Mapping[str, bytes | msgspec.Raw]:
    """The members of an object as they are written; `ValueError` if the text is not one object of JSON, and nothing else."""
    try:
        return _MEMBERS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    found = json.loads(text.decode(), parse_int=_Written, parse_float=_Written, parse_constant=_Written)  # NaN and its like
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return {name: _spelt(value).encode() for name, value in found.items()}


class _Written(str):
    """A number as it is written."""


def _spelt(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_spelt(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_spelt, value)) + "]"
    return str(value) if isinstance(value, _Written) else json.dumps(value)


def _repeated(text: bytes) -> list[str]:
    """Names of members that an object has more than once."""
    pairs: list[tuple[str, object]] = _PAIRS.decode(text.decode())
    names = [name for name, _ in pairs]
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


_PAIRS: Final = json.JSONDecoder(object_pairs_hook=list, parse_int=str, parse_float=str, parse_constant=str)
_TOO_DEEP: Final = b"nested too deeply"
"""A line that is refused, for one of which nobody can say what it holds."""


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
