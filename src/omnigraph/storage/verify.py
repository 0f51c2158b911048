"""Verify: is everything there that the graph says it has? Reads only, and reports what it finds as values.

For the newest state of every branch and for every tag (with `deep`, for every commit that was not reclaimed):

    manifest   the manifest of the branch can be read, and its commits form one chain without gaps, back to where the branch
               began or to the first commit of the graph; each commit replaced exactly the pins the one before it left
    version    every pinned version opens
    files      every file it needs is there, not empty, and as long as the version says (data files, index segments)
    rows       it holds as many rows as the commit recorded
    index      its indexes cover as many fragments as the commit recorded

Each pinned version is looked at once, however many commits share it. The cost is one listing per kind of table and one small
read per version; no rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from lance.dataset import Session

from omnigraph.errors import GraphError
from omnigraph.storage.changes import TableState
from omnigraph.storage.files import folder_of, needs_of
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest import Manifest
from omnigraph.storage.place import Place
from omnigraph.storage.reclaim import TABLE_FOLDERS
from omnigraph.storage.reclaimed import Reclaimed, reclaimed
from omnigraph.storage.retention import History, Lineage, read_history, states_back_to
from omnigraph.storage.tables import Table, Tables


class ProblemKind(Enum):
    """What can be wrong."""

    MANIFEST = "manifest cannot be read"
    LINEAGE = "commits do not form one chain"
    VERSION = "pinned version cannot be opened"
    MISSING_FILE = "file is missing"
    WRONG_SIZE = "file is empty or cut short"
    WRONG_ROWS = "row count differs from the recorded one"
    WRONG_INDEX = "index coverage differs from the recorded one"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where."""

    kind: ProblemKind
    branch: str
    """The branch, tag or commit that is affected; the first one found."""
    table: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was looked at, and what is wrong with it."""

    branches: int
    tags: int
    commits: int
    versions: int
    files: int
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(store: GraphStore, *, deep: bool = False) -> VerifyReport:
    """Check that the graph is whole."""
    problems: list[Problem] = []
    lineage = _read(store, problems)
    for history in lineage.histories.values():
        problems += _chain_problems(lineage, history)
    stored = _sizes(store.place)
    tables = Tables(store.place)  # of its own, as above
    seen: dict[TableState, str] = {}
    commits = set[str]()
    for name, commit, states in _snapshots(lineage, reclaimed(store.place), deep=deep):
        commits.add(commit)
        for state in states.values():
            seen.setdefault(state, name)
    files = set[str]()
    for state, name in seen.items():
        problems += _table_problems(tables, state, name, stored, files)
    pins = {(state.location, state.pin) for state in seen}
    return VerifyReport(len(lineage.refs), len(lineage.tags), len(commits), len(pins), len(files), tuple(problems))


# ── manifests ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(store: GraphStore, problems: list[Problem]) -> Lineage:
    """The lineage as far as it can be read."""
    refs, tags = store.refs(), store.tags()
    histories: dict[str, History] = {}
    failed = set[str]()
    session = Session()  # of its own, so that nothing is taken from a cache
    for name, owner in [*((ref.branch, ref) for ref in refs), *((tag.name, tag.owner) for tag in tags)]:
        for ref in owner.ancestry():
            if ref.incarnation in histories or ref.incarnation in failed:
                continue
            try:
                histories[ref.incarnation] = read_history(Manifest(store.place, ref.incarnation, session), ref)
            except GraphError as error:
                failed.add(ref.incarnation)
                path = f"__manifest/{ref.incarnation}"
                problems.append(Problem(ProblemKind.MANIFEST, name, "", path, error.message))
    return Lineage(tuple(refs), tuple(tags), histories)


def _chain_problems(lineage: Lineage, history: History) -> Iterator[Problem]:
    """Gaps in the commits of a manifest, and pins that do not follow from one another."""
    path = f"__manifest/{history.incarnation}"
    names = {ref.incarnation: ref.branch for owner in lineage.refs for ref in owner.ancestry()}
    branch = names.get(history.incarnation, "")
    tables = dict(history.tables)
    for seq in range(history.head, history.fork(), -1):
        commit = history.commits.get(seq)
        if commit is None:
            yield Problem(ProblemKind.LINEAGE, branch, "", path, f"commit number {seq} is missing")
            return
        before = next((c for _, c in lineage.walk(history.incarnation, seq - 1)), None)
        expected = None if before is None else before.id
        if commit.parent != expected:
            message = f"commit {commit.id} follows {commit.parent}, but before it there is {expected}"
            yield Problem(ProblemKind.LINEAGE, branch, "", path, message)
        for change in commit.changes:
            if tables.get(change.table) != change.after:
                message = (
                    f"commit {commit.id} left the table at {_pin(change.after)}, but it is at {_pin(tables.get(change.table))}"
                )
                yield Problem(ProblemKind.LINEAGE, branch, change.table, path, message)
            if change.before is None:
                tables.pop(change.table, None)
            else:
                tables[change.table] = change.before
    if history.origin is None and history.fork() != -1:
        yield Problem(
            ProblemKind.LINEAGE, branch, "", path, f"history ends at number {history.fork() + 1}, not at the first commit"
        )


def _pin(state: TableState | None) -> str:
    return "no version" if state is None else f"version {state.pin}"


def _snapshots(lineage: Lineage, gone: Reclaimed, *, deep: bool) -> Iterator[tuple[str, str, Mapping[str, TableState]]]:
    """What is to be checked: a name for it, the commit, its tables."""
    for ref in lineage.refs:
        history = lineage.histories.get(ref.incarnation)
        if history is not None:
            tip = next((c.id for _, c in lineage.walk(ref.incarnation, history.head)), "")
            yield ref.branch, tip, history.tables
    tagged = {(tag.owner.incarnation, tag.commit): tag.name for tag in lineage.tags}
    for name, history in lineage.histories.items():
        tags = {seq: tagged[name, c.id] for seq, c in history.commits.items() if (name, c.id) in tagged}
        chosen = {seq for seq in history.commits if seq in tags or (deep and not gone.holds(name, seq))}
        for seq, states in states_back_to(history, chosen):
            commit = history.commits[seq]
            yield tags.get(seq, f"{commit.branch} at {commit.id}"), commit.id, states


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _sizes(place: Place) -> dict[str, int]:
    """How long every file of every table is, and the folders of `folder_of` in all."""
    sizes: dict[str, int] = {}
    for entry in (o for folder in TABLE_FOLDERS for o in place.objects(folder)):
        sizes[entry.path] = entry.size
        if (folder := folder_of(entry.path)) is not None:
            sizes[folder] = sizes.get(folder, 0) + entry.size
    return sizes


def _table_problems(
    tables: Tables, state: TableState, name: str, stored: Mapping[str, int], files: set[str]
) -> Iterator[Problem]:
    try:
        table = tables.open(state)
        yield from _file_problems(table, name, stored, files)
        rows, indexes = table.count(), {i.name: i for i in table.indexes()}
    except GraphError as error:
        yield Problem(ProblemKind.VERSION, name, state.table, f"{state.location}", error.message)
        return
    if rows != state.rows:
        message = f"version {state.pin} holds {rows} rows; the commit recorded {state.rows}"
        yield Problem(ProblemKind.WRONG_ROWS, name, state.table, state.location, message)
    recorded = {i.name: i for i in state.indexes}
    for index in sorted(recorded.keys() | indexes.keys()):
        covered = (indexes[index].covered if index in indexes else 0, recorded[index].covered if index in recorded else 0)
        if covered[0] != covered[1]:
            message = f"index {index} covers {covered[0]} fragments; the commit recorded {covered[1]}"
            yield Problem(ProblemKind.WRONG_INDEX, name, state.table, state.location, message)


def _file_problems(table: Table, name: str, stored: Mapping[str, int], files: set[str]) -> Iterator[Problem]:
    needs = needs_of(table)
    for path, size in needs.files.items():
        if path in files:
            continue
        files.add(path)
        if path not in stored:
            yield Problem(ProblemKind.MISSING_FILE, name, table.table, path, "the file does not exist")
        elif stored[path] == 0 or (size is not None and stored[path] != size):
            message = f"the file has {stored[path]} bytes" + ("" if size is None else f" instead of {size}")
            yield Problem(ProblemKind.WRONG_SIZE, name, table.table, path, message)
    for folder, size in needs.folders.items():
        if folder in files or size is None:
            continue
        files.add(folder)
        if stored.get(folder, 0) < size:
            message = f"the files of the index segment have {stored.get(folder, 0)} bytes instead of {size}"
            yield Problem(ProblemKind.MISSING_FILE, name, table.table, folder, message)
