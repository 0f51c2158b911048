"""The catalogue of migration codes: `OG-<family>-<number>`.

A code is what a program or a search engine can hold on to; the sentence beside it may be reworded at any time. Most codes of the
catalogue are reserved: their number is spoken for, no plan carries them today.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from omnigraph.model.frozen import frozen


class Family(Enum):
    """What a code is about. The name is the two letters inside the code."""

    DS = "destructive"
    MF = "maybe-fail"
    CD = "constraint deletion"
    BC = "backward incompatible"
    NM = "naming"
    OW = "ownership"
    NL = "non-linear"
    VE = "vector/embedding"
    ED = "edge/topology"
    LK = "lock/cost"


class Tier(Enum):
    """How a change with this code would have to be handled."""

    SAFE = "safe"
    VALIDATED = "validated"
    """Right or wrong depending on the data."""
    DESTRUCTIVE = "destructive"


class Severity(Enum):
    ERROR = "error"
    WARN = "warn"
    INFO = "info"


class Status(Enum):
    EMITTED = "emitted"
    CATALOGUED = "catalogued"
    """Known, but plans say it with a step of its own: drops are steps, not refusals."""
    RESERVED = "reserved"


@frozen
class MigrationCode:
    code: str
    title: str
    tier: Tier
    severity: Severity
    status: Status

    @property
    def family(self) -> Family:
        return Family[self.code[3:5]]

    def __str__(self) -> str:
        return self.code


def _error(code: str, title: str, tier: Tier, status: Status) -> MigrationCode:
    return MigrationCode(code, title, tier, Severity.ERROR, status)


DROP_GRAPH_TYPE: Final = _error("OG-DS-101", "drop graph type", Tier.DESTRUCTIVE, Status.RESERVED)
DROP_NODE_TYPE: Final = _error("OG-DS-102", "drop node type", Tier.DESTRUCTIVE, Status.CATALOGUED)
DROP_EDGE_TYPE: Final = _error("OG-DS-103", "drop edge type", Tier.DESTRUCTIVE, Status.CATALOGUED)
DROP_PROPERTY: Final = _error("OG-DS-104", "drop property", Tier.DESTRUCTIVE, Status.CATALOGUED)
DROP_VECTOR_PROPERTY: Final = _error("OG-DS-105", "drop vector property", Tier.DESTRUCTIVE, Status.RESERVED)
REQUIRED_WITHOUT_BACKFILL: Final = _error("OG-MF-103", "required property without backfill", Tier.VALIDATED, Status.EMITTED)
NULLABLE_TO_REQUIRED: Final = _error("OG-MF-104", "nullable to required", Tier.VALIDATED, Status.RESERVED)
PROPERTY_TYPE_CHANGE: Final = _error("OG-MF-106", "property type change", Tier.DESTRUCTIVE, Status.EMITTED)

CODES: Final[Mapping[str, MigrationCode]] = {
    entry.code: entry
    for entry in (
        DROP_GRAPH_TYPE,
        DROP_NODE_TYPE,
        DROP_EDGE_TYPE,
        DROP_PROPERTY,
        DROP_VECTOR_PROPERTY,
        REQUIRED_WITHOUT_BACKFILL,
        NULLABLE_TO_REQUIRED,
        PROPERTY_TYPE_CHANGE,
    )
}
"""Every code, by its text."""
