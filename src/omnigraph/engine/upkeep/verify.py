"""Whether what is stored keeps what the schema promises: for the newest state of every branch, and for every tag.

The rules are those of every write, checked for all entities: values (required, enum, range, pattern), unique groups,
cardinalities, ends of edges, and ids that follow from keys. Each is broken by damage, or by a mistake of ours; both should be
known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.shape import Index, Unique
from omnigraph.engine.load.read.rows.identity import ids_from_keys
from omnigraph.engine.schema.promises import Promises, broken
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.rules import endpoints
from omnigraph.errors import GraphError

if TYPE_CHECKING:
    from omnigraph.storage.reclaiming.verify import Inspected, Problem

TOLD: Final = 20
"""Most entities that are named per type."""

_ROWS: Final = 1 << 16


def broken_promises(view_of: Callable[[str | None, str | None], View], found: Inspected) -> Iterator[Problem]:
    """Every promise that is broken, branch by branch; what cannot be read is a problem, too.

    Types that rest on files which do not hold what was written, or whose ends do, are left out: that is reported already.
    """
    from omnigraph.storage.reclaiming.verify import Problem, ProblemKind

    seen = set[tuple[object, ...]]()
    names = [(ref.branch, ref.branch, None) for ref in found.lineage.refs] + [
        (t.name, None, t.commit) for t in found.lineage.tags
    ]
    for name, branch, at in names:
        try:
            view = view_of(branch, at)
        except GraphError as error:
            yield Problem(ProblemKind.UNREADABLE, name, "", "", error.message)
            continue
        types: list[EntityType] = [*view.catalog.nodes.values(), *view.catalog.edges.values()]
        for type_ in types:
            about = _about(view, type_)
            if about in seen or not found.unread.isdisjoint(about):
                continue
            seen.add(about)
            try:
                for kind, message in _of_type(view, type_):
                    yield Problem(ProblemKind[kind], name, type_.name, view.stored(type_).location, message)
            except GraphError as error:
                yield Problem(ProblemKind.UNREADABLE, name, type_.name, view.stored(type_).location, error.message)


def _about(view: View, type_: EntityType) -> tuple[object, ...]:
    """What decides the answer about a type: branches that share it are checked once."""
    ends = (type_.source, type_.target) if type_.is_edge else ()
    types = (type_, *(view.catalog.nodes[end] for end in ends))
    return (view.snapshot.schema, *((view.stored(t).location, view.stored(t).pin) for t in types))


def _of_type(view: View, type_: EntityType) -> Iterator[tuple[str, str]]:
    constraints = tuple(c for c in type_.constraints if not isinstance(c, Index))
    kept = {name: p for name, p in type_.properties.items() if not p.type.is_blob}
    of_sets = {column for c in constraints if isinstance(c, Unique) for column in c.columns}
    of_sets |= {"src"} if type_.is_edge else set()
    reduced = replace(type_, properties=kept, constraints=constraints)
    table = view.stored(type_).table
    violations = broken(Promises(reduced, tuple(sorted(of_sets))), table, view)
    yield from (("BROKEN_PROMISE", v.message) for v in islice(violations, TOLD))
    if type_.is_edge:
        for batch in table.scan(["id", "src", "dst"], batch_rows=_ROWS):
            delta = Delta(type_, pa.Table.from_batches([batch]))
            lost = endpoints.check_new_edges(delta, ChangeSet([delta]), view)
            yield from (("LOST_END", v.message) for v in islice(lost, TOLD))
    if type_.key:
        yield from islice(_wrong_ids(view, type_), TOLD)


def _wrong_ids(view: View, type_: EntityType) -> Iterator[tuple[str, str]]:
    columns = list(dict.fromkeys(["id", *type_.key_names]))
    for batch in view.stored(type_).table.scan(columns, batch_rows=_ROWS):
        wanted = ids_from_keys(type_, {name: batch.column(name) for name in type_.key_names})
        wrong = pc.fill_null(pc.not_equal(batch.column("id"), wanted), True)
        for id_, other in zip(batch.column("id").filter(wrong), wanted.filter(wrong), strict=True):
            yield "BROKEN_PROMISE", f"{type_.name} `{id_}` has the key of `{other}`"
