"""Search: full text and nearest neighbours, with the same rows found whatever is indexed.

Lance searches what is indexed through the index and reads through the rest. For neighbours that gives one answer as long as the
metric is stated (it reads through with L2 otherwise). For text it does not, in two cases, and in both this module indexes the
rows in question in memory and asks that index instead:

    no full-text index at all        Lance would compare words as they are: no lower case, no stems, no stop words
    typos, and rows not indexed      Lance would find typos in indexed rows only

So declare the index of a text column with the table (`extend_index` on an empty one), and the first case never happens.

**Scores are not answers.** An indexed row is scored with the statistics of the index, one that is read through with those of the
whole table. Which rows match is certain; an order by score is only as good as the index is complete.

Both filter first: a filter applied afterwards starves the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import lance
import pyarrow as pa
from lance import LanceDataset
from lance.fragment import LanceFragment
from lance.query import FullTextOperator, FullTextQuery, MatchQuery, PhraseQuery

from omnigraph.model.frozen import frozen
from omnigraph.storage.lance_format.filters import Filter, text_of
from omnigraph.storage.lance_format.row_masks import Addresses, row_mask
from omnigraph.storage.tables.table import Table


class Metric(Enum):
    """What near means."""

    L2 = "l2"
    COSINE = "cosine"
    DOT = "dot"


@frozen
class Words:
    """Rows that contain some of these words, or all of them. `typos`: letters a word may differ by."""

    text: str
    every: bool = False
    typos: int = 0


@frozen
class Phrase:
    """Rows that contain these words in this order, with at most `gap` words between. Needs an index with positions."""

    text: str
    gap: int = 0


@frozen
class _Search:
    column: str
    query: Words | Phrase
    limit: int | None
    where: Filter | None
    columns: tuple[str, ...]


def full_text(
    table: Table,
    column: str,
    query: Words | Phrase,
    limit: int | None = None,
    where: Filter | None = None,
    columns: Sequence[str] = ("id",),
) -> pa.Table:
    """Rows whose text matches, best first, with `_score`."""
    search = _Search(column, query, limit, where, tuple(columns))
    with table.reading(f"search {column} of {table.location}"):
        full_text_indexes = (i for i in table.dataset.describe_indices() if i.index_type == "Inverted")
        index = next((i for i in full_text_indexes if i.field_names == [column]), None)
        if index is None:
            return _found_in_memory(table, table.dataset.get_fragments(), {}, search)
        covered = {number for segment in index.segments for number in segment.fragment_ids}
        uncovered = [f for f in table.dataset.get_fragments() if f.fragment_id not in covered]
        if not uncovered or not (isinstance(query, Words) and query.typos):
            return _found(table, None, search)
        indexed = [f for f in table.dataset.get_fragments() if f.fragment_id in covered]
        parts = [_found_in_memory(table, uncovered, index.details, search)]
        parts += [_found(table, indexed, search)] if indexed else []
        return pa.concat_tables(parts).sort_by([("_score", "descending")]).slice(0, limit)


def full_text_by_reading(
    table: Table, column: str, query: Words | Phrase, where: Filter | None = None, columns: Sequence[str] = ("id",)
) -> pa.Table:
    """What `full_text` should find: asked of the rows themselves, by the rules of the index."""
    with table.reading(f"search {column} of {table.location}"):
        indexes = (i for i in table.dataset.describe_indices() if i.index_type == "Inverted" and i.field_names == [column])
        analysis = next((i.details for i in indexes), {})
        search = _Search(column, query, None, where, tuple(columns))
        return _found_in_memory(table, table.dataset.get_fragments(), analysis, search)


def _found(rows: Table | LanceDataset, fragments: list[LanceFragment] | None, search: _Search) -> pa.Table:
    return rows.scanner(
        columns=[*search.columns, "_score"],
        full_text_query=_lance_query(search.column, search.query),
        filter=text_of(search.where),
        limit=search.limit,
        fragments=fragments,
        prefilter=True,
    ).to_table()


def _found_in_memory(table: Table, fragments: list[LanceFragment], analysis: Mapping[str, object], search: _Search) -> pa.Table:
    """Search fragments through an index that exists for this search only, and analyses text as the lasting one does."""
    wanted = list(dict.fromkeys((*search.columns, search.column)))
    rows = table.scanner(columns=wanted, filter=text_of(search.where), fragments=fragments).to_table() if fragments else None
    if not rows:
        schema = pa.schema([*(table.schema.field(name) for name in search.columns), pa.field("_score", pa.float32())])
        return schema.empty_table()
    memory = lance.write_dataset(rows, "memory://rows-not-indexed")
    stated: dict[str, Any] = {k: v for k, v in analysis.items() if v is not None and k != "document_granularity"}
    memory.create_scalar_index(search.column, "INVERTED", **{"with_position": True, **stated})
    return _found(memory, None, replace(search, where=None))


def _lance_query(column: str, query: Words | Phrase) -> FullTextQuery:
    match query:
        case Words(text, every, typos):
            operator = FullTextOperator.AND if every else FullTextOperator.OR
            return MatchQuery(text, column, operator=operator, fuzziness=typos)
        case Phrase(text, gap):
            return PhraseQuery(text, column, slop=gap)


def nearest(
    table: Table,
    column: str,
    vector: Sequence[float],
    k: int,
    metric: Metric,
    where: Filter | None = None,
    refine: int = 1,
    *,
    exact: bool = False,
    probes: int | None = None,
    among: Addresses | None = None,
    columns: Sequence[str] = ("id",),
) -> pa.Table:
    """The k rows nearest to a vector, nearest first, with `_distance`.

    `refine` × k candidates of a lossy index are measured again, exactly. `exact` reads every row instead of asking the index.
    `probes` partitions of it are looked into, and more as long as fewer than k rows were found. `among`: no other rows.
    """
    asked = {"column": column, "q": list(vector), "k": k, "metric": metric.value, "refine_factor": refine, "use_index": not exact}
    if probes is not None:
        asked["minimum_nprobes"] = probes
    mask = None if among is None else row_mask(among)
    with table.reading(f"search {column} of {table.location}"):
        return table.scanner(
            columns=[*columns, "_distance"], nearest=asked, filter=text_of(where), prefilter=True, row_addr_allowlist=mask
        ).to_table()
