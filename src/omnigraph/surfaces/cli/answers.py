"""The answer to a query in the requested format.

table     for people             kv       one line per value             csv      for spreadsheets
json      one object             jsonl    a line of metadata, then a line per row
arrow     an Arrow stream        parquet  a Parquet file (needs --out)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from omnigraph.errors import UsageError
from omnigraph.model.outputs import output_file, write_output
from omnigraph.model.phrases import counted
from omnigraph.model.text_tables import PIPES, Overflow, text_table
from omnigraph.surfaces.cli.output import data_sink, say
from omnigraph.surfaces.cli.settings import DEFAULT_WIDTH, FORMATS

if TYPE_CHECKING:
    from omnigraph.service.results import Result

LEAST_WIDTH = 8


def format_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--format F | --json`, and `--out`."""
    for decorate in (
        click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
        click.option("--out", metavar="FILE", help="Write to a file instead of stdout."),
        click.option("--format", "format_", type=click.Choice(FORMATS), help="Format of the answer."),
    ):
        function = decorate(function)
    return function


def chosen_format(format_: str | None, as_json: bool, *defaults: str | None) -> str:
    """The form that is wanted: flags first, then what is settled, then a table."""
    if format_ is not None and as_json:
        raise click.UsageError("--json and --format exclude each other")
    return "json" if as_json else format_ or next((d for d in defaults if d is not None), FORMATS[0])


def write_answer(
    result: Result, form: str, out: str | None = None, *, width: int = DEFAULT_WIDTH, layout: str = "truncate"
) -> None:
    """Write an answer to stdout or to a file."""
    if form in ("arrow", "parquet"):
        _write_binary(result, form, out)
        return
    text = "".join(f"{line}\n" for line in lines_of(result, form, width=width, layout=layout))
    if out is None:
        say(text, nl=False)
    else:
        write_output(out, text.encode())


def lines_of(result: Result, form: str, *, width: int = DEFAULT_WIDTH, layout: str = "truncate") -> Iterator[str]:
    """An answer as lines of text."""
    answer = result.to_dict()
    match form:
        case "json":
            yield json.dumps(answer, indent=2, ensure_ascii=False)
        case "jsonl":
            yield from _jsonl(answer)
        case "csv":
            yield from _csv(result.columns, answer["rows"])
        case "kv":
            yield from _kv(answer, result.columns)
        case "table":
            yield _heading(answer)
            yield from _table(result.columns, answer["rows"], max(width, LEAST_WIDTH), layout)
        case _:
            raise UsageError(f"`{form}` is not a format of text", hint=f"There are {', '.join(FORMATS)}.")


def _write_binary(result: Result, form: str, out: str | None) -> None:
    table = result.to_arrow()
    if form == "parquet":
        if out is None:
            raise click.UsageError("--format parquet needs --out FILE")
        import pyarrow.parquet as parquet

        with output_file(out) as file:
            parquet.write_table(table, file)
        return
    import pyarrow as pa

    if out is None and sys.stdout.isatty():
        raise click.UsageError("an Arrow stream is not for a terminal: give --out FILE, or a pipe")
    with nullcontext(data_sink()) if out is None else output_file(out) as sink:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        sink.flush()


def _heading(answer: dict[str, Any]) -> str:
    where = answer["target"]
    read = f"branch {where['branch']}" if where["snapshot"] is None else f"snapshot {where['snapshot']}"
    return f"{counted(answer['row_count'], 'row')} from {read} via {answer['query_name']}"


def _jsonl(answer: dict[str, Any]) -> Iterator[str]:
    about = {"kind": "metadata", "query_name": answer["query_name"], "target": answer["target"], "row_count": answer["row_count"]}
    for line in (about, *answer["rows"]):
        yield json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def _plain(value: object) -> str:
    """A value in a cell: texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _csv(columns: list[str], rows: list[dict[str, Any]]) -> Iterator[str]:
    """As `load` reads it: no value is an empty cell, an empty text is `""`, lists are JSON."""
    yield ",".join(_quoted(name) for name in columns)
    for row in rows:
        yield ",".join("" if row[name] is None else _quoted(_plain(row[name])) for name in columns)


def _quoted(text: str) -> str:
    if text and not any(c in text for c in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _kv(answer: dict[str, Any], columns: list[str]) -> Iterator[str]:
    yield _heading(answer)
    if not answer["rows"]:
        yield "(no rows)"
    for number, row in enumerate(answer["rows"], 1):
        if number > 1:
            yield ""
        yield f"row {number}"
        for name in columns:
            yield f"{name}: {_plain(row[name])}"


def _table(columns: list[str], rows: list[dict[str, Any]], limit: int, layout: str) -> Iterator[str]:
    if not columns:
        yield "(no rows)"
        return
    grid = ([_plain(row[name]).replace("\n", "\\n") for name in columns] for row in rows)
    overflow: Overflow = "wrap" if layout == "wrap" else "truncate"
    yield from text_table(columns, grid, style=PIPES, widest=limit, overflow=overflow, escape=False)
