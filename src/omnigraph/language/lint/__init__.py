"""Lint: advice on query files beyond what the type checker must refuse.

A rule is one module in `rules`, with a `check` that looks at all queries of a file and yields findings. Rules know trees, not
catalogs: what they need of the schema comes through the `SchemaFacts` port. Running the checker and putting the report together
is the business of `omnigraph.catalog.linting`.
"""

from __future__ import annotations

from omnigraph.language.lint.finding import Finding, LintedQuery, LintRule, SchemaFacts, Severity
from omnigraph.language.lint.rules import hardcoded_mutation, late_failure, never_updated, shadowed_query

__all__ = ["QUERY_WARNINGS", "RULES", "Finding", "LintRule", "LintedQuery", "SchemaFacts", "Severity"]

RULES: tuple[LintRule, ...] = (never_updated.check, late_failure.check, shadowed_query.check)
"""Rules over a whole file; each yields findings."""

QUERY_WARNINGS = (hardcoded_mutation.warning,)
"""Rules over one query; each gives a warning text or nothing."""

LINT_CODES = {
    "Q000": "the file could not be parsed",
    never_updated.CODE: never_updated.SUMMARY,
    late_failure.CODE: late_failure.SUMMARY,
    shadowed_query.CODE: shadowed_query.SUMMARY,
}
"""Every code a finding can carry."""
