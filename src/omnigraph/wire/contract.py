"""Which version of the HTTP contract a request says it speaks.

Clients of 0.12 and later send `Omnigraph-Http-Api: 0.13`; those of 0.10 send nothing, and are answered as 0.10 answers: `code` is
one of eight values. Whoever sends a later version knows three more:

    service_unavailable      503: the server is about to stop and begins nothing new
    graph_unavailable        503: the graph was applied, and cannot be served for the moment; 404 for those who may not know of it
    api_contract_mismatch    400: the server was told to insist on a version, and the request does not say it

What is said in the header is never a reason to refuse a request, unless the server was told so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

HEADER: Final = "Omnigraph-Http-Api"
NEWEST: Final = "0.13"
"""What our own clients say."""

_VERSION: Final = re.compile(rb"(\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?")
_MORE_SINCE: Final = (0, 12)


def knows_more(said: Sequence[bytes]) -> bool:
    """Whether whoever sent these values of the header knows the codes that came after 0.10."""
    if len(said) != 1:
        return False
    found = _VERSION.fullmatch(said[0].strip())
    return found is not None and (int(found[1]), int(found[2])) >= _MORE_SINCE


def agrees(said: Sequence[bytes], wanted: str) -> bool:
    """Whether the header was sent once, with exactly this version."""
    return [value.strip() for value in said] == [wanted.encode()]
