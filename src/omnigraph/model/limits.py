"""Every limit of OmniGraph, named once. `docs/reference/limits.md` lists them; a test keeps the two equal."""

from __future__ import annotations

from typing import Final

MAX_SOURCE_CHARS: Final = 4_194_304
"""Longest `.pg` or `.gq` text, in characters."""

MAX_NESTING: Final = 64
"""Deepest nesting of blocks, parentheses, lists and function calls in a text, and of lists and objects in a given value."""

MAX_CLAUSES: Final = 400
"""Most clauses of a query, those inside its blocks included."""

MAX_CONDITIONS: Final = 10_000
"""Most comparisons in a query."""

MAX_PARTS: Final = 2_000
"""Most parts of a value that a query computes, with all that its names stand for."""

MAX_COLUMNS: Final = 1_000
"""Most columns a query returns, and most keys it orders by."""

MAX_LIST_ITEMS: Final = 100_000
"""Most values written out as lists in a query; a parameter may hold more."""

MAX_DIAGNOSTICS: Final = 100
"""Most problems reported for one text."""

MAX_VECTOR_DIMENSION: Final = 2**31 - 1
"""Largest dimension of a `Vector(n)`."""

MAX_U32: Final = 2**32 - 1
"""Largest cardinality or hop bound."""

MAX_I64: Final = 2**63 - 1
"""Largest integer literal in `.pg`; in `.gq` one that fits U64 is also taken."""

MIN_I64: Final = -(2**63)
"""Smallest integer literal."""

MAX_U64: Final = 2**64 - 1
"""Largest `limit` or `offset`, and largest schema identity."""

MAX_NAME_BYTES: Final = 240
"""Longest name of a branch or tag; a `/` counts as three."""

MAX_ACTOR_CHARS: Final = 256
"""Longest name of an actor, in characters."""

MAX_MESSAGE_CHARS: Final = 65_536
"""Longest message of a commit, in characters."""

MAX_MEMORY_CHARS: Final = 16_384
"""Longest statement that a memory holds, and longest question put to one, in characters."""

MAX_RECALLED: Final = 100
"""Most memories that one question gives."""

MAX_REVIEW_TITLE_CHARS: Final = 256
"""Longest title of a review, in characters."""

MAX_REVIEW_TEXT_CHARS: Final = 65_536
"""Longest description of a review and longest comment, in characters."""

MAX_REVIEW_BYTES: Final = 8 << 20
"""Most bytes of one review with all that was said about it."""

MAX_MUTATION_ROWS: Final = 8_192
"""Most rows of one type that a mutation inserts or updates; deletes and `load` have no such limit."""

MAX_MUTATION_BYTES: Final = 32 << 20
"""Most bytes of one type that a mutation writes; `load` has no such limit."""

MAX_EXTERNAL_URI_BYTES: Final = 64 << 10
"""Longest URI given for a Blob, in bytes."""

MAX_EXTERNAL_CELLS: Final = 8_192
"""Most URIs given for Blobs in one mutation or load."""

MAX_EXTERNAL_BYTES: Final = 32 << 20
"""Most bytes that one mutation, append or merge copies in from URIs given for Blobs; an overwrite copies none."""

MAX_EXTERNAL_PROBES: Final = 8
"""Objects outside the graph that a process looks for at a time."""

MAX_ENTITY_BYTES: Final = 192 << 20
"""Largest entity, as the line of JSON that an export makes of it, in bytes: what is stored can be exported and loaded again."""

MAX_LINE_BYTES: Final = 256 << 20
"""Longest line of a file to load, in bytes: that of any entity, and of what was copied into it from outside."""

MAX_RECORD_LISTS: Final = 131_072
"""Most lists and objects in a record to load; what else is in them counts towards its bytes alone."""

MAX_VIOLATIONS: Final = 100_000
"""Most violations listed for one load; reading stops when there are more."""

MAX_PAGE_CHANGES: Final = 8_192
"""Most changes on one page of a change feed; 1,000 by default."""

MAX_PAGE_BYTES: Final = 32 << 20
"""Most bytes of changes a page is filled with; 4 MiB by default. A larger change travels alone."""

MAX_POLL_COMMITS: Final = 512
"""Most commits one look at a change feed goes through; 128 by default."""

MAX_CHANGE_TOKEN_BYTES: Final = 4_096
"""Longest cursor or page token."""

MAX_MERGE_ATTEMPTS: Final = 32
"""How often a merge is prepared again because somebody else committed to the target in between."""

MAX_TOOL_BYTES: Final = 64 << 10
"""Longest text of the answer of an MCP tool or resource, in bytes; longer ones come in pages, each with the token of the next."""

MAX_TOOL_ITEMS: Final = 500
"""Most rows, changes or entries in the answer of an MCP tool."""

MAX_TOOL_ERROR_BYTES: Final = 16 << 10
"""Longest text of the error of an MCP tool, in bytes."""

STORED_QUERY_TOOLS: Final = 24
"""From so many stored queries on, an MCP server offers two tools that list and run them, instead of one for each."""
