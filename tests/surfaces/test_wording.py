"""Hints are values that each surface words for itself: nobody is told the words of a surface that they do not use."""

from __future__ import annotations

import ast
import inspect
import json
import pickle
import pkgutil
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from tests.surfaces.calling import Call, leaves

import omnigraph
from omnigraph import errors
from omnigraph.errors import GraphError
from omnigraph.hints import PYTHON, Action, Hint, Option
from omnigraph.service import operations
from omnigraph.surfaces.cli.main import cli
from omnigraph.surfaces.http.routes import ROUTES as HTTP_ROUTES
from omnigraph.surfaces.wording import COMMAND_LINE, COMMANDS, FLAGS, PLAIN
from omnigraph.wire import requests
from omnigraph.wire.advice import advice_of, advice_output
from omnigraph.wire.wording import HTTP, MEMBERS, ROUTES

SOURCES = Path(omnigraph.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
OF_ONE_SURFACE = {
    "a flag": FLAG,
    "a command": re.compile(r"`omnigraph [a-z]"),
    "a call of Python": re.compile(r"\bg\.[a-z_]+|\bog\.[a-z_]+|`[\w.]+\([^`]*\)`"),
    "an argument of Python": re.compile(r'(?<![\w.-])[a-z][a-z_]*=(?:…|True\b|False\b|"|\{|\[|[0-9])'),
    "a file of the repository": re.compile(r"\bdocs/"),
}

OF_PYTHON = {
    "reset_index": "of pandas: whoever has such a frame writes Python",
    "multiprocessing": "whoever forks a process writes Python",
    "`embed(texts, dimension)`": "a provider is an object of Python",
}
"""What hints may say to people who can only be writing Python."""

NOT_ON_THE_COMMAND_LINE = {
    "embedder": "a provider is an object of Python",
    "external_blobs": "of a graph that is opened from Python",
    "memory": "of a graph that is opened from Python",
    "onto": "results of analytics are written from Python",
    "query": "of `og.view`, from Python",
    "write_to": "results of analytics are written from Python",
}
"""Options that hints may name and no command has: a hint with them is left out there."""


def hints() -> Iterator[tuple[str, str]]:
    """Every text of a hint outside of the command line, clusters (which have no other) and Spark, whose readers are known."""
    for path in sorted(SOURCES.rglob("*.py")):
        where = str(path.relative_to(SOURCES))
        if where.startswith(("surfaces/cli/", "surfaces/http/", "cluster/", "pipeline/", "hints.py")):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.keyword(arg="hint", value=value):
                    found: ast.AST = value
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if "hint" in name.lower():
                    found = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.AST() as value) if "hint" in name.lower():
                    found = value
                case ast.Call(func=ast.Name(id="Hint")):
                    found = node
                case _:
                    continue
            for text in texts(found):
                yield f"{where}:{node.lineno if hasattr(node, 'lineno') else value.lineno}", text


def texts(node: ast.AST) -> Iterator[str]:
    """The texts of an expression, except those in options and actions."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Option", "Action"):
        return
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from texts(child)


def messages() -> Iterator[tuple[str, str]]:
    """Every message that is raised in the sources outside of the command line and Spark, and where."""
    for path in sorted(SOURCES.rglob("*.py")):
        where = str(path.relative_to(SOURCES))
        if not where.startswith(("surfaces/cli/", "surfaces/http/", "pipeline/", "language/")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                    for text in texts(node.exc.args[0]):
                        yield f"{where}:{node.lineno}", text


@cache
def named(kind: str) -> frozenset[str]:
    """Options or actions that the sources name. All of the sources are read for it: once for each kind."""
    return frozenset(
        node.args[0].value
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == kind
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    )


def options() -> set[str]:
    every: list[click.Command] = [cli, *(command for _, command in leaves())]
    return {"--help"} | {flag for command in every for param in command.params for flag in param.opts if flag.startswith("--")}


def test_no_text_of_a_hint_is_in_the_words_of_one_surface() -> None:
    found = list(hints())
    assert len(found) > 150
    wrong = [
        (where, what, text)
        for where, text in found
        for what, pattern in OF_ONE_SURFACE.items()
        if pattern.search(text) and not any(allowed in text for allowed in OF_PYTHON)
    ]
    assert wrong == []
    assert {allowed for _, text in found for allowed in OF_PYTHON if allowed in text} == set(OF_PYTHON)


def test_no_message_is_in_the_words_of_one_surface() -> None:
    found = list(messages())
    assert len(found) > 250
    ambiguous = ("since", "mode", "engine", "params", "types")
    of_python = re.compile("|".join(rf"`{re.escape(name)}`" for name in FLAGS if name not in ambiguous))
    patterns = {**OF_ONE_SURFACE, "an option of Python": of_python}
    assert [(where, what, text) for where, text in found for what, p in patterns.items() if p.search(text)] == []


@pytest.mark.parametrize(
    "text", ["Give --yes.", "See `omnigraph verify`.", "Use g.verify.", "Pass name=…", "Set on=True.", "See docs/x.md."]
)
def test_words_of_one_surface_are_noticed(text: str) -> None:
    assert any(pattern.search(text) for pattern in OF_ONE_SURFACE.values())


def test_every_option_of_a_hint_is_one_of_python_and_of_the_command_line() -> None:
    python = {
        parameter
        for cls in (omnigraph.Graph, omnigraph.Analytics)
        for _, method in inspect.getmembers(cls, inspect.isfunction)
        for parameter in inspect.signature(method).parameters
    }
    python |= set(inspect.signature(omnigraph.open).parameters) | set(inspect.signature(omnigraph.view).parameters)
    assert named("Option") <= python | {"write_to"}  # write_to is one of Options
    assert named("Option") - set(FLAGS) - set(PLAIN) == set(NOT_ON_THE_COMMAND_LINE)
    assert {flag for said in (*FLAGS.values(), *PLAIN.values()) for flag in FLAG.findall(said)} <= options()


OWNERS = {"omnigraph": omnigraph, "g": omnigraph.Graph, "g.reviews": omnigraph.Reviews}
"""What the calls of hints are methods of."""


def test_every_action_of_a_hint_is_an_operation_that_each_surface_has_words_for() -> None:
    known = {module.name for module in pkgutil.iter_modules(operations.__path__)} | {"help"}
    assert named("Action") <= known
    assert named("Action") == set(PYTHON.calls)
    assert named("Action") - set(COMMANDS) == {"help"}
    for call in PYTHON.calls.values():
        owner, _, method = call.removesuffix("()").rpartition(".")
        assert owner == "" or callable(getattr(OWNERS[owner], method))
    assert {command.removeprefix("omnigraph ") for command in COMMANDS.values()} <= {path for path, _ in leaves()}


def test_every_member_and_route_of_a_hint_is_one_of_the_server() -> None:
    members = {
        name
        for cls in vars(requests).values()
        if hasattr(cls, "__struct_encode_fields__")
        for name in cls.__struct_encode_fields__
    }
    assert set(MEMBERS.values()) <= members | {"start"}  # in the address of a poll
    served = {f"{route.method} {re.sub(r'^/graphs/{[^}]*}', '…', route.path)}" for route in HTTP_ROUTES}
    assert set(ROUTES.values()) <= served
    assert set(MEMBERS) <= named("Option")
    assert set(ROUTES) <= named("Action")


def test_every_flag_that_a_command_names_is_one_that_there_is() -> None:
    known, wrong = options(), []
    for path in sorted((SOURCES / "surfaces/cli").rglob("*.py")):
        wrong += [
            (path.name, text, flag)
            for text in texts(ast.parse(path.read_text()))
            for flag in FLAG.findall(text)
            if flag not in known
        ]
    assert wrong == []


@pytest.mark.parametrize("cls", [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, GraphError)])
def test_the_hint_of_each_error_has_words_on_each_surface(cls: type[GraphError]) -> None:
    hint = cls.default_hint if isinstance(cls.default_hint, Hint) else Hint(cls.default_hint)
    shown = hint.worded(COMMAND_LINE)
    assert bool(shown) == bool(str(hint))
    for text in (shown, str(hint)):
        assert "  " not in text
        assert text == "" or text.endswith(".")
    assert not OF_ONE_SURFACE["an argument of Python"].search(shown)
    assert not FLAG.search(str(hint))
    assert not any(OF_ONE_SURFACE[what].search(hint.worded(HTTP)) for what in ("a flag", "a command", "a call of Python"))


@pytest.mark.parametrize(
    "hint", [Hint("More time: ", Option("timeout"), "."), Hint(Action("load", Option("mode")), Hint(Option("types", {"a": "B"})))]
)
def test_a_hint_reads_the_same_after_a_journey(hint: Hint) -> None:
    travelled = advice_of(json.loads(json.dumps(advice_output(hint))))
    for again in (travelled, pickle.loads(pickle.dumps(hint))):
        assert [again.worded(words) for words in (PYTHON, COMMAND_LINE, HTTP)] == [
            hint.worded(words) for words in (PYTHON, COMMAND_LINE, HTTP)
        ]


@pytest.mark.parametrize(
    ("hint", "python", "shell"),
    [
        (Hint(Option("types", {"x.csv": "P"})), 'types={"x.csv": "P"}', "--type x.csv=P"),
        (Hint("take ", Option("lossy", "round"), "."), 'take lossy="round".', "take --lossy round."),
        (Hint(Option("allow_data_loss", True)), "allow_data_loss=True", "--allow-data-loss"),
        (Hint("look at ", Action("plan_schema"), "."), "look at `g.plan_schema()`.", "look at `omnigraph schema plan`."),
        (Hint(Action("load", Option("mode", "merge"))), '`g.load(mode="merge")`', "`omnigraph load --mode merge`"),
        (Hint(Option("quarantine")), "quarantine=…", "--quarantine …"),
        (Hint(Option("max_bad", 0.01)), "max_bad=0.01", "--max-bad 0.01"),
        (Hint(Option("params", {"name": "Ada"})), 'params={"name": "Ada"}', '--params \'{"name": "Ada"}\''),
        (Hint("Less.", Hint(" Or ", Option("memory"), ".")), "Less. Or memory=….", "Less."),
        (Hint("Only ", Option("memory")), "Only memory=…", ""),
        (Hint(""), "", ""),
    ],
    ids=[
        "pairs",
        "value",
        "flag",
        "operation",
        "operation with an option",
        "any value",
        "number",
        "object",
        "inner",
        "outer",
        "none",
    ],
)
def test_a_hint_is_worded_by_the_surface(hint: Hint, python: str, shell: str) -> None:
    assert str(hint) == python
    assert hint.worded(COMMAND_LINE) == shell
    assert pickle.loads(pickle.dumps(hint)) == hint
    error = errors.NotFound("x", hint=hint)
    assert pickle.loads(pickle.dumps(error)).advice == hint
    assert error.hint == python
    assert getattr(error, "__notes__", []) == ([python] if python else [])


def test_what_a_load_says_can_be_typed(tmp_path: Path, og: Call, people: Path) -> None:
    (tmp_path / "staff.csv").write_text('name,place\nEve,"[1, 2]"\n')
    load = ["load", str(people), "--data", str(tmp_path / "staff.csv"), "--mode", "merge"]
    told = og(*load).err
    said = re.search(r"(--type \S+)", told)
    assert said is not None, told
    assert og(*load, *shlex.split(said[1].replace("…", "Person"))).code == 0
    (tmp_path / "Knows.csv").write_text("from,to,since\nAda,Bob,2024-05-01T10:30:00Z\n")
    load = ["load", str(people), "--data", str(tmp_path / "Knows.csv"), "--mode", "merge"]
    for told in (og(*load).err, og(*load, "--json").err):
        said = re.search(r"(--lossy \w+)", told)
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
