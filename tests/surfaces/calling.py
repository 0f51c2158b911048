"""Calling the command line inside the test process, and a small graph to call it on."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

import omnigraph as og
from omnigraph.surfaces.cli.main import cli

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "company-memory"
SCHEMA = str(EXAMPLE / "schema.pg")

PEOPLE = """
node Person { name: String @key  age: I32?  bio: String? @index  photo: Blob?  place: Vector(2)?  email: String? @unique }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company @card(0..1)
"""
PHOTO = b"\x89PNG\x00" + bytes(range(64))

RECORDS: list[dict[str, Any]] = [
    {
        "type": "Person",
        "data": {
            "name": "Ada",
            "age": 36,
            "bio": "Wrote the first program",
            "photo": "base64:" + base64.b64encode(PHOTO).decode(),
        },
    },
    {"type": "Person", "data": {"name": "Bob", "age": 41, "place": [0.5, 1.5]}},
    {"type": "Person", "data": {"name": "Cy"}},
    {"type": "Company", "data": {"name": "Acme"}},
    {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"id": "k1", "since": "2024-05-01"}},
    {"edge": "Knows", "from": "Bob", "to": "Cy", "data": {"id": "k2"}},
    {"edge": "WorksAt", "from": "Ada", "to": "Acme", "data": {"id": "w1"}},
]
NAMES = "query names() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }"
ADD = "query add($n: String, $a: I32?) { insert Person { name: $n, age: $a } }"


class Ran:
    """What came of a call."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        """Parsed JSON: its layout is what the tests are about. That of a failure stands on stderr, below what was said before."""
        if self.code not in (0, 4) and not self.out:
            return json.loads(self.err[self.err.index("{\n") :])
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Call = Callable[..., Ran]


def make_people(folder: Path) -> og.Graph:
    """The small graph: four commits on main, and a branch `work` that changed Bob's age and knows Dan."""
    g = og.init(folder, PEOPLE)
    g.load(RECORDS, actor="loader")
    g.branches.create("work")
    g.mutate('query q() { update Person set { age: 42 } where name = "Bob" }', branch="work", actor="agent-7")
    g.mutate('query q() { insert Person { name: "Dan", age: 7 } insert Knows { from: "Cy", to: "Dan" } }', branch="work")
    g.mutate('query q() { update Person set { bio: "Keeps the books" } where name = "Bob" }', message="a note")
    g.close()
    return g


def leaves(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its words."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, (*path, name))
