"""L203: two queries of a file share a name. Asking by name gives the first, so the second can never be called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from omnigraph.language.lint.finding import Finding, LintedQuery, SchemaFacts, Severity

CODE = "L203"
SUMMARY = "two queries of a file share a name; only the first can be called"


def check(queries: Sequence[LintedQuery], schema: SchemaFacts) -> Iterator[Finding]:
    counts = Counter(linted.query.name.text for linted in queries)
    for name, count in counts.items():
        if count > 1:
            message = f"query `{name}` is defined {count} times; only the first can be called by name"
            yield Finding(Severity.WARNING, CODE, message, query_names=(name,))
