"""Do the files that a configuration names make sense? Schemas and queries are asked of the compiler, bundles of `policy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cluster.config.diagnostics import Diagnostics
from omnigraph.cluster.config.resources import BlobBase, BlobPolicy
from omnigraph.errors import GraphError, LanguageError, ParseError

if TYPE_CHECKING:
    from omnigraph.catalog.catalog import Catalog
    from omnigraph.error_details import Located


def schema(text: str, name: str, where: str, problems: Diagnostics) -> Catalog | None:
    """The catalogue of a schema; None if it makes no sense."""
    from omnigraph.catalog.opening import offline_catalog
    from omnigraph.language.source import Source

    if not text.strip(" \t\r\n\ufeff"):
        problems.error("schema_catalog_error", where, f"{name} is empty; a schema without types holds a comment that says so")
        return None
    try:
        return offline_catalog(Source(text, name))
    except LanguageError as error:
        code = "schema_parse_error" if isinstance(error, ParseError) else "schema_catalog_error"
        for diagnostic in error.diagnostics:
            problems.error(code, where, placed(diagnostic))
    except GraphError as error:
        problems.error("schema_catalog_error", where, f"{name}: {error.message}")
    return None


def queries(
    text: str, name: str, where: str, catalog: Catalog | None, problems: Diagnostics, only: str | None = None
) -> list[str] | None:
    """The names of the queries of a file, each checked against a schema, or the one that is meant; None if it does not parse."""
    from omnigraph.catalog.check import read_query
    from omnigraph.language import Source, read_queries

    source = Source(text, name)
    tree, unread = read_queries(source)
    if unread:
        for diagnostic in unread.found:
            problems.error("query_parse_error", where, placed(diagnostic))
        return None
    found = []
    for query in tree.queries:
        found.append(query.name.text)
        if catalog is None or only not in (None, query.name.text):
            continue
        try:
            _, wrong = read_query(catalog, query, source)
        except GraphError as error:
            problems.error("query_typecheck_error", where, f"{name}: query `{query.name.text}`: {error.message}")
            continue
        for diagnostic in wrong.found:
            problems.error("query_typecheck_error", where, f"{placed(diagnostic)} (query `{query.name.text}`)")
    return found


def policy(text: str, name: str, where: str, kind: str, problems: Diagnostics) -> None:
    """Whether a bundle is one, of the kind it is bound as: `cluster` or `graph`."""
    from omnigraph.policy.bundle import Kind, read_bundle

    try:
        read_bundle(text, source=name, kind=Kind.SERVER if kind == "cluster" else Kind.GRAPH)
    except GraphError as error:
        problems.error("policy_invalid", where, error.message)


def blob_policy(bases: tuple[tuple[str, str], ...], where: str, problems: Diagnostics) -> BlobPolicy | None:
    """The policy for external Blobs in its normal form; None: no URI may be given."""
    if not bases:
        return None
    from omnigraph.service.results import ExternalBlobs

    sound = []
    for at, (uri, scope) in enumerate(bases):
        base = {"uri": uri, "scope": scope}
        try:
            ExternalBlobs.from_dict({"mode": "allow", "bases": [base]})
        except GraphError as error:
            problems.error("invalid_external_blob_base", f"{where}.allow[{at}]", error.message)
        else:
            sound.append(base)
    if not sound:
        return None
    try:
        normal = ExternalBlobs.from_dict({"mode": "allow", "bases": sound})
    except GraphError as error:
        problems.error("invalid_external_blob_policy", where, error.message)
        return None
    return BlobPolicy("allow", tuple(BlobBase(base.uri, base.scope.value) for base in normal.bases))


def has_blobs(catalog: Catalog) -> bool:
    """Whether a schema has Blob properties."""
    from omnigraph.model.types import Scalar

    types = [*catalog.nodes.values(), *catalog.edges.values()]
    return any(p.type.scalar is Scalar.BLOB for type_ in types for p in type_.properties.values())


def placed(diagnostic: Located) -> str:
    """A problem in a text, with its place."""
    said = diagnostic.to_dict()
    return f"{said['file']}:{said['line']}:{said['column']}: {diagnostic.summary}"
