"""Whether stored queries fit a schema. A graph is served, and its schema changed, only if all of them do."""

from __future__ import annotations

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.check import read_query, refuse_mixed
from omnigraph.catalog.logical import MutationQuery
from omnigraph.errors import BrokenQueries, MixedMutationError
from omnigraph.language.diagnostics import Diagnostic
from omnigraph.language.lint import QUERY_WARNINGS
from omnigraph.model.frozen import frozen
from omnigraph.service.stored.catalogue import StoredQueries, StoredQuery


@frozen
class Remark:
    """Something to say of a query. `diagnostics` says where in its text, if it is about a place."""

    query: str
    message: str
    diagnostics: tuple[Diagnostic, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return {"query": self.query, "message": self.message}


@frozen
class Validation:
    """What does not fit, and what is odd."""

    breakages: tuple[Remark, ...] = ()
    warnings: tuple[Remark, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.breakages

    def require(self, schema: str = "the schema") -> None:
        """Raise if something does not fit."""
        if self.breakages:
            raise BrokenQueries.of(f"stored queries do not fit {schema}", {r.query: r.message for r in self.breakages})

    def to_dict(self) -> dict[str, object]:
        """As `queries validate` has it."""
        return {
            "ok": self.ok,
            "breakages": [remark.to_dict() for remark in self.breakages],
            "warnings": [remark.to_dict() for remark in self.warnings],
        }


def validate(queries: StoredQueries, schema: Catalog) -> Validation:
    """Check every query against a schema: one breakage for each that does not fit, with all that is wrong with it."""
    breakages = [remark for query in queries if (remark := _breakage(query, schema)) is not None]
    warnings = [
        Remark(query.name, text) for query in queries for rule in QUERY_WARNINGS if (text := rule(query.declaration)) is not None
    ]
    return Validation(tuple(breakages), tuple(warnings))


def _breakage(query: StoredQuery, schema: Catalog) -> Remark | None:
    checked, problems = read_query(schema, query.declaration, query.source)
    if problems:
        return Remark(query.name, "; ".join(d.summary for d in problems.found), tuple(problems.found))
    if isinstance(checked, MutationQuery):
        try:
            refuse_mixed(checked)
        except MixedMutationError as error:
            return Remark(query.name, error.message)
    return None
