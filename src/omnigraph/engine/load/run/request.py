"""What is requested, checked: which branch, which mode, which dialect, which runner."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from omnigraph.engine.blobs.policy import ExternalBlobs
from omnigraph.engine.blobs.settling import External
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import Input, Source, inputs_of
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.run.progress import Report
from omnigraph.engine.load.run.quarantine_files import require_beside
from omnigraph.engine.load.run.runners import is_installed, report_of
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import NotFound, UsageError
from omnigraph.hints import Hint, Option
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted
from omnigraph.storage.commits.name_rules import check_branch_name
from omnigraph.storage.graph_store import MAIN, GraphStore

if TYPE_CHECKING:
    from omnigraph.engine.write.vectors import Embedding

_MOST_WORKERS = 8

SPARK_BYTES = 4 << 30
"""Files of so many bytes together are loaded by Spark unless somebody says otherwise. On two cores both are as fast; Spark takes
some seconds to start, goes on scaling with more cores, and does not hold the ids of everything in one process."""

Choice = TypeVar("Choice", bound=Enum)


class Dialect(Enum):
    """How records are written."""

    STRICT = "strict"
    COMPATIBLE = "compatible"


class Lossy(Enum):
    """What is done with values that a type cannot hold exactly, if they are not to be violations."""

    ROUND = "round"


class Engine(Enum):
    """Who runs a load."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


@frozen
class Limit:
    """How much may be wrong."""

    rows: int | None = None
    share: float | None = None
    """Of all rows, from 0 to 1."""

    @classmethod
    def of(cls, given: float) -> Limit:
        """A number of rows (an integer), or a share of them (a float)."""
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise UsageError(f"the limit of bad rows cannot be {given!r}", hint=_LIMITS)
        if isinstance(given, int) and given >= 0:
            return cls(rows=given)
        if isinstance(given, float) and 0 <= given <= 1:
            return cls(share=given)
        raise UsageError(f"the limit of bad rows cannot be {given}", hint=_LIMITS)

    def allows(self, bad: int, rows: int) -> bool:
        """Whether so many of so many rows may be wrong."""
        return bad <= self.rows if self.rows is not None else bad <= (self.share or 0.0) * rows

    def __str__(self) -> str:
        return counted(self.rows, "row") if self.rows is not None else f"{100 * (self.share or 0.0):g} % of them"


_LIMITS = Hint("Give a number of rows, ", Option("max_bad", 100), ", or a share of them, ", Option("max_bad", 0.01), ".")


@frozen(slots=False)
class Request:
    """What to load, and how."""

    inputs: list[Input]
    branch: str
    mode: Mode
    from_: str | None = None
    creates_branch: bool = False
    dialect: Dialect = Dialect.STRICT
    actor: str | None = None
    message: str | None = None
    report: Report | None = None
    workers: int = field(default_factory=lambda: min(_MOST_WORKERS, len(os.sched_getaffinity(0))))
    quarantine: str | None = None
    """Where to write down what is wrong; the rest is loaded. None: nothing is loaded when something is wrong."""
    idempotency_key: str | None = None
    """What tells this load from all others, if it may be repeated: the commit carries it, and no second one does."""
    asked: str | None = None
    """A digest of what it was asked to load, if it may be repeated."""
    external: External = field(default_factory=External)
    """What is done with URIs that are given for Blobs."""
    lossy: bool = False
    """Whether values that do not fit exactly are rounded, instead of being violations."""
    max_bad: Limit | None = None
    """How much may be wrong, at most, for the rest to be loaded. None: anything but all."""
    allow_empty: bool = False
    """Whether an overwrite may leave a type without entities that has some."""
    skipped: tuple[str, ...] = ()
    """Files that are skipped on request."""
    embedding: Embedding | None = None
    """How it gets the vectors of its texts, if it is to have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How something is to be loaded, as requested: `Graph.load` says what each means."""

    mode: str = Mode.MERGE.value
    branch: str = MAIN
    from_: str | None = None
    actor: str | None = None
    message: str | None = None
    dialect: str = Dialect.STRICT.value
    progress: bool | Report | None = None
    types: Mapping[str, str] | None = None
    quarantine: str | os.PathLike[str] | None = None
    lossy: str | None = None
    max_bad: float | None = None
    allow_empty: bool = False
    skip_unknown: bool = False
    embedding: Embedding | None = None


def request_of(
    store: GraphStore, find_view: Callable[[str], View], source: Source, options: LoadOptions, external_blobs: ExternalBlobs
) -> tuple[View, Request]:
    """The request, and the view it is checked against: of the branch, or of the one it is to be made from."""
    chosen, spelt = _choice(Mode, "mode", options.mode), _choice(Dialect, "dialect", options.dialect)
    rounds = options.lossy is not None and _choice(Lossy, "lossy", options.lossy) is Lossy.ROUND
    branch, from_, max_bad = options.branch, options.from_, options.max_bad
    existing = store.branches()
    creates = branch not in existing
    if creates:
        if from_ is None:
            hint = Hint("Pass ", Option("from_"), " to create it.")
            raise NotFound(f"branch `{branch}` not found", what="branch", name=branch, hint=hint)
        check_branch_name(branch, existing)
    view = find_view(from_ if creates and from_ is not None else branch)
    found = inputs_of(source, view.catalog, options.types, store.place.options, skip_unknown=options.skip_unknown)
    report = report_of(options.progress)
    external = External.of(external_blobs, store.place.options, copies=chosen is not Mode.OVERWRITE)
    beside = None if options.quarantine is None else os.fspath(options.quarantine)
    if spelt is Dialect.COMPATIBLE and chosen.is_partial:
        raise UsageError(
            f"{chosen.value} is for records of the strict dialect",
            hint="There a value of the wrong type is refused; here it would be read as null, and would replace what is there.",
        )
    if beside is not None and spelt is Dialect.COMPATIBLE:
        raise UsageError("quarantine is for records of the strict dialect", hint="Leave it out, and mend what is wrong.")
    if max_bad is not None and beside is None:
        raise UsageError(
            "there is a limit of bad rows, and no quarantine to put them in", hint=Hint("Name a folder: ", Option("quarantine"))
        )
    if beside is not None:
        require_beside(beside, found)
    made = Request(
        found.inputs,
        branch,
        chosen,
        from_,
        creates,
        spelt,
        options.actor,
        options.message,
        report,
        quarantine=beside,
        external=external,
        lossy=rounds,
        max_bad=None if max_bad is None else Limit.of(max_bad),
        allow_empty=options.allow_empty,
        skipped=found.skipped,
        embedding=options.embedding,
    )
    return view, made


def chosen_engine(engine: str, request: Request) -> Engine:
    """Who runs a load: the engine that is named, or the one that is faster."""
    asked_for = _choice(Engine, "engine", engine)
    distributed = any(i.format is Format.DISTRIBUTED for i in request.inputs)
    if asked_for is Engine.LOCAL and distributed:
        raise UsageError(
            "the rows of a Spark data frame are on a cluster",
            hint=Hint("Use ", Option("engine", "spark"), ", or give an Arrow table."),
        )
    if asked_for is Engine.SPARK and request.dialect is Dialect.COMPATIBLE:
        raise UsageError(
            "records of the compatible dialect are read one after the other", hint=Hint("Use ", Option("engine", "local"), ".")
        )
    if asked_for is not Engine.AUTO:
        return asked_for
    large = sum(i.size or 0 for i in request.inputs if i.is_file) >= SPARK_BYTES
    if distributed or (large and request.dialect is Dialect.STRICT and is_installed(Engine.SPARK.value)):
        return Engine.SPARK
    return Engine.LOCAL


def _choice(kind: type[Choice], name: str, given: str) -> Choice:
    try:
        return kind(given)
    except ValueError:
        raise UsageError(f"{name} cannot be `{given}`", hint=f"It is one of {', '.join(k.value for k in kind)}.") from None
