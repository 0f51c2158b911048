"""`omnigraph fmt`."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from omnigraph.errors import GraphError, UsageError
from omnigraph.language.gq.format import format_queries
from omnigraph.language.pg.format import format_schema
from omnigraph.language.source import Source
from omnigraph.model.outputs import write_output
from omnigraph.surfaces.cli.files import read_source
from omnigraph.surfaces.cli.output import fail, print_json, say
from omnigraph.surfaces.cli.scope import Capability, Command

_FORMATTERS = {".pg": format_schema, ".gq": format_queries}


@click.command(cls=Command, capability=Capability.LOCAL)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", "only_check", is_flag=True, help="Change nothing; exit with 1 if a file is not formatted.")
@click.option("--diff", "show_diff", is_flag=True, help="Change nothing; show what would change.")
@click.option("--lang", type=click.Choice(["pg", "gq"]), help="Language of stdin, if FILE is `-`.")
@click.option("--json", "as_json", is_flag=True, help="Print which files changed as JSON.")
def command(paths: tuple[str, ...], only_check: bool, show_diff: bool, lang: str | None, as_json: bool) -> int:
    """Format .pg and .gq files in place.

    Comments stay where they are and the meaning never changes. A folder means every .pg and .gq file below it; `-` reads
    stdin and writes stdout. A file that cannot be parsed is reported and left alone; the others are still formatted.
    """
    if paths == ("-",):
        return _format_stdin(lang)
    files: list[dict[str, object]] = []
    failed = 0
    for path in _expanded(paths):
        try:
            source, laid_out = _laid_out(path)
        except GraphError as error:
            failed = max(failed, fail(error, as_json=False))
            files.append({"path": path, "error": error.to_dict()})
            continue
        changed = laid_out != source.text
        files.append({"path": path, "changed": changed})
        if changed and show_diff:
            say("".join(_diff(path, source.text, laid_out)), nl=False)
        elif changed and not only_check:
            write_output(path, laid_out.encode())
        if changed and not as_json:
            say(f"{'would lay out' if only_check or show_diff else 'laid out'} {path}", err=True)
    if as_json:
        print_json({"files": files, "changed": sum(f.get("changed") is True for f in files)})
    return failed or int((only_check or show_diff) and any(f.get("changed") for f in files))


def _format_stdin(lang: str | None) -> int:
    if lang is None:
        raise UsageError("`omnigraph fmt -` needs --lang pg or --lang gq")
    source = Source(sys.stdin.buffer.read().decode("utf-8"), "<stdin>")
    say(_FORMATTERS[f".{lang}"](source), nl=False)
    return 0


def _laid_out(path: str) -> tuple[Source, str]:
    formatter = _FORMATTERS.get(Path(path).suffix)
    if formatter is None:
        raise UsageError(f"{path} is neither a .pg nor a .gq file")
    source = read_source(path, what="file")
    return source, formatter(source)


def _expanded(paths: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for path in paths:
        if Path(path).is_dir():
            found += sorted(str(p) for p in Path(path).rglob("*") if p.suffix in _FORMATTERS)
        else:
            found.append(path)
    return found


def _diff(path: str, before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), path, path)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
