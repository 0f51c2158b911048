"""Writes docs/reference from the code and the benchmark page from the recorded runs. A test fails when they differ."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from http_reference import http_page
from mcp_reference import mcp_page
from python_reference import python_page

from omnigraph import errors
from omnigraph.catalog.check.rules import SCHEMA_RULES, TYPING_RULES
from omnigraph.catalog.migration.codes import CODES, Family
from omnigraph.cluster.config.diagnostics import CODES as CLUSTER_CODES
from omnigraph.errors import GraphError, exit_code
from omnigraph.language.gq import conditions, expressions
from omnigraph.language.gq import grammar as gq_grammar
from omnigraph.language.lint import LINT_CODES
from omnigraph.language.pg import grammar as pg_grammar
from omnigraph.model import limits
from omnigraph.model.conversions import ALL, TABLE, Door
from omnigraph.model.given import Kind
from omnigraph.model.times import DAYS, date_text
from omnigraph.surfaces.cli import settings
from omnigraph.surfaces.cli.main import cli
from omnigraph.surfaces.http.process.command import serve, server
from omnigraph.surfaces.http.process.settings import ENVIRONMENT as SERVER

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "results"
PEERS = ("Kùzu", "Ladybug", "DuckDB", "Spark")
MEASURED = "<!-- measured: written by docs/generate.py from benchmarks/results -->"
NOTE = "<!-- Written by docs/generate.py: change the code, then run `make docs`. -->"


def pages() -> dict[str, str]:
    """Every page that is generated, or has a part that is, by its path under docs."""
    lint = _table("Lint codes", "`omnigraph lint` reports these.", ("code", "meaning"), LINT_CODES.items())
    problems = "Codes of diagnostics that are not typing rules."
    typing = "A query that breaks a rule is refused with its number."
    return {
        "../README.md": _readme(),
        "guide/capacity.md": _capacity(),
        "reference/README.md": _index(),
        "reference/cluster-diagnostics.md": _cluster_diagnostics(),
        "reference/commands.md": _commands(),
        "reference/conversions.md": _conversions(),
        "reference/errors.md": _errors(),
        "reference/grammar.md": _grammar(),
        "reference/http.md": _page("HTTP", http_page()),
        "reference/limits.md": _limits(),
        "reference/mcp.md": _page("MCP tools", mcp_page()),
        "reference/lint.md": lint,
        "reference/migration.md": _migration(),
        "reference/python.md": _page("Python", python_page()),
        "reference/settings.md": _settings(),
        "reference/problems.md": _table("Problems in a text", problems, ("code", "meaning"), SCHEMA_RULES.items()),
        "reference/typing-rules.md": _table("Typing rules", typing, ("rule", "what it asks"), TYPING_RULES.items()),
        "internals/benchmarks.md": _benchmarks(),
        "comparison.md": _comparison(),
    }


def _cluster_diagnostics() -> str:
    parts = [
        "Commands of `omnigraph cluster`, and servers of a cluster, report these: `ERROR|WARN <code> <path>: <message>`, with "
        "`--json` as `{code, severity, path, message}`. An error makes a command exit with 1; what is marked as a warning not."
    ]
    for group in dict.fromkeys(code.group for code in CLUSTER_CODES.values()):
        rows = [f"| `{name}` | {code.meaning} | {code.action} |" for name, code in CLUSTER_CODES.items() if code.group == group]
        parts.append("\n".join([f"## {group}", "", "| code | meaning | what to do |", "|---|---|---|", *rows]))
    return _page("Diagnostics of clusters", "\n\n".join(parts))


def _index() -> str:
    entries = {
        "python.md": "every public class and function of the Python API",
        "commands.md": "every command with its options",
        "http.md": "every route of a server, with an example",
        "grammar.md": "the grammars of both languages",
        "conversions.md": "which values each type takes, wherever they come from",
        "errors.md": "every error with its code and exit code",
        "cluster-diagnostics.md": "every diagnostic of clusters: what it means, what to do",
        "typing-rules.md": "T1 and on",
        "problems.md": "problems in schemas and queries",
        "lint.md": "lint codes",
        "migration.md": "codes of schema changes",
        "limits.md": "every limit",
        "mcp.md": "every tool, resource and prompt that agents are offered",
        "settings.md": "every setting and environment variable",
    }
    return _page("Reference", "\n".join(f"* [{what}]({page})" for page, what in entries.items()))


def _commands() -> str:
    parts = [f"```text\n{_help(cli, 'omnigraph')}\n```"]
    programs = {"omnigraph serve": serve}  # commands that become a program of their own
    for path, command in [*_walk(cli, "omnigraph"), ("omnigraph-server", server)]:
        parts.append(f"## {path}\n\n```text\n{_help(programs.get(path, command), path)}\n```")
    return _page("Commands", "\n\n".join(parts))


def _walk(group: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(group, click.Group):
        return
    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        yield from _walk(command, f"{path} {name}")


def _help(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path, terminal_width=100, max_content_width=100)
    context.help_option_names = ["-h", "--help"]
    return command.get_help(context).rstrip()


def _conversions() -> str:
    kinds = {Kind.BOOL: "true, false", Kind.INTEGER: "integer", Kind.FLOAT: "float", Kind.DECIMAL: "decimal", Kind.TEXT: "text",
             Kind.BYTES: "bytes", Kind.DATE: "date", Kind.MOMENT: "timestamp", Kind.LIST: "list"}  # fmt: skip
    rows = []
    for scalar, rules in TABLE.items():
        cells = []
        for kind in kinds:
            rule = rules.get(kind)
            where = "" if rule is None or rule.doors == ALL else " (" + ", ".join(d.value for d in Door if d in rule.doors) + ")"
            cells.append("–" if rule is None else rule.words + where)
        rows.append((scalar.value, *cells))
    head = _CONVERSIONS_HEAD.replace("{first}", date_text(DAYS[0])).replace("{last}", date_text(DAYS[1]))
    return _page("Conversions", f"{head}\n\n{_rows(('type', *kinds.values()), rows)}\n\n{_CONVERSIONS_REST}")


_CONVERSIONS_HEAD = """Which values each type accepts. The table applies to all input: parameters and mutations, JSON
lines and records (also what `put` is given), CSV, columns (Arrow, Parquet, pandas, polars, Spark frames and the Spark format),
backfills. A value is
stored exactly, or it is refused: as a violation that names its row and the reason, or as an error of the call. A cell that
names kinds of input applies only to those, and `–` means that such values are always refused.

Integers must be in the range of their type. Floats must be finite. Dates and timestamps range from {first} to {last}, in the
proleptic Gregorian calendar."""

_CONVERSIONS_REST = """Conversions between numbers:

* **Nearest** means that decimal text, JSON numbers and Python numbers become the nearest F32 or F64, as in every language:
  `0.1` is stored and read back as `0.1`. An *integer* for an F64 must be held exactly: 9007199254740993 is refused.
  An F32 takes the nearest, except from a column.
* **A column has a type**, so its values are taken literally: a column of doubles is accepted for F32 only if F32 can represent
  every value. It cannot represent the double `0.1`, but it can represent `0.5`. Whole floats in a column may become integers,
  because pandas has no other way to represent missing integers. In CSV, where pandas then writes `42.0`, they may not:
  cast such a column first (`frame["age"].astype("Int64")`), or load the frame itself.
* **A vector** accepts numbers of any width from any input: embeddings are often doubles, and each becomes the nearest F32.

Missing values:

* null, `None`, `pandas.NA`, `pandas.NaT` and an empty CSV cell are missing values. `""` is an empty text, and `null` in a CSV
  cell is the text `null`. In a CSV file with a single nullable column, an empty line is a row; in every other file it is skipped.
* A CSV cell that begins with a quote must end with one, and a quote within is written twice (`"O""Neil"`). A file with text after
  a closing quote (`"O\\"Neil"`, as Spark and MySQL write by default) or a quote that is never closed is refused, with
  the lines: make Spark write with `.option("escape", '"')`, and MySQL with `ESCAPED BY '"'`. In a cell that does not begin with a
  quote, a quote is a character like any other (`5"`).
* **NaN is not null.** It is refused in JSON, Python, Arrow, Parquet, polars and Spark. pandas is an exception: in its float and
  object columns NaN *is* the missing value (not in columns of `ArrowDtype`, which have null).
* Elements of a list must not be missing. Only the compatible dialect produces missing elements, from values of the wrong
  type.

Times:

* A DateTime holds milliseconds. Microseconds and nanoseconds are accepted if they are zero, and refused otherwise.
* A timestamp is accepted as a Date only at midnight UTC, regardless of the time zone of the session.
  `2024-01-05T00:00:00+02:00` is not a Date.
* Text: `2024-01-05`, `2024-1-5`, `20240105`, years with a sign and four to six digits (`-0044-03-15`, `+12024-01-05`); a
  timestamp is a date, `T` or a space, `HH:MM:SS` or `HHMMSS`, up to nine fractional digits, and `Z`, `±HH`, `±HHMM` or
  `±HH:MM`. No zone means UTC. Only the digits 0 to 9 are accepted.

`lossy="round"` (`g.load`, `ogs.sink`, `omnigraph load --lossy round`, an option of the Spark format) accepts inexact values:
doubles and integers become the nearest float, timestamps are rounded down to milliseconds, or to their day in UTC. NaN,
values out of range and fractions for integers are still violations. The compatible dialect always rounds in this way.

In results, a value looks the same in rows, JSON, CSV, tables and exports: F32 with the fewest digits (`0.1`), dates and
timestamps as ISO text in JSON and as Python objects in rows, or as text if Python cannot represent them (`+12024-01-05`). Arrow,
Parquet and polars keep the types."""


def _grammar() -> str:
    parts = ["Keywords are matched as prefixes, choices are ordered, and a choice once made is not reconsidered."]
    languages = (
        ("Schemas (`.pg`)", pg_grammar),
        ("Queries (`.gq`)", gq_grammar),
        ("Conditions (`.gq`)", conditions),
        ("Expressions (`.gq`)", expressions),
    )
    for title, module in languages:
        rules = [line[4:] for line in inspect.cleandoc(module.__doc__ or "").splitlines() if line.startswith("    ") or not line]
        parts.append(f"## {title}\n\n```text\n{chr(10).join(rules).strip()}\n```")
    parts.append("## Words\n\n" + _rows(("word", "pattern"), [(n, f"`{p}`") for n, p in WORDS]))
    return _page("Grammar", "\n\n".join(parts))


WORDS: list[tuple[str, ...]] = [
    ("typeName", "[A-Z][A-Za-z0-9_]*"),
    ("ident", "[a-z_][A-Za-z0-9_]*"),
    ("variable", "$[a-z_][A-Za-z0-9_]*"),
    ("integer", "[0-9]+"),
    ("float", "[0-9]+.[0-9]+"),
    ("num", "-?[0-9]+ or -?[0-9]+.[0-9]+"),
    ("string", 'double quotes; escapes \\" \\\\ \\n \\r \\t; may span lines'),
    ("enumValue", "[A-Za-z0-9_-]+"),
    ("edgeName", "ident, but not `not` followed by something that is neither letter nor digit"),
    ("between words", "blanks, // comments, /* comments */"),
]


def _errors() -> str:
    rows: list[tuple[str, ...]] = [
        (f"`{cls.code}`", f"`{cls.__name__}`", _first_line(cls), "yes" if cls.retryable else "no", str(_exit_code(cls)))
        for cls in _leaves(GraphError)
    ]
    tree = inspect.cleandoc(errors.__doc__ or "").split("\n\n")[1]
    lead = (
        f"```text\n{tree}\n```\n\nEvery error has `code`, `message`, `hint` and `retryable`; `to_dict()` gives them as data. "
        "`hint` says what to do next, in Python's words; commands and the server say it in theirs."
    )
    return _page("Errors", f"{lead}\n\n{_rows(('code', 'class', 'meaning', 'retry', 'exit code'), rows)}")


def _below(cls: type[GraphError]) -> list[type[GraphError]]:
    """Its children in the tree of `errors`: what a module has for itself is none of them."""
    return [child for child in cls.__subclasses__() if getattr(errors, child.__name__, None) is child]


def _leaves(cls: type[GraphError]) -> Iterator[type[GraphError]]:
    for child in _below(cls):
        if _below(child):
            yield from _leaves(child)
        else:
            yield child


def _exit_code(cls: type[GraphError]) -> int:
    return exit_code(cls.__new__(cls))


def _first_line(cls: type) -> str:
    return (inspect.getdoc(cls) or "").splitlines()[0]


def _limits() -> str:
    rows: list[tuple[str, ...]] = []
    body = ast.parse(inspect.getsource(limits)).body
    for item, after in itertools.pairwise(body):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and isinstance(after, ast.Expr):
            assert isinstance(after.value, ast.Constant)
            rows.append((f"`{item.target.id}`", f"{getattr(limits, item.target.id):,}", str(after.value.value)))
    return _page("Limits", _rows(("limit", "value", "of what"), rows))


def _settings() -> str:
    keys: list[tuple[str, ...]] = [(f"`{key}`", what) for key, what in settings.KEYS.items()]
    variables: list[tuple[str, ...]] = [(f"`{name}`", what) for name, what in {**settings.ENVIRONMENT, **SERVER}.items()]
    example = inspect.cleandoc(settings.__doc__ or "").split("\n\n")[2]
    lines = "\n".join(line[4:] if line.startswith("    ") else line for line in example.splitlines())
    parts = [
        "Settings of a person stand in `config.yaml` in the folder `~/.omnigraph`, or in the one that `OMNIGRAPH_HOME` names. "
        "`omnigraph config show` shows them, `omnigraph config set KEY VALUE` changes them. "
        "What is given on the command line comes first.",
        f"```text\n{lines}\n```",
        _rows(("key of `config.yaml`", "meaning"), keys),
        "## Environment variables",
        _rows(("variable", "meaning"), variables),
    ]
    return _page("Settings", "\n\n".join(parts))


def _migration() -> str:
    rows: list[tuple[str, ...]] = [
        (f"`{c.code}`", c.title, c.family.value, c.tier.value, c.severity.value, c.status.value) for c in CODES.values()
    ]
    families = ", ".join(f"{f.name} {f.value}" for f in Family)
    lead = f"Codes that steps of a migration plan can carry. Families: {families}."
    return _page("Migration codes", f"{lead}\n\n{_rows(('code', 'change', 'family', 'tier', 'severity', 'status'), rows)}")


def _benchmarks() -> str:
    parts = ["Measured by `make bench`, which writes `benchmarks/results`. A ratio is against the baseline of the same run."]
    for path in sorted(RESULTS.glob("*.json")):
        record = json.loads(path.read_text())
        m = record["machine"]
        parts.append(
            f"## {path.stem}\n\n{m['date']}, {m['cores']} cores, {m['memory_gib']} GiB, {m['system']}, Python {m['python']}."
        )
        rows: list[tuple[str, ...]] = [
            (r["name"], _value(r["value"], r["unit"]), f"{r['ratio']:.1f} × {r['baseline']}", _value(r["bound"], r["unit"]))
            for r in record["measurements"]
        ]
        parts.append(_rows(("what", "median", "ratio", "bound"), rows))
    return _page("Benchmarks", "\n\n".join(parts))


def _with_measured(path: Path, measured: str) -> str:
    """A page as it is, with what was measured in its place."""
    before, _, rest = path.read_text().partition(MEASURED)
    _, end, after = rest.partition("<!-- end -->")
    return f"{before}{MEASURED}\n\n{measured}\n\n{end}{after}"


def _comparison() -> str:
    return _with_measured(DOCS / "comparison.md", _beside_peers())


def _capacity() -> str:
    """What a server can carry, with what was measured of it."""
    parts = []
    for suite in ("server", "mixed_load", "writes"):
        record = json.loads((RESULTS / f"{suite}.json").read_text())
        m = record["machine"]
        rows: list[tuple[str, ...]] = [
            (r["name"], _value(r["value"], r["unit"]), f"{_value(r['baseline_value'], r['unit'])} ({r['baseline']})")
            for r in record["measurements"]
        ]
        parts.append(f"{_CAPACITY[suite]}, recorded on {m['date']} on a machine with {m['cores']} cores:")
        parts.append(_rows(("what", "measured", "compared with"), rows))
    return _with_measured(DOCS / "guide" / "capacity.md", "\n\n".join(parts))


_CAPACITY = {
    "server": "Requests over 32 connections",
    "mixed_load": "Everything at once",
    "writes": "Writes of one row, without a server between",
}


README_ROWS = {
    "queries": (
        "point lookup by key",
        "2 hops, distinct count",
        "reachability, 1 to 4 hops",
        "vector top 10 in a city",
        "BM25 and vectors fused, then 1 hop",
        "1 M edges grouped by city",
    ),
    "mutations": ("insert of one row, 100,000 rows",),
    "history": ("a diff, 1,000,000 rows", "a merge of ten rows, 1,000,000 rows"),
    "load": (
        "load of 1 M nodes and 2 M edges from JSON lines",
        "Spark: load of 1 M nodes and 5 M edges from Parquet",
    ),
}
"""What the first page says of speed: one measurement of each kind."""


def _readme() -> str:
    """The first page as it is, with what was measured in its place."""
    rows: list[tuple[str, ...]] = []
    for suite, names in README_ROWS.items():
        recorded = json.loads((RESULTS / f"{suite}.json").read_text())["measurements"]
        for name in names:
            r = next(r for r in recorded if r["name"] == name)
            rows.append((name, _value(r["value"], r["unit"]), f"{_value(r['baseline_value'], r['unit'])} ({r['baseline']})"))
    on = json.loads((RESULTS / "queries.json").read_text())["machine"]
    lead = f"Medians, recorded on {on['date']} on a machine with {on['cores']} cores:"
    return _with_measured(DOCS.parent / "README.md", f"{lead}\n\n{_rows(('what', 'OmniGraph', 'compared with'), rows)}")


def _beside_peers() -> str:
    """Every measurement that has another system as its baseline."""
    rows: list[tuple[str, ...]] = []
    for suite in ("queries", "storage", "load"):
        for r in json.loads((RESULTS / f"{suite}.json").read_text())["measurements"]:
            peer = next((name for name in PEERS if r["baseline"].startswith(name)), None)
            if peer is not None and not r["name"].endswith(", cold"):
                factor = r["baseline_value"] / r["value"]
                told = f"{factor:.1f} × faster" if factor >= 1 else f"{1 / factor:.1f} × slower"
                values = (_value(r["value"], r["unit"]), _value(r["baseline_value"], r["unit"]))
                rows.append((r["name"], values[0], f"{values[1]} ({r['baseline']})", told))
    on = json.loads((RESULTS / "queries.json").read_text())["machine"]
    lead = f"Warm, beside the quickest peer that can express it, or beside each; recorded on {on['date']}, {on['cores']} cores."
    return f"{lead}\n\n{_rows(('what', 'OmniGraph', 'the peer', 'OmniGraph is'), rows)}"


def _value(value: float | None, unit: str) -> str:
    """A number for people: milliseconds become seconds where there are many."""
    if value is None:
        return ""
    if unit == "ms" and value >= 10_000:
        value, unit = value / 1000, "s"
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def _table(title: str, lead: str, head: tuple[str, str], entries: Iterable[tuple[str, str]]) -> str:
    rows: list[tuple[str, ...]] = [(f"`{key}`", text) for key, text in entries]
    return _page(title, f"{lead}\n\n{_rows(head, rows)}")


def _rows(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _page(title: str, body: str) -> str:
    return f"{NOTE}\n\n# {title}\n\n{body}\n"


def main() -> None:
    """Write every page."""
    for name, text in pages().items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(text)


if __name__ == "__main__":
    main()
