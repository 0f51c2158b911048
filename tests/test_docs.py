"""Documentation that cannot drift: every code block runs, every link leads somewhere, the reference is what the code says.

What is done with a block depends on its language:

    pg        declared; `pg file=x.pg` also saves it, `pg broken` must be refused
    gq        checked against the latest `pg` block of the page; `gq file=x.gq` also saves it
    python    executed, in one namespace and one empty folder per page
    console   lines after `$ ` are run in a folder holding the page's files and those beside the page; what follows must be their
              output, word for word, except that the output may go on after the last line shown
    sh, text  not run; `sh` may only hold make commands; `text file=x` saves it

Commands that need no shell are run in the test's own process.
"""

from __future__ import annotations

import ast
import doctest
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

import omnigraph
from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.check import check
from omnigraph.catalog.opening import offline_catalog
from omnigraph.errors import LanguageError
from omnigraph.language import Source, parse_queries
from omnigraph.surfaces.cli import settings
from omnigraph.surfaces.cli.main import run

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "AGENTS.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    options: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [Block(m[1] or "", m[2].strip(), m[3], text.count("\n", 0, m.start()) + 2) for m in BLOCK.finditer(text)]


def runnable(page: Path) -> object:
    """A page to run; one that starts Spark takes a while."""
    marks = [pytest.mark.slow] if "omnigraph import spark" in page.read_text() else []
    return pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", [runnable(page) for page in PAGES])
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if "examples" in page.parts:
        shutil.copytree(page.parent, tmp_path, dirs_exist_ok=True)
    catalog: Catalog | None = None
    namespace: dict[str, object] = {}
    for block in blocks(page):
        place = f"{page.relative_to(ROOT)}:{block.line}"
        match block.language:
            case "pg":
                catalog = _schema(block, place) or catalog
                _save(block, tmp_path)
            case "gq":
                _query(block, place, catalog)
                _save(block, tmp_path)
            case "python":
                exec(compile(block.text, place, "exec"), namespace)
            case "console":
                _console(block, place, tmp_path, monkeypatch)
            case "sh":
                commands = [line.split("#")[0].split() for line in block.text.splitlines() if line.strip()]
                assert all(c[0] == "make" or c[:3] == ["pip", "install", "omnigraph"] for c in commands), place
            case "text":
                _save(block, tmp_path)
            case other:
                pytest.fail(f"{place}: nobody knows how to run a `{other}` block")


def _schema(block: Block, place: str) -> Catalog | None:
    if block.options == "broken":
        with pytest.raises(LanguageError):
            offline_catalog(Source(block.text, place))
        return None
    return offline_catalog(Source(block.text, place))


def _query(block: Block, place: str, catalog: Catalog | None) -> None:
    assert catalog is not None, f"{place}: a query needs a schema above it"
    source = Source(block.text, place)
    for query in parse_queries(source).queries:
        check(catalog, query, source)


def _save(block: Block, folder: Path) -> None:
    if block.options.startswith("file="):
        (folder / block.options.removeprefix("file=")).write_text(block.text)


def _console(block: Block, place: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("OMNIGRAPH_HOME", str(folder / ".omnigraph"))
    for session in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = session.partition("\n")
        shown = _by_us(command) if _is_plain(command) else _by_a_shell(command, folder)
        assert shown.startswith(expected.rstrip("\n").removesuffix("\n…")), f"{place}: {command}\n{shown}"


def _is_plain(command: str) -> bool:
    """Whether nothing is in it that only a shell knows."""
    return command.startswith("omnigraph ") and not set(re.sub(r"'[^']*'", "", command)) & set('|&;<>$`*"\\')


def _by_us(command: str) -> str:
    """What the command shows, without a process for it: pages have many of them."""
    screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(screen), redirect_stderr(screen):
        run(shlex.split(command)[1:])
    return screen.buffer.getvalue().decode()


def _by_a_shell(command: str, folder: Path) -> str:
    script = f"set -o pipefail; exec 2>&1; {command}"
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_reachable_from_the_map() -> None:
    seen: set[Path] = set()
    todo = [ROOT / "README.md", ROOT / "docs" / "README.md"]
    while todo:
        page = todo.pop().resolve()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        todo += [page.parent / t for t in re.findall(r"\]\(([^)#]+)\)", page.read_text()) if "://" not in t]
    assert {p for p in PAGES if "docs" in p.relative_to(ROOT).parts} <= seen


def test_the_reference_is_what_the_code_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for name, text in generate.pages().items():
        assert (ROOT / "docs" / name).read_text() == text, f"docs/{name}: run `make docs`"


def test_every_setting_and_variable_is_documented() -> None:
    """Whatever the code reads of the environment is in the reference, and so is every key of `config.yaml`."""
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    named = set(
        re.findall(r"""["']((?:OMNIGRAPH|AWS)_[A-Z0-9_]+)["']""", "".join(p.read_text() for p in (ROOT / "src").rglob("*.py")))
    )
    assert "OMNIGRAPH_HOME" in named
    assert sorted(name for name in named if f"`{name}`" not in page) == []
    assert [key for key in settings.KEYS if f"`{key}`" not in page] == []


def test_every_error_code_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    source = "".join((ROOT / "src" / "omnigraph" / name).read_text() for name in ("errors.py", "conflict_errors.py"))
    codes = re.findall(r'^    code = "([a-z_]+)"', source, flags=re.MULTILINE)
    leaves = [code for code in codes if re.search(rf"[├└]── \w+ +{code} ", omnigraph.errors.__doc__ or "")]
    assert len(leaves) > 20
    assert [code for code in leaves if f"`{code}`" not in page] == []


def test_the_docstring_of_the_package_runs() -> None:
    result = doctest.testmod(omnigraph)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_readme_example_is_short() -> None:
    examples = [b for b in blocks(ROOT / "README.md") if b.language in ("pg", "gq")]
    assert all(len(b.text.splitlines()) <= 20 for b in examples)


def test_every_dependency_has_its_reason() -> None:
    declared = re.findall(r'^    "([\w-]+)~=', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    page = (ROOT / "docs" / "internals" / "dependencies.md").read_text()
    assert [name for name in declared if not re.search(rf"\b{name}\b", page)] == []
    pinned = (ROOT / "constraints.txt").read_text().lower().replace("_", "-")
    assert [name for name in declared if f"\n{name.lower()}==" not in pinned] == []


def test_nobody_is_pointed_at_a_file_that_the_wheel_lacks() -> None:
    """Hints, messages and help texts name commands and pages by their titles; paths below `docs` are for docstrings of modules."""
    found = []
    for path in sorted(Path(omnigraph.__file__).parent.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstring = tree.body[0].value if tree.body and isinstance(tree.body[0], ast.Expr) else None
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and node is not docstring
                and re.search(r"\bdocs/", node.value)
            ):
                found.append(f"{path.name}:{node.lineno}: {node.value}")
    assert found == []
