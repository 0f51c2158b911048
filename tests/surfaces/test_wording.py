"""Advice on the command line is in its own words: every flag that any message of the product names is one that a command has."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.surfaces.calling import Call, leaves

import omnigraph
from omnigraph.errors import NotConfirmed, ScopeError
from omnigraph.surfaces.cli.main import cli
from omnigraph.surfaces.cli.wording import FLAGS, PHRASES, on_the_command_line

SOURCES = Path(omnigraph.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
ARGUMENT = re.compile(r'(?<![\w.-])([a-z][a-z_]*)=(?:…|True\b|False\b|"|\{|\[|[0-9])')

NOT_ON_THE_COMMAND_LINE = {
    "again": "vectors of a graph are made from Python",
    "checkpoint_id": "streams are written from Python",
    "drop": "of pandas",
    "embedder": "a provider is an object of Python",
    "memory": "of a graph that is opened from Python",
    "memory_limit": "queries have no such flag",
    "model": "an annotation of a schema",
    "name": "an annotation of a schema, or a sink",
    "onto": "results of analytics are written from Python",
    "query": "of `og.view`, from Python",
    "spark": "a session is an object of Python",
    "timeout": "queries have no such flag",
    "write_to": "results of analytics are written from Python",
}
"""Arguments that advice may name and no command has: errors about them are not met there."""


def texts() -> Iterator[tuple[str, str]]:
    """Every text in the sources that is no documentation, and where it stands."""
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text())
        ignored = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        ignored |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in ignored:
                text = node.value
            else:
                continue
            yield f"{path.relative_to(SOURCES)}:{node.lineno}", text


def options() -> set[str]:
    every: list[click.Command] = [cli, *(command for _, command in leaves())]
    return {"--help"} | {flag for command in every for param in command.params for flag in param.opts if flag.startswith("--")}


def test_every_flag_that_is_named_is_one_of_a_command() -> None:
    known = options()
    said = [(where, text) for where, text in texts() if where.partition(":")[0] != "pipeline/java.py"]  # speaks to Java
    wrong = [(where, flag) for where, text in said for flag in FLAG.findall(on_the_command_line(text)) if flag not in known]
    assert wrong == []
    assert set(FLAGS.values()) <= known
    assert {flag for phrase in PHRASES.values() for flag in FLAG.findall(phrase)} <= known


def test_no_argument_of_python_is_left_that_the_command_line_has_a_flag_for() -> None:
    left = {
        (where, name)
        for where, text in texts()
        if not where.startswith(("surfaces/", "language/pg/"))
        for name in ARGUMENT.findall(on_the_command_line(text))
        if name not in NOT_ON_THE_COMMAND_LINE
    }
    assert left == set()


def test_no_advice_says_a_flag_to_somebody_who_writes_python() -> None:
    of_commands = {ScopeError.default_hint, NotConfirmed.default_hint}  # raised by nobody else
    python = [(where, text) for where, text in texts() if not where.startswith(("surfaces/", "pipeline/java.py"))]
    wrong = [(where, text) for where, text in python if FLAG.search(text) and text not in of_commands]
    assert wrong == []


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ('say types={"x.csv": "P"}.', "say --type x.csv=P."),
        ('say types={"x.csv": "…"}', "say --type x.csv=…"),
        ('F32 cannot hold exactly: lossy="round" takes the nearest, 0.1', "F32 cannot hold exactly: --lossy round takes the nearest, 0.1"),
        ("say so: allow_data_loss=True.", "say so: --allow-data-loss."),
        ("look at g.plan_schema first.", "look at `omnigraph schema plan` first."),
        ("on purpose: skip_unknown=True.", "on purpose: --skip-unknown."),
        ("Say where that is: quarantine=…", "Say where that is: --quarantine …"),
        ("a number of rows (max_bad=100), or a share of them (max_bad=0.01).", "a number of rows (--max-bad 100), or a share of them (--max-bad 0.01)."),
        ('Pass params={"name": value}.', "Pass --params '{\"name\": value}'."),
        ('Start again: since="now", or', "Start again: --start now, or"),
        ("`lossy` is no property of P", "`lossy` is no property of P"),
        ('value `{"types": 1}`', 'value `{"types": 1}`'),
    ],
)  # fmt: skip
def test_arguments_become_flags(python: str, shell: str) -> None:
    assert on_the_command_line(python) == shell


def test_what_a_load_says_can_be_typed(tmp_path: Path, og: Call, people: Path) -> None:
    (tmp_path / "staff.csv").write_text('name,place\nEve,"[1, 2]"\n')
    load = ["load", str(people), "--data", str(tmp_path / "staff.csv"), "--mode", "merge"]
    told = og(*load).err
    said = re.search(r"say (--type \S+)", told)
    assert said is not None, told
    assert og(*load, *shlex.split(said[1].replace("…", "Person"))).code == 0
    (tmp_path / "Knows.csv").write_text("from,to,since\nAda,Bob,2024-05-01T10:30:00Z\n")
    load = ["load", str(people), "--data", str(tmp_path / "Knows.csv"), "--mode", "merge"]
    for told in (og(*load).err, og(*load, "--json").out):
        said = re.search(r"(--lossy \S+) cuts it off", told)
        assert said is not None, told
        assert 'lossy="' not in told
        assert "lossy=\\" not in told
    assert og(*load, *shlex.split(said[1])).code == 0


def test_a_mutation_offers_nothing_that_it_does_not_have(og: Call, people: Path) -> None:
    change = 'query q($d: Date) { insert Knows { from: "Ada", to: "Cy", since: $d } }'
    told = og("mutate", "--store", people, "-e", change, "--params", '{"d": "2024-05-01T10:30:00Z"}')
    assert told.code == 1
    assert "a time of day" in told.err
    assert "lossy" not in told.err
