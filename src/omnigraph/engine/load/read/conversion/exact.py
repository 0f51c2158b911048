"""Records one by one: every rule of the strict dialect, and every way to break one, distinguished.

    {"type": "Person", "data": {"name": "Ada", "age": 36}}                     a node
    {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"since": 2020}}     an edge

A `Reader` takes records and holds the rows they make. It goes on after a mistake, so that one pass finds all of them. The fast
path (`fast`) must agree with it on every line; where it is not sure, it asks here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn

import numpy as np
import pyarrow as pa

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.declare.names import STORAGE_NAMES
from omnigraph.catalog.keys import entity_id
from omnigraph.engine.arrays.column import Mask
from omnigraph.engine.load.read.conversion.digits import as_written, integer, real
from omnigraph.engine.load.read.rows.ends import end_id, node_at
from omnigraph.engine.load.read.rows.identity import is_old_spelling, mismatch
from omnigraph.engine.load.read.rows.references import refused
from omnigraph.engine.load.read.rows.removals import DELETE, OPERATION, Removals, is_change, is_operation, of_change, refusal
from omnigraph.engine.load.read.rows.types import Parsed, RowPlaces, Rows, Types, label
from omnigraph.engine.write.changeset import Delta
from omnigraph.engine.write.rules import values as row_rules
from omnigraph.engine.write.violations import Violation
from omnigraph.errors import KeyValueError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.conversions import Door, Misfit, convert, lenient, shown, text
from omnigraph.model.given import named
from omnigraph.model.limits import MAX_LINE_BYTES, MAX_RECORD_LISTS

RESERVED: Final = STORAGE_NAMES | {"_tombstone"}

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class NotARecord(Exception):
    """A line that is not JSON, or JSON that is no record."""

    def __init__(self, message: str, rule: str = "json") -> None:
        super().__init__(message)
        self.rule = rule


def decode_line(line: bytes) -> object:
    """The JSON value of a line. Raises `NotARecord`."""
    if len(line) > MAX_LINE_BYTES:
        raise NotARecord(f"the line is longer than {MAX_LINE_BYTES >> 20} MiB", "limit")
    if may_have_many_lists(line) and may_have_many_lists(_STRING.sub(b"", line)):
        raise NotARecord(f"the line holds more than {MAX_RECORD_LISTS:,} lists and objects", "limit")
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise NotARecord(f"not UTF-8: {error.reason} at byte {error.start + 1}") from None
    return decode(text)


def decode(text: str, *, numbers_as_written: bool = False) -> object:
    """The JSON value of a text. Raises `NotARecord`."""
    try:
        return (_KEEPING if numbers_as_written else _DECODER).decode(text)
    except json.JSONDecodeError as error:
        raise NotARecord(f"not JSON: {error.msg} at column {error.pos + 1}") from None
    except RecursionError:
        raise NotARecord("not JSON: nested too deeply") from None


def may_have_many_lists(line: bytes) -> bool:
    """Whether a line has more brackets and braces than lists and objects are allowed, those in strings counted too."""
    return line.count(b"[") + line.count(b"{") > MAX_RECORD_LISTS


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotARecord(f"member `{twice}` is given twice", "duplicate_member")
    return found


def _no_constant(name: str) -> NoReturn:
    raise NotARecord(f"not JSON: {name} is not a number")


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_no_constant, parse_int=integer, parse_float=real)
_KEEPING = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_no_constant, parse_int=as_written, parse_float=as_written)


@dataclass
class Reader:
    """Takes records, and holds what they make."""

    types: Types
    file: str | None
    lenient: bool = False
    """The compatible dialect: what is unknown is ignored, what has the wrong type counts as null."""
    door: Door = Door.RECORDS
    """Where values come in: what they may be is said by the table of conversions."""
    violations: list[Violation] = field(default_factory=list)
    renamed: list[tuple[str, str, str]] = field(default_factory=list)
    _good: dict[str, _Table] = field(default_factory=dict)
    _bad: dict[str, _Table] = field(default_factory=dict)
    _excused: dict[tuple[int, str], None] = field(default_factory=dict)
    """Line and property: reported already."""
    _removed: dict[str, tuple[EntityType, list[tuple[int, object, object, object]]]] = field(default_factory=dict)
    _stepwise: set[str] = field(default_factory=set)
    """Labels of types of which a record said what is done with it."""
    _misspelt: list[tuple[str, str]] = field(default_factory=list)
    """EntityType and id of nodes whose id is another one."""

    def line(self, number: int, line: bytes) -> None:
        """One line of a file."""
        try:
            value = decode_line(line)
        except NotARecord as error:
            self._broken(number, error.rule, "", str(error), value=line[:80].decode(errors="replace"))
        else:
            self.record(number, value)

    def record(self, number: int, value: object) -> None:
        """One record."""
        if not isinstance(value, Mapping):
            instead = "; each stands on a line of its own" if isinstance(value, list) else ""
            self._broken(number, "record", "", f"a record is an object, not {named(value)}{instead}", value=shown(value))
            return
        value = of_change(value) if is_change(value) else value
        type_ = self._type(number, value)
        if type_ is None or ("op" in value and not self.operation(number, type_, value["op"])):
            return
        if value.get("op") == DELETE:
            self._envelope(number, type_, value)
            self.removal(number, type_, value.get("data", {}), {end: value[end] for end in ("from", "to") if end in value})
            return
        row: dict[str, object] = {}
        fine = self.lenient or self._envelope(number, type_, value)
        if type_.is_edge:
            fine &= self._ends(number, type_, value, row)
        data = value.get("data", {})
        if not isinstance(data, Mapping):
            if not self.lenient:
                self._broken(number, "record", type_.name, f"`data` must be an object, not {named(data)}", "data")
                fine = False
            data = {}
        if data.get("id", "") is None and not (self.lenient and type_.is_edge):
            self._broken(number, "id", type_.name, f"{type_.name}: `id` must be a string if it is there, not null", "id")
            fine = False
        self.row(number, type_, data, row, fine=fine)

    def row(
        self, number: int, type_: EntityType, data: Mapping[str, object], row: dict[str, object], *, fine: bool = True
    ) -> None:
        """Properties of one entity; `row` holds its ends if it is an edge."""
        for name in data:
            if name not in type_.properties and name != "id":
                fine &= self._unknown(number, type_, name)
        keys = type_.key_names
        for name, prop in type_.properties.items():
            given = data.get(name)
            if self.types.partial and name not in data and name not in keys:
                continue
            row[name] = None
            if given is None:
                continue
            try:
                row[name] = (
                    lenient(prop.type, given) if self.lenient else convert(prop.type, given, self.door, lossy=self.types.lossy)
                )
            except Misfit as misfit:
                message = f"{type_.name}: property `{name}` {misfit}{misfit.remedy}"
                self._broken(number, misfit.rule, type_.name, message, name, value=shown(given))
                self._excused[number, name] = None
                fine = False
        fine &= self._identify(number, type_, data, row)
        tables = self._good if fine else self._bad
        tables.setdefault(label(type_), _Table(type_)).add(number, row)

    # ── operations ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def operation(self, number: int, type_: EntityType, op: object) -> bool:
        """Note down what is done with a record; False if that cannot be done."""
        self._stepwise.add(label(type_))
        if is_operation(op):
            why = refusal(self.types.mode) if op == DELETE else None
            if why is None:
                return True
            self._broken(number, OPERATION, type_.name, f"{type_.name}: {why}", "op", value=op)
        else:
            message = f"{type_.name}: the operation is {shown(op)!r}, not upsert or delete"
            self._broken(number, OPERATION, type_.name, message, "op", value=shown(op))
        return False

    def removal(self, number: int, type_: EntityType, data: object, ends: Mapping[str, object]) -> None:
        """One entity that is to go: by its key, its id, or the ends of an edge. What else is said of it does not matter."""
        if not isinstance(data, Mapping):
            self._broken(number, "record", type_.name, f"`data` must be an object, not {named(data)}", "data")
            return
        unknown = [name for name in data if name not in type_.properties and name != "id"]
        for name in unknown:
            self._unknown(number, type_, name)
        if unknown and not self.lenient:
            return
        row: dict[str, object] = {"src": None, "dst": None}
        for member, column in (("from", "src"), ("to", "dst")) if type_.is_edge else ():
            if ends.get(member) is not None and not self.end(number, type_, member, column, ends, row):
                return
        given = data.get("id")
        if given is not None and not isinstance(given, str):
            self._broken(number, "id", type_.name, f"{type_.name}: `id` must be a string, not {named(given)}", "id", shown(given))
            return
        if type_.key and all(data.get(n, row.get(n)) is not None for n in type_.key_names):
            try:
                row |= {p.name: convert(p.type, data[p.name], self.door) for p in type_.key if p.name in data}
                derived = entity_id(type_.key, row)  # type: ignore[arg-type]
            except (Misfit, KeyValueError) as error:
                message = f"{type_.name}: the key {error}{error.remedy if isinstance(error, Misfit) else ''}"
                self._broken(number, "type", type_.name, message, type_.key[0].name)
                return
            if given not in (None, derived):
                self._broken(number, "id", type_.name, mismatch(type_, given, derived), "id", given, derived)
                return
            given = derived
        by_ends = row["src"] is not None and row["dst"] is not None
        if given is None and not by_ends:
            keys = ", ".join(f"`{p.name}`" for p in type_.key) or ("`from` and `to`" if type_.is_edge else "")
            how = f"give {keys} or `id`" if keys else "give its `id`"
            self._broken(number, "id", type_.name, f"which {type_.name} is to be deleted? Please {how}", "id")
            return
        self._removed.setdefault(label(type_), (type_, []))[1].append((number, given, row["src"], row["dst"]))

    def _removals(self) -> Iterator[Removals]:
        for type_, found in self._removed.values():
            numbers, *columns = zip(*found, strict=True)
            ids, *ends = (pa.array(column, pa.string()) for column in columns)
            yield Removals(type_, ids, (ends[0], ends[1]) if type_.is_edge else None, self.file, np.array(numbers, np.int64))

    # ── the envelope ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _type(self, number: int, value: Mapping[str, object]) -> EntityType | None:
        catalog: Catalog = self.types.catalog
        name, edge = value.get("type"), value.get("edge")
        if self.lenient:
            edge = None if isinstance(name, str) else edge
            if not isinstance(name, str) and not isinstance(edge, str):
                self._broken(number, "record", "", "expected `type` or `edge`")
                return None
        elif ("type" in value) == ("edge" in value):
            both = "`type` and `edge`" if "type" in value else "neither `type` nor `edge`"
            rows = "" if "type" in value or "data" in value else " (a file of rows of one type has to be given that type)"
            self._broken(number, "record", "", f"a record is a node or an edge: this one has {both}{rows}")
            return None
        given = edge if isinstance(edge, str) else name
        if not isinstance(given, str):
            which = "edge" if "edge" in value else "type"
            self._broken(number, "record", "", f"`{which}` must be a string, not {named(value[which])}", which)
            return None
        found = catalog.edge(given) if isinstance(edge, str) else catalog.nodes.get(given)
        if found is None:
            known: Iterable[str] = catalog.edges if isinstance(edge, str) else catalog.nodes
            what = "edge" if isinstance(edge, str) else "node"
            hint = did_you_mean(given, known)
            message = f"there is no {what} type `{shown(given)}`" + (f": {hint}" if hint else "")
            self._broken(number, "unknown_type", str(shown(given)), message, value=shown(given))
        return found

    def _envelope(self, number: int, type_: EntityType, value: Mapping[str, object]) -> bool:
        allowed = {"op", "type", "data"} if type_.is_node else {"op", "edge", "from", "to", "data"}
        extra = [name for name in value if name not in allowed]
        for name in extra:
            if name in RESERVED:
                self._broken(number, "reserved_name", type_.name, f"the name `{name}` is reserved", name)
            else:
                text = f"a record of {type_.name} has no member `{shown(name)}`: properties stand in `data`"
                self._broken(number, "record", type_.name, text, str(shown(name)))
        return not extra

    def _ends(self, number: int, type_: EntityType, value: Mapping[str, object], row: dict[str, object]) -> bool:
        fine = True
        for member, column in (("from", "src"), ("to", "dst")):
            if self.types.partial and member not in value and column not in type_.key_names:
                continue
            fine &= self.end(number, type_, member, column, value, row, as_written=self.lenient)
        return fine

    def end(
        self,
        number: int,
        type_: EntityType,
        member: str,
        column: str,
        given: Mapping[str, object],
        row: dict[str, object],
        *,
        as_written: bool = False,
    ) -> bool:
        """One end of an edge, as a member has it; False if it names nobody. `as_written`: a text is kept as it is, for somebody
        who knows which ids are spelt in an older way."""
        row[column] = None
        try:
            if member not in given:
                raise Misfit("is missing")
            end = given[member]
            if as_written and isinstance(end, str):
                row[column] = text(end)
            else:
                row[column] = end_id(node_at(self.types.catalog, type_, column), end, self.door)
        except Misfit as misfit:
            value = shown(given.get(member))
            self._broken(number, "record", type_.name, f"{type_.name}: `{member}` {misfit}{misfit.remedy}", member, value=value)
        return row[column] is not None

    def _unknown(self, number: int, type_: EntityType, name: str) -> bool:
        if self.lenient:
            return True
        reserved = name in RESERVED or (type_.is_edge and name in ("src", "dst"))
        if reserved:
            self._broken(number, "reserved_name", type_.name, f"{type_.name}: the name `{name}` is reserved", name)
        else:
            hint = did_you_mean(name, type_.properties) if isinstance(name, str) else "names are texts"
            message = f"{type_.name} has no property `{shown(name)}`" + (f": {hint}" if hint else "")
            self._broken(number, "unknown_property", type_.name, message, str(shown(name)))
        return False

    # ── identity ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _identify(self, number: int, type_: EntityType, data: Mapping[str, object], row: dict[str, object]) -> bool:
        given = data.get("id")
        row["id"] = None
        if given is not None and not isinstance(given, str):
            if not (self.lenient and type_.is_edge):
                message = f"{type_.name}: `id` must be a string, not {named(given)}"
                self._broken(number, "id", type_.name, message, "id", shown(given))
                return False
            given = None
        if isinstance(given, str):
            try:
                given.encode()
            except UnicodeEncodeError:
                self._broken(number, "id", type_.name, f"{type_.name}: `id` is not valid Unicode", "id")
                return False
        if not type_.key:
            row["id"] = given
            if given is None and self.types.partial:
                message = f"{type_.name} has no key, and `id` says which one changes; to add a new one, use merge"
                self._broken(number, "id", type_.name, message, "id")
                return False
            return True
        try:
            derived = entity_id(type_.key, row)  # type: ignore[arg-type]
        except KeyValueError as error:
            missing = [p.name for p in type_.key if row[p.name] is None]
            ends_missing = type_.is_edge and not {"src", "dst"}.isdisjoint(missing)  # that is reported already
            if not ends_missing and not any((number, name) in self._excused for name in missing):
                name = missing[0] if missing else None
                self._broken(number, "required", type_.name, f"{type_.name}: {error}", name)
                for name in missing:
                    self._excused[number, name] = None
            return False
        row["id"] = derived
        if self.lenient and type_.is_edge:
            row["id"] = derived if given is None else given  # its ends may be old spellings: judged when all of these are known
            return True
        if given is None or given == derived:
            return True
        if self.lenient and is_old_spelling(type_, row, given):
            self.renamed.append((type_.name, given, derived))
            return True
        self._broken(number, "id", type_.name, mismatch(type_, given, derived), "id", shown(given), derived)
        self._misspelt.append((type_.name, given))
        return False

    def _broken(
        self,
        line: int,
        rule: str,
        type_: str,
        message: str,
        property_: str | None = None,
        value: object = None,
        entity: str | None = None,
    ) -> None:
        self.violations.append(Violation(rule, type_, message, property_, entity, value, self.file, line))

    # ── what came of it ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def rows(self) -> Iterator[Rows]:
        """The rows of each type that can be stored."""
        for table in self._good.values():
            yield replace(table.rows(self.types, self.file), stepwise=label(table.type) in self._stepwise)

    def parsed(self) -> Parsed:
        """Everything."""
        violations, doubtful = list(self.violations), list(self._misspelt)
        for table in self._bad.values():
            rows = table.rows(self.types, self.file)
            violations += [v for v in check_rows(rows, self.types) if (v.line, v.property) not in self._excused]
            if table.type.is_node:
                doubtful += [(table.type.name, id_) for id_ in rows.batch.column(0).to_pylist() if id_ is not None]
        removals = tuple(self._removals())
        broken = frozenset(self._bad)
        return Parsed(tuple(self.rows()), tuple(violations), tuple(doubtful), broken, tuple(self.renamed), removals=removals)


def check_rows(rows: Rows, types: Types) -> list[Violation]:
    """What is wrong with each row by itself."""
    broken = row_rules.check(Delta(rows.type, pa.Table.from_batches([rows.batch]), places=RowPlaces(rows), absent=rows.absent))
    return [*broken, *refused(rows, types.external.policy)]


class _Table:
    """Rows of one type, as they come."""

    def __init__(self, type_: EntityType) -> None:
        self.type = type_
        self.numbers: list[int] = []
        self._rows: list[dict[str, object]] = []

    def add(self, number: int, row: dict[str, object]) -> None:
        self.numbers.append(number)
        self._rows.append(row)

    def rows(self, types: Types, file: str | None) -> Rows:
        schema = types.schema(self.type)
        columns = [plain_array([row.get(f.name) for row in self._rows], f.type) for f in schema]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        absent = dict[str, Mask]()
        for name in schema.names if types.partial else ():
            lacking = np.array([name not in row for row in self._rows], np.bool_)
            if lacking.any():
                absent[name] = lacking
        return Rows(self.type, batch, file, np.array(self.numbers, np.int64), absent)


def plain_array(values: list[object], type_: pa.DataType) -> pa.Array:
    """Stored values in Arrow."""
    plain = _plain(type_)
    array = pa.array(values, plain)
    return array if plain == type_ else array.cast(type_)


def _plain(type_: pa.DataType) -> pa.DataType:
    """Days and milliseconds are numbers until they are in Arrow."""
    if pa.types.is_date32(type_):
        return pa.int32()
    if pa.types.is_timestamp(type_):
        return pa.int64()
    if pa.types.is_list(type_):
        return pa.list_(_plain(type_.value_type))
    return type_
