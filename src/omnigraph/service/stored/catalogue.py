"""The stored queries of one graph, by name.

They are written in `.gq` files and registered in one of three ways:

    a folder     every declaration of its `*.gq` (not of folders inside it), in the order of the files' names
    files        every declaration of each
    by name      {"find": people.gq, …}: one declaration of each file, which must be there under that name

A name is there once, and so is the name of a tool. Everything that is wrong is found at once: `read_…` gives the queries that
can be stored together with the problems, for those who report them in words of their own; `StoredQueries.of_…` raises.

    StoredQueries.of_paths("queries/")["find"].signature    →  Read find($name: String)

The texts may come from anywhere: what is made from files is made from `Source`s, a text and its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

from omnigraph.catalog.signature import QueryParameter, QuerySignature
from omnigraph.errors import BrokenQueries
from omnigraph.language import Source, read_queries
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.gq.tree import Query
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line

ProblemCode = Literal[
    "query_dir_unreadable",
    "query_dir_empty",
    "query_file_missing",
    "query_parse_error",
    "query_key_mismatch",
    "duplicate_query_name",
    "duplicate_tool_name",
]


@frozen
class Problem:
    """Why something cannot be stored: a code, in the words of diagnostics of clusters, and what it is about."""

    code: ProblemCode
    about: str
    """A file or folder, or a query."""
    message: str


@frozen
class StoredQuery:
    """A query that is stored: where it stands, what it declares, and what others are told of it."""

    source: Source
    """The file that it stands in, with its name."""
    declaration: Query
    signature: QuerySignature

    @classmethod
    def of(cls, source: Source, declaration: Query, tool_name: str = "") -> StoredQuery:
        """One declaration of a text."""
        return cls(source, declaration, QuerySignature.of(declaration, tool_name))

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def tool_name(self) -> str:
        return self.signature.tool_name

    @property
    def kind(self) -> Literal["read", "mutation"]:
        return self.signature.kind

    @property
    def mutation(self) -> bool:
        return self.signature.mutation

    @property
    def description(self) -> str | None:
        return self.signature.description

    @property
    def instruction(self) -> str | None:
        return self.signature.instruction

    @property
    def params(self) -> tuple[QueryParameter, ...]:
        return self.signature.params

    def __repr__(self) -> str:
        return one_line(f"Stored {self.kind} {self.signature}")


@frozen(slots=False)
class StoredQueries:
    """The stored queries of a graph, by name."""

    queries: tuple[StoredQuery, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", tuple(sorted(self.queries, key=lambda query: query.name)))

    @classmethod
    def of_paths(cls, *paths: str | Path) -> StoredQueries:
        """Those of folders and files."""
        return _without_problems(read_paths(paths))

    @classmethod
    def of_texts(cls, sources: Iterable[Source]) -> StoredQueries:
        """Every declaration of some texts."""
        return _without_problems(read_texts(sources))

    @classmethod
    def of_names(cls, named: Mapping[str, Source]) -> StoredQueries:
        """One declaration of each text, by its name."""
        return _without_problems(read_named(named))

    @cached_property
    def _by_name(self) -> dict[str, StoredQuery]:
        return {query.name: query for query in self.queries}

    def get(self, name: str) -> StoredQuery | None:
        """The query of a name."""
        return self._by_name.get(name)

    def __getitem__(self, name: str) -> StoredQuery:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[StoredQuery]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        names = ", ".join(query.name for query in self.queries)
        return one_line(f"{counted(len(self), 'stored query')}{': ' if names else ''}{names}")


NO_QUERIES = StoredQueries()

Read = tuple[StoredQueries, tuple[Problem, ...]]
"""What could be read, and what is wrong with the rest."""


def read_paths(paths: Iterable[str | Path]) -> Read:
    """Every declaration of some files, and of the files of some folders."""
    files: list[Path] = []
    problems: list[Problem] = []
    for path in map(Path, paths):
        files += _folder(path, problems) if path.is_dir() else [path]
    sources, unread = _sources({str(path): path for path in files})
    found, more = read_texts(sources.values())
    return found, (*problems, *unread, *more)


def files_in(folder: Path) -> list[Path]:
    """The files of a folder that queries stand in."""
    return sorted(path for path in folder.iterdir() if path.suffix == ".gq" and path.is_file())


def _folder(path: Path, problems: list[Problem]) -> list[Path]:
    try:
        files = files_in(path)
    except OSError as error:
        problems.append(Problem("query_dir_unreadable", str(path), f"it cannot be read: {error.strerror}"))
        return []
    if not files:
        problems.append(Problem("query_dir_empty", str(path), "it has no .gq files"))
    return files


def read_named_files(named: Mapping[str, str | Path]) -> Read:
    """One declaration of each file, by its name."""
    sources, problems = _sources(named)
    found, more = read_named(sources)
    return found, (*problems, *more)


def read_texts(sources: Iterable[Source]) -> Read:
    """Every declaration of some texts."""
    found: list[StoredQuery] = []
    problems: list[Problem] = []
    for source in sources:
        tree = _parsed(source, problems)
        found += [StoredQuery.of(source, query) for query in tree]
    return _once(found, problems)


def read_named(named: Mapping[str, Source], tool_names: Mapping[str, str] | None = None) -> Read:
    """One declaration of each text, by its name; some with another name as a tool."""
    found: list[StoredQuery] = []
    problems: list[Problem] = []
    parsed: dict[int, tuple[Query, ...]] = {}
    for name, source in sorted(named.items()):
        if id(source) not in parsed:
            parsed[id(source)] = _parsed(source, problems)
        tree = parsed[id(source)]
        matching = [query for query in tree if query.name.text == name]
        if not matching and tree:
            names = [query.name.text for query in tree]
            near = did_you_mean(name, names) or f"There are {', '.join(names)}."
            problems.append(Problem("query_key_mismatch", name, f"{source.name} declares no query `{name}`. {near}"))
        found += [StoredQuery.of(source, query, (tool_names or {}).get(name, "")) for query in matching]
    return _once(found, problems)


def _sources(named: Mapping[str, str | Path]) -> tuple[dict[str, Source], list[Problem]]:
    found: dict[str, Source] = {}
    problems: list[Problem] = []
    read: dict[str, Source] = {}
    for name, path in named.items():
        try:
            if str(path) not in read:
                read[str(path)] = Source(Path(path).read_bytes().decode(), str(path))
            found[name] = read[str(path)]
        except UnicodeDecodeError as error:
            problems.append(Problem("query_parse_error", str(path), f"it is not UTF-8 (byte {error.start})"))
        except OSError as error:
            problems.append(Problem("query_file_missing", str(path), f"it cannot be read: {error.strerror}"))
    return found, problems


def _parsed(source: Source, problems: list[Problem]) -> tuple[Query, ...]:
    tree, wrong = read_queries(source)
    if wrong:
        said = "; ".join(f"line {d.to_dict()['line']}: {d.summary}" for d in wrong.found)
        problems.append(Problem("query_parse_error", source.name, said))
    return tree.queries


def _once(found: list[StoredQuery], problems: list[Problem]) -> Read:
    """Each name once, of queries and of tools: of what is there several times, the first."""
    names: dict[str, StoredQuery] = {}
    tools: dict[str, StoredQuery] = {}
    for query in found:
        if query.name in names:
            first = names[query.name].source.name
            where = f"in {first}" if first == query.source.name else f"in {first} and in {query.source.name}"
            problems.append(Problem("duplicate_query_name", query.name, f"it is declared twice, {where}"))
        elif query.tool_name in tools:
            other = tools[query.tool_name].name
            problems.append(Problem("duplicate_tool_name", query.name, f"`{other}` is the tool `{query.tool_name}` already"))
        else:
            names[query.name] = tools[query.tool_name] = query
    return StoredQueries(tuple(names.values())), tuple(problems)


def _without_problems(read: Read) -> StoredQueries:
    found, problems = read
    if problems:
        broken: dict[str, str] = {}
        for problem in problems:
            broken[problem.about] = "; ".join(filter(None, [broken.get(problem.about), problem.message]))
        raise BrokenQueries.of("stored queries cannot be read", broken)
    return found
