"""The shell: where statements end, what they do from a pipe, and at a real terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from tests.surfaces.test_processes import home, terminal

import omnigraph as og
from omnigraph.surfaces.cli.main import cli, run
from omnigraph.surfaces.cli.shell.statements import as_query, is_complete

__all__ = ["home"]

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
READ = "match { $p: Person } return { $p.name, $p.age } order { $p.name };"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    with og.init(tmp_path / "g.omni", SCHEMA, durability="os") as g:
        g.load([{"type": "Person", "data": {"name": name}} for name in ("Ada", "Bob")])
        g.branches.create("work")
    return tmp_path / "g.omni"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", True),
        ("  \n", True),
        (".help", True),
        ("query q() {", False),
        ("query q() { match { $p: Person } return { $p.name } }", True),
        ('query q() { match { $p: Person { name: "}}" } }', False),
        ("query q() { match { $p: Person } // }}\n return { $p } ", False),
        ("query q()", False),
        ("match { $p: Person } return { $p }", False),
        ("match { $p: Person } return { $p }\n", False),
        ("match { $p: Person } return { $p };", True),
        ("match { $p: Person } return { $p }; // done", True),
        ("match { $p: Person } return { $p }\n\n", True),
        ("match {\n\n", False),
        ('insert Person { name: "a;"', False),
    ],
    ids=range(15),
)
def test_where_a_statement_ends(text: str, whole: bool) -> None:
    assert is_complete(text) is whole


def test_what_has_no_name_is_given_one() -> None:
    assert as_query('insert Person { name: "x;" };') == 'query shell() { insert Person { name: "x;" }\n}'
    assert as_query("match { $p: Person } return { $p }\n\n") == "query shell() { match { $p: Person } return { $p }\n}"
    assert as_query("query q() { }") == "query q() { }"


class Piped:
    """The shell with statements from a pipe."""

    def __init__(self, graph: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._graph, self._monkeypatch, self._capsys = graph, monkeypatch, capsys

    def __call__(self, text: str, *options: str) -> tuple[int, str, str]:
        self._monkeypatch.setattr("sys.stdin", io.StringIO(text))
        code = run(["shell", str(self._graph), *options])
        said = self._capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def shell(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Piped:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    return Piped(graph, monkeypatch, capsys)


def test_statements_of_a_pipe_are_run_in_order(shell: Piped, graph: Path) -> None:
    code, out, err = shell("query older($n: String) { update Person set { age: 9 } where name = $n }\n" + READ)
    assert (code, out) == (1, "")
    assert "parameter `n` not provided" in err
    code, out, err = shell(
        '.set n "Bob"\nquery older($n: String) {\n  update Person set { age: 9 }\n  where name = $n\n}\n'
        'insert Person { name: "Cy", age: 1 };\n.branch work\n' + READ + "\n.branch main\n" + READ
    )
    assert (code, err) == (0, "")
    with og.open(graph) as g:
        newest, before = g.commits(limit=2)
    assert f"committed {before.id} on main: 1 node, 0 edges\ncommitted {newest.id} on main: 1 node, 0 edges\nwork\n" in out
    assert out.count("Cy ") == 1
    assert "2 rows from branch work via shell" in out
    assert "3 rows from branch main via shell" in out


def test_the_first_failure_ends_a_pipe(shell: Piped, graph: Path) -> None:
    code, out, err = shell("match { $p: Nope } return { $p };\n" + READ)
    assert code == 1
    assert out == ""
    assert "Nope" in err
    code, out, err = shell('insert Person { name: "Eve" };\n', "--read-only")
    assert code == 1
    assert "only reads" in err
    assert og.open(graph).get("Person", "Eve") is None
    assert shell(".nope\n")[0] == 1
    assert shell(READ, "--branch", "nope")[0] == 1
    code, out, _ = shell(".quit\nmatch { $p: Nope } return { $p };\n")
    assert (code, out) == (0, "")


@pytest.mark.parametrize(
    ("statement", "place", "line", "marked"),
    [
        ("match { $p: Nope } return { $p };", "<shell>:1:13", "match { $p: Nope } return { $p };", "Nope"),
        ("match { $p: Person }\n  retur { $p };", "<shell>:2:3", "  retur { $p };", "retur"),
        (
            "query q() { match { $p: Nope } return { $p } }",
            "<shell>:1:25",
            "query q() { match { $p: Nope } return { $p } }",
            "Nope",
        ),
    ],
    ids=["type", "second line", "whole query"],
)
def test_errors_are_about_what_was_typed(shell: Piped, statement: str, place: str, line: str, marked: str) -> None:
    code, _, err = shell(statement + "\n")
    assert code == 1
    assert place in err
    _, _, after = err.partition(f"| {line}\n")
    carets = after.splitlines()[0].partition("| ")[2]
    assert carets == " " * line.index(marked) + "^" * len(marked)
    assert "shell()" not in err


def test_what_a_statement_came_to_is_said(shell: Piped) -> None:
    code, out, _ = shell('insert Person { name: "Ada" };\nupdate Person set { age: 1 } where name = "Nobody";\n')
    assert (code, out) == (0, "nothing changed on main: it is so already\nnothing changed on main: nothing matched\n")
    code, _, err = shell('insert Person { name: "Eve" };\n', "--read-only")
    assert code == 1
    assert "this statement changes the graph" in err


def test_commands_of_the_shell(shell: Piped) -> None:
    code, out, err = shell(
        ".help\n.branch\n.branches\n.tags\n.types\n.schema\n.commits 1\n.set a 3\n.set b hi there\n.params\n.format csv\n" + READ
    )
    assert (code, err) == (0, "")
    for expected in (
        ".quit",
        "main\nmain\nwork\n(none)\nPerson\nKnows\nnode Person",
        "load, just now",
        'a = 3\nb = "hi there"\ncsv\np.name,p.age\nAda,\nBob,',
    ):
        assert expected in out


def test_answers_as_json(shell: Piped) -> None:
    code, out, _ = shell(READ, "--json")
    assert code == 0
    assert '"row_count": 2' in out


@pytest.mark.slow
def test_at_a_terminal(graph: Path, home: dict[str, str]) -> None:
    quiet = {**home, "PROMPT_TOOLKIT_NO_CPR": "1"}
    with terminal("shell", graph, home=quiet) as person:
        person.until("main>")
        person.type("match { $p: Per\t")
        person.until("son")  # Tab completes the type
        person.type(" } return { $p.name }\r")
        person.until("…")  # without a semicolon the statement is not over
        person.type("\r")
        person.until("2 rows from branch main")
        person.until("Ada")
        person.type('insert Person { name: "Zoe" };\r')
        person.until("committed ")
        person.until("main>")
        person.type(".comm\t")
        person.until("its")
        person.type("\x03")  # Ctrl-C gives the line up
        person.until("main>")
        person.type("match { $p: Nope } return { $p };\r")
        person.until("Nope")
        person.type(".branch work\r")
        person.until("work>")
        person.type("\x1b[A\x1b[A\r")  # two up: what was typed before
        person.until("problem in")
        person.until("work>")
        assert person.end("\x04") == 0
    assert og.open(graph).get("Person", "Zoe") is not None
    kept = Path(home["OMNIGRAPH_HOME"]) / "shell_history"
    assert "insert Person" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


def test_names_are_completed(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    (tmp_path / "q.gq").write_text("query friends() { match { $p: Person } return { $p.name } }\nquery others() { x")
    with og.open(graph) as g:
        g.tags.create("v1", "main")

    def completed(*words: str) -> list[str]:
        found = BashComplete(cli, {}, "omnigraph", "_OMNIGRAPH_COMPLETE").get_completions(list(words[:-1]), words[-1])
        return [item.value for item in found]

    at = ("--store", str(graph))
    assert completed("query", *at, "--branch", "w") == ["work"]
    assert completed("query", *at, "--at", "") == ["main", "v1", "work"]
    assert completed("history", *at, "Per") == ["Person"]
    assert completed("query", "--query", str(tmp_path / "q.gq"), "f") == ["friends"]
    assert completed("branch", "merge", *at, "w") == ["work"]
    assert completed("tag", "delete", *at, "") == ["v1"]
    assert completed("export", str(graph), "--type", "Kn") == ["Knows"]
    assert completed("branch", "merge", "--store", str(tmp_path / "nowhere"), "w") == []
    assert "--branch" in completed("query", "--bra")
