"""The model that random histories are compared with (`simulation`): commits as dictionaries, branches as names of commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.errors import GraphError, KeyConflict, NotFound, PreconditionFailed, ReadSetChanged
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PublishPlan

Content = Mapping[str, int]
Contents = Mapping[str, Content]
"""Per table."""


@dataclass(frozen=True)
class Made:
    """A commit."""

    id: str
    parent: str | None
    life: int
    """The life of the branch it was made in: a name that is deleted and given again has another."""
    contents: Contents
    touched: frozenset[str]
    """Tables whose rows it changed."""
    moved: frozenset[str]
    """Tables it stored in another version; maintenance moves without touching."""
    maintenance: bool = False


@dataclass
class Life:
    number: int
    head: str
    sealed: bool = False


@dataclass(frozen=True)
class Wanted:
    """What a plan is to do to one table."""

    table: str
    kind: str
    values: tuple[tuple[str, int], ...]

    def on(self, content: Content) -> Content:
        given = dict(self.values)
        match self.kind:
            case "insert" | "upsert":
                return {**content, **given}
            case "delete":
                return {k: v for k, v in content.items() if k not in given}
            case _:
                return given


@dataclass(frozen=True)
class Prepared:
    """A plan with its data files written, and what the model has to know of it."""

    plan: PublishPlan
    branch: str
    life: int
    wanted: tuple[Wanted, ...]
    moves: frozenset[str] = frozenset()
    """Tables that maintenance has stored anew."""
    cleanups: int = 0
    """How many cleanups were begun before it was prepared."""


@dataclass
class Model:
    commits: dict[str, Made] = field(default_factory=dict)
    branches: dict[str, Life] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    lives: int = 0
    cleanups: int = 0
    perhaps_gone: set[str] = field(default_factory=set)
    """Commits that cleanups may have taken."""

    def clean(self) -> None:
        """Whatever is neither the newest of a branch nor has a name may go now: how much does is for the suites of reclaim."""
        self.cleanups += 1
        named = {self.logical(c) for c in (*(life.head for life in self.branches.values()), *self.tags.values())}
        self.perhaps_gone |= {c for c in self.commits if self.logical(c) not in named}

    def logical(self, commit: str) -> str:
        """The commit that people see: maintenance lays it out anew."""
        made = self.commits[commit]
        return self.logical(made.parent) if made.maintenance and made.parent is not None else commit

    def lineage(self, commit: str) -> list[str]:
        found = []
        at: str | None = commit
        while at is not None:
            found.append(at)
            at = self.commits[at].parent
        return found

    def reachable(self) -> set[str]:
        ends = [life.head for life in self.branches.values()] + list(self.tags.values())
        return {c for end in ends for c in self.lineage(end)}

    def head(self, branch: str) -> Made:
        return self.commits[self.branches[branch].head]

    def since(self, base: str, life: Life) -> list[Made] | None:
        """Commits made on a branch after `base`; None if `base` is not part of its life."""
        found: list[Made] = []
        at = life.head
        while at != base:
            made = self.commits[at]
            if made.life != life.number or made.parent is None:
                return None
            found.append(made)
            at = made.parent
        return found

    def refusal(self, prepared: Prepared) -> tuple[type[GraphError], ...]:
        """With what a plan must be refused now; nothing if it must be published."""
        life = self.branches.get(prepared.branch)
        if life is None or life.sealed:
            return (NotFound,)
        plan = prepared.plan
        if life.number != prepared.life:  # the name was given to a new branch: a handle that has not noticed says NotFound
            return (NotFound, ReadSetChanged, PreconditionFailed)
        if plan.expected_head is not None and plan.expected_head != self.logical(life.head):
            return (PreconditionFailed,)
        between = self.since(plan.base, life)
        assert between is not None
        replaced = {replacement.table for replacement in plan.replacements}
        if any(made.touched & plan.read_set or made.moved & replaced for made in between):
            return (ReadSetChanged,)
        now = self.commits[life.head].contents
        for wanted in prepared.wanted:
            if wanted.kind == "insert" and dict(wanted.values).keys() & now[wanted.table].keys():
                return (KeyConflict,)
        return ()

    def publish(self, prepared: Prepared, commit: str) -> None:
        life = self.branches[prepared.branch]
        before = self.commits[life.head].contents
        after = dict(before)
        for wanted in prepared.wanted:
            after[wanted.table] = wanted.on(after[wanted.table])
        touched = frozenset(w.table for w in prepared.wanted if _changes(w, before[w.table]))
        maintenance = prepared.plan.op_class is OpClass.MAINTENANCE
        self.commits[commit] = Made(commit, life.head, life.number, after, touched, touched | prepared.moves, maintenance)
        life.head = commit

    def create_branch(self, name: str, at: str) -> None:
        self.lives += 1
        self.branches[name] = Life(self.lives, at)


def _changes(wanted: Wanted, content: Content) -> bool:
    """Whether anything is written: removing what is not there is not, replacing a row by the same row is."""
    given = dict(wanted.values)
    return bool(given.keys() & content.keys()) if wanted.kind == "delete" else bool(given or content)
