"""What statements and commands of the shell do: each goes through the door, as a command of its own would."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from omnigraph.errors import LanguageError, UsageError
from omnigraph.language import Source, parse_queries
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.phrases import ago, counted, short_id
from omnigraph.model.text_tables import aligned
from omnigraph.service.operations.list_branches import ListBranches
from omnigraph.service.operations.list_commits import ListCommits
from omnigraph.service.operations.list_tags import ListTags
from omnigraph.service.operations.mutate import Mutate
from omnigraph.service.operations.query import Query
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.surfaces.cli.answers import write_answer
from omnigraph.surfaces.cli.output import say
from omnigraph.surfaces.cli.settings import FORMATS
from omnigraph.surfaces.cli.shell.statements import UNNAMED, as_query, as_typed, is_command

if TYPE_CHECKING:
    from omnigraph.language.gq.tree import Query as QueryTree
    from omnigraph.surfaces.cli.scope import Connection

HELP: Final = {
    ".help": "show this list",
    ".branch [NAME]": "show the branch, or go to another one",
    ".branches": "list branches",
    ".tags": "list tags",
    ".commits [N]": "list the newest commits of the branch",
    ".types": "list node and edge types",
    ".schema": "show the schema",
    ".set NAME VALUE": "set a parameter for queries that declare it; the value is JSON, or else a text",
    ".params": "list the parameters that are set",
    ".format [NAME]": "show or choose the format of answers",
    ".quit": "leave",
}
"""Command to what it does."""

_TEXT_FORMATS: Final = tuple(name for name in FORMATS if name not in ("arrow", "parquet"))
_COMMITS: Final = 10


class Quit(Exception):
    """Somebody wants to leave."""


@dataclass
class Session:
    """A shell at a graph."""

    graph: Connection
    branch: str
    read_only: bool
    form: str = "table"
    width: int = 80
    layout: str = "truncate"
    params: dict[str, object] = field(default_factory=dict)

    def run(self, text: str) -> None:
        """Do what a statement or a command says."""
        if not text.strip():
            return
        if is_command(text):
            self._command(text.split())
            return
        source = Source(as_query(text), "<shell>")
        try:
            for query in parse_queries(source).queries:
                self._query(source, query)
        except LanguageError as error:
            raise as_typed(error, text, source) from None

    def _query(self, source: Source, query: QueryTree) -> None:
        name = query.name.text
        given = {p.name: self.params[p.name] for p in query.parameters if p.name in self.params}
        if query.is_read:
            found = self.graph.run(Query(self.graph.ref, source, given, name, self.branch, None))
            write_answer(found, self.form, width=self.width, layout=self.layout)
            return
        if self.read_only:
            what = "this statement" if name == UNNAMED else f"`{name}`"
            raise UsageError(f"{what} changes the graph, and the shell only reads", hint="Start it without --read-only.")
        receipt = self.graph.run(Mutate(self.graph.ref, source, given, name, self.branch, None, None))
        changed = f"{counted(receipt.affected_nodes, 'node')}, {counted(receipt.affected_edges, 'edge')}"
        if receipt.commit is None:
            same = receipt.affected_nodes or receipt.affected_edges
            say(f"nothing changed on {self.branch}: {'it is so already' if same else 'nothing matched'}")
        else:
            say(f"committed {receipt.commit.id} on {self.branch}: {changed}")

    def _command(self, words: list[str]) -> None:
        commands: dict[str, Callable[[list[str]], None]] = {
            ".help": self._help,
            ".branch": self._branch,
            ".branches": lambda rest: self._list(self.branches()),
            ".tags": lambda rest: self._list([tag.name for tag in self.graph.run(ListTags(self.graph.ref))]),
            ".commits": self._commits,
            ".types": lambda rest: self._list(self.types()),
            ".schema": lambda rest: say(self.schema().rstrip()),
            ".set": self._set,
            ".params": lambda rest: self._list([f"{name} = {json.dumps(value)}" for name, value in self.params.items()]),
            ".format": self._format,
            ".quit": self._quit,
            ".exit": self._quit,
        }
        command = commands.get(words[0])
        if command is None:
            hint = did_you_mean(words[0], commands) or "`.help` lists what there is."
            raise UsageError(f"no command `{words[0]}` in the shell", hint=hint)
        command(words[1:])

    # ── what there is ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def branches(self) -> list[str]:
        """Names of branches."""
        return self.graph.run(ListBranches(self.graph.ref))

    def schema(self) -> str:
        """The schema of the branch."""
        return self.graph.run(ShowSchema(self.graph.ref, self.branch)).source

    def types(self) -> list[str]:
        """Names of types."""
        from omnigraph.language import parse_schema

        return [declared.name.text for declared in parse_schema(Source(self.schema())).declarations]

    # ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _list(self, lines: list[str]) -> None:
        for line in lines or ["(none)"]:
            say(line)

    def _help(self, rest: list[str]) -> None:
        for line in aligned(HELP.items()):
            say(line)
        say("A whole query ends with its last brace; anything else with a semicolon or an empty line.")

    def _branch(self, rest: list[str]) -> None:
        if rest:
            known = self.branches()
            if rest[0] not in known:
                raise UsageError(f"no branch `{rest[0]}`", hint=did_you_mean(rest[0], known) or "`.branches` lists them.")
            self.branch = rest[0]
        say(self.branch)

    def _commits(self, rest: list[str]) -> None:
        if rest and not (rest[0].isascii() and rest[0].isdigit() and int(rest[0])):
            raise UsageError(f"`{rest[0]}` is not a number of commits", hint="Write `.commits 5`.")
        for commit in self.graph.run(ListCommits(self.graph.ref, self.branch, int(rest[0]) if rest else _COMMITS)):
            message = f": {commit.message}" if commit.message else ""
            by = f" by {commit.actor}" if commit.actor else ""
            say(f"{short_id(commit.id)}  {commit.operation}{by}, {ago(commit.created_at)}{message}".replace("\n", " "))

    def _set(self, rest: list[str]) -> None:
        if len(rest) < 2:
            raise UsageError("a parameter has a name and a value", hint='Write `.set n "Ada"`.')
        name, text = rest[0].removeprefix("$"), " ".join(rest[1:])
        try:
            self.params[name] = json.loads(text)
        except ValueError:
            self.params[name] = text

    def _format(self, rest: list[str]) -> None:
        if rest and rest[0] not in _TEXT_FORMATS:
            raise UsageError(f"no format `{rest[0]}`", hint=f"There are {', '.join(_TEXT_FORMATS)}.")
        self.form = rest[0] if rest else self.form
        say(self.form)

    def _quit(self, rest: list[str]) -> None:
        raise Quit
