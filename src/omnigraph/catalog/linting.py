"""Lint a query file against a catalog: parse, check every query, then ask every lint rule."""

from __future__ import annotations

from typing import Literal

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.check import read_query
from omnigraph.catalog.operation import Operation, describe
from omnigraph.language import read_queries
from omnigraph.language.diagnostics import Diagnostic
from omnigraph.language.gq import tree as t
from omnigraph.language.lint import QUERY_WARNINGS, RULES, Finding, LintedQuery, Severity
from omnigraph.language.source import Source
from omnigraph.model.frozen import frozen


@frozen
class SchemaSource:
    """Where the schema came from."""

    kind: Literal["file", "graph"]
    place: str

    def to_json(self) -> dict[str, object]:
        return {"kind": self.kind, "path" if self.kind == "file" else "uri": self.place}


@frozen
class QueryResult:
    """What lint found out about one query."""

    name: str
    kind: Literal["read", "mutation"]
    warnings: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    operation: Operation | None

    @property
    def error(self) -> str | None:
        return self.diagnostics[0].summary if self.diagnostics else None

    def to_json(self) -> dict[str, object]:
        data: dict[str, object] = {"name": self.name, "kind": self.kind, "status": "error" if self.error else "ok"}
        if self.warnings:
            data["warnings"] = list(self.warnings)
        if self.error is not None:
            data["error"] = self.error
        if self.operation is not None:
            data["operation"] = self.operation.to_json()
        return data


@frozen
class LintReport:
    """The whole report."""

    schema_source: SchemaSource
    query_path: str
    results: tuple[QueryResult, ...]
    findings: tuple[Finding, ...]
    diagnostics: tuple[Diagnostic, ...]
    """Every problem with its place, across queries."""

    @property
    def errors(self) -> int:
        return sum(r.error is not None for r in self.results) + self._count(Severity.ERROR)

    @property
    def warnings(self) -> int:
        return sum(len(r.warnings) for r in self.results) + self._count(Severity.WARNING)

    @property
    def infos(self) -> int:
        return self._count(Severity.INFO)

    @property
    def ok(self) -> bool:
        return self.errors == 0

    def _count(self, severity: Severity) -> int:
        return sum(f.severity is severity for f in self.findings)

    def to_json(self) -> dict[str, object]:
        return {
            "status": "ok" if self.ok else "error",
            "schema_source": self.schema_source.to_json(),
            "query_path": self.query_path,
            "queries_processed": len(self.results),
            "errors": self.errors,
            "warnings": self.warnings,
            "infos": self.infos,
            "results": [r.to_json() for r in self.results],
            "findings": [f.to_json() for f in self.findings],
            "diagnostics": [d.to_dict() for d in self.diagnostics],
        }


class _Facts:
    """The catalog as lint rules see it."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def key_properties(self, type_: str) -> frozenset[str]:
        found = self._catalog.nodes.get(type_) or self._catalog.edge(type_)
        return frozenset() if found is None else found.key_names & found.properties.keys()

    def is_edge(self, type_: str) -> bool:
        return type_ not in self._catalog.nodes and self._catalog.edge(type_) is not None

    def settable_properties(self, node_type: str) -> tuple[str, ...] | None:
        node = self._catalog.nodes.get(node_type)
        if node is None:
            return None
        keys = node.key_names
        return tuple(p.name for p in node.properties.values() if p.type.nullable and p.name not in keys and p.embed is None)


def lint(catalog: Catalog, source: Source, schema_source: SchemaSource) -> LintReport:
    """Lint the queries of a text. A text that cannot be parsed gives one finding, Q000, and no results."""
    tree, problems = read_queries(source)
    if problems:
        finding = Finding(Severity.ERROR, "Q000", problems.found[0].summary)
        return LintReport(schema_source, source.name, (), (finding,), tuple(problems))
    results = tuple(_result(catalog, query, source) for query in tree.queries)
    linted = [LintedQuery(query, not result.diagnostics) for query, result in zip(tree.queries, results, strict=True)]
    facts = _Facts(catalog)
    findings = [finding for rule in RULES for finding in rule(linted, facts)]
    diagnostics = tuple(d for result in results for d in result.diagnostics)
    return LintReport(schema_source, source.name, results, tuple(sorted(findings, key=Finding.sort_key)), diagnostics)


def _result(catalog: Catalog, query: t.Query, source: Source) -> QueryResult:
    checked, problems = read_query(catalog, query, source)
    warnings = tuple(text for rule in QUERY_WARNINGS if (text := rule(query)) is not None)
    operation = None if problems else describe(catalog, checked)
    return QueryResult(query.name.text, "read" if query.is_read else "mutation", warnings, tuple(problems), operation)
