"""Queries of a file, as functions: `g.queries("lib.gq").friends(n="Ada")`.

    // Who somebody knows, in both directions.                     lib = g.queries("lib.gq")
    query friends($n: String, $most: I32?) { … }                   lib.friends(n="Ada")
                                                                   help(lib.friends)
                                                                     friends(n: str, most: int | None = None) -> Result
                                                                     Who somebody knows, in both directions.

What is read of the file is its text; whether a query fits the schema is found out when it is asked. Shells and notebooks complete
the names of queries and of their parameters, because that is what `dir` and `inspect.signature` say.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from omnigraph.engine.calls.arguments import State
from omnigraph.engine.execution.result import Result
from omnigraph.engine.write.receipt import Receipt
from omnigraph.errors import NotFound, ParameterError, UsageError
from omnigraph.language import Source, parse_queries
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.gq.tree import Query
from omnigraph.language.layout import find_comments
from omnigraph.model.phrases import counted, one_line
from omnigraph.model.types import PropertyType, Scalar
from omnigraph.storage.graph_store import MAIN

Ask = Callable[[Source, Mapping[str, object], str], Result]
Change = Callable[[Source, Mapping[str, object], str], Receipt]

_PYTHON: Final = {
    Scalar.STRING: "str",
    Scalar.BOOL: "bool",
    Scalar.F32: "float",
    Scalar.F64: "float",
    Scalar.DATE: "datetime.date",
    Scalar.DATETIME: "datetime.datetime",
    Scalar.BLOB: "bytes",
}


class QueryFunction:
    """A query of a file. Its parameters are given by name, or in their order."""

    def __init__(self, source: Source, query: Query, ask: Ask | None, change: Change | None) -> None:
        self._source = source
        self._ask = ask
        self._change = change
        self.name = self.__name__ = query.name.text
        self.is_read = query.is_read
        """Whether it only reads: then it gives a `Result`, else a `Receipt`."""
        self.parameters = {parameter.name: str(parameter.type) for parameter in query.parameters}
        """The type of each parameter, as the query declares it."""
        self.__doc__ = _about(source.text, query)
        gives = Result if query.is_read else Receipt
        ordered = [p for required in (True, False) for p in query.parameters if p.type.nullable is not required]
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(
                    p.name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD if p.name.isidentifier() else inspect.Parameter.KEYWORD_ONLY,
                    annotation=python_type(p.type),
                    default=None if p.type.nullable else inspect.Parameter.empty,
                )
                for p in ordered
            ],
            return_annotation=gives,
        )

    def __call__(self, *values: object, **named: object) -> Any:
        try:
            given = self.__signature__.bind_partial(*values, **named).arguments
        except TypeError as error:
            names = list(self.__signature__.parameters)
            unknown = next((name for name in named if name not in names), None)
            hint = did_you_mean(unknown, names) if unknown else ""
            raise ParameterError(f"{self.name}: {error}", hint=hint or f"It is {self!r}.") from None
        run = self._ask if self.is_read else self._change
        if run is None:
            raise UsageError(f"`{self.name}` changes the graph, and the queries were opened at a state of the past")
        return run(self._source, given, self.name)

    def __repr__(self) -> str:
        declared = ", ".join(f"{name}: {type_}" for name, type_ in self.parameters.items())
        return one_line(f"Query {self.name}({declared})")


class Queries:
    """The queries of a file, each an attribute: `lib.friends(n="Ada")`, or `lib["friends"]`."""

    def __init__(self, source: Source, ask: Ask, change: Change | None) -> None:
        self._source, self._how = source, (ask, change)
        self._functions: dict[str, QueryFunction] = {}
        for query in parse_queries(source).queries:
            self._functions.setdefault(query.name.text, QueryFunction(source, query, ask, change))

    def __reduce__(self) -> tuple[object, ...]:
        """In another process, the same queries of the same graph."""
        return Queries, (self._source, *self._how)

    def __getattr__(self, name: str) -> QueryFunction:
        functions = self.__dict__.get("_functions", {})
        if name in functions:
            found: QueryFunction = functions[name]
            return found
        raise AttributeError(f"no query `{name}` in {self._source.name}. {did_you_mean(name, functions) or ''}".strip())

    def __getitem__(self, name: str) -> QueryFunction:
        if not isinstance(name, str) or name not in self._functions:
            known = ", ".join(self._functions) or "none"
            hint = did_you_mean(str(name), self._functions) or f"There are {known}."
            raise NotFound(f"no query `{name}` in {self._source.name}", what="query", name=str(name), hint=hint)
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self._functions if name.isidentifier())})

    def __repr__(self) -> str:
        names = ", ".join(self._functions)
        return one_line(f"{counted(len(self), 'query')} of {self._source.name}{': ' if names else ''}{names}")


class Asked(Protocol):
    """What answers the queries of a file: an open graph, or one behind a server."""

    def query(self, source: Source, params: Mapping[str, object], *, name: str, branch: str | None, at: State | None) -> Result:
        """The answer to a read."""

    def mutate(self, source: Source, params: Mapping[str, object], *, name: str, branch: str, actor: str | None) -> Receipt:
        """What a mutation did."""


def queries_of(graph: Asked, path: str, branch: str | None, at: State | None, actor: str | None) -> Queries:
    """The queries of a file, asked of a graph."""

    ask = partial(_ask, graph, branch, at)
    change = partial(_change, graph, MAIN if branch is None else branch, actor)
    return Queries(query_source(path), ask, change if at is None else None)


def _ask(graph: Asked, branch: str | None, at: State | None, source: Source, params: Mapping[str, object], name: str) -> Result:
    return graph.query(source, params, name=name, branch=branch, at=at)


def _change(graph: Asked, branch: str, actor: str | None, source: Source, params: Mapping[str, object], name: str) -> Receipt:
    return graph.mutate(source, params, name=name, branch=branch, actor=actor)


def query_source(path: str) -> Source:
    """The text of a file of queries."""
    try:
        return Source(Path(path).read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise NotFound(f"no file {path}", what="file", name=str(path), hint="Give the path of a .gq file.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text") from None


def python_type(type_: PropertyType) -> str:
    """The Python type of a parameter, for signatures."""
    one = "list[float]" if type_.is_vector else _PYTHON.get(type_.scalar, "int")
    one = f"list[{one}]" if type_.is_list and not type_.is_vector else one
    return f"{one} | None" if type_.nullable else one


def _about(text: str, query: Query) -> str | None:
    """What a query says of itself: its annotations, else the comments right above it."""
    said = [annotation.text.value for annotation in query.annotations]
    if said:
        return "\n\n".join(said)
    above: list[str] = []
    end = query.span.start
    for comment in reversed(find_comments(text)):
        between = text[comment.span.end : end] if comment.span.end <= end else None
        if between is None:
            continue
        if between.strip() or between.count("\n") > 1:
            break
        above.insert(0, _plain(comment.text))
        end = comment.span.start
    return "\n".join(above) or None


def _plain(comment: str) -> str:
    if comment.startswith("/*"):
        lines = comment.removeprefix("/*").removesuffix("*/").splitlines()
        return "\n".join(line.strip().removeprefix("*").strip() for line in lines).strip()
    return comment.lstrip("/").strip()
