"""The graph for Spark users: `from omnigraph import spark as ogs`.

spark = ogs.session()                                    # or your own session; local by default, any cluster by its master
ogs.load(g, {"Person": people, "Knows": knows}, mode="merge", branch="etl/nightly", from_="main")
"""

from __future__ import annotations

from omnigraph.pipeline.analytics import analytics
from omnigraph.pipeline.feed import changes
from omnigraph.pipeline.jobs import embed, export, optimize, run_on, statistics
from omnigraph.pipeline.load import load, on
from omnigraph.pipeline.report import report
from omnigraph.pipeline.session import package_zip, session, ship_package
from omnigraph.pipeline.sink import Sink, sink
from omnigraph.pipeline.source import register, table
from omnigraph.pipeline.tasks import run_tasks

__all__ = [
    "Sink",
    "analytics",
    "changes",
    "embed",
    "export",
    "load",
    "on",
    "optimize",
    "package_zip",
    "register",
    "report",
    "run_on",
    "run_tasks",
    "session",
    "ship_package",
    "sink",
    "statistics",
    "table",
]
