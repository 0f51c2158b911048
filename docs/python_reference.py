"""The page of the Python API, from the code: signatures as they are written, and what the docstrings say."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from types import ModuleType

import omnigraph
from omnigraph import migration, spark
from omnigraph.errors import GraphError

_FIRST = ("init", "open", "infer_schema", "view", "Graph", "Branches", "Tags", "Session", "Result", "Analytics")
"""What people begin with; the rest follows in the order of the alphabet."""


def python_page() -> str:
    """The body of the page."""
    names = [n for n in omnigraph.__all__ if not n.startswith("__") and not _is_error(getattr(omnigraph, n))]
    ordered = [*_FIRST, *(n for n in names if n not in _FIRST)]
    parts = [
        "`import omnigraph as og`. Everything here is exported by `omnigraph`; what is not here, or begins with an underscore,",
        "is not public. Errors have [a page of their own](errors.md).",
        "",
        *itertools.chain.from_iterable(_entry("og", name, getattr(omnigraph, name)) for name in ordered),
        "# Spark",
        "",
        "`from omnigraph import spark as ogs`",
        "",
        *_module("ogs", spark),
        "# Steps of a schema change",
        "",
        "`from omnigraph import migration`: what `og.MigrationPlan.steps` consists of.",
        "",
        *_module("migration", migration),
    ]
    return "\n".join(parts).rstrip()


def _module(prefix: str, module: ModuleType) -> Iterator[str]:
    for name in module.__all__:
        found = getattr(module, name)
        if getattr(omnigraph, name, None) is not found:
            yield from _entry(prefix, name, found)


def _is_error(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, GraphError)


def _entry(prefix: str, name: str, found: object) -> Iterator[str]:
    yield from (f"## {prefix}.{name}", "")
    if isinstance(found, type):
        yield from _class(found)
        return
    function = inspect.unwrap(found)  # type: ignore[arg-type]
    yield from _function(_parsed(function), f"{prefix}.{name}")


def _parsed(found: object) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(found))).body[0]  # type: ignore[arg-type]


def _class(cls: type) -> Iterator[str]:
    tree = _parsed(cls)
    assert isinstance(tree, ast.ClassDef)
    yield from _text(ast.get_docstring(tree))
    rows = list(_fields(tree))
    if rows:
        yield from ("| field | type | |", "|---|---|---|", *rows, "")
    for item in itertools.chain.from_iterable(_bodies(cls)):
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and not item.name.startswith("_"):
            decorators = [ast.unparse(d) for d in item.decorator_list]
            if any(d.endswith("property") for d in decorators):
                about = (ast.get_docstring(item) or "").split("\n")[0]
                yield f"* `{item.name}`: `{_annotation(item.returns)}`{'. ' + about if about else ''}"
                yield ""
            else:
                yield from _function(item, f".{item.name}")
    awaited = [f"`{name}`" for name in _awaited(tree)]
    if awaited:
        yield from (f"Awaited, with the parameters that they have elsewhere: {', '.join(awaited)}.", "")


def _awaited(tree: ast.ClassDef) -> Iterator[str]:
    """Methods that are those of another class, awaitable."""
    for item in tree.body:
        if isinstance(item, ast.Assign) and isinstance(item.value, ast.Call) and ast.unparse(item.value.func) == "_awaited":
            yield ast.unparse(item.targets[0])


def _bodies(cls: type) -> Iterator[list[ast.stmt]]:
    """What a class holds, after what those hold that it is made of."""
    for each in reversed(cls.__mro__):
        tree = _parsed(each) if each.__module__.startswith("omnigraph") and not issubclass(each, tuple | list) else None
        if isinstance(tree, ast.ClassDef):
            yield tree.body


def _fields(tree: ast.ClassDef) -> Iterator[str]:
    for item, after in itertools.pairwise([*tree.body, ast.Pass()]):
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name) or item.target.id.startswith("_"):
            continue
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        about = " ".join(str(said).split()).replace("|", "\\|")
        yield f"| `{item.target.id}` | `{_annotation(item.annotation)}` | {about} |".replace("`| ", "` | ")


def _annotation(node: ast.expr | None) -> str:
    return "None" if node is None else ast.unparse(node).replace("|", "\\|")


def _function(tree: ast.stmt, name: str) -> Iterator[str]:
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    arguments = tree.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    given = ast.unparse(arguments)
    line = f"{name}({given}) -> {'None' if tree.returns is None else ast.unparse(tree.returns)}"
    if len(line) > 110:
        inner = ",\n".join(f"    {part}" for part in _split(given))
        line = f"{name}(\n{inner},\n) -> {'None' if tree.returns is None else ast.unparse(tree.returns)}"
    yield from ("```text", line, "```", "")
    yield from _text(ast.get_docstring(tree))


def _split(given: str) -> Iterator[str]:
    """Parameters one by one: commas inside of brackets stay."""
    depth, start = 0, 0
    for place, letter in enumerate(given):
        depth += (letter in "[({") - (letter in "])}")
        if letter == "," and depth == 0:
            yield given[start:place].strip()
            start = place + 1
    yield given[start:].strip()


def _text(docstring: str | None) -> Iterator[str]:
    if docstring:
        for block in docstring.split("\n\n"):
            indented = all(line.startswith("    ") or not line for line in block.splitlines())
            code = indented or any(mark in block for mark in (" = g.", "og.open(", "spark = "))
            yield from (("```text", textwrap.dedent(block), "```", "") if code else (block, ""))
