"""Graph analytics: degree, PageRank, components, communities, triangles, and distances.

scope        which node and edge types are looked at
network      these as numbers
kernels      the algorithms, on numbers
algorithms   the same as questions, for any runner
local        the runner in memory
written      values as a property of the nodes
front        `g.analytics`
"""

from omnigraph.engine.analytics.front import Analytics
from omnigraph.engine.analytics.local import AnalyticsResult, Local

__all__ = ["Analytics", "AnalyticsResult", "Local"]
