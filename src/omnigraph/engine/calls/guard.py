"""What guards every public call: its arguments are checked before anything is done, and what comes out is one of our errors.

    @guarded()
    def commits(self, branch: str = MAIN, limit: int | None = None) -> list[Commit]: ...

A parameter of one name means one thing everywhere, so its check is found by its name in `CHECKS`; where it means something else,
`guarded` is given it. A parameter without a check is a mistake that is noticed when the module is imported. `None` is taken where
the types say so.

Errors that Python, a library or a given value raised inside become a `GraphError` with the cause; `TypeError` stays, as does what
a function raised that was handed in (a progress, a task), and `KeyboardInterrupt`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar

from omnigraph.engine.calls import arguments as a
from omnigraph.errors import GraphError, NotFound, ResourceLimit, UnexpectedError, UsageError
from omnigraph.hints import Action, Hint
from omnigraph.storage.files.lance_errors import in_our_words

P = ParamSpec("P")
R = TypeVar("R")


_engine_names: Final = a.one_of("auto", "local", "spark")


def _engine(name: str, value: object) -> object:
    return _engine_names(name, value) if isinstance(value, str) or not callable(value) else value


graph: Final = a.instance("omnigraph.engine.graph.Graph", "an open graph")

CHECKS: Final[dict[str, a.Check]] = {
    "actor": a.actor,
    "after": a.state,
    "again": a.flag,
    "allow_data_loss": a.flag,
    "allow_empty": a.flag,
    "also": a.branches,
    "app_name": a.text,
    "analyze": a.flag,
    "at": a.state,
    "backfill": a.mapping,
    "before": a.state,
    "branch": a.branch,
    "cancel": a.having("an event with `is_set`", "is_set"),
    "checkpoint_id": a.text,
    "columns": a.names,
    "content": a.flag,
    "commit": a.state,
    "compute": a.texts,
    "config": a.mapping,
    "damping": a.real(),
    "deep": a.flag,
    "dialect": a.one_of("strict", "compatible"),
    "direction": a.one_of("out", "in", "both"),
    "dry_run": a.flag,
    "durability": a.one_of("full", "os"),
    "edges": a.names,
    "embed": a.flag,
    "embedder": a.having("a provider with `model` and `embed`", "model", "embed"),
    "engine": _engine,
    "entity": a.text,
    "expect_mutation": a.flag,
    "external_blobs": a.instance("omnigraph.engine.blobs.policy.ExternalBlobs", "an ExternalBlobs policy"),
    "from_": a.state,
    "graph": graph,
    "format": a.one_of("jsonl", "parquet", "csv"),
    "id": a.text,
    "idempotency_key": a.idempotency_key,
    "if_commit": a.state,
    "into": a.branch,
    "k": a.whole(),
    "keep": a.whole(),
    "key": a.key,
    "kinds": a.names,
    "limit": a.whole(),
    "lossy": a.one_of("round"),
    "maintenance": a.flag,
    "master": a.text,
    "max_bad": a.either("a number of records, or a share of them", a.whole(), a.real()),
    "max_bytes": a.whole(),
    "max_commits": a.whole(),
    "max_hops": a.whole(),
    "memory": a.whole(),
    "memory_limit": a.whole(),
    "message": a.message,
    "mode": a.one_of("merge", "append", "overwrite", "update", "patch"),
    "name": a.text,
    "nodes": a.names,
    "older_than": a.span,
    "onto": a.branch,
    "ops": a.names,
    "pace": a.instance("omnigraph.embedding.pace.Pace", "a Pace"),
    "page_token": a.text,
    "patch": a.flag,
    "params": a.mapping,
    "path": a.path,
    "progress": a.function,
    "property": a.text,
    "pushdown": a.flag,
    "quarantine": a.path,
    "quick": a.flag,
    "read_only": a.flag,
    "resolve": a.either("a side or a mapping from conflict keys", a.text, a.mapping),
    "rounds": a.whole(),
    "save_from": a.whole(),
    "schema": a.schema,
    "since": a.text,
    "skip_unknown": a.flag,
    "source": a.query,
    "spark": a.having("a Spark session", "sql", "createDataFrame", "conf"),
    "storage_options": a.texts,
    "strict": a.flag,
    "timeout": a.real(finite=False),
    "tolerance": a.real(),
    "traversal": a.one_of("auto", "csr", "btree"),
    "type": a.text,
    "type_": a.text,
    "types": a.names,
    "values": a.mapping,
    "write_to": a.text,
}
"""The check of every parameter, by its name."""

CALLED: Final = frozenset({"amount", "cancel", "checks", "embedder", "engine", "progress", "target", "types", "watch", "work"})
"""Parameters that may be functions, or objects with methods, of the caller's own."""

GUARDED: Final = "__guarded__"
"""Attribute of a guarded function: its checks by parameter."""


def guarded(**special: a.Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Guard a public call. `special` are the checks of parameters that mean something else here, and those of `**options`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        assert isinstance(function, FunctionType)
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        own = 1 if names[:1] in (("self",), ("cls",)) else 0
        spread = bool(code.co_flags & 0x08)
        positional, defaults = code.co_varnames[: code.co_argcount], function.__defaults__ or ()
        given = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True)) | (function.__kwdefaults__ or {})
        checks: dict[str, a.Check] = {}
        for name in names[own:]:
            check = special.get(name) or CHECKS.get(name)
            if check is None:
                raise TypeError(f"{function.__qualname__}: nobody checks `{name}`")
            nullable = "None" in str(function.__annotations__.get(name)) or (name in given and given[name] is None)
            checks[name] = _optional(check) if nullable else check
        if spread:
            checks |= {name: _optional(check) for name, check in special.items() if name not in checks}
        order = [(name, checks[name]) for name in positional[own:]]
        most = len(positional)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            name = ""
            try:
                if own < len(args) <= most:
                    checked = list(args[:own])
                    for (name, check), value in zip(order, args[own:], strict=False):
                        checked.append(check(name, value))
                    args = tuple(checked)  # type: ignore[assignment]
                for name in kwargs:
                    if name in checks:
                        kwargs[name] = checks[name](name, kwargs[name])
            except GraphError:
                raise
            except Exception as error:  # of a value that fails already when it is asked what it is
                raise a.unlookable(name, error) from error
            if spread and not kwargs.keys() <= checks.keys():
                unknown = next(n for n in kwargs if n not in checks)
                raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {unknown!r}")
            try:
                return function(*args, **kwargs)  # type: ignore[no-any-return]
            except GraphError:
                raise
            except BaseException as error:
                named = [(n, value) for (n, _), value in zip(order, args[own:], strict=False)]
                handed = any(
                    n in CALLED and not issubclass(type(value), str | bool | None) for n, value in [*named, *kwargs.items()]
                )
                reported = in_our_terms(error, function.__name__, handed)
                if reported is None:
                    raise
                raise reported from error

        setattr(call, GUARDED, checks)
        return call

    return decorate


def _optional(check: a.Check) -> a.Check:
    def optional(name: str, value: Any) -> Any:
        return None if value is None else check(name, value)

    return optional


@contextmanager
def inside(doing: str) -> Iterator[None]:
    """The same for what a public call gives back and that is still at work: batches, one after the other."""
    try:
        yield
    except GraphError:
        raise
    except BaseException as error:
        reported = in_our_terms(error, doing)
        if reported is None:
            raise
        raise reported from error


def still_inside(doing: str, items: Iterator[R]) -> Iterator[R]:
    """What a public call gives back one after the other, with errors in our words."""
    with inside(doing):
        yield from items


_LIBRARIES: Final = frozenset(
    {"builtins", "lance", "msgspec", "numpy", "obstore", "omnigraph", "pandas", "polars", "pyarrow", "pyo3_runtime"}
)


def _is_known(module: str) -> bool:
    root = module.partition(".")[0]
    return root in _LIBRARIES or root in sys.stdlib_module_names


def _raised_in(error: BaseException) -> str:
    """The module whose code raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "builtins" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))


def in_our_terms(error: BaseException, doing: str, handed: bool = True) -> GraphError | None:
    """An error of Python, a library or a value as one of ours; None if it is to stay what it is.

    `handed`: a function was handed in, and what it raises is its own.
    """
    if isinstance(error, TypeError) or not (isinstance(error, Exception) or type(error).__name__ == "PanicException"):
        return None
    if handed and isinstance(error, BrokenPipeError):  # whoever read what is written to a given sink has had enough
        return None
    if handed and not (_is_known(type(error).__module__) and _is_known(_raised_in(error))):
        return None
    if isinstance(error, MemoryError):
        return ResourceLimit(f"{doing}: there is not enough memory", hint="Ask for less at a time, or use a larger machine.")
    if isinstance(error, RecursionError):
        return ResourceLimit(f"{doing}: it is nested too deeply", hint="Flatten what is given.")
    if isinstance(error, FileNotFoundError) and error.filename is not None:  # a path that was given, most likely
        hint = Hint("Check the path. If it is one of the graph's own, ", Action("verify"), " lists what is missing.")
        return NotFound(f"cannot {doing}: {error.filename} is not there", hint=hint)
    if isinstance(error, OSError):
        return in_our_words(doing, error)
    if isinstance(error, RuntimeError) and "cannot schedule new futures" in str(error):
        return UsageError(
            f"{doing}: the program is ending, and Python starts no more threads", hint="Wait for your threads before it ends."
        )
    return UnexpectedError(f"{doing}: {a.shown(error)}")
