"""What tests of many writers say about how long writes took. Recorded, not asserted: it depends on who else uses the machine."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence


def percentiles(milliseconds: Sequence[float]) -> tuple[float, float]:
    """The median and the 99th of a hundred."""
    cuts = statistics.quantiles(milliseconds, n=100, method="inclusive")
    return cuts[49], cuts[98]


def is_busy() -> bool:
    """Whether others were using this machine: then latencies say nothing."""
    return os.getloadavg()[0] > 0.7 * (os.cpu_count() or 1)
