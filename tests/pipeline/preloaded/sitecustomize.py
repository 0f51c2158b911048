"""Imports everything into the processes that Spark forks its Python workers from, as they start: Python does so with a module of this name.

A worker ends with every call that is refused, and most tests here are about refusals: each one after it would import for more than a
second. What is forked has imported the storage library and used none of it, as in `tests.children`. There is a setting for the module of
these processes, but Spark asks nobody when it plans.
"""

import sys

if any(name.startswith("pyspark.") for name in sys.orig_argv):  # what is in an archive is compiled by every process anew
    sys.path = [path for path in sys.path if not path.endswith((".zip", ".jar"))]

if "pyspark.daemon" in sys.orig_argv:
    import pandas  # noqa: F401

    import omnigraph.spark  # noqa: F401
