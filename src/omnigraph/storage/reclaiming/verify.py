"""Verify: is everything there that the graph says it has? Reads only, and reports what it finds as values.

For the newest state of every branch, for every tag and what open reviews need (with `deep`, for every commit that was not
reclaimed):

    record     branches, tags, deletions of tags, reviews, leases, lists and commits can be read
    manifest   the manifest of the branch can be read, and its commits form one chain without gaps, back to where the branch
               began or to the first commit of the graph; each commit replaced exactly the pins the one before it left
    version    every pinned version opens
    files      every file it needs is there, not empty, and as long as the version or the commit says
    deletions  every deletion file names as many rows as the version says
    rows       it holds as many rows as the commit recorded
    index      its indexes cover as many fragments as the commit recorded

With `content`, also (`verify_content`):

    checksum   every file holds what was written into it
    ids        no id stands in a table twice
    index      an index finds what reading through finds

Each pinned version is looked at once, however many commits share it. Without `content` the cost is one listing per kind of table
and a few small reads per version; no rows are read. Files without a checksum (written before there were any, or on an object
store) are counted, not blamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cached_property

from lance.dataset import Session

from omnigraph.errors import DamagedRecord, GraphError
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line
from omnigraph.storage.commits import deleted_tags, reviews
from omnigraph.storage.commits.leases import leases
from omnigraph.storage.commits.lineage import DamagedCommit
from omnigraph.storage.commits.locate import lost
from omnigraph.storage.commits.manifest import Manifest
from omnigraph.storage.commits.name_rules import REFS, TAGS
from omnigraph.storage.commits.reclaimed_commits import Reclaimed, reclaimed
from omnigraph.storage.commits.version_hint import hinted_version, lost_version
from omnigraph.storage.files.checksums import StoredFile
from omnigraph.storage.files.place import Place
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.reclaiming.reclaim import TABLE_FOLDERS
from omnigraph.storage.reclaiming.retention import History, Lineage, read_history, states_back_to
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.needed_files import folder_of, needs_of
from omnigraph.storage.tables.rows import deleted, fragments
from omnigraph.storage.tables.table import Table, Tables

Pinned = tuple[str, int]
"""The location of a table, and the version."""


class ProblemKind(Enum):
    """What can be wrong."""

    RECORD = "record cannot be read"
    MANIFEST = "manifest cannot be read"
    LINEAGE = "commits do not form one chain"
    VERSION = "pinned version cannot be opened"
    MISSING_FILE = "file is missing"
    WRONG_SIZE = "file is empty or cut short"
    WRONG_DELETIONS = "deletion file cannot be read"
    WRONG_ROWS = "row count differs from the recorded one"
    WRONG_INDEX = "index coverage differs from the recorded one"
    WRONG_CONTENT = "file does not hold what was written"
    UNREADABLE = "rows cannot be read"
    REPEATED_ID = "id stands there twice"
    INDEX_DISAGREES = "index finds other entities than reading through"
    LOST_END = "edge leads nowhere"
    BROKEN_PROMISE = "entity breaks what the schema promises"


@frozen
class Problem:
    """One thing that is wrong, and where."""

    kind: ProblemKind
    branch: str
    """The branch, tag or commit that is affected; the first one found."""
    table: str
    path: str
    message: str

    def __repr__(self) -> str:
        return one_line(f"Problem: {self.kind.value}, {self.path} ({self.branch}): {self.message}")


@frozen
class VerifyReport:
    """What was looked at, and what is wrong with it."""

    branches: int
    tags: int
    commits: int
    versions: int
    files: int
    problems: tuple[Problem, ...]
    unchecked: int = 0
    """Files whose checksums nobody took: written before there were any, or on an object store."""
    content: bool = False
    """Whether contents were looked at."""

    @property
    def ok(self) -> bool:
        return not self.problems

    def __repr__(self) -> str:
        return one_line(f"Verified {self.checked}: {'no problems' if self.ok else counted(len(self.problems), 'problem')}")

    @property
    def checked(self) -> str:
        """What was checked, in numbers."""
        named = ("branch", self.branches), ("tag", self.tags), ("commit", self.commits), ("version", self.versions)
        return f"{', '.join(counted(number, name) for name, number in named)} and {counted(self.files, 'file')}"


@frozen(slots=False)
class Inspected:
    """What verify goes through."""

    lineage: Lineage
    states: Mapping[TableState, str]
    """Every version, and who needs it: the first branch, tag or commit found."""
    newest: frozenset[TableState]
    """Those of the heads of branches, and of tags."""
    commits: int
    recorded: Mapping[str, StoredFile]
    """Files as they were written, by their paths below the place."""
    stored: Mapping[str, int]
    """Files as they are: how long they are."""
    unread: frozenset[Pinned] = frozenset()
    """Tables that rest on files which do not hold what was written: they are not to be read."""

    @cached_property
    def in_folders(self) -> Mapping[str, Mapping[str, int | None]]:
        """The files of each folder of `folder_of` that are there or should be, and how long they were when they were written."""
        found: dict[str, dict[str, int | None]] = {}
        for path in (*self.stored, *self.recorded):
            if (folder := folder_of(path)) is not None and path != folder:
                found.setdefault(folder, {})[path] = self.recorded[path].size if path in self.recorded else None
        return found


Further = Callable[["Inspected"], Iterable[Problem]]
"""What else is to be looked at, by somebody who knows what rows mean."""


def verify(store: GraphStore, *, deep: bool = False, content: bool = False, further: Further | None = None) -> VerifyReport:
    """Check that the graph is whole; with `content`, that it holds what was written."""
    problems: list[Problem] = []
    found = inspected(store, problems, deep=deep)
    files = check_files(store, found, problems)
    if content:
        from omnigraph.storage.reclaiming.verify_content import check_content

        wrong, unread = check_content(store, found, files)
        problems += wrong
        problems += further(replace(found, unread=unread)) if further is not None else ()
    unchecked = sum(path in found.stored and path not in found.recorded and not path.endswith("/") for path in files)
    pins = {(state.location, state.pin) for state in found.states}
    refs, tags = found.lineage.refs, found.lineage.tags
    named = [tag for tag in tags if " " not in tag.name]  # what a review needs has a name that no tag can have
    return VerifyReport(len(refs), len(named), found.commits, len(pins), len(files), tuple(problems), unchecked, content)


def inspected(store: GraphStore, problems: list[Problem], *, deep: bool) -> Inspected:
    """What there is to check, as far as it can be read."""
    lineage = _read(store, problems)
    for history in lineage.histories.values():
        problems += _chain_problems(lineage, history)
    gone = Reclaimed()
    try:
        gone = reclaimed(store.place)
    except GraphError as error:
        problems.append(Problem(ProblemKind.RECORD, "", "", "__reclaimed", error.message))
    try:
        leases(store.place)
    except GraphError as error:
        problems.append(Problem(ProblemKind.RECORD, "", "", "__inflight", error.message))
    seen: dict[TableState, str] = {}
    commits, newest = set[str](), set[TableState]()
    names = {*(ref.branch for ref in lineage.refs), *(tag.name for tag in lineage.tags)}
    for name, commit, states in _snapshots(lineage, gone, problems, deep=deep):
        commits.add(commit)
        newest |= set(states.values()) if name in names else set()
        for state in states.values():
            seen.setdefault(state, name)
    return Inspected(lineage, seen, frozenset(newest), len(commits), _recorded(lineage), _sizes(store.place))


def check_files(store: GraphStore, found: Inspected, problems: list[Problem]) -> set[str]:
    """Look at every version and the files it needs, and give those."""
    tables = Tables(store.place)  # of its own, as above
    files = set[str]()
    for state, name in found.states.items():
        problems += _table_problems(tables, state, name, found, files)
    return files


# ── manifests ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(store: GraphStore, problems: list[Problem]) -> Lineage:
    """The lineage as far as it can be read."""
    refs, unread_refs = store.readable_refs()
    tags, unread_tags = store.readable_tags()
    _, unread_deleted = deleted_tags.deleted_tags(store.place)
    for folder, unread in ((REFS, unread_refs), (TAGS, unread_tags), (deleted_tags.FOLDER, unread_deleted)):
        problems += [Problem(ProblemKind.RECORD, name, "", f"{folder}/{name}", e.message) for name, e in unread.items()]
    found, unread_reviews = reviews.readable_reviews(store.place)
    for number, error in unread_reviews.items():
        problems.append(Problem(ProblemKind.RECORD, f"review {number}", "", reviews.review_path(int(number)), error.message))
    tags += reviews.kept(found)
    histories: dict[str, History] = {}
    failed, sealed = set[str](), set[str]()
    session = Session()  # of its own, so that nothing is taken from a cache
    for name, owner in [*((ref.branch, ref) for ref in refs), *((tag.name, tag.owner) for tag in tags)]:
        for ref in owner.ancestry():
            if ref.incarnation in histories or ref.incarnation in failed:
                continue
            path = f"__manifest/{ref.incarnation}"
            try:
                hinted = hinted_version(store.place, path)  # before it is looked at: somebody may publish meanwhile
                manifest = Manifest(store.place, ref.incarnation, session, ignores_hint=True)
                histories[ref.incarnation] = read_history(manifest, ref)
            except GraphError as error:
                failed.add(ref.incarnation)
                problems.append(Problem(ProblemKind.MANIFEST, name, "", path, error.message))
                continue
            if manifest.last_known().head.sealed:
                sealed.add(ref.incarnation)
            if manifest.last_known().version < hinted == hinted_version(store.place, path):  # else it was read while written
                lost_one = lost_version(store.place, path, hinted, manifest.last_known().version)
                problems.append(Problem(ProblemKind.MANIFEST, name, "", path, lost_one.message))
    named = {ref.incarnation for ref in refs}  # a tag or a review that holds a commit of a branch is not its name
    for incarnation, branch in lost(store.place, session, named | failed) if not unread_refs else ():
        message = f"no ref names it: the ref of branch `{branch}` is lost"
        problems.append(Problem(ProblemKind.RECORD, branch, "", f"__manifest/{incarnation}", message))
    if MAIN not in {*(ref.branch for ref in refs), *unread_refs}:
        message = f"{store.place.uri} holds no graph: branch `{MAIN}` is missing"
        problems.append(Problem(ProblemKind.RECORD, MAIN, "", f"{REFS}/{MAIN}", message))
    live = tuple(ref for ref in refs if ref.incarnation not in sealed)  # who deleted one may have died before it was forgotten
    return Lineage(live, tuple(tags), histories)


def _recorded(lineage: Lineage) -> dict[str, StoredFile]:
    """What commits say of the files they brought, also those that merges carried along."""
    found: dict[str, StoredFile] = {}
    for commit in (c for history in lineage.histories.values() for c in (*history.carried, *history.commits.values())):
        for change in () if isinstance(commit, DamagedCommit) else commit.changes:
            if change.after is not None:
                found |= {f"{change.after.location}/{file.path}": file for file in change.files}
    return found


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
        if isinstance(commit, DamagedCommit):
            yield Problem(ProblemKind.RECORD, branch, "", path, commit.why)
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


def _snapshots(
    lineage: Lineage, gone: Reclaimed, problems: list[Problem], *, deep: bool
) -> Iterator[tuple[str, str, Mapping[str, TableState]]]:
    """What is to be checked: a name for it, the commit, its tables."""
    for ref in lineage.refs:
        history = lineage.histories.get(ref.incarnation)
        if history is not None:
            tip = next((c.id for _, c in lineage.walk(ref.incarnation, history.head)), "")
            yield ref.branch, tip, history.tables
    tagged = {(tag.owner.incarnation, tag.commit): tag.name for tag in lineage.tags}
    for name, history in lineage.histories.items():
        named = {seq: tagged[name, c.id] for seq, c in history.commits.items() if (name, c.id) in tagged}
        tags = {at: tag for seq, tag in named.items() for _, at in lineage.newest((name, seq), gone) or {(name, seq)}}
        chosen = {seq for seq in history.commits if seq in tags or (deep and not gone.holds(name, seq))}
        try:
            for seq, states in states_back_to(history, chosen):
                commit = history.commits[seq]
                about = commit.id if isinstance(commit, DamagedCommit) else f"{commit.branch} at {commit.id}"
                yield tags.get(seq, about), commit.id, states
        except DamagedRecord as error:  # what is older is not known
            problems.append(Problem(ProblemKind.RECORD, "", "", f"__manifest/{name}", error.message))


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _sizes(place: Place) -> dict[str, int]:
    """How long every file of every table is, and the folders of `folder_of` in all."""
    sizes: dict[str, int] = {}
    for entry in (o for folder in TABLE_FOLDERS for o in place.objects(folder)):
        sizes[entry.path] = entry.size
        if (folder := folder_of(entry.path)) is not None:
            sizes[folder] = sizes.get(folder, 0) + entry.size
    return sizes


def _table_problems(tables: Tables, state: TableState, name: str, inspected: Inspected, files: set[str]) -> Iterator[Problem]:
    try:
        table = tables.open(state)
        yield from _file_problems(table, name, inspected, files)
        rows, indexes = table.count(), {i.name: i for i in table.indexes()}
    except GraphError as error:
        yield Problem(ProblemKind.VERSION, name, state.table, f"{state.location}", error.message)
        return
    if rows != state.rows:
        message = f"version {state.pin} holds {counted(rows, 'row')}; the commit recorded {state.rows}"
        yield Problem(ProblemKind.WRONG_ROWS, name, state.table, state.location, message)
    recorded = {i.name: i for i in state.indexes}
    for index in sorted(recorded.keys() | indexes.keys()):
        covered = (indexes[index].covered if index in indexes else 0, recorded[index].covered if index in recorded else 0)
        if covered[0] != covered[1]:
            message = f"index {index} covers {covered[0]} fragments; the commit recorded {covered[1]}"
            yield Problem(ProblemKind.WRONG_INDEX, name, state.table, state.location, message)


def _file_problems(table: Table, name: str, inspected: Inspected, files: set[str]) -> Iterator[Problem]:
    needs, stored, recorded = needs_of(table), inspected.stored, inspected.recorded
    wanted = {path: recorded[path].size if path in recorded else size for path, size in needs.files.items()}
    for folder, size in needs.folders.items():
        there = inspected.in_folders.get(folder, {})
        wanted |= there
        unknown = not any(s is not None for s in there.values())
        if size is not None and folder not in files and unknown and stored.get(folder, 0) < size:
            files.add(folder)
            message = f"the files of the index segment have {stored.get(folder, 0)} bytes instead of {size}"
            yield Problem(ProblemKind.MISSING_FILE, name, table.table, folder, message)
    fresh, lost = wanted.keys() - files, set[str]()
    for path, size in ((path, size) for path, size in wanted.items() if path in fresh):
        files.add(path)
        if path not in stored:
            lost.add(path)
            yield Problem(ProblemKind.MISSING_FILE, name, table.table, path, "the file does not exist")
        elif stored[path] == 0 or (size is not None and stored[path] != size):
            lost.add(path)
            message = f"the file has {stored[path]} bytes" + ("" if size is None else f" instead of {size}")
            yield Problem(ProblemKind.WRONG_SIZE, name, table.table, path, message)
        else:
            try:
                table.sound.require([path], values=True)
            except GraphError as error:
                yield Problem(ProblemKind.WRONG_CONTENT, name, table.table, path, error.message)
    for fragment in fragments(table):
        if fragment.deletions is not None and (path := f"{table.location}/{fragment.deletions}") in fresh - lost:
            try:
                deleted(table, fragment)
            except GraphError as error:
                yield Problem(ProblemKind.WRONG_DELETIONS, name, table.table, path, error.message)
