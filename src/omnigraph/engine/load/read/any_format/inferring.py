"""A schema proposed from files: types by their names, properties by their columns, and what was guessed, in comments.

    people.csv     name,age,born            node People { name: String @key  age: I64?  born: Date }
    knows.csv      from,to,since            edge Knows: People -> People { since: Date }

A file of columns becomes a type that is called after it; one with columns `from` and `to` (or `src` and `dst`) an edge type. JSON
lines are records that name their types, or plain objects. Nothing is decided that cannot be seen: a key is a column without
repeats, the one that edges refer to, a property may be null if one is, and few values are only remarked upon. Rows beyond `ROWS`
are not looked at.

A column that cannot be a property is left out, in a comment that says why: because of its name, or because of values that no
property holds. A load refuses what a type does not have, so the type then says how its files are loaded without it.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain, count
from typing import Any, Final

import pyarrow as pa

from omnigraph.catalog.declare.names import STORAGE_NAMES
from omnigraph.engine.load.read.any_format.batches import batches_of
from omnigraph.engine.load.read.conversion.columns import python_rows
from omnigraph.engine.load.read.inputs.content import Text, Unfit
from omnigraph.engine.load.read.inputs.naming import ENDINGS, Format, columns_within, form_of, type_name
from omnigraph.engine.load.read.inputs.sources import CELLS, Input
from omnigraph.engine.load.read.json_lines.lines import line_blocks
from omnigraph.engine.load.read.rows.types import ENDS
from omnigraph.errors import NotFound, UsageError
from omnigraph.model.phrases import counted, one_line
from omnigraph.storage.files.inputs import files_at

ROWS: Final = 50_000
"""Rows of a type that are looked at."""

FEW_VALUES: Final = 8
LEAST_ROWS: Final = 20
"""So few values among so many rows may be an enum."""

_KEYS: Final = ("key", "slug", "code", "uuid", "name", "email")
"""Names that keys have, the likeliest first."""

_TEXTS: Final = (
    ("Bool", re.compile(r"true|false")),
    ("I64", re.compile(r"-?(0|[1-9]\d{0,17})")),
    ("F64", re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")),
    ("Date", re.compile(r"\d{4}-\d\d-\d\d")),
    ("DateTime", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[-+]\d\d:?\d\d)")),
)
"""What texts of a CSV file, or dates in JSON, look like."""

_PROPERTY: Final = re.compile(r"[a-z_][A-Za-z0-9_]*")
_KEYED: Final = frozenset({"String", "I64", "I32", "U64", "U32", "Date", "DateTime", "Bool"})
_NUMBERED: Final = frozenset({"I64", "I32", "U64", "U32"})


@dataclass
class _Found:
    """What was seen of one type."""

    name: str
    files: dict[str, None] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    """Types of columns that say so themselves."""
    text: bool = False
    """Whether values are texts, whatever they mean."""
    is_edge: bool = False
    folders: set[str] = field(default_factory=set)
    """Columns that folders are called after, whose values are texts as well."""
    paths: dict[str, Format] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)
    """What columns hold whose type no property has."""
    more: bool = False
    """Whether there are rows that nobody looked at."""
    key: str | None = None
    referred: bool = False
    """Whether the key is one because edges refer to it."""

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.kinds, *(name for row in self.rows for name in row)]))

    def values(self, name: str) -> list[Any]:
        return [row.get(name) for row in self.rows]

    @property
    def ids(self) -> set[str]:
        """What edges may call these nodes by."""
        return self.texts(self.key or "id")

    def texts(self, name: str) -> set[str]:
        """What a column has, as it would be spelt in ids."""
        return {_id_text(value) for value in self.values(name) if value is not None}


Loading = Callable[[str], str]
"""How a path is loaded in the compatible dialect, in the words of a surface."""


def _in_python(path: str) -> str:
    return f'g.load({json.dumps(path)}, dialect="compatible")'


def proposed(paths: Iterable[str], options: Mapping[str, str] | None = None, compatible: Loading = _in_python) -> str:
    """The text of a schema for some files."""
    found: dict[str, _Found] = {}
    for path in paths:
        for file in files_at(path, options or {}):
            form = form_of(file)
            if form is None:
                raise UsageError(f"{file.path}: what kind of file is it?", hint=f"Files end in {', '.join(ENDINGS)}.")
            input_ = Input(form.format, file.path, file.path, None, file.size, dict(options or {}), form.packed)
            try:
                _look(input_, _type_name(file.path), dict(columns_within(file.within)), found)
            except Unfit as error:
                raise UsageError(f"{file.path} cannot be read: {error}", hint="Mend the file, or leave it out.") from None
    if not found:
        raise NotFound("there is nothing to look at", hint="Name files or folders.")
    nodes = [type_ for type_ in found.values() if not type_.is_edge]
    for type_ in nodes:
        type_.key = _key(type_)
    _refer(nodes, [type_ for type_ in found.values() if type_.is_edge])
    files = dict.fromkeys(name for type_ in found.values() for name in type_.files)
    head = f"// Proposed from {', '.join(files)}. Comments say what was guessed."
    parts = [*(_node(t, compatible) for t in nodes), *(_edge(t, nodes, compatible) for t in found.values() if t.is_edge)]
    return "\n\n".join([head, *parts]) + "\n"


# ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _type_name(path: str) -> str:
    """What a type is called that a file, or the folder of its parts, is called after."""
    parts = [part for part in path.split("/") if part and "=" not in part]
    stem = parts[-1].partition(".")[0]
    if stem.startswith("part-") and len(parts) > 1:
        stem = parts[-2].partition(".")[0]
    return type_name(stem)


def _look(input_: Input, name: str, folders: Mapping[str, str | None], found: dict[str, _Found]) -> None:
    """What a file has, and what the folders it is in say of every row."""
    for type_, row, is_edge in _records(input_, name) if input_.format is Format.NDJSON else _columns(input_, name, found):
        seen = found.setdefault(type_, _Found(type_))
        if folders and type_ == name:
            row = {**row, **folders}
            seen.folders.update(folders)
        seen.files.setdefault(os.path.basename(input_.content))
        seen.paths.setdefault(input_.content, input_.format)
        seen.is_edge |= is_edge
        if len(seen.rows) < ROWS:
            seen.rows.append(row)
        else:
            seen.more = True
            if input_.format is not Format.NDJSON:
                return


def _columns(input_: Input, name: str, found: dict[str, _Found]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    for batch in batches_of(input_, lambda row: None):
        names = set(batch.schema.names)
        is_edge = all(names & set(spellings) for spellings in ENDS.values())
        seen = found.setdefault(name, _Found(name, is_edge=is_edge))
        seen.files.setdefault(os.path.basename(input_.content))
        seen.paths.setdefault(input_.content, input_.format)
        seen.text |= input_.format in CELLS
        for column in batch.schema:
            if input_.format in CELLS:
                seen.kinds.setdefault(column.name, "")
            else:
                seen.kinds[column.name] = _of_arrow(column.type)
                if seen.kinds[column.name] == "?":
                    seen.unfit[column.name] = f"values of {one_line(str(column.type))}, which no property holds"
        for row in python_rows(batch):
            yield name, row, is_edge


def _records(input_: Input, name: str) -> Iterator[tuple[str, dict[str, Any], bool]]:
    with input_.opened() as stream:
        for block in line_blocks(Text(stream), input_.name):
            for number, line in enumerate(block.data.split(b"\n"), block.first_line):
                if line.strip():
                    yield _record(line, name, f"{input_.name}:{number}")


def _record(line: bytes, name: str, place: str) -> tuple[str, dict[str, Any], bool]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{place} is not JSON: {error}", hint="Each line is an object.") from None
    if not isinstance(value, dict):
        raise UsageError(f"{place} is not an object", hint="Each line is a record, or an object whose members are properties.")
    data = value.get("data", {})
    if isinstance(value.get("edge"), str) and isinstance(data, dict):
        return value["edge"], {"from": value.get("from"), "to": value.get("to"), **data}, True
    if isinstance(value.get("type"), str) and isinstance(value.get("data"), dict):
        return value["type"], data, False
    return name, value, all(set(value) & set(spellings) for spellings in ENDS.values())


def _of_arrow(kind: pa.DataType) -> str:
    """The type of a property for a column of Arrow; empty: its values must say."""
    if pa.types.is_dictionary(kind):
        return _of_arrow(kind.value_type)
    if pa.types.is_fixed_size_list(kind) and pa.types.is_floating(kind.value_type):
        return f"Vector({kind.list_size})"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        element = _of_arrow(kind.value_type)
        return f"[{element}]" if element and not element.startswith(("[", "Vector", "Blob", "?")) else "?"
    for name, is_kind in _ARROW.items():
        if any(getattr(pa.types, f"is_{each}")(kind) for each in is_kind):
            return name
    return "" if pa.types.is_null(kind) else "?"


_ARROW: Final = {
    "Bool": ("boolean",),
    "I32": ("int8", "int16", "int32"),
    "I64": ("int64",),
    "U32": ("uint8", "uint16", "uint32"),
    "U64": ("uint64",),
    "F32": ("float16", "float32"),
    "F64": ("float64", "decimal"),
    "String": ("string", "large_string", "string_view"),
    "Date": ("date",),
    "DateTime": ("timestamp",),
    "Blob": ("binary", "large_binary", "fixed_size_binary"),
}


# ── judging ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _type_of(found: _Found, name: str) -> str:
    """The type that all values of a column have; `?`: there is none."""
    known = found.kinds.get(name, "")
    if known:
        return known
    texts = found.text or name in found.folders
    kinds = {_kind(value, text=texts) for value in found.values(name) if value is not None}
    if not kinds or kinds == {"[]"}:
        return "[String]" if kinds else "String"
    lists = {kind[1:-1] for kind in kinds if kind.startswith("[")} - {""}
    if lists:
        element = _widest(lists) if all(kind.startswith("[") for kind in kinds) else "?"
        return f"[{element}]" if element != "?" else "String" if texts else "?"
    widest = _widest(kinds)
    texts = texts or kinds <= {"String", "Date", "DateTime"}
    return "String" if widest == "?" and texts else widest


def _widest(kinds: set[str]) -> str:
    """The type that takes values of some; `?`: there is none."""
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds <= {"I64", "U64"}:
        return "U64"
    return "F64" if kinds <= {"I64", "U64", "F64"} else "?"


def _kind(value: Any, *, text: bool) -> str:
    if isinstance(value, bool):
        return "Bool"
    if isinstance(value, int):
        return "I64" if -(2**63) <= value < 2**63 else "U64"
    if isinstance(value, float):
        return "F64"
    if isinstance(value, datetime | date):
        return "DateTime" if isinstance(value, datetime) else "Date"
    if isinstance(value, list):
        element = _widest({_kind(item, text=False) for item in value}) if value else ""
        return f"[{element}]" if not element.startswith(("[", "?")) else "?"
    if isinstance(value, str):
        if text and value.startswith("["):
            try:
                return _kind(json.loads(value), text=False)
            except ValueError:
                return "String"
        looks = _TEXTS if text else _TEXTS[3:]
        return next((kind for kind, pattern in looks if pattern.fullmatch(value)), "String")
    return "?"


def _id_text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _is_unique(values: Sequence[Any]) -> bool:
    return bool(values) and None not in values and len({_id_text(value) for value in values}) == len(values)


def _key(found: _Found) -> str | None:
    unique = _unique(found)
    if "id" in found.columns and None not in found.values("id"):
        given = [_id_text(value) for value in found.values("id")]
        return next((name for name in unique if [_id_text(v) for v in found.values(name)] == given), None)
    likely = [f"{found.name.lower()}_id", f"{found.name.lower()}id", *_KEYS]
    named = [name for name in unique if name.lower() in likely or name.lower().endswith("_id")]
    if not named:
        return next(iter(unique), None)
    return min(named, key=lambda n: likely.index(n.lower()) if n.lower() in likely else len(likely))


def _refer(nodes: list[_Found], edges: list[_Found]) -> None:
    """Make keys of the columns that most edges refer to. An end refers to a likely key rather than to another unique column, and
    to the one with the fewest values of those that have all of its own."""
    likely = [(False, node, node.key or "id") for node in nodes]
    others = [(True, node, name) for node in nodes if "id" not in node.columns for name in _unique(node) if name != node.key]
    columns = [(unlikely, node, name, node.texts(name)) for unlikely, node, name in (*likely, *others)]
    votes = {node.name: Counter({name: 0}) for _, node, name in likely}
    for values in (values for edge in edges for _, values in _ends(edge) if values):
        fitting = [(unlikely, len(texts), node.name, name) for unlikely, node, name, texts in columns if values <= texts]
        if fitting:
            _, _, of, name = min(fitting, key=lambda each: each[:2])
            votes[of][name] += 1
    for _, node, name in likely:
        ((voted, _),) = votes[node.name].most_common(1)
        if voted != name:
            node.key, node.referred = voted, True


def _ends(edge: _Found) -> Iterator[tuple[str, set[str]]]:
    """The columns of the ends of an edge type, and what they refer to."""
    for spellings in ENDS.values():
        name = next((s for s in spellings if s in edge.columns), spellings[0])
        yield name, edge.texts(name)


def _unique(found: _Found) -> list[str]:
    names = [name for name in found.columns if name != "id" and _may_be_called(name)]
    return [name for name in names if _is_key(found, name)]


def _is_key(found: _Found, name: str) -> bool:
    """Whether the values of a column tell rows apart."""
    return _type_of(found, name) in _KEYED and _is_unique(found.values(name))


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _node(found: _Found, compatible: Loading) -> str:
    lines = [_property(found, name) for name in found.columns if name != "id"]
    about = f"// {_seen(found)}"
    if found.key is None and "id" in found.columns:
        rename = f"rename it in the file, and write it here: {_other_name(found, 'id')}: {_type_of(found, 'id')} @key"
        if not _all_texts(found, "id"):
            about += f"; ids are texts, and the column `id` has none: {rename}"
        elif _type_of(found, "id") in _NUMBERED:
            about += f"; the column `id` says who is who, as a text. To name them by numbers, {rename}"
        else:
            about += "; the column `id` says who is who"
    elif found.key is None and (
        left_out := [name for name in found.columns if not _may_be_called(name) and _is_key(found, name)]
    ):
        about += f"; only `{one_line(left_out[0])}` is unique, which is left out"
    elif found.key is None:
        about += "; no column is unique: each load adds all of them again, unless one becomes a @key"
    return "\n".join([about, f"node {found.name} {{", *lines, *_without(found, compatible), "}"])


def _edge(found: _Found, nodes: list[_Found], compatible: Loading) -> str:
    ends, notes = list[str](), list[str]()
    for name, values in _ends(found):
        having = sorted((node for node in nodes if values and values <= node.ids), key=lambda node: len(node.ids))
        fitting = [node.name for node in having]  # that of which most are meant comes first
        ends.append(next(iter(fitting or [node.name for node in nodes]), "Thing"))
        if not fitting:
            notes.append(f"`{name}` is a guess: no type has all of its ids")
        elif len(fitting) > 1:
            notes.append(f"`{name}` is a guess: its ids are those of {', '.join(fitting[1:])}, too")
    implicit = {"id", *(s for spellings in ENDS.values() for s in spellings)}
    lines = [*(_property(found, name) for name in found.columns if name not in implicit), *_without(found, compatible, implicit)]
    pairs = [tuple(_id_text(row.get(s)) for spellings in ENDS.values() for s in spellings if s in row) for row in found.rows]
    key = " @key(src, dst)" if "id" not in found.columns and pairs and len(set(pairs)) == len(pairs) else ""
    if key:
        notes.append("no two edges have the same ends: they are the key")
    body = " {" if lines else ""
    about = f"// {'; '.join([_seen(found), *notes])}"
    return "\n".join([about, f"edge {found.name}: {ends[0]} -> {ends[1]}{key}{body}", *lines, *(["}"] if lines else [])])


def _seen(found: _Found) -> str:
    return f"{', '.join(found.files)}: {'the first ' if found.more else ''}{counted(len(found.rows), 'row')}"


def _all_texts(found: _Found, name: str) -> bool:
    return found.text or all(isinstance(value, str) for value in found.values(name))


def _property(found: _Found, name: str) -> str:
    values, kind = found.values(name), _type_of(found, name)
    if _why_not(found, name):
        return f"{_LEFT_OUT} `{one_line(name)}` of {found.name} is left out: {_why_not(found, name)}"
    empty, notes = sum(value is None for value in values), list[str]()
    key = " @key" if name == found.key else ""
    if key:
        others = [other for other in _unique(found) if other != name]
        notes += ["edges refer to it"] if found.referred else []
        notes.append("no value occurs twice" + (f", nor in {', '.join(others)}" if others else ""))
    if empty:
        notes.append(f"{counted(empty, 'row')} without a value" if empty < len(values) else "no row has a value")
    distinct = list(dict.fromkeys(str(value) for value in values if value is not None))
    few = kind == "String" and not key and 1 < len(distinct) <= FEW_VALUES and len(values) >= LEAST_ROWS
    if few and all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) for text in distinct):
        notes.append(f"perhaps enum({', '.join(sorted(distinct))})")
    comment = f"  // {'; '.join(notes)}" if notes else ""
    return f"    {name}: {kind}{'?' if empty or not values else ''}{key}{comment}"


# ── leaving out ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

_LEFT_OUT: Final = "    // column"
_READERS: Final = {Format.PARQUET: "pyarrow.parquet", Format.IPC: "pyarrow.feather"}
"""What reads a file as a table, of which columns can be dropped."""


def left_out(schema: str) -> list[str]:
    """What a proposed schema says of columns that it left out."""
    return [line.strip(" /") for line in schema.splitlines() if line.startswith(_LEFT_OUT)]


def _may_be_called(name: str) -> bool:
    return _PROPERTY.fullmatch(name) is not None and name not in STORAGE_NAMES


def _why_not(found: _Found, name: str) -> str:
    """Why a column cannot be a property, and what to do about its name; nothing if it can."""
    kind = _type_of(found, name)
    if kind == "?":
        values = [value for value in found.values(name) if value is not None]
        nested = any(isinstance(value, dict) or (isinstance(value, list) and _kind(value, text=False) == "?") for value in values)
        return f"it has {found.unfit.get(name) or ('objects or nested lists' if nested else 'values of several types')}"
    if _may_be_called(name):
        return ""
    why = "this name is taken" if name in STORAGE_NAMES else "names begin with a small letter, and have letters, digits and `_`"
    other, optional = _other_name(found, name), "?" if None in found.values(name) or not found.rows else ""
    key = " @key" if found.key is None and not found.is_edge and not optional and _is_key(found, name) else ""
    return f"{why}. Rename it in the file, and write it here: {other}: {kind}{optional}{key}"


def _other_name(found: _Found, name: str) -> str:
    """A name that a property may have, like one that it may not."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    other = words[:1].lower() + words[1:] if re.search("[a-z]", words) else words.lower()
    other = "_".join(part[:1].lower() + part[1:] for part in other.split("_")) or "column"
    other = f"_{other}" if other[0].isdigit() else other
    if other in ("id", *(s for spellings in ENDS.values() for s in spellings)):
        other = f"{found.name.lower()}_{other}"
    return next(made for made in chain([other], (f"{other}_{n}" for n in count(2))) if made not in found.columns)


def _without(found: _Found, compatible: Loading, implicit: Set[str] = frozenset({"id"})) -> list[str]:
    """How files are loaded without what is left out."""
    names = [name for name in found.columns if name not in implicit and _why_not(found, name)]
    if not names:
        return []
    paths, forms = list(found.paths), {*found.paths.values()}
    if forms <= CELLS:
        return ["    // A load refuses what is left out: rename it in the first line of the file."]
    path = paths[0] if len(paths) == 1 else "…" if "://" in paths[0] else os.path.commonpath(paths)
    if forms == {Format.NDJSON}:
        how = f"{compatible(path)}, which also takes values that do not fit for null"
    else:
        form = forms.pop()
        table = "table" if forms or form not in _READERS else f"{_READERS[form]}.read_table({json.dumps(path)})"
        how = f"g.load({{{json.dumps(found.name)}: {table}.drop_columns({json.dumps(names)})}})"
    return [f"    // A load refuses what is left out. Without it: {how}"]
