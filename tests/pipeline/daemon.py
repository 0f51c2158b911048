"""The process that Spark forks its Python workers from, with everything imported that they will ask for.

A worker ends with every task that is refused, and most tests here are about refusals: the one after it would import for more than a
second. What is forked has imported the storage library and used none of it, as in `tests.children`.
"""

from __future__ import annotations

import pandas  # noqa: F401
from pyspark import daemon

import omnigraph.spark  # noqa: F401

if __name__ == "__main__":
    daemon.manager()
